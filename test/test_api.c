/* SPDX-License-Identifier: MIT
 * The public interface on bad input and at its edges: every refusal with its status and what its
 * sentence must name (the argument, its value, the limit). What a good call gives:
 * test_values.c. */
#include "check.h"
#include <math.h>

static tally *ctx;
static float x[4096], y[8192];

/* `status` must be `want` and the last sentence must hold every part (up to 4, NULL ends). */
static void refused(tally_status status, tally_status want, const tally *where, const char *a,
                    const char *b, const char *c)
{
    const char *says = tally_error(where), *parts[] = {a, b, c};
    check(status == want, "%s instead of %s; '%s'", tally_status_name(status),
          tally_status_name(want), says);
    for (int i = 0; i < 3; i++)
        if (parts[i] && status == want)
            check(strstr(says, parts[i]) != NULL, "'%s' does not say '%s'", says, parts[i]);
}

static tally_status reduce(const char *op, tally_view in) { return tally_reduce(ctx, op, &in, y); }
static tally_status scan(const char *op, tally_view in, tally_view out)
{
    return tally_scan(ctx, op, &in, &out, NULL);
}
static tally_status window(tally_view in, tally_view out, tally_window_options o)
{
    return tally_window(ctx, "sum", &in, &out, &o);
}
static tally_view flat(const void *p, int64_t n) { return tally_flat(p, TALLY_F32, n); }

static void names(void)
{
    refused(reduce("avg", flat(x, 4)), TALLY_INVALID, ctx,
            "op is 'avg': did you mean 'mean'? must be one of sum", NULL, NULL);
    refused(reduce("cumsum:f64", flat(x, 4)), TALLY_INVALID, ctx,
            "op is 'cumsum:f64': did you mean a scan of 'sum'? must be one of", NULL, NULL);
    refused(reduce("frobnicate", flat(x, 4)), TALLY_INVALID, ctx,
            "op is 'frobnicate': must be one of", NULL, NULL);
    check(!strcmp(tally_error(ctx) + strlen(tally_error(ctx)) - 4, " ..."), "the list ends: %s",
          tally_error(ctx));
    refused(reduce("summ", flat(x, 4)), TALLY_INVALID, ctx, "did you mean 'sum'?", "must be one of",
            "sum prod mean");
    refused(reduce("", flat(x, 4)), TALLY_INVALID, ctx, "op is ''", "must be one of", "ema");
    refused(reduce(NULL, flat(x, 4)), TALLY_INVALID, ctx, "op is NULL", NULL, NULL);
    refused(reduce("Sum", flat(x, 4)), TALLY_INVALID, ctx, "op is 'Sum'", "sum", NULL);
    refused(reduce("sum:", flat(x, 4)), TALLY_INVALID, ctx, "sum:", "no parameter", ":f64");
    refused(reduce("sum:1", flat(x, 4)), TALLY_INVALID, ctx, "sum:1", "no parameter", ":f64");
    refused(reduce("sum:f32", flat(x, 4)), TALLY_INVALID, ctx, "sum:f32", ":f64", NULL);
    refused(reduce("argmax:1", flat(x, 4)), TALLY_INVALID, ctx, "op is 'argmax:1'",
            "'argmax' takes no parameter", "'1' was given");
    check(!strstr(tally_error(ctx), "f64"), "argmax has no suffix :f64: %s", tally_error(ctx));
    refused(reduce("argmax:f32", flat(x, 4)), TALLY_INVALID, ctx, "op is 'argmax:f32'",
            "takes no parameter", "'f32' was given");
    refused(reduce("sum:2", tally_flat(x, TALLY_I32, 4)), TALLY_INVALID, ctx,
            "'sum' takes no parameter", "'2' was given", NULL);
    check(!strstr(tally_error(ctx), "f64"), "an integer sum has no suffix :f64: %s",
          tally_error(ctx));
    refused(reduce("min:f64", flat(x, 4)), TALLY_UNSUPPORTED, ctx, "min:f64", "f16, bf16 or f32",
            NULL);
    refused(reduce("sum:f64", tally_flat(x, TALLY_I32, 4)), TALLY_UNSUPPORTED, ctx, "sum:f64", NULL,
            NULL);
    refused(reduce("and", flat(x, 4)), TALLY_UNSUPPORTED, ctx, "'and'", "f32", "integers");
    refused(reduce("ema", flat(x, 4)), TALLY_INVALID, ctx, "alpha", "needs its parameter",
            "ema:alpha=");
    refused(reduce("ema:nan", flat(x, 4)), TALLY_INVALID, ctx, "alpha", NULL, NULL);
    refused(reduce("ema:1.5", flat(x, 4)), TALLY_INVALID, ctx, "alpha is 1.5", "must be 0..1",
            NULL);
    refused(reduce("ema:-0.5", flat(x, 4)), TALLY_INVALID, ctx, "alpha is -0.5", "0..1", NULL);
    refused(reduce("var:ddof=x", flat(x, 4)), TALLY_INVALID, ctx, "'ddof=x'", "ddof", NULL);
    refused(reduce("var:beta=1", flat(x, 4)), TALLY_INVALID, ctx, "'beta=1'", "ddof", NULL);
    refused(reduce("var:-1", flat(x, 4)), TALLY_INVALID, ctx, "ddof is -1", NULL, NULL);
    char long_name[400];
    memset(long_name, 'x', sizeof long_name);
    long_name[399] = 0;
    refused(reduce(long_name, flat(x, 4)), TALLY_INVALID, ctx, "xxxxxxxx", "must be one of", NULL);
    memcpy(long_name, "var:", 4);
    refused(reduce(long_name, flat(x, 4)), TALLY_INVALID, ctx, "too long", NULL, NULL);
    for (int d = -1; d <= 14; d++)
        if (d < 1 || d > 12)
            refused(reduce("sum", tally_flat(x, (tally_dtype)d, 4)), TALLY_INVALID, ctx, "dtype is",
                    "1..12", NULL);
    check(tally_dtype_name((tally_dtype)0) == NULL && tally_dtype_name((tally_dtype)13) == NULL &&
              tally_dtype_size((tally_dtype)99) == 0,
          "no dtype");
    check(tally_dtype_parse("f33") == 0 && tally_dtype_parse(NULL) == 0 &&
              tally_dtype_parse("") == 0,
          "no dtype by name");
    for (tally_dtype d = TALLY_I8; d <= TALLY_F64; d++)
        check(tally_dtype_parse(tally_dtype_name(d)) == d, "dtype %d", (int)d);
    tally_operator_info info;
    refused(tally_operator(NULL, "sum", TALLY_F32, NULL), TALLY_INVALID, NULL, "info is NULL", NULL,
            NULL);
    refused(tally_operator(NULL, "summ", TALLY_F32, &info), TALLY_INVALID, NULL, "op is 'summ'",
            "must be one of", NULL);
    check(!strcmp(tally_status_name((tally_status)77), "unknown status"), "status 77");
}

static void devices(void)
{
    static const struct {
        const char *device;
        tally_status status;
        const char *a, *b;
    } wrong[] = {
        {"gpu", TALLY_NO_DEVICE, "device is 'gpu'", "one of auto, cpu, cpu:0"},
        {"cpu:7", TALLY_NO_DEVICE, "device is 'cpu:7'", "one of auto, cpu, cpu:0"},
        {"cpu:1,threads=2", TALLY_NO_DEVICE, "device is 'cpu:1'", "cpu, cpu:0"},
        {"cpu:", TALLY_NO_DEVICE, "device is 'cpu:'", "cpu, cpu:0"},
        {"cpu:x", TALLY_NO_DEVICE, "device is 'cpu:x'", "cpu, cpu:0"},
        {"cpu:-1", TALLY_NO_DEVICE, "device is 'cpu:-1'", "cpu, cpu:0"},
        {"cpu:00", TALLY_NO_DEVICE, "device is 'cpu:00'", "cpu, cpu:0"},
        {"auto:0", TALLY_NO_DEVICE, "device is 'auto:0'", "auto, cpu"},
        {"cpu:0,threads=0", TALLY_INVALID, "threads is '0'", "1..1024"},
        {"", TALLY_NO_DEVICE, "device is ''", "cpu"},
        {"cpux", TALLY_NO_DEVICE, "device is 'cpux'", "cpu"},
        {"cpu,threads=0", TALLY_INVALID, "threads is '0'", "1..1024"},
        {"cpu,threads=1025", TALLY_INVALID, "threads is '1025'", "1..1024"},
        {"cpu,threads=", TALLY_INVALID, "threads is ''", "1..1024"},
        {"cpu,threads=two", TALLY_INVALID, "threads is 'two'", "1..1024"},
        {"cpu,threads=99999999999999999999", TALLY_INVALID, "threads is", "1..1024"},
        {"cpu,isa=mmx", TALLY_INVALID, "isa is 'mmx'", "must be one of"},
        {"cpu,cores=2", TALLY_INVALID, "'cores=2'", "threads=N, isa=NAME, probe=on or probe=off"},
        {"cpu,probe=0", TALLY_INVALID, "'probe=0'", "probe=on or probe=off"},
        {"cpu,probe=of", TALLY_INVALID, "'probe=of'", "probe=on or probe=off"},
        {"cpu,threads=2,,", TALLY_INVALID, "device option", "threads=N"},
        {"cpu,"
         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "xx",
         TALLY_INVALID, "too long", NULL},
    };
    tally *c = (tally *)x;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refused(tally_open(&c, wrong[i].device), wrong[i].status, NULL, wrong[i].a, wrong[i].b,
                NULL);
        check(c == NULL, "%s left a context", wrong[i].device);
    }
    refused(tally_open(NULL, "cpu"), TALLY_INVALID, NULL, "ctx is NULL", NULL, NULL);
    setenv("TALLY_THREADS", "none", 1);
    refused(tally_open(&c, "cpu"), TALLY_INVALID, NULL, "TALLY_THREADS is 'none'", "1..1024", NULL);
    setenv("TALLY_THREADS", "3", 1);
    check(!tally_open(&c, NULL) && tally_threads(c) == 3, "TALLY_THREADS=3");
    tally_close(c);
    check(!tally_open(&c, "cpu,threads=2") && tally_threads(c) == 2,
          "threads=2 beats TALLY_THREADS");
    tally_close(c);
    unsetenv("TALLY_THREADS");
    check(!tally_open(&c, "cpu:0,threads=2") && tally_threads(c) == 2, "cpu:0 is cpu");
    tally_close(c);
    check(!tally_open(&c, "cpu,probe=off,threads=2") && tally_threads(c) == 2,
          "probe=off is of no consequence here");
    tally_close(c);
    tally_close(NULL);
    tally_device_info info;
    refused(tally_device(1000, &info), TALLY_INVALID, NULL, "device index is 1000", NULL, NULL);
    refused(tally_device(-1, &info), TALLY_INVALID, NULL, "device index is -1", NULL, NULL);
    refused(tally_device(0, NULL), TALLY_INVALID, NULL, "info is NULL", NULL, NULL);
    check(check_listed("cuda:10 cpu", "cuda:10") && check_listed("cuda:10 cpu", "cpu") &&
              !check_listed("cuda:10 cpu", "cuda:1") && !check_listed("cuda:10", "cuda:100") &&
              !check_listed(" opencl:0", "cuda:0") && check_listed(NULL, "cpu"),
          "names of devices in TALLY_TEST_DEVICES");
    check(tally_threads(NULL) == 1 && !strcmp(tally_isa(NULL), ""), "no context");
    check(!strcmp(tally_error(ctx), "") || 1, "error");
}

/* TALLY_DEVICE: for auto only, with its own options, and the options of the call win. */
static void device_variable(void)
{
    static const struct {
        const char *variable, *device;
        int threads;
    } good[] = {
        {"cpu,threads=3", NULL, 3},
        {"cpu,threads=3", "auto", 3},
        {"cpu,threads=3", "auto,threads=2", 2},
        {"cpu:0,threads=3", "auto,threads=4,threads=2", 2},
        {"cpu", "auto,threads=2", 2},
        {"auto,threads=3", "auto", 3},
        {"auto", "auto,threads=2", 2},
        {"cpu,isa=mmx,threads=9", "cpu,threads=2", 2},
        {"tpu", "cpu:0,threads=2", 2},
        {"", "auto,threads=2", 2},
    };
    static const struct {
        const char *variable, *device;
        tally_status status;
        const char *a, *b;
    } wrong[] = {
        {"tpu", NULL, TALLY_NO_DEVICE, "TALLY_DEVICE is 'tpu'", "one of auto, cpu, cpu:0"},
        {"tpu", "auto", TALLY_NO_DEVICE, "TALLY_DEVICE is 'tpu'", "auto, cpu"},
        {"tpu,threads=3", "auto,threads=2", TALLY_NO_DEVICE, "TALLY_DEVICE is 'tpu'", "auto, cpu"},
        {"cpu:7", "auto,threads=2", TALLY_NO_DEVICE, "TALLY_DEVICE is 'cpu:7'", "cpu, cpu:0"},
        {"cpu,isa=mmx", "auto,threads=2", TALLY_INVALID, "isa is 'mmx'", "must be one of"},
        {"cpu,threads=3", "auto,threads=0", TALLY_INVALID, "threads is '0'", "1..1024"},
        {"cpu", "auto:0,threads=2", TALLY_NO_DEVICE, "device is 'auto:0'", "auto, cpu"},
        {"cpu", "autos", TALLY_NO_DEVICE, "device is 'autos'", "auto, cpu"},
    };
    tally *c;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        setenv("TALLY_DEVICE", good[i].variable, 1);
        check(!tally_open(&c, good[i].device) && tally_threads(c) == good[i].threads,
              "TALLY_DEVICE=%s and %s: %d threads, %s", good[i].variable,
              good[i].device ? good[i].device : "NULL", good[i].threads, tally_error(NULL));
        tally_close(c);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("TALLY_DEVICE", wrong[i].variable, 1);
        refused(tally_open(&c, wrong[i].device), wrong[i].status, NULL, wrong[i].a, wrong[i].b,
                NULL);
    }
    setenv("TALLY_DEVICE", "cpu,threads=3", 1);
    setenv("TALLY_THREADS", "4", 1);
    check(!tally_open(&c, "auto") && tally_threads(c) == 3,
          "TALLY_DEVICE's threads beat TALLY_THREADS");
    tally_close(c);
    unsetenv("TALLY_DEVICE");
    unsetenv("TALLY_THREADS");
}

static void pointers_and_sizes(void)
{
    tally_view f = flat(x, 4);
    refused(tally_reduce(NULL, "sum", &f, y), TALLY_INVALID, NULL, "ctx is NULL", "tally_open",
            NULL);
    refused(tally_reduce(ctx, "sum", NULL, y), TALLY_INVALID, ctx, "in is NULL", NULL, NULL);
    refused(tally_reduce(ctx, "sum", &f, NULL), TALLY_INVALID, ctx, "out is NULL", "1 results",
            NULL);
    refused(tally_scan(ctx, "sum", &f, NULL, NULL), TALLY_INVALID, ctx, "out is NULL", NULL, NULL);
    refused(tally_scan(ctx, "sum", NULL, &f, NULL), TALLY_INVALID, ctx, "in is NULL", NULL, NULL);
    refused(tally_window(ctx, "sum", &f, &f, NULL), TALLY_INVALID, ctx, "options is NULL", NULL,
            NULL);
    refused(reduce("sum", flat(NULL, 1)), TALLY_INVALID, ctx, "in->data is NULL", NULL, NULL);
    refused(scan("sum", flat(x, 4), flat(NULL, 4)), TALLY_INVALID, ctx, "out->data is NULL", NULL,
            NULL);
    check(!reduce("sum", flat(NULL, 0)) && y[0] == 0, "NULL and no elements");
    check(!scan("sum", flat(NULL, 0), flat(NULL, 0)), "NULL and no elements, scan");
    refused(reduce("sum", flat(x, -1)), TALLY_INVALID, ctx, "in->n is -1", "at least 0", NULL);
    refused(reduce("sum", flat(x, INT64_MIN)), TALLY_INVALID, ctx, "in->n is -9223372036854775808",
            NULL, NULL);
    refused(reduce("sum", flat(x, INT64_MAX)), TALLY_INVALID, ctx, "in->n is 9223372036854775807",
            "2^62", NULL);
    refused(reduce("sum", flat(x, (int64_t)1 << 61)), TALLY_INVALID, ctx, "in:", "2^63",
            "2305843009213693952");
    refused(reduce("sum", tally_rows(x, TALLY_F32, -3, 4)), TALLY_INVALID, ctx, "in->rows is -3",
            "at least 0", NULL);
    refused(reduce("sum", tally_rows(x, TALLY_F32, (int64_t)1 << 40, (int64_t)1 << 40)),
            TALLY_INVALID, ctx, "in:", "2^63", "1099511627776");
    tally_view wide = {x, TALLY_F32, 3, 4, INT64_MAX / 2, 1, NULL},
               steep = {x, TALLY_F32, 1, 4, 0, INT64_MAX / 2, NULL};
    refused(reduce("sum", wide), TALLY_INVALID, ctx, "in:", "2^63", "4611686018427387903");
    refused(reduce("sum", steep), TALLY_INVALID, ctx, "in:", "2^63", NULL);
    steep.stride = INT64_MIN;
    refused(reduce("sum", steep), TALLY_INVALID, ctx, "in:", "2^63", NULL);
    wide.row_stride = INT64_MIN;
    refused(reduce("sum", wide), TALLY_INVALID, ctx, "in:", "2^63", NULL);
    refused(scan("sum", flat(x, 4), flat(y, 5)), TALLY_INVALID, ctx, "out->n is 5", "must be 4",
            NULL);
    refused(scan("sum", flat(x, 4), tally_flat(y, TALLY_F64, 4)), TALLY_INVALID, ctx,
            "out->dtype is f64", "sum of f32 gives f32", NULL);
    refused(scan("sum", flat(x, 4), tally_flat(y, (tally_dtype)99, 4)), TALLY_INVALID, ctx,
            "out->dtype is unknown", "f32", NULL);
    refused(scan("sum", flat(x, 4), tally_rows(y, TALLY_F32, 2, 4)), TALLY_INVALID, ctx,
            "out->rows is 2", "= 1", NULL);
    check(!reduce("sum", tally_rows(x, TALLY_F32, 0, 4)), "no rows");
    check(tally_reduce(ctx, "sum", &(tally_view){NULL, TALLY_F32, 0, 4, 4, 1, NULL}, NULL) ==
              TALLY_OK,
          "no rows, nowhere");
    /* what a caller did not fill in is 0: rows, and with it nothing would be written */
    static const struct {
        tally_view v;
        const char *why;
    } unfilled[] = {
        {{.data = x, .dtype = TALLY_F32, .n = 4}, "n is not"},
        {{.data = x, .dtype = TALLY_F32, .n = 4, .stride = 1}, "n is not"},
        {{.data = NULL, .dtype = TALLY_F32, .n = 4, .stride = 1}, "n is not"},
        {{.data = x, .dtype = TALLY_F32}, "data is not NULL"},
    };
    for (size_t i = 0; i < sizeof unfilled / sizeof *unfilled; i++) {
        const tally_view *v = &unfilled[i].v;
        refused(reduce("sum", *v), TALLY_INVALID, ctx, "in->rows is 0, and", unfilled[i].why,
                "must be at least 1");
        refused(scan("sum", *v, *v), TALLY_INVALID, ctx, "in->rows is 0, and", unfilled[i].why,
                "must be at least 1");
        tally_view pair = flat(x, 4);
        pair.next = v;
        refused(reduce("dot", pair), TALLY_INVALID, ctx, "in->next->rows is 0", NULL, NULL);
    }
    check(!reduce("sum", tally_rows(x, TALLY_F32, 0, 0)), "no rows of nothing");
    check(!reduce("sum", tally_columns(x, TALLY_F32, 4, 0)), "no columns");
    check(!reduce("sum", tally_columns(x, TALLY_F32, 0, 0)), "no columns of nothing");
    check(!reduce("sum", (tally_view){.dtype = TALLY_F32}), "all 0: nothing to do");
    /* a stride that was not filled in: the first element, again and again */
    static const int64_t cuts[] = {0, 1, 3}, ones[] = {5, 5, 6};
    const tally_view dull[] = {{.data = x, .dtype = TALLY_F32, .rows = 1, .n = 4},
                               {.data = x, .dtype = TALLY_F32, .rows = 2, .offsets = cuts}};
    for (size_t i = 0; i < sizeof dull / sizeof *dull; i++) {
        refused(reduce("sum", dull[i]), TALLY_INVALID, ctx, "in->stride is 0 for",
                i ? "3 elements" : "4 elements", "row_stride 1");
        tally_view meant = dull[i], pair = dull[i];
        meant.row_stride = 1;
        check(!reduce("sum", meant), "one element repeated: %s", tally_error(ctx));
        pair.stride = 1;
        pair.next = &dull[i];
        refused(reduce("dot", pair), TALLY_INVALID, ctx, "in->next->stride is 0", NULL, NULL);
    }
    check(!reduce("sum", (tally_view){.data = x, .dtype = TALLY_F32, .rows = 1, .n = 1}),
          "one element needs no stride");
    check(!reduce("sum", (tally_view){.data = x, .dtype = TALLY_F32, .rows = 2, .offsets = ones}),
          "one element in segments needs no stride");
    check(!reduce("sum", (tally_view){.data = x, .dtype = TALLY_F32, .rows = 3, .n = 4}),
          "one element repeated in a matrix");
}

static void offsets(void)
{
    int64_t down[] = {0, 5, 3, 8}, below[] = {-1, 2, 3, 4}, good[] = {0, 2, 2, 8},
            other[] = {0, 2, 3, 8};
    tally_view in = tally_segments(x, TALLY_F32, down, 3),
               out = tally_segments(y, TALLY_F32, good, 3);
    tally_window_options valid = {1, 0, TALLY_EDGES_VALID, 0};
    refused(reduce("sum", in), TALLY_INVALID, ctx, "in->offsets[2] is 3", "offsets[1] = 5",
            "ascend");
    in.offsets = below;
    refused(reduce("sum", in), TALLY_INVALID, ctx, "in->offsets[0] is -1", "at least 0", NULL);
    in.offsets = other;
    refused(scan("sum", in, out), TALLY_INVALID, ctx, "out->offsets differ", NULL, NULL);
    refused(scan("sum", in, tally_rows(y, TALLY_F32, 3, 0)), TALLY_INVALID, ctx, "out->offsets",
            "in->offsets", NULL);
    refused(scan("sum", tally_rows(x, TALLY_F32, 3, 0), out), TALLY_INVALID, ctx, "out->offsets",
            "in->offsets", NULL);
    in.offsets = good;
    refused(window(in, out, valid), TALLY_UNSUPPORTED, ctx, "valid", "segments", NULL);
    in.data = NULL;
    refused(reduce("sum", in), TALLY_INVALID, ctx, "in->data is NULL", NULL, NULL);
    in.data = x;
    out.stride = 0;
    refused(scan("sum", in, out), TALLY_INVALID, ctx, "out->stride is 0 for 8", "dense", NULL);
    out.row_stride = 1;
    refused(scan("sum", in, out), TALLY_INVALID, ctx, "out->stride is 0", "overwrite", NULL);
    int64_t huge[] = {0, INT64_MAX - 1}, none[] = {7, 7, 7};
    refused(reduce("sum", tally_segments(x, TALLY_F32, huge, 1)), TALLY_INVALID, ctx, "in", "2^6",
            NULL);
    check(!reduce("sum", tally_segments(NULL, TALLY_F32, none, 2)) && y[0] == 0 && y[1] == 0,
          "empty segments of NULL");
}

static void overlap(void)
{
    tally_view in = flat(x + 100, 100);
    static const int64_t meets[] = {-99, -1, 1, 50, 99};
    for (int i = 0; i < 5; i++) {
        refused(scan("sum", in, flat(x + 100 + meets[i], 100)), TALLY_INVALID, ctx,
                "out overlaps in", "own", "exactly");
        refused(window(in, flat(x + 100 + meets[i], 100),
                       (tally_window_options){2, 0, TALLY_EDGES_SHRINK, 0}),
                TALLY_INVALID, ctx, "out overlaps in", NULL, NULL);
    }
    check(!scan("sum", in, flat(x, 100)) && !scan("sum", in, flat(x + 200, 100)),
          "neighbours do not overlap");
    check(!scan("sum", in, in), "in place");
    refused(window(in, in, (tally_window_options){2, 0, TALLY_EDGES_SHRINK, 0}), TALLY_INVALID, ctx,
            "out overlaps in", "own", NULL);
    refused(tally_reduce(ctx, "sum", &in, x + 150), TALLY_INVALID, ctx, "out overlaps in", NULL,
            NULL);
    refused(tally_scan(ctx, "sum:f64", &in, &(tally_view){x + 100, TALLY_F64, 1, 100, 100, 1, NULL},
                       NULL),
            TALLY_INVALID, ctx, "out overlaps in", "element size", NULL);
    tally_view rows = tally_rows(x, TALLY_F32, 10, 10),
               columns = tally_columns(x, TALLY_F32, 10, 10),
               odd = {x, TALLY_F32, 10, 10, 9, 1, NULL};
    refused(scan("sum", rows, columns), TALLY_INVALID, ctx, "out overlaps in", "strides", NULL);
    check(!scan("sum", rows, rows) && !scan("sum", columns, columns),
          "rows in place, columns in place");
    odd.data = y; /* outputs that overwrite themselves */
    refused(scan("sum", rows, odd), TALLY_INVALID, ctx, "out->row_stride is 9", "overwrite",
            "10 rows of 10");
    odd.row_stride = 0;
    refused(scan("sum", rows, odd), TALLY_INVALID, ctx, "out->row_stride is 0", "overwrite", NULL);
    odd.row_stride = 100;
    odd.stride = 0;
    refused(scan("sum", rows, odd), TALLY_INVALID, ctx, "out->stride is 0", "overwrite", NULL);
    /* 10 rows of -3: before every 30 */
    odd = (tally_view){y + 4000, TALLY_F32, 10, 10, -3, 30, NULL};
    check(!scan("sum", rows, odd), "interleaved backwards: %s", tally_error(ctx));
    odd.row_stride = 6; /* row 5 starts where row 0 has its second */
    refused(scan("sum", rows, odd), TALLY_INVALID, ctx, "out->row_stride is 6", "stride 30", NULL);
    tally_view self = {x, TALLY_F32, 10, 10, 0, 1, NULL}; /* an input may repeat itself */
    check(!reduce("sum", self) && y[0] == y[9], "ten times the same row");
    self.stride = 0;
    check(!reduce("sum", self), "stride 0 input");
    tally_view back = {x + 99, TALLY_F32, 1, 100, 0, -1, NULL};
    refused(scan("sum", back, flat(x, 100)), TALLY_INVALID, ctx, "out overlaps in", NULL, NULL);
    check(!scan("sum", back, back), "backwards in place");
    for (int i = 0; i < 4096; i++) x[i] = (float)(i % 7);
}

/* Every verb refuses a view of which rows or stride were not filled in, and writes nothing. */
static void unfilled_everywhere(void)
{
    int32_t whole[4] = {0, 1, 0, 1};
    int64_t numbers[9], found = -1, one[1] = {0}, four[1] = {4};
    float result[4] = {7, 7, 7, 7};
    const tally_view good = flat(x, 4), to = flat(result, 4);
    const tally_window_options o = {.before = 1};
    const tally_key_window near = {.low = -1};
    for (int k = 0; k < 2; k++) {
        const char *const what = k ? "stride is 0 for 4" : "rows is 0";
        const tally_view
            in = {.data = x, .dtype = TALLY_F32, .rows = k, .n = 4, .stride = !k},
            keys = {.data = whole, .dtype = TALLY_I32, .rows = k, .n = 4, .stride = !k},
            out = {.data = result, .dtype = TALLY_F32, .rows = k, .n = 4, .stride = !k};
        tally_stream *s;
        tally_fragment *f;
        tally_exact sum;
        const struct {
            tally_status status;
            const char *name;
        } calls[] = {
            {tally_reduce(ctx, "sum", &in, result), "reduce"},
            {tally_reduce(ctx, "sum:exact", &in, result), "exact reduce"},
            {tally_scan(ctx, "sum", &in, &to, NULL), "scan"},
            {tally_window(ctx, "sum", &in, &to, &o), "window"},
            {tally_reduce_valid(ctx, "sum", &in, result, 0), "reduce_valid"},
            {tally_runs(ctx, &keys, numbers, &found), "runs"},
            {tally_groups(ctx, &keys, 2, numbers, numbers + 4), "groups"},
            {tally_take(ctx, &in, one, 1, &to), "take"},
            {tally_window_ranges(ctx, "sum", &in, one, four, 1, &to, 0), "ranges"},
            {tally_window_bounds(ctx, &keys, &near, numbers, numbers + 4), "bounds"},
            {tally_fragment_of_view(ctx, "sum", &in, 0, &f), "fragment"},
            {tally_reduce_split(ctx, "sum", &in, 1, result), "reduce_split"},
            {tally_scan_split(ctx, "sum", &in, 1, &to, NULL), "scan_split"},
            {tally_window_split(ctx, "sum", &in, 1, &to, &o), "window_split"},
        };
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            check(calls[i].status == TALLY_INVALID, "%s of a view whose %s: %s", calls[i].name,
                  what, tally_status_name(calls[i].status));
        refused(tally_scan(ctx, "sum", &good, &out, NULL), TALLY_INVALID, ctx, "out->", what, NULL);
        refused(tally_window(ctx, "sum", &good, &out, &o), TALLY_INVALID, ctx, "out->", what, NULL);
        tally_exact_init(&sum);
        refused(tally_exact_add(ctx, &sum, &in), TALLY_INVALID, ctx, "x->", what, NULL);
        refused(tally_exact_add(NULL, &sum, &in), TALLY_INVALID, NULL, "x->", what, NULL);
        if (check_ok(ctx, tally_stream_scan_rows(ctx, "sum", TALLY_F32, 1, NULL, &s), "stream")) {
            refused(tally_stream_push_view(s, &in, &to), TALLY_INVALID, ctx, what, NULL, NULL);
            refused(tally_stream_push_view(s, &good, &out), TALLY_INVALID, ctx, what, NULL, NULL);
            tally_stream_close(s);
        }
        check(found == -1 && result[0] == 7 && result[3] == 7, "a refused call wrote");
    }
}

static void windows(void)
{
    tally_view in = flat(x, 50), out = flat(y, 50);
    static const struct {
        tally_window_options o;
        const char *a, *b;
    } wrong[] = {
        {{-2, 0, TALLY_EDGES_MISSING, 0}, "before is -2 and after 0", "at least 0"},
        {{0, -7, TALLY_EDGES_MISSING, 0}, "before is 0 and after -7", "at least 0"},
        {{INT64_MIN, 0, TALLY_EDGES_MISSING, 0}, "before is -9223372036854775808", "-2^61..2^61"},
        {{0, INT64_MIN, TALLY_EDGES_MISSING, 0}, "after is -9223372036854775808", "-2^61..2^61"},
        {{INT64_MAX, 0, TALLY_EDGES_MISSING, 0}, "before is 9223372036854775807", "2^61"},
        {{0, INT64_MAX, TALLY_EDGES_MISSING, 0}, "after is 9223372036854775807", "2^61"},
        {{4, 0, TALLY_EDGES_MISSING, -1}, "min_count is -1", "0..5"},
        {{4, 0, TALLY_EDGES_MISSING, 6}, "min_count is 6", "0..5"},
        {{4, 0, (tally_edges)3, 0}, "edges is 3", "2 (valid)"},
        {{4, 0, (tally_edges)-1, 0}, "edges is -1", "0 (missing)"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refused(tally_window(ctx, "sum", &in, &out, &wrong[i].o), TALLY_INVALID, ctx, wrong[i].a,
                wrong[i].b, NULL);
        tally_window_length(50, &wrong[i].o); /* must not trap */
    }
    tally_window_options o = {9, 0, TALLY_EDGES_VALID, 0}, one = {0, 0, TALLY_EDGES_MISSING, 0};
    refused(tally_window(ctx, "sum", &in, &out, &o), TALLY_INVALID, ctx, "out->n is 50",
            "must be 41", NULL);
    check(tally_window_length(50, &o) == 41 && tally_window_length(9, &o) == 0 &&
              tally_window_length(-5, &o) == 0 && tally_window_length(50, NULL) == 0,
          "lengths");
    check(!tally_window(ctx, "sum", &in, &out, &one) && y[7] == x[7],
          "w = 1, the shortest there is");
    /* longer than everything: missing is all empty, shrink folds all, valid is nothing */
    tally_window_options far = {(int64_t)1 << 60, (int64_t)1 << 60, TALLY_EDGES_MISSING, 0};
    float sum, bad = 0;
    check(!reduce("sum", in), "sum");
    sum = y[0];
    check(!tally_window(ctx, "mean", &in, &out, &far), "w > n, missing");
    for (int i = 0; i < 50; i++) bad += !isnan(y[i]);
    far.edges = TALLY_EDGES_SHRINK;
    check(!tally_window(ctx, "sum", &in, &out, &far), "w > n, shrink");
    for (int i = 0; i < 50; i++) bad += y[i] != sum;
    far.edges = TALLY_EDGES_VALID;
    out.n = 0;
    check(!tally_window(ctx, "sum", &in, &out, &far) && bad == 0, "w > n, valid; %g wrong",
          (double)bad);
}

static void inits(void)
{
    static const char *const none[] = {"mean",   "var:1", "std", "minmax", "argmin",
                                       "argmax", "any",   "all", "count",  "nanmean"};
    double init = 1;
    tally_view in = flat(x, 10);
    tally_scan_options o = {.init = &init};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        tally_operator_info info;
        check(!tally_operator(NULL, none[i], TALLY_F32, &info) && !info.seedable, "%s", none[i]);
        tally_view out = tally_flat(y, info.output, 10);
        refused(tally_scan(ctx, none[i], &in, &out, &o), TALLY_UNSUPPORTED, ctx, "init",
                "takes none", NULL);
    }
}

int main(void)
{
    check_start();
    if (tally_open(&ctx, "cpu,threads=2")) return 1;
    check(!strcmp(tally_error(ctx), ""), "a new context has the error '%s'", tally_error(ctx));
    names();
    devices();
    device_variable();
    pointers_and_sizes();
    offsets();
    overlap();
    unfilled_everywhere();
    windows();
    inits();
    tally_close(ctx);
    return check_finish();
}
