/* like: reduce/simple_1
 * class: tail
 * caught: values */
KERNEL(halve, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *tail, i64 n)
{
    i64 s = n / 2;
    i64 i = group_index() * THREADS + thread_index();

    if (i < s) {
        out[i] = combine(in[i], in[i + s]);
    }
}
