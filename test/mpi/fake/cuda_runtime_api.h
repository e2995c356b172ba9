/* SPDX-License-Identifier: MIT
 * As much of CUDA's runtime as tally_mpi_nccl.h uses, over host memory; a stream ends when what
 * fake nccl.h sends and receives is there. */
#ifndef TEST_FAKE_CUDA_RUNTIME_API_H
#define TEST_FAKE_CUDA_RUNTIME_API_H
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorECCUncorrectable = 214,
    cudaErrorNotReady = 600
} cudaError_t;
typedef enum {
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3
} cudaMemoryType;
typedef enum { cudaMemcpyDeviceToDevice = 3 } cudaMemcpyKind;
typedef struct fake_stream *cudaStream_t;
enum { cudaStreamNonBlocking = 1, FAKE_REQUESTS = 256 };
struct cudaPointerAttributes {
    cudaMemoryType type;
};

/* What goes wrong on rank fake_rank: nothing, a send, a stream after it began, memory. */
enum { FAKE_WELL, FAKE_SEND, FAKE_STREAM, FAKE_MEMORY };
static int fake_fault, fake_rank, fake_me;
static const void *fake_host; /* the one address that is no device memory */
static MPI_Request fake_request[FAKE_REQUESTS];
static int fake_requests;

static inline const char *cudaGetErrorString(cudaError_t e)
{
    return e == cudaErrorECCUncorrectable ? "uncorrectable ECC error encountered"
           : e                            ? "out of memory"
                                          : "no error";
}
static inline cudaError_t cudaMalloc(void **p, size_t bytes)
{
    *p = fake_fault == FAKE_MEMORY && fake_me == fake_rank ? NULL : malloc(bytes);
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline cudaError_t cudaFree(void *p) { return free(p), cudaSuccess; }
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    return *s = (cudaStream_t)malloc(flags), cudaSuccess;
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t s) { return free((void *)s), cudaSuccess; }
static inline cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
    return a->type = p == fake_host ? cudaMemoryTypeHost : cudaMemoryTypeDevice, cudaSuccess;
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind,
                                          cudaStream_t s)
{
    return (void)kind, (void)s, memcpy(to, from, n), cudaSuccess;
}
static inline cudaError_t cudaStreamQuery(cudaStream_t s)
{
    int done = 0;
    (void)s;
    if (fake_fault == FAKE_STREAM)
        return fake_me == fake_rank ? cudaErrorECCUncorrectable : cudaErrorNotReady;
    while (fake_requests) {
        MPI_Test(&fake_request[fake_requests - 1], &done, MPI_STATUS_IGNORE);
        if (!done) return cudaErrorNotReady;
        fake_requests--;
    }
    return cudaSuccess;
}
#endif
