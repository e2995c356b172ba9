/* SPDX-License-Identifier: MIT
 * teaches: a block folds its part in shared memory by a tree of neighbours, tested with a remainder
 * source: CUDA lecture, "reduce1" (seed 004)
 * look at: divergence: the condition tid % (2 * s) splits every warp at every step
 *
 * Launched again on its own results until one is left. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();

    for (int s = 1; s < THREADS; s *= 2) {
        if (tid % (2 * s) == 0) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
