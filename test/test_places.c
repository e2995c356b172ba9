/* SPDX-License-Identifier: MIT
 * Memory of a GPU in streams, fragments, bits of results and exact sums: elements, second
 * inputs, validity and results, each of the device or of the host, give what the host's memory
 * gives. Skipped where there is no GPU device. */
#include "gpus.h"
#include "mpi/memory.h"

enum {
    CELLS = 851,
    BYTES = CELLS * 4,
    CAPACITY = 2 * CELLS * 8,
    PART = 9,
    X = 1,
    NEXT = 2,
    VALID = 4,
    OUT = 8
};

static tally *ctx;
static char host[3 * BYTES], got[CAPACITY + 8], blank[CAPACITY];

/* Where the elements, second inputs, bits and results of a case are: of the device or of the
   host. */
typedef struct {
    const char *op;
    int64_t rows, size; /* size: of a result */
    tally_dtype out;
    int pairs, valid;
    char *x, *next, *valid_bits, *to;
} place;

/* Elements at .. at + n - 1 of each sequence. */
static tally_view elements(const place *p, int64_t at, int64_t n, int valid, tally_view *next)
{
    tally_view v = {p->x + at * p->rows * 4, TALLY_F32, p->rows, n, 1, p->rows};
    if (p->rows == 1) v.row_stride = n;
    *next = v;
    next->data = p->next + at * p->rows * 4;
    if (valid) v.valid = p->valid_bits, v.valid_offset = 7 + at * p->rows;
    if (p->pairs) v.next = next;
    return v;
}

static tally_view results_at(const place *p, int64_t at, int64_t n)
{
    return (tally_view){p->to + at * p->rows * p->size, p->out, p->rows, n, 1, p->rows};
}

static void stream(const place *p, int verb)
{
    static const char *const verbs[] = {"reduce", "scan", "window"};
    const tally_window_options w = {4, 1, TALLY_EDGES_SHRINK, 0};
    const int many = p->rows > 1;
    const int64_t n = CELLS / p->rows;
    tally_stream *s = NULL;
    tally_view next;
    const tally_status opened =
        verb == 0   ? (many ? tally_stream_reduce_rows(ctx, p->op, TALLY_F32, p->rows, &s)
                            : tally_stream_reduce(ctx, p->op, TALLY_F32, &s))
        : verb == 1 ? (many ? tally_stream_scan_rows(ctx, p->op, TALLY_F32, p->rows, NULL, &s)
                            : tally_stream_scan(ctx, p->op, TALLY_F32, NULL, &s))
                    : (many ? tally_stream_window_rows(ctx, p->op, TALLY_F32, p->rows, &w, &s)
                            : tally_stream_window(ctx, p->op, TALLY_F32, &w, &s));
    if (!check_ok(ctx, opened, p->op)) return;
    int64_t have = 0, made;
    for (int64_t at = 0, m, part = 0; at < n; at += m, part++) {
        m = n - at < PART ? n - at : many ? PART : 20 * PART;
        if (m > n - at) m = n - at;
        const tally_view in = elements(p, at, m, p->valid && part % 3 == 0, &next),
                         y = results_at(p, have, tally_stream_results(s, m));
        if (!many && !p->pairs && !in.valid) {
            check_ok(ctx, tally_stream_push(s, in.data, m, verb ? y.data : NULL, &made),
                     verbs[verb]);
        } else {
            check_ok(ctx, tally_stream_push_view(s, &in, verb ? &y : NULL), verbs[verb]);
            made = verb ? y.n : 0;
        }
        have += made;
    }
    const tally_view end = results_at(p, have, tally_stream_results(s, -1));
    if (verb == 0 && !many)
        check_ok(ctx, tally_stream_finish(s, p->to, &made), verbs[verb]);
    else if (verb != 1)
        check_ok(ctx, tally_stream_finish_view(s, &end), verbs[verb]);
    tally_stream_close(s);
}

static void fragments(const place *p)
{
    const int64_t n = CELLS / p->rows, cut = n / 3;
    tally_fragment *a = NULL, *b = NULL;
    tally_view next, in = elements(p, 0, cut, p->valid, &next);
    check_ok(ctx, tally_fragment_of_view(ctx, p->op, &in, 0, &a), "fragment");
    in = elements(p, cut, n - cut, 0, &next);
    check_ok(ctx, tally_fragment_of_view(ctx, p->op, &in, cut, &b), "fragment");
    check_ok(ctx, tally_fragment_merge(a, b), "merge");
    check_ok(ctx, tally_fragment_result(a, p->to), "result");
    tally_fragment_free(a);
    tally_fragment_free(b);
}

static void bits_of_results(const place *p)
{
    const tally_window_options w = {2, 1, TALLY_EDGES_SHRINK, .min_count = 2};
    tally_view next, in = elements(p, 0, CELLS / p->rows, p->valid, &next),
                     y = results_at(p, 0, in.n);
    y.valid = p->to + CELLS * 8;
    y.valid_offset = 3;
    check_ok(ctx, tally_scan(ctx, p->op, &in, &y, NULL), "bits of a scan");
    y.valid = p->to + CELLS * 9;
    check_ok(ctx, tally_window(ctx, p->op, &in, &y, &w), "bits of windows");
    check_ok(ctx, tally_reduce_valid(ctx, p->op, &in, p->to + CELLS * 10, 5), "bits of reductions");
}

/* Of all places the results are those of the host's. */
static void check_places(char *px, char *py)
{
    static const struct {
        const char *op;
        int64_t rows;
        int pairs;
    } cases[] = {{"sum", 37, 0}, {"mean", 1, 0}, {"corr", 37, 1}, {"dot", 1, 1}, {"last", 23, 0}};
    static const int places[] = {X | OUT, X | NEXT | VALID | OUT, VALID, X, OUT, NEXT | OUT};
    static char kept[CAPACITY], made[CAPACITY];
    check_ok(ctx, tally_copy(ctx, px + 4, host, 2 * BYTES), "copy");
    check_ok(ctx, tally_copy(ctx, px + 5 + 2 * BYTES, host + 2 * BYTES, CELLS), "copy");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tally_operator_info info;
        check_ok(ctx, tally_operator(ctx, cases[c].op, TALLY_F32, &info), "operator");
        for (int what = 0; what < 10; what++) {
            /* no kernel is compiled */
            if (what == 8 || (what == 9 && strcmp(cases[c].op, "last"))) continue;
            for (int k = -1; k < (int)(sizeof places / sizeof *places); k++) {
                const int at = k < 0 ? 0 : places[k];
                place p = {cases[c].op, cases[c].rows, (int64_t)tally_dtype_size(info.output),
                           info.output};
                p.pairs = cases[c].pairs;
                p.valid = what & 1;
                p.x = at & X ? px + 4 : host;
                p.next = at & NEXT ? px + 4 + BYTES : host + BYTES;
                p.valid_bits = at & VALID ? px + 5 + 2 * BYTES : host + 2 * BYTES;
                p.to = at & OUT ? py + 3 : got + 3;
                memset(got, 0x5a, sizeof got);
                check_ok(ctx, tally_copy(ctx, p.to, blank, CAPACITY), "copy");
                if (what < 6)
                    stream(&p, what >> 1);
                else if (what < 8)
                    fragments(&p);
                else
                    bits_of_results(&p);
                check_ok(ctx, tally_copy(ctx, k < 0 ? kept : made, p.to, CAPACITY), "copy");
                if (k >= 0)
                    check_same(made, kept, CAPACITY, 1, "%s of %lld rows, call %d, places %d", p.op,
                               (long long)p.rows, what, at);
            }
        }
    }
}

/* Elements that come from the device and go as the host's leave nothing. */
static void check_exact(char *px)
{
    static const tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_BF16};
    for (size_t d = 0; d < sizeof types / sizeof *types; d++) {
        const int64_t n = BYTES / (int64_t)tally_dtype_size(types[d]);
        tally_view a = tally_flat(px, types[d], n), b = tally_flat(host, types[d], n),
                   next[2] = {a, b};
        tally_exact sum, none;
        check_ok(ctx, tally_copy(ctx, px, host, BYTES), "copy");
        check_ok(ctx, tally_copy(ctx, px + BYTES + 1, host + BYTES, CELLS), "copy");
        tally_exact_init(&sum);
        tally_exact_init(&none);
        for (int how = 0; how < 3; how++) { /* plain, with bits, pairs */
            if (how == 1)
                a.valid = px + BYTES + 1, b.valid = host + BYTES,
                a.valid_offset = b.valid_offset = 3;
            if (how == 2) a.next = &next[0], b.next = &next[1];
            if (how == 2 && types[d] == TALLY_F64) continue;
            check_ok(ctx, tally_exact_add(ctx, &sum, &a), "of the device");
            check_ok(ctx, tally_exact_subtract(ctx, &sum, &b), "of the host");
            check_same(&sum, &none, 1, sizeof sum, "%s, how %d", tally_dtype_name(types[d]), how);
        }
    }
}

static void each(const char *name)
{
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    const memory m = memory_of(ctx);
    char *const px = memory_new(&m, sizeof host + 64), *const py = memory_new(&m, CAPACITY + 64);
    check_places(px, py);
    check_exact(px);
    tally_close(ctx);
}

int main(void)
{
    check_start();
    memset(blank, 0x5a, sizeof blank);
    check_fill(host, TALLY_F32, 2 * CELLS, TL_DATA_PLAIN);
    for (int i = 2 * BYTES; i < 3 * BYTES; i++)
        host[i] = (char)(check_below(256) | check_below(256));
    for_each_gpu(NULL, each);
    return finish_gpus();
}
