/* SPDX-License-Identifier: MIT
 * Data with known results: 1, 2, ..., 127, 1, 2, ... as the first seed has it ("a pattern of
 * repeated consecutive sequence"), so that the sum is a formula and not another loop. Whole
 * numbers are these times the largest odd number with which the sum still fits, so that a sum
 * kept in a float or in fewer bits shows. Floats are tenths of these, which no float holds
 * exactly: their sum needs rounding, and every order rounds differently. The exact sum of the
 * stored floats is a whole number of 2^-60, in 128 bits.
 *
 * min and max: the last element is beyond all others, so that a lost tail shows. Where n is odd
 * the others and it are positive for min and negative for max, so that a 0 in place of NEUTRAL
 * shows; where n is even it alone has another sign (or the highest bit), so that a comparison
 * with or without signs shows. */
#include "rung.h"
#include <math.h>
#include <string.h>

enum { PERIOD = 127 };
static const int SCALE = 60; /* 0.1 as f64 ends at 2^-56 */
typedef __int128 huge;

static const struct {
    const char *name;
    tally_dtype dtype;
} kinds[KINDS] = {[KIND_I8] = {"i8", TALLY_I8},    [KIND_U8] = {"u8", TALLY_U8},
                  [KIND_I16] = {"i16", TALLY_I16}, [KIND_U16] = {"u16", TALLY_U16},
                  [KIND_I32] = {"i32", TALLY_I32}, [KIND_U32] = {"u32", TALLY_U32},
                  [KIND_I64] = {"i64", TALLY_I64}, [KIND_U64] = {"u64", TALLY_U64},
                  [KIND_F32] = {"f32", TALLY_F32}, [KIND_F64] = {"f64", TALLY_F64}};

const char *kind_name(kind k) { return kinds[k].name; }
tally_dtype kind_dtype(kind k) { return kinds[k].dtype; }
int kind_parse(const char *name, kind *k)
{
    for (int i = 0; i < KINDS; i++)
        if (!is_short((kind)i) && !strcmp(kinds[i].name, name)) { /* elements are never short */
            *k = (kind)i;
            return 1;
        }
    return 0;
}

int refused_kind(shape s, const char *dtype, ladder_error *error)
{
    static const char *const takes[SHAPES] = {
        [SHAPE_reduce] = "reductions take i32, u32, i64, u64, f32 or f64",
        [SHAPE_scan] = ("scans take " KIND_CHOICES),
        [SHAPE_window] = "moving averages take f32 or f64",
        [SHAPE_transpose] = "transposes take i32, u32, i64, u64, f32 or f64",
        [SHAPE_histogram] = "histograms take i32 or u32",
    };
    return fail_with(error, 2, "%s, not '%s'", takes[s], dtype);
}

element data_get(const void *x, kind k, int64_t i)
{
    element e;
    switch (k) {
    case KIND_I8:
        e.i = ((const int8_t *)x)[i];
        break;
    case KIND_U8:
        e.i = ((const uint8_t *)x)[i];
        break;
    case KIND_I32:
        e.i = ((const int32_t *)x)[i];
        break;
    case KIND_U32:
        e.i = ((const uint32_t *)x)[i];
        break;
    case KIND_F32:
        e.f = ((const float *)x)[i];
        break;
    case KIND_F64:
        e.f = ((const double *)x)[i];
        break;
    default:
        e.i = ((const int64_t *)x)[i];
    }
    return e;
}

void data_put(void *x, kind k, int64_t i, element e)
{
    switch (k) {
    case KIND_I8:
    case KIND_U8:
        ((uint8_t *)x)[i] = (uint8_t)e.i;
        break;
    case KIND_I32:
    case KIND_U32:
        ((uint32_t *)x)[i] = (uint32_t)e.i;
        break;
    case KIND_F32:
        ((float *)x)[i] = (float)e.f;
        break;
    case KIND_F64:
        ((double *)x)[i] = e.f;
        break;
    default:
        ((int64_t *)x)[i] = e.i;
    }
}

static element value_of(kind k, int64_t number, int tenths)
{
    element e;
    if (is_byte(k)) /* the nearest that a byte holds */
        e.i = k == KIND_I8 ? (number > INT8_MAX ? INT8_MAX : number)
                           : (number > UINT8_MAX ? UINT8_MAX : number);
    else if (k < KIND_F32)
        e.i = number;
    else
        e.f = k == KIND_F32 ? (double)(float)(tenths ? (double)number * 0.1 : (double)number)
              : tenths      ? (double)number * 0.1
                            : (double)number;
    return e;
}

static int64_t factor_of(kind k, int64_t n)
{
    if (k >= KIND_F32 || is_byte(k)) return 1;
    const int64_t most = (kind_bytes(k) == 4 ? INT32_MAX : INT64_MAX) / (PERIOD + 1) / (n + PERIOD);
    return most < 1 ? 1 : (most - 1) | 1;
}

int has_sign(kind k) { return k != KIND_U8 && k != KIND_U16 && k != KIND_U32 && k != KIND_U64; }

/* The element for `v` of 1 .. PERIOD; the last one of min and max: 0. */
static element pattern(kind k, int64_t n, int operation, int tenths, int v)
{
    const int negative = operation == 2 && has_sign(k);
    if (!operation) return value_of(k, v * factor_of(k, n), tenths);
    if (v) return value_of(k, negative ? -(v + 1) : operation == 1 ? v + 1 : v, tenths);
    if (n % 2 || (operation == 1 && !has_sign(k)))
        return value_of(k, negative ? -1 : operation == 1 ? 1 : PERIOD + 1, tenths);
    const int64_t top = has_sign(k)     ? 0
                        : k == KIND_U8  ? (int64_t)1 << 7
                        : k == KIND_U32 ? (int64_t)1 << 31
                                        : INT64_MIN;
    return value_of(k, operation == 1 ? -PERIOD - 1 : top + PERIOD + 1, tenths);
}

static int last_number(int64_t n, int operation)
{
    return operation ? 0 : (int)((n - 1) % PERIOD) + 1;
}

void data_fill(void *x, kind k, int64_t n, int operation, int tenths)
{
    const size_t size = kind_bytes(k);
    const int64_t first = n < PERIOD ? n : PERIOD;
    for (int64_t i = 0; i < first; i++)
        data_put(x, k, i, pattern(k, n, operation, tenths, (int)i + 1));
    for (int64_t done = first; done < n;) { /* whole periods, twice as many each time */
        const int64_t more = done < n - done ? done / PERIOD * PERIOD : n - done;
        memcpy((char *)x + (size_t)done * size, x, (size_t)more * size);
        done += more;
    }
    if (n) data_put(x, k, n - 1, pattern(k, n, operation, tenths, last_number(n, operation)));
}

/* Every 64th element or so, and none in every second stretch of 4096, so that segments go over
   many tiles too. */
int segment_starts(int64_t i)
{
    return i == 0 || (!(i >> 12 & 1) && (uint32_t)i * 2654435761u >> 26 == 0);
}

void matrix_of(int64_t n, int64_t *rows, int64_t *cols)
{
    *cols = (int64_t)sqrt((double)n);
    *rows = *cols ? n / *cols : 0;
}

/* The data of histograms: 64 times 1, 2, ..., 127, in which neighbours differ; then 64 times 1, 64
 * times 2, ..., in which they are equal; and so on. */
enum { EQUAL = 64, HALF = PERIOD * EQUAL };
static int64_t histogram_value(int64_t i)
{
    const int64_t at = i % (2 * HALF);
    return at < HALF ? at % PERIOD + 1 : (at - HALF) / EQUAL + 1;
}

int64_t histogram_count(int64_t n, int64_t v)
{
    const int64_t rest = n % (2 * HALF), first = rest < HALF ? rest : HALF,
                  more = rest - first - EQUAL * (v - 1);
    if (v < 1 || v > PERIOD) return 0;
    return n / (2 * HALF) * 2 * EQUAL + first / PERIOD + (v <= first % PERIOD) +
           (more < 0       ? 0
            : more < EQUAL ? more
                           : EQUAL);
}

void data_fill_shape(void *x, shape s, kind k, int64_t n, int operation)
{
    if (s != SHAPE_transpose && s != SHAPE_histogram) {
        data_fill(x, k, n, operation, s != SHAPE_scan);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        /* 24 bits: what an f32 holds */
        const int64_t v = s == SHAPE_transpose ? i & 0xffffff : histogram_value(i);
        data_put(x, k, i, k < KIND_F32 ? (element){.i = v} : (element){.f = (double)v});
    }
}

static huge scaled(double x) { return (huge)ldexp(x, SCALE); }

static huge exact_sum(kind k, int64_t n, int tenths)
{
    huge sum = 0;
    for (int v = 1; v <= PERIOD; v++) {
        const int64_t times = n / PERIOD + (v <= n % PERIOD);
        sum += scaled(value_of(k, v, tenths).f) * times;
    }
    return sum;
}

double ulp_of(kind k, double x)
{
    int exponent;
    if (x == 0 || !isfinite(x)) return k == KIND_F32 ? 0x1p-149 : 0x1p-1074;
    frexp(x, &exponent);
    return ldexp(1, exponent - (k == KIND_F32 ? 24 : 53));
}

static element round_once(kind k, huge sum)
{
    /* a conversion from 128 bits rounds to nearest even; a power of two changes nothing */
    element e;
    e.f = k == KIND_F32 ? (double)ldexpf((float)sum, -SCALE) : ldexp((double)sum, -SCALE);
    return e;
}

element known_result(kind k, int64_t n, int operation, int tenths, double *bound)
{
    element e = {0};
    *bound = 0;
    if (!n) {
        static const int64_t low[] = {INT8_MIN, 0, INT16_MIN, 0, INT32_MIN, 0, INT64_MIN, 0},
                             high[] = {INT8_MAX,  UINT8_MAX,  INT16_MAX, UINT16_MAX,
                                       INT32_MAX, UINT32_MAX, INT64_MAX, -1};
        if (operation && k >= KIND_F32)
            e.f = operation == 1 ? INFINITY : -INFINITY;
        else if (operation)
            e.i = operation == 1 ? high[k] : low[k];
        return e;
    }
    if (operation) return pattern(k, n, operation, tenths, 0);
    if (k < KIND_F32) {
        const uint64_t full = (uint64_t)(n / PERIOD), rest = (uint64_t)(n % PERIOD);
        const uint64_t sum = (full * (PERIOD * (PERIOD + 1) / 2) + rest * (rest + 1) / 2) *
                             (uint64_t)factor_of(k, n);
        char cell[8]; /* wraps */
        data_put(cell, k, 0, (element){.i = (int64_t)sum});
        e = data_get(cell, k, 0);
        return e;
    }
    const huge sum = exact_sum(k, n, tenths);
    e = round_once(k, sum);
    /* |error| <= (n - 1) u sum |x| + O(u^2), all x are positive, u is half an ulp of 1 */
    const double u = k == KIND_F32 ? 0x1p-24 : 0x1p-53;
    *bound = 1.01 * (double)(n - 1) * u * fabs(e.f) / ulp_of(k, e.f) + 1;
    return e;
}

double ulp_error(kind k, int64_t n, int operation, int tenths, element got)
{
    double bound;
    const element want = known_result(k, n, operation, tenths, &bound);
    if (k < KIND_F32) return got.i == want.i ? 0 : INFINITY;
    if (operation || !n) return got.f == want.f ? 0 : INFINITY;
    if (!isfinite(got.f) || fabs(got.f) > 0x1p60) return INFINITY;
    const huge away = scaled(got.f) - exact_sum(k, n, tenths);
    return ldexp((double)(away < 0 ? -away : away), -SCALE) / ulp_of(k, want.f);
}

int same_bits(kind k, element a, element b)
{
    char x[8], y[8];
    data_put(x, k, 0, a);
    data_put(y, k, 0, b);
    return !memcmp(x, y, kind_bytes(k));
}

void element_text(kind k, element e, char *text, size_t capacity)
{
    char bytes[8], value[64];
    data_put(bytes, k, 0, e);
    tally_format_value(kind_dtype(k), bytes, 0, value, sizeof value);
    snprintf(text, capacity, "%.39s", value);
}
