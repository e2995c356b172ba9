/* SPDX-License-Identifier: MIT
 * One driver for all calls on processors (driver.h). */
#include "driver.h"
#include "context/view.h"
#include <stdlib.h>

enum {
    /* Longer sequences are cut between threads if there are few, or of different lengths. */
    LONG_BYTES = 4 * 1024 * 1024,
    CHUNKS = 32, /* chunks of short sequences for each thread */

    /* A dense part of a strided sequence: at least, and at most to make the overlap of windows
     * small. */
    PART_BYTES = 16 * 1024,
    OVERLAPPED_PART_BYTES = 1024 * 1024,
    PAGE = 4096,
    KEPT_BYTES = 4 * 1024 * 1024, /* larger parts are freed at the end of the call */
    OVERLAPS = 16                 /* elements of a part for each element of overlap */
};

/* The sequences of a call that have least .. most elements. */
typedef struct {
    tl_run_of run;
    const tl_shape *shape;
    int64_t least, most;
    int dense;
    const struct parts *parts; /* one sequence, whose parts threads take; NULL: whole sequences */
    int64_t *next;             /* how many of each thread's chunks were taken */
    tally_status status;       /* a failure of any thread */
} pass;

typedef struct {
    tl_thread t;
    const pass *pass;
    void (*whole)(const tl_thread *,
                  int64_t r); /* the shape's; NULL: some sequences are too long */
    tally_status status;
    tl_lanes_batch *batch;
    char *large; /* memory for dense parts that are too large for the context */
    int64_t large_bytes;
    tl_shape_memory memory;
} worker;

static const tl_scalar *operator_of(const worker *w) { return w->t.run->call->plan->op; }

static tl_sequence sequence_of(const tl_call *c, int64_t r)
{
    const int64_t in = c->plan->op->elem_bytes, out = c->plan->op->result_bytes;
    tl_sequence s = {.x_stride = c->in->stride, .y_stride = c->out->stride};

    s.x = tl_view_row(c->in, r, in, &s.n);
    s.y = tl_view_row(c->out, r, out, &s.results);
    if (c->verb == TL_REDUCE) s.y_stride = 0;
    if (tl_is_reversed(c) && s.n > 0) {
        s.x = tl_offset(s.x, tl_step((s.n - 1) * s.x_stride, in));
        s.y = tl_offset(s.y, tl_step((s.n - 1) * s.y_stride, out));
        s.x_stride = -s.x_stride;
        s.y_stride = -s.y_stride;
    }

    return s;
}

/* The context's memory for dense parts, which is kept, or other memory for large ones. */
static char *part_memory(worker *w, int64_t bytes)
{
    if (bytes <= KEPT_BYTES) return tl_scratch(w->t.run->ctx, w->t.number, TL_DENSE, (size_t)bytes);
    if (bytes <= w->large_bytes) return w->large;
    free(w->large);
    w->large = malloc((size_t)bytes);
    w->large_bytes = w->large ? bytes : 0;
    return w->large;
}

/* The elements before and after its centre that a result needs; 0 for reductions and scans. */
static void reach_of(const tl_call *c, int64_t *before, int64_t *after)
{
    *before = c->verb == TL_WINDOW ? c->window->before : 0;
    *after = c->verb == TL_WINDOW ? c->window->after : 0;
}

/* The centres of a part, about `share`. Windows of neighbouring parts overlap, so a part is at
 * least twice as long as the window. */
static int64_t part_length(const tl_scalar *op, int64_t width, int64_t share)
{
    const int64_t bytes = tl_max(op->elem_bytes, op->result_bytes),
                  most = tl_min(OVERLAPPED_PART_BYTES / bytes, share);
    int64_t length = width < most / OVERLAPS ? width * OVERLAPS : most;
    length = tl_max(length, PART_BYTES / bytes);
    length = tl_max(length, 2 * width);
    return (length + TL_TILE - 1) & -(int64_t)TL_TILE;
}

/* A sequence in dense parts. The results of part k are those of `length` centres from begin +
 * k * length on; the last part may have more, up to `stop`. */
typedef struct parts {
    tl_sequence s;
    int64_t before, after; /* elements that a result needs besides its centre */
    int64_t begin, stop, length, count;
    int valid;
} parts;

/* share: elements of each thread. */
static parts parts_of(const tl_call *call, const tl_sequence *s, int64_t share)
{
    parts a = {.s = *s};

    reach_of(call, &a.before, &a.after);
    const int64_t width =
        a.before >= s->n || a.after >= s->n - a.before ? s->n : a.before + 1 + a.after;
    a.valid = call->verb == TL_WINDOW && call->window->edges == TALLY_EDGES_VALID;
    a.begin = a.valid ? a.before : 0;
    a.stop = a.valid ? s->n - a.after : s->n;
    a.length = part_length(call->plan->op, width, share);
    a.count = tl_max(a.stop - a.begin - width - 1, 0) / a.length + 1;

    return a;
}

/* Makes part k dense, computes it, and copies the results to their places. The first part has all
 * windows beyond the left end, the last those beyond the right end. */
static __attribute__((noinline)) tally_status run_part(worker *w, const parts *a, int64_t k)
{
    const tl_sequence *s = &a->s;
    const tl_scalar *op = operator_of(w);
    const int64_t in = op->elem_bytes,
                  out = w->t.run->call->verb == TL_REDUCE ? 0 : op->result_bytes,
                  c = a->begin + k * a->length, last = k + 1 == a->count,
                  end = last ? a->stop : c + a->length, from = k || a->valid ? c - a->before : 0,
                  to = last && !a->valid ? s->n : end + a->after;
    const char *const x = s->x + from * s->x_stride * in;
    char *const y = s->y + (c - a->begin) * s->y_stride * out;
    tl_part p = {x, to - from, y, !k, last, 0};
    const int copies_x = s->x_stride != 1, copies_y = s->y_stride != 1 && out;

    /* Results begin at the same place in a page as elements: a processor takes a load for one of a
     * store before it with that place. */
    const int64_t x_bytes = copies_x ? ((to - from) * in + PAGE - 1) & -(int64_t)PAGE : 0,
                  y_bytes = copies_y ? (end - c) * out : 0;
    char *dense = part_memory(w, x_bytes + y_bytes);
    if (!dense)
        return tl_thread_no_memory(w->t.run->ctx, (size_t)(x_bytes + y_bytes),
                                   "a dense part of a sequence");
    if (copies_x) tl_copy_strided(dense, 1, x, s->x_stride, to - from, in), p.x = dense;
    if (copies_y) p.y = dense + x_bytes;
    TL_TRY(w->pass->shape->part(&w->t, &p));
    if (copies_y) tl_copy_strided(y, s->y_stride, p.y, 1, end - c, out);
    return TALLY_OK;
}

static tally_status run_strided(worker *w, const tl_sequence *s)
{
    const parts a = parts_of(w->t.run->call, s, s->n);
    for (int64_t k = 0; k < a.count; k++) TL_TRY(run_part(w, &a, k));
    return TALLY_OK;
}

static void run_sequence(void *with, int64_t r)
{
    worker *w = with;
    if (w->whole) {
        w->whole(&w->t, r);
        return;
    }
    const tl_call *call = w->t.run->call;
    const tl_sequence s = sequence_of(call, r);
    if (w->status || s.n < w->pass->least || s.n > w->pass->most) return;

    /* without elements the data may be NULL */
    if (call->verb == TL_WINDOW ? !tally_window_length(s.n, call->window)
                                : !s.n && call->verb == TL_SCAN)
        return;

    const tl_shape *const shape = w->pass->shape;
    if (!shape->part) {
        w->status = shape->strided(&w->t, &s);
    } else if (s.n <= 1 || (s.x_stride == 1 && (s.y_stride == 1 || call->verb == TL_REDUCE))) {
        const tl_part p = {s.x, s.n, s.y, 1, 1, 1};
        w->status = shape->part(&w->t, &p);
    } else if (!shape->strided || w->t.threads == 1 || shape->strided(&w->t, &s)) {
        /* on this thread; also if there is no memory for several */
        w->status = run_strided(w, &s);
    }
}

/* ---- the sequences of one thread ---- */

static tally_status open_worker(worker *w, const pass *p, int number, int threads)
{
    /* not all fields: `memory` is a few KiB */
    w->t.run = &p->run;
    w->t.number = number;
    w->t.threads = threads;
    w->t.memory = &w->memory;
    w->pass = p;
    w->whole =
        p->dense && threads == 1 && !p->least && p->most == INT64_MAX ? p->shape->whole : NULL;
    w->status = TALLY_OK;
    w->batch = NULL;
    w->large = NULL;
    w->large_bytes = 0;

    /* A scan in place must not fail after its first part, so it gets the memory of the largest. */
    const tl_scalar *op = operator_of(w);
    const size_t most =
        p->run.call->verb != TL_SCAN || p->dense || !p->shape->part
            ? 0
            : (size_t)(part_length(op, 1, 0) + 1) * (op->elem_bytes + op->result_bytes) + PAGE;
    if (most && !tl_thread_memory(&w->t, TL_DENSE, most, "a dense part of a sequence"))
        return TALLY_NO_MEMORY;
    return p->shape->open ? p->shape->open(&w->t) : TALLY_OK;
}

static void close_worker(worker *w)
{
    if (w->pass->shape->close) w->pass->shape->close(&w->t);
    if (w->large) free(w->large);
}

/* Processes sequences r .. end - 1. */
static void run_sequences(worker *w, int64_t r, int64_t end)
{
    const tl_shape *shape = w->pass->shape;
    int done = 0;

    if (r >= end || w->status) return;
    if (shape->rows) w->status = shape->rows(&w->t, r, end, &done);
    if (done || w->status) return;
    if (!w->batch && w->t.run->lanes && tl_lanes_take_rows(w->t.run->lanes))
        w->batch = tl_lanes_batch_open(w->t.run->ctx, w->t.number, w->t.run->lanes);
    if (w->batch) { /* else there is no memory for it: one sequence at a time */
        tl_lanes_rows(w->batch, r, end, run_sequence, w);
        return;
    }
    for (; r < end; r++) run_sequence(w, r);
}

/* Processes the chunks of this thread, then what is left of the others'. So a thread has the same
 * sequences in each call, and finds them in its cache. */
static void run_shares(worker *w, const tl_worker *thread)
{
    const tally_view *in = w->t.run->call->in;
    const int64_t chunk_count = thread->chunks, threads = thread->threads;
    for (int64_t t = thread->number, k; t < thread->number + threads; t++) {
        const int64_t owner = t % threads, end = (owner + 1) * chunk_count / threads;
        while ((k = __atomic_fetch_add(&w->pass->next[owner], 1, __ATOMIC_RELAXED) +
                    owner * chunk_count / threads) < end)
            run_sequences(w, tl_share(in, k, chunk_count), tl_share(in, k + 1, chunk_count));
    }
    tl_next_chunks(thread, chunk_count);
}

static void run_chunks(void *data, const tl_worker *thread)
{
    pass *p = data;
    worker w;

    const tally_status opened = open_worker(&w, p, thread->number, 1);
    if (!opened) {
        if (!p->parts) run_shares(&w, thread);
        for (int64_t k; (k = tl_next_chunk(thread)) < thread->chunks;)
            if (!w.status) w.status = run_part(&w, p->parts, k);
        close_worker(&w);
    }

    /* A thread without memory leaves its work to the others. */
    if (opened == TALLY_NO_MEMORY) return;

    const tally_status status = opened ? opened : w.status;
    if (status) __atomic_store_n(&p->status, status, __ATOMIC_RELAXED);
}

/* ---- the sequences of a call ---- */

/* From this length on, sequences are processed on all threads, one after the other. */
static int64_t long_length(const tl_call *c, int threads, int64_t least_bytes)
{
    const tally_view *in = c->in;
    const int64_t bytes = c->plan->op->elem_bytes;
    if (in->rows < threads) return least_bytes / bytes;
    /* Chunks of rows of one length have equal work if there are enough of them. */
    const int even = !in->offsets && (in->rows >= 8 * (int64_t)threads || in->rows % threads == 0);
    return even ? INT64_MAX : LONG_BYTES / bytes;
}

static int64_t count_long(const tally_view *v, int64_t least)
{
    int64_t count = 0;
    if (!v->offsets) return v->n >= least ? v->rows : 0;
    for (int64_t r = 0, end; r < v->rows; r = end) {
        end = tl_min(r + 1024, v->rows); /* most often they are short together */
        for (int64_t j = r; j < end && v->offsets[end] - v->offsets[r] >= least; j++)
            count += v->offsets[j + 1] - v->offsets[j] >= least;
    }
    return count;
}

/* Processes chunks of sequences of about equal work, or the parts of one sequence. */
static tally_status run_chunked(pass *p, int threads, int64_t chunks)
{
    return tl_parallel(threads, chunks, run_chunks, p) ? p->status
                                                       : tl_no_memory(p->run.ctx, 0, "threads");
}

/* Windows of a sequence with strides: threads take its parts, unless they are few (returns 0). */
static int share_parts(pass *p, int threads, int64_t r)
{
    const tl_call *call = p->run.call;
    const tl_sequence s = sequence_of(call, r);
    if (s.n < p->least || s.n > p->most || !tally_window_length(s.n, call->window)) return 1;
    const parts a = parts_of(call, &s, s.n / threads);
    if (a.count < threads) return 0;
    p->parts = &a;
    const tally_status status = run_chunked(p, threads, a.count);
    if (status) p->status = status;
    p->parts = NULL;
    return 1;
}

/* Processes all sequences of a pass in turn, each on `threads` threads. */
static tally_status run_in_turn(pass *p, int threads)
{
    const tl_call *call = p->run.call;
    const int in_parts = call->verb == TL_WINDOW && p->shape->part && !p->dense && threads > 1;
    worker w;

    for (int64_t r = 0, end; r < call->in->rows && !p->status; r = end) {
        end = in_parts ? r + 1 : call->in->rows;
        if (in_parts && share_parts(p, threads, r)) continue;
        if ((p->status = open_worker(&w, p, 0, threads))) break;
        if (call->in->rows == 1)
            run_sequence(&w, 0);
        else
            run_sequences(&w, r, end);
        close_worker(&w);
        p->status = w.status;
    }

    return p->status;
}

static int lanes_of(tl_lanes_job *job, const tl_call *call)
{
    tl_lanes_begin(job, call->plan, call->in);
    if (call->verb == TL_WINDOW) return tl_lanes_of_window(job, call->out, call->window);
    if (call->verb == TL_SCAN)
        tl_lanes_of_scan(job, call->out, call->scan);
    else
        job->results = call->out->data;
    return 1;
}

static tl_weight elements_of(const tally_view *v)
{
    return v->offsets ? v->offsets[v->rows] - v->offsets[0] : (tl_weight)v->rows * v->n;
}

static int prefetch_of(tl_weight bytes)
{
    return bytes <= INT64_MAX ? tl_prefetches((int64_t)bytes) : TL_CACHED;
}

/* The threads for so many bytes: each has at least half of what is worth two threads. */
static int threads_for(tl_weight bytes, int64_t least, int threads)
{
    const tl_weight most = bytes <= least ? 1 : 2 * bytes / least;
    return most < threads ? (int)most : threads;
}

/* Runs a call by the functions of `shape`. */
static tally_status run_shape(tally *ctx, int threads, const tl_call *call, const tl_shape *shape)
{
    const tally_view *in = call->in, *out = call->out;
    const tl_scalar *op = call->plan->op;
    if (in->rows == 0) return TALLY_OK;

    const tl_weight bytes = elements_of(in) * op->elem_bytes;
    const int64_t sign = tl_is_reversed(call) ? -1 : 1;
    const int reads_dense = in->stride * sign == 1,
              dense = reads_dense && (call->verb == TL_REDUCE || out->stride * sign == 1);
    tl_lanes_job job;
    const int64_t least = shape->least_bytes ? shape->least_bytes : TL_PARALLEL_BYTES;

    if (in->rows == 1 && dense && shape->whole && (threads == 1 || bytes <= TL_PARALLEL_BYTES)) {
        const tl_run_of run = {.call = call, .prefetch = prefetch_of(bytes)};
        shape->whole(&(tl_thread){.run = &run}, 0);
        return TALLY_OK;
    }

    /* One dense sequence: the shape decides. */
    TL_TAKE_SCRATCH(ctx);
    if (in->rows > 1 || !dense) threads = threads_for(bytes, least, threads);
    const int lanes = in->rows > 1 && shape->lanes && lanes_of(&job, call);

    if (tl_are_columns(in)) {
        if (lanes) return tl_lanes_columns(ctx, &job, threads);
        if (shape->columns) return shape->columns(ctx, threads, call);
    }

    if (!tl_scratch_begin(ctx, threads)) return tl_no_memory(ctx, 0, "threads");

    pass p = {.run = {.ctx = ctx, .call = call}, .shape = shape, .most = INT64_MAX, .dense = dense};
    if (reads_dense) p.run.prefetch = prefetch_of(bytes);
    p.run.stream = dense && elements_of(out) * op->result_bytes >= TL_STREAM_BYTES;
    if (in->rows == 1) return run_in_turn(&p, threads);

    p.least = long_length(call, threads, least);
    const int64_t long_count = threads > 1 ? count_long(in, p.least) : 0;
    if (long_count) {
        const tally_status status = run_in_turn(&p, threads);
        if (status || long_count == in->rows) return status;
        p.most = p.least - 1;
    }

    p.least = 0;
    p.run.lanes = lanes ? &job : NULL;
    p.run.longest = p.most;
    if (threads == 1) return run_in_turn(&p, 1);

    int64_t next[TL_THREADS_MOST];
    p.next = memset(next, 0, (size_t)threads * sizeof *next);
    return run_chunked(&p, threads, CHUNKS * (int64_t)threads);
}

tally_status tl_run(tally *ctx, int threads, const tl_call *call)
{
    static const tl_shape *const shapes[][2] = {
        [TL_REDUCE] = {&tl_reduce_shape, &tl_exact_reduce_shape},
        [TL_SCAN] = {&tl_scan_shape, &tl_exact_scan_shape},
        [TL_WINDOW] = {&tl_window_shape, &tl_exact_window_shape}};
    const int ranges = call->verb == TL_WINDOW && !tl_window_streams(call->window);
    const tl_shape *const shape =
        ranges ? &tl_ranges_shape : shapes[call->verb][call->plan->exact != NULL];
    const tl_weight bytes = elements_of(call->in) * call->plan->op->elem_bytes;
    const int64_t least = shape->least_bytes ? shape->least_bytes : TL_PARALLEL_BYTES;
    const int64_t wake = TL_WAKE_BYTES >> (call->verb == TL_WINDOW);
    if (threads > 1 && bytes > TL_PARALLEL_BYTES && bytes <= wake && least >= TL_PARALLEL_BYTES &&
        call->plan->op->state_bytes <= 8 && !tl_calls_are_frequent())
        threads = 1;
    return run_shape(ctx, threads, call, shape);
}
