/* SPDX-License-Identifier: MIT
 * The constants that the kernels and the host share: part of every program, and included by the
 * C files of device/ that launch kernels. C, CUDA and OpenCL C read it. Sizes that depend on the
 * operator are defined by gpu/program.c. */

/* Lanes of a warp; items side by side that a lane takes at a time. */
enum { LANES = 32, QUAD = 4 };

/* A chunk has 2^ELEMENTS_LOG elements and its node is of level 1; 2^STATES_LOG nodes of a level
 * make one of the next. So n elements have n >> LEVEL_LOG(level) full nodes of a level above 0. */
enum { ELEMENTS_LOG = 10, STATES_LOG = 8, CHUNK = 1 << ELEMENTS_LOG };
#define LEVEL_LOG(level) (ELEMENTS_LOG - STATES_LOG + STATES_LOG * (level))

/* level.cl, nodes of columns: warps that share a chunk; threads of a group. */
enum { COLUMN_PARTS = 4, COLUMN_THREADS = COLUMN_PARTS * LANES };

/* Flags of a batch: sequences have offsets, and `first`; ids chooses among them; reduce gives
   states. */
enum { OFFSETS = 1, CHOSEN = 2, STATES = 4 };

/* What comes before a sequence of a scan: nothing, one value for all, or a state for each,
   packed. */
enum { SEED_NONE, SEED_VALUE, SEED_STATES };

/* law.cl: threads of a group. */
enum { LAW_THREADS = 64 };

/* grid.cl: threads of a group; steps of a block; bundles of 16 bytes that a lane copies at once. */
enum { GRID_THREADS = 256, GRID_LOG = 3, GRID_BLOCK = 1 << GRID_LOG, GRID_BUNDLES = 4 };

/* prepare.cl: threads of a group; types as numbers; what a launch does. */
enum { PREPARE_THREADS = 256 };
enum { KIND_SIGNED = 1, KIND_UNSIGNED, KIND_FLOAT, KIND_BFLOAT };
#define TYPE(kind, bytes) ((kind)*16 + (bytes))
#define TYPE_KIND(type)   ((type) >> 4)
#define TYPE_BYTES(type)  ((type)&15)
enum {
    PREPARE_PAIRS = 1,  /* of two inputs */
    PREPARE_X_BITS = 2, /* x, y has a bitmap */
    PREPARE_Y_BITS = 4,
    PREPARE_QUIET = 8,   /* NaNs become quiet ones without a payload */
    PREPARE_COUNTS = 16, /* a byte for each element: 1 if it counts, */
    PREPARE_MASKED = 32, /* and a NaN does not */
    PREPARE_ZEROS = 64   /* zeros of x become +0 */
};

/* keys.cl: threads of a group; keys of a tile, a word of 32 bits for each thread; tiles of a
 * step; heads that lie in local memory at a time; keys of a unit, of at most 16 bytes. */
enum {
    KEYS_THREADS = 256,
    KEYS_TILE = 32 * KEYS_THREADS,
    KEYS_TILES = 4,
    KEYS_STEP = KEYS_TILES * KEYS_TILE
};
enum { KEYS_LIST = 8192 };
#define KEYS_UNIT(bytes) ((bytes) == 8 ? 2 : (bytes) == 4 ? 4 : 8)

/* exact/: threads of a group, groups of a processor, items of a job at most; of sums and of
 * products of pairs the digits below 2^-1074, all digits, and words of u32 of all bins; what a
 * launch does. */
enum { EXACT_THREADS = 256, EXACT_BLOCKS = 3, EXACT_MOST = 1 << 27 };
enum { EXACT_LOW_SUMS = 2, EXACT_LOW_PAIRS = 34 };
#define EXACT_DIGITS_OF(pairs) ((pairs) ? 134 : 70)
#define EXACT_WORDS_OF(pairs)  (2 * (EXACT_DIGITS_OF(pairs) + 4))
enum { EXACT_MASKS = 5 }; /* words of a bit for each digit, behind the bins */
/* And sum.cl's EXACT_TOP, and one so that they are an odd number. */
#define EXACT_ROOM_OF(pairs) (EXACT_WORDS_OF(pairs) + EXACT_MASKS + 2)
/* words of a short row (rows.cl); registers of a lane for it */
enum { NARROW_ROOM = 3, EXACT_LEVELS_MOST = 4 };
enum {
    EXACT_MARKED = 1, /* elements of -0 are left out */
    EXACT_MASKED = 2, /* and NaNs are */
    EXACT_MEAN = 4,
    EXACT_F64 = 8 /* results are f64, else f32 */
};

/* once (once.cl): a tile is TILE_WARPS warps of 2^more chunks each; there are less than
 * TILES_MOST. After the last tile come less than CHUNKS_MOST chunks, after the last chunk less
 * than ROWS_MOST rows of 2^ROW_LOG elements. */
enum {
    TILE_WARPS_LOG = 3,
    TILE_WARPS = 1 << TILE_WARPS_LOG,
    TILE_MORE = 5,
    CHUNKS_MOST = TILE_WARPS << TILE_MORE
};
enum { TILE_GROUPS = 256, TILES_MOST = TILE_GROUPS << STATES_LOG };
enum { ROW_LOG = 7, ROWS_MOST = 1 << (ELEMENTS_LOG - ROW_LOG) };

/* scan_once.cl: a tile has a warp for each of its TILE_WARPS chunks, and two more. Its number
 * has BOARD_LEVELS digits of RADIX_LOG bits. STAGES tiles are in local memory. The board:
 * ONCE_HEADER bytes, then words of ONCE_WORD bytes, a piece of a state and the epoch. */
enum {
    ONCE_THREADS = (TILE_WARPS + 2) * LANES,
    STAGES = 3,
    RADIX_LOG = 5,
    BOARD_LEVELS = 4,
    ONCE_HEADER = 16,
    ONCE_WORD = 16
};

/* scan_down.cl: levels of nodes of tiles, and their radix, which is TILE_WARPS; groups of a
   processor. */
enum { COLUMN_LOG = TILE_WARPS_LOG, COLUMN_LEVELS = 7, DOWN_RUN = 4 };

/* forest.cl: what a warp's room holds: the elements of a window; nodes of groups of 8 elements
 * and of 64; for segments the offsets of a job, and where they begin. */
enum { FOREST_SEQUENCES = 128, FOREST_ELEMENTS = CHUNK, FOREST_NODES = FOREST_ELEMENTS / 8 };
#define FOREST_NODES_AT(elem) (FOREST_ELEMENTS * (int)(elem) + 16)
#define FOREST_OFFSETS_AT(elem, state)                                                             \
    ((FOREST_NODES_AT(elem) + FOREST_NODES / 8 * 9 * (int)(state) + 15) / 16 * 16)
#define FOREST_BEGIN_AT(elem, state) (FOREST_OFFSETS_AT(elem, state) + 8 * (FOREST_SEQUENCES + 2))
#define FOREST_BYTES(elem, state, listed)                                                          \
    ((listed) ? FOREST_BEGIN_AT(elem, state) + 4 * (FOREST_SEQUENCES + 4)                          \
              : FOREST_OFFSETS_AT(elem, state))

/* in_room: results take the places of their elements. */
#define FOREST_SCAN_BYTES(elem, state, result, listed, in_room)                                    \
    (FOREST_BYTES(elem, state, listed) + ((in_room) ? 0 : FOREST_ELEMENTS * (int)(result)))

/* measure (segments.cl): segments of a thread; words of u32 of what it says of offsets, then two
 * of i64, in one of two slots; in the slot, groups that are done, and jobs that the kernel which
 * goes ahead has given out (middle_*.cl). */
enum {
    MEASURE_THREADS = 256,
    MEASURE_EACH = 8,
    MEASURE_GROUP = MEASURE_THREADS * MEASURE_EACH,
    NODE_LEVELS = 8
};
enum {
    LONGS = 0,
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

/* middle_reduce.cl, middle_scan.cl: sequences below so many elements may be a warp's each, which
 * keeps a chunk's node in each of its lanes. Segments: if their mean is as long. */
enum { MIDDLE_END = 8 * CHUNK, MIDDLE_MEAN = CHUNK };

/* Windows: threads of a group. A tile of window_rows has 2^TILE_ROWS_LOG rows. */
enum { WINDOW_THREADS = 256, TILE_ROWS_LOG = 8, TILE_ROWS = 1 << TILE_ROWS_LOG };

/* window/passes.cl: the radix is of the operator (PASS_LOG, its log2), and so are the items of a
 * thread (PASS_RUN); the pass `rows` folds bits 0 to PASS_TOP of its own. A radix of
 * 2^DIGIT_LOG: window/digits.cl, w being below 2^(DIGIT_LOG * DIGITS). */
enum { PASS_TOP = 5, DIGITS = 3 };
#define DIGIT_LOG 3

/* window/along.cl: results of a tile; places of states that its levels take. (Threads may read
 * and write past what is asked for.) */
enum { ALONG_PAST = 24 };
#define ALONG(log)         (((log) == 5 ? 5 : 9) << (2 * (log)))
#define ALONG_HIGH(log, w) (((w) - (1 << (2 * (log))) + ALONG(log) + 7) / 4 * 4)
#define ALONG_LOW(log)     ((1 << (2 * (log))) - (1 << (log)) + ALONG(log) + ALONG_PAST)
#define ALONG_X(log)       ((1 << (log)) + ALONG(log) + ALONG_PAST)

/* Windows of columns (window/columns.cl): elements of a step, as a power of 2; levels of the
 * longest window. The nodes that a lane keeps of level k: those that the next level needs, if it
 * is not made in registers, and those that a fold needs which goes back `fold`'s bits below k;
 * in whole steps. */
#define WALK_LOG(state) ((state) > 8 ? 2 : 3)
enum { WALK_LEVELS = 16 };
#define RING_STEPS(lag, low)   (((lag) + (1 << (low)) - 1) >> (low) << (low))
#define RING_NEXT(k, top, low) ((k) >= (low) && (k) < (top) ? 1 << (k) : 0)
#define RING_FOLD(k, fold, low)                                                                    \
    ((fold) >> (k)&1 ? RING_STEPS((fold) & ((1 << (k)) - 1), low) + (1 << (low)) : 0)
#define RING_SIZE(k, top, fold, low)                                                               \
    (RING_NEXT(k, top, low) > RING_FOLD(k, fold, low) ? RING_NEXT(k, top, low)                     \
                                                      : RING_FOLD(k, fold, low))

/* What window_part and window_tall_part make of their tiles: results; a level of a longer
 * window's items; a longer window's last bits, and its results; the results of a longer window
 * that has none of these bits. */
enum { PART_RESULTS, PART_LEVEL, PART_LAST_BITS, PART_RESULTS_ALONE };

/* Windows that an edge cuts off: the launch has them too; or they have a launch of `window`, and
 * all others one of `window_whole`. */
enum { EDGES_TOO, EDGES_APART };

/* window/exact.cl: items of a run; runs that a tile of so many runs of results needs nodes for;
 * where nodes and (if they are larger than items) a round of results are in local memory, and
 * the bytes of all. */
#define EXACT_RUN(state)          ((state) > 16 ? 5 : (state) > 8 ? 9 : 15)
#define EXACT_RUNS(heads, middle) ((heads) + (middle) + 2)
#define EXACT_STATES_AT(elem, state, each, d)                                                      \
    ((((each) + (d) + EXACT_RUN(state)) * (int)(elem) + 16 + 15) / 16 * 16)
#define EXACT_RESULTS_AT(elem, state, each, d)                                                     \
    ((EXACT_STATES_AT(elem, state, each, d) +                                                      \
      4 * (int)(state)*EXACT_RUNS((each) / EXACT_RUN(state), (d) / EXACT_RUN(state) - 1) + 15) /   \
     16 * 16)
#define EXACT_BYTES(elem, state, result, each, d)                                                  \
    (EXACT_RESULTS_AT(elem, state, each, d) +                                                      \
     ((result) > (elem) ? WINDOW_THREADS * EXACT_RUN(state) * (int)(result) : 0))
