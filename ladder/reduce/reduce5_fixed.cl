/* SPDX-License-Identifier: MIT
 * teaches: the last warp unrolled, correctly: a barrier of the warp where lanes meet
 * source: CUDA lecture, "reduce5" (seed 004), mended
 * look at: races: none; barriers of the whole group: five fewer than reduce4
 *
 * Launched again on its own results until one is left. WARP_BARRIER is __syncwarp on CUDA; OpenCL 1.2 has only the
 * barrier of the group, which is why all threads come to it. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = 2 * group_index() * THREADS + tid;

    data[tid] = combine(i < n ? in[i] : NEUTRAL, i + THREADS < n ? in[i + THREADS] : NEUTRAL);
    BARRIER();
    for (int s = THREADS / 2; s >= WARP; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    UNROLL
    for (int s = WARP / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        WARP_BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
