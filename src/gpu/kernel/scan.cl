/* SPDX-License-Identifier: MIT
 * Scan in several launches. level.cl computes the nodes of chunks, level by level. Then `down`
 * computes the prefix S at the first item of every node, from the highest level to the lowest, and
 * `scan` the results of the elements. The array prefix has all levels, level 1 first, like nodes;
 * but a sequence has one more entry there, S after its last node. */

fn i64 prefix_base(batch b, int level) { return level_base(b, level) + (level - 1) * b.seqs; }

KERNEL_OF(down)
{
    BATCH_OF_PARAMETERS;
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
            rows[0] = initial(seeded, init, s, b.p);
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
    BOX
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, 1, 1, job), n = length_of(b, s), from = start_of(b, s);
        i64 at = (job - level_first(b, 1, s) - s) << ELEMENTS_LOG;
        if (SKIPS && at >= n) continue;
        maybe rows[ROWS_E + 1];
        state stack[LOG_ROWS_E + 1], after = nothing(b.p).s;
        if (at)
            rows[0].s = prefix[job], rows[0].have = 1;
        else
            rows[0] = initial(seeded, init, s, b.p);
        if (at + (1 << ELEMENTS_LOG) <= n) after = prefix[job + 1];
        elem e[ROWS_E][QUAD];
        load_e(e, b, from, at, n);
        UNROLL for (int r = 0; r < ROWS_E; r++)
            scan_row(out, b, s, at, n, e[r], r, rows, stack, after, ROWS_E - 1, exclusive, box);
    }
}

/* ---- columns ----
 *
 * Sequences that lie across (columns): each lane takes a column, so that a warp reads and writes
 * whole cache lines. A lane starts with S at the first element of a chunk (from the array prefix)
 * and walks down the chunk, 8 elements at a time:
 *
 *   node[l]    the last node of 2^l groups of 8 that waits for its right neighbour
 *   start[l]   S at the last multiple of 2^l groups; so S after j groups is C(start[l + 1], node
 *              of 2^l groups), where j is an odd multiple of 2^l
 *
 * Lanes exchange nothing. The next 8 elements are loaded before the results of these are
 * computed. */
enum { DOWN = 8, DOWN_LEVELS = ELEMENTS_LOG - 3 + 1 };

/* Stores the results of `count` elements, the first of which has index i. w[k]: S after k of
 * them. */
fn void store_down(GLOBAL u8 *to, i64 step, int count, const maybe *w, i64 i, i64 exclusive, par p)
{
    const i64 n = i + !exclusive;
    const int aligned = ADDRESS(to) % sizeof(result) == 0;
    UNROLL for (int k = 0; k < DOWN; k++)
    {
        GLOBAL u8 *at = to + k * step;
        maybe v; /* no pointer into w, so that w stays in registers */
        v.s = choose(exclusive != 0, w[k].s, w[k + 1].s),
        v.have = exclusive ? w[k].have : w[k + 1].have;
        if (k >= count) continue;
#if OP_LANES == 1
        if (aligned) {
            *(GLOBAL result *)at = v.have ? lower(v.s, (real)(p.origin + n + k), 0, p) : empty(p);
            continue;
        }
#endif
        store_maybe(at, v, n + k, 0, p);
    }
}

KERNEL_OF(scan_columns)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    const i64 groups = (b.seqs + LANES - 1) / LANES, step = b.stride * TL_SIZE;
    const i64 out_step = out.stride * (i64)(OP_LANES * sizeof(result));
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 c = job / groups, s = (job - c * groups) * LANES + lane_index();
        if (s >= b.seqs) continue;
        i64 at = c << ELEMENTS_LOG;
        const i64 left = b.n - at;
        const int all = left < CHUNK ? (int)left : CHUNK; /* elements of the chunk */
        GLOBAL const u8 *x = b.x + (start_of(b, s) + at * b.stride) * TL_SIZE;
        GLOBAL u8 *to = place(out, b, s, at);
        maybe v = initial(seeded, init, s, b.p), start[DOWN_LEVELS + 1];
        state node[DOWN_LEVELS];
        elem e[DOWN], next[DOWN];
        GLOBAL const state *here = prefix + s * (level_count(b.n, 1) + 1) + c;
        if (at) v.s = here[0], v.have = 1;
        for (int l = 0; l <= DOWN_LEVELS; l++) start[l] = v;
        load_down(next, DOWN, x, step, all);
        for (int i = 0, j = 1; i < all; i += DOWN, j++) {
            maybe w[DOWN + 1];
            state mine;
            int l = 0;
            UNROLL for (int k = 0; k < DOWN; k++) e[k] = next[k];
            x += DOWN * step;
            if (i + DOWN < all) load_down(next, DOWN, x, step, all - i - DOWN);
            w[0] = v;
            scan_eight(w, &mine, e, at + i, b.p);
            for (; !(j >> l & 1); l++) mine = TWIN(node[l], mine, DOWN << l);
            node[l] = mine;
            v = then(start[l + 1], mine, b.p.origin + at + (i64)(j & (j - 1)) * DOWN, DOWN << l);
            for (int k = 0; k <= l; k++) start[k] = v;
            /* A full chunk ends nodes of higher levels too; its end is taken from prefix. Columns
             * without a full chunk may have no prefix. */
            if (all == CHUNK && i + DOWN == CHUNK) v.s = here[1];
            w[DOWN] = v;
            store_down(to, out_step, all - i, w, at + i, exclusive, b.p);
            to += DOWN * out_step;
        }
    }
}
