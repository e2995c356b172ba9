/* SPDX-License-Identifier: MIT
 * The error sentence for a cell or a line that cannot be read. */
#include "io.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 400 };

static void range(char *out, tally_dtype dtype, const char *text)
{
    char least[24], greatest[24];
    int64_t low, high;

    tl_whole_range(dtype, &low, &high);
    const uint64_t top = dtype == TALLY_U64 ? UINT64_MAX : (uint64_t)high;
    tally_format_value(TALLY_I64, &low, 0, least, sizeof least);
    tally_format_value(TALLY_U64, &top, 0, greatest, sizeof greatest);
    snprintf(out, SENTENCE, "'%s' does not fit %s (%s..%s)", text, tally_dtype_name(dtype), least,
             greatest);
}

/* Suggests the option that would read the cell; "" if there is none. */
static const char *hint(const tl_bad *bad, const tl_layout *l)
{
    static const struct {
        char between;
        const char *text;
    } hints[] = {{',', "; --thousands , reads such numbers"},
                 {'\'', "; --thousands \"'\" reads such numbers"},
                 {'_', "; --thousands _ reads such numbers"},
                 {' ', "; --thousands ' ' reads such numbers"}};
    const char between = tl_grouped(bad->text, bad->text + strlen(bad->text));
    for (size_t i = 0; i < sizeof hints / sizeof *hints && between; i++)
        if (hints[i].between == between && between != l->thousands) return hints[i].text;
    return *bad->text == '#' && l->comment < 0 ? "; --comment '#' skips lines that begin with #"
                                               : "";
}

static const char say_header[] = "; if the first line is a header, say so with --header yes";

/* A time that cannot be compared with an earlier one. */
static void other_frame(char *out, const tl_bad *bad)
{
    const char *const text = bad->text, *const other = bad->other;
    snprintf(out, SENTENCE, "the time '%s' cannot be compared with that of line %lld, which %s%s%s",
             text, (long long)bad->other_line,
             strcmp(other, "a number") == 0  ? "is "
             : strcmp(other, "no zone") == 0 ? "has "
                                             : "has the zone ",
             other,
             strchr("Z+-", *other) && strlen(text) > 8 && strpbrk(text + 8, "zZ+-")
                 ? "; --utc takes times of several zones as UTC"
                 : "");
}

/* The sentence for a time. In the table: 1 the cell, 2 what it conflicts with, 3 a hint. */
static void bad_time(char *out, const tl_bad *bad, const tl_layout *l)
{
    static const char *const sentences[] = {
        "'%1$s' is neither a time (2024-05-01T13:30:00.5Z) nor a number%3$s",
        "the time '%1$s' is not in 1677-09-21T00:12:44Z .. 2262-04-11T23:47:16Z, where nanoseconds "
        "fit 64 bits",
        "the time '%1$s' has more than nine digits after the second",
        "the number '%1$s' is a time, and must be in -2^63 .. 2^64 - 1",
        "the number '%1$s' is a time, and must have at most 18 digits after the point",
        [TL_CELL_FALLS - TL_CELL_TIME] =
            "the time '%1$s' is before %2$s, the last one%3$s above: times must not fall",
        "the time '%1$s' does not go with %2$s above: times must all be in -2^63 .. 2^63 - 1, or "
        "all in 0 .. 2^64 - 1"};
    const char *const ask = bad->first ? say_header : "", *const group =
                                                              l->keys ? " of its group" : "";

    if (bad->why == TL_CELL_FRAME)
        other_frame(out, bad);
    else if (bad->why == TL_CELL_TIME && !*bad->text)
        snprintf(out, SENTENCE, "empty cell: the line has no time");
    else
        snprintf(out, SENTENCE, sentences[bad->why - TL_CELL_TIME], bad->text, bad->other,
                 bad->why == TL_CELL_TIME ? ask : group);
}

/* The sentence for a number, or for the line. */
static void bad_number(char *out, const tl_bad *bad, tally_dtype type, const tl_layout *l)
{
    const char *const dtype = tally_dtype_name(type), *const text = bad->text;
    switch (bad->why) {
    case TL_CELL_EMPTY:
        if (*text)
            snprintf(out, SENTENCE, "'%s' stands for no value, and %s has none", text, dtype);
        else
            snprintf(out, SENTENCE, "empty cell: %s has no value for it", dtype);
        return;
    case TL_CELL_WHOLE:
        snprintf(out, SENTENCE, "'%s' is not a whole number, as %s needs", text, dtype);
        return;
    case TL_CELL_WIDTH:
        snprintf(out, SENTENCE, "'%s' has not the %zu hexadecimal digits of %s", text,
                 2 * tally_dtype_size(type), dtype);
        return;
    case TL_CELL_FIELDS:
        snprintf(out, SENTENCE, "the line '%s' has no column %lld%s", text,
                 (long long)bad->lacks + 1, hint(bad, l));
        return;
    case TL_CELL_MORE:
        snprintf(out, SENTENCE,
                 "the line '%s' has more than %lld columns, which the lines before it have", text,
                 (long long)l->fields);
        return;
    case TL_CELL_QUOTE:
        snprintf(out, SENTENCE, "a quoted cell is not closed");
        return;
    case TL_CELL_LONG:
        snprintf(out, SENTENCE, "a %s of more than %d bytes", l->columns ? "line" : "cell",
                 TL_LONGEST);
        return;
    case TL_CELL_RANGE:
        range(out, type, text);
        return;
    default:
        snprintf(out, SENTENCE, "'%s' is not a number%s%s", text, hint(bad, l),
                 bad->first ? say_header : "");
    }
}

tally_status tl_bad_cell(tally_file *f, const tl_bad *bad, const tl_layout *l)
{
    char sentence[SENTENCE];
    if (bad->why >= TL_CELL_TIME)
        bad_time(sentence, bad, l);
    else
        bad_number(sentence, bad, f->info.dtype, l);
    return tl_bad_data(f->ctx, "%s:%lld:%lld: %s", f->label, (long long)bad->line,
                       (long long)bad->col, sentence);
}
