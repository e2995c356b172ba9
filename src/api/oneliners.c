/* SPDX-License-Identifier: MIT
 * tally_sum_f32 and its like: kernels without a context, one row per function. The first use looks
 * the kernel up. Several threads may do so at once: all store the same pointers, by atomic
 * stores. */
#include "law/fp.h"
#include "cpu/isas.h"
#include "context/operators.h"
#include <stdatomic.h>

typedef struct {
    const char *op;
    tally_dtype dtype;
    _Atomic(const tl_scalar *) scalar;
    _Atomic(const tl_kernel *) kernel;
} entry;

static void run(entry *e, const void *x, int64_t n, void *out)
{
    const tl_par par = {0};
    const tl_kernel *k = atomic_load_explicit(&e->kernel, memory_order_acquire);
    if (!k) {
        const tl_scalar *s;
        tl_par none;
        if (tl_resolve(NULL, e->op, e->dtype, &s, &none)) return;
        tl_plan plan;
        tl_plan_kernels(&plan, s, par, tl_isa_widest());
        k = plan.fold; /* all of these types have kernels of their own */
        atomic_store_explicit(&e->scalar, s, memory_order_relaxed);
        atomic_store_explicit(&e->kernel, k, memory_order_release);
    }

    const tl_scalar *s = atomic_load_explicit(&e->scalar, memory_order_relaxed);
    if (n <= 0 || !x) {
        s->empty(par, out);
        return;
    }

    tl_state state;
    tl_fp fp = tl_fp_enter();
    const tl_elements all = {x, n, 0, NULL, tl_prefetches(n * s->elem_bytes)};
    k->fold(&state, &all, par);
    s->lower(&state, n, 0, par, out);
    tl_fp_leave(fp);
}

#define ONE_LINER(op, name, dtype, in, result)                                                     \
    result tally_##op##_##name(const in *x, int64_t n)                                             \
    {                                                                                              \
        static entry e = {#op, dtype, NULL, NULL};                                                 \
        result r;                                                                                  \
        run(&e, x, n, &r);                                                                         \
        return r;                                                                                  \
    }
ONE_LINER(sum, f32, TALLY_F32, float, float)
ONE_LINER(sum, f64, TALLY_F64, double, double)
ONE_LINER(sum, i32, TALLY_I32, int32_t, int64_t)
ONE_LINER(sum, i64, TALLY_I64, int64_t, int64_t)
ONE_LINER(mean, f32, TALLY_F32, float, float)
ONE_LINER(mean, f64, TALLY_F64, double, double)
ONE_LINER(min, f32, TALLY_F32, float, float)
ONE_LINER(min, f64, TALLY_F64, double, double)
ONE_LINER(min, i32, TALLY_I32, int32_t, int32_t)
ONE_LINER(max, f32, TALLY_F32, float, float)
ONE_LINER(max, f64, TALLY_F64, double, double)
ONE_LINER(max, i32, TALLY_I32, int32_t, int32_t)
