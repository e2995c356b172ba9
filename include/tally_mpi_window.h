/* SPDX-License-Identifier: MIT
 * tally_mpi_window.h - the call tally_mpi_window of tally_mpi.h, which moves elements between
 * ranks. Include tally_mpi.h instead. Names that end in _ are private. */
#ifndef TALLY_MPI_WINDOW_H
#define TALLY_MPI_WINDOW_H

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
    int64_t done = 0, now = 0;
    tally_status status = tally_stream_window(ctx, op, dtype, o, &s);
    char *const y =
        status ? NULL : (char *)malloc((size_t)(all + tally_stream_room(s, -1)) * result + 1);
    if (!status && !y) {
        tally_stream_close(s);
        return tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld results at a rank's end", all);
    }
    const long long length[3] = {left, n, right};
    for (int i = 0; i < 3 && !status; i++, done += now)
        status = tally_stream_push(s, x[i], length[i], y + (size_t)done * result, &now);
    if (!status) status = tally_stream_finish(s, y + (size_t)done * result, &now);
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
    char *x = NULL, *y = NULL, *there = NULL, *valid_bytes = NULL, *memory[2] = {NULL, NULL};
    const char *from[2] = {NULL, NULL};
    unsigned char *bits = NULL;
    long long left = 0, right = 0, done = 0;
    tally_status status = tally_mpi_there_(ctx, mine, n, &valid_bytes);
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
    if (!status) status = tally_mpi_around_(m, valid_bytes, 1, n, o, &there, &left, &right);
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
        done = o->edges == TALLY_EDGES_VALID ? length : n;
        const long long first = o->edges == TALLY_EDGES_VALID ? 0 : left;
        if (!status && done)
            status = tally_copy(ctx, (void *)(uintptr_t)out->data, to + (size_t)first * result,
                                (size_t)done * result);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    status = tally_mpi_agree_(m->comm, status);
    if (!status && results) *results = done;
    free(valid_bytes);
    free(memory[0]);
    free(memory[1]);
    free(x);
    free(y);
    free(there);
    free(bits);
    free(to);
    return status;
}

/* Checks the arguments; the library checks the options, on a view without elements. */
static inline tally_status tally_mpi_window_check_(tally *ctx, const char *op,
                                                   const tally_view *mine, const tally_view *out,
                                                   const tally_window_options *options,
                                                   tally_operator_info *info)
{
    long long n, capacity;
    tally_status status = tally_mpi_input_(ctx, mine, &n);
    if (!status) status = tally_mpi_dense_(out, "out", &capacity);
    if (!status && capacity < n)
        status = tally_mpi_fail_(
            TALLY_INVALID, "out has space for %lld results: must have space for %lld", capacity, n);
    if (!status && !options)
        status = tally_mpi_fail_(TALLY_INVALID, "options is NULL: must say the window");
    if (!status && (options->before < 0 || options->after < 0 || options->step > 1))
        status = tally_mpi_fail_(
            TALLY_UNSUPPORTED,
            "before %lld, after %lld, step %lld: over ranks at least 0, and no step",
            (long long)options->before, (long long)options->after, (long long)options->step);
    if (status) return status;

    tally_view none = tally_flat(NULL, mine->dtype, 0), to = tally_flat(NULL, out->dtype, 0),
               beside;
    if (mine->next) beside = tally_flat(NULL, mine->next->dtype, 0), none.next = &beside;
    tally_fragment *f = NULL;
    if (tally_mpi_has_inputs_(mine)) status = tally_fragment_of_view(ctx, op, &none, 0, &f);
    if (!status) status = tally_operator(ctx, op, tally_mpi_dtype_(f, mine), info);
    tally_fragment_free(f);
    if (!status) status = tally_window(ctx, op, &none, &to, options);
    if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    return status;
}

/* The elements of a rank, the ends of its part on the host, and the elements of other ranks beside
 * it: `left` of them and then `right` in halo. */
typedef struct tally_mpi_slide_ {
    const tally_view *mine, *out;
    long long n, left, right;
    tally_mpi_ends_ ends;
    char *halo;
} tally_mpi_slide_;

/* Computes the windows at the elements of this rank; *done: their number. */
static inline tally_status tally_mpi_slide_part_(tally *ctx, const char *op,
                                                 const tally_operator_info *info,
                                                 const tally_mpi_slide_ *s,
                                                 const tally_window_options *options,
                                                 long long *done)
{
    const tally_dtype dtype = s->mine->dtype;
    const size_t result = tally_dtype_size(info->output) * (size_t)info->lanes;
    const char *const halo_right = s->halo + (size_t)s->left * tally_dtype_size(dtype);
    char *const y = (char *)(uintptr_t)s->out->data;
    const long long n = s->n, b = options->before, a = options->after;
    const int valid = options->edges == TALLY_EDGES_VALID;
    tally_status status = TALLY_OK;
    if (!n) return status;
    if (n <= b + a) { /* no window is inside this part */
        *done = valid ? tally_window_length(s->left + n + s->right, options) : n;
        return tally_mpi_edge_(ctx, op, info, dtype, s->halo, s->left, s->ends.head, n, halo_right,
                               s->right, options, valid ? 0 : s->left, *done, y);
    }

    const long long first = valid ? s->left : b, inside = n - b - a, last = valid ? s->right : a;
    tally_window_options whole = *options;
    whole.edges = TALLY_EDGES_VALID;
    if (b)
        status = tally_mpi_edge_(ctx, op, info, dtype, s->halo, s->left, s->ends.head, b + a, NULL,
                                 0, options, valid ? 0 : s->left, first, y);
    if (!status) {
        const tally_view in = tally_flat(s->mine->data, dtype, n),
                         to = tally_flat(y + (size_t)first * result, info->output, inside);
        status = tally_window(ctx, op, &in, &to, &whole);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    if (!status && a)
        status = tally_mpi_edge_(ctx, op, info, dtype, NULL, 0, s->ends.tail, b + a, halo_right,
                                 s->right, options, valid ? 0 : b, last,
                                 y + (size_t)(first + inside) * result);
    *done = first + inside + last;
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
    tally_mpi_slide_ s = {mine, out, 0, 0, 0, {NULL, NULL, 0, NULL}, NULL};
    long long done = 0, what[4] = {0, 0, 0, 0};
    if (results) *results = 0;
    tally_status status = tally_mpi_window_check_(ctx, op, mine, out, options, &info);
    long long any = tally_mpi_has_inputs_(mine); /* after MPI_Allreduce: on any rank */
    if (!status) {
        tally_mpi_input_(ctx, mine, &s.n);
        what[0] = options->before, what[1] = options->after, what[2] = (long long)options->edges;
        what[3] = options->min_count;
        status = tally_mpi_ends_of_(ctx, mine, s.n, options->before + options->after, &s.ends);
    }
    status = tally_mpi_begin_(
        &m, comm, start, s.n,
        tally_mpi_hash_(tally_mpi_what_(ctx, "window", op, mine), what, sizeof what), status);
    if (!status && MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_LONG_LONG, MPI_MAX, comm))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Allreduce failed");
    if (!status && any) {
        status = tally_mpi_window_inputs_(ctx, op, &info, &m, mine, s.n, options, out, results);
    } else {
        if (!status)
            status = tally_mpi_exchange_(&m, &s.ends, options, tally_dtype_size(mine->dtype),
                                         &s.halo, &s.left, &s.right);
        if (!status) {
            status = tally_mpi_slide_part_(ctx, op, &info, &s, options, &done);
            status = tally_mpi_agree_(comm, status);
        }
        if (!status && results) *results = done;
    }
    free(s.halo);
    free(s.ends.memory);
    tally_mpi_end_(&m);
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
