/* like: histogram/count_shared
 * class: tail
 * caught: values */
#define BINS 128
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    SHARED u32 mine[BINS];
    int tid = thread_index();

    for (int b = tid; b < BINS; b += THREADS) mine[b] = 0;
    BARRIER();
    for (i64 i = group_index() * THREADS + tid; i < n - 1; i += group_count() * THREADS) atomic_next(mine, in[i]);
    BARRIER();
    for (int b = tid; b < BINS; b += THREADS) atomic_more(counts, b, mine[b]);
}
