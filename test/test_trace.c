/* SPDX-License-Identifier: MIT
 * The evaluation tree, read as symbols: src/law/spec.c and src/law/counter.h run an operator
 * whose states are expressions (combine(a, b) makes "(a.b)") and the expressions are compared
 * with the definition, said again in this file, so that a wrong law cannot hide behind a wrong
 * golden file. Equal expressions are one node of a table, so trees are compared as numbers. The
 * compiled kernels' trees: test_probe.c. */
#include "check.h"
#include "law/counter.h"
#include "law/spec.h"

/* ---- expressions: a table of nodes, each pair once ---- */

enum { NODES = 1 << 22, LEAVES = 1 << 12, NONE = -1, MASKED = -1000000 };

static int32_t node_left[NODES], node_right[NODES], node_slot[2 * NODES];
static int32_t node_elements[NODES]; /* leaves below it that are no init */
static int32_t node_count;

static void nodes_clear(void)
{
    memset(node_slot, 0, sizeof node_slot);
    node_count = LEAVES; /* node i < LEAVES is the leaf of element i; LEAVES - 1 is init */
}

static int32_t elements(int32_t node)
{
    return node == LEAVES - 1 ? 0 : node < LEAVES ? 1 : node_elements[node];
}

static int32_t pair(int32_t a, int32_t b)
{
    uint64_t h = ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9e3779b97f4a7c15u;
    for (uint64_t at = h >> 41;; at++) {
        int32_t *slot = &node_slot[at & (2 * NODES - 1)];
        if (!*slot) {
            if (node_count == NODES) {
                fprintf(stderr, "the table of nodes is full\n");
                exit(1);
            }
            node_left[node_count] = a;
            node_right[node_count] = b;
            node_elements[node_count] = elements(a) + elements(b);
            *slot = node_count++;
        }
        if (node_left[*slot] == a && node_right[*slot] == b) return *slot;
    }
}

static char *spell(char *to, int32_t node)
{
    if (node == NONE) return to + sprintf(to, "absent");
    if (node == LEAVES - 1) return to + sprintf(to, "init");
    if (node < LEAVES) return to + sprintf(to, "%d", node);
    *to++ = '(';
    to = spell(to, node_left[node]);
    *to++ = '.';
    to = spell(to, node_right[node]);
    *to++ = ')';
    *to = 0;
    return to;
}

/* ---- the tracing operator: elements are their own numbers, i32; negative: masked out ---- */

static void trace_lift(tl_state *s, const void *x, int64_t i, tl_par p) { memcpy(s, x, 4); }
static int trace_masked(const void *x, tl_par p)
{
    (void)p;
    int32_t v;
    memcpy(&v, x, 4);
    return v < 0;
}
static void trace_combine(tl_state *a, const tl_state *b, int64_t na, int64_t nb)
{
    int32_t l, r;
    memcpy(&l, a, 4);
    memcpy(&r, b, 4);
    check(na == elements(l) && nb == elements(r),
          "combine of %d and %d elements is told %lld and %lld", elements(l), elements(r),
          (long long)na, (long long)nb);
    l = pair(l, r);
    memcpy(a, &l, 4);
}
static void trace_lower(const tl_state *s, int64_t n, int64_t first, tl_par p, void *out)
{
    memcpy(out, s, 4);
}
static void trace_empty(tl_par p, void *out) { memcpy(out, &(int32_t){NONE}, 4); }
static void trace_seed(tl_state *s, const void *v, tl_par p) { memcpy(s, v, 4); }

static const tl_scalar tracer = {
    .file = "trace",
    .core = "trace",
    .dtype = TALLY_I32,
    .out = TALLY_I32,
    .lanes = 1,
    .elem_bytes = 4,
    .state_bytes = 4,
    .result_bytes = 4,
    .masked = 1,
    .seedable = 1,
    .lift = trace_lift,
    .is_masked = trace_masked,
    .combine = trace_combine,
    .lower = trace_lower,
    .empty = trace_empty,
    .seed = trace_seed,
};

/* ---- the definition in other words: neighbours paired by levels, blocks from n's bits ---- */

static int32_t join(int32_t a, int32_t b) { return a == NONE ? b : b == NONE ? a : pair(a, b); }

static int32_t definition(const int32_t *x, int64_t stride, int64_t n, int32_t init)
{
    int32_t row[LEAVES], all = init;
    int64_t at = 0;
    for (int64_t block = LEAVES / 2; block; block /= 2) {
        if (!(n & block)) continue;
        for (int64_t i = 0; i < block; i++)
            row[i] = x[(at + i) * stride] < 0 ? NONE : x[(at + i) * stride];
        for (int64_t m = block; m > 1; m /= 2)
            for (int64_t i = 0; i < m / 2; i++) row[i] = join(row[2 * i], row[2 * i + 1]);
        all = join(all, row[0]);
        at += block;
    }
    return all;
}

static void check_trees(const int32_t *got, const int32_t *want, int64_t n, const char *what,
                        int64_t size)
{
    static char a[1 << 16], b[1 << 16];
    if (check_same(got, want, n, 4, "%s of %lld", what, (long long)size) || size > 40) return;
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i]) {
            spell(a, got[i]);
            spell(b, want[i]);
            fprintf(stderr, "  at %lld: %s, not %s\n", (long long)i, a, b);
            return;
        }
}

static void numbered(int32_t *x, int64_t n, int masked)
{
    for (int64_t i = 0; i < n; i++) x[i] = masked && check_below(masked) == 0 ? MASKED : (int32_t)i;
}

static void symbols_by_hand(void)
{
    static const char *const by_hand[] = {"absent",
                                          "0",
                                          "(0.1)",
                                          "((0.1).2)",
                                          "((0.1).(2.3))",
                                          "(((0.1).(2.3)).4)",
                                          "(((0.1).(2.3)).(4.5))",
                                          "((((0.1).(2.3)).(4.5)).6)",
                                          "(((0.1).(2.3)).((4.5).(6.7)))"};
    /* ((B8 . B4) . B1) */
    static const char thirteen[] = "(((((0.1).(2.3)).((4.5).(6.7))).((8.9).(10.11))).12)";
    char text[4096];
    int32_t x[13], got;
    nodes_clear();
    numbered(x, 13, 0);
    for (int n = 0; n <= 9; n++) {
        tl_spec_reduce((tl_spec_sequence){&tracer, (tl_par){0}, x, 1, n < 9 ? n : 13}, NULL, &got);
        spell(text, got);
        check(!strcmp(text, n < 9 ? by_hand[n] : thirteen), "spec of %d is %s", n, text);
    }
}

static void symbols_of_spec(void)
{
    static int32_t x[LEAVES], got[LEAVES], want[LEAVES];
    const int32_t init = LEAVES - 1;
    const tl_par p = {0};
    int most = check_quick ? 200 : 600;
    for (int masked = 0; masked < 3; masked++) { /* none, one in five, one in two */
        nodes_clear();
        numbered(x, LEAVES, masked ? masked == 1 ? 5 : 2 : 0);
        for (int64_t n = 0; n <= most; n++) {
            int32_t seed = n & 1 ? init : NONE, d = definition(x, 1, n, seed);
            tl_spec_reduce((tl_spec_sequence){&tracer, p, x, 1, n}, n & 1 ? &init : NULL, got);
            check_trees(got, &d, 1, "reduce", n);
            if (n > 130 && n % 47 && n != most) continue;
            for (int variant = 0; variant < 8; variant++) {
                tally_scan_options o = {variant & 1, variant >> 1 & 1, variant & 4 ? &init : NULL};
                for (int64_t i = 0; i < n; i++) {
                    int64_t m = i + !o.exclusive;
                    want[o.reverse ? n - 1 - i : i] = definition(
                        o.reverse ? x + n - 1 : x, o.reverse ? -1 : 1, m, o.init ? init : NONE);
                }
                tl_spec_scan((tl_spec_sequence){&tracer, p, x, 1, n}, &o, got);
                check_trees(got, want, n, "scan", n);
            }
        }
        for (int k = 0; k < (check_quick ? 100 : 500); k++) {
            int64_t n = check_below(150), stride = 1 + check_below(3), m = 0;
            tally_window_options o = {check_below(40), check_below(20), (tally_edges)check_below(3),
                                      0};
            if (check_below(2)) o.min_count = 1 + check_below(o.before + o.after + 1);
            for (int64_t i = 0; i < n; i++) {
                int64_t from = i - o.before, end = i + o.after + 1, counted = 0;
                int whole = from >= 0 && end <= n;
                if (from < 0) from = 0;
                if (end > n) end = n;
                for (int64_t j = from; j < end; j++) counted += x[j * stride] >= 0;
                if (o.edges == TALLY_EDGES_VALID && !whole) continue;
                int missing = counted < o.min_count ||
                              (o.edges == TALLY_EDGES_MISSING && !whole && !o.min_count);
                want[m++] =
                    missing ? NONE : definition(x + from * stride, stride, end - from, NONE);
            }
            check(m == tally_window_length(n, &o), "window length %lld", (long long)m);
            tl_spec_window((tl_spec_sequence){&tracer, p, x, stride, n}, &o, got);
            check_trees(got, want, m, "window", n);
        }
    }
}

/* A slab [a, b) pushed as random smaller slabs, merged in random grouping. */
static void slab(tl_counter *c, const int32_t *x, int64_t a, int64_t b, int depth)
{
    tl_counter_init(c, a);
    if (depth && b - a > 1) {
        int64_t cut = a + check_below(b - a + 1);
        tl_counter right;
        slab(c, x, a, cut, depth - 1);
        slab(&right, x, cut, b, depth - 1);
        for (int j = 0; j < right.count; j++)
            tl_counter_push(c, &tracer, right.level[j], &right.node[j]);
        return;
    }
    while (c->end < b) { /* one element, or the largest aligned node that fits */
        int level = check_below(2) ? 0 : tl_slab_level(c->end, b);
        tl_state s;
        int32_t node = definition(x + c->end, 1, (int64_t)1 << level, NONE);
        memcpy(&s, &node, 4);
        tl_counter_push(c, &tracer, level, &s);
    }
}

static void symbols_of_counter(void)
{
    static int32_t x[LEAVES];
    numbered(x, LEAVES, 0);
    for (int64_t n = 0; n <= 600; n += check_quick ? 7 : 1) {
        if (n % 100 == 0) nodes_clear();
        for (int k = 0; k < 4; k++) {
            tl_counter c;
            tl_state s, init;
            int32_t got = NONE, seed = LEAVES - 1;
            memcpy(&init, &seed, 4);
            slab(&c, x, 0, n, k * 2);
            if (tl_counter_fold(&c, &tracer, k & 1 ? &init : NULL, &s)) memcpy(&got, &s, 4);
            int32_t want = definition(x, 1, n, k & 1 ? seed : NONE);
            check_trees(&got, &want, 1, "counter", n);
            check(c.end == n && c.count == __builtin_popcountll((unsigned long long)n),
                  "counter of %lld has %d nodes", (long long)n, c.count);
            int64_t a = check_below(n + 1); /* from anywhere: the maximal aligned nodes */
            slab(&c, x, a, n, k * 2);
            int j = 0;
            for (int64_t at = a; at < n; j++) {
                int level = 0;
                while (at % ((int64_t)2 << level) == 0 && at + ((int64_t)2 << level) <= n) level++;
                want = definition(x + at, 1, (int64_t)1 << level, NONE);
                if (!check(j < c.count && c.level[j] == level, "slab [%lld, %lld) node %d",
                           (long long)a, (long long)n, j))
                    break;
                memcpy(&got, &c.node[j], 4);
                check_trees(&got, &want, 1, "slab's node", n);
                at += (int64_t)1 << level;
            }
            check(j == c.count, "slab [%lld, %lld) has %d nodes", (long long)a, (long long)n,
                  c.count);
        }
    }
}

int main(void)
{
    check_start();
    symbols_by_hand();
    symbols_of_spec();
    symbols_of_counter();
    return check_finish();
}
