==== reduce/simple_1.cl
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
==== reduce/simple_2.cl
/* SPDX-License-Identifier: MIT
 * teaches: coarsening: a thread folds eight elements before it writes one, so about 1.28n accesses instead of 3n
 * source: C++ AMP sample, "reduction_simple_2" (seed 000)
 * look at: bytes moved, beside simple_1; the tail, which one thread folds alone while the others of its warp wait
 *
 * The window is 8 wide and strided, so that neighbouring threads read neighbouring elements. The seed shows the sum
 * in float; the fewer than 8 results that are left are folded on the processor. */
#define WINDOW 8
KERNEL(eighth, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL elem *tail, i64 n)
{
    i64 s = n / WINDOW;
    i64 i = group_index() * THREADS + thread_index();

    if (i < s) {
        elem sum = in[i];
        for (int k = 1; k < WINDOW; k++) sum = combine(sum, in[i + k * s]);
        out[i] = sum;
        if (i == s - 1)
            for (i64 t = WINDOW * s; t < n; t++) tail[0] = combine(tail[0], in[t]);
    }
}
==== reduce/tiled_1.cl
/* SPDX-License-Identifier: MIT
 * teaches: threads of a tile share its elements through shared memory and fold neighbours; global memory is read once
 * source: C++ AMP sample, "reduction_tiled_1" (seed 000)
 * look at: active lanes: every second thread, then every fourth: all warps stay busy with fewer and fewer lanes
 *
 * Launched again on its own results, from one array to the other, until at most one tile of them is left; the
 * processor folds those. Elements past the end are NEUTRAL: nothing is changed by them. */
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
==== reduce/tiled_2.cl
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
==== reduce/tiled_3.cl
/* SPDX-License-Identifier: MIT
 * teaches: neighbouring threads on neighbouring words: each in a bank of its own
 * source: C++ AMP sample, "reduction_tiled_3" (seed 000)
 * look at: no bank conflicts; half of the threads do nothing but load
 *
 * The seed's listing steps with `s /= 1`, which would never end: 2 is meant. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 i = group_index() * THREADS + tid;

    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();

    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
==== reduce/tiled_4.cl
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
==== reduce/cascade.cl
/* SPDX-License-Identifier: MIT
 * teaches: as many groups as the device runs at once; each thread strides over the whole input, and the tree comes once
 * source: C++ AMP sample, "reduction_cascade" (seed 000)
 * look at: barriers: they no longer grow with n; one launch
 *
 * The partial results, one a group, are folded on the processor. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    elem sum = NEUTRAL;

    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) sum = combine(sum, in[i]);
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
