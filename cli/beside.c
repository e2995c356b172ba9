/* SPDX-License-Identifier: MIT
 * beside.c - NetCDF files that are used with the data and have some of its dimensions, by name.
 *
 *    temp(time, lat, lon), --with 'cos(lat)':    the weight of (t, j, i) is that of lat j
 *
 * Weights are the second input: --with FILE, or the cosine of a coordinate in degrees. Where every
 * sequence has the same weights (--axis lat,lon), one copy serves all of them, and the file is
 * reduced while it is read. Otherwise the weights are written out for every element.
 *
 *    t2m(time, lat, lon) - clim(month, lat, lon), month(month):   the month of each time
 *
 * --minus FILE gives anomalies. Its values are subtracted; it may have the dimension of groups
 * instead, by the keys of the steps. Each difference is calculated in f64 and rounded once to the
 * type of the data, which is held in memory. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Checks that dimension k of such a file is as long as dimension d of the data. */
static int same_length(const char *option, const input *file, int k, const input *in, int d)
{
    if (file->shape[k] == in->shape[d]) return DONE;
    return bad_data(
        "--%s %s: the dimension %s is %lld long, and in %s it is %lld: must be of the same grid",
        option, file->label, file->info.dimensions[k], (long long)file->shape[k], in->label,
        (long long)in->shape[d]);
}

/* ---- weights ---- */

/* The cosine of an angle in degrees, within two units in the last place. The argument is reduced
 * exactly, and the polynomial has fixed operations: the same bits on every machine. */
static double cos_degrees(double degrees)
{
    double x = fmod(fabs(degrees), 360), sign = 1;
    if (x > 180) x = 360 - x;
    if (x > 90) x = 180 - x, sign = -1;
    const int sine = x > 45;
    if (sine) x = 90 - x;
    const double r = x * 0.017453292519943295769, square = r * r;
    double sum = 0;
    for (int k = 20 + sine; k > 1; k -= 2) sum = (1 - sum) * square / ((double)k * (k - 1));
    return sign * (sine ? r * (1 - sum) : 1 - sum);
}

/* The dimensions that the weights have: along[k] is the dimension of the data for dimension k of
 * the weights. */
typedef struct weights {
    const char *label; /* for error messages */
    int ndim, along[DIMS];
    tally_dtype type;
    const char *values;
    char *owned; /* NULL, or the memory of values */
} weights;

/* Reads the coordinate NAME, and makes its cosines the weights. */
static int open_cosine(weights *w, const input *in, const options *o, const char *name)
{
    const int d = dimension_named(in, name);
    if (d < 0)
        return usage("--with is 'cos(%s)', and %s has no dimension of that name", name, in->label);
    const layout l = {.axis = d, .len = in->shape[d]};
    coordinate c = {.of = in,
                    .name = name,
                    .part = -1,
                    .as_stored = 1,
                    .one_file = !axis_named(o) || strcmp(o->value[OPT_axis], name) != 0};
    int code = coordinate_read(&c, o, &l);
    double *const values = memory_for(&code, "--with", c.n, sizeof *values);
    for (int64_t i = 0; i < c.n && !code; i++) {
        values[i] = coordinate_value(&c, i);
        if (fabs(values[i]) > 360)
            code = bad_data("%s: %s[%lld] is %g: --with cos(%s) takes degrees up to 360", in->label,
                            name, (long long)i, values[i], name);
        else
            values[i] = cos_degrees(values[i]);
    }
    *w = (weights){.label = o->value[OPT_with], .ndim = 1, .along = {d}, .type = TALLY_F64};
    w->values = w->owned = (char *)values;
    coordinate_free(&c);
    return code;
}

/* Finds the dimensions of the second input in the data, by their names. */
static int match_weights(weights *w, const input *with, const input *in)
{
    *w = (weights){.label = with->label, .ndim = with->ndim, .type = with->dtype};
    for (int k = 0; k < with->ndim; k++) {
        const char *const name = with->info.dimensions[k];
        const int d = name ? dimension_named(in, name) : -1;
        if (!name)
            return bad_data("--with %s is a single value: must have dimensions of %s", with->label,
                            in->label);
        if (d < 0)
            return bad_data("--with %s has the dimension %s %lld, which is not in %s", with->label,
                            name, (long long)with->shape[k], in->label);
        const int code = same_length("with", with, k, in, d);
        if (code) return code;
        w->along[k] = d;
    }
    return DONE;
}

/* Writes a weight for each element of the dimensions in `axes` of the data, in C order. */
static int spread(const weights *w, const input *in, unsigned axes, char **out)
{
    strided a = {.data = w->values, .size = tally_dtype_size(w->type)};
    int64_t step[DIMS] = {0}, n = 1, stride = 1;
    for (int k = w->ndim - 1; k >= 0; k--) {
        step[w->along[k]] = stride;
        stride *= in->shape[w->along[k]];
    }
    for (int d = 0; d < in->ndim; d++) {
        if (!(axes >> d & 1)) continue;
        n *= in->shape[d];
        a.shape[a.ndim] = in->shape[d];
        a.step[a.ndim++] = step[d];
    }
    int code = DONE;
    *out = memory_for(&code, "--with", n, a.size);
    if (!code) strided_copy(&a, 0, n, *out);
    return code;
}

/* Whether one copy of the weights serves all sequences: each has the same weights, and the
 * sequences are rows in the order of the file. */
static int is_repeated(const weights *w, const input *in, const options *o, unsigned axes)
{
    unsigned tail = axes;
    for (int k = 0; k < w->ndim; k++)
        if (!(axes >> w->along[k] & 1)) return 0;
    for (int d = in->ndim - 1; d >= 0 && tail >> d & 1; d--) tail &= ~(1u << d);
    return o->verb == VERB_reduce && axes && !tail && !has(o, OPT_by) && !has(o, OPT_valid) &&
           !has(o, OPT_empty) && !has(o, OPT_out_valid);
}

int is_cosine(const char *text)
{
    const size_t n = strlen(text);
    return n > 5 && !strncmp(text, "cos(", 4) && text[n - 1] == ')';
}

int weights_open(second *s, input *in, const options *o, int *taken)
{
    const char *const text = o->value[OPT_with];
    const size_t n = strlen(text);
    weights w = {.ndim = 0};
    unsigned axes = 0;
    *taken = 0;
    int code = DONE;
    if (is_cosine(text)) {
        char name[260];
        snprintf(name, sizeof name, "%.*s", (int)(n - 5 < 256 ? n - 5 : 256), text + 4);
        code = open_cosine(&w, in, o, name);
    } else {
        const input *const with = &s->with;
        int named = in->info.dimensions && with->info.dimensions && with->ndim <= in->ndim;
        for (int k = 0; named && k < with->ndim && with->ndim == in->ndim; k++)
            named = with->info.dimensions[k] && dimension_named(in, with->info.dimensions[k]) >= 0;
        if (!named) return DONE;
        code = match_weights(&w, &s->with, in);
        if (!code) code = input_load(&s->with, 0);
        w.values = s->with.data;
    }
    *taken = 1;
    if (!code && has(o, OPT_axis)) code = layout_axes(in, o, &axes);
    s->repeats = !code && is_repeated(&w, in, o, axes);
    if (!code && !s->repeats) code = input_load(in, 0);
    if (!code) code = spread(&w, in, s->repeats ? axes : (1u << in->ndim) - 1, &s->owned);
    s->data = s->owned;
    s->type = w.type;
    free(w.owned);
    return code;
}

/* ---- --minus ---- */

typedef struct minus {
    input file;
    const input *in;
    const options *o;
    layout steps; /* the dimension whose steps have keys */
    /* for index i along dimension d of the data: the offset of its value in the file, in values */
    int64_t *offset[DIMS];
} minus;

/* Reads the keys of the file's groups, the coordinate of dimension k. */
static int read_groups(minus *m, int k, double **keys)
{
    const char *const name = m->file.info.dimensions[k];
    const tally_file_options f = {.format = "netcdf", .variable = name, .dtype = TALLY_F64};
    input in;
    int code = input_open_beside(&in, m->in->ctx, &f, m->file.name);
    if (code) return code;
    if (in.n != m->file.shape[k])
        code = bad_data("%s: %s has %lld values, and the dimension of that name has %lld",
                        m->file.label, name, (long long)in.n, (long long)m->file.shape[k]);
    if (!code) code = input_load(&in, 0);
    *keys = memory_for(&code, "--minus", in.n, 8);
    if (!code) memcpy(*keys, in.data, (size_t)in.n * 8);
    input_close(&in);
    return code;
}

/* Finds the dimension of the data whose steps have the keys that `c` names: the one dimension of
 * that variable, or for a part of dates the first dimension that has times, that of --axis before
 * the others. There may be none; then l->axis stays, and coordinate_read says what is wrong. */
static int keyed_dimension(const input *of, coordinate *c, layout *l)
{
    const int axis = l->axis;
    int found = 0, code = DONE;
    for (int i = -1; i < of->ndim && !found && !code; i++) {
        const int d = i < 0 ? axis : i;
        const char *const name = of->info.dimensions[d];
        const tally_file_options f = {.format = "netcdf", .variable = c->part < 0 ? c->name : name};
        input in = {.file = NULL};
        if (!name || !f.variable || !netcdf_has(of->ctx, of->name, f.variable)) continue;
        code = input_open_beside(&in, of->ctx, &f, of->name);
        const char *const found_name = in.file && in.info.dimensions ? in.info.dimensions[0] : NULL;
        found = !code && in.ndim == 1 && found_name && !strcmp(found_name, name) &&
                (c->part < 0 || (in.info.units && strstr(in.info.units, " since ")));
        if (found) l->axis = d;
        if (in.file) input_close(&in);
    }
    l->len = of->shape[l->axis];
    if (c->part >= 0) c->name = of->info.dimensions[l->axis];
    return code;
}

/* Finds the group of each step. Its key is the part of the date, or the variable, that has the name
 * of dimension k of the file. */
static int match_groups(minus *m, int k, int64_t stride)
{
    const char *const name = m->file.info.dimensions[k], *joined = m->o->value[OPT_axis];
    char dotted[300];
    size_t length;
    double *keys = NULL;
    layout l = m->steps;
    snprintf(dotted, sizeof dotted, "t.%.256s", name);
    coordinate c = {
        .of = m->in, .name = name, .as_stored = 1, .part = calendar_part(dotted, &length)};
    int code = keyed_dimension(m->in, &c, &l);
    const char *const axis = m->in->info.dimensions[l.axis];
    c.one_file = !axis_named(m->o) || !axis || strcmp(joined, axis) != 0;
    if (!code) code = coordinate_read(&c, m->o, &l);
    if (!code) code = read_groups(m, k, &keys);
    for (int64_t i = 0, at = 0; i < c.n && !code; i++) {
        const double key = coordinate_value(&c, i);
        /* most steps have the key of the step before, or the next one */
        for (int64_t tries = 0; keys[at] != key && tries <= m->file.shape[k]; tries++)
            at = at + 1 < m->file.shape[k] ? at + 1 : 0;
        if (keys[at] != key)
            code = bad_data("--minus %s has no %s %g, which step %lld of %s has", m->file.label,
                            name, key, (long long)i, m->in->label);
        m->offset[l.axis][i] += at * stride;
    }
    free(keys);
    coordinate_free(&c);
    return code;
}

/* Refuses values in another unit than the data's. */
static int check_units(const minus *m)
{
    const char *const units = m->in->info.units, *const other = m->file.info.units;
    if (!units || !other || !*units || !*other || !strcmp(units, other)) return DONE;
    return bad_data("--minus %s: the units of %s are '%s', and in %s '%s': must be the same",
                    m->file.label, m->file.info.variable, other, m->in->label, units);
}

/* Fills m->offset. Each dimension of the file is one of the data, or that of the groups. */
static int match_dimensions(minus *m)
{
    int64_t stride = 1;
    int code = DONE;
    for (int k = m->file.ndim - 1; k >= 0 && !code; k--) {
        const char *const name = m->file.info.dimensions[k];
        const int64_t length = m->file.shape[k];
        const int d = name ? dimension_named(m->in, name) : -1;
        if (!name || !length)
            code = bad_data("--minus %s is a single value or empty", m->file.label);
        else if (d >= 0)
            code = same_length("minus", &m->file, k, m->in, d);
        else
            code = match_groups(m, k, stride);
        for (int64_t i = 0; d >= 0 && i < length && !code; i++) m->offset[d][i] += i * stride;
        stride *= length;
    }
    return code;
}

/* Subtracts the file's values from the loaded data, and rounds each difference to its type. */
static void subtract(const minus *m, input *in)
{
    const int last = in->ndim - 1;
    const size_t size = tally_dtype_size(in->dtype);
    const double *const values = (const double *)(const void *)m->file.data;
    int64_t index[DIMS] = {0};
    for (int64_t row = 0; row < in->n; row += in->shape[last]) {
        int64_t from = 0;
        for (int d = 0; d < last; d++) from += m->offset[d][index[d]];
        for (int64_t i = 0; i < in->shape[last]; i++) {
            char *const at = (char *)in->owned + (size_t)(row + i) * size;
            double x = real_value(in->dtype, at) - values[from + m->offset[last][i]];
            if (x != x) x = __builtin_nan(""); /* processors differ in the sign of inf - inf */
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
        return usage("--minus is for NetCDF files of floats, and %s is %s of %s%s", in->label,
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
        m.offset[d] = memory_for(&code, "--minus", in->shape[d], sizeof *m.offset[d]);
    if (!code && has(o, OPT_axis)) {
        code = layout_axes(in, o, &m.steps.axes);
        while (!code && !(m.steps.axes >> m.steps.axis & 1)) m.steps.axis++;
    }
    m.steps.len = code ? 0 : in->shape[m.steps.axis];
    if (!code && !m.file.info.dimensions)
        code = bad_data("--minus %s is a single value", m.file.label);
    if (!code) code = check_units(&m);
    if (!code) code = match_dimensions(&m);
    if (!code) code = input_load(&m.file, 0);
    if (!code) code = input_load(in, 0);
    if (!code && in->n) subtract(&m, in);
    for (int d = 0; d < in->ndim; d++) free(m.offset[d]);
    if (m.file.file) input_close(&m.file);
    free(path);
    return code;
}
