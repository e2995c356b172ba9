/* SPDX-License-Identifier: MIT
 * A grid (context/device.h) on the processors. Its sequences are lanes (lanes.h) in strips of
 * neighbouring ones, and a strip keeps, from push to push,
 *
 *   rows     the last 0..7 steps as they came: a node of 8 is made when it is whole
 *   carry    the counters of the kernels, whose lowest level is such a node
 *
 * so a step that is pushed alone costs a copy, and one fold of 8 rows every eighth time. Whole
 * blocks of 8 steps are folded where they lie. A scan has results at once: up to 8 rows are
 * scanned again from where their block begins. */
#ifndef TALLY_GRID_H
#define TALLY_GRID_H
#include "context/context.h"
#include "context/device.h"
#include "law/slabs.h"

/* fewer than 2^54 sequences, so that no number of bytes overflows */
enum { TL_GRID_MOST_LOG = 54 };
#define TL_GRID_MOST (((int64_t)1 << TL_GRID_MOST_LOG) - 1)
/* lanes of a strip of folds; steps that are prefetched */
enum { TL_GRID_STRIP = 1024, TL_GRID_AHEAD = 16 };

/* A grid of so many sequences in host memory, which are reduced or (scans) scanned with good
 * options, NULL: none. NULL: no memory. */
tl_grid *tl_grid_open(const tl_plan *plan, int64_t rows, int scans,
                      const tally_scan_options *options);

/* The nodes of elements start .. of each sequence of a checked and normal view: of `count`
 * levels, one after the other, a state of each sequence. */
tally_status tl_grid_slab(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                          int64_t start, int count, const unsigned char *level,
                          unsigned char *states);
#endif
