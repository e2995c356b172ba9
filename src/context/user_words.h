/* SPDX-License-Identifier: MIT
 * The tokens of an operator's text, for user_facts.c. Comments and literals are replaced by blanks
 * first; then each call advances *at. */
#pragma once

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static inline int is_space(char c) { return c == ' ' || c == '\t' || c == '\v'; }
static inline int is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Joins lines that a backslash continues, before tokens are read. A \v, a space that counts as a
 * line, replaces the newline, there or at the next blank. White space other than blanks and
 * newlines becomes a space. */
static inline void join_lines(char *t)
{
    size_t joined = 0;
    char *to = t;

    for (const char *p = t;;) {
        while (p[0] == '\\' && (p[1] == '\n' || (p[1] == '\r' && p[2] == '\n')))
            p += p[1] == '\n' ? 2 : 3, joined++;
        char c = *p == '\v' || *p == '\f' || *p == '\r' ? ' ' : *p;
        if (joined && (!c || c == '\n' || is_space(c) || (to > t && is_space(to[-1]))))
            for (; joined; joined--) *to++ = '\v'; /* each joined newline took two bytes */
        *to++ = c;
        if (!*p++) return;
    }
}

/* Replaces comments and quoted characters by spaces, and newlines inside them by \v. */
static inline void blank(char *t)
{
    for (char *p = t; *p;) {
        char *end = p;
        if (p[0] == '/' && p[1] == '/') {
            end += strcspn(p, "\n");
        } else if (p[0] == '/' && p[1] == '*') {
            char *close = strstr(p + 2, "*/");
            end = close ? close + 2 : p + strlen(p);
        } else if (*p == '\'') {
            for (end = p + 1; *end && *end != '\'' && *end != '\n'; end++)
                if (*end == '\\' && end[1] && end[1] != '\n') end++;
            end = *end == '\'' ? end + 1 : p; /* not closed: it stays, and is refused */
        }

        if (end == p) end++, p++;
        for (; p < end; p++) *p = *p == '\n' || *p == '\v' ? '\v' : ' ';
    }
}

static inline void skip(const char **at)
{
    while (is_space(**at)) ++*at;
}

static inline void skip_lines(const char **at)
{
    while (is_space(**at) || **at == '\n') ++*at;
}

/* Reads the next word, cut to capacity - 1 bytes; "" if there is none. */
static inline const char *word(const char **at, char *to, size_t capacity)
{
    size_t n = 0;
    while (is_word(**at)) {
        if (n + 1 < capacity) to[n++] = **at;
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
