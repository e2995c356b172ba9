/* SPDX-License-Identifier: MIT
 * The verbs one state after the other (inputs.h). */
#include "inputs.h"
#include "context/threads.h"
#include "context/view.h"
#include "law/order.h"
#include <assert.h>

/* A state, or ABSENT. n: the number of elements folded. */
typedef struct {
    tl_state s;
    int present;
    int64_t n;
} state_or_absent;

static void join(const tl_plan *plan, state_or_absent *a, const state_or_absent *b)
{
    if (!b->present) return;
    if (!a->present) {
        *a = *b;
        return;
    }
    plan->op->combine(&a->s, &b->s, a->n, b->n);
    a->n += b->n;
}

static state_or_absent element(const tl_plan *plan, const char *x, const float *there, int64_t i)
{
    state_or_absent m = {.present = there[0] == there[0]};
    m.n = m.present;
    if (m.present) plan->op->lift(&m.s, x, i, plan->par);
    return m;
}

static void result(const tl_plan *plan, const state_or_absent *m, void *out)
{
    if (m->present)
        plan->op->lower(&m->s, m->n, 0, plan->par, out);
    else
        plan->op->empty(plan->par, out);
}

/* The law's counter. block[k] is node number k of S; prefix[k + 1] folds init and the first k + 1
 * nodes. */
typedef struct {
    state_or_absent block[TL_MAX_LEVELS], prefix[TL_MAX_LEVELS + 1];
    int top;
    int64_t n;
} counter;

static void push(const tl_plan *plan, counter *c, const char *x, const float *there)
{
    if (plan->op->exact) { /* any association gives the bits */
        const state_or_absent m = element(plan, x, there, c->n++);
        join(plan, &c->prefix[0], &m);
        return;
    }
    c->block[c->top++] = element(plan, x, there, c->n);
    for (int64_t k = c->n++; k & 1; k >>= 1) {
        c->top--;
        join(plan, &c->block[c->top - 1], &c->block[c->top]);
    }
    c->prefix[c->top] = c->prefix[c->top - 1];
    join(plan, &c->prefix[c->top], &c->block[c->top - 1]);
}

static void start(counter *c)
{
    c->prefix[0].present = 0;
    c->prefix[0].n = 0;
    c->top = 0;
    c->n = 0;
}

static state_or_absent fold(const tl_plan *plan, const char *x, const float *there, int64_t n)
{
    counter c;
    start(&c);
    for (int64_t i = 0; i < n; i++) push(plan, &c, x + i * plan->op->elem_bytes, there + i);
    return c.prefix[c.top];
}

static int64_t before(const tally_view *in, int64_t r)
{
    return in->offsets ? in->offsets[r] - in->offsets[0] : r * in->n;
}

/* A chunk is SHARE rows or ranges. */
enum { SHARE = 16 };

typedef struct {
    const tl_plan *plan;
    const tally_view *in, *out;
    const float *there;
    const tally_scan_options *o;
    char *results;
} rows;

static void reduce_rows(void *data, int64_t k)
{
    const rows *a = data;
    for (int64_t r = k * SHARE; r < (k + 1) * SHARE && r < a->in->rows; r++) {
        int64_t n;
        const char *x = tl_view_row(a->in, r, a->plan->op->elem_bytes, &n);
        const state_or_absent m = fold(a->plan, x, a->there + before(a->in, r), n);
        result(a->plan, &m, a->results + r * a->plan->op->result_bytes);
    }
}

void tl_states_reduce(const tl_plan *plan, int threads, const tally_view *in, const float *there,
                      char *out)
{
    rows all = {plan, in, NULL, there, NULL, out};
    tl_for(threads, (in->rows + SHARE - 1) / SHARE, reduce_rows, &all);
}

static void scan_row(const rows *a, int64_t r)
{
    const tl_plan *plan = a->plan;
    int64_t n, m;
    const char *x = tl_view_row(a->in, r, plan->op->elem_bytes, &n);
    const int64_t first = before(a->in, r);
    char *y = tl_view_row(a->out, r, plan->op->result_bytes, &m);
    const int exclusive = a->o && a->o->exclusive;
    counter c;

    start(&c);
    if (a->o && a->o->init) {
        c.prefix[0] = (state_or_absent){.present = 1};
        plan->op->seed(&c.prefix[0].s, a->o->init, plan->par);
    }

    for (int64_t i = 0; i < n; i++) {
        char *to = y + i * a->out->stride * plan->op->result_bytes;
        if (exclusive) result(plan, &c.prefix[c.top], to);
        push(plan, &c, x + i * plan->op->elem_bytes, a->there + first + i);
        if (!exclusive) result(plan, &c.prefix[c.top], to);
    }
}

static void scan_rows(void *data, int64_t k)
{
    const rows *a = data;
    for (int64_t r = k * SHARE; r < (k + 1) * SHARE && r < a->in->rows; r++) scan_row(a, r);
}

void tl_states_scan(const tl_plan *plan, int threads, const tally_view *in, const float *there,
                    const tally_view *out, const tally_scan_options *o)
{
    rows all = {plan, in, out, there, o, NULL};
    tl_for(threads, (in->rows + SHARE - 1) / SHARE, scan_rows, &all);
}

typedef struct {
    const tl_plan *plan;
    const tl_ranges *ranges;
    const char *x;
    const float *there;
    char *y;
    int64_t y_stride;
} range_work;

static void fold_ranges(void *data, int64_t k)
{
    const range_work *a = data;
    for (int64_t r = k * SHARE; r < (k + 1) * SHARE && r < a->ranges->results; r++) {
        int64_t from, end;
        const int full = tl_range_at(a->ranges, r, &from, &end);
        state_or_absent m = {.present = 0};
        if (full)
            m = fold(a->plan, a->x + from * a->plan->op->elem_bytes, a->there + from, end - from);
        if (m.n < a->ranges->min_count) m.present = 0;
        result(a->plan, &m, a->y + r * a->y_stride);
    }
}

void tl_states_ranges(const tl_plan *plan, int threads, const tl_ranges *ranges, tl_line line,
                      const float *there)
{
    range_work all = {plan, ranges, line.x, there, line.y, line.y_stride};
    assert(line.stride == 1);
    tl_for(threads, (ranges->results + SHARE - 1) / SHARE, fold_ranges, &all);
}
