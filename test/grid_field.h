/* SPDX-License-Identifier: MIT
 * Many sequences with random strides, and parts of them. Part of test_grid.c. */
#ifndef TALLY_TEST_GRID_FIELD_H
#define TALLY_TEST_GRID_FIELD_H
#include "contexts.h"

enum { MOST = 900000, GUARD = 64, PIECES = 12 };
static char *x_memory, *want, *got;

typedef struct {
    check_operator o;
    tally_view all;
    char *x;          /* the memory of its elements, */
    int64_t capacity; /* and how many there are */
    char what[200];
} field;

/* Random sequences with random strides, columns mostly. */
static field pick(void)
{
    field f = {.o = check_operator_random()};
    int64_t rows = check_below(4) ? check_size(check_below(8) ? 200 : 5000) : check_below(20),
            n = check_size(check_below(4) ? 40 : 3000),
            step = check_below(3) ? 1 : 1 + check_below(3);
    /* on several threads */
    if (check_below(40) == 0) rows = 70000 + check_below(5000), n = 1 + check_below(6);
    const int columns = check_below(3) != 0, kind = (int)check_below(TL_DATA_KINDS);
    int64_t *const shorter = rows < n ? &n : &rows;
    while ((rows + 5) * (n + 5) * step > MOST) *shorter /= 2;
    const int64_t pitch = ((columns ? rows : n) + check_below(5)) * step;
    f.all = tally_flat(NULL, f.o.dtype, n);
    f.all.rows = rows;
    f.all.row_stride = (columns ? step : pitch) * (check_below(4) ? 1 : -1);
    f.all.stride = (columns ? pitch : step) * (check_below(4) ? 1 : -1);
    if (rows && n && check_below(20) == 0) f.all.row_stride = 0;
    const int64_t low = (f.all.row_stride < 0 ? (rows - 1) * f.all.row_stride : 0) +
                        (f.all.stride < 0 ? (n - 1) * f.all.stride : 0);
    f.x = x_memory + check_below(17);
    f.capacity = (rows + 5) * (n + 5) * step;
    check_fill(f.x, f.o.dtype, f.capacity, kind);
    f.all.data = rows && n ? f.x - low * f.o.bytes : f.x;
    snprintf(f.what, sizeof f.what, "%s %s rows %lld n %lld strides %lld %lld data %d", f.o.op,
             tally_dtype_name(f.o.dtype), (long long)rows, (long long)n,
             (long long)f.all.row_stride, (long long)f.all.stride, kind);
    return f;
}

/* Elements a .. b - 1 of each sequence. */
static tally_view part(const field *f, int64_t a, int64_t b)
{
    tally_view v = f->all;
    v.data = (char *)v.data + a * v.stride * f->o.bytes;
    v.n = b - a;
    return v;
}

static int64_t chunk(int64_t left)
{
    const int64_t n = check_below(3)   ? check_below(3)
                      : check_below(4) ? check_below(30)
                                       : check_below(left + 1);
    return n < left ? n : left;
}

static void guarded(int64_t bytes, const char *what)
{
    int bad = 0;
    for (int i = 0; i < GUARD; i++) bad |= got[bytes + i] != 0x5a;
    check(!bad, "written behind the results: %s", what);
}

/* Sometimes a stream goes on from a fragment; returns after how many steps. */
#endif
