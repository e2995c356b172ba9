/* SPDX-License-Identifier: MIT
 * Exact sums in bulk. A block of elements is added in registers that cover a guessed range of bits
 * (exact_block.c). If a block does not fit, its range is measured and it is added again. If its
 * elements span more than the registers cover (f32: 65 binades, f64: 80) or are infinite, they are
 * added one by one. */
#include "exact.h"
#include "exact_block.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/shape.h"
#include <assert.h>
#include <stdlib.h>

enum {
    ONE_BY_ONE = 48, /* fewer elements are added one by one */
    PIECE = 2048,    /* elements that are packed and widened at a time */
    GATHERED = 1024, /* the same for elements with validity and for pairs */
    SHARE = 1 << 18, /* elements that a thread takes at a time */

    /* After blocks that did not fit, at most 2^6 blocks are added one by one before the next
     * try. */
    PAUSE_MOST = 6,
    COLUMNS = 16, /* columns that are summed side by side */
    STEP_MOST = 64
};

/* ---- blocks ---- */

/* Adds a block with b->levels levels. */
static int run_levels(const tl_exact_kernel *k, int is_f64, const tl_exact_guess *g, const void *x,
                      int64_t n, tl_exact_block *b)
{
    assert(0 < n && n <= TL_EXACT_BLOCK && n % k->step == 0);
    b->top = g->top;
    if (is_f64) return (g->without ? k->f64_without : k->f64)(x, n, b);
    return (g->without ? k->f32_without : k->f32)(x, n, b);
}

/* Adds a block with one level less, unless that failed recently; then with all levels. */
static int run(const tl_plan *plan, int is_f64, tl_exact_guess *g, const void *x, int64_t n,
               tl_exact_block *b)
{
    const int all = is_f64 ? 3 : 2;
    if (g->wide > 0) {
        g->wide--;
    } else {
        b->levels = all - 1;
        const int why = run_levels(plan->exact, is_f64, g, x, n, b);
        if (!why) g->far = 0;
        if (why != TL_EXACT_FAR) return why;
        g->far += g->far < PAUSE_MOST;
        g->wide = (1 << g->far) - 2;
    }

    b->levels = all;
    return run_levels(plan->exact, is_f64, g, x, n, b);
}

/* Measures the range of a block. */
static tl_exact_guess measure(const tl_plan *plan, int is_f64, tl_exact_guess g, const void *x,
                              int64_t n)
{
    int special = 0;
    if (is_f64) {
        g.top = (int)(plan->exact->highest_f64(x, n, &special) >> 52) - 1023;
    } else {
        const uint32_t bits = plan->exact->highest_f32(x, n, &special);
        g.top = (int)(bits >> 23) - 127;
    }
    g.without = special;
    return g;
}

static void one_by_one(tl_exact *e, int is_f64, const void *data, int64_t n)
{
    const char *x = data;
    if (is_f64) {
        for (int64_t i = 0; i < n; i++) {
            double v;
            memcpy(&v, x + i * 8, 8);
            tl_exact_element(e, v, 1);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            float v;
            memcpy(&v, x + i * 4, 4);
            tl_exact_element(e, v, 1);
        }
    }
}

static void add_block(tl_exact *e, tl_exact_guess *g, const tl_plan *plan, int is_f64,
                      const void *x, int64_t n)
{
    tl_exact_block b;
    assert(n % plan->exact->step == 0);
    if (g->pause > 0) {
        g->pause--;
        one_by_one(e, is_f64, x, n);
        return;
    }

    int why = run(plan, is_f64, g, x, n, &b);
    if (why) {
        const tl_exact_guess measured = measure(plan, is_f64, *g, x, n);
        const int other = measured.top != g->top || measured.without != g->without;
        if (other && measured.top <= TL_EXACT_TOP_MOST) {
            *g = measured;
            why = run(plan, is_f64, g, x, n, &b);
        }
    }

    if (why) {
        g->failed += g->failed < PAUSE_MOST;
        g->pause = (1 << g->failed) - 2;
        one_by_one(e, is_f64, x, n);
        return;
    }

    g->failed = 0;
    e->nan += b.nan;
    for (int l = 0; l < b.levels; l++)
        if (b.part[l]) tl_exact_put(e, b.part[l], b.unit[l] + TL_EXACT_UNIT);
}

/* Adds n dense elements of f32 or f64, without counting them. */
static void add_wide(tl_exact *e, tl_exact_guess *g, const tl_plan *plan, int is_f64, const char *x,
                     int64_t n)
{
    const int64_t bytes = is_f64 ? 8 : 4, step = plan->exact->step;
    for (int64_t m; n > 0; n -= m, x += m * bytes) {
        m = n < TL_EXACT_BLOCK ? n : TL_EXACT_BLOCK;
        if ((e->waiting += m) > TL_EXACT_MOST) {
            tl_exact_carry(e);
            e->waiting = m;
        }

        if (m < ONE_BY_ONE) {
            one_by_one(e, is_f64, x, m);
        } else if (m >= step) {
            m -= m % step;
            add_block(e, g, plan, is_f64, x, m);
        } else { /* padded with zeros, which change nothing */
            _Alignas(64) char rest[STEP_MOST * 8] = {0};
            memcpy(rest, x, (size_t)(m * bytes));
            add_block(e, g, plan, is_f64, rest, step);
        }
    }
}

/* ---- elements with validity, and pairs (cpu/inputs/inputs.h) ---- */

/* The number of missing elements among n of f32 or f64. */
static int64_t count_missing(int is_f64, const char *x, int64_t n)
{
    int64_t none = 0;
    uint64_t wide;
    uint32_t narrow;
    for (int64_t i = 0; is_f64 && i < n; i++)
        none += (memcpy(&wide, x + i * 8, 8), wide == (uint64_t)1 << 63);
    for (int64_t i = 0; !is_f64 && i < n; i++)
        none += (memcpy(&narrow, x + i * 4, 4), narrow == (uint32_t)1 << 31);
    return none;
}

/* Adds the products of n <= GATHERED pairs. A product of two f32 is exact; a product of two f64 is
 * added together with its rounding error. A pair with a missing element or a NaN becomes 0 0, which
 * adds nothing. If a pair has an infinity, or a product is too large or too small, all are added
 * one by one. */
static __attribute__((noinline)) void add_products(tl_exact *e, const tl_plan *plan, int is_f64,
                                                   double *x, double *y, int64_t n)
{
    double high[GATHERED], low[GATHERED];
    const int leaves_out = tl_exact_form_of(plan->op)->leaves_out;
    int64_t nan = 0;

    for (int64_t i = 0; leaves_out && i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        y[i] = bits == (uint64_t)1 << 63 ? 0 : y[i];
    }

    if (!plan->exact->products(x, y, n, high, low)) {
        for (int64_t i = 0; i < n; i++) {
            const int number = (x[i] == x[i]) & (y[i] == y[i]);
            nan += !number;
            x[i] = number ? x[i] : 0;
            y[i] = number ? y[i] : 0;
        }

        e->nan += nan;
        if (!nan || !plan->exact->products(x, y, n, high, low)) {
            if ((e->waiting += 2 * n) > TL_EXACT_MOST) {
                tl_exact_carry(e);
                e->waiting = 2 * n;
            }
            for (int64_t i = 0; i < n; i++) tl_exact_pair(e, x[i], y[i], 1);
            return;
        }
    }

    add_wide(e, &e->guess, plan, 1, (const char *)high, n);
    if (is_f64) add_wide(e, &e->rest, plan, 1, (const char *)low, n);
}

/* Adds dense elements that the call's own conversion prepares. */
static __attribute__((noinline)) void add_gathered(tl_exact *e, const tl_plan *plan, const char *x,
                                                   int64_t n)
{
    double one[2][GATHERED];
    float narrow[2][GATHERED];
    const int pairs = plan->op->inputs == 2, is_f64 = plan->in->to_bytes == 8,
              leaves_out = tl_exact_form_of(plan->op)->leaves_out;

    for (int64_t m; n > 0; n -= m, x += m * plan->op->elem_bytes) {
        void *to = is_f64 ? (void *)one[0] : narrow[0],
             *second = is_f64 ? (void *)one[1] : narrow[1];
        m = n < GATHERED ? n : GATHERED;
        plan->in->apply_two(plan->in, to, pairs ? second : NULL, x, m);
        if (leaves_out) e->count -= count_missing(is_f64, to, m);
        for (int k = 0; k < 2 && pairs && !is_f64; k++)
            for (int64_t i = 0; i < m; i++) one[k][i] = (double)narrow[k][i];

        if (pairs)
            add_products(e, plan, is_f64, one[0], one[1], m);
        else
            add_wide(e, &e->guess, plan, is_f64, to, m);
    }
}

/* ---- any elements ---- */

/* Packs and widens elements that are strided or have 16 bits, and adds them. Not inlined because of
 * its buffers. */
static __attribute__((noinline)) void add_packed(tl_exact *e, const tl_plan *plan, const char *x,
                                                 int64_t stride, int64_t n)
{
    _Alignas(64) char pack[PIECE * 8], wide[PIECE * 4];
    const int64_t bytes = plan->op->elem_bytes;

    for (int64_t at = 0, m; at < n; at += m) {
        /* Not beyond the last element: the stride may have any value. */
        const char *from = x + at * stride * bytes;
        m = n - at < PIECE ? n - at : PIECE;

        if (stride != 1) {
            tl_copy_strided(pack, 1, from, stride, m, bytes);
            from = pack;
        }

        if (plan->in) {
            plan->in->apply(plan->in, wide, from, m);
            from = wide;
        }

        add_wide(e, &e->guess, plan, plan->op->dtype == TALLY_F64, from, m);
    }
}

void tl_exact_add(tl_exact *e, const tl_plan *plan, const void *x, int64_t stride, int64_t n)
{
    assert(n >= 0 && (stride == 1 || n <= 1 || !plan->in || !plan->in->apply_two));
    e->count += n;
    if (plan->in && plan->in->apply_two)
        add_gathered(e, plan, x, n);
    else if ((stride != 1 && n > 1) || plan->in)
        add_packed(e, plan, x, stride, n);
    else
        add_wide(e, &e->guess, plan, plan->op->dtype == TALLY_F64, x, n);
}

typedef struct {
    tl_exact *sum;
    const tl_plan *plan;
    const char *x;
    int64_t n;
} slab_work;

static void add_shares(void *data, const tl_worker *worker)
{
    const slab_work *a = data;
    const int64_t bytes = a->plan->op->elem_bytes;
    tl_exact partial;

    tl_exact_begin(&partial);
    for (int64_t j; (j = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t at = j * SHARE;
        tl_exact_add(&partial, a->plan, a->x + at * bytes, 1,
                     a->n - at < SHARE ? a->n - at : SHARE);
    }

    /* the sum is the same in any order */
    tl_lock_take(TL_LOCK_EXACT);
    tl_exact_join(a->sum, &partial, 1);
    tl_lock_release(TL_LOCK_EXACT);
}

void tl_exact_slab(tl_exact *e, const tl_plan *plan, int threads, const void *x, int64_t n)
{
    const int64_t bytes = plan->op->elem_bytes, rows_work = (n + SHARE - 1) / SHARE;
    if (threads == 1 || n * bytes <= TL_PARALLEL_BYTES) {
        tl_exact_add(e, plan, x, 1, n);
        return;
    }
    slab_work all = {e, plan, x, n};
    tl_parallel(threads, rows_work, add_shares, &all);
}

/* ---- reduce ---- */

static void lower(const tl_exact *e, const tl_plan *plan, void *out)
{
    tl_exact_lower(e, tl_exact_form_of(plan->op), out);
}

static tally_status open(tl_thread *t)
{
    tl_exact *e = tl_thread_memory(t, TL_SINGLE, sizeof *e, "an exact sum");
    t->memory->other = e;
    if (!e) return TALLY_NO_MEMORY;
    tl_exact_begin(e);
    return TALLY_OK;
}

static tally_status part(tl_thread *t, const tl_part *p)
{
    const tl_plan *plan = t->run->call->plan;
    tl_exact *e = t->memory->other;
    if (p->first) tl_exact_clear(e);
    tl_exact_slab(e, plan, t->threads, p->x, p->n);
    if (p->last) lower(e, plan, p->y);
    return TALLY_OK;
}

/* Neighbouring columns, so that whole cache lines are used: COLUMNS of them, a few rows at a
 * time. */
typedef struct {
    tl_exact e[COLUMNS];
    char pack[PIECE * 8];
} strip;

/* Adds rows from .. end - 1 of `width` columns, of which `first` is the first. */
static void add_strip(strip *s, const tl_call *call, int64_t first, int64_t width, int64_t from,
                      int64_t end)
{
    const tally_view *in = call->in;
    const int64_t bytes = call->plan->op->elem_bytes;
    int64_t n;
    assert(0 < width && width <= COLUMNS);
    for (int64_t c = 0; c < width; c++) tl_exact_clear(&s->e[c]);

    for (int64_t m; from < end; from += m) {
        m = end - from < PIECE / COLUMNS * 4 ? end - from : PIECE / COLUMNS * 4;
        for (int64_t c = 0; c < width; c++) {
            const char *x = tl_view_row(in, first + c, bytes, &n);
            tl_copy_strided(s->pack, 1, x + from * in->stride * bytes, in->stride, m, bytes);
            tl_exact_add(&s->e[c], call->plan, s->pack, 1, m);
        }
    }
}

typedef struct {
    const tl_call *call;
    int64_t parts;    /* parts of the rows of a strip */
    tl_exact *joined; /* the joined sums of the parts; NULL: 1 part */
} strip_work;

static void add_strips(void *data, const tl_worker *worker)
{
    const strip_work *a = data;
    const tl_call *call = a->call;
    const tally_view *in = call->in;
    const int64_t result = call->plan->op->result_bytes;
    strip *s = malloc(sizeof *s);
    if (!s) return;

    for (int c = 0; c < COLUMNS; c++) tl_exact_begin(&s->e[c]);
    for (int64_t j; (j = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t first = j / a->parts * COLUMNS, part = j % a->parts,
                      width = in->rows - first < COLUMNS ? in->rows - first : COLUMNS;
        const int64_t from = in->n / a->parts * part,
                      end = part + 1 < a->parts ? in->n / a->parts * (part + 1) : in->n;
        add_strip(s, call, first, width, from, end);

        if (a->joined) {
            tl_lock_take(TL_LOCK_EXACT);
            for (int64_t c = 0; c < width; c++) tl_exact_join(&a->joined[first + c], &s->e[c], 1);
            tl_lock_release(TL_LOCK_EXACT);
        } else {
            for (int64_t c = 0; c < width; c++)
                lower(&s->e[c], call->plan, (char *)call->out->data + (first + c) * result);
        }
    }

    free(s);
}

/* Threads take strips. If there are too few strips, threads take parts of the rows of a strip, and
 * the sums of the parts are joined. */
static tally_status columns(tally *ctx, int threads, const tl_call *call)
{
    const tl_plan *plan = call->plan;
    const tally_view *in = call->in;
    char *const out = call->out->data;
    const int64_t strips = (in->rows + COLUMNS - 1) / COLUMNS;
    const int64_t parts = strips < threads && in->n >= 64 * threads ? threads : 1;
    const size_t need = parts > 1 ? (size_t)in->rows * sizeof(tl_exact) : 0;
    tl_exact *joined = need ? malloc(need) : NULL;

    for (int64_t c = 0; joined && c < in->rows; c++) tl_exact_begin(&joined[c]);
    strip_work all = {call, parts, joined};
    const int failed = (need && !joined) || !tl_parallel(threads, strips * parts, add_strips, &all);
    for (int64_t c = 0; joined && !failed && c < in->rows; c++)
        lower(&joined[c], plan, out + c * plan->op->result_bytes);
    free(joined);

    return failed ? tl_no_memory(ctx, need + (size_t)threads * sizeof(strip),
                                 "the sums of the columns")
                  : TALLY_OK;
}

const tl_shape tl_exact_reduce_shape = {.open = open, .part = part, .columns = columns};
