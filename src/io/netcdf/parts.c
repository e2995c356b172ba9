/* SPDX-License-Identifier: MIT
 * What libnetcdf tells of variables: finds the requested one, or makes the error sentence; and
 * checks the parts of a variable that is read: each file is complete, and the coordinates of joined
 * files follow each other. The callers hold the lock. */
#include "netcdf.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tl_netcdf_inquire(int group, int variable, tl_netcdf_variable *v)
{
    int attributes, error;
    error = tl_nc.nc_inq_var(group, variable, v->name, &v->type, &v->ndims, NULL, &attributes);
    if (error || v->ndims > TL_DIMS) return error;
    return tl_nc.nc_inq_var(group, variable, NULL, NULL, NULL, v->dims, NULL);
}

size_t tl_netcdf_describe(int group, int variable, char *out, size_t capacity)
{
    tl_netcdf_variable v;
    char name[NC_MAX_NAME + 1];
    size_t length, n;
    if (tl_netcdf_inquire(group, variable, &v)) return (size_t)(*out = 0);

    if (v.ndims > TL_DIMS)
        return (size_t)snprintf(out, capacity, "%.64s(%d dimensions: at most %d)", v.name, v.ndims,
                                TL_DIMS);
    n = (size_t)snprintf(out, capacity, "%.64s(", v.name);
    for (int d = 0; d < v.ndims && n + 60 < capacity; d++)
        if (!tl_nc.nc_inq_dim(group, v.dims[d], name, &length))
            n +=
                (size_t)snprintf(out + n, capacity - n, "%s%.30s %zu", d ? ", " : "", name, length);
    return n + (size_t)snprintf(out + n, capacity - n, ")");
}

/* Whether another variable names this one: as its bounds, or as a coordinate of it. */
static int is_named(int group, const char *name)
{
    static const char *const attributes[] = {"bounds", "climatology", "coordinates"};
    const size_t n = strlen(name);
    int count = 0, named = 0;
    tl_nc.nc_inq_nvars(group, &count);

    for (int i = 0; i < 3 * count && !named; i++) {
        char *text = NULL;
        const tl_source of = {NULL, "", "", group, i / 3};
        if (tl_netcdf_text(&of, attributes[i % 3], &text)) continue;
        for (const char *at = text; at && (at = strstr(at, name)); at++)
            named |= (at == text || at[-1] == ' ') && (!at[n] || at[n] == ' ');
        free(text);
    }

    return named;
}

/* Whether a variable has numbers and is not the coordinate of a dimension, bounds or another
 * coordinate (a field). */
static int is_field(int group, int variable)
{
    tl_netcdf_variable v;
    char dim[NC_MAX_NAME + 1];
    size_t length;
    if (tl_netcdf_inquire(group, variable, &v)) return 0;
    return tl_packed_dtype(v.type) && v.ndims > 0 &&
           !(v.ndims == 1 && !tl_nc.nc_inq_dim(group, v.dims[0], dim, &length) &&
             strcmp(dim, v.name) == 0) &&
           !is_named(group, v.name);
}

/* Lists variables, and the groups inside a group if they are few. */
static size_t list_variables(int group, int fields, char *out, size_t capacity)
{
    int count = 0, inside = 0, groups[8];
    size_t n = 0, length;

    *out = 0;
    tl_nc.nc_inq_nvars(group, &count);

    for (int v = 0; v < count; v++) {
        if (fields && !is_field(group, v)) continue;
        if (n + 120 > capacity) return n + (size_t)snprintf(out + n, capacity - n, ", ...");
        if (n) n += (size_t)snprintf(out + n, capacity - n, ", ");
        n += tl_netcdf_describe(group, v, out + n, capacity - n);
    }

    if (!tl_nc.nc_inq_grps(group, &inside, NULL) && inside > 8) return n;
    tl_nc.nc_inq_grps(group, NULL, groups);
    for (int g = 0; g < inside; g++) {
        if (tl_nc.nc_inq_grpname_full(groups[g], &length, NULL) || n + length + 20 > capacity)
            break;
        n += (size_t)snprintf(out + n, capacity - n, "%sgroup ", n ? ", " : "");
        if (!tl_nc.nc_inq_grpname_full(groups[g], &length, out + n)) n += length;
    }
    return n;
}

/* The error if there is no variable `name`, or without a name not exactly one field. libnetcdf
 * does not show HDF5 arrays without numbers, so tl_hdf5_kind searches for them. */
static tally_status not_found(const tl_source *in, const char *name, int group, int fields)
{
    char list[800], found[NC_MAX_NAME + 1];
    const char *const kind = fields ? NULL : tl_hdf5_kind(in->label, name, found);
    if (kind) return tl_unsupported_on(in, "%s has %s, not numbers", found, kind);
    if (!list_variables(group, !name && fields, list, sizeof list)) strcpy(list, "none");
    if (name) return tl_invalid_on(in, "no variable '%s'; the variables are %s", name, list);
    if (!fields) return tl_invalid_on(in, "0 variables are fields of numbers; there are %s", list);
    return tl_invalid_on(in,
                         "%d variables are no coordinates: %s; choose one with --variable "
                         "(--with, --minus: FILE:NAME)",
                         fields, list);
}

tally_status tl_netcdf_find(const tl_source *in, const char *name, int *group, int *variable)
{
    char group_name[NC_MAX_NAME + 1];
    const char *const slash = name ? strrchr(name, '/') : NULL;

    *group = in->group;
    if (slash && slash > name) {
        snprintf(group_name, sizeof group_name, "%.*s", (int)(slash - name), name);
        if (tl_nc.nc_inq_grp_full_ncid(in->group, group_name, group))
            return tl_invalid_on(in, "no group '%s'", group_name);
    }

    if (name)
        return tl_nc.nc_inq_varid(*group, slash ? slash + 1 : name, variable)
                   ? not_found(in, name, *group, 0)
                   : TALLY_OK;

    int count = 0, found = 0;
    tl_nc.nc_inq_nvars(in->group, &count);
    for (int v = 0; v < count; v++)
        if (is_field(in->group, v)) found++, *variable = v;
    return found == 1 ? TALLY_OK : not_found(in, NULL, in->group, found);
}

/* Finds the largest box that begins at element `at`. A read of several rows takes several boxes:
 *
 *    shape 4 x 3 x 5, elements 7..39:
 *    . . . . .   . . 3 3 3   3 3 3 3 3        1: the rest of a row     [0, 1, 2:5]
 *    . . 1 1 1   3 3 3 3 3   3 3 3 3 3        2: the rest of a layer   [0, 2:3, :]
 *    2 2 2 2 2   3 3 3 3 3   4 4 4 4 4        3: whole layers, and so on */
int64_t tl_netcdf_box(int ndim, const int64_t *shape, int64_t at, int64_t rest, int64_t *start,
                      int64_t *count)
{
    assert(ndim >= 0 && at >= 0 && rest > 0);
    int64_t inner = 1;
    int d = ndim - 1;
    if (d < 0) return 1;

    for (int k = d; k >= 0; k--) {
        start[k] = at % shape[k];
        at /= shape[k];
        count[k] = 1;
    }

    while (d > 0 && start[d] == 0 && rest / shape[d] >= inner) {
        count[d] = shape[d];
        inner *= shape[d--];
    }

    count[d] = shape[d] - start[d] < rest / inner ? shape[d] - start[d] : rest / inner;
    return count[d] * inner;
}

/* ---- the parts of a variable ---- */

/* Refuses a variable of which HDF5 stores more elements than its dimensions show. */
static tally_status stored_whole(const tl_source *of)
{
    tl_netcdf_variable v;
    uint64_t extents[TL_DIMS];

    if (tl_netcdf_inquire(of->group, of->variable, &v) || v.ndims > TL_DIMS ||
        tl_hdf5_extents(of->label, of->group, v.name, extents) != v.ndims)
        return TALLY_OK;

    for (int d = 0; d < v.ndims; d++) {
        size_t length;
        if (!tl_nc.nc_inq_dim(of->group, v.dims[d], NULL, &length) && extents[d] > length)
            return tl_bad_data_on(of,
                                  "%s is stored with %lu elements along dimension %d, which has "
                                  "the length %zu: the others would be lost",
                                  of->what, extents[d], d, length);
    }
    return TALLY_OK;
}

tally_status tl_part_whole(const tl_part *p, const tl_source *of)
{
    const tl_classic *const h = &p->header; /* classic files have one group */
    const int i = of->variable;
    if (!h->end) return stored_whole(of);
    if (of->group != p->file || i >= h->count || h->end[i] <= h->size) return TALLY_OK;
    return tl_bad_data_on(of, "is too short: %s ends at byte %ld, and it has %ld bytes", of->what,
                          h->end[i], h->size);
}

int tl_part_coordinate(const tally_file *f, const tl_part *p, int dimension, tl_source *of,
                       tl_netcdf_variable *v)
{
    const tl_netcdf *const n = f->netcdf;
    const int groups[] = {p->of.group, p->file};
    uint64_t extents[TL_DIMS];
    *of = (tl_source){f->ctx, p->of.label, n->names[dimension], 0, 0};
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
                   (p->header.end || !tl_hdf5_extents(p->of.label, of->group, v->name, extents) ||
                    extents[0] ==
                        (uint64_t)(dimension == n->join ? p->length : f->info.shape[dimension]));
    }
    return 0;
}

/* The first and the last number along a dimension of a part. */
typedef struct {
    const tl_source *of; /* the part; NULL: the numbers are not known */
    tally_dtype dtype;
    char value[2][8];
    char *units, *calendar;
} ends;

static void ends_free(ends *e)
{
    free(e->units);
    free(e->calendar);
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
    e->of = &p->of;
    e->dtype = packing.given;

    for (int i = 0; i < 2 && !s; i++) {
        const size_t start = i ? (size_t)length - 1 : 0, count = 1;
        char *const stored = tl_unpack_place(&packing, e->value[i], 1);
        int64_t bad;
        const int error = tl_nc.nc_get_vara(of.group, of.variable, &start, &count, stored);
        if (error)
            s = tl_bad_data_on(&of, "%s: %s", of.what, tl_nc.nc_strerror(error));
        else if (!tl_unpack(&packing, stored, e->value[i], 1, &bad))
            e->of = NULL; /* the number is missing */
    }

    return s;
}

static __int128 whole(tally_dtype dtype, const char *value)
{
    int64_t x;
    uint64_t y = 0;
    if (tl_cast(TALLY_I64, &x, dtype, value)) return x;
    tl_cast(TALLY_U64, &y, dtype, value);
    return y;
}

/* Compares the first (0) or the last (1) number of two parts. Returns -1, 0 or 1, or 2 if one of
 * the two is NaN. */
static int compare(const ends *a, int i, const ends *b, int k)
{
    double left, right;
    if (!tl_is_float(a->dtype) && !tl_is_float(b->dtype)) {
        const __int128 v = whole(a->dtype, a->value[i]), w = whole(b->dtype, b->value[k]);
        return (v > w) - (v < w);
    }
    tl_cast(TALLY_F64, &left, a->dtype, a->value[i]);
    tl_cast(TALLY_F64, &right, b->dtype, b->value[k]);
    return left != left || right != right ? 2 : (left > right) - (left < right);
}

static int same(const char *a, const char *b) { return !a == !b && (!a || !strcmp(a, b)); }

/* Whether the coordinates of two parts can be compared. */
static int are_comparable(const ends *a, const ends *b)
{
    return a->of && b->of && same(a->units, b->units) && same(a->calendar, b->calendar);
}

typedef struct {
    char text[48];
} shown;

/* The first (0) or the last (1) number as text. */
static shown show(const ends *e, int which)
{
    shown number;
    tally_format_value(e->dtype, e->value[which], 0, number.text, sizeof number.text);
    return number;
}

/* Checks that along the join a part continues after the part before it. *direction: 1 if the
 * numbers rise, -1 if they fall, 0 as long as it is not known. */
static tally_status check_step(const tally_file *f, const ends *before, const ends *e,
                               int *direction)
{
    const char *const name = f->netcdf->names[f->netcdf->join];
    const int within = compare(e, 1, e, 0),
              step = are_comparable(before, e) ? compare(e, 0, before, 1) : 2;
    if (!*direction && within != 2) *direction = within;
    if (!*direction && step != 2) *direction = step;
    const char *const way = *direction < 0 ? "descending" : "ascending";
    if (step != 2 && (!step || step != *direction))
        return tl_bad_data_on(e->of,
                              "%s begins at %s, and %s, which comes before, ends at %s: files that "
                              "are joined must go on %s",
                              name, show(e, 0).text, before->of->label, show(before, 1).text, way);
    if (within == -*direction && *direction)
        return tl_bad_data_on(e->of,
                              "%s goes from %s to %s, and the files that are joined with it are %s",
                              name, show(e, 0).text, show(e, 1).text, way);
    return TALLY_OK;
}

static tally_status check_join(const tally_file *f)
{
    const tl_netcdf *const n = f->netcdf;
    ends before = {.of = NULL}, e;
    tally_status s = TALLY_OK;
    int direction = 0;

    for (int i = 0; i < n->count && !s; i++) {
        s = ends_read(f, &n->parts[i], n->join, &e);
        const int known = !s && e.of;
        if (known) s = check_step(f, &before, &e, &direction);
        ends_free(known ? &before : &e);
        if (known) before = e;
    }

    ends_free(&before);
    return s;
}

/* Checks that all parts have the same numbers along another dimension. */
static tally_status check_equal(const tally_file *f, int dimension)
{
    assert(dimension >= 0);
    const tl_netcdf *const n = f->netcdf;
    const char *const name = n->names[dimension];
    ends first, e;
    tally_status s = ends_read(f, n->parts, dimension, &first);

    for (int i = 1; i < n->count && !s && first.of; i++) {
        s = ends_read(f, &n->parts[i], dimension, &e);
        for (int k = 0; k < 2 && !s && are_comparable(&first, &e); k++) {
            if (compare(&first, k, &e, k) % 2 == 0) continue;
            s = tl_bad_data_on(
                e.of,
                "%s %s %s, and in %s %s: files that are joined along %s must have the same %s",
                name, k ? "ends at" : "begins at", show(&e, k).text, first.of->label,
                show(&first, k).text, n->names[n->join], name);
        }

        ends_free(&e);
    }

    ends_free(&first);
    return s;
}

tally_status tl_parts_fit(const tally_file *f)
{
    TL_TRY(check_join(f));
    for (int d = 0; d < f->info.ndim; d++)
        if (d != f->netcdf->join) TL_TRY(check_equal(f, d));
    return TALLY_OK;
}
