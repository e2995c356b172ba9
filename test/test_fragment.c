/* SPDX-License-Identifier: MIT
 * Fragments: any cut, merged in any grouping and any order, on any device, through bytes or not, gives the one-shot
 * result bit for bit; bytes that are truncated, altered or foreign, and merges that make no sense, are refused and
 * change nothing. */
#include "check.h"

enum { MOST = 400000 };
static char *x_memory;
static tally *contexts[16];
static int context_count;

static tally *any(void) { return contexts[check_below(context_count)]; }

typedef struct {
    check_operator o;
    const char *x;
    int trips; /* fragments go through bytes now and then */
} piece;

/* The same fragment after save and load, perhaps in another context. */
static tally_fragment *round_trip(tally *ctx, tally_fragment *f, const char *op)
{
    size_t bytes = 0, room;
    tally_fragment *back = NULL;
    check(!tally_fragment_save(f, NULL, &bytes) && bytes > 0, "save: length");
    char *buffer = malloc(bytes + 1);
    room = bytes - 1;
    check(tally_fragment_save(f, buffer, &room) == TALLY_INVALID && room == bytes, "save into too little room");
    room = bytes + 1;
    buffer[bytes] = 0x5a;
    check(!tally_fragment_save(f, buffer, &room) && room == bytes && buffer[bytes] == 0x5a, "save");
    check(!tally_fragment_load(ctx, buffer, bytes, &back), "load %s: %s", op, tally_error(ctx));
    free(buffer);
    tally_fragment_free(f);
    return back;
}

/* The fragment of [a, b), from random pieces merged in random grouping. */
static tally_fragment *build(const piece *p, int64_t a, int64_t b, int depth)
{
    tally_fragment *f = NULL;
    if (depth && check_below(5)) {
        int64_t cut = a + check_below(b - a + 1);
        f = build(p, a, cut, depth - 1);
        tally_fragment *right = build(p, cut, b, depth - 1);
        int64_t start = -1, end = -1;
        check(!tally_fragment_merge(f, right), "merge %s [%lld, %lld) [%lld, %lld)", p->o.op, (long long)a,
              (long long)cut, (long long)cut, (long long)b);
        tally_fragment_range(right, &start, &end);
        check(start == cut && end == b, "a merge changed its right side");
        tally_fragment_free(right);
    } else {
        tally *ctx = any();
        tally_status status = tally_fragment_make(ctx, p->o.op, p->o.dtype,
                                                  a < b || check_below(2) ? p->x + a * p->o.bytes : NULL, a, b - a, &f);
        if (!check_ok(ctx, status, p->o.op)) exit(check_finish());
    }
    if (p->trips && check_below(3) == 0) f = round_trip(any(), f, p->o.op);
    int64_t start = -1, end = -1;
    tally_fragment_range(f, &start, &end);
    check(start == a && end == b, "range of [%lld, %lld) is [%lld, %lld)", (long long)a, (long long)b, (long long)start,
          (long long)end);
    return f;
}

static void any_cut(void)
{
    piece p = {.o = check_operator_random(), .x = x_memory + check_below(17), .trips = (int)check_below(2)};
    int64_t n = check_size(check_below(10) ? 5000 : MOST), start = 0;
    int kind = (int)check_below(TL_DATA_KINDS);
    char want[16], got[16];
    check_fill((char *)p.x, p.o.dtype, n, kind);
    tally_view in = tally_flat(p.x, p.o.dtype, n);
    check_ok(contexts[0], tally_reduce(contexts[0], p.o.op, &in, want), p.o.op);
    tally_fragment *f = build(&p, 0, n, 1 + (int)check_below(6));
    check(!tally_fragment_result(f, got), "result: %s", p.o.op);
    check_same(got, want, 1, p.o.result, "fragment of %s %s n=%lld data %d", p.o.op, tally_dtype_name(p.o.dtype),
               (long long)n, kind);
    tally_fragment_range(f, &start, NULL);
    tally_fragment_range(f, NULL, NULL);
    tally_fragment_free(f);
}

/* The byte string of a slab does not depend on how it was cut, on threads or vectors: its nodes are the same states,
 * signs of zero included. (Not so for NaN: which payload a sum of two NaN keeps is the machine's; lower makes them
 * one.) */
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
             tally_fragment_make(contexts[0], p.o.op, p.o.dtype, p.x + start * p.o.bytes, start, n - start, &whole),
             p.o.op);
    check(!tally_fragment_save(f, a, &a_bytes) && !tally_fragment_save(whole, b, &b_bytes), "save");
    if (check(a_bytes == b_bytes, "%s: %zu bytes, not %zu", p.o.op, a_bytes, b_bytes))
        check_same(a, b, (int64_t)a_bytes, 1, "bytes of %s %s [%lld, %lld)", p.o.op, tally_dtype_name(p.o.dtype),
                   (long long)start, (long long)n);
    tally_fragment_free(whole);
    tally_fragment_free(f);
}

/* ---- gaps: pieces in any order ---- */

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
        check(a[i] == starts[i] && b[i] == ends[i], "range %lld is [%lld, %lld), not [%lld, %lld)", (long long)i,
              (long long)a[i], (long long)b[i], (long long)starts[i], (long long)ends[i]);
    check(tally_fragment_ranges(f, first, 1, a, NULL) == all && (first == all || a[0] == starts[first]), "one range");
    tally_fragment_about(f, &info);
    check(info.ranges == all && info.elements == elements && info.nodes >= all, "about: %lld ranges, %lld elements",
          (long long)info.ranges, (long long)info.elements);
    tally_fragment_range(f, a, b);
    if (all) check(a[0] == starts[0] && b[0] == ends[all - 1], "from first to last");
}

/* The first gap, or the result. */
static void right_answer(tally_fragment *f, const piece *p, const int64_t *cut, const int *in, int pieces)
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
    check(strstr(tally_error(contexts[0]), gap) != NULL, "'%s' does not say '%s'", tally_error(contexts[0]), gap);
}

static void any_order(void)
{
    piece p = {.o = check_operator_random(), .x = x_memory + check_below(17)};
    const int64_t n = check_size(check_below(4) ? 300 : 20000);
    const int pieces = 1 + (int)check_below(PIECES);
    int64_t cut[PIECES + 1];
    int order[PIECES], in[PIECES] = {0}, other_in[PIECES] = {0};
    tally *ctx = contexts[0];
    tally_fragment *f, *other, *part;
    check_fill((char *)p.x, p.o.dtype, n, (int)check_below(2) ? TL_DATA_PLAIN : TL_DATA_ZEROS);
    for (int i = 0; i <= pieces; i++) cut[i] = i ? check_below(n + 1) : 0;
    cut[pieces] = n;
    for (int i = 1; i < pieces; i++) /* sorted */
        for (int k = i; k > 0 && cut[k - 1] > cut[k]; k--) {
            const int64_t t = cut[k];
            cut[k] = cut[k - 1];
            cut[k - 1] = t;
        }
    for (int i = 0; i < pieces; i++) {
        const int k = (int)check_below(i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    check_ok(ctx, tally_fragment_make(ctx, p.o.op, p.o.dtype, NULL, 0, 0, &f), "empty");
    check_ok(ctx, tally_fragment_make(ctx, p.o.op, p.o.dtype, NULL, 0, 0, &other), "empty");
    for (int i = 0; i < pieces; i++) {
        const int k = order[i];
        check_ok(
            ctx,
            tally_fragment_make(ctx, p.o.op, p.o.dtype, p.x + cut[k] * p.o.bytes, cut[k], cut[k + 1] - cut[k], &part),
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
            check_ok(ctx, tally_fragment_make(ctx, p.o.op, p.o.dtype, NULL, n, 0, &other), "empty");
        }
        right_ranges(f, cut, in, pieces);
        right_answer(f, &p, cut, in, pieces);
        if (cut[k] < cut[k + 1] && in[k]) { /* once more */
            unsigned char was[16384], is[16384];
            size_t was_bytes = sizeof was, is_bytes = sizeof is;
            const int64_t from = cut[k] + check_below(cut[k + 1] - cut[k]);
            check_ok(ctx,
                     tally_fragment_make(ctx, p.o.op, p.o.dtype, p.x + from * p.o.bytes, from,
                                         1 + check_below(n - from), &part),
                     p.o.op);
            const int fits = !tally_fragment_save(f, was, &was_bytes);
            check(tally_fragment_merge(f, part) == TALLY_INVALID && strstr(tally_error(ctx), "overlap"), "overlap: %s",
                  tally_error(ctx));
            if (fits && check(!tally_fragment_save(f, is, &is_bytes) && is_bytes == was_bytes, "a refused merge"))
                check_same(is, was, (int64_t)is_bytes, 1, "a refused merge");
            tally_fragment_free(part);
        }
    }
    check(!tally_fragment_merge(f, other), "the rest");
    for (int q = 0; q < pieces; q++) in[q] = 1;
    right_ranges(f, cut, in, pieces);
    right_answer(f, &p, cut, in, pieces);
    unsigned char a[8192], b[8192]; /* the nodes of one slab, as if it had never been cut */
    size_t a_bytes = sizeof a, b_bytes = sizeof b;
    check_ok(ctx, tally_fragment_make(ctx, p.o.op, p.o.dtype, p.x, 0, n, &part), p.o.op);
    if (check(!tally_fragment_save(f, a, &a_bytes) && !tally_fragment_save(part, b, &b_bytes) && a_bytes == b_bytes,
              "bytes"))
        check_same(a, b, (int64_t)a_bytes, 1, "bytes after any order, %s %s", p.o.op, tally_dtype_name(p.o.dtype));
    tally_fragment_free(part);
    tally_fragment_free(other);
    tally_fragment_free(f);
}

/* ---- bytes ---- */

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
    if (check(status == TALLY_BAD_DATA && f == NULL, "%s: %s was loaded", what, tally_status_name(status)))
        check(strncmp(tally_error(contexts[0]), "fragment: ", 10) == 0, "%s: the sentence is '%s'", what,
              tally_error(contexts[0]));
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
        check_ok(contexts[0], tally_fragment_make(contexts[0], op, dtype, x_memory, start, n, &more), op);
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
    /* altered with a checksum that fits: whatever the header claims, a load is refused or gives a fragment that can be
     * used */
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
        check(status == TALLY_OK || status == TALLY_BAD_DATA, "hostile bytes: %s", tally_status_name(status));
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

/* ---- bytes of version 1, saved when a variance's state still had its number of elements: test/fragments_1 ---- */

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

static void version_1(void)
{
    static const struct {
        const char *op, *file;
        tally_dtype dtype;
        int64_t start, n;
    } saved[] = {{"sum", "sum-f32-0-1000", TALLY_F32, 0, 1000},
                 {"var", "var-i16-0-1000", TALLY_I16, 0, 1000},
                 {"std:1", "std_1-f32-0-13", TALLY_F32, 0, 13},
                 {"std:1", "std_1-f32-13-987", TALLY_F32, 13, 987}, /* merged with the one before it */
                 {"nanvar:1", "nanvar_1-f64-0-1000", TALLY_F64, 0, 1000},
                 {"nanstd", "nanstd-f32-0-77", TALLY_F32, 0, 77}};
    tally *ctx = contexts[0];
    tally_fragment *before = NULL, *now, *f;
    for (size_t k = 0; k < sizeof saved / sizeof *saved; k++) {
        const int64_t size = (int64_t)tally_dtype_size(saved[k].dtype), end = saved[k].start + saved[k].n;
        unsigned char bytes[8192], a[8192], b[8192];
        char path[500], want[8], got[8];
        size_t n_a = sizeof a, n_b = sizeof b;
        snprintf(path, sizeof path, "%s/test/fragments_1/%s", TALLY_SOURCE_DIR, saved[k].file);
        FILE *file = fopen(path, "rb");
        size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;
        if (file) fclose(file);
        if (!check(n > 0 && bytes[8] == 1, "%s: %zu bytes", path, n) ||
            !check_ok(ctx, tally_fragment_load(ctx, bytes, n, &f), path))
            continue;
        for (int64_t i = 0; i < end; i++) element_1(x_memory + i * size, saved[k].op, saved[k].dtype, i);
        check_ok(ctx,
                 tally_fragment_make(ctx, saved[k].op, saved[k].dtype, x_memory + saved[k].start * size, saved[k].start,
                                     saved[k].n, &now),
                 path);
        check(!tally_fragment_save(f, a, &n_a) && !tally_fragment_save(now, b, &n_b) && n_a == n_b && a[8] == 2,
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
        check(!tally_fragment_result(f, got) && !tally_reduce(ctx, saved[k].op, &in, want), "%s: a result", path);
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

/* ---- merges and arguments ---- */

static void must_not_merge(tally_fragment *left, const tally_fragment *right, const char *part)
{
    int64_t start, end, was_start, was_end;
    tally_fragment_range(left, &was_start, &was_end);
    check(tally_fragment_merge(left, right) == TALLY_INVALID, "merged: %s", part);
    check(strstr(tally_error(contexts[0]), part) != NULL, "'%s' does not say '%s'", tally_error(contexts[0]), part);
    tally_fragment_range(left, &start, &end);
    check(start == was_start && end == was_end, "a refused merge changed [%lld, %lld)", (long long)was_start,
          (long long)was_end);
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
        check_ok(ctx, tally_fragment_make(ctx, wrong[i].op, wrong[i].dtype, x, wrong[i].start, 5, &b), "make");
        must_not_merge(a, b, wrong[i].says);
        tally_fragment_free(b);
    }
    must_not_merge(a, a, "overlap");
    check(!tally_fragment_result(a, out) && out[0] == 45, "after refused merges the sum is %g", (double)out[0]);
    check(tally_fragment_result(a, NULL) == TALLY_INVALID, "out NULL");
    check(tally_fragment_save(a, x, NULL) == TALLY_INVALID, "bytes NULL");
    tally_fragment_free(a);
    check_ok(ctx, tally_fragment_make(ctx, "var:1", TALLY_F32, x, 0, 10, &a), "make");
    check_ok(ctx, tally_fragment_make(ctx, "var:0", TALLY_F32, x, 10, 5, &b), "make");
    must_not_merge(a, b, "same");
    check(tally_fragment_result(b, out) == TALLY_INVALID && strstr(tally_error(ctx), "lacks [0, 10)"),
          "result from 10: %s", tally_error(ctx));
    check(tally_fragment_merge(NULL, b) == TALLY_INVALID && tally_fragment_merge(a, NULL) == TALLY_INVALID,
          "merge NULL");
    tally_fragment_free(a);
    tally_fragment_free(b);
    check(tally_fragment_make(ctx, "sum", TALLY_F32, NULL, 0, 3, &f) == TALLY_INVALID, "x NULL");
    check(tally_fragment_make(ctx, "sum", TALLY_F32, x, -1, 3, &f) == TALLY_INVALID, "start -1");
    check(tally_fragment_make(ctx, "sum", TALLY_F32, x, 0, -3, &f) == TALLY_INVALID, "n -3");
    check(tally_fragment_make(ctx, "sum", TALLY_F32, x, INT64_MAX, 1, &f) == TALLY_INVALID, "start 2^63 - 1");
    check(tally_fragment_make(ctx, "sum", TALLY_F64, x, 0, INT64_MAX / 4, &f) == TALLY_INVALID,
          "n 2^61 - 1 of 8 bytes");
    check(tally_fragment_make(ctx, "sum", TALLY_F32, x, 0, 3, NULL) == TALLY_INVALID, "fragment NULL");
    check(tally_fragment_make(NULL, "sum", TALLY_F32, x, 0, 3, &f) == TALLY_INVALID, "ctx NULL");
    check(tally_fragment_make(ctx, "summ", TALLY_F32, x, 0, 3, &f) == TALLY_INVALID && !f, "unknown operator");
    check(tally_fragment_make(ctx, NULL, TALLY_F32, x, 0, 3, &f) == TALLY_INVALID && !f, "op NULL");
    check(tally_fragment_make(ctx, "and", TALLY_F32, x, 0, 3, &f) == TALLY_UNSUPPORTED && !f, "and of f32");
    check(tally_fragment_load(NULL, x, 40, &f) == TALLY_INVALID &&
              tally_fragment_load(ctx, x, 40, NULL) == TALLY_INVALID,
          "load NULL");
    check(tally_fragment_result(NULL, out) == TALLY_INVALID && tally_fragment_save(NULL, x, &bytes) == TALLY_INVALID,
          "NULL");
    tally_fragment_range(NULL, &start, &end);
    check(start == 0 && end == 0 && !tally_fragment_ranges(NULL, 0, 1, &start, &end), "range of NULL");
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

int main(void)
{
    check_start();
    for (int i = 0; check_isa(i); i++)
        for (int threads = 1; threads <= 3; threads++) contexts[context_count++] = check_open(threads, check_isa(i));
    x_memory = malloc((size_t)MOST * 8 + 64);
    misuse();
    version_1();
    for (int k = 0; k < (check_quick ? 200 : 6000); k++) any_cut();
    for (int k = 0; k < (check_quick ? 100 : 2000); k++) same_bytes();
    for (int k = 0; k < (check_quick ? 100 : 2000); k++) any_order();
    bad_bytes("sum", TALLY_F32, 1);
    bad_bytes("sum", TALLY_F32, 3);
    bad_bytes("var:ddof=1", TALLY_F64, 1);
    bad_bytes("minmax", TALLY_I16, 2);
    for (int i = 0; i < context_count; i++) tally_close(contexts[i]);
    free(x_memory);
    return check_finish();
}
