/* SPDX-License-Identifier: MIT
 * Makes views of arrays of the Arrow C data interface: checks, and the dtypes of Arrow's
 * formats. */
#include "tally_arrow.h"
#include "context/context.h"
#include <string.h>

/* Formats by their first characters; if one format is the start of another, the longer one comes
 * first. dtype 0: refused, with this name. */
static const struct {
    const char *begins;
    int dtype;
    const char *name;
} formats[] = {
    {"c", TALLY_I8, 0},
    {"C", TALLY_U8, 0},
    {"s", TALLY_I16, 0},
    {"S", TALLY_U16, 0},
    {"i", TALLY_I32, 0},
    {"I", TALLY_U32, 0},
    {"l", TALLY_I64, 0},
    {"L", TALLY_U64, 0},
    {"e", TALLY_F16, 0},
    {"f", TALLY_F32, 0},
    {"g", TALLY_F64, 0},
    {"n", 0, "null"},
    {"b", 0, "boolean"},
    {"z", 0, "binary"},
    {"Z", 0, "large binary"},
    {"vz", 0, "binary view"},
    {"u", 0, "utf8"},
    {"U", 0, "large utf8"},
    {"vu", 0, "utf8 view"},
    {"d:", 0, "decimal"},
    {"w:", 0, "fixed-size binary"},
    {"tdD", 0, "date32"},
    {"tdm", 0, "date64"},
    {"tt", 0, "time"},
    {"ts", 0, "timestamp"},
    {"tD", 0, "duration"},
    {"ti", 0, "interval"},
    {"+l", 0, "list"},
    {"+L", 0, "large list"},
    {"+vl", 0, "list view"},
    {"+vL", 0, "large list view"},
    {"+w:", 0, "fixed-size list"},
    {"+s", 0, "struct"},
    {"+m", 0, "map"},
    {"+u", 0, "union"},
    {"+r", 0, "run-end encoded"},
};

static tally_status dtype_of(tally *ctx, const char *format, tally_dtype *dtype)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const size_t n = strlen(formats[i].begins);
        if (formats[i].dtype ? strcmp(format, formats[i].begins) != 0
                             : strncmp(format, formats[i].begins, n) != 0)
            continue;
        *dtype = (tally_dtype)formats[i].dtype;
        if (*dtype) return TALLY_OK;
        return tl_unsupported(
            ctx, "schema->format is '%.40s' (%s): must be a number: one of c C s S i I l L e f g",
            format, formats[i].name);
    }

    return tl_unsupported(
        ctx, "schema->format is '%.40s': must be a number: one of c C s S i I l L e f g", format);
}

tally_status tally_arrow_view(tally *ctx, const struct ArrowSchema *schema,
                              const struct ArrowArray *array, tally_view *view)
{
    tally_dtype dtype;
    if (!schema || !array || !view)
        return tl_invalid(ctx, "%s is NULL", !schema ? "schema" : !array ? "array" : "view");

    if (!schema->release || !array->release)
        return tl_invalid(ctx, "%s was released", schema->release ? "array" : "schema");
    if (!schema->format) return tl_invalid(ctx, "schema->format is NULL");

    if (schema->dictionary || array->dictionary)
        return tl_unsupported(
            ctx, "schema->dictionary is there: the values are indices of a dictionary");
    const tally_status s = dtype_of(ctx, schema->format, &dtype);
    if (s) return s;

    const int64_t size = (int64_t)tally_dtype_size(dtype);
    int64_t end;

    if (array->length < 0 || array->offset < 0 ||
        __builtin_add_overflow(array->length, array->offset, &end) ||
        __builtin_mul_overflow(end, size, &end))
        return tl_invalid(ctx,
                          "array->length is %ld and offset %ld: must be at least 0, and together "
                          "below 2^63 bytes",
                          array->length, array->offset);

    if (array->n_buffers != 2)
        return tl_invalid(ctx, "array->n_buffers is %ld: an array of %s has 2, validity and values",
                          array->n_buffers, tally_dtype_name(dtype));

    if (array->null_count < -1 || array->null_count > array->length)
        return tl_invalid(ctx, "array->null_count is %ld: must be -1..%ld, its length",
                          array->null_count, array->length);

    if (!array->buffers || (!array->buffers[1] && array->length))
        return tl_invalid(ctx, "array->buffers%s is NULL, and the array has %ld elements",
                          array->buffers ? "[1]" : "", array->length);

    if (array->null_count > 0 && !array->buffers[0])
        return tl_invalid(ctx, "array->buffers[0] is NULL, and the array has %ld nulls",
                          array->null_count);

    const char *const values = array->buffers[1];
    *view = tally_flat(values ? values + array->offset * size : NULL, dtype, array->length);

    if (array->null_count != 0 && array->buffers[0]) {
        view->valid = array->buffers[0];
        view->valid_offset = array->offset;
    }
    return TALLY_OK;
}
