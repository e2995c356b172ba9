/* SPDX-License-Identifier: MIT
 * Exact sums element by element: scans, and windows of any length, at one addition and one
 * subtraction per result. Both are exact, so an element that has left a window leaves no trace. */
#include "exact.h"
#include "context/device.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/keys/ranges.h"
#include "cpu/shape.h"
#include <assert.h>
#include <stdlib.h>

enum {
    CHUNK = TL_EXACT_PIECE,
    LEAST_BYTES = TL_PARALLEL_BYTES / 8 /* fewer bytes of elements use one thread */
};

/* A sequence of elements or of results. */
typedef struct {
    char *at;
    int64_t stride; /* in bytes */
} line;

/* The address of number i, which may be one past the end. */
static char *place(line l, int64_t i)
{
    return tl_offset(l.at, (int64_t)((uint64_t)i * (uint64_t)l.stride));
}

/* Loads m elements from index i on. */
static void load(const tl_plan *plan, line x, int64_t i, int64_t m, tl_exact_rows *to)
{
    tl_exact_load(plan, place(x, i), x.stride / plan->op->elem_bytes, m, to);
}

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

static void store(const tl_exact *e, const tl_plan *plan, line y, int64_t i)
{
    tl_exact_lower(e, tl_exact_form_of(plan->op), plan->par.value, place(y, i));
}

/* Called before m elements are added: propagates carries in time, and limits the range of bins. */
static void prepare_for(tl_exact *e, int sums, int64_t m)
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

static void scan(tl_exact *e, const tl_plan *plan, int exclusive, line x, int64_t n, line y)
{
    tl_exact_rows p;
    const tl_exact_form *form = tl_exact_form_of(plan->op);

    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < CHUNK ? n - i : CHUNK;
        load(plan, x, i, m, &p);
        prepare_for(e, form->sums, m);
        for (int64_t j = 0; j < m; j++) {
            if (exclusive) store(e, plan, y, i + j);
            add_element(e, form, &p, j, 1);
            if (!exclusive) store(e, plan, y, i + j);
        }
    }
}

void tl_exact_scan_push(tl_exact *e, const tl_plan *plan, int exclusive, const void *x, int64_t n,
                        void *out)
{
    scan(e, plan, exclusive, (line){(char *)(uintptr_t)x, plan->op->elem_bytes}, n,
         (line){out, plan->op->result_bytes});
}

void tl_exact_scan_begin(tl_exact *e, const tl_plan *plan, const tally_scan_options *o)
{
    tl_exact_begin(e, tl_exact_form_of(plan->op)->sums);
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
    line x, y;
    int64_t n, each, parts;
    int exclusive;
    tl_exact *before; /* the sums of the parts, then the sums of everything before each part */
} part_work;

static void sum_part(void *data, int64_t k)
{
    const part_work *a = data;
    const int sums = tl_exact_form_of(a->plan->op)->sums;
    tl_exact *const e = a->before + (k + 1) * sums;
    tl_exact_begin(e, sums);
    tl_exact_add(e, a->plan, a->x.at + k * a->each * a->x.stride,
                 a->x.stride / a->plan->op->elem_bytes, a->each);
}

static void scan_part(void *data, int64_t k)
{
    const part_work *a = data;
    const line from = {a->x.at + k * a->each * a->x.stride, a->x.stride},
               to = {a->y.at + k * a->each * a->y.stride, a->y.stride};
    scan(a->before + k * tl_exact_form_of(a->plan->op)->sums, a->plan, a->exclusive, from,
         k + 1 < a->parts ? a->each : a->n - k * a->each, to);
}

static tally_status open_scan(tl_thread *t)
{
    const int sums = tl_exact_form_of(t->run->call->plan->op)->sums;
    t->memory->other = tl_thread_memory(
        t, TL_SINGLE, (size_t)(t->threads * sums) * sizeof(tl_exact), "exact sums");
    return t->memory->other ? TALLY_OK : TALLY_NO_MEMORY;
}

static tally_status scan_dense(tl_thread *t, const tl_part *p)
{
    const tl_call *c = t->run->call;
    const tl_plan *plan = c->plan;
    const line x = {(char *)(uintptr_t)p->x, plan->op->elem_bytes},
               y = {p->y, plan->op->result_bytes};
    const int exclusive = c->scan && c->scan->exclusive, threads = t->threads;
    const int sums = tl_exact_form_of(plan->op)->sums;
    tl_exact *const e = t->memory->other;

    if (p->first) tl_exact_scan_begin(e, plan, c->scan);
    if (threads == 1) {
        scan(e, plan, exclusive, x, p->n, y);
        return TALLY_OK;
    }

    /* Each part is summed first; then it is scanned from the sum of all parts before it. */
    part_work all = {plan, x, y, p->n, p->n / threads, threads, exclusive, e};
    tl_for(threads, threads - 1, sum_part, &all);
    for (int k = 1; k < threads; k++) tl_exact_join(e + k * sums, e + (k - 1) * sums, sums, 1);
    tl_for(threads, threads, scan_part, &all);
    memcpy(e, e + (threads - 1) * sums, (size_t)sums * sizeof *e);

    return TALLY_OK;
}

const tl_shape tl_exact_scan_shape = {
    .open = open_scan, .part = scan_dense, .least_bytes = LEAST_BYTES};

/* ---- windows ---- */

/* The windows of one slice of n elements. Results are numbered by centre; the result of centre
 * `first` is at y.at. */
typedef struct {
    const tl_plan *plan;
    const tally_window_options *o;
    line x, y;
    int64_t n, first;
} job;

static int64_t start_of(const job *w, int64_t i) { return i > w->o->before ? i - w->o->before : 0; }
static int64_t end_of(const job *w, int64_t i)
{
    return w->n - i > w->o->after + 1 ? i + w->o->after + 1 : w->n;
}

static void slide(const job *w, int64_t a, int64_t b)
{
    const tally_window_options *o = w->o;
    const tl_scalar *op = w->plan->op;
    const tl_exact_form *form = tl_exact_form_of(op);
    tl_exact_rows leaves, enters;
    tl_exact e[TL_SUMS];

    if (a >= b) return;
    int64_t start = start_of(w, a), end = end_of(w, a);
    tl_exact_begin(e, form->sums);
    tl_exact_add(e, w->plan, place(w->x, start), w->x.stride / op->elem_bytes, end - start);

    for (int64_t m; a < b; a += m) {
        m = b - a < CHUNK ? b - a : CHUNK;
        const int64_t to_start = start_of(w, a + m),
                      to_end = a + m < w->n ? end_of(w, a + m) : w->n;
        load(w->plan, w->x, start, to_start - start, &leaves);
        load(w->plan, w->x, end, to_end - end, &enters);
        prepare_for(e, form->sums, 2 * m);
        int64_t left = 0, entered = 0;

        for (int64_t i = a; i < a + m; i++) {
            const int full = i >= o->before && w->n - 1 - i >= o->after;
            const int64_t counted = e->count - (op->masked ? e->nan : 0);
            if (counted >= o->min_count &&
                (full || o->edges == TALLY_EDGES_SHRINK || o->min_count > 0))
                store(e, w->plan, w->y, i - w->first);
            else
                op->empty(w->plan->par, place(w->y, i - w->first));
            if (i >= o->before) add_element(e, form, &leaves, left++, -1);
            if (w->n - 1 - i > o->after) add_element(e, form, &enters, entered++, 1);
        }

        start = to_start;
        end = to_end;
    }
}

typedef struct {
    const job *w;
    int64_t results, parts;
} slide_work;

static void slide_part(void *data, int64_t k)
{
    const slide_work *a = data;
    const int64_t each = a->results / a->parts,
                  end = k + 1 < a->parts ? (k + 1) * each : a->results;
    slide(a->w, a->w->first + k * each, a->w->first + end);
}

/* Computes all windows of a slice. Returns their number. */
static int64_t windows(job *w, int threads, int at_start, int at_end)
{
    const tally_window_options *o = w->o;
    const int valid = o->edges == TALLY_EDGES_VALID;
    const int64_t stop = at_end && !valid ? w->n : w->n - o->after;

    w->first = at_start && !valid ? 0 : o->before;
    const int64_t results = stop > w->first ? stop - w->first : 0;

    /* a part begins with a whole window */
    int64_t least = (o->before + o->after) / 2 > 4 * CHUNK ? (o->before + o->after) / 2 : 4 * CHUNK;
    int64_t parts = results / least + 1 < threads ? results / least + 1 : threads;
    if (parts == 1) {
        slide(w, w->first, w->first + results);
        return results;
    }

    slide_work all = {w, results, parts};
    tl_for(threads, parts, slide_part, &all);
    return results;
}

int64_t tl_exact_slice(const tl_plan *plan, int threads, const tally_window_options *o,
                       const tl_exact_piece *of)
{
    job w = {.plan = plan,
             .o = o,
             .x = {(char *)(uintptr_t)of->x, plan->op->elem_bytes},
             .y = {of->out, plan->op->result_bytes},
             .n = of->n};
    return windows(&w, threads, of->at_start, of->at_end);
}

static tally_status window_dense(tl_thread *t, const tl_part *p)
{
    tl_exact_slice(t->run->call->plan, t->threads, t->run->call->window,
                   &(tl_exact_piece){p->x, p->n, p->first, p->last, p->y});
    return TALLY_OK;
}

const tl_shape tl_exact_window_shape = {.part = window_dense, .least_bytes = LEAST_BYTES};

/* ---- calls ---- */

tally_status tl_exact_run(tally *ctx, int threads, const tl_call *call)
{
    static const tl_shape *const shapes[] = {[TL_REDUCE] = &tl_exact_reduce_shape,
                                             [TL_SCAN] = &tl_exact_scan_shape,
                                             [TL_WINDOW] = &tl_exact_window_shape};
    return tl_run_shape(ctx, threads, call, shapes[call->verb]);
}

/* ---- ranges ---- */

/* Adds or subtracts elements low .. high - 1; usually few. */
static void add_some(tl_exact *e, const tl_plan *plan, line x, int64_t low, int64_t high, int sign)
{
    const tl_exact_form *form = tl_exact_form_of(plan->op);
    if (plan->op->dtype == TALLY_F64 && !plan->in && form->what.needs == TL_X) {
        double v;
        for (int64_t i = low; i < high; i++) {
            memcpy(&v, place(x, i), sizeof v);
            tl_exact_element(e, v, sign);
        }

        e->count += sign * (high - low);
        return;
    }

    tl_exact_rows p;
    for (int64_t i = low, m; i < high; i += m) {
        m = high - i < CHUNK ? high - i : CHUNK;
        load(plan, x, i, m, &p);
        for (int64_t j = 0; j < m; j++) add_element(e, form, &p, j, sign);
    }
}

typedef struct {
    int64_t from, end; /* elements from .. end - 1 */
} span;

/* Changes e from the sum of `was` to that of `is`: by the elements at both ends, or from the
 * beginning if that costs less. */
static void move(tl_exact *e, const tl_plan *plan, line x, span was, span is)
{
    /* the elements between these leave or enter */
    const int64_t ends[2][2] = {{was.from, is.from}, {is.end, was.end}};
    const int sums = tl_exact_form_of(plan->op)->sums;
    int64_t far = 0;

    assert(is.from <= is.end);
    for (int k = 0; k < 2; k++)
        far += ends[k][0] < ends[k][1] ? ends[k][1] - ends[k][0] : ends[k][0] - ends[k][1];

    if (far > is.end - is.from || is.from >= was.end || is.end <= was.from) {
        tl_exact_clear(e, sums);
        tl_exact_add(e, plan, place(x, is.from), x.stride / plan->op->elem_bytes, is.end - is.from);
    } else {
        for (int k = 0; k < 2; k++) {
            const int sign = ends[k][0] < ends[k][1] ? -1 : 1;
            const int64_t low = sign < 0 ? ends[k][0] : ends[k][1],
                          high = sign < 0 ? ends[k][1] : ends[k][0];
            add_some(e, plan, x, low, high, sign);
            e->waiting += 4 * (high - low);
        }

        if (e->waiting > TL_EXACT_MOST / 2) prepare_for(e, sums, 0);
    }
}

enum { RANGES_SHARE = 4096 }; /* ranges of a chunk */

typedef struct {
    const tl_plan *plan;
    const tl_ranges *ranges;
    line x, y;
} range_work;

static void range_share(void *data, int64_t k)
{
    const range_work *w = data;
    const tl_ranges *s = w->ranges;
    const tl_scalar *op = w->plan->op;
    tl_exact e[TL_SUMS];
    span was = {0, 0}, is;

    tl_exact_begin(e, tl_exact_form_of(op)->sums);
    for (int64_t r = k * RANGES_SHARE; r < s->results && r < (k + 1) * RANGES_SHARE; r++) {
        const int full = tl_range_at(s, r, &is.from, &is.end);
        move(e, w->plan, w->x, was, is);
        was = is;
        if (full && is.end > is.from && e->count - (op->masked ? e->nan : 0) >= s->min_count)
            store(e, w->plan, w->y, r);
        else
            op->empty(w->plan->par, place(w->y, r));
    }
}

void tl_exact_ranges_run(const tl_plan *plan, int threads, const tl_ranges *s, tl_line l)
{
    range_work all = {plan,
                      s,
                      {(char *)(uintptr_t)l.x, tl_step(l.stride, plan->op->elem_bytes)},
                      {l.y, l.y_stride}};
    tl_for(threads, (s->results + RANGES_SHARE - 1) / RANGES_SHARE, range_share, &all);
}

tally_status tl_exact_ranges_view(tally *ctx, const tl_call *call, int threads)
{
    const tl_scalar *op = call->plan->op;
    for (int64_t r = 0; r < call->in->rows; r++) {
        int64_t n, m;
        const char *x = tl_view_row(call->in, r, op->elem_bytes, &n);
        char *y = tl_view_row(call->out, r, op->result_bytes, &m);
        const tl_ranges ranges = tl_ranges_of(call->window, n);
        tl_exact_ranges_run(
            call->plan, threads, &ranges,
            (tl_line){x, call->in->stride, y, tl_step(call->out->stride, op->result_bytes)});
    }

    return TALLY_OK;
}
