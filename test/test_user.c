/* SPDX-License-Identifier: MIT
 * Operators that users define: the examples under the matrix of checks of test_bits.c (the law by memcmp, every shape,
 * view, thread count), copies of built-in texts against the built-in operators, plain C loops, errors, redefinition,
 * streams and fragments. Compiled code goes to a cache of the test's own.
 *
 *   test_user OPERATOR DTYPE               only that example, under the matrix
 *   test_user DEVICE                       only what is said of wrong texts there
 *   test_user time DEVICE                  how long the first calls take, without and with the cache on disk
 *   TALLY_TEST_DEVICES="cuda:0 opencl:0"   that matrix on these devices instead, and nothing else */
#define TALLY_BITS_ONLY
#include "test_bits.c"

#include "../src/user.h"
#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_ROOM = 20000 };
static const char *const examples[][3] = {{"drawdown", "f32", "i16"},
                                          {"slope", "f64", "bf16"},
                                          {"brackets", "i8", "i32"},
                                          {"streak", "f32", "u16"},
                                          {"sumsq", "f16", "i64"}};

static int check(int good, const char *what, const char *detail)
{
    if (good) {
        passed++;
    } else if (failed++ < 40) {
        fprintf(stderr, "FAILED: %s: %s\n", what, detail ? detail : "");
    }
    return good;
}

static tally *open_on(const char *device)
{
    tally *ctx = NULL;
    if (tally_open(&ctx, device)) {
        fprintf(stderr, "%s: %s\n", device, tally_error(NULL));
        exit(1);
    }
    return ctx;
}

static int define_example(tally *ctx, const char *name)
{
    char path[500];
    snprintf(path, sizeof path, "%s/examples/operators/%s.h", TALLY_SOURCE_DIR, name);
    return ok(ctx, tally_define_file(ctx, NULL, path), path);
}

/* ---- the matrix ---- */

static void matrix(const char *name, const char *dtype, const char *device, int threads)
{
    tl_plan plan;
    test_case c = {.op = name, .dtype = tally_dtype_parse(dtype), .isa = device, .threads = threads};
    c.ctx = open_on(device);
    if (define_example(c.ctx, name) && ok(c.ctx, tl_plan_of_host(c.ctx, name, c.dtype, &plan), name)) {
        c.scalar = plan.op;
        c.par = plan.par;
        check_all(&c);
    }
    tally_close(c.ctx);
}

static void matrices(const char *name, const char *dtype)
{
    const char *devices = getenv("TALLY_TEST_DEVICES");
    char device[64];
    int64_t before = failed;
    if (devices && *devices) {
        for (int used; sscanf(devices, "%63s%n", device, &used) == 1; devices += used) matrix(name, dtype, device, 1);
    } else {
        for (int threads = 1; threads <= 3; threads++) {
            snprintf(device, sizeof device, "cpu,threads=%d", threads);
            matrix(name, dtype, device, threads);
        }
    }
    if (failed > before) printf("%s %s: %lld differences\n", name, dtype, (long long)(failed - before));
}

/* ---- copies of built-in operators: the same bits from the same text ---- */

static void copy_of(const char *op, const char *file, const char *facts, tally_dtype d, const char *suffix)
{
    char path[500], text[TEXT_ROOM], own[64], name[64], both[64];
    tally *ctx = open_on("cpu,threads=2");
    snprintf(path, sizeof path, "%s/src/op/%s.h", TALLY_SOURCE_DIR, file);
    size_t used = (size_t)snprintf(text, sizeof text, "%s", facts);
    FILE *f = fopen(path, "rb");
    if (f) used += fread(text + used, 1, sizeof text - 1 - used, f), fclose(f);
    text[used] = 0;
    snprintf(name, sizeof name, "my_%s", op);
    snprintf(own, sizeof own, "my_%s%s", op, suffix);
    snprintf(both, sizeof both, "%s%s", op, suffix);
    tally_operator_info mine, theirs;
    if (ok(ctx, tally_define(ctx, name, text, path), path) && ok(ctx, tally_operator(ctx, own, d, &mine), own) &&
        ok(ctx, tally_operator(ctx, both, d, &theirs), both)) {
        check(mine.output == theirs.output && mine.accumulator == theirs.accumulator && mine.lanes == theirs.lanes &&
                  mine.exact == theirs.exact && mine.seedable == theirs.seedable && !strcmp(mine.param, theirs.param),
              own, "its facts differ from the built-in operator's");
        int64_t size = (int64_t)tally_dtype_size(mine.output) * mine.lanes;
        for (int round = 0; round < 40; round++) {
            int64_t n = (int64_t)(rng() % (round < 20 ? 300 : 60000));
            char *x = input + 64 + rng() % 9;
            fill(x, d, n, (tl_data)(round % TL_DATA_KINDS));
            tally_view in = tally_flat(x, d, n), a = tally_flat(output, mine.output, n),
                       b = tally_flat(wanted, mine.output, n);
            tally_scan_options o = {.exclusive = round & 1, .reverse = round >> 1 & 1};
            tally_window_options w = {(int64_t)(rng() % 200), 0, TALLY_EDGES_SHRINK, 0};
            if (ok(ctx, tally_reduce(ctx, own, &in, output), own) &&
                ok(ctx, tally_reduce(ctx, both, &in, wanted), both))
                same(output, wanted, 1, (int)size, "reduce %s as %s n=%lld", own, both, (long long)n);
            if (ok(ctx, tally_scan(ctx, own, &in, &a, &o), own) && ok(ctx, tally_scan(ctx, both, &in, &b, &o), both))
                same(output, wanted, n, (int)size, "scan %s as %s n=%lld", own, both, (long long)n);
            if (ok(ctx, tally_window(ctx, own, &in, &a, &w), own) &&
                ok(ctx, tally_window(ctx, both, &in, &b, &w), both))
                same(output, wanted, n, (int)size, "window %s as %s n=%lld", own, both, (long long)n);
        }
    }
    tally_close(ctx);
}

/* ---- plain loops ---- */

static void plain_loops(void)
{
    enum { N = 5000 };
    static float price[N], fall[N];
    static signed char bracket[N];
    static int64_t depth[2 * N], want[2 * N];
    tally *ctx = open_on("cpu");
    if (!define_example(ctx, "drawdown") || !define_example(ctx, "brackets")) return;
    float high = -1e30f, worst = 0, wanted_fall[N];
    int64_t close = 0, open = 0;
    for (int i = 0; i < N; i++) {
        price[i] = (float)(rng() % 100000) / 7;
        bracket[i] = (signed char)(rng() % 3) - 1;
        high = price[i] > high ? price[i] : high;
        worst = high - price[i] > worst ? high - price[i] : worst;
        wanted_fall[i] = worst;
        if (bracket[i] < 0 && open)
            open--;
        else if (bracket[i] < 0)
            close++;
        else
            open += bracket[i];
        want[2 * i] = close;
        want[2 * i + 1] = open;
    }
    tally_view in = tally_flat(price, TALLY_F32, N), out = tally_flat(fall, TALLY_F32, N);
    if (ok(ctx, tally_scan(ctx, "drawdown", &in, &out, NULL), "drawdown"))
        same(fall, wanted_fall, N, 4, "drawdown and a loop");
    in = tally_flat(bracket, TALLY_I8, N);
    out = tally_flat(depth, TALLY_I64, N);
    if (ok(ctx, tally_scan(ctx, "brackets", &in, &out, NULL), "brackets"))
        same(depth, want, N, 16, "brackets and a loop");
    tally_close(ctx);
}

/* ---- streams, fragments, redefinition ---- */

static void pieces(void)
{
    enum { N = 30000 };
    static float x[N], whole[N], part[N];
    char saved[5000], result[16];
    float want, got;
    int64_t made = 0, more = 0;
    size_t bytes = sizeof saved;
    tally *ctx = open_on("cpu,threads=2"), *other = open_on("cpu");
    if (!define_example(ctx, "drawdown") || !define_example(other, "drawdown")) return;
    fill(x, TALLY_F32, N, TL_DATA_PLAIN);
    tally_view in = tally_flat(x, TALLY_F32, N), out = tally_flat(whole, TALLY_F32, N);
    ok(ctx, tally_reduce(ctx, "drawdown", &in, &want), "reduce");
    tally_stream *s = NULL;
    if (ok(ctx, tally_stream_reduce(ctx, "drawdown", TALLY_F32, &s), "a stream")) {
        ok(ctx, tally_stream_push(s, x, 1234, NULL, NULL), "push");
        ok(ctx, tally_stream_push(s, x + 1234, N - 1234, NULL, NULL), "push");
        ok(ctx, tally_stream_finish(s, &got, NULL), "finish");
        same(&got, &want, 1, 4, "stream");
        tally_stream_close(s);
    }
    tally_window_options w = {49, 0, TALLY_EDGES_VALID, 0};
    out.n = tally_window_length(N, &w);
    ok(ctx, tally_window(ctx, "drawdown", &in, &out, &w), "window");
    if (ok(ctx, tally_stream_window(ctx, "drawdown", TALLY_F32, &w, &s), "a window stream")) {
        ok(ctx, tally_stream_push(s, x, 777, part, &made), "push");
        ok(ctx, tally_stream_push(s, x + 777, N - 777, part + made, &more), "push");
        check(made + more == out.n, "window stream", "another number of results");
        same(part, whole, out.n, 4, "window stream");
        tally_stream_close(s);
    }

    /* fragments: cut, saved, loaded into another context, merged there with one of its own */
    tally_fragment *a = NULL, *b = NULL, *c = NULL;
    ok(ctx, tally_fragment_make(ctx, "drawdown", TALLY_F32, x, 0, 7001, &a), "a fragment");
    ok(other, tally_fragment_make(other, "drawdown", TALLY_F32, x + 7001, 7001, N - 7001, &b), "a fragment");
    ok(ctx, tally_fragment_save(a, saved, &bytes), "save");
    if (ok(other, tally_fragment_load(other, saved, bytes, &c), "load") &&
        ok(other, tally_fragment_merge(c, b), "merge")) {
        ok(other, tally_fragment_result(c, &got), "result");
        same(&got, &want, 1, 4, "fragments");
    }
    tally_fragment_free(c);
    if (ok(ctx, tally_fragment_merge(a, b), "merge across contexts")) {
        ok(ctx, tally_fragment_result(a, &got), "result");
        same(&got, &want, 1, 4, "fragments of two contexts");
    }
    tally *third = open_on("cpu");
    check(tally_fragment_load(third, saved, bytes, &c) == TALLY_BAD_DATA && !c, "load without the operator",
          tally_error(third));
    check(strstr(tally_error(third), "not defined here") != NULL, "its sentence", tally_error(third));
    tally_define(third, "drawdown",
                 "#define OP_STATE(F) F(real, h) F(real, l) F(real, m)\ntypedef struct { OP_STATE(FIELD) } state;\n"
                 "fn state lift(elem x, idx i, par p) { state r; r.h = to_real(x); r.l = r.h; r.m = r.h; return r; }\n"
                 "fn state combine(state a, state b) { return b; }\n"
                 "fn result lower(state a, real n, idx first, par p) { return to_result(a.h); }\n"
                 "fn result empty(par p) { return to_result(num(0.0)); }\n",
                 "another");
    check(tally_fragment_load(third, saved, bytes, &c) == TALLY_BAD_DATA && !c, "load with another text",
          tally_error(third));
    check(strstr(tally_error(third), "another text than another") != NULL, "its sentence", tally_error(third));
    tally_close(third);

    /* a new text: from the next call on; what is open keeps the old one */
    s = NULL;
    ok(ctx, tally_stream_reduce(ctx, "drawdown", TALLY_F32, &s), "a stream");
    ok(ctx, tally_stream_push(s, x, N / 2, NULL, NULL), "push");
    ok(ctx,
       tally_define(ctx, "drawdown",
                    "#define OP_STATE(F) F(real, v)\ntypedef struct { OP_STATE(FIELD) } state;\n"
                    "fn state lift(elem x, idx i, par p) { state r; r.v = to_real(x); return r; }\n"
                    "fn state combine(state a, state b) { return b; }\n"
                    "fn result lower(state a, real n, idx first, par p) { return to_result(a.v); }\n"
                    "fn result empty(par p) { return to_result(num(0.0)); }\n",
                    NULL),
       "a second text");
    ok(ctx, tally_reduce(ctx, "drawdown", &in, &got), "reduce");
    same(&got, x + N - 1, 1, 4, "the second text");
    ok(ctx, tally_stream_push(s, x + N / 2, N - N / 2, NULL, NULL), "push");
    ok(ctx, tally_stream_finish(s, &got, NULL), "finish");
    same(&got, &want, 1, 4, "a stream of the first text");
    tally_stream_close(s);
    check(tally_fragment_merge(a, b) != TALLY_OK, "merge of a fragment that was merged", "");
    memset(result, 0, sizeof result);
    ok(ctx, tally_fragment_result(a, &got), "result");
    same(&got, &want, 1, 4, "a fragment of the first text");
    tally_fragment_free(a);
    tally_fragment_free(b);
    tally_close(ctx);
    tally_close(other);
}

/* ---- errors ---- */

#define GOOD_STATE   "#define OP_STATE(F) F(real, s)\ntypedef struct { OP_STATE(FIELD) } state;\n"
#define GOOD_LIFT    "fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }\n"
#define GOOD_COMBINE "fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }\n"
#define GOOD_REST                                                                                                      \
    "fn result lower(state a, real n, idx first, par p) { return to_result(a.s); }\nfn result empty(par p) { return "  \
    "to_result(num(0.0)); }\n"
#define GOOD GOOD_STATE GOOD_LIFT GOOD_COMBINE GOOD_REST

static const struct {
    const char *text, *says; /* says: the sentence begins like this */
} wrong[] = {
    {"", "mine.h:1: OP_STATE is missing"},
    {"typedef struct { int x; } state;\n" GOOD_LIFT GOOD_COMBINE GOOD_REST, "mine.h:1: OP_STATE is missing"},
    {GOOD_STATE GOOD_LIFT GOOD_REST,
     "mine.h:1: 'combine' is missing: the text must have fn state combine(state a, state b)"},
    {GOOD_STATE GOOD_LIFT "/* fn state combine(state a, state b) {} */\n" GOOD_REST, "mine.h:1: 'combine' is missing"},
    {GOOD "#define OP_SEED 1\n", "mine.h:1: 'seed' is missing"},
    {GOOD "#define OP_SPEED 1\n", "mine.h:7: OP_SPEED is not a fact"},
    {GOOD "/* two\nlines */ // \\\n three\n#define OP_EXACT yes\n",
     "mine.h:10: OP_EXACT is 'yes': must be 0, 1 or REAL_IS_EXACT"},
    {GOOD "#define OP_EXACT 0\n#define OP_EXACT 1\n", "mine.h:8: OP_EXACT is stated twice"},
    {GOOD "#if 0\n#define OP_EXACT 1\n#endif\n", "mine.h:8: OP_EXACT stands inside #if"},
    {"#include <math.h>\n" GOOD, "mine.h:1: an operator includes nothing"},
    {"  #  include \"/etc/passwd\"\n" GOOD, "mine.h:1: an operator includes nothing"},
    {"#define TL_VECTOR 0\n" GOOD, "mine.h:1: TL_VECTOR: names that begin with TL_"},
    {GOOD "#define OP_MASKED 1\n", "mine.h:7: OP_MASKED is not a fact"},
    {GOOD "#define OP_ACC F32\n", "mine.h:7: OP_ACC is 'F32': must be one of WIDE REAL F64 NONE"},
    {GOOD "#define OP_ACC NONE\n#define OP_OUT ACC\n", "mine.h:1: OP_OUT is ACC and OP_ACC is NONE"},
    {GOOD "#define OP_TYPES XY\n", "mine.h:7: OP_TYPES is 'XY'"},
    {GOOD "#define OP_PARAM 3\n", "mine.h:7: OP_PARAM is '3'"},
    {GOOD "#define OP_PARAM q\n#define OP_DEFAULT x\n", "mine.h:8: OP_DEFAULT is 'x': must be a number"},
    {GOOD "#define OP_LANES 3\n", "mine.h:7: OP_LANES is '3': must be 1 or 2"},
    {"#define OP_STATE(F) F(float, s)\n" GOOD_LIFT,
     "mine.h:1: a field of the state is 'float': must be real, ord, idx, elem or wide"},
    {"#define OP_STATE F(real, s)\n", "mine.h:1: OP_STATE(F) is written F(type, name)"},
    {"#define OP_STATE(F) F(real)\n", "mine.h:1: OP_STATE(F) is written F(type, name)"},
    /* from here on the compiler finds it */
    {"#define OP_STATE(F) F(real, s) F(idx, a) F(idx, b) F(idx, c) F(idx, d)\ntypedef struct { OP_STATE(FIELD) } "
     "state;\n" GOOD_LIFT GOOD_COMBINE GOOD_REST,
     "mine.h:1: a state takes 40 bytes for f32: must be at most 32"},
    {GOOD_STATE GOOD_LIFT "fn state combine(state a, state b) { state r; r.s = a.s + ; return r; }\n" GOOD_REST,
     "mine.h:4:"},
    {GOOD_STATE GOOD_LIFT
     "fn state combine(state a, state b)\n{\n    state r;\n    r.s = plus(a.s, b.s);\n    return r;\n}\n" GOOD_REST,
     "mine.h:7:"},
    {GOOD_STATE GOOD_LIFT "\n\nfn state combine(state a, state b) { state r; r.s = a.s + b.z; return r; }\n" GOOD_REST,
     "mine.h:6:"},
    {"typedef struct { real s, t; } state;\n#define OP_STATE(F) F(real, s)\n" GOOD_LIFT GOOD_COMBINE GOOD_REST,
     "mine.h"},
};

/* Every mistake gives TALLY_BAD_DATA and its place, on this device. */
static void errors(const char *device, size_t from)
{
    tally *ctx = open_on(device);
    float x[100] = {0}, y;
    tally_view in = tally_flat(x, TALLY_F32, 100);
    for (size_t i = from; i < sizeof wrong / sizeof *wrong; i++) {
        tally_status status = tally_define(ctx, "mine", wrong[i].text, "mine.h");
        if (!status) status = tally_reduce(ctx, "mine", &in, &y);
        printf("    %s: %s\n", device, tally_error(ctx));
        check(status == TALLY_BAD_DATA && !strncmp(tally_error(ctx), wrong[i].says, strlen(wrong[i].says)),
              wrong[i].says, tally_error(ctx));
        check(strlen(tally_error(ctx)) < 400 && !strchr(tally_error(ctx), '\n'), "one sentence", tally_error(ctx));
    }
    tally_close(ctx);
}

static void arguments(void)
{
    static char big[70000];
    tally *ctx = open_on("cpu");
    tally_operator_info info;
    int8_t x[2] = {3, 4};
    int64_t sum = 0;
    memset(big, ' ', sizeof big - 1);
    const struct {
        tally_status got, want;
        const char *says;
    } calls[] = {
        {tally_define(NULL, "a", GOOD, NULL), TALLY_INVALID, NULL},
        {tally_define(ctx, NULL, GOOD, NULL), TALLY_INVALID, "name is NULL"},
        {tally_define(ctx, "a", NULL, NULL), TALLY_INVALID, "text is NULL"},
        {tally_define(ctx, "sum", GOOD, NULL), TALLY_INVALID, "name is 'sum': that is a built-in operator"},
        {tally_define(ctx, "a:b", GOOD, NULL), TALLY_INVALID, "name is 'a:b'"},
        {tally_define(ctx, "9a", GOOD, NULL), TALLY_INVALID, "name is '9a'"},
        {tally_define(ctx, "", GOOD, NULL), TALLY_INVALID, "name is ''"},
        {tally_define(ctx, "abcdefghijklmnopqrstuvwxyzabcdef", GOOD, NULL), TALLY_INVALID, "name is"},
        {tally_define(ctx, "a", big, NULL), TALLY_INVALID, "text is longer than 65536 bytes"},
        {tally_define_file(ctx, NULL, "/no/such/file.h"), TALLY_IO, "/no/such/file.h: "},
        {tally_define_file(ctx, NULL, "/"), TALLY_IO, "/: "},
        {tally_define_file(ctx, "a", "/"), TALLY_IO, "/: "},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        check(calls[i].got == calls[i].want, "a bad argument", calls[i].says);
    check(tally_define(ctx, "sum", GOOD, NULL) && strstr(tally_error(ctx), "built-in"), "a built-in name",
          tally_error(ctx));
    ok(ctx, tally_define(ctx, "mine", "#define OP_TYPES F\n" GOOD, "mine.h"), "mine");
    check(tally_operator(ctx, "mine", TALLY_I8, &info) == TALLY_UNSUPPORTED, "a type it does not take",
          tally_error(ctx));
    check(tally_operator(ctx, "mine:0.5", TALLY_F32, &info) == TALLY_INVALID, "no parameter", tally_error(ctx));
    check(tally_operator(NULL, "mine", TALLY_F32, &info) == TALLY_INVALID, "another context", tally_error(NULL));
    ok(ctx, tally_operator(ctx, "mine:f64", TALLY_F32, &info), "mine:f64");
    check(info.output == TALLY_F64 && !strcmp(info.name, "mine") && !strcmp(info.text, "mine.h"), "what it is",
          info.text);
    ok(ctx, tally_define(ctx, "mine", GOOD, NULL), "mine again, for all types");
    tally_view in = tally_flat(x, TALLY_I8, 2);
    if (ok(ctx, tally_reduce(ctx, "mine", &in, &sum), "mine of i8")) check(sum == 7, "mine of i8", "not 7");

    /* no compiler, and a compiler that is not there */
    char *path = strdup(getenv("PATH")), *cc = getenv("CC") ? strdup(getenv("CC")) : NULL;
    setenv("PATH", "/nowhere", 1);
    unsetenv("CC");
    in.dtype = TALLY_I16;
    check(tally_reduce(ctx, "mine", &in, &sum) == TALLY_UNSUPPORTED &&
              strstr(tally_error(ctx), "no cc, gcc or clang in PATH"),
          "no compiler", tally_error(ctx));
    setenv("CC", "no-such-cc -O1", 1);
    check(tally_reduce(ctx, "mine", &in, &sum) == TALLY_UNSUPPORTED && strstr(tally_error(ctx), "no-such-cc"), "CC",
          tally_error(ctx));
    setenv("PATH", path, 1);
    setenv("CC", "false", 1);
    check(tally_reduce(ctx, "mine", &in, &sum) == TALLY_BAD_DATA, "a compiler that fails", tally_error(ctx));
    setenv("CC", "gcc -g0", 1); /* words */
    ok(ctx, tally_reduce(ctx, "mine", &in, &sum), "CC with words");
    unsetenv("CC");
    setenv("TMPDIR", "/proc/nothing", 1);
    in.dtype = TALLY_U16;
    check(tally_reduce(ctx, "mine", &in, &sum) == TALLY_IO && strstr(tally_error(ctx), "TMPDIR"), "no folder",
          tally_error(ctx));
    unsetenv("TMPDIR");
    if (cc) setenv("CC", cc, 1);
    free(cc);
    free(path);
    tally_close(ctx);
}

/* ---- first calls ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int first_calls(const char *device)
{
    enum { N = 1 << 20 };
    static float x[N], y[N];
    float one;
    const tally_view in = tally_flat(x, TALLY_F32, N), out = tally_flat(y, TALLY_F32, N);
    const tally_window_options w = {49, 0, TALLY_EDGES_SHRINK, 0};
    printf("drawdown f32, 2^20 elements on %s: ms of the first call, of the second\n", device);
    for (int round = 0; round < 2; round++)
        for (int shape = 0; shape < 3; shape++) {
            double t[3];
            tally *ctx = open_on(device);
            ok(ctx, tally_reduce(ctx, "sum", &in, &one), "sum"); /* the device is awake */
            define_example(ctx, "drawdown");
            t[0] = now();
            for (int i = 1; i < 3; i++) {
                tally_status status = shape == 0   ? tally_reduce(ctx, "drawdown", &in, &one)
                                      : shape == 1 ? tally_scan(ctx, "drawdown", &in, &out, NULL)
                                                   : tally_window(ctx, "drawdown", &in, &out, &w);
                ok(ctx, status, "drawdown");
                t[i] = now();
            }
            printf("  %-24s %-6s %9.2f %9.2f\n", round ? "the cache on disk has it" : "compiled now",
                   shape == 0   ? "reduce"
                   : shape == 1 ? "scan"
                                : "window",
                   t[1] - t[0], t[2] - t[1]);
            tally_close(ctx);
        }
    return finish();
}

/* Folders left in TMPDIR. */
static int left_over(const char *folder)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) count += e->d_name[0] != '.';
    if (d) closedir(d);
    return count;
}

int main(int argc, char **argv)
{
    char folder[400], temporary[420];
    const char *devices = getenv("TALLY_TEST_DEVICES");
    const char *seed = getenv("TALLY_TEST_SEED");
    rng_state = seed ? strtoull(seed, NULL, 0) : 1;
    printf("seed %llu\n", (unsigned long long)rng_state);
    input = calloc(MOST, 16);
    output = calloc(MOST, 24);
    wanted = calloc(MOST, 24);
    quick = 1;
    if (!getcwd(folder, sizeof folder - 20)) return 1;
    snprintf(temporary, sizeof temporary, "%s/temporary", folder);
    strcat(folder, "/cache");
    setenv("XDG_CACHE_HOME", folder, 1);
    mkdir(temporary, 0700);
    setenv("TMPDIR", temporary, 1);
    if (argc > 2 && !strcmp(argv[1], "time")) return first_calls(argv[2]);
    if (argc == 2) {
        errors(argv[1], 0);
        return finish();
    }
    if (argc > 2) {
        matrices(argv[1], argv[2]);
        return finish();
    }
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        for (int t = 1; t < 3; t++) matrices(examples[i][0], examples[i][t]);
    if (devices && *devices) return finish();
    copy_of("sum", "sum", "", TALLY_F32, "");
    copy_of("sum", "sum", "#define OP_COMMUTES 1\n#define OP_IDEMPOTENT 1\n", TALLY_F32,
            ""); /* promises without OP_EXACT */
    copy_of("sum", "sum", "", TALLY_F16, ":f64");
    copy_of("sum", "sum", "", TALLY_I16, "");
    copy_of("var", "var", "#define OP_ACC F64\n#define OP_PARAM ddof\n#define OP_DEFAULT 0\n", TALLY_F64, ":1");
    copy_of("max", "max", "#define OP_ACC NONE\n", TALLY_F32, "");
    copy_of("max", "max", "#define OP_ACC NONE\n", TALLY_U8, "");
    copy_of("minmax", "minmax", "#define OP_ACC NONE\n", TALLY_I64, "");
    copy_of("last", "last", "#define OP_ACC NONE\n", TALLY_BF16, "");
    copy_of("ema", "ema", "#define OP_ACC REAL\n#define OP_PARAM alpha\n", TALLY_F32, ":alpha=0.25");
    copy_of("argmax", "argmax", "#define OP_ACC NONE\n#define OP_OUT IDX\n", TALLY_F64, "");
    plain_loops();
    pieces();
    errors("cpu", 0);
    check(left_over(temporary) == 0, "temporary folders", "some are left");
    arguments();
    free(input);
    free(output);
    free(wanted);
    return finish();
}
