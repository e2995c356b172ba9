#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every example prints exactly what its section of examples/expected.txt says. The line "Run: ..." in an example's head
# is the command, run in the top folder.   test/test_examples.sh --write   writes the sections anew: read the difference.
set -uo pipefail
cd "$TALLY_SOURCE" || exit 1
PATH=$TALLY_BUILD/examples:$PATH
bad=0 count=0
section() { awk -v name="$1" '/^==== / { on = $2 == name; next } on' examples/expected.txt; }
written=$(mktemp)
trap 'rm -f "$written"' EXIT
for source in examples/*.c; do
    name=$(basename "$source" .c)
    command=$(sed -nE 's/^ \* Run: (.*[^ ]) \*\/$/\1/p' "$source")
    [ -n "$command" ] || { echo "examples: $source has no 'Run:' line"; bad=1; continue; }
    actual=$(bash -o pipefail -c "$command" 2>&1)
    code=$?
    printf '==== %s\n%s\n' "$name" "$actual" >>"$written"
    [ "${1-}" != --write ] || continue
    if [ $code -ne 0 ]; then
        echo "examples: $command: exit $code: $actual"
        bad=1
    elif ! diff -u --label "expected.txt: $name" --label "$command" <(section "$name") <(printf '%s\n' "$actual"); then
        bad=1
    fi
    lines=$(wc -l <"$source")
    [ "$lines" -le 60 ] || { echo "examples: $source has $lines lines: at most 60"; bad=1; }
    count=$((count + 1))
done
if [ "${1-}" = --write ]; then # test_mpi.sh has the last section
    { cat "$written"; echo "==== mpi-mean"; section mpi-mean; } >examples/expected.new && mv examples/expected.new examples/expected.txt
fi
[ $bad -eq 0 ] && echo "examples: $count ran as expected"
exit $bad
