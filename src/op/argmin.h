/* SPDX-License-Identifier: MIT
 * argmin: index of the first minimum, counted from the first element of the sequence (or
 * window); the first NaN if there is one. Ties go to the left operand, so combine is associative
 * and not commutative. */
#define OP_LANE IDX
#define OP_WIDEN LOW
#define OP_NAN_CORE argmin
#define OP_NAN_WIDEN HIGH
#define OP_ABSENT ord_top
#define OP_EXACT 1
#define OP_IDEMPOTENT 1
#define OP_EXTREME -1
#define OP_STATE(F) F(ord, m) F(idx, i)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p)
{
    state r;
    r.m = sel(is_nan(x), ord_bottom, to_ord(x));
    r.i = i;
    return r;
}
fn state combine(state a, state b)
{
    state r;
    r.m = sel(b.m < a.m, b.m, a.m);
    r.i = sel_idx(b.m < a.m, b.i, a.i);
    return r;
}
fn result lower(state a, real n, idx first, par p) { return a.i - first; }
fn result empty(par p) { return idx_num(-1); }
