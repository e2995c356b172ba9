/* SPDX-License-Identifier: MIT
 * Random problems: an operator, one view or two, bits of what is there; and what of it lies in a
 * device's memory. Part of test_inputs.c. */
#ifndef TALLY_TEST_INPUTS_PROBLEM_H
#define TALLY_TEST_INPUTS_PROBLEM_H

#include "matrix.h"
#include "context/device.h"
#include "context/context.h"
#include "gpu/work.h"
#include "law/order.h"

/* The law over elements that may be missing, as it is written: node by node, of values that were
 * widened one by one. Part of test_inputs.c. */

enum { MOST = 3000 };

static _Alignas(16) unsigned char values[2 * MOST * 8];
static unsigned char there[MOST];
static int is_empty; /* was the last of fold's results of no elements? */

/* One sequence: dense values of one type, the second ones `second` bytes behind, and which of
   them are there. */
typedef struct {
    const tl_scalar *op;
    tl_par p;
    int64_t n;
} sequence;

static reference element(const sequence *q, int64_t i, int64_t first)
{
    const void *x = values + i * q->op->elem_bytes;
    reference a = {.present = there[i] && !q->op->is_masked(x, q->p)};
    if (a.present) q->op->lift(&a.s, x, i - first, q->p), a.n = 1;
    return a;
}

/* S(m) of the elements from `first` on, as it is written: node by node. */
static reference node(const sequence *q, int64_t at, int k, int64_t first)
{
    if (!k) return element(q, at, first);
    reference a = node(q, at, k - 1, first),
              b = node(q, at + ((int64_t)1 << (k - 1)), k - 1, first);
    reference_combine(q->op, &a, &b);
    return a;
}

static void fold(const sequence *q, int64_t first, int64_t m, const void *init, int64_t least,
                 void *out)
{
    reference s = {.present = init != NULL};
    int64_t counted = 0;
    if (init) q->op->seed(&s.s, init, q->p);
    for (int64_t at = 0; at < m;) {
        const int k = tl_top_level(m - at);
        const reference b = node(q, first + at, k, first);
        reference_combine(q->op, &s, &b);
        at += (int64_t)1 << k;
    }
    for (int64_t i = first; i < first + m; i++) counted += element(q, i, first).present;
    if (counted < least) s.present = 0;
    is_empty = !s.present;
    if (s.present)
        q->op->lower(&s.s, counted, 0, q->p, out);
    else
        q->op->empty(q->p, out);
}

/* The element as `to` has it. An integer that becomes a wider integer has 32 bits at most, and
   f64 holds it. */
static void widen(const unsigned char *x, tally_dtype from, tally_dtype to, void *y)
{
    if (from == to) {
        memcpy(y, x, tally_dtype_size(from));
        return;
    }
    const double v = real_of(from, x);
    if (to == TALLY_F64) memcpy(y, &v, 8);
    if (to == TALLY_F32) memcpy(y, &(float){(float)v}, 4);
    if (to == TALLY_I64 || to == TALLY_U64) memcpy(y, &(int64_t){(int64_t)v}, 8);
}

/* Is the element in this place there? */
static int bit(const tally_view *v, int64_t place)
{
    const int64_t b = v->valid_offset + place;
    return !v->valid || (((const unsigned char *)v->valid)[b >> 3] >> (b & 7) & 1);
}

/* Sequence r of `in` as the law takes it. */
static sequence bring(const tally_view *in, const tl_scalar *op, tl_par p, int64_t r, int reverse)
{
    sequence q = {op, p, in->offsets ? in->offsets[r + 1] - in->offsets[r] : in->n};
    q.p.second = MOST * 8;
    memset(there, 1, (size_t)q.n);
    for (const tally_view *v = in; v; v = v->next)
        for (int64_t i = 0; i < q.n; i++) {
            const int64_t at = reverse ? q.n - 1 - i : i,
                          place = (v->offsets ? v->offsets[r] : 0) * v->stride +
                                  (v->offsets ? 0 : r * v->row_stride) + at * v->stride;
            const int64_t bytes = (int64_t)tally_dtype_size(v->dtype);
            widen((const unsigned char *)v->data + place * bytes, v->dtype, op->dtype,
                  values + (v != in) * MOST * 8 + i * op->elem_bytes);
            there[i] &= (unsigned char)bit(v, place);
        }
    return q;
}

/* What the window around element i of a sequence gives, into `out`. */
static void window_at(const sequence *q, const tally_window_options *o, int64_t i, void *out)
{
    const int64_t low = i - o->before, high = i + o->after + 1, n = q->n;
    const int64_t a = low < 0 ? 0 : low > n ? n : low, e = high > n ? n : high, b = e < a ? a : e;
    if ((low >= 0 && high <= n) || o->edges == TALLY_EDGES_SHRINK || o->min_count > 0)
        fold(q, a, b - a, NULL, o->min_count, out);
    else
        q->op->empty(q->p, out), is_empty = 1;
}

/* Random problems: an operator, one view or two, bits of what is there; and what of it lies in a
 * device's memory. Part of test_inputs.c. */

enum { CAPACITY = 4 * MOST + 64, BITS = 2 * CAPACITY / 8 + 16 };

static _Alignas(16) unsigned char store[2][CAPACITY * 8 + 16], bitmap[2][BITS];
static _Alignas(16) unsigned char got[CAPACITY * 16], want[CAPACITY * 16], line[(MOST + 1) * 16];
static _Alignas(
    8) unsigned char marks[2][CAPACITY / 4 + 64]; /* validity of results: got and wanted */

/* On a device: blocks of its memory for these arrays. */
enum { STORE, NEXT, BITS_0, BITS_1, GOT, PLACES, BLOCKS };
static tl_memory block[BLOCKS];
static const char *only_op = "all", *only_type = "all";

/* Puts dense rows, or segments, of type d on store[k], with strides and bits chosen at random. */
static tally_view view(int k, tally_view v, tally_dtype d, int dense, int valid)
{
    /* half of them: of whole elements */
    const int64_t shift = check_below(9), bytes = (int64_t)tally_dtype_size(d), rows = v.rows,
                  n = v.n;
    v.data = store[k] + (check_below(2) ? shift : check_below(3) * bytes);
    v.dtype = d;
    const int64_t all = v.offsets ? v.offsets[rows] : rows * n;
    if (!dense) {
        const int how = (int)check_below(v.offsets ? 2 : 4);
        if (how == 0) v.stride = 1 + check_below(2), v.row_stride = n * v.stride + check_below(3);
        if (how == 1) v.stride = -1, v.row_stride = n;
        if (how == 2) v.stride = rows, v.row_stride = 1; /* columns */
        if (how == 3) v.row_stride = n + check_below(5);
        const int64_t back = v.stride < 0 && all ? (v.offsets ? all - 1 : n - 1) : 0;
        v.data = (char *)v.data + back * bytes;
        v.valid_offset = back;
    }
    if (valid)
        v.valid = bitmap[k],
        v.valid_offset += check_below(2) ? check_below(40) : 4 * check_below(10);
    return v;
}

static void bits_of(int k)
{
    static const int rates[] = {2, 10, 1000, 1};
    /* one in so many is left out; 1: all */
    const int rate = rates[check_below(4)];
    /* none of the first ones is */
    const int64_t whole = check_below(3) ? 0 : check_below(2 * MOST);
    for (int64_t i = 0; i < BITS * 8; i++) {
        const unsigned char b = (unsigned char)(1 << (i & 7));
        if (i >= whole && check_below(rate) == 0)
            bitmap[k][i >> 3] &= (unsigned char)~b;
        else
            bitmap[k][i >> 3] |= b;
    }
}

typedef struct {
    char op[72];
    tally_view in, next;
    const tl_scalar *s;
    tl_par p;
    int64_t offsets[262];
    /* what the library gets: in and next, some of it in the device's memory */
    tally_view given, given_next;
    int results_there, all_here; /* results are the device's memory; nothing is */
} problem;

/* 0: no such operator for these types. */
static int make(problem *c)
{
    const char *const *names = tally_operators();
    int count = 0;
    char parameter[TL_SAMPLE_BYTES];
    while (names[count]) count++;
    const char *name = strcmp(only_op, "all") ? only_op : names[check_below(count)];
    const int fixed = strcmp(only_type, "all") != 0;
    snprintf(c->op, sizeof c->op, "%s%s%s", name, fixed || check_below(5) ? "" : ":f64",
             tl_sample_parameter(name, parameter));
    const tally_dtype a = fixed ? tally_dtype_parse(only_type)
                                : (tally_dtype)(1 + check_below(TALLY_F64)),
                      b = check_below(2) ? a : (tally_dtype)(1 + check_below(TALLY_F64));
    tally_operator_info info;
    if (tally_operator(NULL, c->op, a, &info)) return 0;
    const tally_dtype d = info.inputs == 2 ? tally_common_dtype(a, b) : a;
    if (fixed && d != a) return 0; /* a program more */
    if (tl_resolve(NULL, c->op, d, &c->s, &c->p)) return 0;
    int64_t rows = check_below(3) ? 1 : check_below(8) ? check_below(11) : 60 + check_below(200);
    int64_t n = check_size(rows > 1 ? MOST / rows : MOST);
    const int segments = check_below(4) == 0, dense = check_below(2) == 0;
    if (segments) {
        c->offsets[0] = check_below(20);
        for (int64_t r = 0; r < rows; r++)
            c->offsets[r + 1] = c->offsets[r] + check_below(2 * n / (rows + 1) + 1);
    }
    check_fill(store[0], a, CAPACITY, (tl_data)check_below(TL_DATA_KINDS));
    check_fill(store[1], b, CAPACITY, (tl_data)check_below(TL_DATA_KINDS));
    /* NaNs with the bits of the mark are values like any other */
    for (int k = 0; k < 2 && check_below(3) == 0; k++) {
        const int64_t bytes = (int64_t)tally_dtype_size(k ? b : a), at = check_below(200) * bytes;
        memset(store[k] + at, 0xff, (size_t)bytes);
        store[k][at + bytes - 1] = 0x7f;
    }
    bits_of(0);
    bits_of(1);
    const tally_view plain = {.rows = rows,
                              .n = n,
                              .row_stride = n,
                              .stride = 1,
                              .offsets = segments ? c->offsets : NULL};
    const int two = info.inputs == 2, first = (int)check_below(two ? 3 : 4) != 0;
    c->in = view(0, plain, a, dense, first || !two);
    if (two) {
        c->next = view(1, plain, b, dense, check_below(3) == 0);
        c->in.next = &c->next;
    }
    return 1;
}

/* ---- the device's memory ---- */

static void *copied(tally *ctx, int b, const void *p, const void *host, size_t bytes)
{
    void *const at = (void *)(uintptr_t)block[b].address;
    check_ok(ctx, ctx->device->calls->copy(ctx->device, ctx, at, host, bytes),
             "a copy to the device");
    return (char *)at + ((const char *)p - (const char *)host);
}

/* Chooses what is the device's. */
static void place_inputs(tally *ctx, problem *c)
{
    c->given = c->in, c->given_next = c->next, c->results_there = 0, c->all_here = 1;
    if (c->in.next) c->given.next = &c->given_next;
    if (!block[STORE].bytes) return;
    const int where = (int)check_below(3); /* all on the host, all on the device, any */
#define THERE (where == 2 ? (int)check_below(2) : where)
    c->all_here = !where;
    c->results_there = THERE;
    for (int k = 0; k < 1 + (c->in.next != NULL); k++) {
        tally_view *v = k ? &c->given_next : &c->given;
        if (THERE) v->data = copied(ctx, STORE + k, v->data, store[k], sizeof store[k]);
        if (v->valid && THERE)
            v->valid = copied(ctx, BITS_0 + k, v->valid, bitmap[k], sizeof bitmap[k]);
        if (v->offsets && THERE)
            v->offsets = copied(ctx, PLACES, c->offsets, c->offsets, sizeof c->offsets);
    }
}

/* Nothing of the call before was the processors', but where a device has no way
   (gpu/run.c). */
static void check_path(tally *ctx, const problem *c, int may)
{
    tally_times_info times;
    tl_form form;
    if (!block[STORE].bytes) return;
    check_ok(ctx, tally_times(ctx, &times), "times");
    check_ok(ctx, tl_form_of(NULL, c->op, &c->in, &form), c->op);
    check(may || form.kind == TL_FORM_STATES || times.on_processors == 0,
          "%s of %s: %lld elements on the processors", c->op, tally_dtype_name(c->in.dtype),
          (long long)times.on_processors);
    check_ok(ctx, tally_time(ctx, 1), "time");
}

static void *give_results(tally *ctx, const problem *c)
{
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    return c->results_there ? copied(ctx, GOT, got, got, sizeof got) : got;
}
static void take_results(tally *ctx, const problem *c)
{
    if (c->results_there)
        check_ok(ctx,
                 ctx->device->calls->copy(ctx->device, ctx, got,
                                          (void *)(uintptr_t)block[GOT].address, sizeof got),
                 "a copy from the device");
}

/* ---- results ---- */

/* Bit b of the wanted ones, for fold's last result. */
static void set_mark(int64_t b)
{
    const unsigned char bit = (unsigned char)(1 << (b & 7));
    marks[1][b >> 3] = (unsigned char)((marks[1][b >> 3] & ~bit) | (is_empty ? 0 : bit));
}

/* A view of results with strides or without. */
static tally_view results(const problem *c, int64_t n)
{
    tally_view out = {got, c->s->out, c->in.rows, n, n, 1, c->in.offsets};
    memset(marks, check_below(2) ? 0xa5 : 0, sizeof marks);
    if (check_below(2) && c->all_here) out.valid = marks[0], out.valid_offset = check_below(20);
    const int how = (int)check_below(3);
    if (how == 1) out.stride = 2, out.row_stride = 2 * n;
    if (how == 2 && !out.offsets && out.rows) out.stride = out.rows, out.row_stride = 1;
    return out;
}

static void put(const problem *c, const tally_view *out, int64_t r, int64_t i, const void *value)
{
    const int64_t place =
        (out->offsets ? out->offsets[r] * out->stride : r * out->row_stride) + i * out->stride;
    memcpy(want + place * c->s->result_bytes, value, c->s->result_bytes);
    if (out->valid) set_mark(out->valid_offset + place);
}

#endif
