/* SPDX-License-Identifier: MIT
 * Fragments: any cut, merged in any grouping and any order, on any device, through bytes or not,
 * gives the one-shot result bit for bit; bytes that are truncated, altered or foreign, and
 * merges that make no sense, are refused and change nothing. */
#include "fragment_order.h"
#include "many/many.h"
#include <math.h>

/* ---- bytes that are truncated, altered or foreign, and those that an older version saved ---- */

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

/* Altered with a checksum that fits: whatever the header claims, a load is refused or gives a
 * fragment that can be used. */
static void hostile_bytes(const unsigned char *good, size_t bytes, int ranges)
{
    unsigned char bad[8192];
    tally_fragment *f;
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
}

/* A name with zeros behind it, as if they belonged to it; and noise. */
static void bad_names(const unsigned char *good, size_t bytes)
{
    unsigned char bad[8192];
    uint32_t name;
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
    for (size_t k = 0; k < bytes; k++)
        for (int bit = 0; bit < 8; bit += 1 + (int)check_below(3)) {
            memcpy(bad, good, bytes);
            bad[k] ^= (unsigned char)(1 << bit);
            refused(bad, bytes, "one bit altered");
        }
    hostile_bytes(good, bytes, ranges);
    if (ranges == 1) bad_names(good, bytes);
}

/* ---- bytes of version 1, in which a variance's state has its number of elements ---- */

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

/* The number of elements in the first node must be the right one. */
static void wrong_counts(unsigned char *bytes, size_t n)
{
    uint32_t name;
    memcpy(&name, bytes + 36, sizeof name);
    double count;
    memcpy(&count, bytes + 41 + name, sizeof count);
    for (int way = 0; way < 2; way++) {
        memcpy(bytes + 41 + name, &(double){way ? NAN : count + 1}, sizeof count);
        uint64_t sum = fnv(bytes, n - 8);
        memcpy(bytes + n - 8, &sum, 8);
        refused(bytes, n, "a node with a wrong number of elements");
        check(strstr(tally_error(contexts[0]), "another number") != NULL, "'%s'",
              tally_error(contexts[0]));
    }
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
        if (strcmp(saved[k].op, "sum")) wrong_counts(bytes, n);
    }
    tally_fragment_free(before);
}

/* ---- merges ---- */

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

static float x[100];

static void refused_merges(void)
{
    tally *ctx = contexts[0];
    tally_fragment *a, *b;
    float out[2];
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
}

static void refused_fragments(void)
{
    tally *ctx = contexts[0];
    tally_fragment *f = (tally_fragment *)x_memory;
    float out[2];
    int64_t start = 5, end = 6;
    size_t bytes = 0;
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
    check(tally_fragment_load(ctx, NULL, 300, &f) == TALLY_INVALID && !f &&
              !strcmp(tally_error(ctx), "buffer is NULL: must point to 300 bytes") &&
              tally_fragment_load(ctx, NULL, 0, &f) == TALLY_BAD_DATA && !f,
          "%s", tally_error(ctx));
    tally_fragment_about(NULL, NULL);
    check(tally_fragment_result(NULL, out) == TALLY_INVALID &&
              tally_fragment_save(NULL, x, &bytes) == TALLY_INVALID,
          "NULL");
    tally_fragment_range(NULL, &start, &end);
    check(start == 0 && end == 0 && !tally_fragment_ranges(NULL, 0, 1, &start, &end),
          "range of NULL");
    tally_fragment_free(NULL);
}

/* Indices of a slab at 2^60, where argmax counts from the start of the sequence. */
static void far_away(void)
{
    tally *ctx = contexts[0];
    tally_fragment *a, *b;
    int64_t end;
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
    tl_member_slice s[COUNT + 1];
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
    for (int i = 0; i < 100; i++) x[i] = (float)i;
    refused_merges();
    refused_fragments();
    far_away();
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
