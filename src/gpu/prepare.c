/* SPDX-License-Identifier: MIT
 * Prepares the elements of views with validity, or of two inputs, for the kernels:
 * gpu/kernel/inputs/prepare.cl writes dense arrays on the device. Any shape takes them as a view
 * without bitmaps. */
#include "work.h"
#include "dtype/number.h"
#include "exact/exact.h"
#include "gpu/kernel/constants.h"
#include <stdlib.h>

/* ---- inputs ---- */

int64_t tl_gpu_type(tally_dtype d)
{
    const char kind = tl_dtype_kind(d);
    const int of = d == TALLY_BF16 ? KIND_BFLOAT
                   : kind == 'F'   ? KIND_FLOAT
                   : kind == 'U'   ? KIND_UNSIGNED
                                   : KIND_SIGNED;
    return TYPE(of, (int)tally_dtype_size(d));
}

static const char HOST_DATA[] =
    "bitmaps or elements are in host memory: copy them to the device before";

/* Opens only the bitmap of v. */
static tally_status open_bits(tl_gpu_device *d, const tally_view *v, tl_gpu_input *s)
{
    int64_t low, high;
    if (!v->valid) return TALLY_OK;
    tl_view_extent(v, 1, &low, &high);
    const int64_t first = (v->valid_offset + low) >> 3,
                  end = ((v->valid_offset + high - 1) >> 3) + 1;
    const tally_status status =
        tl_array_open(d, v->valid + first, end - first, HOST_DATA, &s->bits);
    s->bit =
        8 * (s->bits.byte - first) + v->valid_offset + (v->offsets ? v->offsets[0] * v->stride : 0);

    return status;
}

static tally_status open_source(tl_gpu_device *d, const tally_view *v, int across, tl_gpu_input *s)
{
    const int64_t bytes = (int64_t)tally_dtype_size(v->dtype);
    int64_t low, high;

    *s = (tl_gpu_input){.type = tl_gpu_type(v->dtype)};
    s->inner = across ? v->row_stride : v->stride;
    s->outer = across ? v->stride : v->row_stride;
    tl_view_extent(v, bytes, &low, &high);
    const tally_status status =
        tl_array_open(d, tl_offset(v->data, low), high - low, HOST_DATA, &s->data);
    s->data.byte += (v->offsets ? v->offsets[0] * v->stride * bytes : 0) - low;
    return status ? status : open_bits(d, v, s);
}

static void close_source(tl_gpu_device *d, tl_gpu_input *s)
{
    tl_array_close(d, &s->data);
    tl_array_close(d, &s->bits);
}

/* ---- prepared elements ---- */

typedef struct {
    int64_t inner, total; /* elements of a row; elements of all rows */
    /* rows lie across (columns): all first elements come first, then all second ones */
    int across;
} layout;

static layout layout_of(const tally_view *in)
{
    if (in->offsets) {
        const int64_t all = in->offsets[in->rows] - in->offsets[0];
        return (layout){all, all, 0};
    }
    const int across = tl_is_across(in);
    return (layout){across ? in->rows : in->n, in->rows * in->n, across};
}

static tally_view view_of(const tally_view *in, const layout *l, const tl_memory *m,
                          tally_dtype dtype, int64_t bytes)
{
    return (tally_view){
        .data = tl_offset((void *)(uintptr_t)m->address, in->offsets ? -in->offsets[0] * bytes : 0),
        .dtype = dtype,
        .rows = in->rows,
        .n = in->n,
        .row_stride = l->across ? 1 : in->n,
        .stride = l->across ? in->rows : 1,
        .offsets = in->offsets};
}

static tally_status launch(tl_gpu_device *d, const tl_call *c, const layout *of,
                           const tl_gpu_input *s, const tl_prepared *p)
{
    const tl_form *const form = c->form;
    const tally_view *const in = c->in;
    const tl_gpu_input *const x = &s[0], *const y = &s[1]; /* y is empty if there is one input */
    const tally_view *const other = in->next;
    tl_launch l;
    const int64_t flags =
        (form->kind == TL_FORM_MARK ? PREPARE_QUIET : 0) |
        (form->named->masked ? PREPARE_MASKED : 0) |
        (form->kind == TL_FORM_BLANK && tl_exact_form_of(form->op) ? PREPARE_ZEROS : 0);
    /* false: all elements are one row */
    const int rows = of->inner < of->total && (x->outer != of->inner * x->inner ||
                                               (other && y->outer != of->inner * y->inner));
    /* one program for all calls */
    TL_TRY(tl_gpu_program(d, p->count_plan.op, "prepare", &l));

    return TL_GO(
        &l, prepare, (of->total + PREPARE_THREADS - 1) / PREPARE_THREADS,
        .x_source =
            TL_ARGUMENTS(x_source, .x_data = x->data.memory.handle, .x_byte = x->data.byte,
                         .x_inner = x->inner, .x_outer = x->outer, .x_type = x->type,
                         .x_bits = in->valid ? x->bits.memory.handle : NULL, .x_bit = x->bit),
        .y_source = TL_ARGUMENTS(
            y_source, .y_data = other ? y->data.memory.handle : NULL, .y_byte = y->data.byte,
            .y_inner = y->inner, .y_outer = y->outer, .y_type = y->type,
            .y_bits = other && other->valid ? y->bits.memory.handle : NULL, .y_bit = y->bit),
        .count = of->total, .inner = rows ? of->inner : of->total, .flags = flags,
        .to_type = tl_gpu_type(form->op->dtype), .fill = (int64_t)form->fill,
        .to = p->memory.handle, .counts = p->counted ? p->counts.handle : NULL);
}

int tl_is_counted(const tl_call *c)
{
    return c->verb == TL_WINDOW && c->window->min_count > 0 &&
           (c->form->kind != TL_FORM_PLAIN || c->form->named->masked);
}

tally_status tl_prepare(tl_gpu_device *d, const tl_call *c, int counted, tl_prepared *p)
{
    const tl_form *const form = c->form;
    const tally_view *const in = c->in;
    const layout l = layout_of(in);
    const tl_scalar *op;
    tl_gpu_input s[2] = {{.inner = 0}};
    int64_t bytes;

    *p = (tl_prepared){.count_plan = *c->count, .counted = counted};
    tally_status status = TALLY_OK;
    TL_TRY(tl_gpu_plan(&d->base, d->ctx, form->op, form->par, TL_FOR_DEVICE, &p->plan));
    TL_TRY(tl_gpu_variant(d, form->op, form->par.marked, &op));

    p->plan.op = op;
    if (__builtin_mul_overflow(l.total, (int64_t)op->elem_bytes, &bytes))
        return tl_no_memory(d->ctx, SIZE_MAX, "a dense copy of the elements");
    for (const tally_view *v = in; !status && v; v = v->next)
        status = open_source(d, v, l.across, &s[v != in]);
    if (!status) status = tl_gpu_take(d, (size_t)bytes, &p->memory);
    if (!status && counted) status = tl_gpu_take(d, (size_t)l.total, &p->counts);
    if (!status) status = launch(d, c, &l, s, p);
    close_source(d, &s[0]);
    close_source(d, &s[1]);
    if (status) return status;

    p->view = view_of(in, &l, &p->memory, form->op->dtype, op->elem_bytes);
    if (counted) p->count_view = view_of(in, &l, &p->counts, TALLY_U8, 1);

    return TALLY_OK;
}

void tl_prepared_close(tl_gpu_device *d, tl_prepared *p)
{
    tl_gpu_give(d, &p->memory);
    tl_gpu_give(d, &p->counts);
}

/* ---- in place ---- */

/* True if the first element of a dense view is aligned to its size. Kernels read only such elements
 * contiguously. */
static int is_aligned(tl_gpu_device *d, const tally_view *v)
{
    tl_array a;
    return !tl_gpu_find(d, v->data, &a) || /* a copy is aligned */
           (a.memory.address + (uint64_t)a.byte) % tally_dtype_size(v->dtype) == 0;
}

/* Scans of class X by lines (scan_part.cl), windows of class X, long windows, and windows whose
 * elements are counted read only dense elements. */
static int verb_takes(const tl_gpu_device *d, const tl_call *c)
{
    const tl_scalar op = tl_gpu_variant_of(c->form->op, c->form->par.marked);
    if (c->verb == TL_SCAN)
        return !c->scan->reverse && (c->in->n < CHUNK || !(op.exact && tl_gpu_scans_lines(&op)));
    if (c->verb != TL_WINDOW) return 1;
    return !op.exact && !tl_is_counted(c) &&
           c->window->before + c->window->after <
               (int64_t)1 << (tl_gpu_window_tuning(&op, d->gpu->calls->prelude).cut_log - 1);
}

int tl_in_place_takes(tl_gpu_device *d, const tl_call *c)
{
    const tally_view *const in = c->in;
    const tl_form *const form = c->form;
    for (const tally_view *v = in; v; v = v->next)
        if (v->dtype != form->op->dtype || v->stride != 1 ||
            (v->rows > 1 && v->row_stride != in->row_stride) || !is_aligned(d, v))
            return 0;
    return !in->offsets && form->kind != TL_FORM_STATES &&
           !(in->rows > 1 && llabs(in->row_stride) < in->n) && verb_takes(d, c);
}

tally_status tl_in_place_open(tl_gpu_device *d, const tl_form *form, const tally_view *in,
                              tl_in_place *p, tl_batch *b)
{
    const tl_scalar *op;
    *p = (tl_in_place){.fill = (int64_t)form->fill,
                       .bits = in->valid || (in->next && in->next->valid)};
    *b = (tl_batch){0};
    TL_TRY(tl_gpu_plan(&d->base, d->ctx, form->op, form->par, TL_FOR_DEVICE, &p->plan));
    TL_TRY(tl_gpu_variant(d, form->op, form->par.marked, &op));
    TL_TRY(tl_batch_open(d, &p->plan, in, b));

    p->plan.op = op;
    b->plan = &p->plan;
    b->in_place = p;
    tally_status status = open_bits(d, in, &p->x);
    p->y = p->x;
    p->y.data = b->x;
    p->y.data.owned = p->y.bits.owned = 0;
    if (!status && in->next) status = open_source(d, in->next, 0, &p->y);

    /* one bitmap serves as both; the input that has it owns it */
    if (in->next && !in->valid) p->x.bits = p->y.bits, p->x.bit = p->y.bit, p->x.bits.owned = 0;
    if (in->next && !in->next->valid)
        p->y.bits = p->x.bits, p->y.bit = p->x.bit, p->y.bits.owned = 0;

    return status;
}

void tl_in_place_close(tl_gpu_device *d, tl_in_place *p)
{
    tl_array_close(d, &p->x.bits);
    close_source(d, &p->y);
}
