/* SPDX-License-Identifier: MIT
 * Programs of an OpenCL device, which the driver compiles and caches, and launches of their
 * kernels. API calls only. */
#include "opencl.h"
#include <assert.h>
#include <stdlib.h>

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
    (void)gpu;
    for (int i = 0; i < program->count; i++) tl_cl.clReleaseKernel(program->kernels[i].kernel);
    tl_cl.clReleaseProgram(program->program);
    free(program);
}

tally_status tl_cl_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code how,
                         tl_program **program)
{
    (void)how; /* the driver compiles and caches */
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

tally_status tl_cl_launch(tl_gpu *gpu, tally *ctx, tl_program *program,
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
