/* SPDX-License-Identifier: MIT
 * sink.c - where the results of scan and window go: a file or text on standard output, a JSON object, a digest.
 *
 *   one operator        a file of the library's (text, csv, npy, raw)
 *   several, --keep,    a table (sheet.c), which is text: a line for each element, or for each line of the input's table
 *   or named columns */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

struct sink {
    tally *ctx;
    tally_file *file; /* NULL: JSON values, a table, or only a digest */
    sheet *table;
    const operators *ops;
    const char *path;
    int json, hashed, values; /* values: JSON lists them, since no file does */
    int to_stdout;
    int64_t count;
    sha256 *hash; /* one for each operator */
};

static void json_types(FILE *f, const operators *ops)
{
    for (int i = 0; i < ops->count; i++)
        fprintf(f, "%s\"%s\"%s", i ? ", " : ops->count > 1 ? "[" : "", tally_dtype_name(ops->info[i].output),
                ops->count > 1 && i + 1 == ops->count ? "]" : "");
}

/* "op": "sum", or a list of several. */
static void json_operators(FILE *f, const operators *ops)
{
    if (ops->count > 1) fputc('[', f);
    for (int i = 0; i < ops->count; i++) {
        if (i) fputs(", ", f);
        print_json_string(f, ops->name[i]);
    }
    fputs(ops->count > 1 ? "], \"order\": \"E v1\", \"output\": " : ", \"order\": \"E v1\", \"output\": ", f);
    json_types(f, ops);
}

static int typed(const options *o, const char *path)
{
    const char *const to = o->value[OPT_to], *const dot = strrchr(path, '.');
    if (to) return to[0] == 'n' || to[0] == 'r';
    return strcmp(path, "-") && (!dot || (strcmp(dot, ".txt") && strcmp(dot, ".csv")));
}

static int open_file(sink *s, const options *o, input *in, const char *path, int ndim, const int64_t *shape,
                     int64_t passed)
{
    const tally_operator_info *const info = s->ops->info;
    const int several = s->ops->count > 1, keep = has(o, OPT_keep), names = in->columns > 1 && in->info.columns;
    if (several || keep || names) {
        if (!typed(o, path))
            return sheet_open(&s->table, s->ctx, o, in, s->ops, path, ndim > 1 ? shape[ndim - 1] : 1, passed);
        if (several || keep)
            return fail(
                USAGE,
                "--output %s: a file of this format holds one type and no lines of text, so %s, or write .csv or .txt",
                path, several ? "give one operator" : "leave out --keep");
    }
    int64_t dims[DIMS + 1];
    memcpy(dims, shape, (size_t)ndim * sizeof *dims);
    if (info->lanes > 1 && ndim == DIMS)
        return fail(USAGE, "%s: several values a result need one more dimension than there is", in->label);
    if (info->lanes > 1) dims[ndim++] = info->lanes;
    const tally_status status =
        tally_file_create(s->ctx, path, o->value[OPT_to], info->output, ndim, dims, has(o, OPT_hex), &s->file);
    if (!status) return DONE;
    if (s->to_stdout && stdout_closed()) return CLOSED_PIPE;
    return fail_status(s->ctx, status);
}

int sink_open(sink **sink_, tally *ctx, const options *o, input *in, const operators *ops, int ndim,
              const int64_t *shape, int64_t passed)
{
    sink *const s = *sink_ = calloc(1, sizeof *s);
    if (!s) return fail_memory("the output", sizeof *s);
    s->ctx = ctx;
    s->ops = ops;
    s->json = has(o, OPT_json);
    s->hashed = has(o, OPT_digest);
    s->path = o->value[OPT_output];
    s->hash = calloc((size_t)ops->count, sizeof *s->hash);
    if (!s->hash) return fail_memory("the digests", ops->count * (int64_t)sizeof *s->hash);
    for (int i = 0; i < ops->count; i++) sha256_begin(&s->hash[i]);
    const char *const path = s->path ? s->path : "-";
    s->to_stdout = !strcmp(path, "-");
    if (s->to_stdout && s->json) { /* one object: its head, the values as they come, its tail */
        s->values = !s->hashed;
        fputs("{\"file\": ", stdout);
        print_json_string(stdout, in->name);
        fprintf(stdout, ", \"dtype\": \"%s\", \"op\": ", tally_dtype_name(in->dtype));
        json_operators(stdout, ops);
        if (s->values) fputs(", \"values\": [", stdout);
        return DONE;
    }
    if (s->to_stdout && s->hashed) return DONE;
    return open_file(s, o, in, path, ndim, shape, passed);
}

/* Result number i of operator k as JSON: of several lanes a list. */
static void json_result(const tally_operator_info *info, const char *results, int64_t i)
{
    const size_t size = tally_dtype_size(info->output);
    const char *at = results + (size_t)(i * info->lanes) * size;
    if (info->lanes > 1) fputc('[', stdout);
    for (int lane = 0; lane < info->lanes; lane++, at += size) {
        if (lane) fputs(", ", stdout);
        print_json_value(stdout, info->output, at);
    }
    if (info->lanes > 1) fputc(']', stdout);
}

int sink_write(sink *s, const char *const *results, int64_t count)
{
    const operators *const ops = s->ops;
    for (int k = 0; k < ops->count && s->hashed; k++)
        sha256_values(&s->hash[k], results[k], tally_dtype_size(ops->info[k].output), count * ops->info[k].lanes);
    for (int64_t i = 0; i < count && s->values; i++) {
        fputs(s->count + i ? ", " : "", stdout);
        if (ops->count > 1) fputc('[', stdout);
        for (int k = 0; k < ops->count; k++) {
            if (k) fputs(", ", stdout);
            json_result(&ops->info[k], results[k], i);
        }
        if (ops->count > 1) fputc(']', stdout);
    }
    s->count += count;
    if (s->table) return sheet_write(s->table, results, count);
    if (!s->file) return ferror(stdout) ? stdout_finish(DONE) : DONE;
    const tally_status status = tally_file_write(s->file, results[0], count * ops->info->lanes);
    if (!status) return DONE;
    if (s->to_stdout && stdout_closed()) return CLOSED_PIPE;
    return fail_status(s->ctx, status);
}

/* The digests: one alone, several below their operators' names. */
static void print_digests(sink *s)
{
    char hex[65];
    for (int k = 0; k < s->ops->count && s->ops->count > 1; k++)
        printf("%s%s", s->ops->name[k], k + 1 < s->ops->count ? "\t" : "\n");
    for (int k = 0; k < s->ops->count; k++) {
        sha256_end(&s->hash[k], hex);
        printf("%s%s", hex, k + 1 < s->ops->count ? "\t" : "\n");
    }
}

static void json_end(sink *s)
{
    char hex[65];
    const int several = s->ops->count > 1;
    if (!s->to_stdout) {
        fputs("{\"op\": ", stdout);
        json_operators(stdout, s->ops);
        fputs(", \"path\": ", stdout);
        print_json_string(stdout, s->path);
    }
    fprintf(stdout, "%s, \"results\": %lld", s->values ? "]" : "", (long long)s->count);
    for (int k = 0; k < s->ops->count && s->hashed; k++) {
        sha256_end(&s->hash[k], hex);
        fprintf(stdout, "%s\"%s\"", k ? ", " : several ? ", \"sha256\": [" : ", \"sha256\": ", hex);
    }
    fputs(s->hashed && several ? "]}\n" : "}\n", stdout);
}

int sink_close(sink *s, int code)
{
    if (!s) return code;
    if (s->table) code = sheet_close(s->table, code);
    if (!code && s->file) {
        const tally_status status = tally_file_commit(s->file);
        if (status) code = s->to_stdout && stdout_closed() ? CLOSED_PIPE : fail_status(s->ctx, status);
    }
    tally_file_close(s->file); /* a file that was not committed disappears */
    if (!code && s->json)
        json_end(s);
    else if (!code && s->hashed)
        print_digests(s);
    free(s->hash);
    free(s);
    return code;
}
