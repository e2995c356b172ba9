/* SPDX-License-Identifier: MIT
 * Streams of many sequences, all of the same length so far: cells of a field, one or more steps at a time. */
#include "stream.h"
#include "context/view.h"
#include "law/fp.h"

tally_status tally_stream_reduce_rows(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                                      tally_stream **stream)
{
    tally_status status = tl_stream_open(ctx, TL_STREAM_REDUCE, op, dtype, stream);
    if (status) return status;
    tally_stream *s = *stream;
    if (rows < 0 || rows > TL_GRID_MOST)
        status = tl_fail(ctx, TALLY_INVALID, "rows is %lld: must be 0..2^%d - 1", (long long)rows, TL_GRID_MOST_LOG);
    else if (s->plan.exact)
        status = tl_fail(ctx, TALLY_UNSUPPORTED,
                         "op is '%.60s': a stream of many sequences takes none that is exact; use a tally_exact for "
                         "each (tally_exact_add)",
                         op);
    else if (!(s->grid = tl_grid_open(&s->plan, rows)))
        status = tl_no_memory(ctx, (size_t)rows * s->plan.op->elem_bytes, "a field");
    s->rows = rows;
    if (status) {
        tally_stream_close(s);
        *stream = NULL;
    }
    return status;
}

tally_status tally_stream_push_view(tally_stream *s, const tally_view *x, const tally_view *out)
{
    if (!s) return tl_fail(NULL, TALLY_INVALID, "stream is NULL");
    if (!x) return tl_fail(s->ctx, TALLY_INVALID, "x is NULL: must be a view");
    if (!s->grid)
        return tl_fail(s->ctx, TALLY_INVALID, "stream is of one sequence: views are for tally_stream_reduce_rows");
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
    if (status || !x->rows || !x->n) {
        if (!status) s->pushed += x->n;
        return status;
    }
    tally_view in = *x;
    tl_view_normal(&in);
    tl_fp fp = tl_fp_enter();
    status = tl_grid_push(s->ctx, s->grid, tally_threads(s->ctx), &in);
    tl_fp_leave(fp);
    if (!status) s->pushed += x->n;
    return status;
}

tally_status tl_stream_finish_rows(tally_stream *s, void *out)
{
    tally_status status = tl_on_processors(s->ctx, out, "out", "streams of many sequences", 0);
    if (status || !s->rows) return status;
    tl_fp fp = tl_fp_enter();
    status = tl_grid_result(s->ctx, s->grid, tally_threads(s->ctx), out);
    tl_fp_leave(fp);
    return status;
}
