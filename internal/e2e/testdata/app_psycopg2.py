# psycopg2: simple protocol, named cursors, COPY, large objects, cancel.
import io
import sys
import threading
import psycopg2
import psycopg2.extras

c = psycopg2.connect(sys.argv[1])
cur = c.cursor()
cur.execute("create table if not exists p2 (id serial, v text, j jsonb)")
psycopg2.extras.execute_values(cur, "insert into p2 (v, j) values %s",
                               [(f"'{i}", psycopg2.extras.Json({"i": i})) for i in range(500)])
cur.copy_expert("copy p2 (v) from stdin", io.StringIO("".join(f"line {i}\n" for i in range(5000))))
out = io.StringIO()
cur.copy_expert("copy (select v from p2 order by id) to stdout", out)
print(len(out.getvalue()))
c.commit()
with c.cursor(name="server_side") as named:
    named.itersize = 333
    named.execute("select id, v from p2 order by id")
    print(sum(r[0] for r in named))
c.commit()
lo = c.lobject(0, "wb")
lo.write(b"\x00large object\xff" * 5000)
oid = lo.oid
lo.close()
print(len(c.lobject(oid, "rb").read()))
c.lobject(oid).unlink()
c.commit()
try:
    cur.execute("select v::int from p2 where id = 1")
except psycopg2.Error as e:
    print(e.pgcode, e.pgerror)
c.rollback()
timer = threading.Timer(0.5, c.cancel)
timer.start()
try:
    cur.execute("select pg_sleep(20)")
    print("not cancelled")
except psycopg2.extensions.QueryCanceledError as e:
    print("cancelled", e.pgcode)
c.rollback()
cur.execute("select count(*), max(v) from p2")
print(cur.fetchone())
print(c.notices, c.get_parameter_status("server_encoding"), c.server_version > 0)
c.close()
