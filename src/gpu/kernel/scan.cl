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
    BOX const int level = (int)at_level, lane = lane_index();
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
            rows[0].s = above[job], rows[0].exists = 1;
        else
            rows[0] = initial(seeds, s, b.p);

        FOR(r, 2) {
            i64 i = at + r * ROW_s + lane * QUAD;
            amount row = done + size * (r * ROW_s), quad_done = row + size * (lane * QUAD);
            if (SKIPS && at + r * ROW_s > count) continue;
            state two = TWIN(e[r][0], e[r][1], size),
                  four = TWIN(two, TWIN(e[r][2], e[r][3], size), 2 * size);
            state node = row_node_s(four, QUAD * size, left, box);
            maybe v = row_start_s(rows[r], row, QUAD * size, left),
                  v1 = then(v, e[r][0], quad_done, size);
            maybe v2 = then(v, two, quad_done, 2 * size),
                  v3 = then(v2, e[r][2], quad_done + 2 * size, size);
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
    VIEWS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    BOX chunk_scan c;
    c.b = b, c.out = out, c.exclusive = exclusive, c.last = ROWS_E - 1;

    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, 1, 1, job), n = length_of(b, s), from = start_of(b, s);
        i64 at = (job - level_first(b, 1, s) - s) << ELEMENTS_LOG;
        if (SKIPS && at >= n) continue;
        maybe rows[ROWS_E + 1];
        state stack[LOG_ROWS_E + 1];
        c.s = s, c.at = at, c.n = n, c.after = nothing(b.p).s;
        if (at)
            rows[0].s = prefix[job], rows[0].exists = 1;
        else
            rows[0] = initial(seeds, s, b.p);
        if (at + (1 << ELEMENTS_LOG) <= n) c.after = prefix[job + 1];
        elem e[ROWS_E][QUAD];
        load_e(e, b, from, at, n);
        FOR(r, ROWS_E) scan_row(c, e[r], r, rows, stack, box);
    }
}

#if !TL_IN_PLACE
/* ---- columns ----
 *
 * Sequences that lie across. The lanes of a warp are placed as in columns.cl. A lane starts with S
 * at the first element of its part and goes down, 8 elements at a time:
 *
 *   node[l]    the last node of 2^l groups of 8 that waits for its right neighbour
 *   start[l]   S at the last multiple of 2^l groups; so S after j groups is C(start[l + 1], node
 *              of 2^l groups), where j is an odd multiple of 2^l
 *
 * If a warp has several parts of a chunk, each lane first folds its part; lanes exchange these
 * nodes for S at the first element of each part. The next 8 elements are loaded before the results
 * of these are computed. */
enum { DOWN = 8, DOWN_LEVELS = ELEMENTS_LOG - 3 + 1 };

/* The results of a column. */
typedef struct {
    GLOBAL u8 *to;       /* the next one */
    i64 step, exclusive; /* step: bytes to the one below it */
    par p;
} column_results;

/* Stores the results of `count` elements, the first of which has index i. w[k]: S after k of
 * them. */
fn void store_down(column_results r, int count, const maybe *w, i64 i)
{
    const i64 n = i + !r.exclusive;
    const par p = r.p;
    const int aligned = ADDRESS(r.to) % sizeof(result) == 0;

    FOR(k, DOWN) {
        GLOBAL u8 *at = r.to + k * r.step;
        maybe v; /* no pointer into w, so that w stays in registers */
        v.s = choose(r.exclusive != 0, w[k].s, w[k + 1].s),
        v.exists = r.exclusive ? w[k].exists : w[k + 1].exists;
        if (k >= count) continue;
#if OP_LANES == 1

        if (aligned) {
            *(GLOBAL result *)at = v.exists ? lower(v.s, (real)(p.origin + n + k), 0, p) : empty(p);
            continue;
        }
#endif
        store_maybe(at, v, n + k, 0, p);
    }
}

/* A lane's part of a column. */
typedef struct {
    GLOBAL const u8 *x; /* its first element, which has index `at` in the column */
    i64 step;           /* bytes from an element to the one below it */
    i64 at;
    int count, size;    /* its elements; those of a full part */
    maybe start, after; /* S before it; S after it, if it is full */
} column_part;

/* Stores the results of a part. */
fn void scan_part(column_part c, column_results to)
{
    const par p = to.p;
    maybe v = c.start, start[DOWN_LEVELS + 1];
    state node[DOWN_LEVELS];
    elem e[DOWN], next[DOWN];

    for (int l = 0; l <= DOWN_LEVELS; l++) start[l] = v;
    if (c.count > 0) load_down(next, DOWN, c.x, c.step, c.count);
    for (int i = 0, j = 1; i < c.count; i += DOWN, j++) {
        maybe w[DOWN + 1];
        state carry;
        int l = 0;
        FOR(k, DOWN) e[k] = next[k];
        c.x += DOWN * c.step;
        if (i + DOWN < c.count) load_down(next, DOWN, c.x, c.step, c.count - i - DOWN);
        w[0] = v;
        scan_eight(w, &carry, e, c.at + i, p);
        for (; !(j >> l & 1); l++) carry = TWIN(node[l], carry, DOWN << l);
        node[l] = carry;
        v = then(start[l + 1], carry, p.origin + c.at + (i64)(j & (j - 1)) * DOWN, DOWN << l);
        for (int k = 0; k <= l; k++) start[k] = v;

        /* A full part may end nodes that began before it. */
        if (i + DOWN == c.size) v = c.after;
        w[DOWN] = v;
        store_down(to, c.count - i, w, c.at + i);
        to.to += DOWN * to.step;
    }
}

/* Returns the node of all parts of a column, which are 2^log lanes apart. node: the lane's, of
 * `size` elements. left[k]: what its partner at bit k had at step k, for start_parts. */
fn state fold_parts(state *left, state node, int size, int log, LOCAL state *box)
{
    for (int k = 0; k < 5 - log; k++) {
        left[k] = exchange(node, 1 << (log + k), box);
        node = meet(node, left[k], lane_index() >> (log + k) & 1, (amount)size * (1 << k));
    }
    return node;
}

/* The prefixes S before and after the lane's part. before: S before the parts, of `done` elements.
 * After the last part, c->after is not S. */
fn void start_parts(column_part *c, maybe before, amount done, const state *left, int log,
                    LOCAL state *box)
{
    const int lane = lane_index(), part = lane >> log;

    for (int k = 4 - log; k >= 0; k--) {
        const maybe with = then(before, left[k], done + (amount)c->size * (part & -(2 << k)),
                                (amount)c->size * (1 << k));
        const int right = part >> k & 1;
        before.s = choose(right, with.s, before.s);
        before.exists = right ? 1 : before.exists;
    }

    c->start = before;
    c->after.s = from_lane(before.s, (lane + (1 << log)) & (LANES - 1), box);
    c->after.exists = 1;
}

KERNEL_OF(scan_columns)
{
    VIEWS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    BOX const int width = 1 << log, parts = LANES >> log, lane = lane_index(), part = lane >> log;
    const i64 groups = (b.seqs + width - 1) >> log;
    column_part c;
    column_results to;
    to.step = out.stride * (i64)(OP_LANES * sizeof(result)), to.exclusive = exclusive, to.p = b.p;
    c.step = b.stride * TL_SIZE;
    c.size = CHUNK_e / parts;

    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 chunk = job / groups, first = (job - chunk * groups) << log,
                  column = first + (lane & (width - 1)), s = column < b.seqs ? column : first;
        const i64 begin = chunk * CHUNK_e, left = b.n - begin - part * c.size;
        GLOBAL const state *here = prefix + s * (level_count(b.n, 1) + 1) + chunk;
        maybe before = initial(seeds, s, b.p);
        state node = before.s, left_of[5];
        c.at = begin + part * c.size;
        c.count = left > c.size ? c.size : left > 0 ? (int)left : 0;
        c.x = b.x + (start_of(b, s) + c.at * b.stride) * TL_SIZE;
        to.to = place(out, b, s, c.at);
        if (chunk) before.s = here[0], before.exists = 1;
        if (parts > 1 && c.count == c.size) node = fold_column(c.x, c.step, c.at, c.size, b.p);
        fold_parts(left_of, node, c.size, (int)log, box);
        start_parts(&c, before, b.p.origin + begin, left_of, (int)log, box);

        /* Columns without a full chunk may have no prefix. */
        if (part == parts - 1 && c.count == c.size) c.after.s = here[1];
        if (column < b.seqs) scan_part(c, to);
    }
}
#endif
