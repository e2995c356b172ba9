/* SPDX-License-Identifier: MIT
 * sink.c - where the results of scan and window go: a file or text on standard output, a JSON object, a digest. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

struct sink {
    tally *ctx;
    tally_file *file; /* NULL: JSON values, or only a digest */
    const char *op, *path;
    tally_operator_info info;
    int json, hashed, values; /* values: JSON lists them, since no file does */
    int to_stdout;
    int64_t count;
    sha256 hash;
};

int sink_open(sink **sink_, tally *ctx, const options *o, const input *in, const char *op,
              const tally_operator_info *info, int ndim, const int64_t *shape)
{
    sink *const s = *sink_ = calloc(1, sizeof *s);
    if (!s) return fail_memory("the output", sizeof *s);
    s->ctx = ctx;
    s->op = op;
    s->info = *info;
    s->json = has(o, OPT_json);
    s->hashed = has(o, OPT_digest);
    s->path = o->value[OPT_output];
    sha256_begin(&s->hash);
    const char *const path = s->path ? s->path : "-";
    s->to_stdout = !strcmp(path, "-");
    if (s->to_stdout && s->json) { /* one object: its head, the values as they come, its tail */
        s->values = !s->hashed;
        fputs("{\"file\": ", stdout);
        print_json_string(stdout, in->name);
        fprintf(stdout, ", \"dtype\": \"%s\", \"op\": ", tally_dtype_name(in->dtype));
        print_json_string(stdout, op);
        fprintf(stdout, ", \"order\": \"E v1\", \"output\": \"%s\"", tally_dtype_name(info->output));
        if (s->values) fputs(", \"values\": [", stdout);
        return DONE;
    }
    if (s->to_stdout && s->hashed) return DONE;
    int64_t dims[DIMS + 1];
    memcpy(dims, shape, (size_t)ndim * sizeof *dims);
    if (info->lanes > 1 && ndim == DIMS)
        return fail(USAGE, "%s: several values a result need one more dimension than there is", in->label);
    if (info->lanes > 1) dims[ndim++] = info->lanes;
    const tally_status status =
        tally_file_create(ctx, path, o->value[OPT_to], info->output, ndim, dims, has(o, OPT_hex), &s->file);
    if (!status) return DONE;
    if (s->to_stdout && stdout_closed()) return CLOSED_PIPE;
    return fail_status(ctx, status);
}

int sink_write(sink *s, const void *results, int64_t count)
{
    const size_t size = tally_dtype_size(s->info.output);
    const int64_t n = count * s->info.lanes;
    if (s->hashed) sha256_values(&s->hash, results, size, n);
    for (int64_t i = 0; i < n && s->values; i++) {
        const int lane = (int)(i % s->info.lanes);
        if (s->count || i) fputs(", ", stdout);
        if (s->info.lanes > 1 && !lane) fputc('[', stdout);
        print_json_value(stdout, s->info.output, (const char *)results + (size_t)i * size);
        if (s->info.lanes > 1 && lane == s->info.lanes - 1) fputc(']', stdout);
    }
    s->count += count;
    if (!s->file) return ferror(stdout) ? stdout_finish(DONE) : DONE;
    const tally_status status = tally_file_write(s->file, results, n);
    if (!status) return DONE;
    if (s->to_stdout && stdout_closed()) return CLOSED_PIPE;
    return fail_status(s->ctx, status);
}

int sink_close(sink *s, int code)
{
    if (!s) return code;
    if (!code && s->file) {
        const tally_status status = tally_file_commit(s->file);
        if (status) code = s->to_stdout && stdout_closed() ? CLOSED_PIPE : fail_status(s->ctx, status);
    }
    tally_file_close(s->file); /* a file that was not committed disappears */
    char hex[65] = "";
    sha256_end(&s->hash, hex);
    if (!code && s->json) {
        if (!s->to_stdout) {
            fputs("{\"op\": ", stdout);
            print_json_string(stdout, s->op);
            fprintf(stdout, ", \"order\": \"E v1\", \"output\": \"%s\", \"path\": ", tally_dtype_name(s->info.output));
            print_json_string(stdout, s->path);
        }
        fprintf(stdout, "%s, \"results\": %lld", s->values ? "]" : "", (long long)s->count);
        if (s->hashed) fprintf(stdout, ", \"sha256\": \"%s\"", hex);
        fputs("}\n", stdout);
    } else if (!code && s->hashed) {
        printf("%s\n", hex);
    }
    free(s);
    return code;
}
