/* SPDX-License-Identifier: MIT
 * Fast reductions of class X on one core. combine is exactly associative, so any order gives the
 * law's bits. One of these is compiled, depending on the operator's facts:
 *
 *   OP_EXTREME 1, -1    max, min and their arg and nan forms: the extreme of a chunk by float or
 *                       integer compares; keys are compared once per chunk
 *   OP_ADDS 1, 2        integer sums of 64, 128 bits: unsigned partial sums in lanes twice as wide
 *                       as an element; the wide sum once per chunk
 *   OP_PICKS -1, 1      first, last: one element
 *   OP_COMMUTES 1       all others: four striped accumulators of the vector text
 *
 * W(express)(s, x, n, i, fetch, p): *s = the state of n > 0 elements. */

/* Elements of a chunk: 16 KiB if the chunk may be searched again for an index, else 256 KiB. */
#if TL_OUT_IDX
enum { W(CHUNK) = 16384 / TL_SIZE };
#else
enum { W(CHUNK) = 262144 / TL_SIZE };
#endif

/* Prefetches in a loop that reads `bytes` bytes from x + j on. */
#define TL_FETCH(j, bytes)                                                                         \
    if (fetch) tl_fetch(x + (j), bytes, tl_fetch_ahead(fetch), fetch);

#if OP_EXTREME
/* The extreme of a chunk as a key (op/max.h, op/min.h). Floats are compared as floats, which skips
 * NaN and does not distinguish -0 from +0; NaN are counted beside it. Where that may matter (a NaN
 * that wins, an extreme that is zero or the initial infinity), the keys are compared instead. */
#if OP_EXTREME > 0
#define BEATS          >
#define PICK(v, m)     TL_PASTE(TL_OVER_, TL_FLOAT_BYTES)(v, m)
#define KEY_PICK(v, m) TL_EXTREME(TL_MOST_)(v, m)
#define KEY_WORST      TL_ORD_MIN
#define KEY_BEST       TL_ORD_MAX
#else
#define BEATS          <
#define PICK(v, m)     TL_PASTE(TL_UNDER_, TL_FLOAT_BYTES)(v, m)
#define KEY_PICK(v, m) TL_EXTREME(TL_LEAST_)(v, m)
#define KEY_WORST      TL_ORD_MAX
#define KEY_BEST       TL_ORD_MIN
#endif
typedef TL_ELEM_T W(evec) __attribute__((vector_size(TL_VECTOR_BYTES)));
typedef TL_ORD_T W(ovec) __attribute__((vector_size(TL_VECTOR_BYTES)));
/* four accumulators hide the latency */
enum { W(LANES) = TL_VECTOR_BYTES / TL_SIZE, W(STEP) = 4 * W(LANES) };

static TL_ORD_T W(key_extreme)(const E *x, int64_t n)
{
    TL_ORD_T best = KEY_WORST;
    for (int64_t j = 0; j < n; j++) {
        TL_S(elem) e;
        memcpy(&e, x + j, sizeof e);
        TL_S(ord) k = TL_S(lift)(e, 0, (tl_par){0}).m;
        best = k BEATS best ? k : best;
    }
    return best;
}

#if TL_SIZE == 8
#define TL_FLOAT_BYTES 8
#else
#define TL_FLOAT_BYTES 4
#endif
#if TL_KIND_F && TL_FORMAT == 0
static TL_ORD_T W(chunk_extreme)(const E *x, int64_t n, int fetch)
{
    const E worst = (E)(OP_EXTREME > 0 ? -__builtin_inf() : __builtin_inf());
    W(evec) m[4], v[4];
    TL_NANS(W(ovec)) nan = {0}, no_nan = {0};
    int64_t j = 0;
    for (int k = 0; k < 4; k++) m[k] = (W(evec)){0} + worst;
    for (; j + W(STEP) <= n; j += W(STEP)) {
        TL_FETCH(j, sizeof m)
        TL_UNROLL for (int k = 0; k < 4; k++)
        {
            /* Copied singly: a copy of all four would go through memory. */
            memcpy(&v[k], x + j + k * W(LANES), sizeof v[k]);
            m[k] = PICK(v[k], m[k]);
        }
        nan |= TL_PASTE(TL_NAN_, TL_FLOAT_BYTES)(v[0], v[1]) |
               TL_PASTE(TL_NAN_, TL_FLOAT_BYTES)(v[2], v[3]);
    }
    E best = worst;
    int any_nan = memcmp(&nan, &no_nan, sizeof nan) != 0;
    /* NaN and the sign of a zero are handled below. */
    m[0] = PICK(PICK(m[0], m[1]), PICK(m[2], m[3]));
    for (int l = 0; l < W(LANES); l++) best = m[0][l] BEATS best ? m[0][l] : best;
    for (; j < n; j++) {
        E e;
        memcpy(&e, x + j, sizeof e);
        best = e BEATS best ? e : best;
        any_nan |= e != e;
    }
    if ((any_nan && !OP_MASKED) || best == 0 || best == worst) return W(key_extreme)(x, n);
    TL_ORD_T b;
    memcpy(&b, &best, sizeof b);
    return (TL_ORD_T)(b ^ ((b >> (8 * TL_SIZE - 1)) & (TL_ORD_T)TL_ORD_MAX));
}
#else
static TL_ORD_T W(chunk_extreme)(const E *x, int64_t n, int fetch)
{
    W(ovec) m[4], v[4];
    int64_t j = 0;
    for (int k = 0; k < 4; k++) m[k] = (W(ovec)){0} + (TL_ORD_T)KEY_WORST;
    for (; j + W(STEP) <= n; j += W(STEP)) {
        TL_FETCH(j, sizeof m)
        TL_UNROLL for (int k = 0; k < 4; k++)
        {
            memcpy(&v[k], x + j + k * W(LANES), sizeof v[k]);
#if TL_KIND_F
            W(ovec) number = (v[k] & 0x7fff) <= (TL_FORMAT == 16 ? 0x7c00 : 0x7f80);
            v[k] = v[k] ^ ((v[k] >> 15) & 0x7fff);
            v[k] =
                TL_BLEND(number, v[k], (W(ovec)){0} + (TL_ORD_T)(OP_MASKED ? KEY_WORST : KEY_BEST));
#endif
            m[k] = KEY_PICK(v[k], m[k]);
        }
    }
    TL_ORD_T best = W(key_extreme)(x + j, n - j);
    m[0] = KEY_PICK(KEY_PICK(m[0], m[1]), KEY_PICK(m[2], m[3]));
    for (int l = 0; l < W(LANES); l++) best = m[0][l] BEATS best ? m[0][l] : best;
    return best;
}
#endif

#if TL_OUT_IDX
/* The index of the first element with key k. Requires: there is one. Blocks of 64 have no branch
 * inside, so compilers vectorise them. */
static int64_t W(find_key)(const E *x, int64_t n, TL_ORD_T k, tl_par p)
{
    int64_t j = 0;
    for (; j + 64 <= n; j += 64) {
        TL_ORD_T hit = 0;
        for (int l = 0; l < 64; l++) hit |= W(lift1)(x + j + l, 0, p).m == k ? 1 : 0;
        if (hit) break;
    }
    while (W(lift1)(x + j, 0, p).m != k) j++;
    return j;
}
#endif

static void W(express)(SS *s, const E *x, int64_t n, int64_t i, int fetch, tl_par p)
{
    *s = W(lift1)(x, i, p);
    for (int64_t at = 0; at < n; at += W(CHUNK)) {
        int64_t m = n - at < W(CHUNK) ? n - at : W(CHUNK);
        TL_ORD_T k = W(chunk_extreme)(x + at, m, fetch);
        if (!(k BEATS s->m)) continue;
        s->m = k;
/* Only a chunk that beats the best so far is searched. */
#if TL_OUT_IDX
        s->i = i + at + W(find_key)(x + at, m, k, p);
#endif
    }
}
#undef BEATS
#undef PICK
#undef TL_FLOAT_BYTES
#undef KEY_PICK
#undef KEY_WORST
#undef KEY_BEST

#elif OP_ADDS == 1 && TL_SIZE == 8
/* 64-bit sums that wrap: plain additions. */
typedef uint64_t W(lanes) __attribute__((vector_size(TL_VECTOR_BYTES)));

static void W(express)(SS *s, const E *x, int64_t n, int64_t i, int fetch, tl_par p)
{
    enum { PER = TL_VECTOR_BYTES / 8 };
    W(lanes) a[4] = {{0}}, v;
    int64_t j = 0;
    for (; j + 4 * PER <= n; j += 4 * PER) {
        TL_FETCH(j, sizeof a)
        TL_UNROLL for (int k = 0; k < 4; k++)
        {
            memcpy(&v, x + j + k * PER, sizeof v);
            a[k] += v;
        }
    }
    a[0] += a[1] + a[2] + a[3];
    uint64_t sum = 0;
    for (int l = 0; l < PER; l++) sum += a[0][l];
    for (; j < n; j++) {
        E e;
        memcpy(&e, x + j, sizeof e);
        sum += (uint64_t)e;
    }
    s->s = sum;
    (void)i, (void)p;
}

#elif OP_ADDS == 1 && TL_SIZE == 1 && defined(TL_SUM_BYTES)
/* Bytes, biased to unsigned. psadbw adds eight of them into a 64-bit lane. */
static void W(express)(SS *s, const E *x, int64_t n, int64_t i, int fetch, tl_par p)
{
    typedef uint64_t lanes __attribute__((vector_size(TL_VECTOR_BYTES)));
    const lanes bias = (lanes){0} + (TL_KIND_I ? 0x8080808080808080u : 0);
    lanes a[4] = {{0}}, v;
    int64_t j = 0;
    for (; j + (int64_t)sizeof a <= n; j += sizeof a) {
        TL_FETCH(j, sizeof a)
        TL_UNROLL for (size_t k = 0; k < 4; k++)
        {
            memcpy(&v, x + j + k * sizeof v, sizeof v);
            a[k] += TL_SUM_BYTES(v ^ bias);
        }
    }
    a[0] += a[1] + a[2] + a[3];
    uint64_t sum = TL_KIND_I ? -(uint64_t)(128 * j) : 0;
    for (size_t l = 0; l < sizeof v / 8; l++) sum += a[0][l];
    for (; j < n; j++) sum += (uint64_t)x[j];
    s->s = sum;
    (void)i, (void)p;
}

#elif OP_ADDS
/* The exact sum of up to CHUNK elements, biased to unsigned: u8 in u16 lanes, u16 in u32 lanes, u32
 * and the halves of u64 in u64 lanes. A lane adds both halves of its part of the vector. 2 * CHUNK
 * / lanes values do not overflow a lane, for every vector width. */
#if TL_SIZE == 1
typedef uint16_t W(lane_t);
#elif TL_SIZE == 2
typedef uint32_t W(lane_t);
#else
typedef uint64_t W(lane_t);
#endif
typedef W(lane_t) W(lanes) __attribute__((vector_size(TL_VECTOR_BYTES)));

TL_INLINE unsigned __int128 W(biased_sum)(const E *x, int64_t n, int fetch)
{
    enum { HALF = TL_SIZE == 8 ? 32 : 8 * TL_SIZE, PER = TL_VECTOR_BYTES / TL_SIZE };
    const W(lane_t) low = ((W(lane_t))1 << HALF) - 1;
    const uint64_t sign = TL_KIND_I ? (uint64_t)1 << (8 * TL_SIZE - 1) : 0;
    /* the bias of every element in a lane */
    const W(lanes) bias = (W(lanes)){0} + (W(lane_t))(TL_SIZE == 8 ? sign : sign | sign << HALF);
    W(lanes) a = {0}, b = {0}, c = {0}, d = {0}, v;
    int64_t j = 0;
    for (; j + 2 * PER <= n; j += 2 * PER) {
        TL_FETCH(j, 2 * sizeof v)
        memcpy(&v, x + j, sizeof v);
        v ^= bias;
        a += v & low;
        b += v >> HALF;
        memcpy(&v, x + j + PER, sizeof v);
        v ^= bias;
        c += v & low;
        d += v >> HALF;
    }
    unsigned __int128 lows = 0, highs = 0;
    for (unsigned l = 0; l < sizeof v / sizeof v[0]; l++) {
        lows += (unsigned __int128)a[l] + c[l];
        highs += (unsigned __int128)b[l] + d[l];
    }
    for (; j < n; j++) {
        E e;
        memcpy(&e, x + j, sizeof e);
        lows += (uint64_t)e + sign;
    }
    return TL_SIZE == 8 ? lows + (highs << 32) : lows + highs;
}

static void W(express)(SS *s, const E *x, int64_t n, int64_t i, int fetch, tl_par p)
{
    const uint64_t sign = TL_KIND_I ? (uint64_t)1 << (8 * TL_SIZE - 1) : 0;
    /* A u16 lane holds 65535 / 255 = 257 additions of u8: 2 * 2 * 128 elements with vectors of 16
     * bytes, more with wider ones. */
    const int64_t chunk = TL_SIZE == 1 ? 256 * TL_VECTOR_BYTES : 32768;
    unsigned __int128 sum = 0;
    for (int64_t at = 0; at < n; at += chunk)
        sum += W(biased_sum)(x + at, n - at < chunk ? n - at : chunk, fetch);
    sum -= (unsigned __int128)sign * (unsigned __int128)n;
#if OP_ADDS == 2
    s->lo = (uint64_t)sum;
    s->hi = (uint64_t)(sum >> 64);
#else
    s->s = (uint64_t)sum;
#endif
    (void)i, (void)p;
}

#elif OP_PICKS
static void W(express)(SS *s, const E *x, int64_t n, int64_t i, int fetch, tl_par p)
{
    *s = W(lift1)(OP_PICKS < 0 ? x : x + n - 1, i, p);
    (void)fetch;
}

#else
static void W(express)(SS *s, const E *x, int64_t n, int64_t i, int fetch, tl_par p)
{
    int64_t j = 0;
    int have = 0;
    if (n >= 4 * TL_V) {
        VS a[4];
        for (int k = 0; k < 4; k++) a[k] = W(load)(x + k * TL_V, i + k * TL_V, p);
        for (j = 4 * TL_V; j + 4 * TL_V <= n; j += 4 * TL_V) {
            TL_FETCH(j, 4 * TL_V * sizeof(E))
            TL_UNROLL for (int k = 0; k < 4; k++) a[k] =
                TL_VE(combine)(a[k], W(load)(x + j + k * TL_V, i + j + k * TL_V, p));
        }
        a[0] = TL_VE(combine)(TL_VE(combine)(a[0], a[1]), TL_VE(combine)(a[2], a[3]));
        *s = W(lane)(a[0], 0);
        for (int l = 1; l < TL_V; l++) *s = TL_S(combine)(*s, W(lane)(a[0], l));
        have = 1;
    }
    for (; j < n; j++) {
        SS e = W(lift1)(x + j, i + j, p);
        *s = have ? TL_S(combine)(*s, e) : e;
        have = 1;
    }
}
#endif

/* Elements that a call converts itself (cpu/inputs/gather.h) are widened a piece at a time. */
static __attribute__((noinline)) void W(express_from)(SS *s, const char *x, int64_t n, int64_t i,
                                                      const tl_convert *from, int fetch, tl_par p)
{
    _Alignas(64) E wide[TL_WIDE_ROOM(W(PIECE))];
    const int64_t ahead = fetch ? tl_fetch_ahead(fetch) : 0;
    const tl_par q = p;
    SS piece;
    (void)q;
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < W(PIECE) ? n - at : W(PIECE);
        if (ahead) W(soon)(x + at * from->from_bytes, ahead, ahead + m * from->from_bytes);
        W(widened)(wide, W(PIECE), from, x + at * from->from_bytes, m, &p);
#if OP_EXTREME && TL_FLIPS
        for (int64_t j = 0; j < m; j++) wide[j] = TL_FLIPPED(wide[j], q);
        p.flip = 0;
#endif
        W(express)(at ? &piece : s, wide, m, i + at, 0, p);
        if (at) *s = W(combine_s)(*s, piece, at, m);
    }
}

static int W(do_express_nodes)(tl_state *out, const void *data, int64_t n, int64_t i,
                               const tl_convert *from, int fetch, tl_par p)
{
    const E *x = data;
    int top = 0;
    for (int64_t at = 0, rest = n; rest > 0; top++) {
        int64_t m = (int64_t)1 << tl_top_level(rest);
        SS s;
        if (from) W(express_from)
        (&s, (const char *)data + at * from->from_bytes, m, i + at, from, fetch, p);
        else W(express)(&s, x + at, m, i + at, fetch, p);
        memcpy(out + top, &s, sizeof s);
        at += m;
        rest -= m;
    }
    return top;
}

static void W(do_express_fold)(tl_state *out, const void *x, int64_t n, int64_t i,
                               const tl_convert *from, int fetch, tl_par p)
{
    SS s;
    if (from)
        W(express_from)(&s, x, n, i, from, fetch, p);
    else
        W(express)(&s, x, n, i, fetch, p);
    memcpy(out, &s, sizeof s);
}
#undef TL_FETCH
