/* SPDX-License-Identifier: MIT
 * teaches: the first step of the tree is done while loading
 * source: CUDA lecture, "reduce4" (seed 004)
 * look at: half as many groups, half as many barriers for the same bytes
 *
 * Launched again on its own results until one is left. */
#include "tiled_4.cl"
