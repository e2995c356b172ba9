/* SPDX-License-Identifier: MIT
 * table.c - the results of reduce as a table, for people or as lines of separated values.
 *
 *  text           a header line if there are several operators or files, else only the values;
 *                 tabs between columns
 *  csv            always a header line; commas between columns
 *  on a terminal  one file: lines of "name  value"; otherwise the same table, aligned
 *  With several files, a first column has their names. On a terminal it has the numbers of rows,
 *  columns or segments. With --by, the cells of the key come first, and there is a header line. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELL = RESULT_BYTES };

const char *lane_name(const char *op, int lanes, int lane, char *buffer, size_t bytes)
{
    static const char *const two[] = {"min", "max"};
    if (lanes == 1)
        snprintf(buffer, bytes, "%s", op);
    else if (lanes == 2 && (!strncmp(op, "minmax", 6) || !strncmp(op, "nanminmax", 9)))
        snprintf(buffer, bytes, "%s.%s", op, two[lane]);
    else
        snprintf(buffer, bytes, "%s.%d", op, lane);
    return buffer;
}

/* A column of values: a lane of a result. */
typedef struct column {
    int result, lane, width; /* width: of an aligned table */
    char *name;
} column;

typedef struct table {
    FILE *f;
    const look *o;
    int columns;
    column *column;
    char cell[CELL]; /* of value_of */
} table;

static int open_columns(table *t, const answer *a)
{
    int code = DONE;
    for (int i = 0; i < a->ops; i++) t->columns += t->o->digest ? 1 : a->results[i].info.lanes;
    column *c = t->column = memory_for(&code, "the table", t->columns, sizeof *c);
    for (int i = 0; i < a->ops && !code; i++) {
        const int lanes = t->o->digest ? 1 : a->results[i].info.lanes;
        const size_t bytes = strlen(a->results[i].op) + CELL;
        for (int lane = 0; lane < lanes && !code; lane++, c++) {
            *c = (column){.result = i, .lane = lane};
            c->name = memory_for(&code, "the table", (int64_t)bytes, 1);
            if (!code) lane_name(a->results[i].op, lanes, lane, c->name, bytes);
        }
    }
    return code;
}

static const char *value_of(table *t, const answer *a, int64_t row, int c)
{
    const look *const o = t->o;
    const result *const r = &a->results[t->column[c].result];
    if (o->digest) return r->digest;
    if (o->empty && !has_value(r->indexes, row)) return o->empty;
    result_text(r, row * r->info.lanes + t->column[c].lane, o->hex, t->cell);
    return t->cell;
}

static int64_t rows_of(const answer *a, const look *o) { return o->digest ? 1 : a->count; }
static int64_t keys_of(const answer *a, const look *o) { return o->digest ? 0 : a->key_columns; }

static char *const *keys_at(const answer *a, int64_t row)
{
    return a->keys + row / a->key_inner % a->key_groups * a->key_columns;
}

/* Writes a file name as a cell: in csv unchanged, in quotes if necessary; else with unsafe
 * characters escaped, so that it stays on one line. */
static void put_name(FILE *f, const char *name, enum format format)
{
    if (!is_csv(format) || isatty(fileno(f))) {
        put_plain(f, name);
        return;
    }
    if (!strpbrk(name, format == TO_CSV ? ",\"\r\n" : "\t\"\r\n")) {
        fputs(name, f);
        return;
    }
    fputc('"', f);
    for (; *name; name++) {
        if (*name == '"') fputc('"', f);
        fputc(*name, f);
    }
    fputc('"', f);
}

/* Writes a word for a missing value. In csv an empty line would be skipped by readers, so it gets
 * quotes. */
static void put_empty(FILE *f, const char *word, enum format format, int alone)
{
    if (*word || !is_csv(format) || !alone)
        put_name(f, word, format);
    else
        fputs("\"\"", f);
}

/* Writes names, each followed by a separator. */
static void put_names(FILE *f, char *const *names, int64_t count, enum format format)
{
    for (int64_t i = 0; i < count; i++) {
        put_name(f, names[i], format);
        fputc(format == TO_CSV ? ',' : '\t', f);
    }
}

static void print_separated(table *t, const answer *answers, int files)
{
    FILE *const f = t->f;
    const look *const o = t->o;
    const enum format format = o->format;
    const char separator = format == TO_CSV ? ',' : '\t';
    const answer *const first = &answers[0];
    const int64_t cells = o->named + keys_of(first, o) + t->columns;
    if (is_csv(format) || o->named || first->ops > 1 || keys_of(first, o)) {
        if (o->named) fprintf(f, "file%c", separator);
        put_names(f, first->key_names, keys_of(first, o), format);
        for (int c = 0; c < t->columns; c++) {
            if (c) fputc(separator, f);
            put_name(f, t->column[c].name, format);
        }
        fputc('\n', f);
    }
    for (const answer *a = answers; a < answers + files; a++)
        for (int64_t row = 0; row < rows_of(a, o); row++) {
            if (o->named) {
                put_name(f, a->file, format);
                fputc(separator, f);
            }
            if (keys_of(a, o)) put_names(f, keys_at(a, row), a->key_columns, format);
            for (int c = 0; c < t->columns; c++) {
                if (c) fputc(separator, f);
                const char *const value = value_of(t, a, row, c);
                if (value == o->empty)
                    put_empty(f, value, format, cells == 1);
                else
                    fputs(value, f);
            }
            fputc('\n', f);
        }
}

static int wider(int width, const char *text)
{
    return plain_width(text) > width ? plain_width(text) : width;
}

static void print_lines(table *t, const answer *a)
{
    int width = 0;
    for (int c = 0; c < t->columns; c++) width = wider(width, t->column[c].name);
    for (int c = 0; c < t->columns; c++)
        fprintf(t->f, "%-*s%s\n", width + 2, t->column[c].name, value_of(t, a, 0, c));
}

static void put_left(FILE *f, const char *text, int width)
{
    fprintf(f, "%s%*s", text, width - plain_width(text), "");
}

static void put_right(FILE *f, const char *text, int width)
{
    fprintf(f, "%*s%s", width - plain_width(text), "", text);
}

/* Joins cells, made safe to print, with commas. The caller frees the text; NULL: no memory. */
static char *joined(char *const *cells, int64_t count)
{
    size_t capacity = 1;
    for (int64_t i = 0; i < count; i++) capacity += strlen(cells[i]) + 2;
    char *const all = malloc(capacity), *to = all;
    for (int64_t i = 0; all && i < count; i++) to += sprintf(to, "%s%s", i ? ", " : "", cells[i]);
    char *const shown = all ? plain(all) : NULL;
    free(all);
    return shown;
}

/* The name of a row: its file, or the sequence's name, keys or number. */
static char *row_name(const answer *a, int64_t row, const look *o)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)row);
    char *const name = o->named        ? plain(a->file)
                       : a->names      ? plain(a->names[row])
                       : keys_of(a, o) ? joined(keys_at(a, row), a->key_columns)
                                       : NULL;
    return name ? name : strdup(number);
}

/* Prints in two passes: first the widths, then the lines. */
static void print_aligned(table *t, const answer *answers, int files)
{
    FILE *const f = t->f;
    const look *const o = t->o;
    char *const key = keys_of(answers, o) ? joined(answers->key_names, answers->key_columns) : NULL;
    const char *const corner = o->named ? "file" : key ? key : answers->per;
    int first = plain_width(corner);
    for (int print = 0; print < 2; print++) {
        if (print) put_left(f, corner, first);
        for (column *c = t->column; c < t->column + t->columns; c++)
            if (print)
                put_right(f, c->name, c->width + 2);
            else
                c->width = plain_width(c->name);
        if (print) fputc('\n', f);
        for (const answer *a = answers; a < answers + files; a++)
            for (int64_t row = 0; row < rows_of(a, o); row++) {
                char *const name = row_name(a, row, o);
                const char *const label = name ? name : "";
                if (print)
                    put_left(f, label, first);
                else
                    first = wider(first, label);
                free(name);
                for (int c = 0; c < t->columns; c++) {
                    const char *const value = value_of(t, a, row, c);
                    if (print)
                        put_right(f, value, t->column[c].width + 2);
                    else
                        t->column[c].width = wider(t->column[c].width, value);
                }
                if (print) fputc('\n', f);
            }
    }
    free(key);
}

int print_table(FILE *f, const answer *answers, int files, const look *o)
{
    table t = {.f = f, .o = o};
    const int code = open_columns(&t, answers);
    if (!code && !o->people)
        print_separated(&t, answers, files);
    else if (!code && !o->named && answers->flat)
        print_lines(&t, answers);
    else if (!code)
        print_aligned(&t, answers, files);
    for (int c = 0; t.column && c < t.columns; c++) free(t.column[c].name);
    free(t.column);
    return code;
}
