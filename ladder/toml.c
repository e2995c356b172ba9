/* SPDX-License-Identifier: MIT
 * Reads TOML (assignment.h): one pass, line by line. A list may have several lines. */
#include "assignment.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *file, *at, *line_start;
    int line;
    ladder_error *error;
} reader;

static int complain(const reader *r, const char *what)
{
    return fail_with(r->error, 1, "%s:%d:%d: %s", r->file, r->line,
                     (int)(r->at - r->line_start) + 1, what);
}

/* Skips blanks and a comment. lines: ends of lines too. */
static void skip(reader *r, int lines)
{
    for (;; r->at++) {
        if (*r->at == '#') r->at += strcspn(r->at, "\n");
        if (*r->at == '\n' && lines) {
            r->line++;
            r->line_start = r->at + 1;
        } else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r') {
            return;
        }
    }
}

static int read_name(reader *r, char *to)
{
    size_t n = 0;
    while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_' || r->at[n] == '-') n++;
    if (!n) return complain(r, "a name was expected: letters, digits, _ and -");
    if (n >= TOML_WORD) return complain(r, "a name has at most 31 characters");
    memcpy(to, r->at, n);
    to[n] = 0;
    r->at += n;
    return 0;
}

/* Reads a number or a string. */
static int read_item(reader *r, toml_item *x)
{
    char *end;
    size_t n = 0;
    if (*r->at != '"') {
        x->number = strtod(r->at, &end);
        if (!isdigit((unsigned char)r->at[*r->at == '-' || *r->at == '+']) || end == r->at)
            return complain(r, "a value is a number, a \"string\", or a list of these in [ ]");
        if (isalnum((unsigned char)*end) || *end == '_')
            return complain(r, "a number ends here, and more follows");
        if (!(x->number >= -1e15 && x->number <= 1e15))
            return complain(r, "a number is at most 1e15 here");
        r->at = end;
        return 0;
    }
    x->is_text = 1;
    for (r->at++; *r->at != '"'; r->at++) {
        if (!*r->at || *r->at == '\n') return complain(r, "the string does not end on its line");
        if ((unsigned char)*r->at < 0x20) return complain(r, "a string has no control characters");
        if (*r->at == '\\' && *++r->at != '"' && *r->at != '\\')
            return complain(r, "after \\ in a string comes \" or \\, and nothing else here");
        if (n + 1 >= TOML_TEXT) return complain(r, "a string has at most 199 bytes here");
        x->text[n++] = *r->at;
    }
    x->text[n] = 0;
    r->at++;
    return 0;
}

/* Reads an item or a list of them. */
static int read_value(reader *r, toml_entry *e)
{
    if (*r->at != '[') {
        e->count = 1;
        return read_item(r, &e->item[0]);
    }
    e->is_list = 1;
    r->at++;
    for (skip(r, 1); *r->at != ']'; skip(r, 1)) {
        if (e->count == TOML_ITEMS) return complain(r, "a list has at most 32 values here");
        if (read_item(r, &e->item[e->count])) return r->error->code;
        if (e->item[e->count++].is_text != e->item[0].is_text)
            return complain(r, "a list has numbers or strings, not both");
        skip(r, 1);
        if (*r->at == ',')
            r->at++;
        else if (*r->at != ']')
            return complain(r, "',' or ']' was expected in the list");
    }
    r->at++;
    return 0;
}

/* Reads `key = value`. */
static int read_entry(reader *r, toml *t, const char *table)
{
    if (t->count == TOML_KEYS) return complain(r, "more than 64 keys");
    toml_entry *e = &t->entry[t->count];
    snprintf(e->table, sizeof e->table, "%s", table);
    e->line = r->line;
    e->column = (int)(r->at - r->line_start) + 1;
    const reader start = *r;
    if (read_name(r, e->key)) return r->error->code;
    for (int i = 0; i < t->count; i++)
        if (!strcmp(t->entry[i].key, e->key) && !strcmp(t->entry[i].table, table)) {
            *r = start;
            return complain(r, "this key is there already");
        }
    skip(r, 0);
    if (*r->at != '=') return complain(r, "'=' was expected behind the key");
    r->at++;
    skip(r, 0);
    t->count++;
    return read_value(r, e);
}

int toml_read(const char *file, const char *text, toml *t, ladder_error *error)
{
    reader r = {file, text, text, 1, error};
    char table[TOML_WORD] = "";
    memset(t, 0, sizeof *t);
    for (skip(&r, 1); *r.at; skip(&r, 1)) {
        int code;
        if (*r.at == '[') {
            r.at++;
            skip(&r, 0);
            code = read_name(&r, table);
            skip(&r, 0);
            if (!code && *r.at != ']')
                code = complain(&r, "']' was expected behind the name of the table");
            if (!code) r.at++;
        } else {
            code = read_entry(&r, t, table);
        }
        skip(&r, 0);
        if (!code && *r.at && *r.at != '\n')
            code = complain(&r, "the line ends here, and more follows");
        if (code) return code;
    }
    return 0;
}
