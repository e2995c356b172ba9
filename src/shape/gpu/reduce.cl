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
        if (lane_index() == 0 && !elsewhere)
            store_maybe(out.x + row_of(b, s) * out.row_stride * (i64)(OP_LANES * sizeof(result)), v, n, 0, b.p);
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
/* One sequence in one launch. A tile is 8 chunks, a group 256 tiles: who finishes a group's last tile makes the group's node, and the
 * group of warps that finishes last makes the result. nodes: tiles, groups, groups of groups, and the chunks after the last tile.
 * tickets: one a group, and one; all 0 before and after. */
enum { TILE_WARPS = WARPS_IN_GROUP, TILE_ELEMENTS_LOG = ELEMENTS_LOG + 3 };

KERNEL(once, 32 * WARPS_IN_GROUP)
(BATCH_PARAMETERS, RESULTS_PARAMETERS, GLOBAL state *nodes, GLOBAL u32 *tickets)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED u32 order;
    SHARED state parts[2][TILE_WARPS];
    const int lane = lane_index(), warp = thread_index() / LANES;
    const i64 tiles = b.n >> TILE_ELEMENTS_LOG, groups = tiles >> STATES_LOG, over = groups >> STATES_LOG, from = start_of(b, 0);
    const i64 chunks = (b.n >> ELEMENTS_LOG) - tiles * TILE_WARPS; /* after the last tile */
    batch level = b;
    level.x = (GLOBAL const u8 *)nodes;
    int turn = 0;
    for (i64 t = group_index(); t < tiles; t += group_count(), turn ^= 1) {
        state v = chunk_node_e(b, from, (t * TILE_WARPS + warp) * CHUNK_e, box);
        if (lane == 0) parts[turn][warp] = v;
        BARRIER();
        if (warp) continue;
        v = parts[turn][lane & (TILE_WARPS - 1)];
        UNROLL for (int m = 1; m < TILE_WARPS; m <<= 1) v = meet(v, exchange(v, m, box), (lane & m) != 0);
        u32 others = 0;
        if (lane == 0) {
            nodes[t] = v;
            __threadfence();
            if (t >> STATES_LOG < groups) others = atomicAdd(tickets + (t >> STATES_LOG), 1u);
        }
        if (shuffle<false>(others, 0) == CHUNK_s - 1) {
            __threadfence();
            v = chunk_node_s(level, 0, t >> STATES_LOG << STATES_LOG, box);
            if (lane == 0) nodes[tiles + (t >> STATES_LOG)] = v;
        }
    }
    if (group_index() == group_count() - 1 && warp < chunks) {
        state v = chunk_node_e(b, from, (tiles * TILE_WARPS + warp) * CHUNK_e, box);
        if (lane == 0) nodes[tiles + groups + over + warp] = v;
    }
    __threadfence();
    BARRIER();
    if (thread_index() == 0) order = atomicAdd(tickets + groups, 1u);
    BARRIER();
    if (order != group_count() - 1) return;
    __threadfence();
    for (i64 g = thread_index(); g <= groups; g += LANES * TILE_WARPS) tickets[g] = 0;
    for (i64 g = warp; g < over; g += TILE_WARPS) {
        state v = chunk_node_s(level, tiles, g * CHUNK_s, box);
        if (lane == 0) nodes[tiles + groups + g] = v;
    }
    BARRIER();
    if (warp) return;
    maybe v = append_s(nothing(b.p), level, tiles + groups, 0, over, box);
    v = append_s(v, level, tiles, over * CHUNK_s, groups - over * CHUNK_s, box);
    v = append_s(v, level, 0, groups * CHUNK_s, tiles - groups * CHUNK_s, box);
    v = append_s(v, level, tiles + groups + over, 0, chunks, box);
    v = append_e(v, b, from, (tiles * TILE_WARPS + chunks) * CHUNK_e, b.n & (CHUNK_e - 1), box);
    if (lane == 0) store_maybe(out.x, v, b.n, 0, b.p);
}
#endif
