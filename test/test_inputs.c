/* SPDX-License-Identifier: MIT
 * Views with validity, and operators of two inputs, against the law: an element that is left out is ABSENT in its
 * place. Random operators, types, views and bits; every verb; in all forms that the library has for them
 * (context/inputs.h). On the processors, and on GPU devices with every array, the bitmaps and the offsets in host
 * memory or the device's; those must not leave to the processors what they have a road for.
 *
 *   test_inputs                  on devices sum of f32 alone, short reductions and scans: PoCL takes 7 s for a program
 *   test_inputs OPERATOR TYPE    this one alone, on devices alone; "all": any */
#include "gpu/work.h"
#include "context/inputs.h"
#include "context/operators.h"
#include "law/order.h"
#include "gpu/kernel/constants.h"
#include "gpus.h"
#include "matrix.h"

enum { MOST = 3000, ROOM = 4 * MOST + 64, BITS = 2 * ROOM / 8 + 16 };

static _Alignas(16) unsigned char store[2][ROOM * 8 + 16], bitmap[2][BITS];
static _Alignas(16) unsigned char values[2 * MOST * 8], got[ROOM * 16], want[ROOM * 16], line[(MOST + 1) * 16];
static unsigned char there[MOST];
static int is_empty; /* was the last of fold's results of no elements? */
static _Alignas(8) unsigned char marks[2][ROOM / 4 + 64];

/* On a device: blocks of its memory for these arrays. */
enum { STORE, NEXT, BITS_0, BITS_1, GOT, PLACES, BLOCKS };
static tl_memory block[BLOCKS];
static const char *only_op = "all", *only_type = "all";

/* ---- the law ---- */

/* One sequence: dense values of one type, the second ones `second` bytes behind, and which of them are there. */
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
    reference a = node(q, at, k - 1, first), b = node(q, at + ((int64_t)1 << (k - 1)), k - 1, first);
    reference_combine(q->op, &a, &b);
    return a;
}

static void fold(const sequence *q, int64_t first, int64_t m, const void *init, int64_t least, void *out)
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

/* ---- values, by a road of this test's own ---- */

static double half(const unsigned char *x, int bf)
{
    uint16_t h;
    memcpy(&h, x, 2);
    if (bf) {
        const uint32_t b = (uint32_t)h << 16;
        float f;
        memcpy(&f, &b, 4);
        return f;
    }
    const int e = h >> 10 & 31, m = h & 1023;
    const double v = e == 31 ? m ? 0.0 / 0.0 : 1.0 / 0.0 : e ? (1024 + m) * 0x1p-25 * (double)(1ll << e) : m * 0x1p-24;
    return h >> 15 ? -v : v;
}

/* The element as `to` has it. */
static void widen(const unsigned char *x, tally_dtype from, tally_dtype to, void *y)
{
    int64_t i = 0;
    double v = 0;
    if (from == to) {
        memcpy(y, x, tally_dtype_size(from));
        return;
    }
#define CASE(dt, type)                                                                                                 \
    case dt: {                                                                                                         \
        type e;                                                                                                        \
        memcpy(&e, x, sizeof e);                                                                                       \
        i = (int64_t)e;                                                                                                \
        v = (double)e;                                                                                                 \
        break;                                                                                                         \
    }
    switch (from) {
        CASE(TALLY_I8, int8_t)
        CASE(TALLY_U8, uint8_t)
        CASE(TALLY_I16, int16_t)
        CASE(TALLY_U16, uint16_t)
        CASE(TALLY_I32, int32_t)
        CASE(TALLY_U32, uint32_t)
        CASE(TALLY_I64, int64_t)
        CASE(TALLY_U64, uint64_t)
    case TALLY_F16:
        v = half(x, 0);
        break;
    case TALLY_BF16:
        v = half(x, 1);
        break;
    case TALLY_F32: {
        float e;
        memcpy(&e, x, sizeof e);
        v = e;
        break;
    }
    default:
        break;
    }
    const float f = (float)v;
    if (to == TALLY_F64) memcpy(y, &v, 8);
    if (to == TALLY_F32) memcpy(y, &f, 4);
    if (to == TALLY_I64 || to == TALLY_U64) memcpy(y, &i, 8);
}

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
            const int64_t at = reverse ? q.n - 1 - i : i, place = (v->offsets ? v->offsets[r] : 0) * v->stride +
                                                                  (v->offsets ? 0 : r * v->row_stride) + at * v->stride;
            const int64_t bytes = (int64_t)tally_dtype_size(v->dtype);
            widen((const unsigned char *)v->data + place * bytes, v->dtype, op->dtype,
                  values + (v != in) * MOST * 8 + i * op->elem_bytes);
            there[i] &= (unsigned char)bit(v, place);
        }
    return q;
}

/* ---- cases ---- */

/* A view of rows x n, or of segments, on store[k] with random bits. */
static tally_view view(int k, tally_dtype d, int64_t rows, int64_t n, const int64_t *offsets, int dense, int valid)
{
    const int64_t shift = check_below(9), bytes = (int64_t)tally_dtype_size(d); /* half of them: of whole elements */
    tally_view v = {store[k] + (check_below(2) ? shift : check_below(3) * bytes), d, rows, n, n, 1, offsets};
    const int64_t all = offsets ? offsets[rows] : rows * n;
    if (!dense) {
        const int how = (int)check_below(offsets ? 2 : 4);
        if (how == 0) v.stride = 1 + check_below(2), v.row_stride = n * v.stride + check_below(3);
        if (how == 1) v.stride = -1, v.row_stride = n;
        if (how == 2) v.stride = rows, v.row_stride = 1; /* columns */
        if (how == 3) v.row_stride = n + check_below(5);
        const int64_t back = v.stride < 0 && all ? (offsets ? all - 1 : n - 1) : 0;
        v.data = (char *)v.data + back * (int64_t)tally_dtype_size(d);
        v.valid_offset = back;
    }
    if (valid) v.valid = bitmap[k], v.valid_offset += check_below(2) ? check_below(40) : 4 * check_below(10);
    return v;
}

static void bits_of(int k)
{
    static const int rates[] = {2, 10, 1000, 1};
    const int rate = rates[check_below(4)];                           /* one in so many is left out; 1: all */
    const int64_t whole = check_below(3) ? 0 : check_below(2 * MOST); /* none of the first ones is */
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
    tally_view given, given_next; /* what the library gets: in and next, some of it in the device's memory */
    int results_there, all_here;  /* results are the device's memory; nothing is */
} problem;

/* ---- the device's memory ---- */

static void *copied(tally *ctx, int b, const void *p, const void *host, size_t bytes)
{
    void *const at = (void *)(uintptr_t)block[b].address;
    check_ok(ctx, ctx->device->calls->copy(ctx->device, ctx, at, host, bytes), "a copy to the device");
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
        if (v->valid && THERE) v->valid = copied(ctx, BITS_0 + k, v->valid, bitmap[k], sizeof bitmap[k]);
        if (v->offsets && THERE) v->offsets = copied(ctx, PLACES, c->offsets, c->offsets, sizeof c->offsets);
    }
}

/* Nothing of the call before was the processors', but where a device has no road (gpu/pieces/inputs.c). */
static void check_road(tally *ctx, const problem *c, int may)
{
    tally_times_info times;
    tl_form form;
    if (!block[STORE].bytes) return;
    check_ok(ctx, tally_times(ctx, &times), "times");
    check_ok(ctx, tl_form_of(NULL, c->op, &c->in, &form), c->op);
    check(may || form.kind == TL_FORM_STATES || times.on_processors == 0, "%s of %s: %lld elements on the processors",
          c->op, tally_dtype_name(c->in.dtype), (long long)times.on_processors);
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
                 ctx->device->calls->copy(ctx->device, ctx, got, (void *)(uintptr_t)block[GOT].address, sizeof got),
                 "a copy from the device");
}

/* 0: no such operator for these types. */
static int make(problem *c)
{
    const char *const *names = tally_operators();
    int count = 0;
    char parameter[TL_SAMPLE_ROOM];
    while (names[count]) count++;
    const char *name = strcmp(only_op, "all") ? only_op : names[check_below(count)];
    const int fixed = strcmp(only_type, "all") != 0;
    snprintf(c->op, sizeof c->op, "%s%s%s", name, fixed || check_below(5) ? "" : ":f64",
             tl_sample_parameter(name, parameter));
    const tally_dtype a = fixed ? tally_dtype_parse(only_type) : (tally_dtype)(1 + check_below(TALLY_F64)),
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
        for (int64_t r = 0; r < rows; r++) c->offsets[r + 1] = c->offsets[r] + check_below(2 * n / (rows + 1) + 1);
    }
    check_fill(store[0], a, ROOM, (tl_data)check_below(TL_DATA_KINDS));
    check_fill(store[1], b, ROOM, (tl_data)check_below(TL_DATA_KINDS));
    for (int k = 0; k < 2 && check_below(3) == 0; k++) { /* NaNs with the bits of the mark are values like any other */
        const int64_t bytes = (int64_t)tally_dtype_size(k ? b : a), at = check_below(200) * bytes;
        memset(store[k] + at, 0xff, (size_t)bytes);
        store[k][at + bytes - 1] = 0x7f;
    }
    bits_of(0);
    bits_of(1);
    const int64_t *offsets = segments ? c->offsets : NULL;
    const int two = info.inputs == 2, first = (int)check_below(two ? 3 : 4) != 0;
    c->in = view(0, a, rows, n, offsets, dense, first || !two);
    if (two) {
        c->next = view(1, b, rows, n, offsets, dense, check_below(3) == 0);
        c->in.next = &c->next;
    }
    return 1;
}

/* Bit b of the wanted ones, for fold's last result. */
static void set_mark(int64_t b)
{
    const unsigned char bit = (unsigned char)(1 << (b & 7));
    marks[1][b >> 3] = (unsigned char)((marks[1][b >> 3] & ~bit) | (is_empty ? 0 : bit));
}

static void reduce(tally *ctx, const problem *c)
{
    memset(marks, 0x5a, sizeof marks);
    const int64_t bytes = c->s->result_bytes;
    void *const to = give_results(ctx, c);
    if (!check_ok(ctx, tally_reduce(ctx, c->op, &c->given, to), c->op)) return;
    take_results(ctx, c);
    check_road(ctx, c, 0);
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        fold(&q, 0, q.n, NULL, 0, want + r * bytes);
        set_mark(5 + r);
    }
    check_ok(ctx, tally_reduce_valid(ctx, c->op, &c->in, marks[0], 5), c->op);
    check_same(marks[0], marks[1], sizeof marks[0], 1, "validity of reduce %s of %s, %lld x %lld", c->op,
               tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n);
    check_same(got, want, c->in.rows + 3, bytes, "reduce %s of %s, %lld x %lld, stride %lld", c->op,
               tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n, (long long)c->in.stride);
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
    const int64_t place = (out->offsets ? out->offsets[r] * out->stride : r * out->row_stride) + i * out->stride;
    memcpy(want + place * c->s->result_bytes, value, c->s->result_bytes);
    if (out->valid) set_mark(out->valid_offset + place);
}

static void scan(tally *ctx, const problem *c)
{
    tally_scan_options o = {(int)check_below(2), (int)check_below(3) == 0, NULL};
    char init[16];
    check_fill(init, c->s->out, 1, TL_DATA_HOSTILE);
    if (c->s->seedable && check_below(2)) o.init = init;
    const tally_view out = results(c, c->in.n);
    tally_view where = out;
    where.data = give_results(ctx, c), where.offsets = c->given.offsets;
    if (!check_ok(ctx, tally_scan(ctx, c->op, &c->given, &where, &o), c->op)) return;
    take_results(ctx, c);
    check_road(ctx, c, o.reverse && c->in.offsets);
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, o.reverse);
        for (int64_t i = 0; i < q.n; i++) {
            fold(&q, 0, i + !o.exclusive, o.init, 0, line);
            put(c, &out, r, o.reverse ? q.n - 1 - i : i, line);
        }
    }
    check_same(marks[0], marks[1], sizeof marks[0], 1, "validity of scan %s of %s", c->op,
               tally_dtype_name(c->in.dtype));
    check_same(got, want, (int64_t)sizeof got, 1, "scan %s of %s, %lld x %lld, stride %lld to %lld, options %d %d %d",
               c->op, tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n, (long long)c->in.stride,
               (long long)out.stride, o.exclusive, o.reverse, o.init != NULL);
}

/* Any ranges of a sequence. */
static void window_ranges(tally *ctx, const problem *c)
{
    static int64_t start[700], end[700];
    const int64_t results = check_below(600), n = c->in.n, least = check_below(2) ? 0 : check_below(9);
    if (c->in.rows != 1 || c->in.offsets) return;
    const int strided = (int)check_below(3) == 0;
    tally_view out = {got, c->s->out, 1, results, results, 1 + strided};
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    for (int64_t r = 0; r < results; r++) {
        start[r] = check_below(n + 1);
        end[r] = start[r] + check_below(check_below(2) ? 9 : n + 1);
        if (end[r] > n) end[r] = n;
        if (r && check_below(4) == 0) start[r] = start[r - 1], end[r] = end[r - 1];
    }
    if (!check_ok(ctx, tally_window_ranges(ctx, c->op, &c->in, start, end, results, &out, least), c->op)) return;
    const sequence q = bring(&c->in, c->s, c->p, 0, 0);
    for (int64_t r = 0; r < results; r++) {
        fold(&q, start[r], end[r] - start[r], NULL, least, line);
        put(c, &out, 0, r, line);
    }
    check_same(got, want, (int64_t)sizeof got, 1, "ranges %s of %s, %lld, stride %lld to %lld, min_count %lld", c->op,
               tally_dtype_name(c->in.dtype), (long long)n, (long long)c->in.stride, (long long)out.stride,
               (long long)least);
}

static void window(tally *ctx, const problem *c)
{
    tally_window_options o = {.before = check_size(200), .after = check_below(3) ? 0 : check_below(9)};
    o.edges = (tally_edges)check_below(c->in.offsets ? 2 : 3);
    if (check_below(2)) o.min_count = check_below(o.before + o.after + 2);
    if (check_below(6) == 0 && !c->in.offsets) o.step = 1 + check_below(5);
    const int64_t shift = check_below(4)   ? 0
                          : check_below(2) ? -o.after - check_below(20) - 1
                                           : o.before + 1 + check_below(20);
    o.before -= shift, o.after += shift; /* all of it before its position, or after it */
    const tally_view out = results(c, c->in.offsets ? 0 : tally_window_length(c->in.n, &o));
    tally_view where = out;
    where.data = give_results(ctx, c), where.offsets = c->given.offsets;
    if (!check_ok(ctx, tally_window(ctx, c->op, &c->given, &where, &o), c->op)) return;
    take_results(ctx, c);
    check_road(ctx, c, o.step > 1 || o.before < 0 || o.after < 0);
    const int64_t step = o.step > 1 ? o.step : 1;
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        int64_t number = 0, to = 0;
        for (int64_t i = 0; i < q.n; i++) {
            const int64_t low = i - o.before, high = i + o.after + 1;
            const int full = low >= 0 && high <= q.n;
            if (!full && o.edges == TALLY_EDGES_VALID) continue;
            if (number++ % step) continue;
            const int64_t a = low < 0 ? 0 : low > q.n ? q.n : low, e = high > q.n ? q.n : high, b = e < a ? a : e;
            if (full || o.edges == TALLY_EDGES_SHRINK || o.min_count > 0)
                fold(&q, a, b - a, NULL, o.min_count, line);
            else
                q.op->empty(q.p, line), is_empty = 1;
            put(c, &out, r, to++, line);
        }
    }
    check_same(marks[0], marks[1], sizeof marks[0], 1, "validity of window %s of %s", c->op,
               tally_dtype_name(c->in.dtype));
    check_same(got, want, (int64_t)sizeof got, 1,
               "window %s of %s, %lld x %lld, stride %lld, %lld + 1 + %lld, edges %d, min_count %lld, step %lld", c->op,
               tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n, (long long)c->in.stride,
               (long long)o.before, (long long)o.after, (int)o.edges, (long long)o.min_count, (long long)o.step);
}

/* ---- parts: fragments ---- */

/* Elements a .. b - 1 of every sequence. */
static tally_view part_of(const tally_view *v, int64_t a, int64_t b)
{
    tally_view part = *v;
    part.n = b - a;
    part.data = (char *)v->data + a * v->stride * (int64_t)tally_dtype_size(v->dtype);
    part.valid_offset += a * v->stride;
    return part;
}

/* Of rows of the view alone, which of its elements are all there? Then a part may come without its bits. */
static int is_whole(const tally_view *v)
{
    for (int64_t r = 0; r < v->rows; r++)
        for (int64_t i = 0; i < v->n; i++)
            if (!bit(v, r * v->row_stride + i * v->stride)) return 0;
    return 1;
}

/* The part of a problem; without bits where nothing is left out. */
static tally_view take(const problem *c, int64_t a, int64_t b, tally_view *next)
{
    tally_view part = part_of(&c->in, a, b);
    if (part.valid && is_whole(&part)) part.valid = NULL;
    if (!c->in.next) return part;
    *next = part_of(c->in.next, a, b);
    if (next->valid && is_whole(next)) next->valid = NULL;
    part.next = next;
    return part;
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Cuts of 0 .. n. */
enum { CUTS = 9 };
static int cut_up(int64_t n, int64_t cut[CUTS + 1])
{
    const int parts = 1 + (int)check_below(CUTS);
    cut[0] = 0;
    for (int i = 1; i < parts; i++) cut[i] = check_below(4) ? check_below(n + 1) : check_below(n + 1) & -(int64_t)8;
    cut[parts] = n;
    qsort(cut, (size_t)parts, sizeof *cut, ascending);
    return parts;
}

static void through_bytes(tally *ctx, tally_fragment **f, const char *op)
{
    size_t bytes = 0;
    tally_fragment *back = NULL;
    check(!tally_fragment_save(*f, NULL, &bytes), "save %s", op);
    char *const buffer = malloc(bytes);
    check(!tally_fragment_save(*f, buffer, &bytes), "save %s", op);
    if (!check_ok(ctx, tally_fragment_load(ctx, buffer, bytes, &back), op)) exit(check_finish());
    const size_t at = (size_t)check_below((int64_t)bytes); /* damaged */
    tally_fragment *none = NULL;
    buffer[at] ^= (char)(1 + check_below(255));
    check(tally_fragment_load(ctx, buffer, bytes, &none) && !none, "%s: byte %zu of %zu damaged", op, at, bytes);
    free(buffer);
    tally_fragment_free(*f);
    *f = back;
}

static void fragments(tally *ctx, const problem *c)
{
    const int64_t bytes = c->s->result_bytes, rows = c->in.rows;
    int64_t cut[CUTS + 1];
    const int parts = cut_up(c->in.n, cut);
    tally_fragment *f[CUTS], *all = NULL, *whole = NULL;
    int order[CUTS];
    if (c->in.offsets) return;
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    for (int i = 0; i < parts; i++) {
        tally_view next;
        const tally_view part = take(c, cut[i], cut[i + 1], &next);
        if (!check_ok(ctx, tally_fragment_of_view(ctx, c->op, &part, cut[i], &f[i]), c->op)) exit(check_finish());
        if (check_below(3) == 0) through_bytes(ctx, &f[i], c->op);
        order[i] = i;
    }
    for (int i = parts - 1; i > 0; i--) {
        const int k = (int)check_below(i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    all = f[order[0]];
    for (int i = 1; i < parts; i++) {
        check_ok(ctx, tally_fragment_merge(all, f[order[i]]), c->op);
        tally_fragment_free(f[order[i]]);
        if (check_below(6) == 0) through_bytes(ctx, &all, c->op);
    }
    check_ok(ctx, tally_fragment_result(all, got), c->op);
    for (int64_t r = 0; r < rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        fold(&q, 0, q.n, NULL, 0, want + r * bytes);
    }
    check_same(got, want, rows + 3, bytes, "fragments %s of %s, %lld x %lld, stride %lld, %d parts", c->op,
               tally_dtype_name(c->in.dtype), (long long)rows, (long long)c->in.n, (long long)c->in.stride, parts);
    check_ok(ctx, tally_fragment_of_view(ctx, c->op, &c->in, 0, &whole), c->op); /* as many bytes, however it was cut */
    size_t a = 0, b = 0;
    check(!tally_fragment_save(all, NULL, &a) && !tally_fragment_save(whole, NULL, &b), "save %s", c->op);
    check(a == b || is_whole(&c->in), "%s: %zu bytes in parts, %zu whole", c->op, a, b);
    tally_fragment_free(whole);
    tally_fragment_free(all);
}

/* ---- parts: streams ---- */

static tally_stream *open_stream(tally *ctx, const problem *c, const tally_scan_options *o, int many)
{
    tally_stream *s = NULL;
    const tally_dtype d = c->s->dtype;
    const tally_status status = o && many ? tally_stream_scan_rows(ctx, c->op, d, c->in.rows, o, &s)
                                : o       ? tally_stream_scan(ctx, c->op, d, o, &s)
                                : many    ? tally_stream_reduce_rows(ctx, c->op, d, c->in.rows, &s)
                                          : tally_stream_reduce(ctx, c->op, d, &s);
    if (!check_ok(ctx, status, c->op)) exit(check_finish());
    return s;
}

/* Pushes of parts, some of them by a fragment before; o: of a scan, NULL: a reduction. */
static void streams(tally *ctx, const problem *c, const tally_scan_options *o)
{
    const int64_t bytes = c->s->result_bytes, rows = c->in.rows;
    const int many = rows != 1 || check_below(3) == 0, resumes = check_below(4) == 0;
    int64_t cut[CUTS + 1];
    const int parts = cut_up(c->in.n, cut);
    if (c->in.offsets) return;
    tally_stream *s = open_stream(ctx, c, o, many);
    tally_view out = results(c, c->in.n);
    out.valid = NULL; /* streams write no bits */
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    for (int i = 0; i < parts; i++) {
        tally_view next, to = out;
        const tally_view part = take(c, cut[i], cut[i + 1], &next);
        to.n = part.n;
        to.data = got + cut[i] * out.stride * bytes;
        if (!i && resumes) {
            tally_fragment *f = NULL;
            check_ok(ctx, tally_fragment_of_view(ctx, c->op, &part, 0, &f), c->op);
            check_ok(ctx, tally_stream_resume(s, f), c->op);
            tally_fragment_free(f);
        } else if (!many && !part.valid && !part.next && part.stride == 1 && check_below(2)) {
            if (out.stride != 1) break;
            check_ok(ctx, tally_stream_push(s, part.data, part.n, o ? to.data : NULL, NULL), c->op);
        } else {
            check_ok(ctx, tally_stream_push_view(s, &part, o ? &to : NULL), c->op);
        }
        if (i == parts - 1) {
            check_ok(ctx, tally_stream_finish(s, o ? NULL : got, NULL), c->op);
            for (int64_t r = 0; r < rows; r++) {
                const sequence q = bring(&c->in, c->s, c->p, r, 0);
                if (!o) fold(&q, 0, q.n, NULL, 0, want + r * bytes);
                for (int64_t k = 0; o && k < q.n; k++) {
                    fold(&q, 0, k + !o->exclusive, o->init, 0, line);
                    if (k >= cut[1] || !resumes) put(c, &out, r, k, line);
                }
            }
            check_same(got, want, (int64_t)sizeof got, 1,
                       "stream %s %s of %s, %lld x %lld, stride %lld to %lld, %d parts, many %d, resumes %d",
                       o ? "scan" : "reduce", c->op, tally_dtype_name(c->in.dtype), (long long)rows, (long long)c->in.n,
                       (long long)c->in.stride, (long long)out.stride, parts, many, resumes);
        }
    }
    tally_stream_close(s);
}

static void stream_scan(tally *ctx, const problem *c)
{
    tally_scan_options o = {(int)check_below(2), 0, NULL};
    char init[16];
    check_fill(init, c->s->out, 1, TL_DATA_HOSTILE);
    if (c->s->seedable && check_below(2)) o.init = init;
    streams(ctx, c, &o);
}

/* One of the windows of a sequence, or `empty`. */
static void window_at(const sequence *q, const tally_window_options *o, int64_t i)
{
    const int64_t low = i - o->before, high = i + o->after + 1, a = low < 0 ? 0 : low, b = high > q->n ? q->n : high;
    if ((low >= 0 && high <= q->n) || o->edges == TALLY_EDGES_SHRINK || o->min_count > 0)
        fold(q, a, b - a, NULL, o->min_count, line);
    else
        q->op->empty(q->p, line);
}

static void stream_window(tally *ctx, const problem *c)
{
    const int64_t bytes = c->s->result_bytes, rows = c->in.rows;
    const int many = rows != 1 || check_below(3) == 0;
    tally_window_options o = {.before = check_size(60), .after = check_below(3) ? 0 : check_below(9)};
    o.edges = (tally_edges)check_below(3);
    if (check_below(2)) o.min_count = check_below(o.before + o.after + 2);
    int64_t cut[CUTS + 1], at = 0, made;
    const int parts = cut_up(c->in.n, cut);
    tally_stream *s = NULL;
    if (c->in.offsets) return;
    if (!check_ok(ctx,
                  many ? tally_stream_window_rows(ctx, c->op, c->s->dtype, rows, &o, &s)
                       : tally_stream_window(ctx, c->op, c->s->dtype, &o, &s),
                  c->op))
        exit(check_finish());
    tally_view out = results(c, tally_window_length(c->in.n, &o));
    out.valid = NULL;
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    for (int i = 0; i < parts; i++, at += made) {
        tally_view next, to = out;
        const tally_view part = take(c, cut[i], cut[i + 1], &next);
        to.data = got + at * out.stride * bytes;
        made = tally_stream_results(s, part.n);
        to.n = made;
        if (!many && !part.valid && !part.next && part.stride == 1 && out.stride == 1 && check_below(4))
            check_ok(ctx, tally_stream_push(s, part.data, part.n, to.data, &made), c->op);
        else
            check_ok(ctx, tally_stream_push_view(s, &part, &to), c->op);
    }
    tally_view to = out;
    to.data = got + at * out.stride * bytes;
    to.n = tally_stream_results(s, -1);
    check(at + to.n == out.n || !rows, "%s: %lld and %lld results, not %lld", c->op, (long long)at, (long long)to.n,
          (long long)out.n);
    check_ok(ctx, tally_stream_finish_view(s, &to), c->op);
    tally_stream_close(s);
    for (int64_t r = 0; r < rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        for (int64_t i = 0; i < out.n; i++) {
            window_at(&q, &o, i + (o.edges == TALLY_EDGES_VALID ? o.before : 0));
            put(c, &out, r, i, line);
        }
    }
    check_same(got, want, (int64_t)sizeof got, 1,
               "stream window %s of %s, %lld x %lld, stride %lld to %lld, %lld + 1 + %lld, edges %d, min_count %lld, "
               "%d parts, many %d",
               c->op, tally_dtype_name(c->in.dtype), (long long)rows, (long long)c->in.n, (long long)c->in.stride,
               (long long)out.stride, (long long)o.before, (long long)o.after, (int)o.edges, (long long)o.min_count,
               parts, many);
}

/* A part that has all of its elements and comes without bits, and one that lacks some: either into the other. */
static void one_is_whole(tally *ctx)
{
    static const char *const ops[] = {"mean", "var", "first", "argmin", "sum"};
    enum { CELLS = 300, STEPS = 21 };
    for (int k = 0; k < 40; k++) {
        const char *const op = ops[k % 5];
        const int64_t cut = 1 + check_below(STEPS - 1);
        tally_operator_info info;
        tally_fragment *f[2];
        check_fill(store[0], TALLY_F32, CELLS * STEPS, TL_DATA_PLAIN);
        bits_of(0);
        memset(bitmap[0], 0xff, (size_t)((cut * CELLS + 7) / 8));
        tally_view all = tally_columns(store[0], TALLY_F32, STEPS, CELLS);
        all.valid = bitmap[0];
        tally_view part[2] = {part_of(&all, 0, cut), part_of(&all, cut, STEPS)};
        part[0].valid = NULL;
        check_ok(ctx, tally_operator(ctx, op, TALLY_F32, &info), op);
        check_ok(ctx, tally_reduce(ctx, op, &all, want), op);
        for (int i = 0; i < 2; i++)
            if (!check_ok(ctx, tally_fragment_of_view(ctx, op, &part[i], i ? cut : 0, &f[i]), op)) return;
        const int into = k & 1;
        check_ok(ctx, tally_fragment_merge(f[into], f[!into]), op);
        check_ok(ctx, tally_fragment_result(f[into], got), op);
        check_same(got, want, CELLS, (int64_t)tally_dtype_size(info.output), "%s, cut at %lld, into %d", op,
                   (long long)cut, into);
        tally_fragment_free(f[0]);
        tally_fragment_free(f[1]);
    }
}

static void refused(tally *ctx, tally_status status, const char *words)
{
    check(status == TALLY_INVALID && strstr(tally_error(ctx), words), "refused: %s; wanted %s", tally_error(ctx),
          words);
}

/* Bits of results: a view without bits of its own, bits that lie over results, none at all. */
static void result_bits(tally *ctx)
{
    const int32_t x[5] = {3, 1, 4, 1, 5};
    int32_t y[5] = {7, 7, 7, 7, 7};
    unsigned char bits = 0xe0;
    const tally_view in = tally_flat(x, TALLY_I32, 5);
    tally_view out = tally_flat(y, TALLY_I32, 5);
    const tally_window_options w = {.before = 1}, least = {.before = 2, .min_count = 2};
    out.valid = &bits;
    check_ok(ctx, tally_window(ctx, "min", &in, &out, &w), "window");
    check(bits == 0xfe && y[4] == 1, "bits %x", bits);
    check_ok(ctx, tally_window(ctx, "min", &in, &out, &least), "window");
    check(bits == 0xfe, "bits %x", bits);
    check_ok(ctx, tally_scan(ctx, "max", &in, &out, &(tally_scan_options){.exclusive = 1}), "scan");
    check(bits == 0xfe, "bits %x", bits);
    y[4] = 7;
    out.valid = y;
    refused(ctx, tally_window(ctx, "min", &in, &out, &w), "out->valid overlaps elements or results");
    out.valid = x;
    refused(ctx, tally_scan(ctx, "min", &in, &out, NULL), "out->valid overlaps elements or results");
    out.valid = &bits, out.valid_offset = -1;
    refused(ctx, tally_scan(ctx, "min", &in, &out, NULL), "out->valid_offset is -1");
    refused(ctx, tally_reduce_valid(ctx, "min", &in, NULL, 0), "valid is NULL");
    refused(NULL, tally_reduce_valid(NULL, "min", &in, &bits, 0), "ctx is NULL");
    check(y[4] == 7 && bits == 0xfe, "something was written");
    check(tally_common_dtype(TALLY_F16, TALLY_BF16) == TALLY_F32 &&
              tally_common_dtype(TALLY_I8, TALLY_U64) == TALLY_F64 &&
              tally_common_dtype(TALLY_U8, TALLY_U32) == TALLY_U64 && !tally_common_dtype(TALLY_I8, (tally_dtype)99),
          "common types");
}

/* What only the processors do. */
static void in_parts(tally *ctx, const problem *c)
{
    if (check_below(2)) fragments(ctx, c);
    if (check_below(2)) streams(ctx, c, NULL);
    if (check_below(4) == 0 && c->in.n <= 600) stream_scan(ctx, c);
    if (check_below(4) == 0 && c->in.n <= 600) stream_window(ctx, c);
    if (check_below(4) == 0 && c->in.n <= 600) window_ranges(ctx, c);
}

/* few: programs that other tests have compiled too. */
static void run(tally *ctx, int64_t cases, int few)
{
    static problem c;
    for (int64_t k = 0; k < cases; k++) {
        c = (problem){.op = ""};
        if (!make(&c)) continue;
        place_inputs(ctx, &c);
        if (!few || c.in.n < CHUNK) reduce(ctx, &c);
        if (!block[STORE].bytes) in_parts(ctx, &c);
        if (check_below(4) == 0 && c.in.n <= 600) scan(ctx, &c);
        if (!few && check_below(4) == 0 && c.in.n <= 600) window(ctx, &c);
    }
}

/* Exact sums: by the device and nobody else. */
static void exact(tally *ctx)
{
    static const char *const ops[] = {"sum:exact",    "dot:exact",    "mean:exact",
                                      "nansum:exact", "nandot:exact", "nanmean:exact"};
    static const tally_dtype types[] = {TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64};
    static problem c;
    tally *processors = check_open(1, NULL);
    tally_times_info times;
    for (int k = 0; k < (check_quick ? 36 : 72); k++) {
        const char *const op = ops[k % 6];
        const tally_dtype d = types[check_below(4)];
        const int64_t rows = check_below(2) ? 1 : 1 + check_below(60), n = check_size(MOST / rows);
        const int segments = check_below(4) == 0, dense = (int)check_below(2), two = k % 3 == 1;
        c = (problem){.op = ""};
        if (segments) c.offsets[0] = check_below(20);
        for (int64_t r = 0; r < rows && segments; r++)
            c.offsets[r + 1] = c.offsets[r] + check_below(2 * n / (rows + 1) + 1);
        const int64_t *const offsets = segments ? c.offsets : NULL;
        for (int i = 0; i < 2; i++) check_fill(store[i], d, ROOM, (tl_data)check_below(TL_DATA_KINDS)), bits_of(i);
        c.in = view(0, d, rows, n, offsets, dense, (int)check_below(2));
        c.next = view(1, d, rows, n, offsets, dense, (int)check_below(2));
        if (two) c.in.next = &c.next;
        place_inputs(ctx, &c);
        void *const to = give_results(ctx, &c);
        check_ok(processors, tally_reduce(processors, op, &c.in, want), op);
        check_ok(ctx, tally_time(ctx, 1), "time");
        check_ok(ctx, tally_reduce(ctx, op, &c.given, to), op);
        check_ok(ctx, tally_times(ctx, &times), "times");
        take_results(ctx, &c);
        check_same(got, want, sizeof got, 1, "%s of %s, %lld x %lld, strides %lld %lld, bits %d", op,
                   tally_dtype_name(d), (long long)rows, (long long)n, (long long)c.in.row_stride,
                   (long long)c.in.stride, c.in.valid != NULL);
        const int64_t elements = segments ? c.offsets[rows] - c.offsets[0] : rows * n;
        check(!times.on_processors && (times.launches || !elements),
              "%s: %lld launches, %lld elements on the processors", op, (long long)times.launches,
              (long long)times.on_processors);
    }
    check_ok(ctx, tally_time(ctx, 1), "time");
    tally_close(processors);
}

static void on_device(const char *name)
{
    static const size_t bytes[BLOCKS] = {sizeof store[0],  sizeof store[1], sizeof bitmap[0],
                                         sizeof bitmap[1], sizeof got,      sizeof((problem *)0)->offsets};
    const int few = !strcmp(only_op, "") && !check_long;
    tally *ctx;
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    if (!strcmp(only_op, "")) only_op = few ? "sum" : "all", only_type = few ? "f32" : "all";
    tl_gpu *gpu = tl_gpu_of(ctx->device)->gpu;
    int ready = check_ok(ctx, gpu->calls->enter(gpu, ctx), name);
    for (int b = 0; b < BLOCKS && ready; b++)
        ready = check_ok(ctx, gpu->calls->allocate(gpu, ctx, bytes[b], &block[b]), "a block");
    gpu->calls->leave(gpu);
    if (!ready) return;
    check_ok(ctx, tally_time(ctx, 1), "time");
    run(ctx, few || check_quick ? 200 : 1000, few);
    exact(ctx);
    check_ok(ctx, gpu->calls->enter(gpu, ctx), name);
    for (int b = 0; b < BLOCKS; b++) gpu->calls->release(gpu, &block[b]);
    gpu->calls->leave(gpu);
    memset(block, 0, sizeof block);
    tally_close(ctx);
}

int main(int argc, char **argv)
{
    check_start();
    for (int t = 1; t <= 2 && argc < 3; t++) {
        tally *ctx = check_open(t, NULL);
        one_is_whole(ctx);
        result_bits(ctx);
        run(ctx, check_quick ? 300 : check_long ? 20000 : 2000, 0);
        tally_close(ctx);
    }
    only_op = argc > 2 ? argv[1] : "", only_type = argc > 2 ? argv[2] : "";
    for_each_gpu(NULL, on_device);
    return check_finish();
}
