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

typedef struct {
    const tl_plan *plan;
    const tally_view *in, *out;
    char *results;
    int exclusive, reverse;
    uint16_t before;
    int64_t strip;
} columns;

static void strips(void *with, const tl_worker *worker)
{
    const columns *a = with;
    const tally_view *in = a->in, *out = a->out;
    const tl_narrow *loops = a->plan->narrow;
    const int64_t bytes = a->plan->op->elem_bytes, back = a->reverse ? in->n - 1 : 0,
                  sign = a->reverse ? -1 : 1;
    _Alignas(64) char acc[STRIP_BYTES];
    for (int64_t t; (t = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t c = t * a->strip, width = in->rows - c < a->strip ? in->rows - c : a->strip;
        if (bytes == 1)
            memset(acc, a->before, (size_t)width);
        else
            for (int64_t j = 0; j < width; j++) memcpy(acc + 2 * j, &a->before, 2);
        loops->columns(out ? (char *)out->data + (back * out->stride + c) * bytes : NULL,
                       out ? sign * out->stride : 0,
                       (const char *)in->data + (back * in->stride + c) * bytes, sign * in->stride,
                       in->n, width, acc, a->exclusive, a->plan->keys);
        if (!out) loops->values(a->results + c * bytes, acc, width, a->plan->keys);
    }
}

int tl_narrow_columns(const tl_plan *plan, int threads, const tally_view *in, const tally_view *out,
                      void *results, int exclusive, int reverse, const tl_state *init)
{
    const int64_t bytes = plan->op->elem_bytes, each = (in->rows * bytes / threads + 63) & -64;
    columns a = {plan,
                 in,
                 out,
                 results,
                 exclusive,
                 reverse,
                 init ? tl_key_of(plan, init) : 0,
                 STRIP_BYTES / bytes};
    if (in->row_stride != 1 || (out && out->row_stride != 1)) return 0;
    if ((threads > 1 && each < LEAST_BYTES) || (out && in->rows * bytes < SCANNED)) return 0;
    if (threads > 1 && each < STRIP_BYTES) a.strip = each / bytes;
    tl_parallel(threads, (in->rows + a.strip - 1) / a.strip, strips, &a);
    return 1;
}

/* ---- windows ---- */

typedef struct {
    const tl_plan *plan;
    const tally_view *in, *out;
    int64_t w, lo, hi, first, strip, parts;
} windows;

static void window_strips(void *with, const tl_worker *worker)
{
    const windows *a = with;
    const tally_view *in = a->in, *out = a->out;
    const int64_t bytes = a->plan->op->elem_bytes, all = a->hi - a->lo;
    _Alignas(64) char room[ROOM];
    for (int64_t t; (t = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t c = t / a->parts * a->strip, part = t % a->parts,
                      width = in->rows - c < a->strip ? in->rows - c : a->strip,
                      from = all / a->parts * part,
                      end = part + 1 == a->parts ? all : all / a->parts * (part + 1);
        a->plan->narrow->column_windows(
            (char *)out->data + ((a->first + from) * out->stride + c) * bytes, out->stride,
            (const char *)in->data + ((a->lo + from) * in->stride + c) * bytes, in->stride,
            end - from, a->w, width, room, a->plan->keys);
    }
}

int tl_narrow_column_windows(const tl_plan *plan, int threads, const tally_view *in,
                             const tally_view *out, int64_t w, int64_t lo, int64_t hi,
                             int64_t first)
{
    const int64_t bytes = plan->op->elem_bytes;
    windows a = {plan, in, out, w, lo, hi, first, (ROOM / w & -64) / bytes, 1};
    if (w < 2 || a.strip < 1 || in->rows * bytes < WINDOWED || in->row_stride != 1 ||
        out->row_stride != 1)
        return 0;
    const int64_t strips = (in->rows + a.strip - 1) / a.strip;
    if (strips < threads) a.parts = threads;
    tl_parallel(threads, strips * a.parts, window_strips, &a);
    return 1;
}
