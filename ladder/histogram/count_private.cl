/* SPDX-License-Identifier: MIT
 * teaches: several copies of the counts: lanes with equal elements use different copies; then one fold
 * source: Podlozhnyuk, "Histogram Calculation in CUDA" (2007), has a copy for each warp; copies by lane are usual now
 * look at: bank conflicts: where neighbours are equal (half of the data), 32 lanes want one word of count_shared, and 4
 *          lanes each want one of 8 words here. Shared accesses of the fold at the end: the price */
#define BINS 128
#define COPIES 8
#define COPY (BINS + 1)
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    SHARED u32 mine[COPIES * COPY];
    int tid = thread_index();
    int copy = tid % COPIES * COPY;

    for (int b = tid; b < COPIES * COPY; b += THREADS) mine[b] = 0;
    BARRIER();
    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) atomic_next(mine, copy + in[i]);
    BARRIER();
    for (int b = tid; b < BINS; b += THREADS) {
        u32 sum = 0;
        for (int k = 0; k < COPIES; k++) sum += mine[k * COPY + b];
        atomic_more(counts, b, sum);
    }
}
