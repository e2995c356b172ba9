/* SPDX-License-Identifier: MIT
 * squares: the sum of squares. Integers wrap in 64 bits, floating point follows the tree. Nothing: 0.
 * The neutral state is -0.0: x + -0.0 is x for every x, +0.0 included. */
#define OP_EXACT REAL_IS_EXACT
#define OP_NEUTRAL 1
#define OP_COMMUTES 1
#define OP_STATE(F) F(real, s)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; real v = to_real(x); r.s = v * v; return r; }
fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.s)); }
fn result empty(par p) { return to_result(num(0.0)); }
