/* SPDX-License-Identifier: MIT
 * Views, checked once: what they cover, whether they can overlap, and where their sequences lie. */
#ifndef TALLY_VIEW_H
#define TALLY_VIEW_H
#include "context.h"

/* Refuses views whose sizes are negative, overflow, or whose data is missing; offsets must
 * ascend. name: "in" or "out". result_bytes: the bytes of one element of this view (of all lanes
 * for an output). */
tally_status tl_view_check(tally *ctx, const tally_view *v, const char *name,
                           int64_t element_bytes);

/* The bytes [*low, *high) a view may touch, relative to data; 0 if the numbers overflow. No
 * elements: low = high = 0. */
int tl_view_extent(const tally_view *v, int64_t element_bytes, int64_t *low, int64_t *high);

/* Some numbers of a checked view do not matter to any element: strides of extents of 1, the
 * strides and offsets of a view without elements. They get harmless values, so that shapes and
 * devices may calculate with all numbers. */
void tl_view_normal(tally_view *v);

/* Refuses an output view in which two results have the same place. v is checked. */
tally_status tl_view_distinct(tally *ctx, const tally_view *v, const char *name);

/* Refuses an output that overlaps the input, unless it is exactly the input and in_place is
   allowed. */
tally_status tl_view_overlap(tally *ctx, const tally_view *in, int64_t in_bytes,
                             const tally_view *out, int64_t out_bytes, int in_place);

/* data + bytes, also for the NULL of a view without elements, where pointer arithmetic is
   undefined. */
static inline char *tl_offset(void *data, int64_t bytes)
{
    return (char *)((uintptr_t)data + (uintptr_t)bytes);
}

/* Bytes from one element to the next. Where that is more than 2^63, no element depends on it. */
static inline int64_t tl_step(int64_t stride, int64_t element_bytes)
{
    return (int64_t)((uint64_t)stride * (uint64_t)element_bytes);
}

/* Sequence r of v: its first element and its length. */
static inline char *tl_view_row(const tally_view *v, int64_t r, int64_t element_bytes, int64_t *n)
{
    if (v->offsets) {
        *n = v->offsets[r + 1] - v->offsets[r];
        /* unsigned: one row past the last element may be past 2^63 too, and is not read */
        return tl_offset(v->data, (int64_t)((uint64_t)v->offsets[r] * (uint64_t)v->stride *
                                            (uint64_t)element_bytes));
    }
    *n = v->n;
    return tl_offset(v->data, r * v->row_stride * element_bytes);
}

/* Elements at .. at + n - 1 of each sequence of v, which has no offsets, with their bits. */
static inline tally_view tl_view_part(const tally_view *v, int64_t at, int64_t n,
                                      int64_t element_bytes)
{
    tally_view part = *v;
    part.n = n;
    part.data = tl_offset(v->data, at * v->stride * element_bytes);
    if (v->valid) part.valid_offset += at * v->stride;
    return part;
}

/* The same elements; what were sequences are steps. */
static inline tally_view tl_view_turned(const tally_view *v)
{
    tally_view t = *v;
    t.rows = v->n;
    t.n = v->rows;
    t.row_stride = v->stride;
    t.stride = v->row_stride;
    return t;
}

/* Copies n elements between places with strides in elements. */
void tl_copy_strided(void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t n,
                     int64_t element_bytes);
/* The same by up to `threads` threads. */
void tl_copy_strided_by(int threads, void *to, int64_t to_stride, const void *from,
                        int64_t from_stride, int64_t n, int64_t bytes);
#endif
