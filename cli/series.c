/* SPDX-License-Identifier: MIT
 * series.c - the common part of scan and window: reads elements and writes results in pieces, or
 * loads the whole array if necessary.
 *
 * A forward scan or a window of one sequence, or of the columns of a table, runs in bounded
 * memory. --reverse, --axis and --segments load the data and keep the results in memory, because
 * their results are not in the order of the file. */
#include "series.h"

#include <stdlib.h>
#include <string.h>

/* A piece and its results fit the cache. It is a power of two, so that pieces are whole blocks. */
enum { PIECE_BYTES = 4 << 20 };

enum { WIDE = 1 << 24 }; /* a wider window on a pipe needs the length of the data first */

/* Whether streams refuse these windows: negative offsets, or a step. */
static int needs_all(const series *call)
{
    return call->window &&
           (call->window->before < 0 || call->window->after < 0 || call->window->step > 1);
}

int series_begin(const options *o)
{
    const char *const verb = verb_table[o->verb].name;
    if (o->nargs < 1)
        return usage(
            "which operator? `tally %s %s`; `tally ops` lists them, `tally help %s` explains", verb,
            verb_table[o->verb].operands, verb);
    if (o->nargs > 2 && !axis_named(o))
        return usage("`tally %s` takes one FILE, and '%s' is a second one", verb, o->args[2]);
    const int refused = options_exclude(o) || groups_check(o) || empty_check(o) ||
                        ending_check(o) || overlap_check(o);
    return refused ? USAGE : DONE;
}

const tally_scan_options *series_options(const run *r, int i, tally_scan_options *copy)
{
    if (!r->init) return r->call.scan;
    *copy = *r->call.scan;
    copy->init = &r->init[i];
    return copy;
}

/* ---- in pieces: one stream per column and operator; without a table there is one column ---- */

/* The open streams of a file, and the memory of a piece. */
typedef struct flow {
    input *in;
    sink *to;
    int64_t columns, most;  /* most: rows in a piece */
    tally_stream **streams; /* columns x operators */
    char *buffer, *column;  /* a piece; if there are several columns, one column of it */
    /* the results of one column; the results of each operator, row by row */
    char *column_results, **out;
} flow;

static int flow_open(run *r, flow *f)
{
    const size_t size = tally_dtype_size(f->in->dtype);
    const int ops = r->ops.all;
    f->most = PIECE_BYTES / (int64_t)size / f->columns;
    f->streams = calloc((size_t)(f->columns * ops), sizeof(tally_stream *));
    f->out = calloc((size_t)ops, sizeof(char *));
    f->buffer = malloc(PIECE_BYTES);
    if (f->columns > 1) f->column = malloc(PIECE_BYTES);
    int good = f->streams && f->out && f->buffer && (f->columns == 1 || f->column);
    size_t each = 1;
    int64_t capacity = 0;
    for (int64_t i = 0; good && i < f->columns * ops; i++) {
        tally_scan_options copy;
        const int op = (int)(i % ops);
        const char *const name = r->ops.name[op];
        const tally_status status =
            r->call.scan
                ? tally_stream_scan(r->ctx, name, f->in->dtype, series_options(r, op, &copy),
                                    &f->streams[i])
                : tally_stream_window(r->ctx, name, f->in->dtype, r->call.window, &f->streams[i]);
        if (status) return code_of(r->ctx, status);
        const int64_t on_push = tally_stream_room(f->streams[i], f->most),
                      at_end = tally_stream_room(f->streams[i], -1);
        if (i == 0) capacity = on_push > at_end ? on_push : at_end;
        const size_t bytes = result_bytes(&r->ops.info[op]);
        if (bytes > each) each = bytes;
        good = capacity >= 0 && capacity < INT64_MAX / 1024 / f->columns;
        if (good && i < ops)
            good = (f->out[i] = malloc((size_t)(capacity * f->columns) * bytes + 1)) != NULL;
    }
    if (good && f->columns > 1)
        good = (f->column_results = malloc((size_t)capacity * each + 1)) != NULL;
    return good ? DONE
                : fail_memory("a piece of the data and its results",
                              PIECE_BYTES + capacity / 64 * 64 * f->columns * (int64_t)each * ops);
}

static void flow_close(run *r, flow *f)
{
    for (int64_t i = 0; f->streams && i < f->columns * r->ops.all; i++)
        tally_stream_close(f->streams[i]);
    for (int i = 0; f->out && i < r->ops.all; i++) free(f->out[i]);
    free(f->streams);
    free(f->out);
    free(f->column_results);
    free(f->column);
    free(f->buffer);
}

/* Pushes the next `rows` rows at `at` through every stream, and writes the results to the sink.
 * at NULL: the end of the data. */
static int flow_push(run *r, flow *f, const char *at, int64_t rows)
{
    const size_t size = tally_dtype_size(f->in->dtype);
    const int64_t k = f->columns;
    int64_t result_count = 0;
    for (int64_t c = 0; c < k; c++) {
        if (k > 1 && at) layout_gather(at, rows, k, c, size, f->column);
        for (int i = 0; i < r->ops.all; i++) {
            tally_stream *const stream = f->streams[c * r->ops.all + i];
            char *const out = k > 1 ? f->column_results : f->out[i];
            const tally_status status =
                at ? tally_stream_push(stream, k > 1 ? f->column : at, rows, out, &result_count)
                   : tally_stream_finish(stream, out, &result_count);
            if (status) return code_of(r->ctx, status);
            const size_t each = result_bytes(&r->ops.info[i]);
            for (int64_t j = 0; k > 1 && j < result_count; j++)
                memcpy(f->out[i] + (size_t)(j * k + c) * each, out + (size_t)j * each, each);
        }
    }
    if (guard_hit(f->in->guard)) return input_sound(f->in); /* the file became shorter */
    return sink_write(f->to, (const char *const *)f->out, result_count * k);
}

/* Reads, pushes and writes until the input ends. */
static int pump(run *r, flow *f)
{
    input *const in = f->in;
    int64_t done = 0;
    for (;;) {
        int64_t got = 0;
        const char *at;
        int code = input_piece(in, f->buffer, f->most * f->columns, &at, &got);
        if (!code && got) code = flow_push(r, f, at, got / f->columns);
        if (code) return code;
        if (!got) break;
        done += got;
        progress_show(&r->p, in, done);
    }
    if (in->n < 0) in->n = done;
    const int code = flow_push(r, f, NULL, 0);
    return code ? code : input_sound(in);
}

int64_t series_lines_before(const run *r)
{
    return r->call.window && r->call.window->edges == TALLY_EDGES_VALID &&
                   r->call.window->before > 0
               ? r->call.window->before
               : 0;
}

int series_sink(const run *r, sink **to, input *in, int ndim, const int64_t *shape, const layout *l)
{
    const tally_window_options *const w = r->call.window;
    const int64_t before = series_lines_before(r);
    const series_shape results = {ndim, shape, l->axis ? 0 : before};
    const int code = sink_open(to, r->o, in, &r->ops, &results);
    return code ? code : sink_axis(*to, r->o, l, before, w && w->step > 1 ? w->step : 1);
}

void series_fit_window(tally_window_options *w, int64_t n)
{
    if (w->before <= n && w->after <= n) return;
    if (w->before > n) w->before = n < -w->after ? -w->after : n;
    if (w->after > n) w->after = n < -w->before ? -w->before : n;
    const int64_t elements = w->before + w->after + 1; /* more than a window has in the data */
    if (w->min_count > elements) w->min_count = elements;
}

/* Fits the window to the data. For a very wide window on a pipe this loads the data, to know its
 * length. */
static int fit_window(run *r, input *in, int64_t columns)
{
    if (!r->call.window) return DONE;
    tally_window_options *const fitted = &r->fitted;
    *fitted = *r->call.window;
    const int wide = fitted->before > WIDE / columns || fitted->after > WIDE / columns;
    const int code = wide && in->n < 0 ? input_load(in, 1) : DONE;
    if (!code && in->n >= 0) {
        series_fit_window(fitted, in->n / columns);
        r->call.window = fitted;
    }
    return code;
}

static int run_stream(run *r, input *in, int64_t columns)
{
    flow f = {.in = in, .columns = columns ? columns : 1};
    int code = fit_window(r, in, f.columns);
    if (code) return code;
    const int64_t rows = in->n / f.columns;
    const int64_t shape[2] = {in->n < 0      ? -1
                              : r->call.scan ? rows
                                             : tally_window_length(rows, r->call.window),
                              columns};
    code = flow_open(r, &f);
    if (!code)
        code = series_sink(r, &f.to, in, columns ? 2 : 1, shape, &(layout){.axis = 0, .len = rows});
    if (!code) code = pump(r, &f);
    progress_end(&r->p);
    code = sink_close(f.to, code);
    flow_close(r, &f);
    return code;
}

static int parse_init(run *r)
{
    const char *const text = r->o->value[OPT_init];
    int code = DONE;
    r->init = memory_for(&code, "--init", r->ops.count, sizeof *r->init);
    for (int i = 0; i < r->ops.count && !code; i++)
        if (!parse_literal(r->ops.info[i].output, text, &r->init[i]))
            code = usage("--init is '%s', which is not a value of %s, the output of %s", text,
                         tally_dtype_name(r->ops.info[i].output), r->ops.name[i]);
    return code;
}

/* Opens everything that is read. */
static int open_inputs(run *r, input *in)
{
    const options *const o = r->o;
    int code = operators_split(&r->ops, o->args[0]);
    for (int i = 0; i < r->ops.count && !code; i++)
        if (r->ops.share[i]) code = usage("operator '%s' is for `tally reduce`", r->ops.shown[i]);
    if (!code) code = netcdf_check(o, r->ops.count);
    if (!code) code = empty_operators(&r->ops, o);
    if (!code) code = session_open(&r->ctx, o);
    if (!code && o->nargs > 2) code = join_order(r->ctx, o, o->args + 1);
    if (!code)
        code = input_open(in, r->ctx, o, o->nargs > 1 ? o->args[1] : "-",
                          o->nargs > 2 ? o->args + 2 : NULL);
    if (!code && has(o, OPT_by) && has(o, OPT_axis) && !in->info.dimensions)
        code = usage("--by and --axis exclude each other");
    if (!code && has(o, OPT_shape)) code = input_reshape(in, o->value[OPT_shape]);
    if (!code) code = minus_apply(in, o);
    if (!code) code = second_open(&r->beside, in, o, &r->ops);
    if (!code && has(o, OPT_init)) code = parse_init(r);
    return code;
}

/* Computes the results: in slabs or in pieces where the order of the results allows it. */
static int compute(run *r, input *in)
{
    const options *const o = r->o;
    int64_t columns = 0;
    if (has(o, OPT_by) && !has(o, OPT_axis)) return series_groups(r, in);
    int code = layout_columns(in, o, &columns), taken = 0;
    if (code) return code;
    if (r->beside.on) return series_whole(r, in);
    code = slabs_run(r, in, &taken);
    if (code || taken) return code;
    if (needs_all(&r->call)) return series_whole(r, in);
    if (columns) return run_stream(r, in, columns);
    const int cut = has(o, OPT_reverse) || has(o, OPT_axis) || has(o, OPT_segments) || in->columns;
    return cut ? series_whole(r, in) : run_stream(r, in, 0);
}

/* Says what was skipped, where the results were computed, and with --explain how. */
static void describe(const run *r, input *in, double start)
{
    const int64_t read = in->info.bytes_read > 0 ? in->info.bytes_read
                                                 : in->n * (int64_t)tally_dtype_size(in->dtype);
    const where_ran ran = ran_since(r->ctx, NULL);
    input_note(in, r->o);
    ran_note(r->o, r->ctx, in->label, &ran);
    for (int i = 0; i < r->ops.count; i++) {
        const tally_operator_info *const info = &r->ops.info[i];
        const explanation e = {verb_table[r->o->verb].name,
                               r->ops.name[i],
                               info,
                               read + in->n * (int64_t)result_bytes(info),
                               start,
                               ran};
        explain(r->o, r->ctx, in, &e);
    }
}

int series_run(const options *o, const series *call)
{
    const double start = seconds();
    run r = {.o = o, .call = *call};
    input in = {.file = NULL};
    int code = open_inputs(&r, &in);
    progress_begin(&r.p, o, o->nargs > 1 ? o->args[1] : "-");
    if (!code) code = compute(&r, &in);
    progress_end(&r.p);
    if (!code) describe(&r, &in, start);
    second_close(&r.beside);
    input_close(&in);
    tally_close(r.ctx);
    operators_free(&r.ops);
    free(r.init);
    free(r.start);
    free(r.end);
    groups_close(&r.bands);
    return code;
}
