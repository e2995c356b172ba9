/* SPDX-License-Identifier: MIT
 * reduce_groups.c - tally reduce --by: the results of each group, and shares of the elements. */
#define _GNU_SOURCE
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

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

void reduce_places(const job *j, const answer *a, int64_t c)
{
    for (int i = 0; j->ops.place && i < j->ops.count; i++)
        reduce_result(j, a, c, i)->places = reduce_result(j, a, c, j->ops.place[i])->bits;
}

/* Turns counts into shares of the elements. */
void reduce_shares(const operators *ops, int i, result *r, int64_t count, const lengths *n)
{
    if (!ops->share[i]) return;
    int64_t *const counts = r->bits;
    for (int64_t k = 0; k < count; k++) {
        const int64_t group = n->offsets ? k / n->inner % n->groups : 0,
                      all = n->offsets ? n->offsets[group + 1] - n->offsets[group] : n->len,
                      part = ops->share[i] == 'v' ? counts[k] : all - counts[k];
        const double share = (double)part / (double)all;
        memcpy(&counts[k], &share, sizeof share);
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
            const tally_view own = second_for(&part, &j->ops, i, &view);
            if (!code && f.streams)
                code = folded_results(&f, &g, c, i, result_bytes(&r->info), r->bits);
            else if (!code)
                code = code_of(j->ctx, tally_reduce(j->ctx, j->ops.name[i], &own, r->bits));
        }
        second_close(&part);
        if (!code) reduce_places(j, a, c);
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
