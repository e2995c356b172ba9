/* SPDX-License-Identifier: MIT
 * Finds the form of an operator for elements that may be left out (inputs.h). */
#include "device.h"
#include "dtype/number.h"
#include "exact/exact.h"
#include "view.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

tally_dtype tally_common_dtype(tally_dtype a, tally_dtype b)
{
    const char ka = tl_dtype_kind(a), kb = tl_dtype_kind(b);
    if (!ka || !kb) return 0;
    if (a == b) return a;
    if (ka == 'F' && kb == 'F') return a == TALLY_F64 || b == TALLY_F64 ? TALLY_F64 : TALLY_F32;
    if (ka == 'F' || kb == 'F') return TALLY_F64;
    if (ka == kb) return ka == 'I' ? TALLY_I64 : TALLY_U64;
    return a == TALLY_U64 || b == TALLY_U64 ? TALLY_F64 : TALLY_I64;
}

/* The bits of the marker, which are those of a NaN for float types. */
static uint64_t mark_of(tally_dtype d)
{
    return tally_dtype_size(d) == 2 ? TL_MARK_HALF : d == TALLY_F32 ? INT32_MAX : INT64_MAX;
}

/* The nan form of s on dtype that has the result type of s. */
static const tl_scalar *nan_form(const tl_scalar *s, tally_dtype dtype)
{
    char name[64];
    snprintf(name, sizeof name, "nan%s", s->file);
    const tl_scalar *form = tl_find_scalar(name, dtype, dtype == s->dtype ? s->acc : 0);
    return form && form->out == s->out ? form : NULL;
}

/* Whether the operator gives the same bits on integers converted to f64: it computes in f64, or
 * its result is an index and f64 has all values of the type. */
static int goes_as_f64(const tl_scalar *s)
{
    return tl_dtype_kind(s->dtype) != 'F' &&
           (s->acc == TALLY_F64 || (s->out == TALLY_I64 && s->elem_bytes <= 4));
}

static void find_form(tl_form *form)
{
    const tl_scalar *s = form->op, *nan = NULL, *as_f64 = NULL;
    const int real = tl_dtype_kind(s->dtype) == 'F';

    form->kind = TL_FORM_STATES;
    if (s->user) { /* whether a user's operator has a blank is known after it is compiled */
        if (s->blank) form->kind = TL_FORM_BLANK, s->blank(&form->fill);
        return;
    }

    /* -0 is the blank; no valid element is -0 (tl_exact_form.leaves_out). Integers become f64 but
     * for those of 64 bits, which have none. */
    const tl_exact_form *const exact = tl_exact_form_of(s);
    if (exact) {
        if (!real && !exact->whole)
            s = tl_exact_find(s->file, strcspn(s->file, ":"), TALLY_F64, 0, NULL, NULL);
        form->kind = TL_FORM_BLANK;
        form->op = s;
        form->fill = exact->whole ? 0 : (uint64_t)1 << (8 * s->elem_bytes - 1);
        return;
    }

    if (s->masked) {
        form->kind = TL_FORM_BLANK;
        form->fill = mark_of(s->dtype);
        return;
    } else if (s->blank) {
        form->kind = TL_FORM_BLANK;
    } else if (real && !s->picks && (nan = nan_form(s, s->dtype))) {
        form->kind = TL_FORM_MARK;
    } else if (goes_as_f64(s) && (nan = nan_form(s, TALLY_F64))) {
        form->kind = TL_FORM_MARK;
    } else if (!real && s->out == TALLY_I64 && (as_f64 = tl_find_scalar(s->file, TALLY_F64, 0)) &&
               as_f64->blank) {
        form->kind = TL_FORM_BLANK; /* count */
        form->op = as_f64;
    }

    if (nan) {
        form->op = nan;
        form->par.marked = 1;
        form->fill = mark_of(nan->dtype);
    }

    if (form->kind == TL_FORM_BLANK) form->op->blank(&form->fill);
}

int tl_form_late(const tl_form *form, tl_form *late)
{
    assert(form->named && form->op);
    const tl_scalar *s = form->named;
    if (form->kind != TL_FORM_MARK || !s->neutral || s->inputs != 1 ||
        tl_dtype_kind(s->dtype) != 'F')
        return 0;
    const tl_scalar *keys =
        tl_dtype_kind(s->wide) == 'I' ? tl_find_scalar(s->file, s->wide, 0) : NULL;
    if (!keys || !keys->blank) return 0;

    *late = (tl_form){
        .kind = TL_FORM_BLANK, .named = s, .op = s, .par = form->par, .absent = 1, .late = 1};
    late->par.marked = 0;
    keys->blank(&late->fill);
    return 1;
}

void tl_form_begin(tl_form *form, const tl_scalar *named, tl_par par, int absent)
{
    assert(named);
    *form = (tl_form){.named = named, .op = named, .par = par, .absent = absent};
    if (absent) find_form(form);
}

tally_status tl_form_fits(tally *ctx, const char *op, const tl_scalar *s, const tally_view *in,
                          const char *name)
{
    const tally_view *y = in->next;
    char next[40];
    if (y && !tl_dtype_kind(y->dtype))
        return tl_invalid(ctx, "%s->next->dtype is %d: must be 1..%d", name, (int)y->dtype,
                          TL_DTYPES);
    if (s->inputs == 1 && y)
        return tl_invalid(ctx, "%s->next is given: operator '%.60s' takes one input", name, op);
    if (s->inputs == 1) return TALLY_OK;

    if (!y) return tl_invalid(ctx, "%s->next is NULL: operator '%.60s' takes two inputs", name, op);
    if (y->next)
        return tl_invalid(ctx, "%s->next->next is given: operator '%.60s' takes two inputs", name,
                          op);
    snprintf(next, sizeof next, "%s->next", name);
    TL_TRY(tl_view_same(ctx, y, next, in, name));
    if (!in->offsets && y->n != in->n)
        return tl_invalid(ctx, "%s->next->n is %ld: must be %s->n = %ld", name, y->n, name, in->n);
    return TALLY_OK;
}

tally_dtype tl_inputs_dtype(const tally_view *in)
{
    if (!in->next || !tl_dtype_kind(in->dtype) || !tl_dtype_kind(in->next->dtype)) return in->dtype;
    return tally_common_dtype(in->dtype, in->next->dtype);
}

tally_status tl_form_of(tally *ctx, const char *op, const tally_view *in, tl_form *form)
{
    *form = (tl_form){.kind = TL_FORM_PLAIN};
    TL_TRY(tl_resolve(ctx, op, tl_inputs_dtype(in), &form->op, &form->par));
    TL_TRY(tl_form_fits(ctx, op, form->op, in, "in"));
    tl_form_begin(form, form->op, form->par, tl_has_absent(in));
    return TALLY_OK;
}
