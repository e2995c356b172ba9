# SPDX-License-Identifier: MIT
# A PostgreSQL server with tally in a temporary folder of its own, for tests and bench/sql.sh. It listens on a socket in
# that folder only. TALLY_SOURCE and TALLY_BUILD say where tally is. To be sourced:
#   server_find            sets PG_CONFIG and BIN; or says what is missing
#   server_begin           builds the extension, copies the server's programs, starts it; FOLDER is its folder
#   server_user WORDS...   runs a command as the server's user (PostgreSQL does not run as root)
#   server_end             ends it, and removes the folder

server_find() {
    local config
    for config in /usr/lib/postgresql/*/bin/pg_config /usr/bin/pg_config; do
        [ -x "$config" ] && [ -f "$("$config" --includedir-server)/postgres.h" ] &&
            [ -x "$("$config" --bindir)/postgres" ] || continue
        PG_CONFIG=$config BIN=$("$config" --bindir)
        [ "$(id -u)" -ne 0 ] || id postgres >/dev/null 2>&1 || { echo "sql: no user postgres"; return 1; }
        return 0
    done
    echo "sql: no PostgreSQL server with its headers (Debian: postgresql, postgresql-server-dev-15)"
    return 1
}

server_user() {
    if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# The programs find their files beside them, so BINDIR, PKGLIBDIR and SHAREDIR below one folder are enough.
server_begin() {
    local lib share prefix=/usr
    FOLDER=$(mktemp -d)
    trap server_end EXIT
    chmod 755 "$FOLDER" # the server's user must come in
    mkdir "$FOLDER/build"
    lib=$("$PG_CONFIG" --pkglibdir) share=$("$PG_CONFIG" --sharedir)
    cp "$TALLY_SOURCE"/sql/postgres/{tally.c,order.c,Makefile,tally.control,tally--0.2.sql} "$FOLDER/build"
    cp "$TALLY_SOURCE/sql/rows.h" "$FOLDER"
    make -s -C "$FOLDER/build" PG_CONFIG="$PG_CONFIG" TALLY_LIB="$TALLY_BUILD/libtally.a" with_llvm=no \
        TALLY_INCLUDE="$TALLY_SOURCE/include" COPT="-Wall -Werror" || return 1
    local to_bin=$FOLDER/${BIN#$prefix/} to_lib=$FOLDER/${lib#$prefix/} to_share=$FOLDER/${share#$prefix/}
    mkdir -p "$to_bin" "$to_lib" "$to_share"
    cp "$BIN"/{postgres,initdb} "$to_bin"
    ln -s "$lib"/* "$to_lib"
    ln -s "$share"/* "$to_share"
    rm "$to_share/extension"
    mkdir "$to_share/extension"
    ln -s "$share"/extension/* "$to_share/extension"
    cp "$FOLDER/build/tally.so" "$to_lib"
    cp "$FOLDER"/build/tally{.control,--0.2.sql} "$to_share/extension"
    [ "$(id -u)" -ne 0 ] || chown -R postgres "$FOLDER"
    server_user "$to_bin/initdb" -D "$FOLDER/data" -A trust -U postgres --no-sync --no-locale -E UTF8 \
        >"$FOLDER/initdb.log" || return 1
    server_user "$to_bin/postgres" -D "$FOLDER/data" -k "$FOLDER" -c listen_addresses= -c fsync=off -c jit=off \
        -c max_worker_processes=16 -c max_parallel_workers=16 ${SERVER_OPTIONS-} >"$FOLDER/server.log" 2>&1 &
    SERVER=$!
    for _ in $(seq 100); do
        psql -h "$FOLDER" -U postgres -qc '' postgres >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    cat "$FOLDER/server.log"
    return 1
}

server_end() {
    if [ -n "${SERVER-}" ]; then
        [ -f "$FOLDER/data/postmaster.pid" ] && kill -INT "$(head -n 1 "$FOLDER/data/postmaster.pid")" 2>/dev/null
        wait "$SERVER" 2>/dev/null
    fi
    SERVER=
    [ -z "${FOLDER-}" ] || rm -rf "$FOLDER"
}
