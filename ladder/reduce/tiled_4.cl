/* SPDX-License-Identifier: MIT
 * teaches: half the threads: each adds two elements while it loads, so the first step of the tree costs no barrier
 * source: C++ AMP sample, "reduction_tiled_4" (seed 000)
 * look at: requests per barrier: twice those of tiled_3 */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = 2 * group_index() * THREADS + tid;

    data[tid] = combine(i < n ? in[i] : NEUTRAL, i + THREADS < n ? in[i + THREADS] : NEUTRAL);
    BARRIER();

    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
