/* SPDX-License-Identifier: MIT
 * What hosts and kernels need to know of an operator: the form in which kernels see it, the bytes
 * of its states on a device, and the sizes of its kernels. */
#include "context/user.h"
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <limits.h>
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

/* ---- sizes, chosen by measurement: of each table the first row holds that fits ---- */

/* Scans in one launch on CUDA: log2 of the elements of a tile, and the thread blocks of a
 * multiprocessor, which bounds their registers; in the program "scan", and of the smallest tiles of
 * "scan_wave". The forms of kernel/scan_part.cl:
 *
 *   LINES   a lane scans contiguous lines of 16 bytes
 *   TREE    the lanes fold rows of 128 elements
 *
 * An operator that fits no row is scanned in several launches. */
static const struct {
    enum { TREE, LINES } form;
    int element_most, state_most; /* bytes */
    tl_scan_tile large, wave;
} scan_tiles[] = {
    /* clang-format off */
    {LINES, 1,  4, {15, 2}, {12, 3}},
    {LINES, 1, 16, {15, 2}, {12, 2}},
    {LINES, 2,  4, {14, 2}, {12, 3}},
    {LINES, 2, 16, {14, 2}, {12, 2}},
    {LINES, 4,  4, {13, 2}, {12, 3}},
    {LINES, 4, 16, {13, 2}, {12, 2}},
    {LINES, 8,  8, {12, 2}, {12, 2}},
    {LINES, 8, 16, {12, 2}, {11, 2}},
    {TREE,  4,  4, {13, 2}, {12, 3}},
    {TREE,  8,  8, {12, 2}, {12, 2}},
    {TREE,  8, 16, {12, 2}, {11, 2}},
    {TREE, 16,  4, {11, 2}, {11, 3}},
    {TREE, 16, 16, {11, 2}, {11, 2}},
    /* clang-format on */
};

tl_scan_tile tl_gpu_scan_tile(const tl_scalar *op, int wave)
{
    const unsigned form = tl_gpu_scans_lines(op) ? LINES : TREE;
    const int state = tl_gpu_state_bytes(op);
    for (size_t i = 0; i < sizeof scan_tiles / sizeof *scan_tiles; i++)
        if (scan_tiles[i].form == form && op->elem_bytes <= scan_tiles[i].element_most &&
            state <= scan_tiles[i].state_most)
            return wave ? scan_tiles[i].wave : scan_tiles[i].large;
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

/* Windows (gpu/kernel/window/).
 *
 *   cut      log2 of the items of a tile of the schedule `cut`
 *   quads    log2 of the items of a tile of `quads`; wide: of such tiles in programs of long
 *            windows and columns. An array has 16 KiB on CUDA (wide: up to 32), and 8 KiB or more
 *            on OpenCL, where NVIDIA's has 48 KiB for a block: a quad for each thread
 *   radix    log2 of the radix of passes, 4 or 5; 0: this device has none
 *   run      items of a thread in passes; odd
 *   passes   windows from which passes are faster than quads
 *   walk     the highest bit of windows that walks take, whose states fit in registers and local
 *            memory; 0: this device has no walks
 *   part     levels of the parts of windows that take three walks; most: where these would leave
 *            too many levels; nodes: the highest level of walks of nodes */
static const struct {
    enum { OPENCL, CUDA } device;
    int state; /* bytes */
    tl_window_tuning t;
} window_rows[] = {
    /* clang-format off */
    /*device  state     cut quads wide rdx run passes walk part most nodes */
    {CUDA,   4,        {11, 12, 12,   5,  35,  256,    14,   8,    9,    10}},
    {CUDA,   8,        {11, 11, 11,   4,  17,  64,     13,   8,    9,    10}},
    {CUDA,   16,       {10, 10, 11,   0,  0,   0,      12,   5,    8,    8}},
    {CUDA,   24,       {10, 10, 10,   0,  0,   0,      9,    5,    7,    7}},
    {CUDA,   INT_MAX,  {9,  10, 10,   0,  0,   0,      0,    0,    0,    0}},
    {OPENCL, 4,        {11, 11, 11,   4,  17,  256,    0,    0,    0,    0}},
    {OPENCL, 8,        {11, 10, 10,   0,  0,   0,      0,    0,    0,    0}},
    {OPENCL, 24,       {10, 10, 10,   0,  0,   0,      0,    0,    0,    0}},
    {OPENCL, INT_MAX,  {9,  10, 10,   0,  0,   0,      0,    0,    0,    0}},
    /* clang-format on */
};

tl_window_tuning tl_gpu_window_tuning(const tl_scalar *op, const char *prelude)
{
    const unsigned device = tl_is_cuda(prelude) ? CUDA : OPENCL;
    const int bytes = tl_gpu_state_bytes(op);
    size_t i = 0;
    while (window_rows[i].device != device || window_rows[i].state < bytes) i++;
    assert(i < sizeof window_rows / sizeof *window_rows);

    return window_rows[i].t;
}
