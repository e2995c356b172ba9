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
