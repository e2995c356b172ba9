/* SPDX-License-Identifier: MIT
 * Two inputs, and values that are missing: what flats cost for each square metre, weighted by their area, and how rent
 * goes with area. A bitmap says which flats are there, one bit for each, the first of them the lowest.
 * Run: weights */
#include <stdio.h>
#include <tally.h>

enum { N = 8 };

int main(void)
{
    static const double price[N] = {20, 18, 15, -1, 14, 22, -1, 16}; /* -1: not known */
    static const float area[N] = {30, 45, 70, 55,
                                  90, 25, 40, 65}; /* another type: both are widened to f64 */
    const uint8_t known[1] = {0xb7};               /* 1 1 1 0 1 1 0 1 from the lowest bit on */
    double mean, weighted, correlation, slope, running[N];
    int64_t there;
    tally *t;
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;

    /* one input: operators leave out what is not there, and count the rest */
    tally_view prices = tally_flat(price, TALLY_F64, N);
    prices.valid = known;
    if (tally_reduce(t, "mean", &prices, &mean) || tally_reduce(t, "count", &prices, &there))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    printf("%lld of %d prices, mean %.4f\n", (long long)there, N, mean);

    /* two inputs: the weights are the view's next; a pair is left out where either bitmap says so */
    const tally_view areas = tally_flat(area, TALLY_F32, N);
    prices.next = &areas;
    if (tally_reduce(t, "wmean", &prices, &weighted) ||
        tally_reduce(t, "corr", &prices, &correlation) || tally_reduce(t, "slope", &prices, &slope))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    printf("weighted by area %.4f, correlation with area %.4f\n", weighted, correlation);
    printf("area changes by %.4f for each unit of price\n", slope);

    /* scans and windows take both too; an element that is left out changes nothing */
    const tally_view out = tally_flat(running, TALLY_F64, N);
    if (tally_scan(t, "wmean", &prices, &out, NULL))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    printf("running:");
    for (int i = 0; i < N; i++) printf(" %.4f", running[i]);
    putchar('\n');
    tally_close(t);
    return 0;
}
