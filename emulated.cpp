#define TL_ONE_KERNEL 1
#define TL_PICK_window_flat 0, 1

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
#define TL_SIZE 4
#define TL_KIND 3
#define TL_FORMAT 0
#define TL_REAL_FLOAT 4
#define REAL_T f32
#define STATE_BYTES 16
#define TL_OUT_SIZE 8
#define TL_OUT_FLOAT 0
#define OUT_T i64
#define ELEM_T f32
#define ORD_T i32
#define ROOM_LOG 10
#define WHOLE_LOG 11
#define ONCE_BLOCKS 1
#define FEW_BLOCKS 2
#define SCAN_LINES 1
#define RUNS 1

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

#define is_present(x, p) is_number(x) /* the processors take marked elements */

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

#line 1 "src/op/argmax.h"
/* SPDX-License-Identifier: MIT
 * argmax: index of the first maximum, counted from the first element of the sequence (or window); the first NaN if
 * there is one. Ties go to the left operand, so combine is associative and not commutative. */
#define OP_LANE IDX
#define OP_WIDEN HIGH
#define OP_NAN_CORE argmax
#define OP_NAN_WIDEN LOW
#define OP_ABSENT ord_bottom
#define OP_EXACT 1
#define OP_EXTREME 1
#define OP_STATE(F) F(ord, m) F(idx, i)
typedef struct { OP_STATE(FIELD) } state;
fn state lift(elem x, idx i, par p) { state r; r.m = sel(is_nan(x), ord_top, to_ord(x)); r.i = i; return r; }
fn state combine(state a, state b)
{
    state r;
    r.m = sel(b.m > a.m, b.m, a.m);
    r.i = sel_idx(b.m > a.m, b.i, a.i);
    return r;
}
fn result lower(state a, real n, idx first, par p) { return a.i - first; }
fn result empty(par p) { return idx_num(-1); }

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
enum { LONGS = 0, BAD = 1, DIFFERENT = 2, NODES = 3, MEASURED_WORDS = NODES + NODE_LEVELS };
enum { FIRST_OFFSET = (MEASURED_WORDS + 1) / 2, LAST_OFFSET, MEASURED_LONG_WORDS };

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
} batch;

#define BATCH_PARAMETERS GLOBAL const u8 *in_data, i64 in_byte, i64 in_row_stride, i64 in_stride, i64 in_n, i64 in_seqs, \
    i64 in_flags, GLOBAL const i64 *in_offsets, GLOBAL const i64 *in_ids, GLOBAL const i64 *in_first, f64 parameter, \
    i64 origin
#line 18 "src/gpu/kernel/batch.cl"
#define BATCH_OF_PARAMETERS                                                                                            \
    batch b;                                                                                                           \
    b.x = in_data + in_byte, b.row_stride = in_row_stride, b.stride = in_stride, b.n = in_n, b.seqs = in_seqs,         \
    b.flags = in_flags, b.offsets = in_offsets, b.ids = in_ids, b.first = in_first, b.p.value = parameter,             \
    b.p.origin = origin

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
#if TL_SIZE == 1
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

fn int can_load_e(batch b, i64 first) { return b.stride == 1 && ADDRESS(b.x + first * TL_SIZE) % QUAD_ALIGN == 0; }
fn int can_load_s(batch b, i64 first) { return 1; }
/* Side by side, but not aligned as quads: four loads, of which three find their line in the first cache. */
fn int near_load_e(batch b, i64 first) { return SKIPS && b.stride == 1 && ADDRESS(b.x) % TL_SIZE == 0; }
#define near_load_s(b, first) 0
#define near_load_h near_load_e
#define near_load_d near_load_e
#define near_load_r near_load_e
fn void put_quad(elem *e, quad q) { e[0] = q.x, e[1] = q.y, e[2] = q.z, e[3] = q.w; }
fn void get_states(state *v, GLOBAL const state *x, i64 i, i64 limit)
{
    UNROLL for (int k = 0; k < QUAD; k++) v[k] = x[i + k < limit ? i + k : limit - 1];
}
#define STATES_OF(b) ((GLOBAL const state *)(b).x + start)
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
          put_quad(e[r], load_some(b, start, i, limit)), 0)
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
    load_some(b, start, i, limit)), 0)
LOAD_ROWS(load_d, elem, 2, put_quad(e[r], ((GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE))[r * LANES]),
          put_quad(e[r], load_some(b, start, i, limit)), 0)
LOAD_ROWS(load_h, elem, 4, put_quad(e[r], ((GLOBAL const quad *)(b.x + (start + mine) * TL_SIZE))[r * LANES]),
          put_quad(e[r], load_some(b, start, i, limit)), 0)
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

#line 1 "src/gpu/kernel/window_place.cl"
/* SPDX-License-Identifier: MIT
 * Where windows lie. The sequences of a batch are numbered end to end, so that tiles hold as many of them as they meet:
 * element i of row r has the flat number r * n + i, an element of a segment its place behind the first offset. A node
 * that reaches over the border between two sequences means nothing, and no window asks for it. Borders are looked up
 * where a window is cut off by one: of rows by a division, of segments by a bit for each element of the tile. */


#define WINDOW_PARAMETERS i64 before, i64 after, i64 valid, i64 least
#define TILES_PARAMETERS  i64 count, i64 jobs, i64 each, i64 edges

/* Items of a tile of window_whole, of window; of the larger one. */
enum { WHOLE = 1 << WHOLE_LOG, ROOM = 1 << ROOM_LOG, PLACES = WHOLE > ROOM ? WHOLE : ROOM };
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
    p->dense_items = p->beside && b.stride == 1 && ADDRESS(p->x) % TL_SIZE == 0 && item >= 0 && item + room <= all;
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

/* Y_0: items, lifted; in quads, or one after the other. Those that are no elements of the batch are in no result. */
fn void load_items(LOCAL state *z, int quads, LOCAL const stretch *p, batch b, windows w)
{
    const i64 item = p->lo + w.shift;
    for (int i = p->before + thread_index(); i < p->beyond; i += WINDOW_THREADS)
        z[quads ? place_of(i) : i] = lift(
            load_element(p->beside ? p->x + i * b.stride * TL_SIZE : element_of(b, item + i)), item + i, b.p);
}
fn GLOBAL u8 *result_at(LOCAL const stretch *p, batch b, results out, windows w, int q)
{
    if (p->out_beside) return p->out + q * out.stride * RESULT_BYTES;
    return result_of(out, b, p->lo + q + (w.valid ? 0 : w.before));
}

/* Of each tile of segments: its mark. */
KERNEL(tile_firsts, WINDOW_THREADS)(BATCH_PARAMETERS, i64 at, i64 each, i64 jobs, GLOBAL i64 *first BOX_PARAMETER)
{
    BATCH_OF_PARAMETERS;
    for (i64 job = group_index() * WINDOW_THREADS + thread_index(); job < jobs; job += group_count() * WINDOW_THREADS) {
        const i64 k = offset_after(b, at + job * each);
        first[2 * job] = k, first[2 * job + 1] = b.offsets[k <= b.seqs ? k : b.seqs] - b.offsets[0];
    }
}

#line 1 "src/gpu/kernel/window.cl"
/* SPDX-License-Identifier: MIT
 * window: result j folds elements start .. start + length - 1, numbered from start. Doubling: Y_k[i] is the node of the
 * 2^k items from i on, Y_(k+1)[i] = C(Y_k[i], Y_k[i + 2^k]), and the window folds Y at the set bits of its length, high
 * to low:
 *
 *   length 13:  Y_3[start]  Y_2[start + 8]  Y_0[start + 12]        in general Y_k[start + (higher bits of the length)]
 *
 * That covers windows cut off by an edge too: they only have another length. Nothing is ever subtracted.
 *   window_whole    (window_whole.cl) levels in registers and local memory, where every window has its whole length
 *   window          all levels in local memory, for windows of at most ROOM / 2 and any edge
 *   window_columns  (window_columns.cl) of columns, by lanes
 *   window_part, window_rows          (window_long.cl, a program of its own) longer ones of their whole length
 *   window_tall                       (window_columns.cl, in that program) of columns, by tiles
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
#line 117 "src/gpu/kernel/window.cl"
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
#line 137 "src/gpu/kernel/window.cl"
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

#line 1 "src/gpu/kernel/window_whole.cl"
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
/* Of a tile that has TILE_ROWS rows (window_long.cl, window_columns.cl), in a row: quads, and log2 of the items. */
enum { COLUMN_QUADS = MINE, FIRST_LEVEL = WHOLE_LOG - TILE_ROWS_LOG };

#define FOUR_LOW_BIT(bytes) ((bytes) & -(bytes))
#define FOUR_ALIGN (FOUR_LOW_BIT(4 * sizeof(state)) > 16 ? 16 : FOUR_LOW_BIT(4 * sizeof(state)))
typedef struct ALIGNED(FOUR_ALIGN) {
    state s[QUAD];
} four;

/* Quad q of an array in local memory: in pieces of 16 bytes where its states lie in another order (window_place.cl). */
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
        GLOBAL const elem *x = (GLOBAL const elem *)p->x + me;
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++) e[k] = x[k * WINDOW_THREADS];
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++) z[k * WINDOW_THREADS + element_place(me)] = e[k];
    } else {
        for (int i = p->before + me; i < p->beyond; i += WINDOW_THREADS)
            z[element_place(i)] =
                load_element(p->beside ? p->x + i * b.stride * TL_SIZE : element_of(b, p->lo + w.shift + i));
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
        GLOBAL const elem *x = (GLOBAL const elem *)p->x + me;
        const i64 item = p->lo + w.shift + me;
        UNROLL for (int k = 0; k < WHOLE / WINDOW_THREADS; k++) e[k] = x[k * WINDOW_THREADS];
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
fn void store_items(LOCAL const stretch *p, LOCAL const borders *d, batch b, results out, windows w,
    LOCAL const state *v)
{
    const i64 length = length_in(w);
    for (int i = thread_index(); i < p->results; i += WINDOW_THREADS) {
        const int whole = is_whole(p, d, b, w, i);
        maybe m;
        m.s = v[place_of(i)];
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
 * level k have 2^(k + more) elements: more is 0 but for tiles of rows (window_long.cl, window_columns.cl). Levels that
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
    int what;            /* PART_RESULTS; of a longer window (window_long.cl) one of the others */
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
        if (make.what != PART_LEVEL && !quads) store_items(p, &cuts[turn], b, out, of, (LOCAL const state *)z);
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

#line 1 "src/gpu/kernel/window_columns.cl"
/* SPDX-License-Identifier: MIT
 * Windows of sequences that lie across (columns). Whole ones go by tiles (window_tall; of more than half a tile by
 * groups of levels as flat ones do, window_long.cl), others by a lane for each column (window_columns). */

/* ---- tiles (of window_long's program) ---- */

#ifdef TL_LONG

/* Tiles of TILE_ROWS elements of some columns, as window_rows has them: a quad is an element each of four columns, and
 * a distance of r elements one of r << FIRST_LEVEL items. So a level is a store and a load of a quad, where a lane that
 * walks has eight loads, eight stores and the rings' places. Elements that the columns do not have are others of
 * theirs, and in no result. */
/* A tile, and a thread's columns of it. */
typedef struct {
    i64 first;       /* the element that the window of row 0 begins at */
    int low, high;   /* rows whose windows the columns have: not below low, below high */
    int results;     /* rows that have results */
    int columns;     /* how many of the quad's there are */
    i64 side, down;  /* bytes to the next result */
} tall;
fn int within(i64 i, i64 low, i64 high) { return (int)(i < low ? low : i > high ? high : i); }

/* The results of row i, the first one at `to`. */
fn void put_tall(const tall *t, GLOBAL u8 *to, int i, int dense, const four *v, i64 w, int enough, par p)
{
    const int have = i >= t->low && i < t->high && enough;
#if OP_LANES == 1
    if (dense) {
        result_quad q;
        q.x = lower(v->s[0], (real)w, t->first + i, p), q.y = lower(v->s[1], (real)w, t->first + i, p);
        q.z = lower(v->s[2], (real)w, t->first + i, p), q.w = lower(v->s[3], (real)w, t->first + i, p);
        if (!have) q.x = q.y = q.z = q.w = empty(p);
        *(GLOBAL result_quad *)to = q;
        return;
    }
#endif
    UNROLL for (int c = 0; c < QUAD; c++)
    {
        maybe m;
        m.s = v->s[c], m.have = have;
        if (c < t->columns) store_maybe(to + c * t->side, m, w, t->first + i, p);
    }
}
/* Windows of every column, a tile's results being `each` rows. States lie in rows of whole tiles' columns. */
fn void tall_windows(LOCAL four *z, batch b, results out, windows of, i64 jobs, i64 each, LEVELS_PARAMETERS, part make)
{
    enum { COLUMNS = 1 << FIRST_LEVEL, STEP = WINDOW_THREADS / COLUMN_QUADS }; /* STEP: rows between a thread's quads */
    const int top = (int)top_level + FIRST_LEVEL, kept = (int)kept_levels, row = thread_index() / COLUMN_QUADS;
    const int width = (int)of.width << FIRST_LEVEL, column = thread_index() % COLUMN_QUADS;
    const i64 groups = (b.seqs + COLUMNS - 1) / COLUMNS, w = length_in(of), back = of.valid ? 0 : of.before;
    const i64 side = b.row_stride * TL_SIZE, down = b.stride * TL_SIZE;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 chunk = quotient(job, groups), r0 = chunk * each, group = job - chunk * groups;
        const i64 s = group * COLUMNS + column * QUAD, state0 = ((r0 + row) * groups + group) * COLUMN_QUADS + column;
        tall t;
        t.columns = within(b.seqs - s, 0, QUAD), t.first = of.at + r0;
        t.low = within(-t.first, 0, TILE_ROWS), t.high = within(b.n - w + 1 - t.first, 0, TILE_ROWS);
        t.results = within(of.count - r0, 0, each);
        t.side = out.row_stride * RESULT_BYTES, t.down = out.stride * RESULT_BYTES;
        const i64 item = t.first + of.shift; /* of row 0 */
        four y[MINE];
        if (!SKIPS || make.what != PART_RESULTS_ALONE) {
            GLOBAL const u8 *const x = b.x + (t.columns ? s : b.seqs - 1) * side + (item + row) * down;
            quad e[MINE];
            if (t.columns == QUAD && side == TL_SIZE && ADDRESS(x) % QUAD_ALIGN == 0 && down % (i64)QUAD_ALIGN == 0 &&
                item >= 0 && item + TILE_ROWS <= b.n) {
                UNROLL for (int m = 0; m < MINE; m++) e[m] = *(GLOBAL const quad *)(x + m * STEP * down);
            } else {
                UNROLL for (int m = 0; m < MINE; m++)
                {
                    const i64 at = item + row + m * STEP, i = at < 0 ? 0 : at < b.n ? at : b.n - 1;
                    e[m] = gather(x + (i - at + m * STEP) * down, side, 0, t.columns ? t.columns : 1);
                }
            }
            UNROLL for (int m = 0; m < MINE; m++)
            {
                elem each_[QUAD];
                put_quad(each_, e[m]);
                UNROLL for (int c = 0; c < QUAD; c++) y[m].s[c] = lift(each_[c], item + row + m * STEP, b.p);
            }
        }
        double_quads(z, y, FIRST_LEVEL, top, width, kept, 0, -FIRST_LEVEL, 0);
        BARRIER();
        int some = 0;
        UNROLL for (int m = 0; m < MINE; m++) some |= (row + m * STEP < t.results) << m;
        fold_onto(y, 1, make, state0, STEP * groups * COLUMN_QUADS, some, of.shift, top, -FIRST_LEVEL);
        fold_bits(z, y, top, width, kept, -FIRST_LEVEL, of.shift, 0);
        if (make.what == PART_LEVEL) {
            UNROLL for (int m = 0; m < MINE; m++)
            {
                if (some >> m & 1) make.states[state0 + m * STEP * groups * COLUMN_QUADS] = y[m];
            }
            BARRIER();
            continue;
        }
        GLOBAL u8 *const to = out.x + s * t.side + (t.first + back + row) * t.down;
        const int dense = t.columns == QUAD && t.side == sizeof(result) && ADDRESS(to) % QUAD_OUT_ALIGN == 0 &&
                          t.down % (i64)QUAD_OUT_ALIGN == 0;
        UNROLL for (int m = 0; m < MINE; m++)
        {
            const int i = row + m * STEP;
            if (i < t.results && t.columns && (of.edges == EDGES_TOO || (i >= t.low && i < t.high)))
                put_tall(&t, to + m * STEP * t.down, i, dense, &y[m], w, w >= of.least, b.p);
        }
        BARRIER();
    }
}
KERNEL_BLOCKS(window_tall, WINDOW_THREADS, WHOLE_BLOCKS)(WHOLE_PARAMETERS ROOM_PARAMETER BOX_PARAMETER)
{
    WHOLE_OF_PARAMETERS;
    tall_windows((LOCAL four *)ROOM_OF_PARAMETER, b, out, of, jobs, each, top_level, kept_levels, make);
}

#else

/* ---- lanes ---- */

/* A lane walks down from the first element of its first window, WALK elements at a time, so that a warp reads and
 * writes whole lines. Z_k[e], the node of the 2^k elements that end at e, is C(Z_(k-1)[e - 2^(k-1)], Z_(k-1)[e]), and
 * the window of L elements that ends there folds Z at the bits of L, high to low, each as far back as the bits below it
 * count:
 *
 *   L = 13 ending at e:   Z_3[e - 5]   Z_2[e - 1]   Z_0[e]
 *
 * So a level is a ring of its last nodes in local memory, the lane's own, and nothing is exchanged. The lowest levels
 * are made in registers, and have a ring only if a window folds them. */
/* Groups of a processor, for the registers. */
#define WALK_BLOCKS (sizeof(state) > 8 ? 12 : sizeof(state) * OP_LANES > 4 ? 16 : 24)
enum { LOW_LEVELS = WALK_LOG(sizeof(state)), WALK = 1 << LOW_LEVELS };

/* A lane's rings: that of level 0 comes first. at[k]: where the next step's nodes will be in theirs. */
typedef struct {
    LOCAL state *room; /* the lane's first place; from one place to the next: LANES */
    int at[WALK_LEVELS], size[WALK_LEVELS];
    int top, places; /* places: of all rings */
} rings;
/* Where the nodes of the last step are in a ring of `size`. */
fn int ring_place(const rings *r, int k, int size) { return (r->at[k] ? r->at[k] : size) - WALK; }
fn void ring_step(rings *r, int k, int size) { r->at[k] = r->at[k] + WALK == size ? 0 : r->at[k] + WALK; }

/* The fold of the `length` elements that end at element c of the last step. */
fn state walk_fold(const rings *r, int length, int c)
{
    state v;
    int base = r->places, have = 0;
    for (int k = r->top; k >= 0; k--) {
        const int size = r->size[k];
        base -= size;
        if (!(length >> k & 1)) continue;
        int i = ring_place(r, k, size) + c - (length & ((1 << k) - 1));
        if (i < 0) i += size;
        const state s = r->room[(base + i) * LANES];
        v = have ? COMBINE(v, s, length >> (k + 1) << (k + 1), (i64)1 << k) : s;
        have = 1;
    }
    return v;
}

/* The same of all elements of the step, of length w. */
fn void walk_folds(const rings *r, state *v, int w)
{
    int base = r->places;
    for (int k = r->top; k >= 0; k--) {
        const int size = r->size[k];
        base -= size;
        if (!(w >> k & 1)) continue;
        const int lag = w & ((1 << k) - 1), part = lag & (WALK - 1);
        int near_ = ring_place(r, k, size) - (lag - part), far_ = near_ - WALK; /* far_: of the first `part` nodes */
        if (near_ < 0) near_ += size;
        if (far_ < 0) far_ += size;
        LOCAL const state *const late = r->room + (base + near_ - part) * LANES;
        LOCAL const state *const early = r->room + (base + far_ + WALK - part) * LANES;
        UNROLL for (int c = 0; c < WALK; c++)
        {
            const state s = (c < part ? early : late)[c * LANES];
            v[c] = k == r->top ? s : COMBINE(v[c], s, w >> (k + 1) << (k + 1), (i64)1 << k);
        }
    }
}

/* Levels that are made in registers, from level 0 in v on; last: the nodes of them that the next step needs. */
fn void walk_low(rings *r, state *v, state last[LOW_LEVELS][WALK / 2], int *base)
{
    UNROLL for (int k = 0; k < LOW_LEVELS; k++)
    {
        const int size = r->size[k];
        if (size) {
            UNROLL for (int c = 0; c < WALK; c++) r->room[(*base + r->at[k] + c) * LANES] = v[c];
            ring_step(r, k, size);
            *base += size;
        }
        if (k < r->top) {
            state mine[WALK / 2];
            UNROLL for (int i = 0; i < 1 << k; i++) mine[i] = v[WALK - (1 << k) + i];
            UNROLL for (int c = WALK - 1; c >= 0; c--)
            {
                const int far_ = c - (1 << k);
                v[c] = TWIN(far_ >= 0 ? v[far_ >= 0 ? far_ : 0] : last[k][c & (WALK / 2 - 1)], v[c], 1 << k);
            }
            UNROLL for (int i = 0; i < 1 << k; i++) last[k][i] = mine[i];
        }
    }
}
/* The others. */
fn void walk_high(rings *r, state *v, int base)
{
    for (int k = LOW_LEVELS; k <= r->top; k++) {
        const int size = r->size[k], at = r->at[k], before_ = at - (1 << k);
        LOCAL state *to = r->room + (base + at) * LANES;
        LOCAL const state *old = r->room + (base + (before_ < 0 ? before_ + size : before_)) * LANES;
        state left[WALK];
        if (k < r->top) {
            UNROLL for (int c = 0; c < WALK; c++) left[c] = old[c * LANES];
        }
        UNROLL for (int c = 0; c < WALK; c++) to[c * LANES] = v[c];
        if (k < r->top) {
            UNROLL for (int c = 0; c < WALK; c++) v[c] = TWIN(left[c], v[c], (i64)1 << k);
        }
        ring_step(r, k, size);
        base += size;
    }
}

/* What all results have in common; to: of result 0. */
typedef struct {
    GLOBAL u8 *to;
    i64 step, least;
    int aligned, all; /* all: windows cut off have a result too */
} column;
fn void put_column(const column *o, i64 r, state s, i64 length, i64 first, par p)
{
    maybe v;
    v.s = s, v.have = length >= o->least;
    store_maybe(o->to + r * o->step, v, length, first, p);
}
/* Results r and after, of a step. */
fn void put_step(const column *o, i64 r, const state *v, int w, i64 first, par p)
{
    GLOBAL u8 *to = o->to + r * o->step;
#if OP_LANES == 1
    if (o->aligned && w >= o->least) {
        const real length = (real)w;
        UNROLL for (int c = 0; c < WALK; c++) *(GLOBAL result *)(to + c * o->step) = lower(v[c], length, first + c, p);
        return;
    }
#endif
    UNROLL for (int c = 0; c < WALK; c++) put_column(o, r + c, v[c], w, first + c, p);
}

/* Job: `each` results, the first one's number a multiple of jump, of 32 columns. fold: levels that windows fold. */
KERNEL_BLOCKS(window_columns, LANES, WALK_BLOCKS)(BATCH_PARAMETERS, RESULTS_PARAMETERS, WINDOW_PARAMETERS, i64 count,
    i64 each, i64 jump, i64 jobs, i64 edges, i64 top_level, i64 fold, i64 places ROOM_PARAMETER BOX_PARAMETER)
#line 252 "src/gpu/kernel/window_columns.cl"
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    const i64 groups = (b.seqs + LANES - 1) / LANES, step = b.stride * TL_SIZE;
    const i64 back = valid ? 0 : before, on = valid ? before + after : after; /* elements before and after a result's */
    const int w = (int)(before + after + 1), lane = thread_index();
    rings r;
    r.room = (LOCAL state *)ROOM_OF_PARAMETER + lane;
    r.top = (int)top_level, r.places = (int)places;
    for (int k = 0; k < WALK_LEVELS; k++)
        r.size[k] = k <= r.top ? RING_SIZE(k, r.top, (int)fold, LOW_LEVELS) : 0;
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 chunk = job / groups, s = (job - chunk * groups) * LANES + lane;
        if (s >= b.seqs) continue;
        const i64 r0 = chunk * jump, r1 = r0 + each < count ? r0 + each : count;
        const i64 from = r0 > back ? r0 - back : 0, end = r1 + on < b.n ? r1 + on : b.n;
        GLOBAL const u8 *x = b.x + (start_of(b, s) + from * b.stride) * TL_SIZE;
        column o;
        elem e[WALK], next[WALK];
        state v[WALK], last[LOW_LEVELS][WALK / 2];
        o.to = place(out, b, s, 0), o.step = out.stride * (i64)RESULT_BYTES, o.least = least;
        o.aligned = ADDRESS(o.to) % sizeof(result) == 0, o.all = edges == EDGES_TOO && !valid;
        for (int k = 0; k <= r.top; k++) r.at[k] = 0;
        UNROLL for (int k = 0; k < LOW_LEVELS; k++)
        {
            UNROLL for (int i = 0; i < WALK / 2; i++) last[k][i] = nothing(b.p).s;
        }
        load_down(next, WALK, x, step, end - from);
        for (i64 j = from; j < end; j += WALK) {
            int base = 0;
            UNROLL for (int c = 0; c < WALK; c++) e[c] = next[c];
            x += WALK * step;
            if (j + WALK < end) load_down(next, WALK, x, step, end - j - WALK);
            UNROLL for (int c = 0; c < WALK; c++) v[c] = lift(e[c], j + c, b.p);
            walk_low(&r, v, last, &base);
            walk_high(&r, v, base);
            const i64 q = j - on; /* the result whose window ends at element j */
            if (q >= r0 && q + WALK <= r1 && j + 1 >= w && (j + WALK < b.n || on == 0 || valid)) {
                walk_folds(&r, v, w);
                put_step(&o, q, v, w, j + 1 - w, b.p);
                continue;
            }
            for (int c = 0; c < WALK && j + c < end; c++) {
                /* the column's end is also that of all windows that it cuts off */
                const i64 m1 = j + c == b.n - 1 && !valid ? r1 : q + c + 1;
                for (i64 m = q + c > r0 ? q + c : r0; m < m1 && m < r1; m++) {
                    const i64 first = m > back ? m - back : 0;
                    const int length = (int)(j + c + 1 - first), whole = length == w;
                    if (!whole && !o.all) continue;
                    put_column(&o, m, length >= least ? walk_fold(&r, length, c) : v[0], length, first, b.p);
                }
            }
        }
    }
}
#endif

#line 1 "src/gpu/kernel/window_exact.cl"
/* SPDX-License-Identifier: MIT
 * Windows of class X, of one sequence that lies side by side: any bracket of a window's elements gives its bits, so the
 * work for a result does not grow with w (van Herk 1992, Gil and Werman 1993). Elements are cut into runs of RUN, one
 * for each thread. The windows that begin in a run of which the thread makes the results:
 *
 *   item         run          (run + 1) RUN                     run RUN + w - 1
 *   window j     j ---------- | whole runs | the first `part` items of one | ---------- j + w - 1
 *                end of a run    middle of all windows of the run           beginning of its last items
 *
 * The ends of its run are folded from the right, the beginnings of its last items from the left, and the middle is that
 * of neighbours: windows of whole runs' nodes, doubled in local memory. The order of the operands is kept. */
#if OP_EXACT && !defined(TL_LONG)
enum { RUN = EXACT_RUN(STATE_BYTES), VALUES = OP_LANES, OUT_BYTES = OP_LANES * TL_OUT_SIZE };
#define EXACT_BLOCKS (STATE_BYTES > 8 ? 2 : 4)

/* What is in local memory: elements, or, where they have the same size and cost more to make, states. */
#define KEEPS_STATES (TL_KIND == 3 && STATE_BYTES == TL_SIZE)
#if KEEPS_STATES
typedef state kept;
fn kept keep(elem x, i64 i, par p) { return lift(x, i, p); }
fn state state_of(kept v, i64 i, par p) { return v; }
#else
typedef elem kept;
fn kept keep(elem x, i64 i, par p) { return x; }
fn state state_of(kept v, i64 i, par p) { return lift(v, i, p); }
#endif

typedef struct ALIGNED(16) {
    u32 w[4];
} line;
enum { LINE = 16 / TL_SIZE, LOADS = 8 };
fn int lesser(int a, int b) { return a < b ? a : b; }

/* Items `from` .. to - 1 of a tile whose item 0 has number lo. Where that is in z: item 0 is at its place in its line.
 */
fn int load_items_exact(LOCAL kept *z, batch b, i64 lo, int from, int to)
{
    const int me = thread_index();
    GLOBAL const u8 *x = b.x + lo * TL_SIZE;
    const int near = ADDRESS(x) % TL_SIZE == 0, shift = near ? (int)(ADDRESS(x) % 16) / TL_SIZE : 0;
    z += shift;
    if (!near) {
        ROLLED for (int i = from + me; i < to; i += WINDOW_THREADS)
            z[i] = keep(load_element(x + i * TL_SIZE), lo + i, b.p);
        return shift;
    }
#if KEEPS_STATES
    const int full = from + (to - from) / (LOADS * WINDOW_THREADS) * (LOADS * WINDOW_THREADS);
    GLOBAL const elem *e = (GLOBAL const elem *)x;
    for (int i = from + me; i < full; i += LOADS * WINDOW_THREADS) {
        elem some[LOADS];
        UNROLL for (int k = 0; k < LOADS; k++) some[k] = e[i + k * WINDOW_THREADS];
        UNROLL for (int k = 0; k < LOADS; k++)
            z[i + k * WINDOW_THREADS] = keep(some[k], lo + i + k * WINDOW_THREADS, b.p);
    }
    /* the rest: threads beyond the end load the last one too, so that these loads run together */
    if (full + me < to) {
        elem some[LOADS];
        UNROLL for (int k = 0; k < LOADS; k++) some[k] = e[lesser(full + me + k * WINDOW_THREADS, to - 1)];
        UNROLL for (int k = 0; k < LOADS; k++)
        {
            const int i = full + me + k * WINDOW_THREADS;
            const kept v = keep(some[k], lo + i, b.p);
            if (i < to) z[i] = v;
        }
    }
#else
    /* whole lines, and what is before and after them */
    const int first = (from + shift + LINE - 1) / LINE, last = (to + shift) / LINE;
    GLOBAL const line *lines = (GLOBAL const line *)(x - shift * TL_SIZE);
    LOCAL line *to_lines = (LOCAL line *)(z - shift);
    int u = first + me;
    for (; u - me + LOADS * WINDOW_THREADS <= last; u += LOADS * WINDOW_THREADS) {
        line e[LOADS];
        UNROLL for (int k = 0; k < LOADS; k++) e[k] = lines[u + k * WINDOW_THREADS];
        UNROLL for (int k = 0; k < LOADS; k++) to_lines[u + k * WINDOW_THREADS] = e[k];
    }
    ROLLED for (; u < last; u += LOADS / 2 * WINDOW_THREADS)
    {
        line e[LOADS / 2];
        UNROLL for (int k = 0; k < LOADS / 2; k++) e[k] = lines[lesser(u + k * WINDOW_THREADS, last - 1)];
        UNROLL for (int k = 0; k < LOADS / 2; k++)
        {
            if (u + k * WINDOW_THREADS < last) to_lines[u + k * WINDOW_THREADS] = e[k];
        }
    }
    const int before = first * LINE - shift, after = last * LINE - shift;
    if (from + me < to && from + me < before) z[from + me] = ((GLOBAL const elem *)x)[from + me];
    const int rest = (after > from ? after : from) + me;
    if (rest < to) z[rest] = ((GLOBAL const elem *)x)[rest];
#endif
    return shift;
}

/* The nodes of the tile's runs, and of the first `part` items of each. */
fn void nodes_of_runs(LOCAL const kept *z, LOCAL state *all, LOCAL state *first, int runs, int part, i64 lo, par p)
{
    for (int g = thread_index(); g < runs; g += WINDOW_THREADS) {
        LOCAL const kept *x = z + g * RUN;
        state v = state_of(x[0], lo + g * RUN, p), some = v;
        UNROLL for (int j = 1; j < RUN; j++)
        {
            v = COMBINE(v, state_of(x[j], lo + g * RUN + j, p), j, 1);
            some = choose(j < part, v, some);
        }
        all[g] = v;
        first[g] = some;
    }
}

/* mid[g] of the first `heads` runs: the fold of the `middle` runs after run g. y, next: `runs` nodes; both are changed.
 * Two levels at a time; the digits of `middle` in base 4 are taken from the lowest to the highest, as the levels come.
 */
fn void middles(LOCAL state *y, LOCAL state *next, LOCAL state *mid, int heads, int runs, int middle)
{
    int at = 1;
    for (int log = 0; middle >> log; log += 2) {
        const int size = 1 << log, digit = middle >> log & 3, made = middle >> log >= 4 ? runs - 3 * size : 0;
        const i64 each = (i64)RUN << log;
        ROLLED for (int g = thread_index(); g < runs; g += WINDOW_THREADS)
        {
            LOCAL const state *from = y + g, *more = from + at;
            if (g < made)
                next[g] = TWIN(TWIN(from[0], from[size], each), TWIN(from[2 * size], from[3 * size], each), 2 * each);
            if (digit && g < heads) {
                state v = more[0];
                if (at > 1) v = COMBINE(mid[g], v, (i64)(at - 1) * RUN, each);
                if (digit > 1) v = COMBINE(v, more[size], (i64)(at - 1) * RUN + each, each);
                if (digit > 2) v = COMBINE(v, more[2 * size], (i64)(at - 1) * RUN + 2 * each, each);
                mid[g] = v;
            }
        }
        at += digit << log;
        BARRIER();
        LOCAL state *swap = y;
        y = next, next = swap;
    }
}

/* The folds of the RUN windows that begin in a run. x: its items, of which the first has number `start`; d: w - 1; q:
 * the middle, of d - RUN elements. */
fn void windows_of_run(state *v, LOCAL const kept *x, int d, maybe q, i64 start, par p)
{
    v[RUN - 1] = state_of(x[RUN - 1], start + RUN - 1, p);
    UNROLL for (int j = RUN - 2; j >= 0; j--)
        v[j] = COMBINE(state_of(x[j], start + j, p), v[j + 1], 1, RUN - 1 - j);
    UNROLL for (int j = 0; j < RUN; j++)
    {
        const state s = state_of(x[d + j], start + d + j, p);
        if (j || q.have)
            q.s = COMBINE(q.s, s, d - RUN + j, 1);
        else
            q.s = s;
        v[j] = COMBINE(v[j], q.s, RUN - j, d - RUN + j + 1);
    }
}

/* `count` results side by side, from local memory; from: aligned for lines. */
fn void store_side_by_side(GLOBAL u8 *to, LOCAL const u8 *from, int count)
{
    const int values = count * VALUES, lines = ADDRESS(to) % 16 ? 0 : count * OUT_BYTES / 16;
    for (int u = thread_index(); u < lines; u += WINDOW_THREADS) ((GLOBAL line *)to)[u] = ((LOCAL const line *)from)[u];
    ROLLED for (int i = lines * (16 / TL_OUT_SIZE) + thread_index(); i < values; i += WINDOW_THREADS)
        store_bytes(to + i * TL_OUT_SIZE, ((LOCAL const result *)from)[i]);
}

/* The results of a run's windows that are not whole; start: number of the first item. */
far_fn void set_empty(LOCAL result *to, i64 start, int d, i64 n, par p)
{
    ROLLED for (int j = 0; j < RUN; j++)
    {
        if (start + j >= 0 && start + j + d < n) continue;
        to[j * VALUES] = empty(p);
#if OP_LANES == 2
        to[j * VALUES + 1] = empty_1(p);
#endif
    }
}

/* lead: number of the first item of result 0's window; each: results of a tile, a round of WINDOW_THREADS runs or
 * several. Windows that are not whole are empty. Results go through local memory, where a round's items were if they
 * are not larger than those. */
KERNEL_BLOCKS(window_exact, WINDOW_THREADS, EXACT_BLOCKS)(BATCH_PARAMETERS, RESULTS_PARAMETERS, i64 lead, i64 width,
    i64 count, i64 each, i64 jobs ROOM_PARAMETER BOX_PARAMETER)
#line 184 "src/gpu/kernel/window_exact.cl"
{
    BATCH_OF_PARAMETERS;
    RESULTS_OF_PARAMETERS;
    const int me = thread_index(), d = (int)width - 1, middle = (d - RUN) / RUN, part = (d - RUN) % RUN;
    const int runs_room = EXACT_RUNS((int)each / RUN, middle);
    LOCAL u8 *room = ROOM_OF_PARAMETER;
    LOCAL kept *z = (LOCAL kept *)room;
    LOCAL state *all = (LOCAL state *)(room + EXACT_STATES_AT(TL_SIZE, STATE_BYTES, (int)each, d));
    LOCAL state *next = all + runs_room, *first = next + runs_room, *mid = first + runs_room;
    LOCAL u8 *apart = room + EXACT_RESULTS_AT(TL_SIZE, STATE_BYTES, (int)each, d);
    for (i64 job = group_index(); job < jobs; job += group_count()) {
        const i64 j0 = job * each, lo = lead + j0;
        const int results_ = j0 + each < count ? (int)each : (int)(count - j0), items = results_ + d;
        const int heads = (results_ + RUN - 1) / RUN, runs = heads + middle + 1;
        const int inside = lo >= 0 && lo + items <= b.n;
        LOCAL const kept *x = z + load_items_exact(z, b, lo, lo < 0 ? (int)-lo : 0,
                                      lo + items <= b.n ? items : (int)(b.n - lo));
        BARRIER();
        nodes_of_runs(x, all, first, runs, part, lo, b.p);
        BARRIER();
        middles(all, next, mid, heads, runs, middle);
        for (int round = 0; round < heads; round += WINDOW_THREADS) {
            const int g = round + me, at = g * RUN, left = results_ - round * RUN;
            LOCAL u8 *to = OUT_BYTES > (int)sizeof(kept) ? apart : room + round * (RUN * OUT_BYTES);
            state v[RUN];
            if (g < heads) {
                maybe q;
                q.have = middle > 0 || part > 0;
                if (middle) q.s = mid[g];
                if (part)
                    q.s = middle ? COMBINE(q.s, first[g + 1 + middle], (i64)middle * RUN, part) : first[g + 1];
                windows_of_run(v, x + at, d, q, lo + at, b.p);
            }
            BARRIER();
            if (g < heads) {
                LOCAL result *mine = (LOCAL result *)to + me * (RUN * VALUES);
                UNROLL for (int j = 0; j < RUN; j++)
                {
                    mine[j * VALUES] = lower(v[j], (real)width, lo + at + j, b.p);
#if OP_LANES == 2
                    mine[j * VALUES + 1] = lower_1(v[j], (real)width, lo + at + j, b.p);
#endif
                }
                if (!inside) set_empty(mine, lo + at, d, b.n, b.p);
            }
            BARRIER();
            store_side_by_side(out.x + (j0 + round * RUN) * OUT_BYTES, to,
                left < WINDOW_THREADS * RUN ? left : WINDOW_THREADS * RUN);
            BARRIER();
        }
    }
}
#endif
