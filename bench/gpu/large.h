/* SPDX-License-Identifier: MIT
 * What the parts of large.c share: the two contexts, counts, the CUDA driver's functions, the
 * comparison with the truth. */
#ifndef LARGE_H
#define LARGE_H
#include "tally.h"

extern tally *gpu, *cpu;
double now(void); /* seconds */
/* Counts a comparison, and says how it went. */
int say(int ok, const char *what, int64_t n);
/* The call succeeded; else it is counted as failed, and its sentence shown. */
int fine(tally *ctx, tally_status status, const char *what);
/* Compares results at `got` (memory of the device if dev) with what the CPU gives for a scan (w
 * NULL) or a window of x. */
int compare(const char *op, const void *x, tally_dtype d, int64_t n, const tally_window_options *w,
            const void *got, int dev, int64_t result);

/* ---- large_times.c: memory of the device, and the bus alone ---- */
typedef unsigned long long address;
typedef void *stream;
typedef struct driver {
    int (*init)(unsigned), (*device_get)(int *, int), (*retain)(void **, int),
        (*set_current)(void *);
    int (*alloc)(address *, size_t), (*free)(address), (*to_device)(address, const void *, size_t);
    int (*to_host)(void *, address, size_t), (*host_alloc)(void **, size_t, unsigned),
        (*host_free)(void *);
    int (*to_device_async)(address, const void *, size_t, stream),
        (*to_host_async)(void *, address, size_t, stream);
    int (*stream)(stream *, unsigned), (*synchronize)(void),
        (*fill)(address, unsigned char, size_t);
} driver;
extern driver cu;
/* Finds the functions and makes device `number` the current one; 0: there is none. */
int find_driver(int number);
/* Seconds of `bytes` over the bus from and to 1 GiB of page-locked memory: to the device, from
   it, both at once. */
void bus(int64_t bytes, double seconds[3]);

/* ---- the times ---- */
/* A host array through the device beside the bus alone. x: n f32; y: space for as many. */
void times(const float *x, float *y, int64_t n, int cuda);
/* From which size on pieces pay: the same array whole, and by pieces because memory= is 4 times
   it. */
void threshold(const char *device, const float *x, float *y, int64_t capacity);
#endif
