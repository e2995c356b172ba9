/* SPDX-License-Identifier: MIT
 * Makes views of arrays of the Arrow C data interface: checks, and the dtypes of Arrow's
 * formats. */
#include "tally_arrow.h"
#include "context/context.h"
#include <string.h>

/* The formats of the types of tally.h in their order, with one character each; there is no bf16. */
static const char numbers[] = "cCsSiIlLe?fg";

/* Formats that are refused, by their first characters; of two that begin alike the longer comes
 * first. */
static const struct {
    const char *begins, *name;
} formats[] = {
    {"n", "null"},
    {"b", "boolean"},
    {"z", "binary"},
    {"Z", "large binary"},
    {"vz", "binary view"},
    {"u", "utf8"},
    {"U", "large utf8"},
    {"vu", "utf8 view"},
    {"d:", "decimal"},
    {"w:", "fixed-size binary"},
    {"tdD", "date32"},
    {"tdm", "date64"},
    {"tt", "time"},
    {"ts", "timestamp"},
    {"tD", "duration"},
    {"ti", "interval"},
    {"+l", "list"},
    {"+L", "large list"},
    {"+vl", "list view"},
    {"+vL", "large list view"},
    {"+w:", "fixed-size list"},
    {"+s", "struct"},
    {"+m", "map"},
    {"+u", "union"},
    {"+r", "run-end encoded"},
};

static tally_status dtype_of(tally *ctx, const char *format, tally_dtype *dtype)
{
    const char *name = "";
    const char *const number =
        strlen(format) == 1 && *format != '?' ? strchr(numbers, *format) : NULL;
    if (number) {
        *dtype = (tally_dtype)(TALLY_I8 + (number - numbers));
        return TALLY_OK;
    }

    for (size_t i = 0; i < sizeof formats / sizeof *formats && !*name; i++)
        if (!strncmp(format, formats[i].begins, strlen(formats[i].begins))) name = formats[i].name;
    return tl_unsupported(
        ctx, "schema->format is '%.40s'%s%s%s: must be a number: one of c C s S i I l L e f g",
        format, *name ? " (" : "", name, *name ? ")" : "");
}

tally_status tally_arrow_view(tally *ctx, const struct ArrowSchema *schema,
                              const struct ArrowArray *array, tally_view *view)
{
    tally_dtype dtype = 0;
    if (!schema || !array || !view)
        return tl_invalid(ctx, "%s is NULL", !schema ? "schema" : !array ? "array" : "view");

    if (!schema->release || !array->release)
        return tl_invalid(ctx, "%s was released", schema->release ? "array" : "schema");
    if (!schema->format) return tl_invalid(ctx, "schema->format is NULL");

    if (schema->dictionary || array->dictionary)
        return tl_unsupported(
            ctx, "schema->dictionary is there: the values are indices of a dictionary");
    TL_TRY(dtype_of(ctx, schema->format, &dtype));

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
