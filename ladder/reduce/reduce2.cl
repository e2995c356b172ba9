/* SPDX-License-Identifier: MIT
 * teaches: the remainder is gone: thread t works at index 2 * s * t
 * source: CUDA lecture, "reduce2" (seed 004)
 * look at: bank conflicts that double with every step, up to 8 lanes waiting for one bank (256 threads)
 *
 * Launched again on its own results until one is left. The slide's loop steps with `s <= 1`, which is a comparison:
 * `s <<= 1` is meant. */
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
