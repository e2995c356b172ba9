/* SPDX-License-Identifier: MIT
 * OpenCL 1.2 devices with fp64, through the ICD loader opened at run time. API calls only; the shapes are in gpu_*.c. The
 * few declarations needed are here, with the names and values of the Khronos headers, so that building needs none. */
#include "gpu.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_FP_DENORM = 1 << 0,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7
};
static const cl_bitfield CL_DEVICE_TYPE_ALL = 0xFFFFFFFF, CL_MEM_READ_WRITE = 1;

#define CALLS(F)                                                                                                       \
    F(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                                                \
    F(cl_int, clGetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))                       \
    F(cl_int, clGetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))                                      \
    F(cl_context, clCreateContext,                                                                                     \
      (const intptr_t *, cl_uint, const cl_device_id *, void (*)(const char *, const void *, size_t, void *), void *,  \
       cl_int *))                                                                                                      \
    F(cl_int, clReleaseContext, (cl_context))                                                                          \
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

typedef struct {
    tl_gpu base;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
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

static void cl_close(tl_gpu *gpu)
{
    opencl *g = (opencl *)gpu;
    if (g->queue) clReleaseCommandQueue(g->queue);
    if (g->context) clReleaseContext(g->context);
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
    g->context = clCreateContext(NULL, 1, &g->id, NULL, NULL, &error);
    if (g->context) g->queue = clCreateCommandQueue(g->context, g->id, 0, &error);
    if (!g->queue) {
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
    return (int64_t)number_of(((const opencl *)gpu)->id, CL_DEVICE_LOCAL_MEM_SIZE) - 2048; /* what a kernel has anyway */
}

static tally_status cl_allocate(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory)
{
    cl_int error;
    cl_mem m = clCreateBuffer(((opencl *)gpu)->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (!m) return failed(ctx, error, "clCreateBuffer");
    *memory = (tl_memory){0, m, bytes};
    return TALLY_OK;
}

static void cl_release(tl_gpu *gpu, tl_memory *memory)
{
    (void)gpu;
    clReleaseMemObject(memory->object);
    *memory = (tl_memory){0};
}

static tally_status cl_write(tl_gpu *gpu, tally *ctx, const tl_memory *to, size_t offset, const void *from,
                             size_t bytes)
{
    cl_int error = clEnqueueWriteBuffer(((opencl *)gpu)->queue, to->object, 1, offset, bytes, from, 0, NULL, NULL);
    return error ? failed(ctx, error, "clEnqueueWriteBuffer") : TALLY_OK;
}

static tally_status cl_read(tl_gpu *gpu, tally *ctx, void *to, const tl_memory *from, size_t offset, size_t bytes)
{
    cl_int error = clEnqueueReadBuffer(((opencl *)gpu)->queue, from->object, 1, offset, bytes, to, 0, NULL, NULL);
    return error ? failed(ctx, error, "clEnqueueReadBuffer") : TALLY_OK;
}

static int cl_owns(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset)
{
    (void)gpu, (void)p, (void)memory, (void)offset; /* OpenCL memory has no address */
    return 0;
}

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
    if (!error) error = clEnqueueNDRangeKernel(g->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    return error ? failed(ctx, error, name) : TALLY_OK;
}

static tally_status cl_wait(tl_gpu *gpu, tally *ctx)
{
    cl_int error = clFinish(((opencl *)gpu)->queue);
    return error ? failed(ctx, error, "clFinish") : TALLY_OK;
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
