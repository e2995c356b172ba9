/* SPDX-License-Identifier: MIT
 * window: result j folds elements start .. start + length - 1, numbered from start. Doubling: Y_k[i] is the node of the 2^k
 * items from i on, Y_(k+1)[i] = C(Y_k[i], Y_k[i + 2^k]), and the window folds Y at the set bits of its length, high to low:
 *
 *   length 13:  Y_3[start]  Y_2[start + 8]  Y_0[start + 12]        in general Y_k[start + (the higher bits of the length)]
 *
 * That covers windows cut off by an edge too: they only have another length. Nothing is ever subtracted.
 *   window          all levels in local memory, for windows of at most ROOM / 2
 *   lift_all, double_all, fold_all    each level an array in global memory, for longer ones */
enum { WINDOW_THREADS = 256, WINDOW_LEVELS = ROOM_LOG, ROOM = 1 << ROOM_LOG };
enum { OUTPUTS = ROOM / 2 / WINDOW_THREADS, ITEMS = ROOM / WINDOW_THREADS };

#define WINDOW_PARAMETERS i64 before, i64 after, i64 valid, i64 least

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

/* tiles: of every sequence, without offsets; each: results a tile, at most ROOM / 2. */
KERNEL(window, 256)
(BATCH_PARAMETERS, RESULTS_PARAMETERS, WINDOW_PARAMETERS, i64 tiles, i64 jobs, i64 each)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SHARED state z[ROOM];
    const int me = thread_index();
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        i64 s = b.flags & OFFSETS ? sequence_of(b, 0, 0, job) : job / tiles, n = length_of(b, s);
        i64 tile = job - (b.flags & OFFSETS ? level_first(b, 0, s) : s * tiles);
        i64 count_of_results = valid ? n - before - after : n, j0 = tile * each;
        i64 j1 = j0 + each < count_of_results ? j0 + each : count_of_results;
        span first = span_of(j0, n, before, after, valid), last = span_of(j1 - 1, n, before, after, valid);
        i64 lo = first.start, from = start_of(b, s);
        int count = (int)(last.start + last.length - lo);
        GLOBAL const u8 *x = b.x + (from + lo * b.stride) * TL_SIZE;
        if (SKIPS && b.stride == 1 && ADDRESS(x) % TL_SIZE == 0) {
            UNROLL for (int t = 0; t < ITEMS; t++)
            {
                int i = t * WINDOW_THREADS + me;
                if (i < count) z[i] = lift(((GLOBAL const elem *)x)[i], lo + i, b.p);
            }
        } else {
            for (int i = me; i < count; i += WINDOW_THREADS) z[i] = lift(load_element(x + i * b.stride * TL_SIZE), lo + i, b.p);
        }
        BARRIER();
        /* a tile without an edge has windows of one length, one result apart */
        const int w = (int)(before + after + 1), inside = SKIPS && first.length == w && last.length == w && last.start - lo == j1 - 1 - j0;
        state keep[WINDOW_LEVELS][OUTPUTS];
        UNROLL for (int k = 0; k < WINDOW_LEVELS; k++)
        {
            if (SKIPS && w >> k == 0) continue;
            UNROLL for (int o = 0; o < OUTPUTS; o++)
            {
                int j = o * WINDOW_THREADS + me;
                if (inside) {
                    if ((w >> k & 1) && j < j1 - j0) keep[k][o] = z[j + (w >> (k + 1) << (k + 1))];
                } else {
                    span v = span_of(j0 + j, n, before, after, valid);
                    if (j0 + j < j1 && (v.length >> k & 1)) keep[k][o] = z[v.start - lo + higher_bits(v.length, k)];
                }
            }
            if (SKIPS && w >> (k + 1) == 0) continue;
            state next[ITEMS];
            UNROLL for (int t = 0; t < ITEMS; t++)
            {
                int i = t * WINDOW_THREADS + me;
                if (i + (2 << k) <= count) next[t] = TWIN(z[i], z[i + (1 << k)]);
            }
            BARRIER();
            UNROLL for (int t = 0; t < ITEMS; t++)
            {
                int i = t * WINDOW_THREADS + me;
                if (i + (2 << k) <= count) z[i] = next[t];
            }
            BARRIER();
        }
        UNROLL for (int o = 0; o < OUTPUTS; o++)
        {
            i64 j = j0 + o * WINDOW_THREADS + me;
            if (j >= j1) continue;
            span v = span_of(j, n, before, after, valid);
            maybe acc = nothing(b.p);
            UNROLL for (int k = WINDOW_LEVELS - 1; k >= 0; k--)
            {
                if (v.length >> k & 1) acc = then(acc, keep[k][o]);
            }
            acc.have = acc.have && v.length >= least;
            store_maybe(place(out, b, s, j), acc, v.length, v.start, b.p);
        }
        BARRIER();
    }
}

/* y: level k at y + k * room. Items lo .. lo + count - 1 of the one sequence. */
KERNEL(lift_all, 256)(BATCH_PARAMETERS, GLOBAL state *y, i64 s, i64 lo, i64 count)
{
    BATCH_OF_PARAMETERS;
    i64 from = start_of(b, s);
    for (i64 i = group_index() * 256 + thread_index(); i < count; i += group_count() * 256)
        y[i] = lift(load_element(b.x + (from + (lo + i) * b.stride) * TL_SIZE), lo + i, b.p);
}

KERNEL(double_all, 256)(GLOBAL state *y, i64 room, i64 level, i64 count)
{
    GLOBAL const state *from = y + room * level;
    GLOBAL state *to = y + room * (level + 1);
    i64 step = (i64)1 << level;
    for (i64 i = group_index() * 256 + thread_index(); i + 2 * step <= count; i += group_count() * 256)
        to[i] = TWIN(from[i], from[i + step]);
}

KERNEL(fold_all, 256)
(BATCH_PARAMETERS, RESULTS_PARAMETERS, WINDOW_PARAMETERS, GLOBAL const state *y, i64 room, i64 s, i64 lo, i64 j0, i64 j1)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    i64 n = length_of(b, s);
    for (i64 j = j0 + group_index() * 256 + thread_index(); j < j1; j += group_count() * 256) {
        span w = span_of(j, n, before, after, valid);
        maybe acc = nothing(b.p);
        for (int k = 62; k >= 0; k--)
            if (w.length >> k & 1) acc = then(acc, y[room * k + w.start - lo + higher_bits(w.length, k)]);
        acc.have = acc.have && w.length >= least;
        store_maybe(place(out, b, s, j), acc, w.length, w.start, b.p);
    }
}

/* Results whose window has too few elements that count become empty. counts: dense, in the order of the results. */
KERNEL(blank, 256)(BATCH_PARAMETERS, RESULTS_PARAMETERS, GLOBAL const i64 *counts, i64 least, i64 results_each, i64 total)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    for (i64 i = group_index() * 256 + thread_index(); i < total; i += group_count() * 256) {
        if (counts[i] >= least) continue;
        if (b.flags & OFFSETS)
            store_empty(out.x + (b.offsets[0] + i) * out.stride * (i64)(OP_LANES * sizeof(result)), b.p);
        else
            store_empty(place(out, b, i / results_each, i % results_each), b.p);
    }
}
