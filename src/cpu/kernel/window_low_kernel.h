/* SPDX-License-Identifier: MIT
 * Windows shorter than W(LEVELS), and the results of a tile.
 *
 * A tile is in the first-level cache. z0 has its states; Z_1 and Z_2 take two and four unaligned
 * loads from it. It is x itself (DIRECT) if loading a state costs no more than loading an element.
 * Above Z_1, delays of lanes are shuffles, which are cheaper than loads that cross cache lines
 * (window_ladder_kernel.h). */
#include "window_work.h"

enum {
    W(HISTORY) = TL_WINDOW_HISTORY,
    W(LOG_VECTORS) = TL_ONE_FIELD ? 3 : 1 + (!TL_COMPACT && TL_HALF_FILE >= 4),
    W(VECTORS) = 1 << W(LOG_VECTORS), /* vectors of a row, the unit of the ladder */
    W(ROW) = W(VECTORS) * TL_V,
    W(FETCHED) = 16 * TL_V, /* elements from one prefetch to the next */
    /* shorter windows are folded from z0 alone */
    W(LEVELS) = TL_V < TL_WINDOW_LEVELS ? TL_V : TL_WINDOW_LEVELS,
    /* z0 holds elements instead of states, so x needs no staging: float sums, and keys. */
    W(DIRECT) =
        sizeof(SS) == sizeof(E) && (OP_INPUTS) == 1 && !(OP_MASKED) && (!(OP_EXACT) || TL_BARE)
};

/* combine and twin of states that have folded na and nb elements, or n each. The extremes of keys
 * that fill a vector take one instruction. */
#if OP_EXTREME && TL_ONE_FIELD && \
    ((TL_SIZE == 4 && TL_HAVE_MOST_4) || (TL_SIZE == 8 && TL_HAVE_MOST_8))

TL_INLINE VS W(join)(VS a, VS b, int64_t na, int64_t nb)
{
    VS r;
    r.m = TL_EXTREME(TL_BEST, a.m, b.m);
    return r;
}

TL_INLINE VS W(join_twins)(VS a, VS b, int64_t n) { return W(join)(a, b, n, n); }
#else
TL_INLINE VS W(join)(VS a, VS b, int64_t na, int64_t nb) { return W(combine)(a, b, na, nb); }
TL_INLINE VS W(join_twins)(VS a, VS b, int64_t n) { return W(twin)(a, b, n); }
#endif

TL_INLINE VS W(z0)(const void *z, int64_t at, tl_par p)
{
    if (W(DIRECT)) return W(load)((const E *)((const char *)z + at * (int64_t)sizeof(E)), 0, p);
    return W(soa_load)(z, at);
}

TL_INLINE VS W(z1)(const void *z, int64_t at, tl_par p)
{
    return W(join_twins)(W(z0)(z, at - 1, p), W(z0)(z, at, p), 1);
}

TL_INLINE VS W(quad)(const void *z, int64_t at, tl_par p)
{
    return W(join_twins)(W(z1)(z, at - 2, p), W(z1)(z, at, p), 2);
}

/* Z_b at `at`, of windows that are folded from z0 alone. */
TL_INLINE VS W(low)(const void *z, int b, int64_t at, tl_par p)
{
    assert(0 <= b && 1 << b < W(LEVELS));
    if (b == 0 || W(LEVELS) == 2) return W(z0)(z, at, p);
    return b == 1 || W(LEVELS) == 4 ? W(z1)(z, at, p) : W(quad)(z, at, p);
}

/* b delayed by 1, 2, 4 or 8 lanes, fewer than V; a is the vector before it. */
#define TL_ENDS(l)     (TL_V - 1)
#define LAST(type, f)  TL_MIX(f, TL_ENDS)
#define TL_DELAY1(l)   (TL_V - 1 + (l))
#define TL_DELAY2(l)   (TL_V - 2 + (l))
#define TL_DELAY4(l)   ((TL_V - 4 + (l)) & (2 * TL_V - 1))
#define TL_DELAY8(l)   ((TL_V - 8 + (l)) & (2 * TL_V - 1))
#define MOVE1(type, f) TL_MIX(f, TL_DELAY1)
#define MOVE2(type, f) TL_MIX(f, TL_DELAY2)
#define MOVE4(type, f) TL_MIX(f, TL_DELAY4)
#define MOVE8(type, f) TL_MIX(f, TL_DELAY8)
SHUFFLER(delay1, MOVE1)
SHUFFLER(delay2, MOVE2)
SHUFFLER(delay4, MOVE4)
SHUFFLER(delay8, MOVE8)

/* b delayed by 2^t lanes, a constant. */
TL_INLINE VS W(delayed)(VS a, VS b, int t)
{
    assert(0 <= t && t < TL_LOG_V);
    if (t == 0) return W(delay1)(a, b);
    return t == 1 ? W(delay2)(a, b) : t == 2 ? W(delay4)(a, b) : W(delay8)(a, b);
}

/* The last lane of a in every lane. */
SHUFFLER(ends, LAST)

/* m neighbouring windows of n elements; the first begins at index `first`. */
typedef struct {
    int64_t m, first;
    TL_VE(real) n;
} W(windows);

/* Lowers the first lanes of a vector to `out`. */
TL_INLINE void W(lower_some)(TL_OUT_T *out, VS s, W(windows) w, int stream, tl_par p)
{
    TL_VE(result) r[OP_LANES];
    W(lowered)(r, s, w.n, W(iota)(w.first), p);
    W(store)(out, r, OP_LANES, w.m * OP_LANES, OP_LANES == 1 && stream);
}

/* The elements of the node that a window folds last, if it is shorter than a vector: the ladder
 * leaves that to window_lower. Else 0. */
TL_INLINE int64_t W(left_of)(int64_t w)
{
    return !OP_IDEMPOTENT && w & (w - 1) ? w & -w & (TL_V - 2) : 0;
}

/* What a window is combined from: a first fold, which ends `back` places before the window does,
 * then (small) nodes of z by `bits`, or `node`. The nodes of BLOCKS and TWO overlap. */
typedef struct {
    const void *z, *past, *node; /* the first fold is in `past`; node: NULL, or nodes */
    int64_t w, back, size;       /* of `size` elements */
    int small, top, bits;        /* small: the first fold is a node of z of level `top` */
} W(recipe);

TL_INLINE W(recipe) W(window_recipe)(const tl_window_work *k, int small)
{
    const int top = tl_top_level(k->w);
    const int64_t w = k->w, over = w & ~((int64_t)1 << top);
    W(recipe) r = {.z = k->z0, .past = k->past, .w = w, .small = small};

    if (small) {
        r.top = top;
        r.back = over;
        r.bits = (int)over;
        return r;
    }
    if (k->mode == TL_WINDOW_SLIDE) return r;

    r.back = W(left_of)(w);
    if (OP_IDEMPOTENT) r.back = k->mode == TL_WINDOW_TWO ? over : w & (TL_V - 1);
    if (r.back) r.node = k->mode == TL_WINDOW_TWO ? k->past : k->node;
    r.size = r.back;

    return r;
}

/* The windows that end at `at` and after it, for `vectors` vectors (1 or 4). */
TL_INLINE void W(window_row)(VS *acc, const W(recipe) * r, int vectors, int64_t at, tl_par p)
{
#define EACH_VECTOR(value) \
    TL_UNROLL for (int j = 0, o = 0; j < vectors; j++, o += TL_V) acc[j] = value
    if (r->small)
        EACH_VECTOR(W(low)(r->z, r->top, at + o - r->back, p));
    else
        EACH_VECTOR(W(soa_load)(r->past, at + o - r->back));

    TL_UNROLL for (int b = 1; b >= 0; b--)
    {
        const int64_t back = at - (r->back & ((1 << b) - 1)), before = r->w & -((int64_t)2 << b);
        if (2 << b < W(LEVELS) && r->bits >> b & 1)
            EACH_VECTOR(W(join)(acc[j], W(low)(r->z, b, back + o, p), before, 1 << b));
    }

    if (OP_IDEMPOTENT && r->node)
        EACH_VECTOR(W(join)(acc[j], W(soa_load)(r->node, at + o), 0, 0));
    else if (!OP_IDEMPOTENT && r->node)
        EACH_VECTOR(W(join)(acc[j], W(soa_load)(r->node, at + o), r->w - r->size, r->size));
#undef EACH_VECTOR
}

/* The results of l->m windows; the first ends at place l->from of the tile and begins at index
 * l->first. Constants, so that no vector tests them: small (are they folded from z0 alone?) and,
 * for float sums and their like, stream. */
TL_INLINE void W(window_results)(void *to, const tl_window_work *k, const tl_lower *l, int small,
                                 int stream, tl_par p)
{
    const int64_t from = l->from, m = l->m, first = l->first;
    TL_OUT_T *out = to;

    p.same_n = 1;
    assert(from >= 0 && from + m <= TL_WINDOW_TILE);
    W(recipe) r = W(window_recipe)(k, small);
    TL_VE(real) n = W(counts)(k->w, 0);
    int64_t at = TL_WINDOW_HISTORY + from, j = 0;
    while (j < m) {
        VS acc[4];

        /* Streaming stores need an aligned target. */
        int64_t askew =
            stream ? (int64_t)((uintptr_t)(out + j * (OP_LANES)) / sizeof *out & (TL_V - 1)) : 0;

        if (!TL_COMPACT && !askew && m - j >= 4 * TL_V) {
            if (W(DIRECT) && r.small && stream)
                TL_PREFETCH_SOME(k->next, at + j - TL_WINDOW_HISTORY, 4 * TL_V, sizeof(E), 1);
            W(window_row)(acc, &r, 4, at + j, p);
            TL_UNROLL for (int v = 0; v < 4; v++, j += TL_V) W(lower_some)(
                out + j * (OP_LANES), acc[v], (W(windows)){TL_V, first + j, n}, stream, p);
            continue;
        }

        int64_t step = m - j < TL_V - askew ? m - j : TL_V - askew;
        W(window_row)(acc, &r, 1, at + j, p);
        W(lower_some)
        (out + j * (OP_LANES), acc[0], (W(windows)){step, first + j, n}, stream && !askew, p);
        j += step;
    }
}

static void W(do_window_lower)(void *to, const tl_window_work *k, const tl_lower *l, tl_par p)
{
    enum { CONSTANT = W(DIRECT) && !(OP_EXACT) }; /* bench/tried.md has the measurements */
    assert(!TL_SUMS_FLOATS || k->w < W(LEVELS));  /* else the ladder lowers them */
    if (!TL_SUMS_FLOATS && (k->w >= W(LEVELS) || k->mode == TL_WINDOW_SLIDE))
        W(window_results)(to, k, l, 0, l->stream, p);
    else if (CONSTANT && l->stream)
        W(window_results)(to, k, l, 1, 1, p);
    else
        W(window_results)(to, k, l, 1, CONSTANT ? 0 : l->stream, p);
}
