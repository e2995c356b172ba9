/* SPDX-License-Identifier: MIT
 * help.c - prints the table of options.def as help (all verbs, or one verb with its lesson, examples
 * and options), and as a man page, with the man(7) macros that every roff supports. */
#include "cli.h"

#include <string.h>
#include <unistd.h>

/* Prints text as roff: escapes characters that it would change, and a leading dot or quote. */
static void put(FILE *f, const char *text)
{
    static const char plain[] = "\\-^~`'";
    static const char *const roff[] = {"\\e", "\\-", "\\(ha", "\\(ti", "\\(ga", "\\(aq"};
    for (int start = 1; *text; start = *text++ == '\n') {
        const char *const at = strchr(plain, *text);
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", f);
        if (at)
            fputs(roff[at - plain], f);
        else
            fputc(*text, f);
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

/* The sections before and after the verbs. section NULL: another paragraph. */
typedef struct paragraph {
    const char *section, *text;
} paragraph;

static const paragraph introduction[] = {
    {"DESCRIPTION",
     "tally folds the numbers of a file. Every result is defined by one evaluation order (order E, "
     "v1). So it\n"
     "has the same bits on any number of threads, at any vector width, streamed or in memory.\n"},
    {NULL, "A FILE is .npy, raw, text, CSV, NetCDF or HDF5; its name and first bytes say which. "
           "Without a FILE, or for -,\n"
           "standard input is read. Files may be larger than memory. Numbers in options may be "
           "written 2^28, 1e6, 1.5e9,\n"
           "64Ki or 3M.\n"},
    {NULL,
     "An operator is NAME, NAME:f64 (an f64 accumulator) or NAME:PARAMETER, as in sum, mean:f64, "
     "var:1,\n"
     "ema:alpha=0.1. sum, mean, dot, wmean, var, std, cov, corr, slope, sumsq, norm and their nan "
     "forms take :exact too: the real value, rounded once,\n"
     "in whatever order. sum:checked of integers refuses a sum beyond 64 bits. `tally ops` lists "
     "the names.\n"},
    {"OUTPUT", "Text has one result per line and tabs between its columns; a header line comes "
               "first if there are\n"
               "several operators or files, and then the first column names the file. Csv always "
               "has a header line.\n"
               "On a terminal tally reduce prints an aligned table. Decimals are the shortest that "
               "read back to the\n"
               "same bits; --hex prints the bits.\n"},
    {NULL,
     "--output FILE takes the results, in the format of its ending (.npy, .txt, .csv, .tsv, "
     ".json, .raw, ...). It\n"
     "is written beside its place, brought to the disk and renamed, so that FILE is the old or "
     "the\n"
     "complete new one. --json and --digest print on standard output in place of the values, or "
     "beside\n"
     "a FILE that has them. --digest is the SHA-256 of the results as little-endian bytes: "
     "sha256sum of the same\n"
     "results written as raw gives the same hash. In JSON, nan and inf are strings, bits holds the "
     "exact\n"
     "bits of every value, and ran_on says which device computed.\n"},
};

static const char environment[] =
    ".SH ENVIRONMENT\n"
    ".TP\n.B TALLY_DEVICE\nthe device, and options after a comma, when none or auto is asked for.\n"
    "Options that are asked for win.\n"
    ".TP\n.B TALLY_THREADS\nthe number of threads.\n"
    ".TP\n.B TALLY_ISA\nthe instruction set.\n"
    ".TP\n.B TALLY_CODE\non CUDA devices: auto, quick or best, as the device's option code.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nsuccess.\n"
    ".TP\n.B 1\nbad data: a file that cannot be read, written or understood.\n"
    ".TP\n.B 2\nusage: a wrong option, operator, type or combination.\n"
    ".TP\n.B 3\nthe device or instruction set is not available.\n"
    ".TP\n.B 4\nverification failed: a result differs from the law.\n"
    ".TP\n.B 141\nthe reader of standard output went away (silent).\n";

static void help_man(FILE *f)
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

    for (size_t i = 0; i < sizeof introduction / sizeof *introduction; i++) {
        const paragraph *const p = &introduction[i];
        if (p->section)
            fprintf(f, ".SH %s\n", p->section);
        else
            fputs(".PP\n", f);
        put(f, p->text);
    }

    fputs(".SH VERBS\n", f);
    for (int v = 0; v < VERB_COUNT; v++) put_verb(f, v);
    fputs(".SH COMMON OPTIONS\n", f);
    for (int i = 0; i < OPT_COUNT; i++)
        if (option_table[i].verbs & (option_table[i].verbs - 1)) put_option(f, &option_table[i]);
    fputs(environment, f);
}

/* ---- help ---- */

static const char exit_codes[] =
    "Exit: 0 ok, 1 bad data, 2 usage, 3 device unavailable, 4 verification failed, 141 "
    "(silent) the reader of standard output\n"
    "went away.";

/* The columns of a terminal; 0: f is none, and lines are as they are in the table. */
static int columns_of(FILE *f)
{
    const int columns = isatty(fileno(f)) ? terminal_columns(fileno(f)) : 0;
    return !columns ? 0 : columns < 40 ? 40 : columns > 120 ? 120 : columns;
}

void put_wrapped(FILE *f, const char *text, int indent)
{
    const int columns = columns_of(f);
    int at = indent;
    for (int first = 1; columns && *text; first = 0) {
        const int n = (int)strcspn(text, " \n");
        if (!first && at + 1 + n > columns)
            at = indent, fprintf(f, "\n%*s", indent, "");
        else if (!first)
            at++, fputc(' ', f);
        fprintf(f, "%.*s", n, text);
        at += n;
        text += n + (text[n] != 0);
    }
    fprintf(f, "%s\n", text);
}

static void put_examples(FILE *f, const verb_row *v)
{
    const int columns = columns_of(f);
    int width = 0, note = 0;
    for (int i = 0; i < 3; i++) {
        if ((int)strlen(v->example[i][0]) > width) width = (int)strlen(v->example[i][0]);
        if ((int)strlen(v->example[i][1]) > note) note = (int)strlen(v->example[i][1]);
    }
    for (int i = 0; i < 3; i++)
        if (columns && 2 + width + 5 + note > columns) {
            fputs("  # ", f);
            put_wrapped(f, v->example[i][1], 4);
            fprintf(f, "  %s\n", v->example[i][0]);
        } else {
            fprintf(f, "  %-*s   # %s\n", width, v->example[i][0], v->example[i][1]);
        }
}

void help_all(FILE *f)
{
    put_wrapped(f,
                "tally: reductions, scans and sliding windows with the same bits on any number of "
                "threads, at any vector width.",
                0);
    fputs("\nusage: tally VERB [OPTION...] [OPERAND...]\n\n", f);
    for (int v = 0; v < VERB_COUNT; v++)
        fprintf(f, "  %-8s %s\n", verb_table[v].name, verb_table[v].summary);
    fputs("\nexamples:\n", f);
    for (int v = VERB_reduce; v <= VERB_window; v++)
        fprintf(f, "  %-48s # %s\n", verb_table[v].example[0][0], verb_table[v].example[0][1]);
    fputc('\n', f);
    put_wrapped(f,
                "`tally help VERB` explains a verb with examples. A FILE is .npy, raw, text, CSV, "
                "NetCDF or HDF5; - or none is standard input.\n"
                "Numbers may be written 2^28, 1e6, 64Ki. PostgreSQL, SQLite and DuckDB have "
                "exact_sum(x) and others: doc/sql.md.",
                0);
    put_wrapped(f, exit_codes, 0);
}

void help_verb(FILE *f, enum verb verb)
{
    const verb_row *const v = &verb_table[verb];
    char usage[300];
    fprintf(f, "tally %s: %s\n\n", v->name, v->summary);
    put_wrapped(f, v->lesson, 0);
    snprintf(usage, sizeof usage, "usage: tally %s%s%s [OPTION...]", v->name,
             v->operands[0] ? " " : "", v->operands);
    fputc('\n', f);
    put_wrapped(f, usage, 7);
    fputs("\nexamples:\n", f);
    put_examples(f, v);
    fputs("\noptions:\n", f);
    for (int i = 0; i < OPT_COUNT; i++) {
        const option_row *const row = &option_table[i];
        char left[64], letter[8] = "   ";
        if (!(row->verbs >> verb & 1)) continue;
        if (row->letter) snprintf(letter, sizeof letter, "-%c,", row->letter);
        snprintf(left, sizeof left, "%s --%s %s", letter, row->name, row->argument);
        if (strlen(left) > 22)
            fprintf(f, "  %s\n  %-22s  ", left, "");
        else
            fprintf(f, "  %-22s  ", left);
        put_wrapped(f, row->text, 26);
    }
    fputc('\n', f);
    put_wrapped(f, exit_codes, 0);
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
        return usage("`tally help` explains one verb, and '%s' is a second one", o->args[1]);
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
