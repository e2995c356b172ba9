/* SPDX-License-Identifier: MIT
 * corr: Pearson's correlation of x and y, from the sums of squares and of products of deviations,
 * merged pairwise as in op/cov.h. The result is limited to -1 .. 1. It is NaN if all x or all y are
 * equal. */
#define OP_INPUTS 2
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_COUNTS 1
#define OP_SIZES 1
#define OP_STATE(F) F(real, x) F(real, y) F(real, xx) F(real, yy) F(real, xy)
#define OP_TWIN 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, elem y, idx i, par p)
{
    state r;
    r.x = to_real(x);
    r.y = to_real(y);
    r.xy = (r.x - r.x) + (r.y - r.y);
    r.xx = r.xy;
    r.yy = r.xy;
    return r;
}
fn state combine(state a, state b, real na, real nb)
{
    state r;
    real w = nb / (na + nb), f = na * w, dx = b.x - a.x, dy = b.y - a.y;
    r.x = a.x + dx * w;
    r.y = a.y + dy * w;
    r.xx = (a.xx + b.xx) + (dx * dx) * f;
    r.yy = (a.yy + b.yy) + (dy * dy) * f;
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
    r.yy = (a.yy + b.yy) + (dy * dy) * f;
    r.xy = (a.xy + b.xy) + (dx * dy) * f;
    return r;
}
fn result lower(state a, real n, idx first, par p)
{
    real r = a.xy / (root(a.xx) * root(a.yy));
    r = sel(r > num(1.0), num(1.0), r);
    return to_result(canon(sel(r < num(-1.0), num(-1.0), r)));
}
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
