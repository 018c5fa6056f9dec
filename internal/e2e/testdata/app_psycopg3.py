# psycopg 3: server-side binding, prepared statements, COPY, pipelines, cursors.
import logging
import sys
import psycopg
from psycopg import sql

logging.disable()  # a pipeline that fails is sometimes logged, sometimes not

with psycopg.connect(sys.argv[1], autocommit=True) as c:
    c.execute("create table if not exists p3 (id int primary key, v text, b bytea, a int[])")
    c.execute("truncate p3")
    with c.cursor() as cur:
        cur.executemany("insert into p3 values (%s, %s, %s, %s)",
                        [(i, f"v{i}'é", bytes([i, 0, 255]), [i, None, -i]) for i in range(20)])
        print(cur.rowcount)
        for _ in range(8):  # prepared at the sixth time
            print(cur.execute("select v, b, a from p3 where id = %s", (7,)).fetchone())
        print(cur.execute("select count(*) from p3", prepare=True).fetchone())
        print(c.execute(sql.SQL("select {} from p3 order by 1 limit 2").format(sql.Identifier("v"))).fetchall())
    with c.cursor() as cur, cur.copy("copy p3 (id, v) from stdin") as copy:
        for i in range(100, 3000):
            copy.write_row((i, "x" * (i % 97)))
    with c.cursor() as cur, cur.copy("copy (select id, v from p3 order by id) to stdout") as copy:
        rows = [bytes(r) for r in copy]
        print(len(rows), sum(map(len, rows)))
    with c.cursor(binary=True) as cur:
        print(cur.execute("select id, a, 1.25::numeric, now() is null from p3 where id < 3 order by id").fetchall())
    try:
        c.execute("select 1/%s", (0,))
    except psycopg.Error as e:
        print(e.sqlstate, e)
    try:
        with c.transaction():
            c.execute("insert into p3 (id) values (5000)")
            c.execute("insert into p3 (id) values (5000)")
    except psycopg.errors.UniqueViolation as e:
        print(e.sqlstate, e.diag.constraint_name)
    with c.transaction(), c.cursor(name="stream") as cur:
        cur.itersize = 50
        cur.execute("select id from p3 order by id")
        print(sum(r[0] for r in cur))
    if psycopg.Pipeline.is_supported():
        with c.pipeline() as p:
            a = c.execute("select 1")
            b = c.execute("select %s::text", ("two",))
            p.sync()
            d = c.execute("select 3")
            print(a.fetchone(), b.fetchone(), d.fetchone())
        try:
            with c.pipeline() as p:
                c.execute("select 1")
                c.execute("select 1/0")
                c.execute("insert into p3 (id) values (6000)")
        except psycopg.Error as e:
            print("pipeline", e.sqlstate)
        print(c.execute("select count(*) from p3 where id = 6000").fetchone())
    c.add_notify_handler(lambda n: print(n.channel, n.payload))
    c.execute("listen ch")
    c.execute("notify ch, 'hello'")
    c.execute("select 1")
