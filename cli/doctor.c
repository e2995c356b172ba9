/* SPDX-License-Identifier: MIT
 * doctor.c - tally doctor: what is here, what is not and why, how fast, and whether the law is
 * kept.
 *
 * Everything comes from the public interface. What is missing is shown and is no error; a result
 * that differs from the law is VERIFY_FAILED. */
#define _GNU_SOURCE /* memfd_create */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { PARTS_MOST = 40, TEXT = 300, JOBS = 3, BAR = 24 };

/* A device or a tool: how it looks, or why it is not here. */
typedef struct part {
    char name[24], text[TEXT];
    int here;
} part;

typedef struct checkup {
    part parts[PARTS_MOST];
    int count;
    double load; /* before the measurement; -1: unknown */
    int processors;
    int timed; /* whether `speed` is measured */
    bench_figure speed[JOBS];
    int64_t cases;
    int lawful;
    char report[TEXT], isa[24];
    int threads;
} checkup;

/* A kind of device that tally_device does not list where it has no driver. */
static const struct {
    const char *name, *needs;
} kinds[] = {
    {"cuda", "libcuda.so.1, which is in NVIDIA's driver"},
    {"opencl", "libOpenCL.so.1, and a driver for it such as PoCL"},
};

const char *device_needs(const char *name, size_t length)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strlen(kinds[k].name) == length && !memcmp(kinds[k].name, name, length))
            return kinds[k].needs;
    return NULL;
}

static const struct {
    const char *problem, *words;
} jobs[JOBS] = {
    {"sum:f32:reduce:2^24", "sum"},
    {"sum:f32:scan:2^24", "running sum"},
    {"mean:f32:window=50:2^24", "rolling mean of 50"},
};

static part *add(checkup *c, const char *name, int here, const char *text)
{
    part *const p = &c->parts[c->count < PARTS_MOST ? c->count++ : PARTS_MOST - 1];

    snprintf(p->name, sizeof p->name, "%s", name);
    snprintf(p->text, sizeof p->text, "%s", text);
    p->here = here;
    return p;
}

/* ---- what is here ---- */

/* Opens the device, which probes a GPU, and describes it. */
static void add_device(checkup *c, const tally_device_info *d)
{
    char text[TEXT];
    tally *ctx = NULL;

    if (!d->usable) {
        snprintf(text, sizeof text, "%s: %s", d->text, d->reason);
        add(c, d->name, 0, text);
    } else if (tally_open(&ctx, d->name)) {
        add(c, d->name, 0, tally_error(NULL));
    } else if (d->processors) {
        c->processors = d->processors;
        snprintf(text, sizeof text, "%d processor%s, isa %s", d->processors,
                 d->processors == 1 ? "" : "s", d->isas);
        add(c, d->name, 1, text);
    } else {
        add(c, d->name, 1, d->text);
    }
    tally_close(ctx);
}

static void find_devices(checkup *c)
{
    tally_device_info d;

    for (int i = 0; tally_device(i, &d) == TALLY_OK; i++) add_device(c, &d);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const size_t length = strlen(kinds[k].name);
        char text[TEXT];
        tally *ctx = NULL;
        int listed = 0;

        for (int i = 0; i < c->count; i++)
            listed += !strncmp(c->parts[i].name, kinds[k].name, length);
        if (listed) continue;
        if (!tally_open(&ctx, kinds[k].name)) /* a device that came meanwhile */
            snprintf(text, sizeof text, "came while this ran");
        else
            snprintf(text, sizeof text, "%s; it needs %s", tally_error(NULL), kinds[k].needs);
        add(c, kinds[k].name, ctx != NULL, text);
        tally_close(ctx);
    }
}

/* Compiles an operator: a text that the compiler has seen before is not compiled again. */
static void find_compiler(checkup *c)
{
    static const char text[] =
        "#define OP_STATE(F) F(real, s)\n"
        "typedef struct { OP_STATE(FIELD) } state;\n"
        "fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }\n"
        "fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }\n"
        "fn result lower(state a, real n, idx first, par p) { return to_result(a.s); }\n"
        "fn result empty(par p) { return to_result(num(0.0)); }\n";
    const float x[] = {1, 2};
    float sum = 0;
    const tally_view in = tally_flat(x, TALLY_F32, 2);
    tally *ctx = NULL;
    tally_status status = tally_open(&ctx, "cpu,threads=1");

    if (!status) status = tally_define(ctx, "doctor_sum", text, NULL);
    if (!status) status = tally_reduce(ctx, "doctor_sum", &in, &sum);
    if (status)
        add(c, "compiler", 0, tally_error(ctx));
    else
        add(c, "compiler", 1, "for operators of your own");
    tally_close(ctx);
}

/* Reads a NetCDF file of one number, which lies in memory. */
static void find_netcdf(checkup *c)
{
    static const unsigned char file[] = {
        'C', 'D', 'F', 1,  0,   0, 0, 0, /* version 1, no records */
        0,   0,   0,   0,  0,   0, 0, 0, /* no dimensions */
        0,   0,   0,   0,  0,   0, 0, 0, /* no attributes */
        0,   0,   0,   11, 0,   0, 0, 1, /* one variable */
        0,   0,   0,   1,  'x', 0, 0, 0, /* its name */
        0,   0,   0,   0,                /* no dimensions */
        0,   0,   0,   0,  0,   0, 0, 0, /* no attributes */
        0,   0,   0,   4,  0,   0, 0, 4, /* an int of 4 bytes ... */
        0,   0,   0,   64, 0,   0, 0, 7, /* ... at byte 64: 7 */
    };
    const int fd = memfd_create("doctor.nc", MFD_CLOEXEC);
    char path[40];
    tally_file *f = NULL;
    const tally_file_options o = {.variable = "x"};
    tally *ctx = NULL;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, file, sizeof file) != (ssize_t)sizeof file || tally_open(&ctx, "cpu"))
        add(c, "netcdf", 0, "not tried: there is no memory for a file");
    else if (tally_file_open(ctx, path, &o, &f))
        add(c, "netcdf", 0, tally_error(ctx));
    else
        add(c, "netcdf", 1, "NetCDF and HDF5 files");
    tally_file_close(f);
    tally_close(ctx);
    if (fd >= 0) close(fd);
}

/* ---- speed and law ---- */

static int examine(checkup *c, const options *o)
{
    int64_t runs;
    tally *ctx = NULL;
    const char *report = "";
    int code = opt_count(o, OPT_runs_doctor, 0, 1001, 15, &runs);

    if (!code) code = opt_count(o, OPT_cases_doctor, 1, INT64_MAX, 1000, &c->cases);
    if (!code) code = session_open(&ctx, o);
    if (code) return code;
    snprintf(c->isa, sizeof c->isa, "%s", tally_isa(ctx));
    c->threads = tally_threads(ctx);
    c->timed = runs > 0;
    for (int j = 0; j < JOBS && runs && !code; j++)
        code = bench_speed(ctx, jobs[j].problem, runs, &c->speed[j]);
    if (!code) {
        const tally_status status = tally_verify(ctx, 1, c->cases, &report);
        if (status != TALLY_MISMATCH) code = code_of(ctx, status);
        c->lawful = !status;
        snprintf(c->report, sizeof c->report, "%s", report ? report : "");
    }
    tally_close(ctx);
    return code;
}

/* GB/s of a job, or of the memory, that took so long. */
static double rate(const bench_figure *f, double seconds)
{
    return (double)f->bytes / seconds * 1e-9;
}

/* Median beside median. (The best runs say little where others use the machine: once a copy of some
 * milliseconds was five times as fast as their median.) */
static double fraction_of(const bench_figure *f) { return f->ceiling / f->seconds; }

/* ---- output ---- */

static void print_bar(double part_of_one)
{
    const int full = (int)(part_of_one * BAR + 0.5);

    for (int i = 0; i < BAR; i++) fputs(i < full ? "#" : ".", stdout);
}

/* A line of the report; on a terminal as many as fit. */
static void print_part(const char *name, const char *state, const char *text)
{
    char *const shown = plain(text);

    printf("%-9s %-3s  ", name, state);
    put_wrapped(stdout, shown ? shown : "", 15);
    free(shown);
}

static void print_text(const checkup *c, const struct utsname *system)
{
    printf("tally %s (order E v1), %s %s, %s", tally_version(), system->sysname, system->release,
           system->machine);
    if (c->load >= 0) printf(", load %.2f", c->load);
    fputs("\n\n", stdout);
    for (int i = 0; i < c->count; i++)
        print_part(c->parts[i].name, c->parts[i].here ? "ok" : "no", c->parts[i].text);
    if (c->timed)
        printf("\nspeed, of the memory's: medians (%s, %d thread%s, 64 MiB of f32)\n", c->isa,
               c->threads, c->threads == 1 ? "" : "s");
    int above = 0;
    for (int j = 0; j < JOBS && c->timed; j++) {
        printf("  %-19s ", jobs[j].words);
        const bench_figure *const f = &c->speed[j];
        print_bar(fraction_of(f));
        printf(" %4.0f %%  %6.1f of %.1f GB/s\n", 100 * fraction_of(f), rate(f, f->seconds),
               rate(f, f->ceiling));
        above |= fraction_of(f) > 1.03;
    }
    if (above)
        puts("  (above 103 %: the memory is faster than the loops that were tried; measure again)");
    if (c->timed && c->load > c->processors + 0.5)
        printf("  (others use this machine: load %.0f, %d processor%s; measure again)\n", c->load,
               c->processors, c->processors == 1 ? "" : "s");
    putchar('\n');
    print_part("law", c->lawful ? "ok" : "NO", c->report);
}

static void print_json(const checkup *c, const struct utsname *system)
{
    printf("{\"version\": \"%s\", \"order\": \"E v1\", \"system\": ", tally_version());
    put_json(stdout, "", system->sysname);
    put_json(stdout, ", \"release\": ", system->release);
    put_json(stdout, ", \"machine\": ", system->machine);
    if (c->load >= 0) printf(", \"load\": %.2f", c->load);
    fputs(",\n\"parts\": [", stdout);
    for (int i = 0; i < c->count; i++) {
        put_json(stdout, i ? ",\n  {\"name\": " : "\n  {\"name\": ", c->parts[i].name);
        printf(", \"here\": %s, \"text\": ", c->parts[i].here ? "true" : "false");
        put_json(stdout, "", c->parts[i].text);
        putchar('}');
    }
    printf("],\n\"isa\": \"%s\", \"threads\": %d, \"speed\": [", c->isa, c->threads);
    for (int j = 0; j < JOBS && c->timed; j++) {
        const bench_figure *const f = &c->speed[j];
        printf("%s\n  {\"problem\": \"%s\", \"gb_per_s\": %.4g, \"ceiling_gb_per_s\": %.4g, "
               "\"fraction\": %.4g}",
               j ? "," : "", jobs[j].problem, rate(f, f->seconds), rate(f, f->ceiling),
               fraction_of(f));
    }
    printf("],\n\"law\": {\"ok\": %s, \"cases\": %lld, \"seed\": 1, \"report\": ",
           c->lawful ? "true" : "false", (long long)c->cases);
    put_json(stdout, "", c->report);
    puts("}}");
}

int run_doctor(const options *o)
{
    static checkup c;
    struct utsname system;

    if (no_operand(o)) return USAGE;
    if (uname(&system)) memset(&system, 0, sizeof system);
    if (getloadavg(&c.load, 1) != 1) c.load = -1;
    const int code = examine(&c, o); /* first, because it checks the options */
    if (code) return code;
    find_devices(&c);
    find_compiler(&c);
    find_netcdf(&c);
    if (has(o, OPT_json))
        print_json(&c, &system);
    else
        print_text(&c, &system);
    return c.lawful ? DONE : VERIFY_FAILED;
}
