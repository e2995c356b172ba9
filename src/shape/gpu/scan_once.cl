/* SPDX-License-Identifier: MIT
 * scan of dense long sequences in one launch that reads every element once (Merrill and Garland 2016, decoupled look-back), with
 * fixed nodes instead of running sums, so that it does not matter who comes first.
 *
 * A tile is 8 chunks (of wide elements or states: half chunks), one a warp; a ninth warp posts, a tenth looks back. With a tile's number in base 32, S before it is a fold of nodes that
 * others have posted: its left neighbours among 32 tiles, those among 32 groups of 32 tiles, and so on: at most 31 of each level, all
 * asked for at once. The tile that ends a group posts the group's node.
 *
 *   workers      tile i + 3: elements into registers | tile i: scan, out of local memory | tile i + 3: node, into local memory
 *   ninth warp   tile i + 2: post its node | tile i + 2: post the groups it ends
 *   tenth warp   tile i + 1: S before it and after it
 *
 * So nodes are posted long before they are asked for. Tiles are taken from a counter: whoever waits, waits for groups that run.
 * The counter and the board are never cleared: ticket0 and epoch tell this call's from those before it. */
#if defined(TL_CUDA) && ONCE_BLOCKS
#if ONCE_LOG == 12
#define PART(name) name##_h
enum { ROWS_P = 4 };
#else
#define PART(name) name##_e
enum { ROWS_P = 8 };
#endif
enum { TILE_LOG = ONCE_LOG };

/* Posted nodes: [level][row][number][piece], a piece being 8 bytes of a state and the epoch. */
enum { PIECES = (sizeof(state) + 7) / 8 };
typedef union {
    state s;
    u64 piece[PIECES];
} pieces;
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
    pieces u;
    GLOBAL u64 *to = d.words + (i64)place_on(d, level, s, k) * (2 * PIECES);
    u.piece[PIECES - 1] = 0;
    u.s = v;
    if (lane_index() == 0) {
        UNROLL for (int c = 0; c < PIECES; c++) post_word(to + 2 * c, u.piece[c], d.epoch);
    }
}
/* What others posted to the left of tile k: v[level] is, in the lanes below the digit of that level, the node with the lane's number,
 * and `own` in the others; levels from 0 to `top`. All are asked for at once: an answer takes the best part of a microsecond. */
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
            GLOBAL const u64 *from = d.words + (i64)place_on(d, l, s, (number & ~(i64)31) + lane) * (2 * PIECES);
            pieces u;
            UNROLL for (int c = 0; c < PIECES; c++) waiting |= look_word(from + 2 * c, &u.piece[c]) != d.epoch;
            v[l] = u.s;
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
/* Posts the nodes of the groups that tile k ends; own: the tile's node, posted before. The node of the largest. */
fn state post_groups(board d, i64 s, i64 k, state own, LOCAL state *box)
{
    const int ends = groups_ended(k);
    state left[5], v[BOARD_LEVELS];
    if (!ends) return own;
    neighbours(d, s, k, ends - 1, own, v);
    UNROLL for (int l = 0; l < BOARD_LEVELS; l++)
    {
        if (l >= ends) continue;
        own = row_node_s(choose(lane_index() == 31, own, v[l]), left, box);
        post(d, l + 1, s, k >> (RADIX_LOG * (l + 1)), own);
    }
    return own;
}
/* S before tile k, and after it if it is full; own: what post_groups gave. (By the ninth warp too, this was what all waited for: f64 0.60 of
 * a copy instead of 0.77.) */
fn void look_back(board d, i64 s, i64 k, int full, state own, maybe start, maybe *before, maybe *after, LOCAL state *box)
{
    const int ends = full ? groups_ended(k) : 0, top = d.levels > ends ? d.levels : ends;
    state left[BOARD_LEVELS][5], v[BOARD_LEVELS];
    const int together = sizeof(state) <= 4; /* the levels' exchanges side by side: 2^20 f32 6 % faster; 2^27 f64, with its registers, 16 % slower */
    neighbours(d, s, k, top, own, v);
    *after = start;
    UNROLL for (int level = BOARD_LEVELS - 1; together && level >= 0; level--) row_node_s(v[level], left[level], box);
    UNROLL for (int level = BOARD_LEVELS - 1; level >= 0; level--)
    {
        if (level > top) continue;
        if (!together) row_node_s(v[level], left[level], box);
        maybe mine = row_start_s(start, left[level]);
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

KERNEL_OF(scan_once)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED i64 taken[8]; /* tile numbers, by i % 8 */
    SHARED state chunks[4][TILE_WARPS], starts[2], ends[2], owns[2]; /* owns: what post_groups gave */
    SHARED int have[2];
    const int lane = lane_index(), warp = thread_index() / LANES;
    board d;
    d.words = ticket + 2, d.epoch = (u64)epoch, d.rows = b.seqs, d.tiles = tiles;
    d.levels = (int)levels;

    if (thread_index() == TILE_WARPS * LANES) taken[0] = (i64)atomicAdd(ticket, (u64)1) - ticket0;
    BARRIER();
    for (int i = -3; i < 0 || taken[i & 7] < jobs; i++) {
        if (warp == TILE_WARPS) {
            const i64 later = i >= -2 ? taken[(i + 2) & 7] : jobs, s = b.seqs == 1 ? 0 : later / tiles, k = later - s * tiles;
            const int full = later < jobs && (k + 1) << TILE_LOG <= b.n;
            u64 more = 0;
            if (lane == 0) more = atomicAdd(ticket, (u64)1);
            state v = chunks[(i + 2) & 3][lane & (TILE_WARPS - 1)];
            UNROLL for (int m = 1; m < TILE_WARPS; m <<= 1) v = meet(v, exchange(v, m, box), (lane & m) != 0);
            if (full) {
                post(d, 0, s, k, v);
                v = post_groups(d, s, k, v, box);
            }
            if (lane == 0) owns[i & 1] = v, taken[(i + 4) & 7] = (i64)more - ticket0;
        } else if (warp > TILE_WARPS) {
            const i64 job = i >= -1 ? taken[(i + 1) & 7] : jobs;
            if (job < jobs) {
                const i64 s = b.seqs == 1 ? 0 : job / tiles, k = job - s * tiles;
                const int full = (k + 1) << TILE_LOG <= b.n;
                maybe before, after;
                look_back(d, s, k, full, owns[(i + 1) & 1], initial(seeded, init, s, b.p), &before, &after, box);
                if (lane == 0) starts[(i + 1) & 1] = before.s, have[(i + 1) & 1] = before.have, ends[(i + 1) & 1] = after.s;
            }
        } else {
            elem e[ROWS_P][QUAD];
            const i64 next = taken[(i + 3) & 7], s = b.seqs == 1 ? 0 : next / tiles;
            const i64 at = ((next - s * tiles) << TILE_LOG) + warp * PART(CHUNK);
            const int some = next < jobs && at < b.n;
            if (some) PART(load)(e, b, start_of(b, s), at, b.n);
            LOCAL quad *stage = (LOCAL quad *)ROOM_OF_PARAMETER + ((i + 3) % 3 * TILE_WARPS + warp) * ROWS_P * LANES + lane;
            if (i >= 0) {
                const i64 job = taken[i & 7], row = b.seqs == 1 ? 0 : job / tiles;
                maybe before;
                before.s = starts[i & 1], before.have = have[i & 1];
                scan_chunk(out, b, row, ((job - row * tiles) << TILE_LOG) + warp * PART(CHUNK), stage, before, ends[i & 1],
                           chunks[i & 3][lane & (TILE_WARPS - 1)], warp, exclusive, box);
            }
            if (some) {
                state v[ROWS_P];
                PART(fold_quads)(v, e, b, at, PART(CHUNK));
                PART(fold_across)(v, box);
                v[0] = PART(fold_lanes)(v[0], box);
                if (lane == 0) chunks[(i + 3) & 3][warp] = v[0];
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
