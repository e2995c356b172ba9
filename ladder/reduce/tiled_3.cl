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
