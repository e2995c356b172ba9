/* SPDX-License-Identifier: MIT
 * man.c - prints the table of options.def as a man page, with the man(7) macros that every roff
 * supports. */
#include "cli.h"

#include <string.h>

/* Prints text as roff: escapes backslashes, dashes, and a leading dot or quote; separates lines
 * by .br if requested. */
static void put(FILE *f, const char *text)
{
    int start = 1;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", f);
        if (*text == '\\')
            fputs("\\e", f);
        else if (*text == '-')
            fputs("\\-", f);
        else if (*text == '^')
            fputs("\\(ha", f);
        else if (*text == '~')
            fputs("\\(ti", f);
        else if (*text == '`')
            fputs("\\(ga", f);
        else if (*text == '\'')
            fputs("\\(aq", f);
        else
            fputc(*text, f);
        start = *text == '\n';
    }
}

static void put_option(FILE *f, const option_row *row)
{
    fputs(".TP\n", f);
    if (row->letter) fprintf(f, "\\fB\\-%c\\fR, ", row->letter);
    fputs("\\fB\\-\\-", f);
    put(f, row->name);
    fputs("\\fR", f);
    if (row->argument[0]) {
        fputs(" \\fI", f);
        put(f, row->argument);
        fputs("\\fR", f);
    }
    fputc('\n', f);
    put(f, row->text);
    fputs(".\n", f);
}

static void put_verb(FILE *f, int verb)
{
    const verb_row *const v = &verb_table[verb];
    fprintf(f, ".SS tally %s", v->name);
    if (v->operands[0]) {
        fputc(' ', f);
        put(f, v->operands);
    }
    fputc('\n', f);
    put(f, v->lesson);
    fputs("\n.PP\n.nf\n", f);
    for (int i = 0; i < 3; i++) {
        fputs("    ", f);
        put(f, v->example[i][0]);
        fputs("   # ", f);
        put(f, v->example[i][1]);
        fputc('\n', f);
    }
    fputs(".fi\n", f);
    for (int i = 0; i < OPT_COUNT; i++)
        if (option_table[i].verbs == 1u << verb) put_option(f, &option_table[i]);
}

/* Prints the operands of the synopsis; a line may break only after a |. */
static void put_operands(FILE *f, const char *text)
{
    char one[2] = "";
    if (*text) fputs("\\~", f);
    for (char before = 0; *text; before = *text++) {
        one[0] = *text;
        if (*text == ' ' && before != '|')
            fputs("\\~", f);
        else
            put(f, one);
    }
}

void help_man(FILE *f)
{
    fprintf(f,
            ".\\\" SPDX-License-Identifier: MIT\n.\\\" written by `tally help --man`\n"
            ".TH TALLY 1 2026-11-21 \"tally %s\" \"User Commands\"\n",
            tally_version());
    fputs(".SH NAME\ntally \\- reductions, scans and sliding windows with the same bits "
          "everywhere\n.SH SYNOPSIS\n",
          f);
    for (int v = 0; v < VERB_COUNT; v++) {
        fprintf(f, "%s\\fBtally\\~%s\\fR", v ? ".br\n" : "", verb_table[v].name);
        put_operands(f, verb_table[v].operands);
        fputs("\\~[\\fIOPTION\\fR...]\n", f);
    }
    fputs(".SH DESCRIPTION\n", f);
    put(f, "tally folds the numbers of a file. Every result is defined by one evaluation order "
           "(order E, v1). So it\n"
           "has the same bits on any number of threads, at any vector width, streamed or in "
           "memory.\n");
    fputs(".PP\n", f);
    put(f, "A FILE is .npy, raw, text, CSV, NetCDF or HDF5; its name and first bytes say which. "
           "Without a FILE, or for "
           "-,\n"
           "standard input is read. Files may be larger than memory. Numbers in options may be "
           "written 2^28, 1e6, 1.5e9,\n"
           "64Ki or 3M.\n");
    fputs(".PP\n", f);
    put(f,
        "An operator is NAME, NAME:f64 (an f64 accumulator) or NAME:PARAMETER, as in sum, "
        "mean:f64, var:1,\n"
        "ema:alpha=0.1. sum, mean, dot, wmean, var, std, cov, corr, slope, sumsq, norm and their "
        "nan forms take :exact too: the real "
        "value, rounded once,\n"
        "in whatever order. sum:checked of integers refuses a sum beyond 64 bits. `tally ops` "
        "lists the names.\n");
    fputs(".SH OUTPUT\n", f);
    put(f, "Text has one result per line and tabs between its columns; a header line comes first "
           "if there are\n"
           "several operators or files, and then the first column names the file. Csv always has a "
           "header line.\n"
           "On a terminal tally reduce prints an aligned table. Decimals are the shortest that "
           "read back to the\n"
           "same bits; --hex prints the bits.\n");
    fputs(".PP\n", f);
    put(f, "--output FILE takes the results, in the format of its ending (.npy, .txt, .csv, .tsv, "
           ".json, .raw, ...). It\n"
           "is written beside its place, brought to the disk and renamed, so that FILE is the old "
           "or the\n"
           "complete new one. --json and --digest print on standard output in place of the values, "
           "or beside\n"
           "a FILE that has them. --digest is the SHA-256 of the results as little-endian bytes: "
           "sha256sum of the same\n"
           "results written as raw gives the same hash. In JSON, nan and inf are strings, bits "
           "holds the exact\n"
           "bits of every value, and ran_on says which device computed.\n");
    fputs(".SH VERBS\n", f);
    for (int v = 0; v < VERB_COUNT; v++) put_verb(f, v);
    fputs(".SH COMMON OPTIONS\n", f);
    for (int i = 0; i < OPT_COUNT; i++)
        if (option_table[i].verbs & (option_table[i].verbs - 1)) put_option(f, &option_table[i]);
    fputs(".SH ENVIRONMENT\n"
          ".TP\n.B TALLY_DEVICE\nthe device, and options after a comma, when none or auto is asked "
          "for.\n"
          "Options that are asked for win.\n"
          ".TP\n.B TALLY_THREADS\nthe number of threads.\n"
          ".TP\n.B TALLY_ISA\nthe instruction set.\n"
          ".TP\n.B TALLY_CODE\non CUDA devices: auto, quick or best, as the device's option code.\n"
          ".SH EXIT STATUS\n",
          f);
    static const char *const codes[][2] = {
        {"0", "success."},
        {"1", "bad data: a file that cannot be read, written or understood."},
        {"2", "usage: a wrong option, operator, type or combination."},
        {"3", "the device or instruction set is not available."},
        {"4", "verification failed: a result differs from the law."},
        {"141", "the reader of standard output went away (silent)."}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        fprintf(f, ".TP\n.B %s\n%s\n", codes[i][0], codes[i][1]);
}
