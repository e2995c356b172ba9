#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The extension for DuckDB (sql/duckdb) beside fractions: test/sql.py. Exit 77: no Python module duckdb, or
# DUCKDB_INCLUDE is not the folder of duckdb_extension.h (sql/duckdb/headers makes one).
set -uo pipefail
: "${TALLY_SOURCE:?}" "${TALLY_BUILD:?}"
python3 -c 'import duckdb' 2>/dev/null || { echo "sql: no Python module duckdb"; exit 77; }
[ -e "${DUCKDB_INCLUDE-}/duckdb_extension.h" ] || { echo "sql: DUCKDB_INCLUDE has no duckdb_extension.h"; exit 77; }
rm -rf sql
cp -r "$TALLY_SOURCE/sql" .
make -s -C sql/duckdb CC="${CC:-cc}" CFLAGS="-O2 -Wall -Wextra -Werror" TALLY_LIB="$TALLY_BUILD/libtally.a" \
    TALLY_INCLUDE="$TALLY_SOURCE/include" || exit 1
exec python3 "$TALLY_SOURCE/test/sql.py" duckdb sql/duckdb/tally.duckdb_extension
