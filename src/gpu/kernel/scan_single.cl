/* SPDX-License-Identifier: MIT
 * Scan of dense long sequences in one launch that reads every element once: decoupled look-back
 * (Merrill and Garland 2016). It folds fixed nodes of the tree instead of running sums, so block
 * order does not affect results.
 *
 * A tile is 8 parts (scan_part.cl). Warps 0 to 7, the workers, take one each; warp 8 publishes
 * nodes; warp 9 does the look-back. Write the tile's number in base 32. The prefix S before the
 * tile is a fold of published nodes: its left neighbours among 32 tiles, those among 32 groups of
 * 32 tiles, and so on. There are at most 31 of each level, and all are polled at once. The tile
 * that ends a group also publishes the group's node.
 *
 * Turn i of the pipeline:
 *
 *   workers    tile i + 3: load elements into registers
 *              tile i:     scan its elements in local memory, store the results
 *              tile i + 3: fold a node, store the elements into local memory
 *   publisher  tile i + 4: take a ticket
 *              tile i + 2: publish its node, and the nodes of the groups that it ends
 *   look-back  tile i + 1: compute S before it and after it
 *
 * So nodes are published long before they are needed. Tiles are taken from a counter (tickets), so
 * a block only ever waits for blocks that run already. If each block has one tile, the tile's
 * number is the block's, because blocks start in order. Each launch takes a known number of
 * tickets. Whoever takes the last one knows that all blocks have begun, and ends the epoch.
 *
 * The size of a tile is a constant of the program (gpu/operators.c). */
enum { TILE_LOG = SINGLE_LOG };

/* ---- the status table ---- */

/* Published nodes: [level][row][number], fewer than NODES_END (gpu/scan.c). */
typedef struct {
    GLOBAL u64 *words;
    LOCAL u64 *epoch;
    int rows, tiles, levels;
} node_table;

/* The places of a row on a level. */
fn int row_places(node_table d, int level) { return (d.tiles >> (RADIX_LOG * level)) + 1; }

fn void publish_node(node_table d, int level, i64 s, i64 k, state v)
{
    int at = (int)s * row_places(d, level) + (int)k;
    for (int l = 0; l < level; l++) at += d.rows * row_places(d, l);
    if (lane_index() == 0) publish_state(d.words, at, v, *d.epoch);
}

/* Polls until the nodes to the left of tile k are published. After: for each level to `top`,
 * v[level] is the node whose number is the lane, in the lanes below the tile's digit of that level;
 * in the others it is `node`. All are polled together, because one access takes almost a
 * microsecond; then only those that are missing, because polls delay the loads of elements. */
fn void neighbours(node_table d, i64 s, i64 k, int top, state node, state *v)
{
    const int lane = lane_index();
    const u64 epoch = *d.epoch;
    int missing = 0, base = 0, place[STATUS_LEVELS]; /* bit l of missing: of level l */

    FOR(l, STATUS_LEVELS) {
        const int number = (int)k >> (RADIX_LOG * l);
        missing |= (l <= top && lane < (number & 31)) << l;
        place[l] = base + (int)s * row_places(d, l) + (number & ~31) + lane;
        base += d.rows * row_places(d, l);
        v[l] = node;
    }
    while (missing) {
        int awaited = 0;
        FOR(l, STATUS_LEVELS) {
            if (missing >> l & 1)
                awaited |= (state_missing(d.words, place[l], &v[l], epoch) != 0) << l;
        }
        missing = awaited;
    }
}

/* The number of levels whose group ends with tile k. */
fn int groups_ended(i64 k)
{
    int ends = 0;
    while ((k >> (RADIX_LOG * ends) & 31) == 31) ends++;
    return ends;
}

/* Publishes the nodes of the groups that tile k ends. node: the tile's node, published already.
 * Returns the node of the largest group. */
fn state publish_groups(node_table d, i64 s, i64 k, state node, LOCAL state *box)
{
    const int ends = groups_ended(k);
    state left[5], v[STATUS_LEVELS];
    if (!ends) return node;

    neighbours(d, s, k, ends - 1, node, v);
    FOR(l, STATUS_LEVELS) {
        if (l >= ends) continue;
        node = row_node_s(choose(lane_index() == 31, node, v[l]),
                          (i64)1 << (TILE_LOG + RADIX_LOG * l), left, box);
        publish_node(d, l + 1, s, k >> (RADIX_LOG * (l + 1)), node);
    }

    return node;
}

/* ---- the roles; all warps of a block are in turn i at the same time ---- */

/* Ring buffers that the three roles share, indexed by the turn in which a tile is scanned. TAKEN,
 * NODES_KEPT and PAIR are powers of two. */
enum { TAKEN = 8, NODES_KEPT = 4, PAIR = 2 };

typedef struct {
    i64 taken[TAKEN];                    /* numbers of the tiles; jobs or more: no tile */
    state nodes[NODES_KEPT][TILE_WARPS]; /* nodes of a tile's parts */
    /* the node of the largest group that a tile ends, or the tile's own */
    state posted[PAIR];
    state before[PAIR], after[PAIR]; /* S before a tile; S after it, if it is full */
    int exists[PAIR];                /* 0: `before` is none */
    u64 epoch;
} rings;

#define RING(ring, size, turn) (ring)[(turn) & (size - 1)]

/* The arguments of a launch. */
typedef struct {
    batch b;
    results out;
    node_table d;
    GLOBAL u64 *table; /* its head counts tickets */
    seeding seeds;
    i64 jobs, last; /* last: the number of the launch's last ticket */
    int single;     /* each block has one tile */
    LOCAL state *box;
    LOCAL u8 *stages; /* the elements of STAGES tiles */
} task;

/* Job number `job`: tile k of sequence s. */
typedef struct {
    i64 s, k;
} scan_tile;

fn scan_tile tile_of(task t, i64 job)
{
    scan_tile p;
    p.s = t.b.seqs == 1 ? 0 : job / t.d.tiles;
    p.k = job - p.s * t.d.tiles;
    return p;
}

fn int is_full(task t, scan_tile p) { return (p.k + 1) << TILE_LOG <= t.b.n; }

/* The look-back: S before a tile, and after it if the tile is full. node: the result of
 * publish_groups. A warp of its own, so that the publisher never waits for it. */
fn void look_back(task t, scan_tile p, state node, maybe *before, maybe *after, LOCAL state *box)
{
    const i64 k = p.k, origin = t.b.p.origin;
    const int ends = is_full(t, p) ? groups_ended(k) : 0,
              top = t.d.levels > ends ? t.d.levels : ends;
    maybe start = initial(t.seeds, p.s, t.b.p);
    state left[STATUS_LEVELS][5], v[STATUS_LEVELS];
    /* Small states: the exchanges of all levels overlap. Larger states have too few registers for
     * that. */
    const int together = sizeof(state) <= 4;

    neighbours(t.d, p.s, k, top, node, v);
    *after = start;
    UNROLL for (int level = STATUS_LEVELS - 1; together && level >= 0; level--)
        row_node_s(v[level], (i64)1 << (TILE_LOG + RADIX_LOG * level), left[level], box);

    UNROLL for (int level = STATUS_LEVELS - 1; level >= 0; level--)
    {
        if (level > top) continue;
        const int log = TILE_LOG + RADIX_LOG * level; /* of the elements of a node */
        if (!together) row_node_s(v[level], (i64)1 << log, left[level], box);
        maybe starts =
            row_start_s(start, origin + (k >> RADIX_LOG * (level + 1) << RADIX_LOG << log),
                        (i64)1 << log, left[level]);
        const int digit = (int)(k >> (RADIX_LOG * level) & 31);

        if (level == ends) {
            after->s = from_lane(starts.s, (digit + 1) & 31, box);
            after->exists = 1;
        }

        start.s = from_lane(starts.s, digit, box);
        start.exists = start.exists || digit > 0;
    }

    *before = start;
}

/* Takes tile i + 4; publishes the node of tile i + 2 and of the groups that it ends. If each block
 * has one tile, it takes a ticket in the last turn only, which counts the blocks. */
fn void publish_turn(task t, LOCAL rings *r, int i, LOCAL state *box)
{
    const int lane = lane_index();
    const i64 later = i >= -2 ? RING(r->taken, TAKEN, i + 2) : t.jobs;
    const scan_tile p = tile_of(t, later);
    const int full = later < t.jobs && is_full(t, p);
    i64 more = t.jobs; /* used at the end only, because the atomic takes a while */

    if (lane == 0 && i == -STAGES) r->epoch = begin_epoch(t.table);
    if (lane == 0 && (!t.single || i == 0)) more = (i64)atomicAdd(t.table, (u64)1);
    state v = RING(r->nodes, NODES_KEPT, i + 2)[lane & (TILE_WARPS - 1)];
    UNROLL for (int m = 1; m < TILE_WARPS; m <<= 1) v =
        meet(v, exchange(v, m, box), (lane & m) != 0, m * SINGLE_ITEMS);

    if (full) {
        publish_node(t.d, 0, p.s, p.k, v);
        v = publish_groups(t.d, p.s, p.k, v, box);
    }

    if (lane == 0) RING(r->posted, PAIR, i) = v, RING(r->taken, TAKEN, i + 4) = more;
    if (lane == 0 && more == t.last) end_epoch(t.table, r->epoch);
}

/* Computes S before and after tile i + 1. */
fn void look_back_turn(task t, LOCAL rings *r, int i, LOCAL state *box)
{
    const i64 job = i >= -1 ? RING(r->taken, TAKEN, i + 1) : t.jobs;
    if (job >= t.jobs) return;

    const scan_tile p = tile_of(t, job);
    maybe before, after;
    look_back(t, p, RING(r->posted, PAIR, i + 1), &before, &after, box);
    if (lane_index() == 0) {
        RING(r->before, PAIR, i + 1) = before.s, RING(r->exists, PAIR, i + 1) = before.exists;
        RING(r->after, PAIR, i + 1) = after.s;
    }
}

/* The scan of a worker's part of tile i. before: gets S before it. */
fn chunk_scan chunk_of(task t, const LOCAL rings *r, int i, int warp, maybe *before)
{
    const scan_tile p = tile_of(t, RING(r->taken, TAKEN, i));
    chunk_scan c;
    state left[5];
    maybe tile;

    tile.s = RING(r->before, PAIR, i), tile.exists = RING(r->exists, PAIR, i);
    const state node = RING(r->nodes, NODES_KEPT, i)[lane_index() & (TILE_WARPS - 1)];
    row_node_s(node, SINGLE_ITEMS, left, t.box); /* lane k has the node of part k */
    const maybe starts = row_start_s(tile, t.b.p.origin + (p.k << TILE_LOG), SINGLE_ITEMS, left);
    before->s = from_lane(starts.s, warp, t.box);
    before->exists = tile.exists || warp > 0;

    c.b = t.b, c.out = t.out, c.s = p.s, c.n = t.b.n;
    c.at = (p.k << TILE_LOG) + warp * SINGLE_ITEMS;
    c.exclusive = t.seeds.exclusive, c.last = SINGLE_ITEMS / ROW_e - 1;
    c.after = from_lane(starts.s, (warp + 1) & 31, t.box);
    if (warp == TILE_WARPS - 1) c.after = RING(r->after, PAIR, i);

    return c;
}

/* Loads the elements of a part of tile i + 3, scans tile i, stores the loaded elements in its
 * place, and folds them. nodes: before, the lane's nodes of tiles i, i + 1, i + 2; after, of i + 1,
 * i + 2, i + 3. e: registers. The caller declares the arrays, because the compiler spills less that
 * way. */
fn void worker(task t, LOCAL rings *r, int i, state *nodes, int warp, held e)
{
    LOCAL state *const box = t.box;
    LOCAL u8 *const part = t.stages + ((i + STAGES) % STAGES * TILE_WARPS + warp) * PART_BYTES;
    const i64 next = RING(r->taken, TAKEN, i + 3);
    const scan_tile p = tile_of(t, next);
    const i64 at = (p.k << TILE_LOG) + warp * SINGLE_ITEMS;
    const int some = next < t.jobs && at < t.b.n;
    const i64 start = start_of(t.b, p.s);
    const int loaded = some ? load_part(e, t.b, start, at) : 0;

    if (i >= 0) {
        maybe before;
        const chunk_scan c = chunk_of(t, r, i, warp, &before);
        if (c.at < t.b.n) part_scan(c, part, before, nodes[0], box);
        WARP_BARRIER();
    }

    UNROLL for (int k = 1; k < STAGES; k++) nodes[k - 1] = nodes[k];
    if (!some) return;

    put_part(part, e, loaded, t.b, start, at);
    WARP_BARRIER();
    nodes[STAGES - 1] = lane_node(part, t.b, at);
    const state node = part_node(part, nodes[STAGES - 1], t.b, at, box);
    if (lane_index() == 0) RING(r->nodes, NODES_KEPT, i + 3)[warp] = node;
}

KERNEL_OF(scan_single)
{
    VIEWS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    BOX SHARED rings r;
    state nodes[STAGES];
    const int warp = thread_index() / LANES;
    task t;
    t.b = b, t.out = out, t.table = status_table, t.seeds = seeds;
    t.jobs = jobs, t.single = group_count() == jobs;
    t.last = t.single ? jobs - 1 : jobs + (STAGES + 1) * group_count() - 1;
    t.box = box, t.stages = LOCAL_MEMORY;
    t.d.words = status_table + STATUS_HEADER / 8, t.d.epoch = &r.epoch, t.d.rows = (int)b.seqs,
    t.d.tiles = (int)tiles, t.d.levels = (int)levels;

    if (thread_index() == TILE_WARPS * LANES)
        r.taken[0] = t.single ? group_index() : (i64)atomicAdd(status_table, (u64)1);
    BARRIER();

    for (int i = -STAGES; i < 0 || RING(r.taken, TAKEN, i) < jobs; i++) {
        if (warp == TILE_WARPS) {
            publish_turn(t, &r, i, box);
        } else if (warp > TILE_WARPS) {
            look_back_turn(t, &r, i, box);
        } else {
            held e;
            worker(t, &r, i, nodes, warp, e);
        }

        BARRIER();
    }
}
