/* SPDX-License-Identifier: MIT
 * The conversions of src/cpu/elements/convert.def, of every instruction set that runs here,
 * against their definition on one element in plain C: all values of types of 8 and 16 bits,
 * special and random values of wider ones; every alignment and short lengths; and no byte past
 * the last element.
 *
 *   forward   from an element of the caller's to one of the kernels'                                 i8 -> i32
 *   back      from a result of the kernels' to one of the caller's: what the forward conversion
 *             made,
 *             and for a NaN the one NaN that results have                                            i32 -> i8 */
#include "cpu/shape.h"
#include "dtype/dtype_traits.h"
#include "check.h"
#include <math.h>
#include <sys/mman.h>

enum { EXHAUSTIVE = 1 << 16, SHORT = 130, OFFSETS = 64, GUARD = 64, PAGE = 1 << 16 };

/* ---- what a conversion is, from the words in convert.def ---- */

typedef struct {
    int kind;
    tally_dtype from, to;
    const char *name;
} row;

static const row rows[] = {
#define CONVERT(kind, from, to, value) \
    {TL_WIDEN_##kind, TL_TRAIT(2, from), TL_TRAIT(2, to), #kind " " #from " " #to},
#include "cpu/elements/convert.def"
#undef CONVERT
};
enum { ROWS = sizeof rows / sizeof *rows };

static int is_float(tally_dtype d) { return d >= TALLY_F16; }
static int is_signed(tally_dtype d)
{
    return d == TALLY_I8 || d == TALLY_I16 || d == TALLY_I32 || d == TALLY_I64;
}
static int bits_of(tally_dtype d) { return 8 * (int)tally_dtype_size(d); }
static int mantissa_of(tally_dtype d)
{
    return d == TALLY_F16 ? 10 : d == TALLY_BF16 ? 7 : d == TALLY_F32 ? 23 : 52;
}
static uint64_t sign_of(tally_dtype d) { return (uint64_t)1 << (bits_of(d) - 1); }
static uint64_t infinity_of(tally_dtype d)
{
    return (sign_of(d) - 1) & ~(((uint64_t)1 << mantissa_of(d)) - 1);
}
static uint64_t quiet_of(tally_dtype d)
{
    return infinity_of(d) | (uint64_t)1 << (mantissa_of(d) - 1);
}
static int is_nan(tally_dtype d, uint64_t x)
{
    return is_float(d) && (x & (sign_of(d) - 1)) > infinity_of(d);
}

/* An integer as one of 64 bits. */
static uint64_t extended(tally_dtype d, uint64_t x)
{
    return is_signed(d) && x & sign_of(d) && bits_of(d) < 64 ? x | ~(uint64_t)0 << bits_of(d) : x;
}

/* The number that the bits of a floating type stand for; not of a NaN. */
static double number(tally_dtype d, uint64_t x)
{
    int mantissa = mantissa_of(d), top = bits_of(d) - 1 - mantissa, bias = (1 << (top - 1)) - 1;
    int64_t exponent = (int64_t)(x >> mantissa & (((uint64_t)1 << top) - 1)),
            fraction = (int64_t)(x & (((uint64_t)1 << mantissa) - 1));
    double v = exponent == ((int64_t)1 << top) - 1 ? INFINITY
               : exponent ? ldexp((double)(fraction | (int64_t)1 << mantissa),
                                  (int)exponent - bias - mantissa)
                          : ldexp((double)fraction, 1 - bias - mantissa);
    return x & sign_of(d) ? -v : v;
}

/* The bits of v, rounded to f32 or f64. */
static uint64_t encoded(tally_dtype to, double v)
{
    float f = (float)v;
    uint64_t x = 0;
    if (to == TALLY_F32)
        memcpy(&x, &f, sizeof f);
    else
        memcpy(&x, &v, sizeof v);
    return x;
}

/* An element as f32 or f64. A NaN keeps its sign and the top of its payload; conversions between
 * f32 and f64 make it quiet, those of halves to f32 move bits. */
static uint64_t real(tally_dtype d, uint64_t x, tally_dtype to)
{
    if (!is_float(d))
        return encoded(to, is_signed(d) ? (double)(int64_t)extended(d, x) : (double)x);
    if (!is_nan(d, x)) return encoded(to, number(d, x));
    int shift = mantissa_of(to) - mantissa_of(d);
    uint64_t payload = x & (((uint64_t)1 << mantissa_of(d)) - 1);
    payload = shift < 0 ? payload >> -shift : payload << shift;
    return (x & sign_of(d) ? sign_of(to) : 0) | payload |
           (bits_of(d) > 16 || to == TALLY_F64 ? quiet_of(to) : infinity_of(to));
}

/* A key of i32 or i64: its order as a signed integer is the total order of the elements. */
static uint64_t key(tally_dtype d, uint64_t x, tally_dtype to, int nan_is_highest)
{
    uint64_t most = sign_of(to) - 1;
    if (is_nan(d, x)) return nan_is_highest ? most : most + 1;
    if (is_float(d)) return x & sign_of(d) ? ~(x & (sign_of(d) - 1)) : x;
    return bits_of(d) == bits_of(to) && !is_signed(d) ? x - sign_of(d) : extended(d, x);
}

static int is_mark(tally_dtype d, uint64_t x)
{
    x &= sign_of(d) - 1;
    return bits_of(d) == 16   ? x >= 0x7fff
           : bits_of(d) == 32 ? x >= 0x7fff0000
                              : x >= 0x7fffe00000000000;
}

/* The element that the kernels get for the element x. */
static uint64_t forward(int kind, tally_dtype from, uint64_t x, tally_dtype to)
{
    switch (kind) {
    case TL_WIDEN_REAL_ONE:
        if (is_nan(from, x)) return encoded(to, 1);
        /* fall through */
    case TL_WIDEN_REAL:
    case TL_WIDEN_DOUBLE:
        return is_float(to) ? real(from, x, to) : extended(from, x);
    case TL_WIDEN_WIDE:
        return extended(from, x);
    case TL_WIDEN_LOW:
        return key(from, x, to, 0);
    case TL_WIDEN_HIGH:
        return key(from, x, to, 1);
    case TL_WIDEN_LOW_MARK: /* a mark is as a NaN is to LOW, any other NaN as to HIGH */
        return key(from, x, to, !is_mark(from, x));
    case TL_WIDEN_HIGH_MARK:
        return key(from, x, to, is_mark(from, x));
    case TL_WIDEN_VALUE:
        return is_float(to) ? real(from, x, to) : key(from, x, to, 0);
    case TL_WIDEN_BITS:
        return x;
    case TL_WIDEN_NONZERO:
        return is_float(from) ? (x & (sign_of(from) - 1)) != 0 : x != 0;
    case TL_WIDEN_NONZERO_LOW:
        return !is_nan(from, x) && (x & (sign_of(from) - 1)) != 0;
    case TL_WIDEN_NUMBER:
        return is_float(from) ? real(from, x, to) : 0;
    }
    return check(0, "conversion %d is not in test_convert.c", kind), 0;
}

/* Does this row make elements of the kernels', and not results of the caller's? */
static int is_forward(const row *r)
{
    switch (r->kind) {
    case TL_WIDEN_LOW:
    case TL_WIDEN_HIGH:
        return r->to == TALLY_I32 || r->to == TALLY_I64;
    case TL_WIDEN_VALUE:
        return r->to == TALLY_I32 || r->to == TALLY_I64 || r->to == TALLY_F32;
    case TL_WIDEN_BITS:
        return r->to == TALLY_U32;
    case TL_WIDEN_DOUBLE:
        return r->to == TALLY_F64;
    default:
        return 1;
    }
}

/* ---- the values ---- */

static uint64_t mask_of(tally_dtype d) { return ~(uint64_t)0 >> (64 - bits_of(d)); }

/* Value number i of the EXHAUSTIVE values of a type: all of them, or the special ones and then
   random ones. */
static uint64_t value(tally_dtype d, int64_t i)
{
    static const uint64_t ends[] = {0, 1, 2, 3};
    const uint64_t edges[] = {0,
                              sign_of(d),
                              is_float(d) ? infinity_of(d) : 0,
                              is_float(d) ? quiet_of(d) : 0,
                              is_float(d) ? (uint64_t)1 << mantissa_of(d) : 0,
                              mask_of(d)};
    enum {
        ENDS = sizeof ends / sizeof *ends,
        EDGES = sizeof edges / sizeof *edges,
        SPECIAL = 4 * ENDS * EDGES
    };
    if (bits_of(d) <= 16) return (uint64_t)i & mask_of(d);
    if (i >= SPECIAL) {
        uint64_t x = 0;
        tl_random_fill(&check_state, &x, d, 1, (tl_data)(i % TL_DATA_KINDS));
        return x;
    }
    uint64_t x =
        edges[i / 4 / ENDS] + (i & 1 ? ends[i / 4 % ENDS] : (uint64_t)0 - ends[i / 4 % ENDS]);
    return (i & 2 ? x ^ sign_of(d) : x) & mask_of(d);
}

/* The source and the wanted result of every value of a row, as elements. */
static char source[EXHAUSTIVE * 8], wanted[EXHAUSTIVE * 8], got[EXHAUSTIVE * 8 + 2 * GUARD];

static void make(const row *r)
{
    int64_t in = bits_of(r->from) / 8, out = bits_of(r->to) / 8;
    for (int64_t i = 0; i < EXHAUSTIVE; i++) {
        uint64_t x, y;
        if (is_forward(r)) {
            x = value(r->from, i);
            y = forward(r->kind, r->from, x, r->to);
        } else {
            y = value(r->to, i);
            if (is_nan(r->to, y) && r->kind != TL_WIDEN_BITS) y = quiet_of(r->to);
            x = forward(r->kind, r->to, y, r->from);
            if (i < 2 && is_float(r->to) && (r->kind == TL_WIDEN_LOW || r->kind == TL_WIDEN_HIGH))
                /* both ends of the keys */
                x = i ? sign_of(r->from) : sign_of(r->from) - 1, y = quiet_of(r->to);
        }
        memcpy(source + i * in, &x, (size_t)in);
        memcpy(wanted + i * out, &y, (size_t)out);
    }
}

/* ---- the checks ---- */

/* n elements from number `first` on, and the bytes from aligned addresses to theirs and to the
   results'. */
typedef struct some {
    int64_t first, n, offset, to_offset;
} some;

static void check_place(const tl_convert *c, const row *r, const char *isa, some s)
{
    const int64_t first = s.first, n = s.n, offset = s.offset, to_offset = s.to_offset;
    static _Alignas(64) char from[(SHORT + 1) * 8 + OFFSETS], guard[GUARD];
    static _Alignas(64) char to[(SHORT + 1) * 8 + OFFSETS + 2 * GUARD];
    char *y = to + GUARD + to_offset;
    memcpy(from + offset, source + first * c->from_bytes, (size_t)(n * c->from_bytes));
    memset(guard, 0xa5, sizeof guard);
    memset(y - GUARD, 0xa5, (size_t)(n * c->to_bytes + 2 * GUARD));
    c->apply(c, y, from + offset, n);
    if (memcmp(y, wanted + first * c->to_bytes, (size_t)(n * c->to_bytes)))
        check_same(y, wanted + first * c->to_bytes, n, c->to_bytes,
                   "%s, %s, n = %lld, offsets %lld and %lld", r->name, isa, (long long)n,
                   (long long)offset, (long long)to_offset);
    if (memcmp(y - GUARD, guard, GUARD) || memcmp(y + n * c->to_bytes, guard, GUARD))
        check(0, "%s, %s, n = %lld, offsets %lld and %lld: a byte outside the result was written",
              r->name, isa, (long long)n, (long long)offset, (long long)to_offset);
}

/* The elements end where the memory ends: a conversion that reads past them ends the program. */
static void check_end(const tl_convert *c, const row *r, const char *isa, char *page)
{
    for (int64_t n = 0; n <= SHORT; n++) {
        char *x = page + PAGE - n * c->from_bytes;
        memcpy(x, source, (size_t)(n * c->from_bytes));
        c->apply(c, got, x, n);
        check_same(got, wanted, n, c->to_bytes, "%s, %s, n = %lld at the end of a page", r->name,
                   isa, (long long)n);
    }
}

static void check_row(const tl_convert *c, const row *r, const char *isa, char *page)
{
    check(c->from_bytes == bits_of(c->from) / 8 && c->to_bytes == bits_of(c->to) / 8,
          "%s, %s: sizes", r->name, isa);
    make(r);
    c->apply(c, got, source, EXHAUSTIVE);
    if (!check_same(got, wanted, EXHAUSTIVE, c->to_bytes, "%s, %s", r->name, isa)) return;
    const int64_t before = check_failed;
    for (int64_t n = 0; n <= SHORT && check_failed == before; n++)
        for (int64_t offset = 0; offset < OFFSETS; offset += check_quick ? 7 : 1) {
            int64_t first = check_below(EXHAUSTIVE - SHORT);
            check_place(c, r, isa, (some){first, n, offset, (offset * 5 + n) % OFFSETS});
            check_place(c, r, isa, (some){first, n, (offset * 3 + n) % OFFSETS, offset});
        }
    if (check(check_failed == before, "%s, %s: short arrays", r->name, isa))
        check_end(c, r, isa, page);
}

int main(void)
{
    check_start();
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE)) return perror("mmap"), 2;
    for (int isa = 0; isa < tl_isa_count(); isa++) {
        if (!tl_isa_runs(isa)) continue;
        const tl_convert *c = tl_isa_converts(isa);
        for (int i = 0; i < ROWS; i++, c++)
            if (check(c->apply && c->kind == rows[i].kind && c->from == rows[i].from &&
                          c->to == rows[i].to,
                      "%s: row %d of the conversions is not %s", tl_isa_name(isa), i, rows[i].name))
                check_row(c, &rows[i], tl_isa_name(isa), page);
            else
                return check_finish();
        check(!c->apply, "%s: conversions after the last row", tl_isa_name(isa));
    }
    munmap(page, 2 * PAGE);
    return check_finish();
}
