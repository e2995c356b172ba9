/* SPDX-License-Identifier: MIT
 * The structures inside Python capsules, as their specifications define them: DLPack 1.x, and the
 * Arrow C data and C stream interfaces. */
#ifndef TALLY_CAPSULES_H
#define TALLY_CAPSULES_H
#include <stdint.h>

/* ---- DLPack ---- */

enum { PT_DL_CPU = 1, PT_DL_CUDA = 2, PT_DL_CUDA_HOST = 3, PT_DL_CUDA_MANAGED = 13 };
enum { PT_DL_READ_ONLY = 1, PT_DL_IS_COPY = 2 };

typedef struct pt_dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits; /* code: 0 int, 1 uint, 2 float, 4 bfloat, 6 bool */
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides count elements; NULL: C order */
    uint64_t byte_offset;
} pt_dl_tensor;

typedef struct pt_dl_managed {
    pt_dl_tensor tensor;
    void *manager;
    void (*deleter)(struct pt_dl_managed *self);
} pt_dl_managed;

typedef struct pt_dl_versioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct pt_dl_versioned *self);
    uint64_t flags;
    pt_dl_tensor tensor;
} pt_dl_versioned;

/* The functions of a library's own type, in the capsule "dlpack_exchange_api" (DLPack 1.3). They
 * give a tensor without its owner, and the stream that is current. -1: an exception is set. */
typedef struct pt_dl_exchange {
    uint32_t major, minor;
    struct pt_dl_exchange *before;
    void *make, *take, *give;
    int (*view)(void *object, pt_dl_tensor *tensor);
    int (*stream)(int device_type, int32_t device, void **stream);
} pt_dl_exchange;

/* ---- Arrow ---- */

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
