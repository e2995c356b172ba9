/* SPDX-License-Identifier: MIT
 * Short sequences, of fewer elements than a chunk, many at a time (gpu/kernel/forest.cl). */
#include "work.h"
#include "gpu/kernel/constants.h"

enum { JOBS_EACH = 32 }; /* of a processor, if there are so many */

/* Sequences of a job: as many as a warp has room for, fewer if most warps had nothing to do then. */
static int64_t each_of(const tl_launch *l, const tl_batch *b)
{
    const int64_t rows = b->n ? FOREST_ELEMENTS / b->n : FOREST_ELEMENTS, fit = b->listed ? FOREST_SEQUENCES : rows;
    const int64_t fair = b->rows / ((int64_t)JOBS_EACH * l->d->gpu->calls->processors(l->d->gpu));
    return fair < 1 ? 1 : fair < fit ? fair : fit;
}

tally_status tl_forest_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r)
{
    const int64_t each = each_of(l, b), jobs = b->rows / each + (b->rows % each != 0);
    const int warps = l->d->gpu->calls->warps_in_group(l->d->gpu), elem = b->plan->op->elem_bytes;
    const tl_room_argument room =
        tl_room((int64_t)warps * FOREST_BYTES(elem, tl_gpu_state_bytes(b->plan->op), b->listed));
    const tl_arguments_forest_part forest =
        TL_ARGUMENTS(forest_part, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES), .results = tl_results_arguments(r),
                     .longest = tl_i64(CHUNK - 1), .each = tl_i64(each), .jobs = tl_i64(jobs));
    if (b->listed) return TL_GO(l, reduce_segments, jobs, .forest = forest, .local_bytes = room);
    return TL_GO(l, reduce_rows, jobs, .forest = forest, .local_bytes = room);
}
