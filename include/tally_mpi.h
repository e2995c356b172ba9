/* SPDX-License-Identifier: MIT
 *
 * tally_mpi.h - one sequence, or many, over the ranks of an MPI communicator, with the bits of
 * one process.
 *
 *     #include <mpi.h>
 *     #include <tally_mpi.h>
 *     ...
 *     tally_view mine = tally_flat(x, TALLY_F64, n);                  // this rank's part
 *     double sum;
 *     if (tally_mpi_reduce(ctx, "sum", &mine, -1, &sum, -1, MPI_COMM_WORLD))
 *         fprintf(stderr, "%s\n", tally_mpi_error());
 *
 * The header has the code too: it uses your mpi.h and the functions of tally.h. Every call is
 * collective: all ranks of the communicator make it, with the same op. Every rank gets the same
 * status, and the same sentence from tally_mpi_error(), which names the rank that failed. The
 * bits do not depend on the number of ranks, on where the sequence is cut (parts may be empty),
 * or on the algorithms of the MPI library, because fragments merge exactly in any order
 * (doc/order.md).
 *
 *   start   the number of this rank's first element in the whole sequence. Ranks may hold their
 *           parts in any order, without gaps and overlaps. -1, on all ranks: the parts follow
 *           each other by rank.
 *   root    the rank that gets the result; -1: all ranks
 *
 * Views are dense: tally_flat, or tally_rows, whose rows are taken as one sequence in C order.
 * Only tally_mpi_fields takes other views. Views and results are in host memory or in the memory
 * of the context's device; tally_mpi_open(&ctx, "cuda", comm) gives each rank a GPU. The MPI
 * library need not support GPUs: what ranks exchange, fragments and the elements at the ends of
 * parts, is copied through the host. tally_mpi_allreduce copies all its elements through the
 * host; tally_mpi_nccl.h moves them from device to device. Views may have validity, even on some
 * ranks only, and a second input (next); those in device memory are copied through the host.
 *
 * One thread of a rank may call at a time. If a rank dies or an MPI call fails, the error handler
 * of the MPI library decides: the default one ends all ranks; with MPI_ERRORS_RETURN the status
 * is TALLY_IO. To copy the header into a project of yours, copy tally_mpi_ranks.h,
 * tally_mpi_window.h and tally_mpi_elements.h too. */
#ifndef TALLY_MPI_H
#define TALLY_MPI_H

#include "tally_mpi_elements.h"
#include "tally_mpi_ranks.h"
#include "tally_mpi_window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a device for each rank ------------------------------------------------------------------ */

/* tally_open, collective: all ranks get a context, or none does. "cuda" and "opencl" without a
 * number, with options ("cuda,code=best") or without, give the ranks of one machine its devices
 * in turn. If there are more ranks than devices, ranks share devices. */
static inline tally_status tally_mpi_open(tally **ctx, const char *device, MPI_Comm comm)
{
    const char *const options = device ? strchr(device, ',') : NULL;
    const size_t kind = options ? (size_t)(options - device) : device ? strlen(device) : 0;
    const char *name = device;
    char with_options[256];
    int rank, local = 0, devices = 0, bad;
    tally_device_info info;
    MPI_Comm here = MPI_COMM_NULL;
    tally_status status = TALLY_OK;
    *ctx = NULL;
    MPI_Comm_rank(comm, &rank);
    bad = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here) ||
          MPI_Comm_rank(here, &local);
    if (!bad) MPI_Comm_free(&here);
    if (bad) status = tally_mpi_fail_(TALLY_IO, "MPI_Comm_split_type failed");
    if (!status && ((kind == 4 && !memcmp(device, "cuda", 4)) ||
                    (kind == 6 && !memcmp(device, "opencl", 6)))) {
        for (int i = 0; !tally_device(i, &info); i++)
            devices += info.usable && !strncmp(info.name, device, kind) && info.name[kind] == ':';
        for (int i = 0, k = devices ? local % devices : -1; k >= 0 && !tally_device(i, &info); i++)
            if (info.usable && !strncmp(info.name, device, kind) && info.name[kind] == ':' &&
                !k--) {
                snprintf(with_options, sizeof with_options, "%s%s", info.name,
                         options ? options : "");
                name = with_options;
            }
    }
    if (!status && (status = tally_open(ctx, name)))
        tally_mpi_fail_(status, "%s", tally_error(NULL));
    status = tally_mpi_agree_(comm, status);
    if (status) {
        tally_close(*ctx);
        *ctx = NULL;
    }
    return status;
}

/* ---- reduce ---------------------------------------------------------------------------------- */

/* Bytes of the space for the fragment of any part of n elements: two nodes of `node` bytes for
 * each binary digit of the length, and `more` bytes. */
static inline size_t tally_mpi_capacity_(long long n, size_t node, size_t more)
{
    size_t nodes = 4;
    while (n) nodes += 2, n >>= 1;
    return (sizeof(long long) + more + nodes * node + TALLY_MPI_UNIT_ - 1) / TALLY_MPI_UNIT_ *
           TALLY_MPI_UNIT_;
}

/* The same for one sequence: a node has at most 49 bytes, and the fragment lists its rows and its
 * range. A fragment of an exact statistic has at most five sums of 568 bytes. */
static inline size_t tally_mpi_capacity_of_one_(const char *op, long long n)
{
    const size_t sums = strstr(op, ":exact") ? 5 * 568 : 0;
    return tally_mpi_capacity_(n, 49, 40 + TALLY_MPI_NAME + 8 + 32 + sums);
}

/* The fragment of this rank's part. */
static inline tally_status tally_mpi_part_of_(tally *ctx, const char *op, const tally_mpi_ *m,
                                              const tally_view *mine, long long n,
                                              tally_fragment **f)
{
    const long long start = m->part[m->here].n ? m->part[m->here].start : 0;
    tally_view next;
    if (!tally_mpi_has_inputs_(mine))
        return tally_fragment_make(ctx, op, mine->dtype, mine->data, start, n, f);
    const tally_view flat = tally_mpi_flat_(mine, n, &next);
    return tally_fragment_of_view(ctx, op, &flat, start, f);
}

/* Writes the results of a fragment to out, in memory of any kind. */
static inline tally_status tally_mpi_result_(tally *ctx, const tally_fragment *all, void *out)
{
    const tally_status status = tally_fragment_result(all, out);
    return status ? tally_mpi_fail_(status, "%s", tally_error(ctx)) : TALLY_OK;
}

/* tally_reduce of the whole sequence. out receives one result (times lanes), on the ranks that
 * get it. */
static inline tally_status tally_mpi_reduce(tally *ctx, const char *op, const tally_view *mine,
                                            int64_t start, void *out, int root, MPI_Comm comm)
{
    tally_mpi_ m;
    tally_fragment *f = NULL, *all = NULL;
    long long n;
    int rank = 0, ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    tally_status status = tally_mpi_input_(ctx, mine, &n);
    if (!status && (root < -1 || root >= ranks))
        status = tally_mpi_fail_(TALLY_INVALID, "root is %d: must be -1 or a rank below %d", root,
                                 ranks);
    if (!status && !out && (root < 0 || root == rank))
        status = tally_mpi_fail_(TALLY_INVALID, "out is NULL: must have space for one result");
    status = tally_mpi_begin_(
        &m, comm, start, n,
        tally_mpi_hash_(tally_mpi_what_(ctx, "reduce", op, mine), &root, sizeof root), status);
    if (status) {
        tally_mpi_end_(&m);
        return status;
    }
    status = tally_mpi_part_of_(ctx, op, &m, mine, n, &f);
    if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    status = tally_mpi_agree_(comm, status);
    const size_t capacity = tally_mpi_capacity_of_one_(op, m.n);
    if (!status)
        status =
            tally_mpi_merge_all_(ctx, &m, 1, &capacity, &f,
                                 root < 0 ? TALLY_MPI_TO_ALL_ : TALLY_MPI_TO_ROOT_, root, &all);
    if (!status) status = tally_mpi_agree_(comm, all ? tally_mpi_result_(ctx, all, out) : TALLY_OK);
    tally_fragment_free(f);
    tally_fragment_free(all);
    tally_mpi_end_(&m);
    return status;
}

/* ---- scan ------------------------------------------------------------------------------------ */

/* tally_scan of the whole sequence. out receives the results of this rank's elements, as many as
 * `mine` has. options->reverse is refused. Every element is read twice: once for the fragments,
 * once for the results. */
static inline tally_status tally_mpi_scan(tally *ctx, const char *op, const tally_view *mine,
                                          int64_t start, const tally_view *out,
                                          const tally_scan_options *options, MPI_Comm comm)
{
    tally_mpi_ m;
    tally_fragment *f = NULL, *before = NULL;
    tally_stream *s = NULL;
    long long n, capacity = 0;
    tally_status status = tally_mpi_input_(ctx, mine, &n);
    if (!status) status = tally_mpi_dense_(out, "out", &capacity);
    if (!status && capacity != n)
        status = tally_mpi_fail_(TALLY_INVALID,
                                 "out has %lld results and mine %lld elements: must be the same",
                                 capacity, n);
    const int flags = options ? (options->exclusive ? 1 : 0) | (options->reverse ? 2 : 0) |
                                    (options->init ? 4 : 0)
                              : 0;
    status = tally_mpi_begin_(
        &m, comm, start, n,
        tally_mpi_hash_(tally_mpi_what_(ctx, "scan", op, mine), &flags, sizeof flags), status);
    if (status) {
        tally_mpi_end_(&m);
        return status;
    }
    tally_operator_info info;
    status = tally_mpi_part_of_(ctx, op, &m, mine, n, &f);
    if (!status) status = tally_operator(ctx, op, tally_mpi_dtype_(f, mine), &info);
    if (!status && out->dtype != info.output) {
        status = tally_mpi_fail_(TALLY_INVALID, "out is %s: the results of %s are %s",
                                 tally_dtype_name(out->dtype), op, tally_dtype_name(info.output));
    } else {
        if (!status) status = tally_stream_scan(ctx, op, tally_mpi_dtype_(f, mine), options, &s);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
    }
    status = tally_mpi_agree_(comm, status);
    const size_t bytes = tally_mpi_capacity_of_one_(op, m.n);
    if (!status)
        status = tally_mpi_merge_all_(ctx, &m, 1, &bytes, &f, TALLY_MPI_BEFORE_ME_, -1, &before);
    if (!status) {
        status = n && before ? tally_stream_resume(s, before) : TALLY_OK;
        if (!status && n && tally_mpi_has_inputs_(mine)) {
            tally_view next;
            const tally_view in = tally_mpi_flat_(mine, n, &next),
                             to = tally_flat(out->data, out->dtype, n);
            status = tally_stream_push_view(s, &in, &to);
        } else if (!status && n) {
            status = tally_stream_push_folded(s, mine->data, f, (void *)(uintptr_t)out->data, NULL);
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

/* ---- fields ---------------------------------------------------------------------------------- */

/* The dtype that the operator gets of a field. */
static inline tally_dtype tally_mpi_field_dtype_(const tally_view *v)
{
    return v->next ? tally_common_dtype(v->dtype, v->next->dtype) : v->dtype;
}

/* One sequence of a field. */
static inline tally_view tally_mpi_row_(const tally_view *field, int64_t r)
{
    tally_view row = *field;
    row.rows = 1;
    row.valid_offset += r * row.row_stride;
    if (row.n)
        row.data = (char *)row.data + r * row.row_stride * (int64_t)tally_dtype_size(row.dtype);
    if (!row.stride) row.row_stride = 1; /* one element that is repeated */
    return row;
}

/* The results of an exact operator. The words of the states are added over the ranks, in any
 * order. */
static inline tally_status tally_mpi_exact_(tally *ctx, const char *op, const tally_view *fields,
                                            int count, long long sequences, void *const *results,
                                            MPI_Comm comm)
{
    enum { AT_ONCE = 1 << 20 }; /* states in a message */
    tally_exact *const sum = (tally_exact *)calloc((size_t)sequences + 1, sizeof *sum);
    tally_status status =
        sum ? TALLY_OK
            : tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld exact sums", sequences);
    tally_exact *at = sum;
    for (int f = 0; f < count && !status; f++) {
        for (int64_t r = 0; r < fields[f].rows && !status; r++, at++) {
            tally_view row = tally_mpi_row_(&fields[f], r), next;
            if (row.next) next = tally_mpi_row_(row.next, r), row.next = &next;
            status = tally_exact_add(ctx, at, &row);
            if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
        }
    }
    status = tally_mpi_agree_(comm, status);
    for (long long done = 0; done < sequences && !status; done += AT_ONCE) {
        const int now = sequences - done < AT_ONCE ? (int)(sequences - done) : (int)AT_ONCE;
        if (MPI_Allreduce(MPI_IN_PLACE, sum + done, now * (int)(sizeof *sum / 8), MPI_INT64_T,
                          MPI_SUM, comm))
            status = tally_mpi_fail_(TALLY_IO, "MPI_Allreduce failed");
    }
    at = sum;
    for (int f = 0; f < count && !status; f++) {
        tally_operator_info info;
        const tally_dtype dtype = tally_mpi_field_dtype_(&fields[f]);
        status = tally_operator(ctx, op, dtype, &info);
        const size_t bytes = status ? 0 : tally_dtype_size(info.output);
        char *const values = (char *)malloc((size_t)fields[f].rows * bytes + 1);
        if (!values) {
            status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %lld results",
                                     (long long)fields[f].rows);
            break;
        }
        for (int64_t r = 0; r < fields[f].rows && !status; r++, at++)
            status = tally_exact_value(ctx, at, op, dtype, values + (size_t)r * bytes);
        if (!status) status = tally_copy(ctx, results[f], values, (size_t)fields[f].rows * bytes);
        if (status) tally_mpi_fail_(status, "%s", tally_error(ctx));
        free(values);
    }
    free(sum);
    return tally_mpi_agree_(comm, status);
}

/* A call of tally_mpi_fields. sequences: of all fields. exact: every field's sums are exact. */
typedef struct tally_mpi_fields_ {
    tally *ctx;
    const char *op;
    const tally_view *fields;
    int count, exact;
    void *const *results;
    long long sequences;
    unsigned long long what;
} tally_mpi_fields_;

/* Checks field f, and adds it to the hash of what is reduced. */
static inline tally_status tally_mpi_field_check_(tally_mpi_fields_ *s, int f)
{
    const tally_view *const v = &s->fields[f];
    const long long facts[3] = {(long long)v->dtype, (long long)v->rows,
                                v->next ? (long long)v->next->dtype : 0};
    tally_operator_info info;
    tally_exact none;
    double value[2];
    s->what = tally_mpi_hash_(s->what, facts, sizeof facts);
    s->what = tally_mpi_hash_op_(s->what, s->ctx, s->op, v);
    tally_exact_init(&none);
    tally_status status = v->next ? TALLY_OK : tally_operator(s->ctx, s->op, v->dtype, &info);
    if (status)
        tally_mpi_fail_(status, "%s", tally_error(s->ctx));
    else if (v->offsets || v->n < 0 || v->rows < 0)
        status = tally_mpi_fail_(TALLY_INVALID, "fields[%d] has offsets, or rows or n below 0", f);
    else if (v->next && (v->next->offsets || v->next->rows != v->rows || v->next->n != v->n))
        status = tally_mpi_fail_(
            TALLY_INVALID, "fields[%d].next has offsets, or rows or n that are not %lld, %lld", f,
            (long long)v->rows, (long long)v->n);
    else if (v->rows && !s->results[f])
        status =
            tally_mpi_fail_(TALLY_INVALID, "results[%d] is NULL: must have space for %lld results",
                            f, (long long)v->rows);
    else
        s->exact =
            s->exact && !tally_exact_value(s->ctx, &none, s->op, tally_mpi_field_dtype_(v), value);
    if (__builtin_add_overflow(s->sequences, (long long)v->rows, &s->sequences) ||
        s->sequences >> 54)
        status = tally_mpi_fail_(TALLY_INVALID, "fields have more than 2^54 sequences");
    return status;
}

/* Makes the fragment of field f, of which the ranks before this one have `before` elements. *node:
 * bytes of one of its nodes; *least: bytes of the rest of a message. */
static inline tally_status tally_mpi_field_part_(const tally_mpi_fields_ *s, int f,
                                                 long long before, tally_fragment **mine,
                                                 long long *node, size_t *least)
{
    const tally_view *const v = &s->fields[f];
    tally_view none = *v, none_beside = v->next ? *v->next : *v;
    tally_fragment *empty = NULL;
    tally_fragment_info about;
    size_t bytes = 0, none_bytes = 0;
    tally_status status;
    none.n = none_beside.n = 0;
    none.data = none_beside.data = NULL;
    if (none.next) none.next = &none_beside;
    if (v->n >> 61 || before < 0 || before >> 61)
        return tally_mpi_fail_(TALLY_INVALID,
                               "fields[%d] has more than 2^61 - 1 elements a sequence", f);
    if ((status = tally_fragment_of_view(s->ctx, s->op, v, before, mine)) ||
        (status = tally_fragment_of_view(s->ctx, s->op, &none, 0, &empty)) ||
        (status = tally_fragment_save(*mine, NULL, &bytes)) ||
        (status = tally_fragment_save(empty, NULL, &none_bytes))) {
        tally_mpi_fail_(status, "%s", tally_error(s->ctx));
    } else {
        tally_fragment_about(*mine, &about);
        *node = about.nodes ? (long long)((bytes - none_bytes) / (size_t)about.nodes + 1) : 0;
        *least = none_bytes + 48; /* for a range, and for the list of ranges */
    }
    tally_fragment_free(empty);
    return status;
}

/* The fields whose sums need an order: as fragments, whose nodes all ranks merge. */
static inline tally_status tally_mpi_merge_fields_(const tally_mpi_fields_ *s, const tally_mpi_ *m)
{
    /* five numbers per field: elements on this rank, on the ranks before it, and on all; bytes of
     * a node on this rank, and the most on any rank. capacity: bytes of the field's fragment in a
     * message */
    const int count = s->count;
    const size_t fs = (size_t)count;
    long long *const n = (long long *)calloc(fs * 5 + 1, sizeof *n), *const before = n + fs,
                     *const whole = n + 2 * fs, *const node = n + 3 * fs,
                     *const widest = n + 4 * fs;
    size_t *const capacity = (size_t *)calloc(fs + 1, sizeof *capacity);
    tally_fragment **const mine = (tally_fragment **)calloc(2 * fs + 1, sizeof *mine),
                           **const all = mine + fs;
    tally_status status = TALLY_OK;
    if (!n || !capacity || !mine)
        status = tally_mpi_fail_(TALLY_NO_MEMORY, "no memory for %d fields", count);
    status = tally_mpi_agree_(m->comm, status);
    for (int f = 0; f < count && !status; f++) n[f] = (long long)s->fields[f].n;
    if (!status && (MPI_Exscan(n, before, count, MPI_LONG_LONG, MPI_SUM, m->comm) ||
                    MPI_Allreduce(n, whole, count, MPI_LONG_LONG, MPI_SUM, m->comm)))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Exscan or MPI_Allreduce failed");
    /* on rank 0 MPI_Exscan leaves the buffer undefined */
    if (!status && m->rank == 0) memset(before, 0, fs * sizeof *before);
    for (int f = 0; f < count && !status; f++)
        status = tally_mpi_field_part_(s, f, before[f], &mine[f], &node[f], &capacity[f]);
    if (fs) status = tally_mpi_agree_(m->comm, status);
    if (!status && MPI_Allreduce(node, widest, count, MPI_LONG_LONG, MPI_MAX, m->comm))
        status = tally_mpi_fail_(TALLY_IO, "MPI_Allreduce failed");
    for (int f = 0; f < count && !status; f++)
        capacity[f] = tally_mpi_capacity_(whole[f], (size_t)widest[f], capacity[f]);
    if (!status && count)
        status = tally_mpi_merge_all_(s->ctx, m, count, capacity, mine, TALLY_MPI_TO_ALL_, -1, all);
    if (!status && count) {
        for (int f = 0; f < count && !status; f++)
            status = tally_mpi_result_(s->ctx, all[f], s->results[f]);
        status = tally_mpi_agree_(m->comm, status);
    }
    for (size_t f = 0; f < fs && mine; f++) {
        tally_fragment_free(mine[f]);
        tally_fragment_free(all[f]);
    }
    free(n);
    free(capacity);
    free(mine);
    return status;
}

/* Reduces many fields with one message. fields[f] is a view with any strides, without offsets.
 * Each of its sequences continues from rank to rank; a rank may have no elements of it.
 * results[f] receives, on every rank, tally_reduce of the whole sequences: fields[f].rows
 * results. All ranks pass the same number of fields, with the same dtypes and rows. The message
 * has the nodes of every sequence, at most two for each binary digit of its length. An exact
 * operator (sum:exact) needs no order: its message has 576 bytes per sequence, and MPI_SUM adds
 * them. */
static inline tally_status tally_mpi_fields(tally *ctx, const char *op, const tally_view *fields,
                                            int count, void *const *results, MPI_Comm comm)
{
    tally_mpi_ m;
    tally_mpi_fields_ s = {ctx, op, fields, count, count > 0, results, 0, 0};
    s.what = tally_mpi_hash_(tally_mpi_what_(ctx, "fields", op, NULL), &count, sizeof count);
    tally_status status = TALLY_OK;
    if (count < 0)
        status = tally_mpi_fail_(TALLY_INVALID, "count is %d: must be at least 0", count);
    if (count > 0 && (!fields || !results))
        status =
            tally_mpi_fail_(TALLY_INVALID, "fields or results is NULL: must be %d of each", count);
    for (int f = 0; f < count && !status; f++) status = tally_mpi_field_check_(&s, f);
    status = tally_mpi_begin_(&m, comm, -1, 0, s.what, status);
    if (!status)
        status = s.exact ? tally_mpi_exact_(ctx, op, fields, count, s.sequences, results, comm)
                         : tally_mpi_merge_fields_(&s, &m);
    tally_mpi_end_(&m);
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
