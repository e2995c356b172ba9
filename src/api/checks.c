/* SPDX-License-Identifier: MIT
 * Checks of options and outputs, for the verbs on all kinds of views and for streams; and host
 * copies of device memory. */
#include "dtype/dtype.h"
#include "checks.h"
#include "context/device.h"
#include "context/view.h"
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

tally_status tl_check_scan(tally *ctx, const tl_plan *plan, const tally_scan_options *o)
{
    const tally_status status = tl_host_only(ctx, o ? o->init : NULL, "init", "initial values");
    if (status) return status;
    if (o && o->init && !plan->op->seedable)
        return tl_unsupported(ctx,
                              "init: operator '%s' takes none (its state is more than one value)",
                              plan->op->file);
    return TALLY_OK;
}

tally_status tl_check_window(tally *ctx, const tally_window_options *o)
{
    if (!o) return tl_invalid(ctx, "options is NULL: a window needs its before and after");
    if (o->before >> 61 != o->before >> 63)
        return tl_invalid(ctx, "before is %ld: must be -2^61..2^61 - 1", o->before);
    if (o->after >> 61 != o->after >> 63)
        return tl_invalid(ctx, "after is %ld: must be -2^61..2^61 - 1", o->after);

    if (o->before + 1 + o->after < 0)
        return tl_invalid(ctx, "before is %ld and after %ld: before + 1 + after must be at least 0",
                          o->before, o->after);

    if (o->step < 0 || o->step >> 61)
        return tl_invalid(ctx, "step is %ld: must be 0..2^61 - 1", o->step);

    if (o->min_count < 0 || o->min_count > o->before + 1 + o->after)
        return tl_invalid(ctx, "min_count is %ld: must be 0..%ld, the window's length",
                          o->min_count, (o->before + 1 + o->after));

    if ((unsigned)o->edges > TALLY_EDGES_VALID)
        return tl_invalid(ctx, "edges is %d: must be 0 (missing), 1 (shrink) or 2 (valid)",
                          (int)o->edges);
    return TALLY_OK;
}

tally_status tl_check_output_dtype(tally *ctx, const tl_scalar *op, tally_dtype in,
                                   const tally_view *out, const char *name)
{
    if (out->dtype == op->out) return TALLY_OK;
    return tl_invalid(ctx, "%sdtype is %s: %s of %s gives %s", name, tl_dtype_word(out->dtype),
                      op->file, tally_dtype_name(in), tally_dtype_name(op->out));
}

tally_status tl_check_output(tally *ctx, const tl_scalar *op, const tally_view *in,
                             const tally_view *out, int64_t length, int in_place)
{
    if (!out) return tl_invalid(ctx, "out is NULL: must be a view");
    tally_status status = tl_check_output_dtype(ctx, op, in->dtype, out, "out->");
    if (status) return status;

    if (out->rows != in->rows)
        return tl_invalid(ctx, "out->rows is %ld: must be in->rows = %ld", out->rows, in->rows);
    if (!in->offsets != !out->offsets)
        return tl_invalid(ctx, "out->offsets: must be given exactly when in->offsets is");

    if (in->offsets && out->offsets != in->offsets &&
        memcmp(in->offsets, out->offsets, (size_t)(in->rows + 1) * sizeof *in->offsets))
        return tl_invalid(ctx, "out->offsets differ from in->offsets: must be the same");

    if (!in->offsets && out->n != length)
        return tl_invalid(ctx, "out->n is %ld: must be %ld", out->n, length);
    status = tl_view_check(ctx, out, "out", op->result_bytes);
    if (!status) status = tl_view_distinct(ctx, out, "out");

    return status ? status
                  : tl_view_overlap(ctx, in, tl_element_bytes(in), out, op->result_bytes, in_place);
}

tally_status tl_check_step(tally *ctx, const tally_view *in, const tally_window_options *o)
{
    if (in->offsets && o->step > 1)
        return tl_unsupported(ctx, "step is %ld: it changes the lengths of segments", o->step);
    if (in->offsets && o->edges == TALLY_EDGES_VALID)
        return tl_unsupported(ctx,
                              "edges valid changes the lengths of segments: use missing or shrink");
    return TALLY_OK;
}

tally_status tl_check_call(tally *ctx, const tl_plan *plan, const tl_scalar *named,
                           const tl_call *call, const tally_view *in, const tally_view *out)
{
    assert(call->verb == TL_SCAN || call->verb == TL_WINDOW);
    const int scan = call->verb == TL_SCAN;
    tally_status status =
        scan ? tl_check_scan(ctx, plan, call->scan) : tl_check_window(ctx, call->window);
    if (!status && !scan) status = tl_check_step(ctx, in, call->window);
    if (status) return status;
    return tl_check_output(ctx, named, in, out,
                           scan ? in->n : tally_window_length(in->n, call->window), scan);
}

tally_status tl_check_results(tally *ctx, const tl_scalar *op, const tally_view *in, void *results,
                              tally_view *rows)
{
    *rows = tally_rows(results, op->out, in->rows, 1);
    if (in->rows > 0 && !results)
        return tl_invalid(ctx, "out is NULL: must have space for %ld results", in->rows);
    const tally_status status = tl_view_check(ctx, rows, "out", op->result_bytes);
    return status ? status
                  : tl_view_overlap(ctx, in, tl_element_bytes(in), rows, op->result_bytes, 0);
}

tally_status tl_check_sequence(tally *ctx, const tally_view *given, const char *name, int64_t bytes,
                               tally_view *v)
{
    *v = *given;
    if (v->rows != 1 || v->offsets)
        return tl_invalid(ctx, "%s->rows is %ld%s: must be one sequence, rows 1 and no offsets",
                          name, v->rows, v->offsets ? " with offsets" : "");
    tally_status status = tl_view_check(ctx, v, name, bytes);
    if (!status) tl_view_normal(v);
    return status;
}

/* ---- copies ---- */

/* what: of which a copy is made, for the sentence about memory. */
static tally_status copy_bytes(tl_host_copies *c, void **p, int64_t low, int64_t high, int back,
                               const char *what)
{
    assert(c->ctx);
    assert(c->count < (int)(sizeof c->one / sizeof *c->one));
    tally *const ctx = c->ctx;
    const tl_device_calls *calls = ctx->device->calls;
    const size_t bytes = (size_t)(high - low);
    tl_device *owner;
    if (high <= low || !calls->owner) return TALLY_OK;

    char *const from = tl_offset(*p, low);
    tally_status status = calls->owner(ctx->device, ctx, from, &owner);
    if (status || !owner) return status;

    char *copy = malloc(bytes);
    if (!copy) return tl_no_memory(ctx, bytes, what);

    c->one[c->count].of = from;
    c->one[c->count].copy = copy;
    c->one[c->count].bytes = bytes;
    c->one[c->count++].back = back;
    *p = tl_offset(copy, -low);
    return calls->copy(ctx->device, ctx, copy, from, bytes);
}

tally_status tl_host_copy(tl_host_copies *c, void **p, int64_t low, int64_t high, int back)
{
    return copy_bytes(c, p, low, high, back, "a copy of device memory");
}

tally_status tl_host_view(tl_host_copies *c, tally_view *v, int64_t bytes, int back)
{
    assert(bytes >= 0);
    int64_t low, high;
    tl_view_extent(v, bytes, &low, &high);
    tally_status status = tl_host_copy(c, &v->data, low, high, back);
    if (status || !v->valid) return status;
    void *bits = (void *)(uintptr_t)v->valid;
    tl_view_extent(v, 1, &low, &high);
    if (high > low)
        status = tl_host_copy(c, &bits, (v->valid_offset + low) >> 3,
                              ((v->valid_offset + high - 1) >> 3) + 1, back);
    v->valid = bits;

    return status;
}

tally_status tl_host_numbers(tl_host_copies *c, int64_t **p, int64_t count, int back,
                             const char *name)
{
    assert(count >= 0);
    int64_t bytes;
    void *at = *p;
    if (!at) return TALLY_OK;
    if (__builtin_mul_overflow(count, (int64_t)sizeof **p, &bytes))
        return tl_no_memory(c->ctx, SIZE_MAX, name);
    const tally_status status = tl_host_copy(c, &at, 0, bytes, back);
    *p = at;
    return status;
}

tally_status tl_host_end(tl_host_copies *c, tally_status status)
{
    if (!status) status = tl_host_back(c);
    tl_host_close(c);
    return status;
}

tally_status tl_host_back(const tl_host_copies *c)
{
    assert(c->count >= 0);
    const tl_device_calls *const calls = c->ctx->device->calls;
    tally_status status = TALLY_OK;
    for (int i = 0; !status && i < c->count; i++)
        if (c->one[i].back)
            status =
                calls->copy(c->ctx->device, c->ctx, c->one[i].of, c->one[i].copy, c->one[i].bytes);
    return status;
}

void tl_host_close(tl_host_copies *c)
{
    for (int i = 0; i < c->count; i++) free(c->one[i].copy);
    c->count = 0;
}

tally_status tl_host_offsets(tl_host_copies *c, const char *name, tally_view *v)
{
    void *at = (void *)(uintptr_t)v->offsets;
    if (!at || v->rows <= 0 || !c->ctx->device->calls->owner) return TALLY_OK;

    if (v->rows >= INT64_MAX / (int64_t)sizeof *v->offsets)
        return tl_invalid(c->ctx, "%s->rows is %ld: its offsets would have more bytes than 2^63",
                          name, v->rows);
    const int64_t bytes = (v->rows + 1) * (int64_t)sizeof *v->offsets;
    const tally_status status = copy_bytes(c, &at, 0, bytes, 0, "a copy of offsets");
    v->offsets = at;
    return status;
}

/* The same for another view of a call. It may have the offsets of `given`, which `in` has on the
 * host. */
static tally_status same_offsets(tl_host_copies *c, const tally_view *given, const tally_view *in,
                                 const char *name, tally_view *v)
{
    if (v->offsets != given->offsets || v->rows != given->rows) return tl_host_offsets(c, name, v);
    v->offsets = in->offsets;
    return TALLY_OK;
}

tally_status tl_host_call(tl_host_copies *c, const tl_call *call, tally_view *in, tally_view *next,
                          tally_view *out)
{
    const tally_view *const given = call->in;
    *in = *given;
    if (call->out) *out = *call->out;
    if (given->next) *next = *given->next, in->next = next;
    tally_status status = tl_host_offsets(c, "in", in);
    if (!status && given->next) status = same_offsets(c, given, in, "in->next", next);
    if (!status && call->out) status = same_offsets(c, given, in, "out", out);
    return status;
}
