==== scan/lookback.cl
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
==== scan/lookback_8.cl
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
==== scan/lookback_warp.cl
/* SPDX-License-Identifier: MIT
 * teaches: a single-pass scan as libraries have it: a warp asks 32 predecessors at once; flag and value are one word
 * source: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016), with all they say
 * look at: bytes moved: an element is read once and written once, as in lookback_8; barriers, fewer than its; and the
 *          time: it is faster than the three kernels of hillis_steele, which lookback and lookback_8 are not
 *
 * A tile has 16 elements for each thread, and publishes a state: flag 1 and its own sum, later flag 2 and the sum up to
 * its end. Flag and value are written by one store of 64 bits, which other groups see whole or not at all, so that no
 * fence has to stand between them. (An element of 8 bytes is two such words; who reads different flags in them asks
 * again.) The lanes of the first warp look at 32 predecessors at the same time: those up to the nearest with flag 2 are
 * folded by shuffles. A chain of tiles is then walked 32 tiles at a time, and not one by one. */
#define ITEMS 16
#define TILE (ITEMS * THREADS)
#define PADDED(i) ((i) + (i) / 32)
#define LOOK (WARP < 32 ? WARP : 32)
#define WORDS ((ELEM_SIZE + 3) / 4)
FUNCTION void publish(GLOBAL volatile u64 *states, i64 tile, u32 flag, elem value)
{
    u64 word = bits_of(value);
    for (int k = 0; k < WORDS; k++) states[WORDS * tile + k] = ((u64)flag << 32) | ((word >> (32 * k)) & 4294967295u);
}

KERNEL(scan_once, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, GLOBAL volatile u64 *states, GLOBAL u32 *ticket,
                           i64 n)
{
    SHARED elem data[TILE + TILE / 32];
    SHARED elem totals[THREADS / WARP];
    SHARED elem before[1];
    SHARED u32 known[3];
    SHARED int number[1];
    SHUFFLES;
    int tid = thread_index();
    int lane = tid % WARP;
    int warp = tid / WARP;
    elem mine[ITEMS];

    if (tid == 0) number[0] = atomic_next(ticket, 0);
    if (tid < 3) known[tid] = 0;
    BARRIER();
    i64 tile = number[0];
    i64 base = tile * TILE;
    if (base + TILE <= n) {
        UNROLL
        for (int k = 0; k < ITEMS / 4; k++) {
            int at = 4 * (k * THREADS + tid);
            elem4 q = load4(in, base + at);
            data[PADDED(at)] = q.x;
            data[PADDED(at) + 1] = q.y;
            data[PADDED(at) + 2] = q.z;
            data[PADDED(at) + 3] = q.w;
        }
    } else {
        for (int k = 0; k < ITEMS; k++) {
            int at = k * THREADS + tid;
            data[PADDED(at)] = base + at < n ? in[base + at] : NEUTRAL;
        }
    }
    BARRIER();
    int own = PADDED(ITEMS * tid);
    UNROLL
    for (int k = 0; k < ITEMS; k++) mine[k] = k > 0 ? combine(mine[k - 1], data[own + k]) : data[own];

    elem upto = mine[ITEMS - 1];
    for (int d = 1; d < WARP; d *= 2) {
        elem left = shuffle_up(upto, d);
        upto = lane >= d ? combine(left, upto) : upto;
    }
    elem start = shuffle_up(upto, 1);
    if (lane == WARP - 1) totals[warp] = upto;
    BARRIER();
    elem all = NEUTRAL;
    if (lane == 0) start = NEUTRAL;
    for (int v = 0; v < THREADS / WARP; v++) {
        if (v == warp) start = combine(all, start);
        all = combine(all, totals[v]);
    }
    if (tid == 0) publish(states, tile, tile > 0 ? 1 : 2, all);

    elem left = NEUTRAL;
    i64 back = tile - 1 - tid;
    int turn = 0;
    int more = 0;
    do { /* the first tile has no predecessors: 32 times nothing */
        u32 flag = 2;
        elem value = NEUTRAL;
        if (tid < LOOK && back >= 0) {
            u64 word = 0;
            flag = 0;
            while (flag == 0) {
                u64 low = states[WORDS * back];
                u64 high = states[WORDS * back + WORDS - 1];
                flag = (low >> 32) == (high >> 32) ? (u32)(low >> 32) : 0;
                word = (low & 4294967295u) | (high << 32);
            }
            value = value_of(word);
        }
        if (tid < LOOK && flag == 2) atomic_more(known, turn, 1u << tid);
        BARRIER();
        u32 ends = known[turn];
        int counts = tid < LOOK && (ends & ((1u << tid) - 1)) == 0;
        left = combine(warp_combine(counts ? value : NEUTRAL), left);
        turn = turn < 2 ? turn + 1 : 0;
        if (tid == 0) known[turn < 2 ? turn + 1 : 0] = 0;
        more = ends == 0;
        back -= LOOK;
    } while (more);
    if (tid == 0) {
        if (tile > 0) publish(states, tile, 2, combine(left, all));
        before[0] = left;
    }
    BARRIER();
    start = combine(before[0], start);
    UNROLL
    for (int k = 0; k < ITEMS; k++) data[own + k] = combine(start, mine[k]);
    BARRIER();
    for (int k = 0; k < ITEMS; k++) {
        int at = k * THREADS + tid;
        if (base + at < n) out[base + at] = data[PADDED(at)];
    }
}
