/* SPDX-License-Identifier: MIT
 * The public interface on bad input and at its edges: every refusal with its status and what its
 * sentence must name (the argument, its value, the limit). What a good call gives:
 * test_values.c. */
#include "api_views.h"
#include <locale.h>

static const struct {
    const char *op;
    tally_dtype dtype;
    tally_status status;
    const char *a, *b, *c; /* what the sentence says */
} no_operators[] = {
    {"avg", TALLY_F32, TALLY_INVALID, "op is 'avg': did you mean 'mean'? must be one of sum"},
    {"cumsum:f64", TALLY_F32, TALLY_INVALID,
     "op is 'cumsum:f64': did you mean a scan of 'sum'? must be one of"},
    {"frobnicate", TALLY_F32, TALLY_INVALID, "op is 'frobnicate': must be one of"},
    {"summ", TALLY_F32, TALLY_INVALID, "did you mean 'sum'?", "must be one of", "sum prod mean"},
    {"", TALLY_F32, TALLY_INVALID, "op is ''", "must be one of", "ema"},
    {NULL, TALLY_F32, TALLY_INVALID, "op is NULL"},
    {"Sum", TALLY_F32, TALLY_INVALID, "op is 'Sum'", "sum"},
    {"sum:", TALLY_F32, TALLY_INVALID, "sum:", "no parameter", ":f64"},
    {"sum:1", TALLY_F32, TALLY_INVALID, "sum:1", "no parameter", ":f64"},
    {"sum:f32", TALLY_F32, TALLY_INVALID, "sum:f32", ":f64"},
    {"argmax:1", TALLY_F32, TALLY_INVALID, "op is 'argmax:1'", "'argmax' takes no parameter",
     "'1' was given"},
    {"argmax:f32", TALLY_F32, TALLY_INVALID, "op is 'argmax:f32'", "takes no parameter",
     "'f32' was given"},
    {"sum:2", TALLY_I32, TALLY_INVALID, "'sum' takes no parameter", "'2' was given"},
    {"min:f64", TALLY_F32, TALLY_UNSUPPORTED, "min:f64", "f16, bf16 or f32"},
    {"sum:f64", TALLY_I32, TALLY_UNSUPPORTED, "sum:f64"},
    {"and", TALLY_F32, TALLY_UNSUPPORTED, "'and'", "f32", "integers"},
    {"ema", TALLY_F32, TALLY_INVALID, "alpha", "needs its parameter", "ema:alpha="},
    {"ema:nan", TALLY_F32, TALLY_INVALID, "alpha"},
    {"ema:1.5", TALLY_F32, TALLY_INVALID, "alpha is 1.5", "must be 0..1"},
    {"ema:-0.5", TALLY_F32, TALLY_INVALID, "alpha is -0.5", "0..1"},
    {"var:ddof=x", TALLY_F32, TALLY_INVALID, "'ddof=x'", "ddof"},
    {"var:beta=1", TALLY_F32, TALLY_INVALID, "'beta=1'", "ddof"},
    {"var:-1", TALLY_F32, TALLY_INVALID, "ddof is -1"},
    {"var:nan", TALLY_F32, TALLY_INVALID, "'nan' is not a value for ddof"},
    {"var:1:2", TALLY_F32, TALLY_INVALID, "ddof is given twice"},
    {"sum:exact:exact", TALLY_F32, TALLY_INVALID, "'sum:exact:exact': exact is given twice"},
    {"var:f64:1:f64", TALLY_F32, TALLY_INVALID, "f64 is given twice"},
    {"sum:checked:checked", TALLY_I32, TALLY_INVALID, "checked is given twice"},
    {"skew:0.5", TALLY_F32, TALLY_INVALID, "op is 'skew:0.5': sample is 0.5, must be 0 or 1"},
    {"nankurt:sample=1e-9", TALLY_I32, TALLY_INVALID, "sample is 1e-09, must be 0 or 1"},
    {"ema:1.0000001", TALLY_F64, TALLY_INVALID, "alpha is 1.0000001, must be 0..1"},
    {"kurt:2", TALLY_F64, TALLY_INVALID, "sample is 2, must be 0 or 1"},
};

static void operators(void)
{
    for (size_t i = 0; i < sizeof no_operators / sizeof *no_operators; i++)
        refused(reduce(no_operators[i].op, tally_flat(x, no_operators[i].dtype, 4)),
                no_operators[i].status, ctx, no_operators[i].a, no_operators[i].b,
                no_operators[i].c);
    reduce("frobnicate", flat(x, 4));
    check(!strcmp(tally_error(ctx) + strlen(tally_error(ctx)) - 4, " ..."), "the list ends: %s",
          tally_error(ctx));
    reduce("argmax:1", flat(x, 4));
    check(!strstr(tally_error(ctx), "f64"), "argmax has no suffix :f64: %s", tally_error(ctx));
    reduce("sum:2", tally_flat(x, TALLY_I32, 4));
    check(!strstr(tally_error(ctx), "f64"), "an integer sum has no suffix :f64: %s",
          tally_error(ctx));
    char long_name[400];
    memset(long_name, 'x', sizeof long_name);
    long_name[399] = 0;
    refused(reduce(long_name, flat(x, 4)), TALLY_INVALID, ctx, "xxxxxxxx", "must be one of", NULL);
    memcpy(long_name, "var:", 4);
    refused(reduce(long_name, flat(x, 4)), TALLY_INVALID, ctx, "too long", NULL, NULL);
}

static void types(void)
{
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

static const struct {
    const char *device;
    tally_status status;
    const char *a, *b;
} no_devices[] = {
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
    {"cpu,memory=1G", TALLY_INVALID, "'memory=1G'", "of a GPU also memory=SIZE or code=HOW"},
    {"cpu,threads=2,,", TALLY_INVALID, "device option", "threads=N"},
    {"cpu,"
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xx",
     TALLY_INVALID, "too long", NULL},
};

static void devices(void)
{
    tally *c = (tally *)x;
    for (size_t i = 0; i < sizeof no_devices / sizeof *no_devices; i++) {
        refused(tally_open(&c, no_devices[i].device), no_devices[i].status, NULL, no_devices[i].a,
                no_devices[i].b, NULL);
        check(c == NULL, "%s left a context", no_devices[i].device);
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
    refused(tally_device(1000, &info), TALLY_INVALID, NULL, "device index is 1000: must be 0..",
            NULL, NULL);
    refused(tally_device(-1, &info), TALLY_INVALID, NULL, "device index is -1: must be 0..", NULL,
            NULL);
    /* a kind is a choice exactly if it has a device */
    tally_open(&c, "tpu");
    const char *const says = tally_error(NULL);
    check(!strstr(says, ", cuda,") == !strstr(says, ", cuda:0") &&
              !strstr(says, ", opencl,") == !strstr(says, ", opencl:0"),
          "%s", says);
    refused(tally_device(0, NULL), TALLY_INVALID, NULL, "info is NULL", NULL, NULL);
    check(check_listed("cuda:10 cpu", "cuda:10") && check_listed("cuda:10 cpu", "cpu") &&
              !check_listed("cuda:10 cpu", "cuda:1") && !check_listed("cuda:10", "cuda:100") &&
              !check_listed(" opencl:0", "cuda:0") && check_listed(NULL, "cpu"),
          "names of devices in TALLY_TEST_DEVICES");
    check(tally_threads(NULL) == 1 && !strcmp(tally_isa(NULL), ""), "no context");
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

/* Numbers have a decimal comma from here on, where a locale for that can be made. */
static int decimal_comma(void)
{
    FILE *f = fopen("comma", "w");
    if (!f) return 0;
    fputs("LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n", f);
    fclose(f);
    setenv("LOCPATH", ".", 1);
    (void)!system("localedef -c -i comma -f UTF-8 ./comma.UTF-8 >comma.log 2>&1");
    return setlocale(LC_NUMERIC, "comma.UTF-8") != NULL;
}

int main(void)
{
    check_start();
    if (tally_open(&ctx, "cpu,threads=2")) return 1;
    check(!strcmp(tally_error(ctx), ""), "a new context has the error '%s'", tally_error(ctx));
    operators();
    types();
    devices();
    device_variable();
    pointers();
    sizes();
    no_rows();
    no_stride();
    offsets();
    overlap();
    unfilled_everywhere();
    windows();
    inits();
    if (decimal_comma()) operators();
    tally_close(ctx);
    return check_finish();
}
