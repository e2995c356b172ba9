/* like: window/sma_tiled */
#define TILE 512
KERNEL(average, TILE)(GLOBAL const elem *in, GLOBAL elem *out, i64 n, i64 w)
{
    SHARED elem tile[TILE];
    int lid = thread_index();
    i64 origin = group_index() * TILE;
    i64 gid = origin + lid;
    i64 tile_from = larger(origin - (w - 1), (i64)0);
    i64 tile_to = smaller(origin + TILE - 1, n - 1);
    i64 my_from = larger(gid - (w - 1), tile_from);
    i64 my_to = smaller(gid, tile_to);
    elem sum = 0;

    for (i64 i = tile_from; i <= tile_to; i += TILE) {
        tile[lid] = i + lid < n ? in[i + lid] : 0;
        BARRIER();
        i64 to = smaller(i + TILE - 1, my_to);
        for (i64 j = larger(i, my_from); j <= to; j++) sum += tile[j - i];
        BARRIER();
    }
    if (gid >= w - 1 && gid < n) out[gid] = sum / (elem)w;
}
