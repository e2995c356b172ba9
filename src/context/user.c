/* SPDX-License-Identifier: MIT
 * The operators that users defined in a context: from texts to instances, and plain sentences for
 * the errors of compilers. */
#define _GNU_SOURCE
#include "user.h"
#include "dtype/number.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_MOST = 32 }; /* bytes: the size of tl_state, and the limit of a GPU's local memory */

static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, 64 bits */
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static void release(tl_user *u)
{
    while (u->instances) {
        tl_user_instance *next = u->instances->next;
        if (u->instances->library) u->instances->unload(u->instances->library);
        free(u->instances);
        u->instances = next;
    }
    free(u->where);
    free(u->text);
    free(u);
}

void tl_user_close(tally *ctx)
{
    while (ctx->users) {
        tl_user *next = ctx->users->next;
        release(ctx->users);
        ctx->users = next;
    }
}

tl_user *tl_user_find(const tally *ctx, const char *name, size_t length)
{
    tl_user *u = ctx ? ctx->users : NULL;
    while (u && (strlen(u->name) != length || memcmp(u->name, name, length))) u = u->next;
    return u;
}

/* ---- define ---- */

static tally_status check_name(tally *ctx, const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (!length || name[length] || (name[0] >= '0' && name[0] <= '9') || length >= TL_USER_NAME)
        return tl_invalid(
            ctx,
            "name is '%.60s': must be a letter, then letters, digits and _, at most %d characters",
            name, TL_USER_NAME - 1);
    for (const char *const *n = tally_operators(); *n; n++)
        if (!strcmp(*n, name))
            return tl_invalid(ctx, "name is '%s': that is a built-in operator", name);

    return TALLY_OK;
}

tally_status tally_define(tally *ctx, const char *name, const char *text, const char *where)
{
    if (!ctx) return tl_no_context();
    if (!name) return tl_invalid(ctx, "name is NULL: must be what the operator will be called");
    if (!text) return tl_invalid(ctx, "text is NULL: must be the operator's text");

    TL_TRY(check_name(ctx, name));

    size_t length = strnlen(text, TL_USER_TEXT + 1);
    if (length > TL_USER_TEXT)
        return tl_invalid(ctx, "text is longer than %d bytes, the most for operator '%s'",
                          TL_USER_TEXT, name);

    const tl_user *old = tl_user_find(ctx, name, strlen(name));
    if (old && !strcmp(old->text, text)) return TALLY_OK;

    tl_user *u = calloc(1, sizeof *u);
    if (!u) return tl_no_memory(ctx, sizeof *u, "an operator");

    strcpy(u->name, name);
    u->where = strdup(where ? where : name);
    u->text = strdup(text);
    u->hash = hash(text);
    tally_status status = u->where && u->text ? tl_facts_read(ctx, u->where, text, &u->facts)
                                              : tl_no_memory(ctx, length, "an operator's text");

    if (status) {
        release(u);
        return status;
    }

    /* streams and fragments may still use an older text of this name */
    u->next = ctx->users;
    ctx->users = u;
    memset(ctx->plans, 0, sizeof ctx->plans);
    return TALLY_OK;
}

tally_status tally_define_file(tally *ctx, const char *name, const char *path)
{
    char file_name[TL_USER_NAME + 1];
    if (!ctx) return tl_no_context();
    if (!path) return tl_invalid(ctx, "path is NULL: must name an operator's file");

    if (!name) { /* the name of the file without folder and ending */
        const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
        size_t length = strcspn(base, ".");
        if (length >= sizeof file_name)
            length = sizeof file_name - 1; /* too long: tally_define refuses it */
        memcpy(file_name, base, length);
        file_name[length] = 0;
        name = file_name;
    }

    FILE *f = fopen(path, "rb");
    if (!f) return tl_fail(ctx, TALLY_IO, "%s: %s", path, strerror(errno));

    char *text = malloc(TL_USER_TEXT + 2);
    if (!text) {
        fclose(f);
        return tl_no_memory(ctx, TL_USER_TEXT + 2, "an operator's text");
    }

    size_t got = fread(text, 1, TL_USER_TEXT + 1, f);
    int failed = ferror(f), why = errno;
    fclose(f);
    text[got] = 0;
    tally_status status;

    if (failed)
        status = tl_fail(ctx, TALLY_IO, "%s: %s", path, strerror(why));
    else if (strlen(text) != got)
        status =
            tl_bad_data(ctx, "%s: byte %zu is zero: an operator is a text", path, strlen(text));
    else
        status = tally_define(ctx, name, text, path);

    free(text);
    return status;
}

/* ---- instances ---- */

/* The same rule as cpu/kernel/instances.h for built-in operators. 0: no arithmetic. */
static tally_dtype default_accumulator(tl_acc_rule rule, tally_dtype d)
{
    if (rule == TL_ACC_NONE) return 0;
    if (rule == TL_ACC_F64 || d == TALLY_F64) return TALLY_F64;
    if (tl_dtype_kind(d) == 'F') return TALLY_F32;
    return rule == TL_ACC_REAL ? TALLY_F64 : tl_dtype_kind(d) == 'I' ? TALLY_I64 : TALLY_U64;
}

static int field_bytes(tl_field field, tally_dtype d, tally_dtype acc)
{
    if (field == TL_FIELD_REAL) return acc && acc != TALLY_F32 ? 8 : 4;
    return field == TL_FIELD_ORD || field == TL_FIELD_ELEM ? (int)tally_dtype_size(d) : 8;
}

/* *packed: the bytes of a state on processors; *aligned: on a GPU. */
static tally_status measure(tally *ctx, const tl_user *u, tally_dtype d, tally_dtype acc,
                            int *packed, int *aligned)
{
    assert(d >= TALLY_I8 && d <= TALLY_F64);
    int widest = 1;
    *packed = *aligned = 0;
    for (int i = 0; i < u->facts.fields; i++) {
        int bytes = field_bytes((tl_field)u->facts.field[i], d, acc);
        *packed += bytes;
        *aligned = (*aligned + bytes - 1) / bytes * bytes + bytes;
        if (bytes > widest) widest = bytes;
    }

    *aligned = (*aligned + widest - 1) / widest * widest;
    if (*aligned <= STATE_MOST) return TALLY_OK;

    return tl_bad_data(ctx, "%.200s:%d: a state takes %d bytes for %s: must be at most %d",
                       u->where, u->facts.state_line, *aligned, tally_dtype_name(d), STATE_MOST);
}

tally_status tl_user_resolve(tally *ctx, tl_user *u, tally_dtype d, tally_dtype acc,
                             const tl_scalar **op)
{
    assert(d >= TALLY_I8 && d <= TALLY_F64);
    assert(acc == 0 || acc == TALLY_F64);
    const tl_facts *f = &u->facts;
    tally_dtype usual = default_accumulator(f->acc, d);
    int on_request = (f->acc == TL_ACC_WIDE || f->acc == TL_ACC_REAL) && tl_dtype_kind(d) == 'F' &&
                     d != TALLY_F64,
        packed, aligned;
    *op = NULL;
    if (acc && acc != usual && !(acc == TALLY_F64 && on_request)) return TALLY_OK;

    if (!acc) acc = usual;
    for (tl_user_instance *i = u->instances; i; i = i->next)
        if (i->op.dtype == d && i->op.acc == acc) {
            *op = &i->op;
            return TALLY_OK;
        }

    TL_TRY(measure(ctx, u, d, acc, &packed, &aligned));

    tl_user_instance *i = calloc(1, sizeof *i);
    if (!i) return tl_no_memory(ctx, sizeof *i, "an operator's instance");

    int wraps = acc == TALLY_I64 || acc == TALLY_U64;
#define FACT(name) \
    (f->flag[TL_FLAG_##name] == TL_FACT_REAL_IS_EXACT ? wraps : f->flag[TL_FLAG_##name] != 0)
    i->user = u;
    i->device_bytes = aligned;
    i->op = (tl_scalar){
        .file = u->name,
        .core = u->name,
        .dtype = d,
        .acc = acc,
        .out = f->out == TL_OUT_ACC    ? acc
               : f->out == TL_OUT_SAME ? d
               : f->out == TL_OUT_IDX  ? TALLY_I64
                                       : TALLY_U8,
        .lanes = f->flag[TL_FLAG_LANES],
        .inputs = (uint8_t)f->flag[TL_FLAG_INPUTS],
        .elem_bytes = (uint8_t)tally_dtype_size(d),
        .state_bytes = (uint8_t)packed,
        .exact = FACT(EXACT),
        .idempotent = FACT(EXACT) && FACT(IDEMPOTENT),
        .inverse = FACT(EXACT) && FACT(INVERSE),
        .seedable = FACT(SEED),
        .indexed = 1, /* lift may use the index */
        .neutral = FACT(NEUTRAL),
        .user = i,
    };
#undef FACT
    i->op.result_bytes = (uint8_t)(tally_dtype_size(i->op.out) * (size_t)i->op.lanes);
    i->next = u->instances;
    u->instances = i;
    *op = &i->op;
    return TALLY_OK;
}

int tl_user_same(const tl_scalar *a, const tl_scalar *b)
{
    if (a == b) return 1;
    if (!a->user || !b->user || a->dtype != b->dtype || a->acc != b->acc) return 0;
    return !strcmp(a->user->user->text, b->user->user->text) && !strcmp(a->file, b->file);
}

/* ---- what compilers say ---- */

/* The place and the message in a line of a log: "NAME:3:14: error: m" (gcc, clang), "error:
 * NAME:3:14: m" (PoCL), "NAME(3): error: m" (NVRTC); NAME may be in quotes. Copies "3:14: m". */
static int read_log_line(const char *line, size_t length, const char *name, char *to,
                         size_t capacity)
{
    size_t n = strlen(name);
    int number = 0, column = 0, used = 0;

    for (const char *at = line; (at = memchr(at, name[0], length - (size_t)(at - line))); at++) {
        const char *p = at + n, *end = line + length;
        if ((size_t)(end - at) < n + 3 || memcmp(at, name, n)) continue;
        if (at > line && (at[-1] == '_' || at[-1] == '/' || isalpha((unsigned char)at[-1])))
            continue;
        p += *p == '"';

        if ((sscanf(p, ":%d:%d:%n", &number, &column, &used) != 2 || !used) &&
            (sscanf(p, "(%d)%n", &number, &used) != 1 || !used))
            continue;

        const char *message = p + used + strspn(p + used, ": ");
        if (!strncmp(message, "fatal ", 6)) message += 6;
        if (!strncmp(message, "error:", 6)) message += 6;
        message += strspn(message, " ");
        if (message > end) message = end;
        used = snprintf(to, capacity, column ? "%d:%d: " : "%d: ", number, column);
        snprintf(to + used, capacity - (size_t)used, "%.*s", (int)(end - message), message);
        return 1;
    }
    return 0;
}

/* Removes the suffix that instances add to the dialect's words, such as _s_df32_f32_x. */
static void plain_words(char *message)
{
    for (char *at = message; (at = strstr(at, "_d"));) {
        size_t dtype = strspn(at + 2, "bfiu0123456789"),
               acc = at[2 + dtype] == '_' ? strcspn(at + 3 + dtype, "_ ") : 0;
        char *end = at + 3 + dtype + acc;
        if (at > message + 1 && (at[-1] == 's' || at[-1] == 'v') && at[-2] == '_' && dtype && acc &&
            !strncmp(end, "_x", 2))
            memmove(at -= 2, end + 2, strlen(end + 2) + 1);
        else
            at++;
    }
}

/* Replaces messages of gcc and clang about common mistakes by plain ones. If the message contains
 * `contains` and then `also`, `plain` replaces it; %s is the first name in quotes. */
static void simplify_message(char *message, size_t capacity)
{
    static const char choose[] = "if, ?:, && and || are for one value, and kernels have many: "
                                 "write sel(c, a, b), which is a where c holds, else b";
    static const char nothing[] =
        "there is no function '%.40s': an operator has no mathematical library, but + - * /, "
        "root(x), the words of doc/dialect.md and functions of its own (fn)";
    static const char width[] =
        "the condition of sel compares values of another width than it chooses: compare the type "
        "of its results, as in sel(a.n < b.n, a.n, b.n), or use sel_idx, or idx_if(c), 1 or 0";

    static const struct {
        const char *contains, *also, *plain;
    } explanations[] = {
        {"used vector type where scalar is required", "", choose},
        {"used type '", "where arithmetic or pointer type is required", choose},
        {"statement requires expression of scalar type", "", choose},
        {"logical expression with vector types", "", choose},
        {"wrong type argument to unary exclamation mark", "", choose},
        {"invalid argument type '", "(vector of ", choose},
        {"implicit declaration of function '", "", nothing},
        {"implicitly declaring library function '", "", nothing},
        {"call to undeclared ", "function '", nothing},
        {"incompatible types when initializing type '__vector(", "using type '__vector(", width},
        {"initializing 'typeof (sel_a == sel_a)'", "(vector of ", width},
    };
    char *text = message + strspn(message, "0123456789:"), name[48] = "";
    text += *text == ' ';

    for (size_t i = 0; i < sizeof explanations / sizeof *explanations; i++) {
        const char *const contains = strstr(text, explanations[i].contains);
        if (!contains || !strstr(contains, explanations[i].also)) continue;
        sscanf(contains, "%*[^']'%40[^']", name);
        snprintf(text, capacity - (size_t)(text - message), explanations[i].plain, name);
        return;
    }
}

/* An error inside a word of the dialect. gcc names the word's own line, and in the next line, a
 * note, that of the text: "NAME:7:11: note: in expansion of macro 'sel'". Copies "7:11: m (in
 * 'sel', where a constant is written num(c))". */
static int read_word_error(const char *error, size_t length, const char *next, const char *name,
                           char *to, size_t capacity)
{
    char note[300], word[40] = "";
    int number, column;
    const char *message = memmem(error, length, "error: ", 7);

    for (const char *line = next; message && *line; line += *line == '\n') {
        size_t n = strcspn(line, "\n");
        if (memmem(line, n, " error: ", 8)) return 0;
        if (read_log_line(line, n, name, note, sizeof note) &&
            sscanf(note, "%d:%d: note: in expansion of macro '%30[a-z_]'", &number, &column,
                   word) == 3) {
            snprintf(to, capacity, "%d:%d: %.*s (in '%s', where a constant is written num(c))",
                     number, column, (int)(error + length - message - 7), message + 7, word);
            return 1;
        }

        line += n;
    }
    return 0;
}

tally_status tl_user_error(tally *ctx, const tl_user *u, const char *log)
{
    char message[300], first[300] = "";
    for (const char *line = log; *line; line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        const char *error = strstr(line, "error");
        if (error && error < line + length) {
            if (read_log_line(line, length, u->name, message, sizeof message) ||
                read_word_error(line, length, line + length, u->name, message, sizeof message)) {
                plain_words(message);
                simplify_message(message, sizeof message);
                return tl_bad_data(ctx, "%.180s:%s", u->where, message);
            }

            if (!*first) snprintf(first, sizeof first, "%.*s", (int)length, line);
        }

        line += length;
    }

    return tl_bad_data(ctx, "%.180s: the text does not fit the kernels: %s", u->where,
                       *first ? first : log);
}
