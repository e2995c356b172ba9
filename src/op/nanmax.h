/* SPDX-License-Identifier: MIT
 * nanmax: maximum of the elements that are not NaN, -0 < +0. None left: NaN. The key of the mask lies below every number. */
#define OP_CORE max
#define OP_LANE ORD
#define OP_WIDEN LOW
#define OP_EXACT 1
#define OP_EXTREME 1
#define OP_IDEMPOTENT 1
#define OP_STATE(F) F(ord, m)
#define OP_NEUTRAL 1
#define OP_SEED 1
#define OP_MASKED 1
typedef struct { OP_STATE(FIELD) } state;
fn mask masked(elem x) { return is_nan(x); }
fn state lift(elem x, idx i, par p) { state r; r.m = sel(is_nan(x), ord_bottom, to_ord(x)); return r; }
fn state combine(state a, state b) { state r; r.m = sel(b.m > a.m, b.m, a.m); return r; }
fn state neutral(par p) { state r; r.m = ord_bottom; return r; }
fn state seed(result v, par p) { return lift(v, NO_INDEX, p); }
fn result lower(state a, real n, idx first, par p) { return from_ord(a.m); }
fn result empty(par p) { return from_ord(ord_bottom); }
