/* SPDX-License-Identifier: MIT
 * The library's version, the names of its operators, and suggestions for unknown names. */
#include "hint.h"
#include "tally.h"
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define VERSION_TEXT_(a, b, c) #a "." #b "." #c
#define VERSION_TEXT(a, b, c)  VERSION_TEXT_(a, b, c)

const char *tally_version(void)
{
    return VERSION_TEXT(TALLY_VERSION_MAJOR, TALLY_VERSION_MINOR, TALLY_VERSION_PATCH);
}

const char *const *tally_operators(void)
{
    static const char *const names[] = {
#define OPERATOR_ALSO(...)
#define OPERATOR(name, ...) #name,
#include "op/ops.def"
#undef OPERATOR
#define OPERATOR(name, file, kinds, out, acc, nan, ...) NAME_##nan(name)
#define NAME_YES(name)                                  "nan" #name,
#define NAME_NO(name)
#include "op/ops.def"
#undef OPERATOR
#undef OPERATOR_ALSO
        NULL};
    return names;
}

/* ---- hints ---- */

/* Edit distance, with swaps of neighbours (optimal string alignment), of names of at most 31
 * characters. */
static int distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    const int n = (int)strlen(a), m = (int)strlen(b);
    if (n >= MOST || m >= MOST) return MOST;

    int d[MOST][MOST];
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            if (!i || !j) {
                d[i][j] = i + j;
                continue;
            }

            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }

    return d[n][m];
}

static const char *nearest(const char *given, const char *const *names)
{
    const char *best = NULL;
    /* one typing error in a short word, more in a long one */
    int least = 1 + (int)strlen(given) / 3;

    for (; *names; names++) {
        const int d = distance(given, *names);
        if (d <= least && (!best || d < least)) {
            least = d;
            best = *names;
        }
    }

    return best;
}

/* The tally name of what another program calls `given`; NULL: none. */
static const char *elsewhere(const char *what, const char *given)
{
    static const struct {
        const char *what, *given, *meant;
    } words[] = {
        {"operator", "avg", "'mean'"},
        {"operator", "average", "'mean'"},
        {"operator", "stddev", "'std'"},
        {"operator", "stdev", "'std'"},
        {"operator", "variance", "'var'"},
        {"operator", "product", "'prod'"},
        {"operator", "minimum", "'min'"},
        {"operator", "maximum", "'max'"},
        {"operator", "total", "'sum'"},
        {"operator", "ptp", "'range'"},
        {"operator", "skewness", "'skew'"},
        {"operator", "kurtosis", "'kurt'"},
        {"operator", "min_by", "'atmin'"},
        {"operator", "max_by", "'atmax'"},
        {"operator", "cumsum", "a scan of 'sum'"},
        {"operator", "cumprod", "a scan of 'prod'"},
        {"operator", "ewm", "'ema'"},
        {"dtype", "float", "'f32' (float in C) or 'f64' (float in Python)"},
        {"dtype", "int", "'i32' (int in C) or 'i64' (int in NumPy)"},
        {"dtype", "double", "'f64'"},
        {"dtype", "single", "'f32'"},
        {"dtype", "half", "'f16'"},
        {"dtype", "float16", "'f16'"},
        {"dtype", "bfloat16", "'bf16'"},
        {"dtype", "float32", "'f32'"},
        {"dtype", "float64", "'f64'"},
        {"dtype", "byte", "'u8'"},
        {"dtype", "bool", "'u8'"},
        {"dtype", "int8", "'i8'"},
        {"dtype", "int16", "'i16'"},
        {"dtype", "int32", "'i32'"},
        {"dtype", "int64", "'i64'"},
        {"dtype", "uint8", "'u8'"},
        {"dtype", "uint16", "'u16'"},
        {"dtype", "uint32", "'u32'"},
        {"dtype", "uint64", "'u64'"},
        {"dtype", "f2", "'f16' (names count bits)"},
        {"dtype", "f4", "'f32' (names count bits)"},
        {"dtype", "f8", "'f64' (names count bits)"},
        {"dtype", "i1", "'i8' (names count bits)"},
        {"dtype", "i2", "'i16' (names count bits)"},
        {"dtype", "i4", "'i32' (names count bits)"},
        {"dtype", "u1", "'u8' (names count bits)"},
        {"dtype", "u2", "'u16' (names count bits)"},
        {"dtype", "u4", "'u32' (names count bits)"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].what, what) && !strcasecmp(words[i].given, given))
            return words[i].meant;

    return NULL;
}

const char *tl_hint(const char *what, const char *given, const char *const *names, char to[TL_HINT])
{
    assert(what && given && names);
    const char *const meant = elsewhere(what, given), *const near = nearest(given, names);
    to[0] = '\0';
    if (meant)
        snprintf(to, TL_HINT, " did you mean %s?", meant);
    else if (near)
        snprintf(to, TL_HINT, " did you mean '%.60s'?", near);
    return to;
}
