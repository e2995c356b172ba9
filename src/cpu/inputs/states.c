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

void tl_prefixes_begin(tl_prefixes *p, const tl_scalar *op, const tl_counter *c,
                       const tl_state *init)
{
    p->c = *c;
    p->present[0] = init != NULL;
    p->n[0] = 0;
    if (init) p->prefix[0] = *init;
    for (int j = 0; j < c->count; j++) append_prefix(p, op, j);
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

/* The result of e's elements; that of no elements if fewer than `least` of them are present. */
static void fold(const tl_plan *plan, tl_states_row e, int64_t least, void *out)
{
    tl_counter c;
    tl_state s;
    int64_t n;
    tl_counter_init(&c, 0);
    c.counted = 1;
    tl_states_push(plan, &c, e);
    const int present = tl_counter_total(&c, plan->op, NULL, &s, &n);
    lower(plan, &s, present && n >= least, n, out);
}

/* ---- the sequences of a view ---- */

enum { SHARE = 16 }; /* rows or ranges of a chunk */

typedef struct {
    const tl_prepared *p;
    const tally_view *out;
    const tally_scan_options *o; /* NULL: a reduction */
} rows;

static void scan_row(const rows *a, int64_t r, tl_states_row e)
{
    const tl_plan *plan = &a->p->plan;
    const int64_t bytes = plan->op->result_bytes;
    tl_prefixes p;
    tl_scan s;
    int64_t n;

    tl_scan_begin(&s, plan, a->o);
    s.done.counted = 1;
    tl_prefixes_begin(&p, plan->op, &s.done, s.seeded ? &s.init : NULL);
    char *const y = tl_view_row(a->out, r, bytes, &n);
    tl_states_scan_row(&p, plan, e, s.exclusive,
                       (tl_states_out){y, tl_step(a->out->stride, bytes)});
}

static void compute_rows(void *data, int64_t k)
{
    const rows *a = data;
    const tl_plan *plan = &a->p->plan;
    const tally_view *in = &a->p->work;
    for (int64_t r = k * SHARE; r < (k + 1) * SHARE && r < in->rows; r++) {
        tl_states_row e;
        e.x = tl_view_row(in, r, plan->op->elem_bytes, &e.n);
        e.there = a->p->there + (in->offsets ? in->offsets[r] - in->offsets[0] : r * in->n);
        if (a->o)
            scan_row(a, r, e);
        else
            fold(plan, e, 0, (char *)a->out->data + r * plan->op->result_bytes);
    }
}

void tl_states_rows(const tl_prepared *p, int threads, const tally_view *out,
                    const tally_scan_options *o)
{
    rows all = {p, out, o};
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
        fold(a->plan, e, a->ranges->min_count, (char *)a->line.y + r * a->line.y_stride);
    }
}

void tl_states_ranges(const tl_plan *plan, int threads, const tl_ranges *ranges, tl_line line,
                      const float *there)
{
    range_work all = {plan, ranges, line, there};
    assert(line.stride == 1);
    tl_for(threads, (ranges->results + SHARE - 1) / SHARE, fold_ranges, &all);
}
