/* SPDX-License-Identifier: MIT
 * Streams of many sequences, all of the same length so far: cells of a field, one or more steps at a time. */
#include "stream.h"
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

/* The results of a scan of x, which is checked. */
static tally_status check_out(tally_stream *s, const tally_view *x, const tally_view *out)
{
    const tl_scalar *op = s->plan.op;
    if (!out)
        return tl_fail(s->ctx, TALLY_INVALID, "out is NULL: must be a view of %lld results of each sequence",
                       (long long)x->n);
    if (out->dtype != op->out)
        return tl_fail(s->ctx, TALLY_INVALID, "out->dtype is %s: %s of %s gives %s",
                       tally_dtype_name(out->dtype) ? tally_dtype_name(out->dtype) : "unknown", op->file,
                       tally_dtype_name(x->dtype), tally_dtype_name(op->out));
    if (out->offsets || out->rows != x->rows || out->n != x->n)
        return tl_fail(s->ctx, TALLY_INVALID, "out->rows is %lld and out->n %lld: must be x's %lld and %lld",
                       (long long)out->rows, (long long)out->n, (long long)x->rows, (long long)x->n);
    tally_status status = tl_view_check(s->ctx, out, "out", op->result_bytes);
    if (!status) status = tl_view_distinct(s->ctx, out, "out");
    if (!status) status = tl_view_overlap(s->ctx, x, op->elem_bytes, out, op->result_bytes, 0);
    return status ? status : tl_on_processors(s->ctx, out->data, "out->data", "streams of many sequences", 0);
}

tally_status tally_stream_push_view(tally_stream *s, const tally_view *x, const tally_view *out)
{
    if (!s) return tl_fail(NULL, TALLY_INVALID, "stream is NULL");
    if (!x) return tl_fail(s->ctx, TALLY_INVALID, "x is NULL: must be a view");
    if (!s->grid) return tl_fail(s->ctx, TALLY_INVALID, "stream is of one sequence: views are for streams of rows");
    if (x->dtype != s->plan.op->dtype)
        return tl_fail(s->ctx, TALLY_INVALID, "x->dtype is %s: the stream's is %s",
                       tally_dtype_name(x->dtype) ? tally_dtype_name(x->dtype) : "unknown",
                       tally_dtype_name(s->plan.op->dtype));
    if (x->rows != s->rows)
        return tl_fail(s->ctx, TALLY_INVALID, "x->rows is %lld: the stream has %lld sequences", (long long)x->rows,
                       (long long)s->rows);
    if (x->offsets)
        return tl_fail(s->ctx, TALLY_INVALID, "x->offsets is given: all sequences of a stream get as many elements");
    if (out && s->verb == TL_STREAM_REDUCE)
        return tl_fail(s->ctx, TALLY_INVALID, "out is given: a reduction has results when it is finished");
    tally_status status = tl_view_check(s->ctx, x, "x", s->plan.op->elem_bytes);
    if (!status) status = tl_stream_check(s, x->n);
    if (!status) status = tl_on_processors(s->ctx, x->data, "x->data", "streams of many sequences", x->rows * x->n);
    if (!status && s->verb == TL_STREAM_SCAN) status = check_out(s, x, out);
    if (!status && x->rows && x->n) {
        tally_view in = *x, to = out ? *out : *x;
        tl_view_normal(&in);
        tl_view_normal(&to);
        tl_fp fp = tl_fp_enter();
        status = tl_grid_push(s->ctx, s->grid, tally_threads(s->ctx), &in, &to);
        tl_fp_leave(fp);
    }
    if (!status) s->pushed += x->n;
    return status;
}
