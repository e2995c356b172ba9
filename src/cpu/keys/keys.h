/* SPDX-License-Identifier: MIT
 * Keys on CPUs: runs of equal neighbours, a stable sort by group, a gather, windows by ranges.
 * Requires: arguments are checked, except for what depends on the data. */
#pragma once

#include "cpu/shape.h"

/* Writes offsets[0 .. runs] of one sequence (tally.h); offsets NULL: only counts the runs. Returns
 * runs. */
int64_t tl_runs(int threads, const tally_view *keys, int64_t *offsets);

/* Neighbouring parts of n elements, for threads: their number, and the first element of part p. */
static inline int64_t tl_key_parts(int threads, int64_t n)
{
    const int64_t most = (n >> 16) + 1;
    return most < threads ? most : threads;
}

static inline int64_t tl_key_part(int64_t n, int64_t parts, int64_t p)
{
    return p == parts ? n : n / parts * p;
}

/* Returns the first i whose order[i] is not in 0 .. length - 1, or n. */
int64_t tl_take_check(int threads, const int64_t *order, int64_t n, int64_t length);
void tl_take(int threads, const tally_view *in, const int64_t *order, int64_t n,
             const tally_view *out);

/* ---- groups.c ---- */

/* A stable sort of rows by their codes: where the elements of each group go. A row whose code is
 * left out belongs to one more group, number `groups`. */
typedef struct {
    tally *ctx;
    const tally_view *codes;
    int64_t groups, *offsets; /* offsets: groups + 1, of the caller */
    int shift;                /* a bucket has the codes that are equal after this shift */
    int64_t buckets, parts;
    int64_t *next;  /* for each part and bucket, the position of the part's first element */
    int64_t *begin; /* of each bucket, and n */
    uint32_t *low;  /* NULL: a bucket is a group; or the codes' low bits, bucket after bucket */
} tl_groups;

/* Fills offsets, and *g, which tl_groups_close releases in any case (zeros too). *bad: the index of
 * the first code that is not in 0 .. groups - 1, then offsets are not written; or -1. */
tally_status tl_groups_open(tl_groups *g, tally *ctx, const tally_view *codes, int64_t groups,
                            int64_t *offsets, int64_t *bad);
void tl_groups_close(tl_groups *g);

/* Copies a column of one element of `bytes` bytes for each row, `stride` elements apart, to the
 * order of the groups (dense), or back. rows NULL: the rows' numbers, of 8 bytes. tl_groups_back
 * may leave anything in `sorted`. */
tally_status tl_groups_sort(const tl_groups *g, const void *rows, int64_t stride, int64_t bytes,
                            void *sorted);
tally_status tl_groups_back(const tl_groups *g, void *sorted, int64_t bytes, void *rows,
                            int64_t stride);

/* Memory for n elements, on large pages where the system has them. NULL: out of memory. */
void *tl_key_memory(int64_t n, int64_t bytes);

/* ---- bounds.c ---- */

/* Windows over sorted keys, as ranges of rows (tally_window_bounds). */

/* Returns n if the keys are sorted, else the first i >= 1 whose key is out of order. With NaN keys
 * it may return 0. *descending: the direction. */
int64_t tl_bounds_order(int threads, const tally_view *keys, const tally_key_window *window,
                        int *descending);

/* Requires: keys are sorted and of i32, i64, u64 or f64. Returns n, or, with TALLY_TIES_ROW, a row
 * whose window is not one range; then nothing is written. */
int64_t tl_bounds(int threads, const tally_view *keys, int descending,
                  const tally_key_window *window, int64_t *start, int64_t *end);

/* ---- fold_ranges.c ---- */

/* Windows that are arbitrary ranges of a sequence: given as ranges, or by options that the windows
 * of dense slices (cpu/driver.h) do not support: negative offsets, and a step. Each range is folded
 * alone, from its own first element. */

/* Computes the ranges of one sequence. count: see tl_call. */
void tl_ranges_run(const tl_plan *plan, const tl_plan *count, int threads, const tl_ranges *ranges,
                   tl_line line);

/* ---- range_nodes.c ---- */

enum {
    TL_RANGE_BATCH = 1024, /* results of a batch */
    /* Ranges of 2^29 elements or more are folded directly, because places and counts have 32
     * bits. */
    TL_RANGE_LEVELS = 29
};

/* The nodes of one thread's ranges: the elements read so far, the ring buffers of each level, and
 * the buffers of a batch of results. Zeros before its first use. */
typedef struct {
    char *memory; /* NULL: not allocated */
    char *wide, *soa, *result, *out, *nodes;
    tl_range_ring rings[TL_RANGE_LEVELS];
    int levels, failed;

    /* There are nodes of elements from .. head - 1 of the sequence; from == head: none. Place 0 is
     * element `base`. */
    int64_t base, from, head;

    /* of a batch: places, lengths, result numbers */
    int32_t place[TL_RANGE_BATCH], length[TL_RANGE_BATCH];
    int64_t number[TL_RANGE_BATCH];
} tl_range_nodes;

/* Allocates rings for ranges of less than 2^levels elements. 0: out of memory. */
int tl_range_nodes_open(tl_range_nodes *s, const tl_plan *plan, int levels);
void tl_range_nodes_close(tl_range_nodes *s);

/* How many elements must be read before ranges inside low .. high - 1 can be folded. */
int64_t tl_range_nodes_cost(const tl_range_nodes *s, int64_t low, int64_t high);

/* Folds `count` ranges. Range r is length[r] elements from element place[r] + low on, and ends in
 * the tile of element high - 1. x: the sequence. Places become those of the nodes. The states are
 * at s->soa, with padding states up to a multiple of TL_ABREAST. */
void tl_range_nodes_fold(tl_range_nodes *s, const tl_plan *plan, const char *x, int64_t low,
                         int64_t high, int64_t count);

/* Statistics of the ranges of a call. */
typedef struct {
    int64_t all; /* the sum of all lengths */
    /* by_level[l]: elements of ranges whose length has l bits; the last entry has all longer
     * ones */
    int64_t by_level[TL_RANGE_LEVELS + 1];
    int sorted; /* the tiles in which the ranges end do not decrease */
    int64_t longest;
} tl_range_survey;

tl_range_survey tl_range_survey_of(const tl_ranges *ranges);

/* The levels that cost least: each costs one step per element; ranges that are too long for them
 * are folded from their elements. */
int tl_range_levels(const tl_range_survey *v, int64_t n);

/* The range numbers sorted by the tile in which each range ends (counting sort). NULL: out of
 * memory. */
int64_t *tl_range_order(const tl_ranges *ranges);
