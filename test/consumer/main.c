/* SPDX-License-Identifier: MIT
 * A program of somebody else's, built against an installed tally. */
#include <stdio.h>
#include <tally.h>

int main(void)
{
    const float x[] = {1, 2, 3.5f};
    double sum = 0;
    tally *t;
    if (tally_open(&t, "cpu,threads=2")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
    const tally_view in = tally_flat(x, TALLY_F32, 3);
    if (tally_reduce(t, "sum:f64", &in, &sum)) return fprintf(stderr, "%s\n", tally_error(t)), 1;
    tally_close(t);
    printf("tally %s: %g %g\n", tally_version(), sum, (double)tally_sum_f32(x, 3));
    return 0;
}
