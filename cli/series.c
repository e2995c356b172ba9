/* SPDX-License-Identifier: MIT
 * series.c - the common part of scan and window: reads elements and writes results in pieces, or
 * loads the whole array if necessary.
 *
 * A forward scan or a window of one sequence, or of the columns of a table, runs in bounded
 * memory. --reverse, --axis and --segments load the data and keep the results in memory, because
 * their results are not in the order of the file. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* A piece and its results fit the cache. It is a power of two, so that pieces are whole blocks. */
enum { PIECE_BYTES = 4 << 20 };

enum { WIDE = 1 << 24 }; /* a wider window on a pipe needs the length of the data first */

typedef struct run {
    const options *o;
    tally *ctx;
    operators ops;
    series how;
    tally_window_options fitted; /* how.window, limited to the length of the data */
    second beside;
    int64_t *start, *end; /* --by of a coordinate: the window of each step along the axis */
    groups bands;         /* --by with --axis: the groups of the steps */
    uint64_t *init;       /* --init as a value of each operator's output */
    progress p;
} run;

/* Whether streams refuse these windows: negative offsets, or a step. */
static int needs_all(const series *how)
{
    return how->window &&
           (how->window->before < 0 || how->window->after < 0 || how->window->step > 1);
}

int series_begin(const options *o)
{
    const char *const verb = verb_table[o->verb].name;
    if (o->nargs < 1)
        return fail(
            USAGE,
            "which operator? `tally %s %s`; `tally ops` lists them, `tally help %s` explains", verb,
            verb_table[o->verb].operands, verb);
    if (o->nargs > 2 && !axis_named(o))
        return fail(USAGE, "`tally %s` takes one FILE, and '%s' is a second one", verb, o->args[2]);
    if (has(o, OPT_axis) && has(o, OPT_segments))
        return fail(USAGE, "--axis and --segments exclude each other");
    if (groups_check(o) || empty_check(o)) return USAGE;
    if (has(o, OPT_keep) && has(o, OPT_json))
        return fail(USAGE, "--keep and --json exclude each other");
    if (has(o, OPT_keep) && has(o, OPT_step))
        return fail(USAGE, "--keep and --step exclude each other");
    if (has(o, OPT_keep) && has(o, OPT_reverse))
        return fail(USAGE, "--keep and --reverse exclude each other");
    return DONE;
}

/* The scan's options for operator i. */
static const tally_scan_options *scan_options(const run *r, int i, tally_scan_options *own)
{
    if (!r->init) return r->how.scan;
    *own = *r->how.scan;
    own->init = &r->init[i];
    return own;
}

/* ---- in pieces: one stream per column and operator; without a table there is one column ---- */

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
        tally_scan_options own;
        const int op = (int)(i % ops);
        const char *const name = r->ops.name[op];
        const tally_status status =
            r->how.scan
                ? tally_stream_scan(r->ctx, name, f->in->dtype, scan_options(r, op, &own),
                                    &f->streams[i])
                : tally_stream_window(r->ctx, name, f->in->dtype, r->how.window, &f->streams[i]);
        if (status) return fail_status(r->ctx, status);
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
            if (status) return fail_status(r->ctx, status);
            const size_t each = result_bytes(&r->ops.info[i]);
            for (int64_t j = 0; k > 1 && j < result_count; j++)
                memcpy(f->out[i] + (size_t)(j * k + c) * each, out + (size_t)j * each, each);
        }
    }
    if (guard_hit(f->in->guard)) return input_sound(f->in); /* the file became shorter */
    return sink_write(f->to, (const char *const *)f->out, result_count * k);
}

static int pump(run *r, flow *f)
{
    input *const in = f->in;
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t total = in->n >= 0 ? in->n * (int64_t)size : in->info.bytes_total,
                  most = f->most * f->columns;
    int64_t done = 0;
    for (;;) {
        int64_t got = 0;
        int code = DONE;
        const char *at = f->buffer;
        if (in->data && !in->column_major) {
            got = in->n - done < most ? in->n - done : most;
            if (got) at = in->data + (size_t)done * size;
        } else {
            code = input_read(in, f->buffer, most, &got);
        }
        if (!code && got) code = flow_push(r, f, at, got / f->columns);
        if (code) return code;
        if (!got) break;
        done += got;
        if (r->p.on && in->n < 0) tally_file_get_info(in->file, &in->info);
        progress_show(&r->p, in->n >= 0 ? done * (int64_t)size : in->info.bytes_read, total);
    }
    if (in->n < 0) in->n = done;
    const int code = flow_push(r, f, NULL, 0);
    return code ? code : input_sound(in);
}

/* The lines of a table before the first result: with edges valid, the lines before the first full
 * window. */
static int64_t lines_before(const run *r)
{
    return r->how.window && r->how.window->edges == TALLY_EDGES_VALID && r->how.window->before > 0
               ? r->how.window->before
               : 0;
}

/* Limits the extents of a window to the length of the data, because a stream stores as many
 * elements as the window has. For a very wide window on a pipe this loads the data, to know its
 * length. */
static int fit_window(run *r, input *in, int64_t columns)
{
    if (!r->how.window) return DONE;
    tally_window_options *const fitted = &r->fitted;
    *fitted = *r->how.window;
    const int wide = fitted->before > WIDE / columns || fitted->after > WIDE / columns;
    const int code = wide && in->n < 0 ? input_load(in, 1) : DONE;
    if (!code && in->n >= 0) {
        if (fitted->before > in->n / columns) fitted->before = in->n / columns;
        if (fitted->after > in->n / columns) fitted->after = in->n / columns;
        r->how.window = fitted;
    }
    return code;
}

static int run_stream(run *r, input *in, int64_t columns)
{
    flow f = {.in = in, .columns = columns ? columns : 1};
    int code = fit_window(r, in, f.columns);
    if (code) return code;
    const int64_t rows = in->n / f.columns;
    const int64_t shape[2] = {in->n < 0     ? -1
                              : r->how.scan ? rows
                                            : tally_window_length(rows, r->how.window),
                              columns};
    code = flow_open(r, &f);
    if (!code)
        code = sink_open(&f.to, r->ctx, r->o, in, &r->ops, columns ? 2 : 1, shape, lines_before(r));
    if (!code) code = pump(r, &f);
    progress_end(&r->p);
    code = sink_close(f.to, code);
    flow_close(r, &f);
    return code;
}

/* ---- the whole array ---- */

static int batch(const run *r, int i, const tally_view *in, const tally_view *out)
{
    tally_scan_options own;
    const tally_status status =
        r->how.scan ? tally_scan(r->ctx, r->ops.name[i], in, out, scan_options(r, i, &own))
                    : tally_window(r->ctx, r->ops.name[i], in, out, r->how.window);
    return status ? fail_status(r->ctx, status) : DONE;
}

static int ranges(const run *r, int i, const tally_view *in, const int64_t *start,
                  const int64_t *end, const tally_view *out)
{
    const tally_status status = tally_window_ranges(r->ctx, r->ops.name[i], in, start, end, in->n,
                                                    out, r->how.window->min_count);
    return status ? fail_status(r->ctx, status) : DONE;
}

/* Sequence number `row` of a view. */
static tally_view row_of(const tally_view *view, int64_t row)
{
    tally_view v = *view;
    v.rows = 1;
    v.data = (char *)v.data + row * v.row_stride * (int64_t)tally_dtype_size(v.dtype);
    v.valid_offset += row * v.row_stride;
    return v;
}

/* The same if each window has its own bounds. Copies some sequences at a time to dense memory,
 * because adjacent elements may belong to different sequences. With validity or a second input,
 * sequences are read in place. */
static int batch_ranges(const run *r, int i, const tally_view *in, const tally_view *out)
{
    enum { AT_ONCE = 16 };
    const size_t size = tally_dtype_size(in->dtype), each = result_bytes(&r->ops.info[i]);
    const int64_t n = in->n;
    int code = DONE;
    for (int64_t row = 0; (in->next || in->valid) && row < in->rows && !code; row++) {
        tally_view one = row_of(in, row), next;
        const tally_view to = row_of(out, row);
        if (in->next) {
            next = row_of(in->next, row);
            one.next = &next;
        }
        code = ranges(r, i, &one, r->start, r->end, &to);
    }
    if (code || in->next || in->valid) return code;
    char *const from = malloc(AT_ONCE * (size_t)n * size + 1), *const results = malloc(
                                                                   AT_ONCE * (size_t)n * each + 1);
    if (!from || !results)
        code = fail_memory("the windows of some sequences", AT_ONCE * n * (int64_t)(size + each));
    for (int64_t row = 0; row < in->rows && !code; row += AT_ONCE) {
        const int64_t now = in->rows - row < AT_ONCE ? in->rows - row : AT_ONCE;
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < now; j++)
                memcpy(from + (size_t)(j * n + k) * size,
                       (char *)in->data +
                           ((row + j) * in->row_stride + k * in->stride) * (int64_t)size,
                       size);
        for (int64_t j = 0; j < now && !code; j++) {
            const tally_view one = tally_flat(from + (size_t)(j * n) * size, in->dtype, n),
                             to = tally_flat(results + (size_t)(j * n) * each, out->dtype, n);
            code = ranges(r, i, &one, r->start, r->end, &to);
        }
        for (int64_t k = 0; k < n && !code; k++)
            for (int64_t j = 0; j < now; j++)
                memcpy((char *)out->data +
                           ((row + j) * out->row_stride + k * out->stride) * (int64_t)each,
                       results + (size_t)(j * n + k) * each, each);
    }
    free(from);
    free(results);
    return code;
}

/* Computes all results of operator i, `count` of them. */
static int whole(const run *r, const input *in, const layout *l, int i, int64_t len, int64_t count,
                 char **out)
{
    const tally_operator_info *const info = &r->ops.info[i];
    const size_t size = tally_dtype_size(in->dtype), each = result_bytes(info);
    tally_view from, into, next;
    int64_t at, step;
    int code = DONE;
    *out = calloc((size_t)count + 1, each);
    if (!*out)
        return fail_memory("holding all the results (--reverse, --axis and --segments do)",
                           count * (int64_t)each);
    const groups *const g = r->bands.order ? &r->bands : NULL;
    const int64_t parts = !g ? 1 : g->count ? g->count : 1;
    for (int64_t b = 0;
         !code && layout_batch(l, b / parts, in->data, in->dtype, size, l->len, &from, &at, &step);
         b++) {
        layout_batch(l, b / parts, *out, info->output, each, len, &into, &at, &step);
        if (g && g->count) {
            bands_part(g, l, b % parts, size, &from);
            bands_part(g, l, b % parts, each, &into);
        }
        second_view(&r->beside, in->data, &from, &next);
        from = second_for(&r->beside, &r->ops, i, &from);
        code = r->start ? batch_ranges(r, i, &from, &into) : batch(r, i, &from, &into);
    }
    return code || !g ? code : bands_move(g, l, *out, each, 1);
}

static int run_whole(run *r, input *in)
{
    const int cut = has(r->o, OPT_axis) || has(r->o, OPT_segments) || in->columns;
    const int array = has(r->o, OPT_axis) || in->columns;
    layout l = {.outer = 1, .inner = 1};
    int code = cut ? layout_open(&l, in, r->o, 0) : input_load(in, 0);
    if (!cut) l.len = in->n;
    if (code) {
        layout_close(&l);
        return code;
    }
    if (by_steps(r->o)) {
        code = bands_open(&r->bands, NULL, r->o, in, &l);
        if (!code) code = bands_move(&r->bands, &l, in->own, tally_dtype_size(in->dtype), 0);
        if (!code) code = second_bands(&r->beside, &r->bands, &l, in->n);
    }
    if (!code && r->how.span)
        code = coordinate_bounds(r->how.span, r->o, in, &l, &r->start, &r->end);
    const int64_t len =
        r->how.scan || r->how.span ? l.len : tally_window_length(l.len, r->how.window);
    const int64_t count = l.offsets ? in->n : l.outer * len * l.inner;
    int64_t shape[DIMS];
    memcpy(shape, in->shape, sizeof shape);
    if (array)
        shape[l.axis] = len;
    else
        shape[0] = count;
    sink *to = NULL;
    char **const out = calloc((size_t)r->ops.all, sizeof *out);
    if (!out) code = fail_memory("the results", r->ops.all * (int64_t)sizeof *out);
    for (int i = 0; i < r->ops.all && !code; i++) code = whole(r, in, &l, i, len, count, &out[i]);
    if (!code) code = input_sound(in);
    if (!code) code = second_sound(&r->beside);
    if (!code)
        code = sink_open(&to, r->ctx, r->o, in, &r->ops, array ? in->ndim : 1, shape,
                         l.axis == 0 ? lines_before(r) : 0);
    if (!code) code = sink_write(to, (const char *const *)out, count);
    code = sink_close(to, code);
    for (int i = 0; out && i < r->ops.all; i++) free(out[i]);
    free(out);
    layout_close(&l);
    return code;
}

/* ---- --by: each group is a segment ---- */

/* What --by needs besides the input. */
typedef struct grouped {
    groups g;
    int64_t *start, *end; /* --last, --next: the window of each line, in the order of the groups */
} grouped;

static tally_view one_sequence(const tally_view *segments, int64_t n)
{
    tally_view v = *segments;
    v.offsets = NULL;
    v.rows = 1;
    v.n = v.row_stride = n;
    return v;
}

static int group_windows(const run *r, const grouped *b, int i, const tally_view *groups_in,
                         void *results)
{
    const int64_t n = b->g.lines;
    tally_view in = one_sequence(groups_in, n), next;
    const tally_view out = tally_flat(results, r->ops.info[i].output, n);
    if (in.next) {
        next = one_sequence(in.next, n);
        in.next = &next;
    }
    return ranges(r, i, &in, b->start, b->end, &out);
}

/* Computes the results of every operator for one column, and scatters them to the places of their
 * lines. */
static int group_column(const run *r, const grouped *b, const input *in, int64_t column,
                        char *dense, char *results, char **out)
{
    const groups *const g = &b->g;
    tally_view from, next;
    second part = {.on = 0};
    int code = groups_take(g, in, column, dense, &from);
    if (!code && r->beside.on) code = second_group(&r->beside, g, column, &part);
    second_view(&part, dense, &from, &next);
    for (int i = 0; i < r->ops.all && !code; i++) {
        const tally_view into =
            tally_segments(results, r->ops.info[i].output, g->offsets, g->count);
        const tally_view own = second_for(&part, &r->ops, i, &from);
        code = b->start ? group_windows(r, b, i, &own, results) : batch(r, i, &own, &into);
        if (!code) groups_back(g, results, result_bytes(&r->ops.info[i]), column, out[i]);
    }
    second_close(&part);
    return code;
}

static int run_groups(run *r, input *in)
{
    grouped b = {.start = NULL};
    groups *const g = &b.g;
    sink *to = NULL;
    size_t most = 1;
    int code = groups_open(g, in, r->o);
    if (!code && r->how.span) code = span_bounds(r->how.span, g, in, &b.start, &b.end);
    char **const out = calloc((size_t)r->ops.all, sizeof *out);
    if (!out) code = fail_memory("the results", r->ops.all * (int64_t)sizeof *out);
    for (int i = 0; i < r->ops.all && !code; i++) {
        const size_t each = result_bytes(&r->ops.info[i]);
        if (each > most) most = each;
        if (!(out[i] = malloc((size_t)in->n * each + 1)))
            code = fail_memory("holding all the results, as --by does,", in->n * (int64_t)each);
    }
    char *const dense = code ? NULL : malloc((size_t)g->lines * tally_dtype_size(in->dtype) + 1),
                *const results = code ? NULL : malloc((size_t)g->lines * most + 1);
    if (!code && (!dense || !results))
        code = fail_memory("the values of the groups", g->lines * (int64_t)(8 + most));
    for (int64_t c = 0; c < g->width && !code; c++)
        code = group_column(r, &b, in, c, dense, results, out);
    const int64_t shape[2] = {g->lines, in->columns};
    if (!code) code = second_sound(&r->beside);
    if (!code) code = sink_open(&to, r->ctx, r->o, in, &r->ops, in->columns ? 2 : 1, shape, 0);
    if (!code) code = sink_write(to, (const char *const *)out, in->n);
    code = sink_close(to, code);
    for (int i = 0; out && i < r->ops.all; i++) free(out[i]);
    free(out);
    free(dense);
    free(results);
    free(b.start);
    free(b.end);
    groups_close(g);
    return code;
}

static int parse_init(run *r)
{
    const char *const text = r->o->value[OPT_init];
    r->init = calloc((size_t)r->ops.count, sizeof *r->init);
    if (!r->init) return fail_memory("--init", r->ops.count * (int64_t)sizeof *r->init);
    for (int i = 0; i < r->ops.count; i++)
        if (!parse_literal(r->ops.info[i].output, text, &r->init[i]))
            return fail(USAGE, "--init is '%s', which is not a value of %s, the output of %s", text,
                        tally_dtype_name(r->ops.info[i].output), r->ops.name[i]);
    return DONE;
}

int series_run(const options *o, const series *how)
{
    const char *const path = o->nargs > 1 ? o->args[1] : "-";
    const double start = seconds();
    run r = {.o = o, .how = *how};
    input in = {.file = NULL};
    int64_t columns = 0;
    int code = operators_split(&r.ops, o->args[0]);
    for (int i = 0; i < r.ops.count && !code; i++)
        if (r.ops.share[i])
            code = fail(USAGE, "operator '%s' is for `tally reduce`", r.ops.shown[i]);
    if (!code) code = netcdf_check(o, r.ops.count);
    if (!code) code = empty_operators(&r.ops, o);
    if (!code) code = session_open(&r.ctx, o);
    if (!code && o->nargs > 2) code = join_order(r.ctx, o, o->args + 1);
    if (!code)
        code = input_open(&in, r.ctx, o, o->nargs > 1 ? o->args[1] : "-",
                          o->nargs > 2 ? o->args + 2 : NULL);
    if (!code && has(o, OPT_by) && has(o, OPT_axis) && !in.info.dimensions)
        code = fail(USAGE, "--by and --axis exclude each other");
    if (!code && has(o, OPT_shape)) code = input_reshape(&in, o->value[OPT_shape]);
    if (!code) code = minus_apply(&in, o);
    if (!code) code = second_open(&r.beside, &in, o, &r.ops);
    if (!code && has(o, OPT_init)) code = parse_init(&r);
    const int by = has(o, OPT_by) && !has(o, OPT_axis);
    if (!code && !by) code = layout_columns(&in, o, &columns);
    progress_begin(&r.p, o, path);
    if (!code && by)
        code = run_groups(&r, &in);
    else if (!code && r.beside.on)
        code = run_whole(&r, &in);
    int taken = 0;
    const slabs all = {r.ctx, o, &r.ops, how, r.init, lines_before(&r), &r.p};
    if (!code && !by && !r.beside.on) code = slabs_run(&all, &in, &taken);
    if (!code && !by && !r.beside.on && !taken)
        code = has(o, OPT_reverse) || has(o, OPT_axis) || has(o, OPT_segments) || in.columns ||
                       needs_all(how)
                   ? columns && !needs_all(how) ? run_stream(&r, &in, columns) : run_whole(&r, &in)
                   : run_stream(&r, &in, 0);
    progress_end(&r.p);
    if (!code) {
        input_note(&in, o);
        const int64_t read = in.info.bytes_read > 0 ? in.info.bytes_read
                                                    : in.n * (int64_t)tally_dtype_size(in.dtype);
        const place ran = ran_since(r.ctx, NULL);
        ran_note(o, r.ctx, in.label, &ran);
        for (int i = 0; i < r.ops.count; i++) {
            const tally_operator_info *const info = &r.ops.info[i];
            const explanation e = {verb_table[o->verb].name,
                                   r.ops.name[i],
                                   info,
                                   read + in.n * (int64_t)result_bytes(info),
                                   start,
                                   ran};
            explain(o, r.ctx, &in, &e);
        }
    }
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
