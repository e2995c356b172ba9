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

enum { CELL = 80 };

const char *lane_name(const char *op, int lanes, int lane, char *buffer, size_t bytes)
{
    static const char *const two[] = {"min", "max"};
    if (lanes == 1)
        snprintf(buffer, bytes, "%s", op);
    else if (lanes == 2 && !strncmp(op, "minmax", 6))
        snprintf(buffer, bytes, "%s.%s", op, two[lane]);
    else
        snprintf(buffer, bytes, "%s.%d", op, lane);
    return buffer;
}

void digest_of(const answer *a, const result *r, char *buffer)
{
    sha256 s;
    sha256_begin(&s);
    sha256_values(&s, r->bits, tally_dtype_size(r->info.output), a->count * r->info.lanes);
    sha256_end(&s, buffer);
}

static const char *value_of(const answer *a, const result *r, int64_t row, int lane, const look *o,
                            char *buffer)
{
    if (o->digest) {
        digest_of(a, r, buffer);
        return buffer;
    }
    if (o->empty && !has_value(r->places, row)) return o->empty;
    const char *at = (const char *)r->bits +
                     (size_t)(row * r->info.lanes + lane) * tally_dtype_size(r->info.output);
    tally_format_value(r->info.output, at, o->hex, buffer, CELL);
    return buffer;
}

static int lanes_of(const result *r, const look *o) { return o->digest ? 1 : r->info.lanes; }
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

static void print_separated(FILE *f, const answer *answers, int files, const look *o)
{
    char cell[CELL];
    const enum format format = o->format;
    const char separator = format == TO_CSV ? ',' : '\t';
    const int named = o->named;
    const answer *const first = &answers[0];
    int64_t cells = named + keys_of(first, o);
    for (int i = 0; i < first->ops; i++) cells += lanes_of(&first->results[i], o);
    if (is_csv(format) || named || first->ops > 1 || keys_of(first, o)) {
        if (named) fprintf(f, "file%c", separator);
        put_names(f, first->key_names, keys_of(first, o), format);
        for (int i = 0, column = 0; i < first->ops; i++)
            for (int lane = 0; lane < lanes_of(&first->results[i], o); lane++) {
                if (column++) fputc(separator, f);
                lane_name(first->results[i].op, lanes_of(&first->results[i], o), lane, cell,
                          sizeof cell);
                put_name(f, cell, format);
            }
        fputc('\n', f);
    }
    for (const answer *a = answers; a < answers + files; a++)
        for (int64_t row = 0; row < rows_of(a, o); row++) {
            if (named) {
                put_name(f, a->file, format);
                fputc(separator, f);
            }
            if (keys_of(a, o)) put_names(f, keys_at(a, row), a->key_columns, format);
            for (int i = 0, column = 0; i < a->ops; i++)
                for (int lane = 0; lane < lanes_of(&a->results[i], o); lane++) {
                    if (column++) fputc(separator, f);
                    const char *const value = value_of(a, &a->results[i], row, lane, o, cell);
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

static void print_lines(FILE *f, const answer *a, const look *o)
{
    char cell[CELL];
    int width = 0;
    for (int i = 0; i < a->ops; i++)
        for (int lane = 0; lane < lanes_of(&a->results[i], o); lane++)
            width = wider(width, lane_name(a->results[i].op, lanes_of(&a->results[i], o), lane,
                                           cell, sizeof cell));
    for (int i = 0; i < a->ops; i++)
        for (int lane = 0; lane < lanes_of(&a->results[i], o); lane++) {
            fprintf(
                f, "%-*s", width + 2,
                lane_name(a->results[i].op, lanes_of(&a->results[i], o), lane, cell, sizeof cell));
            fprintf(f, "%s\n", value_of(a, &a->results[i], 0, lane, o, cell));
        }
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

/* Prints in two passes: first the widths, then the lines. The first column is the file, or the
 * number of the sequence. */
static int print_aligned(FILE *f, const answer *answers, int files, const look *o)
{
    char cell[CELL];
    int columns = 0;
    for (int i = 0; i < answers->ops; i++) columns += lanes_of(&answers->results[i], o);
    int *width = calloc((size_t)columns + 1, sizeof *width);
    if (!width) return fail_memory("the table", (columns + 1) * (int64_t)sizeof *width);
    char *const key = keys_of(answers, o) ? joined(answers->key_names, answers->key_columns) : NULL;
    const char *const corner = o->named ? "file" : key ? key : answers->per;
    width[columns] = plain_width(corner);
    for (int print = 0; print < 2; print++) {
        if (print) fprintf(f, "%-*s", width[columns], corner);
        for (int i = 0, c = 0; i < answers->ops; i++)
            for (int lane = 0; lane < lanes_of(&answers->results[i], o); lane++, c++) {
                lane_name(answers->results[i].op, lanes_of(&answers->results[i], o), lane, cell,
                          sizeof cell);
                if (!print)
                    width[c] = wider(width[c], cell);
                else
                    put_right(f, cell, width[c] + 2);
            }
        if (print) fputc('\n', f);
        for (const answer *a = answers; a < answers + files; a++) {
            char *const name = o->named ? plain(a->file) : NULL;
            for (int64_t row = 0; row < rows_of(a, o); row++) {
                snprintf(cell, sizeof cell, "%lld", (long long)row);
                char *const column = name            ? NULL
                                     : a->names      ? plain(a->names[row])
                                     : keys_of(a, o) ? joined(keys_at(a, row), a->key_columns)
                                                     : NULL;
                const char *const label = name ? name : column ? column : cell;
                if (print)
                    fprintf(f, "%s%*s", label, width[columns] - plain_width(label), "");
                else
                    width[columns] = wider(width[columns], label);
                free(column);
                for (int i = 0, c = 0; i < a->ops; i++)
                    for (int lane = 0; lane < lanes_of(&a->results[i], o); lane++, c++) {
                        const char *const value = value_of(a, &a->results[i], row, lane, o, cell);
                        if (print)
                            put_right(f, value, width[c] + 2);
                        else
                            width[c] = wider(width[c], value);
                    }
                if (print) fputc('\n', f);
            }
            free(name);
        }
    }
    free(width);
    free(key);
    return DONE;
}

int print_table(FILE *f, const answer *answers, int files, const look *o)
{
    if (o->people && !o->named && answers->flat)
        print_lines(f, answers, o);
    else if (o->people)
        return print_aligned(f, answers, files, o);
    else
        print_separated(f, answers, files, o);
    return DONE;
}
