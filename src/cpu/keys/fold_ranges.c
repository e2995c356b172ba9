/* SPDX-License-Identifier: MIT
 * Windows that are arbitrary ranges, on several threads.
 *
 *   results          in the order of the tiles in which their ranges end (`order`; NULL: unchanged)
 *     chunk          taken by one thread and cut into
 *       batch        results whose ranges end in one tile. They are folded together from the nodes
 *                    of every level, unless it costs less to fold each range
 *       one by one   from its elements
 *
 * Without memory all ranges are folded one by one, so these windows never fail. */
#include "keys.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/exact/exact.h"
#include "cpu/widen.h"
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 4096,            /* fewest results of a chunk */
    SECOND_THREAD = 1 << 15, /* fewest elements for several threads */
    /* Fixed cost of folding a range from its elements, in units of one element. */
    FOLD_ALONE = 64
};

/* The memory of one thread. */
typedef struct {
    tl_range_nodes nodes, count_nodes;
} worker;

/* One call. The caller's range number r is at place i of the order. */
typedef struct {
    const tl_plan *plan, *count; /* count: for min_count; NULL: all elements are present */
    const tl_ranges *ranges;
    tl_line line;         /* the sequence, and the results */
    const int64_t *order; /* place i has range order[i]; NULL: range i */
    int64_t *counts;      /* NULL, or for min_count: the counted elements of each range */
    /* ranges of at least 2^levels elements are folded one by one; 0: the sequence is not dense */
    int levels;
    int64_t chunk; /* places of a chunk, which a thread takes */
} job;

/* place: in the order; number: the caller's. */
typedef struct {
    int64_t from, end, place, number;
} range;

static char *result_at(const job *j, int64_t number)
{
    return (char *)j->line.y + number * j->line.y_stride;
}

/* Finds the first range of places a .. b - 1 that has enough elements, and writes empty results for
 * the ranges before it. 0: there is none. */
static int next_range(const job *j, int64_t a, int64_t b, range *at)
{
    for (int64_t i = a; i < b; i++) {
        const int64_t r = j->order ? j->order[i] : i;
        const int full = tl_range_at(j->ranges, r, &at->from, &at->end);
        const int64_t counted = j->counts ? j->counts[r] : at->end - at->from;
        at->number = r;
        at->place = i;
        if (full && at->from < at->end && counted >= j->ranges->min_count) return 1;
        j->plan->op->empty(j->plan->par, result_at(j, at->number));
    }
    at->place = b;
    return 0;
}

/* Lowers the states of a batch to results. */
static void lower_batch(const job *j, tl_range_nodes *s, int64_t count)
{
    const tl_scalar *const op = j->plan->op;
    const int64_t bytes = op->result_bytes, first = s->number[0];
    int dense = j->line.y_stride == bytes;

    for (int64_t i = 0; i < count && dense; i++) dense = s->number[i] == first + i;
    const int in_place = dense && !j->plan->out && count % TL_ABREAST == 0;
    char *const to = in_place ? result_at(j, first) : s->out;
    tl_lower_counted(j->plan, (tl_staging){s->soa, s->result}, to, count, s->length,
                     op->indexed ? s->place : NULL);
    if (dense && !in_place) memcpy(result_at(j, first), to, (size_t)(count * bytes));
    for (int64_t i = 0; i < count && !dense; i++)
        memcpy(result_at(j, s->number[i]), to + i * bytes, (size_t)bytes);
}

/* Folds the ranges from `at` on, up to place b - 1, that end in the same tile. *stop: the place
 * after the last. 0, with nothing done, if it costs less to fold each alone. */
static int batch(const job *j, tl_range_nodes *s, range at, int64_t b, int64_t *stop)
{
    const int64_t first = at.from, tile = (at.end - 1) >> TL_TILE_LEVEL;
    int64_t low = at.from, high = at.end, all = 0, count = 0;
    int more_ranges = 1;

    while (more_ranges && count < TL_RANGE_BATCH && (at.end - 1) >> TL_TILE_LEVEL == tile &&
           at.end - at.from < (int64_t)1 << j->levels) {
        low = tl_min(at.from, low);
        high = tl_max(at.end, high);
        s->place[count] = (int32_t)(at.from - first);
        s->length[count] = (int32_t)(at.end - at.from);
        s->number[count] = at.number;
        all += s->length[count++];
        more_ranges = next_range(j, at.place + 1, b, &at);
    }

    *stop = at.place;
    if (!count || tl_range_nodes_cost(s, low, high) * j->levels > all + FOLD_ALONE * count)
        return 0;
    for (int64_t i = 0; i < count; i++) s->place[i] += (int32_t)(first - low);
    tl_range_nodes_fold(s, j->plan, j->line.x, low, high, count);
    lower_batch(j, s, count);
    return 1;
}

/* Folds a range from its elements. They are not dense only without memory for a copy. */
static void fold_alone(const job *j, const range *r, tl_state *s)
{
    const int64_t step = j->line.stride * j->plan->op->elem_bytes, n = r->end - r->from;
    const char *const x = (const char *)j->line.x + r->from * step;
    tl_counter c;

    if (j->line.stride == 1) {
        tl_fold(j->plan, s, x, n, 0, TL_CACHED);
        return;
    }
    tl_counter_init(&c, 0);
    for (int64_t i = 0; i < n; i++) {
        tl_fold(j->plan, s, x + i * step, 1, i, TL_CACHED);
        tl_counter_push_nodes(&c, j->plan->op, s, 1);
    }
    tl_counter_fold(&c, j->plan->op, NULL, s);
}

/* Folds the ranges of places a .. b - 1 one by one. A range equal to the range before it is not
 * folded again. */
static void one_by_one(const job *j, int64_t a, int64_t b)
{
    const tl_scalar *const op = j->plan->op;
    const char *last = NULL; /* the result of the previous range */
    range at, before = {0};

    for (int64_t i = a; next_range(j, i, b, &at); i = at.place + 1) {
        char *const out = result_at(j, at.number);
        if (last && at.from == before.from && at.end == before.end) {
            memcpy(out, last, op->result_bytes);
            continue;
        }

        tl_state s;
        fold_alone(j, &at, &s);
        op->lower(&s, at.end - at.from, 0, j->plan->par, out);
        last = out;
        before = at;
    }
}

/* Computes the results of places a .. b - 1. s: NULL without memory. */
static void fold_places(const job *j, tl_range_nodes *s, int64_t a, int64_t b)
{
    const int nodes = s && j->levels > 0 && tl_range_nodes_open(s, j->plan, j->levels);
    range r;

    for (int64_t i = a, stop; next_range(j, i, b, &r); i = stop) {
        stop = r.place;
        if (nodes && batch(j, s, r, b, &stop)) continue;
        stop = nodes ? tl_max(stop, r.place + 1) : b; /* + 1: too long for a batch */
        one_by_one(j, r.place, stop);
    }
}

/* Counts elements if min_count needs it, then does fold_places. */
static void fold_chunk(const job *j, worker *w, int64_t a, int64_t b)
{
    if (j->counts) {
        tl_ranges any = *j->ranges;
        any.min_count = 1;
        job count = *j;
        count.plan = j->count;
        count.ranges = &any;
        count.line.y = j->counts;
        count.line.y_stride = sizeof *j->counts;
        count.counts = NULL;
        fold_places(&count, w ? &w->count_nodes : NULL, a, b);
    }
    fold_places(j, w ? &w->nodes : NULL, a, b);
}

static void free_worker(worker *w)
{
    if (!w) return;
    tl_range_nodes_close(&w->nodes);
    tl_range_nodes_close(&w->count_nodes);
    free(w);
}

static void take_chunks(void *with, const tl_worker *thread)
{
    const job *const j = with;
    worker *const w = calloc(1, sizeof *w);

    for (int64_t t; (t = tl_next_chunk(thread)) < thread->chunks;)
        fold_chunk(j, w, t * j->chunk, tl_min((t + 1) * j->chunk, j->ranges->results));
    free_worker(w);
}

/* Computes all ranges, few at a time: without memory for all counts. */
static void fold_few(job j)
{
    enum { FEW = 512 };
    int64_t counts[FEW];
    j.order = NULL;
    j.levels = 0;
    for (int64_t a = 0, b; a < j.ranges->results; a = b) {
        b = tl_min(a + FEW, j.ranges->results);
        j.counts = (void *)tl_offset(counts, -a * (int64_t)sizeof *counts);
        fold_chunk(&j, NULL, a, b);
    }
}

/* Computes all ranges. w: NULL, or the memory of the calling thread, which then does all of it. */
static void fold_all(job *j, int threads, worker *w)
{
    const tl_range_survey v = tl_range_survey_of(j->ranges);
    int64_t *const order = v.sorted ? NULL : tl_range_order(j->ranges);

    j->order = order; /* NULL if out of memory: the caller's order */
    j->levels = j->line.stride == 1 ? tl_range_levels(&v, j->ranges->n) : 0;
    const int counts = j->plan->op->masked && j->ranges->min_count > 0;
    if (counts) j->counts = malloc((size_t)(j->ranges->results + 1) * sizeof *j->counts);

    if (counts && !j->counts) {
        fold_few(*j);
    } else if (w) {
        w->nodes.from = w->nodes.head = w->count_nodes.from = w->count_nodes.head = 0;
        fold_chunk(j, w, 0, j->ranges->results);
    } else {
        /* A thread reads up to `longest` elements before its first result, so it gets one chunk. */
        const int64_t each = (j->ranges->results + threads - 1) / threads;
        j->chunk = v.longest > CHUNK ? tl_max(each, CHUNK) : CHUNK;
        tl_parallel(v.all >= SECOND_THREAD ? threads : 1,
                    (j->ranges->results + j->chunk - 1) / j->chunk, take_chunks, j);
    }

    free(order);
    free(j->counts);
}

/* Computes all ranges, of a copy if the sequence is not dense. */
static void fold_dense(job j, int threads, worker *w)
{
    const int64_t bytes = j.plan->op->elem_bytes, n = j.ranges->n;
    char *dense = NULL;

    if (j.plan->exact) {
        tl_exact_ranges_run(j.plan, threads, j.ranges, j.line);
        return;
    }
    if (n <= 1) j.line.stride = 1;
    if (j.line.stride != 1) dense = malloc((size_t)(n * bytes));
    if (dense) {
        tl_copy_strided(dense, 1, j.line.x, j.line.stride, n, bytes);
        j.line.x = dense;
        j.line.stride = 1;
    }

    fold_all(&j, threads, w);
    free(dense);
}

void tl_ranges_run(const tl_plan *plan, const tl_plan *count, int threads, const tl_ranges *ranges,
                   tl_line line)
{
    fold_dense((job){.plan = plan, .count = count, .ranges = ranges, .line = line}, threads, NULL);
}

/* ---- the shape (driver.h) ---- */

static tally_status open(tl_thread *t)
{
    t->memory->other = calloc(1, sizeof(worker));
    return TALLY_OK;
}

static void close(tl_thread *t) { free_worker(t->memory->other); }

static tally_status strided(tl_thread *t, const tl_sequence *s)
{
    const tl_call *const call = t->run->call;
    const tl_ranges ranges = tl_ranges_of(call->window, s->n);
    const job j = {
        .plan = call->plan,
        .count = call->count,
        .ranges = &ranges,
        .line = {s->x, s->x_stride, s->y, tl_step(s->y_stride, call->plan->op->result_bytes)}};
    fold_dense(j, t->threads, t->threads == 1 ? t->memory->other : NULL);
    return TALLY_OK;
}

const tl_shape tl_ranges_shape = {.open = open,
                                  .close = close,
                                  .strided = strided,
                                  .least_bytes = SECOND_THREAD * (int64_t)sizeof(float)};
