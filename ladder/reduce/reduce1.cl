/* SPDX-License-Identifier: MIT
 * teaches: a block folds its part in shared memory by a tree of neighbours, tested with a remainder
 * source: CUDA lecture, "reduce1" (seed 004)
 * look at: warps at work: 8 8 8 8 8 4 2 1. The condition tid % (2 * s) splits all 8 in the first five steps
 *
 * Launched again on its own results until one is left. */
#include "tiled_1.cl"
