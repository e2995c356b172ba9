/* SPDX-License-Identifier: MIT
 * Tiles of a long sequence that one launch reduces (once.cl): 8 warps of 1 << more chunks each. */
#if defined(TL_CUDA) && !STRIPED
typedef char a_group_is_a_tile[WARPS_IN_GROUP == TILE_WARPS ? 1 : -1];

typedef struct {
    i64 tiles, from;
    int each, warp; /* chunks of a tile's warp; my warp */
} tiling;
/* The node of tile t, from those of its warps' `each` chunks of n elements. */
fn void store_tile(state mine, i64 t, int turn, tiling d, i64 n, GLOBAL state *nodes, LOCAL state *parts,
    LOCAL state *box)
{
    const int lane = lane_index();
    if (lane == 0) parts[turn + d.warp] = mine;
    BARRIER();
    if (d.warp) return;
    mine = parts[turn + (lane & (TILE_WARPS - 1))];
    UNROLL for (int m = 1; m < TILE_WARPS; m <<= 1) mine = meet(mine, exchange(mine, m, box), (lane & m) != 0,
        m * d.each * n);
    if (lane == 0) nodes[t] = mine;
}

#if WIDE
/* Chunks of 4 KiB, for elements of one or two bytes and for states of more than 8 bytes. A lane takes ROW_PACKS
 * packs of each of ROWS_W rows: as many bytes are on their way as for elements of 4 bytes, and large states cost fewer
 * exchanges. */
enum { PACKS_W = ROWS_W * ROW_PACKS, ITEMS_W = ROW_PACKS * PACK };

/* The node of a lane's packs of a row. */
fn state fold_packs(const bundle *e, i64 i, par p)
{
    state stack[6];
    int top = 0;
    UNROLL for (int k = 0; k < ITEMS_W; k++)
    {
        stack[top++] = lift_e(pack_element(e[k / PACK], k % PACK), i + k, p);
        UNROLL for (int n = 1; k & n; n <<= 1) top--, stack[top - 1] = TWIN(stack[top - 1], stack[top], n);
    }
    return stack[0];
}

/* fold_tiles (once.cl) of them; d.each is in chunks of 4 KiB. */
fn void fold_wide_tiles(batch b, tiling d, GLOBAL state *nodes, LOCAL state *parts, LOCAL state *box)
{
    const int lane = lane_index();
    /* in chunks; from a tile's last one to the next tile's first */
    i64 at = (group_index() * TILE_WARPS + d.warp) * d.each;
    const i64 jump = (group_count() * TILE_WARPS - 1) * d.each + 1;
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + d.from * TL_SIZE) + at * (CHUNK_w / PACK) + lane * ROW_PACKS;
    bundle e[PACKS_W];
    int turn = 0;
    if (group_index() < d.tiles) {
        UNROLL for (int k = 0; k < PACKS_W; k++) e[k] = x[k / ROW_PACKS * LANES * ROW_PACKS + k % ROW_PACKS];
    }
    ROLLED for (i64 t = group_index(); t < d.tiles; t += group_count(), turn ^= TILE_WARPS)
    {
        state mine;
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
            UNROLL for (int r = 0; r < ROWS_W; r++)
            {
#if MOMENTS
                UNROLL for (int k = 0; k < ROW_PACKS; k++) sums = moments_pack(sums, e[r * ROW_PACKS + k]);
#else
                v[r] = fold_packs(e + r * ROW_PACKS, at * CHUNK_w + r * ROW_w + lane * ITEMS_W, b.p);
#endif
                UNROLL for (int k = 0; k < ROW_PACKS; k++)
                {
                    if (more) e[r * ROW_PACKS + k] = x[r * LANES * ROW_PACKS + k];
                }
            }
#if MOMENTS
            v[0] = moments_node(sums, CHUNK_w, box);
#else
            fold_across_w(v, 1, box);
            v[0] = fold_lanes_w(v[0], 1, box);
#endif
            if (c == 0 || lane == c) mine = v[0];
            at += step;
        }
        for (int m = 1; m < d.each; m <<= 1) mine = meet(mine, exchange(mine, m, box), (lane & m) != 0, m * CHUNK_w);
        store_tile(mine, t, turn, d, CHUNK_w, nodes, parts, box);
    }
}
#endif
#endif
