/* SPDX-License-Identifier: MIT
 * window as a shape of the driver (driver.h). Adjacent sequences can be processed as one; then the
 * windows at their ends, which mixed two of them, are computed again, or have no value. */
#include "driver.h"
#include "context/view.h"
#include <string.h>

enum {
    GROUP_BYTES = 1024 * 1024, /* rows computed as one sequence */
    MANY = 16                  /* windows: longer rows are not joined */
};

/* Are rows adjacent, and faster as one sequence than one at a time, or than a lane for each?
 * Measured for f32 and f64, sum, max and var, windows of 20 and rows of 16 to 500 elements. */
static int faster_as_one(const tl_thread *t, const tl_window *win)
{
    const tally_view *in = t->run->call->in, *out = t->run->call->out;
    const int64_t n = in->n;
    if (in->offsets || in->row_stride != n || out->row_stride != n || out->n != n || n / 2 < win->w)
        return 0;
    return !t->run->lanes || !tl_lanes_take_rows(t->run->lanes) || (n >= 64 && n / 3 >= win->w);
}

/* The number of rows that are computed as one sequence; 0: they are not. */
static int64_t group_of(const tl_thread *t, const tl_window *win)
{
    if (win->count || !faster_as_one(t, win)) return 0;
    return GROUP_BYTES / (t->run->call->in->n * t->run->call->plan->op->elem_bytes) + 1;
}

/* Are sequences joined (driver.h)? Not segments so short that their other windows are most of the
 * work, unless that is cheap; nor rows so long that streaming all their windows is faster. */
static int is_joined(const tl_thread *t, const tl_window *win)
{
    const tally_view *in = t->run->call->in;
    const int one_field = t->run->call->plan->core->window_vectors == 8;
    if (win->edges != TALLY_EDGES_MISSING || win->min_count > 0) return 0;
    if (in->offsets)
        return tl_view_elements(in) / in->rows >= (one_field ? win->w / 8 : 2 * win->w);
    return faster_as_one(t, win) && in->n / MANY < win->w;
}

/* Prepares the memory of joined sequences; 0: out of memory. */
static int open_joined(tl_thread *t, tl_window *win)
{
    char *const memory =
        tl_scratch(t->run->ctx, t->number, TL_DENSE, 2 * (size_t)TL_JOINED_BYTES + 64);
    if (!memory) return 0;

    t->memory->window.joined =
        (tl_joined){.in = t->run->call->in, .none = memory, .tile = memory + TL_JOINED_BYTES};
    tl_window_empties(&(tl_window_job){.win = win, .out = memory}, 0,
                      TL_JOINED_BYTES / win->plan->op->result_bytes);
    win->joined = &t->memory->window.joined;
    win->prefetch = t->run->prefetch;
    return 1;
}

static tally_status open(tl_thread *t)
{
    const tl_call *c = t->run->call;
    tl_window *win = &t->memory->window.windows;

    tl_lock_take(TL_LOCK_ERROR); /* ctx holds one error, whichever thread writes it */
    const tally_status status = tl_window_open(win, t->run->ctx, c->plan, c->count, c->window,
                                               (tl_window_threads){t->number, t->threads});
    tl_lock_release(TL_LOCK_ERROR);

    if (status) {
        tl_window_close(win);
        return status;
    }

    t->memory->window.group = 0;
    if (t->run->longest && c->in->rows > 1 && c->in->stride == 1 && c->out->stride == 1) {
        const int joined = is_joined(t, win) && open_joined(t, win);
        if (!joined) t->memory->window.group = group_of(t, win);
        win->stream = (joined || t->memory->window.group) && t->run->stream;
    }
    return TALLY_OK;
}

static void close(tl_thread *t) { tl_window_close(&t->memory->window.windows); }

static tally_status part(tl_thread *t, const tl_part *p)
{
    return tl_window_run(&t->memory->window.windows, &(tl_slice){p->x, p->n, p->first, p->last},
                         TL_WINDOW_ALL, p->y);
}

/* ---- adjacent rows ---- */

/* The windows that are not full, at the start or end of each of `count` rows from x on: windows of
 * short rows, which are copied out, many at once. 0: out of memory. */
static int ends_of_rows(tl_thread *t, const char *x, int64_t count, char *y, int at_end)
{
    const tl_plan *plan = t->run->call->plan;
    const tally_window_options *o = t->run->call->window;
    const int64_t n = t->run->call->in->n, length = o->before + o->after,
                  ends = at_end ? o->after : o->before, bytes = plan->op->result_bytes,
                  first = at_end ? n - ends : 0, from = at_end ? length - ends : 0;
    if (!ends) return 1;

    /* at most 8 MiB: windows in lanes are short, and rows are twice as long */
    char *const results =
        tl_scratch(t->run->ctx, t->number, TL_DENSE, (size_t)(count * length * bytes));
    if (!results) return 0;

    tally_view in = tally_rows(x + (at_end ? n - length : 0) * plan->op->elem_bytes,
                               plan->op->dtype, count, length);
    in.row_stride = n;
    const tally_view out = tally_rows(results, plan->op->out, count, length);
    tl_lanes_job job;
    tl_lanes_begin(&job, plan, &in);
    tl_lanes_of_window(&job, &out, o);
    tl_lanes_batch *batch = tl_lanes_batch_open(t->run->ctx, t->number, &job);
    if (!batch) return 0;

    tl_lanes_rows(batch, 0, count, NULL, NULL);
    for (int64_t r = 0; r < count; r++)
        memcpy(y + (r * n + first) * bytes, results + (r * length + from) * bytes,
               (size_t)(ends * bytes));

    return 1;
}

/* May the windows at row ends be computed in lanes? Lanes read copies of the elements, so this
 * excludes conversions that depend on the address of an element (inputs/inputs.h). */
static int ends_may_be_lanes(const tl_thread *t)
{
    const tl_plan *plan = t->run->call->plan;
    return t->run->lanes && plan->op->inputs == 1 && !(plan->in && plan->in->apply_two);
}

/* Computes `count` adjacent rows from x on as one sequence. */
static tally_status rows_as_one(tl_thread *t, const char *x, int64_t count, char *y)
{
    tl_window *win = &t->memory->window.windows;
    const tl_scalar *op = t->run->call->plan->op;
    const int64_t n = t->run->call->in->n;

    tally_status status = tl_window_run(win, &(tl_slice){x, count * n, 0, 0}, TL_WINDOW_FULL,
                                        y + win->before * op->result_bytes);
    if (!status && ends_may_be_lanes(t) && ends_of_rows(t, x, count, y, 0) &&
        ends_of_rows(t, x, count, y, 1))
        return TALLY_OK;
    for (int64_t r = 0; r < count && !status; r++)
        status = tl_window_run(win, &(tl_slice){x + r * n * op->elem_bytes, n, 1, 1},
                               TL_WINDOW_ENDS, y + r * n * op->result_bytes);
    return status;
}

/* Joins sequences r .. end - 1. Those longer than run->longest are computed already. */
static tally_status join(tl_thread *t, int64_t r, int64_t end)
{
    const tl_call *c = t->run->call;
    const int64_t *const offset = c->in->offsets;
    int64_t stop = end, n;

    for (; r < end; r = stop + 1) {
        if (offset && t->run->longest < INT64_MAX)
            for (stop = r; stop < end && offset[stop + 1] - offset[stop] <= t->run->longest;)
                stop++;
        tl_slice s = {.at_start = 1, .at_end = 1};
        s.x = tl_view_row(c->in, r, c->plan->op->elem_bytes, &n);
        char *const y = tl_view_row(c->out, r, c->plan->op->result_bytes, &n);
        s.n = offset ? offset[stop] - offset[r] : (stop - r) * c->in->n;
        t->memory->window.joined.r = r;
        t->memory->window.joined.begin = t->memory->window.joined.none_from = 0;
        TL_TRY(tl_window_run(&t->memory->window.windows, &s, TL_WINDOW_ALL, y));
    }
    return TALLY_OK;
}

static tally_status rows(tl_thread *t, int64_t r, int64_t end, int *done)
{
    const tl_call *c = t->run->call;
    const int64_t group = t->memory->window.group;

    *done = 1;
    if (t->memory->window.windows.joined) return join(t, r, end);
    *done = group > 0;
    for (int64_t count, n; *done && r < end; r += count) {
        count = tl_min(end - r, group);
        const char *x = tl_view_row(c->in, r, c->plan->op->elem_bytes, &n);
        TL_TRY(rows_as_one(t, x, count, tl_view_row(c->out, r, c->plan->op->result_bytes, &n)));
    }
    return TALLY_OK;
}

const tl_shape tl_window_shape = {
    .open = open, .close = close, .part = part, .rows = rows, .lanes = 1};
