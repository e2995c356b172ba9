/* SPDX-License-Identifier: MIT
 * Sums as integers of 4608 bits, added a word at a time, divided and rounded bit by bit; operators
 * and data that make exact sums hard. Part of test_exact.c. */
#ifndef TALLY_TEST_EXACT_BITS_H
#define TALLY_TEST_EXACT_BITS_H
#include "check.h"

/* bit i is worth 2^(i - FRACTION - 2148) */
enum { FRACTION = 128, WORDS = 144, BITS = FRACTION + 32 * WORDS };
typedef struct {
    /* the sums of what is above and below 0, in units of 2^-2148 */
    uint32_t above[WORDS], below[WORDS];
    int64_t nan, plus, minus, count;
} exactly;

/* Adds m 2^at, m < 2^64. */
static void add_magnitude(uint32_t *w, uint64_t m, int at)
{
    unsigned __int128 rest = (unsigned __int128)m << (at & 31);
    for (int k = at >> 5; rest; k++) {
        rest += w[k];
        w[k] = (uint32_t)rest;
        rest >>= 32;
    }
}

static void take_in(exactly *e, tally_dtype d, const char *x)
{
    uint64_t bits = 0;
    const int bytes = (int)tally_dtype_size(d), width = d == TALLY_F64   ? 11
                                                        : d == TALLY_F16 ? 5
                                                                         : 8;
    const int mantissa = 8 * bytes - 1 - width, bias = (1 << (width - 1)) - 1;
    memcpy(&bits, x, (size_t)bytes);
    uint64_t m = bits & (((uint64_t)1 << mantissa) - 1),
             exponent = bits >> mantissa & ((1u << width) - 1);
    const int negative = (int)(bits >> (8 * bytes - 1));
    e->count++;
    if (exponent == (1u << width) - 1) {
        if (m)
            e->nan++;
        else if (negative)
            e->minus++;
        else
            e->plus++;
        return;
    }
    if (exponent) m |= (uint64_t)1 << mantissa;
    const int at = (int)(exponent ? exponent : 1) - bias - mantissa + 2148;
    add_magnitude(negative ? e->below : e->above, m, at);
}

static void put(uint64_t bits, tally_dtype out, void *to)
{
    const uint32_t narrow = (uint32_t)bits;
    if (out == TALLY_F64)
        memcpy(to, &bits, 8);
    else
        memcpy(to, &narrow, 4);
}

static void value_of(const exactly *e, const check_operator *o, void *to)
{
    const int wide = o->info.output == TALLY_F64, mantissa = wide ? 52 : 23, width = wide ? 11 : 8;
    const int skips = !strncmp(o->op, "nan", 3), mean = strstr(o->op, "mean") != NULL;
    const uint64_t infinity = (((uint64_t)1 << width) - 1) << mantissa,
                   sign = (uint64_t)1 << (mantissa + width);
    const int64_t n = e->count - (skips ? e->nan : 0);
    if ((mean && !n) || (e->nan && !skips) || (e->plus && e->minus)) {
        put(infinity | (uint64_t)1 << (mantissa - 1), o->info.output, to);
        return;
    }
    if (e->plus || e->minus) {
        put(infinity | (e->minus ? sign : 0), o->info.output, to);
        return;
    }
    static unsigned char bit[BITS + 1];
    const uint32_t *a = e->above, *b = e->below;
    int k = WORDS - 1, rest = 0;
    while (k >= 0 && a[k] == b[k]) k--;
    const int negative = k >= 0 && a[k] < b[k];
    if (negative) a = e->below, b = e->above;
    const int top = FRACTION + 32 * (k + 1); /* every bit from here on is 0 */
    memset(bit, 0, sizeof bit);
    int64_t borrow = 0;
    for (int i = 0; i <= k; i++) {
        const int64_t digit = (int64_t)a[i] - b[i] + borrow;
        borrow = digit < 0 ? -1 : 0;
        for (int j = 0; j < 32; j++) bit[FRACTION + 32 * i + j] = (unsigned char)(digit >> j & 1);
    }
    if (mean) {
        unsigned __int128 left = 0;
        for (int i = top - 1; i >= 0; i--) {
            left = left << 1 | bit[i];
            bit[i] = left >= (uint64_t)n;
            if (bit[i]) left -= (uint64_t)n;
        }
        rest = left != 0;
    }
    int first = top - 1;
    while (first >= 0 && !bit[first]) first--;
    const int least = FRACTION + 1074 + (wide ? 0 : 1074 - 149),
              last = first - mantissa > least ? first - mantissa : least;
    uint64_t m = 0;
    for (int i = first; i >= last; i--) m = m << 1 | bit[i];
    for (int i = last - 2; i >= 0; i--) rest |= bit[i];
    if (bit[last - 1] && (rest || (m & 1))) m++;
    uint64_t result = m + ((uint64_t)(last - least) << mantissa);
    if (result > infinity || last - least > 1 << width) result = infinity;
    put(result | (negative && result ? sign : 0), o->info.output, to);
}

/* The reduction of n elements that are `stride` apart. */
static void reference(const check_operator *o, const char *x, int64_t stride, int64_t n, void *to)
{
    exactly e;
    memset(&e, 0, sizeof e);
    for (int64_t i = 0; i < n; i++) take_in(&e, o->dtype, x + i * stride * o->bytes);
    value_of(&e, o, to);
}

static void take_pair(exactly *e, double x, double y)
{
    e->count++;
    if (x != x || y != y) {
        e->nan++;
    } else if (isinf(x) || isinf(y)) {
        const int none = x == 0 || y == 0, minus = !signbit(x) != !signbit(y);
        e->plus += none || !minus;
        e->minus += none || minus;
    } else if (x != 0 && y != 0) {
        int ex, ey;
        /* an integer of 53 bits, times 2^-53 */
        const double mx = frexp(fabs(x), &ex), my = frexp(fabs(y), &ey);
        const unsigned __int128 m =
            (unsigned __int128)(uint64_t)ldexp(mx, 53) * (uint64_t)ldexp(my, 53);
        uint32_t *to = signbit(x) != signbit(y) ? e->below : e->above;
        for (int b = 0; b < 106; b++)
            if (m >> b & 1) add_magnitude(to, 1, ex + ey - 106 + b + 2148);
    }
}

/* Is element number `place` there? */

/* ---- operators and data that make exact sums hard ---- */

static const tally_dtype dtypes[] = {TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64};
static const char *const forms[] = {"sum:exact",     "mean:exact",    "nansum:exact",
                                    "nanmean:exact", "sum:exact:f64", "mean:f64:exact"};
enum {
    FORMS = sizeof forms / sizeof *forms,
    MOST = 40000,
    KINDS = TL_DATA_KINDS + 6,
    LARGE_PAIRS = KINDS - 2
};

static uint64_t bits_at(const char *x, int64_t bytes)
{
    uint64_t v = 0;
    memcpy(&v, x, (size_t)bytes);
    return v;
}

/* n elements: what check_fill makes, or pairs that cancel among tiny ones; one exponent; the
 * largest numbers; subnormals; numbers near 1, and a few large ones that soon cancel; all
 * exponents, but no NaN or infinity. */
static void fill(char *x, tally_dtype d, int64_t n, int kind)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d);
    const int width = d == TALLY_F64   ? 11
                      : d == TALLY_F16 ? 5
                                       : 8,
              mantissa = 8 * (int)bytes - 1 - width;
    const uint64_t top = ((uint64_t)1 << width) - 1, sign = (uint64_t)1 << (8 * bytes - 1);
    check_fill(x, d, n, kind < TL_DATA_KINDS ? (tl_data)kind : TL_DATA_BITS);
    for (int64_t i = 0; i < n && kind >= TL_DATA_KINDS; i++) {
        uint64_t v = bits_at(x + i * bytes, bytes), m = v & (((uint64_t)1 << mantissa) - 1),
                 e = v >> mantissa & top;
        switch (kind - TL_DATA_KINDS) {
        case 0:
            if (i & 1) v = check_below(4) ? bits_at(x + (i - 1) * bytes, bytes) ^ sign : m;
            if ((v >> mantissa & top) == top) v = m;
            break;
        case 1:
            v = (v & sign) | top / 2 << mantissa | m;
            break;
        case 2:
            v = (v & sign) | ((top - 1) << mantissa) | m;
            break;
        case 3:
            v = (v & sign) | m;
            break;
        /* large: registers that expect numbers near 1 lose bits, but end as if nothing had been */
        case 4: {
            const uint64_t far = top / 2 + 5 + (uint64_t)check_below(d == TALLY_F16 ? 9 : 90);
            v = (v & sign) | (top / 2 - (uint64_t)check_below(3)) << mantissa | m;
            if (i > 64 && i % 32 == 0 &&
                check_below(2)) { /* 32: the same lane of the same register, on most machines */
                const uint64_t large = far << mantissa;
                memcpy(x + (i - 32) * bytes, &large, (size_t)bytes);
                v = large | sign;
            }
            break;
        }
        default:
            v = (v & sign) | (e == top ? 0 : e) << mantissa | m;
            break;
        }
        memcpy(x + i * bytes, &v, (size_t)bytes);
    }
    for (int64_t i = n - 1; i > 0 && kind == TL_DATA_KINDS; i--) { /* the pairs part */
        const int64_t j = check_below(i + 1);
        const uint64_t a = bits_at(x + i * bytes, bytes), b = bits_at(x + j * bytes, bytes);
        memcpy(x + i * bytes, &b, (size_t)bytes);
        memcpy(x + j * bytes, &a, (size_t)bytes);
    }
}

static char data[MOST * 8 + 64], got[MOST * 8 + 64], want[MOST * 8 + 64];

static check_operator pick(const char *form, tally_dtype d)
{
    check_operator o;
    snprintf(o.op, sizeof o.op, "%s", form);
    o.dtype = d;
    check(!tally_operator(NULL, o.op, d, &o.info), "%s: %s", form, tally_error(NULL));
    o.bytes = (int64_t)tally_dtype_size(d);
    o.result = (int64_t)tally_dtype_size(o.info.output);
    return o;
}
#endif
