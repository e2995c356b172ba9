/* SPDX-License-Identifier: MIT
 * Texts in CUDA C++ and OpenCL C as texts of the dialect (foreign.c). */
#ifndef LADDER_FOREIGN_H
#define LADDER_FOREIGN_H
#include "rung.h"

enum { PARAMETERS_MOST = 16 };
/* How the host launches the kernels, as far as it is known. 0 or NULL: it is not. */
typedef struct foreign_setup {
    int block[3]; /* threads of a group in x, y and z; a dim3 of the text may give it */
    /* of a matrix: columns and rows that a group takes, in a grid of two dimensions. 0 in the end
       where the text has one dimension */
    int tile[2];
    int matrix;             /* may the host launch such a grid? */
    const char *shared;     /* elements of extern __shared__ arrays, as a constant expression */
    const char *parameters; /* the rung's names of the kernel's parameters: "out, in, n" */
    const char *rung;       /* the text of the rung, whose kernels' parameters the host gives */
} foreign_setup;

/* *out: the text in the dialect, line for line (caller frees), or NULL where `text` is in the
 * dialect already. Returns 0, or error->code with a sentence that names file and line. */
int foreign_text(const char *file, const char *text, foreign_setup *setup, char **out,
                 ladder_error *error);
#endif
