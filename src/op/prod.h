/* SPDX-License-Identifier: MIT
 * prod: the tree of products. Integers wrap in 64 bits (exact). 1 is exactly neutral: x * 1 == x
 * for every x. */
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_NAN_CORE prod
#define OP_NAN_WIDEN REAL_ONE
#define OP_EXACT REAL_IS_EXACT
#define OP_COMMUTES REAL_IS_EXACT
#define OP_BLANK 1
#define OP_STATE(F) F(real, s)
#define OP_NEUTRAL 1
#define OP_SEED 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }
fn state combine(state a, state b) { state r; r.s = a.s * b.s; return r; }
fn state neutral(par p) { state r; r.s = num(1.0); return r; }
fn state seed(result v, par p) { state r; r.s = result_to_real(v); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.s)); }
fn result empty(par p) { return to_result(num(1.0)); }
