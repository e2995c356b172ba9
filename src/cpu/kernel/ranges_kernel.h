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

/* ---- short segments, V side by side ---- */

#if TL_IN_ORDER
/* S of V sequences after up to 7 elements more. p: the nodes of their pairs, the last one perhaps
 * of one element, then neutral ones. */
TL_INLINE VS W(append_pairs)(VS s, const VS *p, W(places) n)
{
    const VS after = W(combine)(W(combine)(s, p[0], 0, 0), p[1], 0, 0);
    if (TL_V < 8) return after;
    s = W(select)((n & 4) > 0, W(combine)(s, W(combine)(p[0], p[1], 0, 0), 0, 0), after);
    return W(combine)(W(combine)(s, p[2], 0, 0), p[3], 0, 0);
}

/* S of V sequences of n elements after the last n % V, of which row k of x has those of sequence k,
 * then neutral states. */
TL_INLINE VS W(append_rests)(VS s, const VS *x, W(places) n)
{
    enum { PAIRS = TL_V / 2 };
    VS v[TL_V], w[TL_V];
    TL_FOR(j, PAIRS) v[j] = W(step)(0, x[2 * j], x[2 * j + 1], 1);
    TL_UNROLL for (int l = 1; l < TL_LOG_V; l++) /* in the end v[j] has pair j of all */
    {
        TL_FOR(j, PAIRS) w[j] = v[j];
        TL_FOR(j, PAIRS / 2) {
            v[j] = W(even)(l, w[2 * j], w[2 * j + 1]);
            v[j + PAIRS / 2] = W(odd)(l, w[2 * j], w[2 * j + 1]);
        }
    }
    if (TL_V == 2) return W(combine)(s, v[0], 0, 0);
    if (TL_V < 16) return W(append_pairs)(s, v, n);
    const VS eight = W(combine)(W(combine)(v[0], v[1], 0, 0), W(combine)(v[2], v[3], 0, 0), 0, 0);
    s = W(select)((n & 8) > 0, W(combine)(s, eight, 0, 0), W(append_pairs)(s, v, n));
    return W(append_pairs)(s, v + TL_V / 4, n);
}

/* Stages S of short sequences in their order. A network makes nodes of V elements of V of them. */
static void W(do_fold_short)(const tl_dense_rows *rows, tl_par p)
{
#define FETCH(b) \
    if (rows->n) \
        tl_prefetch_bytes(x[0] + (b)*TL_V * TL_V, TL_V * TL_V * sizeof(E), \
                          tl_prefetch_distance((int)rows->n), (int)rows->n, 0);
    enum { LEVELS = 9 };
    VS carry[2 * LEVELS + 1], v[TL_V];
    const VS none = TL_VE(neutral)(p);
    const W(places) lane = __builtin_convertvector(W(iota)(0), W(places));
    const tl_lanes counter = {.carry = carry, .levels = LEVELS, .vectors = 1};

    for (int64_t r = 0; r < rows->rows; r += TL_V) {
        const int64_t *offset = rows->offsets + r, count = rows->rows - r;
        int64_t last[TL_V + 1];
        int32_t lengths[TL_V], most = (int32_t)rows->pitch, *n = lengths;
        TL_VE(idx) begin, end;
        const E *x[TL_V];

        if (count < TL_V) { /* then empty ones */
            for (int k = 0; k <= TL_V; k++) last[k] = offset[k < count ? k : count];
            offset = last;
        }
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
        FETCH(0)
        for (int b = 0; b < most >> TL_LOG_V; b++) {
            FETCH(b)
            TL_FOR(k, TL_V) v[k] = W(load)(x[k] + b * TL_V, 0, p);
            s = W(select)(length >= (b + 1) * TL_V,
                          W(append_node)(&counter, 0, b, W(network)(v, 1)), s);
        }
        TL_FOR(k, TL_V) {
            const VS rest = W(load)(x[k] + ((uint32_t)n[k] & (uint32_t)-TL_V), 0, p);
            v[k] = W(select)(lane < (((W(places)){0} + n[k]) & (TL_V - 1)), rest, none);
        }
        W(soa_store)(rows->out, r, W(append_rests)(s, v, length));
    }
#undef FETCH
}
#endif
