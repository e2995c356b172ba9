/* SPDX-License-Identifier: MIT
 * Windows over sorted keys. The rows whose keys lie in an interval are neighbours. Where the
 * interval is as far from every key, its ends move one way only, and each thread follows them
 * from row to row; where every row has an interval of its own, they are looked for by halving.
 * Descending keys are ascending ones read from the end. */
#include "bounds.h"
#include "context/threads.h"
#include <string.h>

enum { PART_LEAST = 1 << 14 };

/* A key, and a limit: of integers exact, whatever is added to a key of 64 bits. */
typedef struct {
    __int128 whole;
    double real;
} key;

/* The keys in ascending order: place p is row p, or row n - 1 - p. */
typedef struct {
    const char *data;
    int64_t n, step; /* bytes from one place to the next */
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
    return k;
}

/* -1, 0, 1: a is below, equal to, above b. 2: one is NaN. */
static inline int compare(const line *l, key a, key b)
{
    if (l->dtype != TALLY_F64) return (a.whole > b.whole) - (a.whole < b.whole);
    if (a.real != a.real || b.real != b.real) return 2;
    return (a.real > b.real) - (a.real < b.real);
}

static line line_of(const tally_view *keys, int descending)
{
    const int64_t step = keys->stride * (int64_t)tally_dtype_size(keys->dtype);
    const line l = {keys->data, keys->n, step, keys->dtype};
    if (!descending || keys->n == 0) return l;
    return (line){l.data + (keys->n - 1) * step, keys->n, -step, keys->dtype};
}

/* ---- order ---- */

typedef struct {
    const line *l;
    int64_t begin; /* of the first chunk; each has PART_LEAST keys */
    int wrong;     /* the order of neighbours that is not allowed */
    int64_t first; /* the first key out of order so far */
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

int64_t tl_bounds_order(int threads, const tally_view *keys, int *descending)
{
    const line l = line_of(keys, 0);
    int64_t i = 1;
    *descending = 0;
    if (l.n == 0) return 0;
    if (compare(&l, at(&l, 0), at(&l, 0)) == 2) return 0;
    while (i < l.n && compare(&l, at(&l, i - 1), at(&l, i)) == 0) i++;
    if (i == l.n) return l.n;
    /* of a key and the one after it */
    const int wrong = compare(&l, at(&l, i - 1), at(&l, i)) == 1 ? -1 : 1;
    *descending = wrong == -1;
    order_work all = {&l, i, wrong, l.n};
    tl_for(threads, (l.n - i + PART_LEAST - 1) / PART_LEAST, check_order, &all);
    return all.first;
}

/* ---- bounds ---- */

/* Is place p before the interval's first: below the limit, or at it and the limit is open? And
 * before the place after its last: not above the limit, nor at it if it is open? */
static inline int before_first(const line *l, int64_t p, key low, int open)
{
    const int order = compare(l, at(l, p), low);
    return order < 0 || (open && order == 0);
}
static inline int before_end(const line *l, int64_t p, key high, int open)
{
    const int order = compare(l, at(l, p), high);
    return order < 0 || (!open && order == 0);
}

static int64_t halve(const line *l, key limit, int open,
                     int (*before)(const line *, int64_t, key, int))
{
    int64_t low = 0, high = l->n;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (before(l, mid, limit, open))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static inline key moved(const line *l, key k, int64_t whole, double real)
{
    return l->dtype == TALLY_F64 ? (key){0, k.real + real} : (key){k.whole + whole, 0};
}

/* The rows of places a .. b - 1. `given` is *l, of a dtype that is a constant. */
static inline __attribute__((always_inline)) void part_of(const line given, tally_dtype dtype,
                                                          int descending, const tally_key_window *w,
                                                          int64_t a, int64_t b, int64_t *start,
                                                          int64_t *end)
{
    line own = given;
    const line *const l = &own;
    int64_t first = -1, stop = -1;
    own.dtype = dtype;
    for (int64_t p = a; p < b; p++) {
        const int64_t row = descending ? l->n - 1 - p : p;
        const key k = at(l, p), low = moved(l, k, w->lows ? w->lows[row] : w->low, w->low_real),
                  high = moved(l, k, w->highs ? w->highs[row] : w->high, w->high_real);
        if (first < 0 || w->lows) first = halve(l, low, w->low_open, before_first);
        if (stop < 0 || w->highs) stop = halve(l, high, w->high_open, before_end);
        while (first < l->n && before_first(l, first, low, w->low_open)) first++;
        while (stop < l->n && before_end(l, stop, high, w->high_open)) stop++;
        int64_t from = descending ? l->n - stop : first, to = descending ? l->n - first : stop;
        if (w->ties == TALLY_TIES_ROW && to > row + 1) to = row + 1;
        if (from > to) from = to; /* nothing: an empty range */
        start[row] = from;
        end[row] = to;
    }
}

/* ---- integer keys whose limits are numbers of 64 bits too ---- */

/* Keys as signed numbers in the same order: those of u64 less 2^63. */
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

/* An end of the interval is the first place whose key is not below key[p] + add; it is not
   before `place`. */
typedef struct {
    int64_t add, place;
} edge;

/* Is the interval the same for all rows, and no limit beyond 64 bits? low and high: what to add
   for the edges. */
static int is_whole(const line *l, const tally_key_window *w, int64_t a, int64_t b, edge *low,
                    edge *high)
{
    int64_t sum;
    if (l->dtype == TALLY_F64 || w->lows || w->highs || a >= b) return 0;
    const int64_t least = whole_at(l, l->dtype, a), most = whole_at(l, l->dtype, b - 1);
    if (__builtin_add_overflow(w->low, w->low_open != 0, &low->add) ||
        __builtin_add_overflow(w->high, w->high_open == 0, &high->add))
        return 0;
    return !__builtin_add_overflow(least, low->add, &sum) &&
           !__builtin_add_overflow(most, low->add, &sum) &&
           !__builtin_add_overflow(least, high->add, &sum) &&
           !__builtin_add_overflow(most, high->add, &sum);
}

static inline __attribute__((always_inline)) void
whole_part(const line given, tally_dtype dtype, int descending, const tally_key_window *w,
           int64_t a, int64_t b, edge low, edge high, int64_t *start, int64_t *end)
{
    const line *const l = &given;
    const int64_t n = l->n;
    const int row_ends = w->ties == TALLY_TIES_ROW;
    int64_t first = low.place, stop = high.place;
    for (int64_t p = a; p < b; p++) {
        const int64_t row = descending ? n - 1 - p : p, k = whole_at(l, dtype, p),
                      from_key = k + low.add, stop_key = k + high.add;
        while (first < n && whole_at(l, dtype, first) < from_key) first++;
        while (stop < n && whole_at(l, dtype, stop) < stop_key) stop++;
        int64_t from = descending ? n - stop : first, to = descending ? n - first : stop;
        if (row_ends && to > row + 1) to = row + 1;
        if (from > to) from = to;
        start[row] = from;
        end[row] = to;
    }
}

static void part(const line *l, int descending, const tally_key_window *w, int64_t a, int64_t b,
                 int64_t *start, int64_t *end)
{
    edge low = {0, 0}, high = {0, 0};
    if (is_whole(l, w, a, b, &low, &high)) {
        const key k = at(l, a);
        low.place = halve(l, moved(l, k, w->low, 0), w->low_open, before_first);
        high.place = halve(l, moved(l, k, w->high, 0), w->high_open, before_end);
        if (l->dtype == TALLY_I64 && l->step == sizeof(int64_t) && !descending)
            whole_part((line){l->data, l->n, sizeof(int64_t), TALLY_I64}, TALLY_I64, 0, w, a, b,
                       low, high, start, end);
        else if (l->dtype == TALLY_I64)
            whole_part(*l, TALLY_I64, descending, w, a, b, low, high, start, end);
        else if (l->dtype == TALLY_I32)
            whole_part(*l, TALLY_I32, descending, w, a, b, low, high, start, end);
        else
            whole_part(*l, TALLY_U64, descending, w, a, b, low, high, start, end);
        return;
    }
    switch (l->dtype) {
    case TALLY_I32:
        part_of(*l, TALLY_I32, descending, w, a, b, start, end);
        break;
    case TALLY_I64:
        part_of(*l, TALLY_I64, descending, w, a, b, start, end);
        break;
    case TALLY_U64:
        part_of(*l, TALLY_U64, descending, w, a, b, start, end);
        break;
    default:
        part_of(*l, TALLY_F64, descending, w, a, b, start, end);
        break;
    }
}

typedef struct {
    const line *l;
    int descending;
    const tally_key_window *w;
    int64_t *start, *end, parts;
} bounds_work;

static void bounds_part(void *data, int64_t k)
{
    const bounds_work *a = data;
    const int64_t n = a->l->n, each = n / a->parts;
    part(a->l, a->descending, a->w, each * k, k + 1 < a->parts ? each * (k + 1) : n, a->start,
         a->end);
}

void tl_bounds(int threads, const tally_view *keys, int descending, const tally_key_window *w,
               int64_t *start, int64_t *end)
{
    const line l = line_of(keys, descending);
    const int64_t parts = l.n / PART_LEAST + 1 < threads ? l.n / PART_LEAST + 1 : threads;
    bounds_work all = {&l, descending, w, start, end, parts};
    tl_for(threads, parts, bounds_part, &all);
}
