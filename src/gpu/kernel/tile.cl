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
#endif
