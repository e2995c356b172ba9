/* SPDX-License-Identifier: MIT
 * What belongs to a context (context.h): the last error, suggestions for unknown names, and scratch
 * memory. And the names of the library: its version and its operators. */
#define _DEFAULT_SOURCE
#include "context.h"
#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

/* ---- the last error ---- */

static _Thread_local char thread_error[512];
_Static_assert(sizeof thread_error == sizeof((tally *)0)->error, "the same capacity");

tally_status tl_fail(tally *ctx, tally_status status, const char *format, ...)
{
    assert(status != TALLY_OK);
    va_list args;
    va_start(args, format);
    vsnprintf(ctx ? ctx->error : thread_error, sizeof thread_error, format, args);
    va_end(args);
    return status;
}

tally_status tl_no_context(void)
{
    return tl_invalid(NULL, "ctx is NULL: open one with tally_open");
}

tally_status tl_no_memory(tally *ctx, size_t bytes, const char *what)
{
    return tl_fail(ctx, TALLY_NO_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
}

void tl_free_at(const void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

tally_status tl_grow(tally *ctx, void *pointer, size_t bytes, const char *what)
{
    void *old, *more;
    memcpy(&old, pointer, sizeof old);
    if (!(more = realloc(old, bytes))) return tl_no_memory(ctx, bytes, what);
    memcpy(pointer, &more, sizeof more);
    return TALLY_OK;
}

const char *tally_error(const tally *ctx) { return ctx ? ctx->error : thread_error; }

const char *tally_status_name(tally_status status)
{
    static const char *const names[] = {"ok",        "invalid argument", "unsupported", "no memory",
                                        "no device", "input/output",     "bad data",    "mismatch"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}

/* ---- names ---- */

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
 * characters, in any case. */
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

            int best = d[i - 1][j - 1] +
                       (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
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
    /* one typing error in a word of up to 3 letters, more in a longer one */
    const int length = (int)strlen(given);
    int least = length < 4 ? 1 : 1 + length / 3;

    for (; *names; names++) {
        const int d = distance(given, *names);
        if (d <= least && (!best || d < least)) {
            least = d;
            best = *names;
        }
    }
    return best;
}

/* Names in other programs, and what tally calls them. */
typedef struct {
    const char *given, *meant;
} foreign;

static const foreign operators[] = {
    {"avg", "'mean'"},
    {"average", "'mean'"},
    {"median", "'mean' (there are no quantiles)"},
    {"quantile", "'min' or 'max' (there are no others)"},
    {"percentile", "'min' or 'max' (there are no others)"},
    {"stddev", "'std'"},
    {"stdev", "'std'"},
    {"variance", "'var'"},
    {"product", "'prod'"},
    {"minimum", "'min'"},
    {"maximum", "'max'"},
    {"total", "'sum'"},
    {"ptp", "'range'"},
    {"skewness", "'skew'"},
    {"kurtosis", "'kurt'"},
    {"min_by", "'atmin'"},
    {"max_by", "'atmax'"},
    {"cumsum", "a scan of 'sum'"},
    {"cumprod", "a scan of 'prod'"},
    {"ewm", "'ema'"},
    {NULL, NULL},
};

static const foreign dtypes[] = {
    {"float", "'f32' (float in C) or 'f64' (float in Python)"},
    {"int", "'i32' (int in C) or 'i64' (int in NumPy)"},
    {"double", "'f64'"},
    {"single", "'f32'"},
    {"half", "'f16'"},
    {"float16", "'f16'"},
    {"bfloat16", "'bf16'"},
    {"float32", "'f32'"},
    {"float64", "'f64'"},
    {"byte", "'u8'"},
    {"bool", "'u8'"},
    {"uint8", "'u8'"},
    {"uint16", "'u16'"},
    {"uint32", "'u32'"},
    {"uint64", "'u64'"},
    {"f2", "'f16' (names count bits)"},
    {"f4", "'f32' (names count bits)"},
    {"f8", "'f64' (names count bits)"},
    {"i1", "'i8' (names count bits)"},
    {"i2", "'i16' (names count bits)"},
    {"i4", "'i32' (names count bits)"},
    {"u1", "'u8' (names count bits)"},
    {"u2", "'u16' (names count bits)"},
    {"u4", "'u32' (names count bits)"},
    {NULL, NULL},
};

static const char *elsewhere(const foreign *names, const char *given)
{
    while (names->given && strcasecmp(names->given, given)) names++;
    return names->meant;
}

const char *tl_hint(const char *what, const char *given, const char *const *names, char to[TL_HINT])
{
    assert(what && given && names);
    const char *const meant = !strcmp(what, "operator") ? elsewhere(operators, given)
                              : !strcmp(what, "dtype")  ? elsewhere(dtypes, given)
                                                        : NULL;
    const char *const near = nearest(given, names);
    to[0] = '\0';
    if (meant)
        snprintf(to, TL_HINT, " did you mean %s?", meant);
    else if (near)
        snprintf(to, TL_HINT, " did you mean '%.60s'?", near);

    return to;
}

/* ---- scratch memory ---- */

typedef struct tl_scratch_block {
    void *at;
    size_t bytes;
} block;

int tl_scratch_begin(tally *ctx, int threads)
{
    assert(threads >= 1 && __atomic_load_n(&ctx->in_call, __ATOMIC_RELAXED));
    if (threads <= ctx->scratch_threads) return 1;
    block(*more)[TL_SCRATCH_SLOTS] = realloc(ctx->scratch, (size_t)threads * sizeof *more);
    if (!more) return 0;
    memset(more + ctx->scratch_threads, 0, (size_t)(threads - ctx->scratch_threads) * sizeof *more);
    ctx->scratch = *more;
    ctx->scratch_threads = threads;

    return 1;
}

void *tl_scratch(tally *ctx, int thread, int slot, size_t bytes)
{
    assert(thread >= 0 && thread < ctx->scratch_threads);
    assert(slot >= 0 && slot < TL_SCRATCH_SLOTS);
    block *b = &ctx->scratch[thread * TL_SCRATCH_SLOTS + slot];
    if (bytes > b->bytes) {
        free(b->at);
        b->bytes = (bytes + 4095) & ~(size_t)4095;
        b->at = aligned_alloc(64, b->bytes);
        if (!b->at) b->bytes = 0;
    }

    return b->at;
}

void tl_scratch_end(tally *ctx)
{
    for (int i = 0; i < ctx->scratch_threads * TL_SCRATCH_SLOTS; i++) free(ctx->scratch[i].at);
    free(ctx->scratch);
    ctx->scratch = NULL;
    ctx->scratch_threads = 0;
}

void tl_large_pages(void *memory, size_t bytes)
{
    const uintptr_t page = (uintptr_t)1 << 21, from = ((uintptr_t)memory + page - 1) & -page,
                    to = ((uintptr_t)memory + bytes) & -page;
    if (memory && from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
}
