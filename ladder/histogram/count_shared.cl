/* SPDX-License-Identifier: MIT
 * teaches: each group counts in shared memory, and adds its 128 counts to the result once
 * source: NVIDIA, "GPU Pro Tip: Fast Histograms Using Shared Atomics on Maxwell" (2015)
 * look at: requests, beside count_global: almost none but the reads; the two barriers around the counting */
#define BINS 128
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    SHARED u32 mine[BINS];
    int tid = thread_index();

    for (int b = tid; b < BINS; b += THREADS) mine[b] = 0;
    BARRIER();
    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) atomic_next(mine, in[i]);
    BARRIER();
    for (int b = tid; b < BINS; b += THREADS) atomic_more(counts, b, mine[b]);
}
