/* SPDX-License-Identifier: MIT
 * Reduce and scan on a GPU: chooses the kernels of gpu/kernel/ and launches them in order. */
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILES_PER_PROCESSOR = 3, /* min tiles per multiprocessor to double the tile size */
    /* log2 of the largest such tile, relative to the smallest (256 KiB); 1 less for elements of 8
     * bytes */
    TILE_LOG_MOST = 3
};

/* ---- the status table of single-launch kernels (kernel/board.cl) ---- */

/* at most 1/16 of the memory limit; at least 1024 words */
enum { BOARD_SHARE = 16, BOARD_LEAST = 1024 };

/* Limit in bytes. Calls that need more (millions of rows) use several launches. */
static const int64_t BOARD_MOST = 64 << 20;

static int64_t board_most(const tl_gpu_device *d)
{
    const int64_t share = (int64_t)(d->limit / BOARD_SHARE),
                  most = d->limit && share < BOARD_MOST ? share : BOARD_MOST;
    return (most - ONCE_HEADER) / ONCE_WORD;
}

/* Ensures that the status table has at least `needed` words and that none of them has the new
 * epoch. The table grows to a power of two, so that it seldom grows. */
static tally_status reserve_board(tl_gpu_device *d, tally *ctx, int64_t needed)
{
    d->board.epoch++;
    if (d->board.words >= needed) return TALLY_OK;
    int64_t words = BOARD_LEAST;
    while (words < needed) words *= 2;
    if (words > board_most(d)) words = needed;
    const size_t bytes = ONCE_HEADER + (size_t)words * ONCE_WORD;
    tl_gpu_give(d, &d->board.memory);
    d->board.words = d->board.taken = 0;
    void *zeros = calloc(1, bytes);
    tally_status status = zeros ? tl_gpu_take(d, ctx, bytes, &d->board.memory)
                                : tl_no_memory(ctx, bytes, "the board");
    if (!status) status = d->gpu->calls->write(d->gpu, ctx, &d->board.memory, 0, zeros, bytes);
    if (!status) status = d->gpu->calls->wait(d->gpu, ctx);
    free(zeros);
    if (!status)
        d->board.words = words;
    else
        tl_gpu_give(d, &d->board.memory);
    return status;
}

/* ---- nodes ---- */

/* log2 of the columns that share a warp, for columns.cl: the least power of two that takes all,
 * from 2 to LANES. */
static int columns_log(const tl_batch *b)
{
    int log = 1;
    while (1 << log < LANES && 1 << log < b->rows) log++;
    return log;
}

static int64_t column_groups(const tl_batch *b) { return ((b->rows - 1) >> columns_log(b)) + 1; }

/* Computes the nodes of all levels of the long sequences, one launch per level. */
static tally_status make_nodes(const tl_launch *l, const tl_batch *b, tl_memory *nodes)
{
    int64_t all = 1;
    for (int k = 1; k <= b->levels; k++) all += b->counts[k];
    tally_status status =
        tl_gpu_take(l->d, l->ctx, (size_t)all * (size_t)tl_gpu_state_bytes(b->plan->op), nodes);
    if (status) return status;
    const tl_arguments_batch_part batch = tl_batch_arguments(b, TL_LONG_SEQUENCES);
    const tl_memory_argument to = tl_memory_of(nodes);
    const int across = tl_batch_columns(b);
    assert(b->levels > 0 && b->levels <= TL_GPU_LEVELS);
    if (across) {
        const int64_t jobs = column_groups(b) * tl_level_count(b->n, 1);
        status = TL_GO(l, columns, jobs, .batch = batch, .to = to, .log = tl_i64(columns_log(b)),
                       .jobs = tl_i64(jobs));
    }
    for (int k = across ? 2 : 1; !status && k <= b->levels; k++)
        status = TL_GO(l, nodes, b->counts[k], .batch = batch, .nodes = to, .level = tl_i64(k),
                       .jobs = tl_i64(b->counts[k]));
    return status;
}

/* ---- reduce ---- */

/* Returns the number of tiles of the kernel once. A tile has 2^*more chunks for each of its
 * warps. */
static int64_t plan_reduce(const tl_gpu_device *d, const tl_batch *b, int *more)
{
    const int log = ELEMENTS_LOG + TILE_WARPS_LOG; /* log2 of the elements of the smallest tile */
    const int64_t worth = (int64_t)TILES_PER_PROCESSOR * d->gpu->calls->processors(d->gpu);
    const int usual = b->plan->op->elem_bytes > 4 ? TILE_LOG_MOST - 1 : TILE_LOG_MOST;
    *more = 0;
    while (*more < usual && b->n >> (log + *more + 1) >= worth) ++*more;
    while (*more < TILE_MORE && b->n >> (log + *more) >= TILES_MOST) ++*more;
    return b->n >> (log + *more);
}

/* Words of the status table: a state for each tile. */
static int64_t board_words(const tl_batch *b, int64_t tiles)
{
    return (tiles ? tiles : 1) * ((tl_gpu_state_bytes(b->plan->op) + 7) / 8);
}

/* True if the kernel once reduces the batch: one sequence, on an API that has the kernel. */
static int reduces_once(const tl_gpu_device *d, const tl_batch *b, const tally_view *in)
{
    int more;
    if (!d->gpu->calls->once || in->rows != 1 || b->listed || !b->longs) return 0;
    const int64_t tiles = plan_reduce(d, b, &more);
    return tiles < TILES_MOST && board_words(b, tiles) <= board_most(d);
}

/* Reduces one sequence in one launch. */
static tally_status reduce_once(const tl_launch *l, const tl_batch *b, const tl_results *r)
{
    tl_gpu_device *d = l->d;
    int more;
    const int64_t tiles = plan_reduce(d, b, &more);
    assert(tiles < TILES_MOST && more <= TILE_MORE);
    tally_status status = reserve_board(d, l->ctx, board_words(b, tiles));
    if (status) return status;
    return TL_GO_AS(l, once, tiles ? tiles : 1, TL_SHARED_JOBS,
                    .batch = tl_batch_arguments(b, TL_LONG_SEQUENCES),
                    .results = tl_results_arguments(r), .board = tl_memory_of(&d->board.memory),
                    .epoch = tl_i64(d->board.epoch), .more = tl_i64(more));
}

/* Last step of the long sequences: reads their nodes and writes their results. */
static tally_status finish(const tl_launch *l, const tl_batch *b, const tl_results *r,
                           const tl_memory *nodes)
{
    return TL_GO(l, finish, b->longs, .batch = tl_batch_arguments(b, TL_LONG_SEQUENCES),
                 .nodes = tl_memory_of(nodes), .top = tl_i64(b->levels),
                 .results = tl_results_arguments(r));
}

tally_status tl_gpu_reduce_batch(tl_gpu_device *d, tally *ctx, const tl_batch *b,
                                 const tally_view *in, const tally_view *out, tally_status status)
{
    const tl_scalar *op = b->plan->op;
    tl_results r = {.piece = b->piece};
    tl_memory nodes = {0};
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    const int once = !status && reduces_once(d, b, in);
    const int walks = !status && tl_middle_takes(d, b, 0),
              longs = b->longs && !once && (!walks || b->listed);
    if (!status) status = tl_results_open(d, ctx, b->piece, out, op->result_bytes, &r);
    if (!status)
        status = tl_gpu_program(
            d, ctx, op, tl_in_place_shape(b, "reduce", "reduce_two", "reduce_bits"), &program);
    if (!status && once) status = reduce_once(&l, b, &r);
    if (!status && longs) status = make_nodes(&l, b, &nodes);
    if (!status && b->shorts) status = tl_forest_reduce(&l, b, &r);
    if (!status && walks) status = tl_middle_reduce(&l, b, &r);
    if (!status && longs) status = finish(&l, b, &r, &nodes);
    status = tl_results_close(d, ctx, &r, op->result_bytes, status);
    tl_gpu_give(d, &nodes);
    return status;
}

tally_status tl_gpu_reduce_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan,
                                 const tl_piece *piece, const tally_view *in, const tally_view *out)
{
    tl_batch b;
    tally_status status = tl_batch_open(d, ctx, plan, piece, in, &b);
    status = tl_gpu_reduce_batch(d, ctx, &b, in, out, status);
    tl_batch_close(d, &b);
    return status;
}

/* ---- scans in one launch ---- */

enum {
    ONCE_TILES = 1 << (BOARD_LEVELS * RADIX_LOG),
    ONCE_NODES = 1 << 28,
    SMALL_SHARE = 2 /* bench/results/2026-11-22-h200-scan-few.txt */
};
typedef enum { ONCE_NONE, ONCE_LARGE, ONCE_SMALL } once_tiles;

/* The tiles of a sequence, the levels of the look-back above them, and the words of the status
 * table for all sequences. */
typedef struct {
    int64_t tiles, words;
    int levels;
} once_plan;

static once_plan plan_scan_once(const tl_batch *b, int small)
{
    const int log = tl_gpu_scan_tile(b->plan->op, small).log;
    once_plan p = {.tiles = (b->n + (1 << log) - 1) >> log};
    int64_t nodes = 0;
    for (int k = 0; k < TL_GPU_LEVELS + 8 && (!k || p.tiles >> (RADIX_LOG * (k - 1))); k++) {
        nodes += b->rows * ((p.tiles >> (RADIX_LOG * k)) + 1);
        if ((p.tiles - 1) >> (RADIX_LOG * k)) p.levels = k;
    }
    p.words = nodes * ((tl_gpu_state_bytes(b->plan->op) + 7) / 8);
    return p;
}

/* Bytes of local memory of a thread block. */
static int64_t once_local_bytes(const tl_batch *b, int small)
{
    return (int64_t)STAGES * b->plan->op->elem_bytes << tl_gpu_scan_tile(b->plan->op, small).log;
}

/* Thread blocks that are resident at the same time. */
static int64_t resident_blocks(const tl_gpu_device *d, const tl_batch *b, int small)
{
    return (int64_t)tl_gpu_scan_tile(b->plan->op, small).blocks * d->gpu->calls->processors(d->gpu);
}

/* True if the kernel scan_once can take the batch, by large or by small tiles. A tile number has at
 * most four digits, a node number fits in 32 bits, and the status table keeps within its share of
 * the memory.
 * Rows shorter than a quarter of a tile would leave most of its warps idle. */
static int can_scan_once(const tl_gpu_device *d, const tl_batch *b, int small)
{
    const int64_t tile = (int64_t)1 << tl_gpu_scan_tile(b->plan->op, small).log,
                  tiles = b->n / tile + 1;
    const int64_t least = small ? CHUNK : 4 * CHUNK;
    if ((b->rows > 1 && b->n < (tile / 4 > least ? tile / 4 : least)) || tiles >= ONCE_TILES ||
        b->rows >= ONCE_NODES / tiles ||
        once_local_bytes(b, small) > d->gpu->calls->local_bytes(d->gpu))
        return 0;
    return plan_scan_once(b, small).words <= board_most(d);
}

/* Chooses the tiles of a scan in one launch. Small tiles are used where rows are too short for
 * large ones, or where there would be at most half as many large tiles as multiprocessors
 * (SMALL_SHARE). They are never faster for operators of elements of 4 bytes or more that
 * are scanned by lines (argmax). */
static once_tiles choose_once_tiles(const tl_gpu_device *d, const tl_batch *b)
{
    if (!d->gpu->calls->once || !tl_gpu_scan_tile(b->plan->op, 0).blocks || b->listed ||
        !b->longs || tl_batch_columns(b))
        return ONCE_NONE;
    const tl_scalar *const op = b->plan->op;
    const int many = can_scan_once(d, b, 0),
              wide_lines = op->elem_bytes >= 4 && tl_gpu_once_lines(op);
    const int large =
        SMALL_SHARE * plan_scan_once(b, 0).tiles * b->rows > d->gpu->calls->processors(d->gpu);
    /* With large states, a row's last tile, which is partly idle, costs more than several
     * launches. */
    const int idle = tl_gpu_state_bytes(op) > 8 && b->rows > 1 &&
                     b->n < (int64_t)4 << tl_gpu_scan_tile(op, 0).log;
    if (large && (tl_gpu_scan_steps(op) || idle)) return ONCE_NONE;
    if (many && (wide_lines || large)) return ONCE_LARGE;
    return can_scan_once(d, b, 1) ? ONCE_SMALL : many ? ONCE_LARGE : ONCE_NONE;
}

static tl_arguments_tiled_part tiled_arguments(const tl_gpu_device *d, const tl_batch *b,
                                               const tl_results *r, const once_plan *p,
                                               int64_t jobs, const tl_before *from)
{
    return TL_ARGUMENTS(tiled_part, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                        .results = tl_results_arguments(r),
                        .ticket = tl_memory_of(&d->board.memory), .ticket0 = tl_i64(d->board.taken),
                        .epoch = tl_i64(d->board.epoch), .tiles = tl_i64(p->tiles),
                        .levels = tl_i64(p->levels), .jobs = tl_i64(jobs),
                        .seeding = tl_seeding_arguments(from));
}

static tally_status scan_once(const tl_launch *l, const tl_batch *b, const tl_results *r, int small,
                              const tl_before *from)
{
    tl_gpu_device *d = l->d;
    const once_plan p = plan_scan_once(b, small);
    const int64_t jobs = p.tiles * b->rows, most = resident_blocks(d, b, small),
                  groups = jobs < most ? jobs : most;
    tally_status status = reserve_board(d, l->ctx, p.words);
    if (status) return status;
    assert(p.levels < BOARD_LEVELS && p.words <= d->board.words && groups > 0);
    const tl_arguments_tiled_part tiled = tiled_arguments(d, b, r, &p, jobs, from);
    const tl_room_argument room = tl_room(once_local_bytes(b, small));
    status = TL_GO(l, scan_once, groups, .tiled = tiled, .local_bytes = room);
    /* A block that processes several tiles takes STAGES + 1 more tickets than tiles. A block that
     * processes one tile takes none. */
    if (!status && groups < jobs) d->board.taken += jobs + (STAGES + 1) * groups;
    return status;
}

/* ---- scans of columns in one launch ---- */

/* The tiles of a column, and the words of the status table. */
static once_plan plan_scan_down(const tl_batch *b)
{
    const int64_t tile = tl_gpu_down_rows(b->plan->op) * TILE_WARPS,
                  width = (b->rows + LANES - 1) / LANES * LANES;
    once_plan p = {.tiles = (b->n + tile - 1) / tile};
    while ((p.tiles - 1) >> (COLUMN_LOG * p.levels)) p.levels++;
    for (int k = 0; k < COLUMN_LEVELS; k++)
        p.words += width * ((p.tiles >> (COLUMN_LOG * k)) + 1) *
                   ((tl_gpu_state_bytes(b->plan->op) + 7) / 8);
    return p;
}

/* True if the kernel scan_down takes the batch. Short columns go by several launches, which also
 * read the elements only once. */
static int can_scan_down(const tl_gpu_device *d, const tl_batch *b)
{
    if (!d->gpu->calls->once || !tl_batch_columns(b) || b->in_place || !b->longs ||
        !tl_gpu_down_rows(b->plan->op) || b->rows < LANES)
        return 0;
    const once_plan p = plan_scan_down(b);
    return p.levels < COLUMN_LEVELS && p.words <= board_most(d);
}

static tally_status scan_down(const tl_launch *l, const tl_batch *b, const tl_results *r,
                              const tl_before *from)
{
    tl_gpu_device *d = l->d;
    const once_plan p = plan_scan_down(b);
    const int64_t jobs = p.tiles * ((b->rows + LANES - 1) / LANES),
                  most = DOWN_RUN * d->gpu->calls->processors(d->gpu);
    const int64_t groups = jobs < most ? jobs : most;
    assert(p.levels < COLUMN_LEVELS && b->rows >= LANES);
    tally_status status = reserve_board(d, l->ctx, p.words);
    if (!status)
        status = TL_GO(l, scan_down, groups * TILE_WARPS,
                       .tiled = tiled_arguments(d, b, r, &p, jobs, from));
    if (!status) d->board.taken += jobs + groups; /* each block takes one more ticket */
    return status;
}

/* ---- scans in several launches ---- */

/* Computes the prefix S at the first item of each node of the long sequences, from the highest
 * level down. */
static tally_status make_prefix(const tl_launch *l, const tl_batch *b, const tl_memory *nodes,
                                const tl_before *from, tl_memory *prefix)
{
    int64_t all = 1;
    for (int k = 1; k <= b->levels; k++) all += b->counts[k] + b->longs;
    tally_status status =
        tl_gpu_take(l->d, l->ctx, (size_t)all * (size_t)tl_gpu_state_bytes(b->plan->op), prefix);
    for (int k = b->levels; !status && k >= 1; k--) {
        const int64_t jobs = (k < b->levels ? b->counts[k + 1] : 0) + b->longs;
        status = TL_GO(l, down, jobs, .batch = tl_batch_arguments(b, TL_LONG_SEQUENCES),
                       .nodes = tl_memory_of(nodes), .prefix = tl_memory_of(prefix),
                       .at_level = tl_i64(k), .jobs = tl_i64(jobs),
                       .seeding = tl_seeding_arguments(from));
    }
    return status;
}

/* Scans the elements of sequences that lie across (columns). */
static tally_status scan_columns(const tl_launch *l, const tl_batch *b, const tl_results *r,
                                 const tl_memory *prefix, const tl_before *from)
{
    const int64_t jobs = column_groups(b) * (tl_level_count(b->n, 1) + (b->n % CHUNK != 0));
    return TL_GO(l, scan_columns, jobs, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                 .prefix = tl_memory_of(b->longs ? prefix : NULL),
                 .results = tl_results_arguments(r), .log = tl_i64(columns_log(b)),
                 .jobs = tl_i64(jobs), .seeding = tl_seeding_arguments(from));
}

/* Scans the elements of the long sequences. */
static tally_status scan_elements(const tl_launch *l, const tl_batch *b, const tl_results *r,
                                  const tl_memory *prefix, const tl_before *from)
{
    const int64_t jobs = b->counts[1] + b->longs;
    return TL_GO(l, scan, jobs, .batch = tl_batch_arguments(b, TL_LONG_SEQUENCES),
                 .prefix = tl_memory_of(prefix), .results = tl_results_arguments(r),
                 .jobs = tl_i64(jobs), .seeding = tl_seeding_arguments(from));
}

tally_status tl_gpu_scan_batch(tl_gpu_device *d, tally *ctx, const tl_batch *b,
                               const tally_view *out, const tally_scan_options *o,
                               tally_status status)
{
    const tl_scalar *op = b->plan->op;
    tl_results r = {.piece = b->piece};
    tl_memory nodes = {0}, prefix = {0}, init = {0};
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    const void *first = b->piece->before ? b->piece->before : o ? o->init : NULL;
    const size_t first_bytes =
        b->piece->before ? (size_t)b->rows * op->state_bytes : op->result_bytes;
    tl_before from = {b->piece->before ? SEED_STATES
                      : first          ? SEED_VALUE
                                       : SEED_NONE,
                      first ? &init : NULL, o && o->exclusive};
    if (!status) status = tl_results_open(d, ctx, b->piece, out, op->result_bytes, &r);
    if (!status && first) status = tl_gpu_upload(d, ctx, first, first_bytes, &init);
    const int walks = !status && tl_middle_takes(d, b, 1);
    const once_tiles once = status || walks ? ONCE_NONE : choose_once_tiles(d, b);
    if (!status)
        status = tl_gpu_program(
            d, ctx, op,
            once == ONCE_SMALL
                ? tl_in_place_shape(b, "scan_small", "scan_small_two", "scan_small_bits")
                : tl_in_place_shape(b, "scan", "scan_two", "scan_bits"),
            &program);
    const int down = !status && can_scan_down(d, b), across = tl_batch_columns(b) && !down;
    const int steps = b->longs && once == ONCE_NONE && !down && (!walks || b->listed);
    if (!status && down) status = scan_down(&l, b, &r, &from);
    if (!status && once != ONCE_NONE) status = scan_once(&l, b, &r, once == ONCE_SMALL, &from);
    if (!status && steps) status = make_nodes(&l, b, &nodes);
    if (!status && steps) status = make_prefix(&l, b, &nodes, &from, &prefix);
    if (!status && b->shorts && !across) status = tl_forest_scan(&l, b, &r, &from);
    if (!status && walks) status = tl_middle_scan(&l, b, &r, &from);
    if (!status && steps && !across) status = scan_elements(&l, b, &r, &prefix, &from);
    if (!status && across) status = scan_columns(&l, b, &r, &prefix, &from);
    status = tl_results_close(d, ctx, &r, op->result_bytes, status);
    tl_gpu_give(d, &nodes);
    tl_gpu_give(d, &prefix);
    tl_gpu_give(d, &init);
    return status;
}

tally_status tl_gpu_scan_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan,
                               const tl_piece *piece, const tally_view *in, const tally_view *out,
                               const tally_scan_options *o)
{
    tl_batch b;
    tally_status status = tl_batch_open(d, ctx, plan, piece, in, &b);
    status = tl_gpu_scan_batch(d, ctx, &b, out, o, status);
    tl_batch_close(d, &b);
    return status;
}
