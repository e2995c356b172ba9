/* SPDX-License-Identifier: MIT
 * steps.c - reduce along a dimension of a NetCDF array in the order of the file: some steps at a time are read for all
 * cells, and every cell is a sequence that grows. Nothing is read twice, and the steps that were read are still in a
 * cache when they are folded.
 *
 *     time x lat x lon, axis 0:  times 0..7 of all cells, times 8..15 of all cells, ...
 *
 * boxes() in reduce.c is for what does not go this way: cells that do not fit into memory, or so few of them that a
 * step is not worth a call, chunks that lie across. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum {
    READ = 16 << 20, /* bytes of steps that are read at a time, */
    BLOCK = 8,       /* or so many steps: streams fold them where they lie, 8 at a time */
    CELLS_LEAST = 64 /* of a step */
};

/* Bytes that a stream keeps for a cell: a block of steps as they came, and a node for each level of the order. */
static int64_t kept(int64_t steps, int64_t size)
{
    int levels = 3;
    while (levels < 62 && steps >> levels) levels++;
    return BLOCK * size + 16 * levels;
}

/* How many steps are read at a time; 0: not this way. */
static int64_t steps_at_once(const tally *ctx, const input *in, const layout *l, int ops, int64_t memory)
{
    const int64_t size = (int64_t)tally_dtype_size(in->dtype), *const chunk = in->info.chunk;
    int64_t step, own;
    if (l->inner < CELLS_LEAST || strcmp(device_of(ctx), "cpu") != 0) return 0;
    for (int d = 0; d < l->axis; d++)
        if (chunk[d] > 1 && in->shape[d] > 1) return 0;
    if (__builtin_mul_overflow(l->inner, size, &step) ||
        __builtin_mul_overflow(l->inner, ops * kept(l->len, size), &own))
        return 0;
    const int64_t most = memory / 16 < READ ? memory / 16 : READ;
    int64_t now = most / step / BLOCK * BLOCK, whole = chunk[l->axis] < l->len ? chunk[l->axis] : l->len;
    if (now < BLOCK) now = BLOCK;
    if (whole > now) now = whole; /* a chunk is read once */
    if (whole > 0) now -= now % whole;
    if (now > l->len) now = l->len;
    int64_t bytes;
    if (__builtin_mul_overflow(now, step, &bytes) || __builtin_add_overflow(bytes, own, &bytes) || bytes > memory)
        return 0;
    return now;
}

static int open_streams(tally *ctx, const operators *ops, const input *in, const layout *l, tally_stream **streams)
{
    for (int i = 0; i < ops->all; i++) {
        const tally_status status = tally_stream_reduce_rows(ctx, ops->name[i], in->dtype, l->inner, &streams[i]);
        if (status) return fail_status(ctx, status);
    }
    return DONE;
}

/* Cells `outer` of the dimensions before the axis. */
static int fold_steps(tally *ctx, const input *in, const layout *l, int64_t outer, int64_t now, int ops,
                      tally_stream **streams, char *buffer, progress *p)
{
    const int64_t size = (int64_t)tally_dtype_size(in->dtype);
    int64_t start[DIMS] = {0}, count[DIMS], rest = outer;
    for (int d = 0; d < in->ndim; d++) count[d] = d < l->axis ? 1 : in->shape[d];
    for (int d = l->axis - 1; d >= 0; d--) {
        start[d] = rest % in->shape[d];
        rest /= in->shape[d];
    }
    for (int64_t at = 0; at < l->len; at += now) {
        start[l->axis] = at;
        count[l->axis] = now < l->len - at ? now : l->len - at;
        tally_status status = tally_file_read_box(in->file, start, count, buffer);
        const tally_view view = {buffer, in->dtype, l->inner, count[l->axis], 1, l->inner, NULL};
        for (int i = 0; i < ops && !status; i++) status = tally_stream_push_view(streams[i], &view, NULL);
        if (status) return fail_status(ctx, status);
        progress_show(p, (outer * l->len + at + count[l->axis]) * l->inner * size, in->n * size);
    }
    return DONE;
}

int reduce_steps(tally *ctx, const operators *ops, const input *in, answer *a, const layout *l, int64_t memory,
                 progress *p, int *taken)
{
    const int64_t now = steps_at_once(ctx, in, l, ops->all, memory);
    *taken = 0;
    for (int i = 0; i < ops->all; i++) /* no streams of many cells for exact sums */
        if (!now || strstr(ops->name[i], "exact")) return DONE;
    const size_t bytes = (size_t)(now * l->inner) * tally_dtype_size(in->dtype);
    char *const buffer = aligned_alloc(LARGE_PAGE, (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
    tally_stream **const streams = calloc((size_t)ops->all, sizeof *streams);
    *taken = 1;
    int code = buffer && streams ? DONE : fail_memory("--axis", (int64_t)bytes);
    large_pages(buffer, bytes);
    for (int64_t outer = 0; outer < l->outer && !code; outer++) {
        code = open_streams(ctx, ops, in, l, streams);
        if (!code) code = fold_steps(ctx, in, l, outer, now, ops->all, streams, buffer, p);
        for (int i = 0; i < ops->all; i++) {
            const result *const r = &a->results[i];
            char *const out = (char *)r->bits + (size_t)(outer * l->inner) * result_bytes(&r->info);
            const tally_status status = code ? TALLY_OK : tally_stream_finish(streams[i], out, NULL);
            if (status) code = fail_status(ctx, status);
            tally_stream_close(streams[i]);
            streams[i] = NULL;
        }
    }
    free(streams);
    free(buffer);
    return code;
}
