/* SPDX-License-Identifier: MIT
 * min: IEEE 754-2019 minimum through an integer key: NaN wins, -0 < +0. Empty: NaN, or the
 * largest integer. */
#define OP_LANE ORD
#define OP_WIDEN LOW
#define OP_NAN_CORE min
#define OP_NAN_WIDEN HIGH
#define OP_EXACT 1
#define OP_EXTREME -1
#define OP_IDEMPOTENT 1
#if !TL_KIND_F
#define OP_BLANK TL_ORD_MAX
#endif
#define OP_STATE(F) F(ord, m)
#define OP_NEUTRAL 1
#define OP_SEED 2
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p)
{
    state r;
    r.m = sel(is_nan(x), ord_bottom, to_ord(x));
    return r;
}
fn state combine(state a, state b) { state r; r.m = sel(b.m < a.m, b.m, a.m); return r; }
fn state neutral(par p) { state r; r.m = ord_top; return r; }
fn state seed(result v, par p) { return lift(v, NO_INDEX, p); }
fn result lower(state a, real n, idx first, par p) { return from_ord(a.m); }
fn result empty(par p) { return from_ord(ord_top); }
