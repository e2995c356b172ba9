/* SPDX-License-Identifier: MIT
 * The preprocessor of kernel texts: macros with and without arguments are put in, #if and its
 * kin choose, and every line stays where it is, so that messages name the reader's lines.
 * #pragma and #line pass through. #include is refused, or passed over where foreign.c asks.
 *
 * A macro is not expanded inside itself (as in C), and what is looked at is limited, because
 * macros of macros grow by powers. */
#include "model.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACROS_MOST = 128,
    OPERANDS_MOST = 8,
    REPLACED_MOST = 1 << 18,
    IFS_MOST = 32,
    BYTES_MOST = 1 << 22
};

typedef struct span {
    const char *at;
    size_t length;
} span;
typedef struct macro {
    span name, body, operands[OPERANDS_MOST];
    int count; /* of its operands; -1: it takes none, not even () */
    int active;
} macro;
typedef struct buffer {
    char *text;
    size_t used, capacity;
} buffer;
typedef struct expander {
    const char *name;
    int line, failed, foreign, depth;
    macro macros[MACROS_MOST];
    int count, replaced;
    char on[IFS_MOST], done[IFS_MOST]; /* of #if: is this part read, was one read before? */
    int ifs;
    char *error;
    size_t error_capacity;
} expander;

static void refuse(expander *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void refuse(expander *x, const char *format, ...)
{
    if (x->failed) return;
    x->failed = 1;
    const int n = snprintf(x->error, x->error_capacity, "%s:%d: ", x->name, x->line);
    va_list list;
    va_start(list, format);
    if (n > 0 && (size_t)n < x->error_capacity)
        vsnprintf(x->error + n, x->error_capacity - (size_t)n, format, list);
    va_end(list);
}

static void put(expander *x, buffer *b, const char *text, size_t n)
{
    if (b->used + n + 1 > b->capacity) {
        const size_t capacity = 2 * (b->capacity + n) + 64;
        char *more = capacity > BYTES_MOST ? NULL : realloc(b->text, capacity);
        if (!more) {
            refuse(x, "the #define lines stand for more than 4 MiB");
            return;
        }
        b->text = more;
        b->capacity = capacity;
    }
    if (n) memcpy(b->text + b->used, text, n);
    b->used += n;
    b->text[b->used] = 0;
}

static int starts_name(char c) { return isalpha((unsigned char)c) || c == '_'; }
static int in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }
static int same(span a, span b) { return a.length == b.length && !memcmp(a.at, b.at, a.length); }
static span word(const char *text) { return (span){text, strlen(text)}; }

/* One piece of a text: a name, a number, a string, a comment, a line's end joined by \, or a
   character. */
static size_t piece(const char *at, const char *end)
{
    const size_t left = (size_t)(end - at);
    size_t n = 1;
    if (starts_name(*at)) {
        while (n < left && in_name(at[n])) n++;
    } else if (isdigit((unsigned char)*at)) {
        while (n < left && (in_name(at[n]) || at[n] == '.')) n++;
    } else if (*at == '"' || *at == '\'') {
        while (n < left && at[n] != *at && at[n] != '\n')
            n += at[n] == '\\' && n + 1 < left ? 2 : 1;
        n += n < left && at[n] == *at;
    } else if (left > 1 && at[0] == '/' && at[1] == '/') {
        while (n < left && at[n] != '\n') n++;
    } else if (left > 1 && at[0] == '/' && at[1] == '*') {
        for (n = 2; n < left && !(at[n - 1] == '*' && at[n] == '/' && n > 2); n++) {
        }
        n += n < left;
    } else if (left > 1 && at[0] == '\\' && at[1] == '\n') {
        n = 2;
    }
    return n < left ? n : left;
}
static int is_comment(const char *at, size_t n)
{
    return n > 1 && at[0] == '/' && (at[1] == '/' || at[1] == '*');
}
static int is_blank(const char *at, size_t n)
{
    return isspace((unsigned char)*at) || *at == '\\' || is_comment(at, n);
}

static macro *find(expander *x, span name)
{
    for (int i = x->count - 1; i >= 0; i--)
        if (same(x->macros[i].name, name)) return &x->macros[i];
    return NULL;
}

static span trimmed(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at)) at++;
    while (end > at && isspace((unsigned char)end[-1])) end--;
    return (span){at, (size_t)(end - at)};
}

/* The operands of a macro at '(': their number, and past the ')'; -1: there is no ')'. */
static int operands(const char *open, const char *end, span *list, const char **past)
{
    int depth = 0, count = 0;
    const char *from = open + 1;
    for (const char *at = open; at < end; at += piece(at, end)) {
        depth += *at == '(' || *at == '[' || *at == '{';
        depth -= *at == ')' || *at == ']' || *at == '}';
        if ((*at == ',' && depth == 1) || (*at == ')' && depth == 0)) {
            if (count < OPERANDS_MOST) list[count] = trimmed(from, at);
            count++;
            from = at + 1;
        }
        if (depth == 0) {
            *past = at + 1;
            return count == 1 && !list[0].length ? 0 : count;
        }
    }
    return -1;
}

static void expand(expander *x, span text, buffer *out);

/* The body with the operands in the place of their names: those beside ## as they are. */
static void substitute(expander *x, const macro *m, const span *given, buffer *out)
{
    const char *const end = m->body.at + m->body.length;
    int pasted = 0;
    for (const char *at = m->body.at; at < end && !x->failed;) {
        const size_t n = piece(at, end);
        if (at[0] == '#' && at + 1 < end && at[1] == '#') {
            while (out->used && isspace((unsigned char)out->text[out->used - 1])) out->used--;
            at += 2;
            while (at < end && isspace((unsigned char)*at)) at++;
            pasted = 1;
            continue;
        }
        if (at[0] == '#')
            refuse(x, "the model has no # in a macro, as in '%.*s'", (int)m->name.length,
                   m->name.at);
        int which = -1;
        for (int i = 0; i < m->count; i++)
            if (same((span){at, n}, m->operands[i])) which = i;
        const char *next = at + n;
        while (next < end && isspace((unsigned char)*next)) next++;
        if (next + 1 < end && next[0] == '#' && next[1] == '#') pasted = 1;
        if (which < 0)
            put(x, out, at, n);
        else if (pasted)
            put(x, out, given[which].at, given[which].length);
        else
            expand(x, given[which], out);
        pasted = 0;
        at += n;
    }
}

/* A call of m behind its name: what it stands for goes to out. Past the call. */
static const char *use(expander *x, macro *m, const char *at, const char *end, buffer *out)
{
    span given[OPERANDS_MOST] = {{0}};
    const char *past = at;
    buffer body = {0};
    if (m->count >= 0) {
        const char *open = at;
        while (open < end && is_blank(open, piece(open, end))) open += piece(open, end);
        if (open == end || *open != '(') { /* its name alone */
            put(x, out, m->name.at, m->name.length);
            return at;
        }
        const int count = operands(open, end, given, &past);
        if (count != m->count) {
            refuse(x, "the macro '%.*s' takes %d operands, not %d", (int)m->name.length, m->name.at,
                   m->count, count < 0 ? 0 : count);
            return end;
        }
    }
    if (++x->depth > 60) refuse(x, "more than 60 macros in each other");
    substitute(x, m, given, &body);
    m->active++;
    if (body.used) expand(x, (span){body.text, body.used}, out);
    m->active--;
    x->depth--;
    free(body.text);
    return past;
}

/* On one line: ends of lines and comments become a space. */
static void expand(expander *x, span text, buffer *out)
{
    const char *const end = text.at + text.length;
    for (const char *at = text.at; at < end && !x->failed;) {
        const size_t n = piece(at, end);
        macro *m = starts_name(*at) ? find(x, (span){at, n}) : NULL;
        if (++x->replaced > REPLACED_MOST)
            refuse(x, "the #define lines stand for more than 262144 tokens");
        if (m && !m->active) {
            at = use(x, m, at + n, end, out);
        } else {
            if (is_blank(at, n))
                put(x, out, " ", 1);
            else
                put(x, out, at, n);
            at += n;
        }
    }
}

/* ---- lines with # ---- */

static span next_word(const char **at, const char *end)
{
    while (*at < end && is_blank(*at, piece(*at, end))) *at += piece(*at, end);
    const char *const from = *at;
    if (*at < end) *at += piece(*at, end);
    return (span){from, (size_t)(*at - from)};
}

static void define(expander *x, const char *at, const char *end)
{
    macro m = {.name = next_word(&at, end), .count = -1};
    if (!m.name.length || !starts_name(*m.name.at)) {
        refuse(x, "#define needs a name");
        return;
    }
    if (at < end && *at == '(') {
        const char *past = at;
        m.count = operands(at, end, m.operands, &past);
        if (m.count < 0 || m.count > OPERANDS_MOST) {
            refuse(x, "the macro '%.*s' has more than %d operands, or no ')'", (int)m.name.length,
                   m.name.at, OPERANDS_MOST);
            return;
        }
        at = past;
    }
    m.body = trimmed(at, end);
    macro *const old = find(x, m.name);
    if (!old && x->count == MACROS_MOST)
        refuse(x, "more than %d #define at '%.*s'", MACROS_MOST, (int)m.name.length, m.name.at);
    else
        *(old ? old : &x->macros[x->count++]) = m;
}

/* #if 0, #if NAME, #if defined(NAME), #if !defined(NAME) */
static int condition(expander *x, const char *at, const char *end)
{
    at += strspn(at, " \t");
    const char *const from = at;
    span w = next_word(&at, end);
    int no = 0, value = 0;
    if (same(w, word("!"))) no = 1, w = next_word(&at, end);
    if (same(w, word("defined"))) {
        w = next_word(&at, end);
        const int open = same(w, word("("));
        if (open) w = next_word(&at, end);
        value = find(x, w) != NULL;
        if (open) next_word(&at, end);
    } else {
        macro *m = find(x, w);
        for (int i = 0; m && i < MACROS_MOST; i++) w = m->body, m = find(x, w);
        char number[32];
        snprintf(number, sizeof number, "%.*s", (int)(w.length < 31 ? w.length : 31), w.at);
        value = atoi(number) != 0;
        if (!isdigit((unsigned char)*number) && !(w.length && starts_name(*number))) at = from;
    }
    if (next_word(&at, end).length)
        refuse(x, "the model reads #if 0, #if NAME and #if defined(NAME), and not '#if %.*s'",
               (int)(end - from), from);
    return no ? !value : value;
}

static int reading(const expander *x)
{
    for (int i = 0; i < x->ifs; i++)
        if (!x->on[i]) return 0;
    return 1;
}

static int choose(expander *x, span w, const char *at, const char *end) /* #if and its kin? */
{
    const int ifdef = same(w, word("ifdef")), ifndef = same(w, word("ifndef"));
    const int last = x->ifs - 1;
    if (ifdef || ifndef || same(w, word("if"))) {
        if (x->ifs == IFS_MOST) {
            refuse(x, "more than %d #if in each other", IFS_MOST);
            return 1;
        }
        int yes = 0;
        if (reading(x))
            yes = ifdef || ifndef ? (find(x, next_word(&at, end)) != NULL) == ifdef
                                  : condition(x, at, end);
        x->on[x->ifs] = x->done[x->ifs] = (char)yes;
        x->ifs++;
    } else if (same(w, word("else")) || same(w, word("elif")) || same(w, word("endif"))) {
        if (last < 0) {
            refuse(x, "#%.*s without #if", (int)w.length, w.at);
        } else if (w.at[1] == 'n') {
            x->ifs--;
        } else {
            x->on[last] = 0;
            if (!x->done[last]) x->on[last] = w.at[2] == 's' || (reading(x), condition(x, at, end));
            x->done[last] |= x->on[last];
        }
    } else {
        return 0;
    }
    return 1;
}

static void directive(expander *x, span line, buffer *out)
{
    const char *at = line.at + 1, *const end = line.at + line.length;
    const span w = next_word(&at, end);
    if (choose(x, w, at, end) || !reading(x)) return;
    if (same(w, word("define")))
        define(x, at, end);
    else if (same(w, word("undef"))) {
        macro *const m = find(x, next_word(&at, end));
        if (m) *m = x->macros[--x->count];
    } else if (same(w, word("include"))) {
        if (!x->foreign) refuse(x, "a kernel's text must be whole, without '#include'");
    } else if (same(w, word("pragma")) || same(w, word("line"))) {
        put(x, out, line.at, line.length);
    } else if (w.length) {
        refuse(x, "the model reads #define, #undef, #if and #pragma, and no line with '%.*s'",
               (int)w.length, w.at);
    }
}

static int lines_in(const char *at, const char *end)
{
    int n = 0;
    for (; at < end; at++) n += *at == '\n';
    return n;
}

static void whole(expander *x, const char *text, buffer *out)
{
    const char *const end = text + strlen(text);
    int fresh = 1;
    for (const char *at = text; at < end && !x->failed;) {
        size_t n = piece(at, end);
        const char *past = at + n;
        if (*at == '#' && fresh) {
            while (past < end && *past != '\n') past += piece(past, end);
            directive(x, (span){at, (size_t)(past - at)}, out);
            for (int i = lines_in(at, past); i > 0; i--) put(x, out, "\n", 1), x->line++;
            at = past;
            continue;
        }
        macro *const m = starts_name(*at) && reading(x) ? find(x, (span){at, n}) : NULL;
        if (m) {
            past = use(x, m, past, end, out);
            for (int i = lines_in(at, past); i > 0; i--) put(x, out, "\n", 1);
        } else if (!reading(x) || is_comment(at, n) || (n == 2 && *at == '\\')) {
            put(x, out, " ", 1);
            for (int i = lines_in(at, past); i > 0; i--) put(x, out, "\n", 1);
        } else {
            put(x, out, at, n);
        }
        x->line += lines_in(at, past);
        fresh = *at == '\n' || (fresh && is_blank(at, n));
        at = past;
    }
    if (x->ifs) refuse(x, "an #if has no #endif");
}

char *model_expand(const char *text, const char *name, int foreign, char *error, size_t capacity)
{
    expander *x = calloc(1, sizeof *x);
    buffer out = {0};
    if (!x) {
        snprintf(error, capacity, "%s:1: out of memory", name);
        return NULL;
    }
    x->name = name;
    x->line = 1;
    x->foreign = foreign;
    x->error = error;
    x->error_capacity = capacity;
    put(x, &out, "", 0);
    whole(x, text, &out);
    const int failed = x->failed;
    free(x);
    if (!failed) return out.text;
    free(out.text);
    return NULL;
}
