/* SPDX-License-Identifier: MIT
 * folded.c - reduce --by while the file is read. Each column and operator has a stream of groups,
 * and lines are not stored.
 *
 *    Oslo,3   Rome,21   Oslo,4     codes 0 1 0, values 3 21 4  -->  the streams of sum, of max,
 * ... */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* most bytes and lines per read; most streams in all */
enum { BYTES = 1 << 19, LINES = 1 << 16, STREAMS = 1 << 12 };

static int streams_open(folded *f)
{
    const int64_t count = f->width * f->ops->all;
    int code = DONE;
    f->streams = memory_for(&code, "--by", count, sizeof(tally_stream *));
    for (int64_t k = 0; k < count && !code; k++)
        code = code_of(f->ctx, tally_stream_reduce_groups(f->ctx, f->ops->name[k % f->ops->all],
                                                          f->dtype, &f->streams[k]));
    return code;
}

/* Pushes `count` lines of values to the streams of their columns. one: memory for one column. */
static int push(const folded *f, const char *values, const int32_t *codes, int64_t count,
                int64_t known_times, char *one)
{
    int code = DONE;
    for (int64_t c = 0; c < f->width && !code; c++) {
        if (f->width > 1) layout_gather(values, count, f->width, c, f->size, one);
        for (int i = 0; i < f->ops->all && !code; i++)
            code = code_of(f->ctx, tally_stream_push_groups(f->streams[c * f->ops->all + i],
                                                            f->width > 1 ? one : values, codes,
                                                            count, known_times));
    }
    return code;
}

int folded_read(folded *f, input *in, const operators *ops)
{
    memset(f, 0, sizeof *f);
    f->ctx = in->ctx;
    f->ops = ops;
    f->dtype = in->dtype;
    f->size = tally_dtype_size(in->dtype);
    f->width = in->columns ? in->columns : 1;
    if (in->data || in->timed || !in->info.key_columns || strcmp(device_of(in->ctx), "cpu") != 0 ||
        f->width > STREAMS / ops->all)
        return DONE;
    int64_t most = BYTES / (int64_t)f->size / f->width;
    most = most < 1 ? 1 : most < LINES ? most : LINES;
    int code = DONE;
    char *const values = memory_for(&code, "--by", 2 * most * f->width, f->size);
    int32_t *const codes = memory_for(&code, "--by", most, sizeof *codes);
    if (!code) code = streams_open(f);
    for (int64_t got = 1; !code && got;) {
        code = code_of(in->ctx, tally_file_read_by(in->file, values, codes, most * f->width, &got));
        const int64_t count = got / f->width;
        if (!code)
            code = push(f, values, codes, count, tally_file_groups(in->file),
                        values + (size_t)(most * f->width) * f->size);
        f->lines += count;
    }
    free(values);
    free(codes);
    return code;
}

int folded_results(folded *f, const groups *g, int64_t column, int op, size_t bytes, char *out)
{
    tally_stream **const stream = &f->streams[column * f->ops->all + op];
    int code = DONE;
    char *const all = memory_for(&code, "the results", g->count, bytes);
    if (!code) code = code_of(f->ctx, tally_stream_finish(*stream, all, NULL));
    for (int64_t k = 0; k < g->count && !code; k++)
        memcpy(out + (size_t)k * bytes, all + (size_t)g->shown[k] * bytes, bytes);
    free(all);
    tally_stream_close(*stream);
    *stream = NULL;
    return code;
}

void folded_close(folded *f)
{
    for (int64_t i = 0; f->streams && i < f->width * f->ops->all; i++)
        tally_stream_close(f->streams[i]);
    free(f->streams);
    memset(f, 0, sizeof *f);
}
