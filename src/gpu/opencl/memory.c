/* SPDX-License-Identifier: MIT
 * OpenCL memory: buffers and the addresses that stand for them, copies, page-locked memory, events
 * between queues. */
#include "opencl.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void drop_range(opencl *g, int i)
{
    munmap(g->ranges[i].begin, g->ranges[i].bytes);
    g->ranges[i] = g->ranges[--g->range_count];
}

void tl_opencl_release_ranges(opencl *g)
{
    while (g->range_count) {
        tl_cl.clReleaseMemObject(g->ranges[g->range_count - 1].object);
        drop_range(g, g->range_count - 1);
    }
    free(g->ranges);
}

/* ---- memory ---- */

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

tally_status tl_cl_allocate(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
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

void tl_cl_release(tl_gpu *gpu, tl_memory *memory)
{
    opencl *g = (opencl *)gpu;
    for (int i = 0; i < g->range_count; i++)
        if ((uintptr_t)g->ranges[i].begin == memory->address) drop_range(g, i);
    tl_cl.clReleaseMemObject((cl_mem)memory->handle);
    *memory = (tl_memory){0};
}

tally_status tl_cl_copy(tl_gpu *gpu, tally *ctx, const tl_copy *c)
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

tally_status tl_cl_clear(tl_gpu *gpu, tally *ctx, int lane, const tl_memory *to, size_t bytes)
{
    const uint32_t zero = 0;
    cl_int error = tl_cl.clEnqueueFillBuffer(((opencl *)gpu)->queue[lane], (cl_mem)to->handle,
                                             &zero, sizeof zero, 0, bytes, 0, NULL, NULL);
    return tl_opencl_check(ctx, error, "clEnqueueFillBuffer");
}

int tl_cl_owns(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset)
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

tally_status tl_cl_adopt(tl_gpu *gpu, tally *ctx, void *object, void **pointer)
{
    opencl *g = (opencl *)gpu;
    size_t bytes = 0;
    cl_context context = NULL;
    char *begin;

    cl_int error = tl_cl.clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (!error)
        error = tl_cl.clGetMemObjectInfo(object, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    if (error)
        return tl_fail(ctx, TALLY_INVALID, "object is no cl_mem (clGetMemObjectInfo: error %d)",
                       error);

    if (context != g->context)
        return tl_fail(
            ctx, TALLY_INVALID,
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

tally_status tl_cl_forget(tl_gpu *gpu, tally *ctx, void *pointer)
{
    opencl *g = (opencl *)gpu;
    for (int i = 0; i < g->range_count; i++)
        if (g->ranges[i].begin == pointer && g->ranges[i].adopted) {
            tl_cl.clReleaseMemObject(g->ranges[i].object);
            drop_range(g, i);
            return TALLY_OK;
        }
    return tl_fail(ctx, TALLY_INVALID, "pointer is %p: must be one that tally_device_pointer gave",
                   pointer);
}

/* ---- for pieces ---- */

void tl_cl_free_memory(tl_gpu *gpu, size_t *all, size_t *largest)
{
    *all = tl_opencl_number(((opencl *)gpu)->id, CL_DEVICE_GLOBAL_MEM_SIZE);
    *largest = tl_opencl_number(((opencl *)gpu)->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
}

tally_status tl_cl_lock(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
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

void tl_cl_unlock(tl_gpu *gpu, tl_memory *memory)
{
    tl_cl.clEnqueueUnmapMemObject(((opencl *)gpu)->queue[TL_RUN], (cl_mem)memory->handle,
                                  (void *)(uintptr_t)memory->address, 0, NULL, NULL);
    tl_cl.clFinish(((opencl *)gpu)->queue[TL_RUN]);
    tl_cl.clReleaseMemObject((cl_mem)memory->handle);
    *memory = (tl_memory){0};
}

int tl_cl_locked(tl_gpu *gpu, const void *p, size_t bytes)
{
    (void)gpu, (void)p, (void)bytes; /* OpenCL cannot tell */
    return 0;
}

tally_status tl_cl_mark(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    opencl *g = (opencl *)gpu;
    if (g->events[event]) tl_cl.clReleaseEvent(g->events[event]);
    g->events[event] = NULL;
    cl_int error = tl_cl.clEnqueueMarkerWithWaitList(g->queue[lane], 0, NULL, &g->events[event]);
    /* so that the work is submitted before another lane waits for it */
    if (!error) error = tl_cl.clFlush(g->queue[lane]);
    return tl_opencl_check(ctx, error, "clEnqueueMarkerWithWaitList");
}

tally_status tl_cl_follow(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    opencl *g = (opencl *)gpu;
    cl_int error = g->events[event] ? tl_cl.clEnqueueBarrierWithWaitList(g->queue[lane], 1,
                                                                         &g->events[event], NULL)
                                    : CL_SUCCESS;
    return tl_opencl_check(ctx, error, "clEnqueueBarrierWithWaitList");
}

tally_status tl_cl_reached(tl_gpu *gpu, tally *ctx, int event)
{
    opencl *g = (opencl *)gpu;
    cl_int error = g->events[event] ? tl_cl.clWaitForEvents(1, &g->events[event]) : CL_SUCCESS;
    return tl_opencl_check(ctx, error, "clWaitForEvents");
}

double tl_cl_elapsed(tl_gpu *gpu, int from, int to)
{
    opencl *g = (opencl *)gpu;
    uint64_t a, b;
    if (tl_cl.clGetEventProfilingInfo(g->events[from], CL_PROFILING_COMMAND_END, sizeof a, &a,
                                      NULL) ||
        tl_cl.clGetEventProfilingInfo(g->events[to], CL_PROFILING_COMMAND_END, sizeof b, &b, NULL))
        return -1;
    return b > a ? 1e-9 * (double)(b - a) : 0;
}

tally_status tl_cl_quiet(tl_gpu *gpu, tally *ctx)
{
    tally_status status = TALLY_OK;
    for (int lane = 0; lane < TL_LANES; lane++) {
        cl_int error = tl_cl.clFinish(((opencl *)gpu)->queue[lane]);
        if (error && !status) status = tl_opencl_check(ctx, error, "clFinish");
    }
    return status;
}
