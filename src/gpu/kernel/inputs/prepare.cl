/* SPDX-License-Identifier: MIT
 * What the other kernels get of views with validity, and of two inputs (context/inputs.h): dense elements of one type,
 * without the bitmaps. A launch makes all elements of a view, in rows of `inner`; those of two inputs lie in pairs. No
 * operator, and no type, is known to this text: one program serves them all.
 *
 *   x --to the type `type`--> NaNs made quiet --> those that are left out get `fill` --> to
 *   y --to the type `type`-->                                                            beside it
 *
 * Types are numbers TYPE(kind, bytes). Elements are bits here: a NaN keeps its payload unless it is made quiet. */
#define X_SOURCE_PARAMETERS PARAMETERS_OF(X_SOURCE)
#define Y_SOURCE_PARAMETERS PARAMETERS_OF(Y_SOURCE)

fn u64 bits_at(GLOBAL const u8 *p, int bytes)
{
    if (ADDRESS(p) % (u64)bytes) {
        u64 bits = 0;
        for (int k = bytes - 1; k >= 0; k--) bits = bits << 8 | p[k];
        return bits;
    }
    if (bytes == 4) return *(GLOBAL const u32 *)p;
    if (bytes == 8) return *(GLOBAL const u64 *)p;
    return bytes == 2 ? *(GLOBAL const u16 *)p : *p;
}

/* The value of a float of 2 or 4 bytes; exact. */
fn f32 float_of(u64 bits, int type)
{
    const u32 x = (u32)bits;
    if (type == TYPE(KIND_FLOAT, 4)) return as_f32(x);
    if (type == TYPE(KIND_BFLOAT, 2)) return as_f32(x << 16);
    u32 b = as_u32(as_f32((x & 0x7fff) << 13) * as_f32(0x77800000u)); /* to_real in prelude_gpu.h */
    b |= (x & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
    return as_f32(b | (x & 0x8000) << 16);
}

fn i64 signed_of(u64 bits, int bytes) { return (i64)(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes); }

/* An element of type `from` as one of a type that is wider: f64, f32 of a float, 64 bits of an integer. */
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
    const u64 magnitude = bits & (~(u64)0 >> (65 - 8 * TYPE_BYTES(type)));
    if (TYPE_KIND(type) < KIND_FLOAT) return 0;
    if (TYPE_BYTES(type) == 2) return magnitude > (TYPE_KIND(type) == KIND_FLOAT ? 0x7c00 : 0x7f80);
    return TYPE_BYTES(type) == 4 ? magnitude > 0x7f800000u : magnitude > 0x7ff0000000000000ul;
}
fn u64 quiet_nan(int type)
{
    if (TYPE_BYTES(type) == 2) return TYPE_KIND(type) == KIND_FLOAT ? 0x7e00 : 0x7fc0;
    return TYPE_BYTES(type) == 4 ? 0x7fc00000u : 0x7ff8000000000000ul;
}

/* An input, and the prepared type. */
typedef struct {
    GLOBAL const u8 *data, *bits;
    i64 inner, outer, bit; /* bit: of the element at place 0 */
    int type, valid;
} source;
fn u64 prepared(source s, i64 place, int type, i64 flags)
{
    const u64 v = widened(bits_at(s.data + place * TYPE_BYTES(s.type), TYPE_BYTES(s.type)), s.type, type);
    return flags & PREPARE_QUIET && bits_are_nan(v, type) ? quiet_nan(type) : v;
}
fn int is_there(source s, i64 place)
{
    const i64 b = s.bit + place;
    return !s.valid || (s.bits[b >> 3] >> (b & 7) & 1);
}
fn void put_bits(GLOBAL u8 *to, i64 i, u64 bits, int bytes)
{
    if (bytes == 4)
        ((GLOBAL u32 *)to)[i] = (u32)bits;
    else if (bytes == 8)
        ((GLOBAL u64 *)to)[i] = bits;
    else if (bytes == 2)
        ((GLOBAL u16 *)to)[i] = (u16)bits;
    else
        to[i] = (u8)bits;
}

KERNEL_OF(prepare)
{
    const int pairs = (flags & PREPARE_PAIRS) != 0, type = (int)to_type, bytes = TYPE_BYTES(type);
    source x, y;
    x.data = x_data + x_byte, x.bits = x_bits, x.inner = x_inner, x.outer = x_outer, x.bit = x_bit;
    x.type = (int)x_type, x.valid = (flags & PREPARE_X_BITS) != 0;
    y.data = y_data + y_byte, y.bits = y_bits, y.inner = y_inner, y.outer = y_outer, y.bit = y_bit;
    y.type = (int)y_type, y.valid = (flags & PREPARE_Y_BITS) != 0;
    const i64 step = group_count() * PREPARE_THREADS;
    for (i64 j = group_index() * PREPARE_THREADS + thread_index(); j < count; j += step) {
        i64 outer = 0;
        if (inner < count) outer = ((j | inner) >> 32) == 0 ? (i64)((u32)j / (u32)inner) : j / inner;
        const i64 in = j - outer * inner, at = in * x.inner + outer * x.outer, other = in * y.inner + outer * y.outer;
        u64 v = prepared(x, at, type, flags);
        int there = is_there(x, at);
        if (pairs) there &= is_there(y, other);
        if (flags & PREPARE_ZEROS && !(v << (65 - 8 * bytes))) v = 0;
        if (!there) v = (u64)fill;
        put_bits(to, pairs ? 2 * j : j, v, bytes);
        if (pairs) {
            const u64 w = prepared(y, other, type, flags);
            put_bits(to, 2 * j + 1, w, bytes);
            if (flags & PREPARE_MASKED) there &= !bits_are_nan(w, type);
        }
        if (flags & PREPARE_MASKED) there &= !bits_are_nan(v, type);
        if (flags & PREPARE_COUNTS) counts[j] = (u8)there;
    }
}
