/* SPDX-License-Identifier: MIT
 * NetCDF: classic files written by hand, with every stored type, fill values and packing, read
 * in pieces and boxes of any size, of one file and of several that are joined. Skipped where
 * libnetcdf is not. */
#define _GNU_SOURCE
#define _GNU_SOURCE
#include "files.h"
#include <sys/stat.h>

enum { DIMS = 3, BYTE = 1, SHORT = 3, INT, FLOAT, DOUBLE };

/* ---- a classic file: big-endian, everything padded to 4 bytes ---- */

static void put(FILE *f, const void *value, int64_t bytes) /* a number, its bytes turned */
{
    for (int64_t i = bytes; i-- > 0;) fputc(((const unsigned char *)value)[i], f);
}
static void word(FILE *f, int32_t v) { put(f, &v, 4); }
static void name(FILE *f, const char *text)
{
    word(f, (int32_t)strlen(text));
    for (size_t i = 0; i < (strlen(text) + 3) / 4 * 4; i++)
        fputc(i < strlen(text) ? text[i] : 0, f);
}
static void attribute(FILE *f, const char *text, int type, const void *value, int64_t bytes)
{
    name(f, text);
    word(f, type);
    word(f, 1);
    put(f, value, bytes);
    for (int64_t i = bytes; i < 4; i++) fputc(0, f);
}

typedef struct variable {
    int type;
    int64_t bytes, extents[DIMS];
    const char *stored;
    const void *fill;
    const double *scale, *offset;
} variable;

static const char *write_classic(const char *file, const variable *v)
{
    static const char *const names[DIMS] = {"time", "lat", "lon"};
    FILE *const f = fopen(path(file), "wb");
    const int64_t n = v->extents[0] * v->extents[1] * v->extents[2];
    fputs("CDF\1", f);
    word(f, 0);
    word(f, 10), word(f, DIMS);
    for (int d = 0; d < DIMS; d++) name(f, names[d]), word(f, (int32_t)v->extents[d]);
    word(f, 0), word(f, 0);
    word(f, 11), word(f, 1);
    name(f, "x");
    word(f, DIMS);
    for (int d = 0; d < DIMS; d++) word(f, d);
    const int attributes = (v->fill != NULL) + (v->scale != NULL) + (v->offset != NULL);
    word(f, attributes ? 12 : 0), word(f, attributes);
    if (v->fill) attribute(f, "_FillValue", v->type, v->fill, v->bytes);
    if (v->scale) attribute(f, "scale_factor", DOUBLE, v->scale, 8);
    if (v->offset) attribute(f, "add_offset", DOUBLE, v->offset, 8);
    word(f, v->type);
    word(f, (int32_t)((n * v->bytes + 3) / 4 * 4));
    word(f, (int32_t)ftell(f) + 4);
    for (int64_t i = 0; i < n; i++) put(f, v->stored + i * v->bytes, v->bytes);
    for (int64_t i = n * v->bytes; i % 4; i++) fputc(0, f);
    fclose(f);
    return path(file);
}

/* ---- what must come out ---- */

static double value_of(const variable *v, int64_t i)
{
    const char *const at = v->stored + i * v->bytes;
    double y = 0;
    int8_t a;
    int16_t b;
    int32_t c;
    float d;
    if (v->type == BYTE) memcpy(&a, at, 1), y = a;
    if (v->type == SHORT) memcpy(&b, at, 2), y = b;
    if (v->type == INT) memcpy(&c, at, 4), y = c;
    if (v->type == FLOAT) memcpy(&d, at, 4), y = (double)d;
    if (v->type == DOUBLE) memcpy(&y, at, 8);
    volatile double z = y; /* each step rounds */
    if (v->scale) z = z * *v->scale;
    if (v->offset) z = z + *v->offset;
    return v->fill && memcmp(v->fill, at, (size_t)v->bytes) == 0 ? __builtin_nan("") : z;
}

static void expected(const variable *v, tally_dtype dtype, int64_t n, char *out)
{
    const float none = __builtin_nanf("");
    for (int64_t i = 0; i < n; i++) {
        const double y = value_of(v, i);
        if (dtype == TALLY_F64)
            memcpy(out + 8 * i, &y, 8);
        else if (dtype == TALLY_F32 && y != y)
            memcpy(out + 4 * i, &none, 4);
        else
            memcpy(out + v->bytes * i, v->stored + v->bytes * i, (size_t)v->bytes);
    }
}

static void read_all(tally *ctx, const char *file, const tally_file_options *o, tally_dtype dtype,
                     const int64_t *shape, const char *want)
{
    tally_file *f = NULL;
    tally_file_info info;
    const int64_t n = shape[0] * shape[1] * shape[2], size = (int64_t)tally_dtype_size(dtype);
    char *const got = malloc((size_t)(n * size) + 1);
    if (!check_ok(ctx, tally_file_open(ctx, file, o, &f), "open")) {
        free(got);
        return;
    }
    tally_file_get_info(f, &info);
    check(info.dtype == dtype && info.ndim == DIMS && info.elements == n &&
              !memcmp(info.shape, shape, 8 * DIMS) && !strcmp(info.format, "netcdf") &&
              !strcmp(info.dimensions[2], "lon"),
          "%s: %s, %lld elements", file, tally_dtype_name(info.dtype), (long long)info.elements);
    const int64_t most = 1 + check_below(n / 3 + 2);
    int64_t at = 0, more = 1;
    while (more && at <= n) {
        check_ok(ctx, tally_file_read(f, got + at * size, 1 + check_below(most), &more), "read");
        at += more;
    }
    check(at == n, "%lld elements", (long long)at);
    check_same(got, want, n, size, "%s in pieces", file);
    for (int k = 0; k < 5; k++) {
        int64_t start[DIMS], count[DIMS], i = 0;
        for (int d = 0; d < DIMS; d++) {
            start[d] = check_below(shape[d] + 1);
            count[d] = check_below(shape[d] - start[d] + 1);
        }
        check_ok(ctx, tally_file_read_box(f, start, count, got), "box");
        for (int64_t a = start[0]; a < start[0] + count[0]; a++)
            for (int64_t b = start[1]; b < start[1] + count[1]; b++, i += count[2])
                check_same(got + i * size, want + ((a * shape[1] + b) * shape[2] + start[2]) * size,
                           count[2], size, "%s: a box", file);
    }
    check(tally_file_read_box(f, (int64_t[]){0, 0, shape[2]}, (int64_t[]){0, 0, 1}, got) ==
              TALLY_INVALID,
          "a box outside");
    tally_file_close(f);
    free(got);
}

static void one(tally *ctx, int type, int64_t bytes, tally_dtype dtype, int kind)
{
    const double scale = 0.01, offset = 273.15;
    const int64_t n1 = 1 + check_below(9), n2 = 1 + check_below(9), n3 = 1 + check_below(9),
                  n = n1 * n2 * n3, first = check_below(n1 + 1), shape[] = {n1, n2, n3};
    char *const stored = malloc((size_t)(n * bytes)), *const want = malloc((size_t)n * 8),
                file[300], other[300];
    check_fill(stored, dtype, n, TL_DATA_PLAIN);
    variable v = {type,
                  bytes,
                  {n1, n2, n3},
                  stored,
                  kind & 1 ? stored + check_below(n) * bytes : NULL,
                  kind & 2 ? &scale : NULL,
                  kind & 4 ? &offset : NULL};
    const int packed = kind & 6, whole = dtype < TALLY_F16 && !packed && v.fill;
    const tally_dtype given = packed ? TALLY_F64 : dtype;
    tally_file_options o = {.variable = kind & 1 ? "x" : NULL};
    snprintf(file, sizeof file, "%s", write_classic("a.nc", &v));
    expected(&v, given, n, want);
    if (!whole) read_all(ctx, file, &o, given, shape, want);
    o.dtype = TALLY_F64;
    expected(&v, TALLY_F64, n, want);
    read_all(ctx, file, &o, TALLY_F64, shape, want);
    if (whole) { /* an integer that stands for none */
        tally_file *f;
        int64_t got;
        o.dtype = 0;
        check_ok(ctx, tally_file_open(ctx, file, &o, &f), "open");
        check(tally_file_read(f, want, n, &got) == TALLY_BAD_DATA &&
                  strstr(tally_error(ctx), "--dtype f64 makes it NaN"),
              "missing: %s", tally_error(ctx));
        tally_file_close(f);
        o.dtype = TALLY_F64;
        expected(&v, TALLY_F64, n, want);
    }
    variable part = v; /* the same in two files */
    part.extents[0] = first;
    snprintf(file, sizeof file, "%s", write_classic("b.nc", &part));
    part.extents[0] = n1 - first;
    part.stored += first * n2 * n3 * bytes;
    snprintf(other, sizeof other, "%s", write_classic("c.nc", &part));
    o.more = (const char *const[]){other, NULL};
    /* 0 is the length of records */
    if (first && first < n1) read_all(ctx, file, &o, TALLY_F64, shape, want);
    free(stored);
    free(want);
}

/* Written here, read back: every type, shapes of one to four dimensions, the first not known
   before. */
static void back(tally *ctx, tally_dtype dtype)
{
    static const char *const lines[] = {"_a.b-1(x)", "_a.b-1(x, time)",
                                        "_a.b-1(x, time, long name)",
                                        "_a.b-1(x, time, long name, z)"};
    static const char *const names[2][4] = {{"dim0", "dim1", "dim2", "dim3"},
                                            {"x", "time", "long name", "z"}};
    const int ndim = 1 + (int)check_below(4), is_sized = (int)check_below(2),
              named = (int)check_below(2);
    int64_t shape[4], given[4], n = 1, done = 0, got = 0;
    const int64_t size = (int64_t)tally_dtype_size(dtype);
    static const char *const ends[] = {"nc", "cdf", "nc4", "h5", "hdf5", "he5"};
    const int end = (int)check_below(6), along = (int)check_below(ndim);
    char file[16], coordinate[40 * 8], again[40 * 8], magic[4] = "";
    tally_file *f = NULL;
    tally_file_info info;
    for (int d = 0; d < ndim; d++) n *= shape[d] = given[d] = 1 + check_below(d ? 6 : 40);
    if (!is_sized) given[0] = -1;
    char *const want = malloc((size_t)(n * size)), *const out = malloc((size_t)(n * size));
    check_fill(want, dtype, n, TL_DATA_BITS);
    check_fill(coordinate, dtype, shape[along], TL_DATA_BITS);
    snprintf(file, sizeof file, "%d.%s", (int)dtype, ends[end]);
    check_ok(ctx, tally_file_create(ctx, path(file), NULL, dtype, ndim, given, 0, &f), "create");
    if (named) check_ok(ctx, tally_file_head(f, lines[ndim - 1]), "names");
    if (given[along] > 0)
        check_ok(ctx, tally_file_coordinate(f, "is", along, dtype, coordinate), "coordinate");
    while (done < n) {
        const int64_t now = 1 + check_below(n - done);
        check_ok(ctx, tally_file_write(f, want + done * size, now), "write");
        done += now;
    }
    check_ok(ctx, tally_file_commit(f), "commit");
    tally_file_close(f);
    FILE *const bytes = fopen(path(file), "rb");
    check(bytes && fread(magic, 1, 4, bytes) == 4 &&
              !memcmp(magic, end < 2 ? "CDF\5" : "\211HDF", 4),
          "%s begins %.4s", file, magic);
    if (bytes) fclose(bytes);
    if (given[along] > 0) {
        check_ok(ctx, tally_file_open(ctx, path(file), &(tally_file_options){.variable = "is"}, &f),
                 "open");
        check_ok(ctx, tally_file_read(f, again, 40, &got), "read");
        check(got == shape[along], "%lld of %lld steps", (long long)got, (long long)shape[along]);
        check_same(again, coordinate, got, size, "what the steps of %s are", file);
        tally_file_close(f);
    }
    const tally_file_options o = {.variable = named ? "_a.b-1" : "data"};
    check_ok(ctx, tally_file_open(ctx, path(file), &o, &f), "open");
    tally_file_get_info(f, &info);
    check(info.dtype == dtype && info.ndim == ndim &&
              !memcmp(info.shape, shape, (size_t)ndim * 8) &&
              !strcmp(info.dimensions[ndim - 1], names[named][ndim - 1]),
          "what %s is", file);
    check_ok(ctx, tally_file_read(f, out, n, &got), "read");
    check(got == n, "%lld of %lld", (long long)got, (long long)n);
    check_same(out, want, n, size, "%s written and read", tally_dtype_name(dtype));
    tally_file_close(f);
    free(want);
    free(out);
}

static void not_written(tally *ctx)
{
    static const char *const lines[] = {
        "",         "x",         "(a, b)",   "x()",      "x(a)",      "x(a, b, c)", "x(a, a)",
        "x(a, b) ", "x/y(a, b)", "x(a,, b)", "x(a, b )", "x(a, \tb)", ".x(a, b)"};
    const int64_t shape[] = {2, 3}, none[] = {2, 0};
    tally_file *f = NULL;
    check_ok(ctx, tally_file_create(ctx, path("n.nc"), NULL, TALLY_F32, 2, shape, 0, &f), "create");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check(tally_file_head(f, lines[i]) == TALLY_INVALID, "'%s' names two dimensions", lines[i]);
    const double steps[] = {1, 2, 3}, bounds[6] = {1, 2, 3, 4, 5, 6};
#define REFUSES(call, words) \
    check((call) == TALLY_INVALID && strstr(tally_error(ctx), words), "'%s' is not in '%s'", \
          words, tally_error(ctx))
    REFUSES(tally_file_coordinate(f, "x", 2, TALLY_F64, steps), "dimension is 2: must be 0..1");
    REFUSES(tally_file_coordinate(f, "x", -1, TALLY_F64, steps), "dimension is -1: must be 0..1");
    REFUSES(tally_file_coordinate(f, "x/y", 1, TALLY_F64, steps), "x/y");
    check(tally_file_coordinate(f, "x", 1, TALLY_F16, steps) == TALLY_UNSUPPORTED, "no type");
    REFUSES(tally_file_coordinate(f, NULL, 1, TALLY_F64, steps), "name is NULL");
    REFUSES(tally_file_coordinate(f, "x", 1, TALLY_F64, NULL), "values is NULL");
    const char *const wrong[][2] = {{"v(dim0, bnds=3)", "the length of bnds is 3: the file has 2"},
                                    {"v(dim0=3)", "the length of dim0 is 3: the file has 2"},
                                    {"v(bnds=)", "bnds="},
                                    {"v(c=2x)", "c=2x"},
                                    {"v(c=-1)", "c=-1"},
                                    {"v(c=0)", "c"}};
    check_ok(ctx, tally_file_variable(f, "b(dim0, bnds=2)", TALLY_F64, bounds), "bounds");
    check_ok(ctx, tally_file_variable(f, "same(dim0, bnds)", TALLY_F64, bounds), "bounds");
    REFUSES(tally_file_variable(f, "r(dim1, dim0)", TALLY_F64, NULL), "dimension 0 must be dim0");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(tally_file_variable(f, wrong[i][0], TALLY_F64, bounds) != TALLY_OK &&
                  strstr(tally_error(ctx), wrong[i][1]),
              "'%s' is not in '%s'", wrong[i][1], tally_error(ctx));
    REFUSES(tally_file_fill(f, NULL), "value is NULL");
    REFUSES(tally_file_attribute(f, NULL, NULL, "a"), "name or text is NULL");
    REFUSES(tally_file_attribute(f, NULL, "a", NULL), "name or text is NULL");
    REFUSES(tally_file_head(f, NULL), "line is NULL");
#undef REFUSES
    check(tally_file_like(f, f) == TALLY_INVALID, "no source");
    check_ok(ctx, tally_file_coordinate(f, "x", 1, TALLY_F64, steps), "a coordinate");
    check(tally_file_coordinate(f, "x", 0, TALLY_F64, steps) == TALLY_INVALID,
          "the name of another one");
    check(tally_file_fill(f, &(float){0}) == TALLY_INVALID, "after a coordinate");
    check(tally_file_head(f, "x(a, b)") == TALLY_INVALID, "names after a coordinate");
    check_ok(ctx, tally_file_write(f, (float[]){1, 2, 3}, 3), "write");
    check(tally_file_coordinate(f, "y", 0, TALLY_F64, steps) == TALLY_INVALID, "after elements");
    check(tally_file_commit(f) == TALLY_INVALID, "half of the elements");
    tally_file_close(f);
    check(access(path("n.nc"), F_OK) != 0, "a file that was not complete");
    check_ok(ctx, tally_file_create(ctx, path("n.npy"), NULL, TALLY_F32, 2, shape, 0, &f),
             "create");
    check(tally_file_fill(f, &(float){0}) == TALLY_UNSUPPORTED, "npy has no value for none");
    tally_file_close(f);
    check(tally_file_create(ctx, path("n.nc"), NULL, TALLY_BF16, 2, shape, 0, &f) ==
              TALLY_UNSUPPORTED,
          "bf16");
    check(tally_file_create(ctx, path("n.nc"), NULL, TALLY_F32, 2, none, 0, &f) ==
              TALLY_UNSUPPORTED,
          "no columns");
}

/* The value that stands for none: integers cannot be read without it, and as f64 it is NaN. */
static void fills(tally *ctx, const char *name)
{
    const int64_t n = 3;
    int64_t got;
    double real[3];
    int32_t whole[3];
    tally_file *f = NULL;
    check_ok(ctx, tally_file_create(ctx, path(name), NULL, TALLY_I32, 1, &n, 0, &f), "create");
    check_ok(ctx, tally_file_fill(f, &(int32_t){2}), "fill");
    check_ok(ctx, tally_file_write(f, (int32_t[]){1, 2, 3}, n), "write");
    check_ok(ctx, tally_file_commit(f), "commit");
    tally_file_close(f);
    check_ok(ctx, tally_file_open(ctx, path(name), NULL, &f), "open");
    check(tally_file_read(f, whole, n, &got) == TALLY_BAD_DATA, "%s: an element is none", name);
    tally_file_close(f);
    check_ok(ctx, tally_file_open(ctx, path(name), &(tally_file_options){.dtype = TALLY_F64}, &f),
             "open");
    check_ok(ctx, tally_file_read(f, real, n, &got), "read");
    check(real[0] == 1 && real[1] != real[1] && real[2] == 3, "%s: %g %g %g", name, real[0],
          real[1], real[2]);
    tally_file_close(f);
}

int main(void)
{
    static const struct {
        int type;
        int64_t bytes;
        tally_dtype dtype;
    } types[] = {{BYTE, 1, TALLY_I8},
                 {SHORT, 2, TALLY_I16},
                 {INT, 4, TALLY_I32},
                 {FLOAT, 4, TALLY_F32},
                 {DOUBLE, 8, TALLY_F64}};
    files_start();
    tally *ctx = check_open(2, NULL);
    const variable none = {FLOAT, 4, {1, 1, 1}, "\0\0\0"};
    tally_file *f = NULL;
    if (tally_file_open(ctx, write_classic("a.nc", &none), NULL, &f) == TALLY_UNSUPPORTED) {
        printf("skipped: %s\n", tally_error(ctx));
        files_finish();
        return 77;
    }
    tally_file_close(f);
    for (int repeat = 0; repeat < (check_quick ? 1 : 10); repeat++)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            for (int kind = 0; kind < 8; kind++)
                one(ctx, types[i].type, types[i].bytes, types[i].dtype, kind);
    for (int d = TALLY_I8; d <= TALLY_F64; d++)
        for (int i = 0; i < 20 && d != TALLY_F16 && d != TALLY_BF16; i++) back(ctx, (tally_dtype)d);
    not_written(ctx);
    fills(ctx, "fills.nc");
    fills(ctx, "fills.h5");
    tally_close(ctx);
    return files_finish();
}
