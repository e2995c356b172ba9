/* SPDX-License-Identifier: MIT
 * Elements with a validity bitmap, and pairs from two views, on processors. */
#pragma once

#include "context/device.h"
#include "cpu/grid/grid.h"
#include "cpu/keys/keys.h"
#include "exact/exact.h"
#include "law/counter.h"
#include "operator/kernel.h"

/* ---- gather.c ----
 *
 * Elements that are more than a value in memory: those of a view with a validity bitmap, and pairs
 * from two views. Such a call has its own conversion (tl_convert). From the address of an element
 * it finds the validity bit and the second input, and produces what the kernels read:
 *
 *   x --convert--> prepared type --quiet NaN--> missing ones = `fill` --> kernels' type (widen.h)
 *   y --convert--> prepared type -----------------------------------> beside x
 *
 * This works where kernels read elements in place. Elements with strides, which would be packed
 * before, are first prepared into dense arrays (tl_gather_dense). tl_prepare_inputs does one or the
 * other. */

typedef struct tl_source {
    const char *data; /* element 0 */
    int64_t bytes;    /* bytes of an element */
    const tl_convert *in;
    const unsigned char *valid;
    int64_t offset; /* the bit number of element 0 */
} tl_source;

typedef struct {
    tl_convert convert; /* must be first */
    tl_source of[2];
    /* Counts: zeros: every element present becomes 0; joined: the two inputs become one. */
    int zeros, joined;
    int inputs;
    const tl_mask *mask;
    tally_dtype dtype; /* the prepared type */
    int64_t bytes;
    uint64_t fill;
    int quiet;
    int late;   /* missing elements are filled after widening */
    int unsign; /* -0 becomes +0, because `fill` is -0 */
    int whole;  /* elements may be missing and have no blank (tl_exact_form.absent) */

    /* op.scalar: of the plan, for elements as they are in memory. The rest is for exact sums. */
    tl_exact_form op;
} tl_gather;

/* Do the CPU kernels read each element of `in` in place? out: NULL, or the results of a scan. */
int tl_gather_reads(const tally_view *in, const tally_view *out, int reverse);

/* Makes *plan, a plan for the elements of `form`, read the elements of `in`. g must live as long as
 * the plan. */
void tl_gather_direct(tl_gather *g, const tl_form *form, const tally_view *in, tl_plan *plan);

/* Dense copies: the prepared elements, one sequence after the other, reversed if `reverse`.
 * tl_gather_numbers: what count on f32 reads. */
typedef struct {
    tally_view view, second; /* second: of the second input; view.next is NULL */
    void *memory;
} tl_gathered;

/* Copies that are freed where the block ends. */
#define TL_GATHERED(name) \
    __attribute__((cleanup(tl_gathered_free))) tl_gathered name = {.memory = NULL}
void tl_gathered_free(tl_gathered *dense);

tally_status tl_gather_dense(tally *ctx, const tl_form *form, const tally_view *in,
                             const tl_plan *plan, int reverse, tl_gathered *dense);
tally_status tl_gather_numbers(tally *ctx, const tl_form *form, const tally_view *in,
                               const tl_plan *plan, int reverse, tl_gathered *dense);

/* Plans, and the elements that they read. */
typedef struct tl_prepared {
    tl_plan plan, count;   /* of the form, and of operator count on f32 */
    tally_view work;       /* what `plan` reads; its next is NULL */
    tally_view count_work; /* what `count` reads: `work`, or of exchanged copies their counts */
    tl_gather gather, counting;
    tl_gathered gathered, counts; /* dense copies; memory NULL: elements are read in place */
    const float *there;           /* TL_FORM_STATES: a NaN for each missing element of `work` */
} tl_prepared;

typedef struct {
    int in_place; /* kernels read each element in place (tl_gather_reads) */
    int counts;   /* `count` is to count the elements that `plan` folds */
    int reverse;  /* copies are reversed */
    int exchange; /* copies of columns may have rows and columns exchanged, as the views tell */
} tl_prepare_mode;

/* Makes p->work, and the plans that read it. Before: p has both plans, and is zero otherwise. The
 * caller must free p in every case. */
tally_status tl_prepare_inputs(tl_prepared *p, tally *ctx, const tl_form *form,
                               const tally_view *in, tl_prepare_mode mode);
void tl_prepared_free(tl_prepared *p);

/* ---- states.c ----
 *
 * The verbs one state after the other, by the law's own steps. For operators that have no form in
 * which an element can be missing (context/device.h, TL_FORM_STATES). Slow: a
 * window folds all of its elements anew. */

/* Element j of dense sequences (tl_gather_dense) is missing if there[j] is a NaN. tl_states_ranges:
 * the windows of a sequence of n elements. */
void tl_states_ranges(const tl_plan *plan, int threads, const tl_ranges *ranges, tl_line line,
                      const float *there);

/* What comes before the elements of a scan, or of the next part of sequences. */
typedef struct {
    const tl_slab *from; /* parts: all elements before, from 0 on; NULL: none */
    tl_slab *to;         /* all elements so far, which may be counted; NULL: a whole scan */
    int exclusive;
    const tl_state *init; /* NULL: no initial value */
} tl_states_parts;

/* The sequences p->work; number r is row first + r of `out` and of slabs. parts NULL: reduces them
 * to `out`. Else scans them to `out`, if it is not NULL. */
void tl_states_rows(const tl_prepared *p, int threads, const tally_view *out,
                    const tl_states_parts *parts, int64_t first);

/* Prepared elements of a sequence, without gaps, and results `step` bytes apart. */
typedef struct {
    const char *x;
    const float *there;
    int64_t n;
} tl_states_row;

typedef struct {
    char *at;
    int64_t step;
} tl_states_out;

/* A counter, and S after each of its nodes: of nodes 0 .. j it is prefix[j + 1], with n[j + 1]
 * elements, if any is present[j + 1]. Entry 0 is the initial value. */
typedef struct {
    tl_counter c;
    tl_state prefix[TL_MAX_NODES + 1];
    int present[TL_MAX_NODES + 1];
    int64_t n[TL_MAX_NODES + 1];
} tl_prefixes;

/* Computes the prefixes of p->c. init: NULL, or the state of the initial value. */
void tl_prefixes_begin(tl_prefixes *p, const tl_scalar *op, const tl_state *init);

/* Pushes elements, and writes a result for each. */
void tl_states_scan_row(tl_prefixes *p, const tl_plan *plan, tl_states_row row, int exclusive,
                        tl_states_out out);

/* ---- states.c: reductions ---- */

/* Reductions of elements with validity that fold only the elements present. Requires: kernels read
 * them in place (tl_gather_reads), and the operator has one input.
 *
 *   class X         the elements present are packed and go through the kernels of dense elements,
 *                   because any association gives the bits
 *   blank states    the operator shares the states of another operator that has a blank element
 *                   (the mean of floats has those of sum): the kernels of that operator, and the
 *                   number of elements from the bitmap */

/* Does tl_present_reduce support the operator? plan: of the operator asked for. */
int tl_present_takes(const tl_scalar *op);
void tl_present_reduce(const tl_plan *plan, int threads, const tally_view *in, char *out);

/* form: MARK. Returns 1 and sets *blank to the operator's form with the blank of the other
 * operator; then the plan must be of blank->op. Requires: `in` is one sequence. */
int tl_present_blank(const tl_form *form, tl_form *blank);
void tl_present_reduce_blank(const tl_plan *plan, const tl_form *blank, int threads,
                             const tally_view *in, char *out);

/* ---- feed.c ----
 *
 * Adds a view with validity or of two inputs to a stream or a fragment. The kernels fold a form of
 * the operator (context/device.h); the nodes that are added have states of the law:
 *
 *   plain, blank        the form's states are the operator's own. A node without elements is a
 *                       neutral state, or its state marks it as empty
 *   mark                states of the nan form become counted states (law/counter.h): with the
 *                       number that the form itself keeps, or with a count folded beside it
 *   states              counted states, computed step by step by the law. So are marks whose states
 *                       have other fields (argmin of small integers: its nan form has keys of f64)
 *
 * So the states of all pushes and parts can be combined, whichever of them had missing elements. */

typedef struct {
    tl_form form;
    tl_plan plan, count; /* of form.op, and of operator count on f32 */
    int counted;         /* 1: its states are counted */
} tl_feed;

/* Chooses the form in which `named` takes elements. absent: elements may be missing. by_states:
 * step by step by the law, with counted states if absent (except for nan forms and operators with a
 * blank). The caller fills in the plans. */
void tl_feed_begin(tl_feed *f, const tl_scalar *named, tl_par par, int absent, int by_states);

/* Fills the states of a slab of in->rows sequences with the elements of a checked and normalised
 * view. The slab is counted if the feed is. */
tally_status tl_feed_slab(tally *ctx, const tl_feed *f, const tally_view *in, tl_slab *slab);

/* Continues the scan of one sequence; out has one row too and may be `in`. s: its counter is
 * counted if the feed is. init: NULL, or the value that s was seeded with. */
tally_status tl_feed_scan(tally *ctx, const tl_feed *f, const tally_view *in, const tally_view *out,
                          tl_scan *s, const void *init);

/* tl_feed_scan for many sequences, step by step by the law. Requires: the feed is by_states, and
 * counted if `from` is. */
tally_status tl_feed_rows(tally *ctx, const tl_feed *f, const tally_view *in, const tally_view *out,
                          const tl_states_parts *rows);

/* Can the view be pushed into a grid (cpu/grid)? It must have one input, whose form is the operator
 * itself, not counted. */
static inline int tl_feed_fits_grid(const tl_feed *f)
{
    return !f->counted && f->form.op == f->form.named && f->form.op->inputs == 1;
}

/* Adds to *pushed the number of steps that were pushed; if the push fails, the steps before the
 * failure. */
tally_status tl_feed_grid(tally *ctx, const tl_feed *f, const tally_view *in, const tally_view *out,
                          tl_grid *grid, int64_t *pushed);
