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

/* Adjacent sequences of 2, 4 or 8 bytes each: a lane of that width holds one. Return how many
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

/* Return how many rows were processed. */
static int64_t N(scan_small)(T *out, const T *x, int64_t rows, int64_t n, V run, tl_keying k)
{
    const int64_t per = LANES / n, step = per * n;
    const T *const end = x + rows * n;
    V same[6];
    int64_t r = 0;

    assert(1 < n && n <= LANES / 2);
    N(same_row)(same, n);

    for (; r + per <= rows; r += per, x += step, out += step) {
        const V v = MOST(N(row_prefixes)(N(load_some)(x, end - x, k), n, same), run);
        if (step == LANES)
            N(put)(out, v, 0, k);
        else
            N(put_some)(out, v, step, k);
    }

    return r;
}

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

/* Prepares for the `count` segments before offset `end`. If they are short, and there are many,
 * prefetches the elements and offsets AHEAD bytes after theirs. Returns a length: a branch on the
 * bytes of shorter segments would often be mispredicted, so they are processed without it. */
TL_INLINE int64_t N(begin_segments)(const tl_dense_rows *s, int64_t r, int64_t count)
{
    enum { AHEAD = 4096, MANY = 1 << 19 };
    const int64_t first = s->offsets[r],
                  bytes = (s->offsets[r + count] - first) * (int64_t)sizeof(T);
    if (bytes >= 32 * count) return 0;
    if (s->rows >= MANY) {
        const uintptr_t x = (uintptr_t)((const T *)s->x + first) + AHEAD,
                        o = (uintptr_t)(s->offsets + r) + AHEAD;
        for (int64_t line = 0; line < bytes; line += 64)
            __builtin_prefetch((const void *)(x + (uintptr_t)line), 0, 3);
        for (int64_t line = 0; line < count * 8; line += 64)
            __builtin_prefetch((const void *)(o + (uintptr_t)line), 0, 3);
    }
    return bytes > 8 * count ? LANES : 0;
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
        const int64_t masked = offsets ? N(begin_segments)(s, r, now) : 0;
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

/* masked: shorter ones are processed without another branch on the length. */
TL_INLINE void N(scan_one)(T *out, const T *x, int64_t n, V run, int64_t masked, tl_keying k)
{
    V all;
    if (n < masked) {
        N(put_some)(out, MOST(N(prefixes)(N(load_some)(x, n, k), &all), run), n, k);
        return;
    }
    if (n * (int64_t)sizeof(T) <= 16 && TL_VECTOR_BYTES > 16) {
        N(put_some)(out, MOST(N(within_groups)(N(load_some)(x, n, k), 0), run), n, k);
        return;
    }

    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        const V r = N(prefixes)(N(load)(x + j, k), &all);
        N(put)(out + j, MOST(r, run), 0, k);
        run = MOST(run, all);
    }

    if (j < n)
        N(put_some)(out + j, MOST(N(prefixes)(N(load_some)(x + j, n - j, k), &all), run), n - j, k);
}

/* GROUP segments, if all are shorter than a vector. They are loaded before any result is stored: a
 * load that has the page offset of an earlier store waits for it. */
enum { N(GROUP) = 8 };
TL_INLINE int N(scan_group)(T *out, const T *x, const int64_t *o, V run, tl_keying k)
{
    V v[N(GROUP)], all;
    int64_t lengths = 0;
    for (int c = 0; c < N(GROUP); c++) lengths |= o[c + 1] - o[c];
    if (lengths >= LANES) return 0;
    TL_UNROLL for (int c = 0; c < N(GROUP); c++) v[c] = N(load_some)(x + o[c], o[c + 1] - o[c], k);
    TL_UNROLL for (int c = 0; c < N(GROUP); c++)
        N(put_some)(out + o[c], MOST(N(prefixes)(v[c], &all), run), o[c + 1] - o[c], k);
    return 1;
}

#define SCAN_TINY(type, bytes) \
    { \
        typedef type words __attribute__((vector_size(TL_VECTOR_BYTES))); \
        for (const int64_t per = TL_VECTOR_BYTES / (bytes); r + per <= rows; r += per) { \
            V v = N(load)(x + r * n, k); \
            TL_UNROLL for (int s = sizeof(T); s < (bytes); s *= 2) v = \
                MOST(v, (V)((words)v << 8 * s)); \
            N(put)(out + r * n, MOST(v, run), 0, k); \
        } \
    }

static void N(scan_rows)(const tl_dense_rows *all, uint16_t before, int exclusive, tl_keying k)
{
    T *out = all->out;
    const T *x = all->x;
    const int64_t rows = all->rows, n = all->n, out_pitch = all->out_pitch, pitch = all->pitch,
                  *offsets = all->offsets;
    const V run = (V){0} + (T)before;
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
        const int64_t masked = N(begin_segments)(all, r, end - r);
        while (masked && r + N(GROUP) <= end && N(scan_group)(out, x, offsets + r, run, k))
            r += N(GROUP);
        for (; r < end; r++) N(scan_one)
        (out + offsets[r], x + offsets[r], offsets[r + 1] - offsets[r], run, masked, k);
    }
    if (offsets) return;

    if (pitch == n && out_pitch == n) {
        EACH_TINY(SCAN_TINY)

        /* for fewer elements the masks cost more than they save */
        if (n > 1 && n <= LANES / 2 && (rows - r) * n >= 4 * LANES) {
            r += N(scan_small)(out + r * n, x + r * n, rows - r, n, run, k);
        }
    }

    for (; r < rows; r++) N(scan_one)(out + r * out_pitch, x + r * pitch, n, run, 0, k);
}
#undef SCAN_TINY
#undef EACH_TINY
