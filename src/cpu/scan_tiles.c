/* SPDX-License-Identifier: MIT
 * scan of dense elements on one thread. Tiles are taken in order; the prefix S(b) of a tile comes
 * from a binary counter. */
#include "scan.h"
#include "narrow/narrow.h"

/* States that a running scan (kernel.h) stages at a time, in bytes. */
enum { RUN_BYTES = 8 * 1024 };

/* The tile that is scanned: m elements, of which the first has index b. */
typedef struct {
    const tl_scan *scan;
    const tl_scan_work *work;
    const char *x;
    char *out;
    int64_t m, b;
    tl_state prefix;    /* S(b) */
    int prefix_present; /* S(b) is not ABSENT */
} tile;

static const tl_plan *plan_of(const tile *t) { return t->scan->plan; }

/* S(b), or NULL if it is ABSENT. */
static const tl_state *prefix_of(const tile *t) { return t->prefix_present ? &t->prefix : NULL; }

/* The part of a tile from element j on. */
static tile tile_from(const tile *t, int64_t j, int64_t m)
{
    tile part = *t;
    part.x += j * plan_of(t)->op->elem_bytes;
    part.out += j * plan_of(t)->op->result_bytes;
    part.b += j;
    part.m = m;
    return part;
}

/* Lowers the m states that are staged after S(b). */
static void lower_tile(const tile *t)
{
    const tl_plan *plan = plan_of(t);
    const tl_staging at = t->work->staging;
    const int64_t from = plan->core->lead;
    const int stream = t->work->stream;

    if (!t->scan->exclusive) {
        tl_lower_row(plan, at, t->out, from + 1, t->m, t->b + 1, 1, 0, 0, stream);
    } else if (t->prefix_present) {
        tl_lower_row(plan, at, t->out, from, t->m, t->b, 1, 0, 0, stream);
    } else {
        plan->op->empty(plan->par, t->out);
        tl_lower_row(plan, at, t->out + plan->op->result_bytes, from + 1, t->m - 1, t->b + 1, 1, 0,
                     0, stream);
    }
}

/* Appends m < TL_TILE elements to a counter. */
static void push_part(const tl_plan *plan, tl_counter *c, const char *x, int64_t m)
{
    tl_state nodes[TL_MAX_LEVELS];
    tl_nodes(plan, nodes, x, m, c->end, TL_CACHED);
    tl_counter_push_nodes(c, plan->op, nodes, m);
}

/* Can the kernel write results without staging their states? */
static int writes_results(const tile *t)
{
    const tl_plan *plan = plan_of(t);
    return plan->core->scan_full && plan->core == plan->lower && !plan->out &&
           !(t->work->stream && (uintptr_t)t->out % 64);
}

/* Scans a tile with a running scan (kernel.h), in pieces that stay in the first-level cache. *node
 * becomes the tile's node; prefix becomes S(b + m). */
static void scan_running(tile *t, tl_state *node)
{
    const tl_plan *plan = plan_of(t);
    const tl_scan_work *work = t->work;
    const tl_scalar *op = plan->op;
    const int full = writes_results(t);
    const int64_t most =
        full && !plan->in ? t->m : RUN_BYTES * plan->core->vector_lanes / plan->core->vector_bytes;

    for (int64_t j = 0, m; j < t->m; j += m) {
        m = t->m - j < most ? t->m - j : most;
        const tile part = tile_from(t, j, m);
        tl_state piece;

        if (full) {
            tl_scan_full(plan, work->staging, part.out, part.x, m, part.b, prefix_of(t), &piece,
                         t->scan->exclusive, work->stream, work->prefetch, NULL);
            if (t->scan->exclusive && !t->prefix_present) op->empty(plan->par, part.out);
        } else {
            tl_scan_tile(plan, work->staging, part.x, m, part.b, prefix_of(t), &piece,
                         work->prefetch);
            lower_tile(&part);
        }

        if (t->prefix_present)
            op->combine(&t->prefix, &piece, part.b, m);
        else
            t->prefix = piece;
        t->prefix_present = 1;

        if (j)
            op->combine(node, &piece, j, m);
        else
            *node = piece;
    }
}

int tl_has_first_levels(const tl_plan *plan)
{
    return plan->core->scan_up && plan->core == plan->lower && !plan->in && !plan->out;
}

/* The first levels of whole tiles. */
typedef struct {
    int64_t tiles; /* tiles before this one */
    /* Without work->levels: the first level of this tile is computed already, in half number
     * tiles & 1 of the staging buffer, which whole tiles do not use otherwise. */
    int known;
} levels_state;

/* The first levels of tile t, and those that are computed while it is scanned. left: elements from
 * t on. *prefetch: the distance for this tile. */
static tl_up levels_of(const tile *t, levels_state *s, int64_t left, int64_t *prefetch)
{
    const tl_plan *plan = plan_of(t);
    const tl_first_levels *u = t->work->levels;
    const int64_t up_bytes = plan->core->up_bytes, tile_bytes = TL_TILE * plan->op->elem_bytes,
                  number = s->tiles++;

    *prefetch = t->work->prefetch;
    if (t->m < TL_TILE) return (tl_up){0};

    if (u) {
        tl_up up = {u->current + number * up_bytes, NULL, u->at + number * TL_TILE,
                    u->later + number * up_bytes};
        if (number < u->tiles) up.next_tile = u->x + number * tile_bytes;
        const int64_t prefetch_tile = number + TL_SCAN_PREFETCH_BYTES / tile_bytes;
        if (t->work->stream)
            *prefetch =
                u->x + prefetch_tile * tile_bytes + (prefetch_tile < u->tiles ? 0 : u->step) - t->x;
        return up;
    }

    if (!tl_has_first_levels(plan)) return (tl_up){0};
    char *const soa = t->work->staging.soa,
                *half[2] = {soa, soa + TL_TILE / 2 / plan->core->vector_lanes *
                                           plan->core->vector_bytes};
    tl_up up = {s->known ? half[number & 1] : NULL, NULL, t->b + TL_TILE, half[~number & 1]};
    if (left >= 2 * TL_TILE) up.next_tile = t->x + tile_bytes;
    s->known = up.next_tile != NULL;

    /* Prefetch one tile later, because the tile in between is being read for its first level. For
     * f32 sums this is faster, for f64 slower. */
    if (*prefetch && up.next_tile && plan->op->elem_bytes <= 4) *prefetch += tile_bytes;

    return up;
}

/* Scans a tile whose kernel writes results. */
static void scan_full(const tile *t, const tl_up *up, int64_t prefetch, tl_state *node)
{
    tl_scan_full(plan_of(t), t->work->staging, t->out, t->x, t->m, t->b, prefix_of(t), node,
                 t->scan->exclusive, t->work->stream, prefetch, up);
}

/* The elements of the next tile, of `left` that remain. S(b + j) is S(b) combined with nodes of j
 * elements only while j is at most the alignment of b. A stream may stop at any b. */
static int64_t tile_length(int64_t b, int64_t left)
{
    const int64_t m = left < TL_TILE ? left : TL_TILE, align = b & -b;
    return b && align < m ? align : m;
}

void tl_scan_serial(const tl_scan *s, tl_counter *c, const tl_scan_work *work)
{
    const tl_plan *plan = s->plan;
    const tl_scalar *op = plan->op;
    const tl_state *init = s->seeded ? &s->init : NULL;
    tile t = {.scan = s, .work = work, .x = work->x, .out = work->out};
    levels_state levels = {0};
    int prefix_known = 0;
    tl_state node;

    if (plan->narrow) {
        tl_narrow_scan(s, c,
                       (tl_narrow_run){work->out, work->x, work->n, work->stream, work->prefetch});
        return;
    }

    for (int64_t left = work->n; left > 0; left -= t.m) {
        t.b = c->end;
        t.m = tile_length(t.b, left);
        if (!prefix_known) t.prefix_present = tl_counter_fold(c, op, init, &t.prefix);
        prefix_known = 0;

        /* Before the scan, because results may overwrite the elements. */
        const int last = s->ends && t.m == left && t.b % TL_TILE == 0;
        if (t.m < TL_TILE && !last) push_part(plan, c, t.x, t.m);

        if (plan->core->lead) {
            scan_running(&t, &node);
            if (t.m == TL_TILE) tl_counter_push(c, op, TL_TILE_LEVEL, &node);
            prefix_known = 1;
        } else {
            const int full = writes_results(&t), present = t.prefix_present;
            int64_t prefetch = work->prefetch;
            if (full) {
                const tl_up up = levels_of(&t, &levels, left, &prefetch);
                scan_full(&t, &up, prefetch, &node);
            } else {
                tl_scan_tile(plan, work->staging, t.x, t.m, t.b, prefix_of(&t), &node, prefetch);
            }

            if (t.m == TL_TILE) tl_counter_push(c, op, TL_TILE_LEVEL, &node);

            /* S(b + m) has a new larger node: take it from the counter. */
            tl_state next;
            int next_present = 0;
            if (t.m == TL_TILE || t.m == (t.b & -t.b)) {
                next_present = prefix_known = tl_counter_fold(c, op, init, &next);
                if (!full) tl_stage(plan, work->staging.soa, t.m, &next);
            }

            if (!full)
                lower_tile(&t);
            else if (s->exclusive && !present)
                op->empty(plan->par, t.out);
            else if (!s->exclusive && prefix_known)
                op->lower(&next, c->end, 0, plan->par, t.out + (t.m - 1) * op->result_bytes);
            if (prefix_known) t.prefix = next, t.prefix_present = next_present;
        }

        t.x += t.m * op->elem_bytes;
        t.out += t.m * op->result_bytes;
    }
}

int64_t tl_scan_prefetch(const tl_plan *plan, int stream)
{
    if (!stream) return 0;
    return plan->core->lead ? tl_prefetch_distance(tl_prefetch_way()) : TL_SCAN_PREFETCH_BYTES;
}

size_t tl_first_levels_offset(const tl_plan *plan)
{
    return (tl_staging_bytes(plan) + 63) & ~(size_t)63;
}

size_t tl_scan_bytes(const tl_plan *plan)
{
    const int64_t size = (int64_t)1 << tl_top_level(TL_SCAN_BLOCK_BYTES / plan->op->elem_bytes);
    return tl_first_levels_offset(plan) +
           (tl_has_first_levels(plan) ? 3 * (size_t)(size / TL_TILE * plan->core->up_bytes) : 0);
}
