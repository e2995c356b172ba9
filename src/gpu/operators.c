/* SPDX-License-Identifier: MIT
 * What hosts and kernels need to know of an operator: the form in which kernels see it, the bytes
 * of its states on a device, and its rows of tuning.def. */
#include "context/user.h"
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int tl_gpu_state_bytes(const tl_scalar *op)
{
    int packed = op->state_bytes;
    if (op->user) return op->user->device_bytes;
    /* only f32 fields: no padding */
    const int reals = op->acc == TALLY_F32 && !op->masked && !op->indexed;
    return packed > 8 && !reals ? (packed + 7) / 8 * 8 : packed;
}

/* ---- variants: the device keeps each, because programs are cached under its address ---- */

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

tally_status tl_gpu_variant(tl_gpu_device *d, const tl_scalar *op, int marked, const tl_scalar **to)
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
    if (!v) return tl_no_memory(d->ctx, sizeof *v, "an operator");

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

/* ---- tuning.def ---- */

typedef struct {
    int lines, element_most, state_most; /* lines: of scan_part.cl */
    tl_scan_tile large, wave;
} scan_tiles;

static const scan_tiles scan_tile_table[] = {
#define LINES 1
#define TREE  0
#define SCAN_TILE(form, element_most, state_most, log, blocks, wave_log, wave_blocks) \
    {form, element_most, state_most, {log, blocks}, {wave_log, wave_blocks}},
#include "tuning.def"
#undef LINES
#undef TREE
};

tl_scan_tile tl_gpu_scan_tile(const tl_scalar *op, int wave)
{
    const int lines = tl_gpu_scans_lines(op), state = tl_gpu_state_bytes(op);
    for (size_t i = 0; i < sizeof scan_tile_table / sizeof *scan_tile_table; i++) {
        const scan_tiles *const t = &scan_tile_table[i];
        if (t->lines == lines && op->elem_bytes <= t->element_most && state <= t->state_most)
            return wave ? t->wave : t->large;
    }
    return (tl_scan_tile){0, 0};
}

/* Wide tables of elements of 4 bytes are faster by shorter strips. */
int tl_gpu_down_rows(const tl_scalar *op, int64_t columns)
{
    const int element = op->elem_bytes, state = tl_gpu_state_bytes(op);
    const int wide = element == 4 && columns > (state > 4 ? 32 : 64);
    if (element > 8 || state > 8) return 0;
    return element > 4 ? 16 : wide || (element < 4 && state > 4) ? 32 : 64;
}

int tl_gpu_scans_lines(const tl_scalar *op)
{
    const int same_size = op->result_bytes == op->elem_bytes;
    if (op->inputs != 1 || op->lanes != 1) return 0;
    return op->exact ? same_size || op->result_bytes == 8
                     : same_size && op->elem_bytes >= 4 && tl_gpu_state_bytes(op) <= op->elem_bytes;
}

/* These states (of var f32, not of argmax or var f64) leave registers for two blocks of `scan` on a
 * multiprocessor; others would spill. */
int tl_gpu_scans_in_steps(const tl_scalar *op)
{
    const int bytes = tl_gpu_state_bytes(op);
    const int widened = op->elem_bytes <= 4 && op->acc == TALLY_F64 && !op->exact;
    return bytes == 12 || (bytes == 16 && widened);
}

tl_window_tuning tl_gpu_window_tuning(const tl_scalar *op, const char *prelude)
{
    enum { OPENCL, CUDA };
    static const struct {
        int device, state, cut, quads, wide, radix, run;
        int64_t passes;
        int walk, part, part_most, nodes;
    } rows[] = {
#define WINDOW(...) {__VA_ARGS__},
#include "tuning.def"
    };
    const int bytes = tl_gpu_state_bytes(op), device = tl_is_cuda(prelude);
    size_t i = 0;
    while (rows[i].device != device || rows[i].state < bytes) i++;
    assert(i < sizeof rows / sizeof *rows);

    return (tl_window_tuning){.cut_log = rows[i].cut,
                              .quads_log = rows[i].quads,
                              .wide_log = rows[i].wide,
                              .radix_log = rows[i].radix,
                              .run = rows[i].run,
                              .passes_least = rows[i].passes,
                              .walk_top = rows[i].walk,
                              .part_log = rows[i].part,
                              .part_most = rows[i].part_most,
                              .nodes_top = rows[i].nodes};
}

int tl_gpu_has_shape(const tl_scalar *op, const char *shape, const char *prelude)
{
    if (!strcmp(shape, "window_passes")) return tl_gpu_window_tuning(op, prelude).radix_log > 0;
    if (shape[strcspn(shape, "0123456789")]) { /* walks, by their highest level */
        const tl_window_tuning t = tl_gpu_window_tuning(op, prelude);
        const int top = atoi(shape + strcspn(shape, "0123456789"));
        if (shape[7] == 'l') return !op->exact && (top == t.part_log || top == t.part_most);
        return top < 5 ? t.walk_top > 0
                       : !op->exact && top <= (shape[7] == 'n' ? t.nodes_top : t.walk_top);
    }
    if (!strcmp(shape, "window_slide")) return op->exact && op->inverse && tl_is_cuda(prelude);
    if (!strcmp(shape, "window_far")) return op->exact && tl_is_cuda(prelude);
    if (!strcmp(shape, "window_small"))
        return tl_gpu_window_tuning(op, prelude).quads_log > SMALL_QUADS_LOG;
    if (!strcmp(shape, "scan_wave")) return tl_gpu_scan_tile(op, 1).blocks != 0;
    return op->inputs == 1 || strcmp(shape, "grid");
}
