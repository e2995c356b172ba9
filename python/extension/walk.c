/* SPDX-License-Identifier: MIT
 * The verbs over arrays of any dimensions and strides. Nothing here needs the GIL. Between two
 * calls of the library, and between the pieces of a long sequence, signals such as Ctrl-C are
 * handled. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 1 << 22, /* bytes that are copied to dense memory at a time */
    /* elements of a long sequence in one call, which takes tens of milliseconds */
    LONG_PIECE = 1 << 26,
};

/* The position of a loop over dimensions: in the input, in the second input, and in the results. */
typedef struct {
    const char *in, *next;
    char *out;
} place;

static void move(place *p, const pt_dim *d, int64_t by)
{
    p->in = pt_offset(p->in, by * d->in);
    p->next = pt_offset(p->next, by * d->next);
    p->out = pt_offset(p->out, by * d->out);
}

/* Moves to the next position. Returns 0 at the end. */
static int step(const pt_dim *dim, int dims, int64_t *at, place *p)
{
    for (int i = dims - 1; i >= 0; i--) {
        move(p, &dim[i], 1);
        if (++at[i] < dim[i].n) return 1;
        move(p, &dim[i], -dim[i].n);
        at[i] = 0;
    }
    return 0;
}

/* The number of rows in one call; on a GPU all. */
static int64_t rows_now(const pt_operand *a, int64_t rows, int64_t n)
{
    enum { LEAST = 256 }; /* so that adjacent columns are read together */
    const int64_t piece = pt_piece(a->device < 0 ? LONG_PIECE : INT64_MAX / 2),
                  most = n > 0 && piece / n > LEAST ? piece / n : LEAST;
    return rows > 2 * most ? most : rows;
}

/* ---- data in pieces ---- */

/* Dense pieces of one sequence, in order: the arrays of an Arrow stream, elements of an array
 * that are copied, or (from.dims is -1) parts of dense memory. */
typedef struct {
    const pt_chunk *chunks; /* NULL: elements are copied */
    pt_elements from;
    char *packed;
    int64_t at, n;
} pieces;

static const void *next_piece(pieces *p, int64_t *n)
{
    if (p->chunks) {
        *n = p->chunks->n;
        return p->chunks++->data;
    }
    if (p->from.dims < 0) {
        const char *part = pt_offset(p->from.data, p->at * p->from.bytes);
        *n = pt_piece(LONG_PIECE) < p->n - p->at ? pt_piece(LONG_PIECE) : p->n - p->at;
        p->at += *n;
        return part;
    }
    *n = p->n - p->at < PIECE / p->from.bytes ? p->n - p->at : PIECE / p->from.bytes;
    pt_pack(p->packed, &p->from, p->at, *n);
    p->at += *n;
    return p->packed;
}

/* Runs a stream over all pieces; out gets all results, in order. */
static tally_status stream_pieces(tally *ctx, const pt_verb *verb, tally_dtype dtype, pieces *p,
                                  int64_t n, char *out)
{
    tally_stream *stream;
    tally_status status =
        verb->what == PT_REDUCE ? tally_stream_reduce(ctx, verb->op, dtype, &stream)
        : verb->what == PT_SCAN ? tally_stream_scan(ctx, verb->op, dtype, &verb->scan, &stream)
                                : tally_stream_window(ctx, verb->op, dtype, &verb->window, &stream);
    if (status) return status;
    for (int64_t now, count; !status && n > 0; n -= now) {
        const void *x = next_piece(p, &now);
        status = tally_stream_push(stream, x, now, out, &count);
        if (verb->what != PT_REDUCE && !status) out += count * verb->out_bytes;
        if (!status) status = pt_advance(now);
    }
    int64_t count;
    if (!status) status = tally_stream_finish(stream, out, &count);
    tally_stream_close(stream);
    return status;
}

tally_status pt_walk_chunks(tally *ctx, const pt_verb *verb, const pt_operand *a, char *out)
{
    pieces p = {.chunks = a->chunks};
    return stream_pieces(ctx, verb, a->dtype, &p, a->size, out);
}

/* ---- reduce ---- */

/* Reduces one sequence of n elements that has several dimensions. */
static tally_status reduce_packed(tally *ctx, const pt_verb *verb, tally_dtype dtype,
                                  const pt_elements *from, int64_t n, char *out)
{
    int whole = n <= PIECE / from->bytes;
    char *packed = malloc((size_t)((whole ? n : PIECE / from->bytes) * from->bytes));
    if (!packed) return TALLY_NO_MEMORY;
    pieces p = {.from = *from, .packed = packed, .n = n};
    tally_status status;
    if (whole) {
        int64_t all;
        tally_view v = tally_flat(next_piece(&p, &all), dtype, n);
        status = tally_reduce(ctx, verb->op, &v, out);
    } else {
        status = stream_pieces(ctx, verb, dtype, &p, n, out);
    }
    free(packed);
    return status;
}

/* reduce_packed with two inputs or validity, for which there is no stream: copies all elements to
 * dense memory, row after row. */
static tally_status reduce_inputs(tally *ctx, const pt_verb *verb, const pt_operand *a,
                                  uint64_t mask, int64_t n, char *out)
{
    pt_operand x, y;
    int axes[PT_DIMS], count = 0;
    for (int fold = 0; fold < 2; fold++)
        for (int i = 0; i < a->ndim; i++)
            if ((int)(mask >> i & 1) == fold) axes[count++] = i;
    tally_status status = pt_pack_axes(a, axes, &x);
    if (status) return status;
    const int64_t rows = a->size / n;
    tally_view v = pt_view(&x, x.data, rows, n, n * pt_bytes(&x), pt_bytes(&x)), w;
    if (verb->next && !(status = pt_pack_axes(verb->next, axes, &y))) {
        w = pt_view(&y, y.data, rows, n, n * pt_bytes(&y), pt_bytes(&y));
        v.next = &w;
    }
    if (!status) status = tally_reduce(ctx, verb->op, &v, out);
    if (v.next) pt_unpack_axes(&y);
    pt_unpack_axes(&x);
    return status;
}

/* Sequences from p on: elements of `one`, one for each of `rows`, whose results are adjacent. */
static tally_status reduce_rows(tally *ctx, const pt_verb *verb, const pt_operand *a,
                                const place *p, const pt_dim *rows, const pt_dim *one)
{
    const pt_operand *const b = verb->next;
    const int64_t n = one->n;
    tally_status status = TALLY_OK;
    for (int64_t row = 0, now; !status && row < rows->n; row += now) {
        place q = *p;
        move(&q, rows, row);
        now = rows_now(a, rows->n - row, n);
        tally_view v = pt_view(a, q.in, now, n, rows->in, one->in), w;
        if (b) {
            w = pt_view(b, q.next, now, n, rows->next, one->next);
            v.next = &w;
        }
        status = tally_reduce(ctx, verb->op, &v, p->out + row * verb->out_bytes);
        if (!status) status = pt_advance(now * n);
    }
    return status;
}

tally_status pt_walk_reduce(tally *ctx, const pt_verb *verb, const pt_operand *a, uint64_t mask,
                            char *out)
{
    pt_dim folded[PT_DIMS], kept[PT_DIMS];
    const pt_operand *b = verb->next;
    int nf = 0, nk = 0;
    int64_t n = 1, results = 1, reach = verb->out_bytes, at[PT_DIMS] = {0};
    /* from the last axis, along which results are closest */
    for (int i = a->ndim - 1; i >= 0; i--) {
        int fold = (int)(mask >> i & 1);
        pt_dim d = {a->shape[i], a->strides[i], fold ? 0 : reach, b ? b->strides[i] : 0};
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
    if (n == 0) { /* no elements: every result is the empty value */
        tally_view v = {.dtype = a->dtype, .rows = results, .stride = 1}, w = v;
        if (b) {
            w.dtype = b->dtype;
            v.next = &w;
        }
        return tally_reduce(ctx, verb->op, &v, out);
    }
    nf = pt_join(fold, nf);
    nk = pt_join(keep, nk);
    place p = {a->data, b ? b->data : NULL, out};
    tally_status status = TALLY_OK;
    if (nf > 1 || !pt_even(a, pt_bytes(a)) || (b && !pt_even(b, pt_bytes(b)))) {
        if (b || a->valid) return reduce_inputs(ctx, verb, a, mask, n, out);
        pt_elements from = {NULL, fold, nf, verb->in_bytes};
        do {
            from.data = p.in;
            status = reduce_packed(ctx, verb, a->dtype, &from, n, p.out);
        } while (!status && !(status = pt_advance(n)) && step(keep, nk, at, &p));
        return status;
    }
    pt_dim rows = nk ? keep[--nk] : (pt_dim){.n = 1}, one = nf ? fold[0] : (pt_dim){.n = 1};
    if (nf == 0) { /* one element: no stride matters */
        one.in = pt_bytes(a);
        one.next = b ? pt_bytes(b) : 0;
    }
    if (n > 2 * pt_piece(LONG_PIECE) && rows.n == 1 && nk == 0 && one.in == pt_bytes(a) &&
        a->device < 0 && !b && !a->valid) {
        pieces parts = {.from = {p.in, NULL, -1, pt_bytes(a)}, .n = n};
        return stream_pieces(ctx, verb, a->dtype, &parts, n, out);
    }
    do status = reduce_rows(ctx, verb, a, &p, &rows, &one);
    while (!status && step(keep, nk, at, &p));
    return status;
}

/* ---- scan and window ---- */

/* Fills the results before the first element with the result of an empty sequence. */
static tally_status fill_first(tally *ctx, const pt_verb *verb, tally_dtype dtype, char *out,
                               const pt_dim *keep, int nk)
{
    char value[64], *line;
    int64_t rows = 1;
    for (int i = 0; i < nk; i++) rows *= keep[i].n;
    tally_view none = {.dtype = dtype, .rows = 1, .stride = 1}, second = none;
    if (verb->next) {
        second.dtype = verb->next->dtype;
        none.next = &second;
    }
    tally_status status = tally_reduce(ctx, verb->op, &none, value);
    if (status) return status;
    if (!(line = malloc((size_t)(rows * verb->out_bytes)))) return TALLY_NO_MEMORY;
    for (int64_t r = 0; r < rows; r++)
        memcpy(line + r * verb->out_bytes, value, (size_t)verb->out_bytes);
    pt_unpack(out, line, keep, nk, rows, verb->out_bytes);
    free(line);
    return TALLY_OK;
}

/* Computes windows by ranges of each row, some results at a time. */
static tally_status ranges(tally *ctx, const pt_verb *verb, const tally_view *in,
                           const tally_view *out)
{
    enum { PART = 1 << 20 };
    tally_status status = TALLY_OK;
    for (int64_t row = 0; row < in->rows; row++) {
        tally_view x = *in, second, y = *out;
        const tally_view *const from[2] = {in, in->next};
        tally_view *const to[2] = {&x, &second};
        for (int i = 0; i < 2 && from[i]; i++) {
            *to[i] = *from[i];
            to[i]->rows = 1;
            to[i]->data = pt_offset(from[i]->data, row * from[i]->row_stride *
                                                       (int64_t)tally_dtype_size(from[i]->dtype));
            to[i]->valid_offset += row * from[i]->row_stride;
        }
        if (in->next) x.next = &second;
        y.rows = 1;
        for (int64_t at = 0; !status && at < out->n; at += PART) {
            y.n = out->n - at < PART ? out->n - at : PART;
            y.data =
                pt_offset(out->data, (row * out->row_stride + at * out->stride) * verb->out_bytes);
            status = tally_window_ranges(ctx, verb->op, &x, verb->start + at, verb->end + at, y.n,
                                         &y, verb->least);
            if (!status) status = pt_advance(0);
        }
    }
    return status;
}

static tally_status one_call(tally *ctx, const pt_verb *verb, const tally_view *in,
                             const tally_view *out)
{
    return verb->what == PT_SCAN     ? tally_scan(ctx, verb->op, in, out, &verb->scan)
           : verb->what == PT_RANGES ? ranges(ctx, verb, in, out)
                                     : tally_window(ctx, verb->op, in, out, &verb->window);
}

/* For inputs whose strides are not multiples of the element size (a field of a structure): copies
 * all elements. */
static tally_status packed_series(tally *ctx, const pt_verb *verb, const pt_operand *a, int axis,
                                  const pt_operand *out)
{
    pt_operand x, y;
    pt_verb with = *verb;
    int axes[PT_DIMS];
    for (int i = 0; i < a->ndim; i++) axes[i] = i;
    tally_status status = pt_pack_axes(a, axes, &x);
    if (status) return status;
    if (verb->next && !(status = pt_pack_axes(verb->next, axes, &y))) with.next = &y;
    if (!status) status = pt_walk_series(ctx, &with, &x, axis, out);
    if (with.next != verb->next) pt_unpack_axes(&y);
    pt_unpack_axes(&x);
    return status;
}

tally_status pt_walk_series(tally *ctx, const pt_verb *verb, const pt_operand *a, int axis,
                            const pt_operand *out)
{
    const pt_operand *b = verb->next;
    tally_status status = TALLY_OK;
    if (out->size && a->size && (!pt_even(a, pt_bytes(a)) || (b && !pt_even(b, pt_bytes(b)))))
        return packed_series(ctx, verb, a, axis, out);
    pt_dim keep[PT_DIMS];
    int nk = 0;
    int64_t rows = 1, at[PT_DIMS] = {0};
    for (int i = 0; i < a->ndim; i++) {
        if (i == axis) continue;
        keep[nk++] = (pt_dim){a->shape[i], a->strides[i], out->strides[i], b ? b->strides[i] : 0};
        rows *= a->shape[i];
    }
    if (rows == 0) return TALLY_OK;
    nk = pt_join(keep, nk);
    place p = {a->data, b ? b->data : NULL, out->data};
    const pt_dim one = {a->shape[axis], a->strides[axis], out->strides[axis],
                        b ? b->strides[axis] : 0};
    int64_t n = one.n, m = out->shape[axis];
    if (verb->initial || (verb->shift && m > 0)) {
        if (out->device < 0) status = fill_first(ctx, verb, a->dtype, p.out, keep, nk);
        if (status) return status;
        p.out += one.out;
        m--;
        if (verb->shift) n--; /* the last element's own window is not a result */
    }
    if ((n <= 0 && verb->what != PT_RANGES) || m <= 0) return TALLY_OK;
    int widest = -1; /* the dimension with the most rows becomes the rows of a call */
    for (int i = 0; i < nk; i++)
        if (widest < 0 || keep[i].n > keep[widest].n) widest = i;
    pt_dim row = widest < 0 ? (pt_dim){.n = 1} : keep[widest];
    if (widest >= 0)
        memmove(keep + widest, keep + widest + 1, (size_t)(--nk - widest) * sizeof *keep);
    const int64_t ob = verb->out_bytes;
    if (n > 2 * pt_piece(LONG_PIECE) && row.n == 1 && nk == 0 && one.in == pt_bytes(a) &&
        one.out == ob && !verb->scan.reverse && a->device < 0 && out->device < 0 && !b &&
        !a->valid && verb->what != PT_RANGES) {
        pieces parts = {.from = {p.in, NULL, -1, pt_bytes(a)}, .n = n};
        return stream_pieces(ctx, verb, a->dtype, &parts, n, p.out);
    }
    do {
        for (int64_t at_row = 0, now; !status && at_row < row.n; at_row += now) {
            place q = p;
            move(&q, &row, at_row);
            now = rows_now(a, row.n - at_row, n);
            tally_view v = pt_view(a, q.in, now, n, row.in, one.in), second;
            const tally_view w = {
                q.out, verb->info.output, now, m, row.out / ob, one.out / ob, NULL, NULL, 0, NULL};
            if (b) {
                second = pt_view(b, q.next, now, n, row.next, one.next);
                v.next = &second;
            }
            status = one_call(ctx, verb, &v, &w);
            if (!status) status = pt_advance(now * n);
        }
    } while (!status && step(keep, nk, at, &p));
    return status;
}
