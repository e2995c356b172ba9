/* like: window/sma_simple
 * class: index
 * caught: values */
KERNEL(average, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n, i64 w)
{
    i64 i = group_index() * THREADS + thread_index();

    if (i >= w - 1 && i < n) {
        elem sum = 0;
        for (i64 j = larger(i - w, (i64)0); j <= i; j++) sum += in[j];
        out[i] = sum / (elem)w;
    }
}
