/* SPDX-License-Identifier: MIT
 * Prepares views with validity, and two inputs, for the other kernels (context/inputs.h): writes
 * dense elements of one type, without bitmaps. A launch prepares all elements of a view, in rows of
 * `inner`; those of two inputs are written in pairs. The text depends on no operator and no type,
 * so one program serves all.
 *
 *   x --convert to `to_type`--> make NaNs quiet --> replace absent elements by `fill` --> to
 *   y --convert to `to_type`--> make NaNs quiet --------------------------> to, after its x
 *
 * Types are numbers TYPE(kind, bytes). Elements are bits: a NaN keeps its payload unless it is made
 * quiet. */
#define X_SOURCE_PARAMETERS PARAMETERS_OF(X_SOURCE)
#define Y_SOURCE_PARAMETERS PARAMETERS_OF(Y_SOURCE)

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

/* An input. bits: 0 if there is no bitmap. */
typedef struct {
    GLOBAL const u8 *data, *bits;
    i64 inner, outer, bit; /* bit: of the element at place 0 */
    int type;
} source;

/* What is done with elements of a type. A NaN is an element whose bits without the sign are larger
 * than those of infinity; limits of all bits never find one. */
typedef struct {
    int type;
    u64 size;                /* the bits without the sign */
    u64 quiet_limit, quiet;  /* NaNs beyond the limit become `quiet` */
    u64 masked_limit;        /* NaNs beyond the limit do not count */
    u64 zero;                /* bits of a zero that are kept */
} filling;

fn filling filling_of(int type, i64 flags)
{
    const u64 all = ~(u64)0, infinity = infinity_of(type);
    filling f;
    f.type = type, f.size = all >> (65 - 8 * TYPE_BYTES(type));
    f.quiet = infinity | (infinity & (~infinity + 1)) >> 1; /* the highest bit of the mantissa */
    f.quiet_limit = flags & PREPARE_QUIET ? infinity : all;
    f.masked_limit = flags & PREPARE_MASKED ? infinity : all;
    f.zero = flags & PREPARE_ZEROS ? 0 : all;
    return f;
}

far_fn i64 long_quotient(i64 j, i64 inner) { return j / inner; }
fn i64 row_number(i64 j, i64 inner)
{
    return ((j | inner) >> 32) == 0 ? (i64)((u32)j / (u32)inner) : long_quotient(j, inner);
}

/* Loads elements `at` of rows `row`, converted, with quiet NaNs. Returns a bit for each: 1 if it is
 * present. */
fn u32 load_source(u64 *v, source s, const i64 *row, const i64 *at, filling f)
{
    i64 place[LOADS];
    u32 there = ~0u;
    UNROLL for (int k = 0; k < LOADS; k++) place[k] = row[k] * s.outer + at[k] * s.inner;
    load_bits(v, s.data, place, TYPE_BYTES(s.type));
    if (s.bits) {
        u8 bits[LOADS];
        UNROLL for (int k = 0; k < LOADS; k++) bits[k] = s.bits[(s.bit + place[k]) >> 3];
        UNROLL for (int k = 0; k < LOADS; k++)
            there &= (u32)(bits[k] >> ((s.bit + place[k]) & 7) & 1) << k | ~(1u << k);
    }

    if (s.type != f.type) {
        UNROLL for (int k = 0; k < LOADS; k++) v[k] = widened(v[k], s.type, f.type);
    }
    UNROLL for (int k = 0; k < LOADS; k++) v[k] = (v[k] & f.size) > f.quiet_limit ? f.quiet : v[k];
    return there;
}

KERNEL_OF(prepare)
{
    enum { TILE = LOADS * PREPARE_THREADS };
    const int pairs = y_data != 0, bytes = TYPE_BYTES((int)to_type);
    const filling f = filling_of((int)to_type, flags);
    source x, y;

    x.data = x_data + x_byte, x.bits = x_bits, x.inner = x_inner, x.outer = x_outer, x.bit = x_bit;
    y.data = y_data + y_byte, y.bits = y_bits, y.inner = y_inner, y.outer = y_outer, y.bit = y_bit;
    x.type = (int)x_type, y.type = (int)y_type;
    for (i64 first = group_index() * TILE + thread_index(); first < count;
         first += group_count() * TILE) {
        i64 row[LOADS], at[LOADS];
        u64 v[LOADS], w[LOADS];
        UNROLL for (int k = 0; k < LOADS; k++)
        {
            const i64 j = first + k * PREPARE_THREADS, near = j < count ? j : first;
            row[k] = inner < count ? row_number(near, inner) : 0;
            at[k] = near - row[k] * inner;
        }

        u32 there = load_source(v, x, row, at, f);
        if (pairs) there &= load_source(w, y, row, at, f);
        UNROLL for (int k = 0; k < LOADS; k++)
        {
            const i64 j = first + k * PREPARE_THREADS;
            const u64 value = v[k] & f.size ? v[k] : v[k] & f.zero;
            u32 present = there >> k & 1;
            if (j >= count) continue;
            store_bits(to, pairs ? 2 * j : j, present ? value : (u64)fill, bytes);
            if (pairs) store_bits(to, 2 * j + 1, w[k], bytes);
            if (!counts) continue;
            present &= (u32)((v[k] & f.size) <= f.masked_limit);
            if (pairs) present &= (u32)((w[k] & f.size) <= f.masked_limit);
            counts[j] = (u8)present;
        }
    }
}
