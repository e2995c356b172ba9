/* SPDX-License-Identifier: MIT
 * Lowers staged states to results, one vector at a time. A staging buffer (soa) is a structure of
 * arrays: the fields of TL_SOA states, one field after the other. So the kernels of one operator
 * and the `lower` of another can share it (mean lowers the states of sum). */

/* Each field has TL_SOA entries. */
typedef struct {
#define COLUMN(type, f) TL_S(type) f[TL_SOA];
    OP_FIELDS(COLUMN)
#undef COLUMN
} W(soa);

_Static_assert(sizeof(W(soa)) <= TL_SOA_BYTES, "TL_SOA_BYTES is too small for this operator");

TL_INLINE VS W(soa_load)(const W(soa) * b, int64_t j)
{
    VS r;
#define GET(type, f) memcpy(&r.f, b->f + j, sizeof r.f);
    OP_FIELDS(GET)
#undef GET
    return r;
}

TL_INLINE void W(soa_store)(W(soa) * b, int64_t j, VS v)
{
#define SET(type, f) memcpy(b->f + j, &v.f, sizeof v.f);
    OP_FIELDS(SET)
#undef SET
}

TL_INLINE SS W(soa_get)(const W(soa) * b, int64_t j)
{
    SS r;
#define GET1(type, f) r.f = b->f[j];
    OP_FIELDS(GET1)
#undef GET1
    return r;
}

TL_INLINE void W(soa_set)(W(soa) * b, int64_t j, SS s)
{
#define SET1(type, f) b->f[j] = s.f;
    OP_FIELDS(SET1)
#undef SET1
}

/* n, n + dn, n + 2 dn, ... */
TL_INLINE TL_VE(real) W(counts)(int64_t n, int dn) { return W(numbers)(n, W(ramp)(), dn); }

/* Lowers state j of b, which is of n elements; `first` is the origin of their indices. */
TL_INLINE void W(lower_one)(TL_OUT_T *out, const W(soa) * b, int64_t j, int64_t n, int64_t first,
                            tl_par p)
{
    SS s = W(soa_get)(b, j);
    TL_OUT_T r = TL_RESULT(TL_S(lower)(s, (TL_REAL_T)n, first, p), p);
    memcpy(out, &r, sizeof r);
#if OP_LANES == 2
    r = TL_RESULT(TL_S(lower_1)(s, (TL_REAL_T)n, first, p), p);
    memcpy(out + 1, &r, sizeof r);
#endif
}

/* The results of one row; k.rows is not used. Copies of k's members stay in registers. */
TL_INLINE void W(lower_loop)(TL_OUT_T *out, const W(soa) * b, tl_lower k, int stream, tl_par p)
{
    const int64_t from = k.from, m = k.m, n = k.n, first = k.first;
    const int dn = k.dn, dfirst = k.dfirst;
    int64_t j = 0;

#if OP_LANES == 1
    /* Non-temporal stores need an aligned target: lower up to one vector of results singly. */
    if (stream)
        for (; j < m && ((uintptr_t)(out + j) & (sizeof(TL_VE(result)) - 1)); j++)
            W(lower_one)(out + j, b, from + j, n + j * dn, first + j * dfirst, p);
    for (; j + TL_V <= m; j += TL_V) {
        TL_VE(idx) origin = dfirst ? W(iota)(first + j) : (TL_VE(idx)){0} + first;
        TL_VE(real) count = W(counts)(n + j * dn, dn);
        TL_VE(result) r = TL_VE(lower)(W(soa_load)(b, from + j), count, origin, p);
        r = TL_RESULT(r, p);
        if (stream)
            tl_stream_store(out + j, &r, sizeof r);
        else
            memcpy(out + j, &r, sizeof r);
    }
#else
    (void)stream;
#endif
    for (; j < m; j++)
        W(lower_one)(out + j * OP_LANES, b, from + j, n + j * dn, first + j * dfirst, p);
}

/* Lowers k->rows rows of k->m results; see tl_lower. */
static void W(do_lower_rows)(void *out, const void *soa, const tl_lower *k, tl_par p)
{
    TL_OUT_T *to = out;
    tl_lower row = *k;

    assert(k->rows > 0 && k->m >= 0 && k->from >= 0);
    assert(k->from + (k->rows - 1) * k->width + k->m <= TL_SOA);
    assert(!k->counts || (k->rows == 1 && k->m % TL_ABREAST == 0 && !k->dfirst));
    assert(!k->firsts || k->counts);

    if (k->counts && OP_LANES == 2) {
        for (int64_t j = 0; j < k->m; j++) {
            const int64_t first = k->firsts ? k->firsts[j] : k->first;
            W(lower_one)(to + j * OP_LANES, soa, k->from + j, k->counts[j], first, p);
        }
        return;
    }
#if OP_LANES == 1

    if (k->m % TL_V == 0 && !k->dn && !k->dfirst && !k->stream) { /* whole vectors of lanes */
        for (int64_t r = 0; r < k->rows; r++) {
            for (int64_t j = 0; j < k->m; j += TL_V) {
                TL_VE(real) count = (TL_REAL_T)row.n - (TL_VE(real)){0};
                if (k->counts) {
                    int32_t counts __attribute__((vector_size(TL_V * sizeof(int32_t))));
                    memcpy(&counts, k->counts + j, sizeof counts);
                    count = TL_TO(counts, TL_REAL_T);
                }

                TL_VE(idx) origin = (TL_VE(idx)){0} + row.first;
                if (k->firsts) {
                    int32_t firsts __attribute__((vector_size(TL_V * sizeof(int32_t))));
                    memcpy(&firsts, k->firsts + j, sizeof firsts);
                    origin = TL_TO(firsts, int64_t);
                }

                TL_VE(result) x = TL_VE(lower)(W(soa_load)(soa, row.from + j), count, origin, p);
                x = TL_RESULT(x, p);
                memcpy(to + j, &x, sizeof x);
            }

            to += k->row_step;
            row.from += k->width;
            row.n += k->row_n;
            row.first += k->row_first;
        }

        return;
    }
#endif

    for (int64_t r = 0; r < k->rows; r++) {
        if (k->stream)
            W(lower_loop)(to, soa, row, 1, p);
        else
            W(lower_loop)(to, soa, row, 0, p);
        to += k->row_step * (OP_LANES);
        row.from += k->width;
        row.n += k->row_n;
        row.first += k->row_first;
    }
}
