/* SPDX-License-Identifier: MIT
 * tally_mpi_elements.h - the calls of tally_mpi.h that move elements between ranks: window and
 * allreduce. Include tally_mpi.h instead. Names that end in _ are private. */
#ifndef TALLY_MPI_ELEMENTS_H
#define TALLY_MPI_ELEMENTS_H

#include "tally_mpi_ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- window ---------------------------------------------------------------------------------- */

/* Returns the number of elements that part `of` needs from part `from`; they begin at *begin. o:
 * the window. */
static inline long long tally_mpi_halo_(const tally_mpi_ *m, int of, int from,
                                        const tally_window_options *o, long long *begin)
{
    const tally_mpi_part_ *p = &m->part[of], *q = &m->part[from];
    if (!p->n || !q->n || of == from) return 0;
    /* all elements of `from`, less those that are too far away */
    long long a = q->start, b = q->start + q->n;
    if (from < of && a < p->start - o->before) a = p->start - o->before;
    if (from > of && b > p->start + p->n + o->after) b = p->start + p->n + o->after;
    *begin = a;
    return b > a ? b - a : 0;
}

/* Copies of the first and the last elements of this rank's part, in host memory: n of each, where
 * n is before + after, or the part's length if that is less. The caller frees memory. */
typedef struct tally_mpi_ends_ {
    const char *head, *tail;
    long long n;
    char *memory;
} tally_mpi_ends_;

static inline tally_status tally_mpi_ends_of_(tally *ctx, const tally_view *mine, long long n,
                                              long long reach, tally_mpi_ends_ *e)
{
    const size_t size = tally_dtype_size(mine->dtype);
    const char *const x = (const char *)mine->data;
    int owner;
    memset(e, 0, sizeof *e);
    e->n = n < reach ? n : reach;
    const size_t bytes = (size_t)e->n * size;
    e->head = x, e->tail = n ? x + (size_t)(n - e->n) * size : x;
    tally_status status = tally_owner(ctx, x, &owner);
    if (!status && owner >= 0) {
        if (!(e->memory = (char *)malloc(2 * bytes + 1)))
            return tally_mpi_fail_(TALLY_NO_MEMORY,
                                   "no memory for %lld elements at the ends of mine", e->n);
        status = tally_copy(ctx, e->memory, e->head, bytes);
        if (!status && n > e->n) status = tally_copy(ctx, e->memory + bytes, e->tail, bytes);
        e->head = e->memory, e->tail = n > e->n ? e->memory + bytes : e->memory;
    }
    return status ? tally_mpi_fail_(status, "%s", tally_error(ctx)) : TALLY_OK;
}

/* Exchanges the elements that windows need from other parts. *halo receives the *before elements
 * before this rank's part, then the *after elements after it. The caller frees *halo. */
static inline tally_status tally_mpi_exchange_(const tally_mpi_ *m, const tally_mpi_ends_ *ends,
                                               const tally_window_options *o, size_t size,
                                               char **halo, long long *before, long long *after)
{
    int *const counts = (int *)calloc((size_t)m->ranks * 4 + 1, sizeof(int));
    int *const send = counts, *const send_at = counts + m->ranks,
               *const got = counts + 2 * m->ranks, *const got_at = counts + 3 * m->ranks;
    const tally_mpi_part_ *const mine = &m->part[m->here];
    MPI_Datatype element = MPI_DATATYPE_NULL;
    char *packed = NULL;
    long long begin = 0, sent = 0, total = 0, count;
    *halo = NULL;
    *before = *after = 0;
    for (int k = 0; k < m->ranks; k++) {
        sent += tally_mpi_halo_(m, k, m->here, o, &begin);
        total += count = tally_mpi_halo_(m, m->here, k, o, &begin);
        *(k < m->here ? before : after) += count;
    }
    tally_status status = TALLY_OK;
    if (sent > 0x7fffffff || total > 0x7fffffff)
        status = tally_mpi_fail_(
            TALLY_UNSUPPORTED,
            "before and after: %lld elements go between ranks, at most 2^31 - 1 can",
            sent > total ? sent : total);
    else if (!counts || !(packed = (char *)malloc((size_t)sent * size + 1)) ||
             !(*halo = (char *)malloc((size_t)total * size + 1)))
        status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements between ranks",
                                 sent + total);
    status = tally_mpi_agree_(m->comm, status);
    sent = total = 0;
    for (int k = 0; k < m->ranks && !status; k++) {
        const int r = m->part[k].rank;
        send[r] = (int)tally_mpi_halo_(m, k, m->here, o, &begin);
        send_at[r] = (int)sent;
        /* a later part needs the last elements of this part, an earlier part the first */
        if (send[r]) {
            const char *const from =
                k > m->here
                    ? ends->tail + (size_t)(begin - (mine->start + mine->n - ends->n)) * size
                    : ends->head + (size_t)(begin - mine->start) * size;
            memcpy(packed + (size_t)sent * size, from, (size_t)send[r] * size);
        }
        sent += send[r];
        got[r] = (int)tally_mpi_halo_(m, m->here, k, o, &begin);
        got_at[r] = (int)total;
        total += got[r];
    }
    if (!status &&
        (MPI_Type_contiguous((int)size, MPI_BYTE, &element) || MPI_Type_commit(&element) ||
         MPI_Alltoallv(packed, send, send_at, element, *halo, got, got_at, element, m->comm)))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Alltoallv failed");
    if (element != MPI_DATATYPE_NULL) MPI_Type_free(&element);
    free(packed);
    free(counts);
    return status;
}

/* Computes the results of windows at one end of a part. The windows read `left` elements of halo,
 * `n` of this part at `from`, and `right` of halo_right. Results first .. first + count - 1 go to
 * out. Only out may be device memory. The processors do the work, because it is small. */
static inline tally_status tally_mpi_edge_(tally *ctx, const char *op,
                                           const tally_operator_info *info, tally_dtype dtype,
                                           const char *halo, long long left, const char *from,
                                           long long n, const char *halo_right, long long right,
                                           const tally_window_options *o, long long first,
                                           long long count, char *out)
{
    const size_t result = tally_dtype_size(info->output) * (size_t)info->lanes;
    const long long all = left + n + right;
    const char *const x[3] = {halo, from, halo_right};
    tally_stream *s = NULL;
    int64_t made = 0, now = 0;
    tally_status status = tally_stream_window(ctx, op, dtype, o, &s);
    char *const y =
        status ? NULL : (char *)malloc((size_t)(all + tally_stream_room(s, -1)) * result + 1);
    if (!status && !y) {
        tally_stream_close(s);
        return tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld results at a rank's end", all);
    }
    const long long length[3] = {left, n, right};
    for (int i = 0; i < 3 && !status; i++, made += now)
        status = tally_stream_push(s, x[i], length[i], y + (size_t)made * result, &now);
    if (!status) status = tally_stream_finish(s, y + (size_t)made * result, &now);
    if (!status && count)
        status = tally_copy(ctx, out, y + (size_t)first * result, (size_t)count * result);
    if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    tally_stream_close(s);
    free(y);
    return status;
}

/* Sets *all to the elements before this rank's part, the part, and the elements after it, of
 * `size` bytes each, as one array. The caller frees *all. */
static inline tally_status tally_mpi_around_(const tally_mpi_ *m, const void *data, size_t size,
                                             long long n, const tally_window_options *o, char **all,
                                             long long *left, long long *right)
{
    const tally_mpi_ends_ mine = {(const char *)data, (const char *)data, n, NULL};
    char *halo = NULL;
    *all = NULL;
    tally_status status = tally_mpi_exchange_(m, &mine, o, size, &halo, left, right);
    if (!status && !(*all = (char *)malloc((size_t)(*left + n + *right) * size + 1)))
        status = tally_mpi_fail_(TALLY_NO_MEMORY,
                                 "no memory for %lld elements and those around them", n);
    status = tally_mpi_agree_(m->comm, status);
    if (!status) {
        memcpy(*all, halo, (size_t)*left * size);
        if (n) memcpy(*all + (size_t)*left * size, data, (size_t)n * size);
        memcpy(*all + (size_t)(*left + n) * size, halo + (size_t)*left * size,
               (size_t)*right * size);
    }
    free(halo);
    return status;
}

/* The window call if any rank has validity or a second input: copies all elements that the
 * windows read into one array. */
static inline tally_status tally_mpi_window_inputs_(tally *ctx, const char *op,
                                                    const tally_operator_info *info,
                                                    const tally_mpi_ *m, const tally_view *mine,
                                                    long long n, const tally_window_options *o,
                                                    const tally_view *out, int64_t *results)
{
    const size_t result = tally_dtype_size(info->output) * (size_t)info->lanes;
    char *x = NULL, *y = NULL, *there = NULL, *own = NULL, *memory[2] = {NULL, NULL};
    const char *from[2] = {NULL, NULL};
    unsigned char *bits = NULL;
    long long left = 0, right = 0, made = 0;
    tally_status status = tally_mpi_there_(ctx, mine, n, &own);
    for (const tally_view *v = mine; v && !status; v = v->next)
        status = tally_mpi_read_(ctx, v->data, (size_t)n * tally_dtype_size(v->dtype),
                                 &from[v != mine], &memory[v != mine]);
    status = tally_mpi_agree_(m->comm, status);
    if (!status)
        status =
            tally_mpi_around_(m, from[0], tally_dtype_size(mine->dtype), n, o, &x, &left, &right);
    if (!status && mine->next)
        status = tally_mpi_around_(m, from[1], tally_dtype_size(mine->next->dtype), n, o, &y, &left,
                                   &right);
    if (!status) status = tally_mpi_around_(m, own, 1, n, o, &there, &left, &right);
    const long long all = left + n + right, length = n ? (long long)tally_window_length(all, o) : 0;
    char *const to = status ? NULL : (char *)malloc((size_t)length * result + 1);
    if (!status && (!to || !(bits = tally_mpi_bits_(there, all))))
        status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld results", length);
    if (!status && n) {
        tally_view in = tally_flat(x, mine->dtype, all), beside = in,
                   made_there = tally_flat(to, info->output, length);
        in.valid = bits;
        if (mine->next) beside = tally_flat(y, mine->next->dtype, all), in.next = &beside;
        status = tally_window(ctx, op, &in, &made_there, o);
        made = o->edges == TALLY_EDGES_VALID ? length : n;
        const long long first = o->edges == TALLY_EDGES_VALID ? 0 : left;
        if (!status && made)
            status = tally_copy(ctx, (void *)(uintptr_t)out->data, to + (size_t)first * result,
                                (size_t)made * result);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    status = tally_mpi_agree_(m->comm, status);
    if (!status && results) *results = made;
    free(own);
    free(memory[0]);
    free(memory[1]);
    free(x);
    free(y);
    free(there);
    free(bits);
    free(to);
    return status;
}

/* tally_window of the whole sequence: the windows at the elements of this rank. *results is their
 * number: as many as `mine` has elements; with TALLY_EDGES_VALID only the full windows. out needs
 * space for as many results as `mine` has elements. */
static inline tally_status tally_mpi_window(tally *ctx, const char *op, const tally_view *mine,
                                            int64_t start, const tally_view *out,
                                            const tally_window_options *options, int64_t *results,
                                            MPI_Comm comm)
{
    tally_mpi_ m;
    tally_operator_info info;
    tally_mpi_ends_ ends = {NULL, NULL, 0, NULL};
    char *halo = NULL;
    long long n, capacity, left = 0, right = 0, made = 0;
    long long what[4] = {0, 0, 0, 0};
    if (results) *results = 0;
    tally_status status = tally_mpi_input_(ctx, mine, &n);
    if (!status) status = tally_mpi_dense_(out, "out", &capacity);
    if (!status && capacity < n)
        status = tally_mpi_fail_(
            TALLY_INVALID, "out has room for %lld results: must have it for %lld", capacity, n);
    if (!status && !options)
        status = tally_mpi_fail_(TALLY_INVALID, "options is NULL: must say the window");
    if (!status && (options->before < 0 || options->after < 0 || options->step > 1))
        status = tally_mpi_fail_(
            TALLY_UNSUPPORTED,
            "before %lld, after %lld, step %lld: over ranks at least 0, and no step",
            (long long)options->before, (long long)options->after, (long long)options->step);
    long long any = tally_mpi_has_inputs_(mine); /* after MPI_Allreduce: on any rank */
    /* the checks of the library, on a view without elements */
    if (!status) {
        tally_view none = tally_flat(NULL, mine->dtype, 0), to = tally_flat(NULL, out->dtype, 0),
                   beside;
        if (mine->next) beside = tally_flat(NULL, mine->next->dtype, 0), none.next = &beside;
        tally_fragment *f = NULL;
        status = any ? tally_fragment_of_view(ctx, op, &none, 0, &f) : TALLY_OK;
        if (!status) status = tally_operator(ctx, op, tally_mpi_dtype_(f, mine), &info);
        tally_fragment_free(f);
        if (!status) status = tally_window(ctx, op, &none, &to, options);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    if (!status) {
        what[0] = options->before, what[1] = options->after, what[2] = (long long)options->edges;
        what[3] = options->min_count;
        status = tally_mpi_ends_of_(ctx, mine, n, options->before + options->after, &ends);
    }
    status = tally_mpi_begin_(
        &m, comm, start, n,
        tally_mpi_hash_(tally_mpi_what_(ctx, "window", op, mine), what, sizeof what), status);
    if (!status && MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_LONG_LONG, MPI_MAX, comm))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Allreduce failed");
    if (!status && any) {
        status = tally_mpi_window_inputs_(ctx, op, &info, &m, mine, n, options, out, results);
        free(ends.memory);
        tally_mpi_end_(&m);
        return status;
    }
    if (!status)
        status = tally_mpi_exchange_(&m, &ends, options, tally_dtype_size(mine->dtype), &halo,
                                     &left, &right);
    if (status) {
        free(halo);
        free(ends.memory);
        tally_mpi_end_(&m);
        return status;
    }
    const size_t size = tally_dtype_size(mine->dtype),
                 result = tally_dtype_size(info.output) * (size_t)info.lanes;
    const char *const x = (const char *)mine->data, *const halo_right = halo + (size_t)left * size;
    char *const y = (char *)(uintptr_t)out->data;
    const long long b = options->before, a = options->after;
    const int valid = options->edges == TALLY_EDGES_VALID;
    tally_window_options whole = *options;
    whole.edges = TALLY_EDGES_VALID;
    if (n && n <= b + a) { /* no window is inside this part */
        const long long all = tally_window_length(left + n + right, options),
                        count = valid ? all : n;
        status = tally_mpi_edge_(ctx, op, &info, mine->dtype, halo, left, ends.head, n, halo_right,
                                 right, options, valid ? 0 : left, count, y);
        made = count;
    } else if (n) {
        const long long first = valid ? left : b, last = valid ? right : a;
        if (b)
            status = tally_mpi_edge_(ctx, op, &info, mine->dtype, halo, left, ends.head, b + a,
                                     NULL, 0, options, valid ? 0 : left, first, y);
        made = first + (n - b - a);
        if (!status) {
            const tally_view in = tally_flat(x, mine->dtype, n),
                             to = tally_flat(y + (size_t)first * result, info.output, n - b - a);
            status = tally_window(ctx, op, &in, &to, &whole);
            if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
        }
        if (!status && a)
            status =
                tally_mpi_edge_(ctx, op, &info, mine->dtype, NULL, 0, ends.tail, b + a, halo_right,
                                right, options, valid ? 0 : b, last, y + (size_t)made * result);
        made += last;
    }
    status = tally_mpi_agree_(comm, status);
    if (!status && results) *results = made;
    free(halo);
    free(ends.memory);
    tally_mpi_end_(&m);
    return status;
}

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
    long long n, own; /* elements of a rank; of this rank's share */
    size_t size, result;
    const char *from; /* n elements */
    char *to, *all;   /* n results; the elements of this share, of all ranks */
    size_t *bytes;    /* for the mover: four numbers per rank */
    int *counts;      /* for MPI */
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
        const long long here = x->own * r; /* at most n + ranks */
        if (x->mover) {
            x->bytes[r] = (size_t)n * x->size, x->bytes[x->ranks + r] = (size_t)at * x->size;
            x->bytes[2 * x->ranks + r] = (size_t)x->own * x->size;
            x->bytes[3 * x->ranks + r] = (size_t)here * x->size;
        } else {
            send[r] = (int)n, send_at[r] = (int)at, got[r] = (int)x->own, got_at[r] = (int)here;
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
            x->bytes[r] = other ? (size_t)x->own * x->result : 0;
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
    beside.all = *all = (char *)malloc((size_t)x->ranks * (size_t)x->own * size + 1);
    const tally_status own =
        *all ? TALLY_OK
             : tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements of %d ranks", x->own,
                               x->ranks);
    const tally_status met = tally_mpi_agree_(x->comm, own);
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
    char *own = NULL, *there = NULL, *y = NULL, *memory = NULL;
    const char *from = NULL;
    unsigned char *bits = NULL;
    tally_status status = valid ? tally_mpi_there_(ctx, mine, x->n, &own) : TALLY_OK;
    if (!status && mine->next)
        status =
            tally_mpi_read_(ctx, mine->next->data,
                            (size_t)x->n * tally_dtype_size(mine->next->dtype), &from, &memory);
    if (valid || mine->next) status = tally_mpi_agree_(x->comm, status);
    if (!status && mine->next)
        status = tally_mpi_gather_beside_(x, from, tally_dtype_size(mine->next->dtype), &y);
    if (!status && valid) {
        status = tally_mpi_gather_beside_(x, own, 1, &there);
        if (!status && !(bits = tally_mpi_bits_(there, x->own * x->ranks)))
            status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld bits", x->own * x->ranks);
    }
    if (!status && x->own) {
        rows.rows = x->own;
        rows.stride = x->own;
        rows.row_stride = 1;
        beside = rows;
        rows.valid = bits;
        if (mine->next) beside.data = y, beside.dtype = mine->next->dtype, rows.next = &beside;
        status = tally_reduce(
            ctx, op, &rows, x->to + (size_t)tally_mpi_share_(x->n, x->ranks, x->rank) * x->result);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    free(own);
    free(there);
    free(y);
    free(memory);
    free(bits);
    return status;
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
    char *here = NULL, *there = NULL;
    void *all = NULL;
    int from_device = -1, to_device = -1;
    memset(&x, 0, sizeof x);
    x.mover = mover, x.comm = comm;
    MPI_Comm_rank(comm, &x.rank);
    MPI_Comm_size(comm, &x.ranks);
    tally_status status =
        tally_mpi_allreduce_check_(ctx, op, mine, out, mover, x.ranks, &x.n, &info);
    if (!status) {
        const size_t ranks = (size_t)x.ranks;
        x.own = tally_mpi_share_(x.n, x.ranks, x.rank + 1) - tally_mpi_share_(x.n, x.ranks, x.rank);
        x.size = tally_dtype_size(mine->dtype),
        x.result = tally_dtype_size(info.output) * (size_t)info.lanes;
        x.from = (const char *)mine->data, x.to = (char *)(uintptr_t)out->data;
        x.bytes = (size_t *)calloc(4 * ranks, sizeof *x.bytes);
        x.counts = (int *)calloc(4 * ranks, sizeof *x.counts);
        const size_t capacity = ranks * (size_t)x.own * x.size + 1;
        if (mover) {
            status = tally_mpi_moved_(mover->capacity(mover->self, capacity, &all));
        } else {
            if ((status = tally_owner(ctx, mine->data, &from_device)) ||
                (status = tally_owner(ctx, out->data, &to_device)))
                tally_mpi_fail_(status, "%s", tally_error(ctx));
            if (from_device >= 0) x.from = here = (char *)malloc((size_t)x.n * x.size + 1);
            if (to_device >= 0) x.to = there = (char *)malloc((size_t)x.n * x.result + 1);
            all = malloc(capacity);
        }
        x.all = (char *)all;
        if (!status && (!x.bytes || !x.counts || !x.all || (x.n && (!x.from || !x.to))))
            status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements of %d ranks",
                                     x.own, x.ranks);
        if (!status && here && (status = tally_copy(ctx, here, mine->data, (size_t)x.n * x.size)))
            tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
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
        if (!status && there &&
            (status = tally_copy(ctx, (void *)(uintptr_t)out->data, there, (size_t)x.n * x.result)))
            tally_mpi_fail_(status, "%s", tally_error(ctx));
        status = tally_mpi_agree_(comm, status);
    }
    if (met && status && mover) mover->abandon(mover->self);
    if (!mover) free(all);
    free(here);
    free(there);
    free(x.bytes);
    free(x.counts);
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
