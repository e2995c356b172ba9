/* SPDX-License-Identifier: MIT
 * slope: the slope of the least-squares line of y over x: the sum of (x - mean)(y - mean) divided
 * by the sum of (x - mean)^2, merged pairwise as in op/cov.h. If all x are equal, this divides 0 by
 * 0. */
#define OP_INPUTS 2
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_COUNTS 1
#define OP_SIZES 1
#define OP_STATE(F) F(real, x) F(real, y) F(real, xx) F(real, xy)
#define OP_TWIN 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, elem y, idx i, par p)
{
    state r;
    r.x = to_real(x);
    r.y = to_real(y);
    r.xy = (r.x - r.x) + (r.y - r.y);
    r.xx = r.xy;
    return r;
}
fn state combine(state a, state b, real na, real nb)
{
    state r;
    real w = nb / (na + nb), f = na * w, dx = b.x - a.x, dy = b.y - a.y;
    r.x = a.x + dx * w;
    r.y = a.y + dy * w;
    r.xx = (a.xx + b.xx) + (dx * dx) * f;
    r.xy = (a.xy + b.xy) + (dx * dy) * f;
    return r;
}
fn state twin(state a, state b, real n)
{
    state r;
    real f = n * num(0.5), dx = b.x - a.x, dy = b.y - a.y;
    r.x = a.x + dx * num(0.5);
    r.y = a.y + dy * num(0.5);
    r.xx = (a.xx + b.xx) + (dx * dx) * f;
    r.xy = (a.xy + b.xy) + (dx * dy) * f;
    return r;
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.xy / a.xx)); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
