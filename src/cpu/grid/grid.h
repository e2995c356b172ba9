/* SPDX-License-Identifier: MIT
 * Streams and fragments of many sequences on processors. */
#pragma once

#include "context/context.h"
#include "context/device.h"
#include "law/counter.h"
#include "operator/kernel.h"

/* ---- grid.c ----
 *
 * A grid (context/device.h) on CPUs. Its sequences are lanes (lanes.h) in strips of neighbouring
 * sequences. From push to push, a strip keeps
 *
 *   rows     the last 0 .. 7 steps, unchanged, until 8 steps make a node
 *   carry    the counters of the kernels; their lowest level is a node of 8 steps
 *
 * A step that is pushed alone costs a copy, and every eighth step a fold of 8 rows. Whole blocks of
 * 8 steps are folded in place. A scan writes results at once: up to 8 rows are scanned again, from
 * the beginning of their block. */

/* At most 2^54 - 1 sequences: no number of bytes overflows, but those of exact sums
 * (tl_exact_bytes). */
enum { TL_GRID_MOST_LOG = 54 };
#define TL_GRID_MOST (((int64_t)1 << TL_GRID_MOST_LOG) - 1)

/* Opens a grid of `rows` sequences in host memory, which are reduced or (scans) scanned. options:
 * checked, or NULL. Returns NULL if out of memory. */
tl_grid *tl_grid_open(const tl_plan *plan, int64_t rows, int scans,
                      const tally_scan_options *options);

/* ---- counters.c ----
 *
 * A reduction for each of many groups whose elements arrive in any order. Each group has a binary
 * counter (law/counter.h), with at most one node per bit of its number of elements. */

typedef struct tl_counters tl_counters;

/* threads: most threads of a push. NULL: out of memory. */
tl_counters *tl_counters_open(const tl_plan *plan, int threads);
void tl_counters_close(tl_counters *c);

/* Element i of n goes to group codes[i] of 0 .. groups - 1; `groups` never decreases. *bad: the
 * index of the first other code, then nothing is pushed; or -1. 0: out of memory; then some
 * elements may be missing. */
int tl_counters_push(tl_counters *c, const void *x, const int32_t *codes, int64_t n, int64_t groups,
                     int64_t *bad);
int64_t tl_counters_groups(const tl_counters *c);

/* Writes a result for each group. */
void tl_counters_results(const tl_counters *c, void *out);
