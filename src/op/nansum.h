/* SPDX-License-Identifier: MIT
 * nansum: the sum of the elements that are not NaN. A masked element is lifted to -0.0, which is exactly neutral, so the
 * tree of what is left keeps its bits. inf - inf still gives NaN. */
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_MASKED 1
#define OP_STATE(F) F(real, s)
#define OP_NEUTRAL 1
#define OP_SEED 1
typedef struct { OP_STATE(FIELD) } state;
fn mask masked(elem x) { return is_nan(x); }
fn state lift(elem x, idx i, par p) { state r; real v = to_real(x); r.s = sel(v == v, v, num(NEGATIVE_ZERO)); return r; }
fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); return r; }
fn state seed(result v, par p) { state r; r.s = result_to_real(v); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.s + num(0.0))); }
fn result empty(par p) { return to_result(num(0.0)); }
