/* SPDX-License-Identifier: MIT
 * Exact sums: the rows of views, added to sums; and tally_exact, sums as plain data. */
#include "context/threads.h"
#include "context/view.h"
#include "cpu/shape.h"
#include "calls.h"
#include "law/fp.h"
#include <assert.h>

static const char what[] = "exact sums";

enum { ROWS = 64 }; /* rows of a chunk */

/* The rows of a prepared job: dense elements, gathered or in place. */
typedef struct {
    const tl_job *job;
    const tally_view *out; /* dense, of a scan; NULL: no results */
    int exclusive, threads;
    tl_exact *sum;
    int step; /* from the sums of a row to those of the next; 0: all rows are added to one */
} row_work;

static void add_rows(void *data, int64_t first, int64_t end)
{
    const row_work *const w = data;
    const tl_plan *const plan = &w->job->ready.plan;
    const tally_view *const in = &w->job->ready.work;
    int64_t n, results;

    for (int64_t r = first; r < end; r++) {
        const char *const x = tl_view_row(in, r, plan->op->elem_bytes, &n);
        if (w->out) {
            char *const y = tl_view_row(w->out, r, plan->op->result_bytes, &results);
            tl_exact_scan_push(w->sum + r * w->step, plan, w->exclusive, x, n, y);
        } else {
            tl_exact_slab(w->sum + r * w->step, plan, w->threads, x, n);
        }
    }
}

tally_status tl_job_exact_rows(tally *ctx, const tl_call *call, tl_exact *sum)
{
    assert(call->plan->exact);
    TL_JOB(j);
    tally_view dense;
    const tl_scalar *const op = call->plan->op;
    TL_TRY(tl_job_open(&j, ctx, op->file, call, 1));
    if (!tl_has_elements(&j.in)) return TALLY_OK;

    row_work w = {&j,  call->out ? &dense : NULL, call->out && call->scan->exclusive, 1,
                  sum, tl_exact_form_of(op)->sums};
    TL_LAW_FP;
    TL_TRY(tl_job_prepare(&j, NULL, 0));
    if (w.out) TL_TRY(tl_job_results(&j, call->out, op->result_bytes, &dense));
    if (j.in.rows <= ROWS) w.threads = tally_threads(ctx);
    tl_for_parts(tally_threads(ctx), j.ready.work.rows, ROWS, add_rows, &w);
    if (w.out) tl_job_scatter(&dense, call->out, op->result_bytes, 0);
    return TALLY_OK;
}

/* tl_job_open, which checks x too, would call it `in`. */
static tally_status check_x(tally *ctx, const tally_view *x)
{
    tally_view in, next, checked, checked_next;
    TL_HOST_COPIES(copies, ctx);
    TL_TRY(tl_host_call(&copies, &(tl_call){.in = x}, &in, &next, NULL));
    return tl_inputs_check(ctx, &in, "x", &checked, &checked_next);
}

/* Adds the elements of x, or the products of the pairs of x and its next. */
static tally_status add_view(tally *ctx, const tally_view *x, tl_exact *sum)
{
    tally_view none = tally_flat(NULL, TALLY_F32, 0); /* there is no output to copy */
    TL_TRY(check_x(ctx, x));

    TL_JOB(j);
    TL_TRY(tl_job_open(&j, ctx, x->next ? "dot:exact" : "sum:exact", &(tl_call){.in = x}, 0));
    if (x->next && j.form.named->dtype == TALLY_F64)
        return tl_unsupported(ctx, "x->next is given: only products of f16, bf16 and f32 fit a "
                                   "tally_exact, and these are f64");
    if (!tl_has_elements(&j.in)) return TALLY_OK;

    tally_view *const all = &j.ready.work;
    TL_LAW_FP;
    TL_TRY(tl_job_to_host(&j, &none));
    TL_TRY(tl_job_prepare(&j, NULL, 0));
    if (!all->offsets && all->row_stride == all->n)
        all->n *= all->rows, all->rows = 1; /* for all threads at once */
    add_rows(&(row_work){&j, NULL, 0, tally_threads(ctx), sum, 0}, 0, all->rows);
    return TALLY_OK;
}

void tally_exact_init(tally_exact *sum)
{
    if (sum) *sum = (tally_exact){{0}};
}

/* Adds the elements of a view on the calling thread. */
static tally_status add_alone(const tally_view *x, tl_exact *sum)
{
    const tl_scalar *op;
    tl_par par;
    tl_plan plan;
    int64_t n;
    TL_TRY(tl_resolve(NULL, "sum:exact", x->dtype, &op, &par));
    TL_TRY(tl_view_check(NULL, x, "x", op->elem_bytes));

    tally_view v = *x;
    tl_view_normal(&v);
    tl_plan_kernels(&plan, op, par, tl_isa_widest());
    TL_LAW_FP;

    for (int64_t r = 0; r < v.rows; r++) {
        const char *const at = tl_view_row(&v, r, op->elem_bytes, &n);
        tl_exact_add(sum, &plan, at, v.stride, n);
    }
    return TALLY_OK;
}

static tally_status change(tally *ctx, tally_exact *sum, const tally_view *x, int sign)
{
    assert(sign == 1 || sign == -1);
    if (!sum) return tl_invalid(ctx, "sum is NULL: must be begun with tally_exact_init");
    if (!x) return tl_invalid(ctx, "x is NULL: must be a view");

    tl_exact all, more;
    TL_TRY(tl_host_only(ctx, sum, "sum", what));
    tl_exact_begin(&more, 1);
    TL_TRY(ctx ? add_view(ctx, x, &more) : add_alone(x, &more));

    tl_exact_unpack(&all, sum);
    tl_exact_join(&all, &more, 1, sign);
    tl_exact_pack(&all, sum);
    return TALLY_OK;
}

tally_status tally_exact_add(tally *ctx, tally_exact *sum, const tally_view *x)
{
    return change(ctx, sum, x, 1);
}

tally_status tally_exact_subtract(tally *ctx, tally_exact *sum, const tally_view *x)
{
    return change(ctx, sum, x, -1);
}

static void join(tally_exact *sum, const tally_exact *other, int sign)
{
    assert(sign == 1 || sign == -1);
    tl_exact a, b;
    if (!sum || !other) return;
    tl_exact_unpack(&a, sum);
    tl_exact_unpack(&b, other);
    tl_exact_join(&a, &b, 1, sign);
    tl_exact_pack(&a, sum);
}

void tally_exact_merge(tally_exact *sum, const tally_exact *other) { join(sum, other, 1); }
void tally_exact_unmerge(tally_exact *sum, const tally_exact *other) { join(sum, other, -1); }

tally_status tally_exact_value(tally *ctx, const tally_exact *sum, const char *op,
                               tally_dtype dtype, void *value)
{
    const tl_scalar *scalar;
    tl_par par;
    tl_exact e;

    if (!sum) return tl_invalid(ctx, "sum is NULL: must be begun with tally_exact_init");
    if (!value) return tl_invalid(ctx, "value is NULL: must have space for one result");

    TL_TRY(tl_resolve(ctx, op, dtype, &scalar, &par));

    const tl_exact_form *const form = tl_exact_form_of(scalar);
    if (!form || !tl_exact_fits(form))
        return tl_invalid(ctx,
                          "op is '%.60s' of %s: must be sum:exact, mean:exact, nansum:exact or "
                          "nanmean:exact, or below f64 dot:exact or nandot:exact",
                          op, tally_dtype_name(dtype));

    TL_TRY(tl_host_only(ctx, sum, "sum", what));
    TL_TRY(tl_host_only(ctx, value, "value", what));
    tl_exact_unpack(&e, sum);
    tl_exact_lower(&e, form, 0, value);
    return TALLY_OK;
}
