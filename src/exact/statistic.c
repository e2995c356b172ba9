/* SPDX-License-Identifier: MIT
 * Statistics of exact sums: quotients of integers, rounded once. No difference of two sums loses a
 * digit, so a mean of 1e8 beside a spread of 1 does no harm. */
#include "exact.h"
#include <math.h>

void tl_statistic_nan(tally_dtype dtype, void *value)
{
    const uint64_t wide = 0x7ff8000000000000u;
    const uint32_t narrow = 0x7fc00000;
    memcpy(value, dtype == TALLY_F64 ? (const void *)&wide : &narrow, tally_dtype_size(dtype));
}

void tl_statistic_divide(double a, double b, tally_dtype dtype, void *value)
{
    const double ratio = a / b;
    if (ratio != ratio)
        tl_statistic_nan(dtype, value);
    else if (dtype == TALLY_F64)
        memcpy(value, &ratio, sizeof ratio);
    else
        memcpy(value, &(float){(float)ratio}, sizeof(float));
}

/* r = n Sab - Sa Sb. */
static void spread(const tl_number *a, const tl_number *b, const tl_number *ab, int64_t n,
                   tl_number *r)
{
    tl_number t;
    tl_number_of_integer(&t, (uint64_t)n);
    tl_number_multiply(r, ab, &t);
    tl_number_multiply(&t, a, b);
    tl_number_subtract(r, &t);
}

/* r = n (n - ddof), without rounding. */
static void divisor(int64_t n, double ddof, tl_number *r)
{
    tl_number all, less;
    int exponent;
    const double part = frexp(ddof, &exponent);
    tl_number_of_integer(&all, (uint64_t)n);
    tl_number_of_integer(&less, (uint64_t)ldexp(part, 53));
    less.exponent = exponent - 53;
    tl_number rest = all;
    tl_number_subtract(&rest, &less);
    tl_number_multiply(r, &all, &rest);
}

/* The fraction a / b. For a root, a has the sign of the result. */
static void fraction(tl_quotient what, const tl_number *sum, int64_t n, double ddof, tl_number *a,
                     tl_number *b)
{
    const tl_number *const x = &sum[0], *const y = &sum[1], *const xx = &sum[2],
                           *const yy = &sum[3], *const xy = &sum[4];
    tl_number c, t;

    if (what == TL_XY_OVER_Y) {
        *a = *xy, *b = *y;
        a->negative ^= b->negative && a->size;
        b->negative = 0;
        return;
    }

    if (what == TL_B_OVER)
        spread(x, x, xx, n, a);
    else
        spread(x, y, xy, n, a);

    if (what == TL_B_OVER || what == TL_A_OVER) {
        divisor(n, ddof, b);
        return;
    }

    spread(x, x, xx, n, b);
    if (what == TL_A_OVER_B) return;

    const int negative = a->negative;
    c = *a;
    tl_number_multiply(a, &c, &c);
    a->negative = negative;
    c = *b;
    spread(y, y, yy, n, &t);
    tl_number_multiply(b, &c, &t);
}

int tl_statistic_value(tl_statistic what, const tl_number *sum, int64_t n, double ddof,
                       tally_dtype dtype, void *value)
{
    tl_number a, b;
    assert(what.quotient != TL_OVER_COUNT && ddof >= 0);
    if (what.quotient == TL_ALONE) {
        a = sum[__builtin_ctz(what.needs)];
        tl_number_of_integer(&b, 1);
    } else {
        if ((double)n <= ddof || n <= 0) return 0;
        fraction(what.quotient, sum, n, ddof, &a, &b);
    }

    const int square = what.quotient == TL_B_OVER || (what.quotient == TL_ALONE && what.root);
    if (!b.size || b.negative || (square && a.negative)) return 0;

    tl_ratio(&a, &b, what.root, dtype, value);
    return 1;
}
