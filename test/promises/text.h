/* SPDX-License-Identifier: MIT
 * What stands in for an operator's text (TL_PROMISE_TEXT) where cpu/kernel/instance.h includes
 * one: the text, or its nan form, then for each of its instances a row with the promises that
 * the scalar row does not have. The words of the dialect are still in force here. */
#if TL_PROMISE_MASKED
#include "operator/masked.h"
#endif
#include TL_PROMISE_TEXT
#if TL_PROMISE_MASKED
#include "operator/masked.h"
#endif
#include "operator/defaults.h"

#define SAME_real(name) \
    (a.name != a.name ? b.name != b.name : !memcmp(&a.name, &b.name, sizeof a.name))
#define SAME_bits(name)  !memcmp(&a.name, &b.name, sizeof a.name)
#define SAME_ord         SAME_bits
#define SAME_idx         SAME_bits
#define SAME_wide        SAME_bits
#define SAME_elem        SAME_bits
#define SAME(type, name) &&SAME_##type(name)
static int TL_N(promise_same)(const tl_state *x, const tl_state *y)
{
    state a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    return 1 OP_FIELDS(SAME);
}
#undef SAME

/* *x = call, where a and b are *x and *y */
#define PROMISE_OF_TWO(name, call) \
    static void TL_N(name)(tl_state * x, const tl_state *y) \
    { \
        state a, b; \
        memcpy(&a, x, sizeof a); \
        memcpy(&b, y, sizeof b); \
        a = call; \
        memcpy(x, &a, sizeof a); \
    }
#if OP_TWIN
static void TL_N(promise_twin)(tl_state *x, const tl_state *y, int64_t n)
{
    state a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
#if OP_SIZES
    a = twin(a, b, (real)n);
#else
    a = twin(a, b);
#endif
    memcpy(x, &a, sizeof a);
}
#endif
#if OP_INVERSE
PROMISE_OF_TWO(promise_uncombine, uncombine(a, b))
#endif
#if OP_NEUTRAL
static void TL_N(promise_neutral)(tl_state *x, tl_par p)
{
    state a = neutral(p);
    memcpy(x, &a, sizeof a);
}
#endif

static const tl_scalar TL_N(row); /* cpu/kernel/scalar.h has it */
static const promise TL_N(promise_row) = {
    .op = &TL_N(row),
    .commutes = OP_COMMUTES,
    .extreme = OP_EXTREME,
    .adds = OP_ADDS,
    .picks = OP_PICKS,
#ifndef TL_COUNTED /* its nan form counts too */
    .moments = OP_MOMENTS,
#endif
    .same = TL_N(promise_same),
#if OP_TWIN
    .halves = TL_N(promise_twin),
#endif
#if OP_INVERSE
    .without = TL_N(promise_uncombine),
#endif
#if OP_NEUTRAL
    .nothing = TL_N(promise_neutral),
#endif
};
