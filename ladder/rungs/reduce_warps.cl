==== reduce/atomic.cl
/* SPDX-License-Identifier: MIT
 * teaches: no second launch and no copy of partials: each group adds its result to one cell with an atomic operation
 * source: common practice since CUDA 2 (compute capability 2.0 for f32); after cascade
 * look at: floats: nothing orders the groups, so the bits may change from run to run */
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
    if (tid == 0) atomic_combine(out, 0, data[0]);
}
==== reduce/shuffle.cl
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
==== reduce/warp_reduce.cl
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
==== reduce/vector_load.cl
/* SPDX-License-Identifier: MIT
 * teaches: 16 bytes per lane in one instruction: a quarter of the load instructions, and more bytes under way
 * source: NVIDIA, "Increase Performance with Vectorized Memory Access" (2013), after shuffle
 * look at: requests: a quarter of shuffle's for the same sectors (elements of 4 bytes)
 *
 * n mod 4 elements at the end are taken by the first threads of the first group. The partial results, one a group,
 * are folded on the processor. */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHUFFLES;
    SHARED elem warps[THREADS / WARP];
    int tid = thread_index();
    i64 quads = n / 4;
    i64 rest = 4 * quads + tid;
    elem sum = NEUTRAL;

    for (i64 i = group_index() * THREADS + tid; i < quads; i += group_count() * THREADS) {
        elem4 q = load4(in, 4 * i);
        sum = combine(sum, combine(combine(q.x, q.y), combine(q.z, q.w)));
    }
    if (group_index() == 0 && rest < n) sum = combine(sum, in[rest]);
    for (int s = WARP / 2; s > 0; s /= 2) sum = combine(sum, shuffle_down(sum, s));
    if (tid % WARP == 0) warps[tid / WARP] = sum;
    BARRIER();
    if (tid == 0) {
        for (int k = 1; k < THREADS / WARP; k++) sum = combine(sum, warps[k]);
        out[group_index()] = sum;
    }
}
==== reduce/async_copy.cl
/* SPDX-License-Identifier: MIT
 * teaches: asynchronous copies: the next elements are on their way into shared memory while these are added
 * source: CUDA C++ Programming Guide, "Asynchronous Data Copies" (cp.async, Ampere, 2020), after cascade
 * look at: barriers: none while it strides, since a thread reads only what it has copied itself. Take copy_wait out,
 *          and the model names the word whose copy was not waited for
 *
 * Four elements are copied while four are added. Devices without such copies load and store in the same place. */
#define ITEMS 4
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem tile[2 * ITEMS * THREADS];
    SHARED elem data[THREADS];
    int tid = thread_index();
    int now = 0;
    i64 step = group_count() * THREADS;
    i64 start = group_index() * THREADS + tid;
    elem sum = NEUTRAL;

    for (int k = 0; k < ITEMS; k++)
        if (start + k * step < n) copy_async(tile, k * THREADS + tid, in, start + k * step);
    for (i64 i = start; i < n; i += ITEMS * step) {
        int other = ITEMS * THREADS - now;
        copy_wait();
        for (int k = 0; k < ITEMS; k++)
            if (i + (ITEMS + k) * step < n) copy_async(tile, other + k * THREADS + tid, in, i + (ITEMS + k) * step);
        for (int k = 0; k < ITEMS; k++)
            if (i + k * step < n) sum = combine(sum, tile[now + k * THREADS + tid]);
        now = other;
    }
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
==== reduce/bulk_copy.cl
/* SPDX-License-Identifier: MIT
 * teaches: one thread asks for a whole tile, and the hardware brings it: no addresses or registers of the other threads
 * source: CUDA C++ Programming Guide, "Asynchronous Data Copies using ... (TMA)" (Hopper, 2022)
 * look at: requests of global memory, one per tile, where async_copy has one per warp for each of its elements. Take
 *          bulk_wait out, and the model names the word whose copy was not waited for
 *
 * A copy arrives at a word of shared memory (an mbarrier), and threads wait there; its phase, 0 and 1 in turn, tells a
 * copy from the one before it. Two tiles: one is on its way while the other is added. The BARRIER is for the way back:
 * a tile may be filled again when all threads have read it. Only whole tiles are copied: places and lengths of bulk
 * copies are multiples of 16 bytes. What is left is read directly. */
#define ITEMS 4
#define TILE (ITEMS * THREADS)
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem tile[2 * TILE];
    SHARED u64 arrived[2];
    SHARED elem data[THREADS];
    int tid = thread_index();
    int now = 0;
    int phase = 0;
    i64 tiles = n / TILE;
    i64 rest = tiles * TILE;
    elem sum = NEUTRAL;

    if (tid == 0) {
        bulk_open(arrived, 0);
        bulk_open(arrived, 1);
        if (group_index() < tiles) bulk_copy(tile, 0, in, group_index() * TILE, TILE, arrived, 0);
    }
    BARRIER();
    for (i64 t = group_index(); t < tiles; t += group_count()) {
        i64 next = t + group_count();
        if (tid == 0 && next < tiles) bulk_copy(tile, (1 - now) * TILE, in, next * TILE, TILE, arrived, 1 - now);
        bulk_wait(arrived, now, phase);
        for (int k = 0; k < ITEMS; k++) sum = combine(sum, tile[now * TILE + k * THREADS + tid]);
        BARRIER();
        if (now == 1) phase = 1 - phase;
        now = 1 - now;
    }
    for (i64 i = rest + group_index() * THREADS + tid; i < n; i += group_count() * THREADS) sum = combine(sum, in[i]);
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
==== reduce/single_pass.cl
/* SPDX-License-Identifier: MIT
 * teaches: the last group to finish folds the partial results: one launch, always the same bits
 * source: NVIDIA CUDA sample "threadFenceReduction" (2009), after vector_load
 * look at: launches and copies, beside cascade; the order is fixed, unlike that of atomic */
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL volatile elem *partial, GLOBAL u32 *ticket, GLOBAL elem *out, i64 n)
{
    SHARED elem data[THREADS];
    SHARED int last[1];
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
    if (tid == 0) {
        partial[group_index()] = data[0];
        FENCE();
        last[0] = atomic_next(ticket, 0) == group_count() - 1;
    }
    BARRIER();
    if (last[0] == 1) {
        FENCE();
        sum = NEUTRAL;
        for (i64 i = tid; i < group_count(); i += THREADS) sum = combine(sum, partial[i]);
        data[tid] = sum;
    }
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (last[0] == 1 && tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (last[0] == 1 && tid == 0) out[0] = data[0];
}
==== reduce/grid_sync.cl
/* SPDX-License-Identifier: MIT
 * teaches: all groups of a launch meet, so that a second phase needs no second launch
 * source: CUDA C++ Programming Guide, "Cooperative Groups", grid synchronization (2017), after single_pass
 * look at: launches, as single_pass; but here every group waits for the slowest one, and no group may be left to start
 *          later: there are at most as many groups as processors, of 1024 threads each
 *
 * GRID_BARRIER is what grid.sync() of cooperative_groups does. Its parts: a barrier of the group; one thread publishes
 * what the group wrote (a fence), counts its group in a cell, and reads the cell until all groups are counted; a fence;
 * a barrier of the group. If a group had to wait for a place on the device, the others would never end.
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
