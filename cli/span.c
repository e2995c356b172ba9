/* SPDX-License-Identifier: MIT
 * span.c - --last and --next: windows along a column of times, or of numbers.
 *
 *    --last 2s              (t - 2s, t]      --closed both     [t - 2s, t]
 *    --last 2s --next 1s    (t - 2s, t + 1s] --closed left     [t - 2s, t)
 *    --last 2s --center     (t - 1s, t + 1s] --closed neither  (t - 2s, t)
 *
 * A length is a duration (2s, 1h30min) if the column has times, and a plain number if it has
 * numbers. It is a decimal, not an f64: 0.1 is exactly a tenth. */
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

/* The error for an invalid length; `must` describes a valid one. */
static int bad_length(const span_length *l, const char *must)
{
    return usage("--%s is '%s': %s", l->option, l->text, must);
}

static int not_a_length(const span_length *l)
{
    return usage("--%s is '%s', which is no length of time: 500ms, 2s, 1.5h, 1h30min (units: ns, "
                 "us, ms, s, min, h, d, w), or a plain number where the times are numbers",
                 l->option, l->text);
}

enum { IS_PART, NO_PART, TOO_FINE, TOO_LONG };

/* Reads a part of a duration, such as 1.5h, in nanoseconds. */
static int part(const char **at, int64_t *nanos)
{
    int64_t whole = 0, scale = 1;
    int figures = 0, point = 0, unit = 0, big = 0, fine = 0;
    const char *p = *at;
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = 1;
            continue;
        }
        figures++;
        big |= __builtin_mul_overflow(whole, 10, &whole) ||
               __builtin_add_overflow(whole, *p - '0', &whole);
        if (point) fine |= __builtin_mul_overflow(scale, 10, &scale);
    }
    const size_t length = strspn(p, "abcdefghijklmnopqrstuvwxyz");
    while (unit < UNITS &&
           (strlen(units[unit].name) != length || memcmp(units[unit].name, p, length) != 0))
        unit++;
    if (!figures || unit == UNITS) return NO_PART;
    *at = p + length;
    const __int128 product = (__int128)whole * units[unit].nanos; /* below 2^110 */
    if (fine || (!big && product % scale)) return TOO_FINE;
    if (big || product / scale > INT64_MAX) return TOO_LONG;
    *nanos = (int64_t)(product / scale);
    return IS_PART;
}

/* Reads a plain number. It is exact if it is a decimal that fits; `real` is the nearest f64.
 * Returns 0 if text is not a finite number. */
static int parse_number(const char *text, span_length *l)
{
    const size_t length = strlen(text);
    if (tally_parse_value(TALLY_F64, text, length, &l->real) || !isfinite(l->real)) return 0;
    l->number = 1;
    l->exact = tally_parse_decimal(text, length, &l->whole, &l->part) == TALLY_OK;
    return 1;
}

static int parse_length(const options *o, enum option id, span_length *l)
{
    const char *const text = o->value[id], *at = text;
    *l = (span_length){.option = option_table[id].name, .text = text, .exact = 1};
    if (!text) return DONE;
    l->given = 1;
    if (parse_number(text, l)) return DONE;
    if (l->real != 0) return not_a_length(l); /* infinite, or NaN */
    const int negative = *at == '-';
    at += negative;
    do {
        int64_t nanos = 0;
        const int bad = part(&at, &nanos);
        if (bad == NO_PART) return not_a_length(l);
        if (bad == TOO_FINE)
            return bad_length(l, "must have no digits of less than a nanosecond, as in nine after "
                                 "the point of a second");
        if (bad || __builtin_add_overflow(l->whole, nanos, &l->whole))
            return bad_length(l, "must be below 2^63 nanoseconds");
    } while (*at);
    if (negative) l->whole = -l->whole;
    return DONE;
}

/* The length in units of 1 / TALLY_KEY_PART. */
static __int128 units_of(const span_length *l)
{
    return (__int128)l->whole * TALLY_KEY_PART + l->part;
}

/* Whether -a > b. */
static int is_beyond(const span_length *a, const span_length *b)
{
    return a->exact && b->exact ? -units_of(a) > units_of(b) : -a->real > b->real;
}
static int is_above_zero(const span_length *l) { return l->exact ? units_of(l) > 0 : l->real > 0; }

static int excluded(const options *o)
{
    static const enum option others[] = {OPT_width, OPT_before, OPT_after, OPT_edges, OPT_step};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (has(o, others[i]))
            return usage("--%s is for windows of lines; --last and --next make windows of times: "
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
        return usage("--%s goes with windows along times: --by time --last 2s",
                     has(o, OPT_closed) ? "closed" : "ties");
    }
    if ((code = excluded(o))) return code;
    if (!has(o, OPT_by))
        return usage("--%s needs the column that has the times: --by time, or --by city,time for "
                     "each city's own",
                     s->last.given ? "last" : "next");
    s->on = 1;
    s->center = has(o, OPT_center);
    if (s->center && s->next.given)
        return usage("--center halves --last to both sides; with --next say both lengths yourself");
    if (s->last.given && s->next.given && s->last.number != s->next.number)
        return usage("--last is '%s' and --next is '%s': one is a number and one a length of time",
                     o->value[OPT_last], o->value[OPT_next]);
    const char *const closed = has(o, OPT_closed) ? o->value[OPT_closed] : "right",
                      *const ties = o->value[OPT_ties];
    s->low_open = *closed == 'r' || *closed == 'n';
    s->high_open = *closed == 'l' || *closed == 'n';
    if (ties && *ties == 'r' && (s->center || is_above_zero(&s->next)))
        return usage("--ties row ends a window at its line, and --%s reaches beyond it",
                     s->center ? "center" : "next");
    s->ties = !ties ? -1 : *ties == 'a' ? TALLY_TIES_ALL : TALLY_TIES_ROW;
    if (is_beyond(&s->last, s->center ? &s->last : &s->next))
        return usage("the window would end before it begins: --last is %s%s%s",
                     s->last.given ? o->value[OPT_last] : "not there",
                     s->next.given ? " and --next " : "", s->next.given ? o->value[OPT_next] : "");
    return DONE;
}

int span_unit(const span *s, const char *label, const char *what, int times)
{
    const span_length *const shown = s->last.given ? &s->last : &s->next;
    const char *const option = s->last.given ? "last" : "next";
    if (times != shown->number) return DONE;
    return usage(
        times ? "%s: %s has times, so --%s needs a unit, as in --%s 2s"
              : "%s: %s has plain numbers, so --%s is a number of the same unit, as in --%s 2",
        label, what, option, option);
}

/* Converts a length to a limit of keys: *limit + *rest / 10^18 = given / 10^18. Refuses a value
 * that does not fit i64. */
static int limit_of(const span_length *l, __int128 given, int64_t *limit, int64_t *rest)
{
    __int128 whole = given / TALLY_KEY_PART, part = given % TALLY_KEY_PART;
    if (part < 0) part += TALLY_KEY_PART, whole--;
    if (!l->exact || whole != (int64_t)whole)
        return bad_length(l, "must be a number above -2^63 and below 2^63 with at most 18 digits "
                             "after the point, as the keys of --by are integers or decimals");
    *limit = (int64_t)whole;
    *rest = (int64_t)part;
    return DONE;
}

/* Makes a window for f64 keys, with the f64 nearest to each length. */
static int real_window(const span *s, tally_key_window *w)
{
    const span_length *const both[] = {&s->last, &s->next};
    for (int i = 0; i < 2; i++)
        if (both[i]->real == 0 && (!both[i]->exact || units_of(both[i])))
            return bad_length(both[i], "must be 0 or a number that a f64 holds");
    w->low_real = s->center ? -s->last.real / 2 : -s->last.real;
    w->high_real = s->center ? s->last.real / 2 : s->next.real;
    return DONE;
}

/* Makes a window for integer and decimal keys. If half of a length needs more than 18 digits, no
 * key is at that distance. So the half is rounded down, and both ends belong to the window. */
static int exact_window(const span *s, tally_key_window *w)
{
    __int128 low = units_of(&s->last), high = units_of(&s->next);
    if (s->center) {
        if (low % 2) w->low_open = w->high_open = 0;
        low = high = low / 2;
    }
    const int code = limit_of(&s->last, -low, &w->low, &w->low_part);
    return code ? code : limit_of(s->center ? &s->last : &s->next, high, &w->high, &w->high_part);
}

int span_window(const span *s, tally_dtype keys, int falling, tally_key_window *w)
{
    *w = (tally_key_window){.low_open = s->low_open, .high_open = s->high_open};
    /* windows include rows after their own row with other keys */
    const int beyond = s->center || is_above_zero(&s->next) || (falling && is_above_zero(&s->last));
    w->ties = s->ties >= 0 ? (tally_ties)s->ties : beyond ? TALLY_TIES_ALL : TALLY_TIES_ROW;
    return keys == TALLY_F64 ? real_window(s, w) : exact_window(s, w);
}

/* Gathers the times of the lines in the order of the groups. *has_parts: not all are integers,
 * and parts is set. */
static tally_status take_times(const groups *g, const input *in, int64_t *whole, int64_t *parts,
                               int *has_parts)
{
    tally_view from = tally_flat(&in->times->whole, TALLY_I64, g->lines),
               to = tally_flat(whole, TALLY_I64, g->lines);
    *has_parts = 0;
    if (g->lines == 0) return TALLY_OK;
    from.stride = sizeof *in->times / sizeof(int64_t);
    tally_status status = tally_take(in->ctx, &from, g->order, g->lines, &to);
    for (int64_t i = 0; i < g->lines && !*has_parts; i++) *has_parts = in->times[i].part != 0;
    if (status || !*has_parts) return status;
    from.data = &in->times->part;
    to.data = parts;
    return tally_take(in->ctx, &from, g->order, g->lines, &to);
}

int span_bounds(const span *s, const groups *g, const input *in, int64_t **start, int64_t **end)
{
    tally_key_window w;
    static const char what[] = "the windows";
    int has_parts = 0;
    *start = *end = NULL;
    int code =
        in->info.times ? span_unit(s, in->label, "the column of --by", in->info.times != 1) : DONE;
    if (!code) code = span_window(s, in->times_dtype, 0, &w);
    if (code) return code;
    int64_t *const first = *start = memory_for(&code, what, g->lines, sizeof *first);
    int64_t *const stop = *end = memory_for(&code, what, g->lines, sizeof *stop);
    int64_t *const times = memory_for(&code, what, g->lines, sizeof *times);
    int64_t *const parts = memory_for(&code, what, g->lines, sizeof *parts);
    tally_status status = code ? TALLY_OK : take_times(g, in, times, parts, &has_parts);
    for (int64_t i = 0; i < g->count && !code && !status; i++) {
        const int64_t at = g->offsets[i], n = g->offsets[i + 1] - at;
        const tally_view keys = tally_flat(times + at, in->times_dtype, n);
        w.parts = has_parts ? parts + at : NULL;
        status = tally_window_bounds(in->ctx, &keys, &w, first + at, stop + at);
        for (int64_t j = at; j < at + n && !status && at; j++) first[j] += at, stop[j] += at;
    }
    free(times);
    free(parts);
    return code ? code : code_of(in->ctx, status);
}
