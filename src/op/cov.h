/* SPDX-License-Identifier: MIT
 * cov: the covariance of x and y: their means, and the sum of the products of deviations, merged
 * pairwise in f64. op/var.h explains the sizes, NaN and infinities. */
#define OP_INPUTS 2
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_COUNTS 1
#define OP_SIZES 1
#define OP_STATE(F) F(real, x) F(real, y) F(real, xy)
#define OP_TWIN 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, elem y, idx i, par p)
{
    state r;
    r.x = to_real(x);
    r.y = to_real(y);
    r.xy = (r.x - r.x) + (r.y - r.y);
    return r;
}
fn state combine(state a, state b, real na, real nb)
{
    state r;
    real w = nb / (na + nb), dx = b.x - a.x, dy = b.y - a.y;
    r.x = a.x + dx * w;
    r.y = a.y + dy * w;
    r.xy = (a.xy + b.xy) + (dx * dy) * (na * w);
    return r;
}
fn state twin(state a, state b, real n)
{
    state r;
    real dx = b.x - a.x, dy = b.y - a.y;
    r.x = a.x + dx * num(0.5);
    r.y = a.y + dy * num(0.5);
    r.xy = (a.xy + b.xy) + (dx * dy) * (n * num(0.5));
    return r;
}
fn result lower(state a, real n, idx first, par p)
{
    real f = n - num(p.value);
    return to_result(canon(sel(f > num(0.0), over_size(a.xy, f), num(NOT_A_NUMBER))));
}
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
