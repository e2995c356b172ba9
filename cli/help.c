/* SPDX-License-Identifier: MIT
 * help.c - prints the table of options.def as help: all verbs, or one verb with its lesson,
 * examples and options. */
#include "cli.h"

#include <string.h>

static const char exit_codes[] =
    "Exit: 0 ok, 1 bad data, 2 usage, 3 device unavailable, 4 verification failed, 141 "
    "(silent) the reader of standard output\n"
    "went away.\n";

static void put_examples(FILE *f, const verb_row *v)
{
    int width = 0;
    for (int i = 0; i < 3; i++)
        if ((int)strlen(v->example[i][0]) > width) width = (int)strlen(v->example[i][0]);
    for (int i = 0; i < 3; i++)
        fprintf(f, "  %-*s   # %s\n", width, v->example[i][0], v->example[i][1]);
}

void help_all(FILE *f)
{
    fputs("tally: reductions, scans and sliding windows with the same bits on any number of "
          "threads, at any vector "
          "width.\n\n"
          "usage: tally VERB [OPTION...] [OPERAND...]\n\n",
          f);
    for (int v = 0; v < VERB_COUNT; v++)
        fprintf(f, "  %-8s %s\n", verb_table[v].name, verb_table[v].summary);
    fputs("\nexamples:\n", f);
    for (int v = VERB_reduce; v <= VERB_window; v++)
        fprintf(f, "  %-48s # %s\n", verb_table[v].example[0][0], verb_table[v].example[0][1]);
    fputs("\n`tally help VERB` explains a verb with examples. A FILE is .npy, raw, text, CSV, "
          "NetCDF or "
          "HDF5; - or none is standard input.\n"
          "Numbers may be written 2^28, 1e6, 64Ki. PostgreSQL, SQLite and DuckDB have exact_sum(x) "
          "and others: doc/sql.md.\n",
          f);
    fputs(exit_codes, f);
}

void help_verb(FILE *f, enum verb verb)
{
    const verb_row *const v = &verb_table[verb];
    fprintf(f, "tally %s: %s\n\n%s\n\nusage: tally %s%s%s [OPTION...]\n\nexamples:\n", v->name,
            v->summary, v->lesson, v->name, v->operands[0] ? " " : "", v->operands);
    put_examples(f, v);
    fputs("\noptions:\n", f);
    for (int i = 0; i < OPT_COUNT; i++) {
        const option_row *const row = &option_table[i];
        char left[64], letter[8] = "   ";
        if (!(row->verbs >> verb & 1)) continue;
        if (row->letter) snprintf(letter, sizeof letter, "-%c,", row->letter);
        snprintf(left, sizeof left, "%s --%s %s", letter, row->name, row->argument);
        if (strlen(left) > 22)
            fprintf(f, "  %s\n  %-22s  %s\n", left, "", row->text);
        else
            fprintf(f, "  %-22s  %s\n", left, row->text);
    }
    fputc('\n', f);
    fputs(exit_codes, f);
}

int run_help(const options *o)
{
    if (has(o, OPT_man) || has(o, OPT_completion)) {
        if (has(o, OPT_man))
            help_man(stdout);
        else
            help_completion(stdout, o->value[OPT_completion]);
        return DONE;
    }
    if (o->nargs > 1)
        return fail(USAGE, "`tally help` explains one verb, and '%s' is a second one", o->args[1]);
    if (!o->nargs) {
        help_all(stdout);
        return DONE;
    }
    const enum verb verb = options_verb(o->args[0]);
    if (verb == VERB_COUNT) {
        const char *names[VERB_COUNT + 1] = {NULL};
        for (int v = 0; v < VERB_COUNT; v++) names[v] = verb_table[v].name;
        return fail_choice(USAGE, "verb", o->args[0], names);
    }
    help_verb(stdout, verb);
    return DONE;
}
