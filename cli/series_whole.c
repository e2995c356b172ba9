/* SPDX-License-Identifier: MIT
 * series_whole.c - scan and window of data in memory, whose results are kept in memory too: with
 * --reverse, --axis, --segments and --by they are not in the order of the file. */
#include "series.h"

#include <stdlib.h>
#include <string.h>

static int batch(const run *r, int i, const tally_view *in, const tally_view *out)
{
    tally_scan_options copy;
    return code_of(r->ctx,
                   r->call.scan
                       ? tally_scan(r->ctx, r->ops.name[i], in, out, series_options(r, i, &copy))
                       : tally_window(r->ctx, r->ops.name[i], in, out, r->call.window));
}

static int ranges(const run *r, int i, const tally_view *in, const int64_t *start,
                  const int64_t *end, const tally_view *out)
{
    return code_of(r->ctx, tally_window_ranges(r->ctx, r->ops.name[i], in, start, end, in->n, out,
                                               r->call.window->min_count));
}

/* Sequence number `row` of a view whose elements, or results of several values, have `bytes`. */
static tally_view row_of(const tally_view *view, int64_t row, size_t bytes)
{
    tally_view v = *view;
    v.rows = 1;
    v.data = (char *)v.data + row * v.row_stride * (int64_t)bytes;
    v.valid_offset += row * v.row_stride;
    return v;
}

/* Computes windows that have bounds of their own. Copies some sequences at a time to dense memory,
 * because adjacent elements may belong to different sequences. With validity or a second input,
 * sequences are read in place. */
static int batch_ranges(const run *r, int i, const tally_view *in, const tally_view *out)
{
    enum { AT_ONCE = 16 };
    const size_t size = tally_dtype_size(in->dtype), each = result_bytes(&r->ops.info[i]);
    const int64_t n = in->n;
    int code = DONE;
    for (int64_t row = 0; (in->next || in->valid) && row < in->rows && !code; row++) {
        tally_view one = row_of(in, row, size), next;
        const tally_view to = row_of(out, row, each);
        if (in->next) {
            next = row_of(in->next, row, tally_dtype_size(in->next->dtype));
            one.next = &next;
        }
        code = ranges(r, i, &one, r->start, r->end, &to);
    }
    if (code || in->next || in->valid) return code;
    static const char what[] = "the windows of some sequences";
    char *const from = memory_for(&code, what, AT_ONCE * n, size);
    char *const results = memory_for(&code, what, AT_ONCE * n, each);
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

/* The number of results whose sequences have `len` of them. */
static int64_t results_of(const input *in, const layout *l, int64_t len)
{
    return l->offsets ? in->n : l->outer * len * l->inner;
}

/* Computes all results of operator i. */
static int whole(const run *r, const input *in, const layout *l, int i, int64_t len, char **out)
{
    const tally_operator_info *const info = &r->ops.info[i];
    const batched elements = layout_elements(l, in);
    const size_t each = result_bytes(info);
    tally_view from, into, next;
    int64_t at, step;
    int code = DONE;
    *out = memory_for(&code, "holding all the results (--reverse, --axis and --segments do)",
                      results_of(in, l, len), each);
    const groups *const g = r->bands.order ? &r->bands : NULL;
    const int64_t parts = !g ? 1 : g->count ? g->count : 1;
    for (int64_t b = 0; !code && layout_batch(l, b / parts, elements, &from, &at, &step); b++) {
        layout_batch(l, b / parts, (batched){*out, info->output, each, len}, &into, &at, &step);
        if (g && g->count) {
            bands_part(g, l, b % parts, elements.bytes, &from);
            bands_part(g, l, b % parts, each, &into);
        }
        second_view(&r->beside, in->data, &from, &next);
        from = second_for(&r->beside, &r->ops, i, &from);
        code = r->start ? batch_ranges(r, i, &from, &into) : batch(r, i, &from, &into);
    }
    return code || !g ? code : bands_move(g, l, *out, each, 1);
}

int series_whole(run *r, input *in)
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
        if (!code) code = bands_move(&r->bands, &l, in->owned, tally_dtype_size(in->dtype), 0);
        if (!code) code = second_bands(&r->beside, &r->bands, &l, in);
    }
    if (!code && r->call.span)
        code = coordinate_bounds(r->call.span, r->o, in, &l, &r->start, &r->end);
    const int64_t len =
        r->call.scan || r->call.span ? l.len : tally_window_length(l.len, r->call.window);
    const int64_t count = results_of(in, &l, len);
    int64_t shape[DIMS];
    memcpy(shape, in->shape, sizeof shape);
    if (array)
        shape[l.axis] = len;
    else
        shape[0] = count;
    sink *to = NULL;
    char **const out = memory_for(&code, "the results", r->ops.all, sizeof *out);
    for (int i = 0; i < r->ops.all && !code; i++) code = whole(r, in, &l, i, len, &out[i]);
    if (!code) code = input_sound(in);
    if (!code) code = second_sound(&r->beside);
    if (!code) code = series_sink(r, &to, in, array ? in->ndim : 1, shape, &l);
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
    int64_t *start, *end;  /* --last, --next: the window of each line, in the order of the groups */
    char *dense, *results; /* memory for one column, and for its results of one operator */
} grouped;

static tally_view one_sequence(const tally_view *segments, int64_t n)
{
    tally_view v = *segments;
    v.offsets = NULL;
    v.rows = 1;
    v.n = v.row_stride = n;
    return v;
}

static int group_windows(const run *r, const grouped *b, int i, const tally_view *groups_in)
{
    const int64_t n = b->g.lines;
    tally_view in = one_sequence(groups_in, n), next;
    const tally_view out = tally_flat(b->results, r->ops.info[i].output, n);
    if (in.next) {
        next = one_sequence(in.next, n);
        in.next = &next;
    }
    return ranges(r, i, &in, b->start, b->end, &out);
}

/* Computes the results of every operator for one column, and copies them to their lines. */
static int group_column(const run *r, const grouped *b, const input *in, int64_t column, char **out)
{
    const groups *const g = &b->g;
    tally_view from, next;
    second part = {.on = 0};
    int code = groups_take(g, in, column, b->dense, &from);
    if (!code && r->beside.on) code = second_group(&r->beside, g, column, &part);
    second_view(&part, b->dense, &from, &next);
    for (int i = 0; i < r->ops.all && !code; i++) {
        const tally_view into =
            tally_segments(b->results, r->ops.info[i].output, g->offsets, g->count);
        const tally_view operand = second_for(&part, &r->ops, i, &from);
        code = b->start ? group_windows(r, b, i, &operand) : batch(r, i, &operand, &into);
        if (!code) groups_back(g, b->results, result_bytes(&r->ops.info[i]), column, out[i]);
    }
    second_close(&part);
    return code;
}

int series_groups(run *r, input *in)
{
    grouped b = {.start = NULL};
    groups *const g = &b.g;
    sink *to = NULL;
    size_t most = 1;
    int code = groups_open(g, in, r->o);
    if (!code && r->call.span) code = span_bounds(r->call.span, g, in, &b.start, &b.end);
    static const char what[] = "the values of the groups";
    char **const out = memory_for(&code, "the results", r->ops.all, sizeof *out);
    for (int i = 0; i < r->ops.all && !code; i++) {
        const size_t each = result_bytes(&r->ops.info[i]);
        if (each > most) most = each;
        out[i] = memory_for(&code, "holding all the results, as --by does,", in->n, each);
    }
    b.dense = memory_for(&code, what, g->lines, tally_dtype_size(in->dtype));
    b.results = memory_for(&code, what, g->lines, most);
    for (int64_t c = 0; c < g->width && !code; c++) code = group_column(r, &b, in, c, out);
    const int64_t shape[2] = {g->lines, in->columns};
    if (!code) code = second_sound(&r->beside);
    const series_shape results = {in->columns ? 2 : 1, shape, 0};
    if (!code) code = sink_open(&to, r->o, in, &r->ops, &results);
    if (!code) code = sink_write(to, (const char *const *)out, in->n);
    code = sink_close(to, code);
    for (int i = 0; out && i < r->ops.all; i++) free(out[i]);
    free(out);
    free(b.dense);
    free(b.results);
    free(b.start);
    free(b.end);
    groups_close(g);
    return code;
}
