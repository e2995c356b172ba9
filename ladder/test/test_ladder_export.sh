#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tally ladder export: every rung as a program in CUDA, OpenCL and C. All compile (those of CUDA with nvcc where there
# is one); those in C run and check themselves, a few of OpenCL where there is a device.
set -u
[ -z "${TALLY_SANITIZE-}" ] || { echo "skipped: once is enough"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
verdict() { # NAME GOOD DETAIL
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); return; fi
    failed=$((failed + 1))
    printf 'FAILED %s: %s\n' "$1" "${3-}" | head -12
}
export_to() { "$TALLY_CLI" ladder export "$1" --to "$2" -o "$3" "${@:4}" 2>err; }
rungs=$(sed -nE 's/^RUNG\(([a-z]+), +([a-z0-9_]+),.*/\1\/\2/p' "$TALLY_SOURCE/ladder/rungs.def")
kernels=$(sed -nE 's/^==== ([a-z0-9_/]+)\.cl$/\1/p' "$TALLY_SOURCE"/ladder/rungs/*)
${CC:-cc} -fopenmp -x c -o /dev/null - 2>/dev/null <<<'int main(void) { return 0; }' ||
    { echo "skipped: no OpenMP here"; exit 77; }
strict="-O1 -ffp-contract=off -Wall -Wextra -Werror"
seed=${TALLY_TEST_SEED:-$RANDOM} # of every five rungs one, as the seed picks; all of them with TALLY_TEST_LONG
echo "seed $seed"
turn=0
is_left_out() { [ -z "${TALLY_TEST_LONG-}" ] && [ $(((seed + turn++) % 5)) != 1 ]; }

# ---- C: compiles without a warning, runs, and is right; the race is allowed to be wrong, and nothing else ----
for r in $rungs; do
    is_left_out && continue
    f=${r/\//_}
    export_to "$r" c $f.c || { verdict "export $r --to c" 1 "$(cat err)"; continue; }
    library=
    [[ $r == */tally ]] && library="-I$TALLY_SOURCE/include $TALLY_BUILD/libtally.a -ldl -lpthread"
    ${CC:-cc} $strict -fopenmp $f.c -o $f $library -lm >log 2>&1
    verdict "$r compiles as C" $? "$(cat log)"
    for n in 1 4999; do
        [ $n = 1 ] || [ $r != scan/lookback ] || n=2049
        OMP_WAIT_POLICY=passive timeout 60 ./$f $n >out 2>&1
        code=$?
        if [ $r = window/prefix_difference ] && [ $n -gt 1 ]; then [ $code -eq 4 ] && grep -q WRONG out; else
            [ $code -eq 0 ] && grep -q right out || { [ $r = reduce/reduce5 ] && [ $code -eq 4 ]; }
        fi && grep -Eq '[0-9.]+ ms \(the median of [0-9]+ runs?\), [0-9.e-]+ GB/s' out
        verdict "$r runs as C, n $n" $? "$(cat out)"
    done
done
for case in "reduce/atomic f32 min" "reduce/single_pass f64 sum" "reduce/tiled_2 u64 max" "scan/blelloch i64 sum" \
    "scan/tally i32 sum" "scan/tally u32 sum" "scan/tally u8 sum" "scan/lookback_8 i8 sum" "scan/segmented u8 max" \
    "reduce/openmp f32 max"; do
    is_left_out && continue
    read -r r dtype op <<<"$case"
    library=
    [[ $r == */tally ]] && library="-I$TALLY_SOURCE/include $TALLY_BUILD/libtally.a -ldl -lpthread"
    export_to "$r" c typed.c --dtype $dtype --op $op &&
        ${CC:-cc} $strict -fopenmp typed.c -o typed $library -lm >log 2>&1 && ./typed 2047 >out 2>&1
    verdict "$case as C" $? "$(cat err log out 2>/dev/null)"
done
export_to reduce/tiled_3 c broken.c && sed -i 's/s = THREADS \/ 2/s = THREADS \/ 4/' broken.c &&
    ${CC:-cc} -O1 -fopenmp broken.c -o broken -lm && ./broken 5000 >out
[ $? -eq 4 ] && grep -q WRONG out
verdict 'a damaged program says that it is wrong' $? "$(cat out)"

export_to reduce/tiled_4 c tiled_4.c
bash -c "$(sed -nE 's/^ \*   (gcc .*)/\1/p' tiled_4.c | sed 's/100000$/3000/')" >out 2>&1 && grep -q right out
verdict "the head's own command, in C" $? "$(cat out)"

# ---- OpenCL: the host code compiles for every rung; a few run ----
include=
echo '#include <CL/cl.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1 || include=-I$TALLY_SOURCE/ladder/test/opencl
lib=$(ldconfig -p 2>/dev/null | awk '/libOpenCL\.so/ { print $NF; exit }')
has_device=$("$TALLY_CLI" devices | awk '/^opencl:/ { print $1; exit }')
"$TALLY_CLI" ladder export reduce/grid_sync --to opencl >out 2>err
[ $? -eq 2 ] && grep -q 'does not promise' err
verdict 'no program of grid_sync in OpenCL' $? "$(cat err)"
for r in $kernels; do
    is_left_out || [ $r = reduce/grid_sync ] && continue
    f=cl_${r/\//_}
    export_to "$r" opencl $f.c && ${CC:-cc} $strict $include -c $f.c -o $f.o >log 2>&1
    verdict "$r compiles as OpenCL" $? "$(cat err log)"
done
if [ -n "$lib" ] && [ -n "$has_device" ]; then
    for case in reduce/simple_1 reduce/tiled_3 reduce/shuffle reduce/single_pass scan/lookback_warp \
        "reduce/bulk_copy --dtype f64" scan/hillis_steele window/sma_tiled "reduce/atomic --dtype f32" \
        "reduce/vector_load --dtype i64 --op max"; do
        is_left_out && continue
        read -r r more <<<"$case"
        export_to $r opencl run.c $more && ${CC:-cc} $strict $include run.c -o run "$lib" -lm >log 2>&1 &&
            timeout 120 ./run 4999 >out 2>&1 && grep -q right out
        verdict "$case runs on OpenCL" $? "$(cat err log out 2>/dev/null)"
    done
else
    echo "skipped: no OpenCL device here"
fi

# ---- CUDA: one run of nvcc for all ----
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
{
    for h in cuda_runtime math stdint stdio stdlib string; do echo "#include <$h.h>"; done
    while read -r r more; do
        f=cuda_$(tr -c 'a-z0-9\n' _ <<<"$r$more")
        export_to $r cuda $f.cu $more || echo "#error $r"
        printf 'namespace %s {\n#define main main_\n#include "%s.cu"\n%s\n}\n' $f $f \
            "$(sed -nE 's/^#define (\w+).*/#undef \1/p' $f.cu; echo '#undef main')"
    done <<<"$kernels
reduce/atomic --dtype f32 --op min
reduce/atomic --dtype i64
reduce/atomic --dtype u64 --op max
reduce/atomic --dtype f64
reduce/warp_reduce --dtype f32
scan/lookback --dtype f64"
} >all.cu
! grep -q '#error' all.cu
verdict 'every rung has a program in CUDA' $? "$(cat err)"
if [ -n "$nvcc" ]; then
    "$nvcc" -arch=sm_90 -Werror all-warnings -c all.cu -o all.o >log 2>&1
    verdict 'the programs in CUDA compile' $? "$(cat log)"
    export_to reduce/bulk_copy cuda bulk_copy.cu # its head says how: it needs -arch=sm_90
    PATH=$PATH:$(dirname "$nvcc") bash -c "$(sed -nE 's/^ \*   (nvcc .*) && .*/\1/p' bulk_copy.cu)" >log 2>&1 && [ -x bulk_copy ]
    verdict "the head's own command" $? "$(head -8 bulk_copy.cu; cat log)"
else
    echo "skipped: no nvcc here"
fi

# ---- the host code beside a rung, and what cannot be ----
"$TALLY_CLI" ladder show reduce/tiled_3 --host >out
grep -q 'cudaGetDeviceProperties' out && grep -q 'fold<<<' out && grep -q 'only that part is copied out' out &&
    ! grep -q '__global__' out
verdict 'show --host' $? "$(head -5 out)"
"$TALLY_CLI" ladder show reduce/tiled_3 --host --to opencl | grep -q 'clEnqueueNDRangeKernel'
verdict 'show --host --to opencl' $?
"$TALLY_CLI" ladder export reduce/openmp --to cuda >out 2>err
[ $? -eq 2 ] && grep -q "has no kernel" err
verdict 'no program of openmp in CUDA' $? "$(cat err)"
"$TALLY_CLI" ladder export nothing >out 2>err
[ $? -eq 2 ]
verdict 'no such rung' $?
"$TALLY_CLI" ladder export reduce/tiled_1 -o /nowhere/x.cu 2>err
[ $? -eq 1 ] && grep -q '/nowhere/x.cu' err
verdict 'a file that cannot be written' $?
echo old >old.cu
(ulimit -f 1; "$TALLY_CLI" ladder export reduce/tiled_1 -o old.cu 2>err)
[ $? -eq 1 ] && [ "$(cat old.cu)" = old ]
verdict 'a file that is only begun leaves the old one' $? "$(cat err)"
"$TALLY_CLI" ladder export reduce/tiled_1 -o - >out 2>err && [ ! -e - ] && [ -s out ]
verdict 'standard output by the name -' $? "$(cat err)"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
