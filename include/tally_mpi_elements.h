/* SPDX-License-Identifier: MIT
 * tally_mpi_elements.h - the call tally_mpi_allreduce of tally_mpi.h, which moves elements between
 * ranks. Include tally_mpi.h instead. Names that end in _ are private. */
#ifndef TALLY_MPI_ELEMENTS_H
#define TALLY_MPI_ELEMENTS_H

#include "tally_mpi_ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- allreduce ------------------------------------------------------------------------------- */

/* Moves device memory between ranks. Without a mover, elements are copied through the host and
 * MPI. tally_mpi_nccl.h has a mover over NCCL; others can be written over a CUDA-aware MPI or
 * RCCL. Every rank makes the same calls. A call returns NULL, or a sentence that says what
 * failed, valid until the next call. */
typedef struct tally_mpi_mover {
    void *self;
    /* Returns NULL if the mover can move memory at p. */
    const char *(*takes)(void *self, const void *p);
    /* Sets *memory to at least `bytes` bytes of device memory, valid until the next call of
     * room. */
    const char *(*capacity)(void *self, size_t bytes, void **memory);
    /* Starts the exchange of one call: for each rank r, this one included, sends send[r] bytes at
     * from + send_at[r] to rank r, and receives got[r] bytes of rank r at to + got_at[r]. On this
     * rank send[r] is got[r]. */
    const char *(*begin)(void *self, const void *from, const size_t *send, const size_t *send_at,
                         void *to, const size_t *got, const size_t *got_at);
    /* Waits until the started exchange is done. */
    const char *(*wait)(void *self);
    /* Called by all ranks after a failure of any kind on one of them: ends an exchange that was
     * started and cannot complete. */
    void (*abandon)(void *self);
} tally_mpi_mover;

/* The share of rank r of n elements: it reduces elements tally_mpi_share_(n, ranks, r) to
 * tally_mpi_share_(n, ranks, r + 1) - 1. */
static inline long long tally_mpi_share_(long long n, int ranks, int r)
{
    const long long more = n % ranks;
    return n / ranks * r + (r < more ? r : more);
}

/* The state of an allreduce: where elements are, and how many are sent. */
typedef struct tally_mpi_swap_ {
    const tally_mpi_mover *mover; /* NULL: MPI */
    MPI_Comm comm;
    int rank, ranks;
    long long n, share; /* elements of a rank; of this rank's share */
    size_t size, result;
    const char *from;   /* n elements */
    char *to, *all;     /* n results; the elements of this share, of all ranks */
    size_t *bytes;      /* for the mover: four numbers per rank */
    int *counts;        /* for MPI */
    char *here, *there; /* host copies of a device's elements and results; NULL: none */
} tally_mpi_swap_;

static inline tally_status tally_mpi_moved_(const char *failed)
{
    return failed ? tally_mpi_fail_(TALLY_IO, "%s", failed) : TALLY_OK;
}

static inline tally_status tally_mpi_by_mover_(const tally_mpi_swap_ *x, const void *from, void *to)
{
    size_t *const p = x->bytes;
    const int ranks = x->ranks;
    const tally_status status = tally_mpi_agree_(
        x->comm, tally_mpi_moved_(x->mover->begin(x->mover->self, from, p, p + ranks, to,
                                                  p + 2 * ranks, p + 3 * ranks)));
    return status ? status : tally_mpi_moved_(x->mover->wait(x->mover->self));
}

/* Gathers this rank's share of the elements of every rank into x->all, in the order of the
 * ranks. */
static inline tally_status tally_mpi_gather_share_(const tally_mpi_swap_ *x)
{
    MPI_Datatype element = MPI_DATATYPE_NULL;
    int *const send = x->counts, *const send_at = send + x->ranks, *const got = send_at + x->ranks,
               *const got_at = got + x->ranks;
    for (int r = 0; r < x->ranks; r++) {
        const long long at = tally_mpi_share_(x->n, x->ranks, r),
                        n = tally_mpi_share_(x->n, x->ranks, r + 1) - at;
        const long long here = x->share * r; /* at most n + ranks */
        if (x->mover) {
            x->bytes[r] = (size_t)n * x->size, x->bytes[x->ranks + r] = (size_t)at * x->size;
            x->bytes[2 * x->ranks + r] = (size_t)x->share * x->size;
            x->bytes[3 * x->ranks + r] = (size_t)here * x->size;
        } else {
            send[r] = (int)n, send_at[r] = (int)at, got[r] = (int)x->share, got_at[r] = (int)here;
        }
    }
    if (x->mover) return tally_mpi_by_mover_(x, x->from, x->all);
    int bad = MPI_Type_contiguous((int)x->size, MPI_BYTE, &element) || MPI_Type_commit(&element);
    if (!bad)
        bad = MPI_Alltoallv(x->from, send, send_at, element, x->all, got, got_at, element, x->comm);
    if (element != MPI_DATATYPE_NULL) MPI_Type_free(&element);
    return bad ? tally_mpi_fail_(TALLY_IO, "MPI_Alltoallv failed") : TALLY_OK;
}

/* Sends each rank's results, which are at its share of x->to, to all ranks. */
static inline tally_status tally_mpi_spread_results_(const tally_mpi_swap_ *x)
{
    MPI_Datatype whole = MPI_DATATYPE_NULL;
    int *const count = x->counts, *const place = count + x->ranks;
    const long long mine = tally_mpi_share_(x->n, x->ranks, x->rank);
    for (int r = 0; r < x->ranks; r++) {
        const long long at = tally_mpi_share_(x->n, x->ranks, r),
                        n = tally_mpi_share_(x->n, x->ranks, r + 1) - at;
        if (x->mover) {
            const int other = r != x->rank; /* this rank's results are in place */
            x->bytes[r] = other ? (size_t)x->share * x->result : 0;
            x->bytes[x->ranks + r] = (size_t)mine * x->result;
            x->bytes[2 * x->ranks + r] = other ? (size_t)n * x->result : 0;
            x->bytes[3 * x->ranks + r] = (size_t)at * x->result;
        } else {
            count[r] = (int)n, place[r] = (int)at;
        }
    }
    if (x->mover) return tally_mpi_by_mover_(x, x->to, x->to);
    int bad = MPI_Type_contiguous((int)x->result, MPI_BYTE, &whole) || MPI_Type_commit(&whole);
    if (!bad)
        bad =
            MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x->to, count, place, whole, x->comm);
    if (whole != MPI_DATATYPE_NULL) MPI_Type_free(&whole);
    return bad ? tally_mpi_fail_(TALLY_IO, "MPI_Allgatherv failed") : TALLY_OK;
}

/* Gathers this rank's share of an array beside the elements: n values of `size` bytes in host
 * memory. The caller frees *all. */
static inline tally_status tally_mpi_gather_beside_(const tally_mpi_swap_ *x, const char *from,
                                                    size_t size, char **all)
{
    tally_mpi_swap_ beside = *x;
    beside.from = from, beside.size = size;
    beside.all = *all = (char *)malloc((size_t)x->ranks * (size_t)x->share * size + 1);
    const tally_status status =
        *all ? TALLY_OK
             : tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements of %d ranks", x->share,
                               x->ranks);
    const tally_status met = tally_mpi_agree_(x->comm, status);
    return met ? met : tally_mpi_gather_share_(&beside);
}

/* Checks the arguments on this rank. */
static inline tally_status tally_mpi_allreduce_check_(tally *ctx, const char *op,
                                                      const tally_view *mine, const tally_view *out,
                                                      const tally_mpi_mover *mover, int ranks,
                                                      long long *n, tally_operator_info *info)
{
    long long capacity;
    const char *cannot = NULL;
    tally_status status = tally_mpi_input_(ctx, mine, n);
    if (!status) status = tally_mpi_dense_(out, "out", &capacity);
    if (status) return status;
    if (capacity != *n)
        return tally_mpi_fail_(TALLY_INVALID,
                               "out has %lld results and mine %lld elements: must be the same",
                               capacity, *n);
    if (*n > 0x7fffffff - ranks)
        return tally_mpi_fail_(TALLY_UNSUPPORTED,
                               "mine has %lld elements: must be at most 2^31 - 1 - ranks", *n);
    const tally_dtype dtype =
        mine->next ? tally_common_dtype(mine->dtype, mine->next->dtype) : mine->dtype;
    if ((status = tally_operator(ctx, op, dtype, info)))
        return tally_mpi_fail_(status, "%s", tally_error(ctx));
    if ((info->inputs == 2) != (mine->next != NULL))
        return tally_mpi_fail_(TALLY_INVALID, "mine has %s second input: %s takes %d input%s",
                               mine->next ? "a" : "no", op, info->inputs,
                               info->inputs == 2 ? "s" : "");
    if (mover && tally_mpi_has_inputs_(mine))
        return tally_mpi_fail_(
            TALLY_UNSUPPORTED,
            "mine has validity or a second input: these go through the host (tally_mpi_allreduce)");
    if (out->dtype != info->output)
        return tally_mpi_fail_(TALLY_INVALID, "out is %s: the results of %s are %s",
                               tally_dtype_name(out->dtype), op, tally_dtype_name(info->output));
    if (mover && *n && (cannot = mover->takes(mover->self, mine->data)))
        return tally_mpi_fail_(TALLY_INVALID, "mine: %s", cannot);
    if (mover && *n && (cannot = mover->takes(mover->self, out->data)))
        return tally_mpi_fail_(TALLY_INVALID, "out: %s", cannot);
    return TALLY_OK;
}

/* Computes this rank's share of the results. Row i is element i of all ranks, in the order of the
 * ranks. valid: some rank has validity. */
static inline tally_status tally_mpi_fold_share_(tally *ctx, const char *op,
                                                 const tally_mpi_swap_ *x, const tally_view *mine,
                                                 int valid)
{
    tally_view rows = tally_flat(x->all, mine->dtype, x->ranks), beside;
    char *valid_bytes = NULL, *there = NULL, *y = NULL, *memory = NULL;
    const char *from = NULL;
    unsigned char *bits = NULL;
    tally_status status = valid ? tally_mpi_there_(ctx, mine, x->n, &valid_bytes) : TALLY_OK;
    if (!status && mine->next)
        status =
            tally_mpi_read_(ctx, mine->next->data,
                            (size_t)x->n * tally_dtype_size(mine->next->dtype), &from, &memory);
    if (valid || mine->next) status = tally_mpi_agree_(x->comm, status);
    if (!status && mine->next)
        status = tally_mpi_gather_beside_(x, from, tally_dtype_size(mine->next->dtype), &y);
    if (!status && valid) {
        status = tally_mpi_gather_beside_(x, valid_bytes, 1, &there);
        if (!status && !(bits = tally_mpi_bits_(there, x->share * x->ranks)))
            status =
                tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld bits", x->share * x->ranks);
    }
    if (!status && x->share) {
        rows.rows = x->share;
        rows.stride = x->share;
        rows.row_stride = 1;
        beside = rows;
        rows.valid = bits;
        if (mine->next) beside.data = y, beside.dtype = mine->next->dtype, rows.next = &beside;
        status = tally_reduce(
            ctx, op, &rows, x->to + (size_t)tally_mpi_share_(x->n, x->ranks, x->rank) * x->result);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    free(valid_bytes);
    free(there);
    free(y);
    free(memory);
    free(bits);
    return status;
}

/* Allocates the memory of a swap, and copies elements of a device to the host. Close it after a
 * failure too. */
static inline tally_status tally_mpi_open_swap_(tally *ctx, tally_mpi_swap_ *x,
                                                const tally_view *mine, const tally_view *out,
                                                const tally_operator_info *info)
{
    const size_t ranks = (size_t)x->ranks;
    int from_device = -1, to_device = -1;
    tally_status status = TALLY_OK;
    x->share =
        tally_mpi_share_(x->n, x->ranks, x->rank + 1) - tally_mpi_share_(x->n, x->ranks, x->rank);
    x->size = tally_dtype_size(mine->dtype);
    x->result = tally_dtype_size(info->output) * (size_t)info->lanes;
    x->from = (const char *)mine->data, x->to = (char *)(uintptr_t)out->data;
    x->bytes = (size_t *)calloc(4 * ranks, sizeof *x->bytes);
    x->counts = (int *)calloc(4 * ranks, sizeof *x->counts);
    const size_t capacity = ranks * (size_t)x->share * x->size + 1;
    if (x->mover) {
        void *all = NULL;
        status = tally_mpi_moved_(x->mover->capacity(x->mover->self, capacity, &all));
        x->all = (char *)all;
    } else {
        if ((status = tally_owner(ctx, mine->data, &from_device)) ||
            (status = tally_owner(ctx, out->data, &to_device)))
            tally_mpi_fail_(status, "%s", tally_error(ctx));
        if (from_device >= 0) x->from = x->here = (char *)malloc((size_t)x->n * x->size + 1);
        if (to_device >= 0) x->to = x->there = (char *)malloc((size_t)x->n * x->result + 1);
        x->all = (char *)malloc(capacity);
    }
    if (!status && (!x->bytes || !x->counts || !x->all || (x->n && (!x->from || !x->to))))
        status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements of %d ranks",
                                 x->share, x->ranks);
    if (!status && x->here &&
        (status = tally_copy(ctx, x->here, mine->data, (size_t)x->n * x->size)))
        tally_mpi_fail_(status, "%s", tally_error(ctx));
    return status;
}

static inline void tally_mpi_close_swap_(tally_mpi_swap_ *x)
{
    if (!x->mover) free(x->all);
    free(x->here);
    free(x->there);
    free(x->bytes);
    free(x->counts);
}

/* tally_mpi_allreduce for elements (`mine`) and results (`out`) in memory that the mover accepts.
 * ctx uses its own stream, or the mover's. */
static inline tally_status tally_mpi_allreduce_by(tally *ctx, const char *op,
                                                  const tally_view *mine, const tally_view *out,
                                                  const tally_mpi_mover *mover, MPI_Comm comm)
{
    tally_operator_info info;
    tally_mpi_swap_ x;
    /* used for tally_mpi_begin_: the hash contains n, and m.n counts the ranks with validity */
    tally_mpi_ m;
    memset(&x, 0, sizeof x);
    x.mover = mover, x.comm = comm;
    MPI_Comm_rank(comm, &x.rank);
    MPI_Comm_size(comm, &x.ranks);
    tally_status status =
        tally_mpi_allreduce_check_(ctx, op, mine, out, mover, x.ranks, &x.n, &info);
    if (!status) status = tally_mpi_open_swap_(ctx, &x, mine, out, &info);
    const int has = mine && (mine->valid || (mine->next && mine->next->valid));
    status = tally_mpi_begin_(
        &m, comm, -1, has,
        tally_mpi_hash_(tally_mpi_what_(ctx, "allreduce", op, mine), &x.n, sizeof x.n), status);
    const int valid = m.n > 0;
    tally_mpi_end_(&m);
    const int met = !status;
    if (!status) {
        status = tally_mpi_gather_share_(&x);
        if (!status) status = tally_mpi_fold_share_(ctx, op, &x, mine, valid);
        status = tally_mpi_agree_(comm, status);
    }
    if (!status) {
        status = tally_mpi_spread_results_(&x);
        if (!status && x.there &&
            (status =
                 tally_copy(ctx, (void *)(uintptr_t)out->data, x.there, (size_t)x.n * x.result)))
            tally_mpi_fail_(status, "%s", tally_error(ctx));
        status = tally_mpi_agree_(comm, status);
    }
    if (met && status && mover) mover->abandon(mover->self);
    tally_mpi_close_swap_(&x);
    return status;
}

/* Element by element over the ranks: out[i] is tally_reduce of element i of every rank, in the
 * order of the ranks. All ranks have the same number of elements, and all get all results. out
 * may be `mine`. Each element is sent twice, as in a ring allreduce; if any rank has validity,
 * one more byte per element; a second input once. */
static inline tally_status tally_mpi_allreduce(tally *ctx, const char *op, const tally_view *mine,
                                               const tally_view *out, MPI_Comm comm)
{
    return tally_mpi_allreduce_by(ctx, op, mine, out, NULL, comm);
}

#ifdef __cplusplus
}
#endif
#endif
