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
