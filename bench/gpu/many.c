/* SPDX-License-Identifier: MIT
 *
 * many.c - one sequence on several CUDA devices: bits, and times beside one device.
 *
 *     cc -O2 -pthread -Iinclude bench/gpu/many.c -o many build/libtally.a -ldl -lm        (a static library)
 *     ./many [log2 of the elements on each device [rounds]]                               default 30, 9
 *
 * in parts       2^log f32 on each device: tally_reduce_split and its like on G devices beside
 *                the verb on the first. "of one": G times the time of one / the time of G, so G
 *                is all that could be
 * odd cuts       the same where part k begins at k (2^log - 1001): no end of a part is the end
 *                of a large node
 * host array     2^log f32 in all, from pageable and from page-locked memory; "of one": the time
 *                of one / that of G
 * bits           all results by memcmp, with those of the processors on the whole sequence
 *
 * Times are medians, in milliseconds of a call from its begin to its return, after a call that
 * is not measured. G is 1, 2, 4, 8, as far as there are devices. Needs 4 G 2^log bytes of memory
 * three times, and 12 2^log more: 40 GB for two devices. Exit 1: bits differ. */
#define _GNU_SOURCE
#include "../clock.h"
#include "tally.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;
#define CALLS(F) \
    F(cuInit, cuInit, (unsigned)) \
    F(cuDeviceGetCount, cuDeviceGetCount, (int *)) \
    F(cuDeviceGet, cuDeviceGet, (int *, int)) \
    F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (void **, int)) \
    F(cuCtxSetCurrent, cuCtxSetCurrent, (void *)) \
    F(cuMemAlloc, cuMemAlloc_v2, (address *, size_t)) \
    F(cuMemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned)) \
    F(cuMemcpyHtoD, cuMemcpyHtoD_v2, (address, const void *, size_t)) \
    F(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *, address, size_t)) \
    F(cuMemsetD8, cuMemsetD8_v2, (address, unsigned char, size_t))
#define DECLARE(name, symbol, parameters) static int(*name) parameters;
CALLS(DECLARE)

enum { MOST = 8, ROUNDS_MOST = 99, PORTABLE = 1, ODD = 1001, SIZES = 4 };
enum { REDUCE, SCAN, WINDOW, VERBS };
static const char *const verbs[] = {"sum", "scan sum", "window sum of 50"};
static const tally_window_options window = {.before = 49, .edges = TALLY_EDGES_SHRINK};

static int devices, rounds, differ;
static int64_t n; /* on each device */
static float *x, *want[2], *got, result;
static address dx[MOST], dy[MOST];
static void *primary[MOST];
static tally *ctx[SIZES], *cpu; /* of 1, 2, 4, 8 devices */

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "many: %s: %s\n", what, why);
    exit(2);
}
static void must(int error, const char *what)
{
    char number[32];
    snprintf(number, sizeof number, "error %d", error);
    if (error) stop(what, number);
}
static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int device;
#define FIND(name, symbol, parameters) \
    if (!library || !(*(void **)&name = dlsym(library, #symbol))) \
        stop("the driver", #symbol " is not there");
    CALLS(FIND)
    must(cuInit(0), "cuInit");
    must(cuDeviceGetCount(&devices), "devices");
    if (devices > MOST) devices = MOST;
    for (int k = 0; k < devices; k++) {
        must(cuDeviceGet(&device, k), "a device");
        must(cuDevicePrimaryCtxRetain(&primary[k], device), "a device");
    }
}

/* ---- calls ---- */

/* Parts of `part` elements on G devices (1: the plain verb). */
static tally_status on_parts(int size, int verb, int64_t part)
{
    tally_view in[MOST], out[MOST];
    const int count = 1 << size;
    tally *c = ctx[size];
    for (int k = 0; k < count; k++) {
        in[k] = tally_flat((void *)(uintptr_t)dx[k], TALLY_F32, part);
        out[k] = tally_flat((void *)(uintptr_t)dy[k], TALLY_F32, part);
    }
    if (verb == REDUCE)
        return size ? tally_reduce_split(c, "sum", in, count, &result)
                    : tally_reduce(c, "sum", in, &result);
    if (verb == SCAN)
        return size ? tally_scan_split(c, "sum", in, count, out, NULL)
                    : tally_scan(c, "sum", in, out, NULL);
    return size ? tally_window_split(c, "sum", in, count, out, &window)
                : tally_window(c, "sum", in, out, &window);
}

static tally_status on_host(tally *c, int verb, const float *from, int64_t all, float *to)
{
    const tally_view in = tally_flat(from, TALLY_F32, all), out = tally_flat(to, TALLY_F32, all);
    if (verb == REDUCE) return tally_reduce(c, "sum", &in, to);
    return verb == SCAN ? tally_scan(c, "sum", &in, &out, NULL)
                        : tally_window(c, "sum", &in, &out, &window);
}

static double time_of(int size, int verb, int64_t part, const float *from, float *to)
{
    double elapsed[ROUNDS_MOST];
    const int times = from && rounds > 3 ? 3 : rounds;
    for (int r = -1; r < times; r++) {
        const double start = now_ms();
        tally_status status =
            from ? on_host(ctx[size], verb, from, n, to) : on_parts(size, verb, part);
        if (status) stop(verbs[verb], tally_error(ctx[size]));
        if (r >= 0) elapsed[r] = now_ms() - start;
    }
    return median(elapsed, times);
}

static int same(const char *what, int verb, const float *a, const float *b, int64_t count)
{
    const int good = !memcmp(a, b, (size_t)count * sizeof *a);
    int64_t i = 0;
    if (good) return 1;
    while (!memcmp(a + i, b + i, sizeof *a)) i++;
    printf("DIFFERENT: %s, %s: at %lld of %lld\n", what, verbs[verb], (long long)i,
           (long long)count);
    differ++;
    return 0;
}

/* ---- rows ---- */

static void put_parts(int count, int64_t part)
{
    for (int k = 0; k < count; k++) {
        must(cuCtxSetCurrent(primary[k]), "a context");
        must(cuMemcpyHtoD(dx[k], x + k * part, (size_t)part * sizeof *x), "input");
    }
}

/* The results of a call that is made once more, compared with the truth. */
static int check_parts(const char *what, int size, int verb, int64_t part)
{
    const int count = 1 << size;
    for (int k = 0; k < count; k++) {
        must(cuCtxSetCurrent(primary[k]), "a context");
        must(cuMemsetD8(dy[k], 0xa5, (size_t)n * sizeof *x), "results");
    }
    if (on_parts(size, verb, part)) stop(verbs[verb], tally_error(ctx[size]));
    if (verb == REDUCE) {
        float truth;
        if (on_host(cpu, REDUCE, x, count * part, &truth)) stop("cpu", tally_error(cpu));
        return same(what, verb, &result, &truth, 1);
    }
    int good = 1;
    for (int k = 0; k < count && good; k++) {
        must(cuCtxSetCurrent(primary[k]), "a context");
        must(cuMemcpyDtoH(got, dy[k], (size_t)part * sizeof *x), "results");
        good = same(what, verb, got, want[verb == WINDOW] + k * part, part);
    }
    return good;
}

static void row(const char *what, const char *verb, int size, double elapsed, double one,
                double bytes, int good)
{
    printf("%-14s %-18s %4d %10.3f %9.0f %8.2f  %s\n", what, verb, 1 << size, elapsed,
           1e-6 * bytes / elapsed, one, good ? "same" : "DIFFERENT");
    fflush(stdout);
}

static void rows_of_parts(const char *what, int64_t part)
{
    for (int verb = 0; verb < VERBS; verb++) {
        double one = 0;
        for (int size = 0; size < SIZES && ctx[size]; size++) {
            const double elapsed = time_of(size, verb, part, NULL, NULL);
            if (!size) one = elapsed;
            const double bytes = (verb ? 8. : 4.) * (double)part * (1 << size);
            row(what, verbs[verb], size, elapsed, one * (1 << size) / elapsed, bytes,
                check_parts(what, size, verb, part));
        }
    }
}

static void rows_of_host(const char *what, const float *from, float *to)
{
    for (int verb = 0; verb < VERBS; verb++) {
        double one = 0;
        for (int size = 0; size < SIZES && ctx[size]; size++) {
            float truth;
            memset(to, 0xa5, (size_t)n * sizeof *to);
            const double elapsed = time_of(size, verb, 0, from, to);
            if (!size) one = elapsed;
            if (verb == REDUCE && on_host(cpu, REDUCE, from, n, &truth))
                stop("cpu", tally_error(cpu));
            const int good = verb == REDUCE ? same(what, verb, to, &truth, 1)
                                            : same(what, verb, to, want[verb == WINDOW], n);
            row(what, verbs[verb], size, elapsed, one / elapsed, (verb ? 8. : 4.) * (double)n,
                good);
        }
    }
}

int main(int argc, char **argv)
{
    n = (int64_t)1 << (argc > 1 ? atoi(argv[1]) : 30);
    rounds = argc > 2 ? atoi(argv[2]) : 9;
    if (rounds < 1 || rounds > ROUNDS_MOST || n < 1 << 14) stop("usage", "[14 or more [1 to 99]]");
    find_driver();
    int most = 0;
    for (int size = 0; size < SIZES && 1 << size <= devices; size++) {
        char name[64] = "cuda:0";
        for (int k = 1; k < 1 << size; k++)
            snprintf(name + strlen(name), sizeof name - strlen(name), "+%d", k);
        snprintf(name + strlen(name), sizeof name - strlen(name), ",code=best");
        if (tally_open(&ctx[size], name)) stop(name, tally_error(NULL));
        most = 1 << size;
    }
    if (tally_open(&cpu, "cpu")) stop("cpu", tally_error(NULL));
    const int64_t all = most * n;
    x = malloc((size_t)all * sizeof *x);
    want[0] = malloc((size_t)all * sizeof *x);
    want[1] = malloc((size_t)all * sizeof *x);
    got = malloc((size_t)n * sizeof *x);
    if (!x || !want[0] || !want[1] || !got) stop("memory", "too little");
#pragma omp parallel for
    for (int64_t i = 0; i < all; i++) {
        uint64_t z = (uint64_t)i * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        x[i] = (float)(z >> 40) / (float)(1 << 24) - 0.25f;
        want[0][i] = want[1][i] = 0;
    }
    for (int verb = SCAN; verb < VERBS; verb++)
        if (on_host(cpu, verb, x, all, want[verb == WINDOW])) stop("cpu", tally_error(cpu));
    for (int k = 0; k < most; k++) {
        must(cuCtxSetCurrent(primary[k]), "a context");
        must(cuMemAlloc(&dx[k], (size_t)n * sizeof *x), "memory of a device");
        must(cuMemAlloc(&dy[k], (size_t)n * sizeof *x), "memory of a device");
    }
    printf("%lld f32 on each of %d devices; medians of %d calls (host arrays: 3)\n", (long long)n,
           most, rounds);
    printf("%-14s %-18s %4s %10s %9s %8s  %s\n", "", "", "GPUs", "ms", "GB/s", "of one", "bits");
    put_parts(most, n);
    rows_of_parts("in parts", n);
    put_parts(most, n - ODD);
    rows_of_parts("odd cuts", n - ODD);
    rows_of_host("host array", x, got);
    float *a, *b;
    void *p, *q;
    if (!cuMemHostAlloc(&p, (size_t)n * sizeof *x, PORTABLE) &&
        !cuMemHostAlloc(&q, (size_t)n * sizeof *x, PORTABLE)) {
        a = p, b = q;
        memcpy(a, x, (size_t)n * sizeof *x);
        rows_of_host("page-locked", a, b);
    }
    for (int size = 0; size < SIZES; size++) tally_close(ctx[size]);
    tally_close(cpu);
    printf("%s\n", differ ? "bits DIFFER" : "all bits are the same");
    return differ != 0;
}
