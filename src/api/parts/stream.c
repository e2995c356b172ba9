/* SPDX-License-Identifier: MIT
 * Streams: the verbs on data that comes in chunks, of one sequence, or of many of the same length,
 * such as cells of a field, which grow by one or more steps per push. reduce and scan keep a
 * counter; stream_window.c has windows. */
#include "parts.h"
#include "context/user.h"
#include "context/view.h"
#include "law/fp.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

int64_t tally_stream_results(const tally_stream *s, int64_t n)
{
    if (!s) return 0;
    if (s->verb == TL_REDUCE) return n < 0;
    if (s->verb == TL_SCAN) return n < 0 ? 0 : n;
    return s->rows ? tl_steps_known(s, n) : 0;
}

int64_t tally_stream_room(const tally_stream *s, int64_t n)
{
    if (!s) return 0;
    if (n < 0 && s->verb == TL_REDUCE) return s->rows;
    if (s->verb == TL_REDUCE || (n < 0 && s->verb == TL_SCAN)) return 0;
    int64_t needed = s->verb == TL_SCAN ? 0 : s->kept;
    if (__builtin_add_overflow(needed, n < 0 ? 0 : n, &needed) ||
        __builtin_mul_overflow(needed, s->rows, &needed))
        return INT64_MAX;
    return needed;
}

/* Checks that the stream can take n more elements of each sequence. */
static tally_status check_length(tally_stream *s, int64_t n)
{
    if (s->finished) return tl_invalid(s->ctx, "stream is finished: it takes no more data");
    if (s->broken) return tl_invalid(s->ctx, "stream failed in an earlier push: close it");
    if (n < 0 || n >> 61 || s->pushed + n >= (int64_t)1 << 61)
        return tl_invalid(s->ctx,
                          "n is %ld: must be at least 0, and all pushes together below 2^61", n);
    return TALLY_OK;
}

/* The results of a push of elements without a view: none before the elements fill a window. */
static int64_t results_of_push(const tally_stream *s, int64_t n)
{
    const int waits = s->verb == TL_WINDOW && !s->started && !s->given && s->pushed + n <= s->kept;
    return waits ? 0 : tally_stream_results(s, n);
}

static tally_status check_push(tally_stream *s, const void *x, int64_t n, const void *out)
{
    assert(s);
    int64_t in, capacity;
    if (s->groups)
        return tl_invalid(s->ctx, "stream is of groups: push with tally_stream_push_groups");

    if (s->many)
        return tl_invalid(
            s->ctx, "stream is of %ld sequences: push a view (tally_stream_push_view)", s->rows);

    if (s->plan.op->inputs == 2)
        return tl_invalid(
            s->ctx,
            "stream takes two inputs: push a view whose next is another (tally_stream_push_view)");

    TL_TRY(check_length(s, n));

    if (__builtin_mul_overflow(n, (int64_t)s->plan.op->elem_bytes, &in) ||
        __builtin_mul_overflow(tally_stream_room(s, n), (int64_t)s->plan.op->result_bytes,
                               &capacity))
        return tl_invalid(s->ctx, "n is %ld: its elements or results are more bytes than 2^63", n);

    if (n && !x) return tl_invalid(s->ctx, "x is NULL: must point to %ld elements", n);
    if (s->verb == TL_REDUCE || n == 0) return TALLY_OK;

    if (!out && results_of_push(s, n))
        return tl_invalid(s->ctx, "out is NULL: must have space for %ld results",
                          tally_stream_room(s, n));
    const tally_view from = tally_flat(x, TALLY_U8, in),
                     to = tally_flat(out, TALLY_U8, out ? capacity : 0);
    if (tl_views_overlap(&from, 1, &to, 1) &&
        !(s->verb == TL_SCAN && x == out && s->plan.op->elem_bytes == s->plan.op->result_bytes))
        return tl_invalid(s->ctx, "out overlaps x: give it memory of its own");
    return TALLY_OK;
}

/* Whether one of x and out of a scan is device memory and the other is not. Then host copies are
 * pushed. */
static int is_mixed(const tally_stream *s, const void *x, const void *out)
{
    const tl_device_calls *calls = s->device->calls;
    tl_device *of_x = NULL, *of_out = NULL;
    return s->verb == TL_SCAN && calls->owner && !calls->owner(s->device, s->ctx, x, &of_x) &&
           !calls->owner(s->device, s->ctx, out, &of_out) && !of_x != !of_out;
}

/* n > 0 dense elements of any memory, of one sequence. */
static tally_status push_in_place(tally_stream *s, const void *x, int64_t n, void *out)
{
    assert(n > 0);
    const int64_t results = results_of_push(s, n);
    TL_HOST_COPIES(copies, s->ctx);
    void *from = (void *)(uintptr_t)x;

    /* counted: elements were left out in an earlier push */
    const int exact = s->plan.exact != NULL;
    if (s->verb == TL_WINDOW || s->is_checked || s->scan.done.counted) {
        tally_view in = tally_flat(x, s->plan.op->dtype, n),
                   to = tally_flat(out, s->plan.op->out, results);
        return tl_stream_push_checked(s, &in, NULL, &to);
    }

    if (exact) s->device->on_processors += n;
    if (exact || is_mixed(s, x, out)) {
        TL_TRY(tl_host_copy(&copies, &from, 0, n * s->plan.op->elem_bytes, 0));
        if (results) TL_TRY(tl_host_copy(&copies, &out, 0, results * s->plan.op->result_bytes, 1));
    }

    TL_LAW_FP;
    if (exact && s->verb == TL_REDUCE) {
        tl_exact_slab(s->exact, &s->plan, tally_threads(s->ctx), from, n);
    } else if (exact) {
        tl_exact_scan_push(s->exact, &s->plan, s->scan.exclusive, from, n, out);
    } else {
        tl_push p = {.verb = s->verb,
                     .plan = &s->plan,
                     .x = from,
                     .n = n,
                     .out = out,
                     .counter = &s->scan.done,
                     .scan = &s->scan};
        TL_TRY(s->device->calls->push(s->device, s->ctx, &p));
    }

    s->pushed += n;
    return tl_host_back(&copies);
}

tally_status tally_stream_push(tally_stream *s, const void *x, int64_t n, void *out,
                               int64_t *produced)
{
    if (produced) *produced = 0;
    if (!s) return tl_invalid(NULL, "stream is NULL");

    const int64_t given = s->given;
    TL_TRY(check_push(s, x, n, out));
    if (n) TL_TRY(push_in_place(s, x, n, out));
    if (produced) *produced = s->verb == TL_WINDOW ? s->given - given : tally_stream_results(s, n);
    return TALLY_OK;
}

tally_status tally_stream_finish(tally_stream *s, void *out, int64_t *produced)
{
    if (produced) *produced = 0;
    if (!s) return tl_invalid(NULL, "stream is NULL");
    if (s->finished) return tl_invalid(s->ctx, "stream is finished already");
    if (s->broken) return tl_invalid(s->ctx, "stream failed in an earlier push: close it");
    if (!out && s->verb != TL_SCAN && tally_stream_room(s, -1) > 0)
        return tl_invalid(s->ctx, "out is NULL: must have space for %ld results",
                          tally_stream_room(s, -1));
    const int64_t each = tally_stream_results(s, -1), results = each * s->rows;
    TL_HOST_COPIES(copies, s->ctx);
    const int by_rows = s->many && s->verb == TL_REDUCE && !s->plan.exact && !s->totals;
    if (!by_rows) TL_TRY(tl_host_copy(&copies, &out, 0, results * s->plan.op->result_bytes, 1));

    TL_LAW_FP;
    if (s->totals && s->verb == TL_REDUCE) {
        TL_TRY(tl_totals_result(s->ctx, s->totals, s->rows, s->plan.op->out,
                                s->groups ? "group" : "sequence", out));
    } else if (s->groups) {
        tl_counters_results(s->groups, out);
    } else if (by_rows) {
        TL_TRY(tl_stream_lower_rows(s, out));
    } else if (s->verb == TL_REDUCE && s->plan.exact) {
        tl_rows_lower(&(tl_lowering){NULL, s->exact, &s->plan, out}, tally_threads(s->ctx),
                      s->rows);
    } else if (s->verb == TL_REDUCE) {
        tl_counter_lower(&s->scan.done, &s->plan, out);
    } else if (s->steps) {
        const tally_view to = {out, s->plan.op->out, s->rows, each, each, 1};
        TL_TRY(tl_steps_finish(s, &to));
    }

    /* if memory ran out, all data is still there, and finish may be called again */
    TL_TRY(tl_host_back(&copies));
    s->finished = 1;
    if (produced) *produced = results;
    return TALLY_OK;
}

void tally_stream_close(tally_stream *s)
{
    if (!s) return;
    tl_grid_close(s->grid);
    tl_counters_close(s->groups);
    tl_slabs_free(&s->slabs);
    tl_steps_close(s->steps);
    free(s->exact);
    free(s->totals);
    free(s);
}

tally_status tl_stream_same(const tally_stream *s, const tally_fragment *f, const char *name)
{
    if (tl_user_same(s->plan.op, f->plan.op) && s->plan.par.value == f->plan.par.value &&
        s->is_checked == (f->totals != NULL))
        return TALLY_OK;
    return tl_invalid(s->ctx, "%s is %s of %s: must be the stream's operator and dtype", name,
                      f->op, tally_dtype_name(f->dtype));
}

tally_status tally_stream_push_folded(tally_stream *s, const void *x, const tally_fragment *folded,
                                      void *out, int64_t *produced)
{
    int64_t start, end;
    int owner;
    tl_counter slab_nodes;

    if (produced) *produced = 0;
    if (!s || !folded) return tl_invalid(s ? s->ctx : NULL, "stream or folded is NULL");

    tally_fragment_range(folded, &start, &end);
    TL_TRY(tl_stream_same(s, folded, "folded"));

    if (folded->rows != 1 || folded->slabs.count > 1 || (folded->slabs.count && start != s->pushed))
        return tl_invalid(s->ctx,
                          "folded is of [%ld, %ld), %ld sequences, %ld ranges: must be of one, "
                          "and begin at %ld",
                          start, end, folded->rows, folded->slabs.count, s->pushed);

    if (tl_slabs_counted(&folded->slabs))
        return tl_unsupported(s->ctx,
                              "folded left elements out: push the view that it was made of");
    TL_TRY(tally_owner(s->ctx, x, &owner));

    if (folded->slabs.count && !folded->sum_bytes && owner >= 0 && s->verb == TL_SCAN) {
        tl_slab_get(folded->slabs.slab[0], 0, &slab_nodes);
        s->scan.nodes_known = &slab_nodes;
    }

    tally_status status = tally_stream_push(s, x, end - start, out, produced);
    s->scan.nodes_known = NULL;
    return status;
}

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

/* The output of a push into a scan, or into windows, which give the results that this push
 * completes: `out` may have space for more, and is not read if there are none. */
static tally_status take_output(const tally_stream *s, const tally_view *in, const tally_view *out,
                                tally_view *to)
{
    assert(s->verb != TL_REDUCE);
    const int window = s->verb == TL_WINDOW, in_place = !window && !s->many;
    const int64_t results = tally_stream_results(s, in->n);
    *to = tally_flat(NULL, s->plan.op->out, 0);
    if (window && !results) return TALLY_OK;

    /* tl_check_output checks the number of results of a scan */
    TL_TRY(check_capacity(s, out, window ? results : INT64_MIN));
    *to = *out;
    if (window) to->n = results;
    TL_TRY(tl_check_output(s->ctx, s->plan.op, in, to, results, in_place));
    return tl_inputs_apart(s->ctx, in, to, s->plan.op->result_bytes);
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
        status = push_in_place(s, x, m, y);
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
    TL_TRY(check_shape(s, in, out));
    TL_TRY(tl_inputs_check(s->ctx, in, "in", &from, &next));
    TL_TRY(check_length(s, in->n));

    to = from;
    if (s->verb == TL_REDUCE)
        to.n = 0;
    else
        TL_TRY(take_output(s, &from, out, &to));

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
        return push_in_place(s, from.data, from.n, to.data);
    if (plain && !s->totals && !s->device->calls->owner) return push_tiles(s, &from, &to);
    return tl_stream_push_checked(s, &from, &next, &to);
}

tally_status tally_stream_finish_view(tally_stream *s, const tally_view *out)
{
    if (!s) return tl_invalid(NULL, "stream is NULL");
    const int64_t results = tally_stream_results(s, -1), bytes = s->plan.op->result_bytes;
    TL_TRY(check_capacity(s, out, results));

    tally_view to = *out, none = tally_flat(NULL, s->plan.op->dtype, 0);
    none.rows = s->rows;
    to.n = results;
    TL_TRY(tl_check_output(s->ctx, s->plan.op, &none, &to, results, 0));
    if (results == 1 && (to.row_stride == 1 || s->rows == 1))
        return tally_stream_finish(s, to.data, NULL);
    TL_HOST_COPIES(copies, s->ctx);
    TL_TRY(tl_host_view(&copies, &to, bytes, 1));
    TL_FREED char *const dense = malloc((size_t)(s->rows * results * bytes) + 1);
    if (!dense) return tl_no_memory(s->ctx, (size_t)(s->rows * results * bytes), "the results");
    TL_TRY(tally_stream_finish(s, dense, NULL));
    for (int64_t r = 0; r < s->rows; r++)
        tl_copy_strided((char *)to.data + r * to.row_stride * bytes, to.stride,
                        dense + r * results * bytes, 1, results, bytes);
    return tl_host_back(&copies);
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
    TL_TRY(check_length(s, n));

    if (groups < s->rows || groups > INT32_MAX)
        return tl_invalid(
            s->ctx, "groups is %ld: must be at least %ld, as in the last push, and at most %d",
            groups, s->rows, INT32_MAX);

    if (n && (!x || !codes))
        return tl_invalid(s->ctx, "%s is NULL: must point to %ld elements", x ? "codes" : "x", n);
    TL_TRY(tl_host_only(s->ctx, x, "x", of_groups));
    TL_TRY(tl_host_only(s->ctx, codes, "codes", of_groups));
    s->device->on_processors += n;

    if (s->is_checked) {
        TL_TRY(tl_grow(s->ctx, &s->totals, (size_t)(groups + 1) * sizeof *s->totals,
                       "sums of groups"));
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
