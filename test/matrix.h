/* SPDX-License-Identifier: MIT
 * What the bits tests share: a fast reference that the spec itself vouches for. */
#ifndef TALLY_TEST_MATRIX_H
#define TALLY_TEST_MATRIX_H
#include "law/counter.h"
#include "context/context.h"
#include "law/order.h"
#include "law/spec.h"
#include "check.h"

/* of tl_data, and MASKED */
static const char *const data_names[] = {"plain", "hostile", "zeros", "bits", "masked"};

/* ---- the law, faster than the spec executes it; small cases use the spec itself ---- */

/* A state, or ABSENT. */
typedef struct {
    tl_state s;
    int present;
    int64_t n; /* elements it has folded */
} reference;

static void reference_combine(const tl_scalar *op, reference *a, const reference *b)
{
    if (a->present && b->present) {
        op->combine(&a->s, &b->s, a->n, b->n);
        a->n += b->n;
    } else if (b->present) {
        *a = *b;
    }
}

static inline void reference_lower(const tl_scalar *op, tl_par p, const reference *a, int64_t n,
                                   int64_t first, void *out)
{
    if (a->present)
        op->lower(&a->s, n, first, p, out);
    else
        op->empty(p, out);
}

static inline reference reference_lift(const tl_scalar *op, tl_par p, const void *x, int64_t i)
{
    reference a = {.present = !op->is_masked(x, p)};
    if (a.present) op->lift(&a.s, x, i, p), a.n = 1;
    return a;
}

/* S(0) .. S(n) of elements `stride` apart, by a binary counter: block[j] is its node number j,
 * and prefix[j + 1] what S is from the first up to that one, so an element costs about two
 * combines. out: n + 1 results. */
static inline void reference_prefixes(const tl_scalar *op, tl_par p, const void *x, int64_t stride,
                                      int64_t n, const void *init, void *out)
{
    reference block[TL_MAX_LEVELS], prefix[TL_MAX_LEVELS + 1] = {{.present = init != NULL}};
    int top = 0;
    if (init) op->seed(&prefix[0].s, init, p);
    for (int64_t i = 0;; i++) {
        reference_lower(op, p, &prefix[top], i, 0, (char *)out + i * op->result_bytes);
        if (i == n) return;
        block[top++] = reference_lift(op, p, (const char *)x + i * stride * op->elem_bytes, i);
        for (int64_t c = i; c & 1; c >>= 1, top--)
            reference_combine(op, &block[top - 2], &block[top - 1]);
        prefix[top] = prefix[top - 1];
        reference_combine(op, &prefix[top], &block[top - 1]);
    }
}

/* As tl_spec_reduce, without init: the blocks of the binary counter, from the first on. */
static inline void reference_reduce(tl_spec_sequence q, void *out)
{
    const tl_scalar *const op = q.op;
    const tl_par p = q.p;
    const int64_t n = q.n, stride = q.stride;
    reference block[TL_MAX_LEVELS], whole = {.present = 0};
    int top = 0;
    for (int64_t i = 0; i < n; i++) {
        block[top++] = reference_lift(op, p, (const char *)q.x + i * stride * op->elem_bytes, i);
        for (int64_t c = i; c & 1; c >>= 1, top--)
            reference_combine(op, &block[top - 2], &block[top - 1]);
    }
    for (int k = 0; k < top; k++) reference_combine(op, &whole, &block[k]);
    reference_lower(op, p, &whole, n, 0, out);
}

/* As tl_spec_scan, without init. */
static inline void reference_scan(tl_spec_sequence q, const tally_scan_options *o, void *out)
{
    const tl_scalar *const op = q.op;
    const tl_par p = q.p;
    const int64_t n = q.n, stride = q.stride;
    int64_t size = op->result_bytes;
    char *all = malloc((size_t)((n + 1) * size));
    if (!all) exit(2);
    const void *x = q.x;
    if (o->reverse && n > 0) x = (const char *)x + (n - 1) * stride * op->elem_bytes;
    reference_prefixes(op, p, x, o->reverse ? -stride : stride, n, o->init, all);
    char *from = all + (o->exclusive ? 0 : size), *to = out;
    for (int64_t i = 0; o->reverse && i < n; i++)
        memcpy(to + (n - 1 - i) * size, from + i * size, (size_t)size);
    if (!o->reverse) memcpy(to, from, (size_t)(n * size));
    free(all);
}

/* As tl_spec_window. Windows share nodes: node[k * n + i] is that of the 2^k elements from i on.
 * Indices are those of the sequence and not of the window; op->lower takes the window's first
 * away. */
static inline void reference_window(tl_spec_sequence q, const tally_window_options *o, void *out)
{
    const tl_scalar *const op = q.op;
    const tl_par p = q.p;
    const int64_t n = q.n, stride = q.stride;
    int64_t most = o->before + o->after + 1 < n ? o->before + o->after + 1 : n,
            *counted = calloc((size_t)n + 1, sizeof *counted);
    int levels = 1;
    while (most >> levels) levels++;
    reference *node = malloc((size_t)(levels * n + 1) * sizeof *node);
    if (!node || !counted) exit(2);
    for (int64_t i = 0; i < n; i++) {
        node[i] = reference_lift(op, p, (const char *)q.x + i * stride * op->elem_bytes, i);
        counted[i + 1] = counted[i] + node[i].present;
    }
    for (int k = 1; k < levels; k++)
        for (int64_t i = 0; i + ((int64_t)1 << k) <= n; i++) {
            node[k * n + i] = node[(k - 1) * n + i];
            reference_combine(op, &node[k * n + i],
                              &node[(k - 1) * n + i + ((int64_t)1 << (k - 1))]);
        }
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i < o->before ? 0 : i - o->before,
                end = n - 1 - i < o->after ? n : i + o->after + 1;
        int whole = i >= o->before && n - 1 - i >= o->after;
        if (!whole && o->edges == TALLY_EDGES_VALID) continue;
        reference s = {.present = 0};
        if (counted[end] - counted[from] >= o->min_count &&
            (whole || o->edges == TALLY_EDGES_SHRINK || o->min_count > 0))
            for (int64_t at = from, m = end - from; m;
                 m -= (int64_t)1 << tl_top_level(m), at = end - m)
                reference_combine(op, &s, &node[tl_top_level(m) * n + at]);
        reference_lower(op, p, &s, end - from, from, out);
        out = (char *)out + op->result_bytes;
    }
    free(counted);
    free(node);
}
#endif
