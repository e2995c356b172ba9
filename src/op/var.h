/* SPDX-License-Identifier: MIT
 * var: count, mean and sum of squared deviations, merged pairwise in f64 (Chan, Golub and LeVeque 1979, eq. 2.1).
 * Two nodes of equal size (every combine inside the tree) need no division: w = nb / (na + nb) is exactly 1/2, and
 * `twin` says so; `combine` gives the same bits. n <= ddof gives NaN. A NaN or an infinity anywhere gives NaN: lift
 * starts m2 at x - x, which is 0 for every number. */
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_STATE(F) F(real, n) F(real, mean) F(real, m2)
#define OP_TWIN 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.n = num(1.0); r.mean = to_real(x); r.m2 = r.mean - r.mean; return r; }
fn state combine(state a, state b)
{
    state r;
    r.n = a.n + b.n;
    real w = b.n / r.n;
    real d = b.mean - a.mean;
    r.mean = a.mean + d * w;
    r.m2 = (a.m2 + b.m2) + (d * d) * (a.n * w);
    return r;
}
fn state twin(state a, state b)
{
    state r;
    r.n = a.n + b.n;
    real d = b.mean - a.mean;
    r.mean = a.mean + d * num(0.5);
    r.m2 = (a.m2 + b.m2) + (d * d) * (a.n * num(0.5));
    return r;
}
fn real variance(state a, par p)
{
    real f = a.n - num(p.value);
    return sel(f > num(0.0), a.m2 / f, num(NOT_A_NUMBER));
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(variance(a, p))); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
