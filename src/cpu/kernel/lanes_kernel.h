/* SPDX-License-Identifier: MIT
 * Many sequences at once, one per lane: columns in place, short rows and segments after a
 * transposition (cpu/lanes.h). Every lane has its own binary counter, so no lanes are shuffled. A
 * row holds the elements with the same index in their sequences. Eight rows are taken at a time:
 *
 *   fold     rows 8g..8g+7 -> a tree in registers -> a node of level 3 -> the counter, which joins
 *            two nodes of level l into one of level l + 1
 *   scan     S(8g) and that tree's nodes make S(8g + 1) .. S(8g + 7); the counter makes S(8g + 8)
 *   window   the nodes that end at each row, level by level, and the fold of those at the set bits
 *            of w */

enum { W(BLOCK_LOG) = 3, W(ROWS) = 1 << W(BLOCK_LOG) };

/* The states of row i. */
TL_INLINE VS W(load_row)(const E *x, int64_t i, tl_par p)
{
    TL_VE(elem) e;
    memcpy(&e, x, sizeof e);
    return TL_LIFTED(TL_VE, e, x, TL_V, (TL_VE(idx)){0} + i, p);
}

/* Prefetches 8 rows, `prefetch_distance` rows after x: a line of each; or, with `lines`, a
 * constant, the lines of narrow rows. An address without memory has no effect. */
TL_INLINE void W(prefetch_rows)(const E *x, int64_t stride, int64_t prefetch_distance, int lines)
{
    if (!prefetch_distance) return;

    const int64_t row = stride * (int64_t)sizeof(E);
    const uintptr_t to = (uintptr_t)x + (uintptr_t)(prefetch_distance * row);
    if (lines && 0 < row && row < 64)
        for (int64_t line = 0; line < W(ROWS) * row; line += 64)
            __builtin_prefetch((const void *)(to + (uintptr_t)line), 0, 2);
    else
        TL_FOR(j, W(ROWS)) __builtin_prefetch((const void *)(to + (uintptr_t)(j * row)), 0, 2);
}

/* The node of the 2^k <= 8 rows from x on. */
TL_INLINE VS W(rows_node)(const E *x, int64_t stride, int k, int64_t i, tl_par p)
{
    VS r[8];
    TL_FOR(j, 1 << k) r[j] = W(load_row)(x + j * stride, i + j, p);
    TL_FOR(s, k)
        TL_FOR(j, 1 << (k - 1 - s)) r[j] = W(twin)(r[2 * j], r[2 * j + 1], 1 << s);
    return r[0];
}

/* o[j] = S(at + j + 1), j < 7, from S(at) and the states of 8 rows; o[7] = their node. absent:
 * S(at) is ABSENT. */
TL_CALLED void W(row_prefixes)(VS *o, const VS *v, VS before, int absent, int64_t at)
{
    VS a01 = W(twin)(v[0], v[1], 1), a45 = W(twin)(v[4], v[5], 1),
       a03 = W(twin)(a01, W(twin)(v[2], v[3], 1), 2);

    o[7] = W(twin)(a03, W(twin)(a45, W(twin)(v[6], v[7], 1), 2), 4);
    if (absent) {
        o[0] = v[0];
        o[1] = a01;
        o[3] = a03;
    } else {
        o[0] = W(combine)(before, v[0], at, 1);
        o[1] = W(combine)(before, a01, at, 2);
        o[3] = W(combine)(before, a03, at, 4);
    }

    o[2] = W(combine)(o[1], v[2], at + 2, 1);
    o[4] = W(combine)(o[3], v[4], at + 4, 1);
    o[5] = W(combine)(o[3], a45, at + 4, 2);
    o[6] = W(combine)(o[5], v[6], at + 6, 1);
}

/* Loads the first `count` of 8 rows; the other vectors repeat row 0. */
TL_INLINE void W(load_rows)(VS *v, const E *x, int64_t stride, int count, int64_t i, tl_par p)
{
    TL_FOR(j, W(ROWS)) v[j] = W(load_row)(x + (j < count ? j * stride : 0), i + j, p);
}

/* Puts the node of block g into the counter. carries(g): the level above a block that it
 * reaches. */
TL_INLINE int W(carries)(int64_t g) { return __builtin_ctzll(~(unsigned long long)g); }
TL_INLINE VS W(carry)(VS *counter, VS s, int carries, int vectors)
{
    for (int l = 0; l < carries; l++) s = W(twin)(counter[l * vectors], s, (int64_t)W(ROWS) << l);
    return counter[carries * vectors] = s;
}

/* The number of elements before the node of 2^k elements in S(n): the bits of n above k. */
TL_INLINE int64_t W(higher)(int64_t n, int k) { return n & -((int64_t)2 << k); }

/* An index or a length for each lane. */
typedef int32_t W(places) __attribute__((vector_size(TL_V * sizeof(int32_t))));

/* Lanes of a where `here` is set, of b elsewhere. */
TL_INLINE VS W(select)(W(places) here, VS a, VS b)
{
#define PICK(type, f) \
    b.f = TL_BLEND(__builtin_convertvector(here, __typeof__(b.f == b.f)), a.f, b.f);
    OP_FIELDS(PICK)
#undef PICK
    return b;
}

/* S of V lanes, from lane c on, after ends[] of the last rows, which are at x. s = S(at). */
TL_INLINE VS W(ragged)(VS s, const tl_lanes *k, const E *x, int64_t at, int c, tl_par p)
{
    VS v[8], o[8];
    const int count = (int)(k->at + k->m - at);
    W(places) end = (W(places)){0} + count;

    W(load_rows)(v, x, k->stride, count, at, p);
    W(row_prefixes)(o, v, s, at == 0, at);
    if (k->ends) memcpy(&end, k->ends + c, sizeof end);

    /* Without rows before, o[7] is S(8). Otherwise no lane ends at row 8. */
    TL_FOR(j, 8) s = W(select)(end == j + 1, o[j], s);
    return s;
}

static void W(do_lanes_fold)(const tl_lanes *k, tl_par p)
{
    const E *x = k->x;
    const int64_t stride = k->stride, n = k->at + k->m;
    const int rest = k->ends && n == W(ROWS) ? W(ROWS) : n & (W(ROWS) - 1);
    const int64_t blocks = (n - rest) >> W(BLOCK_LOG);
    VS *counter = k->carry;

    assert(k->at % W(ROWS) == 0 && k->m >= 0 && k->levels >= 1 && (blocks >> k->levels) == 0);
    for (int64_t g = k->at >> W(BLOCK_LOG); g < blocks; g++, x += W(ROWS) * stride) {
        const int carries = W(carries)(g);
        for (int v = 0; v < k->vectors; v++) {
            const E *e = x + v * TL_V;
            TL_HIDDEN(e);
            W(prefetch_rows)(e, stride, k->prefetch_distance, 0);
            const VS node = W(rows_node)(e, stride, W(BLOCK_LOG), g * W(ROWS), p);
            W(carry)(counter + v, node, carries, k->vectors);
        }
    }

    if (!k->soa) return;
    for (int v = 0; v < k->vectors; v++) {
        VS s = counter[0];
        int has_state = 0;
        for (int64_t bits = blocks; bits;) {
            const int l = tl_top_level(bits);
            const VS node = counter[l * k->vectors + v];
            bits &= ~((int64_t)1 << l);
            s = has_state
                    ? W(combine)(s, node, W(higher)(n, l + W(BLOCK_LOG)), (int64_t)W(ROWS) << l)
                    : node;
            has_state = 1;
        }

        const E *row = x + v * TL_V;
        if (k->ends || (TL_COMPACT && rest)) {
            s = W(ragged)(s, k, row, n - rest, v * TL_V, p);
        } else if (!TL_COMPACT) {
#define REST(level) \
    if (rest >> (level)&1) { \
        const VS node = W(rows_node)(row, stride, level, W(higher)(n, level), p); \
        s = has_state ? W(combine)(s, node, W(higher)(n, level), 1 << (level)) : node; \
        has_state = 1; \
        row += stride * (1 << (level)); \
    }
            REST(2)
            REST(1)
            REST(0)
#undef REST
        }

        W(soa_store)(k->soa, k->to + v * TL_V, s);
    }
}

/* S before block g of a scan, for each vector: from the counter, or the initial value. */
TL_INLINE const VS *W(start_of)(const tl_lanes *k, int64_t g)
{
    const int slot = g ? __builtin_ctzll((unsigned long long)g) : k->levels;
    return (const VS *)k->carry + (k->levels + slot) * k->vectors;
}

/* Appends the node of block g to the counter of vector v; returns S after it. */
TL_INLINE VS W(append_node)(const tl_lanes *k, int v, int64_t g, VS node)
{
    const int carries = W(carries)(g), vectors = k->vectors;
    const int64_t parent = g & (g + 1);
    VS *const counter = k->carry, s = W(carry)(counter + v, node, carries, vectors);

    if (parent || k->seeded)
        s = W(combine)(W(start_of)(k, parent)[v], s, parent << W(BLOCK_LOG),
                       (int64_t)W(ROWS) << carries);
    return counter[(k->levels + carries) * vectors + v] = s;
}

#if TL_SCAN_FULL
/* Writes lower(S(n)). */
TL_INLINE void W(put_row)(TL_OUT_T *to, VS s, int64_t n, int stream, tl_par p)
{
    TL_VE(result)
    r = TL_RESULT(TL_VE(lower)(s, (TL_REAL_T)n - (TL_VE(real)){0}, (TL_VE(idx)){0}, p), p);
    if (stream)
        tl_stream_store(to, &r, sizeof r);
    else
        memcpy(to, &r, sizeof r);
}

enum { W(PACKED) = 512 }; /* bytes of results that are copied at a time, at least */

/* Copies whole lines of the first `rows` rows of results to k->packed, at the end all that is left.
 * Returns the end of what is copied. */
TL_INLINE int64_t W(pack_rows)(const tl_lanes *k, int64_t copied, int64_t rows)
{
    const int64_t end = rows * k->out_step * (int64_t)sizeof(TL_OUT_T);
    if (rows < k->m && end - copied < W(PACKED)) return copied;
    copied = tl_copy_lines(k->packed, k->out, copied, end, k->stream);
    if (rows == k->m)
        memcpy((char *)k->packed + copied, (char *)k->out + copied, (size_t)(end - copied));
    return copied;
}
#endif

static void W(do_lanes_scan)(const tl_lanes *given, tl_par p)
{
    const tl_lanes here = *given, *const k = &here; /* no store changes it */
    const int64_t stride = k->stride, width = k->vectors * TL_V;
    const int vectors = k->vectors;
    /* Where rows of results are narrower than the vectors, the last vector of a row overlaps the
     * next row, whose first one is written later. */
    const int narrow = 0 < k->out_step && k->out_step < width, begin = narrow ? vectors - 1 : 0,
              step = narrow ? -1 : 1;

    assert(k->at % W(ROWS) == 0 && k->m >= 0 && k->levels >= 1);
    assert((k->at + k->m) >> W(BLOCK_LOG) >> k->levels == 0);
    assert((!k->stream && !k->packed) || k->out);
#if TL_SCAN_FULL
    const int64_t out_step = k->out_step;
    const int stream = k->stream && !k->packed;
    int64_t copied = 0;
#endif

    for (int64_t row = 0; row < k->m; row += W(ROWS)) {
        const int64_t at = k->at + row, g = at >> W(BLOCK_LOG);
        const int count = k->m - row < W(ROWS) ? (int)(k->m - row) : W(ROWS),
                  absent = !g && !k->seeded;
        const VS *const from = W(start_of)(k, g); /* S(at) */

        for (int i = 0, v = begin; i < vectors; i++, v += step) {
            const int64_t to = k->to + row * width + v * TL_V;
            VS x[8], o[8];
            const E *e = (const E *)k->x + row * stride + v * TL_V;
            TL_HIDDEN(e);
            W(prefetch_rows)(e, stride, k->prefetch_distance, 1);
            W(load_rows)(x, e, stride, count, at, p);
            W(row_prefixes)(o, x, from[v], absent, at);
#if TL_SCAN_FULL
            TL_OUT_T *r = (TL_OUT_T *)k->out + row * out_step + v * TL_V;
            TL_HIDDEN(r);
            if (k->out) {
                TL_FOR(j, 7)
                    if (j < count) W(put_row)(r + j * out_step, o[j], at + j + 1, stream, p);
            } else
#endif
            {
                if (row == 0) W(soa_store)(k->soa, to, from[v]);
                TL_FOR(j, 7) W(soa_store)(k->soa, to + (j + 1) * width, o[j]);
            }

            if (count < W(ROWS)) continue;
            const VS s = W(append_node)(k, v, g, o[7]);
#if TL_SCAN_FULL
            if (k->out)
                W(put_row)(r + 7 * out_step, s, at + 8, stream, p);
            else
#endif
                W(soa_store)(k->soa, to + W(ROWS) * width, s);
        }
#if TL_SCAN_FULL
        /* one block late: what it reads is in the cache by then, not in the store buffer */
        if (k->packed) copied = W(pack_rows)(k, copied, row);
#endif
    }
#if TL_SCAN_FULL
    if (k->packed) W(pack_rows)(k, copied, k->m);
#endif
}

/* z holds the nodes of one level that end at rows 2^b - 1 .. m - 1, of one vector of lanes. From
 * the last row to the first, so a level may overwrite the one below it. */
#define EACH(expression) \
    TL_FOR(j, STEP) expression
#define KEEPS(b) (!OP_IDEMPOTENT && w >> (b)&1)
/* The first three levels in registers: z[3] gets level 3, z[b] level b if bit b of w needs it. */
TL_INLINE void W(low_levels)(const tl_lanes *k, const E *x, VS *const *z, int64_t w, tl_par p)
{
    enum { STEP = TL_HALF_FILE < 8 ? 4 : 8 }; /* rows at a time */
    VS *const z0 = z[0], *const z1 = z[1], *const z2 = z[2], *const z3 = z[3];
    /* the last vectors of the previous block */
    VS v0 = W(load_row)(x, k->at, p), v1[2] = {v0, v0}, v2[4] = {v0, v0, v0, v0};

    for (int64_t e = 0; e < k->m; e += STEP) {
        VS a[STEP], c[STEP];
        const E *rows = x + e * k->stride;
        if (e % W(ROWS) == 0) W(prefetch_rows)(rows, k->stride, k->prefetch_distance, 0);
        EACH(a[j] = W(load_row)(e + j < k->m ? rows + j * k->stride : rows, k->at + e + j, p));
        if (KEEPS(0)) EACH(z0[e + j] = a[j]);
        EACH(c[j] = W(join_twins)(j < 1 ? v0 : a[j - 1], a[j], 1));
        v0 = a[STEP - 1];
        if (KEEPS(1)) EACH(z1[e + j] = c[j]);
        EACH(a[j] = W(join_twins)(j < 2 ? v1[j] : c[j - 2], c[j], 2));
        TL_FOR(j, 2) v1[j] = c[STEP - 2 + j];
        if (KEEPS(2)) EACH(z2[e + j] = a[j]);
        EACH(z3[e + j] = W(join_twins)(j < 4 ? v2[j] : a[j - 4], a[j], 4));
        TL_FOR(j, 4) v2[j] = a[STEP - 4 + j];
    }
}

static void W(do_lanes_window)(const tl_lanes *k, int64_t w, tl_par p)
{
    const int64_t m = k->m, width = k->vectors * TL_V,
                  capacity = (m + W(ROWS) - 1) & -(int64_t)W(ROWS);
    const int top = tl_top_level(w), last = tl_level(w); /* of a window's first and last node */

    assert(0 < w);
    for (int v = 0; v < k->vectors; v++) {
        const E *x = (const E *)k->x + v * TL_V;
        const int64_t to = k->to + v * TL_V - (w - 1) * width;
        VS *z = k->carry;
#if !OP_IDEMPOTENT
        VS *kept[TL_MAX_LEVELS];
        memset(kept, 0, sizeof kept); /* only tells the compiler that it is set */
#endif
        int b = 0;
        const int levels = top - (last == top);
        if (!TL_COMPACT && levels >= W(BLOCK_LOG)) {
            VS *low[W(BLOCK_LOG) + 1] = {z};
            for (; b < W(BLOCK_LOG); b++) low[b + 1] = low[b] + (KEEPS(b) ? capacity : 0);
            W(low_levels)(k, x, low, w, p);
            z = low[b];
#if !OP_IDEMPOTENT
            memcpy(kept, low, W(BLOCK_LOG) * sizeof *kept);
#endif
        } else {
            for (int64_t e = 0; e < m; e++) z[e] = W(load_row)(x + e * k->stride, k->at + e, p);
        }

        for (; b < levels; b++) {
            const VS *below = z;
            const int64_t d = (int64_t)1 << b;
#if !OP_IDEMPOTENT
            if (KEEPS(b)) kept[b] = z, z += capacity;
#endif
            for (int64_t e = m - 1; e >= 2 * d - 1; e--)
                z[e] = W(join_twins)(below[e - d], below[e], d);
        }

        int64_t folded = (int64_t)1 << top; /* the last pass stages the windows */
        if (w == 1) {
            for (int64_t e = 0; e < m; e++) W(soa_store)(k->soa, to + e * width, z[e]);
        } else if (last == top) {
            for (int64_t e = w - 1; e < m; e++)
                W(soa_store)(k->soa, to + e * width, W(join_twins)(z[e - w / 2], z[e], w / 2));
        } else {
#if OP_IDEMPOTENT /* two nodes that overlap */
            for (int64_t e = w - 1; e < m; e++)
                W(soa_store)(k->soa, to + e * width, W(join)(z[e - (w - folded)], z[e], 0, 0));
#else
            for (b = top - 1; b > last; b--) {
                const int64_t d = (int64_t)1 << b;
                if (!(w >> b & 1)) continue;
                for (int64_t e = m - 1; e >= folded + d - 1; e--)
                    z[e] = W(join)(z[e - d], kept[b][e], folded, d);
                folded += d;
            }

            const int64_t d = (int64_t)1 << last;
            for (int64_t e = w - 1; e < m; e++)
                W(soa_store)(k->soa, to + e * width, W(join)(z[e - d], kept[last][e], folded, d));
#endif
        }
    }
}

#undef EACH

#if TL_FLAT
#define EACH_VECTOR(first_row) \
    for (int64_t first = (first_row)*columns, f = first + (n - first - 1) / TL_V * TL_V; \
         f >= first; f -= TL_V)
/* The same for rows side by side: a row before is k->stride states before, so every lane of a
 * vector has a window. z[f] ends at state f. */
static void W(do_lanes_flat)(const tl_lanes *k, int64_t w, tl_par p)
{
    const int64_t columns = k->stride, n = k->m * columns;
    const uintptr_t ahead = (uintptr_t)(k->prefetch_distance * columns) * sizeof(E);
    const int top = tl_top_level(w), last = tl_level(w), levels = top - (last == top);
    const E *x = k->x;
    W(soa) *z = k->carry, *kept[TL_MAX_LEVELS] = {NULL};
    int64_t folded = (int64_t)1 << top;

    assert(0 < w && w <= k->m && n + TL_V <= TL_SOA);
    for (int64_t f = 0; f < n; f += TL_V) {
        if (ahead) __builtin_prefetch((const void *)((uintptr_t)(x + f) + ahead), 0, 2);
        W(soa_store)(z, f, W(load)(x + f, 0, p));
    }

    for (int b = 0; b < levels; b++) {
        const W(soa) *below = z;
        const int64_t d = (int64_t)1 << b, back = d * columns;
#define NODE(f) W(join_twins)(W(soa_load)(below, (f)-back), W(soa_load)(below, f), d)
        if (KEEPS(b)) kept[b] = z++;
        if (b + 1 == levels || KEEPS(b + 1)) {
            EACH_VECTOR(2 * d - 1) W(soa_store)(z, f, NODE(f));
        } else { /* two levels at once */
            b++;
            EACH_VECTOR(4 * d - 1)
            W(soa_store)(z, f, W(join_twins)(NODE(f - 2 * back), NODE(f), 2 * d));
        }
#undef NODE
    }

    for (int b = top - 1; b > last && !OP_IDEMPOTENT; b--) {
        const int64_t d = (int64_t)1 << b;
        if (!(w >> b & 1)) continue;
        EACH_VECTOR(folded + d - 1)
        {
            const VS left = W(soa_load)(z, f - d * columns);
            W(soa_store)(z, f, W(join)(left, W(soa_load)(kept[b], f), folded, d));
        }
        folded += d;
    }

    const int64_t d = (int64_t)1 << last, begin = (w - 1) * columns;
    for (int64_t f = begin; f < n; f += TL_V) { /* the last pass stages the windows */
        VS s = W(soa_load)(z, f);
        if (last == top && w > 1)
            s = W(join_twins)(W(soa_load)(z, f - d / 2 * columns), s, d / 2);
        else if (OP_IDEMPOTENT && w > 1)
            s = W(join)(W(soa_load)(z, f - (w - folded) * columns), s, 0, 0);
        else if (w > 1)
            s = W(join)(W(soa_load)(z, f - d * columns), W(soa_load)(kept[last], f), folded, d);
        W(soa_store)(k->soa, f - begin, s);
    }
}

#undef EACH_VECTOR
#endif
#undef KEEPS

static void W(do_lanes_put)(const tl_lanes *k, int slot, int64_t lane, const tl_state *s)
{
    SS one;
    assert(0 <= slot && slot <= 2 * k->levels && 0 <= lane && lane < k->vectors * TL_V);
    memcpy(&one, s, sizeof one);
    W(put)((VS *)k->carry + slot * k->vectors + (lane >> TL_LOG_V), (int)(lane & (TL_V - 1)), one);
}

static void W(do_unstage)(const void *soa, int64_t j, tl_state *s)
{
    SS one = W(soa_get)(soa, j);
    memcpy(s, &one, sizeof one);
}
