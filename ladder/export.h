/* SPDX-License-Identifier: MIT
 * A rung as a program of its own (export.c), from its kernel's text in the words of an API
 * (words.c). */
#ifndef LADDER_EXPORT_H
#define LADDER_EXPORT_H
#include "rung.h"

typedef enum { API_CUDA, API_OPENCL, API_C, APIS } api;
const char *api_name(api a);
int api_parse(const char *name, api *a);

int has_word(const char *text, const char *word);
const char *after_head(const char *text); /* behind the text's first comment */
/* Writes the text of a kernel, without its first comment, in the words of the API; and what it
 * needs before it. */
void words_kernel(FILE *f, api a, const char *text);
void words_before_kernel(FILE *f, api a, const model_setting *s, const rung *g, const char *text);
const char *words_type(api a, kind k); /* on the host */
/* A host text with its LAUNCH lines spelled out. */
void words_host(FILE *f, api a, const char *text);

/* The whole program, or its host part alone. Fails (2) where there is none: a rung of the
   processors in CUDA. */
int export_program(FILE *f, const rung *g, api a, const model_setting *s, int host_only,
                   ladder_error *error);
void export_schedule(FILE *f, const rung *g, api a); /* the host's launches alone */
#endif
