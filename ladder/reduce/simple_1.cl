/* SPDX-License-Identifier: MIT
 * teaches: one launch for each halving: no shared memory, no barrier, and about 3n memory accesses
 * source: C++ AMP sample, "reduction_simple_1" (seed 000)
 * look at: bytes moved: three times those of a rung that reads each element once; launches: log2 n of them
 *
 * With s = n / 2, thread i adds element i + s to element i. An odd element at the end is cut off; the last thread
 * folds it into tail. */
KERNEL(halve, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *tail, i64 n)
{
    i64 s = n / 2;
    i64 i = group_index() * THREADS + thread_index();

    if (i < s) {
        out[i] = combine(in[i], in[i + s]);
        if (i == s - 1 && n > 2 * s) tail[0] = combine(tail[0], in[n - 1]);
    }
}
