/* SPDX-License-Identifier: MIT
 * Checks of views. All sizes are checked before a pointer is used. */
#include "view.h"
#include "device.h"
#include "threads.h"
#include <assert.h>
#include <string.h>

/* sequences have fewer than 2^62 elements, so the sum of two lengths does not overflow, nor does
 * the product of two numbers below FEW. */
enum { LENGTH_BITS = 62, FEW = 1 << 30 };

/* One dense sequence: short calls have few instructions for it. */
static int is_dense(const tally_view *v) { return v->rows == 1 && v->stride == 1 && !v->offsets; }

int tl_view_extent(const tally_view *v, int64_t bytes, int64_t *low, int64_t *high)
{
    assert(bytes >= 0 && bytes < FEW);
    assert(v->rows >= 0);
    *low = *high = 0;
    if (v->rows == 0) return 1;

    if (is_dense(v)) return !__builtin_mul_overflow(v->n, bytes, high);

    /* With stride 0 all elements are in one place; their number is limited all the same, so that
     * the count of their bytes cannot overflow. */
    const __int128 elements =
        v->offsets ? v->offsets[v->rows] - v->offsets[0] : (__int128)v->rows * v->n;
    if (elements > INT64_MAX || elements * bytes > INT64_MAX) return 0;
    if (elements == 0) return 1;

    /* two elements, between which all others are; of rows: in each direction, from element 0 */
    const __int128 a = v->offsets ? (__int128)v->offsets[0] * v->stride
                                  : (__int128)(v->rows - 1) * v->row_stride,
                   b = (__int128)(v->offsets ? v->offsets[v->rows] - 1 : v->n - 1) * v->stride;
    __int128 first = a < b ? a : b, last = a < b ? b : a;
    if (!v->offsets) first = (a < 0 ? a : 0) + (b < 0 ? b : 0), last = a + b - first;

    if (first < INT64_MIN || last >= INT64_MAX) return 0;
    first *= bytes, last = (last + 1) * bytes;
    if (first < INT64_MIN || last > INT64_MAX || last - first > INT64_MAX) return 0;
    *low = (int64_t)first, *high = (int64_t)last;
    return 1;
}

/* The caller set data or n but left rows and row_stride at 0. The helpers of tally.h write no such
 * view: without rows, but with n elements, row_stride is n. */
static int is_unfilled(const tally_view *v)
{
    return v->rows == 0 && !v->offsets && v->row_stride == 0 &&
           (v->n > 0 || (v->data && v->stride == 0));
}

/* The elements of a checked view whose stride is 0 by mistake: both strides are 0, where row_stride
 * has no meaning and the helpers of tally.h set it or the stride. 0: they are meant. */
static int64_t unfilled_stride(const tally_view *v)
{
    if (v->stride != 0 || v->row_stride != 0) return 0;
    if (v->offsets) return v->rows > 0 ? v->offsets[v->rows] - v->offsets[0] : 0;
    return v->rows == 1 ? v->n : 0;
}

enum { PART = 1 << 15 }; /* offsets that are compared together */

/* The first offset that is above the next one. The first of all is not negative, so none is before
 * it, and without negative ones no difference overflows. */
static int64_t find_descent(const void *offsets, int64_t a, int64_t b)
{
    const uint64_t *const o = offsets;
    uint64_t signs = 0;
    int64_t r = a;

    for (; r + 8 <= b; r += 8) {
        __builtin_prefetch((const void *)((uintptr_t)(o + r) + 4096), 0, 2);
        for (int i = 0; i < 8; i++) signs |= (o[r + i + 1] - o[r + i]) | o[r + i + 1];
    }
    for (; r < b; r++) signs |= (o[r + 1] - o[r]) | o[r + 1];
    if (!(signs >> 63)) return INT64_MAX;
    while (a < b && (int64_t)o[a + 1] >= (int64_t)o[a]) a++;
    return a < b ? a : INT64_MAX;
}

/* Not inline: calls without offsets have a shorter way. */
static __attribute__((noinline)) tally_status check_order(tally *ctx, const tally_view *v,
                                                          const char *name)
{
    const int64_t *const o = v->offsets, rows = v->rows;
    const int threads = ctx && rows > 4 * PART ? ctx->device->threads : 1;
    const int64_t r =
        rows <= PART ? find_descent(o, 0, rows) : tl_find(threads, rows, PART, find_descent, o);
    if (r >= rows) return TALLY_OK;
    return tl_invalid(ctx, "%s->offsets[%ld] is %ld, below offsets[%ld] = %ld: must ascend", name,
                      r + 1, o[r + 1], r, o[r]);
}

tally_status tl_view_check(tally *ctx, const tally_view *v, const char *name, int64_t bytes)
{
    assert(name && bytes >= 0);
    int64_t low, high;
    if (is_dense(v) && v->data && v->n >= 0 && v->n < FEW && bytes < FEW && !v->valid && !v->next)
        return TALLY_OK;

    if (v->valid) return tl_unsupported(ctx, "%s->valid is given: this call takes none", name);
    if (v->next) return tl_unsupported(ctx, "%s->next is given: this call takes one input", name);
    if (v->rows < 0) return tl_invalid(ctx, "%s->rows is %ld: must be at least 0", name, v->rows);

    if (is_unfilled(v))
        return tl_invalid(
            ctx,
            "%s->rows is 0, and %s: must be at least 1 (one sequence has .rows = 1, .stride = 1)",
            name, v->n ? "n is not" : "data is not NULL");

    if (!v->offsets) {
        if (v->n < 0) return tl_invalid(ctx, "%s->n is %ld: must be at least 0", name, v->n);

        if (v->n >> LENGTH_BITS)
            return tl_invalid(ctx, "%s->n is %ld: must be below 2^%d", name, v->n, LENGTH_BITS);
    } else if (v->rows > 0) {
        if (v->offsets[0] < 0)
            return tl_invalid(ctx, "%s->offsets[0] is %ld: must be at least 0", name,
                              v->offsets[0]);

        TL_TRY(check_order(ctx, v, name));
    }

    if (!tl_view_extent(v, bytes, &low, &high))
        return tl_invalid(ctx,
                          "%s: rows %ld x n %ld with strides %ld and %ld is more bytes than 2^63",
                          name, v->rows, v->n, v->row_stride, v->stride);

    if (unfilled_stride(v) > 1)
        return tl_invalid(ctx,
                          "%s->stride is 0 for %ld elements: must be 1 for dense elements (an "
                          "input that repeats one element has row_stride 1 too)",
                          name, unfilled_stride(v));

    if (high > low && !v->data)
        return tl_invalid(ctx, "%s->data is NULL: must point to the elements", name);
    return TALLY_OK;
}

void tl_view_normal(tally_view *v)
{
    assert(v->rows >= 0 && (v->offsets || v->n >= 0));
    int64_t elements = v->rows == 0 ? 0 : v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->n;
    if (elements == 0) {
        v->offsets = NULL;
        v->n = v->row_stride = 0;
        v->stride = 1;
    } else if (v->offsets) {
        v->n = v->row_stride = 0;
    } else {
        if (v->rows == 1) v->row_stride = v->n;

        /* a row, viewed as columns */
        if (v->n == 1 && v->stride != 1) v->stride = v->row_stride == 1 ? v->rows : 1;
    }
}

tally_status tl_view_distinct(tally *ctx, const tally_view *v, const char *name)
{
    assert(v->rows >= 0 && (v->offsets || v->n >= 0));
    static const char harm[] = "results would overwrite each other";
    if (v->rows == 0 || (!v->offsets && v->n == 0)) return TALLY_OK;

    int64_t longest = v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->n;
    if (longest > 1 && v->stride == 0) return tl_invalid(ctx, "%s->stride is 0: %s", name, harm);
    if (v->offsets || v->rows == 1) return TALLY_OK;

    if (v->row_stride == 0) return tl_invalid(ctx, "%s->row_stride is 0: %s", name, harm);
    if (v->n == 1) return TALLY_OK;

    /* Two results coincide if they are i rows and j elements apart, with i = stride / g and j =
     * row_stride / g, g the greatest common divisor. That is the smallest such distance. */
    uint64_t i = v->stride < 0 ? -(uint64_t)v->stride : (uint64_t)v->stride;
    uint64_t j = v->row_stride < 0 ? -(uint64_t)v->row_stride : (uint64_t)v->row_stride, g = i;

    for (uint64_t b = j, t; b; b = t) {
        t = g % b;
        g = b;
    }

    if (i / g < (uint64_t)v->rows && j / g < (uint64_t)v->n)
        return tl_invalid(ctx, "%s->row_stride is %ld and stride %ld for %ld rows of %ld: %s", name,
                          v->row_stride, v->stride, v->rows, v->n, harm);
    return TALLY_OK;
}

int tl_views_overlap(const tally_view *in, int64_t in_bytes, const tally_view *out,
                     int64_t out_bytes)
{
    int64_t a, b, c, d;
    tl_view_extent(in, in_bytes, &a, &b);
    tl_view_extent(out, out_bytes, &c, &d);
    const uintptr_t x = (uintptr_t)in->data, y = (uintptr_t)out->data;
    return a != b && c != d && x + (uintptr_t)b > y + (uintptr_t)c &&
           y + (uintptr_t)d > x + (uintptr_t)a;
}

int tl_view_overlaps_numbers(const tally_view *v, int64_t bytes, const int64_t *numbers, int64_t n)
{
    const tally_view flat = tally_flat(numbers, TALLY_I64, numbers ? n : 0);
    return tl_views_overlap(&flat, sizeof *numbers, v, bytes);
}

tally_status tl_check_overlap(tally *ctx, const tally_view *in, int64_t in_bytes,
                              const tally_view *out, int64_t out_bytes, int in_place)
{
    if (in->offsets && tl_view_overlaps_numbers(out, out_bytes, in->offsets, in->rows + 1))
        return tl_invalid(ctx, "out overlaps in->offsets: give it memory of its own");
    if (!tl_views_overlap(in, in_bytes, out, out_bytes)) return TALLY_OK;
    if (in_place && in->data == out->data && in_bytes == out_bytes && in->stride == out->stride &&
        (in->offsets || in->row_stride == out->row_stride || in->rows == 1))
        return TALLY_OK;

    return tl_invalid(ctx, "out overlaps in: give it memory of its own%s",
                      in_place ? ", or exactly in's (same data, strides and element size)" : "");
}

tally_status tl_view_same(tally *ctx, const tally_view *v, const char *name, const tally_view *as,
                          const char *as_name)
{
    if (v->rows != as->rows)
        return tl_invalid(ctx, "%s->rows is %ld: must be %s->rows = %ld", name, v->rows, as_name,
                          as->rows);
    if (!as->offsets != !v->offsets)
        return tl_invalid(ctx, "%s->offsets: must be given exactly when %s->offsets is", name,
                          as_name);
    if (as->offsets && v->offsets != as->offsets && as->rows > 0 &&
        memcmp(as->offsets, v->offsets, (size_t)(as->rows + 1) * sizeof *as->offsets))
        return tl_invalid(ctx, "%s->offsets differ from %s->offsets: must be the same", name,
                          as_name);
    return TALLY_OK;
}

void tl_copy_strided(void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t n,
                     int64_t bytes)
{
    assert(n >= 0 && bytes > 0);
    if (n == 0) return; /* a pointer may be NULL */

    if (to_stride == 1 && from_stride == 1) {
        memcpy(to, from, (size_t)(n * bytes));
        return;
    }

    char *t = to;
    const char *f = from;
    const int64_t ts = n > 1 ? to_stride * bytes : 0, fs = n > 1 ? from_stride * bytes : 0;
#define EACH(size, a, b) \
    for (int64_t i = 0; i < n; i++) memcpy(t + i * (a), f + i * (b), size)
/* Separate loops for the strides 2 and -1, which compilers can vectorize. */
#define COPY(size) \
    if (ts == (size) && fs == 2 * (size)) \
        EACH(size, size, 2 * (size)); \
    else if (ts == (size) && fs == -(size)) \
        EACH(size, size, -(size)); \
    else \
        EACH(size, ts, fs)

    switch (bytes) {
    case 1:
        COPY(1);
        break;
    case 2:
        COPY(2);
        break;
    case 4:
        COPY(4);
        break;
    case 8:
        COPY(8);
        break;
    default:
        EACH((size_t)bytes, ts, fs);
        break;
    }
#undef COPY
#undef EACH
}

int64_t tally_window_length(int64_t n, const tally_window_options *o)
{
    if (n <= 0 || !o) return 0;
    const int64_t step = o->step > 1 ? o->step : 1;
    if (o->edges == TALLY_EDGES_VALID) { /* full windows: results number before .. n - after - 1 */
        const int64_t first = o->before > 0 ? o->before : 0, last = o->after > 0 ? n - o->after : n;
        n = last > first ? last - first : 0;
    }
    return n / step + (n % step != 0);
}
