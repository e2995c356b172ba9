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
#include "foreign.h"
#include "foreign_words.h"

/* ---- forms ---- */

/* The operands of a call whose '(' is at open: their first pieces and, behind the last, its ')'. */
int operands(const translation *w, int open, int *first, int most)
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

static void operand(translation *w, const int *first, int i)
{
    write_pieces(w, first[i], first[i + 1] - 1);
}

/* name, &name[i], name + i: "name, i" */
static void address(translation *w, int from, int to)
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
    if (open != next) write_pieces(w, next, open);
    say(w, ", ");
    if (referred && is(w, open, "["))
        write_pieces(w, open + 1, closing(w, open));
    else if (!referred && is(w, next, "+"))
        write_pieces(w, next + 1, to);
    else
        say(w, "0");
}

/* Is it an array in shared memory that an address names? */
static int in_shared(const translation *w, int from)
{
    int at = after(w, from - 1);
    while (is(w, at, "(") || is(w, at, "&")) at = after(w, at);
    if (is_shared(w, at)) return 1;
    for (int k = 0; k < w->name_count; k++) /* one element */
        if (is(w, at, w->names[k].name) && strchr(w->names[k].is, '[')) return 1;
    return 0;
}

int pieces_text(translation *w, int from, int to, char *text, size_t capacity)
{
    const output kept = w->out;
    w->out = (output){0};
    say(w, "");
    write_pieces(w, from, to);
    const int fits = w->out.text && w->out.used < capacity && !w->failed;
    if (fits) memcpy(text, w->out.text, w->out.used + 1);
    for (char *at = text; fits && *at; at++)
        if (*at == '\n') *at = ' ';
    free(w->out.text);
    w->out = kept;
    return fits;
}

/* ---- dimensions ---- */

/* What threadIdx, blockIdx, blockDim and gridDim (which: 0 to 3) are along an axis. */
static void dimension(translation *w, int at, int which, int axis)
{
    const int *const b = w->setup->block;
    const int sides = b[1] * b[2] > 1, columns = w->setup->tile[0];
    if (axis < 0) {
        refuse(w, at,
               "threadIdx, blockIdx, blockDim and gridDim have .x, .y and .z, and OpenCL's "
               "functions take 0, 1 or 2");
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
                   "alone: give them to the function as operands");
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

static int axis_of(const translation *w, int i)
{
    const char *const names[2] = {"xyz", "012"};
    for (int k = 0; k < 2 && i < w->count && w->pieces[i].length == 1; k++)
        if (strchr(names[k], *w->pieces[i].at))
            return (int)(strchr(names[k], *w->pieces[i].at) - names[k]);
    return -1;
}

static int call_at(translation *w, int i)
{
    int first[8];
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        const call_form *c = &calls[k];
        const int open = after(w, i);
        if (!is(w, i, c->theirs) || !is(w, open, "(")) continue;
        const int n = operands(w, open, first, 6), given = after(w, open) == first[1] - 1 ? 0 : n;
        if (c->kind != CALL_bare && (given < c->least || given > c->most)) {
            refuse(w, i, "'%s' takes %d to %d operands here", c->theirs, c->least, c->most);
        } else if (c->kind == CALL_bare) {
            say(w, c->ours);
        } else if (c->kind == CALL_dimension) {
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
        } else if (c->kind == CALL_load) {
            say(w, "(*(");
            operand(w, first, 0);
            say(w, "))");
        } else if (c->kind == CALL_atomic) {
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

/* Blocks: what is declared in one is known up to its end. */
static void block(translation *w, int i)
{
    if (is(w, i, "{") && w->block_count < BLOCKS_MOST) {
        w->blocks[w->block_count].names = w->name_count;
        w->blocks[w->block_count].thread_arrays = w->thread_array_count;
        w->blocks[w->block_count++].shared = w->shared_count;
    } else if (is(w, i, "}") && w->block_count > 0) {
        w->name_count = w->blocks[--w->block_count].names;
        w->thread_array_count = w->blocks[w->block_count].thread_arrays;
        w->shared_count = w->blocks[w->block_count].shared;
    }
}

/* static_cast<type>(value), static_assert(condition, "why"): past what was translated, or 0 */
static int form_at(translation *w, int i)
{
    const int open = after(w, i);
    if (is(w, i, "static_cast")) {
        int end = open;
        while (end < w->count && !is(w, end, ">")) end++;
        say(w, "(");
        write_pieces(w, open + 1, end);
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

static int write_word(translation *w, int i)
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

void write_pieces(translation *w, int from, int to)
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
            i = write_word(w, i);
        }
    }
    w->depth--;
}
