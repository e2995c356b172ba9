/* SPDX-License-Identifier: MIT
 * Many dense sequences: one at a time, or several in a vector (narrow_kernel.h). */

/* The largest lane. */
TL_INLINE T N(most)(V v)
{
#if GROUPS == 4
    v = MOST(v, (V)TWO_DOWN(v));
#endif
#if GROUPS > 1
    v = MOST(v, (V)ONE_DOWN(v));
#endif
#if defined(__SSE4_1__)
    __m128i first;
    memcpy(&first, &v, sizeof first);
    return (T)most_of_16(first, sizeof(T));
#else
    v = MOST(v, (V)GROUP_DOWN(v, 8));
    v = MOST(v, (V)GROUP_DOWN(v, 4));
    v = MOST(v, (V)GROUP_DOWN(v, 2));
    if (sizeof(T) == 1) v = MOST(v, (V)GROUP_DOWN(v, 1));
    return v[0];
#endif
}

/* Loads n < LANES elements. The other lanes have key 0, which never wins. */
TL_INLINE V N(load_first)(const T *x, int64_t n, tl_keying k)
{
    return (V)first_bytes((vec)N(load_some)(x, n, k), n * (int64_t)sizeof(T));
}

/* The largest key of n elements; 0 if there are none. */
TL_INLINE T N(fold)(const T *x, int64_t n, tl_keying k)
{
#if defined(__AVX512BW__)
    if (n * (int64_t)sizeof(T) <= 16) {
        const __mmask16 m = (__mmask16)((1u << n * (int64_t)sizeof(T)) - 1);
        const V v = N(key)((V)_mm512_castsi128_si512(_mm_maskz_loadu_epi8(m, x)), k);
        return (T)most_of_16(_mm_maskz_mov_epi8(m, _mm512_castsi512_si128((__m512i)v)), sizeof(T));
    }
#endif
    if (n < LANES) return n ? N(most)(N(load_first)(x, n, k)) : 0;

    V a = N(load)(x + n - LANES, k), b = a;
    int64_t j = 0;
    for (; j + 2 * LANES < n; j += 2 * LANES) {
        a = MOST(a, N(load)(x + j, k));
        b = MOST(b, N(load)(x + j + LANES, k));
    }

    if (j + LANES < n) a = MOST(a, N(load)(x + j, k));
    return N(most)(MOST(a, b));
}

/* Adjacent sequences of 2, 4 or 8 bytes each: a lane of that width holds one. Adds to r how many
 * sequences were processed. */
#define EACH_TINY(F) \
    if (n * (int64_t)sizeof(T) == 8) { \
        F(uint64_t, 8) \
    } else if (n * (int64_t)sizeof(T) == 4) { \
        F(uint32_t, 4) \
    } else if (n * (int64_t)sizeof(T) == 2 && sizeof(T) == 1) { \
        F(uint16_t, 2) \
    }
#define FOLD_TINY(type, bytes) \
    { \
        typedef type words __attribute__((vector_size(TL_VECTOR_BYTES))); \
        for (const int64_t per = TL_VECTOR_BYTES / (bytes); r + per <= rows; \
             r += per, x += LANES) { \
            V v = N(load)(x, k); \
            TL_UNROLL for (int s = (bytes) / 2; s >= (int)sizeof(T); s /= 2) v = \
                MOST(v, (V)((words)v >> 8 * s)); \
            put_firsts(out + r, (vec)N(value)(v, k), bytes, sizeof(T)); \
        } \
    }

TL_INLINE int64_t N(fold_tiny)(T *out, const T *x, int64_t rows, int64_t n, tl_keying k)
{
    int64_t r = 0;
    EACH_TINY(FOLD_TINY)
    return r;
}
#undef FOLD_TINY

/* ---- adjacent rows, several in a vector ---- */

/* same[i]: the lanes whose row begins at least 2^i lanes before. */
TL_INLINE void N(same_row)(V *same, int64_t n)
{
    T place[LANES];
    for (int64_t c = 0, at = 0; c < LANES; c++, at = at + 1 == n ? 0 : at + 1) place[c] = (T)at;
    for (int level = 0; level < 6; level++) same[level] = (V)(N(get)(place) >= (T)(1 << level));
}

/* Prefixes of each row of n <= LANES / 2 elements. */
TL_INLINE V N(row_prefixes)(V v, int64_t n, const V *same)
{
#define JOIN(level) \
    if ((sizeof(T) << (level)) < TL_VECTOR_BYTES && n > 1 << (level)) \
        v = MOST(v, (V)DELAYED((V){0}, v, ((int)sizeof(T) << (level)) % TL_VECTOR_BYTES) & \
                        same[level]);
    JOIN(0)
    JOIN(1)
    JOIN(2)
    JOIN(3)
    JOIN(4)
#undef JOIN

    return v;
}

/* Rows of 2 .. LANES / 2 elements, as many as fit in a vector at a time. key: the key that comes
 * before each row. Returns how many rows were scanned. */
static int64_t N(scan_small)(T *out, const T *x, int64_t rows, int64_t n, V key, tl_keying k)
{
    const int64_t per = LANES / n, step = per * n;
    const T *const end = x + rows * n;
    V same[6];
    int64_t r = 0;

    assert(1 < n && n <= LANES / 2);
    N(same_row)(same, n);

    for (; r + per <= rows; r += per, x += step, out += step) {
        const V v = MOST(N(row_prefixes)(N(load_some)(x, end - x, k), n, same), key);
        if (step == LANES)
            N(put)(out, v, 0, k);
        else
            N(put_some)(out, v, step, k);
    }

    return r;
}

/* The same for folds: the last prefix of each row. */
static int64_t N(fold_small)(T *out, const T *x, int64_t rows, int64_t n, tl_keying k)
{
    const int64_t per = LANES / n, step = per * n;
    const T *const end = x + rows * n;
    V same[6];
    T y[LANES];
    int64_t r = 0;

    N(same_row)(same, n);
    for (; r + per <= rows; r += per, x += step) {
        N(set)(y, N(value)(N(row_prefixes)(N(load_some)(x, end - x, k), n, same), k));
        for (int64_t c = n - 1; c < step; c += n) memcpy(out++, y + c, sizeof(T));
    }

    return r;
}

/* The kind of `count` segments from r on, by their mean length: LONG, from 32 bytes on; TINY, up to
 * 8; else MIXED: branches on lengths would be mispredicted. Prefetches what follows if there are
 * many and they are not LONG. */
enum { N(LONG), N(TINY), N(MIXED) };
TL_INLINE int N(begin_segments)(const tl_dense_rows *s, int64_t r, int64_t count)
{
    enum { MANY = 1 << 19 };
    const int64_t *const o = s->offsets + r;
    const size_t bytes = (size_t)(o[count] - o[0]) * sizeof(T), all = (size_t)count;
    if (bytes >= 32 * all) return N(LONG);
    if (s->rows >= MANY) {
        prefetch_after((const T *)s->x + o[0], bytes);
        prefetch_after(o, all * sizeof *o);
    }
    return bytes > 8 * all ? N(MIXED) : N(TINY);
}

static void N(fold_rows)(const tl_dense_rows *s, tl_keying k)
{
    T *out = s->out, keys[LANES];
    const T *x = s->x;
    const int64_t rows = s->rows, n = s->n, pitch = s->pitch, *offsets = s->offsets;
    int64_t r = 0;

    if (!offsets && pitch == n) {
        r = N(fold_tiny)(out, x, rows, n, k);

        /* for fewer elements the masks cost more than they save */
        if (n > 1 && n <= LANES / (GROUPS == 4 ? 5 : 2) && (rows - r) * n >= 4 * LANES)
            r += N(fold_small)(out + r, x + r * n, rows - r, n, k);
    }

    for (int64_t now; r < rows; r += now) {
        now = rows - r < LANES ? rows - r : LANES;
        const int64_t masked = offsets && N(begin_segments)(s, r, now) == N(MIXED) ? LANES : 0;
        if (offsets)
            for (int64_t c = 0; c < now; c++) {
                const T *const at = x + offsets[r + c];
                const int64_t m = offsets[r + c + 1] - offsets[r + c];
                keys[c] = m < masked ? N(most)(N(load_first)(at, m, k)) : N(fold)(at, m, k);
            }
        else if (n * (int64_t)sizeof(T) <= 16) /* compiled apart, without the code for long rows */
            for (int64_t c = 0; c < now; c++) keys[c] = N(fold)(x + (r + c) * pitch, n, k);
        else
            for (int64_t c = 0; c < now; c++) keys[c] = N(fold)(x + (r + c) * pitch, n, k);
        if (now == LANES)
            N(put)(out + r, N(get)(keys), 0, k);
        else
            N(put_some)(out + r, N(get)(keys), now, k);
    }
}

/* Scans one sequence of any length. key: the key that comes before it. */
TL_INLINE void N(scan_one)(T *out, const T *x, int64_t n, V key, tl_keying k)
{
    V all;
    if (n * (int64_t)sizeof(T) <= 16 && TL_VECTOR_BYTES > 16) {
        N(put_some)(out, MOST(N(within_groups)(N(load_some)(x, n, k), 0), key), n, k);
        return;
    }

    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        const V r = N(prefixes)(N(load)(x + j, k), &all);
        N(put)(out + j, MOST(r, key), 0, k);
        key = MOST(key, all);
    }

    if (j < n)
        N(put_some)(out + j, MOST(N(prefixes)(N(load_some)(x + j, n - j, k), &all), key), n - j, k);
}

/* Scans SOME segments if all are shorter than a vector, else returns 0. They are loaded before any
 * result is stored: a load that has the page offset of an earlier store waits for it. */
enum { N(SOME) = 8 };
TL_INLINE int N(scan_some)(T *out, const T *x, const int64_t *o, V key, tl_keying k)
{
    V v[N(SOME)], all;
    int64_t n[N(SOME)], bits = 0; /* of all lengths */
    for (int c = 0; c < N(SOME); c++) bits |= n[c] = o[c + 1] - o[c];
    if (bits >= LANES) return 0;
    TL_FOR(c, N(SOME)) v[c] = N(load_some)(x + o[c], n[c], k);
    if (bits * (int64_t)sizeof(T) < 16)
        TL_FOR(c, N(SOME)) v[c] = N(within_groups)(v[c], 0);
    else
        TL_FOR(c, N(SOME)) v[c] = N(prefixes)(v[c], &all);
    TL_FOR(c, N(SOME)) N(put_some)(out + o[c], MOST(v[c], key), n[c], k);
    return 1;
}

#define SCAN_TINY(type, bytes) \
    { \
        typedef type words __attribute__((vector_size(TL_VECTOR_BYTES))); \
        for (const int64_t per = TL_VECTOR_BYTES / (bytes); r + per <= rows; r += per) { \
            V v = N(load)(x + r * n, k); \
            TL_UNROLL for (int s = sizeof(T); s < (bytes); s *= 2) v = \
                MOST(v, (V)((words)v << 8 * s)); \
            N(put)(out + r * n, MOST(v, key), 0, k); \
        } \
    }

static void N(scan_rows)(const tl_dense_rows *all, uint16_t before, int exclusive, tl_keying k)
{
    T *out = all->out;
    const T *x = all->x;
    const int64_t rows = all->rows, n = all->n, out_pitch = all->out_pitch, pitch = all->pitch,
                  *offsets = all->offsets;
    const V key = (V){0} + (T)before;
    int64_t r = 0;

    if (exclusive) {
        for (int64_t at = 0; r < rows; r++) {
            const int64_t m = offsets ? offsets[r + 1] - offsets[r] : n,
                          o = offsets ? offsets[r] : r * out_pitch;
            at = offsets ? o : r * pitch;
            if (m > 0) N(scan)(&(tl_narrow_run){out + o, x + at, m, 0, 0}, before, 1, k);
        }

        return;
    }

    for (int64_t end; offsets && r < rows;) {
        end = rows - r < LANES ? rows : r + LANES;
        const int is_short = N(begin_segments)(all, r, end - r) != N(LONG);
        while (r < end) {
            const int64_t stop = is_short && r + N(SOME) <= end ? r + N(SOME) : end;
            if (is_short && r + N(SOME) == stop && N(scan_some)(out, x, offsets + r, key, k))
                r = stop;
            for (; r < stop; r++)
                N(scan_one)(out + offsets[r], x + offsets[r], offsets[r + 1] - offsets[r], key, k);
        }
    }
    if (offsets) return;

    if (pitch == n && out_pitch == n) {
        EACH_TINY(SCAN_TINY)
        if (n > 1 && n <= LANES / 2 && (rows - r) * n >= 4 * LANES)
            r += N(scan_small)(out + r * n, x + r * n, rows - r, n, key, k);
    }

    for (; r < rows; r++) N(scan_one)(out + r * out_pitch, x + r * pitch, n, key, k);
}
#undef SCAN_TINY
#undef EACH_TINY
