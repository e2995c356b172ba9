/* SPDX-License-Identifier: MIT
 * The calls of an OpenCL device: contexts, queues, programs, launches. devices.c finds the devices;
 * memory.c has the memory. API calls only; the shapes are in gpu/. */
#include "opencl.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(cl_mem) == TL_ARGUMENT_BYTES, "an argument may be a memory object");

#define OPTIONS "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
enum { STATIC_LOCAL_MOST = 2048 }; /* at least the static local memory of any kernel */

struct tl_program {
    cl_program program;
    int count;
    struct {
        char name[TL_KERNEL_NAME];
        cl_kernel kernel;
    } kernels[TL_KERNELS_MOST];
};

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
    tl_opencl_release_ranges(g);
    if (g->context) tl_cl.clReleaseContext(g->context);
    if (g->own) tl_cl.clReleaseContext(g->own);
    free(g);
}

static const tl_gpu_calls calls;

static tally_status cl_open(tally *ctx, int index, tl_gpu **gpu)
{
    cl_int error;
    int count;

    const tl_opencl_found *found = tl_opencl_find(index, &count);
    if (!found)
        return tl_fail(ctx, TALLY_NO_DEVICE, "opencl:%d: there are %d OpenCL devices here", index,
                       count);
    if (found->reason[0])
        return tl_fail(ctx, TALLY_NO_DEVICE, "opencl:%d (%s): %s", index, found->text,
                       found->reason);
    opencl *g = calloc(1, sizeof *g);
    if (!g) return tl_no_memory(ctx, sizeof *g, "a device");

    const cl_device_id id = found->id;
    const int shuffles = tl_opencl_number(id, CL_DEVICE_WARP_SIZE_NV) == 32;
    *g =
        (opencl){.base = {.calls = &calls,
                          .processors = (int)tl_opencl_number(id, CL_DEVICE_MAX_COMPUTE_UNITS),
                          .warps_in_group = shuffles ? 8 : 1,
                          .has_box = !shuffles,
                          .shares_memory = tl_opencl_number(id, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
                          .local_bytes = (int64_t)tl_opencl_number(id, CL_DEVICE_LOCAL_MEM_SIZE) -
                                         STATIC_LOCAL_MOST},
                 .id = id};
    g->own = tl_cl.clCreateContext(NULL, 1, &g->id, NULL, NULL, &error);
    if (g->own && !(error = tl_cl.clRetainContext(g->own))) {
        g->context = g->own;
        error = open_queues(g, NULL);
    }

    if (error) {
        cl_close(&g->base);
        return tl_opencl_check(ctx, error, "opening the device");
    }

    *gpu = &g->base;
    return TALLY_OK;
}

static tally_status nothing_to_enter(tl_gpu *gpu, tally *ctx)
{
    return (void)gpu, (void)ctx, TALLY_OK;
}

static void nothing_to_do(tl_gpu *gpu) { (void)gpu; }

/* ---- programs ---- */

static void cl_unload(tl_gpu *gpu, tl_program *program)
{
    (void)gpu;
    for (int i = 0; i < program->count; i++) tl_cl.clReleaseKernel(program->kernels[i].kernel);
    tl_cl.clReleaseProgram(program->program);
    free(program);
}

static tally_status cl_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code how,
                             tl_program **program)
{
    (void)how; /* the driver compiles and caches */
    opencl *g = (opencl *)gpu;
    cl_int error;
    tl_program *p = calloc(1, sizeof *p);
    if (!p) return tl_no_memory(ctx, sizeof *p, "a program");

    p->program = tl_cl.clCreateProgramWithSource(g->context, 1, &text, &length, &error);
    if (p->program)
        error = tl_cl.clBuildProgram(p->program, 1, &g->id,
                                     !g->base.has_box ? OPTIONS " -D TL_SHUFFLES" : OPTIONS, NULL,
                                     NULL);

    if (!error) {
        *program = p;
        return TALLY_OK;
    }

    char log[400] = "";
    if (p->program) {
        size_t bytes = 0;
        tl_cl.clGetProgramBuildInfo(p->program, g->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
        char *all = malloc(bytes + 1);
        if (all && tl_cl.clGetProgramBuildInfo(p->program, g->id, CL_PROGRAM_BUILD_LOG, bytes, all,
                                               NULL) == CL_SUCCESS) {
            all[bytes] = 0;
            tl_name_place(tl_first_error(all), text, log, sizeof log);
        }

        free(all);
        tl_cl.clReleaseProgram(p->program);
    }

    free(p);
    return tl_fail(ctx, error == CL_BUILD_PROGRAM_FAILURE ? TALLY_BAD_DATA : TALLY_NO_DEVICE,
                   "OpenCL: the kernels do not compile (error %d): %s", error, log);
}

static tally_status cl_launch(tl_gpu *gpu, tally *ctx, tl_program *program,
                              const tl_kernel_start *start)
{
    opencl *g = (opencl *)gpu;
    const char *const name = start->kernel;

    assert(start->spread == TL_GROUPS); /* its tl_gpu_calls.single_launch is 0 */
    cl_int error = CL_SUCCESS;
    const int at = tl_kernel_number(ctx, program->kernels[0].name, sizeof program->kernels[0],
                                    program->count, name);
    if (at < 0) return TALLY_UNSUPPORTED;

    if (at == program->count) {
        program->kernels[at].kernel = tl_cl.clCreateKernel(program->program, name, &error);
        if (!program->kernels[at].kernel) return tl_opencl_check(ctx, error, name);
        program->count++;
    }

    const cl_kernel kernel = program->kernels[at].kernel;
    const size_t after[] = {(size_t)start->local_bytes, (size_t)start->box_bytes};
    cl_uint place = 0;
    for (int i = 0; i < start->count && !error; i++)
        error = tl_cl.clSetKernelArg(kernel, place++, TL_ARGUMENT_BYTES,
                                     (const char *)start->arguments + i * TL_ARGUMENT_BYTES);
    for (int i = 0; i < 2 && !error; i++)
        if (after[i]) error = tl_cl.clSetKernelArg(kernel, place++, after[i], NULL);

    size_t local = (size_t)start->threads, global = local * (size_t)start->number;
    if (!error)
        error = tl_cl.clEnqueueNDRangeKernel(g->queue[TL_RUN], kernel, 1, NULL, &global, &local, 0,
                                             NULL, NULL);

    return tl_opencl_check(ctx, error, name);
}

static tally_status cl_wait(tl_gpu *gpu, tally *ctx)
{
    cl_int error = tl_cl.clFinish(((opencl *)gpu)->queue[TL_RUN]);
    return tl_opencl_check(ctx, error, "clFinish");
}

/* The cl_context of a queue; NULL: of ours. */
static cl_int context_of(const opencl *g, void *stream, cl_context *context)
{
    *context = g->own;
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
    if (error)
        return tl_fail(ctx, TALLY_INVALID, "stream is no cl_command_queue (error %d)", error);
    if (id != g->id)
        return tl_fail(ctx, TALLY_INVALID,
                       "stream is a queue of another device than this context's");
    if (properties & CL_QUEUE_OUT_OF_ORDER)
        return tl_fail(ctx, TALLY_UNSUPPORTED,
                       "stream is an out-of-order queue: tally needs one that keeps the order");

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
    .prelude = "gpu/opencl/prelude_opencl.h",
    .open = cl_open,
    .close = cl_close,
    .enter = nothing_to_enter,
    .leave = nothing_to_do,
    .allocate = tl_cl_allocate,
    .release = tl_cl_release,
    .copy = tl_cl_copy,
    .clear = tl_cl_clear,
    .owns = tl_cl_owns,
    .build = cl_build,
    .unload = cl_unload,
    .launch = cl_launch,
    .wait = cl_wait,
    .check_stream = cl_check_stream,
    .use_stream = cl_use_stream,
    .free_memory = tl_cl_free_memory,
    .lock = tl_cl_lock,
    .unlock = tl_cl_unlock,
    .locked = tl_cl_locked,
    .mark = tl_cl_mark,
    .follow = tl_cl_follow,
    .reached = tl_cl_reached,
    .elapsed = tl_cl_elapsed,
    .quiet = tl_cl_quiet,
    .adopt = tl_cl_adopt,
    .forget = tl_cl_forget,
};

static tally_status device_open(tally *ctx, int number, const char *options, tl_device **device)
{
    return tl_gpu_open(ctx, &calls, &tl_device_opencl, number, options, device);
}

const tl_device_calls tl_device_opencl = {
    .name = "opencl",
    .describe = tl_opencl_describe,
    .open = device_open,
    TL_GPU_DEVICE_CALLS,
};
