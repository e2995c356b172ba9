/* SPDX-License-Identifier: MIT
 * Scan of columns in one launch that reads every element once (CUDA): look-back with a lane for
 * each column, or, of few columns, for each part of a column (columns.cl).
 *
 * A tile is 2^log columns wide. Each of its 8 warps has a strip of DOWN_ROWS rows of every part in
 * local memory. The rows of a table of up to 32 columns lie one after the other: a warp copies them
 * to local memory and back 16 bytes at a time.
 *
 * Write the tile's number in base 8. The prefix S before the tile is a fold of published nodes:
 * those above it among 8 tiles, those among 8 groups of 8 tiles, and so on. Warp w polls for node w
 * of every level. The last warp publishes the tile's node and the nodes of the groups that the tile
 * ends. For these nodes only lower levels are awaited, so no group waits for the group before it.
 * Only fixed nodes of the tree are combined, so block order does not affect results. Tiles are
 * taken from a counter, one row of tiles after the other, so a block only waits for blocks that run
 * already. */
enum { DOWN_GROUPS = DOWN_ROWS / DOWN };

/* Published nodes: [level][number][column]. */
typedef struct {
    GLOBAL u64 *words;
    LOCAL const u64 *epoch;
    i64 tiles, width; /* tiles of a column; columns, rounded up to whole tiles */
    i64 rows, origin; /* rows of a tile; par.origin */
    int levels;
} column_status;

fn i64 place_of(column_status d, int level, i64 number, i64 column)
{
    i64 at = number;
    for (int l = 0; l < level; l++) at += (d.tiles >> (COLUMN_LOG * l)) + 1;
    return at * d.width + column;
}

fn void publish_node(column_status d, int level, i64 number, i64 column, state v)
{
    publish_state(d.words, place_of(d, level, number, column), v, *d.epoch);
}

/* Shared by the warps of a block. nodes[level][digit]: the nodes above the tile; at the tile's own
 * digit, the node that the tile ends. */
typedef struct {
    u64 epoch;
    u32 job; /* jobs are fewer than the words of the status table */
    state warps[TILE_WARPS][LANES], nodes[COLUMN_LEVELS][TILE_WARPS][LANES];
} down_memory;

fn int digit_of(i64 k, int level) { return (int)(k >> (COLUMN_LOG * level)) & (TILE_WARPS - 1); }

/* The levels above 0 whose nodes tile k ends. */
fn int ended_levels(i64 k)
{
    int l = 0;
    while (digit_of(k, l) == TILE_WARPS - 1) l++;
    return l;
}

/* Tile k of 2^log columns. full: no row is missing; ended: levels above 0 whose nodes end with it;
 * publishes: this lane publishes its column's nodes. */
typedef struct {
    i64 k;
    int log, full, ended, publishes;
} down_tile;

/* Polls for the nodes with number `warp` on the levels from <= l < to, and puts them into
 * memory->nodes. */
fn void poll_nodes(column_status d, LOCAL down_memory *memory, i64 k, i64 column, int from, int to)
{
    const int warp = thread_index() / LANES;
    int missing = 0; /* bit l: of level l */

    for (int l = from; l < to && warp < TILE_WARPS - 1; l++)
        missing |= (warp < digit_of(k, l)) << l;
    while (missing) { /* all loads come before the first wait */
        state v[COLUMN_LEVELS];
        int awaited = 0;
        FOR(l, COLUMN_LEVELS) {
            const i64 number = (k >> (COLUMN_LOG * l) & ~(i64)(TILE_WARPS - 1)) + warp;
            if (missing >> l & 1)
                awaited |= state_missing(d.words, place_of(d, l, number, column), &v[l], *d.epoch)
                           << l;
        }
        FOR(l, COLUMN_LEVELS) {
            if ((missing & ~awaited) >> l & 1) memory->nodes[l][warp][lane_index()] = v[l];
        }
        missing = awaited;
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

/* Publishes the node of a tile, and polls for the nodes above it. As soon as it knows them, it
 * publishes the nodes that end with the tile. */
fn void look_back(column_status d, LOCAL down_memory *memory, down_tile t, i64 column)
{
    const int lane = lane_index(), last = thread_index() / LANES == TILE_WARPS - 1;
    const i64 k = t.k;
    if (last) {
#undef ITEM
#define ITEM(j) memory->warps[j][lane]
        const state tile_node = NODE_8(ITEM, 0, d.rows / TILE_WARPS);
        if (t.publishes) publish_node(d, 0, k, column, tile_node);
        memory->nodes[0][digit_of(k, 0)][lane] = tile_node;
    }
    if (t.ended) {
        poll_nodes(d, memory, k, column, 0, t.ended);
        BARRIER();
    }
    ROLLED for (int l = 0; last && l < t.ended && l + 1 < COLUMN_LEVELS; l++)
    {
#undef ITEM
#define ITEM(j) memory->nodes[l][j][lane]
        const state v = NODE_8(ITEM, 0, (amount)(d.rows << (COLUMN_LOG * l)));
        memory->nodes[l + 1][digit_of(k, l + 1)][lane] = v;
        if (t.publishes) publish_node(d, l + 1, k >> (COLUMN_LOG * (l + 1)), column, v);
    }
    poll_nodes(d, memory, k, column, t.ended, d.levels);
    BARRIER();
}

/* Returns S before tile k; or, if `ends` >= 0, after it, where `ends` levels end with it. v: S
 * before the column. */
fn maybe tile_start(column_status d, LOCAL down_memory *memory, maybe v, i64 k, int ends)
{
    ROLLED for (int l = ends < d.levels ? d.levels - 1 : ends; l >= 0 && l >= ends; l--)
    {
        const int log = COLUMN_LOG * l, with_tile = l == ends, digit = digit_of(k, l);
        const amount done = d.origin + (k >> log >> COLUMN_LOG << COLUMN_LOG << log) * d.rows;
        v = append_nodes(v, done, memory->nodes[l], digit + with_tile, (amount)(d.rows << log));
    }
    return v;
}

/* The prefixes S before and after the lane's part c. first: S before the column; node: the part's
 * node. */
fn void find_starts(column_part *c, column_status d, LOCAL down_memory *memory, down_tile t,
                    maybe first, state node)
{
    const int warp = thread_index() / LANES, rows = (int)d.rows / TILE_WARPS;
    const amount done = d.origin + t.k * d.rows;
    const maybe start = tile_start(d, memory, first, t.k, -1);
    const maybe v = append_nodes(start, done, memory->warps, warp, rows);
    maybe after = v; /* not used if the rows are not full */
    state left[5];

    if (warp < TILE_WARPS - 1)
        after = append_nodes(start, done, memory->warps, warp + 1, rows);
    else if (t.full)
        after = tile_start(d, memory, first, t.k, t.ended);
    fold_parts(left, node, c->size, t.log, 0);
    start_parts(c, v, done + warp * rows, left, t.log, 0);
    if (lane_index() >> t.log == (LANES >> t.log) - 1) c->after = after;
}

/* Loads group g of the elements x of a strip, which lie `line` bytes apart. */
fn void load_group_down(elem *e, LOCAL const u8 *x, int line, int g)
{
    FOR(k, DOWN) e[k] = *(LOCAL const elem *)(x + (g * DOWN + k) * line);
}

/* Returns the node of a strip of `size` elements: DOWN_ROWS or half of them. The first has index
 * `at`. */
fn state fold_strip(LOCAL const u8 *x, int line, i64 at, int size, par p)
{
    state stack[4];
    int top = 0;
    FOR(g, DOWN_GROUPS) {
        elem e[DOWN];
        if (g == DOWN_GROUPS / 2 && size < DOWN_ROWS) break;
        load_group_down(e, x, line, g);
#undef ITEM
#define ITEM(k) lift_e(e[k], at + g * DOWN + (k), p)
        state v = NODE_8(ITEM, 0, 1);
        UNROLL for (int n = 1; g & n; n <<= 1) v = TWIN(stack[--top], v, DOWN * n);
        stack[top++] = v;
    }
    return stack[0];
}

/* Stores the results of part c of a column, whose elements x lie `line` bytes apart. */
fn void scan_strip(column_results to, LOCAL const u8 *x, int line, column_part c)
{
    const par p = to.p;
    maybe start[DOWN_GROUPS + 1];
    state stack[4];

    start[0] = c.start;
    FOR(g, DOWN_GROUPS) {
        elem e[DOWN];
        maybe w[DOWN + 1];
        state node;
        if (g == DOWN_GROUPS / 2 && c.size < DOWN_ROWS) break;
        load_group_down(e, x, line, g);
        w[0] = start[g];
        scan_eight(w, &node, e, c.at + g * DOWN, p);
        next_row_e(start, stack, g, node, p.origin + c.at, DOWN);
        w[DOWN] = (g + 1) * DOWN == c.size ? c.after : start[g + 1];
        store_down(to, c.count - g * DOWN, w, c.at + g * DOWN);
        to.to += DOWN * to.step;
    }
}

/* Copies the strip of a lane, part c of its column, to local memory. */
fn void copy_strip(LOCAL u8 *to, int line, column_part c)
{
    enum { STEP = TL_SIZE < 4 || DOWN_ROWS < 32 ? 16 : 32 };
    ROLLED for (int i = 0; i < c.count; i += STEP)
    {
        elem e[STEP];
        load_down(e, STEP, c.x + i * c.step, c.step, c.count - i);
        FOR(j, STEP) *(LOCAL elem *)(to + (i + j) * line) = e[j];
    }
}

/* Takes the block's next job, and reads the epoch. For one thread. Each block takes one ticket more
 * than it has tiles. */
fn void take_job(LOCAL down_memory *memory, GLOBAL u64 *table, i64 jobs)
{
    const u64 epoch = begin_epoch(table);
    const i64 ticket = (i64)atomicAdd(table, (u64)1);
    memory->job = (u32)ticket, memory->epoch = epoch;
    if (ticket == jobs + group_count() - 1) end_epoch(table, epoch);
}

KERNEL_OF(scan_down)
{
    VIEWS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    LOCAL down_memory *const memory = (LOCAL down_memory *)LOCAL_MEMORY;
    enum { RESULT = OP_LANES * sizeof(result) };
    const int warp = thread_index() / LANES, part = lane_index() >> log, parts = LANES >> log,
              size = (int)rows_each;
    const u32 strips = (u32)((b.seqs + (1 << log) - 1) >> log);
    const int line = (strips == 1 ? (int)b.seqs : 1 << log) * TL_SIZE,
              table = strips == 1 && b.row_stride == 1 && b.stride == b.seqs,
              out_table = RESULT == TL_SIZE && out.row_stride == 1 && out.stride == b.seqs;
    column_part c;
    column_results to;
    column_status d;
    staged_rows r;
    down_tile t;
    to.exclusive = exclusive, to.p = b.p, t.log = (int)log, d.levels = (int)levels;
    c.size = size, c.step = b.stride * TL_SIZE;
    d.words = status_table + STATUS_HEADER / 8, d.epoch = &memory->epoch, d.tiles = tiles;
    d.width = (i64)strips << log, d.rows = size * parts * TILE_WARPS, d.origin = b.p.origin;
    r.parts = parts, r.units = size * line / 16, r.pitch = DOWN_PITCH(size, line, TL_SIZE << log);
    r.at = LOCAL_MEMORY + DOWN_BYTES(sizeof(state)) + warp * parts * r.pitch;

    for (;;) {
        if (thread_index() == 0) take_job(memory, status_table, jobs);
        BARRIER();
        const u32 job = memory->job;
        if (job >= (u32)jobs) return;
        t.k = job / strips, t.full = (t.k + 1) * d.rows <= b.n;
        t.ended = t.full ? ended_levels(t.k) : 0, t.publishes = t.full && part == 0;
        const i64 strip = (job - t.k * strips) << log, column = strip + lane_index() % (1 << log),
                  s = column < b.seqs ? column : b.seqs - 1,
                  first = t.k * d.rows + warp * size * parts;
        LOCAL u8 *const here = r.at + part * r.pitch + (int)(s - strip) * TL_SIZE;
        GLOBAL u8 *const rows = (GLOBAL u8 *)b.x + first * line, *const results_ =
                                                                     out.x + first * line;
        const int whole = table && first + size * parts <= b.n,
                  back = whole && out_table && ADDRESS(results_) % 16 == 0;

        c.at = first + part * size;
        c.count = (int)(b.n - c.at < size ? b.n - c.at : size);
        if (whole && ADDRESS(rows) % 16 == 0) {
            copy_rows(r, rows, lane_index(), LANES, 0);
        } else if (column < b.seqs) {
            c.x = b.x + (start_of(b, s) + c.at * b.stride) * TL_SIZE;
            copy_strip(here, line, c);
        }
        WARP_BARRIER();
        state left[5];
        const state node = fold_strip(here, line, c.at, size, b.p);
        memory->warps[warp][lane_index()] = fold_parts(left, node, size, t.log, 0);
        BARRIER();
        look_back(d, memory, t, column);
        find_starts(&c, d, memory, t, initial(seeds, s, b.p), node);
        to.to = back ? here : place(out, b, s, c.at);
        to.step = back ? line : out.stride * RESULT;
        if (column < b.seqs && c.count > 0) scan_strip(to, here, line, c);
        WARP_BARRIER();
        if (back) copy_rows(r, results_, lane_index(), LANES, 1);
    }
}
