/* SPDX-License-Identifier: MIT
 * What the scans share: the initial state, the prefixes S inside a group of 8 elements and inside a
 * row of 128, and how results are stored. */

/* How a scan begins. seeded: SEED_NONE, SEED_VALUE (the value init[0]) or SEED_STATES (a packed
 * state for each sequence, batch.cl). exclusive: a result does not contain its own element. */
typedef struct {
    i64 seeded, exclusive;
    GLOBAL const result *init;
} seeding;

#define SEEDING_OF_PARAMETERS \
    seeding seeds; \
    seeds.seeded = seeded, seeds.exclusive = exclusive, seeds.init = init

/* The initial state of sequence s. */
fn maybe initial(seeding seeds, i64 s, par p)
{
    maybe r = nothing(p);
    if (seeds.seeded == SEED_STATES) {
        r.s = unpack((GLOBAL const u8 *)seeds.init + s * PACKED);
        r.exists = 1;
    }
#if OP_SEED
    if (seeds.seeded == SEED_VALUE) {
        r.s = seed(seeds.init[0], p);
        r.exists = 1;
    }
#endif
    return r;
}

/* Scans eight elements e, the first of which has index i. s[0] is given; s[1] to s[7] and the node
 * of all eight are computed. */
fn void scan_eight(maybe *s, state *node, const elem *e, i64 i, par p)
{
    const amount done = p.origin + i;
    state q[8], two[4];

    FOR(k, 8) q[k] = lift_e(e[k], i + k, p);
    FOR(k, 4) two[k] = TWIN(q[2 * k], q[2 * k + 1], 1);
    const state left = TWIN(two[0], two[1], 2);
    *node = TWIN(left, TWIN(two[2], two[3], 2), 4);
    s[1] = then(s[0], q[0], done, 1), s[2] = then(s[0], two[0], done, 2),
    s[3] = then(s[2], q[2], done + 2, 1);
    s[4] = then(s[0], left, done, 4), s[5] = then(s[4], q[4], done + 4, 1);
    s[6] = then(s[4], two[2], done + 4, 2), s[7] = then(s[6], q[6], done + 6, 1);
}

/* A warp's scan of a chunk. */
typedef struct {
    batch b;
    results out;
    i64 s, at, n; /* the sequence; the index of the chunk's first element; the sequence's length */
    i64 exclusive;
    int last;    /* number of the chunk's last row */
    state after; /* S after the chunk, if it is full */
} chunk_scan;

/* Stores the results of a lane's quad that have indices below n. row: index of the warp's first
 * result. all_exist: every state of this warp is there. */
fn void store_quad(chunk_scan c, i64 row, const maybe *v, int all_exist)
{
    const i64 i = row + lane_index() * QUAD;
    const par p = c.b.p;
#if OP_LANES == 1
    const amount n0 = p.origin + i + !c.exclusive; /* elements of the first result */
    GLOBAL u8 *at = place(c.out, c.b, c.s, row);

    const int full = all_exist && c.out.stride == 1 && row + LANES * QUAD <= c.n;
    if (full && ADDRESS(at) % QUAD_OUT_ALIGN == 0) {
        result w[QUAD];
        FOR(k, QUAD) w[k] = lower(v[k].s, (real)(n0 + k), 0, p);
        store_row(at, w);
        return;
    }

    if (SKIPS && full && ADDRESS(at) % sizeof(result) == 0) {
        FOR(k, QUAD)
            ((GLOBAL result *)at)[lane_index() * QUAD + k] = lower(v[k].s, (real)(n0 + k), 0, p);
        return;
    }
#endif

    FOR(k, QUAD) {
        if (i + k < c.n)
            store_maybe(place(c.out, c.b, c.s, i + k), v[k], i + k + !c.exclusive, 0, p);
    }
}

/* Stores the results of row r of the chunk; called with r = 0, 1, 2, ... x: the lane's elements of
 * the row. rows[0]: S before the chunk. rows and stack: as of next_row. */
fn void scan_row(chunk_scan c, const elem *x, int r, maybe *rows, state *stack, LOCAL state *box)
{
    const int lane = lane_index();
    const par p = c.b.p;
    i64 i = c.at + r * LANES * QUAD + lane * QUAD;
    amount done = p.origin + c.at, quad_done = done + (r * ROW_e + lane * QUAD);
    state q[QUAD], left[5];
    if (SKIPS && c.at + r * LANES * QUAD >= c.n) return;

    FOR(k, QUAD) q[k] = lift_e(x[k], i + k, p);
    state two = TWIN(q[0], q[1], 1),
          node = row_node_e(TWIN(two, TWIN(q[2], q[3], 1), 2), QUAD, left, box);
    maybe v[QUAD + 1];
    v[0] = row_start_e(rows[r], done + r * ROW_e, QUAD, left);
    next_row_e(rows, stack, r, node, done, ROW_e);
    v[1] = then(v[0], q[0], quad_done, 1), v[2] = then(v[0], two, quad_done, 2),
    v[3] = then(v[2], q[2], quad_done + 2, 1);

    /* S after a quad is the next lane's start; after a row, the next row's; after a chunk,
     * `after`. */
    v[4].s = from_lane(v[0].s, (lane + 1) & 31, box);
    v[4].exists = 1;

    /* The states are moved so that there is only one call of store_quad. Two calls would double the
     * code, and PoCL 5.0 aborts over them (see BARRIER in prelude_opencl.h). */
    if (!c.exclusive) {
        if (lane == LANES - 1) v[4].s = r == c.last ? c.after : rows[r + 1].s;
        FOR(k, QUAD) v[k] = v[k + 1];
    }

    store_quad(c, c.at + r * LANES * QUAD, v, !c.exclusive || rows[r].exists);
}
