/* SPDX-License-Identifier: MIT
 * reduce_pieces.c - tally reduce of data that is read in pieces.
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

/* Reduces the next `limit` elements of the input (-1: all), as one sequence or as the columns of
 * a table. Writes the results of every operator from number `row` on. */
int reduce_fold(const job *j, input *in, answer *a, int64_t row, int64_t limit, int64_t columns,
                char *buffer, progress *p)
{
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t capacity = READ_BYTES / (int64_t)size / columns * columns,
                  total = in->n >= 0 ? in->n * (int64_t)size : in->info.bytes_total;
    passage pass = {.columns = columns};
    int code = open_streams(j, in->dtype, &pass);
    int64_t done = 0;
    while (!code && done != limit) {
        const int64_t want = limit >= 0 && limit - done < capacity ? limit - done : capacity;
        int64_t got = 0;
        const char *at = buffer;
        if (in->data && !in->column_major) {
            got = in->n - in->next < watched_bytes / (int64_t)size ? in->n - in->next
                                                                   : watched_bytes / (int64_t)size;
            if (limit >= 0 && got > limit - done) got = limit - done;
            at = in->data + (size_t)in->next * size;
            in->next += got;
        } else {
            code = input_read(in, buffer, want, &got);
        }
        if (code || !got) break;
        code = push_columns(j, &pass, at, got, size);
        done += got;
        if (p->on && in->n < 0) tally_file_get_info(in->file, &in->info);
        progress_show(p,
                      in->n >= 0 ? (row * (limit < 0 ? 0 : limit) + done) * (int64_t)size
                                 : in->info.bytes_read,
                      total);
    }
    for (int64_t i = 0; pass.streams && i < columns * j->ops.all; i++) {
        const result *const r = &a->results[i % j->ops.all];
        char *const out = (char *)r->bits + (size_t)(row + i / j->ops.all) * result_bytes(&r->info);
        if (!code) code = code_of(j->ctx, tally_stream_finish(pass.streams[i], out, NULL));
        tally_stream_close(pass.streams[i]);
    }
    free(pass.streams);
    free(pass.column);
    if (limit < 0) in->n = in->n < 0 ? done : in->n;
    return code;
}

int reduce_flat(const job *j, input *in, answer *a, char *buffer, progress *p)
{
    const int64_t bytes = in->n * (int64_t)tally_dtype_size(in->dtype);
    if (j->ops.all > 1 || !in->data || in->column_major || (p->on && bytes > watched_bytes))
        return reduce_fold(j, in, a, 0, -1, 1, buffer, p);
    const tally_view view = tally_flat(in->data, in->dtype, in->n);
    return code_of(j->ctx, tally_reduce(j->ctx, j->ops.name[0], &view, a->results[0].bits));
}

/* Reduces rows that are not in memory: as many complete rows at a time as fit the buffer, or a
 * long row in several reads. */
int reduce_rows(const job *j, input *in, answer *a, const layout *l, char *buffer, progress *p)
{
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t capacity = READ_BYTES / (int64_t)size;
    int64_t each = l->len ? capacity / l->len : l->outer;
    int code = DONE;
    if (each > 1 && j->beside.repeats && l->len >= ALONE) each = 1;
    char *own = NULL;
    if (!each && j->beside.on) { /* a second input is not read in parts of a row */
        buffer = own = memory_for(&code, "a row", l->len, size);
        each = 1;
    }
    for (int64_t row = 0; row < l->outer && !code;) {
        if (!each) {
            code = reduce_fold(j, in, a, row++, l->len, 1, buffer, p);
            continue;
        }
        const int64_t now = l->outer - row < each ? l->outer - row : each;
        int64_t read_count = 0, got = 1;
        while (read_count < now * l->len && got && !code) {
            code =
                input_read(in, buffer + (size_t)read_count * size, now * l->len - read_count, &got);
            read_count += got;
        }
        tally_view view = tally_rows(buffer, in->dtype, now, l->len), next;
        second_view(&j->beside, buffer, &view, &next);
        for (int i = 0; i < j->ops.all && !code; i++) {
            char *const out =
                (char *)a->results[i].bits + (size_t)row * result_bytes(&a->results[i].info);
            const tally_view one = second_for(&j->beside, &j->ops, i, &view);
            code = code_of(j->ctx, tally_reduce(j->ctx, j->ops.name[i], &one, out));
        }
        row += now;
        progress_show(p, row * l->len * (int64_t)size, in->n * (int64_t)size);
    }
    free(own);
    return code;
}
