/* SPDX-License-Identifier: MIT
 * drawdown: the largest fall from an element to a later one, in f64: 0 if there is none. Not
 * commutative. A NaN or an infinity gives NaN: lift starts `fall` at x - x, and a fall that is a
 * NaN stays. */
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_STATE(F) F(real, high) F(real, low) F(real, fall)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p)
{
    state r;
    r.high = to_real(x);
    r.low = r.high;
    r.fall = r.high - r.high;
    return r;
}
fn state combine(state a, state b)
{
    state r;
    real across = a.high - b.low, inside = sel(a.fall > b.fall, a.fall, b.fall);
    r.high = sel(a.high > b.high, a.high, b.high);
    r.low = sel(a.low < b.low, a.low, b.low);
    r.fall = sel(across > inside, across, inside);
    r.fall = sel(b.fall == b.fall, r.fall, b.fall);
    r.fall = sel(a.fall == a.fall, r.fall, a.fall);
    return r;
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.fall + num(0.0))); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
