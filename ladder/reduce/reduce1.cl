/* SPDX-License-Identifier: MIT
 * teaches: a block folds its part in shared memory by a tree of neighbours, tested with a remainder
 * source: CUDA lecture, "reduce1" (seed 004)
 * look at: divergence: the condition tid % (2 * s) splits every warp at every step
 *
 * Launched again on its own results until one is left. */
#include "tiled_1.cl"
