/* SPDX-License-Identifier: MIT
 * Reads elements of the variable that open.c found, in order or in boxes. A box is divided into
 * boxes of the parts, and these into boxes of few chunks:
 *
 *    a.nc | b.nc      a box of two parts, joined along the last dimension; a piece whose rows
 *    . 1 1|2 2 .      are not adjacent in the caller's buffer is read into a buffer of its own
 *    . 1 1|2 2 .      and copied */
#include "netcdf.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIMS = TL_DIMS,
    CACHE_USUAL = 16 << 20, /* the library's default */
    CACHE_SLOTS = 4133,
    /* HDF5 takes 6.5 KB for each chunk that a call reads; no call reads more chunks than this */
    CHUNKS_MOST = 4096,
    /* a piece with a buffer of its own has at most this many bytes, or one chunk */
    PIECE_MOST = 4 << 20
};

/* The library's cache of chunks. Boxes of whole chunks need none: data without compression then
 * goes directly from the file to the caller, in half of the time. From the first box with parts of
 * chunks on, a layer stays in memory, because reads in order need it again. */
static void cache(const tally_file *f, tl_part *p, const size_t *from, const size_t *n)
{
    int whole = 1;

    if (!p->chunk[0] || p->cache == LAYERS) return;

    for (int d = 0; d < f->info.ndim; d++) {
        const size_t end = (size_t)(d == f->netcdf->join ? p->length : f->info.shape[d]);
        whole &= p->chunk[d] && from[d] % p->chunk[d] == 0 &&
                 (n[d] % p->chunk[d] == 0 || from[d] + n[d] == end);
    }

    size_t bytes = 0, slots = 0;
    if (!whole) {
        bytes = p->layer_bytes ? p->layer_bytes : CACHE_USUAL;
        slots = p->layer_bytes ? 10 * p->layer_chunks + 1 : CACHE_SLOTS;
    }
    if (p->cache == (whole ? BY_LIBRARY : DIRECT) || (!whole && p->layer_bytes))
        tl_nc.nc_set_var_chunk_cache(p->of.group, p->of.variable, bytes, slots, 0.75f);

    p->cache = whole ? DIRECT : LAYERS;
}

/* Reads a box of a part by one call of the library. */
static tally_status read_at_once(tally_file *f, tl_part *p, const int64_t *start,
                                 const int64_t *count, char *out)
{
    size_t from[DIMS] = {0}, n[DIMS] = {0};
    int64_t elements = 1, bad;

    for (int d = 0; d < f->info.ndim; d++) {
        from[d] = (size_t)start[d];
        n[d] = (size_t)count[d];
        elements *= count[d];
    }

    char *const stored = tl_unpack_place(&p->packing, out, elements);
    tl_netcdf_lock();
    cache(f, p, from, n);
    const int error = tl_nc.nc_get_vara(p->of.group, p->of.variable, from, n, stored);
    const char *const why = error ? tl_nc.nc_strerror(error) : NULL;
    tl_netcdf_unlock();
    if (why) return tl_bad_data_on(&p->of, "%s: %s", p->of.what, why);
    if (tl_unpack(&p->packing, stored, out, elements, &bad)) return TALLY_OK;
    char place[TL_LIST_CHARS], value[48];
    int64_t rest = bad, at[DIMS];

    for (int d = f->info.ndim - 1; d >= 0; d--) {
        at[d] = start[d] + rest % count[d];
        rest /= count[d];
    }

    tl_list(f->info.ndim, at, place);
    tally_format_value(p->packing.stored,
                       stored + bad * (int64_t)tally_dtype_size(p->packing.stored), 0, value,
                       sizeof value);

    return tl_bad_data_on(&p->of,
                          "%s[%s] is %s, which stands for a missing value, and %s has none; "
                          "--dtype f64 makes it NaN",
                          p->of.what, place, value, tally_dtype_name(p->packing.given));
}

/* A box, and its destination, where its rows are adjacent. */
typedef struct {
    int64_t start[DIMS], count[DIMS];
    char *out;
} box;

/* Elements of a box from dimension d on. */
static int64_t elements_from(const tally_file *f, const box *b, int d)
{
    assert(d >= 0);
    int64_t n = 1;
    for (; d < f->info.ndim; d++) n *= b->count[d];
    return n;
}

/* Steps [at, at + n) along dimension d of a box. The first is step number `from` of the part. */
typedef struct piece {
    int d;
    int64_t at, n, from;
} piece;

static tally_status read_part(tally_file *f, tl_part *p, const box *b);

static tally_status read_piece(tally_file *f, tl_part *p, const box *b, const piece *c)
{
    const int64_t size = (int64_t)tally_dtype_size(f->info.dtype),
                  step = elements_from(f, b, c->d + 1) * size, /* bytes of a step along d */
        all = step * b->count[c->d], outer = elements_from(f, b, 0) * size / all,
                  part_bytes = c->n * step;
    box to = *b;

    assert(c->n > 0 && c->at >= 0 && c->n <= b->count[c->d] - c->at);
    to.start[c->d] = c->from;
    to.count[c->d] = c->n;
    to.out = b->out + c->at * step;
    if (outer == 1) return read_part(f, p, &to);
    if (!(to.out = malloc((size_t)(outer * part_bytes))))
        return tl_no_memory(f->ctx, (size_t)(outer * part_bytes), "a part of the variable");
    const tally_status s = read_part(f, p, &to);
    for (int64_t i = 0; i < outer && !s; i++)
        memcpy(b->out + i * all + c->at * step, to.out + i * part_bytes, (size_t)part_bytes);
    free(to.out);
    return s;
}

/* The number of chunks along dimension d of a box. */
static int64_t chunks_along(const tl_part *p, const box *b, int d)
{
    const int64_t chunk = p->chunk[d] && p->chunk[d] < INT64_MAX ? (int64_t)p->chunk[d] : INT64_MAX;
    return (b->start[d] + b->count[d] - 1) / chunk - b->start[d] / chunk + 1;
}

/* Reads a box of a part by calls that read few chunks. The box is cut between chunks, along the
 * dimension that has the most chunks. */
static tally_status read_part(tally_file *f, tl_part *p, const box *b)
{
    int64_t chunks = 1, most = 0;
    int cut = 0;

    for (int d = 0; d < f->info.ndim && p->chunk[0]; d++) {
        const int64_t here = chunks_along(p, b, d);
        if (__builtin_mul_overflow(chunks, here, &chunks)) chunks = INT64_MAX;
        if (here > most) most = here, cut = d;
    }

    if (chunks <= CHUNKS_MOST) return read_at_once(f, p, b->start, b->count, b->out);
    const int64_t chunk = (int64_t)p->chunk[cut], others = chunks / most,
                  bytes = elements_from(f, b, 0) / b->count[cut] *
                          (int64_t)tally_dtype_size(f->info.dtype) *
                          chunk; /* bytes of one chunk along `cut` */
    int64_t some = CHUNKS_MOST / others < 1 ? 1 : CHUNKS_MOST / others;
    if (some > PIECE_MOST / bytes) some = PIECE_MOST / bytes < 1 ? 1 : PIECE_MOST / bytes;

    for (int64_t at = 0, n; at < b->count[cut]; at += n) {
        const int64_t from = b->start[cut] + at;
        n = (from / chunk + some) * chunk - from;
        if (n > b->count[cut] - at) n = b->count[cut] - at;
        TL_TRY(read_piece(f, p, b, &(piece){cut, at, n, from}));
    }
    return TALLY_OK;
}

static tally_status read_box(tally_file *f, const box *b)
{
    const tl_netcdf *const n = f->netcdf;
    const int d = n->join;
    const int64_t end = b->start[d] + b->count[d];
    int64_t begin = 0;
    if (n->count == 1) return read_part(f, n->parts, b); /* also a single value */

    for (int i = 0; i < n->count; begin += n->parts[i++].length) {
        const int64_t low = b->start[d] > begin ? b->start[d] : begin,
                      stop = begin + n->parts[i].length, high = end < stop ? end : stop;
        if (low >= high) continue;
        const piece one = {d, low - b->start[d], high - low, low - begin};
        TL_TRY(read_piece(f, &n->parts[i], b, &one));
    }
    return TALLY_OK;
}

tally_status tl_netcdf_read_box(tally_file *f, const int64_t *start, const int64_t *count,
                                void *buffer)
{
    for (int d = 0; d < f->info.ndim; d++)
        if (start[d] < 0 || count[d] < 0 || count[d] > f->info.shape[d] - start[d])
            return tl_invalid(
                f->ctx,
                "start[%d] is %ld and count[%d] %ld: must be within 0..%ld, the length of %s", d,
                start[d], d, count[d], f->info.shape[d],
                f->info.dimensions[d] ? f->info.dimensions[d] : "the value");

    for (int d = 0; d < f->info.ndim; d++)
        if (count[d] == 0) return TALLY_OK;
    box b = {.out = buffer};
    memcpy(b.start, start, (size_t)f->info.ndim * sizeof *start);
    memcpy(b.count, count, (size_t)f->info.ndim * sizeof *count);
    return read_box(f, &b);
}

tally_status tl_netcdf_read(tally_file *f, void *buffer, int64_t max, int64_t *got)
{
    assert(max >= 0);
    tl_netcdf *const n = f->netcdf;
    const int64_t size = (int64_t)tally_dtype_size(f->info.dtype),
                  left = f->info.elements - n->next;
    char *out = buffer;
    tally_status s = TALLY_OK;
    *got = 0;

    for (int64_t rest = max < left ? max : left; rest;) {
        box b = {.out = out};
        const int64_t elements =
            tl_netcdf_box(f->info.ndim, f->info.shape, n->next, rest, b.start, b.count);
        s = read_box(f, &b);
        if (s) break;
        out += elements * size;
        rest -= elements;
        n->next += elements;
        *got += elements;
    }

    f->info.bytes_read = n->next * size;
    return s;
}
