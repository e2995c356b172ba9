/* SPDX-License-Identifier: MIT
 * Short sequences, of fewer elements than a chunk, many at a time (gpu/kernel/forest.cl). */
#include "work.h"
#include "gpu/kernel/constants.h"

/* Sequences of a job: what a warp's room holds of equal ones; as many segments as it has starts for. */
static int64_t each_of(const tl_batch *b)
{
    if (b->listed) return FOREST_SEQUENCES;
    return b->n ? FOREST_ROOM / b->n : FOREST_ROOM;
}

static int64_t room_of(const tl_launch *l, const tl_batch *b)
{
    const int warps = l->d->gpu->calls->warps_in_group(l->d->gpu);
    return (int64_t)warps * FOREST_BYTES(tl_gpu_state_bytes(b->plan->op), b->plan->op->elem_bytes);
}

tally_status tl_forest_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r)
{
    const int64_t each = each_of(b), jobs = b->rows / each + (b->rows % each != 0);
    return TL_GO(l, forest_reduce, jobs, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                 .results = tl_results_arguments(r), .longest = tl_i64(CHUNK - 1), .each = tl_i64(each),
                 .jobs = tl_i64(jobs), .local_bytes = tl_room(room_of(l, b)));
}
