/* SPDX-License-Identifier: MIT
 * Scan in one launch of sequences whose tiles are all resident together: each block has one tile,
 * with all its elements in local memory. Block numbers are tile numbers, because blocks start in
 * order.
 *
 * A tile is cut into parts; each of warps 0 to 7 has 2^more of them. A block publishes the node of
 * its tile. Then its ten warps poll for the nodes of all tiles to the left, each for one group of
 * 32 tiles. So no tile waits for nodes of groups, which scan_single.cl needs for more tiles. */

/* Copies the elements of a part to local memory; complete after COPY_WAIT and WARP_BARRIER. */
fn void copy_part(LOCAL u8 *to, batch b, i64 start, i64 at)
{
    held e;
#if !TL_IN_PLACE
    if (at + SINGLE_ITEMS <= b.n && is_packed(b, start + at)) {
        GLOBAL const u8 *const x = b.x + (start + at) * TL_SIZE;
        UNROLL for (int u = lane_index(); u < PART_BYTES / 16; u += LANES)
            COPY_UNIT(to + LINE_PLACE(u) * 16, x + u * 16);
        return;
    }
#endif
    const int loaded = load_part(e, b, start, at);
    put_part(to, e, loaded, b, start, at);
}

/* What the warps of a block share. */
typedef struct {
    u64 epoch;
    state parts[LANES];  /* the nodes of the tile's parts */
    state tiles[LANES];  /* of the tiles of its group of 32 */
    state groups[LANES]; /* of the groups of 32 tiles */
} wave_memory;

/* The block's tile: tile k of sequence s, of `count` parts. A warp has parts begin to end - 1,
 * whose elements are in `share`. */
typedef struct {
    batch b;
    i64 s, k;
    int count, begin, end;
    LOCAL u8 *share;
} wave_tile;

fn amount tile_size(wave_tile t) { return (amount)SINGLE_ITEMS * t.count; }

fn i64 part_at(wave_tile t, int part) { return (t.k * t.count + part) * SINGLE_ITEMS; }

/* Where the elements of a part are in local memory. */
fn LOCAL u8 *elements_of(wave_tile t, int part) { return t.share + (part - t.begin) * PART_BYTES; }

/* Loads the parts of a warp, and computes their nodes. */
fn void fold_share(wave_tile t, LOCAL wave_memory *m, LOCAL state *box)
{
    const i64 from = start_of(t.b, t.s);
    ROLLED for (int p = t.begin; p < t.end; p++)
    {
        const i64 at = part_at(t, p);
        if (at < t.b.n) copy_part(elements_of(t, p), t.b, from, at);
    }
    COPY_WAIT();
    WARP_BARRIER();
    ROLLED for (int p = t.begin; p < t.end; p++)
    {
        const i64 at = part_at(t, p);
        if (at >= t.b.n) break;
        LOCAL const u8 *const part = elements_of(t, p);
        const state v = part_node(part, lane_node(part, t.b, at), t.b, at, box);
        if (lane_index() == 0) m->parts[p] = v;
    }
}

/* Polls for the nodes of the tiles to the left. words: the node of the sequence's first tile;
 * tile_node: that of this tile. */
fn void poll_tiles(wave_tile t, LOCAL wave_memory *m, GLOBAL const u64 *words, state tile_node,
                   LOCAL state *box)
{
    const int lane = lane_index(), group = (int)(t.k >> RADIX_LOG);
    state left[5];
    for (int g = thread_index() / LANES; g <= group; g += TILE_WARPS + 2) {
        const i64 number = (i64)g << RADIX_LOG | lane;
        state v = tile_node;
        if (number < t.k)
            while (state_missing(words, number, &v, m->epoch)) continue;
        WARP_BARRIER();
        if (g == group) m->tiles[lane] = v;
        v = row_node_s(v, tile_size(t), left, box);
        if (lane == 0) m->groups[g] = v;
    }
}

/* Returns S before the tile, or, if `ends` is 1, after it. first: S before the sequence. */
fn maybe tile_start(wave_tile t, LOCAL const wave_memory *m, maybe first, int ends,
                    LOCAL state *box)
{
    const int group = (int)(t.k >> RADIX_LOG), digit = (int)t.k & 31, carry = ends && digit == 31;
    const amount n = tile_size(t), done = t.b.p.origin;
    const state groups = m->groups[lane_index()], tiles = m->tiles[lane_index()];
    first = append_lanes(first, done, groups, 32 * n, group + carry, box);
    if (carry) return first;
    return append_lanes(first, done + (group << RADIX_LOG) * n, tiles, n, digit + ends, box);
}

fn void scan_share(wave_tile t, LOCAL const wave_memory *m, results out, seeding seeds,
                   LOCAL state *box)
{
    state left[5];
    row_node_s(m->parts[lane_index() & (t.count - 1)], SINGLE_ITEMS, left, box);
    const maybe first = initial(seeds, t.s, t.b.p), start = tile_start(t, m, first, 0, box),
                starts = row_start_s(start, t.b.p.origin + part_at(t, 0), SINGLE_ITEMS, left);
    state after = start.s; /* S after the tile: for its last warp */
    if (t.end == t.count) after = tile_start(t, m, first, 1, box).s;

    chunk_scan c;
    c.b = t.b, c.out = out, c.s = t.s, c.n = t.b.n;
    c.exclusive = seeds.exclusive, c.last = SINGLE_ITEMS / ROW_e - 1;
    ROLLED for (int p = t.begin; p < t.end; p++)
    {
        maybe before;
        c.at = part_at(t, p);
        if (c.at >= t.b.n) break;
        before.s = from_lane(starts.s, p, box), before.exists = start.exists || p;
        c.after = from_lane(starts.s, (p + 1) & 31, box);
        if (p == t.count - 1) c.after = after;
        LOCAL u8 *const part = elements_of(t, p);
        part_scan(c, part, before, lane_node(part, t.b, c.at), box);
    }
}

KERNEL_OF(scan_single)
{
    VIEWS_OF_PARAMETERS;
    SEEDING_OF_PARAMETERS;
    BOX SHARED wave_memory m;
    const int warp = thread_index() / LANES, more = (int)levels;
    wave_tile t;
    t.b = b, t.s = b.seqs == 1 ? 0 : group_index() / tiles, t.k = group_index() - t.s * tiles;
    t.count = TILE_WARPS << more, t.begin = warp << more, t.end = t.begin + (1 << more);
    t.share = LOCAL_MEMORY + t.begin * PART_BYTES;
    GLOBAL u64 *const words = status_table + STATUS_HEADER / 8 + t.s * (tiles + 1) * PIECES * 2;

    if (warp < TILE_WARPS) {
        fold_share(t, &m, box);
    } else if (thread_index() == TILE_WARPS * LANES) {
        const u64 epoch = begin_epoch(status_table);
        m.epoch = epoch;
        if ((i64)atomicAdd(status_table, (u64)1) == jobs - 1) end_epoch(status_table, epoch);
    }
    BARRIER();

    state tile_node = m.parts[lane_index() & (t.count - 1)];
    for (int j = 1; j < t.count; j <<= 1)
        tile_node =
            meet(tile_node, exchange(tile_node, j, box), (lane_index() & j) != 0, j * SINGLE_ITEMS);
    if (thread_index() == 0 && part_at(t, t.count) <= b.n)
        publish_state(words, t.k, tile_node, m.epoch);
    poll_tiles(t, &m, words, tile_node, box);
    BARRIER();
    if (warp < TILE_WARPS) scan_share(t, &m, out, seeds, box);
}
