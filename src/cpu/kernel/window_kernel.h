/* SPDX-License-Identifier: MIT
 * Windows as a causal filter: every element is read once, in order. A window is complete when its
 * last element has been read.
 *
 * Z_k[e] is the node of the 2^k elements that end at e. A window folds Z at the set bits b1 > b2 >
 * ... of its length w, from high to low:
 *
 *   Z_k[e] = C(Z_{k-1}[e - 2^(k-1)], Z_{k-1}[e])
 *   P_1[e] = Z_b1[e]
 *   P_m[e] = C(P_{m-1}[e - 2^bm], Z_bm[e])
 *
 *   x -> Z_0 -> delay 1 -> Z_1 -> delay 2 -> Z_2 -> delay 4 -> ...
 *                           |               |
 *   window <- P_m <- delay <-- P_{m-1} <- delay <- ...
 *
 * This is the ladder (window_ladder_kernel.h). A long delay is a ring buffer: the slot that is read
 * is the slot that is written next. Nothing is computed twice. The rings hold at most 2 w states.
 *
 * Class X, where any association gives the same bits, has faster ways. Their operands are
 * differences or overlap, so an operator with OP_SIZES has neither fact.
 *
 *   SLIDE   (OP_INVERSE) after one folded window: the next V windows are the previous one plus the
 *           prefix sums of (elements that enter) - (elements that leave)
 *   TWO     (OP_IDEMPOTENT) short windows as two overlapping nodes of the ladder
 *   BLOCKS  (OP_IDEMPOTENT) the van Herk / Gil-Werman algorithm in each lane, on nodes of V
 *           elements, in blocks of w / V vectors; three combines per element for any w. One
 *           overlapping node in window_lower covers the remainder of w / V
 *
 *   |.....[sssss|ppp].....|      a window that ends in a block is a suffix s of the previous
 *                                block and a prefix p of the current one */

#define JOIN(a, b) W(join)(a, b, 0, 0)

#if OP_INVERSE
/* The V windows after *before, from the differences d = (enters) - (leaves): prefix sums in a
 * register. */
TL_INLINE VS W(slide_some)(VS *before, VS d, tl_par p)
{
    d = W(prefixes)(d, p);
    VS r = JOIN(*before, d);
    /* From d and not from r: one addition, and no shuffle, from vector to vector. */
    *before = JOIN(*before, W(ends)(d, d));
    return r;
}

static __attribute__((noinline)) void W(slide)(tl_window_work *k, const tl_window_piece *piece,
                                               tl_par p)
{
    const E *x = piece->x, *old = piece->old;
    const int64_t at = W(HISTORY) + piece->padding, m = piece->m, i = piece->i;
    W(soa) *past = k->past;
    VS *carry = k->carry;
    VS before = *carry;
    int64_t j = 0;

    for (; j + TL_V <= m; j += TL_V) {
        if (j % W(FETCHED) == 0) {
            TL_PREFETCH_SOME(k->next, j, W(FETCHED), sizeof(E), 0);
            TL_PREFETCH_SOME(k->prefetch_old, j, W(FETCHED), sizeof(E), 0);
        }
        VS d = TL_VE(uncombine)(W(load)(x + j, i + j, p), W(load)(old + j, i + j, p));
        W(soa_store)(past, at + j, W(slide_some)(&before, d, p));
    }

    *carry = before;
    if (j == m) return;

    VS d = TL_VE(uncombine)(W(load_part)(x + j, m - j, i + j, p),
                            W(load_part)(old + j, m - j, i + j, p));
    W(soa_store)(past, at + j, W(slide_some)(&before, d, p));
    SS s = W(soa_get)(past, at + m - 1);
    for (int l = 0; l < TL_V; l++) W(put)(carry, l, s);
}
#endif

#if OP_IDEMPOTENT
/* The node of V elements at `at`, for the next vector. last[] keeps what the next call needs. */
TL_INLINE VS W(vector_node)(VS *last, const void *z, int64_t at, tl_par p)
{
    VS v = W(z1)(z, at, p);
    TL_UNROLL for (int t = 1; t < TL_LOG_V; t++)
    {
        const VS before = W(delayed)(last[t - 1], v, t);
        last[t - 1] = v;
        v = W(join_twins)(before, v, 1 << t);
    }
    return v;
}

/* block[c] holds the suffix from vector c of the previous block until vector c of the current block
 * is read, then that vector. */
static __attribute__((noinline)) void W(blocks)(tl_window_work *k, int64_t rows, tl_par p)
{
    VS *block = k->ring, *carry = k->carry, prefix = carry[0],
       last[3] = {carry[1], carry[2], carry[3]};
    const void *z0 = k->z0;
    W(soa) *nodes = k->w & (TL_V - 1) ? k->node : NULL, *past = k->past;
    int64_t length = k->w >> TL_LOG_V, c = k->row;

    for (int64_t at = W(HISTORY); at < W(HISTORY) + rows * W(ROW); at += TL_V) {
        VS v = W(vector_node)(last, z0, at, p);
        if (nodes) W(soa_store)(nodes, at, v);
        prefix = c ? JOIN(prefix, v) : v;
        block[c] = v;

        if (++c < length) {
            W(soa_store)(past, at, JOIN(block[c], prefix));
            continue;
        }

        W(soa_store)(past, at, prefix);
        VS suffix = v;

        while (--c > 0) {
            block[c] = suffix;
            suffix = JOIN(block[c - 1], suffix);
        }
    }

    k->row = c;
    carry[0] = prefix;
    for (int j = 0; j < 3; j++) carry[1 + j] = last[j];
}
#endif
#undef JOIN

/* Moves the last states of a tile of m places to the front of the buffer, before the next tile. */
TL_INLINE void W(keep_history)(W(soa) * z, int64_t m)
{
#define KEEP(type, f) memmove(z->f, z->f + m, W(HISTORY) * sizeof z->f[0]);
    OP_FIELDS(KEEP)
#undef KEEP
}

#if OP_INVERSE
/* Begins a stream of differences. *before is the window before the first one. */
static void W(do_window_start)(tl_window_work *k, const tl_state *before)
{
    SS s;
    memcpy(&s, before, sizeof s);
    for (int l = 0; l < TL_V; l++) W(put)((VS *)k->carry, l, s);
}
#endif

/* Feeds a piece; m is a multiple of the row, except at the end of a stream. The windows that end at
 * its elements are then ready for window_lower. */
static void W(do_window_feed)(tl_window_work *k, const tl_window_piece *piece, tl_par p)
{
    const int64_t places = piece->padding + piece->m;
    assert(0 < piece->m && 0 <= piece->padding && places <= TL_WINDOW_TILE);
    assert(0 <= piece->back && 0 <= piece->beyond);
#if OP_INVERSE

    if (k->mode == TL_WINDOW_SLIDE) {
        W(slide)(k, piece, p);
        return;
    }
#endif

    if (k->w >= W(LEVELS)) W(keep_history)(k->past, k->last);

    k->last = places;
    W(window_elements)(k, piece, p);
    const int64_t rows = (places + W(ROW) - 1) / W(ROW);
#if OP_IDEMPOTENT
    if (k->mode == TL_WINDOW_BLOCKS) W(blocks)(k, rows, p);
#endif
    if (OP_IDEMPOTENT && k->mode == TL_WINDOW_TWO)
        W(ladder)(k, (int64_t)1 << tl_top_level(k->w), rows, NULL, NULL, p);
    else if (k->mode == TL_WINDOW_LADDER && k->w >= W(LEVELS))
        W(ladder)(k, k->w, rows, NULL, NULL, p);
}

/* a in the lanes l where bit b of V - 1 - l is set, b in the other lanes. */
TL_INLINE VS W(blend)(int bit, VS a, VS b)
{
    VS r;
#define BLEND(type, f) \
    { \
        __typeof__(a.f == a.f) m; \
        TL_FOR(l, TL_V) m[l] = (TL_V - 1 - l) >> bit & 1 ? -1 : 0; \
        r.f = (__typeof__(a.f))((m & (__typeof__(m))a.f) | (~m & (__typeof__(m))b.f)); \
    }
    OP_FIELDS(BLEND)
#undef BLEND
    return r;
}

/* Stages the suffixes of lengths V high + V - 1 down to V (high - blocks + 1) in `past`, from
 * TL_WINDOW_HISTORY on. Requires: a ladder whose last element is the one before `end` (index
 * `stop`) and whose top level has a ring too.
 *
 *   length L = 13, V = 4: the nodes of the last 8, 4 and 1 elements, in order
 *       Z_3[n-1-5]  Z_2[n-1-1]  Z_0[n-1]        L mod 2^k is the distance from the end
 *
 * So only the last 2^k nodes of level k are needed, and the rings hold those. Lanes are
 * neighbouring lengths. They differ in the low bits only, whose nodes are the same for every
 * vector. */
static void W(do_window_suffix)(tl_window_work *k, const void *end, int64_t stop, int64_t high,
                                int64_t blocks, tl_par p)
{
    VS(*ring)[W(VECTORS)] = k->ring, *carry = k->carry, near[TL_LOG_V];
    assert(0 < blocks && blocks <= high && blocks * TL_V <= TL_WINDOW_TILE);
    /* near[b], lane l: the node of bit b of the lane's length, V - 1 - l more than V times m */
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
            /* of the last 2^t nodes, oldest first: the one m mod 2^t vectors before the last */
            int64_t at = ((int64_t)1 << t) - 1 - (m & (((int64_t)1 << t) - 1));
            VS v = t < W(LOG_VECTORS)
                       ? carry[((int64_t)1 << t) - 1 + at]
                       : ring[W(ring_base)(t - W(LOG_VECTORS)) + at / W(VECTORS)][at % W(VECTORS)];
            acc = t == top ? v
                           : W(combine)(acc, v, (m & -((int64_t)2 << t)) << TL_LOG_V,
                                        (int64_t)TL_V << t);
        }

        TL_UNROLL for (int b = TL_LOG_V - 1; b >= 0; b--)
        {
            TL_VE(real) before = {0}; /* m vectors, and the higher bits of a lane */
            TL_FOR(l, TL_V) before[l] = (TL_REAL_T)(m * TL_V + ((TL_V - 1 - l) & -(2 << b)));
            /* lanes whose length lacks bit b keep acc */
            acc = W(blend)(b, W(combine_at)(acc, near[b], before, 1 << b), acc);
        }

        W(soa_store)(k->past, W(HISTORY) + (high - m) * TL_V, acc);
    }
}
