/* SPDX-License-Identifier: MIT
 * Nodes from views with validity or of two inputs (inputs.h). */
#include "inputs.h"
#include "context/view.h"
#include "cpu/shape.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int threads_of(const tally *ctx) { return ctx->device->threads; }

/* of elements that are prepared at a time, if there are many sequences */
enum { BLOCK_BYTES = 4 << 20 };

/* Has the nan form (op) the states of the operator (named), perhaps with a number of elements? Then
 * both take the same elements, or compute in f64, and the bytes agree. */
static int has_own_states(const tl_form *form)
{
    const tl_scalar *a = form->named, *b = form->op;
    const int same = b->dtype == a->dtype || a->acc == TALLY_F64;
    return same &&
           (b->state_bytes == a->state_bytes || b->state_bytes == a->state_bytes + sizeof(int64_t));
}

/* Do the states of the form end with a number of elements that the operator's states lack? */
static int keeps_count(const tl_form *form)
{
    return form->op->state_bytes != form->named->state_bytes;
}

void tl_feed_begin(tl_feed *f, const tl_scalar *named, tl_par par, int absent, int by_states)
{
    *f = (tl_feed){.counted = 0};
    tl_form_begin(&f->form, named, par, absent);
    const int kind = f->form.kind;

    /* a missing element is an element that changes nothing, so states need no counts */
    const int blank = kind == TL_FORM_BLANK && f->form.op == named;
    f->counted = kind == TL_FORM_MARK || kind == TL_FORM_STATES || (by_states && absent && !blank);

    /* step by step by the law, if asked for, or if the nan form has states of other fields */
    if (by_states || (kind == TL_FORM_MARK && !has_own_states(&f->form)))
        f->form = (tl_form){.kind = TL_FORM_STATES,
                            .named = named,
                            .op = named,
                            .par = par,
                            .fill = blank ? f->form.fill : 0,
                            .absent = absent};
}

/* Elements that are freed where the block ends; `prepare` follows at once. */
#define PREPARED(name) __attribute__((cleanup(tl_prepared_free))) tl_prepared name

static tally_status prepare(tally *ctx, const tl_feed *f, const tally_view *in, tl_prepared *r)
{
    *r = (tl_prepared){.plan = f->plan, .count = f->count};
    return tl_prepare_inputs(
        r, ctx, &f->form, in,
        (tl_prepare_mode){.in_place = in->rows == 1 && tl_gather_reads(in, NULL, 0),
                          .counts = f->counted && !keeps_count(&f->form),
                          .exchange = 1});
}

/* Converts a state of the form to a counted state of the law. kept: the number of its elements. */
static void to_law(const tl_form *form, const void *state, int64_t kept, tl_state *s)
{
    if (keeps_count(form))
        memcpy(&kept, (const char *)state + form->named->state_bytes, sizeof kept);
    memcpy(s, state, form->named->state_bytes);
    tl_set_kept(form->named, s, kept);
}

/* Fills rows first and up of the slab with the nodes of prepared rows, by kernels. */
static tally_status slab_by_kernels(tally *ctx, const tl_feed *f, const tl_prepared *r,
                                    tl_slab *slab, int64_t first)
{
    const int threads = threads_of(ctx), counts = f->counted && !keeps_count(&f->form);
    const int64_t rows = r->work.rows;
    const size_t bytes = f->form.op->state_bytes, states = (size_t)(slab->count * rows);
    TL_FREED unsigned char *const node_states = malloc(states * bytes + 1);
    TL_FREED int64_t *const kept = counts ? malloc(states * sizeof *kept + 1) : NULL;

    if (!node_states || (counts && !kept)) return tl_no_memory(ctx, states * bytes, "nodes");
    TL_TRY(tl_slab_nodes(ctx, &r->plan, threads, &r->work, slab, node_states));
    if (counts)
        TL_TRY(tl_slab_nodes(ctx, &r->count, threads, &r->count_work, slab, (unsigned char *)kept));
    for (int node = 0; node < slab->count; node++) {
        const size_t at = (size_t)(node * rows);
        if (!f->counted)
            memcpy(tl_slab_state(slab, node, first), node_states + at * bytes,
                   (size_t)rows * bytes);

        for (int64_t row = 0; row < rows && f->counted; row++) {
            tl_state s;
            to_law(&f->form, node_states + (at + (size_t)row) * bytes,
                   counts ? kept[at + (size_t)row] : 0, &s);
            memcpy(tl_slab_state(slab, node, first + row), &s, slab->bytes);
        }
    }

    return TALLY_OK;
}

/* Rows first .. first + count - 1 of a view. */
static tally_view rows_of(const tally_view *v, int64_t first, int64_t count)
{
    const tally_view turned = tl_view_transposed(v),
                     part =
                         tl_view_part(&turned, first, count, (int64_t)tally_dtype_size(v->dtype));
    return tl_view_transposed(&part);
}

/* How many rows are prepared at a time. */
static int64_t rows_at_once(const tl_feed *f, const tally_view *in)
{
    const int64_t most = BLOCK_BYTES / f->form.op->elem_bytes / (in->n ? in->n : 1);
    return tl_max(most, 16) & -(int64_t)16;
}

tally_status tl_feed_rows(tally *ctx, const tl_feed *f, const tally_view *in, const tally_view *out,
                          const tl_states_parts *rows)
{
    const int64_t each = rows_at_once(f, in);
    const int by_steps = f->form.kind == TL_FORM_STATES;

    assert(by_steps || !out);

    for (int64_t first = 0; first < in->rows; first += each) {
        const int64_t count = tl_min(in->rows - first, each);
        tally_view next, part = rows_of(in, first, count);
        if (in->next) next = rows_of(in->next, first, count), part.next = &next;
        PREPARED(r);
        TL_TRY(prepare(ctx, f, &part, &r));
        if (by_steps)
            tl_states_rows(&r, count > 64 ? threads_of(ctx) : 1, out, rows, first);
        else
            TL_TRY(slab_by_kernels(ctx, f, &r, rows->to, first));
    }

    return TALLY_OK;
}

tally_status tl_feed_slab(tally *ctx, const tl_feed *f, const tally_view *in, tl_slab *slab)
{
    return tl_feed_rows(ctx, f, in, NULL, &(tl_states_parts){.to = slab});
}

/* Converts the counter `law` to two: *to has the same nodes with states of the form, *counts the
 * number of elements of each. A node without elements becomes a missing element. */
static void to_form(const tl_form *form, const tl_counter *law, tl_counter *to, tl_counter *counts)
{
    const uint64_t fill[2] = {form->fill, 0};
    tl_par par = form->par;

    par.second = 0; /* a second input is read 0 bytes further: it is `fill` too */
    *to = *counts = *law;
    to->counted = counts->counted = 0;

    for (int j = 0; j < law->count; j++) {
        const int64_t kept = tl_kept(form->named, &law->node[j]);
        if (!kept) form->op->lift(&to->node[j], fill, 0, par);
        counts->node[j] = (tl_state){{0}};
        memcpy(&counts->node[j], &kept, sizeof kept);
    }
}

/* The reverse of to_form. */
static void from_form(const tl_form *form, const tl_counter *from, const tl_counter *counts,
                      tl_counter *law)
{
    *law = *from;
    law->counted = 1;
    for (int j = 0; j < from->count; j++) {
        int64_t kept;
        memcpy(&kept, &counts->node[j], sizeof kept);
        to_law(form, &from->node[j], kept, &law->node[j]);
    }
}

/* Scans prepared elements by kernels into dense results. Counted states of the law become states of
 * the form before, and are made again after; their counts are folded beside them. */
static tally_status scan_by_kernels(tally *ctx, const tl_feed *f, const tl_prepared *r, char *out,
                                    tl_scan *s, const void *init)
{
    const int threads = threads_of(ctx);
    const int64_t n = r->work.n;
    const tl_form *form = &f->form;
    tl_scan t = *s;
    tl_counter counts;
    char initial[16];

    t.plan = &r->plan;
    if (!f->counted) {
        TL_TRY(tl_scan_push(ctx, &t, threads, r->work.data, n, out));
        s->done = t.done;
        return TALLY_OK;
    }

    to_form(form, &s->done, &t.done, &counts);
    if (!keeps_count(form)) tl_push_slab(&r->count, threads, r->count_work.data, n, &counts);

    if (init) { /* a NaN there is a value, so it must not have the bits of the marker */
        r->plan.mask->quiet(initial, init, form->op->out, 1);
        form->op->seed(&t.init, initial, form->par);
    }

    TL_TRY(tl_scan_push(ctx, &t, threads, r->work.data, n, out));
    from_form(form, &t.done, keeps_count(form) ? &t.done : &counts, &s->done);
    return TALLY_OK;
}

tally_status tl_feed_scan(tally *ctx, const tl_feed *f, const tally_view *in, const tally_view *out,
                          tl_scan *s, const void *init)
{
    const tl_form *form = &f->form;
    const int64_t bytes = form->op->result_bytes;
    PREPARED(r);

    TL_TRY(prepare(ctx, f, in, &r));
    if (form->kind == TL_FORM_STATES) {
        tl_prefixes w;
        w.c = s->done;
        tl_prefixes_begin(&w, form->op, s->seeded ? &s->init : NULL);
        tl_states_scan_row(&w, &r.plan, (tl_states_row){r.work.data, r.there, in->n}, s->exclusive,
                           (tl_states_out){out->data, tl_step(out->stride, bytes)});
        s->done = w.c;
        return TALLY_OK;
    }

    const int copies = out->stride != 1 && in->n > 1;
    TL_FREED char *const dense = copies ? malloc((size_t)(in->n * bytes)) : NULL;
    if (copies && !dense) return tl_no_memory(ctx, (size_t)(in->n * bytes), "the results");
    TL_TRY(scan_by_kernels(ctx, f, &r, dense ? dense : out->data, s, init));
    if (dense) tl_copy_strided(out->data, out->stride, dense, 1, in->n, bytes);
    return TALLY_OK;
}

/* Prepares some steps at a time and pushes them. A copy has the elements of a step side by side, as
 * the kernels of a grid read them. */
tally_status tl_feed_grid(tally *ctx, const tl_feed *f, const tally_view *in, const tally_view *out,
                          tl_grid *grid, int64_t *pushed)
{
    const int threads = threads_of(ctx);
    const tl_scalar *op = f->form.op;
    const int64_t most = BLOCK_BYTES / op->elem_bytes / in->rows,
                  each = most < TL_GRID_BLOCK ? 1 : most & -(int64_t)TL_GRID_BLOCK;

    for (int64_t at = 0; at < in->n; at += each) {
        const int64_t n = tl_min(in->n - at, each);
        const tally_view part = tl_view_part(in, at, n, (int64_t)tally_dtype_size(in->dtype)),
                         side = tl_view_transposed(&part),
                         to = tl_view_part(out, at, n, op->result_bytes);
        TL_GATHERED(gathered);
        TL_TRY(tl_gather_dense(ctx, &f->form, &side, &f->plan, 0, &gathered));
        const tally_view steps = tl_view_transposed(&gathered.view);
        TL_TRY(grid->calls->push(ctx, grid, threads, &steps, &to));
        *pushed += n;
    }

    return TALLY_OK;
}
