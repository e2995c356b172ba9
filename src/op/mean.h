/* SPDX-License-Identifier: MIT
 * mean of floats: the state of sum (op/sum.h), divided once, in lower, by n converted to the
 * accumulator's type. */
#define OP_CORE sum
#define OP_COUNTS 1
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_STATE(F) F(real, s)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }
fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); return r; }
fn result lower(state a, real n, idx first, par p)
{
    return to_result(mean_of(a.s, n));
}
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
