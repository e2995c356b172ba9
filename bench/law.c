/* SPDX-License-Identifier: MIT
 *
 * law.c - the results of a timed call beside the law (doc/order.md), executed in plain scalar C.
 * It is the one file of the benchmarks that sees inside the library: the scalar functions of the
 * operator, and where the law cuts.
 *
 * All results are compared where that is quick. Of long sequences every element takes part, but
 * only some results are looked at: those of the first block of 4096, of the last and of some
 * between; of many sequences the first, the last and some between.
 */
#include "cliffs.h"
#include "context/context.h"
#include "law/order.h"
#include <stdlib.h>
#include <string.h>

enum {
    LEVEL = 12,
    BLOCK = 1 << LEVEL,
    SHOWN = 8,
    WORK = 1 << 21 /* elements folded for the sake of many sequences */
};

/* A state, or none of an element that counts. */
typedef struct maybe {
    tl_state s;
    int there;
    int64_t n; /* elements it has folded */
} maybe;

typedef struct sequence {
    const tl_scalar *op;
    tl_par par;
    const char *x;
    int64_t stride, n; /* elements */
    const char *out;
    int64_t out_stride; /* results */
    int64_t compared;
} sequence;

static void add(const tl_scalar *op, maybe *a, const maybe *b)
{
    if (a->there && b->there) {
        op->combine(&a->s, &b->s, a->n, b->n);
        a->n += b->n;
    } else if (b->there) {
        *a = *b;
    }
}

static maybe node(const sequence *q, int64_t at, int level)
{
    if (level) {
        maybe left = node(q, at, level - 1);
        const maybe right = node(q, at + ((int64_t)1 << (level - 1)), level - 1);
        add(q->op, &left, &right);
        return left;
    }
    const char *x = q->x + at * q->stride * q->op->elem_bytes;
    maybe m = {.there = !q->op->is_masked(x, q->par)};
    if (m.there) q->op->lift(&m.s, x, at, q->par), m.n = 1;
    return m;
}

/* Does result i have the bits of the state s of m elements? */
static int same(sequence *q, int64_t i, const maybe *s, int64_t m)
{
    char want[64];
    if (s->there)
        q->op->lower(&s->s, m, 0, q->par, want);
    else
        q->op->empty(q->par, want);
    q->compared++;
    return !memcmp(want, q->out + i * q->out_stride * q->op->result_bytes, q->op->result_bytes);
}

/* S(m) = S(parent) . node, where S(from) is known and from is a prefix of m in binary. */
static maybe extend(const sequence *q, maybe s, int64_t from, int64_t m)
{
    while (from < m) {
        const int level = tl_top_level(m - from);
        const maybe block = node(q, from, level);
        add(q->op, &s, &block);
        from += (int64_t)1 << level;
    }
    return s;
}

/* S(m) of whole blocks: m is a multiple of BLOCK. Each bit of m is a tree whose leaves are
   blocks. */
static maybe sum_of(const sequence *q, const maybe *blocks, int64_t m)
{
    maybe s = {.there = 0}, tree[TL_MAX_LEVELS + 1];
    for (int64_t at = 0; at < m;) {
        const int level = tl_top_level(m - at);
        int depth = 0;
        for (int64_t b = 0; b < (int64_t)1 << (level - LEVEL); b++) {
            tree[depth++] = blocks[(at >> LEVEL) + b];
            for (int64_t c = b; c & 1; c >>= 1, depth--)
                add(q->op, &tree[depth - 2], &tree[depth - 1]);
        }
        add(q->op, &s, &tree[0]);
        at += (int64_t)1 << level;
    }
    return s;
}

/* Results from .. to - 1 of a scan, at most a block of them; from is a multiple of BLOCK. */
static int prefixes(sequence *q, const maybe *blocks, int64_t from, int64_t to)
{
    maybe node_of[LEVEL + 2], prefix[LEVEL + 3] = {sum_of(q, blocks, from)};
    int top = 0;
    for (int64_t i = from; i < to; i++) {
        node_of[top++] = node(q, i, 0);
        for (int64_t c = i - from; c & 1; c >>= 1, top--)
            add(q->op, &node_of[top - 2], &node_of[top - 1]);
        prefix[top] = prefix[top - 1];
        add(q->op, &prefix[top], &node_of[top - 1]);
        /* it carries into blocks before */
        if (i + 1 == from + BLOCK) prefix[top] = sum_of(q, blocks, from + BLOCK);
        if (!same(q, i, &prefix[top], i + 1)) return 0;
    }
    return 1;
}

static int sums(sequence *q, int scan)
{
    const int64_t whole = q->n >> LEVEL;
    maybe *blocks = malloc((size_t)(whole + 1) * sizeof *blocks);
    int good = blocks != NULL;
#pragma omp parallel for if (whole > 16)
    for (int64_t b = 0; b < (good ? whole : 0); b++) blocks[b] = node(q, b << LEVEL, LEVEL);
    if (good && !scan) {
        const maybe s = extend(q, sum_of(q, blocks, whole << LEVEL), whole << LEVEL, q->n);
        good = same(q, 0, &s, q->n);
    }
    for (int64_t k = 0; scan && good && k <= SHOWN && q->n; k++) {
        const int64_t last = (q->n - 1) >> LEVEL, from = last * k / SHOWN << LEVEL;
        if (k && last * k / SHOWN == last * (k - 1) / SHOWN) continue;
        good = prefixes(q, blocks, from, from + BLOCK < q->n ? from + BLOCK : q->n);
    }
    free(blocks);
    return good;
}

static int windows(sequence *q, const tally_window_options *w, int64_t most)
{
    const int64_t length = w->before + 1, step = q->n > most ? q->n / most : 1;
    for (int64_t i = q->n > most ? step / 2 : 0; i < q->n; i += step) {
        const int64_t at = i + 1 == q->n || i + step < q->n ? i : q->n - 1; /* the last one too */
        maybe s = {.there = 0};
        sequence window = *q;
        if (at >= w->before) {
            window.x += (at - w->before) * q->stride * q->op->elem_bytes;
            s = extend(&window, s, 0, length);
        }
        if (!same(q, at, &s, length)) return 0;
    }
    return 1;
}

int law_check(tally *ctx, const cell *c, const tally_view *in, const tally_window_options *w,
              const void *out, char *what, size_t capacity)
{
    sequence q = {0};
    const int64_t columns = c->cut == CUT_COLUMNS && c->verb != CLIFF_REDUCE;
    int64_t all = 0;
    if (tl_resolve(ctx, c->op, c->dtype, &q.op, &q.par)) {
        snprintf(what, capacity, "%s", tally_error(ctx));
        return 0;
    }
    const int64_t elements = in->offsets ? in->offsets[in->rows] : in->rows * in->n,
                  each = in->rows ? elements / in->rows + 1 : 1,
                  looked = c->verb == CLIFF_WINDOW ? c->w : 1, most = WORK / (each * looked) + 2,
                  step = in->rows > most ? in->rows / most : 1;
    for (int64_t r = 0; r < in->rows; r += step) {
        const int64_t row = r + step < in->rows || step == 1 ? r : in->rows - 1;
        const int64_t from = in->offsets ? in->offsets[row] : row * in->row_stride;
        q.n = in->offsets ? in->offsets[row + 1] - from : in->n;
        q.stride = in->stride;
        q.x = (const char *)in->data +
              from * in->stride * (in->offsets ? 1 : 0) * q.op->elem_bytes +
              (in->offsets ? 0 : from * q.op->elem_bytes);
        q.out_stride = columns ? in->rows : 1;
        const int64_t first = c->verb == CLIFF_REDUCE ? row
                              : in->offsets           ? from
                              : columns               ? row
                                                      : row * in->n;
        q.out = (const char *)out + first * q.op->result_bytes;
        const int64_t share = WORK / (looked * ((in->rows + step - 1) / step));
        const int good = c->verb == CLIFF_WINDOW ? windows(&q, w, share > 4 ? share : 4)
                                                 : sums(&q, c->verb == CLIFF_SCAN);
        if (!good) {
            snprintf(what, capacity, "other bits than the law's in sequence %lld", (long long)row);
            return 0;
        }
    }
    all = c->verb == CLIFF_REDUCE ? in->rows : elements;
    snprintf(what, capacity, "%lld/%lld", (long long)q.compared, (long long)all);
    return 1;
}
