/* SPDX-License-Identifier: MIT
 * The verbs, one element after the other, by the law's own steps (inputs.h). */
#include "inputs.h"
#include "context/threads.h"
#include "context/view.h"
#include <assert.h>

/* ---- one sequence ---- */

void tl_states_push(const tl_plan *plan, tl_counter *c, tl_states_row e)
{
    const tl_scalar *op = plan->op;
    for (int64_t i = 0; i < e.n; i++) {
        const int present = e.there[i] == e.there[i];
        tl_state *const s = &c->node[c->count];
        if (present || !c->counted) op->lift(s, e.x + i * op->elem_bytes, c->end, plan->par);
        if (c->counted) tl_set_kept(op, s, present);
        tl_counter_add(c, op, 0);
    }
}

/* Computes S after node j. Requires: S before it is known. */
static void append_prefix(tl_prefixes *p, const tl_scalar *op, int j)
{
    const int64_t size = p->c.counted ? tl_kept(op, &p->c.node[j]) : (int64_t)1 << p->c.level[j];
    p->present[j + 1] = p->present[j] || size;
    p->n[j + 1] = p->n[j] + size;
    p->prefix[j + 1] = p->prefix[j];
    if (size && p->present[j])
        op->combine(&p->prefix[j + 1], &p->c.node[j], p->n[j], size);
    else if (size)
        p->prefix[j + 1] = p->c.node[j];
}

void tl_prefixes_begin(tl_prefixes *p, const tl_scalar *op, const tl_state *init)
{
    p->present[0] = init != NULL;
    p->n[0] = 0;
    if (init) p->prefix[0] = *init;
    for (int j = 0; j < p->c.count; j++) append_prefix(p, op, j);
}

static void lower(const tl_plan *plan, const tl_state *s, int present, int64_t n, void *out)
{
    if (present)
        plan->op->lower(s, n, 0, plan->par, out);
    else
        plan->op->empty(plan->par, out);
}

static void lower_prefix(const tl_prefixes *p, const tl_plan *plan, void *out)
{
    const int top = p->c.count;
    lower(plan, &p->prefix[top], p->present[top], p->n[top], out);
}

void tl_states_scan_row(tl_prefixes *p, const tl_plan *plan, tl_states_row e, int exclusive,
                        tl_states_out y)
{
    for (int64_t i = 0; i < e.n; i++, y.at += y.step) {
        if (exclusive) lower_prefix(p, plan, y.at);
        tl_states_push(plan, &p->c,
                       (tl_states_row){e.x + i * plan->op->elem_bytes, e.there + i, 1});
        append_prefix(p, plan->op, p->c.count - 1);
        if (!exclusive) lower_prefix(p, plan, y.at);
    }
}

/* The result of a counter; that of no elements if it has fewer than `least` of them. */
static void lower_counter(const tl_plan *plan, const tl_counter *c, int64_t least, void *out)
{
    tl_state s;
    int64_t n;
    const int present = tl_counter_total(c, plan->op, NULL, &s, &n);
    lower(plan, &s, present && n >= least, n, out);
}

/* ---- the sequences of a view ---- */

enum { SHARE = 16 }; /* rows or ranges of a chunk */

typedef struct {
    const tl_prepared *p;
    const tally_view *out;
    const tl_states_parts *parts;
    int64_t first;
} rows;

static void compute_row(const rows *a, int64_t r)
{
    const tl_plan *plan = &a->p->plan;
    const tl_states_parts *parts = a->parts;
    const tally_view *in = &a->p->work;
    tl_slab *const to = parts ? parts->to : NULL;
    const int64_t at = in->offsets ? in->offsets[r] - in->offsets[0] : r * in->n,
                  row = a->first + r, bytes = plan->op->result_bytes;
    tl_states_row e = {.there = a->p->there + at};
    tl_prefixes p;
    tl_counter *const c = &p.c;
    int64_t n;

    e.x = tl_view_row(in, r, plan->op->elem_bytes, &e.n);
    tl_counter_init(c, to ? to->start : 0);
    if (to && parts->from) tl_slab_get(parts->from, row, c);
    if (!to || to->counted) tl_counter_raise(c, plan->op);
    if (parts && a->out) {
        tl_prefixes_begin(&p, plan->op, parts->init);
        char *const y = tl_view_row(a->out, row, bytes, &n);
        tl_states_scan_row(&p, plan, e, parts->exclusive,
                           (tl_states_out){y, tl_step(a->out->stride, bytes)});
    } else {
        tl_states_push(plan, c, e);
    }
    if (to)
        tl_slab_set(to, row, c);
    else if (!parts)
        lower_counter(plan, c, 0, (char *)a->out->data + r * bytes);
}

static void compute_rows(void *data, int64_t k)
{
    const rows *a = data;
    for (int64_t r = k * SHARE; r < (k + 1) * SHARE && r < a->p->work.rows; r++) compute_row(a, r);
}

void tl_states_rows(const tl_prepared *p, int threads, const tally_view *out,
                    const tl_states_parts *parts, int64_t first)
{
    rows all = {p, out, parts, first};
    tl_for(threads, (p->work.rows + SHARE - 1) / SHARE, compute_rows, &all);
}

typedef struct {
    const tl_plan *plan;
    const tl_ranges *ranges;
    tl_line line;
    const float *there;
} range_work;

static void fold_ranges(void *data, int64_t k)
{
    const range_work *a = data;
    for (int64_t r = k * SHARE; r < (k + 1) * SHARE && r < a->ranges->results; r++) {
        int64_t from, end;
        if (!tl_range_at(a->ranges, r, &from, &end)) end = from;
        const tl_states_row e = {(const char *)a->line.x + from * a->plan->op->elem_bytes,
                                 a->there + from, end - from};
        tl_counter c;
        tl_counter_init(&c, 0);
        c.counted = 1;
        tl_states_push(a->plan, &c, e);
        lower_counter(a->plan, &c, a->ranges->min_count, (char *)a->line.y + r * a->line.y_stride);
    }
}

void tl_states_ranges(const tl_plan *plan, int threads, const tl_ranges *ranges, tl_line line,
                      const float *there)
{
    range_work all = {plan, ranges, line, there};
    assert(line.stride == 1);
    tl_for(threads, (ranges->results + SHARE - 1) / SHARE, fold_ranges, &all);
}
