/* SPDX-License-Identifier: MIT
 * The calls of an OpenCL device: its contexts, queues and memory. devices.c finds the devices;
 * program.c has the programs. API calls only; the shapes are in gpu/. */
#include "opencl.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STATIC_LOCAL_MOST = 2048 }; /* at least the static local memory of any kernel */

/* ---- memory: buffers and the addresses that stand for them ---- */

static void drop_range(opencl *g, int i)
{
    munmap(g->ranges[i].begin, g->ranges[i].bytes);
    g->ranges[i] = g->ranges[--g->range_count];
}

static void release_ranges(opencl *g)
{
    while (g->range_count) {
        tl_cl.clReleaseMemObject(g->ranges[g->range_count - 1].object);
        drop_range(g, g->range_count - 1);
    }
    free(g->ranges);
}

/* Reserves an address range for object. */
static tally_status add_range(opencl *g, tally *ctx, cl_mem object, size_t bytes, int adopted,
                              char **begin)
{
    if (g->range_count == g->range_capacity) {
        int capacity = 2 * g->range_capacity + 16;
        range *more = realloc(g->ranges, (size_t)capacity * sizeof *more);
        if (!more)
            return tl_no_memory(ctx, (size_t)capacity * sizeof *more, "the list of device memory");
        g->ranges = more;
        g->range_capacity = capacity;
    }
    *begin = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*begin == MAP_FAILED) return tl_no_memory(ctx, bytes, "addresses of device memory");
    g->ranges[g->range_count++] = (range){*begin, bytes, object, adopted};

    return TALLY_OK;
}

static tally_status cl_allocate(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
{
    opencl *g = (opencl *)gpu;
    cl_int error;
    char *begin;
    cl_mem m = tl_cl.clCreateBuffer(g->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (!m) return tl_opencl_check(ctx, error, "clCreateBuffer");

    tally_status status = add_range(g, ctx, m, bytes, 0, &begin);
    if (status)
        tl_cl.clReleaseMemObject(m);
    else
        *memory = (tl_memory){(uintptr_t)begin, (tl_handle)m, bytes};

    return status;
}

static void cl_release(tl_gpu *gpu, tl_memory *memory)
{
    opencl *g = (opencl *)gpu;
    for (int i = 0; i < g->range_count; i++)
        if ((uintptr_t)g->ranges[i].begin == memory->address) drop_range(g, i);
    tl_cl.clReleaseMemObject((cl_mem)memory->handle);
    *memory = (tl_memory){0};
}

static tally_status cl_copy(tl_gpu *gpu, tally *ctx, const tl_copy *c)
{
    const cl_command_queue queue = ((opencl *)gpu)->queue[c->lane];
    const cl_mem m = (cl_mem)c->memory->handle;
    const cl_uint waits = (cl_uint)c->waits;
    const cl_int error = c->way == TL_TO_DEVICE
                             ? tl_cl.clEnqueueWriteBuffer(queue, m, waits, c->offset, c->bytes,
                                                          c->host, 0, NULL, NULL)
                             : tl_cl.clEnqueueReadBuffer(queue, m, waits, c->offset, c->bytes,
                                                         c->host, 0, NULL, NULL);
    return tl_opencl_check(ctx, error,
                           c->way == TL_TO_DEVICE ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer");
}

static tally_status cl_clear(tl_gpu *gpu, tally *ctx, int lane, const tl_memory *to, size_t bytes)
{
    const uint32_t zero = 0;
    cl_int error = tl_cl.clEnqueueFillBuffer(((opencl *)gpu)->queue[lane], (cl_mem)to->handle,
                                             &zero, sizeof zero, 0, bytes, 0, NULL, NULL);
    return tl_opencl_check(ctx, error, "clEnqueueFillBuffer");
}

static int cl_owns(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset)
{
    const opencl *g = (const opencl *)gpu;
    for (int i = 0; i < g->range_count; i++) {
        uintptr_t at = (uintptr_t)p - (uintptr_t)g->ranges[i].begin;
        if (at >= g->ranges[i].bytes) continue;
        *memory = (tl_memory){0, (tl_handle)g->ranges[i].object, 0};
        *offset = at;
        return 1;
    }
    return 0;
}

static tally_status cl_adopt(tl_gpu *gpu, tally *ctx, void *object, void **pointer)
{
    opencl *g = (opencl *)gpu;
    size_t bytes = 0;
    cl_context context = NULL;
    char *begin;

    cl_int error = tl_cl.clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (!error)
        error = tl_cl.clGetMemObjectInfo(object, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    if (error) return tl_invalid(ctx, "object is no cl_mem (clGetMemObjectInfo: error %d)", error);

    if (context != g->context)
        return tl_invalid(
            ctx,
            "object is of another cl_context: give tally_use_stream a queue of its context first");

    error = tl_cl.clRetainMemObject(object);
    if (error) return tl_opencl_check(ctx, error, "clRetainMemObject");

    tally_status status = add_range(g, ctx, object, bytes, 1, &begin);
    if (status)
        tl_cl.clReleaseMemObject(object);
    else
        *pointer = begin;

    return status;
}

static tally_status cl_forget(tl_gpu *gpu, tally *ctx, void *pointer)
{
    opencl *g = (opencl *)gpu;
    for (int i = 0; i < g->range_count; i++)
        if (g->ranges[i].begin == pointer && g->ranges[i].adopted) {
            tl_cl.clReleaseMemObject(g->ranges[i].object);
            drop_range(g, i);
            return TALLY_OK;
        }
    return tl_invalid(ctx, "pointer is %p: must be one that tally_device_pointer gave", pointer);
}

/* ---- for pieces ---- */

static void cl_free_memory(tl_gpu *gpu, size_t *available, size_t *largest)
{
    *available = tl_opencl_number(((opencl *)gpu)->id, CL_DEVICE_GLOBAL_MEM_SIZE);
    *largest = tl_opencl_number(((opencl *)gpu)->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
}

static tally_status cl_lock(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
{
    opencl *g = (opencl *)gpu;
    cl_int error;
    cl_mem m = tl_cl.clCreateBuffer(g->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                    NULL, &error);
    if (!m) return tl_opencl_check(ctx, error, "clCreateBuffer");

    void *p = tl_cl.clEnqueueMapBuffer(g->queue[TL_RUN], m, 1, CL_MAP_READ_WRITE, 0, bytes, 0, NULL,
                                       NULL, &error);

    if (!p) {
        tl_cl.clReleaseMemObject(m);
        return tl_opencl_check(ctx, error, "clEnqueueMapBuffer");
    }

    *memory = (tl_memory){(uintptr_t)p, (tl_handle)m, bytes};
    return TALLY_OK;
}

static void cl_unlock(tl_gpu *gpu, tl_memory *memory)
{
    tl_cl.clEnqueueUnmapMemObject(((opencl *)gpu)->queue[TL_RUN], (cl_mem)memory->handle,
                                  (void *)(uintptr_t)memory->address, 0, NULL, NULL);
    tl_cl.clFinish(((opencl *)gpu)->queue[TL_RUN]);
    tl_cl.clReleaseMemObject((cl_mem)memory->handle);
    *memory = (tl_memory){0};
}

static tally_status cl_mark(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    opencl *g = (opencl *)gpu;
    if (g->events[event]) tl_cl.clReleaseEvent(g->events[event]);
    g->events[event] = NULL;
    cl_int error = tl_cl.clEnqueueMarkerWithWaitList(g->queue[lane], 0, NULL, &g->events[event]);
    /* so that the work is submitted before another lane waits for it */
    if (!error) error = tl_cl.clFlush(g->queue[lane]);
    return tl_opencl_check(ctx, error, "clEnqueueMarkerWithWaitList");
}

static tally_status cl_follow(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    opencl *g = (opencl *)gpu;
    cl_int error = g->events[event] ? tl_cl.clEnqueueBarrierWithWaitList(g->queue[lane], 1,
                                                                         &g->events[event], NULL)
                                    : CL_SUCCESS;
    return tl_opencl_check(ctx, error, "clEnqueueBarrierWithWaitList");
}

static tally_status cl_reached(tl_gpu *gpu, tally *ctx, int event)
{
    opencl *g = (opencl *)gpu;
    cl_int error = g->events[event] ? tl_cl.clWaitForEvents(1, &g->events[event]) : CL_SUCCESS;
    return tl_opencl_check(ctx, error, "clWaitForEvents");
}

static double cl_elapsed(tl_gpu *gpu, int from, int to)
{
    opencl *g = (opencl *)gpu;
    uint64_t a, b;
    if (tl_cl.clGetEventProfilingInfo(g->events[from], CL_PROFILING_COMMAND_END, sizeof a, &a,
                                      NULL) ||
        tl_cl.clGetEventProfilingInfo(g->events[to], CL_PROFILING_COMMAND_END, sizeof b, &b, NULL))
        return -1;
    return b > a ? 1e-9 * (double)(b - a) : 0;
}

static tally_status cl_quiet(tl_gpu *gpu, tally *ctx)
{
    tally_status status = TALLY_OK;
    for (int lane = 0; lane < TL_LANES; lane++) {
        cl_int error = tl_cl.clFinish(((opencl *)gpu)->queue[lane]);
        if (error && !status) status = tl_opencl_check(ctx, error, "clFinish");
    }
    return status;
}

/* ---- open ---- */

static void close_queues(opencl *g)
{
    for (int i = 0; i < TL_EVENTS_ALL; i++)
        if (g->events[i]) tl_cl.clReleaseEvent(g->events[i]);
    memset(g->events, 0, sizeof g->events);
    for (int lane = 0; lane < TL_LANES; lane++)
        if (g->queue[lane]) tl_cl.clReleaseCommandQueue(g->queue[lane]);
    memset(g->queue, 0, sizeof g->queue);
}

/* Opens the lanes of g->context. TL_RUN is the caller's queue, or our own. */
static cl_int open_queues(opencl *g, cl_command_queue run)
{
    cl_int error = CL_SUCCESS;
    if (run && !(error = tl_cl.clRetainCommandQueue(run))) g->queue[TL_RUN] = run;
    for (int lane = 0; lane < TL_LANES && !error; lane++)
        if (!g->queue[lane])
            g->queue[lane] =
                tl_cl.clCreateCommandQueue(g->context, g->id, CL_QUEUE_PROFILING, &error);
    return error;
}

static void cl_close(tl_gpu *gpu)
{
    opencl *g = (opencl *)gpu;
    close_queues(g);
    release_ranges(g);
    if (g->context) tl_cl.clReleaseContext(g->context);
    if (g->device_context) tl_cl.clReleaseContext(g->device_context);
    free(g);
}

static const tl_gpu_calls calls;

static tally_status cl_open(tally *ctx, int index, tl_gpu **gpu)
{
    cl_int error;
    const tl_opencl_found *found = (const tl_opencl_found *)tl_gpu_usable(ctx, &calls, index);
    if (!found) return TALLY_NO_DEVICE;
    opencl *g = calloc(1, sizeof *g);
    if (!g) return tl_no_memory(ctx, sizeof *g, "a device");

    const cl_device_id id = found->id;
    *g =
        (opencl){.base = {.calls = &calls,
                          .processors = (int)tl_opencl_number(id, CL_DEVICE_MAX_COMPUTE_UNITS),
                          .warps_in_group = 1,
                          .has_box = 1,
                          .shares_memory = tl_opencl_number(id, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
                          .local_bytes = (int64_t)tl_opencl_number(id, CL_DEVICE_LOCAL_MEM_SIZE) -
                                         STATIC_LOCAL_MOST},
                 .id = id};
    g->device_context = tl_cl.clCreateContext(NULL, 1, &g->id, NULL, NULL, &error);
    if (g->device_context && !(error = tl_cl.clRetainContext(g->device_context))) {
        g->context = g->device_context;
        error = open_queues(g, NULL);
    }

    if (error) {
        cl_close(&g->base);
        return tl_opencl_check(ctx, error, "opening the device");
    }

    *gpu = &g->base;
    return TALLY_OK;
}

static tally_status nothing_to_enter(tl_gpu *gpu, tally *ctx) { return TALLY_OK; }

static void nothing_to_do(tl_gpu *gpu) {}

static tally_status cl_wait(tl_gpu *gpu, tally *ctx)
{
    return tl_opencl_check(ctx, tl_cl.clFinish(((opencl *)gpu)->queue[TL_RUN]), "clFinish");
}

/* The cl_context of a queue; NULL: of ours. */
static cl_int context_of(const opencl *g, void *stream, cl_context *context)
{
    *context = g->device_context;
    return stream ? tl_cl.clGetCommandQueueInfo(stream, CL_QUEUE_CONTEXT, sizeof *context, context,
                                                NULL)
                  : CL_SUCCESS;
}

static tally_status cl_check_stream(tl_gpu *gpu, tally *ctx, void *stream, int *moves, int *shared)
{
    const opencl *g = (const opencl *)gpu;
    cl_context context;
    cl_device_id id = g->id;
    cl_bitfield properties = 0;
    cl_int error = context_of(g, stream, &context);

    *shared = 0;
    if (stream && !error)
        error = tl_cl.clGetCommandQueueInfo(stream, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
    if (stream && !error)
        error = tl_cl.clGetCommandQueueInfo(stream, CL_QUEUE_PROPERTIES, sizeof properties,
                                            &properties, NULL);
    if (error) return tl_invalid(ctx, "stream is no cl_command_queue (error %d)", error);
    if (id != g->id)
        return tl_invalid(ctx, "stream is a queue of another device than this context's");
    if (properties & CL_QUEUE_OUT_OF_ORDER)
        return tl_unsupported(
            ctx, "stream is an out-of-order queue: tally needs one that keeps the order");

    *moves = context != g->context;
    return TALLY_OK;
}

/* If the queue comes with a context of its own, programs and memory of the last context have been
 * released. */
static tally_status cl_use_stream(tl_gpu *gpu, tally *ctx, void *stream)
{
    opencl *g = (opencl *)gpu;
    cl_context context;
    cl_int error = context_of(g, stream, &context);

    if (!error && context == g->context) {
        tl_cl.clReleaseCommandQueue(g->queue[TL_RUN]);
        g->queue[TL_RUN] = NULL;
    } else if (!error && !(error = tl_cl.clRetainContext(context))) {
        close_queues(g);
        tl_cl.clReleaseContext(g->context);
        g->context = context;
    }

    if (!error) error = open_queues(g, stream);
    return tl_opencl_check(ctx, error, "clCreateCommandQueue");
}

static const tl_gpu_calls calls = {
    .name = "opencl",
    .title = "OpenCL",
    .find = tl_opencl_find,
    .prelude = "gpu/opencl/prelude_opencl.h",
    .open = cl_open,
    .close = cl_close,
    .enter = nothing_to_enter,
    .leave = nothing_to_do,
    .allocate = cl_allocate,
    .release = cl_release,
    .copy = cl_copy,
    .clear = cl_clear,
    .owns = cl_owns,
    .build = tl_cl_build,
    .unload = tl_cl_unload,
    .launch = tl_cl_launch,
    .wait = cl_wait,
    .check_stream = cl_check_stream,
    .use_stream = cl_use_stream,
    .free_memory = cl_free_memory,
    .lock = cl_lock,
    .unlock = cl_unlock,
    .mark = cl_mark,
    .follow = cl_follow,
    .reached = cl_reached,
    .elapsed = cl_elapsed,
    .quiet = cl_quiet,
    .adopt = cl_adopt,
    .forget = cl_forget,
};

static int describe(int index, tally_device_info *info)
{
    return tl_gpu_describe(&calls, index, info);
}

static tally_status device_open(tally *ctx, int number, const char *options, tl_device **device)
{
    return tl_gpu_open(ctx, &calls, &tl_device_opencl, number, options, device);
}

const tl_device_calls tl_device_opencl = {
    .name = "opencl",
    .describe = describe,
    .open = device_open,
    TL_GPU_DEVICE_CALLS,
};
