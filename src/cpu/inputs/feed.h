/* SPDX-License-Identifier: MIT
 * Adds a view with validity or of two inputs to a stream or a fragment. The kernels fold a form of
 * the operator (context/inputs.h); the nodes that are added have states of the law:
 *
 *   plain, blank        the form's states are the operator's own. A node without elements is a
 *                       neutral state, or its state marks it as empty
 *   mark                states of the nan form become counted states (law/counter.h): with the
 *                       number that the form itself keeps, or with a count folded beside it
 *   states              counted states, computed step by step by the law. So are marks whose states
 *                       have other fields (argmin of small integers: its nan form has keys of f64)
 *
 * So the states of all pushes and parts can be combined, whichever of them had missing elements. */
#ifndef TALLY_FEED_H
#define TALLY_FEED_H

#include "context/inputs.h"
#include "cpu/grid/grid.h"
#include "law/counter.h"
#include "law/slabs.h"

typedef struct tl_feed {
    tl_form form;
    tl_plan plan, count; /* of form.op, and of operator count on f32 */
    int counted;         /* 1: its states are counted */
} tl_feed;

/* Chooses the form in which `named` takes elements. absent: elements may be missing. by_states:
 * folded step by step by the law, with counted states if absent (except for nan forms and operators
 * with a blank element). The caller fills in the plans. */
void tl_feed_begin(tl_feed *f, const tl_scalar *named, tl_par par, int absent, int by_states);

/* Fills the states of a slab of in->rows sequences with the elements of a checked and normalised
 * view. The slab is counted if the feed is. */
tally_status tl_feed_slab(tally *ctx, const tl_feed *f, const tally_view *in, tl_slab *slab);

/* Continues the scan of one sequence; writes its n results to out, which has one row too and may be
 * `in`. s: its counter is counted if the feed is. init: NULL, or the value that s was seeded
 * with. */
tally_status tl_feed_scan(tally *ctx, const tl_feed *f, const tally_view *in, const tally_view *out,
                          tl_scan *s, const void *init);

/* The same for many sequences, step by step by the law. Requires: the feed is by_states, and
 * counted if `from` is. */
typedef struct tl_feed_rows {
    const tl_slab *from; /* all elements before, from 0 on; NULL: none */
    tl_slab *to;         /* all elements so far */
    int exclusive;
    const tl_state *init; /* NULL: no initial value */
} tl_feed_rows;

tally_status tl_feed_scan_rows(tally *ctx, const tl_feed *f, const tally_view *in,
                               const tally_view *out, const tl_feed_rows *rows);

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

#endif
