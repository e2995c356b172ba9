#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The extensions for databases (sql/), each where its engine is here; exit 77: none is.
#   SQLite      from the shell, and from a Python whose sqlite3 loads extensions: known values, frames of every kind and
#               shuffles beside fractions (test/sql.py), NULL, infinities, what is refused, damaged states
#   DuckDB      beside fractions (test/sql.py), where the Python module duckdb is and DUCKDB_INCLUDE is the folder of
#               duckdb_extension.h (make -C sql/duckdb headers makes one)
#   PostgreSQL  on a server of its own: its programs are copied into a temporary folder, so that the extension lies
#               beside them and nothing of the system changes. sql/server.sh starts and ends it
set -uo pipefail
: "${TALLY_SOURCE:?}" "${TALLY_BUILD:?}"
bad=0 engines=0
fail() {
    echo "FAILED: $*"
    bad=1
}
extension=(-s CC="${CC:-cc}" CFLAGS="-O2 -Wall -Wextra -Werror" TALLY_LIB="$TALLY_BUILD/libtally.a" TALLY_INCLUDE="$TALLY_SOURCE/include")

shell() { # shell QUERY WANTED: what the shell of SQLite prints, in one line
    local got
    got=$(sqlite3 :memory: ".load ./tally_sqlite" "$1" 2>&1 | tr '\n' ' ')
    [[ $got == *"$2"* ]] || fail "$1: $got; wanted $2"
}
try_sqlite() {
    make -f "$TALLY_SOURCE/sql/sqlite/Makefile" VPATH="$TALLY_SOURCE/sql/sqlite" "${extension[@]}" || return
    shell "SELECT exact_sum(column1), sum(column1) FROM (VALUES (1e100), (1), (-1e100))" "1.0|0.0"
    shell "SELECT exact_avg(value) OVER (ORDER BY value ROWS 1 PRECEDING) FROM generate_series(1, 3)" "1.0 1.5 2.5"
    shell "SELECT exact_sum(NULL) IS NULL, exact_sum(1e999), exact_sum(2) FROM (SELECT 1)" "1|Inf|2.0"
    shell "SELECT exact_sum(1) FROM (SELECT 1 WHERE 0)" ""
    shell "SELECT exact_sum('12'), exact_sum(9007199254740992)" "12.0|9.00719925474099e+15"
    shell "SELECT exact_sum('abc')" "a value of type text is no number"
    shell "SELECT exact_sum(9007199254740993)" "has no equal among the floats"
    shell "SELECT exact_sum(9223372036854775807)" "has no equal among the floats"
    shell "SELECT exact_value(x'00')" "has 576 bytes"
    shell "SELECT exact_mean(column1) FROM (VALUES (1), (1.5))" "exact_avg(x) are the sum and the mean of a column"
    shell "SELECT exact_merge('text')" "has 576 bytes"
    shell "SELECT exact_merge(column1) FROM (VALUES (zeroblob(576)), (1.5))" "has 576 bytes"
    shell "SELECT exact_value(replace(hex(zeroblob(576)), '00', 'ff'))" "has 576 bytes"
    shell "SELECT exact_value(zeroblob(576)) IS NULL, exact_mean(NULL) IS NULL" "1|1"
    shell "SELECT exact_merge(randomblob(576))" "the state is damaged"
    shell "SELECT tally_sum(1)" "depends on the order of the rows"
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import sqlite3; sqlite3.connect(":memory:").enable_load_extension' 2>/dev/null || continue
        "$python" "$TALLY_SOURCE/test/sql.py" sqlite ./tally_sqlite
        return
    done
    echo "no Python here whose sqlite3 loads extensions: the shell alone was tested"
}

try_duckdb() {
    rm -rf sql
    cp -r "$TALLY_SOURCE/sql" .
    make -C sql/duckdb "${extension[@]}" && python3 "$TALLY_SOURCE/test/sql.py" duckdb sql/duckdb/tally.duckdb_extension
}

try_postgres() {
    local code pid regress
    server_begin || return
    regress=$(dirname "$("$PG_CONFIG" --pgxs)")/../test/regress/pg_regress
    cp -r "$TALLY_SOURCE/sql/postgres/sql" "$TALLY_SOURCE/sql/postgres/expected" "$FOLDER"
    server_user sh -c "cd '$FOLDER' && '$regress' --use-existing --host='$FOLDER' --user=postgres --dbname=postgres \
        --bindir='$BIN' --inputdir=. --outputdir=. tally" >regress.log 2>&1
    code=$?
    tail -n 8 regress.log
    cp -r "$FOLDER/results" .
    [ $code -eq 0 ] || head -n 80 "$FOLDER/regression.diffs"
    [ -n "$SERVER" ] && kill -0 "$SERVER" || fail "the server ended in the middle"
    pid=$SERVER
    server_end
    kill -0 "$pid" 2>/dev/null && fail "the server still runs"
    [ ! -e "$FOLDER" ] || fail "$FOLDER is still there"
    return $code
}

if command -v sqlite3 >/dev/null && echo '#include <sqlite3ext.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
    engines=1
    try_sqlite || fail "SQLite"
else
    echo "SQLite: no sqlite3, or no sqlite3ext.h (Debian: sqlite3, libsqlite3-dev)"
fi
if python3 -c 'import duckdb' 2>/dev/null && [ -e "${DUCKDB_INCLUDE-}/duckdb_extension.h" ]; then
    engines=1
    try_duckdb || fail "DuckDB"
else
    echo "DuckDB: no Python module duckdb, or DUCKDB_INCLUDE has no duckdb_extension.h"
fi
. "$TALLY_SOURCE/sql/server.sh"
if server_find; then
    engines=1
    try_postgres || fail "PostgreSQL"
fi
[ $engines -eq 1 ] || exit 77
exit $bad
