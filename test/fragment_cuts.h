/* SPDX-License-Identifier: MIT
 * Pieces of one sequence, cut anywhere and merged with their neighbours in any grouping. Part of
 * test_fragment.c. */
#ifndef TALLY_TEST_FRAGMENT_CUTS_H
#define TALLY_TEST_FRAGMENT_CUTS_H
#include "contexts.h"
#include "pieces.h"

enum { MOST = 400000 };
static char *x_memory;

typedef struct {
    check_operator o;
    const char *x;
    int trips; /* fragments go through bytes now and then */
} piece;

/* The fragment of [a, b), from random pieces merged in random grouping. */
static tally_fragment *build(const piece *p, int64_t a, int64_t b, int depth)
{
    tally_fragment *f = NULL;
    if (depth && check_below(5)) {
        int64_t cut = a + check_below(b - a + 1);
        f = build(p, a, cut, depth - 1);
        tally_fragment *right = build(p, cut, b, depth - 1);
        int64_t start = -1, end = -1;
        check(!tally_fragment_merge(f, right), "merge %s [%lld, %lld) [%lld, %lld)", p->o.op,
              (long long)a, (long long)cut, (long long)cut, (long long)b);
        tally_fragment_range(right, &start, &end);
        check(start == cut && end == b, "a merge changed its right side");
        tally_fragment_free(right);
    } else {
        tally *ctx = any();
        tally_status status = tally_fragment_make(
            ctx, p->o.op, p->o.dtype, a < b || check_below(2) ? p->x + a * p->o.bytes : NULL, a,
            b - a, &f);
        if (!check_ok(ctx, status, p->o.op)) exit(check_finish());
    }
    if (p->trips && check_below(3) == 0) f = round_trip(any(), f, p->o.op);
    int64_t start = -1, end = -1;
    tally_fragment_range(f, &start, &end);
    check(start == a && end == b, "range of [%lld, %lld) is [%lld, %lld)", (long long)a,
          (long long)b, (long long)start, (long long)end);
    return f;
}

static void any_cut(void)
{
    piece p = {.o = check_operator_random(),
               .x = x_memory + check_below(17),
               .trips = (int)check_below(2)};
    int64_t n = check_size(check_below(10) ? 5000 : MOST), start = 0;
    int kind = (int)check_below(TL_DATA_KINDS);
    char want[16], got[16];
    check_fill((char *)p.x, p.o.dtype, n, kind);
    tally_view in = tally_flat(p.x, p.o.dtype, n);
    check_ok(contexts[0], tally_reduce(contexts[0], p.o.op, &in, want), p.o.op);
    tally_fragment *f = build(&p, 0, n, 1 + (int)check_below(6));
    check(!tally_fragment_result(f, got), "result: %s", p.o.op);
    check_same(got, want, 1, p.o.result, "fragment of %s %s n=%lld data %d", p.o.op,
               tally_dtype_name(p.o.dtype), (long long)n, kind);
    tally_fragment_range(f, &start, NULL);
    tally_fragment_range(f, NULL, NULL);
    tally_fragment_free(f);
}

/* The byte string of a slab does not depend on how it was cut, on threads or vectors: its nodes
 * are the same states, signs of zero included. (Not so for NaN: which payload a sum of two NaN
 * keeps is the machine's; lower makes them one.) */
static void same_bytes(void)
{
    piece p = {.o = check_operator_random(), .x = x_memory + check_below(17)};
    int64_t n = check_size(6000), start = check_below(3) ? check_below(n + 1) : 0;
    unsigned char a[8192], b[8192];
    size_t a_bytes = sizeof a, b_bytes = sizeof b;
    tally_fragment *whole;
    check_fill((char *)p.x, p.o.dtype, n, check_below(2) ? TL_DATA_PLAIN : TL_DATA_ZEROS);
    tally_fragment *f = build(&p, start, n, 5);
    check_ok(contexts[0],
             tally_fragment_make(contexts[0], p.o.op, p.o.dtype, p.x + start * p.o.bytes, start,
                                 n - start, &whole),
             p.o.op);
    check(!tally_fragment_save(f, a, &a_bytes) && !tally_fragment_save(whole, b, &b_bytes), "save");
    if (check(a_bytes == b_bytes, "%s: %zu bytes, not %zu", p.o.op, a_bytes, b_bytes))
        check_same(a, b, (int64_t)a_bytes, 1, "bytes of %s %s [%lld, %lld)", p.o.op,
                   tally_dtype_name(p.o.dtype), (long long)start, (long long)n);
    tally_fragment_free(whole);
    tally_fragment_free(f);
}
#endif
