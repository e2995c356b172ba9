/* SPDX-License-Identifier: MIT
 * An operator of your own (doc/user-operators.md): the largest fall of a price, so far and in the last four days.
 * Run: define */
#include <stdio.h>
#include <tally.h>

static const char text[] =
    "#define OP_STATE(F) F(real, high) F(real, low) F(real, fall)\n"
    "typedef struct { OP_STATE(FIELD) } state;\n"
    "fn real larger(real a, real b) { return sel(a > b, a, b); }\n"
    "fn state lift(elem x, idx i, par p)\n"
    "{ state r; r.high = to_real(x); r.low = r.high; r.fall = num(0); return r; }\n"
    "fn state combine(state a, state b)\n" /* a comes before b */
    "{\n"
    "    state r;\n"
    "    r.high = larger(a.high, b.high);\n"
    "    r.low = sel(a.low < b.low, a.low, b.low);\n"
    "    r.fall = larger(larger(a.fall, b.fall), a.high - b.low);\n"
    "    return r;\n"
    "}\n"
    "fn result lower(state a, real n, idx first, par p) { return to_result(a.fall); }\n"
    "fn result empty(par p) { return to_result(num(0)); }\n";

int main(void)
{
    const double price[] = {10, 12, 9, 11, 14, 13, 8, 9, 15, 12};
    enum { N = sizeof price / sizeof *price };
    double running[N], recent[N];
    tally *ctx = NULL;
    const tally_view in = tally_flat(price, TALLY_F64, N), all = tally_flat(running, TALLY_F64, N),
                     last = tally_flat(recent, TALLY_F64, N);
    const tally_window_options four = {.before = 3, .edges = TALLY_EDGES_SHRINK};
    tally_status status = tally_open(&ctx, "cpu");
    if (!status) status = tally_define(ctx, "descent", text, NULL);
    if (!status) status = tally_scan(ctx, "descent", &in, &all, NULL);
    if (!status) status = tally_window(ctx, "descent", &in, &last, &four);
    if (status) fprintf(stderr, "%s\n", tally_error(ctx));
    for (int i = 0; !status && i < N; i++) printf("%4g %4g %4g\n", price[i], running[i], recent[i]);
    tally_close(ctx);
    return status != TALLY_OK;
}
