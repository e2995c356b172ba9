/* SPDX-License-Identifier: MIT
 * The parser of classic NetCDF headers against headers of all versions that are written here, cut
 * at every byte and with every byte changed; numbers of one type as numbers of another; and that
 * HDF5 prints nothing in any thread. */
#define _GNU_SOURCE
#include "dtype/number.h"
#include "files.h"
#include "io/netcdf/netcdf.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

enum { MOST = 5, BYTES = 1 << 16 };

/* ---- a header, and where each variable ends: found by going through the records ---- */

typedef struct image {
    unsigned char bytes[BYTES];
    int64_t n;
    int version;
    int64_t end[MOST];
    int variables;
} image;

static void number(image *i, uint64_t value, int bytes)
{
    for (int b = bytes - 1; b >= 0; b--) i->bytes[i->n++] = (unsigned char)(value >> 8 * b);
}
static void count(image *i, int64_t n) { number(i, (uint64_t)n, i->version == 5 ? 8 : 4); }
static void pad(image *i)
{
    while (i->n % 4) i->bytes[i->n++] = 0;
}
static void name(image *i, const char *text)
{
    count(i, (int64_t)strlen(text));
    memcpy(i->bytes + i->n, text, strlen(text));
    i->n += (int64_t)strlen(text);
    pad(i);
}
static void attributes(image *i)
{
    const int64_t n = check_below(3), each = check_below(7);
    number(i, n ? 12 : 0, 4), count(i, n);
    for (int64_t k = 0; k < n; k++) {
        name(i, k ? "other" : "units");
        number(i, 3, 4), count(i, each);
        for (int64_t v = 0; v < each; v++) number(i, 7, 2);
        pad(i);
    }
}

static void make(image *i, int version)
{
    static const int sizes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    const int64_t dims = 1 + check_below(3), records = check_below(4);
    const int with_records = (int)check_below(2);
    int64_t length[3], bytes[MOST] = {0}, begin[MOST], begin_at[MOST];
    int by_record[MOST] = {0}, those = 0;
    memset(i, 0, sizeof *i);
    i->version = version;
    i->variables = (int)check_below(MOST);
    number(i, 0x43444600u + (unsigned)version, 4), count(i, records);
    number(i, 10, 4), count(i, dims);
    for (int64_t d = 0; d < dims; d++) {
        length[d] = with_records && !d ? 0 : 1 + check_below(5);
        name(i, d ? d == 1 ? "lat" : "longitude" : "t"), count(i, length[d]);
    }
    attributes(i);
    number(i, i->variables ? 11 : 0, 4), count(i, i->variables);
    for (int v = 0; v < i->variables; v++) {
        const int type = 1 + (int)check_below(version == 5 ? 11 : 6);
        const int64_t ndims = check_below(dims + 1), first = check_below(dims - ndims + 1);
        bytes[v] = sizes[type];
        name(i, "v"), i->bytes[i->n - 4] = (unsigned char)('a' + v), count(i, ndims);
        for (int64_t d = first; d < first + ndims; d++) {
            count(i, d);
            if (length[d])
                bytes[v] *= length[d];
            else
                by_record[v] = 1, those++;
        }
        attributes(i);
        number(i, (uint64_t)type, 4), count(i, 12345); /* the size, which nobody believes */
        begin_at[v] = i->n;
        number(i, 0, version == 1 ? 4 : 8);
    }
    int64_t at = i->n;
    for (int v = 0; v < i->variables; v++)
        if (!by_record[v]) begin[v] = at, i->end[v] = at + bytes[v], at += (bytes[v] + 3) / 4 * 4;
    for (int64_t r = 0; r < (records ? records : 1); r++)
        for (int v = 0; v < i->variables; v++) {
            if (!by_record[v]) continue;
            if (!r) begin[v] = at;
            if (records) i->end[v] = at + bytes[v];
            at += those == 1 ? bytes[v] : (bytes[v] + 3) / 4 * 4;
        }
    const int64_t header = i->n;
    for (int v = 0; v < i->variables; v++) {
        i->n = begin_at[v];
        number(i, (uint64_t)begin[v], version == 1 ? 4 : 8);
    }
    i->n = header;
}

static void headers(void)
{
    static const int versions[] = {1, 2, 5};
    image *const i = malloc(sizeof *i);
    for (int repeat = 0; repeat < (check_quick ? 20 : 200); repeat++) {
        make(i, versions[check_below(3)]);
        const int fd = memfd_create("header", 0);
        tl_classic c;
        check(fd >= 0 && write(fd, i->bytes, (size_t)i->n) == i->n, "memory file");
        check(tl_classic_read(fd, i->n, &c) && c.count == i->variables, "a good header: %s", c.why);
        for (int v = 0; v < i->variables && c.end; v++)
            check(c.end[v] == i->end[v], "CDF-%d: variable %d of %d ends at %lld, not at %lld",
                  i->version, v, i->variables, (long long)i->end[v], (long long)c.end[v]);
        tl_classic_free(&c);
        for (int64_t n = 0; n < i->n; n++) { /* cut: as if the file had n bytes */
            check(!tl_classic_read(fd, n, &c) && *c.why, "a header of %lld of %lld bytes",
                  (long long)n, (long long)i->n);
            tl_classic_free(&c);
        }
        for (int64_t n = 0; n < i->n; n++) { /* another byte: any answer, but one */
            const unsigned char other = (unsigned char)(i->bytes[n] ^ (1 + check_below(255)));
            check(pwrite(fd, &other, 1, n) == 1, "write");
            const int good = tl_classic_read(fd, i->n, &c);
            check(good == !*c.why && (n > 2 || !good), "byte %lld changed", (long long)n);
            tl_classic_free(&c);
            check(pwrite(fd, &i->bytes[n], 1, n) == 1, "write");
        }
        close(fd);
    }
    free(i);
}

/* ---- numbers ---- */

static void put(tally_dtype d, int64_t whole, void *out)
{
    const double real = (double)whole;
    const float single = (float)whole;
    if (d == TALLY_F64)
        memcpy(out, &real, 8);
    else if (d == TALLY_F32)
        memcpy(out, &single, 4);
    else
        tl_store(out, (uint64_t)whole, tally_dtype_size(d));
}

/* Is a whole number below 2^62 one of the type, exactly? */
static int has(tally_dtype d, int64_t whole)
{
    static const int bits[] = {
        [TALLY_I8] = 7,   [TALLY_U8] = 8,   [TALLY_I16] = 15, [TALLY_U16] = 16,
        [TALLY_I32] = 31, [TALLY_U32] = 32, [TALLY_I64] = 63, [TALLY_U64] = 63};
    if (d == TALLY_F64) return (int64_t)(double)whole == whole;
    if (d == TALLY_F32) return (int64_t)(float)whole == whole;
    const int is_signed = bits[d] % 8 == 7 && d != TALLY_U64;
    if (bits[d] == 63) return whole >= 0 || is_signed;
    return whole < (int64_t)1 << bits[d] && whole >= (is_signed ? -((int64_t)1 << bits[d]) : 0);
}

static void casts(void)
{
    for (int from = TALLY_I8; from <= TALLY_F64; from++)
        for (int to = TALLY_I8; to <= TALLY_F64; to++)
            for (int k = 0; k < 63 && from != TALLY_F16 && from != TALLY_BF16 && to != TALLY_F16 &&
                            to != TALLY_BF16;
                 k++)
                for (int near = -1; near <= 1; near++)
                    for (int sign = -1; sign <= 1; sign += 2) {
                        const int64_t n = sign * (((int64_t)1 << (k < 62 ? k : 0)) + near);
                        unsigned char in[8], out[8] = {0}, want[8] = {0};
                        if (!has((tally_dtype)from, n)) continue;
                        put((tally_dtype)from, n, in);
                        put((tally_dtype)to, n, want);
                        const int fits = has((tally_dtype)to, n) || to >= TALLY_F16;
                        check(tl_cast((tally_dtype)to, out, (tally_dtype)from, in) == fits &&
                                  (!fits || !memcmp(out, want, tally_dtype_size((tally_dtype)to))),
                              "%lld as %s of %s", (long long)n, tally_dtype_name((tally_dtype)to),
                              tally_dtype_name((tally_dtype)from));
                    }
    static const double none[] = {1.5, -0.25, 1e300, -1e300, INFINITY, -INFINITY, NAN};
    unsigned char out[8];
    float single;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        for (int to = TALLY_I8; to <= TALLY_U64; to++)
            check(!tl_cast((tally_dtype)to, out, TALLY_F64, &none[i]), "%g as %s", none[i],
                  tally_dtype_name((tally_dtype)to));
    const double edges[] = {0x1p63, 0x1p64, -0x1p63, -0x1p64};
    check(!tl_cast(TALLY_I64, out, TALLY_F64, &edges[0]) &&
              tl_cast(TALLY_U64, out, TALLY_F64, &edges[0]) &&
              !tl_cast(TALLY_U64, out, TALLY_F64, &edges[1]) &&
              tl_cast(TALLY_I64, out, TALLY_F64, &edges[2]) &&
              !tl_cast(TALLY_I64, out, TALLY_F64, &edges[3]) &&
              !tl_cast(TALLY_U64, out, TALLY_F64, &edges[2]),
          "the edges of 64 bits");
    check(!tl_cast(TALLY_F32, &single, TALLY_F64, &none[2]) &&
              tl_cast(TALLY_F32, &single, TALLY_F64, &none[4]) && single == INFINITY &&
              tl_cast(TALLY_F32, &single, TALLY_F64, &(double){0.1}) && single == 0.1f,
          "floats");
}

/* ---- what HDF5 prints ---- */

static void *open_it(void *p)
{
    tally_file *f;
    if (!tally_file_open(NULL, p, NULL, &f)) tally_file_close(f);
    return NULL;
}

/* A file that is no HDF5 but begins so, in this thread and in another one. */
static void quiet(void)
{
    static const char begin[512] = "\211HDF\r\n\032\n";
    char file[200], message[200];
    pthread_t other;
    save("bad.h5", begin, sizeof begin);
    snprintf(file, sizeof file, "%s", path("bad.h5"));
    snprintf(message, sizeof message, "%s", path("said"));
    fflush(stderr);
    const int before = dup(2), fd = open(message, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    check(before >= 0 && fd >= 0 && dup2(fd, 2) == 2, "standard error");
    open_it(file);
    const int started = pthread_create(&other, NULL, open_it, file);
    if (!started) pthread_join(other, NULL);
    fflush(stderr);
    const off_t bytes = lseek(fd, 0, SEEK_END);
    check(dup2(before, 2) == 2 && !started, "standard error");
    check(bytes == 0, "%lld bytes on standard error", (long long)bytes);
    close(before);
    close(fd);
}

/* A coordinate of which NetCDF-4 stores 3 numbers, where its dimension has 5 records: it is not one
 * of the results. */
static void short_coordinate(void)
{
    const size_t zero[2] = {0, 0}, all[2] = {5, 2};
    const int64_t five = 5;
    int id, dims[2], x, v, numbers[10] = {0}, bad = 0;
    double values_of_x[5] = {0, 1, 2, 3, 4};
    tally_file *in, *out;
    if (tl_netcdf_library()) return;
    for (size_t stored = 3; stored <= 5; stored += 2) {
        bad |= tl_nc.nc_create(path("short.nc4"), NC_NETCDF4, &id);
        bad |= tl_nc.nc_def_dim(id, "x", 0, &dims[0]) | tl_nc.nc_def_dim(id, "y", 2, &dims[1]);
        bad |= tl_nc.nc_def_var(id, "x", NC_DOUBLE, 1, dims, &x);
        bad |= tl_nc.nc_def_var(id, "v", NC_INT, 2, dims, &v) | tl_nc.nc_enddef(id);
        bad |= tl_nc.nc_put_vara(id, x, zero, &stored, values_of_x);
        bad |= tl_nc.nc_put_vara(id, v, zero, all, numbers) | tl_nc.nc_close(id);
        check(!bad, "short.nc4");
        expect(!tally_file_open(NULL, path("short.nc4"), &(tally_file_options){.variable = "v"},
                                &in) &&
                   !tally_file_create(NULL, path("o.nc"), NULL, TALLY_F64, 1, &five, 0, &out) &&
                   !tally_file_head(out, "sum(x)") && !tally_file_like(out, in) &&
                   !tally_file_write(out, values_of_x, 5) && !tally_file_commit(out),
               "results", "short.nc4");
        tally_file_close(in);
        tally_file_close(out);
        const int there =
            !tally_file_open(NULL, path("o.nc"), &(tally_file_options){.variable = "x"}, &in);
        check(there == (stored == 5), "x with %zu numbers of 5", stored);
        if (there) tally_file_close(in);
    }
}

int main(void)
{
    files_start();
    headers();
    casts();
    quiet();
    short_coordinate();
    return files_finish();
}
