/* SPDX-License-Identifier: MIT
 * Kernels as CUDA C++ and OpenCL C have them, in the words of the ladder's dialect. Lines stay
 * where they are, so that every message names the line of the reader's file. One pass over the
 * tokens: what is not in a kernel (includes, host code) is left out, words are replaced
 * (foreign_words.h), and a few forms are turned round:
 *
 *   __global__ void f(const int *in, int n)     KERNEL(f, THREADS)(GLOBAL const i32 *in, i64 n)
 *   extern __shared__ float s[];                SHARED f32 s[THREADS];
 *   __kernel void f(..., __local int *s)        the parameter is an array of THREADS elements in the kernel
 *   volatile int *p = s;                        volatile LOCAL i32 *p = s;
 *   __shfl_down_sync(mask, v, d)                shuffle_down(v, d)
 *   atomicAdd(&out[i], v)                       atomic_combine(out, i, v)
 *   template <typename T>, <unsigned size>      T is elem, size is THREADS
 *
 * What has no such form is refused with the place and the reason. */
#include "foreign.h"
#include "foreign_pieces.h"
#include "foreign_words.h"

/* ---- names and types ---- */

static void stand_for(work *w, const char *name, const char *what)
{
    if (w->name_count == KEPT_MOST) return;
    snprintf(w->names[w->name_count].name, WORD_MOST, "%s", name);
    snprintf(w->names[w->name_count++].is, WORD_MOST, "%s", what);
}

static int is_dropped(const work *w, int i)
{
    for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
        if (is(w, i, dropped[k])) return 1;
    return 0;
}

/* A type of several words at piece i, with const and volatile around it: past it, or i. *type:
   ours. */
static int type_at(const work *w, int i, const char **type, int *constant, int *by_hand)
{
    enum { WORDS = 10 };
    int several = 0, longs = 0, bytes = 0, without_sign = 0, at = i;
    *type = NULL;
    for (int n = 0; word_at(w, at) && n < WORDS; at = after(w, at), n++) {
        if (is(w, at, "const")) {
            *constant = 1;
        } else if (is(w, at, "volatile")) {
            *by_hand = 1;
        } else if (is_dropped(w, at)) {
            continue;
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
            const char *known = NULL;
            spell(w, at, word);
            for (size_t k = 0; k < sizeof types / sizeof *types && !known; k++)
                if (!strcmp(types[k].theirs, word)) known = types[k].ours;
            for (int k = 0; k < w->name_count && !known; k++)
                if (!strcmp(w->names[k].name, word) && !strcmp(w->names[k].is, "elem"))
                    known = "elem";
            if (!known || several || *type) break;
            *type = known;
        }
    }
    if (several && !*type) /* char has a sign, as in OpenCL and in CUDA on x86 */
        *type = bytes   ? (without_sign ? "u8" : "i8")
                : longs ? (without_sign ? "u64" : "i64")
                        : (without_sign ? "u32" : "i32");
    return *type ? at : i;
}

/* ---- forms ---- */

static void walk(work *w, int from, int to);

/* The operands of a call whose '(' is at open: their first pieces and, behind the last, its ')'. */
static int operands(const work *w, int open, int *first, int most)
{
    const int end = closing(w, open);
    int n = 0;
    first[n++] = open + 1;
    for (int i = open + 1, depth = 0; i < end; i++) {
        if (w->pieces[i].class != PIECE_SIGN) continue;
        depth += strchr("([{", *w->pieces[i].at) != NULL;
        depth -= strchr(")]}", *w->pieces[i].at) != NULL;
        if (depth == 0 && is(w, i, ",") && n < most) first[n++] = i + 1;
    }
    first[n] = end + 1;
    return n;
}

static void operand(work *w, const int *first, int i) { walk(w, first[i], first[i + 1] - 1); }

/* name, &name[i], name + i: "name, i" */
static void address(work *w, int from, int to)
{
    int at = from - 1;
    do at = after(w, at);
    while (is(w, at, "(") && closing(w, at) == to - 1 && at < to);
    const int referred = is(w, at, "&");
    if (referred) at = after(w, at);
    const int next = after(w, at);
    if (!word_at(w, at)) {
        refuse(w, from, "an atomic operation takes &array[index], array + index or array");
        return;
    }
    copy(w, &w->pieces[at]);
    say(w, ", ");
    if (referred && is(w, next, "["))
        walk(w, next + 1, closing(w, next));
    else if (!referred && is(w, next, "+"))
        walk(w, next + 1, to);
    else
        say(w, "0");
}

/* Is it an array in shared memory that an address names? */
static int in_shared(const work *w, int from)
{
    int at = after(w, from - 1);
    while (is(w, at, "(") || is(w, at, "&")) at = after(w, at);
    for (int s = 0; s < w->shared_count; s++)
        if (is(w, at, w->shared[s])) return 1;
    for (int k = 0; k < w->name_count; k++) /* one element */
        if (is(w, at, w->names[k].name) && strchr(w->names[k].is, '[')) return 1;
    return 0;
}

static int call_at(work *w, int i)
{
    int first[8];
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        const call_form *c = &calls[k];
        const int open = after(w, i);
        if (!is(w, i, c->theirs) || !is(w, open, "(")) continue;
        const int n = operands(w, open, first, 6), given = after(w, open) == first[1] - 1 ? 0 : n;
        if (c->how != CALL_bare && (given < c->least || given > c->most)) {
            refuse(w, i, "'%s' takes %d to %d operands here", c->theirs, c->least, c->most);
        } else if (c->how == CALL_bare || c->how == CALL_dimension) {
            if (c->how == CALL_dimension && !is(w, after(w, open), "0"))
                refuse(w, i, "the ladder has one dimension: %s(0)", c->theirs);
            say(w, c->ours);
        } else if (c->how == CALL_atomic) {
            const int value = after(w, first[n > 1] - 1),
                      one = is(w, value, "1") || is(w, value, "1u");
            const int next =
                c->keep == 1 || (one && after(w, value) == first[n] - 1 && strstr(c->theirs, "dd"));
            const int combines = !strcmp(c->ours, "atomic_combine");
            say(w, next                                 ? "atomic_next"
                   : combines && in_shared(w, first[0]) ? "shared_combine"
                                                        : c->ours);
            say(w, "(");
            address(w, first[0], first[1] - 1);
            if (!next) {
                say(w, ", ");
                operand(w, first, 1);
            }
            say(w, ")");
        } else { /* CALL_operands: from the one on that counts */
            say(w, c->ours);
            say(w, "(");
            operand(w, first, c->skip);
            for (int o = 1; o < c->keep; o++) {
                say(w, ",");
                operand(w, first, c->skip + o);
            }
            say(w, ")");
        }
        return first[n]; /* behind the ')' */
    }
    return 0;
}

/* A declaration in shared memory, its word at i: up to the ';' */
static int shared_at(work *w, int i, int dynamic)
{
    const char *type;
    int constant = 0, by_hand = 0;
    const int name = type_at(w, after(w, i), &type, &constant, &by_hand);
    if (!type) {
        refuse(w, i,
               "shared memory of a type that the ladder has not: char, int, unsigned, long long, "
               "float, double");
        return i + 1;
    }
    if (is(w, name, "*")) { /* OpenCL: a pointer to it */
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
        if (word_at(w, at) && is(w, next, "[") && w->shared_count < KEPT_MOST)
            spell(w, at, w->shared[w->shared_count++]);
        /* one element: an array of one */
        if (word_at(w, at) && (is(w, next, ";") || is(w, next, ","))) {
            char one[WORD_MOST], is_one[WORD_MOST];
            spell(w, at, one);
            snprintf(is_one, sizeof is_one, "%.60s[0]", one);
            stand_for(w, one, is_one);
            say(w, one);
            say(w, "[1]");
        } else if (is(w, at, "[") && is(w, next, "]") && dynamic) {
            say(w, "[THREADS");
        } else if (is(w, at, "[")) {
            if (closing(w, at) == w->count) refuse(w, at, "']' is missing");
            if (w->failed) return at;
            say(w, "[");
            walk(w, at + 1, closing(w, at));
            at = closing(w, at) - 1;
        } else {
            copy(w, &w->pieces[at]);
        }
    }
    return at;
}

/* A declaration of variables, or of a pointer to an array: its type at i. 0: there is none. */
static int declaration_at(work *w, int i)
{
    const char *type;
    int constant = 0, by_hand = 0;
    const int name = type_at(w, i, &type, &constant, &by_hand);
    if (!type || name == i) return 0;
    if (is(w, name, "*")) {
        const int own = after(w, name), array = after(w, after(w, own));
        int is_shared = 0;
        for (int s = 0; s < w->shared_count; s++) is_shared |= is(w, array, w->shared[s]);
        if (by_hand) say(w, "volatile ");
        if (word_at(w, own) && is(w, after(w, own), "=")) say(w, is_shared ? "LOCAL " : "GLOBAL ");
    }
    say(w, type);
    hush(w, i, name);
    say(w, " ");
    return name;
}

static int is_local(const work *w, int i)
{
    return is(w, i, "__local") || (w->opencl && is(w, i, "local"));
}
static int is_global(const work *w, int i)
{
    return is(w, i, "__global") || (w->opencl && is(w, i, "global"));
}

static void walk(work *w, int from, int to)
{
    enum { DEPTH_MOST = 100 };
    if (to > w->count) to = w->count; /* a bracket without its other half */
    if (++w->depth > DEPTH_MOST) refuse(w, from, "more than %d calls in each other", DEPTH_MOST);
    for (int i = from; i < to && !w->failed;) {
        const piece *p = &w->pieces[i];
        int next = 0;
        if (++w->visits > 4 * (int64_t)w->count + 1000)
            refuse(w, i, "the brackets around this place do not match");
        if (p->class != PIECE_WORD) {
            copy(w, p);
            i++;
            continue;
        }
        for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
            if (is(w, i, refused[k].word)) refuse(w, i, "%s", refused[k].why);
        if (is(w, i, "extern") && is(w, after(w, i), "__shared__"))
            next = shared_at(w, after(w, i), 1);
        else if (is(w, i, "__shared__") || is_local(w, i))
            next = shared_at(w, i, 0);
        else if (is_global(w, i))
            say(w, "GLOBAL"), next = i + 1;
        else if (is(w, i, "static_cast")) { /* <type>(value): (type)(value) */
            const int open = after(w, i);
            int end = open;
            while (end < to && !is(w, end, ">")) end++;
            say(w, "(");
            walk(w, open + 1, end);
            say(w, ")");
            next = end + 1;
        } else if (is_dropped(w, i)) {
            next = i + 1;
        }
        for (size_t k = 0; k < sizeof indices / sizeof *indices && !next; k++)
            if (is(w, i, indices[k].theirs)) {
                const int dot = after(w, i), axis = after(w, dot);
                if (!is(w, dot, ".") || !is(w, axis, "x"))
                    refuse(w, i, "the ladder has one dimension: %s.x", indices[k].theirs);
                say(w, indices[k].ours);
                next = axis + 1;
            }
        if (!next) next = call_at(w, i);
        if (!next) next = declaration_at(w, i);
        for (int k = 0; k < w->name_count && !next; k++)
            if (is(w, i, w->names[k].name)) say(w, w->names[k].is), next = i + 1;
        for (size_t k = 0; k < sizeof words / sizeof *words && !next; k++)
            if (is(w, i, words[k].theirs)) say(w, words[k].ours), next = i + 1;
        if (!next) copy(w, p), next = i + 1;
        i = next;
    }
    w->depth--;
}

/* ---- kernels ---- */

static void parameter(work *w, int from, int to, int *written)
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
        return;
    }
    const int pointer = is(w, at, "*");
    if (pointer) at = after(w, at);
    while (is_dropped(w, at) || is(w, at, "const")) at = after(w, at);
    char name[WORD_MOST];
    spell(w, at, name);
    if (!word_at(w, at) || after(w, at) < to) {
        refuse(w, at, "a parameter is a type and a name, or a pointer; '%s' is more", name);
        return;
    }
    if (where) { /* OpenCL: memory that the host would give by its size */
        const size_t used = strlen(w->locals);
        snprintf(w->locals + used, sizeof w->locals - used, " SHARED %s %s[THREADS];", type, name);
        if (w->shared_count < KEPT_MOST)
            snprintf(w->shared[w->shared_count++], WORD_MOST, "%s", name);
    } else {
        if ((*written)++) say(w, ", ");
        if (pointer) {
            say(w, constant ? "GLOBAL const " : "GLOBAL ");
            if (by_hand) say(w, "volatile ");
            say(w, type);
            say(w, " *");
        } else {
            say(w, "i64 ");
        }
        say(w, name);
    }
    hush(w, from, to);
}

/* The word __global__ or __kernel is at i; past the kernel. */
static int kernel_at(work *w, int i)
{
    int first[32], at = i, written = 0;
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
    w->shared_count = w->locals[0] = 0;
    if (!word_at(w, name) || !is(w, open, "(") || end == w->count) {
        refuse(w, i, "a kernel is `void name(parameters) { ... }`");
        return w->count;
    }
    if (!is(w, body, "{")) return body; /* a declaration */
    hush(w, i, name);
    say(w, "KERNEL(");
    copy(w, &w->pieces[name]);
    say(w, ", THREADS)(");
    const int n = operands(w, open, first, 30);
    for (int k = 0; k < n && !w->failed; k++) parameter(w, first[k], first[k + 1] - 1, &written);
    say(w, ")");
    hush(w, end, body);
    say(w, "{");
    if (w->shuffles) say(w, " SHUFFLES;");
    say(w, w->locals);
    walk(w, body + 1, closing(w, body) + 1);
    w->name_count = names;
    return closing(w, body) + 1;
}

/* template <typename T, unsigned size>: past it */
static int template_at(work *w, int i)
{
    int at = i, type = 0;
    for (; at < w->count && !is(w, at, ">"); at = after(w, at)) {
        char word[WORD_MOST];
        spell(w, at, word);
        if (is(w, at, "typename") || is(w, at, "class")) type = 1;
        if (word_at(w, at) && (is(w, after(w, at), ",") || is(w, after(w, at), ">"))) {
            stand_for(w, word, type ? "elem" : "THREADS");
            type = 0;
        }
    }
    hush(w, i, at + 1);
    return at + 1;
}

/* const int NAME = NUMBER; outside of kernels: past it, or 0 */
static int constant_at(work *w, int i)
{
    const char *type;
    int constant = is(w, i, "constexpr"), by_hand = 0;
    char name[WORD_MOST], number[WORD_MOST];
    const int at = type_at(w, constant ? after(w, i) : i, &type, &constant, &by_hand),
              equal = after(w, at), value = after(w, equal);
    if (!type || !constant || !is(w, equal, "=") || value >= w->count ||
        w->pieces[value].class != PIECE_NUMBER)
        return 0;
    spell(w, at, name);
    spell(w, value, number);
    stand_for(w, name, number);
    hush(w, i, value + 1);
    return value + 1;
}

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

int foreign_text(const char *file, const char *text, char **out, ladder_error *error)
{
    work w = {.file = file, .error = error};
    *out = NULL;
    if (cut(&w, text)) {
        free(w.pieces);
        return fail_with(error, 1, "out of memory");
    }
    if (!is_foreign(&w)) {
        free(w.pieces);
        return 0;
    }
    say(&w, "");
    for (int i = 0; i < w.count; i++)
        w.shuffles |= word_at(&w, i) && (!strncmp(w.pieces[i].at, "__shfl", 6) ||
                                         !strncmp(w.pieces[i].at, "__reduce_", 9) ||
                                         !strncmp(w.pieces[i].at, "sub_group_shuffle", 17));
    for (int i = 0; i < w.count && !w.failed;) {
        int next = 0;
        if (w.pieces[i].class == PIECE_LINE) {
            const char *const word = w.pieces[i].at + 1 + strspn(w.pieces[i].at + 1, " \t");
            strncmp(word, "include", 7) ? copy(&w, &w.pieces[i]) : hush(&w, i, i + 1);
            next = i + 1;
        } else if (is(&w, i, "template")) {
            next = template_at(&w, i);
        } else if (starts_kernel(&w, i)) {
            next = kernel_at(&w, i);
        } else if (word_at(&w, i)) {
            next = constant_at(&w, i);
        } else if (is(&w, i, "{") &&
                   !(i > 1 && w.pieces[i - 2].class == PIECE_STRING)) { /* host code */
            hush(&w, i, closing(&w, i));
            next = closing(&w, i) + 1;
        }
        if (!next) {
            hush(&w, i, i + 1);
            next = i + 1;
        }
        i = next;
    }
    free(w.pieces);
    if (w.failed) {
        free(w.out);
        return error->code;
    }
    *out = w.out;
    return 0;
}
