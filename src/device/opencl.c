/* SPDX-License-Identifier: MIT
 * OpenCL 1.2 devices with fp64, through the ICD loader opened at run time: devices, queues, programs, launches. Memory
 * is in opencl_memory.c. API calls only; the shapes are in gpu_*.c. */
#include "opencl.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tl_opencl_api tl_cl;

enum { DEVICES_MOST = 16, KERNELS_MOST = 8 };
static struct {
    cl_device_id id;
    char name[24], text[200], reason[200];
} devices[DEVICES_MOST];
static int device_count;

struct tl_program {
    cl_program program;
    int count;
    struct {
        char name[16];
        cl_kernel kernel;
    } kernels[KERNELS_MOST];
};

static void text_of(cl_device_id id, cl_uint what, char *to, size_t room)
{
    to[0] = 0;
    if (tl_cl.clGetDeviceInfo(id, what, room - 1, to, NULL) != CL_SUCCESS) to[0] = 0;
    to[room - 1] = 0;
}
uint64_t tl_opencl_number(cl_device_id id, cl_uint what)
{
    uint64_t v = 0;
    return tl_cl.clGetDeviceInfo(id, what, sizeof v, &v, NULL) == CL_SUCCESS ? v : 0;
}

/* What the law and the kernels need of a device. */
static void examine(int i)
{
    char name[128], version[128], driver[128];
    cl_device_id id = devices[i].id;
    text_of(id, CL_DEVICE_NAME, name, sizeof name);
    text_of(id, CL_DEVICE_VERSION, version, sizeof version);
    text_of(id, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(devices[i].name, sizeof devices[i].name, "opencl:%d", i);
    snprintf(devices[i].text, sizeof devices[i].text, "%.60s, %.1f GB, %.50s, driver %.40s", name,
             (double)tl_opencl_number(id, CL_DEVICE_GLOBAL_MEM_SIZE) * 1e-9, version, driver);
    uint64_t f32 = tl_opencl_number(id, CL_DEVICE_SINGLE_FP_CONFIG),
             f64 = tl_opencl_number(id, CL_DEVICE_DOUBLE_FP_CONFIG);
    const char *why = "";
    if (!(tl_opencl_number(id, CL_DEVICE_AVAILABLE) & 1))
        why = "the device is not available";
    else if (!f64)
        why = "it has no fp64";
    else if (!(f32 & CL_FP_DENORM))
        why = "it flushes f32 subnormals to zero";
    else if (!(f32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT))
        why = "its f32 division is not correctly rounded";
    else if (!(tl_opencl_number(id, CL_DEVICE_ENDIAN_LITTLE) & 1))
        why = "it is big-endian";
    else if (tl_opencl_number(id, CL_DEVICE_MAX_WORK_GROUP_SIZE) < 256)
        why = "its work-groups have fewer than 256 work-items";
    else if (tl_opencl_number(id, CL_DEVICE_LOCAL_MEM_SIZE) < 32768)
        why = "it has less than 32 KiB of local memory";
    snprintf(devices[i].reason, sizeof devices[i].reason, "%s", why);
}

/* Opens the loader and lists every device of every platform, once a process. */
static void find_devices(void)
{
    static int done;
#pragma omp critical(tally_opencl)
    if (!done) {
        done = 1;
        void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
        int whole = library != NULL;
#define FIND(result, name, parameters) whole = whole && (*(void **)&tl_cl.name = dlsym(library, #name)) != NULL;
        OPENCL_CALLS(FIND)
#undef FIND
        cl_platform_id platforms[8];
        cl_uint count = 0;
        if (whole && tl_cl.clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) count = 0;
        for (cl_uint p = 0; p < count && p < 8; p++) {
            cl_device_id ids[DEVICES_MOST];
            cl_uint found = 0;
            if (tl_cl.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, DEVICES_MOST, ids, &found) != CL_SUCCESS)
                continue;
            for (cl_uint i = 0; i < found && i < DEVICES_MOST && device_count < DEVICES_MOST; i++) {
                devices[device_count].id = ids[i];
                examine(device_count++);
            }
        }
    }
}

static int describe(int index, tally_device_info *info)
{
    find_devices();
    if (index < 0 || index >= device_count) return 0;
    *info = (tally_device_info){
        devices[index].name, devices[index].text, !devices[index].reason[0], devices[index].reason, 0, ""};
    return 1;
}

tally_status tl_opencl_failed(tally *ctx, cl_int error, const char *call)
{
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES || error == CL_OUT_OF_HOST_MEMORY ||
        error == CL_INVALID_BUFFER_SIZE)
        return tl_fail(ctx, TALLY_NO_MEMORY, "OpenCL: %s: out of device memory or resources (error %d)", call, error);
    return tl_fail(ctx, TALLY_NO_DEVICE, "OpenCL: %s failed with error %d", call, error);
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

/* The lanes of g->context: TL_RUN is the caller's queue, or ours. */
static cl_int open_queues(opencl *g, cl_command_queue run)
{
    cl_int error = CL_SUCCESS;
    if (run && !(error = tl_cl.clRetainCommandQueue(run))) g->queue[TL_RUN] = run;
    for (int lane = 0; lane < TL_LANES && !error; lane++)
        if (!g->queue[lane]) g->queue[lane] = tl_cl.clCreateCommandQueue(g->context, g->id, CL_QUEUE_PROFILING, &error);
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
    find_devices();
    if (index >= device_count)
        return tl_fail(ctx, TALLY_NO_DEVICE, "opencl:%d: there are %d OpenCL devices here", index, device_count);
    if (devices[index].reason[0])
        return tl_fail(ctx, TALLY_NO_DEVICE, "opencl:%d (%s): %s", index, devices[index].text, devices[index].reason);
    opencl *g = calloc(1, sizeof *g);
    if (!g) return tl_no_memory(ctx, sizeof *g, "a device");
    g->base.calls = &calls;
    g->id = devices[index].id;
    g->processors = (int)tl_opencl_number(g->id, CL_DEVICE_MAX_COMPUTE_UNITS);
    g->own = tl_cl.clCreateContext(NULL, 1, &g->id, NULL, NULL, &error);
    if (g->own && !(error = tl_cl.clRetainContext(g->own))) {
        g->context = g->own;
        error = open_queues(g, NULL);
    }
    if (error) {
        cl_close(&g->base);
        return tl_opencl_failed(ctx, error, "opening the device");
    }
    *gpu = &g->base;
    return TALLY_OK;
}

static void nothing_to_do(tl_gpu *gpu) { (void)gpu; }
static int cl_processors(const tl_gpu *gpu) { return ((const opencl *)gpu)->processors; }
static int64_t cl_local_bytes(const tl_gpu *gpu)
{
    return (int64_t)tl_opencl_number(((const opencl *)gpu)->id, CL_DEVICE_LOCAL_MEM_SIZE) - 2048; /* what a kernel has anyway */
}

/* ---- programs ---- */

static void cl_unload(tl_gpu *gpu, tl_program *program)
{
    (void)gpu;
    for (int i = 0; i < program->count; i++) tl_cl.clReleaseKernel(program->kernels[i].kernel);
    tl_cl.clReleaseProgram(program->program);
    free(program);
}

static tally_status cl_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, int users, tl_program **program)
{
    (void)users;
    opencl *g = (opencl *)gpu;
    cl_int error;
    tl_program *p = calloc(1, sizeof *p);
    if (!p) return tl_no_memory(ctx, sizeof *p, "a program");
    p->program = tl_cl.clCreateProgramWithSource(g->context, 1, &text, &length, &error);
    if (p->program)
        error = tl_cl.clBuildProgram(p->program, 1, &g->id, "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt",
                                     NULL, NULL);
    if (!error) {
        *program = p;
        return TALLY_OK;
    }
    char log[400] = "";
    if (p->program) {
        size_t bytes = 0;
        tl_cl.clGetProgramBuildInfo(p->program, g->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
        char *all = malloc(bytes + 1);
        if (all &&
            tl_cl.clGetProgramBuildInfo(p->program, g->id, CL_PROGRAM_BUILD_LOG, bytes, all, NULL) == CL_SUCCESS) {
            all[bytes] = 0;
            snprintf(log, sizeof log, "%s", tl_first_error(all));
        }
        free(all);
        tl_cl.clReleaseProgram(p->program);
    }
    free(p);
    return tl_fail(ctx, TALLY_NO_DEVICE, "OpenCL: the kernels do not compile (error %d): %s", error, log);
}

static tally_status cl_launch(tl_gpu *gpu, tally *ctx, tl_program *program, const char *name, int64_t groups,
                              int threads, const tl_argument *arguments, int count)
{
    opencl *g = (opencl *)gpu;
    cl_int error = CL_SUCCESS;
    cl_kernel kernel = NULL;
    for (int i = 0; i < program->count; i++)
        if (!strcmp(program->kernels[i].name, name)) kernel = program->kernels[i].kernel;
    if (!kernel) {
        kernel = tl_cl.clCreateKernel(program->program, name, &error);
        if (!kernel) return tl_opencl_failed(ctx, error, name);
        snprintf(program->kernels[program->count].name, sizeof program->kernels[0].name, "%s", name);
        program->kernels[program->count++].kernel = kernel;
    }
    for (int i = 0; i < count && !error; i++) switch (arguments[i].kind) {
        case TL_ARG_MEMORY:
            error = tl_cl.clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &arguments[i].memory.object);
            break;
        case TL_ARG_I64:
            error = tl_cl.clSetKernelArg(kernel, (cl_uint)i, 8, &arguments[i].i64);
            break;
        case TL_ARG_F64:
            error = tl_cl.clSetKernelArg(kernel, (cl_uint)i, 8, &arguments[i].f64);
            break;
        case TL_ARG_ROOM:
            error = tl_cl.clSetKernelArg(kernel, (cl_uint)i, (size_t)arguments[i].i64, NULL);
            break;
        }
    size_t local = (size_t)threads, global = local * (size_t)groups;
    if (!error) error = tl_cl.clEnqueueNDRangeKernel(g->queue[TL_RUN], kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    return error ? tl_opencl_failed(ctx, error, name) : TALLY_OK;
}

static tally_status cl_wait(tl_gpu *gpu, tally *ctx)
{
    cl_int error = tl_cl.clFinish(((opencl *)gpu)->queue[TL_RUN]);
    return error ? tl_opencl_failed(ctx, error, "clFinish") : TALLY_OK;
}

/* The caller's queue brings its context; programs and memory of the last one are gone already. */
static tally_status cl_use_stream(tl_gpu *gpu, tally *ctx, void *stream)
{
    opencl *g = (opencl *)gpu;
    cl_context context = g->own;
    cl_device_id id = g->id;
    cl_bitfield properties = 0;
    cl_int error = CL_SUCCESS;
    if (stream) {
        error = tl_cl.clGetCommandQueueInfo(stream, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
        if (!error) error = tl_cl.clGetCommandQueueInfo(stream, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
        if (!error)
            error = tl_cl.clGetCommandQueueInfo(stream, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
        if (error) return tl_fail(ctx, TALLY_INVALID, "stream is no cl_command_queue (error %d)", error);
        if (id != g->id) return tl_fail(ctx, TALLY_INVALID, "stream is a queue of another device than this context's");
        if (properties & CL_QUEUE_OUT_OF_ORDER)
            return tl_fail(ctx, TALLY_UNSUPPORTED,
                           "stream is an out-of-order queue: tally needs one that keeps the order");
    }
    error = tl_cl.clRetainContext(context);
    if (error) return tl_opencl_failed(ctx, error, "clRetainContext");
    close_queues(g);
    tl_cl.clReleaseContext(g->context);
    g->context = context;
    error = open_queues(g, stream);
    return error ? tl_opencl_failed(ctx, error, "clCreateCommandQueue") : TALLY_OK;
}

static const tl_gpu_calls calls = {
    .name = "opencl",
    .prelude = "device/prelude_opencl.h",
    .warps_in_group = 1,
    .describe = describe,
    .open = cl_open,
    .close = cl_close,
    .enter = nothing_to_do,
    .leave = nothing_to_do,
    .processors = cl_processors,
    .local_bytes = cl_local_bytes,
    .allocate = tl_cl_allocate,
    .release = tl_cl_release,
    .write = tl_cl_write,
    .read = tl_cl_read,
    .owns = tl_cl_owns,
    .build = cl_build,
    .unload = cl_unload,
    .launch = cl_launch,
    .wait = cl_wait,
    .use_stream = cl_use_stream,
    .stream_moves = 1,
    .room = tl_cl_room,
    .lock = tl_cl_lock,
    .unlock = tl_cl_unlock,
    .locked = tl_cl_locked,
    .copy_in = tl_cl_copy_in,
    .copy_out = tl_cl_copy_out,
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
    .describe = describe,
    .open = device_open,
    TL_GPU_DEVICE_CALLS,
};
