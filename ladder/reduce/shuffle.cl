/* SPDX-License-Identifier: MIT
 * teaches: lanes of a warp read each other's registers: one barrier is left of nine, and little shared memory
 * source: NVIDIA, "Faster Parallel Reductions on Kepler" (2014), in the order of cascade
 * look at: shared accesses and barriers, beside cascade. OpenCL 1.2 has no shuffles: there they are made of barriers
 *
 * The partial results, one a group, are folded on the processor. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHUFFLES;
    SHARED elem warps[THREADS / WARP];
    int tid = thread_index();
    elem sum = NEUTRAL;

    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) sum = combine(sum, in[i]);
    for (int s = WARP / 2; s > 0; s /= 2) sum = combine(sum, shuffle_down(sum, s));
    if (tid % WARP == 0) warps[tid / WARP] = sum;
    BARRIER();
    if (tid == 0) {
        for (int k = 1; k < THREADS / WARP; k++) sum = combine(sum, warps[k]);
        out[group_index()] = sum;
    }
}
