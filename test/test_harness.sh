#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests' own command lines: a name that is none is an error and not a pass of nothing, and the golden file is
# not written.
set -uo pipefail
failed=0
# refused WORDS PROGRAM ARGUMENT...: exit 2 and one sentence that has WORDS in it
refused() {
    local words=$1 program=$2 answer code
    shift 2
    answer=$("$TALLY_BUILD/$program" "$@" 2>&1)
    code=$?
    [ $code -eq 2 ] && [[ $answer == *"$words"* ]] && [ "$(wc -l <<<"$answer")" -eq 1 ] ||
        { echo "FAILED: $program $*: exit $code, $answer"; failed=1; }
}
state() { cksum <"$TALLY_SOURCE/test/golden.txt"; stat -c %Y "$TALLY_SOURCE/test/golden.txt"; }

refused "'rnage': must be one of sum prod" test_bits rnage
refused "'f33': must be one of i8" test_bits sum f33
refused "'fast': must be left out" test_bits sum f32 fast
before=$(state)
refused "'summ': must be one of sum prod" test_golden summ
refused "the file of --write is ''" test_golden --write
refused "'summ': must be one of" test_golden --write golden.txt summ
[ "$(state)" = "$before" ] || { echo "FAILED: the golden file of the tree was written"; failed=1; }
exit $failed
