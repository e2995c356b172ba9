/* SPDX-License-Identifier: MIT
 * OpenCL 1.2 devices with fp64, through the ICD loader opened at run time. API calls only; the shapes are in gpu_*.c. The
 * few declarations needed are here, with the names and values of the Khronos headers, so that building needs none. */
#include "gpu.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bitfield;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
enum {
    CL_SUCCESS = 0,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_QUEUE_CONTEXT = 0x1090,
    CL_QUEUE_DEVICE = 0x1091,
    CL_QUEUE_PROPERTIES = 0x1093,
    CL_QUEUE_OUT_OF_ORDER = 1 << 0,
    CL_QUEUE_PROFILING = 1 << 1,
    CL_MEM_SIZE = 0x1102,
    CL_MEM_CONTEXT = 0x1106,
    CL_MAP_READ_WRITE = 3,
    CL_PROFILING_COMMAND_END = 0x1283,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_FP_DENORM = 1 << 0,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7
};
static const cl_bitfield CL_DEVICE_TYPE_ALL = 0xFFFFFFFF, CL_MEM_READ_WRITE = 1, CL_MEM_ALLOC_HOST_PTR = 16;

#define CALLS(F)                                                                                                       \
    F(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                                                \
    F(cl_int, clGetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))                       \
    F(cl_int, clGetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))                                      \
    F(cl_context, clCreateContext,                                                                                     \
      (const intptr_t *, cl_uint, const cl_device_id *, void (*)(const char *, const void *, size_t, void *), void *,  \
       cl_int *))                                                                                                      \
    F(cl_int, clRetainContext, (cl_context))                                                                           \
    F(cl_int, clReleaseContext, (cl_context))                                                                          \
    F(cl_int, clRetainCommandQueue, (cl_command_queue))                                                                \
    F(cl_int, clGetCommandQueueInfo, (cl_command_queue, cl_uint, size_t, void *, size_t *))                            \
    F(cl_int, clRetainMemObject, (cl_mem))                                                                             \
    F(cl_int, clGetMemObjectInfo, (cl_mem, cl_uint, size_t, void *, size_t *))                                         \
    F(void *, clEnqueueMapBuffer,                                                                                      \
      (cl_command_queue, cl_mem, cl_uint, cl_bitfield, size_t, size_t, cl_uint, const cl_event *, cl_event *,          \
       cl_int *))                                                                                                      \
    F(cl_int, clEnqueueUnmapMemObject,                                                                                 \
      (cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *))                                       \
    F(cl_int, clEnqueueMarkerWithWaitList, (cl_command_queue, cl_uint, const cl_event *, cl_event *))                  \
    F(cl_int, clEnqueueBarrierWithWaitList, (cl_command_queue, cl_uint, const cl_event *, cl_event *))                 \
    F(cl_int, clWaitForEvents, (cl_uint, const cl_event *))                                                            \
    F(cl_int, clReleaseEvent, (cl_event))                                                                              \
    F(cl_int, clGetEventProfilingInfo, (cl_event, cl_uint, size_t, void *, size_t *))                                  \
    F(cl_int, clFlush, (cl_command_queue))                                                                             \
    F(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *))                       \
    F(cl_int, clReleaseCommandQueue, (cl_command_queue))                                                               \
    F(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *))                                     \
    F(cl_int, clReleaseMemObject, (cl_mem))                                                                            \
    F(cl_int, clEnqueueWriteBuffer,                                                                                    \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *))        \
    F(cl_int, clEnqueueReadBuffer,                                                                                     \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))              \
    F(cl_program, clCreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))           \
    F(cl_int, clBuildProgram,                                                                                          \
      (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *), void *))                 \
    F(cl_int, clGetProgramBuildInfo, (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                    \
    F(cl_int, clReleaseProgram, (cl_program))                                                                          \
    F(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                                                 \
    F(cl_int, clReleaseKernel, (cl_kernel))                                                                            \
    F(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                                              \
    F(cl_int, clEnqueueNDRangeKernel,                                                                                  \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint,                  \
       const cl_event *, cl_event *))                                                                                  \
    F(cl_int, clFinish, (cl_command_queue))
#define DECLARE(result, name, parameters) static result(*name) parameters;
CALLS(DECLARE)
#undef DECLARE

enum { DEVICES_MOST = 16, KERNELS_MOST = 8 };
static struct {
    cl_device_id id;
    char name[24], text[200], reason[200];
} devices[DEVICES_MOST];
static int device_count;

/* Addresses that stand for a memory object: reserved from the operating system, so nothing else has them, and without any
 * access, so nobody can take them for memory of the host. A pointer into them plus or minus bytes is that place of it. */
typedef struct {
    char *begin;
    size_t bytes;
    cl_mem object;
    int adopted; /* by cl_adopt: the caller's, and a reference of ours */
} range;

typedef struct {
    tl_gpu base;
    cl_device_id id;
    cl_context context, own; /* own: ours; context: ours, or that of the caller's queue */
    cl_command_queue queue[TL_LANES];
    cl_event events[TL_EVENTS_ALL];
    range *ranges;
    int range_count, range_room;
    int processors;
} opencl;

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
    if (clGetDeviceInfo(id, what, room - 1, to, NULL) != CL_SUCCESS) to[0] = 0;
    to[room - 1] = 0;
}
static uint64_t number_of(cl_device_id id, cl_uint what)
{
    uint64_t v = 0;
    return clGetDeviceInfo(id, what, sizeof v, &v, NULL) == CL_SUCCESS ? v : 0;
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
             (double)number_of(id, CL_DEVICE_GLOBAL_MEM_SIZE) * 1e-9, version, driver);
    uint64_t f32 = number_of(id, CL_DEVICE_SINGLE_FP_CONFIG), f64 = number_of(id, CL_DEVICE_DOUBLE_FP_CONFIG);
    const char *why = "";
    if (!(number_of(id, CL_DEVICE_AVAILABLE) & 1))
        why = "the device is not available";
    else if (!f64)
        why = "it has no fp64";
    else if (!(f32 & CL_FP_DENORM))
        why = "it flushes f32 subnormals to zero";
    else if (!(f32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT))
        why = "its f32 division is not correctly rounded";
    else if (!(number_of(id, CL_DEVICE_ENDIAN_LITTLE) & 1))
        why = "it is big-endian";
    else if (number_of(id, CL_DEVICE_MAX_WORK_GROUP_SIZE) < 256)
        why = "its work-groups have fewer than 256 work-items";
    else if (number_of(id, CL_DEVICE_LOCAL_MEM_SIZE) < 32768)
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
#define FIND(result, name, parameters) whole = whole && (*(void **)&name = dlsym(library, #name)) != NULL;
        CALLS(FIND)
#undef FIND
        cl_platform_id platforms[8];
        cl_uint count = 0;
        if (whole && clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) count = 0;
        for (cl_uint p = 0; p < count && p < 8; p++) {
            cl_device_id ids[DEVICES_MOST];
            cl_uint found = 0;
            if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, DEVICES_MOST, ids, &found) != CL_SUCCESS) continue;
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

static tally_status failed(tally *ctx, cl_int error, const char *call)
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
        if (g->events[i]) clReleaseEvent(g->events[i]);
    memset(g->events, 0, sizeof g->events);
    for (int lane = 0; lane < TL_LANES; lane++)
        if (g->queue[lane]) clReleaseCommandQueue(g->queue[lane]);
    memset(g->queue, 0, sizeof g->queue);
}

/* The lanes of g->context: TL_RUN is the caller's queue, or ours. */
static cl_int open_queues(opencl *g, cl_command_queue run)
{
    cl_int error = CL_SUCCESS;
    if (run && !(error = clRetainCommandQueue(run))) g->queue[TL_RUN] = run;
    for (int lane = 0; lane < TL_LANES && !error; lane++)
        if (!g->queue[lane]) g->queue[lane] = clCreateCommandQueue(g->context, g->id, CL_QUEUE_PROFILING, &error);
    return error;
}

static void drop_range(opencl *g, int i)
{
    munmap(g->ranges[i].begin, g->ranges[i].bytes);
    g->ranges[i] = g->ranges[--g->range_count];
}

static void cl_close(tl_gpu *gpu)
{
    opencl *g = (opencl *)gpu;
    close_queues(g);
    while (g->range_count) {
        clReleaseMemObject(g->ranges[g->range_count - 1].object);
        drop_range(g, g->range_count - 1);
    }
    free(g->ranges);
    if (g->context) clReleaseContext(g->context);
    if (g->own) clReleaseContext(g->own);
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
    g->processors = (int)number_of(g->id, CL_DEVICE_MAX_COMPUTE_UNITS);
    g->own = clCreateContext(NULL, 1, &g->id, NULL, NULL, &error);
    if (g->own && !(error = clRetainContext(g->own))) {
        g->context = g->own;
        error = open_queues(g, NULL);
    }
    if (error) {
        cl_close(&g->base);
        return failed(ctx, error, "opening the device");
    }
    *gpu = &g->base;
    return TALLY_OK;
}

static void nothing_to_do(tl_gpu *gpu) { (void)gpu; }
static int cl_processors(const tl_gpu *gpu) { return ((const opencl *)gpu)->processors; }
static int64_t cl_local_bytes(const tl_gpu *gpu)
{
    return (int64_t)number_of(((const opencl *)gpu)->id, CL_DEVICE_LOCAL_MEM_SIZE);
}

/* ---- memory ---- */

/* Gives object an address. */
static tally_status add_range(opencl *g, tally *ctx, cl_mem object, size_t bytes, int adopted, char **begin)
{
    if (g->range_count == g->range_room) {
        int room = 2 * g->range_room + 16;
        range *more = realloc(g->ranges, (size_t)room * sizeof *more);
        if (!more) return tl_no_memory(ctx, (size_t)room * sizeof *more, "the list of device memory");
        g->ranges = more;
        g->range_room = room;
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
    cl_mem m = clCreateBuffer(g->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (!m) return failed(ctx, error, "clCreateBuffer");
    tally_status status = add_range(g, ctx, m, bytes, 0, &begin);
    if (status)
        clReleaseMemObject(m);
    else
        *memory = (tl_memory){(uintptr_t)begin, m, bytes};
    return status;
}

static void cl_release(tl_gpu *gpu, tl_memory *memory)
{
    opencl *g = (opencl *)gpu;
    for (int i = 0; i < g->range_count; i++)
        if ((uintptr_t)g->ranges[i].begin == memory->address) drop_range(g, i);
    clReleaseMemObject(memory->object);
    *memory = (tl_memory){0};
}

static tally_status cl_write(tl_gpu *gpu, tally *ctx, const tl_memory *to, size_t offset, const void *from,
                             size_t bytes)
{
    cl_int error =
        clEnqueueWriteBuffer(((opencl *)gpu)->queue[TL_RUN], to->object, 1, offset, bytes, from, 0, NULL, NULL);
    return error ? failed(ctx, error, "clEnqueueWriteBuffer") : TALLY_OK;
}

static tally_status cl_read(tl_gpu *gpu, tally *ctx, void *to, const tl_memory *from, size_t offset, size_t bytes)
{
    cl_int error =
        clEnqueueReadBuffer(((opencl *)gpu)->queue[TL_RUN], from->object, 1, offset, bytes, to, 0, NULL, NULL);
    return error ? failed(ctx, error, "clEnqueueReadBuffer") : TALLY_OK;
}

static int cl_owns(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset)
{
    const opencl *g = (const opencl *)gpu;
    for (int i = 0; i < g->range_count; i++) {
        uintptr_t at = (uintptr_t)p - (uintptr_t)g->ranges[i].begin;
        if (at >= g->ranges[i].bytes) continue;
        *memory = (tl_memory){0, g->ranges[i].object, 0};
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
    cl_int error = clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (!error) error = clGetMemObjectInfo(object, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    if (error) return tl_fail(ctx, TALLY_INVALID, "object is no cl_mem (clGetMemObjectInfo: error %d)", error);
    if (context != g->context)
        return tl_fail(ctx, TALLY_INVALID,
                       "object is of another cl_context: give tally_use_stream a queue of its context first");
    error = clRetainMemObject(object);
    if (error) return failed(ctx, error, "clRetainMemObject");
    tally_status status = add_range(g, ctx, object, bytes, 1, &begin);
    if (status)
        clReleaseMemObject(object);
    else
        *pointer = begin;
    return status;
}

static tally_status cl_forget(tl_gpu *gpu, tally *ctx, void *pointer)
{
    opencl *g = (opencl *)gpu;
    for (int i = 0; i < g->range_count; i++)
        if (g->ranges[i].begin == pointer && g->ranges[i].adopted) {
            clReleaseMemObject(g->ranges[i].object);
            drop_range(g, i);
            return TALLY_OK;
        }
    return tl_fail(ctx, TALLY_INVALID, "pointer is %p: must be one that tally_device_pointer gave", pointer);
}

/* ---- programs ---- */

static void cl_unload(tl_gpu *gpu, tl_program *program)
{
    (void)gpu;
    for (int i = 0; i < program->count; i++) clReleaseKernel(program->kernels[i].kernel);
    clReleaseProgram(program->program);
    free(program);
}

static tally_status cl_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_program **program)
{
    opencl *g = (opencl *)gpu;
    cl_int error;
    tl_program *p = calloc(1, sizeof *p);
    if (!p) return tl_no_memory(ctx, sizeof *p, "a program");
    p->program = clCreateProgramWithSource(g->context, 1, &text, &length, &error);
    if (p->program)
        error =
            clBuildProgram(p->program, 1, &g->id, "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt", NULL, NULL);
    if (!error) {
        *program = p;
        return TALLY_OK;
    }
    char log[400] = "";
    if (p->program) {
        size_t bytes = 0;
        clGetProgramBuildInfo(p->program, g->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
        char *all = malloc(bytes + 1);
        if (all && clGetProgramBuildInfo(p->program, g->id, CL_PROGRAM_BUILD_LOG, bytes, all, NULL) == CL_SUCCESS) {
            all[bytes] = 0;
            const char *from = strstr(all, "error");
            snprintf(log, sizeof log, "%s", from ? from : all);
        }
        free(all);
        clReleaseProgram(p->program);
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
        kernel = clCreateKernel(program->program, name, &error);
        if (!kernel) return failed(ctx, error, name);
        snprintf(program->kernels[program->count].name, sizeof program->kernels[0].name, "%s", name);
        program->kernels[program->count++].kernel = kernel;
    }
    for (int i = 0; i < count && !error; i++) switch (arguments[i].kind) {
        case TL_ARG_MEMORY:
            error = clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &arguments[i].memory.object);
            break;
        case TL_ARG_I64:
            error = clSetKernelArg(kernel, (cl_uint)i, 8, &arguments[i].i64);
            break;
        case TL_ARG_F64:
            error = clSetKernelArg(kernel, (cl_uint)i, 8, &arguments[i].f64);
            break;
        case TL_ARG_ROOM:
            error = clSetKernelArg(kernel, (cl_uint)i, (size_t)arguments[i].i64, NULL);
            break;
        }
    size_t local = (size_t)threads, global = local * (size_t)groups;
    if (!error) error = clEnqueueNDRangeKernel(g->queue[TL_RUN], kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    return error ? failed(ctx, error, name) : TALLY_OK;
}

static tally_status cl_wait(tl_gpu *gpu, tally *ctx)
{
    cl_int error = clFinish(((opencl *)gpu)->queue[TL_RUN]);
    return error ? failed(ctx, error, "clFinish") : TALLY_OK;
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
        error = clGetCommandQueueInfo(stream, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
        if (!error) error = clGetCommandQueueInfo(stream, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
        if (!error) error = clGetCommandQueueInfo(stream, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
        if (error) return tl_fail(ctx, TALLY_INVALID, "stream is no cl_command_queue (error %d)", error);
        if (id != g->id) return tl_fail(ctx, TALLY_INVALID, "stream is a queue of another device than this context's");
        if (properties & CL_QUEUE_OUT_OF_ORDER)
            return tl_fail(ctx, TALLY_UNSUPPORTED, "stream is an out-of-order queue: tally needs one that keeps the order");
    }
    error = clRetainContext(context);
    if (error) return failed(ctx, error, "clRetainContext");
    close_queues(g);
    clReleaseContext(g->context);
    g->context = context;
    error = open_queues(g, stream);
    return error ? failed(ctx, error, "clCreateCommandQueue") : TALLY_OK;
}

/* ---- pieces ---- */

static void cl_room(tl_gpu *gpu, size_t *all, size_t *once)
{
    *all = number_of(((opencl *)gpu)->id, CL_DEVICE_GLOBAL_MEM_SIZE);
    *once = number_of(((opencl *)gpu)->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
}

static tally_status cl_lock(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
{
    opencl *g = (opencl *)gpu;
    cl_int error;
    cl_mem m = clCreateBuffer(g->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error);
    if (!m) return failed(ctx, error, "clCreateBuffer");
    void *p = clEnqueueMapBuffer(g->queue[TL_RUN], m, 1, CL_MAP_READ_WRITE, 0, bytes, 0, NULL, NULL, &error);
    if (!p) {
        clReleaseMemObject(m);
        return failed(ctx, error, "clEnqueueMapBuffer");
    }
    *memory = (tl_memory){(uintptr_t)p, m, bytes};
    return TALLY_OK;
}

static void cl_unlock(tl_gpu *gpu, tl_memory *memory)
{
    clEnqueueUnmapMemObject(((opencl *)gpu)->queue[TL_RUN], memory->object, (void *)(uintptr_t)memory->address, 0, NULL,
                            NULL);
    clFinish(((opencl *)gpu)->queue[TL_RUN]);
    clReleaseMemObject(memory->object);
    *memory = (tl_memory){0};
}

static int cl_locked(tl_gpu *gpu, const void *p, size_t bytes)
{
    (void)gpu, (void)p, (void)bytes; /* OpenCL cannot tell */
    return 0;
}

static tally_status cl_copy_in(tl_gpu *gpu, tally *ctx, int lane, const tl_memory *to, size_t offset, const void *from,
                               size_t bytes)
{
    cl_int error =
        clEnqueueWriteBuffer(((opencl *)gpu)->queue[lane], to->object, 0, offset, bytes, from, 0, NULL, NULL);
    return error ? failed(ctx, error, "clEnqueueWriteBuffer") : TALLY_OK;
}

static tally_status cl_copy_out(tl_gpu *gpu, tally *ctx, int lane, void *to, const tl_memory *from, size_t offset,
                                size_t bytes)
{
    cl_int error = clEnqueueReadBuffer(((opencl *)gpu)->queue[lane], from->object, 0, offset, bytes, to, 0, NULL, NULL);
    return error ? failed(ctx, error, "clEnqueueReadBuffer") : TALLY_OK;
}

static tally_status cl_mark(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    opencl *g = (opencl *)gpu;
    if (g->events[event]) clReleaseEvent(g->events[event]);
    g->events[event] = NULL;
    cl_int error = clEnqueueMarkerWithWaitList(g->queue[lane], 0, NULL, &g->events[event]);
    if (!error) error = clFlush(g->queue[lane]); /* or another lane would wait for what is not yet on its way */
    return error ? failed(ctx, error, "clEnqueueMarkerWithWaitList") : TALLY_OK;
}

static tally_status cl_follow(tl_gpu *gpu, tally *ctx, int lane, int event)
{
    opencl *g = (opencl *)gpu;
    cl_int error =
        g->events[event] ? clEnqueueBarrierWithWaitList(g->queue[lane], 1, &g->events[event], NULL) : CL_SUCCESS;
    return error ? failed(ctx, error, "clEnqueueBarrierWithWaitList") : TALLY_OK;
}

static tally_status cl_reached(tl_gpu *gpu, tally *ctx, int event)
{
    opencl *g = (opencl *)gpu;
    cl_int error = g->events[event] ? clWaitForEvents(1, &g->events[event]) : CL_SUCCESS;
    return error ? failed(ctx, error, "clWaitForEvents") : TALLY_OK;
}

static double cl_elapsed(tl_gpu *gpu, int from, int to)
{
    opencl *g = (opencl *)gpu;
    uint64_t a, b;
    if (clGetEventProfilingInfo(g->events[from], CL_PROFILING_COMMAND_END, sizeof a, &a, NULL) ||
        clGetEventProfilingInfo(g->events[to], CL_PROFILING_COMMAND_END, sizeof b, &b, NULL))
        return -1;
    return b > a ? 1e-9 * (double)(b - a) : 0;
}

static tally_status cl_quiet(tl_gpu *gpu, tally *ctx)
{
    tally_status status = TALLY_OK;
    for (int lane = 0; lane < TL_LANES; lane++) {
        cl_int error = clFinish(((opencl *)gpu)->queue[lane]);
        if (error && !status) status = failed(ctx, error, "clFinish");
    }
    return status;
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
    .allocate = cl_allocate,
    .release = cl_release,
    .write = cl_write,
    .read = cl_read,
    .owns = cl_owns,
    .build = cl_build,
    .unload = cl_unload,
    .launch = cl_launch,
    .wait = cl_wait,
    .use_stream = cl_use_stream,
    .stream_moves = 1,
    .room = cl_room,
    .lock = cl_lock,
    .unlock = cl_unlock,
    .locked = cl_locked,
    .copy_in = cl_copy_in,
    .copy_out = cl_copy_out,
    .mark = cl_mark,
    .follow = cl_follow,
    .reached = cl_reached,
    .elapsed = cl_elapsed,
    .quiet = cl_quiet,
    .adopt = cl_adopt,
    .forget = cl_forget,
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
