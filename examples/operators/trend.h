/* SPDX-License-Identifier: MIT
 * trend: the slope of the least-squares line through evenly spaced values, in units of y a step, in f64; a window gives
 * a moving trend. The places 0, 1, 2, ... of a block need no field: their mean and spread follow from how many they
 * are, and that is told (OP_SIZES). The centres of two neighbouring blocks lie (na + nb) / 2 apart, so with
 * t = sum (i - mean i) (y - mean y)
 *     t = ta + tb + (mean yb - mean ya) na nb / 2          and          slope = t / (n (n^2 - 1) / 12).
 * Not commutative. Fewer than two elements, a NaN or an infinity give NaN. */
#define OP_ACC F64
#define OP_SIZES 1
#define OP_STATE(F) F(real, mean) F(real, t)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p)
{
    state r;
    r.mean = to_real(x);
    r.t = r.mean - r.mean;
    return r;
}
fn state combine(state a, state b, real na, real nb)
{
    state r;
    real d = b.mean - a.mean;
    r.mean = a.mean + d * (nb / (na + nb));
    r.t = (a.t + b.t) + d * (na * nb * num(0.5));
    return r;
}
fn result lower(state a, real n, idx first, par p)
{
    real spread = n * (n * n - num(1.0)) / num(12.0);
    return to_result(canon(sel(spread > num(0.0), a.t / spread, num(NOT_A_NUMBER))));
}
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
