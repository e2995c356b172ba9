/* SPDX-License-Identifier: MIT
 * teaches: all groups of a launch meet, so that a second phase needs no second launch
 * source: CUDA C++ Programming Guide, "Cooperative Groups", grid synchronization (2017), after single_pass
 * look at: launches, as single_pass; but here every group waits for the slowest one, and no group may be left to start
 *          later: there are at most as many groups as processors, of 1024 threads each
 *
 * GRID_BARRIER is what grid.sync() of cooperative_groups does. Its parts: a barrier of the group; one thread publishes
 * what the group wrote (a fence), counts its group in a cell, and reads the cell until all groups are counted; a fence;
 * a barrier of the group. If a group had to wait for a place on the device, the others would wait for ever.
 * cudaLaunchCooperativeKernel refuses such a launch; an ordinary launch, as the ladder's, needs few enough groups. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL volatile elem *partial, GLOBAL u32 *met, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    int tid = thread_index();
    i64 quads = n / 4;
    i64 rest = 4 * quads + tid;
    elem sum = NEUTRAL;

    for (i64 i = group_index() * THREADS + tid; i < quads; i += group_count() * THREADS) {
        elem4 q = load4(in, 4 * i);
        sum = combine(sum, combine(combine(q.x, q.y), combine(q.z, q.w)));
    }
    if (group_index() == 0 && rest < n) sum = combine(sum, in[rest]);
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) partial[group_index()] = data[0];
    GRID_BARRIER(met);
    if (group_index() > 0) return;
    sum = NEUTRAL;
    for (i64 i = tid; i < group_count(); i += THREADS) sum = combine(sum, partial[i]);
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[0] = data[0];
}
