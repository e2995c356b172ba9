/* SPDX-License-Identifier: MIT
 * output.c - the results of reduce: a table for people, tab-separated lines for pipes, csv, and typed files.
 *
 *   in a pipe     one operator, one file: the value alone, one line a sequence
 *                 otherwise: a header line, then the values; a first column names the file when there are several
 *   on a terminal one file: "name  value" lines; otherwise the same table, aligned
 *   --digest      each value becomes the SHA-256 of that operator's results for that file */
#include "cli.h"

#include <errno.h>
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

static void digest(const answer *a, const result *r, char *buffer)
{
    sha256 s;
    sha256_begin(&s);
    sha256_values(&s, r->bits, tally_dtype_size(r->info.output), a->count * r->info.lanes);
    sha256_end(&s, buffer);
}

static const char *value_of(const answer *a, const result *r, int64_t row, int lane, const options *o, char *buffer)
{
    if (has(o, OPT_digest)) {
        digest(a, r, buffer);
        return buffer;
    }
    const char *at = (const char *)r->bits + (size_t)(row * r->info.lanes + lane) * tally_dtype_size(r->info.output);
    tally_format_value(r->info.output, at, has(o, OPT_hex), buffer, CELL);
    return buffer;
}

static int lanes_of(const result *r, const options *o) { return has(o, OPT_digest) ? 1 : r->info.lanes; }
static int64_t rows_of(const answer *a, const options *o) { return has(o, OPT_digest) ? 1 : a->count; }

/* A file's name as a csv cell. */
static void put_name(FILE *f, const char *name, char separator)
{
    if (separator != ',' || !strpbrk(name, ",\"\n")) {
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

static void print_separated(FILE *f, const answer *answers, int files, int named, char separator, const options *o)
{
    char cell[CELL];
    const answer *const first = &answers[0];
    if (named || first->ops > 1) {
        if (named) fprintf(f, "file%c", separator);
        for (int i = 0, column = 0; i < first->ops; i++)
            for (int lane = 0; lane < lanes_of(&first->results[i], o); lane++) {
                if (column++) fputc(separator, f);
                fputs(lane_name(first->results[i].op, lanes_of(&first->results[i], o), lane, cell, sizeof cell), f);
            }
        fputc('\n', f);
    }
    for (const answer *a = answers; a < answers + files; a++)
        for (int64_t row = 0; row < rows_of(a, o); row++) {
            if (named) {
                put_name(f, a->file, separator);
                fputc(separator, f);
            }
            for (int i = 0, column = 0; i < a->ops; i++)
                for (int lane = 0; lane < lanes_of(&a->results[i], o); lane++) {
                    if (column++) fputc(separator, f);
                    fputs(value_of(a, &a->results[i], row, lane, o, cell), f);
                }
            fputc('\n', f);
        }
}

static int wider(int width, const char *text) { return (int)strlen(text) > width ? (int)strlen(text) : width; }

static void print_lines(FILE *f, const answer *a, const options *o)
{
    char cell[CELL];
    int width = 0;
    for (int i = 0; i < a->ops; i++)
        for (int lane = 0; lane < lanes_of(&a->results[i], o); lane++)
            width = wider(width, lane_name(a->results[i].op, lanes_of(&a->results[i], o), lane, cell, sizeof cell));
    for (int i = 0; i < a->ops; i++)
        for (int lane = 0; lane < lanes_of(&a->results[i], o); lane++) {
            fprintf(f, "%-*s", width + 2,
                    lane_name(a->results[i].op, lanes_of(&a->results[i], o), lane, cell, sizeof cell));
            fprintf(f, "%s\n", value_of(a, &a->results[i], 0, lane, o, cell));
        }
}

/* A column's name from a file, for the terminal: without control characters. */
static void column_label(const char *name, char *out, size_t room)
{
    size_t n = 0;
    for (; name[n] && n + 1 < room; n++) out[n] = (unsigned char)name[n] < 32 || name[n] == 127 ? '?' : name[n];
    out[n] = 0;
}

/* Two passes: the widths, then the lines. The first column is the file, or the number of the sequence. */
static int print_aligned(FILE *f, const answer *answers, int files, int named, const options *o)
{
    char cell[CELL];
    int columns = 0;
    for (int i = 0; i < answers->ops; i++) columns += lanes_of(&answers->results[i], o);
    int *width = calloc((size_t)columns + 1, sizeof *width);
    if (!width) return fail_memory("the table", (columns + 1) * (int64_t)sizeof *width);
    const char *const corner = named ? "file" : answers->names ? "column" : "row";
    width[columns] = (int)strlen(corner);
    for (int print = 0; print < 2; print++) {
        for (int i = 0, c = 0; i < answers->ops; i++)
            for (int lane = 0; lane < lanes_of(&answers->results[i], o); lane++, c++) {
                lane_name(answers->results[i].op, lanes_of(&answers->results[i], o), lane, cell, sizeof cell);
                if (!print)
                    width[c] = wider(width[c], cell);
                else
                    fprintf(f, "%s%*s", c ? "" : corner, width[c] + 2 + (c ? 0 : width[columns] - (int)strlen(corner)),
                            cell);
            }
        if (print) fputc('\n', f);
        for (const answer *a = answers; a < answers + files; a++)
            for (int64_t row = 0; row < rows_of(a, o); row++) {
                if (named)
                    snprintf(cell, sizeof cell, "%s", a->file);
                else if (a->names)
                    column_label(a->names[row], cell, sizeof cell);
                else
                    snprintf(cell, sizeof cell, "%lld", (long long)row);
                if (print)
                    fprintf(f, "%-*s", width[columns], cell);
                else
                    width[columns] = wider(width[columns], cell);
                for (int i = 0, c = 0; i < a->ops; i++)
                    for (int lane = 0; lane < lanes_of(&a->results[i], o); lane++, c++) {
                        value_of(a, &a->results[i], row, lane, o, cell);
                        if (print)
                            fprintf(f, "%*s", width[c] + 2, cell);
                        else
                            width[c] = wider(width[c], cell);
                    }
                if (print) fputc('\n', f);
            }
    }
    free(width);
    return DONE;
}

static void json_lanes(FILE *f, const result *r, int64_t row, void (*put)(FILE *, tally_dtype, const void *))
{
    const size_t size = tally_dtype_size(r->info.output);
    const char *at = (const char *)r->bits + (size_t)(row * r->info.lanes) * size;
    if (r->info.lanes > 1) fputc('[', f);
    for (int lane = 0; lane < r->info.lanes; lane++, at += size) {
        if (lane) fputs(", ", f);
        put(f, r->info.output, at);
    }
    if (r->info.lanes > 1) fputc(']', f);
}

static void json_rows(FILE *f, const answer *a, const result *r, const char *key,
                      void (*put)(FILE *, tally_dtype, const void *))
{
    fprintf(f, ", \"%s\": ", key);
    if (!a->flat) fputc('[', f);
    for (int64_t row = 0; row < a->count; row++) {
        if (row) fputs(", ", f);
        json_lanes(f, r, row, put);
    }
    if (!a->flat) fputc(']', f);
}

static void print_json(FILE *f, const answer *a, const options *o)
{
    char hash[65];
    fputs("{\"file\": ", f);
    print_json_string(f, a->file);
    fprintf(f, ", \"dtype\": \"%s\", \"n\": %lld, \"shape\": [", tally_dtype_name(a->dtype), (long long)a->n);
    for (int d = 0; d < a->ndim; d++) fprintf(f, "%s%lld", d ? ", " : "", (long long)a->shape[d]);
    if (a->names) fputs("], \"columns\": [", f);
    for (int64_t i = 0; a->names && i < a->count; i++) {
        if (i) fputs(", ", f);
        print_json_string(f, a->names[i]);
    }
    fprintf(f, "], \"skipped\": %lld, \"order\": \"E v1\", \"results\": [", (long long)a->skipped);
    for (int i = 0; i < a->ops; i++) {
        const result *const r = &a->results[i];
        fputs(i ? ",\n  {\"op\": " : "\n  {\"op\": ", f);
        print_json_string(f, r->op);
        fprintf(f, ", \"dtype\": \"%s\"", tally_dtype_name(r->info.output));
        json_rows(f, a, r, a->flat ? "value" : "values", print_json_value);
        json_rows(f, a, r, "bits", print_json_bits);
        if (has(o, OPT_digest)) {
            digest(a, r, hash);
            fprintf(f, ", \"sha256\": \"%s\"", hash);
        }
        fputc('}', f);
    }
    fputs("]}", f);
}

static int print_to(FILE *f, const answer *answers, int files, const options *o, char separator, int people)
{
    const int named = o->nargs > 2; /* several files were asked for, even if only one of them was good */
    if (has(o, OPT_json)) {
        if (named) fputs("[\n", f);
        for (int i = 0; i < files; i++) {
            if (i) fputs(",\n", f);
            print_json(f, &answers[i], o);
        }
        fputs(named ? "\n]\n" : "\n", f);
    } else if (files && people && !named && answers->flat) {
        print_lines(f, answers, o);
    } else if (files && people) {
        return print_aligned(f, answers, files, named, o);
    } else if (files) {
        print_separated(f, answers, files, named, separator, o);
    }
    return DONE;
}

/* -o with a typed format: one operator, so that the file has one type. */
static int write_typed(tally *ctx, const char *path, const char *format, const answer *answers, int files)
{
    const answer *const a = &answers[0];
    if (a->ops > 1)
        return fail(USAGE, "--output %s: a%s %s file holds one type, so give one operator, or write .csv or .txt", path,
                    format[0] == 'n' ? "n" : "", format);
    for (int i = 1; i < files; i++)
        if (answers[i].results->info.output != a->results->info.output || !a->flat)
            return fail(USAGE, "--output %s: the results of several files differ in type or shape; write .csv or .txt",
                        path);
    int64_t shape[DIMS + 1] = {a->count};
    int ndim = 1;
    if (a->flat) shape[0] = files;
    if (a->results->info.lanes > 1) shape[ndim++] = a->results->info.lanes;
    tally_file *file;
    tally_status status = tally_file_create(ctx, path, format, a->results->info.output, ndim, shape, 0, &file);
    for (int i = 0; i < files && !status; i++)
        status = tally_file_write(file, answers[i].results->bits, answers[i].count * answers[i].results->info.lanes);
    if (!status) status = tally_file_commit(file);
    const int code = status ? fail_status(ctx, status) : DONE;
    tally_file_close(file);
    return code;
}

static int ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n > m && strcmp(path + n - m, ending) == 0;
}

/* Text goes to a new file beside the target that is renamed when it is complete; what is not a plain file is written
 * directly. */
static int write_text(const char *path, const answer *answers, int files, const options *o, char separator)
{
    const int direct = access(path, F_OK) == 0 && !strncmp(path, "/dev/", 5);
    const size_t room = strlen(path) + 32;
    char *const temp = malloc(room);
    if (!temp) return fail_memory("--output", (int64_t)room);
    if (direct)
        snprintf(temp, room, "%s", path);
    else
        snprintf(temp, room, "%s.tmp%ld", path, (long)getpid());
    FILE *const f = fopen(temp, "w");
    int code = DONE;
    if (!f) {
        code = fail(BAD_DATA, "%s: %s", path, strerror(errno));
    } else {
        code = print_to(f, answers, files, o, separator, 0);
        const int bad = ferror(f) != 0;
        if (fclose(f) != 0 || bad)
            code = fail(BAD_DATA, "%s: %s", path, strerror(errno));
        else if (!code && !direct && rename(temp, path) != 0)
            code = fail(BAD_DATA, "%s: %s", path, strerror(errno));
        if (code && !direct) unlink(temp);
    }
    free(temp);
    return code;
}

int print_answers(tally *ctx, const answer *answers, int files, const options *o)
{
    const char *const path = o->value[OPT_output], *to = o->value[OPT_to];
    const int csv = to ? !strcmp(to, "csv") : path && ends_with(path, ".csv");
    const int to_stdout = !path || !strcmp(path, "-");
    const char *typed = to && (to[0] == 'n' || to[0] == 'r') ? to : NULL;
    if (!to && path && ends_with(path, ".npy")) typed = "npy";
    if (!to && path && (ends_with(path, ".raw") || ends_with(path, ".bin"))) typed = "raw";
    if (typed && !has(o, OPT_json) && !has(o, OPT_digest) && files)
        return write_typed(ctx, path ? path : "-", typed, answers, files);
    if (!to_stdout) return write_text(path, answers, files, o, csv ? ',' : '\t');
    return print_to(stdout, answers, files, o, csv ? ',' : '\t', isatty(1) && !path && !to);
}
