/* SPDX-License-Identifier: MIT
 * The instruction sets and their kernels: makes the plan of an operator's instance for CPUs. */
#include "shape.h"
#include "context/context.h"
#include "dtype/number.h"
#include "dtype/dtype_traits.h"
#include "exact/exact.h"
#include "narrow/narrow.h"
#include <assert.h>
#include <string.h>

#define ISA(isa, bytes, runs) \
    extern const tl_kernel_table tl_kernels_##isa[]; \
    extern const tl_convert tl_converts_##isa[]; \
    extern const struct tl_exact_kernel tl_exact_kernel_##isa; \
    extern const tl_transpose tl_transpose_##isa; \
    extern const tl_narrow tl_narrow_##isa[]; \
    extern const tl_mask tl_mask_##isa;
#include "operator/isa.def"

#undef ISA

static const struct {
    const char *name;
    const tl_kernel_table *table;
    const tl_convert *converts;
    const struct tl_exact_kernel *exact;
    const tl_transpose *transpose;
    const tl_mask *mask;
    const tl_narrow *narrow;
} isas[] = {
#define ISA(isa, bytes, runs) \
    {#isa, \
     tl_kernels_##isa, \
     tl_converts_##isa, \
     &tl_exact_kernel_##isa, \
     &tl_transpose_##isa, \
     &tl_mask_##isa, \
     tl_narrow_##isa},
#include "operator/isa.def"
#undef ISA
};

enum { ISAS = sizeof isas / sizeof *isas };

int tl_isa_count(void) { return ISAS; }
const char *tl_isa_name(int isa) { return isas[isa].name; }
const tl_convert *tl_isa_converts(int isa) { return isas[isa].converts; }

int tl_isa_runs(int isa)
{
    int number = 0;
#define ISA(name, bytes, runs) \
    if (number++ == isa) return (runs) != 0;
#include "operator/isa.def"
#undef ISA
    return 0;
}

int tl_isa_widest(void)
{
    int isa = ISAS - 1;
    while (isa > 0 && !tl_isa_runs(isa)) isa--;
    return isa;
}

int tl_isa_find(const char *name)
{
    for (int i = 0; i < ISAS; i++)
        if (!strcmp(isas[i].name, name)) return i;
    return TL_ISA_NONE;
}

static const tl_kernel *find_kernel(const char *file, tally_dtype dtype, tally_dtype acc, int isa)
{
    for (const tl_kernel_table *t = isas[isa].table; t->file; t++)
        if (!strcmp(t->file, file))
            for (const tl_kernel *const *k = t->kernels; *k; k++)
                if ((*k)->dtype == dtype && (*k)->acc == acc) return *k;
    return NULL;
}

/* The kernels whose `lower` reads the states of `op`'s kernels: those of its wide type, or of any
 * type with the same states. */
static const tl_kernel *find_lower(const tl_scalar *op, tally_dtype acc, int isa)
{
    const tl_kernel *k = find_kernel(op->lowers, op->wide, acc, isa);
    if (k && k->lower_rows) return k;

    for (const tl_kernel_table *t = isas[isa].table; t->file; t++)
        if (!strcmp(t->file, op->lowers))
            for (const tl_kernel *const *r = t->kernels; *r; r++)
                if ((*r)->wide == op->wide && (*r)->acc == acc && (*r)->out == op->out &&
                    (*r)->lower_rows)
                    return *r;
    return NULL;
}

const tl_convert *tl_find_convert(const tl_convert *list, int kind, tally_dtype from,
                                  tally_dtype to)
{
    for (const tl_convert *c = list; c->apply; c++)
        if (c->kind == kind && c->from == from && c->to == to) return c;
    return NULL;
}

tl_plan tl_plan_begin(const tl_scalar *op, tl_par par, int isa)
{
    return (tl_plan){.op = op,
                     .transpose = isas[isa].transpose,
                     .mask = isas[isa].mask,
                     .converts = isas[isa].converts,
                     .par = par};
}

/* The path of narrow.h for a plan that can take it. loops: one for each kind of element. */
static void take_narrow(tl_plan *plan, const tl_narrow *loops)
{
    const tl_scalar *op = plan->op;
    const int high = op->widen == TL_WIDEN_HIGH;

    if (!op->extreme || op->elem_bytes > 2 || op->state_bytes != op->elem_bytes ||
        op->out != op->dtype || op->lanes != 1 || plan->par.marked || plan->fold == plan->core ||
        !(high || op->widen == TL_WIDEN_LOW))
        return;

    const int floats = op->dtype == TALLY_F16 || op->dtype == TALLY_BF16,
              sign = floats || op->dtype == TALLY_I8 || op->dtype == TALLY_I16;
    const unsigned top = 1u << (8 * op->elem_bytes - 1), ones = 2 * top - 1, up = sign ? top : 0;
    plan->keys = (tl_keying){.flip = (uint16_t)(op->extreme > 0 ? up : up ^ ones)};

    if (floats) {
        const int half = op->dtype == TALLY_F16;
        plan->keys.inf = half ? 0x7c00 : 0x7f80;
        plan->keys.missing = half ? 0x7e00 : 0x7fc0;
        plan->keys.nan = (op->extreme > 0) == high ? 0xffff : 0;
    }

    plan->narrow = &loops[floats ? 2 : op->elem_bytes - 1];
}

void tl_plan_kernels(tl_plan *plan, const tl_scalar *op, tl_par par, int isa)
{
    /* the instance of the kernels: f32 for f32, u64 for u64 */
    const tally_dtype acc = op->widen == TL_WIDEN_REAL ? op->wide : op->acc;

    *plan = tl_plan_begin(op, par, isa);
    if (tl_exact_form_of(op)) {
        plan->exact = isas[isa].exact;
        if (!tl_exact_form_of(op)->whole)
            plan->in = tl_find_convert(plan->converts, TL_WIDEN_REAL, op->dtype,
                                       tl_dtype_kind(op->dtype) == 'F' ? TALLY_F32 : TALLY_F64);
        return;
    }

    const tl_kernel *lower = find_lower(op, acc, isa),
                    *native = find_kernel(op->file, op->dtype, op->acc, isa);
    plan->core = find_kernel(op->core, op->wide, acc, isa);
    plan->lower = native && native->lower_rows ? native : lower ? lower : plan->core;
    const int kind = !par.marked                  ? op->widen
                     : op->widen == TL_WIDEN_LOW  ? TL_WIDEN_LOW_MARK
                     : op->widen == TL_WIDEN_HIGH ? TL_WIDEN_HIGH_MARK
                                                  : op->widen;
    plan->in = tl_find_convert(plan->converts, kind, op->dtype, op->wide);
    if (op->out == op->dtype && op->wide != op->dtype && plan->lower != native)
        plan->out = tl_find_convert(plan->converts, op->widen, op->wide, op->dtype);
    int flips = plan->core && plan->core->flips && op->wide != op->dtype && !plan->in;
    plan->par.flip = flips ? (int64_t)(UINT64_C(1) << (8 * op->elem_bytes - 1)) : 0;
    /* Without a fold of its elements, that of its core. Nan forms lift them otherwise. */
    const tl_kernel *fold = native;
    if (native && !native->fold && !op->masked)
        fold = find_kernel(op->core, op->dtype, op->acc, isa);
    plan->fold = fold && fold->fold && !par.marked ? fold : plan->core;
    plan->fold_in = plan->fold == fold ? NULL : plan->in;
    take_narrow(plan, isas[isa].narrow);
}

/* Changes the plan of windows of w integers to f64, if every sum of w elements is exact there. op:
 * memory for the changed operator, for as long as the plan is used. */
void tl_plan_floats(tl_plan *plan, int64_t w, tl_scalar *op)
{
    const tl_scalar *const integers = plan->op;
    int isa = 0;
    if (!integers->floats || integers->elem_bytes > 4 || w >> (53 - 8 * integers->elem_bytes) ||
        plan->in !=
            tl_find_convert(plan->converts, integers->widen, integers->dtype, integers->wide))
        return;
    while (isa < ISAS - 1 && isas[isa].converts != plan->converts) isa++;
    assert(isas[isa].converts == plan->converts);
    *op = *tl_form_of_f64(integers);
    op->dtype = integers->dtype;
    op->elem_bytes = integers->elem_bytes;
    tl_plan_kernels(plan, op, plan->par, isa);
}
