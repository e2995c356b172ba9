/* SPDX-License-Identifier: MIT
 * Kernels of a text in CUDA C++ or OpenCL C: their parameters in the order in which the ladder's
 * host gives them, their templates, and what the text says of the size of a group. */
#include "foreign_pieces.h"
#include "model/expand.h"
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
               "one of these; "
               "short is for variables and shared memory");
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
static int has_rungs_names(const work *w)
{
    char name[WORD_MOST];
    for (int k = 0; rung_kernel(w, k, name); k++)
        for (int i = 0; i < w->count; i++)
            if (is(w, i, name)) return 1;
    return 0;
}

/* The word __global__ or __kernel is at i; past the kernel. */
static int kernel_at(work *w, int i, int template_at, int which)
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

/* ---- the whole text ---- */

static int starts_opencl(const work *w, int i)
{
    return is(w, i, "__kernel") || (is(w, i, "kernel") && is(w, after(w, i), "void"));
}
static int starts_kernel(const work *w, int i)
{
    return is(w, i, "__global__") || starts_opencl(w, i);
}

static int is_foreign(work *w)
{
    int any = 0;
    for (int i = 0; i < w->count; i++) {
        any |= starts_kernel(w, i);
        w->opencl |= starts_opencl(w, i);
    }
    return any;
}

/* dim3 block(32, 8); and kernel<<<grid, block>>>: the sides of a group, unless the head says them. */
static void block_of_host(work *w)
{
    char name[WORD_MOST] = "";
    for (int i = 0; i + 2 < w->count && !name[0]; i++)
        if (is(w, i, "<") && is(w, i + 1, "<") && is(w, i + 2, "<")) {
            while (i < w->count && !is(w, i, ",") && !is(w, i, ";")) i++;
            const int at = after(w, i);
            if (at < w->count && w->pieces[at].class == PIECE_NUMBER) {
                spell(w, at, name);
                w->setup->block[0] = atoi(name);
                return;
            }
            for (int k = 0; k < w->name_count; k++) /* a constant */
                if (is(w, at, w->names[k].name) && atoi(w->names[k].is) > 0 &&
                    atoi(w->names[k].is) <= 1024) {
                    w->setup->block[0] = atoi(w->names[k].is);
                    return;
                }
            if (word_at(w, at)) spell(w, at, name);
        }
    for (int i = 0; i < w->count && name[0] && !w->setup->block[0]; i++) {
        const int at = after(w, i), open = after(w, at);
        int first[6], sides[3] = {1, 1, 1}, known = 1;
        if (!is(w, i, "dim3") || !is(w, at, name) || !is(w, open, "(")) continue;
        const int n = operands(w, open, first, 4);
        for (int k = 0; k < n && k < 3; k++) {
            char text[TEXT_MOST] = "";
            walked(w, first[k], first[k + 1] - 1, text, sizeof text);
            sides[k] = atoi(text + strspn(text, " ("));
            known &= sides[k] > 0 && sides[k] <= 1024 && !text[strspn(text, " ()0123456789")];
        }
        if (known && n < 4) memcpy(w->setup->block, sides, sizeof sides);
    }
}

/* Past what is at the top of the text and says nothing to the model. */
static int passed_over(work *w, int i)
{
    for (int h = 0; h < w->helper_count; h++)
        if (w->helpers[h].start == i) {
            hush(w, i, w->helpers[h].last + 1);
            return w->helpers[h].last + 1;
        }
    if (is(w, i, "{") && !(i > 1 && w->pieces[i - 2].class == PIECE_STRING)) { /* host code */
        hush(w, i, closing(w, i));
        return closing(w, i) + 1;
    }
    hush(w, i, i + 1);
    return i + 1;
}

static void all_kernels(work *w)
{
    int template_at = -1, which = 0;
    for (int i = 0; i < w->count && !w->failed;) {
        int next = 0;
        if (is(w, i, "template")) {
            template_at = i;
        } else if (starts_kernel(w, i)) {
            next = kernel_at(w, i, template_at, which++);
            template_at = -1;
        } else if (is(w, i, ";") || is(w, i, "{")) {
            template_at = -1;
        } else if (word_at(w, i)) {
            next = constant_at(w, i);
        }
        i = next ? next : passed_over(w, i);
    }
}

/* Shared arrays of functions are known when all functions are: they stand where HOISTED_... does. */
static void put_hoisted(work *w, const char *text)
{
    static const char word[] = "HOISTED_";
    for (const char *at = text; *at;) {
        const char *const next = strstr(at, word), *const end = next ? next : at + strlen(at);
        const piece before = {PIECE_SPACE, at, (int)(end - at), 0};
        copy(w, &before);
        if (!next) return;
        at = next + strlen(word);
        say(w, *at == 'A' ? w->hoisted : *at == 'P' ? w->hoisted_types : w->hoisted_names);
        at += strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    }
}

static char *joined(work *w)
{
    const output rest = w->out;
    w->out = (output){0};
    say(w, "");
    if (w->helpers_out.text) {
        put_hoisted(w, w->helpers_out.text);
        say(w, "\n#line 1\n");
    }
    if (rest.text) put_hoisted(w, rest.text);
    free(rest.text);
    char *const text = w->out.text;
    w->out = (output){0};
    return text;
}

/* Has the text a grid of two dimensions? Then a group takes a tile, which is square unless the head says more. */
static void grid(work *w)
{
    int two = 0;
    for (int i = 0; i + 2 < w->count; i++) {
        two |= (is(w, i, "blockIdx") || is(w, i, "gridDim")) && is(w, i + 2, "y");
        two |= (is(w, i, "get_group_id") || is(w, i, "get_global_id")) &&
               is(w, after(w, after(w, i)), "1");
    }
    if (!two || !w->setup->matrix)
        w->setup->tile[0] = w->setup->tile[1] = 0;
    else if (!w->setup->tile[0])
        w->setup->tile[0] = w->setup->tile[1] = w->setup->block[0];
}

static void translate(work *w)
{
    find_helpers(w);
    say(w, "");
    for (int i = 0; i < w->count; i++)
        w->shuffles |= word_at(w, i) && (!strncmp(w->pieces[i].at, "__shfl", 6) ||
                                         !strncmp(w->pieces[i].at, "__reduce_", 9) ||
                                         !strncmp(w->pieces[i].at, "sub_group_shuffle", 17));
    const int names = w->name_count;
    for (int i = 0; i < w->count; i++) /* what the host's dim3 may name */
        if (word_at(w, i) && (is(w, i, "const") || is(w, i, "constexpr"))) {
            const output kept = w->out;
            w->out = (output){0};
            constant_at(w, i);
            free(w->out.text);
            w->out = kept;
        }
    if (!w->setup->block[0]) block_of_host(w);
    w->name_count = names;
    w->visits = 0;
    w->own_names = has_rungs_names(w);
    grid(w);
    all_kernels(w);
}

int foreign_text(const char *file, const char *text, foreign_setup *setup, char **out,
                 ladder_error *error)
{
    work *const w = calloc(1, sizeof *w);
    char sentence[400], *whole = NULL;
    foreign_setup none = {0};
    *out = NULL;
    if (!w || cut(w, text)) {
        free(w);
        return fail_with(error, 1, "out of memory");
    }
    w->file = file;
    w->error = error;
    w->setup = setup ? setup : &none;
    const int foreign = is_foreign(w);
    free(w->pieces);
    w->pieces = NULL;
    w->count = 0;
    int code = 0;
    if (foreign) whole = model_expand(text, file, 1, sentence, sizeof sentence);
    if (foreign && !whole) code = fail_with(error, 1, "%s", sentence);
    if (foreign && !code && cut(w, whole)) code = fail_with(error, 1, "out of memory");
    if (foreign && !code) {
        translate(w);
        code = w->failed ? error->code : 0;
        if (!code) *out = joined(w);
        if (!code && !*out) code = fail_with(error, 1, "out of memory");
    }
    free(w->pieces);
    free(w->out.text);
    free(w->helpers_out.text);
    free(whole);
    free(w);
    return code;
}
