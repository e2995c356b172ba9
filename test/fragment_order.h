/* SPDX-License-Identifier: MIT
 * Fragments of pieces of a sequence, merged in any order. Part of test_fragment.c. */
#ifndef TALLY_TEST_FRAGMENT_ORDER_H
#define TALLY_TEST_FRAGMENT_ORDER_H

#include "parts.h"

/* Pieces of one sequence, cut anywhere and merged with their neighbours in any grouping. Part of
 * test_fragment.c. */

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

/* Pieces of one sequence in any order, with gaps between them. Part of test_fragment.c. */

enum { PIECES = 60 };

/* The ranges of f are those of the pieces that are in it. */
static void right_ranges(const tally_fragment *f, const int64_t *cut, const int *in, int pieces)
{
    int64_t starts[PIECES + 1], ends[PIECES + 1], all = 0, elements = 0, end = -1;
    tally_fragment_info info;
    for (int i = 0; i < pieces; i++) {
        if (!in[i] || cut[i] == cut[i + 1]) continue;
        if (cut[i] != end) starts[all++] = cut[i];
        ends[all - 1] = end = cut[i + 1];
        elements += end - cut[i];
    }
    int64_t a[PIECES + 1], b[PIECES + 1];
    const int64_t first = check_below(all + 1);
    memset(a, 0x5a, sizeof a);
    check(tally_fragment_ranges(f, 0, PIECES + 1, a, b) == all, "not %lld ranges", (long long)all);
    for (int64_t i = 0; i < all; i++)
        check(a[i] == starts[i] && b[i] == ends[i], "range %lld is [%lld, %lld), not [%lld, %lld)",
              (long long)i, (long long)a[i], (long long)b[i], (long long)starts[i],
              (long long)ends[i]);
    check(tally_fragment_ranges(f, first, 1, a, NULL) == all &&
              (first == all || a[0] == starts[first]),
          "one range");
    tally_fragment_about(f, &info);
    check(info.ranges == all && info.elements == elements && info.nodes >= all,
          "about: %lld ranges, %lld elements", (long long)info.ranges, (long long)info.elements);
    tally_fragment_range(f, a, b);
    if (all) check(a[0] == starts[0] && b[0] == ends[all - 1], "from first to last");
}

/* The first gap, or the result. */
static void right_answer(tally_fragment *f, const piece *p, const int64_t *cut, const int *in,
                         int pieces)
{
    char want[16], got[16], gap[80];
    int64_t n = 0;
    int next = 0, last = pieces;
    while (last && (!in[last - 1] || cut[last - 1] == cut[last])) last--;
    while (next < last && (in[next] || cut[next] == cut[next + 1])) n = cut[++next];
    if (next == last) { /* all that there is, from 0 on */
        const tally_view v = tally_flat(p->x, p->o.dtype, last ? n : 0);
        check_ok(contexts[0], tally_reduce(contexts[0], p->o.op, &v, want), p->o.op);
        check(!tally_fragment_result(f, got), "result of the first pieces");
        check_same(got, want, 1, p->o.result, "the first %lld of %s %s", (long long)n, p->o.op,
                   tally_dtype_name(p->o.dtype));
        return;
    }
    int64_t end = -1;
    for (int i = next; i < pieces && end < 0; i++)
        if (in[i] && cut[i] < cut[i + 1]) end = cut[i];
    snprintf(gap, sizeof gap, "lacks [%lld, %lld)", (long long)n, (long long)end);
    check(tally_fragment_result(f, got) == TALLY_INVALID, "a result with a gap");
    check(strstr(tally_error(contexts[0]), gap) != NULL, "'%s' does not say '%s'",
          tally_error(contexts[0]), gap);
}

/* Elements that are in f already, once more: refused, and f stays as it is. */
static void check_overlap(tally *ctx, tally_fragment *f, const piece *p, int64_t from, int64_t n)
{
    tally_fragment *part;
    unsigned char was[16384], is[16384];
    size_t was_bytes = sizeof was, is_bytes = sizeof is;
    check_ok(
        ctx,
        tally_fragment_make(ctx, p->o.op, p->o.dtype, p->x + from * p->o.bytes, from, n, &part),
        p->o.op);
    const int fits = !tally_fragment_save(f, was, &was_bytes);
    check(tally_fragment_merge(f, part) == TALLY_INVALID && strstr(tally_error(ctx), "overlap"),
          "overlap: %s", tally_error(ctx));
    if (fits &&
        check(!tally_fragment_save(f, is, &is_bytes) && is_bytes == was_bytes, "a refused merge"))
        check_same(is, was, (int64_t)is_bytes, 1, "a refused merge");
    tally_fragment_free(part);
}

/* f has the nodes of one slab, as if it had never been cut. */
static void check_whole(tally *ctx, const tally_fragment *f, const piece *p, int64_t n)
{
    tally_fragment *whole;
    unsigned char a[8192], b[8192];
    size_t a_bytes = sizeof a, b_bytes = sizeof b;
    check_ok(ctx, tally_fragment_make(ctx, p->o.op, p->o.dtype, p->x, 0, n, &whole), p->o.op);
    if (check(!tally_fragment_save(f, a, &a_bytes) && !tally_fragment_save(whole, b, &b_bytes) &&
                  a_bytes == b_bytes,
              "bytes"))
        check_same(a, b, (int64_t)a_bytes, 1, "bytes after any order, %s %s", p->o.op,
                   tally_dtype_name(p->o.dtype));
    tally_fragment_free(whole);
}

static tally_fragment *empty_fragment(tally *ctx, const piece *p, int64_t start)
{
    tally_fragment *f;
    check_ok(ctx, tally_fragment_make(ctx, p->o.op, p->o.dtype, NULL, start, 0, &f), "empty");
    return f;
}

static void any_order(void)
{
    piece p = {.o = check_operator_random(), .x = x_memory + check_below(17)};
    const int64_t n = check_size(check_below(4) ? 300 : 20000);
    const int pieces = 1 + (int)check_below(PIECES);
    int64_t cut[PIECES + 1];
    int order[PIECES], in[PIECES] = {0}, other_in[PIECES] = {0};
    tally *ctx = contexts[0];
    tally_fragment *part;
    check_fill((char *)p.x, p.o.dtype, n, (int)check_below(2) ? TL_DATA_PLAIN : TL_DATA_ZEROS);
    cut_up(n, pieces, cut);
    shuffle(order, pieces);
    tally_fragment *f = empty_fragment(ctx, &p, 0), *other = empty_fragment(ctx, &p, 0);
    for (int i = 0; i < pieces; i++) {
        const int k = order[i];
        check_ok(ctx,
                 tally_fragment_make(ctx, p.o.op, p.o.dtype, p.x + cut[k] * p.o.bytes, cut[k],
                                     cut[k + 1] - cut[k], &part),
                 p.o.op);
        const int side = check_below(3) == 0; /* some go into another fragment first */
        check(!tally_fragment_merge(side ? other : f, part), "merge %d", k);
        (side ? other_in : in)[k] = 1;
        tally_fragment_free(part);
        if (check_below(8) == 0) f = round_trip(ctx, f, p.o.op);
        if (check_below(8) == 0) {
            right_ranges(other, cut, other_in, pieces);
            check(!tally_fragment_merge(f, other), "merge of several ranges");
            for (int q = 0; q < pieces; q++) in[q] |= other_in[q], other_in[q] = 0;
            tally_fragment_free(other);
            other = empty_fragment(ctx, &p, n);
        }
        right_ranges(f, cut, in, pieces);
        right_answer(f, &p, cut, in, pieces);
        if (cut[k] < cut[k + 1] && in[k]) {
            const int64_t from = cut[k] + check_below(cut[k + 1] - cut[k]);
            check_overlap(ctx, f, &p, from, 1 + check_below(n - from));
        }
    }

    check(!tally_fragment_merge(f, other), "the rest");
    for (int q = 0; q < pieces; q++) in[q] = 1;
    right_ranges(f, cut, in, pieces);
    right_answer(f, &p, cut, in, pieces);
    check_whole(ctx, f, &p, n);
    tally_fragment_free(other);
    tally_fragment_free(f);
}

#endif
