// pgjdbc: batches, fetch size, prepared statements past the threshold, COPY,
// generated keys, cancel, savepoints.
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.*;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

public class App {
  public static void main(String[] args) throws Exception {
    try (Connection c = DriverManager.getConnection(args[0], "postgres", "")) {
      try (Statement s = c.createStatement()) {
        s.execute("create table if not exists jdbc (id serial primary key, v text, n numeric, at timestamp)");
        s.execute("truncate jdbc restart identity");
      }
      c.setAutoCommit(false);
      try (PreparedStatement p = c.prepareStatement("insert into jdbc (v, n, at) values (?, ?, ?)")) {
        for (int i = 0; i < 300; i++) {
          p.setString(1, "row '" + i + "' é");
          p.setBigDecimal(2, new java.math.BigDecimal(i + ".50"));
          p.setTimestamp(3, Timestamp.valueOf("2020-01-02 03:04:05"));
          p.addBatch();
        }
        System.out.println(p.executeBatch().length);
      }
      c.commit();
      try (PreparedStatement p = c.prepareStatement("select v, n, at from jdbc where id = ?")) {
        for (int i = 1; i <= 12; i++) { // named from the fifth on
          p.setInt(1, i);
          try (ResultSet r = p.executeQuery()) {
            while (r.next()) System.out.println(r.getString(1) + " " + r.getBigDecimal(2) + " " + r.getTimestamp(3));
          }
        }
      }
      try (PreparedStatement p = c.prepareStatement("select id from jdbc order by id")) {
        p.setFetchSize(40); // a suspended portal, fetched in pieces
        long sum = 0;
        try (ResultSet r = p.executeQuery()) { while (r.next()) sum += r.getLong(1); }
        System.out.println(sum);
      }
      try (PreparedStatement p = c.prepareStatement("insert into jdbc (v) values (?)", Statement.RETURN_GENERATED_KEYS)) {
        p.setNull(1, Types.VARCHAR);
        p.executeUpdate();
        try (ResultSet r = p.getGeneratedKeys()) { r.next(); System.out.println(r.getInt(1)); }
      }
      Savepoint sp = c.setSavepoint();
      try (Statement s = c.createStatement()) {
        s.executeUpdate("insert into jdbc (id) values (1)");
      } catch (SQLException e) {
        System.out.println(e.getSQLState() + " " + e.getMessage());
        c.rollback(sp);
      }
      c.commit();
      CopyManager copy = ((PGConnection) c).getCopyAPI();
      StringBuilder lines = new StringBuilder();
      for (int i = 0; i < 2000; i++) lines.append("copied ").append(i).append('\n');
      System.out.println(copy.copyIn("copy jdbc (v) from stdin", new StringReader(lines.toString())));
      StringWriter out = new StringWriter();
      System.out.println(copy.copyOut("copy (select id, v from jdbc order by id) to stdout", out) + " " + out.toString().length());
      c.commit();
      try (Statement s = c.createStatement()) {
        s.setQueryTimeout(1);
        s.execute("select pg_sleep(20)");
        System.out.println("not cancelled");
      } catch (SQLException e) {
        System.out.println("cancelled " + e.getSQLState());
      }
      c.rollback();
      try (Statement s = c.createStatement()) {
        boolean more = s.execute("select count(*) from jdbc; update jdbc set n = 1 where id < 5; select 'last'");
        while (more || s.getUpdateCount() >= 0) {
          if (more) {
            s.getResultSet().next();
            System.out.println(s.getResultSet().getString(1));
          } else {
            System.out.println(s.getUpdateCount());
          }
          more = s.getMoreResults();
        }
      }
      c.commit();
    }
  }
}
