/* SPDX-License-Identifier: MIT
 *
 * tally_arrow.h - arrays of the Arrow C data interface as views, without a copy.
 *
 *     struct ArrowSchema schema;
 *     struct ArrowArray array;                       // filled by pyarrow, Polars, DuckDB, nanoarrow, ...
 *     tally_view view;
 *     if (tally_arrow_view(ctx, &schema, &array, &view)) fprintf(stderr, "%s\n", tally_error(ctx));
 *     tally_reduce(ctx, "mean", &view, &mean);
 *     array.release(&array), schema.release(&schema);
 *
 * The two structures are those of the specification
 * (https://arrow.apache.org/docs/format/CDataInterface.html), which asks every user to write
 * them out behind the same guard. No Arrow library is needed. */
#ifndef TALLY_ARROW_H
#define TALLY_ARROW_H

#include <tally.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    /* Array type description */
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    /* Release callback */
    void (*release)(struct ArrowSchema *);
    /* Opaque producer-specific data */
    void *private_data;
};

struct ArrowArray {
    /* Array data description */
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    /* Release callback */
    void (*release)(struct ArrowArray *);
    /* Opaque producer-specific data */
    void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

/* Makes *view one sequence of the array's elements, and the view's validity bitmap from the
 * array's nulls (no bitmap if there are no nulls). Formats: c C s S i I l L e f g, which are
 * integers of 8 to 64 bits and floats of 16, 32 and 64 bits. Other formats are TALLY_UNSUPPORTED;
 * of a struct take a child. Nothing is copied, kept or released: the view is valid until the
 * array is released. What the producer of the array promises, such as the sizes of the buffers,
 * is not checked. ctx may be NULL. */
TALLY_API tally_status tally_arrow_view(tally *ctx, const struct ArrowSchema *schema,
                                        const struct ArrowArray *array, tally_view *view);

#ifdef __cplusplus
}
#endif
#endif
