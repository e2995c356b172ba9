/* like: reduce/bulk_copy
 * class: race
 * caught: unset */
#define ITEMS 4
#define TILE (ITEMS * THREADS)
KERNEL(fold, THREADS)(GLOBAL const elem *in, GLOBAL elem *out, i64 n)
{
    SHARED elem tile[2 * TILE];
    SHARED u64 arrived[2];
    SHARED elem data[THREADS];
    int tid = thread_index();
    int now = 0;
    int phase = 0;
    i64 tiles = n / TILE;
    i64 rest = tiles * TILE;
    elem sum = NEUTRAL;

    if (tid == 0) {
        bulk_open(arrived, 0);
        bulk_open(arrived, 1);
        if (group_index() < tiles) bulk_copy(tile, 0, in, group_index() * TILE, TILE, arrived, 0);
    }
    BARRIER();
    for (i64 t = group_index(); t < tiles; t += group_count()) {
        i64 next = t + group_count();
        if (tid == 0 && next < tiles) bulk_copy(tile, (1 - now) * TILE, in, next * TILE, TILE, arrived, 1 - now);
        for (int k = 0; k < ITEMS; k++) sum = combine(sum, tile[now * TILE + k * THREADS + tid]);
        BARRIER();
        if (now == 1) phase = 1 - phase;
        now = 1 - now;
    }
    for (i64 i = rest + group_index() * THREADS + tid; i < n; i += group_count() * THREADS) sum = combine(sum, in[i]);
    data[tid] = sum;
    BARRIER();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) data[tid] = combine(data[tid], data[tid + s]);
        BARRIER();
    }
    if (tid == 0) out[group_index()] = data[0];
}
