/* SPDX-License-Identifier: MIT
 * join.c - the order of files that --axis NAME joins: that of their times, if the dimension has
 * times; else that of the command line.
 *
 *    tally reduce mean --axis time b.nc a.nc      a.nc begins before b.nc, so it comes first
 *
 * Each file may count its times in a unit of its own ("hours since 2024-02-01"). The library checks
 * that files with the same unit follow each other; those with different units are checked here. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct piece {
    char *path;
    int has_times;
    const char *calendar;
    char *units, text[2][48]; /* text: of the first and of the last number */
    __int128 time[2];
} piece;

static int earlier(const void *a, const void *b)
{
    const piece *const x = a, *const y = b;
    return (x->time[0] > y->time[0]) - (x->time[0] < y->time[0]);
}

/* Opens the variable that has the name of the dimension: in the group of --variable, or at the
 * root. Returns NULL if there is none. */
static tally_file *open_times(tally *ctx, const options *o, const char *path)
{
    char name[600];
    tally_file *file;
    const char *const axis = o->value[OPT_axis], *const of = o->value[OPT_variable],
                      *const slash = of ? strrchr(of, '/') : NULL;
    for (int root = slash == NULL; root < 2; root++) {
        snprintf(name, sizeof name, "%.*s%.256s", root ? 0 : (int)(slash - of) + 1, of ? of : "",
                 axis);
        const tally_file_options f = {.format = "netcdf", .variable = name};
        if (strlen(name) < sizeof name - 1 && !tally_file_open(ctx, path, &f, &file)) return file;
    }
    return NULL;
}

/* Reads the first and the last time of a file. A file that cannot be read is reported later. */
static int read_ends(tally *ctx, const options *o, piece *p)
{
    tally_file_info info;
    calendar k;
    tally_file *const file = open_times(ctx, o, p->path);
    if (!file) return DONE;
    tally_file_get_info(file, &info);
    const input in = {.label = p->path, .info = info};
    const coordinate c = {.of = &in,
                          .name = o->value[OPT_axis],
                          .units = (char *)(size_t)info.units,
                          .calendar = (char *)(size_t)info.calendar};
    const int times =
        info.ndim == 1 && info.elements > 0 && info.units && strstr(info.units, " since ");
    int code = times ? calendar_open(&k, &c) : DONE;
    p->has_times = times && !code;
    for (int i = 0; i < 2 && p->has_times; i++) {
        char value[8];
        const int64_t at = i ? info.elements - 1 : 0, one = 1;
        p->has_times = !tally_file_read_box(file, &at, &one, value) &&
                       (info.dtype < TALLY_F16 || isfinite(real_value(info.dtype, value))) &&
                       calendar_time(&k, info.dtype, value, &p->time[i]);
        if (p->has_times) tally_format_value(info.dtype, value, 0, p->text[i], sizeof p->text[i]);
    }
    if (p->has_times) {
        p->calendar = k.name;
        p->units = text_for(&code, "the units", info.units);
    }
    tally_file_close(file);
    return code;
}

/* Checks that a file follows the one before it. */
static int follows(const piece *before, const piece *p, const char *axis)
{
    if (before->time[1] < p->time[0] || !strcmp(before->units, p->units)) return DONE;
    return bad_data("%s: %s begins at %s %s, and %s, which comes before, ends at %s %s: times of "
                    "files that are joined must not repeat",
                    p->path, axis, p->text[0], p->units, before->path, before->text[1],
                    before->units);
}

int join_order(tally *ctx, const options *o, char **paths)
{
    int count = 0, code = DONE, sortable = 1;
    while (paths[count]) count++;
    piece *const p = memory_for(&code, "the files", count, sizeof *p);
    if (code) return code;
    for (int i = 0; i < count && sortable && !code; i++) {
        p[i].path = paths[i];
        code = read_ends(ctx, o, &p[i]);
        sortable =
            p[i].has_times && !strcmp(p[i].calendar, p[0].calendar) && p[i].time[0] <= p[i].time[1];
    }
    if (sortable && !code) {
        qsort(p, (size_t)count, sizeof *p, earlier);
        for (int i = 0; i < count; i++) paths[i] = p[i].path;
        for (int i = 1; i < count && !code; i++)
            code = follows(&p[i - 1], &p[i], o->value[OPT_axis]);
    }
    for (int i = 0; i < count; i++) free(p[i].units);
    free(p);
    return code;
}
