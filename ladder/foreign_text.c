/* SPDX-License-Identifier: MIT
 * A whole text in CUDA C++ or OpenCL C: its macros are put in, functions are found, kernels are translated, host code
 * is passed over but for what it says of the size of a group. */
#include "foreign.h"

static int starts_opencl(const translation *w, int i)
{
    return is(w, i, "__kernel") || (is(w, i, "kernel") && is(w, after(w, i), "void"));
}
static int starts_kernel(const translation *w, int i)
{
    return is(w, i, "__global__") || starts_opencl(w, i);
}

static int is_foreign(translation *w)
{
    int any = 0;
    for (int i = 0; i < w->count; i++) {
        any |= starts_kernel(w, i);
        w->opencl |= starts_opencl(w, i);
    }
    return any;
}

/* dim3 block(32, 8); and kernel<<<grid, block>>>: the sides of a group, unless the head says them. */
static void block_of_host(translation *w)
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
        int first[6], sides[3] = {1, 1, 1}, valid = 1;
        if (!is(w, i, "dim3") || !is(w, at, name) || !is(w, open, "(")) continue;
        const int n = operands(w, open, first, 4);
        for (int k = 0; k < n && k < 3; k++) {
            char text[TEXT_MOST] = "";
            pieces_text(w, first[k], first[k + 1] - 1, text, sizeof text);
            sides[k] = atoi(text + strspn(text, " ("));
            valid &= sides[k] > 0 && sides[k] <= 1024 && !text[strspn(text, " ()0123456789")];
        }
        if (valid && n < 4) memcpy(w->setup->block, sides, sizeof sides);
    }
}

/* Skips what the model does not need: a function, host code, or piece i. Returns the piece after. */
static int skip_piece(translation *w, int i)
{
    for (int h = 0; h < w->helper_count; h++)
        if (w->helpers[h].start == i) {
            say_line_ends(w, i, w->helpers[h].last + 1);
            return w->helpers[h].last + 1;
        }
    if (is(w, i, "{") && !(i > 1 && w->pieces[i - 2].class == PIECE_STRING)) { /* host code */
        say_line_ends(w, i, closing(w, i));
        return closing(w, i) + 1;
    }
    say_line_ends(w, i, i + 1);
    return i + 1;
}

static void all_kernels(translation *w)
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
        i = next ? next : skip_piece(w, i);
    }
}

/* Shared arrays of functions are known when all functions are: they stand where HOISTED_... does. */
static void put_hoisted(translation *w, const char *text)
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

/* Returns the functions, then the kernels, in memory that the caller frees. */
static char *whole_text(translation *w)
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

/* Sets the tile of a group: in a grid of two dimensions a square, unless the head says more. */
static void tile_of_grid(translation *w)
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

static void translate(translation *w)
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
    tile_of_grid(w);
    all_kernels(w);
}

int foreign_text(const char *file, const char *text, foreign_setup *setup, char **out,
                 ladder_error *error)
{
    translation *const w = calloc(1, sizeof *w);
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
        if (!code) *out = whole_text(w);
        if (!code && !*out) code = fail_with(error, 1, "out of memory");
    }
    free(w->pieces);
    free(w->out.text);
    free(w->helpers_out.text);
    free(whole);
    free(w);
    return code;
}
