/* SPDX-License-Identifier: MIT
 * dot: the sum of the products x y, each rounded once. Integers wrap in 64 bits. The neutral
 * element is -0.0, and lower adds +0.0 (op/sum.h says why). canon gives every NaN the same bits. */
#define OP_INPUTS 2
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT REAL_IS_EXACT
#if !TL_KIND_F
#define OP_BLANK 0
#endif
#define OP_STATE(F) F(real, s)
#define OP_NEUTRAL 1
#define OP_SEED 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, elem y, idx i, par p) { state r; r.s = to_real(x) * to_real(y); return r; }
fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); return r; }
fn state seed(result v, par p) { state r; r.s = result_to_real(v); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.s + num(0.0))); }
fn result empty(par p) { return to_result(num(0.0)); }
