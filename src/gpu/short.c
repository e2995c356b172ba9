/* SPDX-License-Identifier: MIT
 * Sequences that need no launch for each level (gpu/kernel/short/): those of fewer elements than a
 * chunk, many per warp, and those of some chunks, rows or segments, one per warp. */
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <string.h>

/* ---- fewer elements than a chunk ---- */

/* Warps that are resident on a multiprocessor, and the jobs of each if there are many segments:
 * segments differ in length, so a warp's last job ends while others are idle. */
enum { RESIDENT_WARPS = 32, JOBS_OF_WARP = 4 };

/* Returns the sequences of a job: as many as fit in a warp's local memory, or fewer if most warps
 * would then have no job. Of many segments it is a multiple of LANES, because a pass of lanes
 * takes one segment per lane. */
static int64_t sequences_per_job(const tl_launch *l, const tl_batch *b)
{
    const int64_t warps = RESIDENT_WARPS * l->d->gpu->processors,
                  rows = b->n ? SEGMENTED_ELEMENTS / b->n : SEGMENTED_ELEMENTS,
                  fit = b->listed ? SEGMENTED_SEQUENCES : rows;
    int64_t fair = (b->rows + (b->listed ? warps - 1 : 0)) / warps;
    if (b->listed && fair > LANES) {
        fair = tl_max(fair / JOBS_OF_WARP / LANES * LANES, LANES);
    }
    return fair < 1 ? 1 : tl_min(fair, fit);
}

/* A launch. A block uses as many warps as fit in its local memory, and each has an equal share of
 * it. */
typedef struct {
    tl_arguments_segmented arguments;
    int64_t jobs; /* in the unit of tl_launch_jobs: counted in all warps of a block */
    int64_t capacity;
} segmented_launch;

tally_status tl_program_of(const tl_launch *l, const tl_batch *b, tl_launch *to)
{
    const int scan = !strcmp(l->program.of.shape, "scan");
    *to = *l;
    if (!b->listed) return TALLY_OK;
    return tl_gpu_program(l->d, l->program.of.op, scan ? "scan_segments" : "reduce_segments", to);
}

static segmented_launch launch_of(const tl_launch *l, const tl_batch *b, const tl_results *r,
                                  int64_t bytes_of_warp)
{
    const tl_gpu *const gpu = l->d->gpu;
    const int64_t each = sequences_per_job(l, b), jobs = b->rows / each + (b->rows % each != 0);
    const int64_t most = gpu->warps_in_group, fit = gpu->local_bytes / bytes_of_warp;
    const int64_t warps = fit < 1 ? 1 : tl_min(fit, most);

    assert(each > 0 && (b->listed || each == 1 || each * b->n <= SEGMENTED_ELEMENTS));
    return (segmented_launch){TL_ARGUMENTS(segmented, .batch = *b->all, .results = r->arguments,
                                           .speculative = b->speculative, .each = each,
                                           .jobs = jobs, .warps = warps),
                              (jobs / warps + (jobs % warps != 0)) * most, warps * bytes_of_warp};
}

tally_status tl_segmented_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r)
{
    const tl_scalar *op = b->plan->op;
    const segmented_launch f =
        launch_of(l, b, r, SEGMENTED_BYTES(op->elem_bytes, b->state_bytes, b->listed));
    tl_launch short_ones;
    TL_TRY(tl_program_of(l, b, &short_ones));

    return TL_GO(&short_ones, reduce_short, f.jobs, .segmented = f.arguments,
                 .local_bytes = f.capacity);
}

/* OVERWRITES of kernel/short/scan.cl: true if a result can overwrite its element, because both have
 * the same kind and size. */
static int overwrites(const tl_scalar *op)
{
    return op->inputs == 1 && op->lanes == 1 && op->result_bytes == op->elem_bytes &&
           (op->dtype >= TALLY_F32) == (op->out >= TALLY_F32);
}

tally_status tl_segmented_scan(const tl_launch *l, const tl_batch *b, const tl_results *r,
                               const tl_before *from)
{
    const tl_scalar *op = b->plan->op;
    const int64_t bytes = SEGMENTED_SCAN_BYTES(op->elem_bytes, b->state_bytes, op->result_bytes,
                                               b->listed, overwrites(op));
    const segmented_launch f = launch_of(l, b, r, bytes);
    tl_launch short_ones;
    TL_TRY(tl_program_of(l, b, &short_ones));

    return TL_GO(&short_ones, scan_short, f.jobs, .segmented = f.arguments, .seeding = *from,
                 .local_bytes = f.capacity);
}

/* ---- some chunks ---- */

enum {
    SEQUENCES_PER_PROCESSOR = 4, /* minimum; with fewer, too few warps are busy */
    BLOCKS_PER_PROCESSOR = 3     /* resident blocks (BY_WARP_BLOCKS) */
};

int tl_by_warp_pays(const tl_gpu_device *d, const tl_batch *b, int64_t elements, int scan)
{
    return b->rows >= (int64_t)SEQUENCES_PER_PROCESSOR * d->gpu->processors &&
           elements / b->rows >= BY_WARP_MEAN && (!scan || b->state_bytes <= 8);
}

int tl_by_warp_takes(const tl_gpu_device *d, const tl_batch *b, int scan)
{
    if (b->listed) return b->warp_each;
    return b->n >= CHUNK && b->n < BY_WARP_END - scan && !b->in_place && !b->columns_log &&
           tl_by_warp_pays(d, b, b->rows * BY_WARP_MEAN, scan);
}

static tl_arguments_long_rows arguments_of(const tl_batch *b, const tl_results *r)
{
    return TL_ARGUMENTS(long_rows, .batch = *b->all, .results = r->arguments,
                        .speculative = b->speculative, .jobs = b->rows);
}

/* Warps of a reduction: one for each sequence; or, if the kernel gives out the sequences from a
 * counter, as many as are resident. Scans do not use the counter: they are slower with it. */
static int64_t reduce_warps(const tl_launch *l, const tl_batch *b)
{
    const tl_gpu *const gpu = l->d->gpu;
    const int64_t run = (int64_t)BLOCKS_PER_PROCESSOR * gpu->processors * gpu->warps_in_group;
    return b->speculative.slot >= 0 ? tl_min(run, b->rows) : b->rows;
}

tally_status tl_by_warp_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r)
{
    return TL_GO(l, reduce_by_warp, reduce_warps(l, b), .long_rows = arguments_of(b, r));
}

tally_status tl_by_warp_scan(const tl_launch *l, const tl_batch *b, const tl_results *r,
                             const tl_before *from)
{
    return TL_GO(l, scan_by_warp, b->rows, .long_rows = arguments_of(b, r), .seeding = *from);
}
