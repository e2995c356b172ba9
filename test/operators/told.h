/* SPDX-License-Identifier: MIT
 * told: how often combine and twin are told other numbers of elements than their operands have
 * folded (OP_SIZES), which is never. The state counts for itself. */
#define OP_TYPES F
#define OP_SIZES 1
#define OP_TWIN 1
#define OP_STATE(F) F(real, n) F(real, wrong)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.n = num(1.0); r.wrong = num(0.0); return r; }
fn state combine(state a, state b, real na, real nb)
{
    state r;
    r.n = a.n + b.n;
    r.wrong = a.wrong + b.wrong + sel(a.n == na, num(0.0), num(1.0)) + sel(b.n == nb, num(0.0), num(1.0));
    return r;
}
fn state twin(state a, state b, real n) { return combine(a, b, n, n); }
fn result lower(state a, real n, idx first, par p) { return to_result(a.wrong + sel(a.n == n, num(0.0), num(1.0))); }
fn result empty(par p) { return to_result(num(0.0)); }
