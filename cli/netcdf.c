/* SPDX-License-Identifier: MIT
 * netcdf.c - results as NetCDF or HDF5: the names of the dimensions, their coordinates, and the
 * results without a value.
 *
 *     temp(time, lat, lon), lat(lat), lon(lon)    -->  reduce mean --axis time
 *                                                      mean(lat, lon), lat(lat), lon(lon)
 *     and season(time)                            -->  and --by season
 *                                                      mean(season, lat, lon), season(season) */
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

static const char *key_name(const answer *a, int64_t c) /* without its group */
{
    const char *const slash = strrchr(a->key_names[c], '/');
    return slash ? slash + 1 : a->key_names[c];
}

/* Whether `name` is a dimension or a key, for which the file has a variable too. */
static int is_taken(const char *name, const char *dimensions, const answer *a)
{
    const size_t n = strlen(name);
    for (const char *at = dimensions; *at; at += strspn(at, ", ")) {
        const size_t length = strcspn(at, ",");
        if (length == n && !memcmp(at, name, n)) return 1;
        at += length;
    }
    for (int64_t c = 0; a && a->key_dtypes && c < a->key_columns; c++)
        if (!strcmp(key_name(a, c), name)) return 1;
    return 0;
}

/* Sets the names of the results' variable and dimensions. If a dimension is called sum:
 * "sum_result(sum, lat)". */
static tally_status name_as(tally_file *file, const char *name, const char *dimensions,
                            const answer *a)
{
    static const char more[] = "_result";
    char line[1024], *at = line;
    if (strlen(name) + strlen(dimensions) + 64 > sizeof line) return TALLY_INVALID;
    /* some readers do not accept : and = in names */
    for (; *name; name++) *at++ = strchr(":=", *name) ? '_' : *name;
    *at = 0;
    while (is_taken(line, dimensions, a)) {
        if (at + sizeof more + strlen(dimensions) + 3 > line + sizeof line) return TALLY_INVALID;
        at = strcpy(at, more) + sizeof more - 1;
    }
    sprintf(at, "(%s)", dimensions);
    return tally_file_head(file, line);
}

/* Sets the operator's name, and the dimensions as in "lat, lon". If a name cannot be written,
 * other names are used. */
static tally_status name_all(tally_file *file, const netcdf_of *of)
{
    char plain[8 * DIMS + 8] = "", *at = plain;
    tally_file_info info;
    tally_status status = TALLY_INVALID;
    if (!of->dimensions) return TALLY_OK;
    char *const dimensions = malloc(strlen(of->dimensions) + 16);
    if (dimensions) {
        sprintf(dimensions, "%s%s%s", of->dimensions, of->lanes > 1 && *of->dimensions ? ", " : "",
                of->lanes > 1 ? "value" : "");
        status = name_as(file, of->op, dimensions, of->groups);
    }
    free(dimensions);
    if (status != TALLY_INVALID) return status;
    tally_file_get_info(file, &info);
    for (int d = 0; d < info.ndim; d++) at += sprintf(at, "%sdim%d", d ? ", " : "", d);
    return name_as(file, "data", plain, of->groups);
}

static int set_fill(tally_file *file, tally *ctx, const options *o, tally_dtype dtype, void *value)
{
    const char *const word = o->value[OPT_empty];
    if (!has(o, OPT_empty)) return DONE;
    if (!parse_literal(dtype, word, value))
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

/* Writes the keys of groups as coordinates of dimension `at`, which has one step per group. */
static int put_keys(tally_file *file, tally *ctx, const answer *a, int at)
{
    char *const values = malloc((size_t)a->key_groups * 8 + 1);
    int code = values ? DONE : fail_memory("the keys", a->key_groups * 8);
    for (int64_t c = 0; c < a->key_columns && !code; c++) {
        const size_t size = tally_dtype_size(a->key_dtypes[c]);
        for (int64_t i = 0; i < a->key_groups; i++) { /* the shortest decimals read back exactly */
            const char *const cell = a->keys[i * a->key_columns + c];
            tally_parse_value(a->key_dtypes[c], cell, strlen(cell), values + (size_t)i * size);
        }
        const tally_status status =
            tally_file_coordinate(file, key_name(a, c), at, a->key_dtypes[c], values);
        if (status) code = fail_status(ctx, status);
    }
    free(values);
    return code;
}

int netcdf_describe(tally_file *file, tally *ctx, const netcdf_of *of)
{
    const answer *const a = of->groups;
    tally_status status = name_all(file, of);
    int code = status ? fail_status(ctx, status) : set_fill(file, ctx, of->o, of->dtype, of->fill);
    if (!code && a && a->key_dtypes) code = put_keys(file, ctx, a, a->axis);
    if (!code && of->dimensions && of->source && (status = tally_file_like(file, of->source)))
        code = fail_status(ctx, status);
    return code;
}
