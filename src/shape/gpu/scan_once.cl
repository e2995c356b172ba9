/* SPDX-License-Identifier: MIT
 * scan of dense long sequences in one launch that reads every element once (Merrill and Garland 2016, decoupled look-back), with
 * fixed nodes instead of running sums, so that it does not matter who comes first.
 *
 * A tile is 8 chunks (of elements of 8 bytes: half chunks), one a warp; a ninth warp looks back. With a tile's number in base 32, S before it is a fold of nodes that
 * others have posted: its left neighbours among 32 tiles, those among 32 groups of 32 tiles, and so on: at most 31 of each level, all
 * asked for at once. The tile that ends a group posts the group's node.
 *
 *   workers      tile i + 2: elements into registers | tile i: scan, out of local memory | tile i + 2: node, into local memory
 *   ninth warp   tile i + 1: post its node, S before it and after it | take the number of tile i + 3
 *
 * So nodes are posted long before they are asked for. Tiles are taken from a counter: whoever waits, waits for groups that run.
 * The counter and the flags are never cleared: ticket0 and epoch tell this call's from those before it. */
#if defined(TL_CUDA) && ONCE_BLOCKS
#if TL_SIZE == 8
#define PART(name) name##_h
enum { ROWS_P = 4 };
#else
#define PART(name) name##_e
enum { ROWS_P = 8 };
#endif
enum { TILE_WARPS = 8, TILE_LOG = TL_SIZE == 8 ? 12 : 13, RADIX_LOG = 5 };

typedef struct {
    GLOBAL state *nodes; /* [level][row][number], as flags */
    GLOBAL u32 *flags;
    u32 epoch;
    i64 rows, tiles;
    int levels;
} board;
/* Node k of a level of row s. */
fn i64 place_on(board d, int level, i64 s, i64 k)
{
    i64 at = 0;
    for (int l = 0; l < level; l++) at += d.rows * ((d.tiles >> (RADIX_LOG * l)) + 1);
    return at + s * ((d.tiles >> (RADIX_LOG * level)) + 1) + k;
}
fn void post(board d, i64 at, state v)
{
    if (lane_index() == 0) {
        d.nodes[at] = v;
        set_flag(d.flags + at, d.epoch);
    }
}
/* The left neighbours of node k in its group of 32, in the lanes of their numbers; `mine` in the others. */
fn state neighbours(board d, int level, i64 s, i64 k, state mine)
{
    const int lane = lane_index();
    if (lane < (int)(k & 31)) {
        i64 at = place_on(d, level, s, (k & ~(i64)31) + lane);
        while (get_flag(d.flags + at) != d.epoch) {}
        mine = d.nodes[at];
    }
    return mine;
}

/* Posts `own`, the node of tile k (if it is full), and the groups it ends; S before the tile, and if it is full after it. */
fn void look_back(board d, i64 s, i64 k, int full, state own, maybe start, maybe *before, maybe *after, LOCAL state *box)
{
    state left[5];
    int ends = 0; /* groups that end here: as many levels */
    if (full) post(d, place_on(d, 0, s, k), own);
    while (full && (k >> (RADIX_LOG * ends) & 31) == 31) {
        own = row_node_s(neighbours(d, ends, s, k >> (RADIX_LOG * ends), own), left, box);
        ends++;
        post(d, place_on(d, ends, s, k >> (RADIX_LOG * ends)), own);
    }
    *after = start;
    for (int level = d.levels > ends ? d.levels : ends; level >= 0; level--) {
        const i64 at = k >> (RADIX_LOG * level);
        row_node_s(neighbours(d, level, s, at, own), left, box);
        maybe mine = row_start_s(start, left);
        const int digit = (int)(at & 31);
        if (level == ends) {
            after->s = from_lane(mine.s, (digit + 1) & 31, box);
            after->have = 1;
        }
        start.s = from_lane(mine.s, digit, box);
        start.have = start.have || digit > 0;
    }
    *before = start;
}

/* A worker's chunk of tile i, out of its own place in local memory. */
fn void scan_chunk(results out, batch b, i64 s, i64 at, const LOCAL quad *stage, maybe before, state after_tile, state node, int warp,
                   i64 exclusive, LOCAL state *box)
{
    maybe rows[ROWS_E + 1];
    state stack[LOG_ROWS_E + 1], left[5];
    row_node_s(node, left, box); /* lane c: the node of chunk c of the tile */
    maybe mine = row_start_s(before, left);
    rows[0].s = from_lane(mine.s, warp, box);
    rows[0].have = before.have || warp > 0;
    state after = from_lane(mine.s, (warp + 1) & 31, box);
    if (warp == TILE_WARPS - 1) after = after_tile;
    UNROLL for (int r = 0; r < ROWS_P; r++)
    {
        elem x[QUAD];
        put_quad(x, stage[r * LANES]);
        scan_row(out, b, s, at, b.n, x, r, rows, stack, after, ROWS_P - 1, exclusive, box);
    }
}

KERNEL_BLOCKS(scan_once, 288, ONCE_BLOCKS)
(BATCH_PARAMETERS, RESULTS_PARAMETERS, GLOBAL state *nodes, GLOBAL u64 *ticket, i64 ticket0, i64 epoch, i64 tiles,
 i64 levels, i64 jobs, i64 exclusive, i64 seeded, GLOBAL const result *init ROOM_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED i64 taken[4]; /* tile numbers, by i % 4 */
    SHARED state chunks[3][TILE_WARPS], starts[2], ends[2];
    SHARED int have[2];
    const int lane = lane_index(), warp = thread_index() / LANES;
    board d;
    d.nodes = nodes, d.flags = (GLOBAL u32 *)(ticket + 2), d.epoch = (u32)epoch, d.rows = b.seqs, d.tiles = tiles, d.levels = (int)levels;

    if (thread_index() == TILE_WARPS * LANES) taken[0] = (i64)atomicAdd(ticket, (u64)1) - ticket0;
    BARRIER();
    for (int i = -2; i < 0 || taken[i & 3] < jobs; i++) {
        if (warp == TILE_WARPS) {
            const i64 job = i >= -1 ? taken[(i + 1) & 3] : jobs;
            u64 more = 0;
            if (lane == 0) more = atomicAdd(ticket, (u64)1);
            if (job < jobs) {
                const i64 s = b.seqs == 1 ? 0 : job / tiles, k = job - s * tiles;
                state v = chunks[(i + 1) % 3][lane & (TILE_WARPS - 1)];
                maybe before, after;
                UNROLL for (int m = 1; m < TILE_WARPS; m <<= 1) v = meet(v, exchange(v, m, box), (lane & m) != 0);
                look_back(d, s, k, (k + 1) << TILE_LOG <= b.n, v, initial(seeded, init, b.p), &before, &after, box);
                if (lane == 0) starts[(i + 1) & 1] = before.s, have[(i + 1) & 1] = before.have, ends[(i + 1) & 1] = after.s;
            }
            if (lane == 0) taken[(i + 3) & 3] = (i64)more - ticket0;
        } else {
            elem e[ROWS_P][QUAD];
            const i64 next = taken[(i + 2) & 3], s = b.seqs == 1 ? 0 : next / tiles;
            const i64 at = ((next - s * tiles) << TILE_LOG) + warp * PART(CHUNK);
            const int some = next < jobs && at < b.n;
            if (some) PART(load)(e, b, start_of(b, s), at, b.n);
            LOCAL quad *stage = (LOCAL quad *)ROOM_OF_PARAMETER + ((i & 1) * TILE_WARPS + warp) * ROWS_P * LANES + lane;
            if (i >= 0) {
                const i64 job = taken[i & 3], row = b.seqs == 1 ? 0 : job / tiles;
                maybe before;
                before.s = starts[i & 1], before.have = have[i & 1];
                scan_chunk(out, b, row, ((job - row * tiles) << TILE_LOG) + warp * PART(CHUNK), stage, before, ends[i & 1],
                           chunks[i % 3][lane & (TILE_WARPS - 1)], warp, exclusive, box);
            }
            if (some) {
                state v[ROWS_P];
                PART(fold_items)(v, e, b, at, PART(CHUNK), box);
                v[0] = PART(fold_lanes)(v[0], box);
                if (lane == 0) chunks[(i + 2) % 3][warp] = v[0];
                UNROLL for (int r = 0; r < ROWS_P; r++)
                {
                    quad q;
                    q.x = e[r][0], q.y = e[r][1], q.z = e[r][2], q.w = e[r][3];
                    stage[r * LANES] = q;
                }
            }
        }
        BARRIER();
    }
}
#endif
