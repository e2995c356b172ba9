/* SPDX-License-Identifier: MIT
 * reduce of neighbouring columns: lanes are columns, so no shuffles. Rows are taken eight at a time (a tree in
 * registers), then a binary counter of strips:
 *
 *   rows 8g..8g+7  ->  one strip of level-3 nodes  ->  carry: level l and l make l + 1, as in a flat fold's counter
 *
 * A strip is at most TL_STRIP vectors wide (2 KiB of f32 on AVX2), so the counter's levels stay in the first caches. */
#ifndef TL_STRIP
#define TL_STRIP 64
#endif

/* The node of 2^k <= 8 rows for one vector of columns; part: only m of its columns exist. */
TL_INLINE VS W(rows_node)(const E *x, int64_t stride, int k, int64_t i, int part, int64_t m, tl_par p)
{
    VS r[8];
    for (int j = 0; j < 1 << k; j++) {
        TL_VE(elem) e = {0};
        if (part)
            memcpy(&e, x + j * stride, (size_t)m * sizeof(E));
        else
            memcpy(&e, x + j * stride, sizeof e);
        r[j] = TL_VE(lift)(TL_FLIPPED(e, p), (TL_VE(idx)){0} + (i + j), p);
    }
    for (int c = 1 << k; c > 1; c /= 2)
        for (int j = 0; j < c / 2; j++) r[j] = W(twin)(r[2 * j], r[2 * j + 1], (1 << k) / c);
    return r[0];
}

/* Up to 8 rows of `columns` columns from row `at` on: where they lie, or, widened, in `wide`; *stride becomes
 * theirs. */
TL_INLINE const E *W(rows)(E *wide, const void *x, int64_t *stride, int64_t at, int count, int columns,
                           const tl_convert *from)
{
    if (!from) return (const E *)x + at * *stride;
    for (int j = 0; j < count; j++)
        from->apply(wide + j * columns, (const char *)x + (at + j) * *stride * from->from_bytes, columns);
    *stride = columns;
    return wide;
}

/* The elements before the block of 2^k of n: the bits of n above k. */
TL_INLINE int64_t W(higher)(int64_t n, int k) { return n & -((int64_t)2 << k); }

/* One strip: `vectors` vectors of columns, of which the last has m columns if part. */
TL_INLINE void W(strip)(tl_state *out, const void *x, int64_t strides, int64_t n, int vectors, int part, int64_t m,
                        const tl_convert *from, tl_par p)
{
    int levels = n >= 8 ? tl_top_level(n) - 2 : 1, columns = part ? (int)m : vectors * TL_V;
    VS counter[levels][vectors];
    E wide[from ? 8 * columns : 1];
    for (int64_t g = 0; g < n >> 3; g++) {
        int carries = __builtin_ctzll(~(unsigned long long)g);
        int64_t stride = strides;
        const E *row = W(rows)(wide, x, &stride, g * 8, 8, columns, from);
        for (int v = 0; v < vectors; v++) {
            VS s = W(rows_node)(row + v * TL_V, stride, 3, g * 8, part, m, p);
            for (int l = 0; l < carries; l++) s = W(twin)(counter[l][v], s, (int64_t)8 << l);
            counter[carries][v] = s;
        }
    }
    int64_t stride = strides;
    const E *tail = n & 7 ? W(rows)(wide, x, &stride, n & ~(int64_t)7, n & 7, columns, from) : NULL;
    for (int v = 0; v < vectors; v++) {
        VS s;
        int have = 0, row = 0;
        for (int l = levels - 1; l >= 0; l--)
            if (n >> (l + 3) & 1) {
                s = have ? W(combine)(s, counter[l][v], W(higher)(n, l + 3), (int64_t)8 << l) : counter[l][v];
                have = 1;
            }
        for (int k = 2; k >= 0; k--)
            if (n >> k & 1) {
                VS t = W(rows_node)(tail + row * stride + v * TL_V, stride, k, (n & ~(int64_t)7) + row, part, m, p);
                s = have ? W(combine)(s, t, W(higher)(n, k), 1 << k) : t;
                have = 1;
                row += 1 << k;
            }
        for (int lane = 0; lane < (part ? m : TL_V); lane++) {
            SS one = W(lane)(s, lane);
            memcpy(out + v * TL_V + lane, &one, sizeof one);
        }
    }
}

static void W(do_fold_columns)(tl_state *out, const void *data, int64_t stride, int64_t n, int64_t width,
                               const tl_convert *from, tl_par p)
{
    const char *x = data;
    int64_t vectors = width / TL_V, c = 0, bytes = from ? from->from_bytes : (int64_t)sizeof(E);
    enum { STACK = 24 * 1024 }; /* bytes of the counter: it stands on a thread's stack, which may have 100 KiB */
    const int levels = n >= 8 ? tl_top_level(n) - 2 : 1, fit = STACK / (levels * (int)sizeof(VS));
    int strip = from ? TL_STRIP / 4 : TL_STRIP; /* with its 8 widened rows, in the first cache too */
    if (strip > fit) strip = fit > 1 ? fit : 1;
    while (vectors > 0) {
        int now = vectors < strip ? (int)vectors : strip;
        W(strip)(out + c, x + c * bytes, stride, n, now, 0, 0, from, p);
        c += now * TL_V;
        vectors -= now;
    }
    if (c < width) W(strip)(out + c, x + c * bytes, stride, n, 1, 1, width - c, from, p);
}
