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

#if !TL_IN_PLACE
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
#endif

/* Level 1: job number `job` computes the node of a full chunk of elements. */
KERNEL_OF(nodes)
{
    BATCH_OF_PARAMETERS;
    BOX
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, 1, 0, job);
        const i64 from = start_of(b, s), at = (job - level_first(b, 1, s)) * CHUNK_e;
#if TL_IN_PLACE
        state v = chunk_node_e(b, from, at, 1, box);
#else
        state v = node_of_chunk(b, from, at, box);
#endif
        if (lane_index() == 0) to[job] = v;
    }
}

#if !TL_IN_PLACE
/* Level 1 for sequences that lie across (columns): each lane takes a column, so that a warp reads
 * whole cache lines. A job is a chunk of 32 columns; jobs go along all columns before the next
 * chunk. The warps of a block share the chunk. */
KERNEL_OF(columns)
{
    /* elements in registers at a time */
    enum { STEP = sizeof(state) > 8 ? 8 : 16, PART = CHUNK_e / COLUMN_PARTS, STEPS = PART / STEP };
    SHARED state parts[COLUMN_PARTS][LANES];
    BATCH_OF_PARAMETERS;
    const i64 step = b.stride * TL_SIZE;
    const i64 groups = (b.seqs + LANES - 1) / LANES, count = level_count(b.n, 1);
    const int lane = thread_index() % LANES, part = thread_index() / LANES;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 c = job / groups, s = (job - c * groups) * LANES + lane;
        if (s < b.seqs) {
            i64 at = c * CHUNK_e + part * PART;
            GLOBAL const u8 *x = b.x + (s * b.row_stride + at * b.stride) * TL_SIZE;
            state stack[8];
            int top = 0;
            for (int j = 0; j < STEPS; j++, at += STEP) {
                state v[STEP];
                elem e[STEP];
                if (ADDRESS(x) % TL_SIZE == 0) {
                    UNROLL for (int k = 0; k < STEP; k++)
                        e[k] = *(GLOBAL const elem *)(x + k * step);
                } else {
                    /* unrolled, so that e stays in registers */
                    UNROLL for (int k = 0; k < STEP; k++) e[k] = load_bytes(x + k * step);
                }
                UNROLL for (int k = 0; k < STEP; k++) v[k] = lift_e(e[k], at + k, b.p);
                x += STEP * step;
                /* Loops with a halving bound are not unrolled; v would then be in local memory, and
                 * 3 times as slow. */
                UNROLL for (int k = 0; k < 4; k++)
                    UNROLL for (int i = 0; i + (1 << k) < STEP; i += 2 << k)
                        v[i] = TWIN(v[i], v[i + (1 << k)], 1 << k);
                for (int t = j, size = STEP; t & 1; t >>= 1, size *= 2)
                    v[0] = TWIN(stack[--top], v[0], size);
                stack[top++] = v[0];
            }
            parts[part][lane] = stack[0];
        }
        BARRIER();
        if (part == 0 && s < b.seqs) {
            for (int by = 1; by < COLUMN_PARTS; by *= 2)
                for (int p = 0; p < COLUMN_PARTS; p += 2 * by)
                    parts[p][lane] = TWIN(parts[p][lane], parts[p + by][lane], by * PART);
            to[s * count + c] = parts[0][lane];
        }
        BARRIER();
    }
}
#endif

/* Computes level `level` from the level below. nodes: all levels, level 1 first. */
KERNEL_OF(up)
{
    BATCH_OF_PARAMETERS;
    BOX
    b.x = (GLOBAL const u8 *)(nodes + level_base(b, (int)level - 1));
    GLOBAL state *to = nodes + level_base(b, (int)level);
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, (int)level, 0, job);
        i64 from = level_first(b, (int)level - 1, s),
            at = (job - level_first(b, (int)level, s)) * CHUNK_s;
        state v = chunk_node_s(b, from, at, level_size((int)level - 1), box);
        if (lane_index() == 0) to[job] = v;
    }
}
