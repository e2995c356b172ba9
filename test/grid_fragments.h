/* SPDX-License-Identifier: MIT
 * Fragments of many sequences, and their bytes. Part of test_grid.c. */
#ifndef TALLY_TEST_GRID_FRAGMENTS_H
#define TALLY_TEST_GRID_FRAGMENTS_H

#include "grid_streams.h"

/* Fragments of many sequences, cut and merged in any order. Part of test_grid.c. */

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

/* Bytes of fragments of many sequences that were truncated or altered. Part of test_grid.c. */

static uint64_t sum_of(const unsigned char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, p + i, n - i < 8 ? n - i : 8);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 32;
    }
    return h;
}

static void refused(const unsigned char *bytes, size_t n, const char *what)
{
    tally_fragment *f = (tally_fragment *)x_memory;
    const tally_status status = tally_fragment_load(contexts[0], bytes, n, &f);
    check(status == TALLY_BAD_DATA && !f && !strncmp(tally_error(contexts[0]), "fragment: ", 10),
          "%s: %s: %s", what, tally_status_name(status), tally_error(contexts[0]));
    if (!status) tally_fragment_free(f);
}

/* `bytes` good bytes, altered, with a checksum that fits: refused, or a fragment that can be used
   and saves as the same bytes. */
static void hostile_bytes(const unsigned char *good, size_t bytes)
{
    tally *ctx = contexts[0];
    unsigned char bad[8192];
    tally_fragment *f;
    const size_t rows_at = 40 + strlen("var:1");
    static const uint64_t rows[] = {
        0, 1, 4, 6, 1ull << 32, 1ull << 54, (1ull << 54) - 1, 1ull << 63, UINT64_MAX};
    for (int k = 0; k < (check_quick ? 2000 : 20000); k++) {
        size_t length = bytes;
        memcpy(bad, good, bytes);
        if (k < 9) {
            memcpy(bad + rows_at, &rows[k], 8);
        } else {
            const size_t limit = check_below(2) ? rows_at + 48 : bytes - 8;
            for (int r = 1 + (int)check_below(3); r--;)
                bad[check_below((int64_t)limit)] =
                    (unsigned char)(check_below(3) ? check_random() : 0xff);
            if (check_below(4) == 0) length = 8 + (size_t)check_below((int64_t)bytes - 8);
        }
        const uint64_t sum = sum_of(bad, length - 8);
        memcpy(bad + length - 8, &sum, 8);
        const tally_status status = tally_fragment_load(ctx, bad, length, &f);
        check(status == TALLY_OK || status == TALLY_BAD_DATA, "hostile bytes: %s",
              tally_status_name(status));
        if (k < 9) check(status == TALLY_BAD_DATA, "rows %llx", (unsigned long long)rows[k]);
        if (status) continue;
        unsigned char saved[sizeof bad];
        size_t again = sizeof saved;
        check(!tally_fragment_save(f, saved, &again) && again == length &&
                  !memcmp(saved, bad, length),
              "a hostile fragment that was taken saves as the same bytes");
        tally_fragment_free(f);
    }
}

static void bad_bytes(void)
{
    unsigned char good[8192], bad[8192];
    size_t bytes = sizeof good;
    tally *ctx = contexts[0];
    tally_fragment *f, *more;
    check_fill(x_memory, TALLY_F32, 500, TL_DATA_PLAIN);
    tally_view v = tally_columns(x_memory, TALLY_F32, 13, 5);
    check_ok(ctx, tally_fragment_of_view(ctx, "var:1", &v, 6, &f), "view");
    v.n = 3;
    check_ok(ctx, tally_fragment_of_view(ctx, "var:1", &v, 40, &more), "view");
    check(!tally_fragment_merge(f, more), "merge");
    tally_fragment_free(more);
    check(!tally_fragment_save(f, good, &bytes) && good[8] == 4, "save");
    tally_fragment_free(f);
    for (size_t k = 0; k < bytes; k++) refused(good, k, "truncated");
    for (size_t k = 0; k < bytes; k++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bad, good, bytes);
            bad[k] ^= (unsigned char)(1 << bit);
            refused(bad, bytes, "one bit altered");
        }
    for (size_t k = 8; k + 8 < bytes; k += 8) { /* what a checksum of words must not cancel */
        memcpy(bad, good, bytes);
        bad[k + 7] ^= 0x80;
        bad[k + 15 < bytes ? k + 15 : bytes - 1] ^= 0x80;
        refused(bad, bytes, "two highest bits altered");
    }
    /* one sequence has one form: version 3, with its number of sequences as if it were version 4 */
    check_ok(ctx, tally_fragment_make(ctx, "sum", TALLY_F32, x_memory, 3, 10, &f), "fragment");
    check_ok(ctx, tally_fragment_make(ctx, "sum", TALLY_F32, x_memory, 30, 10, &more), "fragment");
    check(!tally_fragment_merge(f, more), "merge");
    size_t one = sizeof bad;
    check(!tally_fragment_save(f, bad, &one) && bad[8] == 3, "save");
    tally_fragment_free(f);
    tally_fragment_free(more);
    memmove(bad + 51, bad + 43, one - 43);
    memcpy(bad + 43, &(uint64_t){1}, 8);
    bad[8] = 4;
    memcpy(bad + one, &(uint64_t){sum_of(bad, one)}, 8);
    refused(bad, one + 8, "version 4 of one sequence");
    check(strstr(tally_error(ctx), "number of sequences") != NULL, "'%s'", tally_error(ctx));
    hostile_bytes(good, bytes);
}

#endif
