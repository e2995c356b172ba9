/* SPDX-License-Identifier: MIT
 * Fragments: made of slabs of a sequence, merged in any order, with gaps until the last one is there.
 * fragment_bytes.c has their byte string. */
#include "fragment.h"
#include "context/user.h"
#include "law/fp.h"
#include <stdlib.h>
#include <string.h>

tally_status tl_fragment_new(tally *ctx, const char *op, tally_dtype dtype, int64_t start, tally_fragment **fragment)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!fragment) return tl_fail(ctx, TALLY_INVALID, "fragment is NULL: must point to where the fragment goes");
    *fragment = NULL;
    tl_plan plan;
    tally_status status = tl_plan_of_host(ctx, op, dtype, &plan);
    if (status) return status;
    if (strlen(op) >= TL_FRAGMENT_NAME)
        return tl_fail(ctx, TALLY_INVALID, "op is '%.60s': a fragment's operator has at most %d characters", op,
                       TL_FRAGMENT_NAME - 1);
    tally_fragment *f = malloc(sizeof *f);
    if (!f) return tl_no_memory(ctx, sizeof *f, "a fragment");
    *f = (tally_fragment){.ctx = ctx, .plan = plan, .dtype = dtype, .start = start};
    strcpy(f->op, op);
    *fragment = f;
    return TALLY_OK;
}

tally_status tally_fragment_make(tally *ctx, const char *op, tally_dtype dtype, const void *x, int64_t start, int64_t n,
                                 tally_fragment **fragment)
{
    if (fragment) *fragment = NULL;
    if (start < 0 || n < 0 || start >> 61 || n >> 61)
        return tl_fail(ctx, TALLY_INVALID, "start %lld and n %lld: must be 0..2^61 - 1", (long long)start,
                       (long long)n);
    if (n > 0 && !x) return tl_fail(ctx, TALLY_INVALID, "x is NULL: must point to %lld elements", (long long)n);
    tally_status status = tl_fragment_new(ctx, op, dtype, start, fragment);
    if (status) return status;
    tally_fragment *f = *fragment;
    int64_t bytes;
    if (__builtin_mul_overflow(n, (int64_t)f->plan.op->elem_bytes, &bytes)) {
        status = tl_fail(ctx, TALLY_INVALID, "n is %lld: its elements are more bytes than 2^63", (long long)n);
    } else {
        tl_counter nodes;
        tl_counter_init(&nodes, start);
        tl_fp fp = tl_fp_enter();
        status = ctx->device->calls->slab(ctx->device, ctx, &f->plan, x, n, &nodes);
        tl_fp_leave(fp);
        if (!status && !tl_slabs_append(&f->slabs, &nodes)) status = tl_no_memory(ctx, sizeof nodes, "a fragment");
    }
    if (status) {
        tally_fragment_free(f);
        *fragment = NULL;
    }
    return status;
}

tally_status tally_fragment_merge(tally_fragment *left, const tally_fragment *right)
{
    int64_t i, j;
    if (!left || !right) return tl_fail(NULL, TALLY_INVALID, "left or right is NULL: must be fragments");
    if (left->dtype != right->dtype || !tl_user_same(left->plan.op, right->plan.op) ||
        left->plan.par.value != right->plan.par.value)
        return tl_fail(left->ctx, TALLY_INVALID, "left is %s of %s and right is %s of %s: must be the same", left->op,
                       tally_dtype_name(left->dtype), right->op, tally_dtype_name(right->dtype));
    if (tl_slabs_overlap(&left->slabs, &right->slabs, &i, &j)) {
        const tl_slab *a = left->slabs.slab[i], *b = right->slabs.slab[j];
        return tl_fail(left->ctx, TALLY_INVALID, "left has [%lld, %lld) and right has [%lld, %lld): must not overlap",
                       (long long)a->start, (long long)a->end, (long long)b->start, (long long)b->end);
    }
    tl_fp fp = tl_fp_enter();
    const int good = tl_slabs_join(&left->slabs, &right->slabs, left->plan.op);
    tl_fp_leave(fp);
    return good ? TALLY_OK : tl_no_memory(left->ctx, right->slabs.count * (int64_t)sizeof(tl_counter), "the merge");
}

/* The first range that is not there, before the last that is. Returns 0 if all from 0 on is there. */
static int first_gap(const tally_fragment *f, int64_t *start, int64_t *end)
{
    const tl_slabs *s = &f->slabs;
    *start = s->count && !s->slab[0]->start ? s->slab[0]->end : 0;
    const int64_t next = *start ? 1 : 0;
    *end = next < s->count ? s->slab[next]->start : s->count ? *start : f->start;
    return *end > *start;
}

tally_status tl_fragment_whole(tally *ctx, const tally_fragment *f, tl_counter *c)
{
    int64_t start, end;
    if (first_gap(f, &start, &end))
        return tl_fail(ctx, TALLY_INVALID,
                       "the fragment lacks [%lld, %lld): only one that has every element from 0 on has a result",
                       (long long)start, (long long)end);
    tl_counter_init(c, 0);
    if (f->slabs.count) tl_slabs_counter(f->slabs.slab[0], c);
    return TALLY_OK;
}

tally_status tally_fragment_result(const tally_fragment *f, void *out)
{
    if (!f) return tl_fail(NULL, TALLY_INVALID, "fragment is NULL");
    if (!out) return tl_fail(f->ctx, TALLY_INVALID, "out is NULL: must have room for one result");
    tl_counter c;
    tl_state s;
    const tally_status status = tl_fragment_whole(f->ctx, f, &c);
    if (status) return status;
    tl_fp fp = tl_fp_enter();
    if (tl_counter_fold(&c, f->plan.op, NULL, &s))
        f->plan.op->lower(&s, c.end, 0, f->plan.par, out);
    else
        f->plan.op->empty(f->plan.par, out);
    tl_fp_leave(fp);
    return TALLY_OK;
}

void tally_fragment_range(const tally_fragment *f, int64_t *start, int64_t *end)
{
    const tl_slabs *s = f ? &f->slabs : NULL;
    if (start) *start = !f ? 0 : s->count ? s->slab[0]->start : f->start;
    if (end) *end = !f ? 0 : s->count ? s->slab[s->count - 1]->end : f->start;
}

int64_t tally_fragment_ranges(const tally_fragment *f, int64_t first, int64_t count, int64_t *starts, int64_t *ends)
{
    const int64_t all = f ? f->slabs.count : 0;
    for (int64_t i = 0; i < count && first >= 0 && first + i < all; i++) {
        if (starts) starts[i] = f->slabs.slab[first + i]->start;
        if (ends) ends[i] = f->slabs.slab[first + i]->end;
    }
    return all;
}

void tally_fragment_about(const tally_fragment *f, tally_fragment_info *info)
{
    *info = (tally_fragment_info){0};
    if (!f) return;
    info->op = f->op;
    info->dtype = f->dtype;
    info->ranges = f->slabs.count;
    for (int64_t i = 0; i < f->slabs.count; i++) {
        info->elements += f->slabs.slab[i]->end - f->slabs.slab[i]->start;
        info->nodes += f->slabs.slab[i]->count;
    }
}

void tally_fragment_free(tally_fragment *f)
{
    if (!f) return;
    tl_slabs_free(&f->slabs);
    free(f);
}
