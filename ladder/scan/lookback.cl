/* SPDX-License-Identifier: MIT
 * teaches: every element is read once and written once: a tile learns from its predecessors what is before it
 * source: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016), plainly
 * look at: bytes moved: half of tiled_scan's; launches: one, plus two that set memory to zero. The look-back: one
 *          thread of each of n / 256 tiles walks back alone, and that, not the memory, is its time (lookback_warp)
 *
 * A tile takes its number from a counter, so that those before it have started and will finish. It publishes its
 * own sum (flag 1), goes back over its predecessors until one knows everything up to itself (flag 2), and publishes
 * that too. Which sums it meets depends on timing, and so do the bits of a float: (a + b) + c here, a + (b + c)
 * there. */
KERNEL(scan_once, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL volatile elem *own,
                           GLOBAL volatile elem *whole, GLOBAL u32 *flags, GLOBAL u32 *ticket, i64 n)
{
    SHARED elem data[2 * THREADS];
    SHARED elem before[1];
    SHARED int number[1];
    int tid = thread_index();
    int from = 0;

    if (tid == 0) number[0] = atomic_next(ticket, 0);
    BARRIER();
    i64 tile = number[0];
    i64 i = tile * THREADS + tid;
    data[tid] = i < n ? in[i] : NEUTRAL;
    BARRIER();
    for (int s = 1; s < THREADS; s *= 2) {
        int to = THREADS - from;
        elem mine = data[from + tid];
        data[to + tid] = tid >= s ? combine(data[from + tid - s], mine) : mine;
        from = to;
        BARRIER();
    }
    if (tid == 0) {
        elem sum = data[from + THREADS - 1];
        elem left = NEUTRAL;
        own[tile] = sum;
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
        whole[tile] = combine(left, sum);
        FENCE();
        atomic_write(flags, tile, 2);
        before[0] = left;
    }
    BARRIER();
    if (i < n) out[i] = combine(before[0], data[from + tid]);
}
