/* SPDX-License-Identifier: MIT
 * layout.c - --axis and --segments: an array as batches of sequences, each batch one tally_view.
 *
 * An array is outer x len x inner in C order. The sequences run along len, one for each (outer,
 * inner). A view has one row stride, so it contains either all inner of one outer (the columns of
 * a matrix) or all outer of one inner (the rows, if inner is 1). The larger of the two is in the
 * view; the smaller is the number of batches. A column-major array of 2 dimensions is treated as
 * C order with its axes swapped. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { STREAMED = 4096 }; /* most columns with a stream each; a table with more is loaded */

int axis_named(const options *o)
{
    int64_t number;
    return has(o, OPT_axis) && !several_axes(o) && count_parse(o->value[OPT_axis], &number) != 0;
}

static int no_dimension(const input *in, const char *name)
{
    const char *names[DIMS + 1] = {NULL};
    char what[80];
    for (int d = 0; d < in->ndim && in->info.dimensions; d++) names[d] = in->info.dimensions[d];
    if (!names[0])
        return usage("--axis is '%s', and the dimensions of %s have no names: give a number, 0 for "
                     "the first",
                     name, in->label);
    snprintf(what, sizeof what, "dimension of %.60s", in->label);
    return fail_choice(USAGE, what, name, names);
}

int dimension_named(const input *in, const char *name)
{
    for (int d = 0; d < in->ndim && in->info.dimensions; d++)
        if (in->info.dimensions[d] && !strcmp(in->info.dimensions[d], name)) return d;
    return -1;
}

/* Finds one axis of --axis, a name or a number. */
static int one_axis(const input *in, const char *text, int *axis)
{
    int64_t given;
    if (count_parse(text, &given)) {
        *axis = dimension_named(in, text);
        return *axis < 0 ? no_dimension(in, text) : DONE;
    }
    if (!in->ndim)
        return usage("--axis is %lld, and %s is one number, without axes", (long long)given,
                     in->label);
    if (given < -in->ndim || given >= in->ndim)
        return usage(
            "--axis is %lld, and %s has %d dimension%s: must be %d..%d%s", (long long)given,
            in->label, in->ndim, in->ndim == 1 ? "" : "s", -in->ndim, in->ndim - 1,
            in->ndim == 1 && strcmp(in->info.format, "npy") ? " (--shape RxC makes an array)" : "");
    *axis = (int)(given < 0 ? given + in->ndim : given);
    return DONE;
}

int several_axes(const options *o) { return has(o, OPT_axis) && strchr(o->value[OPT_axis], ','); }

int layout_axes(const input *in, const options *o, unsigned *axes)
{
    *axes = !has(o, OPT_axis); /* by default down the columns */
    if (several_axes(o) && (o->verb != VERB_reduce || has(o, OPT_by)))
        return usage("--axis is '%s': several axes are for reduce without --by",
                     o->value[OPT_axis]);
    for (const char *at = o->value[OPT_axis]; at;) {
        char text[300];
        const size_t length = strcspn(at, ",");
        int axis = 0;
        snprintf(text, sizeof text, "%.*s", (int)(length < 299 ? length : 299), at);
        const int code = one_axis(in, text, &axis);
        if (code) return code;
        if (*axes >> axis & 1)
            return usage("--axis is '%s': dimension %d is there twice", o->value[OPT_axis], axis);
        *axes |= 1u << axis;
        at = at[length] ? at + length + 1 : NULL;
    }
    return DONE;
}

static int axis_option(const input *in, const options *o, layout *l)
{
    const int code = layout_axes(in, o, &l->axes);
    while (!code && !(l->axes >> l->axis & 1)) l->axis++;
    return code;
}

int layout_columns(const input *in, const options *o, int64_t *columns)
{
    layout l = {.axis = 0};
    *columns = 0;
    if (!in->columns) return DONE;
    if (has(o, OPT_segments))
        return usage("--segments cuts one sequence, and %s is read as a table of %lld column%s",
                     in->label, (long long)in->columns, in->columns == 1 ? "" : "s");
    const int code = axis_option(in, o, &l);
    if (!code && l.axes == 1 && !has(o, OPT_reverse) && in->columns <= STREAMED)
        *columns = in->columns;
    return code;
}

void layout_gather(const char *data, int64_t count, int64_t columns, int64_t c, size_t size,
                   char *out)
{
    const char *at = data + (size_t)c * size;
    for (int64_t i = 0; i < count; i++, at += (size_t)columns * size, out += size)
        memcpy(out, at, size);
}

int layout_turned(const input *in, unsigned axes, const char *data, size_t size, char **turned)
{
    strided a = {.data = data, .size = size};
    int code = DONE;
    *turned = memory_for(&code, "--axis of dimensions that are apart", in->n, size);
    if (code) return code;
    large_pages(*turned, (size_t)in->n * size);
    for (unsigned last = 0; last < 2; last++)
        for (int d = 0; d < in->ndim; d++) {
            if ((axes >> d & 1) != last) continue;
            a.shape[a.ndim] = in->shape[d];
            a.step[a.ndim] = 1;
            for (int k = d + 1; k < in->ndim; k++) a.step[a.ndim] *= in->shape[k];
            a.ndim++;
        }
    strided_copy(&a, 0, in->n, *turned);
    return DONE;
}

/* Puts the dimensions of `axes` last, in memory, so that every sequence is a row. */
static int turn(input *in, unsigned axes)
{
    char *turned;
    const int code = layout_turned(in, axes, in->data, tally_dtype_size(in->dtype), &turned);
    if (code) return code;
    free(in->owned);
    in->data = in->owned = turned;
    return DONE;
}

int layout_is_one_run(unsigned axes)
{
    const unsigned low = axes & -axes;
    return !(axes & (axes + low));
}

static int open_axis(layout *l, input *in, const options *o, int boxes)
{
    int code = axis_option(in, o, l);
    if (code) return code;
    /* rows in order can be reduced while they are read; else all of the array is needed */
    const int rows = layout_is_one_run(l->axes) && l->axes >> (in->ndim - 1) & 1;
    const int in_order = o->verb == VERB_reduce && rows && !in->column_major && in->n >= 0;
    code = in_order || boxes
               ? DONE
               : input_load(in, o->verb == VERB_reduce && in->ndim == 2 && !several_axes(o));
    if (!code && !layout_is_one_run(l->axes)) code = input_sound(in);
    if (!code && !layout_is_one_run(l->axes)) code = turn(in, l->axes);
    if (code) return code;
    l->outer = l->len = l->inner = 1;
    const int swap = in->column_major;
    /* If an array has elements, its extents have a product. Without elements, as in 2^62 x 0 x
     * 2^62, it need not. */
    int64_t results = 16; /* bytes: the largest result has two values of 8 bytes */
    int none = in->n == 0 && (o->verb == VERB_scan || o->verb == VERB_window); /* nothing to scan */
    for (int d = 0; d < in->ndim; d++) none = none || (in->shape[d] == 0 && !(l->axes >> d & 1));
    for (int d = 0; d < in->ndim; d++)
        if (l->axes >> d & 1 && __builtin_mul_overflow(l->len, in->shape[d], &l->len)) l->len = 0;
    if (none) l->outer = l->inner = 0;
    for (int d = 0; d < in->ndim && !none; d++) {
        if (l->axes >> d & 1) continue;
        if (__builtin_mul_overflow(results, in->shape[d], &results))
            return bad_data(
                "%s: the results of its empty sequences along --axis %s are more bytes than 2^63",
                in->label, o->value[OPT_axis]);
        *(d < l->axis || !layout_is_one_run(l->axes) ? &l->outer : &l->inner) *= in->shape[d];
    }
    if (swap) {
        const int64_t outer = l->outer;
        l->outer = l->inner;
        l->inner = outer;
    }
    return code;
}

int64_t whole_value(tally_dtype dtype, const void *value)
{
    uint64_t bits = 0;
    const size_t size = tally_dtype_size(dtype);
    memcpy((char *)&bits + (*(const char *)&(const int){1} ? 0 : 8 - size), value, size);
    const int shift = 64 - 8 * (int)size,
              is_signed = dtype == TALLY_I8 || dtype == TALLY_I16 || dtype == TALLY_I32;
    return is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits;
}

double real_value(tally_dtype dtype, const void *value)
{
    double x;
    float y;
    if (dtype == TALLY_F64) {
        memcpy(&x, value, sizeof x);
        return x;
    }
    memcpy(&y, value, sizeof y);
    return (double)y;
}

/* Reads offsets: whole numbers in any readable format. npy has its own integer type; other
 * formats are read as i64. */
static int read_offsets(layout *l, tally *ctx, const char *path, int64_t *count)
{
    const tally_file_options numbers = {.assume = TALLY_I64};
    options none = {.nargs = 0};
    input in;
    int code = input_open_beside(&in, ctx, &numbers, path);
    if (code) return code;
    in.most = 1 << 28;
    code = in.dtype >= TALLY_F16
               ? bad_data("--segments %s: offsets must be whole numbers, and these are %s", path,
                          tally_dtype_name(in.dtype))
               : input_load(&in, 0);
    if (!code) {
        const size_t size = tally_dtype_size(in.dtype);
        *count = in.n;
        l->offsets = memory_for(&code, "--segments", in.n, sizeof *l->offsets);
        for (int64_t i = 0; i < in.n && !code; i++)
            l->offsets[i] = whole_value(in.dtype, in.data + (size_t)i * size);
        if (!code) code = input_sound(&in);
    }
    input_note(&in, &none);
    input_close(&in);
    return code;
}

static int open_segments(layout *l, input *in, const options *o)
{
    const char *path = o->value[OPT_segments];
    int64_t count = 0;
    int code = read_offsets(l, in->ctx, path, &count);
    if (!code) code = input_load(in, 0);
    if (code) return code;
    if (!count)
        return bad_data("--segments %s: there are no offsets; one more than the segments is needed",
                        path);
    if (l->offsets[0] < 0)
        return bad_data("--segments %s: offset 0 is %lld", path, (long long)l->offsets[0]);
    for (int64_t i = 1; i < count; i++)
        if (l->offsets[i] < l->offsets[i - 1])
            return bad_data("--segments %s: offset %lld is %lld, and the one before it is %lld: "
                            "they must ascend",
                            path, (long long)i, (long long)l->offsets[i],
                            (long long)l->offsets[i - 1]);
    if (l->offsets[count - 1] > in->n)
        return bad_data("--segments %s: the last offset is %lld, and %s has %lld elements", path,
                        (long long)l->offsets[count - 1], in->label, (long long)in->n);
    if (l->offsets[0] != 0 || l->offsets[count - 1] != in->n)
        return bad_data("--segments %s: every element is in a segment, so the offsets must run "
                        "from 0 to %lld and run from %lld to %lld",
                        path, (long long)in->n, (long long)l->offsets[0],
                        (long long)l->offsets[count - 1]);
    l->segments = count - 1;
    return code;
}

int layout_open(layout *l, input *in, const options *o, int boxes)
{
    memset(l, 0, sizeof *l);
    if (has(o, OPT_segments)) return open_segments(l, in, o);
    return open_axis(l, in, o, boxes);
}

void layout_close(layout *l)
{
    free(l->offsets);
    l->offsets = NULL;
}

int64_t layout_sequences(const layout *l) { return l->offsets ? l->segments : l->outer * l->inner; }

const char *layout_per(const layout *l, const input *in)
{
    return l->offsets                                 ? "segment"
           : in->ndim != 2 || l->axes & (l->axes - 1) ? "sequence"
           : l->axis                                  ? "row"
                                                      : "column";
}

batched layout_elements(const layout *l, const input *in)
{
    return (batched){in->data, in->dtype, tally_dtype_size(in->dtype), l->len};
}

int layout_batch(const layout *l, int64_t i, batched of, tally_view *view, int64_t *out_at,
                 int64_t *out_step)
{
    *out_at = 0;
    *out_step = 1;
    if (l->offsets) {
        *view = tally_segments(of.data, of.dtype, l->offsets, l->segments);
        return i == 0;
    }
    const char *at = of.data;
    if (l->inner >= l->outer) { /* a batch is one outer */
        *view = (tally_view){NULL, of.dtype, l->inner, of.len, 1, l->inner};
        if (at) at += (size_t)(i * of.len * l->inner) * of.bytes;
        *out_at = i * l->inner;
    } else { /* a batch is one inner */
        *view = (tally_view){NULL, of.dtype, l->outer, of.len, of.len * l->inner, l->inner};
        if (at) at += (size_t)i * of.bytes;
        *out_at = i;
        *out_step = l->inner;
    }
    view->data = (void *)(uintptr_t)at;
    return i < (l->inner >= l->outer ? l->outer : l->inner);
}
