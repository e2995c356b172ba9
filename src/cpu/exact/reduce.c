/* SPDX-License-Identifier: MIT
 * Exact sums of sequences and of columns. The order of additions does not matter, so threads add
 * any elements, and their sums are joined. */
#include "exact.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/shape.h"
#include <assert.h>
#include <stdlib.h>

enum {
    SHARE = 1 << 18,  /* elements that a thread takes at a time */
    COLUMNS = 16,     /* columns that are summed side by side */
    COLUMN_ROWS = 512 /* rows of each at a time */
};

static int sums_of(const tl_plan *plan) { return tl_exact_form_of(plan->op)->sums; }

typedef struct {
    tl_exact *sum;
    const tl_plan *plan;
    const char *x;
    int64_t stride, n;
} slab_work;

/* Adds the elements that this thread takes to a sum of its own, and then that to a->sum. */
static void add_shares(void *data, const tl_worker *worker)
{
    const slab_work *a = data;
    const int64_t step = a->stride * a->plan->op->elem_bytes;
    const int sums = sums_of(a->plan);
    tl_exact partial[TL_SUMS];

    tl_exact_begin(partial, sums);

    for (int64_t j; (j = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t at = j * SHARE;
        tl_exact_add(partial, a->plan, a->x + at * step, a->stride, tl_min(a->n - at, SHARE));
    }

    /* the sum is the same in any order */
    tl_lock_take(TL_LOCK_EXACT);
    tl_exact_join(a->sum, partial, sums, 1);
    tl_lock_release(TL_LOCK_EXACT);
}

/* Adds n elements, which are `stride` elements apart, to e. */
static void add_slab(tl_exact *e, const tl_plan *plan, int threads, const void *x, int64_t stride,
                     int64_t n)
{
    slab_work work = {e, plan, x, stride, n};
    if (threads == 1 || n * plan->op->elem_bytes <= TL_PARALLEL_BYTES)
        tl_exact_add(e, plan, x, stride, n);
    else
        tl_parallel(threads, (n + SHARE - 1) / SHARE, add_shares, &work);
}

void tl_exact_slab(tl_exact *e, const tl_plan *plan, int threads, const void *x, int64_t n)
{
    add_slab(e, plan, threads, x, 1, n);
}

/* Writes the result of sequence r, whose results are dense. */
static void lower(const tl_exact *e, const tl_call *call, int64_t r)
{
    const tl_plan *plan = call->plan;
    tl_exact_lower(e, tl_exact_form_of(plan->op), plan->par.value,
                   (char *)call->out->data + r * plan->op->result_bytes);
}

static tally_status open(tl_thread *t)
{
    const int sums = sums_of(t->run->call->plan);
    tl_exact *e = tl_thread_memory(t, TL_SINGLE, (size_t)sums * sizeof *e, "an exact sum");
    t->memory->other = e;
    if (!e) return TALLY_NO_MEMORY;
    tl_exact_begin(e, sums);
    return TALLY_OK;
}

/* Adds a part, whose elements are `stride` elements apart, to the sum of its sequence. */
static tally_status add_part(tl_thread *t, const tl_part *p, int64_t stride)
{
    const tl_plan *plan = t->run->call->plan;
    tl_exact *e = t->memory->other;
    if (p->first) tl_exact_clear(e, sums_of(plan));
    add_slab(e, plan, t->threads, p->x, stride, p->n);
    if (p->last) tl_exact_lower(e, tl_exact_form_of(plan->op), plan->par.value, p->y);
    return TALLY_OK;
}

static tally_status part(tl_thread *t, const tl_part *p) { return add_part(t, p, 1); }

static tally_status strided(tl_thread *t, const tl_sequence *s)
{
    const tl_part whole = {.x = s->x, .y = s->y, .n = s->n, .first = 1, .last = 1};
    return add_part(t, &whole, s->x_stride);
}

/* ---- columns ---- */

typedef struct {
    const tl_call *call;
    int64_t parts;    /* parts of the rows of a strip */
    tl_exact *joined; /* the joined sums of the parts; NULL: 1 part */
} column_work;

/* Sums rows from .. end - 1 of `width` neighbouring columns from `first` on, a few rows of each at
 * a time, so that whole cache lines are used. e: the sums of each column. */
static void add_strip(tl_exact *e, const tl_call *call, int64_t first, int64_t width, int64_t from,
                      int64_t end)
{
    const tally_view *in = call->in;
    const int64_t bytes = call->plan->op->elem_bytes;
    const int sums = sums_of(call->plan);
    assert(0 < width && width <= COLUMNS);

    tl_exact_clear(e, (int)width * sums);

    for (int64_t m, n; from < end; from += m) {
        m = tl_min(end - from, COLUMN_ROWS);
        for (int64_t c = 0; c < width; c++)
            tl_exact_add(&e[c * sums], call->plan,
                         tl_view_row(in, first + c, bytes, &n) + from * in->stride * bytes,
                         in->stride, m);
    }
}

static void add_strips(void *data, const tl_worker *worker)
{
    const column_work *a = data;
    const tl_call *call = a->call;
    const tally_view *in = call->in;
    const int sums = sums_of(call->plan);
    tl_exact *const e = malloc((size_t)(COLUMNS * sums) * sizeof *e);
    if (!e) return;

    tl_exact_begin(e, COLUMNS * sums);

    for (int64_t j; (j = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t first = j / a->parts * COLUMNS, part = j % a->parts,
                      width = tl_min(in->rows - first, COLUMNS);
        add_strip(e, call, first, width, in->n / a->parts * part,
                  part + 1 < a->parts ? in->n / a->parts * (part + 1) : in->n);

        if (a->joined) {
            tl_lock_take(TL_LOCK_EXACT);
            tl_exact_join(&a->joined[first * sums], e, (int)width * sums, 1);
            tl_lock_release(TL_LOCK_EXACT);
            continue;
        }
        for (int64_t c = 0; c < width; c++) lower(&e[c * sums], call, first + c);
    }

    free(e);
}

/* Threads take strips; if these are too few, parts of a strip's rows, whose sums are joined. */
static tally_status columns(tally *ctx, int threads, const tl_call *call)
{
    const tally_view *in = call->in;
    const int64_t strips = (in->rows + COLUMNS - 1) / COLUMNS,
                  parts = strips < threads && in->n >= 64 * threads ? threads : 1;
    const size_t sums = (size_t)sums_of(call->plan),
                 need = parts > 1 ? (size_t)in->rows * sums * sizeof(tl_exact) : 0;
    tl_exact *joined = need ? malloc(need) : NULL;

    if (joined) tl_exact_begin(joined, (int)in->rows * (int)sums);
    column_work work = {call, parts, joined};
    const int failed =
        (need && !joined) || !tl_parallel(threads, strips * parts, add_strips, &work);
    for (int64_t c = 0; joined && !failed && c < in->rows; c++)
        lower(&joined[c * (int64_t)sums], call, c);
    free(joined);

    if (!failed) return TALLY_OK;
    return tl_no_memory(ctx, need + (size_t)threads * COLUMNS * sums * sizeof(tl_exact),
                        "the sums of the columns");
}

const tl_shape tl_exact_reduce_shape = {
    .open = open, .part = part, .strided = strided, .columns = columns};
