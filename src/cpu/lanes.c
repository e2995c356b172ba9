/* SPDX-License-Identifier: MIT
 * A strip of lanes goes through the kernels in chunks of rows that stay in L1 and L2
 * (lanes.h).
 *
 *   elements --(copy, widen)--> t --kernel--> soa --lower--> r --(narrow, copy)--> results
 *
 * Elements that kernels can read in place skip t. Results that `lower` can write in place skip
 * r. */
#include "lanes.h"
#include "widen.h"
#include "context/context.h"
#include <assert.h>
#include <string.h>

enum {
    BLOCK_LOG = 3,
    BLOCK = 1 << BLOCK_LOG, /* rows that a kernel takes at a time */
    ROWS = 256,             /* most rows of a chunk */
    OVER = 512,             /* elements that may be read past the end of t */
    FLAT = 4096,            /* most elements of rows without gaps */
    STREAMED = 128          /* alignment of results for non-temporal stores */
};

void tl_lanes_begin(tl_lanes_job *job, const tl_plan *plan, const tally_view *in)
{
    *job = (tl_lanes_job){.plan = plan, .verb = TL_REDUCE, .in = in};
}

void tl_lanes_of_scan(tl_lanes_job *job, const tally_view *out, const tally_scan_options *o)
{
    const tl_plan *plan = job->plan;
    job->verb = TL_SCAN;
    job->out = out;
    job->exclusive = o && o->exclusive;
    job->reverse = o && o->reverse;
    job->seeded = o && o->init;
    if (!job->seeded) return;
    plan->op->seed(&job->init, o->init, plan->par);
    if (plan->op->to_wide) plan->op->to_wide(&job->init);
}

int tl_lanes_of_window(tl_lanes_job *job, const tally_view *out, const tally_window_options *o)
{
    if (tl_needs_count(job->plan, o) || o->before < 0 || o->after < 0 ||
        o->after > TL_LANES_AFTER || o->before >= TL_LANES_WINDOW - o->after)
        return 0;
    job->window_plan = tl_plan_of_window(job->plan, o);
    job->plan = &job->window_plan;
    job->verb = TL_WINDOW;
    job->out = out;
    job->before = o->before;
    job->after = o->after;
    job->w = o->before + 1 + o->after;
    job->valid = o->edges == TALLY_EDGES_VALID;
    job->least = tl_window_least(job->plan, o, job->w);
    return 1;
}

/* ---- memory ---- */

static int levels_of(int64_t n) { return n >= BLOCK ? tl_top_level(n) - 2 : 1; }

int64_t tl_lanes_chunk(int64_t padded)
{
    const int64_t rows = (TL_SOA / padded - 1) & -(int64_t)BLOCK;
    return tl_clamp(rows, BLOCK, ROWS);
}

/* Fills buffers->empty with a row of results without a value. */
static void fill_empty(tl_lanes_buffers *buffers, int64_t width)
{
    const tl_plan *plan = buffers->job->plan;
    const int64_t bytes = buffers->result, row_bytes = width * bytes;
    char one[32];

    plan->op->empty(plan->par, one);
    if (plan->out) /* in the wide type; narrowing restores it */
        tl_widen_values(plan, buffers->empty, one, plan->op->lanes);
    else
        memcpy(buffers->empty, one, (size_t)bytes);
    for (int64_t filled = bytes; filled < row_bytes; filled *= 2)
        memcpy(buffers->empty + filled, buffers->empty, (size_t)tl_min(filled, row_bytes - filled));
}

int tl_lanes_open(tl_lanes_buffers *buffers, tally *ctx, int me, const tl_lanes_job *job,
                  tl_lanes_size size)
{
    const tl_plan *plan = job->plan;
    int64_t transposed = size.transposed;
    *buffers = (tl_lanes_buffers){.job = job, .lanes = plan->core->vector_lanes};
    buffers->elem = plan->in ? plan->in->to_bytes : plan->op->elem_bytes;
    buffers->result =
        plan->out ? (int64_t)plan->out->from_bytes * plan->op->lanes : plan->op->result_bytes;
    const int64_t width = buffers->most = tl_lanes_padded(buffers, size.width);
    buffers->k.levels = levels_of(size.longest);
    int64_t slots = (2 * buffers->k.levels + 1) * (width / buffers->lanes), prefetch_distance = 0;

    if (job->verb == TL_WINDOW) {
        prefetch_distance = job->w - 1;
        const int64_t flat =
            (int64_t)tl_soa_bytes(plan) / plan->core->vector_bytes + 1; /* vectors */
        int64_t kept = ROWS + prefetch_distance + BLOCK;
        if (kept < flat) kept = flat;
        kept *= __builtin_popcountll((unsigned long long)job->w);
        if (kept > slots) slots = kept;
    }

    size_t soa = (tl_soa_bytes(plan) + 63) & ~(size_t)63,
           carry = ((size_t)slots * (size_t)plan->core->vector_bytes + 63) & ~(size_t)63;
    transposed = tl_max(tl_max(transposed, BLOCK * width), TL_SOA + prefetch_distance * width);
    size_t t = (size_t)((transposed + OVER) * buffers->elem + 63) & ~(size_t)63;
    size_t r = (size_t)(TL_SOA * buffers->result + 63) & ~(size_t)63;
    if (r < TL_WIDE_BYTES) r = TL_WIDE_BYTES; /* tl_lower_row uses r too */
    char *at = tl_scratch(ctx, me, TL_LANES_BUFFERS,
                          soa + carry + t + 2 * r + (size_t)(width * buffers->result));
    if (!at) return 0;

    buffers->soa = at;
    buffers->k.carry = at += soa;
    buffers->t = at += carry;
    buffers->r = at += t;
    buffers->narrow = at += r;
    buffers->empty = at + r;
    buffers->k.soa = buffers->soa;
    buffers->k.seeded = job->seeded;
    if (job->verb == TL_WINDOW || job->exclusive) fill_empty(buffers, width);

    return 1;
}

/* The width of the strip, with padding. Rows of results that are columns lie side by side in r: the
 * next row overwrites what a vector has beyond its row. */
static void set_width(tl_lanes_buffers *buffers, const tl_lanes_to *to, int64_t width)
{
    const int64_t padded = tl_lanes_padded(buffers, width);
    buffers->k.vectors = (int)(padded / buffers->lanes);
    buffers->r_width = to->q || to->pitch || buffers->job->reverse ? padded : width;
}

/* Sets S(0) of the lanes. */
static void set_start(tl_lanes_buffers *buffers, int64_t width)
{
    tl_lanes *k = &buffers->k;
    const int vectors = k->vectors;
    if (k->seeded && buffers->vectors_seeded != vectors)
        for (int64_t c = 0; c < tl_lanes_padded(buffers, width); c++)
            buffers->job->plan->core->lanes_put(k, 2 * k->levels, c, &buffers->job->init);
    buffers->vectors_seeded = vectors;
}

void tl_lanes_staged(const tl_lanes_buffers *buffers, int64_t lane, tl_state *s)
{
    const tl_plan *plan = buffers->job->plan;
    plan->core->unstage(buffers->soa, lane, s);
    if (plan->op->from_wide) plan->op->from_wide(s);
}

void tl_lanes_continue(const tl_lanes_job *job, const tl_lanes *k, int64_t lane, tl_counter *c,
                       const tl_state *init)
{
    const tl_plan *plan = job->plan;
    const int count = c->count, scans = job->verb == TL_SCAN;
    tl_state s;

    for (c->count = 1; c->count <= count; c->count++) {
        const int slot = c->level[c->count - 1] - BLOCK_LOG;
        if (scans) { /* S after this node */
            tl_counter_fold(c, plan->op, init, &s);
            if (plan->op->to_wide) plan->op->to_wide(&s);
            plan->core->lanes_put(k, k->levels + slot, lane, &s);
        }
        s = c->node[c->count - 1];
        if (plan->op->to_wide) plan->op->to_wide(&s);
        plan->core->lanes_put(k, slot, lane, &s);
    }
}

/* ---- results ---- */

/* Returns where the results of rows i and up are to be lowered. *step: results from one row to the
 * next. */
static char *target(tl_lanes_buffers *buffers, const tl_lanes_to *to, int64_t i, int64_t *step)
{
    *step = to->direct ? to->step : buffers->r_width;
    return to->direct ? to->out + i * to->step * buffers->result : buffers->r;
}

/* The results of the strip's rows in r. */
static tl_matrix results_in_r(const tl_lanes_buffers *buffers, int64_t width)
{
    return (tl_matrix){buffers->r, buffers->r_width, width, (int)buffers->result};
}

/* Stores l->rows results of each lane, from the states staged from soa[l->from] on, as rows i and
 * up of the strip (reversed: last row first). absent: the first has no value. */
static void put(tl_lanes_buffers *buffers, const tl_lanes_to *to, int64_t width, int64_t i,
                tl_lower *l, int absent)
{
    const tl_plan *plan = buffers->job->plan;
    const int64_t padded = buffers->k.vectors * buffers->lanes,
                  first = buffers->job->reverse ? l->rows - 1 : 0;
    const tl_matrix results = results_in_r(buffers, width);
    int64_t step;
    char *out = target(buffers, to, i, &step);

    out += first * step * buffers->result;

    l->m = to->direct ? width : padded;
    l->stream = to->direct && to->stream;
    l->row_step = first ? -step : step;
    plan->lower->lower_rows(out, buffers->soa, l, plan->par);
    if (absent) memcpy(out, buffers->empty, (size_t)(width * buffers->result));
    tl_lanes_store(buffers, to, &results, i, l->rows);
}

/* Writes `rows` rows of results without a value. */
static void empties(tl_lanes_buffers *buffers, const tl_lanes_to *to, int64_t width, int64_t i,
                    int64_t rows)
{
    const int64_t chunk = tl_lanes_chunk(buffers->k.vectors * buffers->lanes);
    for (int64_t now; rows > 0; i += now, rows -= now) {
        int64_t step;
        char *out = target(buffers, to, i, &step);
        now = tl_min(rows, chunk);
        for (int64_t j = 0; j < now; j++)
            memcpy(out + j * step * buffers->result, buffers->empty,
                   (size_t)(width * buffers->result));
        const tl_matrix results = results_in_r(buffers, width);
        tl_lanes_store(buffers, to, &results, i, now);
    }
}

/* ---- the verbs ---- */

void tl_lanes_feed(tl_lanes_buffers *buffers, const tl_lanes_from *f, const tl_lanes_part *part)
{
    const int64_t n = part->n;
    tl_lanes k = buffers->k;
    k.vectors = (int)(tl_lanes_padded(buffers, f->width) / buffers->lanes);
    k.to = part->to;
    k.ends = part->ends;
    k.prefetch_distance = f->prefetch_distance;
    const int64_t chunk = tl_lanes_chunk(k.vectors * buffers->lanes),
                  direct = f->direct < n ? f->direct & -(int64_t)BLOCK : n;
    int64_t done = 0;

    do { /* a last part may have no rows */
        k.at = part->at + done;
        k.m = done < direct ? direct - done : tl_min(n - done, chunk);
        assert(k.m > 0 || n == 0);
        k.soa = part->last && done + k.m == n ? buffers->soa : NULL;
        k.x = tl_lanes_bring(buffers, f, done, k.m, &k.stride);
        buffers->job->plan->core->lanes_fold(&k, buffers->job->plan->par);
        done += k.m;
    } while (done < n);
}

void tl_lanes_fold(tl_lanes_buffers *buffers, const tl_lanes_from *f, int64_t n,
                   const int32_t *ends, int64_t to)
{
    if (n > 0) tl_lanes_feed(buffers, f, &(tl_lanes_part){0, n, 1, to, ends});
}

void tl_lanes_scan(tl_lanes_buffers *buffers, const tl_lanes_from *f, const tl_lanes_to *to,
                   const tl_lanes_span *span)
{
    const tl_lanes_job *job = buffers->job;
    const int64_t width = f->width, end = span->at + span->n;

    set_width(buffers, to, width);
    set_start(buffers, width);
    tl_lanes k = buffers->k;
    const int64_t pad = k.vectors * buffers->lanes, chunk = tl_lanes_chunk(pad);
    const tl_kernel *core = job->plan->core;
    const int straight = core->direct && core == job->plan->lower && !job->exclusive,
              aligned =
                  ((uintptr_t)to->out | (uintptr_t)(to->step * buffers->result)) % STREAMED == 0,
              in_place = to->direct && (!to->stream || aligned),
              packed = straight && !in_place && !job->reverse && !job->plan->out && !to->q &&
                       !to->pitch && to->col_step == 1 && to->step == width;
    k.to = 0;
    k.prefetch_distance = f->prefetch_distance;

    for (int64_t at = span->at; at < end; at += k.m) {
        k.at = at;
        k.m = tl_min(end - at, chunk);

        /* the first of these rows in memory order */
        const int64_t i = job->reverse ? span->total - at - k.m : at - span->first;
        const char *const x = tl_lanes_bring(buffers, f, i, k.m, &k.stride);
        k.x = job->reverse ? x + (k.m - 1) * k.stride * buffers->elem : x;
        if (job->reverse) k.stride = -k.stride;

        const int lowers = !packed && straight && (in_place || !to->direct); /* without staging */
        if (packed) { /* side by side, from registers to the first cache to their place */
            k.packed = to->out + i * width * buffers->result;
            k.out = buffers->r + (uintptr_t)k.packed % 64;
            k.out_step = width;
            k.stream = to->stream;
        } else if (lowers) {
            k.out = target(buffers, to, i, &k.out_step);
            k.stream = in_place && to->stream;
            if (job->reverse) {
                k.out = (char *)k.out + (k.m - 1) * k.out_step * buffers->result;
                k.out_step = -k.out_step;
            }
        }

        core->lanes_scan(&k, job->plan->par);
        if (packed) continue;
        if (lowers) {
            const tl_matrix results = results_in_r(buffers, width);
            tl_lanes_store(buffers, to, &results, i, k.m);
            continue;
        }

        tl_lower l = {.from = job->exclusive ? 0 : pad,
                      .n = at + !job->exclusive,
                      .rows = k.m,
                      .width = pad,
                      .row_n = 1};
        put(buffers, to, width, i, &l, job->exclusive && at == 0 && !job->seeded);
    }
}

static int64_t first_centre(const tl_lanes_job *job) { return job->valid ? job->before : 0; }

/* Windows that start at the first element: prefixes, and windows of all n elements. */
static void prefixes(tl_lanes_buffers *buffers, const tl_lanes_from *f, const tl_lanes_to *to,
                     int64_t n, int64_t i0, int64_t i1)
{
    const tl_lanes_job *job = buffers->job;
    /* centre i has i + shift elements, at most n */
    const int64_t shift = job->after + 1, width = f->width, first = first_centre(job);
    int64_t enough = n < job->least ? i1 : job->least - shift;

    enough = tl_clamp(enough, i0, i1);
    empties(buffers, to, width, i0 - first, enough - i0);
    if (enough == i1) return;

    tl_lanes k = buffers->k;
    const int64_t pad = k.vectors * buffers->lanes, chunk = tl_lanes_chunk(pad),
                  most = tl_min(i1 - 1 + shift, n);
    k.to = 0;
    for (int64_t at = 0; at < most; at += k.m) {
        k.at = at;
        k.m = tl_min(most - at, chunk);
        k.x = tl_lanes_bring(buffers, f, at, k.m, &k.stride);
        job->plan->core->lanes_scan(&k, job->plan->par);

        /* centres of the prefixes of at + 1 .. at + m elements */
        int64_t from = at + 1 - shift, end = at + k.m + 1 - shift;
        from = tl_max(from, enough);
        end = tl_min(end, i1);
        if (from < end) {
            tl_lower l = {.from = (from + shift - at) * pad,
                          .n = from + shift,
                          .rows = end - from,
                          .width = pad,
                          .row_n = 1};
            put(buffers, to, width, from - first, &l, 0);
        }

        from = tl_max(n + 1 - shift, enough);
        if (at + k.m == n)
            for (int64_t now; from < i1; from += now) { /* windows of all elements */
                now = tl_min(i1 - from, chunk);
                tl_lower l = {.from = k.m * pad, .n = n, .rows = now};
                put(buffers, to, width, from - first, &l, 0);
            }
    }
}

int tl_lanes_flat(const tl_lanes_job *job, int64_t columns, int64_t in_step, int64_t out_step)
{
    const tl_kernel *core = job->plan->core;
    const int64_t lanes = core->vector_lanes;
    return core->lanes_flat && in_step == columns && out_step == columns &&
           2 * job->w * columns <= FLAT && 8 * columns <= 5 * ((columns + lanes - 1) & -lanes);
}

/* Full windows of rows without gaps. */
static void flat_windows(tl_lanes_buffers *buffers, const tl_lanes_from *f, const tl_lanes_to *to,
                         int64_t i0, int64_t i1)
{
    const tl_lanes_job *job = buffers->job;
    const tl_plan *plan = job->plan;
    const int64_t first = first_centre(job), width = f->width, w = job->w;
    int64_t most = 4 * w * width; /* elements of a chunk */
    most = tl_clamp(most, FLAT / 2, FLAT);
    const int64_t chunk = most / width - w + 1;
    tl_lanes k = buffers->k;

    k.prefetch_distance = f->prefetch_distance ? chunk : 0;
    for (int64_t now; i0 < i1; i0 += now) {
        now = tl_min(i1 - i0, chunk);
        k.at = i0 - job->before;
        k.m = now + w - 1;
        k.x = tl_lanes_bring(buffers, f, k.at, k.m, &k.stride);
        plan->core->lanes_flat(&k, w, plan->par);

        char *const out = to->out + (i0 - first) * width * plan->op->result_bytes;
        const tl_lower l = {
            .m = now * width, .n = w, .rows = 1, .stream = !plan->out && to->stream};
        plan->lower->lower_rows(plan->out ? buffers->r : out, buffers->soa, &l, plan->par);
        if (plan->out) tl_lanes_store_dense(buffers, to, out, buffers->r, l.m);
    }
}

static void full_windows(tl_lanes_buffers *buffers, const tl_lanes_from *f, const tl_lanes_to *to,
                         int64_t i0, int64_t i1)
{
    const tl_lanes_job *job = buffers->job;
    const int64_t first = first_centre(job);
    if (f->col_step == 1 && to->col_step == 1 && tl_lanes_flat(job, f->width, f->step, to->step)) {
        flat_windows(buffers, f, to, i0, i1);
        return;
    }

    tl_lanes k = buffers->k;
    const int64_t chunk = tl_lanes_chunk(k.vectors * buffers->lanes);
    k.to = 0;
    k.prefetch_distance = f->prefetch_distance ? chunk : 0;

    for (int64_t now; i0 < i1; i0 += now) {
        now = tl_min(i1 - i0, chunk);
        k.at = i0 - job->before;
        k.m = now + job->w - 1;
        k.x = tl_lanes_bring(buffers, f, k.at, k.m, &k.stride);
        job->plan->core->lanes_window(&k, job->w, job->plan->par);
        tl_lower l = {.n = job->w,
                      .rows = now,
                      .width = k.vectors * buffers->lanes,
                      .first = k.at,
                      .row_first = 1};
        put(buffers, to, f->width, i0 - first, &l, 0);
    }
}

void tl_lanes_window(tl_lanes_buffers *buffers, const tl_lanes_from *f, const tl_lanes_to *to,
                     int64_t n, int64_t i0, int64_t i1)
{
    const tl_lanes_job *job = buffers->job;
    const int64_t first = first_centre(job), stop = job->valid ? n - job->after : n;
    if (i0 < first) i0 = first;
    if (i1 > stop) i1 = stop;
    if (i0 >= i1) return;

    set_width(buffers, to, f->width);

    /* Centres from lo on have no missing elements before them. */
    int64_t lo = tl_clamp(job->before, i0, i1);
    int64_t hi = tl_clamp(n - job->after, lo, i1);
    if (i0 < lo) prefixes(buffers, f, to, n, i0, lo);
    if (lo < hi) full_windows(buffers, f, to, lo, hi);
    for (int64_t i = hi; i < i1; i++) { /* suffixes: one fold each */
        const int64_t a = i - job->before, length = n - a;
        if (length < job->least) {
            empties(buffers, to, f->width, i - first, i1 - i);
            return;
        }

        const tl_lanes_from part =
            tl_lanes_rows_from(f, a, f->direct ? buffers->elem : job->plan->op->elem_bytes);
        tl_lanes_fold(buffers, &part, length, NULL, 0);
        tl_lower l = {.n = length, .rows = 1};
        put(buffers, to, f->width, i - first, &l, 0);
    }
}
