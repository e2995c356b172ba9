/* SPDX-License-Identifier: MIT
 * reduce and scan on a GPU: which kernels of shape/gpu/ run on what, in which order. */
#include "gpu_work.h"
#include <stdlib.h>
#include <string.h>

enum {
    ACROSS_LEAST = 16, /* columns worth a lane each */
    TILE_LOG = 13,     /* elements of a tile of the kernel once, at least */
    TILE_MORE = 3,     /* and up to 8 times that, */
    TILES_EACH = 3,    /* if there are so many for each processor */
    TILE_REST = 72     /* nodes after the last tile */
};

/* ---- shapes ---- */

/* All levels of nodes of the long sequences. */
static tally_status make_nodes(tl_gpu_device *d, tally *ctx, const tl_batch *b, tl_program *program, tl_memory *nodes)
{
    tl_launch l;
    int64_t all = 1;
    for (int k = 1; k <= b->levels; k++) all += b->counts[k];
    tally_status status = tl_gpu_take(d, ctx, (size_t)all * (size_t)tl_gpu_state_bytes(b->plan->op), nodes);
    for (int k = 1; !status && k <= b->levels; k++) {
        tl_begin(&l, d, ctx, b, program, 1);
        tl_put_memory(&l, nodes);
        if (k > 1) tl_put(&l, k);
        int across = k == 1 && !b->listed && b->row_stride == 1 && b->stride != 1 && b->rows >= ACROSS_LEAST;
        int64_t jobs = across ? (b->rows + 31) / 32 * tl_level_count(b->n, 1) : b->counts[k];
        tl_put(&l, jobs);
        status = tl_go(&l, across ? "columns" : k > 1 ? "up" : "nodes", jobs, 0);
    }
    return status;
}

/* A sequence in one launch (kernel once); nodes is its room. */
static tally_status reduce_once(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                                tl_program *program, tl_memory *nodes)
{
    const tl_gpu_calls *c = d->gpu->calls;
    int more = 0;
    while (more < TILE_MORE && b->n >> (TILE_LOG + more + 1) >= (int64_t)TILES_EACH * c->processors(d->gpu)) more++;
    int64_t tiles = b->n >> (TILE_LOG + more), groups = tiles >> 8, over = groups >> 8;
    tl_launch l;
    tally_status status = TALLY_OK;
    if (!d->ticket.bytes) {
        status = c->allocate(d->gpu, ctx, sizeof(int64_t), &d->ticket);
        if (!status) status = c->write(d->gpu, ctx, &d->ticket, 0, &(int64_t){0}, sizeof(int64_t));
        d->host = 1;
    }
    if (!status)
        status = tl_gpu_take(d, ctx, (size_t)(tiles + groups + over + TILE_REST) * (size_t)tl_gpu_state_bytes(b->plan->op), nodes);
    if (status) return status;
    tl_begin(&l, d, ctx, b, program, 1);
    tl_put_results(&l, r);
    tl_put_memory(&l, nodes);
    tl_put_memory(&l, &d->ticket);
    tl_put(&l, more);
    return tl_go_groups(&l, "once", tiles ? -tiles : 1, 32 * c->warps_in_group(d->gpu));
}

tally_status tl_gpu_reduce_batch(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tally_view *in,
                                 const tally_view *out, tally_status status)
{
    const tl_scalar *op = b->plan->op;
    tl_results r = {0};
    tl_memory nodes = {0};
    tl_program *program = NULL;
    tl_launch l;
    if (!status) status = tl_results_open(d, ctx, out, op->result_bytes, &r);
    if (!status) status = tl_gpu_program(d, ctx, op, "reduce", &program);
    int once = d->gpu->calls->once && in->rows == 1 && !b->listed && b->longs;
    if (!status && once) status = reduce_once(d, ctx, b, &r, program, &nodes);
    if (!status && b->longs && !once) status = make_nodes(d, ctx, b, program, &nodes);
    int64_t done = 0; /* short rows that `several` has */
    if (!status && !b->listed && in->stride == 1 && !b->states && (in->n == 128 || in->n == 256 || in->n == 512) &&
        (in->rows == 1 || in->row_stride == in->n)) {
        int64_t jobs = in->rows * in->n / TL_GPU_CHUNK;
        done = jobs * (TL_GPU_CHUNK / in->n);
        tl_begin(&l, d, ctx, b, program, 0);
        tl_put_results(&l, &r);
        tl_put(&l, jobs);
        status = tl_go(&l, "several", jobs, 0);
    }
    if (!status && b->shorts && b->listed && d->gpu->calls->once) {
        tl_begin(&l, d, ctx, b, program, 0);
        tl_put_results(&l, &r);
        tl_put(&l, TL_GPU_CHUNK - 1);
        status = tl_go(&l, "segments", (b->rows + 31) / 32, 0);
        done = b->rows;
    }
    for (int longs = 0; !status && longs < 2; longs++) {
        if (longs ? !b->longs || once : !b->shorts || done == b->rows) continue;
        tl_begin(&l, d, ctx, b, program, longs);
        tl_put_memory(&l, longs ? &nodes : &b->x);
        tl_put(&l, longs ? b->levels : 0);
        tl_put_results(&l, &r);
        tl_put(&l, longs ? INT64_MAX : TL_GPU_CHUNK - 1);
        status = tl_go(&l, "finish", longs ? b->longs : b->rows, 0);
    }
    status = tl_results_close(d, ctx, &r, op->result_bytes, status);
    tl_gpu_give(d, &nodes);
    return status;
}

tally_status tl_gpu_reduce_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in,
                                 const tally_view *out)
{
    tl_batch b;
    tally_status status = tl_batch_open(d, ctx, plan, in, &b);
    status = tl_gpu_reduce_batch(d, ctx, &b, in, out, status);
    tl_batch_close(d, &b);
    return status;
}

tally_status tl_gpu_reduce(tl_device *base, tally *ctx, const tl_plan *plan, const tally_view *in, void *out)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tally_view to = tally_rows(out, plan->op->out, in->rows, 1); /* a result a sequence */
    d->gpu->calls->enter(d->gpu);
    tally_status status = TALLY_NO_MEMORY;
    int pieces = tl_pieces_wanted(d, in, plan->op->elem_bytes, &to, plan->op->result_bytes) && tl_pieces_can(d, ctx, plan);
    if (!pieces) status = tl_gpu_reduce_whole(d, ctx, plan, in, &to);
    if (pieces || (status == TALLY_NO_MEMORY &&
                   tl_pieces_possible(d, in, plan->op->elem_bytes, &to, plan->op->result_bytes) &&
                   tl_pieces_can(d, ctx, plan)))
        status = tl_pieces_reduce(d, ctx, plan, in, &to);
    d->gpu->calls->leave(d->gpu);
    return status;
}

/* The sequence read from its end: the same elements with the opposite stride. */
static tally_view reversed(const tally_view *v, int64_t bytes)
{
    tally_view r = *v;
    r.data = tl_offset(v->data, (v->n > 0 ? v->n - 1 : 0) * v->stride * bytes);
    r.stride = -v->stride;
    return r;
}

/* ---- scans in one launch ---- */

enum { ONCE_TILES = 1 << 20, ONCE_NODES = 1 << 28, ONCE_RADIX_LOG = 5, ONCE_HEADER = 16, ONCE_WORD = 16, ONCE_STAGES = 3, ONCE_THREADS = 320 };

/* A board of at least so many words, none of them of this epoch. */
static tally_status board_for(tl_gpu_device *d, tally *ctx, int64_t words)
{
    d->board.epoch++;
    if (d->board.words >= words) return TALLY_OK;
    size_t bytes = ONCE_HEADER + (size_t)words * ONCE_WORD;
    if (d->board.memory.bytes) d->gpu->calls->release(d->gpu, &d->board.memory);
    d->board.words = d->board.taken = 0;
    void *zeros = calloc(1, bytes);
    tally_status status = zeros ? d->gpu->calls->allocate(d->gpu, ctx, bytes, &d->board.memory)
                                : tl_no_memory(ctx, bytes, "the board of a scan");
    if (!status) status = d->gpu->calls->write(d->gpu, ctx, &d->board.memory, 0, zeros, bytes);
    if (!status) status = d->gpu->calls->wait(d->gpu, ctx);
    free(zeros);
    if (!status)
        d->board.words = words;
    else if (d->board.memory.bytes)
        d->gpu->calls->release(d->gpu, &d->board.memory);
    return status;
}

/* Is this for the kernel scan_once? Its tiles have four digits, its nodes numbers of 32 bits. Rows shorter than half a tile would leave most of its warps idle. */
static int takes_once(const tl_gpu_device *d, const tl_batch *b, int64_t *room)
{
    const tl_scalar *op = b->plan->op;
    int64_t tiles = (b->n >> tl_gpu_once_log(op)) + 1;
    *room = (int64_t)ONCE_STAGES * op->elem_bytes << tl_gpu_once_log(op);
    return d->gpu->calls->once && tl_gpu_once_blocks(op) && !b->listed && b->longs && (b->rows == 1 || b->n >= 4096) &&
           tiles < ONCE_TILES && b->rows < ONCE_NODES / tiles && *room <= d->gpu->calls->local_bytes(d->gpu);
}

static tally_status scan_once(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r, tl_program *program,
                              int64_t room, int exclusive, int seeded, const tl_memory *init)
{
    int log = tl_gpu_once_log(b->plan->op), levels = 0;
    int64_t tiles = (b->n + (1 << log) - 1) >> log, all = 0, jobs = tiles * b->rows;
    for (int k = 0; k < TL_GPU_LEVELS + 8 && (!k || tiles >> (ONCE_RADIX_LOG * (k - 1))); k++) {
        all += b->rows * ((tiles >> (ONCE_RADIX_LOG * k)) + 1);
        if ((tiles - 1) >> (ONCE_RADIX_LOG * k)) levels = k;
    }
    int64_t groups = (int64_t)tl_gpu_once_blocks(b->plan->op) * d->gpu->calls->processors(d->gpu);
    if (groups > jobs) groups = jobs;
    tl_launch l;
    tally_status status = board_for(d, ctx, all * ((tl_gpu_state_bytes(b->plan->op) + 7) / 8));
    if (!status) {
        tl_begin(&l, d, ctx, b, program, 0);
        tl_put_results(&l, r);
        tl_put_memory(&l, &d->board.memory);
        tl_put(&l, d->board.taken);
        tl_put(&l, d->board.epoch);
        tl_put(&l, tiles);
        tl_put(&l, levels);
        tl_put(&l, jobs);
        tl_put(&l, exclusive);
        tl_put(&l, seeded);
        tl_put_memory(&l, init);
        tl_put_room(&l, room);
        status = tl_go(&l, "scan_once", groups, ONCE_THREADS);
        if (!status) d->board.taken += jobs + (ONCE_STAGES + 1) * groups; /* a group takes so many more than there are */
    }
    return status;
}

/* Scans forward: reversed ones come as views that walk backwards. */
tally_status tl_gpu_scan_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in,
                               const tally_view *out, const tally_scan_options *o)
{
    tl_batch b;
    tl_results r = {0};
    tl_memory nodes = {0}, prefix = {0}, init = {0};
    tl_program *program = NULL;
    tl_launch l;
    const void *first = d->piece.before ? d->piece.before : o ? o->init : NULL;
    int seeded = d->piece.before ? 2 : first ? 1 : 0; /* as `initial` of shape/gpu/scan.cl */
    size_t first_bytes = d->piece.before ? (size_t)in->rows * plan->op->state_bytes : plan->op->result_bytes;
    tally_status status = tl_batch_open(d, ctx, plan, in, &b);
    if (!status) status = tl_results_open(d, ctx, out, plan->op->result_bytes, &r);
    if (!status && first) status = tl_gpu_upload(d, ctx, first, first_bytes, &init);
    if (!status) status = tl_gpu_program(d, ctx, plan->op, "scan", &program);
    int64_t room = 0;
    int once = !status && takes_once(d, &b, &room), steps = b.longs && !once;
    if (once) status = scan_once(d, ctx, &b, &r, program, room, o && o->exclusive, seeded, seeded ? &init : &b.x);
    if (!status && steps) status = make_nodes(d, ctx, &b, program, &nodes);
    if (!status && steps) {
        int64_t all = 1;
        for (int k = 1; k <= b.levels; k++) all += b.counts[k] + b.longs;
        status = tl_gpu_take(d, ctx, (size_t)all * (size_t)tl_gpu_state_bytes(plan->op), &prefix);
    }
    for (int k = b.levels; !status && steps && k >= 1; k--) {
        int64_t jobs = (k < b.levels ? b.counts[k + 1] : 0) + b.longs;
        tl_begin(&l, d, ctx, &b, program, 1);
        tl_put_memory(&l, &nodes);
        tl_put_memory(&l, &prefix);
        tl_put(&l, k);
        tl_put(&l, jobs);
        tl_put(&l, seeded);
        tl_put_memory(&l, seeded ? &init : &b.x);
        status = tl_go(&l, "down", jobs, 0);
    }
    for (int longs = 0; !status && longs < 2; longs++) {
        if (longs ? !steps : !b.shorts) continue;
        int64_t jobs = longs ? b.counts[1] + b.longs : b.rows;
        tl_begin(&l, d, ctx, &b, program, longs);
        tl_put_memory(&l, longs ? &prefix : &b.x);
        tl_put_results(&l, &r);
        tl_put(&l, jobs);
        tl_put(&l, o && o->exclusive);
        tl_put(&l, seeded);
        tl_put_memory(&l, seeded ? &init : &b.x);
        tl_put(&l, longs ? 0 : TL_GPU_CHUNK - 1);
        status = tl_go(&l, "scan", jobs, 0);
    }
    status = tl_results_close(d, ctx, &r, plan->op->result_bytes, status);
    tl_gpu_give(d, &nodes);
    tl_gpu_give(d, &prefix);
    tl_gpu_give(d, &init);
    tl_batch_close(d, &b);
    return status;
}

tally_status tl_gpu_scan(tl_device *base, tally *ctx, const tl_plan *plan, const tally_view *in, const tally_view *out,
                         const tally_scan_options *o)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tally_status status;
    if (o && o->reverse && in->offsets) { /* every segment has its own last element */
        status = tl_gpu_host_only(d, ctx, in->data, "in->data", "reversed scans of segments");
        if (!status) status = tl_gpu_host_only(d, ctx, out->data, "out->data", "reversed scans of segments");
        tl_plan host = *plan;
        if (!status && !plan->core) status = tl_gpu_plan_host(base, ctx, plan->op, plan->par, &host);
        if (!status) d->on_processors += in->offsets[in->rows] - in->offsets[0];
        return status ? status : tl_device_cpu.scan(d->cpu, ctx, &host, in, out, o);
    }
    tally_view x = *in, y = *out;
    if (o && o->reverse) {
        x = reversed(in, plan->op->elem_bytes);
        y = reversed(out, plan->op->result_bytes);
    }
    d->gpu->calls->enter(d->gpu);
    int pieces = tl_pieces_wanted(d, &x, plan->op->elem_bytes, &y, plan->op->result_bytes) && tl_pieces_can(d, ctx, plan);
    status = pieces ? TALLY_NO_MEMORY : tl_gpu_scan_whole(d, ctx, plan, &x, &y, o);
    if (pieces || (status == TALLY_NO_MEMORY &&
                   tl_pieces_possible(d, &x, plan->op->elem_bytes, &y, plan->op->result_bytes) &&
                   tl_pieces_can(d, ctx, plan)))
        status = tl_pieces_scan(d, ctx, plan, &x, &y, o);
    d->gpu->calls->leave(d->gpu);
    return status;
}
