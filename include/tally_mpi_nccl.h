/* SPDX-License-Identifier: MIT
 * tally_mpi_nccl.h - tally_mpi_allreduce of device memory, from GPU to GPU over NCCL, with one GPU
 * per rank.
 *
 *     #include <tally_mpi_nccl.h>            // needs mpi.h, nccl.h and cuda_runtime_api.h
 *     ...
 *     cudaSetDevice(gpu);
 *     tally_mpi_nccl nccl;
 *     if (tally_mpi_nccl_open(&nccl, MPI_COMM_WORLD) ||
 *         tally_mpi_allreduce_by(ctx, "sum", &mine, &out, &nccl.mover, MPI_COMM_WORLD))
 *         fprintf(stderr, "%s\n", tally_mpi_error());
 *     tally_mpi_nccl_close(&nccl);
 *
 * NCCL moves bytes and does no arithmetic: tally combines the elements in the order of the ranks.
 * So the bits are those of tally_mpi_allreduce, on any number of GPUs and with any algorithm of
 * NCCL. MPI carries what the ranks agree on. A failure of NCCL or of a GPU on one rank is an
 * error on all ranks, and no rank waits forever. The failure ends NCCL's communicator
 * (ncclCommAbort), and later calls report that. The header has the code too; link with -lnccl
 * -lcudart. */
#ifndef TALLY_MPI_NCCL_H
#define TALLY_MPI_NCCL_H

#include "tally_mpi.h"
#include <cuda_runtime_api.h>
#include <nccl.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tally_mpi_nccl {
    tally_mpi_mover mover; /* for tally_mpi_allreduce_by */
    ncclComm_t nccl;
    /* the stream of the exchanges; after tally_use_stream(ctx, stream) tally's work and the
     * exchanges need not wait for each other on the host */
    cudaStream_t stream;
    MPI_Comm comm; /* a copy of the communicator, for messages about failures */
    int rank, ranks;
    void *memory; /* the gathered elements; kept from call to call */
    size_t bytes;
    /* failed: a call failed here; told: this rank told the others; heard: another rank told this
     * one */
    int failed, told, heard;
    MPI_Request *telling; /* requests of the messages about a failure, one per rank */
    char sentence[200];
} tally_mpi_nccl;

static inline const char *tally_mpi_nccl_said_(tally_mpi_nccl *x, const char *call, const char *why)
{
    snprintf(x->sentence, sizeof x->sentence, "%s: %s", call, why);
    return x->sentence;
}
static inline const char *tally_mpi_nccl_cuda_(tally_mpi_nccl *x, const char *call,
                                               cudaError_t error)
{
    return error == cudaSuccess ? NULL : tally_mpi_nccl_said_(x, call, cudaGetErrorString(error));
}
static inline const char *tally_mpi_nccl_nccl_(tally_mpi_nccl *x, const char *call,
                                               ncclResult_t error)
{
    return error == ncclSuccess ? NULL : tally_mpi_nccl_said_(x, call, ncclGetErrorString(error));
}

static inline const char *tally_mpi_nccl_takes_(void *self, const void *p)
{
    tally_mpi_nccl *const x = (tally_mpi_nccl *)self;
    struct cudaPointerAttributes about;
    const char *const failed =
        tally_mpi_nccl_cuda_(x, "cudaPointerGetAttributes", cudaPointerGetAttributes(&about, p));
    if (failed) return failed;
    if (about.type == cudaMemoryTypeDevice || about.type == cudaMemoryTypeManaged) return NULL;
    return "it is host memory: NCCL moves device memory";
}

static inline const char *tally_mpi_nccl_reserve_(void *self, size_t bytes, void **memory)
{
    tally_mpi_nccl *const x = (tally_mpi_nccl *)self;
    const char *failed = NULL;
    if (bytes > x->bytes) {
        cudaFree(x->memory);
        x->memory = NULL, x->bytes = 0;
        failed = tally_mpi_nccl_cuda_(x, "cudaMalloc", cudaMalloc(&x->memory, bytes));
        if (!failed) x->bytes = bytes;
    }
    *memory = x->memory;
    return failed;
}

static inline const char *tally_mpi_nccl_begin_(void *self, const void *from, const size_t *send,
                                                const size_t *send_at, void *to, const size_t *got,
                                                const size_t *got_at)
{
    tally_mpi_nccl *const x = (tally_mpi_nccl *)self;
    const char *const a = (const char *)from, *failed = NULL, *ended;
    char *const b = (char *)to;
    const int me = x->rank;
    if (!x->nccl)
        return "NCCL's communicator was ended by an earlier failure: close it and open another";
    if (send[me])
        failed = tally_mpi_nccl_cuda_(x, "cudaMemcpyAsync",
                                      cudaMemcpyAsync(b + got_at[me], a + send_at[me], send[me],
                                                      cudaMemcpyDeviceToDevice, x->stream));
    if (!failed) failed = tally_mpi_nccl_nccl_(x, "ncclGroupStart", ncclGroupStart());
    if (!failed) {
        for (int k = 1; k < x->ranks && !failed; k++) {
            const int to_rank = (me + k) % x->ranks, of_rank = (me - k + x->ranks) % x->ranks;
            if (send[to_rank])
                failed = tally_mpi_nccl_nccl_(x, "ncclSend",
                                              ncclSend(a + send_at[to_rank], send[to_rank],
                                                       ncclChar, to_rank, x->nccl, x->stream));
            if (!failed && got[of_rank])
                failed = tally_mpi_nccl_nccl_(x, "ncclRecv",
                                              ncclRecv(b + got_at[of_rank], got[of_rank], ncclChar,
                                                       of_rank, x->nccl, x->stream));
        }
        ended = tally_mpi_nccl_nccl_(x, "ncclGroupEnd", ncclGroupEnd());
        if (!failed) failed = ended;
    }
    x->failed |= failed != NULL;
    return failed;
}

/* the tag of messages about a failure; polls of the stream between two checks for a failure */
enum { TALLY_MPI_NCCL_TOLD_ = 1, TALLY_MPI_NCCL_LOOKS_ = 256 };

/* Waits for the stream. A rank that fails tells the other ranks, which may be waiting for its
 * data. */
static inline const char *tally_mpi_nccl_wait_(void *self)
{
    tally_mpi_nccl *const x = (tally_mpi_nccl *)self;
    const char *failed = NULL;
    MPI_Status about;
    for (int polls = 1; !failed; polls++) {
        const cudaError_t state = cudaStreamQuery(x->stream);
        if (state == cudaSuccess) return NULL;
        if (state != cudaErrorNotReady) {
            failed = tally_mpi_nccl_cuda_(x, "cudaStreamQuery", state);
        } else if (polls % TALLY_MPI_NCCL_LOOKS_ == 0) {
            ncclResult_t error = ncclSuccess;
            int told = 0;
            failed = tally_mpi_nccl_nccl_(x, "ncclCommGetAsyncError",
                                          ncclCommGetAsyncError(x->nccl, &error));
            if (!failed && error != ncclInProgress) failed = tally_mpi_nccl_nccl_(x, "NCCL", error);
            if (!failed) MPI_Iprobe(MPI_ANY_SOURCE, TALLY_MPI_NCCL_TOLD_, x->comm, &told, &about);
            if (told) {
                char why[sizeof x->sentence];
                MPI_Recv(why, (int)sizeof why, MPI_CHAR, about.MPI_SOURCE, TALLY_MPI_NCCL_TOLD_,
                         x->comm, &about);
                x->failed = x->heard = 1;
                snprintf(x->sentence, sizeof x->sentence, "rank %d: %.160s", about.MPI_SOURCE, why);
                return x->sentence;
            }
        }
    }
    x->failed = x->told = 1;
    for (int r = 0; r < x->ranks; r++)
        if (r != x->rank)
            MPI_Isend(x->sentence, (int)sizeof x->sentence, MPI_CHAR, r, TALLY_MPI_NCCL_TOLD_,
                      x->comm, &x->telling[r]);
    return failed;
}

/* On all ranks: receives all messages about failures. If NCCL failed on any rank, ends its
 * communicator on all. */
static inline void tally_mpi_nccl_abandon_(void *self)
{
    tally_mpi_nccl *const x = (tally_mpi_nccl *)self;
    const int mine[2] = {x->failed, x->told};
    int all[2] = {1, 0};
    char why[sizeof x->sentence];
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, x->comm);
    for (int k = x->told + x->heard; k < all[1]; k++)
        MPI_Recv(why, (int)sizeof why, MPI_CHAR, MPI_ANY_SOURCE, TALLY_MPI_NCCL_TOLD_, x->comm,
                 MPI_STATUS_IGNORE);
    for (int r = 0; r < x->ranks; r++) MPI_Wait(&x->telling[r], MPI_STATUS_IGNORE);
    x->failed = x->told = x->heard = 0;
    if (!all[0] || !x->nccl) return;
    ncclCommAbort(x->nccl);
    x->nccl = NULL;
}

/* Ends the communicator and frees the memory, also after a failure. Collective. */
static inline void tally_mpi_nccl_close(tally_mpi_nccl *x)
{
    if (x->nccl) ncclCommDestroy(x->nccl);
    if (x->stream) cudaStreamDestroy(x->stream);
    cudaFree(x->memory);
    free(x->telling);
    if (x->comm != MPI_COMM_NULL) MPI_Comm_free(&x->comm);
    memset(x, 0, sizeof *x);
    x->comm = MPI_COMM_NULL;
}

/* Makes an NCCL communicator and a stream over the ranks of comm. Each rank uses its current CUDA
 * device; no two ranks may use the same one. Collective: all ranks succeed, or none. */
static inline tally_status tally_mpi_nccl_open(tally_mpi_nccl *x, MPI_Comm comm)
{
    ncclUniqueId id;
    const char *failed = NULL;
    memset(x, 0, sizeof *x);
    memset(&id, 0, sizeof id);
    x->comm = MPI_COMM_NULL;
    if (MPI_Comm_dup(comm, &x->comm) || MPI_Comm_rank(comm, &x->rank) ||
        MPI_Comm_size(comm, &x->ranks))
        return tally_mpi_fail_(TALLY_IO, "comm: the MPI library refuses it");
    x->telling = (MPI_Request *)malloc((size_t)x->ranks * sizeof *x->telling);
    if (!x->telling) failed = "no memory for the ranks";
    for (int r = 0; r < x->ranks && !failed; r++) x->telling[r] = MPI_REQUEST_NULL;
    if (!failed)
        failed = tally_mpi_nccl_cuda_(x, "cudaStreamCreateWithFlags",
                                      cudaStreamCreateWithFlags(&x->stream, cudaStreamNonBlocking));
    if (!failed && !x->rank)
        failed = tally_mpi_nccl_nccl_(x, "ncclGetUniqueId", ncclGetUniqueId(&id));
    tally_status status = tally_mpi_agree_(x->comm, tally_mpi_moved_(failed));
    if (!status && MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, x->comm))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Bcast failed");
    if (!status) {
        failed = tally_mpi_nccl_nccl_(x, "ncclCommInitRank",
                                      ncclCommInitRank(&x->nccl, x->ranks, id, x->rank));
        if (failed) x->nccl = NULL;
        status = tally_mpi_agree_(x->comm, tally_mpi_moved_(failed));
    }
    if (status) {
        if (x->nccl) ncclCommAbort(x->nccl);
        x->nccl = NULL;
        tally_mpi_nccl_close(x);
        return status;
    }
    x->mover.self = x;
    x->mover.takes = tally_mpi_nccl_takes_;
    x->mover.capacity = tally_mpi_nccl_reserve_;
    x->mover.begin = tally_mpi_nccl_begin_;
    x->mover.wait = tally_mpi_nccl_wait_;
    x->mover.abandon = tally_mpi_nccl_abandon_;
    return TALLY_OK;
}

#ifdef __cplusplus
}
#endif
#endif
