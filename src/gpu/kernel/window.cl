/* SPDX-License-Identifier: MIT
 * window: result j folds elements start .. start + length - 1, numbered from start. Doubling: Y_k[i] is the node of the
 * 2^k items from i on, Y_(k+1)[i] = C(Y_k[i], Y_k[i + 2^k]), and the window folds Y at the set bits of its length, high
 * to low:
 *
 *   length 13:  Y_3[start]  Y_2[start + 8]  Y_0[start + 12]        in general Y_k[start + (higher bits of the length)]
 *
 * That covers windows cut off by an edge too: they only have another length. Nothing is ever subtracted.
 *   window_whole    (window_whole.cl) levels in registers and local memory, where every window has its whole length
 *   window          all levels in local memory, for windows of at most ROOM / 2 and any edge
 *   window_part, window_rows          (window_long.cl, a program of its own) longer ones of their whole length
 *   lift_all, double_all, fold_all    each level an array in global memory, for longer ones at an edge */
enum { WINDOW_LEVELS = ROOM_LOG, ROOM = 1 << ROOM_LOG };
enum { OUTPUTS = ROOM / 2 / WINDOW_THREADS, ITEMS = ROOM / WINDOW_THREADS };

#define WINDOW_PARAMETERS PARAMETERS_OF(WINDOW)
#define TILES_PARAMETERS PARAMETERS_OF(TILES)

typedef struct {
    i64 start, length;
} span;
/* Result j of a sequence of n elements. */
fn span span_of(i64 j, i64 n, i64 before, i64 after, i64 valid)
{
    i64 centre = valid ? j + before : j, end = centre + after + 1;
    span r;
    r.start = centre > before ? centre - before : 0;
    r.length = (end < n ? end : n) - r.start;
    return r;
}
fn i64 higher_bits(i64 length, int level) { return length >> (level + 1) << (level + 1); }

/* One tile of results: which sequence, results j0 .. j1 - 1, items lo .. lo + count - 1 of n. inside: all its windows
 * have the whole length and lie one item apart. */
typedef struct {
    i64 s, n, j0, j1, lo;
    int count, inside;
} tile;
/* tiles: of every sequence, without offsets; each: results a tile, at most ROOM / 2. */
fn tile tile_of(batch b, i64 job, i64 before, i64 after, i64 valid, i64 tiles, i64 each)
{
    tile t;
    t.s = b.seqs == 1 ? 0 : b.flags & OFFSETS ? sequence_of(b, 0, 0, job) : job / tiles;
    t.n = length_of(b, t.s);
    t.j0 = (job - (b.flags & OFFSETS ? level_first(b, 0, t.s) : t.s * tiles)) * each;
    i64 results_ = valid ? t.n - before - after : t.n, w = before + after + 1;
    t.j1 = t.j0 + each < results_ ? t.j0 + each : results_;
    span first = span_of(t.j0, t.n, before, after, valid), last = span_of(t.j1 - 1, t.n, before, after, valid);
    t.lo = first.start;
    t.count = (int)(last.start + last.length - t.lo);
    t.inside = first.length == w && last.length == w && last.start - t.lo == t.j1 - 1 - t.j0;
    return t;
}

fn void load_tile(LOCAL state *z, batch b, tile t)
{
    GLOBAL const u8 *x = b.x + (start_of(b, t.s) + t.lo * b.stride) * TL_SIZE;
    if (SKIPS && b.stride == 1 && ADDRESS(x) % TL_SIZE == 0) {
        UNROLL for (int k = 0; k < ITEMS; k++)
        {
            int i = k * WINDOW_THREADS + thread_index();
            if (i < t.count) z[i] = lift(((GLOBAL const elem *)x)[i], t.lo + i, b.p);
        }
    } else {
        for (int i = thread_index(); i < t.count; i += WINDOW_THREADS)
            z[i] = lift(load_element(x + i * b.stride * TL_SIZE), t.lo + i, b.p);
    }
}

#ifndef TL_LONG
/* EDGES_APART: window_whole has the windows of their whole length. */
KERNEL_OF(window)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SHARED state z[ROOM];
    const int me = thread_index();
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        tile t = tile_of(b, job, before, after, valid, tiles, each);
        if (SKIPS && edges != EDGES_TOO && t.inside) continue;
        load_tile(z, b, t);
        BARRIER();
        state keep[WINDOW_LEVELS][OUTPUTS];
        UNROLL for (int k = 0; k < WINDOW_LEVELS; k++)
        {
            if (SKIPS && (before + after + 1) >> k == 0) continue;
            UNROLL for (int o = 0; o < OUTPUTS; o++)
            {
                i64 j = t.j0 + o * WINDOW_THREADS + me;
                span v = span_of(j, t.n, before, after, valid);
                if (j < t.j1 && (v.length >> k & 1)) keep[k][o] = z[v.start - t.lo + higher_bits(v.length, k)];
            }
            if (SKIPS && (before + after + 1) >> (k + 1) == 0) continue;
            state next[ITEMS];
            UNROLL for (int r = 0; r < ITEMS; r++)
            {
                int i = r * WINDOW_THREADS + me;
                if (i + (2 << k) <= t.count) next[r] = TWIN(z[i], z[i + (1 << k)], 1 << k);
            }
            BARRIER();
            UNROLL for (int r = 0; r < ITEMS; r++)
            {
                int i = r * WINDOW_THREADS + me;
                if (i + (2 << k) <= t.count) z[i] = next[r];
            }
            BARRIER();
        }
        UNROLL for (int o = 0; o < OUTPUTS; o++)
        {
            i64 j = t.j0 + o * WINDOW_THREADS + me;
            if (j >= t.j1) continue;
            span v = span_of(j, t.n, before, after, valid);
            maybe acc = nothing(b.p);
            UNROLL for (int k = WINDOW_LEVELS - 1; k >= 0; k--)
            {
                if (v.length >> k & 1) acc = then(acc, keep[k][o], higher_bits(v.length, k), (i64)1 << k);
            }
            acc.have = acc.have && v.length >= least;
            store_maybe(place(out, b, t.s, j), acc, v.length, v.start, b.p);
        }
        BARRIER();
    }
}

/* y: level k at y + k * room. Items lo .. lo + count - 1 of the one sequence. */
KERNEL_OF(lift_all)
{
    BATCH_OF_PARAMETERS;
    i64 from = start_of(b, s);
    for (i64 i = group_index() * WINDOW_THREADS + thread_index(); i < count; i += group_count() * WINDOW_THREADS)
        y[i] = lift(load_element(b.x + (from + (lo + i) * b.stride) * TL_SIZE), lo + i, b.p);
}

KERNEL_OF(double_all)
{
    GLOBAL const state *from = y + room * level;
    GLOBAL state *to = y + room * (level + 1);
    i64 step = (i64)1 << level;
    i64 i = group_index() * WINDOW_THREADS + thread_index();
    for (; i + 2 * step <= count; i += group_count() * WINDOW_THREADS)
        to[i] = TWIN(from[i], from[i + step], step);
}

KERNEL_OF(fold_all)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    i64 n = length_of(b, s);
    for (i64 j = j0 + group_index() * WINDOW_THREADS + thread_index(); j < j1; j += group_count() * WINDOW_THREADS) {
        span w = span_of(j, n, before, after, valid);
        maybe acc = nothing(b.p);
        for (int k = 62; k >= 0; k--) {
            const i64 higher = higher_bits(w.length, k);
            if (w.length >> k & 1) acc = then(acc, y[room * k + w.start - lo + higher], higher, (i64)1 << k);
        }
        acc.have = acc.have && w.length >= least;
        store_maybe(place(out, b, s, j), acc, w.length, w.start, b.p);
    }
}

/* Results whose window has too few elements that count become empty. counts: dense, in the order of the results. */
KERNEL_OF(blank)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    for (i64 i = group_index() * WINDOW_THREADS + thread_index(); i < total; i += group_count() * WINDOW_THREADS) {
        if (counts[i] >= least) continue;
        if (b.flags & OFFSETS)
            store_empty(out.x + (b.offsets[0] + i) * out.stride * (i64)(OP_LANES * sizeof(result)), b.p);
        else
            store_empty(place(out, b, i / results_each, i % results_each), b.p);
    }
}
#endif
