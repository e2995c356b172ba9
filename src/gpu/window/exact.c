/* SPDX-License-Identifier: MIT
 * Windows of class X (gpu/kernel/window/exact.cl). */
#include "window.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

/* A tile has up to ROUNDS_MOST rounds of results, so that few items are read twice. It has no more
 * rounds if it has OVERLAP * w results already. BLOCKS_MOST: tiles that share a multiprocessor's
 * local memory; fewer if a tile would have less than w results. */
enum { ROUNDS_MOST = 8, OVERLAP = 5, BLOCKS_MOST = 3 };

/* Results of a tile of so many rounds, and bytes of its local memory. */
static int64_t each_of(const tl_batch *b, int rounds)
{
    return (int64_t)rounds * WINDOW_THREADS * EXACT_RUN(tl_gpu_state_bytes(b->plan->op));
}

static int64_t local_bytes_of(const tl_batch *b, int64_t w, int rounds)
{
    const tl_scalar *op = b->plan->op;
    return EXACT_BYTES(op->elem_bytes, tl_gpu_state_bytes(op), op->result_bytes, each_of(b, rounds),
                       w - 1);
}

/* Returns the rounds of a tile, or 0 if a tile in local memory would have fewer than w / 2
 * results. blocks: a multiprocessor has as many at least. */
static int rounds_of(const tl_batch *b, int64_t w, int64_t capacity, int blocks)
{
    for (int groups = BLOCKS_MOST; groups >= blocks; groups--) {
        int rounds = 0;
        while (rounds < ROUNDS_MOST && each_of(b, rounds) < OVERLAP * w &&
               local_bytes_of(b, w, rounds + 1) <= capacity / groups)
            rounds++;
        if (rounds && each_of(b, rounds) >= (groups > 1 ? w : w / 2)) return rounds;
    }
    return 0;
}

/* The results of a far tile, which takes windows of more elements; the number of such tiles; the
 * words of the status table, where each tile publishes two states. */
static int64_t far_tile(const tl_window_call *c)
{
    return WINDOW_THREADS * EXACT_FAR_RUN(c->b->plan->op->elem_bytes, c->state);
}

static int64_t far_tiles(const tl_window_call *c, int64_t count)
{
    const int64_t tile = far_tile(c);
    return (count + c->w - 1 + tile - 1) / tile;
}

static int64_t far_words(const tl_window_call *c, int64_t count)
{
    return 2 * far_tiles(c, count) * ((c->state + 7) / 8);
}

/* Near tiles are faster as long as BLOCKS_MOST of them share a multiprocessor. BETWEEN_MOST: tiles
 * between the two ends of a window; each tile polls for all of them. */
static int is_far(const tl_window_call *c)
{
    enum { BETWEEN_MOST = 1 << 13 };
    const int64_t tile = far_tile(c);
    return c->d->gpu->calls->single_launch && c->w > tile && c->w / tile < BETWEEN_MOST &&
           !rounds_of(c->b, c->w, c->d->gpu->local_bytes, BLOCKS_MOST) &&
           far_words(c, c->b->elements) <= tl_status_words(c->d);
}

/* The parts of windows that slide (exact_far.cl), of LEAST * w results at least: as many blocks
 * of a multiprocessor as leave their elements in the cache. 0: far tiles are faster. */
static int64_t slide_parts(const tl_window_call *c, int64_t count)
{
    enum { BLOCKS_LEAST = 2, BLOCKS = 3, LEAST = 2, CACHE = 24 << 20 };
    const int64_t processors = c->d->gpu->processors, most = count / (LEAST * c->w) + 1,
                  fit = CACHE / (c->w * c->b->plan->op->elem_bytes * processors),
                  parts = processors * tl_min(fit, BLOCKS);
    return fit < BLOCKS_LEAST ? 0 : tl_min(parts, most);
}

static int slides(const tl_window_call *c)
{
    return c->d->gpu->calls->single_launch && c->b->plan->op->inverse && tl_is_aligned(c) &&
           c->w > far_tile(c) && slide_parts(c, c->b->elements) >= c->d->gpu->processors;
}

int tl_exact_takes(const tl_window_call *c)
{
    const tl_batch *b = c->b;
    const int64_t local_bytes = c->d->gpu->local_bytes;
    const int dense = b->rows == 1 && !b->listed && b->stride == 1 && c->r->stride == 1;
    /* Shorter windows: tiles of quads are faster for keys of f32 and of two bytes. */
    const tl_scalar *op = b->plan->op;
    const int slow =
        op->result_bytes == op->elem_bytes && (op->elem_bytes == 2 || op->dtype == TALLY_F32);

    if (!op->exact || !dense || c->g->least > c->w || c->w > b->n) return 0;
    return slides(c) || is_far(c) ||
           (c->w > EXACT_RUN(c->state) && c->w >= (slow ? 32 : 0) && c->w < local_bytes &&
            rounds_of(b, c->w, local_bytes, 1) > 0);
}

tally_status tl_window_exact(const tl_window_call *c, int64_t j0, int64_t j1)
{
    enum { BLOCKS = 4, LINE = 16 }; /* BLOCKS: of a multiprocessor; far tiles */
    const tl_batch *b = c->b;
    const int slide = slides(c), far_ = !slide && is_far(c);
    const int64_t count = j1 - j0;
    int rounds = rounds_of(b, c->w, c->d->gpu->local_bytes, 1); /* near */
    while (rounds > 1 && each_of(b, rounds - 1) >= c->w / 2 &&
           each_of(b, rounds - 1) * c->d->gpu->processors >= count)
        rounds--; /* one for each multiprocessor */
    const int64_t each = slide  ? (count / slide_parts(c, count) + LANES) & -LANES
                         : far_ ? far_tile(c)
                                : each_of(b, rounds),
                  jobs = far_ ? far_tiles(c, count) : (count + each - 1) / each;
    const int64_t head = tl_before_aligned(c, j0, LINE);
    if (head && count > each * c->d->gpu->processors) {
        TL_TRY(tl_window_exact(c, j0, j0 + head));
        return tl_window_exact(c, j0 + head, j1);
    }

    const int64_t most = (int64_t)BLOCKS * c->d->gpu->processors,
                  groups = far_ ? tl_min(jobs, most) : jobs;
    const tl_scalar *op = b->plan->op;
    const int64_t bytes = slide  ? LANES
                          : far_ ? EXACT_FAR_BYTES(op->elem_bytes, c->state, op->result_bytes)
                                 : local_bytes_of(b, c->w, rounds);
    tl_launch l;
    tl_results to = *c->r;

    assert((slide || far_ || rounds > 0) && count > 0);
    to.byte += j0 * op->result_bytes;
    TL_TRY(tl_gpu_program(c->d, op, slide ? "window_slide" : far_ ? "window_far" : "window", &l));
    if (far_) TL_TRY(tl_status_reserve(c->d, far_words(c, count)));

    return TL_GO(&l, window_exact, groups, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                 .results = tl_results_arguments(&to), .first_item = j0 - tl_window_before(c),
                 .width = c->w, .count = count, .each = each, .jobs = jobs,
                 .status_table = far_ ? c->d->slot->status_table.memory.handle : NULL,
                 .local_bytes = bytes);
}
