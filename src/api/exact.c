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

/* Adds the elements of a view on the calling thread. */
static tally_status add_alone(const tally_view *x, tl_exact *sum)
{
    const tl_scalar *op;
    tl_par par;
    tl_plan plan;
    int64_t n;
    tally_status status = tl_resolve(NULL, "sum:exact", x->dtype, &op, &par);
    if (!status) status = tl_view_check(NULL, x, "x", op->elem_bytes);
    if (status) return status;

    tally_view v = *x;
    tl_view_normal(&v);
    tl_plan_kernels(&plan, op, par, tl_isa_widest());
    tl_fp fp = tl_fp_enter();
    for (int64_t r = 0; r < v.rows; r++) {
        const char *const at = tl_view_row(&v, r, op->elem_bytes, &n);
        tl_exact_add(sum, &plan, at, v.stride, n);
    }
    tl_fp_leave(fp);
    return TALLY_OK;
}

static tally_status change(tally *ctx, tally_exact *sum, const tally_view *x, int sign)
{
    assert(sign == 1 || sign == -1);
    if (!sum) return tl_invalid(ctx, "sum is NULL: must be begun with tally_exact_init");
    if (!x) return tl_invalid(ctx, "x is NULL: must be a view");

    tl_exact all, more;
    tally_status status = tl_host_only(ctx, sum, "sum", what);
    if (status) return status;
    tl_exact_begin(&more, 1);
    status = ctx ? tl_inputs_exact(ctx, x, &more) : add_alone(x, &more);
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
    if (!value) return tl_invalid(ctx, "value is NULL: must have space for one result");

    tally_status status = tl_resolve(ctx, op, dtype, &scalar, &par);
    if (status) return status;

    const tl_exact_form *const form = tl_exact_form_of(scalar);
    if (!form || !tl_exact_fits(form))
        return tl_invalid(ctx,
                          "op is '%.60s' of %s: must be sum:exact, mean:exact, nansum:exact or "
                          "nanmean:exact, or below f64 dot:exact or nandot:exact",
                          op, tally_dtype_name(dtype));

    status = tl_host_only(ctx, sum, "sum", what);
    if (!status) status = tl_host_only(ctx, value, "value", what);
    if (status) return status;
    tl_exact_unpack(&e, sum);
    tl_exact_lower(&e, form, 0, value);
    return TALLY_OK;
}
