==== reduce/naive.cl
/* SPDX-License-Identifier: MIT
 * teaches: what a tree of neighbours does to warps: 1024 threads, 2048 elements, one lane in two, in four, ... at work
 * source: university lecture "A Better Reduction Kernel", the naive kernel (seed 002)
 * look at: the steps: every one but the first diverges, until whole warps rest
 *
 * Launched again on its own results until one is left. */
KERNEL(fold, 1024)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem partial[2048];
    int t = thread_index();
    i64 start = 2048 * group_index();

    partial[t] = start + t < n ? in[start + t] : NEUTRAL;
    partial[1024 + t] = start + 1024 + t < n ? in[start + 1024 + t] : NEUTRAL;
    for (int stride = 1; stride <= 1024; stride *= 2) {
        BARRIER();
        if (t % stride == 0) partial[2 * t] = combine(partial[2 * t], partial[2 * t + stride]);
    }
    BARRIER();
    if (t == 0) out[group_index()] = partial[0];
}
==== reduce/better.cl
/* SPDX-License-Identifier: MIT
 * teaches: the same tree with its partial sums kept at the front: warps are full or at rest
 * source: university lecture "A Better Reduction Kernel", the better kernel (seed 002)
 * look at: the table of steps: 1024, 512, 256, 128, 64, 32 threads without divergence, then five steps that diverge
 *
 * Launched again on its own results until one is left. The slide speaks of the first 5 steps and lists six numbers:
 * six it is. */
KERNEL(fold, 1024)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem partial[2048];
    int t = thread_index();
    i64 start = 2048 * group_index();

    partial[t] = start + t < n ? in[start + t] : NEUTRAL;
    partial[1024 + t] = start + 1024 + t < n ? in[start + 1024 + t] : NEUTRAL;
    for (int stride = 1024; stride > 0; stride /= 2) {
        BARRIER();
        if (t < stride) partial[t] = combine(partial[t], partial[t + stride]);
    }
    BARRIER();
    if (t == 0) out[group_index()] = partial[0];
}
==== reduce/reduce1.cl
/* SPDX-License-Identifier: MIT
 * teaches: a block folds its part in shared memory by a tree of neighbours, tested with a remainder
 * source: CUDA lecture, "reduce1" (seed 004)
 * look at: warps at work: 8 8 8 8 8 4 2 1. The condition tid % (2 * s) splits all 8 in the first five steps
 *
 * Launched again on its own results until one is left. */
#include "tiled_1.cl"
==== reduce/reduce2.cl
/* SPDX-License-Identifier: MIT
 * teaches: the remainder is gone: thread t works at index 2 * s * t
 * source: CUDA lecture, "reduce2" (seed 004)
 * look at: bank conflicts that double with every step, up to 8 lanes waiting for one bank (256 threads)
 *
 * Launched again on its own results until one is left. The slide's loop steps with `s <= 1`, which is a comparison:
 * `s <<= 1` is meant. */
#include "tiled_2.cl"
==== reduce/reduce3.cl
/* SPDX-License-Identifier: MIT
 * teaches: the order turned round: the most distant pairs first
 * source: CUDA lecture, "reduce3" (seed 004)
 * look at: no bank conflicts, whole warps rest; in the first step half of the threads already have nothing to do
 *
 * Launched again on its own results until one is left. */
#include "tiled_3.cl"
==== reduce/reduce4.cl
/* SPDX-License-Identifier: MIT
 * teaches: the first step of the tree is done while loading
 * source: CUDA lecture, "reduce4" (seed 004)
 * look at: half as many groups, half as many barriers for the same bytes
 *
 * Launched again on its own results until one is left. */
#include "tiled_4.cl"
==== reduce/reduce5.cl
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
==== reduce/reduce5_fixed.cl
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
