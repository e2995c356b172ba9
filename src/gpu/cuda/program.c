/* SPDX-License-Identifier: MIT
 * A CUDA device's programs: where their code comes from (the archive in the library, else the
 * cache on disk, else NVRTC, which nobody opens before), better code later, and launches of
 * their kernels. API calls only. */
#include "archive.h"
#include "better.h"
#include "cuda.h"
#include <stdlib.h>

enum {
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    /* the launch from which on a program is worth better code: the probe's scan has two */
    WORTH = 3,
    /* with what kernels have anyway below 48 KiB; more only if it is set to */
    SHARED_UNASKED = 32 << 10,
};

#define PROGRAM_CALLS(F)                                                                           \
    F(cuModuleLoadData, cuModuleLoadData, (CUmodule *, const void *))                              \
    F(cuModuleUnload, cuModuleUnload, (CUmodule))                                                  \
    F(cuModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))            \
    F(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, int, int))                              \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,    \
      (int *, CUfunction, int, size_t))                                                            \
    F(cuStreamIsCapturing, cuStreamIsCapturing, (CUstream, int *))                                 \
    F(cuLaunchKernel, cuLaunchKernel,                                                              \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
       void **, void **))
TL_CUDA_CALLS(PROGRAM_CALLS, find)
int tl_cuda_find_programs(void *library) { return find(library); }

struct tl_program {
    /* before: the quick code that it had first; work under way may still want it */
    CUmodule module, before;
    int count;
    int launches;      /* of quick code that is to become better; -1: of code that stays */
    tl_better *better; /* asked for */
    struct {
        char name[TL_KERNEL_NAME];
        CUfunction function;
        int room; /* bytes of local memory it is set to */
        /* groups of it that run at the same time, if it was asked; without local memory */
        int resident;
    } kernels[TL_KERNELS_MOST];
};

void tl_cuda_unload(tl_gpu *gpu, tl_program *program)
{
    (void)gpu;
    if (program->better) tl_better_drop(&program->better);
    cuModuleUnload(program->module);
    if (program->before) cuModuleUnload(program->before);
    free(program);
}

/* ---- where code comes from ---- */

/* From the disk. Code that the driver does not take (it is older, or the device is) is as good
   as none. */
static int load_stored(const tl_cuda_text *t, tl_code how, CUmodule *module)
{
    size_t bytes;
    void *code = tl_cuda_code_load(t, how, &bytes);
    const int good = code && !cuModuleLoadData(module, code);
    free(code);
    return good;
}

/* From the disk, else by NVRTC. */
static tally_status load(tally *ctx, const tl_cuda_text *t, tl_code how, CUmodule *module)
{
    void *code;
    size_t bytes;
    if (load_stored(t, how, module)) return TALLY_OK;
    tally_status status = tl_cuda_code_make(ctx, t, how, NULL, &code, &bytes);
    CUresult error = status ? 0 : cuModuleLoadData(module, code);
    if (error) status = tl_cuda_failed(ctx, error, "cuModuleLoadData");
    if (!status) tl_cuda_code_store(t, how, code, bytes);
    free(code);
    return status;
}

tally_status tl_cuda_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code how,
                           tl_program **program)
{
    const tl_cuda_text t = {text, length, ((const cuda *)gpu)->capability};
    size_t bytes;
    tally_status status = TALLY_OK;
    tl_program *p = calloc(1, sizeof *p);
    *program = NULL;
    if (!p) return tl_no_memory(ctx, sizeof *p, "a program");
    p->launches = -1;
    if (how == TL_CODE_EMBEDDED) {
        const void *code = tl_archive_find(tl_embedded, tl_archive_key(text, length), &bytes);
        if (code && !cuModuleLoadData(&p->module, code)) *program = p;
    } else if (how != TL_CODE_AUTO) {
        status = load(ctx, &t, how, &p->module);
        if (!status) *program = p;
    } else if (load_stored(&t, TL_CODE_BEST, &p->module)) {
        *program = p;
    } else {
        p->launches = 0;
        status = load(ctx, &t, TL_CODE_QUICK, &p->module);
        if (!status) *program = p;
    }
    if (!*program) free(p);
    return status;
}

/* ---- better code ---- */

/* The program's kernels from other code, if it has them. */
static void replace(tl_program *p, const void *code)
{
    CUmodule module;
    CUfunction found[TL_KERNELS_MOST];
    if (cuModuleLoadData(&module, code)) return;
    for (int i = 0; i < p->count; i++)
        if (cuModuleGetFunction(&found[i], module, p->kernels[i].name)) {
            cuModuleUnload(module);
            return;
        }
    for (int i = 0; i < p->count; i++) {
        p->kernels[i].function = found[i];
        p->kernels[i].room = SHARED_UNASKED;
        p->kernels[i].resident = 0;
    }
    p->before = p->module;
    p->module = module;
}

int tl_cuda_refresh(tl_gpu *gpu, tl_program *p)
{
    void *code = NULL;
    if (p->launches < 0) return 0;
    if (!p->better) return ++p->launches >= WORTH && tl_better_room(((const cuda *)gpu)->beside);
    if (!tl_better_take(&p->better, &code)) return 0;
    if (code) replace(p, code);
    free(code);
    p->launches = -1;
    return 0;
}

void tl_cuda_improve(tl_gpu *gpu, tl_program *p, const char *text, size_t length)
{
    cuda *g = (cuda *)gpu;
    const tl_cuda_text t = {text, length, g->capability};
    size_t bytes;
    /* made meanwhile, for another context */
    void *code = tl_cuda_code_load(&t, TL_CODE_BEST, &bytes);
    if (code)
        replace(p, code);
    else
        p->better = tl_better_ask(&g->beside, &t);
    free(code);
    if (!p->better) p->launches = -1; /* it is there; or no NVRTC, no thread, no memory */
}

/* ---- launches ---- */

tally_status tl_cuda_launch(tl_gpu *gpu, tally *ctx, tl_program *program, const char *name,
                            int64_t number, tl_spread spread, int threads,
                            const tl_argument *arguments, int count)
{
    cuda *g = (cuda *)gpu;
    int64_t groups = number;
    CUresult error = 0;
    void *values[64];
    int room = 0, captured = 0;
    /* a launch has numbers of its own (the board's epoch), and a graph would run it again with
       the same */
    if (g->stream[TL_RUN] != g->own) error = cuStreamIsCapturing(g->stream[TL_RUN], &captured);
    if (error) return tl_cuda_failed(ctx, error, "cuStreamIsCapturing");
    if (captured)
        return tl_fail(ctx, TALLY_UNSUPPORTED,
                       "kernel %s: the stream of tally_use_stream is captured into a graph: calls "
                       "must be made outside",
                       name);
    const int at = tl_kernel_number(ctx, program->kernels[0].name, sizeof program->kernels[0],
                                    program->count, name);
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
        values[i] =
            (void *)(uintptr_t)&arguments[i].i64; /* an address and an f64 share its place */
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
    error = cuLaunchKernel(f, (unsigned)groups, 1, 1, (unsigned)threads, 1, 1, (unsigned)room,
                           g->stream[TL_RUN], values, NULL);
    return error ? tl_cuda_failed(ctx, error, name) : TALLY_OK;
}
