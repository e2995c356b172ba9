/* SPDX-License-Identifier: MIT
 * error.c - one sentence on standard error and an exit code; suggestions; the end of standard
 * output. */
#define _GNU_SOURCE
#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* One line, whatever is in the names that the sentence has. */
static void say(const char *format, va_list args)
{
    char *sentence = NULL;
    fflush(stdout); /* what was printed before it comes before it */
    fputs("tally: ", stderr);
    if (vasprintf(&sentence, format, args) < 0) sentence = NULL;
    put_plain(stderr, sentence ? sentence : "no memory for the sentence that belongs here");
    fputc('\n', stderr);
    free(sentence);
}

int fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return code;
}

void note(const options *o, const char *format, ...)
{
    va_list args;
    if (has(o, OPT_quiet)) return;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

int fail_status(const tally *ctx, tally_status status)
{
    static const struct {
        tally_status status;
        int code;
    } codes[] = {{TALLY_INVALID, USAGE},
                 {TALLY_UNSUPPORTED, USAGE},
                 {TALLY_NO_DEVICE, NO_DEVICE},
                 {TALLY_MISMATCH, VERIFY_FAILED},
                 {TALLY_OK, DONE}};
    int code = BAD_DATA;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].status == status) code = codes[i].code;
    const char *sentence = tally_error(ctx);
    return fail(code, "%s", *sentence ? sentence : tally_status_name(status));
}

int fail_memory(const char *what, int64_t bytes)
{
    return fail(BAD_DATA, "%s needs %lld bytes of memory, which could not be had", what,
                (long long)bytes);
}

/* Edit distance with swaps of neighbours (optimal string alignment), of names of at most 31
   characters. */
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

const char *nearest(const char *given, const char *const *names)
{
    const char *best = NULL;
    int least = 1 + (int)strlen(given) / 3; /* one slip in a short word, more in a long one */
    for (; *names; names++) {
        const int d = distance(given, *names);
        if (d <= least && (!best || d < least)) {
            least = d;
            best = *names;
        }
    }
    return best;
}

/* What other programs call it. */
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
        {"operator", "cumsum", "`tally scan sum`"},
        {"operator", "cumprod", "`tally scan prod`"},
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

int fail_choice(int code, const char *what, const char *given, const char *const *names)
{
    char list[1024];
    size_t at = 0;
    list[0] = '\0';
    for (int i = 0; names[i] && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", names[i]);
    const char *const meant = elsewhere(what, given), *const near = nearest(given, names);
    if (meant)
        return fail(code, "there is no %s '%s'; did you mean %s? choices: %s", what, given, meant,
                    list);
    if (near)
        return fail(code, "there is no %s '%s'; did you mean '%s'? choices: %s", what, given, near,
                    list);
    return fail(code, "there is no %s '%s'; choices: %s", what, given, list);
}

int stdout_closed(void)
{
    struct pollfd p = {1, POLLOUT, 0};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP));
}

int stdout_finish(int code)
{
    errno = 0;
    const int failed = fflush(stdout) != 0 || ferror(stdout);
    const int why = errno;
    if (!failed || code) return code;
    if (why == EPIPE || stdout_closed()) return CLOSED_PIPE;
    return fail(BAD_DATA, "standard output: %s", why ? strerror(why) : "a write failed");
}
