/* SPDX-License-Identifier: MIT
 * Last step of a reduction: after the nodes of all levels are computed (level.cl), one warp per
 * sequence computes S(n) from the nodes of each level that are not part of a higher node, the
 * highest level first. segmented.cl reduces short sequences. */

KERNEL_OF(finish)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    for (i64 s = warp_index(); s < b.seqs; s += warp_count()) {
        i64 n = length_of(b, s);
        maybe v = nothing(b.p);
        for (int level = (int)top; level >= 1; level--) {
            batch below = b;
            below.x = (GLOBAL const u8 *)(nodes + level_base(b, level));
            i64 at = level_count(n, level + 1) << STATES_LOG, size = level_size(level);
            v = append_s(v, at * size, below, level_first(b, level, s), at,
                         level_count(n, level) - at, size, box);
        }

        i64 at = level_count(n, 1) << ELEMENTS_LOG;
        v = append_e(v, at, b, start_of(b, s), at, n - at, 1, box);
        if (lane_index() == 0) store_reduced(out, b, s, v, n);
    }
}
