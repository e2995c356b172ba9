/* SPDX-License-Identifier: MIT
 * As much of NCCL as tally_mpi_nccl.h uses, over MPI. */
#ifndef TEST_FAKE_NCCL_H
#define TEST_FAKE_NCCL_H
#include <cuda_runtime_api.h>

typedef enum { ncclSuccess = 0, ncclSystemError = 2, ncclInProgress = 7 } ncclResult_t;
typedef enum { ncclChar = 0 } ncclDataType_t;
typedef struct fake_comm {
    MPI_Comm comm;
} * ncclComm_t;
typedef struct ncclUniqueId {
    char internal[128];
} ncclUniqueId;

static inline const char *ncclGetErrorString(ncclResult_t e)
{
    return e ? "unhandled system error" : "no error";
}
static inline ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    return memset(id, 1, sizeof *id), ncclSuccess;
}
static inline ncclResult_t ncclCommInitRank(ncclComm_t *c, int ranks, ncclUniqueId id, int rank)
{
    (void)ranks, (void)id;
    fake_me = rank;
    *c = (ncclComm_t)malloc(sizeof **c);
    return MPI_Comm_dup(MPI_COMM_WORLD, &(*c)->comm) ? ncclSystemError : ncclSuccess;
}
static inline ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    MPI_Comm_free(&c->comm);
    free(c);
    return ncclSuccess;
}
static inline ncclResult_t ncclCommAbort(ncclComm_t c)
{
    for (int k = 0; k < fake_requests; k++) {
        MPI_Cancel(&fake_request[k]);
        MPI_Request_free(&fake_request[k]);
    }
    fake_requests = 0;
    /* its MPI communicator stays: messages that nobody takes must not meet those of the next one */
    free(c);
    return ncclSuccess;
}
static inline ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *e)
{
    return (void)c, *e = ncclSuccess, ncclSuccess;
}
static inline ncclResult_t ncclGroupStart(void) { return ncclSuccess; }
static inline ncclResult_t ncclGroupEnd(void) { return ncclSuccess; }
static inline ncclResult_t ncclSend(const void *p, size_t n, ncclDataType_t t, int rank,
                                    ncclComm_t c, cudaStream_t s)
{
    (void)t, (void)s;
    if (fake_fault == FAKE_SEND && fake_me == fake_rank) return ncclSystemError;
    MPI_Isend(p, (int)n, MPI_BYTE, rank, 0, c->comm, &fake_request[fake_requests++]);
    return ncclSuccess;
}
static inline ncclResult_t ncclRecv(void *p, size_t n, ncclDataType_t t, int rank, ncclComm_t c,
                                    cudaStream_t s)
{
    (void)t, (void)s;
    MPI_Irecv(p, (int)n, MPI_BYTE, rank, 0, c->comm, &fake_request[fake_requests++]);
    return ncclSuccess;
}
#endif
