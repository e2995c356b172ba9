/* like: reduce/cascade
 *
 * There are group_count() groups, far fewer than n / THREADS. Each thread must go over the whole input in strides, so
 * that every element is taken by one thread. Then comes one tree. The host folds the results of the groups. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;
    elem sum = NEUTRAL;

    if (i < n) sum = in[i]; /* a loop belongs here */
    data[tid] = sum;
    BARRIER();
    /* and a tree here */
    if (tid == 0) out[group_index()] = data[0];
}
