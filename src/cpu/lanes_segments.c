/* SPDX-License-Identifier: MIT
 * Short segments: as many as make a batch are sorted by length; those of about equal length make
 * strips of lanes (lanes.h). */
#include "lanes.h"
#include "widen.h"
#include "cpu/kernel/simd.h"
#include <string.h>

enum { LISTED = 64 }; /* segments that are listed at a time */

/* Is a strip of `count` sequences of n elements slower than one sequence at a time? */
static int slower_than_alone(int64_t count, int64_t n) { return count * 24 < n; }

/* Lowers the staged states of a batch, which are in the order of s, and writes each result to the
 * place of its segment. Those without elements are among the first `short_ones`. */
static void lower_segments(tl_lanes_batch *b, const tl_segment *s, int64_t short_ones)
{
    const tl_plan *plan = b->job->plan;
    const int64_t bytes = plan->op->result_bytes, count = b->count;
    char *const to = b->job->results + b->r0 * bytes, *const from = b->out;
    int32_t counts[TL_BATCH_SEQUENCES + TL_ABREAST];
    uint16_t empties[TL_BATCH_SEQUENCES];
    char empty[32];
    int64_t none = 0;
    int some = 0;

    for (int64_t j = 0; j < count; j++) counts[j] = tl_segment_length(s[j]);
    for (int64_t j = 0; j < short_ones; j++) some |= counts[j] == 0;
    for (int64_t j = count; j % TL_ABREAST; j++) counts[j] = 1;
    tl_lower_counted(plan, (tl_staging){b->buffers.soa, b->buffers.r}, from, count, counts, NULL);
    plan->op->empty(plan->par, empty);
    for (int64_t j = 0; j < short_ones && some; j++) { /* a branch would be mispredicted */
        empties[none] = (uint16_t)j;
        none += counts[j] == 0;
    }
    for (int64_t j = 0; j < none; j++) memcpy(from + empties[j] * bytes, empty, (size_t)bytes);
#define SCATTER(size) \
    for (int64_t j = 0; j < count; j++) \
    memcpy(to + tl_segment_number(s[j]) * (size), from + j * (size), size)
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
static int64_t list_segments(tl_segment *list, const int64_t *offset, int64_t from, int64_t count)
{
    const int64_t first = offset[0];
    int32_t longest = 0;
    for (int64_t j = from; j < from + count; j++) {
        const int64_t n = offset[j + 1] - offset[j];
        list[j] = tl_segment_of(offset[j] - first, n, j);
        longest = longest < (int32_t)n ? (int32_t)n : longest;
    }
    return longest;
}

/* Starts a batch at segment r0: as many segments as have at most TL_BATCH_ELEMENTS elements, each
 * at most TL_LANES_LONG. Returns the longest length. */
static int64_t begin_batch(tl_lanes_batch *b, int64_t r0, int64_t r1)
{
    const int64_t *offset = b->job->in->offsets + r0, all = tl_min(r1 - r0, TL_BATCH_SEQUENCES);
    int64_t count = 0, longest = 0, wide = 0;

    for (int64_t step = LISTED; count < all && step;) {
        const int64_t now = tl_min(step, all - count);
        int64_t n = TL_LANES_LONG + 1;
        if (offset[count + now] - offset[0] <= TL_BATCH_ELEMENTS)
            n = list_segments(b->in_order, offset, count, now);
        if (n > TL_LANES_LONG) {
            step = now / 2;
        } else {
            longest = tl_max(longest, n);
            wide += now * n;
            count += now;
        }
    }

    b->r0 = r0;
    b->count = count;
    /* which pays where segments are about as long, and at least half as long as a vector */
    const int64_t elements = offset[count] - offset[0], lanes = b->job->plan->core->vector_lanes;
    b->alike = b->as_given && wide <= 4 * elements + 32 * count &&
               (b->job->out ? longest <= TL_SCAN_SHORT
                            : longest <= b->longest && 16 * elements >= 7 * lanes * count);
    return longest;
}

/* Segments of one class may share a strip. Of a reduction, all nodes of 8 or more elements must be
 * the same; a scan may end with one. What begins at the end (reverse, after) needs one length. */
static uint64_t class_of(const tl_lanes_job *job, uint64_t n)
{
    if (job->verb == TL_REDUCE) return n / TL_LANES_OVER;
    return job->reverse || job->after ? n : (n + TL_LANES_OVER - 1) / TL_LANES_OVER;
}

/* The longest segment that a class may have. */
static int64_t longest_of_class(const tl_lanes_job *job, int64_t class)
{
    if (job->verb == TL_REDUCE) return class * TL_LANES_OVER + TL_LANES_OVER - 1;
    return job->reverse || job->after ? class : class * TL_LANES_OVER;
}

/* Sorts the batch by class. Counters of TL_BATCH_WAYS neighbours do not wait for each other. */
static void sort(tl_lanes_batch *b, int64_t longest)
{
    const tl_lanes_job *job = b->job;
    const int64_t classes = class_of(job, longest) + 1;
    uint16_t(*const place)[TL_BATCH_WAYS] = b->place, before = 0;

    memset(place, 0, (size_t)classes * sizeof *place);
    for (int64_t j = 0; j < b->count; j++)
        place[class_of(job, tl_segment_length(b->in_order[j]))][j % TL_BATCH_WAYS]++;
    for (int64_t class = 0; class < classes; class ++)
        for (int way = 0; way < TL_BATCH_WAYS; way++) {
            const uint16_t count = place[class][way];
            place[class][way] = before;
            before = (uint16_t)(before + count);
        }
    for (int64_t j = 0; j < b->count; j++) {
        const tl_segment s = b->in_order[j];
        b->sorted[place[class_of(job, tl_segment_length(s))][j % TL_BATCH_WAYS]++] = s;
    }
}

/* The number of sorted segments up to a class. */
static int64_t end_of_class(const tl_lanes_batch *b, int64_t class)
{
    return b->place[class][TL_BATCH_WAYS - 1];
}

/* The strip that begins with segment s of the sorted ones. */
static tl_strip strip_of_class(const tl_lanes_batch *b, int64_t s, int64_t longest)
{
    const tl_lanes_job *job = b->job;
    const int64_t class = class_of(job, tl_segment_length(b->sorted[s])),
                  least = class ? longest_of_class(job, class - 1) + 1 : 0;
    int64_t end = end_of_class(b, class);

    /* Some of a scan that are not much longer fill the strip. */
    if (job->verb != TL_REDUCE && !job->reverse && !job->after) {
        const int64_t near = class_of(job, tl_min(least + least / TL_LANES_OVER, longest));
        end = tl_max(end, tl_min(end_of_class(b, near), s + TL_ABREAST));
    }

    end = tl_min(end, s + tl_batch_lanes(least + TL_LANES_OVER));
    const int64_t last = class_of(job, tl_segment_length(b->sorted[end - 1]));
    return (tl_strip){b->sorted + s, end - s, least, tl_min(longest_of_class(job, last), longest),
                      s};
}

static void batch_of_segments(tl_lanes_batch *b, int64_t longest, tl_lanes_process *process,
                              void *with)
{
    const tl_lanes_job *job = b->job;
    const int64_t *offset = job->in->offsets + b->r0;
    int64_t s = 0, alone = 0;

    tl_batch_load(b);
    const int folded = b->alike && tl_batch_as_given(b, offset, longest),
              /* or all are so short that one strip can hold them unsorted */
        unsorted = folded || (longest <= TL_LANES_OVER && !job->reverse && !job->after);
    const tl_segment *const list = unsorted ? b->in_order : b->sorted;

    if (!unsorted) sort(b, longest);
    if (folded)
        s = b->count;
    else if (!unsorted && job->verb != TL_REDUCE)
        s = end_of_class(b, 0); /* they are empty */
    /* a strip reads all its segments up to the length of its longest */
    const int64_t reach =
        (offset[b->count] - offset[0] + 2 * longest + 3 * TL_LANES_OVER) * b->elem;
    b->near_end = (uintptr_t)b->x + (uintptr_t)reach > (uintptr_t)b->end;

    const int64_t begin = s,
                  all = b->prefetch && b->direct_in ? (offset[b->count] - offset[0]) * b->elem : 0;

    /* prefetch the next batch, as many bytes as this one has */
    const char *next = tl_offset((char *)(uintptr_t)b->x, all);

    for (int64_t count; longest && s < b->count; s += count) {
        const tl_strip part =
            unsorted ? (tl_strip){list + s, tl_min(tl_batch_lanes(TL_LANES_OVER), b->count - s), 0,
                                  longest, s}
                     : strip_of_class(b, s, longest);
        count = part.count;
        for (int64_t c = 0; c < count && all; c += 8) /* offsets of the next batch */
            __builtin_prefetch(offset + b->count + s + c, 0, 2);
        if (part.least > b->longest ||
            ((b->direct_out || !job->out) && slower_than_alone(count, part.least)))
            for (int64_t c = 0; c < count; c++) b->alone[alone++] = tl_segment_number(list[s + c]);
        else {
            const int64_t share = all * count / (b->count - begin);
            tl_batch_strip(b, part, (tl_prefetch){next, share});
            next += share;
        }
    }

    if (job->out)
        tl_batch_store(b);
    else
        lower_segments(b, list, unsorted ? b->count : end_of_class(b, 0));

    for (int64_t j = 0; j < alone; j++) process(with, b->r0 + b->alone[j]);
}

static void segments(tl_lanes_batch *b, int64_t r0, int64_t r1, tl_lanes_process *process,
                     void *with)
{
    const int64_t *const offsets = b->job->in->offsets;
    while (r0 < r1) {
        const int64_t longest = begin_batch(b, r0, r1);
        if (b->count == 0) {
            process(with, r0++);
            continue;
        }

        if (offsets[r0 + b->count] - offsets[r0] > b->count * (b->alike ? b->mean_alike : b->mean))
            for (int64_t r = r0; r < r0 + b->count; r++) process(with, r);
        else
            batch_of_segments(b, longest, process, with);
        r0 += b->count;
    }
}

void tl_lanes_rows(tl_lanes_batch *b, int64_t r0, int64_t r1, tl_lanes_process *process, void *with)
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
    if (in->offsets) {
        segments(b, r0, r1, process, with);
    } else {
        if (in->n > 0 && in->n <= b->longest)
            tl_batch_rows(b, r0, r1);
        else
            for (int64_t r = r0; r < r1; r++) process(with, r);
    }

    if (b->stream) tl_stream_fence();
}
