/* like: histogram/count_shared
 * class: race
 * caught: unset */
#define BINS 128
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    SHARED u32 mine[BINS];
    int tid = thread_index();

    BARRIER();
    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) atomic_next(mine, in[i]);
    BARRIER();
    for (int b = tid; b < BINS; b += THREADS) atomic_more(counts, b, mine[b]);
}
