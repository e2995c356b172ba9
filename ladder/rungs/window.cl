==== window/sma_simple.cl
/* SPDX-License-Identifier: MIT
 * teaches: the definition as a kernel: each thread loops over its own window in global memory
 * source: Dr. Dobb's, "Microsoft's C++ AMP Unveiled", the simple moving average (seed 003)
 * look at: requests: w of them for a result; caches hide much of that, which is what the tiled form is measured against
 *
 * The first w - 1 places have no whole window and are left as they are. */
KERNEL(average, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n, i64 w)
{
    i64 i = group_index() * THREADS + thread_index();

    if (i >= w - 1 && i < n) {
        elem sum = 0;
        for (i64 j = i - (w - 1); j <= i; j++) sum += in[j];
        out[i] = sum / (elem)w;
    }
}
==== window/sma_tiled.cl
/* SPDX-License-Identifier: MIT
 * teaches: 512 threads load what their windows need together, and add from shared memory
 * source: Dr. Dobb's, "Microsoft's C++ AMP Unveiled", the tiled form (seed 003): "twice as fast for many"
 * look at: sectors beside sma_simple; divergence at the ends of windows; is it twice as fast here?
 *
 * The listing as it has come down to us lacks its two barriers and reads past the end of the series; both are
 * mended. */
#define TILE 512
KERNEL(average, TILE)(GLOBAL const elem *in, GLOBAL elem *out, i64 n, i64 w)
{
    SHARED elem tile[TILE];
    int lid = thread_index();
    i64 origin = group_index() * TILE;
    i64 gid = origin + lid;
    i64 tile_from = larger(origin - (w - 1), (i64)0);
    i64 tile_to = smaller(origin + TILE - 1, n - 1);
    i64 my_from = larger(gid - (w - 1), tile_from);
    i64 my_to = smaller(gid, tile_to);
    elem sum = 0;

    for (i64 i = tile_from; i <= tile_to; i += TILE) {
        tile[lid] = i + lid < n ? in[i + lid] : 0;
        BARRIER();
        i64 to = smaller(i + TILE - 1, my_to);
        for (i64 j = larger(i, my_from); j <= to; j++) sum += tile[j - i];
        BARRIER();
    }
    if (gid >= w - 1 && gid < n) out[gid] = sum / (elem)w;
}
==== window/prefix_difference.cl
/* SPDX-License-Identifier: MIT
 * teaches: the difference of two running sums is the sum of a window: n additions and n subtractions, whatever w is
 * source: the usual trick, as with numpy.cumsum, with the scan of hillis_steele
 * look at: error: a running sum forgets small numbers beside large ones, and after an inf every later window is nan
 *
 * Fast, exact for whole numbers, and wrong for floats as soon as one element is large: the ladder puts 1e16 and
 * then an inf into the series, and shows what becomes of the windows after them. */
#include "../scan/hillis_steele.cl"

KERNEL(difference, THREADS)(GLOBAL const elem *sum, GLOBAL elem *out, i64 n, i64 w)
{
    i64 i = group_index() * THREADS + thread_index();

    if (i >= w - 1 && i < n) {
        elem before = i >= w ? sum[i - w] : 0;
        out[i] = (sum[i] - before) / (elem)w;
    }
}
