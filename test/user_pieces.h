/* SPDX-License-Identifier: MIT
 * Operators of users where a result is made in pieces: streams, windows of streams, fragments
 * that are saved and merged in other contexts; and a name that is defined anew while they are
 * open. Part of test_user.c. */
#ifndef TALLY_TEST_USER_PIECES_H
#define TALLY_TEST_USER_PIECES_H
#include "user_check.h"

static void pieces(void)
{
    enum { N = 30000 };
    static float x[N], whole[N], part[N];
    char saved[5000], result[16];
    float want, got;
    int64_t made = 0, more = 0;
    size_t bytes = sizeof saved;
    tally *ctx = open_on("cpu,threads=2"), *other = open_on("cpu");
    if (!define_example(ctx, "descent") || !define_example(other, "descent")) return;
    check_fill(x, TALLY_F32, N, TL_DATA_PLAIN);
    tally_view in = tally_flat(x, TALLY_F32, N), out = tally_flat(whole, TALLY_F32, N);
    check_ok(ctx, tally_reduce(ctx, "descent", &in, &want), "reduce");
    tally_stream *s = NULL;
    if (check_ok(ctx, tally_stream_reduce(ctx, "descent", TALLY_F32, &s), "a stream")) {
        check_ok(ctx, tally_stream_push(s, x, 1234, NULL, NULL), "push");
        check_ok(ctx, tally_stream_push(s, x + 1234, N - 1234, NULL, NULL), "push");
        check_ok(ctx, tally_stream_finish(s, &got, NULL), "finish");
        check_same(&got, &want, 1, 4, "stream");
        tally_stream_close(s);
    }
    tally_window_options w = {49, 0, TALLY_EDGES_VALID, 0};
    out.n = tally_window_length(N, &w);
    check_ok(ctx, tally_window(ctx, "descent", &in, &out, &w), "window");
    if (check_ok(ctx, tally_stream_window(ctx, "descent", TALLY_F32, &w, &s), "a window stream")) {
        check_ok(ctx, tally_stream_push(s, x, 777, part, &made), "push");
        check_ok(ctx, tally_stream_push(s, x + 777, N - 777, part + made, &more), "push");
        check_said(made + more == out.n, "window stream", "another number of results");
        check_same(part, whole, out.n, 4, "window stream");
        tally_stream_close(s);
    }

    /* fragments: cut, saved, loaded into another context, merged there with one of its own */
    tally_fragment *a = NULL, *b = NULL, *c = NULL;
    check_ok(ctx, tally_fragment_make(ctx, "descent", TALLY_F32, x, 0, 7001, &a), "a fragment");
    check_ok(other, tally_fragment_make(other, "descent", TALLY_F32, x + 7001, 7001, N - 7001, &b),
             "a fragment");
    check_ok(ctx, tally_fragment_save(a, saved, &bytes), "save");
    if (check_ok(other, tally_fragment_load(other, saved, bytes, &c), "load") &&
        check_ok(other, tally_fragment_merge(c, b), "merge")) {
        check_ok(other, tally_fragment_result(c, &got), "result");
        check_same(&got, &want, 1, 4, "fragments");
    }
    tally_fragment_free(c);
    if (check_ok(ctx, tally_fragment_merge(a, b), "merge across contexts")) {
        check_ok(ctx, tally_fragment_result(a, &got), "result");
        check_same(&got, &want, 1, 4, "fragments of two contexts");
    }
    tally *third = open_on("cpu");
    check_said(tally_fragment_load(third, saved, bytes, &c) == TALLY_BAD_DATA && !c,
               "load without the operator", tally_error(third));
    check_said(strstr(tally_error(third), "not defined here") != NULL, "its sentence",
               tally_error(third));
    tally_define(third, "descent",
                 "#define OP_STATE(F) F(real, h) F(real, l) F(real, m)\ntypedef struct { "
                 "OP_STATE(FIELD) } state;\n"
                 "fn state lift(elem x, idx i, par p) { state r; r.h = to_real(x); r.l = r.h; r.m "
                 "= r.h; return r; }\n"
                 "fn state combine(state a, state b) { return b; }\n"
                 "fn result lower(state a, real n, idx first, par p) { return to_result(a.h); }\n"
                 "fn result empty(par p) { return to_result(num(0.0)); }\n",
                 "another");
    check_said(tally_fragment_load(third, saved, bytes, &c) == TALLY_BAD_DATA && !c,
               "load with another text", tally_error(third));
    check_said(strstr(tally_error(third), "another text than another") != NULL, "its sentence",
               tally_error(third));
    tally_close(third);

    /* a new text: from the next call on; what is open keeps the old one */
    s = NULL;
    check_ok(ctx, tally_stream_reduce(ctx, "descent", TALLY_F32, &s), "a stream");
    check_ok(ctx, tally_stream_push(s, x, N / 2, NULL, NULL), "push");
    check_ok(ctx,
             tally_define(
                 ctx, "descent",
                 "#define OP_STATE(F) F(real, v)\ntypedef struct { OP_STATE(FIELD) } state;\n"
                 "fn state lift(elem x, idx i, par p) { state r; r.v = to_real(x); return r; }\n"
                 "fn state combine(state a, state b) { return b; }\n"
                 "fn result lower(state a, real n, idx first, par p) { return to_result(a.v); }\n"
                 "fn result empty(par p) { return to_result(num(0.0)); }\n",
                 NULL),
             "a second text");
    check_ok(ctx, tally_reduce(ctx, "descent", &in, &got), "reduce");
    check_same(&got, x + N - 1, 1, 4, "the second text");
    check_ok(ctx, tally_stream_push(s, x + N / 2, N - N / 2, NULL, NULL), "push");
    check_ok(ctx, tally_stream_finish(s, &got, NULL), "finish");
    check_same(&got, &want, 1, 4, "a stream of the first text");
    tally_stream_close(s);
    check_said(tally_fragment_merge(a, b) != TALLY_OK, "merge of a fragment that was merged", "");
    memset(result, 0, sizeof result);
    check_ok(ctx, tally_fragment_result(a, &got), "result");
    check_same(&got, &want, 1, 4, "a fragment of the first text");
    tally_fragment_free(a);
    tally_fragment_free(b);
    tally_close(ctx);
    tally_close(other);
}
#endif
