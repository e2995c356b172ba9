/* SPDX-License-Identifier: MIT
 * minus.c - --minus FILE: anomalies. The values of another NetCDF file are subtracted, which has some
 * of the dimensions, by their names; or the dimension of groups, by the keys of the steps.
 *
 *    t2m(time, lat, lon) - clim(month, lat, lon), month(month):   the month of each time
 *
 * Each difference is calculated in f64 and rounded once to the type of the data, which is held in
 * memory. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct minus {
    input file;
    const input *in;
    const options *o;
    layout steps; /* the dimension whose steps have keys */
    /* for index i along dimension d of the data: the distance of its value in the file */
    int64_t *distance[DIMS];
} minus;

static int dimension_named(const input *in, const char *name)
{
    int d = 0;
    while (d < in->ndim && (!in->info.dimensions[d] || strcmp(in->info.dimensions[d], name) != 0))
        d++;
    return d < in->ndim ? d : -1;
}

/* Reads the keys of the file's groups, the coordinate of dimension k. */
static int read_groups(minus *m, int k, double **keys)
{
    const char *const name = m->file.info.dimensions[k];
    const tally_file_options f = {.format = "netcdf", .variable = name, .dtype = TALLY_F64};
    input in;
    int code = input_open_beside(&in, m->in->ctx, &f, m->file.name);
    if (code) return code;
    if (in.n != m->file.shape[k])
        code = fail(BAD_DATA, "%s: %s has %lld values, and the dimension of that name has %lld",
                    m->file.label, name, (long long)in.n, (long long)m->file.shape[k]);
    if (!code) code = input_load(&in, 0);
    *keys = memory_for(&code, "--minus", in.n, 8);
    if (!code) memcpy(*keys, in.data, (size_t)in.n * 8);
    input_close(&in);
    return code;
}

/* Finds the group of each step, by the part of its date or by a variable that are called as
 * dimension k of the file. */
static int match_groups(minus *m, int k, int64_t stride)
{
    const char *const name = m->file.info.dimensions[k];
    const int axis = m->steps.axis;
    char dotted[300];
    size_t length;
    double *keys = NULL;
    snprintf(dotted, sizeof dotted, "t.%.256s", name);
    const int part = calendar_part(dotted, &length);
    coordinate c = {.of = m->in,
                    .name = part >= 0 ? m->in->info.dimensions[axis] : name,
                    .as_stored = 1,
                    .part = part};
    int code = coordinate_read(&c, m->o, &m->steps);
    if (!code) code = read_groups(m, k, &keys);
    for (int64_t i = 0, at = 0; i < c.n && !code; i++) {
        const double key = coordinate_value(&c, i);
        /* most steps have the key of the step before, or the next one */
        for (int64_t tries = 0; keys[at] != key && tries <= m->file.shape[k]; tries++)
            at = at + 1 < m->file.shape[k] ? at + 1 : 0;
        if (keys[at] != key)
            code = fail(BAD_DATA, "--minus %s has no %s %g, which step %lld of %s has",
                        m->file.label, name, key, (long long)i, m->in->label);
        m->distance[axis][i] += at * stride;
    }
    free(keys);
    coordinate_free(&c);
    return code;
}

static int match(minus *m)
{
    int64_t stride = 1;
    int code = DONE;
    for (int k = m->file.ndim - 1; k >= 0 && !code; k--) {
        const char *const name = m->file.info.dimensions[k];
        const int64_t length = m->file.shape[k];
        const int d = name ? dimension_named(m->in, name) : -1;
        if (!name || !length)
            code = fail(BAD_DATA, "--minus %s is a single value or empty", m->file.label);
        else if (d >= 0 && length != m->in->shape[d])
            code = fail(BAD_DATA,
                        "--minus %s: the dimension %s is %lld long, and in %s it is %lld: must be "
                        "of the same grid",
                        m->file.label, name, (long long)length, m->in->label,
                        (long long)m->in->shape[d]);
        else if (d < 0)
            code = match_groups(m, k, stride);
        for (int64_t i = 0; d >= 0 && i < length && !code; i++) m->distance[d][i] += i * stride;
        stride *= length;
    }
    return code;
}

static void subtract(const minus *m, input *in)
{
    const int last = in->ndim - 1;
    const size_t size = tally_dtype_size(in->dtype);
    const double *const values = (const double *)(const void *)m->file.data;
    int64_t index[DIMS] = {0};
    for (int64_t row = 0; row < in->n; row += in->shape[last]) {
        int64_t from = 0;
        for (int d = 0; d < last; d++) from += m->distance[d][index[d]];
        for (int64_t i = 0; i < in->shape[last]; i++) {
            char *const at = (char *)in->own + (size_t)(row + i) * size;
            const double x = real_value(in->dtype, at) - values[from + m->distance[last][i]];
            const float narrow = (float)x;
            memcpy(at, in->dtype == TALLY_F64 ? (const void *)&x : (const void *)&narrow, size);
        }
        for (int d = last - 1; d >= 0; d--) {
            if (++index[d] < in->shape[d]) break;
            index[d] = 0;
        }
    }
}

int minus_apply(input *in, const options *o)
{
    if (!has(o, OPT_minus)) return DONE;
    if (!in->info.dimensions || (in->dtype != TALLY_F32 && in->dtype != TALLY_F64))
        return fail(USAGE, "--minus is for NetCDF files of floats, and %s is %s of %s%s", in->label,
                    in->info.format, tally_dtype_name(in->dtype),
                    in->info.dimensions ? ": --dtype f64 reads it as floats" : "");
    minus m = {.in = in, .o = o};
    int code = DONE;
    char *const path = text_for(&code, "--minus", o->value[OPT_minus]);
    if (code) return code;
    const char *const variable = cut_variable(path);
    const tally_file_options f = {.format = "netcdf", .variable = variable, .dtype = TALLY_F64};
    code = input_open_beside(&m.file, in->ctx, &f, path);
    for (int d = 0; d < in->ndim; d++)
        m.distance[d] = memory_for(&code, "--minus", in->shape[d], sizeof *m.distance[d]);
    if (!code && has(o, OPT_axis)) {
        code = layout_axes(in, o, &m.steps.axes);
        while (!code && !(m.steps.axes >> m.steps.axis & 1)) m.steps.axis++;
    }
    m.steps.len = code ? 0 : in->shape[m.steps.axis];
    if (!code && !m.file.info.dimensions)
        code = fail(BAD_DATA, "--minus %s is a single value", m.file.label);
    if (!code) code = match(&m);
    if (!code) code = input_load(&m.file, 0);
    if (!code) code = input_load(in, 0);
    if (!code && in->n) subtract(&m, in);
    for (int d = 0; d < in->ndim; d++) free(m.distance[d]);
    if (m.file.file) input_close(&m.file);
    free(path);
    return code;
}
