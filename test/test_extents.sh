#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Arrays with extents of 0 (and of 2^40 and 2^62 beside a 0) on the command line: every verb along every axis, in both orders, ends
# with what the shape says or with one sentence, and soon.
set -u
binary=$(realpath "${1:-${TALLY_CLI:?usage: test_extents.sh TALLY}}")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0

npy() # FILE FORTRAN SHAPE-WITH-COMMAS
{
    local head="{'descr': '<f8', 'fortran_order': $2, 'shape': ($3), }"
    printf '\x93NUMPY\x01\x00\xf6\x00%-245s\n' "$head" >"$1"
}
run() # LINES ARGUMENTS...: how many lines of output; - for one sentence and exit 1 or 2
{
    local lines=$1 code good=1
    shift
    timeout 20 "$binary" "$@" >out 2>err
    code=$?
    if [ "$lines" = - ]; then
        if [ $code -eq 1 ] || [ $code -eq 2 ]; then [ "$(wc -l <err)" -eq 1 ] && grep -q '^tally: ' err && good=0; fi
    else
        [ $code -eq 0 ] && [ ! -s err ] && [ "$(wc -l <out)" -eq "$lines" ] && good=0
    fi
    if [ $good -eq 0 ]; then passed=$((passed + 1)); return; fi
    failed=$((failed + 1))
    echo "FAILED $* of $shape, fortran $order: exit $code, $(wc -l <out) lines, wanted $lines: $(head -3 err)"
}

for shape in 0,3 3,0 0,0 0,3,4 3,0,4 3,4,0 1,0,1; do
    IFS=, read -ra extent <<<"$shape"
    for order in False True; do
        npy x.npy $order "$shape"
        run 1 reduce sum x.npy
        run 0 scan sum x.npy
        run 0 window sum --width 3 x.npy
        for axis in "${!extent[@]}"; do
            sequences=1
            for d in "${!extent[@]}"; do [ "$d" = "$axis" ] || sequences=$((sequences * extent[d])); done
            run $sequences reduce sum --axis "$axis" x.npy
            run 0 scan sum --axis "$axis" x.npy
            run 0 window sum --width 3 --edges valid --axis "$axis" x.npy
        done
    done
done
many=4611686018427387904 large=1099511627776
for order in False True; do
    for shape in $many,0 0,$many $large,0,$large; do
        npy x.npy $order "$shape"
        run 1 reduce sum x.npy
        run 0 scan sum x.npy
        run 0 scan sum --axis 0 x.npy
        run 0 window sum --width 3 --axis 1 x.npy
    done
    shape=$many,0 && npy x.npy $order "$shape"
    run - reduce sum --axis 1 x.npy
    run 0 reduce sum --axis 0 x.npy
    shape=$large,0,$large && npy x.npy $order "$shape"
    run - reduce sum --axis 1 x.npy
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
