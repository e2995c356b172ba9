/* SPDX-License-Identifier: MIT
 * Extents and strides at the limits: views of 0, 1, 2^31, 2^40 and 2^62 rows and elements, with
 * strides of up to 64 bits. Every verb computes what the view says (compared with a dense copy
 * of it), or has nothing to do and returns at once, or refuses with a sentence. If a call hangs,
 * an alarm ends the test; the sanitizers find overflows. An argument names another device
 * (test_extents opencl:0,probe=off). And small views that begin or end where memory does. */
#include "check.h"
#include "context/view.h"
#include "tally.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define P(k) ((int64_t)1 << (k))
/* elements around the middle of memory that views may reach; elements worth computing */
enum { CAPACITY = 64, WORK = 64 };
static const int64_t extents[] = {0, 1, 2, 5, P(31), P(40), P(61), P(62), INT64_MAX, -1};
static const int64_t strides[] = {0,          1,        -1,    3,     5,         P(31),
                                  P(40),      -P(59),   P(60), P(62), INT64_MAX, INT64_MAX - 1,
                                  -INT64_MAX, INT64_MIN};
enum { EXTENTS = sizeof extents / sizeof *extents, STRIDES = sizeof strides / sizeof *strides };
/* max on its code paths; exact sums and windows of negative offsets have theirs. */
static const struct kind {
    tally_dtype dtype;
    const char *op;
    tally_window_options window;
} kinds[] = {{TALLY_U8, "max", {1, 1, TALLY_EDGES_SHRINK, 0, 0}},
             {TALLY_F64, "max", {1, 1, TALLY_EDGES_SHRINK, 0, 0}},
             {TALLY_F64, "sum:exact", {1, 1, TALLY_EDGES_SHRINK, 0, 0}},
             {TALLY_U8, "max", {-1, 2, TALLY_EDGES_SHRINK, 0, 0}}};
static const struct kind *now = kinds;

static tally *ctx;
static double memory[2 * CAPACITY], results[2 * CAPACITY], want[2 * CAPACITY];
static int calls, refusals;

/* Where a view's elements lie: 0 somewhere else, 1 in memory, 2 nowhere: it has none. */
static int place(const tally_view *v)
{
    __int128 low = 0, high = 0;
    int64_t rows = v->rows, n = v->offsets ? 0 : v->n;
    if (v->offsets) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = v->offsets[r]; i < v->offsets[r + 1]; i++, n++) {
                if ((__int128)i * v->stride < low) low = (__int128)i * v->stride;
                if ((__int128)i * v->stride > high) high = (__int128)i * v->stride;
            }
        if (n == 0) return 2;
    } else {
        if (rows <= 0 || n <= 0) return 2;
        __int128 a = (__int128)(rows - 1) * v->row_stride, b = (__int128)(n - 1) * v->stride;
        low = (a < 0 ? a : 0) + (b < 0 ? b : 0);
        high = (a > 0 ? a : 0) + (b > 0 ? b : 0);
    }
    return low >= -CAPACITY / 2 && high < CAPACITY / 2;
}

static int64_t length(const tally_view *v, int64_t r)
{
    return v->offsets ? v->offsets[r + 1] - v->offsets[r] : v->n;
}
static char *row(const tally_view *v, int64_t r)
{
    int64_t at = v->offsets ? v->offsets[r] : r;
    return length(v, r) ? (char *)v->data + at * (v->offsets ? v->stride : v->row_stride) *
                                                (int64_t)tally_dtype_size(v->dtype)
                        : v->data;
}

/* One call: verb 0 reduce, 1 scan, 2 window. The sentence of a refusal names the view. */
static tally_status call(int verb, const tally_view *in, const tally_view *out,
                         const tally_window_options *o)
{
    tally_status status = verb == 0   ? tally_reduce(ctx, now->op, in, out->data)
                          : verb == 1 ? tally_scan(ctx, now->op, in, out, NULL)
                                      : tally_window(ctx, now->op, in, out, o);
    calls++;
    refusals += status != TALLY_OK;
    if (status)
        check(status == TALLY_INVALID && (strstr(tally_error(ctx), "in") == tally_error(ctx) ||
                                          !strncmp(tally_error(ctx), "out", 3)),
              "verb %d: %s: %s", verb, tally_status_name(status), tally_error(ctx));
    return status;
}

/* All verbs on one input; results are laid out by out_stride. */
static void verbs(const tally_view *in, int64_t out_stride)
{
    const size_t size = tally_dtype_size(in->dtype);
    const int where = place(in);
    const tally_window_options o = now->window;
    for (int verb = 0; verb < 3; verb++) {
        tally_view out = *in;
        out.data = (char *)results + CAPACITY / 2 * size;
        out.stride = out_stride;
        if (!in->offsets && in->rows > 1 && in->n > 1 && in->n < P(20))
            out.row_stride = in->n * out_stride;
        int64_t elements = 0;
        if (where == 1 && in->offsets)
            for (int64_t r = 0; r < in->rows; r++) elements += length(in, r);
        else if (where == 1)
            elements = in->rows > WORK || in->n > WORK ? WORK + 1 : in->rows * in->n;
        /* one place read very often is a long job */
        if (elements > WORK) continue;
        /* results in memory that is not here */
        if (verb == 0 && in->rows > CAPACITY / 2 && where != 0) continue;
        /* A view of elements that are somewhere else must be refused for its numbers alone, or
           not be called. */
        long double reach = ((long double)in->n - 1) * in->stride,
                    skip = ((long double)in->rows - 1) * in->row_stride;
        long double most = (reach < 0 ? -reach : reach) + (skip < 0 ? -skip : skip),
                    count = (long double)in->rows * in->n;
        int hopeless = !in->offsets && (most * size >= 0x1p63L || count * size >= 0x1p63L);
        if (where == 0 && !hopeless) continue;
        if (where == 1 && verb && place(&out) == 0) continue;
        memset(results, 0x5a, sizeof results);
        memset(want, 0x5a, sizeof want);
        tally_status status = call(verb, in, &out, &o);
        check(where == 1 || where == 2 || status,
              "verb %d, rows %lld n %lld strides %lld %lld: not refused", verb, (long long)in->rows,
              (long long)in->n, (long long)in->row_stride, (long long)in->stride);
        if (status || where != 1) continue;
        for (int64_t r = 0; r < in->rows; r++) {
            char dense[WORK * sizeof(double)], computed[WORK * sizeof(double)];
            int64_t n = length(in, r);
            for (int64_t i = 0; i < n; i++)
                memcpy(dense + i * (int64_t)size, row(in, r) + i * in->stride * (int64_t)size,
                       size);
            tally_view x = tally_flat(dense, in->dtype, n), y = tally_flat(computed, in->dtype, n);
            check(!call(verb, &x, &y, &o), "dense");
            tally_view there = out;
            there.data = (char *)want + CAPACITY / 2 * size;
            if (verb == 0)
                memcpy((char *)there.data + r * (int64_t)size, computed, size);
            else
                for (int64_t i = 0; i < n; i++)
                    memcpy(row(&there, r) + i * out.stride * (int64_t)size,
                           computed + i * (int64_t)size, size);
        }
        check(!memcmp(results, want, sizeof want),
              "verb %d, rows %lld n %lld strides %lld %lld, %s: other bits", verb,
              (long long)in->rows, (long long)in->n, (long long)in->row_stride,
              (long long)in->stride, tally_dtype_name(in->dtype));
    }
}

static void rows_and_elements(tally_dtype d)
{
    char *middle = (char *)memory + CAPACITY / 2 * tally_dtype_size(d);
    for (int r = 0; r < EXTENTS; r++)
        for (int n = 0; n < EXTENTS; n++)
            for (int a = 0; a < STRIDES; a++)
                for (int b = 0; b < STRIDES; b++) {
                    tally_view v = {middle,     d,          extents[r], extents[n],
                                    strides[a], strides[b], NULL};
                    verbs(&v, 1);
                    if (v.n <= 1) verbs(&v, INT64_MIN); /* no result depends on it */
                }
}

static void segments(tally_dtype d)
{
    static const int64_t offsets[][4] = {{0, 0, 0, 0},
                                         {0, 1, 1, 1},
                                         {1, 1, 1, 2},
                                         {0, 2, 2, 2},
                                         {0, 0, 3, 5},
                                         {P(62), P(62), P(62), P(62)},
                                         {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}};
    char *middle = (char *)memory + CAPACITY / 2 * tally_dtype_size(d);
    for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++)
        for (int a = 0; a < STRIDES; a++)
            for (int b = 0; b < STRIDES; b += STRIDES - 1) { /* n and row_stride are ignored */
                tally_view v = {middle, d, 3, strides[b], strides[b], strides[a], offsets[k]};
                verbs(&v, 1);
            }
}

/* Fragments and streams of many sequences, and exact sums. */
static void parts_nowhere(const char *op, const tally_view *in)
{
    tally_fragment *f;
    tally_stream *s;
    tally_exact sum;
    const tally_view many = tally_rows(NULL, in->dtype, 5, 0);
    tally_view steps = many;
    steps.valid = in->valid;
    if (in->next) steps.next = &many;
    if (!strstr(op, ":exact")) {
        if (check_ok(ctx, tally_fragment_of_view(ctx, op, &steps, 3, &f), op))
            tally_fragment_free(f);
        if (!in->next && !in->valid &&
            check_ok(ctx, tally_fragment_make(ctx, op, in->dtype, NULL, 3, 0, &f), op))
            tally_fragment_free(f);
        check_ok(ctx, tally_stream_reduce_rows(ctx, op, in->dtype, 5, &s), op);
        check_ok(ctx, tally_stream_push_view(s, &steps, NULL), op);
        check_ok(ctx, tally_stream_finish(s, results, NULL), op);
        tally_stream_close(s);
    }
    tally_exact_init(&sum);
    check_ok(ctx, tally_exact_add(ctx, &sum, &steps), "exact");
}

/* Every verb of this operator on a view without elements, whose data is NULL: the undefined
 * behaviour sanitizer finds arithmetic with that pointer. */
static void verbs_nowhere(const char *op, const tally_view *in, int one)
{
    static const int64_t places[2] = {0, 0};
    tally_operator_info info;
    if (!check_ok(ctx, tally_operator(ctx, op, in->dtype, &info), op)) return;
    tally_view out = *in;
    out.dtype = info.output;
    out.next = NULL, out.valid = NULL;
    const tally_scan_options options[] = {{0}, {.exclusive = 1}, {.reverse = 1}};
    check_ok(ctx, tally_reduce(ctx, op, in, results), op);
    check_ok(ctx, tally_reduce_valid(ctx, op, in, want, 3), op);
    for (int i = 0; i < 3; i++) check_ok(ctx, tally_scan(ctx, op, in, &out, &options[i]), op);
    check_ok(ctx, tally_window(ctx, op, in, &out, &(tally_window_options){.before = 2}), op);
    check_ok(ctx, tally_window(ctx, op, in, &out, &(tally_window_options){-1, 2, 1, 0, 0}), op);
    if (!one) return;
    out = tally_flat(results, info.output, 2);
    check_ok(ctx, tally_window_ranges(ctx, op, in, places, places, 2, &out, 0), op);
    parts_nowhere(op, in);
    if (in->next || in->valid) return;
    tally_stream *s;
    int64_t computed;
    check_ok(ctx, tally_stream_reduce(ctx, op, in->dtype, &s), op);
    check_ok(ctx, tally_stream_push(s, NULL, 0, NULL, &computed), op);
    check_ok(ctx, tally_stream_finish(s, results, &computed), op);
    tally_stream_close(s);
    check_ok(ctx, tally_stream_scan(ctx, op, in->dtype, NULL, &s), op);
    check_ok(ctx, tally_stream_push(s, NULL, 0, NULL, &computed), op);
    tally_stream_close(s);
}

/* Many empty sequences too, which kernels take side by side. */
static void nowhere(void)
{
    enum { MANY = 100 }; /* results have place for so many */
    static int64_t none[MANY + 1], late[MANY + 1];
    static const uint8_t bits[8] = {0};
    for (int r = 0; r <= MANY; r++) late[r] = 7;
    const tally_view views[] = {tally_flat(NULL, TALLY_F32, 0),
                                tally_rows(NULL, TALLY_F32, 3, 0),
                                tally_rows(NULL, TALLY_F32, 0, 3),
                                tally_columns(NULL, TALLY_F32, 0, 3),
                                tally_columns(NULL, TALLY_F32, 3, 0),
                                tally_segments(NULL, TALLY_F32, none, 3),
                                tally_segments(NULL, TALLY_F32, none, MANY),
                                tally_segments(NULL, TALLY_F32, late, 20),
                                tally_segments(NULL, TALLY_F32, none, 0)};
    static const char *const ops[] = {"sum",       "max",     "nanmax", "var", "mean", "argmin",
                                      "sum:exact", "ema:0.5", "first",  "dot", "corr"};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
            tally_view in = views[i];
            const int two = !strcmp(ops[k], "dot") || !strcmp(ops[k], "corr");
            if (two) in.next = &views[i];
            verbs_nowhere(ops[k], &in, i == 0);
            in.valid = bits;
            verbs_nowhere(ops[k], &in, i == 0);
        }
    tally_view keys = tally_flat(NULL, TALLY_I64, 0), out = keys;
    int64_t offsets[2], runs;
    check_ok(ctx, tally_runs(ctx, &keys, offsets, &runs), "runs");
    check_ok(ctx, tally_groups(ctx, &keys, 1, NULL, offsets), "groups");
    check_ok(ctx, tally_take(ctx, &keys, NULL, 0, &out), "take");
    check_ok(ctx, tally_window_bounds(ctx, &keys, &(tally_key_window){0}, NULL, NULL), "bounds");
}

/* Streams, lengths and files: functions that take a size or a handle. */
static void sizes(void)
{
    tally_window_options o = {P(61) - 1, P(61) - 1, TALLY_EDGES_VALID, 0};
    tally_stream *s;
    tally_file_info info;
    check(tally_window_length(INT64_MAX, &o) == INT64_MAX - 2 * (P(61) - 1) &&
              tally_window_length(INT64_MIN, &o) == 0,
          "the most results of the longest sequence");
    o = (tally_window_options){30, 30, TALLY_EDGES_SHRINK, 0};
    check(!tally_stream_window(ctx, "sum", TALLY_F64, &o, &s), "%s", tally_error(ctx));
    for (int64_t k = 0; k < 100; k++)
        check(tally_stream_room(s, INT64_MAX - k) == (k < 60 ? INT64_MAX : INT64_MAX - k + 60),
              "space for 2^63 - %lld", (long long)k + 1);
    check(tally_stream_room(s, INT64_MIN) == 60 && tally_stream_room(NULL, INT64_MAX) == 0, "room");
    tally_stream_close(s);
    memset(&info, 0x5a, sizeof info);
    tally_file_get_info(NULL, &info);
    check(info.elements == 0 && info.bytes_total == -1 && !info.mapped && !info.name,
          "no file, no facts");
    tally_file_get_info(NULL, NULL);
}

enum { BYTES = 1 << 18, PAGE = 1 << 16 };

/* BYTES bytes, before and behind which nothing may be touched. */
static char *fenced(void)
{
    char *const all = mmap(NULL, BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + PAGE, BYTES, PROT_READ | PROT_WRITE)) exit(2);
    return all + PAGE;
}

/* Rows or columns of random strides, perhaps with gaps, perhaps backwards. */
static tally_view layout(tally_dtype dtype, int64_t rows, int64_t n)
{
    tally_view v = tally_rows(NULL, dtype, rows, n);
    const int64_t gap = check_below(3) ? 0 : check_below(5);
    if (check_below(2)) v = tally_columns(NULL, dtype, n, rows);
    if (v.row_stride == 1)
        v.stride += gap;
    else
        v.row_stride += gap;
    if (check_below(6) == 0) v.row_stride *= 2, v.stride *= 2;
    if (check_below(6) == 0) v.row_stride *= -1;
    if (check_below(6) == 0) v.stride *= -1;
    return v;
}

/* Gives a view the last bytes of `fence`, or the first ones. Returns where they begin. */
static char *put_at(tally_view *v, int64_t bytes, char *fence, int at_end, int64_t *size)
{
    int64_t low, high;
    tl_view_extent(v, bytes, &low, &high);
    char *const first = at_end ? fence + BYTES - (high - low) : fence;
    v->data = first - low;
    *size = high - low;
    return first;
}

/* Views of elements, bits and results that begin or end where memory does: nothing outside is
 * read or written, and results are those of the same elements elsewhere. */
static void views_at_both_ends(void)
{
    static char plain[BYTES], wanted[BYTES];
    char *const fences[] = {fenced(), fenced(), fenced()};
    for (int i = 0; i < (check_quick ? 300 : 2000); i++) {
        const check_operator o = check_operator_random();
        const int64_t rows = 1 + check_below(40), n = 1 + check_below(60);
        const int at_end = check_below(3) > 0, verb = (int)check_below(3);
        const tally_window_options w = {check_below(9), check_below(4),
                                        (tally_edges)check_below(3)};
        const tally_scan_options e = {(int)check_below(2), (int)check_below(2), NULL};
        tally_view in = layout(o.dtype, rows, n), out, there;
        int64_t size, bytes;
        char *const first = put_at(&in, o.bytes, fences[0], at_end, &size);
        check_fill(first, o.dtype, size / o.bytes, (tl_data)check_below(TL_DATA_KINDS));
        if (check_below(3) == 0) { /* of all places from the first one on */
            tally_view bits = tally_flat(NULL, TALLY_U8, (size / o.bytes + 7) / 8);
            put_at(&bits, 1, fences[1], at_end, &bytes);
            check_fill(bits.data, TALLY_U8, bytes, TL_DATA_BITS);
            in.valid = bits.data;
            in.valid_offset = ((char *)in.data - first) / o.bytes;
        }
        out = layout(o.info.output, rows, !verb ? 1 : verb == 1 ? n : tally_window_length(n, &w));
        if (!verb) out = tally_flat(NULL, o.info.output, rows);
        there = out;
        char *const made = put_at(&out, o.result, fences[2], at_end, &bytes);
        memset(made, 0x55, (size_t)bytes), memset(wanted, 0x55, (size_t)bytes);
        there.data = wanted + ((char *)out.data - made);
        for (int k = 0; k < 2; k++) {
            const tally_view *const to = k ? &there : &out;
            check_ok(ctx,
                     verb == 0   ? tally_reduce(ctx, o.op, &in, to->data)
                     : verb == 1 ? tally_scan(ctx, o.op, &in, to, &e)
                                 : tally_window(ctx, o.op, &in, to, &w),
                     o.op);
            if (!k)
                in.data = (char *)memcpy(plain, first, (size_t)size) + ((char *)in.data - first);
        }
        check_same(made, wanted, bytes, 1, "%s of %s, verb %d, %lld x %lld, strides %lld, %lld",
                   o.op, tally_dtype_name(o.dtype), verb, (long long)rows, (long long)n,
                   (long long)in.row_stride, (long long)in.stride);
    }
    for (int k = 0; k < 3; k++) munmap(fences[k] - PAGE, BYTES + 2 * PAGE);
}

int main(int count, char **arguments)
{
    check_start();
    alarm(count > 1 ? 900 : 60);
    for (size_t i = 0; i < sizeof memory; i++)
        ((unsigned char *)memory)[i] = (unsigned char)check_random();
    if (!check_ok(NULL, tally_open(&ctx, count > 1 ? arguments[1] : "cpu,threads=2"), "open"))
        return check_finish();
    for (now = kinds; now < kinds + sizeof kinds / sizeof *kinds; now++) {
        rows_and_elements(now->dtype);
        segments(now->dtype);
    }
    sizes();
    nowhere();
    if (count < 2) views_at_both_ends();
    check(refusals > 1000 && calls > 4 * refusals / 3, "%d calls, %d refused", calls, refusals);
    printf("%d calls, %d refused\n", calls, refusals);
    tally_close(ctx);
    return check_finish();
}
