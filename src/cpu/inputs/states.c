/* SPDX-License-Identifier: MIT
 * Verbs one state after the other (states.h). */
#include "states.h"
#include "context/threads.h"
#include "context/view.h"
#include "law/fp.h"
#include "law/order.h"

/* A state, or ABSENT. n: the elements it has folded. */
typedef struct {
    tl_state s;
    int present;
    int64_t n;
} maybe;

static void join(const tl_plan *plan, maybe *a, const maybe *b)
{
    if (!b->present) return;
    if (!a->present) {
        *a = *b;
        return;
    }
    plan->op->combine(&a->s, &b->s, a->n, b->n);
    a->n += b->n;
}

static maybe element(const tl_plan *plan, const char *x, const float *there, int64_t i)
{
    maybe m = {.present = there[0] == there[0]};
    m.n = m.present;
    if (m.present) plan->op->lift(&m.s, x, i, plan->par);
    return m;
}

static void result(const tl_plan *plan, const maybe *m, void *out)
{
    if (m->present)
        plan->op->lower(&m->s, m->n, 0, plan->par, out);
    else
        plan->op->empty(plan->par, out);
}

/* The law's counter: block[k] is node number k of S, prefix[k + 1] the fold of the first k + 1
   of them after init. */
typedef struct {
    maybe block[TL_MAX_LEVELS], prefix[TL_MAX_LEVELS + 1];
    int top;
    int64_t n;
} counter;

static void push(const tl_plan *plan, counter *c, const char *x, const float *there)
{
    if (plan->op->exact) { /* any association */
        const maybe m = element(plan, x, there, c->n++);
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

static maybe fold(const tl_plan *plan, const char *x, const float *there, int64_t n)
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

void tl_states_reduce(const tl_plan *plan, int threads, const tally_view *in, const float *there,
                      char *out)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(tl_threads(in->rows > 1 ? threads : 1))
    for (int64_t r = 0; r < in->rows; r++) {
        tl_fp fp = tl_fp_enter();
        int64_t n;
        const char *x = tl_view_row(in, r, plan->op->elem_bytes, &n);
        const maybe m = fold(plan, x, there + before(in, r), n);
        result(plan, &m, out + r * plan->op->result_bytes);
        tl_fp_leave(fp);
    }
}

void tl_states_scan(const tl_plan *plan, int threads, const tally_view *in, const float *there,
                    const tally_view *out, const tally_scan_options *o)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(tl_threads(in->rows > 1 ? threads : 1))
    for (int64_t r = 0; r < in->rows; r++) {
        tl_fp fp = tl_fp_enter();
        int64_t n, m;
        const char *x = tl_view_row(in, r, plan->op->elem_bytes, &n);
        const int64_t first = before(in, r);
        char *y = tl_view_row(out, r, plan->op->result_bytes, &m);
        counter c;
        start(&c);
        if (o && o->init) {
            c.prefix[0] = (maybe){.present = 1};
            plan->op->seed(&c.prefix[0].s, o->init, plan->par);
        }
        for (int64_t i = 0; i < n; i++) {
            char *to = y + i * out->stride * plan->op->result_bytes;
            if (o && o->exclusive) result(plan, &c.prefix[c.top], to);
            push(plan, &c, x + i * plan->op->elem_bytes, there + first + i);
            if (!(o && o->exclusive)) result(plan, &c.prefix[c.top], to);
        }
        tl_fp_leave(fp);
    }
}

void tl_states_ranges(const tl_plan *plan, int threads, const tl_ranges *ranges, const char *x,
                      const float *there, char *y, int64_t y_stride)
{
#pragma omp parallel for schedule(dynamic, 64)                                                     \
    num_threads(tl_threads(ranges->results > 64 ? threads : 1))
    for (int64_t r = 0; r < ranges->results; r++) {
        tl_fp fp = tl_fp_enter();
        int64_t from, end;
        const int full = tl_range_at(ranges, r, &from, &end);
        maybe m = {.present = 0};
        if (full) m = fold(plan, x + from * plan->op->elem_bytes, there + from, end - from);
        if (m.n < ranges->min_count) m.present = 0;
        result(plan, &m, y + r * y_stride);
        tl_fp_leave(fp);
    }
}
