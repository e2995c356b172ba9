/* SPDX-License-Identifier: MIT
 * options.c - parses the command line by the table in options.def. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const verb_row verb_table[VERB_COUNT] = {
#define VERB(id, operands, summary, lesson, c1, t1, c2, t2, c3, t3) \
    {#id, operands, summary, lesson, {{c1, t1}, {c2, t2}, {c3, t3}}},
#include "options.def"
#undef VERB
};

const option_row option_table[OPT_COUNT] = {
#define OPTION(id, name, letter, argument, verbs, kind, text) \
    {name, letter, argument, verbs, kind, text},
#include "options.def"
#undef OPTION
};

enum verb options_verb(const char *name)
{
    int v = 0;
    while (v < VERB_COUNT && strcmp(verb_table[v].name, name) != 0) v++;
    return (enum verb)v;
}

const char *const *choices_split(choice_list *c, const char *argument)
{
    int count = 0;
    snprintf(c->store, sizeof c->store, "%s", argument);
    for (char *at = c->store; at && count < CHOICES_MAX - 1; count++) {
        c->name[count] = at;
        at = strchr(at, '|');
        if (at) *at++ = '\0';
    }
    c->name[count] = NULL;
    return c->name;
}

/* Options of other programs, and what is meant where the verb has that option. */
static const struct {
    const char *given, *option, *meant;
} elsewhere[] = {
    {"group", "by", "--by"},
    {"groupby", "by", "--by"},
    {"group-by", "by", "--by"},
    {"sep", "delimiter", "--delimiter"},
    {"separator", "delimiter", "--delimiter"},
    {"field", "column", "--column"},
    {"fields", "column", "--column"},
    {"type", "dtype", "--dtype"},
    {"ddof", "dtype", "a parameter of the operator, as in std:1"},
    {"-v", "version", "-V"},
    {"-t", "threads", "--threads"},
    {"-g", "by", "--by"},
};

static int unknown_option(const options *o, const char *given)
{
    const char *names[OPT_COUNT + 1];
    int count = 0;
    for (int i = 0; i < OPT_COUNT; i++)
        if (option_table[i].verbs >> o->verb & 1) names[count++] = option_table[i].name;
    names[count] = NULL;
    char what[64];
    snprintf(what, sizeof what, "option of `tally %s`", verb_table[o->verb].name);
    for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++) {
        if (strcmp(elsewhere[k].given, given) != 0) continue;
        for (int i = 0; i < count; i++)
            if (!strcmp(names[i], elsewhere[k].option))
                return usage("there is no %s '%s'; did you mean %s?", what, given,
                             elsewhere[k].meant);
    }
    return fail_choice(USAGE, what, given, names);
}

/* The error for an option that exists, but not for this verb: names the verbs that have it. */
static int foreign_option(const options *o, int id)
{
    char owners[128] = "";
    for (int v = 0, first = 1; v < VERB_COUNT; v++) {
        if (!(option_table[id].verbs >> v & 1)) continue;
        const size_t at = strlen(owners);
        snprintf(owners + at, sizeof owners - at, "%s%s", first ? "" : ", ", verb_table[v].name);
        first = 0;
    }
    return usage("--%s is not an option of `tally %s`; it belongs to: %s", option_table[id].name,
                 verb_table[o->verb].name, owners);
}

static int accept(options *o, int id, const char *value)
{
    const option_row *row = &option_table[id];
    if (!(row->verbs >> o->verb & 1)) return foreign_option(o, id);
    if (row->kind == CHOICES) {
        choice_list c;
        const char *const *names = choices_split(&c, row->argument);
        int i = 0;
        while (names[i] && strcmp(names[i], value) != 0) i++;
        if (!names[i]) {
            char what[64];
            snprintf(what, sizeof what, "value of --%s", row->name);
            return fail_choice(USAGE, what, value, names);
        }
    }
    if (id == OPT_op_file) {
        if (o->op_files == OP_FILES)
            return usage("--op-file %s: at most %d of them", value, OP_FILES);
        o->op_file[o->op_files++] = value;
    } else if (has(o, (enum option)id) && strcmp(o->value[id], value) != 0) {
        if (!strchr(row->argument, ','))
            return usage("--%s is given twice, as '%s' and as '%s'", row->name, o->value[id],
                         value);
        return usage("--%s is given twice: write --%s %s,%s", row->name, row->name, o->value[id],
                     value);
    }
    o->value[id] = value;
    return DONE;
}

static int parse_long(options *o, char **argv, int argc, int *i)
{
    const char *name = argv[*i] + 2, *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    /* the row of this verb, else the first row of that name: meanings differ between verbs */
    int id = OPT_COUNT;
    for (int at = OPT_COUNT - 1; at >= 0; at--) {
        if (strlen(option_table[at].name) != length ||
            memcmp(option_table[at].name, name, length) != 0)
            continue;
        if (id == OPT_COUNT || !(option_table[id].verbs >> o->verb & 1) ||
            (option_table[at].verbs >> o->verb & 1))
            id = at;
    }
    if (id == OPT_COUNT) {
        char given[64];
        snprintf(given, sizeof given, "%.*s", (int)(length < 60 ? length : 60), name);
        return unknown_option(o, given);
    }
    const option_row *row = &option_table[id];
    if (!row->argument[0]) {
        if (equals) return usage("--%s takes no value, and '%s' was given", row->name, equals + 1);
        return accept(o, id, "");
    }
    if (equals) return accept(o, id, equals + 1);
    if (*i + 1 >= argc)
        return usage("--%s needs a value: --%s %s", row->name, row->name, row->argument);
    return accept(o, id, argv[++*i]);
}

static int parse_letters(options *o, char **argv, int argc, int *i)
{
    for (const char *at = argv[*i] + 1; *at; at++) {
        int id = 0;
        while (id < OPT_COUNT && option_table[id].letter != *at) id++;
        if (id == OPT_COUNT) return unknown_option(o, argv[*i]);
        const option_row *row = &option_table[id];
        if (!row->argument[0]) {
            const int code = accept(o, id, "");
            if (code) return code;
            continue;
        }
        if (at[1]) return accept(o, id, at + 1);
        if (*i + 1 >= argc) return usage("-%c needs a value: -%c %s", *at, *at, row->argument);
        return accept(o, id, argv[++*i]);
    }
    return DONE;
}

int options_parse(options *o, int argc, char **argv)
{
    int code = DONE;
    o->words = memory_for(&code, "the command line", argc, sizeof *o->words);
    if (!code) memcpy(o->words, argv, (size_t)argc * sizeof *o->words); /* argv is changed below */
    o->word_count = argc;
    o->args = argv;
    o->nargs = 0;
    for (int i = 0, only_operands = 0; i < argc && !code; i++) {
        if (only_operands || argv[i][0] != '-' || !argv[i][1])
            o->args[o->nargs++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            only_operands = 1;
        else if (argv[i][1] == '-')
            code = parse_long(o, argv, argc, &i);
        else
            code = parse_letters(o, argv, argc, &i);
    }
    o->args[o->nargs] = NULL; /* argv ends with a NULL, so there is space */
    return code;
}

int options_exclude(const options *o)
{
    static const enum option pairs[][2] = {
        {OPT_axis, OPT_segments}, {OPT_by, OPT_segments},     {OPT_step, OPT_segments},
        {OPT_by, OPT_shape},      {OPT_by, OPT_step},         {OPT_keep, OPT_json},
        {OPT_keep, OPT_step},     {OPT_empty, OPT_out_valid}, {OPT_keep, OPT_reverse}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (has(o, pairs[i][0]) && has(o, pairs[i][1]))
            return usage("--%s and --%s exclude each other", option_table[pairs[i][0]].name,
                         option_table[pairs[i][1]].name);
    return DONE;
}

int stdin_once(const options *o)
{
    static const enum option others[] = {OPT_with, OPT_valid, OPT_segments};
    const int first = o->verb == VERB_fragment ? 2 : 1;
    const char *used = o->nargs <= first ? "FILE" : NULL, *of;
    for (int i = first; i < o->nargs; i++) {
        if (strcmp(o->args[i], "-") != 0) continue;
        if (used) return usage("FILE is - twice, and standard input can be read once");
        used = "FILE";
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!has(o, others[i]) || strcmp(o->value[others[i]], "-") != 0) continue;
        of = option_table[others[i]].name;
        if (used) return usage("--%s is -, and standard input is %s", of, used);
        if (o->verb == VERB_reduce && o->nargs > 2)
            return usage("--%s is -, and standard input cannot be read again for every FILE", of);
        used = others[i] == OPT_with ? "that of --with" : "that of --valid";
    }
    return DONE;
}

int no_operand(const options *o)
{
    if (!o->nargs) return DONE;
    return usage("`tally %s` takes no operand, and '%s' is one", verb_table[o->verb].name,
                 o->args[0]);
}

/* Multiplies *value by factor; refuses overflow. */
static int scale(int64_t *value, int64_t factor)
{
    return __builtin_mul_overflow(*value, factor, value) ? -1 : 0;
}

static int power(int64_t *value, int64_t base, int64_t exponent)
{
    while (exponent-- > 0)
        if (scale(value, base)) return -1;
    return 0;
}

int count_parse(const char *text, int64_t *value)
{
    static const struct {
        const char *suffix;
        int64_t base, exponent;
    } suffixes[] = {{"", 10, 0},   {"K", 10, 3},  {"k", 10, 3},  {"M", 10, 6},  {"G", 10, 9},
                    {"T", 10, 12}, {"Ki", 2, 10}, {"Mi", 2, 20}, {"Gi", 2, 30}, {"Ti", 2, 40}};
    const int negative = *text == '-';
    const char *at = text + negative;
    int64_t v = 0, decimals = 0, exponent = 0;
    int digits = 0, point = 0;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && !point); at++) {
        if (*at == '.') {
            point = 1;
            continue;
        }
        if (scale(&v, 10) || __builtin_add_overflow(v, *at - '0', &v)) return -1;
        digits++;
        decimals += point;
    }
    if (!digits) return -1;
    if (*at == '^' && !point) {
        char *end;
        const long e = strtol(at + 1, &end, 10);
        if (end == at + 1 || *end || e < 0 || e > 63) return -1;
        const int64_t base = v;
        v = 1;
        if (power(&v, base, e)) return -1;
    } else {
        int64_t base = 10;
        if (*at == 'e' || *at == 'E') {
            char *end;
            const long e = strtol(at + 1, &end, 10);
            if (end == at + 1 || *end || e < 0 || e > 40) return -1;
            exponent = e;
        } else {
            size_t s = 0;
            while (s < sizeof suffixes / sizeof *suffixes && strcmp(suffixes[s].suffix, at) != 0)
                s++;
            if (s == sizeof suffixes / sizeof *suffixes) return -1;
            base = suffixes[s].base;
            exponent = suffixes[s].exponent;
        }
        if (base == 10)
            exponent -= decimals;
        else if (power(&v, base, exponent))
            return -1;
        else
            exponent = -decimals;
        for (; exponent < 0; exponent++, v /= 10)
            if (v % 10) return -1; /* 1.5 is not a count */
        if (base == 10 && power(&v, 10, exponent)) return -1;
    }
    *value = negative ? -v : v;
    return 0;
}

int opt_count(const options *o, enum option id, int64_t least, int64_t most, int64_t fallback,
              int64_t *value)
{
    const char *text = o->value[id], *name = option_table[id].name;
    *value = fallback;
    if (!text) return DONE;
    if (count_parse(text, value))
        return usage("--%s is '%s', which is not a whole number (2^28, 1e6 and 64Ki are)", name,
                     text);
    if (*value < least)
        return usage("--%s is %lld and must be at least %lld", name, (long long)*value,
                     (long long)least);
    if (*value > most)
        return usage("--%s is %lld and must be at most %lld", name, (long long)*value,
                     (long long)most);
    return DONE;
}
