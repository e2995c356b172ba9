/* SPDX-License-Identifier: MIT
 * Reductions of long sequences: the last step after the nodes of all levels are computed
 * (level.cl), and on CUDA one sequence in one launch. */

/* A warp for each sequence computes S(n) from the nodes of each level that are not part of a higher
 * node, the highest level first. */
KERNEL_OF(finish)
{
    VIEWS_OF_PARAMETERS;
    BOX for (i64 s = warp_index(); s < b.seqs; s += warp_count())
    {
        i64 n = length_of(b, s);
        maybe v = nothing(b.p);
        for (int level = (int)top; level >= 1; level--) {
            batch below = b;
            below.x = (GLOBAL const u8 *)(nodes + level_base(b, level));
            i64 at = level_count(n, level + 1) << STATES_LOG, size = level_size(level);
            v = append_s(v, at * size, below, level_first(b, level, s), at,
                         level_count(n, level) - at, size, box);
        }

        i64 at = level_count(n, 1) << ELEMENTS_LOG;
        v = append_e(v, at, b, start_of(b, s), at, n - at, 1, box);
        if (lane_index() == 0) store_reduced(out, b, s, v, n);
    }
}

/* ---- one sequence in one launch (CUDA) ----
 *
 * Each block publishes the nodes of its tiles in the status table (state.cl). The last block
 * starts last; after its own tiles it polls for all nodes, folds 256 tiles to a node, and computes
 * the result. Other blocks never wait, so the result does not depend on which blocks are resident
 * together. (An atomic counter would add to the latency: a fence, the counter and the loads of the
 * nodes, one after the other.) */
#if defined(TL_CUDA) && !PARTIALS
/* ---- tiles: TILE_WARPS warps of 1 << more chunks each ---- */
typedef char a_group_is_a_tile[WARPS_IN_GROUP == TILE_WARPS ? 1 : -1];

typedef struct {
    i64 tiles, from;
    int each, warp; /* each: chunks of a warp in a tile; warp: number of this warp in the block */
    GLOBAL u64 *words;
    u64 epoch;
    LOCAL state *parts, *box; /* parts: [2][TILE_WARPS] */
} tiling;

/* Publishes the node of tile t. node: the node of chunk number `lane` of this warp, of n
 * elements. */
fn void publish_tile(state node, i64 t, int turn, tiling d, i64 n)
{
    const int lane = lane_index();
    for (int m = 1; m < d.each; m <<= 1)
        node = meet(node, exchange(node, m, d.box), (lane & m) != 0, m * n);
    if (lane == 0) d.parts[turn + d.warp] = node;
    BARRIER();
    if (d.warp) return;
    node = d.parts[turn + (lane & (TILE_WARPS - 1))];
    UNROLL for (int m = 1; m < TILE_WARPS; m <<= 1) node =
        meet(node, exchange(node, m, d.box), (lane & m) != 0, m * d.each * n);
    if (lane == 0) publish_state(d.words, t, node, d.epoch);
}

#if WIDE
/* Chunks of 4 KiB, for elements of one or two bytes and for states above 8 bytes. A lane takes
 * ROW_PACKS packs of each of ROWS_W rows, so as many bytes are in flight as for elements of 4
 * bytes, and large states need fewer exchanges. */
enum { PACKS_W = ROWS_W * ROW_PACKS, ITEMS_W = ROW_PACKS * PACK };

/* Returns the node of a lane's packs of a row. i: index of the first element. */
fn state fold_packs(const bundle *e, i64 i, par p)
{
    state stack[6];
    int top = 0;

    FOR(k, ITEMS_W) {
        stack[top++] = lift_e(pack_element(e[k / PACK], k % PACK), i + k, p);
        UNROLL for (int n = 1; k & n; n <<= 1) top--,
            stack[top - 1] = TWIN(stack[top - 1], stack[top], n);
    }
    return stack[0];
}

/* fold_tiles (below) for these chunks; d.each counts chunks of 4 KiB. With MOMENTS (partials.cl) a
 * chunk's node follows from its sum and its sum of squares, which are exact in any order. */
fn void fold_wide_tiles(batch b, tiling d)
{
    const int lane = lane_index();
    LOCAL state *const box = d.box;
    /* at: in chunks; jump: from a tile's last chunk to the next tile's first */
    i64 at = (group_index() * TILE_WARPS + d.warp) * d.each;
    const i64 jump = (group_count() * TILE_WARPS - 1) * d.each + 1;
    GLOBAL const bundle *x =
        (GLOBAL const bundle *)(b.x + d.from * TL_SIZE) + at * (CHUNK_w / PACK) + lane * ROW_PACKS;
    bundle e[PACKS_W];
    int turn = 0;

    if (group_index() < d.tiles) {
        FOR(k, PACKS_W) e[k] = x[k / ROW_PACKS * LANES * ROW_PACKS + k % ROW_PACKS];
    }

    ROLLED for (i64 t = group_index(); t < d.tiles; t += group_count(), turn ^= TILE_WARPS)
    {
        state node;
        ROLLED for (int c = 0; c < d.each; c++)
        {
            const i64 step = c + 1 < d.each ? 1 : jump;
            const int more = c + 1 < d.each || t + group_count() < d.tiles;
            state v[ROWS_W];
            x += step * (CHUNK_w / PACK);
#if MOMENTS
            moments sums;
            sums.sum = 0, sums.squares = 0;
#endif
            FOR(r, ROWS_W) {
#if MOMENTS
                FOR(k, ROW_PACKS) sums = moments_pack(sums, e[r * ROW_PACKS + k]);
#else
                v[r] =
                    fold_packs(e + r * ROW_PACKS, at * CHUNK_w + r * ROW_w + lane * ITEMS_W, b.p);
#endif
                FOR(k, ROW_PACKS) {
                    if (more) e[r * ROW_PACKS + k] = x[r * LANES * ROW_PACKS + k];
                }
            }
#if MOMENTS
            v[0] = moments_node(sums, CHUNK_w, box);
#else
            fold_across_w(v, 1, box);
            v[0] = fold_lanes_w(v[0], 1, box);
#endif
            if (c == 0 || lane == c) node = v[0]; /* lane c keeps the node of chunk c */
            at += step;
        }
        publish_tile(node, t, turn, d, CHUNK_w);
    }
}
#endif

/* ---- the launch ---- */

#if STATE_BYTES <= 16 && TL_SIZE < 8
#define REDUCE_BLOCKS 2
#else
#define REDUCE_BLOCKS 1
#endif

/* Folds the block's tiles t = block index, block index + grid size, ... dense: full chunks can be
 * loaded by quads; then the next one is prefetched before the exchanges of this one. */
fn void fold_tiles(batch b, tiling d, int dense)
{
    const int lane = lane_index();
    LOCAL state *const box = d.box;
    /* from a tile's last chunk to the next tile's first */
    const i64 jump = ((group_count() * TILE_WARPS - 1) * d.each + 1) * CHUNK_e;
    i64 at = (group_index() * TILE_WARPS + d.warp) * d.each * CHUNK_e;
    strip e;
    int turn = 0;

    if (dense && group_index() < d.tiles) load_dense(e, b, d.from + at);
    ROLLED for (i64 t = group_index(); t < d.tiles; t += group_count(), turn ^= TILE_WARPS)
    {
        state node;
        ROLLED for (int c = 0; c < d.each; c++)
        {
            const i64 step = c + 1 < d.each ? CHUNK_e : jump;
            state v[ROWS_E];
            if (dense) {
                fold_dense(v, e, b, d.from, at);
                if (c + 1 < d.each || t + group_count() < d.tiles)
                    load_dense(e, b, d.from + at + step);
                fold_across_e(v, 1, box);
            } else {
                fold_rows_e(v, b, d.from, at, 1, box);
            }

            v[0] = fold_lanes_e(v[0], 1, box);
            if (c == 0 || lane == c) node = v[0]; /* lane c keeps the node of chunk c */
            at += step;
        }
        publish_tile(node, t, turn, d, CHUNK_e);
    }
}

/* What the last block folds at the end: nodes of 256 tiles, the tiles after them, the chunks after
 * the last tile, the rows after the last chunk. */
typedef struct {
    state groups[TILE_GROUPS], tiles[CHUNK_s], chunks[CHUNKS_MOST], rows[ROWS_MOST];
} tail;

/* Polls for the nodes of all tiles, and folds each 256 of them to a node of left->groups. */
fn void poll_tiles(LOCAL tail *left, tiling d, i64 tile_size, batch b, LOCAL state *box)
{
    const int lane = lane_index();
    enum { ROWS_S = CHUNK_s / ROW_s };
    for (i64 at = d.warp * (i64)CHUNK_s; at < d.tiles; at += TILE_WARPS * CHUNK_s) {
        const i64 count = d.tiles - at;
        state e[ROWS_S][QUAD], v[ROWS_S];
        int missing = 1;
        while (missing) {
            missing = 0;
            FOR(i, ROWS_S * QUAD) {
                const i64 k = i / QUAD * LANES * QUAD + lane * QUAD + i % QUAD;
                missing |= state_missing(d.words, at + (k < count ? k : 0), &e[i / QUAD][i % QUAD],
                                         d.epoch);
            }
        }

        if (count < CHUNK_s) {
            FOR(i, ROWS_S * QUAD)
                left->tiles[i / QUAD * LANES * QUAD + lane * QUAD + i % QUAD] =
                    e[i / QUAD][i % QUAD];
            continue;
        }

        fold_quads_s(v, e, b, 0, tile_size);
        fold_across_s(v, tile_size, box);
        v[0] = fold_lanes_s(v[0], tile_size, box);
        if (lane == 0) left->groups[at / CHUNK_s] = v[0];
    }
}

KERNEL_OF(reduce_single)
{
    VIEWS_OF_PARAMETERS;
    BOX SHARED state parts[2 * TILE_WARPS];
    SHARED tail left;
    const int lane = lane_index(), warp = thread_index() / LANES, each = 1 << more,
              is_last = group_index() == group_count() - 1,
              log = ELEMENTS_LOG + TILE_WARPS_LOG + (int)more;
    const i64 tiles = b.n >> log, from = start_of(b, 0), tile_size = (i64)1 << log;
    const int groups = (int)(tiles / CHUNK_s), rows = (int)(b.n >> ROW_LOG & 7),
              chunks = (int)((b.n >> ELEMENTS_LOG) - (tiles << (log - ELEMENTS_LOG)));
    tiling d;
    d.tiles = tiles, d.from = from, d.each = each, d.warp = warp;
    d.words = status_table + STATUS_HEADER / 8;
    d.epoch = !warp || is_last ? begin_epoch(status_table) : 0;
    d.parts = parts, d.box = box;
#if WIDE
    if (more >= WIDE_LOG && is_packed(b, from)) {
        tiling w = d;
        w.each >>= WIDE_LOG;
        fold_wide_tiles(b, w);
    } else
#else
    /* larger states leave no registers for the prefetch */
    if (sizeof(state) <= 8 && can_load_e(b, from))
        fold_tiles(b, d, 1);
    else
#endif
        fold_tiles(b, d, 0);
    if (!is_last) return;
    BARRIER(); /* this block's nodes are published */

    for (int c = warp; c < chunks; c += TILE_WARPS) {
        state v = chunk_node_e(b, from, (tiles << log) + c * CHUNK_e, 1, box);
        if (lane == 0) left.chunks[c] = v;
    }

    if (warp < rows) {
        state v =
            chunk_node_r(b, from, (b.n >> ELEMENTS_LOG << ELEMENTS_LOG) + warp * CHUNK_r, 1, box);
        if (lane == 0) left.rows[warp] = v;
    }

    poll_tiles(&left, d, tile_size, b, box);
    BARRIER();
    if (warp) return;

    batch level = b;
    level.x = (GLOBAL const u8 *)left.groups;
    const i64 before_tiles = (i64)groups * CHUNK_s, before_rest = b.n >> ROW_LOG << ROW_LOG;
    maybe v = append_s(nothing(b.p), 0, level, 0, 0, groups, tile_size << STATES_LOG, box);
    level.x = (GLOBAL const u8 *)left.tiles;
    v = append_s(v, before_tiles * tile_size, level, 0, 0, tiles - before_tiles, tile_size, box);
    level.x = (GLOBAL const u8 *)left.chunks;
    v = append_s(v, tiles * tile_size, level, 0, 0, chunks, CHUNK_e, box);
    v = append_lanes(v, b.n >> ELEMENTS_LOG << ELEMENTS_LOG, left.rows[lane & (ROWS_MOST - 1)],
                     CHUNK_r, rows, box);
    v = append_r(v, before_rest, b, from, before_rest, b.n & (CHUNK_r - 1), 1, box);
    if (lane) return;
    store_reduced(out, b, 0, v, b.n);
    end_epoch(status_table, d.epoch);
}
#endif

/* The same for commutative operators (partials.cl): the last block joins the states that all blocks
 * have published. */
#ifdef TL_CUDA
#if PARTIALS
/* 32 warps with spans in flight. Without a limit the compiler takes up to 174 registers. */
#define REDUCE_BLOCKS 4
/* The lane's partial result of its packs in spans k, k + (warps of the launch), ... from x on. A
 * pack of the next span is loaded as soon as the same pack of this span is folded. first: index of
 * the first span's first element. */
fn lane_partial fold_spans(GLOBAL const bundle *x, i64 spans, i64 first, i64 k, par p)
{
    const i64 step = group_count() * WARPS_IN_GROUP;
    const int lane = lane_index();
    lane_partial t = partial_none(p);
    bundle e[SPAN_ROWS];

    x += k * (SPAN / PACK) + lane;
    if (k < spans) {
        FOR(r, SPAN_ROWS) e[r] = x[r * LANES];
    }

    ROLLED for (; k < spans; k += step)
    {
        const i64 i = first + k * SPAN;
        const int more = k + step < spans;
        x += step * (SPAN / PACK);

        FOR(r, SPAN_ROWS) {
            t = partial_pack(t, e[r], i + (r * LANES + lane) * PACK, p);
            if (more) e[r] = x[r * LANES];
        }

        t = partial_span(t, i);
    }

    return t;
}

enum { AT_ONCE = 8 };

/* The `count` elements outside of the spans: number o has index o if o < gap, else o + skip. */
typedef struct {
    i64 count, gap, skip;
} others;

/* Joins single elements to v: numbers me, me + all, me + 2 * all, ... of the others. */
fn state fold_others(state v, batch b, i64 me, i64 all, others r)
{
    const i64 count = r.count, gap = r.gap, skip = r.skip;
    for (i64 j = me; j < count; j += AT_ONCE * all) {
        elem e[AT_ONCE];
        FOR(k, AT_ONCE) {
            const i64 o = j + k * all, i = o < gap ? o : o + skip;
            if (o < count) e[k] = load_element(b.x + i * b.stride * TL_SIZE);
        }

        FOR(k, AT_ONCE) {
            const i64 o = j + k * all, i = o < gap ? o : o + skip;
            if (o < count) v = join(v, lift_e(e[k], i, b.p));
        }
    }

    return v;
}

#if FINDS
/* The first element with v's key. v.i is the index of the first element of its span, which lies
 * `at` elements after x. */
fn state find(state v, GLOBAL const bundle *x, i64 at, LOCAL state *box)
{
    const int lane = lane_index();
    state found = v;

    found.i = (i64)((u64)-1 >> 1);
    x += at / PACK + lane;
    ROLLED for (int r = SPAN_ROWS - 1; r >= 0; r--)
    {
        const bundle e = x[r * LANES];
        UNROLL for (int k = PACK - 1; k >= 0; k--)
        {
            par none;
            none.value = 0, none.origin = 0;
            if (lift(pack_element(e, k), 0, none).m == v.m)
                found.i = v.i + (r * LANES + lane) * PACK + k;
        }
    }

    return join_lanes(found, LANES, box);
}
#endif

/* Joins the states of a block's threads; the lanes of its first warp have the result. */
fn state join_group(state v, LOCAL state *parts, LOCAL state *box)
{
    v = join_lanes(v, LANES, box);
    if (lane_index() == 0) parts[thread_index() / LANES] = v;
    BARRIER();
    return join_lanes(parts[lane_index() & (WARPS_IN_GROUP - 1)], WARPS_IN_GROUP, box);
}

/* All warps share the spans. All threads share the elements before the first aligned one and after
 * the last span, or all elements of a view that is not contiguous. */
KERNEL_OF(reduce_single)
{
    VIEWS_OF_PARAMETERS;
    BOX SHARED state parts[2][WARPS_IN_GROUP];
    b.x += start_of(b, 0) * TL_SIZE;
    GLOBAL u64 *const words = status_table + STATUS_HEADER / 8;
    const int me = thread_index(), warp = me / LANES;
    const i64 groups = group_count(), group = group_index(), threads = WARPS_IN_GROUP * LANES;
    const u64 epoch = !warp || group == groups - 1 ? begin_epoch(status_table) : 0;
    const int is_dense = b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0;
    const i64 head = (i64)((16 - ADDRESS(b.x) % 16) % 16 / TL_SIZE),
              spans = is_dense ? (b.n - head) / SPAN : 0;
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + head * TL_SIZE);
    state v =
        partial_state(fold_spans(x, spans, b.p.origin + head, group * WARPS_IN_GROUP + warp, b.p));
    others single;
    single.count = b.n - spans * SPAN, single.gap = head, single.skip = spans * SPAN;
    v = fold_others(v, b, group * threads + me, groups * threads, single);
    v = join_group(v, parts[0], box);
    if (me == 0) publish_state(words, group, v, epoch);
    if (group != groups - 1) return;

    BARRIER(); /* this block's state is published */
    v = none_of(b.p);

    for (i64 g = me; g < groups; g += threads) {
        state other;
        while (state_missing(words, g, &other, epoch)) continue;
        v = join(v, other);
    }

    v = join_group(v, parts[1], box);
    if (warp) return;
#if FINDS
    const i64 at = v.i - b.p.origin - head;
    if (spans && at >= 0 && at < spans * SPAN) v = find(v, x, at, box);
#endif
    maybe whole;
    whole.s = v, whole.exists = 1;
    if (lane_index()) return;
    store_reduced(out, b, 0, whole, b.n);
    end_epoch(status_table, epoch);
}
#endif
#endif
