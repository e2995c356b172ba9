/* SPDX-License-Identifier: MIT
 * Windows along keys beside integers of 128 bits: a row is in a window if its distance lies in the
 * interval, and nothing is rounded. Keys of every type at the ends of their range, decimals,
 * doubles of any size and infinite ones; equal, rising and falling; every closed side, both
 * ties, limits that reach anywhere; a window that is not one range is refused by its row.
 * test_spans.sh does the same on the command line. */
#include "check.h"
#include <math.h>

enum { MOST = 40, LONG = 40000 };
typedef __int128 wide;

/* Keys as the call takes them, and as integers of one unit. */
typedef struct {
    tally_dtype dtype;
    int64_t n;
    union {
        int32_t narrow[MOST];
        int64_t whole[MOST];
        double real[MOST];
    } data;
    int64_t parts[MOST], lows[MOST], highs[MOST];
    wide exact[MOST], low[MOST], high[MOST];
    tally_key_window w;
} problem;

static wide random_below(wide n) /* 0 .. n - 1 */
{
    const wide r = (wide)(((unsigned __int128)check_random() << 63 | check_random() >> 1) >> 1);
    return n > 0 ? r % n : 0;
}

static int by_value(const void *a, const void *b)
{
    const wide x = *(const wide *)a, y = *(const wide *)b;
    return (x > y) - (x < y);
}

/* Sorted numbers from least to most: near one of the ends, or anywhere, often equal. */
static void sorted(problem *p, wide least, wide most, wide step, int falls)
{
    const wide from = check_below(2)   ? least
                      : check_below(2) ? most - (wide)p->n * step
                                       : least + random_below(most - least);
    for (int64_t i = 0; i < p->n; i++) {
        wide k = from + (wide)check_below(p->n) * (check_below(3) ? step : step / 2);
        if (step == 0) k = least + random_below(most - least + 1);
        p->exact[i] = k < least ? least : k > most ? most : k;
    }
    qsort(p->exact, (size_t)p->n, sizeof *p->exact, by_value);
    for (int64_t i = 0; falls && i < p->n / 2; i++) {
        const wide k = p->exact[i];
        p->exact[i] = p->exact[p->n - 1 - i];
        p->exact[p->n - 1 - i] = k;
    }
}

/* A limit: 0, the distance of two keys, near it, or anything. */
static wide limit(const problem *p, wide most)
{
    const wide far = p->exact[check_below(p->n)] - p->exact[check_below(p->n)];
    const wide l = check_below(5) == 0 ? 0
                   : check_below(3)    ? far + check_below(3) - 1
                   : check_below(2)    ? far
                                       : random_below(most) * (1 - 2 * check_below(2));
    return l > most ? most : l < -most ? -most : l;
}

static void floor_parts(wide units, int64_t *whole, int64_t *part)
{
    wide w = units / TALLY_KEY_PART, r = units % TALLY_KEY_PART;
    if (r < 0) r += TALLY_KEY_PART, w--;
    *whole = (int64_t)(uint64_t)w;
    *part = (int64_t)r;
}

/* ---- problems ---- */

static void options(problem *p)
{
    p->w = (tally_key_window){.low_open = (int)check_below(2),
                              .high_open = (int)check_below(2),
                              .ties = (tally_ties)check_below(2)};
}

static void integers(problem *p, int falls)
{
    static const tally_dtype types[] = {TALLY_I32, TALLY_I64, TALLY_U64};
    p->dtype = types[check_below(3)];
    const wide least = p->dtype == TALLY_I32   ? INT32_MIN
                       : p->dtype == TALLY_I64 ? INT64_MIN
                                               : 0,
               most = p->dtype == TALLY_I32   ? INT32_MAX
                      : p->dtype == TALLY_I64 ? INT64_MAX
                                              : UINT64_MAX;
    const wide steps[] = {1, 3, 0, (most - least) / MOST};
    options(p);
    sorted(p, least, most, steps[check_below(4)], falls);
    const int each = check_below(4) == 0;
    if (each) p->w.lows = p->lows, p->w.highs = p->highs;
    for (int64_t i = 0; i < p->n; i++) {
        if (p->dtype == TALLY_I32) p->data.narrow[i] = (int32_t)p->exact[i];
        if (p->dtype != TALLY_I32) p->data.whole[i] = (int64_t)(uint64_t)p->exact[i];
        p->low[i] = i && !each ? p->low[0] : limit(p, INT64_MAX);
        p->high[i] = i && !each ? p->high[0] : limit(p, INT64_MAX);
        p->lows[i] = (int64_t)p->low[i];
        p->highs[i] = (int64_t)p->high[i];
    }
    p->w.low = p->lows[0];
    p->w.high = p->highs[0];
    if (each || check_below(3)) return;
    /* limits that are no integers; the keys as units of their parts */
    for (int64_t i = 0; i < p->n; i++) {
        p->exact[i] *= TALLY_KEY_PART;
        p->low[i] = i ? p->low[0] : p->low[0] * TALLY_KEY_PART + check_below(TALLY_KEY_PART);
        p->high[i] = i ? p->high[0] : p->high[0] * TALLY_KEY_PART + check_below(TALLY_KEY_PART);
    }
    floor_parts(p->low[0], &p->w.low, &p->w.low_part);
    floor_parts(p->high[0], &p->w.high, &p->w.high_part);
}

static void decimals(problem *p, int falls)
{
    p->dtype = check_below(2) ? TALLY_I64 : TALLY_U64;
    const wide least = p->dtype == TALLY_U64 ? 0 : (wide)INT64_MIN * TALLY_KEY_PART,
               most = (p->dtype == TALLY_U64 ? (wide)UINT64_MAX : INT64_MAX) * TALLY_KEY_PART +
                      TALLY_KEY_PART - 1;
    const wide steps[] = {1, TALLY_KEY_PART / 10, TALLY_KEY_PART, 0};
    options(p);
    sorted(p, least, most, steps[check_below(4)], falls);
    const wide far = (wide)INT64_MAX * TALLY_KEY_PART, low = limit(p, far), high = limit(p, far);
    for (int64_t i = 0; i < p->n; i++) {
        floor_parts(p->exact[i], &p->data.whole[i], &p->parts[i]);
        p->low[i] = low;
        p->high[i] = high;
    }
    p->w.parts = p->parts;
    floor_parts(low, &p->w.low, &p->w.low_part);
    floor_parts(high, &p->w.high, &p->w.high_part);
}

/* Doubles that are integers of up to 53 bits times a power of two, 2^-20 to 2^40. Infinity is so
 * far from all others that no finite limit reaches it. */
static const wide infinite = (wide)1 << 123, infinite_limit = (wide)1 << 122;

static wide of_real(double x)
{
    return isinf(x) ? (x > 0 ? infinite : -infinite) : (wide)ldexp(x, 20);
}

static double random_real(void)
{
    const int bits = (int)check_below(54), up = (int)check_below(61) - 20;
    const double x = ldexp((double)(check_random() >> (63 - bits) >> 1), up);
    return check_below(2) ? x : -x;
}

static int by_real(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double real_limit(const problem *p)
{
    if (check_below(8) == 0) return check_below(2) ? INFINITY : -INFINITY;
    const double a = p->data.real[check_below(p->n)], b = p->data.real[check_below(p->n)];
    const double far = a - b;
    return check_below(6) == 0 ? 0 : check_below(3) && isfinite(far) ? far : random_real();
}

static void reals(problem *p, int falls)
{
    p->dtype = TALLY_F64;
    options(p);
    const double base = check_below(2) ? random_real() : 0;
    for (int64_t i = 0; i < p->n; i++) {
        double x = check_below(2) ? base + (double)check_below(4) : random_real();
        if (check_below(9) == 0) x = check_below(2) ? INFINITY : -INFINITY;
        p->data.real[i] = i && check_below(3) == 0 ? p->data.real[i - 1] : x;
    }
    qsort(p->data.real, (size_t)p->n, sizeof(double), by_real);
    for (int64_t i = 0; falls && i < p->n / 2; i++) {
        const double x = p->data.real[i];
        p->data.real[i] = p->data.real[p->n - 1 - i];
        p->data.real[p->n - 1 - i] = x;
    }
    p->w.low_real = real_limit(p);
    p->w.high_real = real_limit(p);
    for (int64_t i = 0; i < p->n; i++) {
        p->exact[i] = of_real(p->data.real[i]);
        p->low[i] = of_real(p->w.low_real);
        p->high[i] = of_real(p->w.high_real);
    }
}

/* ---- the answer ---- */

/* Infinite keys are infinitely far from others, wherever these are. */
static wide distance(const problem *p, int64_t i, int64_t j)
{
    const wide d = p->exact[j] - p->exact[i];
    return p->dtype != TALLY_F64 ? d
           : d > infinite_limit  ? infinite
           : d < -infinite_limit ? -infinite
                                 : d;
}

static int is_inside(const problem *p, int64_t i, int64_t j)
{
    const wide d = distance(p, i, j), low = p->low[i], high = p->high[i];
    if (d < low || d > high || (p->w.low_open && d == low) || (p->w.high_open && d == high))
        return 0;
    return p->w.ties == TALLY_TIES_ALL || j <= i || d != 0;
}

/* The rows of row i's window, first .. end - 1 (0 .. 0: none). 0: they are not one range. */
static int wanted(const problem *p, int64_t i, int64_t *first, int64_t *end)
{
    int64_t count = 0;
    *first = *end = 0;
    for (int64_t j = 0; j < p->n; j++) {
        if (!is_inside(p, i, j)) continue;
        if (!count++) *first = j;
        *end = j + 1;
    }
    return *end - *first == count;
}

static void solve(tally *ctx, const problem *p, const char *kind)
{
    int64_t start[MOST], end[MOST], first, stop, hole = p->n;
    const tally_view keys = tally_flat((void *)(uintptr_t)&p->data, p->dtype, p->n);
    for (int64_t i = 0; i < MOST; i++) start[i] = end[i] = -7;
    const tally_status status = tally_window_bounds(ctx, &keys, &p->w, start, end);
    for (int64_t i = p->n - 1; i >= 0; i--)
        if (!wanted(p, i, &first, &stop)) hole = i;
    if (hole < p->n) {
        char words[100];
        snprintf(words, sizeof words, "ties is 1 (row): rows %lld and %lld have the key ",
                 (long long)hole, (long long)hole + 1);
        check(status == TALLY_INVALID && strstr(tally_error(ctx), words) && start[0] == -7 &&
                  end[p->n - 1] == -7,
              "%s: a window that is not one range: %s, not '%s'", kind, tally_error(ctx), words);
        return;
    }
    if (!check_ok(ctx, status, kind)) return;
    for (int64_t i = 0; i < p->n; i++) {
        wanted(p, i, &first, &stop);
        const int none = first == stop;
        const int good = none ? start[i] == end[i] && start[i] >= 0 && end[i] <= p->n
                              : start[i] == first && end[i] == stop;
        if (!check(good,
                   "%s %s row %lld of %lld: %lld..%lld, not %lld..%lld (open %d %d ties %d, low "
                   "%lld + %lld, %g high %lld + %lld, %g)",
                   kind, tally_dtype_name(p->dtype), (long long)i, (long long)p->n,
                   (long long)start[i], (long long)end[i], (long long)first, (long long)stop,
                   p->w.low_open, p->w.high_open, (int)p->w.ties, (long long)p->w.low,
                   (long long)p->w.low_part, p->w.low_real, (long long)p->w.high,
                   (long long)p->w.high_part, p->w.high_real))
            break;
    }
}

/* ---- some cases by hand ---- */

static void rows(tally *ctx, const tally_view *keys, const tally_key_window *w,
                 const int64_t *start, const int64_t *end, const char *what)
{
    int64_t from[8], to[8];
    check_ok(ctx, tally_window_bounds(ctx, keys, w, from, to), what);
    check_same(from, start, keys->n, 8, "%s: start", what);
    check_same(to, end, keys->n, 8, "%s: end", what);
}

static void by_hand(tally *ctx)
{
    static int64_t five[] = {0, 1, 1, 2, 3}, falling[] = {1000, 925, 850, 500};
    static uint64_t large[] = {UINT64_MAX - 2, UINT64_MAX - 1, UINT64_MAX};
    static double big[] = {0x1p64, 0x1.0000000000001p64}, all[] = {-INFINITY, -1, 2, INFINITY};
    const tally_view ties = tally_flat(five, TALLY_I64, 5),
                     down = tally_flat(falling, TALLY_I64, 4), up = tally_flat(large, TALLY_U64, 3),
                     reals = tally_flat(big, TALLY_F64, 2), ends = tally_flat(all, TALLY_F64, 4);
#define LIST(...) (const int64_t[]){__VA_ARGS__}
    tally_key_window w = {.low = -1, .high = 0, .ties = TALLY_TIES_ROW};
    rows(ctx, &ties, &w, LIST(0, 0, 0, 1, 3), LIST(1, 2, 3, 4, 5), "ties row");
    w = (tally_key_window){.low = 0, .high = 1, .low_open = 1, .ties = TALLY_TIES_ROW};
    rows(ctx, &ties, &w, LIST(1, 3, 3, 4, 5), LIST(3, 4, 4, 5, 5), "other keys stay");
    w = (tally_key_window){.low = -500, .low_open = 1, .ties = TALLY_TIES_ROW};
    rows(ctx, &down, &w, LIST(0, 1, 2, 3), LIST(3, 4, 4, 4), "falling keys");
    w = (tally_key_window){.low = -2, .low_open = 1, .ties = TALLY_TIES_ROW};
    rows(ctx, &up, &w, LIST(0, 0, 1), LIST(1, 2, 3), "u64");
    w = (tally_key_window){.low_real = -1, .low_open = 1};
    rows(ctx, &reals, &w, LIST(0, 1), LIST(1, 2), "a row is in its own window");
    w = (tally_key_window){.low_real = -INFINITY, .high_real = 0};
    rows(ctx, &ends, &w, LIST(0, 0, 0, 0), LIST(1, 2, 3, 4), "all before");
    w.low_open = 1;
    rows(ctx, &ends, &w, LIST(0, 1, 1, 3), LIST(1, 2, 3, 4), "infinitely far is outside");
    w = (tally_key_window){.low_real = -3, .high_real = 3};
    rows(ctx, &ends, &w, LIST(0, 1, 1, 3), LIST(1, 3, 3, 4), "infinite keys are near themselves");
    w = (tally_key_window){.low_real = INFINITY, .high_real = INFINITY};
    rows(ctx, &ends, &w, LIST(1, 3, 3, 4), LIST(4, 4, 4, 4), "infinitely far alone");
#undef LIST
}

static void refused(tally *ctx, tally_dtype d, const tally_key_window *w, const char *words)
{
    static int64_t zeros[4];
    int64_t start[4], end[4];
    const tally_view keys = tally_flat(zeros, d, 4);
    check(tally_window_bounds(ctx, &keys, w, start, end) == TALLY_INVALID &&
              strstr(tally_error(ctx), words),
          "'%s', not '%s'", tally_error(ctx), words);
}

static void errors(tally *ctx)
{
    int64_t parts[] = {0, 5, TALLY_KEY_PART, 0};
    refused(ctx, TALLY_I64, &(tally_key_window){.parts = parts},
            "parts[2] is 1000000000000000000: must be in 0..10^18 - 1");
    refused(ctx, TALLY_I64, &(tally_key_window){.low_part = -1}, "low_part is -1");
    refused(ctx, TALLY_I32, &(tally_key_window){.high_part = TALLY_KEY_PART}, "high_part is 1000");
    refused(ctx, TALLY_F64, &(tally_key_window){.high_part = 1}, "high_part: keys of f64");
    refused(ctx, TALLY_F64, &(tally_key_window){.high_real = NAN}, "high_real is NaN");
    parts[2] = 6;
    refused(ctx, TALLY_I64, &(tally_key_window){.parts = parts},
            "keys: row 3 is 0, after 0.000000000000000006: keys must be numbers that ascend");
}

/* Long sequences on several threads, where a part begins in the middle of equal keys: of integers
 * (k - 30, k] is [k - 29.5, k], which other code finds. */
static void threads(tally *ctx, int falls)
{
    static int64_t keys[LONG], from[LONG], to[LONG], start[LONG], end[LONG];
    int64_t k = 0;
    for (int64_t i = 0; i < LONG; i++) {
        const int equal = i > LONG / 4 && i < LONG / 2;
        k += equal || check_below(3) ? 0 : check_below(400) ? 1 : 60;
        keys[falls ? LONG - 1 - i : i] = k;
    }
    const tally_view v = tally_flat(keys, TALLY_I64, LONG);
    const int64_t half = TALLY_KEY_PART / 2;
    for (int ties = 0; ties < 2; ties++) {
        tally_key_window w = {.low = -30, .low_open = 1, .ties = (tally_ties)ties},
                         other = {.low = -30, .low_part = half, .ties = (tally_ties)ties};
        if (falls) {
            w = (tally_key_window){.high = 30, .high_open = 1, .ties = (tally_ties)ties};
            other = (tally_key_window){.high = 29, .high_part = half, .ties = (tally_ties)ties};
        }
        check_ok(ctx, tally_window_bounds(ctx, &v, &w, from, to), "open");
        check_ok(ctx, tally_window_bounds(ctx, &v, &other, start, end), "with parts");
        check_same(from, start, LONG, 8, "starts, falls %d ties %d", falls, ties);
        check_same(to, end, LONG, 8, "ends, falls %d ties %d", falls, ties);
        const int64_t row = falls ? LONG * 2 / 3 : LONG / 3; /* among the equal keys */
        check(ties ? to[row] == row + 1 : to[row] > row + 1, "ties %d, falls %d", ties, falls);
    }
}

int main(void)
{
    static problem p;
    check_start();
    for (int t = 1; t <= 3; t += 2) {
        tally *ctx = check_open(t, NULL);
        for (int k = 0; k < 3000; k++) {
            p = (problem){.n = 1 + check_below(check_below(3) ? MOST : 6)};
            const int falls = (int)check_below(2);
            if (k % 3 == 0) integers(&p, falls);
            if (k % 3 == 1) decimals(&p, falls);
            if (k % 3 == 2) reals(&p, falls);
            solve(ctx, &p, k % 3 == 0 ? "integers" : k % 3 == 1 ? "decimals" : "reals");
        }
        by_hand(ctx);
        errors(ctx);
        for (int falls = 0; falls < 2; falls++) threads(ctx, falls);
        tally_close(ctx);
    }
    return check_finish();
}
