/* SPDX-License-Identifier: MIT
 * teaches: the same tree with the working threads side by side, so that whole warps come to rest
 * source: C++ AMP sample, "reduction_tiled_2" (seed 000)
 * look at: divergence goes down, bank conflicts come up: neighbouring threads now are 2s words apart */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();

    for (int s = 1; s < THREADS; s *= 2) {
        int index = 2 * s * tid;
        if (index < THREADS) data[index] = combine(data[index], data[index + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
