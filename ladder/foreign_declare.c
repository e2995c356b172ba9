/* SPDX-License-Identifier: MIT
 * Declarations of texts in CUDA C++ and OpenCL C: types of several words, constants, shared memory (dynamic too, and
 * that of functions), pointers, arrays of one thread. */
#include "foreign.h"
#include "foreign_words.h"

/* ---- names and types ---- */

void replace_name(translation *w, const char *name, const char *what)
{
    if (w->name_count == KEPT_MOST) return;
    snprintf(w->names[w->name_count].name, WORD_MOST, "%s", name);
    snprintf(w->names[w->name_count++].is, TEXT_MOST, "%s", what);
}

int is_dropped(const translation *w, int i)
{
    for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
        if (is(w, i, dropped[k])) return 1;
    return 0;
}

int type_at(const translation *w, int i, const char **type, int *constant, int *by_hand)
{
    enum { WORDS = 12 };
    int several = 0, longs = 0, bytes = 0, shorts = 0, without_sign = 0, at = i;
    *type = NULL;
    for (int n = 0; word_at(w, at) && n < WORDS; at = after(w, at), n++) {
        if (is(w, at, "const")) {
            *constant = 1;
        } else if (is(w, at, "volatile")) {
            *by_hand = 1;
        } else if (is_dropped(w, at)) {
            if (is(w, after(w, at), "(")) at = closing(w, after(w, at)); /* __align__(16) */
        } else if (is(w, at, "short")) {
            shorts = several = 1;
        } else if (is(w, at, "unsigned")) {
            without_sign = several = 1;
        } else if (is(w, at, "long")) {
            longs = several = 1;
        } else if (is(w, at, "char")) {
            bytes = several = 1;
        } else if (is(w, at, "signed") || (is(w, at, "int") && several)) {
            several = 1;
        } else {
            char word[WORD_MOST];
            const char *found = NULL;
            spell(w, at, word);
            for (size_t k = 0; k < sizeof types / sizeof *types && !found; k++)
                if (!strcmp(types[k].theirs, word)) found = types[k].ours;
            for (int k = 0; k < w->name_count && !found; k++)
                if (!strcmp(w->names[k].name, word) && !strcmp(w->names[k].is, "elem"))
                    found = "elem";
            if (!found || several || *type) break;
            *type = found;
        }
    }
    if (several && !*type) /* char has a sign, as in OpenCL and in CUDA on x86 */
        *type = bytes    ? (without_sign ? "u8" : "i8")
                : shorts ? (without_sign ? "u16" : "i16")
                : longs  ? (without_sign ? "u64" : "i64")
                         : (without_sign ? "u32" : "i32");
    return *type ? at : i;
}

int is_shared(const translation *w, int i)
{
    for (int s = 0; s < w->shared_count; s++)
        if (is(w, i, w->shared[s])) return 1;
    return 0;
}
int is_own(const translation *w, int i)
{
    for (int s = 0; s < w->thread_array_count; s++)
        if (is(w, i, w->thread_arrays[s])) return 1;
    return 0;
}
void add_word(char list[KEPT_MOST][WORD_MOST], int *count, const translation *w, int i)
{
    if (*count < KEPT_MOST) spell(w, i, list[(*count)++]);
}

/* extern __shared__ char s[], and T *p = (T *)s or reinterpret_cast<T *>(s) later on: T */
static const char *cast_type(const translation *w, int name, const char *type)
{
    char word[WORD_MOST];
    spell(w, name, word);
    for (int i = name; i < w->count && (!strcmp(type, "u8") || !strcmp(type, "i8")); i++) {
        int constant, by_hand, open = is(w, i, "reinterpret_cast") ? after(w, i) : i;
        const char *other;
        if (!is(w, open, open == i ? "(" : "<")) continue;
        const int star = type_at(w, after(w, open), &other, &constant, &by_hand),
                  end = after(w, star);
        int at = after(w, end);
        if (open != i) at = after(w, at); /* > ( */
        if (other && is(w, star, "*") && (is(w, end, ")") || is(w, end, ">")) && is(w, at, word))
            return other;
    }
    return type;
}

/* A cast of a pointer at '(': the type is the array's, and nothing is left of the cast. Past it, or 0. */
int pointer_cast_at(const translation *w, int i)
{
    const char *type;
    int constant, by_hand, open = is(w, i, "reinterpret_cast") ? after(w, i) : i;
    if (!is(w, open, open == i ? "(" : "<")) return 0;
    const int star = type_at(w, after(w, open), &type, &constant, &by_hand), end = after(w, star);
    if (!type || !is(w, star, "*") || !is(w, end, open == i ? ")" : ">")) return 0;
    return after(w, end);
}

static __attribute__((format(printf, 5, 6))) void append(translation *w, int at, char *to,
                                                         size_t capacity, const char *format, ...)
{
    const size_t used = strlen(to);
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(to + used, capacity - used, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= capacity - used) refuse(w, at, "too many shared arrays in functions");
}

/* A shared array of a function: one for all calls, which the kernel declares and every function gets
   (OpenCL has them in kernels alone). */
static int hoisted_at(translation *w, int name, const char *type)
{
    const int open = after(w, name), end = is(w, open, "[") ? closing(w, open) : open;
    char array[WORD_MOST], length[TEXT_MOST] = "1", whole[2 * TEXT_MOST];
    spell(w, name, array);
    if (!is(w, after(w, end), ";") || !is(w, open, "[") ||
        !pieces_text(w, open + 1, end, length, sizeof length)) {
        refuse(
            w, name,
            "a function's shared memory is one array of one dimension; declare '%s' in the kernel",
            array);
        return end + 1;
    }
    snprintf(whole, sizeof whole, " SHARED %s %.60s[%.150s];", type, array, length);
    if (!strstr(w->hoisted, whole)) {
        append(w, name, w->hoisted, sizeof w->hoisted, "%s", whole);
        append(w, name, w->hoisted_types, sizeof w->hoisted_types, ", LOCAL %s *%s", type, array);
        append(w, name, w->hoisted_names, sizeof w->hoisted_names, ", %s", array);
    }
    add_word(w->shared, &w->shared_count, w, name);
    return end + 1;
}

int shared_at(translation *w, int i, int dynamic)
{
    const char *type;
    int constant = 0, by_hand = 0;
    const int name = type_at(w, after(w, i), &type, &constant, &by_hand);
    if (type && dynamic) type = cast_type(w, name, type);
    if (!type) {
        char word[WORD_MOST];
        spell(w, name, word);
        refuse(w, i,
               "shared memory of type %s is not supported. Use char, short, int, unsigned, long "
               "long, float or double",
               word);
        return i + 1;
    }
    if (w->in_helper && !is(w, name, "*")) return hoisted_at(w, name, type);
    if (is(w, name, "*")) { /* OpenCL: a pointer to it */
        int pointer = after(w, name);
        while (is(w, pointer, "const") || is_dropped(w, pointer)) pointer = after(w, pointer);
        add_word(w->shared, &w->shared_count, w, pointer);
        say(w, by_hand ? "volatile LOCAL " : "LOCAL ");
        say(w, type);
        say(w, " ");
        return name;
    }
    say(w, by_hand ? "SHARED volatile " : "SHARED ");
    say(w, type);
    say(w, " ");
    int at = name;
    for (; at < w->count && !is(w, at, ";"); at++) {
        const int next = after(w, at);
        if (word_at(w, at) && is(w, next, "[")) add_word(w->shared, &w->shared_count, w, at);
        /* one element: an array of one */
        if (word_at(w, at) && (is(w, next, ";") || is(w, next, ","))) {
            char one[WORD_MOST], is_one[WORD_MOST];
            spell(w, at, one);
            snprintf(is_one, sizeof is_one, "%.60s[0]", one);
            replace_name(w, one, is_one);
            say(w, one);
            say(w, "[1]");
        } else if (is(w, at, "[") && is(w, next, "]") && dynamic) {
            say(w, "[");
            say(w, w->setup->shared ? w->setup->shared : "THREADS");
        } else if (is(w, at, "[")) {
            if (closing(w, at) == w->count) refuse(w, at, "']' is missing");
            if (w->failed) return at;
            say(w, "[");
            write_pieces(w, at + 1, closing(w, at));
            at = closing(w, at) - 1;
        } else {
            copy(w, &w->pieces[at]);
        }
    }
    return at;
}

/* Is what stands at [from, to) of numbers, constants and signs alone? */
static int is_constant(const translation *w, int from, int to)
{
    for (int i = after(w, from - 1); i < to; i = after(w, i)) {
        int allowed = w->pieces[i].class != PIECE_WORD && w->pieces[i].class != PIECE_LINE;
        for (int k = 0; k < w->name_count; k++)
            allowed |= is(w, i, w->names[k].name) && !strchr(w->names[k].is, '[');
        if (is(w, i, "blockDim")) i = after(w, after(w, i)), allowed = 1;
        if (!allowed || is(w, i, ",") || is(w, i, "{") || is(w, i, "?")) return 0;
        if (w->pieces[i].class == PIECE_NUMBER &&
            memchr(w->pieces[i].at, '.', (size_t)w->pieces[i].length))
            return 0;
    }
    return from < to;
}

int constant_at(translation *w, int i)
{
    const char *type;
    int constant = 0, by_hand = 0, start = i;
    while (is(w, start, "constexpr") || is(w, start, "static") || is(w, start, "__constant"))
        constant |= !is(w, start, "static"), start = after(w, start);
    const int at = type_at(w, start, &type, &constant, &by_hand), equal = after(w, at),
              value = after(w, equal);
    int end = value;
    if (!type || !constant || *type == 'f' || !strcmp(type, "elem") || !is(w, equal, "=")) return 0;
    while (end < w->count && !is(w, end, ";")) end++;
    if (!is_constant(w, value, end)) return 0;
    char name[WORD_MOST], text[TEXT_MOST - 2], whole[TEXT_MOST];
    spell(w, at, name);
    if (!pieces_text(w, value, end, text, sizeof text)) return 0;
    snprintf(whole, sizeof whole, "(%s)", text);
    replace_name(w, name, after(w, value) == end ? text : whole);
    say_line_ends(w, i, end + 1);
    return end + 1;
}

/* A declaration of variables, or of a pointer to an array: its type at i. 0: there is none. */
int declaration_at(translation *w, int i)
{
    const char *type;
    int constant = 0, by_hand = 0;
    const int name = type_at(w, i, &type, &constant, &by_hand);
    if (!type || name == i) return 0;
    if (is(w, name, "*")) {
        int pointer = after(w, name);
        while (is(w, pointer, "const") || is_dropped(w, pointer)) pointer = after(w, pointer);
        int array = after(w, after(w, pointer));
        const int declares = word_at(w, pointer) && is(w, after(w, pointer), "=");
        while (array < w->count &&
               (is(w, array, "&") || is(w, array, "(") || pointer_cast_at(w, array)))
            array = pointer_cast_at(w, array) ? pointer_cast_at(w, array) : after(w, array);
        if (by_hand) say(w, "volatile ");
        if (declares) say(w, is_shared(w, array) ? "LOCAL " : "GLOBAL ");
        if (declares && constant && !is_shared(w, array)) say(w, "const ");
        if (declares && is_shared(w, array)) add_word(w->shared, &w->shared_count, w, pointer);
    } else {
        for (int at = name, depth = 0; at < w->count && !is(w, at, ";"); at++) { /* int a[4], b; */
            if (w->pieces[at].class == PIECE_SIGN) {
                depth += strchr("([{", *w->pieces[at].at) != NULL;
                depth -= strchr(")]}", *w->pieces[at].at) != NULL;
            }
            if (depth < 0) break;
            if (!depth && word_at(w, at) && is(w, after(w, at), "[") &&
                (at == name || is(w, at - 1, ",") || is(w, at - 2, ",")))
                add_word(w->thread_arrays, &w->thread_array_count, w, at);
        }
    }
    say(w, type);
    say_line_ends(w, i, name);
    say(w, " ");
    return name;
}

int is_local(const translation *w, int i)
{
    return is(w, i, "__local") || (w->opencl && is(w, i, "local"));
}
int is_global(const translation *w, int i)
{
    return is(w, i, "__global") || (w->opencl && is(w, i, "global"));
}
