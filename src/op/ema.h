/* SPDX-License-Identifier: MIT
 * ema: y_0 = x_0, y_i = y_(i-1) + alpha (x_i - y_(i-1)). The state is the affine map of a block
 * in point-slope form: it sends the value before the block, v, to y + a (v - x), where x is the
 * block's first element and a = (1 - alpha)^length. So one element is exact, a constant series
 * stays constant, and maps compose from left to right (not commutative). An init is the value
 * before the first element. */
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_STATE(F) F(real, a) F(real, x) F(real, y)
#define OP_SEED 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p)
{
    state r;
    r.a = num(1.0) - num(p.value);
    r.x = to_real(x);
    r.y = r.x;
    return r;
}
fn state combine(state a, state b)
{
    state r;
    r.a = a.a * b.a;
    r.x = a.x;
    r.y = b.y + b.a * (a.y - b.x);
    return r;
}
fn state seed(result v, par p)
{
    state r;
    r.a = num(1.0);
    r.x = result_to_real(v);
    r.y = r.x;
    return r;
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.y)); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
