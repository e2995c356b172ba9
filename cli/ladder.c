/* SPDX-License-Identifier: MIT
 * ladder.c - tally ladder: the options of the teaching ladder (ladder/ladder.h), and its commands
 * that show, break, try, grade, compare and export kernels. */
#include "cli.h"
#include "ladder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int finish(int code, const ladder_error *error)
{
    if (!code) return DONE;
    /* without a sentence, the table has shown the reason */
    return error->sentence[0] ? fail(code, "%s", error->sentence) : code;
}

static int operands(const options *o, int least, int most, const char *what)
{
    if (o->nargs - 1 < least) return usage("`tally ladder %s` needs %s", o->args[0], what);
    if (o->nargs - 1 > most)
        return usage("`tally ladder %s` takes %s, and '%s' is one more", o->args[0], what,
                     o->args[most + 1]);
    return DONE;
}

/* The words after `tally ladder`; the first five are shapes. */
enum { SHAPES = 5, SHOW = SHAPES, BREAK, TRY, GRADE, DIFF, EXPORT, LESSON };
static const char *const words[] = {"reduce", "scan",   "window", "transpose", "histogram",
                                    "show",   "break",  "try",    "grade",     "diff",
                                    "export", "lesson", NULL};
/* the operands of the words from SHOW on */
static const struct {
    int count;
    const char *what;
} takes[] = {{1, "the name of a rung, or a file with a kernel"},
             {1, "the name of a rung"},
             {1, "a file with a kernel"},
             {2, "an assignment and a file with a kernel"},
             {2, "two files that --json wrote"},
             {1, "the name of a rung"},
             {1, "the job that it teaches: reduce"}};

static int read_options(const options *o, ladder_options *l)
{
    int64_t warp, banks, runs;
    *l = (ladder_options){.device = o->value[OPT_place],
                          .dtype = o->value[OPT_dtype_rung],
                          .operation = o->value[OPT_op],
                          .rung = o->value[OPT_rung],
                          .json = o->value[OPT_json_file],
                          .html = o->value[OPT_html],
                          .to = o->value[OPT_to_rung],
                          .output = o->value[OPT_output],
                          .host = has(o, OPT_host),
                          .sweep = has(o, OPT_sweep),
                          .plain = has(o, OPT_plain)};
    int code = opt_count(o, OPT_n, 0, (int64_t)1 << 32, -1, &l->n);
    if (!code) code = opt_count(o, OPT_width, 1, 1 << 20, 50, &l->width);
    if (!code) code = opt_count(o, OPT_warp, 1, 64, 32, &warp);
    if (!code) code = opt_count(o, OPT_banks, 1, 64, 32, &banks);
    if (!code) code = opt_count(o, OPT_runs_rung, 0, 101, 7, &runs);
    if (code) return code;
    if (warp & (warp - 1))
        return usage("--warp is %lld and must be a power of two", (long long)warp);
    l->warp = (int)warp;
    l->banks = (int)banks;
    l->runs = (int)runs;
    l->columns = terminal_columns(1);
    l->colour = terminal_draws(1) && !getenv("NO_COLOR");
    return DONE;
}

/* Checks the names of --rung: shape/rung or rung, separated by commas. */
static int check_rungs(const char *at)
{
    while (at && *at) {
        char name[64];
        const size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), at);
        const char *const plain = strchr(name, '/') ? strchr(name, '/') + 1 : name;
        const char *const *rung = ladder_rungs();
        while (*rung && strcmp(*rung, plain) != 0) rung++;
        if (!*rung) return fail_choice(USAGE, "rung", plain, ladder_rungs());
        at += n + (at[n] == ',');
    }
    return DONE;
}

/* Whether a file of this name has a kernel. */
static int is_kernel(const char *file)
{
    const char *const ending = strrchr(file, '.');
    return ending && (!strcmp(ending, ".cu") || !strcmp(ending, ".cl"));
}

/* Checks that the options belong to this word; which: its number. */
static int check_options(const ladder_options *l, const char *word, int which, int exports)
{
    if (l->html && l->json && strcmp(l->html, "-") != 0 && same_file(l->html, l->json))
        return usage("--html is '%s', which is --json too: must be another file", l->html);
    if (l->plain && which != SHOW) return usage("--plain is for `tally ladder show` alone");
    if ((l->output || l->to || l->host) && !exports)
        return usage("--%s is for `tally ladder export RUNG` and `tally ladder show RUNG --host`",
                     l->output ? "output"
                     : l->to   ? "to"
                               : "host");
    if (!word || which < SHAPES) return DONE;
    if (!l->html && which == LESSON)
        return usage("`tally ladder lesson` writes a page: give --html FILE");
    if (l->html && which != TRY && which != LESSON)
        return usage("`tally ladder %s` writes no page, so --html is not for it", word);
    if (l->json && which != TRY && which != GRADE)
        return usage("`tally ladder %s` writes no JSON, so --json is not for it", word);
    return DONE;
}

int run_ladder(const options *o)
{
    ladder_options l;
    ladder_error error = {0};
    int code = read_options(o, &l);
    if (code) return code;
    const char *const word = o->nargs ? o->args[0] : NULL;
    int which = 0;
    while (word && words[which] && strcmp(words[which], word) != 0) which++;
    if (word && !words[which]) return fail_choice(USAGE, "ladder", word, words);
    const int runs = !word || which < SHAPES,
              exports = word && (which == EXPORT || (which == SHOW && l.host));
    code = check_rungs(l.rung);
    if (!code && runs && word) code = operands(o, 0, 0, "no operand");
    if (!code && !runs)
        code = operands(o, takes[which - SHAPES].count, takes[which - SHAPES].count,
                        takes[which - SHAPES].what);
    if (!code && which == GRADE && is_kernel(o->args[1]) && !is_kernel(o->args[2]))
        code = usage("`tally ladder grade` takes the assignment first, then the kernel: "
                     "`tally ladder grade %s %s`",
                     o->args[2], o->args[1]);
    if (!code) code = check_options(&l, word, which, exports);
    if (code) return code;
    l.shape = runs ? word : NULL;
    const char *const what = runs ? NULL : o->args[1];
    code = runs              ? ladder_run(&l, stdout, &error)
           : exports         ? ladder_export(&l, what, stdout, &error)
           : which == SHOW   ? ladder_show(&l, what, stdout, &error)
           : which == BREAK  ? ladder_break(&l, what, stdout, &error)
           : which == TRY    ? ladder_try(&l, what, stdout, &error)
           : which == LESSON ? ladder_lesson(&l, what, stdout, &error)
           : which == GRADE  ? ladder_grade(&l, what, o->args[2], stdout, &error)
                             : ladder_diff(what, o->args[2], stdout, &error);
    return finish(code, &error);
}
