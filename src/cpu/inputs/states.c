/* SPDX-License-Identifier: MIT
 * Elements with validity without a form for it (inputs.h): reductions of the elements present, and
 * the verbs one element after the other, by the law's own steps. */
#include "inputs.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/shape.h"
#include "cpu/widen.h"
#include <assert.h>
#include <stdlib.h>

enum {
    PIECE = 512,     /* elements that are packed at a time */
    PART = 64 << 10, /* elements that a thread takes at a time */
    AHEAD = 8 << 10  /* prefetch distance in bytes */
};

/* Writes the result of n elements with state *s. present: is there an element? */
static void lower(const tl_plan *plan, const tl_state *s, int present, int64_t n, void *out)
{
    if (present)
        plan->op->lower(s, n, 0, plan->par, out);
    else
        plan->op->empty(plan->par, out);
}

/* Writes the result of a counted state (law/counter.h). */
static void lower_counted(const tl_plan *plan, const tl_state *s, void *out)
{
    const int64_t n = tl_kept(plan->op, s);
    lower(plan, s, n != 0, n, out);
}

/* The number of ones among n bits, from number `bit` on. */
static int64_t ones(const unsigned char *valid, int64_t bit, int64_t n)
{
    int64_t count = 0;
    for (; n > 0 && bit & 7; bit++, n--) count += tl_bit(valid, bit);
    const unsigned char *at = valid + (bit >> 3);

    for (uint64_t word; n >= 64; n -= 64, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        count += __builtin_popcountll(word);
    }
    for (int64_t j = 0; j < n; j++) count += tl_bit(at, j);
    return count;
}

/* The index of the k-th element present, counted from bit number `bit`. */
static int64_t place_of(const unsigned char *valid, int64_t bit, int64_t k)
{
    int64_t at = bit;
    while (1) {
        const unsigned byte = valid[at >> 3] >> (at & 7);
        const int here = __builtin_popcount(byte);
        if (k < here) break;
        k -= here;
        at = (at | 7) + 1;
    }
    for (unsigned byte = valid[at >> 3] >> (at & 7);; byte >>= 1, at++)
        if (byte & 1 && k-- == 0) return at - bit;
}

int tl_present_takes(const tl_scalar *op)
{
    return op->exact && op->inputs == 1 && !op->user &&
           (!op->indexed || (op->out == TALLY_I64 && op->lanes == 1));
}

/* Folds elements from .. to - 1 of the sequence at x to a counted state. Its first element has bit
 * number `bit`. */
static tl_state fold(const tl_plan *plan, const char *x, const unsigned char *valid, int64_t bit,
                     int64_t from, int64_t to)
{
    const tl_scalar *op = plan->op;
    const int64_t bytes = op->elem_bytes;
    _Alignas(64) char buffer[PIECE * 8 + 64];
    tl_state total = {{0}}, piece;

    for (int64_t at = from; at < to; at += PIECE) {
        const int64_t m = tl_min(to - at, PIECE);
        for (int64_t line = 0; line < m * bytes; line += 64)
            __builtin_prefetch(
                (const char *)((uintptr_t)x + (uintptr_t)(at * bytes + line + AHEAD)));
        const int64_t n =
            plan->mask->keep(buffer, x + at * bytes, (int)bytes, (tl_bits){valid, bit + at}, m);
        if (!n) continue;
        tl_fold(plan, &piece, buffer, n, 0, TL_CACHED);

        /* convert the index among the elements present to the index in the sequence */
        if (op->indexed) {
            int64_t k;
            op->lower(&piece, n, 0, plan->par, &k);
            k = at + place_of(valid, bit + at, k);
            op->lift(&piece, x + k * bytes, k, plan->par);
        }

        tl_set_kept(op, &piece, n);
        tl_join_counted(op, &total, &piece);
    }

    return total;
}

/* Folds row r of `in`, or if it is in parts, its part number `part`. */
static tl_state fold_row(const tl_plan *plan, const tally_view *in, int64_t r, int64_t part,
                         int64_t parts)
{
    int64_t n;
    const char *x = tl_view_row(in, r, plan->op->elem_bytes, &n);
    const int64_t bit = in->valid_offset + (x - (const char *)in->data) / plan->op->elem_bytes,
                  to = (part + 1) * PART;
    return fold(plan, x, in->valid, bit, part * PART, part + 1 < parts ? to : n);
}

enum { SHARE = 16 }; /* tasks, rows or ranges of a chunk */

typedef struct {
    const tl_plan *plan;
    const tally_view *in;
    tl_state *of; /* of the parts of one row; NULL: rows */
    char *out;
    int64_t parts;
} reduce_work;

/* Folds parts t .. end - 1 of the row, or reduces rows t .. end - 1. */
static void reduce_tasks(void *with, int64_t t, int64_t end)
{
    const reduce_work *a = with;
    for (; t < end; t++) {
        const tl_state s =
            a->of ? fold_row(a->plan, a->in, 0, t, a->parts) : fold_row(a->plan, a->in, t, 0, 1);
        if (a->of)
            a->of[t] = s;
        else
            lower_counted(a->plan, &s, a->out + t * a->plan->op->result_bytes);
    }
}

void tl_present_reduce(const tl_plan *plan, int threads, const tally_view *in, char *out)
{
    const int64_t parts =
        in->rows == 1 && threads > 1 && !in->offsets ? (in->n + PART - 1) / PART : 1;
    tl_state *const of = parts > 1 ? malloc((size_t)parts * sizeof *of) : NULL;
    const int64_t tasks = of ? parts : in->rows;

    tl_for_parts(threads, tasks, SHARE, reduce_tasks, &(reduce_work){plan, in, of, out, parts});
    for (int64_t t = 1; of && t < parts; t++) tl_join_counted(plan->op, &of[0], &of[t]);
    if (of) lower_counted(plan, &of[0], out);
    free(of);
}

int tl_present_blank(const tl_form *form, tl_form *blank)
{
    const tl_scalar *s = form->named, *core = NULL;
    if (form->kind == TL_FORM_MARK && s->inputs == 1 && !s->user && s->core &&
        strcmp(s->core, s->file))
        core = tl_find_scalar(s->core, s->dtype, s->acc);
    if (!core || !core->blank || core->state_bytes != s->state_bytes || !s->neutral) return 0;
    *blank = (tl_form){.kind = TL_FORM_BLANK, .named = s, .op = s, .par = form->par, .absent = 1};
    blank->par.marked = 0;
    core->blank(&blank->fill);
    return 1;
}

void tl_present_reduce_blank(const tl_plan *given, const tl_form *blank, int threads,
                             const tally_view *in, char *out)
{
    int64_t n;
    tl_plan plan = *given;
    tl_gather gather;
    tl_counter c;
    tl_state s;

    assert(in->rows == 1 && in->valid && blank->kind == TL_FORM_BLANK);
    tl_gather_direct(&gather, blank, in, &plan);
    const char *x = tl_view_row(in, 0, plan.op->elem_bytes, &n);
    const int64_t bit = in->valid_offset + (x - (const char *)in->data) / plan.op->elem_bytes;
    tl_counter_init(&c, 0);
    tl_push_slab(&plan, threads, x, n, &c);
    tl_counter_fold(&c, plan.op, NULL, &s);
    tl_set_kept(plan.op, &s, ones(in->valid, bit, n));
    lower_counted(&plan, &s, out);
}

/* A missing element has a count of 0; if the counter is not counted, its prepared value changes
 * nothing. */
static void push_row(const tl_plan *plan, tl_counter *c, tl_states_row e)
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

/* Writes the result of S before the next element. */
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
        push_row(plan, &p->c, (tl_states_row){e.x + i * plan->op->elem_bytes, e.there + i, 1});
        append_prefix(p, plan->op, p->c.count - 1);
        if (!exclusive) lower_prefix(p, plan, y.at);
    }
}

/* Writes the result of a counter; that of no elements if fewer than `least` were counted. */
static void lower_counter(const tl_plan *plan, const tl_counter *c, int64_t least, void *out)
{
    tl_state s;
    int64_t n;
    const int present = tl_counter_total(c, plan->op, NULL, &s, &n);
    lower(plan, &s, present && n >= least, n, out);
}

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
        push_row(plan, c, e);
    }
    if (to)
        tl_slab_set(to, row, c);
    else if (!parts)
        lower_counter(plan, c, 0, (char *)a->out->data + r * bytes);
}

static void compute_rows(void *data, int64_t r, int64_t end)
{
    for (; r < end; r++) compute_row(data, r);
}

void tl_states_rows(const tl_prepared *p, int threads, const tally_view *out,
                    const tl_states_parts *parts, int64_t first)
{
    rows total = {p, out, parts, first};
    tl_for_parts(threads, p->work.rows, SHARE, compute_rows, &total);
}

typedef struct {
    const tl_plan *plan;
    const tl_ranges *ranges;
    tl_line line;
    const float *there;
} range_work;

static void fold_ranges(void *data, int64_t r, int64_t stop)
{
    const range_work *a = data;
    for (; r < stop; r++) {
        int64_t from, end;
        if (!tl_range_at(a->ranges, r, &from, &end)) end = from;
        const tl_states_row e = {(const char *)a->line.x + from * a->plan->op->elem_bytes,
                                 a->there + from, end - from};
        tl_counter c;
        tl_counter_init(&c, 0);
        c.counted = 1;
        push_row(a->plan, &c, e);
        lower_counter(a->plan, &c, a->ranges->min_count, (char *)a->line.y + r * a->line.y_stride);
    }
}

void tl_states_ranges(const tl_plan *plan, int threads, const tl_ranges *ranges, tl_line line,
                      const float *there)
{
    range_work total = {plan, ranges, line, there};
    assert(line.stride == 1);
    tl_for_parts(threads, ranges->results, SHARE, fold_ranges, &total);
}
