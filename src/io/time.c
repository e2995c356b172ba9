/* SPDX-License-Identifier: MIT
 * Reads times as nanoseconds since 1970-01-01 00:00: in UTC if the time has a zone, else as
 * written. A number is a time in a unit of its own.
 *
 *    2024-03-31T01:59:59.5+01:00    20240331T015959Z    2024-03-31 01:59    2024-03-31
 *    1711846799.5
 *
 * The frame of a time is the kind of times that it can be compared with: numbers, times without a
 * zone, or times of one zone. */
#define _GNU_SOURCE
#include "io.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS = 1, LOCAL = 2, ZONED = 10000 }; /* ZONED + minutes east of UTC */
static const int64_t second = 1000000000;

/* Days from 1970-01-01 to a date of the Gregorian calendar; month 13 is January of the next year.
 * Years are counted from March, so that a leap day is the last day of its year. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    assert(month >= 1 && month <= 13);
    const int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400,
                  of_era = y - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

typedef struct {
    int year, month, day, of_year; /* of_year: the day of the year, from 1 */
    int of_day;                    /* the second of the day */
} date;

/* The date of a time in nanoseconds. */
static date date_of(tl_tick tick, int frame)
{
    const int64_t east = frame == LOCAL ? 0 : frame - ZONED; /* minutes east of UTC */
    const int64_t local = (int64_t)(tick / second) - (tick % second < 0) + east * 60;
    const int64_t of_day = (local % 86400 + 86400) % 86400, days = (local - of_day) / 86400;
    int64_t year = (days * 400 + 719528 * 400) / 146097; /* the loops correct this estimate */
    int month = 1;
    while (days_of(year, 13, 1) <= days) year++;
    while (days_of(year, 1, 1) > days) year--;
    while (month < 12 && days_of(year, month + 1, 1) <= days) month++;
    return (date){(int)year, month, (int)(days - days_of(year, month, 1)) + 1,
                  (int)(days - days_of(year, 1, 1)) + 1, (int)of_day};
}

/* Reads n digits at *p as a number of at most `most`. Returns 0 if they are not there. by: 0, or
 * the separator before them. */
static int digits(const char **p, const char *e, char by, int n, int64_t most, int64_t *value)
{
    assert(n >= 1);
    int64_t v = 0;
    if (by && (*p == e || *(*p)++ != by)) return 0;
    if (e - *p < n) return 0;

    for (int i = 0; i < n; i++) {
        const char c = (*p)[i];
        if (c < '0' || c > '9') return 0;
        v = v * 10 + (c - '0');
    }
    *p += n;
    *value = v;

    return v <= most;
}

/* Reads a zone: "Z", "+hh", "+hhmm", "+hh:mm". *minutes: minutes east of UTC. */
static int zone(const char *p, const char *e, int64_t *minutes)
{
    int64_t hour, minute = 0;
    *minutes = 0;
    if (e - p == 1 && (*p == 'Z' || *p == 'z')) return 1;
    const int west = p < e && *p == '-';
    if (p == e || (*p != '+' && *p != '-')) return 0;
    if (!digits(&p, e, *p, 2, 23, &hour)) return 0;
    if (p < e && *p == ':') p++;
    if (p < e && !digits(&p, e, 0, 2, 59, &minute)) return 0;
    *minutes = (west ? -1 : 1) * (hour * 60 + minute);

    return p == e;
}

/* Reads the digits after the point as nanoseconds. Returns TL_CELL_OK or the reason of failure. */
static int fraction(const char **p, const char *e, int64_t *nanos)
{
    int n = 0;
    *nanos = 0;
    for (; *p < e && **p >= '0' && **p <= '9'; ++*p, n++) {
        if (n == 9) return TL_CELL_NANOS;
        *nanos = *nanos * 10 + (**p - '0');
    }
    for (int i = n; i < 9; i++) *nanos *= 10;
    return n ? TL_CELL_OK : TL_CELL_TIME;
}

static int date_and_time(const char *p, const char *e, tl_time *t)
{
    int64_t year, month, day, hour = 0, minute = 0, s = 0, nanos = 0, east = 0;
    if (!digits(&p, e, 0, 4, 9999, &year)) return TL_CELL_TIME;
    /* a time in the compact form has no separators */
    const int wide = p < e && *p == '-';
    const char dash = wide ? '-' : 0, colon = wide ? ':' : 0;
    if (!digits(&p, e, dash, 2, 12, &month) || month < 1 || !digits(&p, e, dash, 2, 31, &day) ||
        day < 1 || (day > 28 && days_of(year, month, day) >= days_of(year, month + 1, 1)))
        return TL_CELL_TIME;

    t->frame = LOCAL;
    if (p < e) {
        if (*p != 'T' && *p != 't' && (*p != ' ' || !wide)) return TL_CELL_TIME;
        p++;
        if (!digits(&p, e, 0, 2, 23, &hour) || !digits(&p, e, colon, 2, 59, &minute))
            return TL_CELL_TIME;

        if (p < e && (wide ? *p == ':' : *p >= '0' && *p <= '9')) {
            if (!digits(&p, e, colon, 2, 59, &s)) return TL_CELL_TIME;
            if (p < e && (*p == '.' || *p == ',')) {
                p++;
                const int why = fraction(&p, e, &nanos);
                if (why) return why;
            }
        }

        if (p < e) {
            if (!zone(p, e, &east)) return TL_CELL_TIME;
            t->frame = ZONED + (int)east;
        }
    }

    const int64_t whole =
        days_of(year, month, day) * 86400 + hour * 3600 + (minute - east) * 60 + s;

    /* the product may exceed 64 bits even if the sum does not */
    const __int128 ticks = (__int128)whole * second + nanos;
    t->value = ticks;
    return ticks == (int64_t)ticks ? TL_CELL_OK : TL_CELL_ERA;
}

static int number(const char *s, const char *e, tl_tick *value)
{
    static const int why[] = {TL_CELL_OK, TL_CELL_TIME, TL_CELL_LARGE, TL_CELL_DIGITS};
    const int r = tl_decimal_parse(s, e, value);
    int64_t bits;
    if (r != TL_DECIMAL_BAD || tl_parse_cell(TALLY_I64, s, e, &bits)) return why[r];
    *value = (tl_tick)bits * TALLY_KEY_PART; /* a number in hexadecimal digits, 0x... */
    return TL_CELL_OK;
}

int tl_time_parse(const char *s, const char *e, tl_time *t)
{
    assert(s <= e);
    const int64_t n = e - s;
    if (n >= 8 && s[0] >= '0' && s[0] <= '9' &&
        (s[4] == '-' || (n > 8 && (s[8] == 'T' || s[8] == 't'))))
        return date_and_time(s, e, t);
    t->frame = NUMBERS;
    return number(s, e, &t->value);
}

int tl_time_kind(int frame) { return frame < ZONED / 2 ? frame : 3; }

tally_line_time tl_time_give(int frame, tl_tick tick)
{
    __int128 whole = tick;
    int64_t part = 0;
    if (frame == NUMBERS) tl_decimal_split(tick, &whole, &part);
    return (tally_line_time){(int64_t)(uint64_t)whole, part};
}

void tl_time_show(int frame, tl_tick tick, char *out, size_t capacity)
{
    if (frame == NUMBERS) {
        char text[TL_DECIMAL_CHARS];
        tl_decimal_format(tick, text);
        snprintf(out, capacity, "%s", text);
        return;
    }

    const int64_t nanos = (int64_t)((tick % second + second) % second);
    const date d = date_of(tick, frame);
    int at = snprintf(out, capacity, "%04d-%02d-%02dT%02d:%02d:%02d", d.year, d.month, d.day,
                      d.of_day / 3600, d.of_day / 60 % 60, d.of_day % 60);

    if (nanos) {
        at += snprintf(out + at, capacity - (size_t)at, ".%09d", (int)nanos);
        while (out[at - 1] == '0') out[--at] = 0;
    }

    if (frame != LOCAL) tl_time_frame(frame, out + at, capacity - (size_t)at);
}

void tl_time_frame(int frame, char *out, size_t capacity)
{
    const int east = frame - ZONED, minutes = east < 0 ? -east : east;
    if (frame < ZONED / 2)
        snprintf(out, capacity, frame == LOCAL ? "has no zone" : "is a number");
    else if (!east)
        snprintf(out, capacity, "Z");
    else
        snprintf(out, capacity, "%c%02d:%02d", east < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

/* ---- the times of a chunk, and of all chunks in order ---- */

/* Reads a time, and checks that it can be compared with those before it in the chunk. dates: a
 * number is refused. */
static int take(tl_chunk *c, int dates, const char *s, const char *e, tl_time *t)
{
    assert(s <= e);
    char text[TL_NUMBER_MOST];
    const char *from = s, *to = e;
    if (c->decimal) from = text, to = text + tl_with_point(s, e, c->decimal, text);
    const int why = tl_time_parse(from, to, t);
    if (why) return why;
    if (dates && t->frame == NUMBERS) return TL_CELL_PART;
    if (c->utc && t->frame > ZONED / 2) t->frame = ZONED;
    if (!c->frame) {
        c->frame = t->frame;
        c->frame_at = s;
        c->frame_end = e;
    }

    return c->frame == t->frame ? TL_CELL_OK : TL_CELL_FRAME;
}

int tl_time_take(tl_chunk *c, int64_t row, const char *s, const char *e)
{
    tl_time t;
    const int why = take(c, 0, s, e, &t);
    if (!why) c->times[row] = t.value;
    return why;
}

/* The parts of a date, numbered from 1. */
enum { YEAR = 1 };
static const char *const parts[] = {"year", "season", "month", "day", "hour", "dayofyear"};

const char *tl_time_part_name(int part) { return parts[part - 1]; }

int tl_time_part_named(const char *s, const char *e, const char **end)
{
    const char *const dot = memrchr(s, '.', (size_t)(e - s));
    if (!dot || dot == s) return 0;
    const size_t length = (size_t)(e - dot) - 1;
    for (int i = 0; i < 6; i++)
        if (strlen(parts[i]) == length && !memcmp(parts[i], dot + 1, length)) {
            *end = dot;
            return i + 1;
        }
    return 0;
}

void tl_time_numbers(char *out)
{
    char text[8];
    memset(out, 0, TL_NUMBERS_BYTES);
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof text, "%d", i);
        memcpy(out + 4 * i, text, 4);
    }
    memcpy(out + 4 * 10000, "DJF MAM JJA SON", 16);
}

int tl_time_part(tl_chunk *c, int part, const char *s, const char *e, tl_span *key)
{
    tl_time t;
    const int why = take(c, 1, s, e, &t);
    if (why) return why;
    const date d = date_of(t.value, t.frame);
    const int values[] = {d.year, 10000 + d.month % 12 / 3, d.month,
                          d.day,  d.of_day / 3600,          d.of_year};
    const int v = values[part - 1];
    if (v < 0 || (part == YEAR && v > 9999)) return TL_CELL_ERA;
    key->at = (uint32_t)(c->numbers + 4 * v - c->start);
    key->length = v >= 10000 ? 3u : 1u + (v > 9) + (v > 99) + (v > 999);

    return TL_CELL_OK;
}

int tl_time_value(tl_chunk *c, const char *s, const char *e, void *value)
{
    tl_time t;
    const int why = take(c, 1, s, e, &t);
    if (!why) tl_store(value, (uint64_t)t.value, 8);
    return why;
}

tally_status tl_order_reserve(tally_file *f, tl_order *o, int64_t groups)
{
    assert(groups >= 0);
    if (groups <= o->capacity) return TALLY_OK;
    const int64_t capacity = groups > 2 * o->capacity ? groups : 2 * o->capacity;
    TL_TRY(tl_grow(f->ctx, &o->last, (size_t)capacity * sizeof *o->last,
                   "the last times of the groups"));
    o->capacity = capacity;
    return TALLY_OK;
}

static const tl_tick end_of_i64 = ((tl_tick)INT64_MAX + 1) * TALLY_KEY_PART;

/* Updates the least and the greatest number. Returns whether both fit one type of 64 bits; *other
 * is the extreme that `now` is compared with. */
static int one_type(tl_order *o, tl_tick now, tl_tick *other)
{
    *other = now < 0 ? o->greatest : o->least;
    if (now < o->least) o->least = now;
    if (now > o->greatest) o->greatest = now;
    return o->least >= 0 || o->greatest < end_of_i64;
}

tally_dtype tl_order_dtype(const tl_order *o)
{
    return o->greatest < end_of_i64 ? TALLY_I64 : TALLY_U64;
}

int64_t tl_order_check(tl_order *o, const tl_chunk *c, int64_t rows, tl_tick *with, int *why)
{
    assert(rows >= 0);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t group = c->codes ? c->codes[r] : 0;
        const tl_tick now = c->times[r];
        *why = TL_CELL_SIGN;
        if (o->frame == NUMBERS && !one_type(o, now, with)) return r;
        *why = TL_CELL_FALLS;

        if (group == o->group_count) { /* groups are numbered in the order of their first rows */
            o->group_count++;
        } else if (now < o->last[group]) {
            *with = o->last[group];
            return r;
        }

        o->last[group] = now;
    }
    return rows;
}
