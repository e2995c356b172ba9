#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One sum that goes from hand to hand: the command line begins its state, then C, Python, MPI, SQLite, PostgreSQL and
# DuckDB each add a part of the data, and the command line ends it. The state has the bytes, and the value the bits, of the
# sum in one place. What is not here is left out, and said; without any engine the test is skipped (77).
# Beside it: tally_sum(x ORDER BY i) of PostgreSQL has the bits of `tally reduce sum`.
set -uo pipefail
: "${TALLY_SOURCE:?}" "${TALLY_BUILD:?}" "${TALLY_CLI:?}"
. "$TALLY_SOURCE/sql/server.sh"
cc=${CC:-cc} bad=0 at=0 hands=() engines=0
link=("$TALLY_BUILD/libtally.a" -pthread -ldl -lm)
fail() {
    echo "FAILED: $*"
    bad=1
}
# 8 parts of 500 numbers of all magnitudes; the last one cancels most of the others
seed=${TALLY_TEST_SEED:-$RANDOM}
echo "seed $seed"
python3 - "$seed" <<'PY' || exit 1
import random, struct, sys
random.seed(int(sys.argv[1]))
x = [(random.random() - 0.5) * 2.0 ** random.randint(-300, 300) for _ in range(3500)]
x += [-v for v in random.sample(x, 498)] + [5e-324, 1.5]
for k in range(8):
    part = x[500 * k: 500 * k + 500]
    open("%d.raw" % k, "wb").write(struct.pack("<500d", *part))
    open("%d.txt" % k, "w").write("".join("%r\n" % v for v in part))
PY
# hand NAME: state $at.state has become next.state
hand() {
    [ "$(stat -c %s next.state 2>/dev/null)" = 576 ] || fail "$1 wrote no state"
    cat "$part.raw" >>all.raw
    mv next.state state
    hands+=("$1")
    at=$((at + 1))
    part=$at
}
part=0
: >all.raw
"$TALLY_CLI" fragment make sum:exact 0.txt -o next.state || fail "make"
hand "command line"

"$cc" -std=gnu11 -O1 -Wall -Wextra -Werror -I"$TALLY_SOURCE/include" "$TALLY_SOURCE/test/sql/state.c" "${link[@]}" -o state_c &&
    ./state_c state next.state $part.raw || fail "C"
hand C

for python in python3 /usr/bin/python3; do
    include=$("$python" -c 'import sys, sysconfig; assert sys.version_info >= (3, 11); print(sysconfig.get_path("include"))' 2>/dev/null) &&
        [ -e "$include/Python.h" ] && [ -e "$TALLY_BUILD/libtally.so" ] || continue
    mkdir -p package
    cp -r "$TALLY_SOURCE/python/tally" package/
    (cd "$TALLY_SOURCE/python/extension" && "$cc" -std=gnu11 -O0 -fPIC -shared -fvisibility=hidden -DPy_LIMITED_API=0x030B0000 -I"$include" \
        -I"$TALLY_SOURCE/include" ./*.c -o "$OLDPWD/package/tally/_core.abi3.so" "$TALLY_BUILD/libtally.so" "-Wl,-rpath,$TALLY_BUILD") || fail "the package"
    PYTHONPATH=package PYTHONDONTWRITEBYTECODE=1 "$python" - $part.raw <<'PY' || fail "Python"
import array, sys, tally
x = array.array("d", open(sys.argv[1], "rb").read())
total = tally.Exact.from_bytes(open("state", "rb").read())
total.add(x)
open("next.state", "wb").write(bytes(total))
PY
    hand Python
    break
done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
if command -v mpicc.openmpi mpirun.openmpi >/dev/null; then
    OMPI_CC=$cc mpicc.openmpi -std=gnu11 -DTEST_MPI -I"$TALLY_SOURCE/include" "$TALLY_SOURCE/test/sql/state.c" "${link[@]}" -o state_mpi &&
        timeout 60 mpirun.openmpi -n 3 ./state_mpi state next.state $part.raw || fail "MPI"
    hand MPI
fi

if command -v sqlite3 >/dev/null && make -s -f "$TALLY_SOURCE/sql/sqlite/Makefile" VPATH="$TALLY_SOURCE/sql/sqlite" CC="$cc" \
    TALLY_LIB="$TALLY_BUILD/libtally.a" TALLY_INCLUDE="$TALLY_SOURCE/include" 2>/dev/null; then
    { echo 'x'; cat $part.txt; } >x.csv
    sqlite3 :memory: ".load ./tally_sqlite" "CREATE TABLE t (x REAL)" ".import --skip 1 --csv x.csv t" "SELECT writefile('next.state',
        exact_merge(s)) FROM (SELECT readfile('state') AS s UNION ALL SELECT exact_state(x) FROM t)" >/dev/null || fail "SQLite"
    hand SQLite
    engines=1
fi

if server_find && server_begin; then
    sql() { psql -h "$FOLDER" -U postgres -qtAX -v ON_ERROR_STOP=1 "$@" postgres; }
    sql -c "CREATE EXTENSION tally" -c "CREATE TABLE t (i serial, x float8)"
    sql -c "\\copy t (x) FROM '$part.txt'"
    sql -c "SELECT encode(exact_merge(s), 'hex') FROM (SELECT decode('$(od -An -v -tx1 state | tr -d ' \n')', 'hex') AS s
        UNION ALL SELECT exact_state(x) FROM t) AS u" | python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' >next.state || fail "PostgreSQL"
    for op in sum mean var std norm skew; do
        got=$(sql -c "SELECT encode(float8send(tally_$op(x ORDER BY i)), 'hex') FROM t")
        want=$("$TALLY_CLI" reduce $op --format raw --dtype f64 --hex $part.raw)
        [ "0x$got" = "$want" ] || fail "tally_$op(x ORDER BY i) is 0x$got, tally reduce $op $want"
    done
    server_end
    hand PostgreSQL
    engines=1
fi

if python3 -c 'import duckdb' 2>/dev/null && [ -e "${DUCKDB_INCLUDE-}/duckdb_extension.h" ]; then
    cp -r "$TALLY_SOURCE/sql" .
    make -s -C sql/duckdb CC="$cc" TALLY_LIB="$TALLY_BUILD/libtally.a" TALLY_INCLUDE="$TALLY_SOURCE/include" || fail "DuckDB's extension"
    python3 - $part.txt <<'PY' || fail "DuckDB"
import duckdb, sys
db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
db.execute("LOAD 'sql/duckdb/tally.duckdb_extension'")
made = db.execute("SELECT exact_merge(s) FROM (SELECT ?::BLOB AS s UNION ALL SELECT exact_state(x) FROM read_csv(?, header = "
                  "false, columns = {'x': 'DOUBLE'}))", [open("state", "rb").read(), sys.argv[1]]).fetchone()[0]
open("next.state", "wb").write(made)
PY
    hand DuckDB
    engines=1
fi

[ $engines = 1 ] || { echo "sql: no engine is here"; exit 77; }
"$TALLY_CLI" fragment make sum:exact --format raw --dtype f64 $part.raw -o last.state && "$TALLY_CLI" fragment merge last.state state -o next.state ||
    fail "the last part"
hand "command line"
"$TALLY_CLI" fragment make sum:exact --format raw --dtype f64 all.raw -o once.state
cmp state once.state || fail "the state that went around differs from the one made in one place"
got=$("$TALLY_CLI" fragment result state --hex) want=$("$TALLY_CLI" reduce sum:exact --hex --format raw --dtype f64 all.raw)
[ "$got" = "$want" ] || fail "its value is $got, and tally reduce sum:exact gives $want"
IFS=','
echo "${hands[*]}: $got, $(stat -c %s all.raw) bytes of data"
exit $bad
