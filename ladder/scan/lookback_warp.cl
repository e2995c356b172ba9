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
FUNCTION void post(GLOBAL volatile u64 *states, i64 tile, u32 flag, elem value)
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
    if (tid == 0) post(states, tile, tile > 0 ? 1 : 2, all);

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
        if (tile > 0) post(states, tile, 2, combine(left, all));
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
