/* SPDX-License-Identifier: MIT
 * window: threads, and the full windows of a dense slice. The full windows are cut into parts,
 * which threads take. A part first reads the w - 1 elements before its first result, so a part is
 * at least as long as the window. */
#define _GNU_SOURCE
#include "driver.h"
#include "cpu/kernel/simd.h"
#include "narrow/narrow.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 64 * 1024, /* results whose valid elements are counted at a time */
    /* Upper bound of parts per thread; more parts balance the load. */
    PARTS = 8,
    /* Finer parts have at least so many times the elements that a part reads before its first
     * result. */
    WARM = 16,
    SLIDE_LEAST = 3 /* shorter windows are cheaper to fold */
};

/* Longer than any sequence. The sum of two does not overflow. */
static const int64_t FAR = (int64_t)1 << 60;

tally_status tl_window_open(tl_window *win, tally *ctx, const tl_plan *plan, const tl_plan *count,
                            const tally_window_options *options, tl_window_threads threads)
{
    assert(options->before >= 0 && options->after >= 0);
    *win = (tl_window){.ctx = ctx,
                       .window_plan = tl_plan_of_window(plan, options),
                       .plan = &win->window_plan,
                       .edges = options->edges,
                       .min_count = options->min_count};
    win->before = tl_min(options->before, FAR);
    win->after = tl_min(options->after, FAR);
    win->w = win->before + 1 + win->after;
    tl_plan_floats(&win->window_plan, win->w, &win->floats);
    win->least = tl_window_least(&win->window_plan, options, win->w);
    win->threads = threads.count > 1 ? threads.count : 1;
    win->thread_buffers = calloc((size_t)win->threads, sizeof *win->thread_buffers);
    if (!win->thread_buffers)
        return tl_no_memory(ctx, (size_t)win->threads * sizeof *win->thread_buffers,
                            "a window's threads");

    for (int t = 0; t < win->threads; t++) {
        win->thread_buffers[t].ctx = ctx;
        win->thread_buffers[t].thread = threads.first + t;
    }

    if (!tl_needs_count(plan, options)) return TALLY_OK;
    assert(count);
    tally_window_options all = *options;
    all.min_count = 0;
    if (all.edges == TALLY_EDGES_MISSING) all.edges = TALLY_EDGES_SHRINK;
    win->count = malloc(sizeof *win->count);
    if (!win->count) return tl_no_memory(ctx, sizeof *win->count, "a window's counts");

    return tl_window_open(win->count, ctx, count, NULL, &all, threads);
}

void tl_window_close(tl_window *win)
{
    for (int t = 0; win->thread_buffers && t < win->threads; t++)
        free(win->thread_buffers[t].allocation);
    free(win->thread_buffers);
    if (win->count) tl_window_close(win->count);
    free(win->count);
    free(win->counts);
    *win = (tl_window){0};
}

static int mode_of(const tl_plan *plan, int64_t w)
{
    if (plan->op->inverse && w >= SLIDE_LEAST) return TL_WINDOW_SLIDE;
    if (plan->op->idempotent && w >= tl_min(plan->core->vector_lanes, TL_WINDOW_LEVELS))
        return w < TL_WINDOW_OVERLAP ? TL_WINDOW_TWO : TL_WINDOW_BLOCKS;
    return TL_WINDOW_LADDER;
}

/* The results of `count` centres, from `first` on: where they are computed, and where they go. */
typedef struct {
    char *at, *out;
    int64_t first, count;
} window_results;

/* Sequence joined->r: the centres of its full windows are left .. right - 1. */
typedef struct {
    int64_t left, right, end;
} joined_sequence;

static joined_sequence sequence_of(const tl_window *win)
{
    const tl_joined *const joined = win->joined;
    const int64_t *const offsets = joined->in->offsets, r = joined->r,
                         n = offsets ? offsets[r + 1] - offsets[r] : joined->in->n,
                         end = joined->begin + n;
    return (joined_sequence){joined->begin + win->before, end - win->after, end};
}

/* Results that will be streamed are staged if windows that are not full may be among them. */
static window_results results_of(const tl_window_job *job, int64_t first, int64_t count)
{
    char *const out = tl_window_at(job, first);
    window_results t = {out, out, first, count};
    if (!job->win->joined || !job->stream) return t;

    const joined_sequence s = sequence_of(job->win);
    if (first < s.left || first + count > s.right)
        t.at = job->win->joined->tile + (uintptr_t)out % 64;
    return t;
}

/* Stores that centres a .. b - 1 have no value, as far as they are among the results of t. */
static void store_none(const tl_window_job *job, const window_results *t, int64_t a, int64_t b)
{
    const int64_t bytes = job->win->plan->op->result_bytes;
    a = tl_max(a, t->first);
    if (a < b)
        memcpy(t->at + (a - t->first) * bytes, job->win->joined->none, (size_t)((b - a) * bytes));
}

/* Called after the results of t were computed. Of joined sequences, finds the windows that are not
 * full, and moves the results to their place. */
static void finish_results(const tl_window_job *job, const window_results *t)
{
    tl_joined *const joined = job->win->joined;
    const int64_t stop = t->first + t->count;
    if (!joined) return;

    for (;;) {
        const joined_sequence s = sequence_of(job->win);
        if (s.left < s.right && s.left >= stop) break;
        if (s.left < s.right) {
            store_none(job, t, joined->none_from, s.left);
            joined->none_from = s.right;
        }
        if (s.end >= stop) break;
        joined->begin = s.end;
        joined->r++;
    }
    store_none(job, t, joined->none_from, stop);

    if (t->at != t->out)
        tl_stream_bytes(t->out, t->at, t->count * job->win->plan->op->result_bytes);
}

/* Computes the full windows that start at p .. stop - 1 by the fast path for narrow types
 * (narrow/narrow.h). 0: out of memory. */
static int narrow_windows(const tl_window_job *job, int64_t p, int64_t stop,
                          tl_window_buffers *buffers)
{
    const tl_plan *plan = job->win->plan;
    const int64_t bytes = plan->op->elem_bytes, need = tl_narrow_buffer(job->win->w) * bytes,
                  most = job->win->joined ? TL_JOINED_BYTES / 4 / bytes : stop - p;
    void *memory = need ? tl_window_memory(buffers, (size_t)need) : NULL;
    if (need && !memory) return 0;

    for (; p < stop; p += most) {
        const window_results t = results_of(job, p + job->win->before, tl_min(most, stop - p));
        const tl_narrow_run run = {.out = t.at,
                                   .x = job->x + p * bytes,
                                   .m = t.count,
                                   .stream = job->stream && t.at == t.out};
        plan->narrow->window(&run, job->win->w, memory, plan->keys);
        finish_results(job, &t);
    }
    if (job->stream) tl_stream_fence();
    return 1;
}

/* Computes the window that starts at p, from which others are made by sliding. */
static void begin_sliding(const tl_window_job *job, int64_t p, tl_window_work *work)
{
    const tl_plan *plan = job->win->plan;
    const int64_t w = job->win->w;
    const window_results t = results_of(job, p + job->win->before, 1);
    tl_state s;

    tl_fold(plan, &s, job->x + p * plan->op->elem_bytes, w, p, TL_CACHED);
    plan->op->lower(&s, w, p, plan->par, t.at);
    finish_results(job, &t);
    tl_window_start(plan, work, &s);
}

/* Computes the full windows that start at p .. stop - 1. 0: out of memory.
 *
 * The kernel gets the elements tile by tile. Element e completes the window that starts at
 * e - (w - 1). */
static int full_windows(const tl_window_job *job, int64_t p, int64_t stop,
                        tl_window_buffers *buffers)
{
    const tl_plan *plan = job->win->plan;
    const int64_t w = job->win->w, before = job->win->before, bytes = plan->op->elem_bytes,
                  tile = tl_window_tile(plan), end = stop + w - 1;
    const int mode = mode_of(plan, w), slides = mode == TL_WINDOW_SLIDE;
    if (plan->narrow) return narrow_windows(job, p, stop, buffers);
    if (!tl_window_prepare(buffers, plan, w, mode)) return 0;

    tl_window_work *work = &buffers->work;
    work->prefetch = job->win->prefetch ? job->win->prefetch : tl_prefetches(job->n * bytes);
    if (slides) begin_sliding(job, p++, work);

    /* The first element that the kernel gets, and how many come before one completes a window. */
    const int64_t begin = slides ? p + w - 1 : p, early = p + w - 1 - begin;

    /* Empty places before it align the results of all tiles for non-temporal stores. */
    int64_t padding = 0;
    if (job->stream)
        padding = (int64_t)((uintptr_t)tl_window_at(job, p + before) / plan->op->result_bytes -
                            (uint64_t)early) &
                  (plan->core->vector_lanes - 1);

    for (int64_t from = begin, m; from < end; from += m, padding = 0) {
        m = tl_min(end - from, tile - padding);
        const int64_t first = tl_max(from - (w - 1), p),
                      count = tl_max(from + m - (w - 1) - first, 0);
        const window_results t = results_of(job, first + before, count);
        tl_window_step(plan, work,
                       &(tl_window_piece){.x = job->x + from * bytes,
                                          .old = slides ? job->x + (from - w) * bytes : NULL,
                                          .back = from - begin,
                                          .beyond = job->n - from - m,
                                          .padding = padding,
                                          .m = m,
                                          .i = from},
                       t.at,
                       &(tl_lower){.from = padding + m - count,
                                   .m = count,
                                   .first = first,
                                   .stream = job->stream && t.at == t.out});
        if (count) finish_results(job, &t);
    }

    if (job->stream) tl_stream_fence();
    return 1;
}

/* The centres of a slice: the windows of first .. left - 1 are prefixes of it, those of right ..
 * stop - 1 suffixes. left .. right - 1 are cut into `parts` parts. whole: their windows are full;
 * otherwise each holds the whole slice. */
typedef struct {
    const tl_window_job *job;
    int64_t first, left, right, stop;
    int whole, parts;
} centres;

/* Computes one part. Task number `parts` is the prefixes, the task after it the suffixes. 0: out of
 * memory. */
static int part(const centres *c, int task, tl_window_buffers *buffers)
{
    const tl_window_job *job = c->job;
    const tl_window *win = job->win;
    int ok = 1;

    if (task < c->parts) {
        int64_t length = c->right - c->left, a = c->left + length * task / c->parts,
                b = c->left + length * (task + 1) / c->parts;
        if (a >= b) return 1;

        if (!c->whole)
            tl_window_wholes(job, a, b);
        else
            ok = full_windows(job, a - win->before, b - win->before, buffers);
    } else if (task == c->parts) {
        ok = c->first >= c->left || tl_window_prefixes(job, c->first, c->left, buffers);
    } else {
        ok = tl_window_suffixes(job, c->right, c->stop, buffers);
    }

    if (job->stream) tl_stream_fence();
    return ok;
}

typedef struct {
    const centres *c;
    int failed; /* a part was out of memory */
} cut_work;

static void compute_parts(void *data, const tl_worker *worker)
{
    cut_work *a = data;
    for (int64_t k; (k = tl_next_chunk(worker)) < worker->chunks;)
        if (!part(a->c, (int)k, &a->c->job->win->thread_buffers[worker->number]))
            __atomic_store_n(&a->failed, 1, __ATOMIC_RELAXED);
}

/* The centres of a slice whose windows have results: *first .. *stop - 1. Returns their number. */
static int64_t centres_of(const tl_window *win, const tl_slice *slice, int64_t *first,
                          int64_t *stop)
{
    const int valid = win->edges == TALLY_EDGES_VALID;
    *first = slice->at_start && !valid ? 0 : win->before;
    *stop = slice->at_end && !valid ? slice->n : slice->n - win->after;
    return tl_max(*stop - *first, 0);
}

/* How many parts `count` neighbouring windows of a slice of n elements are cut into. */
static int parts_of(const tl_window *win, int64_t n, int64_t count)
{
    const int64_t each = win->plan->op->elem_bytes + win->plan->op->result_bytes,
                  threads = win->threads;
    if (threads == 1 || n * each <= TL_PARALLEL_BYTES) return 1;
    const int64_t least = tl_max(win->w / 2, TL_PARALLEL_BYTES / 8 / each),
                  coarse = tl_min(count / least + 1, threads),
                  fine = tl_min(count / WARM / (win->w + least / WARM), PARTS * threads);
    return (int)tl_max(fine, coarse);
}

/* Computes the windows of a slice that `which` names. */
static tally_status run_slice(tl_window *win, const tl_slice *slice, int which, char *out)
{
    const tl_scalar *op = win->plan->op;
    int64_t first, stop;
    const int64_t count = centres_of(win, slice, &first, &stop);
    if (!count) return TALLY_OK;

    tl_window_job job = {win, slice->x, slice->n, first, out, win->least, 0};

    /* Non-temporal stores need results aligned to their size. */
    job.stream = (win->stream || count * op->result_bytes >= TL_STREAM_BYTES) &&
                 (uintptr_t)out % (op->result_bytes / (unsigned)op->lanes) == 0;

    /* Windows with centres lo .. hi - 1 are full. If lo > hi, those between have all elements. */
    const int64_t lo = win->before, hi = slice->n - win->after;
    centres c = {.job = &job,
                 .first = first,
                 .left = tl_clamp(tl_min(lo, hi), first, stop),
                 .right = tl_clamp(tl_max(lo, hi), first, stop),
                 .stop = stop,
                 .whole = lo < hi};
    if (which & TL_WINDOW_FULL) c.parts = parts_of(win, slice->n, c.right - c.left);

    cut_work all = {&c, 0};
    tl_parallel(c.parts > 1 ? win->threads : 1, c.parts + (which & TL_WINDOW_ENDS ? 2 : 0),
                compute_parts, &all);

    if (!all.failed) return TALLY_OK;
    return tl_thread_no_memory(win->ctx, (size_t)win->w * op->state_bytes, "a window's states");
}

/* Like run_slice, but a window with fewer than min_count elements that are not NaN has no value:
 * for each chunk of results, the operator's windows and those of `count`. A chunk is at least as
 * long as the window, so overlaps at most double the work. The first chunk has all windows beyond
 * the left end, the last those beyond the right end. */
static tally_status run_masked(tl_window *win, const tl_slice *slice, char *out)
{
    const tl_plan *plan = win->plan;
    const int64_t n = slice->n;
    const int valid = win->edges == TALLY_EDGES_VALID, bytes = plan->op->result_bytes;
    int64_t first, stop;
    centres_of(win, slice, &first, &stop);
    int64_t size = tl_min(win->w, n);
    size = tl_max(2 * size, CHUNK * (int64_t)win->threads);
    unsigned char empty[32];
    plan->op->empty(plan->par, empty);

    for (int64_t c = first, end; c < stop; c = end) {
        end = stop - c < 2 * size ? stop : c + size;
        if (end - c > win->counts_capacity) {
            free(win->counts);
            win->counts_capacity = 0;
            win->counts = malloc((size_t)(end - c) * sizeof *win->counts);
            if (!win->counts)
                return tl_thread_no_memory(win->ctx, (size_t)(end - c) * sizeof *win->counts,
                                           "a window's counts");
            win->counts_capacity = end - c;
        }

        int64_t a = c == first && slice->at_start && !valid ? 0 : c - win->before,
                b = end == stop && slice->at_end && !valid ? n : end + win->after;
        const tl_slice chunk = {.x = slice->x + a * plan->op->elem_bytes,
                                .n = b - a,
                                .at_start = a == 0 && c < win->before,
                                .at_end = b == n && end > n - win->after};
        char *to = out + (c - first) * bytes;
        TL_TRY(run_slice(win, &chunk, TL_WINDOW_ALL, to));
        TL_TRY(run_slice(win->count, &chunk, TL_WINDOW_ALL, (char *)win->counts));
        for (int64_t j = 0; j < end - c; j++)
            if (win->counts[j] < win->min_count) memcpy(to + j * bytes, empty, (size_t)bytes);
    }

    return TALLY_OK;
}

tally_status tl_window_run(tl_window *win, const tl_slice *slice, int which, char *out)
{
    return win->count ? run_masked(win, slice, out) : run_slice(win, slice, which, out);
}
