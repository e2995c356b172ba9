/* SPDX-License-Identifier: MIT
 * teaches: coarsening: a thread folds eight elements before it writes one, so about 1.28n accesses instead of 3n
 * source: C++ AMP sample, "reduction_simple_2" (seed 000)
 * look at: bytes moved, beside simple_1; the tail, which one thread folds alone while the others of its warp wait
 *
 * The window is 8 wide and strided, so that neighbouring threads read neighbouring elements. The seed shows the sum
 * in float; the fewer than 8 results that are left are folded on the processor. */
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
            for (i64 t = WINDOW * s; t < n; t++) tail[0] = combine(tail[0], in[t]);
    }
}
