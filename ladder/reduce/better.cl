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
