/* SPDX-License-Identifier: MIT
 *
 * subject.c - tally, through its public interface. Built with -DNO_TALLY it is not there, and
 * only ceilings and peers run. And what a call of it on 1 to 64 elements costs, beside a plain loop
 * in a function that is not inlined.
 */
#include "bench.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#ifndef NO_TALLY
#include "tally.h"

/* One context for each number of threads, opened when first asked for and kept: opening is not
   what is measured. */
static tally *context(int threads)
{
    static tally *open[1025];
    if (threads < 1 || threads > 1024) return NULL;
    if (!open[threads]) {
        char device[32];
        snprintf(device, sizeof device, "cpu,threads=%d", threads);
        if (tally_open(&open[threads], device) != TALLY_OK)
            fprintf(stderr, "tally: %s\n", tally_error(NULL));
    }
    return open[threads];
}

static tally_dtype result_type(tally *ctx, const char *op, tally_dtype dtype)
{
    tally_operator_info info;
    return tally_operator(ctx, op, dtype, &info) == TALLY_OK ? info.output : 0;
}

int subject_here(void) { return 1; }

const char *subject_text(int threads)
{
    static char text[96];
    tally *ctx = context(threads);
    snprintf(text, sizeof text, "tally %s, %s", tally_version(), ctx ? tally_isa(ctx) : "not open");
    return text;
}

float subject_one_liner(const float *x, int64_t n) { return tally_sum_f32(x, n); }

int subject_run(const job *j)
{
    static const tally_dtype dtypes[ELEMENTS] = {TALLY_F32, TALLY_F64, TALLY_I32, TALLY_I64,
                                                 TALLY_U8};
    tally *ctx = context(j->threads);
    if (!ctx) return 0;
    const tally_dtype d = dtypes[j->type];
    tally_view in = tally_flat(j->in, d, j->n);
    if (j->shape == ROWS) in = tally_rows(j->in, d, j->n / j->size, j->size);
    if (j->shape == COLUMNS) in = tally_columns(j->in, d, j->n / j->size, j->size);
    if (j->shape == SEGMENTS) in = tally_segments(j->in, d, j->offsets, j->size);
    tally_status s;
    if (j->shape == SCAN || j->shape == WINDOW) {
        const tally_view out = tally_flat(j->out, result_type(ctx, j->op, d), j->n);
        const tally_window_options trailing = {.before = j->size - 1};
        s = j->shape == SCAN ? tally_scan(ctx, j->op, &in, &out, NULL)
                             : tally_window(ctx, j->op, &in, &out, &trailing);
    } else {
        s = tally_reduce(ctx, j->op, &in, j->out);
    }
    if (s != TALLY_OK) fprintf(stderr, "tally: %s: %s\n", j->word, tally_error(ctx));
    return s == TALLY_OK;
}
#else
int subject_here(void) { return 0; }
const char *subject_text(int threads) { return (void)threads, "no tally"; }
int subject_run(const job *j) { return (void)j, 0; }
float subject_one_liner(const float *x, int64_t n) { return (void)x, (void)n, 0; }
#endif

/* ---- what a call costs ---- */

enum { MOST = 64, CALLS = 2000, LIMIT = 100 /* ns more than the loop */ };

static volatile float sink;

__attribute__((noinline)) static float loop(const float *x, int64_t n)
{
    float s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}

static float by_context(const float *x, int64_t n, int threads)
{
    float r = 0;
    const job j = {.word = "call",
                   .op = "sum",
                   .type = F32,
                   .shape = REDUCE,
                   .n = n,
                   .results = 1,
                   .in = x,
                   .out = &r,
                   .threads = threads};
    subject_run(&j);
    return r;
}

static const char *const names[] = {"plain loop", "tally_sum_f32", "tally_reduce, 1 thread",
                                    "tally_reduce, 2 threads"};

static double one(int who, const float *x, int64_t n)
{
    const double start = now();
    for (int i = 0; i < CALLS; i++)
        sink = who == 0   ? loop(x, n)
               : who == 1 ? subject_one_liner(x, n)
                          : by_context(x, n, who - 1);
    return (now() - start) / CALLS * 1e9;
}

int calls_run(int rounds, void *json_file)
{
    FILE *json = json_file;
    float x[MOST];
    double ns[4][MOST + 1], worst[4] = {0}, times[4][3 * 32];
    const int count = subject_here() ? team_most() > 1 ? 4 : 3 : 1;
    for (int i = 0; i < MOST; i++) x[i] = (float)i + 0.5f;
    team_pin(1);
    for (int n = 1; n <= MOST; n++) {
        for (int r = 0; r < 3 * rounds; r++)
            for (int who = 0; who < count; who++) times[who][r] = one(who, x, n);
        for (int who = 0; who < count; who++) {
            ns[who][n] = median(times[who], 3 * rounds);
            worst[who] = fmax(worst[who], ns[who][n] - ns[0][n]);
        }
    }
    printf("a call on n elements, nanoseconds\n    %-24s", "");
    for (int n = 1; n <= MOST; n *= 2) printf("%8d", n);
    printf("   worst more than the loop, n = 1..%d\n", MOST);
    for (int who = 0; who < count; who++) {
        printf("    %-24s", names[who]);
        for (int n = 1; n <= MOST; n *= 2) printf("%8.1f", ns[who][n]);
        if (who)
            printf("   %.1f; bar %d: %s", worst[who], LIMIT,
                   worst[who] <= LIMIT ? "met" : "MISSED");
        printf("\n");
        if (json)
            fprintf(json,
                    "{\"calls\": \"%s\", \"ns1\": %.2f, \"ns64\": %.2f, \"worst\": %.2f, \"bar\": "
                    "%d}\n",
                    names[who], ns[who][1], ns[who][MOST], worst[who], LIMIT);
    }
    return 0;
}
