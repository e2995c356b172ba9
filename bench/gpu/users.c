/* SPDX-License-Identifier: MIT
 *
 * users.c - operators of users on a CUDA device beside sum and the ceilings of the same run:
 * quick code, the best code, and how the one becomes the other.
 *
 *     cc -O2 -Isrc -Iinclude bench/gpu/users.c -o users build/libtally.a -pthread -ldl -lm        (a static library)
 *     ./users [cuda:0 [log2 of the elements [rounds]]]         from the root of the tree; default 26, 7
 *
 * first    ms of the first call of a context with an empty cache: with code=quick, code=best,
 *          code=auto
 * ratio    speed as a share of the ceiling: of the device's read (reduce) or copy (scan and
 *          window, input and results)
 * of sum   the ratio of the best code as a share of sum's in that shape
 * after    ms after which auto ran at the speed of the best code
 * bits     quick, best and auto gave the same, by memcmp; exit 1 if they did not
 *
 * Arrays are on the device; a figure is the median of the rounds, of INNER calls between two
 * synchronisations. */
#define _GNU_SOURCE
#include "../clock.h"
#include "gpu/cuda/code.h"
#include "tally.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef unsigned long long address;
#define CALLS(F) \
    F(cuInit, cuInit, (unsigned)) \
    F(cuDeviceGet, cuDeviceGet, (int *, int)) \
    F(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, int, int)) \
    F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (void **, int)) \
    F(cuCtxSetCurrent, cuCtxSetCurrent, (void *)) \
    F(cuCtxSynchronize, cuCtxSynchronize, (void)) \
    F(cuMemAlloc, cuMemAlloc_v2, (address *, size_t)) \
    F(cuMemcpyHtoD, cuMemcpyHtoD_v2, (address, const void *, size_t)) \
    F(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *, address, size_t)) \
    F(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (address, address, size_t, void *)) \
    F(cuMemsetD8, cuMemsetD8_v2, (address, unsigned char, size_t)) \
    F(cuStreamCreate, cuStreamCreate, (void **, unsigned)) \
    F(cuModuleLoadData, cuModuleLoadData, (void **, const void *)) \
    F(cuModuleGetFunction, cuModuleGetFunction, (void **, void *, const char *)) \
    F(cuLaunchKernel, cuLaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
       void **, void **))
#define DECLARE(name, symbol, parameters) static int(*name) parameters;
CALLS(DECLARE)

enum {
    INNER = 5,
    ROUNDS_MOST = 99,
    RESULT = 8,
    MAJOR = 75,
    MINOR = 76,
    PROCESSORS = 16,
    PATIENCE = 15000
};
enum { QUICK, BEST, AUTO, CODES };
static const char *const codes[] = {"quick", "best", "auto"};
static const char *const ops[] = {"sum", "squares", "descent", "trend", "streak"};
static const char *const shapes[] = {"reduce", "scan", "window of 50"};
enum { OPS = sizeof ops / sizeof *ops, SHAPES = 3 };

static tally *ctx[CODES];
static void *stream, *reader;
static address x, y;
static int64_t n;
static int rounds, processors;
static char folder[] = "/tmp/tally-users-XXXXXX";

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "users: %s: %s\n", what, why);
    exit(2);
}
static void must(int error, const char *what)
{
    char number[32];
    snprintf(number, sizeof number, "error %d", error);
    if (error) stop(what, number);
}
/* ---- the ceilings ---- */

static const char read_text[] =
    "extern \"C\" __global__ void __launch_bounds__(512) read_all(const uint4 *x, unsigned "
    "long long n, unsigned *out)\n"
    "{\n"
    "    unsigned a = 0;\n"
    "    const unsigned long long step = (unsigned long long)gridDim.x * 512;\n"
    "    unsigned long long i = blockIdx.x * 512ull + threadIdx.x;\n"
    "    for (; i + 7 * step < n; i += 8 * step) {\n"
    "        uint4 v[8];\n"
    "#pragma unroll\n"
    "        for (int k = 0; k < 8; k++) v[k] = __ldcs(x + i + k * step);\n"
    "#pragma unroll\n"
    "        for (int k = 0; k < 8; k++) a ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;\n"
    "    }\n"
    "    for (; i < n; i += step) a ^= x[i].x ^ x[i].w;\n"
    "    if (a == 0x12345678) *out = a;\n"
    "}\n";

static void find_device(int number)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *code;
    int device, major, minor;
    size_t bytes;
    char arch[16];
#define FIND(name, symbol, parameters) \
    if (!library || !(*(void **)&name = dlsym(library, #symbol))) \
        stop("libcuda.so.1", #symbol " is not there");
    CALLS(FIND)
    must(cuInit(0), "cuInit");
    must(cuDeviceGet(&device, number), "cuDeviceGet");
    must(cuDevicePrimaryCtxRetain(&context, device), "context");
    must(cuCtxSetCurrent(context), "context");
    must(cuDeviceGetAttribute(&major, MAJOR, device) + cuDeviceGetAttribute(&minor, MINOR, device) +
             cuDeviceGetAttribute(&processors, PROCESSORS, device),
         "attributes");
    must(cuStreamCreate(&stream, 1), "stream");
    snprintf(arch, sizeof arch, "sm_%d%d", major, minor);
    const tl_nvrtc_job job = {.text = read_text, .arch = arch};
    if (tl_nvrtc_compile(NULL, &job, &code, &bytes)) stop("the read ceiling", tally_error(NULL));
    must(cuModuleLoadData(&module, code), "the read ceiling");
    must(cuModuleGetFunction(&reader, module, "read_all"), "the read ceiling");
    free(code);
}

static void read_all(void)
{
    uint64_t quads = (uint64_t)n / 4;
    void *arguments[] = {&x, &quads, &y};
    must(cuLaunchKernel(reader, 4 * (unsigned)processors, 1, 1, 512, 1, 1, 0, stream, arguments,
                        NULL),
         "read");
}
static void copy_all(void)
{
    must(cuMemcpyDtoDAsync(y, x, (size_t)n * sizeof(float), stream), "copy");
}

/* ---- a call ---- */

static int64_t result_bytes(int op)
{
    tally_operator_info info;
    if (tally_operator(ctx[QUICK], ops[op], TALLY_F32, &info))
        stop(ops[op], tally_error(ctx[QUICK]));
    return (int64_t)tally_dtype_size(info.output);
}

static void call(int code, int op, int shape)
{
    const tally_view in = tally_flat((void *)(uintptr_t)x, TALLY_F32, n);
    tally_operator_info info;
    const tally_window_options w = {49, 0, TALLY_EDGES_SHRINK, 0};
    tally *c = ctx[code];
    tally_status status = tally_operator(c, ops[op], TALLY_F32, &info);
    const tally_view out = tally_flat((void *)(uintptr_t)y, info.output, n);
    if (!status)
        status = shape == 0   ? tally_reduce(c, ops[op], &in, (void *)(uintptr_t)y)
                 : shape == 1 ? tally_scan(c, ops[op], &in, &out, NULL)
                              : tally_window(c, ops[op], &in, &out, &w);
    if (status) stop(ops[op], tally_error(c));
}

/* The ms of one call that is the first. */
static double first_of(int code, int op, int shape)
{
    char at[64];
    snprintf(at, sizeof at, "%s/%s", folder, codes[code]);
    setenv("XDG_CACHE_HOME", at, 1);
    const double start = now_ms();
    call(code, op, shape);
    must(cuCtxSynchronize(), "the call");
    return now_ms() - start;
}

/* The ms of a call, the median. code CODES: the read ceiling, CODES + 1: the copy. */
static double time_of(int code, int op, int shape)
{
    double elapsed[ROUNDS_MOST];
    for (int r = -1; r < rounds; r++) {
        const double start = now_ms();
        for (int i = 0; i < INNER; i++) {
            if (code < CODES) call(code, op, shape);
            if (code == CODES) read_all();
            if (code == CODES + 1) copy_all();
        }
        must(cuCtxSynchronize(), "timing");
        if (r >= 0) elapsed[r] = (now_ms() - start) / INNER;
    }
    return median(elapsed, rounds);
}

static void results(int op, int shape, char *to)
{
    must(cuMemcpyDtoH(to, y, (size_t)((shape ? n : 1) * result_bytes(op))), "results");
    must(cuMemsetD8(y, 0xa5, (size_t)n * RESULT), "results");
}

/* ---- rows ---- */

/* ms until auto takes no more than a tenth longer than the best; negative: never. */
static double until_best(int op, int shape, double best)
{
    const double start = now_ms();
    while (now_ms() - start < PATIENCE) {
        const double begin = now_ms();
        for (int i = 0; i < INNER; i++) call(AUTO, op, shape);
        must(cuCtxSynchronize(), "auto");
        if ((now_ms() - begin) / INNER < 1.1 * best) return now_ms() - start;
        usleep(20000);
    }
    return -1;
}

static int row(int op, int shape, const double ceiling[2], double *sum)
{
    static char *was, *is;
    double first[CODES] = {0}, elapsed[2], after = 0, ratio[2];
    if (!was) was = malloc((size_t)n * RESULT), is = malloc((size_t)n * RESULT);
    if (!was || !is) stop("memory", "too little for the results");
    const double bytes = 4 + (shape ? (double)result_bytes(op) : 0);
    const size_t all = (size_t)((shape ? n : 1) * result_bytes(op));
    int same = 1;
    const int with_auto = op == 1 || op == 2; /* half a minute otherwise */
    for (int code = QUICK; code <= BEST; code++) {
        first[code] = first_of(code, op, shape);
        elapsed[code] = time_of(code, op, shape);
        results(op, shape, code ? is : was);
        ratio[code] = bytes / elapsed[code] / ((shape ? 8 : 4) / ceiling[shape > 0]);
    }
    same &= !memcmp(was, is, all);
    if (with_auto) {
        first[AUTO] = first_of(AUTO, op, shape);
        results(op, shape, is);
        same &= !memcmp(was, is, all);
        after = until_best(op, shape, elapsed[BEST]);
        results(op, shape, is);
        same &= !memcmp(was, is, all);
    }
    if (op == 0) *sum = ratio[BEST];
    printf("%-9s %-12s %8.1f %8.1f %8.1f   %6.3f %6.3f %7.3f  %7.0f  %s\n", ops[op], shapes[shape],
           first[QUICK], first[BEST], first[AUTO], ratio[QUICK], ratio[BEST], ratio[BEST] / *sum,
           after, same ? "same" : "DIFFERENT");
    fflush(stdout);
    return same && after >= 0;
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda:0";
    n = (int64_t)1 << (argc > 2 ? atoi(argv[2]) : 26);
    rounds = argc > 3 ? atoi(argv[3]) : 7;
    if (rounds < 1 || rounds > ROUNDS_MOST || n < 1 << 12)
        stop("usage", "[cuda:0 [12 or more [1 to 99]]]");
    find_device(strchr(device, ':') ? atoi(strchr(device, ':') + 1) : 0);
    if (!mkdtemp(folder)) stop(folder, "cannot be made");
    must(cuMemAlloc(&x, (size_t)n * sizeof(float)) + cuMemAlloc(&y, (size_t)n * RESULT),
         "memory of the device");
    float *host = malloc((size_t)n * sizeof(float));
    if (!host) stop("memory", "too little for the input");
    uint64_t random = 20261122;
    for (int64_t i = 0; i < n; i++) { /* prices around 100 */
        random = random * 6364136223846793005u + 1442695040888963407u;
        host[i] = 90 + (float)(random >> 40) * 20 / (float)(1 << 24);
    }
    must(cuMemcpyHtoD(x, host, (size_t)n * sizeof(float)), "input");
    free(host);
    for (int code = 0; code < CODES; code++) {
        char name[64], at[64], path[200];
        snprintf(at, sizeof at, "%s/%s", folder, codes[code]);
        mkdir(at, 0700);
        setenv("XDG_CACHE_HOME", at, 1);
        snprintf(name, sizeof name, "%s,probe=off,code=%s", device, codes[code]);
        if (tally_open(&ctx[code], name)) stop(name, tally_error(NULL));
        for (int op = 1; op < OPS; op++) {
            snprintf(path, sizeof path, "examples/operators/%s.h", ops[op]);
            if (tally_define_file(ctx[code], NULL, path)) stop(path, tally_error(ctx[code]));
        }
        if (tally_use_stream(ctx[code], stream)) stop("stream", tally_error(ctx[code]));
    }
    const double ceiling[2] = {time_of(CODES, 0, 0), time_of(CODES + 1, 0, 0)};
    printf("%lld f32 on %s, median of %d rounds of %d calls; read %.0f GB/s, copy %.0f GB/s (in "
           "and out)\n",
           (long long)n, device, rounds, INNER, 4e-6 * (double)n / ceiling[0],
           8e-6 * (double)n / ceiling[1]);
    printf("%-22s %26s   %13s %7s  %7s\n", "", "first call, ms", "ratio", "", "auto");
    printf("%-9s %-12s %8s %8s %8s   %6s %6s %7s  %7s  %s\n", "operator", "shape", "quick", "best",
           "auto", "quick", "best", "of sum", "after", "bits");
    int good = 1;
    double sums[SHAPES];
    for (int op = 0; op < OPS; op++)
        for (int shape = 0; shape < SHAPES; shape++) good &= row(op, shape, ceiling, &sums[shape]);
    for (int code = 0; code < CODES; code++) tally_close(ctx[code]);
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) good = 0;
    return !good;
}
