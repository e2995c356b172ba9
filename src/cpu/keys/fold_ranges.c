/* SPDX-License-Identifier: MIT
 * Ranges, on as many threads as there are, a batch of neighbouring results at a time. Where the
 * ranges of a batch overlap and lie in one tile, the tile's nodes are made once, of every level
 * and at every place, and a result takes the binary digits of its length from them
 * (kernel/spans_kernel.h). Other ranges are folded one by one, and one that is the same as the
 * one before it once. */
#include "ranges.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/widen.h"
#include <stdlib.h>

enum {
    SHARE = 4096,    /* results that a thread takes at a time */
    WORTH = 1 << 15, /* elements worth a second thread */
    /* results of a batch: the nodes of 100 elements each are in the second cache at most */
    BATCH = 1024,
    LONGEST = TL_TILE / 2, /* range of a batch */
    LEVELS = TL_TILE_LEVEL,
    ALONE = 64 /* a fold alone costs so many elements more, about */
};

/* What a thread works with. */
typedef struct {
    char *memory, *wide, *soa, *tables, *result, *out; /* memory NULL: there is none, or not yet */
    int64_t *counts;
    int failed;
    /* of a batch; place: its result's number there */
    int32_t from[BATCH], length[BATCH], place[BATCH];
} room;

typedef struct {
    const tl_plan *plan, *count;
    const tl_ranges *ranges;
    const char *x;
    char *y;
    int64_t y_stride;
    /* NULL, or the elements that count for min_count of result r at r - counts_from */
    const int64_t *counts;
    int64_t counts_from;
} job;

typedef struct {
    int64_t from, end, r;
} range;

/* The next range of a .. b - 1 that has elements enough; the results of those before it are
   empty. 0: there is none. */
static int next_range(const job *j, int64_t a, int64_t b, range *at)
{
    for (int64_t r = a; r < b; r++) {
        const int full = tl_range_at(j->ranges, r, &at->from, &at->end);
        const int64_t have = j->counts ? j->counts[r - j->counts_from] : at->end - at->from;
        at->r = r;
        if (full && at->from < at->end && have >= j->ranges->min_count) return 1;
        j->plan->op->empty(j->plan->par, j->y + r * j->y_stride);
    }
    at->r = b;
    return 0;
}

static int has_room(room *m, const job *j)
{
    enum { WIDE = 2 * TL_WIDE_BYTES, RESULTS = BATCH * 2 * 8 };
    if (m->memory || m->failed) return !m->failed;
    const tl_kernel *const core = j->plan->core, *const other = j->count && j->count->core
                                                                    ? j->count->core
                                                                    : core;
    size_t soa = (size_t)(core->soa_bytes > other->soa_bytes ? core->soa_bytes : other->soa_bytes);
    soa = (soa + 63) & ~(size_t)63;
    m->memory = aligned_alloc(64, WIDE + 2 * RESULTS + (LEVELS + 1) * soa);
    m->failed = !m->memory;
    m->wide = m->memory;
    if (m->failed) return 0;
    m->result = m->wide + WIDE;
    m->out = m->result + RESULTS;
    m->soa = m->out + RESULTS;
    m->tables = m->soa + soa;
    return 1;
}

/* `count` ranges of a tile of n elements at x; the first result is at y. */
static void fold_batch(const job *j, room *m, const char *x, int64_t n, int levels, int64_t count,
                       char *y)
{
    const tl_plan *const plan = j->plan;
    const int64_t bytes = plan->op->result_bytes,
                  padded = (count + TL_ABREAST - 1) & -(int64_t)TL_ABREAST;
    tl_par par = plan->par;
    for (int64_t i = count; i < padded; i++) m->from[i] = 0, m->length[i] = 1;
    if (plan->in && plan->op->inputs == 2) {
        plan->in->apply_two(plan->in, m->wide, m->wide + TL_WIDE_BYTES, x, n);
        par.second = TL_WIDE_BYTES;
    } else if (plan->in) {
        plan->in->apply(plan->in, m->wide, x, n);
    }
    const tl_spans k = {
        plan->in ? m->wide : x, n, padded, m->from, m->length, levels, m->tables, m->soa};
    plan->core->spans(&k, par);
    const tl_lower l = {
        .m = padded, .rows = 1, .counts = m->length, .firsts = plan->op->indexed ? m->from : NULL};
    const int dense = j->y_stride == bytes && m->place[count - 1] == count - 1;
    if (dense && !plan->out && padded == count) {
        plan->lower->lower_rows(y, m->soa, &l, plan->par);
        return;
    }
    char *from = m->result;
    if (!plan->out || !plan->lower->bare) plan->lower->lower_rows(m->result, m->soa, &l, plan->par);
    if (plan->out) {
        plan->out->apply(plan->out, m->out, plan->lower->bare ? m->soa : m->result,
                         count * plan->op->lanes);
        from = m->out;
    }
    if (dense) {
        memcpy(y, from, (size_t)(count * bytes));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(y + m->place[i] * j->y_stride, from + i * bytes, (size_t)bytes);
}

/* A batch from `first` on, which is a range of results .. b - 1: up to *stop, which comes after
 * its last. Returns whether it was worth it, and is done. */
static int batch(const job *j, room *m, range first, int64_t b, int64_t *stop)
{
    int64_t low = first.from, high = first.end, all = 0, count = 0, r = first.r;
    const int64_t least = j->ranges->min_count > 1 ? j->ranges->min_count : 1;
    const int64_t *const start = j->counts ? NULL : j->ranges->start, *const ends = j->ranges->end;
    int32_t bits = 0;
    range at = first;
    if (!j->plan->core || !j->plan->core->spans) return 0;
    /* as many as lie in a tile; their places are relative to the first's for now */
    while (r < b && count < BATCH) {
        if (start && ends[r] - start[r] >= least)
            at = (range){start[r], ends[r], r};
        else if (next_range(j, r, b, &at), at.r == b)
            break;
        const int64_t below = at.from < low ? at.from : low, above = at.end > high ? at.end : high;
        if (at.end - at.from > LONGEST || above - below > TL_TILE) break;
        low = below;
        high = above;
        m->from[count] = (int32_t)(at.from - first.from);
        m->length[count] = (int32_t)(at.end - at.from);
        m->place[count] = (int32_t)(at.r - first.r);
        bits |= m->length[count];
        all += m->length[count++];
        r = at.r + 1;
    }
    *stop = r;
    if (!count) return 0;
    const int levels = tl_top_level(bits) + 1;
    if ((high - low) * levels > all + ALONE * count || !has_room(m, j)) return 0;
    for (int64_t i = 0; i < count; i++) m->from[i] += (int32_t)(first.from - low);
    fold_batch(j, m, j->x + low * j->plan->op->elem_bytes, high - low, levels, count,
               j->y + first.r * j->y_stride);
    return 1;
}

/* Results a .. b - 1. */
static void fold_ranges(const job *j, room *m, int64_t a, int64_t b)
{
    const tl_scalar *op = j->plan->op;
    /* the result of the range before, which was last_from .. last_end - 1 */
    const char *last = NULL;
    int64_t last_from = 0, last_end = 0, alone = 0, stop = 0;
    range at;
    for (int have = next_range(j, a, b, &at); have;) {
        if (alone <= at.r && batch(j, m, at, b, &stop)) {
            have = next_range(j, stop, b, &at);
            continue;
        }
        if (alone <= at.r) alone = stop > at.r ? stop : at.r + 1; /* these are no batch */
        char *const out = j->y + at.r * j->y_stride;
        if (last && at.from == last_from && at.end == last_end) {
            memcpy(out, last, op->result_bytes);
        } else {
            tl_state s;
            tl_fold(j->plan, &s, j->x + at.from * op->elem_bytes, at.end - at.from, 0, TL_CACHED);
            op->lower(&s, at.end - at.from, 0, j->plan->par, out);
            last = out;
            last_from = at.from;
            last_end = at.end;
        }
        have = next_range(j, at.r + 1, b, &at);
    }
}

/* The same, and before it what counts for min_count of an operator that leaves elements out. 0:
   no memory. */
static int fold_share(const job *given, room *m, int64_t a, int64_t b)
{
    job j = *given;
    if (j.plan->op->masked && j.ranges->min_count > 0) {
        if (!m->counts && !(m->counts = malloc(SHARE * sizeof *m->counts))) return 0;
        tl_ranges any = *j.ranges;
        any.min_count = 1;
        const job count = {j.count, j.plan, &any, j.x, (char *)(m->counts - a), 8, NULL, 0};
        fold_ranges(&count, m, a, b);
        j.counts = m->counts;
        j.counts_from = a;
    }
    fold_ranges(&j, m, a, b);
    return 1;
}

/* Shares a .. b - 1 of the results. 0: no memory. */
static int fold_shares(const job *j, room *m, int64_t a, int64_t b)
{
    const int64_t end = b * SHARE < j->ranges->results ? b * SHARE : j->ranges->results;
    int good = 1;
    for (int64_t r = a * SHARE; r < end && good; r += SHARE)
        good = fold_share(j, m, r, r + SHARE < end ? r + SHARE : end);
    return good;
}

static room *new_room(void)
{
    room *const m = malloc(sizeof *m);
    if (m) m->memory = NULL, m->counts = NULL, m->failed = 0;
    return m;
}

static void free_room(room *m)
{
    if (!m) return;
    free(m->memory);
    free(m->counts);
    free(m);
}

static tally_status no_memory(tally *ctx, int64_t bytes, const char *what)
{
    tally_status status;
    tl_lock_take(TL_LOCK_ERROR);
    status = tl_no_memory(ctx, (size_t)bytes, what);
    tl_lock_release(TL_LOCK_ERROR);
    return status;
}

typedef struct {
    const job *job;
    int failed;
} share_work;

static void run_shares(void *data, const tl_worker *worker)
{
    share_work *a = data;
    room *const own = new_room();
    for (int64_t t; own && (t = tl_next_chunk(worker)) < worker->chunks;)
        if (!fold_shares(a->job, own, t, t + 1)) __atomic_store_n(&a->failed, 1, __ATOMIC_RELAXED);
    free_room(own);
}

/* m: NULL, or the room of the thread that calls, which does all of it. */
static tally_status run(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads,
                        const tl_ranges *ranges, const void *x, int64_t stride, void *y,
                        int64_t y_stride, room *m)
{
    const int64_t bytes = plan->op->elem_bytes, shares = (ranges->results + SHARE - 1) / SHARE;
    char *dense = NULL;
    int good = 1;
    if (stride != 1 && ranges->n > 1) {
        dense = malloc((size_t)(ranges->n * bytes));
        if (!dense) return no_memory(ctx, ranges->n * bytes, "a dense copy of a sequence");
        tl_copy_strided(dense, 1, x, stride, ranges->n, bytes);
        x = dense;
    }
    const job j = {plan, count, ranges, x, y, y_stride, NULL, 0};
    if (m) {
        good = fold_shares(&j, m, 0, shares);
    } else {
        share_work all = {&j, 0};
        good =
            tl_parallel(ranges->n >= WORTH ? threads : 1, shares, run_shares, &all) && !all.failed;
    }
    free(dense);
    return good ? TALLY_OK : no_memory(ctx, sizeof *m, "windows by ranges");
}

tally_status tl_ranges_run(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads,
                           const tl_ranges *ranges, const void *x, int64_t stride, void *y,
                           int64_t y_stride)
{
    return run(ctx, plan, count, threads, ranges, x, stride, y, y_stride, NULL);
}

static tally_status row(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads,
                        const tally_view *in, const tally_view *out, int64_t r,
                        const tally_window_options *o, room *m)
{
    int64_t n, k;
    const char *x = tl_view_row(in, r, plan->op->elem_bytes, &n);
    char *y = tl_view_row(out, r, plan->op->result_bytes, &k);
    const tl_ranges ranges = tl_ranges_of(o, n);
    return run(ctx, plan, count, threads, &ranges, x, in->stride, y,
               tl_step(out->stride, plan->op->result_bytes), m);
}

typedef struct {
    tally *ctx;
    const tl_plan *plan, *count;
    const tally_view *in, *out;
    const tally_window_options *o;
    int64_t rows; /* of a chunk */
    tally_status failed;
} row_work;

static void run_rows(void *data, const tl_worker *worker)
{
    row_work *a = data;
    room *const own = new_room();
    for (int64_t k; own && (k = tl_next_chunk(worker)) < worker->chunks;)
        for (int64_t r = k * a->rows; r < (k + 1) * a->rows && r < a->in->rows; r++) {
            const tally_status status =
                row(a->ctx, a->plan, a->count, 1, a->in, a->out, r, a->o, own);
            if (status) __atomic_store_n(&a->failed, status, __ATOMIC_RELAXED);
        }
    free_room(own);
}

tally_status tl_ranges_view(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads,
                            const tally_view *in, const tally_view *out,
                            const tally_window_options *o)
{
    const int64_t total = in->offsets ? in->offsets[in->rows] - in->offsets[0] : in->rows * in->n;
    const int64_t share = in->rows / (32 * threads) + 1;
    if (threads > 1 && in->rows < threads) {
        tally_status failed = TALLY_OK;
        for (int64_t r = 0; r < in->rows && !failed; r++)
            failed = row(ctx, plan, count, threads, in, out, r, o, NULL);
        return failed;
    }
    row_work all = {ctx, plan, count, in, out, o, share, TALLY_OK};
    if (!tl_parallel(total < WORTH ? 1 : threads, (in->rows + share - 1) / share, run_rows, &all))
        return no_memory(ctx, sizeof(room), "windows by ranges");
    return all.failed;
}
