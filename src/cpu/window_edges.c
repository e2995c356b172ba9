/* SPDX-License-Identifier: MIT
 * The memory of one thread of a window (driver.h), and the windows that are not full: they reach
 * beyond their sequence and fold the elements inside it.
 *
 *   left    prefixes x[0..j]: a scan
 *   both    all of x: one fold, copied to all results
 *   right   suffixes x[p..]: the last elements go through the ladder of window_kernel.h. After that
 *           its rings hold the nodes of all suffixes, for w log w combines instead of w^2. */
#define _GNU_SOURCE
#include "driver.h"
#include "context/context.h"
#include "law/counter.h"
#include <stdlib.h>
#include <string.h>

/* ---- memory: tiles, rings and delay lines ---- */

enum {
    LOW = 4, /* at most so many levels below a vector */
    /* Bytes of states in a tile: all buffers of a tile fit in a cache of 32 KiB. States of up to 8
     * bytes take half, and exact operators whose tiles are staged half again, which makes bursts of
     * stores shorter. */
    TILE_BYTES = 8192,
    KEPT = 1024 * 1024,    /* largest memory that the context keeps */
    HUGE = 4 * 1024 * 1024 /* from this size on, huge pages are requested */
};

int64_t tl_window_tile(const tl_plan *plan)
{
    int64_t state = plan->core->vector_bytes / plan->core->vector_lanes;
    const int halves = (state <= 8) + (!plan->in && plan->op->exact);
    const int64_t tile = (TILE_BYTES >> halves) / state & ~(int64_t)127;
    return tl_clamp(tile, 256, TL_WINDOW_TILE);
}

/* The initial contents do not matter: no result is folded from them. */
void *tl_window_memory(tl_window_buffers *buffers, size_t bytes)
{
    if (bytes <= KEPT) return tl_scratch(buffers->ctx, buffers->thread, TL_SINGLE, bytes);
    if (bytes <= buffers->allocation_bytes) return buffers->allocation;

    free(buffers->allocation);
    buffers->allocation_bytes = 0;
    const size_t align = bytes < HUGE ? 64 : HUGE / 2;
    bytes = (bytes + align - 1) & ~(align - 1);
    buffers->allocation = aligned_alloc(align, bytes);
    if (!buffers->allocation) return NULL;
    /* About 24 rings touch more pages than a TLB holds. */
    tl_large_pages(buffers->allocation, bytes);
    buffers->allocation_bytes = bytes;

    return buffers->allocation;
}

/* Bytes of whole cache lines. */
static size_t lines(int64_t bytes) { return ((size_t)bytes + 63) & ~(size_t)63; }

/* Rows of the rings of `levels` levels, of which `within` have delays shorter than a row. */
static int64_t rows_of_rings(int levels, int within)
{
    return levels > within ? ((int64_t)1 << (levels - within)) + levels * TL_WINDOW_PAD : 0;
}

int tl_window_prepare(tl_window_buffers *buffers, const tl_plan *plan, int64_t w, int mode)
{
    const tl_kernel *core = plan->core;
    int64_t high = w / core->vector_lanes,
            rest = high ? high & ~((int64_t)1 << tl_top_level(high)) : 0;
    const int within = tl_top_level(core->window_vectors);
    int levels = high ? tl_top_level(high) : 0, delays = rest ? tl_top_level(rest) + 1 : 0;
    const int64_t vector = core->vector_bytes, row = core->window_vectors * vector;
    const size_t soa = tl_soa_bytes(plan), wide = plan->in || plan->out ? TL_WINDOW_WIDE_BYTES : 0,
                 carry = lines(TL_WINDOW_CARRY * vector), stash = lines((levels + 1 + LOW) * row);
    size_t ring = 0, delay = 0;

    if (mode == TL_WINDOW_BLOCKS) {
        ring = lines(high * vector);
    } else if (mode != TL_WINDOW_SLIDE) {
        ring = lines(rows_of_rings(levels, within) * row);
        delay = lines(rows_of_rings(delays, within) * row);
    }

    char *at = tl_window_memory(buffers, 3 * soa + wide + carry + stash + ring + delay);
    if (!at) return 0;

    buffers->work = (tl_window_work){.w = w, .mode = mode};
    buffers->work.z0 = buffers->work.stage = at;
    buffers->work.node = at += soa;
    buffers->work.past = at += soa;
    buffers->work.wide = at += soa;
    buffers->work.carry = at += wide;
    buffers->work.stash = at += carry;
    buffers->work.ring = at += stash;
    buffers->work.delay = at += ring;

    return 1;
}

char *tl_window_at(const tl_window_job *job, int64_t i)
{
    return job->out + (i - job->first) * job->win->plan->op->result_bytes;
}

/* ---- windows that are not full ---- */

/* Copies the first of n results to the others. */
static void copy_first(char *out, int64_t bytes, int64_t n)
{
    for (int64_t done = 1, count; done < n; done += count) {
        count = tl_min(n - done, done);
        count = tl_min(count, 512); /* so that the source stays in the cache */
        memcpy(out + done * bytes, out, (size_t)(count * bytes));
    }
}

void tl_window_empties(const tl_window_job *job, int64_t lo, int64_t hi)
{
    const tl_plan *plan = job->win->plan;
    int64_t bytes = plan->op->result_bytes;
    char *out = tl_window_at(job, lo);
    if (lo >= hi) return;
    plan->op->empty(plan->par, out);
    copy_first(out, bytes, hi - lo);
}

int tl_window_prefixes(const tl_window_job *job, int64_t lo, int64_t hi, tl_window_buffers *buffers)
{
    const tl_plan *plan = job->win->plan;
    const int64_t shift = job->win->after + 1; /* centre i has i + shift elements */
    int64_t split = job->least - shift;        /* the first centre with enough elements */

    split = tl_clamp(split, lo, hi);
    tl_window_empties(job, lo, split);
    if (split == hi) return 1;

    void *memory = tl_window_memory(buffers, tl_staging_bytes(plan));
    if (!memory) return 0;
    const int64_t from = split + shift - 1;
    tl_scan s;
    tl_scan_begin(&s, plan, NULL);
    s.ends = 1;
    tl_push_slab(plan, 1, job->x, from, &s.done);
    tl_scan_serial(&s, &s.done,
                   &(tl_scan_work){.x = job->x + from * plan->op->elem_bytes,
                                   .n = hi - split,
                                   .out = tl_window_at(job, split),
                                   .stream = job->stream,
                                   .staging = tl_staging_at(plan, memory)});
    return 1;
}

void tl_window_wholes(const tl_window_job *job, int64_t lo, int64_t hi)
{
    const tl_plan *plan = job->win->plan;
    int64_t bytes = plan->op->result_bytes;
    char *out = tl_window_at(job, lo);
    tl_state s;

    if (job->n < job->least) tl_window_empties(job, lo, hi);
    if (lo >= hi || job->n < job->least) return;
    tl_fold(plan, &s, job->x, job->n, 0, TL_CACHED);
    plan->op->lower(&s, job->n, 0, plan->par, out);
    copy_first(out, bytes, hi - lo);
}

/* Suffixes that are shorter than a vector and start at p .. stop - 1. */
static void short_suffixes(const tl_window_job *job, int64_t p, int64_t stop)
{
    const tl_plan *plan = job->win->plan;
    for (; p < stop; p++) {
        tl_state s;
        tl_fold(plan, &s, job->x + p * plan->op->elem_bytes, job->n - p, p, TL_CACHED);
        plan->op->lower(&s, job->n - p, p, plan->par, tl_window_at(job, p + job->win->before));
    }
}

/* Suffixes that start at first .. last - 1, of which the longest has a vector of elements or more;
 * not those that are shorter than a vector. 0: out of memory. */
static int long_suffixes(const tl_window_job *job, int64_t first, int64_t last,
                         tl_window_buffers *buffers)
{
    const tl_plan *plan = job->win->plan;
    const int64_t n = job->n, lanes = plan->core->vector_lanes, most = n - first,
                  least = n - last + 1, row = plan->core->window_vectors * lanes,
                  tile = tl_window_tile(plan), window = (int64_t)2 << tl_top_level(most),
                  feed = tl_max(window, row);
    if (!tl_window_prepare(buffers, plan, window, TL_WINDOW_LADDER)) return 0;
    tl_window_work *work = &buffers->work;

    /* The stream has `feed` elements and ends at n. If it begins before x, rows without elements
     * are skipped. */
    int64_t from = n - feed, padding = 0;
    if (from < 0) {
        work->row = -from / row;
        padding = -from % row;
        from = 0;
    }

    const int64_t begin = from;
    for (int64_t m; from < n; from += m, padding = 0) {
        m = tl_min(n - from, tile - padding);
        tl_window_feed(plan, work,
                       &(tl_window_piece){.x = job->x + from * plan->op->elem_bytes,
                                          .back = from - begin,
                                          .beyond = n - from - m,
                                          .padding = padding,
                                          .m = m,
                                          .i = from});
    }

    int64_t high = most / lanes, low = tl_max(least / lanes, 1);
    for (int64_t blocks; high >= low; high -= blocks) {
        blocks = tl_min(high - low + 1, tile / lanes);
        tl_window_suffix(plan, work, job->x + n * plan->op->elem_bytes, n, high, blocks);
        const int64_t length = high * lanes + lanes - 1, skip = tl_max(length - most, 0),
                      shortest = tl_max((high - blocks + 1) * lanes, least),
                      count = length - skip - shortest + 1, p = n - length + skip;
        const tl_lower states = {
            TL_WINDOW_HISTORY + skip, count, n - p, p, -1, 1, job->stream, .rows = 1};
        tl_lower_row(plan, (tl_staging){work->past, work->wide},
                     tl_window_at(job, p + job->win->before), &states);
    }
    return 1;
}

int tl_window_suffixes(const tl_window_job *job, int64_t lo, int64_t hi, tl_window_buffers *buffers)
{
    const int64_t n = job->n, before = job->win->before, lanes = job->win->plan->core->vector_lanes;
    if (lo >= hi) return 1;

    /* Starts first .. last - 1 have enough elements. */
    const int64_t first = lo - before, last = tl_clamp(n - job->least + 1, first, hi - before);
    tl_window_empties(job, last + before, hi);
    if (first >= last) return 1;

    const int is_long = n - first >= lanes;
    if (is_long && !long_suffixes(job, first, last, buffers)) return 0;
    short_suffixes(job, is_long ? tl_max(n - lanes + 1, first) : first, last);
    return 1;
}
