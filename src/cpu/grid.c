/* SPDX-License-Identifier: MIT
 * Grids: strips of lanes that are kept from push to push (grid.h). */
#include "grid.h"
#include "lanes.h"
#include "widen.h"
#include "law/fp.h"
#include "context/scratch.h"
#include "context/threads.h"
#include "context/view.h"
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 8,          /* steps that kernels take at a time */
    STRIP = 1024,       /* lanes where elements need not be widened, */
    LEVELS_AT_ONCE = 3, /* counters that are added when there are too few */
    AHEAD = 16          /* steps that are prefetched before they are read */
};

typedef struct {
    int64_t col, width; /* sequences */
    char *rows, *carry;
    int levels; /* counters in carry */
} strip;

struct tl_grid {
    tl_plan plan;
    int64_t width, count; /* sequences, and steps that were pushed */
    int64_t pitch;        /* elements from a step in `rows` to the next, of a strip with all lanes */
    int64_t strips;
    strip *strip;
};

static int lanes_of(const tl_grid *f) { return f->plan.core->vector_lanes; }
static int64_t padded(const tl_grid *f, int64_t width) { return (width + lanes_of(f) - 1) & -(int64_t)lanes_of(f); }

static size_t carry_bytes(const tl_grid *f, int64_t width, int levels)
{
    const size_t bytes = (size_t)levels * (size_t)(padded(f, width) / lanes_of(f)) * (size_t)f->plan.core->vector_bytes;
    return (bytes + 63) & ~(size_t)63;
}

tl_grid *tl_grid_open(const tl_plan *plan, int64_t rows)
{
    tl_grid *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->plan = *plan;
    f->width = rows;
    /* Strips of whole vectors, so that kernels may read steps where they lie, and the rest, less than a vector, alone */
    const int64_t each = plan->in ? TL_LANES_STRIP : STRIP, full = rows & -(int64_t)lanes_of(f);
    f->strips = (full + each - 1) / each + (full < rows);
    f->strip = calloc((size_t)f->strips + 1, sizeof *f->strip);
    int good = f->strip != NULL;
    for (int64_t s = 0, col = 0; good && s < f->strips; s++) {
        strip *t = &f->strip[s];
        const int64_t left = col < full ? full - col : rows - col;
        t->col = col;
        t->width = left < each ? left : each;
        col += t->width;
        const size_t bytes = ((size_t)(BLOCK * padded(f, t->width)) * plan->op->elem_bytes + 63) & ~(size_t)63;
        t->rows = aligned_alloc(64, bytes);
        good = t->rows != NULL;
        if (good) memset(t->rows, 0, bytes); /* the lanes that nobody has are read too */
    }
    if (good) return f;
    tl_grid_close(f);
    return NULL;
}

void tl_grid_close(tl_grid *f)
{
    if (!f) return;
    for (int64_t s = 0; f->strip && s < f->strips; s++) {
        free(f->strip[s].rows);
        free(f->strip[s].carry);
    }
    free(f->strip);
    free(f);
}

/* Counters for n steps. */
static int grow(tl_grid *f, int64_t n)
{
    const int need = n >= BLOCK ? tl_top_level(n) - 2 : 1;
    for (int64_t s = 0; s < f->strips; s++) {
        strip *t = &f->strip[s];
        if (t->levels >= need) continue;
        const int levels = need + LEVELS_AT_ONCE;
        const size_t bytes = carry_bytes(f, t->width, levels), old = carry_bytes(f, t->width, t->levels);
        char *more = aligned_alloc(64, bytes);
        if (!more) return 0;
        if (t->levels) memcpy(more, t->carry, old);
        free(t->carry);
        t->carry = more;
        t->levels = levels;
    }
    return 1;
}

/* Steps 0 .. n - 1 of x into the strip's rows from `at` on. */
static void keep(const tl_grid *f, const strip *t, const tally_view *in, const char *x, int64_t at, int64_t n)
{
    const int64_t bytes = f->plan.op->elem_bytes, pitch = padded(f, t->width) * bytes;
    for (int64_t i = 0; i < n; i++)
        tl_copy_strided(t->rows + (at + i) * pitch, 1, x + i * in->stride * bytes, in->row_stride, t->width, bytes);
}

static void push_strip(const tl_grid *f, tl_lanes_room *room, const strip *t, const tally_view *in, int fetch)
{
    const int64_t bytes = f->plan.op->elem_bytes;
    const tl_lanes_from kept = {t->rows, padded(f, t->width), t->width, !f->plan.in, 1, 0};
    const int direct = !f->plan.in && in->row_stride == 1 && t->width % lanes_of(f) == 0;
    int64_t n, at = f->count, left = in->n;
    const char *x = tl_view_row(in, t->col, bytes, &n);
    room->k.carry = t->carry;
    for (int64_t now; left > 0; at += now, left -= now, x += now * in->stride * bytes) {
        const int64_t have = at & (BLOCK - 1);
        if (!have && left >= BLOCK && (direct || f->plan.in)) {
            const tl_lanes_from from = {x, in->stride, t->width, direct, in->row_stride, fetch ? AHEAD : 0};
            now = left & -(int64_t)BLOCK;
            tl_lanes_feed(room, &from, at, now, NULL, 0, 0);
            continue;
        }
        now = left < BLOCK - have ? left : BLOCK - have;
        keep(f, t, in, x, have, now);
        if (have + now == BLOCK) tl_lanes_feed(room, &kept, at - have, BLOCK, NULL, 0, 0);
    }
}

static void result_strip(const tl_grid *f, tl_lanes_room *room, const strip *t, char *out)
{
    const int64_t at = f->count & -(int64_t)BLOCK;
    const tl_lanes_from kept = {t->rows, padded(f, t->width), t->width, !f->plan.in, 1, 0};
    if (!f->count) {
        for (int64_t i = 0; i < t->width; i++)
            f->plan.op->empty(f->plan.par, out + (t->col + i) * f->plan.op->result_bytes);
        return;
    }
    room->k.carry = t->carry;
    tl_lanes_feed(room, &kept, at, f->count - at, NULL, 0, 1);
    tl_lower_row(&f->plan, (tl_staging){room->soa, room->r}, out + t->col * f->plan.op->result_bytes, 0, t->width,
                 f->count, 0, 0, 0, 0);
}

/* All strips, on the threads: in is pushed, or the results go to out. */
static tally_status run(tally *ctx, tl_grid *f, int threads, const tally_view *in, char *out)
{
    int failed = 0;
    const int64_t bytes = f->width * (in ? in->n : 1) * f->plan.op->elem_bytes;
    const int fetch = tl_fetches(bytes);
    tl_lanes_job job;
    tl_lanes_begin(&job, &f->plan, in);
    if (bytes <= TL_PARALLEL_BYTES) threads = 1;
    if (!tl_scratch_begin(ctx, threads)) return tl_no_memory(ctx, 0, "a field's threads");
#pragma omp parallel num_threads(tl_threads(threads))
    {
        tl_fp fp = tl_fp_enter();
        tl_lanes_room room;
        if (!tl_lanes_open(&room, ctx, &job, f->strips ? f->strip[0].width : 1, 0, 0)) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp barrier
        int stop;
#pragma omp atomic read
        stop = failed;
#pragma omp for schedule(static)
        for (int64_t s = 0; s < f->strips; s++) {
            if (stop) continue;
            if (in)
                push_strip(f, &room, &f->strip[s], in, fetch);
            else
                result_strip(f, &room, &f->strip[s], out);
        }
        tl_fp_leave(fp);
    }
    return failed ? tl_no_memory(ctx, tl_soa_bytes(&f->plan), "strips of a field") : TALLY_OK;
}

tally_status tl_grid_push(tally *ctx, tl_grid *f, int threads, const tally_view *in)
{
    if (!grow(f, f->count + in->n))
        return tl_no_memory(ctx, (size_t)f->width * sizeof(tl_state), "the nodes of a field");
    tally_status status = run(ctx, f, threads, in, NULL);
    if (!status) f->count += in->n;
    return status;
}

tally_status tl_grid_result(tally *ctx, tl_grid *f, int threads, void *out)
{
    return run(ctx, f, threads, NULL, out);
}

/* ---- the nodes of a slab ---- */

typedef struct {
    const tl_plan *plan;
    const tally_view *in;
    int64_t start;
    int count;
    const unsigned char *level;
    unsigned char *states;
} slab;

static unsigned char *state_of(const slab *b, int node, int64_t row)
{
    return b->states + (node * b->in->rows + row) * b->plan->op->state_bytes;
}

/* Lanes: node by node. They count from 0, so this is not for operators that look at an element's number. */
static void slab_strip(const slab *b, tl_lanes_room *room, int64_t col, int64_t width, int direct, int fetch)
{
    const tl_scalar *op = b->plan->op;
    int64_t n, size;
    const char *x = tl_view_row(b->in, col, op->elem_bytes, &n);
    for (int j = 0; j < b->count; j++, x += size * b->in->stride * op->elem_bytes) {
        const tl_lanes_from from = {x, b->in->stride, width, direct, b->in->row_stride, fetch ? AHEAD : 0};
        size = (int64_t)1 << b->level[j];
        tl_lanes_fold(room, &from, size, NULL, 0);
        for (int64_t c = 0; c < width; c++) {
            tl_state s;
            b->plan->core->unstage(room->soa, c, &s);
            if (op->from_wide) op->from_wide(&s);
            memcpy(state_of(b, j, col + c), &s, op->state_bytes);
        }
    }
}

/* A sequence alone. */
static void slab_row(const slab *b, int threads, int64_t row)
{
    enum { PACK = 16 << 10 };
    _Alignas(64) char pack[PACK];
    const int64_t bytes = b->plan->op->elem_bytes, stride = b->in->stride, most = PACK / bytes;
    tl_counter c;
    int64_t n;
    const char *x = tl_view_row(b->in, row, bytes, &n);
    tl_counter_init(&c, b->start);
    if (stride == 1) tl_slab(b->plan, threads, x, n, &c);
    for (int64_t at = 0, now; stride != 1 && at < n; at += now) {
        now = n - at < most ? n - at : most;
        tl_copy_strided(pack, 1, x + at * stride * bytes, stride, now, bytes);
        tl_slab(b->plan, 1, pack, now, &c);
    }
    for (int j = 0; j < b->count; j++) memcpy(state_of(b, j, row), &c.node[j], b->plan->op->state_bytes);
}

tally_status tl_grid_slab(tally *ctx, const tl_plan *plan, int threads, const tally_view *in, int64_t start, int count,
                          const unsigned char *level, unsigned char *states)
{
    enum { LONG = 128 }; /* rows from here on go one by one */
    const slab b = {plan, in, start, count, level, states};
    const int lanes = plan->core->vector_lanes, direct = !plan->in && in->row_stride == 1;
    const int alone = in->rows < lanes || plan->op->indexed || (in->stride == 1 && in->n >= LONG);
    const int64_t each = alone ? 1 : direct ? STRIP : TL_LANES_STRIP, full = direct ? in->rows & -(int64_t)lanes : in->rows,
                  strips = alone ? in->rows : (full + each - 1) / each + (full < in->rows);
    const int fetch = tl_fetches(in->rows * in->n * plan->op->elem_bytes);
    int failed = 0;
    tl_lanes_job job;
    tl_lanes_begin(&job, plan, in);
    if (in->rows * in->n * plan->op->elem_bytes <= TL_PARALLEL_BYTES) threads = 1;
    if (in->rows == 1) {
        slab_row(&b, threads, 0);
        return TALLY_OK;
    }
    if (!tl_scratch_begin(ctx, threads)) return tl_no_memory(ctx, 0, "threads");
#pragma omp parallel num_threads(tl_threads(threads))
    {
        tl_fp fp = tl_fp_enter();
        tl_lanes_room room;
        const int ready = alone || tl_lanes_open(&room, ctx, &job, each, in->n, 0);
        if (!ready) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp for schedule(static)
        for (int64_t s = 0; s < strips; s++) {
            const int64_t col = s * each < full ? s * each : full, end = col < full ? full : in->rows,
                          width = end - col < each ? end - col : each;
            if (alone)
                slab_row(&b, 1, s);
            else if (ready)
                slab_strip(&b, &room, col, width, direct && col < full, fetch);
        }
        tl_fp_leave(fp);
    }
    return failed ? tl_no_memory(ctx, tl_soa_bytes(plan), "strips of a field") : TALLY_OK;
}
