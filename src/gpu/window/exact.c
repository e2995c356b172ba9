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
 * results. */
static int rounds_of(const tl_batch *b, int64_t w, int64_t capacity)
{
    for (int groups = BLOCKS_MOST; groups > 0; groups--) {
        int rounds = 0;
        while (rounds < ROUNDS_MOST && each_of(b, rounds) < OVERLAP * w &&
               local_bytes_of(b, w, rounds + 1) <= capacity / groups)
            rounds++;
        if (rounds && each_of(b, rounds) >= (groups > 1 ? w : w / 2)) return rounds;
    }
    return 0;
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

    return op->exact && dense && (c->g->valid || c->g->whole) && c->g->least <= c->w &&
           c->w <= b->n && c->w > EXACT_RUN(c->state) && c->w >= (slow ? 32 : 0) &&
           c->w < local_bytes && rounds_of(b, c->w, local_bytes) > 0;
}

tally_status tl_window_exact(const tl_window_call *c)
{
    const tl_batch *b = c->b;
    const int rounds = rounds_of(b, c->w, c->d->gpu->local_bytes);
    const int64_t each = each_of(b, rounds), count = tl_windows_of(c),
                  jobs = (count + each - 1) / each;
    tl_built program = {0};
    const tl_launch l = {c->d, c->ctx, &program};

    assert(rounds > 0);
    tally_status status = tl_gpu_program(c->d, c->ctx, b->plan->op, "window", &program);
    if (status) return status;

    return TL_GO(&l, window_exact, jobs, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                 .results = tl_results_arguments(c->r), .first_item = tl_i64(-tl_window_before(c)),
                 .width = tl_i64(c->w), .count = tl_i64(count), .each = tl_i64(each),
                 .jobs = tl_i64(jobs),
                 .local_bytes = tl_local_bytes(local_bytes_of(b, c->w, rounds)));
}
