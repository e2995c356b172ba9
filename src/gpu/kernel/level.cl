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
    before.exists = before.exists || count;
    return before;
}

/* Returns the node of the full chunk at `at`. */
fn state node_of_chunk(batch b, i64 from, i64 at, LOCAL state *box)
{
#if PARTIALS && !FINDS
    return chunk_partials(b, from, at, box);
#elif MOMENTS
    return chunk_moments(b, from, at, box);
#else
    return chunk_node_e(b, from, at, 1, box);
#endif
}

/* Level 1: a warp computes the node of one chunk at a time. Of segments it takes neighbouring ones
 * and searches once. */
fn void chunk_nodes(batch b, GLOBAL state *to, i64 jobs, LOCAL state *box)
{
#if SEGMENTS
    const i64 each = (jobs + warp_count() - 1) / warp_count(), first = warp_index() * each,
              end = first + each < jobs ? first + each : jobs;
    i64 s = first < end ? sequence_of(b, 1, 0, first) : 0, at = first - level_first(b, 1, s);

    for (i64 job = first; job < end; job++, at++) {
        if (at == length_of(b, s) >> ELEMENTS_LOG) s++, at = 0;
        const state v = node_of_chunk(b, start_of(b, s), at * CHUNK, box);
        if (lane_index() == 0) to[job] = v;
    }
#else
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 s = sequence_of(b, 1, 0, job);
        const i64 at = (job - level_first(b, 1, s)) * CHUNK_e;
        const state v = node_of_chunk(b, start_of(b, s), at, box);
        if (lane_index() == 0) to[job] = v;
    }
#endif
}

/* A higher level: a warp computes one node from those of the level below. */
fn void higher_nodes(batch b, GLOBAL state *nodes, int level, i64 jobs, LOCAL state *box)
{
    GLOBAL state *const to = nodes + level_base(b, level);
    b.x = (GLOBAL const u8 *)(nodes + level_base(b, level - 1));
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 s = sequence_of(b, level, 0, job);
        const i64 at = (job - level_first(b, level, s)) * CHUNK_s;
        const state v =
            chunk_node_s(b, level_first(b, level - 1, s), at, level_size(level - 1), box);
        if (lane_index() == 0) to[job] = v;
    }
}

/* Computes the nodes of level `level`. nodes: all levels, level 1 first. Where exchanges have
 * barriers (SKIPS is 0), they must not be in a branch: there one of the two calls has no jobs. */
KERNEL_OF(nodes)
{
    BATCH_OF_PARAMETERS;
    BOX const int first = level == 1;
    if (!SKIPS || first) chunk_nodes(b, nodes, first ? jobs : 0, box);
    if (!SKIPS) WARP_BARRIER();
    if (!SKIPS || !first) higher_nodes(b, nodes, (int)level, first ? 0 : jobs, box);
}
