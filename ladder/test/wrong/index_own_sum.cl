/* like: scan/tiled_scan
 * class: index
 * caught: values */
KERNEL(tile_scan, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *sums, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        elem left = tid >= s ? data[tid - s] : NEUTRAL;
        BARRIER();
        if (tid >= s) data[tid] = combine(left, data[tid]);
        BARRIER();
    }
    if (i < n) out[i] = data[tid];
    if (tid == THREADS - 1) sums[group_index()] = data[tid];
}

/* sums: already scanned. Tile t gets what is before it, the sum of tiles 0 .. t - 1. */
KERNEL(propagate, THREADS)(GLOBAL elem *out, GLOBAL const elem *sums, i64 n)
{
    i64 i = group_index() * THREADS + thread_index();

    if (group_index() > 0 && i < n) out[i] = combine(sums[group_index()], out[i]);
}
