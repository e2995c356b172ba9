/* SPDX-License-Identifier: MIT
 * A CUDA driver that is none, as libcuda.so.1, for test_embed.c and test_better.c: one device,
 * memory of the host, modules that are looked at and not run, kernels that do nothing. It must
 * have every function of src/gpu/cuda/. fake_cuda_loads() says what was loaded.
 * FAKE_CUDA_REFUSES=1: it takes no fatbinary. As a real one, it does nothing for a thread
 * without a current context. fake_cuda_push_fails: the push of a context that many calls from
 * now fails (0: none). fake_cuda_depth(): contexts that this thread has pushed; fake_cuda_held,
 * _peak: bytes of memory now, and at most. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INVALID_CONTEXT = 201,
    CONTEXT_IS_DESTROYED = 709,
    HEAD = 64, /* bytes before a block, which hold its size */
    NO_BINARY_FOR_GPU = 209,
    FATBIN = 0x50,
    CUBIN = 0x7f,
    COMPUTE_MAJOR = 75,
    COMPUTE_MINOR = 76,
    MULTIPROCESSORS = 16,
    SHARED_OPTIN = 97
};
static char loads[2000];
static _Thread_local int current; /* contexts that this thread has pushed */

int fake_cuda_push_fails;
size_t fake_cuda_held, fake_cuda_peak;
int fake_cuda_depth(void) { return current; }

const char *fake_cuda_loads(void) { return loads; }

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int *v) { return *v = 13000, 0; }
int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *d, int index) { return *d = index, 0; }
int cuDeviceGetName(char *name, int capacity, int d)
{
    return snprintf(name, (size_t)capacity, "fake"), d;
}
int cuDeviceTotalMem_v2(size_t *bytes, int d) { return *bytes = (size_t)1 << 30, d; }
int cuDeviceGetAttribute(int *v, int what, int d)
{
    *v = what == COMPUTE_MAJOR     ? 9
         : what == MULTIPROCESSORS ? 4
         : what == SHARED_OPTIN    ? 227 << 10
                                   : 0;
    return d;
}
int cuDevicePrimaryCtxRetain(void **c, int d) { return *c = loads, d; }
int cuDevicePrimaryCtxRelease_v2(int d) { return d; }
int cuCtxPushCurrent_v2(void *c)
{
    if (fake_cuda_push_fails && --fake_cuda_push_fails == 0) return CONTEXT_IS_DESTROYED;
    return current++, c == NULL;
}
int cuCtxPopCurrent_v2(void **c) { return current--, c ? *c = loads, 0 : 0; }
int cuMemAlloc_v2(uint64_t *p, size_t bytes)
{
    if (!current) return INVALID_CONTEXT;
    char *block = calloc(1, HEAD + bytes);
    if (!block) return 2;
    memcpy(block, &bytes, sizeof bytes);
    fake_cuda_held += bytes;
    if (fake_cuda_held > fake_cuda_peak) fake_cuda_peak = fake_cuda_held;
    return *p = (uint64_t)(uintptr_t)(block + HEAD), 0;
}
int cuMemFree_v2(uint64_t p)
{
    if (!current) return INVALID_CONTEXT;
    char *block = (char *)(uintptr_t)p - HEAD;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    fake_cuda_held -= bytes;
    return free(block), 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *s)
{
    if (!current) return INVALID_CONTEXT;
    return memcpy((void *)(uintptr_t)to, from, bytes), s == NULL;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *s)
{
    if (!current) return INVALID_CONTEXT;
    return memcpy(to, (const void *)(uintptr_t)from, bytes), s == NULL;
}
int cuPointerGetAttributes(unsigned n, int *what, void **values, uint64_t p)
{
    return n && what && values && p ? 1 : 1;
}

/* A fatbinary: magic, version, bytes of its head (u16), bytes that follow (u64). Each image:
 * kind (1 PTX, 2 machine code), version (u16), bytes of its head (u32), of its content (u64),
 * ..., and its architecture (u32) at 28. */
int cuModuleLoadData(void **module, const unsigned char *data)
{
    uint64_t size, at = 16, bytes;
    uint32_t head, arch;
    size_t used = strlen(loads);
    if (!current) return INVALID_CONTEXT;
    *module = loads;
    if (data[0] == CUBIN) {
        snprintf(loads + used, sizeof loads - used, data[1] == 'E' ? " cubin" : " %s",
                 (const char *)data + 1);
    } else if (data[0] == FATBIN) {
        if (getenv("FAKE_CUDA_REFUSES")) return NO_BINARY_FOR_GPU;
        used += (size_t)snprintf(loads + used, sizeof loads - used, " fatbin(");
        for (memcpy(&size, data + 8, 8); at < 16 + size && used < sizeof loads;
             at += head + bytes) {
            memcpy(&head, data + at + 4, 4);
            memcpy(&bytes, data + at + 8, 8);
            memcpy(&arch, data + at + 28, 4);
            used +=
                (size_t)snprintf(loads + used, sizeof loads - used, "%s%s %u", at > 16 ? ", " : "",
                                 data[at] == 1 ? "ptx" : "elf", (unsigned)arch);
        }
        if (used < sizeof loads) snprintf(loads + used, sizeof loads - used, ")");
    } else {
        return NO_BINARY_FOR_GPU;
    }
    return 0;
}
int cuModuleUnload(void *m) { return m == NULL; }
int cuModuleGetFunction(void **f, void *m, const char *name) { return *f = m, name == NULL; }
int cuFuncSetAttribute(void *f, int what, int v) { return f && what && v ? 0 : 1; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *f, int threads, size_t shared)
{
    return *blocks = 2, f && threads && shared < 1 << 18 ? 0 : 1;
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
    if (!current) return INVALID_CONTEXT;
    return f && gx && gy && gz && bx && by && bz && shared < 1 << 18 && stream && parameters &&
                   !extra
               ? 0
               : 1;
}
int cuStreamCreate(void **s, unsigned flags) { return *s = loads, flags > 1; }
int cuStreamDestroy_v2(void *s) { return s == NULL; }
int cuStreamSynchronize(void *s) { return s == NULL; }
int fake_cuda_captured;
int cuStreamIsCapturing(void *s, int *is) { return *is = fake_cuda_captured, s == NULL; }
int cuStreamWaitEvent(void *s, void *event, unsigned flags) { return s && event && !flags ? 0 : 1; }
int cuEventCreate(void **event, unsigned flags) { return *event = loads, flags & ~2u ? 1 : 0; }
int cuEventDestroy_v2(void *event) { return event == NULL; }
int cuEventRecord(void *event, void *s) { return event && s ? 0 : 1; }
int cuEventSynchronize(void *event) { return event == NULL; }
int cuEventElapsedTime(float *ms, void *from, void *to) { return *ms = 0, from && to ? 0 : 1; }
int cuMemGetInfo_v2(size_t *capacity, size_t *total)
{
    return *capacity = *total = (size_t)1 << 30, 0;
}
int cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
    return *p = malloc(bytes), *p && !flags ? 0 : 1;
}
int cuMemFreeHost(void *p) { return free(p), 0; }
int cuGetExportTable(const void **table, const void *id)
{
    return *table = NULL, id ? 500 : 500;
} /* NVRTC asks; not found */
int cuGetErrorString(int error, const char **text)
{
    return *text = error ? "an error" : "none", 0;
}
