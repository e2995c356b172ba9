/* SPDX-License-Identifier: MIT
 * The loops of narrow.h for keys of type T. narrow_kernels.c includes this file three times. */
typedef T N(keys) __attribute__((vector_size(TL_VECTOR_BYTES)));
#define V     N(keys)
#define LANES ((int64_t)(TL_VECTOR_BYTES / sizeof(T)))

/* ---- elements and keys: load and put convert, get and set copy keys ---- */

TL_INLINE V N(key)(V x, tl_keying k)
{
#if HALVES
    typedef int16_t ints __attribute__((vector_size(TL_VECTOR_BYTES)));
    V r = x ^ (V)((ints)x >> 15 & 0x7fff) ^ k.flip;
    return TL_BLEND((ints)(x & 0x7fff) > (int16_t)k.inf, (V){0} + k.nan, r);
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
    x = TL_BLEND((ints)(x & 0x7fff) > (int16_t)k.inf, (V){0} + k.missing, x);
#endif
    return x;
}

TL_INLINE V N(load)(const T *x, tl_keying k)
{
    V v;
    memcpy(&v, x, sizeof v);
    return N(key)(v, k);
}

/* Loads m elements; the keys of the other lanes are undefined. */
TL_INLINE V N(load_some)(const T *x, int64_t m, tl_keying k)
{
    assert(m >= 0);
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

/* Stores the first m results. */
TL_INLINE void N(put_some)(T *to, V v, int64_t m, tl_keying k)
{
    assert(0 <= m && m < LANES);
    store_raw(to, (vec)N(value)(v, k), m * (int64_t)sizeof(T));
}

/* The number of results before the first one that is aligned to a vector; 0 without stream. */
TL_INLINE int64_t N(head)(const T *to, int stream)
{
    return stream ? (int64_t)(-(uintptr_t)to & (TL_VECTOR_BYTES - 1)) / (int64_t)sizeof(T) : 0;
}

#include "narrow_flat.h"
#include "narrow_rows.h"

/* ---- columns, one per lane; a fold begins with key 0, which never wins (narrow.h) ---- */

/* One vector of columns. */
#define COLUMN(load_it, put_it) \
    { \
        V a = N(get)(acc + c); \
        for (int64_t j = 0; j < rows; j++) { \
            __builtin_prefetch( \
                (const void *)((uintptr_t)(x + j * step + c) + (uintptr_t)prefetch_distance), 0, \
                2); \
            const V v = load_it(x + j * step + c), last = a; \
            a = MOST(a, v); \
            if (out) put_it(out + j * out_step + c, exclusive ? last : a); \
        } \
        N(set)(acc + c, a); \
    }

/* Folds `rows` rows of a strip onto acc, one vector of columns after the other. With s.out it is a
 * scan, which writes acc after each row (exclusive: before it). */
TL_INLINE void N(fold_columns)(const tl_narrow_strip s, int64_t rows, T *acc, int exclusive,
                               tl_keying k)
{
    T *const out = s.out;
    const T *const x = s.x;
    const int64_t step = s.step, out_step = s.out_step, width = s.width,
                  prefetch_distance = 8 * step * (int64_t)sizeof(T);
    int64_t c = 0;

#define LOAD(from)      N(load)(from, k)
#define PUT(to, r)      N(put)(to, r, 0, k)
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

/* Folds adjacent rows, several to a vector, as one row; its parts are folded at the end. Returns
 * how many rows were processed. */
static int64_t N(fold_narrow)(const T *x, int64_t rows, int64_t width, T *acc, tl_keying k)
{
    const int64_t per = LANES / width, step = per * width;
    assert(0 < width && width <= LANES / 2);
    const T *const end = x + rows * width;
    V a = {0}, b = {0};
    T keys[LANES];
    int64_t r = 0;
    for (; r + 2 * per <= rows && end - x >= step + LANES; r += 2 * per, x += 2 * step) {
        a = MOST(a, N(load)(x, k));
        b = MOST(b, N(load)(x + step, k));
    }

    N(set)(keys, MOST(a, b));
    for (int64_t part = 0; part < step && r; part += width)
        for (int64_t c = 0; c < width; c++)
            acc[c] = acc[c] > keys[part + c] ? acc[c] : keys[part + c];

    return r;
}

/* Folds or scans all rows, 8 at a time: acc[c] is loaded and stored once for 8 rows, and a loop
 * over a constant number of rows can be unrolled. */
static void N(columns)(const tl_narrow_strip *all, void *acc, int exclusive, tl_keying k)
{
    enum { BLOCK = 8 };
    tl_narrow_strip s = *all, read = s;
    int64_t j = 0;
    read.out = NULL;
    if (!s.out && s.step == s.width && s.width <= LANES / 2 && s.rows * s.width >= 8 * LANES)
        j = N(fold_narrow)(s.x, s.rows, s.width, acc, k);
    for (s.x = (const T *)s.x + j * s.step; j < s.rows; j += BLOCK) {
        const int64_t now = s.rows - j < BLOCK ? s.rows - j : BLOCK;
        read.x = s.x;
        if (!s.out && now == BLOCK)
            N(fold_columns)(read, BLOCK, acc, 0, k);
        else if (!s.out)
            N(fold_columns)(read, now, acc, 0, k);
        else if (now == BLOCK && !exclusive)
            N(fold_columns)(s, BLOCK, acc, 0, k);
        else
            N(fold_columns)(s, now, acc, exclusive, k);
        s.x = (const T *)s.x + BLOCK * s.step;
        if (s.out) s.out = (T *)s.out + BLOCK * s.out_step;
    }
}

/* Each column of `to` becomes the larger of `a` and of the row x. */
TL_INLINE void N(larger_row)(T *to, const T *a, const T *x, int64_t prefetch_distance,
                             int64_t width, tl_keying k)
{
    int64_t c = 0;
    for (; c + LANES <= width; c += LANES) {
        if (prefetch_distance)
            __builtin_prefetch((const void *)((uintptr_t)(x + c) + (uintptr_t)prefetch_distance), 0,
                               2);
        N(set)(to + c, MOST(N(get)(a + c), N(load)(x + c, k)));
    }
    if (c < width) N(set)(to + c, MOST(N(get)(a + c), N(load_some)(x + c, width - c, k)));
}

/* Windows of w rows along columns, by blocks of w - 1 rows, as in window_long. x begins at the
 * first row of the first window. A window is a suffix of one block and a prefix of the next one:
 * row r of `suffix` has the largest keys of the block's rows from r on, `prefix` those of the next
 * block so far. */
static void N(column_windows)(const tl_narrow_strip *s, int64_t w, void *buffer, tl_keying k)
{
    const int64_t step = s->step, out_step = s->out_step, width = s->width, block = w - 1,
                  pitch = (width + LANES - 1) & -LANES;
    T *out = s->out, *prefix = buffer, *suffix = prefix + pitch;
    const T *x = s->x;
    int64_t m = s->rows;

    assert(w > 1);
    for (int64_t now; m > 0; m -= now, x += now * step, out += now * out_step) {
        now = m < block ? m : block;
        memset(prefix, 0, (size_t)pitch * sizeof(T));
        for (int64_t r = block - 1; r >= 0; r--) {
            T *const to = suffix + r * pitch;
            N(larger_row)(to, r == block - 1 ? prefix : to + pitch, x + r * step, 0, width, k);
        }

        for (int64_t r = 0; r < now; r++) {
            const T *const last = suffix + r * pitch, *const row = x + (block + r) * step;
            T *const y = out + r * out_step;
            int64_t c = 0;
            N(larger_row)(prefix, prefix, row, 16 * step * (int64_t)sizeof(T), width, k);
            for (; c + LANES <= width; c += LANES)
                N(put)(y + c, MOST(N(get)(last + c), N(get)(prefix + c)), 0, k);
            if (c < width)
                N(put_some)(y + c, MOST(N(get)(last + c), N(get)(prefix + c)), width - c, k);
        }
    }
}

/* Converts n keys to elements. */
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
