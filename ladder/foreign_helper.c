/* SPDX-License-Identifier: MIT
 * Functions that kernels call: `__device__` functions in CUDA, plain functions in OpenCL. A function
 * is translated when a call of it is met, once for each memory of its pointers and each list of
 * template arguments, because OpenCL needs the one and neither the model nor OpenCL has the other.
 * A function that no kernel calls is not looked at. */
#include "foreign.h"

/* Is there a function whose '(' is at open, at the top of the text? Its pieces into *h. */
static int function_at(const translation *w, int start, int open, helper *h)
{
    int name = open - 1, device = w->opencl;
    if (open <= start) return 0;
    while (name > start && w->pieces[name].class == PIECE_SPACE) name--;
    const int end = closing(w, open), body = after(w, end);
    if (!word_at(w, name) || !is(w, body, "{")) return 0;
    for (int i = start; i < name; i++) {
        device |= is(w, i, "__device__");
        if (is(w, i, "__global__") || is(w, i, "__kernel") || is(w, i, "kernel")) return 0;
    }
    *h = (helper){start, name, open, end, body, closing(w, body), -1, 0};
    if (is(w, start, "template")) h->template_at = start;
    return device && h->last < w->count;
}

void find_helpers(translation *w)
{
    int start = -1;
    for (int i = 0; i < w->count; i++) {
        if (w->pieces[i].class == PIECE_SPACE || w->pieces[i].class == PIECE_LINE) continue;
        if (start < 0) start = i;
        if (is(w, i, "(")) {
            if (w->helper_count < HELPERS_MOST &&
                function_at(w, start, i, &w->helpers[w->helper_count]))
                w->helper_count++;
            i = closing(w, i);
        } else if (is(w, i, "{")) {
            if (i > 1 && w->pieces[i - 2].class == PIECE_STRING) { /* extern "C" { */
                start = -1;
                continue;
            }
            i = closing(w, i);
            start = -1;
        } else if (is(w, i, ";") || is(w, i, "}")) {
            start = -1;
        }
    }
}

/* ---- templates ---- */

/* The pieces between '<' and '>' at `open`, parted by commas, as in `operands`; 0: there is no '>'. */
static int angled(const translation *w, int open, int *first, int most)
{
    int n = 0, depth = 0;
    first[n++] = open + 1;
    for (int i = open + 1; i < w->count && !is(w, i, ";") && !is(w, i, "{"); i++) {
        depth += is(w, i, "(");
        depth -= is(w, i, ")");
        if (depth) continue;
        if (is(w, i, ",") && n < most) first[n++] = i + 1;
        if (is(w, i, ">")) {
            first[n] = i + 1;
            return n;
        }
    }
    return 0;
}

/* Where the host launches the kernel `name` as name<256><<<...: its '<', or -1 */
static int launched_with(const translation *w, int name)
{
    char word[WORD_MOST];
    spell(w, name, word);
    for (int i = 0; i < w->count; i++) {
        const int open = after(w, i);
        if (i != name && is(w, i, word) && is(w, open, "<") && !is(w, after(w, open), "<"))
            return open;
    }
    return -1;
}

int template_names(translation *w, int at, int given)
{
    enum { MOST = 8 };
    int first[MOST + 2], arguments[MOST + 2];
    const int open = after(w, at), n = angled(w, open, first, MOST);
    if (!is(w, open, "<") || !n) {
        refuse(w, at, "a template is `template <typename T, int N>`");
        return w->count;
    }
    const int arguments_given = given < 0 ? 0 : angled(w, given, arguments, MOST);
    for (int k = 0; k < n && !w->failed; k++) {
        const int end = first[k + 1] - 1;
        int name = after(w, first[k] - 1), equal = -1;
        const int type = is(w, name, "typename") || is(w, name, "class");
        for (int i = name; i < end; i++) {
            if (is(w, i, "=")) equal = i;
            if (word_at(w, i) && equal < 0) name = i;
        }
        char word[WORD_MOST], value[TEXT_MOST] = "THREADS";
        spell(w, name, word);
        if (k < arguments_given)
            pieces_text(w, arguments[k], arguments[k + 1] - 1, value, sizeof value);
        else if (equal >= 0)
            pieces_text(w, equal + 1, end, value, sizeof value);
        replace_name(w, word, type ? "elem" : value + strspn(value, " "));
    }
    return first[n];
}

int kernel_template(translation *w, int at, int name)
{
    return template_names(w, at, launched_with(w, name));
}

/* ---- translation ---- */

enum { MEMORY_VALUE = 'v', MEMORY_SHARED = 's', MEMORY_GLOBAL = 'g', MEMORY_OWN = 'o' };

/* In which memory is what a call gives, from piece `from` on? */
static char memory_of(const translation *w, int from, int to)
{
    int at = after(w, from - 1);
    while (at < to && (is(w, at, "(") || is(w, at, "&"))) at = after(w, at);
    return is_shared(w, at) ? MEMORY_SHARED : is_own(w, at) ? MEMORY_OWN : MEMORY_GLOBAL;
}

/* A parameter of a function; memory: where its pointer points. */
static void parameter(translation *w, int from, int to, char where)
{
    const char *type;
    int constant = 0, by_hand = 0, array = 0, at = after(w, from - 1);
    for (; word_at(w, at) && (is_local(w, at) || is_global(w, at) || is_dropped(w, at));
         at = after(w, at)) {
    }
    at = type_at(w, at, &type, &constant, &by_hand);
    if (!type) {
        refuse(w, at,
               "a function's parameter is of char, short, int, unsigned, long long, float or "
               "double, or a pointer to one of these");
        return;
    }
    const int pointer = is(w, at, "*");
    if (is(w, at, "&"))
        refuse(w, at, "a parameter by reference (&): return the value, or take a pointer");
    if (pointer) at = after(w, at);
    while (is_dropped(w, at) || is(w, at, "const")) at = after(w, at);
    if (word_at(w, at) && is(w, after(w, at), "[")) array = 1;
    if (pointer || array) {
        if (where == MEMORY_SHARED) add_word(w->shared, &w->shared_count, w, at);
        if (where == MEMORY_OWN) add_word(w->thread_arrays, &w->thread_array_count, w, at);
        if (by_hand) say(w, "volatile ");
        if (where != MEMORY_OWN) say(w, where == MEMORY_SHARED ? "LOCAL " : "GLOBAL ");
        if (constant && where != MEMORY_SHARED) say(w, "const ");
    }
    say(w, type);
    say(w, pointer || array ? " *" : " ");
    if (word_at(w, at)) copy(w, &w->pieces[at]);
    say_line_ends(w, from, to);
}

/* Is the parameter a pointer? OpenCL says where it points. */
static char parameter_memory(const translation *w, int from, int to)
{
    char where = MEMORY_VALUE;
    for (int i = from; i < to; i++) {
        if (is(w, i, "*") || is(w, i, "[")) where = where == MEMORY_VALUE ? MEMORY_OWN : where;
        if (is_local(w, i)) where = MEMORY_SHARED;
        if (is_global(w, i)) where = MEMORY_GLOBAL;
    }
    return where;
}

static void number_after(translation *w, int number)
{
    char text[16];
    if (number > 1) snprintf(text, sizeof text, "_%d", number), say(w, text);
}

static void translate(translation *w, helper *h, int number, const char *memories, int given)
{
    int first[20];
    char line[32];
    const char *type = NULL;
    const output kept = w->out;
    const int names = w->name_count, shared = w->shared_count,
              thread_arrays = w->thread_array_count, inside = w->in_helper;
    int constant = 0, by_hand = 0, start = h->start;
    w->out = (output){0};
    if (h->template_at >= 0) start = template_names(w, h->template_at, given);
    w->in_helper = 1;
    h->active = 1;
    for (; start < h->name && !type; start = after(w, start)) {
        if (is(w, start, "void")) break;
        type_at(w, start, &type, &constant, &by_hand);
    }
    snprintf(line, sizeof line, "\n#line %d\n", w->pieces[h->name].line);
    say(w, line);
    say(w, "FUNCTION ");
    say(w, type ? type : "void");
    say(w, " ");
    copy(w, &w->pieces[h->name]);
    number_after(w, number);
    say(w, "(");
    say_line_ends(w, h->name, h->open);
    const int n = after(w, h->open) == h->end ? 0 : operands(w, h->open, first, 16);
    for (int k = 0; k < n && !w->failed && !is(w, after(w, h->open), "void"); k++) {
        if (k) say(w, ", ");
        parameter(w, first[k], first[k + 1] - 1, memories[k]);
    }
    if (w->shuffles && n) say(w, " EXCHANGE_PARAMETER");
    if (n) say(w, "HOISTED_PARAMETERS");
    say(w, ")");
    say_line_ends(w, h->end, h->body);
    write_pieces(w, h->body, h->last + 1);
    h->active = 0;
    w->in_helper = inside;
    w->name_count = names;
    w->shared_count = shared;
    w->thread_array_count = thread_arrays;
    const output done = w->out;
    w->out = w->helpers_out;
    if (done.text) say(w, done.text);
    w->helpers_out = w->out;
    w->out = kept;
    free(done.text);
}

/* The instance of these arguments, translated if it is new: its number. */
static int instance_of(translation *w, int which, const char *arguments, const char *memories,
                       int given)
{
    int number = 1;
    for (int i = 0; i < w->instance_count; i++) {
        if (w->instances[i].helper != which) continue;
        if (!strcmp(w->instances[i].arguments, arguments)) return w->instances[i].number;
        number++;
    }
    if (w->instance_count == HELPERS_MOST) {
        refuse(w, w->helpers[which].name, "more than %d functions, with their templates",
               HELPERS_MOST);
        return 1;
    }
    instance *const new_one = &w->instances[w->instance_count++];
    *new_one = (instance){which, number, ""};
    snprintf(new_one->arguments, sizeof new_one->arguments, "%s", arguments);
    translate(w, &w->helpers[which], number, memories, given);
    return number;
}

int helper_call(translation *w, int i)
{
    int which = 0, first[20], declared[20], given = -1;
    char name[WORD_MOST], memories[20] = "", arguments[TEXT_MOST] = "", values[TEXT_MOST - 30] = "";
    spell(w, i, name);
    while (which < w->helper_count && !is(w, w->helpers[which].name, name)) which++;
    int open = after(w, i);
    if (which == w->helper_count) return 0;
    helper *const h = &w->helpers[which];
    if (is(w, open, "<") && h->template_at >= 0) {
        int list[10];
        const int n = angled(w, open, list, 8);
        given = open;
        if (n && !pieces_text(w, list[0], list[n] - 1, values, sizeof values)) values[0] = 0;
        if (n) open = after(w, list[n] - 1);
    }
    if (!is(w, open, "(")) return 0;
    if (h->active)
        refuse(w, i, "'%s' calls itself: the model has no recursion; write a loop", name);
    const int end = closing(w, open), n = after(w, open) == end ? 0 : operands(w, open, first, 16),
              m = after(w, h->open) == h->end || is(w, after(w, h->open), "void")
                      ? 0
                      : operands(w, h->open, declared, 16);
    if (n != m) refuse(w, i, "'%s' takes %d operands, not %d", name, m, n);
    if (w->failed) return end + 1;
    for (int k = 0; k < n; k++) {
        memories[k] = parameter_memory(w, declared[k], declared[k + 1] - 1);
        if (memories[k] == MEMORY_OWN && !w->opencl)
            memories[k] = memory_of(w, first[k], first[k + 1] - 1);
    }
    snprintf(arguments, sizeof arguments, "%s %s", memories, values);
    const int number = instance_of(w, which, arguments, memories, given);
    say(w, name);
    number_after(w, number);
    say(w, "(");
    write_pieces(w, open + 1, end);
    if (w->shuffles && n) say(w, " EXCHANGE");
    if (n) say(w, "HOISTED_NAMES");
    say(w, ")");
    return end + 1;
}
