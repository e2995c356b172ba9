/* SPDX-License-Identifier: MIT
 * Short segments, 32 of them a warp: a lane does a tiny one (below 32 elements) by itself, eight lanes together one of the rest, four
 * at a time. */

#ifdef TL_CUDA
/* S(n) of the n < 1024 elements of eight lanes; each eight has its own, none if n is 0. Rows of 32 elements, four a lane: a butterfly of
 * three steps makes a row's node, a binary counter holds those of 1, 2, 4, ... rows. In all eight lanes. */
enum { EIGHT = 8, ROW_ITEMS = EIGHT * QUAD, COUNTER = 5 };
fn void load_four(elem *e, batch b, i64 start, int i, int n)
{
    GLOBAL const u8 *x = b.x + start * TL_SIZE;
    const i64 step = b.stride * TL_SIZE;
    if (i >= n) return;
    if (i + QUAD <= n && can_load_e(b, start + i)) {
        put_quad(e, *(GLOBAL const quad *)(x + i * TL_SIZE));
    } else {
        UNROLL for (int k = 0; k < QUAD; k++) e[k] = load_element(x + (i + k < n ? i + k : n - 1) * step);
    }
}
fn maybe rows_before(const state *node, int rows, par p)
{
    maybe v = nothing(p);
    UNROLL for (int k = COUNTER - 1; k >= 0; k--)
    {
        if (rows >> k & 1) v = then(v, node[k]);
    }
    return v;
}
fn maybe by_eights(batch b, i64 start, int n, LOCAL state *box)
{
    const int lane = lane_index() & (EIGHT - 1), rows = n / ROW_ITEMS, rest = n % ROW_ITEMS;
    state node[COUNTER];
    maybe mine = nothing(b.p);
    elem e[QUAD], next[QUAD];
    UNROLL for (int k = 0; k < COUNTER; k++) node[k] = mine.s;
    UNROLL for (int k = 0; k < QUAD; k++) next[k] = 0;
    load_four(next, b, start, lane * QUAD, n);
    ROLLED for (int r = 0; __any_sync(0xffffffffu, r * ROW_ITEMS < n); r++)
    {
        const int i = r * ROW_ITEMS + lane * QUAD;
        UNROLL for (int k = 0; k < QUAD; k++) e[k] = next[k];
        load_four(next, b, start, i + ROW_ITEMS, n);
        state s0 = lift_e(e[0], i, b.p), s1 = lift_e(e[1], i + 1, b.p), s2 = lift_e(e[2], i + 2, b.p), s3 = lift_e(e[3], i + 3, b.p);
        state two = TWIN(s0, s1), v = TWIN(two, TWIN(s2, s3)), left[3];
        UNROLL for (int k = 0; k < 3; k++)
        {
            left[k] = exchange(v, 1 << k, box);
            v = meet(v, left[k], lane >> k & 1);
        }
        if (r < rows) {
            int open = 1;
            UNROLL for (int k = 0; k < COUNTER; k++)
            {
                if (open && (r >> k & 1)) {
                    v = TWIN(node[k], v);
                } else if (open) {
                    node[k] = v;
                    open = 0;
                }
            }
        } else if (r == rows) { /* at the lane after the last full quad: its left neighbours, then its own */
            mine = rows_before(node, rows, b.p);
            UNROLL for (int k = 2; k >= 0; k--)
            {
                if (lane >> k & 1) mine = then(mine, left[k]);
            }
            if (rest & 2) mine = then(mine, two);
            if (rest & 1) mine = then(mine, choose(rest & 2, s2, s0));
        }
    }
    if (rest == 0) mine = rows_before(node, rows, b.p);
    mine.s = from_lane(mine.s, (lane_index() & ~(EIGHT - 1)) + rest / QUAD, box);
    mine.have = n > 0;
    return mine;
}

KERNEL(segments, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, RESULTS_PARAMETERS, i64 longest)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    for (i64 at = warp_index() * LANES; at < b.seqs; at += warp_count() * LANES) {
        const i64 s = at + lane_index();
        const int is = s < b.seqs;
        const i64 n = is ? length_of(b, s) : 0, start = is ? start_of(b, s) : 0;
        const int fits = n <= longest; /* another launch has the others */
        u32 some = __ballot_sync(0xffffffffu, fits && n >> TINY_LOG);
        maybe mine = tiny(b, start, fits && !(n >> TINY_LOG) ? (int)n : 0);
        while (some) { /* the four lowest, one for each eight lanes */
            int from = -1, place = 0; /* place: which of the eights has mine */
            UNROLL for (int o = 0; o < LANES / EIGHT; o++)
            {
                const int l = __ffs(some) - 1;
                if (lane_index() / EIGHT == o) from = l;
                if (lane_index() == l) place = o + 1;
                some &= some - 1;
            }
            const i64 first = shuffle<false>(start, from & 31), count = shuffle<false>(n, from & 31);
            maybe v = by_eights(b, first, from < 0 ? 0 : (int)count, box);
            state got = from_lane(v.s, place ? (place - 1) * EIGHT : 0, box);
            mine.s = choose(place, got, mine.s);
            mine.have = place ? 1 : mine.have;
        }
        if (is && fits) store_reduced(out, b, s, mine, n);
    }
}
#endif
