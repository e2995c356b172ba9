/* SPDX-License-Identifier: MIT
 * Prepares views with validity, and two inputs, for the other kernels (context/device.h): writes
 * dense elements of one type, without bitmaps. A launch prepares all elements of a view, in rows of
 * `inner`; those of two inputs are written in pairs. The text depends on no operator and no type,
 * so one program serves all.
 *
 *   x --convert to `to_type`--> make NaNs quiet --> replace absent elements by `fill` --> to
 *   y --convert to `to_type`--> make NaNs quiet --------------------------> to, after its x
 *
 * Types are numbers TYPE(kind, bytes). Elements are bits: a NaN keeps its payload unless it is made
 * quiet. */

/* The value of a float of 2 or 4 bytes; exact. */
fn f32 float_of(u64 bits, int type)
{
    const u32 x = (u32)bits;
    if (type == TYPE(KIND_FLOAT, 4)) return as_f32(x);
    if (type == TYPE(KIND_BFLOAT, 2)) return as_f32(x << 16);
    /* see to_real in prelude_gpu.h */
    u32 b = as_u32(as_f32((x & 0x7fff) << 13) * as_f32(0x77800000u));
    b |= (x & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
    return as_f32(b | (x & 0x8000) << 16);
}

fn i64 signed_of(u64 bits, int bytes)
{
    return (i64)(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

/* Converts an element of type `from` to a wider type: f64, f32 from a float, or 64 bits from an
 * integer. */
fn u64 widened(u64 bits, int from, int to)
{
    const int kind = TYPE_KIND(from), bytes = TYPE_BYTES(from);
    if (from == to) return bits;
    const u64 whole = kind == KIND_SIGNED ? (u64)signed_of(bits, bytes) : bits;
    if (TYPE_KIND(to) != KIND_FLOAT) return whole;
    if (to == TYPE(KIND_FLOAT, 4)) return as_u32(float_of(bits, from));
    if (kind == KIND_SIGNED) return as_u64((f64)(i64)whole);
    if (kind == KIND_UNSIGNED) return as_u64((f64)whole);
    return as_u64((f64)float_of(bits, from));
}

fn int bits_are_nan(u64 bits, int type)
{
    return (bits & (~(u64)0 >> (65 - 8 * TYPE_BYTES(type)))) > infinity_of(type);
}

/* Infinity with the highest bit of the mantissa, which is half the lowest bit of infinity. */
fn u64 quiet_nan(int type)
{
    const u64 infinity = infinity_of(type);
    return infinity | (infinity & (~infinity + 1)) >> 1;
}

/* An input. bits: 0 if there is no bitmap. */
typedef struct {
    GLOBAL const u8 *data, *bits;
    i64 inner, outer, bit; /* bit: of the element at place 0 */
    int type;
} source;

fn u64 prepared(source s, i64 place, int type, i64 flags)
{
    const u64 v =
        widened(bits_at(s.data + place * TYPE_BYTES(s.type), TYPE_BYTES(s.type)), s.type, type);
    return flags & PREPARE_QUIET && bits_are_nan(v, type) ? quiet_nan(type) : v;
}

fn int is_there(source s, i64 place)
{
    const i64 b = s.bit + place;
    return !s.bits || (s.bits[b >> 3] >> (b & 7) & 1);
}

/* ---- contiguous elements ---- */

/* What is done with an element. An element is a NaN if its bits without the sign are larger than
 * `..._above`. zero: mask of the bits that a zero keeps. */
typedef struct {
    u64 sign, quiet_above, quiet, masked_above, fill, zero;
} filling;

fn filling filling_of(int type, i64 flags, i64 fill)
{
    const u64 all = ~(u64)0 >> (64 - 8 * TYPE_BYTES(type)), magnitude = all >> 1;
    const u64 infinite = infinity_of(type);
    filling f;

    f.sign = all ^ magnitude, f.quiet = quiet_nan(type), f.fill = (u64)fill;
    f.zero = flags & PREPARE_ZEROS ? 0 : all;
    f.quiet_above = flags & PREPARE_QUIET ? infinite : magnitude;
    f.masked_above = flags & PREPARE_MASKED ? infinite : magnitude;

    return f;
}

far_fn i64 long_quotient(i64 j, i64 inner) { return j / inner; }
fn i64 row_number(i64 j, i64 inner)
{
    return ((j | inner) >> 32) == 0 ? (i64)((u32)j / (u32)inner) : long_quotient(j, inner);
}

/* True if the elements of a row are contiguous, have the prepared type, and rows begin at units. */
fn int is_dense(source s, int type, i64 inner, i64 count, int each)
{
    return s.type == type && s.inner == 1 && ADDRESS(s.data) % TYPE_BYTES(type) == 0 &&
           (inner >= count || inner % each == 0);
}

/* True if units are aligned. */
fn int is_aligned(source s, i64 inner, i64 count, int each)
{
    return ADDRESS(s.data) % (each * TYPE_BYTES(s.type)) == 0 &&
           (inner >= count || s.outer % each == 0);
}

/* The validity bits of `each` <= 8 elements from a place on. */
fn u32 bits_from(source s, i64 place, int each)
{
    const i64 b = s.bit + place;
    if (!s.bits) return 255;
    return ((u32)s.bits[b >> 3] | (u32)s.bits[(b + each - 1) >> 3] << 8) >> (b & 7);
}

/* Each thread prepares PREPARE_UNITS units, whose loads overlap, of `each` elements, at most 16
 * bytes of output. Returns how many elements; the rest comes after them. */
enum { PREPARE_UNITS = 2 };
#define DENSE(name, word, each_, pairs) \
    fn i64 name(source x, source y, i64 count, i64 inner, filling f, GLOBAL u8 *to, \
                GLOBAL u8 *counts) \
    { \
        enum { EACH = each_, ALL = EACH * (1 + pairs), TILE = PREPARE_UNITS * PREPARE_THREADS }; \
        typedef struct ALIGNED(EACH * sizeof(word)) { \
            word w[EACH]; \
        } unit; \
        typedef struct ALIGNED(ALL * sizeof(word)) { \
            word w[ALL]; \
        } packed; \
        const i64 units = count / EACH, step = group_count() * TILE; \
        const int x_aligned = is_aligned(x, inner, count, EACH), \
                  y_aligned = pairs && is_aligned(y, inner, count, EACH); \
        const word sign = (word)f.sign; \
        for (i64 first = group_index() * TILE + thread_index(); first < units; first += step) { \
            unit v[PREPARE_UNITS], w[PREPARE_UNITS]; \
            u32 there[PREPARE_UNITS]; \
            FOR(k, PREPARE_UNITS) { \
                const i64 u = first + k * PREPARE_THREADS < units ? first + k * PREPARE_THREADS \
                                                                  : first, \
                          j = u * EACH; \
                const i64 outer = inner < count ? row_number(j, inner) : 0, \
                          in = j - outer * inner; \
                GLOBAL const word *a = (GLOBAL const word *)x.data + (in + outer * x.outer); \
                if (x_aligned) { \
                    v[k] = *(GLOBAL const unit *)a; \
                } else { \
                    FOR(c, EACH) v[k].w[c] = a[c]; \
                } \
                there[k] = bits_from(x, in + outer * x.outer, EACH); \
                if (!pairs) continue; \
                a = (GLOBAL const word *)y.data + (in + outer * y.outer); \
                if (y_aligned) { \
                    w[k] = *(GLOBAL const unit *)a; \
                } else { \
                    FOR(c, EACH) w[k].w[c] = a[c]; \
                } \
                there[k] &= bits_from(y, in + outer * y.outer, EACH); \
            } \
            FOR(k, PREPARE_UNITS) { \
                const i64 u = first + k * PREPARE_THREADS; \
                packed m; \
                u32 counting = there[k]; \
                if (u >= units) continue; \
                FOR(c, EACH) { \
                    word e = v[k].w[c], magnitude = (word)(e & ~sign); \
                    e = magnitude > (word)f.quiet_above ? (word)f.quiet \
                        : magnitude                     ? e \
                                                        : e & (word)f.zero; \
                    counting &= magnitude > (word)f.masked_above ? ~(1u << c) : ~0u; \
                    m.w[pairs ? 2 * c : c] = there[k] >> c & 1 ? e : (word)f.fill; \
                    if (!pairs) continue; \
                    e = w[k].w[c], magnitude = (word)(e & ~sign); \
                    counting &= magnitude > (word)f.masked_above ? ~(1u << c) : ~0u; \
                    m.w[pairs ? 2 * c + 1 : 0] = \
                        magnitude > (word)f.quiet_above ? (word)f.quiet : e; \
                } \
                ((GLOBAL packed *)to)[u] = m; \
                if (!counts) continue; \
                FOR(c, EACH) counts[u * EACH + c] = (u8)(counting >> c & 1); \
            } \
        } \
        return units * EACH; \
    }
DENSE(dense_1, u8, 8, 0)
DENSE(dense_2, u16, 8, 0)
DENSE(dense_4, u32, 4, 0)
DENSE(dense_8, u64, 2, 0)
DENSE(pairs_1, u8, 8, 1)
DENSE(pairs_2, u16, 4, 1)
DENSE(pairs_4, u32, 2, 1)
DENSE(pairs_8, u64, 1, 1)

KERNEL_OF(prepare)
{
    const int pairs = y_data != 0, type = (int)to_type, bytes = TYPE_BYTES(type);
    source x, y;

    x.data = x_data + x_byte, x.bits = x_bits, x.inner = x_inner, x.outer = x_outer, x.bit = x_bit;
    x.type = (int)x_type;
    y.data = y_data + y_byte, y.bits = y_bits, y.inner = y_inner, y.outer = y_outer, y.bit = y_bit;
    y.type = (int)y_type;
    const i64 step = group_count() * PREPARE_THREADS;
    const int each = pairs ? bytes == 1 ? 8 : 8 / bytes : bytes == 1 ? 8 : 16 / bytes;
    i64 done = 0;

    if (is_dense(x, type, inner, count, each) &&
        (!pairs || is_dense(y, type, inner, count, each))) {
        const filling f = filling_of(type, flags, fill);
        if (pairs)
            done = bytes == 4   ? pairs_4(x, y, count, inner, f, to, counts)
                   : bytes == 8 ? pairs_8(x, y, count, inner, f, to, counts)
                   : bytes == 2 ? pairs_2(x, y, count, inner, f, to, counts)
                                : pairs_1(x, y, count, inner, f, to, counts);
        else
            done = bytes == 4   ? dense_4(x, y, count, inner, f, to, counts)
                   : bytes == 8 ? dense_8(x, y, count, inner, f, to, counts)
                   : bytes == 2 ? dense_2(x, y, count, inner, f, to, counts)
                                : dense_1(x, y, count, inner, f, to, counts);
    }

    for (i64 j = done + group_index() * PREPARE_THREADS + thread_index(); j < count; j += step) {
        const i64 outer = inner < count ? row_number(j, inner) : 0;
        const i64 in = j - outer * inner, at = in * x.inner + outer * x.outer,
                  other = in * y.inner + outer * y.outer;
        u64 v = prepared(x, at, type, flags);
        int there = is_there(x, at);
        if (pairs) there &= is_there(y, other);
        if (flags & PREPARE_ZEROS && !(v << (65 - 8 * bytes))) v = 0;
        if (!there) v = (u64)fill;
        store_bits(to, pairs ? 2 * j : j, v, bytes);

        if (pairs) {
            const u64 w = prepared(y, other, type, flags);
            store_bits(to, 2 * j + 1, w, bytes);
            if (flags & PREPARE_MASKED) there &= !bits_are_nan(w, type);
        }

        if (flags & PREPARE_MASKED) there &= !bits_are_nan(v, type);
        if (counts) counts[j] = (u8)there;
    }
}
