/* SPDX-License-Identifier: MIT
 * Streams of many sequences, all of the same length so far: cells of a field, one or more steps at a time; and views
 * for streams of one sequence. */
#include "stream.h"
#include "checks.h"
#include "context/view.h"
#include "fragment.h"
#include "inputs.h"
#include "law/fp.h"
#include <stdlib.h>

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
    s->many = 1;
    s->by_slabs = s->plan.op->inputs == 2;
    if (!status && !s->by_slabs && !(s->grid = tl_grid_open(&s->plan, rows, verb == TL_STREAM_SCAN, o)))
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

tally_status tally_stream_window_rows(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                                      const tally_window_options *o, tally_stream **stream)
{
    if (stream) *stream = NULL;
    if (ctx && (rows < 0 || rows > TL_GRID_MOST))
        return tl_fail(ctx, TALLY_INVALID, "rows is %lld: must be 0..2^%d - 1", (long long)rows, TL_GRID_MOST_LOG);
    tally_status status = tl_stream_window(ctx, op, dtype, rows, o, stream);
    if (status) return status;
    (*stream)->many = 1;
    if (!(*stream)->plan.exact) return TALLY_OK;
    tally_stream_close(*stream);
    *stream = NULL;
    return tl_fail(ctx, TALLY_UNSUPPORTED, "op is '%.60s': a stream of many sequences takes none that is exact", op);
}

int64_t tally_stream_results(const tally_stream *s, int64_t n)
{
    if (!s) return 0;
    if (s->verb == TL_STREAM_REDUCE) return n < 0;
    if (s->verb == TL_STREAM_SCAN) return n < 0 ? 0 : n;
    return s->rows ? tl_steps_known(s, n) : 0;
}

/* ---- pushes ---- */

static const tl_state *init_of(const tally_stream *s) { return s->seeded ? &s->scan.init : NULL; }

tally_status tl_stream_feed(tally_stream *s, const tally_view *in, const tally_view *out)
{
    const int threads = tally_threads(s->ctx);
    tl_counter *const done = &s->scan.done, nodes;
    tl_feed f;
    tally_status status = tl_feed_open(s->ctx, &s->plan, tl_has_absent(in) || done->counted, 0, &f);
    if (status) return status;
    tl_fp fp = tl_fp_enter();
    if (f.counted) tl_counter_raise(done, s->plan.op);
    if (s->verb == TL_STREAM_SCAN) {
        status = tl_feed_scan(s->ctx, &f, threads, in, out, &s->scan, s->seeded ? s->init : NULL);
    } else {
        tl_slab *const slab = tl_slab_new(done->end, done->end + in->n, 1, s->plan.op, f.counted);
        status = slab ? tl_feed_slab(s->ctx, &f, threads, in, slab) : tl_no_memory(s->ctx, sizeof nodes, "a push");
        if (!status) tl_slab_get(slab, 0, &nodes);
        for (int j = 0; !status && j < nodes.count; j++)
            tl_counter_push(done, s->plan.op, nodes.level[j], &nodes.node[j]);
        free(slab);
    }
    tl_fp_leave(fp);
    return status;
}

/* What the grid has becomes a slab. */
static tally_status leave_grid(tally_stream *s)
{
    tally_status status = TALLY_OK;
    if (s->by_slabs) return status;
    if (s->pushed) {
        tl_slab *const slab = tl_slab_new(0, s->pushed, s->rows, s->plan.op, 0);
        if (slab) status = tl_grid_nodes(s->ctx, s->grid, slab);
        if (status)
            free(slab);
        else if (!tl_slabs_append(&s->slabs, slab))
            status = tl_no_memory(s->ctx, (size_t)s->rows * sizeof(tl_state), "the nodes of a field");
    }
    if (!status) s->by_slabs = 1;
    return status;
}

/* And back, as soon as it can be. */
static void enter_grid(tally_stream *s)
{
    if (!s->by_slabs || s->plan.op->inputs == 2 || tl_slabs_counted(&s->slabs) || s->pushed % TL_GRID_BLOCK) return;
    tl_grid *const grid =
        tl_grid_open(&s->plan, s->rows, s->verb == TL_STREAM_SCAN,
                     &(tally_scan_options){.exclusive = s->scan.exclusive, .init = s->seeded ? s->init : NULL});
    if (!grid) return; /* without memory, slabs still give the answer */
    if (s->slabs.count && tl_grid_fill(s->ctx, grid, s->slabs.slab[0], init_of(s))) {
        tl_grid_close(grid);
        return;
    }
    tl_grid_close(s->grid);
    s->grid = grid;
    tl_slabs_free(&s->slabs);
    s->by_slabs = 0;
}

/* A stream whose first push has validity: if its operator has a form for marked elements, a grid folds that form. */
static tally_status mark_grid(tally_stream *s)
{
    tl_feed *const f = &s->mark;
    const int scans = s->verb == TL_STREAM_SCAN;
    char quiet[16];
    tl_form_begin(&f->form, s->plan.op, s->plan.par, 1);
    if (f->form.kind != TL_FORM_MARK || f->form.op->inputs == 2) return TALLY_OK;
    const tally_status status = s->device->calls->plan_host(s->device, s->ctx, f->form.op, f->form.par, &f->plan);
    if (status) return status;
    if (s->seeded) f->plan.mask->quiet(quiet, s->init, f->form.op->out, 1); /* a NaN there is a value */
    tl_grid *const grid =
        tl_grid_open(&f->plan, s->rows, scans,
                     &(tally_scan_options){.exclusive = s->scan.exclusive, .init = s->seeded ? quiet : NULL});
    if (!grid) return tl_no_memory(s->ctx, (size_t)s->rows * f->form.op->elem_bytes, "a field");
    tl_grid_close(s->grid);
    s->grid = grid;
    s->marked = 1;
    return TALLY_OK;
}

static tally_status push_slabs(tally_stream *s, const tally_view *in, const tally_view *out)
{
    const int scans = s->verb == TL_STREAM_SCAN, absent = tl_has_absent(in) || tl_slabs_counted(&s->slabs);
    const int64_t end = s->pushed + in->n;
    tl_feed f;
    tally_status status = leave_grid(s);
    if (!status) status = tl_feed_open(s->ctx, &s->plan, absent, scans, &f);
    if (status) return status;
    const int counted = f.counted || tl_slabs_counted(&s->slabs);
    tl_slabs more = {0};
    tl_slab *const slab = tl_slab_new(scans ? 0 : s->pushed, end, s->rows, s->plan.op, counted);
    if (!slab || !tl_slabs_append(&more, slab))
        return tl_no_memory(s->ctx, (size_t)s->rows * sizeof(tl_state), "the nodes of a field");
    if (scans)
        status = tl_feed_scan_rows(s->ctx, &f, tally_threads(s->ctx), in, out, s->slabs.count ? s->slabs.slab[0] : NULL,
                                   slab, s->scan.exclusive, init_of(s));
    else
        status = tl_feed_slab(s->ctx, &f, tally_threads(s->ctx), in, slab);
    if (!status && scans) { /* what was before is in it */
        const tl_slabs old = s->slabs;
        s->slabs = more;
        more = old;
    } else if (!status && !tl_slabs_join(&s->slabs, &more, s->plan.op, tl_share_slabs, tally_threads(s->ctx))) {
        status = tl_no_memory(s->ctx, (size_t)s->rows * sizeof(tl_state), "the nodes of a field");
    }
    tl_slabs_free(&more);
    return status;
}

/* Elements from number `at` on, n of each sequence. */
static tally_view steps_of(const tally_view *v, int64_t at, int64_t n, int64_t bytes)
{
    tally_view part = *v;
    part.n = n;
    part.data = tl_offset(v->data, at * v->stride * bytes);
    return part;
}

static tally_status push_rows(tally_stream *s, const tally_view *in, const tally_view *out)
{
    const int plain = !tl_has_inputs(in), threads = tally_threads(s->ctx);
    const int64_t left = -s->pushed & (TL_GRID_BLOCK - 1);
    tally_status status = TALLY_OK;
    tl_feed f;
    if (s->by_slabs && plain && left && left < in->n) { /* to the end of a block, and then into the grid */
        const int64_t bytes = s->plan.op->elem_bytes, result = s->plan.op->result_bytes, rest = in->n - left;
        const tally_view a = steps_of(in, 0, left, bytes), b = steps_of(in, left, rest, bytes),
                         c = steps_of(out, 0, left, result), d = steps_of(out, left, rest, result);
        status = push_rows(s, &a, &c);
        return status ? status : push_rows(s, &b, &d);
    }
    if (!s->by_slabs && !plain && !s->pushed) status = mark_grid(s);
    if (status) return status;
    if (s->marked) {
        status = tl_feed_grid(s->ctx, &s->mark, threads, in, out, s->grid);
    } else if (!s->by_slabs && !plain) {
        status = tl_feed_open(s->ctx, &s->plan, 1, 0, &f);
        if (!status && tl_feed_fits_grid(&f))
            status = tl_feed_grid(s->ctx, &f, threads, in, out, s->grid);
        else if (!status)
            status = push_slabs(s, in, out);
    } else if (s->by_slabs) {
        status = push_slabs(s, in, out);
    } else {
        status = tl_grid_push(s->ctx, s->grid, threads, in, out);
    }
    if (!status) {
        s->pushed += in->n;
        enter_grid(s);
    }
    return status;
}

tally_status tl_stream_take(tally_stream *s, const tl_slabs *slabs)
{
    tl_fp fp = tl_fp_enter();
    const int good =
        !slabs->count || tl_slabs_join(&s->slabs, slabs, s->plan.op, tl_share_slabs, tally_threads(s->ctx));
    if (good && slabs->count) {
        s->by_slabs = 1;
        s->pushed = slabs->slab[0]->end;
        enter_grid(s);
    }
    tl_fp_leave(fp);
    return good ? TALLY_OK : tl_no_memory(s->ctx, (size_t)s->rows * sizeof(tl_state), "the nodes of a field");
}

static tally_status check_shape(const tally_stream *s, const tally_view *in, const tally_view *out)
{
    const tally_dtype given = tl_inputs_dtype(in), own = s->plan.op->dtype;
    if (given != own)
        return tl_fail(s->ctx, TALLY_INVALID, "%s is %s: the stream's is %s",
                       in->next ? "the common type of in and in->next" : "in->dtype",
                       tally_dtype_name(given) ? tally_dtype_name(given) : "unknown", tally_dtype_name(own));
    if (in->rows != s->rows)
        return tl_fail(s->ctx, TALLY_INVALID, "in->rows is %lld: the stream has %lld sequence%s", (long long)in->rows,
                       (long long)s->rows, s->rows == 1 ? "" : "s");
    if (in->offsets)
        return tl_fail(s->ctx, TALLY_INVALID, "in->offsets is given: all sequences of a stream get as many elements");
    if (out && s->verb == TL_STREAM_REDUCE)
        return tl_fail(s->ctx, TALLY_INVALID, "out is given: a reduction has results when it is finished");
    if (s->plan.exact)
        return tl_fail(s->ctx, TALLY_UNSUPPORTED, "stream is of an exact sum: it takes no views, but dense elements");
    return tl_form_fits(s->ctx, s->plan.op->file, s->plan.op, in, "in");
}

/* The results of a push, as a view of exactly so many. */
static tally_status check_results(const tally_stream *s, const tally_view *in, const tally_view *out, tally_view *to)
{
    const int window = s->verb == TL_STREAM_WINDOW;
    const int64_t results = tally_stream_results(s, in->n);
    if (window && !results) {
        *to = tally_flat(NULL, s->plan.op->out, 0);
        return TALLY_OK;
    }
    if (!out) return tl_fail(s->ctx, TALLY_INVALID, "out is NULL: must be a view");
    *to = *out;
    if (window && out->n < results)
        return tl_fail(s->ctx, TALLY_INVALID, "out->n is %lld: must have room for %lld results (tally_stream_results)",
                       (long long)out->n, (long long)results);
    if (window) to->n = results;
    tally_status status = tl_check_output(s->ctx, s->plan.op, in, to, results, !window && !s->many);
    if (!status) status = tl_inputs_apart(s->ctx, in, to, s->plan.op->result_bytes);
    return status ? status : tl_on_processors(s->ctx, out->data, "out->data", "pushes of views", 0);
}

tally_status tally_stream_push_view(tally_stream *s, const tally_view *in, const tally_view *out)
{
    static const char what[] = "pushes of views";
    tally_view from, next, to;
    if (!s) return tl_fail(NULL, TALLY_INVALID, "stream is NULL");
    if (!in) return tl_fail(s->ctx, TALLY_INVALID, "in is NULL: must be a view");
    tally_status status = check_shape(s, in, out);
    if (!status) status = tl_inputs_check(s->ctx, in, "in", &from);
    if (!status && in->next) status = tl_inputs_check(s->ctx, in->next, "in->next", &next);
    if (!status) status = tl_stream_check(s, in->n);
    if (!status) status = tl_on_processors(s->ctx, in->data, "in->data", what, in->rows * in->n);
    if (status) return status;
    from.next = in->next ? &next : NULL;
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
    if (s->verb == TL_STREAM_WINDOW) {
        status = tl_steps_push(s, &from, &to);
        if (!status) s->pushed += in->n;
        return status;
    }
    tl_inputs_normal(&to);
    if (s->many) {
        tl_fp fp = tl_fp_enter();
        status = push_rows(s, &from, &to);
        tl_fp_leave(fp);
        return status;
    }
    int64_t made;
    if (!tl_has_inputs(&from) && !s->scan.done.counted && from.stride == 1 && to.stride == 1)
        status = tl_stream_run(s, from.data, from.n, to.data, &made);
    else
        status = tl_stream_feed(s, &from, &to);
    if (!status) s->pushed += in->n;
    return status;
}

tally_status tally_stream_finish_view(tally_stream *s, const tally_view *out)
{
    if (!s) return tl_fail(NULL, TALLY_INVALID, "stream is NULL");
    if (!out) return tl_fail(s->ctx, TALLY_INVALID, "out is NULL: must be a view");
    const int64_t results = tally_stream_results(s, -1), bytes = s->plan.op->result_bytes;
    if (out->n < results)
        return tl_fail(s->ctx, TALLY_INVALID, "out->n is %lld: must have room for %lld results (tally_stream_results)",
                       (long long)out->n, (long long)results);
    tally_view to = *out, none = tally_flat(NULL, s->plan.op->dtype, 0);
    none.rows = s->rows;
    to.n = results;
    tally_status status = tl_check_output(s->ctx, s->plan.op, &none, &to, results, 0);
    if (!status) status = tl_on_processors(s->ctx, out->data, "out->data", "streams of views", 0);
    char *const dense = status ? NULL : malloc((size_t)(s->rows * results * bytes) + 1);
    if (!status && !dense) status = tl_no_memory(s->ctx, (size_t)(s->rows * results * bytes), "the results");
    if (!status) status = tally_stream_finish(s, dense, NULL);
    for (int64_t r = 0; r < s->rows && !status; r++)
        tl_copy_strided((char *)out->data + r * out->row_stride * bytes, out->stride, dense + r * results * bytes, 1,
                        results, bytes);
    free(dense);
    return status;
}
