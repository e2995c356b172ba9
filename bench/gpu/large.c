/* SPDX-License-Identifier: MIT
 * Large arrays on a GPU: right bits above 2^31 and 2^32 elements, in device memory and in host memory, at odd pointers,
 * in place, again and again; then a host array through the device beside the bus alone. The truth is the CPU's, chunk
 * by chunk.
 *
 *   large [DEVICE [LOG2]]    default cuda:0 32: arrays of 2^31 + 1 and 2^32 + 1 elements, and 2^LOG2 f32 for the times.
 *                            Needs about 3 x 4 x 2^LOG2 bytes of host memory and 2.2 x of device memory.
 * On a device that is not CUDA the parts in device memory are left out. Exit 1: a bit differs. */
#define _GNU_SOURCE
#include "tally.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK = 1 << 24, GUARD = 256 };
static tally *gpu, *cpu;
static int failed, passed;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int say(int ok, const char *what, int64_t n)
{
    printf("%-9s %s, n = %lld\n", ok ? "ok" : "DIFFERENT", what, (long long)n);
    fflush(stdout);
    *(ok ? &passed : &failed) += 1;
    return ok;
}

static int fine(tally *ctx, tally_status status, const char *what)
{
    if (status == TALLY_OK) return 1;
    printf("FAILED    %s: %s\n", what, tally_error(ctx));
    failed++;
    return 0;
}

/* ---- the driver: memory of the device, and the bus alone ---- */

typedef unsigned long long address;
typedef void *stream;
static int (*cuInit_)(unsigned), (*cuDeviceGet_)(int *, int), (*cuRetain)(void **, int), (*cuSetCurrent)(void *);
static int (*cuAlloc)(address *, size_t), (*cuFree)(address), (*cuToDevice)(address, const void *, size_t);
static int (*cuToHost)(void *, address, size_t), (*cuHostAlloc)(void **, size_t, unsigned), (*cuFreeHost)(void *);
static int (*cuToDeviceAsync)(address, const void *, size_t, stream), (*cuToHostAsync)(void *, address, size_t, stream);
static int (*cuStream)(stream *, unsigned), (*cuSynchronize)(void), (*cuFill)(address, unsigned char, size_t);

static int find_driver(int number)
{
    const struct {
        void *to;
        const char *name;
    } calls[] = {{&cuInit_, "cuInit"},
                 {&cuDeviceGet_, "cuDeviceGet"},
                 {&cuRetain, "cuDevicePrimaryCtxRetain"},
                 {&cuSetCurrent, "cuCtxSetCurrent"},
                 {&cuAlloc, "cuMemAlloc_v2"},
                 {&cuFree, "cuMemFree_v2"},
                 {&cuToDevice, "cuMemcpyHtoD_v2"},
                 {&cuToHost, "cuMemcpyDtoH_v2"},
                 {&cuHostAlloc, "cuMemHostAlloc"},
                 {&cuFreeHost, "cuMemFreeHost"},
                 {&cuToDeviceAsync, "cuMemcpyHtoDAsync_v2"},
                 {&cuToHostAsync, "cuMemcpyDtoHAsync_v2"},
                 {&cuStream, "cuStreamCreate"},
                 {&cuSynchronize, "cuCtxSynchronize"},
                 {&cuFill, "cuMemsetD8_v2"}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int device;
    for (size_t i = 0; library && i < sizeof calls / sizeof *calls; i++)
        if (!(*(void **)calls[i].to = dlsym(library, calls[i].name))) return 0;
    return library && !cuInit_(0) && !cuDeviceGet_(&device, number) && !cuRetain(&context, device) &&
           !cuSetCurrent(context);
}

/* ---- data ---- */

static uint64_t mix(uint64_t i)
{
    i = (i + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    i = (i ^ i >> 27) * 0x94d049bb133111ebull;
    return i ^ i >> 31;
}

static void fill(void *to, tally_dtype d, int64_t n)
{
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = mix((uint64_t)i);
        if (d == TALLY_F32)
            ((float *)to)[i] = (float)(int32_t)r * 0x1p-31f;
        else if (d == TALLY_F64)
            ((double *)to)[i] = (double)(int64_t)r * 0x1p-63;
        else
            ((uint8_t *)to)[i] = (uint8_t)r;
    }
}

/* ---- the truth, chunk by chunk ---- */

/* Compares results at `got` (memory of the device if dev) with what the CPU gives for a scan (w NULL) or a window of x.
 */
static int compare(const char *op, const void *x, tally_dtype d, int64_t n, const tally_window_options *w,
                   const void *got, int dev, int64_t result)
{
    tally_stream *s;
    int64_t size = (int64_t)tally_dtype_size(d), made = 0, now_ = 0, slack = w ? w->before + w->after : 0;
    char *want = malloc((size_t)((CHUNK + 2 * slack) * result)), *have = malloc((size_t)((CHUNK + 2 * slack) * result));
    int same = 1;
    tally_status status = w ? tally_stream_window(cpu, op, d, w, &s) : tally_stream_scan(cpu, op, d, NULL, &s);
    if (!fine(cpu, status, op)) return 0;
    for (int64_t at = 0; same && at <= n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        if (m > 0 && !fine(cpu, tally_stream_push(s, (const char *)x + at * size, m, want, &now_), op)) break;
        if (m <= 0) now_ = 0;
        const char *from = (const char *)got + made * result;
        if (now_ && dev) {
            cuToHost(have, (address)(uintptr_t)from, (size_t)(now_ * result));
            from = have;
        }
        same = !now_ || !memcmp(from, want, (size_t)(now_ * result));
        made += now_;
    }
    int64_t last = 0;
    if (same && fine(cpu, tally_stream_finish(s, want, &last), op) && last) {
        const char *from = (const char *)got + made * result;
        if (dev) {
            cuToHost(have, (address)(uintptr_t)from, (size_t)(last * result));
            from = have;
        }
        same = !memcmp(from, want, (size_t)(last * result));
    }
    tally_stream_close(s);
    free(want);
    free(have);
    return same && made + last == n;
}

/* reduce, scan and window of n elements; x: host memory, dx: the same on the device or NULL. */
static void check_large(const char *op, tally_dtype d, int64_t n, const void *x, address dx, int window)
{
    tally_operator_info info;
    tally_window_options w = {49, 0, TALLY_EDGES_SHRINK, 0};
    char line[120], want[16] = {0}, got[16] = {0};
    if (!fine(NULL, tally_operator(NULL, op, d, &info), op)) return;
    int64_t result = (int64_t)tally_dtype_size(info.output) * info.lanes, bytes = n * result;
    const void *from = dx ? (const void *)(uintptr_t)dx : x;
    tally_view host = tally_flat(x, d, n), in = tally_flat(from, d, n);
    const char *where = dx ? "device memory" : "host memory";
    snprintf(line, sizeof line, "%s of %s in %s", op, tally_dtype_name(d), where);
    if (fine(cpu, tally_reduce(cpu, op, &host, want), line) && fine(gpu, tally_reduce(gpu, op, &in, got), line))
        say(!memcmp(want, got, (size_t)result), line, n);
    address dy = 0;
    void *y = NULL;
    if (dx ? cuAlloc(&dy, (size_t)bytes) : !(y = malloc((size_t)bytes))) {
        printf("skipped   scan of %s: no %lld bytes more of %s\n", line, (long long)bytes, where);
        return;
    }
    if (dx) y = (void *)(uintptr_t)dy;
    tally_view out = tally_flat(y, info.output, n);
    snprintf(line, sizeof line, "scan %s of %s in %s", op, tally_dtype_name(d), where);
    if (fine(gpu, tally_scan(gpu, op, &in, &out, NULL), line))
        say(compare(op, x, d, n, NULL, y, dx != 0, result), line, n);
    snprintf(line, sizeof line, "window %s of %s in %s", op, tally_dtype_name(d), where);
    if (window && fine(gpu, tally_window(gpu, op, &in, &out, &w), line))
        say(compare(op, x, d, n, &w, y, dx != 0, result), line, n);
    if (dx)
        cuFree(dy);
    else
        free(y);
}

/* Input and output at every pair of odd places, with guards that must stay. */
static void check_pointers(tally_dtype d)
{
    static const int shifts[] = {0, 1, 3, 4, 7, 8, 11, 12, 16};
    enum { N = 100003, SHIFTS = sizeof shifts / sizeof *shifts };
    int64_t size = (int64_t)tally_dtype_size(d), bytes = N * size, room = bytes + 2 * GUARD;
    char *x = malloc((size_t)room), *y = malloc((size_t)room), *want = malloc((size_t)room);
    address dx, dy;
    tally_window_options w = {30, 2, TALLY_EDGES_SHRINK, 0};
    int same = 1;
    if (cuAlloc(&dx, (size_t)room) || cuAlloc(&dy, (size_t)room)) return;
    fill(x, d, N);
    tally_view host = tally_flat(x, d, N);
    for (int i = 0; i < SHIFTS * SHIFTS * 4 && same; i++) {
        int from = shifts[i / 4 % SHIFTS], to = shifts[i / 4 / SHIFTS],
            what = i % 4; /* scan, in place, window, reduce */
        address place = what == 1 ? dx + (address)from : dy + (address)(GUARD / 2 + to);
        int64_t at = what == 1 ? from : GUARD / 2 + to, made = what == 3 ? size : bytes;
        cuFill(dx, 0xa5, (size_t)room);
        cuFill(dy, 0xa5, (size_t)room);
        cuToDevice(dx + (address)from, x, (size_t)bytes);
        memset(want, 0xa5, (size_t)room);
        tally_view in = tally_flat((void *)(uintptr_t)(dx + (address)from), d, N);
        tally_view out = tally_flat((void *)(uintptr_t)place, d, N), wanted = tally_flat(want + at, d, N);
        tally_status a = what == 3   ? tally_reduce(gpu, "sum", &in, out.data)
                         : what == 2 ? tally_window(gpu, "sum", &in, &out, &w)
                                     : tally_scan(gpu, "sum", &in, &out, NULL);
        tally_status b = what == 3   ? tally_reduce(cpu, "sum", &host, wanted.data)
                         : what == 2 ? tally_window(cpu, "sum", &host, &wanted, &w)
                                     : tally_scan(cpu, "sum", &host, &wanted, NULL);
        if (!fine(gpu, a, "odd pointers") || !fine(cpu, b, "odd pointers")) break;
        cuToHost(y, what == 1 ? dx : dy, (size_t)room);
        same = !memcmp(y, want, (size_t)room);
        if (!same) printf("          from + %d, to + %d, case %d, %lld bytes\n", from, to, what, (long long)made);
    }
    say(same, d == TALLY_F32 ? "odd pointers and guards, f32" : "odd pointers and guards, f64", N);
    cuFree(dx);
    cuFree(dy);
    free(x);
    free(y);
    free(want);
}

static void check_repeats(const float *x, int64_t n, address dx)
{
    int same = 1;
    size_t bytes = (size_t)n * 4;
    char *first = malloc(bytes), *again = malloc(bytes);
    const void *from = dx ? (const void *)(uintptr_t)dx : (const void *)x;
    tally_view in = tally_flat(from, TALLY_F32, n), out = tally_flat(again, TALLY_F32, n);
    float sum = 0, other;
    for (int i = 0; i < 10 && same; i++) {
        if (!fine(gpu, tally_scan(gpu, "sum", &in, &out, NULL), "repeat") ||
            !fine(gpu, tally_reduce(gpu, "sum", &in, &other), "repeat"))
            break;
        if (i == 0) {
            memcpy(first, again, bytes);
            sum = other;
        }
        same = !memcmp(first, again, bytes) && !memcmp(&sum, &other, 4);
    }
    say(same, dx ? "10 runs equal, device memory" : "10 runs equal, host memory", n);
    free(first);
    free(again);
}

/* ---- times ---- */

/* Seconds of `bytes` over the bus from and to 1 GiB of page-locked memory: to the device, from it, both at once. */
static void bus(int64_t bytes, double seconds[3])
{
    const size_t block = (size_t)1 << 30;
    void *a, *b;
    address da, db;
    stream s, t;
    if (cuHostAlloc(&a, block, 0) || cuHostAlloc(&b, block, 0) || cuAlloc(&da, block) || cuAlloc(&db, block) ||
        cuStream(&s, 1) || cuStream(&t, 1))
        exit(2);
    memset(a, 1, block);
    memset(b, 1, block);
    for (int way = 0; way < 3; way++) {
        seconds[way] = 1e9;
        for (int round = 0; round < 3; round++) {
            double start = now();
            for (int64_t at = 0; at < bytes; at += (int64_t)block) {
                if (way != 1) cuToDeviceAsync(da, a, block, s);
                if (way != 0) cuToHostAsync(b, db, block, t);
            }
            cuSynchronize();
            double took = (now() - start) * (double)bytes /
                          (double)((bytes + (int64_t)block - 1) / (int64_t)block * (int64_t)block);
            if (took < seconds[way]) seconds[way] = took;
        }
    }
    cuFreeHost(a);
    cuFreeHost(b);
    cuFree(da);
    cuFree(db);
}

static double best_of(int rounds, int verb, const tally_view *in, const tally_view *out)
{
    tally_window_options w = {49, 0, TALLY_EDGES_SHRINK, 0};
    double best = 1e9;
    for (int i = 0; i < rounds; i++) {
        double start = now();
        tally_status status = verb == 0   ? tally_reduce(gpu, "sum", in, out->data)
                              : verb == 1 ? tally_scan(gpu, "sum", in, out, NULL)
                                          : tally_window(gpu, "mean", in, out, &w);
        if (!fine(gpu, status, "timing")) return 0;
        if (now() - start < best) best = now() - start;
    }
    return best;
}

static void row(const char *what, double seconds, double alone, double bytes)
{
    printf("%-44s %8.4f s %7.1f GB/s   bus alone %8.4f s   ratio %.3f\n", what, seconds, bytes / seconds * 1e-9, alone,
           alone > 0 ? seconds / alone : 0.0);
    fflush(stdout);
}

static void times(const float *x, float *y, int64_t n, int cuda)
{
    double alone[3] = {0};
    const double bytes = (double)n * 4;
    tally_view in = tally_flat(x, TALLY_F32, n), out = tally_flat(y, TALLY_F32, n);
    tally_times_info t;
    memset(y, 1, (size_t)n * 4);
    if (cuda) bus(n * 4, alone);
    if (cuda)
        printf("bus: to %.1f, from %.1f, both at once %.1f + %.1f GB/s\n", bytes / alone[0] * 1e-9,
               bytes / alone[1] * 1e-9, bytes / alone[2] * 1e-9, bytes / alone[2] * 1e-9);
    static const char *const names[] = {"host array, sum f32", "host array, scan sum f32",
                                        "host array, window mean of 50 f32"};
    for (int verb = 0; verb < 3; verb++) row(names[verb], best_of(3, verb, &in, &out), alone[verb ? 2 : 0], bytes);
    tally_time(gpu, 1);
    double took = best_of(1, 1, &in, &out);
    tally_times(gpu, &t);
    tally_time(gpu, 0);
    printf("scan, measured: %.4f s; kernels %.4f s, to the device %.4f s, from it %.4f s; held %lld bytes there, %lld "
           "page-locked\n",
           took, t.kernels, t.to_device, t.from_device, (long long)t.device_bytes, (long long)t.locked_bytes);
    if (!cuda) return;
    void *a, *b;
    int64_t some = n < (int64_t)1 << 30 ? n : (int64_t)1 << 30;
    if (cuHostAlloc(&a, (size_t)some * 4, 0) || cuHostAlloc(&b, (size_t)some * 4, 0)) return;
    memcpy(a, x, (size_t)some * 4);
    memset(b, 1, (size_t)some * 4);
    tally_view in_locked = tally_flat(a, TALLY_F32, some), out_locked = tally_flat(b, TALLY_F32, some);
    double part = (double)some / (double)n;
    row("page-locked array (no staging), sum f32", best_of(3, 0, &in_locked, &out_locked), alone[0] * part,
        bytes * part);
    row("page-locked array (no staging), scan sum f32", best_of(3, 1, &in_locked, &out_locked), alone[2] * part,
        bytes * part);
    say(compare("sum", x, TALLY_F32, some, NULL, b, 0, 4), "scan sum of f32 in page-locked memory", some);
    cuFreeHost(a);
    cuFreeHost(b);
}

/* From which size on pieces pay: the same array whole, and by pieces because memory= is 4 times it. */
static void threshold(const char *device, const float *x, float *y, int64_t room)
{
    for (int64_t bytes = 1 << 20; bytes < 32 << 20 && bytes <= room; bytes *= 2) {
        double took[2][2];
        for (int way = 0; way < 2; way++) {
            char name[80];
            tally *keep = gpu;
            if (way)
                snprintf(name, sizeof name, "%.*s,memory=%lld", (int)strcspn(device, ","), device,
                         (long long)(4 * bytes));
            else
                snprintf(name, sizeof name, "%.*s", (int)strcspn(device, ","), device);
            if (!fine(NULL, tally_open(&gpu, name), name)) {
                gpu = keep;
                return;
            }
            tally_view in = tally_flat(x, TALLY_F32, bytes / 4), out = tally_flat(y, TALLY_F32, bytes / 4);
            for (int verb = 0; verb < 2; verb++) took[way][verb] = best_of(9, verb, &in, &out);
            tally_close(gpu);
            gpu = keep;
        }
        printf("%3lld MiB   sum: whole %7.0f us, pieces %7.0f us   scan: whole %7.0f us, pieces %7.0f us\n",
               (long long)(bytes >> 20), took[0][0] * 1e6, took[1][0] * 1e6, took[0][1] * 1e6, took[1][1] * 1e6);
    }
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda:0";
    int log = argc > 2 ? atoi(argv[2]) : 32, cuda = !strncmp(device, "cuda", 4), number = 0;
    const double begin = now();
    if (cuda && device[4] == ':') number = atoi(device + 5);
    if (tally_open(&gpu, device) || tally_open(&cpu, "cpu")) {
        printf("%s\n", tally_error(NULL));
        return 3;
    }
    if (cuda && !find_driver(number)) return 3;
    const int64_t most = ((int64_t)1 << log) + 1;
    float *x = malloc((size_t)most * 4), *y = malloc((size_t)most * 4);
    if (!x || !y) {
        printf("no host memory for 2 arrays of %lld f32\n", (long long)most);
        return 2;
    }
    for (int k = log - 1; k <= log; k++) {
        const int64_t n = ((int64_t)1 << k) + 1;
        address dx = 0;
        fill(x, TALLY_U8, n);
        if (cuda && !cuAlloc(&dx, (size_t)n)) {
            cuToDevice(dx, x, (size_t)n);
            check_large("sum", TALLY_U8, n, x, dx, 0);
            check_large("max", TALLY_I8, n, x, dx, 1);
            check_large("argmin", TALLY_I8, n, x, dx, 0);
            cuFree(dx);
        }
        check_large("max", TALLY_I8, n, x, 0, 1);
        check_large("count", TALLY_U8, n, x, 0, 0);
        check_large("argmin", TALLY_I8, n, x, 0, 0);
        fill(x, TALLY_F32, n);
        dx = 0;
        if (cuda && !cuAlloc(&dx, (size_t)n * 4)) {
            cuToDevice(dx, x, (size_t)n * 4);
            check_large("sum", TALLY_F32, n, x, dx, 1);
            cuFree(dx);
        }
        check_large("sum", TALLY_F32, n, x, 0, 0);
        tally_view place = tally_flat(y, TALLY_F32, n);
        memcpy(y, x, (size_t)n * 4);
        if (fine(gpu, tally_scan(gpu, "sum", &place, &place, NULL), "in place"))
            say(compare("sum", x, TALLY_F32, n, NULL, y, 0, 4), "scan sum of f32 in place in host memory", n);
    }
    if (cuda) {
        check_pointers(TALLY_F32);
        check_pointers(TALLY_F64);
        address dx;
        const int64_t n = ((int64_t)1 << (log < 26 ? log : 26)) - 5;
        if (!cuAlloc(&dx, (size_t)n * 4)) {
            cuToDevice(dx, x, (size_t)n * 4);
            check_repeats(x, n, dx);
            cuFree(dx);
        }
    }
    check_repeats(x, ((int64_t)1 << (log < 26 ? log : 26)) - 5, 0);
    threshold(device, x, y, most * 4);
    times(x, y, most - 1, cuda);
    printf("%d passed, %d failed, %.0f s\n", passed, failed, now() - begin);
    tally_close(gpu);
    tally_close(cpu);
    free(x);
    free(y);
    return failed > 0;
}
