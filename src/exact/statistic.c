/* SPDX-License-Identifier: MIT
 * Statistics of exact sums: quotients of integers, rounded once. No difference of two sums loses a
 * digit, so a mean of 1e8 beside a spread of 1 does no harm. And the exact operators as rows: an
 * instance for each element type and result type. */
#include "exact.h"
#include <math.h>
#include <stdio.h>

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

/* ---- the operators ---- */

/* NARROW: floats below f64 have instances with the result f32 too. INTEGERS: integers have some. */
enum { NARROW = 1, INTEGERS = 2 };

static const struct operator_row {
    const char *name, *what;
    tl_statistic formula;
    int kinds;
} operators[] = {
    {"sum", "sum", {TL_X, TL_ALONE, 0}, NARROW},
    {"mean", "mean", {TL_X, TL_OVER_COUNT, 0}, NARROW | INTEGERS},
    {"dot", "sum of the real products x y", {TL_XY, TL_ALONE, 0}, NARROW},
    {"wmean", "mean of x with weights y", {TL_Y | TL_XY, TL_XY_OVER_Y, 0}, NARROW | INTEGERS},
    {"sumsq", "sum of squares", {TL_XX, TL_ALONE, 0}, INTEGERS},
    {"norm", "root of the sum of squares", {TL_XX, TL_ALONE, 1}, INTEGERS},
    {"var", "variance, divided by n - ddof", {TL_X | TL_XX, TL_B_OVER, 0}, INTEGERS},
    {"std", "standard deviation, divided by n - ddof", {TL_X | TL_XX, TL_B_OVER, 1}, INTEGERS},
    {"cov",
     "covariance of x and y, divided by n - ddof",
     {TL_X | TL_Y | TL_XY, TL_A_OVER, 0},
     INTEGERS},
    {"corr", "correlation of x and y", {(1 << TL_SUMS) - 1, TL_A_OVER_BC, 1}, INTEGERS},
    {"slope", "slope of y by x", {TL_X | TL_Y | TL_XX | TL_XY, TL_A_OVER_B, 0}, INTEGERS},
};

enum { OPERATORS = sizeof operators / sizeof *operators };

/* Each operator and then its nan form. name: as in "nansum:exact". form: by the result, f32 or f64,
 * and by the type of the elements; without a file where there is no such instance. */
static struct {
    char name[16], what[80];
    tl_exact_form form[2][TALLY_F64 + 1];
} rows[2 * OPERATORS];

static void zero_f32(tl_par p, void *out) { memset(out, 0, 4); }
static void zero_f64(tl_par p, void *out) { memset(out, 0, 8); }
static void nan_f32(tl_par p, void *out) { tl_statistic_nan(TALLY_F32, out); }
static void nan_f64(tl_par p, void *out) { tl_statistic_nan(TALLY_F64, out); }

static tl_exact_form make_form(int row, tally_dtype dtype, int wide)
{
    const struct operator_row *const o = &operators[row / 2];
    const tl_statistic f = o->formula;
    const tally_dtype out = wide ? TALLY_F64 : TALLY_F32;
    const int real = dtype >= TALLY_F16, alone = f.quotient == TL_ALONE;
    const int exists =
        wide ? real || o->kinds & INTEGERS : real && dtype != TALLY_F64 && o->kinds & NARROW;
    return (tl_exact_form){
        .scalar = {.file = exists ? rows[row].name : NULL,
                   .dtype = dtype,
                   .acc = out,
                   .out = out,
                   .lanes = 1,
                   .inputs = f.needs & (TL_Y | TL_YY | TL_XY) ? 2 : 1,
                   .elem_bytes = (uint8_t)tally_dtype_size(dtype),
                   .result_bytes = (uint8_t)tally_dtype_size(out),
                   .exact = 1,
                   .masked = row % 2,
                   .seedable = alone && (f.needs == TL_X || f.needs == TL_XY),
                   .empty = alone  ? wide ? zero_f64 : zero_f32
                            : wide ? nan_f64
                                   : nan_f32},
        .what = f,
        .sums = (uint8_t)__builtin_popcount(f.needs),
        .whole = dtype == TALLY_I64   ? 1
                 : dtype == TALLY_U64 ? 2
                                      : 0,
    };
}

static __attribute__((constructor)) void make_rows(void)
{
    for (int r = 0; r < 2 * OPERATORS; r++) {
        const struct operator_row *const o = &operators[r / 2];
        snprintf(rows[r].name, sizeof rows[r].name, "%s%s:exact", r % 2 ? "nan" : "", o->name);
        snprintf(rows[r].what, sizeof rows[r].what, "the real %s%s, rounded once", o->what,
                 r % 2 ? " without NaN" : "");
        for (int d = TALLY_I8; d <= TALLY_F64; d++)
            for (int wide = 0; wide < 2; wide++)
                rows[r].form[wide][d] = make_form(r, (tally_dtype)d, wide);
    }
}

const tl_scalar *tl_exact_find(const char *name, size_t length, tally_dtype dtype, tally_dtype acc,
                               const char **what, const char **none)
{
    for (int r = 0; r < 2 * OPERATORS; r++) {
        if (strcspn(rows[r].name, ":") != length || memcmp(rows[r].name, name, length)) continue;
        if (what) *what = rows[r].what;
        if (none) *none = operators[r / 2].formula.quotient == TL_ALONE ? "0" : "NaN";
        for (int wide = acc == TALLY_F64; wide < 2; wide++)
            if (rows[r].form[wide][dtype].scalar.file) return &rows[r].form[wide][dtype].scalar;
    }

    return NULL;
}

const tl_scalar *tl_exact_common(tally_dtype dtype, int inputs)
{
    return tl_exact_find(inputs == 2 ? "dot" : "sum", 3, dtype, TALLY_F64, NULL, NULL);
}
