/* SPDX-License-Identifier: MIT
 * attributes.c - what a NetCDF file says of its results, in the words of the CF conventions.
 *
 *    float t2m_mean(lat, lon) ;   units, long_name, cell_methods = "time: mean", coordinates = "time"
 *    double time ;                the middle of time_bnds, or the first time of a climatology
 *    double time_bnds(bnds) ;     the first and the last time of what was reduced
 *    :Conventions, :history       the command, without the date, so that equal runs make equal files */
#define _GNU_SOURCE
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* The unit of a result: that of the data (1), its square (2), a number (0), or not known (-1); and
 * its name among the cell methods of CF, or NULL. */
static const struct {
    const char *op;
    int unit;
    const char *method;
} rules[] = {{"sum", 1, "sum"},
             {"mean", 1, "mean"},
             {"wmean", 1, "mean"},
             {"min", 1, "minimum"},
             {"max", 1, "maximum"},
             {"minmax", 1, NULL},
             {"range", 1, "range"},
             {"first", 1, "point"},
             {"last", 1, "point"},
             {"ema", 1, NULL},
             {"norm", 1, NULL},
             {"drawdown", 1, NULL},
             {"var", 2, "variance"},
             {"wvar", 2, "variance"},
             {"sumsq", 2, "sum_of_squares"},
             {"std", 1, "standard_deviation"},
             {"wstd", 1, "standard_deviation"},
             {"count", 0, NULL},
             {"argmin", 0, NULL},
             {"argmax", 0, NULL},
             {"skew", 0, NULL},
             {"kurt", 0, NULL},
             {"corr", 0, NULL},
             {"valid", 0, NULL},
             {"missing", 0, NULL}};
enum { RULES = sizeof rules / sizeof *rules };

/* The row of an operator in `rules`, or -1. */
static int row_of(const char *op)
{
    for (int nan = 0; nan < 2; nan++, op += 3) {
        const size_t n = strcspn(op, ":");
        for (int i = 0; i < RULES; i++)
            if (strlen(rules[i].op) == n && !memcmp(rules[i].op, op, n)) return i;
        if (strncmp(op, "nan", 3) != 0) break;
    }
    return -1;
}

typedef struct target { /* the variable that is described; the first failure */
    tally_file *file;
    tally *ctx;
    const char *variable;
    int code;
} target;

static void set(target *t, const char *name, const char *text)
{
    if (t->code || !text) return;
    t->code = code_of(t->ctx, tally_file_attribute(t->file, t->variable, name, text));
}

/* Sets an attribute to a text that is made of three. */
static void set_joined(target *t, const char *name, const char *a, const char *b, const char *c)
{
    char *text;
    if (asprintf(&text, "%s%s%s", a, b, c) < 0)
        t->code = fail_memory("an attribute", (int64_t)(strlen(a) + strlen(b) + strlen(c)));
    else
        set(t, name, text);
    free(text);
}

/* Text for a shell: in quotes if that is necessary. The caller frees it; NULL: no memory. */
static char *command_of(const options *o)
{
    char *text = NULL;
    size_t bytes;
    FILE *const f = open_memstream(&text, &bytes);
    if (!f) return NULL;
    fprintf(f, "tally %s: tally %s", tally_version(), verb_table[o->verb].name);
    for (int i = 0; i < o->word_count; i++) {
        const char *const word = o->words[i];
        const int bare =
            *word &&
            !word[strspn(
                word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%")];
        fputs(bare ? " " : " '", f);
        for (const char *at = word; *at; at++)
            *at == '\'' ? (void)fputs("'\\''", f) : (void)fputc(*at, f);
        if (!bare) fputc('\'', f);
    }
    if (!fclose(f)) return text;
    free(text);
    return NULL;
}

/* The names of the times, and of several keys, in the words of CF. The caller frees it; NULL: no
 * memory. */
static char *beside(const netcdf_of *of)
{
    const answer *const a = of->groups;
    char *text = NULL;
    size_t bytes;
    FILE *const f = open_memstream(&text, &bytes);
    if (!f) return NULL;
    const char *const times = of->times ? of->times->name : NULL;
    if (times) fputs(times, f);
    for (int64_t c = 0; a && a->key_dtypes && a->key_columns > 1 && c < a->key_columns; c++)
        fprintf(f, "%s%s", times || c ? " " : "", netcdf_key(a, c));
    if (!fclose(f)) return text;
    free(text);
    return NULL;
}

int attributes_result(tally_file *file, tally *ctx, const netcdf_of *of, int i, const char *name)
{
    target t = {file, ctx, name, DONE};
    tally_file_info info;
    tally_file_get_info(of->source, &info);
    const tally_file_info *const in = &info;
    const int row = row_of(of->results[i].op), unit = row < 0 ? -1 : rules[row].unit;
    if (!in->dimensions) return DONE;
    const char *const long_name = in->long_name       ? in->long_name
                                  : in->standard_name ? in->standard_name
                                                      : in->variable;
    set_joined(&t, "long_name", of->results[i].op, " of ", long_name ? long_name : "values");
    if (unit == 1 && in->standard_name && rules[row].method)
        set(&t, "standard_name", in->standard_name);
    if (unit == 0) set(&t, "units", "1");
    if (unit > 0 && in->units && !strstr(in->units, " since ")) {
        const int plain =
            !in->units[strspn(in->units, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")];
        if (unit == 1 || !strcmp(in->units, "1"))
            set(&t, "units", in->units);
        else
            set_joined(&t, "units", plain ? "" : "(", in->units, plain ? "2" : ")2");
    }
    if (of->axis && row >= 0 && rules[row].method)
        set_joined(&t, "cell_methods", of->axis, ": ", rules[row].method);
    char *const names = beside(of);
    if (!names) return fail_memory("the coordinates", 1);
    if (*names) set(&t, "coordinates", names);
    free(names);
    return t.code;
}

int attributes_file(tally_file *file, tally *ctx, const options *o)
{
    target t = {file, ctx, NULL, DONE};
    char *const command = command_of(o);
    if (!command) return fail_memory("the history", 1);
    set(&t, "Conventions", "CF-1.8");
    set(&t, "history", command);
    free(command);
    return t.code;
}

/* ---- the times of what was reduced ---- */

/* Whether NetCDF file `path` has the variable. */
int netcdf_has(tally *ctx, const char *path, const char *variable)
{
    const tally_file_options f = {.format = "netcdf", .variable = variable};
    tally_file *file;
    const int there = !tally_file_open(ctx, path, &f, &file);
    if (there) tally_file_close(file);
    return there;
}

int axis_write(tally_file *file, const options *o, const input *in, const layout *l, axis_steps s)
{
    const char *const axis = in->info.dimensions ? in->info.dimensions[l->axis] : NULL;
    const int joined = axis_named(o) && o->nargs > 2;
    if (!axis || (s.count == l->len && !joined) || !netcdf_has(in->ctx, in->name, axis))
        return DONE;
    coordinate c = {.of = in, .name = axis, .as_stored = 1, .part = -1, .any_units = 1};
    target t = {file, in->ctx, axis, coordinate_read(&c, o, l)};
    const size_t size = t.code ? 0 : tally_dtype_size(c.dtype);
    for (int64_t i = 0; i < s.count && !t.code; i++)
        memmove(c.values + (size_t)i * size, c.values + (size_t)(s.first + i * s.step) * size,
                size);
    if (!t.code && !c.differs && (s.count < l->len || c.converted)) { /* else it is copied */
        t.code = code_of(in->ctx, tally_file_coordinate(file, axis, l->axis, c.dtype, c.values));
        set(&t, "units", c.units);
        set(&t, "calendar", c.calendar);
    }
    coordinate_free(&c);
    return t.code;
}

int times_open(times_of *t, const options *o, const input *in, const layout *l, const groups *g)
{
    *t = (times_of){.count = 0};
    const char *const axis = in->info.dimensions ? in->info.dimensions[l->axis] : NULL;
    if (!axis || l->axes & (l->axes - 1) || !l->len || (g && !g->count) ||
        !netcdf_has(in->ctx, in->name, axis))
        return DONE;
    coordinate c = {.of = in, .name = axis, .as_stored = 1, .part = -1, .any_units = 1};
    int code = coordinate_read(&c, o, l);
    if (!code && c.units && strstr(c.units, " since ") && !c.differs) {
        const int64_t count = g ? g->count : 1;
        t->count = count;
        t->grouped = g != NULL;
        t->pair = "bnds"; /* the usual name */
        for (int d = 0; d < in->info.ndim; d++)
            if (in->info.dimensions[d] && !strcmp(in->info.dimensions[d], "bnds") &&
                in->info.shape[d] != 2)
                t->pair = "bnds2";
        t->name = text_for(&code, "the times", axis);
        t->units = text_for(&code, "the times", c.units);
        t->calendar = text_for(&code, "the times", c.calendar);
        t->bounds = memory_for(&code, "the times", 2 * count, sizeof *t->bounds);
        t->values = memory_for(&code, "the times", count, sizeof *t->values);
        for (int64_t k = 0; k < count && !code; k++) {
            const int64_t from = g ? g->offsets[k] : 0, n = (g ? g->offsets[k + 1] : l->len) - from;
            const int64_t first = g ? g->order[from] : 0, last = g ? g->order[from + n - 1] : n - 1;
            const double a = coordinate_value(&c, first), b = coordinate_value(&c, last);
            t->climate |= last - first + 1 != n; /* other steps are between them */
            t->bounds[2 * k] = a < b ? a : b;
            t->bounds[2 * k + 1] = a < b ? b : a;
        }
        for (int64_t k = 0; k < count && !code; k++)
            t->values[k] = t->climate
                               ? t->bounds[2 * k]
                               : t->bounds[2 * k] + (t->bounds[2 * k + 1] - t->bounds[2 * k]) / 2;
    }
    coordinate_free(&c);
    return code;
}

void times_close(times_of *t)
{
    free(t->name);
    free(t->units);
    free(t->calendar);
    free(t->bounds);
    free(t->values);
    *t = (times_of){.count = 0};
}

int times_write(const times_of *t, tally_file *file, tally *ctx, const char *dimension)
{
    target of = {file, ctx, t->name, DONE};
    char *names = NULL, *bounds = NULL;
    const char *const at = t->grouped ? dimension : "";
    if (asprintf(&names, "%s(%s)", t->name, at) < 0 ||
        asprintf(&bounds, "%s_bnds(%s%s%s=2)", t->name, at, *at ? ", " : "", t->pair) < 0)
        return fail_memory("the times", 1);
    tally_status status = tally_file_variable(file, names, TALLY_F64, t->values);
    if (!status) status = tally_file_variable(file, bounds, TALLY_F64, t->bounds);
    of.code = code_of(ctx, status);
    *strchr(bounds, '(') = 0;
    set(&of, "units", t->units);
    set(&of, "calendar", t->calendar);
    set(&of, t->climate ? "climatology" : "bounds", bounds);
    free(names);
    free(bounds);
    return of.code;
}
