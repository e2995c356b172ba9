/* SPDX-License-Identifier: MIT
 * mean of integers: an exact sum in 128-bit two's complement (hi, lo), then few roundings in
 * lower, of its magnitude: hi and lo to f64, their sum, the quotient; the sign comes last. No input
 * can overflow it: 2^62 elements of 64 bits need 126. */
#define OP_LANE WIDE
#define OP_WIDEN WIDE
#define OP_EXACT 1
#define OP_ADDS 2
#define OP_FLOATS 1
#define OP_STATE(F) F(wide, lo) F(wide, hi)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.lo = to_wide(x); r.hi = wide_sign(x); return r; }
fn state combine(state a, state b)
{
    state r;
    r.lo = a.lo + b.lo;
    r.hi = a.hi + b.hi + wide_if(r.lo < a.lo);
    return r;
}
fn state neutral(par p) { state r; r.lo = wide_num(0); r.hi = r.lo; return r; }
fn result lower(state a, real n, idx first, par p)
{
    wide sign = wide_if(signed_to_real(a.hi) < num(0.0)), flip = wide_num(0) - sign;
    wide lo = (a.lo ^ flip) + sign, hi = (a.hi ^ flip) + wide_if(lo < sign);
    real size = over_size(wide_to_real(hi) * num(18446744073709551616.0) + wide_to_real(lo), n);
    return to_result(sel(signed_to_real(a.hi) < num(0.0), num(0.0) - size, size));
}
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
