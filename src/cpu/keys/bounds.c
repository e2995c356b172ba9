/* SPDX-License-Identifier: MIT
 * Windows over sorted keys. The rows whose keys lie in an interval are neighbours. If the interval
 * is the same for every row, its ends only move forward, and each thread follows them from row to
 * row. If every row has its own interval, its ends are found by binary search. Descending keys are
 * ascending keys read from the end.
 *
 * Row j is in the window of row i if key[j] - key[i] is in low .. high. No difference is rounded:
 * integers are extended to 128 bits, and a sum of two f64 is kept together with its rounding
 * error. */
#include "keys.h"
#include "context/threads.h"
#include "dtype/number.h"
#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 14 };
static const int64_t part_unit = TALLY_KEY_PART;

/* A key, or a distance between two keys: an integer (if it has parts, in units of 1 /
 * TALLY_KEY_PART) or an f64. */
typedef struct {
    __int128 whole;
    double real;
} key;

/* The keys in ascending order: place p is row p, or row n - 1 - p if they descend. */
typedef struct {
    const char *data;
    const int64_t *parts; /* NULL, or the part of place 0 */
    int64_t n, step;      /* step: bytes from one place to the next */
    int direction;        /* step from a place's part to the next: 1 or -1 */
    int scaled;           /* `whole` has units of 1 / TALLY_KEY_PART */
    int wide;             /* limits may need more than 64 bits, or differ from row to row */
    tally_dtype dtype;
} line;

static inline key at(const line *l, int64_t p)
{
    const char *const x = l->data + p * l->step;
    key k = {0, 0};

    if (l->dtype == TALLY_F64)
        memcpy(&k.real, x, sizeof k.real);
    else if (l->dtype == TALLY_I32)
        k.whole = (int32_t)tl_load(x, 4);
    else
        k.whole = (int64_t)tl_load(x, 8);

    /* minus 2^63, which flips the highest bit: fits an i64, in the same order */
    if (l->dtype == TALLY_U64) k.whole = (int64_t)((uint64_t)k.whole ^ (uint64_t)1 << 63);
    if (l->scaled) k.whole = k.whole * part_unit + (l->parts ? l->parts[p * l->direction] : 0);
    return k;
}

/* -1, 0, 1: a is below, equal to, above b. 2: one of them is a NaN. */
static inline int compare(const line *l, key a, key b)
{
    if (l->dtype != TALLY_F64) return (a.whole > b.whole) - (a.whole < b.whole);
    if (a.real != a.real || b.real != b.real) return 2;
    return (a.real > b.real) - (a.real < b.real);
}

static int sign(double x) { return (x > 0) - (x < 0); }

/* The sign of (k - from) - distance as real numbers. Equal keys have distance 0, infinite ones too;
 * an infinite key is infinitely far from any other key. */
static inline int order_of_reals(double k, double from, double distance)
{
    if (k == from) return -sign(distance);
    if (isinf(k) || isinf(from) || isinf(distance)) {
        const double apart = isinf(k) || isinf(from) ? (k > from ? INFINITY : -INFINITY) : 0;
        return (apart > distance) - (apart < distance);
    }

    /* from + distance = sum + rest exactly (Dekker 1971). A sum that overflows is beyond every
     * k. */
    const double sum = from + distance, rest = fabs(from) >= fabs(distance)
                                                   ? distance - (sum - from)
                                                   : from - (sum - distance);
    return k < sum ? -1 : k > sum ? 1 : -sign(rest);
}

static line line_of(const tally_view *keys, int descending, const tally_key_window *w)
{
    const int64_t step = keys->stride * (int64_t)tally_dtype_size(keys->dtype);
    line l = {keys->data, w->parts, keys->n, step, 1, 0, 0, keys->dtype};

    l.scaled = keys->dtype != TALLY_F64 && (w->parts || w->low_part || w->high_part);
    if (!descending || keys->n == 0) return l;
    l.data += (keys->n - 1) * step;
    if (l.parts) l.parts += keys->n - 1;
    l.step = -step;
    l.direction = -1;
    return l;
}

/* ---- order ---- */

typedef struct {
    const line *l;
    int wrong; /* the forbidden order of neighbours */
} order_work;

/* The first key out of order. */
static int64_t find_disorder(const void *data, int64_t a, int64_t b)
{
    const order_work *w = data;
    for (int64_t j = a + !a; j < b; j++) {
        const int order = compare(w->l, at(w->l, j - 1), at(w->l, j));
        if (order == w->wrong || order == 2) return j;
    }
    return INT64_MAX;
}

int64_t tl_bounds_order(int threads, const tally_view *keys, const tally_key_window *w,
                        int *descending)
{
    const line l = line_of(keys, 0, w);
    int64_t i = 1;

    *descending = 0;
    if (l.n == 0) return 0;
    if (compare(&l, at(&l, 0), at(&l, 0)) == 2) return 0;

    while (i < l.n && compare(&l, at(&l, i - 1), at(&l, i)) == 0) i++;
    if (i == l.n) return l.n;

    /* the first two keys that differ decide the direction */
    const int wrong = compare(&l, at(&l, i - 1), at(&l, i)) == 1 ? -1 : 1;
    *descending = wrong == -1;
    return tl_find(threads, l.n, CHUNK, find_disorder, &(order_work){&l, wrong});
}

/* ---- bounds ---- */

/* Shared by all rows. */
typedef struct {
    line l;
    int descending;
    const tally_key_window *w;
    int row_ends;         /* TALLY_TIES_ROW: rows after a row, with its key, are left out */
    int beyond;           /* windows may include later rows with other keys */
    int64_t *start, *end; /* of each row; NULL: only check the rule of TALLY_TIES_ROW */
} job;

/* One end of the interval of one row. A place is below it if its key is less than `whole`, of which
 * 64 bits suffice if not wide; real keys: if key - from is less than `distance` or, with or_equal,
 * equal. */
typedef struct {
    __int128 whole;
    double from, distance;
    int or_equal;
} limit;

static inline int below(const line *l, int64_t p, const limit *m)
{
    const key k = at(l, p);
    if (l->dtype != TALLY_F64)
        return l->wide ? k.whole < m->whole : (int64_t)k.whole < (int64_t)m->whole;
    return order_of_reals(k.real, m->from, m->distance) < m->or_equal;
}

static inline limit limit_of(key from, key distance, int or_equal)
{
    return (limit){from.whole + distance.whole + or_equal, from.real, distance.real, or_equal};
}

/* Binary search for the first place that is not below the end. */
static int64_t search(line l, limit m)
{
    int64_t low = 0, high = l.n;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (below(&l, mid, &m))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static inline key distance_of(const line *l, int64_t whole, int64_t part, double real)
{
    if (l->dtype == TALLY_F64) return (key){0, real};
    return (key){l->scaled ? (__int128)whole * part_unit + part : whole, 0};
}

/* The interval of the row at place p. */
typedef struct {
    limit low, high;
} interval;

static inline interval interval_of(const line *l, const tally_key_window *w, int64_t p, int64_t row)
{
    const key k = at(l, p),
              low = distance_of(l, w->lows ? w->lows[row] : w->low, w->low_part, w->low_real),
              high = distance_of(l, w->highs ? w->highs[row] : w->high, w->high_part, w->high_real);
    return (interval){limit_of(k, low, w->low_open), limit_of(k, high, !w->high_open)};
}

typedef struct {
    int64_t from, end; /* rows from .. end - 1 */
} rows;

/* The rows with the same key as place p. */
static rows equal_rows(const job *j, int64_t p)
{
    const line *const l = &j->l;
    const int64_t n = l->n;
    int64_t low = p, high = p + 1;
    while (low > 0 && compare(l, at(l, low - 1), at(l, p)) == 0) low--;
    while (high < n && compare(l, at(l, high), at(l, p)) == 0) high++;
    return j->descending ? (rows){n - high, n - low} : (rows){low, high};
}

/* The windows of places a .. b - 1. dtype and wide (of a line) must be constants. Returns n, or the
 * first row found whose window is not one range: it excludes a row with the same key but includes a
 * later one. */
static inline __attribute__((always_inline)) int64_t bounds_of(const job *j, tally_dtype dtype,
                                                               int wide, int64_t a, int64_t b)
{
    line copy = j->l; /* copies, so that stores of places do not change them */
    tally_key_window w = *j->w;
    const line *const l = &copy;
    const int64_t n = copy.n;
    const int descending = j->descending, row_ends = j->row_ends, beyond = j->beyond;
    int64_t *const start = j->start, *const ends = j->end;
    rows same = {0, -1};
    int64_t bad = n;

    if (a >= b) return n;
    copy.dtype = dtype;
    copy.wide = wide;
    copy.scaled &= wide;
    if (!wide) w.lows = w.highs = NULL;
    const interval begin = interval_of(l, &w, a, descending ? n - 1 - a : a);
    int64_t first = search(copy, begin.low), stop = search(copy, begin.high);

    for (int64_t p = a; p < b; p++) {
        const int64_t row = descending ? n - 1 - p : p;
        const interval i = interval_of(l, &w, p, row);
        if (w.lows) first = search(copy, i.low);
        if (w.highs) stop = search(copy, i.high);
        while (first < n && below(l, first, &i.low)) first++;
        while (stop < n && below(l, stop, &i.high)) stop++;
        int64_t from = descending ? n - stop : first, to = descending ? n - first : stop;
        if (row_ends && from <= row && row + 1 < to) {
            if (beyond && (row < same.from || row >= same.end)) same = equal_rows(j, p);
            if (row + 1 < same.end && to > same.end && row < bad) bad = row;
            if (!beyond || row + 1 < same.end) to = row + 1;
        }

        if (from > to) from = to; /* an empty range */
        if (!start) continue;
        start[row] = from;
        ends[row] = to;
    }
    return bad;
}

/* May the limits of these rows need more than 64 bits, or differ from row to row? */
static int is_wide(const job *j, int64_t a, int64_t b)
{
    const line *const l = &j->l;
    const tally_key_window *const w = j->w;
    if (l->scaled || w->lows || w->highs || a >= b) return 1;
    const __int128 least = at(l, a).whole + (w->low < w->high ? w->low : w->high),
                   most = at(l, b - 1).whole + (w->low < w->high ? w->high : w->low) + 1;
    return least < INT64_MIN || most > INT64_MAX;
}

static int64_t bounds(const void *data, int64_t a, int64_t b)
{
    const job *const j = data;
    if (j->l.dtype == TALLY_F64) return bounds_of(j, TALLY_F64, 0, a, b);
    if (is_wide(j, a, b)) return bounds_of(j, j->l.dtype, 1, a, b);
    if (j->l.dtype == TALLY_I32) return bounds_of(j, TALLY_I32, 0, a, b);
    if (j->l.dtype == TALLY_I64) return bounds_of(j, TALLY_I64, 0, a, b);
    return bounds_of(j, TALLY_U64, 0, a, b);
}

static int64_t all_bounds(int threads, const job *j)
{
    const int64_t n = j->l.n;
    return tl_find(threads, n, tl_max((n + threads - 1) / threads, CHUNK), bounds, j);
}

/* May a window include rows after its own with other keys? Such keys are larger if keys ascend. */
static int reaches_beyond(const job *j)
{
    const tally_key_window *const w = j->w;
    if (w->lows || w->highs) return 1;
    if (j->l.dtype == TALLY_F64) return j->descending ? w->low_real < 0 : w->high_real > 0;
    return j->descending ? w->low < 0 : w->high > 0 || (w->high == 0 && w->high_part > 0);
}

int64_t tl_bounds(int threads, const tally_view *keys, int descending, const tally_key_window *w,
                  int64_t *start, int64_t *end)
{
    job j = {.l = line_of(keys, descending, w), .descending = descending, .w = w};
    j.row_ends = w->ties == TALLY_TIES_ROW;
    j.beyond = reaches_beyond(&j);
    const int64_t bad = j.row_ends && j.beyond ? all_bounds(threads, &j) : j.l.n;
    if (bad < j.l.n) return bad;
    j.start = start;
    j.end = end;
    return all_bounds(threads, &j);
}
