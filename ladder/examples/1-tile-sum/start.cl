/* like: reduce/tiled_1
 *
 * Each group of THREADS threads folds its THREADS elements to one, out[group_index()]. The host launches the kernel
 * again on the results until at most one group's worth is left. Use combine(a, b) and NEUTRAL, so that sum, min and
 * max work. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;

    data[tid] = in[i]; /* what if i is n or more? */
    BARRIER();
    /* Fold data[0 .. THREADS) to data[0] here. */
    if (tid == 0) out[group_index()] = data[0];
}
