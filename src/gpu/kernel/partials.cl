/* SPDX-License-Identifier: MIT
 * Elements in packs of 16 bytes, and the fast paths that fold packs; reduce.cl has one more. */
enum { PACK = 16 / TL_SIZE };

typedef struct ALIGNED(16) {
    u32 w[4];
} bundle;

fn elem pack_element(bundle v, int k)
{
#if OP_INPUTS == 2 || TL_SIZE == 8
    union {
        bundle all;
        elem e[PACK];
    } u;
    u.all = v;
    return u.e[k];
#else
    const u32 bits = v.w[k * TL_SIZE / 4] >> (8 * TL_SIZE * k) % 32;
#if TL_KIND == 3
    return bits_elem(bits);
#else
    return (elem)bits;
#endif
#endif
}

fn int is_packed(batch b, i64 first)
{
    return b.stride == 1 && ADDRESS(b.x + first * TL_SIZE) % 16 == 0;
}

/* Mean and sum of squared deviations (OP_MOMENTS) of integers of 8 or 16 bits. All means and m2 of
 * nodes of 2^k such elements, k <= 11, and all intermediate values of combine, are multiples of
 * 2^-k with less than 53 bits, so nothing is rounded. Then the node follows from the sums of the
 * elements and of their squares, in any order:
 *
 *   mean = sum / n        m2 = (n squares - sum sum) / n
 *
 * (n = 2^k; with 8 bits, k may be 19.) */
#define MOMENTS \
    (OP_MOMENTS && !TL_IN_PLACE && !OP_MASKED && TL_KIND != 3 && TL_SIZE <= 2 && TL_REAL_FLOAT == 8)

#if MOMENTS
typedef struct {
    u32 sum;
    u64 squares;
} moments;

fn moments moments_pack(moments t, bundle v)
{
#if TL_SIZE == 1
    u32 squares = 0;

    FOR(k, 4) squares = WORD_SQUARES(v.w[k], squares);
    t.squares += squares;
#else

    FOR(k, PACK) {
        const elem x = pack_element(v, k);
        t.squares += (u32)x * (u32)x;
    }
#endif
    FOR(k, 4) t.sum = WORD_SUM(v.w[k], t.sum);
    return t;
}

/* Returns the node of n elements, in every lane, from the sums of each lane. */
fn state moments_node(moments t, i64 n, LOCAL state *box)
{
    state s, got;
    s.mean = TL_KIND == 1 ? (real)(i32)t.sum : (real)t.sum, s.m2 = (real)t.squares;
    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        got = exchange(s, m, box);
        s.mean += got.mean, s.m2 += got.m2;
    }
    const i64 sum = (i64)s.mean, squares = (i64)s.m2;
    s.mean = (real)sum / (real)n, s.m2 = (real)(n * squares - sum * sum) / (real)n;
    return s;
}

/* Returns the node of a full chunk, in every lane. */
fn state chunk_moments(batch b, i64 from, i64 at, LOCAL state *box)
{
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + (from + at) * TL_SIZE) + lane_index();
    enum { PACKS = CHUNK / (LANES * PACK) };
    bundle e[PACKS];
    moments t;
    t.sum = 0, t.squares = 0;

    if (is_packed(b, from + at)) {
        FOR(r, PACKS) e[r] = x[r * LANES];
        FOR(r, PACKS) t = moments_pack(t, e[r]);
    } else {
        elem o[ROWS_E][QUAD];
        load_e(o, b, from, at, at + CHUNK);
        FOR(r, ROWS_E) {
            FOR(k, QUAD) t.sum += (u32)o[r][k], t.squares += (u32)o[r][k] * (u32)o[r][k];
        }
    }

    return moments_node(t, CHUNK, box);
}

#endif

/* Class X allows any order of evaluation (order.md, 6). Operators that also commute are folded
 * without exchanges between lanes: a lane takes a pack of 16 bytes of each row of 32 lanes and
 * accumulates a partial result; the lanes are joined at the end. PARTIALS is true if the operator
 * defines one of
 *
 *   OP_EXTREME 1, -1   a maximum or minimum of keys; elements of one or two bytes are compared in
 *                      pairs of 16 bits. If the result is an index, the lane keeps only the span
 *                      of 8 rows that has its best key; the element is looked up at the end
 *   OP_ADDS 1, 2       an integer sum: a word of several elements is added by one instruction, and
 *                      the 64 or 128 bits of the total once a span
 *   OP_COMMUTES 1      with a neutral state: folded element by element */
#define LANE_IS_IDX    1
#define LANE_IS_(lane) LANE_IS_##lane
#define LANE_IS(lane)  LANE_IS_(lane)
#define FINDS          (OP_EXTREME && LANE_IS(OP_LANE)) /* OP_LANE is IDX: finds an index */
#define PARTIALS \
    (OP_EXACT && !TL_IN_PLACE && (OP_EXTREME || OP_ADDS || (OP_COMMUTES && OP_NEUTRAL)))

#if PARTIALS
enum { SPAN_ROWS = 8, SPAN = SPAN_ROWS * LANES * PACK, CHUNK_ROWS = CHUNK / (LANES * PACK) };

/* The partial result of a lane: partial_none, then partial_pack for each pack, partial_span after
 * each span; partial_state is the state of all of it. i: index of the first element of the pack or
 * span, in rising order. */
#if OP_EXTREME
#if OP_EXTREME > 0
#define BEATS(a, b) ((a) > (b))
#define WORST       ORD_LOW
#define MOST(which) which##max
#else
#define BEATS(a, b) ((a) < (b))
#define WORST       ORD_HIGH
#define MOST(which) which##min
#endif
#define IN_PAIRS (TL_SIZE == 1 || (TL_SIZE == 2 && !(TL_KIND == 3 && OP_MASKED)))

#if IN_PAIRS
#if TL_KIND == 2
#define PAIR_MAX pair_max_u
#define PAIR_MIN pair_min_u
#else
#define PAIR_MAX pair_max_s
#define PAIR_MIN pair_min_s
#endif
#if OP_EXTREME > 0
#define PAIR_MOST  PAIR_MAX
#define PAIR_LEAST PAIR_MIN
#else
#define PAIR_MOST  PAIR_MIN
#define PAIR_LEAST PAIR_MAX
#endif
#define TWICE(k) ((u32)(k) << 16 | ((u32)(k)&0xffff))
/* Pairs of 16 bits. Bytes: a compares the odd bytes, as the high halves of its pairs (the even
 * bytes below them only decide between equal odd ones); b compares the even bytes in the same way.
 * Elements of two bytes: a is the best key, b the worst, which detects a NaN of either sign. */
typedef struct {
    u32 a, b;
} keys;

fn keys keys_none()
{
    keys r;
#if TL_SIZE == 1
    r.a = r.b = TWICE((u32)(u8)WORST << 8 | (OP_EXTREME > 0 ? 0 : 0xff));
#else
    r.a = TWICE(WORST), r.b = TWICE(~WORST);
#endif
    return r;
}

fn keys keys_pack(keys r, bundle v)
{
    FOR(k, 4) {
        u32 w = v.w[k];
#if TL_SIZE == 1
        r.a = PAIR_MOST(r.a, w);
        r.b = PAIR_MOST(r.b, w << 8);
#elif TL_KIND == 3
        w ^= (w >> 15 & 0x10001u) * 0x7fff; /* to two's complement, both halves */
        r.a = PAIR_MOST(r.a, w);
        r.b = PAIR_LEAST(r.b, w);
#else
        r.a = PAIR_MOST(r.a, w);
#endif
    }

    return r;
}

/* The best key of r. A NaN lies above inf or below -inf, ~inf as a key: the best and the worst key
 * show it. */
fn ord keys_most(keys r)
{
#if TL_SIZE == 1
    const u32 ab = PAIR_MOST(r.a, r.b);
    const ord high = (ord)(ab >> 24), low = (ord)(ab >> 8);
#else
    const ord high = (ord)(r.a >> 16), low = (ord)r.a;
#endif
#if TL_KIND == 3
    const ord least_high = (ord)(r.b >> 16), least_low = (ord)r.b, inf = TL_HALF_INF;
    const ord least = BEATS(least_high, least_low) ? least_low : least_high,
              most = BEATS(high, low) ? high : low;
    const ord above = OP_EXTREME > 0 ? most : least, below = OP_EXTREME > 0 ? least : most;

    return above > inf || below < (ord)~inf ? (ord)~WORST : most; /* NaN wins */
#else
    return BEATS(high, low) ? high : low;
#endif
}
#else
typedef ord keys;

fn keys keys_none() { return WORST; }
fn keys keys_pack(keys r, bundle v)
{
    par none;
    none.value = 0, none.origin = 0;
    FOR(k, PACK) {
        const ord m = lift(pack_element(v, k), 0, none).m;
        r = BEATS(m, r) ? m : r;
    }
    return r;
}

fn ord keys_most(keys r) { return r; }
#endif

typedef struct {
    keys part;
    state best;
} lane_partial;

fn state none_of(par p)
{
    state r;
    r.m = WORST;
#if FINDS
    r.i = (i64)((u64)-1 >> 1); /* later than all others */
#endif
    return r;
}

/* C(a, b) for operands in any order: of equal keys, the one with the lower index wins. */
fn state join(state a, state b)
{
#if FINDS
    return choose(BEATS(b.m, a.m) || (b.m == a.m && b.i < a.i), b, a);
#else
    return combine(a, b);
#endif
}

fn lane_partial partial_none(par p)
{
    lane_partial r;
    r.part = keys_none(), r.best = none_of(p);
    return r;
}

fn lane_partial partial_pack(lane_partial t, bundle v, i64 i, par p)
{
    t.part = keys_pack(t.part, v);
    return t;
}

fn lane_partial partial_span(lane_partial t, i64 i)
{
#if FINDS
    const ord m = keys_most(t.part);
    /* t.best.i > i: this is the first span, which replaces none_of even with its key */
    if (BEATS(m, t.best.m) || t.best.i > i) t.best.m = m, t.best.i = i;
    t.part = keys_none();
#endif
    return t;
}

fn state partial_state(lane_partial t)
{
#if !FINDS
    t.best.m = keys_most(t.part);
#endif
    return t.best;
}

#else /* not OP_EXTREME */
fn state none_of(par p) { return neutral(p); }
fn state join(state a, state b) { return combine(a, b); }

#if OP_ADDS && TL_SIZE < 8
#if TL_SIZE == 4
typedef u64 partial;
#else
typedef u32 partial; /* the sum of a span: at most 2^21 in magnitude */
#endif

typedef struct {
    partial part;
    state all;
} lane_partial;

fn lane_partial partial_none(par p)
{
    lane_partial r;
    r.part = 0, r.all = neutral(p);
    return r;
}

fn lane_partial partial_pack(lane_partial t, bundle v, i64 i, par p)
{
#if TL_SIZE == 4
    FOR(k, PACK) t.part += (u64)(i64)pack_element(v, k);
#else
    FOR(k, 4) t.part = WORD_SUM(v.w[k], t.part);
#endif
    return t;
}

fn lane_partial partial_span(lane_partial t, i64 i)
{
    state s;
#if TL_SIZE == 4
    const u64 sum = t.part;
#elif TL_KIND == 1
    const u64 sum = (u64)(i64)(i32)t.part;
#else
    const u64 sum = t.part;
#endif
#if OP_ADDS == 2
    s.lo = sum, s.hi = wide_sign(sum);
#else
    s.s = sum;
#endif
    t.all = combine(t.all, s);
    t.part = 0;

    return t;
}

#else
typedef struct {
    state all;
} lane_partial;

fn lane_partial partial_none(par p)
{
    lane_partial r;
    r.all = neutral(p);
    return r;
}

fn lane_partial partial_pack(lane_partial t, bundle v, i64 i, par p)
{
    FOR(k, PACK) t.all = combine(t.all, lift_e(pack_element(v, k), i + k, p));
    return t;
}

fn lane_partial partial_span(lane_partial t, i64 i) { return t; }
#endif

fn state partial_state(lane_partial t) { return t.all; }
#endif

/* Returns the join of the states of `lanes` neighbouring lanes, a power of two, in each of them. */
fn state join_lanes(state v, int lanes, LOCAL state *box)
{
    UNROLL for (int m = 1; m < lanes; m <<= 1) v = join(v, exchange(v, m, box));
    return v;
}

#if !FINDS
/* The node of a full chunk, in every lane: elements at .. at + CHUNK - 1 of the sequence from place
 * `from` on. */
fn state chunk_partials(batch b, i64 from, i64 at, LOCAL state *box)
{
    state v;
    if (is_packed(b, from + at)) {
        GLOBAL const bundle *x =
            (GLOBAL const bundle *)(b.x + (from + at) * TL_SIZE) + lane_index();
        const i64 i = at + lane_index() * PACK;
        bundle e[CHUNK_ROWS];
        lane_partial t = partial_none(b.p);
        FOR(r, CHUNK_ROWS) e[r] = x[r * LANES];
        FOR(r, CHUNK_ROWS) t = partial_pack(t, e[r], i + r * LANES * PACK, b.p);
        v = partial_state(partial_span(t, i));
    } else {
        elem e[ROWS_E][QUAD];
        load_e(e, b, from, at, at + CHUNK);
        v = none_of(b.p);

        FOR(r, ROWS_E) {
            const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
            FOR(k, QUAD) v = join(v, lift_e(e[r][k], i + k, b.p));
        }
    }

    return join_lanes(v, LANES, box);
}
#endif
#endif
