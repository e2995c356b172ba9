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

#define INSTANCE(name, nothing, masks, divides, number, dt, bytes, to, to_bytes)                   \
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
      .seedable = !(divides),                                                                      \
      .empty = nothing##_##to},                                                                    \
     divides,                                                                                      \
     0},
#define INSTANCES(name, nothing, masks, divides, number)                                           \
    INSTANCE(name, nothing, masks, divides, number, TALLY_F16, 2, f32, 4)                          \
    INSTANCE(name, nothing, masks, divides, number, TALLY_BF16, 2, f32, 4)                         \
    INSTANCE(name, nothing, masks, divides, number, TALLY_F32, 4, f32, 4)                          \
    INSTANCE(name, nothing, masks, divides, number, TALLY_F64, 8, f64, 8)                          \
    INSTANCE(name, nothing, masks, divides, number, TALLY_F16, 2, f64, 8)                          \
    INSTANCE(name, nothing, masks, divides, number, TALLY_BF16, 2, f64, 8)                         \
    INSTANCE(name, nothing, masks, divides, number, TALLY_F32, 4, f64, 8)

enum { EACH = 7 };

static const struct {
    const char *name, *what, *none;
    tl_exact_form form[EACH];
} rows[] = {
    {"sum", "the real sum, rounded once", "0", {INSTANCES("sum", zero, 0, 0, 1)}},
    {"mean", "the real mean, rounded once", "NaN", {INSTANCES("mean", nan, 0, 1, 1)}},
    {"nansum",
     "the real sum of the elements that are not NaN, rounded once",
     "0",
     {INSTANCES("nansum", zero, 1, 0, 1)}},
    {"nanmean",
     "the real mean of the elements that are not NaN, rounded once",
     "NaN",
     {INSTANCES("nanmean", nan, 1, 1, 1)}},
    {"dot",
     "the real sum of the real products x y, rounded once",
     "0",
     {INSTANCES("dot", zero, 0, 0, 2)}},
    {"nandot",
     "the real sum of the real products x y of which neither is NaN, rounded once",
     "0",
     {INSTANCES("nandot", zero, 1, 0, 2)}},
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
            if (s->dtype == dtype && (!acc || s->acc == acc)) return s;
        }
    }
    return NULL;
}

const tl_scalar *tl_exact_common(const tl_scalar *op)
{
    return tl_exact_find(op->inputs == 2 ? "dot" : "sum", 3, op->dtype, TALLY_F64, NULL, NULL);
}
