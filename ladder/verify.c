/* SPDX-License-Identifier: MIT
 * Is a rung's answer right? Whole numbers, minima and maxima: equal to the known result. Floats:
 * equal in bits to the rung's documented order where it has one; where the order depends on
 * timing, no further from the exact result than any order can be (Higham 2002, 4.2: (n - 1) u
 * sum |x|): a theorem, not a tolerance. */
#include "rung.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double unit(kind k) { return k == KIND_F32 ? 0x1p-24 : 0x1p-53; }
static double rounded(kind k, double x) { return k == KIND_F32 ? (double)(float)x : x; }

static void wrong(row *out, const job *j, const char *what)
{
    out->verdict = j->rung->note == PLAIN ? WRONG : EXPECTED;
    if (!out->off) out->off = 1;
    snprintf(out->reason, sizeof out->reason, "%s", what);
}

void verify_reduce(const job *j, element got, row *out)
{
    const kind k = j->setting.elem;
    double bound;
    const element true_result = known_result(k, j->n, j->setting.operation, 1, &bound);
    element want = true_result;
    const int real = k >= KIND_F32 && j->setting.operation == 0;
    out->error_ulp = k < KIND_F32 ? -1 : ulp_error(k, j->n, j->setting.operation, 1, got);
    out->bits = !real || j->rung->order != NONE;
    if (real && j->rung->order != NONE) {
        order_setting s = {j->rung->order,
                           j->rung->schedule,
                           j->rung->threads,
                           j->rung->each,
                           32,
                           j->setting.operation,
                           j->rung->threads ? job_groups(j) : 0};
        if (place_is_model(j->place)) s.warp = j->setting.warp;
        want = order_reduce(k, &s, j->host[0], j->n);
    }
    if (!j->n && j->rung->order == LAW && k >= KIND_F32 && j->setting.operation)
        want.f = NAN; /* as `tally ops min` says */
    element_text(k, got, out->got, sizeof out->got);
    element_text(k, want, out->want, sizeof out->want);
    out->checked = 1;
    out->off = 0;
    char what[160];
    if (out->bits && !same_bits(k, got, want)) {
        snprintf(what, sizeof what, "%s instead of %s", out->got, out->want);
        wrong(out, j, what);
        likely_cause(j, got, want, 0, out);
    } else if (!out->bits && !(out->error_ulp <= bound)) {
        snprintf(what, sizeof what,
                 "%s is %.3g ulp from the exact sum; no order can be more than %.3g away", out->got,
                 out->error_ulp, bound);
        wrong(out, j, what);
        likely_cause(j, got, want, 0, out);
    }
}

/* ---- scans ---- */

typedef struct law {
    double stack[64];
    int depth;
} law;

/* S(i + 1) of doc/order.md, one element at a time. */
static double law_push(law *l, kind k, double x, int64_t i)
{
    l->stack[l->depth++] = x;
    for (int64_t size = i + 1; size % 2 == 0; size /= 2, l->depth--)
        l->stack[l->depth - 2] = rounded(k, l->stack[l->depth - 2] + l->stack[l->depth - 1]);
    double sum = l->stack[0];
    for (int d = 1; d < l->depth; d++) sum = rounded(k, sum + l->stack[d]);
    return sum;
}

void verify_scan(const job *j, row *out)
{
    const kind k = j->setting.elem;
    const int operation = j->setting.operation;
    law l = {.depth = 0};
    int64_t sum = 0, best = 0, start = 0, first = 0;
    element first_got = {0}, first_want = {0};
    char what[160];
    out->error_ulp = k < KIND_F32 ? -1 : 0;
    out->bits = k < KIND_F32 || operation || j->rung->order != NONE;
    out->checked = j->n;
    out->off = 0;
    for (int64_t i = 0; i < j->n; i++) {
        const element x = data_get(j->host[0], k, i), got = data_get(j->output, k, i);
        const int64_t v = k >= KIND_F32 ? (int64_t)x.f : x.i; /* whole numbers, also as floats */
        const int less = k == KIND_U64 ? (uint64_t)v < (uint64_t)best : v < best;
        element want;
        if (!i || (j->rung->schedule == SEGMENTS && segment_starts(i))) start = i, sum = 0;
        sum = (int64_t)((uint64_t)sum + (uint64_t)v);
        if (i == start || (operation == 1 ? less : v != best && !less)) best = v;
        const int64_t exact = operation ? best : sum;
        int good;
        if (k < KIND_F32) {
            char cell[8];
            want.i = exact;
            data_put(cell, k, 0, want);
            want = data_get(cell, k, 0);
            good = got.i == want.i;
        } else {
            const double away = fabs(got.f - (double)exact) / ulp_of(k, (double)exact);
            if (!(away <= out->error_ulp)) out->error_ulp = isfinite(away) ? away : INFINITY;
            want.f = (double)exact;
            good = operation ? got.f == want.f
                             : fabs(got.f - (double)exact) <=
                                   1.01 * (double)(i - start + 1) * unit(k) * (double)exact;
            if (j->rung->order == LAW && !operation) {
                want.f = law_push(&l, k, x.f, i);
                good = got.f == want.f;
            }
        }
        if (!good) out->off++;
        if (good ? out->off || i < j->n - 1 : out->off > 1)
            continue; /* the first that is off, or the last one, is shown */
        element_text(k, got, out->got, sizeof out->got);
        element_text(k, want, out->want, sizeof out->want);
        if (!good)
            snprintf(what, sizeof what, "element %lld is %s instead of %s", (long long)i, out->got,
                     out->want);
        first = i, first_got = got, first_want = want;
    }
    if (!out->off) return;
    const size_t used = strlen(what);
    snprintf(what + used, sizeof what - used, "; %lld of %lld are off", (long long)out->off,
             (long long)j->n);
    wrong(out, j, what);
    likely_cause(j, first_got, first_want, first, out);
}

/* ---- transposes and histograms: equal, or wrong ---- */

static void compare_all(const job *j, row *out, int64_t count, const char *unit,
                        element (*want)(const job *, int64_t))
{
    const kind k = j->rung->shape == SHAPE_histogram ? KIND_U32 : j->setting.elem;
    int64_t first = -1;
    element first_got = {0}, first_want = {0};
    char what[160];
    out->error_ulp = -1;
    out->bits = 1;
    out->checked = count;
    out->off = 0;
    for (int64_t i = 0; i < count; i++) {
        const element got = data_get(j->output, k, i), right = want(j, i);
        const int good = same_bits(k, got, right);
        out->off += !good;
        if (first >= 0 || (good && i)) continue;
        element_text(k, got, out->got, sizeof out->got);
        element_text(k, right, out->want, sizeof out->want);
        if (!good) first = i, first_got = got, first_want = right;
    }
    if (!out->off) return;
    snprintf(what, sizeof what, "%s %lld is %s instead of %s; %lld of %lld are off", unit,
             (long long)first, out->got, out->want, (long long)out->off, (long long)count);
    wrong(out, j, what);
    likely_cause(j, first_got, first_want, first, out);
}

static element transposed(const job *j, int64_t i)
{
    int64_t rows, cols;
    matrix_of(j->n, &rows, &cols);
    return data_get(j->host[0], j->setting.elem, i % rows * cols + i / rows);
}

void verify_transpose(const job *j, row *out)
{
    int64_t rows, cols;
    matrix_of(j->n, &rows, &cols);
    compare_all(j, out, rows * cols, "element", transposed);
}

static element counted(const job *j, int64_t bin)
{
    return (element){.i = histogram_count(j->n, bin)};
}

void verify_histogram(const job *j, row *out)
{
    compare_all(j, out, BINS, "the count of", counted);
}

/* ---- windows ---- */

void hostile_series(void *x, kind k, int64_t n)
{
    data_fill(x, k, n, 0, 1);
    if (n > 4) data_put(x, k, n / 4, (element){.f = 1e16});
    if (n > 4) data_put(x, k, n / 2, (element){.f = INFINITY});
}

static double law_mean(kind k, const void *x, int64_t from, int64_t w)
{
    law l = {.depth = 0};
    double sum = 0;
    for (int64_t i = 0; i < w; i++) sum = law_push(&l, k, data_get(x, k, from + i).f, i);
    return rounded(k, sum / (double)w);
}

/* What the windows that end at one place of the pattern give: 127 of them stand for all that
 * hold no special element. */
typedef struct phase {
    int computed;
    double exact, right, size; /* size: sum of |x| */
} phase;

static void learn(const job *j, phase *p, int64_t end)
{
    const kind k = j->setting.elem;
    const int64_t w = j->width;
    double left = 0, exact = 0;
    p->size = 0;
    for (int64_t at = end - w + 1; at <= end; at++) {
        const double x = data_get(j->host[0], k, at).f;
        left = rounded(k, left + x);
        exact += x; /* f64: for f32 the error is far below an ulp of it */
        p->size += fabs(x);
    }
    p->exact = rounded(k, exact / (double)w);
    p->right = j->rung->order == LAW ? law_mean(k, j->host[0], end - w + 1, w)
                                     : rounded(k, left / rounded(k, (double)w));
    p->computed = 1;
}

/* Places without a whole window: the library's are nan, a kernel's are as they were. */
static int left_alone(const job *j, int64_t i)
{
    const size_t size = kind_bytes(j->setting.elem);
    const unsigned char *const at = (const unsigned char *)j->output + (size_t)i * size;
    if (j->rung->order == LAW) return isnan(data_get(j->output, j->setting.elem, i).f);
    for (size_t b = 0; b < size; b++)
        if (at[b] != POISON) return 0;
    return 1;
}

void verify_window(const job *j, int hostile, row *out)
{
    const kind k = j->setting.elem;
    const int64_t w = j->width, n = j->n;
    const int64_t special[] = {hostile ? n / 4 : -1, hostile ? n / 2 : -1}; /* hostile_series */
    int64_t seen = 0, after_large = 0, after_inf = 0, first = -1;
    element first_got = {0}, first_want = {0};
    phase phases[DATA_PERIOD] = {{0}};
    out->error_ulp = 0;
    out->bits = j->rung->order != NONE;
    out->off = 0;
    for (int64_t i = 0; i < n; i++) {
        element got = data_get(j->output, k, i), want = {.f = NAN};
        int good;
        if (i < w - 1) {
            good = left_alone(j, i);
        } else {
            int holds = 0;
            for (int s = 0; s < 2; s++)
                holds |= special[s] >= 0 && special[s] <= i && special[s] > i - w;
            if (holds) continue;
            phase *const p = &phases[i % DATA_PERIOD];
            if (!p->computed) learn(j, p, i);
            want.f = out->bits ? p->right : p->exact;
            const double away = fabs(got.f - p->exact) / ulp_of(k, p->exact);
            if (!(away <= out->error_ulp)) out->error_ulp = isfinite(away) ? away : INFINITY;
            good = out->bits
                       ? got.f == want.f
                       : fabs(got.f - want.f) <=
                             1.01 * (double)w * unit(k) * p->size / (double)w + ulp_of(k, want.f);
        }
        seen++;
        if (good) continue;
        out->off++;
        if (first < 0) {
            first = i, first_got = got, first_want = want;
            element_text(k, got, out->got, sizeof out->got);
            element_text(k, want, out->want, sizeof out->want);
        }
        after_inf += hostile && i > n / 2;
        after_large += hostile && i > n / 4 && i <= n / 2;
    }
    out->checked = seen;
    if (!out->off) return;
    char what[240];
    if (hostile)
        snprintf(what, sizeof what,
                 "after 1e16 %lld windows are wrong, after an inf %lld: together %.3g %% of those "
                 "without either",
                 (long long)after_large, (long long)after_inf,
                 100.0 * (double)out->off / (double)seen);
    else if (first < w - 1)
        snprintf(what, sizeof what,
                 "place %lld was written (%s): the first %lld places have no whole window; %lld of "
                 "%lld places are off (looks as if the store does not ask for i >= w - 1)",
                 (long long)first, out->got, (long long)w - 1, (long long)out->off,
                 (long long)seen);
    else
        snprintf(what, sizeof what, "window %lld is %s instead of %s; %lld of %lld places are off",
                 (long long)first, out->got, out->want, (long long)out->off, (long long)seen);
    wrong(out, j, what);
    out->values_line = memory_writer(j->work[0], first * (int64_t)kind_bytes(j->setting.elem));
    if (!hostile && first >= w - 1) likely_cause(j, first_got, first_want, first, out);
}
