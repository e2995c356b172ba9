/* SPDX-License-Identifier: MIT
 * The nodes of a slab of many sequences (grid.h): in strips of lanes, or one sequence at a time. */
#include "grid.h"
#include "cpu/driver.h"
#include "context/threads.h"
#include "context/view.h"
#include <assert.h>
#include <string.h>

typedef struct {
    const tl_plan *plan;
    const tally_view *in;
    const tl_slab *of;
    unsigned char *states;
} slab;

/* One sequence alone. */
static void slab_row(const slab *b, int threads, int64_t row)
{
    const int64_t bytes = b->plan->op->elem_bytes, stride = b->in->stride,
                  state = b->plan->op->state_bytes;
    tl_counter c;
    int64_t n;
    const char *x = tl_view_row(b->in, row, bytes, &n);

    tl_counter_init(&c, b->of->start);
    if (stride == 1)
        tl_push_slab(b->plan, threads, x, n, &c);
    else
        tl_push_strided(b->plan, x, stride, n, &c);
    assert(c.count == b->of->count);
    for (int j = 0; j < c.count; j++)
        memcpy(b->states + (j * b->in->rows + row) * state, &c.node[j], (size_t)state);
}

static void slab_one(void *data, int64_t row) { slab_row(data, 1, row); }

tally_status tl_grid_slab(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                          const tl_slab *of, unsigned char *states)
{
    enum { LONG = 128 }; /* longer rows go one by one */
    slab b = {plan, in, of, states};

    if (in->rows == 1) {
        slab_row(&b, threads, 0);
        return TALLY_OK;
    }
    if (in->rows * in->n * plan->op->elem_bytes <= TL_PARALLEL_BYTES) threads = 1;
    if (in->rows < plan->core->vector_lanes || plan->op->indexed || plan->op->inputs == 2 ||
        (in->stride == 1 && in->n >= LONG)) {
        tl_for(threads, in->rows, slab_one, &b);
        return TALLY_OK;
    }

    tl_lanes_job job;
    tl_lanes_begin(&job, plan, in);
    return tl_lanes_nodes(ctx, &job, threads, of, states)
               ? TALLY_OK
               : tl_no_memory(ctx, tl_soa_bytes(plan), "strips of a field");
}
