/* SPDX-License-Identifier: MIT
 * windows as a causal filter: every element is read once, in order, and every window comes out as its last element goes in.
 *
 * Z_k[e] is the node of the 2^k elements that end at e, and the windows fold Z at the set bits b1 > b2 > ... of w:
 *
 *   Z_k[e] = C(Z_{k-1}[e - 2^(k-1)], Z_{k-1}[e])          x -> Z_0 -> delay 1 -> Z_1 -> delay 2 -> Z_2 -> delay 4 -> ...
 *   P_1[e] = Z_b1[e]                                                      |               |
 *   P_m[e] = C(P_{m-1}[e - 2^bm], Z_bm[e])                 the window <- P_m <- delay <- P_{m-1} <- ...
 *
 * Delays below a vector are unaligned loads from a tile in the first cache (stage, quads, low). From a vector on (level
 * LOG_V) a delay of 2^t vectors is a ring in which the slot that is read is the slot that is written: one load, one store
 * and one combine a level, all aligned, nothing computed twice (ladder). The rings hold at most 2 w states.
 *
 * Two roads for class X keep the stages below a vector and replace the ladder:
 *   SLIDE   (OP_INVERSE) stage D = x[e] - x[e-w]; then P[e] = P[e-V] + (the sum of D over V elements)
 *   BLOCKS  (OP_IDEMPOTENT) van Herk / Gil-Werman down each lane, in blocks of w / V vectors: suffixes of the last
 *           block, prefixes of this one; what w / V leaves over is covered by one overlapping node of V elements */
#include "window_work.h"

enum { W(HISTORY) = TL_WINDOW_HISTORY, W(ROW) = TL_WINDOW_ROW * TL_V };

/* The node of 4 * 2^k elements ending at each of the V states from `at` on, out of nodes of step = 2^k elements. */
TL_INLINE VS W(quad)(const W(soa) *z, int64_t at, int step)
{
    return W(twin)(W(twin)(W(soa_load)(z, at - 3 * step), W(soa_load)(z, at - 2 * step)),
                   W(twin)(W(soa_load)(z, at - step), W(soa_load)(z, at)));
}

TL_INLINE VS W(pair)(const W(soa) *z, int64_t at, int step)
{
    return W(twin)(W(soa_load)(z, at - step), W(soa_load)(z, at));
}

/* Z_b for b <= LOG_V: from the staged levels 0 and (with more than 4 lanes) 2. */
TL_INLINE VS W(low)(const tl_window_work *k, int b, int64_t at)
{
    if (b == 0) return W(soa_load)(k->z0, at);
    if (b == 1) return W(pair)(k->z0, at, 1);
#if TL_LOG_V <= 2
    return W(quad)(k->z0, at, 1);
#else
    if (b == 2) return W(soa_load)(k->z2, at);
    if (b == 3) return W(pair)(k->z2, at, 4);
    return W(quad)(k->z2, at, 4);
#endif
}

/* Z_0 of m elements, behind the history and `lead` states; with `old`, what old takes away from them. Fetches a tile ahead. */
static __attribute__((noinline)) void W(window_stage)(W(soa) *z, const E *x, const E *old, int64_t lead, int64_t m,
                                                      int64_t i, tl_par p)
{
    int64_t at = W(HISTORY) + lead, j = 0;
#if OP_INVERSE
    if (old) {
        for (; j + TL_V <= m; j += TL_V) {
            __builtin_prefetch(x + j + m);
            W(soa_store)(z, at + j, TL_VE(uncombine)(W(load)(x + j, i + j, p), W(load)(old + j, i + j, p)));
        }
        if (j < m)
            W(soa_store)(z, at + j, TL_VE(uncombine)(W(load_part)(x + j, m - j, i + j, p),
                                                     W(load_part)(old + j, m - j, i + j, p)));
        return;
    }
#else
    (void)old;
#endif
    for (; j + TL_V <= m; j += TL_V) {
        __builtin_prefetch(x + j + m);
        W(soa_store)(z, at + j, W(load)(x + j, i + j, p));
    }
    if (j < m) W(soa_store)(z, at + j, W(load_part)(x + j, m - j, i + j, p));
}

/* The first ring of each level: ring j has 2^j rows; one row between rings keeps equal slots out of the same cache set. */
TL_INLINE int64_t W(ring_base)(int j) { return ((int64_t)1 << j) - 1 + j; }

/* d[] = the row v[] delayed by `by` vectors, of which carry[] holds the last ones of the row before. */
#define DELAY(d, v, carry, by)                                                                                          \
    TL_UNROLL for (int j = 0; j < TL_WINDOW_ROW; j++) d[j] = j < (by) ? carry[j] : v[j - (by)];                         \
    TL_UNROLL for (int j = 0; j < (by); j++) carry[j] = v[TL_WINDOW_ROW - (by) + j];
#define EACH(expression) TL_UNROLL for (int j = 0; j < TL_WINDOW_ROW; j++) expression

static __attribute__((noinline)) void W(ladder)(tl_window_work *k, int64_t rows)
{
    VS(*ring)[TL_WINDOW_ROW] = k->ring, (*delay)[TL_WINDOW_ROW] = k->delay, (*stash)[TL_WINDOW_ROW] = k->stash;
    VS *carry = k->carry, *last1 = carry, *last2 = carry + 1, *late1 = carry + 3, *late2 = carry + 4;
    int64_t high = k->w >> TL_LOG_V;
    int levels = tl_top_level(high);
    int64_t rest = high & ~((int64_t)1 << levels) & ~(int64_t)3;
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = W(HISTORY) + r * W(ROW), q = k->row + r;
        VS v[TL_WINDOW_ROW], d[TL_WINDOW_ROW];
        EACH(v[j] = W(low)(k, TL_LOG_V, at + j * TL_V));
        if (levels > 0) {
            if (high & 1) EACH(stash[0][j] = v[j]);
            DELAY(d, v, last1, 1)
            EACH(v[j] = W(twin)(d[j], v[j]));
        }
        if (levels > 1) {
            if (high & 2) EACH(stash[1][j] = v[j]);
            DELAY(d, v, last2, 2)
            EACH(v[j] = W(twin)(d[j], v[j]));
        }
        for (int t = 2; t < levels; t++) {
            VS *slot = ring[W(ring_base)(t - 2) + (q & (((int64_t)1 << (t - 2)) - 1))];
            if (high >> t & 1) EACH(stash[t][j] = v[j]);
            EACH(d[j] = slot[j]);
            EACH(slot[j] = v[j]);
            EACH(v[j] = W(twin)(d[j], v[j]));
        }
        for (int64_t bits = rest; bits;) {
            int t = tl_top_level(bits);
            bits &= ~((int64_t)1 << t);
            VS *slot = delay[W(ring_base)(t - 2) + (q & (((int64_t)1 << (t - 2)) - 1))];
            EACH(d[j] = slot[j]);
            EACH(slot[j] = v[j]);
            EACH(v[j] = TL_VE(combine)(d[j], stash[t][j]));
        }
        if (levels > 1 && high & 2) {
            DELAY(d, v, late2, 2)
            EACH(v[j] = TL_VE(combine)(d[j], stash[1][j]));
        }
        if (levels > 0 && high & 1) {
            DELAY(d, v, late1, 1)
            EACH(v[j] = TL_VE(combine)(d[j], stash[0][j]));
        }
        EACH(W(soa_store)(k->past, at + j * TL_V, v[j]));
    }
    k->row += rows;
}

#if OP_INVERSE
static __attribute__((noinline)) void W(slide)(tl_window_work *k, int64_t rows)
{
    VS acc = *(VS *)k->carry;
    for (int64_t at = W(HISTORY); at < W(HISTORY) + rows * W(ROW); at += TL_V) {
        acc = TL_VE(combine)(acc, W(low)(k, TL_LOG_V, at));
        W(soa_store)(k->past, at, acc);
    }
    *(VS *)k->carry = acc;
}
#endif

#if OP_IDEMPOTENT
/* block[c]: before vector c of this block, the suffix from c of the last one; after it, vector c itself. */
static __attribute__((noinline)) void W(blocks)(tl_window_work *k, int64_t rows)
{
    VS *block = k->ring, prefix = *(VS *)k->carry;
    int64_t length = k->w >> TL_LOG_V, c = k->row;
    for (int64_t at = W(HISTORY); at < W(HISTORY) + rows * W(ROW); at += TL_V) {
        VS v = W(low)(k, TL_LOG_V, at);
        prefix = c ? TL_VE(combine)(prefix, v) : v;
        block[c] = v;
        if (++c < length) {
            W(soa_store)(k->past, at, TL_VE(combine)(block[c], prefix));
            continue;
        }
        W(soa_store)(k->past, at, prefix);
        VS suffix = v;
        while (--c > 0) {
            block[c] = suffix;
            suffix = TL_VE(combine)(block[c - 1], suffix);
        }
    }
    k->row = c;
    *(VS *)k->carry = prefix;
}
#endif

/* The windows from the fold of their high bits and the low bits b < LOG_V, high to low. */
static __attribute__((noinline)) void W(window_fold)(tl_window_work *k, int64_t m)
{
    int64_t w = k->w, over = w & (TL_V - 1);
    int top = tl_top_level(w), bits = (int)over;
    if (w < TL_V) bits &= ~(1 << top);
    for (int64_t at = W(HISTORY); at < W(HISTORY) + m; at += TL_V) {
        VS acc = w < TL_V ? W(low)(k, top, at - (w & ~(1 << top))) : W(soa_load)(k->past, at - over);
        if (OP_IDEMPOTENT && k->mode == TL_WINDOW_BLOCKS) {
            acc = TL_VE(combine)(acc, W(low)(k, TL_LOG_V, at));
        } else {
            TL_UNROLL for (int b = TL_LOG_V - 1; b >= 0; b--)
                if (bits >> b & 1) acc = TL_VE(combine)(acc, W(low)(k, b, at - (over & ((1 << b) - 1))));
        }
        W(soa_store)(k->out, at, acc);
    }
}

TL_INLINE void W(keep_history)(W(soa) *z, int64_t m)
{
#define KEEP(type, f) memmove(z->f, z->f + m, W(HISTORY) * sizeof z->f[0]);
    OP_STATE(KEEP)
#undef KEEP
}

/* Begins a stream of differences: *before is the window before its first element, and nothing changes before that. */
static void W(do_window_start)(tl_window_work *k, const tl_state *before, tl_par p)
{
#if OP_INVERSE
    SS s;
    memcpy(&s, before, sizeof s);
    for (int l = 0; l < TL_V; l++) W(put)((VS *)k->carry, l, s);
    VS none = TL_VE(neutral)(p);
    for (int at = 0; at < 2 * W(HISTORY); at += TL_V) {
        W(soa_store)(k->z0, at, none);
        W(soa_store)(k->z2, at, none);
    }
#else
    (void)k, (void)before, (void)p;
#endif
}

/* Feeds m elements (after `lead` states that are not there), a multiple of the row but for the last of a stream. Leaves the
 * windows that end at them in k->result, from TL_WINDOW_HISTORY + lead on. */
static void W(do_window_feed)(tl_window_work *k, const void *x, const void *old, int64_t lead, int64_t m, int64_t i, tl_par p)
{
    W(window_stage)(k->z0, x, old, lead, m, i, p);
    m += lead;
    int64_t rows = (m + W(ROW) - 1) / W(ROW);
    int slide = OP_INVERSE && k->mode == TL_WINDOW_SLIDE, high = slide || k->w >= TL_V;
#if TL_LOG_V > 2
    if (high || k->w >= 4)
        for (int64_t at = W(HISTORY); at < W(HISTORY) + rows * W(ROW); at += TL_V)
            W(soa_store)(k->z2, at, W(quad)(k->z0, at, 1));
#endif
#if OP_INVERSE
    if (slide) W(slide)(k, rows);
#endif
#if OP_IDEMPOTENT
    if (k->mode == TL_WINDOW_BLOCKS) W(blocks)(k, rows);
#endif
    if (high && k->mode == TL_WINDOW_LADDER) W(ladder)(k, rows);
    k->result = slide || (high && !(k->w & (TL_V - 1))) ? k->past : k->out;
    if (k->wanted && k->result == k->out) W(window_fold)(k, m);
    W(keep_history)(k->z0, m);
    W(keep_history)(k->z2, m);
    W(keep_history)(k->past, m);
}

/* a in the lanes l where bit b of V - 1 - l is set, b in the others. */
TL_INLINE VS W(blend)(int bit, VS a, VS b)
{
    VS r;
#define BLEND(type, f)                                                                                                  \
    {                                                                                                                   \
        __typeof__(a.f == a.f) m;                                                                                       \
        TL_UNROLL for (int l = 0; l < TL_V; l++) m[l] = (TL_V - 1 - l) >> bit & 1 ? -1 : 0;                             \
        r.f = (__typeof__(a.f))((m & (__typeof__(m))a.f) | (~m & (__typeof__(m))b.f));                                  \
    }
    OP_STATE(BLEND)
#undef BLEND
    return r;
}

/* After a ladder whose last element is the one before `end` (index `stop`) and whose top level is a ring too: the suffixes
 * of lengths from V high + V - 1 down to V (high - blocks + 1) > 0, into out from TL_WINDOW_HISTORY on.
 *
 *   length L = 13, V = 4: the last 8, 4 and 1 elements' nodes   Z_3[n-1-5] Z_2[n-1-1] Z_0[n-1]      L mod 2^k is how far
 *
 * So at level k only the last 2^k nodes count, and those are what the rings hold. Lanes are neighbouring lengths: they
 * differ in the low bits only, whose nodes are the same for every vector. */
static void W(do_window_suffix)(tl_window_work *k, const void *end, int64_t stop, int64_t high, int64_t blocks, tl_par p)
{
    VS(*ring)[TL_WINDOW_ROW] = k->ring, *carry = k->carry, near[TL_LOG_V];
    for (int b = 0; b < TL_LOG_V; b++) {
        near[b] = carry[0];
        for (int l = 0; l < TL_V; l++) {
            int64_t back = ((int64_t)1 << b) + ((TL_V - 1 - l) & ((1 << b) - 1));
            W(put)(&near[b], l, W(small_node)((const E *)end - back, b, stop - back, p));
        }
    }
    for (int64_t m = high; m > high - blocks; m--) {
        VS acc = carry[0];
        int top = tl_top_level(m);
        for (int64_t bits = m; bits;) {
            int t = tl_top_level(bits);
            bits &= ~((int64_t)1 << t);
            int64_t at = ((int64_t)1 << t) - 1 - (m & (((int64_t)1 << t) - 1)); /* of the last 2^t vectors of the level */
            VS v = t < 2 ? carry[t + at] : ring[W(ring_base)(t - 2) + (at >> 2)][at & 3];
            acc = t == top ? v : TL_VE(combine)(acc, v);
        }
        TL_UNROLL for (int b = TL_LOG_V - 1; b >= 0; b--) acc = W(blend)(b, TL_VE(combine)(acc, near[b]), acc);
        W(soa_store)(k->out, W(HISTORY) + (high - m) * TL_V, acc);
    }
}
#undef DELAY
#undef EACH
