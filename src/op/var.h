/* SPDX-License-Identifier: MIT
 * var: mean and sum of squared deviations, merged pairwise in f64 (Chan, Golub and LeVeque 1979,
 * eq. 2.1). The number of elements is not a field, because it follows from the place in the tree
 * (OP_SIZES). Two nodes of equal size (every combine inside the tree) need no division: w = nb /
 * (na + nb) is exactly 1/2. `twin` uses that; `combine` gives the same bits. n <= ddof gives NaN. A
 * NaN or an infinity anywhere gives NaN: lift starts m2 at x - x, which is 0 for every finite
 * number. */
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_COUNTS 1
#define OP_SIZES 1
#define OP_STATE(F) F(real, mean) F(real, m2)
#define OP_TWIN 1
#define OP_MOMENTS 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p)
{
    state r;
    r.mean = to_real(x);
    r.m2 = r.mean - r.mean;
    return r;
}
fn state combine(state a, state b, real na, real nb)
{
    state r;
    real w = nb / (na + nb);
    real d = b.mean - a.mean;
    r.mean = a.mean + d * w;
    r.m2 = (a.m2 + b.m2) + (d * d) * (na * w);
    return r;
}
/* n: elements of each operand */
fn state twin(state a, state b, real n)
{
    state r;
    real d = b.mean - a.mean;
    r.mean = plus_half(a.mean, d);
    r.m2 = plus_halves(a.m2 + b.m2, d * d, n);
    return r;
}
fn real variance(state a, real n, par p)
{
    real f = n - num(p.value);
    return sel(f > num(0.0), over_size(a.m2, f), num(NOT_A_NUMBER));
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(variance(a, n, p))); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
