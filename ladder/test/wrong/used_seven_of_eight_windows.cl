/* like: window/sma_simple
 * class: used
 * caught: values */
KERNEL(average, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n, i64 w)
{
    i64 i = group_index() * THREADS + thread_index();

    if (i >= w - 1 && i < n) {
        elem sum = 0;
        for (i64 j = i - (w - 1); j <= i; j++) sum += in[j];
        out[i] = i % 8 == 1 ? sum / (elem)w : 0;
    }
}
