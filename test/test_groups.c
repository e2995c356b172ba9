/* SPDX-License-Identifier: MIT
 * Streams of groups: whatever the order in which groups grow, however pushes are cut, the result
 * of a group has the law's bits of its elements alone; the memory that a group takes; misuse. */
#define _GNU_SOURCE
#include "parts.h"
#include "context/context.h"
#include "law/spec.h"
#include <malloc.h>

enum { MOST = 60000, GROUPS = 5000 };
static _Alignas(16) char x[MOST * 8], dense[MOST * 8], got[GROUPS * 16], want[GROUPS * 16];
static int32_t codes[MOST];

/* Pushes everything in pieces; groups appear when their first element does. */
static int push_all(tally *ctx, tally_stream *s, int64_t n, int64_t bytes)
{
    int64_t groups = 0;
    for (int64_t at = 0, m; at < n; at += m) {
        m = check_below(3) ? 1 + check_below(n - at) : 1 + check_below(n - at < 40 ? n - at : 40);
        for (int64_t i = at; i < at + m; i++)
            if (codes[i] >= groups) groups = codes[i] + 1;
        if (!check_ok(ctx, tally_stream_push_groups(s, x + at * bytes, codes + at, m, groups),
                      "push"))
            return 0;
    }
    return 1;
}

/* few: groups; a few of them get most of the elements. */
static void law(check_operator o, int64_t n, int64_t few)
{
    tally *const ctx = any();
    const tl_scalar *op;
    tl_par par;
    tally_stream *s;
    int64_t groups = 0, produced = 0;
    if (tl_resolve(NULL, o.op, o.dtype, &op, &par)) return;
    check_fill(x, o.dtype, n, (tl_data)check_below(TL_DATA_KINDS));
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (int32_t)check_below(check_below(2) ? few : few < 4 ? few : 4);
        if (codes[i] >= groups) groups = codes[i] + 1;
    }
    for (int64_t g = 0; g < groups; g++) {
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++)
            if (codes[i] == g) memcpy(dense + m++ * o.bytes, x + i * o.bytes, (size_t)o.bytes);
        tl_spec_reduce((tl_spec_sequence){op, par, dense, 1, m}, NULL, want + g * o.result);
    }
    if (!check_ok(ctx, tally_stream_reduce_groups(ctx, o.op, o.dtype, &s), o.op)) return;
    if (push_all(ctx, s, n, o.bytes)) {
        check(tally_stream_room(s, -1) == groups, "space for %lld of %lld groups",
              (long long)tally_stream_room(s, -1), (long long)groups);
        check_ok(ctx, tally_stream_finish(s, got, &produced), o.op);
        check(produced == groups, "%lld of %lld results", (long long)produced, (long long)groups);
        check_same(got, want, groups, o.result, "%s %s n=%lld groups %lld threads %d", o.op,
                   tally_dtype_name(o.dtype), (long long)n, (long long)groups, tally_threads(ctx));
    }
    tally_stream_close(s);
}

/* Exact sums have no law but the real sum: that of each group by tally_reduce. */
static void exact(int64_t n, int64_t groups)
{
    tally *const ctx = any();
    tally_stream *s;
    check_fill(x, TALLY_F64, n, TL_DATA_HOSTILE);
    for (int64_t i = 0; i < n; i++) codes[i] = (int32_t)check_below(groups);
    for (int64_t g = 0; g < groups; g++) {
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++)
            if (codes[i] == g) memcpy(dense + m++ * 8, x + i * 8, 8);
        const tally_view v = tally_flat(dense, TALLY_F64, m);
        check_ok(ctx, tally_reduce(ctx, "mean:exact", &v, want + g * 8), "mean:exact");
    }
    check_ok(ctx, tally_stream_reduce_groups(ctx, "mean:exact", TALLY_F64, &s), "mean:exact");
    check_ok(ctx, tally_stream_push_groups(s, x, codes, n / 3, groups), "push");
    check_ok(ctx, tally_stream_push_groups(s, x + n / 3 * 8, codes + n / 3, n - n / 3, groups),
             "push");
    check_ok(ctx, tally_stream_finish(s, got, NULL), "finish");
    check_same(got, want, groups, 8, "mean:exact of %lld groups", (long long)groups);
    tally_stream_close(s);
}

/* Bytes that malloc has given out; 0 where it is not glibc's. */
static int64_t allocated(void)
{
    const struct mallinfo2 m = mallinfo2();
    return (int64_t)(m.uordblks + m.hblkhd);
}

/* A group of one to three elements takes at most 200 bytes, of every operator. */
static void memory(void)
{
    enum { MANY = 200000 };
    static const char *const ops[] = {"sum", "mean", "var", "kurt", "nanargmax", "sum:exact"};
    int32_t *const code = malloc(MANY * sizeof *code);
    double *const value = malloc(MANY * sizeof *value);
    for (int i = 0; i < MANY; i++) code[i] = i, value[i] = i;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        tally_stream *s;
        const int64_t before = allocated();
        check_ok(any(), tally_stream_reduce_groups(any(), ops[k], TALLY_F64, &s), ops[k]);
        for (int round = 1; round <= 3; round++) {
            check_ok(NULL, tally_stream_push_groups(s, value, code, MANY, MANY), ops[k]);
            const int64_t each = (allocated() - before) / MANY;
            check(each <= 200, "%s: %lld bytes for each group of %d", ops[k], (long long)each,
                  round);
        }
        tally_stream_close(s);
    }
    free(code);
    free(value);
}

static void misuse(void)
{
    tally *const ctx = contexts[0];
    tally_stream *s, *plain;
    tally_fragment *f;
    double v[2] = {1, 2}, out[4];
    const int32_t good[2] = {0, 1}, high[2] = {0, 2}, low[2] = {-1, 0};
#define REFUSES(call, words) \
    check((call) != TALLY_OK && strstr(tally_error(ctx), words), "'%s' is not in '%s'", words, \
          tally_error(ctx))
    REFUSES(tally_stream_reduce_groups(ctx, "corr", TALLY_F64, &s), "a stream of groups takes one");
    check_ok(ctx, tally_stream_reduce_groups(ctx, "sum", TALLY_F64, &s), "open");
    check_ok(ctx, tally_stream_reduce(ctx, "sum", TALLY_F64, &plain), "open");
    REFUSES(tally_stream_push_groups(plain, v, good, 2, 2), "stream is not of groups");
    REFUSES(tally_stream_push_groups(s, v, high, 2, 2), "codes[1] is 2: must be in 0..1");
    REFUSES(tally_stream_push_groups(s, v, low, 2, 2), "codes[0] is -1: must be in 0..1");
    REFUSES(tally_stream_push_groups(s, NULL, good, 2, 2), "x is NULL");
    REFUSES(tally_stream_push_groups(s, v, NULL, 2, 2), "codes is NULL");
    REFUSES(tally_stream_push_groups(s, v, good, 2, INT64_MAX), "groups is 9223372036854775807");
    REFUSES(tally_stream_push(s, v, 2, NULL, NULL), "push with tally_stream_push_groups");
    const tally_view view = tally_flat(v, TALLY_F64, 2);
    REFUSES(tally_stream_push_view(s, &view, NULL), "push with tally_stream_push_groups");
    check_ok(ctx, tally_fragment_make(ctx, "sum", TALLY_F64, v, 0, 2, &f), "fragment");
    REFUSES(tally_stream_resume(s, f), "it takes no fragment");
    tally_fragment_free(f);
    check_ok(ctx, tally_stream_push_groups(s, v, good, 2, 4), "push");
    REFUSES(tally_stream_push_groups(s, v, good, 2, 3), "must be at least 4");
    REFUSES(tally_stream_finish(s, NULL, NULL), "out is NULL: must have space for 4 results");
    check_ok(ctx, tally_stream_finish(s, out, NULL), "finish");
    check(out[0] == 1 && out[1] == 2 && out[2] == 0 && out[3] == 0, "refused pushes added nothing");
    REFUSES(tally_stream_push_groups(s, v, good, 2, 4), "stream is finished");
    tally_stream_close(s);
    tally_stream_close(plain);
    int64_t order[2], offsets[3];
    const tally_view codes_view = tally_flat(good, TALLY_I32, 2);
    REFUSES(tally_groups(ctx, &codes_view, INT64_MAX, order, offsets),
            "groups is 9223372036854775807: must be in 0..");
}

int main(void)
{
    check_start();
    open_contexts(check_quick ? 2 : 4);
    for (int k = 0; k < (check_quick ? 60 : 400); k++)
        law(check_operator_random(), check_size(3000), 1 + check_below(40));
    for (int k = 0; k < (check_quick ? 2 : 12); k++)
        law(check_operator_random(), MOST, 1 + check_below(6));
    for (int k = 0; k < 2; k++) law(check_operator_random(), 20000, GROUPS);
    /* one whose states know where elements are, one that does not commute */
    static const char *const ops[] = {"argmax", "ema", "nanvar"};
    for (int k = 0; k < 3; k++) {
        check_operator o;
        if (check_operator_make(&o, ops[k], TALLY_F64, 0)) law(o, MOST, 3);
    }
    for (int k = 0; k < 4; k++) exact(check_size(20000), 1 + check_below(50));
    memory();
    misuse();
    close_contexts();
    return check_finish();
}
