/* SPDX-License-Identifier: MIT
 * teaches: the last warp unrolled without barriers, as it was printed: it relied on the lanes of a warp being in step
 * source: CUDA lecture, "reduce5" (seed 004), as on the slide
 * look at: races: since Volta (2017) lanes are not in step; volatile orders nothing. Do not copy this
 *
 * Launched again on its own results until one is left. Shown as printed on purpose, and expected to be caught: the
 * model finds the race, and a machine whose warps have one lane (--warp 1; most OpenCL for processors) gives a
 * wrong sum. reduce5_fixed is correct.
 *
 * The slide loads without a look at the length, so it is for whole blocks only; the bounds here are the ladder's. Its
 * pointer is `volatile float *` to an array of int: another slip. volatile makes each value be stored and loaded each
 * time, so that nothing stays in a register, but says nothing about which lane comes first. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = 2 * group_index() * THREADS + tid;

    data[tid] = combine(i < n ? in[i] : NEUTRAL, i + THREADS < n ? in[i + THREADS] : NEUTRAL);
    BARRIER();
    for (int s = THREADS / 2; s > 32; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid < 32) {
        volatile LOCAL elem *smem = data;
        smem[tid] = combine(smem[tid], smem[tid + 32]);
        smem[tid] = combine(smem[tid], smem[tid + 16]);
        smem[tid] = combine(smem[tid], smem[tid + 8]);
        smem[tid] = combine(smem[tid], smem[tid + 4]);
        smem[tid] = combine(smem[tid], smem[tid + 2]);
        smem[tid] = combine(smem[tid], smem[tid + 1]);
    }
    if (tid == 0) out[group_index()] = data[0];
}
