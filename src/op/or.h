/* SPDX-License-Identifier: MIT
 * or: bitwise, integers only. */
#define OP_LANE ORD
#define OP_WIDEN BITS
#define OP_EXACT 1
#define OP_COMMUTES 1
#define OP_IDEMPOTENT 1
#define OP_BLANK 0
#define OP_STATE(F) F(ord, m)
#define OP_NEUTRAL 1
#define OP_SEED 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.m = to_ord(x); return r; }
fn state combine(state a, state b) { state r; r.m = a.m | b.m; return r; }
fn state neutral(par p) { state r; r.m = ord_num(0); return r; }
fn state seed(result v, par p) { return lift(v, NO_INDEX, p); }
fn result lower(state a, real n, idx first, par p) { return from_ord(a.m); }
fn result empty(par p) { return from_ord(ord_num(0)); }
