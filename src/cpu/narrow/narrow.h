/* SPDX-License-Identifier: MIT
 * A fast path for max, min and their nan forms on types of one and two bytes, in lanes of that
 * width. It replaces the kernels that widen (widen.h) for operators whose state is one such key.
 *
 *   element --> key: an unsigned number of the same width. The largest key wins; key 0 never wins
 *
 *   integers   the element with some bits inverted (max i8: the sign; min u8: all bits)
 *   halves     sign and magnitude as one number, inverted the same way; a NaN has the largest key,
 *              in nan forms the smallest
 *
 * So one text serves both operators and all six types. It is compiled once per instruction set. */
#pragma once

#include "context/context.h"
#include "law/counter.h"
#include "operator/kernel.h"
#include <assert.h>
#include <string.h>

/* m dense elements of one sequence. stream: non-temporal stores; the caller issues the fence. */
typedef struct {
    void *out;
    const void *x;
    int64_t m;
    int stream;
    int64_t prefetch_distance; /* scans: prefetch distance in bytes; 0: no prefetch */
} tl_narrow_run;

/* `rows` elements of each of `width` adjacent columns, x[j * step + c]. */
typedef struct {
    void *out;
    int64_t out_step;
    const void *x;
    int64_t step, rows, width;
} tl_narrow_strip;

/* The loops for elements of one kind (bytes, two bytes, halves). Elements and results may have any
 * alignment. Results may overwrite the elements only in scans. */
typedef struct tl_narrow {
    /* Result i is the extreme of the w elements x[i] .. x[i + w - 1], 0 <= i < m. buffer: memory
     * for tl_narrow_buffer(w) elements. */
    void (*window)(const tl_narrow_run *run, int64_t w, void *buffer, tl_keying k);

    /* Result i is the extreme of `before` and x[0] .. x[i] (exclusive: x[0] .. x[i - 1]), 0 <= i <
     * m. Returns the key of all m elements, without `before`. */
    uint16_t (*scan)(const tl_narrow_run *run, uint16_t before, int exclusive, tl_keying k);

    /* One result for each sequence. */
    void (*fold_rows)(const tl_dense_rows *s, tl_keying k);
    void (*scan_rows)(const tl_dense_rows *s, uint16_t before, int exclusive, tl_keying k);

    /* Folds each column into the key acc[c], which has space for whole vectors. out: NULL, or the
     * value of acc[c] after (exclusive: before) row j goes to out[j * out_step + c]. */
    void (*columns)(const tl_narrow_strip *s, void *acc, int exclusive, tl_keying k);

    /* Result out[i * out_step + c] is the extreme of x[j * step + c], i <= j < i + w, for 0 <= i <
     * rows. buffer: memory for w > 1 rows of `width` elements, each rounded up to whole vectors. */
    void (*column_windows)(const tl_narrow_strip *s, int64_t w, void *buffer, tl_keying k);

    /* The results of n keys, which are readable up to a whole vector. */
    void (*values)(void *out, const void *keys, int64_t n, tl_keying k);
} tl_narrow;

enum { TL_NARROW_SHORT = 512 }; /* longest windows that need no memory */
static inline int64_t tl_narrow_buffer(int64_t w) { return w <= TL_NARROW_SHORT ? 0 : w; }

/* Scans the dense sequences r .. end - 1. (scan_tiles.c scans one sequence.) */
void tl_narrow_scan_rows(const tl_plan *plan, const tally_view *in, const tally_view *out,
                         const tally_scan_options *o, int64_t r, int64_t end);

/* Rows of a strip of columns (cpu/lanes.h); `from` and `to` have all rows. tl_narrow_rows: folds m
 * rows from number `at` on (reversed: of the last row first) into the keys acc; with `to` it writes
 * the results of a scan. tl_narrow_windows: the full windows from number `at` on; the w rows of one
 * have at most TL_NARROW_ROWS bytes. */
enum { TL_NARROW_ROWS = 16 * 1024 };
struct tl_lanes_job;
struct tl_lanes_from;
struct tl_lanes_to;
void tl_narrow_rows(const struct tl_lanes_job *job, const struct tl_lanes_from *from,
                    const struct tl_lanes_to *to, int64_t at, int64_t m, void *acc);
void tl_narrow_windows(const struct tl_lanes_job *job, const struct tl_lanes_from *from,
                       const struct tl_lanes_to *to, int64_t at, int64_t windows);

static inline uint16_t tl_key_of(const tl_plan *plan, const tl_state *s)
{
    assert(plan->narrow && plan->op->state_bytes <= 2);
    uint16_t m = s->bytes[0];
    if (plan->op->state_bytes == 2) memcpy(&m, s, sizeof m);
    return m ^ plan->keys.flip;
}

static inline void tl_key_to_state(const tl_plan *plan, uint16_t key, tl_state *s)
{
    key ^= plan->keys.flip;
    if (plan->op->state_bytes == 2)
        memcpy(s, &key, sizeof key);
    else
        s->bytes[0] = (unsigned char)key;
}
