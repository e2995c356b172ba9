/* SPDX-License-Identifier: MIT
 * session.h - what every verb needs: the parsed command line, and the table by which it was parsed;
 * exit codes, errors, the context, names of operators and devices, which device was used.
 *
 * Nothing here exits: a function that fails prints one sentence and returns an exit code. */
#ifndef SESSION_H
#define SESSION_H

#include "tally.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- options.c: the command line ---- */
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
/* Checks that only one FILE or option is -, standard input. */
int stdin_once(const options *o);

/* Checks that the verb got no operand. */
int no_operand(const options *o);

/* Sets *value to the value of a numeric option, or to fallback if it was not given. Returns an
 * exit code. */
int opt_count(const options *o, enum option id, int64_t least, int64_t most, int64_t fallback,
              int64_t *value);

enum {
    DONE = 0,
    BAD_DATA = 1,
    USAGE = 2,
    NO_DEVICE = 3,
    VERIFY_FAILED = 4,
    CLOSED_PIPE = 141 /* the reader closed the pipe: no message, a shell's code for SIGPIPE */
};

/* ---- error.c: "tally: <sentence>" on standard error ---- */
int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
int usage(const char *format, ...) __attribute__((format(printf, 1, 2))); /* fail(USAGE, ...) */
int bad_data(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* fail(BAD_DATA, ...) */
/* The exit code for the status of a call of the library. Prints its sentence if it failed. */
int code_of(const tally *ctx, tally_status status);
int fail_memory(const char *what, int64_t bytes);
/* Memory of zeros for `count` elements of `size` bytes, also if count is 0. If there is none,
 * prints the sentence that `what` needs it and sets *code. NULL: *code is, or was, not DONE. */
void *memory_for(int *code, const char *what, int64_t count, size_t size);
/* memory_for for a copy of text, which may be NULL. */
char *text_for(int *code, const char *what, const char *text);
/* realloc of the memory at *(void **)pointer. */
int grow_memory(void *pointer, const char *what, size_t bytes);
/* Prints "<what> '<given>': <problem>; choices: a, b, c (did you mean 'b'?)". */
int fail_choice(int code, const char *what, const char *given, const char *const *names);
/* Prints a remark in the same form, unless --quiet is given. */
void note(const options *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
int stdout_closed(void);
void stdout_flush(void); /* keeps the reason of a failure for stdout_finish */
/* Flushes standard output. A failed write changes DONE to BAD_DATA or CLOSED_PIPE. */
int stdout_finish(int code);

/* Text that is safe to print. */
/* The bytes of the character at text, which is not empty; 0: it is not UTF-8. */
size_t utf8_length(const char *text, uint32_t *code);
int is_shown(uint32_t code);
void put_plain(FILE *f, const char *text);
char *plain(const char *text); /* put_plain into memory, which the caller frees; NULL: no memory */
int plain_width(const char *shown);

/* ---- session.c: the context and the names in it ---- */
int session_open(tally **ctx, const options *o);
const char *const *device_names(void); /* "auto" and the names of tally_device; static memory */
const char *const *isa_names(void);
const char *const *dtype_names(void);
int dtype_option(const options *o, enum option id, tally_dtype *dtype); /* 0 if it was not given */
/* Reads an option's text as a value of dtype. Returns 0 if it is not one, or if a finite number
 * would become infinite. */
int parse_literal(tally_dtype dtype, const char *text, void *value);
/* Records every --op-file, for the calls below. */
int session_operators(const options *o);
/* checks that the part before the colon is a known name */
int operator_check(const char *op, size_t length);
/* whether the part before a colon or comma is a built-in operator */
int is_operator(const char *name);
int operator_info(tally *ctx, const char *op, tally_dtype dtype, tally_operator_info *info);
size_t result_bytes(const tally_operator_info *info); /* of one result, all lanes */
/* OP[,OP...], cut at the commas. */
typedef struct operators {
    char *list;
    const char **name;  /* as they are computed */
    const char **shown; /* as they were written */
    char *share;        /* 'v' or 'm': the share of elements that are valid or missing, of count */
    char *precise;      /* NULL, or the memory of names that --precision made */
    tally_operator_info *info; /* one per operator, set by operators_info */
    int count, all;            /* all: count, and the operators that empty_operators adds */
    /* NULL, or for each of `count` the number of the added operator, whose indexes show which
     * results have a value */
    int *index_of;
} operators;
int operators_split(operators *ops, const char *text);
int operators_info(operators *ops, tally *ctx, tally_dtype dtype);
/* --precision f64: computes operators that would be computed in f32 in f64. For each file
 * again, since files may have different types. */
int operators_precision(operators *ops, tally *ctx, const options *o, tally_dtype dtype);
void operators_free(operators *ops);
double seconds(void);
static inline int bit_at(const unsigned char *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}
static inline void set_bit(unsigned char *bits, int64_t i)
{
    bits[i >> 3] |= (unsigned char)(1u << (i & 7));
}

/* ---- devices.c: which device was used, and for which parts ---- */
typedef struct where_ran {
    int64_t launches, on_processors; /* as in tally_times_info */
} where_ran;
const char *device_of(const tally *ctx); /* "cpu", or a GPU's name */
/* start NULL: since the context was opened */
where_ran ran_since(tally *ctx, const where_ran *start);
void put_ran(FILE *f, const tally *ctx, const where_ran *r);
/* Prints a remark if nothing ran on the device. */
void ran_note(const options *o, const tally *ctx, const char *label, const where_ran *r);

/* ---- sheet.c: the lines that --keep passes through ---- */
typedef struct lines {
    char *text;
    size_t n, at, capacity;
} lines;
int lines_put(lines *l, const char *text, size_t length);
/* NULL: there is none. The line is valid until the next lines_put. */
const char *lines_take(lines *l, size_t *length);
void lines_free(lines *l);

/* ---- guard.c: mapped files that become shorter ---- */
/* Returns a number for the other calls, or 0 if the mapping cannot be guarded. */
int guard_add(const void *from, int64_t bytes);
int guard_hit(int guard);
void guard_remove(int guard);
#endif
