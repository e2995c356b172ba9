/* SPDX-License-Identifier: MIT
 * Windows by time: the mean of the last two seconds at every reading, which come when they come. On the command line:
 * tally window mean --by time --last 2s FILE.
 * Run: readings */
#include <stdio.h>
#include <tally.h>

enum { N = 7 };

int main(void)
{
    const int64_t ms[N] = {0, 400, 1900, 2000, 2000, 5000, 6100};
    const double reading[N] = {10, 12, 11, 15, 17, 20, 22};
    const tally_view keys = tally_flat(ms, TALLY_I64, N), in = tally_flat(reading, TALLY_F64, N);
    int64_t start[N], end[N];
    double mean[N];
    tally *t;
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;

    /* (time - 2 s, time], and of readings of the same time those up to this one: as in pandas */
    const tally_key_window last_2s = {.low = -2000, .low_open = 1, .ties = TALLY_TIES_ROW};
    const tally_view out = tally_flat(mean, TALLY_F64, N);
    if (tally_window_bounds(t, &keys, &last_2s, start, end) ||
        tally_window_ranges(t, "mean", &in, start, end, N, &out, 0))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    for (int i = 0; i < N; i++)
        printf("%5.1f s: rows %lld..%lld, mean %g\n", (double)ms[i] / 1000, (long long)start[i],
               (long long)end[i] - 1, mean[i]);
    tally_close(t);
    return 0;
}
