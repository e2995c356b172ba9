/* SPDX-License-Identifier: MIT
 * Out of memory, at every place: for k = 1, 2, .. allocation number k of a scenario fails
 * (alone, and with all that follow). Every call must then return TALLY_NO_MEMORY with its
 * sentence or succeed with the right bits; nothing may be left allocated; the context must go on
 * working. A verb that failed wrote nothing, unless it is a window of neighbours.
 *
 * How: fault.h. Under a sanitizer the scenarios run once without failures, for its leak checker. */
#include "check.h"
#include "fault.h"
#include "context/context.h"
#include "context/threads.h"

/* ---- scenarios: each returns its first failure's status, and leaves its results in out ---- */

enum { N = 200000, RESULTS = 1 << 21 };
static float x[N];
static unsigned char out[RESULTS], want[RESULTS];
static tally *ctx;
static int64_t results; /* bytes of out */

/* Returns the next `bytes` bytes of out. */
static void *reserve(int64_t bytes)
{
    void *p = out + results;
    results += (bytes + 15) & ~(int64_t)15;
    if (results > RESULTS) exit(2);
    return p;
}

/* Checks that a call that failed returned TALLY_NO_MEMORY, with a sentence about memory. */
static tally_status note(const tally *where, tally_status status)
{
    if (status)
        check(status == TALLY_NO_MEMORY && strstr(tally_error(where), "memory"),
              "%s instead of no memory: %s", tally_status_name(status), tally_error(where));
    return status;
}

/* The same for a call that must have left `bytes` bytes of results as they were. */
enum { UNWRITTEN = 0xa5 };
static tally_status note_unwritten(tally_status status, const void *p, int64_t bytes)
{
    const unsigned char *const at = p;
    int64_t i = 0;
    if (!note(ctx, status)) return status;
    while (i < bytes && at[i] == UNWRITTEN) i++;
    check(i == bytes, "%lld of %lld bytes of results are unwritten", (long long)i,
          (long long)bytes);
    return status;
}

static tally_status s_open(void)
{
    tally *c;
    tally_status status = note(NULL, tally_open(&c, "cpu,threads=2"));
    tally_close(c);
    return status;
}

static tally_status reduce(const char *op, tally_view in)
{
    void *const to = reserve(in.rows * 16);
    return note_unwritten(tally_reduce(ctx, op, &in, to), to, in.rows * 16);
}

static tally_status s_reduce(void)
{
    static const int64_t offsets[] = {0, 0, 10, 5000, 190000, 200000};
    tally_status status = reduce("sum", tally_flat(x, TALLY_F32, N));
    if (!status) status = reduce("var:1", tally_flat(x, TALLY_F32, 1000));
    if (!status) status = reduce("sum", tally_columns(x, TALLY_F32, N / 4, 4));
    if (!status) status = reduce("argmax", tally_columns(x, TALLY_F32, N / 4, 4));
    if (!status) status = reduce("sum", tally_rows(x, TALLY_F32, 1000, 200));
    if (!status) status = reduce("mean", (tally_view){x, TALLY_F32, 2, N / 4, N / 2, 2, NULL});
    if (!status) status = reduce("sum", tally_segments(x, TALLY_F32, offsets, 5));
    return status;
}

/* The places from the first element to the last. */
static int64_t extent(const tally_view *v)
{
    if (v->offsets) return v->offsets[v->rows];
    return (v->rows - 1) * v->row_stride + (v->n - 1) * v->stride + 1;
}

static tally_status scan(const char *op, tally_view in, int exclusive, int reverse)
{
    tally_operator_info info;
    tally_scan_options o = {exclusive, reverse, NULL};
    tally_view to = in;
    tally_operator(NULL, op, in.dtype, &info);
    to.dtype = info.output;
    const int64_t bytes = extent(&in) * (int64_t)tally_dtype_size(info.output) * info.lanes;
    to.data = reserve(bytes);
    return note_unwritten(tally_scan(ctx, op, &in, &to, &o), to.data, bytes);
}

/* Scans in place: sequences with strides, of which the last one needs most memory. */
static tally_status s_in_place(void)
{
    static const int64_t offsets[] = {0, 10, 5000, 18000, 30721};
    tally_view v = {reserve(N * 4), TALLY_F32, 4, 0, 0, 2, offsets};
    memcpy(v.data, x, N * 4);
    tally_status status = note(ctx, tally_scan(ctx, "sum", &v, &v, NULL));
    if (status) check_same(v.data, x, N, 4, "after a scan in place that failed");
    return status;
}

static tally_status s_scan(void)
{
    static const int64_t offsets[] = {0, 0, 10, 5000, 7000};
    tally_status status = scan("sum", tally_flat(x, TALLY_F32, N), 0, 0);
    if (!status) status = scan("max", tally_flat(x, TALLY_F32, 100), 1, 0);
    if (!status) status = scan("var", tally_flat(x, TALLY_F32, 5000), 1, 1);
    if (!status) status = scan("sum", tally_columns(x, TALLY_F32, 100, 100), 0, 0);
    if (!status) status = scan("sum", tally_rows(x, TALLY_F32, 100, 1000), 0, 0);
    if (!status) status = scan("last", tally_segments(x, TALLY_F32, offsets, 4), 0, 0);
    return status;
}

static tally_status window(const char *op, tally_view in, int64_t before, int64_t after,
                           int64_t least)
{
    tally_window_options o = {before, after, TALLY_EDGES_SHRINK, least};
    tally_operator_info info;
    tally_view to = in;
    tally_operator(NULL, op, in.dtype, &info);
    to.dtype = info.output;
    const int64_t bytes = extent(&in) * (int64_t)tally_dtype_size(info.output);
    to.data = reserve(bytes);
    tally_status status = tally_window(ctx, op, &in, &to, &o);
    return before < 0 || after < 0 ? note_unwritten(status, to.data, bytes) : note(ctx, status);
}

static tally_status s_window(void)
{
    tally_status status = window("mean", tally_flat(x, TALLY_F32, N), 49, 0, 0);
    if (!status) status = window("mean", tally_flat(x, TALLY_F32, 3000), 2000, 0, 0);
    if (!status) status = window("max", tally_flat(x, TALLY_F32, 3000), 200, 30, 7);
    if (!status) status = window("nansum", tally_flat(x, TALLY_F32, 3000), 20, 3, 7);
    if (!status) status = window("count", tally_flat(x, TALLY_F32, 3000), 20, 3, 0);
    if (!status) status = window("sum", tally_rows(x, TALLY_F32, 30, 100), 7, 0, 0);
    if (!status) status = window("sum", tally_columns(x, TALLY_F32, 100, 30), 7, 7, 0);
    return status;
}

/* A push that failed for want of memory may be tried again (reduce, scan); a stream of windows
   must then refuse. */
static tally_status stream(tally_stream *s, int is_window)
{
    int64_t produced = 0, total = 0;
    char *to = reserve(16 * 7000);
    tally_status status = TALLY_OK;
    for (int64_t at = 0; at < 7000 && !status; at += 1000, total += produced)
        status = note(ctx, tally_stream_push(s, x + at, 1000, to + total * 4, &produced));
    if (status) {
        int hit = atomic_exchange(&fail_at, 0); /* memory is back */
        tally_status again = tally_stream_push(s, x, 1000, to + total * 4, &produced);
        check(again == (is_window ? TALLY_INVALID : TALLY_OK),
              "a push after one that ran out of memory: %s", tally_error(ctx));
        atomic_store(&fail_at, hit);
    } else {
        status = note(ctx, tally_stream_finish(s, to + total * 4, &produced));
    }
    tally_stream_close(s);
    return status;
}

static tally_status s_stream(void)
{
    tally_stream *s;
    tally_window_options w = {70, 20, TALLY_EDGES_SHRINK, 0};
    tally_status status = note(ctx, tally_stream_reduce(ctx, "sum", TALLY_F32, &s));
    if (!status) status = stream(s, 0);
    if (!status && !(status = note(ctx, tally_stream_scan(ctx, "sum", TALLY_F32, NULL, &s))))
        status = stream(s, 0);
    if (!status && !(status = note(ctx, tally_stream_window(ctx, "sum", TALLY_F32, &w, &s))))
        status = stream(s, 1);
    return status;
}

static tally_status s_fragment(void)
{
    enum { A = 70000, B = N - 5000 };
    tally_fragment *first = NULL, *middle = NULL, *last = NULL, *loaded = NULL;
    unsigned char bytes[8192];
    size_t length = sizeof bytes;
    tally_status status = note(ctx, tally_fragment_make(ctx, "sum", TALLY_F32, x, 0, A, &first));
    if (!status)
        status = note(ctx, tally_fragment_make(ctx, "sum", TALLY_F32, x + A, A, B - A, &middle));
    if (!status)
        status = note(ctx, tally_fragment_make(ctx, "sum", TALLY_F32, x + B, B, N - B, &last));
    if (!status) status = note(ctx, tally_fragment_merge(first, last));
    if (!status) status = note(ctx, tally_fragment_save(first, bytes, &length));
    if (!status) status = note(ctx, tally_fragment_load(ctx, bytes, length, &loaded));
    if (!status) status = note(ctx, tally_fragment_merge(middle, loaded));
    if (!status) status = note(ctx, tally_fragment_result(middle, reserve(4)));
    tally_fragment_free(first);
    tally_fragment_free(middle);
    tally_fragment_free(last);
    tally_fragment_free(loaded);
    return status;
}

/* The rows of a stream, pushed 30 steps at once and then one by one; a push that failed may be
   tried again. */
enum { CELLS = 5000, STEPS = N / CELLS };
static tally_status rows(tally_stream *s, float *to)
{
    tally_status status = TALLY_OK;
    for (int64_t at = 0, n = 30; at < STEPS && !status; at += n, n = 1) {
        const tally_view in = tally_columns(x + at * CELLS, TALLY_F32, n, CELLS);
        tally_view produced = in;
        produced.data = to ? to + at * CELLS : NULL;
        status = note(ctx, tally_stream_push_view(s, &in, to ? &produced : NULL));
        if (!status) continue;
        const int hit = atomic_exchange(&fail_at, 0);
        check_ok(ctx, tally_stream_push_view(s, &in, to ? &produced : NULL), "a push again");
        atomic_store(&fail_at, hit);
    }
    if (!status) status = note(ctx, tally_stream_finish(s, to ? NULL : reserve(CELLS * 4), NULL));
    tally_stream_close(s);
    return status;
}

/* A stream goes on after a fragment, from the middle of a block of 8 steps on. A push that
 * failed is tried again; or some of it was taken, and the stream says so. */
static tally_status resumed(const tally_fragment *before, const tally_view *rest, const float *all)
{
    static float got[CELLS];
    tally_stream *s;
    tally_status status = note(ctx, tally_stream_reduce_rows(ctx, "sum", TALLY_F32, CELLS, &s));
    if (!status) status = note(ctx, tally_stream_resume(s, before));
    int hit = -1;
    if (!status && note(ctx, tally_stream_push_view(s, rest, NULL))) {
        hit = atomic_exchange(&fail_at, 0);
        status = tally_stream_push_view(s, rest, NULL);
        check(!status || strstr(tally_error(ctx), "in an earlier push"), "a push again: %s",
              tally_error(ctx));
    }
    if (!status && !(status = note(ctx, tally_stream_finish(s, got, NULL))))
        check_same(got, all, CELLS, 4, "after a fragment");
    if (hit >= 0) atomic_store(&fail_at, hit);
    tally_stream_close(s);
    return status;
}

static int broken_pushes; /* of marked */
/* Steps with validity that are brought to the grid in several parts: as above. */
static tally_status marked(void)
{
    enum { ROWS = 40000, EACH = 60 }; /* 24 steps at a time; sequences share elements */
    static unsigned char valid[(ROWS + EACH) / 8];
    static float got[ROWS], all[ROWS];
    static int folded;
    tally_stream *s;
    for (size_t i = 0; i < sizeof valid; i++) valid[i] = (unsigned char)(0x5b * (i + 1));
    const tally_view in = {.data = x,
                           .dtype = TALLY_F32,
                           .rows = ROWS,
                           .n = EACH,
                           .row_stride = 1,
                           .stride = 1,
                           .valid = valid};
    if (!folded) { /* the first run: nothing fails */
        check_ok(ctx, tally_reduce(ctx, "sum", &in, all), "marked");
        folded = 1;
    }
    tally_status status = note(ctx, tally_stream_reduce_rows(ctx, "sum", TALLY_F32, ROWS, &s));
    int hit = -1;
    if (!status && note(ctx, tally_stream_push_view(s, &in, NULL))) {
        hit = atomic_exchange(&fail_at, 0);
        status = tally_stream_push_view(s, &in, NULL);
        if (status) broken_pushes++;
        check(!status || strstr(tally_error(ctx), "in an earlier push"), "a push again: %s",
              tally_error(ctx));
    }
    if (!status && !(status = note(ctx, tally_stream_finish(s, got, NULL))))
        check_same(got, all, ROWS, 4, "marked");
    if (hit >= 0) atomic_store(&fail_at, hit);
    tally_stream_close(s);
    return status;
}

static tally_status s_rows(void)
{
    static unsigned char bytes[1 << 18];
    size_t length = sizeof bytes;
    tally_stream *s;
    tally_fragment *first = NULL, *last = NULL, *loaded = NULL;
    const tally_view a = tally_columns(x, TALLY_F32, 13, CELLS),
                     b = tally_columns(x + 13 * CELLS, TALLY_F32, 27, CELLS);
    tally_status status = note(ctx, tally_stream_reduce_rows(ctx, "sum", TALLY_F32, CELLS, &s));
    if (!status) status = rows(s, NULL);
    if (!status &&
        !(status = note(ctx, tally_stream_scan_rows(ctx, "sum", TALLY_F32, CELLS, NULL, &s))))
        status = rows(s, reserve(N * 4));
    if (!status) status = note(ctx, tally_fragment_of_view(ctx, "sum", &a, 0, &first));
    if (!status) status = note(ctx, tally_fragment_of_view(ctx, "sum", &b, 13, &last));
    if (!status) status = note(ctx, tally_fragment_save(last, bytes, &length));
    if (!status) status = note(ctx, tally_fragment_load(ctx, bytes, length, &loaded));
    if (!status) status = note(ctx, tally_fragment_merge(loaded, first));
    float *const all = reserve(CELLS * 4);
    if (!status) status = note(ctx, tally_fragment_result(loaded, all));
    if (!status) status = resumed(first, &b, all);
    tally_fragment_free(first);
    tally_fragment_free(last);
    tally_fragment_free(loaded);
    return status;
}

static tally_status s_verify(void)
{
    const char *report;
    return note(ctx, tally_verify(ctx, 5, 20, &report));
}

static tally_status file(const char *path)
{
    tally_file *f = NULL;
    int64_t shape[] = {3000}, got = 0, total = 0;
    float *to = reserve(4 * 3001);
    tally_file_options o = {.dtype = TALLY_F32};
    tally_status status = note(ctx, tally_file_create(ctx, path, NULL, TALLY_F32, 1, shape, 0, &f));
    if (!status) {
        status = note(ctx, tally_file_write(f, x, 3000));
        if (!status) status = note(ctx, tally_file_commit(f));
        tally_file_close(f);
    }
    if (!status) status = note(ctx, tally_file_open(ctx, path, &o, &f));
    if (status) return status;
    do {
        status = note(ctx, tally_file_read(f, to + total, 3001 - total, &got));
        total += got;
    } while (!status && got && total < 3001);
    if (!status) check(total == 3000, "%s: %lld elements", path, (long long)total);
    tally_file_close(f);
    return status;
}

static tally_status s_file(void)
{
    tally_status status = file("memory.npy");
    if (!status) status = file("memory.txt");
    if (!status) status = file("memory.csv");
    if (!status) status = file("memory.raw");
    return status;
}

static tally_status s_exact(void)
{
    tally_status status = reduce("sum:exact", tally_flat(x, TALLY_F32, N));
    if (!status) status = reduce("mean:exact", tally_columns(x, TALLY_F32, N / 4, 4));
    if (!status) status = reduce("nansum:exact", tally_columns(x, TALLY_F32, 100, 100));
    if (!status) status = scan("sum:exact", tally_flat(x, TALLY_F32, N), 0, 0);
    if (!status)
        status = window("sum:exact", (tally_view){x, TALLY_F32, 1, 3000, 3000, 3, NULL}, 20, 0, 0);
    return status;
}

/* Groups of rows by what they are modulo 100, and windows that are ranges. */
static tally_status s_keys(void)
{
    enum { ROWS = 50000 };
    static int32_t codes[ROWS];
    static unsigned char valid[ROWS / 8 + 1];
    for (size_t i = 0; i < sizeof valid; i++) valid[i] = (unsigned char)(0x5b * (i + 1));
    for (int i = 0; i < ROWS; i++) codes[i] = i * 7 % 100;
    int64_t *order = reserve(ROWS * 8), *offsets = reserve(101 * 8), runs;
    const tally_view keys = tally_flat(codes, TALLY_I32, ROWS), in = tally_flat(x, TALLY_F32, ROWS);
    tally_status status = note(ctx, tally_groups(ctx, &keys, 100, order, offsets));
    tally_view out_ = tally_flat(reserve(ROWS * 4), TALLY_F32, ROWS);
    if (!status) status = note(ctx, tally_take(ctx, &in, order, ROWS, &out_));
    if (!status) status = note(ctx, tally_runs(ctx, &keys, NULL, &runs));
    tally_view some = in;
    some.valid = valid;
    out_.valid = reserve(sizeof valid);
    out_.data = reserve(ROWS * 4);
    if (!status)
        status = note_unwritten(tally_scan_by(ctx, "sum", &some, &keys, 3000, &out_, NULL),
                                out_.valid, out + results - (unsigned char *)out_.valid);
    if (!status)
        status = window("sum", (tally_view){x, TALLY_F32, 3, 3000, 9000, 3, NULL}, -1, 5, 0);
    if (!status)
        status = window("nansum", (tally_view){x, TALLY_F32, 3, 3000, 9000, 3, NULL}, -1, 5, 2);
    if (!status) status = window("nanmax", tally_flat(x, TALLY_F32, 3000), 9, -2, 2);
    return status;
}

static tally_status s_by(void)
{
    tally_file *f = NULL;
    int64_t shape[] = {1500, 2}, got = 0, total = 0;
    float *to = reserve(4 * 1500);
    int32_t *codes = reserve(4 * 1500);
    const tally_file_options o = {.dtype = TALLY_F32, .by = "2,1", .column = "1", .header = -1};
    tally_status status =
        note(ctx, tally_file_create(ctx, "by.csv", NULL, TALLY_F32, 2, shape, 0, &f));
    if (!status) {
        status = note(ctx, tally_file_write(f, x, 3000));
        if (!status) status = note(ctx, tally_file_commit(f));
        tally_file_close(f);
    }
    if (!status) status = note(ctx, tally_file_open(ctx, "by.csv", &o, &f));
    if (status) return status;
    do {
        status = note(ctx, tally_file_read_by(f, to + total, codes + total, 1501 - total, &got));
        total += got;
    } while (!status && got && total < 1501);
    if (!status)
        check(total == 1500 && tally_file_groups(f) > 1000, "by.csv: %lld lines", (long long)total);
    tally_file_close(f);
    return status;
}

static tally_status s_times(void)
{
    tally_file *f = NULL;
    int64_t shape[] = {1500, 2}, got = 0, total = 0;
    float *const lines = reserve(8 * 1500);
    int32_t *const codes = reserve(4 * 1500);
    tally_line_time *const times = reserve(16 * 1500);
    tally_dtype dtype;
    const tally_file_options o = {
        .by = "2,1", .by_time = 1, .column = "1", .dtype = TALLY_F32, .header = -1};
    for (int i = 0; i < 1500; i++) lines[2 * i] = (float)i / 2, lines[2 * i + 1] = (float)(i % 700);
    tally_status status =
        note(ctx, tally_file_create(ctx, "times.csv", NULL, TALLY_F32, 2, shape, 0, &f));
    if (!status) {
        status = note(ctx, tally_file_write(f, lines, 3000));
        if (!status) status = note(ctx, tally_file_commit(f));
        tally_file_close(f);
    }
    if (!status) status = note(ctx, tally_file_open(ctx, "times.csv", &o, &f));
    if (status) return status;
    do {
        status = note(ctx, tally_file_read_times(f, lines + total, codes + total, times + total,
                                                 &dtype, 1501 - total, &got));
        total += got;
    } while (!status && got && total < 1501);
    if (!status)
        check(total == 1500 && tally_file_groups(f) == 700 && dtype == TALLY_I64 &&
                  times[1].part == TALLY_KEY_PART / 2,
              "times.csv");
    tally_file_close(f);
    return status;
}

static const struct {
    const char *name;
    tally_status (*run)(void);
} scenarios[] = {{"open", s_open},         {"reduce", s_reduce}, {"scan", s_scan},
                 {"in place", s_in_place}, {"window", s_window}, {"stream", s_stream},
                 {"fragment", s_fragment}, {"verify", s_verify}, {"file", s_file},
                 {"exact", s_exact},       {"keys", s_keys},     {"by", s_by},
                 {"times", s_times},       {"rows", s_rows},     {"marked", marked}};

static tally_status run(int i, int at, int all)
{
    results = 0;
    memset(out, UNWRITTEN, sizeof out);
    atomic_store(&seen, 0);
    atomic_store(&fail_at, at);
    atomic_store(&fail_all, all);
    atomic_store(&counting, 1);
    tally_status status = scenarios[i].run();
    atomic_store(&counting, 0);
    tl_scratch_end(ctx); /* else a context keeps it for the next call; */
    tl_pool_close();     /* and the pool its threads, as long as there is a context */
    tl_pool_open();
    return status;
}

int main(void)
{
    check_start();
    check_fill(x, TALLY_F32, N, TL_DATA_PLAIN);
    for (int i = 0; i < N; i += 97)
        memcpy(&x[i], &(uint32_t){0x7fc00000}, i >= 7000 && i % 2 ? 4 : 0);
    const char *isa = check_isa(0);
    for (int i = 1; check_isa(i); i++) isa = check_isa(i);
    ctx = check_open(2, isa);
    int allocations = 0; /* none are counted under a sanitizer */
    for (int i = 0; i < (int)(sizeof scenarios / sizeof *scenarios); i++) {
        const char *name = scenarios[i].name;
        check_ok(ctx, run(i, 0, 0), name);
        int count = atomic_load(&seen);
        allocations += count;
        int64_t bytes = results;
        memcpy(want, out, sizeof want);
        int before = live_count;
        check(before == 0, "%s leaves %d allocations", name, before);
        for (int all = 0; all < 2; all++)
            for (int k = 1; k <= count; k++) {
                tally_status status = run(i, k, all);
                if (!status) check_same(out, want, bytes, 1, "%s without allocation %d", name, k);
                check(live_count == 0, "%s without allocation %d leaves %d allocations", name, k,
                      live_count);
                tally_view v = tally_flat(x, TALLY_F32, 100);
                float sum = 0;
                check(!tally_reduce(ctx, "sum", &v, &sum) && sum == tally_sum_f32(x, 100),
                      "the context after %s", name);
            }
        printf("%s: %d allocations\n", name, count);
    }
    check(broken_pushes > 0 || !allocations, "no push of marked steps failed halfway");
    tally_close(ctx);
    return check_finish();
}
