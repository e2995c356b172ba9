/* like: reduce/simple_2
 * class: tail
 * caught: values */
#define WINDOW 8
KERNEL(eighth, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *tail, i64 n)
{
    i64 s = n / WINDOW;
    i64 i = group_index() * THREADS + thread_index();

    if (i < s) {
        elem sum = in[i];
        for (int k = 1; k < WINDOW; k++) sum = combine(sum, in[i + k * s]);
        out[i] = sum;
        if (i == s - 1)
            for (i64 t = WINDOW * s; t < n - 1; t++) tail[0] = combine(tail[0], in[t]);
    }
}
