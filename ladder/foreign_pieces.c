/* SPDX-License-Identifier: MIT
 * The pieces of a text, and what is written of them. */
#include "foreign.h"
#include <ctype.h>
#include <stdarg.h>

void refuse(translation *w, int at, const char *format, ...)
{
    char why[300];
    if (w->failed) return;
    w->failed = 1;
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    fail_with(w->error, 1, "%s:%d: %s", w->file, w->pieces[at < w->count ? at : w->count - 1].line,
              why);
}

static void put(translation *w, const char *text, size_t n)
{
    enum { BYTES_MOST = 1 << 22 };
    output *const o = &w->out;
    if (o->used + n + 1 > o->capacity) {
        const size_t capacity = 2 * (o->capacity + n) + 256;
        char *more = capacity > BYTES_MOST ? NULL : realloc(o->text, capacity);
        if (!more) {
            refuse(w, 0, "the translated text has more than 4 MiB");
            return;
        }
        o->text = more;
        o->capacity = capacity;
    }
    memcpy(o->text + o->used, text, n);
    o->used += n;
    o->text[o->used] = 0;
}
void say(translation *w, const char *text) { put(w, text, strlen(text)); }
void copy(translation *w, const piece *p) { put(w, p->at, (size_t)p->length); }

void say_line_ends(translation *w, int from, int to)
{
    for (int i = from; i < to && i < w->count; i++)
        for (int k = 0; k < w->pieces[i].length; k++)
            if (w->pieces[i].at[k] == '\n') say(w, "\n");
}

int is(const translation *w, int i, const char *text)
{
    if (i < 0 || i >= w->count) return 0;
    const piece *p = &w->pieces[i];
    return (size_t)p->length == strlen(text) && !strncmp(p->at, text, (size_t)p->length);
}
void spell(const translation *w, int i, char *word)
{
    const piece *p = &w->pieces[i < w->count ? i : w->count - 1];
    snprintf(word, WORD_MOST, "%.*s", p->length, p->at);
}
int after(const translation *w, int i)
{
    for (i++; i < w->count && w->pieces[i].class == PIECE_SPACE; i++) {
    }
    return i;
}

int closing(const translation *w, int open)
{
    int depth = 0;
    for (int i = open; i < w->count; i++) {
        if (w->pieces[i].class != PIECE_SIGN) continue;
        depth += strchr("([{", *w->pieces[i].at) != NULL;
        depth -= strchr(")]}", *w->pieces[i].at) != NULL;
        if (depth == 0) return i;
    }
    return w->count;
}

int cut(translation *w, const char *text)
{
    int capacity = 0, line = 1, fresh = 1;
    for (const char *at = text; *at;) {
        piece p = {PIECE_SIGN, at, 1, line};
        if (w->count == capacity) {
            piece *more =
                realloc(w->pieces, (size_t)(capacity = 2 * capacity + 512) * sizeof *more);
            if (!more) return -1;
            w->pieces = more;
        }
        size_t n = 1;
        if (*at == '#' && fresh) {
            p.class = PIECE_LINE;
            for (n = 0; at[n] && (at[n] != '\n' || (n && at[n - 1] == '\\')); n++) {
            }
        } else if (isspace((unsigned char)*at)) {
            p.class = PIECE_SPACE;
            while (isspace((unsigned char)at[n])) n++;
        } else if (at[0] == '/' && (at[1] == '/' || at[1] == '*')) {
            const char *const end = strstr(at + 2, at[1] == '/' ? "\n" : "*/");
            p.class = PIECE_SPACE;
            n = end ? (size_t)(end - at) + (at[1] == '*' ? 2 : 0) : strlen(at);
        } else if (isalpha((unsigned char)*at) || *at == '_') {
            p.class = PIECE_WORD;
            while (isalnum((unsigned char)at[n]) || at[n] == '_') n++;
        } else if (isdigit((unsigned char)*at)) {
            p.class = PIECE_NUMBER;
            while (isalnum((unsigned char)at[n]) || at[n] == '.') n++;
        } else if (*at == '"' || *at == '\'') {
            p.class = PIECE_STRING;
            while (at[n] && at[n] != *at && at[n] != '\n') n += at[n] == '\\' && at[n + 1] ? 2 : 1;
            n += at[n] == *at;
        }
        p.length = (int)n;
        for (size_t i = 0; i < n; i++) line += at[i] == '\n';
        fresh = p.class == PIECE_SPACE ? fresh || memchr(at, '\n', n) != NULL : 0;
        w->pieces[w->count++] = p;
        at += n;
    }
    return 0;
}
