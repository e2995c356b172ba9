/* SPDX-License-Identifier: MIT
 * Scans and windows of one dense sequence (narrow_kernel.h), on keys (narrow.h): the largest wins,
 * and key 0 never wins. */

/* ---- prefixes and suffixes in a vector ---- */

/* Each lane becomes the largest of the lanes before it in its group of 16 bytes, and itself; down:
 * of the lanes after it. */
TL_INLINE V N(within_groups)(V v, int down)
{
#define MOVED(n) (V)(down ? GROUP_DOWN(v, n) : GROUP_UP(v, n))
    if (sizeof(T) == 1) v = MOST(v, MOVED(1));
    v = MOST(v, MOVED(2));
    v = MOST(v, MOVED(4));
    return MOST(v, MOVED(8));
#undef MOVED
}

/* The same in the whole vector. *all: the largest of all lanes, in every lane. */
TL_INLINE V N(across)(V v, int down, V *all)
{
    v = N(within_groups)(v, down);
    V ends = (V)(down ? SPREAD(v, FIRST) : SPREAD(v, LAST));
#if GROUPS > 1
    const V nearest = (V)(down ? ONE_DOWN(ends) : ONE_UP(ends));
    ends = MOST(ends, nearest);
#if GROUPS == 4
    ends = MOST(ends, (V)(down ? TWO_DOWN(ends) : TWO_UP(ends)));
    v = MOST(v, (V)(down ? ONE_DOWN(ends) : ONE_UP(ends)));
#else
    v = MOST(v, nearest);
#endif
    ends = (V)(down ? FIRST_GROUP(ends) : LAST_GROUP(ends));
#endif
    *all = ends;

    return v;
}

TL_INLINE V N(prefixes)(V v, V *all) { return N(across)(v, 0, all); }
TL_INLINE V N(suffixes)(V v, V *all) { return N(across)(v, 1, all); }

/* Result i is the largest of the key `first` and of x[0] .. x[i] (exclusive: x[0] .. x[i - 1]).
 * Returns the largest key of all elements, without `first`. most: that of the elements so far. */
static uint16_t N(scan)(const tl_narrow_run *part, uint16_t first, int exclusive, tl_keying k)
{
    assert(part->m > 0 && (!part->stream || (uintptr_t)part->out % sizeof(T) == 0));
    const T *x = part->x;
    T *out = part->out;
    const int64_t m = part->m, prefetch_distance = part->prefetch_distance;
    const int stream = part->stream, way = prefetch_distance ? tl_prefetch_way() : 0;
    V before = (V){0} + (T)first, most = {0}, all = {0};
    int64_t j = 0;

    /* Each result moves on by one place, which may be that of the next vector's first element. So
     * the next vector is loaded before the store. */
    if (exclusive) {
        V v = N(load_some)(x, m, k), r;
        N(put_some)(out, before, 1, k);
        for (; j + LANES < m; j += LANES) {
            const V next = N(load_some)(x + j + LANES, m - j - LANES, k);
            r = N(prefixes)(v, &all);
            N(put)(out + j + 1, MOST(MOST(r, most), before), 0, k);
            most = MOST(most, all);
            v = next;
        }

        r = MOST(N(prefixes)(v, &all), most);
        if (m - j > 1) N(put_some)(out + j + 1, MOST(r, before), m - j - 1, k);
        return r[m - j - 1];
    }

    const int64_t head = N(head)(out, stream);
    if (head && m > head) { /* the results before the first aligned one */
        const V r = N(prefixes)(N(load_some)(x, head, k), &all);
        N(put_some)(out, MOST(r, before), head, k);
        most += r[head - 1];
        j = head;
    }
#define STEPS(streams) \
    for (; j + LANES <= m; j += LANES) { \
        if (way == TL_LINES) \
            __builtin_prefetch((const void *)((uintptr_t)(x + j) + (uintptr_t)prefetch_distance), \
                               0, 2); \
        if (way == TL_PAGES && j * (int64_t)sizeof(T) % 256 < TL_VECTOR_BYTES) \
            tl_prefetch_bytes(x + j, 256, prefetch_distance, way, 0); \
        const V r = N(prefixes)(N(load)(x + j, k), &all); \
        N(put)(out + j, MOST(MOST(r, most), before), streams, k); \
        most = MOST(most, all); \
    }

    if (stream) {
        STEPS(1)
    } else {
        STEPS(0)
    }
#undef STEPS
    if (j == m) return most[0];

    const V r = MOST(N(prefixes)(N(load_some)(x + j, m - j, k), &all), most);
    N(put_some)(out + j, MOST(r, before), m - j, k);

    return r[m - j - 1];
}

/* ---- windows ---- */

/* Each lane becomes the largest of the 2^levels elements that end at it, or of LANES if those are
 * fewer. last[k]: the vector before v, after k levels. */
TL_INLINE V N(double_levels)(V v, V *last, int levels)
{
#define DOUBLE(level) \
    if (levels > (level) && (sizeof(T) << (level)) < TL_VECTOR_BYTES) { \
        const V before = last[level]; \
        last[level] = v; \
        v = MOST(v, (V)DELAYED(before, v, ((int)sizeof(T) << (level)) % TL_VECTOR_BYTES)); \
    }
    DOUBLE(0)
    DOUBLE(1)
    DOUBLE(2)
    DOUBLE(3)
    DOUBLE(4)
    DOUBLE(5)
#undef DOUBLE

    return v;
}

/* y[padding + i] = the same for the elements that end at x[i], 0 <= i < n. The first results cover
 * fewer elements. */
TL_INLINE void N(double_all)(T *y, int64_t padding, const T *x, int64_t n, int levels, tl_keying k)
{
    V last[6] = {{0}};
    assert(0 <= padding && padding < LANES);
    for (int64_t i = -padding; i < n; i += LANES) {
        V v;
        if (i < 0) {
            T some[LANES] = {0};
            memcpy(some + padding, x,
                   (size_t)(n < LANES - padding ? n : LANES - padding) * sizeof(T));
            v = N(load)(some, k);
        } else {
            v = N(load_some)(x + i, n - i, k);
        }

        N(set)(y + padding + i, N(double_levels)(v, last, levels));
    }
}

/* Result i is the largest of x[i] .. x[i + w - 1]. Computes the largest of 2, 4, 8, ... elements
 * that end at each place of a tile. Two of them, which overlap, give a window. */
static void N(window_short)(const tl_narrow_run *run, int64_t w, tl_keying k)
{
    T *out = run->out;
    const T *x = run->x;
    int64_t m = run->m;
    const int stream = run->stream;

    assert(0 < w && w <= TL_NARROW_SHORT);
    enum { TILE = 4096 / sizeof(T), WITHIN = TL_VECTOR_BYTES / sizeof(T) };
    _Alignas(64) T y[TILE + TL_NARROW_SHORT + 3 * WITHIN];
    const int64_t top = tl_top_level(w), over = w - ((int64_t)1 << top);
    const int64_t padding =
        -(w - 1) & (LANES - 1); /* results then begin at the start of a vector */
    int64_t now = N(head)(out, stream);
    if (!now || now > m) now = m < TILE ? m : TILE;
    for (; m > 0; x += now, out += now, m -= now, now = m < TILE ? m : TILE) {
        const int64_t n = now + w - 1, count = padding + n;
        N(double_all)(y, padding, x, n, (int)top, k);
        for (int64_t d = LANES; d < (int64_t)1 << top; d *= 2) /* delays of whole vectors */
            for (int64_t i = (count - 1) & -LANES; i >= d; i -= LANES)
                N(set)(y + i, MOST(N(get)(y + i), N(get)(y + i - d)));
        const T *const z = y + padding + w - 1;
        const int streams = stream && (uintptr_t)out % TL_VECTOR_BYTES == 0;
        int64_t i = 0;
        for (; i + LANES <= now; i += LANES)
            N(put)(out + i, MOST(N(get)(z + i), N(get)(z + i - over)), streams, k);
        if (i < now) N(put_some)(out + i, MOST(N(get)(z + i), N(get)(z + i - over)), now - i, k);
    }
}

/* The same by the van Herk / Gil-Werman algorithm, in blocks of w - 1 elements, rounded down to
 * whole vectors. A window is a suffix of a block, the `more` elements after it, and a prefix of
 * those after them. */
static void N(window_long)(const tl_narrow_run *part, int64_t w, T *suffix, tl_keying k)
{
    T *out = part->out;
    const T *x = part->x;
    int64_t m = part->m;
    const int stream = part->stream;
    const int64_t block = (w - 1) & -LANES, more = (w - 1) & (LANES - 1);
    int64_t now = N(head)(out, stream);

    if (!now || now > m) now = m < block ? m : block;
    for (; m > 0; x += now, out += now, m -= now, now = m < block ? m : block) {
        V most = {0}, all;
        for (int64_t i = block - LANES; i >= 0; i -= LANES) {
            N(set)(suffix + i, MOST(N(suffixes)(N(load)(x + i, k), &all), most));
            most = MOST(most, all);
        }

        const T *next = x + block;
        most = (V){0};
        if (more) most += N(prefixes)(N(load_some)(next, more, k), &all)[more - 1];
        next += more;
        int64_t i = 0;
        const int streams = stream && (uintptr_t)out % TL_VECTOR_BYTES == 0;

        for (; i + LANES <= now; i += LANES) {
            const V r = MOST(N(prefixes)(N(load)(next + i, k), &all), most);
            N(put)(out + i, MOST(r, N(get)(suffix + i)), streams, k);
            most = MOST(most, all);
        }

        if (i == now) continue;
        const V r = MOST(N(prefixes)(N(load_some)(next + i, now - i, k), &all), most);
        N(put_some)(out + i, MOST(r, N(get)(suffix + i)), now - i, k);
    }
}

static void N(window)(const tl_narrow_run *run, int64_t w, void *buffer, tl_keying k)
{
    if (w <= TL_NARROW_SHORT)
        N(window_short)(run, w, k);
    else
        N(window_long)(run, w, buffer, k);
}
