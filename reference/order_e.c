/* SPDX-License-Identifier: MIT
 * Order E, v1, in one file: what doc/order.md says, executed for some operators of f32, f64 and
 * i64, and the program that writes the golden vectors (vectors.json). It needs a C11 compiler
 * and nothing of tally; it is written to be read and carried over to other languages, not to be
 * fast. README.md has the form of the vectors.
 *
 *     cc -std=c11 -ffp-contract=off order_e.c -o order_e && ./order_e > vectors.json
 *
 *   1  numbers        5  fragments
 *   2  operators      6  exact sums
 *   3  the order      7  data and vectors
 *   4  the verbs */
#include <float.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __FAST_MATH__
#error "the order needs IEEE arithmetic: compile without -ffast-math"
#endif
_Static_assert(FLT_EVAL_METHOD == 0, "float and double must be computed in their own precision");

/* ---- 1 numbers ---------------------------------------------------------------------------------------------------
 * One value of one of three types, and arithmetic on them: each operation rounds once, to
 * nearest even. */
typedef enum { I64, F32, F64 } type;
static const char *const type_names[] = {"i64", "f32", "f64"};
typedef union {
    uint64_t u; /* i64: two's complement, which wraps */
    float f;
    double d;
} number;

static number add(type t, number a, number b)
{
    number r = {0};
    if (t == I64) r.u = a.u + b.u;
    if (t == F32) r.f = a.f + b.f;
    if (t == F64) r.d = a.d + b.d;
    return r;
}
static number sub(type t, number a, number b)
{
    number r = {0};
    if (t == I64) r.u = a.u - b.u;
    if (t == F32) r.f = a.f - b.f;
    if (t == F64) r.d = a.d - b.d;
    return r;
}
static number mul(type t, number a, number b)
{
    number r = {0};
    if (t == I64) r.u = a.u * b.u;
    if (t == F32) r.f = a.f * b.f;
    if (t == F64) r.d = a.d * b.d;
    return r;
}
static number quotient(type t, number a, number b)
{
    number r = {0};
    if (t == F32) r.f = a.f / b.f;
    if (t == F64) r.d = a.d / b.d;
    return r;
}
/* A double as a t, and a t as a double: each rounds if it must. */
static number from_double(type t, double x)
{
    number r = {0};
    if (t == F32) r.f = (float)x;
    if (t == F64) r.d = x;
    if (t == I64) r.u = (uint64_t)(int64_t)x;
    return r;
}
static int64_t as_signed(uint64_t u)
{
    int64_t i;
    memcpy(&i, &u, sizeof i);
    return i;
}
static double to_double(type t, number x)
{
    return t == I64 ? (double)as_signed(x.u) : t == F32 ? (double)x.f : x.d;
}

static int bits_of(type t) { return t == F32 ? 32 : 64; }
static uint64_t to_bits(type t, number x)
{
    uint32_t b;
    if (t != F32) return x.u; /* the bits of a double are those of the union's integer */
    memcpy(&b, &x.f, sizeof b);
    return b;
}
static number from_bits(type t, uint64_t bits)
{
    number x = {.u = bits};
    const uint32_t b = (uint32_t)bits;
    if (t == F32) memcpy(&x.f, &b, sizeof b);
    return x;
}
static int is_nan(type t, number x) { return t == F32 ? x.f != x.f : t == F64 ? x.d != x.d : 0; }
static number quiet_nan(type t) { return from_bits(t, t == F32 ? 0x7fc00000 : 0x7ff8000000000000); }
static number canon(type t, number x) { return is_nan(t, x) ? quiet_nan(t) : x; }

/* The key of a float: an integer with the order of the numbers, -0 below +0. Its own inverse. */
static int64_t flip(type t, int64_t bits)
{
    if (t == F64 && bits < 0) return bits ^ INT64_MAX;
    /* 32 bits with their sign */
    if (t == F32 && bits & 0x80000000) return (bits ^ 0x7fffffff) - 0x100000000;
    return bits;
}
static int64_t lowest(type t) { return t == F32 ? INT32_MIN : INT64_MIN; }
static int64_t highest(type t) { return t == F32 ? INT32_MAX : INT64_MAX; }
static number from_key(type t, int64_t key)
{
    if (t == F32) return canon(t, from_bits(t, (uint64_t)flip(t, key & 0xffffffff) & 0xffffffff));
    return canon(t, from_bits(t, (uint64_t)flip(t, key)));
}

/* ---- 2 operators -------------------------------------------------------------------------------------------------
 * lift, combine, lower and empty of each. v[] are the fields of its state, in the order in which
 * fragments store them (doc/formats.md). */
typedef enum { SUM, PROD, MEAN, VAR, MIN, MAX, ARGMIN, EMA } kind;
static const char *const kind_names[] = {"sum", "prod", "mean",   "var",
                                         "min", "max",  "argmin", "ema"};
typedef struct {
    kind k;
    int masked;   /* a nan form: NaN are left out */
    double param; /* var: ddof; ema: alpha */
    type t;       /* of the elements */
    type acc;     /* of the arithmetic; of i64 means, their 128-bit sums apart */
    type out;     /* of the results */
} op;
typedef struct {
    int present; /* 0: ABSENT */
    int64_t n;   /* elements folded */
    number v[3];
} state;

static op operator_of(kind k, int masked, double param, type t)
{
    op o = {k, masked, param, t, t, t};
    if (k == VAR || (t == I64 && (k == MEAN || k == EMA))) o.acc = o.out = F64;
    if (k == ARGMIN) o.out = I64;
    return o;
}

static state lift(const op *o, number x, int64_t i)
{
    state s = {1, 1, {{0}}};
    const number a = o->acc == o->t ? x : from_double(o->acc, to_double(o->t, x));
    switch (o->k) {
    case SUM:
    case PROD:
        s.v[0] = x;
        break;
    case MEAN: /* integers: the low and the high half of 128 bits */
        s.v[0] = x;
        if (o->t == I64) s.v[1].u = x.u >> 63 ? UINT64_MAX : 0;
        break;
    case VAR: /* the mean, and the sum of squared deviations: 0, or NaN of inf and NaN */
        s.v[0] = a;
        s.v[1] = sub(F64, a, a);
        break;
    case MIN: /* NaN is the lowest of all */
    case ARGMIN:
        s.v[0].u =
            (uint64_t)(is_nan(o->t, x) ? lowest(o->t) : flip(o->t, as_signed(to_bits(o->t, x))));
        if (o->k == ARGMIN) s.v[1].u = (uint64_t)i;
        break;
    case MAX: /* and the highest */
        s.v[0].u =
            (uint64_t)(is_nan(o->t, x) ? highest(o->t) : flip(o->t, as_signed(to_bits(o->t, x))));
        break;
    case EMA: /* the map v -> y + a (v - x), where v is the average before these elements */
        s.v[0] = sub(o->acc, from_double(o->acc, 1), from_double(o->acc, o->param));
        s.v[1] = s.v[2] = a;
        break;
    }
    return s;
}

/* a stands on the left. */
static state combine(const op *o, state a, state b)
{
    const type t = o->acc;
    state r = a;
    r.n = a.n + b.n;
    switch (o->k) {
    case SUM:
        r.v[0] = add(t, a.v[0], b.v[0]);
        break;
    case PROD:
        r.v[0] = mul(t, a.v[0], b.v[0]);
        break;
    case MEAN:
        if (o->t == I64) {
            r.v[0].u = a.v[0].u + b.v[0].u;
            r.v[1].u = a.v[1].u + b.v[1].u + (r.v[0].u < a.v[0].u);
        } else {
            r.v[0] = add(t, a.v[0], b.v[0]);
        }
        break;
    case VAR: { /* one rounding an operation, and these brackets */
        const double na = (double)a.n, nb = (double)b.n, w = nb / (na + nb);
        const double d = b.v[0].d - a.v[0].d, step = d * w, square = d * d, factor = na * w;
        const double more = square * factor;
        r.v[0].d = a.v[0].d + step;
        r.v[1].d = (a.v[1].d + b.v[1].d) + more;
        break;
    }
    case MIN:
    case ARGMIN: /* ties stay with the left */
        if (as_signed(b.v[0].u) < as_signed(a.v[0].u)) memcpy(r.v, b.v, sizeof r.v);
        break;
    case MAX:
        if (as_signed(b.v[0].u) > as_signed(a.v[0].u)) r.v[0] = b.v[0];
        break;
    case EMA:
        r.v[0] = mul(t, a.v[0], b.v[0]);
        r.v[2] = add(t, b.v[2], mul(t, b.v[0], sub(t, a.v[2], b.v[1])));
        break;
    }
    return r;
}

/* The mean of a sum of integers in 128 bits: of its size, with three roundings; the sign comes
   last. */
static double mean_of_integers(uint64_t lo, uint64_t hi, int64_t n)
{
    const int negative = (int)(hi >> 63);
    if (negative) {
        lo = ~lo + 1;
        hi = ~hi + (lo == 0);
    }
    const double top = (double)hi * 18446744073709551616.0, all = top + (double)lo,
                 size = all / (double)n;
    return negative ? 0 - size : size;
}

static number lower(const op *o, state s)
{
    number r = {0};
    switch (o->k) {
    case SUM:
        return canon(o->acc, add(o->acc, s.v[0], from_double(o->acc, 0.0))); /* never -0 */
    case PROD:
        return canon(o->acc, s.v[0]);
    case MEAN:
        if (o->t == I64) {
            r.d = mean_of_integers(s.v[0].u, s.v[1].u, s.n);
            return r;
        }
        r = add(o->acc, s.v[0], from_double(o->acc, 0.0));
        return canon(o->acc, quotient(o->acc, r, from_double(o->acc, (double)s.n)));
    case VAR:
        r.d = (double)s.n - o->param;
        return r.d > 0 ? canon(F64, quotient(F64, s.v[1], r)) : quiet_nan(F64);
    case MIN:
    case MAX:
        return from_key(o->t, as_signed(s.v[0].u));
    case ARGMIN:
        return s.v[1];
    case EMA:
        return canon(o->acc, s.v[2]);
    }
    return r;
}

/* The result of no elements. */
static number empty(const op *o)
{
    switch (o->k) {
    case SUM:
        return from_double(o->out, 0);
    case PROD:
        return from_double(o->out, 1);
    case MIN:
        return from_key(o->t, highest(o->t)); /* NaN of floats */
    case MAX:
        return from_key(o->t, lowest(o->t));
    case ARGMIN:
        return (number){.u = UINT64_MAX}; /* -1 */
    default:
        return quiet_nan(o->out);
    }
}

/* ABSENT: a state that is not present. */
static const state absent;

/* An initial value, of the type of the results, as a state. Mean, var and argmin take none. */
static state seed(const op *o, number init)
{
    state s = {1, 0, {{0}}};
    /* a NaN before the minimum of what is no NaN is left out, as an element would be */
    if (o->k == MIN || o->k == MAX)
        return o->masked && is_nan(o->t, init) ? absent : lift(o, init, 0);
    s.v[0] = s.v[1] = s.v[2] = init;
    if (o->k == EMA) s.v[0] = from_double(o->acc, 1);
    return s;
}

/* ---- 3 the order -------------------------------------------------------------------------------------------------
 * x: the elements of one sequence. */

static state C(const op *o, state a, state b)
{
    if (!a.present) return b;
    if (!b.present) return a;
    return combine(o, a, b);
}

/* The complete binary tree over the 2^k elements that begin at p. */
static state node(const op *o, const number *x, int64_t p, int k)
{
    if (k == 0) return o->masked && is_nan(o->t, x[p]) ? absent : lift(o, x[p], p);
    const int64_t half = (int64_t)1 << (k - 1);
    return C(o, node(o, x, p, k - 1), node(o, x, p + half, k - 1));
}

/* The first m elements: m without its lowest set bit, then the node of that bit. */
static state S(const op *o, const number *x, int64_t m, const number *init)
{
    if (m == 0) return init ? seed(o, *init) : absent;
    const int64_t q = m & (m - 1);
    int j = 0;
    while ((m >> j & 1) == 0) j++;
    return C(o, S(o, x, q, init), node(o, x, q, j));
}

static number result(const op *o, state s) { return s.present ? lower(o, s) : empty(o); }

/* ---- 4 the verbs ------------------------------------------------------------------------------------------------- */
static number reduce(const op *o, const number *x, int64_t n)
{
    return result(o, S(o, x, n, NULL));
}

static void scan(const op *o, const number *x, int64_t n, int exclusive, int reverse,
                 const number *init, number *out)
{
    number *y = malloc((size_t)(n + 1) * sizeof *y);
    if (!y) abort();
    for (int64_t i = 0; i < n; i++) y[i] = x[reverse ? n - 1 - i : i];
    for (int64_t i = 0; i < n; i++)
        out[reverse ? n - 1 - i : i] = result(o, S(o, y, exclusive ? i : i + 1, init));
    free(y);
}

typedef enum { MISSING, SHRINK, VALID } edges;
static const char *const edge_names[] = {"missing", "shrink", "valid"};
typedef struct {
    int64_t before, after;
    edges e;
    int64_t min_count, step;
} window_of;

/* Returns the number of results. */
static int64_t window(const op *o, const number *x, int64_t n, const window_of *w, number *out)
{
    int64_t count = 0, whole_ones = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = i - w->before < 0 ? 0 : i - w->before;
        const int64_t end = i + w->after + 1 > n ? n : i + w->after + 1;
        const int whole = i - w->before >= 0 && i + w->after < n;
        if (!whole && w->e == VALID) continue;
        if (whole_ones++ % w->step) continue;
        int64_t elements = 0;
        for (int64_t j = from; j < end; j++) elements += !(o->masked && is_nan(o->t, x[j]));
        const int enough =
            elements >= w->min_count && (whole || w->e == SHRINK || w->min_count > 0);
        /* counted from the window's first */
        out[count++] = enough ? reduce(o, x + from, end - from) : empty(o);
    }
    return count;
}

/* ---- 5 fragments -------------------------------------------------------------------------------------------------
 * Parts of a longer sequence: disjoint maximal aligned nodes, in order, with or without gaps. */
enum { NODES = 256 };
typedef struct {
    int64_t at; /* a multiple of 2^level */
    int level;
    state s;
} piece;
typedef struct {
    int count;
    piece node[NODES];
} fragment;

/* Elements [start, end) of x. */
static fragment make(const op *o, const number *x, int64_t start, int64_t end)
{
    fragment f = {0};
    while (start < end) {
        int k = 0; /* the largest node that begins here and ends in time */
        while (start % ((int64_t)2 << k) == 0 && start + ((int64_t)2 << k) <= end) k++;
        f.node[f.count++] = (piece){start, k, node(o, x, start, k)};
        start += (int64_t)1 << k;
    }
    return f;
}

/* The union of both, where siblings that meet become their parent. Returns 0 if they overlap. */
static int merge(const op *o, fragment *f, const fragment *more)
{
    fragment r = {0};
    int i = 0, j = 0;
    while (i < f->count || j < more->count) {
        const int mine = j == more->count || (i < f->count && f->node[i].at < more->node[j].at);
        piece p = mine ? f->node[i++] : more->node[j++];
        if (r.count && r.node[r.count - 1].at + ((int64_t)1 << r.node[r.count - 1].level) > p.at)
            return 0;
        while (r.count) { /* is the one before it its left sibling? */
            const piece l = r.node[r.count - 1];
            if (l.level != p.level || l.at + ((int64_t)1 << l.level) != p.at ||
                l.at % ((int64_t)2 << l.level))
                break;
            p = (piece){l.at, l.level + 1, C(o, l.s, p.s)};
            r.count--;
        }
        if (r.count == NODES) return 0;
        r.node[r.count++] = p;
    }
    *f = r;
    return 1;
}

/* Of a fragment that has all elements from 0 to its end. */
static number fragment_result(const op *o, const fragment *f)
{
    state s = absent;
    for (int i = 0; i < f->count; i++) s = C(o, s, f->node[i].s);
    return result(o, s);
}

/* ---- 6 exact sums ------------------------------------------------------------------------------------------------
 * The state of doc/exact.md: digits of 32 bits in units of 2^-1074, two's complement, the last
 * with the sign; then how many elements are NaN, +inf, -inf, and how many there are. */
enum { DIGITS = 68, N_NAN = 68, N_PLUS, N_MINUS, N_ALL, WORDS };
typedef struct {
    int64_t word[WORDS];
} exact;

static void exact_add(exact *e, type t, number x)
{
    const double d = to_double(t, x);
    uint64_t b;
    memcpy(&b, &d, sizeof b);
    const int exponent = (int)(b >> 52 & 2047), negative = (int)(b >> 63),
              at = exponent ? exponent - 1 : 0;
    /* |x| = m 2^(at - 1074) */
    const uint64_t m = (b & 0xfffffffffffff) | (uint64_t)(exponent != 0) << 52;
    e->word[N_ALL]++;
    if (exponent == 2047) {
        e->word[d != d ? N_NAN : negative ? N_MINUS : N_PLUS]++;
        return;
    }
    /* m 2^(at mod 32) is three digits; carries, or borrows, go to the end */
    const uint64_t low = (m & 0xffffffff) << at % 32, high = (m >> 32) << at % 32;
    const int64_t part[3] = {(int64_t)(low & 0xffffffff),
                             (int64_t)((low >> 32) + (high & 0xffffffff)), (int64_t)(high >> 32)};
    int64_t carry = 0;
    for (int k = at / 32, i = 0; k < DIGITS; k++, i++) {
        int64_t v = e->word[k] + carry + (i < 3 ? negative ? -part[i] : part[i] : 0);
        carry = 0;
        if (k == DIGITS - 1) { /* keeps its sign */
            e->word[k] = v;
            break;
        }
        while (v < 0) v += 0x100000000, carry--;
        while (v > 0xffffffff) v -= 0x100000000, carry++;
        e->word[k] = v;
    }
}

/* The sum, or the mean of n of its elements (0: the sum), rounded once to t. n is below 2^31. */
static number exact_value(const exact *e, type t, int masked, int mean)
{
    enum { MORE = 3, ALL = MORE + DIGITS }; /* digits of a quotient, below those of the sum */
    uint64_t digit[ALL] = {0}, rest = 0;
    const int64_t n = e->word[N_ALL] - (masked ? e->word[N_NAN] : 0);
    const int mantissa = t == F32 ? 23 : 52, negative = e->word[DIGITS - 1] < 0;
    const uint64_t infinity = (uint64_t)(t == F32 ? 255 : 2047) << mantissa;
    if ((mean && n == 0) || (e->word[N_NAN] && !masked) || (e->word[N_PLUS] && e->word[N_MINUS]))
        return quiet_nan(t);
    if (e->word[N_PLUS]) return from_bits(t, infinity);
    if (e->word[N_MINUS]) return from_bits(t, infinity | (uint64_t)1 << (bits_of(t) - 1));
    uint64_t carry = (uint64_t)negative;
    for (int k = 0; k < DIGITS; k++) { /* the size of the sum */
        const uint64_t word = (uint64_t)e->word[k] & 0xffffffff,
                       v = (negative ? word ^ 0xffffffff : word) + carry;
        digit[MORE + k] = v & 0xffffffff;
        carry = v >> 32;
    }
    /* long division; what is left over is below the last digit */
    for (int k = ALL; mean && k-- > 0;) {
        rest = rest << 32 | digit[k];
        digit[k] = rest / (uint64_t)n;
        rest %= (uint64_t)n;
    }
#define BIT(at) (digit[(at) / 32] >> (at) % 32 & 1)
    int first = 32 * ALL - 1; /* the place of the first bit; the unit of t is at `least` */
    while (first >= 0 && !BIT(first)) first--;
    /* +0. (A quotient of n < 2^31 begins above the digits' end.) */
    if (first < 0) return from_bits(t, 0);
    const int least = 32 * MORE + (t == F32 ? 1074 - 149 : 0);
    /* the last bit that stays */
    const int at = first - mantissa > least ? first - mantissa : least;
    uint64_t m = 0;
    for (int i = first; i >= at; i--) m = m << 1 | BIT(i);
    int sticky = rest != 0;
    for (int i = 0; i < at - 1; i++) sticky |= (int)BIT(i);
    if (BIT(at - 1) && (sticky || m & 1)) m++;
#undef BIT
    /* m has its first bit at `mantissa`, or is subnormal; that bit and a carry add to the
       exponent */
    uint64_t b = ((uint64_t)(at - least) << mantissa) + m;
    if (b > infinity) b = infinity;
    return from_bits(t, b && negative ? b | (uint64_t)1 << (bits_of(t) - 1) : b); /* never -0 */
}

/* ---- 7 data and vectors ------------------------------------------------------------------------------------------
 * README.md says what is printed. The data follows from integers alone. */
static uint64_t generator;
static uint64_t next(void) /* splitmix64 */
{
    uint64_t z = generator += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

typedef enum { PLAIN, WIDE, HOSTILE, TINY, ZEROS } data_kind;
static const char *const data_names[] = {"plain", "wide", "hostile", "tiny", "zeros"};
typedef struct {
    type t;
    data_kind k;
    uint64_t seed;
    int64_t n;
} dataset;
static const dataset datasets[] = {
    {I64, PLAIN, 1, 300},    {I64, WIDE, 2, 300},     {F32, PLAIN, 3, 300}, {F32, WIDE, 4, 300},
    {F32, HOSTILE, 200, 80}, {F32, TINY, 5, 80},      {F32, ZEROS, 6, 20},  {F64, PLAIN, 7, 300},
    {F64, WIDE, 8, 300},     {F64, HOSTILE, 906, 80}, {F64, TINY, 9, 80},   {F64, ZEROS, 10, 20},
};
enum { MOST = 300, DATASETS = sizeof datasets / sizeof *datasets };

static void fill(const dataset *d, number *x)
{
    const int bits = bits_of(d->t), mantissa = bits == 32 ? 23 : 52;
    const uint64_t top = bits == 32 ? 255 : 2047;
    generator = d->seed;
    for (int64_t i = 0; i < d->n; i++) {
        const uint64_t r = next();
        if (d->t == I64) { /* plain: -1000 .. 1000; wide: any bits */
            x[i].u = d->k == PLAIN ? r % 2001 - 1000 : r;
            continue;
        }
        uint64_t m = r & (((uint64_t)1 << mantissa) - 1), e = top / 2 - 2 + (r >> 53 & 3),
                 which = r >> 55 & 63;
        if (d->k == WIDE) e = (r >> 52 & 2047) % top; /* any exponent of a finite number */
        /* the smallest, a quarter of them subnormal */
        if (d->k == TINY) e = r >> 53 & 3;
        if (d->k == ZEROS) e = m = 0;
        if (d->k == HOSTILE && which == 0) e = top, m |= 1;
        if (d->k == HOSTILE && which == 1) e = top, m = 0;
        if (d->k == HOSTILE && which == 2) e = m = 0;
        if (d->k == HOSTILE && which == 3) e = 0;
        if (d->k == HOSTILE && which == 4) e = top - 1;
        if (d->k == HOSTILE && which == 5) e = 1;
        x[i] = from_bits(d->t, r >> 63 << (bits - 1) | e << mantissa | m);
    }
}

static uint64_t fnv(type t, const number *x, int64_t n) /* FNV-1a over little-endian bytes */
{
    uint64_t h = 0xcbf29ce484222325;
    for (int64_t i = 0; i < n; i++)
        for (int b = 0; b < bits_of(t); b += 8)
            h = (h ^ (to_bits(t, x[i]) >> b & 255)) * 0x100000001b3;
    return h;
}

static void print_bits(const char *before, type t, uint64_t bits)
{
    printf("%s\"%0*" PRIx64 "\"", before, bits_of(t) / 4, bits);
}
static void print_list(const char *name, type t, const number *x, int64_t n)
{
    printf(", \"%s\": [", name);
    for (int64_t i = 0; i < n; i++) print_bits(i ? "," : "", t, to_bits(t, x[i]));
    printf("]");
}
/* Few results are printed, many are hashed. */
static void print_results(type t, const number *x, int64_t n)
{
    if (n <= 13)
        print_list("bits", t, x, n);
    else
        printf(", \"fnv\": \"%016" PRIx64 "\"", fnv(t, x, n));
    printf("}");
}

/* A line of the file: `name` with its suffix, on dataset d. */
static void begin(const dataset *d, const char *verb, const char *nan, const char *name,
                  double param)
{
    static int lines;
    printf("%s\n{\"data\": \"%s %s\", \"verb\": \"%s\", \"op\": \"%s%s", lines++ ? "," : "",
           type_names[d->t], data_names[d->k], verb, nan, name);
    if (param != 0) printf(":%g", param);
    printf("\"");
}

static void numbers(const dataset *d, const op *o, const number *x)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 13, 31, 77, 256, 300};
    static const window_of windows[] = {
        {2, 0, MISSING, 0, 1}, {6, 6, SHRINK, 0, 1}, {11, 0, VALID, 0, 1}, {19, 3, MISSING, 4, 3}};
    const char *nan = o->masked ? "nan" : "", *name = kind_names[o->k];
    number out[MOST];
    int count = 0;
    begin(d, "reduce", nan, name, o->param);
    printf(", \"n\": [");
    for (; count < (int)(sizeof sizes / sizeof *sizes) && sizes[count] <= d->n; count++) {
        printf("%s%d", count ? "," : "", (int)sizes[count]);
        out[count] = reduce(o, x, sizes[count]);
    }
    printf("]");
    print_results(o->out, out, count);
    if (d->k >= TINY || (o->k == VAR && o->param == 0)) return; /* that of 1 has the rest */
    const int seedable = o->k != MEAN && o->k != VAR && o->k != ARGMIN;
    /* inclusive of all, exclusive of 11, reverse exclusive from a value */
    for (int which = 0; which < 3; which++) {
        const int64_t n = which == 0 ? d->n : 11;
        const number init = o->out == I64 ? (number){.u = 5} : from_double(o->out, 1.25);
        const number *from = which == 2 && seedable ? &init : NULL;
        begin(d, "scan", nan, name, o->param);
        printf(", \"n\": %d, \"exclusive\": %d, \"reverse\": %d", (int)n, which > 0, which == 2);
        if (from) print_bits(", \"init\": ", o->out, to_bits(o->out, init));
        scan(o, x, n, which > 0, which == 2, from, out);
        print_results(o->out, out, n);
    }
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        const window_of *w = &windows[i];
        const int64_t n = i == 0 ? 9 : d->n;
        begin(d, "window", nan, name, o->param);
        printf(", \"n\": %d, \"before\": %d, \"after\": %d, \"edges\": \"%s\", \"min_count\": %d, "
               "\"step\": %d",
               (int)n, (int)w->before, (int)w->after, edge_names[w->e], (int)w->min_count,
               (int)w->step);
        print_results(o->out, out, window(o, x, n, w, out));
    }
}

/* Parts cut at `cuts`, merged in `order`: the nodes of the first three together, and the result
   of all. */
static void fragments(const dataset *d, const op *o, const number *x)
{
    enum { PARTS = 5 };
    static const int cuts[PARTS + 1] = {0, 5, 24, 25, 53, 77}, order[PARTS] = {3, 1, 4, 0, 2};
    const int fields = o->k == EMA                                                      ? 3
                       : o->k == VAR || o->k == ARGMIN || (o->k == MEAN && o->t == I64) ? 2
                                                                                        : 1;
    const type t = o->k == MIN || o->k == MAX || o->k == ARGMIN ? o->t
                   : o->k == MEAN && o->t == I64                ? I64
                                                                : o->acc;
    fragment f = {0};
    begin(d, "fragments", o->masked ? "nan" : "", kind_names[o->k], o->param);
    printf(", \"cuts\": [0,5,24,25,53,77], \"order\": [3,1,4,0,2]");
    for (int i = 0; i < PARTS; i++) {
        const fragment part = make(o, x, cuts[order[i]], cuts[order[i] + 1]);
        if (!merge(o, &f, &part)) abort();
        /* which NaN of two a state has is up to the machine */
        if (i != 2 || d->k != PLAIN) continue;
        printf(", \"nodes\": [");
        for (int j = 0; j < f.count; j++) {
            printf("%s{\"at\": %d, \"level\": %d, \"state\": [", j ? "," : "", (int)f.node[j].at,
                   f.node[j].level);
            for (int k = 0; k < fields; k++) {
                const type field = o->k == ARGMIN && k == 1 ? I64 : t;
                const number v = f.node[j].s.v[k];
                const uint64_t key = t == F32 ? v.u & 0xffffffff : v.u;
                const int keyed = o->k == MIN || o->k == MAX || o->k == ARGMIN;
                print_bits(k ? "," : "", field, field == t && keyed ? key : to_bits(field, v));
            }
            printf("]}");
        }
        printf("]");
    }
    const number r = fragment_result(o, &f);
    print_results(o->out, &r, 1);
}

static void exacts(const dataset *d, const number *x, int masked, int mean)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 16, 33, 80, 150, 300};
    exact e = {{0}};
    number out[MOST];
    int count = 0;
    begin(d, "exact", masked ? "nan" : "", mean ? "mean:exact" : "sum:exact", 0);
    printf(", \"n\": [");
    for (; count < (int)(sizeof sizes / sizeof *sizes) && sizes[count] <= d->n; count++) {
        printf("%s%d", count ? "," : "", (int)sizes[count]);
        for (int64_t i = count ? sizes[count - 1] : 0; i < sizes[count]; i++)
            exact_add(&e, d->t, x[i]);
        out[count] = exact_value(&e, d->t, masked, mean);
    }
    printf("]");
    if (!mean && !masked) { /* after the last of them */
        printf(", \"state\": [");
        for (int k = 0; k < WORDS; k++)
            printf("%s\"%" PRIx64 "\"", k ? "," : "", (uint64_t)e.word[k]);
        printf("]");
    }
    print_results(d->t, out, count);
}

int main(void)
{
    static const struct {
        kind k;
        double param;
    } rows[] = {{SUM, 0}, {PROD, 0}, {MEAN, 0},   {VAR, 0},  {VAR, 1},
                {MIN, 0}, {MAX, 0},  {ARGMIN, 0}, {EMA, 0.1}};
    static number x[DATASETS][MOST];
    printf("{\"order\": \"E v1\", \"written by\": \"order_e.c\", \"data\": [");
    for (int i = 0; i < DATASETS; i++) {
        const dataset *d = &datasets[i];
        fill(d, x[i]);
        printf(
            "%s\n{\"name\": \"%s %s\", \"type\": \"%s\", \"kind\": \"%s\", \"seed\": %d, \"n\": %d",
            i ? "," : "", type_names[d->t], data_names[d->k], type_names[d->t], data_names[d->k],
            (int)d->seed, (int)d->n);
        print_list("first", d->t, x[i], 3);
        printf(", \"fnv\": \"%016" PRIx64 "\"}", fnv(d->t, x[i], d->n));
    }
    printf("\n], \"vectors\": [");
    for (int i = 0; i < DATASETS; i++) {
        const dataset *d = &datasets[i];
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (int masked = 0; masked <= (d->k == HOSTILE); masked++) {
                const op o = operator_of(rows[r].k, masked, rows[r].param, d->t);
                numbers(d, &o, x[i]);
                if (d->k < TINY && !(o.k == VAR && o.param == 0)) fragments(d, &o, x[i]);
            }
        for (int which = 0; d->t != I64 && which < (d->k == HOSTILE ? 4 : 2); which++)
            exacts(d, x[i], which / 2, which % 2);
    }
    printf("\n]}\n");
    return fflush(stdout) || ferror(stdout);
}
