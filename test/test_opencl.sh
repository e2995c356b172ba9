#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The OpenCL kernels on whatever OpenCL device is here (PoCL on a machine without a GPU): the bits matrix for one operator of each
# kind, and the command line on the device. Skipped without a device.
set -u
[ -z "${TALLY_SANITIZE-}" ] || { echo "opencl: not with sanitizers"; exit 77; }
device=$("$TALLY_CLI" devices | awk '/^opencl:/ { print $1; exit }')
[ -n "$device" ] || { echo "skipped: no OpenCL device here"; exit 77; }
failed=0
turn=${TALLY_TEST_SEED:-$RANDOM}
echo "seed $turn"
for case in "sum f32" "argmax u8" "var f64"; do # in every second run one of them, which the seed picks
    turn=$((turn + 1))
    [ -n "${TALLY_TEST_LONG-}" ] || [ $((turn % 6)) = 1 ] || continue
    # shellcheck disable=SC2086
    TALLY_TEST_QUICK=1 TALLY_TEST_DEVICES=$device "$TALLY_BUILD/test_bits" $case || failed=1
done
# PoCL takes a fifth of the time for these programs with the variables; without them in scripts/test long
check_verify() { "$TALLY_CLI" verify --device "$device" --cases 2 --seed "$turn" || failed=1; }
export XDG_CACHE_HOME=$PWD/cache
check_verify
# From here on as users have them, with an empty cache, so that the driver compiles: its compiler has no warning to print.
unset TALLY_KERNELS POCL_WORK_GROUP_METHOD POCL_EXTRA_BUILD_FLAGS
rm -rf empty
shared=$POCL_CACHE_DIR
export POCL_CACHE_DIR=$PWD/empty
# PoCL 3.1 made wrong code of its scans of f16 on an AMD EPYC, but not with the variables above (half_to_f32 in
# prelude_opencl.h). The kernel of one case compiles for 20 s: one run of four has one, scripts/test long all.
seq -50 0.37 7350 >elements
scans() { "$TALLY_CLI" scan sum --quiet --dtype f16 --digest --device "$@"; }
for how in "1" "33 --exclusive" "257 --reverse" "4097 --init 3" "20000" "20000 --exclusive --reverse" "20000 --shape 40x500" \
    "4096 --shape 16x256 --init 2" "20000 --shape 500x40 --axis 0"; do
    turn=$((turn + 1))
    [ -n "${TALLY_TEST_LONG-}" ] || [ $((turn % 36)) = 1 ] || continue
    # shellcheck disable=SC2086
    got=$(head -n "${how%% *}" elements | scans "$device" ${how#"${how%% *}"} 2>&1)
    # shellcheck disable=SC2086
    want=$(head -n "${how%% *}" elements | scans cpu ${how#"${how%% *}"})
    [ -n "$want" ] && [ "$got" = "$want" ] || { echo "FAILED: scan of f16, $how: $got, not $want"; failed=1; }
done
# PoCL 3.1 gave a function that is not inlined another local array than its kernel: sums down columns were wrong
# (shared_fn in prelude_opencl.h). The kernel compiles for 20 s: one run of three has it, scripts/test long always.
columns() { "$TALLY_CLI" reduce sum --quiet --dtype f32 --digest --axis 0 --device "$@"; }
for shape in 16x4 204x4 100x70 2000x3; do
    [ -n "${TALLY_TEST_LONG-}" ] || [ $((turn % 3)) = 1 ] || continue
    n=$((${shape%x*} * ${shape#*x}))
    got=$(head -n "$n" elements | columns "$device" --shape "$shape" 2>&1)
    want=$(head -n "$n" elements | columns cpu --shape "$shape")
    [ -n "$want" ] && [ "$got" = "$want" ] || { echo "FAILED: sum of f32 down columns, $shape: $got, not $want"; failed=1; }
done
# PoCL 3.1 makes wrong code of a kernel that calls a function with a barrier at two places (short_columns in short_columns.cl).
# Another run of three has it.
few_rows() { "$TALLY_CLI" reduce var --quiet --dtype f32 --digest --axis 0 --shape 20x20480 --device "$1" elements 2>&1; }
if [ -n "${TALLY_TEST_LONG-}" ] || [ $((turn % 3)) = 2 ]; then
    seq -99 0.37 151453 | head -n 409600 >elements
    got=$(few_rows "$device")
    want=$(few_rows cpu)
    [ "${#want}" -eq 64 ] && [ "$got" = "$want" ] || { echo "FAILED: var of f32 down 20480 columns of 20: $got, not $want"; failed=1; }
fi
# such an array is a symbol of data in the program that PoCL keeps
kept=$(find "$shared" empty -name '*.so' -exec nm {} + 2>/dev/null | grep -E ' [bBdD] [a-z_]+\.[a-z_]+$' | sort -u)
[ -z "$kept" ] || { echo "FAILED: local arrays that functions do not share with their kernel: $kept"; failed=1; }
answer=$(seq 1 3000 | "$TALLY_CLI" reduce sum --quiet --device "$device" 2>&1)
rm -rf cache empty
[ "$answer" = 4501500 ] || { echo "FAILED: the first call prints $answer"; failed=1; }
[ -z "${TALLY_TEST_LONG-}" ] || check_verify
exit $failed
