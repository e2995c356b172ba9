/* SPDX-License-Identifier: MIT
 * Scan in several launches. level.cl computes the nodes of chunks, level by level. Then `down`
 * computes the prefix S at the first item of every node, from the highest level to the lowest, and
 * `scan` the results of the elements. The array prefix has all levels, level 1 first, like nodes;
 * but a sequence has one more entry there, S after its last node. */

/* The initial state of sequence s. seeded: SEED_NONE, SEED_VALUE (the value init[0]) or SEED_STATES
 * (a packed state for each sequence, batch.cl). */
fn maybe initial(i64 seeded, GLOBAL const result *init, i64 s, par p)
{
    maybe r = nothing(p);
    if (seeded == SEED_STATES) {
        r.s = unpack((GLOBAL const u8 *)init + s * PACKED);
        r.have = 1;
    }
#if OP_SEED
    if (seeded == SEED_VALUE) {
        r.s = seed(init[0], p);
        r.have = 1;
    }
#endif
    return r;
}

fn i64 prefix_base(batch b, int level) { return level_base(b, level) + (level - 1) * b.seqs; }

/* Scans eight elements e, the first of which has index i. s[0] is given; s[1] to s[7] and the node
 * of all eight are computed. */
fn void scan_eight(maybe *s, state *node, const elem *e, i64 i, par p)
{
    const amount done = p.origin + i;
    state q[8], two[4];
    UNROLL for (int k = 0; k < 8; k++) q[k] = lift_e(e[k], i + k, p);
    UNROLL for (int k = 0; k < 4; k++) two[k] = TWIN(q[2 * k], q[2 * k + 1], 1);
    const state left = TWIN(two[0], two[1], 2);
    *node = TWIN(left, TWIN(two[2], two[3], 2), 4);
    s[1] = then(s[0], q[0], done, 1), s[2] = then(s[0], two[0], done, 2),
    s[3] = then(s[2], q[2], done + 2, 1);
    s[4] = then(s[0], left, done, 4), s[5] = then(s[4], q[4], done + 4, 1);
    s[6] = then(s[4], two[2], done + 4, 2), s[7] = then(s[6], q[6], done + 6, 1);
}

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

/* Stores the results of a lane's quad that have indices below n. row: index of the warp's first
 * result. known: no state of this warp is ABSENT. */
fn void store_quad(results out, batch b, i64 s, i64 row, i64 n, maybe *v, i64 exclusive, int known,
                   par p)
{
    const i64 i = row + lane_index() * QUAD;
#if OP_LANES == 1
    const amount n0 = p.origin + i + !exclusive; /* elements of the first result */
    GLOBAL u8 *at = place(out, b, s, row);
    if (known && out.stride == 1 && row + LANES * QUAD <= n && ADDRESS(at) % QUAD_OUT_ALIGN == 0) {
        result w[QUAD];
        UNROLL for (int k = 0; k < QUAD; k++) w[k] = lower(v[k].s, (real)(n0 + k), 0, p);
        store_row(at, w);
        return;
    }
    if (SKIPS && known && out.stride == 1 && row + LANES * QUAD <= n &&
        ADDRESS(at) % sizeof(result) == 0) {
        UNROLL for (int k = 0; k < QUAD; k++)
            ((GLOBAL result *)at)[lane_index() * QUAD + k] = lower(v[k].s, (real)(n0 + k), 0, p);
        return;
    }
#endif
    UNROLL for (int k = 0; k < QUAD; k++)
    {
        if (i + k < n) store_maybe(place(out, b, s, i + k), v[k], i + k + !exclusive, 0, p);
    }
}

/* Stores the results of row r of the chunk at `at`; called with r = 0, 1, 2, ... x: the lane's
 * elements of the row. rows[0]: S before the chunk; after: S after it, if it is full; last: its
 * last row. */
fn void scan_row(results out, batch b, i64 s, i64 at, i64 n, const elem *x, int r, maybe *rows,
                 state *stack, state after, int last, i64 exclusive, LOCAL state *box)
{
    const int lane = lane_index();
    i64 i = at + r * LANES * QUAD + lane * QUAD;
    amount done = b.p.origin + at, mine = done + (r * ROW_e + lane * QUAD);
    state q[QUAD], left[5];
    if (SKIPS && at + r * LANES * QUAD >= n) return;
    UNROLL for (int k = 0; k < QUAD; k++) q[k] = lift_e(x[k], i + k, b.p);
    state two = TWIN(q[0], q[1], 1),
          node = row_node_e(TWIN(two, TWIN(q[2], q[3], 1), 2), QUAD, left, box);
    maybe v[QUAD + 1];
    v[0] = row_start_e(rows[r], done + r * ROW_e, QUAD, left);
    next_row_e(rows, stack, r, node, done, ROW_e);
    v[1] = then(v[0], q[0], mine, 1), v[2] = then(v[0], two, mine, 2),
    v[3] = then(v[2], q[2], mine + 2, 1);
    /* S after a quad is the next lane's start; after a row, the next row's; after a chunk,
     * `after`. */
    v[4].s = from_lane(v[0].s, (lane + 1) & 31, box);
    v[4].have = 1;
    /* The states are moved so that there is only one call of store_quad. Two calls would double the
     * code, and PoCL 5.0 aborts over them (see BARRIER in prelude_opencl.h). */
    if (!exclusive) {
        if (lane == LANES - 1) v[4].s = r == last ? after : rows[r + 1].s;
        UNROLL for (int k = 0; k < QUAD; k++) v[k] = v[k + 1];
    }
    store_quad(out, b, s, at + r * LANES * QUAD, n, v, exclusive, !exclusive || rows[r].have, b.p);
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
