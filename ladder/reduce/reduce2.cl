/* SPDX-License-Identifier: MIT
 * teaches: the remainder is gone: thread t works at index 2 * s * t
 * source: CUDA lecture, "reduce2" (seed 004)
 * look at: bank conflicts that double with every step, up to 8 lanes waiting for one bank (256 threads)
 *
 * Launched again on its own results until one is left. The slide's loop steps with `s <= 1`, which is a comparison:
 * `s <<= 1` is meant. */
#include "tiled_2.cl"
