#define TL_ONE_KERNEL 1
#define TL_PICK_once 0, 1

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
#define TL_SIZE 1
#define TL_KIND 1
#define TL_FORMAT 0
#define TL_REAL_FLOAT 8
#define REAL_T f64
#define STATE_BYTES 16
#define TL_OUT_SIZE 8
#define TL_OUT_FLOAT 8
#define OUT_T f64
#define ELEM_T i8
#define ORD_T i8
#define ROOM_LOG 10
#define WHOLE_LOG 10
#define ONCE_BLOCKS 1
#define FEW_BLOCKS 2
#define SCAN_LINES 1
#define DOWN_ROWS 16
#define DOWN_BLOCKS 2
#define RUNS 0

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

#line 1 "src/op/meani.h"
/* SPDX-License-Identifier: MIT
 * mean of integers: an exact sum in 128-bit two's complement (hi, lo), then three roundings in lower, of its size: hi
 * and lo to f64, their sum, the quotient; the sign comes last. No input can overflow it: 2^62 elements of 64 bits need
 * 126. */
#define OP_LANE WIDE
#define OP_WIDEN WIDE
#define OP_EXACT 1
#define OP_ADDS 2
#define OP_STATE(F) F(wide, lo) F(wide, hi)
#define OP_NEUTRAL 1
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.lo = to_wide(x); r.hi = wide_sign(x); return r; }
fn state combine(state a, state b)
{
    state r;
    r.lo = a.lo + b.lo;
    r.hi = a.hi + b.hi + wide_if(r.lo < a.lo);
    return r;
}
fn state neutral(par p) { state r; r.lo = wide_num(0); r.hi = r.lo; return r; }
fn result lower(state a, real n, idx first, par p)
{
    wide sign = wide_if(signed_to_real(a.hi) < num(0.0)), flip = wide_num(0) - sign;
    wide lo = (a.lo ^ flip) + sign, hi = (a.hi ^ flip) + wide_if(lo < sign);
    real size = (wide_to_real(hi) * num(18446744073709551616.0) + wide_to_real(lo)) / n;
    return to_result(sel(signed_to_real(a.hi) < num(0.0), num(0.0) - size, size));
}
fn result empty(par p) { return to_result(num(NOT_A_NUMBER)); }

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

/* Flags of a batch: sequences have offsets, and `first`; ids chooses among them; reduce gives states. */
enum { OFFSETS = 1, CHOSEN = 2, STATES = 4 };

/* What comes before a sequence of a scan: nothing, one value for all, or a state for each, packed. */
enum { SEED_NONE, SEED_VALUE, SEED_STATES };

/* law.cl: threads of a group. */
enum { LAW_THREADS = 64 };

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
    PREPARE_MASKED = 32  /* and a NaN does not */
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
enum { LONGS = 0, BAD = 1, DIFFERENT = 2, MIDDLES = 3, NODES = 4, MEASURED_WORDS = NODES + NODE_LEVELS };
enum { FIRST_OFFSET = (MEASURED_WORDS + 1) / 2, LAST_OFFSET, MEASURED_LONG_WORDS };

/* middle.cl: a segment below so many elements is one warp's, which keeps a chunk's node in each of its lanes. */
enum { MIDDLE_END = LANES * CHUNK };

/* Windows: threads of a group. A tile of window_rows has 2^TILE_ROWS_LOG rows. */
enum { WINDOW_THREADS = 256, TILE_ROWS_LOG = 8, TILE_ROWS = 1 << TILE_ROWS_LOG };

/* Windows of columns (window_columns.cl): elements of a step, as a power of 2; levels of the longest window. The nodes
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

/* window_exact.cl: items of a run; runs that a tile of so many runs of results needs nodes for; where nodes and (if
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
    i64 origin
#line 23 "src/gpu/kernel/batch.cl"
#define BATCH_OF_PARAMETERS                                                                                            \
    batch b;                                                                                                           \
    b.x = in_data + in_byte, b.row_stride = in_row_stride, b.stride = in_stride, b.n = in_n, b.seqs = in_seqs,         \
    b.flags = in_flags, b.offsets = in_offsets, b.ids = in_ids, b.first = in_first, b.p.value = parameter,             \
    b.p.origin = origin

#define IN_PLACE_PARAMETERS GLOBAL const u8 *y_data, i64 y_byte, GLOBAL const u8 *x_there, i64 x_bit, \
    GLOBAL const u8 *y_there, i64 y_bit, i64 left_out
#line 30 "src/gpu/kernel/batch.cl"
#define IN_PLACE_OF_PARAMETERS                                                                                         \
    b.y = y_data + y_byte, b.x_there = x_there, b.x_bit = x_bit, b.y_there = y_there, b.y_bit = y_bit,                 \
    b.left_out = (u64)left_out

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
fn void put_quad(elem *e, quad q) { e[0] = q.x, e[1] = q.y, e[2] = q.z, e[3] = q.w; }
#endif
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
#if OP_LANES == 1 && TL_OUT_SIZE == 4 && defined(TL_SHUFFLES)
#define CAN_SHIFT 1
/* The same of a row that is not aligned as a quad: each lane stores the aligned quad that begins among its own results
 * and ends among the next lane's. Four stores of one result each would write a quarter of every sector four times. */
fn void store_shifted(GLOBAL u8 *to, const result *w)
{
    const int lane = lane_index(), begin = 4 - (int)(ADDRESS(to) / 4 & 3); /* the quad's first result: 1, 2, 3 */
    result next[3];
    UNROLL for (int k = 0; k < 3; k++) SHUFFLE(0, result, next[k], w[k], (lane + 1) & (LANES - 1));
    GLOBAL result *row = (GLOBAL result *)to;
    result_quad q;
    q.x = begin == 1 ? w[1] : begin == 2 ? w[2] : w[3];
    q.y = begin == 1 ? w[2] : begin == 2 ? w[3] : next[0];
    q.z = begin == 1 ? w[3] : begin == 2 ? next[0] : next[1];
    q.w = begin == 1 ? next[0] : begin == 2 ? next[1] : next[2];
    if (lane < LANES - 1) *(GLOBAL result_quad *)(row + begin + lane * QUAD) = q;
    UNROLL for (int k = 0; k < QUAD; k++)
    {
        if (lane == (k < begin ? 0 : LANES - 1)) row[lane * QUAD + k] = w[k];
    }
}
#else
#define CAN_SHIFT 0
#define store_shifted(to, w)
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
 * One warp, one chunk of ROWS rows of 32 lanes of LANE_ITEMS items, next to each other. The text is used for elements
 * (N(x) = x_e, ITEM elem, 8 rows of 128), for states that are nodes of the level below (x_s, state, 2 rows), and its
 * first part, without ITEM, for the chunks of tile.cl. unit: the elements of an item. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* The nodes of a full chunk's rows, from one a lane and row: in v[0] of the lanes l whose low bits, the first for the
 * highest, spell the row. Rows are folded by a transposing butterfly: at step s the lane whose bit s is 0 keeps row j
 * and gives row j + m away, its partner the reverse: ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 ROWS. */
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
    UNROLL for (int s = LOG_ROWS; s < 5; s++) v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1,
        unit * (LANE_ITEMS << s));
}

/* The node of a full chunk, in every lane, from what fold_across left. Bit s of the lane is bit LOG_ROWS - 1 - s of the
 * row it holds. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--) v = meet(v, exchange(v, 1 << s, box), lane_index() >> s & 1,
        unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

#ifdef ITEM
/* v[r]: the node of the lane's four items of row r. */
fn void N(fold_quads)(state *v, ITEM e[ROWS][QUAD], batch b, i64 at, amount unit)
{
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        v[r] = TWIN(TWIN(N(lift)(e[r][0], i, b.p), N(lift)(e[r][1], i + 1, b.p), unit),
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

/* The node of a row from v, the lane's node of n elements; left: what the lane's neighbours at its bits hold, for
 * row_start. */
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

/* S at the lane's first item: the row's, of `before` elements, and the left neighbours at the lane's set bits, high to
 * low. n: elements of a lane. */
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

/* The rows' prefixes: rows[r] = S at row r, from the nodes of the rows before it, of n elements each. Calls with r = 0,
 * 1, 2, ... before: the elements of rows[0]. */
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

/* S at item `count` of the chunk at `at` (0 <= count < CHUNK), which `before` has come to with `done` elements; in
 * every lane. */
seldom_fn maybe N(append)(maybe before, amount done, batch b, i64 from, i64 at, i64 count, amount unit,
    LOCAL state *box)
{
    maybe rows[ROWS + 1], mine = before;
    state stack[LOG_ROWS + 1], left[5];
    ITEM e[ROWS][QUAD];
    const int lane = lane_index(), last = (int)count / (LANES * QUAD), rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;
    N(load)(e, b, from, at, at + count);
    rows[0] = before;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        i64 i = at + r * LANES * QUAD + lane * QUAD;
        amount row = done + unit * (r * N(ROW)), mine_done = row + unit * (lane * QUAD);
        state q0 = N(lift)(e[r][0], i, b.p), q1 = N(lift)(e[r][1], i + 1, b.p), q2 = N(lift)(e[r][2], i + 2, b.p);
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
 * One warp, one chunk of ROWS rows of 32 lanes of LANE_ITEMS items, next to each other. The text is used for elements
 * (N(x) = x_e, ITEM elem, 8 rows of 128), for states that are nodes of the level below (x_s, state, 2 rows), and its
 * first part, without ITEM, for the chunks of tile.cl. unit: the elements of an item. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* The nodes of a full chunk's rows, from one a lane and row: in v[0] of the lanes l whose low bits, the first for the
 * highest, spell the row. Rows are folded by a transposing butterfly: at step s the lane whose bit s is 0 keeps row j
 * and gives row j + m away, its partner the reverse: ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 ROWS. */
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
    UNROLL for (int s = LOG_ROWS; s < 5; s++) v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1,
        unit * (LANE_ITEMS << s));
}

/* The node of a full chunk, in every lane, from what fold_across left. Bit s of the lane is bit LOG_ROWS - 1 - s of the
 * row it holds. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--) v = meet(v, exchange(v, 1 << s, box), lane_index() >> s & 1,
        unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

#ifdef ITEM
/* v[r]: the node of the lane's four items of row r. */
fn void N(fold_quads)(state *v, ITEM e[ROWS][QUAD], batch b, i64 at, amount unit)
{
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        v[r] = TWIN(TWIN(N(lift)(e[r][0], i, b.p), N(lift)(e[r][1], i + 1, b.p), unit),
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

/* The node of a row from v, the lane's node of n elements; left: what the lane's neighbours at its bits hold, for
 * row_start. */
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

/* S at the lane's first item: the row's, of `before` elements, and the left neighbours at the lane's set bits, high to
 * low. n: elements of a lane. */
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

/* The rows' prefixes: rows[r] = S at row r, from the nodes of the rows before it, of n elements each. Calls with r = 0,
 * 1, 2, ... before: the elements of rows[0]. */
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

/* S at item `count` of the chunk at `at` (0 <= count < CHUNK), which `before` has come to with `done` elements; in
 * every lane. */
seldom_fn maybe N(append)(maybe before, amount done, batch b, i64 from, i64 at, i64 count, amount unit,
    LOCAL state *box)
{
    maybe rows[ROWS + 1], mine = before;
    state stack[LOG_ROWS + 1], left[5];
    ITEM e[ROWS][QUAD];
    const int lane = lane_index(), last = (int)count / (LANES * QUAD), rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;
    N(load)(e, b, from, at, at + count);
    rows[0] = before;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        i64 i = at + r * LANES * QUAD + lane * QUAD;
        amount row = done + unit * (r * N(ROW)), mine_done = row + unit * (lane * QUAD);
        state q0 = N(lift)(e[r][0], i, b.p), q1 = N(lift)(e[r][1], i + 1, b.p), q2 = N(lift)(e[r][2], i + 2, b.p);
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
 * One warp, one chunk of ROWS rows of 32 lanes of LANE_ITEMS items, next to each other. The text is used for elements
 * (N(x) = x_e, ITEM elem, 8 rows of 128), for states that are nodes of the level below (x_s, state, 2 rows), and its
 * first part, without ITEM, for the chunks of tile.cl. unit: the elements of an item. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* The nodes of a full chunk's rows, from one a lane and row: in v[0] of the lanes l whose low bits, the first for the
 * highest, spell the row. Rows are folded by a transposing butterfly: at step s the lane whose bit s is 0 keeps row j
 * and gives row j + m away, its partner the reverse: ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 ROWS. */
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
    UNROLL for (int s = LOG_ROWS; s < 5; s++) v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1,
        unit * (LANE_ITEMS << s));
}

/* The node of a full chunk, in every lane, from what fold_across left. Bit s of the lane is bit LOG_ROWS - 1 - s of the
 * row it holds. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--) v = meet(v, exchange(v, 1 << s, box), lane_index() >> s & 1,
        unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

#ifdef ITEM
/* v[r]: the node of the lane's four items of row r. */
fn void N(fold_quads)(state *v, ITEM e[ROWS][QUAD], batch b, i64 at, amount unit)
{
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        v[r] = TWIN(TWIN(N(lift)(e[r][0], i, b.p), N(lift)(e[r][1], i + 1, b.p), unit),
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

/* The node of a row from v, the lane's node of n elements; left: what the lane's neighbours at its bits hold, for
 * row_start. */
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

/* S at the lane's first item: the row's, of `before` elements, and the left neighbours at the lane's set bits, high to
 * low. n: elements of a lane. */
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

/* The rows' prefixes: rows[r] = S at row r, from the nodes of the rows before it, of n elements each. Calls with r = 0,
 * 1, 2, ... before: the elements of rows[0]. */
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

/* S at item `count` of the chunk at `at` (0 <= count < CHUNK), which `before` has come to with `done` elements; in
 * every lane. */
seldom_fn maybe N(append)(maybe before, amount done, batch b, i64 from, i64 at, i64 count, amount unit,
    LOCAL state *box)
{
    maybe rows[ROWS + 1], mine = before;
    state stack[LOG_ROWS + 1], left[5];
    ITEM e[ROWS][QUAD];
    const int lane = lane_index(), last = (int)count / (LANES * QUAD), rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;
    N(load)(e, b, from, at, at + count);
    rows[0] = before;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        i64 i = at + r * LANES * QUAD + lane * QUAD;
        amount row = done + unit * (r * N(ROW)), mine_done = row + unit * (lane * QUAD);
        state q0 = N(lift)(e[r][0], i, b.p), q1 = N(lift)(e[r][1], i + 1, b.p), q2 = N(lift)(e[r][2], i + 2, b.p);
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
 * Elements in packs of 16 bytes, and the first road that folds packs (the others: stripes.cl, once.cl). */
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

fn int is_packed(batch b, i64 first) { return b.stride == 1 && ADDRESS(b.x + first * TL_SIZE) % 16 == 0; }

/* Mean and sum of squared deviations (OP_MOMENTS) of integers of 8 or 16 bits. Every mean and m2 of a node of 2^k such
 * elements, k <= 11, is a multiple of 2^-k below 2^53 times that, and so is all that combine makes on the way: nothing
 * rounds. So the node is what the sums of the elements and of their squares say, in any order:
 *
 *   mean = sum / n        m2 = (n squares - sum sum) / n
 *
 * (n = 2^k; for 8 bits k may be 19.) */
#define MOMENTS (OP_MOMENTS && !TL_IN_PLACE && !OP_MASKED && TL_KIND != 3 && TL_SIZE <= 2 && TL_REAL_FLOAT == 8)

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
/* The node of n elements, in every lane, from what each lane has of them. */
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
/* The node of a full chunk, in every lane. */
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

#line 1 "src/gpu/kernel/stripes.cl"
/* SPDX-License-Identifier: MIT
 * Class X by any road (order.md, 6): operators that also commute are folded in stripes, without the tree's exchanges.
 * A lane takes a pack, 16 bytes, of each row of 32 lanes, keeps a pile of all that it has folded, and the lanes join
 * at the end. STRIPED: the operator says one of
 *
 *   OP_EXTREME 1, -1   a maximum or minimum: keys, in pairs of 16 bits where an element has one or two bytes. Of an
 *                      index the lane keeps the span of 8 rows that it found its best key in; which element of the
 *                      span that was is looked up once, at the end
 *   OP_ADDS 1, 2       an integer sum: whole words by one instruction each, 64 or 128 bits once a span
 *   OP_COMMUTES 1      and has a neutral state: element by element */
#define LANE_IS_IDX         1
#define LANE_IS_(lane)      LANE_IS_##lane
#define LANE_IS(lane)       LANE_IS_(lane)
#define FINDS               (OP_EXTREME && LANE_IS(OP_LANE)) /* the result is an index */
#define STRIPED             (OP_EXACT && !TL_IN_PLACE && (OP_EXTREME || OP_ADDS || (OP_COMMUTES && OP_NEUTRAL)))

#if STRIPED
enum { SPAN_ROWS = 8, SPAN = SPAN_ROWS * LANES * PACK, CHUNK_ROWS = CHUNK / (LANES * PACK) };
/* a pile: pile_none, then pile_pack for each pack and pile_span after each span; pile_state is all of it. i: the index
 * of the pack's, the span's first element. */
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
/* Pairs of 16 bits. Bytes: a has the odd ones as the high halves of its pairs, with the even ones below them, which
 * decide only where no odd one does; b the even ones in the same way. Halves: a the most, b the least of the keys,
 * which shows a NaN of either sign. */
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
    return above > inf || below < (ord)~inf ? (ord)~WORST : most; /* a NaN wins */
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
} pile;
fn state none_of(par p)
{
    state r;
    r.m = WORST;
#if FINDS
    r.i = (i64)((u64)-1 >> 1); /* behind all others */
#endif
    return r;
}
/* C(a, b) of operands in any order: among equals the first. */
fn state join(state a, state b)
{
#if FINDS
    return choose(BEATS(b.m, a.m) || (b.m == a.m && b.i < a.i), b, a);
#else
    return combine(a, b);
#endif
}
fn pile pile_none(par p)
{
    pile r;
    r.part = keys_none(), r.best = none_of(p);
    return r;
}
fn pile pile_pack(pile t, bundle v, i64 i, par p)
{
    t.part = keys_pack(t.part, v);
    return t;
}
fn pile pile_span(pile t, i64 i)
{
#if FINDS
    const ord m = keys_most(t.part);
    if (BEATS(m, t.best.m) || t.best.i > i) t.best.m = m, t.best.i = i;
    t.part = keys_none();
#endif
    return t;
}
fn state pile_state(pile t)
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
typedef u32 partial; /* of a span: at most 2^21 in magnitude */
#endif
typedef struct {
    partial part;
    state all;
} pile;
fn pile pile_none(par p)
{
    pile r;
    r.part = 0, r.all = neutral(p);
    return r;
}
fn pile pile_pack(pile t, bundle v, i64 i, par p)
{
#if TL_SIZE == 4
    UNROLL for (int k = 0; k < PACK; k++) t.part += (u64)(i64)pack_element(v, k);
#else
    UNROLL for (int k = 0; k < 4; k++) t.part = WORD_SUM(v.w[k], t.part);
#endif
    return t;
}
fn pile pile_span(pile t, i64 i)
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
} pile;
fn pile pile_none(par p)
{
    pile r;
    r.all = neutral(p);
    return r;
}
fn pile pile_pack(pile t, bundle v, i64 i, par p)
{
    UNROLL for (int k = 0; k < PACK; k++) t.all = combine(t.all, lift_e(pack_element(v, k), i + k, p));
    return t;
}
fn pile pile_span(pile t, i64 i) { return t; }
#endif
fn state pile_state(pile t) { return t.all; }
#endif

fn state join_lanes(state v, int lanes, LOCAL state *box)
{
    UNROLL for (int m = 1; m < lanes; m <<= 1) v = join(v, exchange(v, m, box));
    return v;
}
#if !FINDS
/* The node of a full chunk, in every lane. */
fn state chunk_striped(batch b, i64 from, i64 at, LOCAL state *box)
{
    state v;
    if (is_packed(b, from + at)) {
        GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + (from + at) * TL_SIZE) + lane_index();
        const i64 i = at + lane_index() * PACK;
        bundle e[CHUNK_ROWS];
        pile t = pile_none(b.p);
        UNROLL for (int r = 0; r < CHUNK_ROWS; r++) e[r] = x[r * LANES];
        UNROLL for (int r = 0; r < CHUNK_ROWS; r++) t = pile_pack(t, e[r], i + r * LANES * PACK, b.p);
        v = pile_state(pile_span(t, i));
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
 * The nodes of chunks, level by level, for reduce and scan. */

/* S after `count` < 32 nodes of n elements, one a lane, which `before` has come to with `done` elements. */
fn maybe append_lanes(maybe before, amount done, state node, amount n, int count, LOCAL state *box)
{
    state left[5];
    if (SKIPS && count == 0) return before;
    row_node_s(node, n, left, box);
    before.s = from_lane(row_start_s(before, done, n, left).s, count, box); /* lane 0 has `before` */
    before.have = before.have || count;
    return before;
}

#if !TL_IN_PLACE
/* The node of the full chunk at `at`. */
fn state node_of_chunk(batch b, i64 from, i64 at, LOCAL state *box)
{
#if STRIPED && !FINDS
    return chunk_striped(b, from, at, box);
#elif MOMENTS
    return chunk_moments(b, from, at, box);
#else
    return chunk_node_e(b, from, at, 1, box);
#endif
}
#endif

/* Level 1: node `job` is a full chunk of elements. */
#if TL_IN_PLACE
KERNEL(nodes_in_place, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, IN_PLACE_PARAMETERS, GLOBAL state *to, i64 jobs BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    IN_PLACE_OF_PARAMETERS;
#else
KERNEL(nodes, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, GLOBAL state *to, i64 jobs BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
#endif
    BOX
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, 1, 0, job);
        const i64 from = start_of(b, s), at = (job - level_first(b, 1, s)) * CHUNK_e;
#if TL_IN_PLACE
        state v = chunk_node_e(b, from, at, 1, box);
#else
        state v = node_of_chunk(b, from, at, box);
#endif
        if (lane_index() == 0) to[job] = v;
    }
}

#if !TL_IN_PLACE
/* The same for neighbouring sequences that lie across (columns): a lane a column, so that a warp reads whole lines.
 * Chunk c of 32 columns a job, all columns of a chunk before the next. */
KERNEL(columns, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, GLOBAL state *to, i64 jobs BOX_PARAMETER)
{
    enum { STEP = sizeof(state) > 8 ? 8 : 16, STEPS = CHUNK_e / STEP }; /* registers */
    BATCH_OF_PARAMETERS;
    const i64 step = b.stride * TL_SIZE;
    i64 groups = (b.seqs + LANES - 1) / LANES, count = level_count(b.n, 1);
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 c = job / groups, s = (job - c * groups) * LANES + lane_index(), at = c * CHUNK_e;
        if (s >= b.seqs) continue;
        GLOBAL const u8 *x = b.x + (s * b.row_stride + at * b.stride) * TL_SIZE;
        state stack[12];
        int top = 0;
        for (int j = 0; j < STEPS; j++, at += STEP) {
            state v[STEP];
            elem e[STEP];
            if (ADDRESS(x) % TL_SIZE == 0) {
                UNROLL for (int k = 0; k < STEP; k++) e[k] = *(GLOBAL const elem *)(x + k * step);
            } else {
                /* unrolled: e stays in registers */
                UNROLL for (int k = 0; k < STEP; k++) e[k] = load_bytes(x + k * step);
            }
            UNROLL for (int k = 0; k < STEP; k++) v[k] = lift_e(e[k], at + k, b.p);
            x += STEP * step;
            UNROLL for (int k = 0; k < 4; k++) /* halving a bound instead is not unrolled, and v goes to local memory: 3
                                                  times slower */
                UNROLL for (int i = 0; i + (1 << k) < STEP; i += 2 << k) v[i] = TWIN(v[i], v[i + (1 << k)], 1 << k);
            for (int t = j, size = STEP; t & 1; t >>= 1, size *= 2) v[0] = TWIN(stack[--top], v[0], size);
            stack[top++] = v[0];
        }
        to[s * count + c] = stack[0];
    }
}
#endif

/* Level `level` from the one below it; nodes: all levels, level 1 first. */
KERNEL(up, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, GLOBAL state *nodes, i64 level, i64 jobs BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    BOX
    b.x = (GLOBAL const u8 *)(nodes + level_base(b, (int)level - 1));
    GLOBAL state *to = nodes + level_base(b, (int)level);
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        i64 s = sequence_of(b, (int)level, 0, job);
        i64 from = level_first(b, (int)level - 1, s), at = (job - level_first(b, (int)level, s)) * CHUNK_s;
        state v = chunk_node_s(b, from, at, level_size((int)level - 1), box);
        if (lane_index() == 0) to[job] = v;
    }
}

#line 1 "src/gpu/kernel/reduce.cl"
/* SPDX-License-Identifier: MIT
 * reduce: after the nodes of all levels (level.cl) one warp a sequence puts S(n) together: what is left over of each
 * level, the highest first. Short sequences: forest.cl. */

#if TL_IN_PLACE
KERNEL(finish_in_place, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, IN_PLACE_PARAMETERS, GLOBAL const state *nodes, i64 top,
    RESULTS_PARAMETERS BOX_PARAMETER)
#line 7 "src/gpu/kernel/reduce.cl"
{
    BATCH_OF_PARAMETERS;
    IN_PLACE_OF_PARAMETERS;
#else
KERNEL(finish, 32 * WARPS_IN_GROUP)(BATCH_PARAMETERS, GLOBAL const state *nodes, i64 top, RESULTS_PARAMETERS BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
#endif
    RESULTS_OF_PARAMETERS;
    BOX
    for (i64 s = warp_index(); s < b.seqs; s += warp_count()) {
        i64 n = length_of(b, s);
        maybe v = nothing(b.p);
        for (int level = (int)top; level >= 1; level--) {
            batch below = b;
            below.x = (GLOBAL const u8 *)(nodes + level_base(b, level));
            i64 at = level_count(n, level + 1) << STATES_LOG, size = level_size(level);
            v = append_s(v, at * size, below, level_first(b, level, s), at, level_count(n, level) - at, size, box);
        }
        i64 at = level_count(n, 1) << ELEMENTS_LOG;
        v = append_e(v, at, b, start_of(b, s), at, n - at, 1, box);
        if (lane_index() == 0) store_reduced(out, b, s, v, n);
    }
}

#define WIDE 1
#define WIDE_LOG 2
#define ROW_PACKS 2
#define ROWS_W 4

#undef ITEM
#undef N
#undef LANE_ITEMS
#undef ROWS
#undef LOG_ROWS
#define N(name) name##_w
#define LANE_ITEMS 32
#define ROWS 4
#define LOG_ROWS 2

#line 1 "src/gpu/kernel/chunk.cl"
/* SPDX-License-Identifier: MIT
 * One warp, one chunk of ROWS rows of 32 lanes of LANE_ITEMS items, next to each other. The text is used for elements
 * (N(x) = x_e, ITEM elem, 8 rows of 128), for states that are nodes of the level below (x_s, state, 2 rows), and its
 * first part, without ITEM, for the chunks of tile.cl. unit: the elements of an item. */
enum { N(ROW) = LANES * LANE_ITEMS, N(CHUNK) = ROWS * LANES * LANE_ITEMS };

/* The nodes of a full chunk's rows, from one a lane and row: in v[0] of the lanes l whose low bits, the first for the
 * highest, spell the row. Rows are folded by a transposing butterfly: at step s the lane whose bit s is 0 keeps row j
 * and gives row j + m away, its partner the reverse: ROWS rows cost ROWS - 1 + 5 - LOG_ROWS exchanges, not 5 ROWS. */
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
    UNROLL for (int s = LOG_ROWS; s < 5; s++) v[0] = meet(v[0], exchange(v[0], 1 << s, box), lane >> s & 1,
        unit * (LANE_ITEMS << s));
}

/* The node of a full chunk, in every lane, from what fold_across left. Bit s of the lane is bit LOG_ROWS - 1 - s of the
 * row it holds. */
fn state N(fold_lanes)(state v, amount unit, LOCAL state *box)
{
    UNROLL for (int s = LOG_ROWS - 1; s >= 0; s--) v = meet(v, exchange(v, 1 << s, box), lane_index() >> s & 1,
        unit * (N(ROW) << (LOG_ROWS - 1 - s)));
    return v;
}

#ifdef ITEM
/* v[r]: the node of the lane's four items of row r. */
fn void N(fold_quads)(state *v, ITEM e[ROWS][QUAD], batch b, i64 at, amount unit)
{
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        const i64 i = at + r * LANES * QUAD + lane_index() * QUAD;
        v[r] = TWIN(TWIN(N(lift)(e[r][0], i, b.p), N(lift)(e[r][1], i + 1, b.p), unit),
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

/* The node of a row from v, the lane's node of n elements; left: what the lane's neighbours at its bits hold, for
 * row_start. */
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

/* S at the lane's first item: the row's, of `before` elements, and the left neighbours at the lane's set bits, high to
 * low. n: elements of a lane. */
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

/* The rows' prefixes: rows[r] = S at row r, from the nodes of the rows before it, of n elements each. Calls with r = 0,
 * 1, 2, ... before: the elements of rows[0]. */
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

/* S at item `count` of the chunk at `at` (0 <= count < CHUNK), which `before` has come to with `done` elements; in
 * every lane. */
seldom_fn maybe N(append)(maybe before, amount done, batch b, i64 from, i64 at, i64 count, amount unit,
    LOCAL state *box)
{
    maybe rows[ROWS + 1], mine = before;
    state stack[LOG_ROWS + 1], left[5];
    ITEM e[ROWS][QUAD];
    const int lane = lane_index(), last = (int)count / (LANES * QUAD), rest = (int)count % (LANES * QUAD);
    if (SKIPS && count == 0) return before;
    N(load)(e, b, from, at, at + count);
    rows[0] = before;
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (SKIPS && (r > last || (r == last && rest == 0))) continue;
        i64 i = at + r * LANES * QUAD + lane * QUAD;
        amount row = done + unit * (r * N(ROW)), mine_done = row + unit * (lane * QUAD);
        state q0 = N(lift)(e[r][0], i, b.p), q1 = N(lift)(e[r][1], i + 1, b.p), q2 = N(lift)(e[r][2], i + 2, b.p);
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

#line 1 "src/gpu/kernel/once.cl"
/* SPDX-License-Identifier: MIT
 * One long sequence in one launch (CUDA), by the tree. The group that finishes last makes the nodes of 256 tiles, of
 * 256 of those, and the result. nodes: tiles, groups of 256, of those, then the chunks after the last tile and the rows
 * after the last chunk. ticket: 0 before and after. (A ticket for every 256 tiles costs a fence a tile, 1 us: 0.62 of
 * the ceiling instead of 0.95.) */
#if defined(TL_CUDA) && !STRIPED
/* ---- tiles: 8 warps of 1 << more chunks each ---- */
typedef char a_group_is_a_tile[WARPS_IN_GROUP == TILE_WARPS ? 1 : -1];

typedef struct {
    i64 tiles, from;
    int each, warp; /* chunks of a tile's warp; my warp */
} tiling;
/* The node of tile t, from those of its warps' `each` chunks of n elements. */
fn void store_tile(state mine, i64 t, int turn, tiling d, i64 n, GLOBAL state *nodes, LOCAL state *parts,
    LOCAL state *box)
{
    const int lane = lane_index();
    if (lane == 0) parts[turn + d.warp] = mine;
    BARRIER();
    if (d.warp) return;
    mine = parts[turn + (lane & (TILE_WARPS - 1))];
    UNROLL for (int m = 1; m < TILE_WARPS; m <<= 1) mine = meet(mine, exchange(mine, m, box), (lane & m) != 0,
        m * d.each * n);
    if (lane == 0) nodes[t] = mine;
}

#if WIDE
/* Chunks of 4 KiB, for elements of one or two bytes and for states of more than 8 bytes. A lane takes ROW_PACKS
 * packs of each of ROWS_W rows: as many bytes are on their way as for elements of 4 bytes, and large states cost fewer
 * exchanges. */
enum { PACKS_W = ROWS_W * ROW_PACKS, ITEMS_W = ROW_PACKS * PACK };

/* The node of a lane's packs of a row. */
fn state fold_packs(const bundle *e, i64 i, par p)
{
    state stack[6];
    int top = 0;
    UNROLL for (int k = 0; k < ITEMS_W; k++)
    {
        stack[top++] = lift_e(pack_element(e[k / PACK], k % PACK), i + k, p);
        UNROLL for (int n = 1; k & n; n <<= 1) top--, stack[top - 1] = TWIN(stack[top - 1], stack[top], n);
    }
    return stack[0];
}

/* fold_tiles (once.cl) of them; d.each is in chunks of 4 KiB. */
fn void fold_wide_tiles(batch b, tiling d, GLOBAL state *nodes, LOCAL state *parts, LOCAL state *box)
{
    const int lane = lane_index();
    /* in chunks; from a tile's last one to the next tile's first */
    i64 at = (group_index() * TILE_WARPS + d.warp) * d.each;
    const i64 jump = (group_count() * TILE_WARPS - 1) * d.each + 1;
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + d.from * TL_SIZE) + at * (CHUNK_w / PACK) + lane * ROW_PACKS;
    bundle e[PACKS_W];
    int turn = 0;
    if (group_index() < d.tiles) {
        UNROLL for (int k = 0; k < PACKS_W; k++) e[k] = x[k / ROW_PACKS * LANES * ROW_PACKS + k % ROW_PACKS];
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
                UNROLL for (int k = 0; k < ROW_PACKS; k++) sums = moments_pack(sums, e[r * ROW_PACKS + k]);
#else
                v[r] = fold_packs(e + r * ROW_PACKS, at * CHUNK_w + r * ROW_w + lane * ITEMS_W, b.p);
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
            if (c == 0 || lane == c) mine = v[0];
            at += step;
        }
        for (int m = 1; m < d.each; m <<= 1) mine = meet(mine, exchange(mine, m, box), (lane & m) != 0, m * CHUNK_w);
        store_tile(mine, t, turn, d, CHUNK_w, nodes, parts, box);
    }
}
#endif

/* ---- the launch ---- */

#if STATE_BYTES <= 16 && TL_SIZE < 8
#define REDUCE_BLOCKS 2
#else
#define REDUCE_BLOCKS 1
#endif

/* The group's tiles, t = its number, its number + groups of the launch, ... dense: full chunks can be loaded by quads;
 * then the next one is asked for before the exchanges of this one. */
fn void fold_tiles(batch b, tiling d, int dense, GLOBAL state *nodes, LOCAL state *parts, LOCAL state *box)
{
    const int lane = lane_index();
    const i64 jump = ((group_count() * TILE_WARPS - 1) * d.each + 1) * CHUNK_e; /* from a tile's last chunk to the next
                                                                                   tile's first */
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
                if (c + 1 < d.each || t + group_count() < d.tiles) load_dense(e, b, d.from + at + step);
                fold_across_e(v, 1, box);
            } else {
                fold_rows_e(v, b, d.from, at, 1, box);
            }
            v[0] = fold_lanes_e(v[0], 1, box);
            if (c == 0 || lane == c) mine = v[0];
            at += step;
        }
        for (int m = 1; m < d.each; m <<= 1) mine = meet(mine, exchange(mine, m, box), (lane & m) != 0, m * CHUNK_e);
        store_tile(mine, t, turn, d, CHUNK_e, nodes, parts, box);
    }
}

#if TL_IN_PLACE
KERNEL_BLOCKS(once_in_place, 32 * WARPS_IN_GROUP, REDUCE_BLOCKS)(BATCH_PARAMETERS, IN_PLACE_PARAMETERS, RESULTS_PARAMETERS,
    GLOBAL state *nodes, GLOBAL u32 *ticket, i64 more BOX_PARAMETER)
#line 144 "src/gpu/kernel/once.cl"
{
    BATCH_OF_PARAMETERS;
    IN_PLACE_OF_PARAMETERS;
#else
KERNEL_BLOCKS(once, 32 * WARPS_IN_GROUP, REDUCE_BLOCKS)(BATCH_PARAMETERS, RESULTS_PARAMETERS, GLOBAL state *nodes,
    GLOBAL u32 *ticket, i64 more BOX_PARAMETER)
#line 149 "src/gpu/kernel/once.cl"
{
    BATCH_OF_PARAMETERS;
#endif
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED u32 order;
    SHARED state parts[2 * TILE_WARPS];
    const int lane = lane_index(), warp = thread_index() / LANES, each = 1 << more,
        log = ELEMENTS_LOG + TILE_WARPS_LOG + (int)more;
    const i64 tiles = b.n >> log, groups = tiles >> STATES_LOG, over = groups >> STATES_LOG, from = start_of(b, 0);
    const i64 tile_size = (i64)1 << log, group_size = tile_size << STATES_LOG;
    const int chunks = (int)((b.n >> ELEMENTS_LOG) - (tiles << (log - ELEMENTS_LOG))), rows = (int)(b.n >> ROW_LOG & 7);
    GLOBAL state *rest = nodes + tiles + groups + over;
    batch level = b;
    tiling d;
    level.x = (GLOBAL const u8 *)nodes;
    d.tiles = tiles, d.from = from, d.each = each, d.warp = warp;
#if WIDE
    if (more >= WIDE_LOG && is_packed(b, from)) {
        tiling w = d;
        w.each >>= WIDE_LOG;
        fold_wide_tiles(b, w, nodes, parts, box);
    } else
#else
    if (sizeof(state) <= 8 && can_load_e(b, from)) /* larger states have no registers left for it */
        fold_tiles(b, d, 1, nodes, parts, box);
    else
#endif
        fold_tiles(b, d, 0, nodes, parts, box);
    if (group_index() == group_count() - 1) {
        for (int c = warp; c < chunks; c += TILE_WARPS) {
            state v = chunk_node_e(b, from, (tiles << log) + c * CHUNK_e, 1, box);
            if (lane == 0) rest[c] = v;
        }
        if (warp < rows) {
            state v = chunk_node_r(b, from, (b.n >> ELEMENTS_LOG << ELEMENTS_LOG) + warp * CHUNK_r, 1, box);
            if (lane == 0) rest[CHUNKS_MOST + warp] = v;
        }
    }
    __threadfence();
    BARRIER();
    if (thread_index() == 0) order = atomicAdd(ticket, 1u);
    BARRIER();
    if (order != group_count() - 1) return;
    __threadfence();
    if (thread_index() == 0) *ticket = 0;
    for (i64 g = warp; g < groups; g += TILE_WARPS) {
        state v = chunk_node_s(level, 0, g * CHUNK_s, tile_size, box);
        if (lane == 0) nodes[tiles + g] = v;
    }
    BARRIER();
    for (i64 g = warp; g < over; g += TILE_WARPS) {
        state v = chunk_node_s(level, tiles, g * CHUNK_s, group_size, box);
        if (lane == 0) nodes[tiles + groups + g] = v;
    }
    BARRIER();
    if (warp) return;
    state row = rest[CHUNKS_MOST + (lane & 7)];
    const i64 before_groups = over * CHUNK_s, before_tiles = groups * CHUNK_s, before_rest = b.n >> ROW_LOG << ROW_LOG;
    maybe v = append_s(nothing(b.p), 0, level, tiles + groups, 0, over, group_size << STATES_LOG, box);
    v = append_s(v, before_groups * group_size, level, tiles, before_groups, groups - before_groups, group_size, box);
    v = append_s(v, before_tiles * tile_size, level, 0, before_tiles, tiles - before_tiles, tile_size, box);
    v = append_s(v, tiles * tile_size, level, tiles + groups + over, 0, chunks, CHUNK_e, box);
    v = append_lanes(v, b.n >> ELEMENTS_LOG << ELEMENTS_LOG, row, CHUNK_r, rows, box);
    v = append_r(v, before_rest, b, from, before_rest, b.n & (CHUNK_r - 1), 1, box);
    if (lane == 0) store_reduced(out, b, 0, v, b.n);
}
#endif

/* The same for operators in stripes (stripes.cl): the group that finishes last joins what all have. ticket: 0 before
 * and after. */
#ifdef TL_CUDA
#if STRIPED
#define REDUCE_BLOCKS 3 /* the spans of 24 warps in flight; left alone, the compiler takes up to 174 registers */
/* The lane's pile of the spans of its warp: number k, k + the warps of the launch, ... of the packs from x on. A pack
 * of the next span is asked for as soon as that of this one is folded. first: the index of the first span. */
fn pile fold_spans(GLOBAL const bundle *x, i64 spans, i64 first, i64 k, par p)
{
    const i64 step = group_count() * WARPS_IN_GROUP;
    const int lane = lane_index();
    pile t = pile_none(p);
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
            t = pile_pack(t, e[r], i + (r * LANES + lane) * PACK, p);
            if (more) e[r] = x[r * LANES];
        }
        t = pile_span(t, i);
    }
    return t;
}

enum { AT_ONCE = 8 };
/* v, and elements i of the sequence: the warps' own from number `me` on, in steps of `all`. Of the first `count` of
 * them, those from `gap` on are `skip` further on. */
fn state fold_others(state v, batch b, i64 me, i64 all, i64 count, i64 gap, i64 skip)
{
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
/* v, whose index is that of a span's first element: the first element of the span, `at` elements from x on, that has
 * its key. */
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
            if (lift(pack_element(e, k), 0, none).m == v.m) found.i = v.i + (r * LANES + lane) * PACK + k;
        }
    }
    return join_lanes(found, LANES, box);
}
#endif

/* The states of a group's threads joined, in the lanes of its first warp. */
fn state join_group(state v, LOCAL state *parts, LOCAL state *box)
{
    v = join_lanes(v, LANES, box);
    if (lane_index() == 0) parts[thread_index() / LANES] = v;
    BARRIER();
    return join_lanes(parts[lane_index() & (WARPS_IN_GROUP - 1)], WARPS_IN_GROUP, box);
}

/* Spans of packs, shared by all warps; the elements before the first aligned one and after the last span, or those of a
 * view that is not side by side, by all threads. nodes: a state of each group. */
KERNEL_BLOCKS(once, 32 * WARPS_IN_GROUP, REDUCE_BLOCKS)(BATCH_PARAMETERS, RESULTS_PARAMETERS, GLOBAL state *nodes,
    GLOBAL u32 *ticket, i64 more BOX_PARAMETER)
#line 306 "src/gpu/kernel/once.cl"
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    SHARED u32 order;
    SHARED state parts[2][WARPS_IN_GROUP];
    b.x += start_of(b, 0) * TL_SIZE;
    const int me = thread_index(), warp = me / LANES;
    const i64 groups = group_count(), group = group_index(), threads = WARPS_IN_GROUP * LANES;
    const int near = b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0;
    const i64 head = (i64)((16 - ADDRESS(b.x) % 16) % 16 / TL_SIZE), spans = near ? (b.n - head) / SPAN : 0;
    GLOBAL const bundle *x = (GLOBAL const bundle *)(b.x + head * TL_SIZE);
    state v = pile_state(fold_spans(x, spans, b.p.origin + head, warp * groups + group, b.p));
    v = fold_others(v, b, group * threads + me, groups * threads, b.n - spans * SPAN, head, spans * SPAN);
    v = join_group(v, parts[0], box);
    if (me == 0) {
        nodes[group] = v;
        __threadfence();
        order = atomicAdd(ticket, 1u);
    }
    BARRIER();
    if (order != groups - 1) return;
    __threadfence();
    if (me == 0) *ticket = 0;
    v = none_of(b.p);
    for (i64 g = me; g < groups; g += threads) v = join(v, nodes[g]);
    v = join_group(v, parts[1], box);
    if (warp) return;
#if FINDS
    const i64 at = v.i - b.p.origin - head;
    if (spans && at >= 0 && at < spans * SPAN) v = find(v, x, at, box);
#endif
    maybe whole;
    whole.s = v, whole.have = 1;
    if (lane_index() == 0) store_reduced(out, b, 0, whole, b.n);
}
#endif
#endif

#line 1 "src/gpu/kernel/segments.cl"
/* SPDX-License-Identifier: MIT
 * Segments: what the host needs to know of offsets that are on the device. */

enum { FIRSTS_ITEMS = 8 };

/* Into `measured` (constants.h), which is zero: how many segments are long (`least` elements or more), are in the middle
 * (fewer, but a chunk or more), descend or begin below zero, are not as long as the first one; the long ones' nodes of
 * each level. ids: the long ones, in any order (their nodes lie in that order; no result depends on it), and from its
 * end backwards those in the middle. */
KERNEL(measure, MEASURE_THREADS)(GLOBAL const i64 *offsets, i64 rows, i64 least, GLOBAL i64 *ids, GLOBAL u32 *measured BOX_PARAMETER)
{
    SHARED u32 part[MEASURED_WORDS], base[2];
    const int t = thread_index();
    const i64 usual = offsets[1] - offsets[0], step = group_count() * MEASURE_THREADS;
    const i64 rounds = (rows + step - 1) / step;
    i64 r = group_index() * MEASURE_THREADS + t;
    for (i64 round = 0; round < rounds; round++, r += step) {
        if (t < MEASURED_WORDS) part[t] = 0;
        BARRIER();
        const i64 from = offsets[r < rows ? r : 0], to = offsets[r < rows ? r + 1 : 1], n = to - from;
        const int mine = r < rows, bad = from < 0 || to < from, is_long = mine && !bad && n >= least,
                  is_middle = mine && !bad && n >= CHUNK && n < least;
        u32 place = 0;
        if (mine && bad) ADD_LOCAL(&part[BAD], 1);
        if (mine && n != usual) ADD_LOCAL(&part[DIFFERENT], 1);
        if (is_long) {
            place = ADD_LOCAL(&part[LONGS], 1);
            for (int l = 1; l <= NODE_LEVELS && level_count(n, l); l++) ADD_LOCAL(&part[NODES + l - 1],
                (u32)level_count(n, l));
        }
        if (is_middle) place = ADD_LOCAL(&part[MIDDLES], 1);
        BARRIER();
        if (t == LONGS || t == MIDDLES)
            base[t == MIDDLES] = part[t] ? ADD_GLOBAL(measured + t, part[t]) : 0;
        else if (t < MEASURED_WORDS && part[t])
            ADD_GLOBAL(measured + t, part[t]);
        BARRIER();
        if (is_long) ids[base[0] + place] = r;
        if (is_middle) ids[rows - 1 - base[1] - place] = r;
        BARRIER();
    }
    if (group_index() == 0 && t == 0) {
        ((GLOBAL i64 *)measured)[FIRST_OFFSET] = offsets[0];
        ((GLOBAL i64 *)measured)[LAST_OFFSET] = offsets[rows];
    }
}

/* first[l][s]: nodes of level l before the long segment s. A group a level. */
KERNEL(firsts, MEASURE_THREADS)(GLOBAL const i64 *offsets, GLOBAL const i64 *ids, i64 longs, i64 levels, GLOBAL i64 *first BOX_PARAMETER)
{
    SHARED i64 sums[2 * MEASURE_THREADS];
    const int t = thread_index();
    for (i64 l = group_index(); l < levels; l += group_count()) {
        GLOBAL i64 *row = first + l * (longs + 1);
        i64 before = 0;
        for (i64 at = 0; at < longs; at += MEASURE_THREADS * FIRSTS_ITEMS) {
            i64 mine[FIRSTS_ITEMS], sum = 0;
            UNROLL for (int k = 0; k < FIRSTS_ITEMS; k++)
            {
                i64 s = at + t * FIRSTS_ITEMS + k, r = ids[s < longs ? s : 0], n = offsets[r + 1] - offsets[r];
                mine[k] = s < longs ? level_count(n, (int)l) : 0;
            }
            UNROLL for (int k = 0; k < FIRSTS_ITEMS; k++) sum += mine[k];
            int turn = 0;
            sums[t] = sum;
            BARRIER();
            for (int m = 1; m < MEASURE_THREADS; m <<= 1) { /* Hillis and Steele, between two halves of sums */
                i64 v = sums[turn + t] + (t >= m ? sums[turn + t - m] : 0);
                turn ^= MEASURE_THREADS;
                sums[turn + t] = v;
                BARRIER();
            }
            i64 here = before + sums[turn + t] - sum;
            UNROLL for (int k = 0; k < FIRSTS_ITEMS; k++)
            {
                i64 s = at + t * FIRSTS_ITEMS + k;
                if (s < longs) row[s] = here;
                here += mine[k];
            }
            before += sums[turn + MEASURE_THREADS - 1];
            BARRIER();
        }
        if (t == 0) row[longs] = before;
    }
}

#line 1 "src/gpu/kernel/forest.cl"
/* SPDX-License-Identifier: MIT
 * Short sequences, of fewer elements than a chunk: rows and segments of any mixture of lengths. A warp takes as many
 * neighbours as its room holds, a window of the batch, and folds all their trees at once:
 *
 *   elements   a a a a a a a a a b b c c c c c c c c c c c c c c c c d ...
 *   groups     [a 0..7         ]     [c 0..7         ][c 8..15       ]     8 neighbours, from a sequence's start
 *   nodes            a0                     c0              c1             numbered from left to right
 *
 * Each lane takes group after group: it finds whose it is by how many groups there are before a sequence, and folds its
 * 8 elements. 8 nodes of one sequence make one of the next level. There a lane looks at a bucket of 8 places: groups of
 * nodes are disjoint, so at most one begins in each bucket, and its sequence is the last one that begins in the bucket
 * or before it. (If another began later in the same bucket, the group would have to end before that.) At the end one
 * lane per sequence folds what is left over of each level, the highest first: S(n).
 *
 * Elements are copied to local memory 16 bytes at a time, past the registers, so that a processor has room for many
 * warps and some compute while others wait. The offsets of a warp's next job are on their way meanwhile (a job:
 * FOREST_SEQUENCES segments, or the rows of a window). Nothing is exchanged but through local memory, so every device
 * runs this text. */

enum { GROUP_LOG = 3, GROUP = 1 << GROUP_LOG, UNIT = 16 / TL_SIZE };

/* A warp's local memory and its share of the batch. */
typedef struct {
    LOCAL state *node, *upper; /* of groups of elements, and of groups of those */
    LOCAL elem *x;
    LOCAL i64 *offsets;          /* of the next job's segments */
    LOCAL u32 *begins;           /* of this job's */
    GLOBAL const u8 *low, *high; /* what is all elements between these may be read 16 bytes at a time; NULL: nothing is
                                    */
    i64 jobs, each, longest;
    i64 self, all_warps; /* this warp and how many there are, in the launch */
    int n, groups, part; /* of every sequence without offsets; part: 2^20 / groups, rounded up */
    int listed;
} forest;

/* Sequences first .. first + count - 1 of the batch; count 0: there are no more. */
typedef struct {
    i64 job, first, base;         /* base: where its first element lies, in elements */
    int at, count, all;           /* at: the number of `first` among the job's; all: the job's */
    int elements, off;            /* staged; where they begin in the room */
    LOCAL u32 *begin;             /* of the first one */
} window;

/* Where a segment begins, seen from its job: elements before it in the low bits, groups in the high ones. One that is
 * another launch's counts as a room and one more, so that no window has it together with others. */
enum { PLACE_BITS = 18, LONG_PLACES = FOREST_ELEMENTS + 1 };
typedef char the_places_of_a_job_fit[FOREST_SEQUENCES * LONG_PLACES < 1 << PLACE_BITS ? 1 : -1];
fn int begin_place(u32 begin) { return (int)(begin & ((1u << PLACE_BITS) - 1)); }
fn int begin_groups(u32 begin) { return (int)(begin >> PLACE_BITS); }

/* A sequence of the window: its length, where it begins in the room, groups of the window before it. */
typedef struct {
    int n, place, groups;
} sequence;
fn sequence sequence_in(const forest *f, const window *w, int j)
{
    sequence s;
    if (f->listed) {
        const u32 here = w->begin[j], first = w->begin[0];
        s.n = begin_place(w->begin[j + 1]) - begin_place(here);
        s.place = w->off + begin_place(here) - begin_place(first);
        s.groups = begin_groups(here) - begin_groups(first);
    } else {
        s.n = f->n, s.place = w->off + j * f->n, s.groups = j * f->groups;
    }
    return s;
}
fn int all_groups(const forest *f, const window *w)
{
    return f->listed ? begin_groups(w->begin[w->count]) - begin_groups(w->begin[0]) : w->count * f->groups;
}

/* The last sequence that has fewer than `end` groups before it. */
fn int sequence_before(const forest *f, const window *w, int end)
{
    if (!f->listed) {
        const int j = (int)((u32)(end - 1) * (u32)f->part >> 20); /* exact, since (end - 1) * groups < 2^20 */
        return j < w->count ? j : w->count - 1;
    }
    const u32 limit = (u32)(end + begin_groups(w->begin[0])) << PLACE_BITS;
    int j = 0;
    UNROLL for (int step = FOREST_SEQUENCES / 2; step > 0; step >>= 1)
    {
        const int there = j + step;
        if (there < w->count && w->begin[there < w->count ? there : 0] < limit) j = there;
    }
    return j;
}

/* ---- trees ---- */

/* Eight neighbours from place p of the room. Where an element has a bank of its own, 16 bytes at a time, and what was
 * asked for chosen from them: lanes are 8 elements apart, and one at a time each bank would serve 8 of them. */
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
#else
    UNROLL for (int k = 0; k < GROUP; k++) e[k] = x[p + k];
#endif
}

/* The node of 2, 4, 8 items in a row from number k on, of n elements each. */
#define NODE_2(item, k, n) TWIN(item(k), item((k) + 1), n)
#define NODE_4(item, k, n) TWIN(NODE_2(item, k, n), NODE_2(item, (k) + 2, n), 2 * (n))
#define NODE_8(item, k, n) TWIN(NODE_4(item, k, n), NODE_4(item, (k) + 4, n), 4 * (n))

/* v, which has come to `done` elements, after `count` < 8 items of n elements each, item(0) .. */
#define APPEND(v, done, item, count, n)                                                                                \
    {                                                                                                                  \
        int at_ = 0;                                                                                                   \
        if ((count)&4) {                                                                                               \
            v = then(v, NODE_4(item, 0, n), done, 4 * (n));                                                            \
            at_ = 4;                                                                                                   \
        }                                                                                                              \
        if ((count)&2) {                                                                                               \
            v = then(v, NODE_2(item, at_, n), (done) + at_ * (n), 2 * (n));                                            \
            at_ += 2;                                                                                                  \
        }                                                                                                              \
        if ((count)&1) v = then(v, item(at_), (done) + at_ * (n), n);                                                  \
    }

/* The nodes of all groups, of both levels. */
fn void forest_up(const forest *f, const window *w, par p)
{
    const int all = all_groups(f, w);
    for (int g = lane_index(); g < all; g += LANES) {
        elem e[GROUP];
        const sequence s = sequence_in(f, w, sequence_before(f, w, g + 1));
        const int i = (g - s.groups) << GROUP_LOG;
        load_group(e, f->x, s.place + i);
#undef ITEM /* of chunk.cl */
#define ITEM(k) lift_e(e[k], i + (k), p)
        f->node[g] = NODE_8(ITEM, 0, 1);
#undef ITEM
    }
    WARP_BARRIER();
    if (!SKIPS || f->listed || f->groups >= GROUP) { /* no barrier in a branch for PoCL */
        for (int q = lane_index(); q << GROUP_LOG < all; q += LANES) {
            const sequence s = sequence_in(f, w, sequence_before(f, w, (q + 1) << GROUP_LOG));
            const int at = s.groups + ((q - (s.groups >> GROUP_LOG)) << GROUP_LOG);
#define ITEM(k) f->node[at + (k)]
            if (at >= s.groups && at + GROUP <= s.groups + (s.n >> GROUP_LOG)) f->upper[q] = NODE_8(ITEM, 0, GROUP);
#undef ITEM
        }
        WARP_BARRIER();
    }
}

/* S at the first element of a sequence's group number `groups`, from v, which is S at its first one. */
fn maybe forest_start(const forest *f, par p, sequence s, maybe v, int groups)
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

/* S(n) of a sequence. */
fn maybe forest_fold(const forest *f, const window *w, par p, sequence s)
{
    const int groups = s.n >> GROUP_LOG, first = groups << GROUP_LOG, left = s.n & (GROUP - 1), x = s.place + first;
    maybe v = forest_start(f, p, s, nothing(p), groups);
#define ITEM(k) lift_e(f->x[x + (k)], first + (k), p)
    if (left) APPEND(v, p.origin + first, ITEM, left, 1)
#undef ITEM
    return v;
}

/* ---- what comes next ---- */

/* The elements of a window on their way to the room. */
fn void stage_elements(const forest *f, window *w, batch b)
{
    const int lane = lane_index();
    LOCAL elem *x = f->x;
    w->off = 0;
#ifdef COPY_UNIT
    if (f->low) {
        GLOBAL const u8 *from = b.x + w->base * TL_SIZE;
        w->off = (int)(ADDRESS(from) / TL_SIZE) & (UNIT - 1);
        from -= w->off * TL_SIZE;
        const int units = (w->off + w->elements + UNIT - 1) / UNIT;
        if (from >= f->low && from + units * 16 <= f->high) {
            for (int u = lane; u < units; u += LANES) COPY_UNIT(x + u * UNIT, from + u * 16);
        } else { /* the batch begins or ends in it */
            for (int e = lane; e < units * UNIT; e += LANES) {
                GLOBAL const u8 *at = from + e * TL_SIZE;
                if (at >= f->low && at + TL_SIZE <= f->high) x[e] = *(GLOBAL const elem *)at;
            }
        }
        return;
    }
#endif
    /* along the sequences, or across them where that is how memory lies; segments are one row of the window */
    const int across = !f->listed && b.row_stride * b.row_stride < b.stride * b.stride;
    const int by = f->listed ? FOREST_ELEMENTS : across ? w->count : f->n;
    const i64 first = f->listed ? w->base * b.stride : w->first * b.row_stride;
    for (int e = lane; e < w->elements; e += LANES) {
        const int u = f->listed ? 0 : (int)((u32)e / (u32)by), v = e - u * by, j = across ? v : u, i = across ? u : v;
        x[j * f->n + i] = load_element(b.x + (first + j * b.row_stride + i * b.stride) * TL_SIZE);
    }
}

/* Sequences of a job; 0 if there is no such job. */
fn int all_of(const forest *f, batch b, i64 job)
{
    const i64 left = b.seqs - job * f->each;
    return job >= f->jobs ? 0 : left < f->each ? (int)left : (int)f->each;
}

/* The offsets of a job on their way to local memory. */
fn void stage_offsets(const forest *f, batch b, i64 job)
{
    const int all = all_of(f, b, job);
    const i64 from = job * f->each;
    for (int j = lane_index(); j <= all && all; j += LANES) COPY_WORD(f->offsets + j, b.offsets + from + j);
}

/* Where a job's segments begin, from their offsets. */
fn void find_begins(const forest *f, const window *w)
{
    enum { EACH = FOREST_SEQUENCES / LANES };
    const int lane = lane_index();
    u32 mine[EACH], sum = 0;
    UNROLL for (int k = 0; k < EACH; k++)
    {
        const int j = lane * EACH + k;
        const i64 n = f->offsets[j < w->all ? j + 1 : 0] - f->offsets[j < w->all ? j : 0];
        mine[k] = sum;
        sum += n <= f->longest ? ((u32)n >> GROUP_LOG) << PLACE_BITS | (u32)n : LONG_PLACES;
    }
    u32 to = sum; /* of the lanes up to this one */
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
    if (lane == LANES - 1) w->begin[FOREST_SEQUENCES] = to;
    WARP_BARRIER();
}

/* The window after w: of the same job, or of the warp's next one. */
fn window window_after(const forest *f, window w, batch b)
{
    const int was_long = f->listed && w.count && !w.elements, entered = w.at + w.count >= w.all;
    w.job += entered ? f->all_warps : 0;
    w.at = entered ? 0 : w.at + w.count;
    w.first = entered ? w.job * f->each : w.first + w.count;
    w.base = entered ? w.job * f->each * f->n : w.base + w.elements;
    w.all = all_of(f, b, w.job);
    if (f->listed) {
#if SKIPS
        if (entered && w.all) {
            w.begin = f->begins;
            w.base = f->offsets[0];
            find_begins(f, &w);
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
    if (f->listed) {
        const int end = begin_place(w.begin[0]) + FOREST_ELEMENTS;
        int low = 0;
        UNROLL for (int step = FOREST_SEQUENCES; step > 0; step >>= 1)
        {
            const int there = low + step;
            if (there <= most && begin_place(w.begin[there <= most ? there : 0]) <= end) low = there;
        }
        w.elements = most ? begin_place(w.begin[low]) - begin_place(w.begin[0]) : 0;
        w.count = low || !most ? low : 1;
    }
    return w;
}

/* What is read 16 bytes at a time. */
fn void find_range(forest *f, batch b)
{
    f->low = f->high = 0;
#ifdef COPY_UNIT
    const i64 first = f->listed ? b.offsets[0] : 0, end = f->listed ? b.offsets[b.seqs] : b.seqs * b.n;
    if (b.stride == 1 && (f->listed || b.row_stride == b.n || b.seqs == 1) && ADDRESS(b.x) % TL_SIZE == 0)
        f->low = b.x + first * TL_SIZE, f->high = b.x + end * TL_SIZE;
#endif
}

/* A warp's room, and its first window. */
fn forest forest_of(batch b, i64 longest, i64 each, i64 jobs, int warps, LOCAL u8 *room, const int listed)
{
    forest f;
    f.self = group_index() * warps + thread_index() / LANES;
    f.all_warps = group_count() * warps;
    f.x = (LOCAL elem *)room;
    f.node = (LOCAL state *)(room + FOREST_NODES_AT(TL_SIZE));
    f.upper = f.node + FOREST_NODES;
    f.offsets = (LOCAL i64 *)(room + FOREST_OFFSETS_AT(TL_SIZE, sizeof(state)));
    f.begins = (LOCAL u32 *)(room + FOREST_BEGIN_AT(TL_SIZE, sizeof(state)));
    f.jobs = jobs, f.each = each, f.longest = longest;
    f.listed = listed;
    f.n = listed ? 0 : (int)b.n;
    f.groups = f.n >> GROUP_LOG;
    f.part = f.groups ? ((1 << 20) + f.groups - 1) / f.groups : 0;
    find_range(&f, b);
    return f;
}
fn window first_window(const forest *f, batch b)
{
    window w;
    w.job = f->self - f->all_warps, w.first = w.base = 0;
    w.at = w.count = w.all = w.elements = w.off = 0;
    w.begin = f->begins;
    if (f->listed) stage_offsets(f, b, f->self);
    COPY_WAIT();
    WARP_BARRIER();
    return window_after(f, w, b);
}

#define FOREST_PARAMETERS BATCH_PARAMETERS, RESULTS_PARAMETERS, i64 longest, i64 each, i64 jobs, i64 warps
/* Groups of a processor, for the registers. */
#define FOREST_BLOCKS      (TL_SIZE > 4 || sizeof(state) > 8 ? 2 : 4)
#define FOREST_SCAN_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 1 : 3)

#line 1 "src/gpu/kernel/forest_reduce.cl"
/* SPDX-License-Identifier: MIT
 * reduce of short sequences (forest.cl). */

fn void forest_reduce(batch b, results out, i64 longest, i64 each, i64 jobs, int warps, LOCAL u8 *room,
                      const int listed)
{
    room += thread_index() / LANES * FOREST_BYTES(TL_SIZE, sizeof(state), listed);
    if (SKIPS && thread_index() / LANES >= warps) return;
    const forest f = forest_of(b, longest, each, jobs, warps, room, listed);
    window w = first_window(&f, b);
    while (w.count) {
        stage_elements(&f, &w, b);
        COPY_WAIT();
        WARP_BARRIER();
        forest_up(&f, &w, b.p);
        const i64 step = out.row_stride * (i64)(OP_LANES * sizeof(result));
        GLOBAL u8 *to = out.x + (w.first + lane_index()) * step;
        for (int j = lane_index(); j < w.count; j += LANES, to += LANES * step) {
            const sequence s = sequence_in(&f, &w, j);
            if (listed && s.n > longest) continue;
            const maybe v = forest_fold(&f, &w, b.p, s);
            if (b.flags & STATES)
                pack(out.x + (w.first + j) * PACKED, v.s);
            else
                store_maybe(to, v, s.n, 0, b.p);
        }
        WARP_BARRIER();
        w = window_after(&f, w, b);
    }
}

KERNEL_BLOCKS(reduce_rows, 32 * WARPS_IN_GROUP, FOREST_BLOCKS)(FOREST_PARAMETERS ROOM_PARAMETER BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    forest_reduce(b, out, longest, each, jobs, (int)warps, ROOM_OF_PARAMETER, 0);
}
KERNEL_BLOCKS(reduce_segments, 32 * WARPS_IN_GROUP, FOREST_BLOCKS)(FOREST_PARAMETERS ROOM_PARAMETER BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    forest_reduce(b, out, longest, each, jobs, (int)warps, ROOM_OF_PARAMETER, 1);
}

#line 1 "src/gpu/kernel/middle_reduce.cl"
/* SPDX-License-Identifier: MIT
 * reduce of segments in the middle: one warp walks down each, chunk after chunk, and keeps the node of chunk c in lane c.
 * No node goes to memory, and nobody looks up whose a chunk is. What is left is up to 7 rows and a part of one. */

/* The lane's elements of the rows that are full, and of the row behind them; zeros where there is none. */
fn void load_rest(elem e[ROWS_E][QUAD], elem *part, batch b, i64 first, int left)
{
    const int rows = left >> ROW_LOG, at = lane_index() * QUAD, part_at = rows * ROW_e + at;
    GLOBAL const u8 *from = b.x + first * TL_SIZE;
    UNROLL for (int r = 0; r < ROWS_E; r++)
    {
        UNROLL for (int k = 0; k < QUAD; k++) e[r][k] = NO_ELEMENT;
    }
    UNROLL for (int k = 0; k < QUAD; k++) part[k] = NO_ELEMENT;
    if (b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0) {
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

/* S after the `rest` < 128 elements of a row, a quad of which each lane has; i: number of the row's first one. */
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

#define MIDDLE_PARAMETERS BATCH_PARAMETERS, RESULTS_PARAMETERS, GLOBAL const i64 *list, i64 last, i64 end, i64 jobs
#define MIDDLE_BLOCKS (TL_SIZE > 4 || sizeof(state) > 8 ? 1 : 3)
KERNEL_BLOCKS(reduce_middles, 32 * WARPS_IN_GROUP, MIDDLE_BLOCKS)(MIDDLE_PARAMETERS BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    BOX
    const int lane = lane_index();
    for (i64 job = warp_index(); job < jobs; job += warp_count()) {
        const i64 s = last < 0 ? job : list[last - job], all = length_of(b, s), n = all < end ? all : 0;
        if (SKIPS && all >= end) continue;
        const i64 from = start_of(b, s);
        const int chunks = (int)(n >> ELEMENTS_LOG), left = (int)n & (CHUNK - 1), rows = left >> ROW_LOG;
        state mine = nothing(b.p).s, v[ROWS_E];
        ROLLED for (int c = 0; c < chunks; c++)
        {
            const state node = node_of_chunk(b, from, (i64)c * CHUNK, box);
            mine = choose(lane == c, node, mine);
        }
        const i64 at = (i64)chunks * CHUNK;
        elem e[ROWS_E][QUAD], part[QUAD];
        load_rest(e, part, b, from + at * b.stride, left);
        fold_quads_e(v, e, b, at, 1);
        fold_across_e(v, 1, box);
        const state row = from_lane(v[0], (lane & 1) << 2 | (lane & 2) | (lane >> 2 & 1), box); /* of row `lane` */
        maybe whole = append_lanes(nothing(b.p), 0, mine, CHUNK, chunks, box);
        whole = append_lanes(whole, at, row, ROW_e, rows, box);
        whole = append_part(whole, part, at + rows * ROW_e, left & (ROW_e - 1), b.p, box);
        if (lane == 0 && all < end) store_reduced(out, b, s, whole, all);
    }
}
