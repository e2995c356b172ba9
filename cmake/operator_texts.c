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

static int check(const char *src, const char *prelude, const struct row *row)
{
    char name[100], where[120], sentence[400], line[100];
    tl_facts facts;
    snprintf(name, sizeof name, "op/%s.h", row->file);
    snprintf(where, sizeof where, "src/%s", name);
    char *text = read_file(src, name);
    if (!text) {
        snprintf(sentence, sizeof sentence,
                 "%s: there is no such file, and a row of src/op/ops.def has it", where);
        return wrong(sentence);
    }
    int bad = tl_facts_check(where, text, &facts) != TALLY_OK;
    free(text);
    if (bad) return wrong(tally_error(NULL));
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
