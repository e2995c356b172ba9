/* SPDX-License-Identifier: MIT
 * Keys on one thread or several: runs of i64 keys, then the sum of each run; windows over sorted
 * keys. Beside them the time to read the same bytes, in turns; medians of ROUNDS.
 *   keys [THREADS] [MILLIONS of rows] */
#include "clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>

enum { ROUNDS = 9, JOBS = 7 };
static const char *const names[JOBS] = {"read keys and values",
                                        "runs of 100, sum by key",
                                        "  runs alone",
                                        "copy values",
                                        "bounds of 100 rows",
                                        "mean of 100 rows by key",
                                        "exact sum of 100 rows by key"};
static int64_t n, *keys, *times, *start, *end;
static double *x, *y;
static volatile int64_t kept;
static tally *t;

static void read_all(void)
{
    int64_t all = 0, bits;
    for (int64_t i = 0; i < n; i++) all |= keys[i];
    for (int64_t i = 0; i < n; i++) {
        memcpy(&bits, &x[i], sizeof bits);
        all |= bits;
    }
    kept = all;
}

static tally_status job(int which)
{
    const tally_view k = tally_flat(keys, TALLY_I64, n), s = tally_flat(times, TALLY_I64, n),
                     in = tally_flat(x, TALLY_F64, n), out = tally_flat(y, TALLY_F64, n);
    const tally_key_window w = {.low = -100, .low_open = 1, .ties = TALLY_TIES_ROW};
    int64_t runs;
    switch (which) {
    case 0:
        read_all();
        return TALLY_OK;
    case 1:
    case 2:
        if (tally_runs(t, &k, start, &runs)) return TALLY_INVALID;
        return which == 2
                   ? TALLY_OK
                   : tally_reduce(t, "sum", &(tally_view){x, TALLY_F64, runs, 0, 0, 1, start}, y);
    case 3:
        memcpy(y, x, (size_t)n * sizeof *x);
        return TALLY_OK;
    case 4:
        return tally_window_bounds(t, &s, &w, start, end);
    default:
        return tally_window_ranges(t, which == 5 ? "mean" : "sum:exact", &in, start, end, n, &out,
                                   0);
    }
}

int main(int count, char **arguments)
{
    char device[40];
    uint64_t random = 1;
    double seconds[JOBS][ROUNDS];
    n = (count > 2 ? atoll(arguments[2]) : 32) * 1000000;
    snprintf(device, sizeof device, "cpu,threads=%d", count > 1 ? atoi(arguments[1]) : 1);
    keys = malloc((size_t)n * 8), times = malloc((size_t)n * 8), x = malloc((size_t)n * 8),
    y = calloc((size_t)n, 8);
    start = calloc((size_t)n + 1, 8), end = calloc((size_t)n + 1, 8);
    if (!keys || !times || !x || !y || !start || !end || tally_open(&t, device))
        return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
    for (int64_t i = 0, key = 0, time_ = 0; i < n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        keys[i] = key += (random >> 33) % 100 == 0;
        times[i] = time_ += (int64_t)((random >> 45) % 3); /* a mean of 1 */
        x[i] = (double)(random >> 40) / 1000;
    }
    for (int r = 0; r < ROUNDS; r++)
        for (int j = 0; j < JOBS; j++) {
            const double begin = now();
            if (job(j)) return fprintf(stderr, "%s\n", tally_error(t)), 1;
            seconds[j][r] = now() - begin;
        }
    printf("%s, %lld rows, median of %d\n", device, (long long)n, ROUNDS);
    for (int j = 0; j < JOBS; j++) {
        const double s = median(seconds[j], ROUNDS), ceiling = seconds[j < 3 ? 0 : 3][ROUNDS / 2];
        printf("%-30s %8.2f ms %7.2f ns/row  %.2f of %s\n", names[j], 1e3 * s, 1e9 * s / (double)n,
               ceiling / s, j < 3 ? "read" : "copy");
    }
    tally_close(t);
    return 0;
}
