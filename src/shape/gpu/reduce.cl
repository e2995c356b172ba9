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
        maybe v = nothing(b.p);
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
        if (lane_index() == 0 && !elsewhere) store_reduced(out, b, s, v, n);
    }
}

/* Dense sequences of n = 128, 256 or 512 elements that follow each other: a chunk holds several, and its butterfly stops where they
 * end. jobs: chunks; the sequences after the last full chunk are finish's. */
KERNEL(several, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, RESULTS_PARAMETERS, i64 jobs)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    const int lane = lane_index(), rows = (int)(b.n >> 7), row = (lane & 1) << 2 | (lane & 2) | (lane >> 2 & 1);
    i64 chunk = warp_index();
    const i64 rounds = (jobs + warp_count() - 1) / warp_count();
    for (i64 round = 0; round < rounds; round++, chunk += warp_count()) {
        if (SKIPS && chunk >= jobs) continue;
        i64 at = (chunk < jobs ? chunk : 0) * CHUNK_e;
        state v[8];
        fold_rows_e(v, b, 0, at, b.n, box);
        /* the lane holds the node of `row`; rows of one sequence differ in the low bits of row, the high ones of these lanes */
        state two = meet(v[0], exchange(v[0], 4, box), lane >> 2 & 1);
        state four = meet(two, exchange(two, 2, box), lane >> 1 & 1);
        state mine = choose(rows == 4, four, choose(rows == 2, two, v[0]));
        if (lane < 8 && row % rows == 0 && chunk < jobs) {
            i64 s = chunk * (8 / rows) + row / rows;
            store_state(out.x + s * (i64)(OP_LANES * sizeof(result)), mine, b.n, 0, b.p);
        }
    }
}

#ifdef TL_CUDA
/* One sequence of fewer than 2^26 elements in one launch: the group that finishes last makes level 2 and the result. ticket: 0
 * before and after. */
KERNEL(once, 32 * WARPS_IN_GROUP)
(BATCH_PARAMETERS, RESULTS_PARAMETERS, GLOBAL state *nodes, GLOBAL u32 *ticket, i64 jobs)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED u32 order;
    const i64 count = level_count(b.n, 1), groups = level_count(b.n, 2), from = start_of(b, 0);
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        state v = chunk_node_e(b, from, job * CHUNK_e, box);
        if (lane_index() == 0) nodes[job] = v;
    }
    __threadfence();
    BARRIER();
    if (thread_index() == 0) order = atomicAdd(ticket, 1u);
    BARRIER();
    if (order != group_count() - 1) return;
    __threadfence();
    batch level = b;
    level.x = (GLOBAL const u8 *)nodes;
    for (i64 g = thread_index() / LANES; g < groups; g += WARPS_IN_GROUP) {
        state v = chunk_node_s(level, 0, g * CHUNK_s, box);
        if (lane_index() == 0) nodes[count + g] = v;
    }
    BARRIER();
    if (thread_index() >= LANES) return;
    maybe v = append_s(nothing(b.p), level, count, 0, groups, box);
    v = append_s(v, level, 0, groups * CHUNK_s, count - groups * CHUNK_s, box);
    v = append_e(v, b, from, count * CHUNK_e, b.n - count * CHUNK_e, box);
    if (thread_index() == 0) {
        store_reduced(out, b, 0, v, b.n);
        *ticket = 0;
    }
}
#endif
