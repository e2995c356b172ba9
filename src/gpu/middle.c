/* SPDX-License-Identifier: MIT
 * Segments of some chunks, offsets on the device: a warp walks down each (gpu/kernel/middle_reduce.cl, middle_scan.cl),
 * and makes in one launch what nodes, their table and the last step are for longer ones. */
#include "work.h"
#include "gpu/kernel/constants.h"

enum {
    EACH = 8,       /* segments for each processor that are worth a warp each: fewer are cut into chunks earlier */
    FEW_CHUNKS = 4, /* then */
    MEAN = CHUNK / 2 /* elements; where segments have that many, a warp for each takes the short ones too */
};

int64_t tl_middle_end(const tl_gpu_device *d, int64_t rows)
{
    const int64_t worth = (int64_t)EACH * d->gpu->calls->processors(d->gpu);
    return rows < worth ? FEW_CHUNKS * CHUNK : MIDDLE_END;
}

void tl_middle_choose(tl_batch *b, int64_t count)
{
    const int all = count && b->elements / b->rows >= MEAN;
    b->middles = all ? b->rows : count;
    b->middle_last = all ? -1 : b->rows - 1;
    b->shorts = !all && b->longs + count < b->rows;
}

static tl_arguments_middle_part arguments_of(const tl_launch *l, const tl_batch *b, const tl_results *r)
{
    return TL_ARGUMENTS(middle_part, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                        .results = tl_results_arguments(r), .list = tl_memory_of(&b->ids),
                        .last = tl_i64(b->middle_last), .end = tl_i64(tl_middle_end(l->d, b->rows)),
                        .jobs = tl_i64(b->middles));
}

tally_status tl_middle_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r)
{
    return TL_GO(l, reduce_middles, b->middles, .middle = arguments_of(l, b, r));
}

tally_status tl_middle_scan(const tl_launch *l, const tl_batch *b, const tl_results *r, const tl_before *from)
{
    return TL_GO(l, scan_middles, b->middles, .middle = arguments_of(l, b, r), .exclusive = tl_i64(from->exclusive),
                 .seeded = tl_i64(from->seeded), .init = tl_memory_of(from->memory));
}
