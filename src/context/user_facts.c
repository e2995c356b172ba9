/* SPDX-License-Identifier: MIT
 * Reads the facts of an operator's text without a compiler: `#define OP_...` lines, the fields in
 * OP_STATE, and the names after `fn`. Facts are taken literally, so they must not depend on #if or
 * on other macros. */
#include "user.h"
#include "user_words.h"
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const field_names[] = {"real", "ord", "idx", "elem", "wide", NULL};
static const char *const acc_names[] = {"WIDE", "REAL", "F64", "NONE", NULL};
const char *const tl_out_names[] = {"ACC", "SAME", "IDX", "BIT", NULL};

/* The functions of the dialect. flag: the fact that requires the function (-1: always required).
 * sized: its form with OP_SIZES (lift: with OP_INPUTS 2), if that is different. */
static const struct {
    const char *name, *form, *sized;
    int flag;
} functions[] = {
    {"lift", "state lift(elem x, idx i, par p)", "state lift(elem x, elem y, idx i, par p)", -1},
    {"combine", "state combine(state a, state b)",
     "state combine(state a, state b, real na, real nb)", -1},
    {"lower", "result lower(state a, real n, idx first, par p)", NULL, -1},
    {"empty", "result empty(par p)", NULL, -1},
    {"neutral", "state neutral(par p)", NULL, TL_FLAG_NEUTRAL},
    {"neutral", "state neutral(par p)", NULL, TL_FLAG_INVERSE},
    {"seed", "state seed(result v, par p)", NULL, TL_FLAG_SEED},
    {"uncombine", "state uncombine(state a, state b)", NULL, TL_FLAG_INVERSE},
    {"twin", "state twin(state a, state b)", "state twin(state a, state b, real n)", TL_FLAG_TWIN},
    {"lower_1", "result lower_1(state a, real n, idx first, par p)", NULL, TL_FLAG_LANES},
    {"empty_1", "result empty_1(par p)", NULL, TL_FLAG_LANES},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

typedef struct {
    tally *ctx;
    const char *where;
    /* with continued lines joined, and comments and quoted characters replaced by blanks */
    char *text;
    tl_facts *facts;
    unsigned seen;                   /* bits: facts that the text states */
    unsigned has;                    /* bits: functions that the text has */
    const char *sized_at[FUNCTIONS]; /* where a function with two forms begins */
    int commas[FUNCTIONS];           /* commas in its parameter list */
} reader;

/* The numbers of the facts besides the flags. */
enum {
    SEEN_ACC = TL_FLAG_COUNT,
    SEEN_OUT,
    SEEN_TYPES,
    SEEN_PARAM,
    SEEN_DEFAULT,
    SEEN_STATE,
    SEEN_COUNT
};

/* The facts. values: NULL, or the names that are the fact's values. must: the same for the
 * sentence. */
static const struct {
    const char *name, *const *values, *must;
} stated[SEEN_COUNT] = {[SEEN_ACC] = {"OP_ACC", acc_names, "one of WIDE REAL F64 NONE"},
                        [SEEN_OUT] = {"OP_OUT", tl_out_names, "one of ACC SAME IDX BIT"},
                        [SEEN_TYPES] = {"OP_TYPES", NULL, NULL},
                        [SEEN_PARAM] = {"OP_PARAM", NULL, NULL},
                        [SEEN_DEFAULT] = {"OP_DEFAULT", NULL, NULL},
                        [SEEN_STATE] = {"OP_STATE", NULL, NULL},
#define FLAG(name) [TL_FLAG_##name] = {"OP_" #name, NULL, NULL},
                        TL_FLAGS(FLAG)
#undef FLAG
};

/* The number of the line of the text at `at`. \v is a joined newline. */
static int line_of(const reader *r, const char *at)
{
    int line = 1;
    for (const char *p = r->text; p < at; p++) line += *p == '\n' || *p == '\v';
    return line;
}

static __attribute__((format(printf, 3, 4))) tally_status bad(const reader *r, const char *at,
                                                              const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    for (char *p = message; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = '?'; /* the text may have any bytes, and the sentence may go to a terminal */
    return tl_bad_data(r->ctx, "%.200s:%d: %s", r->where, line_of(r, at), message);
}

/* ---- facts ---- */

static int find(const char *const *names, const char *name)
{
    int i = 0;
    while (names[i] && strcmp(names[i], name)) i++;
    return names[i] ? i : -1;
}

static tally_status read_state(reader *r, const char *at)
{
    char text[TL_USER_NAME], argument[TL_USER_NAME];
    const char *form = "OP_STATE(F) is written F(type, name) for each field";
    tl_facts *f = r->facts;
    if (!mark(&at, '(')) return bad(r, at, "%s", form);

    skip(&at);
    word(&at, argument, sizeof argument);
    if (!*argument || !mark(&at, ')')) return bad(r, at, "%s", form);

    for (skip(&at); *at && *at != '\n'; skip(&at)) {
        const char *begin = at;
        if (strcmp(word(&at, text, sizeof text), argument) || !mark(&at, '('))
            return bad(r, begin, "%s", form);
        skip(&at);
        const char *type = at;
        int field = find(field_names, word(&at, text, sizeof text));
        if (field < 0)
            return bad(r, type,
                       "a field of the state is '%s': must be real, ord, idx, elem or wide", text);
        if (!mark(&at, ',')) return bad(r, begin, "%s", form);
        skip(&at);
        if (!*word(&at, text, sizeof text) || !mark(&at, ')')) return bad(r, begin, "%s", form);
        if (f->fields == TL_USER_FIELDS)
            return bad(r, begin, "a state has at most %d fields", TL_USER_FIELDS);
        f->field[f->fields++] = (unsigned char)field;
    }
    return f->fields ? TALLY_OK : bad(r, at, "the state has no field: %s", form);
}

static tally_status read_flag(reader *r, const char *at, int flag, const char *value)
{
    assert(flag >= 0 && flag < TL_FLAG_COUNT);
    static const char *const values[] = {"0", "1", "2", "-1", "REAL_IS_EXACT", NULL};
    static const signed char numbers[] = {0, 1, 2, -1, TL_FACT_REAL_IS_EXACT};
    const int v = find(values, value), bare = flag == TL_FLAG_SIZES,
              counts = flag == TL_FLAG_LANES || flag == TL_FLAG_INPUTS,
              two = counts || flag == TL_FLAG_ADDS || flag == TL_FLAG_SEED,
              signs = flag == TL_FLAG_EXTREME || flag == TL_FLAG_PICKS;
    if (v < 0 || (v == 2 && !two) || (v == 3 && !signs) || (v == 4 && bare) ||
        (counts && v != 1 && v != 2))
        return bad(r, at, "%s is '%.40s': must be %s", stated[flag].name, value,
                   counts  ? "1 or 2"
                   : bare  ? "0 or 1"
                   : signs ? "0, 1 or -1"
                   : two   ? "0, 1, 2 or REAL_IS_EXACT"
                           : "0, 1 or REAL_IS_EXACT");

    /* OP_SEED 2 differs from 1 in the nan form only */
    r->facts->flag[flag] = v == 2 && flag == TL_FLAG_SEED ? 1 : numbers[v];
    return TALLY_OK;
}

/* The number of the fact called `name`, or -1. */
static int find_fact(const char *name)
{
    for (int i = 0; i < SEEN_COUNT; i++)
        if (!strcmp(name, stated[i].name)) return i;
    return -1;
}

/* Stores fact number `fact`, whose value is the text `value`. */
static tally_status set_fact(reader *r, const char *begin, int fact, const char *value)
{
    assert(fact >= 0 && fact < SEEN_COUNT && fact != SEEN_STATE);
    tl_facts *f = r->facts;
    if (fact < TL_FLAG_COUNT) return read_flag(r, begin, fact, value);

    const char *const *const values = stated[fact].values;
    if (values) {
        const int number = find(values, value);
        if (number < 0)
            return bad(r, begin, "%s is '%.40s': must be %s", stated[fact].name, value,
                       stated[fact].must);
        if (fact == SEEN_ACC) f->acc = (tl_acc_rule)number;
        if (fact == SEEN_OUT) f->out = (tl_out_rule)number;
        return TALLY_OK;
    }

    if (fact == SEEN_TYPES) {
        if (!*value || strlen(value) > 3 || strspn(value, "IUF") != strlen(value))
            return bad(r, begin,
                       "OP_TYPES is '%s': must be some of I (signed), U (unsigned), F (floating)",
                       value);
        strcpy(f->kinds, value);
    } else if (fact == SEEN_PARAM) {
        if (!*value || isdigit((unsigned char)*value) || strlen(value) >= sizeof f->param)
            return bad(r, begin, "OP_PARAM is '%s': must be a name of at most %d characters", value,
                       TL_USER_NAME - 1);
        strcpy(f->param, value);
        for (const char *p = value; *p; p++)
            if (!is_word(*p)) return bad(r, begin, "OP_PARAM is '%s': must be a name", value);
    } else if (tally_parse_value(TALLY_F64, value, strlen(value), &f->fallback) ||
               isnan(f->fallback)) {
        return bad(r, begin, "OP_DEFAULT is '%s': must be a number", value);
    }
    return TALLY_OK;
}

/* Reads a line `#define OP_...`; `at` is after the name. */
static tally_status read_fact(reader *r, const char *begin, const char *name, const char *at,
                              int depth)
{
    /* of texts of src/op/. They say nothing here: an operator of a user is compiled for each type,
     * has no nan form, and its fields determine the lane */
    static const char *const ours[] = {"OP_LANE",   "OP_WIDEN",  "OP_NAN_WIDEN", "OP_NAN_CORE",
                                       "OP_COUNTS", "OP_ABSENT", "OP_BLANK",     NULL};
    char value[64];
    const int fact = find_fact(name);

    if (find(ours, name) >= 0) return TALLY_OK;
    if (fact < 0)
        return bad(r, begin,
                   "%s is not a fact that an operator states (doc/user-operators.md lists them)",
                   name);

    if (depth)
        return bad(r, begin, "%s stands inside #if: facts are read as they are written", name);
    if (r->seen >> fact & 1) return bad(r, begin, "%s is stated twice", name);

    r->seen |= 1u << fact;
    if (fact == SEEN_STATE) return read_state(r, at);

    skip(&at);
    size_t length = strcspn(at, "\n");
    while (length && is_space(at[length - 1])) length--;
    snprintf(value, sizeof value, "%.*s", (int)(length < 60 ? length : 60), at);
    return set_fact(r, begin, fact, value);
}

static const char *const directives[] = {"define", "undef", "else",   "elif",  "error",
                                         "if",     "ifdef", "ifndef", "endif", NULL};
static const signed char nests[] = {0, 0, 0, 0, 0, 1, 1, 1, -1};

/* A line that begins with #. Refuses one that is not in the table: it could include text that is
 * not in the cache's key, change line numbers of errors, or mean something on one device only. */
static tally_status read_directive(reader *r, const char *at, int *depth)
{
    char what[TL_USER_NAME], name[TL_USER_NAME];
    const char *begin = at++;

    skip(&at);
    word(&at, what, sizeof what);
    if (!strncmp(what, "include", 7) || !strcmp(what, "import") || !strcmp(what, "embed"))
        return bad(r, begin, "an operator includes nothing");
    if (!strcmp(what, "line") || isdigit((unsigned char)*what))
        return bad(r, begin, "#line would mislead error messages");
    if (!*what && (!*at || *at == '\n')) return TALLY_OK;
    const int directive = find(directives, what);
    if (directive < 0)
        return bad(r, begin,
                   "#%s has no place in an operator, which has #define, #undef, #if and what "
                   "belongs to it, and #error",
                   what);

    *depth += nests[directive];
    if (strcmp(what, "define") && strcmp(what, "undef")) return TALLY_OK;

    skip(&at);
    word(&at, name, sizeof name);
    if (!strncmp(name, "TL_", 3) || !strncmp(name, "tl_", 3))
        return bad(r, begin, "%s: names that begin with TL_ are the library's", name);
    if (strncmp(name, "OP_", 3)) return TALLY_OK;

    if (*what == 'u')
        return bad(r, begin, "%s is taken back: facts are read as they are written", name);
    return read_fact(r, begin, name, at, *depth);
}

static tally_status keep_word(reader *r, const char *at, const char *name)
{
    tl_facts *f = r->facts;
    for (int i = 0; i < f->words; i++)
        if (!strcmp(f->word[i], name)) return TALLY_OK;
    if (f->words == TL_USER_WORDS)
        return bad(r, at, "a text has at most %d functions and types of its own", TL_USER_WORDS);
    if (strlen(name) >= TL_USER_NAME - 1)
        return bad(r, at, "'%s...' is too long a name: at most %d characters", name,
                   TL_USER_NAME - 2);
    strcpy(f->word[f->words++], name);

    return TALLY_OK;
}

/* Reads `fn TYPE NAME(`. */
static tally_status read_function(reader *r, const char *at)
{
    char name[TL_USER_NAME], type[TL_USER_NAME];
    const char *begin = at;

    skip_lines(&at);
    word(&at, type, sizeof type);
    skip_lines(&at);
    word(&at, name, sizeof name);
    skip_lines(&at);
    if (!*name || *at != '(') return TALLY_OK; /* the compiler has the better message */

    int found = 0;

    for (int i = 0; i < FUNCTIONS; i++) {
        if (strcmp(name, functions[i].name)) continue;
        if (functions[i].sized && !(r->has >> i & 1)) {
            r->sized_at[i] = begin;
            for (const char *c = at; *c && *c != ')'; c++) r->commas[i] += *c == ',';
        }
        r->has |= 1u << i, found = 1;
    }

    if (!strcmp(name, "masked"))
        return bad(
            r, begin,
            "'masked' is the library's: lift what does not count to a state that changes nothing");
    return found ? TALLY_OK : keep_word(r, begin, name);
}

/* Reads `typedef ... NAME;`. */
static tally_status read_type(reader *r, const char *at)
{
    char name[TL_USER_NAME] = "";
    const char *begin = at;

    for (int depth = 0; *at && !(*at == ';' && !depth);) {
        if (is_word(*at)) {
            word(&at, name, sizeof name);
            continue;
        }
        depth += (*at == '{') - (*at == '}');
        at++;
    }
    return !*name || !strcmp(name, "state") ? TALLY_OK : keep_word(r, begin, name);
}

/* Refuses texts whose meaning compilers do not agree on: trigraphs and carriage returns. */
static tally_status check_written(const reader *r, const char *written)
{
    int line = 1;
    for (const char *p = written; *p; line += *p++ == '\n') {
        const char *why = NULL;
        if (p[0] == '?' && p[1] == '?' && p[2] && strchr("=/'()!<>-", p[2]))
            why = "?? begins a trigraph";
        if (*p == '\r' && p[1] != '\n')
            why = "a carriage return without a newline ends a line for some compilers only";
        const char *end = p + 1 + strspn(p + 1, " \t\v\f");
        if (*p == '\\' && end > p + 1 && (*end == '\n' || *end == '\r'))
            why = "there are blanks between a backslash and the end of its line";
        if (why) return tl_bad_data(r->ctx, "%.200s:%d: %s", r->where, line, why);
    }

    return TALLY_OK;
}

/* Refuses a character by which a text asks the compiler for something that it does not show. fresh:
 * the line has only white space before it. */
static tally_status check_character(const reader *r, const char *at, int fresh)
{
    if (*at == '"') return bad(r, at, "a string has no use in an operator");
    if (*at == '\'') return bad(r, at, "a ' that is not closed on its line");
    if (*at == '\\') return bad(r, at, "a backslash that does not end its line");
    if (*at == '#' && !fresh)
        return bad(r, at, "# stands at the beginning of a line: an operator pastes no words");
    if (*at == '%' && at[1] == ':') return bad(r, at, "%%: is written #");
    return TALLY_OK;
}

static tally_status read_text(reader *r)
{
    char name[TL_USER_NAME];
    int depth = 0, fresh = 1, directive = 0; /* directive: the line began with # */

    for (const char *at = r->text; *at;) {
        const char *const begin = at;
        if (*begin == '\n') directive = 0;
        if (is_word(*begin)) {
            word(&at, name, sizeof name);
            if (!strncmp(name, "__", 2) || !strcmp(name, "_Pragma"))
                return bad(
                    r, begin,
                    "%s: names that begin with two underscores, and _Pragma, are the compilers'",
                    name);
            if (!directive && !strcmp(name, "fn")) TL_TRY(read_function(r, at));
            if (!directive && !strcmp(name, "typedef")) TL_TRY(read_type(r, at));
        } else {
            TL_TRY(check_character(r, at++, fresh));
        }

        if (fresh && *begin == '#') {
            directive = 1;
            TL_TRY(read_directive(r, begin, &depth));
        }
        fresh = *begin == '\n' || (fresh && is_space(*begin));
    }
    return TALLY_OK;
}

/* Checks the facts against each other. */
static tally_status check(const reader *r)
{
    const tl_facts *f = r->facts;
    if (!(r->seen >> SEEN_STATE & 1))
        return bad(r, r->text,
                   "OP_STATE is missing: #define OP_STATE(F) F(type, name) ... lists the fields of "
                   "a state");

    for (int i = 0; i < FUNCTIONS; i++) {
        int flag = functions[i].flag, value = flag < 0 ? 1 : f->flag[flag];
        const int fact = i ? TL_FLAG_SIZES : TL_FLAG_INPUTS; /* functions[0] is lift */
        const int sized = functions[i].sized && f->flag[fact] > !i;
        const char *form = sized ? functions[i].sized : functions[i].form;
        int commas = 0;
        if ((flag == TL_FLAG_LANES ? value == 2 : value != 0) && !(r->has >> i & 1))
            return bad(r, r->text, "'%s' is missing: the text must have fn %s", functions[i].name,
                       form);
        for (const char *c = form; *c; c++) commas += *c == ',';
        if (r->sized_at[i] && r->commas[i] != commas)
            return bad(r, r->sized_at[i], "%s is %d: '%s' must be fn %s", stated[fact].name,
                       f->flag[fact], functions[i].name, form);
    }

    static const unsigned char unsized[] = {TL_FLAG_IDEMPOTENT, TL_FLAG_INVERSE,  TL_FLAG_NEUTRAL,
                                            TL_FLAG_SEED,       TL_FLAG_COMMUTES, TL_FLAG_EXTREME,
                                            TL_FLAG_ADDS,       TL_FLAG_PICKS};

    for (size_t i = 0; f->flag[TL_FLAG_SIZES] && i < sizeof unsized; i++)
        if (f->flag[unsized[i]])
            return bad(r, r->text, "OP_SIZES and %s: a text states only one of them",
                       stated[unsized[i]].name);

    if (f->out == TL_OUT_ACC && f->acc == TL_ACC_NONE)
        return bad(r, r->text,
                   "OP_OUT is ACC and OP_ACC is NONE: a result needs a type, SAME, IDX or BIT");
    if ((r->seen >> SEEN_DEFAULT & 1) && !*f->param)
        return bad(r, r->text, "OP_DEFAULT without OP_PARAM: a default of what?");
    return TALLY_OK;
}

tally_status tl_facts_read(tally *ctx, const char *where, const char *text, tl_facts *facts)
{
    reader r = {.ctx = ctx, .where = where, .text = strdup(text), .facts = facts};
    if (!r.text) return tl_no_memory(ctx, strlen(text), "an operator's text");

    *facts = (tl_facts){.kinds = "IUF", .fallback = NAN};
    facts->flag[TL_FLAG_LANES] = facts->flag[TL_FLAG_INPUTS] = 1;
    join_lines(r.text);
    blank(r.text);
    tally_status status = check_written(&r, text);
    if (!status) status = read_text(&r);
    if (facts->acc == TL_ACC_NONE && !(r.seen >> SEEN_OUT & 1)) facts->out = TL_OUT_SAME;

    const char *const state = strstr(r.text, "OP_STATE");
    if (state) facts->state_line = line_of(&r, state);

    if (!status) status = check(&r);
    if (!status && !*facts->param) facts->fallback = 0;
    free(r.text);
    return status;
}
