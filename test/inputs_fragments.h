/* SPDX-License-Identifier: MIT
 * Parts of a problem: fragments, cut anywhere, merged in any order, through bytes or not. Part
 * of test_inputs.c. */
#ifndef TALLY_TEST_INPUTS_FRAGMENTS_H
#define TALLY_TEST_INPUTS_FRAGMENTS_H
#include "inputs_problem.h"
#include "pieces.h"

/* Elements a .. b - 1 of every sequence. */
static tally_view part_of(const tally_view *v, int64_t a, int64_t b)
{
    tally_view part = *v;
    part.n = b - a;
    part.data = (char *)v->data + a * v->stride * (int64_t)tally_dtype_size(v->dtype);
    part.valid_offset += a * v->stride;
    return part;
}

/* Of rows of the view alone, which of its elements are all there? Then a part may come without
   its bits. */
static int is_whole(const tally_view *v)
{
    for (int64_t r = 0; r < v->rows; r++)
        for (int64_t i = 0; i < v->n; i++)
            if (!bit(v, r * v->row_stride + i * v->stride)) return 0;
    return 1;
}

/* The part of a problem; without bits where nothing is left out. */
static tally_view take(const problem *c, int64_t a, int64_t b, tally_view *next)
{
    tally_view part = part_of(&c->in, a, b);
    if (part.valid && is_whole(&part)) part.valid = NULL;
    if (!c->in.next) return part;
    *next = part_of(c->in.next, a, b);
    if (next->valid && is_whole(next)) next->valid = NULL;
    part.next = next;
    return part;
}

enum { CUTS = 9 };

static void fragments(tally *ctx, const problem *c)
{
    const int64_t bytes = c->s->result_bytes, rows = c->in.rows;
    int64_t cut[CUTS + 1];
    const int parts = 1 + (int)check_below(CUTS);
    cut_up(c->in.n, parts, cut);
    tally_fragment *f[CUTS], *all = NULL, *whole = NULL;
    int order[CUTS];
    if (c->in.offsets) return;
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    for (int i = 0; i < parts; i++) {
        tally_view next;
        const tally_view part = take(c, cut[i], cut[i + 1], &next);
        if (!check_ok(ctx, tally_fragment_of_view(ctx, c->op, &part, cut[i], &f[i]), c->op))
            exit(check_finish());
        if (check_below(3) == 0) f[i] = round_trip(ctx, f[i], c->op);
    }
    shuffle(order, parts);
    all = f[order[0]];
    for (int i = 1; i < parts; i++) {
        check_ok(ctx, tally_fragment_merge(all, f[order[i]]), c->op);
        tally_fragment_free(f[order[i]]);
        if (check_below(6) == 0) all = round_trip(ctx, all, c->op);
    }
    check_ok(ctx, tally_fragment_result(all, got), c->op);
    for (int64_t r = 0; r < rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        fold(&q, 0, q.n, NULL, 0, want + r * bytes);
    }
    check_same(got, want, rows + 3, bytes, "fragments %s of %s, %lld x %lld, stride %lld, %d parts",
               c->op, tally_dtype_name(c->in.dtype), (long long)rows, (long long)c->in.n,
               (long long)c->in.stride, parts);
    /* as many bytes, however it was cut */
    check_ok(ctx, tally_fragment_of_view(ctx, c->op, &c->in, 0, &whole), c->op);
    size_t a = 0, b = 0;
    check(!tally_fragment_save(all, NULL, &a) && !tally_fragment_save(whole, NULL, &b), "save %s",
          c->op);
    check(a == b || is_whole(&c->in), "%s: %zu bytes in parts, %zu whole", c->op, a, b);
    tally_fragment_free(whole);
    tally_fragment_free(all);
}

/* A part that has all of its elements and comes without bits, and one that lacks some: either
   into the other. */
static void one_is_whole(tally *ctx)
{
    static const char *const ops[] = {"mean", "var", "first", "argmin", "sum"};
    enum { CELLS = 300, STEPS = 21 };
    for (int k = 0; k < 40; k++) {
        const char *const op = ops[k % 5];
        const int64_t cut = 1 + check_below(STEPS - 1);
        tally_operator_info info;
        tally_fragment *f[2];
        check_fill(store[0], TALLY_F32, CELLS * STEPS, TL_DATA_PLAIN);
        bits_of(0);
        memset(bitmap[0], 0xff, (size_t)((cut * CELLS + 7) / 8));
        tally_view all = tally_columns(store[0], TALLY_F32, STEPS, CELLS);
        all.valid = bitmap[0];
        tally_view part[2] = {part_of(&all, 0, cut), part_of(&all, cut, STEPS)};
        part[0].valid = NULL;
        check_ok(ctx, tally_operator(ctx, op, TALLY_F32, &info), op);
        check_ok(ctx, tally_reduce(ctx, op, &all, want), op);
        for (int i = 0; i < 2; i++)
            if (!check_ok(ctx, tally_fragment_of_view(ctx, op, &part[i], i ? cut : 0, &f[i]), op))
                return;
        const int into = k & 1;
        check_ok(ctx, tally_fragment_merge(f[into], f[!into]), op);
        check_ok(ctx, tally_fragment_result(f[into], got), op);
        check_same(got, want, CELLS, (int64_t)tally_dtype_size(info.output),
                   "%s, cut at %lld, into %d", op, (long long)cut, into);
        tally_fragment_free(f[0]);
        tally_fragment_free(f[1]);
    }
}
#endif
