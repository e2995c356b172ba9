/* SPDX-License-Identifier: MIT
 * Widens tiles of elements for a plan's kernels (widen.h). */
#include "widen.h"
#include "cpu/kernel/simd.h"
#include <assert.h>

enum {
    /* Bytes of results that are narrowed before they are stored with non-temporal stores. */
    STREAM = 1024,
    /* Wide elements kept before a window's tile: a whole number of vectors. */
    MARGIN = 2 * TL_WINDOW_BACK,
    BEYOND = 512, /* readable elements after the tile: two rows of the widest operator */
    PLACE = (MARGIN + TL_WINDOW_TILE + BEYOND) * 8
};

_Static_assert(2 * PLACE + TL_WINDOW_TILE * 16 <= TL_WINDOW_WIDE_BYTES &&
                   (int)TL_WIDE_BYTES <= (int)TL_WINDOW_WIDE_BYTES,
               "a window's wide tiles");

/* ---- scans ---- */

size_t tl_staging_bytes(const tl_plan *plan)
{
    return tl_soa_bytes(plan) +
           (plan->in || plan->out ? (size_t)plan->op->inputs * TL_WIDE_BYTES : 0) + 64;
}

tl_staging tl_staging_at(const tl_plan *plan, void *memory)
{
    char *soa = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    return (tl_staging){soa, plan->in || plan->out ? soa + tl_soa_bytes(plan) : NULL};
}

/* Returns m elements at x in the kernels' type. Second inputs are `second` bytes after the
 * first. */
static const void *widen(const tl_plan *plan, void *wide, const void *x, int64_t m, int64_t second)
{
    if (!plan->in) return x;
    if (plan->op->inputs == 2)
        plan->in->apply_two(plan->in, wide, (char *)wide + second, x, m);
    else
        plan->in->apply(plan->in, wide, x, m);
    return wide;
}

/* Not always a copy: to read what was just written in parts is to wait for all stores. */
static const tl_par *par_of(const tl_plan *plan, int64_t second, tl_par *copy)
{
    if (!plan->in || plan->op->inputs != 2) return &plan->par;
    *copy = plan->par;
    copy->second = second;
    return copy;
}

static const tl_state *wide_prefix(const tl_plan *plan, const tl_state *prefix, tl_state *copy)
{
    if (!prefix || !plan->op->to_wide) return prefix;
    *copy = *prefix;
    plan->op->to_wide(copy);
    return copy;
}

/* prefix: memory for S(b). */
static void widen_tile(const tl_plan *plan, tl_staging at, tl_tile *t, tl_state *prefix)
{
    t->x = widen(plan, at.wide, t->x, t->m, TL_WIDE_BYTES);
    t->soa = at.soa;
    t->prefix = wide_prefix(plan, t->prefix, prefix);
}

void tl_scan_run(const tl_plan *plan, tl_staging at, tl_tile *tile, tl_state *node)
{
    tl_state prefix;
    if (tl_scans(plan) == plan->core)
        widen_tile(plan, at, tile, &prefix);
    else
        tile->soa = at.soa; /* these have the states of the law */
    tl_scans(plan)->scan_run(tile, node, *par_of(plan, TL_WIDE_BYTES, &(tl_par){0}));
    if (plan->op->from_wide) plan->op->from_wide(node);
}

void tl_scan_blocks(const tl_plan *plan, tl_staging at, tl_tile *tile, tl_block_counter *c)
{
    tl_state prefix;
    widen_tile(plan, at, tile, &prefix);
    plan->core->scan_blocks(tile, c, *par_of(plan, TL_WIDE_BYTES, &(tl_par){0}));
}

void tl_scan_part(const tl_plan *plan, tl_staging at, tl_tile *tile)
{
    tl_state prefix;
    widen_tile(plan, at, tile, &prefix);
    plan->core->scan_part(tile, *par_of(plan, TL_WIDE_BYTES, &(tl_par){0}));
}

void tl_narrow_results(const tl_plan *plan, void *to, const void *wide, int64_t m, int stream)
{
    _Alignas(64) char piece[STREAM];
    int64_t bytes = plan->out->to_bytes, at = 0, most = STREAM / bytes;

    m *= plan->op->lanes;
    if (!stream) {
        plan->out->apply(plan->out, to, wide, m);
        return;
    }

    int64_t head = (int64_t)(-(uintptr_t)to & 63) / bytes;
    if (head > m || (uintptr_t)to % (uintptr_t)bytes) head = m;
    plan->out->apply(plan->out, to, wide, head);

    for (at = head; m - at >= most; at += most) {
        plan->out->apply(plan->out, piece, (const char *)wide + at * plan->out->from_bytes, most);
        for (int o = 0; o < STREAM; o += 64)
            tl_stream_store((char *)to + at * bytes + o, piece + o, 64);
    }

    plan->out->apply(plan->out, (char *)to + at * bytes,
                     (const char *)wide + at * plan->out->from_bytes, m - at);
}

void tl_lower_row(const tl_plan *plan, tl_staging at, void *out, const tl_lower *row)
{
    assert(row->rows == 1);
    if (!plan->out) {
        plan->lower->lower_rows(out, at.soa, row, plan->par);
        return;
    }

    if (plan->lower->bare) {
        const char *const wide = (char *)at.soa + row->from * plan->out->from_bytes;
        tl_narrow_results(plan, out, wide, row->m, row->stream);
        return;
    }

    /* operators with two results need two steps for a tile */
    tl_lower l = *row;
    l.stream = 0;
    for (int64_t j = 0; j < row->m; j += l.m) {
        l.m = row->m - j < TL_TILE / plan->op->lanes ? row->m - j : TL_TILE / plan->op->lanes;
        plan->lower->lower_rows(at.wide, at.soa, &l, plan->par);
        tl_narrow_results(plan, (char *)out + j * plan->op->result_bytes, at.wide, l.m,
                          row->stream);
        l.from += l.m;
        l.n += l.m * l.dn;
        l.first += l.m * l.dfirst;
    }
}

/* ---- windows ---- */

void tl_window_start(const tl_plan *plan, tl_window_work *k, const tl_state *before)
{
    tl_state copy;
    plan->core->window_start(k, wide_prefix(plan, before, &copy));
}

/* Sets what to prefetch during a piece, and widens its elements. */
static void prepare_piece(const tl_plan *plan, tl_window_work *k, tl_window_piece *piece)
{
    const int64_t prefetch_distance = k->prefetch ? tl_prefetch_distance(k->prefetch) : 0;
    k->next = tl_prefetch_of(plan, (const char *)piece->x - piece->padding * plan->op->elem_bytes,
                             prefetch_distance);
    k->prefetch_old = tl_prefetch_of(plan, piece->old, piece->old ? prefetch_distance : 0);
    if (!plan->in) return;

    int64_t to = plan->in->to_bytes, bytes = plan->in->from_bytes,
            before = piece->back < TL_WINDOW_BACK ? piece->back : TL_WINDOW_BACK;
    char *wide = (char *)k->wide + MARGIN * to;
    widen(plan, wide - before * to, (const char *)piece->x - before * bytes, before + piece->m,
          PLACE);
    piece->x = wide;

    /* readable; the values do not matter */
    piece->beyond = BEYOND;

    /* operators with an inverse have one input */
    if (piece->old) piece->old = widen(plan, (char *)k->wide + PLACE, piece->old, piece->m, 0);
}

void tl_window_feed(const tl_plan *plan, tl_window_work *k, tl_window_piece *piece)
{
    prepare_piece(plan, k, piece);
    plan->core->window_feed(k, piece, *par_of(plan, PLACE, &(tl_par){0}));
}

void tl_window_step(const tl_plan *plan, tl_window_work *k, tl_window_piece *piece, void *to,
                    tl_lower *l)
{
    void *const at = plan->out ? (char *)k->wide + 2 * PLACE : to;
    const int stream = l->stream;
    if (plan->out) l->stream = 0;

    if (plan->lower->window_run) {
        prepare_piece(plan, k, piece);
        plan->lower->window_run(at, k, piece, l, *par_of(plan, PLACE, &(tl_par){0}));
    } else {
        tl_window_feed(plan, k, piece);
        if (l->m) plan->lower->window_lower(at, k, l, plan->par);
    }

    if (plan->out && l->m) tl_narrow_results(plan, to, at, l->m, stream);
}

void tl_window_suffix(const tl_plan *plan, tl_window_work *k, const void *end, int64_t stop,
                      int64_t high, int64_t blocks)
{
    _Alignas(64) char wide[2 * 8 * MARGIN];
    if (plan->in) { /* the kernel reads less than two vectors of elements */
        int64_t m =
            high * plan->core->vector_lanes < MARGIN ? high * plan->core->vector_lanes : MARGIN;
        widen(plan, wide, (const char *)end - m * plan->in->from_bytes, m, 8 * MARGIN);
        end = wide + m * plan->in->to_bytes;
    }
    plan->core->window_suffix(k, end, stop, high, blocks, *par_of(plan, 8 * MARGIN, &(tl_par){0}));
}
