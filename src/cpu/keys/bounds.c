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
#include <assert.h>
#include <math.h>
#include <string.h>

enum { PART_LEAST = 1 << 14 };
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
    tally_dtype dtype;
} line;

static inline key at(const line *l, int64_t p)
{
    const char *const x = l->data + p * l->step;
    key k = {0, 0};
    int32_t narrow;
    int64_t whole;
    uint64_t natural;

    switch (l->dtype) {
    case TALLY_I32:
        memcpy(&narrow, x, sizeof narrow);
        k.whole = narrow;
        break;
    case TALLY_I64:
        memcpy(&whole, x, sizeof whole);
        k.whole = whole;
        break;
    case TALLY_U64:
        memcpy(&natural, x, sizeof natural);
        k.whole = natural;
        break;
    default:
        memcpy(&k.real, x, sizeof k.real);
        break;
    }

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

/* The sign of (key of place p - from) - distance. */
static inline int order(const line *l, int64_t p, key from, key distance)
{
    const key k = at(l, p);
    if (l->dtype == TALLY_F64) return order_of_reals(k.real, from.real, distance.real);
    const __int128 apart = k.whole - from.whole;
    return (apart > distance.whole) - (apart < distance.whole);
}

static line line_of(const tally_view *keys, int descending, const tally_key_window *w)
{
    const int64_t step = keys->stride * (int64_t)tally_dtype_size(keys->dtype);
    line l = {keys->data, w->parts, keys->n, step, 1, 0, keys->dtype};

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
    int64_t begin; /* index of the first key of chunk 0; each chunk has PART_LEAST keys */
    int wrong;     /* the forbidden order of neighbours */
    int64_t first; /* the first key out of order found so far */
} order_work;

static void check_order(void *data, int64_t k)
{
    order_work *a = data;
    const int64_t from = a->begin + k * PART_LEAST,
                  end = a->l->n - from < PART_LEAST ? a->l->n : from + PART_LEAST;

    for (int64_t j = from; j < end; j++) {
        const int order = compare(a->l, at(a->l, j - 1), at(a->l, j));
        if (order != a->wrong && order != 2) continue;
        tl_atomic_least(&a->first, j);
        return;
    }
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
    order_work all = {&l, i, wrong, l.n};
    tl_for(threads, (l.n - i + PART_LEAST - 1) / PART_LEAST, check_order, &all);

    return all.first;
}

/* ---- bounds ---- */

/* Shared by all rows. */
typedef struct {
    line l;
    int descending;
    const tally_key_window *w;
    int row_ends;         /* TALLY_TIES_ROW */
    int beyond;           /* windows may include later rows with other keys */
    int64_t *start, *end; /* of each row; NULL: only check the rule of TALLY_TIES_ROW */
} job;

/* before_first: is place p before the first of the interval? True below the limit, and at it if the
 * limit is open. before_end: is p before the place after the last? True below the limit, and at it
 * unless it is open. */
static inline int before_first(const line *l, int64_t p, key from, key low, int open)
{
    const int o = order(l, p, from, low);
    return o < 0 || (open && o == 0);
}

static inline int before_end(const line *l, int64_t p, key from, key high, int open)
{
    const int o = order(l, p, from, high);
    return o < 0 || (!open && o == 0);
}

/* Binary search for the first place that is not before the first or, with of_end, not before the
 * end. */
static int64_t halve(const line *l, key from, key limit, int open, int of_end)
{
    int64_t low = 0, high = l->n;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (of_end ? before_end(l, mid, from, limit, open)
                   : before_first(l, mid, from, limit, open))
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

/* The rows with the same key as place p are *first .. *end - 1. */
static inline void equal_rows(const job *j, int64_t p, int64_t *first, int64_t *end)
{
    const line *const l = &j->l;
    const int64_t n = l->n;
    int64_t low = p, high = p + 1;
    while (low > 0 && compare(l, at(l, low - 1), at(l, p)) == 0) low--;
    while (high < n && compare(l, at(l, high), at(l, p)) == 0) high++;
    *first = j->descending ? n - high : low;
    *end = j->descending ? n - low : high;
}

/* The rows of places a .. b - 1. dtype must be a constant. Returns n, or the first row found whose
 * window is not one range: it excludes a row with the same key but includes a later row. */
static inline __attribute__((always_inline)) int64_t part_of(const job *j, tally_dtype dtype,
                                                             int64_t a, int64_t b)
{
    line copy = j->l;
    const line *const l = &copy;
    const tally_key_window *const w = j->w;
    int64_t first = -1, stop = -1, bad = l->n, same = 0, same_end = -1;

    copy.dtype = dtype;
    for (int64_t p = a; p < b; p++) {
        const int64_t row = j->descending ? l->n - 1 - p : p;
        const key k = at(l, p),
                  low = distance_of(l, w->lows ? w->lows[row] : w->low, w->low_part, w->low_real),
                  high = distance_of(l, w->highs ? w->highs[row] : w->high, w->high_part,
                                     w->high_real);
        if (first < 0 || w->lows) first = halve(l, k, low, w->low_open, 0);
        if (stop < 0 || w->highs) stop = halve(l, k, high, w->high_open, 1);
        while (first < l->n && before_first(l, first, k, low, w->low_open)) first++;
        while (stop < l->n && before_end(l, stop, k, high, w->high_open)) stop++;
        int64_t from = j->descending ? l->n - stop : first,
                to = j->descending ? l->n - first : stop;
        if (j->row_ends && from <= row && row + 1 < to) {
            if (row < same || row >= same_end) equal_rows(j, p, &same, &same_end);
            if (row + 1 < same_end && to > same_end && row < bad) bad = row;
            if (row + 1 < same_end) to = row + 1;
        }

        if (from > to) from = to; /* an empty range */
        if (!j->start) continue;
        j->start[row] = from;
        j->end[row] = to;
    }

    return bad;
}

/* ---- integer keys with limits of 64 bits ---- */

/* Keys as signed numbers in the same order: u64 keys minus 2^63. */
static inline int64_t whole_at(const line *l, tally_dtype dtype, int64_t p)
{
    const char *const x = l->data + p * l->step;
    int32_t narrow;
    int64_t whole;

    if (dtype == TALLY_I32) {
        memcpy(&narrow, x, sizeof narrow);
        return narrow;
    }
    memcpy(&whole, x, sizeof whole);
    return dtype == TALLY_U64 ? whole ^ INT64_MIN : whole;
}

/* An end of the interval: the first place, not before `place`, whose key is not below key[p] +
 * add. */
typedef struct {
    int64_t add, place;
} edge;

/* Is the interval the same for all rows, with limits of at most 64 bits? low and high: what to add
 * for the edges. */
static int is_whole(const job *j, int64_t a, int64_t b, edge *low, edge *high)
{
    const line *const l = &j->l;
    const tally_key_window *const w = j->w;
    int64_t sum;
    if (l->dtype == TALLY_F64 || l->scaled || w->lows || w->highs || a >= b) return 0;

    if (j->row_ends && j->beyond) return 0;
    const int64_t least = whole_at(l, l->dtype, a), most = whole_at(l, l->dtype, b - 1);
    if (__builtin_add_overflow(w->low, w->low_open != 0, &low->add) ||
        __builtin_add_overflow(w->high, w->high_open == 0, &high->add))
        return 0;

    return !__builtin_add_overflow(least, low->add, &sum) &&
           !__builtin_add_overflow(most, low->add, &sum) &&
           !__builtin_add_overflow(least, high->add, &sum) &&
           !__builtin_add_overflow(most, high->add, &sum);
}

/* For windows that do not reach past the rows with their own key: TALLY_TIES_ROW ends a window at
 * its row. */
static inline __attribute__((always_inline)) void whole_part(const job *j, const line given,
                                                             int descending, int64_t a, int64_t b,
                                                             const edge edges[2])
{
    const line *const l = &given;
    const int64_t n = l->n;
    const int row_ends = j->row_ends;
    const tally_dtype dtype = given.dtype;

    assert(!row_ends || !j->beyond);
    int64_t first = edges[0].place,
            stop = edges[1].place, *const start = j->start, *const end = j->end;

    for (int64_t p = a; p < b; p++) {
        const int64_t row = descending ? n - 1 - p : p, k = whole_at(l, dtype, p),
                      from_key = k + edges[0].add, stop_key = k + edges[1].add;
        while (first < n && whole_at(l, dtype, first) < from_key) first++;
        while (stop < n && whole_at(l, dtype, stop) < stop_key) stop++;
        int64_t from = descending ? n - stop : first, to = descending ? n - first : stop;
        if (row_ends && from <= row && to > row + 1) to = row + 1;
        if (from > to) from = to;
        start[row] = from;
        end[row] = to;
    }
}

static int64_t part(const job *j, int64_t a, int64_t b)
{
    const line *const l = &j->l;
    edge edges[2] = {{0, 0}, {0, 0}};
    if (is_whole(j, a, b, &edges[0], &edges[1])) {
        const key k = at(l, a);
        edges[0].place = halve(l, k, distance_of(l, j->w->low, 0, 0), j->w->low_open, 0);
        edges[1].place = halve(l, k, distance_of(l, j->w->high, 0, 0), j->w->high_open, 1);
        line copy = *l;
        copy.parts = NULL;

        if (l->dtype == TALLY_I64 && l->step == sizeof(int64_t) && !j->descending) {
            copy.step = sizeof(int64_t);
            copy.dtype = TALLY_I64;
            whole_part(j, copy, 0, a, b, edges);
        } else if (l->dtype == TALLY_I64) {
            copy.dtype = TALLY_I64;
            whole_part(j, copy, j->descending, a, b, edges);
        } else if (l->dtype == TALLY_I32) {
            copy.dtype = TALLY_I32;
            whole_part(j, copy, j->descending, a, b, edges);
        } else {
            copy.dtype = TALLY_U64;
            whole_part(j, copy, j->descending, a, b, edges);
        }

        return l->n;
    }

    switch (l->dtype) {
    case TALLY_I32:
        return part_of(j, TALLY_I32, a, b);
    case TALLY_I64:
        return part_of(j, TALLY_I64, a, b);
    case TALLY_U64:
        return part_of(j, TALLY_U64, a, b);
    default:
        return part_of(j, TALLY_F64, a, b);
    }
}

typedef struct {
    const job *j;
    int64_t parts, bad;
} parts_work;

static void one_part(void *data, int64_t k)
{
    parts_work *w = data;
    const int64_t n = w->j->l.n, each = n / w->parts;
    tl_atomic_least(&w->bad, part(w->j, each * k, k + 1 < w->parts ? each * (k + 1) : n));
}

static int64_t parts_of(int threads, const job *j)
{
    const int64_t n = j->l.n, parts = n / PART_LEAST + 1 < threads ? n / PART_LEAST + 1 : threads;
    parts_work w = {j, parts, n};
    tl_for(threads, parts, one_part, &w);
    return w.bad;
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
    const int64_t bad = j.row_ends && j.beyond ? parts_of(threads, &j) : j.l.n;
    if (bad < j.l.n) return bad;
    j.start = start;
    j.end = end;
    return parts_of(threads, &j);
}
