/* SPDX-License-Identifier: MIT
 * options.h - the parsed command line, and the table by which it was parsed. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum verb {
#define VERB(id, ...) VERB_##id,
#include "options.def"
#undef VERB
    VERB_COUNT
};

enum option {
#define OPTION(id, ...) OPT_##id,
#include "options.def"
#undef OPTION
    OPT_COUNT
};

enum kind { NONE, FILES, CHOICES, DTYPES, DEVICES, ISAS };

typedef struct verb_row {
    const char *name, *operands, *summary, *lesson;
    const char *example[3][2]; /* the command, and its output */
} verb_row;

typedef struct option_row {
    const char *name;
    char letter;
    const char *argument;
    unsigned verbs;
    enum kind kind;
    const char *text;
} option_row;

extern const verb_row verb_table[VERB_COUNT];
extern const option_row option_table[OPT_COUNT];

enum { OP_FILES = 16 };
typedef struct options {
    enum verb verb;
    /* NULL: not given; "" for a flag that was given; the last value if it was given several
     * times */
    const char *value[OPT_COUNT];
    const char *op_file[OP_FILES]; /* every --op-file */
    int op_files;
    char **args; /* the operands, in order, and NULL */
    int nargs;
    char **words; /* everything after the verb, as it was typed */
    int word_count;
} options;

static inline int has(const options *o, enum option id) { return o->value[id] != NULL; }

/* Parses argv in place; operands are moved to the front. Returns an exit code; a failure has been
 * printed. */
int options_parse(options *o, int argc, char **argv);

/* The verb called name, or VERB_COUNT. */
enum verb options_verb(const char *name);

/* Splits "a|b|c" into at most CHOICES_MAX names, copied to c->store. Returns the NULL-terminated
 * list. */
enum { CHOICES_MAX = 16, CHOICES_BYTES = 96 };
typedef struct choice_list {
    const char *name[CHOICES_MAX];
    char store[CHOICES_BYTES];
} choice_list;
const char *const *choices_split(choice_list *c, const char *argument);

/* Parses a whole number in a common form: 268435456, 2^28, 1e6, 1.5e9, 64Ki, 3M. Returns 0, or -1
 * if text is not one. */
int count_parse(const char *text, int64_t *value);

/* Checks that of two options that exclude each other one is given at most. Returns an exit code. */
int options_exclude(const options *o);

/* Checks that the verb got no operand. */
int no_operand(const options *o);

/* Sets *value to the value of a numeric option, or to fallback if it was not given. Returns an
 * exit code. */
int opt_count(const options *o, enum option id, int64_t least, int64_t most, int64_t fallback,
              int64_t *value);

#endif
