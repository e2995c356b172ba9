/* SPDX-License-Identifier: MIT
 * Large arrays on a GPU: right bits above 2^31 and 2^32 elements, in device memory and in host
 * memory, at odd pointers, in place, again and again; then a host array through the device
 * beside the bus alone. The truth is the CPU's, chunk by chunk.
 *
 *   large [DEVICE [LOG2]]    default cuda:0 32: arrays of 2^31 + 1 and 2^32 + 1 elements, and
 *                            2^LOG2 f32 for the times. Needs about 3 x 4 x 2^LOG2 bytes of host
 *                            memory and 2.2 x of device memory.
 * On a device that is not CUDA the parts in device memory are left out. Exit 1: a bit differs. */
#define _GNU_SOURCE
#include "large.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK = 1 << 24, GUARD = 256 };
tally *gpu, *cpu;
static int failed, passed;

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int say(int ok, const char *what, int64_t n)
{
    printf("%-9s %s, n = %lld\n", ok ? "ok" : "DIFFERENT", what, (long long)n);
    fflush(stdout);
    *(ok ? &passed : &failed) += 1;
    return ok;
}

int fine(tally *ctx, tally_status status, const char *what)
{
    if (status == TALLY_OK) return 1;
    printf("FAILED    %s: %s\n", what, tally_error(ctx));
    failed++;
    return 0;
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

int compare(const char *op, const void *x, tally_dtype d, int64_t n, const tally_window_options *w,
            const void *got, int dev, int64_t result)
{
    tally_stream *s;
    int64_t size = (int64_t)tally_dtype_size(d), produced = 0, now_ = 0,
            slack = w ? w->before + w->after : 0;
    char *want = malloc((size_t)((CHUNK + 2 * slack) * result)),
         *copied = malloc((size_t)((CHUNK + 2 * slack) * result));
    int same = 1;
    tally_status status =
        w ? tally_stream_window(cpu, op, d, w, &s) : tally_stream_scan(cpu, op, d, NULL, &s);
    if (!fine(cpu, status, op)) return 0;
    for (int64_t at = 0; same && at <= n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        if (m > 0 &&
            !fine(cpu, tally_stream_push(s, (const char *)x + at * size, m, want, &now_), op))
            break;
        if (m <= 0) now_ = 0;
        const char *from = (const char *)got + produced * result;
        if (now_ && dev) {
            cu.to_host(copied, (address)(uintptr_t)from, (size_t)(now_ * result));
            from = copied;
        }
        same = !now_ || !memcmp(from, want, (size_t)(now_ * result));
        produced += now_;
    }
    int64_t last = 0;
    if (same && fine(cpu, tally_stream_finish(s, want, &last), op) && last) {
        const char *from = (const char *)got + produced * result;
        if (dev) {
            cu.to_host(copied, (address)(uintptr_t)from, (size_t)(last * result));
            from = copied;
        }
        same = !memcmp(from, want, (size_t)(last * result));
    }
    tally_stream_close(s);
    free(want);
    free(copied);
    return same && produced + last == n;
}

/* reduce, scan and window of n elements; x: host memory, dx: the same on the device or NULL. */
static void check_large(const char *op, tally_dtype d, int64_t n, const void *x, address dx,
                        int window)
{
    tally_operator_info info;
    char line[120], want[16] = {0}, got[16] = {0};
    if (!fine(NULL, tally_operator(NULL, op, d, &info), op)) return;
    int64_t result = (int64_t)tally_dtype_size(info.output) * info.lanes, bytes = n * result;
    const void *from = dx ? (const void *)(uintptr_t)dx : x;
    tally_view host = tally_flat(x, d, n), in = tally_flat(from, d, n);
    const char *where = dx ? "device memory" : "host memory";
    snprintf(line, sizeof line, "%s of %s in %s", op, tally_dtype_name(d), where);
    if (fine(cpu, tally_reduce(cpu, op, &host, want), line) &&
        fine(gpu, tally_reduce(gpu, op, &in, got), line))
        say(!memcmp(want, got, (size_t)result), line, n);
    address dy = 0;
    void *y = NULL;
    if (dx ? cu.alloc(&dy, (size_t)bytes) : !(y = malloc((size_t)bytes))) {
        printf("skipped   scan of %s: no %lld bytes more of %s\n", line, (long long)bytes, where);
        return;
    }
    if (dx) y = (void *)(uintptr_t)dy;
    tally_view out = tally_flat(y, info.output, n);
    snprintf(line, sizeof line, "scan %s of %s in %s", op, tally_dtype_name(d), where);
    if (fine(gpu, tally_scan(gpu, op, &in, &out, NULL), line))
        say(compare(op, x, d, n, NULL, y, dx != 0, result), line, n);
    for (int i = 0; window && i < 2; i++) { /* in tiles, and one that none holds */
        const tally_window_options w = {i ? 300000 : 49, 0, TALLY_EDGES_SHRINK, 0};
        snprintf(line, sizeof line, "window %lld, %s of %s in %s", (long long)w.before + 1, op,
                 tally_dtype_name(d), where);
        if (fine(gpu, tally_window(gpu, op, &in, &out, &w), line))
            say(compare(op, x, d, n, &w, y, dx != 0, result), line, n);
    }
    if (dx)
        cu.free(dy);
    else
        free(y);
}

/* Input and output at every pair of odd places, with guards that must stay. */
static void check_pointers(tally_dtype d)
{
    static const int shifts[] = {0, 1, 3, 4, 7, 8, 11, 12, 16};
    enum { N = 100003, SHIFTS = sizeof shifts / sizeof *shifts };
    int64_t size = (int64_t)tally_dtype_size(d), bytes = N * size, capacity = bytes + 2 * GUARD;
    char *x = malloc((size_t)capacity), *y = malloc((size_t)capacity),
         *want = malloc((size_t)capacity);
    address dx, dy;
    tally_window_options w = {30, 2, TALLY_EDGES_SHRINK, 0};
    int same = 1;
    if (cu.alloc(&dx, (size_t)capacity) || cu.alloc(&dy, (size_t)capacity)) return;
    fill(x, d, N);
    tally_view host = tally_flat(x, d, N);
    for (int i = 0; i < SHIFTS * SHIFTS * 4 && same; i++) {
        int from = shifts[i / 4 % SHIFTS], to = shifts[i / 4 / SHIFTS],
            what = i % 4; /* scan, in place, window, reduce */
        address place = what == 1 ? dx + (address)from : dy + (address)(GUARD / 2 + to);
        int64_t at = what == 1 ? from : GUARD / 2 + to, produced = what == 3 ? size : bytes;
        cu.fill(dx, 0xa5, (size_t)capacity);
        cu.fill(dy, 0xa5, (size_t)capacity);
        cu.to_device(dx + (address)from, x, (size_t)bytes);
        memset(want, 0xa5, (size_t)capacity);
        tally_view in = tally_flat((void *)(uintptr_t)(dx + (address)from), d, N);
        tally_view out = tally_flat((void *)(uintptr_t)place, d, N),
                   wanted = tally_flat(want + at, d, N);
        tally_status a = what == 3   ? tally_reduce(gpu, "sum", &in, out.data)
                         : what == 2 ? tally_window(gpu, "sum", &in, &out, &w)
                                     : tally_scan(gpu, "sum", &in, &out, NULL);
        tally_status b = what == 3   ? tally_reduce(cpu, "sum", &host, wanted.data)
                         : what == 2 ? tally_window(cpu, "sum", &host, &wanted, &w)
                                     : tally_scan(cpu, "sum", &host, &wanted, NULL);
        if (!fine(gpu, a, "odd pointers") || !fine(cpu, b, "odd pointers")) break;
        cu.to_host(y, what == 1 ? dx : dy, (size_t)capacity);
        same = !memcmp(y, want, (size_t)capacity);
        if (!same)
            printf("          from + %d, to + %d, case %d, %lld bytes\n", from, to, what,
                   (long long)produced);
    }
    say(same, d == TALLY_F32 ? "odd pointers and guards, f32" : "odd pointers and guards, f64", N);
    cu.free(dx);
    cu.free(dy);
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
        if (cuda && !cu.alloc(&dx, (size_t)n)) {
            cu.to_device(dx, x, (size_t)n);
            check_large("sum", TALLY_U8, n, x, dx, 0);
            check_large("max", TALLY_I8, n, x, dx, 1);
            check_large("argmin", TALLY_I8, n, x, dx, 0);
            cu.free(dx);
        }
        check_large("max", TALLY_I8, n, x, 0, 1);
        check_large("count", TALLY_U8, n, x, 0, 0);
        check_large("argmin", TALLY_I8, n, x, 0, 0);
        fill(x, TALLY_F32, n);
        dx = 0;
        if (cuda && !cu.alloc(&dx, (size_t)n * 4)) {
            cu.to_device(dx, x, (size_t)n * 4);
            check_large("sum", TALLY_F32, n, x, dx, 1);
            cu.free(dx);
        }
        check_large("sum", TALLY_F32, n, x, 0, 0);
        tally_view place = tally_flat(y, TALLY_F32, n);
        memcpy(y, x, (size_t)n * 4);
        if (fine(gpu, tally_scan(gpu, "sum", &place, &place, NULL), "in place"))
            say(compare("sum", x, TALLY_F32, n, NULL, y, 0, 4),
                "scan sum of f32 in place in host memory", n);
    }
    if (cuda) {
        check_pointers(TALLY_F32);
        check_pointers(TALLY_F64);
        address dx;
        const int64_t n = ((int64_t)1 << (log < 26 ? log : 26)) - 5;
        if (!cu.alloc(&dx, (size_t)n * 4)) {
            cu.to_device(dx, x, (size_t)n * 4);
            check_repeats(x, n, dx);
            cu.free(dx);
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
