/* SPDX-License-Identifier: MIT
 * A CUDA device's programs: where their code comes from (the archive in the library, the cache on disk, NVRTC), and
 * launches of their kernels. API calls only. */
#include "archive.h"
#include "cuda.h"
#include "nvrtc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    SHARED_UNASKED = 32 << 10, /* with what kernels have anyway below 48 KiB; more only if it is set to */
};

#define PROGRAM_CALLS(F)                                                                                               \
    F(cuModuleLoadData, cuModuleLoadData, (CUmodule *, const void *))                                                  \
    F(cuModuleUnload, cuModuleUnload, (CUmodule))                                                                      \
    F(cuModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                \
    F(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, int, int))                                                  \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,                        \
      (int *, CUfunction, int, size_t))                                                                                \
    F(cuLaunchKernel, cuLaunchKernel,                                                                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))
TL_CUDA_CALLS(PROGRAM_CALLS, find)
int tl_cuda_find_programs(void *library) { return find(library); }

struct tl_program {
    CUmodule module;
    int count;
    struct {
        char name[TL_KERNEL_NAME];
        CUfunction function;
        int room;     /* bytes of local memory it is set to */
        int resident; /* groups of it that run at the same time, if it was asked; without local memory */
    } kernels[TL_KERNELS_MOST];
};

void tl_cuda_unload(tl_gpu *gpu, tl_program *program)
{
    (void)gpu;
    cuModuleUnload(program->module);
    free(program);
}

/* Loads what was compiled from this text: embedded in the library (no user's is), else of the disk cache, else now, by
 * NVRTC. Code that the driver does not take (it is older, or the device is) is as good as none. Neither of the first
 * two opens NVRTC. */
static tally_status load(const cuda *g, tally *ctx, const char *text, size_t length, int users, CUmodule *module)
{
    size_t bytes = 0;
    const void *embedded = users ? NULL : tl_archive_find(tl_embedded, tl_archive_key(text, length), &bytes);
    if (embedded && !cuModuleLoadData(module, embedded)) return TALLY_OK;
    char arch[16], tag[160];
    const char *wish = users ? tl_nvrtc_quick : NULL;
    snprintf(arch, sizeof arch, "sm_%d", g->capability);
    size_t tag_length = (size_t)snprintf(tag, sizeof tag, "cuda %s %s%s", arch, tl_nvrtc_options, wish ? wish : "");
    char *key = malloc(tag_length + length);
    if (!key) return tl_no_memory(ctx, tag_length + length, "a program");
    memcpy(key, tag, tag_length);
    memcpy(key + tag_length, text, length);
    void *code = tl_cache_load(key, tag_length + length, &bytes);
    tally_status status = TALLY_OK;
    if (!code || cuModuleLoadData(module, code)) {
        free(code);
        status = tl_nvrtc_compile(ctx, text, arch, wish, NULL, &code, &bytes, NULL);
        CUresult error = status ? 0 : cuModuleLoadData(module, code);
        if (error) status = tl_cuda_failed(ctx, error, "cuModuleLoadData");
        if (!status) tl_cache_store(key, tag_length + length, code, bytes);
    }
    free(code);
    free(key);
    return status;
}

tally_status tl_cuda_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, int users, tl_program **program)
{
    tl_program *p = calloc(1, sizeof *p);
    if (!p) return tl_no_memory(ctx, sizeof *p, "a program");
    tally_status status = load((const cuda *)gpu, ctx, text, length, users, &p->module);
    if (status)
        free(p);
    else
        *program = p;
    return status;
}

tally_status tl_cuda_launch(tl_gpu *gpu, tally *ctx, tl_program *program, const char *name, int64_t number,
                            tl_spread spread, int threads, const tl_argument *arguments, int count)
{
    cuda *g = (cuda *)gpu;
    int64_t groups = number;
    CUresult error = 0;
    void *values[64];
    int room = 0;
    const int at = tl_kernel_number(ctx, program->kernels[0].name, sizeof program->kernels[0], program->count, name);
    if (at < 0) return TALLY_UNSUPPORTED;
    if (at == program->count) {
        error = cuModuleGetFunction(&program->kernels[at].function, program->module, name);
        if (error) return tl_cuda_failed(ctx, error, name);
        program->kernels[at].room = SHARED_UNASKED;
        program->count++;
    }
    CUfunction f = program->kernels[at].function;
    if (count && arguments[count - 1].kind == TL_ARG_ROOM) room = (int)arguments[--count].i64;
    if (room > program->kernels[at].room) {
        error = cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, room);
        if (error) return tl_cuda_failed(ctx, error, name);
        program->kernels[at].room = room;
    }
    for (int i = 0; i < count; i++)
        values[i] = arguments[i].kind == TL_ARG_MEMORY
                        ? (void *)(uintptr_t)&arguments[i].memory.address
                        : (void *)(uintptr_t)&arguments[i].i64; /* f64 shares its place */
    if (spread == TL_SHARED_JOBS) {
        int each = 1;
        if (!program->kernels[at].resident) {
            error = cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, f, threads, (size_t)room);
            if (error) return tl_cuda_failed(ctx, error, name);
            program->kernels[at].resident = (each ? each : 1) * g->processors;
        }
        int64_t rounds = (number - 1) / program->kernels[at].resident + 1;
        groups = (number + rounds - 1) / rounds;
    }
    error = cuLaunchKernel(f, (unsigned)groups, 1, 1, (unsigned)threads, 1, 1, (unsigned)room, g->stream[TL_RUN],
                           values, NULL);
    return error ? tl_cuda_failed(ctx, error, name) : TALLY_OK;
}
