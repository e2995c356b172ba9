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
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The nodes of one thread's ranges: the elements read so far, the ring buffers of each level, and
 * the buffers of a batch of results. cpu/kernel/ranges_kernel.h has the method. */
enum {
    BATCH = 1024, /* results of a batch */
    /* Ranges of 2^29 elements or more are folded directly, because places and counts have 32
     * bits. */
    LEVELS = 29,
    PLACES = 1 << 30 /* places that are numbered from one base */
};

typedef struct range_nodes {
    char *memory; /* NULL: not allocated */
    char *wide, *soa, *result, *out, *nodes;
    tl_range_ring rings[LEVELS];
    int levels, failed;
    int64_t soa_bytes;

    /* There are nodes of elements from .. head - 1 of the sequence; from == head: none. Place 0 is
     * element `base`. */
    int64_t base, from, head;

    /* of a batch: places, lengths, result numbers */
    int32_t place[BATCH], length[BATCH];
    int64_t number[BATCH];
} range_nodes;

enum { ALIGN = 64, WIDE = 2 * TL_WIDE_BYTES, RESULTS = BATCH * 2 * 8 };

static void close_nodes(range_nodes *s)
{
    free(s->memory);
    s->memory = NULL;
    s->levels = 0;
}

/* Allocates rings for ranges of less than 2^levels elements. 0: out of memory; ranges are folded
 * directly. */
static int open_nodes(range_nodes *s, const tl_plan *plan, int levels)
{
    assert(0 < levels && levels <= LEVELS);
    if (s->memory && levels <= s->levels) return 1;
    if (s->failed || !plan->core || !plan->core->ranges) return 0;

    close_nodes(s);
    int64_t tiles = 0;

    for (int l = 0; l < levels; l++) {
        s->rings[l] = (tl_range_ring){.first = tiles, .tiles = (int32_t)tl_range_tiles(l)};
        tiles += s->rings[l].tiles;
    }

    const size_t soa = (size_t)plan->core->soa_bytes,
                 before_nodes = WIDE + 2 * RESULTS + ((soa + ALIGN - 1) & -(size_t)ALIGN);

    /* Pages that are never written cost nothing, so short sequences do not use whole rings. */
    s->memory = calloc(1, before_nodes + ALIGN + (size_t)tiles * soa);
    s->failed = !s->memory;
    if (s->failed) return 0;

    s->wide = (char *)(((uintptr_t)s->memory + ALIGN - 1) & -(uintptr_t)ALIGN);
    s->result = s->wide + WIDE;
    s->out = s->result + RESULTS;
    s->soa = s->out + RESULTS;
    s->nodes = s->wide + before_nodes;
    s->levels = levels;
    s->base = s->from = s->head = 0;
    return 1;
}

/* The number of the tile of element e. */
static int64_t tile_of(const range_nodes *s, int64_t e) { return (e - s->base) >> TL_TILE_LEVEL; }

/* Must reading start again at `low`? True if the elements read so far begin later or end far
 * before, or if the rings have moved past the tile. */
static int starts_again(const range_nodes *s, int64_t low, int64_t high)
{
    return s->from == s->head || low < s->from || low > s->head || high - s->base > PLACES ||
           tile_of(s, high - 1) < tile_of(s, s->head - 1);
}

/* How many elements must be read before ranges inside low .. high - 1 can be folded. */
static int64_t nodes_cost(const range_nodes *s, int64_t low, int64_t high)
{
    if (starts_again(s, low, high)) return high - low;
    return high > s->head ? high - s->head : 0;
}

/* Reads the next elements, at most up to `end` or the end of the tile, and folds `count` ranges. */
static void step(range_nodes *s, const tl_plan *plan, const char *x, int64_t end, int64_t count)
{
    tl_par par = plan->par;
    tl_range_work k = {.levels = s->levels, .rings = s->rings, .nodes = s->nodes, .soa = s->soa};

    if (end > s->head) {
        /* A partial vector is computed again, because the elements after it were not known. */
        k.at = (s->head - s->base) & -(int64_t)TL_ABREAST;
        k.tile = tile_of(s, s->head);
        const int64_t tile_end = (k.tile + 1) << TL_TILE_LEVEL;
        k.m = (end - s->base < tile_end ? end - s->base : tile_end) - k.at;
        s->head = s->base + k.at + k.m;
        k.x = x + (s->base + k.at) * plan->op->elem_bytes;

        if (plan->in && plan->op->inputs == 2) {
            plan->in->apply_two(plan->in, s->wide, s->wide + TL_WIDE_BYTES, k.x, k.m);
            par.second = TL_WIDE_BYTES;
        } else if (plan->in) {
            plan->in->apply(plan->in, s->wide, k.x, k.m);
        }

        if (plan->in) k.x = s->wide;
        assert(k.m > 0 && k.at + k.m <= tile_end);
    } else {
        k.tile = tile_of(s, s->head - 1);
    }

    for (int l = 0; l < s->levels; l++) s->rings[l].current = (int32_t)(k.tile % s->rings[l].tiles);
    k.results = count;
    k.from = s->place;
    k.length = s->length;
    plan->core->ranges(&k, par);
}

/* Folds `count` ranges. Range r is length[r] elements from element place[r] + low on, and ends in
 * the tile of element high - 1. x: the sequence. Places become those of the nodes. The states are
 * at s->soa, with padding states up to a multiple of TL_ABREAST. */
static void fold_nodes(range_nodes *s, const tl_plan *plan, const char *x, int64_t low,
                       int64_t high, int64_t count)
{
    if (starts_again(s, low, high)) {
        s->base = low & -(int64_t)TL_TILE;
        s->from = s->head = low & -(int64_t)TL_ABREAST;
    }

    const int64_t tile = tile_of(s, high - 1);
    assert(s->base <= low && low < high);
    while (s->head < high && tile_of(s, s->head) < tile) step(s, plan, x, high, 0);
    assert(high - s->base <= PLACES);
    for (int64_t i = 0; i < count; i++) s->place[i] += (int32_t)(low - s->base);
    for (; count & (TL_ABREAST - 1); count++) { /* pad to whole vectors */
        s->place[count] = (int32_t)(high - s->base - 1);
        s->length[count] = 1;
    }

    step(s, plan, x, high, count);
}

enum {
    SHARE = 4096,            /* fewest results of a chunk */
    SECOND_THREAD = 1 << 15, /* fewest elements for several threads */
    /* Fixed cost of folding a range from its elements, in units of one element. */
    FOLD_ALONE = 64
};

/* The memory of one thread; zeros before its first use. */
typedef struct {
    range_nodes nodes, count_nodes;
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
} job;

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
static void lower_batch(const job *j, range_nodes *s, int64_t count)
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
static int batch(const job *j, range_nodes *s, range at, int64_t b, int64_t *stop)
{
    const int64_t first = at.from, tile = (at.end - 1) >> TL_TILE_LEVEL;
    int64_t low = at.from, high = at.end, all = 0, count = 0;
    int more_ranges = 1;

    while (more_ranges && count < BATCH && (at.end - 1) >> TL_TILE_LEVEL == tile &&
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
    if (!count || nodes_cost(s, low, high) * j->levels > all + FOLD_ALONE * count) return 0;
    for (int64_t i = 0; i < count; i++) s->place[i] += (int32_t)(first - low);
    fold_nodes(s, j->plan, j->line.x, low, high, count);
    lower_batch(j, s, count);
    return 1;
}

/* Folds a range from its elements. */
static void fold_alone(const job *j, const range *r, tl_state *s)
{
    enum { PACK = 4096 };
    _Alignas(64) char pack[PACK];
    const tl_scalar *const op = j->plan->op;
    const int64_t stride = j->line.stride, bytes = op->elem_bytes, n = r->end - r->from;
    const char *const x = (const char *)j->line.x + r->from * stride * bytes;
    tl_state nodes[TL_MAX_LEVELS];
    tl_counter c;

    if (stride == 1) {
        tl_fold(j->plan, s, x, n, 0, TL_CACHED);
        return;
    }

    tl_counter_init(&c, 0);
    for (int64_t m; c.end < n;) {
        m = tl_min(n - c.end, PACK / bytes);
        tl_copy_strided(pack, 1, x + c.end * stride * bytes, stride, m, bytes);
        tl_nodes(j->plan, nodes, pack, m, c.end, TL_CACHED);
        tl_counter_push_nodes(&c, op, nodes, m);
    }
    tl_counter_fold(&c, op, NULL, s);
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
static void fold_places(const job *j, range_nodes *s, int64_t a, int64_t b)
{
    const int nodes = s && j->levels > 0 && open_nodes(s, j->plan, j->levels);
    range r;

    for (int64_t i = a, stop; next_range(j, i, b, &r); i = stop) {
        stop = r.place;
        if (nodes && batch(j, s, r, b, &stop)) continue;
        if (!nodes)
            stop = b;
        else if (stop == r.place)
            stop = r.place + 1; /* too long for a batch */
        one_by_one(j, r.place, stop);
    }
}

/* The same, after the counts. */
static void fold_share(const job *j, worker *w, int64_t a, int64_t b)
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

/* Statistics of the ranges of a call. */
typedef struct {
    int64_t all; /* the sum of all lengths */
    /* by_level[l]: elements of ranges whose length has l bits; the last entry has all longer
     * ones */
    int64_t by_level[LEVELS + 1];
    int sorted; /* the tiles in which the ranges end do not decrease */
    int64_t longest;
} survey;

static survey survey_of(const tl_ranges *ranges)
{
    survey v = {.sorted = 1};
    int64_t from, end, tile = 0;

    for (int64_t r = 0; r < ranges->results; r++) {
        tl_range_at(ranges, r, &from, &end);
        if (end <= from) continue;
        const int64_t length = end - from, bits = tl_top_level(length) + 1;
        v.by_level[tl_min(bits, LEVELS)] += length;
        v.all += length;
        if (length > v.longest) v.longest = length;
        if ((end - 1) >> TL_TILE_LEVEL < tile) v.sorted = 0;
        tile = (end - 1) >> TL_TILE_LEVEL;
    }
    return v;
}

/* The levels that cost least: each costs one step per element; ranges that are too long for them
 * are folded from their elements. */
static int best_levels(const survey *v, int64_t n)
{
    const double each = (double)tl_min(v->all, n);
    double cost = (double)v->all, best = cost;
    int levels = 0;

    for (int l = 1; l < LEVELS; l++) {
        cost -= (double)v->by_level[l];
        if (each * l + cost < best) best = each * l + cost, levels = l;
    }
    return levels;
}

/* The range numbers sorted by the tile in which each range ends (counting sort). NULL: out of
 * memory. */
static int64_t *order_of(const tl_ranges *ranges)
{
    const int64_t tiles = (ranges->n >> TL_TILE_LEVEL) + 1;
    int64_t *const next = calloc((size_t)tiles + 1, sizeof *next), from, end;
    int64_t *const order = next ? malloc((size_t)ranges->results * sizeof *order) : NULL;

    for (int counted = 0; order && counted < 2; counted++) {
        for (int64_t t = 0; counted && t < tiles; t++) next[t + 1] += next[t];
        for (int64_t r = 0; r < ranges->results; r++) {
            tl_range_at(ranges, r, &from, &end);
            int64_t *const of_tile = &next[(end > 0 ? end - 1 : 0) >> TL_TILE_LEVEL];
            if (counted)
                order[of_tile[0]++] = r;
            else
                of_tile[1]++;
        }
    }

    free(next);
    return order;
}

static void free_worker(worker *w)
{
    if (!w) return;
    close_nodes(&w->nodes);
    close_nodes(&w->count_nodes);
    free(w);
}

/* The chunks of a call, which threads take. */
typedef struct {
    const job *j;
    int64_t share; /* places of a chunk */
} shares;

static void take_shares(void *with, const tl_worker *thread)
{
    const shares *const s = with;
    const int64_t results = s->j->ranges->results;
    worker *const w = calloc(1, sizeof *w);

    for (int64_t t; (t = tl_next_chunk(thread)) < thread->chunks;) {
        const int64_t a = t * s->share, b = tl_min(a + s->share, results);
        fold_share(s->j, w, a, b);
    }
    free_worker(w);
}

/* Computes all ranges without memory for all counts. */
static void fold_few(job j)
{
    enum { FEW = 512 };
    int64_t counts[FEW];
    j.order = NULL;
    j.levels = 0;

    for (int64_t a = 0, b; a < j.ranges->results; a = b) {
        b = tl_min(a + FEW, j.ranges->results);
        j.counts = (void *)tl_offset(counts, -a * (int64_t)sizeof *counts);
        fold_share(&j, NULL, a, b);
    }
}

/* Computes all ranges. w: NULL, or the memory of the calling thread, which then does all of it. */
static void fold_all(job *j, int threads, worker *w)
{
    const survey v = survey_of(j->ranges);
    int64_t *const order = v.sorted ? NULL : order_of(j->ranges);

    j->order = order; /* NULL if out of memory: the caller's order */
    j->levels = j->line.stride == 1 ? best_levels(&v, j->ranges->n) : 0;
    shares s = {.j = j, .share = SHARE};
    const int counts = j->plan->op->masked && j->ranges->min_count > 0;
    if (counts) j->counts = malloc((size_t)(j->ranges->results + 1) * sizeof *j->counts);

    if (counts && !j->counts) {
        fold_few(*j);
    } else if (w) {
        w->nodes.from = w->nodes.head = w->count_nodes.from = w->count_nodes.head = 0;
        fold_share(j, w, 0, j->ranges->results);
    } else {
        /* A thread reads up to `longest` elements before its first result, so it gets one chunk. */
        const int64_t each = (j->ranges->results + threads - 1) / threads;
        if (v.longest > SHARE && each > SHARE) s.share = each;
        const int64_t count = (j->ranges->results + s.share - 1) / s.share;
        const int many = count > 1 && v.all >= SECOND_THREAD;
        tl_parallel(many ? threads : 1, count, take_shares, &s);
    }

    free(order);
    free(j->counts);
}

static void run(job j, int threads, worker *w)
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
    run((job){.plan = plan, .count = count, .ranges = ranges, .line = line}, threads, NULL);
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
    run(j, t->threads, t->threads == 1 ? t->memory->other : NULL);
    return TALLY_OK;
}

const tl_shape tl_ranges_shape = {.open = open,
                                  .close = close,
                                  .strided = strided,
                                  .least_bytes = SECOND_THREAD * (int64_t)sizeof(float)};
