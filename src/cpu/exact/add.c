/* SPDX-License-Identifier: MIT
 * Exact sums in bulk. A block of elements is added in registers that cover a guessed range of bits
 * (exact_block.c). If a block does not fit, its range is measured and it is added again. If its
 * elements span more than the registers cover (f32: 65 binades, f64: 80) or are infinite, they are
 * added one by one. */
#include "exact.h"
#include "context/view.h"
#include <assert.h>

enum {
    ONE_BY_ONE = 48,    /* fewer elements are added one by one */
    PIECE_BYTES = 8192, /* f32 or f64 that are packed and converted at a time */
    PRODUCTS = 1024,    /* products that are computed at a time */

    /* After k <= PAUSE_MOST failures in a row, 2^k - 2 blocks are added one by one. */
    PAUSE_MOST = 6,
    STEP_MOST = 64 /* at least every tl_exact_kernel.step */
};

/* Counts n additions to each sum of a state; propagates carries before a bin could overflow. */
static void count_waiting(tl_exact *e, int sums, int64_t n)
{
    for (int k = 0; k < sums; k++)
        if ((e[k].waiting += n) > TL_EXACT_MOST) {
            tl_exact_carry(&e[k]);
            e[k].waiting = n;
        }
}

/* ---- blocks ---- */

/* Adds a block with one level less, unless that failed recently; then with all. TL_EXACT_DONE, or
 * why b is not the block's sum. */
static int try_block(const tl_plan *plan, int is_f64, tl_exact_guess *g, const void *x, int64_t n,
                     tl_exact_block *b)
{
    int (*const add)(const void *, int64_t, tl_exact_block *) = plan->exact->add[is_f64];
    const int levels = is_f64 ? 3 : 2;
    b->top = g->top;
    b->without = g->without;
    if (g->wide > 0) {
        g->wide--;
    } else {
        b->levels = levels - 1;
        const int why = add(x, n, b);
        if (!why) g->far = 0;
        if (why != TL_EXACT_FAR) return why;
        g->far += g->far < PAUSE_MOST;
        g->wide = (1 << g->far) - 2;
    }

    b->levels = levels;
    return add(x, n, b);
}

/* Element i of f32 or f64. */
static inline double number_at(const char *x, int64_t i, int is_f64)
{
    double wide;
    float narrow;
    if (is_f64) {
        memcpy(&wide, x + i * 8, 8);
        return wide;
    }
    memcpy(&narrow, x + i * 4, 4);
    return narrow;
}

static void one_by_one(tl_exact *e, int is_f64, const char *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) tl_exact_element(e, number_at(x, i, is_f64), 1);
}

static void add_block(tl_exact *e, tl_exact_guess *g, const tl_plan *plan, int is_f64,
                      const char *x, int64_t n)
{
    tl_exact_block b;
    assert(0 < n && n <= TL_EXACT_BLOCK && n % plan->exact->step == 0);
    if (g->pause > 0) {
        g->pause--;
        one_by_one(e, is_f64, x, n);
        return;
    }

    int why = try_block(plan, is_f64, g, x, n, &b);
    if (why) {
        tl_exact_guess measured = *g;
        measured.top = plan->exact->highest[is_f64](x, n, &measured.without);
        const int other = measured.top != g->top || measured.without != g->without;
        if (other && measured.top <= TL_EXACT_TOP_MOST) {
            *g = measured;
            why = try_block(plan, is_f64, g, x, n, &b);
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
        m = tl_min(n, TL_EXACT_BLOCK);
        count_waiting(e, 1, m);
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

/* ---- pieces of elements ---- */

/* Is the conversion one of cpu/inputs/, which finds an element's validity by its address? */
static int is_own_conversion(const tl_plan *plan) { return plan->in && plan->in->apply_two; }

/* Are elements f64, or integers of 64 bits, after the conversion? Otherwise they are f32. */
static int is_wide(const tl_plan *plan)
{
    return (plan->in ? plan->in->to_bytes : plan->op->elem_bytes) == 8;
}

/* Memory for a piece. */
typedef struct {
    char pack[PIECE_BYTES], x[PIECE_BYTES], y[PIECE_BYTES];
} buffers;

/* Returns n converted elements without gaps, in place or in the buffers; of pairs b->y has the
 * second inputs. */
static const char *load(const tl_plan *plan, const char *x, int64_t stride, int64_t n, buffers *b)
{
    const int64_t bytes = plan->op->elem_bytes;
    const int pairs = plan->op->inputs == 2;
    assert(n * (is_wide(plan) ? 8 : 4) <= PIECE_BYTES);
    if (is_own_conversion(plan)) {
        plan->in->apply_two(plan->in, b->x, pairs ? b->y : NULL, x, n);
        return b->x;
    }

    assert(!pairs);
    if (stride != 1) { /* not beyond the last element: the stride may have any value */
        tl_copy_strided(b->pack, 1, x, stride, n, bytes);
        x = b->pack;
    }
    if (!plan->in) return x;
    plan->in->apply(plan->in, b->x, x, n);
    return b->x;
}

/* n elements of f32 or f64 as f64. */
static void widen(double *to, const char *from, int64_t n, int wide)
{
    if (wide)
        memcpy(to, from, (size_t)n * sizeof *to);
    else
        for (int64_t i = 0; i < n; i++) to[i] = number_at(from, i, 0);
}

void tl_exact_load(const tl_plan *plan, const void *x, int64_t stride, int64_t n, tl_exact_rows *to)
{
    const tl_exact_form *const form = tl_exact_form_of(plan->op);
    buffers b;
    assert(n <= TL_EXACT_PIECE);
    widen(to->x.f64, load(plan, x, stride, n, &b), n, is_wide(plan));
    if (plan->op->inputs == 2) widen(to->y.f64, b.y, n, is_wide(plan));
    if (form->absent)
        form->absent(plan->in, to->absent, x, n);
    else if (form->leaves_out) /* -0 marks absent elements */
        for (int64_t i = 0; i < n; i++) to->absent[i] = to->x.whole[i] == (uint64_t)1 << 63;
}

/* The number of absent elements, which are -0, among n of f32 or f64. Two loops, which compilers
 * vectorize. */
static int64_t count_absent(const char *x, int64_t n, int wide)
{
    int64_t absent = 0;
    for (int64_t i = 0; wide && i < n; i++) {
        uint64_t v;
        memcpy(&v, x + i * (int64_t)sizeof v, sizeof v);
        absent += v == (uint64_t)1 << 63;
    }
    for (int64_t i = 0; !wide && i < n; i++) {
        uint32_t v;
        memcpy(&v, x + i * (int64_t)sizeof v, sizeof v);
        absent += v == (uint32_t)1 << 31;
    }
    return absent;
}

/* Adds the sum of elements that are strided or converted. */
static __attribute__((noinline)) void add_sum(tl_exact *e, const tl_plan *plan, const char *x,
                                              int64_t stride, int64_t n)
{
    buffers b;
    const int wide = is_wide(plan), leaves_out = tl_exact_form_of(plan->op)->leaves_out;
    const int64_t most = PIECE_BYTES / (wide ? 8 : 4), step = stride * plan->op->elem_bytes;

    for (int64_t at = 0, m; at < n; at += m) {
        m = tl_min(n - at, most);
        const char *const piece = load(plan, x + at * step, stride, m, &b);
        if (leaves_out) e->count -= count_absent(piece, m, wide);
        add_wide(e, &e->guess, plan, wide, piece, m);
    }
}

/* ---- rows of statistics ---- */

/* Rows of integers. A number or product is at most three additions to a sum (tl_exact_put_whole).
 * One signed input is summed in registers first. */
static void add_whole_rows(tl_exact *e, const tl_exact_form *form, const tl_exact_rows *r,
                           int64_t n)
{
    const uint64_t *const x = r->x.whole, *const y = r->y.whole;
    if (form->sums > 2 || form->scalar.inputs == 2 || form->whole != 1) {
        const int pairs = form->scalar.inputs == 2;
        for (int64_t i = 0; i < n; i++) tl_exact_whole_row(e, form, x[i], pairs ? y[i] : 0, 1);
        return;
    }

    __int128 sum = 0;
    unsigned __int128 low = 0, high = 0; /* of the squares */
    for (int64_t i = 0; i < n; i++) {
        const __int128 v = (int64_t)x[i];
        const unsigned __int128 square = (unsigned __int128)(v * v);
        sum += v;
        low += (uint64_t)square;
        high += (uint64_t)(square >> 64);
    }

    if (form->what.needs & TL_X)
        tl_exact_put_whole(e++, sum < 0 ? -(unsigned __int128)sum : (unsigned __int128)sum, 0,
                           sum < 0);
    if (form->what.needs & TL_XX) {
        tl_exact_put_whole(e, low, 0, 0);
        tl_exact_put_whole(e, high, 64, 0);
    }
}

/* Adds the products of n numbers: rounded products, and their rounding errors if `errors`. 0, and
 * adds nothing, if a number is infinite or NaN, or a product too large or small. */
static __attribute__((noinline)) int add_products(tl_exact *e, const tl_plan *plan, int errors,
                                                  const void *x, const void *y, int64_t n)
{
    double high[PRODUCTS], low[PRODUCTS];
    assert(n <= PRODUCTS);
    if (!plan->exact->products(x, y, n, high, low)) return 0;
    add_wide(e, &e->guess, plan, 1, (const char *)high, n);
    if (errors) add_wide(e, &e->rest, plan, 1, (const char *)low, n);
    return 1;
}

/* Rows with a NaN become 0 0, which add nothing. Returns their number. y: NULL, or of pairs. */
static int64_t clean(double *x, double *y, int64_t n)
{
    int64_t nan = 0;
    for (int64_t i = 0; i < n; i++) {
        const int number = (x[i] == x[i]) & (!y || y[i] == y[i]);
        nan += !number;
        x[i] = number ? x[i] : 0;
        if (y) y[i] = number ? y[i] : 0;
    }
    return nan;
}

/* Rows of numbers. The product of all inputs of a statistic comes first, because it finds NaN. */
static void add_numbers(tl_exact *e, const tl_plan *plan, int errors, tl_exact_rows *r, int64_t n)
{
    const tl_exact_form *const form = tl_exact_form_of(plan->op);
    double *const x = r->x.f64, *const y = form->scalar.inputs == 2 ? r->y.f64 : NULL;
    int clean_rows = 0;

    for (int k = form->sums, bit = 1 << (TL_SUMS - 1); bit; bit >>= 1) {
        if (!(form->what.needs & bit)) continue;
        tl_exact *const sum = &e[--k];
        const double *const a = bit & (TL_Y | TL_YY) ? y : x, *const b = bit & TL_XY ? y : a;
        if (bit & (TL_X | TL_Y)) {
            add_wide(sum, &sum->guess, plan, 1, (const char *)a, n);
            continue;
        }

        int done = add_products(sum, plan, errors, a, b, n);
        if (!done && !clean_rows) {
            const int64_t nan = clean(x, y, n);
            e->nan += nan;
            clean_rows = 1;
            done = nan && add_products(sum, plan, errors, a, b, n);
        }

        if (done) continue;
        count_waiting(sum, 1, 2 * n);
        for (int64_t i = 0; i < n; i++) tl_exact_pair(sum, a[i], b[i], 1);
    }
}

/* Adds n <= PRODUCTS dense f64 and their squares, read in place. Returns 0, and adds nothing, if
 * that is not possible. */
static int add_in_place(tl_exact *e, const tl_plan *plan, const char *x, int64_t n)
{
    const tl_exact_form *const form = tl_exact_form_of(plan->op);
    tl_exact *const squares = &e[form->sums - 1];
    assert(form->what.needs & TL_XX);
    if (!add_products(squares, plan, 1, x, x, n)) return 0;
    if (form->what.needs & TL_X) add_wide(e, &e->guess, plan, 1, x, n);
    return 1;
}

/* Adds elements to all sums of a state. */
static __attribute__((noinline)) void add_rows(tl_exact *e, const tl_plan *plan, const char *x,
                                               int64_t stride, int64_t n)
{
    const tl_exact_form *const form = tl_exact_form_of(plan->op);
    const int64_t step = stride * plan->op->elem_bytes;
    const int pairs = form->scalar.inputs == 2,
              in_place = plan->op->dtype == TALLY_F64 && !plan->in && stride == 1;
    tl_exact_rows r;

    for (int64_t at = 0, m; at < n; at += m) {
        m = tl_min(n - at, PRODUCTS);
        if (in_place && add_in_place(e, plan, x + at * step, m)) continue;

        m = tl_min(m, TL_EXACT_PIECE);
        tl_exact_load(plan, x + at * step, stride, m, &r);
        for (int64_t i = 0; form->leaves_out && i < m; i++) {
            e->count -= r.absent[i];
            r.x.whole[i] = r.absent[i] ? 0 : r.x.whole[i];
            if (pairs) r.y.whole[i] = r.absent[i] ? 0 : r.y.whole[i];
        }

        if (form->whole) {
            count_waiting(e, form->sums, 4 * m);
            add_whole_rows(e, form, &r, m);
        } else {
            add_numbers(e, plan, is_wide(plan), &r, m);
        }
    }
}

void tl_exact_add(tl_exact *e, const tl_plan *plan, const void *x, int64_t stride, int64_t n)
{
    assert(n >= 0 && (stride == 1 || n <= 1 || !is_own_conversion(plan)));
    const tl_exact_form *const form = tl_exact_form_of(plan->op);
    if (n <= 1) stride = 1;
    e->count += n;
    if (form->what.needs != TL_X || form->whole)
        add_rows(e, plan, x, stride, n);
    else if (stride != 1 || plan->in)
        add_sum(e, plan, x, stride, n);
    else
        add_wide(e, &e->guess, plan, is_wide(plan), x, n);
}
