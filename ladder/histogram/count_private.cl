/* SPDX-License-Identifier: MIT
 * teaches: a copy of the counts for each warp, so that warps do not wait for each other's atomics; then one fold
 * source: Podlozhnyuk, "Histogram Calculation in CUDA" (2007): a histogram for each warp
 * look at: shared memory: 8 copies; shared accesses of the fold at the end. It pays where many elements are equal */
#define BINS 128
#define WARPS (THREADS / 32)
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    SHARED u32 mine[WARPS * BINS];
    int tid = thread_index();
    int copy = tid / 32 * BINS;

    for (int b = tid; b < WARPS * BINS; b += THREADS) mine[b] = 0;
    BARRIER();
    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) atomic_next(mine, copy + in[i]);
    BARRIER();
    for (int b = tid; b < BINS; b += THREADS) {
        u32 sum = 0;
        for (int w = 0; w < WARPS; w++) sum += mine[w * BINS + b];
        atomic_more(counts, b, sum);
    }
}
