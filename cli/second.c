/* SPDX-License-Identifier: MIT
 * second.c - a second input (--with, or the second of two columns) and validity (--valid). Both are
 * indexed like the elements, in C order, so everything is in memory, and the position of a view in
 * the elements gives its part of both.
 *
 *    elements  x0 x1 x2 | x3 x4 x5        a view from x3 on: next from y3 on, valid_offset 3
 *    second    y0 y1 y2 | y3 y4 y5
 *    bits       1  0  1 |  1  1  0 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void shape_text(const input *in, char *text, size_t bytes)
{
    size_t at = 0;
    for (int d = 0; d < in->ndim && at < bytes; d++)
        at += (size_t)snprintf(text + at, bytes - at, "%s%lld", d ? "x" : "",
                               (long long)in->shape[d]);
}

/* Loads `beside`, and checks that it has as many elements as `in`, in the same shape. `line`: one
 * dimension is accepted too. */
static int load_beside(input *beside, const input *in, const options *o, enum option id, int line)
{
    const char *const name = option_table[id].name;
    enum { COUNTED = 1 << 24 }; /* the error sentence gives the number of elements up to this */
    char given[DIMS * 24], wanted[DIMS * 24];
    beside->most = in->n > COUNTED ? in->n : COUNTED;
    int code = input_load(beside, 0);
    if (code) return code;
    if (beside->n != in->n)
        return bad_data("--%s %s has %lld element%s, and %s has %lld: must be as many", name,
                        beside->label, (long long)beside->n, beside->n == 1 ? "" : "s", in->label,
                        (long long)in->n);
    if (has(o, OPT_shape) && beside->ndim == 1) code = input_reshape(beside, o->value[OPT_shape]);
    /* a table of one column counts as one dimension */
    const int flat = beside->ndim == 1 || beside->columns == 1;
    if (code || (flat && (line || in->ndim == 1 || in->columns == 1))) return code;
    if (beside->ndim == in->ndim &&
        !memcmp(beside->shape, in->shape, (size_t)in->ndim * sizeof *in->shape))
        return DONE;
    shape_text(beside, given, sizeof given);
    shape_text(in, wanted, sizeof wanted);
    return bad_data("--%s %s is an array of %s, and %s is one of %s: must be the same", name,
                    beside->label, given, in->label, wanted);
}

/* Checks the options for a second input against the operators. *two: the operators take two
 * inputs. */
static int check_inputs(const input *in, const options *o, const operators *ops, int *two)
{
    *two = ops->info[0].inputs == 2;
    for (int i = 1; i < ops->count; i++)
        if (ops->info[i].inputs != ops->info[0].inputs)
            return usage(
                "operator '%s' takes %s, and '%s' takes %s: one call has operators of one kind",
                ops->name[0], *two ? "two inputs" : "one input", ops->name[i],
                *two ? "one" : "two");
    if (has(o, OPT_with_dtype) && !has(o, OPT_with))
        return usage("--with-dtype is %s, the type of --with, which is not there",
                     o->value[OPT_with_dtype]);
    if (!*two && has(o, OPT_with))
        return usage("--with %s is a second input, and operator '%s' takes one", o->value[OPT_with],
                     ops->name[0]);
    if (!*two || has(o, OPT_with) || in->columns == 2) return DONE;
    if (in->columns)
        return usage("operator '%s' takes two inputs, and %s is read as a table of %lld column%s: "
                     "choose two",
                     ops->name[0], in->label, (long long)in->columns, in->columns == 1 ? "" : "s");
    return usage(
        "operator '%s' takes two inputs: the second is --with FILE, or the second of --column X,Y",
        ops->name[0]);
}

/* Splits a table of two columns into two inputs. */
static int split_columns(second *s, input *in)
{
    const size_t size = tally_dtype_size(in->dtype);
    const int64_t n = in->n / 2;
    int code = DONE;
    char *const y = s->owned = memory_for(&code, "two columns", n, size), *const x = memory_for(
                                                                              &code, "two columns",
                                                                              n, size);
    if (code) return code;
    layout_gather(in->data, n, 2, 0, size, x);
    layout_gather(in->data, n, 2, 1, size, y);
    free(in->owned);
    in->data = in->owned = x;
    in->n = in->shape[0] = n;
    in->ndim = 1;
    in->columns = 0;
    s->data = y;
    s->type = in->dtype;
    return DONE;
}

const char *cut_variable(char *path)
{
    char *const colon = strrchr(path, ':');
    if (!colon || !access(path, F_OK)) return NULL;
    *colon = 0;
    if (!access(path, F_OK)) return colon + 1;
    *colon = ':';
    return NULL;
}

static int open_with(second *s, input *in, const options *o)
{
    tally_file_options f = {.table = in->columns > 0};
    int taken = 0, code = DONE;
    char *const path = s->path = text_for(&code, "--with", o->value[OPT_with]);
    if (!code) code = dtype_option(o, OPT_dtype, &f.assume);
    if (!code) code = dtype_option(o, OPT_with_dtype, &f.dtype);
    if (!code) f.variable = cut_variable(path);
    if (!code && !is_cosine(path)) code = input_open_beside(&s->with, in->ctx, &f, path);
    if (!code) code = weights_open(s, in, o, &taken);
    if (!code && !taken) code = input_load(in, 0);
    if (code || taken) return code;
    code = load_beside(&s->with, in, o, OPT_with, 0);
    s->data = s->with.data;
    s->type = s->with.dtype;
    return code;
}

/* Finds the pairs that a nan form does not leave out, by tally_reduce_valid of each pair as a
 * sequence. */
static int find_both(second *s, const input *in, const operators *ops)
{
    int i = 0;
    while (i < ops->count && !is_nan_form(ops->name[i])) i++;
    if (!ops->index_of || i == ops->count) return DONE;
    int code = DONE;
    s->both = memory_for(&code, "the pairs that count", in->n / 8, 1);
    if (code) return code;
    tally_view pairs = tally_rows(in->data, in->dtype, in->n, 1), next;
    second_view(s, in->data, &pairs, &next);
    return code_of(in->ctx, tally_reduce_valid(in->ctx, ops->name[i], &pairs, s->both, 0));
}

/* Reads --valid: whole numbers, raw ones of one byte each, others with the file's type or i64. */
static int open_valid(second *s, const input *in, const options *o)
{
    const char *const path = o->value[OPT_valid];
    const int once = !strcmp(path, "-") || is_device(path); /* read once */
    tally_file_options f = {.assume = once ? TALLY_I64 : TALLY_U8, .table = in->columns > 0};
    input valid;
    int code = input_open_beside(&valid, in->ctx, &f, path);
    if (!code && f.assume == TALLY_U8 && strcmp(valid.info.format, "raw")) {
        input_close(&valid);
        f.assume = TALLY_I64;
        code = input_open_beside(&valid, in->ctx, &f, path);
    }
    if (!code && valid.dtype >= TALLY_F16)
        code = bad_data(
            "--valid %s: must be whole numbers, 0 where an element is left out, and these are %s",
            valid.label, tally_dtype_name(valid.dtype));
    if (!code) code = load_beside(&valid, in, o, OPT_valid, 1);
    s->bits = memory_for(&code, "--valid", in->n / 8, 1);
    const size_t size = tally_dtype_size(valid.dtype);
    for (int64_t i = 0; i < in->n && !code; i++) {
        uint64_t number = 0;
        memcpy(&number, valid.data + (size_t)i * size, size);
        if (number) set_bit(s->bits, i);
    }
    if (!code) code = input_sound(&valid);
    input_close(&valid);
    return code;
}

int second_open(second *s, input *in, const options *o, operators *ops)
{
    int two;
    memset(s, 0, sizeof *s);
    s->dtype = in->dtype;
    int code = operators_precision(ops, in->ctx, o, in->dtype);
    if (!code) code = operators_info(ops, in->ctx, in->dtype);
    if (!code) code = check_inputs(in, o, ops, &two);
    if (!code) code = stdin_once(o);
    if (code || (!two && !has(o, OPT_valid))) return code;
    s->on = 1;
    s->size = tally_dtype_size(in->dtype);
    if (two && has(o, OPT_with))
        code = open_with(s, in, o);
    else
        code = input_load(in, 0);
    if (!code && two && !has(o, OPT_with)) code = split_columns(s, in);
    if (!code && has(o, OPT_valid)) code = open_valid(s, in, o);
    if (code || !two) return code;
    s->dtype = tally_common_dtype(in->dtype, s->type);
    code = operators_info(ops, in->ctx, s->dtype);
    return code ? code : find_both(s, in, ops);
}

void second_view(const second *s, const char *elements, tally_view *view, tally_view *next)
{
    if (!s->on) return;
    const int64_t at = view->data ? ((const char *)view->data - elements) / (int64_t)s->size : 0;
    if (s->bits) {
        view->valid = s->bits;
        view->valid_offset = at;
    }
    if (!s->data) return;
    *next = *view;
    next->valid = NULL;
    next->valid_offset = 0;
    next->next = NULL;
    next->dtype = s->type;
    next->data =
        (char *)(uintptr_t)s->data + (s->repeats ? 0 : at * (int64_t)tally_dtype_size(s->type));
    if (s->repeats) next->row_stride = 0;
    view->next = next;
}

tally_view second_for(const second *s, const operators *ops, int i, const tally_view *view)
{
    tally_view adapted = *view;
    if (i < ops->count || !s->on || !s->data) return adapted;
    if (is_nan_form(ops->name[i])) {
        adapted.valid = s->both;
        adapted.valid_offset = adapted.data ? ((const char *)adapted.next->data - s->data) /
                                                  (int64_t)tally_dtype_size(s->type)
                                            : 0;
    }
    adapted.next = NULL;
    return adapted;
}

/* Gathers the bits of a column, group after group. */
static int group_bits(const unsigned char *bits, const groups *g, int64_t column,
                      unsigned char **part)
{
    int code = DONE;
    *part = bits ? memory_for(&code, "--valid", g->lines / 8, 1) : NULL;
    for (int64_t i = 0; i < g->lines && *part; i++) {
        if (bit_at(bits, g->order[i] * g->width + column)) set_bit(*part, i);
    }
    return code;
}

int second_group(const second *s, const groups *g, int64_t column, second *part)
{
    *part = *s;
    memset(&part->with, 0, sizeof part->with);
    part->owned = part->path = NULL;
    part->bits = part->both = NULL;
    const size_t size = s->data ? tally_dtype_size(s->type) : 0;
    int code = DONE;
    if (s->data)
        part->data = part->owned = memory_for(&code, "the values of the groups", g->lines, size);
    for (int64_t i = 0; i < g->lines && part->owned; i++)
        memcpy(part->owned + (size_t)i * size,
               s->data + (size_t)(g->order[i] * g->width + column) * size, size);
    if (!code) code = group_bits(s->bits, g, column, &part->bits);
    return code ? code : group_bits(s->both, g, column, &part->both);
}

/* What second_bands does with n elements of an array, in new memory. */
static int move(const groups *g, const layout *l, const input *in, batched of, char **moved)
{
    if (!g) return layout_turned(in, l->axes, of.data, of.bytes, moved);
    int code = DONE;
    *moved = memory_for(&code, "--with", in->n, of.bytes);
    if (code) return code;
    memcpy(*moved, of.data, (size_t)in->n * of.bytes);
    return bands_move(g, l, *moved, of.bytes, 0);
}

static int move_bits(unsigned char *bits, const groups *g, const layout *l, const input *in)
{
    const int64_t n = in->n;
    char *moved = NULL;
    int code = DONE;
    if (!bits) return DONE;
    char *const bytes = memory_for(&code, "--valid", n, 1);
    for (int64_t i = 0; i < n && !code; i++) bytes[i] = (char)bit_at(bits, i);
    if (!code) code = move(g, l, in, (batched){.data = bytes, .bytes = 1}, &moved);
    if (!code) memset(bits, 0, (size_t)n / 8 + 1);
    for (int64_t i = 0; i < n && !code; i++)
        if (moved[i]) set_bit(bits, i);
    free(bytes);
    free(moved);
    return code;
}

int second_bands(second *s, const groups *g, const layout *l, const input *in)
{
    int code = DONE;
    if (s->data) {
        char *moved = NULL;
        code =
            move(g, l, in, (batched){.data = s->data, .bytes = tally_dtype_size(s->type)}, &moved);
        free(s->owned);
        s->data = s->owned = moved;
    }
    if (!code) code = move_bits(s->bits, g, l, in);
    return code ? code : move_bits(s->both, g, l, in);
}

int second_sound(second *s) { return s->with.file ? input_sound(&s->with) : DONE; }

void second_close(second *s)
{
    if (s->with.file) input_close(&s->with);
    free(s->path);
    free(s->owned);
    free(s->bits);
    free(s->both);
    s->owned = s->path = NULL;
    s->bits = s->both = NULL;
}
