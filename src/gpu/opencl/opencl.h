/* SPDX-License-Identifier: MIT
 * What the files of OpenCL devices share: the opened device, and the few declarations of OpenCL
 * that are needed, with the names and values of the Khronos headers, so that no headers are needed
 * to build. */
#pragma once

#include "gpu/gpu.h"

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
    CL_BUILD_PROGRAM_FAILURE = -11,
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
    CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
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

static const cl_bitfield CL_DEVICE_TYPE_ALL = 0xFFFFFFFF, CL_MEM_READ_WRITE = 1,
                         CL_MEM_ALLOC_HOST_PTR = 16;

/* EVENTS: those to wait for, and that of the call. INFO: a property, and where it goes. */
#define EVENTS cl_uint, const cl_event *, cl_event *
#define INFO   cl_uint, size_t, void *, size_t *
#define OPENCL_CALLS(F) \
    F(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *)) \
    F(cl_int, clGetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *)) \
    F(cl_int, clGetDeviceInfo, (cl_device_id, INFO)) \
    F(cl_context, clCreateContext, \
      (const intptr_t *, cl_uint, const cl_device_id *, \
       void (*)(const char *, const void *, size_t, void *), void *, cl_int *)) \
    F(cl_int, clRetainContext, (cl_context)) \
    F(cl_int, clReleaseContext, (cl_context)) \
    F(cl_int, clRetainCommandQueue, (cl_command_queue)) \
    F(cl_int, clGetCommandQueueInfo, (cl_command_queue, INFO)) \
    F(cl_int, clRetainMemObject, (cl_mem)) \
    F(cl_int, clGetMemObjectInfo, (cl_mem, INFO)) \
    F(void *, clEnqueueMapBuffer, \
      (cl_command_queue, cl_mem, cl_uint, cl_bitfield, size_t, size_t, EVENTS, cl_int *)) \
    F(cl_int, clEnqueueUnmapMemObject, (cl_command_queue, cl_mem, void *, EVENTS)) \
    F(cl_int, clEnqueueMarkerWithWaitList, (cl_command_queue, EVENTS)) \
    F(cl_int, clEnqueueBarrierWithWaitList, (cl_command_queue, EVENTS)) \
    F(cl_int, clWaitForEvents, (cl_uint, const cl_event *)) \
    F(cl_int, clReleaseEvent, (cl_event)) \
    F(cl_int, clGetEventProfilingInfo, (cl_event, INFO)) \
    F(cl_int, clFlush, (cl_command_queue)) \
    F(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *)) \
    F(cl_int, clReleaseCommandQueue, (cl_command_queue)) \
    F(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *)) \
    F(cl_int, clReleaseMemObject, (cl_mem)) \
    F(cl_int, clEnqueueWriteBuffer, \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, EVENTS)) \
    F(cl_int, clEnqueueReadBuffer, \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, EVENTS)) \
    F(cl_int, clEnqueueFillBuffer, \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, EVENTS)) \
    F(cl_program, clCreateProgramWithSource, \
      (cl_context, cl_uint, const char **, const size_t *, cl_int *)) \
    F(cl_int, clBuildProgram, \
      (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *), \
       void *)) \
    F(cl_int, clGetProgramBuildInfo, (cl_program, cl_device_id, INFO)) \
    F(cl_int, clReleaseProgram, (cl_program)) \
    F(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *)) \
    F(cl_int, clReleaseKernel, (cl_kernel)) \
    F(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *)) \
    F(cl_int, clEnqueueNDRangeKernel, \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, \
       EVENTS)) \
    F(cl_int, clFinish, (cl_command_queue))

/* The functions of the API, looked up once per process. */
typedef struct {
#define DECLARE(result, name, parameters) result(*name) parameters;
    OPENCL_CALLS(DECLARE)
#undef DECLARE
#undef EVENTS
#undef INFO
} tl_opencl_api;

extern tl_opencl_api tl_cl;

/* Addresses that stand for a memory object: reserved from the operating system, so they are unique,
 * without access, so they cannot be used as host memory by mistake. An address plus k bytes is the
 * place k bytes further in the object. */
typedef struct {
    char *begin;
    size_t bytes;
    cl_mem object;
    int adopted; /* by cl_adopt: the caller's object, of which we hold a reference */
} range;

typedef struct {
    tl_gpu base;
    cl_device_id id;
    cl_context context;        /* device_context, or that of the caller's queue */
    cl_context device_context; /* made by cl_open */
    cl_command_queue queue[TL_LANES];
    cl_event events[TL_EVENTS_ALL];
    range *ranges;
    int range_count, range_capacity;
} opencl;

/* ---- devices.c ---- */

/* Returns TALLY_OK for CL_SUCCESS; otherwise sets the message of the error. */
tally_status tl_opencl_check(tally *ctx, cl_int error, const char *call);

typedef struct {
    tl_gpu_found base; /* must be first */
    cl_device_id id;
} tl_opencl_found;

/* tl_gpu_calls.find; what it finds are tl_opencl_found. */
const tl_gpu_found *tl_opencl_find(int index, int *count);

/* Returns a numeric property of a device, or 0 if it has none. */
uint64_t tl_opencl_number(cl_device_id id, cl_uint what);

/* tl_gpu_calls.build, unload and launch. */
tally_status tl_cl_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code kind,
                         tl_program **program);
void tl_cl_unload(tl_gpu *gpu, tl_program *program);
tally_status tl_cl_launch(tl_gpu *gpu, tally *ctx, tl_program *program,
                          const tl_kernel_start *start);
