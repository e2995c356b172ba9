/* SPDX-License-Identifier: MIT
 * reduce on one core: shuffle networks compute the nodes of a tile, a binary counter the larger
 * nodes.
 *
 *   elements   V*V ------------> one vector of V nodes of V elements  (network over V loads)
 *              V vectors ------> one vector           (network, radix V, up to a tile of 4096)
 *              one vector -----> one node             (the same steps, with both operands equal)
 *   tiles      binary counter of scalar states, folded from the left at the end */

/* The node above `count` < V vectors of neighbouring nodes of n elements, by the steps of a network
 * over V vectors, as if these were repeated (equal steps are done once). Lanes 0 .. count - 1 are
 * then the nodes of the vectors, which `across` more steps join. */
TL_INLINE SS W(finish)(VS *w, int count, int64_t n)
{
    assert(1 <= count && count < TL_V && (count & (count - 1)) == 0 && n > 0);
    int across = __builtin_ctz((unsigned)count);
#define STEP(s) \
    if ((s) < TL_LOG_V) { \
        const int right = count > 1; \
        count = right ? count / 2 : 1; \
        TL_ROLLED for (int j = 0; j < count; j++) w[j] = \
            W(step)(s, w[2 * j], w[2 * j + right], n << (s)); \
    }
    STEP(0)
    STEP(1)
    STEP(2)
    STEP(3)
#undef STEP

#define ACROSS(s) \
    if ((s) < TL_LOG_V && across > (s)) w[0] = W(step)(s, w[0], w[0], n << (TL_LOG_V + (s)));
    ACROSS(0)
    ACROSS(1)
    ACROSS(2)
#undef ACROSS

    return W(lane)(w[0], 0);
}

/* The nodes of V vectors of V elements. */
TL_INLINE VS W(block)(const E *x, int64_t i, tl_par p)
{
    VS v[TL_V];
    TL_FOR(j, TL_V) v[j] = W(load)(x + j * TL_V, i + j * TL_V, p);
    return W(network)(v, 1);
}

/* blocks of a tile; elements that are widened at a time */
enum { W(BLOCKS) = TL_TILE / (TL_V * TL_V), W(PIECE) = 2048 / sizeof(E) };
_Static_assert(W(PIECE) >= TL_V * TL_V, "a piece has whole blocks");

/* Space for n widened elements of every input. */
#define TL_WIDE_CAPACITY(n) (OP_INPUTS * (n))

/* Widens n elements at x into `wide`, which has space for `capacity` elements of each input. Sets
 * p->second. */
TL_INLINE void W(widened)(E *wide, int64_t capacity, const tl_convert *from, const void *x,
                          int64_t n, tl_par *p)
{
#if OP_INPUTS == 2
    from->apply_two(from, wide, wide + capacity, x, n);
    p->second = capacity * (int64_t)sizeof(E);
#else
    from->apply(from, wide, x, n);
#endif
}

/* Prefetches bytes from .. to - 1 of the next piece into the first-level cache. */
TL_INLINE void W(prefetch_between)(const char *after, int64_t from, int64_t to)
{
    for (int64_t line = (from + 63) & ~(int64_t)63; line < to; line += 64)
        __builtin_prefetch((const char *)((uintptr_t)after + (uintptr_t)line), 0, 3);
}

TL_INLINE tl_prefetch W(prefetch_after)(const char *x, int64_t bytes, int way)
{
    return (tl_prefetch){x + tl_prefetch_distance(way), way ? bytes : 0, way};
}

/* The nodes of `count` blocks at x. */
TL_ONCE void W(fold_blocks)(VS *w, const E *x, int count, int64_t i, const tl_prefetch *next,
                            tl_par p)
{
    const tl_prefetch after = *next;
    for (int64_t j = 0; j < count * (TL_V * TL_V); j += TL_V * TL_V) {
        TL_PREFETCH_SOME(after, j, TL_V * TL_V, sizeof(E), 0);
        *w++ = W(block)(x + j, i + j, p);
    }
}

/* The same for 2^k elements from element `at` on, which are widened a piece at a time. */
static __attribute__((noinline, noclone, unused)) void
W(widened_blocks)(VS *w, const tl_elements *in, int64_t at, int k, tl_par p)
{
    _Alignas(64) E wide[TL_WIDE_CAPACITY(W(PIECE))];
    const int64_t bytes = in->from->from_bytes, i = in->i + at;
    const char *x = (const char *)in->x + at * bytes;
    const int prefetch = in->prefetch, size = 1 << k < W(PIECE) ? 1 << k : W(PIECE),
              count = size / (TL_V * TL_V);

    assert(size % (TL_V * TL_V) == 0);
    for (int64_t piece = 0; piece < 1 << k; piece += size, x += size * bytes, w += count) {
        const tl_prefetch after = W(prefetch_after)(x, bytes, prefetch);
        W(widened)(wide, W(PIECE), in->from, x, size, &p);
        W(prefetch_between)(x + size * bytes, 0, size * bytes);
        W(fold_blocks)(w, wide, count, i + piece, &after, p);
    }
}

#if TL_MOMENTS
/* The node of the 2^k elements from element `at` on, from the sums of elements and of squares
 * (gpu/kernel/partials.cl says why nothing is rounded up to 2^11 elements). */
static SS W(node)(const tl_elements *in, int64_t at, int k, tl_par p)
{
    const int n = 1 << k, step = n < 128 ? n : 128;
    int32_t sum = 0;
    uint32_t low = 0, high = 0; /* halves of the squares */
    SS r;

    if (k > 11)
        return W(twin_s)(W(node)(in, at, k - 1, p), W(node)(in, at + n / 2, k - 1, p), n / 2);
    for (const E *x = (const E *)in->x + at, *end = x + n; x < end; x += step) {
        if (in->prefetch)
            tl_prefetch_bytes(x, 128 * sizeof(E), tl_prefetch_distance(in->prefetch), in->prefetch,
                              0);
        for (int j = 0; j < step; j++) {
            E e;
            memcpy(&e, x + j, sizeof e);
            const uint32_t square = (uint32_t)e * (uint32_t)e;
            sum += e;
            low += TL_SIZE == 1 ? square : square & 0xffff;
            high += TL_SIZE == 1 ? 0 : square >> 16;
        }
    }
    r.mean = (double)sum / n;
    r.m2 = (double)((low + ((int64_t)high << 16)) * n - (int64_t)sum * sum) / n;
    return r;
}
#else
/* The node of the 2^k elements from element `at` on. */
static TL_NO_CLONE __attribute__((noinline, unused)) SS W(node)(const tl_elements *in, int64_t at,
                                                                int k, tl_par p)
{
    assert(TL_LOG_V <= k && k <= TL_TILE_LEVEL);
    VS w[W(BLOCKS)];
    const int64_t i = in->i + at;
    const E *x = (const E *)in->x + at;
    const int blocks = k >= 2 * TL_LOG_V, prefetch = in->prefetch;
    int count = 1 << (k - (blocks ? 2 * TL_LOG_V : TL_LOG_V));

    if (blocks && !in->from) {
        const tl_prefetch after = W(prefetch_after)((const char *)x, sizeof(E), prefetch);
        W(fold_blocks)(w, x, count, i, &after, p);
    } else if (blocks) {
        W(widened_blocks)(w, in, at, k, p);
    } else {
        assert(!in->from); /* these are widened already (nodes) */
        for (int j = 0; j < count; j++) w[j] = W(load)(x + j * TL_V, i + j * TL_V, p);
    }

    int64_t size = blocks ? TL_V : 1; /* elements of a lane */
    for (; count >= TL_V; count /= TL_V, size *= TL_V)
        for (int j = 0; j < count / TL_V; j++) w[j] = W(network)(w + j * TL_V, size);

    return W(finish)(w, count, size);
}
#endif

TL_INLINE SS W(lift1)(const E *x, int64_t i, tl_par p)
{
    TL_S(elem) e;
    memcpy(&e, x, sizeof e);
    return TL_LIFTED(TL_S, e, x, 1, i, p);
}

/* node(x, k) for nodes smaller than a vector. */
TL_INLINE SS W(small_node)(const E *x, int k, int64_t i, tl_par p)
{
    assert(0 <= k && k < TL_LOG_V);
    SS s[TL_V];
    for (int j = 0; j < 1 << k; j++) s[j] = W(lift1)(x + j, i + j, p);
    for (int m = 1 << k; m > 1; m /= 2)
        for (int j = 0; j < m / 2; j++) s[j] = W(twin_s)(s[2 * j], s[2 * j + 1], (1 << k) / m);
    return s[0];
}

/* The nodes of S(n), largest first; returns their number (one for each set bit of n). */
TL_INLINE int W(nodes)(SS *stack, const tl_elements *in, tl_par p)
{
    const int64_t n = in->n;
    int64_t at = 0;
    int top = 0;

    assert(n > 0);
    for (int64_t t = 0; t < n >> TL_TILE_LEVEL; t++, at += TL_TILE) {
        SS s = W(node)(in, at, TL_TILE_LEVEL, p);
        for (int64_t c = t, size = TL_TILE; c & 1; c >>= 1, size *= 2)
            s = W(twin_s)(stack[--top], s, size);
        stack[top++] = s;
    }

    for (int64_t rest = n - at; in->from && rest > W(PIECE); rest = n - at) {
        int k = tl_top_level(rest);
        stack[top++] = W(node)(in, at, k, p);
        at += (int64_t)1 << k;
    }

    E wide[TL_WIDE_CAPACITY(W(PIECE))];
    const tl_elements *part = in;
    tl_elements widened;

    if (in->from && at < n) {
        const char *narrow = (const char *)in->x + at * in->from->from_bytes;
        W(widened)(wide, W(PIECE), in->from, narrow, n - at, &p);
        widened = (tl_elements){wide, n - at, in->i + at, NULL, TL_CACHED};
        part = &widened;
        at = 0;
    }

    for (int64_t left = part->n - at; left > 0;) {
        int k = tl_top_level(left);
        stack[top++] = k >= TL_LOG_V ? W(node)(part, at, k, p)
                                     : W(small_node)((const E *)part->x + at, k, part->i + at, p);
        at += (int64_t)1 << k;
        left -= (int64_t)1 << k;
    }

    return top;
}

/* Operators with these facts have another do_fold (class_x_kernel.h). */
#if !TL_CLASS_X
static void W(do_fold)(tl_state *out, const tl_elements *in, tl_par p)
{
    SS stack[TL_MAX_LEVELS];
    const int64_t n = in->n;

    memset(stack, 0, sizeof(SS)); /* only tells the compiler that n > 0 */
    int top = W(nodes)(stack, in, p);
    SS s = stack[0];
    int64_t before = (int64_t)1 << tl_top_level(n);
    for (int j = 1; j < top; j++) {
        const int64_t size = (int64_t)1 << tl_top_level(n - before);
        s = W(combine_s)(s, stack[j], before, size);
        before += size;
    }
    memcpy(out, &s, sizeof s);
}

#endif
