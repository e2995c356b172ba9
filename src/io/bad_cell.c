/* SPDX-License-Identifier: MIT
 * The error sentence for a cell or a line that cannot be read. */
#include "io.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

static tally_status range(tally_file *f, const char *at, const tl_bad *bad)
{
    const tally_dtype dtype = f->info.dtype;
    char least[24], greatest[24];
    int64_t low, high;

    tl_whole_range(dtype, &low, &high);
    const uint64_t top = dtype == TALLY_U64 ? UINT64_MAX : (uint64_t)high;
    tally_format_value(TALLY_I64, &low, 0, least, sizeof least);
    tally_format_value(TALLY_U64, &top, 0, greatest, sizeof greatest);
    return tl_fail(f->ctx, TALLY_BAD_DATA, "%s%s: '%s' does not fit %s (%s..%s)", f->label, at,
                   bad->text, tally_dtype_name(dtype), least, greatest);
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

/* The sentence for a time. */
static tally_status bad_time(tally_file *f, const char *at, const tl_bad *bad, const tl_layout *l)
{
    const char *const text = bad->text;
    switch (bad->why) {
    case TL_CELL_TIME:
        if (!*text)
            return tl_fail(f->ctx, TALLY_BAD_DATA, "%s%s: empty cell: the line has no time",
                           f->label, at);
        return tl_fail(
            f->ctx, TALLY_BAD_DATA,
            "%s%s: '%s' is neither a time (2024-05-01T13:30:00.5Z) nor a number%s", f->label, at,
            text, bad->first ? "; if the first line is a header, say so with --header yes" : "");
    case TL_CELL_ERA:
        return tl_fail(f->ctx, TALLY_BAD_DATA,
                       "%s%s: the time '%s' is not in 1677-09-21T00:12:44Z .. "
                       "2262-04-11T23:47:16Z, where nanoseconds "
                       "fit 64 bits",
                       f->label, at, text);
    case TL_CELL_NANOS:
        return tl_fail(f->ctx, TALLY_BAD_DATA,
                       "%s%s: the time '%s' has more than nine digits after the second", f->label,
                       at, text);
    case TL_CELL_LARGE:
        return tl_fail(f->ctx, TALLY_BAD_DATA,
                       "%s%s: the number '%s' is a time, and must be in -2^63 .. 2^64 - 1",
                       f->label, at, text);
    case TL_CELL_DIGITS:
        return tl_fail(f->ctx, TALLY_BAD_DATA,
                       "%s%s: the number '%s' is a time, and must have at most 18 digits after the "
                       "point",
                       f->label, at, text);
    case TL_CELL_SIGN:
        return tl_fail(f->ctx, TALLY_BAD_DATA,
                       "%s%s: the time '%s' does not go with %s above: times must all be in "
                       "-2^63 .. 2^63 - 1, or all in 0 .. 2^64 - 1",
                       f->label, at, text, bad->other);
    case TL_CELL_FRAME:
        return tl_fail(
            f->ctx, TALLY_BAD_DATA,
            "%s%s: the time '%s' cannot be compared with that of line %lld, which %s%s%s", f->label,
            at, text, (long long)bad->other_line,
            strcmp(bad->other, "a number") == 0  ? "is "
            : strcmp(bad->other, "no zone") == 0 ? "has "
                                                 : "has the zone ",
            bad->other,
            strchr("Z+-", *bad->other) && strlen(text) > 8 && strpbrk(text + 8, "zZ+-")
                ? "; --utc takes times of several zones as UTC"
                : "");
    default:
        assert(bad->why == TL_CELL_FALLS);
        return tl_fail(
            f->ctx, TALLY_BAD_DATA,
            "%s%s: the time '%s' is before %s, the last one%s above: times must not fall", f->label,
            at, text, bad->other, l->keys ? " of its group" : "");
    }
}

tally_status tl_bad_cell(tally_file *f, const tl_bad *bad, const tl_layout *l)
{
    const char *const dtype = tally_dtype_name(f->info.dtype), *const text = bad->text;
    char at[64];

    snprintf(at, sizeof at, ":%lld:%lld", (long long)bad->line, (long long)bad->col);
    switch (bad->why) {
    case TL_CELL_EMPTY:
        if (*text)
            return tl_fail(f->ctx, TALLY_BAD_DATA,
                           "%s%s: '%s' stands for no value, and %s has none", f->label, at, text,
                           dtype);
        return tl_fail(f->ctx, TALLY_BAD_DATA, "%s%s: empty cell: %s has no value for it", f->label,
                       at, dtype);
    case TL_CELL_WHOLE:
        return tl_fail(f->ctx, TALLY_BAD_DATA, "%s%s: '%s' is not a whole number, as %s needs",
                       f->label, at, text, dtype);
    case TL_CELL_WIDTH:
        return tl_fail(f->ctx, TALLY_BAD_DATA,
                       "%s%s: '%s' has not the %zu hexadecimal digits of %s", f->label, at, text,
                       2 * tally_dtype_size(f->info.dtype), dtype);
    case TL_CELL_FIELDS:
        return tl_fail(f->ctx, TALLY_BAD_DATA, "%s%s: the line '%s' has no column %lld%s", f->label,
                       at, text, (long long)bad->lacks + 1, hint(bad, l));
    case TL_CELL_MORE:
        return tl_fail(
            f->ctx, TALLY_BAD_DATA,
            "%s%s: the line '%s' has more than %lld columns, which the lines before it have",
            f->label, at, text, (long long)l->fields);
    case TL_CELL_QUOTE:
        return tl_fail(f->ctx, TALLY_BAD_DATA, "%s%s: a quoted cell is not closed", f->label, at);
    case TL_CELL_LONG:
        return tl_fail(f->ctx, TALLY_BAD_DATA, "%s%s: a %s of more than %d bytes", f->label, at,
                       l->columns ? "line" : "cell", TL_LONGEST);
    case TL_CELL_RANGE:
        return range(f, at, bad);
    case TL_CELL_TIME:
    case TL_CELL_ERA:
    case TL_CELL_NANOS:
    case TL_CELL_LARGE:
    case TL_CELL_DIGITS:
    case TL_CELL_SIGN:
    case TL_CELL_FRAME:
    case TL_CELL_FALLS:
        return bad_time(f, at, bad, l);
    default:
        return tl_fail(f->ctx, TALLY_BAD_DATA, "%s%s: '%s' is not a number%s%s", f->label, at, text,
                       hint(bad, l),
                       bad->first ? "; if the first line is a header, say so with --header yes"
                                  : "");
    }
}
