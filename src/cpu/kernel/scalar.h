/* SPDX-License-Identifier: MIT
 * The operator's scalar text behind function pointers: one tl_scalar per instance. The law's
 * reference (spec.c) and all code that is not critical for speed use it. */
#include "keys.h"

static void TL_S(do_lift)(tl_state *s, const void *x, int64_t i, tl_par p)
{
    TL_S(elem) e;
    memcpy(&e, x, sizeof e);
#if OP_INPUTS == 2
    TL_S(elem) y;
    memcpy(&y, (const char *)((uintptr_t)x + (uintptr_t)p.second), sizeof y);
    TL_S(state) r = TL_S(lift)(e, y, i, p);
#else
    TL_S(state) r = TL_S(lift)(e, i, p);
#endif
    memcpy(s, &r, sizeof r);
}

#undef TL_HAS_BLANK
#if defined(OP_BLANK) && !OP_MASKED
#define TL_HAS_BLANK
static void TL_S(do_blank)(void *x)
{
#if TL_FORMAT == 16
    TL_ELEM_T e = float_to_half(bits32((float)(OP_BLANK)));
#elif TL_FORMAT == 17
    TL_ELEM_T e = (TL_ELEM_T)(bits32((float)(OP_BLANK)) >> 16);
#else
    TL_ELEM_T e = (TL_ELEM_T)(OP_BLANK);
#endif
    memcpy(x, &e, sizeof e);
}
#endif

static int TL_S(do_masked)(const void *x, tl_par p)
{
#if OP_MASKED
    TL_S(elem) e;

    memcpy(&e, x, sizeof e);
#if OP_INPUTS == 2
    TL_S(elem) y;
    memcpy(&y, (const char *)((uintptr_t)x + (uintptr_t)p.second), sizeof y);
    return !TL_S(present)(e, y, p);
#else
    return !TL_S(present)(e, p);
#endif
#else
    return 0;
#endif
}

/* The rest is that of the accumulator's own instance where elements become its numbers. */
#undef TL_SHARED
#if (TL_WIDEN == TL_WIDEN_REAL || TL_WIDEN == TL_WIDEN_REAL_ONE) && TL_REAL_FLOAT && TL_OUT_ACC && \
    !TL_WITH_SCALAR && TL_TRAIT(14, TL_DT) != TL_TRAIT(14, TL_WIDE)
#define TL_SHARED(name) TL_CAT3(name, s, TL_CAT3(TL_CAT(d, TL_WIDE), TL_ACC, x))
static void TL_SHARED(do_combine)(tl_state *a, const tl_state *b, int64_t na, int64_t nb);
static void TL_SHARED(do_lower)(const tl_state *s, int64_t n, int64_t first, tl_par p, void *out);
static void TL_SHARED(do_empty)(tl_par p, void *out);
static void TL_SHARED(do_seed)(tl_state *s, const void *v, tl_par p);
#else
#define TL_SHARED TL_S
static void TL_S(do_combine)(tl_state *a, const tl_state *b, int64_t na, int64_t nb)
{
    TL_S(state) l, r;
    memcpy(&l, a, sizeof l);
    memcpy(&r, b, sizeof r);
#if OP_SIZES
    l = TL_S(combine)(l, r, (TL_S(real))na, (TL_S(real))nb);
#else
    l = TL_S(combine)(l, r);
#endif
    memcpy(a, &l, sizeof l);
}

static void TL_S(do_lower)(const tl_state *s, int64_t n, int64_t first, tl_par p, void *out)
{
    TL_S(state) a;
    memcpy(&a, s, sizeof a);
    TL_S(result) r = TL_S(lower)(a, (TL_S(real))n, first, p);
    memcpy(out, &r, sizeof r);
#if OP_LANES == 2
    r = TL_S(lower_1)(a, (TL_S(real))n, first, p);
    memcpy((char *)out + sizeof r, &r, sizeof r);
#endif
}

static void TL_S(do_empty)(tl_par p, void *out)
{
    TL_S(result) r = TL_S(empty)(p);
    memcpy(out, &r, sizeof r);
#if OP_LANES == 2
    r = TL_S(empty_1)(p);
    memcpy((char *)out + sizeof r, &r, sizeof r);
#endif
}

static void TL_S(do_seed)(tl_state *s, const void *v, tl_par p)
{
#if OP_SEED
    TL_S(result) r;
    memcpy(&r, v, sizeof r);
    TL_S(state) a = TL_S(seed)(r, p);
    memcpy(s, &a, sizeof a);
#endif
}
#endif

#if TL_CONVERTS_STATES
#define TL_WIDE_ord  TL_TRAIT(6, TL_WIDE)
#define TL_WIDE_elem TL_TRAIT(1, TL_WIDE)
#define TL_WIDE_idx  int64_t
#if TL_WIDEN != TL_WIDEN_DOUBLE || TL_SIZE == 4
#define TL_TO_WIDE_elem(v)   (TL_WIDE_elem)(v)
#define TL_FROM_WIDE_elem(v) (TL_S(elem))(v)
#elif TL_FORMAT == 16
#define TL_TO_WIDE_elem(v)   half_to_float(v)
#define TL_FROM_WIDE_elem(v) float_to_half(bits32((float)(v)))
#else
#define TL_TO_WIDE_elem(v)   bf16_to_float(v)
#define TL_FROM_WIDE_elem(v) (TL_S(elem))(bits32((float)(v)) >> 16)
#endif
#define TL_TO_WIDE_idx(v)   v
#define TL_FROM_WIDE_idx(v) v
#if TL_WIDEN == TL_WIDEN_VALUE && TL_KIND == 3
#define TL_TO_WIDE_ord(v)   key16_to_key32(v, TL_FORMAT == 16 ? 0x7c00 : 0x7f80)
#define TL_FROM_WIDE_ord(v) key32_to_key16(v, TL_FORMAT == 16 ? 0x7c00 : 0x7f80)
/* The smallest and the largest key map to those of the other type. */
#elif TL_KIND == 3 && (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH)
#define TL_TO_WIDE_ord(v)   (v == INT16_MAX ? INT32_MAX : v == INT16_MIN ? INT32_MIN : v)
#define TL_FROM_WIDE_ord(v) (TL_S(ord))(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v)
#elif TL_KIND == 2 && TL_SIZE >= 4 && TL_WIDEN != TL_WIDEN_NONZERO
/* biased by the smallest key */
#define TL_TO_WIDE_ord(v)   (TL_WIDE_ord)((v) ^ (TL_S(ord))TL_TRAIT(8, TL_WIDE))
#define TL_FROM_WIDE_ord(v) ((TL_S(ord))(v) ^ (TL_S(ord))TL_TRAIT(8, TL_WIDE))
#else
#define TL_TO_WIDE_ord(v)   (TL_WIDE_ord)(v)
#define TL_FROM_WIDE_ord(v) (TL_S(ord))(v)
#endif

/* The same state in the kernels' type (TL_WIDE), field by field. */
typedef struct {
#define WIDE_FIELD(type, f) TL_PASTE(TL_WIDE_, type) f __attribute__((packed));
    OP_FIELDS(WIDE_FIELD)
#undef WIDE_FIELD
} TL_S(wide_state);

#define TO_WIDE(type, f)   w.f = TL_PASTE(TL_TO_WIDE_, type)(a.f);
#define FROM_WIDE(type, f) a.f = TL_PASTE(TL_FROM_WIDE_, type)(w.f);
#define CONVERT(name, from, to, F) \
    static void TL_S(name)(tl_state * s) \
    { \
        TL_S(state) a; \
        TL_S(wide_state) w; \
        memcpy(&from, s, sizeof from); \
        OP_FIELDS(F) \
        memcpy(s, &to, sizeof to); \
    }
CONVERT(do_to_wide, a, w, TO_WIDE)
CONVERT(do_from_wide, w, a, FROM_WIDE)
#undef TL_WIDE_ord
#undef TL_WIDE_elem
#undef TL_WIDE_idx
#undef TL_TO_WIDE_elem
#undef TL_FROM_WIDE_elem
#undef TL_TO_WIDE_idx
#undef TL_FROM_WIDE_idx
#undef TL_TO_WIDE_ord
#undef TL_FROM_WIDE_ord
#endif

static const tl_scalar TL_S(row) = {
    .file = TL_STRING(TL_FILE),
#ifdef TL_TEXT
    .text = TL_STRING(TL_TEXT),
#endif
#if TL_BORROWS
    .lowers = TL_STRING(TL_TEXT),
#else
    .lowers = TL_STRING(TL_FILE),
#endif
#ifdef OP_CORE
    .core = TL_STRING(OP_CORE),
#else
    .core = TL_STRING(TL_FILE),
#endif
    .dtype = TL_DTYPE,
    .acc = TL_ACC_DTYPE,
    .out = TL_OUT_DTYPE,
    .lanes = OP_LANES,
    .elem_bytes = TL_SIZE,
    .state_bytes = sizeof(TL_S(state)),
    .result_bytes = sizeof(TL_S(result)) * (OP_LANES),
    .exact = OP_EXACT,
    .idempotent = OP_IDEMPOTENT,
    .inverse = OP_INVERSE,
    .masked = OP_MASKED,
#if TL_COUNTED
    .counted = 1,
#endif
    .inputs = OP_INPUTS,
    .picks = OP_PICKS != 0,
    .extreme = OP_EXTREME,
#ifdef TL_HAS_BLANK
    .blank = TL_S(do_blank),
#endif
    .seedable = OP_SEED != 0,
    .indexed = TL_IS_INDEX,
    .neutral = OP_NEUTRAL,
    .widen = TL_WIDEN,
    .floats = OP_FLOATS,
    .wide = TL_TRAIT(2, TL_WIDE),
#if TL_CONVERTS_STATES
    .to_wide = TL_S(do_to_wide),
    .from_wide = TL_S(do_from_wide),
#endif
    .lift = TL_S(do_lift),
    .is_masked = TL_S(do_masked),
    .combine = TL_SHARED(do_combine),
    .lower = TL_SHARED(do_lower),
    .empty = TL_SHARED(do_empty),
    .seed = TL_SHARED(do_seed),
};

_Static_assert(sizeof(TL_S(state)) <= sizeof(tl_state), "tl_state is too small for this operator");
