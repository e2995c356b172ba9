/* SPDX-License-Identifier: MIT
 * The levels of a window below a vector, 0 .. LOG_V. A tile is in the first-level cache and is read
 * at small offsets, from these two arrays:
 *
 *   z0   Z_0; Z_1 and Z_2 take two and four unaligned loads. It is x itself (DIRECT) if loading a
 *        state costs no more than loading an element
 *   z2   Z_2, stored by `double_levels` if bits of w need it; Z_3 and Z_4 take two and four loads
 *
 * double_levels computes higher levels in registers: above Z_1 its delays are shuffles, which are
 * cheaper than loads that cross cache lines. */
#include "window_work.h"

#define TL_COUNT_FIELD(type, f) +1
#define TL_ONE_FIELD            (0 OP_FIELDS(TL_COUNT_FIELD) == 1)

enum {
    W(HISTORY) = TL_WINDOW_HISTORY,
    W(LOG_VECTORS) = TL_ONE_FIELD ? 3 : 2,
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
    (void)na, (void)nb;
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

TL_INLINE VS W(z3)(const W(soa) * z2, int64_t at)
{
    return W(join_twins)(W(soa_load)(z2, at - 4), W(soa_load)(z2, at), 4);
}

/* Z_b at `at`; z2 may be NULL for b <= 2. */
TL_INLINE VS W(low)(const void *z, const void *z2, int b, int64_t at, tl_par p)
{
    assert(0 <= b && b <= TL_LOG_V && (z2 || b <= 2));
    if (b == 0) return W(z0)(z, at, p);
    if (b == 1) return W(z1)(z, at, p);
    if (b == 2 && (TL_LOG_V < 3 || !z2)) return W(quad)(z, at, p);
    if (b == 2) return W(soa_load)(z2, at);
    if (b == 3) return W(z3)(z2, at);
    return W(join_twins)(W(z3)(z2, at - 8), W(z3)(z2, at), 8);
}

/* b delayed by 1, 2, 4 or 8 lanes; a is the vector before it. */
#define TL_ENDS(l)     (TL_V - 1)
#define TL_DELAY1(l)   (TL_V - 1 + (l))
#define TL_DELAY2(l)   (TL_V - 2 + (l))
#define TL_DELAY4(l)   (TL_V - 4 + (l))
#define TL_DELAY8(l)   (TL_V - 8 + (l))
#define MOVE1(type, f) r.f = TL_SHUFFLE(a.f, b.f, TL_EACH_LANE(TL_DELAY1));
#define MOVE2(type, f) r.f = TL_SHUFFLE(a.f, b.f, TL_EACH_LANE(TL_DELAY2));
#define MOVE4(type, f) r.f = TL_SHUFFLE(a.f, b.f, TL_EACH_LANE(TL_DELAY4));
#define MOVE8(type, f) r.f = TL_SHUFFLE(a.f, b.f, TL_EACH_LANE(TL_DELAY8));
SHUFFLER(delay1, MOVE1)
#if TL_LOG_V >= 2
SHUFFLER(delay2, MOVE2)
#endif
#if TL_LOG_V >= 3
SHUFFLER(delay4, MOVE4)
#endif
#if TL_LOG_V >= 4
SHUFFLER(delay8, MOVE8)
#endif

/* The last lane, copied to every lane. */
TL_INLINE VS W(ends)(VS a)
{
    VS r;
#define LAST(type, f) r.f = TL_SHUFFLE(a.f, a.f, TL_EACH_LANE(TL_ENDS));
    OP_FIELDS(LAST)
#undef LAST
    return r;
}
#undef MOVE1
#undef MOVE2
#undef MOVE4
#undef MOVE8
#undef TL_ENDS
#undef TL_DELAY1
#undef TL_DELAY2
#undef TL_DELAY4
#undef TL_DELAY8

/* Z_top at `at`, for the next vector. last[] keeps what the next call needs. z2: NULL, or where to
 * store Z_2. */
TL_INLINE VS W(double_levels)(VS *last, const void *z, W(soa) * z2, int top, int64_t at, tl_par p)
{
    VS v = W(z1)(z, at, p), before = v;
#define DOUBLE(level, delay) \
    if (top < (level) + 2) return v; \
    before = W(delay)(last[level], v); \
    last[level] = v; \
    v = W(join_twins)(before, v, 2 << (level));
#if TL_LOG_V >= 2
    DOUBLE(0, delay2)
    if (TL_LOG_V >= 3 && z2) W(soa_store)(z2, at, v);
#endif
#if TL_LOG_V >= 3
    DOUBLE(1, delay4)
#endif
#if TL_LOG_V >= 4
    DOUBLE(2, delay8)
#endif
#undef DOUBLE
    (void)last, (void)z2, (void)before;

    return v;
}

/* m neighbouring windows of n elements; the first begins at index `first`. */
typedef struct {
    int64_t m, first;
    TL_VE(real) n;
} W(windows);

/* Lowers the first lanes of one vector of states to `out`. */
TL_INLINE void W(lower_some)(TL_OUT_T *out, VS s, W(windows) w, int stream, tl_par p)
{
    TL_VE(result) r[OP_LANES];
    W(lowered)(r, s, w.n, W(iota)(w.first), p);
    W(store)(out, r, OP_LANES, w.m * OP_LANES, OP_LANES == 1 && stream);
}

/* How the windows of a tile are combined: the fold of the high bits, `high_at` places back (small:
 * a node of z0), then the nodes of the low bits; BLOCKS and TWO: one overlapping node. */
typedef struct {
    const void *z, *z2, *past, *node; /* node: the overlapping states, or NULL */
    int64_t w, over, high_at;
    int small, top, bits;
} W(recipe);

TL_INLINE W(recipe) W(window_recipe)(const tl_window_work *k)
{
    const int top = tl_top_level(k->w);
    const int64_t over = k->w & (((int64_t)1 << (top < TL_LOG_V ? top : TL_LOG_V)) - 1);
    W(recipe) r = {k->z0, k->z2, k->past, NULL, k->w, over, over, 0, top, (int)over};

    if (k->mode == TL_WINDOW_SLIDE) {
        r.high_at = r.bits = 0;
    } else if (k->w < W(LEVELS)) {
        r.small = 1;
        r.z2 = NULL;
    } else if (OP_IDEMPOTENT && k->mode == TL_WINDOW_BLOCKS) {
        r.bits = 0;
        r.node = over ? k->z2 : NULL;
    } else if (OP_IDEMPOTENT && k->mode == TL_WINDOW_TWO) {
        r.bits = 0;
        r.high_at = k->w & ~((int64_t)1 << r.top);
        r.node = r.high_at ? k->past : NULL;
    }

    return r;
}

/* The windows that end at `at` and after it, for `vectors` vectors (1 or 4). */
TL_INLINE void W(window_row)(VS *acc, const W(recipe) * r, int vectors, int64_t at, tl_par p)
{
#define EACH_VECTOR(value) \
    TL_UNROLL for (int j = 0, o = 0; j < vectors; j++, o += TL_V) acc[j] = value
    if (r->small)
        EACH_VECTOR(W(low)(r->z, NULL, r->top, at + o - r->high_at, p));
    else
        EACH_VECTOR(W(soa_load)(r->past, at + o - r->high_at));

    TL_UNROLL for (int b = TL_LOG_V - 1; b >= 0; b--)
    {
        int64_t back = at - (r->over & ((1 << b) - 1)), before = r->w & -((int64_t)2 << b);
        if (r->bits >> b & 1)
            EACH_VECTOR(W(join)(acc[j], W(low)(r->z, r->z2, b, back + o, p), before, 1 << b));
    }

    if (OP_IDEMPOTENT && r->node) EACH_VECTOR(W(join)(acc[j], W(soa_load)(r->node, at + o), 0, 0));
#undef EACH_VECTOR
}

/* The results of l->m windows; the first ends at place l->from of the tile and begins at index
 * l->first. stream: a constant for float sums and their like, so that no store tests it. */
TL_INLINE void W(window_results)(void *to, const tl_window_work *k, const tl_lower *l, int stream,
                                 tl_par p)
{
    const int64_t from = l->from, m = l->m, first = l->first;
    TL_OUT_T *out = to;

    p.same_n = 1;
    assert(from >= 0 && from + m <= TL_WINDOW_TILE);
    W(recipe) r = W(window_recipe)(k);
    TL_VE(real) n = W(counts)(k->w, 0);
    int64_t at = TL_WINDOW_HISTORY + from, j = 0;
    while (j < m) {
        VS acc[4];

        /* Streaming stores need an aligned target. */
        int64_t askew =
            stream ? (int64_t)((uintptr_t)(out + j * (OP_LANES)) / sizeof *out & (TL_V - 1)) : 0;

        if (!askew && m - j >= 4 * TL_V) {
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
    enum { CONSTANT = W(DIRECT) && !(OP_EXACT) }; /* doc/notes.md has the measurements */
    if (CONSTANT && l->stream)
        W(window_results)(to, k, l, 1, p);
    else
        W(window_results)(to, k, l, CONSTANT ? 0 : l->stream, p);
}
