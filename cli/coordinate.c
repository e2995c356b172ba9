/* SPDX-License-Identifier: MIT
 * coordinate.c - --by time with --axis time: windows along the coordinate of a dimension of NetCDF
 * files.
 *
 *    time:units = "hours since 2024-01-01"      --last 2d  ->  48 of them, exactly
 *
 * The keys are the numbers in the file, and the length is converted to their unit. So the
 * reference date and the calendar are not needed: an hour and a day have the same length in every
 * calendar. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether two texts are equal; each may be NULL. */
static int same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* Converts a length in nanoseconds to units of the coordinate, exactly. */
static int to_unit(span_length *l, const coordinate *c, int64_t nanos)
{
    if (!l->given || l->number) return DONE;
    const int64_t given = l->whole;
    const __int128 wide = (__int128)given * TALLY_KEY_PART;
    l->number = 1;
    l->exact = wide % nanos == 0;
    l->whole = given / nanos - (given % nanos < 0);
    l->part = (int64_t)(wide / nanos - (__int128)l->whole * TALLY_KEY_PART);
    l->real = (double)given / (double)nanos;
    const int real =
        (__int128)(double)given == given && fma(l->real, (double)nanos, -(double)given) == 0;
    if (c->dtype == TALLY_F64 ? real : l->exact) return DONE;
    return usage("--%s is '%s', which is no exact number in the unit of %s, '%s'", l->option,
                 l->text, c->name, c->units);
}

static int missing(const char *label, const char *name, int64_t at)
{
    return bad_data("%s: %s[%lld] is missing, nan or infinite: every step must have its number",
                    label, name, (long long)at);
}

/* The coordinate's name and shape for a sentence, such as "lev(x 2)". */
static const char *shape_of(const coordinate *c, const input *in, char *out, size_t capacity)
{
    size_t n = (size_t)snprintf(out, capacity, "%.60s(", c->name);
    for (int d = 0; d < in->ndim && in->info.dimensions[d] && n + 60 < capacity; d++)
        n += (size_t)snprintf(out + n, capacity - n, "%s%.30s %lld", d ? ", " : "",
                              in->info.dimensions[d], (long long)in->shape[d]);
    snprintf(out + n, capacity - n, ")");
    return out;
}

/* Converts the times of a file to a part of their dates, such as the month. */
static int to_part(const coordinate *c, const input *in, int32_t *out)
{
    const size_t size = tally_dtype_size(in->dtype);
    const coordinate here = {.of = in,
                             .name = c->name,
                             .units = (char *)(size_t)in->info.units,
                             .calendar = (char *)(size_t)in->info.calendar};
    calendar k;
    date d;
    char text[64];
    const int code = calendar_open(&k, &here);
    if (code) return code;
    if (!k.unit)
        return bad_data(
            "%s: the units of %s are '%s': --by %s.%s needs times, as in 'days since 1970-01-01'",
            in->label, c->name, here.units ? here.units : "", c->name, calendar_part_name(c->part));
    for (int64_t i = 0; i < in->n; i++) {
        const char *const value = in->data + (size_t)i * size;
        if (in->dtype >= TALLY_F16 && !isfinite(real_value(in->dtype, value)))
            return missing(in->label, c->name, i);
        tally_format_value(in->dtype, value, 0, text, sizeof text);
        if (!calendar_date(&k, in->dtype, value, &d))
            return bad_data("%s: %s[%lld] is %s %s, a date that the calendar %s does not have",
                            in->label, c->name, (long long)i, text, here.units, k.name);
        out[i] = calendar_value(&d, c->part);
    }
    return DONE;
}

/* Makes the values f64, if those of a later file, of type `later`, have another type. */
static int widen(coordinate *c, const char *path, tally_dtype later)
{
    if (tally_dtype_size(c->dtype) == 8)
        return usage("%s: the coordinate %s is %s, and %s in the files before it: must be the same",
                     path, c->name, tally_dtype_name(later), tally_dtype_name(c->dtype));
    for (int64_t i = c->n; i-- > 0;) { /* the last first: each is written behind its old place */
        const double value = coordinate_value(c, i);
        memcpy(c->values + (size_t)i * sizeof value, &value, sizeof value);
    }
    c->dtype = TALLY_F64;
    return DONE;
}

/* How a later file counts that does not count as the first:
 *    x of the later file = (x * times + plus) / divisor of the first
 * divisor 0: nothing is to be converted. */
typedef struct later {
    __int128 times, plus, divisor;
} later;

static __int128 common_divisor(__int128 a, __int128 b)
{
    while (b) {
        const __int128 rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Compares the units and the calendar of a later file with those of the first. */
static int compare_units(coordinate *c, const input *in, later *conversion)
{
    const char *const units = in->info.units, *const name = in->info.calendar;
    const int other_units = !same(units, c->units);
    const coordinate here = {.of = in,
                             .name = c->name,
                             .units = (char *)(size_t)units,
                             .calendar = (char *)(size_t)name};
    calendar first, k;
    if (!other_units && same(name, c->calendar)) return DONE;

    int code = calendar_open(&first, c);
    if (!code && first.unit) code = calendar_open(&k, &here);
    if (code) return code;
    if (first.unit && k.unit && first.kind == k.kind) {
        const __int128 plus = k.origin - first.origin,
                       by = common_divisor(common_divisor(plus, k.unit), first.unit);
        *conversion = (later){k.unit / by, plus / by, first.unit / by};
        return DONE;
    }

    c->differs = 1;
    if (c->any_units) return DONE;
    const char *const other = other_units ? units : name;
    const char *const one = other_units ? c->units : c->calendar;
    return bad_data("%s: the %s of %s is '%s', and in %s '%s': must be the same", in->label,
                    other_units ? "unit" : "calendar", c->name, other ? other : "", c->of->label,
                    one ? one : "");
}

static __int128 whole_of(tally_dtype dtype, const char *value)
{
    const int64_t whole = whole_value(dtype, value);
    return dtype == TALLY_U64 ? (__int128)(uint64_t)whole : (__int128)whole;
}

/* Converts a value, which is f64 or an integer. Returns how often the result was rounded; an
 * integer that does not fit its type is rounded too. */
static int convert_value(tally_dtype dtype, char *value, const later *l)
{
    if (dtype == TALLY_F64) {
        const double x = real_value(dtype, value), times = (double)l->times, plus = (double)l->plus,
                     divisor = (double)l->divisor;
        const double product = x * times, sum = product + plus, part = sum - product,
                     converted = sum / divisor;
        memcpy(value, &converted, sizeof converted);
        return ((__int128)plus != l->plus) + (fma(x, times, -product) != 0) +
               ((product - (sum - part)) + (plus - part) != 0) + /* the error of the sum */
               (fma(converted, divisor, -sum) != 0);
    }
    const __int128 sum = whole_of(dtype, value) * l->times + l->plus, converted = sum / l->divisor;
    const int64_t wide = (int64_t)converted;
    const int32_t narrow = (int32_t)converted;
    memcpy(value, dtype == TALLY_I32 ? (const void *)&narrow : &wide, tally_dtype_size(dtype));
    return sum % l->divisor != 0 || whole_of(dtype, value) != converted;
}

/* Converts the numbers of a later file, which are the last of c, to the unit and the date of the
 * first file. Results take integers as they are, and floats that were rounded once at most:
 *    0 days since 2001-01-01   ->   366 days since 2000-01-01   ->   8784 hours since 2000-01-01 */
static int convert(coordinate *c, const input *in, const later *l)
{
    const size_t size = tally_dtype_size(c->dtype);
    const int most = c->any_units && c->dtype == TALLY_F64;
    for (int64_t i = 0; i < in->n; i++) {
        if (convert_value(c->dtype, c->values + (size_t)(c->n - in->n + i) * size, l) <= most)
            continue;
        c->differs = 1;
        return c->any_units ? DONE
                            : bad_data("%s: %s[%lld] has no exact number in the unit of %s, '%s'",
                                       in->label, c->name, (long long)i, c->of->label, c->units);
    }
    c->converted = 1;
    return DONE;
}

/* Whether keys of windows may have this type. */
static int is_key(tally_dtype dtype)
{
    return dtype == TALLY_I32 || dtype == TALLY_I64 || dtype == TALLY_U64 || dtype == TALLY_F64;
}

/* Appends the values of the next file. */
static int append(coordinate *c, const layout *l, const char *path)
{
    const int first = !c->values;
    tally_file_options f = {.format = "netcdf", .variable = c->name};
    char is[200];
    later conversion = {.divisor = 0};
    input in;
    int code = input_open_beside(&in, c->of->ctx, &f, path);
    if (code) return code;
    const char *const axis = c->of->info.dimensions[l->axis];
    if (in.ndim != 1 || !in.info.dimensions[0] || !axis ||
        strcmp(in.info.dimensions[0], axis) != 0) {
        code =
            usage("%s: the coordinate is %s: must have the one dimension %s %lld", path,
                  shape_of(c, &in, is, sizeof is), axis ? axis : "of the data", (long long)l->len);
    } else if (first) {
        c->units = text_for(&code, "the units", in.info.units);
        c->calendar = text_for(&code, "the units", in.info.calendar);
        c->dtype = c->part >= 0                       ? TALLY_I32
                   : is_key(in.dtype) || c->as_stored ? in.dtype
                                                      : TALLY_F64;
    } else if (c->part < 0) {
        code = compare_units(c, &in, &conversion);
        /* days in a narrow integer may be parts of them in hours */
        const int narrow = c->dtype == TALLY_I32 ? conversion.divisor > 1 : !is_key(c->dtype);
        if (!code && c->dtype != TALLY_F64 &&
            (in.dtype != c->dtype || (conversion.divisor && narrow)))
            code = widen(c, path, in.dtype);
    }
    /* reads them again, as a type that keys of windows may have */
    if (!code && in.dtype != c->dtype && c->part < 0) {
        input_close(&in);
        f.dtype = c->dtype;
        if ((code = input_open_beside(&in, c->of->ctx, &f, path))) return code;
    }
    if (!code) code = input_load(&in, 0);
    if (!code) code = grow_memory(&c->values, "--by", (size_t)(c->n + in.n) * 8 + 8);
    const size_t size = tally_dtype_size(c->dtype);
    if (!code && c->part >= 0)
        code = to_part(c, &in, (int32_t *)(void *)c->values + c->n);
    else if (!code && in.n)
        memcpy(c->values + (size_t)c->n * size, in.data, (size_t)in.n * size);
    if (!code) c->n += in.n;
    if (!code && conversion.divisor && !c->differs) code = convert(c, &in, &conversion);
    input_close(&in);
    return code;
}

int coordinate_read(coordinate *c, const options *o, const layout *l)
{
    const int joined = axis_named(o) && !c->one_file;
    int code = DONE;
    for (int i = 1; i < o->nargs && joined && !code; i++) code = append(c, l, o->args[i]);
    if (!joined) code = append(c, l, c->of->name);
    if (!code && c->n != l->len)
        code = bad_data("%s: %s has %lld values, and the variable has %lld steps along %s",
                        c->of->label, c->name, (long long)c->n, (long long)l->len,
                        c->of->info.dimensions[l->axis]);
    for (int64_t i = 0; i < c->n && !code && c->dtype >= TALLY_F16; i++) {
        if (!isfinite(real_value(c->dtype, c->values + (size_t)i * tally_dtype_size(c->dtype))))
            code = missing(c->of->label, c->name, i);
    }
    return code;
}

double coordinate_value(const coordinate *c, int64_t i)
{
    const char *const value = c->values + (size_t)i * tally_dtype_size(c->dtype);
    if (c->dtype >= TALLY_F16) return real_value(c->dtype, value);
    const int64_t whole = whole_value(c->dtype, value);
    return c->dtype == TALLY_U64 ? (double)(uint64_t)whole : (double)whole;
}

void coordinate_free(coordinate *c)
{
    free(c->values);
    free(c->units);
    free(c->calendar);
    *c = (coordinate){.of = NULL};
}

/* Whether the last value is below the first. */
static int falls(const coordinate *c)
{
    if (c->n < 2) return 0;
    const void *const last = c->values + (size_t)(c->n - 1) * tally_dtype_size(c->dtype);
    if (c->dtype == TALLY_F64) return real_value(c->dtype, last) < real_value(c->dtype, c->values);
    const int64_t a = whole_value(c->dtype, c->values), b = whole_value(c->dtype, last);
    return c->dtype == TALLY_U64 ? (uint64_t)b < (uint64_t)a : b < a;
}

int coordinate_bounds(const span *s, const options *o, const input *in, const layout *l,
                      int64_t **start, int64_t **end)
{
    coordinate c = {.of = in, .name = o->value[OPT_by], .part = -1};
    calendar k;
    span scaled = *s;
    tally_key_window w;
    int code = coordinate_read(&c, o, l);
    if (!code) code = calendar_open(&k, &c);
    if (!code) code = span_unit(s, in->label, "the variable of --by", k.unit != 0);
    if (!code) code = to_unit(&scaled.last, &c, k.unit);
    if (!code) code = to_unit(&scaled.next, &c, k.unit);
    if (!code) code = span_window(&scaled, c.dtype, falls(&c), &w);
    *start = memory_for(&code, "the windows", c.n, sizeof **start);
    *end = memory_for(&code, "the windows", c.n, sizeof **end);
    if (!code) {
        const tally_view keys = tally_flat(c.values, c.dtype, c.n);
        const tally_status status = tally_window_bounds(in->ctx, &keys, &w, *start, *end);
        if (status == TALLY_INVALID) /* unsorted keys: the data is wrong, not the usage */
            code = bad_data("%s: --by %s: %s", in->label, c.name, tally_error(in->ctx));
        else
            code = code_of(in->ctx, status);
    }
    coordinate_free(&c);
    return code;
}
