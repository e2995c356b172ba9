/* SPDX-License-Identifier: MIT
 * The error sentences of what cannot be read: files of other formats, which their first bytes show,
 * and cells and lines. A sentence suggests what to do. */
#include "io.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- files of other formats ---- */

static const char decompress[] = "decompress it first",
                  in_python[] = "read it by `python -m tally`",
                  convert[] = "write its columns as CSV, or an array as .npy, first",
                  to_utf8[] = "tally reads UTF-8: iconv -f UTF-16 -t UTF-8 FILE",
                  to_utf8_32[] = "tally reads UTF-8: iconv -f UTF-32 -t UTF-8 FILE";

static const struct {
    const char *magic;
    size_t length;
    const char *what, *todo;
} table[] = {
    {"\x1f\x8b\x08", 3, "compressed by gzip twice", decompress},
    {"\x28\xb5\x2f\xfd", 4, "compressed by zstd twice", decompress},
    {"\xfd\x37zXZ\0", 6, "compressed by xz", "decompress it first: xz -dc FILE | tally ..."},
    {"BZh91AY&SY", 10, "compressed by bzip2", "decompress it first: bzip2 -dc FILE | tally ..."},
    {"\x04\x22\x4d\x18", 4, "compressed by lz4", decompress},
    {"\x1f\x9d\x90", 3, "compressed by compress", decompress},
    {"7z\xbc\xaf\x27\x1c", 6, "a 7z archive", decompress},
    {"PK\3\4", 4, "a zip archive, as .npz and .xlsx files are",
     "take one file out of it: unzip -p FILE NAME.npy | tally ..."},
    {"PK\5\6", 4, "an empty zip archive", "there is nothing in it"},
    {"PAR1\x15", 5, "a Parquet file", in_python},
    {"ARROW1\0\0", 8, "an Arrow (Feather) file", in_python},
    {"FEA1\0\0\0\0", 8, "a Feather file", convert},
    {"Obj\1", 4, "an Avro file", convert},
    {"SQLite format 3\0", 16, "an SQLite database", convert},
    {"MATLAB 5.0 MAT-file", 19, "a MATLAB file", convert},
    {"\x80\4\x95", 3, "a Python pickle", convert},
    {"%PDF-", 5, "a PDF document", convert},
    {"\xff\xfe\0\0", 4, "UTF-32 text", to_utf8_32},
    {"\0\0\xfe\xff", 4, "UTF-32 text", to_utf8_32},
    {"\xff\xfe", 2, "UTF-16 text", to_utf8},
    {"\xfe\xff", 2, "UTF-16 text", to_utf8},
};

/* Whether c is a printable ASCII character or white space. */
static int is_text(char c) { return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r'); }

/* Whether the bytes are UTF-16 of ASCII characters without a byte order mark. */
static int is_bare_utf16(const char *p, size_t n)
{
    if (n < 4) return 0;
    return (!p[0] && !p[2] && is_text(p[1]) && is_text(p[3])) ||
           (!p[1] && !p[3] && is_text(p[0]) && is_text(p[2]));
}

static tally_status refuse(tally_file *f, const char *what, const char *todo)
{
    return tl_unsupported_on(f, "this is %s: %s", what, todo);
}

tally_status tl_refuse_foreign(tally_file *f, int text)
{
    int is = 0;
    TL_TRY(tl_input_peek(f, 32)); /* more than every row has */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        TL_TRY(tl_input_begins(f, table[i].magic, table[i].length, &is));
        if (is) return refuse(f, table[i].what, table[i].todo);
    }

    return text && is_bare_utf16(f->peek, f->peek_n) ? refuse(f, "UTF-16 text", to_utf8) : TALLY_OK;
}

/* ---- cells and lines ---- */

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

const char *tl_spelling(const char *s, const char *e, char out[TL_SPELLING])
{
    char text[TL_NUMBER_MOST], between = tl_grouped(s, e);
    double v;
    size_t n = 0;
    *out = 0;
    if (!between) {
        const int comma = memchr(s, ',', (size_t)(e - s)) != NULL;
        const char *const end = text + (comma ? tl_with_point(s, e, ',', text) : 0);
        between = tl_grouped(text, end);
        if (!between && tl_parse_cell(TALLY_F64, text, end, &v)) return out;
        n = strlen(strcpy(out, "--decimal ',' "));
        if (between == ',') between = '.';
    }

    const char quote = between == '\'' ? '"' : '\'';
    if (between)
        snprintf(out + n, TL_SPELLING - n, "--thousands %c%c%c", quote, between, quote);
    else
        out[n - 1] = 0;
    return out;
}

/* Suggests the option that would read the cell; "" if there is none. */
static void hint(char *out, size_t capacity, const tl_bad *bad, const tl_layout *l)
{
    char options[TL_SPELLING];
    tl_spelling(bad->text, bad->text + strlen(bad->text), options);
    *out = 0;
    if (bad->why == TL_CELL_BAD && *options && !l->thousands &&
        (!l->decimal || strstr(options, "--decimal")))
        snprintf(out, capacity, "; %s reads such numbers", options);
    else if (*bad->text == '#' && l->comment < 0)
        snprintf(out, capacity, "; --comment '#' skips lines that begin with #");
    else if (bad->why == TL_CELL_BAD && !bad->first)
        snprintf(out, capacity, "; --skip-bad skips and counts such cells");
}

static const char say_header[] = "; if the first line is a header, say so with --header yes";

/* $1 in a sentence becomes the first part, and so on. (With _FORTIFY_SOURCE, printf's %1$s would
 * end the process where a sentence leaves out a part.) */
static void fill(char *out, const char *sentence, const char *const *parts)
{
    size_t n = 0;
    for (; *sentence; sentence++) {
        const int is_part = *sentence == '$';
        const char *const from = is_part ? parts[*++sentence - '1'] : sentence;
        const size_t length = is_part ? strlen(from) : 1;
        assert(n + length < SENTENCE);
        memcpy(out + n, from, length);
        n += length;
    }
    out[n] = 0;
}

/* A time that cannot be compared with an earlier one. */
static void other_frame(char *out, const tl_bad *bad)
{
    const char *const text = bad->text, *const other = bad->other;
    const int zone = strchr("Z+-", *other) != NULL;
    snprintf(out, SENTENCE, "the time '%s' cannot be compared with that of line %ld, which %s%s%s",
             text, bad->other_line, zone ? "has the zone " : "", other,
             zone && strlen(text) > 8 && strpbrk(text + 8, "zZ+-")
                 ? "; --utc takes times of several zones as UTC"
                 : "");
}

/* The sentence for a time. In the table: 1 the cell, 2 what it conflicts with, 3 and 4
 * hints. */
static void bad_time(char *out, const tl_bad *bad, const tl_layout *l)
{
    static const char *const sentences[] = {
        "'$1' is neither a time (2024-05-01T13:30:00.5Z) nor a number$3",
        "the time '$1' is not in 1677-09-21T00:12:44Z .. 2262-04-11T23:47:16Z, where nanoseconds "
        "fit 64 bits",
        "the time '$1' has more than nine digits after the second",
        "the number '$1' is a time, and must be in -2^63 .. 2^64 - 1",
        "the number '$1' is a time, and must have at most 18 digits after the point",
        [TL_CELL_FALLS - TL_CELL_TIME] =
            "the time '$1' is before $2, the last one$3 above: times must not fall$4",
        "the time '$1' does not go with $2 above: times must all be in -2^63 .. 2^63 - 1, or "
        "all in 0 .. 2^64 - 1",
        "'$1' is a number, and no date (2024-05-01T13:30:00.5Z)"};
    const char *more = bad->first ? say_header : "";
    if (bad->why != TL_CELL_TIME) more = l->keys ? " of its group" : "";

    if (bad->why == TL_CELL_FRAME)
        other_frame(out, bad);
    else if (bad->why == TL_CELL_TIME && !*bad->text)
        snprintf(out, SENTENCE, "empty cell: the line has no time");
    else
        fill(out, sentences[bad->why - TL_CELL_TIME],
             (const char *[]){bad->text, bad->other, more,
                              l->keys ? "" : "; those of each group: --by GROUP,TIME"});
}

/* The sentence for a number, or for the line. In the table: 1 the cell, 2 the dtype, 3 and 6
 * hints, 4 a number, 5 what has a number of bytes. */
static void bad_number(char *out, const tl_bad *bad, tally_dtype type, const tl_layout *l)
{
    static const char *const sentences[] = {
        [TL_CELL_BAD] = "'$1' is not a number$3$6",
        [TL_CELL_EMPTY] = "'$1' stands for no value, and $2 has none",
        [TL_CELL_WHOLE] = "'$1' is not a whole number, as $2 needs",
        [TL_CELL_WIDTH] = "'$1' does not have the $4 hexadecimal digits of $2",
        [TL_CELL_FIELDS] = "the line '$1' has no column $4$3",
        [TL_CELL_MORE] = "the line '$1' has more cells than the first one, which has $4",
        [TL_CELL_QUOTE] = "a quoted cell is not closed",
        [TL_CELL_LONG] = "a $5 of more than $4 bytes"};
    const char *const dtype = tally_dtype_name(type);
    const int why = bad->why;
    char option[80], number[24];
    hint(option, sizeof option, bad, l);
    snprintf(number, sizeof number, "%ld",
             why == TL_CELL_WIDTH    ? 2 * (int64_t)tally_dtype_size(type)
             : why == TL_CELL_FIELDS ? bad->lacks + 1
             : why == TL_CELL_MORE   ? l->fields
                                     : TL_LONGEST);
    if (why == TL_CELL_RANGE)
        range(out, type, bad->text);
    else if (why == TL_CELL_EMPTY && !*bad->text)
        snprintf(out, SENTENCE, "empty cell: %s has no value for it", dtype);
    else
        fill(out, sentences[why],
             (const char *[]){bad->text, dtype, option, number, l->columns ? "line" : "cell",
                              bad->first ? say_header : ""});
}

void tl_bad_text(tl_bad *bad, const char *p, const char *end)
{
    const char *const begin = p;
    size_t n = 0;
    for (; p < end && n + 4 < sizeof bad->text; p++)
        bad->text[n++] = (unsigned char)*p < 32 || *p == 127 ? '?' : *p;

    /* cut the text between UTF-8 characters */
    while (p < end && n && ((unsigned char)*p & 0xc0) == 0x80) p = begin + --n;
    strcpy(bad->text + n, p < end ? "..." : "");
}

tally_status tl_bad_cell(tally_file *f, const tl_bad *bad, const tl_layout *l)
{
    char sentence[SENTENCE];
    if (bad->why >= TL_CELL_TIME)
        bad_time(sentence, bad, l);
    else
        bad_number(sentence, bad, f->info.dtype, l);
    return tl_bad_data(f->ctx, "%s:%ld:%ld: %s", f->label, bad->line, bad->col, sentence);
}
