#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tally doctor: what is here has a line, what is not is named with its reason, a device with a wrong kernel is refused, a
# broken law is exit 4; one screen; --json. Never how fast anything is.
set -uo pipefail
bad=0
fail() {
    echo "FAILED: $*"
    bad=1
}
tally() { "$TALLY_CLI" "$@"; }
rm -rf doctor-cache doctor-kernels

# ---- one screen, with a line for every kind of device ----
cases=200
[ -z "${TALLY_TEST_QUICK-}" ] || cases=20
answer=$(tally doctor --cases $cases --runs 1 2>&1) || fail "exit $?: $answer"
[ "$(wc -l <<<"$answer")" -le 24 ] || fail "more than a screen: $answer"
[[ $answer == "tally $(tally --version | cut -d' ' -f2) (order E v1), $(uname -s) $(uname -r), $(uname -m)"* ]] || fail "the first line: $answer"
for kind in $(sed -nE 's/^ *DEVICE\(([a-z]+)\).*/\1/p' "$TALLY_SOURCE/src/context/device.h"); do
    grep -qE "^$kind(:0)? +(ok|no) +[^ ]" <<<"$answer" || fail "no line for $kind: $answer"
done
tally devices | sed -nE 's/^([a-z]+(:[0-9]+)?) .*/\1/p' | while read -r device; do
    grep -qE "^$device +(ok|no)  " <<<"$answer" || { echo "FAILED: no line for $device"; exit 1; }
done || bad=1
[ "$(grep -cE '^  (sum|running sum|rolling mean of 50) +[#.]{24} +[0-9]+ %  +[0-9.]+ of [0-9.]+ GB/s$' <<<"$answer")" -eq 3 ] || fail "the speed: $answer"
grep -q "^law       ok   $cases cases from seed 1 equal the law bit for bit" <<<"$answer" || fail "the law: $answer"

# ---- on a terminal lines fit it ----
if script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "stty cols 72; '$TALLY_CLI' doctor --runs 0 --cases 5" /dev/null | tr -d '\r' >fits
    [ "$(grep -c '^law ' fits)" -eq 1 ] && [ -z "$(awk 'length > 72' fits)" ] || fail "on a terminal of 72 columns: $(cat fits)"
fi

# ---- what is missing is named with its reason, and is no error ----
mkdir -p none
answer=$(env OCL_ICD_VENDORS="$PWD/none" CUDA_VISIBLE_DEVICES= PATH="$PWD/none" CC= "$TALLY_CLI" doctor --runs 0 --cases 5 2>&1) || fail "missing parts: exit $?"
grep -qE '^opencl +no   .*there are 0 OpenCL devices here; it needs libOpenCL' <<<"$answer" || fail "a missing OpenCL: $answer"
grep -qE '^cuda +no   .*there are 0 CUDA devices here; it needs libcuda' <<<"$answer" || fail "a missing CUDA: $answer"
grep -qE '^compiler +no   .*there is no cc, gcc or clang in PATH' <<<"$answer" || fail "a missing compiler: $answer"
grep -q '^speed' <<<"$answer" && fail "--runs 0 has a speed: $answer"

# ---- a device whose kernels give other bits (two operators are changed for it): refused; without the probe exit 4 ----
device=$(tally devices | awk '/^opencl:/ { print $1; exit }')
if [ -n "$device" ] && [ -z "${TALLY_SANITIZE-}" ]; then
    mkdir -p doctor-kernels/op doctor-cache
    sed -E 's:over_size\(a\.m2, f\):a.m2 * (num(1.0) / f):' "$TALLY_SOURCE/src/op/std.h" >doctor-kernels/op/std.h
    sed -E 's:a\.([a-z]+) \* b\.[a-z]+;:a.\1;:' "$TALLY_SOURCE/src/op/prod.h" >doctor-kernels/op/prod.h
    for op in std prod; do
        cmp -s "$TALLY_SOURCE/src/op/$op.h" doctor-kernels/op/$op.h && fail "nothing was planted in $op.h"
    done
    answer=$(export TALLY_KERNELS=$PWD/doctor-kernels XDG_CACHE_HOME=$PWD/doctor-cache
        tally doctor --runs 0 --cases 2 --device "$device,probe=off" 2>&1) # the second case is of prod
    [ $? -eq 4 ] || fail "a broken law: exit $?, $answer"
    grep -qE "^$device +no   .*fails the conformance probe: operator (std|prod)" <<<"$answer" || fail "a wrong device: $answer"
    grep -qE '^law       NO   .*prod' <<<"$answer" || fail "a broken law: $answer"
else
    echo "(no OpenCL device without sanitizers: no wrong device is planted)"
fi

# ---- for programs ----
if command -v python3 >/dev/null; then
    runs=3
    [ -z "${TALLY_TEST_QUICK-}" ] || runs=0
    tally doctor --json --runs $runs --cases 7 | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert set(d) >= {"version", "order", "system", "release", "machine", "parts", "isa", "threads", "speed", "law"}, d
assert {"cpu", "compiler", "netcdf"} <= {p["name"] for p in d["parts"]} and all(p["text"] for p in d["parts"]), d
assert len(d["speed"]) == min(int(sys.argv[1]), 3) and all(s["gb_per_s"] > 0 and s["fraction"] > 0 for s in d["speed"]), d
for s in d["speed"]:  # like beside like: the fraction is that of the two rates (four digits each)
    assert abs(s["gb_per_s"] / s["ceiling_gb_per_s"] / s["fraction"] - 1) < 2e-3, s
assert d["law"]["ok"] is True and d["law"]["cases"] == 7, d
' $runs || fail "--json"
    tally doctor --json --runs 0 --cases 1 | python3 -c 'import json, sys; assert json.load(sys.stdin)["speed"] == []' || fail "--json --runs 0"
fi

# ---- a CUDA device is usable from capability 7.0 on: a driver that is none says so ----
if [ -e "$TALLY_BUILD/fake/cuda/libcuda.so.1" ] && [ -z "${TALLY_SANITIZE-}" ]; then
    for major in 6 7; do
        answer=$(FAKE_CUDA_MAJOR=$major LD_LIBRARY_PATH=$TALLY_BUILD/fake/cuda "$TALLY_CLI" devices | grep -A 1 '^cuda:0')
        said=$(grep -c 'not usable: its compute capability is below 7.0' <<<"$answer")
        [ "$said" = $((7 - major)) ] || fail "capability $major.0: $answer"
    done
fi

# ---- wrong words ----
answer=$(tally doctor me 2>&1)
[ $? -eq 2 ] && [[ $answer == 'tally: `tally doctor` takes no operand, and '\''me'\'' is one' ]] || fail "an operand: $answer"
answer=$(tally doctor --cases 0 2>&1)
[ $? -eq 2 ] && [[ $answer == "tally: --cases"* ]] || fail "no cases: $answer"
answer=$(CUDA_VISIBLE_DEVICES= OCL_ICD_VENDORS=$PWD/none tally reduce sum --device opencl /dev/null 2>&1)
[ $? -eq 3 ] && [[ $answer == *"there are 0 OpenCL devices here; it needs libOpenCL"* ]] || fail "a kind without devices: $answer"
answer=$(tally doctor --device tpu 2>&1)
[ $? -eq 3 ] || fail "a device that is none: $answer"
[ $bad -eq 0 ] && echo "doctor: what is here and what is not is said"
exit $bad
