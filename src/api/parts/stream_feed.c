/* SPDX-License-Identifier: MIT
 * Pushes of views into reductions and scans, after their checks. One sequence goes through a feed
 * (cpu/inputs/inputs.h). Many sequences go into the grid, or if the grid does not support the push,
 * into one slab, which has a state of each sequence for each node. The grid is the processors', or
 * the device's if the first steps are in device memory and the device has grids. The state is
 * converted between grids by way of the slab. */
#include "context/view.h"
#include "parts.h"
#include "law/fp.h"
#include <assert.h>
#include <stdlib.h>

static const tl_state *init_of(const tally_stream *s) { return s->seeded ? &s->scan.init : NULL; }

/* Pushes a view of host memory into a stream of one sequence. */
static tally_status feed(tally_stream *s, const tally_view *in, const tally_view *out)
{
    assert(!s->many);
    tl_counter *const done = &s->scan.done, nodes;
    tl_feed f;
    TL_TRY(tl_feed_open(s->ctx, &s->plan, tl_has_absent(in) || done->counted, 0, &f));

    TL_LAW_FP;
    if (f.counted) tl_counter_raise(done, s->plan.op);
    if (s->verb == TL_SCAN)
        return tl_feed_scan(s->ctx, &f, in, out, &s->scan, s->seeded ? s->init : NULL);

    TL_FREED tl_slab *const slab =
        tl_slab_new(done->end, done->end + in->n, 1, s->plan.op, f.counted);
    if (!slab) return tl_no_memory(s->ctx, sizeof nodes, "a push");
    TL_TRY(tl_feed_slab(s->ctx, &f, in, slab));
    tl_slab_get(slab, 0, &nodes);
    tl_counter_append(done, s->plan.op, &nodes);
    return TALLY_OK;
}

static tally_status no_nodes(const tally_stream *s)
{
    return tl_no_memory(s->ctx, (size_t)s->rows * sizeof(tl_state), "the nodes of a field");
}

static tally_status grid_to_slab(tally_stream *s)
{
    assert(s->many);
    if (!s->grid) return TALLY_OK;

    if (s->pushed) {
        tl_slab *const slab = tl_slab_new(0, s->pushed, s->rows, s->plan.op, 0);
        const tally_status status = slab ? s->grid->calls->nodes(s->ctx, s->grid, slab) : TALLY_OK;
        if (status) free(slab);
        if (status) return status;
        if (!tl_slabs_append(&s->slabs, slab)) return no_nodes(s);
    }

    tl_grid_close(s->grid);
    s->grid = NULL;
    s->on_device = 0;
    return TALLY_OK;
}

/* Makes a grid with the state of the slab. step: the data of the push to come. NULL: no memory. */
static tl_grid *grid_of_slabs(const tally_stream *s, int on_device, const void *step)
{
    const tally_scan_options o = {.exclusive = s->scan.exclusive,
                                  .init = s->seeded ? s->init : NULL};
    tl_grid *grid = NULL;

    if (!on_device)
        grid = tl_grid_open(&s->plan, s->rows, s->verb == TL_SCAN, &o);
    else if (s->device->calls->grid(s->device, s->ctx, &s->plan, s->rows, step, &grid))
        return NULL;
    if (grid && s->slabs.count && grid->calls->fill(s->ctx, grid, s->slabs.slab[0], init_of(s))) {
        tl_grid_close(grid);
        return NULL;
    }
    return grid;
}

/* Converts the slab back to a grid, at the end of a block of steps. If there is no memory, the
 * slab is kept, with the same results. */
static void slab_to_grid(tally_stream *s, const void *step)
{
    if (s->grid || s->plan.op->inputs == 2 || tl_slabs_counted(&s->slabs) ||
        s->pushed % TL_GRID_BLOCK)
        return;
    s->on_device = s->place == TL_ON_DEVICE;
    if (!(s->grid = grid_of_slabs(s, s->on_device, step)) && s->on_device) {
        s->place = TL_ON_HOST;
        s->on_device = 0;
        s->grid = grid_of_slabs(s, 0, step);
    }

    if (s->grid) tl_slabs_free(&s->slabs);
}

/* Makes a grid for marked elements before a first push with validity, if the operator has that
 * form. */
static tally_status mark_grid(tally_stream *s)
{
    assert(s->many);
    tl_feed *const f = &s->mark;
    const int scans = s->verb == TL_SCAN;
    char quiet[16];
    tl_form_begin(&f->form, s->plan.op, s->plan.par, 1);
    if (f->form.kind != TL_FORM_MARK || f->form.op->inputs == 2) return TALLY_OK;

    TL_TRY(tl_plan_on_host(s->ctx, f->form.op, f->form.par, &f->plan));

    /* in the initial value a NaN is a value, not the marker */
    if (s->seeded) f->plan.mask->quiet(quiet, s->init, f->form.op->out, 1);
    tl_grid *const grid = tl_grid_open(
        &f->plan, s->rows, scans,
        &(tally_scan_options){.exclusive = s->scan.exclusive, .init = s->seeded ? quiet : NULL});
    if (!grid) return tl_no_memory(s->ctx, (size_t)s->rows * f->form.op->elem_bytes, "a field");

    tl_grid_close(s->grid);
    s->grid = grid;
    s->marked = 1;
    return TALLY_OK;
}

/* Pushes a view by the slab. */
static tally_status push_slabs(tally_stream *s, const tally_view *in, const tally_view *out)
{
    const int scans = s->verb == TL_SCAN, absent = tl_has_absent(in) || tl_slabs_counted(&s->slabs);
    const int64_t end = s->pushed + in->n;
    tl_feed f;

    tally_status status;
    TL_TRY(grid_to_slab(s));
    TL_TRY(tl_feed_open(s->ctx, &s->plan, absent, scans, &f));

    const int counted = f.counted || tl_slabs_counted(&s->slabs);
    tl_slabs more = {0};
    tl_slab *const slab = tl_slab_new(scans ? 0 : s->pushed, end, s->rows, s->plan.op, counted);
    if (!slab || !tl_slabs_append(&more, slab)) return no_nodes(s);

    if (scans)
        status = tl_feed_rows(s->ctx, &f, in, out,
                              &(tl_states_parts){s->slabs.count ? s->slabs.slab[0] : NULL, slab,
                                                 s->scan.exclusive, init_of(s)});
    else
        status = tl_feed_slab(s->ctx, &f, in, slab);

    if (!status && scans) { /* the new slab includes the old one */
        const tl_slabs old = s->slabs;
        s->slabs = more;
        more = old;
    } else if (!status && !tl_slabs_join(&s->slabs, &more, s->plan.op, tl_share_slabs,
                                         tally_threads(s->ctx))) {
        status = no_nodes(s);
    }

    tl_slabs_free(&more);
    return status;
}

/* Pushes a view of host memory into a stream of many sequences. */
static tally_status push_rows(tally_stream *s, const tally_view *in, const tally_view *out)
{
    assert(s->many);
    assert(in->rows == s->rows);
    const int plain = !tl_has_inputs(in), threads = tally_threads(s->ctx);
    const int64_t left = -s->pushed & (TL_GRID_BLOCK - 1);
    tl_feed f;
    if (plain || s->place != TL_ON_DEVICE) slab_to_grid(s, in->data);

    /* first to the end of a block by the slab, then into the grid */
    if (!s->grid && plain && left && left < in->n) {
        const int64_t bytes = s->plan.op->elem_bytes, result = s->plan.op->result_bytes,
                      rest = in->n - left;
        const tally_view a = tl_view_part(in, 0, left, bytes),
                         b = tl_view_part(in, left, rest, bytes),
                         c = tl_view_part(out, 0, left, result),
                         d = tl_view_part(out, left, rest, result);
        TL_TRY(push_rows(s, &a, &c));
        return push_rows(s, &b, &d);
    }

    if (s->grid && !plain && !s->pushed) TL_TRY(mark_grid(s));
    if (s->marked) return tl_feed_grid(s->ctx, &s->mark, in, out, s->grid, &s->pushed);

    if (s->grid && !plain) {
        TL_TRY(tl_feed_open(s->ctx, &s->plan, 1, 0, &f));
        if (tl_feed_fits_grid(&f) && !s->on_device)
            return tl_feed_grid(s->ctx, &f, in, out, s->grid, &s->pushed);
    }

    TL_TRY(!s->grid || !plain ? push_slabs(s, in, out)
                              : s->grid->calls->push(s->ctx, s->grid, threads, in, out));
    s->pushed += in->n;
    return TALLY_OK;
}

/* ---- the device's grid ---- */

/* The first push decides: a push goes to the device's grid if its elements are in device memory. */
static tally_status is_for_device(tally_stream *s, const tally_view *in, int *is)
{
    const tl_device_calls *const calls = s->device->calls;
    *is = 0;
    if (!s->many || s->verb != TL_REDUCE || s->plan.exact || tl_has_inputs(in) || s->marked ||
        s->plan.op->inputs == 2 || !calls->grid)
        return TALLY_OK;

    if (s->place == TL_NOWHERE) {
        tl_device *owner;
        TL_TRY(calls->owner(s->device, s->ctx, in->data, &owner));
        s->place = owner ? TL_ON_DEVICE : TL_ON_HOST;
    }

    *is = s->place == TL_ON_DEVICE && !tl_slabs_counted(&s->slabs);
    return TALLY_OK;
}

/* *is: p is memory of another member of several devices, which the grid's member cannot access. */
static tally_status is_foreign(const tally_stream *s, const void *p, int *is)
{
    tl_device *owner = NULL;
    const tally_status status =
        s->ctx->members ? s->device->calls->owner(s->device, s->ctx, p, &owner) : TALLY_OK;
    *is = owner && owner != s->grid->device;
    return status;
}

/* Called after a failure of the device. Returns 1 if the processors continue. If the grid cannot be
 * read, the context keeps the first error. */
static int continue_on_host(tally_stream *s)
{
    char sentence[sizeof s->ctx->error];
    memcpy(sentence, s->ctx->error, sizeof sentence);
    if (grid_to_slab(s)) {
        memcpy(s->ctx->error, sentence, sizeof sentence);
        return 0;
    }
    s->place = TL_ON_HOST;
    return 1;
}

static tally_status push_host(tally_stream *s, const tally_view *in)
{
    assert(in->n > 0);
    tally_view from = *in, none = *in;
    TL_HOST_COPIES(copies, s->ctx);
    none.n = 0;
    s->device->on_processors += in->rows * in->n;
    TL_TRY(tl_inputs_bring(&copies, &from, NULL));
    return push_rows(s, &from, &none);
}

/* Elements in memory of any kind. If the device does not support it or has no memory, the
 * processors continue. */
static tally_status push_device(tally_stream *s, const tally_view *in)
{
    assert(s->many);
    assert(in->n > 0);
    const int64_t left = -s->pushed & (TL_GRID_BLOCK - 1), bytes = s->plan.op->elem_bytes;
    tally_view from = *in;
    TL_HOST_COPIES(copies, s->ctx);
    int foreign;

    /* here the processors' grid is empty */
    if (!s->pushed && !s->on_device && s->grid) grid_to_slab(s);

    if (!s->grid && left) { /* to the end of a block */
        const tally_view a = tl_view_part(in, 0, tl_min(left, in->n), bytes),
                         b = tl_view_part(in, a.n, in->n - a.n, bytes);
        const tally_status status = push_host(s, &a);
        return status || !b.n ? status : push_device(s, &b);
    }

    slab_to_grid(s, in->data);
    if (!s->on_device) return push_host(s, in);

    tally_status status = is_foreign(s, in->data, &foreign);
    if (!status && foreign) status = tl_host_view(&copies, &from, bytes, 0);
    if (!status) status = s->grid->calls->push(s->ctx, s->grid, tally_threads(s->ctx), &from, NULL);
    if (!status) s->pushed += in->n;
    return !status || !continue_on_host(s) ? status : push_host(s, in);
}

/* Pushes a checked and normal view of host memory. */
static tally_status push(tally_stream *s, const tally_view *in, const tally_view *out)
{
    assert(in->rows == s->rows && !in->offsets);
    tally_status status;
    if (s->verb == TL_WINDOW) return tl_steps_push(s, in, out);
    if (s->plan.exact) {
        const tally_scan_options o = {.exclusive = s->scan.exclusive};
        const tl_call call = {
            .plan = &s->plan, .in = in, .out = s->verb == TL_SCAN ? out : NULL, .scan = &o};
        status = tl_job_exact_rows(s->ctx, &call, s->exact);
        s->broken = status != TALLY_OK;
        return status;
    }
    if (!s->many) return feed(s, in, out);
    TL_LAW_FP;
    return push_rows(s, in, out);
}

/* sum:checked, but for windows; the view is in memory of any kind. */
static tally_status add_totals(tally_stream *s, const tally_view *in, const tally_view *out)
{
    const tl_running running = {out, s->scan.exclusive, s->pushed};
    const tally_status status =
        tl_totals_add(s->ctx, s->totals, in, s->verb == TL_SCAN ? &running : NULL);
    s->broken = status == TALLY_NO_DEVICE; /* the results were not copied, but the sums changed */
    if (!status) s->pushed += in->n;
    return status;
}

tally_status tl_stream_push_checked(tally_stream *s, tally_view *in, tally_view *next,
                                    tally_view *out)
{
    if (s->totals) return add_totals(s, in, out);
    TL_HOST_COPIES(copies, s->ctx);
    const int64_t pushed = s->pushed;
    int for_device;
    tally_status status = is_for_device(s, in, &for_device);
    if (!status && for_device) {
        TL_LAW_FP;
        status = push_device(s, in);
        s->broken = status && s->pushed != pushed; /* a part of the elements was pushed */
        return status;
    }

    if (!status && s->verb != TL_WINDOW) s->device->on_processors += in->rows * in->n;
    if (!status) status = tl_inputs_bring(&copies, in, next);
    if (!status && s->verb != TL_REDUCE)
        status = tl_host_view(&copies, out, s->plan.op->result_bytes, 1);
    if (!status) status = push(s, in, out);
    if (!status) s->pushed = pushed + in->n;
    if (!status) status = tl_host_back(&copies);
    s->broken |= status && s->pushed != pushed;
    return status;
}

tally_status tl_stream_lower_rows(tally_stream *s, void *out)
{
    const int threads = tally_threads(s->ctx);
    const int64_t bytes = s->rows * s->plan.op->result_bytes;
    TL_HOST_COPIES(copies, s->ctx);

    if (s->on_device) {
        TL_HOST_COPIES(foreign_copy, s->ctx);
        void *to = out;
        int foreign;
        tally_status status = is_foreign(s, out, &foreign);
        if (!status && foreign) status = tl_host_copy(&foreign_copy, &to, 0, bytes, 1);
        if (!status) status = s->grid->calls->result(s->ctx, s->grid, threads, to);
        if (!status) status = tl_host_back(&foreign_copy);
        if (!status || !continue_on_host(s)) return status;
    }

    TL_TRY(tl_host_copy(&copies, &out, 0, bytes, 1));
    if (!s->grid)
        tl_rows_lower(&(tl_lowering){&s->slabs, NULL, &s->plan, out}, threads, s->rows);
    else if (s->rows)
        TL_TRY(s->grid->calls->result(s->ctx, s->grid, threads, out));
    return tl_host_back(&copies);
}

tally_status tl_stream_start(tally_stream *s, const tl_slabs *slabs)
{
    assert(s->many);
    assert(s->pushed == 0);
    TL_LAW_FP;
    const int good = !slabs->count || tl_slabs_join(&s->slabs, slabs, s->plan.op, tl_share_slabs,
                                                    tally_threads(s->ctx));
    if (good && slabs->count) {
        tl_grid_close(s->grid); /* it is empty */
        s->grid = NULL;
        s->pushed = slabs->slab[0]->end;
    }

    return good ? TALLY_OK : no_nodes(s);
}
