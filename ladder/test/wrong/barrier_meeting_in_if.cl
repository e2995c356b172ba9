/* like: reduce/grid_sync
 * class: barrier
 * caught: barrier */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL volatile elem *partial, GLOBAL u32 *met, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 quads = n / 4;
    i64 rest = 4 * quads + tid;
    elem sum = NEUTRAL;

    for (i64 i = group_index() * THREADS + tid; i < quads; i += group_count() * THREADS) {
        elem4 q = load4(in, 4 * i);
        sum = combine(sum, combine(combine(q.x, q.y), combine(q.z, q.w)));
    }
    if (group_index() == 0 && rest < n) sum = combine(sum, in[rest]);
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) partial[group_index()] = data[0];
    if (group_index() > 0) return;
    GRID_BARRIER(met);
    sum = NEUTRAL;
    for (i64 i = tid; i < group_count(); i += THREADS) sum = combine(sum, partial[i]);
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[0] = data[0];
}
