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
