#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs into a folder, moves that folder, and builds test/consumer against it: by find_package, by pkg-config (shared
# and static) and as C++. The manual and the completions must be there and well formed, the documents and examples where
# the README says. Then tally as a folder of the consumer's project, which must gain a library and nothing else.
set -euo pipefail
[ -z "${TALLY_SANITIZE-}" ] || { echo "install: not with sanitizers"; exit 77; }
work=$PWD
rm -rf "$work"/{first,prefix,build}
cmake --install "$TALLY_BUILD" --prefix "$work/first" >install.log
mv first prefix
prefix=$work/prefix
version=$(awk '/^#define TALLY_VERSION_/ { text = text dot $3; dot = "." } END { print text }' "$TALLY_SOURCE/include/tally.h")
want="tally $version: 6.5 6.5"
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
    [ "$(pkg-config --modversion tally)" = "$version" ]
    # shellcheck disable=SC2046
    "$CC" "$TALLY_SOURCE/test/consumer/main.c" $(pkg-config --cflags --libs tally) -Wl,-rpath,"$lib" -o consumer_pc
    check pkg-config ./consumer_pc "$want"
    "$CC" "$TALLY_SOURCE/test/consumer/main.c" $(pkg-config --cflags tally) "$lib/libtally.a" \
        $(pkg-config --static --libs-only-other tally) -lm -o consumer_pc_static
    check "pkg-config, static" ./consumer_pc_static "$want"
    if command -v c++ >/dev/null; then
        c++ -Wall -Wextra -Werror -std=c++11 "$TALLY_SOURCE/test/consumer/main.cpp" \
            $(pkg-config --cflags --libs tally) -Wl,-rpath,"$lib" -o consumer_cpp
        check C++ ./consumer_cpp "tally $version: 6.5 3.5"
    fi
fi
# the headers alone, as strictly as C11 allows
printf '#include <tally.h>\n#include <tally_arrow.h>\n#include <tally_digits.h>\n' |
    "$CC" -std=c11 -pedantic -Wall -Wextra -Wconversion -Werror -I "$prefix/include" -fsyntax-only -x c -

"$prefix/bin/tally" --version | grep -qF "$version"
[ "$(seq 1 10 | "$prefix/bin/tally" reduce sum)" = 55 ]
for file in include/tally_gpu.h include/tally_keys.h include/tally_stream.h include/tally_file.h include/tally_mpi.h include/tally_mpi_ranks.h include/tally_mpi_elements.h include/tally_mpi_window.h include/tally_mpi_nccl.h include/tally_arrow.h include/tally_digits.h share/tally/fortran/tally_mpi.f90 share/doc/tally/LICENSE share/doc/tally/doc/user-operators.md share/doc/tally/examples/sum.c \
            share/man/man1/tally.1 share/bash-completion/completions/tally share/zsh/site-functions/_tally \
            share/fish/vendor_completions.d/tally.fish; do
    [ -s "$prefix/$file" ] || { echo "install: $file is missing or empty"; exit 1; }
done
cd "$prefix/share/doc/tally" # a command of the README, as installed
[ "$(printf '3\n5\n2\n8\n1\n' | "$prefix/bin/tally" reduce descent --op-file examples/operators/descent.h)" = 7 ]
"$prefix/bin/tally" reduce count --column co2 data/co2.csv >/dev/null
cd "$work"
if command -v python3 >/dev/null; then # every link of an installed document leads to an installed file
    python3 - "$prefix/share/doc/tally" <<'END'
import os, re, sys
bad, links = set(), 0
for folder, _, names in os.walk(sys.argv[1]):
    for name in (n for n in names if n.endswith(".md")):
        with open(os.path.join(folder, name), encoding="utf-8") as f: text = re.sub(r"^```.*?^```", "", f.read(), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", text):
            if re.match(r"[a-z]+:", link): continue
            links += 1
            if not os.path.exists(os.path.join(folder, link)): bad.add(f"install: {name}: {link} is not installed")
print("\n".join(sorted(bad)) or f"{links} links of installed documents")
sys.exit(bool(bad) or links < 100)
END
fi
bash -n "$prefix/share/bash-completion/completions/tally"
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$prefix/share/man/man1/tally.1" ||
        { echo "install: the manual is not well formed"; exit 1; }
fi

# `make install` with a prefix, staged; the build is there already, and `make` would configure it anew (-o all: not
# that)
if grep -q '^CMAKE_PROJECT_NAME' "$TALLY_BUILD/CMakeCache.txt" && command -v make >/dev/null; then
    make -s -C "$TALLY_SOURCE" -o all install BUILD="$TALLY_BUILD" PREFIX=/opt/tally DESTDIR="$work/staged" >make.log
    [ "$(seq 1 10 | staged/opt/tally/bin/tally reduce sum)" = 55 ] ||
        { echo "install: make install PREFIX= DESTDIR="; exit 1; }
fi

# As a folder of a project: no target, test, option or flag for it but the library's. Of the whole tree, configured
# only; then a copy without what only the whole needs, and with one operator, built.
generator=() # the caller's own choice; make takes longer
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
inside() { # inside BUILD FOLDER ARGUMENT...
    cmake "${generator[@]}" -S "$TALLY_SOURCE/test/consumer" -B "$1" "-DTALLY_FOLDER=$2" -DCMAKE_C_COMPILER="$CC" \
        -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "${@:3}" >>cmake.log
}
wrong() { echo "install: as a folder of a project: $*"; exit 1; }
rm -rf inside copy
inside inside "$TALLY_SOURCE"
cmake --build inside --target help | grep -E '(^|[ .:])(test_|fuzz_|example|tally_cli|ladder|manual)' &&
    wrong "there are targets of tests or tools"
[ "$(ctest --test-dir inside -N | tail -n 1)" = "Total Tests: 1" ] || wrong "it has tally's tests"
grep -E '^(BUILD_SHARED_LIBS|CMAKE_BUILD_TYPE:STRING=.)' inside/CMakeCache.txt &&
    wrong "an option of the project's was set"
grep -E -- '-Wall|-ffp-contract' <(grep -A1 -B1 'consumer/main.c' inside/compile_commands.json) &&
    wrong "flags reach the project's sources"
cmake --install inside --prefix "$work/inside/prefix" >>cmake.log
[ ! -e inside/prefix ] || wrong "it installs tally"

mkdir copy
(cd "$TALLY_SOURCE" && tar c CMakeLists.txt cmake include src packaging) | tar x -C copy
grep -vE '^OPERATOR(_ALSO)?\(' copy/src/op/ops.def >ops.new
grep -E '^OPERATOR\(sum,' copy/src/op/ops.def | sed 's/YES,/NO,/' >>ops.new # no nansum
mv ops.new copy/src/op/ops.def
isa=$(sed -n 's/^TALLY_ISAS:[A-Z]*=//p' "$TALLY_BUILD/CMakeCache.txt")
isa=${isa##*;}
for shared in OFF ON; do
    inside inside "$work/copy" -DCMAKE_C_FLAGS=-O0 "-DTALLY_ISAS=$isa" -DBUILD_SHARED_LIBS=$shared
    cmake --build inside -j 2 >>cmake.log
    check "add_subdirectory, shared $shared" inside/consumer "$want"
    [[ $(ldd inside/consumer) == *libtally* ]] && found=ON || found=OFF
    [ $found = $shared ] || wrong "BUILD_SHARED_LIBS=$shared gives tally::tally the other library"
done

# a build for an instruction set that this machine does not have: a sentence, not an illegal instruction
sed -i -E 's/^ISA\(([a-z0-9]+), ([0-9]+), .*/ISA(\1, \2, 0)/; /^ +__builtin_cpu/d' copy/src/operator/isa.def
inside inside "$work/copy" -DCMAKE_C_FLAGS=-O0 "-DTALLY_ISAS=$isa" -DBUILD_SHARED_LIBS=OFF
cmake --build inside -j 2 >>cmake.log
answer=$(inside/consumer 2>&1) && wrong "a build for another machine runs: $answer"
[[ $answer == *"tally was built for $isa, which this processor does not have"* ]] || wrong "a build for another machine: $answer"

# native is one that this machine has
cmake -S "$TALLY_SOURCE" -B native -DTALLY_ISAS=native -DBUILD_TESTING=OFF >native.log 2>&1 && [ -e native/Makefile ] || wrong "TALLY_ISAS=native"
[ "$(ls -d native/CMakeFiles/op_sum_*.dir | wc -l)" -eq 1 ] || wrong "TALLY_ISAS=native has $(ls -d native/CMakeFiles/op_sum_*.dir)"
rm -r native

# an instruction set that is none, and a list with commas: one sentence, before anything is compiled
for isas in avx9 sse2,avx2; do
    cmake -S "$TALLY_SOURCE" -B none "-DTALLY_ISAS=$isas" >none.log 2>&1 && wrong "TALLY_ISAS=$isas is taken"
    tr -s ' \n' ' ' <none.log | grep -q "TALLY_ISAS has '$isas': must be of .* and generic" ||
        wrong "TALLY_ISAS=$isas: $(tail -n 3 none.log)"
done
cmake -S "$TALLY_SOURCE" -B none-op "-DTALLY_OPERATORS=any|skew" >none.log 2>&1 || wrong "TALLY_OPERATORS=any|skew"
[ "$(grep -oE '^OPERATOR\(\w+' none-op/few/op/ops.def | sort | xargs)" = \
    'OPERATOR(any OPERATOR(kurt OPERATOR(or OPERATOR(skew' ] || wrong "TALLY_OPERATORS: kernels that are shared are not there"
cmake -S "$TALLY_SOURCE" -B none-op "-DTALLY_OPERATORS=smu" >none.log 2>&1 && wrong "TALLY_OPERATORS=smu is taken"
tr -s ' \n' ' ' <none.log | grep -qF "TALLY_OPERATORS is 'smu': must be names in src/op/ops.def" ||
    wrong "TALLY_OPERATORS=smu: $(tail -n 3 none.log)"
echo "install: moved prefix works with find_package, pkg-config and C++; so does a folder of a project"
