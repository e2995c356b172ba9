/* SPDX-License-Identifier: MIT
 * The structures of DLPack 1.x, as its specification gives them. */
#ifndef TALLY_DLPACK_H
#define TALLY_DLPACK_H
#include <stdint.h>

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
    int64_t *shape, *strides; /* strides in elements, or NULL: C order */
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
#endif
