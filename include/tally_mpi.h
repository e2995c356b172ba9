/* SPDX-License-Identifier: MIT
 * tally_mpi.h - one sequence, or many, over the ranks of an MPI communicator, with the bits of one process.
 *
 *     #include <mpi.h>
 *     #include <tally_mpi.h>
 *     ...
 *     tally_view mine = tally_flat(x, TALLY_F64, n);                  // my part of the sequence
 *     double sum;
 *     if (tally_mpi_reduce(ctx, "sum", &mine, -1, &sum, -1, MPI_COMM_WORLD))
 *         fprintf(stderr, "%s\n", tally_mpi_error());
 *
 * Header only: it uses your mpi.h and the functions of tally.h. Every call is collective: all ranks of the communicator
 * make it, with the same op. Every rank gets the same status, and the same sentence in tally_mpi_error(), which names
 * the rank that failed. The bits do not depend on how many ranks there are, on how the sequence is cut (parts may be
 * empty) or on the algorithms of the MPI library: fragments merge exactly (doc/order.md), in any bracketing.
 *
 *   start   the number of my first element in the whole sequence. Ranks may hold their parts in any order, without
 *           gaps and overlaps. -1, on all ranks: the parts follow each other by rank.
 *   root    the rank that gets the result; -1: all of them
 *
 * Views are in host memory, and dense but for tally_mpi_fields: tally_flat, or tally_rows in C order as one sequence.
 * They may have validity and a second input (next), but for tally_mpi_allreduce; validity on some ranks alone, too.
 * One thread of a rank calls at a time. A rank that dies, or an MPI call that fails, is for the error handler of the
 * MPI library: with the default one all ranks end; with MPI_ERRORS_RETURN the status is TALLY_IO. To drop the header
 * into a project of yours, take tally_mpi_ranks.h too, which lies beside it. */
#ifndef TALLY_MPI_H
#define TALLY_MPI_H

#include "tally_mpi_ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reduce ------------------------------------------------------------------------------------------------------ */

/* The fragment of my part. */
static inline tally_status tally_mpi_part_of_(tally *ctx, const char *op, const tally_mpi_ *m, const tally_view *mine,
                                              long long n, tally_fragment **f)
{
    const long long start = m->part[m->here].n ? m->part[m->here].start : 0;
    tally_view next;
    if (!tally_mpi_has_inputs_(mine)) return tally_fragment_make(ctx, op, mine->dtype, mine->data, start, n, f);
    const tally_view flat = tally_mpi_flat_(mine, n, &next);
    return tally_fragment_of_view(ctx, op, &flat, start, f);
}

/* The type of the elements that the operator gets: of two inputs the common one. */
static inline tally_dtype tally_mpi_dtype_(const tally_fragment *f, const tally_view *mine)
{
    tally_fragment_info about;
    tally_fragment_about(f, &about);
    return f ? about.dtype : mine->dtype;
}

/* What tally_reduce gives for the whole sequence: out has one result (x lanes), on the ranks that get it. */
static inline tally_status tally_mpi_reduce(tally *ctx, const char *op, const tally_view *mine, int64_t start,
                                            void *out, int root, MPI_Comm comm)
{
    tally_mpi_ m;
    tally_fragment *f = NULL, *all = NULL;
    long long n;
    int rank = 0, ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    tally_status status = tally_mpi_dense_(mine, "mine", &n);
    if (!status && (root < -1 || root >= ranks))
        status = tally_mpi_fail_(TALLY_INVALID, "root is %d: must be -1 or a rank below %d", root, ranks);
    if (!status && !out && (root < 0 || root == rank))
        status = tally_mpi_fail_(TALLY_INVALID, "out is NULL: must have room for one result");
    status = tally_mpi_begin_(&m, comm, start, n,
                              tally_mpi_hash_(tally_mpi_what_("reduce", op, mine), &root, sizeof root), status);
    if (status) {
        tally_mpi_end_(&m);
        return status;
    }
    status = tally_mpi_part_of_(ctx, op, &m, mine, n, &f);
    if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    status = tally_mpi_agree_(comm, status);
    const size_t room = tally_mpi_room_of_one_(m.n);
    if (!status)
        status =
            tally_mpi_merge_all_(ctx, &m, 1, &room, &f, root < 0 ? TALLY_MPI_TO_ALL_ : TALLY_MPI_TO_ROOT_, root, &all);
    if (!status && all && tally_fragment_result(all, out))
        status = tally_mpi_fail_(TALLY_INVALID, "%s", tally_error(ctx));
    tally_fragment_free(f);
    tally_fragment_free(all);
    tally_mpi_end_(&m);
    return status;
}

/* ---- scan -------------------------------------------------------------------------------------------------------- */

/* My results of tally_scan over the whole sequence: out has as many as mine has elements. options->reverse is refused.
 * Every element is read twice: once for the fragments, once for the results. */
static inline tally_status tally_mpi_scan(tally *ctx, const char *op, const tally_view *mine, int64_t start,
                                          const tally_view *out, const tally_scan_options *options, MPI_Comm comm)
{
    tally_mpi_ m;
    tally_fragment *f = NULL, *before = NULL;
    tally_stream *s = NULL;
    long long n, room = 0;
    tally_status status = tally_mpi_dense_(mine, "mine", &n);
    if (!status) status = tally_mpi_dense_(out, "out", &room);
    if (!status && room != n)
        status =
            tally_mpi_fail_(TALLY_INVALID, "out has %lld results and mine %lld elements: must be the same", room, n);
    const int flags = options ? (options->exclusive ? 1 : 0) | (options->reverse ? 2 : 0) | (options->init ? 4 : 0) : 0;
    status = tally_mpi_begin_(&m, comm, start, n,
                              tally_mpi_hash_(tally_mpi_what_("scan", op, mine), &flags, sizeof flags), status);
    if (status) {
        tally_mpi_end_(&m);
        return status;
    }
    tally_operator_info info;
    status = tally_mpi_part_of_(ctx, op, &m, mine, n, &f);
    if (!status) status = tally_operator(ctx, op, tally_mpi_dtype_(f, mine), &info);
    if (!status && out->dtype != info.output) {
        status = tally_mpi_fail_(TALLY_INVALID, "out is %s: the results of %s are %s", tally_dtype_name(out->dtype), op,
                                 tally_dtype_name(info.output));
    } else {
        if (!status) status = tally_stream_scan(ctx, op, tally_mpi_dtype_(f, mine), options, &s);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    status = tally_mpi_agree_(comm, status);
    const size_t bytes = tally_mpi_room_of_one_(m.n);
    if (!status) status = tally_mpi_merge_all_(ctx, &m, 1, &bytes, &f, TALLY_MPI_BEFORE_ME_, -1, &before);
    if (!status) {
        status = n && before ? tally_stream_resume(s, before) : TALLY_OK;
        if (!status && n && tally_mpi_has_inputs_(mine)) {
            tally_view next;
            const tally_view in = tally_mpi_flat_(mine, n, &next), to = tally_flat(out->data, out->dtype, n);
            status = tally_stream_push_view(s, &in, &to);
        } else if (!status && n) {
            status = tally_stream_push(s, mine->data, n, (void *)(uintptr_t)out->data, NULL);
        }
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
        status = tally_mpi_agree_(comm, status);
    }
    tally_stream_close(s);
    tally_fragment_free(f);
    tally_fragment_free(before);
    tally_mpi_end_(&m);
    return status;
}

/* ---- window ------------------------------------------------------------------------------------------------------ */

/* Elements that part `of` needs from part `from`: [*begin, *begin + the result). */
static inline long long tally_mpi_halo_(const tally_mpi_ *m, int of, int from, const tally_window_options *o,
                                        long long *begin)
{
    const tally_mpi_part_ *p = &m->part[of], *q = &m->part[from];
    if (!p->n || !q->n || of == from) return 0;
    long long a = q->start, b = q->start + q->n; /* all of it, but what is too far away */
    if (from < of && a < p->start - o->before) a = p->start - o->before;
    if (from > of && b > p->start + p->n + o->after) b = p->start + p->n + o->after;
    *begin = a;
    return b > a ? b - a : 0;
}

/* The elements before and after mine, side by side: *before and *after of them. Free *halo. */
static inline tally_status tally_mpi_exchange_(const tally_mpi_ *m, const tally_view *mine,
                                               const tally_window_options *o, size_t size, char **halo,
                                               long long *before, long long *after)
{
    int *const counts = (int *)calloc((size_t)m->ranks * 4 + 1, sizeof(int));
    int *const send = counts, *const send_at = counts + m->ranks, *const got = counts + 2 * m->ranks,
               *const got_at = counts + 3 * m->ranks;
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
        status =
            tally_mpi_fail_(TALLY_UNSUPPORTED, "before and after: %lld elements go between ranks, at most 2^31 - 1 can",
                            sent > total ? sent : total);
    else if (!counts || !(packed = (char *)malloc((size_t)sent * size + 1)) ||
             !(*halo = (char *)malloc((size_t)total * size + 1)))
        status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements between ranks", sent + total);
    status = tally_mpi_agree_(m->comm, status);
    sent = total = 0;
    for (int k = 0; k < m->ranks && !status; k++) {
        const int r = m->part[k].rank;
        send[r] = (int)tally_mpi_halo_(m, k, m->here, o, &begin);
        send_at[r] = (int)sent;
        if (send[r])
            memcpy(packed + (size_t)sent * size,
                   (const char *)mine->data + (size_t)(begin - m->part[m->here].start) * size, (size_t)send[r] * size);
        sent += send[r];
        got[r] = (int)tally_mpi_halo_(m, m->here, k, o, &begin);
        got_at[r] = (int)total;
        total += got[r];
    }
    if (!status && (MPI_Type_contiguous((int)size, MPI_BYTE, &element) || MPI_Type_commit(&element) ||
                    MPI_Alltoallv(packed, send, send_at, element, *halo, got, got_at, element, m->comm)))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Alltoallv failed");
    if (element != MPI_DATATYPE_NULL) MPI_Type_free(&element);
    free(packed);
    free(counts);
    return status;
}

/* Results first .. first + count - 1 of a window over `left` elements, then `n` of mine from `from` on, then `right`
 * elements, into out. */
static inline tally_status tally_mpi_edge_(tally *ctx, const char *op, const tally_operator_info *info,
                                           tally_dtype dtype, const char *halo, long long left, const char *from,
                                           long long n, const char *halo_right, long long right,
                                           const tally_window_options *o, long long first, long long count, char *out)
{
    const size_t size = tally_dtype_size(dtype), result = tally_dtype_size(info->output) * (size_t)info->lanes;
    const long long all = left + n + right, made = tally_window_length(all, o);
    char *const x = (char *)malloc((size_t)all * size + 1), *const y = (char *)malloc((size_t)made * result + 1);
    tally_status status = x && y ? TALLY_OK : TALLY_NO_MEMORY;
    if (status) tally_mpi_fail_(status, "no memory for %lld elements at a rank's edge", all);
    if (!status) {
        if (left) memcpy(x, halo, (size_t)left * size);
        if (n) memcpy(x + (size_t)left * size, from, (size_t)n * size);
        if (right) memcpy(x + (size_t)(left + n) * size, halo_right, (size_t)right * size);
        const tally_view in = tally_flat(x, dtype, all), to = tally_flat(y, info->output, made);
        status = tally_window(ctx, op, &in, &to, o);
        if (status)
            tally_mpi_fail_(status, "%s", tally_error(ctx));
        else if (count)
            memcpy(out, y + (size_t)first * result, (size_t)count * result);
    }
    free(x);
    free(y);
    return status;
}

/* Elements of `size` bytes, those before mine, mine and those after, as neighbours: free *all. */
static inline tally_status tally_mpi_around_(const tally_mpi_ *m, const void *data, size_t size, long long n,
                                             const tally_window_options *o, char **all, long long *left,
                                             long long *right)
{
    const tally_view mine = tally_flat(data, TALLY_U8, n); /* of which the exchange takes the address alone */
    char *halo = NULL;
    *all = NULL;
    tally_status status = tally_mpi_exchange_(m, &mine, o, size, &halo, left, right);
    if (!status && !(*all = (char *)malloc((size_t)(*left + n + *right) * size + 1)))
        status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements and those around them", n);
    status = tally_mpi_agree_(m->comm, status);
    if (!status) {
        memcpy(*all, halo, (size_t)*left * size);
        if (n) memcpy(*all + (size_t)*left * size, data, (size_t)n * size);
        memcpy(*all + (size_t)(*left + n) * size, halo + (size_t)*left * size, (size_t)*right * size);
    }
    free(halo);
    return status;
}

/* The same where ranks have validity or a second input: all that windows see is copied beside each other. */
static inline tally_status tally_mpi_window_inputs_(tally *ctx, const char *op, const tally_operator_info *info,
                                                    const tally_mpi_ *m, const tally_view *mine, long long n,
                                                    const tally_window_options *o, const tally_view *out,
                                                    int64_t *results)
{
    const size_t result = tally_dtype_size(info->output) * (size_t)info->lanes;
    char *x = NULL, *y = NULL, *there = NULL;
    unsigned char *bits = NULL;
    long long left = 0, right = 0, made = 0;
    char *const own = (char *)malloc((size_t)n + 1);
    tally_status status = own ? TALLY_OK : tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements", n);
    for (long long i = 0; i < n && own; i++) { /* is it there, in all inputs? */
        own[i] = 1;
        for (const tally_view *v = mine; v; v = v->next) {
            const long long bit = (long long)v->valid_offset + i;
            if (v->valid && !(((const unsigned char *)v->valid)[bit >> 3] >> (bit & 7) & 1)) own[i] = 0;
        }
    }
    status = tally_mpi_agree_(m->comm, status);
    if (!status) status = tally_mpi_around_(m, mine->data, tally_dtype_size(mine->dtype), n, o, &x, &left, &right);
    if (!status && mine->next)
        status = tally_mpi_around_(m, mine->next->data, tally_dtype_size(mine->next->dtype), n, o, &y, &left, &right);
    if (!status) status = tally_mpi_around_(m, own, 1, n, o, &there, &left, &right);
    const long long all = left + n + right, length = n ? (long long)tally_window_length(all, o) : 0;
    char *const to = status ? NULL : (char *)malloc((size_t)length * result + 1);
    if (!status && (!to || !(bits = (unsigned char *)calloc((size_t)all / 8 + 1, 1))))
        status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld results", length);
    if (!status && n) {
        tally_view in = tally_flat(x, mine->dtype, all), beside = in, made_there = tally_flat(to, info->output, length);
        for (long long i = 0; i < all; i++)
            if (there[i]) bits[i >> 3] = (unsigned char)(bits[i >> 3] | 1u << (i & 7));
        in.valid = bits;
        if (mine->next) beside = tally_flat(y, mine->next->dtype, all), in.next = &beside;
        status = tally_window(ctx, op, &in, &made_there, o);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
        made = o->edges == TALLY_EDGES_VALID ? length : n;
        const long long first = o->edges == TALLY_EDGES_VALID ? 0 : left;
        if (!status && made) memcpy((char *)(uintptr_t)out->data, to + (size_t)first * result, (size_t)made * result);
    }
    status = tally_mpi_agree_(m->comm, status);
    if (!status && results) *results = made;
    free(own);
    free(x);
    free(y);
    free(there);
    free(bits);
    free(to);
    return status;
}

/* My results of tally_window over the whole sequence: those of the windows at my elements. *results is how many they
 * are: as many as mine has elements; with TALLY_EDGES_VALID without those whose windows are cut off. out has room for
 * all of mine. */
static inline tally_status tally_mpi_window(tally *ctx, const char *op, const tally_view *mine, int64_t start,
                                            const tally_view *out, const tally_window_options *options,
                                            int64_t *results, MPI_Comm comm)
{
    tally_mpi_ m;
    tally_operator_info info;
    char *halo = NULL;
    long long n, room, left = 0, right = 0, made = 0;
    long long what[4] = {0, 0, 0, 0};
    if (results) *results = 0;
    tally_status status = tally_mpi_dense_(mine, "mine", &n);
    if (!status) status = tally_mpi_dense_(out, "out", &room);
    if (!status && room < n)
        status = tally_mpi_fail_(TALLY_INVALID, "out has room for %lld results: must have it for %lld", room, n);
    if (!status && !options) status = tally_mpi_fail_(TALLY_INVALID, "options is NULL: must say the window");
    if (!status && (options->before < 0 || options->after < 0 || options->step > 1))
        status =
            tally_mpi_fail_(TALLY_UNSUPPORTED, "before %lld, after %lld, step %lld: over ranks at least 0, and no step",
                            (long long)options->before, (long long)options->after, (long long)options->step);
    const int inputs = tally_mpi_has_inputs_(mine);
    if (!status) { /* what the library says of such a window */
        tally_view none = tally_flat(NULL, mine->dtype, 0), to = tally_flat(NULL, out->dtype, 0), beside;
        if (mine->next) beside = tally_flat(NULL, mine->next->dtype, 0), none.next = &beside;
        tally_fragment *f = NULL;
        status = inputs ? tally_fragment_of_view(ctx, op, &none, 0, &f) : TALLY_OK;
        if (!status) status = tally_operator(ctx, op, tally_mpi_dtype_(f, mine), &info);
        tally_fragment_free(f);
        if (!status) status = tally_window(ctx, op, &none, &to, options);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    if (!status) {
        what[0] = options->before, what[1] = options->after, what[2] = (long long)options->edges;
        what[3] = options->min_count;
    }
    status = tally_mpi_begin_(&m, comm, start, n,
                              tally_mpi_hash_(tally_mpi_what_("window", op, mine), what, sizeof what), status);
    long long any = inputs; /* on any rank */
    if (!status && MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_LONG_LONG, MPI_MAX, comm))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Allreduce failed");
    if (!status && any) {
        status = tally_mpi_window_inputs_(ctx, op, &info, &m, mine, n, options, out, results);
        tally_mpi_end_(&m);
        return status;
    }
    if (!status) status = tally_mpi_exchange_(&m, mine, options, tally_dtype_size(mine->dtype), &halo, &left, &right);
    if (status) {
        free(halo);
        tally_mpi_end_(&m);
        return status;
    }
    const size_t size = tally_dtype_size(mine->dtype), result = tally_dtype_size(info.output) * (size_t)info.lanes;
    const char *const x = (const char *)mine->data, *const halo_right = halo + (size_t)left * size;
    char *const y = (char *)(uintptr_t)out->data;
    const long long b = options->before, a = options->after;
    const int valid = options->edges == TALLY_EDGES_VALID;
    tally_window_options whole = *options;
    whole.edges = TALLY_EDGES_VALID;
    if (n && n <= b + a) { /* all of it is edge */
        const long long all = tally_window_length(left + n + right, options), count = valid ? all : n;
        status = tally_mpi_edge_(ctx, op, &info, mine->dtype, halo, left, x, n, halo_right, right, options,
                                 valid ? 0 : left, count, y);
        made = count;
    } else if (n) {
        const long long first = valid ? left : b, last = valid ? right : a;
        if (b)
            status = tally_mpi_edge_(ctx, op, &info, mine->dtype, halo, left, x, b + a, NULL, 0, options,
                                     valid ? 0 : left, first, y);
        made = first + (n - b - a);
        if (!status) {
            const tally_view in = tally_flat(x, mine->dtype, n),
                             to = tally_flat(y + (size_t)first * result, info.output, n - b - a);
            status = tally_window(ctx, op, &in, &to, &whole);
            if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
        }
        if (!status && a)
            status = tally_mpi_edge_(ctx, op, &info, mine->dtype, NULL, 0, x + (size_t)(n - b - a) * size, b + a,
                                     halo_right, right, options, valid ? 0 : b, last, y + (size_t)made * result);
        made += last;
    }
    status = tally_mpi_agree_(comm, status);
    if (!status && results) *results = made;
    free(halo);
    tally_mpi_end_(&m);
    return status;
}

/* ---- allreduce --------------------------------------------------------------------------------------------------- */

/* Element by element over the ranks: out[i] is tally_reduce of the ranks' elements number i, in the order of the ranks.
 * Every rank has as many, and gets all results. What travels is what a ring sends: every element twice. */
static inline tally_status tally_mpi_allreduce(tally *ctx, const char *op, const tally_view *mine,
                                               const tally_view *out, MPI_Comm comm)
{
    tally_operator_info info;
    int rank = 0, ranks = 1;
    long long n = 0, room = 0;
    MPI_Datatype element = MPI_DATATYPE_NULL, whole = MPI_DATATYPE_NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    tally_status status = tally_mpi_dense_(mine, "mine", &n);
    if (!status) status = tally_mpi_dense_(out, "out", &room);
    if (!status && room != n)
        status =
            tally_mpi_fail_(TALLY_INVALID, "out has %lld results and mine %lld elements: must be the same", room, n);
    if (!status && n > 0x7fffffff - ranks)
        status = tally_mpi_fail_(TALLY_UNSUPPORTED, "mine has %lld elements: must be at most 2^31 - 1 - ranks", n);
    if (!status && (status = tally_operator(ctx, op, mine->dtype, &info)))
        tally_mpi_fail_(status, "%s", tally_error(ctx));
    if (!status && out->dtype != info.output)
        status = tally_mpi_fail_(TALLY_INVALID, "out is %s: the results of %s are %s", tally_dtype_name(out->dtype), op,
                                 tally_dtype_name(info.output));
    const long long each = n / ranks, more = n % ranks; /* the first `more` ranks fold one more */
    const long long own = each + (rank < more);
    const size_t size = mine ? tally_dtype_size(mine->dtype) : 0;
    const size_t result = status ? 1 : tally_dtype_size(info.output) * (size_t)info.lanes;
    int *const counts = status ? NULL : (int *)calloc((size_t)ranks * 4, sizeof(int));
    char *const all = status ? NULL : (char *)malloc((size_t)ranks * (size_t)own * size + 1);
    char *const folded = status ? NULL : (char *)malloc((size_t)own * result + 1);
    if (!status && (!counts || !all || !folded))
        status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld elements of %d ranks", own, ranks);
    tally_mpi_ m; /* for the meeting: n is in what must be the same on all */
    status = tally_mpi_begin_(&m, comm, -1, 0, tally_mpi_hash_(tally_mpi_what_("allreduce", op, mine), &n, sizeof n),
                              status);
    tally_mpi_end_(&m);
    if (!status) {
        int *const send = counts, *const send_at = counts + ranks, *const got = counts + 2 * ranks,
                   *const got_at = counts + 3 * ranks;
        for (int r = 0; r < ranks; r++) {
            send[r] = (int)(each + (r < more));
            send_at[r] = (int)(each * r + (r < more ? r : more));
            got[r] = (int)own;
            got_at[r] = (int)(own * r); /* n + ranks at most */
        }
        int bad = MPI_Type_contiguous((int)size, MPI_BYTE, &element) || MPI_Type_commit(&element) ||
                  MPI_Type_contiguous((int)result, MPI_BYTE, &whole) || MPI_Type_commit(&whole);
        if (!bad) bad = MPI_Alltoallv(mine->data, send, send_at, element, all, got, got_at, element, comm);
        if (bad) status = tally_mpi_fail_(TALLY_IO, "MPI_Alltoallv failed");
        if (!status && own) { /* element i of all ranks is row i, which goes down the ranks */
            tally_view rows = tally_flat(all, mine->dtype, ranks);
            rows.rows = own;
            rows.stride = own;
            rows.row_stride = 1;
            status = tally_reduce(ctx, op, &rows, folded);
            if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
        }
        status = tally_mpi_agree_(comm, status);
        if (!status &&
            MPI_Allgatherv(folded, (int)own, whole, (void *)(uintptr_t)out->data, send, send_at, whole, comm))
            status = tally_mpi_fail_(TALLY_IO, "MPI_Allgatherv failed");
    }
    if (element != MPI_DATATYPE_NULL) MPI_Type_free(&element);
    if (whole != MPI_DATATYPE_NULL) MPI_Type_free(&whole);
    free(counts);
    free(all);
    free(folded);
    return status;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

/* The results of an exact operator: the words of the states of all sequences add up, whatever the order. */
static inline tally_status tally_mpi_exact_(tally *ctx, const char *op, const tally_view *fields, int count,
                                            long long sequences, void *const *results, MPI_Comm comm)
{
    enum { AT_ONCE = 1 << 20 }; /* states in a message */
    tally_exact *const sum = (tally_exact *)calloc((size_t)sequences + 1, sizeof *sum);
    tally_status status = sum ? TALLY_OK : tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld exact sums", sequences);
    tally_exact *at = sum;
    for (int f = 0; f < count && !status; f++)
        for (int64_t r = 0; r < fields[f].rows && !status; r++, at++) {
            tally_view row = fields[f];
            row.rows = 1;
            if (row.n) row.data = (char *)row.data + r * row.row_stride * (int64_t)tally_dtype_size(row.dtype);
            status = tally_exact_add(ctx, at, &row);
            if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
        }
    status = tally_mpi_agree_(comm, status);
    for (long long done = 0; done < sequences && !status; done += AT_ONCE) {
        const int now = sequences - done < AT_ONCE ? (int)(sequences - done) : (int)AT_ONCE;
        if (MPI_Allreduce(MPI_IN_PLACE, sum + done, now * (int)(sizeof *sum / 8), MPI_INT64_T, MPI_SUM, comm))
            status = tally_mpi_fail_(TALLY_IO, "MPI_Allreduce failed");
    }
    at = sum;
    for (int f = 0; f < count && !status; f++) {
        tally_operator_info info;
        status = tally_operator(ctx, op, fields[f].dtype, &info);
        char *to = (char *)results[f];
        for (int64_t r = 0; r < fields[f].rows && !status; r++, at++, to += tally_dtype_size(info.output))
            status = tally_exact_value(ctx, at, op, fields[f].dtype, to);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    free(sum);
    return status;
}

/* Many fields in one message: fields[f] is a view of any strides (without offsets), and each of its sequences goes on
 * from rank to rank, by rank; a rank may have none of its elements. results[f] gets what tally_reduce gives for the
 * whole sequences, fields[f].rows results, on every rank. All ranks have as many fields, with the same dtypes and rows.
 * The message has the nodes of every sequence, at most two for each bit of its length. An exact operator (sum:exact)
 * needs no order: its message has 576 bytes for each sequence, and MPI_SUM adds them. */
static inline tally_status tally_mpi_fields(tally *ctx, const char *op, const tally_view *fields, int count,
                                            void *const *results, MPI_Comm comm)
{
    tally_mpi_ m;
    tally_operator_info info;
    long long sequences = 0;
    unsigned long long what = tally_mpi_hash_(tally_mpi_what_("fields", op, NULL), &count, sizeof count);
    tally_status status = TALLY_OK;
    if (count < 0) status = tally_mpi_fail_(TALLY_INVALID, "count is %d: must be at least 0", count);
    if (count > 0 && (!fields || !results))
        status = tally_mpi_fail_(TALLY_INVALID, "fields or results is NULL: must be %d of each", count);
    int exact = count > 0;
    for (int f = 0; f < count && !status; f++) {
        const tally_view *const beside = fields[f].next;
        const long long known[3] = {(long long)fields[f].dtype, (long long)fields[f].rows,
                                    beside ? (long long)beside->dtype : 0};
        tally_exact none;
        double value[2];
        what = tally_mpi_hash_(what, known, sizeof known);
        tally_exact_init(&none);
        status = beside ? TALLY_OK : tally_operator(ctx, op, fields[f].dtype, &info);
        if (status)
            tally_mpi_fail_(status, "%s", tally_error(ctx));
        else if (fields[f].offsets || fields[f].n < 0 || fields[f].rows < 0)
            status = tally_mpi_fail_(TALLY_INVALID, "fields[%d] has offsets, or rows or n below 0", f);
        else if (fields[f].rows && !results[f])
            status = tally_mpi_fail_(TALLY_INVALID, "results[%d] is NULL: must have room for %lld results", f,
                                     (long long)fields[f].rows);
        else
            exact = exact && !beside && !tally_exact_value(ctx, &none, op, fields[f].dtype, value);
        if (__builtin_add_overflow(sequences, (long long)fields[f].rows, &sequences) || sequences >> 54)
            status = tally_mpi_fail_(TALLY_INVALID, "fields have more than 2^54 sequences");
    }
    status = tally_mpi_begin_(&m, comm, -1, 0, what, status);
    if (!status && exact) {
        tally_mpi_end_(&m);
        return tally_mpi_exact_(ctx, op, fields, count, sequences, results, comm);
    }
    /* of each field: elements of mine, before mine, of all; bytes of a node here, and the most anywhere; its room */
    const size_t fs = (size_t)(status ? 0 : count);
    long long *const n = (long long *)calloc(fs * 5 + 1, sizeof *n), *const before = n + fs, *const whole = n + 2 * fs,
                     *const node = n + 3 * fs, *const widest = n + 4 * fs;
    size_t *const room = (size_t *)calloc(fs + 1, sizeof *room);
    tally_fragment **const mine = (tally_fragment **)calloc(2 * fs + 1, sizeof *mine), **const all = mine + fs;
    if (!status) {
        if (!n || !room || !mine) status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %d fields", count);
        status = tally_mpi_agree_(comm, status);
    }
    for (int f = 0; f < count && !status; f++) n[f] = (long long)fields[f].n;
    if (!status && (MPI_Exscan(n, before, count, MPI_LONG_LONG, MPI_SUM, comm) ||
                    MPI_Allreduce(n, whole, count, MPI_LONG_LONG, MPI_SUM, comm)))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Exscan or MPI_Allreduce failed");
    if (!status && m.rank == 0) memset(before, 0, fs * sizeof *before); /* MPI_Exscan leaves it as it was */
    for (int f = 0; f < count && !status; f++) {
        tally_view none = fields[f], none_beside = fields[f].next ? *fields[f].next : fields[f];
        tally_fragment *empty = NULL;
        tally_fragment_info about;
        size_t least = 0, bytes = 0;
        none.n = none_beside.n = 0;
        if (none.next) none.next = &none_beside;
        if (n[f] >> 61 || before[f] < 0 || before[f] >> 61)
            status = tally_mpi_fail_(TALLY_INVALID, "fields[%d] has more than 2^61 - 1 elements a sequence", f);
        if (!status && ((status = tally_fragment_of_view(ctx, op, &fields[f], before[f], &mine[f])) ||
                        (status = tally_fragment_of_view(ctx, op, &none, 0, &empty)) ||
                        (status = tally_fragment_save(mine[f], NULL, &bytes)) ||
                        (status = tally_fragment_save(empty, NULL, &least))))
            tally_mpi_fail_(status, "%s", tally_error(ctx));
        if (!status) {
            tally_fragment_about(mine[f], &about);
            node[f] = about.nodes ? (long long)((bytes - least) / (size_t)about.nodes + 1) : 0;
            room[f] = least + 48; /* of a range, and of its list */
        }
        tally_fragment_free(empty);
    }
    if (fs) status = tally_mpi_agree_(comm, status);
    if (!status && MPI_Allreduce(node, widest, count, MPI_LONG_LONG, MPI_MAX, comm))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Allreduce failed");
    for (int f = 0; f < count && !status; f++) room[f] = tally_mpi_room_(whole[f], (size_t)widest[f], room[f]);
    if (!status && count) status = tally_mpi_merge_all_(ctx, &m, count, room, mine, TALLY_MPI_TO_ALL_, -1, all);
    for (int f = 0; f < count && !status; f++)
        if (tally_fragment_result(all[f], results[f])) status = tally_mpi_fail_(TALLY_INVALID, "%s", tally_error(ctx));
    for (size_t f = 0; f < fs && mine; f++) {
        tally_fragment_free(mine[f]);
        tally_fragment_free(all[f]);
    }
    free(n);
    free(room);
    free(mine);
    tally_mpi_end_(&m);
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
