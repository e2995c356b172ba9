/* SPDX-License-Identifier: MIT
 * The exact operators as rows: an instance for each element type and result type. */
#include "exact.h"

static void zero_f32(tl_par p, void *out) { memset(out, 0, 4); }
static void zero_f64(tl_par p, void *out) { memset(out, 0, 8); }
static void nan_f32(tl_par p, void *out) { tl_statistic_nan(TALLY_F32, out); }
static void nan_f64(tl_par p, void *out) { tl_statistic_nan(TALLY_F64, out); }

/* The formulas. */
#define IS_SUM   TL_X, TL_ALONE, 0
#define IS_MEAN  TL_X, TL_OVER_COUNT, 0
#define IS_DOT   TL_XY, TL_ALONE, 0
#define IS_WMEAN TL_Y | TL_XY, TL_XY_OVER_Y, 0
#define IS_SUMSQ TL_XX, TL_ALONE, 0
#define IS_NORM  TL_XX, TL_ALONE, 1
#define IS_VAR   TL_X | TL_XX, TL_B_OVER, 0
#define IS_STD   TL_X | TL_XX, TL_B_OVER, 1
#define IS_COV   TL_X | TL_Y | TL_XY, TL_A_OVER, 0
#define IS_CORR  TL_X | TL_Y | TL_XX | TL_YY | TL_XY, TL_A_OVER_BC, 1
#define IS_SLOPE TL_X | TL_Y | TL_XX | TL_XY, TL_A_OVER_B, 0

#define BIT(needs, k) (((needs) >> (k)) & 1)
#define COUNT_OF(needs, quotient, root) \
    (BIT(needs, 0) + BIT(needs, 1) + BIT(needs, 2) + BIT(needs, 3) + BIT(needs, 4))
#define SEED_OF(needs, quotient, root) (((needs) == TL_X || (needs) == TL_XY) && !(quotient))
#define COUNT(...)                     COUNT_OF(__VA_ARGS__)
#define SEEDABLE(...)                  SEED_OF(__VA_ARGS__)

/* Which instances an operator has: of floats with the result f64, of floats below f64 with the
 * result f32, and of integers. */
enum { FLOATS = 1, NARROW = 2, INTEGERS = 4, ALL = FLOATS | NARROW | INTEGERS };

/* The instances of a row; where two have the same type, the default comes first. Columns: kind,
 * type, bytes of an element, result and its bytes, and whether elements are integers of 64 bits
 * (tl_exact_form.whole). */
#define EACH_INSTANCE(F, ...) \
    F(NARROW, F16, 2, f32, 4, 0, __VA_ARGS__) \
    F(NARROW, BF16, 2, f32, 4, 0, __VA_ARGS__) \
    F(NARROW, F32, 4, f32, 4, 0, __VA_ARGS__) \
    F(FLOATS, F64, 8, f64, 8, 0, __VA_ARGS__) \
    F(FLOATS, F16, 2, f64, 8, 0, __VA_ARGS__) \
    F(FLOATS, BF16, 2, f64, 8, 0, __VA_ARGS__) \
    F(FLOATS, F32, 4, f64, 8, 0, __VA_ARGS__) \
    F(INTEGERS, I8, 1, f64, 8, 0, __VA_ARGS__) \
    F(INTEGERS, U8, 1, f64, 8, 0, __VA_ARGS__) \
    F(INTEGERS, I16, 2, f64, 8, 0, __VA_ARGS__) \
    F(INTEGERS, U16, 2, f64, 8, 0, __VA_ARGS__) \
    F(INTEGERS, I32, 4, f64, 8, 0, __VA_ARGS__) \
    F(INTEGERS, U32, 4, f64, 8, 0, __VA_ARGS__) \
    F(INTEGERS, I64, 8, f64, 8, 1, __VA_ARGS__) \
    F(INTEGERS, U64, 8, f64, 8, 2, __VA_ARGS__)

enum { EACH = 15 };

/* Without a name if the operator does not have it. */
#define INSTANCE(kind, type, bytes, to, to_bytes, integer, row, masks, nothing, kinds, formula, \
                 number) \
    {{.file = (kinds)&kind ? row ":exact" : NULL, \
      .dtype = TALLY_##type, \
      .acc = to_bytes == 8 ? TALLY_F64 : TALLY_F32, \
      .out = to_bytes == 8 ? TALLY_F64 : TALLY_F32, \
      .lanes = 1, \
      .inputs = number, \
      .elem_bytes = bytes, \
      .result_bytes = to_bytes, \
      .exact = 1, \
      .masked = masks, \
      .seedable = SEEDABLE(IS_##formula), \
      .empty = nothing##_##to}, \
     {IS_##formula}, \
     COUNT(IS_##formula), \
     integer, \
     0, \
     NULL},

/* An operator and its nan form. */
#define ROWS(name, text, none, ...) \
    {name, \
     "the real " text ", rounded once", \
     none, \
     {EACH_INSTANCE(INSTANCE, name, 0, __VA_ARGS__)}}, \
    { \
        "nan" name, "the real " text " without NaN, rounded once", none, \
        { \
            EACH_INSTANCE(INSTANCE, "nan" name, 1, __VA_ARGS__) \
        } \
    }

static const struct {
    const char *name, *what, *none;
    tl_exact_form form[EACH];
} rows[] = {
    ROWS("sum", "sum", "0", zero, FLOATS | NARROW, SUM, 1),
    ROWS("mean", "mean", "NaN", nan, ALL, MEAN, 1),
    ROWS("dot", "sum of the real products x y", "0", zero, FLOATS | NARROW, DOT, 2),
    ROWS("wmean", "mean of x with weights y", "NaN", nan, ALL, WMEAN, 2),
    ROWS("sumsq", "sum of squares", "0", zero, FLOATS | INTEGERS, SUMSQ, 1),
    ROWS("norm", "root of the sum of squares", "0", zero, FLOATS | INTEGERS, NORM, 1),
    ROWS("var", "variance, divided by n - ddof", "NaN", nan, FLOATS | INTEGERS, VAR, 1),
    ROWS("std", "standard deviation, divided by n - ddof", "NaN", nan, FLOATS | INTEGERS, STD, 1),
    ROWS("cov", "covariance of x and y, divided by n - ddof", "NaN", nan, FLOATS | INTEGERS, COV,
         2),
    ROWS("corr", "correlation of x and y", "NaN", nan, FLOATS | INTEGERS, CORR, 2),
    ROWS("slope", "slope of y by x", "NaN", nan, FLOATS | INTEGERS, SLOPE, 2),
};

const tl_scalar *tl_exact_find(const char *name, size_t length, tally_dtype dtype, tally_dtype acc,
                               const char **what, const char **none)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].name) != length || memcmp(rows[i].name, name, length)) continue;
        if (what) *what = rows[i].what;
        if (none) *none = rows[i].none;
        for (int j = 0; j < EACH; j++) {
            const tl_scalar *s = &rows[i].form[j].scalar;
            if (s->file && s->dtype == dtype && (!acc || s->acc == acc)) return s;
        }
    }

    return NULL;
}

const tl_scalar *tl_exact_common(tally_dtype dtype, int inputs)
{
    return tl_exact_find(inputs == 2 ? "dot" : "sum", 3, dtype, TALLY_F64, NULL, NULL);
}
