/* SPDX-License-Identifier: MIT
 * The model's trace: following a program changes no count; what the events say is what was
 * computed; races, splits and conflicts are in it. And the estimate: where there is one, where
 * there is none. */
#include "check.h"
#include "estimate.h"
#include "html.h"

/* Counts with a trace and without, and the values in memory. */
static void follow_changes_nothing(const char *text, const char *name, int threads)
{
    enum { N = 70, GROUPS = 3 };
    static model_trace trace;
    static model_counts counts[2];
    int32_t out[2][N];
    for (int with = 0; with < 2; with++) {
        int32_t in[N];
        model_program *p = NULL;
        char sentence[300];
        const model_setting setting = {KIND_I32, 0, threads, 8, 8};
        for (int i = 0; i < N; i++) in[i] = i, out[with][i] = -1;
        if (!check(!model_compile(text, name, &setting, &p, sentence, sizeof sentence), "%s: %s",
                   name, sentence))
            return;
        memset(&counts[with], 0, sizeof counts[with]);
        trace = (model_trace){.capacity = 400, .event = calloc(400, sizeof(trace_event))};
        if (with) model_follow(p, &trace);
        const model_argument arguments[] = {{.data = in, .bytes = sizeof in},
                                            {.data = out[with], .bytes = sizeof out[with]},
                                            {.i64 = N}};
        const model_start start = {"fold", GROUPS, arguments, 3, 0};
        const int code = model_launch(p, &start, &counts[with], sentence, sizeof sentence);
        check(!code, "%s: %s", name, sentence);
        check(with ? trace.count > 20 : trace.count == 0, "%s: %d events", name, trace.count);
        free(trace.event);
        model_free(p);
    }
    check(!memcmp(&counts[0], &counts[1], sizeof counts[0]), "%s: a trace changes the counts",
          name);
    check(!memcmp(out[0], out[1], sizeof out[0]), "%s: a trace changes the values", name);
}

static int count_of(const small_run *s, trace_kind what)
{
    int n = 0;
    for (int i = 0; i < s->trace.count; i++) n += s->trace.event[i].kind == what;
    return n;
}

static void known_runs(void)
{
    small_run s;
    ladder_error error = {0};
    int worst = 0, races = 0;
    if (!check(!watch_rung(find_rung(NULL, "tiled_3"), NULL, SMALL_THREADS, &s, &error),
               "tiled_3: %s", error.sentence))
        return;
    const trace_event *last = &s.trace.event[s.trace.count - 1];
    check(count_of(&s, TRACE_LAUNCH) == 1 && count_of(&s, TRACE_GROUP) == 2,
          "tiled_3: one launch of two groups");
    check(count_of(&s, TRACE_BARRIER) == 2 * 5, "tiled_3: 5 barriers a group, not %d",
          count_of(&s, TRACE_BARRIER));
    check(last->kind == TRACE_WRITE && last->lanes == 1 && last->index[0] == 1 &&
              last->value[0].i == 329,
          "tiled_3: the last event writes 17 + ... + 30 to out[1], not %lld",
          (long long)last->value[0].i);
    for (int i = 0; i < s.trace.count; i++)
        worst = s.trace.event[i].degree > worst ? s.trace.event[i].degree : worst;
    check(worst == 1, "tiled_3 has no bank conflict, not one of degree %d", worst);
    end_small_run(&s);

    if (!check(!watch_rung(find_rung(NULL, "tiled_2"), NULL, SMALL_THREADS, &s, &error),
               "tiled_2: %s", error.sentence))
        return;
    for (int i = worst = 0; i < s.trace.count; i++)
        worst = s.trace.event[i].degree > worst ? s.trace.event[i].degree : worst;
    check(worst == 2, "tiled_2 has a conflict of degree 2, not %d", worst);
    end_small_run(&s);

    if (!check(!watch_rung(find_rung(NULL, "reduce5"), NULL, SMALL_THREADS, &s, &error),
               "reduce5: %s", error.sentence))
        return;
    for (int i = 0; i < s.trace.count; i++) races += s.trace.event[i].races;
    check(races > 0, "reduce5 has a race in its trace");
    end_small_run(&s);

    for (const rung *g = ladder_table; g->name; g++) { /* every one fits, and ends */
        if (is_host(g)) continue;
        if (!check(!watch_rung(g, NULL, SMALL_THREADS, &s, &error), "%s: %s", g->name,
                   error.sentence))
            continue;
        check(!s.trace.cut && s.trace.count > 4, "%s: %d events%s", g->name, s.trace.count,
              s.trace.cut ? ", cut" : "");
        if (g->note != RACY)
            for (int i = 0; i < s.trace.count; i++)
                check(!s.trace.event[i].races, "%s: a race in event %d", g->name, i);
        end_small_run(&s);
    }
}

static void estimates(void)
{
    int any = 0;
    double away = 0;
    check(!find_machine("pthread-skylake") && find_machine("NVIDIA H200, 150.1 GB"),
          "machines are found by name");
    for (const rung *g = ladder_table; g->name; g++) {
        work w;
        estimate e;
        const recorded_device *const d = recorded(g->shape);
        if (!recorded_work(g, &w)) continue;
        estimate_time(find_machine(d->name), &w, reads_only(g->shape) ? d->read : d->copy, &e);
        if (is_host(g) || g->schedule == LOOKBACK || g->schedule == HISTOGRAM)
            check(e.reason != NULL, "%s: there can be no estimate", g->name);
        if (e.reason) continue;
        any++;
        away += e.seconds > w.seconds ? e.seconds / w.seconds - 1 : w.seconds / e.seconds - 1;
        check(e.occupancy > 0 && e.occupancy <= 1, "%s: occupancy %g", g->name, e.occupancy);
        check(e.seconds / w.seconds < 1.6 && w.seconds / e.seconds < 1.6,
              "%s: estimate %g, measured %g seconds", g->name, e.seconds, w.seconds);
    }
    printf("estimates: %.1f %% away on average, %d rungs\n", 100 * away / any, any);
    check(any && away / any < 0.2, "the estimates are %.1f %% away on average", 100 * away / any);
    check(any >= 20, "%d rungs have an estimate", any);
}

int main(void)
{
    check_start();
    const char *const texts[] = {"reduce/tiled_1.cl", "reduce/tiled_2.cl", "reduce/cascade.cl",
                                 "reduce/shuffle.cl", "reduce/atomic.cl",  "reduce/vector_load.cl"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        follow_changes_nothing(ladder_text(texts[i]), texts[i], 16);
    known_runs();
    estimates();
    return check_finish();
}
