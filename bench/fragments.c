/* SPDX-License-Identifier: MIT
 * How long it takes to put 10^4 fragments of random lengths together, in random order; and what
 * a merge of two neighbours costs that come and go as bytes, as they do between ranks
 * (doc/scale.md).
 *   cc -O2 -Iinclude bench/fragments.c build/libtally.a -pthread -ldl -lm -o fragments &&
 *   ./fragments sum var */
#define _POSIX_C_SOURCE 200809L
#include "clock.h"
#include "tally.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 10000, N = 10000000, RUNS = 9 };

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The best time of two neighbours that come and go as bytes, and how many bytes they are. */
static int measure_pair(tally *ctx, const char *op, const double *x, double *pair, size_t *bytes)
{
    *pair = 1e9;
    for (int run = 0; run < RUNS; run++) {
        static char a[8192], b[8192], c[8192];
        tally_fragment *left, *right, *halves[2];
        size_t a_bytes = sizeof a, b_bytes = sizeof b;
        if (tally_fragment_make(ctx, op, TALLY_F64, x, 1, N / 2, &halves[0]) ||
            tally_fragment_make(ctx, op, TALLY_F64, x, N / 2 + 1, N / 2 - 2, &halves[1]))
            return 1;
        if (tally_fragment_save(halves[0], a, &a_bytes) ||
            tally_fragment_save(halves[1], b, &b_bytes))
            return 1;
        const double start = now();
        for (int i = 0; i < 1000; i++) {
            *bytes = sizeof c;
            if (tally_fragment_load(ctx, a, a_bytes, &left) ||
                tally_fragment_load(ctx, b, b_bytes, &right) || tally_fragment_merge(left, right) ||
                tally_fragment_save(left, c, bytes))
                return 1;
            tally_fragment_free(left);
            tally_fragment_free(right);
        }
        const double elapsed = (now() - start) / 1000;
        if (elapsed < *pair) *pair = elapsed;
        tally_fragment_free(halves[0]);
        tally_fragment_free(halves[1]);
    }
    return 0;
}

static int measure(tally *ctx, const char *op, const double *x)
{
    static int64_t cut[PARTS + 1];
    static tally_fragment *part[PARTS];
    double best = 1e9, got = 0, want = 0;
    const tally_view in = tally_flat(x, TALLY_F64, N);
    srand(1);
    for (int i = 1; i < PARTS; i++) cut[i] = (int64_t)((double)rand() / (RAND_MAX + 1.0) * N);
    cut[PARTS] = N;
    qsort(cut, PARTS + 1, sizeof *cut, ascending);
    for (int i = 0; i < PARTS; i++)
        if (tally_fragment_make(ctx, op, TALLY_F64, x + cut[i], cut[i], cut[i + 1] - cut[i],
                                &part[i]))
            return 1;
    for (int i = PARTS - 1; i > 0; i--) {
        const int k = rand() % (i + 1);
        tally_fragment *const t = part[i];
        part[i] = part[k];
        part[k] = t;
    }
    for (int run = 0; run < RUNS; run++) {
        tally_fragment *all;
        if (tally_fragment_make(ctx, op, TALLY_F64, NULL, 0, 0, &all)) return 1;
        const double start = now();
        for (int i = 0; i < PARTS; i++)
            if (tally_fragment_merge(all, part[i])) return 1;
        const double elapsed = now() - start;
        if (elapsed < best) best = elapsed;
        if (tally_fragment_result(all, &got) || tally_reduce(ctx, op, &in, &want) ||
            memcmp(&got, &want, sizeof got)) {
            printf("%s: other bits\n", op);
            return 1;
        }
        tally_fragment_free(all);
    }
    double pair;
    size_t bytes;
    if (measure_pair(ctx, op, x, &pair, &bytes)) return 1;
    for (int i = 0; i < PARTS; i++) tally_fragment_free(part[i]);
    printf("%s f64: %d fragments in %.2f ms; two neighbours through bytes in %.1f us (%zu bytes); "
           "the best of %d runs\n",
           op, PARTS, best * 1e3, pair * 1e6, bytes, RUNS);
    return 0;
}

int main(int argc, char **argv)
{
    tally *ctx;
    double *const x = malloc((size_t)N * sizeof *x);
    if (!x || tally_open(&ctx, "cpu,threads=1")) return 1;
    for (int64_t i = 0; i < N; i++) x[i] = (double)(i % 1000) * 0.1;
    int bad = 0;
    for (int i = 1; i < argc; i++) bad |= measure(ctx, argv[i], x);
    tally_close(ctx);
    free(x);
    return bad;
}
