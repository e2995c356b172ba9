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

/* Lane l of a then of b, for each l, in two vectors. */
#define TL_ZIP(l)      ((l) / 2 + (l) % 2 * TL_V)
#define TL_ZIP_HIGH(l) (TL_ZIP(l) + TL_V / 2)

/* The OP_LANES vectors of results of V states of n elements; `first`: the origins of indices. */
TL_INLINE void W(lowered)(TL_VE(result) * r, VS s, TL_VE(real) n, TL_VE(idx) first, tl_par p)
{
    r[0] = TL_RESULT(TL_VE(lower)(s, n, first, p), p);
#if OP_LANES == 2
    const TL_VE(result) a = r[0], b = TL_RESULT(TL_VE(lower_1)(s, n, first, p), p);
    r[0] = TL_SHUFFLE(a, b, TL_EACH_LANE(TL_ZIP));
    r[1] = TL_SHUFFLE(a, b, TL_EACH_LANE(TL_ZIP_HIGH));
#endif
}

/* Stores the first `count` results of `vectors` vectors, a constant. stream: with non-temporal
 * stores, if it is all. */
TL_INLINE void W(store)(TL_OUT_T *out, const TL_VE(result) * r, int vectors, int64_t count,
                        int stream)
{
    assert(0 < count && count <= vectors * TL_V && vectors <= 16);
    if (count < vectors * TL_V) {
        TL_VE(result) copy[16]; /* so that r itself stays in registers */
        TL_FOR(v, vectors) copy[v] = r[v];
        memcpy(out, copy, (size_t)count * sizeof *out);
    } else if (stream) {
        TL_FOR(v, vectors) tl_stream_store(out + v * TL_V, &r[v], sizeof r[v]);
    } else {
        TL_FOR(v, vectors) memcpy(out + v * TL_V, &r[v], sizeof r[v]);
    }
}

/* How many of m results the next `most` are: fewer, up to where non-temporal stores are aligned. */
TL_INLINE int64_t W(step_to)(const TL_OUT_T *out, int64_t m, int64_t most, int stream)
{
    if (stream) most -= (int64_t)((uintptr_t)out / sizeof *out & (TL_V - 1));
    return m < most ? m : most;
}

/* Lowers k->rows rows of k->m results; see tl_lower. */
static void W(do_lower_rows)(void *out, const void *soa, const tl_lower *k, tl_par p)
{
    const int64_t m = k->m;
    const int dn = k->dn, dfirst = k->dfirst,
              stream = OP_LANES == 1 && k->stream && (uintptr_t)out % sizeof(TL_OUT_T) == 0;
    int64_t from = k->from, n = k->n, first = k->first;
    TL_OUT_T *to = out;

    assert(k->rows > 0 && m >= 0 && from >= 0);
    assert(from + (k->rows - 1) * k->width + ((m + TL_V - 1) & -TL_V) <= TL_SOA);
    assert(!k->counts || (k->rows == 1 && m % TL_ABREAST == 0 && !dfirst));
    assert(!k->firsts || k->counts);

    for (int64_t row = 0; row < k->rows; row++) {
        for (int64_t j = 0, step; j < m; j += step) {
            TL_OUT_T *const at = to + j * OP_LANES;
            TL_VE(idx) origin = dfirst ? W(iota)(first + j) : (TL_VE(idx)){0} + first;
            TL_VE(real) count = W(counts)(n + j * dn, dn);
            TL_VE(result) r[OP_LANES];

            if (k->counts) {
                int32_t given __attribute__((vector_size(TL_V * sizeof(int32_t))));
                memcpy(&given, k->counts + j, sizeof given);
                count = TL_TO(given, TL_REAL_T);
                if (k->firsts) {
                    memcpy(&given, k->firsts + j, sizeof given);
                    origin = TL_TO(given, int64_t);
                }
            }

            step = W(step_to)(at, m - j, TL_V, stream);
            W(lowered)(r, W(soa_load)(soa, from + j), count, origin, p);
            W(store)(at, r, OP_LANES, step * OP_LANES, stream);
        }

        to += k->row_step * OP_LANES;
        from += k->width;
        n += k->row_n;
        first += k->row_first;
    }
}
