/* SPDX-License-Identifier: MIT
 * scan of dense long sequences in one launch that reads every element once (Merrill and Garland
 * 2016, decoupled look-back), with fixed nodes instead of running sums, so that it does not
 * matter who comes first.
 *
 * A tile is 8 chunks (of wide elements or states: half chunks; of arrays of few tiles: smaller
 * ones), one for each of 8 warps, the workers; a ninth warp posts, a tenth looks back. With a
 * tile's number in base 32, S before it is a fold of nodes that others have posted: its left
 * neighbours among 32 tiles, those among 32 groups of 32 tiles, and so on: at most 31 of each
 * level, all asked for at once. The tile that ends a group posts the group's node.
 *
 * 8 workers tile i + 3: elements into registers | tile i: scan, out of local memory | tile i + 3: node, into local
 * memory
 *   poster      tile i + 4: taken | tile i + 2: its node posted | tile i + 2: the groups it ends
 *               posted
 *   looker      tile i + 1: S before it and after it
 *
 * So nodes are posted long before they are asked for. Tiles are taken from a counter: whoever
 * waits, waits for groups that run. Where each group has one tile, its number is the group's:
 * groups begin in order. The counter and the board are never cleared: ticket0 and epoch tell
 * this call's from those before it.
 *
 * This text and scan_lines.cl are in a program twice, in the namespaces many and few
 * (gpu/program.c). */
enum { TILE_LOG = ONCE_LOG };
#if !SCAN_LINES
enum { WARP_ITEMS = ONCE_ITEMS, ROWS_P = WARP_ITEMS / ROW_e };
#endif

/* ---- the board ---- */

/* Posted nodes: [level][row][number]. */
typedef struct {
    GLOBAL u64 *words;
    u64 epoch;
    i64 rows, tiles;
    int levels;
} board;
/* Node k of a level of row s. */
fn int place_on(board d, int level, i64 s, i64 k)
{
    i64 at = 0;
    for (int l = 0; l < level; l++) at += d.rows * ((d.tiles >> (RADIX_LOG * l)) + 1);
    return (int)(at + s * ((d.tiles >> (RADIX_LOG * level)) + 1) + k);
}
fn void post(board d, int level, i64 s, i64 k, state v)
{
    const int at = place_on(d, level, s, k);
    if (lane_index() == 0) post_state(d.words, at, v, d.epoch);
}
/* What others posted to the left of tile k: v[level] is, in the lanes below the digit of that
 * level, the node with the lane's number, and `own` in the others; levels from 0 to `top`. All
 * are asked for at once: an answer takes the best part of a microsecond. */
fn void neighbours(board d, i64 s, i64 k, int top, state own, state *v)
{
    const int lane = lane_index();
    int waiting = 1;
    UNROLL for (int l = 0; l < BOARD_LEVELS; l++) v[l] = own;
    while (waiting) {
        waiting = 0;
        UNROLL for (int l = 0; l < BOARD_LEVELS; l++)
        {
            const i64 number = k >> (RADIX_LOG * l);
            if (l > top || lane >= (int)(number & 31)) continue;
            waiting |= misses_state(d.words, place_on(d, l, s, (number & ~(i64)31) + lane), &v[l], d.epoch);
        }
    }
}

/* How many groups tile k ends, each in the next one: as many levels. */
fn int groups_ended(i64 k)
{
    int ends = 0;
    while ((k >> (RADIX_LOG * ends) & 31) == 31) ends++;
    return ends;
}
/* Posts the nodes of the groups that tile k ends; own: the tile's node, posted before. The node
   of the largest. */
fn state post_groups(board d, i64 s, i64 k, state own, LOCAL state *box)
{
    const int ends = groups_ended(k);
    state left[5], v[BOARD_LEVELS];
    if (!ends) return own;
    neighbours(d, s, k, ends - 1, own, v);
    UNROLL for (int l = 0; l < BOARD_LEVELS; l++)
    {
        if (l >= ends) continue;
        own = row_node_s(choose(lane_index() == 31, own, v[l]), (i64)1 << (TILE_LOG + RADIX_LOG * l), left, box);
        post(d, l + 1, s, k >> (RADIX_LOG * (l + 1)), own);
    }
    return own;
}
/* S before tile k, and after it if it is full; own: what post_groups gave. (By the poster too,
 * this was what all waited for: f64 0.60 of a copy instead of 0.77.) */
fn void look_back(board d, i64 s, i64 k, int full, state own, maybe start, i64 origin, maybe *before, maybe *after,
    LOCAL state *box)
{
    const int ends = full ? groups_ended(k) : 0, top = d.levels > ends ? d.levels : ends;
    state left[BOARD_LEVELS][5], v[BOARD_LEVELS];
    /* the levels' exchanges side by side: 2^20 f32 6 % faster; 2^27 f64, with its registers, 16
       % slower */
    const int together = sizeof(state) <= 4;
    neighbours(d, s, k, top, own, v);
    *after = start;
    UNROLL for (int level = BOARD_LEVELS - 1; together && level >= 0; level--) row_node_s(v[level],
        (i64)1 << (TILE_LOG + RADIX_LOG * level), left[level], box);
    UNROLL for (int level = BOARD_LEVELS - 1; level >= 0; level--)
    {
        if (level > top) continue;
        const int log = TILE_LOG + RADIX_LOG * level; /* of a node's elements */
        if (!together) row_node_s(v[level], (i64)1 << log, left[level], box);
        maybe mine = row_start_s(start, origin + (k >> RADIX_LOG * (level + 1) << RADIX_LOG << log), (i64)1 << log,
            left[level]);
        const int digit = (int)(k >> (RADIX_LOG * level) & 31);
        if (level == ends) {
            after->s = from_lane(mine.s, (digit + 1) & 31, box);
            after->have = 1;
        }
        start.s = from_lane(mine.s, digit, box);
        start.have = start.have || digit > 0;
    }
    *before = start;
}

/* ---- the roles; turn i of each is the same turn of the group ---- */

/* What they hand to each other: rings, by the turn that a tile is scanned in. TAKEN, NODES_KEPT
 * and PAIR are powers of two. */
enum { TAKEN = 8, NODES_KEPT = 4, PAIR = 2 };
typedef struct {
    i64 taken[TAKEN];                    /* the tiles' numbers; jobs or more: there is none */
    state nodes[NODES_KEPT][TILE_WARPS]; /* of a tile's chunks */
    /* of the largest group that a tile ends; the tile's own if it ends none */
    state posted[PAIR];
    state before[PAIR], after[PAIR];     /* S before a tile, and after it if it is full */
    int have[PAIR];                      /* is `before` there? */
} rings;
#define RING(ring, size, turn) (ring)[(turn) & (size - 1)]

/* What a launch is about. */
typedef struct {
    batch b;
    results out;
    board d;
    GLOBAL u64 *ticket;
    GLOBAL const result *init;
    i64 ticket0, jobs, exclusive, seeded;
    int one; /* tile for each group */
} task;

/* Job number `job`: tile k of sequence s. */
typedef struct {
    i64 s, k;
} spot;
fn spot spot_of(task t, i64 job)
{
    spot p;
    p.s = t.b.seqs == 1 ? 0 : job / t.d.tiles;
    p.k = job - p.s * t.d.tiles;
    return p;
}
fn int is_full(task t, spot p) { return (p.k + 1) << TILE_LOG <= t.b.n; }

/* Tile i + 4 is taken, the node of tile i + 2 and the groups it ends are posted. */
fn void poster(task t, LOCAL rings *r, int i, LOCAL state *box)
{
    const int lane = lane_index();
    const i64 later = i >= -2 ? RING(r->taken, TAKEN, i + 2) : t.jobs;
    const spot p = spot_of(t, later);
    const int full = later < t.jobs && is_full(t, p);
    u64 more = (u64)(t.ticket0 + t.jobs); /* the answer is looked at last: it takes a while */
    if (lane == 0 && !t.one) more = atomicAdd(t.ticket, (u64)1);
    state v = RING(r->nodes, NODES_KEPT, i + 2)[lane & (TILE_WARPS - 1)];
    UNROLL for (int m = 1; m < TILE_WARPS; m <<= 1) v = meet(v, exchange(v, m, box), (lane & m) != 0,
        m * WARP_ITEMS);
    if (full) {
        post(t.d, 0, p.s, p.k, v);
        v = post_groups(t.d, p.s, p.k, v, box);
    }
    if (lane == 0) RING(r->posted, PAIR, i) = v, RING(r->taken, TAKEN, i + 4) = (i64)more - t.ticket0;
}

/* S before and after tile i + 1. */
fn void looker(task t, LOCAL rings *r, int i, LOCAL state *box)
{
    const i64 job = i >= -1 ? RING(r->taken, TAKEN, i + 1) : t.jobs;
    if (job >= t.jobs) return;
    const spot p = spot_of(t, job);
    maybe before, after;
    look_back(t.d, p.s, p.k, is_full(t, p), RING(r->posted, PAIR, i + 1), initial(t.seeded, t.init, p.s, t.b.p),
        t.b.p.origin, &before, &after, box);
    if (lane_index() == 0) {
        RING(r->before, PAIR, i + 1) = before.s, RING(r->have, PAIR, i + 1) = before.have;
        RING(r->after, PAIR, i + 1) = after.s;
    }
}

/* S before a worker's chunk of tile i, and after it. */
typedef struct {
    maybe before;
    state after;
} around;
fn around around_chunk(task t, const LOCAL rings *r, int i, spot p, int warp, LOCAL state *box)
{
    around c;
    state left[5];
    maybe tile;
    tile.s = RING(r->before, PAIR, i), tile.have = RING(r->have, PAIR, i);
    const state node = RING(r->nodes, NODES_KEPT, i)[lane_index() & (TILE_WARPS - 1)];
    row_node_s(node, WARP_ITEMS, left, box); /* lane c: of chunk c */
    const maybe mine = row_start_s(tile, t.b.p.origin + (p.k << TILE_LOG), WARP_ITEMS, left);
    c.before.s = from_lane(mine.s, warp, box);
    c.before.have = tile.have || warp > 0;
    c.after = from_lane(mine.s, (warp + 1) & 31, box);
    if (warp == TILE_WARPS - 1) c.after = RING(r->after, PAIR, i);
    return c;
}

#if SCAN_LINES
/* As worker below. mine: the nodes of this lane's elements of tiles i, i + 1, i + 2; one further
   afterwards. */
fn void worker(task t, LOCAL rings *r, int i, LOCAL bundle *stages, state *mine, int warp, bundle *e, LOCAL state *box)
{
    const int turn = (i + STAGES) % STAGES * TILE_WARPS + warp;
    LOCAL bundle *stage = stages + turn * (LINES * LANES);
    const i64 next = RING(r->taken, TAKEN, i + 3);
    const spot p = spot_of(t, next);
    const i64 at = (p.k << TILE_LOG) + warp * WARP_ITEMS;
    const int some = next < t.jobs && at < t.b.n;
    const i64 start = start_of(t.b, p.s);
    const int dense = some && lines_can(t.b, start, at);
    if (dense) lines_load(e, t.b, start + at);
    if (i >= 0) {
        const spot now = spot_of(t, RING(r->taken, TAKEN, i));
        const i64 from = (now.k << TILE_LOG) + warp * WARP_ITEMS;
        const around c = around_chunk(t, r, i, now, warp, box);
        state left[5];
        row_node_s(mine[0], LANE_ITEMS_L, left, box);
        const maybe before = row_start_s(c.before, t.b.p.origin + from, LANE_ITEMS_L, left);
        if (from < t.b.n) lines_scan(t.out, t.b, now.s, stage, from, before, t.exclusive);
        WARP_BARRIER();
    }
    UNROLL for (int k = 1; k < STAGES; k++) mine[k - 1] = mine[k];
    if (!some) return;
    if (dense)
        lines_put(stage, e);
    else
        lines_gather(stage, t.b, start + at * t.b.stride, t.b.n - at < WARP_ITEMS ? (int)(t.b.n - at) : WARP_ITEMS);
    WARP_BARRIER();
    state left[5];
    mine[STAGES - 1] = lines_fold(stage, at + lane_index() * LANE_ITEMS_L, t.b.p);
    const state node = row_node_s(mine[STAGES - 1], LANE_ITEMS_L, left, box);
    if (lane_index() == 0) RING(r->nodes, NODES_KEPT, i + 3)[warp] = node;
}
#else
/* The results of a worker's chunk of tile i, whose elements are in local memory. */
fn void scan_chunk(task t, LOCAL rings *r, int i, const LOCAL quad *stage, int warp, LOCAL state *box)
{
    const spot p = spot_of(t, RING(r->taken, TAKEN, i));
    maybe rows[ROWS_E + 1];
    state stack[LOG_ROWS_E + 1];
    const around c = around_chunk(t, r, i, p, warp, box);
    rows[0] = c.before;
    UNROLL for (int k = 0; k < ROWS_P; k++)
    {
        elem x[QUAD];
        put_quad(x, stage[k * LANES]);
        scan_row(t.out, t.b, p.s, (p.k << TILE_LOG) + warp * WARP_ITEMS, t.b.n, x, k, rows, stack, c.after, ROWS_P - 1,
            t.exclusive, box);
    }
}

/* The elements of a chunk of tile i + 3 are asked for, tile i is scanned, then the elements go
 * to local memory, and their node. e: room for them in registers (the caller's: with an array of
 * its own this function spilled 176 bytes instead of 32 for max of i16 on sm_90). */
fn void worker(task t, LOCAL rings *r, int i, LOCAL quad *stages, int warp, elem (*e)[QUAD], LOCAL state *box)
{
    const i64 next = RING(r->taken, TAKEN, i + 3);
    const spot p = spot_of(t, next);
    const i64 at = (p.k << TILE_LOG) + warp * WARP_ITEMS;
    const int some = next < t.jobs && at < t.b.n;
    if (some) ONCE_PART(load)(e, t.b, start_of(t.b, p.s), at, t.b.n);
    /* the place of tile i too */
    LOCAL quad *stage = stages + ((i + STAGES) % STAGES * TILE_WARPS + warp) * ROWS_P * LANES + lane_index();
    if (i >= 0) scan_chunk(t, r, i, stage, warp, box);
    if (!some) return;
    state v[ROWS_P];
    ONCE_PART(fold_quads)(v, e, t.b, at, 1);
    ONCE_PART(fold_across)(v, 1, box);
    v[0] = ONCE_PART(fold_lanes)(v[0], 1, box);
    if (lane_index() == 0) RING(r->nodes, NODES_KEPT, i + 3)[warp] = v[0];
    UNROLL for (int k = 0; k < ROWS_P; k++)
    {
        quad q;
        q.x = e[k][0], q.y = e[k][1], q.z = e[k][2], q.w = e[k][3];
        stage[k * LANES] = q;
    }
}
#endif

#define TILED_PARAMETERS PARAMETERS_OF(TILED)
#if ONCE_FEW
KERNEL_OF(scan_few)
#else
KERNEL_OF(scan_once)
#endif
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED rings r;
#if SCAN_LINES
    state mine[STAGES];
#endif
    const int warp = thread_index() / LANES;
    task t;
    t.b = b, t.out = out, t.ticket = ticket, t.init = init;
    t.ticket0 = ticket0, t.jobs = jobs, t.exclusive = exclusive, t.seeded = seeded,
    t.one = group_count() == jobs;
    t.d.words = ticket + ONCE_HEADER / 8, t.d.epoch = (u64)epoch, t.d.rows = b.seqs, t.d.tiles = tiles,
        t.d.levels = (int)levels;

    if (thread_index() == TILE_WARPS * LANES)
        r.taken[0] = t.one ? group_index() : (i64)atomicAdd(ticket, (u64)1) - ticket0;
    BARRIER();
    for (int i = -STAGES; i < 0 || RING(r.taken, TAKEN, i) < jobs; i++) {
        if (warp == TILE_WARPS) {
            poster(t, &r, i, box);
        } else if (warp > TILE_WARPS) {
            looker(t, &r, i, box);
        } else {
#if SCAN_LINES
            bundle e[LINES];
            worker(t, &r, i, (LOCAL bundle *)ROOM_OF_PARAMETER, mine, warp, e, box);
#else
            elem e[ROWS_P][QUAD];
            worker(t, &r, i, (LOCAL quad *)ROOM_OF_PARAMETER, warp, e, box);
#endif
        }
        BARRIER();
    }
}
