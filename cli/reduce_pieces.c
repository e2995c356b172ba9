/* SPDX-License-Identifier: MIT
 * reduce_pieces.c - tally reduce of data that is read in pieces; and along --axis or --segments, by
 * batches of sequences, of data in memory or of a file that is read in boxes.
 *
 * One operator on data in memory is one call. Otherwise the file is read in pieces that fit the
 * cache, and each operator takes every piece into its own stream. The bits do not depend on the
 * pieces. */
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

/* Powers of two, so that pieces are whole blocks of the order. PIECE_ONE, with one thread: a
 * piece and the states of its operators fit L2. PIECE_MANY: each push is divided among threads,
 * so a piece must be large enough for that. */
enum { PIECE_ONE = 512 << 10, PIECE_MANY = 8 << 20 };
/* Rows with so many elements are reduced one by one if all have the same weights: one row and its
 * weights are read in place, and several are copied first. */
enum { ALONE = 4096 };
/* the most bytes of one call if progress is shown */
static const int64_t watched_bytes = 256 << 20;

/* The sequences that are reduced at once: one, or the columns of a table, each with a stream per
 * operator. */
typedef struct passage {
    tally_stream **streams;
    int64_t columns;
    char *column; /* if there are several columns: memory for one column of a piece */
} passage;

static int open_streams(const job *j, tally_dtype dtype, passage *pass)
{
    const int64_t count = pass->columns * j->ops.all;
    int code = DONE;
    pass->streams = memory_for(&code, "the streams", count, sizeof(tally_stream *));
    if (pass->columns > 1) pass->column = memory_for(&code, "the streams", READ_BYTES, 1);
    for (int64_t i = 0; i < count && !code; i++)
        code = code_of(j->ctx, tally_stream_reduce(j->ctx, j->ops.name[i % j->ops.all], dtype,
                                                   &pass->streams[i]));
    return code;
}

/* Pushes n elements through every stream, piece by piece. */
static int push(const job *j, tally_stream **streams, const char *data, int64_t n, size_t size)
{
    const int64_t most =
        j->ops.all == 1 ? n : (tally_threads(j->ctx) > 1 ? PIECE_MANY : PIECE_ONE) / (int64_t)size;
    int code = DONE;
    for (int64_t at = 0; at < n; at += most)
        for (int i = 0; i < j->ops.all && !code; i++) {
            const int64_t now = n - at < most ? n - at : most;
            code = code_of(
                j->ctx, tally_stream_push(streams[i], data + (size_t)at * size, now, NULL, NULL));
        }
    return code;
}

static int push_columns(const job *j, const passage *pass, const char *data, int64_t n, size_t size)
{
    if (pass->columns == 1) return push(j, pass->streams, data, n, size);
    int code = DONE;
    for (int64_t c = 0; c < pass->columns && !code; c++) {
        layout_gather(data, n / pass->columns, pass->columns, c, size, pass->column);
        code = push(j, pass->streams + c * j->ops.all, pass->column, n / pass->columns, size);
    }
    return code;
}

int reduce_fold(reduction *r, int64_t row, int64_t limit)
{
    const job *const j = r->j;
    input *const in = &r->in;
    const int64_t columns = r->columns ? r->columns : 1;
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t bytes = in->data && !in->column_major ? watched_bytes : READ_BYTES,
                  capacity = bytes / (int64_t)size / columns * columns;
    passage pass = {.columns = columns};
    int code = open_streams(j, in->dtype, &pass);
    int64_t done = 0;
    while (!code && done != limit) {
        const int64_t want = limit >= 0 && limit - done < capacity ? limit - done : capacity;
        int64_t got = 0;
        const char *at;
        code = input_piece(in, r->buffer, want, &at, &got);
        if (code || !got) break;
        code = push_columns(j, &pass, at, got, size);
        done += got;
        progress_show(&r->p, in, row * (limit < 0 ? 0 : limit) + done);
    }
    for (int64_t i = 0; pass.streams && i < columns * j->ops.all; i++) {
        const result *const of = &r->a->results[i % j->ops.all];
        char *const out =
            (char *)of->bits + (size_t)(row + i / j->ops.all) * result_bytes(&of->info);
        if (!code) code = code_of(j->ctx, tally_stream_finish(pass.streams[i], out, NULL));
        tally_stream_close(pass.streams[i]);
    }
    free(pass.streams);
    free(pass.column);
    if (limit < 0) in->n = in->n < 0 ? done : in->n;
    return code;
}

int reduce_flat(reduction *r)
{
    const job *const j = r->j;
    const input *const in = &r->in;
    const int64_t bytes = in->n * (int64_t)tally_dtype_size(in->dtype);
    if (j->ops.all > 1 || !in->data || in->column_major || (r->p.on && bytes > watched_bytes))
        return reduce_fold(r, 0, -1);
    const tally_view view = tally_flat(in->data, in->dtype, in->n);
    return code_of(j->ctx, tally_reduce(j->ctx, j->ops.name[0], &view, r->a->results[0].bits));
}

/* Reads and reduces the next `now` rows, whose results begin with number `row`. */
static int reduce_some(reduction *r, char *buffer, int64_t row, int64_t now)
{
    const job *const j = r->j;
    input *const in = &r->in;
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t all = now * r->l.len;
    int code = DONE;
    for (int64_t n = 0, got = 1; n < all && got && !code; n += got)
        code = input_read(in, buffer + (size_t)n * size, all - n, &got);
    tally_view view = tally_rows(buffer, in->dtype, now, r->l.len), next;
    second_view(&j->beside, buffer, &view, &next);
    for (int i = 0; i < j->ops.all && !code; i++) {
        const result *const of = &r->a->results[i];
        char *const out = (char *)of->bits + (size_t)row * result_bytes(&of->info);
        const tally_view one = second_for(&j->beside, &j->ops, i, &view);
        code = code_of(j->ctx, tally_reduce(j->ctx, j->ops.name[i], &one, out));
    }
    progress_show(&r->p, in, (row + now) * r->l.len);
    return code;
}

/* As many complete rows at a time as fit the buffer, or a long row in several reads; but a second
 * input is not read in parts of a row. */
int reduce_rows(reduction *r)
{
    const second *const beside = &r->j->beside;
    const layout *const l = &r->l;
    const size_t size = tally_dtype_size(r->in.dtype);
    int64_t each = l->len ? READ_BYTES / (int64_t)size / l->len : l->outer;
    int code = DONE;
    if (each > 1 && beside->repeats && l->len >= ALONE) each = 1;
    char *const row_buffer = !each && beside->on ? memory_for(&code, "a row", l->len, size) : NULL;
    if (row_buffer) each = 1;
    for (int64_t row = 0, now; row < l->outer && !code; row += now) {
        now = !each ? 1 : l->outer - row < each ? l->outer - row : each;
        code = each ? reduce_some(r, row_buffer ? row_buffer : r->buffer, row, now)
                    : reduce_fold(r, row, l->len);
    }
    free(row_buffer);
    return code;
}

/* ---- batches ---- */

/* If a batch's results are not adjacent, they are computed in a buffer. */
int reduce_batches(const reduction *r, const void *data, const layout *l, int64_t row)
{
    const job *const j = r->j;
    const groups *const g = r->banded ? &r->steps : NULL;
    const size_t size = tally_dtype_size(r->in.dtype);
    const batched all = {data, r->in.dtype, size, l->len};
    const int64_t parts = g ? g->count : 1;
    tally_view view, next;
    int64_t at, step;
    for (int64_t b = 0; parts && layout_batch(l, b / parts, all, &view, &at, &step); b++) {
        if (g) bands_part(g, l, b % parts, size, &view);
        if (g) bands_destination(g, l, b % parts, &at, &step);
        for (int i = 0; i < j->ops.all; i++) {
            const result *const of = &r->a->results[i];
            const size_t each = result_bytes(&of->info);
            char *const out = (char *)of->bits + (size_t)(row + at) * each;
            int code = DONE;
            char *const results = step == 1 ? out : memory_for(&code, "--axis", view.rows, each);
            if (code) return code;
            second_view(&j->beside, data, &view, &next);
            const tally_view operand = second_for(&j->beside, &j->ops, i, &view);
            code = code_of(j->ctx, tally_reduce(j->ctx, j->ops.name[i], &operand, results));
            if (step != 1 && !code)
                for (int64_t k = 0; k < view.rows; k++)
                    memcpy(out + (size_t)(k * step) * each, results + (size_t)k * each, each);
            if (step != 1) free(results);
            if (code) return code;
        }
    }
    return DONE;
}

/* Reduces an array that is read in boxes and need not fit into memory. Each box has all of the
 * axis, all of the dimensions after the dimension that is cut, and one step of the dimensions
 * before it, so that its results are adjacent.
 *
 *    time x lat x lon, axis 0:   all times, some lat, all lon; if one lat is too large: all
 *                                times, one lat, some lon */
int reduce_boxes(reduction *r)
{
    const job *const j = r->j;
    input *const in = &r->in;
    const layout *const l = &r->l;
    const int64_t size = (int64_t)tally_dtype_size(in->dtype);
    int64_t start[DIMS] = {0}, most[DIMS], bytes, elements = in->n, row = 0;
    int code = memory_option(j->o, &bytes), cut = -1, taken = 0;
    steps s = {.j = j, .in = in, .a = r->a, .l = l, .p = &r->p, .memory = bytes};
    if (!code) code = reduce_steps(&s, &taken);
    if (code || taken) return code;
    memcpy(most, in->shape, sizeof most);
    for (int d = 0; d < in->ndim && elements > bytes / size; d++) {
        if (d == l->axis) continue;
        elements /= most[d];
        most[d] = 1;
        cut = d;
    }
    if (cut >= 0 && elements <= bytes / size) {
        most[cut] =
            bytes / size / elements < in->shape[cut] ? bytes / size / elements : in->shape[cut];
        const int64_t chunk = in->info.chunk[cut];
        if (chunk > 0 && most[cut] > chunk && most[cut] < in->shape[cut])
            most[cut] -= most[cut] % chunk;
        elements *= most[cut];
    }
    char *const box = aligned_alloc(LARGE_PAGE, ((size_t)(elements * size) + LARGE_PAGE - 1) /
                                                    LARGE_PAGE * LARGE_PAGE);
    if (!box) return fail_memory("--axis, which reads all of it at a time,", elements * size);
    /* with pages of 4 KiB, page faults took half of the time */
    large_pages(box, (size_t)(elements * size));
    for (int more = 1; more && !code;) {
        int64_t count[DIMS];
        layout part = *l;
        part.outer = part.inner = 1;
        for (int d = 0; d < in->ndim; d++) {
            count[d] = most[d] < in->shape[d] - start[d] ? most[d] : in->shape[d] - start[d];
            if (d != l->axis) *(d < l->axis ? &part.outer : &part.inner) *= count[d];
        }
        code = code_of(j->ctx, tally_file_read_box(in->file, start, count, box));
        if (!code) code = reduce_batches(r, box, &part, row);
        row += part.outer * part.inner;
        progress_show(&r->p, in, row * l->len);
        more = 0;
        /* the next box; after the last one all are 0 again */
        for (int d = cut; d >= 0 && !more; d--) {
            if (d == l->axis) continue;
            start[d] += count[d];
            more = start[d] < in->shape[d];
            if (!more) start[d] = 0;
        }
    }
    free(box);
    return code;
}

/* Reduces --by with --axis, while the file is read or in memory. */
int reduce_bands(reduction *r)
{
    job *const j = r->j;
    input *const in = &r->in;
    const layout *const l = &r->l;
    const groups *const g = &r->steps;
    int64_t bytes;
    int code = memory_option(j->o, &bytes), taken = 0;
    steps s = {.j = j, .in = in, .a = r->a, .l = l, .g = g, .p = &r->p, .memory = bytes};
    if (!code && !j->beside.on && !in->data) code = reduce_steps(&s, &taken);
    if (code || taken) return code;
    code = input_load(in, 0);
    if (!code) code = bands_move(g, l, in->owned, tally_dtype_size(in->dtype), 0);
    if (!code) code = second_bands(&j->beside, g, l, in);
    return code ? code : reduce_batches(r, in->data, l, 0);
}
