/* SPDX-License-Identifier: MIT
 * The times of large.c: a host array through the device beside the bus alone, and whole beside
 * in pieces. The CUDA driver, opened at run time: memory of the device, and what the bus alone
 * takes. */
#include "large.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

driver cu;

int find_driver(int number)
{
    const struct {
        void *to;
        const char *name;
    } calls[] = {{&cu.init, "cuInit"},
                 {&cu.device_get, "cuDeviceGet"},
                 {&cu.retain, "cuDevicePrimaryCtxRetain"},
                 {&cu.set_current, "cuCtxSetCurrent"},
                 {&cu.alloc, "cuMemAlloc_v2"},
                 {&cu.free, "cuMemFree_v2"},
                 {&cu.to_device, "cuMemcpyHtoD_v2"},
                 {&cu.to_host, "cuMemcpyDtoH_v2"},
                 {&cu.host_alloc, "cuMemHostAlloc"},
                 {&cu.host_free, "cuMemFreeHost"},
                 {&cu.to_device_async, "cuMemcpyHtoDAsync_v2"},
                 {&cu.to_host_async, "cuMemcpyDtoHAsync_v2"},
                 {&cu.stream, "cuStreamCreate"},
                 {&cu.synchronize, "cuCtxSynchronize"},
                 {&cu.fill, "cuMemsetD8_v2"}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int device;
    for (size_t i = 0; library && i < sizeof calls / sizeof *calls; i++)
        if (!(*(void **)calls[i].to = dlsym(library, calls[i].name))) return 0;
    return library && !cu.init(0) && !cu.device_get(&device, number) &&
           !cu.retain(&context, device) && !cu.set_current(context);
}

void bus(int64_t bytes, double seconds[3])
{
    const size_t block = (size_t)1 << 30;
    void *a, *b;
    address da, db;
    stream s, t;
    if (cu.host_alloc(&a, block, 0) || cu.host_alloc(&b, block, 0) || cu.alloc(&da, block) ||
        cu.alloc(&db, block) || cu.stream(&s, 1) || cu.stream(&t, 1))
        exit(2);
    memset(a, 1, block);
    memset(b, 1, block);
    for (int way = 0; way < 3; way++) {
        seconds[way] = 1e9;
        for (int round = 0; round < 3; round++) {
            double start = now();
            for (int64_t at = 0; at < bytes; at += (int64_t)block) {
                if (way != 1) cu.to_device_async(da, a, block, s);
                if (way != 0) cu.to_host_async(b, db, block, t);
            }
            cu.synchronize();
            double elapsed =
                (now() - start) * (double)bytes /
                (double)((bytes + (int64_t)block - 1) / (int64_t)block * (int64_t)block);
            if (elapsed < seconds[way]) seconds[way] = elapsed;
        }
    }
    cu.host_free(a);
    cu.host_free(b);
    cu.free(da);
    cu.free(db);
}

/* ---- times ---- */

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
    printf("%-44s %8.4f s %7.1f GB/s   bus alone %8.4f s   ratio %.3f\n", what, seconds,
           bytes / seconds * 1e-9, alone, alone > 0 ? seconds / alone : 0.0);
    fflush(stdout);
}

void times(const float *x, float *y, int64_t n, int cuda)
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
    for (int verb = 0; verb < 3; verb++)
        row(names[verb], best_of(3, verb, &in, &out), alone[verb ? 2 : 0], bytes);
    tally_time(gpu, 1);
    double elapsed = best_of(1, 1, &in, &out);
    tally_times(gpu, &t);
    tally_time(gpu, 0);
    printf("scan, measured: %.4f s; kernels %.4f s, to the device %.4f s, from it %.4f s; held "
           "%lld bytes there, %lld "
           "page-locked\n",
           elapsed, t.kernels, t.to_device, t.from_device, (long long)t.device_bytes,
           (long long)t.locked_bytes);
    if (!cuda) return;
    void *a, *b;
    int64_t some = n < (int64_t)1 << 30 ? n : (int64_t)1 << 30;
    if (cu.host_alloc(&a, (size_t)some * 4, 0) || cu.host_alloc(&b, (size_t)some * 4, 0)) return;
    memcpy(a, x, (size_t)some * 4);
    memset(b, 1, (size_t)some * 4);
    tally_view in_locked = tally_flat(a, TALLY_F32, some),
               out_locked = tally_flat(b, TALLY_F32, some);
    double part = (double)some / (double)n;
    row("page-locked array (no staging), sum f32", best_of(3, 0, &in_locked, &out_locked),
        alone[0] * part, bytes * part);
    row("page-locked array (no staging), scan sum f32", best_of(3, 1, &in_locked, &out_locked),
        alone[2] * part, bytes * part);
    say(compare("sum", x, TALLY_F32, some, NULL, b, 0, 4), "scan sum of f32 in page-locked memory",
        some);
    cu.host_free(a);
    cu.host_free(b);
}

void threshold(const char *device, const float *x, float *y, int64_t capacity)
{
    for (int64_t bytes = 1 << 20; bytes < 32 << 20 && bytes <= capacity; bytes *= 2) {
        double elapsed[2][2];
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
            tally_view in = tally_flat(x, TALLY_F32, bytes / 4),
                       out = tally_flat(y, TALLY_F32, bytes / 4);
            for (int verb = 0; verb < 2; verb++) elapsed[way][verb] = best_of(9, verb, &in, &out);
            tally_close(gpu);
            gpu = keep;
        }
        printf("%3lld MiB   sum: whole %7.0f us, pieces %7.0f us   scan: whole %7.0f us, pieces "
               "%7.0f us\n",
               (long long)(bytes >> 20), elapsed[0][0] * 1e6, elapsed[1][0] * 1e6,
               elapsed[0][1] * 1e6, elapsed[1][1] * 1e6);
    }
}
