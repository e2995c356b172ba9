/* SPDX-License-Identifier: MIT
 * teaches: a histogram by the definition: every thread adds one to the count of its element, in global memory
 * source: common practice since atomic operations on memory (compute capability 1.1, 2006)
 * look at: atomics are requests: one for each element, all of them to the same 128 words */
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    for (i64 i = group_index() * THREADS + thread_index(); i < n; i += group_count() * THREADS)
        atomic_next(counts, in[i]);
}
