/* SPDX-License-Identifier: MIT
 * Run by the build before it compiles an operator: the texts of src/op go through the same checks as texts of users
 * (src/context/user_facts.c), and against their rows, so that a mistake is one sentence with file and line and not a
 * page of a compiler's.
 *
 *   operator_texts SRC     SRC: the folder of the library's sources */
#include "context/user.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *name, *file;
    int lanes;
} rows[] = {
#define OPERATOR(name, file, kinds, out, acc, nan, lanes, ...) {#name, #file, lanes},
#define OPERATOR_ALSO                                          OPERATOR
#include "op/ops.def"
#undef OPERATOR
};

static int wrong(const char *sentence)
{
    fprintf(stderr, "%s\n", sentence);
    return 1;
}

/* The file's text; NULL if there is none. The caller frees. */
static char *read_file(const char *src, const char *name)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", src, name);
    FILE *f = fopen(path, "rb");
    char *text = f ? calloc(1, TL_USER_TEXT + 1) : NULL;
    if (text && !fread(text, 1, TL_USER_TEXT, f)) text[0] = 0;
    if (f) fclose(f);
    return text;
}

/* The facts that texts of src/op state, and texts of users do not. values: NULL for any. */
static const struct {
    const char *name, *values;
    int is_required;
} ours[] = {
    {"OP_LANE", "REAL, ORD, IDX, ELEM or WIDE", 1},
    {"OP_WIDEN", "REAL, WIDE, LOW, HIGH, VALUE, BITS, NONZERO or NUMBER", 1},
    {"OP_NAN_WIDEN", "REAL_ONE, LOW, HIGH, NONZERO, NONZERO_LOW or DOUBLE", 0},
    {"OP_CORE", NULL, 0},
    {"OP_FLOATS", NULL, 0},
};

/* The facts that a row in src/op/ops.def has. */
static const char *const in_rows[] = {"OP_ACC", "OP_OUT", "OP_TYPES", "OP_PARAM", "OP_DEFAULT"};

/* Where the text defines `fact`, and its value of at most 39 characters; NULL: it does not. */
static char *find_fact(char *text, const char *fact, char value[40])
{
    char line[60];
    snprintf(line, sizeof line, "#define %s ", fact);
    char *const at = strstr(text, line);
    if (at && sscanf(at + strlen(line), "%39s", value) != 1) *value = 0;
    return at;
}

static int line_of(const char *text, const char *at)
{
    int line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

static int is_one_of(const char *values, const char *value)
{
    const size_t n = strlen(value);
    for (const char *at = values; n && (at = strstr(at, value)); at += n)
        if ((at == values || at[-1] == ' ') && (!at[n] || at[n] == ',' || at[n] == ' ')) return 1;
    return 0;
}

/* Checks these facts, and blanks those that tl_facts_read does not know. lane: gets OP_LANE. */
static int check_ours(const char *where, char *text, char lane[40])
{
    char sentence[400], value[40];
    for (size_t i = 0; i < sizeof in_rows / sizeof *in_rows; i++) {
        const char *const at = find_fact(text, in_rows[i], value);
        if (!at) continue;
        snprintf(
            sentence, sizeof sentence,
            "%s:%d: %s stands in a text of src/op: the operator's row in src/op/ops.def says it",
            where, line_of(text, at), in_rows[i]);
        return wrong(sentence);
    }

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        char *const at = find_fact(text, ours[i].name, value);
        if (!at && ours[i].is_required) {
            snprintf(sentence, sizeof sentence, "%s:1: %s is missing: must be %s (doc/dialect.md)",
                     where, ours[i].name, ours[i].values);
            return wrong(sentence);
        }
        if (at && ours[i].values && !is_one_of(ours[i].values, value)) {
            snprintf(sentence, sizeof sentence, "%s:%d: %s is '%s': must be %s", where,
                     line_of(text, at), ours[i].name, value, ours[i].values);
            return wrong(sentence);
        }
        if (!i) strcpy(lane, value);
        if (at && !ours[i].values) memset(at, ' ', strcspn(at, "\n"));
    }
    return 0;
}

/* OP_LANE must be the type of the widest field. */
static int check_lane(const char *where, const tl_facts *facts, const char *lane)
{
    static const char names[TL_FIELD_TYPES][8] = {"REAL", "ORD", "IDX", "ELEM", "WIDE"};
    char sentence[400];
    int has_lane = 0, longest = 0; /* it has a field of 64 bits for every type */
    for (int i = 0; i < facts->fields; i++) {
        has_lane |= !strcmp(names[facts->field[i]], lane);
        longest |= facts->field[i] == TL_FIELD_IDX || facts->field[i] == TL_FIELD_WIDE;
    }
    if (has_lane && (!longest || !strcmp(lane, "IDX") || !strcmp(lane, "WIDE"))) return 0;
    snprintf(sentence, sizeof sentence,
             "%s:1: OP_LANE is %s: must be the type of the state's widest field", where, lane);
    return wrong(sentence);
}

static int check(const char *src, const char *prelude, const struct row *row)
{
    char name[100], where[120], sentence[400], line[100], lane[40] = "";
    tl_facts facts;
    snprintf(name, sizeof name, "op/%s.h", row->file);
    snprintf(where, sizeof where, "src/%s", name);
    char *text = read_file(src, name);
    if (!text) {
        snprintf(sentence, sizeof sentence,
                 "%s: there is no such file, and a row of src/op/ops.def has it", where);
        return wrong(sentence);
    }
    int bad = check_ours(where, text, lane);
    if (!bad && tl_facts_read(NULL, where, text, &facts)) bad = wrong(tally_error(NULL));
    free(text);
    if (bad || check_lane(where, &facts, lane)) return 1;
    if (facts.flag[TL_FLAG_LANES] != row->lanes) {
        snprintf(sentence, sizeof sentence,
                 "%s:1: OP_LANES is %d, and the row of %s in src/op/ops.def has %d", where,
                 facts.flag[TL_FLAG_LANES], row->name, row->lanes);
        return wrong(sentence);
    }
    for (int i = 0; i < facts.words;
         i++) { /* compiled once per type: a name of the text's own must be told apart */
        snprintf(line, sizeof line, "#define %s ", facts.word[i]);
        const char *at = strstr(prelude, line);
        if (at) at += strlen(line), at += strspn(at, " ");
        snprintf(line, sizeof line, "TL_N(%s)", facts.word[i]);
        if (at && !strncmp(at, line, strlen(line))) continue;
        snprintf(line, sizeof line, "#define %s TL_N(%s)", facts.word[i], facts.word[i]);
        snprintf(sentence, sizeof sentence,
                 "%s:1: '%s' is a name of the text's own, and src/cpu/kernel/prelude_cpu.h has no "
                 "line '%s'",
                 where, facts.word[i], line);
        return wrong(sentence);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int bad = 0;
    char *prelude = argc == 2 ? read_file(argv[1], "cpu/kernel/prelude_cpu.h") : NULL;
    if (!prelude) return wrong("usage: operator_texts SRC, the folder of the library's sources");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t first = 0;
        while (strcmp(rows[first].file, rows[i].file)) first++;
        if (first == i) bad |= check(argv[1], prelude, &rows[i]);
    }
    free(prelude);
    return bad;
}
