/* SPDX-License-Identifier: MIT
 * Running totals down one column of a table, without copying the column: a view has a stride.
 * Run: column */
#include <stdio.h>
#include <tally.h>

enum { DAYS = 6, SHOPS = 3 };

int main(void)
{
    const double sales[DAYS][SHOPS] = {{12.5, 3, 7}, {11, 4.25, 8}, {0.1, 0.2, 0.3},
                                       {14, 2, 6},   {9.75, 5, 5},  {13, 4, 9}};
    double total[DAYS], each[SHOPS];
    tally *t;
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;

    /* Column 1: DAYS elements, SHOPS apart. One sequence, so row_stride is not used. */
    const tally_view column = {
        .data = (void *)&sales[0][1], .dtype = TALLY_F64, .rows = 1, .n = DAYS, .stride = SHOPS};
    const tally_view out = tally_flat(total, TALLY_F64, DAYS);
    if (tally_scan(t, "sum", &column, &out, NULL))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    for (int i = 0; i < DAYS; i++) printf("day %d: %.17g\n", i, total[i]);

    /* Every column at once: SHOPS sequences. */
    const tally_view all = tally_columns(sales, TALLY_F64, DAYS, SHOPS);
    if (tally_reduce(t, "sum", &all, each)) return fprintf(stderr, "%s\n", tally_error(t)), 1;
    for (int i = 0; i < SHOPS; i++) printf("shop %d: %.17g\n", i, each[i]);
    printf("the last running total and the column's sum are %s\n",
           total[DAYS - 1] == each[1] ? "equal" : "different");
    tally_close(t);
    return 0;
}
