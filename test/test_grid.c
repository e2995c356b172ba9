/* SPDX-License-Identifier: MIT
 * Streams and fragments of many sequences: any view, pushed in any steps or cut and merged in any order, through bytes
 * or not, gives the results of tally_reduce and tally_scan of the whole, bit for bit; what makes no sense is refused
 * and changes nothing. */
#include "check.h"

enum { MOST = 900000, GUARD = 64, PIECES = 12 };
static char *x_memory, *want, *got;
static tally *contexts[16];
static int context_count;

static tally *any(void) { return contexts[check_below(context_count)]; }

typedef struct {
    check_operator o;
    tally_view all;
    char *x;      /* the memory of its elements, */
    int64_t room; /* and how many there are */
    char what[200];
} field;

/* Random sequences with random strides, columns mostly. */
static field pick(void)
{
    field f = {.o = check_operator_random()};
    int64_t rows = check_below(4) ? check_size(check_below(8) ? 200 : 5000) : check_below(20),
            n = check_size(check_below(4) ? 40 : 3000), step = check_below(3) ? 1 : 1 + check_below(3);
    if (check_below(40) == 0) rows = 70000 + check_below(5000), n = 1 + check_below(6); /* on several threads */
    const int columns = check_below(3) != 0, kind = (int)check_below(TL_DATA_KINDS);
    int64_t *const shorter = rows < n ? &n : &rows;
    while ((rows + 5) * (n + 5) * step > MOST) *shorter /= 2;
    const int64_t pitch = ((columns ? rows : n) + check_below(5)) * step;
    f.all = tally_flat(NULL, f.o.dtype, n);
    f.all.rows = rows;
    f.all.row_stride = (columns ? step : pitch) * (check_below(4) ? 1 : -1);
    f.all.stride = (columns ? pitch : step) * (check_below(4) ? 1 : -1);
    if (rows && n && check_below(20) == 0) f.all.row_stride = 0;
    const int64_t low =
        (f.all.row_stride < 0 ? (rows - 1) * f.all.row_stride : 0) + (f.all.stride < 0 ? (n - 1) * f.all.stride : 0);
    f.x = x_memory + check_below(17);
    f.room = (rows + 5) * (n + 5) * step;
    check_fill(f.x, f.o.dtype, f.room, kind);
    f.all.data = rows && n ? f.x - low * f.o.bytes : f.x;
    snprintf(f.what, sizeof f.what, "%s %s rows %lld n %lld strides %lld %lld data %d", f.o.op,
             tally_dtype_name(f.o.dtype), (long long)rows, (long long)n, (long long)f.all.row_stride,
             (long long)f.all.stride, kind);
    return f;
}

/* Elements a .. b - 1 of each sequence. */
static tally_view part(const field *f, int64_t a, int64_t b)
{
    tally_view v = f->all;
    v.data = (char *)v.data + a * v.stride * f->o.bytes;
    v.n = b - a;
    return v;
}

static int64_t chunk(int64_t left)
{
    const int64_t n = check_below(3) ? check_below(3) : check_below(4) ? check_below(30) : check_below(left + 1);
    return n < left ? n : left;
}

static void guarded(int64_t bytes, const char *what)
{
    int bad = 0;
    for (int i = 0; i < GUARD; i++) bad |= got[bytes + i] != 0x5a;
    check(!bad, "written behind the results: %s", what);
}

/* Sometimes a stream goes on from a fragment; returns after how many steps. */
static int64_t resumed(tally *ctx, tally_stream *s, const field *f)
{
    tally_fragment *before;
    if (check_below(3)) return 0;
    const int64_t n = chunk(f->all.n);
    const tally_view v = part(f, 0, n);
    if (!check_ok(ctx, tally_fragment_of_view(ctx, f->o.op, &v, 0, &before), f->what)) return 0;
    check_ok(ctx, tally_stream_resume(s, before), f->what);
    tally_fragment_free(before);
    return n;
}

static void reduced(void)
{
    const field f = pick();
    tally *ctx = any();
    tally_stream *s;
    int64_t made = -1;
    check_ok(ctx, tally_reduce(ctx, f.o.op, &f.all, want), f.what);
    if (!check_ok(ctx, tally_stream_reduce_rows(ctx, f.o.op, f.o.dtype, f.all.rows, &s), f.what)) return;
    for (int64_t at = resumed(ctx, s, &f), m; at < f.all.n; at += m) {
        m = chunk(f.all.n - at);
        const tally_view v = part(&f, at, at + m);
        check_ok(ctx, tally_stream_push_view(s, &v, NULL), f.what);
    }
    check(tally_stream_room(s, -1) == f.all.rows && tally_stream_room(s, 5) == 0, "room: %s", f.what);
    memset(got, 0x5a, (size_t)(f.all.rows * f.o.result + GUARD));
    check_ok(ctx, tally_stream_finish(s, got, &made), f.what);
    check(made == f.all.rows, "%lld results: %s", (long long)made, f.what);
    check_same(got, want, f.all.rows, f.o.result, "stream of rows: %s", f.what);
    guarded(f.all.rows * f.o.result, f.what);
    check(tally_stream_push_view(s, &f.all, NULL) == TALLY_INVALID, "a finished stream took more");
    tally_stream_close(s);
}

static void scanned(void)
{
    const field f = pick();
    tally *ctx = any();
    tally_stream *s;
    char init[16];
    const int columns = (int)check_below(3), more = (int)check_below(2);
    tally_scan_options o = {.exclusive = (int)check_below(2)};
    if (f.o.info.seedable && check_below(2)) {
        check_fill(init, f.o.info.output, 1, TL_DATA_PLAIN);
        o.init = init;
    }
    const int64_t pitch = (columns ? f.all.rows : f.all.n) + more, places = pitch * (columns ? f.all.n : f.all.rows);
    tally_view out = tally_flat(want, f.o.info.output, f.all.n);
    out.rows = f.all.rows;
    out.row_stride = columns ? 1 : pitch;
    out.stride = columns ? pitch : 1;
    memset(want, 0x5a, (size_t)(places * f.o.result + GUARD));
    memset(got, 0x5a, (size_t)(places * f.o.result + GUARD));
    check_ok(ctx, tally_scan(ctx, f.o.op, &f.all, &out, &o), f.what);
    out.data = got;
    if (!check_ok(ctx, tally_stream_scan_rows(ctx, f.o.op, f.o.dtype, f.all.rows, &o, &s), f.what)) return;
    memset(init, 0xff, sizeof init); /* the init was borrowed for the call only */
    const int64_t before = resumed(ctx, s, &f);
    for (int64_t i = 0; i < before; i++) /* the fragment has no results of these */
        for (int64_t r = 0; r < f.all.rows; r++) {
            const int64_t place = (r * out.row_stride + i * out.stride) * f.o.result;
            memcpy(got + place, want + place, (size_t)f.o.result);
        }
    for (int64_t at = before, m; at < f.all.n; at += m) {
        m = chunk(f.all.n - at);
        const tally_view v = part(&f, at, at + m);
        tally_view to = out;
        to.data = got + at * out.stride * f.o.result;
        to.n = m;
        check(tally_stream_room(s, m) == m * f.all.rows, "room: %s", f.what);
        check_ok(ctx, tally_stream_push_view(s, &v, &to), f.what);
    }
    int64_t made = -1;
    check(tally_stream_room(s, -1) == 0 && !tally_stream_finish(s, NULL, &made) && made == 0, "finish: %s", f.what);
    check_same(got, want, places * f.o.result + GUARD, 1, "scan of rows, columns %d exclusive %d init %d: %s", columns,
               o.exclusive, o.init != NULL, f.what);
    tally_stream_close(s);
}

/* ---- fragments ---- */

static tally_fragment *round_trip(tally *ctx, tally_fragment *f, const char *what)
{
    size_t bytes = 0;
    tally_fragment *back = NULL;
    check(!tally_fragment_save(f, NULL, &bytes), "save: length");
    char *buffer = malloc(bytes + 1);
    size_t room = bytes - 1;
    check(tally_fragment_save(f, buffer, &room) == TALLY_INVALID && room == bytes, "save into too little room");
    buffer[bytes] = 0x5a;
    check(!tally_fragment_save(f, buffer, &room) && buffer[bytes] == 0x5a, "save: %s", what);
    check_ok(ctx, tally_fragment_load(ctx, buffer, bytes, &back), what);
    free(buffer);
    tally_fragment_free(f);
    return back;
}

static tally_fragment *fragment_of(const field *f, int64_t a, int64_t b)
{
    const tally_view v = part(f, a, b);
    tally_fragment *part_of = NULL;
    tally *ctx = any();
    if (!check_ok(ctx, tally_fragment_of_view(ctx, f->o.op, &v, a, &part_of), f->what)) exit(check_finish());
    return check_below(3) ? part_of : round_trip(any(), part_of, f->what);
}

static void merged(void)
{
    const field f = pick();
    const int pieces = 1 + (int)check_below(PIECES);
    int64_t cut[PIECES + 1], start, end;
    int order[PIECES] = {0};
    tally *ctx = any();
    tally_fragment_info info;
    for (int i = 0; i <= pieces; i++) {
        cut[i] = i == 0 ? 0 : i == pieces ? f.all.n : check_below(f.all.n + 1);
        for (int k = i; k > 0 && cut[k - 1] > cut[k]; k--) {
            const int64_t t = cut[k];
            cut[k] = cut[k - 1];
            cut[k - 1] = t;
        }
    }
    for (int i = 0; i < pieces; i++) {
        const int k = (int)check_below(i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    check_ok(ctx, tally_reduce(ctx, f.o.op, &f.all, want), f.what);
    tally_fragment *all = fragment_of(&f, 0, 0);
    for (int i = 0; i < pieces; i++) {
        const int k = order[i];
        tally_fragment *p = fragment_of(&f, cut[k], cut[k + 1]);
        check(!tally_fragment_merge(all, p), "merge: %s: %s", tally_error(ctx), f.what);
        tally_fragment_range(p, &start, &end);
        check(start == cut[k] && end == cut[k + 1], "a merge changed its right side");
        if (cut[k] < cut[k + 1]) check(tally_fragment_merge(all, p) == TALLY_INVALID, "a part twice: %s", f.what);
        tally_fragment_free(p);
        if (check_below(4) == 0) all = round_trip(any(), all, f.what);
    }
    tally_fragment_about(all, &info);
    check(info.rows == f.all.rows && info.elements == f.all.n && info.ranges == (f.all.n > 0), "about: %s", f.what);
    memset(got, 0x5a, (size_t)(f.all.rows * f.o.result + GUARD));
    check(!tally_fragment_result(all, got), "result: %s", f.what);
    check_same(got, want, f.all.rows, f.o.result, "fragments of rows: %s", f.what);
    guarded(f.all.rows * f.o.result, f.what);
    tally_fragment_free(all);
}

/* The bytes do not depend on cuts, threads or vectors, and a row's states are those of a fragment of it alone. */
static void same_bytes(void)
{
    field f = pick();
    if (!f.all.rows) return;
    const int64_t start = check_below(3) ? check_below(100) : 0, cut = check_below(f.all.n + 1),
                  row = check_below(f.all.rows);
    check_fill(f.x, f.o.dtype, f.room, TL_DATA_PLAIN);
    tally_fragment *a, *b, *c;
    tally *ctx = any(), *other = any();
    const tally_view left = part(&f, 0, cut), right = part(&f, cut, f.all.n);
    check_ok(ctx, tally_fragment_of_view(ctx, f.o.op, &f.all, start, &a), f.what);
    check_ok(other, tally_fragment_of_view(other, f.o.op, &left, start, &b), f.what);
    check_ok(other, tally_fragment_of_view(other, f.o.op, &right, start + cut, &c), f.what);
    check(!tally_fragment_merge(b, c), "merge");
    size_t n_a = 0, n_b = 0, n_c = 0;
    check(!tally_fragment_save(a, NULL, &n_a) && !tally_fragment_save(b, NULL, &n_b) && n_a == n_b, "lengths");
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
    if (f.all.rows > 1 && f.all.n) { /* version 4 lists rows and a range: 32 bytes more before the nodes */
        tally_fragment_info info;
        tally_fragment_about(c, &info);
        const size_t name = 40 + strlen(info.op), state = (n_c - name - 8) / (size_t)info.nodes - 1;
        for (int64_t j = 0; j < info.nodes; j++)
            check_same(bytes + name + 32 + (size_t)j * (1 + state * (size_t)f.all.rows) + 1 + (size_t)row * state,
                       alone + name + (size_t)j * (1 + state) + 1, (int64_t)state, 1, "node %lld of row %lld of %s",
                       (long long)j, (long long)row, f.what);
    }
    free(alone);
    free(bytes);
    tally_fragment_free(a);
    tally_fragment_free(b);
    tally_fragment_free(c);
}

/* ---- bytes ---- */

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
    check(status == TALLY_BAD_DATA && !f && !strncmp(tally_error(contexts[0]), "fragment: ", 10), "%s: %s: %s", what,
          tally_status_name(status), tally_error(contexts[0]));
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
    /* altered with a checksum that fits: refused, or a fragment that can be used and saves as the same bytes */
    const size_t rows_at = 40 + strlen("var:1");
    static const uint64_t rows[] = {0, 1, 4, 6, 1ull << 32, 1ull << 54, (1ull << 54) - 1, 1ull << 63, UINT64_MAX};
    for (int k = 0; k < (check_quick ? 2000 : 20000); k++) {
        size_t length = bytes;
        memcpy(bad, good, bytes);
        if (k < 9) {
            memcpy(bad + rows_at, &rows[k], 8);
        } else {
            const size_t limit = check_below(2) ? rows_at + 48 : bytes - 8;
            for (int r = 1 + (int)check_below(3); r--;)
                bad[check_below((int64_t)limit)] = (unsigned char)(check_below(3) ? check_random() : 0xff);
            if (check_below(4) == 0) length = 8 + (size_t)check_below((int64_t)bytes - 8);
        }
        const uint64_t sum = sum_of(bad, length - 8);
        memcpy(bad + length - 8, &sum, 8);
        const tally_status status = tally_fragment_load(ctx, bad, length, &f);
        check(status == TALLY_OK || status == TALLY_BAD_DATA, "hostile bytes: %s", tally_status_name(status));
        if (k < 9) check(status == TALLY_BAD_DATA, "rows %llx", (unsigned long long)rows[k]);
        if (status) continue;
        unsigned char saved[sizeof bad];
        size_t again = sizeof saved;
        check(!tally_fragment_save(f, saved, &again) && again == length && !memcmp(saved, bad, length),
              "a hostile fragment that was taken saves as the same bytes");
        tally_fragment_free(f);
    }
}

/* ---- arguments ---- */

static void says(tally_status status, tally_status expected, const char *part_of)
{
    check(status == expected && strstr(tally_error(contexts[0]), part_of), "%s: '%s' does not say '%s'",
          tally_status_name(status), tally_error(contexts[0]), part_of);
}

static void misuse(void)
{
    tally *ctx = contexts[0];
    static float x[200];
    float out[20];
    const int64_t offsets[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    tally_stream *s = (tally_stream *)x, *flat;
    tally_fragment *a, *b = (tally_fragment *)x;
    for (int i = 0; i < 200; i++) x[i] = (float)i;
    says(tally_stream_reduce_rows(ctx, "sum", TALLY_F32, -1, &s), TALLY_INVALID, "rows is -1: must be 0..2^54 - 1");
    check(!s, "a stream of a failure");
    says(tally_stream_reduce_rows(ctx, "sum", TALLY_F32, (int64_t)1 << 54, &s), TALLY_INVALID, "rows is");
    says(tally_stream_reduce_rows(ctx, "sum:exact", TALLY_F32, 3, &s), TALLY_UNSUPPORTED, "tally_exact_add");
    says(tally_stream_reduce_rows(ctx, "summ", TALLY_F32, 3, &s), TALLY_INVALID, "'summ'");
    check(tally_stream_reduce_rows(NULL, "sum", TALLY_F32, 3, &s) == TALLY_INVALID, "ctx NULL");
    check(tally_stream_reduce_rows(ctx, "sum", TALLY_F32, 3, NULL) == TALLY_INVALID, "stream NULL");
    check_ok(ctx, tally_stream_reduce_rows(ctx, "sum", TALLY_F32, 10, &s), "stream");
    check_ok(ctx, tally_stream_reduce(ctx, "sum", TALLY_F32, &flat), "stream");
    tally_view v = tally_columns(x, TALLY_F32, 3, 10), w = v;
    says(tally_stream_push_view(flat, &v, NULL), TALLY_INVALID, "in->rows is 10: the stream has 1 sequence");
    says(tally_stream_push(s, x, 10, NULL, NULL), TALLY_INVALID, "stream is of 10 sequences");
    says(tally_stream_push_view(s, NULL, NULL), TALLY_INVALID, "in is NULL");
    check(tally_stream_push_view(NULL, &v, NULL) == TALLY_INVALID, "stream NULL");
    w.rows = 9;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->rows is 9: the stream has 10 sequences");
    w = tally_columns(x, TALLY_F64, 3, 10);
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->dtype is f64: the stream's is f32");
    w = tally_segments(x, TALLY_F32, offsets, 10);
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->offsets is given");
    w = v;
    w.valid = offsets;
    w.valid_offset = -1;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->valid_offset is -1");
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "x->valid_offset is -1");
    w = v;
    w.next = &v;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->next is given: operator 'sum' takes one input");
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID,
         "x->next is given: operator 'sum' takes one input");
    says(tally_fragment_of_view(ctx, "dot", &v, 0, &b), TALLY_INVALID, "x->next is NULL");
    w = v;
    w.n = -1;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->n is -1");
    w.n = (int64_t)1 << 61;
    w.stride = 0;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "");
    w = v;
    w.data = NULL;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->data is NULL");
    check_ok(ctx, tally_fragment_of_view(ctx, "sum", &v, 0, &a), "fragment");
    says(tally_stream_resume(flat, a), TALLY_INVALID, "before is of 10 sequences");
    check_ok(ctx, tally_stream_push_view(s, &v, NULL), "push");
    w.n = 0;
    check_ok(ctx, tally_stream_push_view(s, &w, NULL), "push of nothing");
    says(tally_stream_push_view(s, &v, &v), TALLY_INVALID, "out is given");
    says(tally_stream_finish(s, NULL, NULL), TALLY_INVALID, "out is NULL: must have room for 10 results");
    check_ok(ctx, tally_stream_finish(s, out, NULL), "finish");
    check(out[0] == 30 && out[9] == 57, "after refusals %g, %g", (double)out[0], (double)out[9]);
    tally_stream_close(s);
    tally_stream_close(flat);

    const tally_scan_options reverse = {.reverse = 1}, seeded = {.init = x};
    static float results[40];
    tally_view to = tally_columns(results, TALLY_F32, 3, 10);
    says(tally_stream_scan_rows(ctx, "sum", TALLY_F32, 10, &reverse, &s), TALLY_UNSUPPORTED, "reverse");
    says(tally_stream_scan_rows(ctx, "mean", TALLY_F32, 10, &seeded, &s), TALLY_UNSUPPORTED, "init");
    check_ok(ctx, tally_stream_scan_rows(ctx, "sum", TALLY_F32, 10, NULL, &s), "stream");
    says(tally_stream_push_view(s, &v, NULL), TALLY_INVALID, "out is NULL");
    says(tally_stream_push_view(s, &v, &v), TALLY_INVALID, "out overlaps in");
    w = to;
    w.n = 2;
    says(tally_stream_push_view(s, &v, &w), TALLY_INVALID, "out->n is 2: must be 3");
    w = to;
    w.dtype = TALLY_F64;
    says(tally_stream_push_view(s, &v, &w), TALLY_INVALID, "out->dtype is f64");
    w = to;
    w.row_stride = 0;
    says(tally_stream_push_view(s, &v, &w), TALLY_INVALID, "overwrite");
    check_ok(ctx, tally_stream_push_view(s, &v, &to), "push");
    check(results[9] == 9 && results[29] == 57, "after refusals %g, %g", (double)results[9], (double)results[29]);
    tally_stream_close(s);

    v.rows = 9;
    check_ok(ctx, tally_fragment_of_view(ctx, "sum", &v, 3, &b), "fragment");
    says(tally_fragment_merge(a, b), TALLY_INVALID, "left has 10 sequences and right has 9: must be as many");
    tally_fragment_free(b);
    v.rows = 10;
    check_ok(ctx, tally_fragment_of_view(ctx, "sum", &v, 2, &b), "fragment");
    says(tally_fragment_merge(a, b), TALLY_INVALID, "left has [0, 3) and right has [2, 5): must not overlap");
    says(tally_fragment_result(b, out), TALLY_INVALID, "lacks [0, 2)");
    says(tally_fragment_result(a, NULL), TALLY_INVALID, "out is NULL");
    check(!tally_fragment_result(a, out) && out[9] == 57, "after refusals %g", (double)out[9]);
    tally_fragment_free(a);
    tally_fragment_free(b);
    b = (tally_fragment *)x;
    says(tally_fragment_of_view(ctx, "sum", NULL, 0, &b), TALLY_INVALID, "x is NULL");
    check(!b, "a fragment of a failure");
    says(tally_fragment_of_view(ctx, "sum", &v, -1, &b), TALLY_INVALID, "start -1");
    says(tally_fragment_of_view(ctx, "sum", &v, (int64_t)1 << 61, &b), TALLY_INVALID, "start");
    says(tally_fragment_of_view(ctx, "sum:exact", &v, 0, &b), TALLY_UNSUPPORTED, "tally_exact");
    w = tally_segments(x, TALLY_F32, offsets, 10);
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "x->offsets is given");
    w = v;
    w.data = NULL;
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "x->data is NULL");
    w = v;
    w.rows = (int64_t)1 << 54;
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "below 2^54");
    w.rows = -1;
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "x->rows is -1");
    check(tally_fragment_of_view(NULL, "sum", &v, 0, &b) == TALLY_INVALID, "ctx NULL");
    check(tally_fragment_of_view(ctx, "sum", &v, 0, NULL) == TALLY_INVALID, "fragment NULL");
}

static void windowed(void)
{
    const field f = pick();
    tally *ctx = any();
    tally_stream *s;
    tally_window_options o = {.before = check_size(30), .after = check_below(3) ? 0 : check_below(6)};
    o.edges = (tally_edges)check_below(3);
    if (check_below(2)) o.min_count = check_below(o.before + o.after + 2);
    const int columns = (int)check_below(3);
    const int64_t n = tally_window_length(f.all.n, &o), places = f.all.rows * n;
    tally_view out = tally_flat(want, f.o.info.output, n);
    out.rows = f.all.rows;
    out.row_stride = columns ? 1 : n;
    out.stride = columns ? f.all.rows : 1;
    memset(want, 0x5a, (size_t)(places * f.o.result + GUARD));
    memset(got, 0x5a, (size_t)(places * f.o.result + GUARD));
    check_ok(ctx, tally_window(ctx, f.o.op, &f.all, &out, &o), f.what);
    if (!check_ok(ctx, tally_stream_window_rows(ctx, f.o.op, f.o.dtype, f.all.rows, &o, &s), f.what)) return;
    int64_t made = 0;
    for (int64_t at = 0, m; at < f.all.n; at += m) {
        m = chunk(f.all.n - at);
        const tally_view v = part(&f, at, at + m);
        tally_view to = out;
        to.n = tally_stream_results(s, m);
        to.data = got + made * out.stride * f.o.result;
        check_ok(ctx, tally_stream_push_view(s, &v, &to), f.what);
        made += to.n;
    }
    tally_view rest = out;
    rest.n = tally_stream_results(s, -1);
    rest.data = got + made * out.stride * f.o.result;
    check_ok(ctx, tally_stream_finish_view(s, &rest), f.what);
    check_same(got, want, places * f.o.result + GUARD, 1,
               "windows of rows, %lld + 1 + %lld edges %d min_count %lld: %s", (long long)o.before, (long long)o.after,
               (int)o.edges, (long long)o.min_count, f.what);
    tally_stream_close(s);
}

int main(void)
{
    check_start();
    for (int i = 0; check_isa(i); i++)
        for (int threads = 1; threads <= 3; threads++) contexts[context_count++] = check_open(threads, check_isa(i));
    x_memory = malloc((size_t)(MOST + 8) * 8 + 64);
    want = malloc((size_t)MOST * 16 + GUARD);
    got = malloc((size_t)MOST * 16 + GUARD);
    misuse();
    bad_bytes();
    for (int k = 0; k < (check_quick ? 100 : 1200); k++) {
        reduced();
        scanned();
        if (check_below(3) == 0) windowed();
        merged();
        same_bytes();
    }
    for (int i = 0; i < context_count; i++) tally_close(contexts[i]);
    free(x_memory);
    free(want);
    free(got);
    return check_finish();
}
