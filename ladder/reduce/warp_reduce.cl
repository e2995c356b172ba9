/* SPDX-License-Identifier: MIT
 * teaches: the hardware folds a warp in one instruction (whole numbers of 4 bytes, since Ampere): no tree in the text
 * source: CUDA C++ Programming Guide, "Warp Reduce Functions" (__reduce_add_sync, 2020), after shuffle
 * look at: operations beside shuffle. Other types and devices have no such instruction: there it is shuffle's tree
 *
 * The partial results, one a group, are folded on the processor. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHUFFLES;
    SHARED elem warps[THREADS / WARP];
    int tid = thread_index();
    elem sum = NEUTRAL;

    for (i64 i = group_index() * THREADS + tid; i < n; i += group_count() * THREADS) sum = combine(sum, in[i]);
    sum = warp_combine(sum);
    if (tid % WARP == 0) warps[tid / WARP] = sum;
    BARRIER();
    if (tid == 0) {
        for (int k = 1; k < THREADS / WARP; k++) sum = combine(sum, warps[k]);
        out[group_index()] = sum;
    }
}
