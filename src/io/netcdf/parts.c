/* SPDX-License-Identifier: MIT
 * Checks of the parts of a variable that is read: each file is complete, and the coordinates of
 * joined files follow each other. The callers hold the lock. */
#include "netcdf.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Refuses a variable of which HDF5 stores more elements than its dimensions show. */
static tally_status stored_whole(const tl_source *of)
{
    tl_netcdf_variable v;
    uint64_t extents[TL_DIMS];

    if (tl_netcdf_inquire(of->group, of->variable, &v) || v.ndims > TL_DIMS ||
        tl_hdf5_extents(of->path, of->group, v.name, extents) != v.ndims)
        return TALLY_OK;

    for (int d = 0; d < v.ndims; d++) {
        size_t length;
        if (!tl_nc.nc_inq_dim(of->group, v.dims[d], NULL, &length) && extents[d] > length)
            return tl_bad_data(of->ctx,
                               "%s: %s is stored with %llu elements along dimension %d, which has "
                               "the length %zu: the others would be lost",
                               of->path, of->what, (unsigned long long)extents[d], d, length);
    }
    return TALLY_OK;
}

tally_status tl_part_whole(const tl_part *p, const tl_source *of)
{
    const tl_classic *const h = &p->header; /* classic files have one group */
    const int i = of->variable;
    if (!h->end) return stored_whole(of);
    if (of->group != p->file || i >= h->count || h->end[i] <= h->size) return TALLY_OK;
    return tl_bad_data(of->ctx, "%s: is too short: %s ends at byte %lld, and it has %lld bytes",
                       of->path, of->what, (long long)h->end[i], (long long)h->size);
}

int tl_part_coordinate(const tally_file *f, const tl_part *p, int dimension, tl_source *of,
                       tl_netcdf_variable *v)
{
    const tl_netcdf *const n = f->netcdf;
    const int groups[] = {p->group, p->file};
    uint64_t extents[TL_DIMS];
    *of = (tl_source){f->ctx, p->path, n->names[dimension], 0, 0};
    if (!of->what) return 0; /* a single value */

    /* a dimension of a group hides another one of the same name; the number tells which one it
     * is */
    for (int i = 0; i < 2; i++) {
        of->group = groups[i];
        if (!tl_nc.nc_inq_varid(of->group, of->what, &of->variable) &&
            !tl_netcdf_inquire(of->group, of->variable, v) && v->ndims == 1 &&
            v->dims[0] == p->dims[dimension])
            /* HDF5 may store fewer numbers than the dimension is long */
            return tl_packed_dtype(v->type) &&
                   (p->header.end || !tl_hdf5_extents(p->path, of->group, v->name, extents) ||
                    extents[0] ==
                        (uint64_t)(dimension == n->join ? p->length : f->info.shape[dimension]));
    }
    return 0;
}

/* The first and the last number along a dimension of a part. */
typedef struct ends {
    const tl_part *of; /* NULL: they are not known */
    tally_dtype dtype;
    char value[2][8];
    char *units, *calendar;
} ends;

static void ends_free(ends *e)
{
    free(e->units);
    free(e->calendar);
}

static tally_status ends_values(const tally_file *f, const tl_source *of, const tl_packing *packing,
                                size_t length, ends *e)
{
    for (int i = 0; i < 2; i++) {
        const size_t start = i ? length - 1 : 0, count = 1;
        char *const stored = tl_unpack_place(packing, e->value[i], 1);
        int64_t bad;
        const int error = tl_nc.nc_get_vara(of->group, of->variable, &start, &count, stored);
        if (error)
            return tl_bad_data(f->ctx, "%s: %s: %s", of->path, of->what, tl_nc.nc_strerror(error));

        /* the number is missing */
        if (!tl_unpack(packing, stored, e->value[i], 1, &bad)) e->of = NULL;
    }
    return TALLY_OK;
}

static tally_status ends_read(const tally_file *f, const tl_part *p, int dimension, ends *e)
{
    const tl_netcdf *const n = f->netcdf;
    const int64_t length = dimension == n->join ? p->length : f->info.shape[dimension];
    tl_source of;
    tl_netcdf_variable v;
    tl_packing packing;

    *e = (ends){.of = NULL};
    if (!length || !tl_part_coordinate(f, p, dimension, &of, &v)) return TALLY_OK;
    tally_status s = tl_packing_read(&of, v.type, 0, &packing);
    if (!s) s = tl_part_whole(p, &of);
    if (!s) s = tl_netcdf_text(&of, "units", &e->units);
    if (!s) s = tl_netcdf_text(&of, "calendar", &e->calendar);
    e->of = p;
    e->dtype = packing.given;
    return s ? s : ends_values(f, &of, &packing, (size_t)length, e);
}

static __int128 whole(tally_dtype dtype, const char *value)
{
    int64_t x;
    uint64_t y = 0;
    if (tl_cast(TALLY_I64, &x, dtype, value)) return x;
    tl_cast(TALLY_U64, &y, dtype, value);
    return y;
}

/* Returns -1, 0 or 1, or 2 if one of the two is NaN. */
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

/* Whether the coordinates of two parts can be compared. */
static int are_comparable(const ends *a, const ends *b)
{
    return a->of && b->of && same(a->units, b->units) && same(a->calendar, b->calendar);
}

enum { SHOWN = 48 };

/* The first (0) or the last (1) number as text. */
static const char *show(const ends *e, int which, char out[SHOWN])
{
    tally_format_value(e->dtype, e->value[which], 0, out, SHOWN);
    return out;
}

static tally_status goes_back(const tally_file *f, const ends *before, const ends *after,
                              int direction)
{
    char last[SHOWN], first[SHOWN];
    return tl_bad_data(f->ctx,
                       "%s: %s begins at %s, and %s, which comes before, ends at %s: files that "
                       "are joined must go on %s",
                       after->of->path, f->netcdf->names[f->netcdf->join], show(after, 0, first),
                       before->of->path, show(before, 1, last),
                       direction < 0 ? "descending" : "ascending");
}

static tally_status turns(const tally_file *f, const ends *e, int direction)
{
    char first[SHOWN], last[SHOWN];
    return tl_bad_data(f->ctx,
                       "%s: %s goes from %s to %s, and the files that are joined with it are %s",
                       e->of->path, f->netcdf->names[f->netcdf->join], show(e, 0, first),
                       show(e, 1, last), direction < 0 ? "descending" : "ascending");
}

/* Checks that along the join each part continues after the part before it. */
static tally_status check_join(const tally_file *f)
{
    const tl_netcdf *const n = f->netcdf;
    ends before = {.of = NULL}, e;
    tally_status s = TALLY_OK;
    int direction = 0; /* 1: the numbers rise, -1: they fall */

    for (int i = 0; i < n->count && !s; i++) {
        s = ends_read(f, &n->parts[i], n->join, &e);
        if (s || !e.of) {
            ends_free(&e);
            continue;
        }

        const int within = compare(e.dtype, e.value[1], e.dtype, e.value[0]),
                  step = are_comparable(&before, &e)
                             ? compare(e.dtype, e.value[0], before.dtype, before.value[1])
                             : 2;
        if (!direction && within != 2) direction = within;
        if (!direction && step != 2) direction = step;
        if (step != 2 && (!step || step != direction)) s = goes_back(f, &before, &e, direction);
        if (!s && within == -direction && direction) s = turns(f, &e, direction);
        ends_free(&before);
        before = e;
    }

    ends_free(&before);
    return s;
}

/* Checks that all parts have the same numbers along another dimension. */
static tally_status check_equal(const tally_file *f, int dimension)
{
    assert(dimension >= 0);
    const tl_netcdf *const n = f->netcdf;
    ends first = {.of = NULL}, e = {.of = NULL};
    tally_status s = ends_read(f, n->parts, dimension, &first);
    for (int i = 1; i < n->count && !s && first.of; i++) {
        s = ends_read(f, &n->parts[i], dimension, &e);
        for (int k = 0; k < 2 && !s && are_comparable(&first, &e); k++) {
            if (compare(first.dtype, first.value[k], e.dtype, e.value[k]) % 2 == 0) continue;
            char one[SHOWN], other[SHOWN];
            s = tl_bad_data(
                f->ctx,
                "%s: %s %s %s, and in %s %s: files that are joined along %s must have the same %s",
                e.of->path, n->names[dimension], k ? "ends at" : "begins at", show(&e, k, other),
                first.of->path, show(&first, k, one), n->names[n->join], n->names[dimension]);
        }

        ends_free(&e);
    }

    ends_free(&first);
    return s;
}

tally_status tl_parts_fit(const tally_file *f)
{
    tally_status s = check_join(f);
    for (int d = 0; d < f->info.ndim && !s; d++)
        if (d != f->netcdf->join) s = check_equal(f, d);
    return s;
}
