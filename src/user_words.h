/* SPDX-License-Identifier: MIT
 * The words of an operator's text, for user_facts.c: comments and literals are blanked out, then each call moves
 * *at on. */
#ifndef TALLY_USER_WORDS_H
#define TALLY_USER_WORDS_H
#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Comments and literals become spaces; a newline inside them or after a backslash becomes \v, which is a space that
 * counts. */
static inline void blank(char *t)
{
    for (char *p = t; *p;) {
        char *end = p;
        if (p[0] == '/' && p[1] == '/') {
            while (*end && *end != '\n') end += end[0] == '\\' && end[1] == '\n' ? 2 : 1;
        } else if (p[0] == '/' && p[1] == '*') {
            char *close = strstr(p + 2, "*/");
            end = close ? close + 2 : p + strlen(p);
        } else if (*p == '"' || *p == '\'') {
            for (end = p + 1; *end && *end != *p && *end != '\n'; end++)
                if (*end == '\\' && end[1]) end++;
            end += *end == *p;
        } else if (p[0] == '\\' && p[1] == '\n') {
            end = p + 2;
        } else if (p[0] == '\r') {
            end = p + 1;
        }
        if (end == p) end++, p++;
        for (; p < end; p++) *p = *p == '\n' ? '\v' : ' ';
    }
}

static inline int is_space(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
static inline int is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static inline void skip(const char **at)
{
    while (is_space(**at)) ++*at;
}
static inline void skip_lines(const char **at)
{
    while (is_space(**at) || **at == '\n') ++*at;
}

/* The next word, cut to room - 1 bytes; "" if there is none. */
static inline const char *word(const char **at, char *to, size_t room)
{
    size_t n = 0;
    while (is_word(**at)) {
        if (n + 1 < room) to[n++] = **at;
        ++*at;
    }
    to[n] = 0;
    return to;
}

static inline int mark(const char **at, char c)
{
    skip(at);
    if (**at != c) return 0;
    ++*at;
    return 1;
}
#endif
