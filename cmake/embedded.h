/* SPDX-License-Identifier: MIT
 * The CUDA kernels that kernels.c embeds: of each pair of an operator and a type these shapes, and
 * in the set called `common` (TALLY_CUDA_KERNELS=common) every operator here with every type.
 * doc/gpu.md has the size of a pair. */
#ifndef EMBEDDED_H
#define EMBEDDED_H
#include "gpu/gpu.h"
#include "gpu/kernel/constants.h"
#include <stdlib.h>
#include <string.h>

#define CUDA_PRELUDE "gpu/cuda/prelude_cuda.h"

static const char *const common_operators[] = {"sum", "mean", "min", "max"};
static const tally_dtype common_dtypes[] = {TALLY_I32, TALLY_I64, TALLY_F32, TALLY_F64};
static const char *const embedded_shapes[] = {
    "reduce",        "reduce_segments", "scan",
    "scan_segments", "scan_wave",       "window",
    "window_flat",   "window_small",    "window_cut",
    "window_long",   "window_passes",   "window_table",
    "window_walk2",  "window_walk3",    "window_walk4",
    "window_walk5",  "window_walk6",    "window_walk7",
    "window_walk8",  "window_walk9",    "window_walk10",
    "window_walk11", "window_walk12",   "window_walk13",
    "window_walk14", "window_level5",   "window_last5",
    "window_level7", "window_last7",    "window_level8",
    "window_last8",  "window_level9",   "window_last9",
    "window_nodes5", "window_nodes6",   "window_nodes7",
    "window_nodes8", "window_nodes9",   "window_nodes10",
    "window_far",    "window_slide",    "grid",
};
enum {
    COMMON_OPERATORS = sizeof common_operators / sizeof *common_operators,
    COMMON_DTYPES = sizeof common_dtypes / sizeof *common_dtypes,
    EMBEDDED_SHAPES = sizeof embedded_shapes / sizeof *embedded_shapes
};

/* True if the operator has kernels of this shape. */
static inline int has_shape(const tl_scalar *op, const char *shape)
{
    if (!strcmp(shape, "window_passes"))
        return tl_gpu_window_tuning(op, CUDA_PRELUDE).radix_log > 0;
    if (shape[strcspn(shape, "0123456789")]) { /* walks, by their highest level */
        const tl_window_tuning t = tl_gpu_window_tuning(op, CUDA_PRELUDE);
        const int top = atoi(shape + strcspn(shape, "0123456789"));
        if (shape[7] == 'l') return !op->exact && (top == t.part_log || top == t.part_most);
        return top < 5 ? t.walk_top > 0
                       : !op->exact && top <= (shape[7] == 'n' ? t.nodes_top : t.walk_top);
    }
    if (!strcmp(shape, "window_slide")) return op->exact && op->inverse;
    if (!strcmp(shape, "window_far")) return op->exact;
    if (!strcmp(shape, "window_small"))
        return tl_gpu_window_tuning(op, CUDA_PRELUDE).quads_log > SMALL_QUADS_LOG;
    if (!strcmp(shape, "scan_wave")) return tl_gpu_scan_tile(op, 1).blocks != 0;
    return op->inputs == 1 || strcmp(shape, "grid");
}

#endif
