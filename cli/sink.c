/* SPDX-License-Identifier: MIT
 * sink.c - where the results of scan and window go: a file or text on standard output, a JSON
 * document, digests (doc/formats.md, "Results").
 *
 *  one operator        a file of the library (text, csv, npy, raw)
 *  several, --keep,    a table (sheet.c), which is text: a line for each element, or for each
 *                      line of the input's
 *  or named columns    table
 *  JSON                from memory, when all results are known */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct memory { /* the results of one operator */
    char *data;
    size_t used, capacity;
} memory;

struct sink {
    tally *ctx;
    input *in;
    tally_file *file; /* NULL: a table, a document, or only digests */
    sheet *table;
    bitmap *valid; /* beside the file */
    document doc;
    const operators *ops;
    const char *path;
    int json, hashed, to_stdout; /* json: there is a document */
    int values;                  /* the document has the values and their bits */
    int64_t count;
    result *results; /* one for each operator; bits are set at the end */
    memory *kept;    /* one for each operator */
    sha256 *hash;
    int netcdf, ndim;
    int64_t shape[DIMS + 1]; /* netcdf: of the results of one operator */
    int fills;               /* netcdf: these values replace results without a value */
    char (*fill)[8];         /* of each operator */
    memory filled;
};

static int stdout_failed(const sink *s, tally_status status)
{
    if (s->to_stdout && stdout_closed()) return CLOSED_PIPE;
    return code_of(s->ctx, status);
}

/* The first line of csv, which the caller frees: the names of the lanes of a result, or the
 * numbers of the elements along the last axis, as in sheet.c. NULL: no memory. */
static char *head(const sink *s, enum format format, int ndim, const int64_t *dims)
{
    const char *const separator = format == TO_CSV ? "," : "\t";
    const tally_operator_info *const info = s->ops->info;
    char name[80], *line = NULL;
    size_t bytes;
    const int64_t columns = ndim > 1 ? dims[ndim - 1] : 1;
    FILE *const f = open_memstream(&line, &bytes);
    if (!f) return NULL;
    if (ndim == 1 || info->lanes > 1)
        for (int lane = 0; lane < info->lanes; lane++)
            fprintf(f, "%s%s", lane ? separator : "",
                    lane_name(s->ops->shown[0], info->lanes, lane, name, sizeof name));
    else
        for (int64_t i = 0; i < columns; i++)
            fprintf(f, "%s%s.%lld", i ? separator : "", s->ops->shown[0],
                    (long long)i + (s->in->columns > 0));
    if (!fclose(f)) return line;
    free(line);
    return NULL;
}

/* Opens the library's file of text or csv; with --empty a table that looks the same. */
static int open_text(sink *s, const options *o, enum format format, const char *path, int ndim,
                     const int64_t *dims)
{
    const tally_operator_info *const info = s->ops->info;
    char *const line = is_csv(format) ? head(s, format, ndim, dims) : strdup("");
    if (!line) return fail_memory("the names of the columns", dims[ndim - 1]);
    const int64_t width = ndim > 1 && info->lanes == 1 ? dims[ndim - 1] : 1;
    int code = DONE;
    if (has(o, OPT_empty)) {
        const sheet_form form = {path, width, 0, line};
        code = sheet_open(&s->table, o, s->in, s->ops, &form);
    } else {
        tally_status status = tally_file_create(s->ctx, path, format_name(format), info->output,
                                                ndim, dims, has(o, OPT_hex), &s->file);
        if (!status && *line) status = tally_file_head(s->file, line);
        if (status) code = stdout_failed(s, status);
    }
    free(line);
    return code;
}

static int open_file(sink *s, const options *o, enum format format, const series_shape *shape)
{
    int ndim = shape->ndim;
    const tally_operator_info *const info = s->ops->info;
    const char *const path = s->to_stdout ? "-" : s->path;
    const int several = s->ops->count > 1, keep = has(o, OPT_keep),
              named = s->in->columns > 1 && s->in->info.columns,
              wide = s->in->columns > 1 && info->lanes > 1; /* a line has all of its results */
    if (several || keep || named || wide) {
        const int headed = several || keep || named || is_csv(format);
        const sheet_form form = {path, ndim > 1 ? shape->sizes[ndim - 1] : 1, shape->lines_before,
                                 headed ? NULL : ""};
        if (format == TO_TEXT || is_csv(format))
            return sheet_open(&s->table, o, s->in, s->ops, &form);
        if ((several || keep) && (!is_netcdf(format) || keep))
            return usage("--output %s: a file of this format holds one type and no lines of text, "
                         "so %s, or write .csv or .txt",
                         path, several ? "give one operator" : "leave out --keep");
    }
    int64_t dims[DIMS + 1];
    memcpy(dims, shape->sizes, (size_t)ndim * sizeof *dims);
    if (info->lanes > 1 && ndim == DIMS)
        return usage(
            "%s has %d dimensions, and several values per result need one more: at most %d",
            s->in->label, ndim, DIMS);
    if (info->lanes > 1) dims[ndim++] = info->lanes;
    if (format == TO_TEXT || is_csv(format)) return open_text(s, o, format, path, ndim, dims);
    const tally_status status = tally_file_create(s->ctx, path, format_name(format), info->output,
                                                  ndim, dims, has(o, OPT_hex), &s->file);
    if (status) return stdout_failed(s, status);
    if (is_netcdf(format)) {
        char *const dimensions =
            ndim - (info->lanes > 1) == s->in->ndim ? dimension_names(s->in, 0, NULL) : NULL;
        int code = DONE;
        s->fill = memory_for(&code, "the results", s->ops->count, sizeof *s->fill);
        const netcdf_of of = {.o = o,
                              .dimensions = dimensions,
                              .ops = s->ops->count,
                              .results = s->results,
                              .source = s->in->info.dimensions ? s->in->file : NULL,
                              .fill = s->fill};
        if (!code) code = netcdf_describe(s->file, s->ctx, &of);
        s->fills = has(o, OPT_empty);
        s->netcdf = 1;
        s->ndim = ndim;
        memcpy(s->shape, dims, sizeof s->shape);
        free(dimensions);
        return code;
    }
    return bitmap_open(&s->valid, s->ctx, o);
}

int sink_open(sink **sink_, const options *o, input *in, const operators *ops,
              const series_shape *shape)
{
    int code = DONE;
    sink *const s = *sink_ = memory_for(&code, "the output", 1, sizeof *s);
    if (code) return code;
    const enum format format = output_format(o);
    s->ctx = in->ctx;
    s->in = in;
    s->ops = ops;
    s->path = o->value[OPT_output];
    s->to_stdout = !output_is_file(o);
    s->hashed = has(o, OPT_digest);
    s->json = has(o, OPT_json) || format == TO_JSON;
    s->values = s->json && (format == TO_JSON || s->to_stdout) && !(s->to_stdout && s->hashed);
    if (s->json && has(o, OPT_keep))
        return usage("--keep and JSON exclude each other: JSON has no lines");
    s->kept = memory_for(&code, "the results", ops->all, sizeof *s->kept);
    s->hash = memory_for(&code, "the results", ops->count, sizeof *s->hash);
    s->results = memory_for(&code, "the results", ops->count, sizeof *s->results);
    if (code) return code;
    for (int i = 0; i < ops->count; i++) {
        sha256_begin(&s->hash[i]);
        s->results[i].op = ops->shown[i];
        s->results[i].info = ops->info[i];
    }
    const int filed = format != TO_JSON && (!s->to_stdout || (!s->json && !s->hashed));
    if (filed) code = open_file(s, o, format, shape);
    return code || !s->json ? code
                            : document_open(&s->doc, s->ctx,
                                            format == TO_JSON && !s->to_stdout ? s->path : NULL);
}

int sink_axis(sink *s, const options *o, const layout *l, int64_t first, int64_t step)
{
    if (!s->netcdf || s->ndim - (s->ops->info->lanes > 1) != s->in->ndim) return DONE;
    return axis_write(s->file, o, s->in, l, (axis_steps){first, step, s->shape[l->axis]});
}

static int keep_results(memory *m, const void *results, size_t bytes)
{
    if (bytes > m->capacity - m->used) {
        const size_t capacity =
            m->capacity * 2 > m->used + bytes ? m->capacity * 2 : m->used + bytes;
        const int code = grow_memory(&m->data, "JSON, which is written from memory,", capacity);
        if (code) return code;
        m->capacity = capacity;
    }
    if (bytes) memcpy(m->data + m->used, results, bytes);
    m->used += bytes;
    return DONE;
}

/* Copies the results, and replaces those without a value by the value of --empty. */
static int fill(sink *s, int op, const char **results, const void *indexes, int64_t count)
{
    const tally_operator_info *const info = &s->ops->info[op];
    s->filled.used = 0;
    const int code = keep_results(&s->filled, *results,
                                  (size_t)(count * info->lanes) * tally_dtype_size(info->output));
    if (!code) netcdf_fill(s->filled.data, indexes, count, info, s->fill[op]);
    *results = s->filled.data;
    return code;
}

/* Writes the results of the operators to the variables of a NetCDF file: whole steps of the first
 * dimension, from number s->count on. */
static int write_variables(sink *s, const char *const *results, int64_t count)
{
    int64_t start[DIMS + 1] = {0}, box[DIMS + 1], step = 1;
    memcpy(box, s->shape, sizeof box);
    for (int d = 1; d < s->ndim; d++) step *= s->shape[d];
    box[0] = step ? count * s->ops->info->lanes / step : 0;
    start[0] = step ? s->count * s->ops->info->lanes / step : 0;
    for (int i = 0; i < s->ops->count && count; i++) {
        const void *const indexes = s->ops->index_of ? results[s->ops->index_of[i]] : NULL;
        const char *put = results[i];
        if (s->fills) {
            const int code = fill(s, i, &put, indexes, count);
            if (code) return code;
        }
        const tally_status status = tally_file_write_box(s->file, i, start, box, put);
        if (status) return code_of(s->ctx, status);
    }
    return DONE;
}

int sink_write(sink *s, const char *const *results, int64_t count)
{
    const operators *const ops = s->ops;
    int code = DONE;
    for (int k = 0; k < ops->all && !code; k++) {
        const size_t size = tally_dtype_size(ops->info[k].output);
        const int64_t n = count * ops->info[k].lanes;
        if (s->hashed && k < ops->count) sha256_values(&s->hash[k], results[k], size, n);
        if (s->values) code = keep_results(&s->kept[k], results[k], (size_t)n * size);
    }
    if (!code && s->netcdf) code = write_variables(s, results, count);
    s->count += count;
    if (code || s->table) return code ? code : sheet_write(s->table, results, count);
    if (!s->file) return ferror(stdout) ? stdout_finish(DONE) : DONE;
    if (s->netcdf) return DONE;
    const void *const indexes = ops->index_of ? results[ops->index_of[0]] : NULL;
    const tally_status status = tally_file_write(s->file, results[0], count * ops->info->lanes);
    return status ? stdout_failed(s, status) : bitmap_write(s->valid, indexes, count);
}

static void write_document(const sink *s)
{
    const input *const in = s->in;
    tally_file_info info;
    tally_file_get_info(in->file, &info);
    answer a = {.file = in->name,
                .dtype = in->dtype,
                .n = in->n,
                .skipped = info.skipped,
                .ndim = in->ndim,
                .ran = ran_since(s->ctx, NULL),
                .names = in->columns ? (char **)(size_t)in->info.columns : NULL,
                .named = in->info.columns ? in->columns : 0,
                .count = s->count,
                .per = "element",
                .results = s->results,
                .ops = s->ops->count};
    memcpy(a.shape, in->shape, sizeof a.shape);
    if (a.ndim == 1) a.shape[0] = a.n;
    if (in->columns) a.shape[0] = a.n / in->columns;
    for (int k = 0; k < a.ops; k++) {
        s->results[k].bits = s->kept[k].data;
        s->results[k].indexes = s->ops->index_of ? s->kept[s->ops->index_of[k]].data : NULL;
    }
    json_answer(s->doc.f, s->ctx, &a, s->values, s->file || s->table ? s->path : NULL);
    fputc('\n', s->doc.f);
}

/* Prints the digests: one alone, or several with their operators' names. */
static void print_digests(const sink *s)
{
    const int n = s->ops->count;
    for (int k = 0; k < n && n > 1; k++) printf("%s%s", s->ops->shown[k], k + 1 < n ? "\t" : "\n");
    for (int k = 0; k < n; k++) printf("%s%s", s->results[k].digest, k + 1 < n ? "\t" : "\n");
}

/* Prints the document or the digests after the values were written. */
static int report(sink *s, int code)
{
    for (int k = 0; k < s->ops->count && s->hashed; k++)
        sha256_end(&s->hash[k], s->results[k].digest);
    const int in_document = s->json && !s->doc.file;
    if (!code && s->json) write_document(s);
    if (s->json) code = document_close(&s->doc, code);
    if (!code && s->hashed && !in_document) print_digests(s);
    return code;
}

int sink_close(sink *s, int code)
{
    if (!s) return code;
    if (s->table) code = sheet_close(s->table, code);
    code = bitmap_close(s->valid, code);
    if (!code && s->file) {
        const tally_status status = tally_file_commit(s->file);
        if (status) code = stdout_failed(s, status);
    }
    tally_file_close(s->file); /* a file that was not committed is removed */
    code = s->results ? report(s, code) : code;
    for (int k = 0; s->kept && k < s->ops->all; k++) free(s->kept[k].data);
    free(s->filled.data);
    free(s->fill);
    free(s->kept);
    free(s->hash);
    free(s->results);
    free(s);
    return code;
}
