/* like: histogram/count_global
 * class: race
 * caught: race */
KERNEL(count, THREADS)(GLOBAL const elem *in, GLOBAL u32 *counts, i64 n)
{
    for (i64 i = group_index() * THREADS + thread_index(); i < n; i += group_count() * THREADS) counts[in[i]]++;
}
