/* SPDX-License-Identifier: MIT
 * A total that does not depend on the order: payments arrive at two counters in any order, one is taken back, and the
 * total is what exact arithmetic gives, rounded once.
 * Run: exact */
#include <stdio.h>
#include <tally.h>

static int add(tally_exact *sum, const double *x, int64_t n)
{
    const tally_view view = tally_flat(x, TALLY_F64, n);
    if (!tally_exact_add(NULL, sum, &view)) return 0;
    return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
}

int main(void)
{
    const double first[] = {1e16, 0.1, -3.25}, second[] = {0.2, -1e16, 7}, wrong = 7;
    double plain = 0, total, mean;
    tally_exact a, b;
    tally_exact_init(&a);
    tally_exact_init(&b);
    if (add(&a, first, 3) || add(&b, second, 3)) return 1;

    /* states are plain data: this one could have come through a file, MPI_SUM or a database */
    tally_exact_merge(&a, &b);
    const tally_view back = tally_flat(&wrong, TALLY_F64, 1);
    if (tally_exact_subtract(NULL, &a, &back)) return 1;

    if (tally_exact_value(NULL, &a, "sum:exact", TALLY_F64, &total)) return 1;
    if (tally_exact_value(NULL, &a, "mean:exact", TALLY_F64, &mean)) return 1;
    for (int i = 0; i < 3; i++) plain += first[i];
    for (int i = 0; i < 3; i++) plain += second[i];
    printf("a loop says %g\n", plain - wrong);
    printf("exact: %.17g from %lld payments, %.17g each\n", total, (long long)a.word[71], mean);
    return 0;
}
