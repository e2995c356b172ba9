/* SPDX-License-Identifier: MIT
 * A CUDA driver that is none, as libcuda.so.1, for test_embed.c, test_better.c and test_slots.c:
 * one device, memory of the host, modules that are looked at and not run, kernels that do nothing.
 * It must have every function of src/gpu/cuda/. fake_cuda_loads() says what was loaded.
 * FAKE_CUDA_REFUSES=1: it takes no fatbinary. FAKE_CUDA_MAJOR=7: compute capability 7.0. As a
 * real one, it does nothing for a thread without a current context. fake_cuda_push_fails: the push
 * of a context that many calls from now fails (0: none). fake_cuda_depth(): contexts that this
 * thread has pushed; fake_cuda_held, _peak: bytes of memory now, and at most; fake_cuda_blocks:
 * thread blocks of the last launch. Two blocks of any kernel are resident on a multiprocessor.
 *
 * Streams and graphs: fake_cuda_count has what was called. fake_cuda_capture(stream, 1) begins a
 * capture. What a real driver forbids in a capture fails here too and spoils the capture, and so
 * does loading a module. fake_cuda_capture(stream, 0) ends it and returns 1 if it was spoiled; the
 * graph lives until fake_cuda_destroy(stream). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INVALID_CONTEXT = 201,
    CONTEXT_IS_DESTROYED = 709,
    HEAD = 256, /* bytes before a block, which hold its size */
    NO_BINARY_FOR_GPU = 209,
    FATBIN = 0x50,
    CUBIN = 0x7f,
    COMPUTE_MAJOR = 75,
    COMPUTE_MINOR = 76,
    PTX_VERSION = 5,
    MULTIPROCESSORS = 16,
    SHARED_OPTIN = 97
};
static char loads[2000], other_context[1];
static _Thread_local int current; /* contexts that this thread has pushed */

enum { PER_THREAD = 2, OBJECTS = 8, ISOLATION = 905, UNSUPPORTED = 900, RELAXED = 2 };
typedef struct {
    void *context;
    int state; /* 1: captured, 2: spoiled */
    uint64_t number;
    int objects; /* of the graph */
    struct object {
        void *what;
        void (*drop)(void *);
    } object[OBJECTS];
} stream;
typedef struct {
    uint64_t capture; /* that it was recorded in */
} event;
typedef struct { /* of cuda.h, as the driver has it */
    unsigned grid[3], block[3], local_bytes;
    void *stream;
    const struct {
        int id, pad, flag;
    } * attributes;
    unsigned attribute_count;
} launch_config;

struct {
    int waits, records, follows, launches, copies, memsets, captured_memsets, allocations, frees;
} fake_cuda_count;
static stream handles[PER_THREAD + 1]; /* the legacy stream, and that of each thread */
static stream *captured;               /* one at most */
static _Thread_local int mode;

static stream *stream_of(void *s)
{
    return (uintptr_t)s <= PER_THREAD ? &handles[(uintptr_t)s] : s;
}

/* A call that a capture does not allow. */
static int spoils(int allowed, int error)
{
    if (!captured || allowed) return 0;
    captured->state = 2;
    return error;
}
static int waits(void *s)
{
    fake_cuda_count.waits++;
    return spoils(mode == RELAXED && stream_of(s) != captured, UNSUPPORTED);
}
void *fake_cuda_stream(int is_other)
{
    stream *s = calloc(1, sizeof *s);
    if (s) s->context = is_other ? other_context : loads;
    return s;
}
int fake_cuda_capture(void *s, int begin)
{
    static uint64_t captures;
    const int spoiled = stream_of(s)->state == 2;
    captured = begin ? stream_of(s) : NULL;
    stream_of(s)->state = begin;
    if (begin) stream_of(s)->number = ++captures;
    return spoiled;
}
int fake_cuda_destroy(void *s)
{
    stream *const of = stream_of(s);
    const int objects = of->objects;
    while (of->objects) {
        const struct object o = of->object[--of->objects];
        o.drop(o.what);
    }
    return objects;
}

int fake_cuda_push_fails;
unsigned fake_cuda_blocks;
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
    const char *const major = getenv("FAKE_CUDA_MAJOR");
    *v = what == COMPUTE_MAJOR     ? major ? atoi(major) : 9
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
int cuCtxGetCurrent(void **c) { return *c = current ? loads : NULL, 0; }
int cuCtxPopCurrent_v2(void **c) { return current--, c ? *c = loads, 0 : 0; }

/* Blocks of device memory, each with its bytes and a link. */
typedef struct block {
    size_t bytes;
    struct block *next;
} block;
static block *blocks;

int cuMemAlloc_v2(uint64_t *p, size_t bytes)
{
    if (!current) return INVALID_CONTEXT;
    if (spoils(mode == RELAXED, UNSUPPORTED)) return UNSUPPORTED;
    fake_cuda_count.allocations++;
    block *b = aligned_alloc(256, (HEAD + bytes + 255) / 256 * 256);
    if (!b) return 2;
    memset(b, 0, HEAD + bytes);
    *b = (block){bytes, blocks};
    blocks = b;
    fake_cuda_held += bytes;
    if (fake_cuda_held > fake_cuda_peak) fake_cuda_peak = fake_cuda_held;
    return *p = (uint64_t)(uintptr_t)b + HEAD, 0;
}
int cuMemFree_v2(uint64_t p)
{
    if (!current) return INVALID_CONTEXT;
    if (spoils(mode == RELAXED, UNSUPPORTED)) return UNSUPPORTED;
    block *const b = (block *)(uintptr_t)(p - HEAD), **at = &blocks;
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    fake_cuda_count.frees++;
    fake_cuda_held -= b->bytes;
    return free(b), 0;
}
static const block *block_of(uint64_t p)
{
    const block *b = blocks;
    while (b && p - ((uint64_t)(uintptr_t)b + HEAD) >= b->bytes) b = b->next;
    return b;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *s)
{
    if (!current) return INVALID_CONTEXT;
    fake_cuda_count.copies++;
    if (spoils(mode == RELAXED && stream_of(s) != captured, UNSUPPORTED)) return UNSUPPORTED;
    return memcpy((void *)(uintptr_t)to, from, bytes), s == NULL;
}
int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *s)
{
    if (!current) return INVALID_CONTEXT;
    fake_cuda_count.memsets++;
    fake_cuda_count.captured_memsets += stream_of(s) == captured;
    return memset((void *)(uintptr_t)to, (int)value, 4 * count), s == NULL;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *s)
{
    if (!current) return INVALID_CONTEXT;
    fake_cuda_count.copies++;
    if (spoils(mode == RELAXED && stream_of(s) != captured, UNSUPPORTED)) return UNSUPPORTED;
    return memcpy(to, (const void *)(uintptr_t)from, bytes), s == NULL;
}
int cuPointerGetAttributes(unsigned n, int *what, void **values, uint64_t p)
{
    enum { MEMORY_TYPE = 2, DEVICE = 2 };
    if (!block_of(p)) return 1;
    for (unsigned i = 0; i < n; i++) *(int *)values[i] = what[i] == MEMORY_TYPE ? DEVICE : 0;
    return 0;
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
    if (spoils(0, UNSUPPORTED)) return UNSUPPORTED;
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
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *most, void *f, int threads, size_t shared)
{
    return *most = 2, f && threads && shared < 1 << 18 ? 0 : 1;
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *s, void **parameters, void **extra)
{
    if (!current) return INVALID_CONTEXT;
    fake_cuda_count.launches++;
    fake_cuda_blocks = gx;
    return f && gx && gy && gz && bx && by && bz && shared < 1 << 18 && s && parameters && !extra
               ? 0
               : 1;
}
/* As of code for compute capability 9.0. A launch whose start may overlap the kernel before it
 * spoils a capture: graphs with such edges need newer calls than the library has. */
int cuFuncGetAttribute(int *value, int what, void *f)
{
    return *value = what == PTX_VERSION ? 90 : 0, f == NULL;
}
int cuLaunchKernelEx(const launch_config *c, void *f, void **parameters, void **extra)
{
    if (c->attribute_count != 1 || c->attributes->id != 6 || c->attributes->flag != 1) return 1;
    if (spoils(stream_of(c->stream) != captured, UNSUPPORTED)) return UNSUPPORTED;
    return cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
                          c->block[2], c->local_bytes, c->stream, parameters, extra);
}
int cuStreamCreate(void **s, unsigned flags) { return *s = fake_cuda_stream(0), flags > 1; }
int cuStreamDestroy_v2(void *s) { return free(s), s == NULL; }
int cuStreamSynchronize(void *s) { return waits(s) || s == NULL; }
int cuStreamGetCtx(void *s, void **c) { return *c = stream_of(s)->context, s == NULL; }
int cuStreamGetCaptureInfo_v2(void *s, int *state, uint64_t *number, void **graph,
                              const void **after, size_t *count)
{
    *state = stream_of(s)->state;
    if (number) *number = stream_of(s)->number;
    if (graph) *graph = stream_of(s);
    return after || count || !s;
}
int cuThreadExchangeStreamCaptureMode(int *m)
{
    const int before = mode;
    mode = *m;
    return *m = before, 0;
}
int cuUserObjectCreate(void **o, void *what, void (*drop)(void *), unsigned count, unsigned flags)
{
    struct object *to = calloc(1, sizeof *to);
    if (to) *to = (struct object){what, drop};
    return *o = to, !to || count != 1 || flags != 1;
}
int cuUserObjectRelease(void *o, unsigned count)
{
    const struct object object = *(struct object *)o;
    return object.drop(object.what), free(o), count != 1;
}
int cuGraphRetainUserObject(void *graph, void *o, unsigned count, unsigned flags)
{
    stream *const s = graph;
    if (s->objects == OBJECTS || count != 1 || flags != 1) return 1;
    s->object[s->objects++] = *(struct object *)o;
    return free(o), 0;
}
int cuStreamWaitEvent(void *s, void *e, unsigned flags)
{
    fake_cuda_count.follows++;
    const uint64_t number = stream_of(s)->state ? stream_of(s)->number : 0;
    if (((event *)e)->capture != number) return spoils(0, ISOLATION) | 1;
    return flags != 0;
}
int cuEventCreate(void **e, unsigned flags)
{
    return *e = calloc(1, sizeof(event)), flags & ~2u ? 1 : 0;
}
int cuEventDestroy_v2(void *e) { return free(e), e == NULL; }
int cuEventRecord(void *e, void *s)
{
    fake_cuda_count.records++;
    ((event *)e)->capture = stream_of(s)->state ? stream_of(s)->number : 0;
    return s == NULL;
}
int cuEventSynchronize(void *e)
{
    fake_cuda_count.waits++;
    return spoils(mode == RELAXED && !((event *)e)->capture, UNSUPPORTED) || e == NULL;
}
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
