/* like: window/sma_tiled
 * threads: 256
 *
 * out[i] is the mean of in[i - w + 1 .. i]; places before w - 1 are left alone. This kernel is right but for its
 * border, and every thread reads its whole window from global memory. Let the group load what it needs together, tile
 * by tile. */
KERNEL(average, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n, i64 w)
{
    i64 i = group_index() * THREADS + thread_index();

    if (i < n) {
        elem sum = 0;
        for (i64 j = i - (w - 1); j <= i; j++) sum += in[j];
        out[i] = sum / (elem)w;
    }
}
