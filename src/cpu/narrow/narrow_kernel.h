/* SPDX-License-Identifier: MIT
 * The loops of narrow.h for keys of type T (included three times by narrow_kernels.c). */
typedef T N(keys) __attribute__((vector_size(TL_VECTOR_BYTES)));
#define V     N(keys)
#define LANES ((int64_t)(TL_VECTOR_BYTES / sizeof(T)))

/* ---- elements and keys ---- */

TL_INLINE V N(key)(V x, tl_keying k)
{
#if HALVES
    typedef int16_t ints __attribute__((vector_size(TL_VECTOR_BYTES)));
    V r = x ^ (V)((ints)x >> 15 & 0x7fff) ^ k.flip;
    return TL_BLEND((x & 0x7fff) > k.inf, (V){0} + k.nan, r);
#else
    return x ^ (T)k.flip;
#endif
}

TL_INLINE V N(value)(V x, tl_keying k)
{
    x ^= (T)k.flip;
#if HALVES
    typedef int16_t ints __attribute__((vector_size(TL_VECTOR_BYTES)));
    x ^= (V)((ints)x >> 15 & 0x7fff);
    x = TL_BLEND((x & 0x7fff) > k.inf, (V){0} + k.missing, x);
#endif
    return x;
}

TL_INLINE V N(load)(const T *x, tl_keying k)
{
    V v;
    memcpy(&v, x, sizeof v);
    return N(key)(v, k);
}
/* m > 0 elements; keys of the other lanes may be anything. */
TL_INLINE V N(load_some)(const T *x, int64_t m, tl_keying k)
{
    if (m >= LANES) return N(load)(x, k);
    return N(key)((V)load_raw(x, m * (int64_t)sizeof(T)), k);
}
TL_INLINE V N(get)(const T *x)
{
    V v;
    memcpy(&v, x, sizeof v);
    return v;
}
TL_INLINE void N(set)(T *x, V v) { memcpy(x, &v, sizeof v); }

TL_INLINE void N(put)(T *to, V v, int stream, tl_keying k)
{
    v = N(value)(v, k);
    if (stream)
        tl_stream_store(to, &v, sizeof v);
    else
        memcpy(to, &v, sizeof v);
}
/* 0 < m < LANES results. */
TL_INLINE void N(put_some)(T *to, V v, int64_t m, tl_keying k)
{
    store_raw(to, (vec)N(value)(v, k), m * (int64_t)sizeof(T));
}

/* Results before `to` is aligned to a vector; 0 where nothing is streamed. */
TL_INLINE int64_t N(head)(const T *to, int stream)
{
    return stream ? (int64_t)(-(uintptr_t)to & (TL_VECTOR_BYTES - 1)) / (int64_t)sizeof(T) : 0;
}

/* ---- running keys of a vector ---- */

/* Lane l becomes the largest of lanes 0 .. l; *all: the largest, in every lane. */
TL_INLINE V N(prefixes)(V v, V *all)
{
    if (sizeof(T) == 1) v = MOST(v, (V)GROUP_UP(v, 1));
    v = MOST(v, (V)GROUP_UP(v, 2));
    v = MOST(v, (V)GROUP_UP(v, 4));
    v = MOST(v, (V)GROUP_UP(v, 8));
    V ends = (V)SPREAD(v, LAST);
#if GROUPS > 1
    const V before = (V)ONE_UP(ends);
#if GROUPS == 4
    ends = MOST(ends, before);
    ends = MOST(ends, (V)TWO_UP(ends));
    v = MOST(v, (V)ONE_UP(ends));
#else
    ends = MOST(ends, before);
    v = MOST(v, before);
#endif
    ends = (V)LAST_GROUP(ends);
#endif
    *all = ends;
    return v;
}

/* The same from the other end. */
TL_INLINE V N(suffixes)(V v, V *all)
{
    if (sizeof(T) == 1) v = MOST(v, (V)GROUP_DOWN(v, 1));
    v = MOST(v, (V)GROUP_DOWN(v, 2));
    v = MOST(v, (V)GROUP_DOWN(v, 4));
    v = MOST(v, (V)GROUP_DOWN(v, 8));
    V ends = (V)SPREAD(v, FIRST);
#if GROUPS > 1
    const V after = (V)ONE_DOWN(ends);
#if GROUPS == 4
    ends = MOST(ends, after);
    ends = MOST(ends, (V)TWO_DOWN(ends));
    v = MOST(v, (V)ONE_DOWN(ends));
#else
    ends = MOST(ends, after);
    v = MOST(v, after);
#endif
    ends = (V)FIRST_GROUP(ends);
#endif
    *all = ends;
    return v;
}

/* ---- scan ---- */

static uint16_t N(scan)(void *to, const void *data, int64_t m, uint16_t first, int exclusive, int stream,
                        int64_t ahead, tl_keying k)
{
    const T *x = data;
    T *out = to;
    const int way = ahead ? tl_fetch_way() : 0;
    V before = (V){0} + (T)first, run = {0}, all = {0};
    int64_t j = 0;
    if (exclusive) { /* each result goes one place on; its place may be that of the next vector's first element */
        V v = N(load_some)(x, m, k), r;
        N(put_some)(out, before, 1, k);
        for (; j + LANES < m; j += LANES) {
            const V next = N(load_some)(x + j + LANES, m - j - LANES, k);
            r = N(prefixes)(v, &all);
            N(put)(out + j + 1, MOST(MOST(r, run), before), 0, k);
            run = MOST(run, all);
            v = next;
        }
        r = MOST(N(prefixes)(v, &all), run);
        if (m - j > 1) N(put_some)(out + j + 1, MOST(r, before), m - j - 1, k);
        return r[m - j - 1];
    }
    const int64_t head = N(head)(out, stream);
    if (head && m > head) { /* up to where results are aligned */
        const V r = N(prefixes)(N(load_some)(x, head, k), &all);
        N(put_some)(out, MOST(r, before), head, k);
        run += r[head - 1];
        j = head;
    }
#define STEPS(streams)                                                                                                 \
    for (; j + LANES <= m; j += LANES) {                                                                               \
        if (way == TL_LINES) __builtin_prefetch((const void *)((uintptr_t)(x + j) + (uintptr_t)ahead), 0, 2);          \
        if (way == TL_PAGES && j * (int64_t)sizeof(T) % 256 < TL_VECTOR_BYTES) tl_fetch(x + j, 256, ahead, way);       \
        const V r = N(prefixes)(N(load)(x + j, k), &all);                                                              \
        N(put)(out + j, MOST(MOST(r, run), before), streams, k);                                                       \
        run = MOST(run, all);                                                                                          \
    }
    if (stream) {
        STEPS(1)
    } else {
        STEPS(0)
    }
#undef STEPS
    if (j == m) return run[0];
    const V r = MOST(N(prefixes)(N(load_some)(x + j, m - j, k), &all), run);
    N(put_some)(out + j, MOST(r, before), m - j, k);
    return r[m - j - 1];
}

/* ---- windows ---- */

/* The largest of 2^levels elements that end at each lane; last[] has the vectors before. */
TL_INLINE V N(climb)(V v, V *last, int levels)
{
#define CLIMB(level)                                                                                                   \
    if (levels > (level) && (sizeof(T) << (level)) < TL_VECTOR_BYTES) {                                                \
        const V before = last[level];                                                                                  \
        last[level] = v;                                                                                               \
        v = MOST(v, (V)DELAYED(before, v, ((int)sizeof(T) << (level)) % TL_VECTOR_BYTES));                             \
    }
    CLIMB(0)
    CLIMB(1)
    CLIMB(2)
    CLIMB(3)
    CLIMB(4)
    CLIMB(5)
#undef CLIMB
    return v;
}

/* y[i], `count` of them: the largest of the 2^levels elements that end at x[i]. Nothing is read before `begin`, nor from
 * `end` on; the first elements have fewer before them. */
TL_INLINE void N(climb_all)(T *y, const T *x, int64_t count, const T *begin, const T *end, int levels, tl_keying k)
{
    V last[6] = {{0}};
    for (int64_t i = 0; i < count; i += LANES) {
        const int64_t before = begin - (x + i);
        V v;
        if (before > 0) {
            T some[LANES] = {0};
            memcpy(some + before, begin, (size_t)(end - begin < LANES - before ? end - begin : LANES - before) * sizeof(T));
            v = N(load)(some, k);
        } else {
            v = N(load_some)(x + i, end - (x + i), k);
        }
        N(set)(y + i, N(climb)(v, last, levels));
    }
}

/* The largest of 2, 4, 8 .. elements that end at each place of a tile, then two of them that overlap. */
static void N(window_short)(T *out, const T *x, int64_t m, int64_t w, int stream, tl_keying k)
{
    enum { TILE = 4096 / sizeof(T), WITHIN = TL_VECTOR_BYTES / sizeof(T) };
    _Alignas(64) T y[TILE + TL_NARROW_SHORT + 3 * WITHIN];
    const int64_t top = tl_top_level(w), over = w - ((int64_t)1 << top),
                  lead = -(w - 1) & (LANES - 1); /* places before x, so that results begin with a vector */
    const T *const begin = x, *const end = x + m + w - 1;
    int64_t now = N(head)(out, stream);
    for (now = now && now < m ? now : m < TILE ? m : TILE; m > 0;
         x += now, out += now, m -= now, now = m < TILE ? m : TILE) {
        const int64_t count = lead + now + w - 1;
        switch (top) {
#define LEVELS(n) N(climb_all)(y, x - lead, count, begin, end, n, k); break;
        case 0: LEVELS(0)
        case 1: LEVELS(1)
        case 2: LEVELS(2)
        case 3: LEVELS(3)
        case 4: LEVELS(4)
        case 5: LEVELS(5)
        default: LEVELS(6)
#undef LEVELS
        }
        for (int64_t d = LANES; d < (int64_t)1 << top; d *= 2) /* of whole vectors */
            for (int64_t i = (count - 1) & -LANES; i >= d; i -= LANES)
                N(set)(y + i, MOST(N(get)(y + i), N(get)(y + i - d)));
        const T *const z = y + lead + w - 1;
        const int streams = stream && (uintptr_t)out % TL_VECTOR_BYTES == 0;
        int64_t i = 0;
        for (; i + LANES <= now; i += LANES) N(put)(out + i, MOST(N(get)(z + i), N(get)(z + i - over)), streams, k);
        if (i < now) N(put_some)(out + i, MOST(N(get)(z + i), N(get)(z + i - over)), now - i, k);
    }
}

/* Blocks of as many whole vectors as w - 1 elements have: a window is a suffix of one and a prefix of the next, which ends
 * as far on and `more` elements further (van Herk, Gil and Werman). */
static void N(window_long)(T *out, const T *x, int64_t m, int64_t w, T *suffix, int stream, tl_keying k)
{
    const int64_t block = (w - 1) & -LANES, more = (w - 1) & (LANES - 1);
    int64_t now = N(head)(out, stream);
    for (now = now && now < m ? now : m < block ? m : block; m > 0;
         x += now, out += now, m -= now, now = m < block ? m : block) {
        V run = {0}, all;
        for (int64_t i = block - LANES; i >= 0; i -= LANES) {
            N(set)(suffix + i, MOST(N(suffixes)(N(load)(x + i, k), &all), run));
            run = MOST(run, all);
        }
        const T *next = x + block;
        run = (V){0};
        if (more) run += N(prefixes)(N(load_some)(next, more, k), &all)[more - 1];
        next += more;
        int64_t i = 0;
        const int streams = stream && (uintptr_t)out % TL_VECTOR_BYTES == 0;
        for (; i + LANES <= now; i += LANES) {
            const V r = MOST(N(prefixes)(N(load)(next + i, k), &all), run);
            N(put)(out + i, MOST(r, N(get)(suffix + i)), streams, k);
            run = MOST(run, all);
        }
        if (i == now) continue;
        const V r = MOST(N(prefixes)(N(load_some)(next + i, now - i, k), &all), run);
        N(put_some)(out + i, MOST(r, N(get)(suffix + i)), now - i, k);
    }
}

static void N(window)(void *out, const void *x, int64_t m, int64_t w, void *room, int stream, tl_keying k)
{
    if (w <= TL_NARROW_SHORT)
        N(window_short)(out, x, m, w, stream, k);
    else
        N(window_long)(out, x, m, w, room, stream, k);
}

/* ---- many sequences ---- */

/* The largest lane. */
TL_INLINE T N(most)(V v)
{
#if defined(__AVX512BW__)
    const __m512i w = (__m512i)v;
    typedef T half __attribute__((vector_size(32)));
    typedef T quarter __attribute__((vector_size(16)));
    const half a = (half)_mm512_castsi512_si256(w), b = (half)_mm512_extracti64x4_epi64(w, 1);
    const __m256i h = sizeof(T) == 1 ? _mm256_max_epu8((__m256i)a, (__m256i)b) : _mm256_max_epu16((__m256i)a, (__m256i)b);
    const quarter c = (quarter)_mm256_castsi256_si128(h), d = (quarter)_mm256_extracti128_si256(h, 1);
    const __m128i q = sizeof(T) == 1 ? _mm_max_epu8((__m128i)c, (__m128i)d) : _mm_max_epu16((__m128i)c, (__m128i)d);
    return (T)most_of_16(q, sizeof(T));
#elif defined(__AVX2__)
    const __m128i c = _mm256_castsi256_si128((__m256i)v), d = _mm256_extracti128_si256((__m256i)v, 1);
    return (T)most_of_16(sizeof(T) == 1 ? _mm_max_epu8(c, d) : _mm_max_epu16(c, d), sizeof(T));
#else
    v = MOST(v, (V)GROUP_DOWN(v, 8));
    v = MOST(v, (V)GROUP_DOWN(v, 4));
    v = MOST(v, (V)GROUP_DOWN(v, 2));
    if (sizeof(T) == 1) v = MOST(v, (V)GROUP_DOWN(v, 1));
    return v[0];
#endif
}

/* 0 < n < LANES elements; in the other lanes are some of them once more, or keys that change nothing. */
TL_INLINE V N(load_again)(const T *x, int64_t n, tl_keying k)
{
#if defined(__AVX512BW__)
    const __mmask64 m = ((__mmask64)1 << n * (int64_t)sizeof(T)) - 1;
    return (V)_mm512_maskz_mov_epi8(m, (__m512i)N(key)((V)_mm512_maskz_loadu_epi8(m, x), k));
#else
    const char *b = (const char *)x;
    const int64_t bytes = n * (int64_t)sizeof(T);
    uint64_t low = 0, high = 0, low2 = 0, high2 = 0;
    uint32_t word = 0, end = 0;
    if (bytes >= 16) {
        memcpy(&low, b, 8), memcpy(&high, b + 8, 8);
        memcpy(&low2, b + bytes - 16, 8), memcpy(&high2, b + bytes - 8, 8);
    } else if (bytes >= 8) {
        memcpy(&low, b, 8), memcpy(&high, b + bytes - 8, 8);
        low2 = low, high2 = high;
    } else {
        if (bytes >= 4) {
            memcpy(&word, b, 4), memcpy(&end, b + bytes - 4, 4);
        } else if (sizeof(T) == 2) {
            T e;
            memcpy(&e, b, sizeof e);
            word = end = e | (uint32_t)e << 16;
        } else {
            word = end = (uint8_t)b[0] * 0x01010000u + (uint8_t)b[n - 1] * 0x100u + (uint8_t)b[n / 2];
        }
        low = low2 = high = high2 = word | (uint64_t)end << 32;
    }
    const uint64_t all[4] = {low, high, low2, high2};
    V v;
    memcpy(&v, all, sizeof v); /* a vector of 16 bytes is full, so there are fewer */
    return N(key)(v, k);
#endif
}

TL_INLINE T N(fold)(const T *x, int64_t n, tl_keying k)
{
#if defined(__AVX512BW__)
    if (n * (int64_t)sizeof(T) <= 16) {
        const __mmask16 m = (__mmask16)((1u << n * (int64_t)sizeof(T)) - 1);
        const V v = N(key)((V)_mm512_castsi128_si512(_mm_maskz_loadu_epi8(m, x)), k);
        return (T)most_of_16(_mm_maskz_mov_epi8(m, _mm512_castsi512_si128((__m512i)v)), sizeof(T));
    }
#endif
    if (n < LANES) return n ? N(most)(N(load_again)(x, n, k)) : 0;
    V a = N(load)(x + n - LANES, k), b = a;
    int64_t j = 0;
    for (; j + 2 * LANES < n; j += 2 * LANES) {
        a = MOST(a, N(load)(x + j, k));
        b = MOST(b, N(load)(x + j + LANES, k));
    }
    if (j + LANES < n) a = MOST(a, N(load)(x + j, k));
    return N(most)(MOST(a, b));
}

/* Sequences that follow each other, of 2, 4 or 8 bytes each: lanes of so many bytes. Returns how many were done. */
#define EACH_TINY(F)                                                                                                   \
    if (n * (int64_t)sizeof(T) == 8) {                                                                                 \
        F(uint64_t, 8)                                                                                                 \
    } else if (n * (int64_t)sizeof(T) == 4) {                                                                          \
        F(uint32_t, 4)                                                                                                 \
    } else if (n * (int64_t)sizeof(T) == 2 && sizeof(T) == 1) {                                                        \
        F(uint16_t, 2)                                                                                                 \
    }
#define FOLD_TINY(type, bytes)                                                                                         \
    {                                                                                                                  \
        typedef type words __attribute__((vector_size(TL_VECTOR_BYTES)));                                              \
        for (const int64_t per = TL_VECTOR_BYTES / (bytes); r + per <= rows; r += per, x += LANES) {                   \
            V v = N(load)(x, k);                                                                                       \
            TL_UNROLL for (int s = (bytes) / 2; s >= (int)sizeof(T); s /= 2) v = MOST(v, (V)((words)v >> 8 * s));      \
            put_firsts(out + r, (vec)N(value)(v, k), bytes, sizeof(T));                                                \
        }                                                                                                              \
    }
TL_INLINE int64_t N(fold_tiny)(T *out, const T *x, int64_t rows, int64_t n, tl_keying k)
{
    int64_t r = 0;
    EACH_TINY(FOLD_TINY)
    return r;
}
#undef FOLD_TINY

static void N(fold_rows)(void *to, const void *data, int64_t rows, int64_t n, int64_t pitch, const int64_t *offsets,
                         tl_keying k)
{
    T *out = to, keys[LANES];
    const T *x = data;
    int64_t r = !offsets && pitch == n ? N(fold_tiny)(out, x, rows, n, k) : 0;
    for (int64_t now; r < rows; r += now) {
        now = rows - r < LANES ? rows - r : LANES;
        if (offsets)
            for (int64_t c = 0; c < now; c++)
                keys[c] = N(fold)(x + offsets[r + c], offsets[r + c + 1] - offsets[r + c], k);
        else
            for (int64_t c = 0; c < now; c++) keys[c] = N(fold)(x + (r + c) * pitch, n, k);
        if (now == LANES)
            N(put)(out + r, N(get)(keys), 0, k);
        else
            N(put_some)(out + r, N(get)(keys), now, k);
    }
}

/* In one group of 16 bytes. */
TL_INLINE V N(prefixes_few)(V v)
{
    if (sizeof(T) == 1) v = MOST(v, (V)GROUP_UP(v, 1));
    v = MOST(v, (V)GROUP_UP(v, 2));
    v = MOST(v, (V)GROUP_UP(v, 4));
    return MOST(v, (V)GROUP_UP(v, 8));
}

TL_INLINE void N(scan_one)(T *out, const T *x, int64_t n, V run, tl_keying k)
{
    V all;
    if (n * (int64_t)sizeof(T) <= 16 && TL_VECTOR_BYTES > 16) {
        if (n) N(put_some)(out, MOST(N(prefixes_few)(N(load_some)(x, n, k)), run), n, k);
        return;
    }
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        const V r = N(prefixes)(N(load)(x + j, k), &all);
        N(put)(out + j, MOST(r, run), 0, k);
        run = MOST(run, all);
    }
    if (j < n) N(put_some)(out + j, MOST(N(prefixes)(N(load_some)(x + j, n - j, k), &all), run), n - j, k);
}

/* Rows that follow each other, of which a vector holds several: lanes whose row has begun before are joined. Returns how
 * many were done. */
static int64_t N(scan_small)(T *out, const T *x, int64_t rows, int64_t n, V run, tl_keying k)
{
    const int64_t per = LANES / n, step = per * n;
    const T *const end = x + rows * n;
    V same[6] = {{0}};
    int64_t r = 0;
    for (int level = 0; level < 6; level++)
        for (int64_t c = 0; c < LANES; c++) same[level][c] = (T)(c % n >= (int64_t)1 << level ? -1 : 0);
    for (; r + per <= rows; r += per, x += step, out += step) {
        V v = N(load_some)(x, end - x, k);
#define JOIN(level)                                                                                                    \
    if ((sizeof(T) << (level)) < TL_VECTOR_BYTES && n > 1 << (level))                                                  \
        v = MOST(v, (V)DELAYED((V){0}, v, ((int)sizeof(T) << (level)) % TL_VECTOR_BYTES) & same[level]);
        JOIN(0)
        JOIN(1)
        JOIN(2)
        JOIN(3)
        JOIN(4)
#undef JOIN
        if (step == LANES)
            N(put)(out, MOST(v, run), 0, k);
        else
            N(put_some)(out, MOST(v, run), step, k);
    }
    return r;
}

#define SCAN_TINY(type, bytes)                                                                                         \
    {                                                                                                                  \
        typedef type words __attribute__((vector_size(TL_VECTOR_BYTES)));                                              \
        for (const int64_t per = TL_VECTOR_BYTES / (bytes); r + per <= rows; r += per) {                               \
            V v = N(load)(x + r * n, k);                                                                               \
            TL_UNROLL for (int s = sizeof(T); s < (bytes); s *= 2) v = MOST(v, (V)((words)v << 8 * s));                \
            N(put)(out + r * n, MOST(v, run), 0, k);                                                                   \
        }                                                                                                              \
    }
static void N(scan_rows)(void *to, const void *data, int64_t rows, int64_t n, int64_t out_pitch, int64_t pitch,
                         const int64_t *offsets, uint16_t before, int exclusive, tl_keying k)
{
    T *out = to;
    const T *x = data;
    const V run = (V){0} + (T)before;
    int64_t r = 0;
    if (exclusive) {
        for (int64_t at = 0; r < rows; r++) {
            const int64_t m = offsets ? offsets[r + 1] - offsets[r] : n, o = offsets ? offsets[r] : r * out_pitch;
            at = offsets ? o : r * pitch;
            if (m > 0) N(scan)(out + o, x + at, m, before, 1, 0, 0, k);
        }
        return;
    }
    if (offsets) {
        for (; r < rows; r++) N(scan_one)(out + offsets[r], x + offsets[r], offsets[r + 1] - offsets[r], run, k);
        return;
    }
    if (pitch == n && out_pitch == n) {
        EACH_TINY(SCAN_TINY)
        if (n > 1 && n <= LANES / 2) {
            const int64_t done = N(scan_small)(out + r * n, x + r * n, rows - r, n, run, k);
            r += done;
        }
    }
    for (; r < rows; r++) N(scan_one)(out + r * out_pitch, x + r * pitch, n, run, k);
}
#undef SCAN_TINY
#undef EACH_TINY

/* ---- columns ---- */

/* One vector of columns, of `lanes` that are there. */
#define COLUMN(load_it, put_it)                                                                                        \
    {                                                                                                                  \
        V a = N(get)(acc + c);                                                                                         \
        for (int64_t j = 0; j < rows; j++) {                                                                           \
            const V v = load_it(x + j * step + c), last = a;                                                           \
            a = MOST(a, v);                                                                                            \
            if (out) put_it(out + j * out_step + c, exclusive ? last : a);                                             \
        }                                                                                                              \
        N(set)(acc + c, a);                                                                                            \
    }
TL_INLINE void N(some_columns)(T *out, int64_t out_step, const T *x, int64_t step, int64_t rows, int64_t width, T *acc,
                               int exclusive, tl_keying k)
{
    int64_t c = 0;
#define LOAD(from)  N(load)(from, k)
#define PUT(to, r)  N(put)(to, r, 0, k)
#define LOAD_SOME(from) N(load_some)(from, width - c, k)
#define PUT_SOME(to, r) N(put_some)(to, r, width - c, k)
    for (; c + LANES <= width; c += LANES) COLUMN(LOAD, PUT)
    if (c < width) COLUMN(LOAD_SOME, PUT_SOME)
#undef LOAD
#undef PUT
#undef LOAD_SOME
#undef PUT_SOME
}
#undef COLUMN

static void N(columns)(void *to, int64_t out_step, const void *data, int64_t step, int64_t rows, int64_t width,
                       void *acc, int exclusive, tl_keying k)
{
    enum { BLOCK = 8 };
    T *out = to;
    const T *x = data;
    for (int64_t j = 0; j < rows; j += BLOCK, x += BLOCK * step) {
        const int64_t now = rows - j < BLOCK ? rows - j : BLOCK;
        if (!out) {
            if (now == BLOCK)
                N(some_columns)(NULL, 0, x, step, BLOCK, width, acc, 0, k);
            else
                N(some_columns)(NULL, 0, x, step, now, width, acc, 0, k);
            continue;
        }
        if (now == BLOCK && !exclusive)
            N(some_columns)(out, out_step, x, step, BLOCK, width, acc, 0, k);
        else
            N(some_columns)(out, out_step, x, step, now, width, acc, exclusive, k);
        out += BLOCK * out_step;
    }
}

static void N(values)(void *to, const void *keys, int64_t n, tl_keying k)
{
    T *out = to;
    const T *from = keys;
    for (int64_t j = 0; j < n; j += LANES)
        if (n - j < LANES)
            N(put_some)(out + j, N(get)(from + j), n - j, k);
        else
            N(put)(out + j, N(get)(from + j), 0, k);
}

#undef V
#undef LANES
#undef T
#undef HALVES
#undef N
#undef MOST
#undef LAST
#undef FIRST
