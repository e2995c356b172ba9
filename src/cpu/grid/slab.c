/* SPDX-License-Identifier: MIT
 * The nodes of a slab of many sequences (grid.h): columns in strips of lanes, others one by one. */
#include "grid.h"
#include "cpu/lanes.h"
#include "cpu/widen.h"
#include "law/fp.h"
#include "context/scratch.h"
#include "context/threads.h"
#include "context/view.h"
#include <omp.h>
#include <string.h>

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

/* Lanes: node by node. They count from 0, so this is not for operators that look at an element's
   number. */
static void slab_strip(const slab *b, tl_lanes_room *room, int64_t col, int64_t width, int direct,
                       int fetch)
{
    const tl_scalar *op = b->plan->op;
    int64_t n, size;
    const char *x = tl_view_row(b->in, col, op->elem_bytes, &n);
    for (int j = 0; j < b->count; j++, x += size * b->in->stride * op->elem_bytes) {
        const tl_lanes_from from = {x,      b->in->stride,     width,
                                    direct, b->in->row_stride, fetch ? TL_GRID_AHEAD : 0};
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
    if (stride == 1) tl_push_slab(b->plan, threads, x, n, &c);
    for (int64_t at = 0, now; stride != 1 && at < n; at += now) {
        now = n - at < most ? n - at : most;
        tl_copy_strided(pack, 1, x + at * stride * bytes, stride, now, bytes);
        tl_push_slab(b->plan, 1, pack, now, &c);
    }
    for (int j = 0; j < b->count; j++)
        memcpy(state_of(b, j, row), &c.node[j], b->plan->op->state_bytes);
}

tally_status tl_grid_slab(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                          int64_t start, int count, const unsigned char *level,
                          unsigned char *states)
{
    enum { LONG = 128 }; /* rows from here on go one by one */
    const slab b = {plan, in, start, count, level, states};
    const int lanes = plan->core->vector_lanes, direct = !plan->in && in->row_stride == 1;
    const int alone = in->rows < lanes || plan->op->indexed || plan->op->inputs == 2 ||
                      (in->stride == 1 && in->n >= LONG);
    const int64_t each = alone    ? 1
                         : direct ? TL_GRID_STRIP
                                  : TL_LANES_STRIP,
                  full = direct ? in->rows & -(int64_t)lanes : in->rows,
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
        const int ready =
            alone || tl_lanes_open(&room, ctx, omp_get_thread_num(), &job, each, in->n, 0);
        if (!ready) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp for schedule(static)
        for (int64_t s = 0; s < strips; s++) {
            const int64_t col = s * each < full ? s * each : full,
                          end = col < full ? full : in->rows,
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
