/* SPDX-License-Identifier: MIT
 * output.c - writes the results of reduce (doc/formats.md, "Results"): a table, a typed file,
 * JSON. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int result_open(result *r, tally *ctx, const char *op, tally_dtype dtype, int64_t count)
{
    int code = operator_info(ctx, op, dtype, &r->info);
    r->bits = memory_for(&code, "the results", count, code ? 1 : result_bytes(&r->info));
    return code;
}

void result_text(const result *r, int64_t at, int hex, char *out)
{
    const char *const value = (char *)r->bits + (size_t)at * tally_dtype_size(r->info.output);
    if (r->date && !hex)
        date_text(r->date, whole_value(TALLY_I64, value), out);
    else
        tally_format_value(r->info.output, value, hex, out, RESULT_BYTES);
}

/* Whether there are several files with results of their own, so that results need file names. */
static int several(const options *o) { return o->nargs > 2 && !axis_named(o); }

static void digest_of(const answer *a, result *r)
{
    sha256 s;
    sha256_begin(&s);
    sha256_values(&s, r->bits, tally_dtype_size(r->info.output), a->count * r->info.lanes);
    sha256_end(&s, r->digest);
}

/* Prints one object, or a list of objects if several files were given, even if only one of them
 * could be read. Standard output names the file that has the values. */
static void print_documents(FILE *f, const tally *ctx, const answer *answers, int files,
                            const options *o, int values)
{
    const int named = several(o);
    const char *const path = f == stdout && output_is_file(o) ? o->value[OPT_output] : NULL;
    if (named) fputs("[\n", f);
    for (int i = 0; i < files; i++) {
        if (i) fputs(",\n", f);
        json_answer(f, ctx, &answers[i], values, path);
    }
    fputs(named ? "\n]\n" : "\n", f);
}

int output_check(const options *o, int ops)
{
    const enum format format = output_format(o);
    const int code = netcdf_check(o, ops);
    if (code || ops == 1 || format < TO_NPY || format > TO_HDF5 ||
        (!output_is_file(o) && (has(o, OPT_json) || has(o, OPT_digest))))
        return code;
    if (is_netcdf(format) && !several(o)) return DONE;
    if (is_netcdf(format))
        return usage("--output %s: results of several operators and several files: join the files "
                     "by --axis NAME, give one operator, or write .csv or .txt",
                     o->value[OPT_output]);
    return usage("--output %s: %s files hold one type, so give one operator, or write .csv or .txt",
                 has(o, OPT_output) ? o->value[OPT_output] : "-", format_name(format));
}

/* For --by with one operator and several columns: joins the results of each group into one result
 * with its own bits and indexes. */
static int side_by_side(const answer *a, result *all)
{
    const size_t each = result_bytes(&a->results->info), size = sizeof(int64_t);
    const size_t count = (size_t)a->count, columns = (size_t)a->ops;
    const int64_t cells = a->count * a->ops;
    static const char what[] = "the results of all columns";
    int code = DONE;
    *all = a->results[0];
    char *const bits = all->bits = memory_for(&code, what, cells, each);
    char *const indexes = all->indexes ? memory_for(&code, what, cells, size) : NULL;
    for (size_t i = 0; i < count && !code; i++)
        for (size_t c = 0; c < columns; c++) {
            const result *const r = &a->results[c];
            memcpy(bits + (i * columns + c) * each, (const char *)r->bits + i * each, each);
            if (indexes)
                memcpy(indexes + (i * columns + c) * size, (const char *)r->indexes + i * size,
                       size);
        }
    all->indexes = indexes;
    return code;
}

/* The shape of the results. Returns the number of dimensions. */
static int shape_of(const answer *a, int files, enum format format, int64_t *shape)
{
    /* the array without its axis */
    const int whole = (is_netcdf(format) || format == TO_NPY) && !a->flat && a->axis >= 0;
    int ndim = !whole;
    shape[0] = a->flat ? files : a->count;
    for (int d = 0; d < a->ndim && whole; d++)
        if (!(a->axes >> d & 1) || a->keys)
            shape[ndim++] = a->axes >> d & 1 ? a->key_groups : a->shape[d];
    if (whole && ndim == 0) shape[ndim++] = 1;
    if (a->columns) shape[ndim++] = a->columns;
    if (a->results->info.lanes > 1) shape[ndim++] = a->results->info.lanes;
    return ndim;
}

/* Describes the content of a NetCDF file. */
static int describe(tally_file *file, tally *ctx, const answer *a, const options *o,
                    char (*fill)[8])
{
    tally_file_info in;
    char axis[DIMS * 258] = "";
    tally_file_get_info(a->source, &in);
    for (int d = 0; d < in.ndim && !a->flat && a->axis >= 0 && in.dimensions; d++)
        if (a->axes >> d & 1 && in.dimensions[d]) /* as in "lat: lon" */
            sprintf(axis + strlen(axis), "%s%.256s", *axis ? ": " : "", in.dimensions[d]);
    const netcdf_of of = {.o = o,
                          .dimensions = a->dimensions && *a->dimensions ? a->dimensions : NULL,
                          .ops = a->ops,
                          .results = a->results,
                          .groups = a,
                          .source = a->source,
                          .axis = *axis ? axis : NULL,
                          .times = a->times,
                          .fill = fill};
    return netcdf_describe(file, ctx, &of);
}

/* Writes the results: of one operator of each file, or of all operators to a NetCDF file. */
static int write_results(tally_file *file, tally *ctx, const answer *answers, int files,
                         const options *o, const int64_t *shape)
{
    const answer *const a = answers;
    const int64_t columns = a->columns ? a->columns : 1, from[DIMS + 1] = {0};
    const int netcdf = is_netcdf(output_format(o));
    int code = DONE;
    char(*const fill)[8] = memory_for(&code, "the results", a->ops, sizeof *fill);
    if (!code && netcdf) code = describe(file, ctx, a, o, fill);
    for (int i = 0; i < files && !code; i++) {
        const result *const one = answers[i].results;
        const int64_t n = answers[i].count * columns;
        if (netcdf && has(o, OPT_empty)) netcdf_fill(one->bits, one->indexes, n, &one->info, fill);
        code = code_of(ctx, tally_file_write(file, one->bits, n * one->info.lanes));
    }
    for (int i = 1; i < a->ops && !code; i++) {
        const result *const one = &a->results[i];
        if (has(o, OPT_empty)) netcdf_fill(one->bits, one->indexes, a->count, &one->info, fill[i]);
        code = code_of(ctx, tally_file_write_box(file, i, from, shape, one->bits));
    }
    free(fill);
    return code;
}

/* Writes the results of one operator, because the file has one type; NetCDF has several
 * variables. */
static int write_typed(tally *ctx, const char *path, enum format format, const answer *answers,
                       int files, const options *o)
{
    const answer *const a = &answers[0];
    if (a->ops > 1 && files == 1 && (!is_netcdf(format) || a->ops == a->width)) {
        result all;
        answer one = *a;
        int code = side_by_side(a, &all);
        one.results = &all;
        one.ops = 1;
        one.columns = a->ops;
        if (!code) code = write_typed(ctx, path, format, &one, files, o);
        free(all.bits);
        free(all.indexes);
        return code;
    }
    const result *const r = a->results;
    const int64_t columns = a->columns ? a->columns : 1;
    for (int i = 1; i < files; i++)
        if (answers[i].results->info.output != r->info.output)
            return usage("--output %s: the results of several files differ in type; write .csv or "
                         ".txt",
                         path);
    if (files > 1 && !a->flat)
        return usage("--output %s: each of several files has results of its own: write a file for "
                     "each of them%s, or .csv or .txt",
                     path,
                     is_netcdf(format)
                         ? " and join these, as `tally window first -w 1 --axis time` does"
                         : "");
    int64_t shape[DIMS + 1];
    const int ndim = shape_of(a, files, format, shape);
    tally_file *file;
    bitmap *valid = NULL;
    int code = code_of(ctx, tally_file_create(ctx, path, format_name(format), r->info.output, ndim,
                                              shape, 0, &file));
    if (!code) code = write_results(file, ctx, answers, files, o, shape);
    if (!code) code = bitmap_open(&valid, ctx, o);
    for (int i = 0; i < files && !code; i++)
        code = bitmap_write(valid, answers[i].results->indexes, answers[i].count * columns);
    code = bitmap_close(valid, code);
    if (!code) code = code_of(ctx, tally_file_commit(file));
    tally_file_close(file);
    return code;
}

/* Writes the values, to --output or, unless it is a typed format, to standard output. */
static int write_values(tally *ctx, const answer *answers, int files, const options *o,
                        enum format format)
{
    const char *const path = output_is_file(o) ? o->value[OPT_output] : NULL;
    const look values = {.format = format,
                         .named = several(o),
                         .people = !path && isatty(1) && !has(o, OPT_to) && !has(o, OPT_output),
                         .hex = has(o, OPT_hex),
                         .empty = o->value[OPT_empty]};
    document d;
    if (format >= TO_NPY && format <= TO_HDF5)
        return write_typed(ctx, path ? path : "-", format, answers, files, o);
    int code = document_open(&d, ctx, path);
    if (!code && format == TO_JSON)
        print_documents(d.f, ctx, answers, files, o, 1);
    else if (!code)
        code = print_table(d.f, answers, files, &values);
    return document_close(&d, code);
}

int print_answers(tally *ctx, const answer *answers, int files, const options *o)
{
    if (ending_check(o)) return USAGE;
    const enum format format = output_format(o);
    const int filed = output_is_file(o), digest = has(o, OPT_digest),
              json = has(o, OPT_json) || (!filed && format == TO_JSON);
    const look digests = {.format = filed ? TO_TEXT : format,
                          .named = several(o),
                          .people = isatty(1) && !has(o, OPT_to) && !has(o, OPT_output),
                          .digest = 1};
    const int code =
        filed || (!json && !digest) ? write_values(ctx, answers, files, o, format) : DONE;
    if (code) return code;
    for (int i = 0; i < files && digest; i++)
        for (int k = 0; k < answers[i].ops; k++) digest_of(&answers[i], &answers[i].results[k]);
    if (json && !(filed && format == TO_JSON))
        print_documents(stdout, ctx, answers, files, o, !filed && !digest);
    else if (digest)
        return print_table(stdout, answers, files, &digests);
    return DONE;
}
