/* SPDX-License-Identifier: MIT
 * The verbs over arrays of any dimensions and strides. Nothing here needs the GIL. Between two calls of the library,
 * and between the pieces of a long sequence, Ctrl-C is answered. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PIECE = 1 << 22,       /* bytes that are packed at a time */
    LONG_PIECE = 1 << 26,  /* elements of a long sequence that go into one call: tens of milliseconds */
    LONG = 2 * LONG_PIECE, /* what has more elements is long */
};

/* Did a signal come whose handler raised an exception? Python is asked ten times a second. */
static int interrupted(void)
{
    static _Thread_local double next;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (now < next) return 0;
    PyGILState_STATE state = PyGILState_Ensure();
    int raised = PyErr_CheckSignals();
    PyGILState_Release(state);
    next = now + 0.1;
    return raised;
}

/* The next places of a loop over dimensions; 0 at the end. */
static int step(const pt_dim *dim, int dims, int64_t *at, const char **in, char **out)
{
    for (int i = dims - 1; i >= 0; i--) {
        *in += dim[i].in;
        *out += dim[i].out;
        if (++at[i] < dim[i].n) return 1;
        *in -= dim[i].n * dim[i].in;
        *out -= dim[i].n * dim[i].out;
        at[i] = 0;
    }
    return 0;
}

static tally_status check(void) { return interrupted() ? PT_INTERRUPTED : TALLY_OK; }

/* How many of these rows go into one call. */
static int64_t rows_now(int64_t rows, int64_t n)
{
    enum { LEAST = 256 }; /* so that neighbouring columns are read together */
    int64_t most = LONG_PIECE / n > LEAST ? LONG_PIECE / n : LEAST;
    return rows > 2 * most ? most : rows;
}

/* ---- data in pieces ---- */

/* Dense pieces of one sequence, one after the other: the parts of an Arrow stream, packed elements of an array, or
 * (dims is -1) parts of dense memory. */
typedef struct {
    const pt_chunk *chunks; /* NULL: pack */
    const char *from;
    const pt_dim *dim;
    int dims;
    char *room;
    int64_t at, n, bytes;
} pieces;

static const void *next_piece(pieces *p, int64_t *n)
{
    if (p->chunks) {
        *n = p->chunks->n;
        return p->chunks++->data;
    }
    if (p->dims < 0) {
        const char *part = p->from + p->at * p->bytes;
        *n = p->n - p->at < LONG_PIECE ? p->n - p->at : LONG_PIECE;
        p->at += *n;
        return part;
    }
    *n = p->n - p->at < PIECE / p->bytes ? p->n - p->at : PIECE / p->bytes;
    pt_pack(p->room, p->from, p->dim, p->dims, p->at, *n, p->bytes);
    p->at += *n;
    return p->room;
}

/* A stream over all pieces; out gets all results, in order. */
static tally_status stream_pieces(tally *ctx, const pt_verb *verb, tally_dtype dtype, pieces *p, int64_t n, char *out)
{
    tally_stream *stream;
    tally_status status = verb->what == PT_REDUCE ? tally_stream_reduce(ctx, verb->op, dtype, &stream)
                          : verb->what == PT_SCAN ? tally_stream_scan(ctx, verb->op, dtype, &verb->scan, &stream)
                                                  : tally_stream_window(ctx, verb->op, dtype, &verb->window, &stream);
    if (status) return status;
    for (int64_t now, made; !status && n > 0; n -= now) {
        const void *x = next_piece(p, &now);
        status = tally_stream_push(stream, x, now, out, &made);
        if (verb->what != PT_REDUCE && !status) out += made * verb->out_bytes;
        if (!status && n > now && interrupted()) status = PT_INTERRUPTED;
    }
    int64_t made;
    if (!status) status = tally_stream_finish(stream, out, &made);
    tally_stream_close(stream);
    return status;
}

tally_status pt_walk_chunks(tally *ctx, const pt_verb *verb, const pt_operand *a, char *out)
{
    pieces p = {.chunks = a->chunks};
    return stream_pieces(ctx, verb, a->dtype, &p, a->size, out);
}

/* ---- reduce ---- */

/* One sequence over several dimensions. */
static tally_status reduce_packed(tally *ctx, const pt_verb *verb, tally_dtype dtype, const char *in, const pt_dim *dim,
                                  int dims, int64_t n, char *out)
{
    int whole = n <= PIECE / verb->in_bytes;
    char *room = malloc((size_t)((whole ? n : PIECE / verb->in_bytes) * verb->in_bytes));
    if (!room) return TALLY_NO_MEMORY;
    pieces p = {.from = in, .dim = dim, .dims = dims, .room = room, .n = n, .bytes = verb->in_bytes};
    tally_status status;
    if (whole) {
        int64_t all;
        tally_view v = tally_flat(next_piece(&p, &all), dtype, n);
        status = tally_reduce(ctx, verb->op, &v, out);
    } else {
        status = stream_pieces(ctx, verb, dtype, &p, n, out);
    }
    free(room);
    return status;
}

tally_status pt_walk_reduce(tally *ctx, const pt_verb *verb, const pt_operand *a, uint64_t mask, char *out)
{
    pt_dim folded[PT_DIMS], kept[PT_DIMS];
    int nf = 0, nk = 0;
    int64_t n = 1, results = 1, reach = verb->out_bytes, at[PT_DIMS] = {0};
    for (int i = a->ndim - 1; i >= 0; i--) { /* from the last axis, which is the densest of the results */
        int fold = (int)(mask >> i & 1);
        pt_dim d = {a->shape[i], a->strides[i], fold ? 0 : reach};
        if (fold) {
            folded[PT_DIMS - ++nf] = d;
            n *= d.n;
        } else {
            kept[PT_DIMS - ++nk] = d;
            results *= d.n;
            reach *= d.n;
        }
    }
    if (results == 0) return TALLY_OK;
    pt_dim *fold = folded + PT_DIMS - nf, *keep = kept + PT_DIMS - nk;
    if (n == 0) { /* nothing of everything */
        tally_view v = {NULL, a->dtype, results, 0, 0, 1, NULL};
        return tally_reduce(ctx, verb->op, &v, out);
    }
    nf = pt_join(fold, nf);
    nk = pt_join(keep, nk);
    int64_t bytes = verb->in_bytes;
    const char *in = a->data;
    tally_status status = TALLY_OK;
    int even = pt_even(a, bytes);
    if (nf > 1 || !even) {
        do status = reduce_packed(ctx, verb, a->dtype, in, fold, nf, n, out);
        while (!status && step(keep, nk, at, &in, &out) && !(status = check()));
        return status;
    }
    pt_dim rows = nk ? keep[--nk] : (pt_dim){1, 0, 0};
    tally_view v = {NULL, a->dtype, rows.n, n, rows.in / bytes, nf ? fold[0].in / bytes : 1, NULL};
    if (n > LONG && rows.n == 1 && nk == 0 && v.stride == 1 && a->device < 0) {
        pieces p = {.from = in, .dims = -1, .n = n, .bytes = bytes};
        return stream_pieces(ctx, verb, a->dtype, &p, n, out);
    }
    do {
        for (int64_t row = 0; !status && row < rows.n; row += v.rows) {
            v.data = (char *)(uintptr_t)in + row * rows.in;
            v.rows = rows_now(rows.n - row, n);
            status = tally_reduce(ctx, verb->op, &v, out + row * verb->out_bytes);
            if (!status) status = check();
        }
    } while (!status && step(keep, nk, at, &in, &out));
    return status;
}

/* ---- scan and window ---- */

/* The results that lie before the first element's: an empty sequence's. */
static tally_status fill_first(tally *ctx, const pt_verb *verb, tally_dtype dtype, char *out, const pt_dim *keep,
                               int nk, int64_t rows)
{
    char value[64], *line;
    tally_view none = {NULL, dtype, 1, 0, 0, 1, NULL};
    tally_status status = tally_reduce(ctx, verb->op, &none, value);
    if (status) return status;
    if (!(line = malloc((size_t)(rows * verb->out_bytes)))) return TALLY_NO_MEMORY;
    for (int64_t r = 0; r < rows; r++) memcpy(line + r * verb->out_bytes, value, (size_t)verb->out_bytes);
    pt_unpack(out, line, keep, nk, rows, verb->out_bytes);
    free(line);
    return TALLY_OK;
}

static tally_status one_call(tally *ctx, const pt_verb *verb, const tally_view *in, const tally_view *out)
{
    return verb->what == PT_SCAN ? tally_scan(ctx, verb->op, in, out, &verb->scan)
                                 : tally_window(ctx, verb->op, in, out, &verb->window);
}

/* Input whose strides are no multiples of its elements (a field of a structure): packed whole. */
static tally_status pack_all(const pt_operand *a, int64_t bytes, pt_operand *dense)
{
    pt_dim dim[PT_DIMS];
    *dense = *a;
    int64_t reach = bytes;
    for (int i = a->ndim - 1; i >= 0; i--) {
        dim[i] = (pt_dim){a->shape[i], a->strides[i], 0};
        dense->strides[i] = reach;
        reach *= a->shape[i];
    }
    dense->data = malloc((size_t)reach);
    if (!dense->data) return TALLY_NO_MEMORY;
    int dims = pt_join(dim, a->ndim);
    pt_pack(dense->data, a->data, dim, dims, 0, a->size, bytes);
    return TALLY_OK;
}

tally_status pt_walk_series(tally *ctx, const pt_verb *verb, const pt_operand *a, int axis, const pt_operand *out)
{
    pt_operand dense;
    tally_status status;
    if (out->size && a->size && !pt_even(a, verb->in_bytes)) {
        status = pack_all(a, verb->in_bytes, &dense);
        if (status) return status;
        status = pt_walk_series(ctx, verb, &dense, axis, out);
        free(dense.data);
        return status;
    }
    pt_dim keep[PT_DIMS];
    int nk = 0;
    int64_t rows = 1, at[PT_DIMS] = {0};
    for (int i = 0; i < a->ndim; i++) {
        if (i == axis) continue;
        keep[nk++] = (pt_dim){a->shape[i], a->strides[i], out->strides[i]};
        rows *= a->shape[i];
    }
    if (rows == 0) return TALLY_OK;
    nk = pt_join(keep, nk);
    const char *in = a->data;
    char *to = out->data;
    int64_t n = a->shape[axis], m = out->shape[axis], in_step = a->strides[axis], out_step = out->strides[axis];
    if (verb->initial || (verb->shift && m > 0)) {
        status = fill_first(ctx, verb, a->dtype, to, keep, nk, rows);
        if (status) return status;
        to += out_step;
        m--;
        if (verb->shift) n--; /* the last element's own window is nobody's result */
    }
    if (n <= 0 || m <= 0) return TALLY_OK;
    int widest = -1; /* the dimension of most rows goes into the call */
    for (int i = 0; i < nk; i++)
        if (widest < 0 || keep[i].n > keep[widest].n) widest = i;
    pt_dim row = widest < 0 ? (pt_dim){1, 0, 0} : keep[widest];
    if (widest >= 0) memmove(keep + widest, keep + widest + 1, (size_t)(--nk - widest) * sizeof *keep);
    int64_t ib = verb->in_bytes, ob = verb->out_bytes;
    tally_view v = {NULL, a->dtype, row.n, n, row.in / ib, in_step / ib, NULL};
    tally_view w = {NULL, verb->info.output, row.n, m, row.out / ob, out_step / ob, NULL};
    if (n > LONG && row.n == 1 && nk == 0 && v.stride == 1 && w.stride == 1 && !verb->scan.reverse && a->device < 0 &&
        out->device < 0) {
        pieces p = {.from = in, .dims = -1, .n = n, .bytes = ib};
        return stream_pieces(ctx, verb, a->dtype, &p, n, to);
    }
    do {
        for (int64_t at_row = 0; !status && at_row < row.n; at_row += v.rows) {
            v.data = (char *)(uintptr_t)in + at_row * row.in;
            w.data = to + at_row * row.out;
            v.rows = w.rows = rows_now(row.n - at_row, n);
            status = one_call(ctx, verb, &v, &w);
            if (!status) status = check();
        }
    } while (!status && step(keep, nk, at, &in, &to));
    return status;
}
