/* SPDX-License-Identifier: MIT
 * Columns in strips of neighbouring columns, which threads take (lanes.h). If there are fewer
 * strips than threads, rows are cut too:
 *
 *   reduce   aligned blocks of rows become nodes of every column; a counter per column joins them
 *   scan     first the same nodes; then each block is scanned from the prefix before it, in whole
 *            rows where they are short: threads that write to one line wait for each other
 *   window   parts of the centres, which are independent; a thread takes some strips of a part one
 *            after the other, while their rows are in the second-level cache
 *
 * lanes_strips.c computes them. */
#include "lanes.h"
#include "narrow/narrow.h"
#include "widen.h"
#include <stdlib.h>

enum {
    /* the widest strip of a fold, which stages its last states only */
    FOLDED = 1024,
    WINDOW_STRIP = 64, /* lanes of a strip of windows; fewer lanes allow longer tiles */
    WINDOW_LONG = 32,  /* longer windows use the narrowest strip: a tile must hold a window */
    WINDOW_GROUP = 16, /* strips of windows that are a task */

    /* Folds of narrower strips cut rows instead, because each row of a strip is on another page;
     * so do scans of shorter rows. */
    NARROW_BYTES = 1024,
    LINE = 64,
    /* Several threads fold columns that are converted, of at most so many bytes, in strips of
     * TL_LANES_STRIP: then all threads have strips. */
    CACHED = 32 << 20,
    /* Several threads stream results from here on: another's cache may have their lines. */
    STREAM_SHARED = TL_STREAM_BYTES / 4,

    /* Narrow elements: least bytes of a strip; scans and windows of shorter rows are faster with
     * widened elements. */
    KEY_BYTES_LEAST = 64,
    SCAN_BYTES_LEAST = 9,
    WINDOW_BYTES_LEAST = 64
};

int tl_are_columns(const tally_view *in)
{
    if (in->offsets || in->rows < 2 || in->n < 1) return 0;
    return llabs(in->row_stride) < llabs(in->stride);
}

/* Does each row of results begin at a cache line? */
static int aligned(const tl_lanes_job *job)
{
    const uint64_t step = (uint64_t)job->out->stride * job->plan->op->result_bytes;
    return ((uintptr_t)job->out->data | step) % LINE == 0;
}

/* Are rows short, and do they share cache lines? */
static int mixed(const tl_lanes_job *job)
{
    return job->in->rows * job->plan->op->elem_bytes <= NARROW_BYTES && !aligned(job);
}

/* The columns of a call, in strips that are as wide as its kernels allow. */
static tl_columns columns_of(const tl_lanes_job *job)
{
    const tally_view *in = job->in;
    const int64_t bytes = in->rows * in->n * job->plan->op->elem_bytes;
    const int adjacent = in->row_stride == 1 && (!job->out || job->out->row_stride == 1),
              dense = !job->plan->in && in->row_stride == 1;
    return (tl_columns){.job = job,
                        .adjacent = adjacent,
                        .strip =
                            job->verb == TL_REDUCE && in->row_stride == 1 ? FOLDED : TL_LANES_STRIP,
                        .group = 1,
                        .prefetch = in->stride && tl_prefetches(bytes),
                        /* results are apart from the elements, or in their places (tally.h) */
                        .overread = dense && in->stride > 0 && !job->reverse &&
                                    (!job->out || job->out->data != in->data)};
}

/* Cuts the columns into `least` or more strips of equal width, a multiple of `grain` columns. */
static void cut_strips(tl_columns *c, int64_t least, int64_t grain)
{
    const int64_t rows = c->job->in->rows;
    least = tl_max(least, (rows + c->strip - 1) / c->strip);
    const int64_t each = ((rows + least - 1) / least + grain - 1) & -grain;
    c->strip = tl_min(tl_min(each, c->strip), rows);
    c->strips = (rows + c->strip - 1) / c->strip;
}

int tl_lanes_nodes(tally *ctx, const tl_lanes_job *job, int threads, const tl_slab *of,
                   unsigned char *states)
{
    tl_columns c = columns_of(job);
    const tl_row_blocks b = {.pieces = of->count, .levels = of->level, .nodes = states};
    cut_strips(&c, 1, TL_ABREAST);
    return tl_columns_run(ctx, &c, &b, threads, TL_STRIP_NODES, b.pieces);
}

/* Lets strips of a scan store whole lines, if results come from registers. */
static void store_lines(tl_columns *c, int threads)
{
    const tl_lanes_job *job = c->job;
    const tl_plan *plan = job->plan;
    const int64_t bytes = plan->op->result_bytes;
    if (aligned(job) || !(c->stream || threads > 1) || !c->overread || !c->adjacent || plan->out ||
        job->exclusive || !plan->core->direct || plan->core != plan->lower ||
        (threads == 1 && job->in->rows <= c->strip))
        return;
    c->lines = (LINE + bytes - 1) / bytes;
    c->strip -= c->lines;
    cut_strips(c, threads, TL_ABREAST);
    if (c->strips != threads) cut_strips(c, 2 * (int64_t)threads, TL_ABREAST);
}

/* Folds or scans, in one or two strips for each thread. 0: out of memory. */
static int fold_or_scan(tally *ctx, tl_columns *c, int threads)
{
    const tl_lanes_job *job = c->job;
    const tally_view *in = job->in;
    const tl_scalar *op = job->plan->op;
    const int by_rows = in->n >= (int64_t)4 << TL_BLOCK_LEVEL_LEAST && !op->indexed,
              scans = job->verb == TL_SCAN;
    const int64_t row_bytes = in->rows * op->elem_bytes;
    int64_t strips = threads > 1 ? 2 * (int64_t)threads : 1;
    /* Short rows that share lines are cut into blocks, not strips. */
    const int whole = scans && c->stream && c->adjacent &&
                      (c->narrow ? by_rows && row_bytes <= TL_STRIP_KEYS : mixed(job));

    if (!scans && !c->narrow && job->plan->in && threads > 1 && row_bytes * in->n <= CACHED)
        c->strip = tl_min(c->strip, TL_LANES_STRIP);
    if (c->narrow)
        strips = whole ? 1 : threads;
    else if (scans && !whole)
        store_lines(c, threads);
    else if (by_rows && !scans && row_bytes < strips * NARROW_BYTES) {
        const int64_t wide = (row_bytes + NARROW_BYTES / 2) / NARROW_BYTES,
                      blocks = in->n >> TL_BLOCK_LEVEL_LEAST;
        const int even = blocks <= 4 * strips && wide >= threads;
        strips = blocks < strips ? wide : even ? wide / threads * threads : 1;
    }
    if (!c->lines) cut_strips(c, strips, c->narrow ? KEY_BYTES_LEAST / op->elem_bytes : TL_ABREAST);
    const int64_t enough = c->narrow && scans ? threads / 2 + 1 : threads; /* strips */
    if (threads == 1 || (c->strips >= enough && !whole) || !by_rows)
        return tl_columns_run(ctx, c, NULL, (int)tl_min(c->strips, threads), TL_STRIP_ROWS, 1);

    if (scans && !c->narrow && in->rows <= TL_LANES_STRIP) {
        c->strip = in->rows;
        c->strips = 1;
        c->lines = 0;
    }
    const tl_row_blocks b = tl_columns_cut(job, c->narrow ? (threads + 7) / 8
                                                : scans   ? (threads + 3) / 4
                                                          : threads);
    int ok =
        b.nodes && tl_columns_run(ctx, c, &b, threads, TL_STRIP_NODES, scans ? b.count : b.pieces);
    if (ok && scans)
        ok = tl_columns_run(ctx, c, &b, threads, TL_STRIP_ROWS, (in->n + b.size - 1) / b.size);
    else if (ok)
        tl_columns_join(job, &b, threads);
    free(b.nodes);
    return ok;
}

/* Computes the full windows of narrow elements, but none at the ends. Returns 0, with nothing done,
 * if that is not faster or memory is short. */
static int windows_of_keys(tally *ctx, const tl_columns *wide, int threads)
{
    const tl_lanes_job *job = wide->job;
    tl_columns c = *wide;

    c.narrow = job->plan->narrow;
    c.strip =
        job->w < 2 ? 0 : (TL_NARROW_ROWS / job->w & -KEY_BYTES_LEAST) / job->plan->op->elem_bytes;
    c.group = 1;
    c.tasks = 0;
    if (!c.narrow || tl_lanes_full_windows(job) <= job->w || c.strip < 1 ||
        job->in->rows * job->plan->op->elem_bytes < WINDOW_BYTES_LEAST || !c.adjacent)
        return 0;
    cut_strips(&c, 1, KEY_BYTES_LEAST);
    return tl_columns_run(ctx, &c, NULL, threads, TL_STRIP_KEY_WINDOWS,
                          c.strips < threads ? threads : 1);
}

static int windows(tally *ctx, tl_columns *c, int threads)
{
    const tl_lanes_job *job = c->job;
    const tally_view *in = job->in;
    const int64_t n = in->n;
    /* flat: kernels take rows without gaps as one array */
    const int flat = c->adjacent && tl_lanes_flat(job, in->rows, in->stride, job->out->stride);

    c->tasks = threads > 1 ? 8 * (int64_t)threads : 1;
    if (!flat) {
        c->strip = job->w > WINDOW_LONG ? TL_ABREAST : WINDOW_STRIP;
        c->group = WINDOW_GROUP;
    }
    cut_strips(c, 1, TL_ABREAST);
    c->centres = flat ? (n + 4 * threads - 1) / (4 * threads)
                      : tl_lanes_chunk(c->strip) * tl_max(c->group / c->strips, 1);
    if (windows_of_keys(ctx, c, threads))
        return job->valid /* without windows at the ends */ ||
               tl_columns_run(ctx, c, NULL, threads, TL_STRIP_ENDS, 1);
    return tl_columns_run(ctx, c, NULL, threads, TL_STRIP_WINDOWS,
                          tl_max((n + c->centres / 2) / c->centres, 1));
}

tally_status tl_lanes_columns(tally *ctx, const tl_lanes_job *job, int threads)
{
    const tally_view *in = job->in;
    const int64_t bytes = job->plan->op->elem_bytes, row_bytes = in->rows * bytes;
    tl_columns c = columns_of(job);

    if (row_bytes * in->n <= TL_PARALLEL_BYTES) threads = 1;
    if (job->out) {
        const int shared =
            threads > 1 && !job->plan->narrow && (job->verb == TL_SCAN || !mixed(job));
        c.stream = in->rows * in->n * job->plan->op->result_bytes >=
                   (shared ? STREAM_SHARED : TL_STREAM_BYTES);
    }
    if (c.adjacent &&
        (job->verb == TL_REDUCE || (job->verb == TL_SCAN && row_bytes >= SCAN_BYTES_LEAST)))
        c.narrow = job->plan->narrow;
    if (c.narrow) c.strip = TL_STRIP_KEYS / bytes;

    const int ok =
        job->verb == TL_WINDOW ? windows(ctx, &c, threads) : fold_or_scan(ctx, &c, threads);
    return ok ? TALLY_OK : tl_no_memory(ctx, tl_soa_bytes(job->plan), "strips of columns");
}
