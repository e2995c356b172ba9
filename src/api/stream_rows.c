/* SPDX-License-Identifier: MIT
 * Streams of many sequences, all of the same length so far: cells of a field, one or more steps at a time. */
#include "stream.h"
#include "checks.h"
#include "context/view.h"
#include "law/fp.h"

static tally_status open_rows(tally *ctx, tl_stream_verb verb, const char *op, tally_dtype dtype, int64_t rows,
                              const tally_scan_options *o, tally_stream **stream)
{
    tally_status status = tl_stream_open(ctx, verb, op, dtype, stream);
    if (status) return status;
    tally_stream *s = *stream;
    if (rows < 0 || rows > TL_GRID_MOST)
        status = tl_fail(ctx, TALLY_INVALID, "rows is %lld: must be 0..2^%d - 1", (long long)rows, TL_GRID_MOST_LOG);
    else if (s->plan.exact)
        status = tl_fail(ctx, TALLY_UNSUPPORTED,
                         "op is '%.60s': a stream of many sequences takes none that is exact; use a tally_exact for "
                         "each (tally_exact_add)",
                         op);
    else
        status = tl_check_scan(ctx, &s->plan, o);
    if (!status && !(s->grid = tl_grid_open(&s->plan, rows, verb == TL_STREAM_SCAN, o)))
        status = tl_no_memory(ctx, (size_t)rows * s->plan.op->elem_bytes, "a field");
    s->rows = rows;
    if (status) {
        tally_stream_close(s);
        *stream = NULL;
    }
    return status;
}

tally_status tally_stream_reduce_rows(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                                      tally_stream **stream)
{
    return open_rows(ctx, TL_STREAM_REDUCE, op, dtype, rows, NULL, stream);
}

tally_status tally_stream_scan_rows(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                                    const tally_scan_options *o, tally_stream **stream)
{
    if (stream) *stream = NULL;
    if (ctx && o && o->reverse)
        return tl_fail(ctx, TALLY_UNSUPPORTED, "reverse: a stream's last element is not known yet; use tally_scan");
    return open_rows(ctx, TL_STREAM_SCAN, op, dtype, rows, o, stream);
}

tally_status tally_stream_push_view(tally_stream *s, const tally_view *in, const tally_view *out)
{
    static const char what[] = "streams of many sequences";
    if (!s) return tl_fail(NULL, TALLY_INVALID, "stream is NULL");
    if (!in) return tl_fail(s->ctx, TALLY_INVALID, "in is NULL: must be a view");
    if (!s->grid) return tl_fail(s->ctx, TALLY_INVALID, "stream is of one sequence: views are for streams of rows");
    if (in->dtype != s->plan.op->dtype)
        return tl_fail(s->ctx, TALLY_INVALID, "in->dtype is %s: the stream's is %s",
                       tally_dtype_name(in->dtype) ? tally_dtype_name(in->dtype) : "unknown",
                       tally_dtype_name(s->plan.op->dtype));
    if (in->rows != s->rows)
        return tl_fail(s->ctx, TALLY_INVALID, "in->rows is %lld: the stream has %lld sequences", (long long)in->rows,
                       (long long)s->rows);
    if (in->offsets)
        return tl_fail(s->ctx, TALLY_INVALID, "in->offsets is given: all sequences of a stream get as many elements");
    if (out && s->verb == TL_STREAM_REDUCE)
        return tl_fail(s->ctx, TALLY_INVALID, "out is given: a reduction has results when it is finished");
    tally_status status = tl_view_check(s->ctx, in, "in", s->plan.op->elem_bytes);
    if (!status) status = tl_stream_check(s, in->n);
    if (!status) status = tl_on_processors(s->ctx, in->data, "in->data", what, in->rows * in->n);
    if (!status && s->verb == TL_STREAM_SCAN) status = tl_check_output(s->ctx, s->plan.op, in, out, in->n, 0);
    if (!status && out) status = tl_on_processors(s->ctx, out->data, "out->data", what, 0);
    if (!status && in->rows && in->n) {
        tally_view from = *in, to = out ? *out : *in;
        tl_view_normal(&from);
        tl_view_normal(&to);
        tl_fp fp = tl_fp_enter();
        status = tl_grid_push(s->ctx, s->grid, tally_threads(s->ctx), &from, &to);
        tl_fp_leave(fp);
    }
    if (!status) s->pushed += in->n;
    return status;
}
