/* SPDX-License-Identifier: MIT
 * Scans by the fast path for narrow types (narrow.h). The prefix comes from the counter of the law,
 * and the elements go back into it as nodes. */
#include "narrow.h"
#include "context/view.h"

enum { TILE = 64 * 1024 /* elements at a time */ };

/* Appends the nodes of m elements to the counter. */
static void push_part(const tl_plan *plan, tl_counter *c, const char *x, int64_t m)
{
    tl_state nodes[TL_MAX_LEVELS];
    const tl_elements part = {x, m, c->end, plan->fold_in, TL_CACHED};
    plan->fold->nodes(nodes, &part, plan->par);
    tl_counter_push_nodes(c, plan->op, nodes, m);
}

void tl_narrow_scan(const tl_scan *s, tl_counter *c, tl_narrow_run run)
{
    const tl_plan *plan = s->plan;
    const tl_scalar *op = plan->op;
    const int bytes = op->elem_bytes;
    tl_state before, node;
    run.stream = run.stream && (uintptr_t)run.out % (unsigned)bytes == 0;
    for (int64_t n = run.m; n > 0; n -= run.m) {
        const int64_t b = c->end;
        run.m = n < TILE ? n : TILE;
        if (b && (b & -b) < run.m) run.m = b & -b;
        const int whole = !(run.m & (run.m - 1)),
                  have = tl_counter_fold(c, op, s->seeded ? &s->init : NULL, &before);
        /* before the scan, because results may overwrite the elements */
        if (!whole && !(s->ends && run.m == n)) push_part(plan, c, run.x, run.m);
        const uint16_t key =
            plan->narrow->scan(&run, have ? tl_key_of(plan, &before) : 0, s->exclusive, plan->keys);
        if (s->exclusive && !have) op->empty(plan->par, run.out);
        run.x = (const char *)run.x + run.m * bytes;
        run.out = (char *)run.out + run.m * bytes;
        if (!whole) continue;
        tl_of_key(plan, key, &node);
        tl_counter_push(c, op, tl_top_level(run.m), &node);
    }
}

void tl_narrow_scan_rows(const tl_plan *plan, const tally_view *in, const tally_view *out,
                         const tally_scan_options *o, int64_t r, int64_t end)
{
    const int64_t bytes = plan->op->elem_bytes;
    int64_t n, m;
    if (r >= end) return;
    const char *x = tl_view_row(in, r, bytes, &n);
    char *y = tl_view_row(out, r, bytes, &m);
    tl_scan s;
    tl_scan_begin(&s, plan, o);
    if (in->offsets) x -= in->offsets[r] * bytes, y -= in->offsets[r] * bytes;
    const tl_narrow_rows rows = {y,
                                 x,
                                 end - r,
                                 in->n,
                                 out->row_stride,
                                 in->row_stride,
                                 in->offsets ? in->offsets + r : NULL};
    plan->narrow->scan_rows(&rows, s.seeded ? tl_key_of(plan, &s.init) : 0, s.exclusive,
                            plan->keys);
}
