/* SPDX-License-Identifier: MIT
 * The law over elements that may be missing, as it is written: node by node, of values that were
 * widened one by one. Part of test_inputs.c. */
#ifndef TALLY_TEST_INPUTS_LAW_H
#define TALLY_TEST_INPUTS_LAW_H
#include "law/order.h"
#include "matrix.h"
#include "real.h"

enum { MOST = 3000 };

static _Alignas(16) unsigned char values[2 * MOST * 8];
static unsigned char there[MOST];
static int is_empty; /* was the last of fold's results of no elements? */

/* One sequence: dense values of one type, the second ones `second` bytes behind, and which of
   them are there. */
typedef struct {
    const tl_scalar *op;
    tl_par p;
    int64_t n;
} sequence;

static reference element(const sequence *q, int64_t i, int64_t first)
{
    const void *x = values + i * q->op->elem_bytes;
    reference a = {.present = there[i] && !q->op->is_masked(x, q->p)};
    if (a.present) q->op->lift(&a.s, x, i - first, q->p), a.n = 1;
    return a;
}

/* S(m) of the elements from `first` on, as it is written: node by node. */
static reference node(const sequence *q, int64_t at, int k, int64_t first)
{
    if (!k) return element(q, at, first);
    reference a = node(q, at, k - 1, first),
              b = node(q, at + ((int64_t)1 << (k - 1)), k - 1, first);
    reference_combine(q->op, &a, &b);
    return a;
}

static void fold(const sequence *q, int64_t first, int64_t m, const void *init, int64_t least,
                 void *out)
{
    reference s = {.present = init != NULL};
    int64_t counted = 0;
    if (init) q->op->seed(&s.s, init, q->p);
    for (int64_t at = 0; at < m;) {
        const int k = tl_top_level(m - at);
        const reference b = node(q, first + at, k, first);
        reference_combine(q->op, &s, &b);
        at += (int64_t)1 << k;
    }
    for (int64_t i = first; i < first + m; i++) counted += element(q, i, first).present;
    if (counted < least) s.present = 0;
    is_empty = !s.present;
    if (s.present)
        q->op->lower(&s.s, counted, 0, q->p, out);
    else
        q->op->empty(q->p, out);
}

/* The element as `to` has it. An integer that becomes a wider integer has 32 bits at most, and
   f64 holds it. */
static void widen(const unsigned char *x, tally_dtype from, tally_dtype to, void *y)
{
    if (from == to) {
        memcpy(y, x, tally_dtype_size(from));
        return;
    }
    const double v = real_of(from, x);
    if (to == TALLY_F64) memcpy(y, &v, 8);
    if (to == TALLY_F32) memcpy(y, &(float){(float)v}, 4);
    if (to == TALLY_I64 || to == TALLY_U64) memcpy(y, &(int64_t){(int64_t)v}, 8);
}

/* Is the element in this place there? */
static int bit(const tally_view *v, int64_t place)
{
    const int64_t b = v->valid_offset + place;
    return !v->valid || (((const unsigned char *)v->valid)[b >> 3] >> (b & 7) & 1);
}

/* Sequence r of `in` as the law takes it. */
static sequence bring(const tally_view *in, const tl_scalar *op, tl_par p, int64_t r, int reverse)
{
    sequence q = {op, p, in->offsets ? in->offsets[r + 1] - in->offsets[r] : in->n};
    q.p.second = MOST * 8;
    memset(there, 1, (size_t)q.n);
    for (const tally_view *v = in; v; v = v->next)
        for (int64_t i = 0; i < q.n; i++) {
            const int64_t at = reverse ? q.n - 1 - i : i,
                          place = (v->offsets ? v->offsets[r] : 0) * v->stride +
                                  (v->offsets ? 0 : r * v->row_stride) + at * v->stride;
            const int64_t bytes = (int64_t)tally_dtype_size(v->dtype);
            widen((const unsigned char *)v->data + place * bytes, v->dtype, op->dtype,
                  values + (v != in) * MOST * 8 + i * op->elem_bytes);
            there[i] &= (unsigned char)bit(v, place);
        }
    return q;
}

/* What the window around element i of a sequence gives, into `out`. */
static void window_at(const sequence *q, const tally_window_options *o, int64_t i, void *out)
{
    const int64_t low = i - o->before, high = i + o->after + 1, n = q->n;
    const int64_t a = low < 0 ? 0 : low > n ? n : low, e = high > n ? n : high, b = e < a ? a : e;
    if ((low >= 0 && high <= n) || o->edges == TALLY_EDGES_SHRINK || o->min_count > 0)
        fold(q, a, b - a, NULL, o->min_count, out);
    else
        q->op->empty(q->p, out), is_empty = 1;
}
#endif
