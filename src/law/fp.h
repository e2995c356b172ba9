/* SPDX-License-Identifier: MIT
 * The floating-point environment that the law needs: round to nearest, subnormals neither flushed
 * nor read as zero, exceptions masked. It is entered and left around every public call and in every
 * worker thread. If it is already set, this costs one register read. */
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef unsigned tl_fp;
enum { TL_FP_FLAGS = 0x3f, TL_FP_WANTED = 0x1f80 }; /* MXCSR: the sticky flags; its default value */

static inline tl_fp tl_fp_enter(void)
{
    unsigned was = _mm_getcsr();
    if ((was & ~(unsigned)TL_FP_FLAGS) != TL_FP_WANTED) _mm_setcsr(TL_FP_WANTED);
    return was;
}

static inline void tl_fp_leave(tl_fp was)
{
    if ((was & ~(unsigned)TL_FP_FLAGS) != TL_FP_WANTED) _mm_setcsr(was);
}
#elif defined(__aarch64__)
typedef unsigned long tl_fp;

static inline tl_fp tl_fp_enter(void)
{
    unsigned long was, none = 0; /* FPCR 0: nearest, no flush, default NaN off, no traps */
    __asm__ volatile("mrs %0, fpcr" : "=r"(was));
    if (was) __asm__ volatile("msr fpcr, %0" ::"r"(none));
    return was;
}

static inline void tl_fp_leave(tl_fp was)
{
    if (was) __asm__ volatile("msr fpcr, %0" ::"r"(was));
}
#else
#include <fenv.h>

typedef fenv_t tl_fp;

static inline tl_fp tl_fp_enter(void)
{
    fenv_t was;
    fegetenv(&was);
    fesetenv(FE_DFL_ENV);
    return was;
}

static inline void tl_fp_leave(tl_fp was) { fesetenv(&was); }
#endif

static inline void tl_fp_end(const tl_fp *was) { tl_fp_leave(*was); }

/* The law's environment until the block ends. */
#define TL_LAW_FP __attribute__((cleanup(tl_fp_end), unused)) const tl_fp fp_ = tl_fp_enter()
