/* SPDX-License-Identifier: MIT
 * Largest and smallest elements of types of one and two bytes, on lanes of their own width: an
 * express road beside the kernels that widen (widen.h), for operators whose state is one such
 * key (max, min and their nan forms).
 *
 *   element --> key: an unsigned number of its bytes, the larger it is the sooner it wins; 0 changes nothing
 *
 *   integers   the element with some bits flipped (max i8: the sign; min u8: all bits)
 *   halves     sign and magnitude as one number, flipped the same way; a NaN is the largest key,
 *              in nan forms the least
 *
 * So one text is enough for both operators and all six types; it is compiled once per
 * instruction set. */
#ifndef TALLY_NARROW_H
#define TALLY_NARROW_H
#include "context/context.h"
#include "law/scan.h"
#include "operator/plan.h"
#include <string.h>

/* The loops, for elements of one kind (bytes, two bytes, halves). Elements and results have any
 * alignment; results may take the place of the elements only in scans. stream: results are
 * stored past the caches; the caller fences. */
typedef struct tl_narrow {
    int bytes, halves;

    /* Result i is of the w elements from x + i on, 0 <= i < m. room: tl_narrow_room(w) elements. */
    void (*window)(void *out, const void *x, int64_t m, int64_t w, void *room, int stream,
                   tl_keying k);

    /* Result i is of before and x[0] .. x[i], 0 <= i < m, or if exclusive of before and x[0] ..
     * x[i - 1]. Returns the key of all m elements, without `before`. ahead: bytes from an
     * element to what is prefetched; 0: nothing. */
    uint16_t (*scan)(void *out, const void *x, int64_t m, uint16_t before, int exclusive,
                     int stream, int64_t ahead, tl_keying k);

    /* The results of `rows` sequences: of n elements from x + r * pitch on, or of those from x +
     * offsets[r] to x + offsets[r + 1]. */
    void (*fold_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t pitch,
                      const int64_t *offsets, tl_keying k);

    /* Their scans, to the same places of `out`, or to out + r * out_pitch; out may be x. */
    void (*scan_rows)(void *out, const void *x, int64_t rows, int64_t n, int64_t out_pitch,
                      int64_t pitch, const int64_t *offsets, uint16_t before, int exclusive,
                      tl_keying k);

    /* `rows` elements of each of `width` columns, x[j * step + c], go into acc[c], keys with
     * room for whole vectors. out: NULL, or what acc[c] is then (exclusive: was before) to out[j
     * * out_step + c]; out may be x. */
    void (*columns)(void *out, int64_t out_step, const void *x, int64_t step, int64_t rows,
                    int64_t width, void *acc, int exclusive, tl_keying k);

    /* Result i of column c, at out[i * out_step + c], is of x[j * step + c], i <= j < i + w, for
     * 0 <= i < m and w > 1. room: w rows of `width` elements and what fills their last vectors. */
    void (*column_windows)(void *out, int64_t out_step, const void *x, int64_t step, int64_t m,
                           int64_t w, int64_t width, void *room, tl_keying k);

    /* The results of n keys, which have room for whole vectors. */
    void (*values)(void *out, const void *keys, int64_t n, tl_keying k);
} tl_narrow;

enum { TL_NARROW_SHORT = 512 }; /* elements of windows that need no room */
static inline int64_t tl_narrow_room(int64_t w) { return w <= TL_NARROW_SHORT ? 0 : w; }

/* Scans, where the plan has a road: the next n dense elements of one, and dense sequences number
   r .. end - 1. */
void tl_narrow_scan(const tl_scan *s, tl_counter *c, const char *x, int64_t n, char *out,
                    int stream, int64_t ahead);
void tl_narrow_scan_rows(const tl_plan *plan, const tally_view *in, const tally_view *out,
                         const tally_scan_options *o, int64_t r, int64_t end);

/* Columns side by side, where the plan has a road: of a scan to `out`, else to `results`. init:
 * NULL, or the law's state of the initial value. 0: too few columns for these threads, and
 * nothing was done. */
int tl_narrow_columns(const tl_plan *plan, int threads, const tally_view *in, const tally_view *out,
                      void *results, int exclusive, int reverse, const tl_state *init);

/* The same columns' full windows of w elements, those that begin at lo .. hi - 1; the first
 * one's results go to row `first` of out. 0: they are too long. */
int tl_narrow_column_windows(const tl_plan *plan, int threads, const tally_view *in,
                             const tally_view *out, int64_t w, int64_t lo, int64_t hi,
                             int64_t first);

/* A plan's road and its keys, from the roads of its instruction set (one for each kind). */
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
