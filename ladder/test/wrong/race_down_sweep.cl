/* like: scan/blelloch
 * class: race
 * caught: race */
KERNEL(tile_scan, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *sums, i64 n)
{
    SHARED elem data[2 * THREADS];
    int tid = thread_index();
    i64 i = 2 * group_index() * THREADS + tid;
    i64 j = i + THREADS;

    data[tid] = i < n ? in[i] : NEUTRAL;
    data[tid + THREADS] = j < n ? in[j] : NEUTRAL;
    for (int s = 1; s <= THREADS; s *= 2) {
        int right = 2 * s * (tid + 1) - 1;
        BARRIER();
        if (right < 2 * THREADS) data[right] = combine(data[right - s], data[right]);
    }
    BARRIER();
    if (tid == 0) {
        sums[group_index()] = data[2 * THREADS - 1];
        data[2 * THREADS - 1] = NEUTRAL;
    }
    for (int s = THREADS; s > 0; s /= 2) {
        int right = 2 * s * (tid + 1) - 1;
        if (right < 2 * THREADS) {
            elem before = data[right];
            elem left = data[right - s];
            data[right - s] = before;
            data[right] = combine(before, left);
        }
    }
    BARRIER();
    if (i < n) out[i] = combine(data[tid], in[i]);
    if (j < n) out[j] = combine(data[tid + THREADS], in[j]);
}

/* sums: already scanned. Tile t gets what is before it, the sum of tiles 0 .. t - 1. */
KERNEL(propagate, THREADS)(GLOBAL elem *out, GLOBAL const elem *sums, i64 n)
{
    i64 i = 2 * group_index() * THREADS + thread_index();
    i64 j = i + THREADS;

    if (group_index() > 0 && i < n) out[i] = combine(sums[group_index() - 1], out[i]);
    if (group_index() > 0 && j < n) out[j] = combine(sums[group_index() - 1], out[j]);
}
