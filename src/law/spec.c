/* SPDX-License-Identifier: MIT
 * Order E, v1, executed as written: node, S, and the three shapes that are defined by S. It has
 * no threads and no fast paths. */
#include "spec.h"
#include "order.h"

/* A state, or ABSENT if no element was folded. n: the number of elements folded. */
typedef struct {
    tl_state s;
    int present;
    int64_t n;
} maybe;

typedef tl_spec_sequence sequence;

static const void *element(const sequence *q, int64_t i)
{
    return (const unsigned char *)q->x + i * q->stride * q->op->elem_bytes;
}

static maybe C(const sequence *q, maybe a, maybe b)
{
    if (!a.present) return b;
    if (!b.present) return a;
    q->op->combine(&a.s, &b.s, a.n, b.n);
    a.n += b.n;
    return a;
}

static maybe node(const sequence *q, int64_t at, int k)
{
    if (k > 0) return C(q, node(q, at, k - 1), node(q, at + ((int64_t)1 << (k - 1)), k - 1));
    maybe m = {.present = !q->op->is_masked(element(q, at), q->p)};
    if (m.present) q->op->lift(&m.s, element(q, at), at, q->p), m.n = 1;
    return m;
}

static maybe S(const sequence *q, int64_t m, const void *init)
{
    if (m > 0) return C(q, S(q, tl_parent(m), init), node(q, tl_parent(m), tl_level(m)));
    maybe start = {.present = init != NULL};
    if (init) q->op->seed(&start.s, init, q->p);
    return start;
}

static void lower(const sequence *q, maybe m, int64_t n, void *out)
{
    if (m.present)
        q->op->lower(&m.s, n, 0, q->p, out);
    else
        q->op->empty(q->p, out);
}

void tl_spec_reduce(sequence q, const void *init, void *out)
{
    lower(&q, S(&q, q.n, init), q.n, out);
}

void tl_spec_scan(sequence q, const tally_scan_options *options, void *out)
{
    const tally_scan_options none = {0}, *o = options ? options : &none;
    const int64_t n = q.n, bytes = q.op->result_bytes;
    if (o->reverse && n > 0) q = (sequence){q.op, q.p, element(&q, n - 1), -q.stride, n};
    for (int64_t i = 0; i < n; i++) {
        int64_t m = o->exclusive ? i : i + 1, to = o->reverse ? n - 1 - i : i;
        lower(&q, S(&q, m, o->init), m, (unsigned char *)out + to * bytes);
    }
}

void tl_spec_window(sequence q, const tally_window_options *o, void *out)
{
    unsigned char *to = out;
    const int64_t n = q.n;
    int64_t number = 0; /* number of the result, before every step-th is taken */

    for (int64_t i = 0; i < n; i++) {
        int64_t from = i < o->before ? 0 : i - o->before;
        int64_t end = n - 1 - i < o->after ? n : i + o->after + 1;
        int whole = i >= o->before && n - 1 - i >= o->after;
        if (!whole && o->edges == TALLY_EDGES_VALID) continue;
        if (number++ % (o->step > 1 ? o->step : 1)) continue;
        if (from > n) from = n;
        if (end < from) end = from;
        int64_t m = end - from, counted = 0;
        sequence w = {q.op, q.p, element(&q, from), q.stride, m};
        for (int64_t j = 0; j < m; j++) counted += !q.op->is_masked(element(&w, j), q.p);
        int enough = counted >= o->min_count &&
                     (whole || o->edges == TALLY_EDGES_SHRINK || o->min_count > 0);
        lower(&w, enough ? S(&w, m, NULL) : (maybe){.present = 0}, m, to);
        to += q.op->result_bytes;
    }
}
