/* SPDX-License-Identifier: MIT
 * Scan of columns in one launch that reads every element once (CUDA): look-back with a lane for
 * each column.
 *
 * A tile is 32 columns wide. Each of its 8 warps holds DOWN_ROWS rows of it in registers, one
 * column per lane. Write the tile's number in base 8. The prefix S before the tile is a fold of
 * published nodes: those above it among 8 tiles, those among 8 groups of 8 tiles, and so on. Warp w
 * polls for node w of every level, all at once. The last warp publishes the tile's node and the
 * nodes of the groups that the tile ends. Only fixed nodes of the tree are combined, so block order
 * does not affect results. Tiles are taken from a counter, one row of tiles after the other, so a
 * block only waits for blocks that run already. */
enum { DOWN_TILE = DOWN_ROWS * TILE_WARPS, DOWN_GROUPS = DOWN_ROWS / DOWN };

/* Published nodes: [level][number][column]. */
typedef struct {
    GLOBAL u64 *words;
    u64 epoch;
    i64 tiles, width; /* tiles of a column; columns, rounded up to a multiple of 32 */
} column_status;

fn i64 place_of(column_status d, int level, i64 number, i64 column)
{
    i64 at = number;
    for (int l = 0; l < level; l++) at += (d.tiles >> (COLUMN_LOG * l)) + 1;
    return at * d.width + column;
}

fn void publish_node(column_status d, int level, i64 number, i64 column, state v)
{
    publish_state(d.words, place_of(d, level, number, column), v, d.epoch);
}

/* Shared by the warps of a block. nodes[level][digit]: the nodes above the tile; at the tile's own
 * digit, the node that the tile ends. */
typedef struct {
    state warps[TILE_WARPS][LANES], nodes[COLUMN_LEVELS][TILE_WARPS][LANES];
    i64 job;
    u64 epoch;
} down_memory;

fn int digit_of(i64 k, int level) { return (int)(k >> (COLUMN_LOG * level)) & (TILE_WARPS - 1); }

/* Polls for the nodes with number `warp` on every level, and puts them into room->nodes. levels:
 * levels of the look-back. */
fn void poll_nodes(column_status d, LOCAL down_memory *memory, int warp, i64 k, i64 column,
                   int levels)
{
    state v[COLUMN_LEVELS];
    int waiting = 1;

    while (waiting) {
        waiting = 0;
        UNROLL for (int l = 0; l < COLUMN_LEVELS; l++)
        {
            if (l >= levels || warp >= digit_of(k, l)) continue;
            const i64 number = (k >> (COLUMN_LOG * l) & ~(i64)(TILE_WARPS - 1)) + warp;
            waiting |= state_missing(d.words, place_of(d, l, number, column), &v[l], d.epoch);
        }
    }

    UNROLL for (int l = 0; l < COLUMN_LEVELS; l++)
    {
        if (l < levels && warp < digit_of(k, l)) memory->nodes[l][warp][lane_index()] = v[l];
    }
}

/* Returns S after v and `count` < 8 nodes of n elements; x[k][lane]: the lane's node k. v has
 * `done` elements. */
fn maybe append_nodes(maybe v, amount done, LOCAL state (*x)[LANES], int count, amount n)
{
    const int lane = lane_index();
#undef ITEM
#define ITEM(k) x[k][lane]
    APPEND(v, done, ITEM, count, n)
    return v;
}

/* Computes and publishes the nodes that end with tile k, on the levels above 0. */
fn void publish_ended(column_status d, LOCAL down_memory *memory, i64 k, i64 column)
{
    const int lane = lane_index();
    ROLLED for (int l = 0; l + 1 < COLUMN_LEVELS && digit_of(k, l) == TILE_WARPS - 1; l++)
    {
        const amount n = (amount)((i64)DOWN_TILE << (COLUMN_LOG * l));
#undef ITEM
#define ITEM(j) memory->nodes[l][j][lane]
        const state v = NODE_8(ITEM, 0, n);
        memory->nodes[l + 1][digit_of(k, l + 1)][lane] = v;
        publish_node(d, l + 1, k >> (COLUMN_LOG * (l + 1)), column, v);
    }
}

/* Returns S before tile k, or after it if `after` is set. */
fn maybe tile_start(LOCAL down_memory *memory, maybe v, i64 k, int levels, int after, amount origin)
{
    int ends = -1;
    if (after) ends = 0;
    while (after && digit_of(k, ends) == TILE_WARPS - 1) ends++;
    ROLLED for (int l = ends < levels ? levels - 1 : ends; l >= 0 && l >= ends; l--)
    {
        const int log = COLUMN_LOG * l, own = l == ends, digit = digit_of(k, l);
        const amount done = origin + (k >> log >> COLUMN_LOG << COLUMN_LOG << log) * DOWN_TILE;
        v = append_nodes(v, done, memory->nodes[l], digit + own, (amount)((i64)DOWN_TILE << log));
    }
    return v;
}

/* Stores the lane's results of its `count` elements e from index `at` on. v: S before them; after:
 * S after all of them. */
fn void scan_strip(column_results to, const elem *e, int count, i64 at, maybe v, maybe after)
{
    const par p = to.p;
    const amount done = p.origin + at;
    maybe now = v;
    state first;

    UNROLL for (int g = 0; g < DOWN_GROUPS; g++)
    {
        maybe w[DOWN + 1];
        state node;
        w[0] = now;
        scan_eight(w, &node, e + g * DOWN, at + g * DOWN, p);

        if (g == DOWN_GROUPS - 1)
            now = after;
        else if (g == 0)
            now = then(v, node, done, DOWN), first = node;
        else if (g == 1)
            now = then(v, TWIN(first, node, DOWN), done, 2 * DOWN);
        else
            now = then(now, node, done + 2 * DOWN, DOWN);
        w[DOWN] = now;
        store_down(to, count - g * DOWN, w, at + g * DOWN);
        to.to += DOWN * to.step;
    }
}

/* Takes the block's next job, and reads the epoch. For one thread. Each block takes one ticket more
 * than it has tiles. */
fn void take_job(LOCAL down_memory *memory, GLOBAL u64 *table, i64 jobs)
{
    const u64 epoch = begin_epoch(table);
    memory->job = (i64)atomicAdd(table, (u64)1);
    memory->epoch = epoch;
    if (memory->job == jobs + group_count() - 1) end_epoch(table, epoch);
}

#define TILED_PARAMETERS PARAMETERS_OF(TILED)
KERNEL_OF(scan_down)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    SHARED down_memory memory;
    const int lane = lane_index(), warp = thread_index() / LANES;
    const i64 strips = (b.seqs + LANES - 1) / LANES, step = b.stride * TL_SIZE;
    column_results to;
    to.step = out.stride * (i64)(OP_LANES * sizeof(result)), to.exclusive = exclusive, to.p = b.p;
    column_status d;
    d.words = status_table + STATUS_HEADER / 8, d.tiles = tiles, d.width = strips * LANES;

    for (;;) {
        if (thread_index() == 0) take_job(&memory, status_table, jobs);
        BARRIER();
        const i64 job = memory.job;
        if (job >= jobs) return;
        d.epoch = memory.epoch;
        const i64 k = job / strips, column = (job - k * strips) * LANES + lane;
        const i64 s = column < b.seqs ? column : b.seqs - 1, at = k * DOWN_TILE + warp * DOWN_ROWS;
        const i64 left = b.n - at < DOWN_ROWS ? b.n - at : DOWN_ROWS;
        const int full = (k + 1) * DOWN_TILE <= b.n;
        elem e[DOWN_ROWS];
        state stack[8];
        int top = 0;
        if (left > 0)
            load_down(e, DOWN_ROWS, b.x + (start_of(b, s) + at * b.stride) * TL_SIZE, step, left);
        UNROLL for (int i = 0; i < DOWN_ROWS; i++)
        {
            stack[top++] = lift_e(e[i], at + i, b.p);
            UNROLL for (int n = 1; i & n; n <<= 1) top--,
                stack[top - 1] = TWIN(stack[top - 1], stack[top], n);
        }

        memory.warps[warp][lane] = stack[0];
        BARRIER();

        if (warp < TILE_WARPS - 1) {
            poll_nodes(d, &memory, warp, k, column, (int)levels);
        } else {
#undef ITEM
#define ITEM(j) memory.warps[j][lane]
            const state own = NODE_8(ITEM, 0, DOWN_ROWS);
            if (full) publish_node(d, 0, k, column, own);
            memory.nodes[0][digit_of(k, 0)][lane] = own;
        }

        BARRIER();
        const int last = warp == TILE_WARPS - 1;
        if (last && full) publish_ended(d, &memory, k, column);
        const maybe first = initial(seeds, s, b.p);
        const maybe start = tile_start(&memory, first, k, (int)levels, 0, b.p.origin);
        const amount done = b.p.origin + k * DOWN_TILE;
        const maybe v = append_nodes(start, done, memory.warps, warp, DOWN_ROWS);
        maybe after = v; /* not used if the strip is not full */

        if (!last)
            after = append_nodes(start, done, memory.warps, warp + 1, DOWN_ROWS);
        else if (full)
            after = tile_start(&memory, first, k, (int)levels, 1, b.p.origin);
        to.to = place(out, b, s, at);
        if (column < b.seqs && left > 0) scan_strip(to, e, (int)left, at, v, after);
    }
}
