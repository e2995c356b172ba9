/* SPDX-License-Identifier: MIT
 * Which kernels an instance has, from OP_WIDEN of its text: all kernels if other types are widened
 * to its elements (TL_FULL), else at most its own reduction (kernels.h). TL_WIDE: the element type
 * of its kernels. */
#define TL_WIDEN TL_PASTE(TL_WIDEN_, OP_WIDEN)
#if TL_WIDEN == TL_WIDEN_REAL || TL_WIDEN == TL_WIDEN_REAL_ONE
#define TL_WIDE TL_ACC
#elif TL_WIDEN == TL_WIDEN_WIDE
#define TL_WIDE TL_COLUMN(10, TL_DT)
#elif TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH
#define TL_WIDE TL_COLUMN(11, TL_DT)
#elif TL_WIDEN == TL_WIDEN_VALUE
#define TL_WIDE TL_COLUMN(12, TL_DT)
#elif TL_WIDEN == TL_WIDEN_BITS
#define TL_WIDE TL_COLUMN(13, TL_DT)
#elif TL_WIDEN == TL_WIDEN_NONZERO || TL_WIDEN == TL_WIDEN_NONZERO_LOW
#define TL_WIDE u32
#elif TL_WIDEN == TL_WIDEN_NUMBER
#define TL_WIDE f32
#elif TL_WIDEN == TL_WIDEN_DOUBLE
#define TL_WIDE f64
#else
#define TL_WIDE TL_DT
#endif

#if TL_WITH_SCALAR || (!TL_BORROWS && TL_COLUMN(14, TL_WIDE) == TL_COLUMN(14, TL_DT))
#define TL_FULL 1
#else
#define TL_FULL 0
#endif

/* 1: its elements have the same bytes as the wide type, so those kernels are used and nothing is
 * compiled. */
#if !TL_FULL && \
    (TL_WIDEN == TL_WIDEN_BITS ? TL_SIZE >= 4 \
                               : TL_WIDEN == TL_WIDEN_REAL && TL_SIZE == 8 && !TL_REAL_FLOAT)
#define TL_SAME 1
#else
#define TL_SAME 0
#endif

/* 1: the kernels also take unsigned integers, as keys with the sign bit flipped (tl_par). */
#if TL_FULL && TL_KIND == 1 && \
    (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH || TL_WIDEN == TL_WIDEN_VALUE)
#define TL_FLIPS 1
#else
#define TL_FLIPS 0
#endif

/* 1: an element, its state and its result have the same bytes. */
#if TL_FULL && OP_LANES == 1 && TL_OUT_SAME && \
    (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH || TL_WIDEN == TL_WIDEN_BITS)
#define TL_BARE 1
#else
#define TL_BARE 0
#endif

/* 1: it has its own `lower`. Float keys that are their own states are converted to results in
 * registers. */
#if TL_FULL || \
    ((TL_OUT_SAME || defined(OP_ABSENT)) && \
     (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH) && TL_KIND == 3 && TL_SIZE >= 4)
#define TL_LOWERS 1
#else
#define TL_LOWERS 0
#endif

/* 1: keys have another size or are biased, so a kernel's state has other bytes than the law's
 * (scalar.h). */
#if TL_WITH_SCALAR || TL_FULL
#define TL_CONVERTS_STATES 0
#elif TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH || TL_WIDEN == TL_WIDEN_VALUE
#define TL_CONVERTS_STATES (TL_SIZE < 4 || TL_KIND == 2)
#elif TL_WIDEN == TL_WIDEN_BITS
#define TL_CONVERTS_STATES (TL_SIZE < 4)
#elif TL_WIDEN == TL_WIDEN_DOUBLE
#define TL_CONVERTS_STATES 1
#elif TL_WIDEN == TL_WIDEN_NONZERO || TL_WIDEN == TL_WIDEN_NONZERO_LOW
#define TL_CONVERTS_STATES (TL_SIZE != 4)
#else
#define TL_CONVERTS_STATES 0
#endif
