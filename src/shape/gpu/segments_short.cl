/* SPDX-License-Identifier: MIT
 * Short segments, 32 of them a warp: a lane does a tiny one (below 32 elements) by itself, the warp together one after the other of
 * the rest. */

#ifdef TL_CUDA
enum { TINY_LOG = 5 };

/* S(n) of a lane's own n < 32 elements: nodes of four, as a binary counter holds them, then the rest. The turns are those of the
 * warp's longest. */
fn maybe tiny(batch b, i64 start, int n)
{
    state node[TINY_LOG - 2], two = nothing(b.p).s, one = two;
    maybe v = nothing(b.p);
    GLOBAL const u8 *x = b.x + start * TL_SIZE;
    const i64 step = b.stride * TL_SIZE;
    UNROLL for (int k = 0; k < TINY_LOG - 2; k++) node[k] = two;
    ROLLED for (int q = 0; __any_sync(0xffffffffu, q * QUAD < n); q++)
    {
        if (q * QUAD >= n) continue;
        elem e[QUAD];
        const int i = q * QUAD;
        UNROLL for (int k = 0; k < QUAD; k++) e[k] = load_element(x + (i + k < n ? i + k : n - 1) * step);
        state s0 = lift_e(e[0], i, b.p), s1 = lift_e(e[1], i + 1, b.p), s2 = lift_e(e[2], i + 2, b.p), s3 = lift_e(e[3], i + 3, b.p);
        state pair = TWIN(s0, s1), four = TWIN(pair, TWIN(s2, s3));
        if (i + QUAD > n) {
            two = pair;
            one = choose(n & 2, s2, s0);
            continue;
        }
        int open = 1;
        UNROLL for (int k = 0; k < TINY_LOG - 2; k++)
        {
            if (open && (q >> k & 1)) {
                four = TWIN(node[k], four);
            } else if (open) {
                node[k] = four;
                open = 0;
            }
        }
    }
    UNROLL for (int k = TINY_LOG - 3; k >= 0; k--)
    {
        if (n >> (k + 2) & 1) v = then(v, node[k]);
    }
    if (n & 2) v = then(v, two);
    if (n & 1) v = then(v, one);
    return v;
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
        while (some) {
            const int l = __ffs(some) - 1;
            some &= some - 1;
            maybe v = append_e(nothing(b.p), b, shuffle<false>(start, l), 0, shuffle<false>(n, l), box);
            mine.s = choose(lane_index() == l, v.s, mine.s);
            mine.have |= lane_index() == l;
        }
        if (is && fits) store_reduced(out, b, s, mine, n);
    }
}
#endif
