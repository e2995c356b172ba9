/* SPDX-License-Identifier: MIT
 * What is said of wrong texts (the place of the mistake, on every device), of wrong arguments,
 * and of a machine whose compiler is missing or fails. Part of test_user.c. */
#ifndef TALLY_TEST_USER_ERRORS_H
#define TALLY_TEST_USER_ERRORS_H
#include "user_pieces.h"
#include "context/user.h"

#define GOOD_STATE   "#define OP_STATE(F) F(real, s)\ntypedef struct { OP_STATE(FIELD) } state;\n"
#define GOOD_LIFT    "fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }\n"
#define GOOD_COMBINE "fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }\n"
#define GOOD_REST \
    "fn result lower(state a, real n, idx first, par p) { return to_result(a.s); }\nfn result " \
    "empty(par p) { return " \
    "to_result(num(0.0)); }\n"
#define GOOD GOOD_STATE GOOD_LIFT GOOD_COMBINE GOOD_REST
/* A type and a function of its own. On a GPU its state has 16 bytes, the last 4 unused. */
#define PADDED \
    "#define OP_STATE(F) F(idx, at) F(real, s)\ntypedef struct { OP_STATE(FIELD) } state;\n" \
    "typedef struct { real left, right; } two;\n" \
    "fn real sum_of(two t) { return t.left + t.right; }\n" \
    "fn state lift(elem x, idx i, par p) { state r; r.at = i; r.s = to_real(x); return r; }\n" \
    "fn state combine(state a, state b)\n{\n    two t;\n    state r;\n    t.left = a.s;\n    " \
    "t.right = b.s;\n    r.at = a.at;\n    r.s = sum_of(t);\n    return r;\n}\n" GOOD_REST
#define SIZED \
    "fn state combine(state a, state b, real na, real nb) { state r; r.s = a.s + b.s; return r; " \
    "}\n"

static const struct {
    const char *text, *says; /* says: the sentence begins like this */
} wrong[] = {
    {"", "mine.h:1: OP_STATE is missing"},
    {"typedef struct { int x; } state;\n" GOOD_LIFT GOOD_COMBINE GOOD_REST,
     "mine.h:1: OP_STATE is missing"},
    {GOOD_STATE GOOD_LIFT GOOD_REST,
     "mine.h:1: 'combine' is missing: the text must have fn state combine(state a, state b)"},
    {GOOD_STATE GOOD_LIFT "/* fn state combine(state a, state b) {} */\n" GOOD_REST,
     "mine.h:1: 'combine' is missing"},
    {GOOD "#define OP_SEED 1\n", "mine.h:1: 'seed' is missing"},
    {GOOD "#define OP_SIZES 1\n", "mine.h:4: OP_SIZES is 1: 'combine' must be fn state "
                                  "combine(state a, state b, real na, real nb)"},
    {GOOD_STATE GOOD_LIFT SIZED GOOD_REST,
     "mine.h:4: OP_SIZES is 0: 'combine' must be fn state combine(state a, state b)"},
    {GOOD_STATE GOOD_LIFT SIZED GOOD_REST
     "#define OP_SIZES 1\n#define OP_TWIN 1\nfn state twin(state a, state b) { return a; }\n",
     "mine.h:9: OP_SIZES is 1: 'twin' must be fn state twin(state a, state b, real n)"},
    {GOOD_STATE GOOD_LIFT SIZED GOOD_REST "#define OP_SIZES 1\n#define OP_TWIN 1\n",
     "mine.h:1: 'twin' is missing: the text must have fn state twin(state a, state b, real n)"},
    {GOOD_STATE GOOD_LIFT GOOD_REST "#define OP_SIZES 1\n",
     "mine.h:1: 'combine' is missing: the text must have fn state combine(state a, state b, real "
     "na, real nb)"},
    {GOOD_STATE GOOD_LIFT SIZED GOOD_REST "#define OP_SIZES 2\n",
     "mine.h:7: OP_SIZES is '2': must be 0 or 1"},
    {GOOD_STATE GOOD_LIFT SIZED GOOD_REST "#define OP_SIZES REAL_IS_EXACT\n",
     "mine.h:7: OP_SIZES is 'REAL_IS_EXACT': must be 0 or 1"},
    {GOOD_STATE GOOD_LIFT SIZED GOOD_REST "#define OP_SIZES 1\n#define OP_NEUTRAL 1\nfn state "
                                          "neutral(par p) { state r; r.s = num(0.0); return r; }\n",
     "mine.h:1: OP_SIZES and OP_NEUTRAL: a text states only one of them"},
    {GOOD "#define OP_SPEED 1\n", "mine.h:7: OP_SPEED is not a fact"},
    {GOOD "/* two\nlines */ // \\\n three\n#define OP_EXACT yes\n",
     "mine.h:10: OP_EXACT is 'yes': must be 0, 1 or REAL_IS_EXACT"},
    {GOOD "#define OP_EXACT 0\n#define OP_EXACT 1\n", "mine.h:8: OP_EXACT is stated twice"},
    {GOOD "#if 0\n#define OP_EXACT 1\n#endif\n", "mine.h:8: OP_EXACT stands inside #if"},
    {"#include <math.h>\n" GOOD, "mine.h:1: an operator includes nothing"},
    {"  #  include \"/etc/passwd\"\n" GOOD, "mine.h:1: an operator includes nothing"},
    {GOOD "#import <math.h>\n", "mine.h:7: an operator includes nothing"},
    {GOOD "#include_next <math.h>\n", "mine.h:7: an operator includes nothing"},
    {GOOD "#embed <math.h>\n", "mine.h:7: an operator includes nothing"},
    {GOOD "%:include <math.h>\n", "mine.h:7: %: is written #"},
    {GOOD "\n/**/ %: include <math.h>\n", "mine.h:8: %: is written #"},
    {GOOD "?\?=include <math.h>\n", "mine.h:7: ?\? begins a trigraph"},
    {GOOD "// ?\?/\n*/\n", "mine.h:7: ?\? begins a trigraph"},
    {GOOD "#inc\\\nlude <math.h>\n", "mine.h:7: an operator includes nothing"},
    {GOOD "#\\\n\\\r\ninc\\\nlude <math.h>\n", "mine.h:7: an operator includes nothing"},
    {GOOD "\\\n\\\n  #include <math.h>\n", "mine.h:9: an operator includes nothing"},
    {GOOD "#/*\n*/include <math.h>\n", "mine.h:7: an operator includes nothing"},
    {GOOD "# \\ \ninclude <math.h>\n",
     "mine.h:7: there are blanks between a backslash and the end of its line"},
    {GOOD "# \\\t\r\ninclude <math.h>\n",
     "mine.h:7: there are blanks between a backslash and the end of its line"},
    {GOOD "// \r#include <math.h>\n", "mine.h:7: a carriage return without a newline"},
    {GOOD "/\\\n* \" *\\\n/ #include <math.h>\n", "mine.h:9: an operator includes nothing"},
    {GOOD "/\\\n/ \" \n#include <math.h>\n", "mine.h:9: an operator includes nothing"},
    {GOOD "#define S R\"(\"/*)\"\n#include <math.h>\n//*/\n", "mine.h:7: a string has no use"},
    {GOOD "#define S \"x\n", "mine.h:7: a string has no use"},
    {GOOD "#define S 'x\n", "mine.h:7: a ' that is not closed on its line"},
    {GOOD "#define S '\\\n#include <math.h>\n", "mine.h:7: a ' that is not closed on its line"},
    {GOOD "#pragma GCC optimize(ffast-math)\n", "mine.h:7: #pragma has no place in an operator"},
    {GOOD "#define P(x) _Pragma(#x)\n", "mine.h:7: _Pragma: names that begin"},
    {GOOD "#if __has_include(<math.h>)\n#endif\n",
     "mine.h:7: __has_include: names that begin with two underscores"},
    {GOOD "\n#define CAT(a, b) a ## b\n", "mine.h:8: # stands at the beginning of a line"},
    {GOOD "#define TEXT(a) #a\n", "mine.h:7: # stands at the beginning of a line"},
    {GOOD "fn real u(real a) { asm(\".incbin x\"); }\n", "mine.h:7: a string has no use"},
    {GOOD "fn real u(real a) { return \\u0061; }\n",
     "mine.h:7: a backslash that does not end its line"},
    {GOOD "#warning no\n", "mine.h:7: #warning has no place in an operator"},
    {GOOD "#@\n", "mine.h:7: # has no place in an operator"},
    {"#define TL_VECTOR 0\n" GOOD, "mine.h:1: TL_VECTOR: names that begin with TL_"},
    {GOOD "#define OP_MASKED 1\n", "mine.h:7: OP_MASKED is not a fact"},
    {GOOD "#define OP_ACC F32\n", "mine.h:7: OP_ACC is 'F32': must be one of WIDE REAL F64 NONE"},
    {GOOD "#define OP_ACC NONE\n#define OP_OUT ACC\n",
     "mine.h:1: OP_OUT is ACC and OP_ACC is NONE"},
    {GOOD "#define OP_TYPES XY\n", "mine.h:7: OP_TYPES is 'XY'"},
    {GOOD "#define OP_PARAM 3\n", "mine.h:7: OP_PARAM is '3'"},
    {GOOD "#define OP_PARAM q\n#define OP_DEFAULT x\n",
     "mine.h:8: OP_DEFAULT is 'x': must be a number"},
    {GOOD "#define OP_LANES 3\n", "mine.h:7: OP_LANES is '3': must be 1 or 2"},
    {"#define OP_STATE(F) F(float, s)\n" GOOD_LIFT,
     "mine.h:1: a field of the state is 'float': must be real, ord, idx, elem or wide"},
    {"#define OP_STATE F(real, s)\n", "mine.h:1: OP_STATE(F) is written F(type, name)"},
    {"#define OP_STATE(F) F(real)\n", "mine.h:1: OP_STATE(F) is written F(type, name)"},
    /* from here on the compiler finds it */
    {"#define OP_STATE(F) F(real, s) F(idx, a) F(idx, b) F(idx, c) F(idx, d)\ntypedef struct { "
     "OP_STATE(FIELD) } "
     "state;\n" GOOD_LIFT GOOD_COMBINE GOOD_REST,
     "mine.h:1: a state takes 40 bytes for f32: must be at most 32"},
    {GOOD_STATE GOOD_LIFT
     "fn state combine(state a, state b) { state r; r.s = a.s + ; return r; }\n" GOOD_REST,
     "mine.h:4:"},
    {GOOD_STATE GOOD_LIFT "fn state combine(state a, state b)\n{\n    state r;\n    r.s = "
                          "plus(a.s, b.s);\n    return r;\n}\n" GOOD_REST,
     "mine.h:7:"},
    {GOOD_STATE GOOD_LIFT
     "\n\nfn state combine(state a, state b) { state r; r.s = a.s + b.z; return r; }\n" GOOD_REST,
     "mine.h:6:"},
    {"typedef struct { real s, t; } state;\n#define OP_STATE(F) F(real, s)\n" GOOD_LIFT GOOD_COMBINE
         GOOD_REST,
     "mine.h"},
};

/* Mistakes for the processors' vectors only, which compilers find inside a word of the dialect. */
static const struct {
    const char *text, *says, *also; /* also: NULL, or the sentence has this too */
} bare[] = {
    {GOOD_STATE
     "fn state lift(elem x, idx i, par p)\n{\n    state r;\n"
     "    r.s = sel(to_real(x) > num(0.0), to_real(x), 0.0);\n    return r;\n}\n" GOOD_COMBINE
         GOOD_REST,
     "mine.h:6:11: "},
    {GOOD_STATE GOOD_LIFT GOOD_COMBINE
     "fn result lower(state a, real n, idx first, par p) { return to_result(a.s); }\n"
     "fn result empty(par p) { return to_result(0.0); }\n",
     "mine.h:6:"},
    /* with the words that help instead of a compiler's */
    {GOOD_STATE GOOD_LIFT "fn state combine(state a, state b) { state r; r.s = a.s > b.s ? a.s : "
                          "b.s; return r; }\n" GOOD_REST,
     "mine.h:4:63: if, ?:, && and || are for one value, and kernels have many: write sel(c, a, b)"},
    {GOOD_STATE GOOD_LIFT "fn state combine(state a, state b) { state r; if (a.s > b.s) return a; "
                          "return b; }\n" GOOD_REST,
     "mine.h:4:", ": if, ?:, && and || are for one value"}, /* gcc: column 51, clang: 47 */
    {GOOD_STATE "fn state lift(elem x, idx i, par p) { state r; r.s = log(to_real(x)); return r; "
                "}\n" GOOD_COMBINE GOOD_REST,
     "mine.h:3:54: there is no function 'log': an operator has no mathematical library"},
    {GOOD_STATE "fn state lift(elem x, idx i, par p) { state r; r.s = sel(i > idx_num(3), "
                "to_real(x), num(0.0)); return r; }\n" GOOD_COMBINE GOOD_REST,
     "mine.h:3:54: the condition of sel compares values of another width than it chooses"},
};

/* Every mistake gives TALLY_BAD_DATA and its place, on this device. */
static void errors(const char *device)
{
    tally *ctx = open_on(device);
    float x[100] = {0}, y;
    tally_view in = tally_flat(x, TALLY_F32, 100);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tally_status status = tally_define(ctx, "mine", wrong[i].text, "mine.h");
        if (!status) status = tally_reduce(ctx, "mine", &in, &y);
        printf("    %s: %s\n", device, tally_error(ctx));
        check_detail(status == TALLY_BAD_DATA &&
                         !strncmp(tally_error(ctx), wrong[i].says, strlen(wrong[i].says)),
                     wrong[i].says, tally_error(ctx));
        check_detail(strlen(tally_error(ctx)) < 400 && !strchr(tally_error(ctx), '\n'),
                     "one sentence", tally_error(ctx));
    }
    for (size_t i = 0; i < sizeof bare / sizeof *bare && !strncmp(device, "cpu", 3); i++) {
        tally_status status = tally_define(ctx, "mine", bare[i].text, "mine.h");
        if (!status) status = tally_reduce(ctx, "mine", &in, &y);
        printf("    %s: %s\n", device, tally_error(ctx));
        check(status == TALLY_BAD_DATA &&
                  !strncmp(tally_error(ctx), bare[i].says, strlen(bare[i].says)) &&
                  (!bare[i].also || strstr(tally_error(ctx), bare[i].also)) &&
                  !strstr(tally_error(ctx), "prelude") && !strstr(tally_error(ctx), "_df32"),
              bare[i].says, tally_error(ctx));
    }
    tally_close(ctx);
}

static void arguments(tally *ctx)
{
    static char big[70000];
    memset(big, ' ', sizeof big - 1);
    const struct {
        tally_status got, want;
        const char *says;
    } calls[] = {
        {tally_define(NULL, "a", GOOD, NULL), TALLY_INVALID, NULL},
        {tally_define(ctx, NULL, GOOD, NULL), TALLY_INVALID, "name is NULL"},
        {tally_define(ctx, "a", NULL, NULL), TALLY_INVALID, "text is NULL"},
        {tally_define(ctx, "sum", GOOD, NULL), TALLY_INVALID,
         "name is 'sum': that is a built-in operator"},
        {tally_define(ctx, "a:b", GOOD, NULL), TALLY_INVALID, "name is 'a:b'"},
        {tally_define(ctx, "9a", GOOD, NULL), TALLY_INVALID, "name is '9a'"},
        {tally_define(ctx, "", GOOD, NULL), TALLY_INVALID, "name is ''"},
        {tally_define(ctx, "abcdefghijklmnopqrstuvwxyzabcdef", GOOD, NULL), TALLY_INVALID,
         "name is"},
        {tally_define(ctx, "a", big, NULL), TALLY_INVALID, "text is longer than 65536 bytes"},
        {tally_define_file(ctx, NULL, "/no/such/file.h"), TALLY_IO, "/no/such/file.h: "},
        {tally_define_file(ctx, NULL, "/"), TALLY_IO, "/: "},
        {tally_define_file(ctx, "a", "/"), TALLY_IO, "/: "},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        check_detail(calls[i].got == calls[i].want, "a bad argument", calls[i].says);
    check_detail(tally_define(ctx, "sum", GOOD, NULL) && strstr(tally_error(ctx), "built-in"),
                 "a built-in name", tally_error(ctx));
}

static void what_it_is(tally *ctx)
{
    tally_operator_info info;
    const int8_t bytes[2] = {3, 4};
    int64_t sum = 0;
    check_ok(ctx, tally_define(ctx, "mine", "#define OP_TYPES F\n" GOOD, "mine.h"), "mine");
    check_detail(tally_operator(ctx, "mine", TALLY_I8, &info) == TALLY_UNSUPPORTED,
                 "a type it does not take", tally_error(ctx));
    check_detail(tally_operator(ctx, "mine:0.5", TALLY_F32, &info) == TALLY_INVALID, "no parameter",
                 tally_error(ctx));
    check_detail(tally_operator(NULL, "mine", TALLY_F32, &info) == TALLY_INVALID, "another context",
                 tally_error(NULL));
    check_ok(ctx, tally_operator(ctx, "mine:f64", TALLY_F32, &info), "mine:f64");
    check_detail(info.output == TALLY_F64 && !strcmp(info.name, "mine") &&
                     !strcmp(info.text, "mine.h"),
                 "what it is", info.text);
    check_ok(ctx, tally_define(ctx, "mine", GOOD, NULL), "mine again, for all types");
    const tally_view in = tally_flat(bytes, TALLY_I8, 2);
    if (check_ok(ctx, tally_reduce(ctx, "mine", &in, &sum), "mine of i8"))
        check_detail(sum == 7, "mine of i8", "not 7");

    const float y[2] = {3, 4};
    const tally_view floats = tally_flat(y, TALLY_F32, 2);
    float total = 0;
    tl_plan plan;
    check_ok(ctx, tally_define(ctx, "padded", PADDED, NULL), "padded");
    if (check_ok(ctx, tally_reduce(ctx, "padded", &floats, &total), "a type of its own"))
        check_detail(total == 7, "a type of its own", "not 7");
    if (check_ok(ctx, tl_plan_of_host(ctx, "padded", TALLY_F32, &plan), "padded"))
        check_detail(plan.op->user->device_bytes == 16, "a state with an end that is not used",
                     "not 16 bytes");
}

/* No compiler, and a compiler that is not there. */
static void compilers(tally *ctx)
{
    const int16_t words[2] = {3, 4};
    int64_t sum = 0;
    tally_view in = tally_flat(words, TALLY_I16, 2);
    char *path = strdup(getenv("PATH")), *cc = getenv("CC") ? strdup(getenv("CC")) : NULL;
    setenv("PATH", "/nowhere", 1);
    unsetenv("CC");
    check_detail(tally_reduce(ctx, "mine", &in, &sum) == TALLY_UNSUPPORTED &&
                     strstr(tally_error(ctx), "no cc, gcc or clang in PATH"),
                 "no compiler", tally_error(ctx));
    setenv("CC", "no-such-cc -O1", 1);
    check_detail(tally_reduce(ctx, "mine", &in, &sum) == TALLY_UNSUPPORTED &&
                     strstr(tally_error(ctx), "no-such-cc"),
                 "CC", tally_error(ctx));
    setenv("PATH", path, 1);
    setenv("CC", "false", 1);
    check_detail(tally_reduce(ctx, "mine", &in, &sum) == TALLY_BAD_DATA &&
                     strstr(tally_error(ctx), "false failed without a message"),
                 "a compiler that fails", tally_error(ctx));
    setenv("CC", "gcc -g0", 1); /* words */
    check_ok(ctx, tally_reduce(ctx, "mine", &in, &sum), "CC with words");
    unsetenv("CC");
    setenv("TMPDIR", "/proc/nothing", 1);
    in.dtype = TALLY_U16;
    check_detail(tally_reduce(ctx, "mine", &in, &sum) == TALLY_IO &&
                     strstr(tally_error(ctx), "TMPDIR"),
                 "no folder", tally_error(ctx));
    unsetenv("TMPDIR");
    if (cc) setenv("CC", cc, 1);
    free(cc);
    free(path);
}

static void wrong_arguments(void)
{
    tally *const ctx = open_on("cpu");
    arguments(ctx);
    what_it_is(ctx);
    compilers(ctx);
    tally_close(ctx);
}
#endif
