/* SPDX-License-Identifier: MIT
 * teaches: two arrays used in turn: what is read is never written in the same step, so one barrier per step is enough
 * source: Hillis and Steele, "Data Parallel Algorithms" (1986), by tiles as in tiled_scan
 * look at: barriers: half of tiled_scan's; still log2 of the tile additions per element */
KERNEL(tile_scan, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *sums, i64 n)
{
    SHARED elem data[2 * THREADS];
    int tid = thread_index();
    int from = 0;
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        int to = THREADS - from;
        elem mine = data[from + tid];
        data[to + tid] = tid >= s ? combine(data[from + tid - s], mine) : mine;
        from = to;
        BARRIER();
    }
    if (i < n) out[i] = data[from + tid];
    if (tid == THREADS - 1) sums[group_index()] = data[from + tid];
}

#include "tiled_scan.cl" propagate
