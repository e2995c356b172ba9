/* SPDX-License-Identifier: MIT
 * Short rows and segments: 16 or more of about equal length make a strip of lanes (lanes.h). Rows
 * of one length are taken in order. Segments are taken a batch at a time and sorted by length.
 *
 *   in --(gaps or strides: copy; widen)--> dense elements --transpose--> strip
 *   strip --transpose--> dense results --(narrow, copy, stream)--> out
 *
 * Where neither is needed, the caller's memory is read and written in place. */
#include "lanes.h"
#include "widen.h"
#include "cpu/kernel/simd.h"
#include "context/context.h"
#include "context/view.h"
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEQUENCES = 2048,         /* most sequences of a batch */
    ELEMENTS = 64 * 1024 - 1, /* most elements of a batch */
    STAGED = 16 * 1024,       /* most elements of a batch of rows that are copied or widened */
    STREAM_BYTES = 4 * 1024 * 1024, /* results of at least this size use non-temporal stores */
    LISTED = 64,                    /* segments that are listed at a time */
    WAYS = 4,
    OVER = 8, /* a transposition reads multiples of this many elements */
    /* A sequence that a transposition would read past the end of is copied; this many elements are
     * enough for the copies of one strip. */
    SPILL = 4 * TL_LANES_LONG
};

/* A segment of a batch, in one word that is stored and loaded at once: the number of elements
 * before it in the batch, its length (16 bits), and its number (16 bits). */
typedef uint64_t sequence;
static inline sequence sequence_of(int64_t at, int64_t n, int64_t r)
{
    return (uint64_t)at << 32 | (uint64_t)n << 16 | (uint64_t)r;
}
static inline uint64_t at_of(sequence s) { return s >> 32; }
static inline uint16_t length_of(sequence s) { return (uint16_t)(s >> 16); }
static inline uint16_t number_of(sequence s) { return (uint16_t)s; }

struct tl_lanes_batch {
    const tl_lanes_job *job;
    tl_lanes_buffers buffers;
    int64_t elem, result; /* bytes of the kernels' elements and results */
    int direct_in, direct_out, stream, prefetch;

    /* Longer sequences are processed one at a time; so are batches with a longer mean. */
    int64_t longest, mean;
    char *in, *pack, *out, *spill;
    int64_t r0, count; /* the first sequence of the batch, and how many it has */
    const char *x;     /* the first element, in place or copied */
    const char *end;   /* nothing at or after this address may be read */
    int near_end;      /* a strip might read past the end */
    char *y;           /* where the first result goes */
    sequence in_order[SEQUENCES], sorted[SEQUENCES]; /* segments; sorted by length */
    uint16_t alone[SEQUENCES];
    uint16_t place[TL_LANES_LONG + 1][WAYS]; /* where the next segment of a class goes */
};

/* ---- where sequences lie ---- */

/* Are the sequences of a view adjacent, without gaps? */
static int is_dense(const tally_view *v)
{
    return v->stride == 1 && (v->offsets || v->row_stride == v->n);
}

/* The number of elements before sequence r of a view without gaps. */
static int64_t start_of(const tally_view *v, int64_t r)
{
    return v->offsets ? v->offsets[r] : r * v->n;
}

/* Sequences up to this length are faster in lanes than one at a time. For reductions of rows it
 * depends on the operator: one row costs 10 to 40 ns and then little for each element
 * (bench/results). Segments one at a time also have branches that are mispredicted. */
static int64_t longest_of(const tl_lanes_job *job)
{
    const tl_plan *plan = job->plan;
    if (job->in->offsets) return job->verb == TL_REDUCE ? TL_LANES_LONG / 2 : TL_LANES_LONG;
    const int64_t pitch = llabs(job->in->row_stride) * plan->op->elem_bytes;

    /* All rows would map to the same cache set. */
    if (pitch && pitch % 4096 == 0) return TL_LANES_LONG / 2;

    /* The kernel gets widened tiles. */
    if (job->verb != TL_REDUCE || (plan->fold == plan->core && plan->in)) return TL_LANES_LONG;
    const int64_t state = plan->core->vector_bytes / plan->core->vector_lanes,
                  elem = plan->op->elem_bytes;
    if (plan->fold != plan->core && elem < 4)
        return plan->op->inverse ? 32 : elem == 1 && state == 4 ? 64 : 100;
    if (plan->op->exact && plan->op->indexed) return 256;
    return state == 8 && plan->op->exact ? 48 : 100;
}

int tl_lanes_take_rows(const tl_lanes_job *job)
{
    const tally_view *in = job->in;
    if (in->rows < TL_LANES_LEAST_ROWS || job->plan->op->inputs == 2) return 0;
    if (!in->offsets) return in->n <= longest_of(job);
    return 1;
}

tl_lanes_batch *tl_lanes_batch_open(tally *ctx, int me, const tl_lanes_job *job)
{
    const tally_view *in = job->in, *out = job->out;
    const tl_plan *plan = job->plan;
    tl_lanes_batch *b = tl_scratch(ctx, me, TL_BATCH, sizeof *b);
    if (!b) return NULL;

    int64_t all = in->offsets ? in->offsets[in->rows] - in->offsets[0] : in->rows * in->n;
    const int64_t total = all;
    if (all > ELEMENTS) all = ELEMENTS;
    all += TL_ABREAST * OVER;
    memset(b, 0, offsetof(tl_lanes_batch, in_order));
    b->job = job;
    const tl_lanes_size size = {TL_LANES_STRIP, TL_LANES_LONG, (TL_LANES_LONG + OVER) * TL_ABREAST};
    if (!tl_lanes_open(&b->buffers, ctx, me, job, size)) return NULL;
    b->elem = b->buffers.elem;
    b->longest = longest_of(job);
    b->mean = job->verb != TL_REDUCE ? 256 : plan->op->exact && plan->op->inverse ? 64 : 128;
    b->result = b->buffers.result;

    /* Rows with gaps: elements past the end of a row may not exist, so the length must be a
     * multiple of OVER. */
    b->direct_in = !plan->in && in->stride == 1 && (is_dense(in) || in->n % OVER == 0);
    const int64_t results = !out ? in->rows : out->offsets ? total : out->rows * out->n;
    b->prefetch = in->stride == 1 ? tl_prefetches(total * plan->op->elem_bytes) : TL_CACHED;
    b->stream = (!out || is_dense(out)) && results * plan->op->result_bytes >= STREAM_BYTES;
    b->direct_out = out && !plan->out && out->stride == 1 && !b->stream;
    const size_t in_bytes = b->direct_in ? 0 : (size_t)(all * b->elem),
                 pack = plan->in && !is_dense(in) ? (size_t)(all * plan->op->elem_bytes) : 0,
                 buffers = (size_t)SPILL * (size_t)b->elem,
                 out_bytes = !out
                                 ? (size_t)(SEQUENCES + TL_ABREAST) * (size_t)plan->op->result_bytes
                             : b->direct_out ? 0
                                             : (size_t)(all * b->result) + 64;
    b->in = tl_scratch(ctx, me, TL_STAGE, in_bytes + pack + buffers + out_bytes + 4 * 64);
    if (!b->in) return NULL;

    b->pack = b->in + ((in_bytes + 63) & ~(size_t)63);
    b->spill = b->pack + ((pack + 63) & ~(size_t)63);
    b->out = b->spill + ((buffers + 63) & ~(size_t)63);

    return b;
}

/* ---- elements and results of a batch ---- */

static void load_elements(tl_lanes_batch *b)
{
    const tl_plan *plan = b->job->plan;
    const tally_view *in = b->job->in;
    const int64_t bytes = plan->op->elem_bytes,
                  all = start_of(in, b->r0 + b->count) - start_of(in, b->r0);
    int64_t n;
    const char *x = tl_view_row(in, b->r0, bytes, &n);

    b->x = x;
    if (b->direct_in) return;

    b->x = b->in;
    b->end = b->in + (all + TL_ABREAST * OVER) * b->elem;
    char *to = plan->in ? b->pack : b->in;
    if (is_dense(in))
        to = (char *)x;
    else if (in->offsets)
        tl_copy_strided(to, 1, x, in->stride, all, bytes);
    else
        for (int64_t r = 0; r < b->count; r++)
            tl_copy_strided(to + r * n * bytes, 1, x + r * in->row_stride * bytes, in->stride, n,
                            bytes);

    if (plan->in) plan->in->apply(plan->in, b->in, to, all);
}

static void store_results(tl_lanes_batch *b)
{
    const tl_plan *plan = b->job->plan;
    const tally_view *out = b->job->out;
    const int64_t bytes = plan->op->result_bytes,
                  all = start_of(out, b->r0 + b->count) - start_of(out, b->r0);
    int64_t n;
    char *y = tl_view_row(out, b->r0, bytes, &n), *from = b->y;

    if (b->direct_out) return;
    if (plan->out && is_dense(out)) {
        tl_narrow_results(plan, y, from, all, b->stream);
        return;
    }
    if (plan->out) { /* in place, because results get narrower */
        enum { PIECE = 1024 };
        char piece[PIECE];
        const int64_t bytes_out = plan->out->to_bytes, most = PIECE / bytes_out,
                      lanes = all * plan->op->lanes;

        for (int64_t at = 0, now; at < lanes; at += now) {
            now = tl_min(lanes - at, most);
            plan->out->apply(plan->out, piece, from + at * plan->out->from_bytes, now);
            memcpy(from + at * bytes_out, piece, (size_t)(now * bytes_out));
        }
    }

    if (b->stream)
        tl_stream_bytes(y, from, all * bytes);
    else if (out->offsets)
        tl_copy_strided(y, out->stride, from, 1, all, bytes);
    else
        for (int64_t r = 0; r < b->count; r++)
            tl_copy_strided(y + r * out->row_stride * bytes, out->stride, from + r * n * bytes, 1,
                            n, bytes);
}

/* ---- strips ---- */

/* Lanes of a strip of n rows whose elements fit the first-level cache. */
static int64_t lanes_for(int64_t n)
{
    const int64_t lanes = TL_TILE / (((n + OVER - 1) & -(int64_t)OVER) + 1) & -(int64_t)TL_ABREAST;
    return tl_clamp(lanes, TL_ABREAST, TL_LANES_STRIP);
}

/* Computes the results of a strip of `lanes` lanes, which is in t. ends: see tl_lanes. */
static void compute(tl_lanes_batch *b, int64_t s, int64_t lanes, int64_t n, const int32_t *ends,
                    const tl_lanes_to *to)
{
    const tl_lanes_from from = {b->buffers.t, lanes, lanes, TL_ALL_ROWS, 1, 0};
    if (b->job->verb == TL_REDUCE)
        tl_lanes_fold(&b->buffers, &from, n, ends, s);
    else if (b->job->verb == TL_SCAN)
        tl_lanes_scan(&b->buffers, &from, to, &(tl_lanes_span){0, 0, n, n});
    else
        tl_lanes_window(&b->buffers, &from, to, n, 0, n);
}

/* A strip of `count` rows of one length, from row s of the batch on. Requires: count is a multiple
 * of 16, and no read goes past the end. */
static void even_strip(tl_lanes_batch *b, int64_t s, int64_t count)
{
    const tally_view *in = b->job->in, *out = b->job->out;
    const int64_t pitch = (b->direct_in ? in->row_stride : in->n) * b->elem,
                  out_pitch = !out ? 0 : (b->direct_out ? out->row_stride : out->n) * b->result;
    const tl_lanes_to to = {.out = out ? b->y + s * out_pitch : NULL, .pitch = out_pitch};

    b->job->plan->transpose->to_lanes(
        &(tl_matrix){b->buffers.t, count, count, (int)b->elem},
        &(tl_origins){.first = b->x + s * pitch, .pitch = pitch}, in->n,
        (tl_prefetch){b->x + (s + count) * pitch, b->prefetch && b->direct_in ? count * pitch : 0});
    compute(b, s, count, in->n, NULL, &to);
}

/* A strip: `count` sequences from s on, of least to most elements; `to` is the staging place of the
 * first. rows: they are rows of one length. */
typedef struct {
    const sequence *s;
    int64_t count, least, most, to;
    int rows;
} strip_of;

static inline void strip(tl_lanes_batch *b, strip_of part, tl_prefetch next)
{
    assert((b->elem & (b->elem - 1)) == 0 && (b->result & (b->result - 1)) == 0);
    const sequence *const s = part.s;
    const int64_t count = part.count, least = part.least, most = part.most;
    const int rows = part.rows;
    const tl_lanes_job *job = b->job;
    const tally_view *in = job->in, *out = job->out;
    const char *p[TL_LANES_STRIP];
    char *q[TL_LANES_STRIP], *spill = b->spill;
    int64_t n[TL_LANES_STRIP];
    int32_t ends[TL_LANES_STRIP];
    const int elem_log = tl_top_level(b->elem), result_log = tl_top_level(b->result);
    const int64_t lanes = (count + TL_ABREAST - 1) & -(int64_t)TL_ABREAST,
                  reads = ((most + OVER - 1) & -(int64_t)OVER) * b->elem,
                  step = (rows && b->direct_in ? in->row_stride - in->n : 0) * b->elem,
                  out_step = !out || !rows
                                 ? 0
                                 : ((b->direct_out ? out->row_stride : out->n) - in->n) * b->result;

    for (int64_t c = 0; c < count; c++) p[c] = b->x + (at_of(s[c]) << elem_log);
    for (int64_t c = 0; c < count && step; c++) p[c] += number_of(s[c]) * step;
    for (int64_t c = 0; c < count && b->near_end; c++)
        if (p[c] + reads > b->end) {
            memcpy(spill, p[c], (size_t)(length_of(s[c]) * b->elem));
            p[c] = spill;
            spill += reads;
        }

    /* padding lanes repeat the first lane; their results are not stored */
    for (int64_t c = count; c < lanes; c++) p[c] = p[0];

    if (out) {
        const int64_t fewer = job->verb == TL_WINDOW && job->valid ? job->w - 1 : 0;
        for (int64_t c = 0; c < count; c++) {
            q[c] = b->y + (at_of(s[c]) << result_log);
            n[c] = length_of(s[c]) - fewer;
        }
        for (int64_t c = 0; c < count && out_step; c++) q[c] += number_of(s[c]) * out_step;

        for (int64_t c = count; c < lanes; c++) q[c] = q[0], n[c] = 0;
    } else if (least != most) {
        const int mask = most <= OVER ? -1 : OVER - 1;
        for (int64_t c = 0; c < count; c++) ends[c] = length_of(s[c]) & mask;
        for (int64_t c = count; c < lanes; c++) ends[c] = 0;
    }

    const tl_lanes_to where = {.q = q, .n = n, .most = most};
    job->plan->transpose->to_lanes(&(tl_matrix){b->buffers.t, lanes, lanes, (int)b->elem},
                                   &(tl_origins){.list = p}, most, next);
    compute(b, part.to, lanes, most, least == most ? NULL : ends, &where);
}

/* Rows of one length where even_strip cannot be used: too few, or near the end. */
static void gathered_strip(tl_lanes_batch *b, int64_t s, int64_t count)
{
    sequence rows[TL_LANES_STRIP];
    const int64_t n = b->job->in->n;
    for (int64_t c = 0; c < count; c++) rows[c] = sequence_of((s + c) * n, n, s + c);
    strip(b, (strip_of){rows, count, n, n, s, 1}, (tl_prefetch){NULL, 0});
}

static void rows_of_one_length(tl_lanes_batch *b, int64_t r0, int64_t r1)
{
    const tl_lanes_job *job = b->job;
    const int64_t n = job->in->n, bytes = job->plan->op->result_bytes;
    const int staged = !b->direct_in || (job->out && !b->direct_out);
    int64_t most = (staged ? STAGED : ELEMENTS) / n & -(int64_t)TL_ABREAST;

    most = tl_clamp(most, TL_ABREAST, SEQUENCES);
    for (int64_t r = r0; r < r1; r += b->count) {
        int64_t length;
        b->r0 = r;
        b->count = tl_min(r1 - r, most);
        load_elements(b);
        b->near_end = is_dense(job->in) || !b->direct_in;
        b->y = !job->out ? NULL : b->direct_out ? tl_view_row(job->out, r, bytes, &length) : b->out;
        const int64_t lanes = lanes_for(n), reads = ((n + OVER - 1) & -(int64_t)OVER) * b->elem,
                      pitch = (b->direct_in ? job->in->row_stride : n) * b->elem;

        for (int64_t s = 0, now; s < b->count; s += now) {
            now = tl_min(b->count - s, lanes);
            if (now > TL_ABREAST) now &= -(int64_t)TL_ABREAST;
            if (now % TL_ABREAST == 0 &&
                (reads == n * b->elem || b->x + (s + now - 1) * pitch + reads <= b->end))
                even_strip(b, s, now);
            else
                gathered_strip(b, s, now);
        }

        if (job->out)
            store_results(b);
        else
            tl_lower_row(job->plan, (tl_staging){b->buffers.soa, b->buffers.r},
                         job->results + r * bytes, &(tl_lower){.m = b->count, .n = n, .rows = 1});
    }
}

/* Is a strip of `count` sequences of n elements slower than one sequence at a time? */
static int slower_than_alone(int64_t count, int64_t n) { return count * 24 < n; }

/* Lowers the staged states of a batch, which are in the order of s, and writes each result to the
 * place of its segment. Those without elements are among the first `short_ones`. */
static void lower_segments(tl_lanes_batch *b, const sequence *s, int64_t short_ones)
{
    const tl_plan *plan = b->job->plan;
    const int64_t bytes = plan->op->result_bytes, count = b->count;
    char *const to = b->job->results + b->r0 * bytes, *const from = b->out;
    int32_t counts[SEQUENCES + TL_ABREAST];
    uint16_t empties[SEQUENCES];
    char empty[32];
    int64_t none = 0;

    for (int64_t j = 0; j < count; j++) counts[j] = length_of(s[j]);
    for (int64_t j = count; j % TL_ABREAST; j++) counts[j] = 1;
    tl_lower_counted(plan, (tl_staging){b->buffers.soa, b->buffers.r}, from, count, counts, NULL);
    plan->op->empty(plan->par, empty);
    for (int64_t j = 0; j < short_ones; j++) { /* a branch would be mispredicted */
        empties[none] = (uint16_t)j;
        none += counts[j] == 0;
    }
    for (int64_t j = 0; j < none; j++) memcpy(from + empties[j] * bytes, empty, (size_t)bytes);
#define SCATTER(size) \
    for (int64_t j = 0; j < count; j++) \
    memcpy(to + number_of(s[j]) * (size), from + j * (size), size)
    if (s == b->in_order && b->stream)
        tl_stream_bytes(to, from, count * bytes);
    else if (s == b->in_order)
        memcpy(to, from, (size_t)(count * bytes));
    else if (bytes == 4)
        SCATTER(4);
    else if (bytes == 8)
        SCATTER(8);
    else
        SCATTER((size_t)bytes);
#undef SCATTER
}

/* Lists segments from .. from + count - 1 of a batch, which have less than 2^16 elements in all;
 * returns the longest length. Compilers vectorize the loop. */
static int64_t list_segments(sequence *list, const int64_t *offset, int64_t from, int64_t count)
{
    const int64_t first = offset[0];
    int32_t longest = 0;
    for (int64_t j = from; j < from + count; j++) {
        const int64_t n = offset[j + 1] - offset[j];
        list[j] = sequence_of(offset[j] - first, n, j);
        longest = longest < (int32_t)n ? (int32_t)n : longest;
    }
    return longest;
}

/* Starts a batch at segment r0: as many segments as have at most ELEMENTS elements, each at most
 * TL_LANES_LONG. Returns the longest length. */
static int64_t begin_batch(tl_lanes_batch *b, int64_t r0, int64_t r1)
{
    const int64_t *offset = b->job->in->offsets + r0, all = tl_min(r1 - r0, SEQUENCES);
    int64_t count = 0, longest = 0;

    for (int64_t step = LISTED; count < all && step;) {
        const int64_t now = tl_min(step, all - count);
        int64_t n = TL_LANES_LONG + 1;
        for (int64_t j = 0; j < now && b->prefetch == TL_LINES; j += 8)
            __builtin_prefetch((const char *)((uintptr_t)(offset + count + j) + 8192), 0, 3);
        if (offset[count + now] - offset[0] <= ELEMENTS)
            n = list_segments(b->in_order, offset, count, now);
        if (n > TL_LANES_LONG) {
            step = now / 2;
        } else {
            longest = tl_max(longest, n);
            count += now;
        }
    }

    b->r0 = r0;
    b->count = count;
    return longest;
}

/* Segments of one class may share a strip. Of a reduction, all nodes of 8 or more elements must be
 * the same; a scan may end with such a node; and what begins at the end needs one length. */
static uint64_t class_of(const tl_lanes_job *job, uint64_t n)
{
    if (job->verb == TL_REDUCE) return n / OVER;
    return job->reverse || job->after ? n : (n + OVER - 1) / OVER;
}

/* The longest segment that a class may have. */
static int64_t longest_of_class(const tl_lanes_job *job, int64_t class)
{
    if (job->verb == TL_REDUCE) return class * OVER + OVER - 1;
    return job->reverse || job->after ? class : class * OVER;
}

/* Sorts the batch by class. Counters of WAYS neighbours do not wait for each other. */
static void sort(tl_lanes_batch *b, int64_t longest)
{
    const tl_lanes_job *job = b->job;
    const int64_t classes = class_of(job, longest) + 1;
    uint16_t(*const place)[WAYS] = b->place, before = 0;

    memset(place, 0, (size_t)classes * sizeof *place);
    for (int64_t j = 0; j < b->count; j++)
        place[class_of(job, length_of(b->in_order[j]))][j % WAYS]++;
    for (int64_t class = 0; class < classes; class ++)
        for (int way = 0; way < WAYS; way++) {
            const uint16_t count = place[class][way];
            place[class][way] = before;
            before = (uint16_t)(before + count);
        }
    for (int64_t j = 0; j < b->count; j++) {
        const sequence s = b->in_order[j];
        b->sorted[place[class_of(job, length_of(s))][j % WAYS]++] = s;
    }
}

/* The number of sorted segments up to a class. */
static int64_t end_of_class(const tl_lanes_batch *b, int64_t class)
{
    return b->place[class][WAYS - 1];
}

/* The strip that begins with segment s of the sorted ones. */
static strip_of strip_of_class(const tl_lanes_batch *b, int64_t s, int64_t longest)
{
    const tl_lanes_job *job = b->job;
    const int64_t class = class_of(job, length_of(b->sorted[s])),
                  least = class ? longest_of_class(job, class - 1) + 1 : 0;
    int64_t end = end_of_class(b, class);

    /* Some of a scan that are not much longer fill the strip. */
    if (job->verb != TL_REDUCE && !job->reverse && !job->after) {
        const int64_t near = class_of(job, tl_min(least + least / OVER, longest));
        end = tl_max(end, tl_min(end_of_class(b, near), s + TL_ABREAST));
    }

    end = tl_min(end, s + lanes_for(least + OVER));
    const int64_t last = class_of(job, length_of(b->sorted[end - 1]));
    return (strip_of){
        b->sorted + s, end - s, least, tl_min(longest_of_class(job, last), longest), s, 0};
}

static void batch_of_segments(tl_lanes_batch *b, int64_t longest, tl_lanes_one *one, void *with)
{
    const tl_lanes_job *job = b->job;
    const int64_t *offset = job->in->offsets + b->r0;
    /* all segments are so short that one strip can hold them unsorted */
    const int unsorted = longest <= OVER && !job->reverse && !job->after;
    const sequence *const list = unsorted ? b->in_order : b->sorted;
    int64_t length, s = 0, alone = 0;

    if (!unsorted) sort(b, longest);
    if (!unsorted && job->verb != TL_REDUCE) s = end_of_class(b, 0); /* they are empty */
    load_elements(b);
    const int64_t reach = (offset[b->count] - offset[0] + 2 * longest + 3 * OVER) * b->elem;
    b->near_end = (uintptr_t)b->x + (uintptr_t)reach > (uintptr_t)b->end;
    b->y = !job->out       ? NULL
           : b->direct_out ? tl_view_row(job->out, b->r0, job->plan->op->result_bytes, &length)
                           : b->out;

    const int64_t begin = s,
                  all = b->prefetch && b->direct_in ? (offset[b->count] - offset[0]) * b->elem : 0;

    /* prefetch the next batch, as many bytes as this one has */
    const char *next = tl_offset((char *)(uintptr_t)b->x, all);

    for (int64_t count; longest && s < b->count; s += count) {
        const strip_of part =
            unsorted ? (strip_of){list + s, tl_min(lanes_for(OVER), b->count - s), 0, longest, s, 0}
                     : strip_of_class(b, s, longest);
        count = part.count;
        if (part.least > b->longest ||
            ((b->direct_out || !job->out) && slower_than_alone(count, part.least)))
            for (int64_t c = 0; c < count; c++) b->alone[alone++] = number_of(list[s + c]);
        else {
            const int64_t share = all * count / (b->count - begin);
            strip(b, part, (tl_prefetch){next, share});
            next += share;
        }
    }

    if (job->out)
        store_results(b);
    else
        lower_segments(b, list, unsorted ? b->count : end_of_class(b, 0));

    for (int64_t j = 0; j < alone; j++) one(with, b->r0 + b->alone[j]);
}

void tl_lanes_rows(tl_lanes_batch *b, int64_t r0, int64_t r1, tl_lanes_one *one, void *with)
{
    const tl_lanes_job *job = b->job;
    const tally_view *in = job->in;
    int64_t length;

    if (r0 >= r1) return;

    /* Other threads may write the rows that follow, so nothing is read past these. */
    if (b->direct_in) {
        char *const last = tl_view_row(in, r1 - 1, b->elem, &length);
        b->end = tl_offset(last, length * b->elem);
    }
    if (!in->offsets) {
        if (in->n > 0 && in->n <= b->longest)
            rows_of_one_length(b, r0, r1);
        else
            for (int64_t r = r0; r < r1; r++) one(with, r);
    }

    while (in->offsets && r0 < r1) {
        const int64_t longest = begin_batch(b, r0, r1);
        if (b->count == 0) {
            one(with, r0++);
            continue;
        }

        if (in->offsets[r0 + b->count] - in->offsets[r0] > b->count * b->mean)
            for (int64_t r = r0; r < r0 + b->count; r++) one(with, r);
        else
            batch_of_segments(b, longest, one, with);
        r0 += b->count;
    }

    if (b->stream) tl_stream_fence();
}
