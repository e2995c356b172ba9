/* SPDX-License-Identifier: MIT
 * Checks of options and outputs, for the verbs on all kinds of views and for streams. */
#include "dtype/number.h"
#include "calls.h"
#include "context/view.h"
#include <assert.h>
#include <stdio.h>

tally_status tl_check_scan(tally *ctx, const tl_plan *plan, const tally_scan_options *o)
{
    TL_TRY(tl_host_only(ctx, o ? o->init : NULL, "init", "initial values"));
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

tally_status tl_check_streams(tally *ctx, const tally_window_options *o, const char *what)
{
    const tally_status status = tl_check_window(ctx, o);
    if (status || tl_window_streams(o)) return status;
    return tl_unsupported(
        ctx, "before %ld, after %ld, step %ld: %s before and after of at least 0, and no step",
        o->before, o->after, o->step, what);
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
    TL_TRY(tl_check_output_dtype(ctx, op, in->dtype, out, "out->"));
    TL_TRY(tl_view_same(ctx, out, "out", in, "in"));

    if (!in->offsets && out->n != length)
        return tl_invalid(ctx, "out->n is %ld: must be %ld", out->n, length);
    TL_TRY(tl_view_check(ctx, out, "out", op->result_bytes));
    TL_TRY(tl_view_distinct(ctx, out, "out"));

    return tl_check_overlap(ctx, in, tl_element_bytes(in), out, op->result_bytes, in_place);
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
    TL_TRY(scan ? tl_check_scan(ctx, plan, call->scan) : tl_check_window(ctx, call->window));
    if (!scan) TL_TRY(tl_check_step(ctx, in, call->window));
    return tl_check_output(ctx, named, in, out,
                           scan ? in->n : tally_window_length(in->n, call->window), scan);
}

tally_status tl_check_results(tally *ctx, const tl_scalar *op, const tally_view *in, void *results,
                              tally_view *rows)
{
    *rows = tally_rows(results, op->out, in->rows, 1);
    if (in->rows > 0 && !results)
        return tl_invalid(ctx, "out is NULL: must have space for %ld results", in->rows);
    TL_TRY(tl_view_check(ctx, rows, "out", op->result_bytes));
    return tl_check_overlap(ctx, in, tl_element_bytes(in), rows, op->result_bytes, 0);
}

tally_status tl_check_sequence(tally *ctx, const tally_view *given, const char *name, int64_t bytes,
                               int bits, tally_view *v)
{
    *v = *given;
    if (v->rows != 1 || v->offsets)
        return tl_invalid(ctx, "%s->rows is %ld%s: must be one sequence, rows 1 and no offsets",
                          name, v->rows, v->offsets ? " with offsets" : "");
    if (bits) v->valid = NULL, v->next = NULL;
    TL_TRY(tl_view_check(ctx, v, name, bytes));

    tl_view_normal(v);
    v->valid = given->valid;
    return tl_bits_check(ctx, v, name);
}

tally_status tl_bits_check(tally *ctx, const tally_view *v, const char *name)
{
    int64_t low, high, bit;
    if (!v->valid) return TALLY_OK;
    tl_view_extent(v, 1, &low, &high);
    if (low == high) return TALLY_OK; /* no elements */
    if (__builtin_add_overflow(v->valid_offset, low, &bit) || bit < 0)
        return tl_invalid(ctx, "%s->valid_offset is %ld: the bit of an element would be number %ld",
                          name, v->valid_offset, bit);
    if (__builtin_add_overflow(v->valid_offset, high, &bit))
        return tl_invalid(ctx, "%s->valid_offset is %ld: the bits would be more than 2^63", name,
                          v->valid_offset);

    return TALLY_OK;
}

tally_status tl_input_check(tally *ctx, const tally_view *given, const char *name)
{
    tally_view plain = *given;
    plain.valid = NULL;
    plain.next = NULL;
    TL_TRY(tl_view_check(ctx, &plain, name, tl_element_bytes(given)));
    return tl_bits_check(ctx, given, name);
}

tally_status tl_inputs_check(tally *ctx, const tally_view *given, const char *name, tally_view *in,
                             tally_view *next)
{
    char second[40];
    *in = *given;
    in->next = NULL;
    tally_status status = tl_input_check(ctx, given, name);
    if (status || !given->next) return status;
    *next = *given->next;
    in->next = next;
    snprintf(second, sizeof second, "%s->next", name);
    return tl_input_check(ctx, given->next, second);
}

void tl_inputs_normal(tally_view *v)
{
    tl_view_normal(v);

    /* rows of one element, side by side: kernels take stride 1 as dense */
    if (!v->offsets && v->n == 1 && v->row_stride == 1) v->stride = 1;
}

tally_view tl_bits_bytes(const tally_view *v)
{
    int64_t low, high;
    tl_view_extent(v, 1, &low, &high);
    if (low == high || !v->valid) return tally_flat(NULL, TALLY_U8, 0);
    low = (v->valid_offset + low) >> 3;
    high = ((v->valid_offset + high - 1) >> 3) + 1;
    return tally_flat((const char *)v->valid + low, TALLY_U8, high - low);
}

tally_status tl_inputs_apart(tally *ctx, const tally_view *in, const tally_view *out, int64_t bytes)
{
    assert(bytes >= 0);
    if (in->next && tl_check_overlap(ctx, in->next, tl_element_bytes(in->next), out, bytes, 0))
        return tl_invalid(ctx, "out overlaps in->next: give it memory of its own");

    for (const tally_view *v = in; v; v = v->next) {
        if (!v->valid) continue;
        const tally_view bits = tl_bits_bytes(v);
        if (tl_check_overlap(ctx, &bits, 1, out, bytes, 0))
            return tl_invalid(ctx, "out overlaps the validity of %s: give it memory of its own",
                              v == in ? "in" : "in->next");
    }
    return TALLY_OK;
}
