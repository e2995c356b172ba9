/* SPDX-License-Identifier: MIT
 * The nodes of chunks, level by level, for reduce and scan. */

/* Level 1: node `job` is a full chunk of elements. */
KERNEL(nodes, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, GLOBAL state *to, i64 jobs)
{
    BATCH_OF_PARAMETERS;
    BOX
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, 1, 0, job);
        state v = e_chunk_node(b, start_of(b, s), (job - level_first(b, 1, s)) * e_CHUNK, box);
        if (lane_index() == 0) to[job] = v;
    }
}

/* Level `level` from the one below it; nodes: all levels, level 1 first. */
KERNEL(up, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, GLOBAL state *nodes, i64 level, i64 jobs)
{
    BATCH_OF_PARAMETERS;
    BOX
    b.x = (GLOBAL const u8 *)(nodes + level_base(b, (int)level - 1));
    GLOBAL state *to = nodes + level_base(b, (int)level);
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, (int)level, 0, job);
        i64 from = level_first(b, (int)level - 1, s), at = (job - level_first(b, (int)level, s)) * s_CHUNK;
        state v = s_chunk_node(b, from, at, box);
        if (lane_index() == 0) to[job] = v;
    }
}
