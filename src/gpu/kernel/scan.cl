/* SPDX-License-Identifier: MIT
 * Scan in several launches. level.cl computes the nodes of chunks, level by level. Then `down`
 * computes the prefix S at the first item of every node, from the highest level to the lowest, and
 * `scan` the results of the elements. The array prefix has all levels, level 1 first, like nodes;
 * but a sequence has one more entry there, S after its last node. */

fn i64 prefix_base(batch b, int level) { return level_base(b, level) + (level - 1) * b.seqs; }

KERNEL_OF(down)
{
    BATCH_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    BOX
    const int level = (int)at_level, lane = lane_index();
    b.x = (GLOBAL const u8 *)(nodes + level_base(b, level));
    GLOBAL state *to = prefix + prefix_base(b, level);
    GLOBAL const state *above = prefix + prefix_base(b, level + 1);

    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, level + 1, 1, job), n = length_of(b, s),
            count = level_count(n, level);
        i64 first = level_first(b, level, s), at = (job - level_first(b, level + 1, s) - s)
                                                   << STATES_LOG;

        /* size: elements of a node; done: elements before it */
        amount size = level_size(level), done = b.p.origin + at * level_size(level);
        maybe rows[3];
        state stack[2], left[5], e[2][QUAD];
        load_s(e, b, first, at, count);
        if (at)
            rows[0].s = above[job], rows[0].have = 1;
        else
            rows[0] = initial(seeds, s, b.p);

        UNROLL for (int r = 0; r < 2; r++)
        {
            i64 i = at + r * ROW_s + lane * QUAD;
            amount row = done + size * (r * ROW_s), mine = row + size * (lane * QUAD);
            if (SKIPS && at + r * ROW_s > count) continue;
            state two = TWIN(e[r][0], e[r][1], size),
                  four = TWIN(two, TWIN(e[r][2], e[r][3], size), 2 * size);
            state node = row_node_s(four, QUAD * size, left, box);
            maybe v = row_start_s(rows[r], row, QUAD * size, left),
                  v1 = then(v, e[r][0], mine, size);
            maybe v2 = then(v, two, mine, 2 * size), v3 = then(v2, e[r][2], mine + 2 * size, size);
            next_row_s(rows, stack, r, node, done, ROW_s * size);
            GLOBAL state *at_ = to + first + s + i;
            if (i <= count) at_[0] = v.s;
            if (i + 1 <= count) at_[1] = v1.s;
            if (i + 2 <= count) at_[2] = v2.s;
            if (i + 3 <= count) at_[3] = v3.s;
        }
    }
}

KERNEL_OF(scan)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    BOX
    chunk_scan c;
    c.b = b, c.out = out, c.exclusive = exclusive, c.last = ROWS_E - 1;

    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, 1, 1, job), n = length_of(b, s), from = start_of(b, s);
        i64 at = (job - level_first(b, 1, s) - s) << ELEMENTS_LOG;
        if (SKIPS && at >= n) continue;
        maybe rows[ROWS_E + 1];
        state stack[LOG_ROWS_E + 1];
        c.s = s, c.at = at, c.n = n, c.after = nothing(b.p).s;
        if (at)
            rows[0].s = prefix[job], rows[0].have = 1;
        else
            rows[0] = initial(seeds, s, b.p);
        if (at + (1 << ELEMENTS_LOG) <= n) c.after = prefix[job + 1];
        elem e[ROWS_E][QUAD];
        load_e(e, b, from, at, n);
        UNROLL for (int r = 0; r < ROWS_E; r++)
            scan_row(c, e[r], r, rows, stack, box);
    }
}
