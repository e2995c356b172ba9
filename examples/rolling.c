/* SPDX-License-Identifier: MIT
 * A moving mean of width 3 with each rule for the edges. An inf harms only the windows that hold it.
 * Run: rolling */
#include <math.h>
#include <stdio.h>
#include <tally.h>

int main(void)
{
    const double x[] = {1, 2, 4, 8, INFINITY, 16, 32, 64, 128};
    enum { N = sizeof x / sizeof *x };
    static const char *const names[] = {"missing", "shrink", "valid"};
    double y[N];
    tally *t;
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
    const tally_view in = tally_flat(x, TALLY_F64, N);
    for (int e = TALLY_EDGES_MISSING; e <= TALLY_EDGES_VALID; e++) {
        const tally_window_options o = {.before = 2, .edges = (tally_edges)e};
        const int64_t n = tally_window_length(N, &o);
        const tally_view out = tally_flat(y, TALLY_F64, n);
        if (tally_window(t, "mean", &in, &out, &o))
            return fprintf(stderr, "%s\n", tally_error(t)), 1;
        printf("%-8s", names[e]);
        for (int64_t i = 0; i < n; i++) {
            char text[48];
            tally_format_value(TALLY_F64, &y[i], 0, text, sizeof text);
            printf(" %s", text);
        }
        printf("\n");
    }
    tally_close(t);
    return 0;
}
