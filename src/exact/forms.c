/* SPDX-License-Identifier: MIT
 * The exact operators as rows: an instance for each element type and result type. */
#include "exact.h"

static void zero_f32(tl_par p, void *out) { memset(out, 0, 4); }
static void zero_f64(tl_par p, void *out) { memset(out, 0, 8); }
static void nan_f32(tl_par p, void *out)
{
    const uint32_t bits = 0x7fc00000;
    memcpy(out, &bits, sizeof bits);
}

static void nan_f64(tl_par p, void *out)
{
    const uint64_t bits = 0x7ff8000000000000u;
    memcpy(out, &bits, sizeof bits);
}

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
#define COUNT_OF(needs, quotient, root)                                                            \
    (BIT(needs, 0) + BIT(needs, 1) + BIT(needs, 2) + BIT(needs, 3) + BIT(needs, 4))
#define SEED_OF(needs, quotient, root) (((needs) == TL_X || (needs) == TL_XY) && !(quotient))
#define COUNT(...)                     COUNT_OF(__VA_ARGS__)
#define SEEDABLE(...)                  SEED_OF(__VA_ARGS__)

#define INSTANCE(name, nothing, masks, formula, number, dt, bytes, to, to_bytes, integer)          \
    {{.file = name ":exact",                                                                       \
      .dtype = dt,                                                                                 \
      .acc = to_bytes == 8 ? TALLY_F64 : TALLY_F32,                                                \
      .out = to_bytes == 8 ? TALLY_F64 : TALLY_F32,                                                \
      .lanes = 1,                                                                                  \
      .inputs = number,                                                                            \
      .elem_bytes = bytes,                                                                         \
      .result_bytes = to_bytes,                                                                    \
      .exact = 1,                                                                                  \
      .masked = masks,                                                                             \
      .seedable = SEEDABLE(IS_##formula),                                                          \
      .empty = nothing##_##to},                                                                    \
     {IS_##formula},                                                                               \
     COUNT(IS_##formula),                                                                          \
     integer,                                                                                      \
     0,                                                                                            \
     NULL},
#define NARROW(name, nothing, masks, formula, number)                                              \
    INSTANCE(name, nothing, masks, formula, number, TALLY_F16, 2, f32, 4, 0)                       \
    INSTANCE(name, nothing, masks, formula, number, TALLY_BF16, 2, f32, 4, 0)                      \
    INSTANCE(name, nothing, masks, formula, number, TALLY_F32, 4, f32, 4, 0)
#define FLOATS(name, nothing, masks, formula, number)                                              \
    INSTANCE(name, nothing, masks, formula, number, TALLY_F64, 8, f64, 8, 0)                       \
    INSTANCE(name, nothing, masks, formula, number, TALLY_F16, 2, f64, 8, 0)                       \
    INSTANCE(name, nothing, masks, formula, number, TALLY_BF16, 2, f64, 8, 0)                      \
    INSTANCE(name, nothing, masks, formula, number, TALLY_F32, 4, f64, 8, 0)
#define INTEGERS(name, nothing, masks, formula, number)                                            \
    INSTANCE(name, nothing, masks, formula, number, TALLY_I8, 1, f64, 8, 0)                        \
    INSTANCE(name, nothing, masks, formula, number, TALLY_U8, 1, f64, 8, 0)                        \
    INSTANCE(name, nothing, masks, formula, number, TALLY_I16, 2, f64, 8, 0)                       \
    INSTANCE(name, nothing, masks, formula, number, TALLY_U16, 2, f64, 8, 0)                       \
    INSTANCE(name, nothing, masks, formula, number, TALLY_I32, 4, f64, 8, 0)                       \
    INSTANCE(name, nothing, masks, formula, number, TALLY_U32, 4, f64, 8, 0)                       \
    INSTANCE(name, nothing, masks, formula, number, TALLY_I64, 8, f64, 8, 1)                       \
    INSTANCE(name, nothing, masks, formula, number, TALLY_U64, 8, f64, 8, 2)

enum { EACH = 15 };

/* A nan form, and the operator itself. */
#define SUMS(name, nothing, formula, number, text, none)                                           \
    {name,                                                                                         \
     "the real " text ", rounded once",                                                            \
     none,                                                                                         \
     {NARROW(name, nothing, 0, formula, number) FLOATS(name, nothing, 0, formula, number)}},       \
    {                                                                                              \
        "nan" name, "the real " text " without NaN, rounded once", none,                           \
        {                                                                                          \
            NARROW("nan" name, nothing, 1, formula, number)                                        \
            FLOATS("nan" name, nothing, 1, formula, number)                                        \
        }                                                                                          \
    }
#define STATISTIC(name, nothing, formula, number, narrow, text, none)                              \
    {name,                                                                                         \
     "the real " text ", rounded once",                                                            \
     none,                                                                                         \
     {narrow(name, nothing, 0, formula, number) FLOATS(name, nothing, 0, formula, number)          \
          INTEGERS(name, nothing, 0, formula, number)}},                                           \
    {                                                                                              \
        "nan" name, "the real " text " without NaN, rounded once", none,                           \
        {                                                                                          \
            narrow("nan" name, nothing, 1, formula, number)                                        \
                FLOATS("nan" name, nothing, 1, formula, number)                                    \
                    INTEGERS("nan" name, nothing, 1, formula, number)                              \
        }                                                                                          \
    }
#define NO_NARROW(...)

static const struct {
    const char *name, *what, *none;
    tl_exact_form form[EACH];
} rows[] = {
    SUMS("sum", zero, SUM, 1, "sum", "0"),
    STATISTIC("mean", nan, MEAN, 1, NARROW, "mean", "NaN"),
    SUMS("dot", zero, DOT, 2, "sum of the real products x y", "0"),
    STATISTIC("wmean", nan, WMEAN, 2, NARROW, "mean of x with weights y", "NaN"),
    STATISTIC("sumsq", zero, SUMSQ, 1, NO_NARROW, "sum of squares", "0"),
    STATISTIC("norm", zero, NORM, 1, NO_NARROW, "root of the sum of squares", "0"),
    STATISTIC("var", nan, VAR, 1, NO_NARROW, "variance, divided by n - ddof", "NaN"),
    STATISTIC("std", nan, STD, 1, NO_NARROW, "standard deviation, divided by n - ddof", "NaN"),
    STATISTIC("cov", nan, COV, 2, NO_NARROW, "covariance of x and y, divided by n - ddof", "NaN"),
    STATISTIC("corr", nan, CORR, 2, NO_NARROW, "correlation of x and y", "NaN"),
    STATISTIC("slope", nan, SLOPE, 2, NO_NARROW, "slope of y by x", "NaN"),
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
