/* SPDX-License-Identifier: MIT
 * sink.c - where the results of scan and window go: a file or text on standard output, a JSON document, a digest
 * (doc/formats.md, "Results"). */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

struct sink {
    tally *ctx;
    const input *in;
    tally_file *file; /* NULL: a document, or only a digest */
    document doc;
    const char *op, *path;
    tally_operator_info info;
    int json, hashed, to_stdout; /* json: there is a document */
    int values;                  /* which has the values and, from memory, the bits */
    char *bits;
    size_t used, room;
    int64_t count;
    sha256 hash;
};

static int stdout_failed(const sink *s, tally_status status)
{
    if (s->to_stdout && stdout_closed()) return CLOSED_PIPE;
    return fail_status(s->ctx, status);
}

/* The names of the columns: of the values of a result, or of the places along the last axis. */
static int head(const sink *s, int ndim, const int64_t *dims)
{
    char name[80], *line = NULL;
    size_t bytes;
    const int64_t columns = ndim > 1 ? dims[ndim - 1] : 1;
    FILE *const f = open_memstream(&line, &bytes);
    if (!f) return fail_memory("the names of the columns", columns);
    if (ndim == 1 || s->info.lanes > 1)
        for (int lane = 0; lane < s->info.lanes; lane++)
            fprintf(f, "%s%s", lane ? "," : "", lane_name(s->op, s->info.lanes, lane, name, sizeof name));
    else
        for (int64_t i = 0; i < columns; i++) fprintf(f, "%s%s.%lld", i ? "," : "", s->op, (long long)i);
    const int bad = fclose(f) != 0;
    const tally_status status = bad ? TALLY_OK : tally_file_head(s->file, line);
    free(line);
    return bad ? fail_memory("the names of the columns", columns) : status ? stdout_failed(s, status) : DONE;
}

static int open_file(sink *s, const options *o, enum format format, int ndim, const int64_t *shape)
{
    static const char *const names[] = {[TO_TEXT] = "text", [TO_CSV] = "csv", [TO_NPY] = "npy", [TO_RAW] = "raw"};
    int64_t dims[DIMS + 1];
    memcpy(dims, shape, (size_t)ndim * sizeof *dims);
    if (s->info.lanes > 1 && ndim == DIMS)
        return fail(USAGE, "%s: several values a result need one more dimension than there is", s->in->label);
    if (s->info.lanes > 1) dims[ndim++] = s->info.lanes;
    const tally_status status = tally_file_create(s->ctx, s->to_stdout ? "-" : s->path, names[format], s->info.output,
                                                  ndim, dims, has(o, OPT_hex), &s->file);
    if (status) return stdout_failed(s, status);
    return format == TO_CSV ? head(s, ndim, dims) : DONE;
}

static void begin_document(const sink *s)
{
    json_begin(s->doc.f, s->in->name, s->in->dtype);
    json_result(s->doc.f, 0, s->op, s->info.output, "element");
}

int sink_open(sink **sink_, tally *ctx, const options *o, const input *in, const char *op,
              const tally_operator_info *info, int ndim, const int64_t *shape)
{
    sink *const s = *sink_ = calloc(1, sizeof *s);
    if (!s) return fail_memory("the output", sizeof *s);
    const enum format format = output_format(o);
    s->ctx = ctx;
    s->in = in;
    s->op = op;
    s->info = *info;
    s->path = o->value[OPT_output];
    s->to_stdout = !output_filed(o);
    s->hashed = has(o, OPT_digest);
    s->json = has(o, OPT_json) || format == TO_JSON;
    s->values = s->json && (format == TO_JSON || s->to_stdout) && !(s->to_stdout && s->hashed);
    sha256_begin(&s->hash);
    int code = DONE;
    if (format != TO_JSON && (!s->to_stdout || (!s->json && !s->hashed))) code = open_file(s, o, format, ndim, shape);
    if (code || !s->json) return code;
    code = document_open(&s->doc, ctx, format == TO_JSON && !s->to_stdout ? s->path : NULL);
    if (!code && s->values) {
        begin_document(s);
        fputs(", \"values\": [", s->doc.f);
    }
    return code;
}

/* The results once more, for their bits. */
static int keep(sink *s, const void *results, size_t bytes)
{
    if (bytes > s->room - s->used) {
        const size_t room = s->room * 2 > s->used + bytes ? s->room * 2 : s->used + bytes;
        char *const more = realloc(s->bits, room);
        if (!more) return fail_memory("--json, which keeps the results for their bits,", (int64_t)room);
        s->bits = more;
        s->room = room;
    }
    memcpy(s->bits + s->used, results, bytes);
    s->used += bytes;
    return DONE;
}

int sink_write(sink *s, const void *results, int64_t count)
{
    const int64_t n = count * s->info.lanes;
    const size_t size = tally_dtype_size(s->info.output);
    if (s->hashed) sha256_values(&s->hash, results, size, n);
    if (s->values && count) {
        const int code = keep(s, results, (size_t)n * size);
        if (code) return code;
        json_list(s->doc.f, &s->info, results, s->count, count, print_json_value);
    }
    s->count += count;
    if (!s->file) return ferror(s->doc.f ? s->doc.f : stdout) && !s->doc.file ? stdout_finish(DONE) : DONE;
    const tally_status status = tally_file_write(s->file, results, n);
    return status ? stdout_failed(s, status) : DONE;
}

static void finish_document(sink *s, const char *hex)
{
    FILE *const f = s->doc.f;
    tally_file_info info;
    tally_file_get_info(s->in->file, &info);
    answer a = {.n = s->in->n, .skipped = info.skipped, .ndim = s->in->ndim, .ran = ran_since(s->ctx, NULL)};
    memcpy(a.shape, s->in->shape, sizeof a.shape);
    if (a.ndim == 1) a.shape[0] = a.n;
    if (s->values) {
        fputs("], \"bits\": [", f);
        json_list(f, &s->info, s->bits, 0, s->count, print_json_bits);
        fputc(']', f);
    } else {
        begin_document(s); /* not before the values are in their file */
    }
    fprintf(f, ", \"count\": %lld", (long long)s->count);
    if (s->hashed) fprintf(f, ", \"sha256\": \"%s\"", hex);
    fputc('}', f);
    json_end(f, s->ctx, &a, s->file ? s->path : NULL);
    fputc('\n', f);
}

int sink_close(sink *s, int code)
{
    if (!s) return code;
    char hex[65] = "";
    sha256_end(&s->hash, hex);
    if (!code && s->file) {
        const tally_status status = tally_file_commit(s->file);
        if (status) code = stdout_failed(s, status);
    }
    tally_file_close(s->file); /* a file that was not committed disappears */
    if (!code && s->json) finish_document(s, hex);
    const int in_document = s->json && !s->doc.file;
    if (s->json) code = document_close(&s->doc, code);
    if (!code && s->hashed && !in_document) printf("%s\n", hex);
    free(s->bits);
    free(s);
    return code;
}
