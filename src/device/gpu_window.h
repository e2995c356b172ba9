/* SPDX-License-Identifier: MIT
 * What gpu_window.c and gpu_window_long.c share: windows as the kernels take them (shape/gpu/window.cl). */
#ifndef TL_GPU_WINDOW_H
#define TL_GPU_WINDOW_H
#include "gpu_work.h"

typedef struct {
    int64_t before, after, least;
    int valid, whole; /* whole: a window that is not whole is empty */
} tl_geometry;

/* WINDOW_PARAMETERS, after those of the results. */
void tl_put_window(tl_launch *l, const tl_results *r, const tl_geometry *g);
/* The elements of a tile of whole windows, as a power of 2. */
int tl_whole_log(const tl_gpu_device *d, const tl_batch *b);
/* The arrays of a tile that folds windows of w from level `from` on (0, or 2 and more), and the bits of w that are kept: all set ones but
 * the highest, *top. */
int tl_window_arrays(int64_t w, int from, int *top, int *kept);
/* Windows of any length, one sequence after the other. */
tally_status tl_window_long(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r, const tl_geometry *g);
#endif
