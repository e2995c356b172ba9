/* SPDX-License-Identifier: MIT
 * Scan in one launch of dense sequences whose tiles are all resident at the same time: each block
 * has one tile, and all its elements are in local memory.
 *
 * A tile is 8 shares of 2^more parts; warps 0 to 7 take a share each. A block publishes the node of
 * its tile. Then warp w polls for the nodes of the tiles 32 w to 32 w + 31 to the left of its own.
 * So no tile waits for more than the slowest tile to its left: there are no nodes of groups to
 * publish, as in scan_single.cl, which has more tiles than that. Block numbers are tile numbers,
 * because blocks start in order. */
enum { PART_ROWS = SINGLE_ITEMS / ROW_e };

/* Copies the elements of a part to local memory; complete after COPY_WAIT and WARP_BARRIER. */
fn void load_part(LOCAL quad *to, batch b, i64 start, i64 at)
{
#if !TL_IN_PLACE
    if (at + SINGLE_ITEMS <= b.n && is_packed(b, start + at)) {
        GLOBAL const u8 *const x = b.x + (start + at) * TL_SIZE;
        UNROLL for (int u = 0; u < SINGLE_ITEMS * TL_SIZE / 16; u += LANES)
            if (u + lane_index() < SINGLE_ITEMS * TL_SIZE / 16)
                COPY_UNIT((LOCAL u8 *)to + (u + lane_index()) * 16, x + (u + lane_index()) * 16);
        return;
    }
#endif
    elem e[PART_ROWS][QUAD];
    SINGLE_PART(load)(e, b, start, at, b.n);
    UNROLL for (int r = 0; r < PART_ROWS; r++)
    {
        quad q;
        q.x = e[r][0], q.y = e[r][1], q.z = e[r][2], q.w = e[r][3];
        to[r * LANES + lane_index()] = q;
    }
}

/* Returns the node of a part in local memory, whose first element has index `at`. */
fn state node_of_part(LOCAL const quad *x, batch b, i64 at, LOCAL state *box)
{
    elem e[PART_ROWS][QUAD];
    state v[PART_ROWS];
    UNROLL for (int r = 0; r < PART_ROWS; r++) put_quad(e[r], x[r * LANES + lane_index()]);
    SINGLE_PART(fold_quads)(v, e, b, at, 1);
    SINGLE_PART(fold_across)(v, 1, box);
    return SINGLE_PART(fold_lanes)(v[0], 1, box);
}

/* What the warps of a block share. */
typedef struct {
    u64 epoch;
    state parts[LANES];  /* the nodes of the tile's parts */
    state tiles[LANES];  /* of the tiles of its group of 32 */
    state groups[LANES]; /* of the groups of 32 tiles */
} wave_memory;

/* Polls for the nodes of the tiles to the left of tile k. words: the node of the sequence's first
 * tile; own: the node of tile k, of n elements. */
fn void poll_tiles(LOCAL wave_memory *m, GLOBAL const u64 *words, i64 k, state own, amount n,
                   LOCAL state *box)
{
    const int lane = lane_index(), group = (int)(k >> RADIX_LOG);
    state left[5];
    for (int g = thread_index() / LANES; g <= group; g += TILE_WARPS + 2) {
        const i64 number = (i64)g << RADIX_LOG | lane;
        state v = own;
        if (number < k)
            while (state_missing(words, number, &v, m->epoch)) continue;
        WARP_BARRIER();
        if (g == group) m->tiles[lane] = v;
        v = row_node_s(v, n, left, box);
        if (lane == 0) m->groups[g] = v;
    }
}

/* The prefixes S before and after tile k. first: S before the sequence, whose first element has
 * number `done`. */
typedef struct {
    maybe before, after;
} tile_around;

fn tile_around around_tile(LOCAL const wave_memory *m, maybe first, amount done, i64 k, amount n,
                           LOCAL state *box)
{
    const int group = (int)(k >> RADIX_LOG), digit = (int)k & 31;
    const state groups = m->groups[lane_index()], tiles = m->tiles[lane_index()];
    const maybe start = append_lanes(first, done, groups, 32 * n, group, box);
    tile_around t;
    done += (group << RADIX_LOG) * n;
    t.before = append_lanes(start, done, tiles, n, digit, box);
    t.after = digit < 31 ? append_lanes(start, done, tiles, n, digit + 1, box)
                         : append_lanes(first, done - (group << RADIX_LOG) * n, groups, 32 * n,
                                        group + 1, box);
    return t;
}

#define TILED_PARAMETERS PARAMETERS_OF(TILED)
KERNEL_OF(scan_single)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    BOX SHARED wave_memory m;
    const int lane = lane_index(), warp = thread_index() / LANES, more = (int)levels,
              count = TILE_WARPS << more, mine = warp << more;
    const i64 tile = (i64)SINGLE_ITEMS * count, s = b.seqs == 1 ? 0 : group_index() / tiles,
              k = group_index() - s * tiles, first = k * tile, start = start_of(b, s);
    GLOBAL u64 *const words = status_table + STATUS_HEADER / 8 + s * (tiles + 1) * PIECES * 2;
    LOCAL quad *const share = (LOCAL quad *)LOCAL_MEMORY + mine * (PART_ROWS * LANES);

    if (warp < TILE_WARPS) {
        ROLLED for (int p = 0; p < 1 << more; p++)
        {
            const i64 at = first + (mine + p) * SINGLE_ITEMS;
            if (at < b.n) load_part(share + p * (PART_ROWS * LANES), b, start, at);
        }
        COPY_WAIT();
        WARP_BARRIER();
        ROLLED for (int p = 0; p < 1 << more; p++)
        {
            const i64 at = first + (mine + p) * SINGLE_ITEMS;
            if (at >= b.n) break;
            const state v = node_of_part(share + p * (PART_ROWS * LANES), b, at, box);
            if (lane == 0) m.parts[mine + p] = v;
        }
    } else if (thread_index() == TILE_WARPS * LANES) {
        const u64 epoch = begin_epoch(status_table);
        m.epoch = epoch;
        if ((i64)atomicAdd(status_table, (u64)1) == jobs - 1) end_epoch(status_table, epoch);
    }
    BARRIER();

    const state part = m.parts[lane & (count - 1)];
    state own = part, left[5];
    for (int j = 1; j < count; j <<= 1)
        own = meet(own, exchange(own, j, box), (lane & j) != 0, j * SINGLE_ITEMS);
    if (thread_index() == 0 && first + tile <= b.n) publish_state(words, k, own, m.epoch);
    poll_tiles(&m, words, k, own, tile, box);
    BARRIER();
    if (warp >= TILE_WARPS) return;

    const tile_around t = around_tile(&m, initial(seeds, s, b.p), b.p.origin, k, tile, box);
    row_node_s(part, SINGLE_ITEMS, left, box);
    const maybe starts = row_start_s(t.before, b.p.origin + first, SINGLE_ITEMS, left);
    chunk_scan c;
    c.b = b, c.out = out, c.s = s, c.n = b.n, c.exclusive = seeds.exclusive, c.last = PART_ROWS - 1;
    ROLLED for (int p = mine; p < mine + (1 << more); p++)
    {
        maybe rows[ROWS_E + 1];
        state stack[LOG_ROWS_E + 1];
        c.at = first + p * SINGLE_ITEMS;
        if (c.at >= b.n) break;
        rows[0].s = from_lane(starts.s, p, box), rows[0].have = t.before.have || p;
        c.after = from_lane(starts.s, (p + 1) & 31, box);
        if (p == count - 1) c.after = t.after.s;
        UNROLL for (int r = 0; r < PART_ROWS; r++)
        {
            elem x[QUAD];
            put_quad(x, share[((p - mine) * PART_ROWS + r) * LANES + lane]);
            scan_row(c, x, r, rows, stack, box);
        }
    }
}
