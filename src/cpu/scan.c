/* SPDX-License-Identifier: MIT
 * scan of dense elements: on one thread (scan_tiles.c), or on several (scan_shared.c) if there are
 * enough elements. */
#include "scan.h"
#include "narrow/narrow.h"
#include "context/scratch.h"

/* Results of at least this size use non-temporal stores. */
enum { STREAM_BYTES = 4 * 1024 * 1024 };

/* work: changed */
static void scan_dense(tally *ctx, tl_scan *s, int threads, tl_scan_work *work)
{
    const tl_scalar *op = s->plan->op;
    if (threads > 1 && work->n * op->elem_bytes >= 2 * TL_PARALLEL_BYTES) {
        const int64_t size = (int64_t)1 << tl_scan_block_level(s->plan, work->n, threads),
                      head = -s->done.end & (size - 1);
        if (work->n - head > size) {
            tl_scan_work first = *work;
            first.n = head;
            tl_scan_serial(s, &s->done, &first);
            work->x += head * op->elem_bytes;
            work->out += head * op->result_bytes;
            work->n -= head;
            if (tl_scan_shared(ctx, s, threads, size, work)) return;
        }
    }

    work->prefetch = tl_scan_prefetch(s->plan, work->stream);
    tl_scan_serial(s, &s->done, work);
}

tally_status tl_scan_push(tally *ctx, tl_scan *s, int threads, const void *x, int64_t n, void *out)
{
    const size_t bytes = tl_scan_bytes(s->plan);
    void *memory = tl_scratch_begin(ctx, 1) ? tl_scratch(ctx, 0, TL_SINGLE, bytes) : NULL;
    if (!memory) return tl_no_memory(ctx, bytes, "staging a scan");
    tl_scan_work work = {.x = x, .n = n, .out = out, .staging = tl_staging_at(s->plan, memory)};
    if (n * s->plan->op->result_bytes >= STREAM_BYTES) work.stream = TL_STORE_STREAM;
    scan_dense(ctx, s, threads, &work);
    return TALLY_OK;
}

/* ---- the shape (driver.h) ---- */

static tally_status open(tl_thread *t)
{
    const tl_plan *plan = t->run->call->plan;
    void *memory = tl_thread_memory(t, TL_SINGLE, tl_scan_bytes(plan), "staging a scan");
    if (!memory) return TALLY_NO_MEMORY;
    t->memory->scan.staging = tl_staging_at(plan, memory);
    return TALLY_OK;
}

static tally_status part(tl_thread *t, const tl_part *p)
{
    tl_scan *s = &t->memory->scan.scan;
    if (p->first) tl_scan_begin(s, t->run->call->plan, t->run->call->scan);
    s->ends = p->last;
    const int stream = p->in_place && t->run->stream ? TL_STORE_STREAM : TL_STORE_CACHED;
    tl_scan_work work = {
        .x = p->x, .n = p->n, .out = p->y, .stream = stream, .staging = t->memory->scan.staging};
    scan_dense(t->run->ctx, s, t->threads, &work);
    return TALLY_OK;
}

/* Dense sequences of elements that have a fast path (narrow/narrow.h). */
static tally_status rows(tl_thread *t, int64_t r, int64_t end, int *done)
{
    const tl_call *c = t->run->call;
    const int reverse = c->scan && c->scan->reverse;
    *done = c->plan->narrow && c->in->stride == 1 && c->out->stride == 1 && !reverse &&
            t->run->all_sequences && c->in->rows > 1;
    if (*done) tl_narrow_scan_rows(c->plan, c->in, c->out, c->scan, r, end);
    return TALLY_OK;
}

const tl_shape tl_scan_shape = {
    .open = open, .part = part, .rows = rows, .lanes = 1, .least_bytes = 4 * TL_PARALLEL_BYTES};
