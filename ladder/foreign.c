/* SPDX-License-Identifier: MIT
 * Kernels as CUDA C++ and OpenCL C have them, in the words of the ladder's dialect. Lines stay
 * where they are, so that every message names the line of the reader's file. Macros are put in
 * first (model/expand.c). Then comes one pass over the tokens: what is not in a kernel (includes,
 * host code) is left out, words are replaced (foreign_words.h), and a few forms are turned round:
 *
 *   __global__ void f(const int *in, int n)     KERNEL(f, THREADS)(GLOBAL const i32 *in, i64 n)
 *   extern __shared__ float s[];                SHARED f32 s[THREADS];
 *   __kernel void f(..., __local int *s)        the parameter is an array of THREADS elements in the kernel
 *   volatile int *p = s;                        volatile LOCAL i32 *p = s;
 *   __shfl_down_sync(mask, v, d)                shuffle_down(v, d)
 *   atomicAdd(&out[i], v)                       atomic_combine(out, i, v)
 *   template <typename T>, <unsigned size>      T is elem, size is THREADS
 *   __device__ int f(int *s, int v) { ... }     FUNCTION i32 f(LOCAL i32 *s, i32 v) { ... }
 *   const int B = 256;                          B is put in where it is used
 *   threadIdx.y, of blocks of 32 x 8            (thread_index() / 32)
 *
 * What has no such form is refused with the place and the reason. */
#include "foreign_pieces.h"
#include "foreign_words.h"

/* ---- names and types ---- */

void stand_for(work *w, const char *name, const char *what)
{
    if (w->name_count == KEPT_MOST) return;
    snprintf(w->names[w->name_count].name, WORD_MOST, "%s", name);
    snprintf(w->names[w->name_count++].is, TEXT_MOST, "%s", what);
}

int is_dropped(const work *w, int i)
{
    for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
        if (is(w, i, dropped[k])) return 1;
    return 0;
}

/* A type of several words at piece i, with const and volatile around it: past it, or i. *type:
   ours. */
int type_at(const work *w, int i, const char **type, int *constant, int *by_hand)
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
        *type = bytes    ? (without_sign ? "u8" : "i8")
                : shorts ? (without_sign ? "u16" : "i16")
                : longs  ? (without_sign ? "u64" : "i64")
                         : (without_sign ? "u32" : "i32");
    return *type ? at : i;
}

/* ---- forms ---- */

/* The operands of a call whose '(' is at open: their first pieces and, behind the last, its ')'. */
int operands(const work *w, int open, int *first, int most)
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
    const piece *const array = &w->pieces[at];
    int open = next;
    while (referred && is(w, open, "[") && is(w, after(w, closing(w, open)), "[")) /* &a[i][j] */
        open = after(w, closing(w, open));
    copy(w, array);
    if (open != next) walk(w, next, open);
    say(w, ", ");
    if (referred && is(w, open, "["))
        walk(w, open + 1, closing(w, open));
    else if (!referred && is(w, next, "+"))
        walk(w, next + 1, to);
    else
        say(w, "0");
}

int is_shared(const work *w, int i)
{
    for (int s = 0; s < w->shared_count; s++)
        if (is(w, i, w->shared[s])) return 1;
    return 0;
}
int is_own(const work *w, int i)
{
    for (int s = 0; s < w->own_count; s++)
        if (is(w, i, w->own[s])) return 1;
    return 0;
}
void keep(char list[KEPT_MOST][WORD_MOST], int *count, const work *w, int i)
{
    if (*count < KEPT_MOST) spell(w, i, list[(*count)++]);
}

/* Is it an array in shared memory that an address names? */
static int in_shared(const work *w, int from)
{
    int at = after(w, from - 1);
    while (is(w, at, "(") || is(w, at, "&")) at = after(w, at);
    if (is_shared(w, at)) return 1;
    for (int k = 0; k < w->name_count; k++) /* one element */
        if (is(w, at, w->names[k].name) && strchr(w->names[k].is, '[')) return 1;
    return 0;
}

int walked(work *w, int from, int to, char *text, size_t room)
{
    const output kept = w->out;
    w->out = (output){0};
    say(w, "");
    walk(w, from, to);
    const int fits = w->out.text && w->out.used < room && !w->failed;
    if (fits) memcpy(text, w->out.text, w->out.used + 1);
    for (char *at = text; fits && *at; at++)
        if (*at == '\n') *at = ' ';
    free(w->out.text);
    w->out = kept;
    return fits;
}

/* ---- dimensions ---- */

/* What threadIdx, blockIdx, blockDim and gridDim (which: 0 to 3) are along an axis. */
static void dimension(work *w, int at, int which, int axis)
{
    const int *const b = w->setup->block;
    const int sides = b[1] * b[2] > 1, columns = w->setup->tile[0];
    if (axis < 0) {
        refuse(w, at,
               "threadIdx, blockIdx, blockDim and gridDim have .x, .y and .z, and OpenCL's "
               "functions take "
               "0, 1 or 2");
        return;
    }
    if (axis && !b[0] && which % 2 == 0) {
        refuse(w, at,
               "how large is a group along y? Say it in the file's first comment: block: 32 x 8");
        return;
    }
    static const char *const simple[4][3] = {{"thread_index()", "0", "0"},
                                             {"group_index()", "0", "0"},
                                             {"THREADS", "1", "1"},
                                             {"group_count()", "1", "1"}};
    char text[TEXT_MOST];
    snprintf(text, sizeof text, "%s", simple[which][axis]);
    if (which == 0 && sides && axis == 0)
        snprintf(text, sizeof text, "(thread_index() %% %d)", b[0]);
    if (which == 0 && sides && axis == 1 && b[2] == 1)
        snprintf(text, sizeof text, "(thread_index() / %d)", b[0]);
    if (which == 0 && sides && axis == 1 && b[2] > 1)
        snprintf(text, sizeof text, "(thread_index() / %d %% %d)", b[0], b[1]);
    if (which == 0 && sides && axis == 2)
        snprintf(text, sizeof text, "(thread_index() / %d)", b[0] * b[1]);
    if (which == 2 && sides) snprintf(text, sizeof text, "%d", b[axis]);
    if (which % 2 && columns && axis < 2) {
        if (w->in_helper) {
            refuse(w, at,
                   "blockIdx and gridDim of a grid of two dimensions are known in the kernel "
                   "alone: give them "
                   "to the function as operands");
            return;
        }
        char across[TEXT_MOST];
        snprintf(across, sizeof across, "((%s + %d) / %d)", w->columns, columns - 1, columns);
        if (which == 1)
            snprintf(text, sizeof text, "(group_index() %c %.150s)", axis ? '/' : '%', across);
        if (which == 3 && axis) snprintf(text, sizeof text, "(group_count() / %.150s)", across);
        if (which == 3 && !axis) snprintf(text, sizeof text, "%s", across);
    }
    say(w, text);
}

static int axis_of(const work *w, int i)
{
    const char *const names[2] = {"xyz", "012"};
    for (int k = 0; k < 2 && i < w->count && w->pieces[i].length == 1; k++)
        if (strchr(names[k], *w->pieces[i].at))
            return (int)(strchr(names[k], *w->pieces[i].at) - names[k]);
    return -1;
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
        } else if (c->how == CALL_bare) {
            say(w, c->ours);
        } else if (c->how == CALL_dimension) {
            const int axis = axis_of(w, after(w, open));
            if (c->skip < 4) {
                dimension(w, i, c->skip, axis);
            } else { /* get_global_id, get_global_size: in terms of these */
                say(w, "(");
                dimension(w, i, c->skip == 4 ? 1 : 3, axis);
                say(w, " * ");
                dimension(w, i, 2, axis);
                if (c->skip == 4) say(w, " + "), dimension(w, i, 0, axis);
                say(w, ")");
            }
        } else if (c->how == CALL_load) {
            say(w, "(*(");
            operand(w, first, 0);
            say(w, "))");
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

/* extern __shared__ char s[], and T *p = (T *)s or reinterpret_cast<T *>(s) later on: T */
static const char *cast_type(const work *w, int name, const char *type)
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
static int pointer_cast_at(const work *w, int i)
{
    const char *type;
    int constant, by_hand, open = is(w, i, "reinterpret_cast") ? after(w, i) : i;
    if (!is(w, open, open == i ? "(" : "<")) return 0;
    const int star = type_at(w, after(w, open), &type, &constant, &by_hand), end = after(w, star);
    if (!type || !is(w, star, "*") || !is(w, end, open == i ? ")" : ">")) return 0;
    return after(w, end);
}

static void append(work *w, int at, char *to, size_t room, const char *format, const char *a,
                   const char *b)
{
    const size_t used = strlen(to);
    const int n = snprintf(to + used, room - used, format, a, b);
    if (n < 0 || (size_t)n >= room - used) refuse(w, at, "too many shared arrays in functions");
}

/* A shared array of a function: one for all calls, which the kernel declares and every function gets
   (OpenCL has them in kernels alone). */
static int hoisted_at(work *w, int name, const char *type)
{
    const int open = after(w, name), end = is(w, open, "[") ? closing(w, open) : open;
    char array[WORD_MOST], length[TEXT_MOST] = "1", whole[2 * TEXT_MOST];
    spell(w, name, array);
    if (!is(w, after(w, end), ";") || !is(w, open, "[") ||
        !walked(w, open + 1, end, length, sizeof length)) {
        refuse(
            w, name,
            "a function's shared memory is one array of one dimension; declare '%s' in the kernel",
            array);
        return end + 1;
    }
    snprintf(whole, sizeof whole, " SHARED %s %.60s[%.150s];", type, array, length);
    if (!strstr(w->hoisted, whole)) {
        append(w, name, w->hoisted, sizeof w->hoisted, "%s%s", whole, "");
        append(w, name, w->hoisted_types, sizeof w->hoisted_types, ", LOCAL %s *%s", type, array);
        append(w, name, w->hoisted_names, sizeof w->hoisted_names, ", %s%s", array, "");
    }
    keep(w->shared, &w->shared_count, w, name);
    return end + 1;
}

/* A declaration in shared memory, its word at i: up to the ';' */
static int shared_at(work *w, int i, int dynamic)
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
        int own = after(w, name);
        while (is(w, own, "const") || is_dropped(w, own)) own = after(w, own);
        keep(w->shared, &w->shared_count, w, own);
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
        if (word_at(w, at) && is(w, next, "[")) keep(w->shared, &w->shared_count, w, at);
        /* one element: an array of one */
        if (word_at(w, at) && (is(w, next, ";") || is(w, next, ","))) {
            char one[WORD_MOST], is_one[WORD_MOST];
            spell(w, at, one);
            snprintf(is_one, sizeof is_one, "%.60s[0]", one);
            stand_for(w, one, is_one);
            say(w, one);
            say(w, "[1]");
        } else if (is(w, at, "[") && is(w, next, "]") && dynamic) {
            say(w, "[");
            say(w, w->setup->shared ? w->setup->shared : "THREADS");
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

/* Is what stands at [from, to) of numbers, constants and signs alone? */
static int is_constant(const work *w, int from, int to)
{
    for (int i = after(w, from - 1); i < to; i = after(w, i)) {
        int known = w->pieces[i].class != PIECE_WORD && w->pieces[i].class != PIECE_LINE;
        for (int k = 0; k < w->name_count; k++)
            known |= is(w, i, w->names[k].name) && !strchr(w->names[k].is, '[');
        if (is(w, i, "blockDim")) i = after(w, after(w, i)), known = 1;
        if (!known || is(w, i, ",") || is(w, i, "{") || is(w, i, "?")) return 0;
        if (w->pieces[i].class == PIECE_NUMBER &&
            memchr(w->pieces[i].at, '.', (size_t)w->pieces[i].length))
            return 0;
    }
    return from < to;
}

int constant_at(work *w, int i)
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
    if (!walked(w, value, end, text, sizeof text)) return 0;
    snprintf(whole, sizeof whole, "(%s)", text);
    stand_for(w, name, after(w, value) == end ? text : whole);
    hush(w, i, end + 1);
    return end + 1;
}

/* A declaration of variables, or of a pointer to an array: its type at i. 0: there is none. */
static int declaration_at(work *w, int i)
{
    const char *type;
    int constant = 0, by_hand = 0;
    const int name = type_at(w, i, &type, &constant, &by_hand);
    if (!type || name == i) return 0;
    if (is(w, name, "*")) {
        int own = after(w, name);
        while (is(w, own, "const") || is_dropped(w, own)) own = after(w, own);
        int array = after(w, after(w, own));
        const int declares = word_at(w, own) && is(w, after(w, own), "=");
        while (array < w->count &&
               (is(w, array, "&") || is(w, array, "(") || pointer_cast_at(w, array)))
            array = pointer_cast_at(w, array) ? pointer_cast_at(w, array) : after(w, array);
        if (by_hand) say(w, "volatile ");
        if (declares) say(w, is_shared(w, array) ? "LOCAL " : "GLOBAL ");
        if (declares && constant && !is_shared(w, array)) say(w, "const ");
        if (declares && is_shared(w, array)) keep(w->shared, &w->shared_count, w, own);
    } else {
        for (int at = name, depth = 0; at < w->count && !is(w, at, ";"); at++) { /* int a[4], b; */
            if (w->pieces[at].class == PIECE_SIGN) {
                depth += strchr("([{", *w->pieces[at].at) != NULL;
                depth -= strchr(")]}", *w->pieces[at].at) != NULL;
            }
            if (depth < 0) break;
            if (!depth && word_at(w, at) && is(w, after(w, at), "[") &&
                (at == name || is(w, at - 1, ",") || is(w, at - 2, ",")))
                keep(w->own, &w->own_count, w, at);
        }
    }
    say(w, type);
    hush(w, i, name);
    say(w, " ");
    return name;
}

int is_local(const work *w, int i)
{
    return is(w, i, "__local") || (w->opencl && is(w, i, "local"));
}
int is_global(const work *w, int i)
{
    return is(w, i, "__global") || (w->opencl && is(w, i, "global"));
}

/* Blocks: what is declared in one is known up to its end. */
static void block(work *w, int i)
{
    if (is(w, i, "{") && w->block_count < BLOCKS_MOST) {
        w->blocks[w->block_count].names = w->name_count;
        w->blocks[w->block_count].own = w->own_count;
        w->blocks[w->block_count++].shared = w->shared_count;
    } else if (is(w, i, "}") && w->block_count > 0) {
        w->name_count = w->blocks[--w->block_count].names;
        w->own_count = w->blocks[w->block_count].own;
        w->shared_count = w->blocks[w->block_count].shared;
    }
}

/* static_cast<type>(value), static_assert(condition, "why"): past what was translated, or 0 */
static int form_at(work *w, int i)
{
    const int open = after(w, i);
    if (is(w, i, "static_cast")) {
        int end = open;
        while (end < w->count && !is(w, end, ">")) end++;
        say(w, "(");
        walk(w, open + 1, end);
        say(w, ")");
        return end + 1;
    }
    if (is(w, i, "static_assert") || is(w, i, "_Static_assert")) {
        int first[4];
        const int n = operands(w, open, first, 2);
        say(w, "HOLDS(");
        operand(w, first, 0);
        say(w, ")");
        return first[n];
    }
    return 0;
}

static int word_of_walk(work *w, int i)
{
    int next = 0;
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        const char sign[2] = {refused[k].behind, 0};
        const int behind = after(w, i);
        const int meant = !*sign || (*sign == 'w' ? word_at(w, behind) : is(w, behind, sign));
        if (is(w, i, refused[k].word) && meant && !pointer_cast_at(w, i))
            refuse(w, i, "%s", refused[k].why);
    }
    if (is(w, i, "extern") && is(w, after(w, i), "__shared__"))
        next = shared_at(w, after(w, i), 1);
    else if (is(w, i, "__shared__") || is_local(w, i))
        next = shared_at(w, i, 0);
    else if (is_global(w, i))
        say(w, "GLOBAL"), next = i + 1;
    else if (pointer_cast_at(w, i))
        next = pointer_cast_at(w, i);
    if (!next) next = form_at(w, i);
    if (!next) next = constant_at(w, i);
    if (!next && is_dropped(w, i))
        next = is(w, after(w, i), "(") ? closing(w, after(w, i)) + 1 : i + 1;
    for (size_t k = 0; k < sizeof indices / sizeof *indices && !next; k++)
        if (is(w, i, indices[k].theirs)) {
            const int dot = after(w, i), axis = after(w, dot);
            dimension(w, i, (int)k, is(w, dot, ".") ? axis_of(w, axis) : -1);
            next = axis + 1;
        }
    if (!next) next = call_at(w, i);
    if (!next) next = helper_call(w, i);
    if (!next) next = declaration_at(w, i);
    for (int k = w->name_count - 1; k >= 0 && !next; k--)
        if (is(w, i, w->names[k].name)) say(w, w->names[k].is), next = i + 1;
    for (size_t k = 0; k < sizeof words / sizeof *words && !next; k++)
        if (is(w, i, words[k].theirs)) say(w, words[k].ours), next = i + 1;
    if (!next) copy(w, &w->pieces[i]), next = i + 1;
    return next;
}

void walk(work *w, int from, int to)
{
    enum { DEPTH_MOST = 100 };
    if (to > w->count) to = w->count; /* a bracket without its other half */
    if (++w->depth > DEPTH_MOST) refuse(w, from, "more than %d calls in each other", DEPTH_MOST);
    for (int i = from; i < to && !w->failed;) {
        if (++w->visits > 40 * (int64_t)w->count + 1000)
            refuse(w, i, "the brackets around this place do not match");
        const int cast =
            w->pieces[i].class == PIECE_SIGN && is(w, i, "(") ? pointer_cast_at(w, i) : 0;
        if (cast) {
            i = cast;
        } else if (w->pieces[i].class != PIECE_WORD) {
            block(w, i);
            copy(w, &w->pieces[i]);
            i++;
        } else {
            i = word_of_walk(w, i);
        }
    }
    w->depth--;
}
