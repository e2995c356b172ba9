/* like: reduce/shuffle
 * class: race
 * caught: race */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHUFFLES;
    SHARED elem warps[THREADS / WARP];
    int tid = thread_index();
    elem sum = NEUTRAL;

    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) sum = combine(sum, in[i]);
    for (int s = WARP / 2; s > 0; s /= 2) sum = combine(sum, shuffle_down(sum, s));
    if (tid % WARP == 0) warps[tid / WARP] = sum;
    if (tid == 0) {
        for (int k = 1; k < THREADS / WARP; k++) sum = combine(sum, warps[k]);
        out[group_index()] = sum;
    }
}
