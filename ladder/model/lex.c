/* SPDX-License-Identifier: MIT
 * Tokens of a kernel text: names, numbers, signs; comments are left out, `#define NAME tokens`
 * is put in where NAME is used, #pragma and #line are passed over. Other lines with # would
 * change the text behind the model's back, so they are refused: what the model gets must be a
 * whole text. */
#include "code.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFINES_MOST = 24, TOKENS_MOST = 1 << 16, REPLACED_MOST = 1 << 18 };

typedef struct define {
    char name[NAME_BYTES];
    int first, count;
} define;

typedef struct lexer {
    const char *at, *name;
    int line, count, room, defining;
    token *tokens, *kept; /* kept: the bodies of defines */
    int kept_count;
    define defines[DEFINES_MOST];
    int define_count, replaced; /* tokens looked at while defines were put in */
    char *error;
    size_t error_room;
} lexer;

static int complain(lexer *l, const char *what, const char *text)
{
    snprintf(l->error, l->error_room, "%s:%d: %s '%s'", l->name, l->line, what, text);
    return -1;
}

static int push(lexer *l, token t)
{
    if (l->count == l->room) {
        int room = l->room ? 2 * l->room : 512;
        token *more = room > TOKENS_MOST ? NULL : realloc(l->tokens, (size_t)room * sizeof *more);
        if (!more) return complain(l, "the text is too long for the model near", t.text);
        l->tokens = more;
        l->room = room;
    }
    l->tokens[l->count++] = t;
    return 0;
}

static int number(lexer *l, token *t)
{
    char *end, *whole;
    t->class = TOKEN_NUMBER;
    snprintf(t->text, sizeof t->text, "%.*s", (int)strspn(l->at, ".0123456789abcdefABCDEFxX"),
             l->at);
    t->real = strtod(l->at, &end);
    errno = 0;
    t->integer = (int64_t)strtoull(l->at, &whole, 0);
    if (end > whole || (*whole == '.' || *whole == 'f')) {
        t->kind = *end == 'f' || *end == 'F' ? KIND_F32 : KIND_F64;
        if (t->kind == KIND_F32) t->real = (float)t->real, end++;
        l->at = end;
        return 0;
    }
    if (errno == ERANGE) return complain(l, "a whole number of more than 64 bits:", t->text);
    int is_unsigned = 0, is_long = 0;
    for (end = whole; *end == 'u' || *end == 'U' || *end == 'l' || *end == 'L'; end++)
        *end == 'u' || *end == 'U' ? (is_unsigned = 1) : (is_long = 1);
    if (t->integer > INT32_MAX + (int64_t)is_unsigned * ((int64_t)1 << 31)) is_long = 1;
    if (t->integer < 0) is_long = is_unsigned = 1;
    t->kind = is_long ? (is_unsigned ? KIND_U64 : KIND_I64) : (is_unsigned ? KIND_U32 : KIND_I32);
    l->at = end;
    return 0;
}

static int directive(lexer *l);

/* One token, or the class TOKEN_END at the end of the text (or of the line, inside a #define). */
static int next(lexer *l, token *t)
{
    static const char *const signs[] = {
        "<<=", ">>=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>",
        "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "++", "--"};
    memset(t, 0, sizeof *t);
    for (;;) {
        if (*l->at == '\n' && l->defining) return 0;
        if (*l->at == '\n') {
            l->line++;
            l->at++;
        } else if (*l->at == '\\' && l->at[1] == '\n') {
            l->line++;
            l->at += 2;
        } else if (isspace((unsigned char)*l->at)) {
            l->at++;
        } else if (l->at[0] == '/' && l->at[1] == '/') {
            while (*l->at && *l->at != '\n') l->at++;
        } else if (l->at[0] == '/' && l->at[1] == '*') {
            for (l->at += 2; *l->at && !(l->at[0] == '*' && l->at[1] == '/'); l->at++)
                l->line += *l->at == '\n';
            if (*l->at) l->at += 2;
        } else if (*l->at == '#' && !l->defining) {
            if (directive(l)) return -1;
        } else {
            break;
        }
    }
    t->line = l->line;
    if (!*l->at) return 0;
    if (isalpha((unsigned char)*l->at) || *l->at == '_') {
        size_t n = 0;
        while (isalnum((unsigned char)l->at[n]) || l->at[n] == '_') n++;
        if (n >= NAME_BYTES) return complain(l, "a name of more than 31 characters near", "");
        memcpy(t->text, l->at, n);
        t->class = TOKEN_NAME;
        l->at += n;
        return 0;
    }
    if (isdigit((unsigned char)*l->at) || (*l->at == '.' && isdigit((unsigned char)l->at[1])))
        return number(l, t);
    t->class = TOKEN_SIGN;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!strncmp(l->at, signs[i], strlen(signs[i]))) {
            strcpy(t->text, signs[i]);
            l->at += strlen(signs[i]);
            return 0;
        }
    t->text[0] = *l->at;
    if (!strchr("+-*/%<>=!&|^~?:;,.(){}[]", *l->at))
        return complain(l, "the model does not know the sign", t->text);
    l->at++;
    return 0;
}

/* A line with #: #define NAME tokens means something. The build puts in what #include names
 * (cmake/ladder.cmake), and a file of the reader's must do without, as without #if and its like. */
static int directive(lexer *l)
{
    token t;
    l->at++;
    l->defining = 1;
    if (next(l, &t)) return -1;
    if (!strcmp(t.text, "include"))
        return complain(l, "a kernel's text must be whole, without", "#include");
    if (t.class == TOKEN_NAME && strcmp(t.text, "define") && strcmp(t.text, "pragma") &&
        strcmp(t.text, "line"))
        return complain(l, "the model reads #define and #pragma, and no line with", t.text);
    if (!strcmp(t.text, "define")) {
        if (l->define_count == DEFINES_MOST) return complain(l, "more than 24 #define at", t.text);
        define *d = &l->defines[l->define_count];
        if (next(l, &t)) return -1;
        if (*l->at == '(') return complain(l, "the model has no macros with arguments, as", t.text);
        memcpy(d->name, t.text, sizeof d->name);
        d->first = l->kept_count;
        for (d->count = 0;; d->count++) {
            if (next(l, &t)) return -1;
            if (t.class == TOKEN_END) break;
            token *more = realloc(l->kept, (size_t)(l->kept_count + 1) * sizeof *more);
            if (!more) return complain(l, "out of memory at", t.text);
            l->kept = more;
            l->kept[l->kept_count++] = t;
        }
        l->define_count++;
    }
    while (*l->at && *l->at != '\n') l->at++;
    l->defining = 0;
    return 0;
}

/* t, or what it was defined as (defines may use earlier ones). Defines of defines grow by
 * powers, even to nothing at all, so what is looked at is limited too. */
static int put_in(lexer *l, token t, int below)
{
    if (below < l->define_count && ++l->replaced > REPLACED_MOST)
        return complain(l, "the #define lines stand for more than 262144 tokens, near", t.text);
    for (int i = below - 1; i >= 0 && t.class == TOKEN_NAME; i--) {
        if (strcmp(l->defines[i].name, t.text) != 0) continue;
        for (int k = 0; k < l->defines[i].count; k++) {
            token inner = l->kept[l->defines[i].first + k];
            inner.line = t.line;
            if (put_in(l, inner, i)) return -1;
        }
        return 0;
    }
    return push(l, t);
}

int model_lex(const char *text, const char *name, token **tokens, char *error, size_t room)
{
    lexer l = {.at = text, .name = name, .line = 1, .error = error, .error_room = room};
    int failed = 0;
    token t = {.class = TOKEN_NAME};
    while (!failed && t.class != TOKEN_END) {
        failed = next(&l, &t);
        if (!failed) failed = put_in(&l, t, l.define_count);
    }
    free(l.kept);
    if (failed) {
        free(l.tokens);
        return -1;
    }
    *tokens = l.tokens;
    return l.count;
}
