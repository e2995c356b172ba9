/* SPDX-License-Identifier: MIT
 * Operators of users on CPUs. */
#pragma once

#include "context/user.h"

/* Compiles the instance for instruction set number isa, once. Requires: no other thread uses the
 * instance yet. */
tally_status tl_user_compile(tally *ctx, const tl_scalar *op, int isa);

/* ---- compiler.c ---- */

/* The system's C compiler at run time: the words of $CC, or the first of cc, gcc, clang in PATH. */

enum { TL_COMPILER_WORDS = 8, TL_COMPILER_PATH = 512, TL_COMPILER_ARGUMENTS = 40 };

typedef struct {
    char words[TL_COMPILER_PATH]; /* $CC, cut at its spaces */
    /* the program and its first arguments, terminated by NULL */
    const char *argument[TL_COMPILER_WORDS];
    char path[TL_COMPILER_PATH]; /* the program's file */
    /* path, size and date of that file, to tell compilers apart */
    char identity[TL_COMPILER_PATH + 64];
} tl_compiler;

/* Returns 0 if there is none. */
int tl_compiler_find(tl_compiler *c);

/* Runs the compiler with additional arguments (terminated by NULL). Its messages go to the file
 * `log`. Returns its exit status, or -1 if it could not be run. */
int tl_compiler_run(const tl_compiler *c, const char *const *arguments, const char *log);
