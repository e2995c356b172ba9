/* SPDX-License-Identifier: MIT
 * The ladder on its model: every rung x dtype x operation x n has the right answer; the counts
 * of known kernels are exactly what the lectures say; races and other defects are found, and not
 * found where there are none; damaged texts never crash. */
#include "check.h"
#include "ceiling.h"
#include "rung.h"

static report make_report(const ladder_options *o, place **p, shape_report **s, shape which,
                          int64_t n)
{
    report r;
    ladder_error error = {0};
    ladder_options with = *o;
    with.n = n;
    const int code = start_report(&with, &r, p, &error);
    check(code == 0, "start: %s", error.sentence);
    const int shape_code = start_shape(&r, which, s, &error);
    check(shape_code == 0, "shape: %s", error.sentence);
    return r;
}

static const ladder_options plain = {
    .device = "model", .n = -1, .width = 50, .warp = 32, .banks = 32, .columns = 80};

static row run_one(const ladder_options *o, const char *name, const char *text, int64_t n)
{
    place *p;
    shape_report *s;
    ladder_error error = {0};
    const rung *g = find_rung(NULL, name);
    row x = {.rung = g, .text = text};
    if (!check(g != NULL, "no rung %s", name)) exit(1);
    report r = make_report(o, &p, &s, g->shape, n);
    s = &r.shapes[0];
    const int code = run_rung(&r, s, p, 0, &x, &error);
    if (code) snprintf(x.reason, sizeof x.reason, "%.190s", error.sentence);
    if (code) x.verdict = SKIPPED; /* a text that does not compile */
    report_free(&r);
    place_close(p);
    return x;
}

/* ---- answers ---- */

static void check_answer(const ladder_options *o, const rung *g, int64_t n)
{
    char name[80];
    snprintf(name, sizeof name, "%s/%s", shape_name(g->shape), g->name);
    const row x = run_one(o, name, NULL, n);
    int good = x.verdict == RIGHT;
    if (g->note == RACY)
        good = n > 1 ? x.verdict == EXPECTED && x.counts.defect == DEFECT_RACE : x.verdict == RIGHT;
    if (g->note == INEXACT) good = x.verdict == RIGHT || x.verdict == EXPECTED;
    check(good, "%s %s %s n %lld warp %d: %s: %s", name, o->dtype ? o->dtype : "",
          o->operation ? o->operation : "", (long long)n, o->warp, verdict_word(&x), x.reason);
}

static void answers(void)
{
    static const int64_t sizes[] = {0,    1,    2,    3,    7,    8,     31,   32,
                                    33,   127,  255,  256,  257,  511,   512,  513,
                                    1000, 2047, 2048, 2049, 4999, 65535, 65537};
    static const char *const dtypes[] = {"i32", "f32", "f64", "u32", "i64", "u64", "u8", "i8"},
                             *const operations[] = {"sum", "min", "max"};
    const int size_count = sizeof sizes / sizeof *sizes;
    const char *const sanitizers = getenv("TALLY_SANITIZE");
    const int some =
        sanitizers && *sanitizers ? 8 : 1; /* slow: of every eight rungs one, by the seed */
    ladder_options o = plain;
    o.width = 7;
    for (const rung *g = ladder_table; g->name; g++)
        for (int d = check_below(some) ? 8 : 0; d < 8; d++)
            for (int op = 0; op < 3; op++)
                for (int i = check_quick ? (int)check_below(d || op ? size_count - 2 : 5) : 0;
                     i < size_count;
                     i += check_quick ? (d || op ? size_count : 5)
                          : d || op   ? 3
                                    : 1) { /* quick: the seed's sizes, the largest of sums of i32 */
                    if (check_quick && (d || op) && check_below(2)) continue;
                    o.dtype = dtypes[d];
                    o.operation = operations[op];
                    kind k;
                    if (!kind_parse(dtypes[d], &k) || !takes_kind(g->shape, k) ||
                        (op && !has_operation(g->shape)))
                        continue;
                    if (g->shape == SHAPE_scan && op && d > 1 && d < 6) continue;
                    check_answer(&o, g, sizes[i] + (d && i % 2 ? 1 : 0));
                }
    for (int w = 1; w <= 64; w *= 4) /* other machines: warps of 1, 4, 16, 64 lanes */
        for (const rung *g = ladder_table; g->name; g++) {
            if (check_below(some)) continue;
            o = plain;
            o.warp = w;
            o.dtype = g->shape == SHAPE_window ? "f32" : "i32";
            if (strcmp(g->name, "shuffle") && strcmp(g->name, "vector_load") &&
                strcmp(g->name, "warp_reduce"))
                check_answer(&o, g, 4999);
        }
}

static void large(void)
{
    if (check_quick) return;
    for (const rung *g = ladder_table; g->name; g++)
        if (!strcmp(g->name, "tiled_4") || !strcmp(g->name, "vector_load"))
            check_answer(&plain, g, 1 << 24);
}

/* ---- counts ---- */

static void steps_are(const char *name, const int (*want)[3], int count)
{
    const row x = run_one(&plain, name, NULL, 4096);
    check(x.counts.steps == count, "%s: %d steps instead of %d", name, x.counts.steps, count);
    for (int i = 0; i < count; i++) {
        const model_step *s = &x.counts.step[i];
        check(s->threads == want[i][0] && s->warps == want[i][1] && s->divergent == want[i][2],
              "%s step %d: %d threads, %d warps, %d divergent instead of %d, %d, %d", name, i,
              s->threads, s->warps, s->divergent, want[i][0], want[i][1], want[i][2]);
    }
}

static void counts_are(const char *name, model_counts want)
{
    const row x = run_one(&plain, name, NULL, 65536);
    const model_counts *c = &x.counts;
    check(
        c->barriers == want.barriers && c->divergent == want.divergent &&
            c->conflicts == want.conflicts && c->requests == want.requests &&
            c->sectors == want.sectors && c->launches == want.launches,
        "%s: barriers %lld divergent %lld conflicts %lld requests %lld sectors %lld launches %lld",
        name, (long long)c->barriers, (long long)c->divergent, (long long)c->conflicts,
        (long long)c->requests, (long long)c->sectors, (long long)c->launches);
}

static void golden(void)
{
    /* The lecture's block: 1024 threads, 2048 elements (seed 002). Load, 11 steps of the tree,
       the store. */
    static const int better[][3] = {{1024, 32, 0}, {1024, 32, 0}, {512, 16, 0}, {256, 8, 0},
                                    {128, 4, 0},   {64, 2, 0},    {32, 1, 0},   {16, 1, 1},
                                    {8, 1, 1},     {4, 1, 1},     {2, 1, 1},    {1, 1, 1},
                                    {1, 1, 1}};
    static const int naive[][3] = {{1024, 32, 0}, {1024, 32, 0}, {512, 32, 32}, {256, 32, 32},
                                   {128, 32, 32}, {64, 32, 32},  {32, 32, 32},  {16, 16, 16},
                                   {8, 8, 8},     {4, 4, 4},     {2, 2, 2},     {1, 1, 1},
                                   {1, 1, 1}};
    steps_are("better", better, 13);
    steps_are("naive", naive, 13);
    /* 65536 i32, groups of 256: 256 groups, then TILES stops at 256 partials. By hand, tiled_1:
     * 9 barriers a group; 8 warps diverge in steps 1..5, 4, 2, 1 after that and one at the
     * store: 48 a group; 8 + 1 requests, 32 + 1 sectors. */
    counts_are("tiled_1", (model_counts){.barriers = 256 * 9,
                                         .divergent = 256 * 48,
                                         .requests = 256 * 9,
                                         .sectors = 256 * 33,
                                         .launches = 1});
    /* tiled_2: conflicts of its steps 2, 4, 8, 8, 8, 4, 2, 1-fold: 3 accesses a warp, each n - 1
     * passes more, 4 2 1 1 1 1 1 1 warps */
    counts_are("tiled_2", (model_counts){.barriers = 256 * 9,
                                         .divergent = 256 * 6,
                                         .conflicts = 256 * 3 * (4 * 1 + 2 * 3 + 7 + 7 + 7 + 3 + 1),
                                         .requests = 256 * 9,
                                         .sectors = 256 * 33,
                                         .launches = 1});
    counts_are("tiled_3", (model_counts){.barriers = 256 * 9,
                                         .divergent = 256 * 6,
                                         .requests = 256 * 9,
                                         .sectors = 256 * 33,
                                         .launches = 1});
    /* tiled_4: 128 groups load 512 each */
    counts_are("tiled_4", (model_counts){.barriers = 128 * 9,
                                         .divergent = 128 * 6,
                                         .requests = 128 * 17,
                                         .sectors = 128 * 65,
                                         .launches = 1});
    /* simple_1: 16 launches, of 1024, 512, ..., 1 warps and five of less than a warp; 3 requests
     * a warp, of 4 sectors each, then of 2 (16 elements), then of 1 (8 and fewer) */
    /* and the one that clears the tail */
    counts_are("simple_1", (model_counts){.divergent = 5,
                                          .requests = 3 * (2047 + 5),
                                          .sectors = 3 * (4 * 2047 + 2 + 4),
                                          .launches = 17});
    check(run_one(&plain, "tiled_2", NULL, 4096).counts.worst_degree == 8,
          "tiled_2: worst bank conflict");
    check(run_one(&plain, "blelloch", NULL, 4096).counts.worst_degree == 16,
          "blelloch: worst bank conflict");
    ladder_options o = plain;
    o.banks = 64;
    check(run_one(&o, "tiled_2", NULL, 4096).counts.worst_degree == 4, "tiled_2 with 64 banks");
    o.banks = 32;
    o.warp = 1;
    const row broken = run_one(&o, "reduce5", NULL, 4096);
    check(strcmp(broken.got, broken.want) != 0,
          "reduce5 gives the right sum with warps of one lane: %s", broken.got);
    /* deterministic */
    const row one = run_one(&plain, "lookback", NULL, 5000),
              other = run_one(&plain, "lookback", NULL, 5000);
    check(!memcmp(&one.counts, &other.counts, sizeof one.counts), "two runs have different counts");
}

/* ---- defects ---- */

static char *replaced(const char *text, const char *find, const char *put)
{
    const char *at = strstr(text, find);
    char *out = malloc(strlen(text) + strlen(put) + 1);
    if (!at || !out) exit(1);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, put, at + strlen(find));
    return out;
}

static void finds(const char *name, const char *find, const char *put, int what, const char *word)
{
    char path[80];
    char *text = replaced(rung_text(find_rung(NULL, name), path, sizeof path), find, put);
    const row x = run_one(&plain, name, text, 4999);
    check(x.verdict == WRONG && (x.counts.defect == what || what < 0) && strstr(x.reason, word),
          "%s with '%s' for '%s': %s, defect %d: %s", name, put, find, verdict_word(&x),
          x.counts.defect, x.reason);
    free(text);
}

/* Bytes: neighbours in one word are different places; one of them without its barrier is a race. */
static void bytes_race(void)
{
    ladder_options o = plain;
    char path[80];
    o.dtype = "u8";
    char *text = replaced(rung_text(find_rung(NULL, "hillis_steele"), path, sizeof path),
                          "        from = to;\n        BARRIER();\n", "        from = to;\n");
    const row right = run_one(&o, "hillis_steele", NULL, 4999),
              x = run_one(&o, "hillis_steele", text, 4999);
    check(right.verdict == RIGHT && right.counts.races == 0, "hillis_steele with bytes: %s",
          right.reason);
    check(x.verdict == WRONG && x.counts.races > 0,
          "hillis_steele with bytes and without a barrier: %s", x.reason);
    free(text);
}

static void defects(void)
{
    bytes_race();
    finds("tiled_4", "        BARRIER();\n", "", DEFECT_RACE, "");
    finds("atomic", "atomic_combine(out, 0, data[0])", "out[0] = combine(out[0], data[0])",
          DEFECT_RACE, "groups 0 and 1");
    finds("simple_1", "out[i] =", "out[i / 2] =", DEFECT_RACE, "");
    finds("sma_simple", "out[i] =", "out[i - i % 2] =", DEFECT_RACE, "");
    finds("reduce5_fixed", "WARP_BARRIER();", "", DEFECT_RACE, "race: threads");
    finds("tiled_3", "tid < s)", "tid <= s)", DEFECT_BOUNDS,
          "reads data[256]: it has 256 elements");
    finds("tiled_3", "i < n ?", "i < n - 1 ?", -1, "instead of");
    finds("tiled_3",
          "if (tid < s) data[tid] = combine(data[tid], data[tid + s]);\n        BARRIER();",
          "if (tid < s) { data[tid] = combine(data[tid], data[tid + s]);\n        BARRIER(); }",
          DEFECT_BARRIER, "");
    /* the seed's listing */
    finds("tiled_3", "s /= 2", "s /= 1", DEFECT_ENDLESS, "a loop does not end");
    /* and the slide's */
    finds("reduce2", "s *= 2", "s <= 1", DEFECT_ENDLESS, "a loop does not end");
    finds("tiled_1", "    data[tid] = i < n ? in[i] : NEUTRAL;",
          "    if (i < n) data[tid] = in[i];", DEFECT_UNSET, "");
    finds("sma_tiled", "        BARRIER();\n    }", "    }", DEFECT_RACE,
          "race"); /* the article's listing has no barriers */
}

/* ---- the language of the model ---- */

static void expression(const char *text, kind k, double want)
{
    char source[600], error[300];
    model_program *p;
    char cell[8] = {0};
    const model_setting setting = {k, 0, 32, 32, 32};
    snprintf(source, sizeof source,
             "KERNEL(one, 1)(GLOBAL elem *out, i64 n) { int a = 7; int b = -3; u32 c = "
             "4000000000u; i64 d = 5; f32 e = "
             "0.5f; %s }",
             text);
    if (!check(!model_compile(source, "test", &setting, &p, error, sizeof error), "%s: %s", text,
               error))
        return;
    const model_argument arguments[] = {{cell, kind_bytes(k), 0, 0}, {NULL, 0, 11, 0}};
    const model_start start = {"one", 1, arguments, 2, 0};
    check(!model_launch(p, &start, NULL, error, sizeof error), "%s: %s", text, error);
    const element e = data_get(cell, k, 0);
    check(k < KIND_F32 ? (double)e.i == want : e.f == want, "%s: %.17g instead of %.17g", text,
          k < KIND_F32 ? (double)e.i : e.f, want);
    model_free(p);
}

static void language(void)
{
    expression("out[0] = a + b * 2 - 1;", KIND_I32, 0);
    expression("out[0] = a / b;", KIND_I32, 7 / -3);
    expression("out[0] = a % b;", KIND_I32, 7 % -3);
    expression("out[0] = c + c;", KIND_U32, (double)(uint32_t)(4000000000u + 4000000000u));
    expression("out[0] = c / 3;", KIND_U32, (double)(4000000000u / 3));
    expression("out[0] = b < c;", KIND_I32, (unsigned)-3 < 4000000000u);
    expression("out[0] = (i64)b < (i64)c;", KIND_I32, 1);
    expression("out[0] = 2147483647 + a;", KIND_I32, (double)(int32_t)(2147483647u + 7u));
    expression("out[0] = b >> 1;", KIND_I32, -3 >> 1);
    expression("out[0] = c >> 4;", KIND_U32, (double)(4000000000u >> 4));
    expression("out[0] = ~a ^ 1 | 8 & 12;", KIND_I32, (~7 ^ 1) | (8 & 12));
    expression("out[0] = a > 3 && b > 3 ? 1 : a > 3 || b > 3 ? 2 : 3;", KIND_I32, 2);
    expression("out[0] = e + 1.0f / 3.0f;", KIND_F32, 0.5f + 1.0f / 3.0f);
    expression("out[0] = (elem)0.1f * 3;", KIND_F32, (float)0.1f * 3);
    /* bytes are computed as int, and cut where they are stored */
    expression("out[0] = 200 + 100;", KIND_U8, 44);
    expression("out[0] = combine(100, 100);", KIND_I8, -56);
    expression("u8 x = 200; u8 y = 100; out[0] = x + y > 255;", KIND_U8, 1);
    expression("i8 x = -1; out[0] = -x + (~x == 0);", KIND_I8, 2);
    expression("u8 x = 255; x++; out[0] = x;", KIND_I32, 0);
    expression("out[0] = d * n;", KIND_I64, 55);
    expression("elem s = 0; for (int i = 0; i < 10; i++) { if (i == 7) break; if (i % 2) s += i; } "
               "out[0] = s;",
               KIND_I32, 9);
    expression("int i = 3; while (i > 0) i -= 1; out[0] = i + !i;", KIND_I32, 1);
    expression("int t = thread_index(); if (t > 5) return; out[0] = smaller(a, b) * larger(d, n);",
               KIND_I64, -33);
    expression("a <<= 2; a |= 1; a -= 30; --a; a++; out[0] = a;", KIND_I32, -1);
}

/* What became of a text cut off or with characters changed: refused with a sentence, or it runs
 * as far as it gets (one other digit, every fourth time, so that some do: of other changes one
 * in a hundred still compiles). */
static int run_garbage(const rung *g, const char *text)
{
    row x = {.rung = g, .text = text};
    ladder_error error = {0};
    place *p;
    shape_report *s;
    report r = make_report(&plain, &p, &s, g->shape, 700);
    s = &r.shapes[0];
    const int code = run_rung(&r, s, p, 0, &x, &error);
    check(!code || error.sentence[0], "%s: refused without a sentence", g->name);
    check(code || x.verdict == RIGHT || x.reason[0], "%s: %s without a reason", g->name,
          verdict_word(&x));
    report_free(&r);
    place_close(p);
    return code != 0;
}

static void garbage(void)
{
    int ran = 0, refused = 0;
    for (const rung *g = ladder_table; g->name; g++) {
        char path[80];
        const char *const text = rung_text(g, path, sizeof path);
        const char *const body = strstr(text, "KERNEL");
        const size_t n = strlen(text), head = body ? (size_t)(body - text) : 0;
        for (int i = 0; i < (check_quick ? 8 : 40) && g->schedule > LIBRARY; i++) {
            char *copy = malloc(n + 1);
            memcpy(copy, text, n + 1);
            for (int k = 0; i % 4 != 1 && k <= i % 3; k++) {
                const size_t at = head + (size_t)(tl_random(&check_state) % (n - head));
                copy[at] = i % 8 ? "(){}[];=+-*/<>0123sidn"[tl_random(&check_state) % 22] : 0;
            }
            if (i % 4 == 1) {
                char *digit = copy + head + tl_random(&check_state) % (n - head);
                while (*digit && !(*digit >= '0' && *digit <= '9')) digit++;
                if (*digit) *digit = (char)('0' + tl_random(&check_state) % 10);
            }
            if (run_garbage(g, copy))
                refused++;
            else
                ran++;
            free(copy);
        }
    }
    check(ran > 0 && refused > 0, "%d ran, %d refused", ran, refused);
}

/* The orders that floats are held to are really different, or the comparison would say nothing. */
static void orders(void)
{
    enum { N = 4999 };
    static float x[N];
    data_fill(x, KIND_F32, N, 0, 1);
    element seen[12];
    int differ = 0, n = 0;
    static const order all[] = {LEFT,    ORDER_HALVES,  ORDER_EIGHTHS, NEIGHBOURS,
                                DISTANT, ORDER_STRIDES, QUADS,         LAW};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const order_setting setting = {all[i], LEVELS, 256, 256, 32, 0, 4};
        seen[n++] = order_reduce(KIND_F32, &setting, x, N);
        for (int k = 0; k < n - 1; k++) differ += !same_bits(KIND_F32, seen[k], seen[n - 1]);
    }
    check(differ >= 12, "only %d of 28 pairs of orders differ in bits", differ);
    for (int k = 0; k < KINDS; k++) /* the formulas of data.c are those of its data */
        if (!is_short((kind)k))
            for (int op = 0; op < 3; op++)
                for (int64_t count = 1; count < N; count = 2 * count + 1 + (count % 3 == 0)) {
                    static double data[N];
                    double bound;
                    const order_setting setting = {LEFT, LOOP, 0, 0, 32, op, 0};
                    data_fill(data, (kind)k, count, op, 0);
                    const element want = known_result((kind)k, count, op, 0, &bound),
                                  got = order_reduce((kind)k, &setting, data, count);
                    check(same_bits((kind)k, got, want),
                          "%s operation %d of %lld: the known result is not that of the data",
                          kind_name((kind)k), op, (long long)count);
                }
}

static void timed(const char *name, void (*part)(void))
{
    const double start = clock_seconds();
    part();
    printf("%-10s %.1f s\n", name, clock_seconds() - start);
    fflush(stdout);
}

int main(void)
{
    check_start();
    timed("language", language);
    timed("orders", orders);
    timed("golden", golden);
    timed("defects", defects);
    timed("garbage", garbage);
    timed("answers", answers);
    timed("large", large);
    return check_finish();
}
