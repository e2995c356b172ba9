/* SPDX-License-Identifier: MIT
 * What CPUs offer to the other folders: instruction sets, plans, and the shapes. */
#pragma once

#include "context/device.h"
#include "context/view.h"
#include "law/counter.h"
#include "operator/kernel.h"

/* ---- instruction sets (isa.def), and the plans of built-in operators: isas.c ---- */

/* A plan without kernels of an operator. Its other tables are those of instruction set number isa
 * (a row of isa.def). */
tl_plan tl_plan_begin(const tl_scalar *op, tl_par par, int isa);

/* Makes the plan of a built-in instance: its kernels for the instruction set, and the conversions
 * to and from the kernels' types. */
void tl_plan_kernels(tl_plan *plan, const tl_scalar *instance, tl_par par, int isa);

/* Makes *plan, a plan for windows of w elements, one on f64 if that is exact (OP_FLOATS): sums of
 * integers of up to 4 bytes, below 2^53. op: memory for the instance. */
void tl_plan_floats(tl_plan *plan, int64_t w, tl_scalar *op);

enum { TL_ISA_NONE = -1 };
int tl_isa_count(void);
const char *tl_isa_name(int isa);
int tl_isa_runs(int isa); /* does this machine support it? */

/* its rows of cpu/elements/convert.def; the last has apply NULL */
const tl_convert *tl_isa_converts(int isa);

/* The row of a list with this kind and these types, or NULL. */
const tl_convert *tl_find_convert(const tl_convert *list, int kind, tally_dtype from,
                                  tally_dtype to);
int tl_isa_widest(void); /* the widest that this machine supports */

/* The number of the instruction set called name, or TL_ISA_NONE. */
int tl_isa_find(const char *name);

/* ---- the shapes ----
 *
 * A view is cut into dense pieces, threads compute them, and the law joins the results. Requires:
 * views are checked (view.h) and plans are resolved. Error: TALLY_NO_MEMORY only. */

/* Calls with at most so much data use one thread; up to the second limit, if threads would have to
 * be woken. Builds with asserts wake them: they are for tests. */
#ifdef NDEBUG
enum { TL_PARALLEL_BYTES = 256 << 10, TL_WAKE_BYTES = 1 << 20 };
#else
enum { TL_PARALLEL_BYTES = 256 << 10, TL_WAKE_BYTES = 0 };
#endif

/* Results of at least this size use non-temporal stores. */
enum { TL_STREAM_BYTES = 4 * 1024 * 1024 };

/* Slots of scratch memory. */
enum {
    TL_LANES_BUFFERS, /* many sequences at once (lanes.h): a strip, */
    TL_BATCH,         /* a batch, */
    TL_STAGE,         /* and its elements and results */
    TL_SINGLE,        /* one sequence: staged states */
    TL_DENSE          /* and its dense parts (driver.c), or the ends of rows (window_rows.c) */
};

/* The plan for windows. In nan forms that count, lower gives `empty` to windows of fewer than
 * min_count elements. */
static inline tl_plan tl_plan_of_window(const tl_plan *plan, const tally_window_options *o)
{
    tl_plan changed = *plan;
    if (plan->op->counted && o->min_count > 0) changed.par.insufficient = o->min_count - 1;
    return changed;
}

/* Windows of w elements have no value with fewer elements than this. A full window has enough:
 * min_count is at most w (tl_check_window). */
static inline int64_t tl_window_least(const tl_plan *plan, const tally_window_options *o, int64_t w)
{
    const int64_t least = plan->op->masked ? 0 : o->min_count;
    return o->edges == TALLY_EDGES_MISSING && o->min_count <= 0 ? tl_max(least, w) : least;
}

/* Do windows of a nan form need those of operator count too? */
static inline int tl_needs_count(const tl_plan *plan, const tally_window_options *o)
{
    return plan->op->masked && !plan->op->counted && o->min_count > 0;
}

/* ---- windows that are arbitrary ranges of a sequence ---- */

typedef struct {
    const int64_t *start, *end;    /* of each result, or NULL */
    const tally_window_options *o; /* start NULL: result r is the window at first + r step */
    int64_t n, results, first, step;
    int64_t min_count;
    int64_t number; /* of result 0, for error sentences */
} tl_ranges;

/* The ranges of tally_window on a sequence of n elements. */
static inline tl_ranges tl_ranges_of(const tally_window_options *o, int64_t n)
{
    const int64_t step = o->step > 1 ? o->step : 1;
    const int64_t first = o->edges == TALLY_EDGES_VALID && o->before > 0 ? o->before : 0;
    return (tl_ranges){NULL, NULL, o, n, tally_window_length(n, o), first, step, o->min_count};
}

/* Range r is *from .. *end - 1. Returns 0 if the window has no value: it is not full, edges are
 * not shrunk, and no min_count is given. */
static inline int tl_range_at(const tl_ranges *s, int64_t r, int64_t *from, int64_t *end)
{
    if (s->start) {
        *from = s->start[r];
        *end = s->end[r];
        return 1;
    }
    const int64_t i = s->first + r * s->step, low = i - s->o->before, high = i + s->o->after + 1;
    *from = low < 0 ? 0 : low > s->n ? s->n : low;
    *end = high > s->n ? s->n : high < *from ? *from : high;
    return (low >= 0 && high <= s->n) || s->o->edges == TALLY_EDGES_SHRINK || s->min_count > 0;
}

/* One sequence and its results: at x, `stride` elements apart; at y, y_stride bytes apart. */
typedef struct {
    const void *x;
    int64_t stride;
    void *y;
    int64_t y_stride;
} tl_line;

/* Appends n dense elements, indices c->end and up, to a counter. Uses up to `threads` threads. */
void tl_push_slab(const tl_plan *plan, int threads, const void *x, int64_t n, tl_counter *c);

/* Writes to states the nodes of every sequence of a view: node k has level of->level[k], and the
 * first one begins at element of->start. Node after node, the state of each sequence. Requires: the
 * view is checked and normal. */
tally_status tl_slab_nodes(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                           const struct tl_slab *of, unsigned char *states);

/* Writes n dense results for the next n dense elements of the scan. out may be x. */
tally_status tl_scan_push(tally *ctx, tl_scan *s, int threads, const void *x, int64_t n, void *out);

/* Runs a call on up to `threads` threads (driver.c). Requires: views are checked and normal. */
tally_status tl_run(tally *ctx, int threads, const tl_call *call);
