#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The extension for PostgreSQL (sql/postgres) on a server of its own: its programs are copied into a temporary
# folder, so that the extension lies beside them and nothing of the system changes. sql/server.sh starts and ends it.
# Exit 77: no server or no headers of it.
set -uo pipefail
: "${TALLY_SOURCE:?}" "${TALLY_BUILD:?}"
. "$TALLY_SOURCE/sql/server.sh"
server_find || exit 77
server_begin || exit 1
regress=$(dirname "$("$PG_CONFIG" --pgxs)")/../test/regress/pg_regress
cp -r "$TALLY_SOURCE/sql/postgres/sql" "$TALLY_SOURCE/sql/postgres/expected" "$FOLDER"
server_user sh -c "cd '$FOLDER' && '$regress' --use-existing --host='$FOLDER' --user=postgres --dbname=postgres \
    --bindir='$BIN' --inputdir=. --outputdir=. tally" >regress.log 2>&1
code=$?
tail -n 8 regress.log
cp -r "$FOLDER/results" .
[ $code -eq 0 ] || head -n 80 "$FOLDER/regression.diffs"
[ -n "$SERVER" ] && kill -0 "$SERVER" || { echo "FAILED: the server ended in the middle"; code=1; }
pid=$SERVER
server_end
kill -0 "$pid" 2>/dev/null && { echo "FAILED: the server still runs"; code=1; }
[ ! -e "$FOLDER" ] || { echo "FAILED: $FOLDER is still there"; code=1; }
exit $code
