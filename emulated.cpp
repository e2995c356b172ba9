#define SEGMENTS 0

#line 1 "src/gpu/cuda/prelude_cuda.h"
/* SPDX-License-Identifier: MIT
 * The words of src/gpu/cuda/prelude_cuda.h in C++ for a processor: a thread is a fiber
 * (fibers.h). run.h puts it in the place of the other (TALLY_KERNELS). What CUDA wants aligned is
 * read by types that are, so that a sanitizer sees it. */
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
    u8 *local_memory;
    uint64_t (*shuffle)(uint64_t v, int at, int across);
    void (*warp_barrier)(void), (*group_barrier)(void);
};
extern "C" {
emulator *emulated; /* set by the host */
}

#define fn                                 static inline
#define seldom_fn                          fn
#define far_fn                             static
#define KERNEL(name, threads)              extern "C" void name
#define KERNEL_BLOCKS(name, threads, most) extern "C" void name
#define GLOBAL
#define LOCAL
#define SHARED         static /* one group at a time */
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define LOCAL_MEMORY_PARAMETER
#define BOX_PARAMETER
#define LOCAL_MEMORY emulated->local_memory
#define UNROLL
#define ROLLED
#define BARRIER()      emulated->group_barrier()
#define WARP_BARRIER() emulated->warp_barrier()
struct ALIGNED(16) unit {
    u64 low, high;
};
#define COPY_UNIT(to, from) (*(unit *)(to) = *(const unit *)(from))
#define COPY_WORD(to, from) (*(u64 *)(to) = *(const u64 *)(from))
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
#define ADD_GLOBAL      atomicAdd
#define ADD_LOCAL       atomicAdd
#define OR_LOCAL(p, v)  (*(p) |= (v))
#define MAX_LOCAL(p, v) (*(p) = *(p) > (v) ? *(p) : (v))
fn int high_zeros(u32 x) { return __builtin_clz(x); }
fn int low_zeros(u32 x) { return __builtin_ctz(x); }
fn void publish_word(u64 *p, u64 value, u64 mark) { *(unit *)p = unit{value, mark}; }
fn u64 poll_word(const u64 *p, u64 *value)
{
    const unit word = *(const unit *)p;
    *value = word.low;
    return word.high;
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
fn f32 fma_f32(f32 x, f32 y, f32 z) { return fmaf(x, y, z); }
fn f64 fma_f64(f64 x, f64 y, f64 z) { return fma(x, y, z); }
#define FUSES     1
#define SURELY(c) ((c) ? (void)0 : __builtin_trap())
#define HERE(x)   (void)0

template <class T> static u32 pair_max(u32 a, u32 b)
{
    const T l = (T)a > (T)b ? (T)a : (T)b,
            h = (T)(a >> 16) > (T)(b >> 16) ? (T)(a >> 16) : (T)(b >> 16);
    return (u32)(u16)h << 16 | (u16)l;
}
template <class T> static u32 pair_min(u32 a, u32 b)
{
    const T l = (T)a < (T)b ? (T)a : (T)b,
            h = (T)(a >> 16) < (T)(b >> 16) ? (T)(a >> 16) : (T)(b >> 16);
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
    for (int k = 0; k < 4; k++)
        sum += word_element(w, k, 1, is_signed) * word_element(w, k, 1, is_signed);
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
#define QUAD_OF(T, align) \
    struct ALIGNED(align) { \
        T x, y, z, w; \
    }
#define SAME_LENGTH 0
#define TL_SIZE 2
#define TL_KIND 3
#define TL_FORMAT 17
#define TL_REAL_FLOAT 4
#define REAL_T f32
#define STATE_BYTES 4
#define TL_OUT_SIZE 4
#define TL_OUT_FLOAT 4
#define OUT_T f32
#define ELEM_T u16
#define ORD_T i16
#define SCAN_LINES 0
#define SCAN_BLOCKS 1
#define DOWN_ROWS 32
#define DOWN_BLOCKS 3

#line 1 "src/gpu/kernel/prelude_gpu.h"
/* SPDX-License-Identifier: MIT
 * The words of the operator dialect on a GPU. It follows prelude_cuda.h or prelude_opencl.h. Every
 * word is a plain type or function of one thread. gpu/program.c defines for each instance:
 *
 *   ELEM_T REAL_T ORD_T OUT_T    its types
 *   TL_SIZE                      bytes of an element
 *   TL_KIND                      1 signed, 2 unsigned, 3 float
 *   TL_FORMAT                    16 f16, 17 bf16, else 0
 *   TL_OUT_SIZE                  bytes of one value of a result
 *   STATE_BYTES                  bytes of a state
 *   TL_REAL_FLOAT TL_OUT_FLOAT   0 integer, 4 f32, 8 f64
 *   CUT_LOG, QUADS_LOG           log2 of the states in a tile of windows (window/cut.cl, quads.cl)
 *   SCAN_LINES                   the warps of scan_single scan lines (scan_lines.cl)
 *   TL_MARKED                    defined if a nan form skips only marked elements, not every NaN
 *   PASS_LOG, PASS_RUN           log2 of the radix of windows in passes, items of a thread; 0: this
 *                                program has no passes
 *   TL_SCHEDULE                  how window_tile makes levels (window/tile.cl)
 *   TL_TABLE                     1 for tiles of tables (window/rows.cl)
 *   TL_PARTS, TL_FLAT, TL_FAR    1 if its launches may compute a part of the levels; if there is
 *                                one sequence; if windows of class X are longer than a tile */
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
    f64 value; /* the operator's parameter */
    /* index of the first element here in its whole sequence; 0, except for pieces of longer
     * sequences (batch.cl) */
    i64 origin;
} par;

#define REAL_IS_EXACT     (!TL_REAL_FLOAT)
#define FIELD(type, name) type name;
#ifdef POCL_DEVICE_ADDRESS_BITS /* Both operands are computed before the choice: with ?: a division
                                 * would become a branch (see BARRIER in prelude_opencl.h). */
#define sel(c, a, b) \
    ({ \
        __typeof__(a) a_ = (a); \
        __typeof__(b) b_ = (b); \
        (c) ? a_ : b_; \
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
/* NaN of the accumulator's type. A conversion from another width might change a NaN's bits. */
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

#ifdef TL_MARKED /* only the mark is skipped: all bits set but the sign (context/inputs.h) */
#define is_present(x, p) (elem_bits(x) != ~(u64)0 >> (65 - 8 * TL_SIZE))
#else
#define is_present(x, p) is_number(x)
#endif

#if TL_FORMAT == 16 && defined(HALF_TO_F32)
fn real to_real(elem x) { return (real)half_to_f32(x); }
#elif TL_FORMAT == 16
/* Exact: shifts the fields into place and multiplies by 2^112, which also normalises subnormals. */
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

/* Assumptions that the compiler may use. */
#ifndef SURELY
#define SURELY(c) (void)0
#define HERE(x)   (void)0
#endif

/* plus_half: y + d / 2. plus_halves: y + x (n / 2) for n = 1, 2, 4, ... and y, x not negative.
 * Where the product is exact, a fused multiply-add gives the same bits in one instruction. d / 2
 * and x / 2 are exact except for the smallest numbers, which elements of up to 4 bytes cannot
 * produce: means of 2^k of them are multiples of 2^-(149 + k), their squares of 2^-(298 + 2 k). For
 * larger n, x (n / 2) can only overflow, and then the sum overflows too (f64, in programs that know
 * n). */
#if defined(FUSES) && TL_REAL_FLOAT == 8 && (TL_SIZE <= 4 || defined(TL_LONG))
#define plus_half(y, d) (TL_SIZE <= 4 ? fma_f64(d, 0.5, y) : (y) + (d)*0.5)
#define plus_halves(y, x, n) \
    (TL_SIZE <= 4 || (n) > 1.0 ? fma_f64(x, (n)*0.5, y) : (y) + (x) * ((n)*0.5))
#else
#define plus_half(y, d)      ((y) + (d)*num(0.5))
#define plus_halves(y, x, n) ((y) + (x) * ((n)*num(0.5)))
#endif

/* x / n, correctly rounded. If all results of a launch have the same n (SAME_LENGTH), 1 / n is
 * computed once, and a product and two fused multiply-adds give the quotient (Brisebarre, Muller
 * and Raina, "Accelerating Correctly Rounded Floating-Point Division When the Divisor Is Known in
 * Advance", IEEE Transactions on Computers 53, 2004, algorithm 1). That needs steps without
 * underflow: 1 <= n <= BOUND and |quotient| >= 1 / BOUND. Otherwise, and for 0 and NaN, x is
 * divided by n. It was no faster for f32 in short windows. */
#if defined(FUSES) && SAME_LENGTH && \
    (TL_REAL_FLOAT == 8 || (TL_REAL_FLOAT == 4 && defined(TL_LONG)))
#if TL_REAL_FLOAT == 4
#define FMA_REAL fma_f32
#define BOUND    as_f32(0x71800000u) /* 2^100 */
#else
#define FMA_REAL fma_f64
#define BOUND    as_f64(0x5f30000000000000ul) /* 2^500 */
#endif

fn real over_size(real x, real n)
{
    const real part = n >= num(1.0) && n <= BOUND ? num(1.0) / n : num(0.0), about = x * part;
    const real v = FMA_REAL(FMA_REAL(-about, n, x), part, about);
    return fabs(v) >= num(1.0) / BOUND ? v : x / n;
}
#else
#define over_size(x, n) ((x) / (n))
#endif

#define to_result(x)      ((result)(x))
#define result_to_real(v) ((real)(v))
#define to_wide(x)        ((wide)(x))
#define wide_sign(x)      ((wide)((i64)(x) >> 63) & (TL_KIND == 1 ? ~(wide)0 : (wide)0))
#define signed_to_real(x) ((real)(i64)(x))
#define wide_to_real(x)   ((real)(u64)(x))
#define idx_to_real(x)    ((real)(i64)(x))
/* The number of elements as a real, but 1 for 0: combine ignores this operand then, and a division
 * by 0 would leave the fast path of f64 for the whole warp. */
#define kept_to_real(x) idx_to_real((x) + ((x) == 0))

#line 1 "src/op/mean.h"
/* SPDX-License-Identifier: MIT
 * mean of floats: the state of sum (op/sum.h), divided once, in lower, by n converted to the
 * accumulator's type. */
#define OP_CORE sum
#define OP_COUNTS 1
#define OP_LANE REAL
#define OP_WIDEN REAL
#define OP_EXACT 0
#define OP_STATE(F) F(real, s)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }
fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }
fn state neutral(par p) { state r; r.s = num(NEGATIVE_ZERO); return r; }
fn result lower(state a, real n, idx first, par p)
{
    return to_result(canon(over_size(a.s + num(0.0), n)));
}
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }

#line 1 "src/operator/defaults.h"
/* SPDX-License-Identifier: MIT
 * Default values of the facts that an operator's text does not define. */
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
 * Constants that the kernels and the host share. Every program contains this text, and the C files
 * of gpu/ that launch kernels include it, so it is C, CUDA and OpenCL C. gpu/program.c defines
 * sizes that depend on the operator. */

/* Lanes of a warp; contiguous items that a lane takes at a time. */
enum { LANES = 32, QUAD = 4 };

/* A chunk has 2^ELEMENTS_LOG elements; its node is of level 1. 2^STATES_LOG nodes of a level make
 * one node of the next level. So n elements have n >> LEVEL_LOG(level) full nodes of a level above
 * 0. */
enum { ELEMENTS_LOG = 10, STATES_LOG = 8, CHUNK = 1 << ELEMENTS_LOG };
#define LEVEL_LOG(level) (ELEMENTS_LOG - STATES_LOG + STATES_LOG * (level))

/* columns.cl: threads of a block, which share a chunk. */
enum { COLUMN_THREADS = 4 * LANES };

/* Flags of a batch. OFFSETS: sequences are given by offsets, and `first` is used. CHOSEN: ids
 * selects sequences. STATES: reduce writes states. */
enum { OFFSETS = 1, CHOSEN = 2, STATES = 4 };

/* The initial value of a scan: none, one value for all sequences, or a packed state for each. */
enum { SEED_NONE, SEED_VALUE, SEED_STATES };

/* law.cl: threads of a block; results of a thread. */
enum { LAW_THREADS = 64, LAW_EACH = 64 };

/* grid.cl: threads of a block; log2 of the steps of a block of steps, and their number; packs of 16
 * bytes that a lane copies at once. */
enum { GRID_THREADS = 256, GRID_LOG = 3, GRID_BLOCK = 1 << GRID_LOG, GRID_BUNDLES = 4 };

/* prepare.cl: threads of a block; numbers of the element types; flags of a launch. */
enum { PREPARE_THREADS = 256 };
enum { KIND_SIGNED = 1, KIND_UNSIGNED, KIND_FLOAT, KIND_BFLOAT };
#define TYPE(kind, bytes) ((kind)*16 + (bytes))
#define TYPE_KIND(type)   ((type) >> 4)
#define TYPE_BYTES(type)  ((type)&15)
enum {
    PREPARE_QUIET = 1,  /* NaNs become quiet NaNs without a payload */
    PREPARE_MASKED = 2, /* NaNs do not count */
    PREPARE_ZEROS = 4   /* zeros of x become +0 */
};

/* keys.cl: threads of a block; keys of a tile, with one word of 32 bits for each thread; tiles of a
 * step; heads that local memory holds at a time; keys of a unit, which has at most 16 bytes. */
enum {
    KEYS_THREADS = 256,
    KEYS_TILE = 32 * KEYS_THREADS,
    KEYS_TILES = 4,
    KEYS_STEP = KEYS_TILES * KEYS_TILE,
    KEYS_LIST = 8192
};
#define KEYS_UNIT(bytes) ((bytes) == 8 ? 2 : (bytes) == 4 ? 4 : 8)

/* exact/: threads of a block; blocks of a multiprocessor; max items of a job. Digits below 2^-1074,
 * for sums and for products of pairs; number of digits; words (u32) of all bins. Flags of a
 * launch. */
enum { EXACT_THREADS = 256, EXACT_BLOCKS = 3, EXACT_MOST = 1 << 27 };
enum { EXACT_LOW_SUMS = 2, EXACT_LOW_PAIRS = 34 };
#define EXACT_DIGITS_OF(pairs) ((pairs) ? 134 : 70)
#define EXACT_WORDS_OF(pairs)  (2 * (EXACT_DIGITS_OF(pairs) + 4))
enum { EXACT_MASKS = 5 }; /* words after the bins, with a bit for each digit */

/* Local memory of a row, in words. With EXACT_TOP of sum.cl and one more word it is an odd number,
 * which avoids bank conflicts. */
#define EXACT_LOCAL_OF(pairs) (EXACT_WORDS_OF(pairs) + EXACT_MASKS + 2)
/* words of a short row (rows.cl); registers that a lane uses for it */
enum { NARROW_LOCAL = 3, EXACT_LEVELS_MOST = 4 };

enum {
    EXACT_MARKED = 1, /* elements of -0 are skipped */
    EXACT_MASKED = 2, /* NaNs are skipped */
    EXACT_MEAN = 4,
    EXACT_F64 = 8 /* results are f64; else f32 */
};

/* reduce_single.cl: a tile is TILE_WARPS warps of 2^more chunks each. There are fewer than
 * TILES_MOST tiles. Fewer than CHUNKS_MOST chunks come after the last tile, and fewer than
 * ROWS_MOST rows of 2^ROW_LOG elements after the last chunk. */
enum {
    TILE_WARPS_LOG = 3,
    TILE_WARPS = 1 << TILE_WARPS_LOG,
    TILE_MORE = 5,
    CHUNKS_MOST = TILE_WARPS << TILE_MORE
};

enum { TILE_GROUPS = 256, TILES_MOST = TILE_GROUPS << STATES_LOG };
enum { ROW_LOG = 7, ROWS_MOST = 1 << (ELEMENTS_LOG - ROW_LOG) };

/* scan_single.cl: a tile has TILE_WARPS chunks, one for each of TILE_WARPS warps; two more warps do
 * the look-back. Its number has STATUS_LEVELS digits of RADIX_LOG bits. Local memory holds STAGES
 * tiles. The status table has a head of STATUS_HEADER bytes, then words of STATUS_WORD bytes, each
 * with 8 bytes of a state and the epoch. */
enum {
    SINGLE_THREADS = (TILE_WARPS + 2) * LANES,
    STAGES = 3,
    RADIX_LOG = 5,
    STATUS_LEVELS = 4,
    STATUS_HEADER = 16,
    STATUS_WORD = 16
};

/* scan_wave.cl: log2 of the parts of a warp, at most; more tiles would have three digits. */
enum { WAVE_MORE = 2, WAVE_TILES_END = 1 << (2 * RADIX_LOG) };

/* scan_down.cl: log2 of the radix of the look-back, which is TILE_WARPS; max levels; blocks of a
 * multiprocessor. DOWN_PITCH: bytes of the strip of a part in local memory. line: bytes of a row;
 * more: bytes between strips, which avoid bank conflicts. DOWN_BYTES: other bytes of a block. */
enum { COLUMN_LOG = TILE_WARPS_LOG, COLUMN_LEVELS = 7, DOWN_RUN = 4 };
#define DOWN_PITCH(rows, line, more) ((rows) * (line) + ((more) > 16 ? (more) : 16))
#define DOWN_BYTES(state) \
    (16 + ((1 + COLUMN_LEVELS) * TILE_WARPS + 1) * LANES * (int)(state))

/* segmented.cl: the local memory of a warp. It holds the elements of a window, the nodes of groups
 * of 8 elements and of 64, and for segments the offsets of a job and where each segment begins. */
enum {
    SEGMENTED_SEQUENCES = 128,
    SEGMENTED_ELEMENTS = CHUNK,
    SEGMENTED_NODES = SEGMENTED_ELEMENTS / 8
};
#define SEGMENTED_NODES_AT(elem) (SEGMENTED_ELEMENTS * (int)(elem) + 16)
#define SEGMENTED_OFFSETS_AT(elem, state) \
    ((SEGMENTED_NODES_AT(elem) + SEGMENTED_NODES / 8 * 9 * (int)(state) + 15) / 16 * 16)
#define SEGMENTED_BEGIN_AT(elem, state) \
    (SEGMENTED_OFFSETS_AT(elem, state) + 8 * (SEGMENTED_SEQUENCES + 2))
#define SEGMENTED_BYTES(elem, state, listed) \
    ((listed) ? SEGMENTED_BEGIN_AT(elem, state) + 4 * (SEGMENTED_SEQUENCES + 4) \
              : SEGMENTED_OFFSETS_AT(elem, state))

/* overwrites: results overwrite their elements. */
#define SEGMENTED_SCAN_BYTES(elem, state, result, listed, overwrites) \
    (SEGMENTED_BYTES(elem, state, listed) + ((overwrites) ? 0 : SEGMENTED_ELEMENTS * (int)(result)))

/* measure (segments.cl): segments of a thread; segments of a block; levels of nodes that it counts.
 * A slot has MEASURED_WORDS words (u32) about the offsets, two words of i64 (the first and the last
 * offset), the number of blocks that are done, and a counter of jobs for the kernel that was
 * launched speculatively (warp_*.cl). There are two slots. */
enum {
    MEASURE_THREADS = 256,
    MEASURE_EACH = 8,
    MEASURE_GROUP = MEASURE_THREADS * MEASURE_EACH,
    NODE_LEVELS = 8
};

enum {
    LONG_COUNT = 0,
    BAD = 1,
    DIFFERENT = 2,
    BEYOND = 3,
    NODES = 4,
    MEASURED_WORDS = NODES + NODE_LEVELS
};

enum { FIRST_OFFSET = (MEASURED_WORDS + 1) / 2, LAST_OFFSET, MEASURED_LONG_WORDS };

enum {
    MEASURED_DONE = 2 * MEASURED_LONG_WORDS,
    MEASURED_NEXT,
    MEASURED_SLOT = 32,
    MEASURED_SLOTS = 2
};

/* warp_reduce.cl, warp_scan.cl: a warp may take each sequence of less than BY_WARP_END elements.
 * It keeps the nodes of its chunks in its lanes. Segments: only if their mean is at least
 * BY_WARP_MEAN. */
enum { BY_WARP_END = 8 * CHUNK, BY_WARP_MEAN = CHUNK };

/* Windows: threads of a block. A tile of window_rows has 2^TILE_ROWS_LOG rows. gpu/tuning.def has
 * the sizes that depend on the device and on the state. */
enum { WINDOW_THREADS = 256, TILE_ROWS_LOG = 8, TILE_ROWS = 1 << TILE_ROWS_LOG };

/* window/passes.cl: `rows` folds bits 0 to PASS_TOP of the number of rows. window/digits.cl has a
 * radix of 2^DIGIT_LOG, and w < 2^(DIGIT_LOG * DIGITS). */
enum { PASS_TOP = 5, DIGITS = 3 };
#define DIGIT_LOG 3

/* window/stream.cl, by the log2 of the radix: results of a tile; places for the states of its
 * levels. Threads may read and write STREAM_PAST places past the end. */
enum { STREAM_PAST = 24 };
#define STREAM_TILE(log)    (((log) == 5 ? 5 : 9) << (2 * (log)))
#define STREAM_HIGH(log, w) (((w) - (1 << (2 * (log))) + STREAM_TILE(log) + 7) / 4 * 4)
#define STREAM_LOW(log)     ((1 << (2 * (log))) - (1 << (log)) + STREAM_TILE(log) + STREAM_PAST)
#define STREAM_X(log)       ((1 << (log)) + STREAM_TILE(log) + STREAM_PAST)

/* window/columns.cl. STEP_LOG: log2 of the elements of a step. RING_LEVELS: levels of the longest
 * window. RING_SIZE: how many nodes of level k a lane keeps, in whole steps. It keeps those that
 * the next level needs (RING_NEXT; none if that level is made in registers), and those that the
 * fold needs, which goes back by the bits of `fold` below k (RING_FOLD). */
#define STEP_LOG(state) ((state) > 8 ? 2 : 3)
enum { RING_LEVELS = 16 };
#define RING_STEPS(lag, low)   (((lag) + (1 << (low)) - 1) >> (low) << (low))
#define RING_NEXT(k, top, low) ((k) >= (low) && (k) < (top) ? 1 << (k) : 0)
#define RING_FOLD(k, fold, low) \
    ((fold) >> (k)&1 ? RING_STEPS((fold) & ((1 << (k)) - 1), low) + (1 << (low)) : 0)
#define RING_SIZE(k, top, fold, low) \
    (RING_NEXT(k, top, low) > RING_FOLD(k, fold, low) ? RING_NEXT(k, top, low) \
                                                      : RING_FOLD(k, fold, low))

/* What a launch of tiles computes. PART_RESULTS: results. PART_LEVEL: one level of longer windows,
 * which is stored in `states`. PART_LAST_BITS: the last bits of longer windows, which are folded
 * onto `states`, and then results. PART_RESULTS_ALONE: the results of longer windows that have none
 * of these bits. Folds of rows of nodes (window/rows.cl) are always stored in `states`. */
enum { PART_RESULTS, PART_LEVEL, PART_LAST_BITS, PART_RESULTS_ALONE };

/* Windows that the edge of a sequence cuts off. EDGES_TOO: this launch computes them. EDGES_APART:
 * another launch computes them, with the schedule `cut`. */
enum { EDGES_TOO, EDGES_APART };

/* window/exact.cl: items of a run; runs whose nodes a tile needs, for `heads` runs of results;
 * offsets in local memory of the nodes, and of one round of results (if these are larger than
 * items); bytes of local memory. A far tile has one round. EXACT_FAR_AT:
 * offset of the items where windows end; those of the next tile's beginnings lie behind. */
#define EXACT_RUN(state)         ((state) > 16 ? 5 : (state) > 8 ? 9 : 15)
#define EXACT_RUNS(heads, inner) ((heads) + (inner) + 2)
#define EXACT_STATES_AT(elem, state, each, d) \
    ((((each) + (d) + EXACT_RUN(state)) * (int)(elem) + 16 + 15) / 16 * 16)
#define EXACT_RESULTS_AT(elem, state, each, d) \
    ((EXACT_STATES_AT(elem, state, each, d) + \
      4 * (int)(state)*EXACT_RUNS((each) / EXACT_RUN(state), (d) / EXACT_RUN(state) - 1) + 15) / \
     16 * 16)
#define EXACT_BYTES(elem, state, result, each, d) \
    (EXACT_RESULTS_AT(elem, state, each, d) + \
     ((result) > (elem) ? WINDOW_THREADS * EXACT_RUN(state) * (int)(result) : 0))
#define EXACT_FAR_RUN(elem, state) ((elem) > 4 && (state) <= 16 ? 9 : EXACT_RUN(state))
#define EXACT_FAR_AT(elem, state) \
    ((WINDOW_THREADS * EXACT_FAR_RUN(elem, state) * (int)(elem) + 16 + 15) / 16 * 16)
#define EXACT_FAR_BYTES(elem, state, result) \
    (3 * EXACT_FAR_AT(elem, state) + \
     ((result) > (elem) ? WINDOW_THREADS * EXACT_FAR_RUN(elem, state) * (int)(result) : 0))

#line 1 "src/gpu/kernel/combine.cl"
/* SPDX-License-Identifier: MIT
 * C(a, b) of two states (COMBINE), and of two nodes of n elements each (TWIN). na, nb, n: numbers
 * of elements, which the caller knows from their place in the tree. Only operators with OP_SIZES
 * use them. */
#if TL_REAL_FLOAT == 8
typedef f64 amount; /* number of elements: exact below 2^53, and needs no conversion */
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
 * With two inputs an element is a pair, stored as one item of twice the size (prepare.cl writes
 * pairs so). From here on TL_SIZE is the size of the pair.
 *
 *   TL_IN_PLACE   the kernels read the caller's arrays: inputs/in_place.cl
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
 * What every shape starts from: a batch of sequences in memory, and states that the lanes of a warp
 * exchange. doc/order.md defines nodes, C(a, b), S(n) and class X. In the code a group is a thread
 * block, and local memory is what CUDA calls shared memory.
 *
 * A sequence of n elements is cut into chunks of 1024 elements; the node of a chunk is on level 1.
 * 256 nodes of a level make one node of the next, so level l has n >> LEVEL_LOG(l) full nodes
 * (constants.h). The index of the first node of sequence s is first[l][s] if the lengths differ,
 * else s times the nodes of a sequence. */
typedef struct {
    GLOBAL const u8 *x;          /* element 0 of row 0 */
    /* strides in elements; n: the length of every sequence, if there are no offsets */
    i64 row_stride, stride, n;

    /* OFFSETS: offsets and first are used; CHOSEN: ids is used; STATES: reduce writes states */
    i64 seqs, flags;
    GLOBAL const i64 *offsets;   /* [rows + 1] */
    GLOBAL const i64 *ids;       /* ids[s]: row of sequence s */
    GLOBAL const i64 *first;     /* [level][seqs + 1] */
    par p;
#if TL_IN_PLACE                  /* inputs/in_place.cl */
    GLOBAL const u8 *y, *x_there, *y_there; /* the second input; the bitmaps */
    i64 x_bit, y_bit;                       /* bit of the element at place 0 */
    u64 left_out;                           /* bits of the element that stands for an absent one */
#endif
} batch;

#define BATCH_PARAMETERS GLOBAL const u8 *in_data, i64 in_byte, i64 in_row_stride, i64 in_stride, i64 in_n, i64 in_seqs, \
    i64 in_flags, GLOBAL const i64 *in_offsets, GLOBAL const i64 *in_ids, GLOBAL const i64 *in_first, f64 parameter, \
    i64 origin, IN_PLACE_PARAMETERS
#line 29 "src/gpu/kernel/batch.cl"
#define BATCH_OF_PARAMETERS \
    batch b; \
    b.x = in_data + in_byte, b.row_stride = in_row_stride, b.stride = in_stride, b.n = in_n, \
    b.seqs = in_seqs, b.flags = in_flags, b.offsets = in_offsets, b.ids = in_ids, \
    b.first = in_first, b.p.value = parameter, b.p.origin = origin IN_PLACE_OF_PARAMETERS

#define IN_PLACE_PARAMETERS GLOBAL const u8 *y_data, i64 y_byte, GLOBAL const u8 *x_there, i64 x_bit, \
    GLOBAL const u8 *y_there, i64 y_bit, i64 left_out
#line 36 "src/gpu/kernel/batch.cl"
#if TL_IN_PLACE
#define IN_PLACE_OF_PARAMETERS \
    , b.y = y_data + y_byte, b.x_there = x_there, b.x_bit = x_bit, b.y_there = y_there, \
      b.y_bit = y_bit, b.left_out = (u64)left_out
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

fn i64 start_of(batch b, i64 s) /* offset in elements */
{
    i64 r = row_of(b, s);
    return b.flags & OFFSETS ? b.offsets[r] * b.stride : r * b.row_stride;
}

fn i64 level_count(i64 n, int level) { return level ? n >> LEVEL_LOG(level) : n; }

/* Elements of a node. */
fn i64 level_size(int level) { return level ? (i64)1 << LEVEL_LOG(level) : 1; }
fn i64 level_first(batch b, int level, i64 s)
{
    return b.flags & OFFSETS ? b.first[level * (b.seqs + 1) + s] : s * level_count(b.n, level);
}

/* Index of the first node of a level in the array of all nodes. */
fn i64 level_base(batch b, int level)
{
    i64 at = 0;
    for (int l = 1; l < level; l++) at += level_first(b, l, b.seqs);
    return at;
}

/* The sequence of job number `job`, if sequence s has level_count + extra jobs. */
fn i64 sequence_of(batch b, int level, i64 extra, i64 job)
{
    if (b.seqs == 1) return 0;
    if (!(b.flags & OFFSETS)) {
        i64 each = level_count(b.n, level) + extra;
        if (each == 1) return job;
        if (((job | each) >> 32) == 0) return (i64)((u32)job / (u32)each);
        return job / each;
    }

    i64 low = 0, high = b.seqs; /* invariant: first(low) <= job < first(high) */
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

/* A state that may be ABSENT: then have is 0. */
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

/* C(a, b), where a has na elements and b has nb. If the operator has a neutral state, ABSENT is
 * that state, and no choice is needed for each field. */
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

/* States in the host's layout (packed): the fields one after the other, without padding. */
#define SIZE_OF(type, f) +(int)sizeof(type)
enum { PACKED = 0 OP_FIELDS(SIZE_OF) };
#undef SIZE_OF
far_fn void pack(GLOBAL u8 *to, state v)
{
#define PACK(type, f) \
    { \
        const u8 *from = (const u8 *)&v.f; \
        UNROLL for (int k = 0; k < (int)sizeof(type); k++) to[k] = from[k]; \
        to += sizeof(type); \
    }
    OP_FIELDS(PACK)
#undef PACK
}

far_fn state unpack(GLOBAL const u8 *from)
{
    state v;
#define UNPACK(type, f) \
    { \
        u8 *to = (u8 *)&v.f; \
        UNROLL for (int k = 0; k < (int)sizeof(type); k++) to[k] = from[k]; \
        from += sizeof(type); \
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

/* Combines this lane's node with its partner's (`got`), n elements each. right: this lane's node is
 * the right operand. */
fn state meet(state mine, state got, int right, amount n)
{
#if OP_COMMUTES || (OP_NEUTRAL && !TL_USER) /* every built-in operator with a neutral state also
                                             * commutes bit for bit (tested by test_promises);
                                             * operators of users declare it */
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

/* Four elements of any sequence, one load each. x: its element 0; step: its stride in bytes.
 * Indices from `limit` on repeat the last element. */
far_fn quad gather(GLOBAL const u8 *x, i64 step, i64 i, i64 limit)
{
    quad q;
    q.x = load_element(x + (i < limit ? i : limit - 1) * step);
    q.y = load_element(x + (i + 1 < limit ? i + 1 : limit - 1) * step);
    q.z = load_element(x + (i + 2 < limit ? i + 2 : limit - 1) * step);
    q.w = load_element(x + (i + 3 < limit ? i + 3 : limit - 1) * step);
    return q;
}

/* Loads the first `all` of the `left` elements of a sequence that lie `step` bytes apart. If left <
 * all, the last element is repeated. */
fn void load_down(elem *e, const int all, GLOBAL const u8 *x, i64 step, i64 left)
{
    /* The step is a multiple of TL_SIZE, so all elements are aligned or none. */
    if (left >= all && ADDRESS(x) % TL_SIZE == 0) {
        UNROLL for (int k = 0; k < all; k++) e[k] = *(GLOBAL const elem *)(x + k * step);
    } else {
        UNROLL for (int k = 0; k < all; k++)
            e[k] = load_element(x + (k < left ? k : left - 1) * step);
    }
}

/* ---- items of a chunk: elements, or states that are nodes of the level below ---- */

/* Loads a lane's items of rows_ rows: item k of row r has index at + r * 128 + lane * 4 + k in the
 * sequence that starts at `start`. Indices from `limit` on repeat the last item; limit 0 gives
 * `none`. There is one test for the whole chunk, so that its loads overlap. */
#define LOAD_ROWS(name, item, rows_, fast_load, slow_load, none) \
    fn void name(item e[rows_][QUAD], batch b, i64 start, i64 at, i64 limit) \
    { \
        i64 mine = at + lane_index() * QUAD; \
        if (at + rows_ * LANES * QUAD <= limit && can_##name(b, start + at)) { \
            UNROLL for (int r = 0; r < rows_; r++) fast_load; \
        } else if (at + rows_ * LANES * QUAD <= limit && near_##name(b, start + at)) { \
            UNROLL for (int r = 0; r < rows_; r++) \
            { \
                GLOBAL const item *x = (GLOBAL const item *)b.x + start + mine + r * LANES * QUAD; \
                UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = x[k]; \
            } \
        } else { \
            UNROLL for (int r = 0; r < rows_; r++) \
            { \
                i64 i = mine + r * LANES * QUAD; \
                if (limit <= 0) { \
                    UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = none; \
                } else if (!SKIPS || at + r * LANES * QUAD < limit) { \
                    slow_load; \
                } \
            } \
        } \
    }

#if !TL_IN_PLACE
fn int can_load_e(batch b, i64 first)
{
    return b.stride == 1 && ADDRESS(b.x + first * TL_SIZE) % QUAD_ALIGN == 0;
}

/* Contiguous, but not aligned to quads: four loads, three of which hit the L1 cache. */
fn int near_load_e(batch b, i64 first)
{
    return SKIPS && b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0;
}

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
/* A row that is not full or not aligned. It tests for contiguous elements here, because a call of
 * gather for each lane would wait for the loads before it. */
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

LOAD_ROWS(load_e, elem, 8,
          put_quad(e[r], ((GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE))[r * LANES]),
          put_quad(e[r], load_some(b, start, i, limit)), NO_ELEMENT)
/* The same for a full chunk for which can_load_e is true. */
fn void load_dense(elem e[8][QUAD], batch b, i64 first)
{
    GLOBAL const quad *x = (GLOBAL const quad *)(b.x + first * TL_SIZE) + lane_index();
    UNROLL for (int r = 0; r < 8; r++) put_quad(e[r], x[r * LANES]);
}

#define can_load_h can_load_e
#define can_load_d can_load_e
#define can_load_r can_load_e
LOAD_ROWS(load_r, elem, 1, put_quad(e[r], *(GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE)),
          put_quad(e[r], load_some(b, start, i, limit)), NO_ELEMENT)
LOAD_ROWS(load_d, elem, 2,
          put_quad(e[r], ((GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE))[r * LANES]),
          put_quad(e[r], load_some(b, start, i, limit)), NO_ELEMENT)
LOAD_ROWS(load_h, elem, 4,
          put_quad(e[r], ((GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE))[r * LANES]),
          put_quad(e[r], load_some(b, start, i, limit)), NO_ELEMENT)
typedef elem strip[8][QUAD]; /* a chunk that is prefetched before it is folded (reduce_single.cl) */
#define fold_dense(v, e, b, from, at) fold_quads_e(v, e, b, at, 1)
#endif

LOAD_ROWS(load_s, state, 2, get_states(e[r], STATES_OF(b), mine + r * LANES * QUAD, limit),
          get_states(e[r], STATES_OF(b), i, limit), nothing(b.p).s)

/* The state of an item of a chunk; i: its index in this piece. The letter is that of the chunk's
 * program (chunk.cl): e, h, d, r for 8, 4, 2 and 1 rows of elements, s for states. */
fn state lift_e(elem x, i64 i, par p) { return lift(x, p.origin + i, p); }
fn state lift_r(elem x, i64 i, par p) { return lift(x, p.origin + i, p); }
fn state lift_d(elem x, i64 i, par p) { return lift(x, p.origin + i, p); }
fn state lift_h(elem x, i64 i, par p) { return lift(x, p.origin + i, p); }
fn state lift_s(state x, i64 i, par p) { return x; }

/* ---- results ---- */

/* The results of a batch: the same sequences with other strides, OP_LANES values for each
 * result. */
typedef struct {
    GLOBAL u8 *x;
    i64 row_stride, stride;
} results;

#define RESULTS_PARAMETERS GLOBAL u8 *out_data, i64 out_byte, i64 out_row_stride, i64 out_stride
#define RESULTS_OF_PARAMETERS \
    results out; \
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
    i64 r = row_of(b, s),
        at = (b.flags & OFFSETS ? b.offsets[r] * out.stride : r * out.row_stride) + i * out.stride;
    return out.x + at * (i64)(OP_LANES * sizeof(result));
}

/* Stores a result. v is the state of n elements of this piece and of all elements before it; first:
 * the index of the first element. */
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

/* Stores the results of a warp's quads, which are contiguous. to: the place of lane 0's first
 * result, aligned to a quad. Pairs of lanes exchange results of 8 bytes first: if each lane stored
 * 16 of its 32 bytes, half of each memory sector would be written at a time. */
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
    first.a = odd ? x : w[0], first.b = odd ? y : w[1], second.a = odd ? w[2] : x,
    second.b = odd ? w[3] : y;
    GLOBAL two *at = (GLOBAL two *)to + lane_index() / 2 * 4 + odd;
    at[0] = first, at[2] = second;
#else
    r.x = w[0], r.y = w[1], r.z = w[2], r.w = w[3];
    ((GLOBAL result_quad *)to)[lane_index()] = r;
#endif
}
#endif

/* The value is chosen first and stored once (see BARRIER in prelude_opencl.h). */
fn void store_maybe(GLOBAL u8 *p, maybe v, i64 n, i64 first, par q)
{
    n += q.origin;
    store_bytes(p, v.have ? lower(v.s, (real)n, first, q) : empty(q));
#if OP_LANES == 2
    store_bytes(p + sizeof(result), v.have ? lower_1(v.s, (real)n, first, q) : empty_1(q));
#endif
}

/* Stores the result of a reduction of sequence s, which has n elements. */
fn void store_reduced(results out, batch b, i64 s, maybe v, i64 n)
{
    i64 r = row_of(b, s);
    if (b.flags & STATES)
        pack(out.x + r * PACKED, v.s);
    else
        store_maybe(out.x + r * out.row_stride * (i64)(OP_LANES * sizeof(result)), v, n, 0, b.p);
}

#define ROWS_E 8
#define LOG_ROWS_E 3

#undef ITEM
#undef N
#undef LANE_ITEMS
#undef ROWS
#undef LOG_ROWS
#define N(name) name##_e
#define LANE_ITEMS 4
#define ROWS 8
#define LOG_ROWS 3
#define ITEM elem

#line 1 "src/gpu/kernel/chunk.cl"
/* SPDX-License-Identifier: MIT
 * A warp folds one chunk: ROWS rows of 32 lanes of LANE_ITEMS items, contiguous. gpu/program.c
 * includes this text several times, with N(x) for names: for elements (x_e, ITEM elem, 8 rows of
 * 128; x_h, x_d and x_r with 4, 2 and 1 rows), for states that are nodes of the level below (x_s,
 * ITEM state, 2 rows), and without ITEM, the first part alone, for chunks of packs (x_w,
 * reduce_single.cl).
 * unit: the elements of an item. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* Folds across lanes. Before: v[r] is the lane's node of row r. After: v[0] is the node of one full
 * row; the row's number is the low LOG_ROWS bits of the lane, in reverse order. This is a
 * transposing butterfly: at step s, the lane whose bit s is 0 keeps row j and sends row j + m; its
 * partner does the reverse. So ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 * ROWS. */
fn void N(fold_across)(state *v, amount unit, LOCAL state *box)
{
    const int lane = lane_index();
    UNROLL for (int s = 0; s < LOG_ROWS; s++)
    {
        const int m = ROWS >> (s + 1), right = lane >> s & 1;
        UNROLL for (int j = 0; j < m; j++)
        {
            state got = exchange(choose(right, v[j], v[j + m]), 1 << s, box);
            v[j] = meet(choose(right, v[j + m], v[j]), got, right, unit * (LANE_ITEMS << s));
        }
    }
    UNROLL for (int s = LOG_ROWS; s < 5; s++)
        v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1, unit * (LANE_ITEMS << s));
}

/* Returns the node of a full chunk, in every lane, from the rows that fold_across made. Bit s of
 * the lane is bit LOG_ROWS - 1 - s of the number of its row. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--)
        v = meet(v, exchange(v, 1 << s, box), lane_index() >> s & 1,
                 unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

#ifdef ITEM
/* v[r] = the node of the lane's four items of row r. */
fn void N(fold_quads)(state *v, ITEM e[ROWS][QUAD], batch b, i64 at, amount unit)
{
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        v[r] =
            TWIN(TWIN(N(lift)(e[r][0], i, b.p), N(lift)(e[r][1], i + 1, b.p), unit),
                 TWIN(N(lift)(e[r][2], i + 2, b.p), N(lift)(e[r][3], i + 3, b.p), unit), 2 * unit);
    }
}

fn void N(fold_rows)(state *v, batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    ITEM e[ROWS][QUAD];
    N(load)(e, b, from, at, at + N(CHUNK));
    N(fold_quads)(v, e, b, at, unit);
    N(fold_across)(v, unit, box);
}

fn state N(chunk_node)(batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    state v[ROWS];
    N(fold_rows)(v, b, from, at, unit, box);
    return N(fold_lanes)(v[0], unit, box);
}

/* Returns the node of a row. v: the lane's node, of n elements. left[k]: what the lane's partner at
 * bit k had at step k, for row_start. */
fn state N(row_node)(state v, amount n, state *left, LOCAL state *box)
{
    const int lane = lane_index();
    UNROLL for (int k = 0; k < 5; k++)
    {
        left[k] = exchange(v, 1 << k, box);
        v = meet(v, left[k], lane >> k & 1, n * (1 << k));
    }
    return v;
}

/* Returns the prefix S at the lane's first item: the row's prefix (`row`, of `before` elements),
 * then the left partners at the lane's set bits, from high to low. n: elements of a lane. */
fn maybe N(row_start)(maybe row, amount before, amount n, const state *left)
{
    const int lane = lane_index();
    UNROLL for (int k = 4; k >= 0; k--)
    {
        maybe with = then(row, left[k], before + n * (lane & -(2 << k)), n * (1 << k));
        int take = lane >> k & 1;
        row.s = choose(take, with.s, row.s);
        row.have = take ? 1 : row.have;
    }
    return row;
}

/* Makes the next row's prefix. Called with r = 0, 1, 2, ...; node: the node of row r, of n
 * elements. Then rows[r + 1] is the prefix S at row r + 1. rows[0] is given, and has `before`
 * elements. */
fn void N(next_row)(maybe *rows, state *stack, int r, state node, amount before, amount n)
{
    UNROLL for (int k = 0; k < LOG_ROWS; k++)
    {
        if (((r >> k) & 1) == 0) {
            stack[k] = node;
            rows[r + 1] = then(rows[(r + 1) & r], node, before + n * ((r + 1) & r), n * (1 << k));
            return;
        }
        node = TWIN(stack[k], node, n * (1 << k));
    }
    rows[r + 1] = then(rows[0], node, before, n * (1 << LOG_ROWS));
}

/* Returns the prefix S at item `count` of the chunk that begins at `at` (0 <= count < CHUNK), in
 * every lane. before: the prefix at the chunk, of `done` elements. */
seldom_fn maybe N(append)(maybe before, amount done, batch b, i64 from, i64 at, i64 count,
                          amount unit, LOCAL state *box)
{
    maybe rows[ROWS + 1], mine = before;
    state stack[LOG_ROWS + 1], left[5];
    ITEM e[ROWS][QUAD];
    const int lane = lane_index(), last = (int)count / (LANES * QUAD),
              rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;

    N(load)(e, b, from, at, at + count);
    rows[0] = before;

    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        i64 i = at + r * LANES * QUAD + lane * QUAD;
        amount row = done + unit * (r * N(ROW)), mine_done = row + unit * (lane * QUAD);
        state q0 = N(lift)(e[r][0], i, b.p), q1 = N(lift)(e[r][1], i + 1, b.p),
              q2 = N(lift)(e[r][2], i + 2, b.p);
        state q3 = N(lift)(e[r][3], i + 3, b.p), two = TWIN(q0, q1, unit);
        state node = N(row_node)(TWIN(two, TWIN(q2, q3, unit), 2 * unit), QUAD * unit, left, box);

        if (r == last) {
            maybe start = N(row_start)(rows[r], row, QUAD * unit, left);
            maybe with = then(start, two, mine_done, 2 * unit);
            if (rest & 2) start = with;
            with = then(start, choose(rest & 2, q2, q0), mine_done + unit * (rest & 2), unit);
            if (rest & 1) start = with;
            mine = start;
        } else {
            N(next_row)(rows, stack, r, node, done, N(ROW) * unit);
        }
    }

    if (SKIPS && rest == 0) {
    } else {
        mine.s = from_lane(mine.s, rest / QUAD, box);
        mine.have = 1;
    }

    if (rest) return mine;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (r == last) before = rows[r];
    }

    return before;
}

#endif

#undef ITEM
#undef N
#undef LANE_ITEMS
#undef ROWS
#undef LOG_ROWS
#define N(name) name##_s
#define LANE_ITEMS 4
#define ROWS 2
#define LOG_ROWS 1
#define ITEM state

#line 1 "src/gpu/kernel/chunk.cl"
/* SPDX-License-Identifier: MIT
 * A warp folds one chunk: ROWS rows of 32 lanes of LANE_ITEMS items, contiguous. gpu/program.c
 * includes this text several times, with N(x) for names: for elements (x_e, ITEM elem, 8 rows of
 * 128; x_h, x_d and x_r with 4, 2 and 1 rows), for states that are nodes of the level below (x_s,
 * ITEM state, 2 rows), and without ITEM, the first part alone, for chunks of packs (x_w,
 * reduce_single.cl).
 * unit: the elements of an item. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* Folds across lanes. Before: v[r] is the lane's node of row r. After: v[0] is the node of one full
 * row; the row's number is the low LOG_ROWS bits of the lane, in reverse order. This is a
 * transposing butterfly: at step s, the lane whose bit s is 0 keeps row j and sends row j + m; its
 * partner does the reverse. So ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 * ROWS. */
fn void N(fold_across)(state *v, amount unit, LOCAL state *box)
{
    const int lane = lane_index();
    UNROLL for (int s = 0; s < LOG_ROWS; s++)
    {
        const int m = ROWS >> (s + 1), right = lane >> s & 1;
        UNROLL for (int j = 0; j < m; j++)
        {
            state got = exchange(choose(right, v[j], v[j + m]), 1 << s, box);
            v[j] = meet(choose(right, v[j + m], v[j]), got, right, unit * (LANE_ITEMS << s));
        }
    }
    UNROLL for (int s = LOG_ROWS; s < 5; s++)
        v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1, unit * (LANE_ITEMS << s));
}

/* Returns the node of a full chunk, in every lane, from the rows that fold_across made. Bit s of
 * the lane is bit LOG_ROWS - 1 - s of the number of its row. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--)
        v = meet(v, exchange(v, 1 << s, box), lane_index() >> s & 1,
                 unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

#ifdef ITEM
/* v[r] = the node of the lane's four items of row r. */
fn void N(fold_quads)(state *v, ITEM e[ROWS][QUAD], batch b, i64 at, amount unit)
{
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        v[r] =
            TWIN(TWIN(N(lift)(e[r][0], i, b.p), N(lift)(e[r][1], i + 1, b.p), unit),
                 TWIN(N(lift)(e[r][2], i + 2, b.p), N(lift)(e[r][3], i + 3, b.p), unit), 2 * unit);
    }
}

fn void N(fold_rows)(state *v, batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    ITEM e[ROWS][QUAD];
    N(load)(e, b, from, at, at + N(CHUNK));
    N(fold_quads)(v, e, b, at, unit);
    N(fold_across)(v, unit, box);
}

fn state N(chunk_node)(batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    state v[ROWS];
    N(fold_rows)(v, b, from, at, unit, box);
    return N(fold_lanes)(v[0], unit, box);
}

/* Returns the node of a row. v: the lane's node, of n elements. left[k]: what the lane's partner at
 * bit k had at step k, for row_start. */
fn state N(row_node)(state v, amount n, state *left, LOCAL state *box)
{
    const int lane = lane_index();
    UNROLL for (int k = 0; k < 5; k++)
    {
        left[k] = exchange(v, 1 << k, box);
        v = meet(v, left[k], lane >> k & 1, n * (1 << k));
    }
    return v;
}

/* Returns the prefix S at the lane's first item: the row's prefix (`row`, of `before` elements),
 * then the left partners at the lane's set bits, from high to low. n: elements of a lane. */
fn maybe N(row_start)(maybe row, amount before, amount n, const state *left)
{
    const int lane = lane_index();
    UNROLL for (int k = 4; k >= 0; k--)
    {
        maybe with = then(row, left[k], before + n * (lane & -(2 << k)), n * (1 << k));
        int take = lane >> k & 1;
        row.s = choose(take, with.s, row.s);
        row.have = take ? 1 : row.have;
    }
    return row;
}

/* Makes the next row's prefix. Called with r = 0, 1, 2, ...; node: the node of row r, of n
 * elements. Then rows[r + 1] is the prefix S at row r + 1. rows[0] is given, and has `before`
 * elements. */
fn void N(next_row)(maybe *rows, state *stack, int r, state node, amount before, amount n)
{
    UNROLL for (int k = 0; k < LOG_ROWS; k++)
    {
        if (((r >> k) & 1) == 0) {
            stack[k] = node;
            rows[r + 1] = then(rows[(r + 1) & r], node, before + n * ((r + 1) & r), n * (1 << k));
            return;
        }
        node = TWIN(stack[k], node, n * (1 << k));
    }
    rows[r + 1] = then(rows[0], node, before, n * (1 << LOG_ROWS));
}

/* Returns the prefix S at item `count` of the chunk that begins at `at` (0 <= count < CHUNK), in
 * every lane. before: the prefix at the chunk, of `done` elements. */
seldom_fn maybe N(append)(maybe before, amount done, batch b, i64 from, i64 at, i64 count,
                          amount unit, LOCAL state *box)
{
    maybe rows[ROWS + 1], mine = before;
    state stack[LOG_ROWS + 1], left[5];
    ITEM e[ROWS][QUAD];
    const int lane = lane_index(), last = (int)count / (LANES * QUAD),
              rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;

    N(load)(e, b, from, at, at + count);
    rows[0] = before;

    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        i64 i = at + r * LANES * QUAD + lane * QUAD;
        amount row = done + unit * (r * N(ROW)), mine_done = row + unit * (lane * QUAD);
        state q0 = N(lift)(e[r][0], i, b.p), q1 = N(lift)(e[r][1], i + 1, b.p),
              q2 = N(lift)(e[r][2], i + 2, b.p);
        state q3 = N(lift)(e[r][3], i + 3, b.p), two = TWIN(q0, q1, unit);
        state node = N(row_node)(TWIN(two, TWIN(q2, q3, unit), 2 * unit), QUAD * unit, left, box);

        if (r == last) {
            maybe start = N(row_start)(rows[r], row, QUAD * unit, left);
            maybe with = then(start, two, mine_done, 2 * unit);
            if (rest & 2) start = with;
            with = then(start, choose(rest & 2, q2, q0), mine_done + unit * (rest & 2), unit);
            if (rest & 1) start = with;
            mine = start;
        } else {
            N(next_row)(rows, stack, r, node, done, N(ROW) * unit);
        }
    }

    if (SKIPS && rest == 0) {
    } else {
        mine.s = from_lane(mine.s, rest / QUAD, box);
        mine.have = 1;
    }

    if (rest) return mine;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (r == last) before = rows[r];
    }

    return before;
}

#endif

#undef ITEM
#undef N
#undef LANE_ITEMS
#undef ROWS
#undef LOG_ROWS
#define N(name) name##_r
#define LANE_ITEMS 4
#define ROWS 1
#define LOG_ROWS 0
#define ITEM elem

#line 1 "src/gpu/kernel/chunk.cl"
/* SPDX-License-Identifier: MIT
 * A warp folds one chunk: ROWS rows of 32 lanes of LANE_ITEMS items, contiguous. gpu/program.c
 * includes this text several times, with N(x) for names: for elements (x_e, ITEM elem, 8 rows of
 * 128; x_h, x_d and x_r with 4, 2 and 1 rows), for states that are nodes of the level below (x_s,
 * ITEM state, 2 rows), and without ITEM, the first part alone, for chunks of packs (x_w,
 * reduce_single.cl).
 * unit: the elements of an item. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* Folds across lanes. Before: v[r] is the lane's node of row r. After: v[0] is the node of one full
 * row; the row's number is the low LOG_ROWS bits of the lane, in reverse order. This is a
 * transposing butterfly: at step s, the lane whose bit s is 0 keeps row j and sends row j + m; its
 * partner does the reverse. So ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 * ROWS. */
fn void N(fold_across)(state *v, amount unit, LOCAL state *box)
{
    const int lane = lane_index();
    UNROLL for (int s = 0; s < LOG_ROWS; s++)
    {
        const int m = ROWS >> (s + 1), right = lane >> s & 1;
        UNROLL for (int j = 0; j < m; j++)
        {
            state got = exchange(choose(right, v[j], v[j + m]), 1 << s, box);
            v[j] = meet(choose(right, v[j + m], v[j]), got, right, unit * (LANE_ITEMS << s));
        }
    }
    UNROLL for (int s = LOG_ROWS; s < 5; s++)
        v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1, unit * (LANE_ITEMS << s));
}

/* Returns the node of a full chunk, in every lane, from the rows that fold_across made. Bit s of
 * the lane is bit LOG_ROWS - 1 - s of the number of its row. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--)
        v = meet(v, exchange(v, 1 << s, box), lane_index() >> s & 1,
                 unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

#ifdef ITEM
/* v[r] = the node of the lane's four items of row r. */
fn void N(fold_quads)(state *v, ITEM e[ROWS][QUAD], batch b, i64 at, amount unit)
{
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        v[r] =
            TWIN(TWIN(N(lift)(e[r][0], i, b.p), N(lift)(e[r][1], i + 1, b.p), unit),
                 TWIN(N(lift)(e[r][2], i + 2, b.p), N(lift)(e[r][3], i + 3, b.p), unit), 2 * unit);
    }
}

fn void N(fold_rows)(state *v, batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    ITEM e[ROWS][QUAD];
    N(load)(e, b, from, at, at + N(CHUNK));
    N(fold_quads)(v, e, b, at, unit);
    N(fold_across)(v, unit, box);
}

fn state N(chunk_node)(batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    state v[ROWS];
    N(fold_rows)(v, b, from, at, unit, box);
    return N(fold_lanes)(v[0], unit, box);
}

/* Returns the node of a row. v: the lane's node, of n elements. left[k]: what the lane's partner at
 * bit k had at step k, for row_start. */
fn state N(row_node)(state v, amount n, state *left, LOCAL state *box)
{
    const int lane = lane_index();
    UNROLL for (int k = 0; k < 5; k++)
    {
        left[k] = exchange(v, 1 << k, box);
        v = meet(v, left[k], lane >> k & 1, n * (1 << k));
    }
    return v;
}

/* Returns the prefix S at the lane's first item: the row's prefix (`row`, of `before` elements),
 * then the left partners at the lane's set bits, from high to low. n: elements of a lane. */
fn maybe N(row_start)(maybe row, amount before, amount n, const state *left)
{
    const int lane = lane_index();
    UNROLL for (int k = 4; k >= 0; k--)
    {
        maybe with = then(row, left[k], before + n * (lane & -(2 << k)), n * (1 << k));
        int take = lane >> k & 1;
        row.s = choose(take, with.s, row.s);
        row.have = take ? 1 : row.have;
    }
    return row;
}

/* Makes the next row's prefix. Called with r = 0, 1, 2, ...; node: the node of row r, of n
 * elements. Then rows[r + 1] is the prefix S at row r + 1. rows[0] is given, and has `before`
 * elements. */
fn void N(next_row)(maybe *rows, state *stack, int r, state node, amount before, amount n)
{
    UNROLL for (int k = 0; k < LOG_ROWS; k++)
    {
        if (((r >> k) & 1) == 0) {
            stack[k] = node;
            rows[r + 1] = then(rows[(r + 1) & r], node, before + n * ((r + 1) & r), n * (1 << k));
            return;
        }
        node = TWIN(stack[k], node, n * (1 << k));
    }
    rows[r + 1] = then(rows[0], node, before, n * (1 << LOG_ROWS));
}

/* Returns the prefix S at item `count` of the chunk that begins at `at` (0 <= count < CHUNK), in
 * every lane. before: the prefix at the chunk, of `done` elements. */
seldom_fn maybe N(append)(maybe before, amount done, batch b, i64 from, i64 at, i64 count,
                          amount unit, LOCAL state *box)
{
    maybe rows[ROWS + 1], mine = before;
    state stack[LOG_ROWS + 1], left[5];
    ITEM e[ROWS][QUAD];
    const int lane = lane_index(), last = (int)count / (LANES * QUAD),
              rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;

    N(load)(e, b, from, at, at + count);
    rows[0] = before;

    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        i64 i = at + r * LANES * QUAD + lane * QUAD;
        amount row = done + unit * (r * N(ROW)), mine_done = row + unit * (lane * QUAD);
        state q0 = N(lift)(e[r][0], i, b.p), q1 = N(lift)(e[r][1], i + 1, b.p),
              q2 = N(lift)(e[r][2], i + 2, b.p);
        state q3 = N(lift)(e[r][3], i + 3, b.p), two = TWIN(q0, q1, unit);
        state node = N(row_node)(TWIN(two, TWIN(q2, q3, unit), 2 * unit), QUAD * unit, left, box);

        if (r == last) {
            maybe start = N(row_start)(rows[r], row, QUAD * unit, left);
            maybe with = then(start, two, mine_done, 2 * unit);
            if (rest & 2) start = with;
            with = then(start, choose(rest & 2, q2, q0), mine_done + unit * (rest & 2), unit);
            if (rest & 1) start = with;
            mine = start;
        } else {
            N(next_row)(rows, stack, r, node, done, N(ROW) * unit);
        }
    }

    if (SKIPS && rest == 0) {
    } else {
        mine.s = from_lane(mine.s, rest / QUAD, box);
        mine.have = 1;
    }

    if (rest) return mine;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (r == last) before = rows[r];
    }

    return before;
}

#endif

#line 1 "src/gpu/kernel/packs.cl"
/* SPDX-License-Identifier: MIT
 * Elements in packs of 16 bytes, and the first fast path that folds packs (partials.cl and
 * reduce_single.cl have the others). */
enum { PACK = 16 / TL_SIZE };

typedef struct ALIGNED(16) {
    u32 w[4];
} bundle;

fn elem pack_element(bundle v, int k)
{
#if OP_INPUTS == 2
    union {
        bundle all;
        elem e[PACK];
    } u;
    u.all = v;
    return u.e[k];
#else
#if TL_SIZE == 8
    const u64 bits = v.w[2 * k] | (u64)v.w[2 * k + 1] << 32;
#else
    const u32 bits = v.w[k * TL_SIZE / 4] >> (8 * TL_SIZE * k) % 32;
#endif
#if TL_KIND == 3
    return bits_elem(bits);
#else
    return (elem)bits;
#endif
#endif
}

fn int is_packed(batch b, i64 first)
{
    return b.stride == 1 && ADDRESS(b.x + first * TL_SIZE) % 16 == 0;
}

/* Mean and sum of squared deviations (OP_MOMENTS) of integers of 8 or 16 bits. All means and m2 of
 * nodes of 2^k such elements, k <= 11, and all intermediate values of combine, are multiples of
 * 2^-k with less than 53 bits, so nothing is rounded. Then the node follows from the sums of the
 * elements and of their squares, in any order:
 *
 *   mean = sum / n        m2 = (n squares - sum sum) / n
 *
 * (n = 2^k; with 8 bits, k may be 19.) */
#define MOMENTS \
    (OP_MOMENTS && !TL_IN_PLACE && !OP_MASKED && TL_KIND != 3 && TL_SIZE <= 2 && TL_REAL_FLOAT == 8)

#if MOMENTS
typedef struct {
    u32 sum;
    u64 squares;
} moments;

fn moments moments_pack(moments t, bundle v)
{
#if TL_SIZE == 1
    u32 squares = 0;

    UNROLL for (int k = 0; k < 4; k++) squares = WORD_SQUARES(v.w[k], squares);
    t.squares += squares;
#else

    UNROLL for (int k = 0; k < PACK; k++)
    {
        const elem x = pack_element(v, k);
        t.squares += (u32)x * (u32)x;
    }
#endif
    UNROLL for (int k = 0; k < 4; k++) t.sum = WORD_SUM(v.w[k], t.sum);
    return t;
}

/* Returns the node of n elements, in every lane, from the sums of each lane. */
fn state moments_node(moments t, i64 n, LOCAL state *box)
{
    state s, got;
    s.mean = TL_KIND == 1 ? (real)(i32)t.sum : (real)t.sum, s.m2 = (real)t.squares;
    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        got = exchange(s, m, box);
        s.mean += got.mean, s.m2 += got.m2;
    }
    const i64 sum = (i64)s.mean, squares = (i64)s.m2;
    s.mean = (real)sum / (real)n, s.m2 = (real)(n * squares - sum * sum) / (real)n;
    return s;
}

/* Returns the node of a full chunk, in every lane. */
fn state chunk_moments(batch b, i64 from, i64 at, LOCAL state *box)
{
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + (from + at) * TL_SIZE) + lane_index();
    enum { PACKS = CHUNK / (LANES * PACK) };
    bundle e[PACKS];
    moments t;
    t.sum = 0, t.squares = 0;

    if (is_packed(b, from + at)) {
        UNROLL for (int r = 0; r < PACKS; r++) e[r] = x[r * LANES];
        UNROLL for (int r = 0; r < PACKS; r++) t = moments_pack(t, e[r]);
    } else {
        elem o[ROWS_E][QUAD];
        load_e(o, b, from, at, at + CHUNK);
        UNROLL for (int r = 0; r < ROWS_E; r++)
        {
            UNROLL for (int k = 0; k < QUAD; k++)
                t.sum += (u32)o[r][k], t.squares += (u32)o[r][k] * (u32)o[r][k];
        }
    }

    return moments_node(t, CHUNK, box);
}

#endif

#line 1 "src/gpu/kernel/partials.cl"
/* SPDX-License-Identifier: MIT
 * Class X allows any order of evaluation (order.md, 6). Operators that also commute are folded
 * without exchanges between lanes: a lane takes a pack of 16 bytes of each row of 32 lanes and
 * accumulates a partial result; the lanes are joined at the end. PARTIALS is true if the operator
 * defines one of
 *
 *   OP_EXTREME 1, -1   a maximum or minimum of keys; elements of one or two bytes are compared in
 *                      pairs of 16 bits. If the result is an index, the lane keeps only the span
 *                      of 8 rows that has its best key; the element is looked up at the end
 *   OP_ADDS 1, 2       an integer sum: a word of several elements is added by one instruction, and
 *                      the 64 or 128 bits of the total once a span
 *   OP_COMMUTES 1      with a neutral state: folded element by element */
#define LANE_IS_IDX         1
#define LANE_IS_(lane)      LANE_IS_##lane
#define LANE_IS(lane)       LANE_IS_(lane)
#define FINDS               (OP_EXTREME && LANE_IS(OP_LANE)) /* true: the result is an index */
#define PARTIALS \
    (OP_EXACT && !TL_IN_PLACE && (OP_EXTREME || OP_ADDS || (OP_COMMUTES && OP_NEUTRAL)))

#if PARTIALS
enum { SPAN_ROWS = 8, SPAN = SPAN_ROWS * LANES * PACK, CHUNK_ROWS = CHUNK / (LANES * PACK) };

/* The partial result of a lane: partial_none, then partial_pack for each pack, partial_span after
 * each span; partial_state is the state of all of it. i: index of the first element of the pack or
 * span. */
#if OP_EXTREME
#if OP_EXTREME > 0
#define BEATS(a, b) ((a) > (b))
#define WORST       ORD_LOW
#define MOST(which) which##max
#else
#define BEATS(a, b) ((a) < (b))
#define WORST       ORD_HIGH
#define MOST(which) which##min
#endif
#define IN_PAIRS (TL_SIZE == 1 || (TL_SIZE == 2 && !(TL_KIND == 3 && OP_MASKED)))

#if IN_PAIRS
#if TL_KIND == 2
#define PAIR_MAX pair_max_u
#define PAIR_MIN pair_min_u
#else
#define PAIR_MAX pair_max_s
#define PAIR_MIN pair_min_s
#endif
#if OP_EXTREME > 0
#define PAIR_MOST  PAIR_MAX
#define PAIR_LEAST PAIR_MIN
#else
#define PAIR_MOST  PAIR_MIN
#define PAIR_LEAST PAIR_MAX
#endif
#define TWICE(k) ((u32)(k) << 16 | ((u32)(k)&0xffff))
/* Pairs of 16 bits. Bytes: a compares the odd bytes, as the high halves of its pairs (the even
 * bytes below them only decide between equal odd ones); b compares the even bytes in the same way.
 * Elements of two bytes: a is the best key, b the worst, which detects a NaN of either sign. */
typedef struct {
    u32 a, b;
} keys;

fn keys keys_none()
{
    keys r;
#if TL_SIZE == 1
    r.a = r.b = TWICE((u32)(u8)WORST << 8 | (OP_EXTREME > 0 ? 0 : 0xff));
#else
    r.a = TWICE(WORST), r.b = TWICE(~WORST);
#endif
    return r;
}

fn keys keys_pack(keys r, bundle v)
{
    UNROLL for (int k = 0; k < 4; k++)
    {
        u32 w = v.w[k];
#if TL_SIZE == 1
        r.a = PAIR_MOST(r.a, w);
        r.b = PAIR_MOST(r.b, w << 8);
#elif TL_KIND == 3
        w ^= (w >> 15 & 0x10001u) * 0x7fff;
        r.a = PAIR_MOST(r.a, w);
        r.b = PAIR_LEAST(r.b, w);
#else
        r.a = PAIR_MOST(r.a, w);
#endif
    }

    return r;
}

fn ord keys_most(keys r)
{
#if TL_SIZE == 1
    const u32 ab = PAIR_MOST(r.a, r.b);
    const ord high = (ord)(ab >> 24), low = (ord)(ab >> 8);
#else
    const ord high = (ord)(r.a >> 16), low = (ord)r.a;
#endif
#if TL_KIND == 3
    const ord least_high = (ord)(r.b >> 16), least_low = (ord)r.b, inf = TL_HALF_INF;
    const ord least = BEATS(least_high, least_low) ? least_low : least_high,
              most = BEATS(high, low) ? high : low;
    const ord above = OP_EXTREME > 0 ? most : least, below = OP_EXTREME > 0 ? least : most;

    return above > inf || below < (ord)~inf ? (ord)~WORST : most; /* NaN wins */
#else
    return BEATS(high, low) ? high : low;
#endif
}
#else
typedef ord keys;

fn keys keys_none() { return WORST; }
fn keys keys_pack(keys r, bundle v)
{
    par none;
    none.value = 0, none.origin = 0;
    UNROLL for (int k = 0; k < PACK; k++)
    {
        const ord m = lift(pack_element(v, k), 0, none).m;
        r = BEATS(m, r) ? m : r;
    }
    return r;
}

fn ord keys_most(keys r) { return r; }
#endif

typedef struct {
    keys part;
    state best;
} lane_partial;

fn state none_of(par p)
{
    state r;
    r.m = WORST;
#if FINDS
    r.i = (i64)((u64)-1 >> 1); /* later than all others */
#endif
    return r;
}

/* C(a, b) for operands in any order: of equal keys, the one with the lower index wins. */
fn state join(state a, state b)
{
#if FINDS
    return choose(BEATS(b.m, a.m) || (b.m == a.m && b.i < a.i), b, a);
#else
    return combine(a, b);
#endif
}

fn lane_partial partial_none(par p)
{
    lane_partial r;
    r.part = keys_none(), r.best = none_of(p);
    return r;
}

fn lane_partial partial_pack(lane_partial t, bundle v, i64 i, par p)
{
    t.part = keys_pack(t.part, v);
    return t;
}

fn lane_partial partial_span(lane_partial t, i64 i)
{
#if FINDS
    const ord m = keys_most(t.part);
    if (BEATS(m, t.best.m) || t.best.i > i) t.best.m = m, t.best.i = i;
    t.part = keys_none();
#endif
    return t;
}

fn state partial_state(lane_partial t)
{
#if !FINDS
    t.best.m = keys_most(t.part);
#endif
    return t.best;
}

#else
fn state none_of(par p) { return neutral(p); }
fn state join(state a, state b) { return combine(a, b); }

#if OP_ADDS && TL_SIZE < 8
#if TL_SIZE == 4
typedef u64 partial;
#else
typedef u32 partial; /* the sum of a span: at most 2^21 in magnitude */
#endif

typedef struct {
    partial part;
    state all;
} lane_partial;

fn lane_partial partial_none(par p)
{
    lane_partial r;
    r.part = 0, r.all = neutral(p);
    return r;
}

fn lane_partial partial_pack(lane_partial t, bundle v, i64 i, par p)
{
#if TL_SIZE == 4
    UNROLL for (int k = 0; k < PACK; k++) t.part += (u64)(i64)pack_element(v, k);
#else
    UNROLL for (int k = 0; k < 4; k++) t.part = WORD_SUM(v.w[k], t.part);
#endif
    return t;
}

fn lane_partial partial_span(lane_partial t, i64 i)
{
    state s;
#if TL_SIZE == 4
    const u64 sum = t.part;
#elif TL_KIND == 1
    const u64 sum = (u64)(i64)(i32)t.part;
#else
    const u64 sum = t.part;

#endif
#if OP_ADDS == 2
    s.lo = sum, s.hi = wide_sign(sum);
#else
    s.s = sum;
#endif
    t.all = combine(t.all, s);
    t.part = 0;

    return t;
}

#else
typedef struct {
    state all;
} lane_partial;

fn lane_partial partial_none(par p)
{
    lane_partial r;
    r.all = neutral(p);
    return r;
}

fn lane_partial partial_pack(lane_partial t, bundle v, i64 i, par p)
{
    UNROLL for (int k = 0; k < PACK; k++)
        t.all = combine(t.all, lift_e(pack_element(v, k), i + k, p));
    return t;
}

fn lane_partial partial_span(lane_partial t, i64 i) { return t; }
#endif

fn state partial_state(lane_partial t) { return t.all; }
#endif

fn state join_lanes(state v, int lanes, LOCAL state *box)
{
    UNROLL for (int m = 1; m < lanes; m <<= 1) v = join(v, exchange(v, m, box));
    return v;
}

#if !FINDS
/* Returns the node of a full chunk, in every lane. */
fn state chunk_partials(batch b, i64 from, i64 at, LOCAL state *box)
{
    state v;
    if (is_packed(b, from + at)) {
        GLOBAL const bundle *x =
            (GLOBAL const bundle *)(b.x + (from + at) * TL_SIZE) + lane_index();
        const i64 i = at + lane_index() * PACK;
        bundle e[CHUNK_ROWS];
        lane_partial t = partial_none(b.p);
        UNROLL for (int r = 0; r < CHUNK_ROWS; r++) e[r] = x[r * LANES];
        UNROLL for (int r = 0; r < CHUNK_ROWS; r++)
            t = partial_pack(t, e[r], i + r * LANES * PACK, b.p);
        v = partial_state(partial_span(t, i));
    } else {
        elem e[ROWS_E][QUAD];
        load_e(e, b, from, at, at + CHUNK);
        v = none_of(b.p);

        UNROLL for (int r = 0; r < ROWS_E; r++)
        {
            const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
            UNROLL for (int k = 0; k < QUAD; k++) v = join(v, lift_e(e[r][k], i + k, b.p));
        }
    }

    return join_lanes(v, LANES, box);
}
#endif
#endif

#line 1 "src/gpu/kernel/level.cl"
/* SPDX-License-Identifier: MIT
 * Computes the nodes of chunks, level by level, for reduce and scan. */

/* Returns S after `before` and `count` < 32 nodes of n elements; lane k has node k. before: a state
 * of `done` elements. */
fn maybe append_lanes(maybe before, amount done, state node, amount n, int count, LOCAL state *box)
{
    state left[5];
    if (SKIPS && count == 0) return before;
    row_node_s(node, n, left, box);
    /* lane `count` has the fold of `before` and the nodes to its left */
    before.s = from_lane(row_start_s(before, done, n, left).s, count, box);
    before.have = before.have || count;
    return before;
}

/* Returns the node of the full chunk at `at`. */
fn state node_of_chunk(batch b, i64 from, i64 at, LOCAL state *box)
{
#if PARTIALS && !FINDS
    return chunk_partials(b, from, at, box);
#elif MOMENTS
    return chunk_moments(b, from, at, box);
#else
    return chunk_node_e(b, from, at, 1, box);
#endif
}

/* Level 1: a warp computes the node of one chunk at a time. */
fn void chunk_nodes(batch b, GLOBAL state *to, i64 jobs, LOCAL state *box)
{
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 s = sequence_of(b, 1, 0, job);
        const i64 at = (job - level_first(b, 1, s)) * CHUNK_e;
        const state v = node_of_chunk(b, start_of(b, s), at, box);
        if (lane_index() == 0) to[job] = v;
    }
}

/* A higher level: a warp computes one node from those of the level below. */
fn void higher_nodes(batch b, GLOBAL state *nodes, int level, i64 jobs, LOCAL state *box)
{
    GLOBAL state *const to = nodes + level_base(b, level);
    b.x = (GLOBAL const u8 *)(nodes + level_base(b, level - 1));
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 s = sequence_of(b, level, 0, job);
        const i64 at = (job - level_first(b, level, s)) * CHUNK_s;
        const state v =
            chunk_node_s(b, level_first(b, level - 1, s), at, level_size(level - 1), box);
        if (lane_index() == 0) to[job] = v;
    }
}

/* Computes the nodes of level `level`. nodes: all levels, level 1 first. Where exchanges have
 * barriers (SKIPS is 0), they must not be in a branch: there one of the two calls has no jobs. */
KERNEL(nodes, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, GLOBAL state *nodes, i64 level, i64 jobs BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    BOX
    const int first = level == 1;
    if (!SKIPS || first) chunk_nodes(b, nodes, first ? jobs : 0, box);
    if (!SKIPS) WARP_BARRIER();
    if (!SKIPS || !first) higher_nodes(b, nodes, (int)level, first ? 0 : jobs, box);
}

#line 1 "src/gpu/kernel/columns.cl"
/* SPDX-License-Identifier: MIT
 * Level 1 for sequences that lie across (columns): neighbouring lanes take neighbouring columns, so
 * that a warp reads whole cache lines. Of few columns, the lanes of a warp take several parts of
 * the same chunk:
 *
 *   32 columns   lane = column                     3 columns   lane = 4 part + column, 8 parts
 *                0 1 2 3 ... 31                                0 1 2 . | 0 1 2 . | 0 1 2 . | ...
 *
 * 2^log columns, the least power of two for all columns, share a warp; log is 1 to 5. */

/* Returns the node of `size` elements of a column, a multiple of 16. x: the first of them, which
 * has index `at`; step: the bytes between them. */
fn state fold_column(GLOBAL const u8 *x, i64 step, i64 at, int size, par p)
{
    enum { STEP = sizeof(state) > 8 ? 8 : 16 }; /* elements in registers at a time */
    state stack[8];
    int top = 0;
    for (int j = 0; j < size / STEP; j++, at += STEP) {
        state v[STEP];
        elem e[STEP];
        if (ADDRESS(x) % TL_SIZE == 0) {
            UNROLL for (int k = 0; k < STEP; k++) e[k] = *(GLOBAL const elem *)(x + k * step);
        } else {
            /* unrolled, so that e stays in registers */
            UNROLL for (int k = 0; k < STEP; k++) e[k] = load_bytes(x + k * step);
        }

        UNROLL for (int k = 0; k < STEP; k++) v[k] = lift_e(e[k], at + k, p);
        x += STEP * step;

        /* Loops with a halving bound are not unrolled; v would then be in local memory, and 3 times
         * as slow. */
        UNROLL for (int k = 0; k < 4; k++)
            UNROLL for (int i = 0; i + (1 << k) < STEP; i += 2 << k)
                v[i] = TWIN(v[i], v[i + (1 << k)], 1 << k);
        for (int t = j, n = STEP; t & 1; t >>= 1, n *= 2) v[0] = TWIN(stack[--top], v[0], n);
        stack[top++] = v[0];
    }

    return stack[0];
}

/* A job is a chunk of 2^log columns; jobs go along all columns before the next chunk. The threads
 * of a block share the chunk. */
KERNEL(columns, COLUMN_THREADS)(BATCH_PARAMETERS, GLOBAL state *to, i64 log, i64 jobs BOX_PARAMETER)
{
    SHARED state node[COLUMN_THREADS];
    BATCH_OF_PARAMETERS;
    const int width = 1 << log, parts = COLUMN_THREADS >> log, size = CHUNK_e / parts;
    const i64 groups = (b.seqs + width - 1) >> log, count = level_count(b.n, 1);
    const int t = thread_index(), part = t >> log;

    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 c = job / groups, s = ((job - c * groups) << log) + (t & (width - 1));
        const i64 at = c * CHUNK_e + part * size;
        int by = 1; /* parts whose node this lane has */
        state v = nothing(b.p).s;
        if (s < b.seqs)
            v = fold_column(b.x + (s * b.row_stride + at * b.stride) * TL_SIZE,
                            b.stride * TL_SIZE, at, size, b.p);
#ifdef TL_SHUFFLES
        for (; by < LANES >> log; by *= 2)
            v = meet(v, exchange(v, by << log, 0), (part & by) != 0, by * size);
#endif
        node[t] = v;
        BARRIER();

        for (; by < parts; by *= 2) {
            if (s < b.seqs && part % (2 * by) == 0)
                node[t] = TWIN(node[t], node[t + by * width], by * size);
            BARRIER();
        }

        if (s < b.seqs && part == 0) to[s * count + c] = node[t];
    }
}

#line 1 "src/gpu/kernel/reduce.cl"
/* SPDX-License-Identifier: MIT
 * Last step of a reduction: after the nodes of all levels are computed (level.cl), one warp per
 * sequence computes S(n) from the nodes of each level that are not part of a higher node, the
 * highest level first. segmented.cl reduces short sequences. */

KERNEL(finish, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, GLOBAL const state *nodes, i64 top, RESULTS_PARAMETERS BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    for (i64 s = warp_index(); s < b.seqs; s += warp_count()) {
        i64 n = length_of(b, s);
        maybe v = nothing(b.p);
        for (int level = (int)top; level >= 1; level--) {
            batch below = b;
            below.x = (GLOBAL const u8 *)(nodes + level_base(b, level));
            i64 at = level_count(n, level + 1) << STATES_LOG, size = level_size(level);
            v = append_s(v, at * size, below, level_first(b, level, s), at,
                         level_count(n, level) - at, size, box);
        }

        i64 at = level_count(n, 1) << ELEMENTS_LOG;
        v = append_e(v, at, b, start_of(b, s), at, n - at, 1, box);
        if (lane_index() == 0) store_reduced(out, b, s, v, n);
    }
}

#line 1 "src/gpu/kernel/status.cl"
/* SPDX-License-Identifier: MIT
 * Status table for look-back (CUDA): one thread block publishes states, others of the same launch
 * poll for them. A word of 16 bytes has 8 bytes of a state and the launch's epoch. It is written
 * and read in one access, so no fence or counter is needed. The table's first word, its head, has
 * the tickets that scans have taken in this launch, and the epoch of the last launch. So each
 * launch has an epoch of its own, also if a graph repeats it, and the table is cleared once. */
enum { PIECES = (sizeof(state) + 7) / 8 };

typedef union {
    state s;
    u64 piece[PIECES];
} pieces;

/* The epoch of this launch. One thread ends it, after all blocks have begun it and taken their last
 * tickets. */
fn u64 begin_epoch(GLOBAL const u64 *table)
{
    u64 tickets;
    return poll_word(table, &tickets) + 1;
}

fn void end_epoch(GLOBAL u64 *table, u64 epoch) { publish_word(table, 0, epoch); }

/* Publishes v as state number k. to: the words of state number 0. */
fn void publish_state(GLOBAL u64 *to, i64 k, state v, u64 epoch)
{
    pieces u;
    u.piece[PIECES - 1] = 0;
    u.s = v;
    UNROLL for (int c = 0; c < PIECES; c++)
        publish_word(to + (k * PIECES + c) * 2, u.piece[c], epoch);
}

/* Polls for state number k. Returns 0 and sets *v if it has been published, else nonzero. */
fn int state_missing(GLOBAL const u64 *from, i64 k, state *v, u64 epoch)
{
    pieces u;
    int missing = 0;
    UNROLL for (int c = 0; c < PIECES; c++) missing |=
        poll_word(from + (k * PIECES + c) * 2, &u.piece[c]) != epoch;
    *v = u.s;
    return missing;
}

#define WIDE 1
#define WIDE_LOG 1
#define ROW_PACKS 1
#define ROWS_W 8

#undef ITEM
#undef N
#undef LANE_ITEMS
#undef ROWS
#undef LOG_ROWS
#define N(name) name##_w
#define LANE_ITEMS 8
#define ROWS 8
#define LOG_ROWS 3

#line 1 "src/gpu/kernel/chunk.cl"
/* SPDX-License-Identifier: MIT
 * A warp folds one chunk: ROWS rows of 32 lanes of LANE_ITEMS items, contiguous. gpu/program.c
 * includes this text several times, with N(x) for names: for elements (x_e, ITEM elem, 8 rows of
 * 128; x_h, x_d and x_r with 4, 2 and 1 rows), for states that are nodes of the level below (x_s,
 * ITEM state, 2 rows), and without ITEM, the first part alone, for chunks of packs (x_w,
 * reduce_single.cl).
 * unit: the elements of an item. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* Folds across lanes. Before: v[r] is the lane's node of row r. After: v[0] is the node of one full
 * row; the row's number is the low LOG_ROWS bits of the lane, in reverse order. This is a
 * transposing butterfly: at step s, the lane whose bit s is 0 keeps row j and sends row j + m; its
 * partner does the reverse. So ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 * ROWS. */
fn void N(fold_across)(state *v, amount unit, LOCAL state *box)
{
    const int lane = lane_index();
    UNROLL for (int s = 0; s < LOG_ROWS; s++)
    {
        const int m = ROWS >> (s + 1), right = lane >> s & 1;
        UNROLL for (int j = 0; j < m; j++)
        {
            state got = exchange(choose(right, v[j], v[j + m]), 1 << s, box);
            v[j] = meet(choose(right, v[j + m], v[j]), got, right, unit * (LANE_ITEMS << s));
        }
    }
    UNROLL for (int s = LOG_ROWS; s < 5; s++)
        v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1, unit * (LANE_ITEMS << s));
}

/* Returns the node of a full chunk, in every lane, from the rows that fold_across made. Bit s of
 * the lane is bit LOG_ROWS - 1 - s of the number of its row. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--)
        v = meet(v, exchange(v, 1 << s, box), lane_index() >> s & 1,
                 unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

#ifdef ITEM
/* v[r] = the node of the lane's four items of row r. */
fn void N(fold_quads)(state *v, ITEM e[ROWS][QUAD], batch b, i64 at, amount unit)
{
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        v[r] =
            TWIN(TWIN(N(lift)(e[r][0], i, b.p), N(lift)(e[r][1], i + 1, b.p), unit),
                 TWIN(N(lift)(e[r][2], i + 2, b.p), N(lift)(e[r][3], i + 3, b.p), unit), 2 * unit);
    }
}

fn void N(fold_rows)(state *v, batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    ITEM e[ROWS][QUAD];
    N(load)(e, b, from, at, at + N(CHUNK));
    N(fold_quads)(v, e, b, at, unit);
    N(fold_across)(v, unit, box);
}

fn state N(chunk_node)(batch b, i64 from, i64 at, amount unit, LOCAL state *box)
{
    state v[ROWS];
    N(fold_rows)(v, b, from, at, unit, box);
    return N(fold_lanes)(v[0], unit, box);
}

/* Returns the node of a row. v: the lane's node, of n elements. left[k]: what the lane's partner at
 * bit k had at step k, for row_start. */
fn state N(row_node)(state v, amount n, state *left, LOCAL state *box)
{
    const int lane = lane_index();
    UNROLL for (int k = 0; k < 5; k++)
    {
        left[k] = exchange(v, 1 << k, box);
        v = meet(v, left[k], lane >> k & 1, n * (1 << k));
    }
    return v;
}

/* Returns the prefix S at the lane's first item: the row's prefix (`row`, of `before` elements),
 * then the left partners at the lane's set bits, from high to low. n: elements of a lane. */
fn maybe N(row_start)(maybe row, amount before, amount n, const state *left)
{
    const int lane = lane_index();
    UNROLL for (int k = 4; k >= 0; k--)
    {
        maybe with = then(row, left[k], before + n * (lane & -(2 << k)), n * (1 << k));
        int take = lane >> k & 1;
        row.s = choose(take, with.s, row.s);
        row.have = take ? 1 : row.have;
    }
    return row;
}

/* Makes the next row's prefix. Called with r = 0, 1, 2, ...; node: the node of row r, of n
 * elements. Then rows[r + 1] is the prefix S at row r + 1. rows[0] is given, and has `before`
 * elements. */
fn void N(next_row)(maybe *rows, state *stack, int r, state node, amount before, amount n)
{
    UNROLL for (int k = 0; k < LOG_ROWS; k++)
    {
        if (((r >> k) & 1) == 0) {
            stack[k] = node;
            rows[r + 1] = then(rows[(r + 1) & r], node, before + n * ((r + 1) & r), n * (1 << k));
            return;
        }
        node = TWIN(stack[k], node, n * (1 << k));
    }
    rows[r + 1] = then(rows[0], node, before, n * (1 << LOG_ROWS));
}

/* Returns the prefix S at item `count` of the chunk that begins at `at` (0 <= count < CHUNK), in
 * every lane. before: the prefix at the chunk, of `done` elements. */
seldom_fn maybe N(append)(maybe before, amount done, batch b, i64 from, i64 at, i64 count,
                          amount unit, LOCAL state *box)
{
    maybe rows[ROWS + 1], mine = before;
    state stack[LOG_ROWS + 1], left[5];
    ITEM e[ROWS][QUAD];
    const int lane = lane_index(), last = (int)count / (LANES * QUAD),
              rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;

    N(load)(e, b, from, at, at + count);
    rows[0] = before;

    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        i64 i = at + r * LANES * QUAD + lane * QUAD;
        amount row = done + unit * (r * N(ROW)), mine_done = row + unit * (lane * QUAD);
        state q0 = N(lift)(e[r][0], i, b.p), q1 = N(lift)(e[r][1], i + 1, b.p),
              q2 = N(lift)(e[r][2], i + 2, b.p);
        state q3 = N(lift)(e[r][3], i + 3, b.p), two = TWIN(q0, q1, unit);
        state node = N(row_node)(TWIN(two, TWIN(q2, q3, unit), 2 * unit), QUAD * unit, left, box);

        if (r == last) {
            maybe start = N(row_start)(rows[r], row, QUAD * unit, left);
            maybe with = then(start, two, mine_done, 2 * unit);
            if (rest & 2) start = with;
            with = then(start, choose(rest & 2, q2, q0), mine_done + unit * (rest & 2), unit);
            if (rest & 1) start = with;
            mine = start;
        } else {
            N(next_row)(rows, stack, r, node, done, N(ROW) * unit);
        }
    }

    if (SKIPS && rest == 0) {
    } else {
        mine.s = from_lane(mine.s, rest / QUAD, box);
        mine.have = 1;
    }

    if (rest) return mine;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (r == last) before = rows[r];
    }

    return before;
}

#endif

#line 1 "src/gpu/kernel/reduce_single.cl"
/* SPDX-License-Identifier: MIT
 * Reduces one long sequence in one launch (CUDA). Each block publishes the nodes of its tiles in
 * the status table (status.cl). The last block starts last; after its own tiles it polls for all
 * nodes, folds 256 tiles to a node, and computes the result. Other blocks never wait, so the result
 * does not depend on which blocks are resident together. (An atomic counter would add to the
 * latency: a fence, the counter and the loads of the nodes, one after the other.) */
#if defined(TL_CUDA) && !PARTIALS
/* ---- tiles: TILE_WARPS warps of 1 << more chunks each ---- */
typedef char a_group_is_a_tile[WARPS_IN_GROUP == TILE_WARPS ? 1 : -1];

typedef struct {
    i64 tiles, from;
    int each, warp; /* each: chunks of a warp in a tile; warp: number of this warp in the block */
    GLOBAL u64 *words;
    u64 epoch;
    LOCAL state *parts, *box; /* parts: [2][TILE_WARPS] */
} tiling;

/* Folds the nodes of the tile's warps and publishes the node of tile t. mine: this warp's node, of
 * `each` chunks of n elements. */
fn void publish_tile(state mine, i64 t, int turn, tiling d, i64 n)
{
    const int lane = lane_index();
    if (lane == 0) d.parts[turn + d.warp] = mine;
    BARRIER();
    if (d.warp) return;
    mine = d.parts[turn + (lane & (TILE_WARPS - 1))];
    UNROLL for (int m = 1; m < TILE_WARPS; m <<= 1)
        mine = meet(mine, exchange(mine, m, d.box), (lane & m) != 0, m * d.each * n);
    if (lane == 0) publish_state(d.words, t, mine, d.epoch);
}

#if WIDE
/* Chunks of 4 KiB, for elements of one or two bytes and for states of more than 8 bytes. A lane
 * takes ROW_PACKS packs of each of ROWS_W rows. So as many bytes are in flight as for elements of 4
 * bytes, and large states need fewer exchanges. */
enum { PACKS_W = ROWS_W * ROW_PACKS, ITEMS_W = ROW_PACKS * PACK };

/* Returns the node of a lane's packs of a row. i: index of the first element. */
fn state fold_packs(const bundle *e, i64 i, par p)
{
    state stack[6];
    int top = 0;

    UNROLL for (int k = 0; k < ITEMS_W; k++)
    {
        stack[top++] = lift_e(pack_element(e[k / PACK], k % PACK), i + k, p);
        UNROLL for (int n = 1; k & n; n <<= 1)
            top--, stack[top - 1] = TWIN(stack[top - 1], stack[top], n);
    }
    return stack[0];
}

/* fold_tiles (below) for these chunks; d.each counts chunks of 4 KiB. With MOMENTS (packs.cl) a
 * chunk's node follows from its sum and its sum of squares, which are exact in any order. */
fn void fold_wide_tiles(batch b, tiling d)
{
    const int lane = lane_index();
    LOCAL state *const box = d.box;
    /* at: in chunks; jump: from a tile's last chunk to the next tile's first */
    i64 at = (group_index() * TILE_WARPS + d.warp) * d.each;
    const i64 jump = (group_count() * TILE_WARPS - 1) * d.each + 1;
    GLOBAL const bundle *x =
        (GLOBAL const bundle *)(b.x + d.from * TL_SIZE) + at * (CHUNK_w / PACK) + lane * ROW_PACKS;
    bundle e[PACKS_W];
    int turn = 0;

    if (group_index() < d.tiles) {
        UNROLL for (int k = 0; k < PACKS_W; k++)
            e[k] = x[k / ROW_PACKS * LANES * ROW_PACKS + k % ROW_PACKS];
    }

    ROLLED for (i64 t = group_index(); t < d.tiles; t += group_count(), turn ^= TILE_WARPS)
    {
        state mine;
        ROLLED for (int c = 0; c < d.each; c++)
        {
            const i64 step = c + 1 < d.each ? 1 : jump;
            const int more = c + 1 < d.each || t + group_count() < d.tiles;
            state v[ROWS_W];
            x += step * (CHUNK_w / PACK);
#if MOMENTS
            moments sums;
            sums.sum = 0, sums.squares = 0;
#endif
            UNROLL for (int r = 0; r < ROWS_W; r++)
            {
#if MOMENTS
                UNROLL for (int k = 0; k < ROW_PACKS; k++)
                    sums = moments_pack(sums, e[r * ROW_PACKS + k]);
#else
                v[r] =
                    fold_packs(e + r * ROW_PACKS, at * CHUNK_w + r * ROW_w + lane * ITEMS_W, b.p);
#endif
                UNROLL for (int k = 0; k < ROW_PACKS; k++)
                {
                    if (more) e[r * ROW_PACKS + k] = x[r * LANES * ROW_PACKS + k];
                }
            }
#if MOMENTS
            v[0] = moments_node(sums, CHUNK_w, box);
#else
            fold_across_w(v, 1, box);
            v[0] = fold_lanes_w(v[0], 1, box);
#endif
            if (c == 0 || lane == c) mine = v[0]; /* lane c keeps the node of chunk c */
            at += step;
        }
        for (int m = 1; m < d.each; m <<= 1)
            mine = meet(mine, exchange(mine, m, box), (lane & m) != 0, m * CHUNK_w);
        publish_tile(mine, t, turn, d, CHUNK_w);
    }
}
#endif

/* ---- the launch ---- */

#if STATE_BYTES <= 16 && TL_SIZE < 8
#define REDUCE_BLOCKS 2
#else
#define REDUCE_BLOCKS 1
#endif

/* Folds the block's tiles t = block index, block index + grid size, ... and publishes their nodes.
 * dense: full chunks can be loaded by quads; then the next chunk is prefetched before the exchanges
 * of this one. */
fn void fold_tiles(batch b, tiling d, int dense)
{
    const int lane = lane_index();
    LOCAL state *const box = d.box;
    /* from a tile's last chunk to the next tile's first */
    const i64 jump = ((group_count() * TILE_WARPS - 1) * d.each + 1) * CHUNK_e;
    i64 at = (group_index() * TILE_WARPS + d.warp) * d.each * CHUNK_e;
    strip e;
    int turn = 0;

    if (dense && group_index() < d.tiles) load_dense(e, b, d.from + at);
    ROLLED for (i64 t = group_index(); t < d.tiles; t += group_count(), turn ^= TILE_WARPS)
    {
        state mine;
        ROLLED for (int c = 0; c < d.each; c++)
        {
            const i64 step = c + 1 < d.each ? CHUNK_e : jump;
            state v[ROWS_E];
            if (dense) {
                fold_dense(v, e, b, d.from, at);
                if (c + 1 < d.each || t + group_count() < d.tiles)
                    load_dense(e, b, d.from + at + step);
                fold_across_e(v, 1, box);
            } else {
                fold_rows_e(v, b, d.from, at, 1, box);
            }

            v[0] = fold_lanes_e(v[0], 1, box);
            if (c == 0 || lane == c) mine = v[0]; /* lane c keeps the node of chunk c */
            at += step;
        }
        for (int m = 1; m < d.each; m <<= 1)
            mine = meet(mine, exchange(mine, m, box), (lane & m) != 0, m * CHUNK_e);
        publish_tile(mine, t, turn, d, CHUNK_e);
    }
}

/* What the last block folds at the end: nodes of 256 tiles, the tiles after them, the chunks after
 * the last tile, the rows after the last chunk. */
typedef struct {
    state groups[TILE_GROUPS], tiles[CHUNK_s], chunks[CHUNKS_MOST], rows[ROWS_MOST];
} tail;

/* Polls for the nodes of all tiles, and folds each 256 of them to a node of left->groups. */
fn void poll_tiles(LOCAL tail *left, tiling d, i64 tile_size, batch b, LOCAL state *box)
{
    const int lane = lane_index();
    enum { ROWS_S = CHUNK_s / ROW_s };
    for (i64 at = d.warp * (i64)CHUNK_s; at < d.tiles; at += TILE_WARPS * CHUNK_s) {
        const i64 count = d.tiles - at;
        state e[ROWS_S][QUAD], v[ROWS_S];
        int missing = 1;
        while (missing) {
            missing = 0;
            UNROLL for (int i = 0; i < ROWS_S * QUAD; i++)
            {
                const i64 k = i / QUAD * LANES * QUAD + lane * QUAD + i % QUAD;
                missing |= state_missing(d.words, at + (k < count ? k : 0), &e[i / QUAD][i % QUAD],
                                        d.epoch);
            }
        }

        if (count < CHUNK_s) {
            UNROLL for (int i = 0; i < ROWS_S * QUAD; i++)
                left->tiles[i / QUAD * LANES * QUAD + lane * QUAD + i % QUAD] =
                    e[i / QUAD][i % QUAD];
            continue;
        }

        fold_quads_s(v, e, b, 0, tile_size);
        fold_across_s(v, tile_size, box);
        v[0] = fold_lanes_s(v[0], tile_size, box);
        if (lane == 0) left->groups[at / CHUNK_s] = v[0];
    }
}

KERNEL_BLOCKS(reduce_single, 32 * WARPS_IN_GROUP, REDUCE_BLOCKS)(BATCH_PARAMETERS, RESULTS_PARAMETERS,
    GLOBAL u64 *status_table, i64 more BOX_PARAMETER)
#line 204 "src/gpu/kernel/reduce_single.cl"
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED state parts[2 * TILE_WARPS];
    SHARED tail left;
    const int lane = lane_index(), warp = thread_index() / LANES, each = 1 << more,
        log = ELEMENTS_LOG + TILE_WARPS_LOG + (int)more;
    const i64 tiles = b.n >> log, from = start_of(b, 0), tile_size = (i64)1 << log;
    const int groups = (int)(tiles / CHUNK_s), rows = (int)(b.n >> ROW_LOG & 7),
        chunks = (int)((b.n >> ELEMENTS_LOG) - (tiles << (log - ELEMENTS_LOG)));
    tiling d;
    d.tiles = tiles, d.from = from, d.each = each, d.warp = warp;
    d.words = status_table + STATUS_HEADER / 8, d.epoch = begin_epoch(status_table);
    d.parts = parts, d.box = box;
#if WIDE

    if (more >= WIDE_LOG && is_packed(b, from)) {
        tiling w = d;
        w.each >>= WIDE_LOG;
        fold_wide_tiles(b, w);
    } else
#else

    /* larger states leave no registers for the prefetch */
    if (sizeof(state) <= 8 && can_load_e(b, from))
        fold_tiles(b, d, 1);
    else
#endif
        fold_tiles(b, d, 0);
    if (group_index() != group_count() - 1) return;
    BARRIER(); /* this block's nodes are published */

    for (int c = warp; c < chunks; c += TILE_WARPS) {
        state v = chunk_node_e(b, from, (tiles << log) + c * CHUNK_e, 1, box);
        if (lane == 0) left.chunks[c] = v;
    }

    if (warp < rows) {
        state v =
            chunk_node_r(b, from, (b.n >> ELEMENTS_LOG << ELEMENTS_LOG) + warp * CHUNK_r, 1, box);
        if (lane == 0) left.rows[warp] = v;
    }

    poll_tiles(&left, d, tile_size, b, box);
    BARRIER();
    if (warp) return;

    batch level = b;
    level.x = (GLOBAL const u8 *)left.groups;
    const i64 before_tiles = (i64)groups * CHUNK_s, before_rest = b.n >> ROW_LOG << ROW_LOG;
    maybe v = append_s(nothing(b.p), 0, level, 0, 0, groups, tile_size << STATES_LOG, box);
    level.x = (GLOBAL const u8 *)left.tiles;
    v = append_s(v, before_tiles * tile_size, level, 0, 0, tiles - before_tiles, tile_size, box);
    level.x = (GLOBAL const u8 *)left.chunks;
    v = append_s(v, tiles * tile_size, level, 0, 0, chunks, CHUNK_e, box);
    v = append_lanes(v, b.n >> ELEMENTS_LOG << ELEMENTS_LOG, left.rows[lane & (ROWS_MOST - 1)],
                     CHUNK_r, rows, box);
    v = append_r(v, before_rest, b, from, before_rest, b.n & (CHUNK_r - 1), 1, box);
    if (lane) return;
    store_reduced(out, b, 0, v, b.n);
    end_epoch(status_table, d.epoch);
}
#endif

/* The same for commutative operators (partials.cl): the last block joins what all
 * blocks have published. */
#ifdef TL_CUDA
#if PARTIALS
#define REDUCE_BLOCKS 3 /* 3 blocks for 24 warps with spans in flight; without a limit the compiler
                         * takes up to 174 registers */
/* Returns the lane's partial result of its packs in the warp's spans. The spans begin at x; the
 * warp has spans k, k + (warps of the launch), ... A pack of the next span is loaded as soon as the
 * same pack of this span is folded. first: index of the first span's first element. */
fn lane_partial fold_spans(GLOBAL const bundle *x, i64 spans, i64 first, i64 k, par p)
{
    const i64 step = group_count() * WARPS_IN_GROUP;
    const int lane = lane_index();
    lane_partial t = partial_none(p);
    bundle e[SPAN_ROWS];

    x += k * (SPAN / PACK) + lane;
    if (k < spans) {
        UNROLL for (int r = 0; r < SPAN_ROWS; r++) e[r] = x[r * LANES];
    }

    ROLLED for (; k < spans; k += step)
    {
        const i64 i = first + k * SPAN;
        const int more = k + step < spans;
        x += step * (SPAN / PACK);

        UNROLL for (int r = 0; r < SPAN_ROWS; r++)
        {
            t = partial_pack(t, e[r], i + (r * LANES + lane) * PACK, p);
            if (more) e[r] = x[r * LANES];
        }

        t = partial_span(t, i);
    }

    return t;
}

enum { AT_ONCE = 8 };

/* The `count` elements outside of the spans: number o has index o if o < gap, else o + skip. */
typedef struct {
    i64 count, gap, skip;
} others;

/* Joins single elements to v: numbers me, me + all, me + 2 * all, ... of the others. */
fn state fold_others(state v, batch b, i64 me, i64 all, others r)
{
    const i64 count = r.count, gap = r.gap, skip = r.skip;
    for (i64 j = me; j < count; j += AT_ONCE * all) {
        elem e[AT_ONCE];
        UNROLL for (int k = 0; k < AT_ONCE; k++)
        {
            const i64 o = j + k * all, i = o < gap ? o : o + skip;
            if (o < count) e[k] = load_element(b.x + i * b.stride * TL_SIZE);
        }

        UNROLL for (int k = 0; k < AT_ONCE; k++)
        {
            const i64 o = j + k * all, i = o < gap ? o : o + skip;
            if (o < count) v = join(v, lift_e(e[k], i, b.p));
        }
    }

    return v;
}

#if FINDS
/* Finds the first element with v's key. v.i is the index of the first element of a span, which lies
 * `at` elements after x; the element is in that span. */
fn state find(state v, GLOBAL const bundle *x, i64 at, LOCAL state *box)
{
    const int lane = lane_index();
    state found = v;

    found.i = (i64)((u64)-1 >> 1);
    x += at / PACK + lane;
    ROLLED for (int r = SPAN_ROWS - 1; r >= 0; r--)
    {
        const bundle e = x[r * LANES];
        UNROLL for (int k = PACK - 1; k >= 0; k--)
        {
            par none;
            none.value = 0, none.origin = 0;
            if (lift(pack_element(e, k), 0, none).m == v.m)
                found.i = v.i + (r * LANES + lane) * PACK + k;
        }
    }

    return join_lanes(found, LANES, box);
}
#endif

/* Joins the states of a block's threads; the lanes of its first warp have the result. */
fn state join_group(state v, LOCAL state *parts, LOCAL state *box)
{
    v = join_lanes(v, LANES, box);
    if (lane_index() == 0) parts[thread_index() / LANES] = v;
    BARRIER();
    return join_lanes(parts[lane_index() & (WARPS_IN_GROUP - 1)], WARPS_IN_GROUP, box);
}

/* All warps share the spans of packs. All threads share the elements before the first aligned one
 * and after the last span, or all elements of a view that is not contiguous. */
KERNEL_BLOCKS(reduce_single, 32 * WARPS_IN_GROUP, REDUCE_BLOCKS)(BATCH_PARAMETERS, RESULTS_PARAMETERS,
    GLOBAL u64 *status_table, i64 more BOX_PARAMETER)
#line 375 "src/gpu/kernel/reduce_single.cl"
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED state parts[2][WARPS_IN_GROUP];
    b.x += start_of(b, 0) * TL_SIZE;
    GLOBAL u64 *const words = status_table + STATUS_HEADER / 8;
    const u64 epoch = begin_epoch(status_table);
    const int me = thread_index(), warp = me / LANES;
    const i64 groups = group_count(), group = group_index(), threads = WARPS_IN_GROUP * LANES;
    const int near = b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0;
    const i64 head = (i64)((16 - ADDRESS(b.x) % 16) % 16 / TL_SIZE),
              spans = near ? (b.n - head) / SPAN : 0;
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + head * TL_SIZE);
    state v = partial_state(fold_spans(x, spans, b.p.origin + head, warp * groups + group, b.p));
    others single;
    single.count = b.n - spans * SPAN, single.gap = head, single.skip = spans * SPAN;
    v = fold_others(v, b, group * threads + me, groups * threads, single);
    v = join_group(v, parts[0], box);
    if (me == 0) publish_state(words, group, v, epoch);
    if (group != groups - 1) return;

    BARRIER(); /* this block's state is published */
    v = none_of(b.p);

    for (i64 g = me; g < groups; g += threads) {
        state other;
        while (state_missing(words, g, &other, epoch)) continue;
        v = join(v, other);
    }

    v = join_group(v, parts[1], box);
    if (warp) return;
#if FINDS

    const i64 at = v.i - b.p.origin - head;
    if (spans && at >= 0 && at < spans * SPAN) v = find(v, x, at, box);
#endif
    maybe whole;
    whole.s = v, whole.have = 1;
    if (lane_index()) return;
    store_reduced(out, b, 0, whole, b.n);
    end_epoch(status_table, epoch);
}
#endif
#endif

#line 1 "src/gpu/kernel/segments.cl"
/* SPDX-License-Identifier: MIT
 * Segments: finds what the host needs to know of offsets that are on the device. */

enum { FIRSTS_ITEMS = 8 };

#ifdef TL_CUDA
/* The last block to come here copies the slot `from` to host memory: a copy by the host would delay
 * the next kernel. */
fn void report_last(GLOBAL u32 *from, GLOBAL u32 *reported)
{
    SHARED u32 before;
    const int t = thread_index();

    if (t == 0) {
        __threadfence();
        before = ADD_GLOBAL(from + MEASURED_DONE, 1u);
        __threadfence();
    }

    BARRIER();
    if (before == (u32)group_count() - 1 && t < MEASURED_DONE)
        reported[t] = ADD_GLOBAL(from + t, 0u);
}
#endif

/* Writes into the slot of `measured` (constants.h), which must be zero: the number of long segments
 * (`least` elements or more); whether any segment has a negative length or begins below zero;
 * whether lengths differ; whether any segment has BY_WARP_END elements or more; the nodes of each
 * level of the long segments. ids: the rows of the long segments, in any order (their nodes are
 * stored in that order; results do not depend on it). A thread takes MEASURE_EACH segments and
 * loads all their offsets at once. The last segments come first, so that the first ones are in the
 * cache for the next kernel. */
KERNEL(measure, MEASURE_THREADS)(GLOBAL const i64 *offsets, i64 rows, i64 least, GLOBAL i64 *ids, GLOBAL u32 *measured,
    i64 slot, GLOBAL u32 *reported BOX_PARAMETER)
#line 34 "src/gpu/kernel/segments.cl"
{
    SHARED u32 part[MEASURED_WORDS], base;
    const int t = thread_index();
    GLOBAL u32 *const to = measured + slot * MEASURED_SLOT;
    const i64 usual = offsets[1] - offsets[0], step = group_count() * MEASURE_GROUP,
              rounds = (rows + step - 1) / step;
    int bad = 0, different = 0, beyond = 0;

    if (group_index() == 0 && t < MEASURED_SLOT) measured[(slot ^ 1) * MEASURED_SLOT + t] = 0;
    if (group_index() == 0 && t == 0) {
        ((GLOBAL i64 *)to)[FIRST_OFFSET] = offsets[0];
        ((GLOBAL i64 *)to)[LAST_OFFSET] = offsets[rows];
    }

    for (i64 round = rounds - 1; round >= 0; round--) {
        const i64 r = round * step + group_index() * MEASURE_GROUP + t;
        i64 n[MEASURE_EACH];
        u32 long_count = 0, place = 0;
        if (t < MEASURED_WORDS) part[t] = 0;
        BARRIER();

        UNROLL for (int k = 0; k < MEASURE_EACH; k++)
        {
            const i64 at = r + k * MEASURE_THREADS, s = at < rows ? at : 0, from = offsets[s],
                      end = offsets[s + 1];
            const int wrong = from < 0 || end < from;
            n[k] = at < rows && !wrong ? end - from : 0;
            bad |= wrong;
            different |= end - from != usual;
            beyond |= n[k] >= BY_WARP_END;
            long_count += n[k] >= least;
        }

        if (long_count) {
            place = ADD_LOCAL(&part[LONG_COUNT], long_count);
            UNROLL for (int k = 0; k < MEASURE_EACH; k++)
            {
                for (int l = 1; n[k] >= least && l <= NODE_LEVELS && level_count(n[k], l); l++)
                    ADD_LOCAL(&part[NODES + l - 1], (u32)level_count(n[k], l));
            }
        }

        BARRIER();
        if (t == LONG_COUNT)
            base = part[LONG_COUNT] ? ADD_GLOBAL(to, part[LONG_COUNT]) : 0;
        else if (t < MEASURED_WORDS && part[t])
            ADD_GLOBAL(to + t, part[t]);
        BARRIER();

        UNROLL for (int k = 0; k < MEASURE_EACH; k++)
        {
            if (n[k] >= least) ids[base + place++] = r + k * MEASURE_THREADS;
        }

        BARRIER();
    }

    if (t < MEASURED_WORDS) part[t] = 0;
    BARRIER();
    if (bad) OR_LOCAL(&part[BAD], 1u);
    if (different) OR_LOCAL(&part[DIFFERENT], 1u);
    if (beyond) OR_LOCAL(&part[BEYOND], 1u);
    BARRIER();
    if (t < MEASURED_WORDS && part[t]) ADD_GLOBAL(to + t, part[t]);
#ifdef TL_CUDA
    report_last(to, reported);
#endif
}

/* first[l][s]: nodes of level l before the long segment s. One block per level. */
KERNEL(firsts, MEASURE_THREADS)(GLOBAL const i64 *offsets, GLOBAL const i64 *ids, i64 long_count, i64 levels,
    GLOBAL i64 *first BOX_PARAMETER)
#line 105 "src/gpu/kernel/segments.cl"
{
    SHARED i64 sums[2 * MEASURE_THREADS];
    const int t = thread_index();

    for (i64 l = group_index(); l < levels; l += group_count()) {
        GLOBAL i64 *row = first + l * (long_count + 1);
        i64 before = 0;
        for (i64 at = 0; at < long_count; at += MEASURE_THREADS * FIRSTS_ITEMS) {
            i64 mine[FIRSTS_ITEMS], sum = 0;
            UNROLL for (int k = 0; k < FIRSTS_ITEMS; k++)
            {
                i64 s = at + t * FIRSTS_ITEMS + k, r = ids[s < long_count ? s : 0],
                    n = offsets[r + 1] - offsets[r];
                mine[k] = s < long_count ? level_count(n, (int)l) : 0;
            }

            UNROLL for (int k = 0; k < FIRSTS_ITEMS; k++) sum += mine[k];
            int turn = 0;
            sums[t] = sum;
            BARRIER();

            /* prefix sum of Hillis and Steele, with double buffering in `sums` */
            for (int m = 1; m < MEASURE_THREADS; m <<= 1) {
                i64 v = sums[turn + t] + (t >= m ? sums[turn + t - m] : 0);
                turn ^= MEASURE_THREADS;
                sums[turn + t] = v;
                BARRIER();
            }

            i64 here = before + sums[turn + t] - sum;
            UNROLL for (int k = 0; k < FIRSTS_ITEMS; k++)
            {
                i64 s = at + t * FIRSTS_ITEMS + k;
                if (s < long_count) row[s] = here;
                here += mine[k];
            }

            before += sums[turn + MEASURE_THREADS - 1];
            BARRIER();
        }

        if (t == 0) row[long_count] = before;
    }
}

#line 1 "src/gpu/kernel/short/speculate.cl"
/* SPDX-License-Identifier: MIT
 * Speculative launches for segments: the host does not wait until it knows what `measure`
 * (segments.cl) found of the offsets. It predicts the kernel and launches it at once. The kernel
 * reads what `measure` found. If the prediction was wrong, or if the host will refuse the call, the
 * kernel has no jobs. */

#define SPECULATIVE_PARAMETERS GLOBAL u32 *measured, i64 slot, i64 most, i64 by_warp
typedef struct {
    GLOBAL u32 *measured; /* the slot that `measure` filled; 0: the launch is not speculative */
    i64 most, by_warp;
} speculative;
#define SPECULATIVE_OF_PARAMETERS \
    speculative a; \
    a.measured = slot < 0 ? 0 : measured + slot * MEASURED_SLOT, a.most = most, \
    a.by_warp = by_warp

/* The jobs of a kernel for `rows` segments. warp_each: it is a kernel of warp_*.cl, else of
 * segmented_*.cl. */
fn i64 speculative_jobs(speculative a, i64 jobs, i64 rows, int warp_each)
{
    if (!a.measured) return jobs;
    GLOBAL const u32 *m = a.measured;
    const i64 first = ((GLOBAL const i64 *)m)[FIRST_OFFSET],
              last = ((GLOBAL const i64 *)m)[LAST_OFFSET];
    const int good = !m[BAD] && m[DIFFERENT] && last <= a.most;
    const int long_ones = a.by_warp && m[LONG_COUNT] && last - first >= rows * BY_WARP_MEAN;
    return good && long_ones == warp_each ? jobs : 0;
}

/* In a speculative launch warps take jobs from a counter, so that none has much more work than
 * others when segments have random lengths. take_ticket comes before a job's work, which hides the
 * counter's latency; job_after comes after it, with that ticket, and returns the warp's next job.
 * In other launches a warp's jobs are fixed, and there are no tickets. */
fn u32 take_ticket(speculative a)
{
    u32 ticket = 0; /* of all lanes but the first, which asks for the warp */
    if (SKIPS && a.measured && lane_index() == 0)
        ticket = ADD_GLOBAL(a.measured + MEASURED_NEXT, 1u);
    return ticket;
}

fn i64 job_after(speculative a, i64 job, u32 ticket)
{
#if SKIPS
    if (a.measured) {
        SHUFFLE(0, u32, ticket, ticket, 0);
        return warp_count() + ticket;
    }
#endif
    return job + warp_count();
}

#line 1 "src/gpu/kernel/short/segmented.cl"
/* SPDX-License-Identifier: MIT
 * Short sequences, of fewer elements than a chunk: rows, and segments of any mixture of lengths. A
 * warp takes as many neighbouring sequences as fit in its local memory (a window of the batch), and
 * folds the trees of all of them together:
 *
 *   elements  a a a a a a a a a b b c c c c c c c c c c c c c c c c d ...
 *   groups    [a 0..7         ]     [c 0..7         ][c 8..15       ]
 *   nodes           a0                     c0              c1
 *
 * A group is 8 neighbouring elements, counted from the start of a sequence. Groups are numbered
 * from left to right, and each lane folds one group after the other. It finds the sequence of a
 * group by the number of groups before each sequence. On the next level, 8 nodes of one sequence
 * make one. There a lane looks at a bucket of 8 places. Groups of nodes are disjoint, so at most
 * one begins in each bucket, and its sequence is the last one that begins in the bucket or before
 * it: if a later sequence began in the same bucket, the group would have to end before it. At the
 * end one lane per sequence folds the remaining nodes of each level, the highest first: S(n).
 *
 * Elements are copied to local memory 16 bytes at a time, without registers in between. So many
 * warps fit on a multiprocessor, and some compute while others wait for memory. The offsets of a
 * warp's next job are copied meanwhile (a job: SEGMENTED_SEQUENCES segments, or the rows of a
 * window). gpu/program.c sets SEGMENTS: 1 for segments, in a program of their own; 0 for rows and
 * columns. Lanes exchange data only through local memory, so this text runs on every device. */

enum { GROUP_LOG = 3, GROUP = 1 << GROUP_LOG, UNIT = 16 / TL_SIZE };

/* A warp's local memory and its share of the batch. */
typedef struct {
    LOCAL state *node, *upper; /* nodes of groups of elements, and of groups of nodes */
    LOCAL elem *x;
    LOCAL i64 *offsets;          /* offsets of the next job's segments */
    LOCAL u32 *begins;           /* begins of this job's segments */

    /* elements between these may be read 16 bytes at a time; NULL: none */
    GLOBAL const u8 *low, *high;
    i64 jobs, each;
    i64 self, all_warps; /* number of this warp in the launch; warps of the launch */
    int n, groups, part; /* of every sequence without offsets; part: 2^20 / groups, rounded up */
    int by_lanes;        /* jobs that fit may be done by lane.cl */
} segmented;

/* Sequences first to first + count - 1 of the batch, which a warp takes at a time (not a window of
 * the verb). count 0: there are no more. */
typedef struct {
    i64 job, first, base;         /* base: offset of its first element, in elements */
    int at, count, all;           /* at: index of `first` in the job; all: sequences of the job */
    /* elements: staged in local memory; off: where they begin there */
    int elements, off;
    int by_lanes;                 /* true: lane.cl does the job */
    LOCAL u32 *begin;             /* begin of the first sequence */
} window;

/* The begin of a segment, relative to its job: the elements before it in the low bits, the groups
 * before it in the high bits. A segment that another launch computes counts as LONG_PLACES
 * elements, so that it is always a window of its own. */
enum { PLACE_BITS = 18, LONG_PLACES = SEGMENTED_ELEMENTS + 1 };
typedef char the_places_of_a_job_fit[SEGMENTED_SEQUENCES * LONG_PLACES < 1 << PLACE_BITS ? 1 : -1];
fn int begin_place(u32 begin) { return (int)(begin & ((1u << PLACE_BITS) - 1)); }
fn int begin_groups(u32 begin) { return (int)(begin >> PLACE_BITS); }

/* A sequence of the window: its length, its place in local memory, the window's groups before
 * it. */
typedef struct {
    int n, place, groups;
} sequence;

fn sequence sequence_in(const segmented *f, const window *w, int j)
{
    sequence s;
    if (SEGMENTS) {
        const u32 here = w->begin[j], first = w->begin[0];
        s.n = begin_place(w->begin[j + 1]) - begin_place(here);
        s.place = w->off + begin_place(here) - begin_place(first);
        s.groups = begin_groups(here) - begin_groups(first);
    } else {
        s.n = f->n, s.place = w->off + j * f->n, s.groups = j * f->groups;
    }
    return s;
}

fn int all_groups(const segmented *f, const window *w)
{
    return SEGMENTS ? begin_groups(w->begin[w->count]) - begin_groups(w->begin[0])
                     : w->count * f->groups;
}

/* The most segments that a window has if their mean is 64 elements or more. */
enum { FEW_SEQUENCES = 16 };

/* Returns the last sequence that has fewer than `end` groups before it. */
fn int sequence_before(const segmented *f, const window *w, int end)
{
    if (!SEGMENTS) {
        /* exact, since (end - 1) * groups < 2^20 */
        const int j = (int)((u32)(end - 1) * (u32)f->part >> 20);
        return j < w->count ? j : w->count - 1;
    }

    const u32 limit = (u32)(end + begin_groups(w->begin[0])) << PLACE_BITS;
    int j = 0;
#define STEP(step) \
    { \
        const int there = j + (step); \
        if (there < w->count && w->begin[there < w->count ? there : 0] < limit) j = there; \
    }
    if (w->count > FEW_SEQUENCES) { /* the same for all lanes */
        UNROLL for (int step = SEGMENTED_SEQUENCES / 2; step >= FEW_SEQUENCES; step >>= 1)
            STEP(step)
    }

    UNROLL for (int step = FEW_SEQUENCES / 2; step > 0; step >>= 1) STEP(step)
#undef STEP
    return j;
}

/* ---- trees ---- */

/* Loads eight neighbouring elements from place p. Lanes are 8 elements apart, so loads of single
 * elements of 4 bytes or more would have bank conflicts of 8 lanes. So aligned units of 16 bytes
 * are loaded, and the elements are selected from them. */
fn void load_group(elem *e, LOCAL const elem *x, int p)
{
#if TL_SIZE >= 4
    enum { UNITS = (GROUP + 2 * UNIT - 2) / UNIT };
    typedef struct ALIGNED(16) {
        elem v[UNIT];
    } unit;
    const int off = p & (UNIT - 1);
    LOCAL const unit *from = (LOCAL const unit *)(x + p - off);
    elem v[UNITS * UNIT];

    UNROLL for (int u = 0; u < UNITS; u++)
    {
        const unit w = from[u];
        UNROLL for (int k = 0; k < UNIT; k++) v[u * UNIT + k] = w.v[k];
    }

    UNROLL for (int k = 0; k + 1 < UNITS * UNIT; k++) v[k] = off & 1 ? v[k + 1] : v[k];
#if TL_SIZE == 4
    UNROLL for (int k = 0; k < GROUP; k++) v[k] = off & 2 ? v[k + 2] : v[k];
#endif
    UNROLL for (int k = 0; k < GROUP; k++) e[k] = v[k];
#else /* smaller elements: single loads are faster */
    UNROLL for (int k = 0; k < GROUP; k++) e[k] = x[p + k];
#endif
}

/* The node of 2, 4 or 8 neighbouring items from number k on, of n elements each. */
#define NODE_2(item, k, n) TWIN(item(k), item((k) + 1), n)
#define NODE_4(item, k, n) TWIN(NODE_2(item, k, n), NODE_2(item, (k) + 2, n), 2 * (n))
#define NODE_8(item, k, n) TWIN(NODE_4(item, k, n), NODE_4(item, (k) + 4, n), 4 * (n))

/* Appends `count` < 8 items of n elements each, item(0), item(1), ..., to v, which has `done`
 * elements. */
#define APPEND(v, done, item, count, n) \
    { \
        int at_ = 0; \
        if ((count)&4) { \
            v = then(v, NODE_4(item, 0, n), done, 4 * (n)); \
            at_ = 4; \
        } \
        if ((count)&2) { \
            v = then(v, NODE_2(item, at_, n), (done) + at_ * (n), 2 * (n)); \
            at_ += 2; \
        } \
        if ((count)&1) v = then(v, item(at_), (done) + at_ * (n), n); \
    }

/* Computes the nodes of all groups, on both levels. */
fn void segmented_up(const segmented *f, const window *w, par p)
{
    const int all = all_groups(f, w);
    for (int g = lane_index(); g < all; g += LANES) {
        elem e[GROUP];
        const sequence s = sequence_in(f, w, sequence_before(f, w, g + 1));
        const int i = (g - s.groups) << GROUP_LOG;
        load_group(e, f->x, s.place + i);
#undef ITEM /* defined by chunk.cl */
#define ITEM(k) lift_e(e[k], i + (k), p)
        f->node[g] = NODE_8(ITEM, 0, 1);
#undef ITEM
    }

    WARP_BARRIER();
    if (!SKIPS || SEGMENTS || f->groups >= GROUP) { /* no barrier in a branch, for PoCL */
        for (int q = lane_index(); q << GROUP_LOG < all; q += LANES) {
            const sequence s = sequence_in(f, w, sequence_before(f, w, (q + 1) << GROUP_LOG));
            const int at = s.groups + ((q - (s.groups >> GROUP_LOG)) << GROUP_LOG);
#define ITEM(k) f->node[at + (k)]
            if (at >= s.groups && at + GROUP <= s.groups + (s.n >> GROUP_LOG))
                f->upper[q] = NODE_8(ITEM, 0, GROUP);
#undef ITEM
        }

        WARP_BARRIER();
    }
}

/* Returns S at the first element of a sequence's group number `groups`. v: S at the sequence's
 * first element. */
fn maybe segmented_start(const segmented *f, par p, sequence s, maybe v, int groups)
{
    const int uppers = groups >> GROUP_LOG, left = groups & (GROUP - 1);
    const amount done = p.origin;

    if (uppers) {
        int u = s.groups >> GROUP_LOG, k = 0;
#define ITEM(k) f->upper[u + (k)]
        if (uppers & GROUP) {
            v = then(v, NODE_8(ITEM, 0, GROUP * GROUP), done, GROUP * GROUP * GROUP);
            k = GROUP;
            u += GROUP;
        }

        APPEND(v, done + k * (GROUP * GROUP), ITEM, uppers & (GROUP - 1), GROUP * GROUP)
#undef ITEM
    }

    if (left) {
        const int g = s.groups + (uppers << GROUP_LOG);
#define ITEM(k) f->node[g + (k)]
        APPEND(v, done + uppers * (GROUP * GROUP), ITEM, left, GROUP)
#undef ITEM
    }

    return v;
}

/* Returns S(n) of a sequence. */
fn maybe segmented_fold(const segmented *f, const window *w, par p, sequence s)
{
    const int groups = s.n >> GROUP_LOG, first = groups << GROUP_LOG, left = s.n & (GROUP - 1),
              x = s.place + first;
    maybe v = segmented_start(f, p, s, nothing(p), groups);
#define ITEM(k) lift_e(f->x[x + (k)], first + (k), p)
    if (left) APPEND(v, p.origin + first, ITEM, left, 1)
#undef ITEM
    return v;
}

/* ---- the next job and window ---- */

/* Starts to copy the elements of a window to local memory. */
fn void stage_elements(const segmented *f, window *w, batch b)
{
    const int lane = lane_index();
    LOCAL elem *x = f->x;

    w->off = 0;
#if TL_IN_PLACE

    if (SKIPS && (b.row_stride == f->n || w->count == 1)) { /* PoCL 5.0 aborts over both branches */
        stage_beside(x, b, w->first * b.row_stride, w->elements);
    } else {
        for (int e = lane; e < w->elements; e += LANES) {
            const int j = (int)((u32)e / (u32)f->n);
            x[e] = element_at(b, (w->first + j) * b.row_stride + e - j * f->n);
        }
    }
#else
#ifdef COPY_UNIT

    if (f->low) {
        GLOBAL const u8 *from = b.x + w->base * TL_SIZE;
        w->off = (int)(ADDRESS(from) / TL_SIZE) & (UNIT - 1);
        from -= w->off * TL_SIZE;
        const int units = (w->off + w->elements + UNIT - 1) / UNIT;
        if (from >= f->low && from + units * 16 <= f->high) {
            for (int u = lane; u < units; u += LANES) COPY_UNIT(x + u * UNIT, from + u * 16);
        } else { /* the batch begins or ends in this range */
            for (int e = lane; e < units * UNIT; e += LANES) {
                GLOBAL const u8 *at = from + e * TL_SIZE;
                if (at >= f->low && at + TL_SIZE <= f->high) x[e] = *(GLOBAL const elem *)at;
            }
        }

        return;
    }
#endif
    /* In the order of memory: along the sequences, or across them (columns). Segments are one
     * row. */
    const int across = !SEGMENTS && b.row_stride * b.row_stride < b.stride * b.stride;
    const int by = SEGMENTS ? SEGMENTED_ELEMENTS : across ? w->count : f->n;
    const i64 first = SEGMENTS ? w->base * b.stride : w->first * b.row_stride;

    for (int e = lane; e < w->elements; e += LANES) {
        const int u = SEGMENTS ? 0 : (int)((u32)e / (u32)by), v = e - u * by, j = across ? v : u,
                  i = across ? u : v;
        x[j * f->n + i] = load_element(b.x + (first + j * b.row_stride + i * b.stride) * TL_SIZE);
    }
#endif
}

/* Sequences of a job; 0 if there is no such job. */
fn int all_of(const segmented *f, batch b, i64 job)
{
    const i64 left = b.seqs - job * f->each;
    return job >= f->jobs ? 0 : left < f->each ? (int)left : (int)f->each;
}

/* Starts to copy the offsets of a job to local memory. */
fn void stage_offsets(const segmented *f, batch b, i64 job)
{
    const int all = all_of(f, b, job);
    const i64 from = job * f->each;
    for (int j = lane_index(); j <= all && all; j += LANES)
        COPY_WORD(f->offsets + j, b.offsets + from + j);
}

/* Computes the begins of a job's segments from their offsets. */
fn void find_begins(const segmented *f, const window *w)
{
    enum { EACH = SEGMENTED_SEQUENCES / LANES };
    const int lane = lane_index();
    u32 mine[EACH], sum = 0;
    UNROLL for (int k = 0; k < EACH; k++)
    {
        const int j = lane * EACH + k;
        const i64 n = f->offsets[j < w->all ? j + 1 : 0] - f->offsets[j < w->all ? j : 0];
        mine[k] = sum;
        sum += n < CHUNK ? ((u32)n >> GROUP_LOG) << PLACE_BITS | (u32)n : LONG_PLACES;
    }

    u32 to = sum; /* inclusive prefix sum over the lanes */
#ifdef TL_SHUFFLES

    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        u32 got;
        SHUFFLE(0, u32, got, to, lane - m < 0 ? lane : lane - m);
        to += lane >= m ? got : 0;
    }
#else

    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        WARP_BARRIER();
        w->begin[lane] = to;
        WARP_BARRIER();
        to += lane >= m ? w->begin[lane >= m ? lane - m : 0] : 0;
    }

    WARP_BARRIER();
#endif
    UNROLL for (int k = 0; k < EACH; k++) w->begin[lane * EACH + k] = to - sum + mine[k];
    if (lane == LANES - 1) w->begin[SEGMENTED_SEQUENCES] = to;
    WARP_BARRIER();
}

/* True if all segments of the job are shorter than LANE_END, and the segments of each pass fit in
 * local memory (lane.cl). Then begins are the elements before a segment in the job. */
enum { LANE_END = 64 };
#ifdef TL_SHUFFLES
#define LANE_FOLDS 1
#else
#define LANE_FOLDS 0
#endif

fn int find_lane_jobs(const segmented *f, const window *w)
{
    int fits = 0;
#if LANE_FOLDS
    enum { PASSES = SEGMENTED_SEQUENCES / LANES };
    const int lane = lane_index(), all = w->all;
    u32 begin[PASSES];
    fits = 1;

    UNROLL for (int k = 0; k < PASSES; k++)
    {
        const int j = k * LANES + lane, end = (k + 1) * LANES < all ? (k + 1) * LANES : all;
        const i64 at = f->offsets[j < all ? j : all];
        begin[k] = (u32)(at - f->offsets[0]);
        fits = fits && f->offsets[j < all ? j + 1 : all] - at < LANE_END;
        fits = fits &&
               (k * LANES >= all || f->offsets[end] - f->offsets[k * LANES] <= SEGMENTED_ELEMENTS);
    }

    UNROLL for (int m = 1; m < LANES; m <<= 1)
    {
        int other;
        SHUFFLE(1, int, other, fits, m);
        fits &= other;
    }

    if (fits) {
        UNROLL for (int k = 0; k < PASSES; k++) w->begin[k * LANES + lane] = begin[k];
        if (lane == 0) w->begin[SEGMENTED_SEQUENCES] = (u32)(f->offsets[all] - f->offsets[0]);
        WARP_BARRIER();
    }
#endif
    return fits;
}

/* Returns the window after w, of the same job or of the warp's next job (`entered`). A segment that
 * another launch computes is a window with count 1 and elements 0. Its begin does not tell its
 * length, so the base of the window after it is read from the offsets (`was_long`). */
fn window window_after(const segmented *f, window w, batch b)
{
    const int was_long = SEGMENTS && w.count && !w.elements, entered = w.at + w.count >= w.all;
    w.job += entered ? f->all_warps : 0;
    w.at = entered ? 0 : w.at + w.count;
    w.first = entered ? w.job * f->each : w.first + w.count;
    w.base = entered ? w.job * f->each * f->n : w.base + w.elements;
    w.all = all_of(f, b, w.job);

    if (SEGMENTS) {
#if SKIPS
        if (entered && w.all) {
            w.begin = f->begins;
            w.base = f->offsets[0];
            w.by_lanes = f->by_lanes && find_lane_jobs(f, &w);
            if (!w.by_lanes) find_begins(f, &w);
            stage_offsets(f, b, w.job + f->all_warps);
        } else {
            w.begin += w.count;
            if (was_long && !entered) w.base = b.offsets[w.first];
        }
#else /* no barrier in a branch: PoCL 5.0 aborts over most of them */
        stage_offsets(f, b, w.job);
        WARP_BARRIER();
        w.begin = f->begins;
        find_begins(f, &w);
        w.begin += w.at;
        w.base = f->offsets[w.all ? w.at : 0];
#endif
    }

    const int most = w.all - w.at;
    w.count = most, w.elements = most * f->n;

    if (SEGMENTS && !w.by_lanes) {
        const int end = begin_place(w.begin[0]) + SEGMENTED_ELEMENTS;
        int low = 0;
        UNROLL for (int step = SEGMENTED_SEQUENCES; step > 0; step >>= 1)
        {
            const int there = low + step;
            if (there <= most && begin_place(w.begin[there <= most ? there : 0]) <= end)
                low = there;
        }

        w.elements = most ? begin_place(w.begin[low]) - begin_place(w.begin[0]) : 0;
        w.count = low || !most ? low : 1;
    }

    return w;
}

/* Finds the range that may be read 16 bytes at a time. */
fn void find_range(segmented *f, batch b)
{
    f->low = f->high = 0;
#if defined(COPY_UNIT) && !TL_IN_PLACE
    const i64 first = SEGMENTS ? b.offsets[0] : 0,
              end = SEGMENTS ? b.offsets[b.seqs] : b.seqs * b.n;
    if (b.stride == 1 && (SEGMENTS || b.row_stride == b.n || b.seqs == 1) &&
        ADDRESS(b.x) % TL_SIZE == 0)
        f->low = b.x + first * TL_SIZE, f->high = b.x + end * TL_SIZE;
#endif
}

/* A warp's local memory, and its first window. */
fn segmented segmented_of(batch b, i64 each, i64 jobs, int warps, LOCAL u8 *memory,
                          const int by_lanes)
{
    segmented f;
    f.self = group_index() * warps + thread_index() / LANES;
    f.all_warps = group_count() * warps;
    f.x = (LOCAL elem *)memory;
    f.node = (LOCAL state *)(memory + SEGMENTED_NODES_AT(TL_SIZE));
    f.upper = f.node + SEGMENTED_NODES;
    f.offsets = (LOCAL i64 *)(memory + SEGMENTED_OFFSETS_AT(TL_SIZE, sizeof(state)));
    f.begins = (LOCAL u32 *)(memory + SEGMENTED_BEGIN_AT(TL_SIZE, sizeof(state)));
    f.jobs = jobs, f.each = each;
    f.by_lanes = SEGMENTS && by_lanes;
    f.n = SEGMENTS ? 0 : (int)b.n;
    f.groups = f.n >> GROUP_LOG;
    f.part = f.groups ? ((1 << 20) + f.groups - 1) / f.groups : 0;
    find_range(&f, b);

    return f;
}

fn window first_window(const segmented *f, batch b)
{
    window w;
    w.job = f->self - f->all_warps, w.first = w.base = 0;
    w.at = w.count = w.all = w.elements = w.off = w.by_lanes = 0;
    w.begin = f->begins;
    if (SEGMENTS) stage_offsets(f, b, f->self);
    COPY_WAIT();
    WARP_BARRIER();
    return window_after(f, w, b);
}

#define SEGMENTED_PARAMETERS BATCH_PARAMETERS, RESULTS_PARAMETERS, SPECULATIVE_PARAMETERS, i64 each, i64 jobs, i64 warps
/* Blocks of a multiprocessor, which bounds the registers. */
#define SEGMENTED_BLOCKS      (TL_SIZE > 4 || sizeof(state) > 8 ? 2 : 4)
/* A result that differs from its state, such as a mean, needs more registers. */
#define SEGMENTED_SCAN_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 1 : OP_SEED ? 4 : 3)

#line 1 "src/gpu/kernel/short/lane.cl"
/* SPDX-License-Identifier: MIT
 * Segments of less than LANE_END elements: each lane takes one and folds it, 8 elements at a time.
 * A job's segments are done in passes of 32; as many passes as fit in local memory are copied
 * together. No segment search is needed, which is most of the work of segmented.cl: at a mean of 20
 * elements this file takes about a third of its instructions. One longer segment would make all
 * other lanes wait, so segmented.cl does jobs with longer segments. */
#if LANE_FOLDS

/* The passes of a job whose elements are in local memory at the same time. */
typedef struct {
    int end;    /* the pass after the last of them */
    int before; /* elements of the job before them */
    window w;   /* their elements */
} passes;

/* Copies the elements of the next passes, after the first `done`, to local memory. */
fn passes next_passes(const segmented *f, const window *w, int done, batch b)
{
    passes k;
    k.end = done + 1;
    k.before = (int)w->begin[done * LANES];
    while (k.end * LANES < w->all &&
           (int)w->begin[(k.end + 1) * LANES] - k.before <= SEGMENTED_ELEMENTS)
        k.end++;
    k.w = *w;
    k.w.base += k.before;

    /* there are no segments after the job's last one */
    k.w.elements = (int)w->begin[k.end * LANES] - k.before;
    stage_elements(f, &k.w, b);
    COPY_WAIT();
    WARP_BARRIER();

    return k;
}

/* Loads eight neighbouring elements from place p. The distances between lanes are arbitrary, so
 * loads of 16 bytes would have as many bank conflicts as loads of single elements, and would need
 * selects. */
fn void lane_load(elem *e, LOCAL const elem *x, int p)
{
#if TL_SIZE >= 4
    UNROLL for (int k = 0; k < GROUP; k++) e[k] = x[p + k];
#else
    load_group(e, x, p);
#endif
}

#if PARTIALS && OP_EXTREME && !FINDS && TL_SIZE == 1
/* Returns S(n) of n < LANE_END bytes from place `at`, a word of 4 bytes at a time (partials.cl). */
fn maybe lane_fold(LOCAL const elem *x, int at, int n, par p)
{
    enum { BYTES = 4, FILL = (int)((u32)(u8)WORST * 0x01010101u) };
    LOCAL const u32 *const words = (LOCAL const u32 *)x;
    const int end = at + n, last = (end - 1) / BYTES, before = at % BYTES * 8,
              after = (end - 1) % BYTES * 8;
    lane_partial t = partial_none(p);
    maybe v = nothing(p);

    if (n) {
        int k = at / BYTES;

        /* masks of the segment's bytes in its first and last word */
        const u32 left = ~0u << before, right = ~0u >> (24 - after);
        u32 w = (words[k] & left) | ((u32)FILL & ~left);

        for (; k <= last; k++) {
            if (k == last) w = (w & right) | ((u32)FILL & ~right);
            t.part.a = PAIR_MOST(t.part.a, w);
            t.part.b = PAIR_MOST(t.part.b, w << 8);
            w = words[k + 1];
        }

        v.s = partial_state(t);
        v.have = 1;
    }

    return v;
}
#else
/* A lane keeps one node for each power of two of its groups. */
typedef char lanes_have_three_levels[LANE_END == 8 * GROUP ? 1 : -1];
enum { LANE_GROUPS = LANE_END / GROUP - 1, LANE_NODES = 3 };

/* Returns S(n) of n < LANE_END elements from place `at`. */
fn maybe lane_fold(LOCAL const elem *x, int at, int n, par p)
{
    const int groups = n >> GROUP_LOG, left = n & (GROUP - 1);
    state node[LANE_NODES];
    maybe v = nothing(p);

    UNROLL for (int l = 0; l < LANE_NODES; l++) node[l] = v.s;
    UNROLL for (int k = 0; k < LANE_GROUPS; k++)
    {
        if (k < groups) {
            elem e[GROUP];
            int l = 0;
            lane_load(e, x, at + k * GROUP);
#define ITEM(i) lift_e(e[i], k * GROUP + (i), p)
            state mine = NODE_8(ITEM, 0, 1);
#undef ITEM
            UNROLL for (; l < LANE_NODES && (k >> l & 1); l++)
                mine = TWIN(node[l], mine, GROUP << l);
            node[l] = mine;
        }
    }

    UNROLL for (int l = LANE_NODES - 1; l >= 0; l--)
    {
        if (groups >> l & 1)
            v = then(v, node[l], p.origin + (groups >> (l + 1) << (l + 1)) * GROUP, GROUP << l);
    }

    const int first = groups << GROUP_LOG, place = at + first;
#define ITEM(k) lift_e(x[place + (k)], first + (k), p)
    if (left) APPEND(v, p.origin + first, ITEM, left, 1)
#undef ITEM

    return v;
}
#endif
#endif

#line 1 "src/gpu/kernel/short/segmented_reduce.cl"
/* SPDX-License-Identifier: MIT
 * Reduces short sequences (segmented.cl). */

#if LANE_FOLDS
/* Reduces a job by lane.cl. */
fn void lane_reduce(const segmented *f, const window *w, batch b, results out)
{
    for (int done = 0; done * LANES < w->all;) {
        const passes k = next_passes(f, w, done, b);
        ROLLED for (; done < k.end; done++)
        {
            const int j = done * LANES + lane_index();
            if (j < w->all) {
                const int at = (int)w->begin[j], n = (int)w->begin[j + 1] - at;
                store_reduced(out, b, w->first + j,
                              lane_fold(f->x, k.w.off + at - k.before, n, b.p), n);
            }
        }
        WARP_BARRIER();
    }
}
#endif

fn void segmented_reduce(segmented f, batch b, results out)
{
    window w = first_window(&f, b);
    while (w.count) {
#if LANE_FOLDS
        if (SEGMENTS && w.by_lanes) {
            lane_reduce(&f, &w, b, out);
            w = window_after(&f, w, b);
            continue;
        }
#endif
        stage_elements(&f, &w, b);
        COPY_WAIT();
        WARP_BARRIER();
        segmented_up(&f, &w, b.p);
        const i64 step = out.row_stride * (i64)(OP_LANES * sizeof(result));
        GLOBAL u8 *to = out.x + (w.first + lane_index()) * step;
        for (int j = lane_index(); j < w.count; j += LANES, to += LANES * step) {
            const sequence s = sequence_in(&f, &w, j);
            if (SEGMENTS && s.n >= CHUNK) continue;
            const maybe v = segmented_fold(&f, &w, b.p, s);
            if (b.flags & STATES)
                pack(out.x + (w.first + j) * PACKED, v.s);
            else
                store_maybe(to, v, s.n, 0, b.p);
        }

        WARP_BARRIER();
        w = window_after(&f, w, b);
    }
}

KERNEL_BLOCKS(reduce_short, 32 * WARPS_IN_GROUP, SEGMENTED_BLOCKS)(SEGMENTED_PARAMETERS LOCAL_MEMORY_PARAMETER BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SPECULATIVE_OF_PARAMETERS;
    const int warp = thread_index() / LANES;
    LOCAL u8 *const memory =
        LOCAL_MEMORY + warp * SEGMENTED_BYTES(TL_SIZE, sizeof(state), SEGMENTS);
    const i64 mine = SEGMENTS ? speculative_jobs(a, jobs, b.seqs, 0) : jobs;
    if (SKIPS && warp >= warps) return;
    segmented_reduce(segmented_of(b, each, mine, (int)warps, memory, LANE_FOLDS), b, out);
}

#line 1 "src/gpu/kernel/short/warp_reduce.cl"
/* SPDX-License-Identifier: MIT
 * Reduces sequences of some chunks: one warp folds each, chunk after chunk, and keeps the node of
 * chunk c in lane c. No node goes to memory, and no segment search is needed. After the last chunk
 * come up to 7 full rows and a part of one. */

/* Loads the lane's elements of the full rows (e) and of the row after them (part); zeros where
 * there are none. */
fn void load_rest(elem e[ROWS_E][QUAD], elem *part, batch b, i64 first, int left)
{
    const int rows = left >> ROW_LOG, at = lane_index() * QUAD, part_at = rows * ROW_e + at;
    GLOBAL const u8 *from = b.x + first * TL_SIZE;

    UNROLL for (int r = 0; r < ROWS_E; r++)
    {
        UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = NO_ELEMENT;
    }

    UNROLL for (int k = 0; k < QUAD; k++) part[k] = NO_ELEMENT;

    /* PoCL 5.0 aborts over both branches */
    if (SKIPS && b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0) {
        GLOBAL const elem *x = (GLOBAL const elem *)from;
        UNROLL for (int r = 0; r < ROWS_E - 1; r++)
        {
            if (r < rows) {
                UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = x[at + r * ROW_e + k];
            }
        }

        UNROLL for (int k = 0; k < QUAD; k++)
        {
            if (part_at + k < left) part[k] = x[part_at + k];
        }
    } else {
        const i64 step = b.stride * TL_SIZE;
        UNROLL for (int r = 0; r < ROWS_E - 1; r++)
        {
            if (r < rows) put_quad(e[r], gather(from, step, at + r * ROW_e, left));
        }

        if (part_at < left) put_quad(part, gather(from, step, part_at, left));
    }
}

/* Returns S after `before` and the `rest` < 128 elements of a row; each lane has a quad of them. i:
 * index of the row's first element. */
fn maybe append_part(maybe before, const elem *e, i64 i, int rest, par p, LOCAL state *box)
{
    const i64 mine = i + lane_index() * QUAD;
    state left[5], q[QUAD];

    UNROLL for (int k = 0; k < QUAD; k++) q[k] = lift_e(e[k], mine + k, p);
    const state two = TWIN(q[0], q[1], 1);
    row_node_e(TWIN(two, TWIN(q[2], q[3], 1), 2), QUAD, left, box);
    maybe start = row_start_e(before, i, QUAD, left);
    maybe with = then(start, two, mine, 2);
    if (rest & 2) start = with;
    with = then(start, choose(rest & 2, q[2], q[0]), mine + (rest & 2), 1);
    if (rest & 1) start = with;
    before.s = from_lane(start.s, rest / QUAD, box);
    before.have = before.have || rest;

    return before;
}

#if defined(TL_SHUFFLES) && TL_SIZE >= 4
/* Reduces rows of 4, 8, 16, ... 128 elements that lie beside each other, aligned to quads
 * (tl_rows_are_even): a chunk of them at a time, by the first steps of fold_across. */
fn void reduce_even_rows(batch b, results out, i64 jobs, LOCAL state *box)
{
    const i64 all = b.seqs * b.n, step = out.row_stride * (i64)(OP_LANES * sizeof(result));
    const int lane = lane_index(), n = (int)b.n, log = low_zeros((u32)n), lanes = n / QUAD;

    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 at = job * CHUNK + lane * QUAD;
        GLOBAL const quad *const x = (GLOBAL const quad *)(b.x + at * TL_SIZE);
        elem e[ROWS_E][QUAD];
        state v[ROWS_E];
        int count = ROWS_E, row = 0; /* the lane has `count` results, of rows from `row` on */
        UNROLL for (int r = 0; r < ROWS_E; r++)
        {
            if (at + r * ROW_e < all) put_quad(e[r], x[r * LANES]);
        }
        UNROLL for (int r = 0; r < ROWS_E; r++)
        {
            const int i = (r * ROW_e + lane * QUAD) & (n - 1);
#undef ITEM
#define ITEM(k) lift_e(e[r][k], i + (k), b.p)
            v[r] = NODE_4(ITEM, 0, 1);
        }
        UNROLL for (int s = 0; s < 5; s++)
        {
            const int m = ROWS_E >> (s + 1), right = lane >> s & 1;
            if (lanes <= 1 << s) continue;
            UNROLL for (int j = 0; j < m; j++)
            {
                const state got = exchange(choose(right, v[j], v[j + m]), 1 << s, box);
                v[j] = meet(choose(right, v[j + m], v[j]), got, right, QUAD << s);
            }
            if (!m) v[0] = meet(v[0], exchange(v[0], 1 << s, box), right, QUAD << s);
            count = m ? m : 1, row += right * m;
        }

        if ((lane & (lanes - 1)) / ROWS_E) continue; /* another lane has these results */
        i64 s = (at + row * ROW_e) >> log;
        GLOBAL u8 *to = out.x + s * step;
        UNROLL for (int j = 0; j < ROWS_E; j++, s += LANES / lanes, to += LANES / lanes * step)
        {
            maybe whole;
            whole.s = v[j], whole.have = 1;
            if (j < count && s < b.seqs) store_maybe(to, whole, n, 0, b.p);
        }
    }
}
#endif

#define LONG_ROWS_PARAMETERS BATCH_PARAMETERS, RESULTS_PARAMETERS, SPECULATIVE_PARAMETERS, i64 jobs
#define BY_WARP_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 1 : 3)
KERNEL_BLOCKS(reduce_by_warp, 32 * WARPS_IN_GROUP, BY_WARP_BLOCKS)(LONG_ROWS_PARAMETERS BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    SPECULATIVE_OF_PARAMETERS;
    BOX
    const int lane = lane_index();
    const i64 all_jobs = speculative_jobs(a, jobs, b.seqs, 1);
    u32 ticket = 0;
#if defined(TL_SHUFFLES) && TL_SIZE >= 4
    if (!(b.flags & OFFSETS) && b.n <= ROW_e) {
        reduce_even_rows(b, out, jobs, box);
        return;
    }
#endif
    for (i64 job = warp_index(); job < all_jobs; job = job_after(a, job, ticket)) {
        ticket = take_ticket(a);
        const i64 s = job, all = length_of(b, s), n = all < BY_WARP_END ? all : 0;
        if (SKIPS && all >= BY_WARP_END) continue;
        const i64 from = start_of(b, s);
        const int chunks = (int)(n >> ELEMENTS_LOG), left = (int)n & (CHUNK - 1),
                  rows = left >> ROW_LOG;
        state mine = nothing(b.p).s, v[ROWS_E];
        ROLLED for (int c = 0; c < chunks; c++)
        {
            const state node = node_of_chunk(b, from, (i64)c * CHUNK, box);
            mine = choose(lane == c, node, mine);
        }
        const i64 at = (i64)chunks * CHUNK;
        maybe whole = append_lanes(nothing(b.p), 0, mine, CHUNK, chunks, box);

        if (!SKIPS || left) {
            elem e[ROWS_E][QUAD], part[QUAD];
            load_rest(e, part, b, from + at * b.stride, left);
            fold_quads_e(v, e, b, at, 1);
            fold_across_e(v, 1, box);

            /* the lane that has the node of row `lane` (its bits reversed) */
            const int turned = (lane & 1) << 2 | (lane & 2) | (lane >> 2 & 1);
            whole = append_lanes(whole, at, from_lane(v[0], turned, box), ROW_e, rows, box);
            whole = append_part(whole, part, at + rows * ROW_e, left & (ROW_e - 1), b.p, box);
        }

        if (lane == 0 && all < BY_WARP_END) store_reduced(out, b, s, whole, all);
    }
}
