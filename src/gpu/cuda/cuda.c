/* SPDX-License-Identifier: MIT
 * The calls of a CUDA device, through the driver (libcuda), which is opened at run time. API calls
 * only; the shapes are in gpu/.
 *
 *   cuda.c      the device and its memory; calls the others
 *   program.c   loads code and launches kernels; better.c compiles better code in the background,
 *               code.c compiles and caches code
 *   lanes.c     copies, page-locked memory, events; the caller's streams, graphs
 *   devices.c   the driver, its devices and errors; calls none of the others
 *
 * The device uses the primary context, so it can use memory of the CUDA runtime in the same
 * process. */
#include "code.h"
#include "cuda.h"
#include "context/threads.h"
#include <stdlib.h>

enum {
    STATIC_SHARED_MOST = 2 << 10, /* more than the static local memory of any kernel */
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_STREAM_NON_BLOCKING = 1,
};

#define DRIVER_CALLS(F) \
    F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) \
    F(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice)) \
    F(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext)) \
    F(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *)) \
    F(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext *)) \
    F(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t)) \
    F(cuMemFree, cuMemFree_v2, (CUdeviceptr)) \
    F(cuPointerGetAttributes, cuPointerGetAttributes, (unsigned, int *, void **, CUdeviceptr)) \
    F(cuStreamCreate, cuStreamCreate, (CUstream *, unsigned)) \
    F(cuStreamDestroy, cuStreamDestroy_v2, (CUstream)) \
    F(cuStreamSynchronize, cuStreamSynchronize, (CUstream))
TL_CUDA_CALLS(DRIVER_CALLS, find_calls)

/* Looks up all functions of the driver once per process. Returns 0 if one is missing. */
static int find_all(void)
{
    static int whole = -1;
    tl_lock_take(TL_LOCK_CUDA_CALLS);
    if (whole < 0) {
        void *const library = tl_cuda_library();
        whole = library && find_calls(library) && tl_cuda_find_programs(library) &&
                tl_cuda_find_lanes(library);
    }
    tl_lock_release(TL_LOCK_CUDA_CALLS);
    return whole;
}

static const tl_cuda_found *find_device(int index, int *count)
{
    *count = 0;
    return find_all() ? tl_cuda_find(index, count) : NULL;
}

static int cu_describe(int index, tally_device_info *info)
{
    int count;
    const tl_cuda_found *d = find_device(index, &count);
    if (!d) return 0;

    *info = (tally_device_info){d->name, d->text, 1, "", 0, ""};
    if (d->capability < 70) {
        info->usable = 0;
        info->reason = "its compute capability is below 7.0";
    }
    return 1;
}

static void cu_close(tl_gpu *gpu)
{
    cuda *g = (cuda *)gpu;
    tl_beside_end(&g->beside);
    if (g->own) {
        const int entered = !cuCtxPushCurrent(g->context);
        tl_cuda_relax(g);
        tl_cuda_close_events(g);
        for (int lane = TL_IN; lane < TL_LANES; lane++)
            if (g->stream[lane]) cuStreamDestroy(g->stream[lane]);
        cuStreamDestroy(g->own);
        tl_cuda_restrict(g);
        if (entered) cuCtxPopCurrent(NULL); /* otherwise it would pop the caller's context */
    }
    if (g->context) cuDevicePrimaryCtxRelease(g->device);
    free(g);
}

static const tl_gpu_calls calls;

static tally_status cu_open(tally *ctx, int index, tl_gpu **gpu)
{
    tally_device_info info;
    int count;

    const tl_cuda_found *found = find_device(index, &count);
    if (!found)
        return tl_fail(ctx, TALLY_NO_DEVICE, "cuda:%d: there are %d CUDA devices here", index,
                       count);
    cu_describe(index, &info);
    if (!info.usable)
        return tl_fail(ctx, TALLY_NO_DEVICE, "%s (%s): %s", info.name, info.text, info.reason);
    cuda *g = calloc(1, sizeof *g);
    if (!g) return tl_no_memory(ctx, sizeof *g, "a device");

    *g = (cuda){.base = {.calls = &calls,
                         .processors = found->processors,
                         .warps_in_group = 8,
                         .local_bytes = found->shared - STATIC_SHARED_MOST},
                .device = found->device,
                .capability = found->capability,
                .number = index};
    CUresult error = cuDevicePrimaryCtxRetain(&g->context, g->device);
    if (!error) error = cuCtxPushCurrent(g->context);
    if (!error) {
        tl_cuda_relax(g);
        /* synchronizes with the caller's default stream */
        error = cuStreamCreate(&g->own, 0);
        for (int lane = TL_IN; !error && lane < TL_LANES; lane++)
            error = cuStreamCreate(&g->stream[lane], CU_STREAM_NON_BLOCKING);
        tl_cuda_restrict(g);
        cuCtxPopCurrent(NULL);
        g->stream[TL_RUN] = g->own;
    }

    if (error) {
        cu_close(&g->base);
        return tl_cuda_status(ctx, error, "opening the device");
    }

    *gpu = &g->base;
    return TALLY_OK;
}

static tally_status cu_enter(tl_gpu *gpu, tally *ctx)
{
    cuda *g = (cuda *)gpu;
    CUcontext current = NULL;
    g->pushed = cuCtxGetCurrent(&current) || current != g->context;
    const CUresult error = g->pushed ? cuCtxPushCurrent(g->context) : 0;
    if (error) return tl_cuda_status(ctx, error, "cuCtxPushCurrent");
    tl_cuda_relax(g);
    return TALLY_OK;
}

static void cu_leave(tl_gpu *gpu)
{
    cuda *g = (cuda *)gpu;
    tl_cuda_restrict(g);
    if (g->pushed) cuCtxPopCurrent(NULL);
}

static tally_status cu_allocate(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
{
    CUdeviceptr p;
    (void)gpu;
    CUresult error = cuMemAlloc(&p, bytes);
    if (error) return tl_cuda_status(ctx, error, "cuMemAlloc");
    *memory = tl_memory_at(p, bytes);
    return TALLY_OK;
}

static void cu_release(tl_gpu *gpu, tl_memory *memory)
{
    (void)gpu;
    cuMemFree(memory->address);
    *memory = (tl_memory){0};
}

static tally_status cu_wait(tl_gpu *gpu, tally *ctx)
{
    CUresult error = cuStreamSynchronize(((cuda *)gpu)->stream[TL_RUN]);
    return tl_cuda_status(ctx, error, "the kernels");
}

static int cu_owns(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset)
{
    int what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL}, kind = 0,
        where = -1;
    void *values[] = {&kind, &where};

    CUdeviceptr at = (CUdeviceptr)(uintptr_t)p;
    if (cuPointerGetAttributes(2, what, values, at) || kind != CU_MEMORYTYPE_DEVICE ||
        where != ((cuda *)gpu)->number)
        return 0;
    *memory = tl_memory_at(at, 0);
    *offset = 0;
    return 1;
}

static const tl_gpu_calls calls = {
    .name = "cuda",
    .prelude = "gpu/cuda/prelude_cuda.h",
    .single_launch = 1,
    .sees_locked = 1,
    .by_kernel = 1,
    .describe = cu_describe,
    .open = cu_open,
    .close = cu_close,
    .enter = cu_enter,
    .leave = cu_leave,
    .allocate = cu_allocate,
    .release = cu_release,
    .clear = tl_cuda_clear,
    .owns = cu_owns,
    .build = tl_cuda_build,
    .unload = tl_cuda_unload,
    .refresh = tl_cuda_refresh,
    .improve = tl_cuda_improve,
    .launch = tl_cuda_launch,
    .wait = cu_wait,
    .check_stream = tl_cuda_check_stream,
    .use_stream = tl_cuda_use_stream,
    .run_stream = tl_cuda_run_stream,
    .capture = tl_cuda_capture,
    .keep = tl_cuda_keep,
    .free_memory = tl_cuda_free_memory,
    .lock = tl_cuda_lock,
    .unlock = tl_cuda_unlock,
    .locked = tl_cuda_locked,
    .copy = tl_cuda_copy,
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
    .describe = cu_describe,
    .open = device_open,
    TL_GPU_DEVICE_CALLS,
};
