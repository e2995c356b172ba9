/* SPDX-License-Identifier: MIT
 * atmin: the y of the first minimum of x, in f64; of the first NaN of x if there is one. -0 and
 * +0 are equal. Ties go to the left operand, so combine is associative and not commutative. */
#define OP_INPUTS 2
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 1
#define OP_IDEMPOTENT 1
#define OP_STATE(F) F(real, x) F(real, y)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, elem y, idx i, par p)
{
    state r;
    r.x = to_real(x);
    r.y = to_real(y);
    return r;
}
fn state combine(state a, state b)
{
    state r;
    r.x = sel((b.x < a.x) | ((b.x != b.x) & (a.x == a.x)), b.x, a.x);
    r.y = sel((b.x < a.x) | ((b.x != b.x) & (a.x == a.x)), b.y, a.y);
    return r;
}
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.y)); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
