# SPDX-License-Identifier: MIT
"""The extensions for SQLite and DuckDB beside fractions. Run by test_sql.sh.

    sql.py sqlite EXTENSION | sql.py duckdb EXTENSION

Frames of every kind are compared with the aggregate over the rows that the engine itself says are in the frame (a list
of their numbers), by bits; shuffles with each other; sums and means with fractions."""
import os
import random
import struct
import sys
import time
from fractions import Fraction

engine, extension = sys.argv[1:]
seed = int(os.environ.get("TALLY_TEST_SEED") or time.time())
print("seed", seed)
random.seed(seed)
checks = failed = 0
if engine == "sqlite":
    import sqlite3
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(extension)
    broken, rows_of, kinds = sqlite3.Error, "group_concat(id)", ("ROWS", "RANGE", "GROUPS")
else:
    import duckdb
    db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    db.execute("LOAD '%s'" % extension)
    broken, rows_of, kinds = duckdb.Error, "string_agg(id::VARCHAR, ',')", ("ROWS", "RANGE", "GROUPS")


def run(query, *parameters):
    return db.execute(query, parameters).fetchall()


def bits(value):
    return value if value is None or isinstance(value, (bytes, int)) else struct.pack("<d", value)


def check(ok, *what):
    global checks, failed
    checks += 1
    if not ok:
        failed += 1
        print("DIFFERENT:", *what)


def refused(query, words, *parameters):
    try:
        got = run(query, *parameters)
    except broken as error:
        return check(words in str(error), query, error)
    check(False, query, "gave", got)


ALL = ["exact_%s(x)" % n for n in ("sum avg var_pop var_samp stddev_pop stddev_samp state").split()]
ALL += ["exact_%s(x, y)" % n for n in ("dot wavg covar_pop covar_samp corr").split()] + ["exact_regr_slope(y, x)"]
LIST = ", ".join(ALL)
real, whole = ("REAL", "INTEGER") if engine == "sqlite" else ("DOUBLE", "INTEGER")
run("CREATE TABLE t (id %s, k %s, p %s, x %s, y %s)" % (whole, whole, whole, real, real))


def number():
    return random.choice([random.gauss(0, 1), random.gauss(1e8, 1), random.randint(-3, 3) * 1.0,
                          1e300 * random.random(), 2.0 ** random.randint(-1074, 900), None])


def fill(n, special):
    rows = [(i, i // 3, i % 3, number(), number()) for i in range(n)]
    if special:
        rows[n // 2] = (n // 2, n // 6, 1, float("inf"), 1.0)
        rows[n // 3] = (n // 3, n // 9, 2, float("-inf"), 2.0)
    run("DELETE FROM t")
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    return rows


# sums and means beside fractions, and in 100 orders
rows = fill(200, False)
there = [Fraction(r[3]) for r in rows if r[3] is not None]
want = [float(sum(there)), float(sum(there) / len(there))]
check(list(run("SELECT exact_sum(x), exact_avg(x) FROM t")[0]) == want, "sum and mean", want)
once = [bits(v) for v in run("SELECT %s FROM t" % LIST)[0]]
for k in range(100):
    again = [bits(v) for v in run("SELECT %s FROM (SELECT * FROM t ORDER BY (id * %d) %% 211)" % (LIST, k + 1))[0]]
    check(again == once, "shuffle", k)
for k in (1, 2, 4, 8) if engine == "duckdb" else ():
    run("SET threads = %d" % k)
    check([bits(v) for v in run("SELECT %s FROM t" % LIST)[0]] == once, "threads", k)
parts = run("SELECT exact_merge(s), exact_value(exact_merge(s)), exact_mean(exact_merge(s)) FROM "
            "(SELECT exact_state(x) AS s FROM t GROUP BY k)")[0]
check([bits(v) for v in (parts[1], parts[2], parts[0])] == [once[0], once[1], once[6]], "states of groups")

# many rows without NULL, which an engine may bring in blocks
run("CREATE TABLE large (g %s, x %s, y %s)" % (whole, real, real))
many = [(i % 5, random.gauss(0, 1) * 2.0 ** random.randint(-200, 200), 1.0 * i) for i in range(5000)]
db.executemany("INSERT INTO large VALUES (?, ?, ?)", many)
total = sum(Fraction(r[1]) for r in many)
check(list(run("SELECT exact_sum(x), exact_avg(x) FROM large")[0]) == [float(total), float(total / 5000)], "5000 rows")
groups = run("SELECT exact_merge(s) FROM (SELECT exact_state(x) AS s FROM large GROUP BY g)")
check(groups == run("SELECT exact_state(x) FROM large"), "states of 5 groups")
for g, s in run("SELECT g, exact_sum(x) FROM large GROUP BY g"):
    check(s == float(sum(Fraction(r[1]) for r in many if r[0] == g)), "group", g)

# frames
frames = ["UNBOUNDED PRECEDING AND CURRENT ROW", "3 PRECEDING AND 1 FOLLOWING", "4 PRECEDING AND 2 PRECEDING",
          "1 FOLLOWING AND 3 FOLLOWING", "CURRENT ROW AND UNBOUNDED FOLLOWING"]
for special in (False, True):
    fill(60, special)
    expected = {None: [None] * len(ALL)}
    for kind in kinds:
        for frame in frames:
            # SQLite takes rows back (xInverse) only where nothing is said of EXCLUDE
            for exclude in ("", "EXCLUDE NO OTHERS", "EXCLUDE CURRENT ROW", "EXCLUDE GROUP", "EXCLUDE TIES"):
                over = " OVER (PARTITION BY p ORDER BY k %s BETWEEN %s %s)" % (kind, frame, exclude)
                query = "SELECT %s, %s FROM t" % (", ".join(a + over for a in ALL), rows_of + over)
                for row in run(query):
                    of = row[-1] or None
                    if of not in expected:
                        alone = run("SELECT %s FROM t WHERE id IN (%s)" % (LIST, of))[0]
                        expected[of] = [bits(v) for v in alone]
                    check([bits(v) for v in row[:-1]] == expected[of], kind, frame, exclude, of)

# states that are none, and damaged ones: an error or a value, never the end of the process
state = run("SELECT exact_state(x) FROM t")[0][0]
for query in ("SELECT exact_value(?)", "SELECT exact_mean(?)", "SELECT exact_merge(?)"):
    for n in (0, 1, 575, 577):
        refused(query, "576 bytes", bytes(n))
damaged = 0
for _ in range(300):
    bad = bytearray(state)
    for _ in range(random.randint(1, 4)):
        bad[random.randrange(576)] = random.randrange(256)
    try:
        run("SELECT exact_value(exact_merge(v)) FROM (SELECT ? AS v)", bytes(bad))
    except broken as error:
        damaged += "the state is damaged" in str(error)
check(damaged > 20, "damaged states that were refused:", damaged)
print("%s: %d checks, %d failed" % (engine, checks, failed))
sys.exit(failed > 0 or checks < 3000)
