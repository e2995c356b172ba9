/* SPDX-License-Identifier: MIT
 * A field of cells, one more step pushed (tally_stream_reduce_rows), beside the read speed of the same memory and
 * threads: the maximum of the same bytes as one sequence. A push of one step moves 12 bytes of f32: it reads the step,
 * writes it into the stream, and reads it there when 8 are folded.
 *   cc -O2 -Iinclude bench/fields.c build/libtally.a -fopenmp -ldl -lm -o fields && ./fields [CELLS [DEVICE]] */
#define _POSIX_C_SOURCE 200809L
#include "tally.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 64, RUNS = 9 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* STEPS steps, `at_once` in a push: the best time of 8 steps one after the other. 0: a call failed. */
static double pushes(tally *ctx, const char *op, const float *x, int64_t cells, int64_t at_once, double *result)
{
    double best = 1e9, start = 0;
    const int64_t group = at_once < 8 ? 8 : at_once;
    for (int run = 0; run < RUNS; run++) {
        tally_stream *s;
        if (tally_stream_reduce_rows(ctx, op, TALLY_F32, cells, &s)) return 0;
        for (int64_t i = 0; i < STEPS; i += at_once) {
            if (i % group == 0) start = now();
            const tally_view step = tally_columns(x + i * cells, TALLY_F32, at_once, cells);
            if (tally_stream_push_view(s, &step, NULL)) return 0;
            const double took = (now() - start) / (double)group;
            if ((i + at_once) % group == 0 && i >= STEPS / 4 && took < best) best = took;
        }
        if (tally_stream_finish(s, result, NULL)) return 0;
        tally_stream_close(s);
    }
    return best;
}

int main(int argc, char **argv)
{
    static const char *const ops[] = {"sum", "mean", "var", "max", "argmin", "nansum", "sum:f64"};
    static const int64_t at_once[] = {1, 8, 32};
    const int64_t cells = argc > 1 ? atoll(argv[1]) : 1000000;
    tally *ctx;
    if (tally_open(&ctx, argc > 2 ? argv[2] : "cpu,threads=2")) return 1;
    float *const x = malloc((size_t)(cells * STEPS) * sizeof *x);
    double *const got = malloc((size_t)cells * sizeof *got * 2), *const want = malloc((size_t)cells * sizeof *want * 2);
    if (!x || !got || !want) return 1;
    for (int64_t i = 0; i < cells * STEPS; i++) x[i] = (float)(i % 1013) * 0.37f;
    const tally_view all = tally_flat(x, TALLY_F32, cells * STEPS), field = tally_columns(x, TALLY_F32, STEPS, cells);
    double read = 1e9, sum;
    for (int run = 0; run < 2 * RUNS; run++) {
        const double start = now();
        if (tally_reduce(ctx, "max", &all, &sum)) return 1;
        if (now() - start < read) read = now() - start;
    }
    const double step = (double)cells * sizeof *x, speed = step * STEPS / read;
    printf("%lld cells of f32, %d threads: read %.1f GB/s\n", (long long)cells, tally_threads(ctx), speed * 1e-9);
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (int k = 0; k < 3; k++) {
            tally_operator_info info;
            const double took = pushes(ctx, ops[o], x, cells, at_once[k], got);
            if (!took || tally_reduce(ctx, ops[o], &field, want) || tally_operator(ctx, ops[o], TALLY_F32, &info) ||
                memcmp(got, want, (size_t)cells * tally_dtype_size(info.output) * (size_t)info.lanes))
                return printf("%s: %s\n", ops[o], took ? "other bits" : tally_error(ctx)), 1;
            const double moved = at_once[k] < 8 ? 3 : 1;
            printf("%-8s %2lld at once: %6.3f ms a step; %5.1f GB/s of steps, %.2f of read; all that it moves %.2f\n",
                   ops[o], (long long)at_once[k], took * 1e3, step / took * 1e-9, step / took / speed,
                   moved * step / took / speed);
        }
    tally_close(ctx);
    free(x);
    free(got);
    free(want);
    return 0;
}
