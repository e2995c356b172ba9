/* SPDX-License-Identifier: MIT
 * series.c - what scan and window share: elements in, results out, in pieces; the whole array only where it must be.
 *
 * A forward scan or a window over one sequence streams in bounded memory. --reverse, --axis and --segments hold the
 * data and the results in memory, since their results are not born in the order of the file. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 4 << 20
}; /* a piece and its results stay near the cache; a power of two, so pieces are whole blocks */

enum { WIDE = 1 << 24 }; /* elements a window may span on a pipe before its length is asked for */

typedef struct run {
    const options *o;
    tally *ctx;
    const char *op;
    tally_operator_info info;
    series how;
    progress p;
} run;

int series_begin(const options *o)
{
    const char *const verb = verb_table[o->verb].name;
    if (o->nargs < 1)
        return fail(USAGE, "which operator? `tally %s %s`; `tally ops` lists them, `tally help %s` explains", verb,
                    verb_table[o->verb].operands, verb);
    if (o->nargs > 2) return fail(USAGE, "`tally %s` takes one FILE, and '%s' is a second one", verb, o->args[2]);
    if (strchr(o->args[0], ','))
        return fail(USAGE, "`tally %s` takes one operator, and '%s' is several", verb, o->args[0]);
    if (has(o, OPT_axis) && has(o, OPT_segments)) return fail(USAGE, "--axis and --segments exclude each other");
    return operator_check(o->args[0], strlen(o->args[0]));
}

static int open_stream(const run *r, tally_dtype dtype, tally_stream **stream)
{
    const tally_status status = r->how.scan ? tally_stream_scan(r->ctx, r->op, dtype, r->how.scan, stream)
                                            : tally_stream_window(r->ctx, r->op, dtype, r->how.window, stream);
    return status ? fail_status(r->ctx, status) : DONE;
}

static int pump(run *r, input *in, tally_stream *stream, sink *to, char *buffer, char *out)
{
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t most = PIECE_BYTES / (int64_t)size, total = in->n >= 0 ? in->n * (int64_t)size : in->info.bytes_total;
    int64_t done = 0, made = 0;
    int code = DONE;
    for (;;) {
        int64_t got = 0;
        const char *at = buffer;
        if (in->data && !in->column_major) {
            got = in->n - done < most ? in->n - done : most;
            if (got) at = in->data + (size_t)done * size;
        } else {
            code = input_read(in, buffer, most, &got);
        }
        if (code || !got) break;
        const tally_status status = tally_stream_push(stream, at, got, out, &made);
        if (status) return fail_status(r->ctx, status);
        done += got;
        if ((code = sink_write(to, out, made))) return code;
        if (r->p.on && in->n < 0) tally_file_get_info(in->file, &in->info);
        progress_show(&r->p, in->n >= 0 ? done * (int64_t)size : in->info.bytes_read, total);
    }
    if (code) return code;
    if (in->n < 0) in->n = done;
    made = 0;
    const tally_status status = tally_stream_finish(stream, out, &made);
    return status ? fail_status(r->ctx, status) : sink_write(to, out, made);
}

/* A window that reaches beyond the data has no more to remember than the data: extents are cut to its length. For that
 * a very wide window on a pipe needs the length first. */
static int fit_window(run *r, input *in, tally_window_options *fitted)
{
    if (!r->how.window) return DONE;
    *fitted = *r->how.window;
    const int wide = fitted->before > WIDE || fitted->after > WIDE;
    const int code = wide && in->n < 0 ? input_load(in, 1) : DONE;
    if (!code && in->n >= 0) {
        if (fitted->before > in->n) fitted->before = in->n;
        if (fitted->after > in->n) fitted->after = in->n;
        r->how.window = fitted;
    }
    return code;
}

static int run_stream(run *r, input *in)
{
    const size_t size = tally_dtype_size(in->dtype), each = result_bytes(&r->info);
    const int64_t most = PIECE_BYTES / (int64_t)size;
    tally_window_options fitted;
    int code = fit_window(r, in, &fitted);
    if (code) return code;
    const int64_t length = in->n < 0 ? -1 : r->how.scan ? in->n : tally_window_length(in->n, r->how.window);
    tally_stream *stream = NULL;
    sink *to = NULL;
    char *buffer = NULL, *out = NULL;
    code = open_stream(r, in->dtype, &stream);
    if (!code) {
        const int64_t on_push = tally_stream_room(stream, most), at_end = tally_stream_room(stream, -1);
        const int64_t room = on_push > at_end ? on_push : at_end;
        buffer = malloc(PIECE_BYTES);
        out = room < INT64_MAX / 64 ? malloc((size_t)room * each + 1) : NULL;
        if (!buffer || !out)
            code = fail_memory("a piece of the data and its results", PIECE_BYTES + room / 64 * 64 * (int64_t)each);
    }
    if (!code) code = sink_open(&to, r->ctx, r->o, in, r->op, &r->info, 1, &length);
    if (!code) code = pump(r, in, stream, to, buffer, out);
    progress_end(&r->p);
    code = sink_close(to, code);
    free(buffer);
    free(out);
    tally_stream_close(stream);
    return code;
}

static int batch(const run *r, const tally_view *in, const tally_view *out)
{
    const tally_status status = r->how.scan ? tally_scan(r->ctx, r->op, in, out, r->how.scan)
                                            : tally_window(r->ctx, r->op, in, out, r->how.window);
    return status ? fail_status(r->ctx, status) : DONE;
}

static int run_whole(run *r, input *in)
{
    const size_t size = tally_dtype_size(in->dtype), each = result_bytes(&r->info);
    const int cut = has(r->o, OPT_axis) || has(r->o, OPT_segments);
    layout l = {.outer = 1, .inner = 1};
    int code = cut ? layout_open(&l, in, r->o) : input_load(in, 0);
    if (!cut) l.len = in->n;
    if (code) {
        layout_close(&l);
        return code;
    }
    const int64_t len = r->how.scan ? l.len : tally_window_length(l.len, r->how.window);
    const int64_t count = l.offsets ? in->n : l.outer * len * l.inner;
    int64_t shape[DIMS];
    memcpy(shape, in->shape, sizeof shape);
    if (has(r->o, OPT_axis))
        shape[l.axis] = len;
    else
        shape[0] = count;
    sink *to = NULL;
    char *const out = calloc((size_t)count + 1, each);
    if (!out) {
        code = fail_memory("holding all the results (--reverse, --axis and --segments do)", count * (int64_t)each);
    } else {
        tally_view from, into;
        int64_t at, step;
        for (int64_t b = 0; !code && layout_batch(&l, b, in->data, in->dtype, size, l.len, &from, &at, &step); b++) {
            layout_batch(&l, b, out, r->info.output, each, len, &into, &at, &step);
            code = batch(r, &from, &into);
        }
    }
    if (!code) code = sink_open(&to, r->ctx, r->o, in, r->op, &r->info, has(r->o, OPT_axis) ? in->ndim : 1, shape);
    if (!code) code = sink_write(to, out, count);
    code = sink_close(to, code);
    free(out);
    layout_close(&l);
    return code;
}

static int parse_init(const run *r, void *value)
{
    const char *const text = r->o->value[OPT_init];
    if (tally_parse_value(r->info.output, text, strlen(text), value) == TALLY_OK) return DONE;
    return fail(USAGE, "--init is '%s', which is not a value of %s, the output of %s", text,
                tally_dtype_name(r->info.output), r->op);
}

int series_run(const options *o, const series *how)
{
    const char *const path = o->nargs > 1 ? o->args[1] : "-";
    const double start = seconds();
    run r = {.o = o, .op = o->args[0], .how = *how};
    input in = {.file = NULL};
    uint64_t init = 0;
    tally_scan_options scan;
    int code = session_open(&r.ctx, o);
    if (!code) code = input_open(&in, r.ctx, o, path);
    if (!code) code = operator_info(r.ctx, r.op, in.dtype, &r.info);
    if (!code && has(o, OPT_shape)) code = input_reshape(&in, o->value[OPT_shape]);
    if (!code && has(o, OPT_init)) {
        scan = *how->scan;
        scan.init = &init;
        r.how.scan = &scan;
        code = parse_init(&r, &init);
    }
    progress_begin(&r.p, o, path);
    if (!code)
        code =
            has(o, OPT_reverse) || has(o, OPT_axis) || has(o, OPT_segments) ? run_whole(&r, &in) : run_stream(&r, &in);
    progress_end(&r.p);
    if (!code) {
        input_note(&in, o);
        const int64_t read = in.info.bytes_read > 0 ? in.info.bytes_read : in.n * (int64_t)tally_dtype_size(in.dtype);
        const explanation e = {verb_table[o->verb].name, r.op, &r.info, read + in.n * (int64_t)result_bytes(&r.info),
                               start, ran_since(r.ctx, NULL)};
        ran_note(o, r.ctx, in.label, &e.ran);
        explain(o, r.ctx, &in, &e);
    }
    input_close(&in);
    tally_close(r.ctx);
    return code;
}
