/* SPDX-License-Identifier: MIT
 * The preprocessor of kernel texts (expand.c). */
#ifndef LADDER_EXPAND_H
#define LADDER_EXPAND_H
#include <stddef.h>

/* The text with its macros put in, line for line (caller frees); NULL and a sentence with the
 * place on failure. foreign: lines with #include are passed over; else they are refused. */
char *model_expand(const char *text, const char *name, int foreign, char *error, size_t capacity);
#endif
