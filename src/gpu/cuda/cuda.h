/* SPDX-License-Identifier: MIT
 * What the files of CUDA devices share: the opened device, and declarations with the names and
 * values of NVIDIA's headers, so that no headers are needed to build. */
#pragma once

#include "gpu/gpu.h"
#include <stdatomic.h>

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
    CUstream stream[TL_LANES],
        device_stream;             /* stream[TL_RUN]: `device_stream`, or the caller's stream */
    int captured;                  /* stream[TL_RUN] is captured into a graph */
    int pushed;                    /* enter has pushed the context */
    int capture_mode;              /* of the thread, outside of enter and leave */
    CUevent events[TL_EVENTS_ALL]; /* created when first marked */
    struct tl_queue *queue;        /* of the background compiler (code.c) */
    int capability, number;
} cuda;

/* The functions of libcuda, by their names there without the version that follows. */
#define TL_CUDA_CALLS(F) \
    F(cuInit, , (unsigned)) \
    F(cuDriverGetVersion, , (int *)) \
    F(cuDeviceGetCount, , (int *)) \
    F(cuDeviceGet, , (CUdevice *, int)) \
    F(cuDeviceGetName, , (char *, int, CUdevice)) \
    F(cuDeviceTotalMem, _v2, (size_t *, CUdevice)) \
    F(cuDeviceGetAttribute, , (int *, int, CUdevice)) \
    F(cuGetErrorString, , (CUresult, const char **)) \
    F(cuDevicePrimaryCtxRetain, , (CUcontext *, CUdevice)) \
    F(cuDevicePrimaryCtxRelease, _v2, (CUdevice)) \
    F(cuCtxPushCurrent, _v2, (CUcontext)) \
    F(cuCtxPopCurrent, _v2, (CUcontext *)) \
    F(cuCtxGetCurrent, , (CUcontext *)) \
    F(cuMemAlloc, _v2, (CUdeviceptr *, size_t)) \
    F(cuMemFree, _v2, (CUdeviceptr)) \
    F(cuPointerGetAttributes, , (unsigned, int *, void **, CUdeviceptr)) \
    F(cuStreamCreate, , (CUstream *, unsigned)) \
    F(cuStreamDestroy, _v2, (CUstream)) \
    F(cuStreamSynchronize, , (CUstream)) \
    F(cuModuleLoadData, , (CUmodule *, const void *)) \
    F(cuModuleUnload, , (CUmodule)) \
    F(cuModuleGetFunction, , (CUfunction *, CUmodule, const char *)) \
    F(cuFuncGetAttribute, , (int *, int, CUfunction)) \
    F(cuFuncSetAttribute, , (CUfunction, int, int)) \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, , (int *, CUfunction, int, size_t)) \
    F(cuLaunchKernel, , \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
       void **, void **)) \
    F(cuMemcpyHtoDAsync, _v2, (CUdeviceptr, const void *, size_t, CUstream)) \
    F(cuMemcpyDtoHAsync, _v2, (void *, CUdeviceptr, size_t, CUstream)) \
    F(cuMemsetD32Async, , (CUdeviceptr, unsigned, size_t, CUstream)) \
    F(cuStreamWaitEvent, , (CUstream, CUevent, unsigned)) \
    F(cuEventCreate, , (CUevent *, unsigned)) \
    F(cuEventDestroy, _v2, (CUevent)) \
    F(cuEventRecord, , (CUevent, CUstream)) \
    F(cuEventSynchronize, , (CUevent)) \
    F(cuEventElapsedTime, , (float *, CUevent, CUevent)) \
    F(cuMemGetInfo, _v2, (size_t *, size_t *)) \
    F(cuMemHostAlloc, , (void **, size_t, unsigned)) \
    F(cuMemFreeHost, , (void *)) \
    F(cuStreamGetCtx, , (CUstream, CUcontext *)) \
    F(cuStreamGetCaptureInfo, _v2, \
      (CUstream, int *, uint64_t *, CUgraph *, const void **, size_t *)) \
    F(cuThreadExchangeStreamCaptureMode, , (int *)) \
    F(cuUserObjectCreate, , (CUuserObject *, void *, void (*)(void *), unsigned, unsigned)) \
    F(cuUserObjectRelease, , (CUuserObject, unsigned)) \
    F(cuGraphRetainUserObject, , (CUgraph, CUuserObject, unsigned, unsigned))

/* of cuLaunchKernelEx */
typedef struct {
    unsigned grid[3], block[3], local_bytes;
    CUstream stream;
    const struct tl_cuda_attribute {
        int id, unused, value[16];
    } * attributes;
    unsigned attribute_count;
} tl_cuda_launch_config;

typedef struct {
#define DECLARE(name, version, parameters) int(*name) parameters;
    TL_CUDA_CALLS(DECLARE)
#undef DECLARE
    /* since CUDA 11.8; else NULL */
    int (*cuLaunchKernelEx)(const tl_cuda_launch_config *, CUfunction, void **, void **);
} tl_cuda_api;

extern tl_cuda_api tl_cu;

/* ---- devices.c ---- */

/* The status of a call of the driver; an error sets the message. */
tally_status tl_cuda_status(tally *ctx, CUresult error, const char *call);

typedef struct {
    tl_gpu_found base; /* must be first */
    CUdevice device;
    int capability, processors, shared; /* shared: max bytes of local memory of a block */
    int64_t bandwidth;                  /* of the memory, in MB/s */
} tl_cuda_found;

/* tl_gpu_calls.find; what it finds are tl_cuda_found. */
const tl_gpu_found *tl_cuda_find(int index, int *count);

/* ---- program.c ---- */

/* Functions for tl_gpu_calls. */
tally_status tl_cuda_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code kind,
                           tl_program **program);
void tl_cuda_unload(tl_gpu *gpu, tl_program *program);
int tl_cuda_refresh(tl_gpu *gpu, tl_program *program);
void tl_cuda_improve(tl_gpu *gpu, tl_program *program, const char *text, size_t length);
tally_status tl_cuda_launch(tl_gpu *gpu, tally *ctx, tl_program *program,
                            const tl_kernel_start *start);

/* ---- code.c ---- */

/* The machine code of a program, from the cache on disk or compiled now. A text can have two codes
 * with the same bits: quick code, while a caller waits, and the best code. */

typedef struct {
    const char *text;
    size_t length;
    int capability; /* compute capability of the device */
} tl_cuda_text;

/* kind (here and below): TL_CODE_QUICK or TL_CODE_BEST. Returns the code on disk, which the caller
 * frees, or NULL. */
void *tl_cuda_code_load(const tl_cuda_text *t, tl_code kind, size_t *bytes);

/* Compiles with NVRTC; stop: as in tl_nvrtc_job. The caller frees *code. */
tally_status tl_cuda_code_make(tally *ctx, const tl_cuda_text *t, tl_code kind,
                               const atomic_int *stop, void **code, size_t *bytes);

/* Stores code on disk; the best code replaces quick code. */
void tl_cuda_code_store(const tl_cuda_text *t, tl_code kind, const void *code, size_t bytes);

/* Compiles better code in a background thread while calls use quick code. The thread only compiles
 * and touches no CUDA context. The caller loads the program at a later call. */

typedef struct tl_better tl_better; /* a requested program */

/* The requests of a device, and its thread, which runs while there are requests. */
typedef struct tl_queue tl_queue;

/* True if one more program may be requested. queue: NULL before the first request. */
int tl_better_accepts(const tl_queue *queue);

/* Requests the best code of a text, which is copied. Returns NULL if that is not possible. */
tl_better *tl_better_ask(tl_queue **queue, const tl_cuda_text *text);

/* 0 if the code is not ready. Else 1, and *better is freed; *code belongs to the caller and is
 * stored on disk, or is NULL if the compiler failed. */
int tl_better_take(tl_better **better, void **code);

/* Cancels a request; code that is ready goes to disk. Does not wait. */
void tl_better_drop(tl_better **better);

/* Stops the compiler and waits for the thread. All requests must have been taken or dropped. */
void tl_queue_end(tl_queue **queue);

/* ---- nvrtc.c ---- */

/* NVRTC, NVIDIA's compiler library, opened at run time, for what is neither embedded nor on disk;
 * cmake/kernels.c compiles with it what is embedded, with the same options. */

/* The options that the law needs, as one string for keys. */
extern const char tl_nvrtc_options[];

/* An option to compile faster while a caller waits: less optimisation, at most half the time, the
 * same bits. Since CUDA 12.8. */
extern const char tl_nvrtc_quick[];

/* Opens NVRTC once per process: `path`, or (NULL) the newest version. Returns 0 if there is
 * none. */
int tl_nvrtc_open(const char *path);

/* A text to compile. arch: "sm_90" makes machine code, "compute_90" PTX. The others may be NULL.
 * wish: an option that is dropped if this NVRTC does not know it. more: another option. stop: once
 * nonzero, the compiler gives up (version 13.0; older ones finish). log: its messages, which the
 * caller frees. */
typedef struct {
    const char *text, *arch, *wish, *more;
    const atomic_int *stop;
    char **log;
} tl_nvrtc_job;

/* Compiles a text to code, which the caller frees. Opens NVRTC. Thread-safe. */
tally_status tl_nvrtc_compile(tally *ctx, const tl_nvrtc_job *job, void **code, size_t *bytes);

/* Compiled CUDA programs in the library (TALLY_CUDA_KERNELS), found by their text: a head, entries
 * by ascending keys, and code: a fatbinary for every requested architecture, and PTX for later
 * ones. cmake/kernels.c writes the archive, embedded.c includes it. A key is a hash of text and
 * options, so a text that has changed (an old archive, TALLY_KERNELS) is compiled. */

/* The key of a CUDA program. */
tl_key tl_archive_key(const char *text, size_t length);

typedef struct {
    tl_key key;
    uint64_t at, bytes; /* offset from the archive's first byte */
} tl_archive_entry;

typedef struct {
    char magic[8];
    uint64_t count;
} tl_archive_head;

extern const char tl_archive_magic[8];

/* Returns the code of a key, or NULL. */
const void *tl_archive_find(const void *archive, tl_key key, size_t *bytes);

/* The archive in this library; it may be empty. */
extern const unsigned char tl_embedded[];
