/* like: reduce/async_copy
 * class: race
 * caught: unset */
#define ITEMS 4
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem tile[2 * ITEMS * THREADS];
    SHARED elem data[THREADS];
    int tid = thread_index();
    int now = 0;
    i64 step = group_count() * THREADS;
    i64 start = group_index() * THREADS + tid;
    elem sum = NEUTRAL;

    for (int k = 0; k < ITEMS; k++)
        if (start + k * step < n) copy_async(tile, k * THREADS + tid, in, start + k * step);
    for (i64 i = start; i < n; i += ITEMS * step) {
        int other = ITEMS * THREADS - now;
        for (int k = 0; k < ITEMS; k++)
            if (i + (ITEMS + k) * step < n) copy_async(tile, other + k * THREADS + tid, in, i + (ITEMS + k) * step);
        for (int k = 0; k < ITEMS; k++)
            if (i + k * step < n) sum = combine(sum, tile[now + k * THREADS + tid]);
        now = other;
    }
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
