/* SPDX-License-Identifier: MIT
 * Windows on a GPU: what the files of this folder share. The kernels are in gpu/kernel/window/.
 *
 *   window.c   chooses the file for a call
 *   place.c    arguments of a launch of tiles
 *   tiles.c    windows that fit in a tile of local memory
 *   passes.c   the longer ones of these, for small states
 *   along.c    streaming: longer windows of small states, read once
 *   long.c     windows that do not fit in a tile
 *   exact.c    windows of class X, of one sequence
 *   columns.c  windows of columns */
#ifndef TL_GPU_WINDOW_H
#define TL_GPU_WINDOW_H
#include "gpu/work.h"

typedef struct tl_geometry {
    int64_t before, after, least;
    int valid, whole; /* whole: windows that are cut off by an edge get the empty value */
} tl_geometry;

/* The levels that a tile folds. */
typedef struct tl_levels {
    /* top: the highest set bit of w; kept: its other set bits, each of which keeps an array */
    int top, kept;
    /* arrays of a tile in local memory: the kept ones, and those that the other levels alternate
     * between */
    int arrays;
} tl_levels;

/* ---- place.c ---- */

/* Number of windows of a batch, whose sequences are numbered end to end
 * (gpu/kernel/window/place.cl). */
int64_t tl_windows_of(const tl_batch *b, const tl_geometry *g);

/* For segments: sets b->first to what the tiles of a launch need to know of borders; the caller
 * frees it. at: flat index where the first window begins. */
tally_status tl_tile_firsts(const tl_launch *l, tl_batch *b, int64_t at, int64_t each,
                            int64_t jobs);
tl_arguments_windows_part tl_window_arguments(const tl_geometry *g);
tl_arguments_levels_part tl_levels_arguments(int top, int kept);

/* Arguments of a launch of `count` windows, `each` per tile. */
tl_arguments_tiles_part tl_tiles_arguments(int64_t count, int64_t each, int edges);

/* The same for windows of their whole length. */
tl_arguments_whole_part tl_whole_arguments(const tl_batch *b, const tl_results *r,
                                           const tl_geometry *g, tl_arguments_tiles_part tiles,
                                           tl_levels levels);

/* ---- tiles.c ---- */

/* log2 of the elements of a tile of windows of their whole length. */
int tl_whole_log(const tl_gpu_device *d, const tl_batch *b, tl_tiles tiles);

/* The levels of windows of w, from level `from` on (0, or at least 2). */
tl_levels tl_levels_of(int64_t w, int from);

/* tl_whole_levels: the levels in tiles of neighbouring items (gpu/kernel/window/whole.cl).
 * tl_whole_room: bytes of local memory of such a tile. tl_array_bytes: bytes of an array. */
tl_levels tl_whole_levels(const tl_gpu_device *d, const tl_batch *b, int64_t w, tl_tiles tiles);
int64_t tl_whole_room(const tl_gpu_device *d, const tl_batch *b, tl_levels levels, tl_tiles tiles);
int64_t tl_array_bytes(const tl_gpu_device *d, const tl_batch *b, tl_tiles tiles);

/* The windows that window_whole takes: none; those of their whole length; all. */
typedef enum tl_taken { TL_TAKES_NONE, TL_TAKES_WHOLE, TL_TAKES_ALL } tl_taken;
tl_taken tl_whole_takes(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g);

/* Computes windows that fit in a tile. */
tally_status tl_window_tiles(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g);

/* ---- passes.c ---- */

/* The elements `shift` to shift + width - 1 of each of `count` windows. at: flat index where the
 * first window begins; what: PART_... (gpu/kernel/constants.h), which says how `states` is used. */
typedef struct tl_part {
    int what;
    int64_t at, shift, width, count;
    const tl_memory *states;
} tl_part;

/* tl_pass_takes: true if window/passes.cl takes windows of w, whole or as a part of longer ones.
 * tl_pass_each: results of a tile. tl_pass_room: bytes of its local memory. */
int tl_pass_takes(const tl_gpu_device *d, const tl_batch *b, int64_t w);
int64_t tl_pass_each(const tl_gpu_device *d, const tl_batch *b, int64_t w);
int64_t tl_pass_room(const tl_gpu_device *d, const tl_batch *b, int64_t w);

/* Launches window_part with tiles of `each` results. levels: used if it runs whole_windows. */
tally_status tl_window_part(const tl_launch *l, const tl_batch *b, const tl_results *r,
                            const tl_geometry *g, tl_part i, int64_t each, tl_levels levels,
                            int64_t room, int edges);

/* Computes all windows of a batch; they have their whole length. */
tally_status tl_window_passes(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                              const tl_geometry *g, int edges);

/* ---- along.c: streaming ---- */

/* tl_along_takes: true if gpu/kernel/window/along.cl takes these windows. tl_window_along: computes
 * results j0 to j1 - 1 of windows of their whole length. */
int tl_along_takes(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g);
tally_status tl_window_along(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g, int64_t j0, int64_t j1, int edges);

/* ---- exact.c ---- */

/* Windows of class X of one contiguous sequence. They have their whole length or are empty; w is
 * limited by local memory. */
int tl_exact_takes(const tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                   const tl_geometry *g);
tally_status tl_window_exact(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g);

/* ---- columns.c ---- */

/* Windows of columns. *done is 0 if they are not whole and a lane's part of them does not fit in
 * local memory. */
tally_status tl_window_columns(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                               const tl_geometry *g, int *done);

/* ---- long.c ---- */

/* Windows of columns that are longer than half a tile of columns. edges: EDGES_TOO; or EDGES_APART,
 * then windows at the ends are skipped. */
int tl_long_columns_takes(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_geometry *g);
tally_status tl_long_columns(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g, int edges);

/* Windows of any length. */
tally_status tl_window_long(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                            const tl_geometry *g);
#endif
