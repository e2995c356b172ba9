/* SPDX-License-Identifier: MIT
 * Texts in CUDA C++ and OpenCL C as texts of the dialect (foreign.c). */
#ifndef LADDER_FOREIGN_H
#define LADDER_FOREIGN_H
#include "rung.h"

/* *out: the text in the dialect, line for line (caller frees), or NULL where `text` is in the
 * dialect already. Returns 0, or error->code with a sentence that names file and line. */
int foreign_text(const char *file, const char *text, char **out, ladder_error *error);
#endif
