/* SPDX-License-Identifier: MIT
 * range: the maximum less the minimum, in f64, rounded once. A NaN gives NaN; so does the
 * difference of two equal infinities. Of equal extremes the left one is kept, and a NaN on the
 * right replaces the left operand, so combine is associative on bits. */
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 1
#define OP_IDEMPOTENT 1
#define OP_STATE(F) F(real, lo) F(real, hi)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.lo = to_real(x); r.hi = r.lo; return r; }
fn state combine(state a, state b)
{
    state r;
    r.lo = sel(b.lo < a.lo, b.lo, a.lo);
    r.lo = sel(b.lo == b.lo, r.lo, b.lo);
    r.hi = sel(b.hi > a.hi, b.hi, a.hi);
    r.hi = sel(b.hi == b.hi, r.hi, b.hi);
    return r;
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.hi - a.lo)); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
