/* SPDX-License-Identifier: MIT
 * CUDA devices, through the driver (libcuda), opened at run time. API calls only; the shapes are in gpu_*.c; copies and events are in
 * cuda_lanes.c. The primary context is used, so memory of the CUDA runtime in the same process is this device's memory too. */
#include "archive.h"
#include "cuda.h"
#include "nvrtc.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    SHARED_UNASKED = 32 << 10, /* with what kernels have anyway below 48 KiB; more only if it is set to */
    SHARED_ANYWAY = 2 << 10,   /* more than any kernel has beside what the launch gives it */
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_STREAM_NON_BLOCKING = 1,
};

#define DRIVER_CALLS(F)                                                                                                \
    F(cuInit, cuInit, (unsigned))                                                                                      \
    F(cuDriverGetVersion, cuDriverGetVersion, (int *))                                                                 \
    F(cuDeviceGetCount, cuDeviceGetCount, (int *))                                                                     \
    F(cuDeviceGet, cuDeviceGet, (CUdevice *, int))                                                                     \
    F(cuDeviceGetName, cuDeviceGetName, (char *, int, CUdevice))                                                       \
    F(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, CUdevice))                                                     \
    F(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, int, CUdevice))                                              \
    F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                     \
    F(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice))                                             \
    F(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext))                                                              \
    F(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *))                                                              \
    F(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                              \
    F(cuMemFree, cuMemFree_v2, (CUdeviceptr))                                                                          \
    F(cuPointerGetAttributes, cuPointerGetAttributes, (unsigned, int *, void **, CUdeviceptr))                         \
    F(cuModuleLoadData, cuModuleLoadData, (CUmodule *, const void *))                                                  \
    F(cuModuleUnload, cuModuleUnload, (CUmodule))                                                                      \
    F(cuModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                \
    F(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, int, int))                                                  \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,                        \
      (int *, CUfunction, int, size_t))                                                                                \
    F(cuLaunchKernel, cuLaunchKernel,                                                                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))  \
    F(cuStreamCreate, cuStreamCreate, (CUstream *, unsigned))                                                          \
    F(cuStreamDestroy, cuStreamDestroy_v2, (CUstream))                                                                 \
    F(cuStreamSynchronize, cuStreamSynchronize, (CUstream))                                                            \
    F(cuGetErrorString, cuGetErrorString, (CUresult, const char **))
#define DECLARE(name, symbol, parameters) static int(*name) parameters;
DRIVER_CALLS(DECLARE)
#undef DECLARE

enum { DEVICES_MOST = 16, KERNELS_MOST = 8 };
static struct {
    int capability, processors, shared;
    char name[16], text[240];
} devices[DEVICES_MOST];
static int device_count;

struct tl_program {
    CUmodule module;
    int count;
    struct {
        char name[16];
        CUfunction function;
        int room;     /* bytes of local memory it is set to */
        int resident; /* groups of it that run at the same time, if it was asked; without local memory */
    } kernels[KERNELS_MOST];
};

/* The driver's own version, as in 580.159.04; "" where the kernel module does not say. */
static void driver_version(char *to, size_t room)
{
    char line[200] = "";
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    if (f && !fgets(line, sizeof line, f)) line[0] = 0;
    if (f) fclose(f);
    to[0] = 0;
    for (char *rest, *at = strtok_r(line, " \t\n", &rest); at && !to[0]; at = strtok_r(NULL, " \t\n", &rest))
        if (*at >= '0' && *at <= '9' && strchr(at, '.')) snprintf(to, room, " %s", at);
}

static void find_devices(void)
{
    static int done;
#pragma omp critical(tally_cuda)
    if (!done) {
        done = 1;
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        int whole = library != NULL, count = 0, version = 0;
#define FIND(name, symbol, parameters) whole = whole && (*(void **)&name = dlsym(library, #symbol)) != NULL;
        DRIVER_CALLS(FIND)
#undef FIND
        whole = whole && tl_cuda_find_lanes(library);
        char driver[40];
        driver_version(driver, sizeof driver);
        if (whole && !cuInit(0) && !cuDeviceGetCount(&count)) cuDriverGetVersion(&version);
        for (int i = 0; i < count && i < DEVICES_MOST; i++) {
            CUdevice d;
            char name[80] = "";
            size_t bytes = 0;
            int major = 0, minor = 0;
            if (cuDeviceGet(&d, i)) break;
            cuDeviceGetName(name, sizeof name, d);
            cuDeviceTotalMem(&bytes, d);
            cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d);
            cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d);
            cuDeviceGetAttribute(&devices[i].processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d);
            cuDeviceGetAttribute(&devices[i].shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, d);
            devices[i].capability = 10 * major + minor;
            snprintf(devices[i].name, sizeof devices[i].name, "cuda:%d", i);
            snprintf(devices[i].text, sizeof devices[i].text,
                     "%s, %.1f GB, compute capability %d.%d, driver%s for CUDA %d.%d", name, (double)bytes * 1e-9,
                     major, minor, driver, version / 1000, version % 1000 / 10);
            device_count = i + 1;
        }
    }
}

static int describe(int index, tally_device_info *info)
{
    find_devices();
    if (index < 0 || index >= device_count) return 0;
    *info = (tally_device_info){devices[index].name, devices[index].text, 1, "", 0, ""};
    if (devices[index].capability < 70) {
        info->usable = 0;
        info->reason = "its compute capability is below 7.0";
    }
    return 1;
}

tally_status tl_cuda_failed(tally *ctx, CUresult error, const char *call)
{
    const char *text = NULL;
    if (cuGetErrorString(error, &text) || !text) text = "unknown error";
    return tl_fail(ctx, error == CUDA_ERROR_OUT_OF_MEMORY ? TALLY_NO_MEMORY : TALLY_NO_DEVICE, "CUDA: %s: %s (%d)",
                   call, text, error);
}

static void cu_close(tl_gpu *gpu)
{
    cuda *g = (cuda *)gpu;
    if (g->own) {
        cuCtxPushCurrent(g->context);
        tl_cuda_close_events(g);
        for (int lane = TL_IN; lane < TL_LANES; lane++)
            if (g->stream[lane]) cuStreamDestroy(g->stream[lane]);
        cuStreamDestroy(g->own);
        cuCtxPopCurrent(NULL);
    }
    if (g->context) cuDevicePrimaryCtxRelease(g->device);
    free(g);
}

static const tl_gpu_calls calls;

static tally_status cu_open(tally *ctx, int index, tl_gpu **gpu)
{
    tally_device_info info;
    if (!describe(index, &info))
        return tl_fail(ctx, TALLY_NO_DEVICE, "cuda:%d: there are %d CUDA devices here", index, device_count);
    if (!info.usable) return tl_fail(ctx, TALLY_NO_DEVICE, "%s (%s): %s", info.name, info.text, info.reason);
    cuda *g = calloc(1, sizeof *g);
    if (!g) return tl_no_memory(ctx, sizeof *g, "a device");
    *g = (cuda){.base = {&calls},
                .capability = devices[index].capability,
                .processors = devices[index].processors,
                .shared = devices[index].shared,
                .number = index};
    CUresult error = cuDeviceGet(&g->device, index);
    if (!error) error = cuDevicePrimaryCtxRetain(&g->context, g->device);
    if (!error) error = cuCtxPushCurrent(g->context);
    if (!error) {
        error = cuStreamCreate(&g->own, 0); /* waits for, and is waited for by, the caller's default stream */
        for (int lane = TL_IN; !error && lane < TL_LANES; lane++)
            error = cuStreamCreate(&g->stream[lane], CU_STREAM_NON_BLOCKING);
        cuCtxPopCurrent(NULL);
        g->stream[TL_RUN] = g->own;
    }
    if (error) {
        cu_close(&g->base);
        return tl_cuda_failed(ctx, error, "opening the device");
    }
    *gpu = &g->base;
    return TALLY_OK;
}

static void cu_enter(tl_gpu *gpu) { cuCtxPushCurrent(((cuda *)gpu)->context); }
static void cu_leave(tl_gpu *gpu)
{
    (void)gpu;
    cuCtxPopCurrent(NULL);
}
static int cu_processors(const tl_gpu *gpu) { return ((const cuda *)gpu)->processors; }
static int64_t cu_local_bytes(const tl_gpu *gpu) { return ((const cuda *)gpu)->shared - SHARED_ANYWAY; }

static tally_status cu_allocate(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
{
    CUdeviceptr p;
    (void)gpu;
    CUresult error = cuMemAlloc(&p, bytes);
    if (error) return tl_cuda_failed(ctx, error, "cuMemAlloc");
    *memory = (tl_memory){p, NULL, bytes};
    return TALLY_OK;
}

static void cu_release(tl_gpu *gpu, tl_memory *memory)
{
    (void)gpu;
    cuMemFree(memory->address);
    *memory = (tl_memory){0};
}

static tally_status cu_write(tl_gpu *gpu, tally *ctx, const tl_memory *to, size_t offset, const void *from,
                             size_t bytes)
{
    return tl_cuda_copy_in(gpu, ctx, TL_RUN, to, offset, from, bytes);
}

static tally_status cu_read(tl_gpu *gpu, tally *ctx, void *to, const tl_memory *from, size_t offset, size_t bytes)
{
    tally_status status = tl_cuda_copy_out(gpu, ctx, TL_RUN, to, from, offset, bytes);
    if (status) return status;
    CUresult error = cuStreamSynchronize(((cuda *)gpu)->stream[TL_RUN]);
    return error ? tl_cuda_failed(ctx, error, "copying from the device") : TALLY_OK;
}

static int cu_owns(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset)
{
    int what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL}, kind = 0, where = -1;
    void *values[] = {&kind, &where};
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)p;
    if (cuPointerGetAttributes(2, what, values, at) || kind != CU_MEMORYTYPE_DEVICE || where != ((cuda *)gpu)->number)
        return 0;
    *memory = (tl_memory){at, NULL, 0};
    *offset = 0;
    return 1;
}

static void cu_unload(tl_gpu *gpu, tl_program *program)
{
    (void)gpu;
    cuModuleUnload(program->module);
    free(program);
}

/* Loads what was compiled from this text: embedded in the library (no user's is), else of the disk cache, else now, by
 * NVRTC. Code that the driver does not take (it is older, or the device is) is as good as none. Neither of the first two
 * opens NVRTC. */
static tally_status load(const cuda *g, tally *ctx, const char *text, size_t length, int users, CUmodule *module)
{
    size_t bytes = 0;
    const void *embedded = users ? NULL : tl_archive_find(tl_embedded, tl_archive_key(text, length), &bytes);
    if (embedded && !cuModuleLoadData(module, embedded)) return TALLY_OK;
    char arch[16], tag[160];
    const char *wish = users ? tl_nvrtc_quick : NULL;
    snprintf(arch, sizeof arch, "sm_%d", g->capability);
    size_t tag_length =
        (size_t)snprintf(tag, sizeof tag, "cuda %s %s%s", arch, tl_nvrtc_options, wish ? wish : "");
    char *key = malloc(tag_length + length);
    if (!key) return tl_no_memory(ctx, tag_length + length, "a program");
    memcpy(key, tag, tag_length);
    memcpy(key + tag_length, text, length);
    void *code = tl_cache_load(key, tag_length + length, &bytes);
    tally_status status = TALLY_OK;
    if (!code || cuModuleLoadData(module, code)) {
        free(code);
        status = tl_nvrtc_compile(ctx, text, arch, wish, NULL, &code, &bytes, NULL);
        CUresult error = status ? 0 : cuModuleLoadData(module, code);
        if (error) status = tl_cuda_failed(ctx, error, "cuModuleLoadData");
        if (!status) tl_cache_store(key, tag_length + length, code, bytes);
    }
    free(code);
    free(key);
    return status;
}

static tally_status cu_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, int users, tl_program **program)
{
    tl_program *p = calloc(1, sizeof *p);
    if (!p) return tl_no_memory(ctx, sizeof *p, "a program");
    tally_status status = load((const cuda *)gpu, ctx, text, length, users, &p->module);
    if (status)
        free(p);
    else
        *program = p;
    return status;
}

static tally_status cu_launch(tl_gpu *gpu, tally *ctx, tl_program *program, const char *name, int64_t groups,
                              int threads, const tl_argument *arguments, int count)
{
    cuda *g = (cuda *)gpu;
    CUresult error = 0;
    void *values[64];
    int at = 0, room = 0;
    while (at < program->count && strcmp(program->kernels[at].name, name)) at++;
    if (at == program->count) {
        error = cuModuleGetFunction(&program->kernels[at].function, program->module, name);
        if (error) return tl_cuda_failed(ctx, error, name);
        snprintf(program->kernels[at].name, sizeof program->kernels[0].name, "%s", name);
        program->kernels[at].room = SHARED_UNASKED;
        program->count++;
    }
    CUfunction f = program->kernels[at].function;
    if (count && arguments[count - 1].kind == TL_ARG_ROOM) room = (int)arguments[--count].i64;
    if (room > program->kernels[at].room) {
        error = cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, room);
        if (error) return tl_cuda_failed(ctx, error, name);
        program->kernels[at].room = room;
    }
    for (int i = 0; i < count; i++)
        values[i] = arguments[i].kind == TL_ARG_MEMORY
                        ? (void *)(uintptr_t)&arguments[i].memory.address
                        : (void *)(uintptr_t)&arguments[i].i64; /* f64 shares its place */
    if (groups < 0) {
        int each = 1;
        if (!program->kernels[at].resident) {
            error = cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, f, threads, (size_t)room);
            if (error) return tl_cuda_failed(ctx, error, name);
            program->kernels[at].resident = (each ? each : 1) * g->processors;
        }
        int64_t jobs = -groups, rounds = (jobs - 1) / program->kernels[at].resident + 1;
        groups = (jobs + rounds - 1) / rounds;
    }
    error = cuLaunchKernel(f, (unsigned)groups, 1, 1, (unsigned)threads, 1, 1, (unsigned)room, g->stream[TL_RUN], values,
                           NULL);
    return error ? tl_cuda_failed(ctx, error, name) : TALLY_OK;
}

static tally_status cu_wait(tl_gpu *gpu, tally *ctx)
{
    CUresult error = cuStreamSynchronize(((cuda *)gpu)->stream[TL_RUN]);
    return error ? tl_cuda_failed(ctx, error, "the kernels") : TALLY_OK;
}

static tally_status cu_use_stream(tl_gpu *gpu, tally *ctx, void *stream)
{
    cuda *g = (cuda *)gpu;
    (void)ctx;
    g->stream[TL_RUN] = stream ? stream : g->own;
    return TALLY_OK;
}

static const tl_gpu_calls calls = {
    .name = "cuda",
    .prelude = "device/prelude_cuda.h",
    .warps_in_group = 8,
    .once = 1,
    .by_kernel = 1,
    .describe = describe,
    .open = cu_open,
    .close = cu_close,
    .enter = cu_enter,
    .leave = cu_leave,
    .processors = cu_processors,
    .local_bytes = cu_local_bytes,
    .allocate = cu_allocate,
    .release = cu_release,
    .write = cu_write,
    .read = cu_read,
    .owns = cu_owns,
    .build = cu_build,
    .unload = cu_unload,
    .launch = cu_launch,
    .wait = cu_wait,
    .use_stream = cu_use_stream,
    .room = tl_cuda_room,
    .lock = tl_cuda_lock,
    .unlock = tl_cuda_unlock,
    .locked = tl_cuda_locked,
    .copy_in = tl_cuda_copy_in,
    .copy_out = tl_cuda_copy_out,
    .mark = tl_cuda_mark,
    .follow = tl_cuda_follow,
    .reached = tl_cuda_reached,
    .elapsed = tl_cuda_elapsed,
    .quiet = tl_cuda_quiet,
};

static tally_status device_open(tally *ctx, int number, const char *options, tl_device **device)
{
    return tl_gpu_open(ctx, &calls, &tl_device_cuda, number, options, device);
}

const tl_device_calls tl_device_cuda = {
    .name = "cuda",
    .describe = describe,
    .open = device_open,
    TL_GPU_DEVICE_CALLS,
};
