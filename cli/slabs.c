/* SPDX-License-Identifier: MIT
 * slabs.c - scan and window along the first dimension of a NetCDF array that does not fit --memory:
 * some steps of all cells are read at a time, and every cell is a sequence that grows. The results
 * come in the order of the file.
 *
 *    time x lat x lon:  times 0..7 of all cells, times 8..15 of all cells, ... */
#include "series.h"

#include <stdlib.h>
#include <string.h>

enum {
    READ = 16 << 20, /* bytes of steps that are read at a time */
    BLOCK = 8,       /* fewest steps */
    EXACT = 4600     /* bytes of the sums that a scan of an exact statistic keeps for a cell */
};

typedef struct slab {
    run *r;
    input *in;
    sink *to;
    int64_t cells, now; /* cells of a step; steps that are read at a time */
    tally_window_options window;
    tally_stream **streams; /* of each operator */
    char *buffer, **out;
} slab;

/* Whether this method applies, or --axis is wrong (*code). */
static int applies(const run *r, const input *in, int64_t memory, int *code)
{
    static const enum option others[] = {OPT_by, OPT_reverse, OPT_step, OPT_segments, OPT_shape};
    const tally_window_options *const w = r->call.window;
    unsigned axes = 0;
    int64_t bytes = (int64_t)tally_dtype_size(in->dtype), all;
    int exact = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (has(r->o, others[i])) return 0;
    if (!has(r->o, OPT_axis) || !in->info.dimensions || in->data || in->ndim < 2 || in->n <= 0 ||
        r->call.span || (w && (w->before < 0 || w->after < 0)) || strcmp(device_of(r->ctx), "cpu"))
        return 0;
    for (int i = 0; i < r->ops.all; i++) {
        exact += strstr(r->ops.name[i], ":exact") != NULL;
        bytes += (int64_t)result_bytes(&r->ops.info[i]);
    }
    if (r->call.scan && exact * EXACT > in->shape[0] * bytes) return 0; /* the array is smaller */
    *code = layout_axes(in, r->o, &axes);
    return *code || (axes == 1 && (__builtin_mul_overflow(in->n, bytes, &all) || all > memory));
}

static int open_streams(slab *b)
{
    run *const r = b->r;
    const int64_t step = b->cells * (int64_t)tally_dtype_size(b->in->dtype);
    b->now = READ / step / BLOCK * BLOCK;
    if (b->now < BLOCK) b->now = BLOCK;
    if (b->in->info.chunk[0] > b->now) b->now = b->in->info.chunk[0]; /* each is read once */
    if (b->now > b->in->shape[0]) b->now = b->in->shape[0];
    int code = DONE;
    b->streams = memory_for(&code, "--axis", r->ops.all, sizeof *b->streams);
    b->out = memory_for(&code, "--axis", r->ops.all, sizeof *b->out);
    b->buffer = memory_for(&code, "--axis", b->now * step, 1);
    for (int i = 0; i < r->ops.all && !code; i++) {
        tally_scan_options copy;
        const tally_status status =
            r->call.scan ? tally_stream_scan_rows(r->ctx, r->ops.name[i], b->in->dtype, b->cells,
                                                  series_options(r, i, &copy), &b->streams[i])
                         : tally_stream_window_rows(r->ctx, r->ops.name[i], b->in->dtype, b->cells,
                                                    &b->window, &b->streams[i]);
        if (status) return code_of(r->ctx, status);
        const int64_t end = tally_stream_results(b->streams[i], -1),
                      most = b->now > end ? b->now : end;
        b->out[i] =
            memory_for(&code, "the results", most * b->cells, result_bytes(&r->ops.info[i]));
    }
    return code;
}

/* Pushes `steps` steps, which are in the buffer; -1: the end. Writes the results. */
static int push(slab *b, int64_t steps)
{
    run *const r = b->r;
    const tally_view in = tally_columns(b->buffer, b->in->dtype, steps, b->cells);
    int64_t results = 0;
    for (int i = 0; i < r->ops.all; i++) {
        results = tally_stream_results(b->streams[i], steps);
        const tally_view out = tally_columns(b->out[i], r->ops.info[i].output, results, b->cells);
        const tally_status status = steps < 0 ? tally_stream_finish_view(b->streams[i], &out)
                                              : tally_stream_push_view(b->streams[i], &in, &out);
        if (status) return code_of(r->ctx, status);
    }
    return sink_write(b->to, (const char *const *)b->out, results * b->cells);
}

static int run_slabs(slab *b)
{
    const input *const in = b->in;
    const int64_t len = in->shape[0];
    int64_t start[DIMS] = {0}, count[DIMS], shape[DIMS];
    memcpy(count, in->shape, sizeof count);
    memcpy(shape, in->shape, sizeof shape);
    if (b->r->call.window) shape[0] = tally_window_length(len, &b->window);
    int code = open_streams(b);
    if (!code)
        code = series_sink(b->r, &b->to, b->in, in->ndim, shape, &(layout){.axis = 0, .len = len});
    for (int64_t at = 0; at < len && !code; at += count[0]) {
        start[0] = at;
        count[0] = b->now < len - at ? b->now : len - at;
        code = code_of(b->r->ctx, tally_file_read_box(in->file, start, count, b->buffer));
        if (!code) code = push(b, count[0]);
        progress_show(&b->r->p, b->in, (at + count[0]) * b->cells);
    }
    if (!code) code = push(b, -1);
    return sink_close(b->to, code);
}

int slabs_run(run *r, input *in, int *taken)
{
    int64_t memory;
    slab b = {.r = r, .in = in};
    int code = memory_option(r->o, &memory);
    *taken = !code && applies(r, in, memory, &code);
    if (!*taken || code) return code;
    b.cells = in->n / in->shape[0];
    if (r->call.window) {
        b.window = *r->call.window;
        series_fit_window(&b.window, in->shape[0]);
    }
    code = run_slabs(&b);
    for (int i = 0; i < r->ops.all; i++) {
        if (b.streams) tally_stream_close(b.streams[i]);
        if (b.out) free(b.out[i]);
    }
    free(b.streams);
    free(b.out);
    free(b.buffer);
    return code;
}
