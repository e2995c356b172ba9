#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The extension for SQLite (sql/sqlite) from the shell, and from a Python whose sqlite3 loads extensions: known values,
# frames of every kind and shuffles beside fractions (test/sql.py), NULL, infinities, what is refused, damaged states.
# Exit 77: no sqlite3.
set -uo pipefail
: "${TALLY_SOURCE:?}" "${TALLY_BUILD:?}"
command -v sqlite3 >/dev/null && echo '#include <sqlite3ext.h>' | ${CC:-cc} -E - >/dev/null 2>&1 ||
    { echo "sql: no sqlite3, or no sqlite3ext.h (Debian: sqlite3, libsqlite3-dev)"; exit 77; }
make -s -f "$TALLY_SOURCE/sql/sqlite/Makefile" VPATH="$TALLY_SOURCE/sql/sqlite" CC="${CC:-cc}" CFLAGS="-O2 -Wall -Wextra -Werror" \
    TALLY_LIB="$TALLY_BUILD/libtally.a" TALLY_INCLUDE="$TALLY_SOURCE/include" || exit 1
bad=0
shell() { # shell QUERY WANTED: what the shell prints, in one line
    local got
    got=$(sqlite3 :memory: ".load ./tally_sqlite" "$1" 2>&1 | tr '\n' ' ')
    [[ $got == *"$2"* ]] || { echo "FAILED: $1: $got; wanted $2"; bad=1; }
}
shell "SELECT exact_sum(column1), sum(column1) FROM (VALUES (1e100), (1), (-1e100))" "1.0|0.0"
shell "SELECT exact_avg(value) OVER (ORDER BY value ROWS 1 PRECEDING) FROM generate_series(1, 3)" "1.0 1.5 2.5"
shell "SELECT exact_sum(NULL) IS NULL, exact_sum(1e999), exact_sum(2) FROM (SELECT 1)" "1|Inf|2.0"
shell "SELECT exact_sum(1) FROM (SELECT 1 WHERE 0)" ""
shell "SELECT exact_sum('12'), exact_sum(9007199254740992)" "12.0|9.00719925474099e+15"
shell "SELECT exact_sum('abc')" "a value of type text is no number"
shell "SELECT exact_sum(9007199254740993)" "has no equal among the floats"
shell "SELECT exact_sum(9223372036854775807)" "has no equal among the floats"
shell "SELECT exact_value(x'00')" "has 576 bytes"
shell "SELECT exact_merge('text')" "has 576 bytes"
shell "SELECT exact_merge(column1) FROM (VALUES (zeroblob(576)), (1.5))" "has 576 bytes"
shell "SELECT exact_value(replace(hex(zeroblob(576)), '00', 'ff'))" "has 576 bytes"
shell "SELECT exact_value(zeroblob(576)) IS NULL, exact_mean(NULL) IS NULL" "1|1"
shell "SELECT exact_merge(randomblob(576))" "the state is damaged"
shell "SELECT tally_sum(1)" "depends on the order of the rows"
for python in python3 /usr/bin/python3; do
    "$python" -c 'import sqlite3; sqlite3.connect(":memory:").enable_load_extension' 2>/dev/null || continue
    "$python" "$TALLY_SOURCE/test/sql.py" sqlite ./tally_sqlite || bad=1
    exit $bad
done
echo "no Python here whose sqlite3 loads extensions: the shell alone was tested"
exit $bad
