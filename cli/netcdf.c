/* SPDX-License-Identifier: MIT
 * netcdf.c - results as NetCDF or HDF5: the names of the dimensions, what their steps are, and
 * which results are none.
 *
 *     temp(time, lat, lon), lat(lat), lon(lon)    reduce mean --axis time    mean(lat, lon), lat(lat), lon(lon)
 *     and season(time)                            and --by season            mean(season, lat, lon), season(season)
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

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
            at += sprintf(at, "%s%s", at > text ? ", " : "",
                          d == axis ? name : in->info.dimensions[d]);
    return text;
}

/* The operator, and the dimensions as in "lat, lon". Names that cannot be written: there are
   others without them. */
static tally_status name_all(tally_file *file, const char *op, const char *dimensions, int lanes)
{
    char line[1024], *at = line;
    if (!dimensions || strlen(op) + strlen(dimensions) + 16 > sizeof line) return TALLY_OK;
    for (; *op; op++) *at++ = strchr(":=", *op) ? '_' : *op; /* which names need not have */
    sprintf(at, "(%s%s%s)", dimensions, lanes > 1 && *dimensions ? ", " : "",
            lanes > 1 ? "value" : "");
    const tally_status status = tally_file_head(file, line);
    return status == TALLY_INVALID ? TALLY_OK : status;
}

static int set_fill(tally_file *file, tally *ctx, const options *o, tally_dtype dtype, void *value)
{
    const char *const word = o->value[OPT_empty];
    if (!has(o, OPT_empty)) return DONE;
    if (tally_parse_value(dtype, word, strlen(word), value))
        return fail(USAGE, "--empty is '%s': must be a %s, the value that stands for none in %s",
                    word, tally_dtype_name(dtype), o->value[OPT_output]);
    const tally_status status = tally_file_fill(file, value);
    return status ? fail_status(ctx, status) : DONE;
}

void netcdf_fill(void *results, const void *places, int64_t count, const tally_operator_info *info,
                 const void *value)
{
    const size_t size = tally_dtype_size(info->output);
    char *at = results;
    for (int64_t i = 0; places && i < count; i++)
        for (int lane = 0; lane < info->lanes; lane++, at += size)
            if (!has_value(places, i)) memcpy(at, value, size);
}

/* The keys of groups, of which there is one for each step of dimension `at`. */
static int put_keys(tally_file *file, tally *ctx, const answer *a, int at)
{
    char *const values = malloc((size_t)a->key_groups * 8 + 1);
    int code = values ? DONE : fail_memory("the keys", a->key_groups * 8);
    for (int64_t c = 0; c < a->key_columns && !code; c++) {
        const size_t size = tally_dtype_size(a->key_dtypes[c]);
        const char *const slash = strrchr(a->key_names[c], '/');
        for (int64_t i = 0; i < a->key_groups; i++) { /* their shortest decimals are exact */
            const char *const cell = a->keys[i * a->key_columns + c];
            tally_parse_value(a->key_dtypes[c], cell, strlen(cell), values + (size_t)i * size);
        }
        const tally_status status = tally_file_coordinate(file, slash ? slash + 1 : a->key_names[c],
                                                          at, a->key_dtypes[c], values);
        if (status) code = fail_status(ctx, status);
    }
    free(values);
    return code;
}

int netcdf_describe(tally_file *file, tally *ctx, const netcdf_of *of)
{
    const answer *const a = of->groups;
    tally_status status = name_all(file, of->op, of->dimensions, of->lanes);
    int code = status ? fail_status(ctx, status) : set_fill(file, ctx, of->o, of->dtype, of->fill);
    if (!code && a && a->key_dtypes) code = put_keys(file, ctx, a, a->axis);
    if (!code && of->dimensions && of->source && (status = tally_file_like(file, of->source)))
        code = fail_status(ctx, status);
    return code;
}
