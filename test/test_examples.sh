#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every example prints exactly what examples/expected/<name>.txt says. The line "Run: ..." in an example's head is the
# command, run in the top folder.   test/test_examples.sh --write   writes the files anew: read the difference.
set -uo pipefail
cd "$TALLY_SOURCE" || exit 1
PATH=$TALLY_BUILD/examples:$PATH
bad=0 count=0
for source in examples/*.c; do
    name=$(basename "$source" .c)
    command=$(sed -nE 's/^ \* Run: (.*[^ ]) \*\/$/\1/p' "$source")
    [ -n "$command" ] || { echo "examples: $source has no 'Run:' line"; bad=1; continue; }
    actual=$(bash -o pipefail -c "$command" 2>&1)
    code=$?
    if [ "${1-}" = --write ]; then printf '%s\n' "$actual" >"examples/expected/$name.txt"; fi
    if [ $code -ne 0 ]; then
        echo "examples: $command: exit $code: $actual"
        bad=1
    elif ! diff -u --label "expected/$name.txt" --label "$command" \
        "examples/expected/$name.txt" <(printf '%s\n' "$actual"); then
        bad=1
    fi
    lines=$(wc -l <"$source")
    [ "$lines" -le 60 ] || { echo "examples: $source has $lines lines: at most 60"; bad=1; }
    count=$((count + 1))
done

# CUDA: without nvcc only the form is checked, with these declarations; it runs where there is a GPU.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/cuda_runtime_api.h" <<'END'
#include <stddef.h>
typedef struct stream *cudaStream_t;
typedef struct graph *cudaGraph_t;
typedef struct exec *cudaGraphExec_t;
enum { cudaStreamCaptureModeGlobal, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
int cudaStreamCreate(cudaStream_t *), cudaMalloc(void **, size_t), cudaStreamBeginCapture(cudaStream_t, int),
    cudaStreamEndCapture(cudaStream_t, cudaGraph_t *), cudaStreamSynchronize(cudaStream_t),
    cudaGraphInstantiateWithFlags(cudaGraphExec_t *, cudaGraph_t, unsigned long long),
    cudaMemcpyAsync(void *, const void *, size_t, int, cudaStream_t), cudaGraphLaunch(cudaGraphExec_t, cudaStream_t),
    cudaGraphExecDestroy(cudaGraphExec_t), cudaGraphDestroy(cudaGraph_t);
END
for source in examples/*.cu; do
    name=$(basename "$source" .cu)
    if [ "$("$TALLY_CLI" devices | grep -c '^cuda:0 ')" = 1 ] && command -v nvcc >/dev/null; then
        nvcc -Iinclude "$source" -o "$work/$name" "$TALLY_BUILD/libtally.a" -Xcompiler -pthread -ldl -lm &&
            diff -u "examples/expected/$name.txt" <("$work/$name" 2>&1) || bad=1
    fi
    for language in c c++; do
        "${CC:-cc}" -x $language -fsyntax-only -Wall -Wextra -Werror -Iinclude -I"$work" "$source" || bad=1
    done
    [ "$(wc -l <"$source")" -le 60 ] || { echo "examples: $source has more than 60 lines"; bad=1; }
    count=$((count + 1))
done
[ $bad -eq 0 ] && echo "examples: $count ran as expected"
exit $bad
