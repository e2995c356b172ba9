/* SPDX-License-Identifier: MIT
 * Sums and moving sums by key: values with the number of their group, in any order, become segments. On the command
 * line: tally reduce sum --by city --column temp FILE.
 * Run: keys */
#include <stdio.h>
#include <tally.h>

enum { N = 9, GROUPS = 3 };

int main(void)
{
    static const char *const name[GROUPS] = {"Oslo", "Rome", "Cairo"};
    const int32_t city[N] = {0, 1, 0, 2, 1, 0, 2, 0, 1};
    const double temp[N] = {3, 21, 4, 30, 22, 5, 31, 6, 23};
    int64_t order[N], offsets[GROUPS + 1], runs;
    double sorted[N], mean[GROUPS], moving[N];
    tally *t;
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;

    const tally_view codes = tally_flat(city, TALLY_I32, N), in = tally_flat(temp, TALLY_F64, N),
                     out = tally_flat(sorted, TALLY_F64, N);
    if (tally_groups(t, &codes, GROUPS, order, offsets) || tally_take(t, &in, order, N, &out))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;

    const tally_view groups = tally_segments(sorted, TALLY_F64, offsets, GROUPS),
                     windows = tally_segments(moving, TALLY_F64, offsets, GROUPS);
    const tally_window_options two = {.before = 1, .edges = TALLY_EDGES_SHRINK};
    if (tally_reduce(t, "mean", &groups, mean) || tally_window(t, "sum", &groups, &windows, &two))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    for (int g = 0; g < GROUPS; g++) {
        printf("%-5s mean %g, sums of two:", name[g], mean[g]);
        for (int64_t i = offsets[g]; i < offsets[g + 1]; i++) printf(" %g", moving[i]);
        putchar('\n');
    }

    /* keys whose equals are neighbours need no order */
    const tally_view tens = tally_flat((const int32_t[]){7, 7, 7, 8, 8, 9}, TALLY_I32, 6);
    int64_t ends[7];
    if (tally_runs(t, &tens, ends, &runs)) return fprintf(stderr, "%s\n", tally_error(t)), 1;
    printf("%lld runs, ending at", (long long)runs);
    for (int64_t r = 1; r <= runs; r++) printf(" %lld", (long long)ends[r]);
    putchar('\n');
    tally_close(t);
    return 0;
}
