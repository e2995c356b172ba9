==== scan/tiled_scan.cl
/* SPDX-License-Identifier: MIT
 * teaches: a scan of any length: scan the tiles, scan their sums in the same way, add what went before
 * source: C++ AMP sample, "scan_tiled" (seed 001)
 * look at: bytes moved: every element is read and written twice; two barriers per step, half of them to protect a read
 *
 * The tile's number of elements is rounded up; past the end nothing is read and nothing is written. */
KERNEL(tile_scan, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *sums, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        elem left = tid >= s ? data[tid - s] : NEUTRAL;
        BARRIER();
        if (tid >= s) data[tid] = combine(left, data[tid]);
        BARRIER();
    }
    if (i < n) out[i] = data[tid];
    if (tid == THREADS - 1) sums[group_index()] = data[tid];
}

/* sums: already scanned. Tile t gets what is before it, the sum of tiles 0 .. t - 1. */
KERNEL(propagate, THREADS)(GLOBAL elem *out, GLOBAL const elem *sums, i64 n)
{
    i64 i = group_index() * THREADS + thread_index();

    if (group_index() > 0 && i < n) out[i] = combine(sums[group_index() - 1], out[i]);
}
==== scan/hillis_steele.cl
/* SPDX-License-Identifier: MIT
 * teaches: two arrays used in turn: what is read is never written in the same step, so one barrier per step is enough
 * source: Hillis and Steele, "Data Parallel Algorithms" (1986), by tiles as in tiled_scan
 * look at: barriers: half of tiled_scan's; still log2 of the tile additions per element */
KERNEL(tile_scan, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *sums, i64 n)
{
    SHARED elem data[2 * THREADS];
    int tid = thread_index();
    int from = 0;
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        int to = THREADS - from;
        elem mine = data[from + tid];
        data[to + tid] = tid >= s ? combine(data[from + tid - s], mine) : mine;
        from = to;
        BARRIER();
    }
    if (i < n) out[i] = data[from + tid];
    if (tid == THREADS - 1) sums[group_index()] = data[from + tid];
}

#include "tiled_scan.cl" propagate
==== scan/blelloch.cl
/* SPDX-License-Identifier: MIT
 * teaches: about 2n additions instead of n log2 n: sums go up a tree, and what is before each node comes down again
 * source: Blelloch, "Prefix Sums and Their Applications" (1990); GPU Gems 3, chapter 39 (2007), without its padding
 * look at: bank conflicts, worst where few lanes work: the price of the tree's strides; lanes at work
 *
 * A group scans 2 * THREADS elements. The tree gives the exclusive scan; the element itself is added when it is
 * written. */
KERNEL(tile_scan, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *sums, i64 n)
{
    SHARED elem data[2 * THREADS];
    int tid = thread_index();
    i64 i = 2 * group_index() * THREADS + tid;
    i64 j = i + THREADS;

    data[tid] = i < n ? in[i] : NEUTRAL;
    data[tid + THREADS] = j < n ? in[j] : NEUTRAL;
    for (int s = 1; s <= THREADS; s *= 2) {
        int right = 2 * s * (tid + 1) - 1;
        BARRIER();
        if (right < 2 * THREADS) data[right] = combine(data[right - s], data[right]);
    }
    BARRIER();
    if (tid == 0) {
        sums[group_index()] = data[2 * THREADS - 1];
        data[2 * THREADS - 1] = NEUTRAL;
    }
    for (int s = THREADS; s > 0; s /= 2) {
        int right = 2 * s * (tid + 1) - 1;
        BARRIER();
        if (right < 2 * THREADS) {
            elem before = data[right];
            elem left = data[right - s];
            data[right - s] = before;
            data[right] = combine(before, left);
        }
    }
    BARRIER();
    if (i < n) out[i] = combine(data[tid], in[i]);
    if (j < n) out[j] = combine(data[tid + THREADS], in[j]);
}

/* sums: already scanned. Tile t gets what is before it, the sum of tiles 0 .. t - 1. */
KERNEL(propagate, THREADS)(GLOBAL elem *out, GLOBAL const elem *sums, i64 n)
{
    i64 i = 2 * group_index() * THREADS + thread_index();
    i64 j = i + THREADS;

    if (group_index() > 0 && i < n) out[i] = combine(sums[group_index() - 1], out[i]);
    if (group_index() > 0 && j < n) out[j] = combine(sums[group_index() - 1], out[j]);
}
==== scan/segmented.cl
/* SPDX-License-Identifier: MIT
 * teaches: many scans at once, of any lengths: a flag says where one begins, and sums do not go past it
 * source: Sengupta, Harris, Zhang and Owens, "Scan Primitives for GPU Computing" (2007), by tiles as in hillis_steele
 * look at: what is combined is a pair, a sum and "has a segment begun since?"; all else is hillis_steele
 *
 * heads: 1 where a segment begins. seen: whether one has begun in the tile up to this place; only places where none has
 * get what is before the tile. */
KERNEL(tile_scan, THREADS)(GLOBAL const elem *in, GLOBAL const u32 *heads, GLOBAL elem *out, GLOBAL u32 *seen,
                           GLOBAL elem *sums, GLOBAL u32 *sum_heads, i64 n)
{
    SHARED elem data[2 * THREADS];
    SHARED u32 begun[2 * THREADS];
    int tid = thread_index();
    int from = 0;
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    begun[tid] = i < n ? heads[i] : 0;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        int to = THREADS - from;
        elem mine = data[from + tid];
        u32 head = begun[from + tid];
        if (tid >= s && head == 0) {
            mine = combine(data[from + tid - s], mine);
            head = begun[from + tid - s];
        }
        data[to + tid] = mine;
        begun[to + tid] = head;
        from = to;
        BARRIER();
    }
    if (i < n) {
        out[i] = data[from + tid];
        seen[i] = begun[from + tid];
    }
    if (tid == THREADS - 1) {
        sums[group_index()] = data[from + tid];
        sum_heads[group_index()] = begun[from + tid];
    }
}

/* sums: already scanned, by segments. */
KERNEL(propagate, THREADS)(GLOBAL elem *out, GLOBAL const u32 *seen, GLOBAL const elem *sums, i64 n)
{
    i64 i = group_index() * THREADS + thread_index();

    if (group_index() > 0 && i < n && seen[i] == 0) out[i] = combine(sums[group_index() - 1], out[i]);
}
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
