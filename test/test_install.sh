#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs into a folder, moves that folder, and builds test/consumer against it: by find_package, by pkg-config (shared
# and static) and as C++. The manual and the completions must be there and well formed.
set -euo pipefail
[ -z "${TALLY_SANITIZE-}" ] || { echo "install: not with sanitizers"; exit 77; }
work=$PWD
rm -rf "$work"/{first,prefix,build}
cmake --install "$TALLY_BUILD" --prefix "$work/first" >install.log
mv first prefix
prefix=$work/prefix
want="tally 0.1.0: 6.5 6.5"
check() { # check WHAT PROGRAM WANTED
    local got
    got=$("$2")
    [ "$got" = "$3" ] || { echo "install: $1: '$got' instead of '$3'"; exit 1; }
}

cmake -S "$TALLY_SOURCE/test/consumer" -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" >cmake.log
cmake --build build >>cmake.log
check find_package build/consumer "$want"
check "find_package, static" build/consumer_static "$want"

if command -v pkg-config >/dev/null; then
    pc=$(find "$prefix" -name tally.pc)
    PKG_CONFIG_PATH=$(dirname "$pc")
    export PKG_CONFIG_PATH
    lib=$(dirname "$PKG_CONFIG_PATH")
    [ "$(pkg-config --modversion tally)" = 0.1.0 ]
    # shellcheck disable=SC2046
    "$CC" "$TALLY_SOURCE/test/consumer/main.c" $(pkg-config --cflags --libs tally) -Wl,-rpath,"$lib" -o consumer_pc
    check pkg-config ./consumer_pc "$want"
    "$CC" "$TALLY_SOURCE/test/consumer/main.c" $(pkg-config --cflags tally) "$lib/libtally.a" \
        $(pkg-config --static --libs-only-other tally) -lm -o consumer_pc_static
    check "pkg-config, static" ./consumer_pc_static "$want"
    if command -v c++ >/dev/null; then
        c++ -Wall -Wextra -Werror -std=c++11 "$TALLY_SOURCE/test/consumer/main.cpp" \
            $(pkg-config --cflags --libs tally) -Wl,-rpath,"$lib" -o consumer_cpp
        check C++ ./consumer_cpp "tally 0.1.0: 6.5 3.5"
    fi
fi
# the header alone, as strictly as C11 allows
echo '#include <tally.h>' |
    "$CC" -std=c11 -pedantic -Wall -Wextra -Wconversion -Werror -I "$prefix/include" -fsyntax-only -x c -

"$prefix/bin/tally" --version | grep -q 0.1.0
[ "$(seq 1 10 | "$prefix/bin/tally" reduce sum)" = 55 ]
for file in share/man/man1/tally.1 share/bash-completion/completions/tally share/zsh/site-functions/_tally \
            share/fish/vendor_completions.d/tally.fish; do
    [ -s "$prefix/$file" ] || { echo "install: $file is missing or empty"; exit 1; }
done
bash -n "$prefix/share/bash-completion/completions/tally"
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$prefix/share/man/man1/tally.1" ||
        { echo "install: the manual is not well formed"; exit 1; }
fi
echo "install: moved prefix works with find_package, pkg-config and C++"
