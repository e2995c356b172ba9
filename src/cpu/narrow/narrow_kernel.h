/* SPDX-License-Identifier: MIT
 * The loops of narrow.h for keys of type T. narrow_kernels.c includes this file three times. */
typedef T N(keys) __attribute__((vector_size(TL_VECTOR_BYTES)));
#define V     N(keys)
#define LANES ((int64_t)(TL_VECTOR_BYTES / sizeof(T)))

/* ---- elements and keys ---- */

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
#include "narrow_columns.h"

#undef V
#undef LANES
#undef T
#undef HALVES
#undef N
#undef MOST
#undef LAST
#undef FIRST
