/* SPDX-License-Identifier: MIT
 * The nan form of an operator: an element that is masked, which is a NaN, is ABSENT. This file is
 * included twice around the operator's text: before it, to rename the text's functions (plain_lift,
 * ...), and after it, to define the operator's names on top of them. There are three ways:
 *
 *   NEUTRAL   the text has OP_NEUTRAL and does not count (OP_COUNTS, OP_SIZES): a masked element
 *             becomes the neutral state
 *   ABSENT    the text has OP_ABSENT, a key m that no element has: a masked element gets that key,
 *             and lower of it is `empty`
 *   COUNTED   all other texts: one more field, `kept`, counts the elements of the node that are not
 *             masked. If it is 0, combine returns the other operand and lower returns `empty`.
 *             Otherwise `kept` is the n that the text's lower and combine receive
 *
 * On CPUs a nan form has its own kernels, or shares those of OP_NAN_CORE, whose elements are
 * widened by OP_NAN_WIDEN. */
#ifndef kept_to_real /* The number of a node's elements for combine; GPUs define their own. */
#define kept_to_real idx_to_real
#endif
#ifndef insufficient /* results of so many elements, or of fewer, have no value */
#define insufficient(p) idx_num(0)
#endif
#define plain_state   TL_N(plain_state)
#define plain_lift    TL_N(plain_lift)
#define plain_combine TL_N(plain_combine)
#define plain_neutral TL_N(plain_neutral)
#define plain_seed    TL_N(plain_seed)
#define plain_lower   TL_N(plain_lower)
#define plain_lower_1 TL_N(plain_lower_1)
#define plain_of      TL_N(plain_of)
#define form_of       TL_N(form_of)
#undef state
#undef lift
#undef combine
#undef neutral
#undef seed
#undef lower
#undef lower_1

#ifndef TL_PLAIN
#define TL_PLAIN
#define state   plain_state
#define lift    plain_lift
#define combine plain_combine
#define neutral plain_neutral
#define seed    plain_seed
#define lower   plain_lower
#define lower_1 plain_lower_1
/* The facts of the plain form; the text defines them again. */
#undef OP_CORE
#undef OP_WIDEN
#undef OP_IDEMPOTENT
#undef OP_INVERSE
#undef OP_TWIN
#undef OP_SIZES
#undef OP_EXTREME
#undef OP_ADDS
#undef OP_PICKS
#undef OP_COMMUTES

#else
#undef TL_PLAIN
#define state   TL_N(state)
#define lift    TL_N(lift)
#define combine TL_N(combine)
#define neutral TL_N(neutral)
#define seed    TL_N(seed)
#define lower   TL_N(lower)
#define lower_1 TL_N(lower_1)

#define OP_MASKED 1
#undef OP_TWIN /* two nodes of equal size may have kept different numbers */
#undef OP_CORE
#ifdef OP_NAN_CORE
#define OP_CORE OP_NAN_CORE
#endif
#ifdef OP_NAN_WIDEN
#undef OP_WIDEN
#define OP_WIDEN OP_NAN_WIDEN
#endif

/* An element is masked if one of its inputs is a NaN. With par.marked only the marking NaN counts
 * (is_present). */
#if OP_INPUTS == 2
#define INPUTS elem x, elem y
#define GIVEN  x, y
fn mask present(elem x, elem y, par p)
{
    mask a = is_present(x, p), b = is_present(y, p);
    return a & b;
}
#else
#define INPUTS elem x
#define GIVEN  x
fn mask present(elem x, par p) { return is_present(x, p); }
#endif

#if !OP_SIZES && ((OP_NEUTRAL && !OP_COUNTS) || defined(OP_ABSENT))
typedef plain_state state;
fn state combine(state a, state b) { return plain_combine(a, b); }
#ifdef OP_ABSENT
fn state lift(INPUTS, idx i, par p)
{
    state r = plain_lift(GIVEN, i, p);
    r.m = pick(present(GIVEN, p), r.m, OP_ABSENT);
    return r;
}

fn result lower(state a, real n, idx first, par p)
{
    return pick(a.m == OP_ABSENT, empty(p), plain_lower(a, n, first, p));
}
#else
#ifdef OP_NAN_CORE /* lower is that of the plain form's kernels */
#define TL_BORROWS 1
#endif

fn state neutral(par p) { return plain_neutral(p); }
fn state lift(INPUTS, idx i, par p)
{
    state r = plain_lift(GIVEN, i, p), none = plain_neutral(p);
    mask m = present(GIVEN, p);
#define CHOOSE(type, f) r.f = pick(m, r.f, none.f);
    OP_STATE(CHOOSE)
#undef CHOOSE
    return r;
}

fn result lower(state a, real n, idx first, par p) { return plain_lower(a, n, first, p); }
#if OP_LANES == 2 /* a result has two values: lower gives the first, lower_1 the second */
fn result lower_1(state a, real n, idx first, par p) { return plain_lower_1(a, n, first, p); }
#endif
#endif
#if OP_SEED == 1
fn state seed(result v, par p) { return plain_seed(v, p); }
#endif

#else
#define TL_COUNTED   1
#define OP_FIELDS(F) OP_STATE(F) F(idx, kept)
#undef OP_IDEMPOTENT
#undef OP_INVERSE
#undef OP_EXTREME
#undef OP_ADDS
#undef OP_PICKS
#undef OP_COMMUTES
typedef struct {
    OP_FIELDS(FIELD)
} state;

#define COPY(type, f) r.f = s.f;

fn plain_state plain_of(state s)
{
    plain_state r;
    OP_STATE(COPY) return r;
}

fn state form_of(plain_state s, idx kept)
{
    state r;
    OP_STATE(COPY) r.kept = kept;
    return r;
}

fn state lift(INPUTS, idx i, par p)
{
    mask m = present(GIVEN, p);
    state r = form_of(plain_lift(GIVEN, i, p), idx_if(m));
#if OP_NEUTRAL
    plain_state none = plain_neutral(p);
#else
    plain_state none = {0};
#endif
#define CHOOSE(type, f) r.f = pick(m, r.f, none.f);
    OP_STATE(CHOOSE)
#undef CHOOSE

    return r;
}

fn state combine(state a, state b)
{
#if OP_SIZES /* the size in the tree counts absent elements too */
    plain_state s =
        plain_combine(plain_of(a), plain_of(b), kept_to_real(a.kept), kept_to_real(b.kept));
#else
    plain_state s = plain_combine(plain_of(a), plain_of(b));
#endif
    state r; /* Not form_of: its return value costs gcc 12 5 % of a window's time. */

    OP_STATE(COPY)
    r.kept = a.kept + b.kept;
#if !OP_NEUTRAL
#define CHOOSE(type, f) \
    r.f = pick(b.kept == idx_num(0), a.f, r.f); \
    r.f = pick(a.kept == idx_num(0), b.f, r.f);
    OP_STATE(CHOOSE)
#undef CHOOSE
#endif

    return r;
}
#undef COPY
#if OP_NEUTRAL
fn state neutral(par p) { return form_of(plain_neutral(p), idx_num(0)); }
#endif
#if OP_SEED == 1
fn state seed(result v, par p) { return form_of(plain_seed(v, p), idx_num(1)); }
#endif

fn result lower(state a, real n, idx first, par p)
{
    result r = plain_lower(plain_of(a), idx_to_real(a.kept), first, p);
    return pick(a.kept <= insufficient(p), empty(p), r);
}
#endif

#undef OP_SIZES  /* a nan form's combine has two operands */
#if OP_SEED == 2 /* an initial value is an element, so a NaN is masked */
fn state seed(result v, par p) { return lift(v, NO_INDEX, p); }
#endif
#undef INPUTS
#undef GIVEN
#endif
