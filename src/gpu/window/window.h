/* SPDX-License-Identifier: MIT
 * Windows on a GPU: what the files of this folder share. The kernels are in gpu/kernel/window/.
 *
 *   window.c    chooses the kernels for a call; windows of columns
 *   tiles.c     launches of tiles, and schedules: how a tile makes its levels
 *   groups.c    windows that do not fit in a tile
 *   exact.c     windows of class X, of one sequence */
#pragma once

#include "gpu/work.h"

typedef struct {
    int64_t before, after, least;
    int valid, whole; /* whole: windows that are cut off by an edge get the empty value */
} tl_geometry;

/* A call: windows of w = before + 1 + after elements of a batch. */
typedef struct {
    tl_gpu_device *d;
    const tl_batch *b;
    const tl_results *r;
    const tl_geometry *g;
    tl_window_tuning t;
    int64_t w, state; /* state: its bytes */
} tl_window_call;

/* The level of the highest bit of w. */
static inline int tl_top_of(int64_t w) { return 63 - __builtin_clzll((unsigned long long)w); }

/* ---- tiles.c ---- */

/* The levels that a tile folds: the bits of a width. top: the highest; kept: the others, an array
 * each. arrays: in local memory: the kept ones, and those that the other levels alternate between;
 * at least one. */
typedef struct {
    int top, kept, arrays;
} tl_levels;

/* The levels of windows of w, from level `from` on (0, or at least 2). Requires w > 0. */
tl_levels tl_levels_of(int64_t w, int from);

/* The elements `shift` to shift + width - 1 of each of `count` windows. at: flat index where the
 * first window begins; what: FOLD_... (gpu/kernel/constants.h), which says how `states` is used. */
typedef struct {
    int what;
    int64_t at, shift, width, count;
    const tl_memory *states;
} tl_window_fold;

/* How a launch computes tiles (gpu/kernel/window/tile.cl): its program, the windows of a tile, the
 * levels (quads), and the bytes of local memory of a block. pitch: of a table, else 0. */
typedef struct {
    const char *shape;
    int64_t each, local_bytes, pitch;
    tl_levels levels;
} tl_schedule;

/* Number of windows of a batch, whose sequences are numbered end to end
 * (gpu/kernel/window/place.cl). */
int64_t tl_windows_of(const tl_window_call *c);

/* Elements of a window before the element whose index its result has (gpu/kernel/window/place.cl):
 * windows begin at element -tl_window_before. */
int64_t tl_window_before(const tl_window_call *c);
tl_arguments_windows tl_window_arguments(const tl_geometry *g);

/* The arguments of tiles. jobs: their number. */
tl_arguments_tiles tl_tiles_arguments(const tl_window_call *c, const tl_batch *b,
                                      const tl_schedule *s, const tl_window_fold *p, int64_t jobs,
                                      int edges);

/* Elements and results are aligned, and are not looked up one by one. */
int tl_is_aligned(const tl_window_call *c);

/* Results from number j on, of one dense sequence, before the first at a multiple of `alignment`, a
 * power of two: a small launch, as kernels store quads or lines only from there. */
int64_t tl_before_aligned(const tl_window_call *c, int64_t j, int64_t alignment);

/* Launches window_tile for a part of the windows. edges: WITH_EDGES or NO_EDGES. */
tally_status tl_launch_tiles(const tl_window_call *c, const tl_schedule *s, const tl_window_fold *p,
                             int edges);

/* Schedules. tl_quads_wide: tiles of programs of long windows, for a width, which may be a part of
 * w. tl_quads_table: of windows whose elements lie `pitch` items apart; c->w counts the items
 * between them too. */
tl_schedule tl_quads_wide(const tl_window_call *c, int64_t width);
tl_schedule tl_quads_table(const tl_window_call *c, int64_t pitch);

/* Walks of windows of their whole length in registers (gpu/kernel/window/walk.cl): results of each
 * sequence; whether walks take windows of columns; a launch for `count` windows of each sequence,
 * from index `at` on. */
int64_t tl_windows_of_each(const tl_window_call *c);
int tl_walk_down_takes(const tl_window_call *c);
tally_status tl_walk(const tl_window_call *c, int64_t at, int64_t count, int edges);

/* tl_walk for long windows of one sequence, by three walks. */
int tl_three_walks_take(const tl_window_call *c);
tally_status tl_three_walks(const tl_window_call *c, int64_t at, int64_t count);

/* The windows that tiles of quads take: none; those of their whole length; all. */
typedef enum { TL_TAKES_NONE, TL_TAKES_WHOLE, TL_TAKES_ALL } tl_taken;
tl_taken tl_quads_take(const tl_window_call *c);

/* Computes results j0 to j1 - 1 of windows of their whole length in one launch: by walks, passes or
 * quads. Requires that quads take them, or that tl_whole_windows_take: one of the others does. */
int tl_whole_windows_take(const tl_window_call *c);
tally_status tl_whole_windows(const tl_window_call *c, int64_t j0, int64_t j1, int edges);

/* Computes windows that fit in a tile. */
tally_status tl_window_tiles(const tl_window_call *c);

/* ---- exact.c ---- */

/* Windows of class X of one contiguous sequence: results j0 to j1 - 1, which are windows of their
 * whole length or empty. */
int tl_exact_takes(const tl_window_call *c);
tally_status tl_window_exact(const tl_window_call *c, int64_t j0, int64_t j1);

/* ---- groups.c ---- */

/* Rows of 2^log elements: nodes of `node_count` items, or (nodes NULL) elements of columns. across:
 * contiguous items that are the same element of different columns, in whole tiles; one sequence: 1.
 * pitch: columns of a tile whose items are loaded singly; 0: aligned quads. */
typedef struct {
    const tl_memory *nodes;
    int log;
    int64_t node_count, across, pitch;
} tl_rows;

/* Bytes of local memory of a tile of rows that folds windows of w rows. */
int64_t tl_rows_local_bytes(const tl_window_call *c, int64_t w);

/* Launches window_rows for a part of the windows, counted in rows. */
tally_status tl_launch_rows(const tl_window_call *c, const tl_rows *rows, const tl_window_fold *p,
                            int edges);

/* Windows of columns that are longer than half a tile of columns. edges: WITH_EDGES; or NO_EDGES,
 * then windows at the ends are skipped. */
int tl_long_columns_take(const tl_window_call *c);
tally_status tl_long_columns(const tl_window_call *c, int edges);

/* Windows of any length. */
tally_status tl_window_long(const tl_window_call *c);
