/* like: reduce/tiled_2
 *
 * This kernel is right, and its threads work on every 2s-th word: their words share banks. Let thread tid work on words
 * that lie beside those of thread tid + 1. `tally ladder show` prints the conflicts beside the lines. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        int index = 2 * s * tid;
        if (index < THREADS) data[index] = combine(data[index], data[index + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
