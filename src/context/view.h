/* SPDX-License-Identifier: MIT
 * Views: their checks, the memory that they cover, overlaps, and the places of their sequences. */
#pragma once

#include "context.h"
#include <assert.h>

/* Refuses negative or overflowing sizes, missing data, offsets that do not ascend. name: "in" or
 * "out". element_bytes: of one element; of an output, of one result with all its values. */
tally_status tl_view_check(tally *ctx, const tally_view *v, const char *name,
                           int64_t element_bytes);

/* Sets [*low, *high) to the bytes that a view may touch, relative to data; low = high = 0 if it
 * has no elements. Returns 0 if the numbers overflow. */
int tl_view_extent(const tally_view *v, int64_t element_bytes, int64_t *low, int64_t *high);

/* Sets numbers that no element depends on to harmless values: strides of extents of 1, strides and
 * offsets of a view without elements. Then shapes and devices may compute with all numbers. */
void tl_view_normal(tally_view *v);

/* Refuses an output view in which two results have the same place. v is checked. */
tally_status tl_view_distinct(tally *ctx, const tally_view *v, const char *name);

/* Refuses a view that has other sequences than the view `as`: another number, or other offsets. */
tally_status tl_view_same(tally *ctx, const tally_view *v, const char *name, const tally_view *as,
                          const char *as_name);

/* Whether two checked views have a byte in common. */
int tl_views_overlap(const tally_view *in, int64_t in_bytes, const tally_view *out,
                     int64_t out_bytes);
/* tl_views_overlap for an array, which may be NULL. */
int tl_view_overlaps_numbers(const tally_view *v, int64_t bytes, const int64_t *numbers, int64_t n);

/* Refuses an output that overlaps the input, unless it is exactly the input and in_place is set, or
 * that overlaps its offsets. */
tally_status tl_check_overlap(tally *ctx, const tally_view *in, int64_t in_bytes,
                              const tally_view *out, int64_t out_bytes, int in_place);

static inline int64_t tl_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tl_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* x between low and high; low if it is above high. */
static inline int64_t tl_clamp(int64_t x, int64_t low, int64_t high)
{
    return tl_max(low, tl_min(x, high));
}

static inline int64_t tl_element_bytes(const tally_view *v)
{
    return (int64_t)tally_dtype_size(v->dtype);
}

static inline int64_t tl_view_elements(const tally_view *v)
{
    return v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->rows * v->n;
}

/* data + bytes, also if data is NULL (a view without elements), for which C's pointer arithmetic
 * is undefined. */
static inline char *tl_offset(void *data, int64_t bytes)
{
    return (char *)((uintptr_t)data + (uintptr_t)bytes);
}

/* stride * element_bytes. It wraps beyond 2^63, but then no element depends on it. */
static inline int64_t tl_step(int64_t stride, int64_t element_bytes)
{
    return (int64_t)((uint64_t)stride * (uint64_t)element_bytes);
}

/* The number of elements from v->data to the first of sequence r. It wraps for an empty row beyond
 * 2^63. */
static inline int64_t tl_view_first(const tally_view *v, int64_t r)
{
    return tl_step(v->offsets ? v->offsets[r] : r, v->offsets ? v->stride : v->row_stride);
}

static inline int64_t tl_view_length(const tally_view *v, int64_t r)
{
    return v->offsets ? v->offsets[r + 1] - v->offsets[r] : v->n;
}

/* The first element of sequence r of v, and its length. */
static inline char *tl_view_row(const tally_view *v, int64_t r, int64_t element_bytes, int64_t *n)
{
    assert(r >= 0);
    assert(!v->offsets || v->offsets[r] <= v->offsets[r + 1]);
    *n = tl_view_length(v, r);
    return tl_offset(v->data, tl_step(tl_view_first(v, r), element_bytes));
}

static inline int tl_bit(const unsigned char *bits, int64_t at)
{
    return bits[at >> 3] >> (at & 7) & 1;
}

static inline void tl_set_bit(unsigned char *bits, int64_t at, int one)
{
    bits[at >> 3] = (unsigned char)((bits[at >> 3] & ~(1 << (at & 7))) | one << (at & 7));
}

/* Elements at .. at + n - 1 of each sequence of v, with their validity bits. v has no offsets. */
static inline tally_view tl_view_part(const tally_view *v, int64_t at, int64_t n,
                                      int64_t element_bytes)
{
    assert(!v->offsets);
    assert(at >= 0 && n >= 0);
    tally_view part = *v;
    part.n = n;
    part.data = tl_offset(v->data, at * v->stride * element_bytes);
    if (v->valid) part.valid_offset += at * v->stride;
    return part;
}

/* The transposed view: sequence k has element k of every sequence of v. */
static inline tally_view tl_view_transposed(const tally_view *v)
{
    assert(!v->offsets);
    tally_view t = *v;
    t.rows = v->n;
    t.n = v->rows;
    t.row_stride = v->stride;
    t.stride = v->row_stride;
    return t;
}

/* Copies n elements between arrays with strides, which count elements. */
void tl_copy_strided(void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t n,
                     int64_t element_bytes);

/* ---- shares ----
 *
 * Divides rows and segments into parts of about equal weight, for threads. The weight of a sequence
 * is its number of elements plus TL_SHARE_ROW, the cost of starting it. */

enum { TL_SHARE_ROW = 16 };
typedef __int128 tl_weight; /* 2^62 rows are allowed if they are empty */

static inline tl_weight tl_weight_before(const tally_view *in, int64_t r)
{
    return (in->offsets ? in->offsets[r] - in->offsets[0] : (tl_weight)r * in->n) +
           (tl_weight)r * TL_SHARE_ROW;
}

/* The first sequence of part t of `shares`. Part `shares` begins after the last sequence. */
static inline int64_t tl_share(const tally_view *in, int64_t t, int64_t shares)
{
    assert(shares >= 1 && t >= 0);
    int64_t low = 0, high = in->rows;
    if (t <= 0) return 0;
    if (t >= shares) return high;

    const tl_weight target = tl_weight_before(in, in->rows) / shares * t;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (tl_weight_before(in, mid) < target)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
