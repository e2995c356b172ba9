/* like: scan/hillis_steele
 *
 * tile_scan scans a tile and writes its total to sums[group_index()]. The host scans the totals in the same way and
 * calls propagate. Two halves of `data` in turn need one barrier in each step. */
KERNEL(tile_scan, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *sums, i64 n)
{
    SHARED elem data[2 * THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();
    /* the steps belong here */
    if (i < n) out[i] = data[tid];
    if (tid == THREADS - 1) sums[group_index()] = data[tid];
}

KERNEL(propagate, THREADS)(GLOBAL elem *out, GLOBAL const elem *sums, i64 n)
{
    i64 i = group_index() * THREADS + thread_index();

    /* Tile t must get what is before it: sums is scanned already. */
    if (i < n) out[i] = out[i];
}
