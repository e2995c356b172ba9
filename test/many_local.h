/* SPDX-License-Identifier: MIT
 * Memory of the members of a context of several devices, and what lies in it. Part of test_many.c.
 */
#ifndef TALLY_TEST_MANY_LOCAL_H
#define TALLY_TEST_MANY_LOCAL_H

#include "fault_gpu.h"
#include "gpus.h"

/* Memory of the members of a context of several devices, and arrays beside it. Part of
 * test_many.c. */

enum {
    MOST = 300000,
    PART = 30000,
    MEMBERS = 4,
    GUARD = 64,
    RESULT = 16,
    CAPACITY = MOST * RESULT + 2 * GUARD
};

static tally *cpu;
static char *x, *want, *got;
static int members;
static check_operator o;

/* ---- memory of a member, and an address for it ---- */

typedef struct {
    tl_memory memory;
    char *at;
} place;
static place in[MEMBERS], out[MEMBERS];

static tl_gpu *gpu_of(int k) { return tl_gpu_of(tally_member(ctx, k)->device)->gpu; }

static int open_place(int k, place *p, size_t bytes)
{
    tl_gpu *g = gpu_of(k);
    void *adopted = NULL;
    *p = (place){0};
    g->calls->enter(g, NULL);
    if (check_ok(ctx, g->calls->allocate(g, ctx, bytes, &p->memory), "memory on the device"))
        p->at = g->calls->adopt ? (g->calls->adopt(g, ctx, p->memory.handle, &adopted), adopted)
                                : (char *)(uintptr_t)p->memory.address;
    g->calls->leave(g);
    return p->at != NULL;
}
static void close_place(int k, place *p)
{
    tl_gpu *g = gpu_of(k);
    g->calls->enter(g, NULL);
    if (p->at && g->calls->forget) g->calls->forget(g, ctx, p->at);
    if (p->memory.bytes) g->calls->release(g, &p->memory);
    g->calls->leave(g);
}
static void put(int k, const place *p, const void *from, size_t bytes)
{
    tl_gpu *g = gpu_of(k);
    g->calls->enter(g, NULL);
    check_ok(ctx, tl_write(g, ctx, &p->memory, 0, from, bytes), "to the device");
    check_ok(ctx, g->calls->wait(g, ctx), "to the device");
    g->calls->leave(g);
}
static void get(int k, const place *p, void *to, size_t bytes)
{
    tl_gpu *g = gpu_of(k);
    g->calls->enter(g, NULL);
    check_ok(ctx, tl_read(g, ctx, to, &p->memory, 0, bytes), "from the device");
    g->calls->leave(g);
}

/* What lies in the memory of one member of several: fields, keys. Part of test_many.c. */

/* Where a member, the host (-1) or another has `bytes` of x. */
static char *placed(int k, const char *from, int64_t bytes)
{
    if (k < 0) return (char *)(uintptr_t)from;
    put(k, &in[k], from, (size_t)bytes);
    return in[k].at;
}

/* Fields: a stream of many sequences lives in the memory of the member whose memory its first
 * step is; the steps that come then are anybody's, and so is the place of the results. */
static void check_fields(void)
{
    const int home = (int)check_below(members), to = (int)check_below(members + 1) - 1,
              resumes = check_below(2) == 0;
    const int64_t cells = 1 + check_below(700), n = 1 + check_below(60), step = cells * o.bytes;
    int64_t at = 0;
    tally_stream *s;
    tally_fragment *before;
    tally_times_info times, one;
    check_fill(x, o.dtype, cells * n, TL_DATA_PLAIN);
    const tally_view all = tally_columns(x, o.dtype, n, cells);
    check_ok(cpu, tally_reduce(cpu, o.op, &all, want), "cpu");
    if (!check_ok(ctx, tally_stream_reduce_rows(ctx, o.op, o.dtype, cells, &s), "a field")) return;
    if (resumes && n > 8) {
        const tally_view v = tally_columns(x, o.dtype, at = 8, cells);
        check_ok(cpu, tally_fragment_of_view(cpu, o.op, &v, 0, &before), "before");
        check_ok(ctx, tally_stream_resume(s, before), "resume");
        tally_fragment_free(before);
    }
    tally_time(ctx, 1);
    for (int64_t m, first = 1; at < n; at += m, first = 0) {
        const int k = first || check_below(3) ? home : (int)check_below(members + 1) - 1,
                  turned = k >= 0 && check_below(3) == 0;
        m = 1 + check_below(check_below(2) ? 20 : 1);
        if (m > n - at) m = n - at;
        tally_view v = tally_columns(placed(k, x + at * step, m * step), o.dtype, m, cells);
        if (turned) { /* the same steps, from the last to the first */
            for (int64_t i = 0; i < m; i++)
                memcpy(got + i * step, x + (at + m - 1 - i) * step, (size_t)step);
            v.data = placed(k, got, m * step) + (m - 1) * step;
            v.stride = -cells;
        }
        check_ok(ctx, tally_stream_push_view(s, &v, NULL), "a step");
    }
    tally_times(ctx, &times);
    tally_times(tally_member(ctx, home), &one);
    check(times.launches && times.launches == one.launches && !times.on_processors,
          "a field of device %d: %lld launches of %lld, %lld elements on the processors", home,
          (long long)one.launches, (long long)times.launches, (long long)times.on_processors);
    tally_time(ctx, 0);
    memset(got, 0xa5, (size_t)(cells * o.result + GUARD));
    if (to >= 0) put(to, &out[to], got, (size_t)(cells * o.result + GUARD));
    check_ok(ctx, tally_stream_finish(s, to < 0 ? got : out[to].at, NULL),
             "the results of a field");
    tally_stream_close(s);
    if (to >= 0) get(to, &out[to], got, (size_t)(cells * o.result + GUARD));
    check_same(got, want, cells, o.result,
               "%s: a field of %lld cells, %lld steps, of device %d of %d, to %d", o.op,
               (long long)cells, (long long)n, home, members, to);
    check(got[cells * o.result] == (char)0xa5, "written behind the results of a field");
}

/* Runs and gathers of the memory of one member are its work. */
static void check_keys(void)
{
    static int64_t offsets[PART + 1];
    const int k = (int)check_below(members), other = (k + 1) % members;
    const int64_t n = 1 + check_below(PART - 1);
    int32_t *const keys = (int32_t *)(void *)x;
    int64_t wanted, runs = -1;
    tally_times_info times;
    for (int64_t i = 0; i < n; i++)
        keys[i] = i && check_below(5) ? keys[i - 1] : (int32_t)check_below(1000);
    tally_view v = tally_flat(x, TALLY_I32, n);
    check_ok(cpu, tally_runs(cpu, &v, offsets, &wanted), "cpu");
    put(k, &in[k], x, (size_t)n * 4);
    v.data = in[k].at;
    tally_time(ctx, 1);
    check_ok(ctx, tally_runs(ctx, &v, (int64_t *)(void *)out[k].at, &runs), "runs");
    tally_times(tally_member(ctx, k), &times);
    check(times.launches > 0, "runs of device %d: no launch", k);
    get(k, &out[k], got, (size_t)(wanted + 1) * 8);
    check(runs == wanted, "%lld runs of %lld", (long long)runs, (long long)wanted);
    check_same(got, (const char *)offsets, wanted + 1, 8, "offsets of device %d", k);
    /* a gather of these offsets (but the last, which is no place) */
    const tally_view here = tally_flat(x, TALLY_I32, n),
                     computed = tally_flat(want, TALLY_I32, wanted),
                     there = tally_flat(in[k].at + (PART + 64) * 4, TALLY_I32, wanted);
    check_ok(cpu, tally_take(cpu, &here, offsets, wanted, &computed), "cpu");
    check_ok(ctx, tally_take(ctx, &v, (const int64_t *)(const void *)out[k].at, wanted, &there),
             "take");
    get(k, &in[k], got, (size_t)(PART + 64 + wanted) * 4);
    check_same(got + (PART + 64) * 4, want, wanted, 4, "a gather of device %d", k);
    tally_times(ctx, &times);
    check(!times.on_processors, "%lld elements on the processors", (long long)times.on_processors);
    tally_time(ctx, 0);
    if (other == k) return;
    check(tally_runs(ctx, &v, (int64_t *)(void *)out[other].at, &runs) == TALLY_UNSUPPORTED &&
              strstr(tally_error(ctx), "keys is memory of") &&
              strstr(tally_error(ctx), "must be of one device"),
          "keys and offsets of two devices: %s", tally_error(ctx));
    check(tally_take(ctx, &v, (const int64_t *)(const void *)out[other].at, wanted, &there) ==
                  TALLY_UNSUPPORTED &&
              strstr(tally_error(ctx), "order of") &&
              strstr(tally_error(ctx), "must be of one device"),
          "a gather of two devices: %s", tally_error(ctx));
}
/* Call number k of the last member's API fails while a field of `home` takes steps of all
 * members: the processors go on, or the push is tried again, and all is as if it had not failed;
 * or the field is lost, and the stream says so. */
static void check_field_failures(int home)
{
    enum { CELLS = 50, EACH = 5, PUSHES = 6, STEP = CELLS * 4 };
    const tally_view all = tally_columns(x, TALLY_F32, EACH * PUSHES, CELLS);
    int failed = 0, lost = 0, tries = 0, done = 0;
    check_ok(cpu, tally_reduce(cpu, "sum", &all, want), "cpu");
    for (int i = 0; i < members; i++) put(i, &in[i], x, EACH * PUSHES * STEP);
    for (int64_t k = 1; !done; k++) {
        tally_stream *s;
        calls_seen = 0;
        call_fails = k;
        tally_status status = tally_stream_reduce_rows(ctx, "sum", TALLY_F32, CELLS, &s);
        for (int i = 0; i < PUSHES && !status; i++) {
            const tally_view v = tally_columns(in[(home + i) % members].at + i * EACH * STEP,
                                               TALLY_F32, EACH, CELLS);
            if (!tally_stream_push_view(s, &v, NULL)) continue;
            failed++;
            check(strstr(tally_error(ctx), "planted") != NULL, "call %lld: %s", (long long)k,
                  tally_error(ctx));
            status = tally_stream_push_view(s, &v, NULL);
            check(!status || strstr(tally_error(ctx), "in an earlier push"), "again: %s",
                  tally_error(ctx));
        }
        if (!status && tally_stream_finish(s, got, NULL))
            failed++, status = tally_stream_finish(s, got, NULL);
        if (!status)
            check_same(got, want, CELLS, 4, "a field of device %d, call %lld failed", home,
                       (long long)k);
        lost += status != TALLY_OK;
        tally_stream_close(s);
        tries++;
        done = calls_seen < k;
        call_fails = 0;
        check_pool("a field that failed");
    }
    check(home == members - 1 ? failed > 3 && lost > 3 : !lost,
          "%d failures of a field of %d, %d lost", failed, home, lost);
    check(tries > 4, "%d tries", tries);
}

/* A window for sequences of n elements. kind, 0 to 5: its edges, and does it end behind its
 * element? */
static tally_window_options any_window(int64_t n, int64_t kind)
{
    tally_window_options w = {check_size(n < 3000 ? n + 2 : 3000),
                              kind < 3 ? 0 : 1 + check_below(39), (tally_edges)(kind % 3), 0};
    if (check_below(4) == 0) w.min_count = check_below(w.before + 1 + w.after);
    return w;
}

#endif
