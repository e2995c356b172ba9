#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A launch that does not give a kernel its parameters (src/gpu/kernel/params.def) does not compile: each line below plants such a mistake in a copy of a
# file that launches kernels, or in the table, and must end the compiler with these words. Without a plant the copies compile.
set -u
failed=0 planted=0
rm -rf copy && mkdir -p copy/src || exit 1
# fresh: the folder whose files plants change, and links to all others
fresh() {
    ln -sfn "$TALLY_SOURCE"/src/* copy/src/
    rm -rf copy/src/gpu && cp -r "$TALLY_SOURCE/src/gpu" copy/src/gpu
}
compile() {
    "$CC" -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -I"$TALLY_SOURCE/include" -Icopy/src -fsyntax-only copy/src/gpu/reduce.c >said 2>&1
}
# plant FILE SED WORDS: with FILE changed by SED the compiler must say WORDS
plant() {
    local file=copy/src/$1
    fresh
    cp "$file" before
    sed -E -i "$2" "$file"
    planted=$((planted + 1))
    if cmp -s before "$file"; then
        echo "FAILED: $2 changes nothing in src/$1: the plant must be rewritten" && failed=$((failed + 1))
    elif compile; then
        echo "FAILED: compiles with $2 in src/$1" && failed=$((failed + 1))
    elif ! grep -qE "$3" said; then
        echo "FAILED: with $2 in src/$1 the compiler does not say '$3':" && head -n 5 said && failed=$((failed + 1))
    fi
}

fresh
compile || { echo "FAILED: the files as they are do not compile:" && head -n 10 said && failed=1; }
few='nodes: not as many arguments as in params.def'
plant gpu/reduce.c 's/ \.level = k,//' "$few"
plant gpu/reduce.c 's/ \.level = k,/& .levels = k,/' "no member named .levels|$few"
plant gpu/reduce.c 's/ \.level = k,/& .level = k,/' 'override'
plant gpu/reduce.c 's/ \.level = k,/ .level = to,/' 'integer from pointer|pointer to integer'
plant gpu/reduce.c 's/ \.nodes = to,/ .nodes = k,/' 'pointer from integer|integer to pointer'
plant gpu/reduce.c 's/ \.nodes = to,/ .nodes = nodes,/' 'incompatible pointer'
plant gpu/kernel/params.def '/^KERNEL\(nodes,/a I64(another)' "$few"
plant gpu/kernel/params.def '/^KERNEL\(nodes,/,/^END/{/I64\(level\)/d}' "no member named .level|$few"
plant gpu/kernel/params.def '/^KERNEL\(nodes,/,/^END/s/I64\(level\)/IN(u8, level)/' 'pointer from integer|integer to pointer'
echo "$planted planted, $failed failed"
[ $failed -eq 0 ]
