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
#ifndef TALLY_NARROW_H
#define TALLY_NARROW_H
#include "context/context.h"
#include "law/scan.h"
#include "operator/plan.h"
#include <string.h>

/* The loops for elements of one kind (bytes, two bytes, halves). Elements and results may have any
 * alignment. Results may overwrite the elements only in scans. stream: non-temporal stores; the
 * caller issues the fence. */
typedef struct tl_narrow {
    int bytes, halves;

    /* Result i is the extreme of the w elements x[i] .. x[i + w - 1], 0 <= i < m. room: memory for
     * tl_narrow_room(w) elements. */
    void (*window)(void *out, const void *x, int64_t m, int64_t w, void *room, int stream,
                   tl_keying k);

    /* Result i is the extreme of `before` and x[0] .. x[i] (exclusive: x[0] .. x[i - 1]), 0 <= i <
     * m. Returns the key of all m elements, without `before`. ahead: prefetch distance in bytes; 0:
     * no prefetch. */
    uint16_t (*scan)(void *out, const void *x, int64_t m, uint16_t before, int exclusive,
                     int stream, int64_t ahead, tl_keying k);

    /* The results of `rows` sequences. Sequence r is the n elements from x + r * pitch on, or, with
     * offsets, x + offsets[r] up to x + offsets[r + 1]. */
    void (*fold_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t pitch,
                      const int64_t *offsets, tl_keying k);

    /* Scans of the same sequences, to the same positions of `out`, or to out + r * out_pitch. out
     * may be x. */
    void (*scan_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t out_pitch,
                      int64_t pitch, const int64_t *offsets, uint16_t before, int exclusive,
                      tl_keying k);

    /* Folds `rows` elements of each of `width` columns, x[j * step + c], into the key acc[c]. acc
     * must have space for whole vectors. out: NULL, or the value of acc[c] after (exclusive:
     * before) row j goes to out[j * out_step + c]. out may be x. */
    void (*columns)(void *out, int64_t out_step, const void *x, int64_t step, int64_t rows,
                    int64_t width, void *acc, int exclusive, tl_keying k);

    /* Result out[i * out_step + c] is the extreme of x[j * step + c], i <= j < i + w, for 0 <= i <
     * m. Requires: w > 1. room: memory for w rows of `width` elements, each rounded up to whole
     * vectors. */
    void (*column_windows)(void *out, int64_t out_step, const void *x, int64_t step, int64_t m,
                           int64_t w, int64_t width, void *room, tl_keying k);

    /* The results of n keys, which are readable up to a whole vector. */
    void (*values)(void *out, const void *keys, int64_t n, tl_keying k);
} tl_narrow;

enum { TL_NARROW_SHORT = 512 }; /* longest windows that need no memory */
static inline int64_t tl_narrow_room(int64_t w) { return w <= TL_NARROW_SHORT ? 0 : w; }

/* Scans of plans with this path: the next n dense elements of one sequence, and the dense sequences
 * r .. end - 1. */
void tl_narrow_scan(const tl_scan *s, tl_counter *c, const char *x, int64_t n, char *out,
                    int stream, int64_t ahead);
void tl_narrow_scan_rows(const tl_plan *plan, const tally_view *in, const tally_view *out,
                         const tally_scan_options *o, int64_t r, int64_t end);

/* Columns side by side, for plans with this path: scans write to `out`, reductions to `results`.
 * init: NULL, or the state of the initial value. Returns 0, with nothing done, if there are too few
 * columns for the threads. */
int tl_narrow_columns(const tl_plan *plan, int threads, const tally_view *in, const tally_view *out,
                      void *results, int exclusive, int reverse, const tl_state *init);

/* The full windows of w elements of the same columns that begin at rows lo .. hi - 1. The first
 * result goes to row `first` of out. Returns 0, with nothing done, if this path does not take the
 * windows. */
int tl_narrow_column_windows(const tl_plan *plan, int threads, const tally_view *in,
                             const tally_view *out, int64_t w, int64_t lo, int64_t hi,
                             int64_t first);

/* Sets the path and the keys of a plan. `roads`: the loops of its instruction set, one for each
 * kind. */
void tl_narrow_plan(tl_plan *plan, const tl_narrow *roads);

static inline uint16_t tl_key_of(const tl_plan *plan, const tl_state *s)
{
    uint16_t m = s->bytes[0];
    if (plan->op->state_bytes == 2) memcpy(&m, s, sizeof m);
    return m ^ plan->keys.flip;
}
static inline void tl_of_key(const tl_plan *plan, uint16_t key, tl_state *s)
{
    key ^= plan->keys.flip;
    if (plan->op->state_bytes == 2)
        memcpy(s, &key, sizeof key);
    else
        s->bytes[0] = (unsigned char)key;
}
#endif
