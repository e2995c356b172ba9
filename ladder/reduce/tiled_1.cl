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
