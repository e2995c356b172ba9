/* SPDX-License-Identifier: MIT
 * tally_exact: exact sums as plain data. */
#include "context/device.h"
#include "context/operators.h"
#include "context/view.h"
#include "cpu/exact/exact.h"
#include "cpu/isas.h"
#include "inputs.h"
#include "law/fp.h"
#include <assert.h>

static const char what[] = "exact sums";

void tally_exact_init(tally_exact *sum)
{
    if (sum) *sum = (tally_exact){{0}};
}

/* The plan of sum:exact on x->dtype. Without a context it runs on the calling thread. */
static tally_status plan_of(tally *ctx, const tally_view *x, tl_plan *plan)
{
    if (ctx) return tl_plan_of(ctx, "sum:exact", x->dtype, plan);
    const tl_scalar *op;
    tl_par par;
    tally_status status = tl_resolve(NULL, "sum:exact", x->dtype, &op, &par);
    if (!status) tl_plan_kernels(plan, op, par, tl_isa_widest());
    return status;
}

/* Adds all elements of a checked view. */
static void add_all(tl_exact *e, const tl_plan *plan, int threads, const tally_view *x)
{
    assert(threads >= 1);
    assert(plan->exact);
    const int64_t bytes = plan->op->elem_bytes;
    int64_t n;
    if (!x->offsets && x->stride == 1 && x->row_stride == x->n) { /* all elements are adjacent */
        tl_exact_slab(e, plan, threads, x->data, x->rows * x->n);
        return;
    }

    for (int64_t r = 0; r < x->rows; r++) {
        const char *at = tl_view_row(x, r, bytes, &n);
        if (x->stride == 1)
            tl_exact_slab(e, plan, threads, at, n);
        else
            tl_exact_add(e, plan, at, x->stride, n);
    }
}

static tally_status change(tally *ctx, tally_exact *sum, const tally_view *x, int sign)
{
    assert(sign == 1 || sign == -1);
    if (!sum) return tl_invalid(ctx, "sum is NULL: must be begun with tally_exact_init");
    if (!x) return tl_invalid(ctx, "x is NULL: must be a view");

    tl_plan plan;
    tally_view view = *x;
    tl_exact all, more;
    tl_host_copies copies = {.ctx = ctx};
    tally_status status = tl_on_processors(ctx, sum, "sum", what, 0);
    if (status) return status;
    tl_exact_begin(&more, 1);

    if (ctx && tl_has_inputs(x)) {
        status = tl_inputs_exact(ctx, x, &more);
    } else {
        status = plan_of(ctx, x, &plan);
        if (!status && ctx) status = tl_host_offsets(&copies, "x", &view);
        if (!status) status = tl_view_check(ctx, &view, "x", plan.op->elem_bytes);
        if (!status) tl_view_normal(&view);
        const int64_t elements = status         ? 0
                                 : view.offsets ? view.offsets[view.rows] - view.offsets[0]
                                                : view.rows * view.n;
        if (ctx && elements) status = tl_on_processors(ctx, NULL, "x", what, elements);
        if (ctx && elements && !status)
            status = tl_host_view(&copies, &view, plan.op->elem_bytes, 0);
        if (elements && !status) {
            tl_fp fp = tl_fp_enter();
            add_all(&more, &plan, ctx ? tally_threads(ctx) : 1, &view);
            tl_fp_leave(fp);
        }
    }

    tl_host_close(&copies);
    if (status) return status;

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
    if (!value) return tl_invalid(ctx, "value is NULL: must have room for one result");

    tally_status status = tl_resolve(ctx, op, dtype, &scalar, &par);
    if (status) return status;

    const tl_exact_form *const form = tl_exact_form_of(scalar);
    if (!form || !tl_exact_fits(form))
        return tl_invalid(ctx,
                          "op is '%.60s' of %s: must be sum:exact, mean:exact, nansum:exact or "
                          "nanmean:exact, or below f64 dot:exact or nandot:exact",
                          op, tally_dtype_name(dtype));

    status = tl_on_processors(ctx, sum, "sum", what, 0);
    if (!status) status = tl_on_processors(ctx, value, "value", what, 0);
    if (status) return status;
    tl_exact_unpack(&e, sum);
    tl_exact_lower(&e, form, 0, value);

    return TALLY_OK;
}
