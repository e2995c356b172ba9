/* SPDX-License-Identifier: MIT
 * A small part of TOML, read strictly: tables [name], keys with a string, a number or a list of
 * these. */
#ifndef LADDER_TOML_H
#define LADDER_TOML_H
#include "ladder.h"

enum { TOML_KEYS = 64, TOML_ITEMS = 32, TOML_WORD = 32, TOML_TEXT = 200 };
typedef struct toml_item {
    int is_text;
    double number;
    char text[TOML_TEXT];
} toml_item;
typedef struct toml_entry {
    char table[TOML_WORD], key[TOML_WORD]; /* table "": before the first one */
    int line, column;                      /* of the key */
    int is_list, count;
    toml_item item[TOML_ITEMS];
} toml_entry;
typedef struct toml {
    int count;
    toml_entry entry[TOML_KEYS];
} toml;

/* Returns 0, or error->code; the message begins with file:line:column. */
int toml_read(const char *file, const char *text, toml *t, ladder_error *error);
#endif
