/* SPDX-License-Identifier: MIT
 * CUDA's copies, page-locked memory, events between streams; the caller's streams, and their
 * capture into graphs. API calls only. */
#include "cuda.h"

enum {
    CU_STREAM_PER_THREAD = 2, /* as a handle; 1: the legacy stream */
    CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1,
    CU_GRAPH_USER_OBJECT_MOVE = 1,
};

#define LANE_CALLS(F) \
    F(cuStreamSynchronize, cuStreamSynchronize, (CUstream)) \
    F(cuPointerGetAttributes, cuPointerGetAttributes, (unsigned, int *, void **, CUdeviceptr)) \
    F(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream)) \
    F(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream)) \
    F(cuMemsetD32Async, cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream)) \
    F(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned)) \
    F(cuEventCreate, cuEventCreate, (CUevent *, unsigned)) \
    F(cuEventDestroy, cuEventDestroy_v2, (CUevent)) \
    F(cuEventRecord, cuEventRecord, (CUevent, CUstream)) \
    F(cuEventSynchronize, cuEventSynchronize, (CUevent)) \
    F(cuEventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent)) \
    F(cuMemGetInfo, cuMemGetInfo_v2, (size_t *, size_t *)) \
    F(cuMemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned)) \
    F(cuMemFreeHost, cuMemFreeHost, (void *)) \
    F(cuStreamGetCtx, cuStreamGetCtx, (CUstream, CUcontext *)) \
    F(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, \
      (CUstream, int *, uint64_t *, CUgraph *, const void **, size_t *)) \
    F(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int *)) \
    F(cuUserObjectCreate, cuUserObjectCreate, \
      (CUuserObject *, void *, void (*)(void *), unsigned, unsigned)) \
    F(cuUserObjectRelease, cuUserObjectRelease, (CUuserObject, unsigned)) \
    F(cuGraphRetainUserObject, cuGraphRetainUserObject, (CUgraph, CUuserObject, unsigned, unsigned))
TL_CUDA_CALLS(LANE_CALLS, find)
int tl_cuda_find_lanes(void *library) { return find(library); }

void tl_cuda_close_events(cuda *g)
{
    for (int i = 0; i < TL_EVENTS_ALL; i++)
        if (g->events[i]) cuEventDestroy(g->events[i]);
}

void tl_cuda_free_memory(tl_gpu *gpu, size_t *all, size_t *largest)
{
    size_t total;
    (void)gpu;
    if (cuMemGetInfo(all, &total)) *all = 0;
    *largest = *all;
}

tally_status tl_cuda_lock(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
{
    void *p;
    (void)gpu;
    CUresult error = cuMemHostAlloc(&p, bytes, 0);
    if (error) return tl_cuda_status(ctx, error, "cuMemHostAlloc");
    *memory = tl_memory_at((uintptr_t)p, bytes);
    return TALLY_OK;
}

void tl_cuda_unlock(tl_gpu *gpu, tl_memory *memory)
{
    (void)gpu;
    cuMemFreeHost((void *)(uintptr_t)memory->address);
    *memory = (tl_memory){0};
}

int tl_cuda_locked(tl_gpu *gpu, const void *p, size_t bytes)
{
    int what = CU_POINTER_ATTRIBUTE_MEMORY_TYPE, kind = 0, last = 0;
    void *value = &kind, *value_last = &last;
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)p;
    (void)gpu;
    return bytes && !cuPointerGetAttributes(1, &what, &value, at) && kind == CU_MEMORYTYPE_HOST &&
           !cuPointerGetAttributes(1, &what, &value_last, at + bytes - 1) &&
           last == CU_MEMORYTYPE_HOST;
}

tally_status tl_cuda_clear(tl_gpu *gpu, tally *ctx, int lane, const tl_memory *to, size_t bytes)
{
    CUresult error = cuMemsetD32Async(to->address, 0, bytes / 4, ((cuda *)gpu)->stream[lane]);
    return tl_cuda_status(ctx, error, "cuMemsetD32Async");
}

/* The driver reads host memory that is not page-locked before a copy to the device returns. */
tally_status tl_cuda_copy(tl_gpu *gpu, tally *ctx, const tl_copy *c)
{
    const CUstream stream = ((cuda *)gpu)->stream[c->lane];
    const CUdeviceptr at = c->memory->address + c->offset;
    CUresult error = c->way == TL_TO_DEVICE ? cuMemcpyHtoDAsync(at, c->host, c->bytes, stream)
                                            : cuMemcpyDtoHAsync(c->host, at, c->bytes, stream);
    if (!error && c->waits && c->way == TL_TO_HOST) error = cuStreamSynchronize(stream);
    return tl_cuda_status(
        ctx, error, c->way == TL_TO_DEVICE ? "copying to the device" : "copying from the device");
}

tally_status tl_cuda_mark(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    cuda *g = (cuda *)gpu;
    CUresult error = 0;
    if (!g->events[event])
        error = cuEventCreate(&g->events[event], event < TL_EVENTS ? CU_EVENT_DISABLE_TIMING : 0);
    if (!error) error = cuEventRecord(g->events[event], g->stream[lane]);
    return tl_cuda_status(ctx, error, "cuEventRecord");
}

tally_status tl_cuda_follow(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    cuda *g = (cuda *)gpu;
    CUresult error = g->events[event] ? cuStreamWaitEvent(g->stream[lane], g->events[event], 0) : 0;
    return tl_cuda_status(ctx, error, "cuStreamWaitEvent");
}

tally_status tl_cuda_reached(tl_gpu *gpu, tally *ctx, int event)
{
    cuda *g = (cuda *)gpu;
    CUresult error = g->events[event] ? cuEventSynchronize(g->events[event]) : 0;
    return tl_cuda_status(ctx, error, "the kernels");
}

double tl_cuda_elapsed(tl_gpu *gpu, int from, int to)
{
    cuda *g = (cuda *)gpu;
    float ms;
    return cuEventElapsedTime(&ms, g->events[from], g->events[to]) ? -1 : 1e-3 * (double)ms;
}

tally_status tl_cuda_quiet(tl_gpu *gpu, tally *ctx)
{
    tally_status status = TALLY_OK;
    for (int lane = 0; lane < TL_LANES; lane++) {
        CUresult error = cuStreamSynchronize(((cuda *)gpu)->stream[lane]);
        if (!status) status = tl_cuda_status(ctx, error, "the kernels");
    }
    return status;
}

/* ---- the caller's streams, and graphs ---- */

void tl_cuda_relax(cuda *g)
{
    g->capture_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cuThreadExchangeStreamCaptureMode(&g->capture_mode);
}

void tl_cuda_restrict(cuda *g) { cuThreadExchangeStreamCaptureMode(&g->capture_mode); }

tally_status tl_cuda_check_stream(tl_gpu *gpu, tally *ctx, void *stream, int *moves, int *shared)
{
    const cuda *g = (const cuda *)gpu;
    CUcontext of = NULL;
    *moves = 0;
    *shared = (uintptr_t)stream == CU_STREAM_PER_THREAD;
    if ((uintptr_t)stream <= CU_STREAM_PER_THREAD) return TALLY_OK;
    CUresult error = cuStreamGetCtx(stream, &of);
    if (error) return tl_cuda_status(ctx, error, "the stream of tally_use_stream");
    return of == g->context
               ? TALLY_OK
               : tl_fail(ctx, TALLY_INVALID,
                         "stream %p: must be a stream of the primary context of cuda:%d", stream,
                         g->number);
}

tally_status tl_cuda_use_stream(tl_gpu *gpu, tally *ctx, void *stream)
{
    cuda *g = (cuda *)gpu;
    (void)ctx;
    g->stream[TL_RUN] = stream ? stream : g->own;
    g->captured = 0;
    return TALLY_OK;
}

void *tl_cuda_run_stream(const tl_gpu *gpu) { return ((const cuda *)gpu)->stream[TL_RUN]; }

tally_status tl_cuda_capture(tl_gpu *gpu, tally *ctx, uint64_t *number)
{
    cuda *g = (cuda *)gpu;
    int state = 0;
    CUresult error = cuStreamGetCaptureInfo(g->stream[TL_RUN], &state, number, NULL, NULL, NULL);
    if (error) return tl_cuda_status(ctx, error, "cuStreamGetCaptureInfo");
    if (state == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        return tl_fail(ctx, TALLY_UNSUPPORTED,
                       "the stream is captured into a graph, and the capture has failed: end it");
    g->captured = state != 0;
    if (!state) *number = 0;
    return TALLY_OK;
}

tally_status tl_cuda_keep(tl_gpu *gpu, tally *ctx, void (*drop)(void *), void *what)
{
    cuda *g = (cuda *)gpu;
    int state;
    CUgraph graph;
    CUuserObject object;
    CUresult error = cuUserObjectCreate(&object, what, drop, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (error) {
        drop(what);
        return tl_cuda_status(ctx, error, "cuUserObjectCreate");
    }

    error = cuStreamGetCaptureInfo(g->stream[TL_RUN], &state, NULL, &graph, NULL, NULL);
    if (!error) error = cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (!error) return TALLY_OK;
    cuUserObjectRelease(object, 1); /* calls drop */
    return tl_cuda_status(ctx, error, "cuGraphRetainUserObject");
}
