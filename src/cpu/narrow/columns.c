/* SPDX-License-Identifier: MIT
 * Columns of narrow types (narrow.h) in strips of neighbouring columns, which threads take. A lane
 * is a column, so no lanes are shuffled. The state of a strip stays in the first-level cache. */
#include "narrow.h"
#include "context/threads.h"

enum {
    STRIP_BYTES = 4096,
    LEAST_BYTES = 256, /* narrowest strip with several threads */
    SCANNED = 9,       /* shorter rows are scanned faster with widened elements */
    WINDOWED = 64,     /* the same for windows */
    ROOM = 16 * 1024   /* bytes of the w rows of a strip */
};

/* A call cut into strips, and each strip into parts. */
typedef struct {
    const tl_narrow_call *call;
    int64_t strip, parts;
} columns;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void fold_strips(void *with, const tl_worker *worker)
{
    const columns *a = with;
    const tl_narrow_call *call = a->call;
    const tally_view *in = call->in, *out = call->out;
    const tl_plan *plan = call->plan;
    const int64_t bytes = plan->op->elem_bytes, back = call->reverse ? in->n - 1 : 0,
                  sign = call->reverse ? -1 : 1;
    const uint16_t before = call->init ? tl_key_of(plan, call->init) : 0;
    _Alignas(64) char acc[STRIP_BYTES];
    for (int64_t t; (t = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t c = t * a->strip, width = least(in->rows - c, a->strip);
        tl_narrow_strip s = {.x = (const char *)in->data + (back * in->stride + c) * bytes,
                             .step = sign * in->stride,
                             .rows = in->n,
                             .width = width};
        if (out) {
            s.out = (char *)out->data + (back * out->stride + c) * bytes;
            s.out_step = sign * out->stride;
        }
        if (bytes == 1)
            memset(acc, before, (size_t)width);
        else
            for (int64_t j = 0; j < width; j++) memcpy(acc + 2 * j, &before, 2);
        plan->narrow->columns(&s, acc, call->exclusive, plan->keys);
        if (!out) plan->narrow->values((char *)call->results + c * bytes, acc, width, plan->keys);
    }
}

int tl_narrow_columns(const tl_narrow_call *call, int threads)
{
    const tally_view *in = call->in, *out = call->out;
    const int64_t bytes = call->plan->op->elem_bytes,
                  each = (in->rows * bytes / threads + 63) & -64;
    columns a = {call, STRIP_BYTES / bytes, 1};
    if (in->row_stride != 1 || (out && out->row_stride != 1)) return 0;
    if ((threads > 1 && each < LEAST_BYTES) || (out && in->rows * bytes < SCANNED)) return 0;
    if (threads > 1 && each < STRIP_BYTES) a.strip = each / bytes;
    tl_parallel(threads, (in->rows + a.strip - 1) / a.strip, fold_strips, &a);
    return 1;
}

static void window_strips(void *with, const tl_worker *worker)
{
    const columns *a = with;
    const tl_narrow_call *call = a->call;
    const tally_view *in = call->in, *out = call->out;
    const int64_t bytes = call->plan->op->elem_bytes, share = call->windows / a->parts;
    _Alignas(64) char room[ROOM];
    for (int64_t t; (t = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t c = t / a->parts * a->strip, part = t % a->parts, from = share * part,
                      end = part + 1 == a->parts ? call->windows : from + share;
        const tl_narrow_strip s = {.out = (char *)out->data +
                                          ((call->first + from) * out->stride + c) * bytes,
                                   .out_step = out->stride,
                                   .x = (const char *)in->data + (from * in->stride + c) * bytes,
                                   .step = in->stride,
                                   .rows = end - from,
                                   .width = least(in->rows - c, a->strip)};
        call->plan->narrow->column_windows(&s, call->w, room, call->plan->keys);
    }
}

int tl_narrow_column_windows(const tl_narrow_call *call, int threads)
{
    const tally_view *in = call->in;
    const int64_t bytes = call->plan->op->elem_bytes;
    columns a = {call, call->w < 2 ? 0 : (ROOM / call->w & -64) / bytes, 1};
    if (a.strip < 1 || in->rows * bytes < WINDOWED || in->row_stride != 1 ||
        call->out->row_stride != 1)
        return 0;
    const int64_t strips = (in->rows + a.strip - 1) / a.strip;
    if (strips < threads) a.parts = threads;
    tl_parallel(threads, strips * a.parts, window_strips, &a);
    return 1;
}
