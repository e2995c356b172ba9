/* SPDX-License-Identifier: MIT
 * window.c - tally window and tally scan: convert their options to tally_window_options and
 * tally_scan_options. series.c does the rest, and span.c makes windows along times. */
#include "cli.h"

#include <string.h>

int run_scan(const options *o)
{
    const int code = series_begin(o);
    if (code) return code;
    const tally_scan_options scan = {has(o, OPT_exclusive), has(o, OPT_reverse), NULL};
    const series call = {&scan, NULL};
    return series_run(o, &call);
}

/* Checks the numbers against the length of the window. */
static int length_check(const tally_window_options *w)
{
    const int64_t length = w->before + 1 + w->after;
    if (length < 0)
        return usage("--before is %lld and --after %lld: the window would end before it begins",
                     (long long)w->before, (long long)w->after);
    if (w->min_count > length)
        return usage("--min-count is %lld: must be 0..%lld, the window's length",
                     (long long)w->min_count, (long long)length);
    return DONE;
}

/* -w W: the element and the W - 1 elements before it. --center: W / 2 before it and the rest
 * after it. */
static int extent(const options *o, tally_window_options *w)
{
    static const int64_t most = ((int64_t)1 << 61) - 1; /* of tally_window_options */
    int64_t width;
    const char *const given = o->value[OPT_width];
    const char *const unit = given ? given + strspn(given, "0123456789.") : "";
    if (*unit && unit != given && !unit[strspn(unit, "dhimnsuw0123456789.")])
        return usage("--width is '%s' and counts elements: --by TIME --last %s is a window along "
                     "the times of column TIME",
                     given, given);
    int code = opt_count(o, OPT_before, -most - 1, most, 0, &w->before);
    if (!code) code = opt_count(o, OPT_after, -most - 1, most, 0, &w->after);
    if (!code) code = opt_count(o, OPT_step, 1, most, 1, &w->step);
    if (!code) code = opt_count(o, OPT_width, 1, most + 1, 0, &width);
    if (!code) code = opt_count(o, OPT_min_count, 0, most, 0, &w->min_count);
    if (code) return code;
    if (has(o, OPT_last) || has(o, OPT_next)) return DONE; /* handled by span.c */
    const int sides = has(o, OPT_before) || has(o, OPT_after);
    if (!has(o, OPT_width)) {
        if (!sides)
            return usage("how wide is the window? -w W, or --before B and --after A, or --last D "
                         "along times");
        if (has(o, OPT_center))
            return usage(
                "--center goes with -w W; --before and --after place the window themselves");
        return length_check(w);
    }
    if (sides) return usage("-w gives the whole window: leave out --before and --after, or -w");
    w->before = has(o, OPT_center) ? width / 2 : width - 1;
    w->after = has(o, OPT_center) ? (width - 1) / 2 : 0;
    return length_check(w);
}

int run_window(const options *o)
{
    tally_window_options window = {0};
    span along;
    int code = series_begin(o);
    if (!code) code = span_options(o, &along);
    if (!code) code = extent(o, &window);
    if (code) return code;
    const char *const edges = o->value[OPT_edges]; /* already checked when it was parsed */
    window.edges = !edges || edges[0] == 'm' ? TALLY_EDGES_MISSING
                   : edges[0] == 's'         ? TALLY_EDGES_SHRINK
                                             : TALLY_EDGES_VALID;
    const series call = {NULL, &window, along.on ? &along : NULL};
    return series_run(o, &call);
}
