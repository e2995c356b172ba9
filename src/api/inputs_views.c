/* SPDX-License-Identifier: MIT
 * Views with validity, or pairs of views: their checks, their host copies, and how streams and
 * fragments take them. */
#include "inputs.h"
#include "context/device.h"
#include "context/view.h"
#include "dtype/dtype.h"
#include <assert.h>
#include <stdio.h>

tally_dtype tl_inputs_dtype(const tally_view *in)
{
    if (!in->next || !tl_dtype_kind(in->dtype) || !tl_dtype_kind(in->next->dtype)) return in->dtype;
    return tally_common_dtype(in->dtype, in->next->dtype);
}

tally_status tl_feed_open(tally *ctx, const tl_plan *plan, int absent, int by_states, tl_feed *feed)
{
    tl_feed_begin(feed, plan->op, plan->par, absent, by_states);
    const tally_status status = ctx->device->calls->plan(
        ctx->device, ctx, feed->form.op, feed->form.par, TL_FOR_PROCESSORS, &feed->plan);
    return status ? status : tl_plan_of_host(ctx, "count", TALLY_F32, &feed->count);
}

tally_status tl_bits_check(tally *ctx, const tally_view *v, const char *name)
{
    int64_t low, high, first;
    if (!v->valid) return TALLY_OK;
    tl_view_extent(v, 1, &low, &high);
    if (__builtin_add_overflow(v->valid_offset, low, &first) || first < 0)
        return tl_fail(ctx, TALLY_INVALID,
                       "%s->valid_offset is %lld: the bit of an element would be number %lld", name,
                       (long long)v->valid_offset, (long long)first);
    if (__builtin_add_overflow(v->valid_offset, high, &first))
        return tl_fail(ctx, TALLY_INVALID,
                       "%s->valid_offset is %lld: the bits would be more than 2^63", name,
                       (long long)v->valid_offset);

    return TALLY_OK;
}

tally_status tl_input_check(tally *ctx, const tally_view *given, const char *name)
{
    tally_view plain = *given;
    plain.valid = NULL;
    plain.next = NULL;
    tally_status status = tl_view_check(ctx, &plain, name, (int64_t)tally_dtype_size(given->dtype));
    return status ? status : tl_bits_check(ctx, given, name);
}

enum { NAME = 40 };

static const char *name_of_next(const char *name, char *to)
{
    snprintf(to, NAME, "%s->next", name);
    return to;
}

tally_status tl_inputs_check(tally *ctx, const tally_view *given, const char *name, tally_view *in,
                             tally_view *next)
{
    char second[NAME];
    *in = *given;
    in->next = NULL;
    tally_status status = tl_input_check(ctx, given, name);
    if (status || !given->next) return status;
    *next = *given->next;
    in->next = next;
    return tl_input_check(ctx, given->next, name_of_next(name, second));
}

tally_status tl_inputs_bring(tl_host_copies *copies, tally_view *in, tally_view *next)
{
    assert(!in->next || in->next == next);
    tally_status status = tl_host_view(copies, in, (int64_t)tally_dtype_size(in->dtype), 0);
    if (status || !in->next) return status;
    return tl_host_view(copies, next, (int64_t)tally_dtype_size(next->dtype), 0);
}

void tl_inputs_normal(tally_view *v)
{
    tl_view_normal(v);
    if (!v->offsets && v->n == 1 && v->row_stride == 1) v->stride = 1;
}

tally_status tl_inputs_apart(tally *ctx, const tally_view *in, const tally_view *out, int64_t bytes)
{
    assert(bytes >= 0);
    if (in->next) {
        tally_status status = tl_view_overlap(
            ctx, in->next, (int64_t)tally_dtype_size(in->next->dtype), out, bytes, 0);
        if (status)
            return tl_fail(ctx, TALLY_INVALID, "out overlaps in->next: give it memory of its own");
    }

    for (const tally_view *v = in; v; v = v->next) {
        int64_t low, high;
        if (!v->valid) continue;
        tl_view_extent(v, 1, &low, &high);
        low = (v->valid_offset + low) >> 3;
        high = (v->valid_offset + high + 7) >> 3;
        const tally_view bits = tally_flat((const char *)v->valid + low, TALLY_U8, high - low);
        if (tl_view_overlap(ctx, &bits, 1, out, bytes, 0))
            return tl_fail(ctx, TALLY_INVALID,
                           "out overlaps the validity of %s: give it memory of its own",
                           v == in ? "in" : "in->next");
    }

    return TALLY_OK;
}
