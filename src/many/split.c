/* SPDX-License-Identifier: MIT
 * A sequence in parts, one in the memory of each member. Nodes and states, a few kilobytes, go
 * through the host. The elements that windows at the ends of parts need go through the host too:
 *
 *   part k - 1            |                part k                |            part k + 1
 *                   | before | before + after |          | before + after | after |
 *                            [ left  ) the windows inside the part ( right ]
 *
 * A member computes the windows inside its part in place. Elements around the ends of all parts are
 * copied to the host. The left and right windows are computed from slices of these that overlap
 * (tl_member_windows). */
#include "many.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

tally_status tl_split_check(const tl_devices *t, const char *what, int k, const void *p)
{
    assert(k >= 0 && k < t->count);
    int who;
    tally_status status = tl_devices_owner(t, p, &who);
    if (status || who < 0 || who == k) return status;
    tl_device *expected = t->member[k]->device, *other = t->member[who]->device;
    return tl_invalid(t->ctx, "%s[%d] is memory of %s: must be of %s, or of the host", what, k,
                      other->name, expected->name);
}

static tally_status slices_of(const tl_devices *t, const tally_view *parts, const tally_view *outs,
                              int count, tl_member_slice **slices)
{
    assert(count >= 1 && count <= t->count);
    int64_t at = 0;
    TL_TRY(tl_slices_new(t, count, slices));

    for (int k = 0; k < count; k++) {
        tl_member_slice *s = &(*slices)[k];
        s->member = k;
        s->x = parts[k].data;
        s->out = outs ? outs[k].data : NULL;
        s->start = at;
        s->n = parts[k].n;
        at += s->n;
    }

    return TALLY_OK;
}

tally_status tl_split_reduce(const tl_devices *t, const tl_plan *plan, const tally_view *parts,
                             int count, void *out)
{
    assert(count >= 1 && count <= t->count);
    const tl_scalar *op = plan->op;
    tl_member_slice *s;
    tl_counter all;
    tl_counter_init(&all, 0);
    tally_status status = slices_of(t, parts, NULL, count, &s);
    if (!status) status = tl_slices_push(t, TL_REDUCE, plan, s, count);
    for (int k = 0; !status && k < count; k++) tl_counter_append(&all, op, &s[k].nodes);
    free(s);
    if (status) return status;

    char result[2 * sizeof(tl_state)];
    tl_counter_lower(&all, plan, result);
    int who;
    TL_TRY(tl_devices_owner(t, out, &who));
    if (who >= 0) return tl_devices_copy(t, who, out, result, op->result_bytes);
    memcpy(out, result, op->result_bytes);
    return TALLY_OK;
}

/* Scans a sequence that has only one part. */
static tally_status scan_one(const tl_devices *t, const tl_plan *plan, int k, const tally_view *in,
                             const tally_view *out, const tally_scan_options *o)
{
    tally *m = t->member[k];
    const tl_call call = {.verb = TL_SCAN, .plan = plan, .in = in, .out = out, .scan = o};
    return tl_devices_fail(t, k, tl_member_run(m->device, m, &call));
}

tally_status tl_split_scan(const tl_devices *t, const tl_plan *plan, const tally_view *parts,
                           int count, const tally_view *outs, const tally_scan_options *o)
{
    assert(count >= 1 && count <= t->count);
    TL_FREED tl_member_slice *s = NULL;
    int some = 0, only = 0;
    TL_TRY(slices_of(t, parts, outs, count, &s));

    for (int k = 0; k < count; k++)
        if (s[k].n) only = k, some++;
    if (some < 2) return some ? scan_one(t, plan, only, &parts[only], &outs[only], o) : TALLY_OK;

    /* The nodes of the last part are computed too: they cost no time beside the others, and the
     * last result may need them. */
    TL_TRY(tl_slices_push(t, TL_REDUCE, plan, s, count));

    for (int k = 0; k < count; k++) {
        tl_scan_begin(&s[k].scan, plan, o);
        if (k) s[k].scan.done = s[k - 1].scan.done;
        if (k) tl_counter_append(&s[k].scan.done, plan->op, &s[k - 1].nodes);
        s[k].scan.nodes_known = &s[k].nodes;
    }

    return tl_slices_push(t, TL_SCAN, plan, s, count);
}

int64_t tl_split_length(int64_t start, int64_t n, int64_t all, const tally_window_options *o,
                        int64_t *first)
{
    assert(start >= 0 && n >= 0 && start + n <= all);
    int64_t from = start, to = start + n;
    if (o->edges == TALLY_EDGES_VALID) {
        if (from < o->before) from = o->before;
        if (to > all - o->after) to = all - o->after;
    }
    if (to < from) from = to = start;
    *first = from;
    return to - from;
}

/* Elements around the ends of a part, on the host: the first and the last `kept`, or all. */
typedef struct {
    int64_t start, n, kept;
    char *head, *tail;
} border;

typedef struct {
    const tl_call *call; /* in and out: the parts, and the results of each */
    const tl_scalar *op;
    int used; /* number of parts */
    int64_t all;
    border borders[TL_MEMBERS_MOST];
} sliding;

static tally_status take_border(tally *member, int k, void *data)
{
    const sliding *w = data;
    if (k >= w->used || !w->call->in[k].n) return TALLY_OK;

    border *b = &((sliding *)data)->borders[k];
    const int64_t bytes = w->op->elem_bytes,
                  wide = w->call->window->before + w->call->window->after;
    const char *x = w->call->in[k].data;
    b->kept = b->n < 2 * wide ? b->n : wide;
    const int64_t more = b->kept < b->n ? b->kept : 0;
    b->head = malloc((size_t)((b->kept + more) * bytes) + 1);
    if (!b->head)
        return tl_no_memory(member, (size_t)((b->kept + more) * bytes), "the ends of a part");
    b->tail = more ? b->head + b->kept * bytes : b->head;
    TL_TRY(tl_member_copy(member, b->head, x, b->kept * bytes));

    return tl_member_copy(member, b->tail, x + (b->n - more) * bytes, more * bytes);
}

/* Copies elements `from` to to - 1 of the sequence, all of which are around ends, to x. */
static void gather(const sliding *w, int64_t from, int64_t to, char *x)
{
    assert(from <= to && to <= w->all);
    const int64_t bytes = w->op->elem_bytes;
    for (int k = 0; k < w->used; k++) {
        const border *b = &w->borders[k];
        const int64_t low = tl_max(from, b->start), high = tl_min(to, b->start + b->n);
        if (low >= high) continue;
        const int64_t at = low - b->start;
        const char *place = high - b->start <= b->kept ? b->head + at * bytes
                                                       : b->tail + (at - b->n + b->kept) * bytes;
        memcpy(x + (low - from) * bytes, place, (size_t)((high - low) * bytes));
    }
}

/* Computes the windows of elements `from` to to - 1 of the sequence. */
static tally_status slide_at_end(const sliding *w, tally *member, int64_t from, int64_t to,
                                 char *out)
{
    assert(from >= 0);
    const tl_scalar *op = w->op;
    const tally_window_options *const o = w->call->window;
    const int64_t low = from < o->before ? 0 : from - o->before,
                  high = w->all - to < o->after ? w->all : to + o->after,
                  in_bytes = (high - low) * op->elem_bytes, bytes = (to - from) * op->result_bytes;
    if (from >= to) return TALLY_OK;

    TL_FREED char *const x = malloc((size_t)in_bytes);
    TL_FREED char *const y = malloc((size_t)bytes);
    if (!x || !y) return tl_no_memory(member, (size_t)(in_bytes + bytes), "windows");
    gather(w, low, high, x);
    TL_TRY(tl_member_windows(member, &(tl_window_part){w->call, x, low, w->all, from, to, y}));
    return tl_member_copy(member, out, y, bytes);
}

static tally_status slide(tally *member, int k, void *data)
{
    const sliding *w = data;
    const tl_scalar *op = w->op;
    const int64_t before = w->call->window->before, after = w->call->window->after;
    int64_t first;
    if (k >= w->used) return TALLY_OK;

    const border *b = &w->borders[k];
    const int64_t results = tl_split_length(b->start, b->n, w->all, w->call->window, &first),
                  last = first + results;
    char *out = w->call->out[k].data;
    if (!results) return TALLY_OK;

    int64_t from = last, to = last; /* the windows inside the part */
    if (b->n >= before + 1 + after) {
        from = b->start + before;
        to = b->start + b->n - after;
        tally_window_options whole = *w->call->window;
        whole.edges = TALLY_EDGES_VALID;
        const tally_view in = w->call->in[k],
                         result_view = tally_flat(out + (from - first) * op->result_bytes, op->out,
                                                  to - from);
        tl_call call = *w->call;
        call.in = &in, call.out = &result_view, call.window = &whole;
        TL_TRY(tl_member_run(member->device, member, &call));
    }

    TL_TRY(slide_at_end(w, member, first, from, out));
    return slide_at_end(w, member, to, last, out + (to - first) * op->result_bytes);
}

tally_status tl_split_window(const tl_devices *t, const tl_call *call, int count)
{
    assert(count >= 1 && count <= t->count);
    assert(call->window->before >= 0 && call->window->after >= 0);
    sliding w = {.call = call, .op = call->plan->op, .used = count};

    for (int k = 0; k < count; k++) {
        w.borders[k] = (border){.start = w.all, .n = call->in[k].n};
        w.all += call->in[k].n;
    }

    tally_status status = tl_devices_run(t, take_border, &w);
    if (!status) status = tl_devices_run(t, slide, &w);
    for (int k = 0; k < count; k++) free(w.borders[k].head);
    return status;
}
