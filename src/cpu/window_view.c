/* SPDX-License-Identifier: MIT
 * window over views: each sequence goes through the windows of dense slices (window.h); a strided
 * sequence is copied to a dense buffer first. */
#include "shape.h"
#include "lanes.h"
#include "context/share.h"
#include "window.h"
#include "context/device.h"
#include "context/scratch.h"
#include "context/threads.h"
#include "context/view.h"
#include <stdlib.h>
#include <string.h>

enum {
    LONG_BYTES = 4 * 1024 * 1024,   /* larger segments are cut between threads */
    STREAM_BYTES = 4 * 1024 * 1024, /* results of at least this size use non-temporal stores */
    GROUP_BYTES = 1024 * 1024,      /* rows that are computed as one sequence */
    STRIDED_BYTES = 1024 * 1024     /* dense part of a strided sequence */
};

typedef struct {
    tl_window win;
    char *in, *out; /* dense parts of one sequence, grown when needed */
    int64_t in_room, out_room;
    int number; /* number of the thread in the context's scratch memory */
} worker;

static int grow(char **buffer, int64_t *room, int64_t bytes)
{
    if (bytes <= *room) return 1;
    char *more = realloc(*buffer, (size_t)bytes);
    if (!more) return 0;
    *buffer = more;
    *room = bytes;
    return 1;
}

/* Windows of a sequence with strided elements or results, one block of results at a time. A block
 * is at least as long as the window, so overlaps at most double the work. The first block has all
 * windows that reach beyond the left end, the last all that reach beyond the right end. */
static tally_status window_strided(tally *ctx, worker *w, const tl_plan *plan, const char *x,
                                   int64_t in_stride, int64_t n, char *y, int64_t out_stride,
                                   const tally_window_options *o)
{
    const int64_t in = plan->op->elem_bytes, out = plan->op->result_bytes,
                  width = w->win.w < n ? w->win.w : n;
    const int64_t least = STRIDED_BYTES / (in > out ? in : out),
                  size = 2 * width > least ? 2 * width : least;
    const int valid = o->edges == TALLY_EDGES_VALID, threads = w->win.threads;
    const int64_t first = valid ? o->before : 0, stop = valid ? n - o->after : n;
    tally_status status = TALLY_OK;
    for (int64_t c = first, end; c < stop && !status; c = end) {
        end = stop - c < 2 * size ? stop : c + size;
        const int64_t a = c == first && !valid ? 0 : c - o->before,
                      b = end == stop && !valid ? n : end + o->after;
        const char *from = x + a * in_stride * in;
        char *to = y + (c - first) * out_stride * out;
        int64_t count;
        if (!grow(&w->in, &w->in_room, in_stride == 1 ? 0 : (b - a) * in) ||
            !grow(&w->out, &w->out_room, out_stride == 1 ? 0 : (end - c) * out))
            return tl_no_memory(ctx, (size_t)((b - a) * in + (end - c) * out),
                                "a dense part of a sequence");
        if (in_stride != 1) tl_copy_strided_by(threads, w->in, 1, from, in_stride, b - a, in);
        status =
            tl_window_run(&w->win, in_stride == 1 ? from : w->in, b - a, a == 0 && c < o->before,
                          b == n && end > n - o->after, out_stride == 1 ? to : w->out, &count);
        if (!status && out_stride != 1)
            tl_copy_strided_by(threads, to, out_stride, w->out, 1, count, out);
    }
    return status;
}

static tally_status window_dense_or_strided(tally *ctx, worker *w, const tl_plan *plan,
                                            const tally_view *in, const tally_view *out, int64_t r,
                                            const tally_window_options *o)
{
    const tl_scalar *op = plan->op;
    int64_t n, m = 0, count;
    const char *x = tl_view_row(in, r, op->elem_bytes, &n);
    char *y = tl_view_row(out, r, op->result_bytes, &m);
    if (tally_window_length(n, o) == 0) return TALLY_OK;
    if (in->stride != 1 || out->stride != 1)
        return window_strided(ctx, w, plan, x, in->stride, n, y, out->stride, o);
    return tl_window_run(&w->win, x, n, TL_AT_END, TL_AT_END, y, &count);
}

/* What window_alone needs to process sequences one at a time. */
typedef struct {
    tally *ctx;
    worker *w;
    const tl_plan *plan;
    const tally_view *in, *out;
    const tally_window_options *o;
    int64_t least, most; /* lengths of the sequences to process */
    tally_status status;
} alone_work;

static void window_alone(void *with, int64_t r)
{
    alone_work *s = with;
    const tally_view *in = s->in;
    const int64_t n = in->offsets ? in->offsets[r + 1] - in->offsets[r] : in->n;
    if (!s->status && n >= s->least && n <= s->most)
        s->status = window_dense_or_strided(s->ctx, s->w, s->plan, in, s->out, r, s->o);
}

/* ---- adjacent rows ---- */

/* Adjacent rows can be processed as one long sequence. Then the windows at the ends of rows, which
 * mixed two rows, are computed again. */
static int rows_are_adjacent(const tl_window *win, const tally_view *in, const tally_view *out)
{
    return !in->offsets && in->stride == 1 && out->stride == 1 && in->row_stride == in->n &&
           out->row_stride == in->n && out->n == in->n && !win->count && in->n / 2 >= win->w &&
           in->rows > 1;
}

/* Is this faster than a lane for each row? Measured for f32 and f64, sum, max and var, windows of
 * 20 and rows of 16 to 500 elements. */
static int faster_as_one(const tl_window *win, int64_t n) { return n >= 64 && n / 3 >= win->w; }

/* May the windows at row ends be computed in lanes? Lanes read copies of the elements, so this
 * excludes conversions that depend on the address of an element (inputs/gather.h). */
static int ends_may_be_lanes(const tl_plan *plan)
{
    return plan->op->inputs == 1 && !(plan->in && plan->in->apply_two);
}

/* Computes the windows that are not full, at the start or at the end of each of `count` rows from x
 * on. They are windows of short rows, which are copied out; many are computed at once. 0: out of
 * memory. */
static int ends_of_rows(tally *ctx, worker *w, const tally_window_options *o, const char *x,
                        int64_t n, int64_t count, char *y, int at_end)
{
    const tl_plan *plan = w->win.plan;
    const int64_t length = o->before + o->after, ends = at_end ? o->after : o->before,
                  bytes = plan->op->result_bytes, first = at_end ? n - ends : 0;
    tl_lanes_job job;
    tally_view in = tally_rows(x + (at_end ? n - length : 0) * plan->op->elem_bytes,
                               plan->op->dtype, count, length),
               out = tally_rows(NULL, plan->op->out, count, length);
    if (!ends) return 1;
    in.row_stride = n;
    if (!grow(&w->out, &w->out_room, count * length * bytes)) return 0;
    out.data = w->out;
    tl_lanes_begin(&job, plan, &in);
    tl_lanes_of_window(&job, &out, o);
    tl_lanes_batch *batch = tl_lanes_batch_open(ctx, w->number, &job);
    if (!batch) return 0;
    tl_lanes_rows(batch, 0, count, NULL, NULL);
    for (int64_t r = 0; r < count; r++)
        memcpy(y + (r * n + first) * bytes,
               w->out + (r * length + (at_end ? length - ends : 0)) * bytes,
               (size_t)(ends * bytes));
    return 1;
}

static tally_status rows_at_once(tally *ctx, worker *w, const tally_window_options *o, int lanes,
                                 const char *x, int64_t n, int64_t count, char *y)
{
    const tl_scalar *op = w->win.plan->op;
    tally_status status = tl_window_full(&w->win, x, count * n, y);
    if (!status && lanes && ends_of_rows(ctx, w, o, x, n, count, y, 0) &&
        ends_of_rows(ctx, w, o, x, n, count, y, 1))
        return TALLY_OK;
    for (int64_t r = 0; r < count && !status; r++)
        status =
            tl_window_ends(&w->win, x + r * n * op->elem_bytes, n, y + r * n * op->result_bytes);
    return status;
}

/* ---- views ---- */

/* What a thread needs for its chunks of a view. */
typedef struct {
    worker w;
    alone_work alone;
    tl_lanes_batch *batch; /* NULL: one sequence at a time */
    int64_t group;         /* adjacent rows per run; 0: rows are separate */
    int lanes;
} thread_work;

/* Computes rows r .. end - 1. */
static void window_rows(tally *ctx, thread_work *s, int64_t r, int64_t end)
{
    alone_work *alone = &s->alone;
    const tally_view *in = alone->in, *out = alone->out;
    const tl_scalar *op = alone->plan->op;
    if (s->batch) tl_lanes_rows(s->batch, r, end, window_alone, alone), r = end;
    for (int64_t rows, n; s->group && !alone->status && r < end; r += rows) {
        rows = end - r < s->group ? end - r : s->group;
        alone->status =
            rows_at_once(ctx, &s->w, alone->o, s->lanes, tl_view_row(in, r, op->elem_bytes, &n),
                         in->n, rows, tl_view_row(out, r, op->result_bytes, &n));
    }
    for (; r < end; r++) window_alone(alone, r);
}

/* A call on the sequences of `least` to `most` elements. */
typedef struct {
    tally *ctx;
    const tl_plan *plan, *count;
    int threads;             /* threads for each sequence, if sequences are processed in turn */
    int lanes;               /* the windows at row ends may be computed in lanes */
    const tl_lanes_job *job; /* how short sequences are processed in lanes, or NULL */
    const tally_view *in, *out;
    const tally_window_options *o;
    int64_t least, most;
    tally_status status; /* the last failure */
} view_work;

/* Processes all sequences in turn (team NULL), or the chunks that one thread of a team takes. */
static tally_status work(const view_work *v, const tl_worker *team)
{
    tally *ctx = v->ctx;
    const tally_view *in = v->in, *out = v->out;
    thread_work s = {.alone = {ctx, &s.w, v->plan, in, out, v->o, v->least, v->most, TALLY_OK},
                     .lanes = v->lanes};
    s.w.number = team ? team->number : 0;
    tl_lock_take(TL_LOCK_ERROR); /* ctx holds one error, whichever thread writes it */
    s.alone.status =
        tl_window_open(&s.w.win, ctx, v->plan, v->count, v->o, s.w.number, team ? 1 : v->threads);
    tl_lock_release(TL_LOCK_ERROR);
    const int opened = !s.alone.status, follow = opened && rows_are_adjacent(&s.w.win, in, out);
    if (follow) s.group = GROUP_BYTES / (in->n * v->plan->op->elem_bytes) + 1;
    if (v->job && opened && !(follow && faster_as_one(&s.w.win, in->n)))
        s.batch = tl_lanes_batch_open(ctx, s.w.number, v->job);
    s.w.win.stream = follow && in->rows * in->n * v->plan->op->result_bytes >= STREAM_BYTES;
    if (!team) window_rows(ctx, &s, 0, in->rows);
    for (int64_t t; team && (t = tl_next_chunk(team)) < team->chunks;)
        window_rows(ctx, &s, tl_share(in, t, team->chunks), tl_share(in, t + 1, team->chunks));
    tl_window_close(&s.w.win);
    free(s.w.in);
    free(s.w.out);
    return s.alone.status;
}

static void work_shared(void *data, const tl_worker *team)
{
    view_work *v = data;
    const tally_status status = work(v, team);
    if (status) __atomic_store_n(&v->status, status, __ATOMIC_RELAXED);
}

tally_status tl_window_view(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads,
                            const tally_view *in, const tally_view *out,
                            const tally_window_options *o)
{
    int64_t total =
        in->offsets ? (in->rows ? in->offsets[in->rows] - in->offsets[0] : 0) : in->rows * in->n;
    tl_lanes_job job;
    tl_lanes_begin(&job, plan, in);
    const int lanes = tl_lanes_of_window(&job, out, o);
    if (lanes && tl_lanes_take_columns(in)) return tl_lanes_columns(ctx, &job, threads);
    if (!tl_scratch_begin(ctx, threads)) return tl_no_memory(ctx, 0, "threads");
    const int by_lanes = lanes && ends_may_be_lanes(plan);
    const tl_lanes_job *many = lanes && tl_lanes_take_rows(&job) ? &job : NULL;
    view_work all = {ctx, plan, count, threads, by_lanes, many, in, out, o, 0, INT64_MAX, TALLY_OK};
    if (threads == 1 || in->rows < threads || total * plan->op->elem_bytes <= TL_PARALLEL_BYTES)
        return work(&all, NULL);
    /* Long segments first, one after the other, each on all threads. Then chunks of about equal
     * weight. */
    const int64_t long_length = LONG_BYTES / plan->op->elem_bytes;
    int64_t long_segments = 0;
    for (int64_t r = 0; in->offsets && r < in->rows; r++)
        long_segments += in->offsets[r + 1] - in->offsets[r] >= long_length;
    if (long_segments) {
        view_work first = all;
        first.job = NULL;
        first.least = long_length;
        const tally_status failed = work(&first, NULL);
        if (failed) return failed;
        all.most = long_length - 1;
    }
    tl_parallel(threads, (int64_t)threads * 32, work_shared, &all);
    return all.status;
}
