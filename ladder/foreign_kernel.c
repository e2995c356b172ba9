/* SPDX-License-Identifier: MIT
 * Kernels of a text in CUDA C++ or OpenCL C: their parameters in the order in which the ladder's
 * host gives them, their templates, and what the text says of the size of a group. */
#include "foreign.h"
#include <ctype.h>

/* ---- parameters ---- */

typedef struct parameter_text {
    char text[TEXT_MOST];
    char name[WORD_MOST];
    int pointer, constant;
} parameter_text;
typedef struct parameters {
    parameter_text of[PARAMETERS_MOST];
    int count;
} parameters;

/* Reads a parameter. Returns 0 if it is memory of the group (__local), which is none of ours. */
static int parameter(translation *w, int from, int to, parameter_text *p)
{
    const char *type;
    int constant = 0, by_hand = 0, where = 0, at = after(w, from - 1);
    for (; word_at(w, at); at = after(w, at)) {
        if (is_local(w, at))
            where = 1;
        else if (!is_global(w, at) && !is_dropped(w, at))
            break;
    }
    at = type_at(w, at, &type, &constant, &by_hand);
    if (!type) {
        refuse(w, at,
               "a parameter is of char, int, unsigned, long long, float, double, or a pointer to "
               "one of these");
        return 0;
    }
    p->pointer = is(w, at, "*");
    if (p->pointer && !where && type[1] == '1')
        refuse(w, at,
               "a parameter is of char, int, unsigned, long long, float, double, or a pointer to "
               "one of these; short is for variables and shared memory");
    if (p->pointer) at = after(w, at);
    while (is_dropped(w, at) || is(w, at, "const")) at = after(w, at);
    char name[WORD_MOST];
    spell(w, at, name);
    memcpy(p->name, name, sizeof name);
    if (!word_at(w, at) || after(w, at) < to) {
        refuse(w, at, "a parameter is a type and a name, or a pointer; '%s' is more", name);
        return 0;
    }
    if (where) { /* OpenCL: memory that the host would give by its size */
        const size_t used = strlen(w->locals);
        snprintf(w->locals + used, sizeof w->locals - used, " SHARED %s %s[%s];", type, name,
                 w->setup->shared ? w->setup->shared : "THREADS");
        add_word(w->shared, &w->shared_count, w, at);
        return 0;
    }
    p->constant = constant;
    snprintf(p->text, sizeof p->text, "%s%s%s %s%s",
             p->pointer ? (constant ? "GLOBAL const " : "GLOBAL ") : "",
             p->pointer && by_hand ? "volatile " : "", p->pointer ? type : "i64",
             p->pointer ? "*" : "", name);
    return 1;
}

/* The parameters of the rung's kernel number `which` (from 0). */
static void rung_parameters(const translation *w, int which, parameters *p)
{
    const char *at = w->setup->rung ? w->setup->rung : "";
    p->count = 0;
    for (int k = 0; at && k <= which; k++) {
        at = strstr(at, "\nKERNEL(");
        if (at) at++;
    }
    if (!at) return;
    for (at = strchr(strchr(at, ')'), '('); at && *at != ')' && p->count < PARAMETERS_MOST;) {
        at++;
        const char *const end = at + strcspn(at, ",)"), *name = end;
        while (name > at && (isalnum((unsigned char)name[-1]) || name[-1] == '_')) name--;
        parameter_text *const to = &p->of[p->count++];
        *to = (parameter_text){.pointer = memchr(at, '*', (size_t)(end - at)) != NULL,
                               .constant = strstr(at, "const ") && strstr(at, "const ") < end};
        snprintf(to->name, WORD_MOST, "%.*s", (int)(end - name), name);
        snprintf(to->text, TEXT_MOST, "i64 %.*s", (int)(end - name), name);
        at = end;
    }
}

/* index_of[k]: which of ours is the rung's parameter k; -1: none. Names that the head gives decide;
 * else the order, in which input and output may be exchanged. */
static void order_parameters(translation *w, int i, const parameters *ours, const parameters *rungs,
                             int *index_of)
{
    const char *at = w->setup->parameters;
    for (int k = 0; k < rungs->count; k++) index_of[k] = !at && k < ours->count ? k : -1;
    if (at) {
        for (int k = 0; k < ours->count && *at; k++) {
            at += strspn(at, ", \t");
            const size_t n = strcspn(at, ", \t\r");
            int found = 0;
            for (int r = 0; r < rungs->count; r++)
                if (strlen(rungs->of[r].name) == n && !strncmp(rungs->of[r].name, at, n))
                    index_of[r] = k, found = 1;
            if (!found && n)
                refuse(w, i,
                       "the rung's kernel has no parameter '%.*s' (`parameters:` in the head)",
                       (int)n, at);
            at += n;
        }
    } else if (ours->count > 1 && rungs->count > 1 && ours->of[0].pointer && ours->of[1].pointer &&
               !ours->of[0].constant && ours->of[1].constant && rungs->of[0].constant &&
               !rungs->of[1].constant) {
        index_of[0] = 1, index_of[1] = 0; /* f(out, const in) */
    }
}

static void put_parameters(translation *w, int i, int which, const parameters *ours)
{
    parameters rungs;
    int index_of[PARAMETERS_MOST] = {0}, written = 0;
    rung_parameters(w, which, &rungs);
    order_parameters(w, i, ours, &rungs, index_of);
    for (int k = 0; k < (rungs.count ? rungs.count : ours->count); k++) {
        const int at = rungs.count ? index_of[k] : k;
        const parameter_text *const p = at < 0 ? &rungs.of[k] : &ours->of[at];
        if (at < 0 && !w->setup->tile[0]) continue;
        if (written++) say(w, ", ");
        say(w, p->text);
        if (k == 3) memcpy(w->columns, p->name, WORD_MOST);
    }
    /* more than the rung's: place.c says so */
    for (int k = rungs.count; rungs.count && k < ours->count; k++) {
        say(w, ", ");
        say(w, ours->of[k].text);
    }
}

/* ---- kernels ---- */

/* The name of the rung's kernel number `which`; 0: there is none. */
static int rung_kernel(const translation *w, int which, char *name)
{
    const char *at = w->setup->rung ? w->setup->rung : "";
    for (int k = 0; at && k <= which; k++) {
        at = strstr(at, "\nKERNEL(");
        if (at) at += strlen("\nKERNEL(");
    }
    if (!at) return 0;
    snprintf(name, WORD_MOST, "%.*s",
             (int)(strcspn(at, ",") < WORD_MOST - 1 ? strcspn(at, ",") : WORD_MOST - 1), at);
    return 1;
}

/* Is a kernel of the rung's named in the text? Then the names are left as they are; else the kernels
   take the rung's names in their order. */
int has_rungs_names(const translation *w)
{
    char name[WORD_MOST];
    for (int k = 0; rung_kernel(w, k, name); k++)
        for (int i = 0; i < w->count; i++)
            if (is(w, i, name)) return 1;
    return 0;
}

/* The word __global__ or __kernel is at i; past the kernel. */
int kernel_at(translation *w, int i, int template_at, int which)
{
    int first[32], at = i;
    parameters ours = {.count = 0};
    for (; at < w->count && !is(w, at, "void"); at = after(w, at))
        if (is(w, after(w, at), "(")) { /* __launch_bounds__(...), __attribute__((...)) */
            say_line_ends(w, at, closing(w, after(w, at)));
            at = closing(w, after(w, at));
        }
    int name = after(w, at);
    while (is(w, after(w, name), "(") &&
           (is(w, name, "__launch_bounds__") || is(w, name, "__attribute__")))
        name = after(w, closing(w, after(w, name)));
    const int open = after(w, name), end = closing(w, open), body = after(w, end);
    const int names = w->name_count;
    w->shared_count = w->thread_array_count = w->block_count = 0;
    w->locals[0] = 0;
    if (!word_at(w, name) || !is(w, open, "(") || end == w->count) {
        refuse(w, i, "a kernel is `void name(parameters) { ... }`");
        return w->count;
    }
    if (!is(w, body, "{")) return body; /* a declaration */
    if (template_at >= 0) kernel_template(w, template_at, name);
    say_line_ends(w, i, name);
    say(w, "KERNEL(");
    char rungs_name[WORD_MOST];
    if (!w->own_names && rung_kernel(w, which, rungs_name))
        say(w, rungs_name);
    else
        copy(w, &w->pieces[name]);
    say(w, ", THREADS)(");
    const int n = operands(w, open, first, 30);
    for (int k = 0; k < n && !w->failed; k++) {
        if (ours.count == PARAMETERS_MOST) refuse(w, i, "more than %d parameters", PARAMETERS_MOST);
        if (!w->failed)
            ours.count += parameter(w, first[k], first[k + 1] - 1, &ours.of[ours.count]);
        say_line_ends(w, first[k], first[k + 1] - 1);
    }
    if (!w->failed) put_parameters(w, i, which, &ours);
    say(w, ")");
    say_line_ends(w, end, body);
    say(w, "{");
    if (w->shuffles) say(w, " SHUFFLES;");
    say(w, " HOISTED_ARRAYS");
    say(w, w->locals);
    write_pieces(w, body + 1, closing(w, body) + 1);
    w->name_count = names;
    return closing(w, body) + 1;
}
