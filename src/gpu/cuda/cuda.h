/* SPDX-License-Identifier: MIT
 * What the files of CUDA devices share: the opened device, and declarations with the names and
 * values of NVIDIA's headers, so that no headers are needed to build. */
#ifndef TALLY_CUDA_H
#define TALLY_CUDA_H

#include "gpu/gpu.h"
#include <dlfcn.h>

struct tl_beside; /* code.h */
typedef int CUresult, CUdevice;
enum { CU_MEMORYTYPE_HOST = 1, CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_EVENT_DISABLE_TIMING = 2 };
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUuserObject_st *CUuserObject;
typedef unsigned long long CUdeviceptr;

typedef struct {
    tl_gpu base;
    CUdevice device;
    CUcontext context;
    CUstream stream[TL_LANES], own; /* stream[TL_RUN]: `own`, or the caller's stream */
    int captured;                   /* stream[TL_RUN] is captured into a graph */
    int pushed;                     /* enter has pushed the context */
    int capture_mode;               /* of the thread, outside of enter and leave */
    CUevent events[TL_EVENTS_ALL];  /* created when first marked */
    struct tl_beside *beside;       /* the background compiler (code.h) */
    int capability, number;
} cuda;

/* Functions of libcuda that a file calls. LIST(F) has F(name, symbol, parameters) for each.
 * TL_CUDA_CALLS declares static pointers of these names, and `find`, which looks them up and
 * returns 0 if one is missing. */
#define TL_CUDA_DECLARE(name, symbol, parameters) static int(*name) parameters;
#define TL_CUDA_FIND(name, symbol, parameters) \
    whole = whole && (*(void **)&name = dlsym(library, #symbol)) != NULL;
#define TL_CUDA_CALLS(LIST, find) \
    LIST(TL_CUDA_DECLARE) \
    static int find(void *library) \
    { \
        int whole = 1; \
        LIST(TL_CUDA_FIND) return whole; \
    }

/* ---- devices.c ---- */

/* Returns libcuda, or NULL if it is not installed. */
void *tl_cuda_library(void);

/* The status of a call of the driver; an error sets the message. */
tally_status tl_cuda_status(tally *ctx, CUresult error, const char *call);

typedef struct {
    CUdevice device;
    int capability, processors, shared; /* shared: max bytes of local memory of a block */
    char name[16], text[240];
} tl_cuda_found;

/* Returns device number index, or NULL if there are only *count devices. */
const tl_cuda_found *tl_cuda_find(int index, int *count);

/* ---- program.c ---- */

/* Looks up the functions of program.c in libcuda; returns 0 if one is missing. */
int tl_cuda_find_programs(void *library);

/* Functions for tl_gpu_calls. */
tally_status tl_cuda_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code how,
                           tl_program **program);
void tl_cuda_unload(tl_gpu *gpu, tl_program *program);
int tl_cuda_refresh(tl_gpu *gpu, tl_program *program);
void tl_cuda_improve(tl_gpu *gpu, tl_program *program, const char *text, size_t length);
tally_status tl_cuda_launch(tl_gpu *gpu, tally *ctx, tl_program *program,
                            const tl_kernel_start *start);

/* ---- lanes.c ---- */

/* Looks up the functions of lanes.c in libcuda; returns 0 if one is missing. */
int tl_cuda_find_lanes(void *library);
void tl_cuda_close_events(cuda *g);

/* Allows this thread the calls that a capture in another thread, or one of this thread in another
 * stream, would forbid; the second function forbids them again. */
void tl_cuda_relax(cuda *g);
void tl_cuda_restrict(cuda *g);

/* Functions for tl_gpu_calls. */
tally_status tl_cuda_check_stream(tl_gpu *gpu, tally *ctx, void *stream, int *moves, int *shared);
tally_status tl_cuda_use_stream(tl_gpu *gpu, tally *ctx, void *stream);
void *tl_cuda_run_stream(const tl_gpu *gpu);
tally_status tl_cuda_capture(tl_gpu *gpu, tally *ctx, uint64_t *number);
tally_status tl_cuda_keep(tl_gpu *gpu, tally *ctx, void (*drop)(void *), void *what);
void tl_cuda_free_memory(tl_gpu *gpu, size_t *all, size_t *largest);
tally_status tl_cuda_lock(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory);
void tl_cuda_unlock(tl_gpu *gpu, tl_memory *memory);
int tl_cuda_locked(tl_gpu *gpu, const void *p, size_t bytes);
tally_status tl_cuda_clear(tl_gpu *gpu, tally *ctx, int lane, const tl_memory *to, size_t bytes);
tally_status tl_cuda_copy(tl_gpu *gpu, tally *ctx, const tl_copy *copy);
tally_status tl_cuda_mark(tl_gpu *gpu, tally *ctx, int lane, int event);
tally_status tl_cuda_follow(tl_gpu *gpu, tally *ctx, int lane, int event);
tally_status tl_cuda_reached(tl_gpu *gpu, tally *ctx, int event);
double tl_cuda_elapsed(tl_gpu *gpu, int from, int to);
tally_status tl_cuda_quiet(tl_gpu *gpu, tally *ctx);

#endif
