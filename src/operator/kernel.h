/* SPDX-License-Identifier: MIT
 * What an operator's text becomes when it is compiled for one element type: a row of facts and
 * scalar functions (tl_scalar), and for each instruction set a table of vector code (tl_kernel).
 * Shapes and devices see a state as opaque bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "tally.h"

/* Functions of an operator's text, and those of kernels. */
#define TL_INLINE static inline __attribute__((always_inline, unused))

/* The NaN that marks a missing element (tl_par.marked): a half with all bits set but the sign, or
 * the float that such a half widens to. Every other NaN in marked input is a quiet NaN without a
 * payload. */
#define TL_MARK_HALF 0x7fff
#define TL_MARK_F32  0x7fff0000
#define TL_MARK_F64  0x7fffe00000000000

/* What every function of an operator's text receives. */
typedef struct {
    double value;
    /* XOR mask for elements and for results that are elements: kernels on signed keys get unsigned
     * integers with the sign bit flipped. */
    int64_t flip;

    /* Operators of two inputs (OP_INPUTS): bytes from an element of the first input to its partner
     * in the second. Both inputs have the same type. */
    int64_t second;

    /* 1: a nan form (masked.h) skips only marked elements (context/device.h). */
    int marked;

    /* Nan forms that count (tl_scalar.counted): the largest number of elements of which a result
     * has no value. 0, or windows' min_count - 1. */
    int64_t insufficient;

    /* 1 in kernels whose results all have the same number of elements; not used elsewhere. */
    int same_n;
} tl_par;

/* One state, opaque. The largest have six fields of 64 bits (corr in its nan form). */
typedef struct {
    _Alignas(16) unsigned char bytes[48];
} tl_state;

enum {
    TL_TILE_LEVEL = 12,
    /* Elements of a scan tile, and of the largest node that a kernel folds without a counter. 12 is
     * a multiple of log2 V for V = 2, 4, 8, 16, so radix-V levels end at a tile. */
    TL_TILE = 1 << TL_TILE_LEVEL,

    TL_BLOCK_LEVELS = 62,

    /* States in a staging buffer: a tile, the state after it, padding for whole vectors. */
    TL_SOA = TL_TILE + 64,
    TL_SOA_BYTES = TL_SOA * 48
};

/* An operator on one dtype: facts, and the text compiled as plain scalar C. */
typedef struct {
    /* Name of the row of tables: src/op/<file>.h, or nan<file> for its nan form. */
    const char *file;
    const char *text; /* The text is src/op/<text>.h. */

    /* The operator whose state, lift and combine it shares: itself, or sum for mean. */
    const char *core;
    const char *lowers;     /* The operator whose lower it shares. */
    tally_dtype dtype, acc; /* acc 0: no arithmetic. */
    tally_dtype out;
    int lanes;
    uint8_t elem_bytes, state_bytes, result_bytes; /* result_bytes counts all lanes. */
    uint8_t exact, idempotent, inverse, masked, seedable, indexed, neutral;
    uint8_t counted; /* A nan form whose state counts elements that are not masked (masked.h). */
    uint8_t inputs;  /* 1, or 2 of the same type (tl_par.second). */
    uint8_t picks;   /* The result is one of the elements, with unchanged bits. */
    int8_t extreme;  /* OP_EXTREME: 1 the largest key, -1 the smallest, 0 neither. */

    /* CPU kernels get elements widened as `widen` says (TL_WIDEN_...), of type `wide`. Their states
     * are those of `core` on that type. */
    uint8_t widen;
    uint8_t floats; /* OP_FLOATS: sums below 2^53 may be those of the operator's form for f64. */
    tally_dtype wide;

    /* A state of `dtype` to one of the kernels, and back. NULL: both have the same bytes. */
    void (*to_wide)(tl_state *s), (*from_wide)(tl_state *s);
    void (*blank)(void *x); /* Writes an element that changes no state; NULL: none is known. */
    void (*lift)(tl_state *s, const void *x, int64_t i, tl_par p);
    int (*is_masked)(const void *x, tl_par p);

    /* a = combine(a, b). na and nb are the elements folded into each; only texts with OP_SIZES read
     * them. */
    void (*combine)(tl_state *a, const tl_state *b, int64_t na, int64_t nb);
    void (*lower)(const tl_state *s, int64_t n, int64_t first, tl_par p, void *out);
    void (*empty)(tl_par p, void *out);
    void (*seed)(tl_state *s, const void *v, tl_par p);
    struct tl_user_instance *user; /* The operator that a user defined (user.h); NULL: built in. */
} tl_scalar;

/* How a pass prefetches: not (the data is cached), in several pages in turn, or line by line.
 * Intel's own prefetchers work page by page, so four pages in turn make a sum 1.2 times as fast; on
 * AMD Zen 5 lines in order are 1.3 times as fast. */
enum { TL_CACHED, TL_PAGES, TL_LINES };

static inline int tl_prefetch_way(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_is("intel")) return TL_PAGES;
#endif
    return TL_LINES;
}

/* Prefetch distance in bytes. */
static inline int64_t tl_prefetch_distance(int way) { return way == TL_PAGES ? 16 << 10 : 8 << 10; }

/* How to prefetch in a pass over `bytes` bytes. Below 4 MiB the data may be in the second-level
 * cache. */
static inline int tl_prefetches(int64_t bytes)
{
    return bytes >= 4 << 20 ? tl_prefetch_way() : TL_CACHED;
}

/* What to prefetch while a tile is computed: `bytes` bytes of the caller's elements from `at` on,
 * which differ from the kernel's where a tile is widened. */
typedef struct {
    const char *at;
    int64_t bytes;
    int way;
} tl_prefetch;

/* Elements to fold: n > 0 dense elements of any alignment; x[0] has index i in its sequence. */
typedef struct {
    const void *x;
    int64_t n, i;
    const struct tl_convert *from; /* The conversion that they need; NULL: none. */
    int prefetch;                  /* See tl_prefetches. */
} tl_elements;

/* Dense sequences: the n elements from x + r * pitch on, or, with offsets, x + offsets[r] up to x +
 * offsets[r + 1]. Results of scans go to the same positions of out, or to out + r * out_pitch. */
typedef struct {
    void *out;
    const void *x;
    int64_t rows, n, out_pitch, pitch;
    const int64_t *offsets;
    int prefetch; /* Of fold_short and scan_short: see tl_prefetches. */
    void *stage;  /* Of scan_short: memory for results of TL_SOA states. */
} tl_dense_rows;

/* Elements to scan: m > 0 dense elements of any alignment; x[0] has index b. */
typedef struct {
    const void *x;
    int64_t m, b;
    const tl_state *prefix; /* S(b); NULL: ABSENT. Not read by scan_blocks. */
    tl_prefetch next;
    void *out, *soa; /* Results go to out, which may be x; NULL: states go to soa. */
    int exclusive;
    int stream; /* Non-temporal stores; out must be aligned to 64 bytes. */
} tl_tile;

/* The nodes of the law's counter from the level of a scan's blocks on: node[l], of 2^l blocks, for
 * each bit l of `blocks`. start[l] is S at the last multiple of 2^l blocks that is no multiple of
 * 2^(l + 1). */
typedef struct {
    int64_t blocks;
    int seeded; /* S(0) is init, else ABSENT. */
    tl_state init;
    tl_state node[TL_BLOCK_LEVELS], start[TL_BLOCK_LEVELS];
} tl_block_counter;

/* The next m elements of a stream of windows; x[0] has index i. `padding` empty places come before
 * them. `back` elements lie before x, and `beyond` elements may be read after x + m. old: where an
 * inverse is used, the elements that leave. */
typedef struct {
    const void *x, *old;
    int64_t back, beyond, padding, m, i;
} tl_window_piece;

/* Sequences side by side, one per lane: element j of lane c is x[j * stride + c]. */
typedef struct {
    const void *x;
    int64_t stride; /* Elements from one row to the next; negative: backwards. */
    /* Elements at .. at + m - 1 of their sequences. Requires: at is a multiple of 8; so is m,
     * except for the last rows. */
    int64_t at, m;
    int vectors; /* The vectors that a row of lanes fills. */

    /* Levels of the counters in carry: at least 1 and at least log2((at + m) / 8) + 1. */
    int levels;
    int seeded; /* Scan: there is an initial value, S(0) (see seed). */

    /* Fold: NULL, or how many of the last (at + m) % 8 rows each lane has; of only 8 rows, of
     * those. */
    const int32_t *ends;

    /* The state after the previous rows: 2 * levels + 1 vectors for each vector of lanes. */
    void *carry;
    void *soa;
    int64_t to;
    int64_t prefetch_distance; /* Prefetch distance in rows; 0: no prefetch. */

    /* Scan of a kernel with `direct`: where inclusive results go, or NULL to stage states. Row j
     * goes to out + j * out_step. stream: non-temporal stores; rows must be aligned to a vector.
     * packed: NULL, or where rows that lie side by side in `out` are copied to, line by line; both
     * begin at the same place in a line. Then `stream` is about these copies. */
    void *out, *packed;
    int64_t out_step;
    int stream;
} tl_lanes;

/* Lowers `rows` rows of m staged states, from soa[from] on. Rows of states are `width` apart, rows
 * of results row_step apart. Result j of the first row has the count n + j * dn and the origin
 * first + j * dfirst; each row adds row_n and row_first. counts: NULL, or the counts of one row;
 * then m is a multiple of TL_ABREAST and dfirst is 0. stream: non-temporal stores; the caller
 * issues the fence. */
typedef struct {
    int64_t from, m, n, first;
    int dn, dfirst, stream;
    int64_t rows, width, row_step;
    int row_n, row_first;
    const int32_t *counts, *firsts; /* With counts: NULL, or the origins of one row. */
} tl_lower;

/* Ranges of a sequence (cpu/kernel/ranges_kernel.h). Level l keeps the nodes that end in the last
 * `tiles` tiles of TL_TILE elements, in a ring of staging buffers from number `first` on; `current`
 * is the place of the current tile in it. */
typedef struct {
    int64_t first;
    int32_t tiles, current;
} tl_range_ring;

static inline int64_t tl_range_tiles(int level)
{
    return level < TL_TILE_LEVEL ? 2 : ((int64_t)1 << (level - TL_TILE_LEVEL)) + 1;
}

/* One step: elements at .. at + m - 1 become nodes of all levels; then the ranges whose last
 * element lies in tile number `tile` are folded. Indices count from a multiple of TL_TILE. */
typedef struct {
    /* Requires: at is a multiple of TL_ABREAST, and all m elements lie in the tile. m may be 0. */
    const void *x;
    int64_t at, m;
    int64_t tile;
    int levels; /* At least one more than the highest bit of any length. */
    const tl_range_ring *rings;
    void *nodes; /* The staging buffers of the rings, zeroed before the first step. */

    /* Range r has length[r] > 0 elements from index from[r] on. Requires: results is a multiple of
     * TL_ABREAST. */
    int64_t results;
    const int32_t *from, *length;
    void *soa; /* The ranges' states are staged from soa[0] on. */
} tl_range_work;

struct tl_window_work; /* cpu/kernel/window_work.h */

/* Converts elements or results from one type to another (cpu/elements/convert.def). */
typedef struct tl_convert {
    int kind;
    tally_dtype from, to;
    int from_bytes, to_bytes;

    /* Converts n elements, of any alignment, to another buffer. A call may supply its own
     * conversion, which derives validity or a second input from the elements' address
     * (cpu/inputs/inputs.h). apply_two writes both inputs. */
    void (*apply)(const struct tl_convert *c, void *to, const void *from, int64_t n);
    void (*apply_two)(const struct tl_convert *c, void *to, void *second, const void *from,
                      int64_t n);

    /* Own conversions: the conversion to the kernels' type that follows; NULL: none. */
    const struct tl_convert *then;
} tl_convert;

/* Bits of a validity bitmap, from bit number `bit` on. */
typedef struct {
    const unsigned char *valid;
    int64_t bit;
} tl_bits;

/* Removes or replaces missing elements before the kernels (cpu/elements/convert.c). `to` may be
 * `from`. */
typedef struct {
    /* to[i] = from[i], or `fill` where bit i is 0. Elements have 1, 2, 4 or 8 bytes. */
    void (*mask)(void *to, const void *from, int bytes, tl_bits bits, int64_t n, uint64_t fill);
    /* to[i] = from[i], or the quiet NaN without payload where from[i] is a NaN. Floats only. */
    void (*quiet)(void *to, const void *from, tally_dtype dtype, int64_t n);
    /* Packs the elements whose bits are 1; returns their number. `to` has space for n elements and
     * 64 bytes. */
    int64_t (*keep)(void *to, const void *from, int bytes, tl_bits bits, int64_t n);
} tl_mask;

enum { TL_ABREAST = 16 };

/* A matrix: element j of column c is t[j * stride + c]. Requires: lanes is a multiple of
 * TL_ABREAST. */
typedef struct {
    void *t;
    int64_t stride, lanes; /* Elements from one row to the next; columns. */
    int bytes;             /* Bytes of an element. */
} tl_matrix;

/* Sequences that are read, or written: number c is at list[c], or at first + c * pitch bytes where
 * list is NULL. */
typedef struct {
    const char *const *list;
    const char *first;
    int64_t pitch;
} tl_origins;

typedef struct {
    char *const *list;
    const int64_t *n; /* With list: elements of each. */
    char *first;
    int64_t pitch;
} tl_targets;

/* Copies sequences into the columns of a matrix and back (cpu/elements/transpose.c). */
typedef struct {
    /* t[j * stride + c] = element j of sequence c, 0 <= j < n. Up to 7 elements past the end are
     * read and written. */
    void (*to_lanes)(const tl_matrix *to, const tl_origins *from, int64_t n, tl_prefetch next);
    /* The reverse: n[c] <= most elements, or `most` without a list. Up to 7 rows past the end of
     * the matrix are read. */
    void (*from_lanes)(const tl_targets *to, const tl_matrix *from, int64_t most);
} tl_transpose;

/* One operator on one element type, for one instruction set. Most types have at most `fold`,
 * the fast path of exact operators; the extremes of f32 and f64 also `scan_run`. The rest
 * exists only for the types that the others are widened to (cpu/widen.h). */
typedef struct {
    tally_dtype dtype, acc, wide, out; /* wide: the element type that its states belong to. */

    /* *s = S(n), without an initial value. */
    void (*fold)(tl_state *s, const tl_elements *in, tl_par p);

    /* The results of many sequences, one after the other; NULL: none. */
    void (*fold_rows)(const tl_dense_rows *rows, tl_par p);

    /* Scans (cpu/kernel/scan_kernel.h) of a tl_tile: to results if `direct`, with the operator's
     * own lower, or to states: S(b + j) as soa[offset + j], 0 <= j <= m. Where S(b) is ABSENT,
     * the first of them (out[0] of an exclusive scan, soa[offset]) is undefined.
     *
     * offset > 0: a running scan, of at most TL_TILE elements from any b. *node: their node.
     *
     * offset 0: scan_blocks scans whole blocks of scan_block elements from the end of c, and
     * appends them. scan_part scans less than a block; b is a multiple of a power of two that is at
     * least m. If it is m, S(b + m) is undefined: it needs the counter. shifts: non-temporal stores
     * of scan_blocks need only out % 4 == 0. */
    int direct, offset, scan_block, shifts;
    void (*scan_run)(const tl_tile *t, tl_state *node, tl_par p);
    void (*scan_blocks)(const tl_tile *t, tl_block_counter *c, tl_par p);
    void (*scan_part)(const tl_tile *t, tl_par p);

    /* Write *s to soa[j], and read soa[j] into *s. */
    void (*stage)(void *soa, int64_t j, const tl_state *s);
    void (*unstage)(const void *soa, int64_t j, tl_state *s);

    int flips; /* Elements are signed keys; unsigned integers need par.flip. */
    int bare;  /* An element, its state and its result have the same bytes. */

    void (*lower_rows)(void *out, const void *soa, const tl_lower *k, tl_par p);

    /* Many sequences at once, one per lane (cpu/kernel/lanes_kernel.h).
     *
     * lanes_fold: if soa is given, stages S(at + m) as soa[to + lane] after the last rows.
     *
     * lanes_scan: stages S(at + j) as soa[to + j * width + lane], 0 <= j <= m, where width =
     * vectors * vector_lanes. It may write 7 rows more.
     *
     * lanes_window: stages the windows of w elements that end at rows w - 1 .. m - 1, from soa[to]
     * on. carry has m + 7 vectors for each set bit of w.
     *
     * lanes_flat: the same from soa[0] on, of rows without gaps: `stride` lanes, and at most TL_SOA
     * - vector_lanes states in all. carry has a staging buffer for each set bit of w. Reads up to a
     * vector past the rows. NULL for operators of indices and of two results.
     *
     * lanes_put: writes one lane's state into carry. Slot l < levels is the counter's node of 8 <<
     * l elements; slot levels + l is S at the last multiple of 8 << l that is not a multiple of 16
     * << l; slot 2 * levels is S(0). */
    void (*lanes_fold)(const tl_lanes *k, tl_par p);
    void (*lanes_scan)(const tl_lanes *k, tl_par p);
    void (*lanes_window)(const tl_lanes *k, int64_t w, tl_par p);
    void (*lanes_flat)(const tl_lanes *k, int64_t w, tl_par p);
    void (*lanes_put)(const tl_lanes *k, int slot, int64_t lane, const tl_state *s);

    /* fold_short: stages S of rows of at most 1024 elements as soa[r] of rows->out, from at least
     * `pitch` places of each, which a branch need not predict. scan_short: scans rows of at most
     * 256 elements that lie without gaps. Both read, and scan_short also writes, up to a vector
     * more than the longest row past the end of each. NULL: none. */
    void (*fold_short)(const tl_dense_rows *rows, tl_par p);
    void (*scan_short)(const tl_dense_rows *rows, tl_par p);

    void (*ranges)(const tl_range_work *k, tl_par p);
    int64_t soa_bytes; /* Bytes of a staging buffer. */

    /* Windows (cpu/kernel/window_kernel.h). A vector of states has vector_lanes lanes and
     * vector_bytes bytes. A row is window_vectors vectors. */
    int vector_lanes, vector_bytes, window_vectors;

    /* OP_INVERSE: `before` is the state of the window before the first one. */
    void (*window_start)(struct tl_window_work *k, const tl_state *before);
    void (*window_feed)(struct tl_window_work *k, const tl_window_piece *piece, tl_par p);

    /* Lowers m windows, from place `from` of the tile on; the first begins at index `first`.
     * window_run: NULL, or does what window_feed and window_lower do, row by row. */
    void (*window_lower)(void *to, const struct tl_window_work *k, const tl_lower *l, tl_par p);
    void (*window_run)(void *to, struct tl_window_work *k, const tl_window_piece *piece,
                       const tl_lower *l, tl_par p);
    void (*window_suffix)(struct tl_window_work *k, const void *end, int64_t stop, int64_t high,
                          int64_t blocks, tl_par p);
} tl_kernel;

/* The kernels of every operator file for one instruction set. The last row has file NULL. */
typedef struct {
    const char *file;
    const tl_kernel *const *kernels;
} tl_kernel_table;

/* ---- a plan: an operator resolved for an element type and an instruction set. It points to static
 * tables and owns nothing, so it may be copied ---- */

/* How elements of one or two bytes become keys where they are not widened (cpu/narrow/narrow.h).
 * The key of an element is its state with the bits of `flip` inverted. */
typedef struct {
    uint16_t flip;
    uint16_t inf;          /* halves: the bits of infinity */
    uint16_t nan, missing; /* the key of a NaN, and the bits of a NaN result */
} tl_keying;

typedef struct {
    const tl_scalar *op; /* facts and scalar functions */
    /* kernels on states (nodes, fold, scan_tile, ...): of op->core on the type op->wide */
    const tl_kernel *core;
    const tl_kernel *lower; /* kernels that lower states to results (lower_rows, ...) */

    /* `fold`: the kernel for the elements themselves where there is one, else that of core */
    const tl_kernel *fold;
    const tl_convert *fold_in;     /* from elements to those that `fold` reads; NULL: the same */
    const tl_convert *in;          /* from elements to those that core reads; NULL: the same */
    const tl_convert *out;         /* from results of `lower` to the caller's; NULL: the same */
    const tl_transpose *transpose; /* of the same instruction set */
    const tl_mask *mask;           /* of the same instruction set */
    const tl_convert *converts;    /* all conversions of the instruction set (convert.def) */
    tl_par par;
    const struct tl_narrow *narrow; /* fast path for elements of one or two bytes, or NULL */
    tl_keying keys;                 /* the keys of that path */

    /* An exact sum, or NULL. Only op, in and par of the plan are set then (cpu/exact/exact.h). */
    const struct tl_exact_kernel *exact;
} tl_plan;
