/* SPDX-License-Identifier: MIT
 * Ranges: a fold for each, on as many threads as there are. A range that is the one before it again, as with equal
 * keys, is folded once. */
#include "ranges.h"
#include "context/threads.h"
#include "context/view.h"
#include "law/fp.h"
#include "cpu/widen.h"
#include <stdlib.h>

enum { SHARE = 1024, WORTH = 1 << 15 }; /* results that a thread takes at a time; elements worth a second thread */

typedef struct {
    const tl_plan *plan, *count;
    const tl_ranges *ranges;
    const char *x;
    char *y;
    int64_t y_stride;
} job;

/* Elements of a range that count for min_count. */
static int64_t counted(const job *j, int64_t from, int64_t end)
{
    int64_t n;
    tl_state s;
    if (!j->plan->op->masked || j->ranges->min_count <= 0 || from == end) return end - from;
    tl_fold(j->count, &s, j->x + from * j->plan->op->elem_bytes, end - from, 0, TL_CACHED);
    j->count->op->lower(&s, end - from, 0, j->count->par, &n);
    return n;
}

/* Results a .. b - 1. */
static void fold_ranges(const job *j, int64_t a, int64_t b)
{
    const tl_scalar *op = j->plan->op;
    const char *last = NULL; /* the result of the range before, which was last_from .. last_end - 1 */
    int64_t last_from = 0, last_end = 0, from, end;
    for (int64_t r = a; r < b; r++) {
        char *const out = j->y + r * j->y_stride;
        const int full = tl_range_at(j->ranges, r, &from, &end);
        tl_state s;
        if (!full || from == end || counted(j, from, end) < j->ranges->min_count) {
            op->empty(j->plan->par, out);
            continue;
        }
        if (last && from == last_from && end == last_end) {
            memcpy(out, last, op->result_bytes);
            continue;
        }
        tl_fold(j->plan, &s, j->x + from * op->elem_bytes, end - from, 0, TL_CACHED);
        op->lower(&s, end - from, 0, j->plan->par, out);
        last = out;
        last_from = from;
        last_end = end;
    }
}

tally_status tl_ranges_run(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads, const tl_ranges *ranges,
                           const void *x, int64_t stride, void *y, int64_t y_stride)
{
    const int64_t bytes = plan->op->elem_bytes;
    char *dense = NULL;
    if (stride != 1 && ranges->n > 1) {
        dense = malloc((size_t)(ranges->n * bytes));
        if (!dense) {
            tally_status status;
#pragma omp critical(tally_window_open)
            status = tl_no_memory(ctx, (size_t)(ranges->n * bytes), "a dense copy of a sequence");
            return status;
        }
        tl_copy_strided(dense, 1, x, stride, ranges->n, bytes);
        x = dense;
    }
    const job j = {plan, count, ranges, x, y, y_stride};
    const int64_t shares = (ranges->results + SHARE - 1) / SHARE;
    if (threads == 1 || shares == 1 || ranges->n < WORTH)
        fold_ranges(&j, 0, ranges->results);
    else {
#pragma omp parallel for schedule(dynamic, 1) num_threads(tl_threads(threads))
        for (int64_t t = 0; t < shares; t++) {
            tl_fp fp = tl_fp_enter();
            fold_ranges(&j, t * SHARE, t + 1 < shares ? (t + 1) * SHARE : ranges->results);
            tl_fp_leave(fp);
        }
    }
    free(dense);
    return TALLY_OK;
}

static tally_status row(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads, const tally_view *in,
                        const tally_view *out, int64_t r, const tally_window_options *o)
{
    int64_t n, m;
    const char *x = tl_view_row(in, r, plan->op->elem_bytes, &n);
    char *y = tl_view_row(out, r, plan->op->result_bytes, &m);
    const tl_ranges ranges = tl_ranges_of(o, n);
    return tl_ranges_run(ctx, plan, count, threads, &ranges, x, in->stride, y,
                         tl_step(out->stride, plan->op->result_bytes));
}

tally_status tl_ranges_view(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads, const tally_view *in,
                            const tally_view *out, const tally_window_options *o)
{
    tally_status failed = TALLY_OK;
    const int64_t total = in->offsets ? in->offsets[in->rows] - in->offsets[0] : in->rows * in->n;
    const int64_t share = in->rows / (32 * threads) + 1;
    if (threads == 1 || in->rows < threads || total < WORTH) {
        for (int64_t r = 0; r < in->rows && !failed; r++) failed = row(ctx, plan, count, threads, in, out, r, o);
        return failed;
    }
#pragma omp parallel for schedule(dynamic, share) num_threads(tl_threads(threads))
    for (int64_t r = 0; r < in->rows; r++) {
        tl_fp fp = tl_fp_enter();
        tally_status status = row(ctx, plan, count, 1, in, out, r, o);
        if (status) {
#pragma omp atomic write
            failed = status;
        }
        tl_fp_leave(fp);
    }
    return failed;
}
