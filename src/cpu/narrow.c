/* SPDX-License-Identifier: MIT
 * The path of narrow.h: its plans, scans of rows, and columns. Columns are strips of neighbouring
 * columns, which threads take. A lane is a column, so no lanes are shuffled. The state
 * of a strip stays in the first-level cache. */
#include "narrow/narrow.h"
#include "context/view.h"
#include "lanes.h"
#include "dtype/dtype_traits.h"
#include <stdlib.h>
#include <string.h>

void tl_narrow_plan(tl_plan *plan, const tl_narrow *loops)
{
    const tl_scalar *op = plan->op;
    const int high = op->widen == TL_WIDEN_HIGH;

    if (!op->extreme || op->elem_bytes > 2 || op->state_bytes != op->elem_bytes ||
        op->out != op->dtype || op->lanes != 1 || plan->par.marked || plan->fold == plan->core ||
        !(high || op->widen == TL_WIDEN_LOW))
        return;

    const int floats = op->dtype == TALLY_F16 || op->dtype == TALLY_BF16,
              sign = floats || op->dtype == TALLY_I8 || op->dtype == TALLY_I16;
    const unsigned top = 1u << (8 * op->elem_bytes - 1), all = 2 * top - 1, up = sign ? top : 0;
    plan->keys = (tl_keying){.flip = (uint16_t)(op->extreme > 0 ? up : up ^ all)};

    if (floats) {
        const int half = op->dtype == TALLY_F16;
        plan->keys.inf = half ? 0x7c00 : 0x7f80;
        plan->keys.missing = half ? 0x7e00 : 0x7fc0;
        plan->keys.nan = (op->extreme > 0) == high ? 0xffff : 0;
    }

    plan->narrow = &loops[floats ? 2 : op->elem_bytes - 1];
}

/* ---- scans ---- */

void tl_narrow_scan_rows(const tl_plan *plan, const tally_view *in, const tally_view *out,
                         const tally_scan_options *o, int64_t r, int64_t end)
{
    const int64_t bytes = plan->op->elem_bytes;
    int64_t n, m;

    if (r >= end) return;
    const char *x = tl_view_row(in, r, bytes, &n);
    char *y = tl_view_row(out, r, bytes, &m);
    tl_scan s;
    tl_scan_begin(&s, plan, o);
    if (in->offsets) x -= in->offsets[r] * bytes, y -= in->offsets[r] * bytes;
    const tl_dense_rows rows = {y,
                                x,
                                end - r,
                                in->n,
                                out->row_stride,
                                in->row_stride,
                                in->offsets ? in->offsets + r : NULL};
    plan->narrow->scan_rows(&rows, s.seeded ? tl_key_of(plan, &s.init) : 0, s.exclusive,
                            plan->keys);
}

/* ---- columns ---- */

enum {
    STRIP_BYTES = 4096,
    LEAST_BYTES = 64,    /* narrowest strip with several threads */
    LEAST_ROWS = 256,    /* of a part */
    SCANNED = 9,         /* shorter rows are scanned faster with widened elements */
    WINDOWED = 64,       /* the same for windows */
    CAPACITY = 16 * 1024 /* bytes of the w rows of a strip */
};

/* A call cut into strips, and each strip into parts of its rows. */
typedef struct {
    const tl_lanes_job *job;
    int64_t strip, parts;
    char *keys; /* of all columns for each part. NULL: one part, or windows */
    int fold;   /* the keys are computed now */
} columns;

/* Each of n keys of `to` becomes the larger of itself and of that of `from`. */
static void join_keys(char *to, const char *from, int64_t n, int64_t bytes)
{
    uint16_t *const wide = (uint16_t *)to;
    const uint16_t *const other = (const uint16_t *)from;
    if (bytes == 1)
        for (int64_t j = 0; j < n; j++)
            to[j] = (char)tl_max((unsigned char)to[j], (unsigned char)from[j]);
    else
        for (int64_t j = 0; j < n; j++) wide[j] = wide[j] > other[j] ? wide[j] : other[j];
}

/* Computes part `part` of the columns from c on; part `parts` has no rows. acc: the keys before the
 * part, then those after it. */
static void run_strip(const columns *a, int64_t c, int64_t part, char *acc)
{
    const tl_lanes_job *job = a->job;
    const tally_view *in = job->in, *out = a->fold ? NULL : job->out;
    const tl_plan *plan = job->plan;
    const int64_t bytes = plan->op->elem_bytes,
                  from = part < a->parts ? in->n / a->parts * part : in->n,
                  end = part + 1 < a->parts ? in->n / a->parts * (part + 1) : in->n,
                  sign = job->reverse ? -1 : 1, row = job->reverse ? in->n - 1 - from : from;
    tl_narrow_strip s = {.x = (const char *)in->data + (row * in->stride + c) * bytes,
                         .step = sign * in->stride,
                         .rows = end - from,
                         .width = tl_min(in->rows - c, a->strip)};

    if (out) {
        s.out = (char *)out->data + (row * out->stride + c) * bytes;
        s.out_step = sign * out->stride;
    }
    plan->narrow->columns(&s, acc, job->exclusive, plan->keys);
}

static void run_strips(void *with, const tl_worker *worker)
{
    const columns *a = with;
    const tl_lanes_job *job = a->job;
    const tl_plan *plan = job->plan;
    const int64_t bytes = plan->op->elem_bytes, row_bytes = job->in->rows * bytes,
                  joined = a->keys && !a->fold && !job->out; /* only the keys of all parts */
    _Alignas(64) char acc[STRIP_BYTES];
    tl_state init = job->init;

    if (job->seeded && plan->op->from_wide) plan->op->from_wide(&init);
    const uint16_t before = job->seeded && !a->fold ? tl_key_of(plan, &init) : 0;
    for (int64_t t; (t = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t part = joined ? a->parts : t % a->parts,
                      c = (joined ? t : t / a->parts) * a->strip,
                      width = tl_min(job->in->rows - c, a->strip);
        char *const keys = a->keys ? a->keys + c * bytes : NULL;

        for (int64_t j = 0; j < width; j++) memcpy(acc + j * bytes, &before, (size_t)bytes);
        for (int64_t k = 0; !a->fold && k < part; k++)
            join_keys(acc, keys + k * row_bytes, width, bytes);
        run_strip(a, c, part, acc);
        if (a->fold)
            memcpy(keys + part * row_bytes, acc, (size_t)(width * bytes));
        else if (!job->out)
            plan->narrow->values(job->results + c * bytes, acc, width, plan->keys);
    }
}

int tl_narrow_columns(const tl_lanes_job *job, int threads)
{
    const tally_view *in = job->in, *out = job->out;
    const tl_plan *plan = job->plan;
    const int64_t bytes = plan->op->elem_bytes, each = (in->rows * bytes / threads + 63) & -64;
    columns a = {job, STRIP_BYTES / bytes, 1, NULL, 0};
    if (!plan->narrow || job->verb == TL_WINDOW) return 0;
    if (in->row_stride != 1 || (out && out->row_stride != 1)) return 0;
    if (out && in->rows * bytes < SCANNED) return 0;

    if (threads > 1 && each < STRIP_BYTES) a.strip = tl_max(each, LEAST_BYTES) / bytes;
    const int64_t strips = (in->rows + a.strip - 1) / a.strip;

    /* Too few strips: the keys of parts of the rows come first. */
    if (2 * strips <= threads) a.parts = tl_clamp(in->n / LEAST_ROWS, 1, 2 * threads / strips);
    if (a.parts > 1) a.keys = malloc((size_t)(a.parts * in->rows * bytes));
    if (!a.keys) a.parts = 1;
    a.fold = a.keys != NULL;
    if (a.fold) tl_parallel(threads, strips * a.parts, run_strips, &a);
    a.fold = 0;
    tl_parallel(threads, out || !a.keys ? strips * a.parts : strips, run_strips, &a);
    free(a.keys);
    return 1;
}

/* The number of full windows. The first begins at row 0. */
static int64_t windows_of(const tl_lanes_job *job) { return job->in->n - job->after - job->before; }

static void window_strips(void *with, const tl_worker *worker)
{
    const columns *a = with;
    const tl_lanes_job *job = a->job;
    const tally_view *in = job->in, *out = job->out;
    const int64_t bytes = job->plan->op->elem_bytes, windows = windows_of(job),
                  share = windows / a->parts, first = job->valid ? 0 : job->before;
    _Alignas(64) char buffer[CAPACITY];

    for (int64_t t; (t = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t c = t / a->parts * a->strip, part = t % a->parts, from = share * part,
                      end = part + 1 == a->parts ? windows : from + share;
        const tl_narrow_strip s = {.out = (char *)out->data +
                                          ((first + from) * out->stride + c) * bytes,
                                   .out_step = out->stride,
                                   .x = (const char *)in->data + (from * in->stride + c) * bytes,
                                   .step = in->stride,
                                   .rows = end - from,
                                   .width = tl_min(in->rows - c, a->strip)};
        job->plan->narrow->column_windows(&s, job->w, buffer, job->plan->keys);
    }
}

int tl_narrow_column_windows(const tl_lanes_job *job, int threads)
{
    const tally_view *in = job->in;
    const int64_t bytes = job->plan->op->elem_bytes;

    columns a = {job, job->w < 2 ? 0 : (CAPACITY / job->w & -64) / bytes, 1, NULL, 0};
    if (!job->plan->narrow || job->verb != TL_WINDOW || job->least > job->w ||
        windows_of(job) <= job->w || a.strip < 1 || in->rows * bytes < WINDOWED ||
        in->row_stride != 1 || job->out->row_stride != 1)
        return 0;
    const int64_t strips = (in->rows + a.strip - 1) / a.strip;
    if (strips < threads) a.parts = threads;
    tl_parallel(threads, strips * a.parts, window_strips, &a);
    return 1;
}
