/* SPDX-License-Identifier: MIT
 * steps.c - reduces a NetCDF array along a dimension in the order of the file. Some steps at a time
 * are read for all cells, and every cell is a sequence that grows. Nothing is read twice, and steps
 * are still in a cache when they are reduced. With --by every cell has a sequence per group, and a
 * step is pushed to its group.
 *
 *    time x lat x lon, axis 0:  times 0..7 of all cells, times 8..15 of all cells, ...
 *
 * boxes() in reduce.c reduces the other arrays: cells that do not fit into memory, steps with too
 * few cells for a call, or chunks that extend along the dimensions before the axis. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum {
    READ = 16 << 20, /* the most bytes of steps that are read at a time */
    BLOCK = 8,       /* but at least so many steps: streams reduce 8 at a time in place */
    CELLS_LEAST = 64 /* fewest cells in a step */
};

/* Bytes that a stream keeps for a cell: a block of steps, and a node per level of the tree. */
static int64_t kept(int64_t steps, int64_t size)
{
    int levels = 3;
    while (levels < 62 && steps >> levels) levels++;
    return BLOCK * size + 16 * levels;
}

/* The number of steps that are read at a time; 0: this method does not apply. */
static int64_t steps_at_once(const tally *ctx, const input *in, const layout *l, int64_t streams,
                             int64_t memory)
{
    const int64_t size = (int64_t)tally_dtype_size(in->dtype), *const chunk = in->info.chunk;
    int64_t step, kept_bytes;
    if (l->inner < CELLS_LEAST || strcmp(device_of(ctx), "cpu") != 0) return 0;
    for (int d = 0; d < l->axis; d++)
        if (chunk[d] > 1 && in->shape[d] > 1) return 0;
    if (__builtin_mul_overflow(l->inner, size, &step) ||
        __builtin_mul_overflow(l->inner, kept(l->len, size), &kept_bytes) ||
        __builtin_mul_overflow(streams, kept_bytes, &kept_bytes))
        return 0;
    const int64_t most = memory / 16 < READ ? memory / 16 : READ;
    int64_t now = most / step / BLOCK * BLOCK,
            whole = chunk[l->axis] < l->len ? chunk[l->axis] : l->len;
    if (now < BLOCK) now = BLOCK;
    if (whole > now) now = whole; /* whole chunks, so that each is read once */
    if (whole > 0) now -= now % whole;
    if (now > l->len) now = l->len;
    int64_t bytes;
    if (__builtin_mul_overflow(now, step, &bytes) ||
        __builtin_add_overflow(bytes, kept_bytes, &bytes) || bytes > memory)
        return 0;
    return now;
}

static int open_streams(tally *ctx, const operators *ops, const input *in, const layout *l,
                        int64_t count, tally_stream **streams)
{
    for (int64_t i = 0; i < count; i++) {
        const char *const op = ops->name[i % ops->all];
        const tally_status status =
            tally_stream_reduce_rows(ctx, op, in->dtype, l->inner, &streams[i]);
        if (status) return fail_status(ctx, status);
    }
    return DONE;
}

/* The group of each step; NULL: no memory. */
static int32_t *groups_of(const groups *g)
{
    int32_t *const of = malloc((size_t)g->lines * sizeof *of + 1);
    for (int64_t k = 0; of && k < g->count; k++)
        for (int64_t i = g->offsets[k]; i < g->offsets[k + 1]; i++) of[g->order[i]] = (int32_t)k;
    return of;
}

typedef struct steps {
    tally *ctx;
    const operators *ops;
    const input *in;
    const layout *l;
    int32_t *group;         /* the group of each step; NULL: one group */
    tally_stream **streams; /* per group, one per operator */
    int64_t now;            /* steps that are read at a time */
    char *buffer;
} steps;

/* Pushes steps at .. at + n - 1 of all cells. Consecutive steps of one group are one push. */
static int push(const steps *s, const char *box, int64_t at, int64_t n)
{
    const int64_t step = s->l->inner * (int64_t)tally_dtype_size(s->in->dtype);
    for (int64_t i = 0, now; i < n; i += now, box += now * step) {
        const int32_t group = s->group ? s->group[at + i] : 0;
        for (now = s->group ? 1 : n; i + now < n && s->group[at + i + now] == group;) now++;
        const tally_view view = {
            (void *)(uintptr_t)box, s->in->dtype, s->l->inner, now, 1, s->l->inner, NULL};
        for (int k = 0; k < s->ops->all; k++) {
            const tally_status status =
                tally_stream_push_view(s->streams[(int64_t)group * s->ops->all + k], &view, NULL);
            if (status) return fail_status(s->ctx, status);
        }
    }
    return DONE;
}

/* Reduces the cells with index `outer` in the dimensions before the axis. */
static int fold_steps(const steps *s, int64_t outer, progress *p)
{
    const input *const in = s->in;
    const int axis = s->l->axis;
    const int64_t size = (int64_t)tally_dtype_size(in->dtype), len = s->l->len;
    int64_t start[DIMS] = {0}, count[DIMS], rest = outer;
    for (int d = 0; d < in->ndim; d++) count[d] = d < axis ? 1 : in->shape[d];
    for (int d = axis - 1; d >= 0; d--) {
        start[d] = rest % in->shape[d];
        rest /= in->shape[d];
    }
    for (int64_t at = 0; at < len; at += s->now) {
        start[axis] = at;
        count[axis] = s->now < len - at ? s->now : len - at;
        const tally_status status = tally_file_read_box(in->file, start, count, s->buffer);
        const int code = status ? fail_status(s->ctx, status) : push(s, s->buffer, at, count[axis]);
        if (code) return code;
        progress_show(p, (outer * len + at + count[axis]) * s->l->inner * size, in->n * size);
    }
    return DONE;
}

int reduce_steps(tally *ctx, const operators *ops, const input *in, answer *a, const layout *l,
                 const groups *g, int64_t memory, progress *p, int *taken)
{
    const int64_t parts = g ? g->count : 1, count = ops->all * parts;
    const int64_t now = steps_at_once(ctx, in, l, count, memory);
    *taken = 0;
    for (int i = 0; i < ops->all; i++) /* exact sums have no streams of many cells */
        if (!now || strstr(ops->name[i], "exact")) return DONE;
    const size_t bytes = (size_t)(now * l->inner) * tally_dtype_size(in->dtype);
    steps s = {.ctx = ctx, .ops = ops, .in = in, .l = l, .now = now};
    s.buffer = aligned_alloc(LARGE_PAGE, (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
    s.streams = calloc((size_t)count, sizeof *s.streams);
    if (g) s.group = groups_of(g);
    *taken = 1;
    int code =
        s.buffer && s.streams && (!g || s.group) ? DONE : fail_memory("--axis", (int64_t)bytes);
    large_pages(s.buffer, bytes);
    for (int64_t outer = 0; outer < l->outer && !code; outer++) {
        code = open_streams(s.ctx, ops, in, l, count, s.streams);
        if (!code) code = fold_steps(&s, outer, p);
        for (int64_t i = 0; i < count; i++) {
            const result *const r = &a->results[i % ops->all];
            char *const out =
                (char *)r->bits +
                (size_t)((outer * parts + i / ops->all) * l->inner) * result_bytes(&r->info);
            const tally_status status =
                code ? TALLY_OK : tally_stream_finish(s.streams[i], out, NULL);
            if (status) code = fail_status(s.ctx, status);
            tally_stream_close(s.streams[i]);
            s.streams[i] = NULL;
        }
    }
    free(s.buffer);
    free(s.streams);
    free(s.group);
    return code;
}
