/* SPDX-License-Identifier: MIT
 * Windows that are arbitrary ranges of a sequence, with O(log length) combines for each. Z_k[e] is
 * the node of the 2^k elements that end at e, for every e. A range is the fold of the nodes at the
 * set bits of its length, from high to low. Each lane computes one range. C: combine.
 *
 *   Z_0   x0 x1 x2 x3 x4 x5 ...              range 1..7 = 4 + 2 + 1:
 *   Z_1       01 12 23 34 45 ...                 C(C(Z_2[4], Z_1[6]), Z_0[7])
 *   Z_2             03 14 25 ...
 *
 * Elements are read once, in order. A ring buffer of tiles for each level (tl_range_ring) keeps the
 * nodes that a range can still need, so memory grows with the longest range and not with the
 * sequence. A range is folded when the tile of its last element has been read. Reductions of
 * neighbouring short segments need no nodes of other places: see below. */

/* The tile of level l that is `back` tiles before the current one. */
TL_INLINE W(soa) * W(range_tile)(const tl_range_work *k, int l, int64_t back)
{
    const tl_range_ring *const ring = k->rings + l;
    const int64_t slot = ring->current - back;
    assert(0 <= l && l < k->levels && 0 <= back && back < ring->tiles);
    return (W(soa) *)k->nodes + ring->first + (slot < 0 ? slot + ring->tiles : slot);
}

/* Level l of the tile at places a .. b - 1, from level l - 1. b is a multiple of TL_V, except at
 * the end of the sequence. */
TL_INLINE void W(range_level)(const tl_range_work *k, int l, int64_t a, int64_t b)
{
    const int64_t half = (int64_t)1 << (l - 1), back = half >> TL_TILE_LEVEL;
    const W(soa) *const low = W(range_tile)(k, l - 1, 0);
    W(soa) *const to = W(range_tile)(k, l, 0);

    int64_t j = a;
    if (half < TL_TILE && j < half) { /* the left halves end in the previous tile */
        W(soa) *const before = W(range_tile)(k, l - 1, 1);

        /* A vector that begins in the previous tile may end in this one. */
        if (half < TL_V) W(soa_store)(before, TL_TILE, W(soa_load)(low, 0));
        for (; j < half && j < b; j += TL_V) {
            const VS left = W(soa_load)(before, TL_TILE + j - half);
            W(soa_store)(to, j, W(twin)(left, W(soa_load)(low, j), half));
        }
    }

    const W(soa) *const left = back ? W(range_tile)(k, l - 1, back) : low;
    const int64_t shift = back ? 0 : half;
    for (; j < b; j += TL_V)
        W(soa_store)(to, j, W(twin)(W(soa_load)(left, j - shift), W(soa_load)(low, j), half));
}

/* Computes all levels of the next m elements. */
static __attribute__((noinline)) void W(range_feed)(const tl_range_work *k, tl_par p)
{
    W(soa) *const z = W(range_tile)(k, 0, 0);
    const E *const x = k->x;
    const int64_t a = k->at & (TL_TILE - 1), b = a + k->m;
    int64_t j = 0;
    assert(k->at % TL_ABREAST == 0 && b <= TL_TILE && k->levels >= 1);
    for (; j + TL_V <= k->m; j += TL_V) W(soa_store)(z, a + j, W(load)(x + j, k->at + j, p));
    if (j < k->m) W(soa_store)(z, a + j, W(load_part)(x + j, k->m - j, k->at + j, p));
    for (int l = 1; l < k->levels; l++) W(range_level)(k, l, a, b);
}

/* The nodes of level l that end at places e, one per lane. Most of its time are loads. */
static __attribute__((noinline, noclone)) VS W(range_gather)(const tl_range_work *k, int l,
                                                             W(places) e)
{
    typedef int64_t offsets __attribute__((vector_size(TL_V * sizeof(int64_t))));
    const tl_range_ring *const ring = k->rings + l;
    W(places) slot = ring->current - (int32_t)k->tile + (e >> TL_TILE_LEVEL);
    slot += (slot < 0) & ring->tiles;
    const offsets tile = __builtin_convertvector(slot, offsets) * (int64_t)sizeof(W(soa)),
                  at = __builtin_convertvector(e & (TL_TILE - 1), offsets);
    const char *const nodes = (const char *)((const W(soa) *)k->nodes + ring->first);
    VS node;
#define GATHER(type, f) \
    { \
        const offsets from = \
            tile + at * (int64_t)sizeof(TL_S(type)) + (int64_t) __builtin_offsetof(W(soa), f); \
        __typeof__(node.f) lanes = {0}; \
        TL_FOR(v, TL_V) lanes[v] = *(const TL_S(type) *)(nodes + from[v]); \
        node.f = lanes; \
    }
    OP_FIELDS(GATHER)
#undef GATHER
    return node;
}

/* The nodes that end at places first, first + 1, ... */
TL_INLINE VS W(range_neighbours)(const tl_range_work *k, int l, int32_t first)
{
    const int32_t at = first & (TL_TILE - 1);
    if (at + TL_V <= TL_TILE)
        return W(soa_load)(W(range_tile)(k, l, k->tile - (first >> TL_TILE_LEVEL)), at);
    W(places) e = {0};
    TL_FOR(v, TL_V) e[v] = first + v;
    return W(range_gather)(k, l, e);
}

/* V ranges of equal length whose first elements are neighbours: all lanes do the same. */
TL_INLINE VS W(ranges_alike)(const tl_range_work *k, int32_t from, int32_t length)
{
    assert(length > 0 && length >> k->levels == 0);
    int l = tl_top_level(length);
    int32_t done = (int32_t)1 << l;
    VS s = W(range_neighbours)(k, l, from + done - 1);
    for (int32_t rest = length & ~done; rest; rest &= ~((int32_t)1 << l)) {
        l = tl_top_level(rest);
        const int32_t size = (int32_t)1 << l;
        s = W(combine)(s, W(range_neighbours)(k, l, from + done + size - 1), done, size);
        done += size;
    }

    return s;
}

/* Any V ranges. A lane keeps its state at the bits that its length does not have. */
TL_INLINE VS W(ranges_any)(const tl_range_work *k, const int32_t *from, const int32_t *length)
{
    W(places) begin, n, done = {0};
    int32_t bits = 0;

    memcpy(&begin, from, sizeof begin);
    memcpy(&n, length, sizeof n);

    TL_FOR(v, TL_V) {
        assert(length[v] > 0);
        bits |= length[v];
    }

    VS s = W(soa_load)(W(range_tile)(k, 0, 0), 0);
    for (; bits; bits &= ~((int32_t)1 << tl_top_level(bits))) {
        const int l = tl_top_level(bits);
        const int32_t size = (int32_t)1 << l;
        const W(places) hit = (n & size) != 0, first = hit & (done == 0), more = hit & (done != 0);

        /* a lane without the bit reads a valid place: the last one of its range */
        const W(places) last = begin + (hit & (done + size)) + (~hit & n) - 1;
        const VS node = W(range_gather)(k, l, last);
        const VS both = W(combine_at)(s, node, TL_TO(done, TL_REAL_T), (int64_t)1 << l);
#define PICK(type, f) \
    { \
        s.f = TL_BLEND(__builtin_convertvector(first, __typeof__(s.f == s.f)), node.f, s.f); \
        s.f = TL_BLEND(__builtin_convertvector(more, __typeof__(s.f == s.f)), both.f, s.f); \
    }
        OP_FIELDS(PICK)
#undef PICK
        done += hit & size;
    }

    return s;
}

/* The kernel: reads the next k->m elements, if any, then stages the states of k->results ranges
 * that end in the current tile. */
static void W(do_ranges)(const tl_range_work *k, tl_par p)
{
    assert(k->results % TL_ABREAST == 0 && k->results <= TL_SOA);
    if (k->m) W(range_feed)(k, p);
    for (int64_t j = 0; j < k->results; j += TL_V) {
        const int32_t *const from = k->from + j, *const length = k->length + j;
        int32_t differ = 0;
        TL_UNROLL for (int v = 1; v < TL_V; v++) differ |=
            (length[v] ^ length[0]) | (from[v] - v - from[0]);
        const VS s = differ ? W(ranges_any)(k, from, length) : W(ranges_alike)(k, *from, *length);
        W(soa_store)(k->soa, j, s);
    }
}

/* ---- short rows and segments, V side by side ---- */

#if TL_IN_ORDER || TL_SCAN_SHORT
/* Prefetches as many elements as a step reads. x lies in the last of V sequences, so that this is
 * ahead of all of them, however long they are. */
#define FETCH(x, count) \
    if (rows->prefetch) \
        tl_prefetch_bytes(x, (count) * sizeof(E), tl_prefetch_distance(rows->prefetch), \
                          rows->prefetch, 0);

/* Neighbouring elements of one sequence in a vector, which with 16 lanes has those of two. */
enum { W(ACROSS) = TL_V < 8 ? TL_V : 8 };

/* The first n elements from `at` on of V sequences: row j of v gets element j of all. */
TL_INLINE void W(load_across)(VS *v, const E *const *x, int64_t at, int n, tl_par p)
{
    VS w[8];
    TL_UNROLL for (int first = 0; first < n; first += W(ACROSS))
    {
        VS *const to = v + first;
        TL_FOR(j, W(ACROSS)) {
#if TL_V == 16
            typedef E half __attribute__((vector_size(8 * sizeof(E))));
            half low, high;
            memcpy(&low, x[j / 4 * 8 + j % 4] + at, sizeof low);
            memcpy(&high, x[j / 4 * 8 + j % 4 + 4] + at, sizeof high);
            to[j] = TL_VE(lift)(TL_FLIPPED(TL_PAIR(low, high), p), (TL_VE(idx)){0}, p);
#else
            to[j] = W(load)(x[j] + at + first, 0, p);
#endif
        }
        TL_UNROLL for (int l = 0; 1 << l < W(ACROSS); l++)
        {
            TL_FOR(j, W(ACROSS)) w[j] = to[j];
            TL_FOR(j, W(ACROSS) / 2) {
                to[j] = W(even)(l, w[2 * j], w[2 * j + 1]);
                to[j + W(ACROSS) / 2] = W(odd)(l, w[2 * j], w[2 * j + 1]);
            }
        }
    }
}
#endif

#if TL_IN_ORDER
/* Stages S of short sequences in their order. A network makes nodes of V elements of V of them. */
static void W(do_fold_short)(const tl_dense_rows *rows, tl_par p)
{
    enum { LEVELS = 9, LEFT = W(ACROSS) };
    VS carry[2 * LEVELS + 1], v[TL_V < 8 ? 8 : TL_V], o[8];
    const VS none = TL_VE(neutral)(p);
    const tl_lanes counter = {.carry = carry, .levels = LEVELS, .vectors = 1};

    for (int64_t r = 0; r < rows->rows; r += TL_V) {
        const int64_t *const offset = rows->offsets + r;
        int32_t lengths[TL_V], most = (int32_t)rows->pitch, *n = lengths;
        TL_VE(idx) begin, end;
        const E *x[TL_V];

        memcpy(&begin, offset, sizeof begin);
        memcpy(&end, offset + 1, sizeof end);
        const W(places) length = __builtin_convertvector(end - begin, W(places));
        memcpy(n, &length, sizeof length);
        TL_HIDDEN(n); /* loads cost less than lanes of a vector */
        TL_FOR(k, TL_V) {
            x[k] = (const E *)((uintptr_t)rows->x + (uintptr_t)offset[k] * sizeof(E));
            most = n[k] > most ? n[k] : most;
        }

        VS s = none;
        FETCH(x[TL_V - 1], TL_V * TL_V)
        for (int b = 0; b < most >> TL_LOG_V; b++) {
            FETCH(x[TL_V - 1] + b * TL_V * TL_V, TL_V * TL_V)
            TL_FOR(k, TL_V) v[k] = W(load)(x[k] + b * TL_V, 0, p);
            s = W(select)(length >= (b + 1) * TL_V,
                          W(append_node)(&counter, 0, b, W(network)(v, 1)), s);
        }
        TL_FOR(k, TL_V) x[k] += (uint32_t)n[k] & (uint32_t)-TL_V;
        if (TL_V == 16) { /* the next 8 of up to 15 that are left */
            W(load_across)(v, x, 0, 8, p);
            W(row_prefixes)(o, v, s, 0, 0);
            s = W(select)((length & 8) > 0, W(combine)(s, o[7], 0, 0), s);
            TL_FOR(k, TL_V) x[k] += n[k] & 8;
        }
        W(load_across)(v, x, 0, LEFT, p);
        TL_UNROLL for (int j = LEFT; j < 8; j++) v[j] = v[0]; /* not read */
        W(row_prefixes)(o, v, s, 0, 0);
        const W(places) left = length & (LEFT - 1);
        TL_FOR(j, LEFT - 1) s = W(select)(left == j + 1, o[j], s);
        W(soa_store)(rows->out, r, s);
    }
}
#endif

#if TL_SCAN_SHORT
/* The reverse, of states. */
TL_INLINE void W(turn_back)(VS *v)
{
    VS w[8];
    TL_UNROLL for (int first = 0; first < 8; first += W(ACROSS))
    {
        VS *const to = v + first;
        TL_UNROLL for (int l = W(ACROSS) == 8 ? 2 : W(ACROSS) / 2 - 1; l >= 0; l--)
        {
            TL_FOR(j, W(ACROSS)) w[j] = to[j];
            TL_FOR(j, W(ACROSS) / 2) {
                const VS a = w[j], b = w[j + W(ACROSS) / 2];
                to[2 * j] = l < TL_LOG_G ? W(low1)(a, b) : W(low2)(a, b);
                to[2 * j + 1] = l < TL_LOG_G ? W(high1)(a, b) : W(high2)(a, b);
            }
        }
    }
}

/* Scans short sequences in their order: 8 elements of V of them become 8 rows of lanes in
 * registers, and their results go by the first cache to their places, so that what is written past
 * the end of a sequence is overwritten by the next one. */
static void W(do_scan_short)(const tl_dense_rows *rows, tl_par p)
{
    enum { LEVELS = 9 };
    VS carry[2 * LEVELS + 1], v[8], o[8];
    const tl_lanes counter = {.carry = carry, .levels = LEVELS, .vectors = 1};
    TL_OUT_T *const stage = rows->stage, *const out = rows->out;

    for (int64_t r = 0; r < rows->rows; r += TL_V) {
        const int64_t *const offset = rows->offsets + r;
        const E *x[TL_V];
        int64_t most = 0;
        VS s = {0};

        TL_FOR(k, TL_V) {
            const int64_t n = offset[k + 1] - offset[k];
            x[k] = (const E *)((uintptr_t)rows->x + (uintptr_t)offset[k] * sizeof(E));
            most = n > most ? n : most;
        }
        const int64_t end = (most + 7) & -8;
        for (int64_t at = 0; at < end; at += 8) {
            FETCH(x[TL_V - 1] + at * TL_V, 8 * TL_V)
            W(load_across)(v, x, at, 8, p);
            W(row_prefixes)(o, v, s, at == 0, at);
            o[7] = s = W(append_node)(&counter, 0, at / 8, o[7]);
            W(turn_back)(o);
            TL_FOR(j, 8) W(put_row)(stage + (at + j) * TL_V, o[j], 0, 0, p);
        }
        TL_FOR(k, TL_V) {
            const int place = TL_V == 16 ? k / 8 * 8 + k % 4 * 2 + k / 4 % 2 : k;
            TL_OUT_T *const y = (TL_OUT_T *)((uintptr_t)out + (uintptr_t)offset[k] * sizeof *out);
            for (int64_t at = 0; at < end; at += W(ACROSS))
                memcpy(y + at, stage + at * TL_V + place * W(ACROSS), W(ACROSS) * sizeof *y);
        }
    }
}
#endif
#undef FETCH
