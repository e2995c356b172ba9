/* SPDX-License-Identifier: MIT
 * Bytes of fragments of many sequences that were truncated or altered. Part of test_grid.c. */
#ifndef TALLY_TEST_GRID_BYTES_H
#define TALLY_TEST_GRID_BYTES_H
#include "grid_field.h"

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
    /* altered with a checksum that fits: refused, or a fragment that can be used and saves as
       the same bytes */
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
#endif
