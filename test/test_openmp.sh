#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_openmp.sh - a caller that uses OpenMP, which tally itself does not: calls from each thread of a parallel region,
# each with a context of several threads, have the bits of one thread, and the caller's regions keep their size.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cat >caller.c <<'END'
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <tally.h>
enum { N = 1 << 18, MEMBERS = 3 };
static float x[N], out[MEMBERS + 1][N];

static int all(const char *device, float *y)
{
    tally *ctx;
    const tally_view in = tally_flat(x, TALLY_F32, N), to = tally_flat(y, TALLY_F32, N);
    if (tally_open(&ctx, device)) return 1;
    const int failed = tally_scan(ctx, "sum", &in, &to, NULL) || tally_reduce(ctx, "var", &in, y);
    tally_close(ctx);
    return failed;
}

int main(void)
{
    int failed = 0, members = 0;
    for (int i = 0; i < N; i++) x[i] = (float)(i * 7919 % 1009) / 64;
    failed |= all("cpu,threads=1", out[MEMBERS]);
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(MEMBERS) reduction(| : failed) reduction(+ : members)
        {
            const int me = omp_get_thread_num();
            members++;
            failed |= all(round % 2 ? "cpu,threads=1" : "cpu,threads=3", out[me]);
#pragma omp barrier
            failed |= memcmp(out[me], out[MEMBERS], sizeof out[me]) != 0;
        }
        failed |= all("cpu,threads=4", out[0]);
    }
    if (failed || members != 20 * MEMBERS) return printf("failed %d, %d members\n", failed, members), 1;
    return 0;
}
END
echo 'int main(void) { return 0; }' >none.c
"$CC" -fopenmp none.c -o none 2>/dev/null && ./none || { echo "skipped: $CC has no OpenMP"; exit 77; }
sanitize=
[ -n "${TALLY_SANITIZE-}" ] && sanitize=-fsanitize=$TALLY_SANITIZE
# shellcheck disable=SC2086 # no word, or one
"$CC" -std=gnu11 -O1 -Wall -Wextra -Werror $sanitize -fopenmp -I "$TALLY_SOURCE/include" caller.c \
    "$TALLY_BUILD/libtally.a" -pthread -ldl -lm -o caller || { echo "0 passed, 1 failed"; exit 1; }
OMP_WAIT_POLICY=passive timeout 60 ./caller && echo "1 passed, 0 failed" && exit 0
echo "0 passed, 1 failed"
exit 1
