/* SPDX-License-Identifier: MIT
 * bench.c - tally bench: measures problems such as sum:f32:scan:2^24 and the memory's ceiling in
 * turns, and prints medians. */
#include "ceiling.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD = 64,
    RUNS_MOST = 1001,
    TRIES = 6,          /* measurements of a problem that seems faster than its ceiling */
    CHECKED = 32 << 20, /* bytes of a problem from memory, whose ceiling is checked */
};
static const double ABOVE = 1.03; /* of its ceiling: then the ceiling is none */

typedef struct problem {
    char word[2 * WORD], op[WORD], shape[WORD];
    tally_dtype dtype;
    int64_t n, width;
    tally_operator_info info;
    int64_t bytes, calls;         /* bytes that one call reads and writes; calls in one timed run */
    double median, best, ceiling; /* seconds; ceiling: the median */
    double fraction;              /* of the best loop's speed: the median of the runs' */
} problem;

static const char *const tour[] = {
    "sum:f32:reduce:2^26", "sum:f64:reduce:2^25", "sum:i32:reduce:2^26",     "max:f32:reduce:2^26",
    "var:f32:reduce:2^26", "sum:f32:scan:2^25",   "mean:f32:window=50:2^25", NULL};
static const char *const shapes[] = {"reduce", "scan", "window", NULL};

/* Parses OP:DTYPE:SHAPE:N from the right, because an operator may contain colons. */
static int parse(problem *p, const char *word, tally *ctx)
{
    static const char form[] =
        "a problem is OP:DTYPE:SHAPE:N, like sum:f32:scan:2^24 or mean:f32:window=50:2^26";
    memset(p, 0, sizeof *p);
    if (strlen(word) >= WORD) return usage("the problem '%s' is too long; %s", word, form);
    snprintf(p->word, sizeof p->word, "%s", word);
    snprintf(p->op, sizeof p->op, "%s", word);
    char *field[3];
    for (int i = 2; i >= 0; i--) {
        char *const colon = strrchr(p->op, ':');
        if (!colon) return usage("the problem '%s' has too few parts; %s", word, form);
        *colon = '\0';
        field[i] = colon + 1;
    }
    snprintf(p->shape, sizeof p->shape, "%s", field[1]);
    char *const equals = strchr(p->shape, '=');
    if (equals) *equals = '\0';
    int s = 0;
    while (shapes[s] && strcmp(shapes[s], p->shape) != 0) s++;
    if (!shapes[s]) return fail_choice(USAGE, "shape", p->shape, shapes);
    p->dtype = tally_dtype_parse(field[0]);
    if (!p->dtype) return fail_choice(USAGE, "dtype", field[0], dtype_names());
    if (count_parse(field[2], &p->n) || p->n < 1 || p->n > (int64_t)1 << 40)
        return usage("the problem '%s' has N '%s': must be a whole number from 1 to 2^40", word,
                     field[2]);
    const int window = p->shape[0] == 'w';
    if (window && (!equals || count_parse(equals + 1, &p->width) || p->width < 1))
        return usage("the problem '%s' needs a width, as in window=50", word);
    if (!window && equals) return usage("the problem '%s': %s takes no width", word, p->shape);
    int code = operator_check(p->op, strlen(p->op));
    if (!code) code = operator_info(ctx, p->op, p->dtype, &p->info);
    const int64_t in = (int64_t)tally_dtype_size(p->dtype),
                  out = p->shape[0] == 'r' ? 0 : (int64_t)result_bytes(&p->info);
    p->bytes = p->n * (in + out);
    return code;
}

/* Fills data with small random whole numbers, which are exact in every type. */
static void fill(void *data, tally_dtype dtype, int64_t n)
{
    const size_t size = tally_dtype_size(dtype);
    char table[64][8];
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 64; i++) {
        char text[8];
        const int length = snprintf(text, sizeof text, "%d", i);
        tally_parse_value(dtype, text, (size_t)length, table[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy((char *)data + (size_t)i * size, table[x % 64], size);
    }
}

static tally_status call(tally *ctx, const problem *p, const void *data, void *out)
{
    const tally_view in = tally_flat(data, p->dtype, p->n),
                     to = tally_flat(out, p->info.output, p->n);
    const tally_window_options window = {p->width - 1, 0, TALLY_EDGES_MISSING, 0};
    if (p->shape[0] == 'r') return tally_reduce(ctx, p->op, &in, out);
    if (p->shape[0] == 's') return tally_scan(ctx, p->op, &in, &to, NULL);
    return tally_window(ctx, p->op, &in, &to, &window);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int64_t n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Measures the problem and its ceiling in turns, so that a disturbance affects both. */
static int measure(tally *ctx, problem *p, void *data, void *out, int64_t runs)
{
    static double times[RUNS_MOST], limits[CEILING_WALKS][RUNS_MOST], fractions[RUNS_MOST];
    const int reads = p->shape[0] == 'r';
    ceiling c;
    /* a copy of as many bytes as the problem: half of them read, half written */
    const int64_t bytes = reads ? p->bytes : p->bytes / 2;
    int code;
    if (ceiling_open(&c, bytes, tally_threads(ctx)))
        return fail_memory("measuring the ceilings", 2 * bytes);
    /* warm-up: pages, threads, caches */
    tally_status status = call(ctx, p, data, out);
    for (int w = 0; w < CEILING_WALKS; w++) (void)ceiling_pass(&c, !reads, w, 1);
    double start = seconds();
    if (!status) status = call(ctx, p, data, out);
    const double once = seconds() - start;
    /* calls in a timed run, so that it lasts at least 2 ms */
    p->calls = once > 0.002 ? 1 : 1 + (int64_t)(0.002 / (once > 1e-8 ? once : 1e-8));
    for (int64_t r = 0; r < runs && !status; r++) {
        start = seconds();
        for (int64_t i = 0; i < p->calls && !status; i++) status = call(ctx, p, data, out);
        times[r] = (seconds() - start) / (double)p->calls;
        for (int w = 0; w < CEILING_WALKS; w++)
            limits[w][r] = ceiling_pass(&c, !reads, w, p->calls);
    }
    code = code_of(ctx, status);
    for (int w = 0; w < CEILING_WALKS && !code; w++) {
        for (int64_t r = 0; r < runs; r++) fractions[r] = limits[w][r] / times[r];
        const double limit = median(limits[w], runs), fraction = median(fractions, runs);
        if (!w || limit < p->ceiling) p->ceiling = limit;
        if (!w || fraction < p->fraction) p->fraction = fraction;
    }
    p->median = median(times, runs);
    p->best = times[0];
    ceiling_close(&c);
    return code;
}

static int is_above(const problem *p) { return p->bytes >= CHECKED && p->fraction > ABOVE; }

static int bench_one(tally *ctx, problem *p, int64_t runs)
{
    const size_t in = (size_t)p->n * tally_dtype_size(p->dtype);
    const size_t out = (p->shape[0] == 'r' ? 1 : (size_t)p->n) * result_bytes(&p->info);
    void *const data = ceiling_memory(in), *const to = ceiling_memory(out);
    int code = data && to ? DONE : fail_memory(p->word, (int64_t)(in + out));
    if (!code) fill(data, p->dtype, p->n);
    for (int i = 0; i < TRIES && !code; i++) {
        code = measure(ctx, p, data, to, runs);
        if (!is_above(p)) break;
    }
    free(data);
    free(to);
    return code;
}

int bench_speed(tally *ctx, const char *word, int64_t runs, bench_figure *figure)
{
    problem p;
    int code = parse(&p, word, ctx);

    if (!code) code = bench_one(ctx, &p, runs);
    if (!code) *figure = (bench_figure){p.bytes, p.median, p.ceiling};
    return code;
}

static void print(const problem *p, int json, int first, tally *ctx, int64_t runs)
{
    const char *const against = p->shape[0] == 'r' ? "read" : "copy";
    const double rate = (double)p->bytes / p->median * 1e-9,
                 limit = (double)p->bytes / p->ceiling * 1e-9;
    if (json) {
        put_json(stdout, first ? "[\n{\"problem\": " : ",\n{\"problem\": ", p->word);
        printf(", \"isa\": \"%s\", \"threads\": %d, \"runs\": %lld, \"bytes\": %lld, \"seconds\": "
               "%.9g, \"best_seconds\": %.9g, \"gb_per_s\": %.4g, \"ceiling\": \"%s\", "
               "\"ceiling_gb_per_s\": %.4g, \"fraction\": %.4g}",
               tally_isa(ctx), tally_threads(ctx), (long long)runs, (long long)p->bytes, p->median,
               p->best, rate, against, limit, p->fraction);
    } else {
        if (first) {
            printf("isa %s, %d thread%s, median of %lld runs; the ceiling is measured in turns "
                   "with the problem\n",
                   tally_isa(ctx), tally_threads(ctx), tally_threads(ctx) == 1 ? "" : "s",
                   (long long)runs);
            printf("%-28s %12s %9s  %-16s %s\n", "problem", "ms", "GB/s", "ceiling GB/s", "of it");
        }
        printf("%-28s %12.4f %9.2f  %-4s %11.2f %5.2f\n", p->word, p->median * 1e3, rate, against,
               limit, p->fraction);
    }
    stdout_flush();
}

int run_bench(const options *o)
{
    int64_t runs;
    tally *ctx = NULL;
    int code = opt_count(o, OPT_runs, 1, RUNS_MOST, 7, &runs);
    /* figures must be of one kind of code; an option of --device overrides this */
    setenv("TALLY_CODE", "best", 0);
    if (!code) code = session_open(&ctx, o);
    int count = o->nargs;
    if (!count)
        while (tour[count]) count++;
    problem p;
    for (int i = 0; i < count && !code; i++) /* all words are checked before the work begins */
        code = parse(&p, o->nargs ? o->args[i] : tour[i], ctx);
    int done = 0;
    problem wrong = {0};
    for (int i = 0; i < count && !code; i++) {
        code = parse(&p, o->nargs ? o->args[i] : tour[i], ctx);
        if (!code) code = bench_one(ctx, &p, runs);
        if (!code) print(&p, has(o, OPT_json), !done++, ctx, runs);
        if (!code && is_above(&p)) wrong = p;
    }
    if (has(o, OPT_json) && done) puts("\n]");
    tally_close(ctx);
    if (!code && wrong.bytes)
        code = fail(VERIFY_FAILED,
                    "%s is %.2f times as fast as the best %s that was found, so the "
                    "ceiling is wrong",
                    wrong.word, wrong.fraction, wrong.shape[0] == 'r' ? "read" : "copy");
    return code;
}
