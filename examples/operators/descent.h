/* SPDX-License-Identifier: MIT
 * descent: the largest fall of a series from a value to a later one, as in a price's maximum drawdown: 0 if it never
 * falls. Not commutative. A NaN or an infinity gives NaN, and so does nothing. */
#define OP_ACC REAL
#define OP_STATE(F) F(real, high) F(real, low) F(real, fall)
typedef struct { OP_STATE(FIELD) } state;
fn real larger(real a, real b) { return sel(a > b, a, b); }
fn state lift(elem x, idx i, par p)
{
    state r;
    r.high = to_real(x);
    r.low = r.high;
    r.fall = r.high - r.high; /* 0, or NaN */
    return r;
}
fn state combine(state a, state b) /* a is earlier: the fall from its highest to b's lowest counts, not the other */
{
    state r;
    r.high = larger(a.high, b.high);
    r.low = sel(a.low < b.low, a.low, b.low);
    r.fall = larger(larger(a.fall, b.fall), a.high - b.low);
    r.fall = sel(a.fall == a.fall, sel(b.fall == b.fall, r.fall, b.fall), a.fall); /* NaN stays */
    return r;
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.fall)); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
