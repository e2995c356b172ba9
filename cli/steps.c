/* SPDX-License-Identifier: MIT
 * steps.c - reduces a NetCDF array along a dimension some steps at a time, which are read for all
 * cells. Every cell is a sequence that grows. Nothing is read twice, and steps are still in a cache
 * when they are reduced.
 *
 *    time x lat x lon, axis 0:  times 0..7 of all cells, times 8..15 of all cells, ...
 *
 * With --by, group after group is read, so that only one group needs memory. If chunks have several
 * steps, which may be of different groups, the file is read in its order, and every cell has a
 * sequence per group.
 *
 * reduce_boxes reduces the other arrays: cells that do not fit into memory, steps with too
 * few cells for a call, or chunks that extend along the dimensions before the axis. */
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

enum {
    READ = 16 << 20, /* the most bytes of steps that are read at a time */
    BLOCK = 8,       /* but at least so many steps: streams reduce 8 at a time in place */
    CELLS_LEAST = 64 /* fewest cells in a step */
};

/* Bytes that a stream keeps for a cell: a block of steps, and a node per level of the tree. */
static int64_t kept(int64_t len, int64_t size)
{
    int levels = 3;
    while (levels < 62 && len >> levels) levels++;
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

/* The group of each step; NULL: no memory. */
static int32_t *groups_of(const groups *g)
{
    int32_t *const of = malloc((size_t)g->lines * sizeof *of + 1);
    for (int64_t k = 0; of && k < g->count; k++)
        for (int64_t i = g->offsets[k]; i < g->offsets[k + 1]; i++) of[g->order[i]] = (int32_t)k;
    return of;
}

static int open_streams(const steps *s)
{
    int code = DONE;
    for (int64_t i = 0; i < s->streams_count && !code; i++)
        code = code_of(s->j->ctx,
                       tally_stream_reduce_rows(s->j->ctx, s->j->ops.name[i % s->j->ops.all],
                                                s->in->dtype, s->l->inner, &s->streams[i]));
    return code;
}

/* The results of an operator for all cells of a group. */
static char *results_of(const steps *s, int64_t outer, int64_t group, int op)
{
    const result *const r = &s->a->results[op];
    const int64_t parts = s->g ? s->g->count : 1;
    return (char *)r->bits +
           (size_t)((outer * parts + group) * s->l->inner) * result_bytes(&r->info);
}

/* Writes the results of all streams, whose first group is `group`, unless `code` is an error. */
static int close_streams(const steps *s, int64_t outer, int64_t group, int code)
{
    for (int64_t i = 0; i < s->streams_count; i++) {
        const int op = (int)(i % s->j->ops.all);
        char *const out = results_of(s, outer, group + i / s->j->ops.all, op);
        if (!code) code = code_of(s->j->ctx, tally_stream_finish(s->streams[i], out, NULL));
        tally_stream_close(s->streams[i]);
        s->streams[i] = NULL;
    }
    return code;
}

static tally_view view_of(const steps *s, const char *box, int64_t n)
{
    return tally_columns(box, s->in->dtype, n, s->l->inner);
}

static int64_t step_bytes(const steps *s)
{
    return s->l->inner * (int64_t)tally_dtype_size(s->in->dtype);
}

/* Pushes n steps of all cells to the streams of one group. */
static int push(const steps *s, const char *box, int64_t n, tally_stream **streams)
{
    const tally_view view = view_of(s, box, n);
    int code = DONE;
    for (int k = 0; k < s->j->ops.all && !code; k++)
        code = code_of(s->j->ctx, tally_stream_push_view(streams[k], &view, NULL));
    return code;
}

/* Reads n steps of the cells with index `outer` in the dimensions before the axis: steps at ..
 * at + n - 1 of the file, or with `order` its steps order[at] .. order[at + n - 1]. */
static int read_steps(steps *s, int64_t outer, const int64_t *order, int64_t at, int64_t n)
{
    const input *const in = s->in;
    const int axis = s->l->axis;
    int64_t start[DIMS] = {0}, count[DIMS], rest = outer;
    for (int d = 0; d < in->ndim; d++) count[d] = d < axis ? 1 : in->shape[d];
    for (int d = axis - 1; d >= 0; d--) {
        start[d] = rest % in->shape[d];
        rest /= in->shape[d];
    }
    for (int64_t i = 0, run; i < n; i += run) {
        start[axis] = order ? order[at + i] : at;
        for (run = order ? 1 : n; i + run < n && order[at + i + run] == start[axis] + run;) run++;
        count[axis] = run;
        const int code = code_of(
            s->j->ctx, tally_file_read_box(in->file, start, count, s->buffer + i * step_bytes(s)));
        if (code) return code;
    }
    s->done += n;
    progress_show(s->p, s->in, s->done * s->l->inner);
    return DONE;
}

/* Reduces all steps in the order of the file. Consecutive steps of one group are one push. */
static int fold_in_order(steps *s, int64_t outer)
{
    int code = open_streams(s);
    for (int64_t at = 0; at < s->l->len && !code; at += s->now) {
        const int64_t n = s->now < s->l->len - at ? s->now : s->l->len - at;
        const int32_t *const group = s->group + at;
        code = read_steps(s, outer, NULL, at, n);
        for (int64_t i = 0, run; i < n && !code; i += run) {
            for (run = 1; i + run < n && group[i + run] == group[i];) run++;
            code = push(s, s->buffer + i * step_bytes(s), run,
                        s->streams + (int64_t)group[i] * s->j->ops.all);
        }
    }
    return close_streams(s, outer, 0, code);
}

/* Reduces one group. If all of it is read at once, no stream is needed. */
static int fold_group(steps *s, int64_t outer, int64_t group)
{
    const int64_t *const order = s->g ? s->g->order : NULL;
    int64_t at = s->g ? s->g->offsets[group] : 0;
    const int64_t end = s->g ? s->g->offsets[group + 1] : s->l->len;
    if (end - at <= s->now) {
        int code = read_steps(s, outer, order, at, end - at);
        const tally_view view = view_of(s, s->buffer, end - at);
        for (int i = 0; i < s->j->ops.all && !code; i++)
            code = code_of(s->j->ctx, tally_reduce(s->j->ctx, s->j->ops.name[i], &view,
                                                   results_of(s, outer, group, i)));
        return code;
    }
    int code = open_streams(s);
    for (int64_t n; at < end && !code; at += n) {
        n = s->now < end - at ? s->now : end - at;
        code = read_steps(s, outer, order, at, n);
        if (!code) code = push(s, s->buffer, n, s->streams);
    }
    return close_streams(s, outer, group, code);
}

/* Decides how the steps are read, and allocates memory for it. */
static int begin(steps *s, int *taken)
{
    const operators *const ops = &s->j->ops;
    const int in_order = s->g && s->in->info.chunk[s->l->axis] > 1;
    s->streams_count = ops->all * (in_order ? s->g->count : 1);
    s->now = steps_at_once(s->j->ctx, s->in, s->l, s->streams_count, s->memory);
    *taken = s->now > 0;
    for (int i = 0; i < ops->all; i++) /* reduce_boxes needs no 2 KB for each exact sum of a cell */
        if (strstr(ops->name[i], "exact")) *taken = 0;
    if (!*taken) return DONE;
    const size_t bytes = (size_t)(s->now * step_bytes(s));
    s->buffer = aligned_alloc(LARGE_PAGE, (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
    s->streams = calloc((size_t)s->streams_count, sizeof(tally_stream *));
    if (in_order) s->group = groups_of(s->g);
    large_pages(s->buffer, bytes);
    return s->buffer && s->streams && (s->group || !in_order)
               ? DONE
               : fail_memory("--axis", (int64_t)bytes);
}

int reduce_steps(steps *s, int *taken)
{
    int code = begin(s, taken);
    const int64_t parts = s->group ? 0 : s->g ? s->g->count : 1;
    for (int64_t outer = 0; outer < s->l->outer && !code && *taken; outer++) {
        if (s->group) code = fold_in_order(s, outer);
        for (int64_t k = 0; k < parts && !code; k++) code = fold_group(s, outer, k);
    }
    free(s->buffer);
    free(s->streams);
    free(s->group);
    return code;
}
