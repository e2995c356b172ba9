/* SPDX-License-Identifier: MIT
 * The ladder of window_kernel.h, one row of vectors at a time.
 *
 *   x -> Z_1 -+- delay 2 lanes --+- .. -+- delay 1 vector --+- .. -+- ring, 1 row -+- ..  up
 *             |                  |      |                   |      |               |      v
 *           stash              stash  stash               stash  stash           stash   P_1
 *             v                  v      v                   v      v               v      |
 *   <- C delay 2 lanes <-- C delay 4 <- C delay 1 vector <- C <-- ring C <------ ring C <-+  down
 *
 * A delay of lanes is a shuffle; one of vectors within a row moves registers. A slot of a ring is
 * read and written in one step. Stashes are kept only for the set bits of w. A row has 8 vectors,
 * of states with several fields 4 or 2. All work of a row at one level is independent; with fewer
 * vectors, a row would wait for the latency of its combines.
 *
 * The windows of float sums and their like (TL_SUMS_FLOATS) are lowered and stored row by row, so
 * that memory takes results while the next ones are computed. The states of others are staged. */

/* Prefetches the row after the next, in rings too long for the first-level cache: there are more
 * rings than hardware prefetchers. */
TL_INLINE void W(prefetch_row)(const void *slot, int64_t size)
{
    if (size * (int64_t)sizeof(VS) < 1024) return;
    TL_UNROLL for (size_t o = 0; o < W(VECTORS) * sizeof(VS); o += 64)
        __builtin_prefetch((const char *)slot + 2 * W(VECTORS) * sizeof(VS) + o, 1);
}

/* Index of the first row of ring j, which has 2^j rows. */
TL_INLINE int64_t W(ring_base)(int j) { return ((int64_t)1 << j) - 1 + j * TL_WINDOW_PAD; }

typedef VS W(row_of_vectors)[W(VECTORS)];

/* A fold that waits `size` rows in a ring for the node of `elements` elements in the stash. */
typedef struct {
    W(row_of_vectors) * ring;
    VS *stash;
    int64_t size, before, elements; /* before: the elements that are folded already */
} W(partial_fold);

#define EACH(expression) \
    TL_FOR(j, W(VECTORS)) expression
/* v[j] = op(v[j - by], other[j], counts). carry holds the last `by` vectors of the previous row. */
#define DELAYED(by, carry, op, other, ...) \
    { \
        VS keep[by]; \
        TL_FOR(j, by) keep[j] = v[W(VECTORS) - (by) + j]; \
        TL_UNROLL for (int j = W(VECTORS) - 1; j >= 0; j--) v[j] = \
            op(j < (by) ? (carry)[j] : v[j - (by)], (other)[j], __VA_ARGS__); \
        TL_FOR(j, by) (carry)[j] = keep[j]; \
    }

/* The same for a delay of 2^t lanes. before: the last vector of the previous row. */
#define DELAYED_LANES(t, before, op, other, ...) \
    { \
        const VS last = v[W(VECTORS) - 1]; \
        TL_UNROLL for (int j = W(VECTORS) - 1; j >= 0; j--) v[j] = \
            op(W(delayed)(j ? v[j - 1] : (before), v[j], t), other, __VA_ARGS__); \
        (before) = last; \
    }

/* Level t from a vector on, up and down, for delays shorter than a row. */
#define UP(t) \
    if (W(LOG_VECTORS) > (t) && levels > (t)) { \
        if (down & (int64_t)TL_V << (t)) EACH(stash[t][j] = v[j]); \
        DELAYED(1 << (t), carry + (1 << (t)) - 1, W(join_twins), v, TL_V << (t)) \
    }
#define DOWN(t) \
    if (W(LOG_VECTORS) > (t) && down & (int64_t)TL_V << (t)) \
    DELAYED(1 << (t), carry + W(VECTORS) + (1 << (t)) - 1, W(join), stash[t], \
            w & -((int64_t)2 * TL_V << (t)), TL_V << (t))

/* Level t below a vector, if vectors have it. */
#define UP_LANES(t) \
    if (TL_LOG_V > (t) && w >= 2 << (t)) { \
        if (left & 1 << (t)) EACH(W(soa_store)(node, at + j * TL_V, v[j])); \
        if (down & 1 << (t)) EACH(low[t][j] = v[j]); \
        DELAYED_LANES(t, low_carry[t], W(join_twins), v[j], 1 << (t)) \
    }
#define DOWN_LANES(t, other) \
    if (TL_LOG_V > (t) && down & 1 << (t)) \
    DELAYED_LANES(t, low_carry[TL_LOG_V + (t)], W(join), other, w & -((int64_t)2 << (t)), 1 << (t))

/* The folds at the bits of `down`, from the level of a row on; returns their number. */
TL_INLINE int W(folds_of)(W(partial_fold) * fold, const tl_window_work *k, int64_t w, int64_t down)
{
    W(row_of_vectors) *const ring = k->delay, *const stash =
                                                  (W(row_of_vectors) *)k->stash + TL_LOG_V;
    int folds = 0;

    for (int t = tl_top_level(w) - 1; t >= TL_LOG_V + W(LOG_VECTORS); t--)
        if (down >> t & 1) {
            const int j = t - TL_LOG_V - W(LOG_VECTORS);
            fold[folds++] =
                (W(partial_fold)){ring + W(ring_base)(j), stash[t - TL_LOG_V], (int64_t)1 << j,
                                  w & -((int64_t)2 << t), (int64_t)1 << t};
        }

    return folds;
}

/* Stores the results of a row, v, as far as they are among the l->m at `to`; place: the first. */
TL_INLINE void W(row_results)(TL_OUT_T *to, const tl_lower *l, const VS *v, int64_t place,
                              TL_VE(real) n, tl_par p)
{
    const int64_t first = l->first + place, past = place + W(ROW);
    const int whole = place >= 0 && past <= l->m;
    TL_OUT_T some[W(ROW)], *const out = whole ? to + place : some;
    if (past <= 0 || place >= l->m) return;
    p.same_n = 1;

#define LOWER(stream) \
    EACH(W(lower_some)(out + j * TL_V, v[j], (W(windows)){TL_V, first + j * TL_V, n}, stream, p))
    if (whole && l->stream) {
        LOWER(1);
        return;
    }
    LOWER(0);
#undef LOWER
    if (whole) return;

    const int64_t a = place < 0 ? 0 : place, end = past < l->m ? past : l->m;
    memcpy(to + a, some + (a - place), (size_t)(end - a) * sizeof *some);
}

/* The windows of w elements that end in the rows of a tile: results if l is given, else staged
 * states in `past`, whose last fold is left to window_lower if w is even.
 * Of idempotent operators w is a power of two. */
static __attribute__((noinline)) void W(ladder)(tl_window_work *k, int64_t w, int64_t rows,
                                                void *to, const tl_lower *l, tl_par p)
{
    W(row_of_vectors) *ring = k->ring, *low = k->stash, *stash = low + TL_LOG_V;
    VS *carry = k->carry, *low_carry = carry + 2 * W(VECTORS);
    W(soa) *node = k->node, *past = k->past;
    W(partial_fold) fold[TL_MAX_LEVELS];
    const tl_lower lower = l ? *l : (tl_lower){0};
    const TL_VE(real) n = W(counts)(w, 0);
    const void *z0 = k->z0;
    const int64_t left = l ? 0 : W(left_of)(w),
                  down = OP_IDEMPOTENT ? 0 : w & ~left & ~((int64_t)1 << tl_top_level(w));
    const int levels = tl_top_level(w) - TL_LOG_V, folds = W(folds_of)(fold, k, w, down);
    assert(w >= W(LEVELS) && (!OP_IDEMPOTENT || !(w & (w - 1))));

    for (int64_t r = 0; r < rows; r++) {
        int64_t at = W(HISTORY) + r * W(ROW), q = k->row + r;
        VS v[W(VECTORS)];
        TL_PREFETCH_SOME(k->next, r * W(ROW), W(ROW), sizeof(E), 1);
        EACH(v[j] = W(z1)(z0, at + j * TL_V, p));
        UP_LANES(1)
        UP_LANES(2)
        UP_LANES(3)
        UP(0)
        UP(1)
        UP(2)
        int64_t base = 0, size = 1;
        for (int t = W(LOG_VECTORS); t < levels; t++, base += size + TL_WINDOW_PAD, size *= 2) {
            VS *slot = ring[base + (q & (size - 1))];
            W(prefetch_row)(slot, size);
            if (down >> TL_LOG_V >> t & 1) EACH(stash[t][j] = v[j]);
            EACH({
                VS sum = W(join_twins)(slot[j], v[j], (int64_t)TL_V << t);
                slot[j] = v[j];
                v[j] = sum;
            });
        }

        for (int f = 0; f < folds; f++) {
            VS *slot = fold[f].ring[q & (fold[f].size - 1)], *other = fold[f].stash;
            W(prefetch_row)(slot, fold[f].size);
            EACH({
                VS sum = W(join)(slot[j], other[j], fold[f].before, fold[f].elements);
                slot[j] = v[j];
                v[j] = sum;
            });
        }
        DOWN(2)
        DOWN(1)
        DOWN(0)
        DOWN_LANES(3, low[3][j])
        DOWN_LANES(2, low[2][j])
        DOWN_LANES(1, low[1][j])
        DOWN_LANES(0, W(z0)(z0, at + j * TL_V, p))
        if (TL_SUMS_FLOATS && l)
            W(row_results)(to, &lower, v, r * W(ROW) - lower.from, n, p);
        else
            EACH(W(soa_store)(past, at + j * TL_V, v[j]));
    }

    k->row += rows;
}
#undef DELAYED
#undef DELAYED_LANES
#undef UP
#undef DOWN
#undef UP_LANES
#undef DOWN_LANES
#undef EACH

/* Stages the states of a piece (DIRECT: the elements) and of up to TL_WINDOW_BACK elements before
 * it, after the history and `padding` places. */
static __attribute__((noinline)) void W(window_stage)(tl_window_work *k,
                                                      const tl_window_piece *piece, tl_par p)
{
    const int64_t back = piece->back < TL_WINDOW_BACK ? piece->back : TL_WINDOW_BACK,
                  at = W(HISTORY) + piece->padding - back, m = piece->m + back, i = piece->i - back;
    const E *x = (const E *)piece->x - back;
    void *z = k->stage;
    int64_t j = 0;

    if (W(DIRECT)) {
        memcpy((char *)z + at * (int64_t)sizeof(E), x, (size_t)m * sizeof(E));
        return;
    }

    for (; j + TL_V <= m; j += TL_V) {
        if (k->w < W(LEVELS) && j % W(FETCHED) == 0)
            TL_PREFETCH_SOME(k->next, j, W(FETCHED), sizeof(E), 0);
        W(soa_store)(z, at + j, W(load)(x + j, i + j, p));
    }

    if (j < m) W(soa_store)(z, at + j, W(load_part)(x + j, m - j, i + j, p));
}

/* Makes the states of a piece readable around z0[W(HISTORY) + piece->padding]. */
TL_INLINE void W(window_elements)(tl_window_work *k, const tl_window_piece *piece, tl_par p)
{
    /* elements are used where they are, if enough of them lie around the piece */
    if (W(DIRECT) && piece->back >= TL_WINDOW_BACK && piece->beyond >= 2 * W(ROW)) {
        k->z0 = (const char *)piece->x - W(HISTORY) * sizeof(E);
    } else {
        W(window_stage)(k, piece, p);
        k->z0 = k->stage;
    }
}

#if TL_SUMS_FLOATS
/* Feeds a piece and lowers l->m windows to `out`. */
static void W(do_window_run)(void *out, tl_window_work *k, const tl_window_piece *piece,
                             const tl_lower *l, tl_par p)
{
    const int64_t places = piece->padding + piece->m;
    assert(0 < piece->m && 0 <= piece->padding && places <= TL_WINDOW_TILE);
    assert(0 <= l->from && 0 <= l->m && l->from + l->m <= places);

    W(window_elements)(k, piece, p);
    if (k->w < W(LEVELS))
        W(do_window_lower)(out, k, l, p);
    else
        W(ladder)(k, k->w, (places + W(ROW) - 1) / W(ROW), out, l, p);
}
#endif
