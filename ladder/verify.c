/* SPDX-License-Identifier: MIT
 * Is a rung's answer right? Whole numbers, minima and maxima: equal to the known result. Floats: equal in bits to the
 * rung's documented order where it has one; where the order depends on timing, no further from the exact result than
 * any order can be (Higham 2002, 4.2: (n - 1) u sum |x|): a theorem, not a tolerance. */
#include "rung.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double unit(kind k) { return k == KIND_F32 ? 0x1p-24 : 0x1p-53; }
static double rounded(kind k, double x) { return k == KIND_F32 ? (double)(float)x : x; }

static void wrong(row *out, const job *j, const char *what)
{
    out->verdict = j->rung->note == PLAIN ? WRONG : EXPECTED;
    snprintf(out->reason, sizeof out->reason, "%s", what);
}

void verify_reduce(const job *j, element got, row *out)
{
    const kind k = j->setting.elem;
    double bound;
    const element known = known_result(k, j->n, j->setting.operation, 1, &bound);
    element want = known;
    const int real = k >= KIND_F32 && j->setting.operation == 0;
    out->error_ulp = k < KIND_F32 ? -1 : ulp_error(k, j->n, j->setting.operation, 1, got);
    out->bits = !real || j->rung->order != NONE;
    if (real && j->rung->order != NONE) {
        const order_how how = {j->rung->order,
                               j->rung->schedule,
                               j->rung->threads,
                               j->rung->each,
                               32,
                               j->setting.operation,
                               j->rung->threads ? job_groups(j) : 0};
        order_how with = how;
        if (place_is_model(j->place)) with.warp = j->setting.warp;
        want = order_reduce(k, &with, j->host[0], j->n);
    }
    if (!j->n && j->rung->order == LAW && k >= KIND_F32 && j->setting.operation)
        want.f = NAN; /* as `tally ops min` says */
    element_text(k, got, out->got, sizeof out->got);
    element_text(k, want, out->want, sizeof out->want);
    char what[160];
    if (out->bits && !same_bits(k, got, want)) {
        snprintf(what, sizeof what, "%s instead of %s", out->got, out->want);
        wrong(out, j, what);
    } else if (!out->bits && !(out->error_ulp <= bound)) {
        snprintf(what, sizeof what, "%s is %.3g ulp from the exact sum; no order can be more than %.3g away", out->got,
                 out->error_ulp, bound);
        wrong(out, j, what);
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
    int64_t sum = 0, best = 0;
    out->error_ulp = k < KIND_F32 ? -1 : 0;
    out->bits = k < KIND_F32 || operation || j->rung->order != NONE;
    for (int64_t i = 0; i < j->n; i++) {
        const element x = data_get(j->host[0], k, i), got = data_get(j->output, k, i);
        const int64_t v = k >= KIND_F32 ? (int64_t)x.f : x.i; /* whole numbers, also as floats */
        element want;
        sum += v;
        best = !i ? v : operation == 1 ? (v < best ? v : best) : v > best ? v : best;
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
            if (away > out->error_ulp) out->error_ulp = away;
            want.f = (double)exact;
            good = operation ? got.f == want.f
                             : fabs(got.f - (double)exact) <= 1.01 * (double)(i + 1) * unit(k) * (double)exact;
            if (j->rung->order == LAW && !operation) {
                want.f = law_push(&l, k, x.f, i);
                good = got.f == want.f;
            }
        }
        if (good && i < j->n - 1) continue;
        element_text(k, got, out->got, sizeof out->got);
        element_text(k, want, out->want, sizeof out->want);
        if (good) break;
        char what[160];
        snprintf(what, sizeof what, "element %lld is %s instead of %s", (long long)i, out->got, out->want);
        wrong(out, j, what);
        return;
    }
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

void verify_window(const job *j, int hostile, row *out)
{
    enum { CHECKED_MOST = 1 << 17 };
    const kind k = j->setting.elem;
    const int64_t w = j->width;
    const int64_t step = (j->n - w) / CHECKED_MOST + 1; /* long series: a part of the windows */
    int64_t bad = 0, seen = 0, after_large = 0, after_inf = 0, first = -1;
    out->error_ulp = 0;
    out->bits = j->rung->order != NONE;
    for (int64_t i = w - 1; i < j->n;
         i = i < j->n - 1 && i + step >= j->n ? j->n - 1 : i + step) { /* the last one too */
        double left = 0, exact = 0, size = 0;
        int special = 0;
        for (int64_t at = i - w + 1; at <= i; at++) {
            const double x = data_get(j->host[0], k, at).f;
            left = rounded(k, left + x);
            exact += x; /* f64: for f32 the error is far below an ulp of it */
            size += fabs(x);
            special |= !(fabs(x) < 1e15);
        }
        if (special) continue;
        seen++;
        const double got = data_get(j->output, k, i).f, want = rounded(k, exact / (double)w);
        const double away = fabs(got - want) / ulp_of(k, want);
        if (!(away <= out->error_ulp)) out->error_ulp = isfinite(away) ? away : INFINITY;
        int good;
        if (j->rung->order == NONE)
            good = fabs(got - want) <= 1.01 * (double)w * unit(k) * size / (double)w + ulp_of(k, want);
        else
            good = got == (j->rung->order == LAW ? law_mean(k, j->host[0], i - w + 1, w)
                                                 : rounded(k, left / rounded(k, (double)w)));
        if (good) continue;
        bad++;
        if (first < 0) {
            first = i;
            element_text(k, (element){.f = got}, out->got, sizeof out->got);
            element_text(k, (element){.f = want}, out->want, sizeof out->want);
        }
        after_inf += hostile && i > j->n / 2;
        after_large += hostile && i > j->n / 4 && i <= j->n / 2;
    }
    if (!bad) return;
    char what[180];
    if (hostile)
        snprintf(what, sizeof what,
                 "after 1e16 %lld windows are wrong, after an inf %lld: together %.3g %% of those without either",
                 (long long)after_large, (long long)after_inf, 100.0 * (double)bad / (double)seen);
    else
        snprintf(what, sizeof what, "window %lld is %s instead of %s; %lld of %lld are off", (long long)first, out->got,
                 out->want, (long long)bad, (long long)seen);
    wrong(out, j, what);
}
