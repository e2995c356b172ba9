/* SPDX-License-Identifier: MIT
 * Streams of many sequences of the same length, such as cells of a field, which grow by one or more
 * steps per push; and pushes of views into streams of one sequence. */
#include "parts.h"
#include "context/view.h"
#include "law/fp.h"
#include <assert.h>
#include <stdlib.h>

/* ---- pushes ---- */

static tally_status check_shape(const tally_stream *s, const tally_view *in, const tally_view *out)
{
    const tally_dtype given = tl_inputs_dtype(in), stream_dtype = s->plan.op->dtype;
    if (given != stream_dtype)
        return tl_invalid(s->ctx, "%s is %s: the stream's is %s",
                          in->next ? "the common type of in and in->next" : "in->dtype",
                          tally_dtype_name(given) ? tally_dtype_name(given) : "unknown",
                          tally_dtype_name(stream_dtype));

    if (in->rows != s->rows)
        return tl_invalid(s->ctx, "in->rows is %ld: the stream has %ld sequence%s", in->rows,
                          s->rows, s->rows == 1 ? "" : "s");
    if (in->offsets)
        return tl_invalid(s->ctx,
                          "in->offsets is given: all sequences of a stream get as many elements");
    if (out && s->verb == TL_REDUCE)
        return tl_invalid(s->ctx, "out is given: a reduction has results when it is finished");
    return tl_form_fits(s->ctx, s->plan.op->file, s->plan.op, in, "in");
}

/* Checks that out is a view with space for `results` results of each sequence. */
static tally_status check_capacity(const tally_stream *s, const tally_view *out, int64_t results)
{
    if (!out) return tl_invalid(s->ctx, "out is NULL: must be a view");
    if (out->valid)
        return tl_unsupported(s->ctx, "out->valid is given: streams write no such bits");
    if (out->n < results)
        return tl_invalid(s->ctx,
                          "out->n is %ld: must have space for %ld results (tally_stream_results)",
                          out->n, results);
    return TALLY_OK;
}

/* Checks the output of a push into a scan, which gives a result for each element, or into windows,
 * which give the results that this push completes: `out` may have space for more, and is not read
 * if there are none. *to: the view of these results. */
static tally_status take_output(const tally_stream *s, const tally_view *in, const tally_view *out,
                                tally_view *to)
{
    assert(s->verb != TL_REDUCE);
    const int window = s->verb == TL_WINDOW, in_place = !window && !s->many;
    const int64_t results = tally_stream_results(s, in->n);
    *to = tally_flat(NULL, s->plan.op->out, 0);
    if (window && !results) return TALLY_OK;

    /* tl_check_output checks the number of results of a scan */
    tally_status status = check_capacity(s, out, window ? results : INT64_MIN);
    if (status) return status;
    *to = *out;
    if (window) to->n = results;
    status = tl_check_output(s->ctx, s->plan.op, in, to, results, in_place);
    return status ? status : tl_inputs_apart(s->ctx, in, to, s->plan.op->result_bytes);
}

/* Pushes one sequence into a reduction or a scan through dense tiles. */
static __attribute__((noinline)) tally_status push_tiles(tally_stream *s, const tally_view *in,
                                                         const tally_view *out)
{
    enum { TILE_BYTES = 8 * 1024 };
    _Alignas(64) char x[TILE_BYTES], y[TILE_BYTES];
    const int64_t x_bytes = s->plan.op->elem_bytes, y_bytes = s->plan.op->result_bytes,
                  most = TILE_BYTES / tl_max(x_bytes, y_bytes);
    tally_status status = TALLY_OK;

    for (int64_t at = 0, m; at < in->n && !status; at += m) {
        m = tl_min(in->n - at, most);

        tl_copy_strided(x, 1, (char *)in->data + at * in->stride * x_bytes, in->stride, m, x_bytes);
        status = tl_stream_push_in_place(s, x, m, y);
        s->broken = status && at;
        if (!status && s->verb == TL_SCAN)
            tl_copy_strided((char *)out->data + at * out->stride * y_bytes, out->stride, y, 1, m,
                            y_bytes);
    }

    return status;
}

tally_status tally_stream_push_view(tally_stream *s, const tally_view *in, const tally_view *out)
{
    tally_view from, next, to;
    if (!s) return tl_invalid(NULL, "stream is NULL");
    if (!in) return tl_invalid(s->ctx, "in is NULL: must be a view");

    if (s->groups)
        return tl_invalid(s->ctx, "stream is of groups: push with tally_stream_push_groups");
    tally_status status = check_shape(s, in, out);
    if (!status) status = tl_inputs_check(s->ctx, in, "in", &from, &next);
    if (!status) status = tl_stream_check(s, in->n);
    if (status) return status;

    to = from;
    if (s->verb == TL_REDUCE)
        to.n = 0;
    else
        status = take_output(s, &from, out, &to);

    if (status) return status;
    if (in->rows == 0 || (in->n == 0 && !to.n)) {
        s->pushed += in->n;
        return TALLY_OK;
    }

    s->started = 1;
    tl_inputs_normal(&from);
    if (in->next) tl_inputs_normal(&next);
    if (s->verb != TL_WINDOW) tl_inputs_normal(&to);

    /* dense elements and results are used in place */
    const int plain = s->verb != TL_WINDOW && !s->many && !s->plan.exact && !tl_has_inputs(&from) &&
                      !s->scan.done.counted;
    if (plain && from.stride == 1 && to.stride == 1)
        return tl_stream_push_in_place(s, from.data, from.n, to.data);
    if (plain && !s->totals && !s->device->calls->owner) return push_tiles(s, &from, &to);
    return tl_stream_push_checked(s, &from, &next, &to);
}

tally_status tally_stream_finish_view(tally_stream *s, const tally_view *out)
{
    if (!s) return tl_invalid(NULL, "stream is NULL");
    const int64_t results = tally_stream_results(s, -1), bytes = s->plan.op->result_bytes;
    tally_status status = check_capacity(s, out, results);
    if (status) return status;

    tally_view to = *out, none = tally_flat(NULL, s->plan.op->dtype, 0);
    none.rows = s->rows;
    to.n = results;
    status = tl_check_output(s->ctx, s->plan.op, &none, &to, results, 0);
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

/* ---- groups: many sequences that grow in any order (cpu/grid/grid.h) ---- */

tally_status tally_stream_push_groups(tally_stream *s, const void *x, const int32_t *codes,
                                      int64_t n, int64_t groups)
{
    static const char of_groups[] = "streams of groups";
    if (!s) return tl_invalid(NULL, "stream is NULL");

    if (!s->groups)
        return tl_invalid(s->ctx,
                          "stream is not of groups: open it with tally_stream_reduce_groups");
    tally_status status = tl_stream_check(s, n);
    if (status) return status;

    if (groups < s->rows || groups > INT32_MAX)
        return tl_invalid(
            s->ctx, "groups is %ld: must be at least %ld, as in the last push, and at most %d",
            groups, s->rows, INT32_MAX);

    if (n && (!x || !codes))
        return tl_invalid(s->ctx, "%s is NULL: must point to %ld elements", x ? "codes" : "x", n);
    status = tl_host_only(s->ctx, x, "x", of_groups);
    if (!status) status = tl_host_only(s->ctx, codes, "codes", of_groups);
    if (status) return status;
    s->device->on_processors += n;

    if (s->is_checked) {
        status =
            tl_grow(s->ctx, &s->totals, (size_t)(groups + 1) * sizeof *s->totals, "sums of groups");
        if (status) return status;
        memset(s->totals + s->rows, 0, (size_t)(groups - s->rows) * sizeof *s->totals);
    }

    int64_t bad;
    if (!tl_counters_push(s->groups, x, codes, n, groups, &bad)) {
        s->broken = 1;
        return tl_no_memory(s->ctx, (size_t)groups * s->plan.op->state_bytes, "the groups");
    }

    if (bad >= 0)
        return tl_invalid(s->ctx, "codes[%ld] is %d: must be in 0..%ld, the groups", bad,
                          codes[bad], groups - 1);
    if (s->is_checked) tl_totals_of_groups(s->totals, s->plan.op->dtype, x, codes, n);
    s->rows = tl_counters_groups(s->groups);
    s->pushed += n;
    return TALLY_OK;
}
