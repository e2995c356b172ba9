/* SPDX-License-Identifier: MIT
 * weights.c - second inputs of fewer dimensions: --with FILE of some of the dimensions, by their
 * names, and --with 'cos(lat)', the cosine of a coordinate in degrees.
 *
 *    temp(time, lat, lon), --with 'cos(lat)':  the weight of (t, j, i) is that of lat j
 *
 * Where every sequence has the same weights (--axis lat,lon), one copy serves all of them, and the
 * file is reduced while it is read. Otherwise the weights are written out for every element. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    const char *label; /* for sentences */
    int ndim, along[DIMS];
    tally_dtype type;
    const char *values;
    char *own; /* NULL, or the memory of values */
} weights;

static int dimension_named(const input *in, const char *name)
{
    int d = 0;
    while (d < in->ndim && (!in->info.dimensions[d] || strcmp(in->info.dimensions[d], name) != 0))
        d++;
    return d < in->ndim ? d : -1;
}

/* Reads the coordinate in cos(NAME). */
static int open_cosine(weights *w, const input *in, const options *o, const char *name)
{
    const int d = in->info.dimensions ? dimension_named(in, name) : -1;
    if (d < 0)
        return fail(USAGE, "--with is 'cos(%s)', and %s has no dimension of that name", name,
                    in->label);
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
            code = fail(BAD_DATA, "%s: %s[%lld] is %g: --with cos(%s) takes degrees up to 360",
                        in->label, name, (long long)i, values[i], name);
        else
            values[i] = cos_degrees(values[i]);
    }
    *w = (weights){.label = o->value[OPT_with], .ndim = 1, .along = {d}, .type = TALLY_F64};
    w->values = w->own = (char *)values;
    coordinate_free(&c);
    return code;
}

/* Finds the dimensions of the second input in the data, by their names. */
static int match(weights *w, const input *with, const input *in)
{
    *w = (weights){.label = with->label, .ndim = with->ndim, .type = with->dtype};
    for (int k = 0; k < with->ndim; k++) {
        const char *const name = with->info.dimensions[k];
        const int d = name ? dimension_named(in, name) : -1;
        if (d < 0)
            return fail(BAD_DATA, "--with %s has the dimension %s %lld, which %s has not",
                        with->label, name ? name : "of a single value", (long long)with->shape[k],
                        in->label);
        if (with->shape[k] != in->shape[d])
            return fail(
                BAD_DATA,
                "--with %s: the dimension %s is %lld long, and in %s it is %lld: must be of "
                "the same grid",
                with->label, name, (long long)with->shape[k], in->label, (long long)in->shape[d]);
        w->along[k] = d;
    }
    return DONE;
}

/* Writes the weights for elements of the dimensions in `axes` of the data, in C order. */
static int spread(const weights *w, const input *in, unsigned axes, char **out)
{
    const size_t size = tally_dtype_size(w->type);
    int64_t step[DIMS] = {0}, index[DIMS] = {0}, n = 1, stride = 1, at = 0;
    for (int k = w->ndim - 1; k >= 0; k--) {
        step[w->along[k]] = stride;
        stride *= in->shape[w->along[k]];
    }
    for (int d = 0; d < in->ndim; d++) n *= axes >> d & 1 ? in->shape[d] : 1;
    int code = DONE;
    *out = memory_for(&code, "--with", n, size);
    for (int64_t i = 0; i < n && !code; i++) {
        memcpy(*out + (size_t)i * size, w->values + (size_t)at * size, size);
        for (int d = in->ndim - 1; d >= 0; d--) { /* the last index changes fastest */
            if (!(axes >> d & 1)) continue;
            at += step[d];
            if (++index[d] < in->shape[d]) break;
            at -= step[d] * in->shape[d];
            index[d] = 0;
        }
    }
    return code;
}

/* Whether each sequence has the same weights, and the sequences are rows that come in order. */
static int is_repeated(const weights *w, const input *in, const options *o, unsigned axes)
{
    unsigned tail = axes;
    for (int k = 0; k < w->ndim; k++)
        if (!(axes >> w->along[k] & 1)) return 0;
    for (int d = in->ndim - 1; d >= 0 && tail >> d & 1; d--) tail &= ~(1u << d);
    return o->verb == VERB_reduce && axes && !tail && !has(o, OPT_by) && !has(o, OPT_valid) &&
           !has(o, OPT_empty) && !has(o, OPT_out_valid);
}

int weights_open(second *s, input *in, const options *o, int *taken)
{
    const char *const text = o->value[OPT_with];
    const size_t n = strlen(text);
    const int cosine = n > 5 && !strncmp(text, "cos(", 4) && text[n - 1] == ')';
    weights w = {.ndim = 0};
    unsigned axes = 0;
    *taken = 0;
    int code = DONE;
    if (cosine) {
        char name[260];
        snprintf(name, sizeof name, "%.*s", (int)(n - 5 < 256 ? n - 5 : 256), text + 4);
        code = open_cosine(&w, in, o, name);
    } else {
        const input *const with = &s->with;
        int named = in->info.dimensions && with->info.dimensions && with->ndim <= in->ndim;
        for (int k = 0; named && k < with->ndim && with->ndim == in->ndim; k++)
            named = with->info.dimensions[k] && dimension_named(in, with->info.dimensions[k]) >= 0;
        if (!named) return DONE;
        code = match(&w, &s->with, in);
        if (!code) code = input_load(&s->with, 0);
        w.values = s->with.data;
    }
    *taken = 1;
    if (!code && has(o, OPT_axis)) code = layout_axes(in, o, &axes);
    s->repeats = !code && is_repeated(&w, in, o, axes);
    if (!code && !s->repeats) code = input_load(in, 0);
    if (!code) code = spread(&w, in, s->repeats ? axes : (1u << in->ndim) - 1, &s->own);
    s->data = s->own;
    s->type = w.type;
    free(w.own);
    return code;
}
