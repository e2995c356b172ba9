/* SPDX-License-Identifier: MIT
 * Elements with validity, and pairs (inputs.h). */
#include "inputs.h"
#include "context/view.h"
#include "cpu/shape.h"
#include "cpu/lanes.h"
#include "dtype/dtype_traits.h"
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* elements that are prepared at a time, and their bytes */
enum { PIECE = 512, PIECE_BYTES = PIECE * 8 };

/* m elements of each input before they are prepared, and their validity bits. */
typedef struct {
    const char *x[2];
    tl_bits bits[2];
} raw;

/* ---- preparing ---- */

/* -0 becomes +0 in n numbers of `bytes` bytes. */
static void unsign(char *x, int64_t bytes, int64_t n)
{
#define UNSIGN(type, zero) \
    for (int64_t i = 0; bytes == sizeof(type) && i < n; i++) { \
        type v; \
        memcpy(&v, x + i * (int64_t)sizeof v, sizeof v); \
        v = v == (zero) ? 0 : v; \
        memcpy(x + i * (int64_t)sizeof v, &v, sizeof v); \
    }
    UNSIGN(uint16_t, 0x8000)
    UNSIGN(uint32_t, 0x80000000)
    UNSIGN(uint64_t, 0x8000000000000000)
#undef UNSIGN
}

/* Prepares m elements of input k, absent ones like the others. */
static void one_input(const tl_gather *g, int k, const char *x, int64_t m, char *to)
{
    if (g->zeros) {
        memset(to, 0, (size_t)(m * g->bytes));
        return;
    }
    if (g->of[k].in)
        g->of[k].in->apply(g->of[k].in, to, x, m);
    else
        memcpy(to, x, (size_t)(m * g->bytes));
    if (g->quiet) g->mask->quiet(to, to, g->dtype, m);
    if (g->unsign && k == 0) unsign(to, g->bytes, m);
}

/* Prepares m elements: the first input to `to`, where g->fill replaces absent ones. */
static void prepare(const tl_gather *g, const raw *r, int64_t m, char *to, char *second)
{
    assert(0 < m && m <= PIECE);
    const char *x = r->x[0];
    if (g->of[0].in || g->quiet || g->unsign || g->zeros || g->joined)
        one_input(g, 0, x, m, to), x = to;
    if (g->joined) { /* counts: NaN if one of the two inputs is missing */
        _Alignas(64) float other[PIECE];
        float *one = (float *)to;
        one_input(g, 1, r->x[1], m, (char *)other);

        /* Chosen, not added: inf - inf would be a NaN too. */
        for (int64_t i = 0; i < m; i++) one[i] = other[i] == other[i] ? one[i] : other[i];
        x = to;
    } else if (second) {
        one_input(g, 1, r->x[1], m, second);
    }

    for (int k = 0; k < g->inputs; k++)
        if (r->bits[k].valid) {
            g->mask->mask(to, x, (int)g->bytes, r->bits[k], m, g->fill);
            x = to;
        }

    if (x != to) memcpy(to, x, (size_t)(m * g->bytes));
}

static raw raw_at(const tl_gather *g, int64_t place)
{
    raw r = {0};
    for (int k = 0; k < g->inputs; k++) {
        const tl_source *s = &g->of[k];
        r.x[k] = s->data + place * s->bytes;
        r.bits[k] = (tl_bits){s->valid, s->offset + place};
    }
    return r;
}

/* The kernels' loops have the address of the conversion only. */
_Static_assert(offsetof(tl_gather, convert) == 0, "a gather begins with its conversion");

/* Prepares n elements from the address `from` on, a piece at a time, and converts them to the
 * kernels' type. second: NULL: there is one input. */
static void apply_two(const tl_convert *c, void *to, void *second, const void *from, int64_t n)
{
    const tl_gather *g = (const tl_gather *)c;
    const int64_t place = ((const char *)from - g->of[0].data) / g->of[0].bytes;

    assert(((const char *)from - g->of[0].data) % g->of[0].bytes == 0);
    _Alignas(64) char prepared_piece[2][PIECE_BYTES];
    char *x = to, *y = second;

    for (int64_t at = 0, m; at < n; at += m) {
        m = tl_min(n - at, PIECE);
        const raw r = raw_at(g, place + at);
        if (g->late) { /* one input, whose blank is known in the kernels' type only */
            const int64_t bytes = g->convert.to_bytes;
            g->convert.then->apply(g->convert.then, x + at * bytes, r.x[0], m);
            g->mask->mask(x + at * bytes, x + at * bytes, (int)bytes, r.bits[0], m, g->fill);
            continue;
        }

        if (!g->convert.then) {
            prepare(g, &r, m, x + at * g->bytes, y ? y + at * g->bytes : NULL);
            continue;
        }

        prepare(g, &r, m, prepared_piece[0], y ? prepared_piece[1] : NULL);
        g->convert.then->apply(g->convert.then, x + at * g->convert.then->to_bytes,
                               prepared_piece[0], m);
        if (y)
            g->convert.then->apply(g->convert.then, y + at * g->convert.then->to_bytes,
                                   prepared_piece[1], m);
    }
}

static void apply(const tl_convert *c, void *to, const void *from, int64_t n)
{
    apply_two(c, to, NULL, from, n);
}

static int is_absent(const raw *r, int64_t i)
{
    int none = 0;
    for (int k = 0; k < 2; k++)
        none |= r->bits[k].valid && !tl_bit(r->bits[k].valid, r->bits[k].bit + i);
    return none;
}

/* tl_exact_form.absent, for integers without a blank. */
static void absent(const tl_convert *c, unsigned char *to, const void *from, int64_t n)
{
    const tl_gather *g = (const tl_gather *)c;
    const raw r = raw_at(g, ((const char *)from - g->of[0].data) / g->of[0].bytes);
    for (int64_t i = 0; i < n; i++) to[i] = (unsigned char)is_absent(&r, i);
}

/* ---- plans ---- */

/* The conversion from a type to a type that has all of its values; NULL: they are the same. I64 and
 * U64 share one, which extends the sign of signed integers. */
static const tl_convert *widening(const tl_plan *plan, tally_dtype from, tally_dtype to)
{
    if (from == to) return NULL;
    return tl_find_convert(plan->converts, TL_WIDEN_REAL, from, to == TALLY_I64 ? TALLY_U64 : to);
}

static void begin(tl_gather *g, const tl_form *form, const tally_view *in, const tl_plan *plan)
{
    const tl_exact_form *const exact = tl_exact_form_of(form->op);
    *g = (tl_gather){.inputs = form->op->inputs,
                     .mask = plan->mask,
                     .dtype = form->op->dtype,
                     .bytes = form->op->elem_bytes,
                     .fill = form->fill,
                     .quiet = form->kind == TL_FORM_MARK,
                     .late = form->late,
                     .unsign = form->kind == TL_FORM_BLANK && exact && !exact->whole,
                     .whole = form->absent && exact && exact->whole};
    for (const tally_view *v = in; v; v = v->next)
        g->of[v != in] = (tl_source){v->data, (int64_t)tally_dtype_size(v->dtype),
                                     widening(plan, v->dtype, g->dtype), v->valid, v->valid_offset};
}

/* Makes the plan read elements of `dtype`, of of[0].bytes bytes, through g, which prepares them and
 * then converts them as the plan did. */
static void read_through(tl_gather *g, tl_plan *plan, tally_dtype dtype, int masked)
{
    const tl_convert *then = plan->in;
    const tl_exact_form *exact = tl_exact_form_of(plan->op);
    tl_scalar *op = &g->op.scalar;

    if (exact)
        g->op = *exact;
    else
        *op = *plan->op;

    op->elem_bytes = (uint8_t)g->of[0].bytes;
    op->dtype = dtype;
    if (!exact) op->masked = (uint8_t)masked;
    g->convert = (tl_convert){.from = dtype,
                              .to = plan->op->wide,
                              .from_bytes = (int)g->of[0].bytes,
                              .to_bytes = then ? then->to_bytes : (int)g->bytes,
                              .then = then,
                              .apply = apply,
                              .apply_two = apply_two};
    plan->op = op;
    plan->in = plan->fold_in = &g->convert;
    plan->fold = plan->core;
    plan->narrow = NULL;
    assert(g->convert.from_bytes > 0 && g->convert.to_bytes > 0);
}

int tl_gather_reads(const tally_view *in, const tally_view *out, int reverse)
{
    for (const tally_view *v = in; v; v = v->next)
        if (v->stride != 1 || (!v->offsets && v->rows > 1 && v->row_stride != v->n)) return 0;
    return !reverse && (!out || out->stride == 1);
}

void tl_gather_direct(tl_gather *g, const tl_form *form, const tally_view *in, tl_plan *plan)
{
    begin(g, form, in, plan);
    const tl_plan as_it_is = *plan;
    const int masked = form->op->masked || form->absent,
              as_stored = form->kind == TL_FORM_PLAIN && !g->of[0].in && !g->of[1].in;
    read_through(g, plan, in->dtype, masked);
    g->op.leaves_out = form->absent != 0;
    g->op.absent = g->whole ? absent : NULL;
    if (plan->exact || !as_stored || (in->next && as_it_is.in)) return;

    /* nothing to prepare: kernels read the elements themselves */
    *plan = as_it_is;
    plan->op = &g->op.scalar;
    if (in->next) plan->par.second = (int64_t)((uintptr_t)in->next->data - (uintptr_t)in->data);
}

/* Makes g prepare what count reads: 0, or NaN for a missing element. */
static void begin_counts(tl_gather *g, const tl_form *form, const tally_view *in,
                         const tl_plan *plan)
{
    begin(g, form, in, plan);
    g->zeros = !form->named->masked;
    g->quiet = g->unsign = g->late = 0;
    g->dtype = TALLY_F32;
    g->bytes = sizeof(float);
    g->fill = 0x7fc00000;

    for (int k = 0; k < g->inputs; k++) {
        const tally_dtype d = k ? in->next->dtype : in->dtype;
        g->of[k].in =
            d == TALLY_F32 ? NULL : tl_find_convert(plan->converts, TL_WIDEN_NUMBER, d, TALLY_F32);
    }
    g->joined = g->inputs == 2 && !g->zeros;
}

/* Makes *plan, of operator count on f32, count the elements that a plan of `form` folds
 * (min_count). */
static void gather_count(tl_gather *g, const tl_form *form, const tally_view *in, tl_plan *plan)
{
    begin_counts(g, form, in, plan);
    read_through(g, plan, in->dtype, 1);
}

/* The conversion of gather_copied_counts: copies the counts of these elements (of[1]). */
static void apply_counts(const tl_convert *c, void *to, const void *from, int64_t n)
{
    const tl_gather *g = (const tl_gather *)c;
    const int64_t place = ((const char *)from - g->of[0].data) / g->of[0].bytes;
    memcpy(to, g->of[1].data + place * (int64_t)sizeof(float), (size_t)n * sizeof(float));
}

/* gather_count if the plan reads dense copies, which have their counts in `counts`. */
static void gather_copied_counts(tl_gather *g, const tl_gathered *dense, const tl_gathered *counts,
                                 tl_plan *plan)
{
    *g = (tl_gather){.inputs = 1, .dtype = TALLY_F32, .bytes = sizeof(float)};
    g->of[0] = (tl_source){.data = dense->view.data,
                           .bytes = (int64_t)tally_dtype_size(dense->view.dtype)};
    g->of[1] = (tl_source){.data = counts->view.data};
    read_through(g, plan, dense->view.dtype, 1);
    g->convert.apply = apply_counts;
}

/* ---- dense copies ---- */

/* Copies of m elements without gaps, and of their bits. */
typedef struct {
    _Alignas(64) char x[PIECE_BYTES];
    unsigned char bits[PIECE / 8];
} packed;

/* Packs the m elements of v from `place` on, `step` apart; returns their bits. */
static tl_bits pack(packed *to, const tally_view *v, int64_t place, int64_t step, int64_t m)
{
    const int64_t bytes = (int64_t)tally_dtype_size(v->dtype);
    const tl_bits from = {v->valid, v->valid_offset + place};

    assert(0 < m && m <= PIECE);
    tl_copy_strided(to->x, 1, (const char *)v->data + place * bytes, step, m, bytes);
    if (!v->valid || step == 1) return from;
    memset(to->bits, 0, sizeof to->bits);
    for (int64_t j = 0; j < m; j++)
        tl_set_bit(to->bits, j, tl_bit(from.valid, from.bit + j * step));

    return (tl_bits){to->bits, 0};
}

/* Where prepared elements go: of the first input; of the second, or NULL; the bitmap of those
 * present, or NULL. */
typedef struct {
    char *x, *y;
    unsigned char *valid;
} copies;

/* Prepares a row, a piece at a time. Its first element goes to place `at`. */
static void copy_row(const tl_gather *g, const tally_view *in, int64_t row, int reverse,
                     const copies *to, int64_t at)
{
    const int64_t n = tl_view_length(in, row);
    for (int64_t done = 0, m; done < n; done += m, at += m) {
        packed buffer[2];
        raw r = {0};
        m = tl_min(n - done, PIECE);
        for (const tally_view *v = in; v; v = v->next) {
            const int k = v != in;
            const int64_t place = (reverse ? n - 1 - done : done) * v->stride;
            r.bits[k] = pack(&buffer[k], v, tl_view_first(v, row) + place,
                             reverse ? -v->stride : v->stride, m);
            r.x[k] = buffer[k].x;
        }

        prepare(g, &r, m, to->x + at * g->bytes, to->y ? to->y + at * g->bytes : NULL);
        for (int64_t i = 0; to->valid && i < m; i++)
            tl_set_bit(to->valid, at + i, !is_absent(&r, i));
    }
}

/* Makes *dense the prepared elements of `in`, row after row, each reversed if `reverse`. pairs: of
 * both inputs. Bits are copied too if the elements have no blank (g.whole). */
static tally_status copy(tally *ctx, const tl_gather *gather, const tally_view *in, int reverse,
                         int pairs, tl_gathered *dense)
{
    const tl_gather g = *gather;
    const int64_t zero = in->offsets ? in->offsets[0] : 0, total = tl_view_elements(in);
    const int64_t bitmap = g.whole ? total / 8 + 1 : 0;
    int64_t bytes;
    if (__builtin_mul_overflow(total, g.bytes * g.inputs, &bytes) ||
        __builtin_add_overflow(bytes, bitmap, &bytes))
        return tl_no_memory(ctx, SIZE_MAX, "a dense copy");
    dense->memory = malloc((size_t)(bytes ? bytes : 1));
    if (!dense->memory) return tl_no_memory(ctx, (size_t)bytes, "a dense copy of the elements");
    char *x = dense->memory, *y = pairs ? x + total * g.bytes : NULL;
    unsigned char *const valid = (unsigned char *)x + bytes - bitmap;
    memset(valid, 0, (size_t)bitmap);

    const copies to = {x, y, bitmap ? valid : NULL};
    for (int64_t row = 0, at = 0; row < in->rows; at += tl_view_length(in, row++))
        copy_row(&g, in, row, reverse, &to, at);

    for (int k = 0; k < (y ? 2 : 1); k++) {
        char *data = k ? y : x;
        *(k ? &dense->second : &dense->view) =
            (tally_view){.data = tl_offset(data, -zero * g.bytes),
                         .dtype = g.dtype,
                         .rows = in->rows,
                         .n = in->n,
                         .row_stride = in->n,
                         .stride = 1,
                         .offsets = in->offsets};
    }

    if (bitmap) dense->view.valid = valid, dense->view.valid_offset = -zero;

    return TALLY_OK;
}

tally_status tl_gather_dense(tally *ctx, const tl_form *form, const tally_view *in,
                             const tl_plan *plan, int reverse, tl_gathered *dense)
{
    tl_gather g;
    begin(&g, form, in, plan);
    return copy(ctx, &g, in, reverse, g.inputs == 2, dense);
}

tally_status tl_gather_numbers(tally *ctx, const tl_form *form, const tally_view *in,
                               const tl_plan *plan, int reverse, tl_gathered *dense)
{
    tl_gather g;
    begin_counts(&g, form, in, plan);
    return copy(ctx, &g, in, reverse, 0, dense);
}

void tl_gathered_free(tl_gathered *dense) { free(dense->memory); }

/* ---- prepared elements ---- */

tally_status tl_prepare_inputs(tl_prepared *p, tally *ctx, const tl_form *form,
                               const tally_view *in, tl_prepare_mode mode)
{
    const int states = form->kind == TL_FORM_STATES;
    if (!states && mode.in_place) {
        if (mode.counts) gather_count(&p->counting, form, in, &p->count);
        tl_gather_direct(&p->gather, form, in, &p->plan);
        p->work = *in;
        p->work.next = NULL;
        p->count_work = p->work;
        return TALLY_OK;
    }

    /* Columns are copied as the rows of the transposed view, in the order of memory. */
    const int exchanged = mode.exchange && !states && !in->next && tl_are_columns(in);
    const tally_view from = exchanged ? tl_view_transposed(in) : *in;
    TL_TRY(tl_gather_dense(ctx, form, &from, &p->plan, mode.reverse, &p->gathered));
    if (mode.counts || states)
        TL_TRY(tl_gather_numbers(ctx, form, &from, &p->plan, mode.reverse, &p->counts));

    p->work = exchanged ? tl_view_transposed(&p->gathered.view) : p->gathered.view;
    p->there = p->counts.memory;
    if (form->op->inputs == 2) p->work.next = &p->gathered.second;

    if (states) {
        if (p->work.next) /* bytes from an element of the first copy to its partner */
            p->plan.par.second = (int64_t)((uintptr_t)p->work.next->data - (uintptr_t)p->work.data);
    } else {
        tl_form ready = *form;
        ready.kind = TL_FORM_PLAIN;
        if (mode.counts && !mode.exchange)
            gather_copied_counts(&p->counting, &p->gathered, &p->counts, &p->count);
        tl_gather_direct(&p->gather, &ready, &p->work, &p->plan);
    }

    p->work.next = NULL;
    p->count_work = !mode.exchange ? p->work
                    : exchanged    ? tl_view_transposed(&p->counts.view)
                                   : p->counts.view;
    return TALLY_OK;
}

void tl_prepared_free(tl_prepared *p)
{
    tl_gathered_free(&p->gathered);
    tl_gathered_free(&p->counts);
}
