/* SPDX-License-Identifier: MIT
 * Device memory for ranks.c: of CUDA by the driver, of OpenCL a buffer with an address of
 * tally's. Host memory if the device is neither. */
#ifndef TEST_MPI_MEMORY_H
#define TEST_MPI_MEMORY_H
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>

/* Where `symbol` of the library is. */
static inline void *memory_call(const char *library, const char *symbol)
{
    void *const opened = dlopen(library, RTLD_NOW), *const found =
                                                        opened ? dlsym(opened, symbol) : NULL;
    if (!found) printf("FAILED: %s has no %s\n", library, symbol), exit(1);
    return found;
}

/* What ctx's memory is made with: CUDA's device is current now, OpenCL's queue is the context's
   stream. */
typedef struct memory {
    tally *ctx;
    int cuda, opencl;
    void *context;
} memory;

static inline memory memory_of(tally *ctx)
{
    memory m = {.ctx = ctx,
                .cuda = !strncmp(tally_isa(ctx), "cuda:", 5),
                .opencl = !strncmp(tally_isa(ctx), "opencl:", 7)};
    int number = m.cuda || m.opencl ? atoi(strchr(tally_isa(ctx), ':') + 1) : 0, device = 0,
        bad = 0;
    if (m.cuda) {
        int (*get)(int *, int), (*retain)(void **, int), (*set)(void *);
        *(void **)&get = memory_call("libcuda.so.1", "cuDeviceGet");
        *(void **)&retain = memory_call("libcuda.so.1", "cuDevicePrimaryCtxRetain");
        *(void **)&set = memory_call("libcuda.so.1", "cuCtxSetCurrent");
        bad = get(&device, number) || retain(&m.context, device) || set(m.context);
    } else if (m.opencl) { /* the first platform's */
        void *platform, *devices[16], *queue;
        unsigned count = 0;
        int (*platforms)(unsigned, void **, unsigned *),
            (*list)(void *, uint64_t, unsigned, void **, unsigned *);
        void *(*context)(const intptr_t *, unsigned, void *const *, void *, void *, int *),
            *(*make)(void *, void *, uint64_t, int *);
        *(void **)&platforms = memory_call("libOpenCL.so.1", "clGetPlatformIDs");
        *(void **)&list = memory_call("libOpenCL.so.1", "clGetDeviceIDs");
        *(void **)&context = memory_call("libOpenCL.so.1", "clCreateContext");
        *(void **)&make = memory_call("libOpenCL.so.1", "clCreateCommandQueue");
        bad = platforms(1, &platform, &count) || list(platform, 0xffffffff, 16, devices, &count) ||
              number >= (int)count;
        if (!bad) m.context = context(NULL, 1, &devices[number], NULL, NULL, &bad);
        if (!bad) queue = make(m.context, devices[number], 0, &bad);
        bad = bad || tally_use_stream(ctx, queue);
    }
    if (bad) printf("FAILED: device memory: error %d: %s\n", bad, tally_error(ctx)), exit(1);
    return m;
}

static inline void *memory_new(const memory *m, size_t bytes)
{
    void *p = NULL;
    int bad = 0;
    if (m->cuda) {
        int (*alloc)(void **, size_t);
        *(void **)&alloc = memory_call("libcuda.so.1", "cuMemAlloc_v2");
        bad = alloc(&p, bytes);
    } else if (m->opencl) {
        void *(*make)(void *, uint64_t, size_t, void *, int *);
        *(void **)&make = memory_call("libOpenCL.so.1", "clCreateBuffer");
        void *const object = make(m->context, 1, bytes, NULL, &bad);
        bad = bad || tally_device_pointer(m->ctx, object, &p);
    } else {
        p = malloc(bytes);
    }
    if (bad || !p)
        printf("FAILED: %zu bytes of device memory: error %d: %s\n", bytes, bad,
               tally_error(m->ctx)),
            exit(1);
    return p;
}
#endif
