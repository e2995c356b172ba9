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

char *dimension_names(const input *in, unsigned axes, const char *name)
{
    size_t n = 1 + (name ? strlen(name) + 2 : 0);
    for (int d = 0; d < in->ndim; d++) {
        if (!in->info.dimensions || !in->info.dimensions[d]) return NULL;
        n += strlen(in->info.dimensions[d]) + 2;
    }
    char *const text = malloc(n), *at = text;
    if (text) *at = 0;
    for (int d = 0; d < in->ndim && text; d++)
        if (!(axes >> d & 1) || name)
            at += sprintf(at, "%s%s", at > text ? ", " : "",
                          axes >> d & 1 ? name : in->info.dimensions[d]);
    return text;
}

const char *netcdf_key(const answer *a, int64_t c)
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
        if (!strcmp(netcdf_key(a, c), name)) return 1;
    return 0;
}

enum { NAME = 256, LINE = NAME + 1024 };

/* The i-th name of --name. Returns its length. */
static size_t given_name(const char *list, int i, const char **name)
{
    for (; i && *list; i--) list += strcspn(list, ",") + (list[strcspn(list, ",")] != 0);
    *name = list;
    return strcspn(list, ",");
}

int netcdf_check(const options *o, int ops)
{
    if (!has(o, OPT_name)) return DONE;
    const char *const list = o->value[OPT_name];
    int count = 1;
    for (const char *at = list; *at; at++) count += *at == ',';
    if (!is_netcdf(output_format(o)))
        return usage("--name is '%s', the variables of a NetCDF file, and the results go to %s",
                     list, format_name(output_format(o)));
    return count == ops ? DONE
                        : usage("--name is '%s': %d name%s for %d operator%s", list, count,
                                count == 1 ? "" : "s", ops, ops == 1 ? "" : "s");
}

/* Writes the name of result i: temp_mean of variable temp. If a dimension is called sum, the sum
 * of a text is "sum_result". */
static void name_of(const netcdf_of *of, int i, const char *variable, char *out)
{
    const char *name;
    const int lone = !of->dimensions && of->ops == 1;
    if (has(of->o, OPT_name)) {
        const size_t length = given_name(of->o->value[OPT_name], i, &name);
        snprintf(out, NAME, "%.*s", (int)(length < NAME ? length : NAME), name);
        return;
    }
    snprintf(out, NAME - 16, "%s%s%s", variable ? variable : "", variable ? "_" : "",
             lone ? "data" : of->results[i].op);
    for (char *at = out; *at; at++) /* some readers do not accept : and = in names */
        if (strchr(":=", *at)) *at = '_';
    if (is_taken(out, of->dimensions ? of->dimensions : "", of->groups)) strcat(out, "_result");
}

/* The dimensions as in "lat, lon", or "dim0, dim1" if they have no names. */
static int dimensions_text(const tally_file *file, const netcdf_of *of, int named, char *out)
{
    tally_file_info info;
    char *at = out;
    tally_file_get_info(file, &info);
    if (named && strlen(of->dimensions) + 16 > LINE - NAME) return 0;
    if (named)
        sprintf(out, "%s%s%s", of->dimensions,
                of->results->info.lanes > 1 && *of->dimensions ? ", " : "",
                of->results->info.lanes > 1 ? "value" : "");
    else
        for (int d = 0; d < info.ndim; d++) at += sprintf(at, "%sdim%d", d ? ", " : "", d);
    return 1;
}

static int set_fill(tally_file *file, tally *ctx, const netcdf_of *of, int i)
{
    const options *const o = of->o;
    const tally_dtype dtype = of->results[i].info.output;
    const char *const word = has(o, OPT_empty) ? o->value[OPT_empty] : "nan";
    if (!has(o, OPT_empty) && dtype < TALLY_F16) return DONE;
    if (!parse_literal(dtype, word, of->fill[i]))
        return usage("--empty is '%s': must be a %s, the value that stands for none in %s", word,
                     tally_dtype_name(dtype), o->value[OPT_output]);
    return code_of(ctx, tally_file_fill(file, of->fill[i]));
}

/* Defines the variables of all results. If a name of the input's dimensions cannot be written,
 * other names are used. name: of each result. */
static int define(tally_file *file, tally *ctx, const netcdf_of *of, const char *variable,
                  char (*name)[NAME])
{
    char dimensions[LINE - NAME], line[LINE];
    for (int i = 0; i < of->ops && of->ops > 1; i++)
        if (of->results[i].info.lanes > 1)
            return usage(
                "operator '%s' has %d values a result: write it to a NetCDF file of its own",
                of->results[i].op, of->results[i].info.lanes);
    int named = of->dimensions && dimensions_text(file, of, 1, dimensions);
    if (!named) dimensions_text(file, of, 0, dimensions);
    for (int i = 0; i < of->ops; i++) {
        name_of(of, i, variable, name[i]);
        snprintf(line, sizeof line, "%s(%s)", name[i], dimensions);
        tally_status status = i ? tally_file_variable(file, line, of->results[i].info.output, NULL)
                                : tally_file_head(file, line);
        if (status == TALLY_INVALID && named && !i && !has(of->o, OPT_name)) {
            named = 0;
            dimensions_text(file, of, 0, dimensions);
            strcpy(name[i], "data");
            snprintf(line, sizeof line, "data(%s)", dimensions);
            status = tally_file_head(file, line);
        }
        int code = code_of(ctx, status);
        if (!code) code = set_fill(file, ctx, of, i);
        if (code) return code;
    }
    return DONE;
}

void netcdf_fill(void *results, const void *indexes, int64_t count, const tally_operator_info *info,
                 const void *value)
{
    const size_t size = tally_dtype_size(info->output);
    char *at = results;
    for (int64_t i = 0; indexes && i < count; i++)
        for (int lane = 0; lane < info->lanes; lane++, at += size)
            if (!has_value(indexes, i)) memcpy(at, value, size);
}

/* Writes the keys of groups as coordinates of dimension `at`, which has one step per group. */
static int put_keys(tally_file *file, tally *ctx, const answer *a, int at)
{
    int code = DONE;
    char *const values = memory_for(&code, "the keys", a->key_groups, 8);
    for (int64_t c = 0; c < a->key_columns && !code; c++) {
        const size_t size = tally_dtype_size(a->key_dtypes[c]);
        int seasons = 0;
        for (int64_t i = 0; i < a->key_groups; i++) { /* the shortest decimals read back exactly */
            const char *const cell = a->keys[i * a->key_columns + c];
            char *const to = values + (size_t)i * size;
            const int32_t season = calendar_season_number(cell);
            seasons |= season;
            if (season)
                memcpy(to, &season, size);
            else
                tally_parse_value(a->key_dtypes[c], cell, strlen(cell), to);
        }
        tally_status status =
            tally_file_coordinate(file, netcdf_key(a, c), at, a->key_dtypes[c], values);
        if (!status && seasons)
            status = tally_file_attribute(file, netcdf_key(a, c), "long_name",
                                          "1 DJF, 2 MAM, 3 JJA, 4 SON");
        code = code_of(ctx, status);
    }
    free(values);
    return code;
}

int netcdf_describe(tally_file *file, tally *ctx, const netcdf_of *of)
{
    const answer *const a = of->groups;
    tally_file_info in;
    int code = DONE;
    char(*const name)[NAME] = memory_for(&code, "the names", of->ops, sizeof *name);
    tally_file_get_info(of->source, &in);
    if (!code) code = define(file, ctx, of, of->dimensions ? in.variable : NULL, name);
    if (!code && a && a->key_dtypes) code = put_keys(file, ctx, a, a->axis);
    if (!code && of->dimensions && of->source)
        code = code_of(ctx, tally_file_like(file, of->source));
    if (!code && of->times && of->times->count)
        code = times_write(of->times, file, ctx, a ? groups_dimension(a) : "");
    for (int i = 0; i < of->ops && of->source && !code; i++)
        code = attributes_result(file, ctx, of, i, name[i]);
    free(name);
    return code ? code : attributes_file(file, ctx, of->o);
}
