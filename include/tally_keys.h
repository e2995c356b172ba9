/* SPDX-License-Identifier: MIT
 *
 * tally_keys.h - reductions, scans and windows by key, and windows over sorted keys. tally.h
 * includes this header and has the conventions. */
#ifndef TALLY_KEYS_H
#define TALLY_KEYS_H

#include "tally.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 9 keys -------------------------------------------------------------------------------------
 * Reductions, scans and windows by key. Number the keys 0 .. groups - 1; then the verbs of this
 * chapter take the elements of each group in the order of their rows. If equal keys are adjacent,
 * tally_runs makes offsets instead, for the verbs on segments. tally_groups and tally_take are
 * for work that needs the order itself. The bits of a group are those of its elements alone. On a
 * GPU the device computes runs and gathers if all arrays are in its memory, so the keys, offsets
 * and values of a reduction by runs need not leave it. The processors do the rest; the verbs by
 * key sort on the processors and fold on the device.
 *
 * Example:
 *     int32_t city[8] = {0, 1, 0, 2, 2, 0, 1, 2}; // the group of each element of x
 *     float mean[3], total[8];
 *     tally_view codes = tally_flat(city, TALLY_I32, 8), in = tally_flat(x, TALLY_F32, 8);
 *     tally_view out = tally_flat(total, TALLY_F32, 8);
 *     tally_reduce_by(ctx, "mean", &in, &codes, 3, mean);
 *     tally_scan_by(ctx, "sum", &in, &codes, 3, &out, NULL);
 *     printf("%g %g %g\n", mean[0], mean[1], mean[2]); // 5.33333 1.5 4
 *     printf("%g %g %g\n", total[2], total[5], total[7]); // 7 16 12 */

/* tally_reduce, tally_scan and tally_window of each group alone. in: one sequence; it may have
 * validity bits and a next. codes: as many elements, of any integer dtype, 0 .. groups - 1; in any
 * order. An element whose code is left out (codes->valid) belongs to no group.
 *
 * reduce: out receives `groups` results, dense; a group without elements gives the empty value.
 * scan, window: result i, of out, is that of element i among the elements of its group, in the
 * order of in; of an element without a group it is the empty value. out is a view of in->n
 * results, as for the verbs, which may have validity bits. options are those of the verbs; a
 * window takes no step and no TALLY_EDGES_VALID.
 *
 * A code outside 0 .. groups - 1 is TALLY_INVALID; the sentence names its position, and nothing is
 * written. Memory: a copy of the elements and of the results, 8 bytes for each group, and with
 * 1024 groups or more 4 bytes for each element. */
TALLY_API tally_status tally_reduce_by(tally *ctx, const char *op, const tally_view *in,
                                       const tally_view *codes, int64_t groups, void *out);
TALLY_API tally_status tally_scan_by(tally *ctx, const char *op, const tally_view *in,
                                     const tally_view *codes, int64_t groups, const tally_view *out,
                                     const tally_scan_options *options);
TALLY_API tally_status tally_window_by(tally *ctx, const char *op, const tally_view *in,
                                       const tally_view *codes, int64_t groups,
                                       const tally_view *out, const tally_window_options *options);

/* Cuts n = keys->n elements into runs of equal neighbours. offsets[0] becomes 0, and
 * offsets[1 .. *runs] the ends of the runs, the last of them n. keys: one sequence (rows 1), of
 * any dtype and stride. NaN equals NaN, and -0 equals +0. offsets needs space for n + 1 values,
 * even if there are fewer runs; only if keys and offsets are both on the device, *runs + 1 values
 * suffice. offsets NULL: only counts. *runs is in host memory, so the call waits for it. */
TALLY_API tally_status tally_runs(tally *ctx, const tally_view *keys, int64_t *offsets,
                                  int64_t *runs);
/* A stable sort of integers. order[offsets[g] .. offsets[g + 1] - 1] become the positions of the
 * elements equal to g, ascending; the positions of elements that are left out (codes->valid) come
 * last. order has codes->n values, offsets has groups + 1. codes: one sequence of any integer
 * dtype. A code outside 0 .. groups - 1 is TALLY_INVALID; the sentence names its position, and
 * nothing is written. */
TALLY_API tally_status tally_groups(tally *ctx, const tally_view *codes, int64_t groups,
                                    int64_t *order, int64_t *offsets);
/* A gather: out[i] = in[order[i]], 0 <= i < n. in: one sequence. out: n elements of the same
 * dtype, in memory that does not overlap in. A position outside 0 .. in->n - 1 is TALLY_INVALID,
 * and nothing is written. */
TALLY_API tally_status tally_take(tally *ctx, const tally_view *in, const int64_t *order, int64_t n,
                                  const tally_view *out);

/* ---- 10 windows by ranges and by keys -----------------------------------------------------------
 * Windows that are not a fixed number of neighbouring rows, but a distance in a sorted key such
 * as a time or a price. On a GPU the processors compute them.
 *
 * Example:
 *     int64_t time[8] = {0, 1, 5, 6, 7, 20, 21, 30}, start[8], end[8];
 *     float sum[8];
 *     tally_view keys = tally_flat(time, TALLY_I64, 8), in = tally_flat(x, TALLY_F32, 8);
 *     tally_view out = tally_flat(sum, TALLY_F32, 8);
 *     tally_key_window last = {.low = -2, .high = 0}; // from 2 units before each time
 *     tally_window_bounds(ctx, &keys, &last, start, end);
 *     tally_window_ranges(ctx, "sum", &in, start, end, 8, &out, 0);
 *     printf("%g %g %g %g\n", sum[1], sum[4], sum[6], sum[7]); // 4 10 11 6 */

/* out[r] = reduce of elements start[r] .. end[r] - 1 of one sequence, counted from start[r]. An
 * empty range, or one with fewer than min_count elements (not counting NaN for nan* operators),
 * gives the empty value. Ranges may come in any order and may overlap. Required: 0 <= start[r] <=
 * end[r] <= in->n, else TALLY_INVALID, and nothing is written. out: one sequence of `results`
 * results, which does not overlap in, start or end.
 *
 * Time per range: proportional to log2 of its length, or to its length if that is less; for exact
 * sums, to the elements that differ from the range before it. Each thread keeps about two states
 * for each element of the longest range. */
TALLY_API tally_status tally_window_ranges(tally *ctx, const char *op, const tally_view *in,
                                           const int64_t *start, const int64_t *end,
                                           int64_t results, const tally_view *out,
                                           int64_t min_count);

/* 10^18: the unit of the fractions of decimals, here and in tally_file.h. */
#define TALLY_KEY_PART INT64_C(1000000000000000000)

/* Which rows with the key of row i belong to the window of row i: all of them (SQL's peers,
 * Polars), or only those up to row i (pandas). Rows with other keys are not affected. */
typedef enum tally_ties { TALLY_TIES_ALL = 0, TALLY_TIES_ROW } tally_ties;

/* The window of row i contains the rows j with low <= key[j] - key[i] <= high. Distances are
 * exact: nothing is rounded or overflows. The values of the keys count, not their positions: for
 * descending keys, low = -t and high = 0 give the rows after row i. Trailing windows of a time t:
 * low = -t, high = 0; for pandas' closed="right" also low_open = 1 and TALLY_TIES_ROW. Infinite
 * f64 keys have distance 0 from equal ones, and infinite distance from all others; a window with
 * an infinite low or high includes them at that end. All zero: the rows with the same key. */
typedef struct tally_key_window {
    /* for keys of i32, i64 and u64; both 0: the same key. Fields that are not for the type of the
     * keys must be 0 */
    int64_t low, high;
    double low_real, high_real; /* for keys of f64, not NaN */
    int low_open, high_open;    /* 1: a key at exactly this distance is outside */
    tally_ties ties;
    /* NULL, or low and high for each row (calendar months), for integer keys */
    const int64_t *lows, *highs;
    /* Decimals. NULL, or key i is keys[i] + parts[i] / TALLY_KEY_PART. The limits are low +
     * low_part / TALLY_KEY_PART and high + high_part / TALLY_KEY_PART. All parts are in
     * 0 .. TALLY_KEY_PART - 1: -0.5 is -1 and TALLY_KEY_PART / 2. */
    const int64_t *parts;
    int64_t low_part, high_part;
} tally_key_window;
/* Computes start and end of the window of each row, for tally_window_ranges. keys: one sequence
 * of i32, i64, u64 or f64, sorted, ascending or descending. Unsorted keys and NaN are
 * TALLY_INVALID; the sentence names the row and both keys, and nothing is written. TALLY_TIES_ROW
 * is TALLY_INVALID too if a window would leave out a row and include rows after it. start and end
 * have keys->n values, and overlap neither each other nor what is read. */
TALLY_API tally_status tally_window_bounds(tally *ctx, const tally_view *keys,
                                           const tally_key_window *window, int64_t *start,
                                           int64_t *end);

#ifdef __cplusplus
}
#endif
#endif
