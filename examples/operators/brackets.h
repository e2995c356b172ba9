/* SPDX-License-Identifier: MIT
 * brackets: what is left of +1 (opens) and -1 (closes) when all pairs are taken out: how many close without having been
 * opened, and how many stay open. Two results; 0 0 is balanced; the second one of a scan is the depth. This is the
 * bicyclic monoid: associative, exact, not commutative. */
#define OP_TYPES I
#define OP_ACC NONE
#define OP_OUT IDX
#define OP_LANES 2
#define OP_EXACT 1
#define OP_NEUTRAL 1
#define OP_STATE(F) F(idx, close) F(idx, open)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p)
{
    state r;
    r.close = idx_if(x < 0);
    r.open = idx_if(x > 0);
    return r;
}
fn state combine(state a, state b)
{
    state r;
    idx pairs = sel(a.open < b.close, a.open, b.close);
    r.close = a.close + (b.close - pairs);
    r.open = (a.open - pairs) + b.open;
    return r;
}
fn state neutral(par p) { state r; r.close = idx_num(0); r.open = r.close; return r; }
fn result lower(state a, real n, idx first, par p) { return a.close; }
fn result lower_1(state a, real n, idx first, par p) { return a.open; }
fn result empty(par p) { return idx_num(0); }
fn result empty_1(par p) { return idx_num(0); }
