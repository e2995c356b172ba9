/* SPDX-License-Identifier: MIT
 * Exact sums element by element: scans, and windows and other ranges of any length, at one addition
 * and one subtraction per result. Both are exact, so an element that has left leaves no trace. */
#include "exact.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/shape.h"
#include <assert.h>

enum {
    CHUNK = TL_EXACT_PIECE, /* elements of a scan, or ranges, between two settlements */
    AHEAD = 128,            /* elements that a cursor loads at a time */
    SHARE = 4096,           /* fewest ranges that a thread takes at a time */
    LEAST_BYTES = TL_PARALLEL_BYTES / 8, /* fewer bytes of elements use one thread */
};

static const tl_exact_form *form_of(const tl_plan *plan) { return tl_exact_form_of(plan->op); }

/* Adds (sign 1) or subtracts (sign -1) element j of a piece. */
static inline __attribute__((always_inline)) void
add_element(tl_exact *e, const tl_exact_form *form, const tl_exact_rows *p, int64_t j, int64_t sign)
{
    const double x = p->x.f64[j];
    const int pairs = form->scalar.inputs == 2;
    if (__builtin_expect(form->leaves_out, 0) && p->absent[j]) return;
    e->count += sign;
    if (form->whole)
        tl_exact_whole_row(e, form, p->x.whole[j], pairs ? p->y.whole[j] : 0, sign);
    else if (form->what.needs == TL_X)
        tl_exact_element(e, x, sign);
    else
        tl_exact_row(e, form->what.needs, x, pairs ? p->y.f64[j] : 0, sign);
}

/* Called before m elements are added: propagates carries in time, and limits the range of bins. */
static void settle(tl_exact *e, int sums, int64_t m)
{
    for (const tl_exact *const end = e + sums; e < end; e++) {
        tl_exact_carry(e);
        while (e->high >= e->low && !e->bin[e->high]) e->high--;
        while (e->high >= e->low && !e->bin[e->low]) e->low++;
        if (e->high < e->low) {
            e->low = TL_EXACT_BINS;
            e->high = -1;
        }
        e->waiting = 4 * m;
    }
}

/* ---- scan ---- */

/* The elements of a line from number i on, and their results. */
static tl_line line_from(const tl_plan *plan, tl_line line, int64_t i)
{
    const int64_t bytes = tl_step(line.stride, plan->op->elem_bytes);
    line.x = tl_offset((char *)(uintptr_t)line.x, tl_step(i, bytes));
    line.y = tl_offset(line.y, tl_step(i, line.y_stride));
    return line;
}

/* Scans n elements from the sum e on, which becomes the sum after them. */
static void scan_line(tl_exact *e, const tl_plan *plan, int exclusive, tl_line line, int64_t n)
{
    tl_exact_rows p;
    const tl_exact_form *form = form_of(plan);

    for (int64_t m; n > 0; n -= m, line = line_from(plan, line, m)) {
        char *y = line.y;
        m = tl_min(n, CHUNK);
        tl_exact_load(plan, line.x, line.stride, m, &p);
        settle(e, form->sums, m);
        for (int64_t j = 0; j < m; j++, y = tl_offset(y, line.y_stride)) {
            if (exclusive) tl_exact_lower(e, form, plan->par.value, y);
            add_element(e, form, &p, j, 1);
            if (!exclusive) tl_exact_lower(e, form, plan->par.value, y);
        }
    }
}

void tl_exact_scan_push(tl_exact *e, const tl_plan *plan, int exclusive, const void *x, int64_t n,
                        void *out)
{
    scan_line(e, plan, exclusive, (tl_line){x, 1, out, plan->op->result_bytes}, n);
}

void tl_exact_scan_begin(tl_exact *e, const tl_plan *plan, const tally_scan_options *o)
{
    tl_exact_begin(e, form_of(plan)->sums);
    if (!o || !o->init) return;

    double init;
    if (plan->op->out == TALLY_F64) {
        memcpy(&init, o->init, sizeof init);
    } else {
        float narrow;
        memcpy(&narrow, o->init, sizeof narrow);
        init = narrow;
    }

    tl_exact_element(e, init, 1);

    /* an initial NaN is a value, not a missing element */
    if (plan->op->masked && init != init) e->plus = e->minus = 1;
}

/* One sequence in `parts` parts of `each` elements; the last part also has the rest. */
typedef struct {
    const tl_plan *plan;
    tl_line line;
    int64_t n, each, parts;
    int exclusive;
    tl_exact *before; /* the sums of the parts, then the sums of everything before each part */
} part_work;

static void sum_part(void *data, int64_t k)
{
    const part_work *a = data;
    const int sums = form_of(a->plan)->sums;
    tl_exact *const e = a->before + (k + 1) * sums;
    tl_exact_begin(e, sums);
    tl_exact_add(e, a->plan, line_from(a->plan, a->line, k * a->each).x, a->line.stride, a->each);
}

static void scan_part(void *data, int64_t k)
{
    const part_work *a = data;
    const int64_t at = k * a->each;
    scan_line(a->before + k * form_of(a->plan)->sums, a->plan, a->exclusive,
              line_from(a->plan, a->line, at), k + 1 < a->parts ? a->each : a->n - at);
}

static tally_status open_scan(tl_thread *t)
{
    const size_t states = (size_t)t->threads * form_of(t->run->call->plan)->sums;
    t->memory->other = tl_thread_memory(t, TL_SINGLE, states * sizeof(tl_exact), "exact sums");
    return t->memory->other ? TALLY_OK : TALLY_NO_MEMORY;
}

/* Scans the next n elements of a sequence. */
static tally_status scan_next(tl_thread *t, tl_line line, int64_t n, int first)
{
    const tl_call *c = t->run->call;
    const tl_plan *plan = c->plan;
    const int exclusive = c->scan && c->scan->exclusive, threads = t->threads,
              sums = form_of(plan)->sums;
    tl_exact *const e = t->memory->other;

    if (first) tl_exact_scan_begin(e, plan, c->scan);
    if (threads == 1) {
        scan_line(e, plan, exclusive, line, n);
        return TALLY_OK;
    }

    /* Each part is summed first; then it is scanned from the sum of all parts before it. */
    part_work work = {plan, line, n, n / threads, threads, exclusive, e};
    tl_for(threads, threads - 1, sum_part, &work);
    for (int k = 1; k < threads; k++) tl_exact_join(e + k * sums, e + (k - 1) * sums, sums, 1);
    tl_for(threads, threads, scan_part, &work);
    memcpy(e, e + (threads - 1) * sums, (size_t)sums * sizeof *e);

    return TALLY_OK;
}

static tally_status scan_dense(tl_thread *t, const tl_part *p)
{
    const int64_t bytes = t->run->call->plan->op->result_bytes;
    return scan_next(t, (tl_line){p->x, 1, p->y, bytes}, p->n, p->first);
}

static tally_status scan_strided(tl_thread *t, const tl_sequence *s)
{
    const int64_t bytes = t->run->call->plan->op->result_bytes;
    return scan_next(t, (tl_line){s->x, s->x_stride, s->y, tl_step(s->y_stride, bytes)}, s->n, 1);
}

const tl_shape tl_exact_scan_shape = {
    .open = open_scan, .part = scan_dense, .strided = scan_strided, .least_bytes = LEAST_BYTES};

/* ---- ranges ---- */

/* Elements of a sequence that are read about in order: `rows` has elements begin .. end - 1. */
typedef struct {
    const tl_plan *plan;
    tl_line line;
    int64_t n, begin, end;
    tl_exact_rows rows;
} cursor;

static const void *address(const cursor *c, int64_t i) { return line_from(c->plan, c->line, i).x; }

/* Loads elements from number i on. */
static __attribute__((noinline)) void load(cursor *c, int64_t i)
{
    c->begin = i;
    c->end = c->n - i < AHEAD ? c->n : i + AHEAD;
    tl_exact_load(c->plan, address(c, i), c->line.stride, c->end - i, &c->rows);
}

/* Adds or subtracts elements low .. high - 1; usually few. */
static inline void add_elements(tl_exact *e, cursor *c, int64_t low, int64_t high, int sign)
{
    const tl_exact_form *form = form_of(c->plan);
    assert(0 <= low && high <= c->n);
    for (int64_t i = low; i < high; i++) {
        if (__builtin_expect(i < c->begin || i >= c->end, 0)) load(c, i);
        add_element(e, form, &c->rows, i - c->begin, sign);
    }
}

typedef struct {
    int64_t from, end; /* elements from .. end - 1 */
} span;

/* Moves an end of the range from `was` to `is`. sign: 1 for the end after the last element, which
 * adds the elements that it passes; -1 for the end at the first element, which subtracts them. */
static inline void move_end(tl_exact *e, cursor *c, int64_t was, int64_t is, int sign)
{
    if (was < is) add_elements(e, c, was, is, sign);
    if (is < was) add_elements(e, c, is, was, -sign);
}

/* Changes e from the sum of `was` to that of `is`: by the elements at both ends, or from the
 * beginning if that costs less. */
static inline void move(tl_exact *e, cursor ends[2], span was, span is)
{
    const int sums = form_of(ends->plan)->sums;
    const int64_t first = was.from - is.from, last = was.end - is.end,
                  far = (first < 0 ? -first : first) + (last < 0 ? -last : last);

    assert(is.from <= is.end);
    if (far > is.end - is.from || is.from >= was.end || is.end <= was.from) {
        tl_exact_clear(e, sums);
        tl_exact_add(e, ends->plan, address(ends, is.from), ends->line.stride, is.end - is.from);
        return;
    }
    move_end(e, &ends[0], was.from, is.from, -1);
    move_end(e, &ends[1], was.end, is.end, 1);
    e->waiting += 4 * far;
    if (e->waiting > TL_EXACT_MOST / 2) settle(e, sums, 0);
}

typedef struct {
    const tl_plan *plan;
    const tl_ranges *ranges;
    tl_line line;
} range_work;

static void compute_ranges(void *data, int64_t first, int64_t stop)
{
    const range_work *w = data;
    const tl_ranges *s = w->ranges;
    const tl_scalar *op = w->plan->op;
    const tl_exact_form *form = form_of(w->plan);
    tl_exact e[TL_SUMS];
    cursor ends[2];
    span was = {0, 0}, is;
    char *y = tl_offset(w->line.y, tl_step(first, w->line.y_stride));

    for (int i = 0; i < 2; i++) {
        ends[i].plan = w->plan;
        ends[i].line = w->line;
        ends[i].n = s->n;
        ends[i].begin = ends[i].end = 0;
    }
    tl_exact_begin(e, form->sums);

    for (int64_t r = first; r < stop; r++, y = tl_offset(y, w->line.y_stride)) {
        const int full = tl_range_at(s, r, &is.from, &is.end);
        if (r % CHUNK == 0) settle(e, form->sums, 0);
        move(e, ends, was, is);
        was = is;
        if (full && is.end > is.from && e->count - (op->masked ? e->nan : 0) >= s->min_count)
            tl_exact_lower(e, form, w->plan->par.value, y);
        else
            op->empty(w->plan->par, y);
    }
}

void tl_exact_ranges_run(const tl_plan *plan, int threads, const tl_ranges *s, tl_line line)
{
    range_work work = {plan, s, line};
    int64_t from, end, share = SHARE;
    if (s->results <= 0) return;

    /* A chunk first adds all elements of its first range, so chunks of long ranges are longer. */
    tl_range_at(s, s->results / 2, &from, &end);
    if (end - from > 8 * SHARE) share = (end - from) / 8;
    tl_for_parts(threads, s->results, share, compute_ranges, &work);
}

/* ---- windows ---- */

static tally_status window_dense(tl_thread *t, const tl_part *p)
{
    const tl_plan *const plan = t->run->call->plan;
    const tally_window_options *const o = t->run->call->window;
    const int valid = o->edges == TALLY_EDGES_VALID;
    const int64_t first = p->first && !valid ? 0 : o->before,
                  stop = p->last && !valid ? p->n : p->n - o->after;
    const tl_ranges windows = {.o = o,
                               .n = p->n,
                               .results = stop > first ? stop - first : 0,
                               .first = first,
                               .step = 1,
                               .min_count = o->min_count};
    tl_exact_ranges_run(plan, t->threads, &windows,
                        (tl_line){p->x, 1, p->y, plan->op->result_bytes});

    return TALLY_OK;
}

const tl_shape tl_exact_window_shape = {.part = window_dense, .least_bytes = LEAST_BYTES};
