/* SPDX-License-Identifier: MIT
 * Computes the nodes of chunks, level by level, for reduce and scan. */

/* Returns S after `before` and `count` < 32 nodes of n elements; lane k has node k. before: a state
 * of `done` elements. */
fn maybe append_lanes(maybe before, amount done, state node, amount n, int count, LOCAL state *box)
{
    state left[5];
    if (SKIPS && count == 0) return before;
    row_node_s(node, n, left, box);
    /* lane `count` has the fold of `before` and the nodes to its left */
    before.s = from_lane(row_start_s(before, done, n, left).s, count, box);
    before.have = before.have || count;
    return before;
}

/* Returns the node of the full chunk at `at`. */
fn state node_of_chunk(batch b, i64 from, i64 at, LOCAL state *box)
{
#if STRIPED && !FINDS
    return chunk_striped(b, from, at, box);
#elif MOMENTS
    return chunk_moments(b, from, at, box);
#else
    return chunk_node_e(b, from, at, 1, box);
#endif
}

/* small states need 64 registers for level 1 */
#define NODES_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 1 : 4)

/* Computes the nodes of level `level`: of level 1 from the elements, of a higher one from the level
 * below. A warp computes one node at a time. nodes: all levels, level 1 first. */
KERNEL_OF(nodes)
{
    BATCH_OF_PARAMETERS;
    BOX
    const int to_level = (int)level, below = to_level - 1;
    /* Two loops, one of which does nothing: PoCL allows no exchange in a branch. */
    const i64 chunks = below ? 0 : jobs, groups = jobs - chunks;
    GLOBAL state *const to = nodes + level_base(b, to_level);

    for (i64 job = warp_index(); job < chunks; job += warp_count()) {
        const i64 s = sequence_of(b, 1, 0, job);
        const i64 at = (job - level_first(b, 1, s)) * CHUNK_e;
        const state v = node_of_chunk(b, start_of(b, s), at, box);
        if (lane_index() == 0) to[job] = v;
    }
    WARP_BARRIER();

    b.x = (GLOBAL const u8 *)(nodes + level_base(b, below));
    for (i64 job = warp_index(); job < groups; job += warp_count()) {
        const i64 s = sequence_of(b, to_level, 0, job);
        const i64 at = (job - level_first(b, to_level, s)) * CHUNK_s;
        const state v =
            chunk_node_s(b, level_first(b, below, s), at, level_size(below), box);
        if (lane_index() == 0) to[job] = v;
    }
}
