/* SPDX-License-Identifier: MIT
 * The words of the kernel texts on CUDA (NVRTC, nvcc). prelude_opencl.h defines the same words. No
 * headers are needed. */
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

#define fn        static __device__ __forceinline__
#define seldom_fn fn /* see prelude_opencl.h */
#define shared_fn fn
/* Functions for rare cases; not inlined, because copies in every caller would be large. */
#define far_fn                  static __device__ __noinline__
#define KERNEL_1(name, threads) extern "C" __global__ void __launch_bounds__(threads) name
#define KERNEL_BLOCKS_1(name, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name

/* Builds only one kernel: gpu/program.c defines TL_PICK_name as `0, 1` for it. The others become
 * functions that nothing calls, which cost only their parsing. */
#ifdef TL_ONE_KERNEL
#define KERNEL_0(name, threads)                static __device__ void name
#define KERNEL_BLOCKS_0(name, threads, blocks) static __device__ void name
#define PICK_(a, b, ...)                       b
#define PICK(...)                              PICK_(__VA_ARGS__, 0, 0)
#define CHOSEN_(which, pick)                   which##pick
#define CHOSEN_KERNEL(which, pick)             CHOSEN_(which, pick)

#define KERNEL(name, threads) CHOSEN_KERNEL(KERNEL_, PICK(TL_PICK_##name))(name, threads)
#define KERNEL_BLOCKS(name, threads, most) \
    CHOSEN_KERNEL(KERNEL_BLOCKS_, PICK(TL_PICK_##name))(name, threads, most)
#else
#define KERNEL        KERNEL_1
#define KERNEL_BLOCKS KERNEL_BLOCKS_1
#endif
/* Every kernel begins with it (gpu/text.c): waits until the kernel before it in the stream, whose
 * end its launch may overlap (programmatic dependent launch), has ended and its memory is visible.
 * LET_FOLLOW: the next kernel may begin when all blocks of this one have called it or ended. */
#if __CUDA_ARCH__ >= 900
#define FOLLOW()     asm volatile("griddepcontrol.wait;" ::: "memory")
#define LET_FOLLOW() asm volatile("griddepcontrol.launch_dependents;")
#else
#define FOLLOW()
#define LET_FOLLOW()
#endif
#define GLOBAL
#define LOCAL
#define SHARED         __shared__
#define ALIGNED(bytes) __align__(bytes)
/* Local memory whose size the launch gives. Where the API needs a parameter for it, it is the
 * last. */
extern __shared__ __align__(16) u8 tl_local_memory[];
#define LOCAL_MEMORY_PARAMETER
#define LOCAL_MEMORY tl_local_memory
#define BOX_PARAMETER
#define UNROLL         _Pragma("unroll")
#define FOR(j, n)      UNROLL for (int j = 0; j < (n); j++)
#define ROLLED         _Pragma("unroll 1")
#define BARRIER()      __syncthreads()
#define WARP_BARRIER() __syncwarp() /* a barrier for the lanes of a warp */
/* Asynchronous copies from global to local memory of 16 aligned bytes (COPY_UNIT) or 8 bytes
 * (COPY_WORD). They are complete after COPY_WAIT of the same lane. */
#define COPY_UNIT(to, from) \
    asm volatile( \
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), \
        "l"(from) \
        : "memory")
#define COPY_WORD(to, from) \
    asm volatile( \
        "cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((u32)__cvta_generic_to_shared(to)), \
        "l"(from) \
        : "memory")

/* The same of `bytes` bytes that are aligned to `align`, 16, 8 or 4 (less: an ordinary copy), in
 * groups: COPY_GROUP ends one, and after COPY_WAIT_BUT all but the last n groups of the lane are
 * complete. */
#define COPY_GROUP()     asm volatile("cp.async.commit_group;" ::: "memory")
#define COPY_WAIT_BUT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
fn void COPY_ALIGNED(int align, LOCAL void *to, GLOBAL const void *from, int bytes)
{
    for (int i = 0; i < bytes; i += align) {
        LOCAL u8 *const there = (LOCAL u8 *)to + i;
        GLOBAL const u8 *const here = (GLOBAL const u8 *)from + i;
        if (align == 16)
            COPY_UNIT(there, here);
        else if (align == 8)
            COPY_WORD(there, here);
        else if (align == 4)
            asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4;" ::"r"(
                             (u32)__cvta_generic_to_shared(there)),
                         "l"(here)
                         : "memory");
        else
            for (int j = 0; j < align; j++) there[j] = here[j];
    }
}

/* Accesses of what is not needed again: it is the first to leave the caches. */
#define LOAD_LAST(p)     __ldcs(p)
#define STORE_LAST(p, v) __stcs(p, v)

/* Loads 4 or 8 aligned bytes whose neighbours, 256 bytes in all, are needed soon: L2 gets them. */
template <class T> fn T load_near(const T *p)
{
    u64 wide;
    u32 word;
    if (sizeof(T) == 8) {
        asm volatile("ld.global.L2::256B.u64 %0, [%1];" : "=l"(wide) : "l"(p));
        return *(T *)&wide;
    }
    asm volatile("ld.global.L2::256B.u32 %0, [%1];" : "=r"(word) : "l"(p));
    return *(T *)&word;
}
#define LOAD_NEAR(p) load_near(p)

/* Prefetches the cache line at p into L2. */
#define PREFETCH(p)      asm volatile("prefetch.global.L2 [%0];" ::"l"(p))
#define COPY_WAIT()      asm volatile("cp.async.wait_all;" ::: "memory")
#define ADD_GLOBAL(p, v) atomicAdd(p, v) /* p: a u32; returns the old value */
#define ADD_LOCAL(p, v)  atomicAdd(p, v)
#define MAX_LOCAL(p, v)  atomicMax(p, v)
#define OR_LOCAL(p, v)   atomicOr(p, v)
#define SKIPS            1 /* warps may skip work that other warps do: exchanges need no barrier */
#define ADDRESS(p)       ((u64)(p))

/* Writes 16 bytes, a value and a mark, which other blocks see as a whole or not at all. (PTX
 * guarantees this for .b128 since CUDA 12.3, and for no vector before; all GPUs do it.) */
fn void publish_word(GLOBAL u64 *p, u64 value, u64 mark)
{
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
    asm volatile(
        "{ .reg .b128 t; mov.b128 t, {%1, %2}; st.relaxed.gpu.global.b128 [%0], t; }" ::"l"(p),
        "l"(value), "l"(mark)
        : "memory");
#else
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(value), "l"(mark)
                 : "memory");
#endif
}

fn u64 poll_word(GLOBAL const u64 *p, u64 *value) /* returns the mark */
{
    u64 mark;
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
    asm volatile("{ .reg .b128 t; ld.relaxed.gpu.global.b128 t, [%2]; mov.b128 {%0, %1}, t; }"
                 : "=l"(*value), "=l"(mark)
                 : "l"(p)
                 : "memory");
#else
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(*value), "=l"(mark)
                 : "l"(p)
                 : "memory");
#endif

    return mark;
}

fn u32 as_u32(f32 x) { return __float_as_uint(x); }
fn u64 as_u64(f64 x) { return (u64)__double_as_longlong(x); }
fn f32 as_f32(u32 x) { return __uint_as_float(x); }
fn f64 as_f64(u64 x) { return __longlong_as_double((i64)x); }
fn f32 sqrt_f32(f32 x) { return __fsqrt_rn(x); }
fn f64 sqrt_f64(f64 x) { return __dsqrt_rn(x); }
fn f32 fma_f32(f32 x, f32 y, f32 z) { return __fmaf_rn(x, y, z); } /* x y + z, rounded once */
fn f64 fma_f64(f64 x, f64 y, f64 z) { return __fma_rn(x, y, z); }
#define FUSES     1 /* a fused multiply-add is as fast as a product */
#define ASSUME(c) __builtin_assume(c)
/* The compiler computes nothing from x (8 bytes) before this point. */
#define OPAQUE(x) asm volatile("" : "+l"(x))

/* Max or min of each half (16 bits, signed or unsigned) of two words. One instruction since
 * sm_90. */
fn u32 pair_max_s(u32 a, u32 b) { return __vmaxs2(a, b); }
fn u32 pair_max_u(u32 a, u32 b) { return __vmaxu2(a, b); }
fn u32 pair_min_s(u32 a, u32 b) { return __vmins2(a, b); }
fn u32 pair_min_u(u32 a, u32 b) { return __vminu2(a, b); }

/* sum plus the elements of a word, which have 1 or 2 bytes. */
#define WORD_SUM(w, sum) \
    (TL_SIZE == 1   ? TL_KIND == 1 ? (u32)__dp4a((i32)(w), 0x01010101, (i32)(sum)) \
                                   : __dp4a(w, 0x01010101u, sum) \
       : TL_KIND == 1 ? (u32)__dp2a_lo((i32)(w), 0x0101, (i32)(sum)) \
                    : __dp2a_lo(w, 0x0101u, sum))

/* sum plus the squares of the four bytes of a word. */
#define WORD_SQUARES(w, sum) \
    (TL_KIND == 1 ? (u32)__dp4a((i32)(w), (i32)(w), (i32)(sum)) : __dp4a(w, w, sum))

/* Converts the bits of an f16; exact. */
#define HALF_TO_F32
fn f32 half_to_f32(u16 x)
{
    f32 r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
    return r;
}

/* Zero bits below the lowest set bit, and above the highest set bit; v is not 0. */
fn int low_zeros(u32 v) { return __ffs((int)v) - 1; }
fn int high_zeros(u32 v) { return __clz((int)v); }

fn int thread_index() { return threadIdx.x; }
fn i64 group_index() { return blockIdx.x; }
fn i64 group_count() { return gridDim.x; }

/* A warp is 32 lanes that exchange states. A block has several warps here; in OpenCL it may have
 * one. */
#define WARPS_IN_GROUP 8
fn int lane_index() { return threadIdx.x & 31; }
fn i64 warp_index() { return (i64)blockIdx.x * WARPS_IN_GROUP + threadIdx.x / 32; }
fn i64 warp_count() { return (i64)gridDim.x * WARPS_IN_GROUP; }

/* Returns what another lane has: lane number `at`, or (across) the lane whose number differs from
 * this lane's in the bits of `at`. */
template <bool across, class B> fn B shuffle_bits(B b, int at)
{
    return across ? __shfl_xor_sync(0xffffffffu, b, at) : __shfl_sync(0xffffffffu, b, at);
}

template <bool across, class T> fn T shuffle(T v, int at)
{
    if (sizeof(T) == 8) {
        u64 b = shuffle_bits<across>(*(u64 *)&v, at);
        return *(T *)&b;
    }
    if (sizeof(T) == 4) {
        u32 b = shuffle_bits<across>(*(u32 *)&v, at);
        return *(T *)&b;
    }
    return (T)shuffle_bits<across>((int)v, at);
}

#define TL_SHUFFLES
#define SHUFFLE(across, type, to, from, at) to = shuffle<across>(from, at)

/* Four neighbours in memory, one access (two of 16 bytes for elements of 8). */
#define QUAD_ALIGN     (TL_SIZE * 4 > 16 ? 16 : TL_SIZE * 4)
#define QUAD_OUT_ALIGN (TL_OUT_SIZE * 4 > 16 ? 16 : TL_OUT_SIZE * 4)
#define QUAD_OF(T, align) \
    struct ALIGNED(align) { \
        T x, y, z, w; \
    }
