/* SPDX-License-Identifier: MIT
 * Streams of many sequences of the same length, such as cells of a field, which grow by one or more
 * steps per push; and pushes of views into streams of one sequence. */
#include "parts.h"
#include "api/checks.h"
#include "context/view.h"
#include "api/inputs.h"
#include "law/fp.h"
#include <assert.h>
#include <stdlib.h>

static const char what[] = "streams of views";

/* Makes a new stream, of a reduction or a scan, one of `rows` sequences. Closes it on failure. */
static tally_status take_rows(tally_stream **stream, const char *op, int64_t rows,
                              const tally_scan_options *o)
{
    tally_stream *const s = *stream;
    assert(s->verb != TL_STREAM_WINDOW);
    tally *const ctx = s->ctx;
    tally_status status;

    if (rows < 0 || rows > TL_GRID_MOST)
        status = tl_fail(ctx, TALLY_INVALID, "rows is %lld: must be 0..2^%d - 1", (long long)rows,
                         TL_GRID_MOST_LOG);
    else if (s->plan.exact)
        status = tl_fail(ctx, TALLY_UNSUPPORTED,
                         "op is '%.60s': a stream of many sequences takes none that is exact; use "
                         "a tally_exact for "
                         "each (tally_exact_add)",
                         op);
    else
        status = tl_check_scan(ctx, &s->plan, o);
    if (!status) status = tl_refuse_checked(ctx, op, "streams of many sequences");

    s->many = 1;
    s->by_slabs = s->plan.op->inputs == 2;
    if (!status && !s->by_slabs &&
        !(s->grid = tl_grid_open(&s->plan, rows, s->verb == TL_STREAM_SCAN, o)))
        status = tl_no_memory(ctx, (size_t)rows * s->plan.op->elem_bytes, "a field");
    if (!status) tl_stream_seed(s, o);
    if (!status && s->seeded) s->plan.op->seed(&s->scan.init, s->init, s->plan.par);
    s->scan.exclusive = o && o->exclusive;
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
    const tally_status status = tl_stream_open(ctx, TL_STREAM_REDUCE, op, dtype, stream);
    return status ? status : take_rows(stream, op, rows, NULL);
}

tally_status tally_stream_scan_rows(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                                    const tally_scan_options *o, tally_stream **stream)
{
    if (stream) *stream = NULL;
    if (ctx && o && o->reverse)
        return tl_fail(ctx, TALLY_UNSUPPORTED,
                       "reverse: a stream's last element is not known yet; use tally_scan");
    const tally_status status = tl_stream_open(ctx, TL_STREAM_SCAN, op, dtype, stream);
    return status ? status : take_rows(stream, op, rows, o);
}

tally_status tally_stream_window_rows(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                                      const tally_window_options *o, tally_stream **stream)
{
    if (stream) *stream = NULL;
    if (ctx && (rows < 0 || rows > TL_GRID_MOST))
        return tl_fail(ctx, TALLY_INVALID, "rows is %lld: must be 0..2^%d - 1", (long long)rows,
                       TL_GRID_MOST_LOG);
    const tally_status status = tl_stream_window(ctx, op, dtype, rows, o, stream);
    if (!status) (*stream)->many = 1;
    return status;
}

int64_t tally_stream_results(const tally_stream *s, int64_t n)
{
    if (!s) return 0;
    if (s->verb == TL_STREAM_REDUCE) return n < 0;
    if (s->verb == TL_STREAM_SCAN) return n < 0 ? 0 : n;
    return s->rows ? tl_steps_known(s, n) : 0;
}

/* ---- pushes ---- */

static tally_status check_shape(const tally_stream *s, const tally_view *in, const tally_view *out)
{
    const tally_dtype given = tl_inputs_dtype(in), stream_dtype = s->plan.op->dtype;
    if (given != stream_dtype)
        return tl_fail(s->ctx, TALLY_INVALID, "%s is %s: the stream's is %s",
                       in->next ? "the common type of in and in->next" : "in->dtype",
                       tally_dtype_name(given) ? tally_dtype_name(given) : "unknown",
                       tally_dtype_name(stream_dtype));

    if (in->rows != s->rows)
        return tl_fail(s->ctx, TALLY_INVALID, "in->rows is %lld: the stream has %lld sequence%s",
                       (long long)in->rows, (long long)s->rows, s->rows == 1 ? "" : "s");
    if (in->offsets)
        return tl_fail(s->ctx, TALLY_INVALID,
                       "in->offsets is given: all sequences of a stream get as many elements");
    if (out && s->verb == TL_STREAM_REDUCE)
        return tl_fail(s->ctx, TALLY_INVALID,
                       "out is given: a reduction has results when it is finished");

    return tl_form_fits(s->ctx, s->plan.op->file, s->plan.op, in, "in");
}

/* Checks the results of a push, and sets *to to a view of exactly as many. */
static tally_status check_results(const tally_stream *s, const tally_view *in,
                                  const tally_view *out, tally_view *to)
{
    assert(s->verb != TL_STREAM_REDUCE);
    const int window = s->verb == TL_STREAM_WINDOW;
    const int64_t results = tally_stream_results(s, in->n);
    if (window && !results) {
        *to = tally_flat(NULL, s->plan.op->out, 0);
        return TALLY_OK;
    }

    if (!out) return tl_fail(s->ctx, TALLY_INVALID, "out is NULL: must be a view");
    if (out->valid)
        return tl_fail(s->ctx, TALLY_UNSUPPORTED,
                       "out->valid is given: streams write no such bits");
    *to = *out;
    if (window && out->n < results)
        return tl_fail(s->ctx, TALLY_INVALID,
                       "out->n is %lld: must have room for %lld results (tally_stream_results)",
                       (long long)out->n, (long long)results);

    if (window) to->n = results;
    tally_status status = tl_check_output(s->ctx, s->plan.op, in, to, results, !window && !s->many);

    return status ? status : tl_inputs_apart(s->ctx, in, to, s->plan.op->result_bytes);
}

/* Pushes a checked and normal view of host memory. */
static tally_status push(tally_stream *s, const tally_view *in, const tally_view *out)
{
    assert(in->rows == s->rows && !in->offsets);
    tally_status status;
    if (s->verb == TL_STREAM_WINDOW) return tl_steps_push(s, in, out);
    if (s->plan.exact)
        return s->verb == TL_STREAM_SCAN
                   ? tl_inputs_exact_scan(s->ctx, &s->plan, in, out, s->scan.exclusive, s->exact)
                   : tl_inputs_exact_of(s->ctx, &s->plan, in, s->exact);
    if (!s->many) return tl_stream_feed(s, in, out);
    tl_fp fp = tl_fp_enter();
    status = tl_stream_push_rows(s, in, out);
    tl_fp_leave(fp);

    return status;
}

tally_status tally_stream_push_view(tally_stream *s, const tally_view *in, const tally_view *out)
{
    tally_view from, next, to;
    if (!s) return tl_fail(NULL, TALLY_INVALID, "stream is NULL");
    if (!in) return tl_fail(s->ctx, TALLY_INVALID, "in is NULL: must be a view");

    if (s->groups)
        return tl_fail(s->ctx, TALLY_INVALID,
                       "stream is of groups: push with tally_stream_push_groups");
    tally_status status = check_shape(s, in, out);
    if (!status) status = tl_inputs_check(s->ctx, in, "in", &from, &next);
    if (!status) status = tl_stream_check(s, in->n);
    if (status) return status;

    to = from;
    if (s->verb == TL_STREAM_REDUCE)
        to.n = 0;
    else
        status = check_results(s, &from, out, &to);

    if (status) return status;
    if (in->rows == 0 || (in->n == 0 && !to.n)) {
        s->pushed += in->n;
        return TALLY_OK;
    }

    tl_inputs_normal(&from);
    if (in->next) tl_inputs_normal(&next);
    if (s->verb != TL_STREAM_WINDOW) tl_inputs_normal(&to);

    tl_checked checked = s->checked;
    if (s->is_checked)
        status = s->verb == TL_STREAM_WINDOW
                     ? tl_refuse_checked(s->ctx, "sum:checked", "streams of windows of views")
                     : tl_checked_add(s->ctx, &checked, &from, s->verb == TL_STREAM_SCAN);
    if (status) return status;
    s->checked = checked;

    if (s->verb != TL_STREAM_WINDOW && !s->many && !s->plan.exact && !tl_has_inputs(&from) &&
        !s->scan.done.counted &&
        /* dense elements and results are used in place */
        from.stride == 1 && to.stride == 1 && !tl_stream_mixed(s, from.data, to.data)) {
        int64_t result_count;
        status = tl_stream_run(s, from.data, from.n, to.data, &result_count);
        if (!status) s->pushed += in->n;
        return status;
    }

    tl_host_copies copies = {.ctx = s->ctx};
    const int64_t pushed = s->pushed;
    int for_device;
    status = tl_stream_for_device(s, &from, &for_device);
    if (!status && for_device) {
        tl_fp fp = tl_fp_enter();
        status = tl_stream_push_device(s, &from);
        tl_fp_leave(fp);
        s->broken = status && s->pushed != pushed; /* a part of the elements was pushed */
        return status;
    }

    if (!status) status = tl_on_processors(s->ctx, NULL, "in", what, in->rows * in->n);
    if (!status) status = tl_inputs_bring(&copies, &from, &next);
    if (!status && s->verb != TL_STREAM_REDUCE)
        status = tl_host_view(&copies, &to, s->plan.op->result_bytes, 1);
    if (!status) status = push(s, &from, &to);
    s->broken |= status && s->pushed != pushed;
    if (!status) s->pushed = pushed + in->n;

    return tl_host_end(&copies, status);
}

tally_status tally_stream_finish_view(tally_stream *s, const tally_view *out)
{
    if (!s) return tl_fail(NULL, TALLY_INVALID, "stream is NULL");
    if (!out) return tl_fail(s->ctx, TALLY_INVALID, "out is NULL: must be a view");

    if (out->valid)
        return tl_fail(s->ctx, TALLY_UNSUPPORTED,
                       "out->valid is given: streams write no such bits");
    const int64_t results = tally_stream_results(s, -1), bytes = s->plan.op->result_bytes;
    if (out->n < results)
        return tl_fail(s->ctx, TALLY_INVALID,
                       "out->n is %lld: must have room for %lld results (tally_stream_results)",
                       (long long)out->n, (long long)results);

    tally_view to = *out, none = tally_flat(NULL, s->plan.op->dtype, 0);
    none.rows = s->rows;
    to.n = results;
    tally_status status = tl_check_output(s->ctx, s->plan.op, &none, &to, results, 0);
    if (!status && results == 1 && (to.row_stride == 1 || s->rows == 1))
        return tally_stream_finish(s, to.data, NULL);
    tl_host_copies copies = {.ctx = s->ctx};
    if (!status) status = tl_host_view(&copies, &to, bytes, 1);
    char *const dense = status ? NULL : malloc((size_t)(s->rows * results * bytes) + 1);
    if (!status && !dense)
        status = tl_no_memory(s->ctx, (size_t)(s->rows * results * bytes), "the results");
    if (!status) status = tally_stream_finish(s, dense, NULL);
    for (int64_t r = 0; r < s->rows && !status; r++)
        tl_copy_strided((char *)to.data + r * to.row_stride * bytes, to.stride,
                        dense + r * results * bytes, 1, results, bytes);
    free(dense);

    return tl_host_end(&copies, status);
}
