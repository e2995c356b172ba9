/* SPDX-License-Identifier: MIT
 * span.c - --last and --next: windows along a column of times, or of numbers.
 *
 *     --last 2s              (t - 2s, t]      --closed both     [t - 2s, t]     --closed left    [t - 2s, t)
 *     --last 2s --next 1s    (t - 2s, t + 1s] --closed neither  (t - 2s, t)
 *     --last 2s --center     (t - 1s, t + 1s]
 *
 * A length is a duration (2s, 1h30min) where the column has times, and a plain number where it
 * has numbers. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t nanos;
} units[] = {{"ns", 1},
             {"us", 1000},
             {"ms", 1000000},
             {"s", 1000000000},
             {"min", 60000000000},
             {"h", 3600000000000},
             {"d", 86400000000000},
             {"w", 604800000000000}};
enum { UNITS = sizeof units / sizeof *units };

static int not_a_length(enum option id, const char *text)
{
    return fail(USAGE,
                "--%s is '%s', which is no length of time: 500ms, 2s, 1.5h, 1h30min (units: ns, "
                "us, ms, s, min, "
                "h, d, w), or a plain number where the times are numbers",
                option_table[id].name, text);
}

/* A part such as 1.5h of a duration, in nanoseconds: -1 if it is none, 1 if it is no whole
 * number of them or too many.
 */
static int part(const char **at, int64_t *nanos)
{
    int64_t whole = 0, scale = 1;
    int figures = 0, point = 0, unit = 0, big = 0;
    const char *p = *at;
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = 1;
            continue;
        }
        figures++;
        big |= __builtin_mul_overflow(whole, 10, &whole) ||
               __builtin_add_overflow(whole, *p - '0', &whole);
        if (point) big |= __builtin_mul_overflow(scale, 10, &scale);
    }
    const size_t length = strspn(p, "abcdefghijklmnopqrstuvwxyz");
    while (unit < UNITS &&
           (strlen(units[unit].name) != length || memcmp(units[unit].name, p, length) != 0))
        unit++;
    if (!figures || unit == UNITS) return -1;
    *at = p + length;
    const __int128 product = (__int128)whole * units[unit].nanos;
    if (big || product % scale || product / scale > INT64_MAX) return 1;
    *nanos = (int64_t)(product / scale);
    return 0;
}

static int parse_length(const options *o, enum option id, span_length *l)
{
    const char *const text = o->value[id], *at = text;
    memset(l, 0, sizeof *l);
    if (!text) return DONE;
    l->given = 1;
    const size_t length = strlen(text);
    if (tally_parse_value(TALLY_F64, text, length, &l->real) == TALLY_OK) {
        l->number = 1;
        if (!isfinite(l->real)) return not_a_length(id, text);
        if (tally_parse_value(TALLY_I64, text, length, &l->whole)) l->fraction = 1;
        return DONE;
    }
    const int negative = *at == '-';
    at += negative;
    do {
        int64_t nanos;
        const int bad = part(&at, &nanos);
        if (bad < 0) return not_a_length(id, text);
        if (bad || __builtin_add_overflow(l->whole, nanos, &l->whole))
            return fail(USAGE, "--%s is '%s': must be a whole number of nanoseconds below 2^63",
                        option_table[id].name, text);
    } while (*at);
    if (negative) l->whole = -l->whole;
    return DONE;
}

static int excluded(const options *o)
{
    static const enum option others[] = {OPT_width, OPT_before, OPT_after, OPT_edges, OPT_step};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (has(o, others[i]))
            return fail(USAGE,
                        "--%s is for windows of lines; --last and --next make windows of times: "
                        "leave one out",
                        option_table[others[i]].name);
    return DONE;
}

int span_options(const options *o, span *s)
{
    memset(s, 0, sizeof *s);
    int code = parse_length(o, OPT_last, &s->last);
    if (!code) code = parse_length(o, OPT_next, &s->next);
    if (code) return code;
    if (!s->last.given && !s->next.given) {
        if (!has(o, OPT_closed) && !has(o, OPT_ties)) return DONE;
        return fail(USAGE, "--%s goes with windows along times: --by time --last 2s",
                    has(o, OPT_closed) ? "closed" : "ties");
    }
    if ((code = excluded(o))) return code;
    if (!has(o, OPT_by))
        return fail(USAGE,
                    "--%s needs the column that has the times: --by time, or --by city,time for "
                    "each city's own",
                    s->last.given ? "last" : "next");
    s->on = 1;
    s->center = has(o, OPT_center);
    if (s->center && s->next.given)
        return fail(USAGE,
                    "--center halves --last to both sides; with --next say both lengths yourself");
    if (s->last.given && s->next.given && s->last.number != s->next.number)
        return fail(USAGE,
                    "--last is '%s' and --next is '%s': one is a number and one a length of time",
                    o->value[OPT_last], o->value[OPT_next]);
    const char *const closed = has(o, OPT_closed) ? o->value[OPT_closed] : "right",
                      *const ties = o->value[OPT_ties];
    s->low_open = *closed == 'r' || *closed == 'n';
    s->high_open = *closed == 'l' || *closed == 'n';
    const int beyond = s->center || s->next.whole > 0 || s->next.real > 0;
    if (ties && *ties == 'r' && beyond)
        return fail(USAGE, "--ties row ends a window at its line, and --%s reaches beyond it",
                    s->center ? "center" : "next");
    s->ties = beyond || (ties && *ties == 'a') ? TALLY_TIES_ALL : TALLY_TIES_ROW;
    const double low = s->last.number ? -s->last.real : -(double)s->last.whole,
                 high = s->next.number ? s->next.real : (double)s->next.whole;
    if (low > high || (s->center && low > 0))
        return fail(USAGE, "the window would end before it begins: --last is %s%s%s",
                    s->last.given ? o->value[OPT_last] : "not there",
                    s->next.given ? " and --next " : "", s->next.given ? o->value[OPT_next] : "");
    return DONE;
}

int by_coordinate(const options *o)
{
    return has(o, OPT_by) && has(o, OPT_axis) && (has(o, OPT_last) || has(o, OPT_next));
}

/* An end of the window for keys that are whole: of 2.5 the next whole number inside, which then
   belongs to it. */
static void whole_end(double real, double (*inward)(double), int64_t *end, int *open)
{
    *open = 0;
    *end = (int64_t)inward(real);
}

int span_unit(const span *s, const char *label, const char *what, int times)
{
    const span_length *const shown = s->last.given ? &s->last : &s->next;
    const char *const option = s->last.given ? "last" : "next";
    if (times != shown->number) return DONE;
    return fail(
        USAGE,
        times ? "%s: %s has times, so --%s needs a unit, as in --%s 2s"
              : "%s: %s has plain numbers, so --%s is a number of the same unit, as in --%s 2",
        label, what, option, option);
}

int span_window(const span *s, tally_dtype keys, tally_key_window *w)
{
    const span_length *const shown = s->last.given ? &s->last : &s->next;
    const char *const option = s->last.given ? "last" : "next";
    *w = (tally_key_window){.low_open = s->low_open, .high_open = s->high_open, .ties = s->ties};
    if (keys == TALLY_F64) {
        w->low_real = s->center ? -s->last.real / 2 : -s->last.real;
        w->high_real = s->center ? s->last.real / 2 : s->next.real;
        return DONE;
    }
    const double limit = 9.2e18;
    if (shown->number && (fabs(s->last.real) > limit || fabs(s->next.real) > limit))
        return fail(USAGE, "--%s: must be below %g where the numbers of --by are whole", option,
                    limit);
    w->low = s->last.whole == INT64_MIN ? INT64_MAX : -s->last.whole;
    w->high = s->next.whole;
    if (s->center) { /* as pandas has it: halves rounded down, and then with both ends */
        w->high = s->last.fraction ? 0 : s->last.whole / 2;
        w->low = -w->high;
        if (s->last.whole % 2) w->low_open = w->high_open = 0;
    }
    if (s->last.fraction)
        whole_end(s->center ? -s->last.real / 2 : -s->last.real, ceil, &w->low, &w->low_open);
    if (s->next.fraction) whole_end(s->next.real, floor, &w->high, &w->high_open);
    if (s->center && s->last.fraction) whole_end(s->last.real / 2, floor, &w->high, &w->high_open);
    return DONE;
}

int span_bounds(const span *s, const groups *g, const input *in, int64_t **start, int64_t **end)
{
    tally_key_window w;
    *start = *end = NULL;
    int code =
        in->info.times ? span_unit(s, in->label, "the column of --by", in->info.times != 1) : DONE;
    if (!code) code = span_window(s, in->times_dtype, &w);
    if (code) return code;
    int64_t *const first = *start = malloc((size_t)g->lines * 8 + 8),
                   *const stop = *end = malloc((size_t)g->lines * 8 + 8),
                   *const times = malloc((size_t)g->lines * 8 + 8);
    if (!first || !stop || !times) code = fail_memory("the windows", 3 * g->lines * 8);
    const tally_view all = tally_flat(in->times, in->times_dtype, g->lines),
                     dense = tally_flat(times, in->times_dtype, g->lines);
    tally_status status = code ? TALLY_OK : tally_take(in->ctx, &all, g->order, g->lines, &dense);
    for (int64_t i = 0; i < g->count && !code && !status; i++) {
        const int64_t at = g->offsets[i], n = g->offsets[i + 1] - at;
        const tally_view keys = tally_flat(times + at, in->times_dtype, n);
        status = tally_window_bounds(in->ctx, &keys, &w, first + at, stop + at);
        for (int64_t j = at; j < at + n && !status && at; j++) first[j] += at, stop[j] += at;
    }
    free(times);
    return code ? code : status ? fail_status(in->ctx, status) : DONE;
}
