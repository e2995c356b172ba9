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

/* 0: it is memory of the group (__local), and no parameter of ours */
static int parameter(work *w, int from, int to, parameter_text *p)
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
        keep(w->shared, &w->shared_count, w, at);
        return 0;
    }
    p->constant = constant;
    snprintf(p->text, sizeof p->text, "%s%s%s %s%s",
             p->pointer ? (constant ? "GLOBAL const " : "GLOBAL ") : "",
             p->pointer && by_hand ? "volatile " : "", p->pointer ? type : "i64",
             p->pointer ? "*" : "", name);
    return 1;
}

/* The parameters of the rung's kernel number `which` (from 0): their number. */
static int rung_parameters(const work *w, int which, parameter_text *list)
{
    const char *at = w->setup->rung ? w->setup->rung : "";
    for (int k = 0; at && k <= which; k++) {
        at = strstr(at, "\nKERNEL(");
        if (at) at++;
    }
    if (!at) return 0;
    int n = 0;
    for (at = strchr(strchr(at, ')'), '('); at && *at != ')' && n < PARAMETERS_MOST; n++) {
        at++;
        const char *const end = at + strcspn(at, ",)"), *name = end;
        while (name > at && (isalnum((unsigned char)name[-1]) || name[-1] == '_')) name--;
        list[n] = (parameter_text){.pointer = memchr(at, '*', (size_t)(end - at)) != NULL,
                                   .constant = strstr(at, "const ") && strstr(at, "const ") < end};
        snprintf(list[n].name, WORD_MOST, "%.*s", (int)(end - name), name);
        snprintf(list[n].text, TEXT_MOST, "i64 %s", list[n].name);
        at = end;
    }
    return n;
}

/* place_of[k]: which of ours is the rung's parameter k; -1: none. Names that the head gives decide;
 * else the places, where input and output may be the other way round. */
static void order_parameters(work *w, int i, const parameter_text *ours, int count,
                             const parameter_text *rungs, int rung_count, int *place_of)
{
    const char *at = w->setup->parameters;
    for (int k = 0; k < rung_count; k++) place_of[k] = k < count ? k : -1;
    if (at) {
        for (int k = 0; k < rung_count; k++) place_of[k] = -1;
        for (int k = 0; k < count && *at; k++) {
            at += strspn(at, ", \t");
            const size_t n = strcspn(at, ", \t\r");
            int found = 0;
            for (int r = 0; r < rung_count; r++)
                if (strlen(rungs[r].name) == n && !strncmp(rungs[r].name, at, n))
                    place_of[r] = k, found = 1;
            if (!found && n)
                refuse(w, i,
                       "the rung's kernel has no parameter '%.*s' (`parameters:` in the head)",
                       (int)n, at);
            at += n;
        }
    } else if (count > 1 && rung_count > 1 && ours[0].pointer && ours[1].pointer &&
               !ours[0].constant && ours[1].constant && rungs[0].constant && !rungs[1].constant) {
        place_of[0] = 1, place_of[1] = 0; /* f(out, const in) */
    }
}

static void put_parameters(work *w, int i, int which, const parameter_text *ours, int count)
{
    parameter_text rungs[PARAMETERS_MOST];
    int place_of[PARAMETERS_MOST] = {0}, written = 0;
    const int rung_count = rung_parameters(w, which, rungs);
    order_parameters(w, i, ours, count, rungs, rung_count, place_of);
    for (int k = 0; k < (rung_count ? rung_count : count); k++) {
        const int at = rung_count ? place_of[k] : k;
        if (at < 0 && !w->setup->tile[0]) continue;
        if (written++) say(w, ", ");
        say(w, at < 0 ? rungs[k].text : ours[at].text);
        if (k == 3) memcpy(w->columns, at < 0 ? rungs[k].name : ours[at].name, WORD_MOST);
    }
    for (int k = rung_count; rung_count && k < count;
         k++) { /* more than the rung's: place.c says so */
        say(w, ", ");
        say(w, ours[k].text);
    }
}

/* ---- kernels ---- */

/* The name of the rung's kernel number `which`; 0: there is none. */
static int rung_kernel(const work *w, int which, char *name)
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
int has_rungs_names(const work *w)
{
    char name[WORD_MOST];
    for (int k = 0; rung_kernel(w, k, name); k++)
        for (int i = 0; i < w->count; i++)
            if (is(w, i, name)) return 1;
    return 0;
}

/* The word __global__ or __kernel is at i; past the kernel. */
int kernel_at(work *w, int i, int template_at, int which)
{
    int first[32], at = i, count = 0;
    parameter_text ours[PARAMETERS_MOST] = {{"", "", 0, 0}};
    for (; at < w->count && !is(w, at, "void"); at = after(w, at))
        if (is(w, after(w, at), "(")) { /* __launch_bounds__(...), __attribute__((...)) */
            hush(w, at, closing(w, after(w, at)));
            at = closing(w, after(w, at));
        }
    int name = after(w, at);
    while (is(w, after(w, name), "(") &&
           (is(w, name, "__launch_bounds__") || is(w, name, "__attribute__")))
        name = after(w, closing(w, after(w, name)));
    const int open = after(w, name), end = closing(w, open), body = after(w, end);
    const int names = w->name_count;
    w->shared_count = w->own_count = w->block_count = 0;
    w->locals[0] = 0;
    if (!word_at(w, name) || !is(w, open, "(") || end == w->count) {
        refuse(w, i, "a kernel is `void name(parameters) { ... }`");
        return w->count;
    }
    if (!is(w, body, "{")) return body; /* a declaration */
    if (template_at >= 0) kernel_template(w, template_at, name);
    hush(w, i, name);
    say(w, "KERNEL(");
    char rungs_name[WORD_MOST];
    if (!w->own_names && rung_kernel(w, which, rungs_name))
        say(w, rungs_name);
    else
        copy(w, &w->pieces[name]);
    say(w, ", THREADS)(");
    const int n = operands(w, open, first, 30);
    for (int k = 0; k < n && !w->failed; k++) {
        if (count == PARAMETERS_MOST) refuse(w, i, "more than %d parameters", PARAMETERS_MOST);
        if (!w->failed) count += parameter(w, first[k], first[k + 1] - 1, &ours[count]);
        hush(w, first[k], first[k + 1] - 1);
    }
    if (!w->failed) put_parameters(w, i, which, ours, count);
    say(w, ")");
    hush(w, end, body);
    say(w, "{");
    if (w->shuffles) say(w, " SHUFFLES;");
    say(w, " HOISTED_ARRAYS");
    say(w, w->locals);
    walk(w, body + 1, closing(w, body) + 1);
    w->name_count = names;
    return closing(w, body) + 1;
}
