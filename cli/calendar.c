/* SPDX-License-Identifier: MIT
 * calendar.c - the times of NetCDF files, "days since 1970-01-01 00:00", as dates in the calendars
 * of the CF conventions.
 *
 *    standard             Julian up to 1582-10-04, Gregorian from 1582-10-15 on
 *    proleptic_gregorian  Gregorian always         julian   Julian always
 *    noleap, all_leap     365 or 366 days in every year
 *    360_day              twelve months of 30 days
 *
 * Days are counted from January 1 of the year 0 of the calendar; `standard` counts as Gregorian.
 *
 * Also dates of text and csv, which are written as the file writes its first one. */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *names[6];
    int64_t nanos;
} units[] = {{{"nanosecond", "nanoseconds"}, 1},
             {{"microsecond", "microseconds", "microsec", "microsecs"}, 1000},
             {{"millisecond", "milliseconds", "msec", "msecs", "ms"}, 1000000},
             {{"second", "seconds", "sec", "secs", "s"}, 1000000000},
             {{"minute", "minutes", "min", "mins"}, 60000000000},
             {{"hour", "hours", "hr", "hrs", "h"}, 3600000000000},
             {{"day", "days", "d"}, 86400000000000}};
enum { UNITS = sizeof units / sizeof *units, YEARS_MOST = 999999 };
static const int64_t day_nanos = 86400000000000;

enum kind_of_year { STANDARD, GREGORIAN, NOLEAP, ALL_LEAP, DAYS_360, JULIAN };
static const struct {
    const char *name;
    enum kind_of_year kind;
} calendars[] = {
    {"standard", STANDARD}, {"gregorian", STANDARD}, {"proleptic_gregorian", GREGORIAN},
    {"noleap", NOLEAP},     {"365_day", NOLEAP},     {"all_leap", ALL_LEAP},
    {"366_day", ALL_LEAP},  {"360_day", DAYS_360},   {"julian", JULIAN}};
enum { CALENDARS = sizeof calendars / sizeof *calendars };

/* ---- days and dates ---- */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static int is_leap(int kind, int64_t y)
{
    if (kind == GREGORIAN) return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    return kind == ALL_LEAP || (kind == JULIAN && y % 4 == 0);
}

/* The days before January 1 of year y. */
static int64_t year_start(int kind, int64_t y)
{
    const int64_t julian = 365 * y + floor_div(y + 3, 4);
    return kind == DAYS_360   ? 360 * y
           : kind == NOLEAP   ? 365 * y
           : kind == ALL_LEAP ? 366 * y
           : kind == JULIAN   ? julian
                              : julian - floor_div(y + 99, 100) + floor_div(y + 399, 400);
}

static int month_days(int kind, int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return kind == DAYS_360 ? 30 : days[month - 1] + (month == 2 && is_leap(kind, year));
}

/* The day of a date in a calendar of one kind; the caller checks the date. */
static int64_t day_of(int kind, int64_t year, int month, int day)
{
    int64_t days = year_start(kind, year) + day - 1;
    for (int m = 1; m < month; m++) days += month_days(kind, year, m);
    return days;
}

/* A Julian day has a number that is this much above that of the same day as a Gregorian date. */
enum { SHIFT = 2 };

static void date_of(int kind, int64_t days, date *d)
{
    /* a year has days / of days on average */
    static const int of[][2] = {[GREGORIAN] = {146097, 400},
                                [NOLEAP] = {365, 1},
                                [ALL_LEAP] = {366, 1},
                                [DAYS_360] = {360, 1},
                                [JULIAN] = {1461, 4}};
    if (kind == STANDARD) {
        kind = days < day_of(GREGORIAN, 1582, 10, 15) ? JULIAN : GREGORIAN;
        if (kind == JULIAN) days += SHIFT;
    }
    d->year = floor_div(days * of[kind][1], of[kind][0]);
    while (year_start(kind, d->year + 1) <= days) d->year++;
    while (year_start(kind, d->year) > days) d->year--;
    d->dayofyear = (int)(days - year_start(kind, d->year)) + 1;
    d->day = d->dayofyear;
    for (d->month = 1; d->day > month_days(kind, d->year, d->month); d->month++)
        d->day -= month_days(kind, d->year, d->month);
}

/* Sets *days to the day of a date. Returns 0 if the calendar does not have it. */
static int day_in(int kind, int64_t year, int month, int day, int64_t *days)
{
    int actual = kind;
    if (kind == STANDARD) actual = year * 10000 + month * 100 + day < 15821015 ? JULIAN : GREGORIAN;
    if ((kind == STANDARD || kind == JULIAN) && year < 1) return 0;
    if (month < 1 || month > 12 || day < 1 || day > month_days(actual, year, month)) return 0;
    *days = day_of(actual, year, month, day) - (kind == STANDARD && actual == JULIAN ? SHIFT : 0);
    return kind != STANDARD || actual == GREGORIAN || *days < day_of(GREGORIAN, 1582, 10, 15);
}

/* ---- "days since 1970-01-01 12:00:00.5 +01:00" ---- */

static int64_t unit_nanos(const char *text, size_t length)
{
    for (int u = 0; u < UNITS; u++)
        for (int k = 0; k < 6 && units[u].names[k]; k++)
            if (strlen(units[u].names[k]) == length &&
                !strncasecmp(units[u].names[k], text, length))
                return units[u].nanos;
    return 0;
}

/* Reads 1 to `most` digits. Returns how many there are. */
static int digits(const char **at, int most, int64_t *value)
{
    int n = 0;
    for (*value = 0; n < most && isdigit((unsigned char)**at); n++, ++*at)
        *value = *value * 10 + (**at - '0');
    return isdigit((unsigned char)**at) ? 0 : n;
}

/* Reads a zone as minutes east of UTC: Z, UTC, GMT, +1, +01:00, -0530. */
static int zone(const char **at, int64_t *east)
{
    static const char *const names[] = {"UTC", "GMT", "Z"};
    int64_t hour = 0, minute = 0;
    *east = 0;
    for (int i = 0; i < 3; i++)
        if (!strncasecmp(*at, names[i], strlen(names[i]))) {
            *at += strlen(names[i]);
            return 1;
        }
    const int west = **at == '-';
    if (**at != '+' && **at != '-') return !**at;
    ++*at;
    const int n = digits(at, 4, &hour);
    if (n > 2) {
        minute = hour % 100;
        hour /= 100;
    } else if (n && **at == ':') {
        ++*at;
        if (digits(at, 2, &minute) != 2) return 0;
    }
    *east = (west ? -1 : 1) * (hour * 60 + minute);
    return n && hour < 24 && minute < 60;
}

/* Reads a time of day as nanoseconds: 12:30, 12:30:05.25. */
static int clock_time(const char **at, int64_t *nanos)
{
    int64_t hour, minute, s = 0, part = 0;
    if (!digits(at, 2, &hour) || hour > 23 || *(*at)++ != ':' || !digits(at, 2, &minute) ||
        minute > 59)
        return 0;
    if (**at == ':') {
        ++*at;
        if (!digits(at, 2, &s) || s > 59) return 0;
        if (**at == '.') {
            ++*at;
            int n = digits(at, 9, &part);
            if (!n) return 0;
            for (; n < 9; n++) part *= 10;
        }
    }
    *nanos = ((hour * 60 + minute) * 60 + s) * 1000000000 + part;
    return 1;
}

static const char *blanks(const char *at) { return at + strspn(at, " "); }

/* Reads the date and time after `since`. Returns 0 if it is none, or not one of the calendar. */
static int read_origin(const char *at, calendar *k)
{
    int64_t year, month, day, days, nanos = 0, east = 0;
    at = blanks(at);
    const int negative = *at == '-';
    at += negative;
    if (!digits(&at, 6, &year) || *at++ != '-' || !digits(&at, 2, &month) || *at++ != '-' ||
        !digits(&at, 2, &day) ||
        !day_in(k->kind, negative ? -year : year, (int)month, (int)day, &days))
        return 0;
    if (*at == 'T' || *at == ' ') {
        at = blanks(at + 1);
        if (*at && (!clock_time(&at, &nanos) || !(at = blanks(at)) || !zone(&at, &east))) return 0;
    }
    k->origin = (__int128)days * day_nanos + nanos - (__int128)east * 60000000000;
    return !*blanks(at);
}

int calendar_open(calendar *k, const coordinate *c)
{
    const char *const text = c->units ? c->units : "";
    const char *since = text;
    *k = (calendar){.unit = 0};
    while (*since && strncasecmp(since, " since ", 7) != 0) since++;
    if (!*since) return DONE;
    size_t length = (size_t)(since - text);
    while (length && text[length - 1] == ' ') length--;
    const char *const first = blanks(text);
    const int64_t unit = unit_nanos(first, length - (size_t)(first - text));
    if (!unit)
        return bad_data("%s: the units of %s are '%s': must be days, hours, minutes, seconds or a "
                        "part of a second",
                        c->of->label, c->name, text);
    const char *names[CALENDARS + 1] = {NULL}, *const name = c->calendar ? c->calendar : "standard";
    int i = 0;
    for (int j = 0; j < CALENDARS; j++) names[j] = calendars[j].name;
    while (i < CALENDARS && strcasecmp(name, names[i]) != 0) i++;
    if (i == CALENDARS) {
        char what[80];
        snprintf(what, sizeof what, "calendar of %.60s", c->of->label);
        return fail_choice(BAD_DATA, what, name, names);
    }
    k->kind = calendars[i].kind;
    k->name = calendars[i].name;
    if (!read_origin(since + 7, k))
        return bad_data("%s: the units of %s are '%s': after 'since' must be a date such as "
                        "1970-01-01 or 1970-01-01 12:00:00, and one that the calendar %s has",
                        c->of->label, c->name, text, k->name);
    k->unit = unit;
    return DONE;
}

/* value * unit in nanoseconds. A float is a rounded number: its time is rounded to microseconds,
 * or to the power of ten, at most a second, that neighbouring floats differ by. So 0.0416666667
 * days are one hour. Returns 0 if it is too large. */
static int to_nanos(const calendar *k, tally_dtype dtype, const void *value, __int128 *nanos)
{
    if (dtype < TALLY_F16) {
        const int64_t whole = whole_value(dtype, value);
        *nanos = dtype == TALLY_U64 ? (__int128)(uint64_t)whole : (__int128)whole;
        return !__builtin_mul_overflow(*nanos, (__int128)k->unit, nanos);
    }
    int exponent;
    const double x = real_value(dtype, value);
    const __int128 product = (__int128)(int64_t)ldexp(frexp(x, &exponent), 53) * k->unit;
    const double apart = ldexp((double)k->unit, exponent - (dtype == TALLY_F64 ? 53 : 24));
    exponent -= 53;
    if (exponent > 20) return 0;
    __int128 step = 1000;
    while ((double)step < apart && step < 1000000000) step *= 10;
    *nanos = exponent >= 0     ? product << exponent
             : exponent < -110 ? 0
                               : (product + ((__int128)1 << (-exponent - 1))) >> -exponent;
    const __int128 half = *nanos < 0 ? -step / 2 : step / 2;
    *nanos = (*nanos + half) / step * step;
    return 1;
}

int calendar_time(const calendar *k, tally_dtype dtype, const void *value, __int128 *nanos)
{
    if (!to_nanos(k, dtype, value, nanos)) return 0;
    *nanos += k->origin;
    const __int128 limit = (__int128)day_nanos * 366 * YEARS_MOST;
    return -limit < *nanos && *nanos < limit;
}

int calendar_date(const calendar *k, tally_dtype dtype, const void *value, date *d)
{
    __int128 nanos;
    if (!calendar_time(k, dtype, value, &nanos)) return 0;
    int64_t days = (int64_t)(nanos / day_nanos), rest = (int64_t)(nanos % day_nanos);
    if (rest < 0) {
        rest += day_nanos;
        days--;
    }
    date_of(k->kind, days, d);
    d->hour = (int)(rest / 3600000000000);
    return d->year >= 1 || (k->kind != STANDARD && k->kind != JULIAN);
}

/* ---- the parts of dates, which --by groups by ---- */

static const char *const parts[] = {"year", "season", "month", "day", "hour", "dayofyear", NULL};
static const char *const seasons[] = {"DJF", "MAM", "JJA", "SON"};
enum { SEASON = 1 };

int calendar_part(const char *name, size_t *length)
{
    const char *const dot = strrchr(name, '.');
    int part = 0;
    while (dot && parts[part] && strcmp(parts[part], dot + 1) != 0) part++;
    if (!dot || !parts[part]) return -1;
    *length = (size_t)(dot - name);
    return part;
}

const char *calendar_part_name(int part) { return parts[part]; }

int calendar_no_part(const char *name) { return fail_choice(USAGE, "part of a date", name, parts); }

const char *calendar_season(int part, int64_t value)
{
    return part == SEASON && value >= 1 && value <= 4 ? seasons[value - 1] : NULL;
}

int calendar_season_number(const char *name)
{
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, seasons[i])) return i + 1;
    return 0;
}

int32_t calendar_value(const date *d, int part)
{
    const int values[] = {0, d->month % 12 / 3 + 1, d->month, d->day, d->hour, d->dayofyear};
    return part ? values[part] : (int32_t)d->year;
}

/* ---- dates of text and csv ---- */

/* The operators that dates have. The first DATED give dates, the others indexes and counts. */
static const char *const dated[] = {"min",    "max",    "minmax", "first", "last",
                                    "argmin", "argmax", "count",  NULL};
enum { DATED = 5 };

int date_result(const char *op)
{
    int at = 0;
    if (!strncmp(op, "nan", 3)) op += 3;
    while (dated[at] && strcmp(dated[at], op) != 0) at++;
    return at < DATED ? 1 : dated[at] ? 0 : -1;
}

int date_refuse(const char *label, const char *op)
{
    return usage("%s: the column has dates, and dates have no '%s': they have min, max, minmax, "
                 "first, last, argmin, argmax and count",
                 label, op);
}

void date_form(char form[DATE_BYTES], const char *first, int utc)
{
    snprintf(form, DATE_BYTES, "%s", first);
    char *const zone = strlen(form) > 10 ? strpbrk(form + 9, "Zz+-") : NULL;
    if (zone && utc) strcpy(zone, "Z");
}

/* The nanoseconds that a zone, such as +01:00 or Z, is east of UTC. */
static int64_t east_of(const char *zone)
{
    int hours = 0, minutes = 0;
    if (*zone != '+' && *zone != '-') return 0;
    sscanf(zone + 1, "%2d", &hours);
    sscanf(zone + 3 + (zone[3] == ':'), "%2d", &minutes);
    return (*zone == '-' ? -60000000000 : 60000000000) * (hours * 60 + minutes);
}

void date_text(const char *form, int64_t nanos, char out[DATE_BYTES])
{
    const int wide = form[4] == '-', timed = strlen(form) > 10;
    const char *const zone = timed ? form + 9 + strcspn(form + 9, "Zz+-") : "",
                      *const point = timed ? strpbrk(form, ".,") : NULL;
    const __int128 local = (__int128)nanos + east_of(zone);
    const int64_t days = (int64_t)(local / day_nanos) - (local % day_nanos < 0),
                  of_day = (int64_t)(local - (__int128)days * day_nanos);
    date d;
    date_of(GREGORIAN, days + day_of(GREGORIAN, 1970, 1, 1), &d);
    int at = sprintf(out, wide ? "%04d-%02d-%02d" : "%04d%02d%02d", (int)d.year, d.month, d.day);
    if (!timed && !of_day) return;

    const int64_t sec = 1000000000, minutes = of_day / (60 * sec);
    at += sprintf(out + at, wide ? "%c%02d:%02d" : "%c%02d%02d", timed ? form[wide ? 10 : 8] : 'T',
                  (int)minutes / 60, (int)minutes % 60);
    /* the seconds, and the digits after the point, that the form has or this time needs */
    if ((timed && zone - form > (wide ? 16 : 13)) || of_day % (60 * sec))
        at += sprintf(out + at, wide ? ":%02d" : "%02d", (int)(of_day / sec % 60));
    if (point || of_day % sec) {
        const ptrdiff_t least = point ? zone - point : 0;
        const int begin = at;
        at += sprintf(out + at, ".%09d", (int)(of_day % sec));
        while (at - begin > least && out[at - 1] == '0') out[--at] = 0;
    }
    strcpy(out + at, zone);
}
