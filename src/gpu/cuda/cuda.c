/* SPDX-License-Identifier: MIT
 * The calls of a CUDA device, through the driver (libcuda), which is opened at run time. API calls
 * only; the shapes are in gpu/.
 *
 *   cuda.c      the device, its memory, its streams; calls the others
 *   program.c   loads code and launches kernels
 *   code.c      compiles and caches code; better code is compiled in the background
 *   devices.c   the driver, its devices and errors; calls none of the others
 *
 * The device uses the primary context, so it can use memory of the CUDA runtime in the same
 * process. */
#include "cuda.h"
#include <stdlib.h>

enum {
    STATIC_SHARED_MOST = 2 << 10, /* more than the static local memory of any kernel */
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_STREAM_NON_BLOCKING = 1,
    CU_STREAM_PER_THREAD = 2, /* as a handle; 1: the legacy stream */
    CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1,
    CU_GRAPH_USER_OBJECT_MOVE = 1,
};

/* ---- open and close ---- */

/* relax allows this thread the calls that a capture in another thread, or one of this thread in
 * another stream, would forbid; restrict_capture forbids them again. */
static void relax(cuda *g)
{
    g->capture_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    tl_cu.cuThreadExchangeStreamCaptureMode(&g->capture_mode);
}

static void restrict_capture(cuda *g) { tl_cu.cuThreadExchangeStreamCaptureMode(&g->capture_mode); }

static void close_events(cuda *g)
{
    for (int i = 0; i < TL_EVENTS_ALL; i++)
        if (g->events[i]) tl_cu.cuEventDestroy(g->events[i]);
}

static void cu_close(tl_gpu *gpu)
{
    cuda *g = (cuda *)gpu;
    tl_queue_end(&g->queue);
    if (g->device_stream) {
        const int entered = !tl_cu.cuCtxPushCurrent(g->context);
        relax(g);
        close_events(g);
        for (int lane = TL_IN; lane < TL_LANES; lane++)
            if (g->stream[lane]) tl_cu.cuStreamDestroy(g->stream[lane]);
        tl_cu.cuStreamDestroy(g->device_stream);
        restrict_capture(g);
        if (entered) tl_cu.cuCtxPopCurrent(NULL); /* otherwise it would pop the caller's context */
    }
    if (g->context) tl_cu.cuDevicePrimaryCtxRelease(g->device);
    free(g);
}

static const tl_gpu_calls calls;

static tally_status cu_open(tally *ctx, int index, tl_gpu **gpu)
{
    const tl_cuda_found *found = (const tl_cuda_found *)tl_gpu_usable(ctx, &calls, index);
    if (!found) return TALLY_NO_DEVICE;
    cuda *g = calloc(1, sizeof *g);
    if (!g) return tl_no_memory(ctx, sizeof *g, "a device");

    *g = (cuda){.base = {.calls = &calls,
                         .processors = found->processors,
                         .bandwidth = found->bandwidth,
                         .warps_in_group = 8,
                         .local_bytes = found->shared - STATIC_SHARED_MOST},
                .device = found->device,
                .capability = found->capability,
                .number = index};
    CUresult error = tl_cu.cuDevicePrimaryCtxRetain(&g->context, g->device);
    if (!error) error = tl_cu.cuCtxPushCurrent(g->context);
    if (!error) {
        relax(g);
        /* synchronizes with the caller's default stream */
        error = tl_cu.cuStreamCreate(&g->device_stream, 0);
        for (int lane = TL_IN; !error && lane < TL_LANES; lane++)
            error = tl_cu.cuStreamCreate(&g->stream[lane], CU_STREAM_NON_BLOCKING);
        restrict_capture(g);
        tl_cu.cuCtxPopCurrent(NULL);
        g->stream[TL_RUN] = g->device_stream;
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
    g->pushed = tl_cu.cuCtxGetCurrent(&current) || current != g->context;
    const CUresult error = g->pushed ? tl_cu.cuCtxPushCurrent(g->context) : 0;
    if (error) return tl_cuda_status(ctx, error, "cuCtxPushCurrent");
    relax(g);
    return TALLY_OK;
}

static void cu_leave(tl_gpu *gpu)
{
    cuda *g = (cuda *)gpu;
    restrict_capture(g);
    if (g->pushed) tl_cu.cuCtxPopCurrent(NULL);
}

/* ---- memory ---- */

static tally_status cu_allocate(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
{
    CUdeviceptr p;
    CUresult error = tl_cu.cuMemAlloc(&p, bytes);
    if (error) return tl_cuda_status(ctx, error, "cuMemAlloc");
    *memory = tl_memory_at(p, bytes);
    return TALLY_OK;
}

static void cu_release(tl_gpu *gpu, tl_memory *memory)
{
    tl_cu.cuMemFree(memory->address);
    *memory = (tl_memory){0};
}

static tally_status cu_wait(tl_gpu *gpu, tally *ctx)
{
    CUresult error = tl_cu.cuStreamSynchronize(((cuda *)gpu)->stream[TL_RUN]);
    return tl_cuda_status(ctx, error, "the kernels");
}

static int cu_owns(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset)
{
    int what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL}, kind = 0,
        where = -1;
    void *values[] = {&kind, &where};

    CUdeviceptr at = (CUdeviceptr)(uintptr_t)p;
    if (tl_cu.cuPointerGetAttributes(2, what, values, at) || kind != CU_MEMORYTYPE_DEVICE ||
        where != ((cuda *)gpu)->number)
        return 0;
    *memory = tl_memory_at(at, 0);
    *offset = 0;
    return 1;
}

/* ---- lanes ---- */

static void cu_free_memory(tl_gpu *gpu, size_t *available, size_t *largest)
{
    size_t total;
    if (tl_cu.cuMemGetInfo(available, &total)) *available = 0;
    *largest = *available;
}

static tally_status cu_lock(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
{
    void *p;
    CUresult error = tl_cu.cuMemHostAlloc(&p, bytes, 0);
    if (error) return tl_cuda_status(ctx, error, "cuMemHostAlloc");
    *memory = tl_memory_at((uintptr_t)p, bytes);
    return TALLY_OK;
}

static void cu_unlock(tl_gpu *gpu, tl_memory *memory)
{
    tl_cu.cuMemFreeHost((void *)(uintptr_t)memory->address);
    *memory = (tl_memory){0};
}

static int cu_locked(tl_gpu *gpu, const void *p, size_t bytes)
{
    int what = CU_POINTER_ATTRIBUTE_MEMORY_TYPE, kind = 0, last = 0;
    void *value = &kind, *value_last = &last;
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)p;
    return bytes && !tl_cu.cuPointerGetAttributes(1, &what, &value, at) &&
           kind == CU_MEMORYTYPE_HOST &&
           !tl_cu.cuPointerGetAttributes(1, &what, &value_last, at + bytes - 1) &&
           last == CU_MEMORYTYPE_HOST;
}

static tally_status cu_clear(tl_gpu *gpu, tally *ctx, int lane, const tl_memory *to, size_t bytes)
{
    CUresult error = tl_cu.cuMemsetD32Async(to->address, 0, bytes / 4, ((cuda *)gpu)->stream[lane]);
    return tl_cuda_status(ctx, error, "cuMemsetD32Async");
}

/* The driver reads host memory that is not page-locked before a copy to the device returns. */
static tally_status cu_copy(tl_gpu *gpu, tally *ctx, const tl_copy *c)
{
    const CUstream stream = ((cuda *)gpu)->stream[c->lane];
    const CUdeviceptr at = c->memory->address + c->offset;
    CUresult error = c->way == TL_TO_DEVICE
                         ? tl_cu.cuMemcpyHtoDAsync(at, c->host, c->bytes, stream)
                         : tl_cu.cuMemcpyDtoHAsync(c->host, at, c->bytes, stream);
    if (!error && c->waits && c->way == TL_TO_HOST) error = tl_cu.cuStreamSynchronize(stream);
    return tl_cuda_status(
        ctx, error, c->way == TL_TO_DEVICE ? "copying to the device" : "copying from the device");
}

static tally_status cu_mark(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    cuda *g = (cuda *)gpu;
    CUresult error = 0;
    if (!g->events[event])
        error =
            tl_cu.cuEventCreate(&g->events[event], event < TL_EVENTS ? CU_EVENT_DISABLE_TIMING : 0);
    if (!error) error = tl_cu.cuEventRecord(g->events[event], g->stream[lane]);
    return tl_cuda_status(ctx, error, "cuEventRecord");
}

static tally_status cu_follow(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    cuda *g = (cuda *)gpu;
    CUresult error =
        g->events[event] ? tl_cu.cuStreamWaitEvent(g->stream[lane], g->events[event], 0) : 0;
    return tl_cuda_status(ctx, error, "cuStreamWaitEvent");
}

static tally_status cu_reached(tl_gpu *gpu, tally *ctx, int event)
{
    cuda *g = (cuda *)gpu;
    CUresult error = g->events[event] ? tl_cu.cuEventSynchronize(g->events[event]) : 0;
    return tl_cuda_status(ctx, error, "the kernels");
}

static double cu_elapsed(tl_gpu *gpu, int from, int to)
{
    cuda *g = (cuda *)gpu;
    float ms;
    return tl_cu.cuEventElapsedTime(&ms, g->events[from], g->events[to]) ? -1 : 1e-3 * (double)ms;
}

static tally_status cu_quiet(tl_gpu *gpu, tally *ctx)
{
    tally_status status = TALLY_OK;
    for (int lane = 0; lane < TL_LANES; lane++) {
        CUresult error = tl_cu.cuStreamSynchronize(((cuda *)gpu)->stream[lane]);
        if (!status) status = tl_cuda_status(ctx, error, "the kernels");
    }
    return status;
}

/* ---- the caller's streams, and graphs ---- */

static tally_status cu_check_stream(tl_gpu *gpu, tally *ctx, void *stream, int *moves, int *shared)
{
    const cuda *g = (const cuda *)gpu;
    CUcontext of = NULL;
    *moves = 0;
    *shared = (uintptr_t)stream == CU_STREAM_PER_THREAD;
    if ((uintptr_t)stream <= CU_STREAM_PER_THREAD) return TALLY_OK;
    CUresult error = tl_cu.cuStreamGetCtx(stream, &of);
    if (error) return tl_cuda_status(ctx, error, "the stream of tally_use_stream");
    return of == g->context
               ? TALLY_OK
               : tl_invalid(ctx, "stream %p: must be a stream of the primary context of cuda:%d",
                            stream, g->number);
}

static tally_status cu_use_stream(tl_gpu *gpu, tally *ctx, void *stream)
{
    cuda *g = (cuda *)gpu;
    g->stream[TL_RUN] = stream ? stream : g->device_stream;
    g->captured = 0;
    return TALLY_OK;
}

static void *cu_run_stream(const tl_gpu *gpu) { return ((const cuda *)gpu)->stream[TL_RUN]; }

static tally_status cu_capture(tl_gpu *gpu, tally *ctx, uint64_t *number)
{
    cuda *g = (cuda *)gpu;
    int state = 0;
    CUresult error =
        tl_cu.cuStreamGetCaptureInfo(g->stream[TL_RUN], &state, number, NULL, NULL, NULL);
    if (error) return tl_cuda_status(ctx, error, "cuStreamGetCaptureInfo");
    if (state == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        return tl_unsupported(
            ctx, "the stream is captured into a graph, and the capture has failed: end it");
    g->captured = state != 0;
    if (!state) *number = 0;

    return TALLY_OK;
}

static tally_status cu_keep(tl_gpu *gpu, tally *ctx, void (*drop)(void *), void *what)
{
    cuda *g = (cuda *)gpu;
    int state;
    CUgraph graph;
    CUuserObject object;
    CUresult error =
        tl_cu.cuUserObjectCreate(&object, what, drop, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (error) {
        drop(what);
        return tl_cuda_status(ctx, error, "cuUserObjectCreate");
    }

    error = tl_cu.cuStreamGetCaptureInfo(g->stream[TL_RUN], &state, NULL, &graph, NULL, NULL);
    if (!error) error = tl_cu.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (!error) return TALLY_OK;
    tl_cu.cuUserObjectRelease(object, 1); /* calls drop */
    return tl_cuda_status(ctx, error, "cuGraphRetainUserObject");
}

static const tl_gpu_calls calls = {
    .name = "cuda",
    .title = "CUDA",
    .find = tl_cuda_find,
    .prelude = "gpu/cuda/prelude_cuda.h",
    .single_launch = 1,
    .sees_locked = 1,
    .by_kernel = 1,
    .open = cu_open,
    .close = cu_close,
    .enter = cu_enter,
    .leave = cu_leave,
    .allocate = cu_allocate,
    .release = cu_release,
    .clear = cu_clear,
    .owns = cu_owns,
    .build = tl_cuda_build,
    .unload = tl_cuda_unload,
    .refresh = tl_cuda_refresh,
    .improve = tl_cuda_improve,
    .launch = tl_cuda_launch,
    .wait = cu_wait,
    .check_stream = cu_check_stream,
    .use_stream = cu_use_stream,
    .run_stream = cu_run_stream,
    .capture = cu_capture,
    .keep = cu_keep,
    .free_memory = cu_free_memory,
    .lock = cu_lock,
    .unlock = cu_unlock,
    .locked = cu_locked,
    .copy = cu_copy,
    .mark = cu_mark,
    .follow = cu_follow,
    .reached = cu_reached,
    .elapsed = cu_elapsed,
    .quiet = cu_quiet,
};

static int describe(int index, tally_device_info *info)
{
    return tl_gpu_describe(&calls, index, info);
}

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
