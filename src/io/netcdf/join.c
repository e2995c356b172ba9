/* SPDX-License-Identifier: MIT
 * Coordinates of a variable that is read, and whether the files that are joined follow each other
 * along one. All of it is locked by its caller. */
#include "parts.h"
#include <stdlib.h>
#include <string.h>

int tl_part_coordinate(const tally_file *f, const tl_part *p, int dimension, int *group,
                       int *variable)
{
    const tl_netcdf *const n = f->netcdf;
    const int groups[] = {p->group, p->file};
    tl_netcdf_variable v;
    if (!n->names[dimension]) return 0; /* a single value */
    /* a dimension of a group hides another one of its name: the number says which it is */
    for (int i = 0; i < 2; i++)
        if (!n->api->nc_inq_varid(groups[i], n->names[dimension], variable) &&
            !tl_netcdf_inquire(n->api, groups[i], *variable, &v) && v.ndims == 1 &&
            v.dims[0] == p->dims[dimension]) {
            *group = groups[i];
            return 1;
        }
    return 0;
}

/* The first and the last number along the join. */
typedef struct ends {
    const tl_part *of;
    tally_dtype dtype;
    char value[2][8];
    char *units, *calendar;
} ends;

static void ends_free(ends *e)
{
    free(e->units);
    free(e->calendar);
}

/* there: whether they are known. */
static tally_status ends_read(const tally_file *f, const tl_part *p, ends *e, int *there)
{
    const tl_netcdf *const n = f->netcdf;
    const char *const name = n->names[n->join];
    int group, variable;
    tl_netcdf_variable v;
    tl_packing packing;
    *e = (ends){.of = p};
    *there = 0;
    if (!p->length || !tl_part_coordinate(f, p, n->join, &group, &variable) ||
        tl_netcdf_inquire(n->api, group, variable, &v) || !tl_packed_dtype(v.type))
        return TALLY_OK;
    const tl_source of = {f->ctx, n->api, p->path, name, group, variable};
    tally_status s = tl_packing_read(&of, v.type, 0, &packing);
    if (!s) s = tl_part_whole(f, p, group, variable, name);
    if (!s) s = tl_netcdf_text(&of, "units", &e->units);
    if (!s) s = tl_netcdf_text(&of, "calendar", &e->calendar);
    if (s) return s;
    e->dtype = packing.given;
    *there = 1;
    for (int i = 0; i < 2 && *there; i++) {
        const size_t start = i ? (size_t)p->length - 1 : 0, count = 1;
        char *const stored = tl_unpack_place(&packing, e->value[i], 1);
        int64_t bad;
        const int error = n->api->nc_get_vara(group, variable, &start, &count, stored);
        if (error)
            return tl_fail(f->ctx, TALLY_BAD_DATA, "%s: %s: %s", p->path, name,
                           n->api->nc_strerror(error));
        *there = tl_unpack(&packing, stored, e->value[i], 1, &bad); /* not a missing value */
    }
    return TALLY_OK;
}

static __int128 whole(tally_dtype dtype, const char *value)
{
    int64_t x;
    uint64_t y = 0;
    if (tl_cast(TALLY_I64, &x, dtype, value)) return x;
    tl_cast(TALLY_U64, &y, dtype, value);
    return y;
}

/* -1, 0, 1, or 2: one is NaN. */
static int compare(tally_dtype a, const char *x, tally_dtype b, const char *y)
{
    double left, right;
    if (!tl_is_float(a) && !tl_is_float(b)) {
        const __int128 v = whole(a, x), w = whole(b, y);
        return (v > w) - (v < w);
    }
    tl_cast(TALLY_F64, &left, a, x);
    tl_cast(TALLY_F64, &right, b, y);
    return left != left || right != right ? 2 : (left > right) - (left < right);
}

static int same(const char *a, const char *b) { return !a == !b && (!a || !strcmp(a, b)); }

static tally_status goes_back(const tally_file *f, const ends *before, const ends *after, int way)
{
    char last[48], first[48];
    tally_format_value(before->dtype, before->value[1], 0, last, sizeof last);
    tally_format_value(after->dtype, after->value[0], 0, first, sizeof first);
    return tl_fail(f->ctx, TALLY_BAD_DATA,
                   "%s: %s begins at %s, and %s, which comes before, ends at %s: files that are "
                   "joined must go on %s",
                   after->of->path, f->netcdf->names[f->netcdf->join], first, before->of->path,
                   last, way < 0 ? "descending" : "ascending");
}

tally_status tl_parts_ascend(tally_file *f)
{
    const tl_netcdf *const n = f->netcdf;
    ends before = {.of = NULL}, after;
    tally_status s = TALLY_OK;
    int way = 0; /* 1: the numbers rise, -1: they fall */
    for (int i = 0; i < n->count && !s; i++) {
        int there;
        if ((s = ends_read(f, &n->parts[i], &after, &there)) || !there) {
            ends_free(&after);
            continue;
        }
        const int within = compare(after.dtype, after.value[1], after.dtype, after.value[0]);
        if (!way && within != 2) way = within;
        if (before.of && same(before.units, after.units) && same(before.calendar, after.calendar)) {
            const int step =
                compare(after.dtype, after.value[0], before.dtype, before.value[1]);
            if (!way && step != 2) way = step;
            if (step != 2 && (!step || step != way)) s = goes_back(f, &before, &after, way);
        }
        ends_free(&before);
        before = after;
    }
    ends_free(&before);
    return s;
}
