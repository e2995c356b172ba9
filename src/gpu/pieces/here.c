/* SPDX-License-Identifier: MIT
 * Slabs in device memory that begin at any index: parts of a sequence that lies on several devices,
 * pushes of streams, fragments.
 *
 *   fold   |head|   node   |       node       |   node   | node |tail|
 *          One launch for each maximal aligned node of the slab. The processors fold the head
 *          and the tail, which have only nodes of less than 2^SMALL_LOG elements.
 *   scan   |head|  piece   |      piece       |        piece         |
 *          A piece begins at a multiple of a power of two that is not below its length, so
 *          kernels that count from its first element use nodes of the order. */
#include "pieces.h"
#include <stdlib.h>
#include <string.h>

enum {
    SMALL_LOG = 14,
    SMALL = 1 << SMALL_LOG,
    NODES = 2 * (TL_MAX_LEVELS - SMALL_LOG) /* max number of the other nodes */
};

/* Number of elements before the first multiple of SMALL and after the last one. */
typedef struct {
    int64_t head, tail;
} ends;

static ends ends_of(int64_t at, int64_t n)
{
    ends e = {-at & (SMALL - 1), 0};
    if (e.head > n) e.head = n;
    e.tail = (at + n) & (SMALL - 1);
    if (e.tail > n - e.head) e.tail = n - e.head;
    return e;
}

/* Provides `bytes` bytes of page-locked memory that no work of the device uses. */
static tally_status locked_memory(tl_gpu_device *d, tally *ctx, size_t bytes, char **room)
{
    tally_status status = d->stream ? d->gpu->calls->wait(d->gpu, ctx) : TALLY_OK;
    if (!status) status = tl_stage_room(d, ctx, &d->small, bytes);
    *room = status ? NULL : (char *)(uintptr_t)d->small.address;
    return status;
}

/* Issues a copy to `to` of the `bytes` bytes that begin `from` bytes after x. */
static tally_status issue_copy(tl_gpu_device *d, tally *ctx, char *to, const char *x, int64_t from,
                               int64_t bytes)
{
    tl_memory memory;
    size_t offset;
    if (!bytes) return TALLY_OK;
    if (!d->gpu->calls->owns(d->gpu, x + from, &memory, &offset))
        return tl_fail(ctx, TALLY_INVALID, "x is memory of %s, and %lld bytes after it are not",
                       d->name, (long long)from);
    tl_clock_begin(d, ctx, TL_RUN);
    tally_status status =
        d->gpu->calls->copy_out(d->gpu, ctx, TL_RUN, to, &memory, offset, (size_t)bytes);
    tl_clock_end(d, ctx, TL_RUN, TL_TIME_FROM, (size_t)bytes);
    return status;
}

tally_status tl_here_fold(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const void *x,
                          int64_t n, tl_counter *c)
{
    const tl_scalar *op = plan->op;
    const ends e = ends_of(c->end, n);
    const int64_t inner = n - e.head - e.tail, elem = op->elem_bytes;
    unsigned char level[NODES];
    tl_memory states = {0};
    int count = 0;
    char *head;
    tally_status status = locked_memory(
        d, ctx, (size_t)((e.head + e.tail) * elem) + (size_t)NODES * op->state_bytes, &head);
    char *const tail = tl_offset(head, e.head * elem), *const nodes =
                                                           tl_offset(tail, e.tail * elem);
    if (!status) status = issue_copy(d, ctx, head, x, 0, e.head * elem);
    if (!status) status = issue_copy(d, ctx, tail, x, (n - e.tail) * elem, e.tail * elem);
    if (!status && inner) {
        const tally_view in = tally_flat((const char *)x + e.head * elem, op->dtype, inner);
        status = tl_gpu_take(d, ctx, (size_t)NODES * op->state_bytes, &states);
        if (!status)
            status = tl_along_nodes(d, ctx, plan, &in, c->end + e.head, &states, level, &count);
        if (!status)
            status = d->gpu->calls->copy_out(d->gpu, ctx, TL_RUN, nodes, &states, 0,
                                             (size_t)count * op->state_bytes);
    }
    tally_status waited = d->gpu->calls->wait(d->gpu, status ? NULL : ctx);
    if (!status) status = waited;
    tl_gpu_give(d, &states);
    if (!status && e.head) status = tl_device_cpu.slab(d->cpu, ctx, plan, head, e.head, c);
    for (int k = 0; !status && k < count; k++) {
        tl_state node = {{0}};
        memcpy(&node, nodes + (size_t)k * op->state_bytes, op->state_bytes);
        tl_counter_push(c, op, level[k], &node);
    }
    if (!status && e.tail) status = tl_device_cpu.slab(d->cpu, ctx, plan, tail, e.tail, c);
    d->on_processors += status ? 0 : e.head + e.tail;
    return status;
}

/* Scans the first `head` elements on the processors. */
static tally_status scan_head(tl_gpu_device *d, tally *ctx, tl_scan *s, const char *x, int64_t head,
                              char *out)
{
    const tl_scalar *op = s->plan->op;
    const size_t bytes = (size_t)(head * op->result_bytes);
    char *copy;
    tl_memory memory;
    size_t offset;
    tally_status status = locked_memory(d, ctx, (size_t)(head * op->elem_bytes) + bytes, &copy);
    char *const results = tl_offset(copy, head * op->elem_bytes);
    if (!status) status = issue_copy(d, ctx, copy, x, 0, head * op->elem_bytes);
    tally_status waited = d->gpu->calls->wait(d->gpu, status ? NULL : ctx);
    if (!status) status = waited;
    if (!status) status = tl_device_cpu.scan_push(d->cpu, ctx, s, copy, head, results);
    if (!status && d->gpu->calls->owns(d->gpu, out, &memory, &offset)) {
        status = d->gpu->calls->write(d->gpu, ctx, &memory, offset, results, bytes);
        waited = d->gpu->calls->wait(d->gpu, status ? NULL : ctx);
        if (!status) status = waited;
    }
    d->on_processors += status ? 0 : head;
    return status;
}

/* Scans a piece of n elements. *next: the first of own's nodes that belongs to it. room: memory for
 * a state and a result. */
static tally_status scan_piece(tl_gpu_device *d, tally *ctx, tl_scan *s, const tl_counter *own,
                               int *next, const char *x, int64_t n, char *out, char *room)
{
    const tl_scalar *op = s->plan->op;
    const int64_t at = s->done.end, end = at + n;
    const tl_state *const init = s->seeded ? &s->init : NULL;
    const tally_scan_options o = {.exclusive = s->exclusive};
    const tally_view in = tally_flat(x, op->dtype, n), to = tally_flat(out, op->out, n);
    tl_piece piece = {.end = TL_PIPE_WAITS, .origin = at};
    tl_state v;
    tl_memory memory;
    size_t offset;
    if (tl_counter_fold(&s->done, op, init, &v)) piece.before = memcpy(room, &v, op->state_bytes);
    tally_status status = tl_gpu_scan_whole(d, ctx, s->plan, &piece, &in, &to, &o);
    while (!status && s->done.end < end) {
        tl_counter_push(&s->done, op, own->level[*next], &own->node[*next]);
        ++*next;
    }
    /* A full piece is a right sibling: its last result combines nodes before the piece (S(end)),
     * which its kernels cannot know. */
    if (status || s->exclusive || !at || n != at - tl_parent(at)) return status;
    tl_counter_fold(&s->done, op, init, &v);
    op->lower(&v, end, 0, s->plan->par, room + sizeof(tl_state));
    if (!d->gpu->calls->owns(d->gpu, out + (n - 1) * op->result_bytes, &memory, &offset))
        return TALLY_OK;
    return d->gpu->calls->write(d->gpu, ctx, &memory, offset, room + sizeof(tl_state),
                                op->result_bytes);
}

tally_status tl_here_scan(tl_gpu_device *d, tally *ctx, tl_scan *s, const void *x, int64_t n,
                          void *out)
{
    enum { STEP = 2 * sizeof(tl_state) };
    const tl_scalar *op = s->plan->op;
    const int64_t from = s->done.end, head = ends_of(from, n).head;
    tl_counter *mine = s->ahead ? NULL : malloc(sizeof *mine);
    const tl_counter *own = s->ahead ? s->ahead : mine;
    char *room;
    int next = 0;
    tally_status status = own ? TALLY_OK : tl_no_memory(ctx, sizeof *mine, "the nodes of a slab");
    if (!status && mine) {
        tl_counter_init(mine, from);
        status = tl_here_fold(d, ctx, s->plan, x, n, mine);
    }
    if (!status && head) status = scan_head(d, ctx, s, x, head, out);
    if (!status)
        for (int64_t at = from; at < s->done.end; at += (int64_t)1 << own->level[next++]) {
        }
    if (!status) status = locked_memory(d, ctx, (size_t)TL_MAX_LEVELS * STEP, &room);
    for (int k = 0; !status && s->done.end < from + n; k++) {
        const int64_t at = s->done.end, left = from + n - at, most = at ? at - tl_parent(at) : left;
        status = scan_piece(d, ctx, s, own, &next, (const char *)x + (at - from) * op->elem_bytes,
                            left < most ? left : most, (char *)out + (at - from) * op->result_bytes,
                            room + k * STEP);
    }
    tally_status waited = d->gpu->calls->wait(d->gpu, status ? NULL : ctx);
    free(mine);
    return status ? status : waited;
}
