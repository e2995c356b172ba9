/* SPDX-License-Identifier: MIT
 * streak: the longest run of neighbours above a threshold (streak:0.5; 0 if not given). A block knows its length, the
 * runs that touch its two ends, and its longest. Exact, not commutative; its state has all of the 32 bytes. Nothing:
 * 0. */
#define OP_ACC F64
#define OP_OUT IDX
#define OP_EXACT 1
#define OP_PARAM above
#define OP_DEFAULT 0
#define OP_STATE(F) F(idx, n) F(idx, left) F(idx, right) F(idx, best)
typedef struct { OP_STATE(FIELD) } state;
fn idx longer(idx a, idx b) { return sel(a > b, a, b); }
fn state lift(elem x, idx i, par p)
{
    state r;
    r.n = idx_num(1);
    r.left = sel_idx(to_real(x) > num(p.value), idx_num(1), idx_num(0));
    r.right = r.left;
    r.best = r.left;
    return r;
}
fn state combine(state a, state b)
{
    state r;
    r.n = a.n + b.n;
    r.left = sel(a.left == a.n, a.n + b.left, a.left);
    r.right = sel(b.right == b.n, b.n + a.right, b.right);
    r.best = longer(longer(a.best, b.best), a.right + b.left);
    return r;
}
fn result lower(state a, real n, idx first, par p) { return a.best; }
fn result empty(par p) { return idx_num(0); }
