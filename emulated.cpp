#define TL_ONE_KERNEL 1
#define TL_PICK_window_flat 0, 1
#define TL_IN_PLACE 1
#define TL_BITS 1

#line 1 "src/gpu/cuda/prelude_cuda.h"
/* SPDX-License-Identifier: MIT
 * The words of src/gpu/cuda/prelude_cuda.h in C++ for a processor: a thread is a fiber (fibers.h). test_emulated.c puts
 * it in the place of the other (TALLY_KERNELS). */
#include <math.h>
#include <stdint.h>
#include <string.h>
#define TL_CUDA 1
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct emulator {
    int thread, group, groups;
    uint64_t (*shuffle)(uint64_t v, int at, int across);
    void (*warp_barrier)(void), (*group_barrier)(void);
};
extern "C" {
emulator *emulated; /* set by the host */
}

#define fn                                 static inline
#define seldom_fn                          fn
#define far_fn                             static
#define KERNEL_0(name)                     static void name
#define KERNEL_1(name)                     extern "C" void name
#define PICK_(a, b, ...)                   b
#define PICK(...)                          PICK_(__VA_ARGS__, 0, 0)
#define CHOSEN_(which, pick)               which##pick
#define CHOSEN_KERNEL(which, pick)         CHOSEN_(which, pick)
#define KERNEL(name, threads)              CHOSEN_KERNEL(KERNEL_, PICK(TL_PICK_##name))(name)
#define KERNEL_BLOCKS(name, threads, most) KERNEL(name, threads)
#define GLOBAL
#define LOCAL
#define SHARED         static /* one group at a time */
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
static ALIGNED(16) u8 tl_room[256 << 10];
#define ROOM_PARAMETER
#define BOX_PARAMETER
#define ROOM_OF_PARAMETER tl_room
#define UNROLL
#define ROLLED
#define BARRIER()           emulated->group_barrier()
#define WARP_BARRIER()      emulated->warp_barrier()
#define COPY_UNIT(to, from) memcpy(to, from, 16)
#define COPY_WORD(to, from) memcpy(to, from, 8)
#define COPY_WAIT()
#define PREFETCH(p)
#define SKIPS      1
#define ADDRESS(p) ((u64)(p))
#define __threadfence()
template <class T, class V> static T atomicAdd(T *p, V v)
{
    const T before = *p;
    *p += (T)v;
    return before;
}
#define ADD_GLOBAL     atomicAdd
#define ADD_LOCAL      atomicAdd
#define OR_LOCAL(p, v) (*(p) |= (v))
fn int high_zeros(u32 x) { return __builtin_clz(x); }
fn int low_zeros(u32 x) { return __builtin_ctz(x); }
fn void post_word(u64 *p, u64 value, u64 mark) { p[0] = value, p[1] = mark; }
fn u64 look_word(const u64 *p, u64 *value)
{
    *value = p[0];
    return p[1];
}

template <class A, class B> static A bits_as(B b)
{
    A a;
    memcpy(&a, &b, sizeof a);
    return a;
}
fn u32 as_u32(f32 x) { return bits_as<u32>(x); }
fn u64 as_u64(f64 x) { return bits_as<u64>(x); }
fn f32 as_f32(u32 x) { return bits_as<f32>(x); }
fn f64 as_f64(u64 x) { return bits_as<f64>(x); }
fn f32 sqrt_f32(f32 x) { return sqrtf(x); }
fn f64 sqrt_f64(f64 x) { return sqrt(x); }

template <class T> static u32 pair_max(u32 a, u32 b)
{
    const T l = (T)a > (T)b ? (T)a : (T)b, h = (T)(a >> 16) > (T)(b >> 16) ? (T)(a >> 16) : (T)(b >> 16);
    return (u32)(u16)h << 16 | (u16)l;
}
template <class T> static u32 pair_min(u32 a, u32 b)
{
    const T l = (T)a < (T)b ? (T)a : (T)b, h = (T)(a >> 16) < (T)(b >> 16) ? (T)(a >> 16) : (T)(b >> 16);
    return (u32)(u16)h << 16 | (u16)l;
}
#define pair_max_s pair_max<i16>
#define pair_max_u pair_max<u16>
#define pair_min_s pair_min<i16>
#define pair_min_u pair_min<u16>
fn u32 word_element(u32 w, int k, int bytes, int is_signed)
{
    const u32 e = w << (32 - 8 * bytes * (k + 1));
    return is_signed ? (u32)((i32)e >> (32 - 8 * bytes)) : e >> (32 - 8 * bytes);
}
fn u32 word_sum(u32 w, u32 sum, int bytes, int is_signed)
{
    for (int k = 0; k < 4 / bytes; k++) sum += word_element(w, k, bytes, is_signed);
    return sum;
}
fn u32 word_squares(u32 w, u32 sum, int is_signed)
{
    for (int k = 0; k < 4; k++) sum += word_element(w, k, 1, is_signed) * word_element(w, k, 1, is_signed);
    return sum;
}
#define WORD_SUM(w, sum)     word_sum(w, sum, TL_SIZE, TL_KIND == 1)
#define WORD_SQUARES(w, sum) word_squares(w, sum, TL_KIND == 1)

fn int thread_index() { return emulated->thread; }
fn i64 group_index() { return emulated->group; }
fn i64 group_count() { return emulated->groups; }
#define WARPS_IN_GROUP 8
fn int lane_index() { return emulated->thread & 31; }
fn i64 warp_index() { return (i64)emulated->group * WARPS_IN_GROUP + emulated->thread / 32; }
fn i64 warp_count() { return (i64)emulated->groups * WARPS_IN_GROUP; }
template <class T> static T shuffle(T v, int at, int across)
{
    u64 bits = 0;
    memcpy(&bits, &v, sizeof v);
    bits = emulated->shuffle(bits, at, across);
    memcpy(&v, &bits, sizeof v);
    return v;
}
#define TL_SHUFFLES
#define SHUFFLE(across, type, to, from, at) to = shuffle(from, at, across)
#define QUAD_ALIGN                          (TL_SIZE * 4 > 16 ? 16 : TL_SIZE * 4)
#define QUAD_OUT_ALIGN                      (TL_OUT_SIZE * 4 > 16 ? 16 : TL_OUT_SIZE * 4)
#define QUAD_OF(T, align)                                                                                              \
    struct ALIGNED(align) {                                                                                            \
        T x, y, z, w;                                                                                                  \
    }
#define TL_SIZE 4
#define TL_KIND 3
#define TL_FORMAT 0
#define TL_REAL_FLOAT 4
#define REAL_T f32
#define STATE_BYTES 16
#define TL_OUT_SIZE 4
#define TL_OUT_FLOAT 4
#define OUT_T f32
#define ELEM_T f32
#define ORD_T i32
#define ROOM_LOG 10
#define WHOLE_LOG 10
#define ONCE_BLOCKS 1
#define FEW_BLOCKS 2
#define SCAN_LINES 0
#define DOWN_ROWS 0
#define DOWN_BLOCKS 2
#define RUNS 0
#define PASS_LOG 0
#define TL_MARKED 1

#line 1 "src/gpu/kernel/prelude_gpu.h"
/* SPDX-License-Identifier: MIT
 * The operator dialect on a GPU, after prelude_cuda.h or prelude_opencl.h: every word is a plain type or function of
 * one work-item. The assembler (gpu/program.c) defines, for the instance:
 *
 *   ELEM_T REAL_T ORD_T OUT_T    its types                       TL_SIZE       bytes of an element
 *   TL_KIND                      1 signed, 2 unsigned, 3 float   TL_FORMAT     16 f16, 17 bf16, else 0
 *   TL_OUT_SIZE                  bytes of one value of a result   STATE_BYTES bytes of a state
 *   TL_REAL_FLOAT TL_OUT_FLOAT   0 integer, 4 f32, 8 f64         ROOM_LOG      states of a tile of window, log2
 *   ONCE_BLOCKS, FEW_BLOCKS      groups of scan_once and scan_few a processor, 0 if they are not for this instance
 *   SCAN_LINES                   their warps take lines (scan_lines.cl)             WHOLE_LOG     of window_whole
 *   TL_MARKED                    defined where a nan form leaves out the mark, not every NaN
 *   RUNS                         threads of window_whole have 8 items side by side, two quads
 *   PASS_LOG                     log2 of the radix of window/passes.cl, 0 if that is not for this instance
 */
#if TL_KIND == 2
#define ORD_LOW  0
#define ORD_HIGH (~(ord)0)
#else
#define ORD_LOW  ((ord)((u64)1 << (8 * TL_SIZE - 1)))
#define ORD_HIGH (~ORD_LOW)
#endif
typedef ELEM_T elem;
typedef REAL_T real;
typedef ORD_T ord;
typedef OUT_T result;
typedef i64 idx;
typedef u64 wide;
typedef int mask;
typedef struct {
    f64 value;  /* the operator's parameter */
    i64 origin; /* index of the first element here in its whole sequence: 0 but for pieces of longer ones (batch.cl) */
} par;

#define REAL_IS_EXACT     (!TL_REAL_FLOAT)
#define FIELD(type, name) type name;
#ifdef POCL_DEVICE_ADDRESS_BITS /* both, then a choice: ?: of divisions would be branches (prelude_opencl.h, BARRIER) */
#define sel(c, a, b)                                                                                                   \
    ({                                                                                                                 \
        __typeof__(a) a_ = (a);                                                                                        \
        __typeof__(b) b_ = (b);                                                                                        \
        (c) ? a_ : b_;                                                                                                 \
    })
#else
#define sel(c, a, b) ((c) ? (a) : (b))
#endif
#define sel_idx(c, a, b) sel(c, a, b)
#define pick(c, a, b)    sel(c, a, b)
#define TL_N(name)       name
#define num(c)           ((real)(c))
#define ord_num(c)       ((ord)(c))
#define idx_num(c)       ((idx)(c))
#define wide_num(c)      ((wide)(c))
#define idx_if(m)        ((idx)((m) != 0))
#define wide_if(m)       ((wide)((m) != 0))
#define ord_if(m)        ((ord)((m) != 0))
#define ord_top          ((ord)(ORD_HIGH))
#define ord_bottom       ((ord)(ORD_LOW))
#define NEGATIVE_ZERO    (-0.0)
#define NO_INDEX         ((idx)0)
/* Of the accumulator's type: a conversion from another width need not keep a NaN's bits. */
#if TL_REAL_FLOAT == 4
#define NOT_A_NUMBER as_f32(0x7fc00000u)
#else
#define NOT_A_NUMBER as_f64(0x7ff8000000000000ul)
#endif

#if TL_FORMAT
#define TL_HALF_INF   (TL_FORMAT == 16 ? 0x7c00 : 0x7f80)
#define is_nan(x)     (((x)&0x7fff) > TL_HALF_INF)
#define is_number(x)  (((x)&0x7fff) <= TL_HALF_INF)
#define is_nonzero(x) (((x)&0x7fff) != 0)
#define elem_missing  ((elem)(TL_FORMAT == 16 ? 0x7e00 : 0x7fc0))
#define elem_bits(x)  (x)
#define bits_elem(b)  ((elem)(b))
#else
#define is_nan(x)     ((x) != (x))
#define is_number(x)  ((x) == (x))
#define is_nonzero(x) ((x) != 0)
#if TL_KIND == 3 && TL_SIZE == 4
#define elem_missing as_f32(0x7fc00000u)
#define elem_bits(x) as_u32(x)
#define bits_elem(b) as_f32((u32)(b))
#elif TL_KIND == 3
#define elem_missing as_f64(0x7ff8000000000000ul)
#define elem_bits(x) as_u64(x)
#define bits_elem(b) as_f64((u64)(b))
#else
#define elem_missing ((elem)0)
#endif
#endif

#ifdef TL_MARKED /* the mark alone is left out (context/inputs.h): all bits but the sign */
#define is_present(x, p) (elem_bits(x) != ~(u64)0 >> (65 - 8 * TL_SIZE))
#else
#define is_present(x, p) is_number(x)
#endif

#if TL_FORMAT == 16 && defined(HALF_TO_F32)
fn real to_real(elem x) { return (real)half_to_f32(x); }
#elif TL_FORMAT == 16
/* Exact: shift the fields into place and multiply by 2^112, which also normalises subnormals. */
fn real to_real(elem x)
{
    f32 f = as_f32((u32)(x & 0x7fff) << 13) * as_f32(0x77800000u);
    u32 b = as_u32(f);
    b |= (x & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
    b |= (u32)(x & 0x8000) << 16;
    return (real)as_f32(b);
}
#elif TL_FORMAT == 17
fn real to_real(elem x) { return (real)as_f32((u32)x << 16); }
#else
fn real to_real(elem x) { return (real)x; }
#endif

#if TL_KIND == 3
fn ord flip(ord b) { return (ord)(b ^ ((b >> (8 * TL_SIZE - 1)) & (ord)(ORD_HIGH))); }
fn ord to_ord(elem x) { return flip((ord)elem_bits(x)); }
fn elem from_ord(ord k)
{
    elem x = bits_elem(flip(k));
    return is_nan(x) ? elem_missing : x;
}
#else
fn ord to_ord(elem x) { return x; }
fn elem from_ord(ord k) { return k; }
#endif

#if TL_REAL_FLOAT
fn real canon(real x) { return x == x ? x : NOT_A_NUMBER; }
#else
fn real canon(real x) { return x; }
#endif
#if TL_REAL_FLOAT == 4
fn real root(real x) { return sqrt_f32(x); }
#elif TL_REAL_FLOAT == 8
fn real root(real x) { return sqrt_f64(x); }
#endif

#define to_result(x)      ((result)(x))
#define result_to_real(v) ((real)(v))
#define to_wide(x)        ((wide)(x))
#define wide_sign(x)      ((wide)((i64)(x) >> 63) & (TL_KIND == 1 ? ~(wide)0 : (wide)0))
#define signed_to_real(x) ((real)(i64)(x))
#define wide_to_real(x)   ((real)(u64)(x))
#define idx_to_real(x)    ((real)(i64)(x))
/* Of none 1: combine takes the other side whatever comes, and a division of 0 leaves the quick road of f64: a call
 * for the whole warp as soon as one lane has an absent element. */
#define kept_to_real(x) idx_to_real((x) + ((x) == 0))

#line 1 "src/operator/masked.h"
/* SPDX-License-Identifier: MIT
 * The nan form of an operator: an element that is masked, which is a NaN, is ABSENT. Included twice around the
 * operator's text: before it, so that its functions get other names (plain_lift, ...); after it, where the operator's
 * names are defined over those.
 *
 *   NEUTRAL   the text has OP_NEUTRAL, and counts nothing (OP_COUNTS, OP_SIZES): a masked element is the neutral state
 *   ABSENT    the text has OP_ABSENT, a key m that is of no element: that is the key of a masked one; lower of it is
 *             `empty`
 *   COUNTED   any other: a field more, `kept`, the elements of a node that are not masked. Of 0 the state is absent:
 *             combine takes the other side, and lower is `empty`. Else `kept` is the n of the text's lower and combine
 *
 * On the processors a nan form has kernels of its own, or those of OP_NAN_CORE, of elements widened by OP_NAN_WIDEN. */
#ifndef kept_to_real /* the number of a node's elements for combine; GPUs have their own */
#define kept_to_real idx_to_real
#endif
#define plain_state   TL_N(plain_state)
#define plain_lift    TL_N(plain_lift)
#define plain_combine TL_N(plain_combine)
#define plain_neutral TL_N(plain_neutral)
#define plain_seed    TL_N(plain_seed)
#define plain_lower   TL_N(plain_lower)
#define plain_lower_1 TL_N(plain_lower_1)
#define plain_of      TL_N(plain_of)
#define form_of       TL_N(form_of)
#undef state
#undef lift
#undef combine
#undef neutral
#undef seed
#undef lower
#undef lower_1

#ifndef TL_PLAIN
#define TL_PLAIN
#define state   plain_state
#define lift    plain_lift
#define combine plain_combine
#define neutral plain_neutral
#define seed    plain_seed
#define lower   plain_lower
#define lower_1 plain_lower_1
/* what is changed below, from the inclusion before */
#undef OP_CORE
#undef OP_WIDEN
#undef OP_IDEMPOTENT
#undef OP_INVERSE
#undef OP_TWIN
#undef OP_SIZES
#undef OP_EXTREME
#undef OP_ADDS
#undef OP_PICKS
#undef OP_COMMUTES

#else
#undef TL_PLAIN
#define state   TL_N(state)
#define lift    TL_N(lift)
#define combine TL_N(combine)
#define neutral TL_N(neutral)
#define seed    TL_N(seed)
#define lower   TL_N(lower)
#define lower_1 TL_N(lower_1)

#define OP_MASKED 1
#undef OP_TWIN /* two nodes of equal size have unequal counts */
#undef OP_CORE
#ifdef OP_NAN_CORE
#define OP_CORE OP_NAN_CORE
#endif
#ifdef OP_NAN_WIDEN
#undef OP_WIDEN
#define OP_WIDEN OP_NAN_WIDEN
#endif

/* An element is masked if one of its inputs is a NaN; if par.marked, only the NaN that is the mark (is_present). */
#if OP_INPUTS == 2
#define INPUTS elem x, elem y
#define GIVEN  x, y
fn mask present(elem x, elem y, par p)
{
    mask a = is_present(x, p), b = is_present(y, p);
    return a & b;
}
#else
#define INPUTS elem x
#define GIVEN  x
fn mask present(elem x, par p) { return is_present(x, p); }
#endif

#if !OP_SIZES && ((OP_NEUTRAL && !OP_COUNTS) || defined(OP_ABSENT))
typedef plain_state state;
fn state combine(state a, state b) { return plain_combine(a, b); }
#ifdef OP_ABSENT
fn state lift(INPUTS, idx i, par p)
{
    state r = plain_lift(GIVEN, i, p);
    r.m = pick(present(GIVEN, p), r.m, OP_ABSENT);
    return r;
}
fn result lower(state a, real n, idx first, par p)
{
    return pick(a.m == OP_ABSENT, empty(p), plain_lower(a, n, first, p));
}
#else
#ifdef OP_NAN_CORE
#define TL_BORROWS 1
#endif
fn state neutral(par p) { return plain_neutral(p); }
fn state lift(INPUTS, idx i, par p)
{
    state r = plain_lift(GIVEN, i, p), none = plain_neutral(p);
    mask m = present(GIVEN, p);
#define CHOOSE(type, f) r.f = pick(m, r.f, none.f);
    OP_STATE(CHOOSE)
#undef CHOOSE
    return r;
}
fn result lower(state a, real n, idx first, par p) { return plain_lower(a, n, first, p); }
#if OP_LANES == 2
fn result lower_1(state a, real n, idx first, par p) { return plain_lower_1(a, n, first, p); }
#endif
#endif
#if OP_SEED == 1
fn state seed(result v, par p) { return plain_seed(v, p); }
#endif

#else
#define TL_COUNTED   1
#define OP_FIELDS(F) OP_STATE(F) F(idx, kept)
#undef OP_IDEMPOTENT
#undef OP_INVERSE
#undef OP_EXTREME
#undef OP_ADDS
#undef OP_PICKS
#undef OP_COMMUTES
typedef struct {
    OP_FIELDS(FIELD)
} state;
#define COPY(type, f) r.f = s.f;
fn plain_state plain_of(state s)
{
    plain_state r;
    OP_STATE(COPY) return r;
}
fn state form_of(plain_state s, idx kept)
{
    state r;
    OP_STATE(COPY) r.kept = kept;
    return r;
}
fn state lift(INPUTS, idx i, par p)
{
    mask m = present(GIVEN, p);
    state r = form_of(plain_lift(GIVEN, i, p), idx_if(m));
#if OP_NEUTRAL
    plain_state none = plain_neutral(p);
#else
    plain_state none = {0};
#endif
#define CHOOSE(type, f) r.f = pick(m, r.f, none.f);
    OP_STATE(CHOOSE)
#undef CHOOSE
    return r;
}
fn state combine(state a, state b)
{
#if OP_SIZES /* what the place in the tree says counts absent elements too */
    plain_state s = plain_combine(plain_of(a), plain_of(b), kept_to_real(a.kept), kept_to_real(b.kept));
#else
    plain_state s = plain_combine(plain_of(a), plain_of(b));
#endif
    state r; /* not form_of: gcc 12 spends 5% of a window's time on what that returns */
    OP_STATE(COPY)
    r.kept = a.kept + b.kept;
#if !OP_NEUTRAL
#define CHOOSE(type, f)                                                                                                \
    r.f = pick(b.kept == idx_num(0), a.f, r.f);                                                                        \
    r.f = pick(a.kept == idx_num(0), b.f, r.f);
    OP_STATE(CHOOSE)
#undef CHOOSE
#endif
    return r;
}
#undef COPY
#if OP_NEUTRAL
fn state neutral(par p) { return form_of(plain_neutral(p), idx_num(0)); }
#endif
#if OP_SEED == 1
fn state seed(result v, par p) { return form_of(plain_seed(v, p), idx_num(1)); }
#endif
fn result lower(state a, real n, idx first, par p)
{
    result r = plain_lower(plain_of(a), idx_to_real(a.kept), first, p);
#if OP_COUNTS != 2 /* of none it is `empty` without our help */
    r = pick(a.kept == idx_num(0), empty(p), r);
#endif
    return r;
}
#endif

#undef OP_SIZES  /* a form's combine has two operands */
#if OP_SEED == 2 /* an initial value is an element: masked, if it is a NaN */
fn state seed(result v, par p) { return lift(v, NO_INDEX, p); }
#endif
#undef INPUTS
#undef GIVEN
#endif

#line 1 "src/op/mean.h"
/* SPDX-License-Identifier: MIT
 * mean of floats: the state of sum (op/sum.h), divided once, in lower, by n converted to the accumulator's type. */
#define OP_CORE sum
#define OP_COUNTS 2
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_STATE(F) F(real, s)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }
fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); return r; }
fn result lower(state a, real n, idx first, par p) { return to_result(canon((a.s + num(0.0)) / n)); }
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }

#line 1 "src/operator/masked.h"
/* SPDX-License-Identifier: MIT
 * The nan form of an operator: an element that is masked, which is a NaN, is ABSENT. Included twice around the
 * operator's text: before it, so that its functions get other names (plain_lift, ...); after it, where the operator's
 * names are defined over those.
 *
 *   NEUTRAL   the text has OP_NEUTRAL, and counts nothing (OP_COUNTS, OP_SIZES): a masked element is the neutral state
 *   ABSENT    the text has OP_ABSENT, a key m that is of no element: that is the key of a masked one; lower of it is
 *             `empty`
 *   COUNTED   any other: a field more, `kept`, the elements of a node that are not masked. Of 0 the state is absent:
 *             combine takes the other side, and lower is `empty`. Else `kept` is the n of the text's lower and combine
 *
 * On the processors a nan form has kernels of its own, or those of OP_NAN_CORE, of elements widened by OP_NAN_WIDEN. */
#ifndef kept_to_real /* the number of a node's elements for combine; GPUs have their own */
#define kept_to_real idx_to_real
#endif
#define plain_state   TL_N(plain_state)
#define plain_lift    TL_N(plain_lift)
#define plain_combine TL_N(plain_combine)
#define plain_neutral TL_N(plain_neutral)
#define plain_seed    TL_N(plain_seed)
#define plain_lower   TL_N(plain_lower)
#define plain_lower_1 TL_N(plain_lower_1)
#define plain_of      TL_N(plain_of)
#define form_of       TL_N(form_of)
#undef state
#undef lift
#undef combine
#undef neutral
#undef seed
#undef lower
#undef lower_1

#ifndef TL_PLAIN
#define TL_PLAIN
#define state   plain_state
#define lift    plain_lift
#define combine plain_combine
#define neutral plain_neutral
#define seed    plain_seed
#define lower   plain_lower
#define lower_1 plain_lower_1
/* what is changed below, from the inclusion before */
#undef OP_CORE
#undef OP_WIDEN
#undef OP_IDEMPOTENT
#undef OP_INVERSE
#undef OP_TWIN
#undef OP_SIZES
#undef OP_EXTREME
#undef OP_ADDS
#undef OP_PICKS
#undef OP_COMMUTES

#else
#undef TL_PLAIN
#define state   TL_N(state)
#define lift    TL_N(lift)
#define combine TL_N(combine)
#define neutral TL_N(neutral)
#define seed    TL_N(seed)
#define lower   TL_N(lower)
#define lower_1 TL_N(lower_1)

#define OP_MASKED 1
#undef OP_TWIN /* two nodes of equal size have unequal counts */
#undef OP_CORE
#ifdef OP_NAN_CORE
#define OP_CORE OP_NAN_CORE
#endif
#ifdef OP_NAN_WIDEN
#undef OP_WIDEN
#define OP_WIDEN OP_NAN_WIDEN
#endif

/* An element is masked if one of its inputs is a NaN; if par.marked, only the NaN that is the mark (is_present). */
#if OP_INPUTS == 2
#define INPUTS elem x, elem y
#define GIVEN  x, y
fn mask present(elem x, elem y, par p)
{
    mask a = is_present(x, p), b = is_present(y, p);
    return a & b;
}
#else
#define INPUTS elem x
#define GIVEN  x
fn mask present(elem x, par p) { return is_present(x, p); }
#endif

#if !OP_SIZES && ((OP_NEUTRAL && !OP_COUNTS) || defined(OP_ABSENT))
typedef plain_state state;
fn state combine(state a, state b) { return plain_combine(a, b); }
#ifdef OP_ABSENT
fn state lift(INPUTS, idx i, par p)
{
    state r = plain_lift(GIVEN, i, p);
    r.m = pick(present(GIVEN, p), r.m, OP_ABSENT);
    return r;
}
fn result lower(state a, real n, idx first, par p)
{
    return pick(a.m == OP_ABSENT, empty(p), plain_lower(a, n, first, p));
}
#else
#ifdef OP_NAN_CORE
#define TL_BORROWS 1
#endif
fn state neutral(par p) { return plain_neutral(p); }
fn state lift(INPUTS, idx i, par p)
{
    state r = plain_lift(GIVEN, i, p), none = plain_neutral(p);
    mask m = present(GIVEN, p);
#define CHOOSE(type, f) r.f = pick(m, r.f, none.f);
    OP_STATE(CHOOSE)
#undef CHOOSE
    return r;
}
fn result lower(state a, real n, idx first, par p) { return plain_lower(a, n, first, p); }
#if OP_LANES == 2
fn result lower_1(state a, real n, idx first, par p) { return plain_lower_1(a, n, first, p); }
#endif
#endif
#if OP_SEED == 1
fn state seed(result v, par p) { return plain_seed(v, p); }
#endif

#else
#define TL_COUNTED   1
#define OP_FIELDS(F) OP_STATE(F) F(idx, kept)
#undef OP_IDEMPOTENT
#undef OP_INVERSE
#undef OP_EXTREME
#undef OP_ADDS
#undef OP_PICKS
#undef OP_COMMUTES
typedef struct {
    OP_FIELDS(FIELD)
} state;
#define COPY(type, f) r.f = s.f;
fn plain_state plain_of(state s)
{
    plain_state r;
    OP_STATE(COPY) return r;
}
fn state form_of(plain_state s, idx kept)
{
    state r;
    OP_STATE(COPY) r.kept = kept;
    return r;
}
fn state lift(INPUTS, idx i, par p)
{
    mask m = present(GIVEN, p);
    state r = form_of(plain_lift(GIVEN, i, p), idx_if(m));
#if OP_NEUTRAL
    plain_state none = plain_neutral(p);
#else
    plain_state none = {0};
#endif
#define CHOOSE(type, f) r.f = pick(m, r.f, none.f);
    OP_STATE(CHOOSE)
#undef CHOOSE
    return r;
}
fn state combine(state a, state b)
{
#if OP_SIZES /* what the place in the tree says counts absent elements too */
    plain_state s = plain_combine(plain_of(a), plain_of(b), kept_to_real(a.kept), kept_to_real(b.kept));
#else
    plain_state s = plain_combine(plain_of(a), plain_of(b));
#endif
    state r; /* not form_of: gcc 12 spends 5% of a window's time on what that returns */
    OP_STATE(COPY)
    r.kept = a.kept + b.kept;
#if !OP_NEUTRAL
#define CHOOSE(type, f)                                                                                                \
    r.f = pick(b.kept == idx_num(0), a.f, r.f);                                                                        \
    r.f = pick(a.kept == idx_num(0), b.f, r.f);
    OP_STATE(CHOOSE)
#undef CHOOSE
#endif
    return r;
}
#undef COPY
#if OP_NEUTRAL
fn state neutral(par p) { return form_of(plain_neutral(p), idx_num(0)); }
#endif
#if OP_SEED == 1
fn state seed(result v, par p) { return form_of(plain_seed(v, p), idx_num(1)); }
#endif
fn result lower(state a, real n, idx first, par p)
{
    result r = plain_lower(plain_of(a), idx_to_real(a.kept), first, p);
#if OP_COUNTS != 2 /* of none it is `empty` without our help */
    r = pick(a.kept == idx_num(0), empty(p), r);
#endif
    return r;
}
#endif

#undef OP_SIZES  /* a form's combine has two operands */
#if OP_SEED == 2 /* an initial value is an element: masked, if it is a NaN */
fn state seed(result v, par p) { return lift(v, NO_INDEX, p); }
#endif
#undef INPUTS
#undef GIVEN
#endif

#line 1 "src/operator/defaults.h"
/* SPDX-License-Identifier: MIT
 * What an operator's text leaves out. */
#ifndef OP_EXACT
#define OP_EXACT 0
#endif
#ifndef OP_WIDEN
#define OP_WIDEN OWN
#endif
#ifndef OP_INPUTS
#define OP_INPUTS 1
#endif
#ifndef OP_FIELDS
#define OP_FIELDS OP_STATE
#endif
#ifndef OP_IDEMPOTENT
#define OP_IDEMPOTENT 0
#endif
#ifndef OP_INVERSE
#define OP_INVERSE 0
#endif
#ifndef OP_LANES
#define OP_LANES 1
#endif
#ifndef OP_NEUTRAL
#define OP_NEUTRAL 0
#endif
#ifndef OP_SEED
#define OP_SEED 0
#endif
#ifndef OP_MASKED
#define OP_MASKED 0
#endif
#ifndef OP_TWIN
#define OP_TWIN 0
#endif
#ifndef OP_MOMENTS
#define OP_MOMENTS 0
#endif
#ifndef OP_SIZES
#define OP_SIZES 0
#endif
#ifndef OP_EXTREME
#define OP_EXTREME 0
#endif
#ifndef OP_ADDS
#define OP_ADDS 0
#endif
#ifndef OP_PICKS
#define OP_PICKS 0
#endif
#ifndef OP_COMMUTES
#define OP_COMMUTES 0
#endif

#line 1 "src/gpu/kernel/constants.h"
/* SPDX-License-Identifier: MIT
 * The constants that the kernels and the host share: part of every program, and included by the C files of device/ that
 * launch kernels. C, CUDA and OpenCL C read it. Sizes that depend on the operator are defined by gpu/program.c. */

/* Lanes of a warp; items side by side that a lane takes at a time. */
enum { LANES = 32, QUAD = 4 };

/* A chunk has 2^ELEMENTS_LOG elements and its node is of level 1; 2^STATES_LOG nodes of a level make one of the next.
 * So n elements have n >> LEVEL_LOG(level) full nodes of a level above 0. */
enum { ELEMENTS_LOG = 10, STATES_LOG = 8, CHUNK = 1 << ELEMENTS_LOG };
#define LEVEL_LOG(level) (ELEMENTS_LOG - STATES_LOG + STATES_LOG * (level))

/* level.cl, nodes of columns: warps that share a chunk; threads of a group. */
enum { COLUMN_PARTS = 4, COLUMN_THREADS = COLUMN_PARTS * LANES };

/* Flags of a batch: sequences have offsets, and `first`; ids chooses among them; reduce gives states. */
enum { OFFSETS = 1, CHOSEN = 2, STATES = 4 };

/* What comes before a sequence of a scan: nothing, one value for all, or a state for each, packed. */
enum { SEED_NONE, SEED_VALUE, SEED_STATES };

/* law.cl: threads of a group. */
enum { LAW_THREADS = 64 };

/* grid.cl: threads of a group; steps of a block; bundles of 16 bytes that a lane copies at once. */
enum { GRID_THREADS = 256, GRID_LOG = 3, GRID_BLOCK = 1 << GRID_LOG, GRID_BUNDLES = 4 };

/* prepare.cl: threads of a group; types as numbers; what a launch does. */
enum { PREPARE_THREADS = 256 };
enum { KIND_SIGNED = 1, KIND_UNSIGNED, KIND_FLOAT, KIND_BFLOAT };
#define TYPE(kind, bytes) ((kind)*16 + (bytes))
#define TYPE_KIND(type)   ((type) >> 4)
#define TYPE_BYTES(type)  ((type)&15)
enum {
    PREPARE_PAIRS = 1,  /* of two inputs */
    PREPARE_X_BITS = 2, /* x, y has a bitmap */
    PREPARE_Y_BITS = 4,
    PREPARE_QUIET = 8,   /* NaNs become quiet ones without a payload */
    PREPARE_COUNTS = 16, /* a byte for each element: 1 if it counts, */
    PREPARE_MASKED = 32, /* and a NaN does not */
    PREPARE_ZEROS = 64   /* zeros of x become +0 */
};

/* keys.cl: threads of a group; keys of a tile, a word of 32 bits for each thread; tiles of a step; heads that lie in
 * local memory at a time; keys of a unit, of at most 16 bytes. */
enum { KEYS_THREADS = 256, KEYS_TILE = 32 * KEYS_THREADS, KEYS_TILES = 4, KEYS_STEP = KEYS_TILES * KEYS_TILE };
enum { KEYS_LIST = 8192 };
#define KEYS_UNIT(bytes) ((bytes) == 8 ? 2 : (bytes) == 4 ? 4 : 8)

/* exact/: threads of a group, groups of a processor, items of a job at most; of sums and of products of pairs the
 * digits below 2^-1074, all digits, and words of u32 of all bins; what a launch does. */
enum { EXACT_THREADS = 256, EXACT_BLOCKS = 3, EXACT_MOST = 1 << 27 };
enum { EXACT_LOW_SUMS = 2, EXACT_LOW_PAIRS = 34 };
#define EXACT_DIGITS_OF(pairs) ((pairs) ? 134 : 70)
#define EXACT_WORDS_OF(pairs)  (2 * (EXACT_DIGITS_OF(pairs) + 4))
enum { EXACT_MASKS = 5 }; /* words of a bit for each digit, behind the bins; with them an odd number */
#define EXACT_ROOM_OF(pairs) (EXACT_WORDS_OF(pairs) + EXACT_MASKS)
enum {
    EXACT_MARKED = 1, /* elements of -0 are left out */
    EXACT_MASKED = 2, /* and NaNs are */
    EXACT_MEAN = 4,
    EXACT_F64 = 8 /* results are f64, else f32 */
};

/* once (once.cl): a tile is TILE_WARPS warps of 2^more chunks each. After the last tile come less than CHUNKS_MOST
 * chunks, after the last chunk less than ROWS_MOST rows of 2^ROW_LOG elements. */
enum { TILE_WARPS_LOG = 3, TILE_WARPS = 1 << TILE_WARPS_LOG, TILE_MORE = 3, CHUNKS_MOST = TILE_WARPS << TILE_MORE };
enum { ROW_LOG = 7, ROWS_MOST = 1 << (ELEMENTS_LOG - ROW_LOG) };

/* scan_once.cl: a tile has a warp for each of its TILE_WARPS chunks, and two more. Its number has BOARD_LEVELS digits
 * of RADIX_LOG bits. STAGES tiles are in local memory. The board: ONCE_HEADER bytes, then words of ONCE_WORD bytes, a
 * piece of a state and the epoch. */
enum {
    ONCE_THREADS = (TILE_WARPS + 2) * LANES,
    STAGES = 3,
    RADIX_LOG = 5,
    BOARD_LEVELS = 4,
    ONCE_HEADER = 16,
    ONCE_WORD = 16
};

/* scan_down.cl: levels of nodes of tiles, and their radix, which is TILE_WARPS; groups of a processor. */
enum { COLUMN_LOG = TILE_WARPS_LOG, COLUMN_LEVELS = 7, DOWN_RUN = 4 };

/* forest.cl: what a warp's room holds: the elements of a window; nodes of groups of 8 elements and of 64; for segments
 * the offsets of a job, and where they begin. */
enum { FOREST_SEQUENCES = 128, FOREST_ELEMENTS = CHUNK, FOREST_NODES = FOREST_ELEMENTS / 8 };
#define FOREST_NODES_AT(elem)          (FOREST_ELEMENTS * (int)(elem) + 16)
#define FOREST_OFFSETS_AT(elem, state) ((FOREST_NODES_AT(elem) + FOREST_NODES / 8 * 9 * (int)(state) + 15) / 16 * 16)
#define FOREST_BEGIN_AT(elem, state)   (FOREST_OFFSETS_AT(elem, state) + 8 * (FOREST_SEQUENCES + 2))
#define FOREST_BYTES(elem, state, listed)                                                                              \
    ((listed) ? FOREST_BEGIN_AT(elem, state) + 4 * (FOREST_SEQUENCES + 4) : FOREST_OFFSETS_AT(elem, state))

#define FOREST_SCAN_BYTES(elem, state, result, listed)                                                                 \
    (FOREST_BYTES(elem, state, listed) + FOREST_ELEMENTS * (int)(result))

/* measure (segments.cl): words of u32 of what it says of offsets, then two of i64. */
enum { MEASURE_THREADS = 256, NODE_LEVELS = 8 };
enum { LONGS = 0, BAD = 1, DIFFERENT = 2, BEYOND = 3, NODES = 4, MEASURED_WORDS = NODES + NODE_LEVELS };
enum { FIRST_OFFSET = (MEASURED_WORDS + 1) / 2, LAST_OFFSET, MEASURED_LONG_WORDS };

/* middle_reduce.cl, middle_scan.cl: sequences below so many elements may be a warp's each, which keeps a chunk's node
 * in each of its lanes. */
enum { MIDDLE_END = 8 * CHUNK };

/* Windows: threads of a group. A tile of window_rows has 2^TILE_ROWS_LOG rows. */
enum { WINDOW_THREADS = 256, TILE_ROWS_LOG = 8, TILE_ROWS = 1 << TILE_ROWS_LOG };

/* window/passes.cl: the radix is of the operator (PASS_LOG, its log2); the pass `rows` folds bits 0 to PASS_TOP of its
 * own. Items of a thread; of a tile; of its room in local memory. */
enum { PASS_TOP = 5 };
#define PASS_RUN_OF(log)  ((1 << (log)) + 1)
#define PASS_TILE_OF(log) (WINDOW_THREADS * PASS_RUN_OF(log))
#define PASS_ROOM_OF(log) (PASS_TILE_OF(log) + (1 << (log)))

/* Windows of columns (window/columns.cl): elements of a step, as a power of 2; levels of the longest window. The nodes
 * that a lane keeps of level k: those that the next level needs, if it is not made in registers, and those that a fold
 * needs which goes back `fold`'s bits below k; in whole steps. */
#define WALK_LOG(state) ((state) > 8 ? 2 : 3)
enum { WALK_LEVELS = 16 };
#define RING_STEPS(lag, low)    (((lag) + (1 << (low)) - 1) >> (low) << (low))
#define RING_NEXT(k, top, low)  ((k) >= (low) && (k) < (top) ? 1 << (k) : 0)
#define RING_FOLD(k, fold, low) ((fold) >> (k)&1 ? RING_STEPS((fold) & ((1 << (k)) - 1), low) + (1 << (low)) : 0)
#define RING_SIZE(k, top, fold, low)                                                                                   \
    (RING_NEXT(k, top, low) > RING_FOLD(k, fold, low) ? RING_NEXT(k, top, low) : RING_FOLD(k, fold, low))

/* What window_part and window_tall_part make of their tiles: results; a level of a longer window's items; a longer
 * window's last bits, and its results; the results of a longer window that has none of these bits. */
enum { PART_RESULTS, PART_LEVEL, PART_LAST_BITS, PART_RESULTS_ALONE };

/* Windows that an edge cuts off: the launch has them too; or they have a launch of `window`, and all others one of
 * `window_whole`. */
enum { EDGES_TOO, EDGES_APART };

/* window/exact.cl: items of a run; runs that a tile of so many runs of results needs nodes for; where nodes and (if
 * they are larger than items) a round of results are in local memory, and the bytes of all. */
#define EXACT_RUN(state)                      ((state) > 16 ? 5 : (state) > 8 ? 9 : 15)
#define EXACT_RUNS(heads, middle)             ((heads) + (middle) + 2)
#define EXACT_STATES_AT(elem, state, each, d) ((((each) + (d) + EXACT_RUN(state)) * (int)(elem) + 16 + 15) / 16 * 16)
#define EXACT_RESULTS_AT(elem, state, each, d)                                                                         \
    ((EXACT_STATES_AT(elem, state, each, d) +                                                                          \
      4 * (int)(state)*EXACT_RUNS((each) / EXACT_RUN(state), (d) / EXACT_RUN(state) - 1) + 15) /                       \
     16 * 16)
#define EXACT_BYTES(elem, state, result, each, d)                                                                      \
    (EXACT_RESULTS_AT(elem, state, each, d) +                                                                          \
     ((result) > (elem) ? WINDOW_THREADS * EXACT_RUN(state) * (int)(result) : 0))

#line 1 "src/gpu/kernel/combine.cl"
/* SPDX-License-Identifier: MIT
 * C(a, b) of two states, and of two nodes of n elements each (OP_TWIN). na, nb, n: the elements that they have folded,
 * which the caller knows from their place in the tree. They are for texts with OP_SIZES; others drop them. */
#if TL_REAL_FLOAT == 8
typedef f64 amount; /* of elements: exact below 2^53, and no conversion for each operand */
#else
typedef i64 amount;
#endif
#if OP_SIZES
#define COMBINE(a, b, na, nb) combine(a, b, (real)(na), (real)(nb))
#else
#define COMBINE(a, b, na, nb) combine(a, b)
#endif
#if OP_TWIN && OP_SIZES
#define TWIN(a, b, n) twin(a, b, (real)(n))
#elif OP_TWIN
#define TWIN(a, b, n) twin(a, b)
#else
#define TWIN(a, b, n) COMBINE(a, b, n, n)
#endif

/* ---- elements ----
 *
 * Of a text of two inputs an element is a pair, which lies in memory as one item of twice the size (prepare.cl writes
 * them so); from here on TL_SIZE is that of the pair.
 *
 *   TL_IN_PLACE   the kernels read the caller's own arrays: in_place.cl
 *   TL_BITS       and a bitmap for each of them */
#ifndef TL_IN_PLACE
#define TL_IN_PLACE 0
#endif
#if TL_IN_PLACE
typedef elem input;
enum { INPUT_BYTES = TL_SIZE };
fn input input_of_bits(u64 bits)
{
#if TL_KIND == 3
    return bits_elem(bits);
#else
    return (input)bits;
#endif
}
fn input quieted(input x)
{
#ifdef TL_MARKED
    return is_nan(x) ? elem_missing : x;
#else
    return x;
#endif
}
#endif

#if OP_INPUTS == 2
typedef struct ALIGNED(2 * TL_SIZE) {
    elem x, y;
} pair;
fn state lift_pair(pair e, idx i, par p) { return lift(e.x, e.y, i, p); }
fn pair no_pair()
{
    pair e;
    e.x = e.y = 0;
    return e;
}
#undef lift
#define lift lift_pair
#define elem pair
#define NO_ELEMENT no_pair()
#if TL_SIZE == 1
#undef TL_SIZE
#define TL_SIZE 2
#elif TL_SIZE == 2
#undef TL_SIZE
#define TL_SIZE 4
#elif TL_SIZE == 4
#undef TL_SIZE
#define TL_SIZE 8
#else
#undef TL_SIZE
#define TL_SIZE 16
#endif
#else
#define NO_ELEMENT 0
#endif

#line 1 "src/gpu/kernel/batch.cl"
/* SPDX-License-Identifier: MIT
 * What every GPU shape starts from: a batch of sequences in memory, and states that lanes pass to each other.
 *
 * A sequence of n items is cut into chunks of 1024 elements; their nodes are level 1. 256 nodes of a level make one of
 * the next, so level l has n >> LEVEL_LOG(l) full nodes (constants.h). First node of sequence s: first[l][s] if lengths
 * differ, else s * count. */
typedef struct {
    GLOBAL const u8 *x;          /* element 0 of row 0 */
    i64 row_stride, stride, n;   /* in elements; n: of every sequence without offsets */
    i64 seqs, flags;             /* OFFSETS: offsets and first are used; CHOSEN: ids too; STATES: reduce gives states */
    GLOBAL const i64 *offsets;   /* rows + 1 */
    GLOBAL const i64 *ids;       /* row of sequence s */
    GLOBAL const i64 *first;     /* [level][seqs + 1] */
    par p;
#if TL_IN_PLACE                  /* in_place.cl */
    GLOBAL const u8 *y, *x_there, *y_there; /* the second input; the bitmaps */
    i64 x_bit, y_bit;                       /* of the elements at place 0 */
    u64 left_out;                           /* an element that is left out */
#endif
} batch;

#define BATCH_PARAMETERS GLOBAL const u8 *in_data, i64 in_byte, i64 in_row_stride, i64 in_stride, i64 in_n, i64 in_seqs, \
    i64 in_flags, GLOBAL const i64 *in_offsets, GLOBAL const i64 *in_ids, GLOBAL const i64 *in_first, f64 parameter, \
    i64 origin, IN_PLACE_PARAMETERS
#line 23 "src/gpu/kernel/batch.cl"
#define BATCH_OF_PARAMETERS                                                                                            \
    batch b;                                                                                                           \
    b.x = in_data + in_byte, b.row_stride = in_row_stride, b.stride = in_stride, b.n = in_n, b.seqs = in_seqs,         \
    b.flags = in_flags, b.offsets = in_offsets, b.ids = in_ids, b.first = in_first, b.p.value = parameter,             \
    b.p.origin = origin IN_PLACE_OF_PARAMETERS

#define IN_PLACE_PARAMETERS GLOBAL const u8 *y_data, i64 y_byte, GLOBAL const u8 *x_there, i64 x_bit, \
    GLOBAL const u8 *y_there, i64 y_bit, i64 left_out
#line 30 "src/gpu/kernel/batch.cl"
#if TL_IN_PLACE
#define IN_PLACE_OF_PARAMETERS                                                                                         \
    , b.y = y_data + y_byte, b.x_there = x_there, b.x_bit = x_bit, b.y_there = y_there, b.y_bit = y_bit,               \
      b.left_out = (u64)left_out
#else
#define IN_PLACE_OF_PARAMETERS
#endif

fn i64 row_of(batch b, i64 s) { return b.flags & CHOSEN ? b.ids[s] : s; }
fn i64 length_of(batch b, i64 s)
{
    if (!(b.flags & OFFSETS)) return b.n;
    i64 r = row_of(b, s);
    return b.offsets[r + 1] - b.offsets[r];
}
fn i64 start_of(batch b, i64 s) /* in elements of memory */
{
    i64 r = row_of(b, s);
    return b.flags & OFFSETS ? b.offsets[r] * b.stride : r * b.row_stride;
}
fn i64 level_count(i64 n, int level) { return level ? n >> LEVEL_LOG(level) : n; }
fn i64 level_size(int level) { return level ? (i64)1 << LEVEL_LOG(level) : 1; } /* elements of a node */
fn i64 level_first(batch b, int level, i64 s)
{
    return b.flags & OFFSETS ? b.first[level * (b.seqs + 1) + s] : s * level_count(b.n, level);
}
/* Where level l's nodes begin in the one array of all nodes. */
fn i64 level_base(batch b, int level)
{
    i64 at = 0;
    for (int l = 1; l < level; l++) at += level_first(b, l, b.seqs);
    return at;
}
/* The sequence of job number `job`, where s has level_count + extra jobs. */
fn i64 sequence_of(batch b, int level, i64 extra, i64 job)
{
    if (b.seqs == 1) return 0;
    if (!(b.flags & OFFSETS)) {
        i64 each = level_count(b.n, level) + extra;
        if (each == 1) return job;
        if (((job | each) >> 32) == 0) return (i64)((u32)job / (u32)each);
        return job / each;
    }
    i64 low = 0, high = b.seqs; /* first(low) <= job < first(high) */
    while (high - low > 1) {
        i64 middle = (low + high) / 2;
        if (level_first(b, level, middle) + extra * middle <= job)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- states ---- */

/* A state that may be ABSENT. */
typedef struct {
    state s;
    int have;
} maybe;

fn state choose(int c, state a, state b)
{
    state r;
#define CHOOSE(type, f) r.f = c ? a.f : b.f;
    OP_FIELDS(CHOOSE)
#undef CHOOSE
    return r;
}

/* C(a, b), of na and nb elements. Where the operator has a neutral state ABSENT is that, which leaves out a choice for
 * each field. */
fn maybe then(maybe a, state b, amount na, amount nb)
{
    maybe r;
#if OP_NEUTRAL
    r.s = COMBINE(a.s, b, na, nb);
#else
    r.s = choose(a.have, COMBINE(a.s, b, na, nb), b);
#endif
    r.have = 1;
    return r;
}

/* States as the host has them: their fields, one after the other, without holes. */
#define SIZE_OF(type, f) +(int)sizeof(type)
enum { PACKED = 0 OP_FIELDS(SIZE_OF) };
#undef SIZE_OF
far_fn void pack(GLOBAL u8 *to, state v)
{
#define PACK(type, f)                                                                                                  \
    {                                                                                                                  \
        const u8 *from = (const u8 *)&v.f;                                                                             \
        UNROLL for (int k = 0; k < (int)sizeof(type); k++) to[k] = from[k];                                            \
        to += sizeof(type);                                                                                            \
    }
    OP_FIELDS(PACK)
#undef PACK
}
far_fn state unpack(GLOBAL const u8 *from)
{
    state v;
#define UNPACK(type, f)                                                                                                \
    {                                                                                                                  \
        u8 *to = (u8 *)&v.f;                                                                                           \
        UNROLL for (int k = 0; k < (int)sizeof(type); k++) to[k] = from[k];                                            \
        from += sizeof(type);                                                                                          \
    }
    OP_FIELDS(UNPACK)
#undef UNPACK
    return v;
}

fn maybe nothing(par p)
{
    maybe r;
#if OP_NEUTRAL
    r.s = neutral(p);
#else
#define ZERO(type, f) r.s.f = 0;
    OP_FIELDS(ZERO)
#undef ZERO
#endif
    r.have = 0;
    return r;
}

/* The node of lane m's neighbourhood and mine, n elements each: `right` says that mine is the right one. */
fn state meet(state mine, state got, int right, amount n)
{
#if OP_COMMUTES || (OP_NEUTRAL && !TL_USER) /* every built-in one with a neutral state also commutes, bit for bit (the
                                               matrix of tests would show it); users say so */
    return TWIN(mine, got, n);
#else
    return TWIN(choose(right, got, mine), choose(right, mine, got), n);
#endif
}

#ifdef TL_SHUFFLES
#define BOX LOCAL state *box = 0;
fn state exchange(state v, int m, LOCAL state *box)
{
    state r;
#define EXCHANGE(type, f) SHUFFLE(1, type, r.f, v.f, m);
    OP_FIELDS(EXCHANGE)
#undef EXCHANGE
    return r;
}
fn state from_lane(state v, int lane, LOCAL state *box)
{
    state r;
#define FROM(type, f) SHUFFLE(0, type, r.f, v.f, lane);
    OP_FIELDS(FROM)
#undef FROM
    return r;
}
#else
#define BOX LOCAL state *box = (LOCAL state *)box_;
fn state from_lane(state v, int lane, LOCAL state *box)
{
    BARRIER();
    box[lane_index()] = v;
    BARRIER();
    return box[lane];
}
fn state exchange(state v, int m, LOCAL state *box) { return from_lane(v, lane_index() ^ m, box); }
#endif

/* ---- elements ---- */

typedef QUAD_OF(elem, QUAD_ALIGN) quad;

far_fn elem load_bytes(GLOBAL const u8 *p)
{
#if OP_INPUTS == 2
    elem e;
    u8 *to = (u8 *)&e;
    for (int k = 0; k < TL_SIZE; k++) to[k] = p[k];
    return e;
#elif TL_SIZE == 1
    return *(GLOBAL const elem *)p;
#else
    u64 bits = 0;
    for (int k = TL_SIZE - 1; k >= 0; k--) bits = bits << 8 | p[k];
#if TL_KIND == 3 && !TL_FORMAT
    return bits_elem(bits);
#else
    return (elem)bits;
#endif
#endif
}
fn elem load_element(GLOBAL const u8 *p)
{
    if (TL_SIZE > 1 && ADDRESS(p) % TL_SIZE) return load_bytes(p);
    return *(GLOBAL const elem *)p;
}
/* The same of any sequence, element by element; x is its first one, step its stride in bytes. */
far_fn quad gather(GLOBAL const u8 *x, i64 step, i64 i, i64 limit)
{
    quad q;
    q.x = load_element(x + (i < limit ? i : limit - 1) * step);
    q.y = load_element(x + (i + 1 < limit ? i + 1 : limit - 1) * step);
    q.z = load_element(x + (i + 2 < limit ? i + 2 : limit - 1) * step);
    q.w = load_element(x + (i + 3 < limit ? i + 3 : limit - 1) * step);
    return q;
}

/* The first `all` of the `left` elements of a sequence, `step` bytes apart; the last one again if there are fewer. */
fn void load_down(elem *e, const int all, GLOBAL const u8 *x, i64 step, i64 left)
{
    if (left >= all && ADDRESS(x) % TL_SIZE == 0) { /* a sequence is aligned everywhere, or nowhere */
        UNROLL for (int k = 0; k < all; k++) e[k] = *(GLOBAL const elem *)(x + k * step);
    } else {
        UNROLL for (int k = 0; k < all; k++) e[k] = load_element(x + (k < left ? k : left - 1) * step);
    }
}

/* ---- items of a chunk: elements, or states that are nodes of the level below ---- */

/* A lane's items of ROWS rows: item k of row r is number at + r * 128 + lane * 4 + k of the sequence that starts at
 * `start`. Numbers from `limit` on repeat the last one; limit 0 gives zeros. One test a chunk, so that the loads run
 * together. */
#define LOAD_ROWS(name, item, rows_, fast_load, slow_load, none)                                                       \
    fn void name(item e[rows_][QUAD], batch b, i64 start, i64 at, i64 limit)                                           \
    {                                                                                                                  \
        i64 mine = at + lane_index() * QUAD;                                                                           \
        if (at + rows_ * LANES * QUAD <= limit && can_##name(b, start + at)) {                                         \
            UNROLL for (int r = 0; r < rows_; r++) fast_load;                                                          \
        } else if (at + rows_ * LANES * QUAD <= limit && near_##name(b, start + at)) {                                 \
            UNROLL for (int r = 0; r < rows_; r++)                                                                     \
            {                                                                                                          \
                GLOBAL const item *x = (GLOBAL const item *)b.x + start + mine + r * LANES * QUAD;                     \
                UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = x[k];                                                  \
            }                                                                                                          \
        } else {                                                                                                       \
            UNROLL for (int r = 0; r < rows_; r++)                                                                     \
            {                                                                                                          \
                i64 i = mine + r * LANES * QUAD;                                                                       \
                if (limit <= 0) {                                                                                      \
                    UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = none;                                              \
                } else if (!SKIPS || at + r * LANES * QUAD < limit) {                                                  \
                    slow_load;                                                                                         \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#if !TL_IN_PLACE
fn int can_load_e(batch b, i64 first) { return b.stride == 1 && ADDRESS(b.x + first * TL_SIZE) % QUAD_ALIGN == 0; }
/* Side by side, but not aligned as quads: four loads, of which three find their line in the first cache. */
fn int near_load_e(batch b, i64 first) { return SKIPS && b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0; }
#define near_load_h near_load_e
#define near_load_d near_load_e
#define near_load_r near_load_e
#endif
fn void put_quad(elem *e, quad q) { e[0] = q.x, e[1] = q.y, e[2] = q.z, e[3] = q.w; }
fn int can_load_s(batch b, i64 first) { return 1; }
#define near_load_s(b, first) 0
fn void get_states(state *v, GLOBAL const state *x, i64 i, i64 limit)
{
    UNROLL for (int k = 0; k < QUAD; k++) v[k] = x[i + k < limit ? i + k : limit - 1];
}
#define STATES_OF(b) ((GLOBAL const state *)(b).x + start)
#if !TL_IN_PLACE
/* Some of a row, or a row that is not aligned: a call for every lane's four (gather) would wait for the loads before
 * it. */
seldom_fn quad load_some(batch b, i64 start, i64 i, i64 limit)
{
    if (b.stride == 1 && i + QUAD <= limit && can_load_e(b, start + i))
        return *(GLOBAL const quad *)(b.x + (start + i) * TL_SIZE);
    if (near_load_e(b, start + i)) {
        GLOBAL const elem *x = (GLOBAL const elem *)b.x + start;
        quad q;
        q.x = x[i < limit ? i : limit - 1], q.y = x[i + 1 < limit ? i + 1 : limit - 1];
        q.z = x[i + 2 < limit ? i + 2 : limit - 1], q.w = x[i + 3 < limit ? i + 3 : limit - 1];
        return q;
    }
    return gather(b.x + start * TL_SIZE, b.stride * TL_SIZE, i, limit);
}
LOAD_ROWS(load_e, elem, 8, put_quad(e[r], ((GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE))[r * LANES]),
          put_quad(e[r], load_some(b, start, i, limit)), NO_ELEMENT)
/* The same of a chunk that can_load_e and is full. */
fn void load_dense(elem e[8][QUAD], batch b, i64 first)
{
    GLOBAL const quad *x = (GLOBAL const quad *)(b.x + first * TL_SIZE) + lane_index();
    UNROLL for (int r = 0; r < 8; r++) put_quad(e[r], x[r * LANES]);
}
#define can_load_h can_load_e
#define can_load_d can_load_e
#define can_load_r can_load_e
LOAD_ROWS(load_r, elem, 1, put_quad(e[r], *(GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE)), put_quad(e[r],
    load_some(b, start, i, limit)), NO_ELEMENT)
LOAD_ROWS(load_d, elem, 2, put_quad(e[r], ((GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE))[r * LANES]),
          put_quad(e[r], load_some(b, start, i, limit)), NO_ELEMENT)
LOAD_ROWS(load_h, elem, 4, put_quad(e[r], ((GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE))[r * LANES]),
          put_quad(e[r], load_some(b, start, i, limit)), NO_ELEMENT)
typedef elem strip[8][QUAD]; /* a chunk that is asked for before it is folded (once.cl) */
#define fold_dense(v, e, b, from, at) fold_quads_e(v, e, b, at, 1)
#endif
LOAD_ROWS(load_s, state, 2, get_states(e[r], STATES_OF(b), mine + r * LANES * QUAD, limit),
          get_states(e[r], STATES_OF(b), i, limit), nothing(b.p).s)

fn state lift_e(elem x, i64 i, par p) { return lift(x, p.origin + i, p); } /* i: in this piece */
fn state lift_r(elem x, i64 i, par p) { return lift(x, p.origin + i, p); }
fn state lift_d(elem x, i64 i, par p) { return lift(x, p.origin + i, p); }
fn state lift_h(elem x, i64 i, par p) { return lift(x, p.origin + i, p); }
fn state lift_s(state x, i64 i, par p) { return x; }

/* ---- results ---- */

/* A batch of results: the same sequences, other strides, OP_LANES values each. */
typedef struct {
    GLOBAL u8 *x;
    i64 row_stride, stride;
} results;
#define RESULTS_PARAMETERS GLOBAL u8 *out_data, i64 out_byte, i64 out_row_stride, i64 out_stride
#define RESULTS_OF_PARAMETERS                                                                                          \
    results out;                                                                                                       \
    out.x = out_data + out_byte, out.row_stride = out_row_stride, out.stride = out_stride

far_fn void store_apart(GLOBAL u8 *p, result v)
{
#if TL_OUT_FLOAT == 4
    u64 bits = as_u32(v);
#elif TL_OUT_FLOAT == 8
    u64 bits = as_u64(v);
#else
    u64 bits = (u64)v;
#endif
    for (int k = 0; k < (int)sizeof(result); k++) p[k] = (u8)(bits >> (8 * k));
}
fn void store_bytes(GLOBAL u8 *p, result v)
{
    if (ADDRESS(p) % sizeof(result) == 0)
        *(GLOBAL result *)p = v;
    else
        store_apart(p, v);
}
fn GLOBAL u8 *place(results out, batch b, i64 s, i64 i)
{
    i64 r = row_of(b, s), at = (b.flags & OFFSETS ? b.offsets[r] * out.stride : r * out.row_stride) + i * out.stride;
    return out.x + at * (i64)(OP_LANES * sizeof(result));
}
/* Result i of sequence s: the state of n elements, and those before this piece, whose first has index `first`. */
fn void store_state(GLOBAL u8 *p, state v, i64 n, i64 first, par q)
{
    n += q.origin;
    store_bytes(p, lower(v, (real)n, first, q));
#if OP_LANES == 2
    store_bytes(p + sizeof(result), lower_1(v, (real)n, first, q));
#endif
}
fn void store_empty(GLOBAL u8 *p, par q)
{
    store_bytes(p, empty(q));
#if OP_LANES == 2
    store_bytes(p + sizeof(result), empty_1(q));
#endif
}
#if OP_LANES == 1
typedef QUAD_OF(result, QUAD_OUT_ALIGN) result_quad;
/* The results of a warp's quads side by side; to: lane 0's first one, aligned as a quad. Results of 8 bytes are
 * exchanged by pairs of lanes first: a store of 16 bytes of every lane's 32 would send half sectors to memory (scan of
 * f64 0.54 of a copy). */
fn void store_row(GLOBAL u8 *to, const result *w)
{
    result_quad r;
#if TL_OUT_SIZE == 8 && defined(TL_SHUFFLES)
    typedef struct ALIGNED(16) { result a, b; } two;
    const int odd = lane_index() & 1;
    result x = odd ? w[0] : w[2], y = odd ? w[1] : w[3];
    SHUFFLE(1, result, x, x, 1);
    SHUFFLE(1, result, y, y, 1);
    two first, second;
    first.a = odd ? x : w[0], first.b = odd ? y : w[1], second.a = odd ? w[2] : x, second.b = odd ? w[3] : y;
    GLOBAL two *at = (GLOBAL two *)to + lane_index() / 2 * 4 + odd;
    at[0] = first, at[2] = second;
#else
    r.x = w[0], r.y = w[1], r.z = w[2], r.w = w[3];
    ((GLOBAL result_quad *)to)[lane_index()] = r;
#endif
}
#endif
/* Chosen first, stored once (prelude_opencl.h, BARRIER). */
fn void store_maybe(GLOBAL u8 *p, maybe v, i64 n, i64 first, par q)
{
    n += q.origin;
    store_bytes(p, v.have ? lower(v.s, (real)n, first, q) : empty(q));
#if OP_LANES == 2
    store_bytes(p + sizeof(result), v.have ? lower_1(v.s, (real)n, first, q) : empty_1(q));
#endif
}
/* What reduce gives for sequence s of n elements. */
fn void store_reduced(results out, batch b, i64 s, maybe v, i64 n)
{
    i64 r = row_of(b, s);
    if (b.flags & STATES)
        pack(out.x + r * PACKED, v.s);
    else
        store_maybe(out.x + r * out.row_stride * (i64)(OP_LANES * sizeof(result)), v, n, 0, b.p);
}

#line 1 "src/gpu/kernel/inputs/in_place.cl"
/* SPDX-License-Identifier: MIT
 * Elements of views with validity, or of two inputs, where the caller has them: the loads of kernels that read x, y and
 * the bitmaps themselves, without prepared elements (prepare.cl). Both inputs have the kernels' type
 * and lie side by side, the rows of both as far apart. Where they are aligned as quads, and the bits of a quad are in
 * one byte, a lane asks for quads; else for its elements one by one. */
typedef QUAD_OF(input, INPUT_BYTES * 4 > 16 ? 16 : INPUT_BYTES * 4) input_quad;

fn int quads_at(GLOBAL const u8 *p, i64 first) { return ADDRESS(p + first * INPUT_BYTES) % sizeof(input_quad) == 0; }
fn int can_load_e(batch b, i64 first)
{
#if TL_BITS
    if (((b.x_bit + first) | (b.y_bit + first)) & (QUAD - 1)) return 0;
#endif
    return quads_at(b.x, first) && (OP_INPUTS == 1 || quads_at(b.y, first));
}

/* An element: x, or the pair. */
fn elem made(input x, input y, int there, u64 left_out)
{
#if TL_BITS
    x = there ? quieted(x) : input_of_bits(left_out);
#endif
#if OP_INPUTS == 2
    elem e;
    e.x = x;
    e.y = TL_BITS ? quieted(y) : y;
    return e;
#else
    return x;
#endif
}
fn int bit_at(GLOBAL const u8 *bits, i64 bit) { return bits[bit >> 3] >> (bit & 7) & 1; }
fn elem element_at(batch b, i64 place)
{
    const input x = ((GLOBAL const input *)b.x)[place], y = OP_INPUTS == 2 ? ((GLOBAL const input *)b.y)[place] : x;
    int there = 1;
#if TL_BITS
    there = bit_at(b.x_there, b.x_bit + place);
    if (OP_INPUTS == 2) there &= bit_at(b.y_there, b.y_bit + place);
#endif
    return made(x, y, there, b.left_out);
}

/* What a lane has asked for of a row: its quad, and the bytes that hold its bits. */
typedef struct {
    input_quad x;
#if OP_INPUTS == 2
    input_quad y;
#endif
#if TL_BITS
    u8 bits, y_bits;
#endif
} asked;
/* Of rows of which the first one's begins at place `first`. */
fn void ask(asked *a, const int rows, batch b, i64 first)
{
    const i64 mine = first + lane_index() * QUAD;
    GLOBAL const input_quad *x = (GLOBAL const input_quad *)(b.x + mine * INPUT_BYTES);
    UNROLL for (int r = 0; r < rows; r++) a[r].x = x[r * LANES];
#if OP_INPUTS == 2
    GLOBAL const input_quad *y = (GLOBAL const input_quad *)(b.y + mine * INPUT_BYTES);
    UNROLL for (int r = 0; r < rows; r++) a[r].y = y[r * LANES];
#endif
#if TL_BITS
    GLOBAL const u8 *bits = b.x_there + ((b.x_bit + mine) >> 3);
    UNROLL for (int r = 0; r < rows; r++) a[r].bits = a[r].y_bits = bits[r * LANES * QUAD / 8];
#if OP_INPUTS == 2
    bits = b.y_there + ((b.y_bit + mine) >> 3);
    UNROLL for (int r = 0; r < rows; r++) a[r].y_bits = bits[r * LANES * QUAD / 8];
#endif
#endif
}
fn void take(elem *e, asked a, batch b, i64 first)
{
    u32 there = 15;
#if TL_BITS
    const i64 mine = first + lane_index() * QUAD;
    there = (u32)a.bits >> ((b.x_bit + mine) & 7);
    if (OP_INPUTS == 2) there &= (u32)a.y_bits >> ((b.y_bit + mine) & 7);
#endif
#if OP_INPUTS == 2
    const input_quad y = a.y;
#else
    const input_quad y = a.x;
#endif
    e[0] = made(a.x.x, y.x, there & 1, b.left_out), e[1] = made(a.x.y, y.y, there & 2, b.left_out);
    e[2] = made(a.x.z, y.z, there & 4, b.left_out), e[3] = made(a.x.w, y.w, there & 8, b.left_out);
}

#define LOAD_IN_PLACE(name, rows_)                                                                                     \
    fn void name(elem e[rows_][QUAD], batch b, i64 start, i64 at, i64 limit)                                           \
    {                                                                                                                  \
        if (at + rows_ * LANES * QUAD <= limit && can_load_e(b, start + at)) {                                         \
            asked a[rows_];                                                                                            \
            ask(a, rows_, b, start + at);                                                                              \
            UNROLL for (int r = 0; r < rows_; r++) take(e[r], a[r], b, start + at);                                    \
        } else {                                                                                                       \
            UNROLL for (int r = 0; r < rows_; r++)                                                                     \
            {                                                                                                          \
                const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;                                             \
                if (limit <= 0) {                                                                                      \
                    UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = NO_ELEMENT;                                        \
                } else if (!SKIPS || at + r * LANES * QUAD < limit) {                                                  \
                    UNROLL for (int k = 0; k < QUAD; k++)                                                              \
                        e[r][k] = element_at(b, start + (i + k < limit ? i + k : limit - 1));                          \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
LOAD_IN_PLACE(load_e, 8)
LOAD_IN_PLACE(load_r, 1)
LOAD_IN_PLACE(load_d, 2)
LOAD_IN_PLACE(load_h, 4)

/* A chunk that is asked for before it is folded (once.cl). */
typedef asked strip[8];
fn void load_dense(asked *a, batch b, i64 first) { ask(a, 8, b, first); }
fn void fold_dense(state *v, const asked *a, batch b, i64 from, i64 at)
{
    UNROLL for (int r = 0; r < 8; r++)
    {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        elem e[QUAD];
        take(e, a[r], b, from + at);
        v[r] = TWIN(TWIN(lift_e(e[0], i, b.p), lift_e(e[1], i + 1, b.p), 1),
                    TWIN(lift_e(e[2], i + 2, b.p), lift_e(e[3], i + 3, b.p), 1), 2);
    }
}

/* `count` <= CHUNK elements from place `first` on to local memory, by a warp. */
fn void stage_beside(LOCAL elem *to, batch b, i64 first, int count)
{
    enum { AT_A_TIME = 4, ROW = LANES * QUAD };
    int at = 0;
    if (can_load_e(b, first)) {
        for (; at + ROW <= count; at += AT_A_TIME * ROW) {
            asked a[AT_A_TIME];
            UNROLL for (int r = 0; r < AT_A_TIME; r++)
            {
                if (at + (r + 1) * ROW <= count) ask(&a[r], 1, b, first + at + r * ROW);
            }
            UNROLL for (int r = 0; r < AT_A_TIME; r++)
            {
                elem e[QUAD];
                quad q;
                if (at + (r + 1) * ROW > count) continue;
                take(e, a[r], b, first + at + r * ROW);
                q.x = e[0], q.y = e[1], q.z = e[2], q.w = e[3];
                ((LOCAL quad *)to)[(at + r * ROW) / QUAD + lane_index()] = q;
            }
        }
        at = count & -ROW;
    }
    for (at += lane_index(); at < count; at += LANES) to[at] = element_at(b, first + at);
}

#line 1 "src/gpu/kernel/window/place.cl"
/* SPDX-License-Identifier: MIT
 * Where windows lie. The sequences of a batch are numbered end to end, so that tiles hold as many of them as they meet:
 * element i of row r has the flat number r * n + i, an element of a segment its place behind the first offset. A node
 * that reaches over the border between two sequences means nothing, and no window asks for it. Borders are looked up
 * where a window is cut off by one: of rows by a division, of segments by a bit for each element of the tile. */


#define WINDOW_PARAMETERS i64 before, i64 after, i64 valid, i64 least
#define TILES_PARAMETERS  i64 count, i64 jobs, i64 each, i64 edges

/* Items of a tile of window_whole, of window; of the larger one. */
enum { WHOLE = 1 << WHOLE_LOG, ROOM = 1 << ROOM_LOG, LARGER = WHOLE > ROOM ? WHOLE : ROOM };
enum { PASS_PLACES = PASS_LOG ? PASS_TILE_OF(PASS_LOG) : 0, PLACES = LARGER > PASS_PLACES ? LARGER : PASS_PLACES };
enum { RESULT_BYTES = OP_LANES * sizeof(result) };

fn i64 higher_bits(i64 length, int level) { return length >> (level + 1) << (level + 1); }

/* ---- of the whole batch ---- */

fn i64 all_items(batch b) { return b.flags & OFFSETS ? b.offsets[b.seqs] - b.offsets[0] : b.seqs * b.n; }
/* The first offset that lies behind flat number f. */
fn i64 offset_after(batch b, i64 f)
{
    const i64 at = b.offsets[0] + f;
    if (f < 0) return 0;
    i64 low = 0, high = b.seqs + 1; /* offsets[low] <= at < offsets[high] */
    while (high - low > 1) {
        const i64 middle = (low + high) / 2;
        if (b.offsets[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return high;
}
fn i64 quotient(i64 f, i64 n) { return ((f | n) >> 32) == 0 ? (i64)((u32)f / (u32)n) : f / n; }

/* The sequence of the element with flat number f: its number, the element's in it, and its elements. */
typedef struct {
    i64 s, i, n;
} member;
fn member member_of(batch b, i64 f)
{
    member m;
    if (b.flags & OFFSETS) {
        m.s = offset_after(b, f) - 1;
        m.i = b.offsets[0] + f - b.offsets[m.s];
        m.n = b.offsets[m.s + 1] - b.offsets[m.s];
    } else {
        m.s = b.seqs == 1 ? 0 : quotient(f, b.n);
        m.i = f - m.s * b.n;
        m.n = b.n;
    }
    return m;
}
fn GLOBAL const u8 *element_of(batch b, i64 f)
{
    if (b.flags & OFFSETS) return b.x + (b.offsets[0] + f) * b.stride * TL_SIZE;
    const member m = member_of(b, f);
    return b.x + (m.s * b.row_stride + m.i * b.stride) * TL_SIZE;
}
/* The result of element f; of a window that begins there, if edges are valid. */
fn GLOBAL u8 *result_of(results out, batch b, i64 f)
{
    if (b.flags & OFFSETS) return out.x + (b.offsets[0] + f) * out.stride * RESULT_BYTES;
    const member m = member_of(b, f);
    return out.x + (m.s * out.row_stride + m.i * out.stride) * RESULT_BYTES;
}

/* ---- of a tile ---- */

/* What a launch is about: windows that begin at flat number `at` and after, each with its result. */
typedef struct {
    i64 at, count;                    /* of the first window; windows of the launch */
    i64 before, after, valid, least, edges;
    i64 shift, width;                 /* tiles fold `width` elements of each, from its element number `shift` on */
} windows;
fn i64 length_in(windows w) { return w.before + w.after + 1; }

/* A tile of windows. Item i is element number `shift` of window i. */
typedef struct {
    GLOBAL const u8 *x;               /* item 0, if items lie one stride apart */
    GLOBAL u8 *out;                   /* the first result, if they lie one stride apart */
    i64 lo, done;                     /* flat number of the first window's element; windows of the launch before it */
    i64 border;                       /* of segments: the first offset behind lo */
    int first, n;                     /* of rows: the place of the first border; places from one to the next */
    u32 part;                         /* 2^31 / n, rounded up */
    int results, before, beyond;      /* items from `before` on and below `beyond` are elements of the batch */
    int beside, out_beside;           /* do items, results lie one stride apart? */
    int dense_items;                  /* ... side by side, as many as the tile has room for */
    int inside;                       /* no window reaches over a border */
    int quads;                        /* results are stored by quads: side by side, aligned, none left out */
} stretch;

/* The borders between segments in a tile, by the place of the window that begins there. */
enum { BORDER_WORDS = PLACES / 32, BORDER_MORE = (BORDER_WORDS + 31) / 32 };
typedef struct {
    u32 bit[BORDER_WORDS];            /* a bit per place */
    u32 more[BORDER_MORE];            /* a bit per word above that is not zero */
} borders;
fn void clear_borders(LOCAL borders *d, batch b)
{
    if (!(b.flags & OFFSETS)) return;
    for (int i = thread_index(); i < BORDER_WORDS; i += WINDOW_THREADS) d->bit[i] = 0;
    for (int i = thread_index(); i < BORDER_MORE; i += WINDOW_THREADS) d->more[i] = 0;
}
fn void set_borders(LOCAL borders *d, LOCAL const stretch *p, batch b)
{
    if (!(b.flags & OFFSETS) || p->inside) return;
    const i64 from = b.offsets[0] + p->lo;
    for (i64 k = p->border + thread_index(); k <= b.seqs && b.offsets[k] - from < PLACES; k += WINDOW_THREADS) {
        const int q = (int)(b.offsets[k] - from);
        OR_LOCAL(&d->bit[q >> 5], 1u << (q & 31));
        OR_LOCAL(&d->more[q >> 10], 1u << (q >> 5 & 31));
    }
}

/* How far place q is from the border before it, in elements of its sequence; q where none is in the tile. How many
 * elements its sequence has from q on; PLACES or more where no border comes in the tile. */
fn int behind_in_rows(LOCAL const stretch *p, int q)
{
    const u32 a = (u32)(q - p->first); /* a mod n: exact, since a * n < 2^31 */
    return q < p->first ? q : (int)(a - (u32)((u64)(2 * a) * p->part >> 32) * (u32)p->n);
}
fn int ahead_in_rows(LOCAL const stretch *p, int q)
{
    return q < p->first ? p->first - q : p->n - behind_in_rows(p, q);
}
fn int behind(LOCAL const stretch *p, LOCAL const borders *d, batch b, int q)
{
    if (!(b.flags & OFFSETS)) return behind_in_rows(p, q);
    int word = q >> 5;
    u32 bits = d->bit[word] << (31 - (q & 31));
    if (bits) return high_zeros(bits);
    for (int m = --word >> 5; word >= 0; m--, word = (m << 5) + 31) {
        bits = d->more[m] << (31 - (word & 31));
        if (!bits) continue;
        word -= high_zeros(bits);
        return q - (word << 5) - 31 + high_zeros(d->bit[word]);
    }
    return q;
}
fn int ahead(LOCAL const stretch *p, LOCAL const borders *d, batch b, int q)
{
    if (!(b.flags & OFFSETS)) return ahead_in_rows(p, q);
    if (q + 1 >= PLACES) return PLACES;
    int word = (q + 1) >> 5;
    u32 bits = d->bit[word] >> ((q + 1) & 31);
    if (bits) return 1 + low_zeros(bits);
    word++;
    for (int m = word >> 5; m < BORDER_MORE; m++, word = m << 5) {
        bits = d->more[m] >> (word & 31);
        if (!bits) continue;
        word += low_zeros(bits);
        return (word << 5) + low_zeros(d->bit[word]) - q;
    }
    return PLACES;
}
/* Does window q lie in one sequence? */
fn int is_whole(LOCAL const stretch *p, LOCAL const borders *d, batch b, windows w, int q)
{
    if (p->inside) return 1;
    if (w.width == length_in(w)) return ahead(p, d, b, q) >= length_in(w); /* it ends in the tile */
    const member m = member_of(b, p->lo + q);
    return p->lo + q >= 0 && m.n - m.i >= length_in(w);
}

/* The windows of the quad at q that do not: a bit for each. Windows end in the tile, or sequences are rows. */
fn int cut_windows(LOCAL const stretch *p, LOCAL const borders *d, batch b, int q, int length)
{
    int to = 0, cut = 0; /* to: the first border behind window q + c's first item, from q on */
    for (int c = 0; c < QUAD && to < length + QUAD - 1; c++) {
        if (c >= to) to = c + ahead(p, d, b, q + c);
        cut |= (to - c < length) << c;
    }
    return cut;
}

/* Of segments, what tile_firsts found for a tile: the first offset behind its first window's element, and its place. */
typedef struct {
    i64 border, place;
} mark;
fn mark mark_of(batch b, i64 job)
{
    mark m;
    const int listed = (b.flags & OFFSETS) != 0;
    m.border = listed ? b.first[2 * job] : 0, m.place = listed ? b.first[2 * job + 1] : 0;
    return m;
}

/* Tile number `job`, of up to `each` windows, in a room for `room` items; by one thread. */
fn void stretch_of(LOCAL stretch *p, batch b, results out, windows w, i64 job, mark at, i64 each, int room)
{
    const i64 all = all_items(b), done = job * each, lo = w.at + done, item = lo + w.shift;
    const i64 left = w.count - done, results_ = left < each ? left : each, items = results_ + w.width - 1;
    const i64 first_result = w.valid ? lo : lo + w.before;
    const int listed = (b.flags & OFFSETS) != 0;
    i64 free_; /* places before the first border */
    p->lo = lo, p->done = done, p->results = (int)results_;
    p->before = item < 0 ? (int)-item : 0, p->beyond = item + items > all ? (int)(all - item) : (int)items;
    if (listed) {
        p->border = at.border;
        free_ = at.place - lo;
        p->n = 0, p->part = 0;
    } else {
        const i64 row = b.seqs == 1 && lo >= 0 ? 0 : lo >= 0 ? quotient(lo, b.n) : -quotient(b.n - 1 - lo, b.n);
        free_ = (row + 1) * b.n - lo;
        p->n = b.n < 2 * PLACES ? (int)b.n : 2 * PLACES;
        p->part = (0x80000000u + (u32)p->n - 1) / (u32)p->n;
    }
    p->first = free_ < 2 * PLACES ? (int)free_ : 2 * PLACES;
    p->inside = free_ >= results_ + length_in(w) - 1;
    p->beside = listed || b.seqs == 1 || b.row_stride == b.n * b.stride;
    p->x = b.x + (item + (listed ? b.offsets[0] : 0)) * b.stride * TL_SIZE;
    p->out_beside = listed || b.seqs == 1 || (!w.valid && out.row_stride == b.n * out.stride);
    p->out = out.x + (first_result + (listed ? b.offsets[0] : 0)) * out.stride * RESULT_BYTES;
    p->dense_items = p->beside && b.stride == 1 && (TL_IN_PLACE || ADDRESS(p->x) % TL_SIZE == 0) && item >= 0 &&
                     item + room <= all;
    p->quads = OP_LANES == 1 && p->out_beside && out.stride == 1 && ADDRESS(p->out) % QUAD_OUT_ALIGN == 0 &&
               length_in(w) >= w.least &&
               (p->inside || ((listed ? w.width == length_in(w) : length_in(w) < PLACES) && w.edges == EDGES_TOO &&
                                 !w.valid));
}

/* In arrays of quads of states of 8, 16 or 32 bytes the states of a quad lie in another order, so that neighbouring
 * lanes do not meet in a bank: state c of quad q is at place c ^ turn_of(q). Of runs those of a run do so, or one quad
 * in nine is left empty. */
enum {
    TURNED = sizeof(state) == 8 || sizeof(state) == 16 || sizeof(state) == 32,
    PADDED = RUNS && sizeof(state) == 12
};
fn int turn_of(int q)
{
    return sizeof(state) == 8 ? q >> 1 & 2 : sizeof(state) == 16 ? q >> 1 & 3 : sizeof(state) == 32 ? q & 3 : 0;
}
fn int place_of(int i)
{
    if (!RUNS) return i ^ turn_of(i / QUAD);
    return PADDED ? i + (i >> 5 << 2) : i ^ (i >> 3 & 7);
}

/* Item i of a tile. DENSE_ITEM: of one whose items lie side by side. */
fn elem item_of(LOCAL const stretch *p, batch b, windows w, int i)
{
    const i64 item = p->lo + w.shift + i;
#if TL_IN_PLACE
    const member m = member_of(b, item);
    return element_at(b, p->beside ? item : m.s * b.row_stride + m.i);
#else
    return load_element(p->beside ? p->x + i * b.stride * TL_SIZE : element_of(b, item));
#endif
}
#if TL_IN_PLACE
#define DENSE_ITEM(p, b, w, i) element_at(b, (p)->lo + (w).shift + (i))
#else
#define DENSE_ITEM(p, b, w, i) ((GLOBAL const elem *)(p)->x)[i]
#endif

enum { LINE_ITEMS = 128 / TL_SIZE };
/* The elements of a tile that comes next, of `items` items, are asked for while this one is made. */
fn void ask_for(LOCAL const stretch *p, int items)
{
#if !TL_IN_PLACE
    if (!p->dense_items) return;
    for (int i = thread_index() * LINE_ITEMS; i < items; i += WINDOW_THREADS * LINE_ITEMS)
        PREFETCH((GLOBAL const elem *)p->x + i);
#endif
}

/* Y_0: items, lifted; in quads, or one after the other. Those that are no elements of the batch are in no result. */
fn void load_items(LOCAL state *z, int quads, LOCAL const stretch *p, batch b, windows w)
{
    const i64 item = p->lo + w.shift;
    for (int i = p->before + thread_index(); i < p->beyond; i += WINDOW_THREADS)
        z[quads ? place_of(i) : i] = lift(item_of(p, b, w, i), item + i, b.p);
}
fn GLOBAL u8 *result_at(LOCAL const stretch *p, batch b, results out, windows w, int q)
{
    if (p->out_beside) return p->out + q * out.stride * RESULT_BYTES;
    return result_of(out, b, p->lo + q + (w.valid ? 0 : w.before));
}

#if !TL_IN_PLACE
/* Of each tile of segments: its mark. */
KERNEL(tile_firsts, WINDOW_THREADS)(BATCH_PARAMETERS, i64 at, i64 each, i64 jobs, GLOBAL i64 *first BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    for (i64 job = group_index() * WINDOW_THREADS + thread_index(); job < jobs; job += group_count() * WINDOW_THREADS) {
        const i64 k = offset_after(b, at + job * each);
        first[2 * job] = k, first[2 * job + 1] = b.offsets[k <= b.seqs ? k : b.seqs] - b.offsets[0];
    }
}
#endif

#line 1 "src/gpu/kernel/window/window.cl"
/* SPDX-License-Identifier: MIT
 * window: result j folds elements start .. start + length - 1, numbered from start. Doubling: Y_k[i] is the node of the
 * 2^k items from i on, Y_(k+1)[i] = C(Y_k[i], Y_k[i + 2^k]), and the window folds Y at the set bits of its length, high
 * to low:
 *
 *   length 13:  Y_3[start]  Y_2[start + 8]  Y_0[start + 12]        in general Y_k[start + (higher bits of the length)]
 *
 * That covers windows cut off by an edge too: they only have another length. Nothing is ever subtracted.
 *   window_whole    (whole.cl) levels in registers and local memory, where every window has its whole length
 *   window          all levels in local memory, for windows of at most ROOM / 2 and any edge
 *   window_columns  (columns.cl) of columns, by lanes
 *   window_part, window_rows          (long.cl, a program of its own) longer ones of their whole length
 *   window_tall                       (columns.cl, in that program) of columns, by tiles
 *   lift_all, double_all, fold_all    each level an array in global memory, for longer ones at an edge */
enum { WINDOW_LEVELS = ROOM_LOG };
enum { OUTPUTS = ROOM / 2 / WINDOW_THREADS, ITEMS = ROOM / WINDOW_THREADS };

#ifndef TL_LONG
/* EDGES_APART: window_whole has the windows of their whole length. */
KERNEL(window, WINDOW_THREADS)(BATCH_PARAMETERS, RESULTS_PARAMETERS, WINDOW_PARAMETERS, TILES_PARAMETERS BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SHARED state z[ROOM];
    SHARED stretch tile;
    SHARED borders cuts;
    windows of;
    LOCAL const stretch *p = &tile;
    const int me = thread_index(), w = (int)(before + after + 1);
    of.at = valid ? 0 : -before, of.count = count, of.before = before, of.after = after, of.valid = valid;
    of.least = least, of.edges = edges, of.shift = 0, of.width = w;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        if (me == 0) stretch_of(&tile, b, out, of, job, mark_of(b, job), each, ROOM);
        clear_borders(&cuts, b);
        BARRIER();
        if (SKIPS && edges != EDGES_TOO && p->inside) {
            BARRIER();
            continue;
        }
        set_borders(&cuts, p, b);
        load_items(z, 0, p, b, of);
        BARRIER();
        int start[OUTPUTS], length[OUTPUTS];
        UNROLL for (int o = 0; o < OUTPUTS; o++)
        {
            /* the window around place c, of which the sequence has some elements before it and some from it on */
            const int j = o * WINDOW_THREADS + me, c = valid ? j : j + (int)before;
            start[o] = j, length[o] = w;
            if (j < p->results && !p->inside) {
                const int some = behind(p, &cuts, b, c), more = ahead(p, &cuts, b, c);
                const int left = valid || some > before ? (int)before : some;
                const int right = more > after ? (int)after : more - 1;
                start[o] = valid ? j : c - left;
                length[o] = valid ? (more >= w ? w : 0) : left + 1 + right;
            }
        }
        state keep[WINDOW_LEVELS][OUTPUTS];
        UNROLL for (int k = 0; k < WINDOW_LEVELS; k++)
        {
            if (SKIPS && w >> k == 0) continue;
            UNROLL for (int o = 0; o < OUTPUTS; o++)
            {
                if (o * WINDOW_THREADS + me < p->results && (length[o] >> k & 1))
                    keep[k][o] = z[start[o] + (int)higher_bits(length[o], k)];
            }
            if (SKIPS && w >> (k + 1) == 0) continue;
            state next[ITEMS];
            UNROLL for (int r = 0; r < ITEMS; r++)
            {
                int i = r * WINDOW_THREADS + me;
                if (i + (2 << k) <= p->beyond) next[r] = TWIN(z[i], z[i + (1 << k)], 1 << k);
            }
            BARRIER();
            UNROLL for (int r = 0; r < ITEMS; r++)
            {
                int i = r * WINDOW_THREADS + me;
                if (i + (2 << k) <= p->beyond) z[i] = next[r];
            }
            BARRIER();
        }
        UNROLL for (int o = 0; o < OUTPUTS; o++)
        {
            const int j = o * WINDOW_THREADS + me;
            if (j >= p->results || (valid && !length[o])) continue;
            maybe acc = nothing(b.p);
            UNROLL for (int k = WINDOW_LEVELS - 1; k >= 0; k--)
            {
                if (length[o] >> k & 1) acc = then(acc, keep[k][o], higher_bits(length[o], k), (i64)1 << k);
            }
            acc.have = acc.have && length[o] >= least;
            store_maybe(result_at(p, b, out, of, j), acc, length[o], p->lo + start[o], b.p);
        }
        BARRIER();
    }
}

#if !TL_IN_PLACE
/* y: level k at y + k * room. The elements with flat numbers lo .. lo + count - 1. */
KERNEL(lift_all, WINDOW_THREADS)(BATCH_PARAMETERS, GLOBAL state *y, i64 lo, i64 count BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    for (i64 i = group_index() * WINDOW_THREADS + thread_index(); i < count; i += group_count() * WINDOW_THREADS)
        y[i] = lift(load_element(element_of(b, lo + i)), lo + i, b.p);
}

KERNEL(double_all, WINDOW_THREADS)(GLOBAL state *y, i64 room, i64 level, i64 count BOX_PARAMETER)
{
    GLOBAL const state *from = y + room * level;
    GLOBAL state *to = y + room * (level + 1);
    i64 step = (i64)1 << level;
    i64 i = group_index() * WINDOW_THREADS + thread_index();
    for (; i + 2 * step <= count; i += group_count() * WINDOW_THREADS)
        to[i] = TWIN(from[i], from[i + step], step);
}

/* The results of elements j0 .. j1 - 1; of windows that begin there, if edges are valid. */
KERNEL(fold_all, WINDOW_THREADS)(BATCH_PARAMETERS, RESULTS_PARAMETERS, WINDOW_PARAMETERS, GLOBAL const state *y, i64 room,
    i64 lo, i64 j0, i64 j1 BOX_PARAMETER)
#line 118 "src/gpu/kernel/window/window.cl"
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    for (i64 j = j0 + group_index() * WINDOW_THREADS + thread_index(); j < j1; j += group_count() * WINDOW_THREADS) {
        const member m = member_of(b, j);
        const i64 left = valid ? 0 : m.i < before ? m.i : before, right = valid ? before + after : after;
        const i64 length = left + 1 + (m.n - m.i - 1 < right ? m.n - m.i - 1 : right), start = j - left;
        maybe acc = nothing(b.p);
        if (valid && length <= right) continue;
        for (int k = 62; k >= 0; k--) {
            const i64 higher = higher_bits(length, k);
            if (length >> k & 1) acc = then(acc, y[room * k + start - lo + higher], higher, (i64)1 << k);
        }
        acc.have = acc.have && length >= least;
        store_maybe(result_of(out, b, j), acc, length, start, b.p);
    }
}

/* Results whose window has too few elements that count become empty. counts: dense, in the order of the results. */
KERNEL(blank, WINDOW_THREADS)(BATCH_PARAMETERS, RESULTS_PARAMETERS, GLOBAL const i64 *counts, i64 least, i64 results_each,
    i64 total BOX_PARAMETER)
#line 138 "src/gpu/kernel/window/window.cl"
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    for (i64 i = group_index() * WINDOW_THREADS + thread_index(); i < total; i += group_count() * WINDOW_THREADS) {
        if (counts[i] >= least) continue;
        if (b.flags & OFFSETS)
            store_empty(out.x + (b.offsets[0] + i) * out.stride * (i64)(OP_LANES * sizeof(result)), b.p);
        else
            store_empty(place(out, b, i / results_each, i % results_each), b.p);
    }
}
#endif
#endif

#line 1 "src/gpu/kernel/window/whole.cl"
/* SPDX-License-Identifier: MIT
 * Windows of their whole length w. A thread holds quads of four neighbouring items: Y_1 and Y_2 of a quad need its
 * right neighbour only, and from level 2 on a level is one store and one load of a quad:
 *
 *   Y_0 in local memory -> own quad, next quad -> Y_1, Y_2 in registers
 *   level k >= 2:  store Y_k, barrier, load the quad 2^k items to the right, Y_(k+1) in registers
 *   w's set bits:  Y_k stays in an array of its own (the highest one in registers); the others change between two
 *                  arrays
 *
 * The result at item i is the fold of Y_k[i + higher bits of w], high to low. Tiles begin where results are aligned for
 * quads, so loads are single elements, side by side.
 *
 * RUNS (tl_gpu_runs): of some states of 12 and 16 bytes, which cost most on their way to local memory and back, a
 * thread holds 8 items side by side, and local memory has the elements instead of Y_0:
 *
 *   own run of elements, next run -> lifted, Y_1, Y_2, Y_3 in registers
 *   level k >= 3:  as above
 *   w's lowest bits:  the run of elements that they begin in, and the next -> Y_2, Y_1, Y_0 in registers */
/* Groups of a processor, for the registers. */
#define WHOLE_BLOCKS (RUNS && sizeof(state) == 16 ? 2 : RUNS || sizeof(state) > 8 ? 3 : 4)
enum { WHOLE_QUADS = WHOLE / QUAD, MINE = WHOLE_QUADS / WINDOW_THREADS };
enum { ARRAY_QUADS = WHOLE_QUADS + (PADDED ? WHOLE_QUADS / 8 : 0), RUN_LOG = 3, RUN_ITEMS = 1 << RUN_LOG };
/* Of a tile that has TILE_ROWS rows (long.cl, columns.cl), in a row: quads, and log2 of the items. */
enum { COLUMN_QUADS = MINE, FIRST_LEVEL = WHOLE_LOG - TILE_ROWS_LOG };

#define FOUR_LOW_BIT(bytes) ((bytes) & -(bytes))
#define FOUR_ALIGN (FOUR_LOW_BIT(4 * sizeof(state)) > 16 ? 16 : FOUR_LOW_BIT(4 * sizeof(state)))
typedef struct ALIGNED(FOUR_ALIGN) {
    state s[QUAD];
} four;

/* Quad q of an array in local memory: in pieces of 16 bytes where its states lie in another order (place.cl). */
enum { TOGETHER = sizeof(state) == 8 ? 2 : 1 };
typedef struct ALIGNED(16) {
    state s[TOGETHER];
} together;
/* State c of quad q. Not place_of alone: then each of a thread's quads has its own exclusive-or, where one serves all
 * (windows of sums of f64: 0.95 times as fast, means: 0.85; H200). */
#define STATE_AT(z, q, c)                                                                                              \
    (RUNS ? (LOCAL const state *)(z) + place_of((q) * QUAD + (c)) : &(z)[q].s[(c) ^ turn_of(q)])
fn four get_four(LOCAL const four *z, int q)
{
    four v;
    if (!TURNED) return z[PADDED ? q + (q >> 3) : q];
    UNROLL for (int c = 0; c < QUAD; c += TOGETHER)
    {
        const together t = *(LOCAL const together *)STATE_AT(z, q, c);
        UNROLL for (int k = 0; k < TOGETHER; k++) v.s[c + k] = t.s[k];
    }
    return v;
}
fn void put_four(LOCAL four *z, int q, four v)
{
    if (!TURNED) z[PADDED ? q + (q >> 3) : q] = v;
    UNROLL for (int c = 0; c < QUAD && TURNED; c += TOGETHER)
    {
        together t;
        UNROLL for (int k = 0; k < TOGETHER; k++) t.s[k] = v.s[c + k];
        *(LOCAL together *)STATE_AT(z, q, c) = t;
    }
}
/* Quad m of a thread. */
fn int quad_number(int runs, int m)
{
    return runs ? thread_index() * (RUN_ITEMS / QUAD) + m : m * WINDOW_THREADS + thread_index();
}

/* ---- runs ---- */

/* Elements in local memory, in pieces of a quad (or 16 bytes, if that is less), in an order without conflicts of lanes
 * that read a run each. */
enum { PIECE = QUAD * TL_SIZE > 16 ? 16 / TL_SIZE : QUAD, PIECES = RUN_ITEMS / PIECE, BANKS = 128 / (PIECE * TL_SIZE) };
typedef struct ALIGNED(PIECE * TL_SIZE) {
    elem e[PIECE];
} piece;
fn int piece_place(int k) { return k ^ (k / BANKS & (PIECES - 1)); }
fn int element_place(int i) { return piece_place(i / PIECE) * PIECE + i % PIECE; }
/* `many` elements from the quad at i on; what lies beyond the tile is in no result. */
fn void get_elements(elem *e, const int many, LOCAL const elem *x, int i)
{
    UNROLL for (int k = 0; k < many; k += PIECE)
    {
        const int at = i + k < WHOLE ? i + k : WHOLE - PIECE;
        const piece t = ((LOCAL const piece *)x)[piece_place(at / PIECE)];
        UNROLL for (int c = 0; c < PIECE; c++) e[k + c] = t.e[c];
    }
}
fn void load_elements(LOCAL elem *z, LOCAL const stretch *p, batch b, windows w)
{
    const int me = thread_index();
    if (p->dense_items) {
        elem e[WHOLE / WINDOW_THREADS];
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++) e[k] = DENSE_ITEM(p, b, w, me + k * WINDOW_THREADS);
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++) z[k * WINDOW_THREADS + element_place(me)] = e[k];
    } else {
        for (int i = p->before + me; i < p->beyond; i += WINDOW_THREADS)
            z[element_place(i)] = item_of(p, b, w, i);
    }
}
/* Y_3 of a run; item: of its first element. */
fn void run_levels(four *y, const elem *e, i64 item, par p)
{
    state s[2 * RUN_ITEMS - 1];
    UNROLL for (int c = 0; c < 2 * RUN_ITEMS - 1; c++) s[c] = lift(e[c], item + c, p);
    UNROLL for (int c = 0; c < 2 * RUN_ITEMS - 2; c++) s[c] = TWIN(s[c], s[c + 1], 1);
    UNROLL for (int c = 0; c < 2 * RUN_ITEMS - 4; c++) s[c] = TWIN(s[c], s[c + 2], 2);
    UNROLL for (int c = 0; c < RUN_ITEMS; c++) y[c / QUAD].s[c % QUAD] = TWIN(s[c], s[c + 4], 4);
}
fn void join(four *y, const state *s, int have, i64 done, int n)
{
    UNROLL for (int c = 0; c < QUAD; c++) y->s[c] = have ? COMBINE(y->s[c], s[c], done, n) : s[c];
}
/* The lowest bits of w, `low`, folded onto the quad y, if that is there; x[i]: where they begin. first: of x[0]. */
fn void run_low(four *y, int have, int low, LOCAL const elem *x, int i, i64 first, i64 done, par p)
{
    elem e[2 * QUAD];
    state s[QUAD + 3];
    if (low & 4) {
        get_elements(e, 2 * QUAD, x, i);
        UNROLL for (int c = 0; c < QUAD + 3; c++) s[c] = lift(e[c], first + i + c, p);
        UNROLL for (int c = 0; c < QUAD + 2; c++) s[c] = TWIN(s[c], s[c + 1], 1);
        UNROLL for (int c = 0; c < QUAD; c++) s[c] = TWIN(s[c], s[c + 2], 2);
        join(y, s, have, done, 4);
        have = 1, done += 4, i += 4;
    }
    if (low & 3) get_elements(e, 2 * QUAD, x, i);
    if (low & 2) {
        UNROLL for (int c = 0; c < QUAD + 1; c++) s[c] = lift(e[c], first + i + c, p);
        UNROLL for (int c = 0; c < QUAD; c++) s[c] = TWIN(s[c], s[c + 1], 1);
        join(y, s, have, done, 2);
        have = 1, done += 2, i += 2;
        UNROLL for (int c = 0; c < QUAD; c++) e[c] = e[c + 2];
    }
    if (low & 1) {
        UNROLL for (int c = 0; c < QUAD; c++) s[c] = lift(e[c], first + i + c, p);
        join(y, s, have, done, 1);
    }
}

/* ---- quads ---- */

/* Y_0 of a tile. */
fn void load_whole(LOCAL state *z, LOCAL const stretch *p, batch b, windows w)
{
    const int me = thread_index();
    if (p->dense_items) {
        elem e[WHOLE / WINDOW_THREADS];
        const i64 item = p->lo + w.shift + me;
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++) e[k] = DENSE_ITEM(p, b, w, me + k * WINDOW_THREADS);
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++)
            z[k * WINDOW_THREADS + place_of(me)] = lift(e[k], item + k * WINDOW_THREADS, b.p);
    } else {
        load_items(z, 1, p, b, w);
    }
}

/* The results of a tile, of folds v of all elements of its windows: of four windows, by quads; of all, side by side in
 * local memory. */
#if OP_LANES == 1
fn void lower_quad(result *x, LOCAL const stretch *p, LOCAL const borders *d, batch b, windows w, int q, const four *v)
{
    const real length = (real)length_in(w);
    UNROLL for (int c = 0; c < QUAD; c++) x[c] = lower(v->s[c], length, p->lo + q + c, b.p);
    if (!p->inside && (b.flags & OFFSETS) && q < p->results) {
        const int cut = cut_windows(p, d, b, q, (int)length_in(w));
        UNROLL for (int c = 0; c < QUAD; c++) x[c] = cut >> c & 1 ? empty(b.p) : x[c];
    } else if (!p->inside && !(b.flags & OFFSETS) && ahead_in_rows(p, q) < length_in(w) + QUAD - 1) {
        /* not by cut_windows: rows of 1024, w = 20: 0.65 of copy instead of 0.77 (H200) */
        UNROLL for (int c = 0; c < QUAD; c++) x[c] = ahead_in_rows(p, q + c) < length_in(w) ? empty(b.p) : x[c];
    }
}
/* A warp's runs of results; at: the lane's first. Full sectors at a time: lanes exchange by pairs what lies in the
 * other's 16 bytes. */
fn void store_full_runs(GLOBAL u8 *at, const result *x)
{
#if TL_OUT_SIZE >= 4 && defined(TL_SHUFFLES)
    enum { UNIT = 16 / TL_OUT_SIZE, UNITS = RUN_ITEMS / UNIT };
    typedef struct ALIGNED(16) { result r[UNIT]; } unit;
    const int odd = lane_index() & 1;
    GLOBAL unit *to = (GLOBAL unit *)(at - odd * RUN_ITEMS * (i64)sizeof(result)) + odd;
    UNROLL for (int j = 0; j < UNITS; j += 2)
    {
        unit even_s, odd_s; /* of the even lane's run, of the odd one's */
        UNROLL for (int c = 0; c < UNIT; c++)
        {
            const result even_x = x[j * UNIT + c], odd_x = x[(j + 1) * UNIT + c], mine = odd ? odd_x : even_x;
            result other = odd ? even_x : odd_x;
            SHUFFLE(1, result, other, other, 1);
            even_s.r[c] = odd ? other : mine, odd_s.r[c] = odd ? mine : other;
        }
        to[j] = even_s, to[UNITS + j] = odd_s;
    }
#else
    UNROLL for (int j = 0; j < RUN_ITEMS; j += QUAD)
    {
        result_quad r;
        r.x = x[j], r.y = x[j + 1], r.z = x[j + 2], r.w = x[j + 3];
        ((GLOBAL result_quad *)at)[j / QUAD] = r;
    }
#endif
}
#endif
fn void store_quads(LOCAL const stretch *p, LOCAL const borders *d, batch b, windows w, int q, const four *v)
{
#if OP_LANES == 1
    const int row = q - lane_index() * QUAD; /* of the warp's quads */
    result x[QUAD];
    lower_quad(x, p, d, b, w, q, v);
    if (SKIPS && row + LANES * QUAD <= p->results) {
        store_row(p->out + row * (i64)sizeof(result), x);
        return;
    }
    GLOBAL result *to = (GLOBAL result *)p->out + q;
    UNROLL for (int c = 0; c < QUAD; c++)
    {
        if (q + c < p->results) to[c] = x[c];
    }
#endif
}
fn void store_runs(LOCAL const stretch *p, LOCAL const borders *d, batch b, windows w, int q, const four *v)
{
#if OP_LANES == 1
    result x[RUN_ITEMS];
    GLOBAL result *to = (GLOBAL result *)p->out + q;
    UNROLL for (int k = 0; k < RUN_ITEMS; k += QUAD) lower_quad(x + k, p, d, b, w, q + k, v + k / QUAD);
    if (SKIPS && q - lane_index() * RUN_ITEMS + LANES * RUN_ITEMS <= p->results) {
        store_full_runs((GLOBAL u8 *)to, x);
        return;
    }
    UNROLL for (int c = 0; c < RUN_ITEMS; c++)
    {
        if (q + c < p->results) to[c] = x[c];
    }
#endif
}
/* Of states in the order of whole_windows (turned), or one after the other. */
fn void store_items(LOCAL const stretch *p, LOCAL const borders *d, batch b, results out, windows w,
    LOCAL const state *v, const int turned)
{
    const i64 length = length_in(w);
    for (int i = thread_index(); i < p->results; i += WINDOW_THREADS) {
        const int whole = is_whole(p, d, b, w, i);
        maybe m;
        m.s = v[turned ? place_of(i) : i];
        m.have = whole && length >= w.least;
        if (whole || (w.edges == EDGES_TOO && !w.valid))
            store_maybe(result_at(p, b, out, w, i), m, length, p->lo + i, b.p);
    }
}

/* Quad q of an array; what lies beyond its end is in no result. m, far: q is less than (m + 1) * 256 + far, far at most
 * that. */
fn four quad_at(LOCAL const four *z, int q, int m, int far)
{
    if ((m + 1) * WINDOW_THREADS + far > WHOLE_QUADS && q >= WHOLE_QUADS) q = WHOLE_QUADS - 1;
    return get_four(z, q);
}
enum { FAR_LEVEL = WHOLE_QUADS / 4, FAR_BITS = WHOLE_QUADS / 2 + 1 }; /* of windows of at most WHOLE / 2 */

/* Y_top of the quads whose Y_from is y. The levels of w's set bits stay in the arrays slot, slot + 1, ... Nodes of
 * level k have 2^(k + more) elements: more is 0 but for tiles of rows (long.cl, columns.cl). Levels that
 * do not stay change between two arrays; of runs they have one. */
fn void double_quads(LOCAL four *z, four *y, int from, int top, int w, int kept, int slot, int more, int runs)
{
    for (int k = from; k < top; k++) {
        const int stays = w >> k & 1;
        if (RUNS && runs && k > from && !stays && !(w >> (k - 1) & 1)) BARRIER();
        LOCAL four *to = z + (stays ? slot++ : kept + (RUNS && runs ? 0 : !(k & 1))) * ARRAY_QUADS;
        UNROLL for (int m = 0; m < MINE; m++) put_four(to, quad_number(runs, m), y[m]);
        BARRIER();
        UNROLL for (int m = 0; m < MINE; m++)
        {
            four right = quad_at(to, quad_number(runs, m) + (1 << (k - 2)), m, runs ? WHOLE_QUADS : FAR_LEVEL);
            UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] = TWIN(y[m].s[c], right.s[c], (i64)1 << (k + more));
        }
    }
}
/* The levels of w's bits below top, in `kept` arrays, folded onto y. Before the items of this launch the window has
 * `done` elements. */
fn void fold_bits(LOCAL const four *z, four *y, int top, int w, int kept, int more, i64 done, int runs)
{
    int slot = kept;
    for (int k = top - 1; k >= 0; k--) {
        if ((w >> k & 1) == 0) continue;
        const int far = w >> (k + 1) << (k + 1);
        LOCAL const four *from = z + --slot * ARRAY_QUADS;
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int q = quad_number(runs, m) + far / QUAD;
            four right = quad_at(from, q, m, runs ? WHOLE_QUADS : FAR_BITS);
            if (!(RUNS && runs) && far & 2) { /* level 0: half a quad further */
                four next = quad_at(from, q + 1, m, FAR_BITS);
                right.s[0] = right.s[2], right.s[1] = right.s[3], right.s[2] = next.s[0], right.s[3] = next.s[1];
            }
            UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] = COMBINE(y[m].s[c], right.s[c],
                done + (more < 0 ? far >> -more : (i64)far << more), (i64)1 << (k + more));
        }
    }
}

/* What a launch makes of its tiles. */
typedef struct {
    int what;            /* PART_RESULTS; of a longer window (long.cl) one of the others */
    GLOBAL four *states; /* PART_LEVEL: Y_top, to be stored; PART_LAST_BITS: what the higher bits gave, onto which those
                            of the launch are folded; PART_RESULTS_ALONE: what is lowered */
} part;
/* The highest bit of the launch, Y_top in y (if it has one: some_y), folded onto what the window's `done` elements
 * before it gave, if there are any: quad m of a thread has that at quad_ + m * step, if bit m of `some` is set. All
 * loads before the first fold. */
fn void fold_onto(four *y, int some_y, part make, i64 quad_, i64 step, int some, i64 done, int top, int more)
{
    four high[MINE];
    if (make.what != PART_LAST_BITS && make.what != PART_RESULTS_ALONE) return;
    UNROLL for (int m = 0; m < MINE; m++) high[m] = make.states[some >> m & 1 ? quad_ + m * step : 0];
    if (make.what == PART_RESULTS_ALONE || !some_y) {
        UNROLL for (int m = 0; m < MINE; m++) y[m] = high[m];
        return;
    }
    UNROLL for (int m = 0; m < MINE; m++)
    {
        UNROLL for (int c = 0; c < QUAD; c++)
            y[m].s[c] = COMBINE(high[m].s[c], y[m].s[c], done, (i64)1 << (top + more));
    }
}

/* each: a multiple of 4. EDGES_APART: `window` has the windows that are not whole, else they get the empty value. Room:
 * an array of WHOLE states for each level that is kept, and up to two; of runs first the elements. tiles, cuts: of this
 * turn and the next, which is prepared meanwhile. */
#define LEVELS_PARAMETERS i64 top_level, i64 kept_levels
#define WHOLE_PARAMETERS  BATCH_PARAMETERS, RESULTS_PARAMETERS, WINDOW_PARAMETERS, TILES_PARAMETERS, LEVELS_PARAMETERS
fn void whole_windows(LOCAL four *room, LOCAL stretch *tiles, LOCAL borders *cuts, batch b, results out, windows of,
    i64 jobs, i64 each, LEVELS_PARAMETERS, part make)
{
    const int w = (int)of.width, top = (int)top_level, kept = (int)kept_levels, me = thread_index();
    const int low = RUNS ? w & (RUN_ITEMS - 1) : 0, high = w - low; /* of runs low bits are made of elements */
    LOCAL four *z = RUNS ? (LOCAL four *)((LOCAL u8 *)room + WHOLE * TL_SIZE) : room;
    int turn = 0;
    if (me == 0 && group_index() < jobs)
        stretch_of(&tiles[0], b, out, of, group_index(), mark_of(b, group_index()), each, WHOLE);
    clear_borders(&cuts[0], b);
    BARRIER();
    if (group_index() < jobs) set_borders(&cuts[0], &tiles[0], b);
    for (i64 job = group_index(); job < jobs; job += group_count(), turn ^= 1) {
        LOCAL const stretch *p = &tiles[turn];
        LOCAL four *y0 = z + (w & 1 && top ? 0 : kept) * ARRAY_QUADS;
        four y[MINE];
        const i64 next = job + group_count();
        const mark at = mark_of(b, next < jobs ? next : job);
        if (SKIPS && make.what == PART_RESULTS_ALONE)
            ; /* no elements */
        else if (RUNS)
            load_elements((LOCAL elem *)room, p, b, of);
        else
            load_whole((LOCAL state *)y0, p, b, of);
        clear_borders(&cuts[turn ^ 1], b);
        if (me == 0 && next < jobs) stretch_of(&tiles[turn ^ 1], b, out, of, next, at, each, WHOLE);
        BARRIER();
        if (next < jobs) set_borders(&cuts[turn ^ 1], &tiles[turn ^ 1], b);
        if (next < jobs && make.what != PART_RESULTS_ALONE) ask_for(&tiles[turn ^ 1], WHOLE);
        if (RUNS) {
            UNROLL for (int m = 0; m + 1 < MINE && high; m += 2)
            {
                elem e[2 * RUN_ITEMS];
                const int i = quad_number(1, m) * QUAD;
                get_elements(e, 2 * RUN_ITEMS, (LOCAL const elem *)room, i);
                run_levels(&y[m], e, p->lo + of.shift + i, b.p);
            }
            double_quads(z, y, RUN_LOG, top, high, kept, 0, 0, 1);
        } else {
            UNROLL for (int m = 0; m < MINE; m++)
            {
                const int q = m * WINDOW_THREADS + me;
                y[m] = get_four(y0, q);
                if (top) {
                    four right = quad_at(y0, q + 1, m, 1);
                    state one = TWIN(right.s[0], right.s[1], 1), two = TWIN(right.s[1], right.s[2], 1);
                    UNROLL for (int c = 0; c < 3; c++) y[m].s[c] = TWIN(y[m].s[c], y[m].s[c + 1], 1);
                    y[m].s[3] = TWIN(y[m].s[3], right.s[0], 1);
                    if (top > 1) {
                        if (w & 2) put_four(z + (w & 1) * ARRAY_QUADS, q, y[m]);
                        y[m].s[0] = TWIN(y[m].s[0], y[m].s[2], 2), y[m].s[1] = TWIN(y[m].s[1], y[m].s[3], 2);
                        y[m].s[2] = TWIN(y[m].s[2], one, 2), y[m].s[3] = TWIN(y[m].s[3], two, 2);
                    }
                }
            }
            double_quads(z, y, 2, top, w, kept, (w & 1) + (w >> 1 & 1), 0, 0);
            BARRIER();
        }
        int some = 0;
        UNROLL for (int m = 0; m < MINE; m++) some |= (quad_number(RUNS, m) * QUAD < p->results) << m;
        fold_onto(y, high != 0, make, p->done / QUAD + quad_number(RUNS, 0),
            quad_number(RUNS, 1) - quad_number(RUNS, 0), some, of.shift, top, 0);
        fold_bits(z, y, top, high, kept, 0, of.shift, RUNS);
        UNROLL for (int m = 0; m < MINE && RUNS; m++)
            run_low(&y[m], high || make.what != PART_RESULTS, make.what == PART_RESULTS_ALONE ? 0 : low,
                (LOCAL const elem *)room, quad_number(1, m) * QUAD + high, p->lo + of.shift, of.shift + high, b.p);
        const int quads = p->quads && make.what != PART_LEVEL;
        if (quads && RUNS) {
            UNROLL for (int m = 0; m + 1 < MINE; m += 2)
                store_runs(p, &cuts[turn], b, of, quad_number(1, m) * QUAD, &y[m]);
        } else if (quads) {
            UNROLL for (int m = 0; m < MINE; m++)
            {
                const int q = (m * WINDOW_THREADS + me) * QUAD;
                store_quads(p, &cuts[turn], b, of, q, &y[m]);
            }
        }
        if (make.what == PART_LEVEL) {
            UNROLL for (int m = 0; m < MINE; m++)
            {
                if (some >> m & 1) make.states[p->done / QUAD + quad_number(RUNS, m)] = y[m];
            }
        }
        BARRIER();
        if (SKIPS && (quads || make.what == PART_LEVEL)) continue;
        UNROLL for (int m = 0; m < MINE; m++) put_four(z, quad_number(RUNS, m), y[m]);
        BARRIER();
        if (make.what != PART_LEVEL && !quads) store_items(p, &cuts[turn], b, out, of, (LOCAL const state *)z, 1);
        BARRIER();
    }
}

#define WHOLE_OF_PARAMETERS                                                                                            \
    BATCH_OF_PARAMETERS;                                                                                               \
    RESULTS_OF_PARAMETERS;                                                                                             \
    windows of;                                                                                                        \
    part make;                                                                                                         \
    of.at = valid ? 0 : -before, of.count = count, of.before = before, of.after = after, of.valid = valid;             \
    of.least = least, of.edges = edges, of.shift = 0, of.width = before + after + 1;                                   \
    make.what = PART_RESULTS, make.states = 0
#ifndef TL_LONG
KERNEL_BLOCKS(window_whole, WINDOW_THREADS, WHOLE_BLOCKS)(WHOLE_PARAMETERS ROOM_PARAMETER BOX_PARAMETER)
{
    WHOLE_OF_PARAMETERS;
    SHARED stretch tile[2];
    SHARED borders cuts[2];
    whole_windows((LOCAL four *)ROOM_OF_PARAMETER, tile, cuts, b, out, of, jobs, each, top_level, kept_levels,
        make);
}
/* The same of one sequence: the compiler leaves out what is for borders, two fifths of the code. (With two kernels of
 * this text PoCL 5.0 made wrong code of them: prelude_opencl.h, BARRIER.) */
#ifdef TL_CUDA
KERNEL_BLOCKS(window_flat, WINDOW_THREADS, WHOLE_BLOCKS)(WHOLE_PARAMETERS ROOM_PARAMETER BOX_PARAMETER)
{
    WHOLE_OF_PARAMETERS;
    SHARED stretch tile[2];
    SHARED borders cuts[2]; /* not used */
    b.seqs = 1, b.flags = 0;
    whole_windows((LOCAL four *)ROOM_OF_PARAMETER, tile, cuts, b, out, of, jobs, each, top_level, kept_levels,
        make);
}
#endif
#endif
