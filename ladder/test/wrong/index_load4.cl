/* like: reduce/vector_load
 * class: index
 * caught: align */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHUFFLES;
    SHARED elem warps[THREADS / WARP];
    int tid = thread_index();
    i64 quads = n / 4;
    i64 rest = 4 * quads + tid;
    elem sum = NEUTRAL;

    for (i64 i = group_index() * THREADS + tid; i < quads; i += group_count() * THREADS) {
        elem4 q = load4(in, i);
        sum = combine(sum, combine(combine(q.x, q.y), combine(q.z, q.w)));
    }
    if (group_index() == 0 && rest < n) sum = combine(sum, in[rest]);
    for (int s = WARP / 2; s > 0; s /= 2) sum = combine(sum, shuffle_down(sum, s));
    if (tid % WARP == 0) warps[tid / WARP] = sum;
    BARRIER();
    if (tid == 0) {
        for (int k = 1; k < THREADS / WARP; k++) sum = combine(sum, warps[k]);
        out[group_index()] = sum;
    }
}
