/* like: scan/hillis_steele */
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

/* sums: already scanned. Tile t gets what is before it, the sum of tiles 0 .. t - 1. */
KERNEL(propagate, THREADS)(GLOBAL elem *out, GLOBAL const elem *sums, i64 n)
{
    i64 i = group_index() * THREADS + thread_index();

    if (group_index() > 0 && i < n) out[i] = combine(sums[group_index()], out[i]);
}
