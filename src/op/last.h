/* SPDX-License-Identifier: MIT
 * last: the last element, its bits unchanged (a NaN keeps its payload). The last of no
 * elements is NaN, or 0 for integers. Not commutative. */
#define OP_LANE ELEM
#define OP_WIDEN BITS
#define OP_NAN_WIDEN DOUBLE
#define OP_EXACT 1
#define OP_PICKS 1
#define OP_IDEMPOTENT 1
#define OP_STATE(F) F(elem, x)
#define OP_SEED 2
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.x = x; return r; }
fn state combine(state a, state b) { return b; }
fn state seed(result v, par p) { return lift(v, NO_INDEX, p); }
fn result lower(state a, real n, idx first, par p) { return a.x; }
fn result empty(par p) { return elem_missing; }
