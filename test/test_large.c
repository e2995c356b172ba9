/* SPDX-License-Identifier: MIT
 * Outputs past the size from which results are stored around the caches, and rows long enough
 * for several threads: the same bits as in small pieces (streams, which store through the
 * caches), at every alignment, in place, on 1 to 3 threads. And so many short segments that the
 * results of a reduction, or of windows, are stored so too. And elements with strides, and columns,
 * of which 1 to 9 threads take blocks of a whole number of pages, one element more or one less. */
#include "check.h"
#include "cpu/driver.h"

enum { N = 1300000, SEGMENTS = 1100000, GUARD = 64, CHUNK = 9973 };
static int64_t cuts[SEGMENTS + 1];
static char *x, *got, *want, *packed;
static tally *one; /* one thread, the narrowest instruction set */

static const struct {
    const char *op;
    tally_dtype dtype;
} cases[] = {
    {"sum", TALLY_F32}, {"sum:f64", TALLY_F32},  {"mean", TALLY_F64},   {"max", TALLY_F32},
    {"sum", TALLY_I32}, {"minmax", TALLY_F32},   {"argmin", TALLY_F32}, {"ema:0.3", TALLY_F32},
    {"var", TALLY_F32}, {"any", TALLY_F32},      {"nansum", TALLY_F32}, {"last", TALLY_U8},
    {"max", TALLY_I16}, {"nanmean", TALLY_BF16},
};

/* Whether threads wait for others, as on a quiet machine, or fold their blocks too. */
static void choose_polls(void)
{
    static const int polls[] = {-1, 0, 4000};
    tl_scan_polls = polls[check_below(3)];
}

/* The same through a stream, in pieces. */
static int64_t pieces(tally *ctx, const check_operator *o, const char *from, int64_t n,
                      const tally_window_options *w, int exclusive)
{
    tally_stream *s;
    tally_scan_options e = {.exclusive = exclusive};
    int64_t written = 0, produced;
    tally_status status = w ? tally_stream_window(ctx, o->op, o->dtype, w, &s)
                            : tally_stream_scan(ctx, o->op, o->dtype, &e, &s);
    if (!check_ok(ctx, status, o->op)) return 0;
    for (int64_t at = 0; at < n; at += CHUNK, written += produced) {
        produced = 0;
        status = tally_stream_push(s, from + at * o->bytes, n - at < CHUNK ? n - at : CHUNK,
                                   want + written * o->result, &produced);
        if (!check_ok(ctx, status, o->op)) break;
    }
    check_ok(ctx, tally_stream_finish(s, want + written * o->result, &produced), o->op);
    tally_stream_close(s);
    return written + produced;
}

static void large(tally *ctx, const check_operator *o)
{
    int64_t size = o->result, n = N - check_below(5000),
            shift = check_below(17) * (check_below(2) ? 1 : o->bytes),
            places[] = {0, 1, 4, 8, 16, 48};
    char *from = x + shift;
    check_fill(from, o->dtype, n, (int)check_below(TL_DATA_KINDS));
    for (int verb = 0; verb < 3; verb++) {
        tally_window_options w = {check_size(verb == 1 ? 60 : 20000),
                                  check_below(2) ? 0 : check_below(40), TALLY_EDGES_SHRINK, 0};
        tally_scan_options e = {.exclusive = (int)check_below(2)};
        int64_t place = places[check_below(6)],
                m = pieces(one, o, from, n, verb ? &w : NULL, e.exclusive);
        char *to = got + GUARD + place;
        memset(got, 0x5a, (size_t)(n * size) + 4 * GUARD);
        tally_view in = tally_flat(from, o->dtype, n), out = tally_flat(to, o->info.output, n);
        tally_status status =
            verb ? tally_window(ctx, o->op, &in, &out, &w) : tally_scan(ctx, o->op, &in, &out, &e);
        if (!check_ok(ctx, status, o->op)) return;
        check(m == n, "%lld of %lld results", (long long)m, (long long)n);
        check_same(to, want, n, size,
                   "%s %s of %s, %s x%d, n=%lld place %lld before %lld after %lld",
                   verb ? "window" : "scan", o->op, tally_dtype_name(o->dtype), tally_isa(ctx),
                   tally_threads(ctx), (long long)n, (long long)place, (long long)w.before,
                   (long long)w.after);
        int clean = 1;
        for (int i = 1; i <= GUARD; i++) clean &= to[-i] == 0x5a && to[n * size + i - 1] == 0x5a;
        check(clean, "%s wrote outside its output", o->op);
        if (verb == 0 && o->bytes == size) {
            out.data = from;
            check_ok(ctx, tally_scan(ctx, o->op, &in, &out, &e), o->op);
            check_same(from, want, n, size, "scan %s in place", o->op);
            check_fill(from, o->dtype, n, TL_DATA_PLAIN);
        }
    }
}

/* Few long rows and segments are cut between threads; each is still the reduction of that
   sequence alone. */
static void long_rows(tally *ctx, const check_operator *o)
{
    int64_t length = N * 8 / o->bytes / 3 - 7,
            offsets[] = {
                3, 3, 3 + length, 3 + length, 12 + length, 12 + 2 * length, 13 + 2 * length};
    char alone[16], rows[6 * 16];
    check_fill(x, o->dtype, offsets[6], TL_DATA_HOSTILE);
    tally_view segments = tally_segments(x, o->dtype, offsets, 6),
               two = tally_rows(x, o->dtype, 2, length);
    check_ok(ctx, tally_reduce(ctx, o->op, &segments, rows), o->op);
    for (int r = 0; r < 6; r++) {
        tally_view v = tally_flat(x + offsets[r] * o->bytes, o->dtype, offsets[r + 1] - offsets[r]);
        check_ok(one, tally_reduce(one, o->op, &v, alone), o->op);
        check_same(rows + r * o->result, alone, 1, o->result,
                   "%s of %s: segment %d of %lld, %s x%d", o->op, tally_dtype_name(o->dtype), r,
                   (long long)v.n, tally_isa(ctx), tally_threads(ctx));
    }
    check_ok(ctx, tally_reduce(ctx, o->op, &two, rows), o->op);
    for (int r = 0; r < 2; r++) {
        tally_view v = tally_flat(x + r * length * o->bytes, o->dtype, length);
        check_ok(one, tally_reduce(one, o->op, &v, alone), o->op);
        check_same(rows + r * o->result, alone, 1, o->result, "%s of %s: row %d, %s x%d", o->op,
                   tally_dtype_name(o->dtype), r, tally_isa(ctx), tally_threads(ctx));
    }
}

/* Most have none to two elements; a few have 300, so that only some batches are sorted. */
static void cut(void)
{
    for (int64_t r = 0; r < SEGMENTS; r++)
        cuts[r + 1] = cuts[r] + (check_below(5000) ? check_below(3) : 300);
}

static void short_segments(tally *ctx, const check_operator *o)
{
    const int64_t size = o->result;
    char alone[16], *const to = got + GUARD + check_below(17);
    check_fill(x, o->dtype, cuts[SEGMENTS], TL_DATA_HOSTILE);
    const tally_view in = tally_segments(x, o->dtype, cuts, SEGMENTS);
    memset(got, 0x5a, (size_t)(SEGMENTS * size) + 3 * GUARD);
    check_ok(ctx, tally_reduce(ctx, o->op, &in, to), o->op);
    for (int64_t r = 0; r < SEGMENTS; r += CHUNK) {
        const int64_t count = SEGMENTS - r < CHUNK ? SEGMENTS - r : CHUNK;
        const tally_view part = tally_segments(x, o->dtype, cuts + r, count),
                         first =
                             tally_flat(x + cuts[r] * o->bytes, o->dtype, cuts[r + 1] - cuts[r]);
        check_ok(one, tally_reduce(one, o->op, &part, want + r * size), o->op);
        check_ok(one, tally_reduce(one, o->op, &first, alone), o->op);
        check_same(want + r * size, alone, 1, size, "%s: segment %lld", o->op, (long long)r);
    }
    check_same(to, want, SEGMENTS, size, "%s of %s: short segments, %s x%d", o->op,
               tally_dtype_name(o->dtype), tally_isa(ctx), tally_threads(ctx));
    int clean = 1;
    for (int i = 1; i <= GUARD; i++) clean &= to[-i] == 0x5a && to[SEGMENTS * size + i - 1] == 0x5a;
    check(clean, "%s wrote outside its results", o->op);
}

/* Full windows of segments that lie side by side, of which a few are long; each is still those of
   that segment alone. */
static void windows_of_segments(tally *ctx, const check_operator *o)
{
    static int64_t offsets[N + 1];
    const tally_window_options w = {.before = check_below(check_below(4) ? 60 : 600),
                                    .after = check_below(3) * 7};
    const int64_t most = 1 + check_below(check_below(4) ? 400 : 3000);
    int64_t rows = 0;

    for (offsets[0] = check_below(9); offsets[rows] < N - 40000 && rows < 40000; rows++)
        offsets[rows + 1] =
            offsets[rows] + (check_below(2000) ? check_below(most) : check_below(30000));
    if (check_below(2)) offsets[++rows] = N; /* long enough for several threads */
    const int64_t first = offsets[0] * o->result, n = offsets[rows] - offsets[0];
    char *const to = got + GUARD + check_below(17) * (check_below(2) ? 4 : o->result);

    check_fill(x, o->dtype, offsets[rows], (int)check_below(TL_DATA_KINDS));
    memset(to - GUARD + first, 0x5a, (size_t)(n * o->result) + 2 * GUARD);
    const tally_view in = tally_segments(x, o->dtype, offsets, rows),
                     out = tally_segments(to, o->info.output, offsets, rows);
    if (!check_ok(ctx, tally_window(ctx, o->op, &in, &out, &w), o->op)) return;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t length = offsets[r + 1] - offsets[r];
        const tally_view each = tally_flat(x + offsets[r] * o->bytes, o->dtype, length),
                         alone = tally_flat(want + offsets[r] * o->result, o->info.output, length);
        if (length) check_ok(one, tally_window(one, o->op, &each, &alone, &w), o->op);
    }
    check_same(to + first, want + first, n, o->result,
               "windows %s of %s: %lld segments below %lld, before %lld after %lld, %s x%d", o->op,
               tally_dtype_name(o->dtype), (long long)rows, (long long)most, (long long)w.before,
               (long long)w.after, tally_isa(ctx), tally_threads(ctx));
    int clean = 1;
    for (int i = 1; i <= GUARD; i++)
        clean &= to[first - i] == 0x5a && to[first + n * o->result + i - 1] == 0x5a;
    check(clean, "windows %s wrote outside their results", o->op);
}

/* n elements of `bytes` bytes, `step` elements apart, side by side. */
static void pack(char *to, const char *from, int64_t step, int64_t n, int64_t bytes)
{
    for (int64_t i = 0; i < n; i++) memcpy(to + i * bytes, from + i * step * bytes, (size_t)bytes);
}

/* The results of out that should be `want`; all else in `got` should be untouched. */
static void check_apart(const check_operator *o, const tally_view *out, const char *what)
{
    const int64_t size = o->result, n = out->n;
    char *const y = out->data;
    int clean = 1;
    pack(packed, y, out->stride, n, size);
    check_same(packed, want, n, size, "%s of %s: %s, n=%lld, results %lld apart", o->op,
               tally_dtype_name(o->dtype), what, (long long)n, (long long)out->stride);
    for (int64_t i = 0; i < n; i++) memset(y + i * out->stride * size, 0x5a, (size_t)size);
    for (int64_t i = 0; i < N * 8; i++) clean &= got[i] == 0x5a;
    check(clean, "%s wrote outside its results", o->op);
}

static void strided(tally *ctx, const check_operator *o)
{
    const int64_t size = o->result, most = size > o->bytes ? size : o->bytes, block = 65536 / most,
                  step = 2 + check_below(2), blocks = N * 8 / most / step / block,
                  n = (blocks - check_below(blocks / 2)) * block + check_below(3) - 1,
                  back = check_below(2) ? n - 1 : 0, ways[] = {1, step, -1, -step},
                  way = ways[check_below(4)];
    const tally_scan_options e = {.exclusive = (int)check_below(2), .reverse = (int)check_below(2)};
    const tally_window_options w = {check_size(check_below(2) ? 60 : 20000), check_below(40),
                                    (tally_edges)check_below(3), 0};
    const tally_view in = {.data = x + back * step * o->bytes,
                           .dtype = o->dtype,
                           .rows = 1,
                           .n = n,
                           .stride = back ? -step : step};
    check_fill(x, o->dtype, n * step, (int)check_below(TL_DATA_KINDS));
    for (int verb = 0; verb < 3; verb++) { /* scan, in place, window */
        const tally_view flat = tally_flat(packed, o->dtype, n);
        tally_view law = tally_flat(want, o->info.output, n);
        tally_view from = in, out = {.dtype = o->info.output, .rows = 1, .n = n, .stride = way};
        out.data = got + (way < 0 ? -way * (n - 1) * size : 0);
        pack(packed, in.data, in.stride, n, o->bytes);
        memset(got, 0x5a, N * 8);
        if (verb == 1) {
            if (size != o->bytes) continue;
            out.stride = in.stride;
            from.data = out.data = got + back * step * size;
            for (int64_t i = 0; i < n; i++)
                memcpy(got + i * step * size, x + i * step * size, (size_t)size);
        }
        if (verb == 2) {
            out.n = law.n = tally_window_length(n, &w);
            check_ok(one, tally_window(one, o->op, &flat, &law, &w), o->op);
            check_ok(ctx, tally_window(ctx, o->op, &from, &out, &w), o->op);
        } else {
            check_ok(one, tally_scan(one, o->op, &flat, &law, &e), o->op);
            check_ok(ctx, tally_scan(ctx, o->op, &from, &out, &e), o->op);
        }
        check_apart(o, &out, verb == 2 ? "window" : verb ? "scan in place" : "scan");
    }
}

/* The call on columns and one of them alone: a scan, or a reduction if not. */
static void call_columns(tally *ctx, const check_operator *o, const tally_view *in,
                         const tally_view *out, const tally_scan_options *scan)
{
    check_ok(ctx,
             scan ? tally_scan(ctx, o->op, in, out, scan)
                  : tally_reduce(ctx, o->op, in, (void *)(uintptr_t)out->data),
             o->op);
}

/* Columns, of which threads take strips or blocks of rows: all results beside those of one thread,
 * and of a column alone. Scans may begin with a value, and may overwrite the elements. */
static void columns(tally *ctx, const check_operator *o)
{
    const int64_t size = o->result, most = check_below(3);
    const int64_t count = 2 + check_below(most ? most > 1 ? 4000 : 700 : 40);
    const int64_t apart = check_below(8) ? 1 : 2; /* from a column to the next one */
    const int64_t pitch = count * apart + check_below(3), column = check_below(count);
    const int64_t bytes = (check_below(6) ? 1 + check_below(8) : 17) << 18;
    const int64_t all = tl_min(bytes / o->bytes + check_below(2000), N * 7 / size);
    const int64_t n = 2 + all / pitch;
    const int in_place = size == o->bytes && check_below(4) == 0;
    /* most scans are forward and inclusive, which have more ways */
    const tally_scan_options e = {.exclusive = check_below(4) == 0,
                                  .reverse = check_below(4) == 0,
                                  .init = o->info.seedable && check_below(2) ? x : NULL};
    check_fill(x, o->dtype, n * pitch, (tl_data)check_below(TL_DATA_KINDS));
    if (check_below(2)) /* extremes come late */
        memset(x, 1, (size_t)(check_below(n) * pitch * o->bytes));
    if (check_below(4) == 0) memset(x, 0xff, 16); /* NaN, and so is init */
    for (int verb = 0; verb < 2; verb++) {
        const tally_scan_options *const scan = verb ? &e : NULL;
        const int64_t results = verb ? n : 1;
        tally_view in = {x, o->dtype, count, n, apart, pitch, NULL, NULL, 0, NULL}, out = in, law,
                   one_in = tally_flat(packed, o->dtype, n);
        out.dtype = o->info.output;
        law = out, law.data = want, out.data = got;
        memset(want, 0x5a, (size_t)(results * pitch * size));
        memset(got, 0x5a, (size_t)(results * pitch * size));
        call_columns(one, o, &in, &law, scan);
        pack(packed, x + column * apart * o->bytes, pitch, n, o->bytes);
        if (verb && in_place) {
            in.data = got;
            for (int64_t at = 0; at < n * pitch; at += pitch)
                for (int64_t k = at; k < at + count * apart; k += apart)
                    memcpy(got + k * size, x + k * size, (size_t)size);
        }
        call_columns(ctx, o, &in, &out, scan);
        check_same(got, want, verb ? n * pitch : count, size,
                   "%s %s of %s: %lld of %lld columns, n=%lld, %s x%d", verb ? "scan" : "reduce",
                   o->op, tally_dtype_name(o->dtype), (long long)count, (long long)pitch,
                   (long long)n, tally_isa(ctx), tally_threads(ctx));
        pack(packed + N * 4, want + column * (verb ? apart : 1) * size, pitch, results, size);
        law = tally_flat(want, o->info.output, n);
        call_columns(one, o, &one_in, &law, scan);
        check_same(packed + N * 4, want, results, size, "%s %s of %s: column %lld of %lld, n=%lld",
                   verb ? "scan" : "reduce", o->op, tally_dtype_name(o->dtype), (long long)column,
                   (long long)count, (long long)n);
    }
}

/* Columns of random operators, and of some that have loops or states of their own. */
static void many_columns(tally *ctx)
{
    static const struct {
        const char *op;
        tally_dtype dtype;
    } some[] = {{"max", TALLY_F16},
                {"min", TALLY_I8},
                {"nanmax", TALLY_BF16},
                {"any", TALLY_U16},
                {"max", TALLY_U32}};
    for (int k = 0; k < 16; k++) {
        const int64_t which = check_below(8);
        check_operator o;
        if (which > 4 || !check_operator_make(&o, some[which].op, some[which].dtype, 0))
            o = check_operator_random();
        columns(ctx, &o);
    }
}

/* More threads than processors: threads stop in the middle of a block, others scan on alone, and
 * each continues where others were. */
static void again(void)
{
    static const struct {
        const char *op;
        int pairs, valid;
    } calls[] = {{"sum", 0, 0}, {"dot", 1, 0}, {"mean", 0, 1}, {"dot", 1, 1}};
    static unsigned char bits[N / 4];
    const int64_t n = N * 2;
    tally *ctx = check_open(9, check_isa(0));
    check_fill(x, TALLY_F32, n, TL_DATA_PLAIN);
    check_fill(packed, TALLY_F32, n, TL_DATA_PLAIN);
    for (int64_t i = 0; i < N / 4; i++) bits[i] = (unsigned char)check_random();

    for (int i = 0; i < 4; i++) {
        const char *op = calls[i].op;
        const tally_view next = tally_flat(packed, TALLY_F32, n),
                         out = tally_flat(got, TALLY_F32, n), law = tally_flat(want, TALLY_F32, n);
        tally_view in = tally_flat(x, TALLY_F32, n);
        if (calls[i].pairs) in.next = &next;
        if (calls[i].valid) in.valid = bits;
        check_ok(one, tally_scan(one, op, &in, &law, NULL), op);
        for (int k = 0; k < (check_quick ? 8 : 100); k++) {
            memset(got, 0x5a, N * 8);
            choose_polls();
            check_ok(ctx, tally_scan(ctx, op, &in, &out, NULL), op);
            check_same(got, want, n, 4, "%s: scan number %d on 9 threads", op, k);
        }
    }
    tally_close(ctx);
}

int main(void)
{
    check_start();
    one = check_open(1, check_isa(0));
    x = malloc((size_t)N * 8 + 4096);
    got = malloc((size_t)N * 8 + 4096);
    want = malloc((size_t)N * 8 + 65536 * 8);
    packed = malloc((size_t)N * 8);
    int count = (int)(sizeof cases / sizeof *cases);
    cut();
    for (int i = 0; check_isa(i); i++)
        for (int threads = CHECK_LEAST_THREADS; threads <= 3; threads++) {
            tally *ctx = check_open(threads, check_isa(i));
            for (int k = 0; k < count; k++) {
                check_operator o;
                if (check_quick && (k + threads + (int)(check_seed % 7)) % 7) continue;
                if (!check_operator_make(&o, cases[k].op, cases[k].dtype, 0)) continue;
                choose_polls();
                large(ctx, &o);
                long_rows(ctx, &o);
                if (k % 3 == threads - 1) short_segments(ctx, &o);
                windows_of_segments(ctx, &o);
            }
            tally_close(ctx);
        }
    for (int threads = CHECK_LEAST_THREADS; threads <= 9; threads += check_quick ? 4 : 1) {
        tally *ctx = check_open(threads, check_isa(0));
        for (int k = check_quick ? (int)check_below(6) : threads % 2; k < count;
             k += check_quick ? 6 : 2) {
            check_operator o;
            if (!check_operator_make(&o, cases[k].op, cases[k].dtype, 0)) continue;
            choose_polls();
            strided(ctx, &o);
            columns(ctx, &o);
        }
        many_columns(ctx);
        tally_close(ctx);
    }
    again();
    tally_close(one);
    free(x);
    free(got);
    free(want);
    free(packed);
    return check_finish();
}
