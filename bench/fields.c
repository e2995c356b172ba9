/* SPDX-License-Identifier: MIT
 * A field of cells, one more step pushed (tally_stream_reduce_rows), beside the read speed of
 * the same memory and threads, which is the maximum of the same bytes as one sequence, and
 * beside a copy of them. A push of one step moves 12 bytes of f32: it reads the step, writes it
 * into the stream, and reads it there when 8 are folded.
 *   cc -O2 -Iinclude bench/fields.c build/libtally.a -pthread -ldl -lm -o fields
 *   ./fields [CELLS [DEVICE [STEPS [OPERATOR...]]]]
 * With a CUDA device the steps lie in its memory; each line is there twice: every push waits for
 * the device, and by a stream of the caller's, where none does and all 8 steps end with one
 * wait. STEPS: how many, a multiple of 16; 64 unless given. */
#define _POSIX_C_SOURCE 200809L
#include "clock.h"
#include "tally.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 8, RUNS = 12 }; /* steps timed together */
static int64_t steps = 64;     /* in memory */

/* The stream of the caller's that pushes go to. NULL: none. */
static void *stream;
static int (*synchronize)(void *);

static void keep_least(double *best, double start)
{
    const double elapsed = (now() - start) / GROUP;
    if (elapsed < *best) *best = elapsed;
}

/* GROUP steps, `at_once` in a push, and a read and a copy of GROUP others, in turns: the best
   times of a step. */
static int measure(tally *ctx, const char *op, const float *x, float *spare, int64_t cells,
                   int64_t at_once, double *pushed, double *read, double *copied, void *result)
{
    const size_t bytes = (size_t)cells * GROUP * sizeof *x;
    double none;
    *pushed = *read = *copied = 1e9;
    for (int run = 0; run < RUNS; run++) {
        tally_stream *s;
        if (tally_stream_reduce_rows(ctx, op, TALLY_F32, cells, &s)) return 0;
        for (int64_t i = 0; i < steps; i += GROUP) {
            const tally_view other =
                tally_flat(x + (i + steps / 2) % steps * cells, TALLY_F32, GROUP * cells);
            double start = now();
            if (tally_reduce(ctx, "max", &other, &none)) return 0;
            keep_least(read, start);
            start = now();
            if (!tally_copy(ctx, spare, other.data, bytes)) keep_least(copied, start);
            start = now();
            for (int64_t k = 0; k < GROUP; k += at_once) {
                const tally_view step =
                    tally_columns(x + (i + k) * cells, TALLY_F32, at_once, cells);
                if (tally_stream_push_view(s, &step, NULL)) return 0;
            }
            if (stream && synchronize(stream)) return 0;
            if (i >= steps / 4) keep_least(pushed, start);
        }
        if (tally_stream_finish(s, result, NULL)) return 0;
        tally_stream_close(s);
    }
    return 1;
}

/* The steps in memory of the device, with space for GROUP more behind them, and a stream. NULL:
   there is none. */
static float *on_cuda(tally *ctx, const float *x, size_t bytes, size_t more, void **created)
{
    int (*get)(int *, int), (*retain)(void **, int), (*set)(void *), (*alloc)(void **, size_t),
        (*create)(void **, unsigned), device;
    void *const cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *p = NULL;
    if (!cuda) return NULL;
    *(void **)&get = dlsym(cuda, "cuDeviceGet");
    *(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
    *(void **)&set = dlsym(cuda, "cuCtxSetCurrent");
    *(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
    *(void **)&create = dlsym(cuda, "cuStreamCreate");
    *(void **)&synchronize = dlsym(cuda, "cuStreamSynchronize");
    if (get(&device, atoi(tally_isa(ctx) + 5)) || retain(&context, device) || set(context) ||
        alloc(&p, bytes + more) || create(created, 1))
        return NULL;
    return tally_copy(ctx, p, x, bytes) ? NULL : p;
}

/* A line of the table. */
static int show(tally *ctx, const char *op, const float *data, float *spare, int64_t cells,
                int64_t at_once, void *got, void *want)
{
    const tally_view field = tally_columns(data, TALLY_F32, steps, cells);
    const double step = (double)cells * sizeof *data;
    double elapsed, read, copied;
    tally_operator_info info;
    if (!measure(ctx, op, data, spare, cells, at_once, &elapsed, &read, &copied, got) ||
        tally_reduce(ctx, op, &field, want) || tally_operator(ctx, op, TALLY_F32, &info)) {
        printf("%s: %s\n", op, tally_error(ctx));
        return 0;
    }
    if (memcmp(got, want, (size_t)cells * tally_dtype_size(info.output) * (size_t)info.lanes)) {
        printf("%s: other bits\n", op);
        return 0;
    }
    printf("%-8s %lld at once%s: %8.4f ms a step, %7.1f GB/s; read %7.1f, copied %7.1f; steps %.2f "
           "of read, all bytes %.2f\n",
           op, (long long)at_once, stream ? ", no wait" : "", elapsed * 1e3, step / elapsed * 1e-9,
           step / read * 1e-9, step / copied * 1e-9, read / elapsed,
           (at_once == 1 ? 3 : 1) * read / elapsed);
    return 1;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"sum", "mean", "var", "argmin", "nansum"};
    static const int64_t at_once[] = {1, GROUP};
    const int64_t cells = argc > 1 ? atoll(argv[1]) : 1000000;
    const int count = argc > 4 ? argc - 4 : (int)(sizeof usual / sizeof *usual);
    const char *const *const ops = argc > 4 ? (const char *const *)argv + 4 : usual;
    if (argc > 3) steps = atoll(argv[3]) / 16 * 16;
    tally *ctx;
    if (tally_open(&ctx, argc > 2 ? argv[2] : "cpu,threads=2"))
        return printf("%s\n", tally_error(NULL)), 1;
    const size_t bytes = (size_t)(cells * steps) * sizeof(float),
                 more = (size_t)cells * GROUP * sizeof(float);
    float *const x = malloc(bytes + more);
    double *const got = malloc((size_t)cells * sizeof *got * 2), *const want =
                                                                     malloc((size_t)cells *
                                                                            sizeof *want * 2);
    const int cuda = argc > 2 && !strncmp(argv[2], "cuda", 4);
    void *created = NULL;
    if (!x || !got || !want) return 1;
    for (int64_t i = 0; i < cells * steps; i++) x[i] = (float)(i % 1013) * 0.37f;
    float *const data = cuda ? on_cuda(ctx, x, bytes, more, &created) : x;
    if (!data) return printf("no memory on the device\n"), 1;
    printf("%lld cells of f32 on %s, %d threads; the best of %d times of %d steps\n",
           (long long)cells, tally_isa(ctx), tally_threads(ctx), RUNS * (int)(steps / GROUP),
           GROUP);
    for (int o = 0; o < count; o++)
        for (int k = 0; k < 4; k++) {
            if (k & 1 && !cuda) continue;
            stream = k & 1 ? created : NULL;
            if (tally_use_stream(ctx, stream) && cuda) return printf("%s\n", tally_error(ctx)), 1;
            if (!show(ctx, ops[o], data, data + cells * steps, cells, at_once[k / 2], got, want))
                return 1;
        }
    tally_close(ctx);
    free(x);
    free(got);
    free(want);
    return 0;
}
