/* SPDX-License-Identifier: MIT
 * Windows as the kernels take them (gpu/kernel/window/), for the files here:
 *
 *   window.c   which windows go where
 *   place.c    what a launch of tiles needs to know
 *   tiles.c    those that a tile of local memory holds
 *   passes.c   the longer ones of these, of small states
 *   along.c    longer ones of small states, in one trip through memory
 *   long.c     those that no tile holds
 *   exact.c    those of class X, of one sequence
 *   columns.c  those of columns */
#ifndef TL_GPU_WINDOW_H
#define TL_GPU_WINDOW_H
#include "gpu/work.h"

typedef struct tl_geometry {
    int64_t before, after, least;
    int valid, whole; /* whole: a window that is not whole is empty */
} tl_geometry;

/* Levels of windows that a tile folds. */
typedef struct tl_levels {
    int top, kept; /* the highest bit of w; the others that are set: each keeps an array */
    /* of a tile's states in local memory: the kept ones, and those that levels change between */
    int arrays;
} tl_levels;

/* ---- place.c ---- */

/* All windows of a batch, numbered end to end (gpu/kernel/window/place.cl). */
int64_t tl_windows_of(const tl_batch *b, const tl_geometry *g);
/* Of segments: b->first becomes what the tiles of a launch need of borders; the caller gives it
 * back. at: the flat number of the launch's first window. */
tally_status tl_tile_firsts(const tl_launch *l, tl_batch *b, int64_t at, int64_t each,
                            int64_t jobs);
tl_arguments_windows_part tl_window_arguments(const tl_geometry *g);
tl_arguments_levels_part tl_levels_arguments(int top, int kept);
/* A launch of `count` windows, `each` per tile. */
tl_arguments_tiles_part tl_tiles_arguments(int64_t count, int64_t each, int edges);
/* ... of whole windows. */
tl_arguments_whole_part tl_whole_arguments(const tl_batch *b, const tl_results *r,
                                           const tl_geometry *g, tl_arguments_tiles_part tiles,
                                           tl_levels levels);

/* ---- tiles.c ---- */

/* The elements of a tile of whole windows, as a power of 2. */
int tl_whole_log(const tl_gpu_device *d, const tl_batch *b, tl_tiles tiles);
/* Of windows of w, from `from` on (0, or 2 and more). */
tl_levels tl_levels_of(int64_t w, int from);
/* ... in tiles of neighbouring items (gpu/kernel/window/whole.cl), and the bytes of local memory
 * of such a tile; bytes of an array. */
tl_levels tl_whole_levels(const tl_gpu_device *d, const tl_batch *b, int64_t w, tl_tiles tiles);
int64_t tl_whole_room(const tl_gpu_device *d, const tl_batch *b, tl_levels levels, tl_tiles tiles);
int64_t tl_array_bytes(const tl_gpu_device *d, const tl_batch *b, tl_tiles tiles);

/* Which of these windows window_whole takes. */
typedef enum tl_taken { TL_TAKES_NONE, TL_TAKES_WHOLE, TL_TAKES_ALL } tl_taken;
tl_taken tl_whole_takes(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g);
/* Windows that a tile holds. */
tally_status tl_window_tiles(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g);

/* ---- passes.c ---- */

/* `width` elements of each of `count` windows, from element `shift` of them on. at: flat number
 * of the element that the first window begins at; what: PART_... (gpu/kernel/constants.h), with
 * `states`. */
typedef struct tl_part {
    int what;
    int64_t at, shift, width, count;
    const tl_memory *states;
} tl_part;
/* Do tiles of window/passes.cl take windows of w, as a part of longer ones or whole? Of those,
 * results of a tile; bytes of its local memory. */
int tl_pass_takes(const tl_gpu_device *d, const tl_batch *b, int64_t w);
int64_t tl_pass_each(const tl_gpu_device *d, const tl_batch *b, int64_t w);
int64_t tl_pass_room(const tl_gpu_device *d, const tl_batch *b, int64_t w);
/* A launch of window_part, with tiles of `each` results; levels: if whole_windows is what it
   runs. */
tally_status tl_window_part(const tl_launch *l, const tl_batch *b, const tl_results *r,
                            const tl_geometry *g, tl_part i, int64_t each, tl_levels levels,
                            int64_t room, int edges);
/* All whole windows of a batch. */
tally_status tl_window_passes(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                              const tl_geometry *g, int edges);

/* ---- along.c ---- */

/* Results j0 .. j1 - 1 of windows of their whole length (gpu/kernel/window/along.cl); do these
   go so? */
int tl_along_takes(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g);
tally_status tl_window_along(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g, int64_t j0, int64_t j1, int edges);

/* ---- exact.c ---- */

/* Windows of class X of one sequence that lies side by side, and is whole or empty; any w that
   local memory holds. */
int tl_exact_takes(const tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                   const tl_geometry *g);
tally_status tl_window_exact(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g);

/* ---- columns.c ---- */

/* Windows of sequences that lie across, if they are whole or a lane's part of them fits into
 * local memory; *done says so. */
tally_status tl_window_columns(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                               const tl_geometry *g, int *done);

/* ---- long.c ---- */

/* Windows of columns that are longer than a tall tile holds; edges: EDGES_TOO, EDGES_APART
 * (those at the ends are left out). */
int tl_long_columns_takes(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_geometry *g);
tally_status tl_long_columns(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g, int edges);
/* Windows of any length. */
tally_status tl_window_long(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                            const tl_geometry *g);
#endif
