/* SPDX-License-Identifier: MIT
 * Exact sums: carries, and the value:
 *
 *   bins --carries--> digits of |sum| --quotient, if it is one--> rounded once to f32 or f64
 *
 * Statistics are quotients of integers, rounded once. No difference of two sums loses a digit, so a
 * mean of 1e8 beside a spread of 1 does no harm. The exact operators are rows: an instance for each
 * element type and result type. */
#include "exact.h"
#include <math.h>
#include <stdio.h>

void tl_statistic_nan(tally_dtype dtype, void *value)
{
    const uint64_t wide = 0x7ff8000000000000u;
    const uint32_t narrow = 0x7fc00000;
    memcpy(value, dtype == TALLY_F64 ? (const void *)&wide : &narrow, tally_dtype_size(dtype));
}

/* The rounded quotient a / b of two sums that may be infinite or NaN. */
static void divide(double a, double b, tally_dtype dtype, void *value)
{
    const double ratio = a / b;
    if (ratio != ratio)
        tl_statistic_nan(dtype, value);
    else if (dtype == TALLY_F64)
        memcpy(value, &ratio, sizeof ratio);
    else
        memcpy(value, &(float){(float)ratio}, sizeof(float));
}

/* r = n Sab - Sa Sb. */
static void spread(const tl_number *a, const tl_number *b, const tl_number *ab, int64_t n,
                   tl_number *r)
{
    tl_number t;
    tl_number_of_integer(&t, (uint64_t)n);
    tl_number_multiply(r, ab, &t);
    tl_number_multiply(&t, a, b);
    tl_number_subtract(r, &t);
}

/* r = n (n - ddof), without rounding. */
static void divisor(int64_t n, double ddof, tl_number *r)
{
    tl_number total, less;
    int exponent;
    const double part = frexp(ddof, &exponent);
    tl_number_of_integer(&total, (uint64_t)n);
    tl_number_of_integer(&less, (uint64_t)ldexp(part, 53));
    less.exponent = exponent - 53;
    tl_number rest = total;
    tl_number_subtract(&rest, &less);
    tl_number_multiply(r, &total, &rest);
}

/* The fraction a / b. For a root, a has the sign of the result. */
static void fraction(tl_quotient what, const tl_number *sum, int64_t n, double ddof, tl_number *a,
                     tl_number *b)
{
    const tl_number *const x = &sum[0], *const y = &sum[1], *const xx = &sum[2],
                           *const yy = &sum[3], *const xy = &sum[4];
    tl_number c, t;

    if (what == TL_XY_OVER_Y) {
        *a = *xy, *b = *y;
        a->negative ^= b->negative && a->size;
        b->negative = 0;
        return;
    }

    if (what == TL_B_OVER)
        spread(x, x, xx, n, a);
    else
        spread(x, y, xy, n, a);

    if (what == TL_B_OVER || what == TL_A_OVER) {
        divisor(n, ddof, b);
        return;
    }

    spread(x, x, xx, n, b);
    if (what == TL_A_OVER_B) return;

    const int negative = a->negative;
    c = *a;
    tl_number_multiply(a, &c, &c);
    a->negative = negative;
    c = *b;
    spread(y, y, yy, n, &t);
    tl_number_multiply(b, &c, &t);
}

/* A quotient of the sums of n rows; sum[k] belongs to bit k of what.needs. 0, and nothing is
 * written, if there is no value: n <= ddof, a denominator is 0, or the sums are not of the same
 * rows. */
static int value_of(tl_statistic what, const tl_number *sum, int64_t n, double ddof,
                    tally_dtype dtype, void *value)
{
    tl_number a, b;
    assert(what.quotient != TL_OVER_COUNT && ddof >= 0);
    if (what.quotient == TL_ALONE) {
        a = sum[__builtin_ctz(what.needs)];
        tl_number_of_integer(&b, 1);
    } else {
        if ((double)n <= ddof || n <= 0) return 0;
        fraction(what.quotient, sum, n, ddof, &a, &b);
    }

    const int square = what.quotient == TL_B_OVER || (what.quotient == TL_ALONE && what.root);
    if (!b.size || b.negative || (square && a.negative)) return 0;

    tl_ratio(&a, &b, what.root, dtype, value);
    return 1;
}

/* ---- the operators ---- */

/* NARROW: floats below f64 have instances with the result f32 too. INTEGERS: integers have some. */
enum { NARROW = 1, INTEGERS = 2 };

static const struct operator_row {
    const char *name, *what;
    tl_statistic formula;
    int kinds;
} operators[] = {
    {"sum", "sum", {TL_X, TL_ALONE, 0}, NARROW},
    {"mean", "mean", {TL_X, TL_OVER_COUNT, 0}, NARROW | INTEGERS},
    {"dot", "sum of the real products x y", {TL_XY, TL_ALONE, 0}, NARROW},
    {"wmean", "mean of x with weights y", {TL_Y | TL_XY, TL_XY_OVER_Y, 0}, NARROW | INTEGERS},
    {"sumsq", "sum of squares", {TL_XX, TL_ALONE, 0}, INTEGERS},
    {"norm", "root of the sum of squares", {TL_XX, TL_ALONE, 1}, INTEGERS},
    {"var", "variance, divided by n - ddof", {TL_X | TL_XX, TL_B_OVER, 0}, INTEGERS},
    {"std", "standard deviation, divided by n - ddof", {TL_X | TL_XX, TL_B_OVER, 1}, INTEGERS},
    {"cov",
     "covariance of x and y, divided by n - ddof",
     {TL_X | TL_Y | TL_XY, TL_A_OVER, 0},
     INTEGERS},
    {"corr", "correlation of x and y", {(1 << TL_SUMS) - 1, TL_A_OVER_BC, 1}, INTEGERS},
    {"slope", "slope of y by x", {TL_X | TL_Y | TL_XX | TL_XY, TL_A_OVER_B, 0}, INTEGERS},
};

enum { OPERATORS = sizeof operators / sizeof *operators };

/* Each operator and then its nan form. name: as in "nansum:exact". form: by the result, f32 or f64,
 * and by the type of the elements; without a file where there is no such instance. */
static struct {
    char name[16], what[80];
    tl_exact_form form[2][TALLY_F64 + 1];
} rows[2 * OPERATORS];

static void zero_f32(tl_par p, void *out) { memset(out, 0, 4); }
static void zero_f64(tl_par p, void *out) { memset(out, 0, 8); }
static void nan_f32(tl_par p, void *out) { tl_statistic_nan(TALLY_F32, out); }
static void nan_f64(tl_par p, void *out) { tl_statistic_nan(TALLY_F64, out); }

static tl_exact_form make_form(int row, tally_dtype dtype, int wide)
{
    const struct operator_row *const o = &operators[row / 2];
    const tl_statistic f = o->formula;
    const tally_dtype out = wide ? TALLY_F64 : TALLY_F32;
    const int real = dtype >= TALLY_F16, alone = f.quotient == TL_ALONE;
    const int exists =
        wide ? real || o->kinds & INTEGERS : real && dtype != TALLY_F64 && o->kinds & NARROW;
    return (tl_exact_form){
        .scalar = {.file = exists ? rows[row].name : NULL,
                   .dtype = dtype,
                   .acc = out,
                   .out = out,
                   .lanes = 1,
                   .inputs = f.needs & (TL_Y | TL_YY | TL_XY) ? 2 : 1,
                   .elem_bytes = (uint8_t)tally_dtype_size(dtype),
                   .result_bytes = (uint8_t)tally_dtype_size(out),
                   .exact = 1,
                   .masked = row % 2,
                   .seedable = alone && (f.needs == TL_X || f.needs == TL_XY),
                   .empty = alone  ? wide ? zero_f64 : zero_f32
                            : wide ? nan_f64
                                   : nan_f32},
        .what = f,
        .sums = (uint8_t)__builtin_popcount(f.needs),
        .whole = dtype == TALLY_I64   ? 1
                 : dtype == TALLY_U64 ? 2
                                      : 0,
    };
}

static __attribute__((constructor)) void make_rows(void)
{
    for (int r = 0; r < 2 * OPERATORS; r++) {
        const struct operator_row *const o = &operators[r / 2];
        snprintf(rows[r].name, sizeof rows[r].name, "%s%s:exact", r % 2 ? "nan" : "", o->name);
        snprintf(rows[r].what, sizeof rows[r].what, "the real %s%s, rounded once", o->what,
                 r % 2 ? " without NaN" : "");
        for (int d = TALLY_I8; d <= TALLY_F64; d++)
            for (int wide = 0; wide < 2; wide++)
                rows[r].form[wide][d] = make_form(r, (tally_dtype)d, wide);
    }
}

const tl_scalar *tl_exact_find(const char *name, size_t length, tally_dtype dtype, tally_dtype acc,
                               const char **what, const char **none)
{
    for (int r = 0; r < 2 * OPERATORS; r++) {
        if (strcspn(rows[r].name, ":") != length || memcmp(rows[r].name, name, length)) continue;
        if (what) *what = rows[r].what;
        if (none) *none = operators[r / 2].formula.quotient == TL_ALONE ? "0" : "NaN";
        for (int wide = acc == TALLY_F64; wide < 2; wide++)
            if (rows[r].form[wide][dtype].scalar.file) return &rows[r].form[wide][dtype].scalar;
    }

    return NULL;
}

const tl_scalar *tl_exact_common(tally_dtype dtype, int inputs)
{
    return tl_exact_find(inputs == 2 ? "dot" : "sum", 3, dtype, TALLY_F64, NULL, NULL);
}

void tl_exact_carry(tl_exact *e)
{
    tl_wide_int carry = 0;
    e->waiting = 0;
    if (e->low > e->high) return;

    for (int k = e->low;; k++) {
        carry += e->bin[k];

        /* The last bin keeps its sign, so no bin above it is needed for a negative sum. */
        if (k == TL_EXACT_BINS - 1 || (k >= e->high && carry >> 33 == carry >> 127)) {
            e->bin[k] = carry;
            if (k > e->high) e->high = k;
            return;
        }

        e->bin[k] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Counts that a caller supplies may have any value, so they wrap. */
static void count(int64_t *to, int64_t more, int sign)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)sign * (uint64_t)more);
}

void tl_exact_join(tl_exact *to, const tl_exact *from, int sums, int sign)
{
    assert(to != from && (sign == 1 || sign == -1));
    for (const tl_exact *const end = from + sums; from < end; from++, to++) {
        tl_exact_carry(to);
        for (int k = from->low; k <= from->high; k++) to->bin[k] += sign * from->bin[k];
        if (from->low < to->low) to->low = from->low;
        if (from->high > to->high) to->high = from->high;
        count(&to->plus, from->plus, sign);
        count(&to->minus, from->minus, sign);
        count(&to->nan, from->nan, sign);
        count(&to->count, from->count, sign);
        tl_exact_carry(to);
    }
}

void tl_exact_pair(tl_exact *e, double x, double y, int64_t sign)
{
    int64_t part[2];
    int at, negative;
    const int what = tl_exact_product(x, y, part, &at, &negative);
    if (__builtin_expect(what, 0)) {
        if (what & TL_IS_NAN) e->nan += sign;
        if (what & TL_IS_PLUS) e->plus += sign;
        if (what & TL_IS_MINUS) e->minus += sign;
        return;
    }
    negative ^= sign < 0;
    tl_exact_put(e, negative ? -part[0] : part[0], at);
    tl_exact_put(e, negative ? -part[1] : part[1], at + 53);
}

void tl_exact_row(tl_exact *e, int needs, double x, double y, int64_t sign)
{
    if (__builtin_expect(x != x || y != y, 0)) {
        e->nan += sign;
        return;
    }
    if (needs & TL_X) tl_exact_element(e++, x, sign);
    if (needs & TL_Y) tl_exact_element(e++, y, sign);
    if (needs & TL_XX) tl_exact_pair(e++, x, x, sign);
    if (needs & TL_YY) tl_exact_pair(e++, y, y, sign);
    if (needs & TL_XY) tl_exact_pair(e++, x, y, sign);
}

/* ---- integers of 64 bits ---- */

void tl_exact_put_whole(tl_exact *e, unsigned __int128 m, int at, int negative)
{
    enum { BITS = 53 }; /* as many as an element has */
    for (at += TL_EXACT_UNIT; m; m >>= BITS, at += BITS) {
        const int64_t part = (int64_t)m & (((int64_t)1 << BITS) - 1);
        tl_exact_put(e, negative ? -part : part, at);
    }
}

void tl_exact_whole_row(tl_exact *e, const tl_exact_form *form, uint64_t x, uint64_t y,
                        int64_t sign)
{
    const int needs = form->what.needs, below = sign < 0, is_signed = form->whole == 1,
              less = is_signed && x >> 63, fewer = is_signed && y >> 63;
    const unsigned __int128 a = less ? -x : x, b = fewer ? -y : y;
    assert(form->whole);
    if (needs & TL_X) tl_exact_put_whole(e++, a, 0, less ^ below);
    if (needs & TL_Y) tl_exact_put_whole(e++, b, 0, fewer ^ below);
    if (needs & TL_XX) tl_exact_put_whole(e++, a * a, 0, below);
    if (needs & TL_YY) tl_exact_put_whole(e++, b * b, 0, below);
    if (needs & TL_XY) tl_exact_put_whole(e++, a * b, 0, less ^ fewer ^ below);
}

/* The sum as an integer of many digits. */
static void number_of(const tl_exact *e, tl_number *r)
{
    tl_wide_int carry = 0;
    r->size = 0;
    r->exponent = 32 * e->low - TL_EXACT_UNIT;

    for (int k = e->low; k <= e->high; k++) {
        carry += e->bin[k];
        r->digit[r->size++] = (uint32_t)carry;
        carry >>= 32;
    }
    tl_number_finish(r, carry);
}

/* The rounded sum, which may be infinite or (infinities of both signs) NaN. */
static double real_of(const tl_exact *e)
{
    tl_number sum;
    double value;
    if (e->plus || e->minus) return e->plus && e->minus ? NAN : e->plus ? INFINITY : -INFINITY;
    number_of(e, &sum);
    tl_number_round(&sum, 1, TALLY_F64, &value);
    return value;
}

/* A statistic of finite sums. Not inlined because of its buffers. */
static __attribute__((noinline)) int quotient(const tl_exact *e, tl_statistic what, int64_t n,
                                              double ddof, tally_dtype dtype, void *out)
{
    tl_number sum[TL_SUMS];
    for (int bit = 0; bit < TL_SUMS; bit++)
        if (what.needs >> bit & 1) number_of(e++, &sum[bit]);
    return value_of(what, sum, n, ddof, dtype, out);
}

int tl_exact_lower(const tl_exact *e, const tl_exact_form *form, double ddof, void *out)
{
    const tl_statistic what = form->what;
    const tally_dtype dtype = form->scalar.out;
    const int mean = what.quotient == TL_OVER_COUNT;
    int64_t n = e->count;
    int infinite = 0;

    if (form->scalar.masked) count(&n, e->nan, -1);
    for (int k = 0; k < form->sums; k++) infinite |= e[k].plus || e[k].minus;

    if ((e->nan && !form->scalar.masked) || (mean && n <= 0)) {
        tl_statistic_nan(dtype, out);
    } else if (infinite && (mean || what.quotient == TL_ALONE)) {
        divide(real_of(e), 1, dtype, out);
    } else if (infinite && what.quotient == TL_XY_OVER_Y) {
        divide(real_of(&e[1]), real_of(&e[0]), dtype, out);
    } else if (mean || (!infinite && what.quotient == TL_ALONE && !what.root)) {
        tl_number sum;
        number_of(e, &sum);
        tl_number_round(&sum, mean ? (uint64_t)n : 1, dtype, out);
    } else if (infinite || !quotient(e, what, n, ddof, dtype, out)) {
        tl_statistic_nan(dtype, out);
        return infinite;
    }
    return 1;
}

/* ---- plain data ---- */

void tl_exact_unpack(tl_exact *e, const tally_exact *from)
{
    tl_exact_begin(e, 1);
    for (int k = 0; k < TL_EXACT_DIGITS; k++) {
        const int to = TL_EXACT_LOW + k;
        if (!from->word[k]) continue;
        e->bin[to] = from->word[k];
        if (e->high < 0) e->low = to;
        e->high = to;
    }
    e->nan = from->word[TL_EXACT_NAN];
    e->plus = from->word[TL_EXACT_PLUS];
    e->minus = from->word[TL_EXACT_MINUS];
    e->count = from->word[TL_EXACT_COUNT];
}

void tl_exact_pack(const tl_exact *e, tally_exact *to)
{
    tl_wide_int carry = 0;
    const tl_wide_int *const bin = &e->bin[TL_EXACT_LOW];
    const int last = TL_EXACT_DIGITS - 1;

    for (int k = 0; k < last; k++) {
        carry += bin[k];
        to->word[k] = (uint32_t)carry;
        carry >>= 32;
    }

    to->word[last] = (int64_t)((uint64_t)(carry + bin[last]) + ((uint64_t)bin[last + 1] << 32));
    to->word[TL_EXACT_NAN] = e->nan;
    to->word[TL_EXACT_PLUS] = e->plus;
    to->word[TL_EXACT_MINUS] = e->minus;
    to->word[TL_EXACT_COUNT] = e->count;
}

void tl_exact_write(const tl_exact *e, unsigned char *to)
{
    const int64_t counts[] = {e->count, e->nan, e->plus, e->minus};
    tl_wide_int carry = 0;
    memcpy(to, counts, sizeof counts);
    to += sizeof counts;

    for (int k = 0; k < TL_EXACT_BINS; k++, carry >>= 32, to += 4) {
        carry += e->bin[k];
        memcpy(to, &(uint32_t){(uint32_t)carry}, 4);
    }
}

int tl_exact_read(tl_exact *e, const unsigned char *from, int64_t most)
{
    int64_t counts[4];
    int32_t last;
    tl_exact_begin(e, 1);
    memcpy(counts, from, sizeof counts);
    from += sizeof counts;

    for (int k = 0; k < TL_EXACT_BINS; k++) {
        uint32_t digit;
        memcpy(&digit, from + 4 * k, sizeof digit);
        e->bin[k] = digit;
    }

    memcpy(&last, from + 4 * (TL_EXACT_BINS - 1), sizeof last);
    e->bin[TL_EXACT_BINS - 1] = last; /* it has the sign */
    e->low = 0, e->high = TL_EXACT_BINS - 1;
    e->count = counts[0], e->nan = counts[1], e->plus = counts[2], e->minus = counts[3];
    int good = 1;
    for (int k = 0; k < 4; k++) good &= counts[k] >= 0 && counts[k] <= most;
    return good;
}
