/* SPDX-License-Identifier: MIT
 * Sequences of some chunks, rows or segments: one warp reduces or scans each of them
 * (gpu/kernel/short/middle_*.cl). Longer sequences need several launches. */
#include "work.h"
#include "gpu/kernel/constants.h"

enum {
    SEQUENCES_PER_PROCESSOR = 4, /* minimum; with fewer, too few warps are busy */
    BLOCKS_PER_PROCESSOR = 3     /* resident blocks (MIDDLE_BLOCKS) */
};

int tl_middle_pays(const tl_gpu_device *d, const tl_scalar *op, int64_t rows, int64_t elements,
                   int scan)
{
    return rows >= (int64_t)SEQUENCES_PER_PROCESSOR * d->gpu->calls->processors(d->gpu) &&
           elements / rows >= MIDDLE_MEAN && (!scan || tl_gpu_state_bytes(op) <= 8);
}

int tl_middle_takes(const tl_gpu_device *d, const tl_batch *b, int scan)
{
    if (b->listed) return b->walked;
    return b->n >= CHUNK && b->n < MIDDLE_END && !b->in_place && !tl_batch_across(b) &&
           tl_middle_pays(d, b->plan->op, b->rows, b->rows * MIDDLE_MEAN, scan);
}

static tl_arguments_middle_part arguments_of(const tl_batch *b, const tl_results *r)
{
    return TL_ARGUMENTS(middle_part, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                        .results = tl_results_arguments(r), .ahead = tl_ahead_arguments(b),
                        .jobs = tl_i64(b->rows));
}

/* Warps of a reduction: one for each sequence; or, if the kernel gives out the sequences from a
 * counter, as many as are resident. Scans do not use the counter: they are slower with it. */
static int64_t reduce_warps(const tl_launch *l, const tl_batch *b)
{
    const tl_gpu_calls *c = l->d->gpu->calls;
    const int64_t run =
        (int64_t)BLOCKS_PER_PROCESSOR * c->processors(l->d->gpu) * c->warps_in_group(l->d->gpu);
    return b->ahead && run < b->rows ? run : b->rows;
}

tally_status tl_middle_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r)
{
    return TL_GO(l, reduce_middles, reduce_warps(l, b), .middle = arguments_of(b, r));
}

tally_status tl_middle_scan(const tl_launch *l, const tl_batch *b, const tl_results *r,
                            const tl_before *from)
{
    return TL_GO(l, scan_middles, b->rows, .middle = arguments_of(b, r),
                 .exclusive = tl_i64(from->exclusive), .seeded = tl_i64(from->seeded),
                 .init = tl_memory_of(from->memory));
}
