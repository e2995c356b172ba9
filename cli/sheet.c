/* SPDX-License-Identifier: MIT
 * sheet.c - results as a table of text. A line has the input's line (--keep), then for each of its
 * columns and each operator the values.
 *
 *    day,price,qty              day,price,qty,sum.price,sum.qty
 *    mon,1.5,10       -->       mon,1.5,10,1.5,10
 *    tue,2,20                   tue,2,20,3.5,30
 *
 * The text is written by tally_file_create as bytes, so a file appears only when it is complete. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* ---- the lines that --keep copies, between reading and writing ---- */

int lines_put(lines *l, const char *text, size_t length)
{
    const size_t need = sizeof length + length;
    if (l->at > l->capacity / 2) { /* moves the rest to the start of the buffer */
        memmove(l->text, l->text + l->at, l->n - l->at);
        l->n -= l->at;
        l->at = 0;
    }
    if (l->n + need > l->capacity) {
        const size_t capacity = 2 * (l->n + need) + 4096;
        const int code = grow_memory(&l->text, "--keep", capacity);
        if (code) return code;
        l->capacity = capacity;
    }
    memcpy(l->text + l->n, &length, sizeof length);
    memcpy(l->text + l->n + sizeof length, text, length);
    l->n += need;
    return DONE;
}

const char *lines_take(lines *l, size_t *length)
{
    if (l->at == l->n) return NULL;
    memcpy(length, l->text + l->at, sizeof *length);
    const char *const text = l->text + l->at + sizeof *length;
    l->at += sizeof *length + *length;
    return text;
}

void lines_free(lines *l)
{
    free(l->text);
    *l = (lines){NULL, 0, 0, 0};
}

/* ---- the table ---- */

enum { GATHERED = 1 << 16, CELL = 80 };

struct sheet {
    tally *ctx;
    tally_file *file;
    const operators *ops;
    input *in;
    lines *kept;                 /* NULL: no --keep */
    int64_t width, lines_before; /* as in sheet_form; lines_before: those still to be left out */
    int hex, to_stdout;
    const char *empty; /* NULL, or the word for results without a value */
    enum format format;
    char separator, *text;
    size_t n, capacity;
};

static int flush(sheet *r)
{
    const size_t n = r->n;
    r->n = 0;
    const tally_status status = tally_file_write(r->file, r->text, (int64_t)n);
    if (!status) return DONE;
    if (r->to_stdout && stdout_closed()) return CLOSED_PIPE;
    return code_of(r->ctx, status);
}

/* Makes space for n more bytes, which the caller fills. */
static int need(sheet *r, size_t n)
{
    int code = r->n + n > GATHERED && r->n ? flush(r) : DONE;
    if (code || r->n + n <= r->capacity) return code;
    code = grow_memory(&r->text, "a line of the output", r->n + n + GATHERED);
    if (!code) r->capacity = r->n + n + GATHERED;
    return code;
}

static int put(sheet *r, const char *text, size_t n)
{
    const int code = need(r, n);
    if (!code) memcpy(r->text + r->n, text, n), r->n += n;
    return code;
}

/* Writes a name as a cell: in quotes if necessary, and in csv if the line would be empty. */
static int put_name(sheet *r, const char *name)
{
    const char special[] = {r->separator, '"', '\n', 0};
    const int alone = r->width == 1 && !r->kept && r->ops->count == 1 && r->ops->info->lanes == 1,
              quoted = (r->format == TO_TSV || (r->separator != ' ' && r->separator != '\t')) &&
                       (name[strcspn(name, special)] || (!*name && alone));
    int code = need(r, 2 * strlen(name) + 2);
    if (code) return code;
    if (quoted) r->text[r->n++] = '"';
    for (; *name; name++) {
        if (quoted && *name == '"') r->text[r->n++] = '"';
        r->text[r->n++] = *name;
    }
    if (quoted) r->text[r->n++] = '"';
    return DONE;
}

/* Writes the header: the input's header, then OP.COLUMN, or OP if there is one column. Columns
 * without a name are numbered, from 1 as in --column; those of an array from 0. */
static int put_header(sheet *r, const input *in)
{
    int code = r->kept ? put(r, in->info.header, strlen(in->info.header)) : DONE;
    int first = !r->kept;
    for (int64_t c = 0; c < r->width && !code; c++)
        for (int i = 0; i < r->ops->count && !code; i++)
            for (int lane = 0; lane < r->ops->info[i].lanes && !code; lane++, first = 0) {
                char of[CELL], number[24];
                const char *const op =
                    lane_name(r->ops->shown[i], r->ops->info[i].lanes, lane, of, sizeof of);
                snprintf(number, sizeof number, "%lld", (long long)c + (in->columns > 0));
                const char *const column =
                    in->info.columns && r->width == in->columns ? in->info.columns[c] : number;
                char *const name = malloc(strlen(column) + sizeof of + 2);
                if (!name)
                    return fail_memory("the output's header", (int64_t)strlen(column) + CELL);
                if (r->width == 1)
                    strcpy(name, op);
                else
                    sprintf(name, "%s.%s", op, column);
                if (!first) code = put(r, &r->separator, 1);
                if (!code) code = put_name(r, name);
                free(name);
            }
    return code ? code : put(r, "\n", 1);
}

/* The delimiter of the kept lines. For white space it is a tab if the first line contains one. */
static char kept_separator(const input *in, const char *line, size_t length)
{
    if (in->info.delimiter) return in->info.delimiter;
    return line && memchr(line, '\t', length) ? '\t' : ' ';
}

int sheet_open(sheet **sheet_, const options *o, input *in, const operators *ops,
               const sheet_form *form)
{
    const char *const path = form->path, *const head = form->head;
    tally *const ctx = in->ctx;
    int code = DONE;
    sheet *const r = *sheet_ = memory_for(&code, "the output", 1, sizeof *r);
    if (code) return code;
    *r = (sheet){.ctx = ctx,
                 .in = in,
                 .ops = ops,
                 .kept = in->keep ? &in->kept : NULL,
                 .width = form->width,
                 .lines_before = form->lines_before,
                 .hex = has(o, OPT_hex),
                 .empty = o->value[OPT_empty],
                 .to_stdout = !strcmp(path, "-")};
    r->format = output_format(o);
    r->separator = r->format == TO_CSV ? ',' : '\t';
    if (r->kept && in->info.header)
        r->separator = kept_separator(in, in->info.header, strlen(in->info.header));
    else if (r->kept)
        r->separator = 0; /* the first line determines it */
    const int64_t any = -1;
    const tally_status status = tally_file_create(ctx, path, "raw", TALLY_U8, 1, &any, 0, &r->file);
    if (status) return r->to_stdout && stdout_closed() ? CLOSED_PIPE : code_of(ctx, status);
    if (!head) return !r->kept || in->info.header ? put_header(r, in) : DONE;
    if (!*head) return DONE;
    code = put(r, head, strlen(head));
    return code ? code : put(r, "\n", 1);
}

static int put_line(sheet *r)
{
    size_t length;
    const char *line = lines_take(r->kept, &length);
    for (; line && r->lines_before; r->lines_before--) line = lines_take(r->kept, &length);
    if (!line) return bad_data("--keep: there are more results than lines");
    if (!r->separator) r->separator = kept_separator(r->in, line, length);
    if (r->empty && r->separator == ' ' && (!*r->empty || strchr(r->empty, ' ')))
        return usage(
            "--empty is '%s': must be one word where white space is between the cells, as in %s",
            r->empty, r->in->label);
    return put(r, line, length);
}

int sheet_write(sheet *r, const char *const *results, int64_t count)
{
    int code = DONE;
    for (int64_t at = 0; at < count && !code; at++) {
        const int64_t c = at % r->width;
        if (c == 0 && r->kept) code = put_line(r);
        for (int i = 0; i < r->ops->count && !code; i++) {
            const tally_operator_info *const info = &r->ops->info[i];
            const size_t size = tally_dtype_size(info->output);
            const char *value = results[i] + (size_t)(at * info->lanes) * size;
            const int there =
                !r->empty || !r->ops->index_of || has_value(results[r->ops->index_of[i]], at);
            for (int lane = 0; lane < info->lanes && !code; lane++, value += size) {
                code = need(r, CELL + 1);
                if (code) break;
                if (c || i || lane || r->kept) r->text[r->n++] = r->separator;
                if (there)
                    r->n += (size_t)tally_format_value(info->output, value, r->hex, r->text + r->n,
                                                       CELL);
                else
                    code = put_name(r, r->empty);
            }
        }
        if (c == r->width - 1 && !code) code = put(r, "\n", 1);
    }
    return code;
}

int sheet_close(sheet *r, int code)
{
    if (!code && r->n) code = flush(r);
    if (!code) {
        const tally_status status = tally_file_commit(r->file);
        if (status) code = r->to_stdout && stdout_closed() ? CLOSED_PIPE : code_of(r->ctx, status);
    }
    tally_file_close(r->file);
    free(r->text);
    free(r);
    return code;
}
