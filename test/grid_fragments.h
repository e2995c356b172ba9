/* SPDX-License-Identifier: MIT
 * Fragments of many sequences, cut and merged in any order. Part of test_grid.c. */
#ifndef TALLY_TEST_GRID_FRAGMENTS_H
#define TALLY_TEST_GRID_FRAGMENTS_H
#include "grid_field.h"
#include "pieces.h"

static tally_fragment *fragment_of(const field *f, int64_t a, int64_t b)
{
    const tally_view v = part(f, a, b);
    tally_fragment *part_of = NULL;
    tally *ctx = any();
    if (!check_ok(ctx, tally_fragment_of_view(ctx, f->o.op, &v, a, &part_of), f->what))
        exit(check_finish());
    return check_below(3) ? part_of : round_trip(any(), part_of, f->what);
}

static void merged(void)
{
    const field f = pick();
    const int pieces = 1 + (int)check_below(PIECES);
    int64_t cut[PIECES + 1], start, end;
    int order[PIECES];
    tally *ctx = any();
    tally_fragment_info info;
    cut_up(f.all.n, pieces, cut);
    shuffle(order, pieces);
    check_ok(ctx, tally_reduce(ctx, f.o.op, &f.all, want), f.what);
    tally_fragment *all = fragment_of(&f, 0, 0);
    for (int i = 0; i < pieces; i++) {
        const int k = order[i];
        tally_fragment *p = fragment_of(&f, cut[k], cut[k + 1]);
        check(!tally_fragment_merge(all, p), "merge: %s: %s", tally_error(ctx), f.what);
        tally_fragment_range(p, &start, &end);
        check(start == cut[k] && end == cut[k + 1], "a merge changed its right side");
        if (cut[k] < cut[k + 1])
            check(tally_fragment_merge(all, p) == TALLY_INVALID, "a part twice: %s", f.what);
        tally_fragment_free(p);
        if (check_below(4) == 0) all = round_trip(any(), all, f.what);
    }
    tally_fragment_about(all, &info);
    check(info.rows == f.all.rows && info.elements == f.all.n && info.ranges == (f.all.n > 0),
          "about: %s", f.what);
    memset(got, 0x5a, (size_t)(f.all.rows * f.o.result + GUARD));
    check(!tally_fragment_result(all, got), "result: %s", f.what);
    check_same(got, want, f.all.rows, f.o.result, "fragments of rows: %s", f.what);
    guarded(f.all.rows * f.o.result, f.what);
    tally_fragment_free(all);
}

/* The bytes do not depend on cuts, threads or vectors, and a row's states are those of a
   fragment of it alone. */
static void same_bytes(void)
{
    field f = pick();
    if (!f.all.rows) return;
    const int64_t start = check_below(3) ? check_below(100) : 0, cut = check_below(f.all.n + 1),
                  row = check_below(f.all.rows);
    check_fill(f.x, f.o.dtype, f.capacity, TL_DATA_PLAIN);
    tally_fragment *a, *b, *c;
    tally *ctx = any(), *other = any();
    const tally_view left = part(&f, 0, cut), right = part(&f, cut, f.all.n);
    check_ok(ctx, tally_fragment_of_view(ctx, f.o.op, &f.all, start, &a), f.what);
    check_ok(other, tally_fragment_of_view(other, f.o.op, &left, start, &b), f.what);
    check_ok(other, tally_fragment_of_view(other, f.o.op, &right, start + cut, &c), f.what);
    check(!tally_fragment_merge(b, c), "merge");
    size_t n_a = 0, n_b = 0, n_c = 0;
    check(!tally_fragment_save(a, NULL, &n_a) && !tally_fragment_save(b, NULL, &n_b) && n_a == n_b,
          "lengths");
    unsigned char *const bytes = malloc(n_a + n_b), *const more = bytes + n_a;
    check(!tally_fragment_save(a, bytes, &n_a) && !tally_fragment_save(b, more, &n_b), "save");
    check_same(bytes, more, (int64_t)n_a, 1, "bytes of %s", f.what);
    tally_fragment_free(c);
    tally_view one = f.all;
    one.data = (char *)one.data + row * one.row_stride * f.o.bytes;
    one.rows = 1;
    check_ok(ctx, tally_fragment_of_view(ctx, f.o.op, &one, start, &c), f.what);
    check(!tally_fragment_save(c, NULL, &n_c), "length");
    unsigned char *const alone = malloc(n_c);
    check(!tally_fragment_save(c, alone, &n_c) && alone[8] == 2, "save");
    /* version 4 lists rows and a range: 32 bytes more before the nodes */
    if (f.all.rows > 1 && f.all.n) {
        tally_fragment_info info;
        tally_fragment_about(c, &info);
        const size_t name = 40 + strlen(info.op), state = (n_c - name - 8) / (size_t)info.nodes - 1;
        for (int64_t j = 0; j < info.nodes; j++)
            check_same(bytes + name + 32 + (size_t)j * (1 + state * (size_t)f.all.rows) + 1 +
                           (size_t)row * state,
                       alone + name + (size_t)j * (1 + state) + 1, (int64_t)state, 1,
                       "node %lld of row %lld of %s", (long long)j, (long long)row, f.what);
    }
    free(alone);
    free(bytes);
    tally_fragment_free(a);
    tally_fragment_free(b);
    tally_fragment_free(c);
}
#endif
