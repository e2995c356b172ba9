/* SPDX-License-Identifier: MIT
 * What the files of CUDA devices share: the opened device, and declarations with the names and
 * values of NVIDIA's headers, so that no headers are needed to build. */
#ifndef TALLY_CUDA_H
#define TALLY_CUDA_H

#include "gpu/gpu.h"

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

typedef struct {
#define DECLARE(name, version, parameters) int(*name) parameters;
    TL_CUDA_CALLS(DECLARE)
#undef DECLARE
} tl_cuda_api;

extern tl_cuda_api tl_cu;

/* ---- devices.c ---- */

/* The status of a call of the driver; an error sets the message. */
tally_status tl_cuda_status(tally *ctx, CUresult error, const char *call);

typedef struct {
    CUdevice device;
    int capability, processors, shared; /* shared: max bytes of local memory of a block */
    int64_t bandwidth;                  /* of the memory, in MB/s */
    char name[16], text[240];
} tl_cuda_found;

/* Returns device number index, or NULL if there are only *count devices. */
const tl_cuda_found *tl_cuda_find(int index, int *count);

/* ---- program.c ---- */

/* Functions for tl_gpu_calls. */
tally_status tl_cuda_build(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code how,
                           tl_program **program);
void tl_cuda_unload(tl_gpu *gpu, tl_program *program);
int tl_cuda_refresh(tl_gpu *gpu, tl_program *program);
void tl_cuda_improve(tl_gpu *gpu, tl_program *program, const char *text, size_t length);
tally_status tl_cuda_launch(tl_gpu *gpu, tally *ctx, tl_program *program,
                            const tl_kernel_start *start);

#endif
