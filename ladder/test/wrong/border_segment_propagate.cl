/* like: scan/segmented
 * class: border
 * caught: values */
KERNEL(tile_scan, THREADS)(GLOBAL const elem *in, GLOBAL const u32 *heads, GLOBAL elem *out, GLOBAL u32 *seen,
                           GLOBAL elem *sums, GLOBAL u32 *sum_heads, i64 n)
{
    SHARED elem data[2 * THREADS];
    SHARED u32 begun[2 * THREADS];
    int tid = thread_index();
    int from = 0;
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    begun[tid] = i < n ? heads[i] : 0;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        int to = THREADS - from;
        elem mine = data[from + tid];
        u32 head = begun[from + tid];
        if (tid >= s && head == 0) {
            mine = combine(data[from + tid - s], mine);
            head = begun[from + tid - s];
        }
        data[to + tid] = mine;
        begun[to + tid] = head;
        from = to;
        BARRIER();
    }
    if (i < n) {
        out[i] = data[from + tid];
        seen[i] = begun[from + tid];
    }
    if (tid == THREADS - 1) {
        sums[group_index()] = data[from + tid];
        sum_heads[group_index()] = begun[from + tid];
    }
}

/* sums: already scanned, by segments. */
KERNEL(propagate, THREADS)(GLOBAL elem *out, GLOBAL const u32 *seen, GLOBAL const elem *sums, i64 n)
{
    i64 i = group_index() * THREADS + thread_index();

    if (group_index() > 0 && i < n) out[i] = combine(sums[group_index() - 1], out[i]);
}
