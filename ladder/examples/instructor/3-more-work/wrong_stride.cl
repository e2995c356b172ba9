/* like: reduce/cascade */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    elem sum = NEUTRAL;

    for (i64 i = group_index() * THREADS + tid; i < n; i += THREADS) sum = combine(sum, in[i]);
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
