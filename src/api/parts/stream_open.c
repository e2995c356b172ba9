/* SPDX-License-Identifier: MIT
 * Opens streams: of one sequence or many (stream.c), of windows of either (stream_window.c), and of
 * groups. */
#include "parts.h"
#include <stdlib.h>
#include <string.h>

/* The totals of sum:checked, which begin with the initial value. */
static tally_status begin_totals(tally_stream *s)
{
    int64_t init = 0;
    if (s->seeded) memcpy(&init, s->init, sizeof init);
    s->totals = malloc((size_t)s->rows * sizeof *s->totals + 1);
    if (!s->totals) return tl_no_memory(s->ctx, (size_t)s->rows * sizeof *s->totals, "sums");
    for (int64_t r = 0; r < s->rows; r++)
        s->totals[r] = s->plan.op->out == TALLY_U64 ? (tl_total)(uint64_t)init : init;
    return TALLY_OK;
}

static tally_status begin_exact(tally_stream *s, const tally_scan_options *o)
{
    const int sums = tl_exact_form_of(s->plan.op)->sums;
    const size_t bytes = tl_exact_bytes(s->rows * sums);
    s->exact = malloc(bytes + 1);
    if (!s->exact) return tl_no_memory(s->ctx, bytes, "exact sums");
    for (int64_t r = 0; r < s->rows; r++) tl_exact_scan_begin(s->exact + r * sums, &s->plan, o);
    return TALLY_OK;
}

/* A grid for many sequences, unless the operator has two inputs. */
static tally_status begin_rows(tally_stream *s, const tally_scan_options *o)
{
    if (s->seeded) s->plan.op->seed(&s->scan.init, s->init, s->plan.par);
    if (s->plan.op->inputs == 2 ||
        (s->grid = tl_grid_open(&s->plan, s->rows, s->verb == TL_SCAN, o)))
        return TALLY_OK;
    return tl_no_memory(s->ctx, (size_t)s->rows * s->plan.op->elem_bytes, "a field");
}

static tally_status begin_window(tally_stream *s, const tally_window_options *o)
{
    int64_t bytes;
    TL_TRY(tl_check_streams(s->ctx, o, "a stream takes"));
    TL_TRY(tl_plan_of_host(s->ctx, "count", s->plan.op->dtype, &s->count_plan));

    s->window = *o;
    s->kept = o->before + o->after;
    if (__builtin_mul_overflow(s->kept, 2 * (int64_t)s->plan.op->elem_bytes, &bytes) ||
        __builtin_mul_overflow(bytes, s->rows, &bytes))
        return tl_fail(s->ctx, TALLY_NO_MEMORY,
                       "out of memory: a window of %ld elements cannot be kept", s->kept + 1);
    return tl_steps_open(s);
}

static tally_status begin_groups(tally_stream *s, const char *op)
{
    s->rows = 0;
    if (s->plan.op->inputs == 2)
        return tl_unsupported(s->ctx, "op is '%.60s', of two inputs: a stream of groups takes one",
                              op);
    s->groups = tl_counters_open(&s->plan, tally_threads(s->ctx));
    return s->groups ? TALLY_OK : tl_no_memory(s->ctx, sizeof *s, "a stream of groups");
}

/* What a stream is of: one sequence, `rows` sequences, or groups. */
typedef struct {
    tl_verb verb;
    enum { ONE, MANY, GROUPS } of;
    int64_t rows;
    const tally_scan_options *scan;
    const tally_window_options *window;
} subject;

static tally_status open_stream(tally *ctx, const char *op, tally_dtype dtype, subject what,
                                tally_stream **stream)
{
    if (stream) *stream = NULL;
    if (!ctx) return tl_no_context();
    if (what.scan && what.scan->reverse)
        return tl_unsupported(ctx,
                              "reverse: a stream's last element is not known yet; use tally_scan");
    if (what.of == MANY && (what.rows < 0 || what.rows > TL_GRID_MOST))
        return tl_invalid(ctx, "rows is %ld: must be 0..2^%d - 1", what.rows, TL_GRID_MOST_LOG);
    if (!stream) return tl_invalid(ctx, "stream is NULL: must point to where the stream goes");
    tl_plan plan;
    TL_TRY(tl_plan_of_inputs(ctx, op, dtype, &plan));
    TL_TRY(tl_check_scan(ctx, &plan, what.scan));

    tally_stream *s = calloc(1, sizeof *s);
    if (!s) return tl_no_memory(ctx, sizeof *s, "a stream");

    s->ctx = ctx;
    s->device = ctx->device;
    s->verb = what.verb;
    s->plan = plan;
    s->many = what.of == MANY;
    s->rows = s->many ? what.rows : 1;
    s->is_checked = tl_is_checked(op);
    s->scan.exclusive = what.scan && what.scan->exclusive;
    s->seeded = what.scan && what.scan->init && plan.op->seedable;
    if (s->seeded) memcpy(s->init, what.scan->init, plan.op->result_bytes);

    tally_status status = TALLY_OK;
    if (what.verb == TL_WINDOW)
        status = begin_window(s, what.window);
    else if (what.of == GROUPS)
        status = begin_groups(s, op);
    else if (plan.exact)
        status = begin_exact(s, what.scan);
    else if (s->is_checked)
        status = begin_totals(s);
    else if (what.of == MANY)
        status = begin_rows(s, what.scan);
    else
        tl_scan_begin(&s->scan, &s->plan, what.scan);
    if (status)
        tally_stream_close(s);
    else
        *stream = s;
    return status;
}

tally_status tally_stream_reduce(tally *ctx, const char *op, tally_dtype dtype,
                                 tally_stream **stream)
{
    return open_stream(ctx, op, dtype, (subject){TL_REDUCE, .of = ONE}, stream);
}

tally_status tally_stream_scan(tally *ctx, const char *op, tally_dtype dtype,
                               const tally_scan_options *o, tally_stream **stream)
{
    return open_stream(ctx, op, dtype, (subject){TL_SCAN, .of = ONE, .scan = o}, stream);
}

tally_status tally_stream_window(tally *ctx, const char *op, tally_dtype dtype,
                                 const tally_window_options *o, tally_stream **stream)
{
    return open_stream(ctx, op, dtype, (subject){TL_WINDOW, .of = ONE, .window = o}, stream);
}

tally_status tally_stream_reduce_rows(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                                      tally_stream **stream)
{
    return open_stream(ctx, op, dtype, (subject){TL_REDUCE, .of = MANY, .rows = rows}, stream);
}

tally_status tally_stream_scan_rows(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                                    const tally_scan_options *o, tally_stream **stream)
{
    return open_stream(ctx, op, dtype, (subject){TL_SCAN, .of = MANY, .rows = rows, .scan = o},
                       stream);
}

tally_status tally_stream_window_rows(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                                      const tally_window_options *o, tally_stream **stream)
{
    return open_stream(ctx, op, dtype, (subject){TL_WINDOW, .of = MANY, .rows = rows, .window = o},
                       stream);
}

tally_status tally_stream_reduce_groups(tally *ctx, const char *op, tally_dtype dtype,
                                        tally_stream **stream)
{
    return open_stream(ctx, op, dtype, (subject){TL_REDUCE, .of = GROUPS}, stream);
}

tally_status tally_stream_resume(tally_stream *s, const tally_fragment *f)
{
    if (!s || !f) return tl_invalid(NULL, "stream or before is NULL");
    if (s->groups) return tl_unsupported(s->ctx, "stream is of groups: it takes no fragment");
    if (s->verb == TL_WINDOW)
        return tl_unsupported(
            s->ctx, "stream is a window: it needs the elements before it, not a fragment");
    if (s->pushed)
        return tl_invalid(s->ctx, "stream has %ld elements already: must have none", s->pushed);
    if (s->finished) return tl_invalid(s->ctx, "stream is finished already");

    TL_TRY(tl_stream_same(s, f, "before"));
    if (f->rows != s->rows)
        return tl_invalid(s->ctx, "before is of %ld sequences: the stream is of %ld", f->rows,
                          s->rows);
    TL_TRY(tl_fragment_whole(s->ctx, f));
    if (s->many && !f->sum_bytes) return tl_stream_start(s, &f->slabs);

    tally_fragment_range(f, NULL, &s->pushed);
    for (int64_t k = 0; k < f->sums; k++)
        if (f->exact)
            tl_exact_join(&s->exact[k], &f->exact[k], 1, 1);
        else
            s->totals[k] += f->totals[k];
    if (!f->sum_bytes && f->slabs.count) tl_slab_get(f->slabs.slab[0], 0, &s->scan.done);
    return TALLY_OK;
}
