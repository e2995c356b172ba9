/* SPDX-License-Identifier: MIT
 * wmean: the mean of x with weights y: the sum of x y divided by the sum of y. Weights may have any
 * sign. If their sum is 0, the result is that of a division by 0. */
#define OP_INPUTS 2
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_COUNTS 1
#define OP_STATE(F) F(real, s) F(real, w)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, elem y, idx i, par p)
{
    state r;
    r.w = to_real(y);
    r.s = to_real(x) * r.w;
    return r;
}
fn state combine(state a, state b) { state r; r.s = a.s + b.s; r.w = a.w + b.w; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); r.w = r.s; return r; }
fn result lower(state a, real n, idx first, par p)
{
    return to_result(canon((a.s + num(0.0)) / (a.w + num(0.0))));
}
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
