#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The start-up probe on TALLY_TEST_DEVICE or whatever OpenCL device is here (PoCL on a machine without a GPU): the device passes and that is remembered;
# with a wrong kernel text (TALLY_KERNELS) it is refused by a sentence that names the row; probe=off opens it all the same. Skipped
# without a device.
set -u
[ -z "${TALLY_SANITIZE-}" ] || { echo "conformance: not with sanitizers"; exit 77; }
device=${TALLY_TEST_DEVICE:-$("$TALLY_CLI" devices | awk '/^opencl:/ { print $1; exit }')}
[ -n "$device" ] || { echo "skipped: no OpenCL device here"; exit 77; }
export XDG_CACHE_HOME=$PWD/cache
rm -rf cache kernels
mkdir cache
failed=0
wrong() { echo "FAILED: $*"; failed=1; }
# sum DEVICE [SETTING...]: five numbers summed on the device; answer and sentence in $answer, exit status in $code, ms in $took
sum() {
    local begin
    begin=$(date +%s%N)
    answer=$(printf '1 2 3 4 5\n' | env "${@:2}" "$TALLY_CLI" reduce sum --quiet --device "$1" 2>&1)
    code=$?
    took=$((($(date +%s%N) - begin) / 1000000))
}

sum "$device"
[ "$code $answer" = "0 15" ] || wrong "the probe of $device as it is: exit $code, $answer"
echo "first open: $took ms, with compiling"
[ "$(find cache/tally -name '*.bin' | wc -l)" -ge 1 ] || wrong "a pass is not remembered: cache/tally is empty"
touch probed
sleep 0.1
sum "$device"
[ "$code $answer" = "0 15" ] || wrong "a second open: exit $code, $answer"
echo "second open: $took ms"
[ -z "$(find cache/tally -name '*.bin' -newer probed)" ] || wrong "the second open wrote to the cache: is it probed again?"

# plant NAME FILE SED WANTED: with FILE of src/ changed by SED the device is refused by a sentence that has WANTED in it.
# Of every two plants one, as the seed picks.
turn=${TALLY_TEST_SEED:-$RANDOM}
echo "seed $turn"
plant() {
    turn=$((turn + 1))
    [ -n "${TALLY_TEST_LONG-}" ] || [ $((turn % 2)) = 1 ] || return
    rm -rf kernels
    mkdir -p "kernels/$(dirname "$2")"
    sed -E "$3" "$TALLY_SOURCE/src/$2" >"kernels/$2"
    cmp -s "$TALLY_SOURCE/src/$2" "kernels/$2" && { wrong "$1: nothing was planted in $2"; return; }
    sum "$device" "TALLY_KERNELS=$PWD/kernels"
    [ $code -eq 3 ] || wrong "$1: exit $code instead of 3"
    [[ $answer =~ fails\ the\ conformance\ probe:\ $4 ]] || wrong "$1: the sentence is: $answer"
    echo "$1: refused in $took ms: ${answer#*probe: }"
}
if [[ $device == opencl:* ]] && grep -qw fma /proc/cpuinfo; then
    plant contraction gpu/opencl/prelude_opencl.h 's/FP_CONTRACT OFF/FP_CONTRACT ON/' 'operator ema:0.3, dtype f32, n = [0-9]+ .*plain'
fi
plant fma op/ema.h 's/b\.y \+ b\.a \* (\(.*\));/fma(b.a, \1, b.y);/' 'operator ema:0.3, dtype f32, n = [0-9]+ .*plain'
plant flushing op/ema.h 's/r\.y = (b\.y \+ .*);/r.y = \1; r.y = fabs(r.y) < 1.17549435e-38f ? copysign((real)0, r.y) : r.y;/' \
    'operator ema:0.3, dtype f32, n = [0-9]+ .*tiny.* got 0x[08]0000000, expected 0x'
plant division op/std.h 's:over_size\(a\.m2, f\):a.m2 * (num(1.0) / f):' 'operator std, dtype f64, n = [0-9]+ '
flushed='operator mean, dtype f16, n = [0-9]+ .*tiny'
if [[ $device == cuda:* ]]; then
    plant halves gpu/cuda/prelude_cuda.h 's/asm\("cvt\.f32\.f16 .*;/& r = (x \& 0x7c00) ? r : 0;/' "$flushed"
elif "$TALLY_CLI" devices | grep -q "^$device .*PoCL"; then
    plant halves gpu/opencl/prelude_opencl.h 's/return (vload_half.*);/return (x \& 0x7c00) ? \1 : 0.0f;/' "$flushed"
else
    plant halves gpu/kernel/prelude_gpu.h 's/f32 f = (as_f32\(\(u32\)\(x & 0x7fff.*);/f32 f = (x \& 0x7c00) ? \1 : 0.0f;/' "$flushed"
fi
plant keys gpu/kernel/prelude_gpu.h 's/^fn ord flip\(ord b\).*/fn ord flip(ord b) { return b; }/' 'operator minmax, dtype f32, n = [0-9]+ '
plant payload op/last.h 's/r\.x = x;/r.x = is_nan(x) ? elem_missing : x;/' 'operator last, dtype f32, n = [0-9]+ '
[[ $device != opencl:* ]] || plant schedule gpu/opencl/prelude_opencl.h 's:(warp_index\(\) \{ return .*\));:\1 / 2 * 2;:' \
    'operator sum, dtype f32, n = [0-9]+ \(scan'

sum "$device,probe=off" "TALLY_KERNELS=$PWD/kernels"
[ $code -eq 0 ] || wrong "probe=off: exit $code, $answer"
sum "$device,probe=perhaps"
[[ $code -ne 0 && $answer == *"device option is 'probe=perhaps': must be"*probe=on* ]] || wrong "probe=perhaps: exit $code, $answer"
sum "$device"
[ "$code $answer" = "0 15" ] || wrong "the texts as they are, again: exit $code, $answer"
exit $failed
