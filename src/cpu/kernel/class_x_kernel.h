/* SPDX-License-Identifier: MIT
 * Fast reductions of class X on one core. combine is exactly associative, so any order gives the
 * law's bits. One of these is compiled, depending on the operator's facts:
 *
 *   OP_EXTREME          max, min and their arg and nan forms: the extreme of a chunk by compares of
 *                       floats or keys; the keys of chunks are compared once per chunk
 *   OP_ADDS             integer sums of elements narrower than the sum: unsigned partial sums in
 *                       lanes twice as wide as an element; the wide sum once per chunk
 *   bits and truths     of integers: four vectors of whole elements, joined bit by bit
 *   others              four striped accumulators of the vector text; with OP_PICKS, which tells
 *                       that one element decides, that element
 *
 * W(class_x)(s, x, n, i, prefetch, p): *s = the state of n > 0 elements. */

/* Elements of a chunk: 16 KiB if the chunk may be searched again for an index, else 256 KiB. */
#if TL_OUT_IDX
enum { W(CHUNK) = 16384 / TL_SIZE };
#else
enum { W(CHUNK) = 262144 / TL_SIZE };
#endif

/* Prefetches in a loop that reads `bytes` bytes from x + j on. */
#define TL_PREFETCH(j, bytes) \
    if (prefetch) tl_prefetch_bytes(x + (j), bytes, tl_prefetch_distance(prefetch), prefetch, 0);

#if OP_EXTREME
/* The extreme of a chunk as a key (op/max.h, op/min.h). Floats are compared as floats, which skips
 * NaN and does not distinguish -0 from +0; NaN are counted beside it. Where that may matter (a NaN
 * that wins, an extreme of zero or the initial infinity), keys are compared instead. */
#define COMPARES_FLOATS (TL_KIND_F && TL_FORMAT == 0)
#if OP_EXTREME > 0
#define BEATS       >
#define KEY_WORST   TL_ORD_MIN
#define KEY_BEST    TL_ORD_MAX
#define FLOAT_WORST (-__builtin_inf())
#else
#define BEATS       <
#define KEY_WORST   TL_ORD_MAX
#define KEY_BEST    TL_ORD_MIN
#define FLOAT_WORST __builtin_inf()
#endif

typedef TL_ORD_T W(keys) __attribute__((vector_size(TL_VECTOR_BYTES)));
#if COMPARES_FLOATS
typedef E W(lanes) __attribute__((vector_size(TL_VECTOR_BYTES)));
#define BETTER(v, m) TL_FLOATS(TL_BEST, TL_SIZE, v, m)
#else
typedef W(keys) W(lanes);
#define BETTER(v, m) TL_EXTREME(TL_BEST, v, m)
#endif

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

/* Elements as they are compared: halves become keys. */
TL_INLINE W(lanes) W(compared)(W(lanes) v)
{
#if TL_KIND_F && !COMPARES_FLOATS
    const W(keys) number = (v & 0x7fff) <= (TL_FORMAT == 16 ? 0x7c00 : 0x7f80);
    v = v ^ ((v >> 15) & 0x7fff);
    v = TL_BLEND(number, v, (W(keys)){0} + (TL_ORD_T)(OP_MASKED ? KEY_WORST : KEY_BEST));
#endif
    return v;
}

static TL_ORD_T W(chunk_extreme)(const E *x, int64_t n, int prefetch)
{
#if COMPARES_FLOATS
    TL_NANS(W(keys)) nan = {0}, no_nan = {0};
    E best = (E)FLOAT_WORST;
#else
    TL_ORD_T best = KEY_WORST;
#endif
    TL_ORD_T key = KEY_WORST;
    W(lanes) m[4], v[4];
    int64_t j = 0;
    for (int k = 0; k < 4; k++) m[k] = (W(lanes)){0} + best;

    for (; j + W(STEP) <= n; j += W(STEP)) {
        TL_PREFETCH(j, sizeof m)
        TL_FOR(k, 4) {
            /* Copied singly: a copy of all four would go through memory. */
            memcpy(&v[k], x + j + k * W(LANES), sizeof v[k]);
            m[k] = BETTER(W(compared)(v[k]), m[k]);
        }
#if COMPARES_FLOATS
        nan |= TL_PASTE(TL_NAN_, TL_SIZE)(v[0], v[1]) | TL_PASTE(TL_NAN_, TL_SIZE)(v[2], v[3]);
#endif
    }

    m[0] = BETTER(BETTER(m[0], m[1]), BETTER(m[2], m[3]));
    for (int l = 0; l < W(LANES); l++) best = m[0][l] BEATS best ? m[0][l] : best;
#if COMPARES_FLOATS
    memcpy(&key, &best, sizeof key);
    key = (TL_ORD_T)(key ^ ((key >> (8 * TL_SIZE - 1)) & (TL_ORD_T)TL_ORD_MAX));
    if ((memcmp(&nan, &no_nan, sizeof nan) && !OP_MASKED) || best == 0 || best == (E)FLOAT_WORST)
        key = KEY_WORST, j = 0;
#else
    key = best;
#endif
    const TL_ORD_T rest = W(key_extreme)(x + j, n - j);

    return rest BEATS key ? rest : key;
}

#if TL_OUT_IDX
/* The index of the first element with key k, which there is. Blocks of 64 have no branch inside, so
 * compilers vectorise them. */
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

static void W(class_x)(SS *s, const E *x, int64_t n, int64_t i, int prefetch, tl_par p)
{
    *s = W(lift1)(x, i, p);
    for (int64_t at = 0; at < n; at += W(CHUNK)) {
        int64_t m = n - at < W(CHUNK) ? n - at : W(CHUNK);
        TL_ORD_T k = W(chunk_extreme)(x + at, m, prefetch);
        if (!(k BEATS s->m)) continue;
        s->m = k;
/* Only a chunk that beats the best so far is searched. */
#if TL_OUT_IDX
        s->i = i + at + W(find_key)(x + at, m, k, p);
#endif
    }
}
#undef COMPARES_FLOATS
#undef BETTER
#undef FLOAT_WORST
#undef BEATS
#undef KEY_WORST
#undef KEY_BEST

#elif OP_ADDS && (TL_SIZE < 8 || OP_ADDS == 2)
TL_INLINE void W(set_sum)(SS *s, unsigned __int128 sum)
{
#if OP_ADDS == 2
    s->lo = (uint64_t)sum;
    s->hi = (uint64_t)(sum >> 64);
#else
    s->s = (uint64_t)sum;
#endif
}

#if TL_SIZE == 1 && defined(TL_SUM_BYTES)
/* Bytes, biased to unsigned: psadbw adds eight into a 64-bit lane. Of V short rows, each has a
 * vector of such sums; the network adds their lanes. */
#define TL_SUMS_ROWS 1
typedef uint64_t W(words) __attribute__((vector_size(TL_VECTOR_BYTES)));

/* The sums of eight bytes each of the vector at x, of the bytes that `mask` keeps. */
TL_INLINE W(words) W(byte_sums)(const void *x, W(words) mask)
{
    const W(words) bias = (W(words)){0} + (TL_KIND_I ? 0x8080808080808080u : 0);
    W(words) v;
    memcpy(&v, x, sizeof v);
    return TL_SUM_BYTES((v ^ bias) & mask);
}

/* A mask of the first n bytes. */
TL_INLINE W(words) W(first_bytes)(int64_t n)
{
    W(words) mask;
    memcpy(&mask, (const char *)tl_ones_and_zeros + 64 - n, sizeof mask);
    return mask;
}

/* The sums of the n bytes at x. Reads whole vectors, but nothing at or after `end`. */
TL_INLINE W(words) W(row_words)(const E *x, int64_t n, const E *end, int prefetch)
{
    enum { VECTOR = TL_VECTOR_BYTES };
    const W(words) all = ~(W(words)){0};
    W(words) sum[4] = {{0}}, v;
    int64_t j = 0;

    if (n <= VECTOR && end - x >= VECTOR) /* without a branch on n */
        return W(byte_sums)(x, W(first_bytes)(n));

    for (; j + 4 * VECTOR <= n; j += 4 * VECTOR) {
        TL_PREFETCH(j, sizeof sum)
        TL_FOR(k, 4) sum[k] += W(byte_sums)(x + j + k * VECTOR, all);
    }
    sum[0] += sum[1] + sum[2] + sum[3];
    for (; j + VECTOR <= n; j += VECTOR) sum[0] += W(byte_sums)(x + j, all);
    if (j == n) return sum[0];

    v = sum[0]; /* any value: the mask keeps none of these bytes */
    memcpy(&v, x + j, end - x >= j + VECTOR ? VECTOR : (size_t)(n - j));
    return sum[0] + W(byte_sums)(&v, W(first_bytes)(n - j));
}

static void W(class_x)(SS *s, const E *x, int64_t n, int64_t i, int prefetch, tl_par p)
{
    const W(words) sums = W(row_words)(x, n, x + n, prefetch);
    int64_t sum = TL_KIND_I ? -128 * n : 0;
    for (size_t l = 0; l < sizeof sums / 8; l++) sum += (int64_t)sums[l];
    W(set_sum)(s, (unsigned __int128)sum);
}

/* Writes the results of `count` <= V rows of n[k] bytes, from their sums of biased bytes. */
TL_INLINE void W(put_sums)(TL_OUT_T *out, const W(words) * sums, TL_VE(wide) n, int count, tl_par p)
{
    const TL_VE(wide) bias = TL_KIND_I ? n * 128 : n ^ n;
    VS v[TL_V], all;

    for (int k = 0; k < TL_V; k++) {
#if OP_ADDS == 2
        v[k].lo = sums[k];
        v[k].hi = sums[k] ^ sums[k];
#else
        v[k].s = sums[k];
#endif
    }
    all = W(network)(v, 1);
#if OP_ADDS == 2
    all.hi -= (TL_VE(wide))(-(all.lo < bias));
    all.lo -= bias;
#else
    all.s -= bias;
#endif
    const TL_VE(result) r = TL_VE(lower)(all, TL_TO(n, TL_REAL_T), (TL_VE(idx)){0}, p);
    memcpy(out, &r, (size_t)count * sizeof *out);
}

/* Rows of one length, of whose bytes the first `whole` fill vectors and 1 or more are left, as long
 * as whole vectors may be read. Returns how many rows were summed. */
TL_INLINE int64_t W(even_rows)(const tl_dense_rows *rows, int64_t whole, tl_par p)
{
    const E *const x = rows->x;
    const int64_t each = rows->n, pitch = rows->pitch, vector = TL_VECTOR_BYTES,
                  bytes = (rows->rows - 1) * pitch + each;
    const W(words) mask = W(first_bytes)(each - whole), all = ~(W(words)){0};
    const TL_VE(wide) n = (TL_VE(wide)){0} + (uint64_t)each;
    int64_t r = 0;

    for (; r + TL_V <= rows->rows && bytes >= (r + TL_V - 1) * pitch + whole + vector; r += TL_V) {
        W(words) sums[TL_V];
        TL_FOR(k, TL_V) {
            const E *const row = x + (r + k) * pitch;
            W(words) sum = W(byte_sums)(row + whole, mask);
            for (int64_t j = 0; j < whole; j += vector) sum += W(byte_sums)(row + j, all);
            sums[k] = sum;
        }
        W(put_sums)((TL_OUT_T *)rows->out + r, sums, n, TL_V, p);
    }
    return r;
}

static void W(do_fold_rows)(const tl_dense_rows *rows, tl_par p)
{
    const E *const x = rows->x, *end = x + (rows->rows - 1) * rows->pitch + rows->n;
    TL_OUT_T *const out = rows->out;
    const int64_t each = rows->n, pitch = rows->pitch;
    int64_t r = 0;

    assert(rows->rows > 0);
    if (rows->offsets)
        end = x + rows->offsets[rows->rows];
    else if (0 < each && each <= TL_VECTOR_BYTES)
        r = W(even_rows)(rows, 0, p);
    else if (each > 0)
        r = W(even_rows)(rows, (each - 1) & -(int64_t)TL_VECTOR_BYTES, p);

    for (; r < rows->rows; r += TL_V) {
        const int count = rows->rows - r < TL_V ? (int)(rows->rows - r) : TL_V;
        TL_VE(wide) n = {0};
        W(words) sums[TL_V];
        for (int k = 0; k < TL_V; k++) {
            const int64_t row = r + (k < count ? k : 0),
                          from = rows->offsets ? rows->offsets[row] : row * pitch;
            n[k] = (uint64_t)(rows->offsets ? rows->offsets[row + 1] - from : each);
            sums[k] = W(row_words)(x + from, (int64_t)n[k], end, 0);
        }
        W(put_sums)(out + r, sums, n, count, p);
        for (int k = 0; k < count; k++)
            if (n[k] == 0) {
                const TL_OUT_T none = TL_S(empty)(p);
                memcpy(out + r + k, &none, sizeof none); /* out has any alignment */
            }
    }
}

#else
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

TL_INLINE unsigned __int128 W(biased_sum)(const E *x, int64_t n, int prefetch)
{
    enum { HALF = TL_SIZE == 8 ? 32 : 8 * TL_SIZE, PER = TL_VECTOR_BYTES / TL_SIZE };
    const W(lane_t) low = ((W(lane_t))1 << HALF) - 1;
    const uint64_t sign = TL_KIND_I ? (uint64_t)1 << (8 * TL_SIZE - 1) : 0;

    /* the bias of every element in a lane */
    const W(lanes) bias = (W(lanes)){0} + (W(lane_t))(TL_SIZE == 8 ? sign : sign | sign << HALF);
    W(lanes) a = {0}, b = {0}, c = {0}, d = {0}, v;
    int64_t j = 0;
    for (; j + 2 * PER <= n; j += 2 * PER) {
        TL_PREFETCH(j, 2 * sizeof v)
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

static void W(class_x)(SS *s, const E *x, int64_t n, int64_t i, int prefetch, tl_par p)
{
    const uint64_t sign = TL_KIND_I ? (uint64_t)1 << (8 * TL_SIZE - 1) : 0;
    /* A u16 lane holds 65535 / 255 = 257 additions of u8: 2 * 2 * 128 elements with vectors of 16
     * bytes, more with wider ones. */
    const int64_t chunk = TL_SIZE == 1 ? 256 * TL_VECTOR_BYTES : 32768;
    unsigned __int128 sum = 0;

    for (int64_t at = 0; at < n; at += chunk)
        sum += W(biased_sum)(x + at, n - at < chunk ? n - at : chunk, prefetch);
    W(set_sum)(s, sum - (unsigned __int128)sign * (unsigned __int128)n);
}

#endif

#elif !OP_PICKS && TL_KIND != 3 && \
    (TL_WIDEN == TL_WIDEN_BITS || TL_WIDEN == TL_WIDEN_NONZERO || \
     TL_WIDEN == TL_WIDEN_NONZERO_LOW)
typedef E W(lanes) __attribute__((vector_size(TL_VECTOR_BYTES)));

/* A vector of elements; of truths all bits of an element that is not zero. */
TL_INLINE W(lanes) W(bits)(const E *x)
{
    W(lanes) v;
    memcpy(&v, x, sizeof v);
    return TL_WIDEN == TL_WIDEN_BITS ? v : (W(lanes))(v != 0);
}

/* combine of all bits: and, xor or or, which compilers know from three of its results. */
TL_INLINE W(lanes) W(joined)(W(lanes) a, W(lanes) b)
{
    const SS zero = {.m = 0}, one = {.m = 1};
    return !TL_S(combine)(zero, one).m ? a & b : !TL_S(combine)(one, one).m ? a ^ b : a | b;
}

TL_INLINE SS W(singly)(const E *x, int64_t n, tl_par p)
{
    SS s = W(lift1)(x, 0, p);
    for (int64_t j = 1; j < n; j++) s = TL_S(combine)(s, W(lift1)(x + j, 0, p));
    return s;
}

static void W(class_x)(SS *s, const E *x, int64_t n, int64_t i, int prefetch, tl_par p)
{
    enum { LANES = TL_VECTOR_BYTES / TL_SIZE, STEP = 4 * LANES };
    W(lanes) a[4];
    int64_t j = STEP;

    if (n < STEP) {
        *s = W(singly)(x, n, p);
        return;
    }
    for (int k = 0; k < 4; k++) a[k] = W(bits)(x + k * LANES);
    for (; j + STEP <= n; j += STEP) {
        TL_PREFETCH(j, sizeof a)
        TL_FOR(k, 4) a[k] = W(joined)(a[k], W(bits)(x + j + k * LANES));
    }
    a[0] = W(joined)(W(joined)(a[0], a[1]), W(joined)(a[2], a[3]));
    *s = W(singly)((const E *)a, LANES, p);
    if (j < n) *s = TL_S(combine)(*s, W(singly)(x + j, n - j, p));
}

#else
static void W(class_x)(SS *s, const E *x, int64_t n, int64_t i, int prefetch, tl_par p)
{
    int64_t j = 0;
    if (OP_PICKS) {
        *s = W(lift1)(OP_PICKS < 0 ? x : x + n - 1, i, p);
        return;
    }

    if (n >= 4 * TL_V) {
        VS a[4];
        for (int k = 0; k < 4; k++) a[k] = W(load)(x + k * TL_V, i + k * TL_V, p);
        for (j = 4 * TL_V; j + 4 * TL_V <= n; j += 4 * TL_V) {
            TL_PREFETCH(j, 4 * TL_V * sizeof(E))
            TL_FOR(k, 4)
                a[k] = TL_VE(combine)(a[k], W(load)(x + j + k * TL_V, i + j + k * TL_V, p));
        }

        a[0] = TL_VE(combine)(TL_VE(combine)(a[0], a[1]), TL_VE(combine)(a[2], a[3]));
        *s = W(lane)(a[0], 0);
        for (int l = 1; l < TL_V; l++) *s = TL_S(combine)(*s, W(lane)(a[0], l));
    } else {
        *s = W(lift1)(x, i, p);
        j = 1;
    }

    for (; j < n; j++) *s = TL_S(combine)(*s, W(lift1)(x + j, i + j, p));
}
#endif

#if TL_FULL
static __attribute__((noinline)) void W(do_fold)(tl_state *out, const tl_elements *in, tl_par p);

/* Elements that a call converts itself (cpu/inputs/inputs.h) are widened a piece at a time. */
static __attribute__((noinline)) void W(class_x_from)(SS *s, const tl_elements *in, tl_par p)
{
    _Alignas(64) E wide[TL_WIDE_CAPACITY(W(PIECE))];
    const char *x = in->x;
    const int64_t bytes = in->from->from_bytes,
                  prefetch_distance = in->prefetch ? tl_prefetch_distance(in->prefetch) : 0;
    const tl_par q = p;

    (void)q;
    for (int64_t at = 0, m; at < in->n; at += m) {
        tl_state folded;
        SS piece;

        m = in->n - at < W(PIECE) ? in->n - at : W(PIECE);
        if (prefetch_distance)
            W(prefetch_between)(x + at * bytes, prefetch_distance, prefetch_distance + m * bytes);
        W(widened)(wide, W(PIECE), in->from, x + at * bytes, m, &p);
#if OP_EXTREME && TL_FLIPS
        for (int64_t j = 0; j < m; j++) wide[j] = TL_FLIPPED(wide[j], q);
        p.flip = 0;
#endif
        W(do_fold)(&folded, &(tl_elements){wide, m, in->i + at, NULL, TL_CACHED}, p);
        memcpy(&piece, &folded, sizeof piece);
        *s = at ? W(combine_s)(*s, piece, at, m) : piece;
    }
}
#endif

/* Only kernels of all shapes get elements that are converted. */
static void W(do_fold)(tl_state *out, const tl_elements *in, tl_par p)
{
    SS s;

    assert(in->n > 0 && (TL_FULL || !in->from));
#if TL_FULL
    if (in->from)
        W(class_x_from)(&s, in, p);
    else
#endif
        W(class_x)(&s, in->x, in->n, in->i, in->prefetch, p);
    memcpy(out, &s, sizeof s);
}
#undef TL_PREFETCH
