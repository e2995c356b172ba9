/* SPDX-License-Identifier: MIT
 * The structures of the Arrow C data interface and C stream interface, as their specification gives them. */
#ifndef TALLY_ARROW_H
#define TALLY_ARROW_H
#include <stdint.h>

typedef struct pt_arrow_schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct pt_arrow_schema **children, *dictionary;
    void (*release)(struct pt_arrow_schema *);
    void *private_data;
} pt_arrow_schema;

typedef struct pt_arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct pt_arrow_array **children, *dictionary;
    void (*release)(struct pt_arrow_array *);
    void *private_data;
} pt_arrow_array;

typedef struct pt_arrow_stream {
    int (*get_schema)(struct pt_arrow_stream *, pt_arrow_schema *out);
    int (*get_next)(struct pt_arrow_stream *, pt_arrow_array *out);
    const char *(*get_last_error)(struct pt_arrow_stream *);
    void (*release)(struct pt_arrow_stream *);
    void *private_data;
} pt_arrow_stream;
#endif
