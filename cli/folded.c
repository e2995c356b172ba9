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
    f->streams = calloc((size_t)count, sizeof(tally_stream *));
    if (!f->streams) return fail_memory("--by", count * (int64_t)sizeof(tally_stream *));
    for (int64_t k = 0; k < count; k++) {
        const tally_status status = tally_stream_reduce_groups(
            f->ctx, f->ops->name[k % f->ops->all], f->dtype, &f->streams[k]);
        if (status) return fail_status(f->ctx, status);
    }
    return DONE;
}

/* Pushes `count` lines of values to the streams of their columns. one: memory for one column. */
static int push(const folded *f, const char *values, const int32_t *codes, int64_t count,
                int64_t known_times, char *one)
{
    for (int64_t c = 0; c < f->width; c++) {
        if (f->width > 1) layout_gather(values, count, f->width, c, f->size, one);
        for (int i = 0; i < f->ops->all; i++) {
            const tally_status status =
                tally_stream_push_groups(f->streams[c * f->ops->all + i],
                                         f->width > 1 ? one : values, codes, count, known_times);
            if (status) return fail_status(f->ctx, status);
        }
    }
    return DONE;
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
    char *const values = malloc(2 * (size_t)(most * f->width) * f->size);
    int32_t *const codes = malloc((size_t)most * sizeof *codes);
    int code = values && codes ? streams_open(f)
                               : fail_memory("--by", 2 * most * f->width * (int64_t)f->size);
    for (int64_t got = 1; !code && got;) {
        const tally_status status =
            tally_file_read_by(in->file, values, codes, most * f->width, &got);
        if (status) code = fail_status(in->ctx, status);
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
    char *const all = malloc((size_t)g->count * bytes + 1);
    if (!all) return fail_memory("the results", g->count * (int64_t)bytes);
    const tally_status status =
        tally_stream_finish(f->streams[column * f->ops->all + op], all, NULL);
    for (int64_t k = 0; k < g->count && !status; k++)
        memcpy(out + (size_t)k * bytes, all + (size_t)g->shown[k] * bytes, bytes);
    free(all);
    tally_stream_close(f->streams[column * f->ops->all + op]);
    f->streams[column * f->ops->all + op] = NULL;
    return status ? fail_status(f->ctx, status) : DONE;
}

void folded_close(folded *f)
{
    for (int64_t i = 0; f->streams && i < f->width * f->ops->all; i++)
        tally_stream_close(f->streams[i]);
    free(f->streams);
    memset(f, 0, sizeof *f);
}
