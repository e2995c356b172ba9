/* SPDX-License-Identifier: MIT
 * Fragments: any cut, merged in any grouping and any order, on any device, through bytes or not,
 * gives the one-shot result bit for bit; bytes that are truncated, altered or foreign, and
 * merges that make no sense, are refused and change nothing. */
#include "fragment_bytes.h"
#include "fragment_order.h"
#include "many/many.h"

static void must_not_merge(tally_fragment *left, const tally_fragment *right, const char *part)
{
    int64_t start, end, was_start, was_end;
    tally_fragment_range(left, &was_start, &was_end);
    check(tally_fragment_merge(left, right) == TALLY_INVALID, "merged: %s", part);
    check(strstr(tally_error(contexts[0]), part) != NULL, "'%s' does not say '%s'",
          tally_error(contexts[0]), part);
    tally_fragment_range(left, &start, &end);
    check(start == was_start && end == was_end, "a refused merge changed [%lld, %lld)",
          (long long)was_start, (long long)was_end);
}

static void misuse(void)
{
    tally *ctx = contexts[0];
    tally_fragment *a, *b, *f = (tally_fragment *)x_memory;
    float x[100], out[2];
    int64_t start = 5, end = 6;
    size_t bytes = 0;
    static const struct {
        const char *op;
        tally_dtype dtype;
        int64_t start;
        const char *says;
    } wrong[] = {
        {"sum", TALLY_F32, 9, "left has [0, 10) and right has [9, 14): must not overlap"},
        {"sum", TALLY_F32, 0, "right has [0, 5)"},
        {"mean", TALLY_F32, 10, "same"},
        {"sum:f64", TALLY_F32, 10, "same"},
        {"sum", TALLY_F64, 10, "same"},
        {"max", TALLY_F32, 10, "same"},
        {"nansum", TALLY_F32, 10, "same"},
    };
    for (int i = 0; i < 100; i++) x[i] = (float)i;
    check_ok(ctx, tally_fragment_make(ctx, "sum", TALLY_F32, x, 0, 10, &a), "make");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_ok(ctx,
                 tally_fragment_make(ctx, wrong[i].op, wrong[i].dtype, x, wrong[i].start, 5, &b),
                 "make");
        must_not_merge(a, b, wrong[i].says);
        tally_fragment_free(b);
    }
    must_not_merge(a, a, "overlap");
    check(!tally_fragment_result(a, out) && out[0] == 45, "after refused merges the sum is %g",
          (double)out[0]);
    check(tally_fragment_result(a, NULL) == TALLY_INVALID, "out NULL");
    check(tally_fragment_save(a, x, NULL) == TALLY_INVALID, "bytes NULL");
    tally_fragment_free(a);
    check_ok(ctx, tally_fragment_make(ctx, "var:1", TALLY_F32, x, 0, 10, &a), "make");
    check_ok(ctx, tally_fragment_make(ctx, "var:0", TALLY_F32, x, 10, 5, &b), "make");
    must_not_merge(a, b, "same");
    check(tally_fragment_result(b, out) == TALLY_INVALID &&
              strstr(tally_error(ctx), "lacks [0, 10)"),
          "result from 10: %s", tally_error(ctx));
    check(tally_fragment_merge(NULL, b) == TALLY_INVALID &&
              tally_fragment_merge(a, NULL) == TALLY_INVALID,
          "merge NULL");
    tally_fragment_free(a);
    tally_fragment_free(b);
    check(tally_fragment_make(ctx, "sum", TALLY_F32, NULL, 0, 3, &f) == TALLY_INVALID, "x NULL");
    check(tally_fragment_make(ctx, "sum", TALLY_F32, x, -1, 3, &f) == TALLY_INVALID, "start -1");
    check(tally_fragment_make(ctx, "sum", TALLY_F32, x, 0, -3, &f) == TALLY_INVALID, "n -3");
    check(tally_fragment_make(ctx, "sum", TALLY_F32, x, INT64_MAX, 1, &f) == TALLY_INVALID,
          "start 2^63 - 1");
    check(tally_fragment_make(ctx, "sum", TALLY_F64, x, 0, INT64_MAX / 4, &f) == TALLY_INVALID,
          "n 2^61 - 1 of 8 bytes");
    check(tally_fragment_make(ctx, "sum", TALLY_F32, x, 0, 3, NULL) == TALLY_INVALID,
          "fragment NULL");
    check(tally_fragment_make(NULL, "sum", TALLY_F32, x, 0, 3, &f) == TALLY_INVALID, "ctx NULL");
    check(tally_fragment_make(ctx, "summ", TALLY_F32, x, 0, 3, &f) == TALLY_INVALID && !f,
          "unknown operator");
    check(tally_fragment_make(ctx, NULL, TALLY_F32, x, 0, 3, &f) == TALLY_INVALID && !f, "op NULL");
    check(tally_fragment_make(ctx, "and", TALLY_F32, x, 0, 3, &f) == TALLY_UNSUPPORTED && !f,
          "and of f32");
    check(tally_fragment_load(NULL, x, 40, &f) == TALLY_INVALID &&
              tally_fragment_load(ctx, x, 40, NULL) == TALLY_INVALID,
          "load NULL");
    check(tally_fragment_result(NULL, out) == TALLY_INVALID &&
              tally_fragment_save(NULL, x, &bytes) == TALLY_INVALID,
          "NULL");
    tally_fragment_range(NULL, &start, &end);
    check(start == 0 && end == 0 && !tally_fragment_ranges(NULL, 0, 1, &start, &end),
          "range of NULL");
    tally_fragment_free(NULL);
    /* far away: indices of a slab at 2^60, where argmax counts from the start of the sequence */
    int64_t far = (int64_t)1 << 60, at;
    check_ok(ctx, tally_fragment_make(ctx, "argmax", TALLY_F32, x, far, 100, &a), "make");
    check_ok(ctx, tally_fragment_make(ctx, "argmax", TALLY_F32, x, far + 100, 50, &b), "make");
    check(!tally_fragment_merge(a, b), "merge far away");
    tally_fragment_range(a, &at, &end);
    check(at == far && end == far + 150, "range far away");
    tally_fragment_free(a);
    tally_fragment_free(b);
}

/* Members of one context (src/many/) fold the slices that are counted, and not the one behind them
 * in memory. */
static void check_slices(void)
{
    enum { COUNT = 2, N = 4 };
    tally *const member[COUNT] = {check_open(1, NULL), check_open(2, NULL)};
    const tl_devices t = {member[0], member, COUNT};
    const float v[N] = {1, 2, 3, 4};
    tl_slice s[COUNT + 1];
    tl_plan plan;
    if (check_ok(member[0], tl_plan_of(member[0], "sum", TALLY_F32, &plan), "sum")) {
        memset(s, 0, sizeof s);
        for (int i = 0; i <= COUNT; i++)
            s[i].member = i % COUNT, s[i].x = (const char *)v, s[i].n = N;
        check_ok(member[0], tl_slices_push(&t, TL_REDUCE, &plan, s, COUNT), "slices");
        for (int i = 0; i <= COUNT; i++)
            check(s[i].nodes.count == (i < COUNT), "slice %d of %d: %d nodes", i, COUNT,
                  s[i].nodes.count);
    }
    for (int i = 0; i < COUNT; i++) tally_close(member[i]);
}

int main(void)
{
    check_start();
    open_contexts(3);
    x_memory = malloc((size_t)MOST * 8 + 64);
    misuse();
    version_1();
    check_slices();
    for (int k = 0; k < (check_quick ? 200 : 6000); k++) any_cut();
    for (int k = 0; k < (check_quick ? 100 : 2000); k++) same_bytes();
    for (int k = 0; k < (check_quick ? 100 : 2000); k++) any_order();
    bad_bytes("sum", TALLY_F32, 1);
    bad_bytes("sum", TALLY_F32, 3);
    bad_bytes("var:ddof=1", TALLY_F64, 1);
    bad_bytes("minmax", TALLY_I16, 2);
    close_contexts();
    free(x_memory);
    return check_finish();
}
