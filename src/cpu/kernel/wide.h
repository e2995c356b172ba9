/* SPDX-License-Identifier: MIT
 * Which kernels an instance has, from what its text says (OP_WIDEN): all of them if its elements
 * are what others are widened to (TL_FULL), else at most its own reduction (kernels.h). TL_WIDE
 * is the type of the elements that its kernels get. */
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

/* Its elements have the bytes of the wide ones already: those kernels take them, and nothing is
   compiled for it. */
#if !TL_FULL &&                                                                                    \
    (TL_WIDEN == TL_WIDEN_BITS ? TL_SIZE >= 4                                                      \
                               : TL_WIDEN == TL_WIDEN_REAL && TL_SIZE == 8 && !TL_REAL_FLOAT)
#define TL_SAME 1
#else
#define TL_SAME 0
#endif

/* Its elements are keys of both kinds of integers (tl_par). */
#if TL_FULL && TL_KIND == 1 &&                                                                     \
    (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH || TL_WIDEN == TL_WIDEN_VALUE)
#define TL_FLIPS 1
#else
#define TL_FLIPS 0
#endif

/* The state of an element is the element, and the result is the state. */
#if TL_FULL && OP_LANES == 1 && TL_OUT_SAME &&                                                     \
    (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH || TL_WIDEN == TL_WIDEN_BITS)
#define TL_BARE 1
#else
#define TL_BARE 0
#endif

/* It lowers its own results: those of keys that are states of its own too are made in registers. */
#if TL_FULL ||                                                                                     \
    ((TL_OUT_SAME || defined(OP_ABSENT)) &&                                                        \
     (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH) && TL_KIND == 3 && TL_SIZE >= 4)
#define TL_LOWERS 1
#else
#define TL_LOWERS 0
#endif

/* Keys of another size, or biased: then a kernel's state has other bytes than the law's
   (scalar.h). */
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
