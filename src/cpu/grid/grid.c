/* SPDX-License-Identifier: MIT
 * Grids: strips of lanes that persist from push to push (grid.h). */
#include "grid.h"
#include "cpu/lanes.h"
#include "cpu/widen.h"
#include "context/threads.h"
#include "context/view.h"
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_LOG = 3, /* steps that kernels take at a time */
    BLOCK = 1 << BLOCK_LOG,
    STRIP = 1024, /* lanes of a strip of folds */
    AHEAD = 16,   /* prefetch distance in steps */
    /* Unused elements between steps, so that not all steps map to the same cache set. */
    SPACING = 192,
    LEVELS_AT_ONCE = 3 /* counters that are added when there are too few */
};

typedef struct {
    int64_t col, width; /* sequences */
    char *rows, *carry; /* rows: part of the grid's rows */
    int levels;         /* levels of the counters in carry */
    int seeded;         /* carry has S(0) */
    int64_t pass;       /* the last pass in which a thread took this strip */
} strip;

typedef struct {
    tl_grid base;
    tl_plan plan;
    tl_lanes_job job;
    int64_t width, count;  /* sequences, and steps pushed */
    int64_t strips, pitch; /* pitch: sequences from one step in rows to the next */
    strip *strip;
    char *rows;     /* BLOCK steps */
    int64_t passes; /* passes over all strips so far */
} grid;

_Static_assert(offsetof(grid, base) == 0, "a grid begins with its base");

static int lanes_of(const grid *g) { return g->plan.core->vector_lanes; }
static int64_t padded(const grid *g, int64_t width)
{
    return (width + lanes_of(g) - 1) & -(int64_t)lanes_of(g);
}

/* Bytes of one level of all lanes. */
static size_t level_bytes(const grid *g, const strip *t)
{
    return (size_t)(padded(g, t->width) / lanes_of(g)) * (size_t)g->plan.core->vector_bytes;
}

/* Space for the counters of n steps, as the kernels have them (kernel.h): the nodes and, for scans,
 * the states before them and S(0). */
static int grow(grid *g, int64_t n)
{
    const int need = n >= BLOCK ? tl_top_level(n) - 2 : 1, scans = g->job.verb == TL_SCAN;
    for (int64_t s = 0; s < g->strips; s++) {
        strip *t = &g->strip[s];
        if (t->levels >= need) continue;
        const size_t level = level_bytes(g, t), levels = (size_t)(need + LEVELS_AT_ONCE),
                     old = (size_t)t->levels;
        char *const more =
            aligned_alloc(64, (level * (scans ? 2 * levels + 1 : levels) + 63) & ~(size_t)63);
        if (!more) return 0;
        if (old) memcpy(more, t->carry, level * old);

        if (old && scans) {
            memcpy(more + level * levels, t->carry + level * old, level * old);
            memcpy(more + level * 2 * levels, t->carry + level * 2 * old, level);
        }

        free(t->carry);
        t->carry = more;
        t->levels = (int)levels;
    }

    return 1;
}

/* Copies steps 0 .. n - 1 of x into the strip's rows, from row `at` on. */
static void keep(const grid *g, const strip *t, const tally_view *in, const char *x, int64_t at,
                 int64_t n)
{
    const int64_t bytes = g->plan.op->elem_bytes, pitch = g->pitch * bytes;
    assert(0 <= at && at + n <= BLOCK && g->pitch >= t->width);
    for (int64_t i = 0; i < n; i++)
        tl_copy_strided(t->rows + (at + i) * pitch, 1, x + i * in->stride * bytes, in->row_stride,
                        t->width, bytes);
}

static tl_lanes_from kept(const grid *g, const strip *t)
{
    return (tl_lanes_from){t->rows, g->pitch, t->width, g->plan.in ? 0 : TL_ALL_ROWS, 1, 0};
}

/* Can kernels read steps with these strides in place? */
static int is_direct(const grid *g, const strip *t, const tally_view *in)
{
    return !g->plan.in && in->row_stride == 1 && t->width % lanes_of(g) == 0;
}

/* Can kernels write results of a scan in place? */
static int writes_direct(const grid *g, const strip *t)
{
    return !g->plan.out && t->width % lanes_of(g) == 0;
}

/* A push, or the results of everything pushed. */
typedef struct {
    tally *ctx;
    grid *g;
    const tally_view *in, *out; /* out: of scans */
    char *results;
    int64_t prefetch_distance;
    size_t some_bytes;
} pass;

/* The steps of a push that a strip takes next: elements, results, and the number of the first. */
typedef struct {
    const char *x;
    char *y;
    int64_t at, left;
    char *some; /* memory for a block of elements or of results */
} steps;

/* Each of these functions pushes some steps and returns their number. */

/* Transposes a block of rows. */
static int64_t push_transposed(const pass *a, tl_lanes_buffers *buffers, const strip *t,
                               const steps *s)
{
    const grid *g = a->g;
    const int64_t bytes = g->plan.op->elem_bytes, n = BLOCK;
    const tl_lanes_from from = {s->some, t->width, t->width, g->plan.in ? 0 : TL_ALL_ROWS, 1, 0};
    g->plan.transpose->to_lanes(&(tl_matrix){s->some, t->width, t->width, (int)bytes},
                                &(tl_origins){.first = s->x, .pitch = a->in->row_stride * bytes}, n,
                                (tl_prefetch){0});
    tl_lanes_feed(buffers, &from, &(tl_lanes_part){.at = s->at, .n = n});
    return n;
}

/* Takes whole blocks where they are. */
static int64_t push_blocks(const pass *a, tl_lanes_buffers *buffers, const strip *t, const steps *s)
{
    const grid *g = a->g;
    const tally_view *in = a->in, *out = a->out;
    const int64_t n = s->left & -(int64_t)BLOCK;
    const tl_lanes_from from = {s->x,           in->stride,
                                t->width,       is_direct(g, t, in) ? TL_ALL_ROWS : 0,
                                in->row_stride, a->prefetch_distance};
    if (!out) {
        tl_lanes_feed(buffers, &from, &(tl_lanes_part){.at = s->at, .n = n});
        return n;
    }
    const tl_lanes_to to = {.out = s->y,
                            .step = out->stride,
                            .col_step = out->row_stride,
                            .direct = writes_direct(g, t) && out->row_stride == 1};
    tl_lanes_scan(buffers, &from, &to, &(tl_lanes_span){s->at, s->at, n, s->at + n});

    return n;
}

/* Keeps steps of an incomplete block. A scan writes their results from the begin of the block. */
static int64_t push_kept(const pass *a, tl_lanes_buffers *buffers, const strip *t, const steps *s)
{
    const grid *g = a->g;
    const tally_view *out = a->out;
    const int64_t before = s->at & (BLOCK - 1), result = g->plan.op->result_bytes,
                  n = tl_min(s->left, BLOCK - before), first = s->at - before;
    const tl_lanes_from block = kept(g, t);

    keep(g, t, a->in, s->x, before, n);
    if (!out) {
        if (before + n == BLOCK)
            tl_lanes_feed(buffers, &block, &(tl_lanes_part){.at = first, .n = BLOCK});
        return n;
    }
    const tl_lanes_to to = {
        .out = s->some, .step = t->width, .col_step = 1, .direct = writes_direct(g, t)};
    tl_lanes_scan(buffers, &block, &to, &(tl_lanes_span){first, first, before + n, s->at + n});
    for (int64_t i = 0; i < n; i++)
        tl_copy_strided(s->y + i * out->stride * result, out->row_stride,
                        s->some + (before + i) * t->width * result, 1, t->width, result);
    return n;
}

static void push_strip(const pass *a, tl_lanes_buffers *buffers, strip *t, char *some)
{
    const grid *g = a->g;
    const tally_view *in = a->in, *out = a->out;
    const int64_t bytes = g->plan.op->elem_bytes, result = g->plan.op->result_bytes;
    const int direct = is_direct(g, t, in),
              transposes =
                  bytes >= 4 && !out && !direct && in->stride == 1 && t->width % TL_ABREAST == 0,
              takes_blocks = transposes || direct || t->width <= TL_LANES_STRIP;
    int64_t m;
    steps s = {tl_view_row(in, t->col, bytes, &m),
               out ? tl_view_row(out, t->col, result, &m) : NULL, g->count, in->n, some};

    if (out) {
        buffers->vectors_seeded = t->seeded ? (int)(padded(g, t->width) / lanes_of(g)) : 0;
        t->seeded = 1;
    }
    for (int64_t n; s.left > 0; s.at += n, s.left -= n) {
        if (s.at % BLOCK || s.left < BLOCK || !takes_blocks)
            n = push_kept(a, buffers, t, &s);
        else
            n = (transposes ? push_transposed : push_blocks)(a, buffers, t, &s);
        s.x += n * in->stride * bytes;
        if (out) s.y += n * out->stride * result;
    }
}

static void result_strip(const grid *g, tl_lanes_buffers *buffers, strip *t, char *out)
{
    const int64_t at = g->count & -(int64_t)BLOCK, result = g->plan.op->result_bytes;
    const tl_lanes_from block = kept(g, t);

    out += t->col * result;
    if (g->count) {
        tl_lanes_feed(buffers, &block, &(tl_lanes_part){.at = at, .n = g->count - at, .last = 1});
        tl_lower_row(&g->plan, (tl_staging){buffers->soa, buffers->r}, out,
                     &(tl_lower){.m = t->width, .n = g->count, .rows = 1});
    } else {
        for (int64_t i = 0; i < t->width; i++) g->plan.op->empty(g->plan.par, out + i * result);
    }
}

/* Returns the next strip from *at on that no thread has taken in this pass. There is one for each
 * chunk that is taken. */
static strip *take_strip(const grid *g, int64_t *at)
{
    for (;;) {
        strip *const t = &g->strip[*at];
        *at = *at + 1 < g->strips ? *at + 1 : 0;
        if (__atomic_exchange_n(&t->pass, g->passes, __ATOMIC_RELAXED) != g->passes) return t;
    }
}

/* A thread first takes the strips that it had in the last pass, which may be in its cache. */
static void do_strips(void *with, const tl_worker *worker)
{
    const pass *all = with;
    grid *const g = all->g;
    tl_lanes_buffers buffers;
    char *const some = tl_scratch(all->ctx, worker->number, TL_STAGE, all->some_bytes);
    int64_t at = g->strips * worker->number / worker->threads;

    if (!some || !tl_lanes_open(&buffers, all->ctx, worker->number, &g->job,
                                (tl_lanes_size){.width = g->strip[0].width}))
        return;

    while (tl_next_chunk(worker) < worker->chunks) {
        strip *const t = take_strip(g, &at);
        buffers.k.carry = t->carry;
        buffers.k.levels = t->levels;

        if (!all->in)
            result_strip(g, &buffers, t, all->results);
        else
            push_strip(all, &buffers, t, some);
    }
}

/* Runs all strips on the threads: pushes `in`, or, if it is NULL, writes the results to
 * `results`. */
static tally_status do_all_strips(tally *ctx, grid *g, int threads, const tally_view *in,
                                  const tally_view *out, char *results)
{
    const int scans = g->job.verb == TL_SCAN;
    const int64_t bytes = g->width * (in ? in->n : 1) * g->plan.op->elem_bytes;
    const int64_t prefetch_distance = tl_prefetches(bytes) ? AHEAD : 0;
    const size_t some_bytes = scans ? (size_t)BLOCK * TL_LANES_STRIP * g->plan.op->result_bytes
                                    : (size_t)BLOCK * STRIP * g->plan.op->elem_bytes;

    if (bytes <= TL_PARALLEL_BYTES) threads = 1;
    TL_TAKE_SCRATCH(ctx);
    if (!tl_scratch_begin(ctx, threads)) return tl_no_memory(ctx, 0, "threads");
    pass all = {ctx, g, in, scans ? out : NULL, results, prefetch_distance, some_bytes};
    g->passes++;

    return tl_parallel(threads, g->strips, do_strips, &all)
               ? TALLY_OK
               : tl_no_memory(ctx, tl_soa_bytes(&g->plan), "strips of a field");
}

static tally_status push(tally *ctx, tl_grid *base, int threads, const tally_view *in,
                         const tally_view *out)
{
    grid *g = (grid *)base;
    assert(in->rows == g->width);
    if (!grow(g, g->count + in->n))
        return tl_no_memory(ctx, (size_t)g->width * sizeof(tl_state), "the nodes of a field");
    TL_TRY(do_all_strips(ctx, g, threads, in, out, NULL));
    g->count += in->n;
    return TALLY_OK;
}

static tally_status result(tally *ctx, tl_grid *base, int threads, void *out)
{
    return do_all_strips(ctx, (grid *)base, threads, NULL, NULL, out);
}

/* ---- nodes of the law ---- */

/* Lifts the kept steps: the last nodes, from number j on, of less than a block. */
static void lift_kept(const grid *g, const strip *t, tl_slab *slab, int j)
{
    const tl_scalar *op = g->plan.op;
    const int64_t first = g->count & -(int64_t)BLOCK, bytes = op->elem_bytes;

    for (int64_t c = 0; c < t->width; c++) {
        tl_counter nodes;
        tl_counter_init(&nodes, first);
        for (int64_t i = first; i < g->count; i++) {
            tl_state s;
            op->lift(&s, t->rows + ((i - first) * g->pitch + c) * bytes, i, g->plan.par);
            tl_counter_push(&nodes, op, 0, &s);
        }

        for (int k = 0; k < nodes.count; k++)
            memcpy(tl_slab_state(slab, j + k, t->col + c), &nodes.node[k], slab->bytes);
    }
}

static tally_status nodes(tally *ctx, tl_grid *base, tl_slab *slab)
{
    grid *g = (grid *)base;
    tl_lanes_buffers buffers;
    if (!g->strips) return TALLY_OK;

    TL_TAKE_SCRATCH(ctx);
    if (!tl_scratch_begin(ctx, 1) ||
        !tl_lanes_open(&buffers, ctx, 0, &g->job, (tl_lanes_size){.width = g->strip[0].width}))
        return tl_no_memory(ctx, tl_soa_bytes(&g->plan), "strips of a field");

    for (int64_t k = 0; k < g->strips; k++) {
        const strip *const t = &g->strip[k];
        const tl_lanes_from none = kept(g, t);
        tl_state s;
        int j = 0;
        buffers.k.carry = t->carry;
        buffers.k.levels = t->levels;

        /* a node is S of its own elements */
        for (; j < slab->count && slab->level[j] >= BLOCK_LOG; j++) {
            tl_lanes_feed(&buffers, &none,
                          &(tl_lanes_part){.at = (int64_t)1 << slab->level[j], .last = 1});
            for (int64_t c = 0; c < t->width; c++) {
                tl_lanes_staged(&buffers, c, &s);
                memcpy(tl_slab_state(slab, j, t->col + c), &s, slab->bytes);
            }
        }

        if (j < slab->count) lift_kept(g, t, slab, j);
    }

    return TALLY_OK;
}

static tally_status fill(tally *ctx, tl_grid *base, const tl_slab *slab, const tl_state *init)
{
    grid *g = (grid *)base;

    if (!grow(g, slab->end))
        return tl_no_memory(ctx, (size_t)g->width * sizeof(tl_state), "the nodes of a field");

    for (int64_t s = 0; s < g->strips; s++) {
        const strip *const t = &g->strip[s];
        const int64_t pad = padded(g, t->width);
        const tl_lanes k = {
            .vectors = (int)(pad / lanes_of(g)), .levels = t->levels, .carry = t->carry};
        for (int64_t c = 0; c < pad; c++) {
            tl_counter nodes;
            tl_slab_get(slab, t->col + (c < t->width ? c : 0), &nodes);
            tl_lanes_continue(&g->job, &k, c, &nodes, init);
        }
    }

    g->count = slab->end;
    return TALLY_OK;
}

/* ---- open and close ---- */

static void close_grid(tl_grid *base)
{
    grid *g = (grid *)base;
    for (int64_t s = 0; g->strip && s < g->strips; s++) free(g->strip[s].carry);
    free(g->rows);
    free(g->strip);
    free(g);
}

static const tl_grid_calls calls = {push, result, nodes, fill, close_grid};

tl_grid *tl_grid_open(const tl_plan *plan, int64_t rows, int scans,
                      const tally_scan_options *options)
{
    grid *g = calloc(1, sizeof *g);
    if (!g) return NULL;

    g->base.calls = &calls;
    g->plan = *plan;
    g->width = rows;
    tl_lanes_begin(&g->job, &g->plan, NULL);
    if (scans) tl_lanes_of_scan(&g->job, NULL, options);

    /* Strips of whole vectors, so that kernels may read steps in place. The last sequences, fewer
     * than a vector, have a strip of their own. */
    const int64_t each = plan->in || scans ? TL_LANES_STRIP : STRIP,
                  full = rows & -(int64_t)lanes_of(g);
    g->strips = (full + each - 1) / each + (full < rows);
    g->strip = calloc((size_t)g->strips + 1, sizeof *g->strip);
    g->pitch = padded(g, rows) + SPACING;
    const size_t bytes = ((size_t)(BLOCK * g->pitch) * plan->op->elem_bytes + 63) & ~(size_t)63;
    g->rows = g->strip ? aligned_alloc(64, bytes) : NULL;
    if (!g->rows) {
        close_grid(&g->base);
        return NULL;
    }

    /* padding lanes are read too */
    for (int64_t i = 1; i <= BLOCK && rows; i++)
        memset(g->rows + (i * g->pitch - SPACING - lanes_of(g)) * plan->op->elem_bytes, 0,
               (size_t)(lanes_of(g) * plan->op->elem_bytes));

    for (int64_t s = 0, col = 0; s < g->strips; s++) {
        strip *t = &g->strip[s];
        const int64_t left = col < full ? full - col : rows - col;
        t->col = col;
        t->width = tl_min(left, each);
        t->rows = g->rows + col * plan->op->elem_bytes;
        col += t->width;
    }

    return &g->base;
}
