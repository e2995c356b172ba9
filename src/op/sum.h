/* SPDX-License-Identifier: MIT
 * sum: the tree of additions. Integers wrap in 64 bits (exact, class X); floats round, so they
 * follow the tree. A float sum is never -0.0: lower adds +0.0. The exact neutral element is
 * -0.0: x + -0.0 == x for every x, -0.0 included. */
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT REAL_IS_EXACT
#define OP_ADDS REAL_IS_EXACT
#define OP_INVERSE REAL_IS_EXACT
#define OP_BLANK -0.0
#define OP_STATE(F) F(real, s)
#define OP_NEUTRAL 1
#define OP_SEED 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }
fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }
fn state uncombine(state a, state b) { state r; r.s = a.s - b.s; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); return r; }
fn state seed(result v, par p) { state r; r.s = result_to_real(v); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.s + num(0.0))); }
fn result empty(par p) { return to_result(num(0.0)); }
