/* SPDX-License-Identifier: MIT
 * Programs of a CUDA device: where their code comes from (the archive in the library, else the
 * cache on disk, else NVRTC, which is not opened before), better code later, and launches of their
 * kernels. API calls only. */
#include "cuda.h"
#include <assert.h>
#include <stdlib.h>

enum {
    CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    PROGRAMMATIC_STREAM_SERIALIZATION = 6,
    FOLLOW_LEAST = 90, /* architecture of code whose FOLLOW() waits */
    /* launches before better code is requested; the probe's scan has two */
    LAUNCHES_LEAST = 3,
    /* With the static local memory of kernels, this is below 48 KiB; more must be set
     * explicitly. */
    SHARED_BY_DEFAULT = 32 << 10,
};

struct tl_program {
    /* before: the earlier quick code, which work in flight may still use */
    CUmodule module, before;
    int count;
    int launches;      /* launches of quick code that is to be replaced; -1: the code stays */
    tl_better *better; /* the request for better code */
    struct kernel {
        char name[TL_KERNEL_NAME];
        CUfunction function;
        int local_bytes; /* max bytes of local memory that has been set */
        int resident;
        int follows; /* its launch may overlap */
    } kernels[TL_KERNELS_MOST];
};

void tl_cuda_unload(tl_gpu *gpu, tl_program *program)
{
    if (program->better) tl_better_drop(&program->better);
    tl_cu.cuModuleUnload(program->module);
    if (program->before) tl_cu.cuModuleUnload(program->before);
    free(program);
}

/* ---- sources of code ---- */

/* Loads code from disk. Code that the driver refuses (the driver or device is older) counts as
 * missing. */
static int load_stored(const tl_cuda_text *t, tl_code kind, CUmodule *module)
{
    size_t bytes;
    void *code = tl_cuda_code_load(t, kind, &bytes);
    const int good = code && !tl_cu.cuModuleLoadData(module, code);
    free(code);
    return good;
}

/* Loads code from disk, or compiles it with NVRTC. */
static tally_status load(tally *ctx, const tl_cuda_text *t, tl_code kind, CUmodule *module)
{
    void *code;
    size_t bytes;

    if (load_stored(t, kind, module)) return TALLY_OK;
    tally_status status = tl_cuda_code_make(ctx, t, kind, NULL, &code, &bytes);
    CUresult error = status ? 0 : tl_cu.cuModuleLoadData(module, code);
    if (!status) status = tl_cuda_status(ctx, error, "cuModuleLoadData");
    if (!status) tl_cuda_code_store(t, kind, code, bytes);
    free(code);
    return status;
}

tally_status tl_cuda_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code kind,
                           tl_program **program)
{
    const tl_cuda_text t = {text, length, ((const cuda *)gpu)->capability};
    size_t bytes;
    tally_status status = TALLY_OK;
    tl_program *p = calloc(1, sizeof *p);
    int loaded;

    if (!p) return tl_no_memory(ctx, sizeof *p, "a program");

    p->launches = -1;
    if (kind == TL_CODE_EMBEDDED) {
        const void *code = tl_archive_find(tl_embedded, tl_archive_key(text, length), &bytes);
        loaded = code && !tl_cu.cuModuleLoadData(&p->module, code);
    } else if (kind == TL_CODE_AUTO && load_stored(&t, TL_CODE_BEST, &p->module)) {
        loaded = 1;
    } else {
        if (kind == TL_CODE_AUTO) p->launches = 0;
        status = load(ctx, &t, kind == TL_CODE_AUTO ? TL_CODE_QUICK : kind, &p->module);
        loaded = !status;
    }

    *program = loaded ? p : NULL;
    if (!loaded) free(p);
    return status;
}

/* Takes the program's kernels from other code, if it has all of them. */
static void replace(tl_program *p, const void *code)
{
    CUmodule module;
    CUfunction found[TL_KERNELS_MOST];
    if (tl_cu.cuModuleLoadData(&module, code)) return;

    for (int i = 0; i < p->count; i++)
        if (tl_cu.cuModuleGetFunction(&found[i], module, p->kernels[i].name)) {
            tl_cu.cuModuleUnload(module);
            return;
        }

    for (int i = 0; i < p->count; i++) {
        p->kernels[i].function = found[i];
        p->kernels[i].local_bytes = SHARED_BY_DEFAULT;
        p->kernels[i].resident = 0;
    }

    p->before = p->module;
    p->module = module;
}

int tl_cuda_refresh(tl_gpu *gpu, tl_program *p)
{
    void *code = NULL;
    if (p->launches < 0) return 0;
    if (!p->better)
        return ++p->launches >= LAUNCHES_LEAST && tl_better_accepts(((const cuda *)gpu)->queue);
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
    /* another context may have compiled it meanwhile */
    void *code = tl_cuda_code_load(&t, TL_CODE_BEST, &bytes);
    if (code)
        replace(p, code);
    else
        p->better = tl_better_ask(&g->queue, &t);
    free(code);

    /* better code is loaded, or there is no NVRTC, thread or memory */
    if (!p->better) p->launches = -1;
}

static CUresult load_kernel(tl_program *p, struct kernel *k)
{
    int version = 0;
    CUresult error = tl_cu.cuModuleGetFunction(&k->function, p->module, k->name);
    if (!error)
        error = tl_cu.cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, k->function);
    if (error) return error;

    k->local_bytes = SHARED_BY_DEFAULT;
    k->follows = tl_cu.cuLaunchKernelEx && version >= FOLLOW_LEAST;
    p->count++;
    return 0;
}

/* No overlap in captures: such graphs need calls of CUDA 12.3. */
static CUresult launch(const cuda *g, const struct kernel *k, tl_cuda_launch_config c,
                       void **values)
{
    if (!k->follows || g->captured)
        return tl_cu.cuLaunchKernel(k->function, c.grid[0], 1, 1, c.block[0], 1, 1, c.local_bytes,
                                    c.stream, values, NULL);
    c.attributes = &(struct tl_cuda_attribute){PROGRAMMATIC_STREAM_SERIALIZATION, 0, {1}};
    c.attribute_count = 1;
    return tl_cu.cuLaunchKernelEx(&c, k->function, values, NULL);
}

tally_status tl_cuda_launch(tl_gpu *gpu, tally *ctx, tl_program *program,
                            const tl_kernel_start *start)
{
    cuda *g = (cuda *)gpu;
    const char *const name = start->kernel;
    const char *const arguments = start->arguments;
    const unsigned threads = (unsigned)start->threads;
    int64_t groups = start->number;
    CUresult error = 0;
    void *values[64];
    const int local_bytes = (int)start->local_bytes;

    assert(start->count <= (int)(sizeof values / sizeof *values) && !start->box_bytes);

    const int at = tl_kernel_number(ctx, program->kernels[0].name, sizeof program->kernels[0],
                                    program->count, name);
    if (at < 0) return TALLY_UNSUPPORTED;

    if (at == program->count && g->captured)
        return tl_unsupported(
            ctx,
            "the stream is captured into a graph: kernel %s is not loaded yet: make the "
            "same call once before the capture",
            name);

    struct kernel *const k = &program->kernels[at];
    if (at == program->count) {
        error = load_kernel(program, k);
        if (error) return tl_cuda_status(ctx, error, name);
    }

    if (local_bytes > k->local_bytes) {
        error = tl_cu.cuFuncSetAttribute(
            k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, local_bytes);
        if (error) return tl_cuda_status(ctx, error, name);
        k->local_bytes = local_bytes;
    }

    for (int i = 0; i < start->count; i++)
        values[i] = (void *)(uintptr_t)(arguments + i * TL_ARGUMENT_BYTES);

    if (start->spread == TL_SHARED_JOBS) {
        int each = 1;
        if (!k->resident) {
            error = tl_cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &each, k->function, (int)threads, (size_t)local_bytes);
            if (error) return tl_cuda_status(ctx, error, name);
            k->resident = (each ? each : 1) * g->base.processors;
        }

        int64_t rounds = (groups - 1) / k->resident + 1;
        groups = (groups + rounds - 1) / rounds;
    }

    error = launch(g, k,
                   (tl_cuda_launch_config){.grid = {(unsigned)groups, 1, 1},
                                           .block = {threads, 1, 1},
                                           .local_bytes = (unsigned)local_bytes,
                                           .stream = g->stream[TL_RUN]},
                   values);
    return tl_cuda_status(ctx, error, name);
}
