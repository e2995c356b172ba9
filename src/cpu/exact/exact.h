/* SPDX-License-Identifier: MIT
 * Exact sums of views on CPUs. Plans with `exact` have shapes of their own: the order of additions
 * does not matter. add.c adds elements in bulk; reduce.c reduces. series.c scans and computes
 * windows element by element; an element that leaves a window is subtracted. */
#pragma once

#include "context/context.h"
#include "cpu/driver.h"
#include "cpu/shape.h"
#include "exact/exact.h"

/* ---- blocks (exact_block.c) ----
 *
 * A block of an exact sum: up to TL_EXACT_BLOCK elements become three integers. */

enum {
    TL_EXACT_BLOCK = 4096, /* elements, a power of two: 16 KiB or 32 KiB in the first-level cache */
    TL_EXACT_LEVELS = 3,
    TL_EXACT_TOP_MOST = 1000 /* largest exponent with which the registers do not overflow */
};

/* Why the integers of a block are not its sum. */
enum {
    TL_EXACT_DONE = 0,
    TL_EXACT_FAR = 1,  /* some bits are below the last level */
    TL_EXACT_LARGE = 2 /* an element is 2^(top + 1) or more, infinite or NaN */
};

typedef struct {
    int top, levels;               /* input: |x| < 2^(top + 1); levels: f32 1 or 2, f64 2 or 3 */
    int without;                   /* input: NaN are skipped and counted */
    int64_t part[TL_EXACT_LEVELS]; /* the sum is the sum of part[l] 2^unit[l] */
    int unit[TL_EXACT_LEVELS];
    int64_t nan; /* NaN elements, if they are skipped */
} tl_exact_block;

/* The loops of one instruction set. n: a multiple of `step`, at most TL_EXACT_BLOCK. Of two
 * functions the first is that of f32, the second of f64. highest: the exponent of the largest
 * finite |x|; *special: is there a NaN or an infinity? */
typedef struct tl_exact_kernel {
    int step;
    int (*add[2])(const void *x, int64_t n, tl_exact_block *b);
    int (*highest[2])(const void *x, int64_t n, int *special);

    /* high[i] + low[i] = x[i] y[i], of f64 of any alignment. Returns 1 if that is exact and finite
     * for all i. */
    int (*products)(const void *x, const void *y, int64_t n, double *high, double *low);
} tl_exact_kernel;

/* ---- sums of elements (add.c, reduce.c) ---- */

/* Elements as f64, or integers of 64 bits as they are. y: the second input, if there is one. */
enum { TL_EXACT_PIECE = 512 };

typedef union {
    double f64[TL_EXACT_PIECE];
    uint64_t whole[TL_EXACT_PIECE];
} tl_exact_column;

typedef struct {
    tl_exact_column x, y;
    unsigned char absent[TL_EXACT_PIECE]; /* if the form leaves elements out */
} tl_exact_rows;

/* Loads n <= TL_EXACT_PIECE elements that are `stride` apart. */
void tl_exact_load(const tl_plan *plan, const void *x, int64_t stride, int64_t n,
                   tl_exact_rows *to);

/* Add n elements to a state, which has the sums of the plan's form. tl_exact_add: `stride` apart,
 * dense if the plan has a conversion of its own (apply_two). tl_exact_slab: dense, on up to
 * `threads` threads. */
void tl_exact_add(tl_exact *e, const tl_plan *plan, const void *x, int64_t stride, int64_t n);
void tl_exact_slab(tl_exact *e, const tl_plan *plan, int threads, const void *x, int64_t n);

/* The ranges of one sequence, for tl_ranges_run (cpu/keys/keys.h). Cannot fail. */
void tl_exact_ranges_run(const tl_plan *plan, int threads, const tl_ranges *ranges, tl_line line);

/* For streams. scan_begin begins a scan; scan_push writes its next n results and updates *e; out
 * may be x. */
void tl_exact_scan_begin(tl_exact *e, const tl_plan *plan, const tally_scan_options *options);
void tl_exact_scan_push(tl_exact *e, const tl_plan *plan, int exclusive, const void *x, int64_t n,
                        void *out);
