/* SPDX-License-Identifier: MIT
 * all: 1 if no element is zero. NaN is not zero, -0.0 is. Empty: 1. */
#define OP_CORE and
#define OP_LANE ORD
#define OP_WIDEN NONZERO
#define OP_NAN_CORE and
#define OP_NAN_WIDEN NONZERO
#define OP_EXACT 1
#define OP_COMMUTES 1
#define OP_IDEMPOTENT 1
#define OP_BLANK 1
#define OP_STATE(F) F(ord, m)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.m = ord_if(is_nonzero(x)); return r; }
fn state combine(state a, state b) { state r; r.m = a.m & b.m; return r; }
fn state neutral(par p) { state r; r.m = ord_num(1); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(a.m); }
fn result empty(par p) { return to_result(ord_num(1)); }
