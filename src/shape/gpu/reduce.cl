/* SPDX-License-Identifier: MIT
 * reduce: after the nodes of all levels (level.cl) one warp a sequence puts S(n) together: what is left over of each level, the
 * highest first. Short sequences need nothing else. */

KERNEL(finish, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, GLOBAL const state *nodes, i64 top, RESULTS_PARAMETERS, i64 longest)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    for (i64 s = warp_index(); s < b.seqs; s += warp_count()) {
        i64 n = length_of(b, s);
        maybe v = nothing();
        int elsewhere = n > longest; /* another launch has it */
        if (SKIPS && elsewhere) continue;
        if (elsewhere) n = 0;
        for (int level = (int)top; level >= 1; level--) {
            batch below = b;
            below.x = (GLOBAL const u8 *)(nodes + level_base(b, level));
            i64 at = level_count(n, level + 1) << STATES_LOG;
            v = append_s(v, below, level_first(b, level, s), at, level_count(n, level) - at, box);
        }
        i64 at = level_count(n, 1) << ELEMENTS_LOG;
        v = append_e(v, b, start_of(b, s), at, n - at, box);
        if (lane_index() == 0 && !elsewhere)
            store_maybe(out.x + row_of(b, s) * out.row_stride * (i64)(OP_LANES * sizeof(result)), v, n, 0, b.p);
    }
}
