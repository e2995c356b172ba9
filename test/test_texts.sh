#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Mistakes in the texts of src/op: the build's check (cmake/operator_texts.c) says each in one sentence, with the file
# and the line.
set -uo pipefail
failed=0
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
exit $failed
