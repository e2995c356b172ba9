/* SPDX-License-Identifier: MIT
 * minmax: min and max side by side, two results per element; each by the rules of op/min.h and
 * op/max.h. */
#define OP_LANE ORD
#define OP_WIDEN VALUE
#define OP_EXACT 1
#define OP_COMMUTES 1
#define OP_IDEMPOTENT 1
#define OP_LANES 2
#define OP_STATE(F) F(ord, lo) F(ord, hi)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p)
{
    state r;
    r.lo = sel(is_nan(x), ord_bottom, to_ord(x));
    r.hi = sel(is_nan(x), ord_top, to_ord(x));
    return r;
}
fn state combine(state a, state b)
{
    state r;
    r.lo = sel(b.lo < a.lo, b.lo, a.lo);
    r.hi = sel(b.hi > a.hi, b.hi, a.hi);
    return r;
}
fn state neutral(par p) { state r; r.lo = ord_top; r.hi = ord_bottom; return r; }
fn result lower(state a, real n, idx first, par p) { return from_ord(a.lo); }
fn result lower_1(state a, real n, idx first, par p) { return from_ord(a.hi); }
fn result empty(par p) { return from_ord(ord_top); }
fn result empty_1(par p) { return from_ord(ord_bottom); }
