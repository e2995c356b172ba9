/* SPDX-License-Identifier: MIT
 * Bytes that are truncated, altered or foreign, and those that an older version saved. Part of
 * test_fragment.c. */
#ifndef TALLY_TEST_FRAGMENT_BYTES_H
#define TALLY_TEST_FRAGMENT_BYTES_H
#include "fragment_order.h"
#include <math.h>

static uint64_t fnv(const unsigned char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static void refused(const void *bytes, size_t n, const char *what)
{
    tally_fragment *f = (tally_fragment *)x_memory;
    tally_status status = tally_fragment_load(contexts[0], bytes, n, &f);
    if (check(status == TALLY_BAD_DATA && f == NULL, "%s: %s was loaded", what,
              tally_status_name(status)))
        check(strncmp(tally_error(contexts[0]), "fragment: ", 10) == 0, "%s: the sentence is '%s'",
              what, tally_error(contexts[0]));
    else if (!status)
        tally_fragment_free(f);
}

static void bad_bytes(const char *op, tally_dtype dtype, int ranges)
{
    tally_fragment *f, *more;
    unsigned char good[8192], bad[8192];
    size_t bytes = sizeof good;
    int64_t start = check_below(1000), n = 1 + check_below(3000);
    check_fill(x_memory, dtype, n, TL_DATA_PLAIN);
    check_ok(contexts[0], tally_fragment_make(contexts[0], op, dtype, x_memory, start, n, &f), op);
    for (int r = 1; r < ranges; r++) {
        start += n + 1 + check_below(5);
        n = 1 + check_below(30);
        check_ok(contexts[0],
                 tally_fragment_make(contexts[0], op, dtype, x_memory, start, n, &more), op);
        check(!tally_fragment_merge(f, more), "a range more");
        tally_fragment_free(more);
    }
    check(!tally_fragment_save(f, good, &bytes) && good[8] == (ranges > 1 ? 3 : 2), "save");
    tally_fragment_free(f);
    for (size_t k = 0; k < bytes; k++) refused(good, k, "truncated");
    memcpy(bad, good, bytes);
    bad[bytes] = 0;
    refused(bad, bytes + 1, "a byte too many");
    refused(NULL, 100, "NULL");
    for (size_t k = 0; k < bytes; k++)
        for (int bit = 0; bit < 8; bit += 1 + (int)check_below(3)) {
            memcpy(bad, good, bytes);
            bad[k] ^= (unsigned char)(1 << bit);
            refused(bad, bytes, "one bit altered");
        }
    /* altered with a checksum that fits: whatever the header claims, a load is refused or gives
     * a fragment that can be used */
    for (int k = 0; k < (check_quick ? 2000 : 20000); k++) {
        memcpy(bad, good, bytes);
        size_t length = bytes, limit = check_below(2) ? 48 + 20 * (size_t)(ranges > 1) : length - 8;
        for (int r = 1 + (int)check_below(3); r--;) {
            size_t at = (size_t)check_below((int64_t)limit);
            bad[at] = check_below(3) == 0 ? 0xff
                      : check_below(2)    ? (unsigned char)(bad[at] ^ 1 << check_below(8))
                                          : (unsigned char)check_random();
        }
        if (check_below(4) == 0) length = 8 + (size_t)check_below((int64_t)bytes - 8);
        uint64_t sum = fnv(bad, length - 8);
        memcpy(bad + length - 8, &sum, 8);
        tally_status status = tally_fragment_load(contexts[0], bad, length, &f);
        check(status == TALLY_OK || status == TALLY_BAD_DATA, "hostile bytes: %s",
              tally_status_name(status));
        if (status) continue;
        char out[64];
        unsigned char saved[sizeof bad];
        size_t again = sizeof saved;
        tally_fragment_result(f, out);
        check(!tally_fragment_save(f, saved, &again) &&
                  ((again == length && !memcmp(saved, bad, length)) || bad[8] == 1 /* version */),
              "a hostile fragment that was taken saves as the same bytes");
        tally_fragment_free(f);
    }
    if (ranges > 1) return;
    uint32_t name; /* with zeros behind it, as if they belonged to it */
    memcpy(&name, good + 36, sizeof name);
    memcpy(bad, good, 40 + name);
    memset(bad + 40 + name, 0, 2);
    memcpy(bad + 42 + name, good + 40 + name, bytes - 48 - name);
    name += 2;
    memcpy(bad + 36, &name, sizeof name);
    uint64_t mended = fnv(bad, bytes - 6);
    memcpy(bad + bytes - 6, &mended, sizeof mended);
    refused(bad, bytes + 2, "a name that ends before its length");
    char noise[200];
    for (int k = 0; k < 200; k++) {
        check_fill(noise, TALLY_U8, 200, TL_DATA_BITS);
        if (k & 1) memcpy(noise, good, 8 + (size_t)check_below(24));
        refused(noise, (size_t)check_below(200), "noise");
    }
}

/* ---- bytes of version 1, saved when a variance's state still had its number of elements: test/fragments_1.txt ---- */

/* Element i of what they were made of. */
static void element_1(char *to, const char *op, tally_dtype dtype, int64_t i)
{
    double v = (double)(i * 37 % 101 - 50);
    if (!strncmp(op, "nan", 3) && i % 7 == 3) v = NAN;
    if (dtype == TALLY_I16)
        memcpy(to, &(int16_t){(int16_t)v}, 2);
    else if (dtype == TALLY_F32)
        memcpy(to, &(float){(float)v}, 4);
    else
        memcpy(to, &v, 8);
}

/* The bytes of fragment `name`, at most 8192; returns how many. */
static size_t read_version_1(const char *name, unsigned char *bytes)
{
    static char line[2 * 8192 + 100];
    const size_t length = strlen(name);
    size_t n = 0;
    FILE *const file = fopen(TALLY_SOURCE_DIR "/test/fragments_1.txt", "r");
    while (file && !n && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, length) || line[length] != ' ') continue;
        for (const char *at = line + length + 1; sscanf(at, "%2hhx", bytes + n) == 1; at += 2) n++;
    }
    if (file) fclose(file);
    return n;
}

static void version_1(void)
{
    static const struct {
        const char *op, *file;
        tally_dtype dtype;
        int64_t start, n;
    } saved[] = {{"sum", "sum-f32-0-1000", TALLY_F32, 0, 1000},
                 {"var", "var-i16-0-1000", TALLY_I16, 0, 1000},
                 {"std:1", "std_1-f32-0-13", TALLY_F32, 0, 13},
                 /* merged with the one before it */
                 {"std:1", "std_1-f32-13-987", TALLY_F32, 13, 987},
                 {"nanvar:1", "nanvar_1-f64-0-1000", TALLY_F64, 0, 1000},
                 {"nanstd", "nanstd-f32-0-77", TALLY_F32, 0, 77}};
    tally *ctx = contexts[0];
    tally_fragment *before = NULL, *now, *f;
    for (size_t k = 0; k < sizeof saved / sizeof *saved; k++) {
        const int64_t size = (int64_t)tally_dtype_size(saved[k].dtype),
                      end = saved[k].start + saved[k].n;
        unsigned char bytes[8192], a[8192], b[8192];
        char want[8], got[8];
        const char *const path = saved[k].file;
        size_t n_a = sizeof a, n_b = sizeof b, n = read_version_1(path, bytes);
        if (!check(n > 0 && bytes[8] == 1, "%s: %zu bytes", path, n) ||
            !check_ok(ctx, tally_fragment_load(ctx, bytes, n, &f), path))
            continue;
        for (int64_t i = 0; i < end; i++)
            element_1(x_memory + i * size, saved[k].op, saved[k].dtype, i);
        check_ok(ctx,
                 tally_fragment_make(ctx, saved[k].op, saved[k].dtype,
                                     x_memory + saved[k].start * size, saved[k].start, saved[k].n,
                                     &now),
                 path);
        check(!tally_fragment_save(f, a, &n_a) && !tally_fragment_save(now, b, &n_b) &&
                  n_a == n_b && a[8] == 2,
              "%s: saved again", path);
        check_same(a, b, (int64_t)n_b, 1, "%s, saved again", path);
        tally_fragment_free(now);
        if (saved[k].start) { /* f: both of them */
            check(!tally_fragment_merge(before, f), "%s: merged with its neighbour", path);
            tally_fragment_free(f);
            f = before;
            before = NULL;
        }
        tally_view in = tally_flat(x_memory, saved[k].dtype, end);
        check(!tally_fragment_result(f, got) && !tally_reduce(ctx, saved[k].op, &in, want),
              "%s: a result", path);
        tally_operator_info info = {0};
        check_ok(ctx, tally_operator(ctx, saved[k].op, saved[k].dtype, &info), path);
        check_same(got, want, 1, (int)tally_dtype_size(info.output), "the result of %s", path);
        tally_fragment_free(before);
        before = f;
        /* the number of elements in the first node must be the right one */
        if (!strcmp(saved[k].op, "sum")) continue;
        uint32_t name;
        memcpy(&name, bytes + 36, sizeof name);
        double count;
        memcpy(&count, bytes + 41 + name, sizeof count);
        for (int way = 0; way < 2; way++) {
            memcpy(bytes + 41 + name, &(double){way ? NAN : count + 1}, sizeof count);
            uint64_t sum = fnv(bytes, n - 8);
            memcpy(bytes + n - 8, &sum, 8);
            refused(bytes, n, "a node with a wrong number of elements");
            check(strstr(tally_error(ctx), "another number") != NULL, "'%s'", tally_error(ctx));
        }
    }
    tally_fragment_free(before);
}
#endif
