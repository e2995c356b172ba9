/* SPDX-License-Identifier: MIT
 * Grids in device memory: many sequences (cells) that grow together (context/device.h,
 * gpu/kernel/grid.cl). A push is one launch. It copies steps that do not fill a block, or folds
 * whole blocks; the last step of a block is read in place. A push waits for the device only where
 * it must (tally_use_stream in include/tally.h). */
#include "gpu/work.h"
#include "gpu/kernel/constants.h"
#include "law/counter.h"
#include <assert.h>
#include <stdlib.h>

enum {
    LEVELS_AT_ONCE = 4,    /* levels to add when there are too few */
    PACKED_MOST = 1 << 20, /* bytes of states that are copied to or from the host at a time */
    /* in cells: rows begin at multiples of 16 bytes, for every element size */
    PITCH = 16,
    LONG_LOG = 10,            /* log2 of the steps of a node that the whole device folds */
    LONG_LEAST = 4096,        /* min steps of a push to fold node by node */
    CELLS_PER_PROCESSOR = 512 /* with more cells, each cell gets a lane instead */
};

_Static_assert((int)GRID_BLOCK == (int)TL_GRID_BLOCK, "as a stream counts them");

typedef struct {
    tl_grid base; /* must be first */
    tl_gpu_device *d;
    tl_plan plan;
    int64_t width, pitch, count; /* cells; row length; steps that were pushed */
    int levels;                  /* levels that `nodes` has memory for */
    tl_persistent kept, nodes;

    /* Memory for `at_once` packed states, so that all states can go to the host when no memory is
     * left. */
    tl_persistent packed;
    int64_t at_once;
    int lost; /* the device failed after a push was launched: the contents are not known */
} grid;

/* Bytes of the nodes of `levels` levels; states are packed, though their fields are stored
 * separately. */
static size_t nodes_bytes(const grid *g, int levels)
{
    return (size_t)levels * (size_t)g->pitch * g->plan.op->state_bytes;
}

static int64_t groups_of(int64_t cells) { return (cells + GRID_THREADS - 1) / GRID_THREADS; }

/* Steps that the kernels read: `steps` of them from `byte` on in `data`; strides in elements. */
static tl_arguments_steps steps_arguments(const tl_memory *data, int64_t byte, int64_t cell_stride,
                                          int64_t step_stride, int64_t steps)
{
    return TL_ARGUMENTS(steps, .steps_data = tl_handle_of(data), .steps_byte = byte,
                        .cell_stride = cell_stride, .step_stride = step_stride, .steps = steps);
}

static tl_arguments_grid grid_arguments(const grid *g, int64_t first, int64_t end)
{
    return TL_ARGUMENTS(grid, .kept = g->kept.memory.handle,
                        .nodes = g->levels ? g->nodes.memory.handle : NULL, .pitch = g->pitch,
                        .first_cell = first, .cells = end, .parameter = g->plan.par.value);
}

/* Launches grid_push for steps at `count`, ... of the stream. */
static tally_status push_steps(const tl_launch *l, const tl_arguments_grid *to,
                               const tl_arguments_steps *steps, int64_t count)
{
    const int64_t cells = to->cells;
    /* steps that are only kept, of contiguous cells: a thread copies several bundles */
    const int copied = count % GRID_BLOCK + steps->steps < GRID_BLOCK && steps->cell_stride == 1;
    const int64_t each = (int64_t)16 * GRID_BUNDLES,
                  threads =
                      copied ? (cells * l->program.of.op->elem_bytes + each - 1) / each : cells;

    return TL_GO(l, grid_push, groups_of(threads), .grid = *to, .steps = *steps, .count = count,
                 .states = NULL, .level = -1, .merges = 0);
}

/* Provides memory for the nodes of n steps. */
static tally_status grow(const tl_launch *l, grid *g, int64_t n)
{
    tl_gpu_device *const d = g->d;
    int need = 1;

    while (n >> (GRID_LOG + need)) need++;
    assert(need <= TL_MAX_LEVELS && n >= g->count);
    if (need <= g->levels) return TALLY_OK;

    const int levels = need + LEVELS_AT_ONCE - 1;
    const size_t old = nodes_bytes(g, g->levels);
    tl_memory more = {0};
    tally_status status = tl_gpu_take(d, nodes_bytes(g, levels), &more);
    if (!status && old) { /* copied as one row of elements */
        const tl_arguments_steps row = steps_arguments(&g->nodes.memory, 0, 1, 0, 1);
        tl_arguments_grid to =
            grid_arguments(g, 0, (int64_t)(old / (size_t)g->plan.op->elem_bytes));
        to.kept = more.handle, to.nodes = NULL;
        status = push_steps(l, &to, &row, 0);
    }

    if (status) {
        tl_gpu_give(d, &more);
        return status;
    }

    tl_gpu_give(d, &g->nodes.memory);
    g->nodes.memory = more;
    g->levels = levels;

    return TALLY_OK;
}

/* ---- calls ---- */

static const char NO_CAPTURE[] = "streams of many sequences change with each push: push before it";

/* Enters the device, finds the program, and moves the grid back to device memory. After a
 * failure the device is already left. */
static tally_status enter(grid *g, tally *ctx, tl_launch *l)
{
    if (g->lost)
        return tl_fail(ctx, TALLY_NO_DEVICE,
                       "%s failed in an earlier push, and the stream's memory is lost: close it",
                       g->d->name);

    TL_TRY(tl_gpu_enter(g->d, ctx, NO_CAPTURE));

    tally_status status = tl_gpu_program(g->d, g->plan.op, "grid", l);
    if (!status) status = tl_gpu_come_back(g->d, &g->kept);
    if (!status) status = tl_gpu_come_back(g->d, &g->nodes);
    if (!status) status = tl_gpu_come_back(g->d, &g->packed);
    if (status) tl_gpu_leave(g->d);

    return status;
}

/* Waits where the call must, and leaves the device. */
static tally_status leave(grid *g, tally_status status)
{
    tl_gpu_device *const d = g->d;
    if (!d->stream || d->host || status) status = tl_gpu_wait(d, status);
    tl_gpu_leave(d);
    return status;
}

/* Adds packed states of `cells` cells from `first` on, which are nodes of `level` of the law, to
 * the counters. */
static tally_status add(const tl_launch *l, const grid *g, int64_t first, int64_t cells, int level,
                        int merges)
{
    assert(level >= GRID_LOG && cells <= g->at_once && first + cells <= g->width);
    return TL_GO(l, grid_push, groups_of(cells), .grid = grid_arguments(g, first, first + cells),
                 .steps = steps_arguments(NULL, 0, 0, 0, 0), .count = 0,
                 .states = g->packed.memory.handle, .level = level - GRID_LOG, .merges = merges);
}

/* Pushes steps `at` to end - 1 of the stream, one lane per cell. b: the steps of this push, which
 * begin at g->count. */
static tally_status by_lanes(const tl_launch *l, const grid *g, const tl_batch *b, int64_t at,
                             int64_t end)
{
    assert(g->count <= at && at <= end);
    const int64_t from = b->x.byte + (at - g->count) * b->stride * g->plan.op->elem_bytes;
    const tl_arguments_steps steps =
        steps_arguments(&b->x.memory, from, b->row_stride, b->stride, end - at);
    const tl_arguments_grid to = grid_arguments(g, 0, g->width);
    return at == end ? TALLY_OK : push_steps(l, &to, &steps, at);
}

/* Whole multiples of 2^LONG_LOG steps, node by node, each folded by the whole device (reduce.c). By
 * lanes if memory does not suffice. in: on the device, from g->count on. */
static tally_status by_nodes(const tl_launch *l, const grid *g, const tl_batch *b,
                             const tally_view *in, int64_t at, int64_t end)
{
    const int64_t bytes = g->plan.op->elem_bytes;
    const tally_view to =
        tally_rows((void *)(uintptr_t)g->packed.memory.address, g->plan.op->out, g->width, 1);
    const int host = g->d->host; /* every reduction resets it */
    tally_status status = TALLY_OK;

    for (int level; at < end && !status; at += (int64_t)1 << level) {
        const tl_piece piece = {.end = TL_PIPE_WAITS, .gives = TL_STATES, .origin = at};
        level = tl_slab_level(at, end);
        const tally_view node = tl_view_part(in, at - g->count, (int64_t)1 << level, bytes);
        const tl_call call = {.verb = TL_REDUCE, .plan = &g->plan, .in = &node, .out = &to};
        if (tl_gpu_whole(g->d, &call, &piece)) {
            status = by_lanes(l, g, b, at, end);
            break;
        }

        status = add(l, g, 0, g->width, level, __builtin_ctzll(~(uint64_t)(at >> level)));
    }

    g->d->host = host;
    return status;
}

/* True if there are too few cells to give each a lane, and many steps. */
static int is_long(const grid *g, int64_t n)
{
    return n >= LONG_LEAST && g->width <= g->at_once &&
           g->width < (int64_t)CELLS_PER_PROCESSOR * g->d->gpu->processors;
}

static tally_status push(tally *ctx, tl_grid *base, int threads, const tally_view *in,
                         const tally_view *out)
{
    grid *const g = (grid *)base;
    tl_gpu_device *const d = g->d;
    tl_launch l;
    const int64_t end = g->count + in->n, round = ((int64_t)1 << LONG_LOG) - 1;
    int64_t first = (g->count + round) & ~round, last = end & ~round;
    tl_batch b = tl_batch_of(&g->plan, in);

    TL_TRY(enter(g, ctx, &l));

    tally_status status = tl_batch_data(d, in, g->plan.op->elem_bytes, &b);
    if (!status) status = grow(&l, g, end);
    const int64_t launches = d->launches;
    if (!is_long(g, in->n)) first = last = end;
    tally_view there = *in;
    if (b.x.owned) there.data = tl_offset((void *)(uintptr_t)b.x.memory.address, b.x.byte);
    if (!status) status = by_lanes(&l, g, &b, g->count, first);
    if (!status) status = by_nodes(&l, g, &b, &there, first, last);
    if (!status) status = by_lanes(&l, g, &b, last, end);
    const int launched = d->launches > launches;
    status = leave(g, status);
    g->lost = launched && status;
    tl_batch_close(d, &b);
    if (!status) g->count = end;

    return status;
}

/* What is folded of each of `cells` cells from `first` on: the nodes whose levels are bits of
 * `blocks`, then `rows` kept steps from first_row on. */
typedef struct {
    int64_t first, cells, blocks, first_row, rows, flags;
} folded;

static tally_status fold(const tl_launch *l, const grid *g, const tl_results *r, const folded *f)
{
    assert(f->first >= 0 && f->cells > 0 && f->first + f->cells <= g->width);
    assert(f->first_row + f->rows < GRID_BLOCK);
    return TL_GO(l, grid_result, groups_of(f->cells),
                 .grid = grid_arguments(g, f->first, f->first + f->cells), .results = r->arguments,
                 .top = f->blocks ? 63 - __builtin_clzll((uint64_t)f->blocks) : -1,
                 .blocks = f->blocks, .rows = f->rows, .first_row = f->first_row,
                 .first = (g->count & -(int64_t)GRID_BLOCK) + f->first_row, .total = g->count,
                 .flags = f->flags);
}

static tally_status result(tally *ctx, tl_grid *base, int threads, void *out)
{
    grid *const g = (grid *)base;
    const tally_view to = tally_rows(out, g->plan.op->out, g->width, 1);
    tl_launch l;
    tl_results r = {0};

    TL_TRY(enter(g, ctx, &l));

    tally_status status = tl_results_open(g->d, &to, g->plan.op->result_bytes, &r);
    const folded all_cells = {
        .cells = g->width, .blocks = g->count / GRID_BLOCK, .rows = g->count % GRID_BLOCK};
    if (!status) status = fold(&l, g, &r, &all_cells);
    status = tl_results_close(g->d, &r, 1, status);
    tl_gpu_leave(g->d);

    return status;
}

/* Copies the states of node j of the slab, for `cells` cells from `first` on, to or from the
 * host. */
typedef tally_status node_copy(const tl_launch *l, const grid *g, tl_slab *slab, int j,
                               int64_t first, int64_t cells);

static tally_status node_to_host(const tl_launch *l, const grid *g, tl_slab *slab, int j,
                                 int64_t first, int64_t cells)
{
    const tl_results packed = {.arguments = {.out_data = g->packed.memory.handle}};
    const int level = slab->level[j];
    const int64_t kept = g->count % GRID_BLOCK, size = (int64_t)1 << level;
    folded node = {.first = first, .cells = cells, .flags = STATES};

    if (level >= GRID_LOG)
        node.blocks = (int64_t)1 << (level - GRID_LOG);
    else
        node.first_row = kept & -(2 * size), node.rows = size;
    TL_TRY(fold(l, g, &packed, &node));

    return tl_gpu_read(g->d, tl_slab_state(slab, j, first), &g->packed.memory, 0,
                       (size_t)cells * slab->bytes);
}

static tally_status node_from_host(const tl_launch *l, const grid *g, tl_slab *slab, int j,
                                   int64_t first, int64_t cells)
{
    TL_TRY(tl_gpu_write(g->d, &g->packed.memory, 0, tl_slab_state(slab, j, first),
                        (size_t)cells * slab->bytes));
    return add(l, g, first, cells, slab->level[j], 0);
}

/* Copies all nodes of the slab, some cells at a time, and leaves the device. */
static tally_status copy_nodes(const tl_launch *l, grid *g, tl_slab *slab, node_copy *copy,
                               tally_status status)
{
    for (int j = 0; j < slab->count; j++)
        for (int64_t at = 0, now; at < g->width && !status; at += now) {
            now = tl_min(g->width - at, g->at_once);
            status = copy(l, g, slab, j, at, now);
        }
    g->d->host = 1;
    return leave(g, status);
}

static tally_status nodes(tally *ctx, tl_grid *base, tl_slab *slab)
{
    grid *const g = (grid *)base;
    tl_launch l;
    TL_TRY(enter(g, ctx, &l));
    return copy_nodes(&l, g, slab, node_to_host, TALLY_OK);
}

static tally_status fill(tally *ctx, tl_grid *base, const tl_slab *slab, const tl_state *init)
{
    grid *const g = (grid *)base;
    tl_launch l;
    TL_TRY(enter(g, ctx, &l));

    assert(!init); /* the device has no grids of scans */
    TL_TRY(copy_nodes(&l, g, (tl_slab *)(uintptr_t)slab, node_from_host, grow(&l, g, slab->end)));
    g->count = slab->end;
    return TALLY_OK;
}

static void close_grid(tl_grid *base)
{
    grid *const g = (grid *)base;
    const int entered = !tl_gpu_enter(g->d, NULL, NULL);
    tl_gpu_end_persistent(g->d, &g->kept);
    tl_gpu_end_persistent(g->d, &g->nodes);
    tl_gpu_end_persistent(g->d, &g->packed);
    if (entered) tl_gpu_leave(g->d);
    free(g);
}

static const tl_grid_calls calls = {push, result, nodes, fill, close_grid};

tally_status tl_gpu_grid(tl_device *base, tally *ctx, const tl_plan *plan, int64_t rows,
                         const void *step, tl_grid **to)
{
    /* the device has only one memory */
    tl_gpu_device *const d = tl_gpu_of(base);
    const tl_scalar *const op = plan->op;
    const int64_t packed = op->state_bytes ? PACKED_MOST / op->state_bytes : PACKED_MOST;
    int64_t most;
    grid *const g = calloc(1, sizeof *g);
    *to = NULL;
    if (!g) return tl_no_memory(ctx, sizeof *g, "a field");

    *g = (grid){.base = {&calls, base},
                .d = d,
                .plan = *plan,
                .width = rows,
                .pitch = (rows + PITCH - 1) & -(int64_t)PITCH};
    g->at_once = tl_min(rows, packed);
    tally_status status =
        __builtin_mul_overflow(g->pitch, (int64_t)TL_MAX_LEVELS * (int64_t)sizeof(tl_state), &most)
            ? tl_no_memory(ctx, SIZE_MAX, "a field")
            : tl_gpu_enter(d, ctx, NO_CAPTURE);

    if (status) {
        free(g);
        return status;
    }

    tl_gpu_begin_persistent(d, &g->kept);
    tl_gpu_begin_persistent(d, &g->nodes);
    tl_gpu_begin_persistent(d, &g->packed);
    status = tl_gpu_take(d, (size_t)(GRID_BLOCK - 1) * (size_t)g->pitch * op->elem_bytes,
                         &g->kept.memory);
    if (!status) status = tl_gpu_take(d, (size_t)g->at_once * op->state_bytes, &g->packed.memory);
    tl_gpu_leave(d);

    if (status)
        close_grid(&g->base);
    else
        *to = &g->base;

    return status;
}
