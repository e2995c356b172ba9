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
/* m elements; keys of the other lanes may be anything. */
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

/* The keys of 1, 2, 4 .. elements from each place of a tile on, then two of them that overlap. w <= TL_NARROW_SHORT */
static void N(window_short)(T *out, const T *x, int64_t m, int64_t w, int stream, tl_keying k)
{
    enum { TILE = 4096 / sizeof(T) };
    _Alignas(64) T y[TILE + TL_NARROW_SHORT + 2 * TL_VECTOR_BYTES / sizeof(T)];
    const int64_t top = tl_top_level(w), over = w - ((int64_t)1 << top);
    const T *const end = x + m + w - 1;
    int64_t now = N(head)(out, stream);
    for (now = now && now < m ? now : m < TILE ? m : TILE; m > 0;
         x += now, out += now, m -= now, now = m < TILE ? m : TILE) {
        int64_t length = now + w - 1;
        for (int64_t i = 0; i < length; i += LANES)
            N(set)(y + i, end - (x + i) >= LANES ? N(load)(x + i, k) : N(load_some)(x + i, end - (x + i), k));
        for (int64_t d = 1; d < (int64_t)1 << top; d *= 2) {
            length -= d;
            for (int64_t i = 0; i < length; i += LANES) N(set)(y + i, MOST(N(get)(y + i), N(get)(y + i + d)));
        }
        int64_t i = 0;
        if (stream && (uintptr_t)out % TL_VECTOR_BYTES == 0)
            for (; i + LANES <= now; i += LANES) N(put)(out + i, MOST(N(get)(y + i), N(get)(y + i + over)), 1, k);
        for (; i + LANES <= now; i += LANES) N(put)(out + i, MOST(N(get)(y + i), N(get)(y + i + over)), 0, k);
        if (i < now) N(put_some)(out + i, MOST(N(get)(y + i), N(get)(y + i + over)), now - i, k);
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

static const tl_narrow N(row) = {sizeof(T), HALVES, N(window), N(scan)};
#undef V
#undef LANES
#undef T
#undef HALVES
#undef N
#undef MOST
#undef LAST
#undef FIRST
