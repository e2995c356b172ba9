/* SPDX-License-Identifier: MIT
 * The words of src/gpu/cuda/prelude_cuda.h in C++ for a processor: a thread is a fiber
 * (run.h), which puts it in the place of the other (TALLY_KERNELS). What CUDA wants aligned is
 * read by types that are, so that a sanitizer sees it. */
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
/* (what <math.h> has for C++ takes longer to read than all that follows) */
f32 sqrtf(f32), fmaf(f32, f32, f32);
f64 sqrt(f64), fma(f64, f64, f64), fabs(f64);
}

#define fn        static inline
#define seldom_fn fn
#define shared_fn fn
#define far_fn    static
/* the others of a program are functions that are not called: run.h defines EMULATE_name for one */
#define SECOND(a, b, ...)                  b
#define LINKAGE(...)                       SECOND(__VA_ARGS__)
#define KERNEL(name, threads)              LINKAGE(EMULATE_##name, fn, fn) void name
#define KERNEL_BLOCKS(name, threads, most) LINKAGE(EMULATE_##name, fn, fn) void name
#define GLOBAL
#define LOCAL
#define SHARED         static /* one group at a time */
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define LOCAL_MEMORY_PARAMETER
#define BOX_PARAMETER
#define LOCAL_MEMORY emulated->local_memory
#define UNROLL
#define FOR(j, n) UNROLL for (int j = 0; j < (n); j++)
#define ROLLED
#define FOLLOW()
#define LET_FOLLOW()
#define BARRIER()      emulated->group_barrier()
#define WARP_BARRIER() emulated->warp_barrier()
struct ALIGNED(16) unit {
    u64 low, high;
};
#define COPY_UNIT(to, from) (*(unit *)(to) = *(const unit *)(from))
#define COPY_WORD(to, from) (*(u64 *)(to) = *(const u64 *)(from))
#define COPY_WAIT()
#define COPY_GROUP()
#define COPY_WAIT_BUT(n)
#define COPY_ALIGNED(align, to, from, bytes) \
    for (int i_ = 0; i_ < (bytes); i_++) ((u8 *)(to))[i_] = ((const u8 *)(from))[i_]
#define PREFETCH(p)
#define LOAD_LAST(p)     (*(p))
#define STORE_LAST(p, v) (*(p) = (v))
#define SKIPS            1
#define ADDRESS(p)       ((u64)(p))
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
#define ASSUME(c) ((c) ? (void)0 : __builtin_trap())
#define OPAQUE(x) (void)0

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
