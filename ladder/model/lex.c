/* SPDX-License-Identifier: MIT
 * Tokens of a kernel text whose macros are put in (expand.c): names, numbers, signs. Comments
 * are left out, #pragma is passed over, #line is heeded. */
#include "code.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS_MOST = 1 << 16 };

typedef struct lexer {
    const char *at, *name;
    int line, count, capacity;
    token *tokens;
    char *error;
    size_t error_capacity;
} lexer;

static int complain(lexer *l, const char *what, const char *text)
{
    snprintf(l->error, l->error_capacity, "%s:%d: %s '%s'", l->name, l->line, what, text);
    return -1;
}

static int push(lexer *l, token t)
{
    if (l->count == l->capacity) {
        int capacity = l->capacity ? 2 * l->capacity : 512;
        token *more =
            capacity > TOKENS_MOST ? NULL : realloc(l->tokens, (size_t)capacity * sizeof *more);
        if (!more) return complain(l, "the text is too long for the model near", t.text);
        l->tokens = more;
        l->capacity = capacity;
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

/* #line N: the next line is N. #pragma: passed over. The rest is done with (expand.c). */
static void directive(lexer *l)
{
    if (!strncmp(l->at, "#line", 5)) l->line = atoi(l->at + 5) - 1;
    while (*l->at && *l->at != '\n') l->at++;
}

/* One token, or the class TOKEN_END at the end of the text. */
static int next(lexer *l, token *t)
{
    static const char *const signs[] = {
        "<<=", ">>=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>",
        "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "++", "--"};
    memset(t, 0, sizeof *t);
    for (;;) {
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
        } else if (*l->at == '#') {
            directive(l);
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

int model_lex(const char *text, const char *name, token **tokens, char *error, size_t capacity)
{
    char *const whole = model_expand(text, name, 0, error, capacity);
    lexer l = {.at = whole, .name = name, .line = 1, .error = error, .error_capacity = capacity};
    int failed = !whole;
    token t = {.class = TOKEN_NAME};
    while (!failed && t.class != TOKEN_END) {
        failed = next(&l, &t);
        if (!failed) failed = push(&l, t);
    }
    free(whole);
    if (failed) {
        free(l.tokens);
        return -1;
    }
    *tokens = l.tokens;
    return l.count;
}
