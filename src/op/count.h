/* SPDX-License-Identifier: MIT
 * count: how many elements are not NaN (of integers: all of them). Empty: 0. */
#define OP_LANE IDX
#define OP_WIDEN NUMBER
#define OP_EXACT 1
#define OP_COMMUTES 1
#define OP_INVERSE 1
#if TL_KIND_F
#define OP_BLANK (0.0 / 0.0)
#endif
#define OP_STATE(F) F(idx, n)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.n = idx_if(is_number(x)); return r; }
fn state combine(state a, state b) { state r; r.n = a.n + b.n; return r; }
fn state uncombine(state a, state b) { state r; r.n = a.n - b.n; return r; }
fn state neutral(par p) { state r; r.n = idx_num(0); return r; }
fn result lower(state a, real n, idx first, par p) { return a.n; }
fn result empty(par p) { return idx_num(0); }
