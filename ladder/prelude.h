/* SPDX-License-Identifier: MIT
 * The words of the ladder on a GPU, after gpu/cuda/prelude_cuda.h or
 * gpu/opencl/prelude_opencl.h. place_gpu.c defines before: ELEM_T and BITS_T (an unsigned type of
 * its size; of bytes u32), OPERATION (0 sum, 1 min, 2 max), NEUTRAL_VALUE, THREADS, ELEM_SIZE,
 * ELEM_FLOAT. The model (ladder/model) knows the same words without this file. */
typedef ELEM_T elem;
typedef BITS_T bits;
#define WARP          32
#define NEUTRAL       ((elem)(NEUTRAL_VALUE))
#define smaller(a, b) ((a) < (b) ? (a) : (b))
#define larger(a, b)  ((b) < (a) ? (a) : (b))
fn elem combine(elem a, elem b)
{
#if OPERATION == 0
    return a + b;
#elif OPERATION == 1
    return smaller(a, b);
#else
    return larger(a, b);
#endif
}
#if ELEM_FLOAT && ELEM_SIZE == 4
#define to_bits   as_u32
#define from_bits as_f32
#elif ELEM_FLOAT
#define to_bits   as_u64
#define from_bits as_f64
#else
#define to_bits   (bits)
#define from_bits (elem)
#endif

/* An element's bits, in the low bytes of a word, and back. */
#define bits_of(v)  ((u64)to_bits(v))
#define value_of(w) from_bits((bits)(w))
#define FUNCTION    fn
#ifndef TL_CUDA
#define half half_ /* a word of OpenCL that is a usual name in texts for CUDA */
#endif
#define HOLDS(condition) /* a static_assert: the model has looked at it */

#if ELEM_SIZE == 1
#define QUAD_BYTES 4
#else
#define QUAD_BYTES 16
#endif
#ifdef TL_CUDA
#undef SHARED
#define SHARED __shared__ __align__(16) /* as the model lays them out; bulk copies need it */
typedef struct __align__(QUAD_BYTES) { elem x, y, z, w; }
elem4;
#define load4(array, index)     (*(const elem4 *)((array) + (index)))
#define store4(array, index, q) (*(elem4 *)((array) + (index)) = (q))
#define FENCE()                 __threadfence()
#define WARP_BARRIER()          __syncwarp()
#define SHUFFLES
#define EXCHANGE_PARAMETER
#define EXCHANGE
#define shuffle_down(v, d)                __shfl_down_sync(0xffffffffu, v, d)
#define shuffle_up(v, d)                  __shfl_up_sync(0xffffffffu, v, d)
#define shuffle_xor(v, d)                 __shfl_xor_sync(0xffffffffu, v, d)
#define shuffle_from(v, l)                __shfl_sync(0xffffffffu, v, l)
#define atomic_next(array, index)         atomicAdd((array) + (index), 1u)
#define atomic_more(array, index, value)  atomicAdd((array) + (index), value)
#define atomic_read(array, index)         atomicAdd((array) + (index), 0u)
#define atomic_write(array, index, value) atomicExch((array) + (index), (u32)(value))
#define exchange_if(p, old, put)          atomicCAS((bits *)(p), old, put)
#else
#if ELEM_SIZE == 8
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define exchange_if(p, old, put) atom_cmpxchg(p, old, put)
#else
#define exchange_if(p, old, put) atomic_cmpxchg(p, old, put)
#endif
typedef struct __attribute__((aligned(QUAD_BYTES))) {
    elem x, y, z, w;
} elem4;
#define load4(array, index)     (*(__global const elem4 *)((array) + (index)))
#define store4(array, index, q) (*(__global elem4 *)((array) + (index)) = (q))
/* On NVIDIA mem_fence orders for the group alone, and lookback met sums from before. PTX has
 * more. */
#ifdef __NV_CL_C_VERSION
#define FENCE() __asm__ volatile("membar.gl;" : : : "memory")
#else
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)
#endif
#define WARP_BARRIER()                    BARRIER()
/* No shuffles in OpenCL 1.2: all threads of the group put their values down, meet, and take
   others'. */
#define SHUFFLES                          SHARED elem exchange_[THREADS]
#define EXCHANGE_PARAMETER                , LOCAL elem *exchange_
#define EXCHANGE                          , exchange_
fn elem shuffle_lane(LOCAL elem *exchange, elem v, int from)
{
    int tid = thread_index(), first = tid - tid % WARP;
    exchange[tid] = v;
    BARRIER();
    elem got = from >= 0 && from < WARP ? exchange[first + from] : v;
    BARRIER();
    return got;
}
#define shuffle_down(v, d)                shuffle_lane(exchange_, v, thread_index() % WARP + (d))
#define shuffle_up(v, d)                  shuffle_lane(exchange_, v, thread_index() % WARP - (d))
#define shuffle_xor(v, d)                 shuffle_lane(exchange_, v, (thread_index() % WARP) ^ (d))
#define shuffle_from(v, l)                shuffle_lane(exchange_, v, l)
#define atomic_next(array, index)         atomic_inc((array) + (index))
#define atomic_more(array, index, value)  atomic_add((array) + (index), value)
#define atomic_read(array, index)         atomic_or((array) + (index), 0u)
#define atomic_write(array, index, value) atomic_xchg((array) + (index), (u32)(value))
#endif

/* Copies that go on while the thread computes (Ampere and later); elsewhere they are done at
   once. */
#if defined(TL_CUDA) && __CUDA_ARCH__ >= 800
#define copy_async(to, i, from, j) \
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" \
                 : \
                 : "r"((u32)__cvta_generic_to_shared((to) + (i))), "l"((from) + (j)), \
                   "n"(ELEM_SIZE) \
                 : "memory")
#define copy_wait() asm volatile("cp.async.wait_all;" : : : "memory")
#else
#define copy_async(to, i, from, j) ((to)[i] = (from)[j])
#define copy_wait()                ((void)0)
#endif

/* All groups of the launch meet; the ladder launches no more than run at the same time. Each
 * time that all have come, the cell has gone up by their number. place_gpu.c lets no kernel with
 * this word through where there is no CUDA. */
#ifdef TL_CUDA
fn void GRID_BARRIER(GLOBAL u32 *cell)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const u32 goal = (atomicAdd(cell, 1u) / gridDim.x + 1) * gridDim.x;
        while (*(volatile u32 *)cell < goal) {
        }
        __threadfence();
    }
    __syncthreads();
}
#endif

/* Bulk copies (Hopper and later, see place_gpu.c): they arrive at an mbarrier, a word of 8 bytes in
   shared memory. */
#if defined(TL_CUDA) && __CUDA_ARCH__ >= 900
#define shared_address(p) ((u32)__cvta_generic_to_shared(p))
fn void bulk_open(u64 *arrived, int k)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                 :
                 : "r"(shared_address(arrived + k))
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
fn void bulk_start(void *to, const void *from, u32 bytes, u64 *arrived)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(arrived)), "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :
        : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
          "r"(shared_address(arrived))
        : "memory");
}
#define bulk_copy(to, i, from, j, count, arrived, k) \
    bulk_start((to) + (i), (from) + (j), (u32)((count)*ELEM_SIZE), (arrived) + (k))
fn void bulk_wait(u64 *arrived, int k, int phase)
{
    u32 done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(shared_address(arrived + k)), "r"((u32)phase)
                     : "memory");
}
#endif

/* All lanes of the warp folded: lane 0 has the most distant pairs first, and lanes may differ in
 * bits where floats do. */
#ifdef TL_CUDA
fn elem warp_combine(elem v)
{
#if !ELEM_FLOAT && ELEM_SIZE == 4 && __CUDA_ARCH__ >= 800
#if OPERATION == 0
    return __reduce_add_sync(0xffffffffu, v);
#elif OPERATION == 1
    return __reduce_min_sync(0xffffffffu, v);
#else
    return __reduce_max_sync(0xffffffffu, v);
#endif
#else
    for (int s = WARP / 2; s > 0; s /= 2) v = combine(v, shuffle_xor(v, s));
    return v;
#endif
}
#else
fn elem warp_fold(LOCAL elem *exchange_, elem v)
{
    for (int s = WARP / 2; s > 0; s /= 2) v = combine(v, shuffle_xor(v, s));
    return v;
}
#define warp_combine(v) warp_fold(exchange_, v)
#endif

/* combine(array[index], v) as one step that no other thread can interrupt. */
#if defined(TL_CUDA) && OPERATION == 0 && (ELEM_FLOAT || ELEM_SIZE == 4)
#define atomic_combine(array, index, v) atomicAdd((array) + (index), v)
#elif defined(TL_CUDA) && OPERATION == 0
#define atomic_combine(array, index, v) atomicAdd((GLOBAL u64 *)(array) + (index), (u64)(v))
#elif defined(TL_CUDA) && !ELEM_FLOAT && OPERATION == 1
#define atomic_combine(array, index, v) atomicMin((array) + (index), v)
#elif defined(TL_CUDA) && !ELEM_FLOAT
#define atomic_combine(array, index, v) atomicMax((array) + (index), v)
#elif !ELEM_FLOAT && ELEM_SIZE == 4 && OPERATION == 0
#define atomic_combine(array, index, v) atomic_add((array) + (index), v)
#elif !ELEM_FLOAT && ELEM_SIZE == 4 && OPERATION == 1
#define atomic_combine(array, index, v) atomic_min((array) + (index), v)
#elif !ELEM_FLOAT && ELEM_SIZE == 4
#define atomic_combine(array, index, v) atomic_max((array) + (index), v)
#elif ELEM_SIZE > 1 /* nothing has atomics of bytes */
fn void combine_at(GLOBAL volatile bits *p, elem v)
{
    bits old = *p, seen = old + 1;
    while (seen != old) {
        seen = old;
        old = exchange_if(p, seen, to_bits(combine(from_bits(seen), v)));
    }
}
#define atomic_combine(array, index, v) combine_at((GLOBAL volatile bits *)(array) + (index), v)
#ifndef TL_CUDA
fn void combine_shared(LOCAL volatile bits *p, elem v)
{
    bits old = *p, seen = old + 1;
    while (seen != old) {
        seen = old;
        old = exchange_if(p, seen, to_bits(combine(from_bits(seen), v)));
    }
}
#define shared_combine(array, index, v) combine_shared((LOCAL volatile bits *)(array) + (index), v)
#endif
#endif
#ifndef shared_combine
#define shared_combine atomic_combine
#endif
