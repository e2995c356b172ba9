/* like: reduce/simple_1
 * class: race
 * caught: race */
KERNEL(halve, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *tail, i64 n)
{
    i64 s = n / 2;
    i64 i = group_index() * THREADS + thread_index();

    if (i < s) {
        out[i / 2] = combine(in[i], in[i + s]);
        if (i == s - 1 && n > 2 * s) tail[0] = combine(tail[0], in[n - 1]);
    }
}
