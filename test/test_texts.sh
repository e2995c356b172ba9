#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Mistakes that the build finds. In the texts of src/op: its check (cmake/operator_texts.c) says each in one sentence, with
# the file and the line. A launch that does not give a kernel its parameters (src/gpu/kernel/params.def) does not compile: such a
# mistake is planted in a copy of a file that launches kernels, or in the table, and must end the compiler with certain words.
set -uo pipefail
failed=0 planted=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" && mkdir -p src/op src/cpu/kernel || exit 1
cp "$TALLY_SOURCE/src/cpu/kernel/prelude_cpu.h" src/cpu/kernel
# plant FILE SED SENTENCE: what the check says of op/FILE.h changed by SED begins with "src/op/FILE.h:SENTENCE"
plant() {
    local answer
    cp "$TALLY_SOURCE"/src/op/*.h src/op
    sed -i "$2" "src/op/$1.h"
    ! cmp -s "src/op/$1.h" "$TALLY_SOURCE/src/op/$1.h" || { echo "FAILED: '$2' changes nothing in $1.h"; failed=1; }
    answer=$("$TALLY_BUILD/tally_operator_texts" src 2>&1)
    [ $? -eq 1 ] && [ "$(wc -l <<<"$answer")" -eq 1 ] && [[ $answer == "src/op/$1.h:$3"* ]] ||
        { echo "FAILED: $1, $2: $answer"; failed=1; }
}
cp "$TALLY_SOURCE"/src/op/*.h src/op
"$TALLY_BUILD/tally_operator_texts" src || failed=1
plant sum '/OP_LANE/d' '1: OP_LANE is missing'
plant sum '1i #define OP_LANE FLOAT' "1: OP_LANE is 'FLOAT': must be REAL"
plant sum '1i #define OP_WIDEN KEY' "1: OP_WIDEN is 'KEY': must be REAL"
plant sum '/OP_WIDEN/d' '1: OP_WIDEN is missing'
plant max 's/OP_NAN_WIDEN LOW/OP_NAN_WIDEN WIDE/' "7: OP_NAN_WIDEN is 'WIDE': must be REAL_ONE"
plant max '1i #define OP_MASKED 1' '1: OP_MASKED is not a fact'
plant max '1i fn mask masked(elem x) { return is_nan(x); }' "1: 'masked' is the library's"
plant argmax 's/OP_LANE IDX/OP_LANE ORD/' '1: OP_LANE is ORD: must be the type of the'
plant max '/result empty/d' "1: 'empty' is missing"
plant sum '/state neutral/d' "1: 'neutral' is missing"
plant var '/OP_STATE(F)/d' '1: OP_STATE is missing'
plant minmax '/OP_LANES/d' '1: OP_LANES is 1, and the row of minmax in src/op/ops.def has 2'
plant any '1i #define OP_OUT BIT' '1: OP_OUT stands in a text of src/op'
plant any 's/^fn state neutral/fn ord half(ord x) { return x; }\n&/' "1: 'half' is a name of the text's own"
plant all '1i #include <math.h>' '1: an operator includes nothing'

# ---- launches. Without a plant the copies compile ----
cd "$work" && mkdir -p copy/src || exit 1
# fresh: the folder whose files plants change, and links to all others
fresh() {
    ln -sfn "$TALLY_SOURCE"/src/* copy/src/
    rm -rf copy/src/gpu && cp -r "$TALLY_SOURCE/src/gpu" copy/src/gpu
}
compile() {
    "$CC" -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -I"$TALLY_SOURCE/include" -Icopy/src -fsyntax-only copy/src/gpu/reduce.c >messages 2>&1
}
# plant FILE SED WORDS: with FILE changed by SED the compiler must say WORDS
plant_launch() {
    local file=copy/src/$1
    fresh
    cp "$file" before
    sed -E -i "$2" "$file"
    planted=$((planted + 1))
    if cmp -s before "$file"; then
        echo "FAILED: $2 changes nothing in src/$1: the plant must be rewritten" && failed=$((failed + 1))
    elif compile; then
        echo "FAILED: compiles with $2 in src/$1" && failed=$((failed + 1))
    elif ! grep -qE "$3" messages; then
        echo "FAILED: with $2 in src/$1 the compiler does not say '$3':" && head -n 5 messages && failed=$((failed + 1))
    fi
}

fresh
compile || { echo "FAILED: the files as they are do not compile:" && head -n 10 messages && failed=1; }
few='nodes: not as many arguments as in params.def'
plant_launch gpu/reduce.c 's/ \.level = k,//' "$few"
plant_launch gpu/reduce.c 's/ \.level = k,/& .levels = k,/' "no member named .levels|$few"
plant_launch gpu/reduce.c 's/ \.level = k,/& .level = k,/' 'override'
plant_launch gpu/reduce.c 's/ \.level = k,/ .level = to,/' 'integer from pointer|pointer to integer'
plant_launch gpu/reduce.c 's/ \.nodes = to,/ .nodes = k,/' 'pointer from integer|integer to pointer'
plant_launch gpu/reduce.c 's/ \.nodes = to,/ .nodes = nodes,/' 'incompatible pointer'
plant_launch gpu/kernel/params.def '/^KERNEL\(nodes,/a I64(another)' "$few"
plant_launch gpu/kernel/params.def '/^KERNEL\(nodes,/,/^END/{/I64\(level\)/d}' "no member named .level|$few"
plant_launch gpu/kernel/params.def '/^KERNEL\(nodes,/,/^END/s/I64\(level\)/IN(u8, level)/' 'pointer from integer|integer to pointer'
[ $planted -gt 5 ] && exit $((failed > 0))
