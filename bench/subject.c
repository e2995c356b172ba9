/* SPDX-License-Identifier: MIT
 *
 * subject.c - tally, through its public interface. Built with -DNO_TALLY it is not there, and
 * only ceilings and peers run.
 */
#include "bench.h"
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
