/* SPDX-License-Identifier: MIT
 * The verbs on whole views: reduce, scan, window, and windows of any ranges. Part of
 * test_inputs.c. */
#ifndef TALLY_TEST_INPUTS_VERBS_H
#define TALLY_TEST_INPUTS_VERBS_H
#include "inputs_problem.h"

static void reduce(tally *ctx, const problem *c)
{
    memset(marks, 0x5a, sizeof marks);
    const int64_t bytes = c->s->result_bytes;
    void *const to = give_results(ctx, c);
    if (!check_ok(ctx, tally_reduce(ctx, c->op, &c->given, to), c->op)) return;
    take_results(ctx, c);
    check_road(ctx, c, 0);
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        fold(&q, 0, q.n, NULL, 0, want + r * bytes);
        set_mark(5 + r);
    }
    check_ok(ctx, tally_reduce_valid(ctx, c->op, &c->in, marks[0], 5), c->op);
    check_same(marks[0], marks[1], sizeof marks[0], 1, "validity of reduce %s of %s, %lld x %lld",
               c->op, tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n);
    check_same(got, want, c->in.rows + 3, bytes, "reduce %s of %s, %lld x %lld, stride %lld", c->op,
               tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n,
               (long long)c->in.stride);
}

static void scan(tally *ctx, const problem *c)
{
    tally_scan_options o = {(int)check_below(2), (int)check_below(3) == 0, NULL};
    char init[16];
    check_fill(init, c->s->out, 1, TL_DATA_HOSTILE);
    if (c->s->seedable && check_below(2)) o.init = init;
    const tally_view out = results(c, c->in.n);
    tally_view where = out;
    where.data = give_results(ctx, c), where.offsets = c->given.offsets;
    if (!check_ok(ctx, tally_scan(ctx, c->op, &c->given, &where, &o), c->op)) return;
    take_results(ctx, c);
    check_road(ctx, c, o.reverse && c->in.offsets);
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, o.reverse);
        for (int64_t i = 0; i < q.n; i++) {
            fold(&q, 0, i + !o.exclusive, o.init, 0, line);
            put(c, &out, r, o.reverse ? q.n - 1 - i : i, line);
        }
    }
    check_same(marks[0], marks[1], sizeof marks[0], 1, "validity of scan %s of %s", c->op,
               tally_dtype_name(c->in.dtype));
    check_same(got, want, (int64_t)sizeof got, 1,
               "scan %s of %s, %lld x %lld, stride %lld to %lld, options %d %d %d", c->op,
               tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n,
               (long long)c->in.stride, (long long)out.stride, o.exclusive, o.reverse,
               o.init != NULL);
}

/* Any ranges of a sequence. */
static void window_ranges(tally *ctx, const problem *c)
{
    static int64_t start[700], end[700];
    const int64_t results = check_below(600), n = c->in.n,
                  least = check_below(2) ? 0 : check_below(9);
    if (c->in.rows != 1 || c->in.offsets) return;
    const int strided = (int)check_below(3) == 0;
    tally_view out = {got, c->s->out, 1, results, results, 1 + strided};
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    for (int64_t r = 0; r < results; r++) {
        start[r] = check_below(n + 1);
        end[r] = start[r] + check_below(check_below(2) ? 9 : n + 1);
        if (end[r] > n) end[r] = n;
        if (r && check_below(4) == 0) start[r] = start[r - 1], end[r] = end[r - 1];
    }
    if (!check_ok(ctx, tally_window_ranges(ctx, c->op, &c->in, start, end, results, &out, least),
                  c->op))
        return;
    const sequence q = bring(&c->in, c->s, c->p, 0, 0);
    for (int64_t r = 0; r < results; r++) {
        fold(&q, start[r], end[r] - start[r], NULL, least, line);
        put(c, &out, 0, r, line);
    }
    check_same(got, want, (int64_t)sizeof got, 1,
               "ranges %s of %s, %lld, stride %lld to %lld, min_count %lld", c->op,
               tally_dtype_name(c->in.dtype), (long long)n, (long long)c->in.stride,
               (long long)out.stride, (long long)least);
}

static void window(tally *ctx, const problem *c)
{
    tally_window_options o = {.before = check_size(200),
                              .after = check_below(3) ? 0 : check_below(9)};
    o.edges = (tally_edges)check_below(c->in.offsets ? 2 : 3);
    if (check_below(2)) o.min_count = check_below(o.before + o.after + 2);
    if (check_below(6) == 0 && !c->in.offsets) o.step = 1 + check_below(5);
    const int64_t shift = check_below(4)   ? 0
                          : check_below(2) ? -o.after - check_below(20) - 1
                                           : o.before + 1 + check_below(20);
    o.before -= shift, o.after += shift; /* all of it before its position, or after it */
    const tally_view out = results(c, c->in.offsets ? 0 : tally_window_length(c->in.n, &o));
    tally_view where = out;
    where.data = give_results(ctx, c), where.offsets = c->given.offsets;
    if (!check_ok(ctx, tally_window(ctx, c->op, &c->given, &where, &o), c->op)) return;
    take_results(ctx, c);
    check_road(ctx, c, o.step > 1 || o.before < 0 || o.after < 0);
    const int64_t step = o.step > 1 ? o.step : 1;
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        int64_t number = 0, to = 0;
        for (int64_t i = 0; i < q.n; i++) {
            const int full = i - o.before >= 0 && i + o.after < q.n;
            if (!full && o.edges == TALLY_EDGES_VALID) continue;
            if (number++ % step) continue;
            window_at(&q, &o, i, line);
            put(c, &out, r, to++, line);
        }
    }
    check_same(marks[0], marks[1], sizeof marks[0], 1, "validity of window %s of %s", c->op,
               tally_dtype_name(c->in.dtype));
    check_same(got, want, (int64_t)sizeof got, 1,
               "window %s of %s, %lld x %lld, stride %lld, %lld + 1 + %lld, edges %d, min_count "
               "%lld, step %lld",
               c->op, tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n,
               (long long)c->in.stride, (long long)o.before, (long long)o.after, (int)o.edges,
               (long long)o.min_count, (long long)o.step);
}
#endif
