/* SPDX-License-Identifier: MIT
 * scan over views: which sequences go one by one, many at a time, or by all threads; strides and reversed ones through
 * dense parts. */
#include "scan.h"
#include "lanes.h"
#include "narrow/narrow.h"
#include "context/scratch.h"
#include "context/share.h"
#include "context/threads.h"
#include "context/view.h"
#include <stdlib.h>

enum {
    PACK = TL_TILE,
    LONG_BYTES = 4 * 1024 * 1024, /* segments from here on are cut between threads */
    FAR_BYTES = 2 * 1024 * 1024   /* of a sequence that is not dense, made dense at a time */
};

/* A sequence with strides: PACK elements at a time, through dense buffers. */
typedef struct {
    char *states, *in, *out;
} scratch;

static int scratch_open(scratch *w, tally *ctx, int me, const tl_plan *plan)
{
    const size_t in = PACK * (size_t)plan->op->elem_bytes, out = PACK * (size_t)plan->op->result_bytes;
    w->in = tl_scratch(ctx, me, TL_SINGLE, in + out + tl_staging_bytes(plan));
    if (!w->in) return 0;
    w->out = w->in + in;
    w->states = w->out + out;
    return 1;
}

/* Sequences that go one by one. */
typedef struct {
    scratch *w;
    const tl_plan *plan;
    const tally_view *in, *out;
    const tally_scan_options *o;
    int64_t is_long; /* elements; from here on all threads have scanned it already */
    int stream;
    int64_t ahead;
} singles;

static void single(void *with, int64_t r)
{
    const singles *a = with;
    const tally_view *in = a->in, *out = a->out;
    const tl_scalar *op = a->plan->op;
    scratch *w = a->w;
    const int reverse = a->o && a->o->reverse, sign = reverse ? -1 : 1;
    tl_staging staging = tl_staging_at(a->plan, w->states);
    tl_scan scan;
    int64_t n, m;
    const char *x = tl_view_row(in, r, op->elem_bytes, &n);
    char *y = tl_view_row(out, r, op->result_bytes, &m);
    if (n >= a->is_long) return;
    tl_scan_begin(&scan, a->plan, a->o);
    scan.ends = 1;
    if (in->stride * sign == 1 && out->stride * sign == 1) {
        const int64_t first = reverse && n ? n - 1 : 0; /* of the scan, in the view's order */
        x += first * in->stride * op->elem_bytes;
        y += first * out->stride * op->result_bytes;
        tl_scan_serial(&scan, x, n, y, a->stream, a->ahead, staging);
        return;
    }
    for (int64_t at = 0, now; at < n; at += now) {
        now = n - at < PACK ? n - at : PACK;
        const int64_t from = reverse ? n - 1 - at : at;
        tl_copy_strided(w->in, 1, x + from * in->stride * op->elem_bytes, in->stride * sign, now, op->elem_bytes);
        tl_scan_serial(&scan, w->in, now, w->out, TL_SCAN_CACHED, 0, staging);
        tl_copy_strided(y + from * out->stride * op->result_bytes, out->stride * sign, w->out, 1, now,
                        op->result_bytes);
    }
}

/* A long sequence that is not dense, or reversed, by all threads: they make a block of it dense, scan that, and bring
 * the results to their places. */
static tally_status far_one(tally *ctx, const tl_plan *plan, int threads, const char *x, int64_t in_stride, int64_t n,
                            char *y, int64_t out_stride, const tally_scan_options *o)
{
    const tl_scalar *op = plan->op;
    const int sign = o && o->reverse ? -1 : 1;
    const int64_t block = FAR_BYTES / op->elem_bytes;
    const size_t bytes = (size_t)(block * (op->elem_bytes + op->result_bytes));
    char *const dense = malloc(bytes), *const results = dense + block * op->elem_bytes;
    tally_status status = dense ? TALLY_OK : tl_no_memory(ctx, bytes, "a dense part of a sequence");
    tl_scan scan;
    tl_scan_begin(&scan, plan, o);
    for (int64_t at = 0, now; at < n && !status; at += now) {
        now = n - at < block ? n - at : block;
        const int64_t from = sign < 0 ? n - 1 - at : at;
        tl_copy_strided_by(threads, dense, 1, x + from * in_stride * op->elem_bytes, in_stride * sign, now,
                           op->elem_bytes);
        status = tl_scan_push(ctx, &scan, threads, dense, now, results);
        if (!status)
            tl_copy_strided_by(threads, y + from * out_stride * op->result_bytes, out_stride * sign, results, 1, now,
                               op->result_bytes);
    }
    free(dense);
    return status;
}

typedef struct {
    tally *ctx;
    const tl_lanes_job *job; /* NULL: all of them go one by one */
    int narrow;              /* by an express road */
    singles alone;           /* without a scratch, which is a thread's */
    int failed;
} shares;

static void share(void *with, const tl_member *m)
{
    shares *all = with;
    scratch w;
    singles alone = all->alone;
    alone.w = &w;
    if (all->narrow) {
        for (int64_t t; (t = tl_deal(m)) < m->end;)
            tl_narrow_scan_rows(alone.plan, alone.in, alone.out, alone.o, tl_share(alone.in, t, m->end),
                                tl_share(alone.in, t + 1, m->end));
        return;
    }
    tl_lanes_batch *batch =
        all->job ? tl_lanes_batch_open(all->ctx, m->me, all->job) : NULL; /* without memory, one by one */
    if (!scratch_open(&w, all->ctx, m->me, alone.plan)) {
        __atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    tl_lanes_deal(batch, alone.in, m, single, &alone);
}

tally_status tl_scan_view(tally *ctx, const tl_plan *plan, int threads, const tally_view *in, const tally_view *out,
                          const tally_scan_options *o)
{
    const tl_scalar *op = plan->op;
    int64_t n, m, total = in->offsets ? (in->rows ? in->offsets[in->rows] - in->offsets[0] : 0) : in->rows * in->n;
    int dense = in->stride == 1 && out->stride == 1 && !(o && o->reverse);
    int64_t big = 4 * TL_PARALLEL_BYTES / op->elem_bytes;
    if (dense && (in->rows == 1 || (threads > 1 && in->rows < threads))) {
        for (int64_t r = 0; r < in->rows; r++) {
            tl_scan s;
            tl_scan_begin(&s, plan, o);
            const char *x = tl_view_row(in, r, op->elem_bytes, &n);
            tally_status status = tl_scan_push(ctx, &s, threads, x, n, tl_view_row(out, r, op->result_bytes, &m));
            if (status) return status;
        }
        return TALLY_OK;
    }
    tl_lanes_job job;
    tl_lanes_begin(&job, plan, in);
    tl_lanes_of_scan(&job, out, o);
    if (tl_lanes_take_columns(in)) return tl_lanes_columns(ctx, &job, threads);
    if (!dense && !in->offsets && in->rows < threads && in->n >= big) {
        tally_status status = TALLY_OK;
        for (int64_t r = 0; r < in->rows && !status; r++) {
            const char *x = tl_view_row(in, r, op->elem_bytes, &n);
            status = far_one(ctx, plan, threads, x, in->stride, n, tl_view_row(out, r, op->result_bytes, &m),
                             out->stride, o);
        }
        return status;
    }
    /* Long segments one after the other, each on all threads; then shares of about the same weight. */
    int64_t is_long = dense && threads > 1 && in->offsets && total > big ? LONG_BYTES / op->elem_bytes : INT64_MAX;
    int64_t longs = 0;
    for (int64_t r = 0; is_long != INT64_MAX && r < in->rows; r++) {
        const char *x = tl_view_row(in, r, op->elem_bytes, &n);
        if (n < is_long) continue;
        tl_scan s;
        tl_scan_begin(&s, plan, o);
        tally_status status = tl_scan_push(ctx, &s, threads, x, n, tl_view_row(out, r, op->result_bytes, &m));
        if (status) return status;
        longs++;
    }
    if (!tl_scratch_begin(ctx, threads)) return tl_no_memory(ctx, 0, "threads");
    const int lanes = tl_lanes_take_rows(&job);
    const int stream = dense && total * op->result_bytes >= TL_SCAN_STREAM_BYTES ? TL_SCAN_STREAM : TL_SCAN_CACHED;
    const int64_t tasks = threads > 1 && total > big ? (int64_t)threads * 32 : 1;
    shares all = {ctx,
                  lanes ? &job : NULL,
                  plan->narrow && dense && !longs,
                  {NULL, plan, in, out, o, is_long, stream, stream ? TL_SCAN_AHEAD_BYTES : 0},
                  0};
    tl_team(tasks > 1 ? threads : 1, tasks, share, &all);
    return all.failed ? tl_no_memory(ctx, tl_staging_bytes(plan), "staging a scan") : TALLY_OK;
}
