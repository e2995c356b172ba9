/* SPDX-License-Identifier: MIT
 * A field of cells, one more step pushed (tally_stream_reduce_rows), beside the read speed of the same memory and
 * threads: the maximum of the same bytes as one sequence. A push of one step moves 12 bytes of f32: it reads the step,
 * writes it into the stream, and reads it there when 8 are folded.
 *   cc -O2 -Iinclude bench/fields.c build/libtally.a -fopenmp -ldl -lm -o fields && ./fields [CELLS [DEVICE [STEPS]]]
 * With a CUDA device the steps lie in its memory. STEPS: how many, a multiple of 16; 64 unless given. */
#define _POSIX_C_SOURCE 200809L
#include "tally.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GROUP = 8, RUNS = 12 }; /* steps timed together */
static int64_t steps = 64;     /* in memory */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GROUP steps, `at_once` in a push, and a read of GROUP others, in turns: the best times of a step. */
static int measure(tally *ctx, const char *op, const float *x, int64_t cells, int64_t at_once, double *pushed,
                   double *read, void *result)
{
    double none;
    *pushed = *read = 1e9;
    for (int run = 0; run < RUNS; run++) {
        tally_stream *s;
        if (tally_stream_reduce_rows(ctx, op, TALLY_F32, cells, &s)) return 0;
        for (int64_t i = 0; i < steps; i += GROUP) {
            const tally_view other = tally_flat(x + (i + steps / 2) % steps * cells, TALLY_F32, GROUP * cells);
            double start = now();
            if (tally_reduce(ctx, "max", &other, &none)) return 0;
            double took = (now() - start) / GROUP;
            if (took < *read) *read = took;
            start = now();
            for (int64_t k = 0; k < GROUP; k += at_once) {
                const tally_view step = tally_columns(x + (i + k) * cells, TALLY_F32, at_once, cells);
                if (tally_stream_push_view(s, &step, NULL)) return 0;
            }
            took = (now() - start) / GROUP;
            if (i >= steps / 4 && took < *pushed) *pushed = took;
        }
        if (tally_stream_finish(s, result, NULL)) return 0;
        tally_stream_close(s);
    }
    return 1;
}

/* The steps, in memory of the device. NULL: there is none. */
static float *on_cuda(tally *ctx, const float *x, size_t bytes)
{
    int (*get)(int *, int), (*retain)(void **, int), (*set)(void *), (*alloc)(void **, size_t), device;
    void *const cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *p = NULL;
    if (!cuda) return NULL;
    *(void **)&get = dlsym(cuda, "cuDeviceGet");
    *(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
    *(void **)&set = dlsym(cuda, "cuCtxSetCurrent");
    *(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
    if (get(&device, atoi(tally_isa(ctx) + 5)) || retain(&context, device) || set(context) || alloc(&p, bytes))
        return NULL;
    return tally_copy(ctx, p, x, bytes) ? NULL : p;
}

int main(int argc, char **argv)
{
    static const char *const ops[] = {"sum", "mean", "var", "argmin", "nansum"};
    static const int64_t at_once[] = {1, GROUP};
    const int64_t cells = argc > 1 ? atoll(argv[1]) : 1000000;
    if (argc > 3) steps = atoll(argv[3]) / 16 * 16;
    tally *ctx;
    if (tally_open(&ctx, argc > 2 ? argv[2] : "cpu,threads=2")) return 1;
    float *const x = malloc((size_t)(cells * steps) * sizeof *x);
    double *const got = malloc((size_t)cells * sizeof *got * 2), *const want = malloc((size_t)cells * sizeof *want * 2);
    const int cuda = argc > 2 && !strncmp(argv[2], "cuda", 4);
    if (!x || !got || !want) return 1;
    for (int64_t i = 0; i < cells * steps; i++) x[i] = (float)(i % 1013) * 0.37f;
    float *const data = cuda ? on_cuda(ctx, x, (size_t)(cells * steps) * sizeof *x) : x;
    if (!data) return printf("no memory on the device\n"), 1;
    const tally_view field = tally_columns(data, TALLY_F32, steps, cells);
    const double step = (double)cells * sizeof *x;
    printf("%lld cells of f32, %d threads; the best of %d times of %d steps\n", (long long)cells, tally_threads(ctx),
           RUNS * (int)(steps / GROUP), GROUP);
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (int k = 0; k < 2; k++) {
            double took, read;
            tally_operator_info info;
            if (!measure(ctx, ops[o], data, cells, at_once[k], &took, &read, got) ||
                tally_reduce(ctx, ops[o], &field, want) || tally_operator(ctx, ops[o], TALLY_F32, &info))
                return printf("%s: %s\n", ops[o], tally_error(ctx)), 1;
            if (memcmp(got, want, (size_t)cells * tally_dtype_size(info.output) * (size_t)info.lanes))
                return printf("%s: other bits\n", ops[o]), 1;
            printf("%-8s %lld at once: %6.3f ms a step, %5.1f GB/s; read %5.1f; steps %.2f of read, all bytes %.2f\n",
                   ops[o], (long long)at_once[k], took * 1e3, step / took * 1e-9, step / read * 1e-9, read / took,
                   (k ? 1 : 3) * read / took);
        }
    tally_close(ctx);
    free(x);
    free(got);
    free(want);
    return 0;
}
