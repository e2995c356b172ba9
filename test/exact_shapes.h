/* SPDX-License-Identifier: MIT
 * One dense input in every shape: sizes, views, scans, windows, streams. Plain data: tally_exact is
 * the same however it was made, and has no other value than the reduction. Part of test_exact.c. */
#ifndef TALLY_TEST_EXACT_SHAPES_H
#define TALLY_TEST_EXACT_SHAPES_H
#include "exact_inputs.h"

static void flat(tally *ctx, const char *isa, const check_operator *o, int kind)
{
    static const int64_t sizes[] = {0,  1,   2,    3,    47,   48,   63,  64,
                                    65, 255, 4095, 4096, 4097, 8191, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int64_t n = check_quick && sizes[s] == MOST ? 9000 : sizes[s];
        char *x = data + check_below(16);
        fill(x, o->dtype, n, kind);
        const tally_view in = tally_flat(x, o->dtype, n);
        reference(o, x, 1, n, want);
        check_ok(ctx, tally_reduce(ctx, o->op, &in, got), o->op);
        check_same(got, want, 1, o->result, "%s %s n=%lld kind %d %s", o->op,
                   tally_dtype_name(o->dtype), (long long)n, kind, isa);
    }
}

static void views(tally *ctx, const check_operator *o, int kind)
{
    int64_t offsets[41] = {check_below(5)};
    for (int r = 0; r < 40; r++)
        offsets[r + 1] = offsets[r] + (check_below(3) ? check_below(90) : check_below(700));
    fill(data, o->dtype, MOST, kind);
    const tally_view all[] = {
        {data, o->dtype, 40, 130, 131, 1, NULL},
        {data, o->dtype, 37, 300, 1, 41, NULL},
        {data, o->dtype, 5, 700, 1, 5, NULL},
        {data, o->dtype, 9, 400, 1300, 3, NULL},
        {data + 9000 * o->bytes, o->dtype, 3, 900, -1000, -1, NULL},
        {data, o->dtype, 40, 0, 0, 1, offsets},
        {data, o->dtype, 3, 777, 5, 0, NULL},
        {data, o->dtype, 3000, 3, 3, 1, NULL},
    };
    for (size_t v = 0; v < sizeof all / sizeof *all; v++) {
        const tally_view *in = &all[v];
        for (int64_t r = 0; r < in->rows; r++) {
            const int64_t at = in->offsets ? in->offsets[r] * in->stride : r * in->row_stride,
                          n = in->offsets ? in->offsets[r + 1] - in->offsets[r] : in->n;
            reference(o, (char *)in->data + at * o->bytes, in->stride, n, want + r * o->result);
        }
        memset(got, 0x55, sizeof got);
        check_ok(ctx, tally_reduce(ctx, o->op, in, got), o->op);
        check_same(got, want, in->rows, o->result, "%s %s view %d kind %d", o->op,
                   tally_dtype_name(o->dtype), (int)v, kind);
        check(got[in->rows * o->result] == 0x55, "%s view %d: a byte behind the results", o->op,
              (int)v);
    }
}

/* The windows of the n elements of data, in want; returns how many. */
static int64_t windows_of(const check_operator *o, int64_t n, const tally_window_options *wo)
{
    int64_t results = 0;
    const int skips = !strncmp(o->op, "nan", 3);
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = i < wo->before ? 0 : i - wo->before,
                      end = n - 1 - i < wo->after ? n : i + wo->after + 1;
        const int full = i >= wo->before && n - 1 - i >= wo->after;
        if (!full && wo->edges == TALLY_EDGES_VALID) continue;
        exactly e;
        memset(&e, 0, sizeof e);
        for (int64_t j = from; j < end; j++) take_in(&e, o->dtype, data + j * o->bytes);
        const int enough = e.count - (skips ? e.nan : 0) >= wo->min_count &&
                           (full || wo->edges == TALLY_EDGES_SHRINK || wo->min_count > 0);
        if (!enough) memset(&e, 0, sizeof e);
        value_of(&e, o, want + results++ * o->result);
    }
    return results;
}

/* The same from chunks. */
static void series_streams(tally *ctx, const check_operator *o, const tally_view *in,
                           tally_scan_options so, const tally_window_options *wo)
{
    const int64_t n = in->n, results = tally_window_length(n, wo);
    for (int verb = 0; verb < 3; verb++) {
        tally_stream *s = NULL;
        so.reverse = 0;
        int64_t produced = 0, more = 0, all = verb == 0 ? 1 : verb == 1 ? n : results;
        if (verb == 0) check_ok(ctx, tally_stream_reduce(ctx, o->op, o->dtype, &s), "stream");
        if (verb == 1) check_ok(ctx, tally_stream_scan(ctx, o->op, o->dtype, &so, &s), "stream");
        if (verb == 2) check_ok(ctx, tally_stream_window(ctx, o->op, o->dtype, wo, &s), "stream");
        for (int64_t at = 0, m; s && at < n; at += m) {
            m = 1 + check_below(90);
            if (m > n - at) m = n - at;
            check_ok(
                ctx,
                tally_stream_push(s, data + at * o->bytes, m, got + produced * o->result, &more),
                "push");
            produced += more;
        }
        check_ok(ctx, tally_stream_finish(s, got + produced * o->result, &more), "finish");
        tally_stream_close(s);
        check(produced + more == all, "stream: %lld results, not %lld",
              (long long)(produced + more), (long long)all);
        if (verb == 0) check_ok(ctx, tally_reduce(ctx, o->op, in, want), "reduce");
        if (verb == 1)
            check_ok(ctx,
                     tally_scan(ctx, o->op, in,
                                &(tally_view){want, o->info.output, 1, n, n, 1, NULL}, &so),
                     "scan");
        if (verb == 2)
            check_ok(ctx,
                     tally_window(ctx, o->op, in,
                                  &(tally_view){want, o->info.output, 1, results, results, 1, NULL},
                                  wo),
                     "window");
        check_same(got, want, all, o->result, "stream %d of %s", verb, o->op);
    }
}

static void series(tally *ctx, const check_operator *o, int kind)
{
    const int64_t n = 1 + check_below(500);
    fill(data, o->dtype, n, kind);
    const tally_view in = tally_flat(data, o->dtype, n), out = tally_flat(got, o->info.output, n);
    tally_scan_options so = {.exclusive = (int)check_below(2), .reverse = (int)check_below(2)};
    for (int64_t i = 0; i < n; i++) {
        const int64_t m = so.exclusive ? i : i + 1;
        if (so.reverse)
            reference(o, data + (n - 1) * o->bytes, -1, m, want + (n - 1 - i) * o->result);
        else
            reference(o, data, 1, m, want + i * o->result);
    }
    check_ok(ctx, tally_scan(ctx, o->op, &in, &out, &so), "scan");
    check_same(got, want, n, o->result, "scan %s %s kind %d exclusive %d reverse %d", o->op,
               tally_dtype_name(o->dtype), kind, so.exclusive, so.reverse);

    tally_window_options wo = {check_below(60), check_below(3) ? 0 : check_below(60),
                               (tally_edges)check_below(3), 0};
    if (check_below(2)) wo.min_count = check_below(wo.before + wo.after + 2);
    const int64_t results = windows_of(o, n, &wo);
    const tally_view windows = tally_flat(got, o->info.output, tally_window_length(n, &wo));
    check(windows.n == results, "windows: %lld, not %lld", (long long)windows.n,
          (long long)results);
    check_ok(ctx, tally_window(ctx, o->op, &in, &windows, &wo), "window");
    check_same(got, want, results, o->result,
               "window %s %s kind %d before %lld after %lld edges %d min %lld n %lld", o->op,
               tally_dtype_name(o->dtype), kind, (long long)wo.before, (long long)wo.after,
               (int)wo.edges, (long long)wo.min_count, (long long)n);
    series_streams(ctx, o, &in, so, &wo);
}

/* ---- tally_exact ---- */

/* Of elements with bits: those that are there, on both sides of a cut and by columns backwards. */
static void states_of_bits(tally *ctx, tally_dtype d, int kind, tally_view x)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), n = x.n;
    tally_exact some, these;
    static unsigned char there[3000 / 8 + 4];
    for (size_t i = 0; i < sizeof there; i++) there[i] = (unsigned char)check_below(256);
    tally_exact_init(&some);
    tally_exact_init(&these);
    for (int64_t i = 0; i < n; i++) {
        const tally_view one = tally_flat(data + i * bytes, d, 1);
        if (there[(i + 5) >> 3] >> ((i + 5) & 7) & 1)
            check_ok(ctx, tally_exact_add(ctx, &these, &one), "add");
    }
    x.valid = there;
    x.valid_offset = 5;
    tally_view columns = {data + 29 * bytes, d, 30, n / 30, -1, 30, NULL, there, 5 + 29, NULL};
    check_ok(ctx, tally_exact_add(ctx, &some, &columns), "add with bits");
    check_same(&some, &these, 1, sizeof some, "bits %s kind %d", tally_dtype_name(d), kind);
    check_ok(ctx, tally_exact_subtract(ctx, &some, &x), "subtract with bits");
    tally_exact_init(&these);
    check_same(&some, &these, 1, sizeof some, "bits taken back %s kind %d", tally_dtype_name(d),
               kind);
}

/* Words of many states, added as integers by somebody else. state: that of the n elements of
 * data. */
static void added_words(tally *ctx, tally_dtype d, int kind, int64_t n, const tally_exact *state)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d);
    tally_exact parts, none;
    memset(&parts, 0, sizeof parts);
    for (int j = 0; j < 1000; j++)
        for (int k = 0; k < 72; k++) parts.word[k] += state->word[k];
    exactly e;
    memset(&e, 0, sizeof e);
    for (int64_t i = 0; i < n; i++) take_in(&e, d, data + i * bytes);
    tally_exact_init(&none);
    for (int j = 0; j < 1000; j++) tally_exact_merge(&none, state);
    for (int f = 0; f < FORMS; f++) {
        const check_operator o = pick(forms[f], d);
        double u = 0, v = 0, w = 0;
        check_ok(ctx, tally_exact_value(ctx, state, o.op, d, &u), "value");
        value_of(&e, &o, &v);
        check_same(&u, &v, 1, 8, "value %s %s kind %d", o.op, tally_dtype_name(d), kind);
        check_ok(ctx, tally_exact_value(ctx, &parts, o.op, d, &v), "value");
        check_ok(ctx, tally_exact_value(ctx, &none, o.op, d, &w), "value");
        check_same(&v, &w, 1, 8, "value of 1000 states %s %s kind %d", o.op, tally_dtype_name(d),
                   kind);
    }
}

static void states(tally *ctx, tally_dtype d, int kind)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), n = 3000, cut = check_below(n);
    tally_exact whole, parts, part, none;
    tally_view x = tally_flat(data, d, n), a = tally_flat(data, d, cut),
               b = tally_flat(data + cut * bytes, d, n - cut),
               back = {data + (n - 1) * bytes, d, 1, n, n, -1, NULL};
    fill(data, d, n, kind);
    tally_exact_init(&whole);
    tally_exact_init(&parts);
    tally_exact_init(&part);
    tally_exact_init(&none);
    check_ok(ctx, tally_exact_add(ctx, &whole, &x), "add");
    check_ok(NULL, tally_exact_add(NULL, &parts, &b), "add");
    check_ok(ctx, tally_exact_add(ctx, &part, &a), "add");
    tally_exact_merge(&parts, &part);
    check_same(&parts, &whole, 1, sizeof whole, "merged %s kind %d", tally_dtype_name(d), kind);
    tally_exact_unmerge(&parts, &part);
    check_ok(ctx, tally_exact_subtract(ctx, &whole, &a), "subtract");
    check_same(&parts, &whole, 1, sizeof whole, "taken back %s kind %d", tally_dtype_name(d), kind);
    check_ok(ctx, tally_exact_subtract(ctx, &whole, &b), "subtract");
    check_same(&whole, &none, 1, sizeof whole, "nothing left %s kind %d", tally_dtype_name(d),
               kind);
    check_ok(ctx, tally_exact_add(ctx, &whole, &back), "add");
    tally_exact_merge(&parts, &part);
    check_same(&parts, &whole, 1, sizeof whole, "backwards %s kind %d", tally_dtype_name(d), kind);
    states_of_bits(ctx, d, kind, x);
    for (int k = 0; k < 67; k++)
        check(whole.word[k] >= 0 && whole.word[k] >> 32 == 0, "word %d is not settled", k);
    added_words(ctx, d, kind, n, &whole);
}

/* With validity the state is that of the elements that are there, and a product of two below f64
   is an element. */
static void states_of_inputs(tally *ctx, tally_dtype d)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), rows = 3, n = 1 + check_below(400),
                  all = rows * n;
    const int64_t offsets[] = {0, n / 2, n / 2, all};
    for (int how = 0; how < 4; how++) {
        fill(data, d, 2 * all, how);
        fill(got, d, 2 * all, how + 1);
        for (int64_t i = 0; i < PAIRS; i++) bits[0][i] = (unsigned char)check_below(256);
        tally_view x = {data, d, rows, n, n, 1, NULL};
        if (how == 1) x.stride = rows, x.row_stride = 1;
        if (how == 2) x.stride = 2, x.row_stride = 2 * n;
        if (how == 3) x.offsets = offsets;
        x.valid = bits[0];
        x.valid_offset = 5;
        int64_t kept = 0;
        for (int64_t i = 0; i < (how == 2 ? 2 : 1) * all; i++)
            if (is_there(&x, i) && (how != 2 || i % 2 == 0))
                memcpy(want + kept++ * bytes, data + i * bytes, (size_t)bytes);
        const tally_view dense = tally_flat(want, d, kept);
        tally_exact masked, filtered;
        tally_exact_init(&masked);
        tally_exact_init(&filtered);
        check_ok(ctx, tally_exact_add(ctx, &masked, &x), "add with validity");
        check_ok(ctx, tally_exact_add(ctx, &filtered, &dense), "add");
        check_same(&masked, &filtered, 1, sizeof masked, "validity %d of %s", how,
                   tally_dtype_name(d));
        check_ok(ctx, tally_exact_subtract(ctx, &masked, &x), "subtract with validity");
        tally_exact_init(&filtered);
        check_same(&masked, &filtered, 1, sizeof masked, "validity %d of %s taken back", how,
                   tally_dtype_name(d));

        tally_view y = x, one = x;
        y.data = got;
        y.valid = NULL;
        x.next = &y;
        if (d == TALLY_F64) {
            check(tally_exact_add(ctx, &masked, &x) == TALLY_UNSUPPORTED &&
                      strstr(tally_error(ctx), "x->next is given"),
                  "pairs of f64: %s", tally_error(ctx));
            continue;
        }
        if (how == 3) continue;
        for (int64_t r = 0; r < rows; r++) { /* row after row, and one that comes and goes */
            tally_view next = y;
            one.rows = next.rows = 1;
            one.data = data + r * x.row_stride * bytes;
            one.valid_offset = x.valid_offset + r * x.row_stride;
            next.data = got + r * x.row_stride * bytes;
            one.next = &next;
            check_ok(ctx, tally_exact_add(ctx, &masked, &one), "add pairs");
            double dot = 0, value = 0;
            tally_exact row;
            tally_exact_init(&row);
            check_ok(ctx, tally_exact_add(ctx, &row, &one), "add pairs");
            check_ok(ctx, tally_reduce(ctx, "dot:exact", &one, &dot), "dot");
            check_ok(ctx, tally_exact_value(ctx, &row, "dot:exact", d, &value), "value");
            check_same(&value, &dot, 1, 8, "dot of %s, row %d, how %d", tally_dtype_name(d), (int)r,
                       how);
        }
        check_ok(ctx, tally_exact_add(ctx, &filtered, &x), "add pairs of rows");
        check_same(&masked, &filtered, 1, sizeof masked, "pairs %d of %s", how,
                   tally_dtype_name(d));
    }
}
#endif
