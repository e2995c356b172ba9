/* SPDX-License-Identifier: MIT
 * libFuzzer: any bytes as --last, --next and a column of times or numbers. First a byte of
 * options, then lines: --last, --next, and a key on each. What the command line takes becomes a
 * window, whose bounds are those of integers of 128 bits; what a time is shown as, is the same
 * time again. */
#include "../cli/span.c"
#include "dtype/number.h"
#include "io/io.h"
#undef NDEBUG
#include <assert.h>
#include <stdarg.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEYS = 64, TEXT = 128 };
static char message[1000];

/* What span.c calls of the command line. */
const option_row option_table[OPT_COUNT] = {[OPT_last] = {.name = "last"},
                                            [OPT_next] = {.name = "next"},
                                            [OPT_center] = {.name = "center"}};
int usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return USAGE;
}
int code_of(const tally *ctx, tally_status status) { return (void)ctx, (int)status; }
void *memory_for(int *code, const char *what, int64_t count, size_t size)
{
    void *const memory = *code ? NULL : calloc((size_t)count + 1, size);
    (void)what;
    if (!memory && !*code) *code = BAD_DATA;
    return memory;
}

/* The next line of the input, as text. */
static const char *line(const uint8_t **data, const uint8_t *end, char *text)
{
    size_t n = 0;
    for (; *data < end && **data != '\n'; ++*data)
        if (n + 1 < TEXT && **data) text[n++] = (char)**data;
    if (*data < end) ++*data;
    text[n] = 0;
    return n ? text : NULL;
}

/* Shown and read again, a time is the same. */
static void shown(const tl_time *t)
{
    char text[64];
    tl_time again;
    tl_time_show(t->frame, t->value, text, sizeof text);
    const int why = tl_time_parse(text, text + strlen(text), &again);
    assert(why == TL_CELL_OK && again.frame == t->frame && again.value == t->value);
}

static int by_value(const void *a, const void *b)
{
    const __int128 x = *(const __int128 *)a, y = *(const __int128 *)b;
    return (x > y) - (x < y);
}

/* Each row's window beside a look at every key. */
static void bounds(const tally_key_window *w, const __int128 *keys, const tally_view *view)
{
    const int64_t n = view->n;
    int64_t start[KEYS], end[KEYS], hole = n;
    static tally *ctx;
    if (!ctx) assert(tally_open(&ctx, "cpu,threads=1") == TALLY_OK);
    const tally_status status = tally_window_bounds(ctx, view, w, start, end);
    const __int128 low = (__int128)w->low * TALLY_KEY_PART + w->low_part,
                   high = (__int128)w->high * TALLY_KEY_PART + w->high_part;
    for (int64_t i = 0; i < n; i++) {
        int64_t first = 0, stop = 0, count = 0;
        for (int64_t j = 0; j < n; j++) {
            const __int128 d = keys[j] - keys[i];
            if (d < low || d > high || (d == low && w->low_open) || (d == high && w->high_open))
                continue;
            if (w->ties == TALLY_TIES_ROW && j > i && d == 0) continue;
            if (!count++) first = j;
            stop = j + 1;
        }
        if (stop - first != count && hole == n) hole = i;
        if (!status && count) assert(start[i] == first && end[i] == stop);
        if (!status && !count) assert(start[i] == end[i] && start[i] >= 0 && end[i] <= n);
    }
    assert((hole == n) == (status == TALLY_OK));
}

static void window(const span *s, __int128 *keys, int64_t n, int falls)
{
    int64_t whole[KEYS], parts[KEYS];
    tally_key_window w;
    const int is_u64 = n && keys[n - 1] / TALLY_KEY_PART > INT64_MAX;
    if (n && is_u64 && keys[0] < 0) return;
    if (span_window(s, is_u64 ? TALLY_U64 : TALLY_I64, falls, &w)) return;
    for (int64_t i = 0; falls && i < n / 2; i++) {
        const __int128 k = keys[i];
        keys[i] = keys[n - 1 - i];
        keys[n - 1 - i] = k;
    }
    for (int64_t i = 0; i < n; i++) {
        __int128 all;
        tl_decimal_split(keys[i], &all, &parts[i]);
        whole[i] = (int64_t)(uint64_t)all;
    }
    w.parts = parts;
    const tally_view view = tally_flat(whole, is_u64 ? TALLY_U64 : TALLY_I64, n);
    bounds(&w, keys, &view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const closed[] = {"right", "left", "both", "neither"};
    static char last[TEXT], next[TEXT], cell[TEXT];
    __int128 keys[KEYS];
    int64_t n = 0;
    options o = {.value = {[OPT_by] = "t"}};
    span s;
    if (size < 2 || size > 1 << 14) return 0;
    const uint8_t *at = data + 1, *const end = data + size;
    const int how = *data;
    o.value[OPT_closed] = closed[how & 3];
    if (how & 4) o.value[OPT_ties] = how & 8 ? "row" : "all";
    if (how & 16) o.value[OPT_center] = "";
    o.value[OPT_last] = line(&at, end, last);
    o.value[OPT_next] = line(&at, end, next);
    while (at < end && n < KEYS) {
        tl_time t;
        if (!line(&at, end, cell) || tl_time_parse(cell, cell + strlen(cell), &t)) continue;
        shown(&t);
        keys[n++] = tl_time_kind(t.frame) == 1 ? t.value : t.value * TALLY_KEY_PART;
    }
    message[0] = 0;
    const int code = span_options(&o, &s);
    assert(code == DONE ? message[0] == 0 : code == USAGE && message[0]);
    if (code || !s.on) return 0;
    tally_key_window w;
    if (span_window(&s, TALLY_F64, how >> 5 & 1, &w) == DONE)
        assert(isfinite(w.low_real) && isfinite(w.high_real) && w.low_real <= w.high_real);
    qsort(keys, (size_t)n, sizeof *keys, by_value);
    window(&s, keys, n, how >> 5 & 1);
    return 0;
}
