/* SPDX-License-Identifier: MIT
 * Reduce on a GPU: decides which kernels take a batch of sequences, and launches them. */
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

enum {
    TILES_PER_PROCESSOR = 3, /* min tiles per multiprocessor to double the tile size */
    /* log2 of the largest such tile, relative to the smallest (256 KiB); 1 less for elements of 8
     * bytes */
    TILE_LOG_MOST = 3
};

/* The launches of a reduction, in this order. */
typedef struct {
    /* one long sequence in one launch: `tiles` tiles, each of 2^more chunks for each of its warps,
     * and `words` words of the status table */
    int single_pass, more;
    int64_t tiles, words;
    int whole;     /* columns by their parts */
    int chunk_log; /* 0, or log2 of the elements of their chunks, which a launch before folds */
    int levels;    /* long sequences: their nodes, level by level, and at last their results */
    int packed;    /* short sequences, many to a warp */
    int warps;     /* a warp for each sequence of some chunks */
} reduce_plan;

/* log2 of the elements of a chunk of a dense table of few columns, with rows of LINE_LEAST to
 * LINE_MOST bytes (elements of 8 bytes: half), of two columns from twice LINE_LEAST on; 0: others.
 * Such chunks go through local memory, where that is faster. They are larger if BUSY of them are
 * left for each multiprocessor, and ELEMENTS or BYTES are not exceeded. */
static int table_log(const tl_gpu_device *d, const tl_batch *b)
{
    enum { ELEMENT_MOST = 8, LINE_LEAST = 4, LINE_MOST = 64, UNIT = 16 };
    enum { ELEMENTS = 8192, BYTES = 16384, BUSY = 8 };
    const int element = b->plan->op->elem_bytes;
    const int64_t line = b->rows <= LANES ? b->rows * element : 0,
                  least = b->rows == 2 ? 2 * LINE_LEAST : LINE_LEAST;
    int log = ELEMENTS_LOG;

    if (!b->columns_log || b->row_stride != 1 || b->stride != b->rows || element > ELEMENT_MOST ||
        line < least || line > LINE_MOST >> (element > 4) ||
        (b->x.memory.address + (uint64_t)b->x.byte) % UNIT || !d->gpu->calls->single_launch)
        return 0;
    while ((b->rows << (log + 1) <= ELEMENTS || line << (log + 1) <= BYTES) &&
           b->n >> (log + 1) >= (int64_t)BUSY * d->gpu->processors)
        log++;
    return log;
}

/* Columns whose last launch has threads that take them in parts: of so few chunks, if any. */
static int columns_whole(const tl_gpu_device *d, const tl_batch *b)
{
    const int log = table_log(d, b);
    assert(!b->columns_log || !b->in_place);
    return b->columns_log && b->n >> (log ? log : ELEMENTS_LOG) <= COLUMNS_WHOLE;
}

/* Where the nodes of columns' chunks of `size` elements are stored: `across` states from a column's
 * to the next one's, `down` to that below. */
typedef struct {
    tl_handle to;
    int64_t size, across, down;
} column_nodes;

/* For the last launch: those of few columns one after the other, so that a block may take one. */
static column_nodes whole_nodes(const tl_batch *b, int chunk_log)
{
    const int few = b->rows <= 2 * LANES;
    return (column_nodes){NULL, (int64_t)1 << chunk_log, few ? b->n >> chunk_log : 1,
                          few ? 1 : b->rows};
}

/* So many columns that a thread of a block for each keeps the device busy. */
static int columns_suffice(const tl_gpu_device *d, const tl_batch *b)
{
    return b->rows >> b->columns_log >= 8 * d->gpu->processors;
}

/* log2 of the columns of a word, if a thread loads words of neighbouring columns, and stores their
 * results together where these have fewer than PART elements. On OpenCL addresses are not those of
 * the kernel. */
static int words_log(const tl_gpu_device *d, const tl_batch *b, const tl_results *r)
{
    enum { WORD = 4 };
    const tl_scalar *op = b->plan->op;
    const int log = COLUMNS_EACH_LOG(op->elem_bytes, b->state_bytes),
              unit = UNIT_ALIGN(op->result_bytes << log),
              neighbours = b->row_stride == 1 && r->row_stride == 1 &&
                           (b->rows | b->stride) % (1 << log) == 0,
              aligned = (b->x.memory.address + (uint64_t)b->x.byte) % WORD == 0 &&
                        (b->n >= PART || (r->y.address + (uint64_t)r->byte) % (uint64_t)unit == 0),
              single = op->lanes == 1 && op->inputs == 1 && b->piece.gives == TL_VALUES;
    return log && op->elem_bytes << log == WORD && neighbours && aligned && single &&
                   d->gpu->calls->single_launch
               ? log
               : 0;
}

/* Blocks of short_columns: log2 of their columns or words, 0 if they would not keep the device
 * busy; log2 of the elements of a part, less PART_LOG; the nodes of a block. */
typedef struct {
    int log, more;
    int64_t nodes;
} short_blocks;

/* words: log2 of the columns of a word. Columns of few parts have no nodes; parts are as small as
 * leave place for the nodes of two warps in BYTES, or else of one warp in twice as many. */
static short_blocks short_blocks_of(const tl_gpu_device *d, const tl_batch *b, int words)
{
    enum { LEAST = 5, BUSY = 3, FEW_MOST = 3, BYTES = 16384 };
    const int cuda = d->gpu->calls->single_launch, most = cuda ? PART_MORE(b->state_bytes) : 0,
              few = cuda && b->n < PART * (FEW_PARTS(b->state_bytes) + 1);
    for (int least = LEAST + 1; least >= LEAST; least--)
        for (int more = 0; more <= most; more++) {
            const int64_t large = b->n >> (PART_LOG + more),
                          parts = large + (b->n - (large << (PART_LOG + more))) / PART,
                          nodes = few ? 0 : parts << words, bytes = nodes * b->state_bytes;
            int log = parts <= FEW_MOST ? WHOLE_LOG : WHOLE_LOG - 1;
            if (bytes << least > BYTES << (least == LEAST) || parts >= 2 << PARTS_LOG) continue;
            while (log > least && bytes << log > BYTES) log--;
            const int busy =
                b->rows >> (log + (b->n < PART ? 0 : words)) >= (int64_t)BUSY * d->gpu->processors;
            return (short_blocks){busy ? log : 0, more, nodes << log};
        }
    return (short_blocks){0};
}

/* log2 of the elements of their chunks: small ones for many columns, unless their nodes are large
 * or many. 0: they need no launch for chunks. */
static int chunk_log(const tl_gpu_device *d, const tl_batch *b)
{
    enum { SMALL_LOG = 8, STATE_MOST = 8, SMALL_MOST = 1024 };
    const int small =
        b->rows > LANES && b->state_bytes <= STATE_MOST && b->n >> SMALL_LOG <= SMALL_MOST;
    if (b->n <= COLUMNS_WHOLE && (b->n < CHUNK || !columns_suffice(d, b))) return 0;
    if (b->state_bytes > STATE_MOST && b->n < 2 * COLUMNS_WHOLE && short_blocks_of(d, b, 0).log)
        return 0;
    if (table_log(d, b)) return table_log(d, b);
    return small ? SMALL_LOG : ELEMENTS_LOG;
}

/* Returns whether short_columns takes them. */
static int reduce_short_columns(const tl_launch *l, const tl_batch *b, const tl_results *r,
                                tally_status *status)
{
    const int each = b->n < PART ? SHORT_EACH(b->n) : 1;
    int words = words_log(l->d, b, r);
    short_blocks s = short_blocks_of(l->d, b, words);
    if (!s.log && words) s = short_blocks_of(l->d, b, words = 0);
    if (!s.log) return 0;

    *status =
        TL_GO_AS(l, short_columns, ((b->rows - 1) >> (s.log + words)) / each + 1, TL_EACH_JOB,
                 .batch = *b->all, .log = s.log, .more = s.more, .words = words,
                 .results = r->arguments, .local_bytes = (s.nodes ? s.nodes : 1) * b->state_bytes);
    return 1;
}

/* Fewer columns, and so more threads for each, until the device is busy. */
static tally_status reduce_whole(const tl_launch *l, const tl_batch *b, const tl_results *r,
                                 int chunk_log, const tl_memory *nodes)
{
    /* log2 of min elements of a thread; min bytes of a row, if there are so many columns */
    enum { THREAD_LOG = 4, SECTOR = 32 };
    const int64_t busy = 3 * l->d->gpu->processors / 2, chunks = chunk_log ? b->n >> chunk_log : 0,
                  n = b->n - (chunks << chunk_log), work = tl_max(n, chunks);
    const column_nodes c = whole_nodes(b, chunk_log);
    const int element = b->plan->op->elem_bytes, few = chunks && c.down == 1;
    int64_t log = WHOLE_LOG, each_log = THREAD_LOG;
    tally_status status;
    assert(work < 2 * COLUMNS_WHOLE);

    if (!chunks && reduce_short_columns(l, b, r, &status)) return status;
    while (log && b->rows >> log < busy && 1 << (WHOLE_LOG - log + THREAD_LOG) < work &&
           (few || element << log > SECTOR || b->rows <= 1 << (log - 1)))
        log--;
    while (1 << (WHOLE_LOG - log + each_log) < n) each_log++;

    const int64_t jobs = ((b->rows - 1) >> log) + 1;
    return TL_GO(l, whole_columns, jobs, .batch = *b->all, .log = log, .each_log = each_log,
                 .jobs = jobs, .nodes = tl_handle_of(nodes), .chunks = chunks, .size = c.size,
                 .across = c.across, .down = c.down, .results = r->arguments);
}

static reduce_plan plan_reduce(const tl_gpu_device *d, const tl_batch *b)
{
    const int log = ELEMENTS_LOG + TILE_WARPS_LOG; /* log2 of the elements of the smallest tile */
    const int64_t worth = (int64_t)TILES_PER_PROCESSOR * d->gpu->processors;
    reduce_plan p = {.warps = tl_by_warp_takes(d, b, 0), .whole = columns_whole(d, b)};

    while (p.more < TILE_LOG_MOST - (b->plan->op->elem_bytes > 4) &&
           b->n >> (log + p.more + 1) >= worth)
        p.more++;
    while (p.more < TILE_MORE && b->n >> (log + p.more) >= TILES_MOST) p.more++;
    p.tiles = b->n >> (log + p.more);
    p.words = tl_max(p.tiles, 1) * ((b->state_bytes + 7) / 8);
    p.single_pass = d->gpu->calls->single_launch && b->rows == 1 && !b->listed && b->long_count &&
                    p.tiles < TILES_MOST && p.words <= tl_status_words(d);
    p.chunk_log = p.whole ? chunk_log(d, b) : 0;
    p.packed = b->has_short && !p.whole;
    p.levels = b->long_count && !p.single_pass && !p.whole && (!p.warps || b->listed);
    assert(!p.single_pass || !(p.levels || p.packed));

    return p;
}

static tally_status reduce_single(const tl_launch *l, const tl_batch *b, const tl_results *r,
                                  const reduce_plan *p)
{
    tl_gpu_device *d = l->d;
    assert(b->rows == 1 && p->tiles < TILES_MOST);
    TL_TRY(tl_status_reserve(d, p->words));
    return TL_GO_AS(l, reduce_single, tl_max(p->tiles, 1), TL_SHARED_JOBS,
                    .batch = *b->long_sequences, .results = r->arguments,
                    .status_table = d->slot->status_table.memory.handle, .more = p->more);
}

static tally_status make_column_nodes(const tl_launch *l, const tl_batch *b, column_nodes c)
{
    enum { UNIT = 16, PART_MOST = 1 << 16 }; /* PART_MOST: of a block, of small states */
    const int parts = COLUMN_THREADS >> b->columns_log, element = b->plan->op->elem_bytes,
              wide = c.size < CHUNK && b->state_bytes <= 4 && columns_suffice(l->d, b),
              most = COLUMNS_BLOCK_LOG(element, b->state_bytes) + wide;
    const int64_t count = b->n / c.size, pitch = c.size / parts * b->rows * element + UNIT;
    assert(c.size % (UNIT * parts) == 0 && !b->in_place);

    if (table_log(l->d, b) && c.size >= CHUNK && pitch * parts <= l->d->gpu->local_bytes)
        return TL_GO_AS(l, table_columns, count, TL_EACH_JOB, .batch = *b->long_sequences,
                        .to = c.to, .log = b->columns_log, .size = c.size, .across = c.across,
                        .down = c.down, .pitch = pitch, .local_bytes = pitch * parts);

    int log = COLUMNS_EACH_LOG(element, b->state_bytes);
    while (log < most && 1 << log < b->rows &&
           (b->state_bytes > 4 || c.size << (log + 1) <= PART_MOST))
        log++;
    return TL_GO_AS(l, columns, (((b->rows - 1) >> log) + 1) * count, TL_EACH_JOB,
                    .batch = *b->long_sequences, .to = c.to, .log = log, .size = c.size,
                    .across = c.across, .down = c.down);
}

/* The nodes of chunks for reduce_whole. */
static tally_status make_whole_nodes(const tl_launch *l, const tl_batch *b, int chunk_log,
                                     tl_memory *nodes)
{
    const int64_t states = b->rows * (b->n >> chunk_log);
    TL_TRY(tl_gpu_take(l->d, (size_t)states * (size_t)b->state_bytes, nodes));
    column_nodes c = whole_nodes(b, chunk_log);
    c.to = tl_handle_of(nodes);
    return make_column_nodes(l, b, c);
}

tally_status tl_make_nodes(const tl_launch *l, const tl_batch *b, tl_memory *nodes)
{
    /* warps for segments, which take neighbouring chunks: twice those that run at once */
    const int64_t most = 64ll * l->d->gpu->processors;
    tl_launch launch;
    int64_t all = 1;
    assert(b->long_count > 0 && b->levels > 0 && b->levels <= TL_GPU_LEVELS);
    for (int k = 1; k <= b->levels; k++) all += b->counts[k];
    TL_TRY(tl_gpu_take(l->d, (size_t)all * (size_t)b->state_bytes, nodes));
    TL_TRY(tl_program_of(l, b, &launch));

    const tl_handle to = tl_handle_of(nodes);
    const column_nodes c = {to, CHUNK, tl_level_count(b->n, 1), 1};
    if (b->columns_log) TL_TRY(make_column_nodes(l, b, c));

    for (int k = b->columns_log ? 2 : 1; k <= b->levels; k++)
        TL_TRY(TL_GO(&launch, nodes, b->listed ? tl_min(most, b->counts[k]) : b->counts[k],
                     .batch = *b->long_sequences, .nodes = to, .level = k, .jobs = b->counts[k]));

    return TALLY_OK;
}

/* Last step of the long sequences: reads their nodes and writes their results. */
static tally_status finish(const tl_launch *l, const tl_batch *b, const tl_results *r,
                           const tl_memory *nodes)
{
    return TL_GO(l, finish, b->long_count, .batch = *b->long_sequences,
                 .nodes = tl_handle_of(nodes), .top = b->levels, .results = r->arguments);
}

tally_status tl_reduce_batch(tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                             const tl_call *c)
{
    const reduce_plan p = plan_reduce(d, b);
    TL_POOL_BLOCK(nodes, d);
    tl_launch l;

    TL_TRY(tl_batch_program(d, b, "reduce", &l));
    if (p.single_pass) TL_TRY(reduce_single(&l, b, r, &p));
    if (p.levels) TL_TRY(tl_make_nodes(&l, b, &nodes.m));
    if (p.chunk_log) TL_TRY(make_whole_nodes(&l, b, p.chunk_log, &nodes.m));
    if (p.whole) TL_TRY(reduce_whole(&l, b, r, p.chunk_log, &nodes.m));
    if (p.packed) TL_TRY(tl_segmented_reduce(&l, b, r));
    if (p.warps) TL_TRY(tl_by_warp_reduce(&l, b, r));
    return p.levels ? finish(&l, b, r, &nodes.m) : TALLY_OK;
}
