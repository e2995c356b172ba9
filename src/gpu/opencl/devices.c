/* SPDX-License-Identifier: MIT
 * Finds the OpenCL 1.2 devices, and checks that they have what the law and the kernels need (fp64,
 * subnormals). The ICD loader is opened at run time, once per process. Its functions and errors are
 * here too. Then the programs of a device, which the driver compiles and caches, and launches of
 * their kernels. This file calls no other file of this folder. */
#include "opencl.h"
#include "store/store.h"
#include "context/threads.h"
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "libOpenCL.so.1"
TL_OPENS("opencl", "OpenCL devices", "\"" LIBRARY "\"");

tl_opencl_api tl_cl;

enum { DEVICES_MOST = 16 };
static tl_opencl_found devices[DEVICES_MOST];
static int device_count;

tally_status tl_opencl_check(tally *ctx, cl_int error, const char *call)
{
    if (error == CL_SUCCESS) return TALLY_OK;
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
        error == CL_OUT_OF_HOST_MEMORY || error == CL_INVALID_BUFFER_SIZE)
        return tl_fail(ctx, TALLY_NO_MEMORY,
                       "OpenCL: %s: out of device memory or resources (error %d)", call, error);
    return tl_fail(ctx, TALLY_NO_DEVICE, "OpenCL: %s failed with error %d", call, error);
}

static void text_of(cl_device_id id, cl_uint what, char *to, size_t capacity)
{
    to[0] = 0;
    if (tl_cl.clGetDeviceInfo(id, what, capacity - 1, to, NULL) != CL_SUCCESS) to[0] = 0;
    to[capacity - 1] = 0;
}

uint64_t tl_opencl_number(cl_device_id id, cl_uint what)
{
    uint64_t v = 0;
    return tl_cl.clGetDeviceInfo(id, what, sizeof v, &v, NULL) == CL_SUCCESS ? v : 0;
}

/* Checks what the law and the kernels need of a device. */
static void examine(int i)
{
    char name[128], version[128], driver[128];
    cl_device_id id = devices[i].id;

    text_of(id, CL_DEVICE_NAME, name, sizeof name);
    text_of(id, CL_DEVICE_VERSION, version, sizeof version);
    text_of(id, CL_DRIVER_VERSION, driver, sizeof driver);
    tl_gpu_found *const found = &devices[i].base;
    snprintf(found->name, sizeof found->name, "opencl:%d", i);
    snprintf(found->text, sizeof found->text, "%.60s, %.1f GB, %.50s, driver %.40s", name,
             (double)tl_opencl_number(id, CL_DEVICE_GLOBAL_MEM_SIZE) * 1e-9, version, driver);
    uint64_t f32 = tl_opencl_number(id, CL_DEVICE_SINGLE_FP_CONFIG),
             f64 = tl_opencl_number(id, CL_DEVICE_DOUBLE_FP_CONFIG);

    found->reason = "";
    if (!(tl_opencl_number(id, CL_DEVICE_AVAILABLE) & 1))
        found->reason = "the device is not available";
    else if (!f64)
        found->reason = "it has no fp64";
    else if (!(f32 & CL_FP_DENORM))
        found->reason = "it flushes f32 subnormals to zero";
    else if (!(f32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT))
        found->reason = "its f32 division is not correctly rounded";
    else if (!(tl_opencl_number(id, CL_DEVICE_ENDIAN_LITTLE) & 1))
        found->reason = "it is big-endian";
    else if (tl_opencl_number(id, CL_DEVICE_MAX_WORK_GROUP_SIZE) < 256)
        found->reason = "its work-groups have fewer than 256 work-items";
    else if (tl_opencl_number(id, CL_DEVICE_LOCAL_MEM_SIZE) < 32768)
        found->reason = "it has less than 32 KiB of local memory";
}

/* Opens the loader and lists all devices of all platforms, once per process. */
static void find_devices(void)
{
    static int done;
    tl_lock_take(TL_LOCK_OPENCL);
    if (!done) {
        done = 1;
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        int whole = library != NULL;
#define FIND(result, name, parameters) \
    whole = whole && (*(void **)&tl_cl.name = dlsym(library, #name)) != NULL;
        OPENCL_CALLS(FIND)
#undef FIND
        cl_platform_id platforms[8];
        cl_uint count = 0;
        if (whole && tl_cl.clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) count = 0;
        for (cl_uint p = 0; p < count && p < 8; p++) {
            cl_device_id ids[DEVICES_MOST];
            cl_uint found = 0;
            if (tl_cl.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, DEVICES_MOST, ids, &found) !=
                CL_SUCCESS)
                continue;
            for (cl_uint i = 0; i < found && i < DEVICES_MOST && device_count < DEVICES_MOST; i++) {
                devices[device_count].id = ids[i];
                examine(device_count++);
            }
        }
    }

    tl_lock_release(TL_LOCK_OPENCL);
}

const tl_gpu_found *tl_opencl_find(int index, int *count)
{
    find_devices();
    *count = device_count;
    return index < 0 || index >= device_count ? NULL : &devices[index].base;
}

/* ---- programs ---- */

_Static_assert(sizeof(cl_mem) == TL_ARGUMENT_BYTES, "an argument may be a memory object");

#define OPTIONS "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"

struct tl_program {
    cl_program program;
    int count;
    struct {
        char name[TL_KERNEL_NAME];
        cl_kernel kernel;
    } kernels[TL_KERNELS_MOST];
};

void tl_cl_unload(tl_gpu *gpu, tl_program *program)
{
    for (int i = 0; i < program->count; i++) tl_cl.clReleaseKernel(program->kernels[i].kernel);
    tl_cl.clReleaseProgram(program->program);
    free(program);
}

tally_status tl_cl_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code kind,
                         tl_program **program)
{
    /* the driver compiles and caches */
    opencl *g = (opencl *)gpu;
    cl_int error;
    tl_program *p = calloc(1, sizeof *p);
    if (!p) return tl_no_memory(ctx, sizeof *p, "a program");

    p->program = tl_cl.clCreateProgramWithSource(g->context, 1, &text, &length, &error);
    if (p->program) error = tl_cl.clBuildProgram(p->program, 1, &g->id, OPTIONS, NULL, NULL);

    if (!error) {
        *program = p;
        return TALLY_OK;
    }

    char log[400] = "";
    if (p->program) {
        size_t bytes = 0;
        tl_cl.clGetProgramBuildInfo(p->program, g->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
        char *full_log = malloc(bytes + 1);
        if (full_log && tl_cl.clGetProgramBuildInfo(p->program, g->id, CL_PROGRAM_BUILD_LOG, bytes,
                                                    full_log, NULL) == CL_SUCCESS) {
            full_log[bytes] = 0;
            tl_name_place(tl_first_error(full_log), text, log, sizeof log);
        }

        free(full_log);
        tl_cl.clReleaseProgram(p->program);
    }

    free(p);
    return tl_fail(ctx, error == CL_BUILD_PROGRAM_FAILURE ? TALLY_BAD_DATA : TALLY_NO_DEVICE,
                   "OpenCL: the kernels do not compile (error %d): %s", error, log);
}

tally_status tl_cl_launch(tl_gpu *gpu, tally *ctx, tl_program *program,
                          const tl_kernel_start *start)
{
    opencl *g = (opencl *)gpu;
    const char *const name = start->kernel;

    assert(start->spread != TL_SHARED_JOBS); /* its tl_gpu_calls.single_launch is 0 */
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
