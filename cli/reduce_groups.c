/* SPDX-License-Identifier: MIT
 * reduce_groups.c - tally reduce --by: the results of each group, and shares of the elements. Where
 * that is possible, groups are reduced while the file is read: each column and operator has a
 * stream of groups, and lines are not stored.
 *
 *    Oslo,3   Rome,21   Oslo,4     codes 0 1 0, values 3 21 4  -->  streams of sum, max, ... */
#define _GNU_SOURCE
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups whose lines are not stored ---- */

typedef struct folded {
    tally *ctx;
    const operators *ops;
    tally_dtype dtype;
    size_t size;
    int64_t width, lines;   /* values in a line; lines that were read */
    tally_stream **streams; /* per column, one per operator; NULL: use groups_open instead */
} folded;

/* most bytes and lines per read; most streams in all */
enum { BYTES = 1 << 19, LINES = 1 << 16, STREAMS = 1 << 12 };

static int streams_open(folded *f)
{
    const int64_t count = f->width * f->ops->all;
    int code = DONE;
    f->streams = memory_for(&code, "--by", count, sizeof(tally_stream *));
    for (int64_t k = 0; k < count && !code; k++)
        code = code_of(f->ctx, tally_stream_reduce_groups(f->ctx, f->ops->name[k % f->ops->all],
                                                          f->dtype, &f->streams[k]));
    return code;
}

/* Pushes `count` lines of values to the streams of their columns. one: memory for one column. */
static int push(const folded *f, const char *values, const int32_t *codes, int64_t count,
                int64_t known_times, char *one)
{
    int code = DONE;
    for (int64_t c = 0; c < f->width && !code; c++) {
        if (f->width > 1) layout_gather(values, count, f->width, c, f->size, one);
        for (int i = 0; i < f->ops->all && !code; i++)
            code = code_of(f->ctx, tally_stream_push_groups(f->streams[c * f->ops->all + i],
                                                            f->width > 1 ? one : values, codes,
                                                            count, known_times));
    }
    return code;
}

/* Reads the whole file; or nothing, if this method does not apply. Call folded_close also after a
 * failure. */
static int folded_read(folded *f, input *in, const operators *ops)
{
    memset(f, 0, sizeof *f);
    f->ctx = in->ctx;
    f->ops = ops;
    f->dtype = in->dtype;
    f->size = tally_dtype_size(in->dtype);
    f->width = in->columns ? in->columns : 1;
    if (in->data || in->timed || !in->info.key_columns || strcmp(device_of(in->ctx), "cpu") != 0 ||
        f->width > STREAMS / ops->all)
        return DONE;
    int64_t most = BYTES / (int64_t)f->size / f->width;
    most = most < 1 ? 1 : most < LINES ? most : LINES;
    int code = DONE;
    char *const values = memory_for(&code, "--by", 2 * most * f->width, f->size);
    int32_t *const codes = memory_for(&code, "--by", most, sizeof *codes);
    if (!code) code = streams_open(f);
    for (int64_t got = 1; !code && got;) {
        code = code_of(in->ctx, tally_file_read_by(in->file, values, codes, most * f->width, &got));
        const int64_t count = got / f->width;
        if (!code)
            code = push(f, values, codes, count, tally_file_groups(in->file),
                        values + (size_t)(most * f->width) * f->size);
        f->lines += count;
    }
    free(values);
    free(codes);
    return code;
}

/* Writes the results of a column and operator, of `bytes` bytes each, in the order of g. Call it
 * once for each. */
static int folded_results(folded *f, const groups *g, int64_t column, int op, size_t bytes,
                          char *out)
{
    tally_stream **const stream = &f->streams[column * f->ops->all + op];
    int code = DONE;
    char *const all = memory_for(&code, "the results", g->count, bytes);
    if (!code) code = code_of(f->ctx, tally_stream_finish(*stream, all, NULL));
    for (int64_t k = 0; k < g->count && !code; k++)
        memcpy(out + (size_t)k * bytes, all + (size_t)g->shown[k] * bytes, bytes);
    free(all);
    tally_stream_close(*stream);
    *stream = NULL;
    return code;
}

static void folded_close(folded *f)
{
    for (int64_t i = 0; f->streams && i < f->width * f->ops->all; i++)
        tally_stream_close(f->streams[i]);
    free(f->streams);
    memset(f, 0, sizeof *f);
}

/* ---- groups ---- */

/* OP.COLUMN, with the column's number from 1 if it has no name. */
static char *column_name(const input *in, const char *op, int64_t column)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)column + 1);
    const char *const of = in->info.columns ? in->info.columns[column] : number;
    char *name;
    return asprintf(&name, "%s.%s", op, of) < 0 ? NULL : name;
}

/* The result of operator i for column c. Results that are not printed come last. */
static result *reduce_result(const job *j, const answer *a, int64_t c, int i)
{
    const int shown = j->ops.count, more = j->ops.all - shown;
    return &a->results[i < shown ? c * shown + i : a->ops + c * more + i - shown];
}

void reduce_indexes(const job *j, const answer *a, int64_t c)
{
    for (int i = 0; j->ops.index_of && i < j->ops.count; i++)
        reduce_result(j, a, c, i)->indexes = reduce_result(j, a, c, j->ops.index_of[i])->bits;
}

void reduce_shares(const operators *ops, int i, result *r, int64_t count, const lengths *n)
{
    if (!ops->share[i]) return;
    int64_t *const counts = r->bits;
    for (int64_t k = 0; k < count; k++) {
        const int64_t group = n->offsets ? k / n->inner % n->groups : 0,
                      all = n->offsets ? n->offsets[group + 1] - n->offsets[group] : n->len,
                      part = ops->share[i] == 'v' ? counts[k] : all - counts[k];
        const double share = all ? (double)part / (double)all : __builtin_nan("");
        memcpy(&counts[k], &share, sizeof share);
        /* a share has a value if there are elements, even if none of them is valid */
        if (all && r->indexes) ((int64_t *)r->indexes)[k] = 0;
    }
    r->info.output = TALLY_F64;
}

/* For --by: the results of each group, per operator, or with several columns of values per column
 * and operator. */
int reduce_groups(const job *j, input *in, answer *a)
{
    groups g = {0};
    folded f = {0};
    const size_t size = tally_dtype_size(in->dtype);
    int by_size = 0; /* shares need the sizes of the groups */
    for (int i = 0; i < j->ops.count; i++) by_size |= j->ops.share[i];
    int code = j->beside.on || by_size ? DONE : folded_read(&f, in, &j->ops);
    if (!code) code = groups_open(&g, in, j->o);
    a->count = g.count;
    a->per = "group";
    if (!code) code = groups_names(&g, in, a);
    char *const dense = memory_for(&code, "the values of the groups", g.lines, size);
    if (!code) large_pages(dense, (size_t)g.lines * size);
    a->ops = j->ops.count * (int)g.width;
    a->width = g.width;
    a->all = j->ops.all * (int)g.width;
    a->results = memory_for(&code, "the results", a->all, sizeof *a->results);
    for (int64_t c = 0; c < g.width && !code; c++) {
        tally_view view, next;
        second part = {.on = 0};
        code = groups_take(&g, in, c, dense, &view);
        if (!code && j->beside.on) code = second_group(&j->beside, &g, c, &part);
        second_view(&part, dense, &view, &next);
        for (int i = 0; i < j->ops.all && !code; i++) {
            result *const r = reduce_result(j, a, c, i);
            r->op = i < j->ops.count ? j->ops.shown[i] : j->ops.name[i];
            if (g.width > 1 && !(r->op = r->name = column_name(in, r->op, c)))
                code = fail_memory("the results", c);
            if (!code) code = result_open(r, j->ctx, j->ops.name[i], j->beside.dtype, a->count);
            const tally_view operand = second_for(&part, &j->ops, i, &view);
            if (!code && f.streams)
                code = folded_results(&f, &g, c, i, result_bytes(&r->info), r->bits);
            else if (!code)
                code = code_of(j->ctx, tally_reduce(j->ctx, j->ops.name[i], &operand, r->bits));
        }
        second_close(&part);
        if (!code) reduce_indexes(j, a, c);
        const lengths n = {0, g.offsets, 1, g.count};
        for (int i = 0; i < j->ops.count && !code; i++)
            reduce_shares(&j->ops, i, reduce_result(j, a, c, i), a->count, &n);
    }
    in->n += f.lines * g.width;
    in->shape[0] += f.lines;
    free(dense);
    groups_close(&g);
    folded_close(&f);
    return code;
}
