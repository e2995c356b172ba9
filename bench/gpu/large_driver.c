/* SPDX-License-Identifier: MIT
 * The CUDA driver, opened at run time, for large.c: memory of the device, and what the bus alone
 * takes. */
#include "large.h"
#include <dlfcn.h>
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
            double took = (now() - start) * (double)bytes /
                          (double)((bytes + (int64_t)block - 1) / (int64_t)block * (int64_t)block);
            if (took < seconds[way]) seconds[way] = took;
        }
    }
    cu.host_free(a);
    cu.host_free(b);
    cu.free(da);
    cu.free(db);
}
