/* SPDX-License-Identifier: MIT
 *
 * calls.c - what a call on 1 to 64 elements costs, beside a plain loop in a function that is not
 * inlined.
 */
#include "bench.h"
#include <math.h>
#include <stdio.h>

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
