/* SPDX-License-Identifier: MIT
 * document.c - where results go, by --output and --to; and bytes of the command line's own making (tables, JSON) as a
 * stream into a file that the library writes, so that there is one way to write files. */
#define _GNU_SOURCE
#include "cli.h"

#include <stdlib.h>
#include <string.h>

int output_filed(const options *o) { return has(o, OPT_output) && strcmp(o->value[OPT_output], "-") != 0; }

enum format output_format(const options *o)
{
    static const struct {
        const char *name, *ending;
        enum format format;
    } formats[] = {{"npy", ".npy", TO_NPY}, {"raw", ".raw", TO_RAW},      {"text", ".txt", TO_TEXT},
                   {"csv", ".csv", TO_CSV}, {"netcdf", ".nc", TO_NETCDF}, {"json", ".json", TO_JSON}};
    const char *const to = o->value[OPT_to], *const path = o->value[OPT_output];
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const size_t n = path ? strlen(path) : 0, m = strlen(formats[i].ending);
        if (to ? !strcmp(to, formats[i].name) : n > m && !strcmp(path + n - m, formats[i].ending))
            return formats[i].format;
    }
    return output_filed(o) ? TO_RAW : TO_TEXT;
}

int output_ending(const options *o)
{
    static const char *const endings[] = {".nc4", ".cdf", ".h5", ".he5", ".hdf5"};
    const char *const end = has(o, OPT_output) && !has(o, OPT_to) ? strrchr(o->value[OPT_output], '.') : NULL;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && end; i++)
        if (!strcmp(end, endings[i]))
            return fail(USAGE, "--output %s: NetCDF is written to .nc (CDF-5), and HDF5 is not written",
                        o->value[OPT_output]);
    return DONE;
}

char *dimensions_of(const input *in, int axis, const char *name)
{
    size_t n = 1 + (name ? strlen(name) + 2 : 0);
    for (int d = 0; d < in->ndim; d++) {
        if (!in->info.dimensions || !in->info.dimensions[d]) return NULL;
        n += strlen(in->info.dimensions[d]) + 2;
    }
    char *const text = malloc(n), *at = text;
    if (text) *at = 0;
    for (int d = 0; d < in->ndim && text; d++)
        if (d != axis || name)
            at += sprintf(at, "%s%s", at > text ? ", " : "", d == axis ? name : in->info.dimensions[d]);
    return text;
}

tally_status name_netcdf(tally_file *file, const char *op, const char *dimensions, int lanes)
{
    char line[1024], *at = line;
    if (!dimensions || strlen(op) + strlen(dimensions) + 16 > sizeof line) return TALLY_OK;
    for (; *op; op++) *at++ = strchr(":=", *op) ? '_' : *op; /* which names may not have */
    sprintf(at, "(%s%s%s)", dimensions, lanes > 1 && *dimensions ? ", " : "", lanes > 1 ? "value" : "");
    const tally_status status = tally_file_head(file, line);
    return status == TALLY_INVALID ? TALLY_OK : status; /* names that cannot be written: there are others without it */
}

static ssize_t write_cookie(void *cookie, const char *data, size_t bytes)
{
    document *const d = cookie;
    if (!d->status) d->status = tally_file_write(d->file, data, (int64_t)bytes);
    return d->status ? 0 : (ssize_t)bytes;
}

int document_open(document *d, tally *ctx, const char *path)
{
    static const int64_t any[] = {-1};
    *d = (document){.ctx = ctx, .f = stdout};
    if (!path) return DONE;
    d->f = NULL;
    const tally_status status = tally_file_create(ctx, path, "raw", TALLY_U8, 1, any, 0, &d->file);
    if (status) return fail_status(ctx, status);
    d->f = fopencookie(d, "w", (cookie_io_functions_t){.write = write_cookie});
    return d->f ? DONE : fail_memory(path, BUFSIZ);
}

int document_close(document *d, int code)
{
    if (!d->file) return !code && d->f && ferror(d->f) ? stdout_finish(DONE) : code;
    if (d->f) fclose(d->f); /* what was gathered is written: status says how */
    if (!code && !d->status) d->status = tally_file_commit(d->file);
    if (!code && d->status) code = fail_status(d->ctx, d->status);
    tally_file_close(d->file);
    return code;
}
