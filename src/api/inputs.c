/* SPDX-License-Identifier: MIT
 * The verbs on views with validity, or with two inputs. They check the arguments and run on the
 * device, if it supports the call (tl_call.form), or by one of the three methods of the
 * processors (cpu/inputs/). */
#include "calls.h"
#include "context/view.h"
#include "cpu/shape.h"
#include "law/fp.h"
#include <assert.h>
#include <stdlib.h>

/* Both plans are of the processors. `count`, on f32, counts the elements that the other plan folds
 * (tl_prepare_inputs). */
tally_status tl_feed_open(tally *ctx, const tl_plan *plan, int absent, int by_states, tl_feed *feed)
{
    tl_feed_begin(feed, plan->op, plan->par, absent, by_states);
    TL_TRY(tl_plan_on_host(ctx, feed->form.op, feed->form.par, &feed->plan));
    return tl_plan_of_host(ctx, "count", TALLY_F32, &feed->count);
}

static void normalise(tl_job *j)
{
    tl_inputs_normal(&j->in);
    if (j->in.next) tl_inputs_normal(&j->next);
}

/* After it, the views are checked, offsets are on the host, the form is known, and both plans are
 * of the processors. A resolved operator (`named`) needs a check of its inputs only. */
tally_status tl_job_open(tl_job *j, tally *ctx, const char *op, const tl_call *call, int here)
{
    assert(call->in);
    const tl_plan *const named = call->plan;
    *j = (tl_job){.ctx = ctx, .here = here, .copies = {.ctx = ctx}};
    if (!ctx) return tl_no_context();

    TL_TRY(tl_host_call(&j->copies, call, &j->in, &j->next, &j->out));
    TL_TRY(named ? tl_form_fits(ctx, op, named->op, &j->in, "in")
                 : tl_form_of(ctx, op, &j->in, &j->form));
    if (named) tl_form_begin(&j->form, named->op, named->par, tl_has_absent(call->in));
    for (const tally_view *v = &j->in; v; v = v->next)
        TL_TRY(tl_input_check(ctx, v, v == &j->in ? "in" : "in->next"));
    TL_TRY(tl_plan_on_host(ctx, j->form.op, j->form.par, &j->ready.plan));

    /* whether a user's operator has a blank is known now, after it was compiled */
    if (j->form.kind == TL_FORM_STATES && j->form.op->blank) {
        j->form.kind = TL_FORM_BLANK;
        j->form.op->blank(&j->form.fill);
    }

    const tl_scalar *count;
    tl_par none;
    TL_TRY(tl_resolve(ctx, "count", TALLY_F32, &count, &none));
    return tl_plan_on_host(ctx, count, none, &j->ready.count);
}

void tl_job_close(tl_job *j)
{
    tl_prepared_free(&j->ready);
    free(j->results);
    tl_host_close(&j->copies);
}

tally_status tl_job_to_host(tl_job *j, tally_view *out)
{
    assert(j->ready.plan.op);
    if (j->here) return TALLY_OK;
    j->ctx->device->on_processors += tl_view_elements(&j->in);
    TL_TRY(tl_inputs_bring(&j->copies, &j->in, &j->next));
    return tl_host_view(&j->copies, out, j->form.op->result_bytes, 1);
}

/* *done: as for tl_device_calls.run. verb: the verb, its results and its options. */
static tally_status run_on_device(tl_job *j, const tl_call *verb, int *done)
{
    tl_plan count; /* sums bytes, 1 for an element that counts (tl_call.count) */
    tl_call call = *verb;
    call.plan = &j->ready.plan, call.count = &count, call.in = &j->in, call.form = &j->form;
    *done = 0;
    normalise(j);
    if (j->here) return TALLY_OK;
    TL_TRY(tl_plan_of(j->ctx, "sum", TALLY_U8, &count));
    return j->ctx->device->calls->run(j->ctx->device, j->ctx, &call, done);
}

/* Kernels read the caller's elements in place, by a conversion, or dense copies of them. The law
 * step by step (TL_FORM_STATES) always reads copies. */
tally_status tl_job_prepare(tl_job *j, const tally_view *out, int reverse)
{
    normalise(j);
    const int in_place = tl_gather_reads(&j->in, out, reverse);
    tl_form late;
    if (in_place && j->in.valid && tl_form_late(&j->form, &late)) {
        TL_TRY(tl_plan_on_host(j->ctx, late.op, late.par, &j->ready.plan));
        j->form = late;
    }

    const tl_prepare_mode mode = {in_place, !j->ready.plan.exact, reverse, 0};
    return tl_prepare_inputs(&j->ready, j->ctx, &j->form, &j->in, mode);
}

static tally_status run(const tl_job *j, tl_call call)
{
    call.plan = &j->ready.plan;
    call.count = &j->ready.count;
    call.in = &j->ready.work;
    return tl_run(j->ctx, tally_threads(j->ctx), &call);
}

/* Tries to reduce the valid elements without preparing them first. */
static tally_status reduce_present(tl_job *j, const tally_view *out, int *done)
{
    const int threads = tally_threads(j->ctx);
    tl_form blank;
    tl_plan plan;

    normalise(j);
    if (!j->in.valid || j->in.next || j->ready.plan.exact || !tl_gather_reads(&j->in, NULL, 0))
        return TALLY_OK;

    if (j->form.kind == TL_FORM_STATES && tl_present_takes(j->form.op)) {
        tl_present_reduce(&j->ready.plan, threads, &j->in, out->data);
        *done = 1;
    } else if (j->in.rows == 1 && tl_present_blank(&j->form, &blank)) {
        TL_TRY(tl_plan_on_host(j->ctx, blank.op, blank.par, &plan));
        tl_present_reduce_blank(&plan, &blank, threads, &j->in, out->data);
        *done = 1;
    }
    return TALLY_OK;
}

static tally_status reduce(tl_job *j, const tally_view *out)
{
    int done = 0;
    TL_TRY(reduce_present(j, out, &done));
    if (done) return TALLY_OK;

    TL_TRY(tl_job_prepare(j, NULL, 0));
    if (j->form.kind != TL_FORM_STATES) return run(j, (tl_call){.verb = TL_REDUCE, .out = out});
    tl_states_rows(&j->ready, tally_threads(j->ctx), out, NULL, 0);
    return TALLY_OK;
}

tally_status tl_job_results(tl_job *j, const tally_view *out, int64_t bytes, tally_view *dense)
{
    assert(bytes > 0);
    const int64_t zero = out->offsets ? out->offsets[0] : 0, total = tl_view_elements(out);
    j->results = malloc((size_t)(total * bytes));
    if (!j->results) return tl_no_memory(j->ctx, (size_t)(total * bytes), "the results");
    *dense = *out;
    dense->data = tl_offset(j->results, -zero * bytes);
    dense->stride = 1;
    dense->row_stride = out->n;
    return TALLY_OK;
}

void tl_job_scatter(const tally_view *dense, const tally_view *out, int64_t bytes, int reverse)
{
    assert(bytes > 0);
    assert(dense->rows == out->rows);
    for (int64_t r = 0; r < out->rows; r++) {
        int64_t n;
        const char *from = tl_view_row(dense, r, bytes, &n);
        char *to = tl_view_row(out, r, bytes, &n);
        if (reverse && n) to += (n - 1) * out->stride * bytes;
        tl_copy_strided(to, reverse ? -out->stride : out->stride, from, 1, n, bytes);
    }
}

static tally_status scan(tl_job *j, const tally_view *y, const tally_scan_options *o)
{
    tally_scan_options forward = *o;
    forward.reverse = 0;
    TL_TRY(tl_job_prepare(j, y, o->reverse));
    const int direct = !j->ready.gathered.memory;
    tally_view dense = *y;
    if (!direct) TL_TRY(tl_job_results(j, y, j->ready.plan.op->result_bytes, &dense));
    if (j->form.kind == TL_FORM_STATES) {
        tl_scan s;
        tl_scan_begin(&s, &j->ready.plan, &forward);
        const tl_states_parts parts = {.exclusive = s.exclusive, .init = s.seeded ? &s.init : NULL};
        tl_states_rows(&j->ready, tally_threads(j->ctx), &dense, &parts, 0);
    } else {
        TL_TRY(run(j, (tl_call){.verb = TL_SCAN, .out = &dense, .scan = &forward}));
    }

    if (!direct) tl_job_scatter(&dense, y, j->ready.plan.op->result_bytes, o->reverse);
    return TALLY_OK;
}

/* Computes the ranges of one sequence, whose first element has number `first` in the job. */
static void run_ranges(tl_job *j, const tl_ranges *windows, tl_line line, int64_t first)
{
    const int threads = tally_threads(j->ctx);
    if (j->form.kind != TL_FORM_STATES || j->ready.plan.exact)
        tl_ranges_run(&j->ready.plan, &j->ready.count, threads, windows, line);
    else
        tl_states_ranges(&j->ready.plan, threads, windows, line, j->ready.there + first);
}

static void ranges(tl_job *j, const tally_view *out, const tally_window_options *o)
{
    const int64_t bytes = j->ready.plan.op->result_bytes;
    for (int64_t r = 0, first = 0; r < j->ready.work.rows; r++) {
        int64_t n, m;
        const char *x = tl_view_row(&j->ready.work, r, j->ready.plan.op->elem_bytes, &n);
        char *y = tl_view_row(out, r, bytes, &m);
        const tl_ranges windows = tl_ranges_of(o, n);
        run_ranges(j, &windows, (tl_line){x, 1, y, out->stride * bytes}, first);
        first += n;
    }
}

static tally_status window(tl_job *j, const tally_view *y, const tally_window_options *o)
{
    const int states = j->form.kind == TL_FORM_STATES && !j->ready.plan.exact;
    TL_TRY(tl_job_prepare(j, NULL, 0));

    if (!states) return run(j, (tl_call){.verb = TL_WINDOW, .out = y, .window = o});
    ranges(j, y, o);
    return TALLY_OK;
}

static tally_status on_processors(tl_job *j, const tl_call *call)
{
    TL_TRY(tl_job_to_host(j, &j->out));
    TL_TRY(call->verb == TL_REDUCE ? reduce(j, &j->out)
           : call->verb == TL_SCAN ? scan(j, &j->out, call->scan)
                                   : window(j, &j->out, call->window));
    return tl_host_back(&j->copies);
}

/* Runs a checked call on the device or on the processors. */
static tally_status run_job(tl_job *j, const tl_call *given)
{
    tl_call call = *given;
    tally_scan_options options = given->scan ? *given->scan : (tally_scan_options){0};
    char start[16];
    int done = 0;
    if (call.verb == TL_SCAN) call.scan = &options;
    if (call.verb != TL_REDUCE) tl_inputs_normal(&j->out);
    call.out = &j->out;

    /* the initial value may lie among the results; in it a NaN is a value, not the marker */
    if (options.init) {
        if (j->form.kind == TL_FORM_MARK)
            j->ready.plan.mask->quiet(start, options.init, j->form.op->out, 1);
        else
            memcpy(start, options.init, tally_dtype_size(j->form.op->out));
        options.init = start;
    }

    TL_LAW_FP;
    if (tl_view_elements(&j->in)) TL_TRY(run_on_device(j, &call, &done));
    return done ? TALLY_OK : on_processors(j, &call);
}

tally_status tl_inputs_run(tally *ctx, const char *op, const tl_call *call, void *results)
{
    const int reduces = call->verb == TL_REDUCE;
    TL_JOB(j);
    TL_TRY(tl_job_open(&j, ctx, op, call, call->plan != NULL));
    TL_TRY(reduces ? tl_check_results(ctx, j.form.op, &j.in, results, &j.out)
                   : tl_check_call(ctx, &j.ready.plan, j.form.named, call, &j.in,
                                   call->out ? &j.out : NULL));
    TL_TRY(tl_inputs_apart(ctx, &j.in, &j.out, j.form.op->result_bytes));

    /* a reduction gives a result also without elements */
    const int work =
        reduces ? j.in.rows > 0 : tl_has_elements(&j.in) && (j.out.offsets || j.out.n > 0);
    return work ? run_job(&j, call) : TALLY_OK;
}

tally_status tl_inputs_ranges(tally *ctx, const char *op, const tally_view *in,
                              const tl_ranges *windows, const tally_view *out)
{
    TL_JOB(j);
    TL_TRY(tl_job_open(&j, ctx, op, &(tl_call){.in = in}, 1));
    const int64_t bytes = j.form.op->result_bytes;

    TL_TRY(tl_inputs_apart(ctx, &j.in, out, bytes));
    TL_LAW_FP;
    TL_TRY(tl_job_prepare(&j, NULL, 0));
    run_ranges(&j, windows, (tl_line){j.ready.work.data, 1, out->data, tl_step(out->stride, bytes)},
               0);
    return TALLY_OK;
}
