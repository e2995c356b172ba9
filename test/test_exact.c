/* SPDX-License-Identifier: MIT
 * Exact sums beside integer arithmetic of any width that does nothing else: a sum as 4608 bits,
 * divided and rounded bit by bit. Every shape, view, type, instruction set and number of
 * threads; pairs and validity; plain data; bad arguments. */
#include "check.h"
#include "exact_inputs.h"
#include "exact_shapes.h"
#include "gpus.h"

/* ---- cases whose results are known ---- */

static double sum_of(tally *ctx, const char *op, const double *x, int64_t n)
{
    double r = -1;
    const tally_view in = tally_flat(x, TALLY_F64, n);
    check_ok(ctx, tally_reduce(ctx, op, &in, &r), op);
    return r;
}

static void table_of_sums(tally *ctx)
{
    const double most = 0x1.fffffffffffffp1023, half = 0x1p970, tiny = 0x1p-1074;
    const struct {
        double x[5];
        int n;
        double sum, mean;
    } rows[] = {
        {{1, 0x1p-53}, 2, 1, 0.5},                                  /* a tie: to even */
        {{1, 0x1p-53, tiny}, 3, 1 + 0x1p-52, 0x1.5555555555556p-2}, /* a little more than a tie */
        {{1 + 0x1p-52, 0x1p-53}, 2, 1 + 0x1p-51, 0.5 + 0x1p-52},    /* ties: up, to even */
        {{1e308, 1e308, -1e308}, 3, 1e308, 1e308 / 3},              /* no overflow in between */
        /* below the tie with infinity */
        {{most, half / 2}, 2, most, most / 2},
        /* ties: to infinity; the mean is not */
        {{most, half}, 2, INFINITY, 0x1p1023},
        {{-most, -half}, 2, -INFINITY, -0x1p1023},
        {{most, most, -most, -most, tiny}, 5, tiny, 0}, /* a mean that rounds to 0 */
        {{tiny, tiny, tiny}, 3, 3 * tiny, tiny},
        {{-tiny, 0}, 2, -tiny, 0}, /* half of the least: to even, and never -0 */
        {{-0.0, -0.0}, 2, 0, 0},
        /* the quotient is a little more than a tie */
        {{3, 0x3p-53, 0x1p-100}, 3, 3 + 0x1p-51, 1 + 0x1p-52},
        {{3, 0x3p-53, 0x1p-70}, 3, 3 + 0x1p-51, 1 + 0x1p-52},
        {{-3, -0x3p-53, -0x1p-85}, 3, -3 - 0x1p-51, -1 - 0x1p-52},
        {{1e100, 1, -1e100}, 3, 1, 1.0 / 3},
        {{INFINITY, 1}, 2, INFINITY, INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double s = sum_of(ctx, "sum:exact", rows[i].x, rows[i].n),
                     m = sum_of(ctx, "mean:exact", rows[i].x, rows[i].n);
        check_same(&s, &rows[i].sum, 1, 8, "known sum %d", (int)i);
        check_same(&m, &rows[i].mean, 1, 8, "known mean %d", (int)i);
    }
    /* 2^31 elements of the largest number, and the least ones behind them */
    tally_exact s, t;
    const tally_view one = tally_flat(&most, TALLY_F64, 1);
    tally_exact_init(&s);
    check_ok(ctx, tally_exact_add(ctx, &s, &one), "add");
    t = s;
    for (int k = 0; k < 31; k++) tally_exact_merge(&s, &s);
    double v;
    check_ok(ctx, tally_exact_value(ctx, &s, "sum:exact", TALLY_F64, &v), "value");
    check(v == INFINITY, "2^31 of the largest: %g", v);
    check_ok(ctx, tally_exact_value(ctx, &s, "mean:exact", TALLY_F64, &v), "value");
    check(v == most, "their mean: %g", v);
    for (int k = 0; k < 31; k++) tally_exact_merge(&t, &t);
    tally_exact_unmerge(&s, &t);
    const tally_view least = tally_flat(&tiny, TALLY_F64, 1);
    check_ok(ctx, tally_exact_add(ctx, &s, &least), "add");
    check_ok(ctx, tally_exact_value(ctx, &s, "sum:exact", TALLY_F64, &v), "value");
    check(v == tiny && s.word[71] == 1, "what is left: %g", v);
}

static void table_of_pairs(tally *ctx)
{
    const double most = 0x1.fffffffffffffp1023, tiny = 0x1p-1074, odd = 1 + 0x1p-52;
    const struct {
        double x[3], y[3], dot;
        int n;
    } rows[] = {
        {{1e200, 1, -1e200}, {1e200, 3, 1e200}, 3, 3},   /* no overflow in between */
        {{most, -most, tiny}, {most, most, 1}, tiny, 3}, /* products of all 2098 + 2098 bits */
        /* far below the least number: it rounds back */
        {{tiny, -1, 0}, {tiny, tiny, 0}, -tiny, 2},
        {{tiny, 0x1p-1000}, {0.5, 0x1p-1000}, tiny, 2},  /* a little more than half of the least */
        {{tiny, 0}, {0.5, 0}, 0, 2},                     /* a tie: to even */
        {{tiny, 0}, {1.5, 0}, 2 * tiny, 2},              /* and another one */
        {{odd, -1, -0x1p-51}, {odd, 1, 1}, 0x1p-104, 3}, /* the last bit of a product */
        {{most, most}, {2, -1}, INFINITY, 1},
        {{most, most}, {2, -1}, most, 2},
        {{INFINITY, 1}, {0, 1}, NAN, 2},
        {{-INFINITY, 1}, {2, 1}, -INFINITY, 2},
        {{-1, 0}, {0, 1}, 0, 2}, /* never -0 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double dot = 7, nandot = 7;
        tally_view x = tally_flat(rows[i].x, TALLY_F64, rows[i].n),
                   y = tally_flat(rows[i].y, TALLY_F64, rows[i].n);
        x.next = &y;
        check_ok(ctx, tally_reduce(ctx, "dot:exact", &x, &dot), "dot");
        check_ok(ctx, tally_reduce(ctx, "nandot:exact", &x, &nandot), "nandot");
        const double nan = NAN, *wanted = rows[i].dot == rows[i].dot ? &rows[i].dot : &nan;
        check_same(&dot, wanted, 1, 8, "known dot %d", (int)i);
        check_same(&nandot, wanted, 1, 8, "known nandot %d", (int)i);
    }
}

/* Quotients of exact sums beside the ends of a type: its least number, the least one that is not
 * subnormal, the largest. A weighted mean is any quotient. */
static void table_of_quotients(tally *ctx, tally_dtype dtype)
{
    const int wide = dtype == TALLY_F64;
    const double least = wide ? 0x1p-1074 : 0x1p-149, normal = wide ? 0x1p-1022 : 0x1p-126,
                 most = wide ? 0x1.fffffffffffffp1023 : 0x1.fffffep127,
                 half = wide ? 0x1p970 : 0x1p103, ulp = wide ? 0x1p-52 : 0x1p-23;
    const struct {
        double x[3], y[3], want;
    } rows[] = {
        {{least}, {1, 3}, 0},               /* a quarter of the least number */
        {{least}, {1, 0x1p80}, 0},          /* far below it */
        {{least}, {1, 1}, 0},               /* a tie: to even */
        {{least}, {1, 1 - ulp / 2}, least}, /* above the tie */
        {{least}, {1, 1 + ulp}, 0},         /* below it */
        {{-least}, {1, 1 - ulp / 2}, -least},
        {{-least}, {1, 1}, 0}, /* never -0 */
        {{least}, {3, -2}, 3 * least},
        {{least}, {3, 1, -2}, 2 * least},                   /* 1.5: a tie */
        {{least}, {5, 1, -4}, 2 * least},                   /* 2.5: another one */
        {{normal}, {1, ulp / 4}, normal},                   /* rounds up to a normal number */
        {{normal, normal}, {1, -ulp, ulp}, normal - least}, /* the largest that is subnormal */
        {{most}, {1}, most},
        {{most, half / 2}, {1, 1, -1}, most}, /* below the tie with infinity */
        {{most, half}, {1, 1, -1}, INFINITY}, /* a tie: to infinity */
        {{-most, -half}, {1, 1, -1}, -INFINITY},
        {{most}, {2, -1}, INFINITY},
        {{most, most}, {most, most, 1}, most},
        {{least}, {least, most}, 0},
        {{most}, {most, least, -most}, INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float narrow_x[3], narrow_y[3], narrow = 7;
        double r = 7;
        for (int k = 0; k < 3; k++)
            narrow_x[k] = (float)rows[i].x[k], narrow_y[k] = (float)rows[i].y[k];
        tally_view x = tally_flat(wide ? (const void *)rows[i].x : narrow_x, dtype, 3),
                   y = tally_flat(wide ? (const void *)rows[i].y : narrow_y, dtype, 3);
        x.next = &y;
        check_ok(ctx, tally_reduce(ctx, "wmean:exact", &x, wide ? (void *)&r : &narrow), "wmean");
        if (!wide) r = narrow;
        check_same(&r, &rows[i].want, 1, 8, "%s: quotient %d", tally_dtype_name(dtype), (int)i);
    }
}

/* A scan that begins with an initial value goes on after a fragment of the first elements of each
 * row. pairs: the elements are also the second input. */
static void goes_on(tally *ctx, const char *op, const tally_view *all, const void *init, int pairs)
{
    const tally_scan_options o = {.init = init, .exclusive = all->rows == 2};
    const int64_t n = all->n, begin = n / 3;
    char whole[48], parts[48];
    tally_view in[2] = {*all, *all}, head[2] = {*all, *all}, rest[2] = {*all, *all};
    tally_view out = *all;
    out.data = whole;
    for (int k = 0; k < 2; k++) {
        head[k].n = begin;
        rest[k].n = n - begin;
        rest[k].data = (char *)all->data + 8 * begin;
    }
    if (pairs) in[0].next = &in[1], head[0].next = &head[1], rest[0].next = &rest[1];
    check_ok(ctx, tally_scan(ctx, op, in, &out, &o), op);

    tally_stream *s = NULL;
    tally_fragment *f = NULL;
    out.n = n - begin;
    out.data = parts + 8 * begin;
    check_ok(ctx, tally_stream_scan_rows(ctx, op, all->dtype, all->rows, &o, &s), op);
    check_ok(ctx, tally_fragment_of_view(ctx, op, head, 0, &f), op);
    check_ok(ctx, tally_stream_resume(s, f), op);
    check_ok(ctx, tally_stream_push_view(s, rest, &out), op);
    for (int64_t r = 0; r < all->rows; r++)
        check_same(parts + 8 * (r * n + begin), whole + 8 * (r * n + begin), n - begin, 8,
                   "%s goes on, row %d of %d", op, (int)r, (int)all->rows);
    tally_fragment_free(f);
    tally_stream_close(s);
}

static void resumed(tally *ctx)
{
    double x[] = {1e100, 1, 2, -3, -1e100, 0.5}, init = 0.25;
    int64_t whole[] = {INT64_MAX - 5, 1, 2, -3, -7, 9}, start = 2;
    for (int rows = 1; rows < 3; rows++) {
        const int64_t n = 6 / rows;
        const tally_view of_x = {x, TALLY_F64, rows, n, n, 1, NULL},
                         of_whole = {whole, TALLY_I64, rows, n, n, 1, NULL};
        goes_on(ctx, "sum:exact", &of_x, &init, 0);
        goes_on(ctx, "dot:exact", &of_x, &init, 1);
        goes_on(ctx, "sum:checked", &of_whole, &start, 0);
    }

    /* sum and sum:checked have other states */
    tally_fragment *sum, *checked;
    tally_stream *s;
    check_ok(ctx, tally_fragment_make(ctx, "sum", TALLY_I64, whole, 0, 2, &sum), "sum");
    check_ok(ctx, tally_fragment_make(ctx, "sum:checked", TALLY_I64, whole, 2, 2, &checked), "sum");
    check(tally_fragment_merge(sum, checked) == TALLY_INVALID, "merged: sum and sum:checked");
    check(tally_fragment_merge(checked, sum) == TALLY_INVALID, "merged: sum:checked and sum");
    check_ok(ctx, tally_stream_reduce(ctx, "sum:checked", TALLY_I64, &s), "stream");
    check(tally_stream_resume(s, sum) == TALLY_INVALID, "resumed: sum:checked after sum");
    tally_stream_close(s);
    tally_fragment_free(sum);
    tally_fragment_free(checked);
}

/* A scan of so many elements that several threads take parts of it begins with an initial value. */
static void started(tally *many, const char *isa)
{
    enum { N = 1 << 18 };
    static double x[N], single[N], several[N];
    const double init = 1e9;
    const tally_scan_options o = {.init = &init};
    const tally_view in = tally_flat(x, TALLY_F64, N), to = tally_flat(single, TALLY_F64, N),
                     out = tally_flat(several, TALLY_F64, N);
    tally *const one = check_open(1, isa);

    check_fill(x, TALLY_F64, N, TL_DATA_PLAIN);
    check_ok(one, tally_scan(one, "sum:exact", &in, &to, &o), "one thread");
    check_ok(many, tally_scan(many, "sum:exact", &in, &out, &o), "threads");
    check_same(several, single, N, sizeof *several, "sum:exact from an initial value");
    tally_close(one);
}

/* ---- arguments ---- */

static void refused(tally *ctx, tally_status status, tally_status wanted, const char *words)
{
    check(status == wanted && strstr(tally_error(ctx), words), "refused: %s: %s; wanted %s",
          tally_status_name(status), tally_error(ctx), words);
}

static void errors(tally *ctx)
{
    double r = 7;
    tally_exact s;
    tally_view i = tally_flat(&r, TALLY_I64, 1), v = tally_flat(NULL, TALLY_F64, 3);
    tally_exact_init(&s);
    refused(ctx, tally_reduce(ctx, "sum:exact", &i, &r), TALLY_UNSUPPORTED,
            "takes f16, bf16, f32 and f64, not i64");
    i.dtype = TALLY_F64;
    refused(ctx, tally_reduce(ctx, "max:exact", &i, &r), TALLY_UNSUPPORTED,
            "is for sum, mean, dot, wmean, sumsq");
    refused(ctx, tally_exact_value(ctx, &s, "dot:exact", TALLY_F64, &r), TALLY_INVALID,
            "must be sum:exact");
    refused(ctx, tally_reduce(ctx, "sum:exactly", &i, &r), TALLY_INVALID,
            "its suffixes are :f64 and :exact");
    refused(ctx, tally_exact_add(ctx, NULL, &i), TALLY_INVALID, "sum is NULL");
    refused(ctx, tally_exact_add(ctx, &s, NULL), TALLY_INVALID, "x is NULL");
    refused(ctx, tally_exact_add(ctx, &s, &v), TALLY_INVALID, "x->data is NULL");
    refused(NULL, tally_exact_add(NULL, &s, &v), TALLY_INVALID, "x->data is NULL");
    i.valid = &s;
    i.valid_offset = -1;
    refused(ctx, tally_exact_add(ctx, &s, &i), TALLY_INVALID, "x->valid_offset is -1");
    i.dtype = TALLY_U8;
    refused(NULL, tally_exact_add(NULL, &s, &i), TALLY_UNSUPPORTED, "not u8");
    refused(ctx, tally_exact_value(ctx, &s, "sum", TALLY_F64, &r), TALLY_INVALID,
            "must be sum:exact");
    refused(ctx, tally_exact_value(ctx, &s, "sum:exact", TALLY_F64, NULL), TALLY_INVALID,
            "value is NULL");
    refused(ctx, tally_exact_value(ctx, NULL, "sum:exact", TALLY_F64, &r), TALLY_INVALID,
            "sum is NULL");
    check(r == 7, "r was written");
}

/* Columns longer than what a device's lane adds at a time, and so long that they go in parts, of
 * pairs that cancel but for one small number: the quotient's digits lie below the sum's. */
static void columns(tally *ctx, int n)
{
    enum { COLUMNS = 37 };
    static const char *const ops[] = {"nansum:exact", "nanmean:exact", "nandot:exact"};
    tally *const cpu = check_open(1, check_isa(0));
    double *const x = malloc(sizeof *x * (size_t)n * COLUMNS), r[COLUMNS], wanted[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        for (int k = 0; k < n; k++) {
            const double v = ldexp(1 + check_below(1 << 20) * 0x1p-20, c);
            x[k * COLUMNS + c] = k == n - 1 ? ldexp(1, -2 * c)
                                 : k & 1    ? -x[(k - 1) * COLUMNS + c]
                                            : v;
        }
    tally_view in = tally_columns(x, TALLY_F64, n, COLUMNS), back = in;
    back.data = x + (size_t)(n - 1) * COLUMNS;
    back.stride = -back.stride;
    for (int k = 0; k < 6; k++) {
        const char *const op = ops[k % 3];
        if (k == 3)
            x[7 * COLUMNS + 3] = NAN, x[8 * COLUMNS + 34] = -INFINITY,
                            x[9 * COLUMNS + 35] = 0x1p-1070;
        in.next = k % 3 == 2 ? &back : NULL;
        check_ok(ctx, tally_reduce(ctx, op, &in, r), op);
        check_ok(cpu, tally_reduce(cpu, op, &in, wanted), op);
        check_same(r, wanted, COLUMNS, 8, "%s of columns of %d", op, n);
    }
    free(x);
    tally_close(cpu);
}

static unsigned char there[MOST / 8];

/* Exact statistics on a device beside the processors, which test/exact_statistics.py compares with
 * fractions. */
static void statistics(tally *ctx, const char *name, int kind)
{
    static const char *const one[] = {"var:exact:1",    "std:exact",     "sumsq:exact",
                                      "nanvar:exact:1", "nannorm:exact", "nanstd:exact"},
                             *const two[] = {"cov:exact:1", "corr:exact", "slope:exact",
                                             "wmean:exact:f64"};
    tally *const cpu = check_open(2, check_isa(0));
    const tally_dtype d = dtypes[check_below(4)];
    const int64_t bytes = (int64_t)tally_dtype_size(d),
                  offsets[] = {0, 0, 700, 701, 9000, 9000, 20000};
    fill(data, d, MOST, kind);
    for (size_t i = 0; i < sizeof there; i++) there[i] = (unsigned char)check_below(256);
    const tally_view all[] = {{data, d, 1, MOST / 2, MOST / 2, 1, NULL},
                              {data, d, 7, 900, 901, 1, NULL},
                              {data, d, 300, 40, 1, 300, NULL},
                              {data, d, 6, 0, 0, 1, offsets}};
    for (size_t v = 0; v < sizeof all / sizeof *all; v++) {
        tally_view x = all[v], y = all[v];
        y.data = data + 3 * bytes;
        x.valid = check_below(2) ? there : NULL;
        const char *const op = one[check_below(6)], *const pairs = two[check_below(4)];
        check_ok(ctx, tally_reduce(ctx, op, &x, got), op);
        check_ok(cpu, tally_reduce(cpu, op, &x, want), op);
        check_same(got, want, x.rows, 8, "%s of %s on %s, view %d kind %d valid %d", op,
                   tally_dtype_name(d), name, (int)v, kind, x.valid != NULL);
        x.valid = NULL;
        x.next = &y;
        check_ok(ctx, tally_reduce(ctx, pairs, &x, got), pairs);
        check_ok(cpu, tally_reduce(cpu, pairs, &x, want), pairs);
        check_same(got, want, x.rows, 8, "%s of %s on %s, view %d kind %d", pairs,
                   tally_dtype_name(d), name, (int)v, kind);
    }
    tally_close(cpu);
}

/* A device's reductions: the same calls, of host arrays. (test_inputs has device memory.) */
static void on_device(const char *name)
{
    tally *ctx;
    tally_times_info times;
    const int compiles = !check_long && strncmp(name, "cuda", 4); /* PoCL: most of the time */
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    check_ok(ctx, tally_time(ctx, 1), "time");
    for (int kind = 0; kind < KINDS; kind++) {
        const size_t one = (size_t)check_below(4);
        for (size_t d = 0; d < 4; d++) {
            if (d != one && (check_quick || compiles)) continue;
            const check_operator o = pick(forms[check_below(FORMS)], dtypes[d]);
            flat(ctx, name, &o, kind);
            views(ctx, &o, kind);
        }
    }
    for (int kind = 0; kind < KINDS; kind++)
        if (!(check_quick || compiles) || !check_below(3)) statistics(ctx, name, kind);
    table_of_pairs(ctx);
    columns(ctx, 3001);
    columns(ctx, 9001);
    tally_times(ctx, &times);
    check(times.launches && !times.on_processors,
          "%s: %lld launches, %lld elements on the processors", name, (long long)times.launches,
          (long long)times.on_processors);
    table_of_sums(ctx);
    for (int c = 0; c < (check_quick ? 50 : 300); c++) inputs(ctx, c % KINDS);
    tally_close(ctx);
}

int main(void)
{
    check_start();
    /* PoCL's own threads are not watched */
    if (CHECK_LEAST_THREADS == 1) for_each_gpu(NULL, on_device);
    for (int k = 0; check_isa(k); k++) {
        tally *ctx = check_open(1 + 3 * (k & 1), check_isa(k)), *many = check_open(3, check_isa(k));
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int kind = 0; kind < KINDS; kind++) {
                for (int f = 0; f < FORMS; f++) {
                    const check_operator o = pick(forms[f], dtypes[d]);
                    if ((f + kind) % 3 && kind != LARGE_PAIRS && !check_long) continue;
                    if (check_quick && check_below(CHECK_SLOW ? 10 : 4)) continue;
                    flat(ctx, check_isa(k), &o, kind);
                    series(check_below(2) ? ctx : many, &o, kind);
                    if ((f + kind) % 2 == 0) views(check_below(2) ? ctx : many, &o, kind);
                }
                states(many, dtypes[d], kind);
            }
        for (int c = 0; c < (check_quick ? 45 : check_long ? 20000 : 700); c++)
            inputs(c & 1 ? ctx : many, c % KINDS);
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            states_of_inputs(many, dtypes[d]);
        table_of_sums(ctx);
        table_of_pairs(ctx);
        table_of_quotients(ctx, TALLY_F32);
        table_of_quotients(ctx, TALLY_F64);
        errors(ctx);
        resumed(ctx);
        started(many, check_isa(k));
        tally_close(ctx);
        tally_close(many);
    }
    return check_finish();
}
