/* SPDX-License-Identifier: MIT
 * The nodes of a slab of many sequences (grid.h): columns in strips of lanes, other sequences one
 * by one. */
#include "grid.h"
#include "cpu/driver.h"
#include "context/scratch.h"
#include "context/threads.h"
#include "context/view.h"
#include <assert.h>
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

/* Node by node, in lanes. Each node counts elements from 0, so operators that use an element's
 * index must not come here. */
static void slab_strip(const slab *b, tl_lanes_buffers *buffers, int64_t col, int64_t width,
                       int direct, int prefetch)
{
    const tl_scalar *op = b->plan->op;
    int64_t n, size;
    const char *x = tl_view_row(b->in, col, op->elem_bytes, &n);

    for (int j = 0; j < b->count; j++, x += size * b->in->stride * op->elem_bytes) {
        const tl_lanes_from from = {x,
                                    b->in->stride,
                                    width,
                                    direct ? TL_ALL_ROWS : 0,
                                    b->in->row_stride,
                                    prefetch ? TL_GRID_PREFETCH_ROWS : 0};
        size = (int64_t)1 << b->level[j];
        assert(size > 0 && size <= n);
        tl_lanes_fold(buffers, &from, size, NULL, 0);

        for (int64_t c = 0; c < width; c++) {
            tl_state s;
            b->plan->core->unstage(buffers->soa, c, &s);
            if (op->from_wide) op->from_wide(&s);
            memcpy(state_of(b, j, col + c), &s, op->state_bytes);
        }
    }
}

/* One sequence alone. */
static void slab_row(const slab *b, int threads, int64_t row)
{
    const int64_t bytes = b->plan->op->elem_bytes, stride = b->in->stride;
    tl_counter c;
    int64_t n;
    const char *x = tl_view_row(b->in, row, bytes, &n);

    tl_counter_init(&c, b->start);
    if (stride == 1)
        tl_push_slab(b->plan, threads, x, n, &c);
    else
        tl_push_strided(b->plan, x, stride, n, &c);
    assert(c.count == b->count);
    for (int j = 0; j < b->count; j++)
        memcpy(state_of(b, j, row), &c.node[j], b->plan->op->state_bytes);
}

static void slab_one(void *data, int64_t row) { slab_row(data, 1, row); }

typedef struct {
    tally *ctx;
    const slab *b;
    const tl_lanes_job *job;
    int direct, prefetch;
    int64_t each, full; /* columns of a strip; columns in strips that kernels may read in place */
} strips;

static void do_strips(void *data, const tl_worker *worker)
{
    const strips *a = data;
    const tally_view *in = a->b->in;
    tl_lanes_buffers buffers;

    if (!tl_lanes_open(&buffers, a->ctx, worker->number, a->job,
                       (tl_lanes_size){a->each, in->n, 0}))
        return;

    /* strips up to column `full`, and one of the columns after it */
    for (int64_t s; (s = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t col = s * a->each < a->full ? s * a->each : a->full,
                      end = col < a->full ? a->full : in->rows,
                      width = end - col < a->each ? end - col : a->each;
        slab_strip(a->b, &buffers, col, width, a->direct && col < a->full, a->prefetch);
    }
}

tally_status tl_grid_slab(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                          const tl_slab *of, unsigned char *states)
{
    enum { LONG = 128 }; /* longer rows go one by one */
    slab b = {plan, in, of->start, of->count, of->level, states};
    const int lanes = plan->core->vector_lanes, direct = !plan->in && in->row_stride == 1;
    const int64_t bytes = in->rows * in->n * plan->op->elem_bytes;

    if (in->rows == 1) {
        slab_row(&b, threads, 0);
        return TALLY_OK;
    }
    if (bytes <= TL_PARALLEL_BYTES) threads = 1;
    if (in->rows < lanes || plan->op->indexed || plan->op->inputs == 2 ||
        (in->stride == 1 && in->n >= LONG)) {
        tl_for(threads, in->rows, slab_one, &b);
        return TALLY_OK;
    }

    tl_lanes_job job;
    tl_lanes_begin(&job, plan, in);
    if (!tl_scratch_begin(ctx, threads)) return tl_no_memory(ctx, 0, "threads");
    strips all = {.ctx = ctx,
                  .b = &b,
                  .job = &job,
                  .direct = direct,
                  .prefetch = tl_prefetches(bytes),
                  .each = direct ? TL_GRID_STRIP : TL_LANES_STRIP,
                  .full = direct ? in->rows & -(int64_t)lanes : in->rows};
    const int64_t count = (all.full + all.each - 1) / all.each + (all.full < in->rows);
    return tl_parallel(threads, count, do_strips, &all)
               ? TALLY_OK
               : tl_no_memory(ctx, tl_soa_bytes(plan), "strips of a field");
}
