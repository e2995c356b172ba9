/* SPDX-License-Identifier: MIT
 * Checks the header of a classic NetCDF file before libnetcdf reads it. libnetcdf trusts the counts
 * in a header, so that a wrong one ends the process, and it reads zeros where a file is too short.
 * The grammar is that of the NetCDF Users Guide, "File Format Specifications"; numbers are
 * big-endian.
 *
 *    header      "CDF" version records dimensions attributes variables
 *    list        tag count entry ...      (or two zeros)
 *    dimension   name length              length 0: the number of records
 *    attribute   name type count values
 *    variable    name count dimension ... attributes type size begin
 *    name        count characters         padded to 4 bytes, like the values of attributes
 *
 * A count has 4 bytes, in CDF-5 (version 5) 8; begin has 4 bytes in CDF-1, else 8. */
#define _GNU_SOURCE
#include "netcdf.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DIMENSIONS = 10, VARIABLES = 11, ATTRIBUTES = 12, TYPES = 11, CDF5 = 5 };

/* A file that is read from its beginning through a buffer. */
typedef struct {
    int fd, version;
    int64_t size, at; /* bytes of the file; position of the next byte */
    int64_t window_at, window_bytes;
    unsigned char window[4096];
    int64_t records, dimensions, *length; /* length of each dimension */
    char *why;                            /* the error, or empty */
    size_t capacity;
} header;

/* ---- bytes: after an error every read gives 0, so that callers need not check each one ---- */

static __attribute__((format(printf, 2, 3))) int64_t fault(header *h, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!*h->why) vsnprintf(h->why, h->capacity, format, list);
    va_end(list);
    return 0;
}

static void skip(header *h, int64_t bytes)
{
    assert(bytes >= 0);
    if (bytes > h->size - h->at)
        fault(h, "its header goes on after the end of the file, %ld bytes", h->size);
    else
        h->at += bytes;
}

static uint64_t number(header *h, int bytes)
{
    assert(bytes == 4 || bytes == 8);
    uint64_t n = 0;
    const int64_t from = h->at;
    skip(h, bytes);
    if (*h->why) return 0;
    if (from < h->window_at || from + bytes > h->window_at + h->window_bytes) {
        h->window_at = from;
        h->window_bytes = pread(h->fd, h->window, sizeof h->window, from);
        if (h->window_bytes < bytes) return (uint64_t)fault(h, "it cannot be read");
    }
    for (int i = 0; i < bytes; i++) n = n << 8 | h->window[from - h->window_at + i];

    return n;
}

static int64_t count(header *h)
{
    const uint64_t n = number(h, h->version == CDF5 ? 8 : 4);
    if (n > INT64_MAX) return fault(h, "a count in its header is negative");
    return (int64_t)n;
}

/* ---- the grammar ---- */

static void padded(header *h, int64_t bytes)
{
    skip(h, bytes);
    skip(h, -bytes & 3);
}

static void name(header *h)
{
    const int64_t n = count(h);
    if (n < 1 || n > NC_MAX_NAME)
        fault(h, "a name in its header has %ld bytes: must be 1..%d", n, NC_MAX_NAME);
    else
        padded(h, n);
}

/* Reads the head of a list and returns the number of its entries. Each entry has at least 12
 * bytes, so the size of the file limits the number. */
static int64_t list(header *h, uint64_t tag, const char *what)
{
    const uint64_t got = number(h, 4);
    const int64_t n = count(h);
    if (got != tag && (got || n))
        return fault(h, "its header has the tag %lu where its %s begin", got, what);
    if (n > (h->size - h->at) / 12)
        return fault(h, "its header promises %ld %s, more than a file of %ld bytes holds", n, what,
                     h->size);
    return n;
}

/* Reads a type and returns its size in bytes. */
static int64_t type(header *h)
{
    static const char bytes[TYPES + 1] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    const uint64_t t = number(h, 4);
    if (t < 1 || t > (h->version == CDF5 ? TYPES : NC_DOUBLE))
        return fault(h, "its header has the type %lu", t);
    return bytes[t];
}

static void attributes(header *h)
{
    for (int64_t n = list(h, ATTRIBUTES, "attributes"); n > 0 && !*h->why; n--) {
        name(h);
        const int64_t size = type(h), values = count(h);
        if (size && values > (h->size - h->at) / size)
            fault(h, "an attribute in its header promises %ld values, more than the file holds",
                  values);
        else
            padded(h, values * size);
    }
}

static void dimensions(header *h)
{
    int64_t unlimited = 0;
    h->dimensions = list(h, DIMENSIONS, "dimensions");
    h->length = calloc((size_t)h->dimensions + 1, sizeof *h->length);
    if (!h->length) fault(h, "there is no memory for %ld dimensions", h->dimensions);

    for (int64_t d = 0; d < h->dimensions && !*h->why; d++) {
        name(h);
        h->length[d] = count(h);
        unlimited += !h->length[d];
    }
    if (unlimited > 1) fault(h, "its header has %ld dimensions of records: at most 1", unlimited);
}

/* Where a variable is: `bytes` bytes from `begin` on; by_record: `bytes` bytes in each record. */
typedef struct {
    int64_t begin, bytes;
    int by_record;
} extent;

/* a * b, or INT64_MAX, which is more than any file has. */
static int64_t times(int64_t a, int64_t b)
{
    return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
}

static int64_t plus(int64_t a, int64_t b)
{
    return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a;
}

static void variable(header *h, extent *v)
{
    name(h);
    int64_t n = count(h), product = 1;
    if (n > NC_MAX_VAR_DIMS)
        fault(h, "a variable in its header has %ld dimensions: must be at most %d", n,
              NC_MAX_VAR_DIMS);

    for (int64_t d = 0; d < n && !*h->why; d++) {
        const int64_t dimension = count(h);
        if (dimension >= h->dimensions) {
            fault(h, "a variable in its header has dimension %ld of %ld", dimension, h->dimensions);
            return;
        }

        if (!*h->why && !h->length[dimension]) {
            if (d)
                fault(h, "a variable in its header has records that are not its first dimension");
            v->by_record = 1;
        } else {
            product = times(product, h->length[dimension]);
        }
    }

    attributes(h);
    v->bytes = times(product, type(h));

    /* the size again; it is skipped, because some writers write it wrong and readers do not use
     * it */
    count(h);
    const uint64_t begin = number(h, h->version == 1 ? 4 : 8);
    if (begin > INT64_MAX) fault(h, "a variable in its header begins before the file");
    v->begin = (int64_t)begin;
}

/* Bytes of a record. It has a part of each variable with records, padded to 4 bytes; if only one
 * variable has records, there is no padding. */
static int64_t record_bytes(const extent *v, int64_t n)
{
    assert(n >= 0);
    int64_t sum = 0, single = 0, record_count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!v[i].by_record) continue;
        sum = plus(sum, plus(v[i].bytes, -v[i].bytes & 3));
        single = v[i].bytes;
        record_count++;
    }
    return record_count == 1 ? single : sum;
}

static void place(header *h, const extent *v, tl_classic *c)
{
    const int64_t record = record_bytes(v, c->count);
    for (int64_t i = 0; i < c->count && !*h->why; i++) {
        if (!v[i].bytes || (v[i].by_record && !h->records)) continue; /* has no bytes */
        const int64_t before = v[i].by_record ? times(h->records - 1, record) : 0;
        if (v[i].begin < h->at)
            fault(h, "a variable begins at byte %ld, within the header of %ld bytes", v[i].begin,
                  h->at);
        c->end[i] = plus(v[i].begin, plus(before, v[i].bytes));
        if (c->end[i] == INT64_MAX) fault(h, "a variable in its header has 2^63 bytes or more");
    }
}

int tl_classic_read(int fd, int64_t size, tl_classic *c)
{
    assert(size >= 0);
    *c = (tl_classic){.size = size};
    header h = {.fd = fd, .size = size, .why = c->why, .capacity = sizeof c->why};
    const uint64_t magic = number(&h, 4);
    h.version = (int)(magic & 255);
    if (!*h.why && (magic >> 8 != 0x434446 || (h.version != 1 && h.version != 2 && h.version != 5)))
        fault(&h, "its version is %d: must be 1, 2 or 5", h.version);
    h.records = count(&h);
    if (h.version != CDF5 && h.records == UINT32_MAX)
        fault(&h, "its number of records is not in its header: its writer did not close it");
    dimensions(&h);
    attributes(&h);
    c->count = list(&h, VARIABLES, "variables");
    extent *const v = calloc((size_t)c->count + 1, sizeof *v);
    c->end = calloc((size_t)c->count + 1, sizeof *c->end);
    if (!v || !c->end) fault(&h, "there is no memory for %ld variables", c->count);
    for (int64_t i = 0; i < c->count && !*h.why; i++) variable(&h, &v[i]);
    if (!*h.why) place(&h, v, c);
    free(v);
    free(h.length);

    return !*h.why;
}

void tl_classic_free(tl_classic *c)
{
    free(c->end);
    c->end = NULL;
}
