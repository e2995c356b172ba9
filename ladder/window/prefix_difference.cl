/* SPDX-License-Identifier: MIT
 * teaches: two differences of a running sum replace a window of any length: n additions, whatever w is
 * source: the usual trick (numpy.cumsum, pandas), with the scan of tiled_scan
 * look at: error: a running sum forgets small numbers beside large ones, and after an inf every later window is nan
 *
 * Fast, exact for whole numbers, and wrong for floats as soon as one element is large: the ladder puts 1e16 and
 * then an inf into the series, and shows what becomes of the windows after them. */
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

    if (group_index() > 0 && i < n) out[i] = combine(sums[group_index() - 1], out[i]);
}

KERNEL(difference, THREADS)(GLOBAL const elem *sum, GLOBAL elem *out, i64 n, i64 w)
{
    i64 i = group_index() * THREADS + thread_index();

    if (i >= w - 1 && i < n) {
        elem before = i >= w ? sum[i - w] : 0;
        out[i] = (sum[i] - before) / (elem)w;
    }
}
