/* SPDX-License-Identifier: MIT
 * scan of dense elements on one thread. S at the start of a piece comes from a binary counter. */
#include "driver.h"
#include "narrow/narrow.h"

enum {
    RUN_BYTES = 8 * 1024,   /* states that a running scan (kernel.h) stages at a time */
    NARROW_TILE = 64 * 1024 /* narrow elements at a time */
};

/* Elements that are scanned next, and the place of their results. */
typedef struct {
    const tl_scan *scan;
    const tl_scan_work *work;
    tl_counter *counter;
    const char *x;
    char *out;
    int64_t left;
    int full; /* the kernel writes results without staging states */
} scanning;

static const tl_plan *plan_of(const scanning *t) { return t->scan->plan; }

static const tl_state *init_of(const scanning *t)
{
    return t->scan->seeded ? &t->scan->init : NULL;
}

static void advance(scanning *t, int64_t m)
{
    t->x += m * plan_of(t)->op->elem_bytes;
    t->out += m * plan_of(t)->op->result_bytes;
    t->left -= m;
}

/* The next m elements; the first has index b. */
static tl_tile tile_of(const scanning *t, int64_t m, int64_t b, const tl_state *prefix)
{
    return (tl_tile){.x = t->x,
                     .m = m,
                     .b = b,
                     .prefix = prefix,
                     .next = tl_prefetch_of(plan_of(t), t->x, t->work->prefetch),
                     .out = t->full ? t->out : NULL,
                     .exclusive = t->scan->exclusive,
                     .stream = t->full && t->work->stream};
}

/* Lowers the staged states of a tile. present: S(b) is not ABSENT. */
static void finish_tile(const scanning *t, int64_t m, int64_t b, int present)
{
    const tl_plan *plan = plan_of(t);
    const tl_staging at = t->work->staging;
    const int exclusive = t->scan->exclusive, skip = exclusive && !present;

    if (skip) plan->op->empty(plan->par, t->out);
    if (t->full) return;
    const int64_t first = !exclusive || skip;
    tl_lower_row(plan, at, t->out + skip * plan->op->result_bytes,
                 &(tl_lower){.from = plan->core->offset + first,
                             .m = m - skip,
                             .n = b + first,
                             .dn = 1,
                             .stream = t->work->stream,
                             .rows = 1});
}

/* Appends m elements to a counter, less than a tile. Requires: they are not scanned yet, because
 * results may overwrite them. */
static void push_part(const tl_plan *plan, tl_counter *c, const char *x, int64_t m)
{
    tl_state nodes[TL_MAX_LEVELS];
    tl_nodes(plan, nodes, x, m, c->end, TL_CACHED);
    tl_counter_push_nodes(c, plan->op, nodes, m);
}

/* The elements of the next piece: at most `most`, and at most the alignment of b, beyond which
 * S(b + j) is not S(b) combined with nodes. A stream may stop at any b. */
static int64_t piece_length(int64_t b, int64_t left, int64_t most)
{
    const int64_t m = tl_min(left, most), align = b & -b;
    return b && align < m ? align : m;
}

/* ---- running scans ---- */

/* Scans a tile in pieces that stay in the first-level cache. */
static void scan_running(scanning *t)
{
    const tl_plan *plan = plan_of(t);
    const tl_scalar *op = plan->op;
    tl_counter *const c = t->counter;
    const int64_t b = c->end, tile = piece_length(b, t->left, TL_TILE),
                  most = t->full && (!plan->in || tl_scans(plan) != plan->core)
                             ? tile
                             : RUN_BYTES * plan->core->vector_lanes / plan->core->vector_bytes;
    const int whole = !(tile & (tile - 1));
    tl_state prefix, node;
    int present = tl_counter_fold(c, op, init_of(t), &prefix);

    if (!whole && !(t->scan->ends && tile == t->left)) push_part(plan, c, t->x, tile);

    for (int64_t j = 0, m; j < tile; j += m) {
        tl_state piece;
        m = tile - j < most ? tile - j : most;
        tl_tile part = tile_of(t, m, b + j, present ? &prefix : NULL);
        tl_scan_run(plan, t->work->staging, &part, &piece);
        finish_tile(t, m, b + j, present);

        if (present)
            op->combine(&prefix, &piece, b + j, m);
        else
            prefix = piece;
        present = 1;
        if (j)
            op->combine(&node, &piece, j, m);
        else
            node = piece;
        advance(t, m);
    }

    if (whole) tl_counter_push(c, op, tl_top_level(tile), &node);
}

/* ---- scans of narrow extremes (narrow/narrow.h) ---- */

static void scan_narrow(scanning *t)
{
    const tl_plan *plan = plan_of(t);
    const tl_scalar *op = plan->op;
    tl_counter *const c = t->counter;
    const int64_t m = piece_length(c->end, t->left, NARROW_TILE);
    const int whole = !(m & (m - 1));
    tl_state before, node;
    const int present = tl_counter_fold(c, op, init_of(t), &before);
    const tl_narrow_run run = {.out = t->out,
                               .x = t->x,
                               .m = m,
                               .stream = t->work->stream && (uintptr_t)t->out % op->elem_bytes == 0,
                               .prefetch_distance = t->work->prefetch};

    if (!whole && !(t->scan->ends && m == t->left)) push_part(plan, c, t->x, m);
    const uint16_t key = plan->narrow->scan(&run, present ? tl_key_of(plan, &before) : 0,
                                            t->scan->exclusive, plan->keys);
    if (t->scan->exclusive && !present) op->empty(plan->par, t->out);
    advance(t, m);
    if (!whole) return;
    tl_key_to_state(plan, key, &node);
    tl_counter_push(c, op, tl_top_level(m), &node);
}

/* ---- scans by the tree ---- */

/* The counter of the law as one of blocks. */
static void open_blocks(tl_block_counter *to, const tl_plan *plan, const tl_counter *c,
                        const tl_state *init)
{
    const tl_scalar *op = plan->op;
    const int level = tl_level(plan->core->scan_block);
    tl_state s; /* S of the nodes so far */
    int64_t n = 0;

    assert(c->start == 0 && c->end % plan->core->scan_block == 0 && !c->counted);
    to->blocks = c->end >> level;
    to->seeded = init != NULL;
    if (init) to->init = s = *init;
    if (init && op->to_wide) op->to_wide(&to->init);

    for (int j = 0; j < c->count; j++) {
        const int l = c->level[j] - level;
        const int64_t size = (int64_t)1 << c->level[j];
        if (j || init)
            op->combine(&s, &c->node[j], n, size);
        else
            s = c->node[j];
        n += size;
        to->node[l] = c->node[j];
        to->start[l] = s;
        if (op->to_wide) op->to_wide(&to->node[l]), op->to_wide(&to->start[l]);
    }
}

static void close_blocks(const tl_block_counter *from, const tl_plan *plan, tl_counter *c)
{
    const int level = tl_level(plan->core->scan_block);

    c->end = from->blocks << level;
    c->count = 0;
    for (int64_t bits = from->blocks; bits;
         bits &= ~((int64_t)1 << (c->level[c->count++] - level))) {
        const int l = tl_top_level(bits);
        c->level[c->count] = (unsigned char)(l + level);
        c->node[c->count] = from->node[l];
        if (plan->op->from_wide) plan->op->from_wide(&c->node[c->count]);
    }
}

/* Can non-temporal stores write results to `out`? */
static int streams(const tl_plan *plan, const void *out)
{
    return (uintptr_t)out % (plan->core->shifts ? 4 : 64) == 0;
}

static void scan_blocks(scanning *t)
{
    const tl_plan *plan = plan_of(t);
    const int64_t n = t->left & -(int64_t)plan->core->scan_block,
                  most = t->full && !plan->in ? n : TL_TILE;
    tl_block_counter blocks;

    open_blocks(&blocks, plan, t->counter, init_of(t));
    for (int64_t j = 0, m; j < n; j += m) {
        m = n - j < most ? n - j : most;
        const int64_t b = t->counter->end + j;
        const int present = blocks.blocks || blocks.seeded;
        tl_tile tile = tile_of(t, m, b, NULL);
        tl_scan_blocks(plan, t->work->staging, &tile, &blocks);
        finish_tile(t, m, b, present);
        advance(t, m);
    }

    close_blocks(&blocks, plan, t->counter);
}

static void scan_part(scanning *t)
{
    const tl_plan *plan = plan_of(t);
    const tl_scalar *op = plan->op;
    tl_counter *const c = t->counter;
    const int64_t b = c->end, m = piece_length(b, t->left, plan->core->scan_block - 1);
    tl_state prefix, end;
    const int present = tl_counter_fold(c, op, init_of(t), &prefix), whole = m == (b & -b);

    if (whole || !t->scan->ends || m < t->left) push_part(plan, c, t->x, m);

    tl_tile tile = tile_of(t, m, b, present ? &prefix : NULL);
    tile.stream = 0;
    tl_scan_part(plan, t->work->staging, &tile);
    if (whole) { /* S(b + m) has a new larger node */
        tl_counter_fold(c, op, init_of(t), &end);
        if (!t->full) tl_stage(plan, t->work->staging.soa, m, &end);
    }
    finish_tile(t, m, b, present);
    if (whole && t->full && !t->scan->exclusive)
        op->lower(&end, c->end, 0, plan->par, t->out + (m - 1) * op->result_bytes);
    advance(t, m);
}

void tl_scan_serial(const tl_scan *s, tl_counter *c, const tl_scan_work *work)
{
    const tl_plan *plan = s->plan;
    const tl_kernel *const scans = tl_scans(plan);
    const int64_t block = plan->core->scan_block;
    scanning t = {
        .scan = s, .work = work, .counter = c, .x = work->x, .out = work->out, .left = work->n};

    while (t.left > 0) {
        t.full = scans->direct && scans == plan->lower && !plan->out &&
                 !(work->stream && !streams(plan, t.out));
        if (plan->narrow)
            scan_narrow(&t);
        else if (plan->core->offset)
            scan_running(&t);
        else if (t.left >= block && c->end % block == 0)
            scan_blocks(&t);
        else
            scan_part(&t);
    }
}

int64_t tl_scan_prefetch(const tl_plan *plan, int stream)
{
    const int way = tl_prefetch_way();
    if (!stream) return 0;
    return plan->core->offset || way == TL_PAGES ? tl_prefetch_distance(way) : 4 << 10;
}

int tl_scan_block_level(const tl_plan *plan, int64_t n, int threads)
{
    const int64_t elem = plan->op->elem_bytes, bytes = tl_max(elem, plan->op->result_bytes),
                  share = n / threads;
    if (share * elem >= (int64_t)TL_SCAN_LARGE_BLOCKS * TL_SCAN_LARGE_BYTES)
        return tl_top_level(TL_SCAN_LARGE_BYTES / elem);
    return tl_top_level(
        tl_clamp(share * bytes / TL_SCAN_BLOCKS, TL_SCAN_SMALL_BYTES, TL_SCAN_BLOCK_BYTES) / bytes);
}
