/* SPDX-License-Identifier: MIT
 * The words of the kernel texts in OpenCL C 1.2. prelude_cuda.h defines the same words. A thread is
 * a work-item, a block a work-group. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#ifdef __clang__ /* PoCL: a loop that it does not unroll is no fault */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
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
/* A function that gets the same SHARED array from each of its calls. The compiler of PoCL 3.1 puts
 * the array's address into the function, and later gives the kernel an array of its own, so that
 * they use different memory unless the function is inlined. */
#define shared_fn fn __attribute__((always_inline))
#define KERNEL(name, threads) \
    __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void name
#define KERNEL_BLOCKS(name, threads, blocks) KERNEL(name, threads)
#define GLOBAL                               __global
#define LOCAL                                __local
#define SHARED                               __local
#define ALIGNED(bytes)                       __attribute__((aligned(bytes)))
#define LOCAL_MEMORY_PARAMETER               , __local ulong2 *local_memory_ /* aligned to quads */
#define LOCAL_MEMORY                         ((__local u8 *)local_memory_)
#define UNROLL                               _Pragma("unroll")
#define FOR(j, n)                            UNROLL for (int j = 0; j < (n); j++)
#define ROLLED                               _Pragma("unroll 1")
/* PoCL 5.0 (Ubuntu 24.04) aborts the process over an if with an else where both sides have branches
 * of their own and a barrier follows (github.com/pocl/pocl/issues/1435; its pass `isolate-regions`
 * then adds an unreachable block). Therefore:
 *
 * - A value is chosen first and stored once, and a choice has no branches (`sel` in prelude_gpu.h).
 * - A loop counts as a branch, and after a return in an inlined function the rest counts as an
 *   else. So two loads or stores are written one after the other, and one of them does nothing.
 * - There is no barrier in a branch (`continue` after a barrier), which aborts as well. */
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define FOLLOW()
#define LET_FOLLOW()
/* Synchronous; in prelude_cuda.h the copies are asynchronous. */
#define COPY_WORD(to, from) (*(to) = *(from))
#define COPY_WAIT()
#define PREFETCH(p)
#define ADD_GLOBAL(p, v) atomic_add(p, v) /* p: a u32; returns the old value */
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
/* With the integer code of prelude_gpu.h, PoCL 3.1 on LLVM 14, which vectorises loops over
 * work-items, computed a tenth of the results of f16 scans wrongly (sum, mean, prod and nansum from
 * 1024 elements on). POCL_WORK_GROUP_METHOD=loops and PoCL 5.0 are correct. */
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
#define WORD_SUM(w, sum) \
    ((sum) + ELEMENT_AT(w, 0) + \
     (TL_SIZE == 1 ? ELEMENT_AT(w, 8) + ELEMENT_AT(w, 16) + ELEMENT_AT(w, 24) \
                   : ELEMENT_AT(w, 16)))
#define SQUARE_AT(w, low) (ELEMENT_AT(w, low) * ELEMENT_AT(w, low))
#define WORD_SQUARES(w, sum) \
    ((sum) + SQUARE_AT(w, 0) + SQUARE_AT(w, 8) + SQUARE_AT(w, 16) + SQUARE_AT(w, 24))

fn int low_zeros(u32 v) { return 31 - (int)clz(v & -v); }
fn int high_zeros(u32 v) { return (int)clz(v); }

fn int thread_index() { return (int)get_local_id(0); }
fn i64 group_index() { return (i64)get_group_id(0); }
fn i64 group_count() { return (i64)get_num_groups(0); }

/* OpenCL 1.2 has no sub-groups. A warp is a work-group of 32 work-items that exchange states
 * through local memory, so an exchange contains barriers. Compilers for processors (PoCL) duplicate
 * the code after a barrier in a branch, so code with an exchange is never skipped, even if its
 * result is not needed. */
#define WARPS_IN_GROUP 1
/* Local memory for exchanges. It is a parameter, not a local array of the kernel: PoCL 3.1 may
 * allocate such an array only once for the whole process, and then two concurrent groups gave wrong
 * bits. */
#define BOX_PARAMETER  , __local ulong2 *box_
#define WARP_BARRIER() BARRIER()
#define SKIPS          0
#ifdef __NV_CL_C_VERSION
/* Out of line: with `load_some` inlined, NVIDIA's compiler (driver 580) does not terminate for some
 * states. */
#define seldom_fn far_fn
#else
#define seldom_fn fn
#endif

fn int lane_index() { return (int)get_local_id(0); }
fn i64 warp_index() { return (i64)get_group_id(0); }
fn i64 warp_count() { return (i64)get_num_groups(0); }

#define QUAD_ALIGN     (TL_SIZE * 4)
#define QUAD_OUT_ALIGN (TL_OUT_SIZE * 4)
#define QUAD_OF(T, align) \
    struct ALIGNED(align) { \
        T x, y, z, w; \
    }
