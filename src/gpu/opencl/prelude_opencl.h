/* SPDX-License-Identifier: MIT
 * The words of the kernel texts in OpenCL C 1.2. prelude_cuda.h has the same words. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef double f64;

#define fn     static inline
#define far_fn static __attribute__((noinline))
#define KERNEL(name, threads)                                                                      \
    __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void name
#define KERNEL_BLOCKS(name, threads, blocks) KERNEL(name, threads)
#define GLOBAL                               __global
#define LOCAL                                __local
#define SHARED                               __local
#define ALIGNED(bytes)                       __attribute__((aligned(bytes)))
#define ROOM_PARAMETER                       , __local ulong2 *room_ /* aligned for quads; of bytes it would not be */
#define ROOM_OF_PARAMETER                    ((__local u8 *)room_)
#define UNROLL                               _Pragma("unroll")
#define ROLLED                               _Pragma("unroll 1")
/* PoCL 5.0 (Ubuntu 24.04) aborts the process over an if with an else where both sides end in
 * branches of their own and a barrier comes next (github.com/pocl/pocl/issues/1435; its pass
 * `isolate-regions` then adds a block that nothing leads to). So a value is chosen first and
 * stored once, and a choice has no branches (`sel` in prelude_gpu.h). A loop is a branch too,
 * and a return makes an else of what comes after it in a function in line: two loads or stores
 * then go one after the other, and one of them has nothing to do. Barriers in a branch
 * (`continue` after one) abort as well. */
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
/* Done at once; prelude_cuda.h has copies that are on their way. */
#define COPY_WORD(to, from) (*(to) = *(from))
#define COPY_WAIT()
#define PREFETCH(p)
#define ADD_GLOBAL(p, v) atomic_add(p, v) /* to a u32; what was there before */
#define ADD_LOCAL(p, v)  atomic_add(p, v)
#define MAX_LOCAL(p, v)  atomic_max(p, v)
#define OR_LOCAL(p, v)   atomic_or(p, v)
#define ADDRESS(p)       ((u64)(size_t)(p))

#define as_u32(x) as_uint((f32)(x))
#define as_u64(x) as_ulong((f64)(x))
#define as_f32(x) as_float((u32)(x))
#define as_f64(x) as_double((u64)(x))
fn f32 sqrt_f32(f32 x) { return sqrt(x); }
fn f64 sqrt_f64(f64 x) { return sqrt(x); }
fn f64 fma_f64(f64 x, f64 y, f64 z) { return fma(x, y, z); }
#ifdef POCL_DEVICE_ADDRESS_BITS
/* With the integer code (prelude_gpu.h) PoCL 3.1 on LLVM 14, which makes vectorised loops of
 * work-items, gave a tenth of the results of scans of f16 wrong (sum, mean, prod and nansum from
 * 1024 elements on; not with POCL_WORK_GROUP_METHOD=loops, nor PoCL 5.0). */
#define HALF_TO_F32
fn f32 half_to_f32(u16 x) { return vload_half(0, (const half *)&x); }
#endif

fn u32 pair_max_s(u32 a, u32 b) { return as_uint(max(as_short2(a), as_short2(b))); }
fn u32 pair_max_u(u32 a, u32 b) { return as_uint(max(as_ushort2(a), as_ushort2(b))); }
fn u32 pair_min_s(u32 a, u32 b) { return as_uint(min(as_short2(a), as_short2(b))); }
fn u32 pair_min_u(u32 a, u32 b) { return as_uint(min(as_ushort2(a), as_ushort2(b))); }
#define SIGNED_AT(w, low)   ((u32)((i32)((w) << (32 - 8 * TL_SIZE - (low))) >> (32 - 8 * TL_SIZE)))
#define UNSIGNED_AT(w, low) ((w) << (32 - 8 * TL_SIZE - (low)) >> (32 - 8 * TL_SIZE))
#define ELEMENT_AT(w, low)  (TL_KIND == 1 ? SIGNED_AT(w, low) : UNSIGNED_AT(w, low))
#define WORD_SUM(w, sum)                                                                           \
    ((sum) + ELEMENT_AT(w, 0) +                                                                    \
     (TL_SIZE == 1 ? ELEMENT_AT(w, 8) + ELEMENT_AT(w, 16) + ELEMENT_AT(w, 24)                      \
                   : ELEMENT_AT(w, 16)))
#define SQUARE_AT(w, low) (ELEMENT_AT(w, low) * ELEMENT_AT(w, low))
#define WORD_SQUARES(w, sum)                                                                       \
    ((sum) + SQUARE_AT(w, 0) + SQUARE_AT(w, 8) + SQUARE_AT(w, 16) + SQUARE_AT(w, 24))

fn int low_zeros(u32 v) { return 31 - (int)clz(v & -v); }
fn int high_zeros(u32 v) { return (int)clz(v); }

fn int thread_index() { return (int)get_local_id(0); }
fn i64 group_index() { return (i64)get_group_id(0); }
fn i64 group_count() { return (i64)get_num_groups(0); }

#ifdef TL_SHUFFLES
/* The host says so of NVIDIA's devices (opencl.c): a warp is 32 work-items in step, and the
 * compiler takes PTX, whose shuffles OpenCL has no word for. Through local memory a sum took
 * 1.27 times as long as a read of the same bytes (H200). */
#define WARPS_IN_GROUP 8
#define BOX_PARAMETER
#define WARP_BARRIER()                                                                             \
    __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory") /* of the lanes of a warp alone */
#define seldom_fn                                                                                  \
    far_fn /* `load_some` in line, and the compiler of driver 580 never comes back from some states (doc/gpu.md) */
#define SKIPS 1
fn int lane_index() { return (int)get_local_id(0) & 31; }
#define SHUFFLE_0 "idx"
#define SHUFFLE_1 "bfly"
#define SHUFFLE(across, type, to, from, at)                                                        \
    {                                                                                              \
        union {                                                                                    \
            type value;                                                                            \
            u32 word[(sizeof(type) + 3) / 4];                                                      \
        } u_;                                                                                      \
        u_.word[0] = 0;                                                                            \
        u_.value = from;                                                                           \
        UNROLL for (int k_ = 0; k_ < (int)(sizeof(type) + 3) / 4; k_++)                            \
        {                                                                                          \
            u32 got_;                                                                              \
            __asm__ volatile("shfl.sync." SHUFFLE_##across ".b32 %0, %1, %2, 31, 0xffffffff;"      \
                             : "=r"(got_)                                                          \
                             : "r"(u_.word[k_]), "r"(at));                                         \
            u_.word[k_] = got_;                                                                    \
        }                                                                                          \
        to = u_.value;                                                                             \
    }
#else
/* OpenCL 1.2 has no sub-groups: a warp is a group of 32 work-items that exchange states through
 * local memory. Exchanges are barriers then, and compilers for processors (PoCL) copy what
 * follows a barrier in a branch, twice as much a branch: so nothing with an exchange in it is
 * left out, even where its result is not needed. */
#define WARPS_IN_GROUP 1
/* For exchanges. A parameter: LLVM may keep a large function apart for a while and put the
 * address of a kernel's own local array into it, and PoCL 3.1 then leaves one such array for the
 * whole process. Two groups of `finish` at a time gave wrong bits (the example streak). */
#define BOX_PARAMETER  , __local ulong2 *box_
#define WARP_BARRIER() BARRIER()
#define seldom_fn      fn
#define SKIPS          0
fn int lane_index() { return (int)get_local_id(0); }
#endif
fn i64 warp_index()
{
    return (i64)get_group_id(0) * WARPS_IN_GROUP + get_local_id(0) / 32 % WARPS_IN_GROUP;
}
fn i64 warp_count() { return (i64)get_num_groups(0) * WARPS_IN_GROUP; }

#define QUAD_ALIGN     (TL_SIZE * 4)
#define QUAD_OUT_ALIGN (TL_OUT_SIZE * 4)
#define QUAD_OF(T, align)                                                                          \
    struct ALIGNED(align) {                                                                        \
        T x, y, z, w;                                                                              \
    }
