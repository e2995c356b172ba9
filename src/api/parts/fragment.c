/* SPDX-License-Identifier: MIT
 * Fragments: partial reductions of slabs of a sequence, merged in any order, with gaps until the
 * last slab arrives. fragment_bytes.c has their byte string. A fragment of a view has the same
 * slabs of each of its sequences. */
#include "parts.h"
#include "context/threads.h"
#include "context/user.h"
#include "law/fp.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

tally_status tl_fragment_new(tally *ctx, const char *op, tally_dtype dtype, int64_t start,
                             int64_t rows, tally_fragment **fragment)
{
    if (!ctx) return tl_no_context();
    if (!fragment)
        return tl_invalid(ctx, "fragment is NULL: must point to where the fragment goes");
    *fragment = NULL;
    if (start < 0 || start >> 61)
        return tl_invalid(ctx, "start is %ld: must be 0..2^61 - 1", start);
    tl_plan plan;
    TL_TRY(tl_plan_of_inputs(ctx, op, dtype, &plan));

    const tl_exact_form *const exact = tl_exact_form_of(plan.op);
    const int checked = tl_is_checked(op);
    if (strlen(op) >= TL_FRAGMENT_NAME)
        return tl_invalid(ctx, "op is '%.60s': a fragment's operator has at most %d characters", op,
                          TL_FRAGMENT_NAME - 1);

    tally_fragment *f = malloc(sizeof *f);
    if (!f) return tl_no_memory(ctx, sizeof *f, "a fragment");

    *f = (tally_fragment){.ctx = ctx, .plan = plan, .dtype = dtype, .start = start, .rows = rows};
    strcpy(f->op, op);

    if (exact || checked) {
        f->sums = rows * (exact ? exact->sums : 1);
        f->sum_bytes = exact ? TL_EXACT_BYTES : sizeof *f->totals;
        if (exact)
            f->exact = malloc(tl_exact_bytes(f->sums + 1));
        else
            f->totals = calloc((size_t)f->sums + 1, sizeof *f->totals);
        if (!f->exact && !f->totals) {
            free(f);
            return tl_no_memory(
                ctx, exact ? tl_exact_bytes(rows * exact->sums) : (size_t)rows * sizeof *f->totals,
                "a fragment of sums");
        }
        for (int64_t k = 0; k < f->sums && exact; k++) tl_exact_begin(&f->exact[k], 1);
    }

    *fragment = f;
    return TALLY_OK;
}

/* Ranges without states. */
static void nothing(tl_state *a, const tl_state *b, int64_t na, int64_t nb) {}

const tl_scalar *tl_fragment_nodes(const tally_fragment *f)
{
    static const tl_scalar ranges = {.combine = nothing};
    return f->sum_bytes ? &ranges : f->plan.op;
}

/* Appends a slab, which the fragment then owns. s NULL: there was no memory for it. */
static tally_status append(tally_fragment *f, tl_slab *s)
{
    if (tl_slabs_append(&f->slabs, s)) return TALLY_OK;
    return tl_no_memory(f->ctx, (size_t)f->rows * sizeof(tl_state), "a fragment");
}

/* Adds the elements of a view of host memory to the sums of its rows. */
static tally_status add_to_sums(tally_fragment *f, const tally_view *in, int64_t start, int64_t n)
{
    TL_TRY(f->exact ? tl_job_exact_rows(f->ctx, &(tl_call){.plan = &f->plan, .in = in}, f->exact)
                    : tl_totals_add(f->ctx, f->totals, in, NULL));
    return append(f, tl_slab_new(start, start + n, 1, tl_fragment_nodes(f), 0));
}

/* Appends the slab of n dense elements in memory of any kind; the device folds them. */
static tally_status append_flat(tally_fragment *f, const void *x, int64_t start, int64_t n)
{
    assert(f->rows == 1);
    assert(start >= 0 && n > 0);
    tally *const ctx = f->ctx;
    tl_counter nodes;
    tl_counter_init(&nodes, start);
    TL_LAW_FP;
    tl_push push = {.verb = TL_REDUCE, .plan = &f->plan, .x = x, .n = n, .counter = &nodes};
    TL_TRY(ctx->device->calls->push(ctx->device, ctx, &push));

    tl_slab *const s = tl_slab_new(start, start + n, 1, f->plan.op, 0);
    if (s) tl_slab_set(s, 0, &nodes);
    return append(f, s);
}

/* Appends the slab of a view in host memory. Elements that may be missing, and pairs, are prepared
 * by a feed (cpu/inputs/inputs.h); all others are read in place. */
static tally_status append_rows(tally_fragment *f, const tally_view *in, int64_t start, int64_t n)
{
    assert(!in->offsets);
    assert(start >= 0 && n > 0);
    tally *const ctx = f->ctx;
    const int fed = tl_has_inputs(in);
    tl_feed feed;
    if (fed) TL_TRY(tl_feed_open(ctx, &f->plan, tl_has_absent(in), 0, &feed));

    tl_slab *const s = tl_slab_new(start, start + n, in->rows, f->plan.op, fed && feed.counted);
    tally_status status = TALLY_OK;
    TL_LAW_FP;
    if (s && in->rows)
        status = fed ? tl_feed_slab(ctx, &feed, in, s)
                     : tl_slab_nodes(ctx, &f->plan, tally_threads(ctx), in, s, s->state);
    if (!status) return append(f, s);
    free(s);
    return status;
}

/* Adds a checked view, in->n > 0, of memory of any kind. next is in->next. */
static tally_status add_view(tally_fragment *f, tally_view *in, tally_view *next, int64_t start)
{
    assert(in->n > 0);
    assert(in->next == next);
    tally *const ctx = f->ctx;
    TL_HOST_COPIES(copies, ctx);
    const int64_t n = in->n; /* a normal view without sequences has n 0 */
    tl_inputs_normal(in);
    if (next) tl_inputs_normal(next);
    if (!f->sum_bytes && !tl_has_inputs(in) && in->rows == 1 && in->stride == 1)
        return append_flat(f, in->data, start, n);

    ctx->device->on_processors += in->rows * n;
    TL_TRY(tl_inputs_bring(&copies, in, next));
    return f->sum_bytes ? add_to_sums(f, in, start, n) : append_rows(f, in, start, n);
}

tally_status tally_fragment_of_view(tally *ctx, const char *op, const tally_view *x, int64_t start,
                                    tally_fragment **fragment)
{
    if (fragment) *fragment = NULL;
    if (!ctx) return tl_no_context();
    if (!x) return tl_invalid(ctx, "x is NULL: must be a view");

    if (x->offsets)
        return tl_invalid(ctx,
                          "x->offsets is given: the sequences of a fragment have the same slabs");
    if (x->n < 0 || x->n >> 61) return tl_invalid(ctx, "n is %ld: must be 0..2^61 - 1", x->n);
    if (x->rows < 0 || x->rows > TL_GRID_MOST)
        return tl_invalid(ctx, "x->rows is %ld: must be 0..2^%d - 1", x->rows, TL_GRID_MOST_LOG);
    TL_TRY(tl_fragment_new(ctx, op, tl_inputs_dtype(x), start, x->rows, fragment));

    tally_fragment *f = *fragment;
    tally_view in, next;
    tally_status status = tl_form_fits(ctx, op, f->plan.op, x, "x");
    if (!status) status = tl_inputs_check(ctx, x, "x", &in, &next);
    if (!status && x->n) status = add_view(f, &in, x->next ? &next : NULL, start);

    if (status) {
        tally_fragment_free(f);
        *fragment = NULL;
    }
    return status;
}

tally_status tally_fragment_make(tally *ctx, const char *op, tally_dtype dtype, const void *x,
                                 int64_t start, int64_t n, tally_fragment **fragment)
{
    const tally_view in = tally_flat(x, dtype, n);
    return n ? tally_fragment_of_view(ctx, op, &in, start, fragment)
             : tl_fragment_new(ctx, op, dtype, start, 1, fragment);
}

void tl_share_slabs(int threads, int64_t rows, tl_rows_part *part, void *job)
{
    tl_for_parts(threads, rows, 4096, part, job);
}

tally_status tally_fragment_merge(tally_fragment *left, const tally_fragment *right)
{
    int64_t i, j;
    if (!left || !right) return tl_invalid(NULL, "left or right is NULL: must be fragments");

    if (left->dtype != right->dtype || !tl_user_same(left->plan.op, right->plan.op) ||
        left->plan.par.value != right->plan.par.value || !left->totals != !right->totals)
        return tl_invalid(left->ctx, "left is %s of %s and right is %s of %s: must be the same",
                          left->op, tally_dtype_name(left->dtype), right->op,
                          tally_dtype_name(right->dtype));

    if (left->rows != right->rows)
        return tl_invalid(left->ctx, "left has %ld sequences and right has %ld: must be as many",
                          left->rows, right->rows);

    if (tl_slabs_overlap(&left->slabs, &right->slabs, &i, &j)) {
        const tl_slab *a = left->slabs.slab[i], *b = right->slabs.slab[j];
        return tl_invalid(left->ctx,
                          "left has [%ld, %ld) and right has [%ld, %ld): must not overlap",
                          a->start, a->end, b->start, b->end);
    }

    TL_LAW_FP;
    const int good = tl_slabs_join(&left->slabs, &right->slabs, tl_fragment_nodes(left),
                                   tl_share_slabs, tally_threads(left->ctx));
    for (int64_t k = 0; k < left->sums && good; k++)
        if (left->exact)
            tl_exact_join(&left->exact[k], &right->exact[k], 1, 1);
        else
            left->totals[k] += right->totals[k];

    return good ? TALLY_OK
                : tl_no_memory(left->ctx, (size_t)left->rows * sizeof(tl_counter), "the merge");
}

/* Finds the first gap before the last range. Returns 0 if there is none from 0 on. */
static int first_gap(const tally_fragment *f, int64_t *start, int64_t *end)
{
    const tl_slabs *s = &f->slabs;
    *start = s->count && !s->slab[0]->start ? s->slab[0]->end : 0;
    const int64_t next = *start ? 1 : 0;
    *end = next < s->count ? s->slab[next]->start : s->count ? *start : f->start;
    return *end > *start;
}

tally_status tl_fragment_whole(tally *ctx, const tally_fragment *f)
{
    int64_t start, end;
    if (!first_gap(f, &start, &end)) return TALLY_OK;
    return tl_invalid(
        ctx,
        "the fragment lacks [%ld, %ld): only one that has every element from 0 on has a result",
        start, end);
}

tally_status tally_fragment_result(const tally_fragment *f, void *out)
{
    if (!f) return tl_invalid(NULL, "fragment is NULL");
    if (!out && f->rows)
        return tl_invalid(f->ctx, "out is NULL: must have space for %s%s",
                          f->rows > 1 ? "a result" : "one result",
                          f->rows > 1 ? " of each sequence" : "");
    TL_HOST_COPIES(copies, f->ctx);
    TL_TRY(tl_fragment_whole(f->ctx, f));
    TL_TRY(tl_host_copy(&copies, &out, 0, f->rows * f->plan.op->result_bytes, 1));
    if (f->totals)
        TL_TRY(tl_totals_result(f->ctx, f->totals, f->rows, f->plan.op->out, "sequence", out));
    else
        tl_rows_lower(&(tl_lowering){&f->slabs, f->exact, &f->plan, out}, tally_threads(f->ctx),
                      f->rows);

    return tl_host_back(&copies);
}

static void lower_rows(void *with, int64_t a, int64_t b)
{
    assert(a >= 0 && a <= b);
    const tl_lowering *const job = with;
    const tl_plan *const plan = job->plan;
    const tl_exact_form *const form = tl_exact_form_of(plan->op);
    tl_counter c;
    tl_counter_init(&c, 0);

    for (int64_t row = a; row < b; row++) {
        if (job->exact) {
            tl_exact_lower(job->exact + row * form->sums, form, plan->par.value,
                           job->out + row * plan->op->result_bytes);
            continue;
        }
        if (job->slabs->count) tl_slab_get(job->slabs->slab[0], row, &c);
        tl_counter_lower(&c, plan, job->out + row * plan->op->result_bytes);
    }
}

void tl_rows_lower(tl_lowering *job, int threads, int64_t rows)
{
    tl_share_slabs(threads, rows, lower_rows, job);
}

void tally_fragment_range(const tally_fragment *f, int64_t *start, int64_t *end)
{
    const tl_slabs *s = f ? &f->slabs : NULL;
    if (start) *start = !f ? 0 : s->count ? s->slab[0]->start : f->start;
    if (end) *end = !f ? 0 : s->count ? s->slab[s->count - 1]->end : f->start;
}

int64_t tally_fragment_ranges(const tally_fragment *f, int64_t first, int64_t count,
                              int64_t *starts, int64_t *ends)
{
    const int64_t available = f ? f->slabs.count : 0;
    for (int64_t i = 0; i < count && first >= 0 && first + i < available; i++) {
        if (starts) starts[i] = f->slabs.slab[first + i]->start;
        if (ends) ends[i] = f->slabs.slab[first + i]->end;
    }
    return available;
}

void tally_fragment_about(const tally_fragment *f, tally_fragment_info *info)
{
    if (info) *info = (tally_fragment_info){0};
    if (!f || !info) return;
    *info = (tally_fragment_info){
        .op = f->op, .dtype = f->dtype, .ranges = f->slabs.count, .rows = f->rows};
    for (int64_t i = 0; i < f->slabs.count; i++) {
        info->elements += f->slabs.slab[i]->end - f->slabs.slab[i]->start;
        info->nodes += f->slabs.slab[i]->count;
    }
}

void tally_fragment_free(tally_fragment *f)
{
    if (!f) return;
    tl_slabs_free(&f->slabs);
    free(f->exact);
    free(f->totals);
    free(f);
}
