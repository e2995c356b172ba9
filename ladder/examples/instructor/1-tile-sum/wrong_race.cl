/* like: reduce/tiled_1 */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        if (tid % (2 * s) == 0) data[tid] = combine(data[tid], data[tid + s]);

    }
    if (tid == 0) out[group_index()] = data[0];
}
