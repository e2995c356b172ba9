/* SPDX-License-Identifier: MIT
 * A text that keeps none of its promises: test_promises.c must find every one of them broken. */
#define OP_LANE REAL
#define OP_EXACT 1
#define OP_IDEMPOTENT 1
#define OP_COMMUTES 1
#define OP_EXTREME 1
#define OP_ADDS 1
#define OP_PICKS 1
#define OP_INVERSE 1
#define OP_TWIN 1
#define OP_MOMENTS 1
#define OP_WIDEN REAL
#define OP_MASKED 1
#define OP_CORE sum
#define OP_STATE(F) F(real, s)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn mask present(elem x, par p) { return is_nonzero(x) == 0; }
fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x) + num(1.0); return r; }
fn state combine(state a, state b) { state r; r.s = a.s + b.s + b.s; return r; }
fn state uncombine(state a, state b) { state r; r.s = a.s - b.s; return r; }
fn state twin(state a, state b) { state r; r.s = a.s + b.s; return r; }
fn state neutral(par p) { state r; r.s = num(1.0); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(a.s); }
fn result empty(par p) { return to_result(num(0.0)); }
