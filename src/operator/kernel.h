/* SPDX-License-Identifier: MIT
 * What an operator becomes when its text is compiled for one dtype: a row of facts and scalar
 * functions (tl_scalar), and for each instruction set the fast roads (tl_kernel). Shapes and
 * devices see states only as opaque bytes.
 */
#ifndef TALLY_KERNEL_H
#define TALLY_KERNEL_H
#include <stddef.h>
#include <stdint.h>
#include "tally.h"

/* The NaN that marks an element as left out (tl_par.marked): a half with all bits but the sign,
 * or a float that such a half, or one of the same, was widened to. All other NaNs among marked
 * elements are quiet ones without a payload. */
#define TL_MARK_HALF 0x7fff
#define TL_MARK_F32  0x7fff0000
#define TL_MARK_F64  0x7fffe00000000000

/* An operator's parameter, as the dialect sees it; and what kernels on keys get unsigned
   integers with. */
typedef struct tl_par {
    double value;
    /* bits that change in every element and every result that is one: the sign bit, or none */
    int64_t flip;
    /* Of a text of two inputs (OP_INPUTS): bytes from an element of the first to that of the
       second, of one type */
    int64_t second;
    /* a nan form (masked.h) leaves out marked elements (context/inputs.h) and folds other NaNs */
    int marked;
} tl_par;

/* One state, opaque. The largest are six fields of 64 bits (corr in its nan form). */
typedef struct tl_state {
    _Alignas(16) unsigned char bytes[48];
} tl_state;

enum {
    TL_TILE_LEVEL = 12,
    /* elements of a scan tile, and of the largest node a kernel folds without a counter: V^(12 /
       log2 V) for every V = 2, 4, 8, 16, so the radix-V levels come out even */
    TL_TILE = 1 << TL_TILE_LEVEL,
    /* states in a staging buffer: a tile, the state after it, and room to overrun */
    TL_SOA = TL_TILE + 64,
    TL_SOA_BYTES = TL_SOA * 48
};

/* An operator on one dtype: facts, and the text compiled as plain scalar C. */
typedef struct tl_scalar {
    /* the operator's instances: of src/op/<file>.h, or those of its nan form, nan<file> */
    const char *file;
    const char *text; /* the text, src/op/<text>.h */
    /* the file whose state, lift and combine it shares (itself, or sum for mean, var for std) */
    const char *core;
    const char *lowers;     /* the file whose lower it shares */
    tally_dtype dtype, acc; /* acc 0: no arithmetic */
    tally_dtype out;
    int lanes;
    uint8_t elem_bytes, state_bytes, result_bytes; /* result: all lanes */
    uint8_t exact, idempotent, inverse, masked, seedable, indexed, neutral;
    uint8_t inputs;   /* 1, or 2 of the same type (tl_par) */
    uint8_t picks;    /* the result is one of the elements, its bits unchanged */
    int8_t extreme;   /* OP_EXTREME: 1 the largest key, -1 the smallest, 0 neither */
    uint8_t widen;    /* TL_WIDEN_...: the elements that the kernels of the processors get, */
    tally_dtype wide; /* of this type; their states are those of `core` on it */
    void (*to_wide)(tl_state *s),
        (*from_wide)(tl_state *s); /* a state of the law's and a kernel's; NULL: the same bytes */
    void (*blank)(void *x);        /* an element that changes nothing; NULL: none is known */
    void (*lift)(tl_state *s, const void *x, int64_t i, tl_par p);
    int (*is_masked)(const void *x, tl_par p);
    /* a = combine(a, b); na, nb: the elements that each has folded, for a text that asks
       (OP_SIZES) */
    void (*combine)(tl_state *a, const tl_state *b, int64_t na, int64_t nb);
    void (*lower)(const tl_state *s, int64_t n, int64_t first, tl_par p, void *out);
    void (*empty)(tl_par p, void *out);
    void (*seed)(tl_state *s, const void *v, tl_par p);
    struct tl_user_instance *user; /* a text that a user defined (user.h); NULL: built in */
} tl_scalar;

/* How a pass asks the memory for what comes next (tl_fetch): not at all, because it is in a
 * cache, or in the machine's way. A sum from memory is 1.2 times as fast on an Intel Xeon if
 * four pages are asked for in turn instead of lines in order, because its own prefetchers work
 * page by page; on an AMD EPYC (Zen 5) lines in order are 1.3 times as fast. */
enum { TL_CACHED, TL_PAGES, TL_LINES };
static inline int tl_fetch_way(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_is("intel")) return TL_PAGES;
#endif
    return TL_LINES;
}
static inline int64_t tl_fetch_ahead(int way) { return way == TL_PAGES ? 16 << 10 : 8 << 10; }

/* For a pass over `bytes` bytes, which the second cache may hold. */
static inline int tl_fetches(int64_t bytes)
{
    return bytes >= 4 << 20 ? tl_fetch_way() : TL_CACHED;
}

/* What to ask the memory for while a tile is worked on: the caller's elements, of `bytes` bytes,
 * from `at` on; 0 bytes: nothing. Where a tile is widened, these are not the elements that the
 * kernel gets. */
typedef struct tl_next {
    const char *at;
    int64_t bytes;
    int way;
} tl_next;

/* Sequences side by side: element j of lane c is x[j * stride + c]. */
typedef struct tl_lanes {
    const void *x;
    int64_t stride; /* elements from a row to the next; negative walks backwards */
    /* these rows are elements at .. at + m - 1 of their sequences; at is a multiple of 8, and m
       too but for the last rows */
    int64_t at, m;
    int vectors; /* of lanes */
    int levels;  /* of counters in carry: at least log2((at + m) / 8) + 1, and 1 */
    int seeded;  /* a scan: S(0) is not ABSENT (seed) */
    /* a fold: NULL, or how many of the last (at + m) % 8 rows each lane has; of 8 rows, if those
       are all */
    const int32_t *ends;
    /* what the rows before left: 2 * levels + 1 vectors for each vector of lanes */
    void *carry;
    void *soa;
    int64_t to;
    int64_t ahead; /* rows from those under way to those to prefetch; 0: none */
    /* A scan where kernel->lanes_out: NULL, or inclusive results instead of states: row j to out
     * + j * out_step; stream: past the caches, where they are aligned to a vector. */
    void *out;
    int64_t out_step;
    int stream;
} tl_lanes;

/* Staged states to results: `rows` rows of m states, `width` states apart, to results row_step
 * apart. Result j of the first row has the count n + j * dn and the origin first + j * dfirst;
 * from row to row they change by row_n and row_first. counts: NULL, or the counts of one row (m
 * is a multiple of TL_ABREAST then, and dfirst 0). */
typedef struct tl_lower {
    int64_t from, m, n, first;
    int dn, dfirst, stream;
    int64_t rows, width, row_step;
    int row_n, row_first;
    const int32_t *counts, *firsts; /* firsts: with counts, NULL or the origins of one row */
} tl_lower;

/* A scan's down-sweep waits for stores, its up-sweep computes. So the first level of another
 * tile's up-sweep can be made beside the down-sweep of this one, which had its own made before. */
typedef struct tl_up {
    void *up;         /* this tile's, which is overwritten; NULL: not made yet */
    const void *soon; /* the other tile, whose first element has index `at`; NULL: none */
    int64_t at;
    void *make; /* to where */
} tl_up;

/* Ranges of a sequence (cpu/kernel/ranges_kernel.h). Level l keeps the nodes that end in the last
 * `tiles` tiles of TL_TILE places: a ring of staging buffers, of which number `first` is the
 * first and `current` is that of the current tile. */
typedef struct tl_range_ring {
    int64_t first;
    int32_t tiles, current;
} tl_range_ring;
static inline int64_t tl_range_tiles(int level)
{
    return level < TL_TILE_LEVEL ? 2 : ((int64_t)1 << (level - TL_TILE_LEVEL)) + 1;
}

/* One step: the elements of places at .. at + m - 1 become nodes of all levels, and then ranges
 * are folded, whose last elements lie in the tile of number `tile`. Places count from a multiple
 * of TL_TILE. */
typedef struct tl_range_work {
    /* at: a multiple of TL_ABREAST; all m elements lie in the tile; m may be 0 */
    const void *x;
    int64_t at, m;
    int64_t tile;
    int levels; /* at least one more than the highest bit of any length */
    const tl_range_ring *rings;
    void *nodes; /* the rings' staging buffers, all bytes 0 at first */
    /* range r is length[r] > 0 elements from place from[r] on; results: a multiple of TL_ABREAST */
    int64_t results;
    const int32_t *from, *length;
    void *soa; /* their states are staged from soa[0] on */
} tl_range_work;

struct tl_window_work; /* cpu/kernel/window_work.h */

/* Elements or results of one type from those of another (cpu/elements/convert.def). */
typedef struct tl_convert {
    int kind;
    tally_dtype from, to;
    int from_bytes, to_bytes;
    /* Any alignment; no overlap. c is the conversion itself: a call may have one of its own,
     * which knows from the place of its elements what else belongs to them
     * (cpu/inputs/gather.h); a text of two inputs gets the second ones from it. */
    void (*apply)(const struct tl_convert *c, void *to, const void *from, int64_t n);
    void (*apply_two)(const struct tl_convert *c, void *to, void *second, const void *from,
                      int64_t n);
    const struct tl_convert *then; /* of a call's own: what it does last; NULL: nothing more */
} tl_convert;

/* Elements that are left out, in front of the kernels (cpu/elements/mask.c). `to` may be `from`. */
typedef struct tl_mask {
    /* to[i] = from[i], or `fill` where bit number bit + i is 0; elements of 1, 2, 4 or 8 bytes */
    void (*mask)(void *to, const void *from, int bytes, const unsigned char *valid, int64_t bit,
                 int64_t n, uint64_t fill);
    /* to[i] = from[i], or the quiet NaN without payload for a NaN; floats */
    void (*quiet)(void *to, const void *from, tally_dtype dtype, int64_t n);
    /* The elements whose bits are 1, as neighbours; how many. `to` has room for n elements and
       64 bytes more. */
    int64_t (*keep)(void *to, const void *from, int bytes, const unsigned char *valid, int64_t bit,
                    int64_t n);
} tl_mask;

/* Sequences to the columns of a matrix, and back (cpu/elements/transpose.c). lanes: a multiple
 * of TL_ABREAST. Sequence c is at p[c] or, where p is NULL, at x + c * pitch (bytes). */
enum { TL_ABREAST = 16 };
typedef struct tl_transpose {
    /* t[j * stride + c] = element j of c, 0 <= j < n, of `bytes` bytes; up to 7 elements more
     * are read and written. Meanwhile `bytes` bytes from next.at on are prefetched. */
    void (*to_lanes)(void *t, int64_t stride, const char *const *p, const char *x, int64_t pitch,
                     int64_t lanes, int64_t n, int bytes, tl_next next);
    /* Back: n[c] <= most elements to q[c], or `most` to y + c * pitch; up to 7 rows of t more
       are read. */
    void (*from_lanes)(char *const *q, const int64_t *n, char *y, int64_t pitch, const void *t,
                       int64_t stride, int64_t lanes, int64_t most, int bytes);
} tl_transpose;

/* An operator on one dtype, compiled for one instruction set. Most types have `nodes` and `fold`
 * at most: operators whose combine is exact have shorter roads there. All the rest is for the
 * types that others are widened to (cpu/widen.h). x: dense elements, any alignment. i: the index
 * of x[0] in its sequence. */
typedef struct tl_kernel {
    tally_dtype dtype, acc, wide, out; /* wide: of the elements of its states */

    /* The nodes of S(n), largest first, one for each set bit of n > 0; returns how many. out has
     * TL_MAX_LEVELS. from: x has the elements that this conversion takes; NULL: the kernels'
     * own. fetch: how to ask for what follows (tl_fetches). */
    int (*nodes)(tl_state *out, const void *x, int64_t n, int64_t i, const tl_convert *from,
                 int fetch, tl_par p);

    /* *s = S(n) of the n > 0 elements at x, without init. */
    void (*fold)(tl_state *s, const void *x, int64_t n, int64_t i, const tl_convert *from,
                 int fetch, tl_par p);

    /* Stages S(b + j) as soa[lead + j], 0 <= j <= m (j < m when m == TL_TILE), for the 0 < m <=
     * TL_TILE elements at x, a tile whose first has index b, a multiple of TL_TILE. prefix =
     * S(b), NULL if ABSENT (then soa[lead] is garbage). Returns 1 and the tile's node when m ==
     * TL_TILE. A kernel with a lead runs along (scan_kernel.h): there b is any number, and there
     * always are a node and S(b + m). */
    int (*scan_tile)(void *soa, const void *x, int64_t m, int64_t b, const tl_state *prefix,
                     tl_state *node, tl_next next, tl_par p);
    int lead;

    /* A tile of 0 < m <= TL_TILE elements to results without staging, for the operator's own
     * lower; NULL: stage it. Inclusive, out[m - 1] of a whole tile is left to the caller (it is
     * lower(S(b + m)), which carries into b) unless there is a lead; exclusive without a prefix,
     * out[0]. out may be x. stream: out is aligned to 64 bytes, store past the caches. up: NULL,
     * or for whole tiles. */
    void (*scan_full)(void *out, const void *x, int64_t m, int64_t b, const tl_state *prefix,
                      tl_state *node, int exclusive, int stream, tl_next next, const tl_up *up,
                      tl_par p);

    /* The first level of a whole tile's up-sweep, of up_bytes bytes, aligned to 64; the tile's
     * node from there. NULL where a kernel runs along. i: the index of x[0]. */
    void (*scan_up)(void *up, const void *x, int64_t i, tl_par p);
    void (*scan_node)(tl_state *node, const void *up);
    int up_bytes;

    /* soa[j] = *s, and back. */
    void (*stage)(void *soa, int64_t j, const tl_state *s);
    void (*unstage)(const void *soa, int64_t j, tl_state *s);

    int flips; /* elements are signed keys, and unsigned integers of the same size after par.flip */
    int bare;  /* an element, its state and its result are the same bytes */

    /* out[j] = lower(soa[from + j]) for 0 <= j < m; the count is n + j * dn, the index origin
     * first + j * dfirst. stream: store past the caches; the caller fences. */
    void (*lower_row)(void *out, const void *soa, int64_t from, int64_t m, int64_t n, int dn,
                      int64_t first, int dfirst, int stream, tl_par p);

    void (*lower_rows)(void *out, const void *soa, const tl_lower *k, tl_par p);

    /* Many sequences at once: cpu/kernel/lanes_kernel.h. fold: with soa, stages S(at + m) as
     * soa[to + lane] after the last rows. scan: stages S(at + j) as soa[to + j * width + lane],
     * 0 <= j <= m, width = vectors * vector_lanes; it writes up to 7 rows more. window: stages
     * the windows of w that end at rows w - 1 .. m - 1, from soa[to] on; carry has m + 7 vectors
     * for each set bit of w. put: one lane's state into carry: slot l < levels is the counter's
     * node of 8 << l elements, levels + l is S at the last multiple of 8 << l that is none of 16
     * << l, 2 * levels S(0). */
    void (*lanes_fold)(const tl_lanes *k, tl_par p);
    void (*lanes_scan)(const tl_lanes *k, tl_par p);
    int lanes_out;
    void (*lanes_window)(const tl_lanes *k, int64_t w, tl_par p);
    void (*lanes_put)(const tl_lanes *k, int slot, int64_t lane, const tl_state *s);

    void (*ranges)(const tl_range_work *k, tl_par p);
    int64_t soa_bytes; /* of a staging buffer */

    /* Windows: cpu/kernel/window_kernel.h. A vector of states has vector_lanes lanes and
     * vector_bytes bytes, and a row window_vectors of them. */
    int vector_lanes, vector_bytes, window_vectors;
    /* OP_INVERSE: the window before it */
    void (*window_start)(struct tl_window_work *k, const tl_state *before);
    void (*window_feed)(struct tl_window_work *k, const void *x, const void *old, int64_t back,
                        int64_t beyond, int64_t lead, int64_t m, int64_t i, tl_par p);
    void (*window_lower)(void *to, const struct tl_window_work *k, int64_t from, int64_t m,
                         int64_t first, int stream, tl_par p);
    void (*window_suffix)(struct tl_window_work *k, const void *end, int64_t stop, int64_t high,
                          int64_t blocks, tl_par p);
} tl_kernel;

/* The kernels of every operator file for one instruction set; ended by file NULL. */
typedef struct tl_kernel_table {
    const char *file;
    const tl_kernel *const *kernels;
} tl_kernel_table;
#endif
