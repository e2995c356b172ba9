/* SPDX-License-Identifier: MIT
 * teaches: the order turned round: the most distant pairs first
 * source: CUDA lecture, "reduce3" (seed 004)
 * look at: no bank conflicts, whole warps rest; in the first step half of the threads already have nothing to do
 *
 * Launched again on its own results until one is left. */
#include "tiled_3.cl"
