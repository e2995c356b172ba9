/* SPDX-License-Identifier: MIT
 * Short segments, 32 of them a warp: a lane does a tiny one (below 32 elements) by itself, the warp together one after
 * the other of the rest. */

#ifdef TL_CUDA
KERNEL_OF(segments)
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
            maybe v = append_e(nothing(b.p), unknown(0), b, shuffle<false>(start, l), 0, shuffle<false>(n, l), 1, box);
            mine.s = choose(lane_index() == l, v.s, mine.s);
            mine.have |= lane_index() == l;
        }
        if (is && fits) store_reduced(out, b, s, mine, n);
    }
}
#endif
