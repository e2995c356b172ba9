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
