/* SPDX-License-Identifier: MIT
 * Windows that are any ranges of a tile. y_k[i] is the node of the 2^k elements that begin at i,
 * for every i; a window is the fold of those at the set bits of its length, high to low. A lane
 * is a window.
 *
 *   y_0   x0 x1 x2 x3 x4 x5 ...            window 1..7 = 4 + 2:   C(y_2[1], y_1[5])
 *   y_1   01 12 23 34 45 56 ...            window 3..6 = 2 + 1:   C(y_1[3], y_0[5])
 *   y_2   03 14 25 36 ...
 */

/* Those of V windows, one after the other, that have the same length: no lane differs. */
TL_INLINE VS W(span_alike)(const W(soa) * y, int32_t from, int32_t length)
{
    int l = tl_top_level(length);
    int64_t done = (int64_t)1 << l;
    VS s = W(soa_load)(y + l, from);
    for (int32_t rest = length & ~(int32_t)done; rest;) {
        l = tl_top_level(rest);
        s = W(combine)(s, W(soa_load)(y + l, from + done), done, (int64_t)1 << l);
        done += (int64_t)1 << l;
        rest &= ~(1 << l);
    }
    return s;
}

/* Those of any V windows. Lanes whose length has not the bit fold what they find, and keep what
   they had. */
TL_INLINE VS W(span_any)(const W(soa) * y, const int32_t *from, const int32_t *length)
{
    typedef int32_t numbers __attribute__((vector_size(TL_V * sizeof(int32_t))));
    numbers at, n, done = {0};
    int32_t bits = 0;
    memcpy(&at, from, sizeof at);
    memcpy(&n, length, sizeof n);
    TL_UNROLL for (int v = 0; v < TL_V; v++) bits |= length[v];
    VS s = W(soa_load)(y, 0);
    for (; bits; bits &= ~(1 << tl_top_level(bits))) {
        const int l = tl_top_level(bits);
        const W(soa) *const level = y + l;
        const numbers hit = (n & (1 << l)) != 0, first = hit & (done == 0),
                      more = hit & (done != 0);
        int32_t place[TL_V];
        memcpy(place, &at, sizeof place);
        VS node, both;
#define GATHER(type, f)                                                                            \
    {                                                                                              \
        __typeof__(s.f) lanes = {0};                                                               \
        TL_UNROLL for (int v = 0; v < TL_V; v++) lanes[v] = level->f[place[v]];                    \
        node.f = lanes;                                                                            \
    }
        OP_FIELDS(GATHER)
#undef GATHER
        both = W(combine_at)(s, node, TL_TO(done, TL_REAL_T), (int64_t)1 << l);
#define PICK(type, f)                                                                              \
    {                                                                                              \
        s.f = TL_BLEND(__builtin_convertvector(first, __typeof__(s.f == s.f)), node.f, s.f);       \
        s.f = TL_BLEND(__builtin_convertvector(more, __typeof__(s.f == s.f)), both.f, s.f);        \
    }
        OP_FIELDS(PICK)
#undef PICK
        at += hit & (1 << l);
        done += hit & (1 << l);
    }
    return s;
}

static void W(do_spans)(const tl_spans *k, tl_par p)
{
    W(soa) *const y = k->tables;
    const E *x = k->x;
    int64_t j = 0;
    for (; j + TL_V <= k->n; j += TL_V) W(soa_store)(y, j, W(load)(x + j, j, p));
    if (j < k->n) W(soa_store)(y, j, W(load_part)(x + j, k->n - j, j, p));
    for (int l = 1; l < k->levels; l++) {
        const int64_t half = (int64_t)1 << (l - 1);
        for (j = 0; j <= k->n - 2 * half; j += TL_V) W(soa_store)
        (y + l, j, W(twin)(W(soa_load)(y + l - 1, j), W(soa_load)(y + l - 1, j + half), half));
    }
    for (j = 0; j < k->results; j += TL_V) {
        const int32_t *const from = k->from + j, *const length = k->length + j;
        int32_t differ = 0;
        TL_UNROLL for (int v = 1; v < TL_V; v++) differ |=
            (length[v] ^ length[0]) | (from[v] - v - from[0]);
        W(soa_store)
        (k->soa, j, differ ? W(span_any)(y, from, length) : W(span_alike)(y, from[0], length[0]));
    }
}
