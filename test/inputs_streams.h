/* SPDX-License-Identifier: MIT
 * Streams and fragments of views with validity or two inputs. Part of test_inputs.c. */
#ifndef TALLY_TEST_INPUTS_STREAMS_H
#define TALLY_TEST_INPUTS_STREAMS_H

#include "inputs_problem.h"
#include "parts.h"

/* Parts of a problem: fragments, cut anywhere, merged in any order, through bytes or not. Part
 * of test_inputs.c. */

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

/* Streams that take a problem in parts, some of them after a fragment. Part of test_inputs.c. */

static tally_stream *open_stream(tally *ctx, const problem *c, const tally_scan_options *o,
                                 int many)
{
    tally_stream *s = NULL;
    const tally_dtype d = c->s->dtype;
    const tally_status status = o && many ? tally_stream_scan_rows(ctx, c->op, d, c->in.rows, o, &s)
                                : o       ? tally_stream_scan(ctx, c->op, d, o, &s)
                                : many    ? tally_stream_reduce_rows(ctx, c->op, d, c->in.rows, &s)
                                          : tally_stream_reduce(ctx, c->op, d, &s);
    if (!check_ok(ctx, status, c->op)) exit(check_finish());
    return s;
}

/* Pushes of parts, some of them by a fragment before; o: of a scan, NULL: a reduction. */
static void streams(tally *ctx, const problem *c, const tally_scan_options *o)
{
    const int64_t bytes = c->s->result_bytes, rows = c->in.rows;
    const int many = rows != 1 || check_below(3) == 0, resumes = check_below(4) == 0;
    int64_t cut[CUTS + 1];
    const int parts = 1 + (int)check_below(CUTS);
    cut_up(c->in.n, parts, cut);
    if (c->in.offsets) return;
    tally_stream *s = open_stream(ctx, c, o, many);
    tally_view out = results(c, c->in.n);
    out.valid = NULL; /* streams write no bits */
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    for (int i = 0; i < parts; i++) {
        tally_view next, to = out;
        const tally_view part = take(c, cut[i], cut[i + 1], &next);
        to.n = part.n;
        to.data = got + cut[i] * out.stride * bytes;
        if (!i && resumes) {
            tally_fragment *f = NULL;
            check_ok(ctx, tally_fragment_of_view(ctx, c->op, &part, 0, &f), c->op);
            check_ok(ctx, tally_stream_resume(s, f), c->op);
            tally_fragment_free(f);
        } else if (!many && !part.valid && !part.next && part.stride == 1 && check_below(2)) {
            if (out.stride != 1) break;
            check_ok(ctx, tally_stream_push(s, part.data, part.n, o ? to.data : NULL, NULL), c->op);
        } else {
            check_ok(ctx, tally_stream_push_view(s, &part, o ? &to : NULL), c->op);
        }
        if (i == parts - 1) {
            check_ok(ctx, tally_stream_finish(s, o ? NULL : got, NULL), c->op);
            for (int64_t r = 0; r < rows; r++) {
                const sequence q = bring(&c->in, c->s, c->p, r, 0);
                if (!o) fold(&q, 0, q.n, NULL, 0, want + r * bytes);
                for (int64_t k = 0; o && k < q.n; k++) {
                    fold(&q, 0, k + !o->exclusive, o->init, 0, line);
                    if (k >= cut[1] || !resumes) put(c, &out, r, k, line);
                }
            }
            check_same(got, want, (int64_t)sizeof got, 1,
                       "stream %s %s of %s, %lld x %lld, stride %lld to %lld, %d parts, many %d, "
                       "resumes %d",
                       o ? "scan" : "reduce", c->op, tally_dtype_name(c->in.dtype), (long long)rows,
                       (long long)c->in.n, (long long)c->in.stride, (long long)out.stride, parts,
                       many, resumes);
        }
    }
    tally_stream_close(s);
}

static void stream_scan(tally *ctx, const problem *c)
{
    tally_scan_options o = {(int)check_below(2), 0, NULL};
    char init[16];
    check_fill(init, c->s->out, 1, TL_DATA_HOSTILE);
    if (c->s->seedable && check_below(2)) o.init = init;
    streams(ctx, c, &o);
}

static void stream_window(tally *ctx, const problem *c)
{
    const int64_t bytes = c->s->result_bytes, rows = c->in.rows;
    const int many = rows != 1 || check_below(3) == 0;
    tally_window_options o = {.before = check_size(60),
                              .after = check_below(3) ? 0 : check_below(9)};
    o.edges = (tally_edges)check_below(3);
    if (check_below(2)) o.min_count = check_below(o.before + o.after + 2);
    int64_t cut[CUTS + 1], at = 0, produced;
    const int parts = 1 + (int)check_below(CUTS);
    cut_up(c->in.n, parts, cut);
    tally_stream *s = NULL;
    if (c->in.offsets) return;
    if (!check_ok(ctx,
                  many ? tally_stream_window_rows(ctx, c->op, c->s->dtype, rows, &o, &s)
                       : tally_stream_window(ctx, c->op, c->s->dtype, &o, &s),
                  c->op))
        exit(check_finish());
    tally_view out = results(c, tally_window_length(c->in.n, &o));
    out.valid = NULL;
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    for (int i = 0; i < parts; i++, at += produced) {
        tally_view next, to = out;
        const tally_view part = take(c, cut[i], cut[i + 1], &next);
        to.data = got + at * out.stride * bytes;
        produced = tally_stream_results(s, part.n);
        to.n = produced;
        if (!many && !part.valid && !part.next && part.stride == 1 && out.stride == 1 &&
            check_below(4))
            check_ok(ctx, tally_stream_push(s, part.data, part.n, to.data, &produced), c->op);
        else
            check_ok(ctx, tally_stream_push_view(s, &part, &to), c->op);
    }
    tally_view to = out;
    to.data = got + at * out.stride * bytes;
    to.n = tally_stream_results(s, -1);
    check(at + to.n == out.n || !rows, "%s: %lld and %lld results, not %lld", c->op, (long long)at,
          (long long)to.n, (long long)out.n);
    check_ok(ctx, tally_stream_finish_view(s, &to), c->op);
    tally_stream_close(s);
    for (int64_t r = 0; r < rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        for (int64_t i = 0; i < out.n; i++) {
            window_at(&q, &o, i + (o.edges == TALLY_EDGES_VALID ? o.before : 0), line);
            put(c, &out, r, i, line);
        }
    }
    check_same(got, want, (int64_t)sizeof got, 1,
               "stream window %s of %s, %lld x %lld, stride %lld to %lld, %lld + 1 + %lld, edges "
               "%d, min_count %lld, "
               "%d parts, many %d",
               c->op, tally_dtype_name(c->in.dtype), (long long)rows, (long long)c->in.n,
               (long long)c->in.stride, (long long)out.stride, (long long)o.before,
               (long long)o.after, (int)o.edges, (long long)o.min_count, parts, many);
}

/* A push that is prepared in blocks: it has more than 4 MiB. Beside the verbs on the whole view. */
static void in_blocks(tally *ctx)
{
    enum { CELLS = 9001, STEPS = 131, ALL = CELLS * STEPS };
    float *const x = malloc(3 * (size_t)ALL * sizeof *x), *const whole = x + ALL,
                 *const pushed = whole + ALL;
    unsigned char *const bits = malloc(ALL / 8 + 8);
    const tally_window_options w = {.before = 5, .edges = TALLY_EDGES_SHRINK};
    check_fill(x, TALLY_F32, ALL, TL_DATA_PLAIN);
    check_fill(bits, TALLY_U8, ALL / 8 + 8, TL_DATA_BITS);
    tally_view in = tally_columns(x, TALLY_F32, STEPS, CELLS),
               out = tally_columns(whole, TALLY_F32, STEPS, CELLS);
    in.valid = bits, in.valid_offset = 3;
    for (int verb = 0; verb < 3; verb++) {
        tally_stream *s = NULL;
        memset(whole, 0x55, 2 * (size_t)ALL * sizeof *x);
        out.data = whole, out.n = STEPS;
        check_ok(ctx,
                 verb == 0   ? tally_reduce(ctx, "sum", &in, whole)
                 : verb == 1 ? tally_scan(ctx, "sum", &in, &out, NULL)
                             : tally_window(ctx, "sum", &in, &out, &w),
                 "the whole");
        out.data = pushed;
        if (!check_ok(ctx,
                      verb == 0   ? tally_stream_reduce_rows(ctx, "sum", TALLY_F32, CELLS, &s)
                      : verb == 1 ? tally_stream_scan_rows(ctx, "sum", TALLY_F32, CELLS, NULL, &s)
                                  : tally_stream_window_rows(ctx, "sum", TALLY_F32, CELLS, &w, &s),
                      "a stream"))
            exit(check_finish());
        out.n = verb == 2 ? tally_stream_results(s, STEPS) : STEPS;
        check_ok(ctx, tally_stream_push_view(s, &in, verb ? &out : NULL), "push");
        out.data = pushed + (verb ? out.n * CELLS : 0);
        out.n = verb ? tally_stream_results(s, -1) : 1;
        check_ok(ctx, tally_stream_finish_view(s, &out), "finish");
        check_same(pushed, whole, ALL, sizeof *x, "one push of %d steps of %d cells, verb %d",
                   STEPS, CELLS, verb);
        tally_stream_close(s);
    }
    free(x);
    free(bits);
}

#endif
