/* like: reduce/reduce5_fixed
 * class: race
 * caught: race */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = 2 * group_index() * THREADS + tid;

    data[tid] = combine(i < n ? in[i] : NEUTRAL, i + THREADS < n ? in[i + THREADS] : NEUTRAL);
    BARRIER();
    for (int s = THREADS / 2; s >= WARP; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    UNROLL
    for (int s = WARP / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
    }
    if (tid == 0) out[group_index()] = data[0];
}
