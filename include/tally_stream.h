/* SPDX-License-Identifier: MIT
 *
 * tally_stream.h - data that comes in chunks, data that is cut, and exact sums as data. The bits
 * are those of one call on all data. tally.h includes this header and has the conventions. */
#ifndef TALLY_STREAM_H
#define TALLY_STREAM_H

#include "tally.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tally_stream tally_stream;
typedef struct tally_fragment tally_fragment;

/* ---- 13 streams ---------------------------------------------------------------------------------
 * The result of one call on all data, in bits, from data that comes in chunks of any size. State:
 * at most 64 tree nodes, one per binary digit of the length so far (reduce, scan), plus the last
 * w - 1 elements (window). A stream has one sequence, whose elements come in the order of the
 * pushes; or it has many (chapters 14 and 15).
 *
 * Example:
 *     tally_stream *s;
 *     float sum;
 *     tally_stream_reduce(ctx, "sum", TALLY_F32, &s);
 *     tally_stream_push(s, x, 3, NULL, NULL);
 *     tally_stream_push(s, x + 3, 5, NULL, NULL);
 *     tally_stream_finish(s, &sum, NULL);
 *     tally_stream_close(s);
 *     printf("%g\n", sum); // 31 */
TALLY_API tally_status tally_stream_reduce(tally *ctx, const char *op, tally_dtype dtype,
                                           tally_stream **stream);
/* Forward scans only: options->reverse is refused. */
TALLY_API tally_status tally_stream_scan(tally *ctx, const char *op, tally_dtype dtype,
                                         const tally_scan_options *options, tally_stream **stream);
TALLY_API tally_status tally_stream_window(tally *ctx, const char *op, tally_dtype dtype,
                                           const tally_window_options *options,
                                           tally_stream **stream);
/* Pushes n dense elements and sets *produced to the number of results written. reduce: none; out
 * and produced may be NULL. scan: n results. window: the results whose elements have all arrived,
 * at most n + before + after, but none before the elements of all pushes fill a window (with
 * tally_stream_push_view they do not wait for that); out needs space for tally_stream_room(stream,
 * n) results. out must not overlap x, except that a scan may be in place. */
TALLY_API tally_status tally_stream_push(tally_stream *stream, const void *x, int64_t n, void *out,
                                         int64_t *produced);
/* Ends the data. reduce: writes the one result. scan: writes nothing. window: writes the
 * remaining results. After this call the stream can only be closed. */
TALLY_API tally_status tally_stream_finish(tally_stream *stream, void *out, int64_t *produced);
/* The most results that a push of n elements can write, at most 2^63 - 1; with n = -1, the most
 * that tally_stream_finish can write. */
TALLY_API int64_t tally_stream_room(const tally_stream *stream, int64_t n);
TALLY_API void tally_stream_close(tally_stream *stream);
/* Starts a stream from a fragment (chapter 16): the stream continues after the elements of
 * `before`. The stream is a reduction or a scan, of one sequence or of many, without any push so
 * far. The fragment must have every element from 0 to its end, and the same operator, dtype and
 * number of sequences. The fragment is not changed. */
TALLY_API tally_status tally_stream_resume(tally_stream *stream, const tally_fragment *before);
/* Does what tally_stream_push does, for the elements at x from which the fragment `folded` was
 * made. The fragment must have one range, which begins at the stream's next element. A scan gives
 * the same results, and reads x once less if x is device memory. x must not have changed since
 * the fragment was made. */
TALLY_API tally_status tally_stream_push_folded(tally_stream *stream, const void *x,
                                                const tally_fragment *folded, void *out,
                                                int64_t *produced);

/* ---- 14 streams of many sequences ---------------------------------------------------------------
 * Many sequences that grow together, such as the cells of a field from step to step. The results
 * are those of tally_reduce, tally_scan or tally_window of `rows` sequences. A step is one new
 * element of each sequence. Memory may be of any kind. A GPU computes a reduction whose first
 * step is in its memory; the processors compute everything else. State of reduce and scan: up to
 * 7 steps as they came, and for each sequence one node per binary digit of the number of steps
 * (scan: two). A step costs a copy, and every eighth step also combines 8. State of a window: the
 * steps that it needs; of an exact operator: 2.2 KB for each of its sums.
 *
 * A push takes a view of `rows` sequences with n more elements of each (one step:
 * tally_columns(x, dtype, 1, rows)). Streams of one sequence take views of one sequence. In every
 * push the view may have validity and a second input. For an operator of two inputs, dtype is
 * their common type (doc/inputs.md). out is NULL for a reduction, whose finish writes `rows`
 * results. Else out is a view of the results: for a scan it has as many as in has elements, for a
 * window at least tally_stream_results(stream, in->n) of each sequence. It must not overlap in,
 * except that a scan of one sequence may be in place. tally_stream_room counts the results of all
 * sequences. The finish of a window writes the results of each sequence as neighbours.
 *
 * Example:
 *     tally_stream *s;
 *     float mean[4]; // x has two steps of four cells
 *     tally_stream_reduce_rows(ctx, "mean", TALLY_F32, 4, &s);
 *     for (int step = 0; step < 2; step++) {
 *         tally_view cells = tally_columns(x + 4 * step, TALLY_F32, 1, 4);
 *         tally_stream_push_view(s, &cells, NULL);
 *     }
 *     tally_stream_finish(s, mean, NULL);
 *     tally_stream_close(s);
 *     printf("%g %g %g %g\n", mean[0], mean[1], mean[2], mean[3]); // 4 5 3 3.5 */
TALLY_API tally_status tally_stream_reduce_rows(tally *ctx, const char *op, tally_dtype dtype,
                                                int64_t rows, tally_stream **stream);
TALLY_API tally_status tally_stream_scan_rows(tally *ctx, const char *op, tally_dtype dtype,
                                              int64_t rows, const tally_scan_options *options,
                                              tally_stream **stream);
TALLY_API tally_status tally_stream_window_rows(tally *ctx, const char *op, tally_dtype dtype,
                                                int64_t rows, const tally_window_options *options,
                                                tally_stream **stream);
TALLY_API tally_status tally_stream_push_view(tally_stream *stream, const tally_view *in,
                                              const tally_view *out);
/* The number of results of each sequence from a push of a view with n more elements; with n = -1,
 * from the finish. */
TALLY_API int64_t tally_stream_results(const tally_stream *stream, int64_t n);
/* Does what tally_stream_finish does, and writes into a view with space for at least
 * tally_stream_results(stream, -1) results of each sequence (a reduction: one). */
TALLY_API tally_status tally_stream_finish_view(tally_stream *stream, const tally_view *out);

/* ---- 15 streams of groups -----------------------------------------------------------------------
 * Many sequences that grow in any order, such as groups of equal keys. Each group's result is
 * tally_reduce of its elements, in the order of the pushes. Element i of a push belongs to group
 * codes[i], 0 <= codes[i] < groups. The number of groups may grow from push to push, and a group
 * may have no elements. The finish writes one result for each of the `groups` of the last push. x
 * has dense elements in host memory; operators have one input; the processors do the work. State:
 * 16 bytes per group, plus at most floor(log2 g) + 1 nodes for a group of g elements, twice as
 * many while its list grows (an exact sum: up to 256 elements, beyond that 2.2 KB). With at most
 * 4096 groups, groups of many elements take 1 KB more.
 *
 * Example:
 *     const int32_t city[8] = {0, 1, 0, 2, 2, 0, 1, 2};
 *     tally_stream *s;
 *     float most[3];
 *     tally_stream_reduce_groups(ctx, "max", TALLY_F32, &s);
 *     tally_stream_push_groups(s, x, city, 8, 3);
 *     tally_stream_finish(s, most, NULL);
 *     tally_stream_close(s);
 *     printf("%g %g %g\n", most[0], most[1], most[2]); // 9 2 6 */
TALLY_API tally_status tally_stream_reduce_groups(tally *ctx, const char *op, tally_dtype dtype,
                                                  tally_stream **stream);
TALLY_API tally_status tally_stream_push_groups(tally_stream *stream, const void *x,
                                                const int32_t *codes, int64_t n, int64_t groups);

/* ---- 16 fragments -------------------------------------------------------------------------------
 * A fragment is the partial reduction of the elements [start, start + n) of a longer sequence,
 * held as at most 2 log2 n tree nodes. Fragments merge in any order, and may have gaps until the
 * last part arrives. However the data is cut, the final bits are those of tally_reduce on the whole
 * sequence. Exact operators and sum:checked have fragments too; chapter 17 has sums without a
 * place.
 *
 * Example:
 *     tally_fragment *left, *right;
 *     float sum;
 *     tally_fragment_make(ctx, "sum", TALLY_F32, x + 5, 5, 3, &right);
 *     tally_fragment_make(ctx, "sum", TALLY_F32, x, 0, 5, &left);
 *     tally_fragment_merge(left, right);
 *     tally_fragment_result(left, &sum);
 *     tally_fragment_free(left);
 *     tally_fragment_free(right);
 *     printf("%g\n", sum); // 31 */
TALLY_API tally_status tally_fragment_make(tally *ctx, const char *op, tally_dtype dtype,
                                           const void *x, int64_t start, int64_t n,
                                           tally_fragment **fragment);
/* tally_fragment_make for many sequences: elements start .. start + x->n - 1 of each sequence of a
 * view without offsets, which may have validity and a second input. For two inputs the dtype of
 * the fragment is their common type (doc/inputs.md). All sequences have the same ranges, so the
 * fragment has one list of ranges, and a result for each of x->rows sequences. Fragments merge if
 * they have the same number of sequences, with elements left out or not. Memory may be of any
 * kind; on a GPU the processors do the work. */
TALLY_API tally_status tally_fragment_of_view(tally *ctx, const char *op, const tally_view *x,
                                              int64_t start, tally_fragment **fragment);
/* Adds the elements of `right` to `left`; `right` is not changed. If both have an element, the
 * call returns TALLY_INVALID and nothing changes. */
TALLY_API tally_status tally_fragment_merge(tally_fragment *left, const tally_fragment *right);
/* Writes the result of a fragment that has every element from 0 to its end: for each sequence one
 * result (times lanes). */
TALLY_API tally_status tally_fragment_result(const tally_fragment *fragment, void *out);
/* The first element, and the end (one past the last element). */
TALLY_API void tally_fragment_range(const tally_fragment *fragment, int64_t *start, int64_t *end);
/* Returns the number of ranges, which have gaps between them, and writes the ranges first ..
 * first + count - 1 to starts and ends. Each of these may be NULL. */
TALLY_API int64_t tally_fragment_ranges(const tally_fragment *fragment, int64_t first,
                                        int64_t count, int64_t *starts, int64_t *ends);
typedef struct tally_fragment_info {
    const char *op; /* lives as long as the fragment */
    tally_dtype dtype;
    int64_t elements, ranges, nodes; /* of each sequence */
    int64_t rows;                    /* sequences */
} tally_fragment_info;
TALLY_API void tally_fragment_about(const tally_fragment *fragment, tally_fragment_info *info);
/* A fragment as a portable byte string (little-endian, versioned, with a checksum). save: *bytes
 * is the size of the buffer on entry and the length on return; a NULL buffer asks for the length.
 * load: returns TALLY_BAD_DATA if the bytes are truncated, altered or foreign. */
TALLY_API tally_status tally_fragment_save(const tally_fragment *fragment, void *buffer,
                                           size_t *bytes);
TALLY_API tally_status tally_fragment_load(tally *ctx, const void *buffer, size_t bytes,
                                           tally_fragment **fragment);
TALLY_API void tally_fragment_free(tally_fragment *fragment);

/* ---- 17 exact sums as data ----------------------------------------------------------------------
 * The state of sum:exact and mean:exact as plain data, which can be copied, stored, sent and
 * added anywhere. Elements and states may be added in any order, from any thread or machine, and
 * may be subtracted again: the same elements give the same bytes. word[0..67] hold one integer,
 * the sum of word[k] 2^(32 k), in units of 2^-1074; words 0..66 are below 2^32, and word[67] has
 * the sign. word[68..71] count NaN, +inf, -inf and all elements. Up to 2^30 states may be added
 * word by word as 64-bit integers (MPI_SUM, ncclSum, SQL's sum); every call accepts such sums.
 * doc/exact.md has the details. All zero: the sum of no elements.
 *
 * Example:
 *     tally_exact all, part;
 *     tally_view in = tally_flat(x, TALLY_F32, 8), head = tally_flat(x, TALLY_F32, 3);
 *     float sum;
 *     tally_exact_init(&all);
 *     tally_exact_init(&part);
 *     tally_exact_add(ctx, &all, &in);
 *     tally_exact_add(ctx, &part, &head);
 *     tally_exact_unmerge(&all, &part);
 *     tally_exact_value(ctx, &all, "sum:exact", TALLY_F32, &sum);
 *     printf("%g\n", sum); // 23 */
typedef struct tally_exact {
    int64_t word[72];
} tally_exact;
/* Makes *sum the sum of no elements: all bytes 0. */
TALLY_API void tally_exact_init(tally_exact *sum);
/* Adds all elements of a view, or subtracts them. The dtype is f16, bf16, f32 or f64. With a
 * second input the products are added; the common type must be below f64. Elements that are left
 * out do not count (doc/inputs.md). ctx NULL: runs on the calling thread, for plain views only.
 * On failure *sum is unchanged. */
TALLY_API tally_status tally_exact_add(tally *ctx, tally_exact *sum, const tally_view *x);
TALLY_API tally_status tally_exact_subtract(tally *ctx, tally_exact *sum, const tally_view *x);
/* *sum becomes *sum + *other; or *sum - *other, to undo a merge. */
TALLY_API void tally_exact_merge(tally_exact *sum, const tally_exact *other);
TALLY_API void tally_exact_unmerge(tally_exact *sum, const tally_exact *other);
/* Writes the result of `op` (sum:exact, mean:exact or a nan form; dot:exact below f64; each also
 * with :f64) for the elements, of type dtype, that were added. */
TALLY_API tally_status tally_exact_value(tally *ctx, const tally_exact *sum, const char *op,
                                         tally_dtype dtype, void *value);

#ifdef __cplusplus
}
#endif
#endif
