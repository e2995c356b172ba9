/* SPDX-License-Identifier: MIT
 * Operators that users define: the examples, and test/operators, under the matrix of checks of
 * bits_cases.h (the law by memcmp, every shape, view, thread count), copies of built-in texts
 * against the built-in operators, plain C loops; wrong texts and arguments (user_errors.h);
 * numbers of elements; streams, fragments, redefinition (user_pieces.h). Compiled
 * code goes to a cache of the test's own.
 *
 *   test_user OPERATOR DTYPE               only that example, under the matrix
 *   test_user DEVICE                       only what is said of wrong texts there
 *   test_user time DEVICE                  how long the first calls take, without and with the
 *                                          cache on disk
 *   TALLY_TEST_DEVICES="cuda:0 opencl:0"   that matrix on these devices instead, and nothing
 *                                          else */
#include "user_errors.h"
#include "user_pieces.h"
#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 20000 };
static const char *const examples[][3] = {{"descent", "f32", "i16"}, {"trend", "f64", "bf16"},
                                          {"brackets", "i8", "i32"}, {"streak", "f32", "u16"},
                                          {"squares", "f16", "i64"}, {"told", "f32", "f64"}};

/* ---- the matrix ---- */

static void matrix(const char *name, const char *dtype, const char *device, int threads)
{
    tl_plan plan;
    test_case c = {
        .op = name, .dtype = tally_dtype_parse(dtype), .isa = device, .threads = threads};
    c.ctx = open_on(device);
    if (define_example(c.ctx, name) &&
        check_ok(c.ctx, tl_plan_of_host(c.ctx, name, c.dtype, &plan), name)) {
        c.scalar = plan.op;
        c.par = plan.par;
        check_all(&c);
    }
    tally_close(c.ctx);
}

static void matrices(const char *name, const char *dtype)
{
    const char *devices = getenv("TALLY_TEST_DEVICES");
    char device[64], pieces[100];
    int64_t before = check_failed;
    if (devices && *devices) {
        for (int used; sscanf(devices, "%63s%n", device, &used) == 1; devices += used) {
            matrix(name, dtype, device, 1);
            if (strcmp(name, "told")) continue;
            told_large(device);
            snprintf(pieces, sizeof pieces, "%s,memory=4096K,probe=off", device);
            told_large(pieces);
        }
    } else {
        const int one = 1 + (int)check_below(3); /* the seed's */
        for (int threads = 1; threads <= 3; threads++) {
            if (!check_long && threads != one) continue;
            snprintf(device, sizeof device, "cpu,threads=%d", threads);
            matrix(name, dtype, device, threads);
            if (!strcmp(name, "told") && !strcmp(dtype, "f32")) told_large(device);
        }
    }
    if (check_failed > before)
        printf("%s %s: %lld differences\n", name, dtype, (long long)(check_failed - before));
}

/* ---- copies of built-in operators: the same bits from the same text ---- */

static void copy_of(const char *op, const char *facts, tally_dtype d, const char *suffix)
{
    char path[500], text[TEXT_BYTES], user_name[64], name[64], both[64];
    tally *ctx = open_on("cpu,threads=2");
    snprintf(path, sizeof path, "%s/src/op/%s.h", TALLY_SOURCE_DIR, op);
    size_t used = (size_t)snprintf(text, sizeof text, "%s", facts);
    FILE *f = fopen(path, "rb");
    if (f) used += fread(text + used, 1, sizeof text - 1 - used, f), fclose(f);
    text[used] = 0;
    snprintf(name, sizeof name, "my_%s", op);
    snprintf(user_name, sizeof user_name, "my_%s%s", op, suffix);
    snprintf(both, sizeof both, "%s%s", op, suffix);
    tally_operator_info user_info, builtin_info;
    if (check_ok(ctx, tally_define(ctx, name, text, path), path) &&
        check_ok(ctx, tally_operator(ctx, user_name, d, &user_info), user_name) &&
        check_ok(ctx, tally_operator(ctx, both, d, &builtin_info), both)) {
        check_detail(user_info.output == builtin_info.output &&
                         user_info.accumulator == builtin_info.accumulator &&
                         user_info.lanes == builtin_info.lanes &&
                         user_info.exact == builtin_info.exact &&
                         user_info.seedable == builtin_info.seedable &&
                         !strcmp(user_info.param, builtin_info.param),
                     user_name, "its facts differ from the built-in operator's");
        int64_t size = (int64_t)tally_dtype_size(user_info.output) * user_info.lanes;
        for (int round = 0; round < 40; round += CHECK_SLOW ? 4 : 1) {
            int64_t n = (int64_t)(check_random() % (round < 20 ? 300 : 60000));
            char *x = input + 64 + check_random() % 9;
            check_fill(x, d, n, (tl_data)(round % TL_DATA_KINDS));
            tally_view in = tally_flat(x, d, n), a = tally_flat(output, user_info.output, n),
                       b = tally_flat(wanted, user_info.output, n);
            tally_scan_options o = {.exclusive = round & 1, .reverse = round >> 1 & 1};
            tally_window_options w = {(int64_t)(check_random() % 200), 0, TALLY_EDGES_SHRINK, 0};
            if (check_ok(ctx, tally_reduce(ctx, user_name, &in, output), user_name) &&
                check_ok(ctx, tally_reduce(ctx, both, &in, wanted), both))
                check_same(output, wanted, 1, (int)size, "reduce %s as %s n=%lld", user_name, both,
                           (long long)n);
            if (check_ok(ctx, tally_scan(ctx, user_name, &in, &a, &o), user_name) &&
                check_ok(ctx, tally_scan(ctx, both, &in, &b, &o), both))
                check_same(output, wanted, n, (int)size, "scan %s as %s n=%lld", user_name, both,
                           (long long)n);
            if (check_ok(ctx, tally_window(ctx, user_name, &in, &a, &w), user_name) &&
                check_ok(ctx, tally_window(ctx, both, &in, &b, &w), both))
                check_same(output, wanted, n, (int)size, "window %s as %s n=%lld", user_name, both,
                           (long long)n);
        }
    }
    tally_close(ctx);
}

/* ---- two inputs ---- */

/* Defines a copy of a built-in operator's text, with a line of facts before it, as my_OP. */
static void define_copy(tally *ctx, const char *op, const char *facts)
{
    char path[500], user_name[64], text[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/src/op/%s.h", TALLY_SOURCE_DIR, op);
    snprintf(user_name, sizeof user_name, "my_%s", op);
    size_t used = (size_t)snprintf(text, sizeof text, "%s", facts);
    FILE *const f = fopen(path, "rb");
    if (f) used += fread(text + used, 1, sizeof text - 1 - used, f), fclose(f);
    text[used] = 0;
    check_ok(ctx, tally_define(ctx, user_name, text, path), path);
}

enum { CELLS = 12, EACH = 260, ALL = CELLS * EACH };

/* Scans, windows, a stream of rows and a fragment of two inputs. Returns the end of the results. */
static char *other_calls(tally *ctx, const char *name, const tally_view *in, tally_dtype result,
                         char *at)
{
    const int64_t cut = in->n / 3, shift = cut * in->stride,
                  bytes = (int64_t)tally_dtype_size(in->dtype),
                  size = (int64_t)tally_dtype_size(result);
    const tally_window_options w = {7, 2, TALLY_EDGES_SHRINK, 0};
    tally_view out = tally_columns(at, result, in->n, in->rows);
    check_ok(ctx, tally_scan(ctx, name, in, &out, NULL), name);
    out.data = at += ALL * size;
    check_ok(ctx, tally_window(ctx, name, in, &out, &w), name);
    at += ALL * size;

    tally_view x1 = *in, y1 = *in->next, x2 = *in, y2 = *in->next;
    x1.n = y1.n = cut, x2.n = y2.n = in->n - cut;
    x1.next = &y1, x2.next = &y2;
    x2.data = (char *)x2.data + shift * bytes;
    y2.data = (char *)y2.data + shift * bytes;
    x2.valid_offset += shift;
    tally_stream *s = NULL;
    check_ok(ctx, tally_stream_reduce_rows(ctx, name, in->dtype, in->rows, &s), name);
    check_ok(ctx, tally_stream_push_view(s, &x1, NULL), name);
    check_ok(ctx, tally_stream_push_view(s, &x2, NULL), name);
    check_ok(ctx, tally_stream_finish(s, at, NULL), name);
    tally_stream_close(s);
    at += in->rows * size;

    tally_fragment *a = NULL, *b = NULL;
    check_ok(ctx, tally_fragment_of_view(ctx, name, &x2, cut, &a), name);
    check_ok(ctx, tally_fragment_of_view(ctx, name, &x1, 0, &b), name);
    check_ok(ctx, tally_fragment_merge(a, b), name);
    check_ok(ctx, tally_fragment_result(a, at), name);
    tally_fragment_free(a);
    tally_fragment_free(b);
    return at + in->rows * size;
}

/* A copy of a built-in text of two inputs (OP_INPUTS) gives its bits: every verb, with and
 * without validity, streams of rows and fragments. On a GPU (device) the reduction alone, and the
 * built-in text on the processors: less is compiled. */
static void pairs_of(const char *op, const char *facts, tally_dtype d, const char *suffix,
                     const char *device)
{
    char name[2][64];
    unsigned char bits[ALL / 8 + 2];
    tally *const ctx = open_on(device ? device : "cpu,threads=2"), *const cpu = open_on("cpu");
    tally_operator_info info;
    snprintf(name[0], sizeof name[0], "my_%s%s", op, suffix);
    snprintf(name[1], sizeof name[1], "%s%s", op, suffix);
    define_copy(ctx, op, facts);
    if (!check_ok(ctx, tally_operator(ctx, name[0], d, &info), name[0])) return;
    check_detail(info.inputs == 2, name[0], "must have two inputs");
    const int64_t size = (int64_t)tally_dtype_size(info.output);
    char *const y = input + ALL * 8 + 40, *const to[2] = {output, wanted};
    for (int round = 0; round < 4; round++) {
        check_fill(input, d, ALL, TL_DATA_PLAIN);
        check_fill(y, d, ALL, TL_DATA_PLAIN);
        for (size_t i = 0; i < sizeof bits; i++)
            bits[i] = (unsigned char)(check_random() | check_random());
        const int64_t rows = round & 1 ? CELLS : 1, n = ALL / rows;
        tally_view in = tally_columns(input, d, n, rows), next = tally_columns(y, d, n, rows);
        if (rows == 1) in = tally_flat(input, d, n), next = tally_flat(y, d, n);
        in.next = &next;
        if (round & 2) in.valid = bits, in.valid_offset = 3;

        int64_t produced[2] = {0, 0};
        for (int k = 0; k < 2; k++) {
            char *at = to[k] + rows * size;
            tally *const on = k && device ? cpu : ctx;
            check_ok(on, tally_reduce(on, name[k], &in, to[k]), name[k]);
            if (!device) at = other_calls(ctx, name[k], &in, info.output, at);
            produced[k] = at - to[k];
        }
        check_same(output, wanted, produced[0], 1, "%s as %s on %s, round %d", name[0], name[1],
                   device ? device : "cpu", round);
    }
    tally_close(cpu);
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
    if (!define_example(ctx, "descent") || !define_example(ctx, "brackets")) return;
    float high = -1e30f, worst = 0, wanted_fall[N];
    int64_t close = 0, open = 0;
    for (int i = 0; i < N; i++) {
        price[i] = (float)(check_random() % 100000) / 7;
        bracket[i] = (signed char)(check_random() % 3) - 1;
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
    if (check_ok(ctx, tally_scan(ctx, "descent", &in, &out, NULL), "descent"))
        check_same(fall, wanted_fall, N, 4, "descent and a loop");
    in = tally_flat(bracket, TALLY_I8, N);
    out = tally_flat(depth, TALLY_I64, N);
    if (check_ok(ctx, tally_scan(ctx, "brackets", &in, &out, NULL), "brackets"))
        check_same(depth, want, N, 16, "brackets and a loop");
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
    printf("descent f32, 2^20 elements on %s: ms of the first call, of the second\n", device);
    for (int round = 0; round < 2; round++)
        for (int shape = 0; shape < 3; shape++) {
            double t[3];
            tally *ctx = open_on(device);
            check_ok(ctx, tally_reduce(ctx, "sum", &in, &one), "sum"); /* the device is awake */
            define_example(ctx, "descent");
            t[0] = now();
            for (int i = 1; i < 3; i++) {
                tally_status status = shape == 0   ? tally_reduce(ctx, "descent", &in, &one)
                                      : shape == 1 ? tally_scan(ctx, "descent", &in, &out, NULL)
                                                   : tally_window(ctx, "descent", &in, &out, &w);
                check_ok(ctx, status, "descent");
                t[i] = now();
            }
            printf("  %-24s %-6s %9.2f %9.2f\n",
                   round ? "the cache on disk has it" : "compiled now",
                   shape == 0   ? "reduce"
                   : shape == 1 ? "scan"
                                : "window",
                   t[1] - t[0], t[2] - t[1]);
            tally_close(ctx);
        }
    return check_finish();
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

/* Built-in texts as users' operators. */
static const struct {
    const char *op, *facts;
    tally_dtype dtype;
    const char *suffix;
} copies[] = {
    {"sum", "", TALLY_F32, ""},
    /* promises without OP_EXACT: in every run */
    {"sum", "#define OP_COMMUTES 1\n#define OP_IDEMPOTENT 1\n", TALLY_F32, ""},
    {"sum", "", TALLY_F16, ":f64"},
    {"sum", "", TALLY_I16, ""},
    {"var", "#define OP_ACC F64\n#define OP_PARAM ddof\n#define OP_DEFAULT 0\n", TALLY_F64, ":1"},
    {"max", "#define OP_ACC NONE\n", TALLY_F32, ""},
    {"max", "#define OP_ACC NONE\n", TALLY_U8, ""},
    {"minmax", "#define OP_ACC NONE\n", TALLY_I64, ""},
    {"last", "#define OP_ACC NONE\n", TALLY_BF16, ""},
    {"ema", "#define OP_ACC REAL\n#define OP_PARAM alpha\n", TALLY_F32, ":alpha=0.25"},
    {"argmax", "#define OP_ACC NONE\n#define OP_OUT IDX\n", TALLY_F64, ""},
};

/* A text whose OP_EXACT is REAL_IS_EXACT is of class X over integers alone. */
static void real_is_exact(void)
{
    static const struct {
        tally_dtype dtype;
        int exact;
    } each[] = {{TALLY_I16, 1}, {TALLY_U64, 1}, {TALLY_F32, 0}, {TALLY_F64, 0}};
    tally *ctx = check_open(1, NULL);
    tally_operator_info info;
    check_ok(ctx, tally_define_file(ctx, "mine", TALLY_SOURCE_DIR "/examples/operators/squares.h"),
             "define");
    for (int i = 0; i < 4; i++)
        if (check_ok(ctx, tally_operator(ctx, "mine", each[i].dtype, &info), "mine"))
            check(info.exact == each[i].exact, "squares of %s: exact is %d",
                  tally_dtype_name(each[i].dtype), info.exact);
    tally_close(ctx);
}

static void pairs_on_gpu(const char *devices)
{
    tally_device_info info;
    for (int i = 0; tally_device(i, &info) == TALLY_OK; i++)
        if (info.usable && strncmp(info.name, "cpu", 3) && check_listed(devices, info.name))
            return pairs_of("dot", "", TALLY_F32, "", info.name);
}

int main(int argc, char **argv)
{
    char folder[400], temporary[420];
    const char *devices = getenv("TALLY_TEST_DEVICES");
    check_start();
    input = calloc(MOST, 16);
    output = calloc(MOST, 24);
    wanted = calloc(MOST, 24);
    const int few = check_quick; /* a quarter of the examples, and fewer of the copies */
    check_quick = !check_long;
    if (!getcwd(folder, sizeof folder - 20)) return 1;
    snprintf(temporary, sizeof temporary, "%s/temporary", folder);
    strcat(folder, "/cache");
    setenv("XDG_CACHE_HOME", folder, 1);
    mkdir(temporary, 0700);
    setenv("TMPDIR", temporary, 1);
    if (argc > 2 && !strcmp(argv[1], "time")) return first_calls(argv[2]);
    real_is_exact();
    if (argc == 2) {
        errors(argv[1]);
        return check_finish();
    }
    if (argc > 2) {
        matrices(argv[1], argv[2]);
        return check_finish();
    }
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        if (few && check_below(getenv("TALLY_SANITIZE") && *getenv("TALLY_SANITIZE") ? 8 : 4))
            continue;
        /* compiling takes most of the time: the seed picks one of two types */
        const int one = 1 + (int)check_below(2);
        for (int t = 1; t < 3; t++)
            if (check_long || (devices && *devices) || t == one)
                matrices(examples[i][0], examples[i][t]);
    }
    pairs_on_gpu(devices);
    if (devices && *devices) return check_finish();
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (check_long || i == 1 || !check_below(few ? 6 : 2))
            copy_of(copies[i].op, copies[i].facts, copies[i].dtype, copies[i].suffix);
    pairs_of("dot", "", TALLY_F32, "", NULL);
    if (check_long || !check_below(few ? 6 : 2))
        pairs_of("cov", "#define OP_ACC REAL\n#define OP_PARAM ddof\n#define OP_DEFAULT 0\n",
                 TALLY_F64, ":1", NULL);
    plain_loops();
    pieces();
    errors("cpu");
    check_detail(left_over(temporary) == 0, "temporary folders", "some are left");
    wrong_arguments();
    free(input);
    free(output);
    free(wanted);
    return check_finish();
}
