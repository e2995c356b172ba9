/* SPDX-License-Identifier: MIT
 * tally_mpi.h - one sequence over the ranks of an MPI communicator, with the bits of one process.
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
 * Views are dense and in host memory: tally_flat, or tally_rows in C order as one sequence. One thread of a rank calls
 * at a time. A rank that dies, or an MPI call that fails, is for the error handler of the MPI library: with the default
 * one all ranks end; with MPI_ERRORS_RETURN the status is TALLY_IO. */
#ifndef TALLY_MPI_H
#define TALLY_MPI_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- inside ------------------------------------------------------------------------------------------------------ */

enum { TALLY_MPI_SENTENCE = 640, TALLY_MPI_NAME = 64 };

static inline char *tally_mpi_sentence_(void)
{
    static char sentence[TALLY_MPI_SENTENCE];
    return sentence;
}

static inline void tally_mpi_copy_(char *to, size_t room, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    if (n >= room) n = room - 1;
    if (n) memcpy(to, text, n);
    to[n] = 0;
}

/* The sentence of the last call of this source file that failed, the same on every rank. */
static inline const char *tally_mpi_error(void) { return tally_mpi_sentence_(); }

static inline tally_status tally_mpi_fail_(tally_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(tally_mpi_sentence_(), TALLY_MPI_SENTENCE, format, list);
    va_end(list);
    return status;
}

/* A part of the sequence, as every rank knows it of all others. */
typedef struct tally_mpi_part_ {
    long long start, n;
    unsigned long long what; /* a hash of operator, dtype and the verb's options */
    int status, rank;
} tally_mpi_part_;

typedef struct tally_mpi_ {
    MPI_Comm comm;
    int rank, ranks, here; /* here: my place in `part` */
    tally_mpi_part_ *part; /* in the order of the sequence */
    long long n;           /* of the whole sequence */
} tally_mpi_;

static inline unsigned long long tally_mpi_hash_(unsigned long long h, const void *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

static inline int tally_mpi_by_start_(const void *a, const void *b)
{
    const tally_mpi_part_ *x = (const tally_mpi_part_ *)a, *y = (const tally_mpi_part_ *)b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (!x->n != !y->n) return x->n ? 1 : -1; /* empty parts first */
    return x->rank < y->rank ? -1 : 1;
}

/* A status of each rank becomes one of all: that of the lowest rank that failed, with its sentence. */
static inline tally_status tally_mpi_agree_(MPI_Comm comm, tally_status mine)
{
    struct {
        int failed, rank;
    } in = {mine ? 0 : 1, 0}, out;
    struct {
        int status;
        char text[TALLY_MPI_SENTENCE - 40];
    } said;
    MPI_Comm_rank(comm, &in.rank);
    if (MPI_Allreduce(&in, &out, 1, MPI_2INT, MPI_MINLOC, comm))
        return tally_mpi_fail_(TALLY_IO, "MPI_Allreduce failed");
    if (out.failed) return TALLY_OK;
    memset(&said, 0, sizeof said);
    said.status = mine;
    if (out.rank == in.rank) tally_mpi_copy_(said.text, sizeof said.text, tally_mpi_error());
    if (MPI_Bcast(&said, (int)sizeof said, MPI_BYTE, out.rank, comm))
        return tally_mpi_fail_(TALLY_IO, "MPI_Bcast failed");
    return tally_mpi_fail_((tally_status)said.status, "rank %d: %s", out.rank, said.text);
}

/* A dense view as one sequence: its length. */
static inline tally_status tally_mpi_dense_(const tally_view *v, const char *name, long long *n)
{
    *n = 0;
    if (!v) return tally_mpi_fail_(TALLY_INVALID, "%s is NULL: must be a view", name);
    if (v->offsets || v->n < 0 || v->rows < 0 || (v->n > 1 && v->stride != 1) || (v->rows > 1 && v->row_stride != v->n))
        return tally_mpi_fail_(TALLY_INVALID, "%s is not dense: must be tally_flat, or tally_rows without a pitch",
                               name);
    if (__builtin_mul_overflow((long long)v->n, (long long)v->rows, n) || *n >> 61)
        return tally_mpi_fail_(TALLY_INVALID, "%s has more than 2^61 - 1 elements", name);
    return TALLY_OK;
}

static inline void tally_mpi_end_(tally_mpi_ *m) { free(m->part); }

/* All ranks meet: what each has, whether all is well, and that the parts are one sequence. mine: this rank's status. */
static inline tally_status tally_mpi_begin_(tally_mpi_ *m, MPI_Comm comm, long long start, long long n,
                                            unsigned long long what, tally_status mine)
{
    memset(m, 0, sizeof *m);
    m->comm = comm;
    if (MPI_Comm_rank(comm, &m->rank) || MPI_Comm_size(comm, &m->ranks))
        return tally_mpi_fail_(TALLY_IO, "comm: the MPI library refuses it");
    m->part = (tally_mpi_part_ *)malloc((size_t)m->ranks * sizeof *m->part);
    if (!mine && !m->part) mine = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %d parts", m->ranks);
    const tally_status all = tally_mpi_agree_(comm, mine);
    if (all) return all;
    const tally_mpi_part_ own = {start, n, what, mine, m->rank};
    if (MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, m->part, (int)sizeof own, MPI_BYTE, comm))
        return tally_mpi_fail_(TALLY_IO, "MPI_Allgather failed");
    const long long first = m->part[0].start;
    long long at = 0;
    for (int r = 0; r < m->ranks; r++) { /* the same on all ranks, so all find the same */
        tally_mpi_part_ *p = &m->part[r];
        if (p->what != m->part[0].what)
            return tally_mpi_fail_(
                TALLY_INVALID,
                "rank %d has another operator, dtype or options (in allreduce: or length) than rank 0: "
                "must be the same on all",
                r);
        if ((p->start < 0) != (first < 0))
            return tally_mpi_fail_(TALLY_INVALID,
                                   "start is %lld on rank %d and %lld on rank 0: -1 must be on all or none", p->start,
                                   r, first);
        if (p->start < 0) {
            p->start = at;
            at += p->n;
        }
    }
    qsort(m->part, (size_t)m->ranks, sizeof *m->part, tally_mpi_by_start_);
    for (int r = 0; r < m->ranks; r++) {
        const tally_mpi_part_ *p = &m->part[r], *before = r ? p - 1 : NULL;
        if (p->rank == m->rank) m->here = r;
        if (!p->n) continue;
        if (p->start > m->n)
            return tally_mpi_fail_(TALLY_INVALID, "nobody has [%lld, %lld): the parts must be one sequence from 0 on",
                                   m->n, p->start);
        if (p->start < m->n)
            return tally_mpi_fail_(TALLY_INVALID,
                                   "rank %d has [%lld, %lld) and rank %d begins at %lld: must not overlap",
                                   before->rank, before->start, before->start + before->n, p->rank, p->start);
        m->n = p->start + p->n;
        if (m->n >> 61) return tally_mpi_fail_(TALLY_INVALID, "the whole sequence has more than 2^61 - 1 elements");
    }
    return TALLY_OK;
}

static inline unsigned long long tally_mpi_what_(const char *verb, const char *op, const tally_view *v)
{
    const int dtype = v ? (int)v->dtype : 0;
    unsigned long long h = tally_mpi_hash_(0xcbf29ce484222325ull, verb, strlen(verb));
    if (op) h = tally_mpi_hash_(h, op, strlen(op));
    return tally_mpi_hash_(h, &dtype, sizeof dtype);
}

/* ---- fragments as an MPI operation: associative, not commutative ------------------------------------------------- */

/* The bytes of one fragment, in messages of one size: the length, then the bytes; length -1: it failed. */
typedef struct tally_mpi_merge_ {
    tally *ctx;
    size_t room;
    char sentence[TALLY_MPI_SENTENCE];
} tally_mpi_merge_;
static inline tally_mpi_merge_ *tally_mpi_merging_(void)
{
    static tally_mpi_merge_ merging;
    return &merging;
}

/* inout = in then inout. */
static inline void tally_mpi_merge_function_(void *in, void *inout, int *count, MPI_Datatype *type)
{
    tally_mpi_merge_ *const x = tally_mpi_merging_();
    (void)type;
    for (int i = 0; i < *count; i++) {
        char *const a = (char *)in + (size_t)i * x->room, *const b = (char *)inout + (size_t)i * x->room;
        long long a_bytes, b_bytes;
        tally_fragment *left = NULL, *right = NULL;
        memcpy(&a_bytes, a, sizeof a_bytes);
        memcpy(&b_bytes, b, sizeof b_bytes);
        tally_status status = a_bytes < 0 || b_bytes < 0 ? TALLY_BAD_DATA : TALLY_OK;
        if (!status) status = tally_fragment_load(x->ctx, a + sizeof a_bytes, (size_t)a_bytes, &left);
        if (!status) status = tally_fragment_load(x->ctx, b + sizeof b_bytes, (size_t)b_bytes, &right);
        if (!status) status = tally_fragment_merge(left, right);
        size_t bytes = x->room - sizeof b_bytes;
        if (!status) status = tally_fragment_save(left, b + sizeof b_bytes, &bytes);
        b_bytes = status ? -1 : (long long)bytes;
        memcpy(b, &b_bytes, sizeof b_bytes);
        if (status && !x->sentence[0]) tally_mpi_copy_(x->sentence, sizeof x->sentence, tally_error(x->ctx));
        tally_fragment_free(left);
        tally_fragment_free(right);
    }
}

/* Room for the fragment of any part: two nodes for each bit of the length, each with a state of 40 bytes at most. */
static inline size_t tally_mpi_room_(long long n)
{
    size_t nodes = 4;
    while (n) nodes += 2, n >>= 1;
    return (sizeof(long long) + 40 + TALLY_MPI_NAME + nodes * 41 + 8 + 15) / 16 * 16;
}

typedef enum { TALLY_MPI_TO_ROOT_, TALLY_MPI_TO_ALL_, TALLY_MPI_BEFORE_ME_ } tally_mpi_way_;

/* What the parts have together: on the rank `root`, on all, or of the parts before mine. mine is merged with what the
 * MPI library brings; *all must be freed. */
static inline tally_status tally_mpi_merge_all_(tally *ctx, const tally_mpi_ *m, const char *op, const tally_view *view,
                                                const tally_fragment *mine, tally_mpi_way_ way, int root,
                                                tally_fragment **all)
{
    tally_mpi_merge_ *const x = tally_mpi_merging_();
    const size_t room = tally_mpi_room_(m->n);
    char *const send = (char *)calloc(2, room), *const got = send ? send + room : NULL;
    MPI_Comm comm = m->comm;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op merge = MPI_OP_NULL;
    size_t bytes = room - sizeof(long long);
    int bad = 0, moved = 0, to = root;
    *all = NULL;
    x->ctx = ctx;
    x->room = room;
    x->sentence[0] = 0;
    tally_status status = send ? tally_fragment_save(mine, send + sizeof(long long), &bytes) : TALLY_NO_MEMORY;
    if (status) tally_mpi_fail_(status, "%s", send ? tally_error(ctx) : "no memory for a message");
    status = tally_mpi_agree_(m->comm, status);
    if (status) {
        free(send);
        return status;
    }
    const long long length = (long long)bytes;
    memcpy(send, &length, sizeof length);
    for (int r = 0; r < m->ranks; r++) moved |= m->part[r].rank != r;
    if (moved) { /* in the order of the sequence */
        bad |= MPI_Comm_split(m->comm, 0, m->here, &comm);
        for (int r = 0; r < m->ranks; r++)
            if (m->part[r].rank == root) to = r;
    }
    bad |= MPI_Type_contiguous((int)room, MPI_BYTE, &type);
    bad |= MPI_Type_commit(&type);
    bad |= MPI_Op_create(tally_mpi_merge_function_, 0, &merge);
    if (!bad && way == TALLY_MPI_TO_ROOT_) bad = MPI_Reduce(send, got, 1, type, merge, to, comm);
    if (!bad && way == TALLY_MPI_TO_ALL_) bad = MPI_Allreduce(send, got, 1, type, merge, comm);
    if (!bad && way == TALLY_MPI_BEFORE_ME_) bad = MPI_Exscan(send, got, 1, type, merge, comm);
    if (merge != MPI_OP_NULL) MPI_Op_free(&merge);
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    if (moved && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    const int mine_too = way == TALLY_MPI_TO_ALL_ || (way == TALLY_MPI_TO_ROOT_ && m->rank == root) ||
                         (way == TALLY_MPI_BEFORE_ME_ && m->here > 0);
    if (bad) {
        status = tally_mpi_fail_(TALLY_IO, "an MPI call failed while the fragments were merged");
    } else if (x->sentence[0]) {
        status = tally_mpi_fail_(TALLY_BAD_DATA, "%s", x->sentence);
    } else if (mine_too) {
        long long have;
        memcpy(&have, got, sizeof have);
        if (have < 0)
            status = tally_mpi_fail_(TALLY_BAD_DATA, "a merge failed on another rank");
        else if ((status = tally_fragment_load(ctx, got + sizeof have, (size_t)have, all)))
            tally_mpi_fail_(status, "%s", tally_error(ctx));
    } else if (way == TALLY_MPI_BEFORE_ME_) {
        status = tally_fragment_make(ctx, op, view->dtype, NULL, 0, 0, all);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    free(send);
    return tally_mpi_agree_(m->comm, status);
}

/* ---- reduce ------------------------------------------------------------------------------------------------------ */

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
    status = tally_fragment_make(ctx, op, mine->dtype, mine->data, m.part[m.here].n ? m.part[m.here].start : 0, n, &f);
    if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    status = tally_mpi_agree_(comm, status);
    if (!status)
        status =
            tally_mpi_merge_all_(ctx, &m, op, mine, f, root < 0 ? TALLY_MPI_TO_ALL_ : TALLY_MPI_TO_ROOT_, root, &all);
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
    status = tally_operator(ctx, op, mine->dtype, &info);
    if (!status && out->dtype != info.output) {
        status = tally_mpi_fail_(TALLY_INVALID, "out is %s: the results of %s are %s", tally_dtype_name(out->dtype), op,
                                 tally_dtype_name(info.output));
    } else {
        if (!status) status = tally_stream_scan(ctx, op, mine->dtype, options, &s);
        if (!status)
            status = tally_fragment_make(ctx, op, mine->dtype, mine->data, m.part[m.here].n ? m.part[m.here].start : 0,
                                         n, &f);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    status = tally_mpi_agree_(comm, status);
    if (!status) status = tally_mpi_merge_all_(ctx, &m, op, mine, f, TALLY_MPI_BEFORE_ME_, -1, &before);
    if (!status) {
        status = n ? tally_stream_resume(s, before) : TALLY_OK;
        if (!status && n) status = tally_stream_push(s, mine->data, n, (void *)(uintptr_t)out->data, NULL);
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
    if (!status) { /* what the library says of such a window */
        const tally_view none = tally_flat(NULL, mine->dtype, 0), to = tally_flat(NULL, out->dtype, 0);
        status = tally_operator(ctx, op, mine->dtype, &info);
        if (!status) status = tally_window(ctx, op, &none, &to, options);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    if (!status) {
        what[0] = options->before, what[1] = options->after, what[2] = (long long)options->edges;
        what[3] = options->min_count;
    }
    status = tally_mpi_begin_(&m, comm, start, n,
                              tally_mpi_hash_(tally_mpi_what_("window", op, mine), what, sizeof what), status);
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

#ifdef __cplusplus
}
#endif
#endif
