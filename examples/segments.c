/* SPDX-License-Identifier: MIT
 * Groups of different lengths that lie one after the other, cut by offsets (as in a CSR matrix). Empty ones are fine.
 * Run: segments */
#include <stdio.h>
#include <tally.h>

int main(void)
{
    const int32_t x[] = {5, -1, 7, 2, 2, 9, -4, 100};
    const int64_t offsets[] = {0, 3, 3, 4, 8};
    enum { GROUPS = sizeof offsets / sizeof *offsets - 1 };
    int64_t sum[GROUPS];
    int32_t extremes[GROUPS][2]; /* minmax has two lanes */
    double mean[GROUPS];
    tally *t;
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
    const tally_view in = tally_segments(x, TALLY_I32, offsets, GROUPS);
    if (tally_reduce(t, "sum", &in, sum) || tally_reduce(t, "minmax", &in, extremes) ||
        tally_reduce(t, "mean", &in, mean))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    for (int g = 0; g < GROUPS; g++) {
        char text[48];
        tally_format_value(TALLY_F64, &mean[g], 0, text, sizeof text);
        printf("group %d: %lld elements, sum %lld, min %d, max %d, mean %s\n", g,
               (long long)(offsets[g + 1] - offsets[g]), (long long)sum[g], extremes[g][0],
               extremes[g][1], text);
    }
    tally_close(t);
    return 0;
}
