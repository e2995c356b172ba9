/* SPDX-License-Identifier: MIT
 * dtype.def for the preprocessor: facts about TL_DT and TL_ACC that an instance
 * (cpu/kernel/instance.h) needs in #if lines, where X-macro rows cannot be used. One line per
 * element type, with these columns. */
#pragma once

#define TL_CAT_(a, b) a##b
#define TL_CAT(a, b)  TL_CAT_(a, b)
/* While TL_CAT is being expanded. */
#define TL_PASTE_(a, b)      a##b
#define TL_PASTE(a, b)       TL_PASTE_(a, b)
#define TL_CAT3_(a, b, c)    a##_##b##_##c
#define TL_CAT3(a, b, c)     TL_CAT3_(a, b, c)
#define TL_CAT4_(a, b, c, d) a##_##b##_##c##_##d
#define TL_CAT4(a, b, c, d)  TL_CAT4_(a, b, c, d)
#define TL_STRING_(x)        #x
#define TL_STRING(x)         TL_STRING_(x)

/* 1 storage, 2 public name, 3 bytes, 4 kind (I 1, U 2, F 3), 5 format (16 for f16, 17 for bf16,
 * else 0), 6 the integer type that orders it (itself; for floats the signed integer of its size), 7
 * and 8 the largest and smallest value of that type, 9 the value for "missing". Then the types to
 * which CPU kernels may widen it (OP_WIDEN, cpu/kernel/instance.h): 10 an integer of 64 bits, 11 a
 * signed key, 12 a key of an integer but a number of a float, 13 the bits. 14 its number. */
#define TL_TRAITS_i8 int8_t, TALLY_I8, 1, 1, 0, int8_t, INT8_MAX, INT8_MIN, 0, i64, i32, i32, u32, 1
#define TL_TRAITS_u8 uint8_t, TALLY_U8, 1, 2, 0, uint8_t, UINT8_MAX, 0, 0, u64, i32, i32, u32, 2
#define TL_TRAITS_i16 \
    int16_t, TALLY_I16, 2, 1, 0, int16_t, INT16_MAX, INT16_MIN, 0, i64, i32, i32, u32, 3
#define TL_TRAITS_u16 \
    uint16_t, TALLY_U16, 2, 2, 0, uint16_t, UINT16_MAX, 0, 0, u64, i32, i32, u32, 4
#define TL_TRAITS_i32 \
    int32_t, TALLY_I32, 4, 1, 0, int32_t, INT32_MAX, INT32_MIN, 0, i64, i32, i32, u32, 5
#define TL_TRAITS_u32 \
    uint32_t, TALLY_U32, 4, 2, 0, uint32_t, UINT32_MAX, 0, 0, u64, i32, i32, u32, 6
#define TL_TRAITS_i64 \
    int64_t, TALLY_I64, 8, 1, 0, int64_t, INT64_MAX, INT64_MIN, 0, i64, i64, i64, u64, 7
#define TL_TRAITS_u64 \
    uint64_t, TALLY_U64, 8, 2, 0, uint64_t, UINT64_MAX, 0, 0, u64, i64, i64, u64, 8
#define TL_TRAITS_f16 \
    uint16_t, TALLY_F16, 2, 3, 16, int16_t, INT16_MAX, INT16_MIN, 0x7e00, none, i32, f32, u32, 9
#define TL_TRAITS_bf16 \
    uint16_t, TALLY_BF16, 2, 3, 17, int16_t, INT16_MAX, INT16_MIN, 0x7fc0, none, i32, f32, u32, 10
#define TL_TRAITS_f32 \
    float, TALLY_F32, 4, 3, 0, int32_t, INT32_MAX, INT32_MIN, __builtin_nanf(""), none, i32, f32, \
        u32, 11
#define TL_TRAITS_f64 \
    double, TALLY_F64, 8, 3, 0, int64_t, INT64_MAX, INT64_MIN, __builtin_nan(""), none, i64, f64, \
        u64, 12

/* Trait n of a type: the n-th of the list. */
#define TL_1_(a, ...)   a
#define TL_2_(a, ...)   TL_1_(__VA_ARGS__)
#define TL_3_(a, ...)   TL_2_(__VA_ARGS__)
#define TL_4_(a, ...)   TL_3_(__VA_ARGS__)
#define TL_5_(a, ...)   TL_4_(__VA_ARGS__)
#define TL_6_(a, ...)   TL_5_(__VA_ARGS__)
#define TL_7_(a, ...)   TL_6_(__VA_ARGS__)
#define TL_8_(a, ...)   TL_7_(__VA_ARGS__)
#define TL_9_(a, ...)   TL_8_(__VA_ARGS__)
#define TL_10_(a, ...)  TL_9_(__VA_ARGS__)
#define TL_11_(a, ...)  TL_10_(__VA_ARGS__)
#define TL_12_(a, ...)  TL_11_(__VA_ARGS__)
#define TL_13_(a, ...)  TL_12_(__VA_ARGS__)
#define TL_14_(a, ...)  TL_13_(__VA_ARGS__)
#define TL_NTH_(n, ...) TL_##n##_(__VA_ARGS__)
#define TL_NTH(n, ...)  TL_NTH_(n, __VA_ARGS__, )
#define TL_TRAIT(n, dt) TL_NTH(n, TL_CAT(TL_TRAITS_, dt))

/* The accumulator of an instance: C type, public name, bytes, floating-point or not. u64 is the
 * wrapping 64-bit integer for both signs. */
#define TL_ACCUMULATOR_u64   uint64_t, TALLY_U64, 8, 0
#define TL_ACCUMULATOR_f32   float, TALLY_F32, 4, 1
#define TL_ACCUMULATOR_f64   double, TALLY_F64, 8, 1
#define TL_ACCUMULATOR_none  float, 0, 4, 1
#define TL_ACC_TRAIT(n, acc) TL_NTH(n, TL_CAT(TL_ACCUMULATOR_, acc))

/* What the CPU kernels get instead of an element (OP_WIDEN; cpu/elements/convert.def). */
#define TL_WIDEN_OWN         0
#define TL_WIDEN_REAL        1
#define TL_WIDEN_WIDE        2
#define TL_WIDEN_LOW         3
#define TL_WIDEN_HIGH        4
#define TL_WIDEN_VALUE       5
#define TL_WIDEN_BITS        6
#define TL_WIDEN_NONZERO     7
#define TL_WIDEN_NUMBER      8
#define TL_WIDEN_REAL_ONE    9
#define TL_WIDEN_NONZERO_LOW 10
#define TL_WIDEN_DOUBLE      11
/* conversions only: LOW and HIGH with tl_par.marked */
#define TL_WIDEN_LOW_MARK  12
#define TL_WIDEN_HIGH_MARK 13
