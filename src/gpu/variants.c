/* SPDX-License-Identifier: MIT
 * Operators as the kernels see them, if that differs (tl_gpu_variant_of). The device keeps each
 * variant, because programs are cached under its address. */
#include "work.h"
#include <stdlib.h>

struct tl_variant {
    tl_scalar op;
    const tl_scalar *of;
    struct tl_variant *next;
};

tl_scalar tl_gpu_variant_of(const tl_scalar *op, int marked)
{
    tl_scalar v = *op;
    v.elem_bytes = (uint8_t)(op->elem_bytes * op->inputs);
    if (marked) v.masked = TL_MASKED_MARK;
    return v;
}

tally_status tl_gpu_variant(tl_gpu_device *d, tally *ctx, const tl_scalar *op, int marked,
                            const tl_scalar **to)
{
    const int masked = marked ? TL_MASKED_MARK : op->masked;
    *to = op;
    if (op->inputs == 1 && !marked) return TALLY_OK;

    for (const tl_variant *v = d->variants; v; v = v->next)
        if (v->of == op && v->op.masked == masked) {
            *to = &v->op;
            return TALLY_OK;
        }

    tl_variant *v = malloc(sizeof *v);
    if (!v) return tl_no_memory(ctx, sizeof *v, "an operator");

    *v = (tl_variant){tl_gpu_variant_of(op, marked), op, d->variants};
    d->variants = v;
    *to = &v->op;

    return TALLY_OK;
}

void tl_gpu_drop_variants(tl_gpu_device *d)
{
    while (d->variants) {
        tl_variant *next = d->variants->next;
        free(d->variants);
        d->variants = next;
    }
}
