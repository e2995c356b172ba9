/* SPDX-License-Identifier: MIT
 * tally_runs, tally_groups and tally_take: their checks. */
#include "checks.h"
#include "context/device.h"
#include "context/view.h"
#include "cpu/keys/keys.h"
#include "dtype/dtype.h"

/* Checks that a view is one sequence, and copies it to *v as a normal view. */
static tally_status one_sequence(tally *ctx, const tally_view *given, const char *name,
                                 tally_view *v)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!given) return tl_fail(ctx, TALLY_INVALID, "%s is NULL: must be a view", name);
    if (!tl_dtype_kind(given->dtype))
        return tl_fail(ctx, TALLY_INVALID, "%s->dtype is %d: must be 1..%d", name,
                       (int)given->dtype, TL_DTYPES);
    return tl_check_sequence(ctx, given, name, (int64_t)tally_dtype_size(given->dtype), v);
}

/* The processors do the work, on host copies of device memory. */
static const char what[] = "runs, groups and gathers";

static tally_status bring(tl_host_copies *c, tally_view *v, int back, const char *name)
{
    tally_status status = tl_on_processors(c->ctx, NULL, name, what, back ? 0 : v->n);
    return status ? status : tl_host_view(c, v, (int64_t)tally_dtype_size(v->dtype), back);
}

tally_status tally_runs(tally *ctx, const tally_view *keys, int64_t *offsets, int64_t *runs)
{
    tally_view v;
    tally_status status = one_sequence(ctx, keys, "keys", &v);
    if (status) return status;

    if (!runs)
        return tl_fail(ctx, TALLY_INVALID,
                       "runs is NULL: must point to where the number of runs goes");
    tl_positions positions = {.offsets = offsets};
    int done;
    status = ctx->device->calls->run(
        ctx->device, ctx, &(tl_call){.verb = TL_RUNS, .in = &v, .positions = &positions}, &done);
    if (!status && done) *runs = positions.runs;
    if (status || done) return status;

    tl_host_copies c = {.ctx = ctx};
    status = bring(&c, &v, 0, "keys");
    if (!status && offsets && v.n == INT64_MAX) status = tl_no_memory(ctx, SIZE_MAX, "offsets");
    if (!status && offsets) status = tl_host_numbers(&c, &offsets, v.n + 1, 1, "offsets");
    const int64_t found = status ? 0 : tl_runs(tally_threads(ctx), &v, offsets);
    status = tl_host_end(&c, status);
    if (!status) *runs = found;

    return status;
}

/* offsets of this many groups have less than 2^62 bytes */
static const int64_t GROUPS_MOST = ((int64_t)1 << 59) - 1;

tally_status tally_groups(tally *ctx, const tally_view *codes, int64_t groups, int64_t *order,
                          int64_t *offsets)
{
    tally_view v;
    int64_t bad;
    tally_status status = one_sequence(ctx, codes, "codes", &v);
    if (status) return status;

    if (tl_dtype_kind(v.dtype) == 'F')
        return tl_fail(ctx, TALLY_UNSUPPORTED, "codes->dtype is %s: must be an integer type",
                       tally_dtype_name(v.dtype));
    if (groups < 0 || groups > GROUPS_MOST)
        return tl_fail(ctx, TALLY_INVALID, "groups is %lld: must be in 0..%lld", (long long)groups,
                       (long long)GROUPS_MOST);

    if (!offsets || (v.n && !order))
        return tl_fail(ctx, TALLY_INVALID, "%s is NULL: must have room for %lld numbers",
                       offsets ? "order" : "offsets",
                       offsets ? (long long)v.n : (long long)groups + 1);

    tl_host_copies c = {.ctx = ctx};
    char text[48];
    status = bring(&c, &v, 0, "codes");
    if (!status) status = tl_host_numbers(&c, &order, v.n, 1, "order");
    if (!status) status = tl_host_numbers(&c, &offsets, groups + 1, 1, "offsets");
    if (!status) status = tl_groups(ctx, &v, groups, order, offsets, &bad);
    if (status || bad < 0) return tl_host_end(&c, status);

    tally_format_value(v.dtype,
                       (const char *)v.data + bad * v.stride * (int64_t)tally_dtype_size(v.dtype),
                       0, text, sizeof text);
    tl_host_close(&c);

    return tl_fail(ctx, TALLY_INVALID, "codes: element %lld is %s: must be in 0..%lld, the groups",
                   (long long)bad, text, (long long)groups - 1);
}

static tally_status no_place(tally *ctx, int64_t at, int64_t place, int64_t length)
{
    return tl_fail(ctx, TALLY_INVALID, "order[%lld] is %lld: must be in 0..%lld, the places of in",
                   (long long)at, (long long)place, (long long)length - 1);
}

tally_status tally_take(tally *ctx, const tally_view *in, const int64_t *order, int64_t n,
                        const tally_view *out)
{
    tally_view x, y;
    tally_status status = one_sequence(ctx, in, "in", &x);
    if (!status) status = one_sequence(ctx, out, "out", &y);
    if (status) return status;

    const int64_t bytes = (int64_t)tally_dtype_size(x.dtype);
    if (n < 0) return tl_fail(ctx, TALLY_INVALID, "n is %lld: must be at least 0", (long long)n);

    if (y.dtype != x.dtype)
        return tl_fail(ctx, TALLY_INVALID, "out->dtype is %s: must be in->dtype, %s",
                       tally_dtype_name(y.dtype), tally_dtype_name(x.dtype));
    if (y.n != n)
        return tl_fail(ctx, TALLY_INVALID, "out->n is %lld: must be n = %lld", (long long)y.n,
                       (long long)n);
    if (n && !order)
        return tl_fail(ctx, TALLY_INVALID, "order is NULL: must be %lld places", (long long)n);
    status = tl_view_distinct(ctx, &y, "out");
    if (!status) status = tl_view_overlap(ctx, &x, bytes, &y, bytes, 0);
    if (status || !n) return status;

    tl_positions positions = {.order = order};
    int64_t bad;
    int done;
    status = ctx->device->calls->run(
        ctx->device, ctx, &(tl_call){.verb = TL_TAKE, .in = &x, .out = &y, .positions = &positions},
        &done);
    if (done && !status && positions.bad < n)
        return no_place(ctx, positions.bad, positions.position, x.n);
    if (status || done) return status;

    tl_host_copies c = {.ctx = ctx};
    status = bring(&c, &x, 0, "in");
    int64_t *places = (int64_t *)(uintptr_t)order;
    if (!status) status = tl_host_numbers(&c, &places, n, 0, "order");
    if (!status && (bad = tl_take_check(tally_threads(ctx), places, n, x.n)) < n)
        status = no_place(ctx, bad, places[bad], x.n);
    if (!status) status = bring(&c, &y, 1, "out");
    if (!status) tl_take(tally_threads(ctx), &x, places, n, &y);

    return tl_host_end(&c, status);
}
