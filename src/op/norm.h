/* SPDX-License-Identifier: MIT
 * norm: the Euclidean norm: the state of sumsq (op/sumsq.h), and one square root in lower. */
#define OP_CORE sumsq
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_BLANK 0
#define OP_STATE(F) F(real, s)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; real v = to_real(x); r.s = v * v; return r; }
fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); return r; }
fn result lower(state a, real n, idx first, par p)
{
    return to_result(canon(root(a.s + num(0.0))));
}
fn result empty(par p) { return to_result(num(0.0)); }
