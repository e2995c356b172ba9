/* SPDX-License-Identifier: MIT
 * The shapes on any GPU API (gpu.h): views brought to the device, cut into jobs, launched, results brought back.
 *
 *   views      dense rows of one length, or segments. Segments shorter than a chunk (SHORT) need one launch for all of them;
 *              longer ones are chosen by a list, and have their own counts of nodes (first)
 *   memory     host arrays are copied; device memory is used in place. Blocks go back to a pool, which is bounded
 *   streams, fragments, files: host data in pieces, done by this context's processors (the bits are the same) */
#include "gpu.h"
#include "../view.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 1024,      /* elements of a level 1 node, as in shape/gpu/batch.cl */
    LEVELS_MOST = 8,   /* 2^62 elements have 7 */
    ACROSS_LEAST = 16, /* columns worth a lane each */
    POOL = 32,         /* freed blocks kept */
    PROGRAMS = 1024,
    ARGUMENTS_MOST = 40,
    GROUPS_A_PROCESSOR = 32
};
static const size_t POOL_BYTES = (size_t)1 << 30; /* no more than this stays in the pool */
static const int64_t SLAB = 1 << 22;              /* results of long windows computed at a time */

typedef struct {
    const tl_scalar *op;
    const char *shape;
    tl_program *program;
} built;

typedef struct {
    tl_device base;
    tl_gpu *gpu;
    tl_device *cpu; /* for what is not done on the GPU */
    char name[32];
    int host;   /* this call's host memory may still be read: wait before returning */
    int stream; /* the caller's stream: calls without host memory do not wait */
    tl_memory pool[POOL], ticket;
    built programs[PROGRAMS];
    int program_count;
} device;

static device *of(tl_device *d) { return (device *)d; }

/* ---- open ---- */

tally_status tl_gpu_open(tally *ctx, const tl_gpu_calls *calls, const tl_device_calls *kind, int number,
                         const char *options, tl_device **out)
{
    device *d = calloc(1, sizeof *d);
    if (!d) return tl_no_memory(ctx, sizeof *d, "a device");
    d->base.calls = kind;
    snprintf(d->name, sizeof d->name, "%s:%d", calls->name, number);
    tally_status status = tl_device_cpu.open(ctx, 0, options, &d->cpu);
    if (!status) status = calls->open(ctx, number, &d->gpu);
    if (status) {
        if (d->cpu) tl_device_cpu.close(d->cpu);
        free(d);
        return status;
    }
    *out = &d->base;
    return TALLY_OK;
}

void tl_gpu_close(tl_device *base)
{
    device *d = of(base);
    const tl_gpu_calls *c = d->gpu->calls;
    c->enter(d->gpu);
    for (int i = 0; i < d->program_count; i++) c->unload(d->gpu, d->programs[i].program);
    for (int i = 0; i < POOL; i++)
        if (d->pool[i].bytes) c->release(d->gpu, &d->pool[i]);
    if (d->ticket.bytes) c->release(d->gpu, &d->ticket);
    c->leave(d->gpu);
    c->close(d->gpu);
    tl_device_cpu.close(d->cpu);
    free(d);
}

int tl_gpu_threads(const tl_device *d) { return tl_device_cpu.threads(((const device *)d)->cpu); }
const char *tl_gpu_isa(const tl_device *d) { return ((const device *)d)->name; }

tally_status tl_gpu_plan(tl_device *base, tally *ctx, const tl_scalar *op, tl_par par, tl_plan *plan)
{
    return tl_device_cpu.plan(of(base)->cpu, ctx, op, par, plan);
}

tally_status tl_gpu_use_stream(tl_device *base, tally *ctx, void *stream)
{
    device *d = of(base);
    if (!d->gpu->calls->use_stream)
        return tl_fail(ctx, TALLY_UNSUPPORTED, "stream: %s has no streams of the caller's", d->name);
    d->gpu->calls->enter(d->gpu);
    tally_status status = d->gpu->calls->wait(d->gpu, ctx);
    if (!status) d->gpu->calls->use_stream(d->gpu, stream);
    d->stream = stream != NULL;
    d->gpu->calls->leave(d->gpu);
    return status;
}

/* ---- memory ---- */

/* The smallest pooled block that holds `bytes` and is not twice as large, or a new one. */
static tally_status take(device *d, tally *ctx, size_t bytes, tl_memory *memory)
{
    int best = -1;
    bytes = bytes ? bytes : 1;
    for (int i = 0; i < POOL; i++)
        if (d->pool[i].bytes >= bytes && d->pool[i].bytes / 2 <= bytes &&
            (best < 0 || d->pool[i].bytes < d->pool[best].bytes))
            best = i;
    if (best >= 0) {
        *memory = d->pool[best];
        d->pool[best] = (tl_memory){0};
        return TALLY_OK;
    }
    size_t room = bytes < 4096 ? 4096 : bytes;
    tally_status status = d->gpu->calls->allocate(d->gpu, ctx, room, memory);
    if (status == TALLY_NO_MEMORY) { /* the pool may be what is in the way */
        for (int i = 0; i < POOL; i++)
            if (d->pool[i].bytes) d->gpu->calls->release(d->gpu, &d->pool[i]);
        memset(d->pool, 0, sizeof d->pool);
        status = d->gpu->calls->allocate(d->gpu, ctx, room, memory);
    }
    return status;
}

static void give(device *d, tl_memory *memory)
{
    size_t pooled = 0;
    int empty = -1;
    if (!memory->bytes) return;
    for (int i = 0; i < POOL; i++) {
        pooled += d->pool[i].bytes;
        if (!d->pool[i].bytes) empty = i;
    }
    if (empty >= 0 && pooled + memory->bytes <= POOL_BYTES)
        d->pool[empty] = *memory;
    else
        d->gpu->calls->release(d->gpu, memory);
    *memory = (tl_memory){0};
}

/* ---- programs ---- */

static tally_status program_of(device *d, tally *ctx, const tl_scalar *op, const char *shape, tl_program **program)
{
    for (int i = 0; i < d->program_count; i++)
        if (d->programs[i].op == op && d->programs[i].shape == shape) {
            *program = d->programs[i].program;
            return TALLY_OK;
        }
    char *text;
    size_t length;
    if (d->program_count == PROGRAMS) {
        d->gpu->calls->unload(d->gpu, d->programs[0].program);
        memmove(d->programs, d->programs + 1, (PROGRAMS - 1) * sizeof *d->programs);
        d->program_count--;
    }
    tally_status status = tl_program_text(ctx, op, shape, d->gpu->calls->prelude, &text, &length);
    if (status) return status;
    status = d->gpu->calls->build(d->gpu, ctx, text, length, program);
    free(text);
    if (!status) d->programs[d->program_count++] = (built){op, shape, *program};
    return status;
}

/* ---- launches ---- */

/* A launch in the making: arguments are appended in the order of the kernel's parameters. */
typedef struct {
    device *d;
    tally *ctx;
    tl_program *program;
    tl_argument args[ARGUMENTS_MOST];
    int count;
} launch;

static void put(launch *l, int64_t v) { l->args[l->count++] = (tl_argument){TL_ARG_I64, {.i64 = v}}; }
static void put_real(launch *l, double v) { l->args[l->count++] = (tl_argument){TL_ARG_F64, {.f64 = v}}; }
static void put_memory(launch *l, const tl_memory *m) { l->args[l->count++] = (tl_argument){TL_ARG_MEMORY, {.memory = *m}}; }

/* jobs: warps (threads 0) or groups of `threads`. */
static tally_status go(launch *l, const char *kernel, int64_t jobs, int threads)
{
    const tl_gpu_calls *c = l->d->gpu->calls;
    int64_t groups = threads ? jobs : (jobs + c->warps_in_group - 1) / c->warps_in_group;
    int64_t most = (int64_t)c->processors(l->d->gpu) * GROUPS_A_PROCESSOR;
    if (jobs <= 0) return TALLY_OK;
    if (groups > most) groups = most;
    return c->launch(l->d->gpu, l->ctx, l->program, kernel, groups, threads ? threads : 32 * c->warps_in_group, l->args,
                     l->count);
}

/* ---- batches ---- */

/* A view on the device, as the kernels take it (shape/gpu/batch.cl). */
typedef struct {
    const tl_plan *plan;
    tl_memory x;
    int owned; /* x is ours to give back */
    int64_t x_byte, row_stride, stride, n, rows;
    const int64_t *host_offsets;
    tl_memory offsets, ids, first;
    /* long sequences: all rows, or those that ids chooses */
    int64_t longs, longest, counts[LEVELS_MOST + 1]; /* sequences; elements of the longest; nodes of each level */
    int shorts;                                      /* are there any? */
    int levels;
} batch;

enum { OFFSETS = 1, CHOSEN = 2 };

static void batch_close(device *d, batch *b)
{
    if (b->owned) give(d, &b->x);
    give(d, &b->offsets);
    give(d, &b->ids);
    give(d, &b->first);
}

static tally_status upload(device *d, tally *ctx, const void *data, size_t bytes, tl_memory *to)
{
    tally_status status = take(d, ctx, bytes, to);
    d->host = 1;
    if (!status && bytes) status = d->gpu->calls->write(d->gpu, ctx, to, 0, data, bytes);
    return status;
}

/* The long ones among segments: their rows, and how many nodes of each level come before each of them. */
static tally_status choose_long(device *d, tally *ctx, batch *b)
{
    int64_t longs = 0, rows = b->rows;
    for (int64_t r = 0; r < rows; r++) {
        int64_t n = b->host_offsets[r + 1] - b->host_offsets[r];
        if (n >= CHUNK) longs++;
        if (n > b->longest) b->longest = n;
    }
    b->longs = longs;
    b->shorts = longs < rows;
    for (int l = 1; l <= LEVELS_MOST && b->longest >> (2 + 8 * l) && l < 8; l++) b->levels = l;
    if (!longs) return TALLY_OK;
    size_t bytes = (size_t)longs * sizeof(int64_t), all = (size_t)(b->levels + 2) * (size_t)(longs + 1) * sizeof(int64_t);
    int64_t *ids = malloc(bytes), *first = malloc(all), at = 0;
    tally_status status = ids && first ? TALLY_OK : tl_no_memory(ctx, bytes + all, "the list of long segments");
    if (!status) {
        for (int64_t r = 0; r < rows; r++)
            if (b->host_offsets[r + 1] - b->host_offsets[r] >= CHUNK) ids[at++] = r;
        for (int l = 0; l <= b->levels + 1; l++) {
            int64_t sum = 0, *row = first + l * (longs + 1);
            for (int64_t s = 0; s < longs; s++) {
                int64_t n = b->host_offsets[ids[s] + 1] - b->host_offsets[ids[s]];
                row[s] = sum;
                sum += l ? n >> (2 + 8 * l) : n;
            }
            row[longs] = b->counts[l] = sum;
        }
        status = upload(d, ctx, ids, bytes, &b->ids);
        if (!status) status = upload(d, ctx, first, all, &b->first);
    }
    free(ids);
    free(first);
    return status;
}

static tally_status batch_open(device *d, tally *ctx, const tl_plan *plan, const tally_view *in, batch *b)
{
    const tl_gpu_calls *c = d->gpu->calls;
    int64_t low, high, bytes = plan->op->elem_bytes;
    *b = (batch){.plan = plan, .row_stride = in->row_stride, .stride = in->stride, .n = in->n, .rows = in->rows};
    tl_view_extent(in, bytes, &low, &high);
    size_t offset;
    tally_status status = TALLY_OK;
    if (high > low && c->owns(d->gpu, (char *)in->data + low, &b->x, &offset)) {
        b->x_byte = (int64_t)offset - low;
    } else {
        status = upload(d, ctx, high > low ? (char *)in->data + low : NULL, (size_t)(high - low), &b->x);
        b->owned = 1;
        b->x_byte = -low;
    }
    if (status) return status;
    if (in->offsets) {
        b->host_offsets = in->offsets;
        status = upload(d, ctx, in->offsets, (size_t)(in->rows + 1) * sizeof(int64_t), &b->offsets);
        return status ? status : choose_long(d, ctx, b);
    }
    b->shorts = in->n < CHUNK;
    b->longs = in->n < CHUNK ? 0 : in->rows;
    b->longest = in->n;
    for (int l = 1; l < 8 && in->n >> (2 + 8 * l); l++) {
        b->levels = l;
        b->counts[l] = in->rows * (in->n >> (2 + 8 * l));
    }
    return status;
}

/* The parameters every kernel begins with. chosen: only the long sequences. */
static void begin(launch *l, device *d, tally *ctx, const batch *b, tl_program *program, int chosen)
{
    *l = (launch){.d = d, .ctx = ctx, .program = program};
    int listed = b->host_offsets != NULL, some = chosen && listed;
    put_memory(l, &b->x);
    put(l, b->x_byte);
    put(l, b->row_stride);
    put(l, b->stride);
    put(l, b->n);
    put(l, chosen ? b->longs : b->rows);
    put(l, listed ? OFFSETS | (some ? CHOSEN : 0) : 0);
    put_memory(l, listed ? &b->offsets : &b->x);
    put_memory(l, some ? &b->ids : &b->x);
    put_memory(l, b->first.bytes ? &b->first : &b->x);
    put_real(l, b->plan->par.value);
}

/* ---- results ---- */

typedef struct {
    const tally_view *view;
    tl_memory y;
    int owned;
    int64_t byte, row_stride, stride; /* on the device */
    int64_t low, high;                /* owned: the bytes of the dense copy, relative to its element 0 */
} results;

static tally_status results_open(device *d, tally *ctx, const tally_view *out, int64_t bytes, results *r)
{
    int64_t low, high;
    size_t offset;
    *r = (results){.view = out, .row_stride = out->row_stride, .stride = out->stride};
    tl_view_extent(out, bytes, &low, &high);
    if (high <= low) return take(d, ctx, 1, &r->y) ? TALLY_NO_MEMORY : (r->owned = 1, TALLY_OK);
    if (d->gpu->calls->owns(d->gpu, (char *)out->data + low, &r->y, &offset)) {
        r->byte = (int64_t)offset - low;
        return TALLY_OK;
    }
    tally_view dense = *out;
    dense.stride = 1;
    dense.row_stride = out->n;
    tl_view_extent(&dense, bytes, &r->low, &r->high);
    r->row_stride = out->n;
    r->stride = 1;
    r->byte = -r->low;
    r->owned = 1;
    return take(d, ctx, (size_t)(r->high - r->low), &r->y);
}

/* Waits, and brings what is ours to the host. */
static tally_status results_close(device *d, tally *ctx, results *r, int64_t bytes, tally_status status)
{
    const tl_gpu_calls *c = d->gpu->calls;
    const tally_view *v = r->view;
    size_t all = (size_t)(r->high - r->low);
    int dense = v->stride == 1 && (v->offsets || v->row_stride == v->n || v->rows == 1);
    if (!status && r->owned && all && dense) {
        status = c->read(d->gpu, ctx, (char *)v->data + r->low, &r->y, 0, all);
    } else if (!status && r->owned && all) {
        char *copy = malloc(all);
        status = copy ? c->read(d->gpu, ctx, copy, &r->y, 0, all) : tl_no_memory(ctx, all, "results");
        for (int64_t i = 0; !status && i < v->rows; i++) {
            int64_t n, at = v->offsets ? v->offsets[i] * bytes - r->low : i * v->n * bytes;
            char *to = tl_view_row(v, i, bytes, &n);
            tl_copy_strided(to, v->stride, copy + at, 1, n, bytes);
        }
        free(copy);
    }
    if (!d->stream || d->host || status) {
        tally_status waited = c->wait(d->gpu, ctx);
        if (!status) status = waited;
    }
    d->host = 0;
    if (r->owned) give(d, &r->y);
    return status;
}

static void put_results(launch *l, const results *r)
{
    put_memory(l, &r->y);
    put(l, r->byte);
    put(l, r->row_stride);
    put(l, r->stride);
}

/* ---- shapes ---- */

/* All levels of nodes of the long sequences. */
static tally_status make_nodes(device *d, tally *ctx, const batch *b, tl_program *program, tl_memory *nodes)
{
    launch l;
    int64_t all = 1;
    for (int k = 1; k <= b->levels; k++) all += b->counts[k];
    tally_status status = take(d, ctx, (size_t)all * (size_t)tl_gpu_state_bytes(b->plan->op), nodes);
    for (int k = 1; !status && k <= b->levels; k++) {
        begin(&l, d, ctx, b, program, 1);
        put_memory(&l, nodes);
        if (k > 1) put(&l, k);
        int across = k == 1 && !b->host_offsets && b->row_stride == 1 && b->stride != 1 && b->rows >= ACROSS_LEAST;
        put(&l, across ? (b->rows + 31) / 32 * (b->n / CHUNK) : b->counts[k]);
        status = across ? go(&l, "columns", (b->rows + 31) / 32 * (b->n / CHUNK), 0)
                        : go(&l, k > 1 ? "up" : "nodes", b->counts[k], 0);
    }
    return status;
}

/* A sequence for one launch (`once`); nodes is the room for levels 1 and 2. */
static tally_status reduce_once(device *d, tally *ctx, const batch *b, const results *r, tl_program *program, tl_memory *nodes)
{
    launch l;
    tally_status status = TALLY_OK;
    if (!d->ticket.bytes) {
        status = d->gpu->calls->allocate(d->gpu, ctx, sizeof(int64_t), &d->ticket);
        if (!status) status = d->gpu->calls->write(d->gpu, ctx, &d->ticket, 0, &(int64_t){0}, sizeof(int64_t));
        d->host = 1;
    }
    if (!status)
        status = take(d, ctx, (size_t)(b->counts[1] + b->counts[2] + 1) * (size_t)tl_gpu_state_bytes(b->plan->op), nodes);
    if (status) return status;
    begin(&l, d, ctx, b, program, 1);
    put_memory(&l, &r->y);
    put(&l, r->byte);
    put(&l, 1);
    put(&l, 1);
    put_memory(&l, nodes);
    put_memory(&l, &d->ticket);
    put(&l, b->counts[1]);
    return go(&l, "once", b->counts[1], 0);
}

tally_status tl_gpu_reduce(tl_device *base, tally *ctx, const tl_plan *plan, const tally_view *in, void *out)
{
    device *d = of(base);
    batch b;
    results r = {0};
    tl_memory nodes = {0};
    tl_program *program = NULL;
    launch l;
    tally_view to = tally_flat(out, plan->op->out, in->rows);
    d->gpu->calls->enter(d->gpu);
    tally_status status = batch_open(d, ctx, plan, in, &b);
    if (!status) status = results_open(d, ctx, &to, plan->op->result_bytes, &r);
    if (!status) status = program_of(d, ctx, plan->op, "reduce", &program);
    int once = d->gpu->calls->once && in->rows == 1 && !in->offsets && b.longs && b.levels <= 2;
    if (!status && once) status = reduce_once(d, ctx, &b, &r, program, &nodes);
    if (!status && b.longs && !once) status = make_nodes(d, ctx, &b, program, &nodes);
    int64_t done = 0; /* short rows that `several` has */
    if (!status && !in->offsets && in->stride == 1 && (in->n == 128 || in->n == 256 || in->n == 512) &&
        (in->rows == 1 || in->row_stride == in->n)) {
        int64_t jobs = in->rows * in->n / CHUNK;
        done = jobs * (CHUNK / in->n);
        begin(&l, d, ctx, &b, program, 0);
        put_memory(&l, &r.y);
        put(&l, r.byte);
        put(&l, 1);
        put(&l, 1);
        put(&l, jobs);
        status = go(&l, "several", jobs, 0);
    }
    for (int longs = 0; !status && longs < 2; longs++) {
        if (longs ? !b.longs || once : !b.shorts || done == b.rows) continue;
        begin(&l, d, ctx, &b, program, longs);
        put_memory(&l, longs ? &nodes : &b.x);
        put(&l, longs ? b.levels : 0);
        put_memory(&l, &r.y);
        put(&l, r.byte);
        put(&l, 1);
        put(&l, 1);
        put(&l, longs ? INT64_MAX : CHUNK - 1);
        status = go(&l, "finish", longs ? b.longs : b.rows, 0);
    }
    status = results_close(d, ctx, &r, plan->op->result_bytes, status);
    give(d, &nodes);
    batch_close(d, &b);
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

static tally_status scan_forward(device *d, tally *ctx, const tl_plan *plan, const tally_view *in, const tally_view *out,
                                 const tally_scan_options *o)
{
    batch b;
    results r = {0};
    tl_memory nodes = {0}, prefix = {0}, init = {0};
    tl_program *program = NULL;
    launch l;
    int seeded = o && o->init;
    tally_status status = batch_open(d, ctx, plan, in, &b);
    if (!status) status = results_open(d, ctx, out, plan->op->result_bytes, &r);
    if (!status) status = upload(d, ctx, seeded ? o->init : &(int64_t){0}, seeded ? plan->op->result_bytes : 8, &init);
    if (!status) status = program_of(d, ctx, plan->op, "scan", &program);
    if (!status && b.longs) status = make_nodes(d, ctx, &b, program, &nodes);
    if (!status && b.longs) {
        int64_t all = 1;
        for (int k = 1; k <= b.levels; k++) all += b.counts[k] + b.longs;
        status = take(d, ctx, (size_t)all * (size_t)tl_gpu_state_bytes(plan->op), &prefix);
    }
    for (int k = b.levels; !status && b.longs && k >= 1; k--) {
        int64_t jobs = (k < b.levels ? b.counts[k + 1] : 0) + b.longs;
        begin(&l, d, ctx, &b, program, 1);
        put_memory(&l, &nodes);
        put_memory(&l, &prefix);
        put(&l, k);
        put(&l, jobs);
        put(&l, seeded);
        put_memory(&l, &init);
        status = go(&l, "down", jobs, 0);
    }
    for (int longs = 0; !status && longs < 2; longs++) {
        if (longs ? !b.longs : !b.shorts) continue;
        int64_t jobs = longs ? b.counts[1] + b.longs : b.rows;
        begin(&l, d, ctx, &b, program, longs);
        put_memory(&l, longs ? &prefix : &b.x);
        put_results(&l, &r);
        put(&l, jobs);
        put(&l, o && o->exclusive);
        put(&l, seeded);
        put_memory(&l, &init);
        put(&l, longs ? 0 : CHUNK - 1);
        status = go(&l, "scan", jobs, 0);
    }
    status = results_close(d, ctx, &r, plan->op->result_bytes, status);
    give(d, &nodes);
    give(d, &prefix);
    give(d, &init);
    batch_close(d, &b);
    return status;
}

tally_status tl_gpu_scan(tl_device *base, tally *ctx, const tl_plan *plan, const tally_view *in, const tally_view *out,
                         const tally_scan_options *o)
{
    device *d = of(base);
    tally_status status;
    if (o && o->reverse && in->offsets) /* every segment has its own last element */
        return tl_device_cpu.scan(d->cpu, ctx, plan, in, out, o);
    tally_view x = *in, y = *out;
    if (o && o->reverse) {
        x = reversed(in, plan->op->elem_bytes);
        y = reversed(out, plan->op->result_bytes);
    }
    d->gpu->calls->enter(d->gpu);
    status = scan_forward(d, ctx, plan, &x, &y, o);
    d->gpu->calls->leave(d->gpu);
    return status;
}

/* ---- windows ---- */

typedef struct {
    int64_t before, after, least;
    int valid;
} geometry;

static void put_window(launch *l, const results *r, const geometry *g)
{
    put_results(l, r);
    put(l, g->before);
    put(l, g->after);
    put(l, g->valid);
    put(l, g->least);
}

/* Windows that fit local memory: one launch for all sequences. */
static tally_status window_tiles(device *d, tally *ctx, batch *b, const results *r, tl_program *program, const geometry *g)
{
    launch l;
    int64_t room = (int64_t)1 << tl_gpu_room_log(b->plan->op), each = room - (g->before + g->after), tiles = 0, jobs = 0;
    tally_status status = TALLY_OK;
    if (each > room / 2) each = room / 2;
    if (b->host_offsets) {
        size_t bytes = (size_t)(b->rows + 1) * sizeof(int64_t);
        int64_t *first = malloc(bytes);
        if (!first) return tl_no_memory(ctx, bytes, "the tiles of segments");
        for (int64_t s = 0; s < b->rows; s++) {
            first[s] = jobs;
            jobs += (b->host_offsets[s + 1] - b->host_offsets[s] + each - 1) / each;
        }
        first[b->rows] = jobs;
        give(d, &b->first);
        status = upload(d, ctx, first, bytes, &b->first);
        free(first);
    } else {
        int64_t count = g->valid ? b->n - g->before - g->after : b->n;
        tiles = count > 0 ? (count + each - 1) / each : 0;
        jobs = tiles * b->rows;
    }
    if (status) return status;
    begin(&l, d, ctx, b, program, 0);
    put_window(&l, r, g);
    put(&l, tiles);
    put(&l, jobs);
    put(&l, each);
    int few = d->gpu->calls->once && __builtin_popcountll((unsigned long long)(g->before + g->after + 1)) <= tl_gpu_kept(b->plan->op);
    if (few) status = go(&l, "window_few", jobs, 256);
    put(&l, few);
    return status ? status : go(&l, "window", jobs, 256);
}

/* Longer windows: every level an array, a slab of results of one sequence at a time. */
static tally_status window_slabs(device *d, tally *ctx, batch *b, const results *r, tl_program *program, const geometry *g)
{
    tally_status status = TALLY_OK;
    for (int64_t s = 0; !status && s < b->rows; s++) {
        int64_t n = b->host_offsets ? b->host_offsets[s + 1] - b->host_offsets[s] : b->n;
        int64_t count = g->valid ? n - g->before - g->after : n, w = g->before + 1 + g->after;
        for (int64_t j0 = 0; !status && j0 < count; j0 += SLAB) {
            int64_t j1 = j0 + SLAB < count ? j0 + SLAB : count, shift = g->valid ? g->before : 0;
            int64_t lo = j0 + shift > g->before ? j0 + shift - g->before : 0;
            int64_t hi = g->after < n - (j1 + shift) ? j1 + shift + g->after : n, items = hi - lo;
            int levels = 1;
            while (levels < 62 && w >> levels && items >> levels) levels++;
            launch l;
            tl_memory y = {0};
            status = take(d, ctx, (size_t)items * (size_t)levels * (size_t)tl_gpu_state_bytes(b->plan->op), &y);
            if (!status) {
                begin(&l, d, ctx, b, program, 0);
                put_memory(&l, &y);
                put(&l, s);
                put(&l, lo);
                put(&l, items);
                status = go(&l, "lift_all", (items + 255) / 256, 256);
            }
            for (int k = 0; !status && k + 1 < levels; k++) {
                l = (launch){.d = d, .ctx = ctx, .program = program};
                put_memory(&l, &y);
                put(&l, items);
                put(&l, k);
                put(&l, items);
                status = go(&l, "double_all", (items + 255) / 256, 256);
            }
            if (!status) {
                begin(&l, d, ctx, b, program, 0);
                put_window(&l, r, g);
                put_memory(&l, &y);
                put(&l, items);
                put(&l, s);
                put(&l, lo);
                put(&l, j0);
                put(&l, j1);
                status = go(&l, "fold_all", (j1 - j0 + 255) / 256, 256);
            }
            give(d, &y);
        }
    }
    return status;
}

static tally_status windows(device *d, tally *ctx, batch *b, const results *r, const geometry *g)
{
    tl_program *program = NULL;
    tally_status status = program_of(d, ctx, b->plan->op, "window", &program);
    int small = g->before + g->after < (int64_t)1 << (tl_gpu_room_log(b->plan->op) - 1);
    if (!status) status = (small ? window_tiles : window_slabs)(d, ctx, b, r, program, g);
    return status;
}

/* For operators that skip NaN: results with fewer than min_count elements that count become empty. */
static tally_status blank(device *d, tally *ctx, batch *b, const results *r, const tl_plan *count, const geometry *g,
                          int64_t least)
{
    const tally_view *v = r->view;
    int64_t total = v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->rows * v->n;
    tl_program *program = NULL;
    launch l;
    results counts = {.view = v, .row_stride = v->n, .stride = 1, .owned = 1};
    geometry all = *g;
    const tl_plan *plan = b->plan;
    all.least = 0;
    if (v->offsets) counts.byte = -v->offsets[0] * (int64_t)sizeof(int64_t);
    tally_status status = take(d, ctx, (size_t)total * sizeof(int64_t), &counts.y);
    b->plan = count;
    if (!status) status = windows(d, ctx, b, &counts, &all);
    b->plan = plan;
    if (!status) status = program_of(d, ctx, plan->op, "window", &program);
    if (!status) {
        begin(&l, d, ctx, b, program, 0);
        put_results(&l, r);
        put_memory(&l, &counts.y);
        put(&l, least);
        put(&l, v->n);
        put(&l, total);
        status = go(&l, "blank", (total + 255) / 256, 256);
    }
    give(d, &counts.y);
    return status;
}

tally_status tl_gpu_window(tl_device *base, tally *ctx, const tl_plan *plan, const tl_plan *count, const tally_view *in,
                           const tally_view *out, const tally_window_options *o)
{
    device *d = of(base);
    batch b;
    results r = {0};
    int masked = plan->op->masked;
    int shrink = o->edges == TALLY_EDGES_SHRINK || (o->edges == TALLY_EDGES_MISSING && o->min_count > 0);
    geometry g = {o->before, o->after, masked ? 0 : o->min_count, o->edges == TALLY_EDGES_VALID};
    int64_t w = o->before + 1 + o->after;
    if (!shrink && !g.valid && g.least < w) g.least = w;
    /* a window longer than the sequence reaches no further than the sequence */
    int64_t longest = in->n;
    if (in->offsets)
        for (int64_t i = longest = 0; i < in->rows; i++)
            if (in->offsets[i + 1] - in->offsets[i] > longest) longest = in->offsets[i + 1] - in->offsets[i];
    if (!g.valid && g.before > longest) g.before = longest;
    if (!g.valid && g.after > longest) g.after = longest;
    d->gpu->calls->enter(d->gpu);
    tally_status status = batch_open(d, ctx, plan, in, &b);
    if (!status) status = results_open(d, ctx, out, plan->op->result_bytes, &r);
    if (!status) status = windows(d, ctx, &b, &r, &g);
    if (!status && masked && o->min_count > 0) status = blank(d, ctx, &b, &r, count, &g, o->min_count);
    status = results_close(d, ctx, &r, plan->op->result_bytes, status);
    batch_close(d, &b);
    d->gpu->calls->leave(d->gpu);
    return status;
}

/* ---- host data in pieces: the processors ---- */

tally_status tl_gpu_slab(tl_device *base, tally *ctx, const tl_plan *plan, const void *x, int64_t n, tl_counter *c)
{
    return tl_device_cpu.slab(of(base)->cpu, ctx, plan, x, n, c);
}
tally_status tl_gpu_scan_push(tl_device *base, tally *ctx, tl_scan *s, const void *x, int64_t n, void *out)
{
    return tl_device_cpu.scan_push(of(base)->cpu, ctx, s, x, n, out);
}
tally_status tl_gpu_window_slice(tl_device *base, tally *ctx, const tl_plan *plan, const tl_plan *count,
                                 const tally_window_options *o, const void *x, int64_t n, int at_start, int at_end,
                                 void *out, int64_t *produced)
{
    return tl_device_cpu.window_slice(of(base)->cpu, ctx, plan, count, o, x, n, at_start, at_end, out, produced);
}
