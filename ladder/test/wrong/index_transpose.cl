/* like: transpose/transpose_naive
 * class: index
 * caught: values */
KERNEL(transpose, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 rows, i64 cols)
{
    i64 i = group_index() * THREADS + thread_index();

    if (i < rows * cols) out[i % rows * cols + i / rows] = in[i];
}
