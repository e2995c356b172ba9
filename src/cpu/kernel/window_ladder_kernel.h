/* SPDX-License-Identifier: MIT
 * The ladder of window_kernel.h: the levels from a vector on, one row of vectors at a time.
 *
 *   Z_G of a row -+- delay 1 --+- delay 2 --+- delay 4 --+- ring, 1 row -+- ring, 2 rows -+-   up
 *                 |            |            |            |               |                v
 *               stash        stash        stash        stash           stash             P_1
 *                 v            v            v            v               v                |
 *   past <- delay 1 C <- delay 2 C <- delay 4 C <----- ring C <------- ring C <-----------    down
 *
 * A delay shorter than a row moves registers. A slot of a ring is read and written in one step.
 * Stashes are kept only for the set bits of w. A row has 8 vectors (4 for operators with several
 * fields). All work of a row at one level is independent; with fewer vectors, a row would wait for
 * the latency of its combines. */

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
#define EACH(expression) TL_UNROLL for (int j = 0; j < W(VECTORS); j++) expression
/* v[j] = op(v[j - by], other[j], counts). carry holds the last `by` vectors of the previous row. */
#define DELAYED(by, carry, op, other, ...) \
    { \
        VS keep[by]; \
        TL_UNROLL for (int j = 0; j < (by); j++) keep[j] = v[W(VECTORS) - (by) + j]; \
        TL_UNROLL for (int j = W(VECTORS) - 1; j >= 0; j--) v[j] = \
            op(j < (by) ? (carry)[j] : v[j - (by)], (other)[j], __VA_ARGS__); \
        TL_UNROLL for (int j = 0; j < (by); j++)(carry)[j] = keep[j]; \
    }

/* Level t on the way up and on the way down, for delays shorter than a row. */
#define UP(t) \
    if (levels > (t)) { \
        if (high >> (t)&1) EACH(stash[t][j] = v[j]); \
        DELAYED(1 << (t), carry + (1 << (t)) - 1, W(join_twins), v, TL_V << (t)) \
    }
#define DOWN(t) \
    if (levels > (t) && high >> (t)&1) \
    DELAYED(1 << (t), carry + W(VECTORS) + (1 << (t)) - 1, W(join), stash[t], \
            w & -((int64_t)2 * TL_V << (t)), TL_V << (t))

/* A fold that waits `size` rows in a ring for the node of `elements` elements in the stash. */
typedef struct {
    W(row_of_vectors) * ring;
    VS *stash;
    int64_t size, before, elements; /* before: the elements that are folded already */
} W(partial_fold);

static __attribute__((noinline)) void W(ladder)(tl_window_work *k, int64_t w, int64_t rows,
                                                tl_par p)
{
    W(row_of_vectors) *ring = k->ring, *delay = k->delay, *stash = k->stash;
    VS *carry = k->carry, *low_last = carry + 2 * W(VECTORS),
       last[3] = {low_last[0], low_last[1], low_last[2]};
    const void *z0 = k->z0;
    W(soa) *z2 = TL_LOG_V > 2 && w & (TL_V - 1) & ~3 ? k->z2 : NULL, *past = k->past;
    int64_t high = w >> TL_LOG_V, counted = k->row;
    int levels = tl_top_level(high), folds = 0;
    W(partial_fold) fold[TL_MAX_LEVELS];

    for (int t = levels - 1; t >= W(LOG_VECTORS); t--)
        if (high >> t & 1) {
            const int j = t - W(LOG_VECTORS);
            fold[folds++] = (W(partial_fold)){delay + W(ring_base)(j), stash[t], (int64_t)1 << j,
                                              w & -((int64_t)2 * TL_V << t), (int64_t)TL_V << t};
        }

    for (int64_t r = 0; r < rows; r++) {
        int64_t at = W(HISTORY) + r * W(ROW), q = counted + r;
        VS v[W(VECTORS)];
        TL_PREFETCH_SOME(k->next, r * W(ROW), W(ROW), sizeof(E), 1);
        EACH(v[j] = W(double_levels)(last, z0, z2, TL_LOG_V, at + j * TL_V, p));
        UP(0)
        UP(1)
#if TL_ONE_FIELD
        UP(2)
#endif
        int64_t base = 0, size = 1;
        for (int t = W(LOG_VECTORS); t < levels; t++, base += size + TL_WINDOW_PAD, size *= 2) {
            VS *slot = ring[base + (q & (size - 1))];
            W(prefetch_row)(slot, size);
            if (high >> t & 1) EACH(stash[t][j] = v[j]);
            EACH({
                VS node = W(join_twins)(slot[j], v[j], (int64_t)TL_V << t);
                slot[j] = v[j];
                v[j] = node;
            });
        }

        for (int f = 0; f < folds; f++) {
            VS *slot = fold[f].ring[q & (fold[f].size - 1)], *other = fold[f].stash;
            W(prefetch_row)(slot, fold[f].size);
            EACH({
                VS fold_j = W(join)(slot[j], other[j], fold[f].before, fold[f].elements);
                slot[j] = v[j];
                v[j] = fold_j;
            });
        }
#if TL_ONE_FIELD
        DOWN(2)
#endif
        DOWN(1)
        DOWN(0)
        EACH(W(soa_store)(past, at + j * TL_V, v[j]));
    }

    for (int j = 0; j < 3; j++) low_last[j] = last[j];
    k->row += rows;
}

/* Z_3, and Z_2 if they need it, of windows that are shorter than a vector of 16 lanes. */
static __attribute__((noinline)) void W(level_3)(tl_window_work *k, int64_t rows, tl_par p)
{
    VS *low_last = (VS *)k->carry + 2 * W(VECTORS), last[2] = {low_last[0], low_last[1]};
    W(soa) *const z2 = k->w & 4 ? k->z2 : NULL, *const past = k->past;

    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = W(HISTORY) + r * W(ROW);
        TL_PREFETCH_SOME(k->next, r * W(ROW), W(ROW), sizeof(E), 1);
        EACH(W(soa_store)(past, at + j * TL_V,
                          W(double_levels)(last, k->z0, z2, 3, at + j * TL_V, p)));
    }
    low_last[0] = last[0];
    low_last[1] = last[1];
}
#undef EACH
#undef DELAYED
#undef UP
#undef DOWN
