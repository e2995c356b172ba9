/* SPDX-License-Identifier: MIT
 * wvar: the variance of x with weights y, in f64: the sum of weights, the mean, and the weighted
 * sum of squared deviations, divided by the sum of weights less ddof. Parts are merged as in
 * op/var.h, with weights instead of numbers of elements. The mean moves from that of the heavier
 * part by the lighter part's fraction, so a part of weight 0 changes nothing. A negative weight, a
 * NaN or an infinity gives NaN. */
#define OP_INPUTS 2
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_STATE(F) F(real, w) F(real, mean) F(real, m2)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, elem y, idx i, par p)
{
    state r;
    r.w = to_real(y);
    r.mean = to_real(x);
    r.m2 = (r.mean - r.mean) + sel(r.w < num(0.0), num(NOT_A_NUMBER), r.w - r.w);
    return r;
}
fn state combine(state a, state b)
{
    state r;
    real w = a.w + b.w, d = b.mean - a.mean;
    real heavy = sel(b.w > a.w, b.w, a.w),
         light = sel(b.w > a.w, a.w, b.w) / sel(w > num(0.0), w, num(1.0));
    r.w = w;
    r.mean = sel(b.w > a.w, b.mean - d * light, a.mean + d * light);
    r.m2 = (a.m2 + b.m2) + (d * d) * (heavy * light);
    return r;
}
fn real variance(state a, par p)
{
    real f = a.w - num(p.value);
    return sel(f > num(0.0), a.m2 / f, num(NOT_A_NUMBER));
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(variance(a, p))); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
