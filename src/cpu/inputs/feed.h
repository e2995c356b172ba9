/* SPDX-License-Identifier: MIT
 * What a view with validity, or of two inputs, adds to a stream or to a fragment: nodes whose
 * states are the law's, in whatever form the kernels folded them (context/inputs.h).
 *
 *   plain, blank, nan   the form's states are the operator's own: a node of nothing is a neutral
 *                       state, or says so
 *   mark                states of the nan form, which become counted ones (law/counter.h): its
 *                       own number of elements, or a count beside it
 *   states              counted ones by the law's steps; so are marks whose states have other
 *                       fields (argmin of small integers, whose nan form has keys of f64)
 *
 * So states of all pushes and parts meet, whichever of them had elements left out. */
#ifndef TALLY_FEED_H
#define TALLY_FEED_H
#include "context/inputs.h"
#include "cpu/grid/grid.h"
#include "law/scan.h"
#include "law/slabs.h"

typedef struct tl_feed {
    tl_form form;
    tl_plan plan, count; /* of form.op, and of count on f32 */
    int counted;         /* are its states? */
} tl_feed;

/* The form in which `named` takes elements that may be left out (absent) or not. by_states: by
 * the law's steps, counted if absent (but not nan forms, and what has a blank). The caller fills
 * the plans. */
void tl_feed_begin(tl_feed *f, const tl_scalar *named, tl_par par, int absent, int by_states);

/* Fills the states of a slab of in->rows sequences, whose elements are those of a checked and
 * normal view; it is counted as the feed is. */
tally_status tl_feed_slab(tally *ctx, const tl_feed *f, int threads, const tally_view *in,
                          tl_slab *slab);

/* One sequence goes on: its n results to out, which has one row too and may be `in`. s: with a
 * counter that is counted if the feed is. init: NULL, or the value that s was seeded with. */
tally_status tl_feed_scan(tally *ctx, const tl_feed *f, int threads, const tally_view *in,
                          const tally_view *out, tl_scan *s, const void *init);

/* The same of many, by the law's steps (the feed is by_states, and counted as `from` is); from:
 * the slabs of what was before, without gaps from 0 on, NULL: nothing; to: of all. init: NULL,
 * or a state. */
tally_status tl_feed_scan_rows(tally *ctx, const tl_feed *f, int threads, const tally_view *in,
                               const tally_view *out, const tl_slab *from, tl_slab *to,
                               int exclusive, const tl_state *init);

/* A view of one input, whose form is the operator itself and not counted, into a grid
   (cpu/grid). */
static inline int tl_feed_fits_grid(const tl_feed *f)
{
    return !f->counted && f->form.op == f->form.named && f->form.op->inputs == 1;
}
/* *pushed grows by the steps that went in: of a push that fails, those before. */
tally_status tl_feed_grid(tally *ctx, const tl_feed *f, int threads, const tally_view *in,
                          const tally_view *out, tl_grid *grid, int64_t *pushed);
#endif
