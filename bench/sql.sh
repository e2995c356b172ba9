#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exact aggregates beside the engines' own in one run, and the bars of doc/sql.md:
#   bench/sql.sh [ROWS]      ROWS: of the sums (default 10000000). The median of 5 runs, in turns.
# PostgreSQL and DuckDB are left out where they are not (DUCKDB_INCLUDE: the folder of duckdb_extension.h; PYTHON: a
# Python that has the module duckdb). BUILD is the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-10000000} build=$(realpath "${BUILD:-build}")
export TALLY_SOURCE=$PWD TALLY_BUILD=$build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
printf '%-34s %10s %10s %8s %8s\n' what tally own ratio bar

# line WHAT TALLY OWN BAR: seconds, and whether TALLY / OWN is below the bar
line() {
    awk -v what="$1" -v a="$2" -v b="$3" -v bar="$4" 'BEGIN {
        printf "%-34s %10.3f %10.3f %8.3f %8s %s\n", what, a, b, a / b, bar,
            bar == "-" ? "" : a / b <= bar ? "met" : "NOT MET" }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# pair RUN QUERY QUERY: the medians of the seconds of both, run in turns
pair() {
    local run=$1 i
    : >"$work/a" && : >"$work/b"
    for i in 1 2 3 4 5; do
        $run "$2" >>"$work/a"
        $run "$3" >>"$work/b"
    done
    echo "$(median <"$work/a") $(median <"$work/b")"
}

postgres() {
    . sql/server.sh
    server_find || return 0
    SERVER_OPTIONS="-c shared_buffers=2GB -c work_mem=256MB" server_begin
    trap 'server_end; rm -rf "$work"' EXIT
    sql() { psql -h "$FOLDER" -U postgres -qtAX -c "$1" postgres; }
    timed() {
        psql -h "$FOLDER" -U postgres -qtAX -c '\timing' \
            -c "SET max_parallel_workers_per_gather = ${workers-0}" -c "$1" postgres |
            sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | tail -n 1 | awk '{ print $1 / 1000 }'
    }
    sql "CREATE EXTENSION tally; SELECT setseed(0.5);
        CREATE UNLOGGED TABLE t AS SELECT random() * 1000 AS x, random() AS y, i AS id, i % 100000 AS g
        FROM generate_series(1, $rows) AS i; CREATE UNLOGGED TABLE n AS SELECT x::numeric AS n, id FROM t;
        CREATE INDEX ON t (id); CREATE INDEX ON n (id)" >/dev/null
    sql "VACUUM ANALYZE"
    sql "SELECT version()" | cut -d' ' -f1-2
    local s="SELECT exact_sum(x) FROM t" f="OVER (ORDER BY id ROWS 999 PRECEDING) AS s FROM"
    line "sum of $rows" $(pair timed "$s" 'SELECT sum(x) FROM t') 1.3
    line "beside sum(x::numeric)" $(pair timed "$s" 'SELECT sum(x::numeric) FROM t') 0.5
    line "beside sum of a numeric column" $(pair timed "$s" 'SELECT sum(n) FROM n') 0.5
    line avg $(pair timed 'SELECT exact_avg(x) FROM t' 'SELECT avg(x) FROM t') -
    line stddev_samp $(pair timed 'SELECT exact_stddev_samp(x) FROM t' 'SELECT stddev_samp(x) FROM t') -
    line corr $(pair timed 'SELECT exact_corr(x, y) FROM t' 'SELECT corr(x, y) FROM t') -
    workers=2
    line "sum, 2 workers" $(pair timed "$s" 'SELECT sum(x) FROM t') -
    workers=0
    line "frame of 1000 rows, 20000 results" $(pair timed \
        "SELECT count(s) FROM (SELECT exact_sum(x) $f t WHERE id <= 20000) AS r" \
        "SELECT count(s) FROM (SELECT sum(x) $f t WHERE id <= 20000) AS r") 0.02
    bytes() {
        sql "SET enable_sort = off; SET max_parallel_workers_per_gather = 0; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)
            SELECT g, $1 FROM t GROUP BY g" | sed -n 's/.*Batches: 1 *Memory Usage: \([0-9]*\)kB.*/\1/p' |
            awk '{ print $1 * 1024 / 100000 }'
    }
    local none
    none=$(bytes 'count(*)')
    echo "bytes a group, of 100000: count(*) $none; above it exact_sum $(bytes 'exact_sum(x)' |
        awk -v n="$none" '{ print $1 - n }') (bar 300), sum(x::numeric) $(bytes 'sum(x::numeric)' |
        awk -v n="$none" '{ print $1 - n }')"
    server_end
}

sqlite() {
    [ -f "$build/sql/tally_sqlite.so" ] || { echo "sqlite: $build/sql/tally_sqlite.so is not built"; return 0; }
    local db=$work/t.db f="OVER (ORDER BY id ROWS 999 PRECEDING) AS s FROM (SELECT * FROM t LIMIT 200000))"
    sqlite3 "$db" "PRAGMA journal_mode=off; CREATE TABLE t AS SELECT value AS id, (random() / 9.3e18) * 1000 AS x
        FROM generate_series(1, $rows)" >/dev/null
    sqlite3 --version | cut -d' ' -f1 | sed 's/^/SQLite /'
    timed() {
        printf '.load %s\n.timer on\n%s;\n' "$build/sql/tally_sqlite" "$1" | sqlite3 "$db" |
            sed -n 's/^Run Time: real \([0-9.]*\).*/\1/p' | tail -n 1
    }
    line "sum of $rows" $(pair timed 'SELECT exact_sum(x) FROM t' 'SELECT sum(x) FROM t') 1.3
    line avg $(pair timed 'SELECT exact_avg(x) FROM t' 'SELECT avg(x) FROM t') -
    line "frame of 1000 rows, 200000 results" $(pair timed "SELECT count(s) FROM (SELECT exact_sum(x) $f" \
        "SELECT count(s) FROM (SELECT sum(x) $f") -
}

duckdb() {
    "${PYTHON:-python3}" -c 'import duckdb' 2>/dev/null && [ -n "${DUCKDB_INCLUDE-}" ] ||
        { echo "duckdb: no module, or no DUCKDB_INCLUDE"; return 0; }
    cp -r sql "$work/sql"
    make -s -C "$work/sql/duckdb" TALLY_LIB="$build/libtally.a" TALLY_INCLUDE="$PWD/include"
    "${PYTHON:-python3}" - "$work/sql/duckdb/tally.duckdb_extension" "$rows" >"$work/duckdb" <<'PY'
import statistics, sys, time
import duckdb
db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
db.execute(f"LOAD '{sys.argv[1]}'")
db.execute(f"CREATE TABLE t AS SELECT i AS id, random() * 1000 AS x, i % 1000 AS g FROM range({sys.argv[2]}) s(i)")
print("DuckDB", duckdb.__version__)
frame = "(x) OVER (ORDER BY id ROWS 999 PRECEDING) AS s FROM t WHERE id < 200000)"
for what, query, own in (("sum", "SELECT %s(x) FROM t", "sum"),
                         ("beside fsum, which compensates", "SELECT %s(x) FROM t", "fsum"),
                         ("1000 groups", "SELECT max(s) FROM (SELECT %s(x) AS s FROM t GROUP BY g)", "sum"),
                         ("frame of 1000 rows", "SELECT count(s) FROM (SELECT %s" + frame, "sum")):
    seconds = {"exact_sum": [], own: []}
    for _ in range(5):
        for name in seconds:
            begin = time.perf_counter()
            db.execute(query % name).fetchall()
            seconds[name].append(time.perf_counter() - begin)
    print("%s|%s|%s" % (what, *(statistics.median(v) for v in seconds.values())))
PY
    head -n 1 "$work/duckdb"
    tail -n +2 "$work/duckdb" | while IFS='|' read -r what a b; do line "$what" "$a" "$b" -; done
}

postgres
sqlite
duckdb
