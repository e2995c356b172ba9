/* SPDX-License-Identifier: MIT
 * Shared by the kernels of an instance: vectors of states, loads, and the network of simd.h on
 * whole states.
 *
 * SS is a scalar state, VS a vector of TL_V states (structure of arrays), E an element. */
#define SS      TL_S(state)
#define VS      TL_VE(state)
#define E       TL_ELEM_T
#define W(name) TL_VE(k_##name)

#define TL_COUNT_FIELD(type, f) +1
#define TL_FIELDS               (0 OP_FIELDS(TL_COUNT_FIELD))
#define TL_ONE_FIELD            (TL_FIELDS == 1)
/* Vectors of states in half of the register file. */
#define TL_HALF_FILE ((TL_VECTOR_BYTES == 64 ? 16 : 8) / TL_FIELDS)

/* TL_ONCE: one copy of a function of states with several fields, beside whose combines a call costs
 * little. It keeps compile time low. */
#undef TL_ONCE
#undef TL_NO_CLONE
#if TL_ONE_FIELD
#define TL_NO_CLONE
#define TL_ONCE TL_INLINE
#else
#define TL_NO_CLONE __attribute__((noclone))
#define TL_ONCE     static TL_NO_CLONE __attribute__((noinline, unused))
#endif

/* TL_CALLED: a function that compact kernels of large states have once. */
#undef TL_CALLED
#if TL_COMPACT && TL_FIELDS > 3
#define TL_CALLED TL_ONCE
#else
#define TL_CALLED TL_INLINE
#endif

/* C(a, b) of states that have folded na and nb elements, numbers that only a text with OP_SIZES
 * uses. In nodes and windows all lanes have the same; in scans each its own (combine_at). */
TL_INLINE VS W(combine_at)(VS a, VS b, TL_VE(real) na, int64_t nb)
{
#if OP_SIZES
    return TL_VE(combine)(a, b, na, (TL_REAL_T)nb - (TL_VE(real)){0});
#else
    return TL_VE(combine)(a, b);
#endif
}

TL_INLINE VS W(combine)(VS a, VS b, int64_t na, int64_t nb)
{
    return W(combine_at)(a, b, (TL_REAL_T)na - (TL_VE(real)){0}, nb);
}

TL_INLINE SS W(combine_s)(SS a, SS b, int64_t na, int64_t nb)
{
#if OP_SIZES
    return TL_S(combine)(a, b, (TL_REAL_T)na, (TL_REAL_T)nb);
#else
    return TL_S(combine)(a, b);
#endif
}

/* twin: combine of two full nodes of n elements each. OP_TWIN: the operator has a cheaper text for
 * it. */
TL_INLINE VS W(twin)(VS a, VS b, int64_t n)
{
#if OP_TWIN && OP_SIZES
    return TL_VE(twin)(a, b, (TL_REAL_T)n - (TL_VE(real)){0});
#elif OP_TWIN
    return TL_VE(twin)(a, b);
#else
    return W(combine)(a, b, n, n);
#endif
}

TL_INLINE SS W(twin_s)(SS a, SS b, int64_t n)
{
#if OP_TWIN && OP_SIZES
    return TL_S(twin)(a, b, (TL_REAL_T)n);
#elif OP_TWIN
    return TL_S(twin)(a, b);
#else
    return W(combine_s)(a, b, n, n);
#endif
}

#define TL_SELF(lane) lane
TL_INLINE TL_VE(idx) W(iota)(int64_t i) { return (TL_VE(idx)){TL_EACH_LANE(TL_SELF)} + i; }
TL_INLINE TL_VE(real) W(ramp)(void) { return (TL_VE(real)){TL_EACH_LANE(TL_SELF)}; }
#undef TL_SELF

/* from + k * step for a small number k in each lane, rounded once. Numbers of elements are below
 * 2^53, so f64 is exact. */
TL_INLINE TL_VE(real) W(numbers)(int64_t from, TL_VE(real) k, int64_t step)
{
#if TL_REAL_FLOAT && TL_REAL_SIZE == 4
    enum { EXACT = 1 << 23 };
    if (from >= EXACT) return TL_TO(TL_TO(k, int64_t) * step + from, TL_REAL_T);
#endif
    return k * (TL_REAL_T)step + (TL_REAL_T)from;
}

/* Elements and results that are elements, with the sign bit of unsigned keys flipped (tl_par). */
#if TL_FLIPS
#define TL_FLIPPED(e, p) ((e) ^ (E)(p).flip)
#else
#define TL_FLIPPED(e, p) (e)
#endif
#if TL_OUT_SAME
#define TL_RESULT(r, p) TL_FLIPPED(r, p)
#else
#define TL_RESULT(r, p) (r)
#endif

/* The state of e, the m elements at x. N: TL_VE for a vector, TL_S for one element. */
#if OP_INPUTS == 2
#define TL_LIFTED(N, e, x, m, i, p) \
    ({ \
        N(elem) lifted_y = e; \
        memcpy(&lifted_y, (const char *)((uintptr_t)(x) + (uintptr_t)(p).second), \
               (size_t)(m) * sizeof(E)); \
        N(lift)(TL_FLIPPED(e, p), TL_FLIPPED(lifted_y, p), i, p); \
    })
#else
#define TL_LIFTED(N, e, x, m, i, p) N(lift)(TL_FLIPPED(e, p), i, p)
#endif

/* The states of V neighbouring elements. */
TL_INLINE VS W(load)(const E *x, int64_t i, tl_par p)
{
    TL_VE(elem) e;
    memcpy(&e, x, sizeof e);
    return TL_LIFTED(TL_VE, e, x, TL_V, W(iota)(i), p);
}

/* The same for m < V elements; other lanes are undefined. */
TL_INLINE VS W(load_part)(const E *x, int64_t m, int64_t i, tl_par p)
{
    TL_VE(elem) e = {0};
    memcpy(&e, x, (size_t)m * sizeof(E));
    return TL_LIFTED(TL_VE, e, x, m, W(iota)(i), p);
}

TL_INLINE SS W(lane)(VS v, int lane)
{
    SS r;
#define PICK(type, f) r.f = v.f[lane];
    OP_FIELDS(PICK)
#undef PICK
    return r;
}

TL_INLINE void W(put)(VS *v, int lane, SS s)
{
#define PUT(type, f) v->f[lane] = s.f;
    OP_FIELDS(PUT)
#undef PUT
}

#define SHUFFLER(name, pattern) \
    TL_INLINE VS W(name)(VS a, VS b) \
    { \
        VS r; \
        OP_FIELDS(pattern) \
        return r; \
    }
#define TL_MIX(f, lane) r.f = TL_SHUFFLE(a.f, b.f, TL_EACH_LANE(lane));
#if TL_FULL && TL_ONE_FIELD && TL_SIZE == 4 && TL_LANE == 4
/* gcc needs three instructions for even or odd integers, and one for floats. */
typedef float W(moved) __attribute__((vector_size(4 * TL_V)));
#define TL_MIX_EVEN(f, lane) \
    r.f = (__typeof__(r.f))TL_SHUFFLE((W(moved))a.f, (W(moved))b.f, TL_EACH_LANE(lane));
#else
#define TL_MIX_EVEN TL_MIX
#endif
#define SHUFFLE_NEXT(type, f)  TL_MIX(f, TL_NEXT)
#define SHUFFLE_EVEN1(type, f) TL_MIX_EVEN(f, TL_EVEN1)
#define SHUFFLE_ODD1(type, f)  TL_MIX_EVEN(f, TL_ODD1)
#define SHUFFLE_LOW1(type, f)  TL_MIX(f, TL_LOW1)
#define SHUFFLE_HIGH1(type, f) TL_MIX(f, TL_HIGH1)
#define SHUFFLE_EVEN2(type, f) TL_MIX(f, TL_EVEN2)
#define SHUFFLE_ODD2(type, f)  TL_MIX(f, TL_ODD2)
#define SHUFFLE_LOW2(type, f)  TL_MIX(f, TL_LOW2)
#define SHUFFLE_HIGH2(type, f) TL_MIX(f, TL_HIGH2)
SHUFFLER(next, SHUFFLE_NEXT)
SHUFFLER(even1, SHUFFLE_EVEN1)
SHUFFLER(odd1, SHUFFLE_ODD1)
SHUFFLER(low1, SHUFFLE_LOW1)
SHUFFLER(high1, SHUFFLE_HIGH1)
SHUFFLER(even2, SHUFFLE_EVEN2)
SHUFFLER(odd2, SHUFFLE_ODD2)
SHUFFLER(low2, SHUFFLE_LOW2)
SHUFFLER(high2, SHUFFLE_HIGH2)
#undef TL_MIX_EVEN

/* Step s of the network: first pairs inside 128-bit groups, then pairs of groups. n: elements of a
 * lane. */
#define TL_LOG_G (TL_G / 2)
TL_INLINE VS W(even)(int s, VS a, VS b) { return s < TL_LOG_G ? W(even1)(a, b) : W(even2)(a, b); }
TL_INLINE VS W(odd)(int s, VS a, VS b) { return s < TL_LOG_G ? W(odd1)(a, b) : W(odd2)(a, b); }
TL_INLINE VS W(step)(int s, VS a, VS b, int64_t n)
{
    return W(twin)(W(even)(s, a, b), W(odd)(s, a, b), n);
}

/* V vectors of neighbouring nodes of n elements -> one vector of V nodes, log2 V levels higher. */
TL_INLINE VS W(network)(const VS *v, int64_t n)
{
#if TL_V == 2
    return W(step)(0, v[0], v[1], n);
#elif TL_V == 4
    return W(step)(1, W(step)(0, v[0], v[1], n), W(step)(0, v[2], v[3], n), 2 * n);
#else
#define QUAD(j) W(step)(1, W(step)(0, v[j], v[j + 1], n), W(step)(0, v[j + 2], v[j + 3], n), 2 * n)
#if TL_V == 8
    return W(step)(2, QUAD(0), QUAD(4), 4 * n);
#else
    return W(step)(3, W(step)(2, QUAD(0), QUAD(4), 4 * n), W(step)(2, QUAD(8), QUAD(12), 4 * n),
                   8 * n);
#endif
#undef QUAD
#endif
}
