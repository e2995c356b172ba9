/* SPDX-License-Identifier: MIT
 * folded.c - reduce --by while the file is read: each group has a stream of each column and operator, and what is not
 * pushed yet waits in a buffer of a few values. Nothing is kept of a line.
 *
 *     Oslo,3   Rome,21   Oslo,4        Oslo  [3 4 . . . .] --when it is full--> the streams of Oslo
 *                                      Rome  [21 . . . . .]
 *
 * A stream takes some KB, so there are only so many; when there are more groups, the rest of the
 * file is loaded (groups.c), and each group's rest is pushed when all is known. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum {
    WAITING = 128,  /* values of a group and column */
    STREAMS = 4096, /* when there are so many, no more is read; */
    LINES = 1 << 12 /* a read brings so many lines, and perhaps as many groups */
};

/* Room for `wanted` groups, and streams for those that are new. */
static int more_groups(folded *f, int64_t wanted)
{
    const int64_t each = f->width * f->ops->all;
    if (wanted > f->room) {
        const int64_t room = 2 * wanted;
        tally_stream **const streams = realloc(f->streams, (size_t)(room * each) * sizeof *streams);
        if (streams) f->streams = streams;
        char *const waiting = realloc(f->waiting, (size_t)(room * f->width * WAITING) * f->size);
        if (waiting) f->waiting = waiting;
        int32_t *const waits = realloc(f->waits, (size_t)room * sizeof *waits);
        if (waits) f->waits = waits;
        if (!streams || !waiting || !waits)
            return fail_memory("--by", room * (each * 8 + f->width * WAITING * (int64_t)f->size));
        f->room = room;
    }
    for (; f->groups < wanted; f->groups++) {
        tally_stream **const own = f->streams + f->groups * each;
        f->waits[f->groups] = 0;
        memset(own, 0, (size_t)each * sizeof(tally_stream *));
        for (int64_t k = 0; k < each; k++) {
            const tally_status status =
                tally_stream_reduce(f->ctx, f->ops->name[k % f->ops->all], f->dtype, &own[k]);
            if (status) {
                f->groups++; /* it is closed with the others */
                return fail_status(f->ctx, status);
            }
        }
    }
    return DONE;
}

/* What waits for the streams of a group. */
static int push(folded *f, int64_t group)
{
    for (int64_t c = 0; c < f->width; c++)
        for (int i = 0; i < f->ops->all; i++) {
            const tally_status status =
                tally_stream_push(f->streams[(group * f->width + c) * f->ops->all + i],
                                  f->waiting + (size_t)((group * f->width + c) * WAITING) * f->size,
                                  f->waits[group], NULL, NULL);
            if (status) return fail_status(f->ctx, status);
        }
    f->waits[group] = 0;
    return DONE;
}

static inline __attribute__((always_inline)) int share_out(folded *f, const char *values,
                                                           const int32_t *codes, int64_t n,
                                                           int64_t width, size_t size)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t g = codes[i];
        char *const to = f->waiting + (size_t)(g * width * WAITING + f->waits[g]) * size;
        for (int64_t c = 0; c < width; c++)
            memcpy(to + (size_t)(c * WAITING) * size, values + (size_t)(i * width + c) * size,
                   size);
        if (++f->waits[g] < WAITING) continue;
        const int code = push(f, g);
        if (code) return code;
    }
    return DONE;
}

int folded_read(folded *f, input *in, const operators *ops)
{
    memset(f, 0, sizeof *f);
    if (in->data || in->timed || !in->info.key_columns || strcmp(device_of(in->ctx), "cpu") != 0)
        return DONE;
    f->ctx = in->ctx;
    f->ops = ops;
    f->dtype = in->dtype;
    f->size = tally_dtype_size(in->dtype);
    f->width = in->columns ? in->columns : 1;
    if (f->width > STREAMS) return DONE;
    char *const values = malloc((size_t)(LINES * f->width) * f->size);
    int32_t *const codes = malloc(LINES * sizeof *codes);
    int code = values && codes ? DONE : fail_memory("--by", LINES * f->width * (int64_t)f->size);
    for (int64_t got = 1; !code && got && f->groups * f->width * ops->all < STREAMS;) {
        const tally_status status =
            tally_file_read_by(in->file, values, codes, LINES * f->width, &got);
        if (status) code = fail_status(in->ctx, status);
        const int64_t n = got / f->width;
        if (!code) code = more_groups(f, tally_file_groups(in->file));
        if (!code)
            code = f->width == 1 && f->size == 8
                       ? share_out(f, values, codes, n, 1, 8)
                       : share_out(f, values, codes, n, f->width, f->size);
        f->lines += n;
    }
    free(values);
    free(codes);
    return code;
}

int folded_result(folded *f, int64_t group, int64_t column, int op, const char *rest, int64_t n,
                  void *out)
{
    const int64_t at = group * f->width + column;
    tally_stream *const stream = f->streams[at * f->ops->all + op];
    tally_status status = tally_stream_push(stream, f->waiting + (size_t)(at * WAITING) * f->size,
                                            f->waits[group], NULL, NULL);
    if (!status) status = tally_stream_push(stream, rest, n, NULL, NULL);
    if (!status) status = tally_stream_finish(stream, out, NULL);
    return status ? fail_status(f->ctx, status) : DONE;
}

void folded_close(folded *f)
{
    for (int64_t i = 0; f->streams && i < f->groups * f->width * f->ops->all; i++)
        tally_stream_close(f->streams[i]);
    free(f->streams);
    free(f->waiting);
    free(f->waits);
    memset(f, 0, sizeof *f);
}
