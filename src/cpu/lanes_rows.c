/* SPDX-License-Identifier: MIT
 * Short rows and segments: 16 of about the same length make a strip of lanes (lanes.h). Rows of one length are taken as
 * they come; segments a batch at a time, in the order of their lengths.
 *
 *   in --(gaps or strides: copy; widen)--> elements without gaps --transpose--> strip
 *   strip --transpose--> results without gaps --(narrow, copy, stream)--> out
 *
 * Elements and results that need neither go straight to and from the caller's memory. */
#include "lanes.h"
#include "widen.h"
#include "context/view.h"
#include <stdlib.h>
#include <string.h>

enum {
    SEQUENCES = 1024,               /* of a batch */
    ELEMENTS = 32 * 1024,           /* of a batch, at most, */
    STREAM_BYTES = 4 * 1024 * 1024, /* results from here on are stored past the caches */
    OVER = 8 /* what a transposition reads behind a sequence's last element, at most */
};

struct tl_lanes_batch {
    const tl_lanes_job *job;
    tl_lanes_room room;
    int64_t elem, result;        /* of the kernels, as in room */
    int direct_in, direct_out, stream;
    char *in, *pack, *out, *spill;
    int64_t r0, count;           /* the batch's sequences */
    const char *x;               /* its first element, or the copy of it, for kernels; */
    const char *end;             /* what lies before may be read; */
    char *y;                     /* where its first result goes */
    uint16_t length[SEQUENCES], order[SEQUENCES], alone[SEQUENCES];
    uint32_t place[TL_LANES_LONG + 2];
};

/* ---- where sequences lie ---- */

/* Do the sequences of a view follow each other without gaps? */
static int is_dense(const tally_view *v) { return v->stride == 1 && (v->offsets || v->row_stride == v->n); }

/* Number of elements before sequence r, where there are no gaps. */
static int64_t start_of(const tally_view *v, int64_t r) { return v->offsets ? v->offsets[r] : r * v->n; }

static int64_t length_of(const tally_view *v, int64_t r) { return v->offsets ? v->offsets[r + 1] - v->offsets[r] : v->n; }

int tl_lanes_take_rows(const tl_lanes_job *job)
{
    const tally_view *in = job->in;
    if (in->rows < TL_LANES_FEW) return 0;
    if (!in->offsets) return in->n <= TL_LANES_LONG;
    return (in->offsets[in->rows] - in->offsets[0]) / in->rows <= 8 * TL_LANES_LONG;
}

tl_lanes_batch *tl_lanes_batch_open(const tl_lanes_job *job)
{
    const tally_view *in = job->in, *out = job->out;
    const tl_plan *plan = job->plan;
    tl_lanes_batch *b = malloc(sizeof *b);
    if (!b) return NULL;
    int64_t all = in->offsets ? in->offsets[in->rows] - in->offsets[0] : in->rows * in->n;
    const int64_t longest = !in->offsets ? in->n : all < TL_LANES_LONG ? all : TL_LANES_LONG;
    if (all > ELEMENTS) all = ELEMENTS;
    all += TL_ABREAST * OVER;
    *b = (tl_lanes_batch){.job = job};
    if (!tl_lanes_open(&b->room, job, TL_ABREAST, longest > 0 ? longest : 1)) {
        free(b);
        return NULL;
    }
    b->elem = b->room.elem;
    b->result = b->room.result;
    /* rows with gaps: what is read behind a row must be there */
    b->direct_in = !plan->in && in->stride == 1 && (is_dense(in) || in->n % OVER == 0);
    const int64_t results = !out ? 0 : out->offsets ? all : out->rows * out->n;
    b->stream = out && is_dense(out) && results * plan->op->result_bytes >= STREAM_BYTES;
    b->direct_out = out && !plan->out && out->stride == 1 && !b->stream;
    const size_t in_bytes = b->direct_in ? 0 : (size_t)(all * b->elem),
                 pack = plan->in && !is_dense(in) ? (size_t)(all * plan->op->elem_bytes) : 0,
                 room = (size_t)(longest + OVER) * TL_ABREAST * (size_t)b->elem,
                 out_bytes = !out            ? (size_t)(SEQUENCES + TL_ABREAST) * plan->op->result_bytes
                             : b->direct_out ? 0
                                             : (size_t)(all * b->result) + 64;
    b->in = malloc(in_bytes + pack + room + out_bytes + 4 * 64);
    if (!b->in) {
        tl_lanes_batch_close(b);
        return NULL;
    }
    b->pack = b->in + ((in_bytes + 63) & ~(size_t)63);
    b->spill = b->pack + ((pack + 63) & ~(size_t)63);
    b->out = b->spill + ((room + 63) & ~(size_t)63);
    return b;
}

void tl_lanes_batch_close(tl_lanes_batch *b)
{
    if (!b) return;
    tl_lanes_close(&b->room);
    free(b->in);
    free(b);
}

/* ---- a batch's elements, and its results ---- */

static void take_in(tl_lanes_batch *b)
{
    const tl_plan *plan = b->job->plan;
    const tally_view *in = b->job->in;
    const int64_t bytes = plan->op->elem_bytes, all = start_of(in, b->r0 + b->count) - start_of(in, b->r0);
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
            tl_copy_strided(to + r * n * bytes, 1, x + r * in->row_stride * bytes, in->stride, n, bytes);
    if (plan->in) plan->in->apply(b->in, to, all);
}

/* To where it is aligned to a line, past the caches. */
static void stream(char *to, const char *from, int64_t bytes)
{
    int64_t head = (int64_t)(-(uintptr_t)to & 63), at;
    if (head > bytes) head = bytes;
    memcpy(to, from, (size_t)head);
    for (at = head; at + 64 <= bytes; at += 64) tl_stream_store(to + at, from + at, 64);
    memcpy(to + at, from + at, (size_t)(bytes - at));
}

static void give_out(tl_lanes_batch *b)
{
    const tl_plan *plan = b->job->plan;
    const tally_view *out = b->job->out;
    const int64_t bytes = plan->op->result_bytes, all = start_of(out, b->r0 + b->count) - start_of(out, b->r0);
    int64_t n;
    char *y = tl_view_row(out, b->r0, bytes, &n), *from = b->y;
    if (b->direct_out) return;
    if (plan->out) {
        char *to = is_dense(out) ? y : b->y; /* in place: results get shorter */
        enum { PIECE = 1024 };
        char piece[PIECE];
        const int64_t most = PIECE / plan->out->to_bytes, lanes = all * plan->op->lanes;
        if (is_dense(out) && !b->stream) {
            plan->out->apply(to, from, lanes);
            return;
        }
        for (int64_t at = 0, now; at < lanes; at += now) {
            now = lanes - at < most ? lanes - at : most;
            plan->out->apply(piece, from + at * plan->out->from_bytes, now);
            if (b->stream)
                stream(to + at * plan->out->to_bytes, piece, now * plan->out->to_bytes);
            else
                memcpy(to + at * plan->out->to_bytes, piece, (size_t)(now * plan->out->to_bytes));
        }
        if (is_dense(out)) return;
    }
    if (b->stream)
        stream(y, from, all * bytes);
    else if (out->offsets)
        tl_copy_strided(y, out->stride, from, 1, all, bytes);
    else
        for (int64_t r = 0; r < b->count; r++)
            tl_copy_strided(y + r * out->row_stride * bytes, out->stride, from + r * n * bytes, 1, n, bytes);
}

/* ---- strips ---- */

/* The next up to 16 sequences of the batch's order, from number s on; order NULL: as they come. */
static void strip(tl_lanes_batch *b, int64_t s, int count, const uint16_t *order)
{
    const tl_lanes_job *job = b->job;
    const tally_view *in = job->in, *out = job->out;
    const char *p[TL_ABREAST];
    char *q[TL_ABREAST];
    int64_t n[TL_ABREAST], most = 0, least = INT64_MAX;
    unsigned char ends[TL_ABREAST];
    const int64_t in_step = b->direct_in && !in->offsets ? in->row_stride : in->n,
                  out_step = !out ? 0 : b->direct_out ? out->row_stride : out->n;
    for (int c = 0; c < TL_ABREAST; c++) {
        if (c >= count) { /* as the first lane, without results */
            p[c] = p[0];
            q[c] = q[0];
            n[c] = 0;
            ends[c] = 0;
            continue;
        }
        const int64_t j = order ? order[s + c] : s + c, before = in->offsets ? in->offsets[b->r0 + j] - in->offsets[b->r0] : 0,
                      length = order ? b->length[j] : in->n;
        p[c] = b->x + (in->offsets ? before : j * in_step) * b->elem;
        q[c] = b->y + (in->offsets ? before : j * out_step) * b->result;
        n[c] = length;
        ends[c] = length & (OVER - 1);
        if (length > most) most = length;
        if (length < least) least = length;
    }
    for (int c = 0; c < TL_ABREAST && (is_dense(in) || !b->direct_in); c++)
        if (p[c] + ((most + OVER - 1) & -(int64_t)OVER) * b->elem > b->end) {
            char *to = b->spill + c * (most + OVER) * b->elem;
            memcpy(to, p[c], (size_t)((c < count ? n[c] : n[0]) * b->elem));
            p[c] = to;
        }
    const tl_lanes_from from = {b->room.t, TL_ABREAST, TL_ABREAST, 1, 1};
    const tl_lanes_to to = {q, n, NULL, 0, 0, 0, 0};
    job->plan->transpose->to_lanes(b->room.t, TL_ABREAST, p, most, (int)b->elem);
    if (job->verb == TL_REDUCE) {
        tl_lanes_fold(&b->room, &from, most, least == most ? NULL : ends, s);
    } else if (job->verb == TL_SCAN) {
        tl_lanes_scan(&b->room, &from, &to, 0, most, most);
    } else {
        for (int c = 0; c < count; c++) n[c] -= job->valid ? job->w - 1 : 0;
        tl_lanes_window(&b->room, &from, &to, most, 0, most);
    }
}

/* Sequences from number s on, up to `end`, of which n are staged: their results. */
static void lower_run(tl_lanes_batch *b, int64_t s, int64_t end, int64_t n, char *out)
{
    const tl_lanes_job *job = b->job;
    tl_lower_row(job->plan, (tl_staging){b->room.soa, b->room.r}, out, s, end - s, n, 0, 0, 0, 0);
}

static void rows_of_one_length(tl_lanes_batch *b, int64_t r0, int64_t r1)
{
    const tl_lanes_job *job = b->job;
    const int64_t n = job->in->n, bytes = job->plan->op->result_bytes;
    int64_t most = ELEMENTS / n & -(int64_t)TL_ABREAST;
    most = most < TL_ABREAST ? TL_ABREAST : most > SEQUENCES ? SEQUENCES : most;
    for (int64_t r = r0; r < r1; r += b->count) {
        int64_t length;
        b->r0 = r;
        b->count = r1 - r < most ? r1 - r : most;
        take_in(b);
        b->y = !job->out ? NULL : b->direct_out ? tl_view_row(job->out, r, bytes, &length) : b->out;
        for (int64_t s = 0; s < b->count; s += TL_ABREAST)
            strip(b, s, b->count - s < TL_ABREAST ? (int)(b->count - s) : TL_ABREAST, NULL);
        if (job->out)
            give_out(b);
        else
            lower_run(b, 0, b->count, n, job->results + r * bytes);
    }
}

/* May a sequence of n elements be in a strip whose first, not longer, has `first`? */
static int fits(const tl_lanes_job *job, int64_t first, int64_t n)
{
    if (job->verb == TL_REDUCE) return n / OVER == first / OVER; /* the same nodes but for the last */
    if (job->reverse || job->after) return n == first;
    return n - first <= OVER + first / 8;
}

/* Is a strip of `count` sequences of n elements slower than one by one? */
static int lonely(int64_t count, int64_t n) { return count * 24 < n; }

static void batch_of_segments(tl_lanes_batch *b, tl_lanes_one *one, void *with)
{
    const tl_lanes_job *job = b->job;
    const int64_t bytes = job->plan->op->result_bytes;
    int64_t length, s = 0, begin, longest = 0, alone = 0;
    memset(b->place, 0, sizeof b->place);
    for (int64_t j = 0; j < b->count; j++) {
        b->length[j] = (uint16_t)length_of(job->in, b->r0 + j);
        b->place[b->length[j] + 1]++;
        if (b->length[j] > longest) longest = b->length[j];
    }
    for (int64_t n = 1; n <= longest; n++) b->place[n] += b->place[n - 1];
    for (int64_t j = 0; j < b->count; j++) b->order[b->place[b->length[j]]++] = (uint16_t)j;
    take_in(b);
    b->y = !job->out ? NULL : b->direct_out ? tl_view_row(job->out, b->r0, bytes, &length) : b->out;
    for (s = begin = b->place[0]; s < b->count;) {
        const int64_t first = b->length[b->order[s]];
        int count = 1;
        while (count < TL_ABREAST && s + count < b->count && fits(job, first, b->length[b->order[s + count]])) count++;
        if ((b->direct_out || !job->out) && lonely(count, first))
            for (int c = 0; c < count; c++) b->alone[alone++] = b->order[s + c];
        else
            strip(b, s, count, b->order);
        s += count;
    }
    if (job->out) give_out(b);
    for (int64_t j = 0; j < begin && !job->out; j++)
        job->plan->op->empty(job->plan->par, job->results + (b->r0 + b->order[j]) * bytes);
    for (s = begin; s < b->count && !job->out;) {
        const int64_t end = b->place[b->length[b->order[s]]];
        lower_run(b, s, end, b->length[b->order[s]], b->out);
        for (int64_t j = s; j < end; j++)
            memcpy(job->results + (b->r0 + b->order[j]) * bytes, b->out + (j - s) * bytes, (size_t)bytes);
        s = end;
    }
    for (int64_t j = 0; j < alone; j++) one(with, b->r0 + b->alone[j]);
}

void tl_lanes_rows(tl_lanes_batch *b, int64_t r0, int64_t r1, tl_lanes_one *one, void *with)
{
    const tl_lanes_job *job = b->job;
    const tally_view *in = job->in;
    int64_t length;
    if (r0 >= r1) return;
    if (b->direct_in) /* rows of other threads may be written meanwhile, so nothing is read behind these */
        b->end = tl_view_row(in, r1 - 1, b->elem, &length) + length_of(in, r1 - 1) * b->elem;
    if (!in->offsets) {
        if (in->n > 0 && in->n <= TL_LANES_LONG)
            rows_of_one_length(b, r0, r1);
        else
            for (int64_t r = r0; r < r1; r++) one(with, r);
    }
    while (in->offsets && r0 < r1) {
        int64_t r = r0;
        while (r < r1 && r - r0 < SEQUENCES && length_of(in, r) <= TL_LANES_LONG &&
               in->offsets[r + 1] - in->offsets[r0] <= ELEMENTS)
            r++;
        if (r == r0) {
            one(with, r0++);
            continue;
        }
        b->r0 = r0;
        b->count = r - r0;
        batch_of_segments(b, one, with);
        r0 = r;
    }
    if (b->stream) tl_stream_fence();
}
