/* SPDX-License-Identifier: MIT
 * Constants that the kernels and the host share. Every program contains this text, and the C files
 * of gpu/ that launch kernels include it, so it is C, CUDA and OpenCL C. gpu/program.c defines
 * sizes that depend on the operator. */

/* Lanes of a warp; contiguous items that a lane takes at a time. */
enum { LANES = 32, QUAD = 4 };

/* A chunk has 2^ELEMENTS_LOG elements; its node is of level 1. 2^STATES_LOG nodes of a level make
 * one node of the next level. So n elements have n >> LEVEL_LOG(level) full nodes of a level above
 * 0. */
enum { ELEMENTS_LOG = 10, STATES_LOG = 8, CHUNK = 1 << ELEMENTS_LOG };
#define LEVEL_LOG(level) (ELEMENTS_LOG - STATES_LOG + STATES_LOG * (level))

/* columns.cl: threads of a block, which share a chunk (tables: COLUMN_THREADS), or whole columns of
 * up to COLUMNS_WHOLE elements. */
enum { COLUMN_THREADS = 4 * LANES, WHOLE_LOG = 8, WHOLE_THREADS = 1 << WHOLE_LOG };
enum { COLUMNS_LOG = 12, COLUMNS_WHOLE = 1 << COLUMNS_LOG };

/* log2 of the columns of a thread, and of a block. */
#define COLUMNS_EACH_LOG(elem, state) \
    ((state) > 8 ? 0 : (elem) == 1 ? 2 : (elem) == 2 || (state) >= 4)
#define COLUMNS_BLOCK_LOG(elem, state) (5 + COLUMNS_EACH_LOG(elem, state))
/* Nodes of a block, in local memory. */
#define COLUMN_NODES(state) ((state) > 16 ? 512 : (state) > 8 ? 1024 : (state) > 4 ? 2048 : 4096)

/* short_columns: elements of a part, which may be 2^PART_MORE times as many; log2 of the most
 * parts; parts of a column that a thread folds alone; the columns of a thread, if they have
 * n < PART elements. */
enum { PART_LOG = 4, PART = 1 << PART_LOG, PARTS_LOG = 6 };
#define PART_MORE(state) ((state) > 8 && (state) <= 16 ? 3 : 0)
#define FEW_PARTS(state) ((state) > 8 ? 1 : 3)
#define SHORT_EACH(n)    ((n) <= PART / 4 ? 4 : (n) <= PART / 2 ? 2 : 1)
/* The alignment of `bytes` of results that a thread stores by one access. */
#define UNIT_ALIGN(bytes) ((bytes) < 16 ? (bytes) : 16)

/* Flags of a batch. OFFSETS: sequences are given by offsets, and `first` is used. CHOSEN: ids
 * selects sequences. STATES: reduce writes states. */
enum { OFFSETS = 1, CHOSEN = 2, STATES = 4 };

/* The initial value of a scan: none, one value for all sequences, or a packed state for each. */
enum { SEED_NONE, SEED_VALUE, SEED_STATES };

/* law.cl: threads of a block; results of a thread. */
enum { LAW_THREADS = 64, LAW_EACH = 64 };

/* grid.cl: threads of a block; log2 of the steps of a block of steps, and their number; packs of 16
 * bytes that a lane copies at once. */
enum { GRID_THREADS = 256, GRID_LOG = 3, GRID_BLOCK = 1 << GRID_LOG, GRID_BUNDLES = 4 };

/* prepare.cl: threads of a block; numbers of the element types; flags of a launch. */
enum { PREPARE_THREADS = 256 };
enum { KIND_SIGNED = 1, KIND_UNSIGNED, KIND_FLOAT, KIND_BFLOAT };
#define TYPE(kind, bytes) ((kind)*16 + (bytes))
#define TYPE_KIND(type)   ((type) >> 4)
#define TYPE_BYTES(type)  ((type)&15)
enum {
    PREPARE_QUIET = 1,  /* NaNs become quiet NaNs without a payload */
    PREPARE_MASKED = 2, /* NaNs do not count */
    PREPARE_ZEROS = 4   /* zeros of x become +0 */
};

/* keys.cl: threads of a block; keys of a tile, with one word of 32 bits for each thread; tiles of a
 * step; heads that local memory holds at a time; keys of a unit, which has at most 16 bytes. */
enum {
    KEYS_THREADS = 256,
    KEYS_TILE = 32 * KEYS_THREADS,
    KEYS_TILES = 4,
    KEYS_STEP = KEYS_TILES * KEYS_TILE,
    KEYS_LIST = 8192
};
#define KEYS_UNIT(bytes) ((bytes) == 8 ? 2 : (bytes) == 4 ? 4 : 8)

/* exact/: threads of a block; blocks of a multiprocessor; max items of a job. Digits below 2^-1074,
 * for sums and for products of pairs; number of digits; words (u32) of all bins. Flags of a
 * launch. */
enum { EXACT_THREADS = 256, EXACT_BLOCKS = 3, EXACT_MOST = 1 << 27 };
enum { EXACT_LOW_SUMS = 2, EXACT_LOW_PAIRS = 34 };
#define EXACT_DIGITS_OF(pairs) ((pairs) ? 134 : 70)
#define EXACT_WORDS_OF(pairs)  (2 * (EXACT_DIGITS_OF(pairs) + 4))
enum { EXACT_MASKS = 5 }; /* words after the bins, with a bit for each digit */

/* Local memory of a row, in words. With EXACT_TOP of sum.cl and one more word it is an odd number,
 * which avoids bank conflicts. */
#define EXACT_LOCAL_OF(pairs) (EXACT_WORDS_OF(pairs) + EXACT_MASKS + 2)
/* words of a short row (rows.cl); registers that a lane uses for it */
enum { NARROW_LOCAL = 3, EXACT_LEVELS_MOST = 4 };

enum {
    EXACT_MARKED = 1, /* elements of -0 are skipped */
    EXACT_MASKED = 2, /* NaNs are skipped */
    EXACT_MEAN = 4,
    EXACT_F64 = 8 /* results are f64; else f32 */
};

/* reduce.cl: a tile is TILE_WARPS warps of 2^more chunks each. There are fewer than
 * TILES_MOST tiles. Fewer than CHUNKS_MOST chunks come after the last tile, and fewer than
 * ROWS_MOST rows of 2^ROW_LOG elements after the last chunk. */
enum {
    TILE_WARPS_LOG = 3,
    TILE_WARPS = 1 << TILE_WARPS_LOG,
    TILE_MORE = 5,
    CHUNKS_MOST = TILE_WARPS << TILE_MORE
};

enum { TILE_GROUPS = 256, TILES_MOST = TILE_GROUPS << STATES_LOG };
enum { ROW_LOG = 7, ROWS_MOST = 1 << (ELEMENTS_LOG - ROW_LOG) };

/* scan_single.cl: a tile has TILE_WARPS chunks, one for each of TILE_WARPS warps; two more warps do
 * the look-back. Its number has STATUS_LEVELS digits of RADIX_LOG bits. Local memory holds STAGES
 * tiles. The status table has a head of STATUS_HEADER bytes, then words of STATUS_WORD bytes, each
 * with 8 bytes of a state and the epoch. */
enum {
    SINGLE_THREADS = (TILE_WARPS + 2) * LANES,
    STAGES = 3,
    RADIX_LOG = 5,
    STATUS_LEVELS = 4,
    STATUS_HEADER = 16,
    STATUS_WORD = 16
};

/* scan_wave.cl: max log2 of the parts of a warp; tile numbers have two digits. */
enum { WAVE_MORE = 2, WAVE_TILES_END = 1 << (2 * RADIX_LOG) };

/* scan_down.cl: log2 of the radix of the look-back, which is TILE_WARPS; max levels; blocks whose
 * registers fit on a multiprocessor, and blocks of a launch for each.
 * DOWN_PITCH: bytes of the strip of a part in local memory. line: bytes of a row; more: bytes
 * between strips, which avoid bank conflicts. DOWN_BYTES: other bytes of a block. */
enum { COLUMN_LOG = TILE_WARPS_LOG, COLUMN_LEVELS = 7, DOWN_BLOCKS = 3, DOWN_RUN = 4 };
#define DOWN_PITCH(rows, line, more) ((rows) * (line) + ((more) > 16 ? (more) : 16))
#define DOWN_BYTES(state)            (16 + (1 + COLUMN_LEVELS) * TILE_WARPS * LANES * (int)(state))

/* segmented.cl: the local memory of a warp. It holds the elements of a window, the nodes of groups
 * of 8 elements and of 64, and for segments the offsets of a job, where each segment begins, and
 * the marks of a window: a bit for each group, the end of the window, a byte for each group. */
enum {
    SEGMENTED_SEQUENCES = 128,
    SEGMENTED_ELEMENTS = CHUNK,
    SEGMENTED_NODES = SEGMENTED_ELEMENTS / 8
};
#define SEGMENTED_NODES_AT(elem) (SEGMENTED_ELEMENTS * (int)(elem) + 16)
#define SEGMENTED_OFFSETS_AT(elem, state) \
    ((SEGMENTED_NODES_AT(elem) + SEGMENTED_NODES / 8 * 9 * (int)(state) + 15) / 16 * 16)
#define SEGMENTED_BEGIN_AT(elem, state) \
    (SEGMENTED_OFFSETS_AT(elem, state) + 8 * (SEGMENTED_SEQUENCES + 2))
#define SEGMENTED_MARKS_AT(elem, state) \
    (SEGMENTED_BEGIN_AT(elem, state) + 4 * (SEGMENTED_SEQUENCES + 4))
#define SEGMENTED_BYTES(elem, state, listed) \
    ((listed) ? SEGMENTED_MARKS_AT(elem, state) + SEGMENTED_NODES / 8 + 16 + SEGMENTED_NODES \
              : SEGMENTED_OFFSETS_AT(elem, state))

/* overwrites: results overwrite their elements. */
#define SEGMENTED_SCAN_BYTES(elem, state, result, listed, overwrites) \
    (SEGMENTED_BYTES(elem, state, listed) + ((overwrites) ? 0 : SEGMENTED_ELEMENTS * (int)(result)))

/* measure (segments.cl): segments of a thread; segments of a block; levels of nodes that it counts.
 * A slot has MEASURED_WORDS words (u32) about the offsets, two words of i64 (the first and the last
 * offset), the number of blocks that are done, and a counter of jobs for the kernel that was
 * launched speculatively (short/jobs.cl). There are two slots. */
enum {
    MEASURE_THREADS = 256,
    MEASURE_EACH = 8,
    MEASURE_GROUP = MEASURE_THREADS * MEASURE_EACH,
    NODE_LEVELS = 8
};

enum {
    LONG_COUNT = 0,
    BAD = 1,
    DIFFERENT = 2,
    BEYOND = 3,
    NODES = 4,
    MEASURED_WORDS = NODES + NODE_LEVELS
};

enum { FIRST_OFFSET = (MEASURED_WORDS + 1) / 2, LAST_OFFSET, MEASURED_LONG_WORDS };

enum {
    MEASURED_DONE = 2 * MEASURED_LONG_WORDS,
    MEASURED_NEXT,
    MEASURED_SLOT = 32,
    MEASURED_SLOTS = 2
};

/* short/: a warp may take each sequence of less than BY_WARP_END elements.
 * It keeps the nodes of its chunks in its lanes. Segments: only if their mean is at least
 * BY_WARP_MEAN. */
enum { BY_WARP_END = 8 * CHUNK + 1, BY_WARP_MEAN = CHUNK };

/* Windows: threads of a block. A tile of window_rows has 2^TILE_ROWS_LOG rows. gpu/operators.c has
 * the sizes that depend on the device and on the state. SMALL_QUADS_LOG: log2 of the items of a
 * tile with a quad for each thread. TABLE_LEVEL: what tables call level 0 of their elements
 * (window/quads.cl). */
enum { WINDOW_THREADS = 256, TILE_ROWS_LOG = 8, TILE_ROWS = 1 << TILE_ROWS_LOG, TABLE_LEVEL = 2 };
enum { SMALL_QUADS_LOG = 10 };

/* window/passes.cl: `rows` folds bits 0 to PASS_TOP of the number of rows. */
enum { PASS_TOP = 5 };

/* window/walk.cl. Kinds: windows; the three walks of longer ones. */
#define WALK_WHOLE 0
#define WALK_LEVEL 1
#define WALK_LAST  2
#define WALK_NODES 3

/* By the highest level and the bytes of a state: whether a block walks; levels whose distances are
 * below a row, and so lanes of a sequence (nodes: as few as the registers allow, since the other
 * lanes have more columns); rows at a time; states of the rows before, less one, and those of them
 * in registers; blocks of a multiprocessor, which bounds the registers: a lane has about so many
 * words of states. WALK_LEAST: min results of a part, in multiples of w. */
enum { WALK_LEAST = 2 };
#define WALK_COLUMNS_LOG(level)         ((level) < 3 ? 3 : (level) > 5 ? 5 : (level))
#define WALK_WARP_TOP(state)            ((state) > 16 ? 7 : (state) > 8 ? 8 : (state) > 4 ? 9 : 10)
#define WALK_BY_BLOCK(kind, top, state) ((kind) == WALK_WHOLE && (top) > WALK_WARP_TOP(state))
#define WALK_NEAR(kind, top, state) \
    ((kind) == WALK_NODES              ? WALK_COLUMNS_LOG((top) - ((state) > 8   ? 2 \
                                                                   : (state) > 4 ? 3 \
                                                                                 : 4)) \
     : WALK_BY_BLOCK(kind, top, state) ? 8 \
     : (top) < 5                       ? 0 \
                                       : 5)
#define WALK_LANES_OF(kind, top, state) (1 << WALK_NEAR(kind, top, state))
#define WALK_ROWS_OF(kind, top, state) \
    (WALK_BY_BLOCK(kind, top, state) ? ((state) > 8   ? (state) > 16 || (top) == 11 ? 1 : 2 \
                                        : (state) > 4 ? ((top) > 12 ? 2 : 4) \
                                                      : ((top) > 13 ? 4 : 8)) \
     : (state) > 16                  ? 1 \
     : (state) > 4                   ? 2 \
     : (state) > 2                   ? 4 \
                                     : 8)
#define WALK_ALL_OF(kind, top, state) (1 << ((top)-WALK_NEAR(kind, top, state)))
#define WALK_REGISTERS(top, state) \
    ((state) > 8   ? 1 << ((top) > 10 ? (top)-9 : 1) \
     : (state) > 4 ? ((top) > 12 ? 16 : 8) \
     : (top) > 13  ? 32 \
                   : 16)
#define WALK_KEPT_OF(kind, top, state) \
    (WALK_BY_BLOCK(kind, top, state) && WALK_ALL_OF(kind, top, state) > WALK_REGISTERS(top, state) \
         ? WALK_REGISTERS(top, state) \
         : WALK_ALL_OF(kind, top, state))
#define WALK_WORDS(kind, top, state) \
    (((kind) == WALK_LEVEL \
          ? 5 * WALK_ROWS_OF(kind, top, state) + WALK_KEPT_OF(kind, top, state) + 7 \
          : ((top) + 1) * WALK_ROWS_OF(kind, top, state) + 2 * WALK_KEPT_OF(kind, top, state) + \
                ((top) < 5 ? 12 : 8)) * \
         (((int)(state) + 3) / 4) + \
     ((kind) > WALK_LEVEL ? 13 : 0))

/* States in local memory of walks by block: boxes of the 8 levels below a row and one more; rings
 * of longer distances. */
#define WALK_BOXES(rows) (3 * WINDOW_THREADS + 9 * (rows)*WINDOW_THREADS)
#define WALK_LOCAL_BYTES(kind, top, state) \
    ((int)(state) * \
     (WALK_BOXES(WALK_ROWS_OF(kind, top, state)) + \
      2 * WINDOW_THREADS * (WALK_ALL_OF(kind, top, state) - WALK_KEPT_OF(kind, top, state))))
#define WALK_BLOCKS(kind, top, state) \
    (WALK_BY_BLOCK(kind, top, state) ? ((state) > 16 || ((state) > 8 && (top) > 11) ? 1 : 2) \
     : WALK_WORDS(kind, top, state) > ((state) > 8 ? 100 : 120) ? 1 \
     : WALK_WORDS(kind, top, state) > 60                        ? 2 \
     : WALK_WORDS(kind, top, state) > 36                        ? 3 \
                                                                : 4)

/* window/columns.cl. STEP_LOG: log2 of the elements of a step. RING_LEVELS: levels of the longest
 * window. RING_SIZE: how many nodes of level k a lane keeps, in whole steps. It keeps those that
 * the next level needs (RING_NEXT; none if that level is made in registers), and those that the
 * fold needs, which goes back by the bits of `fold` below k (RING_FOLD). */
#define STEP_LOG(state) ((state) > 8 ? 2 : 3)
enum { RING_LEVELS = 16 };
#define RING_STEPS(lag, low)   (((lag) + (1 << (low)) - 1) >> (low) << (low))
#define RING_NEXT(k, top, low) ((k) >= (low) && (k) < (top) ? 1 << (k) : 0)
#define RING_FOLD(k, fold, low) \
    ((fold) >> (k)&1 ? RING_STEPS((fold) & ((1 << (k)) - 1), low) + (1 << (low)) : 0)
#define RING_SIZE(k, top, fold, low) \
    (RING_NEXT(k, top, low) > RING_FOLD(k, fold, low) ? RING_NEXT(k, top, low) \
                                                      : RING_FOLD(k, fold, low))

/* What a launch of tiles computes. FOLD_RESULTS: results. FOLD_LEVEL: one level of longer windows,
 * which is stored in `states`. FOLD_LAST_BITS: the last bits of longer windows, which are folded
 * onto `states`, and then results. FOLD_RESULTS_ALONE: the results of longer windows that have none
 * of these bits. Folds of rows of nodes (window/rows.cl) are always stored in `states`. */
enum { FOLD_RESULTS, FOLD_LEVEL, FOLD_LAST_BITS, FOLD_RESULTS_ALONE };

/* Windows that the edge of a sequence cuts off. WITH_EDGES: this launch computes them. NO_EDGES:
 * another launch computes them, with the schedule `cut`. */
enum { WITH_EDGES, NO_EDGES };

/* window/exact.cl: items of a run; runs whose nodes a tile needs, for `heads` runs of results;
 * offsets in local memory of the nodes, and of one round of results (if these are larger than
 * items); bytes of local memory. A far tile has one round. EXACT_FAR_AT:
 * offset of the items where windows end; those of the next tile's beginnings lie behind. */
#define EXACT_RUN(state)         ((state) > 16 ? 5 : (state) > 8 ? 9 : 15)
#define EXACT_RUNS(heads, inner) ((heads) + (inner) + 2)
#define EXACT_STATES_AT(elem, state, each, d) \
    ((((each) + (d) + EXACT_RUN(state)) * (int)(elem) + 16 + 15) / 16 * 16)
#define EXACT_RESULTS_AT(elem, state, each, d) \
    ((EXACT_STATES_AT(elem, state, each, d) + \
      4 * (int)(state)*EXACT_RUNS((each) / EXACT_RUN(state), (d) / EXACT_RUN(state) - 1) + 15) / \
     16 * 16)
#define EXACT_BYTES(elem, state, result, each, d) \
    (EXACT_RESULTS_AT(elem, state, each, d) + \
     ((result) > (elem) ? WINDOW_THREADS * EXACT_RUN(state) * (int)(result) : 0))
#define EXACT_FAR_RUN(elem, state) ((elem) > 4 && (state) <= 16 ? 9 : EXACT_RUN(state))
#define EXACT_FAR_AT(elem, state) \
    ((WINDOW_THREADS * EXACT_FAR_RUN(elem, state) * (int)(elem) + 16 + 15) / 16 * 16)
#define EXACT_FAR_BYTES(elem, state, result) \
    (3 * EXACT_FAR_AT(elem, state) + \
     ((result) > (elem) ? WINDOW_THREADS * EXACT_FAR_RUN(elem, state) * (int)(result) : 0))
