/* SPDX-License-Identifier: MIT
 * The verbs by key beside the verbs on each group alone, by memcmp: every operator and type, of one
 * and two inputs, validity bits of inputs, codes and results, strides, few and many groups,
 * threads. Bad arguments write nothing. */
#include "check.h"
#include <stdlib.h>

enum { MOST = 200000, WIDE = 64 };
static char data[2][MOST * 3 * 8], codes[MOST * 2 * 8], got[MOST * 2 * WIDE], want[MOST * 2 * WIDE],
    part[2][MOST * 8], part_out[MOST * WIDE];
static uint8_t bits[2][MOST / 2 + 64], code_bits[MOST / 2 + 64], got_bits[MOST / 4 + 64],
    want_bits[MOST / 4 + 64], part_bits[2][MOST / 8 + 64], part_out_bits[MOST / 8 + 64];
static int64_t group[MOST], row[MOST], begin[MOST + 2];

/* of the results' bits of n elements, 2 apart, and some behind them */
static size_t bits_bytes(int64_t n) { return (size_t)n / 4 + 64; }

static int bit(const void *of, int64_t i) { return ((const uint8_t *)of)[i >> 3] >> (i & 7) & 1; }

static void set_bit(void *of, int64_t i, int to)
{
    uint8_t *const at = (uint8_t *)of + (i >> 3);
    *at = (uint8_t)((*at & ~(1 << (i & 7))) | to << (i & 7));
}

typedef struct {
    const char *name;
    char op[80];
    tally_operator_info info;
    int64_t n, groups, bytes[2], result;
    tally_view x[2], codes, out;
    tally_scan_options scan;
    tally_window_options window;
    int verb, inputs;
} problem;

/* A sequence of n elements, forwards or backwards, with bits or without. */
static tally_view sequence(char *memory, tally_dtype d, int64_t n, uint8_t *validity)
{
    const int64_t stride = check_below(4)   ? 1
                           : check_below(2) ? 3
                                            : -2,
                  bytes = (int64_t)tally_dtype_size(d), back = stride < 0 && n ? (n - 1) * 2 : 0;
    tally_view v = {memory + back * bytes, d, 1, n, n, stride, NULL};
    if (validity && check_below(2)) {
        v.valid = validity;
        v.valid_offset = back + check_below(20);
    }
    return v;
}

/* The bits of n elements, also 3 apart: more ones than zeros. */
static void random_bits(uint8_t *to, int64_t n)
{
    for (int64_t i = 0; i < n / 2 + 64; i++) to[i] = (uint8_t)(check_random() | check_random());
}

static int make_operator(problem *p)
{
    const char *const *names = tally_operators();
    char parameter[TL_SAMPLE_BYTES];
    int count = 0;
    while (names[count]) count++;
    p->name = names[check_below(count)];
    const tally_dtype d = (tally_dtype)(1 + check_below(TALLY_F64));
    snprintf(p->op, sizeof p->op, "%s%s%s", p->name, check_below(4) ? "" : ":f64",
             tl_sample_parameter(p->name, parameter));
    if (tally_operator(NULL, p->op, d, &p->info)) return 0;
    p->inputs = p->info.inputs;
    p->result = (int64_t)tally_dtype_size(p->info.output) * p->info.lanes;
    p->x[0].dtype = p->x[1].dtype = d;
    if (p->inputs == 2 && check_below(2)) {
        p->x[1].dtype = (tally_dtype)(1 + check_below(TALLY_F64));
        tally_operator_info info;
        if (tally_operator(NULL, p->op, tally_common_dtype(d, p->x[1].dtype), &info)) return 0;
        p->info = info;
        p->result = (int64_t)tally_dtype_size(info.output) * info.lanes;
    }
    return p->result <= WIDE;
}

static void make(problem *p, int64_t n, int64_t groups)
{
    while (!make_operator(p)) {
    }
    p->n = n;
    p->groups = groups;
    for (int i = 0; i < p->inputs; i++) {
        p->bytes[i] = (int64_t)tally_dtype_size(p->x[i].dtype);
        p->x[i] = sequence(data[i], p->x[i].dtype, n, bits[i]);
        check_fill(data[i], p->x[i].dtype, 3 * n, check_below(2) ? TL_DATA_PLAIN : TL_DATA_HOSTILE);
        random_bits(bits[i], n);
    }
    p->x[0].next = p->inputs == 2 ? &p->x[1] : NULL;
    tally_dtype d = (tally_dtype)(1 + check_below(TALLY_U64));
    while (tally_dtype_size(d) < 4 && groups > 127) d = (tally_dtype)(1 + check_below(TALLY_U64));
    p->codes = sequence(codes, d, n, check_below(2) ? code_bits : NULL);
    if (p->codes.stride == 3) p->codes.stride = 2;
    random_bits(code_bits, n);
    const int64_t skew = 1 + check_below(groups);
    for (int64_t i = 0; i < n; i++) {
        const int64_t code = check_below(check_below(3) ? groups : skew);
        const int there =
            !p->codes.valid || bit(p->codes.valid, p->codes.valid_offset + i * p->codes.stride);
        const uint64_t any = there ? (uint64_t)code : check_random(); /* anything, if left out */
        const size_t bytes = tally_dtype_size(d);
        memcpy((char *)p->codes.data + i * p->codes.stride * (int64_t)bytes, &any, bytes);
        group[i] = there ? code : groups;
    }
    p->verb = (int)check_below(3);
    p->scan = (tally_scan_options){(int)check_below(2), (int)check_below(2), NULL};
    p->window =
        (tally_window_options){check_below(9), check_below(5), (tally_edges)check_below(2), 0, 0};
    if (check_below(4) == 0) p->window.before = -1;
    if (check_below(4) == 0) p->window.after = -1;
    if (p->window.before < 0 && p->window.after < 0) p->window.after = 3;
    if (check_below(2)) p->window.min_count = check_below(p->window.before + p->window.after + 2);
    p->out = (tally_view){got, p->info.output, 1, n, n, 1 + check_below(2), NULL};
    p->out.valid = p->verb && check_below(2) ? got_bits : NULL;
    p->out.valid_offset = p->out.valid ? check_below(30) : 0;
    const int64_t all = 2 * (n + groups + 1) * p->result;
    const size_t used = (size_t)(all < (int64_t)sizeof got ? all : (int64_t)sizeof got);
    memset(got, 0x5a, used);
    memset(want, 0x5a, used);
    memset(got_bits, 0x5a, bits_bytes(n));
    memset(want_bits, 0x5a, bits_bytes(n));
}

/* Rows in the order of their groups: group g has row[begin[g] .. begin[g + 1] - 1]. */
static void sort_rows(const problem *p)
{
    memset(begin, 0, (size_t)(p->groups + 2) * sizeof *begin);
    for (int64_t i = 0; i < p->n; i++) begin[group[i] + 1]++;
    for (int64_t g = 0; g <= p->groups; g++) begin[g + 1] += begin[g];
    static int64_t next[MOST + 2];
    memcpy(next, begin, (size_t)(p->groups + 1) * sizeof *next);
    for (int64_t i = 0; i < p->n; i++) row[next[group[i]]++] = i;
}

/* The verb on group g alone; on no elements for the rows without a group. */
static void expect(tally *one, const problem *p, int64_t g)
{
    const int64_t *const rows = row + begin[g], n = begin[g + 1] - begin[g],
                         m = g < p->groups ? n : 0;
    tally_view x[2], out = tally_flat(part_out, p->info.output, m);
    for (int k = 0; k < p->inputs; k++) {
        const tally_view *const v = &p->x[k];
        x[k] = tally_flat(part[k], v->dtype, m);
        x[k].valid = v->valid ? part_bits[k] : NULL;
        for (int64_t i = 0; i < m; i++) {
            memcpy(part[k] + i * p->bytes[k], (char *)v->data + rows[i] * v->stride * p->bytes[k],
                   (size_t)p->bytes[k]);
            if (v->valid)
                set_bit(part_bits[k], i, bit(v->valid, v->valid_offset + rows[i] * v->stride));
        }
    }
    if (p->inputs == 2) x[0].next = &x[1];
    if (p->verb == 0 && g < p->groups) {
        check_ok(one, tally_reduce(one, p->op, x, want + g * p->result), "reduce");
        return;
    }
    if (p->verb == 0) return;
    out.valid = p->out.valid ? part_out_bits : NULL;
    if (g == p->groups)
        check_ok(one, tally_reduce(one, p->op, x, part_out), "reduce");
    else if (p->verb == 1)
        check_ok(one, tally_scan(one, p->op, x, &out, &p->scan), "scan");
    else
        check_ok(one, tally_window(one, p->op, x, &out, &p->window), "window");
    for (int64_t i = 0; i < n; i++) {
        memcpy(want + rows[i] * p->out.stride * p->result, part_out + (m ? i : 0) * p->result,
               (size_t)p->result);
        if (out.valid)
            set_bit(want_bits, p->out.valid_offset + rows[i] * p->out.stride,
                    m ? bit(part_out_bits, i) : 0);
    }
}

static void compare(tally *ctx, tally *one, int64_t n, int64_t groups)
{
    static problem p;
    memset(&p, 0, sizeof p);
    make(&p, n, groups);
    sort_rows(&p);
    for (int64_t g = 0; g <= groups; g++) expect(one, &p, g);
    const tally_status status =
        p.verb == 0   ? tally_reduce_by(ctx, p.op, &p.x[0], &p.codes, groups, got)
        : p.verb == 1 ? tally_scan_by(ctx, p.op, &p.x[0], &p.codes, groups, &p.out, &p.scan)
                      : tally_window_by(ctx, p.op, &p.x[0], &p.codes, groups, &p.out, &p.window);
    check_ok(ctx, status, p.op);
    const int64_t results = p.verb ? n * p.out.stride : groups;
    static const char *const verbs[] = {"reduce", "scan", "window"};
    check_same(got, want, results + (2 * results < MOST), p.result,
               "%s %s of %s by key, n=%lld, %lld groups, %d threads", verbs[p.verb], p.op,
               tally_dtype_name(p.x[0].dtype), (long long)n, (long long)groups, tally_threads(ctx));
    check_same(got_bits, want_bits, (int64_t)bits_bytes(n), 1, "bits of %s %s", verbs[p.verb],
               p.op);
}

static void refused(const tally *ctx, tally_status status, const char *words)
{
    check(status && strstr(tally_error(ctx), words), "refused: %s; wanted %s", tally_error(ctx),
          words);
}

static void errors(tally *ctx)
{
    float x[4] = {1, 2, 3, 4}, y[4] = {7, 7, 7, 7};
    int32_t code[4] = {0, 2, 1, 0};
    uint8_t none = 0;
    const tally_view in = tally_flat(x, TALLY_F32, 4), out = tally_flat(y, TALLY_F32, 4),
                     two = tally_rows(x, TALLY_F32, 2, 2), real = tally_flat(x, TALLY_F32, 4),
                     wrong = tally_flat(y, TALLY_F64, 2), three = tally_flat(code, TALLY_I32, 3),
                     other = tally_flat(x, TALLY_F32, 3), over = tally_flat(code, TALLY_F32, 4);
    tally_view v = tally_flat(code, TALLY_I32, 4), pair = in, with_bits = out;
    pair.next = &other, with_bits.valid = y + 3;
    const tally_window_options window = {1, 0, TALLY_EDGES_SHRINK, 0, 0}, step = {.step = 2},
                               edges = {.edges = TALLY_EDGES_VALID};
    refused(NULL, tally_reduce_by(NULL, "sum", &in, &v, 3, y), "ctx is NULL");
    refused(ctx, tally_reduce_by(ctx, "sum", NULL, &v, 3, y), "in is NULL");
    refused(ctx, tally_reduce_by(ctx, "sum", &in, NULL, 3, y), "codes is NULL");
    refused(ctx, tally_reduce_by(ctx, "sum", &in, &v, 3, NULL), "out is NULL");
    refused(ctx, tally_reduce_by(ctx, "summ", &in, &v, 3, y), "summ");
    refused(ctx, tally_reduce_by(ctx, "sum", &two, &v, 3, y), "in->rows is 2");
    refused(ctx, tally_reduce_by(ctx, "sum", &in, &real, 3, y), "codes->dtype is f32");
    refused(ctx, tally_reduce_by(ctx, "sum", &in, &three, 3, y),
            "codes->n is 3: must be in->n = 4");
    refused(ctx, tally_reduce_by(ctx, "sum", &in, &v, -1, y), "groups is -1");
    refused(ctx, tally_reduce_by(ctx, "sum", &in, &v, 2, y),
            "codes: element 1 is 2: must be in 0..1");
    refused(ctx, tally_reduce_by(ctx, "dot", &pair, &v, 3, y),
            "in->next->n is 3: must be in->n = 4");
    refused(ctx, tally_reduce_by(ctx, "dot", &in, &v, 3, y), "dot");
    code[1] = -2;
    refused(ctx, tally_scan_by(ctx, "sum", &in, &v, 3, &out, NULL), "codes: element 1 is -2");
    code[1] = 2;
    refused(ctx, tally_scan_by(ctx, "sum", &in, &v, 3, NULL, NULL), "out is NULL");
    refused(ctx, tally_scan_by(ctx, "sum", &in, &v, 3, &wrong, NULL), "out->dtype is f64");
    refused(ctx, tally_scan_by(ctx, "sum", &in, &v, 3, &other, NULL), "out->n is 3");
    refused(ctx, tally_scan_by(ctx, "sum", &in, &v, 3, &over, NULL), "out overlaps codes");
    refused(ctx, tally_window_by(ctx, "sum", &in, &v, 3, &in, &window), "out overlaps in");
    v.valid = y;
    refused(ctx, tally_scan_by(ctx, "sum", &in, &v, 3, &out, NULL), "out overlaps codes");
    v.valid = NULL;
    refused(ctx, tally_scan_by(ctx, "sum", &in, &v, 3, &with_bits, NULL),
            "out->valid overlaps out");
    refused(ctx, tally_window_by(ctx, "sum", &in, &v, 3, &out, NULL), "options is NULL");
    refused(ctx, tally_window_by(ctx, "sum", &in, &v, 3, &out, &step), "step is 2");
    refused(ctx, tally_window_by(ctx, "sum", &in, &v, 3, &out, &edges), "edges valid");
    for (int i = 0; i < 4; i++) check(y[i] == 7 && x[i] == (float)(i + 1), "something was written");

    /* in place; and codes that are all left out */
    check_ok(ctx, tally_scan_by(ctx, "sum", &in, &v, 3, &in, NULL), "in place");
    check(x[0] == 1 && x[1] == 2 && x[2] == 3 && x[3] == 5, "sums in place");
    v.valid = &none;
    check_ok(ctx, tally_scan_by(ctx, "mean", &in, &v, 0, &out, NULL), "no groups");
    check(y[0] != y[0] && y[3] != y[3], "means of no group");
    /* no elements, and no memory for them */
    const tally_view nothing = tally_flat(NULL, TALLY_F32, 0), no_code = {0, TALLY_I32, 1};
    check_ok(ctx, tally_reduce_by(ctx, "sum", &nothing, &no_code, 2, y), "no elements");
    check(y[0] == 0 && y[1] == 0 && y[3] != y[3], "sums of no elements");
}

int main(void)
{
    check_start();
    tally *const one = check_open(1, NULL);
    for (int t = CHECK_LEAST_THREADS; t <= 4; t = check_more_threads(t, 4)) {
        tally *const ctx = check_open(t, NULL);
        for (int i = 0; i < (check_quick ? 60 : 200); i++)
            compare(ctx, one, check_size(3000), 1 + check_below(check_below(2) ? 40 : 127));
        for (int i = 0; i < (check_quick ? 3 : 12); i++)
            compare(ctx, one, check_size(20000), 900 + check_below(4000));
        if (t != 2 || check_quick)
            for (int i = 0; i < (check_quick ? 1 : 4); i++)
                compare(ctx, one, MOST - check_below(9),
                        i % 2 ? 30 + check_below(50)
                              : 1500 + check_below(check_quick ? 9000 : 90000));
        errors(ctx);
        tally_close(ctx);
    }
    tally_close(one);
    return check_finish();
}
