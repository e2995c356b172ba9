/* SPDX-License-Identifier: MIT
 * teaches: eight elements for each thread: an eighth of the tiles look back, and most additions need no barrier
 * source: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016), after lookback
 * look at: barriers for each element, an eighth of lookback's; bank conflicts: none, thanks to one word left out in 33
 *
 * A thread folds eight neighbours, the threads' sums are scanned as in hillis_steele, and what is before the tile comes
 * from its predecessors as in lookback. Elements are read and written by neighbours, and go through shared memory to
 * the thread that folds them. */
#define ITEMS 8
#define TILE (ITEMS * THREADS)
KERNEL(scan_once, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL volatile elem *own,
                           GLOBAL volatile elem *whole, GLOBAL u32 *flags, GLOBAL u32 *ticket, i64 n)
{
    SHARED elem data[TILE + TILE / 32];
    SHARED elem sums[2 * THREADS];
    SHARED elem before[1];
    SHARED int number[1];
    int tid = thread_index();
    int from = 0;
    elem sum = NEUTRAL;

    if (tid == 0) number[0] = atomic_next(ticket, 0);
    BARRIER();
    i64 tile = number[0];
    for (int k = 0; k < ITEMS; k++) {
        int at = k * THREADS + tid;
        data[at + at / 32] = tile * TILE + at < n ? in[tile * TILE + at] : NEUTRAL;
    }
    BARRIER();
    for (int k = 0; k < ITEMS; k++) {
        int at = ITEMS * tid + k;
        sum = k == 0 ? data[at + at / 32] : combine(sum, data[at + at / 32]);
    }
    sums[tid] = sum;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        int to = THREADS - from;
        elem mine = sums[from + tid];
        sums[to + tid] = tid >= s ? combine(sums[from + tid - s], mine) : mine;
        from = to;
        BARRIER();
    }
    if (tid == 0) {
        elem all = sums[from + THREADS - 1];
        elem left = NEUTRAL;
        own[tile] = all;
        FENCE();
        atomic_write(flags, tile, 1);
        i64 back = tile - 1;
        while (back >= 0) {
            u32 flag = 0;
            while (flag == 0) flag = atomic_read(flags, back);
            FENCE();
            if (flag == 2) {
                left = combine(whole[back], left);
                back = -1;
            } else {
                left = combine(own[back], left);
                back = back - 1;
            }
        }
        whole[tile] = combine(left, all);
        FENCE();
        atomic_write(flags, tile, 2);
        before[0] = left;
    }
    BARRIER();
    elem running = tid > 0 ? combine(before[0], sums[from + tid - 1]) : before[0];
    for (int k = 0; k < ITEMS; k++) {
        int at = ITEMS * tid + k;
        running = combine(running, data[at + at / 32]);
        data[at + at / 32] = running;
    }
    BARRIER();
    for (int k = 0; k < ITEMS; k++) {
        int at = k * THREADS + tid;
        if (tile * TILE + at < n) out[tile * TILE + at] = data[at + at / 32];
    }
}
