/* SPDX-License-Identifier: MIT
 * Scan on a GPU: decides which kernels take a batch of sequences, and launches them. */
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

/* ---- scans in one launch ---- */

enum { TILES_END = 1 << (STATUS_LEVELS * RADIX_LOG), NODES_END = 1 << 28 };

/* LARGE_TILES: scan_single.cl. WAVE: scan_wave.cl. */
typedef enum { NO_TILES, LARGE_TILES, WAVE } tile_size;

/* 2^log elements of a tile; the tiles of a sequence; the levels of the look-back above them; the
 * words of the status table for all sequences; bytes of local memory of a thread block. */
typedef struct {
    int log, levels;
    int64_t tiles, words, local;
} single_plan;

static single_plan plan_tiles(const tl_batch *b, int log, int stages)
{
    single_plan p = {.log = log,
                     .tiles = (b->n + ((int64_t)1 << log) - 1) >> log,
                     .local = (int64_t)stages * b->plan->op->elem_bytes << log};
    int64_t nodes = 0;

    for (int k = 0; k < TL_GPU_LEVELS + 8 && (!k || p.tiles >> (RADIX_LOG * (k - 1))); k++) {
        nodes += b->rows * ((p.tiles >> (RADIX_LOG * k)) + 1);
        if ((p.tiles - 1) >> (RADIX_LOG * k)) p.levels = k;
    }
    p.words = nodes * ((b->state_bytes + 7) / 8);
    return p;
}

/* Large tiles, of which local memory holds several. */
static single_plan plan_large(const tl_batch *b)
{
    return plan_tiles(b, tl_gpu_scan_tile(b->plan->op, 0).log, STAGES);
}

/* True if the kernel scan_single can take the batch by tiles of this size. A tile number has at
 * most four digits, a node number fits in 32 bits, and the status table keeps within its share of
 * the memory. Rows shorter than a quarter of a tile would leave most of its warps idle. */
static int can_scan_single(const tl_gpu_device *d, const tl_batch *b, const single_plan *p)
{
    const int64_t quarter = (int64_t)1 << (p->log - 2);
    return (b->rows == 1 || b->n >= quarter) && p->tiles < TILES_END &&
           b->rows < NODES_END / (p->tiles + 1) && p->local <= d->gpu->local_bytes &&
           p->words <= tl_status_words(d);
}

/* The wave with the smallest tiles of which all are resident together; log 0: there is none. Rows
 * that are too short for large tiles may be more. Class X by lines is faster by large tiles than by
 * a wave of larger ones. */
static single_plan plan_wave(const tl_gpu_device *d, const tl_batch *b)
{
    enum { OTHER_BYTES = 4096, SHORT_ROWS = 16 }; /* of a block; of a multiprocessor: at most */
    const tl_scalar *const op = b->plan->op;
    const tl_scan_tile tile = tl_gpu_scan_tile(op, 1);
    const int more = op->exact && op->elem_bytes < 8 && tl_gpu_scans_lines(op) ? 0 : WAVE_MORE,
              is_short = b->rows > 1 && b->n < (int64_t)1 << (plan_large(b).log - 2);

    for (int log = tile.log; log <= tile.log + more; log++) {
        const single_plan p = plan_tiles(b, log, 1);
        const int64_t fit = d->gpu->local_bytes / (p.local + OTHER_BYTES),
                      run = tl_min(fit, tile.blocks), blocks = is_short ? SHORT_ROWS : run;
        if (can_scan_single(d, b, &p) && p.tiles < WAVE_TILES_END &&
            p.tiles * b->rows <= blocks * d->gpu->processors)
            return p;
    }
    return (single_plan){0};
}

static tile_size choose_tiles(const tl_gpu_device *d, const tl_batch *b)
{
    const tl_scalar *const op = b->plan->op;
    if (!d->gpu->calls->single_launch || !tl_gpu_scan_tile(op, 0).blocks || b->listed ||
        !b->long_count || b->columns_log)
        return NO_TILES;
    if (plan_wave(d, b).log) return WAVE;

    /* With large states, a row's last tile, which is partly idle, costs more than several
     * launches. */
    const single_plan large = plan_large(b);
    const int idle = b->state_bytes > 8 && b->rows > 1 && b->n < (int64_t)4 << large.log;
    return tl_gpu_scans_in_steps(op) || idle || !can_scan_single(d, b, &large) ? NO_TILES
                                                                               : LARGE_TILES;
}

static tl_arguments_tiled tiled_arguments(const tl_gpu_device *d, const tl_batch *b,
                                          const tl_results *r, const single_plan *p, int64_t jobs,
                                          const tl_before *from)
{
    return TL_ARGUMENTS(tiled, .batch = *b->all, .results = r->arguments,
                        .status_table = d->slot->status_table.memory.handle, .tiles = p->tiles,
                        .levels = p->levels, .jobs = jobs, .seeding = *from);
}

static tally_status scan_single(const tl_launch *l, const tl_batch *b, const tl_results *r,
                                int wave, const tl_before *from)
{
    tl_gpu_device *d = l->d;
    const tl_scan_tile tile = tl_gpu_scan_tile(b->plan->op, wave);
    single_plan p = wave ? plan_wave(d, b) : plan_large(b);
    const int64_t jobs = p.tiles * b->rows, most = (int64_t)tile.blocks * d->gpu->processors;

    assert(p.tiles > 0 && p.tiles < TILES_END && p.levels < STATUS_LEVELS);
    TL_TRY(tl_status_reserve(d, p.words));

    assert((size_t)p.words * STATUS_WORD < d->slot->status_table.bytes);
    if (wave) p.levels = p.log - tile.log;
    const tl_arguments_tiled tiled = tiled_arguments(d, b, r, &p, jobs, from);
    return TL_GO(l, scan_single, wave ? jobs : tl_min(jobs, most), .tiled = tiled,
                 .local_bytes = p.local);
}

/* ---- scans of columns in one launch ---- */

static int64_t down_local_bytes(const tl_batch *b, int64_t rows)
{
    const int log = b->columns_log, bytes = b->plan->op->elem_bytes;
    const int64_t line = bytes * tl_min(b->rows, LANES);
    return DOWN_BYTES(b->state_bytes) +
           (DOWN_PITCH(rows, line, bytes << log) * TILE_WARPS << (5 - log));
}

/* Rows of a lane, or 0: half of the most if they do not fit in local memory. */
static int64_t down_rows(const tl_gpu_device *d, const tl_batch *b)
{
    const int64_t rows = tl_gpu_down_rows(b->plan->op, b->rows);
    return rows > 32 && down_local_bytes(b, rows) > d->gpu->local_bytes ? rows / 2 : rows;
}

/* The tiles of a column, of so many rows a lane, and the words of the status table. */
static single_plan plan_scan_down(const tl_batch *b, int64_t rows)
{
    const int log = b->columns_log;
    const int64_t tile = rows * TILE_WARPS << (5 - log), width = tl_column_groups(b) << log;
    single_plan p = {.tiles = (b->n + tile - 1) / tile};
    while ((p.tiles - 1) >> (COLUMN_LOG * p.levels)) p.levels++;
    for (int k = 0; k < COLUMN_LEVELS; k++)
        p.words += width * ((p.tiles >> (COLUMN_LOG * k)) + 1) * ((b->state_bytes + 7) / 8);
    return p;
}

/* True if the kernel scan_down takes the batch. Short columns go by several launches, which also
 * read the elements only once; and so do a few more columns than half the lanes of a warp, of
 * elements of 8 bytes, for which it is slower. */
static int can_scan_down(const tl_gpu_device *d, const tl_batch *b)
{
    const int few = b->plan->op->elem_bytes > 4 && b->rows > LANES / 2 && b->rows < LANES * 3 / 4;
    if (!d->gpu->calls->single_launch || !b->columns_log || b->in_place || !b->long_count ||
        !down_rows(d, b) || few)
        return 0;
    const single_plan p = plan_scan_down(b, down_rows(d, b));
    return p.levels < COLUMN_LEVELS && p.words <= tl_status_words(d) &&
           down_local_bytes(b, down_rows(d, b)) <= d->gpu->local_bytes;
}

static tally_status scan_down(const tl_launch *l, const tl_batch *b, const tl_results *r,
                              const tl_before *from)
{
    tl_gpu_device *d = l->d;
    const int64_t rows = down_rows(d, b);
    const single_plan p = plan_scan_down(b, rows);
    const int64_t jobs = p.tiles * tl_column_groups(b), most = DOWN_RUN * d->gpu->processors;
    const int64_t groups = tl_min(jobs, most);

    assert(p.levels < COLUMN_LEVELS && p.tiles > 0 && groups > 0);
    TL_TRY(tl_status_reserve(d, p.words));
    return TL_GO(l, scan_down, groups * TILE_WARPS,
                 .tiled = tiled_arguments(d, b, r, &p, jobs, from), .log = b->columns_log,
                 .rows_each = rows, .local_bytes = down_local_bytes(b, rows));
}

/* ---- scans in several launches ---- */

/* Computes the prefix S at the first item of each node of the long sequences, from the highest
 * level down. */
static tally_status make_prefix(const tl_launch *l, const tl_batch *b, const tl_memory *nodes,
                                const tl_before *from, tl_memory *prefix)
{
    int64_t all = 1;
    for (int k = 1; k <= b->levels; k++) all += b->counts[k] + b->long_count;
    TL_TRY(tl_gpu_take(l->d, (size_t)all * (size_t)b->state_bytes, prefix));
    for (int k = b->levels; k >= 1; k--) {
        const int64_t jobs = (k < b->levels ? b->counts[k + 1] : 0) + b->long_count;
        TL_TRY(TL_GO(l, down, jobs, .batch = *b->long_sequences, .nodes = tl_handle_of(nodes),
                     .prefix = tl_handle_of(prefix), .at_level = k, .jobs = jobs,
                     .seeding = *from));
    }

    return TALLY_OK;
}

/* Scans the elements of sequences that lie across (columns). */
static tally_status scan_columns(const tl_launch *l, const tl_batch *b, const tl_results *r,
                                 const tl_memory *prefix, const tl_before *from)
{
    /* From 16 columns on, two parts of a chunk beside each other are slower than idle lanes. */
    const int log = b->rows >= LANES / 2 ? 5 : b->columns_log;
    const int64_t groups = ((b->rows - 1) >> log) + 1,
                  jobs = groups * (tl_level_count(b->n, 1) + (b->n % CHUNK != 0));
    return TL_GO(l, scan_columns, jobs, .batch = *b->all,
                 .prefix = b->long_count ? tl_handle_of(prefix) : NULL, .results = r->arguments,
                 .log = log, .jobs = jobs, .seeding = *from);
}

static tally_status scan_elements(const tl_launch *l, const tl_batch *b, const tl_results *r,
                                  const tl_memory *prefix, const tl_before *from)
{
    const int64_t jobs = b->counts[1] + b->long_count;
    return TL_GO(l, scan, jobs, .batch = *b->long_sequences, .prefix = tl_handle_of(prefix),
                 .results = r->arguments, .jobs = jobs, .seeding = *from);
}

/* ---- the plan of launches ---- */

/* The launches of a scan, in this order. */
typedef struct {
    int columns_single;    /* columns in one launch */
    tile_size single_pass; /* long rows in one launch */
    int levels;            /* long sequences: nodes, then prefixes, level by level */
    int packed;            /* short sequences, many to a warp */
    int warps;             /* a warp for each sequence of some chunks */
    int elements;          /* after levels: the elements of rows or segments */
    int columns;           /* the elements of columns */
} scan_plan;

static scan_plan plan_scan(const tl_gpu_device *d, const tl_batch *b)
{
    scan_plan p = {.columns_single = can_scan_down(d, b), .warps = tl_by_warp_takes(d, b, 1)};
    p.single_pass = p.warps ? NO_TILES : choose_tiles(d, b);
    p.columns = b->columns_log && !p.columns_single;
    p.levels =
        b->long_count && p.single_pass == NO_TILES && !p.columns_single && (!p.warps || b->listed);
    p.packed = b->has_short && !p.columns;
    p.elements = p.levels && !p.columns;
    assert(!p.columns_single || p.single_pass == NO_TILES);
    return p;
}

tally_status tl_scan_batch(tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                           const tl_call *c)
{
    const tl_scalar *op = b->plan->op;
    const tally_scan_options *const o = c->scan;
    const void *const states = b->piece.before, *const first = states ? states : o ? o->init : NULL;
    const size_t first_bytes = states ? (size_t)b->rows * op->state_bytes : op->result_bytes;
    TL_POOL_BLOCK(nodes, d);
    TL_POOL_BLOCK(prefix, d);
    TL_POOL_BLOCK(init, d);
    tl_before from = {.exclusive = o && o->exclusive,
                      .seeded = states  ? SEED_STATES
                                : first ? SEED_VALUE
                                        : SEED_NONE};
    const scan_plan p = plan_scan(d, b);
    tl_launch l;

    if (first) TL_TRY(tl_gpu_upload(d, first, first_bytes, &init.m));
    from.init = init.m.handle;
    TL_TRY(tl_batch_program(d, b, p.single_pass == WAVE ? "scan_wave" : "scan", &l));

    if (p.columns_single) TL_TRY(scan_down(&l, b, r, &from));
    if (p.single_pass != NO_TILES) TL_TRY(scan_single(&l, b, r, p.single_pass == WAVE, &from));
    if (p.levels) TL_TRY(tl_make_nodes(&l, b, &nodes.m));
    if (p.levels) TL_TRY(make_prefix(&l, b, &nodes.m, &from, &prefix.m));
    if (p.packed) TL_TRY(tl_segmented_scan(&l, b, r, &from));
    if (p.warps) TL_TRY(tl_by_warp_scan(&l, b, r, &from));
    if (p.elements) TL_TRY(scan_elements(&l, b, r, &prefix.m, &from));
    return p.columns ? scan_columns(&l, b, r, &prefix.m, &from) : TALLY_OK;
}
