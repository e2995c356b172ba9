/* SPDX-License-Identifier: MIT
 * The faster ways of window_kernel.h for operators of class X, where any association gives the same
 * bits.
 *
 * SLIDE (OP_INVERSE): the next V windows are the previous window plus the prefix sums of (elements
 * that enter) - (elements that leave).
 *
 * BLOCKS (OP_IDEMPOTENT): the van Herk / Gil-Werman algorithm in each lane, on nodes of V elements,
 * in blocks of w / V vectors:
 *
 *   |.....[sssss|ppp].....|      a window that ends in a block is a suffix s of the previous
 *                                block and a prefix p of the current one
 *
 * This takes three combines per element for any w. One overlapping node in window_lower covers the
 * remainder of w / V.
 *
 * Operands are differences or overlap, so an operator with OP_SIZES has neither fact. */
#define JOIN(a, b) W(join)(a, b, 0, 0)

#if OP_INVERSE
/* The V windows after *before, from the differences d = (enters) - (leaves): prefix sums in a
 * register. */
TL_INLINE VS W(slide_some)(VS *before, VS d, tl_par p)
{
    d = W(prefixes)(d, p);
    VS r = JOIN(*before, d);
    /* From d and not from r: one addition, and no shuffle, from vector to vector. */
    *before = JOIN(*before, W(ends)(d));
    return r;
}

static __attribute__((noinline)) void W(slide)(tl_window_work *k, const tl_window_piece *piece,
                                               tl_par p)
{
    const E *x = piece->x, *old = piece->old;
    const int64_t at = W(HISTORY) + piece->lead, m = piece->m, i = piece->i;
    W(soa) *past = k->past;
    VS *carry = k->carry;
    VS before = *carry;
    int64_t j = 0;

    for (; j + TL_V <= m; j += TL_V) {
        if (j % W(FETCHED) == 0) {
            TL_PREFETCH_SOME(k->next, j, W(FETCHED), sizeof(E), 0);
            TL_PREFETCH_SOME(k->prefetch_old, j, W(FETCHED), sizeof(E), 0);
        }
        VS d = TL_VE(uncombine)(W(load)(x + j, i + j, p), W(load)(old + j, i + j, p));
        W(soa_store)(past, at + j, W(slide_some)(&before, d, p));
    }

    *carry = before;
    if (j == m) return;

    VS d = TL_VE(uncombine)(W(load_part)(x + j, m - j, i + j, p),
                            W(load_part)(old + j, m - j, i + j, p));
    W(soa_store)(past, at + j, W(slide_some)(&before, d, p));
    SS s = W(soa_get)(past, at + m - 1);
    for (int l = 0; l < TL_V; l++) W(put)(carry, l, s);
}
#endif

#if OP_IDEMPOTENT
/* block[c] holds the suffix from vector c of the previous block until vector c of the current block
 * is read, then that vector. */
static __attribute__((noinline)) void W(blocks)(tl_window_work *k, int64_t rows, tl_par p)
{
    VS *block = k->ring, *carry = k->carry, prefix = carry[0],
       last[3] = {carry[1], carry[2], carry[3]};
    const void *z0 = k->z0;
    W(soa) *nodes = k->w & (TL_V - 1) ? k->z2 : NULL, *past = k->past;
    int64_t length = k->w >> TL_LOG_V, c = k->row;

    for (int64_t at = W(HISTORY); at < W(HISTORY) + rows * W(ROW); at += TL_V) {
        VS v = W(double_levels)(last, z0, NULL, TL_LOG_V, at, p);
        if (nodes) W(soa_store)(nodes, at, v);
        prefix = c ? JOIN(prefix, v) : v;
        block[c] = v;

        if (++c < length) {
            W(soa_store)(past, at, JOIN(block[c], prefix));
            continue;
        }

        W(soa_store)(past, at, prefix);
        VS suffix = v;

        while (--c > 0) {
            block[c] = suffix;
            suffix = JOIN(block[c - 1], suffix);
        }
    }

    k->row = c;
    carry[0] = prefix;
    for (int j = 0; j < 3; j++) carry[1 + j] = last[j];
}
#endif
#undef JOIN
