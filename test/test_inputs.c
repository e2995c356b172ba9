/* SPDX-License-Identifier: MIT
 * Views with validity, and operators of two inputs, against the law: an element that is left out is ABSENT in its
 * place. Random operators, types, views and bits; every verb; in all forms that the library has for them
 * (context/inputs.h). */
#include "context/inputs.h"
#include "context/operators.h"
#include "law/order.h"
#include "matrix.h"

enum { MOST = 3000, ROOM = 4 * MOST + 64, BITS = 2 * ROOM / 8 + 16 };

static _Alignas(16) unsigned char store[2][ROOM * 8 + 16], bitmap[2][BITS];
static _Alignas(16) unsigned char values[2 * MOST * 8], got[ROOM * 16], want[ROOM * 16], line[(MOST + 1) * 16];
static unsigned char there[MOST];

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
    tally_view v = {store[k] + check_below(9), d, rows, n, n, 1, offsets};
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
    if (valid) v.valid = bitmap[k], v.valid_offset += check_below(40);
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
} problem;

/* 0: no such operator for these types. */
static int make(problem *c)
{
    const char *const *names = tally_operators();
    int count = 0;
    char parameter[TL_SAMPLE_ROOM];
    while (names[count]) count++;
    const char *name = names[check_below(count)];
    snprintf(c->op, sizeof c->op, "%s%s%s", name, check_below(5) ? "" : ":f64", tl_sample_parameter(name, parameter));
    const tally_dtype a = (tally_dtype)(1 + check_below(TALLY_F64)),
                      b = check_below(2) ? a : (tally_dtype)(1 + check_below(TALLY_F64));
    tally_operator_info info;
    if (tally_operator(NULL, c->op, a, &info)) return 0;
    const tally_dtype d = info.inputs == 2 ? tl_common_dtype(a, b) : a;
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

static void reduce(tally *ctx, const problem *c)
{
    const int64_t bytes = c->s->result_bytes;
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    if (!check_ok(ctx, tally_reduce(ctx, c->op, &c->in, got), c->op)) return;
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        fold(&q, 0, q.n, NULL, 0, want + r * bytes);
    }
    check_same(got, want, c->in.rows + 3, bytes, "reduce %s of %s, %lld x %lld, stride %lld", c->op,
               tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n, (long long)c->in.stride);
}

/* A view of results with strides or without. */
static tally_view results(const problem *c, int64_t n)
{
    tally_view out = {got, c->s->out, c->in.rows, n, n, 1, c->in.offsets};
    const int how = (int)check_below(3);
    if (how == 1) out.stride = 2, out.row_stride = 2 * n;
    if (how == 2 && !out.offsets && out.rows) out.stride = out.rows, out.row_stride = 1;
    return out;
}

static void put(const problem *c, const tally_view *out, int64_t r, int64_t i, const void *value)
{
    const int64_t place = (out->offsets ? out->offsets[r] * out->stride : r * out->row_stride) + i * out->stride;
    memcpy(want + place * c->s->result_bytes, value, c->s->result_bytes);
}

static void scan(tally *ctx, const problem *c)
{
    tally_scan_options o = {(int)check_below(2), (int)check_below(3) == 0, NULL};
    char init[16];
    check_fill(init, c->s->out, 1, TL_DATA_HOSTILE);
    if (c->s->seedable && check_below(2)) o.init = init;
    const tally_view out = results(c, c->in.n);
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    if (!check_ok(ctx, tally_scan(ctx, c->op, &c->in, &out, &o), c->op)) return;
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, o.reverse);
        for (int64_t i = 0; i < q.n; i++) {
            fold(&q, 0, i + !o.exclusive, o.init, 0, line);
            put(c, &out, r, o.reverse ? q.n - 1 - i : i, line);
        }
    }
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
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    if (!check_ok(ctx, tally_window(ctx, c->op, &c->in, &out, &o), c->op)) return;
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
                q.op->empty(q.p, line);
            put(c, &out, r, to++, line);
        }
    }
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
    const tally_view out = results(c, c->in.n);
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
    const tally_view out = results(c, tally_window_length(c->in.n, &o));
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

int main(void)
{
    check_start();
    int64_t cases = check_quick ? 300 : check_long ? 20000 : 2000;
    static problem c;
    for (int t = 1; t <= 2; t++) {
        tally *ctx = check_open(t, NULL);
        one_is_whole(ctx);
        for (int64_t k = 0; k < cases; k++) {
            c = (problem){.op = ""};
            if (!make(&c)) continue;
            reduce(ctx, &c);
            if (check_below(2)) fragments(ctx, &c);
            if (check_below(2)) streams(ctx, &c, NULL);
            if (check_below(4) == 0 && c.in.n <= 600) stream_scan(ctx, &c);
            if (check_below(4) == 0 && c.in.n <= 600) stream_window(ctx, &c);
            if (check_below(4) == 0 && c.in.n <= 600) scan(ctx, &c);
            if (check_below(4) == 0 && c.in.n <= 600) window(ctx, &c);
            if (check_below(4) == 0 && c.in.n <= 600) window_ranges(ctx, &c);
        }
        tally_close(ctx);
    }
    return check_finish();
}
