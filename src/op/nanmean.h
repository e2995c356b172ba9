/* SPDX-License-Identifier: MIT
 * nanmean: sum (as op/nansum.h) and count of the elements that are not NaN, divided once, in lower. None left: NaN. */
#define OP_LANE IDX
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_MASKED 1
#define OP_STATE(F) F(real, s) F(idx, n)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn mask masked(elem x) { return is_nan(x); }
fn state lift(elem x, idx i, par p)
{
    state r;
    real v = to_real(x);
    r.s = sel(v == v, v, num(NEGATIVE_ZERO));
    r.n = idx_if(v == v);
    return r;
}
fn state combine(state a, state b) { state r; r.s = a.s + b.s; r.n = a.n + b.n; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); r.n = idx_num(0); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(canon((a.s + num(0.0)) / idx_to_real(a.n))); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }
